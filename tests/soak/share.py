"""How much of a soak is asked for, and what it says on its way."""

import argparse
import signal
import sys
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Share:
    """A **share** of a whole soak, and which of its **rows**."""

    share: float
    rows: list[str]

    def of(self, count: int) -> int:
        """The share of a **count**, at least one."""
        return max(1, round(self.share * count))


def share(about: str | None, rows: Iterable[str]) -> Share:
    """What the command line of a soak asks for."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left running
    words = argparse.ArgumentParser(description=about)
    words.add_argument("--share", type=float, default=1.0, help="of the whole; at least one of each is done")
    words.add_argument("rows", nargs="*", default=list(rows), help=f"some of: {', '.join(rows)}")
    return Share(**vars(words.parse_args()))


def said(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
