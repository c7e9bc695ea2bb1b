"""A command as somebody types it, and what its exit code and its words say of it."""

from collections.abc import Sequence
from pathlib import Path

from test_cli import localax

from .driver import Defect, Refused


def command(words: Sequence[str], folder: Path) -> None:
    """Run a command in a **folder**, in this process."""
    done = localax(*words, folder=folder)
    told = done.stderr.strip()
    if done.returncode == 2 and done.stdout == "" and told.startswith("localax: "):
        raise Refused(told)
    if done.returncode not in (0, 1) or "Traceback" in done.stdout + told:
        raise Defect(f"exit {done.returncode}: {told[:300]}")
