"""What went wrong, told in one line."""

import sys

import typer

DEBUG = "--debug"


def tell_failures(titles: dict[str, str], failed: dict[str, str]) -> None:
    """One line for each unit that failed, the traceback too with ``--debug``; such a failure is a mistake of ours."""
    for name, trouble in failed.items():
        text = trouble if DEBUG in sys.argv else trouble.strip().splitlines()[-1]
        print(f"localax: {titles[name]} failed: {text}", file=sys.stderr)
    if failed:
        raise typer.Exit(3)
