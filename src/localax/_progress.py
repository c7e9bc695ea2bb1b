"""A progress bar with speed and time left, silent where nobody watches."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

Update = Callable[[float], None]
"""Called with the fraction that is done."""


@contextlib.contextmanager
def progress_bar(title: str, *, show: bool = True, steps: int | None = None) -> Iterator[Update]:
    """Show a bar on the terminal's error stream while the block runs; with ``steps``, show steps per second too."""
    if not show or not sys.stderr.isatty():
        yield lambda _: None
        return
    with _bars("{task.fields[speed]}" if steps else "") as bar:
        task = bar.add_task(title, total=1.0, speed="")

        def update(fraction: float) -> None:
            rate = bar.tasks[0].speed
            bar.update(task, completed=fraction, speed=f"{rate * steps:,.0f} steps/s" if rate and steps else "")

        yield update


@contextlib.contextmanager
def progress_board(title: str, names: Sequence[str], *, show: bool = True) -> Iterator[Callable[[str, float], None]]:
    """A bar over several things that are done side by side, and one inside each; a line each without a terminal."""
    if not show or not names:
        yield lambda _name, _fraction: None
        return
    if not sys.stderr.isatty():
        yield _lines(len(names))
        return
    with _bars() as bars:
        whole = bars.add_task(title, total=len(names))
        parts: dict[str, float] = dict.fromkeys(names, 0.0)
        shown = {}

        def update(name: str, fraction: float) -> None:
            if name not in shown:
                shown[name] = bars.add_task(f"  {name}", total=1.0)
            parts[name] = fraction
            bars.update(shown[name], completed=fraction, visible=fraction < 1)
            bars.update(whole, completed=sum(parts.values()))

        yield update


def _bars(more: str = "") -> "Progress":
    """Bars with time spent and time left, and one more column of text."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TextColumn(more)]
    columns += [TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()]
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _lines(total: int) -> Callable[[str, float], None]:
    began, done = time.monotonic(), 0

    def update(name: str, fraction: float) -> None:
        nonlocal done
        if fraction >= 1:
            done += 1
            sys.stderr.write(f"{done:3d} of {total}: {name}, {time.monotonic() - began:.0f} s\n")

    return update
