"""What went wrong, told in one line."""

import sys

import typer

from .._errors import one_line

DEBUG = "--debug"


def tell_failures(titles: dict[str, str], failed: dict[str, str]) -> None:
    """One line for each unit that failed, the traceback too with ``--debug``.

    Exit with 3 where one of them is a mistake of ours, else with 2: a setting, or a disk that takes nothing more.
    """
    for name, trouble in failed.items():
        text = trouble if DEBUG in sys.argv else one_line(trouble.strip().splitlines()[-1])
        print(f"localax: {titles[name]} failed: {text}", file=sys.stderr)
    if failed:
        raise typer.Exit(2 if all(getattr(why, "mendable", False) for why in failed.values()) else 3)
