"""A progress bar with speed and time left, on a terminal or in a notebook, silent where nobody watches."""

import contextlib
import io
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

Update = Callable[[float], None]
"""Called with the fraction that is done."""


def silent(_: float) -> None:
    """Progress that nobody watches."""


PAUSE = 0.1
"""Seconds between two pictures of a bar in a notebook."""


@contextlib.contextmanager
def progress_bar(title: str, *, show: bool = True, steps: int | None = None) -> Iterator[Update]:
    """Show a bar while the block runs, on the terminal's error stream or in the cell of a notebook.

    With ``steps``, show steps per second too.
    """
    if not show or not (sys.stderr.isatty() or _in_notebook()):
        yield lambda _: None
        return
    with _bars("{task.fields[speed]}" if steps else "") as (bar, draw):
        task = bar.add_task(title, total=1.0, speed="")

        def update(fraction: float) -> None:
            rate = bar.tasks[0].speed
            bar.update(task, completed=fraction, speed=f"{rate * steps:,.0f} steps/s" if rate and steps else "")
            draw()

        yield update


@contextlib.contextmanager
def progress_board(title: str, names: Sequence[str], *, show: bool = True) -> Iterator[Callable[[str, float], None]]:
    """A bar over several things that are done side by side, and one inside each; a line each where bars cannot be."""
    if not show or not names:
        yield lambda _name, _fraction: None
        return
    if not (sys.stderr.isatty() or _in_notebook()):
        yield _lines(len(names))
        return
    with _bars() as (bars, draw):
        whole = bars.add_task(title, total=len(names))
        parts: dict[str, float] = dict.fromkeys(names, 0.0)
        shown = {}

        def update(name: str, fraction: float) -> None:
            if name not in shown:
                shown[name] = bars.add_task(f"  {name}", total=1.0)
            parts[name] = fraction
            bars.update(shown[name], completed=fraction, visible=fraction < 1)
            bars.update(whole, completed=sum(parts.values()))
            draw()

        yield update


@contextlib.contextmanager
def sweep_bar(networks: Mapping[str, int], *, show: bool = True) -> Iterator[Callable[[str, float, bool], None]]:
    """How far a sweep is: units done, running and failed, networks a second, time left.

    ``networks``: of each unit that is to run, by name. What is given is called with a unit's name, the fraction of it
    that is done, and whether it failed. Where bars cannot be there is a line now and then.
    """
    count = _Count(networks)
    if not show or not networks:
        yield count.note
        return
    if not (sys.stderr.isatty() or _in_notebook()):
        yield _lines_of(count)
        return
    with _bars("{task.fields[said]}") as (bar, draw):
        task = bar.add_task("sweep", total=max(count.total, 1), said="")

        def update(name: str, fraction: float, failed: bool) -> None:
            count.note(name, fraction, failed)
            bar.update(task, completed=count.done, said=count.units())
            draw()

        yield update


class _Count:
    """Units of a sweep as they are reported."""

    def __init__(self, networks: Mapping[str, int]):
        self.networks, self.total = networks, sum(networks.values())
        self.parts: dict[str, float] = {}
        self.finished: set[str] = set()
        self.failed: set[str] = set()
        self.done, self.began = 0.0, time.monotonic()

    def note(self, name: str, fraction: float, failed: bool) -> None:
        self.done += (fraction - self.parts.get(name, 0.0)) * self.networks.get(name, 0)
        self.parts[name] = fraction
        if fraction >= 1:
            (self.failed if failed else self.finished).add(name)

    def units(self) -> str:
        running = len(self.parts) - len(self.finished | self.failed)
        speed = self.done / max(time.monotonic() - self.began, 1e-9)
        troubles = f", {len(self.failed)} failed" if self.failed else ""
        known = f"{len(self.finished)} of {len(self.networks)} units, {running} running{troubles}"
        return f"{known}, {speed:,.{0 if speed >= 10 else 2}f} networks/s"

    def left(self) -> str:
        spent = time.monotonic() - self.began
        left = spent * max(self.total / self.done - 1, 0.0) if self.done > 0 else None
        return "time left unknown" if left is None else f"{left:,.0f} s left"


LINES = 5.0
"""Seconds between two lines on a sweep, at least; fifty lines are the most for one that takes long."""


def _lines_of(count: _Count) -> Callable[[str, float, bool], None]:
    last = [count.began, 0.0]

    def update(name: str, fraction: float, failed: bool) -> None:
        count.note(name, fraction, failed)
        over = len(count.finished | count.failed) >= len(count.networks)
        if over or (time.monotonic() > last[0] + LINES and count.done > last[1] + count.total / 50):
            last[:] = time.monotonic(), count.done
            sys.stderr.write(f"{count.units()}, {count.left()}\n")

    return update


def _in_notebook() -> bool:
    """Whether the code runs in the kernel of a notebook, whose error stream is no terminal."""
    ipython = sys.modules.get("IPython")
    return hasattr(ipython.get_ipython(), "kernel") if ipython else False


@contextlib.contextmanager
def _bars(more: str = "") -> Iterator[tuple["Progress", Callable[[], None]]]:
    """Bars, and what to call after a change of them."""
    from rich.console import Console

    if not _in_notebook():
        with _progress(Console(stderr=True), more) as bars:
            yield bars, lambda: None
        return
    bars = _progress(Console(file=io.StringIO(), width=100, force_jupyter=False), more)
    cell = _Cell(bars)
    try:
        yield bars, cell.draw
    finally:
        cell.draw(at_once=True)


def _progress(console: "Console", more: str) -> "Progress":
    """Bars with time spent and time left, and one more column of text."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TextColumn(more)]
    columns += [TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()]
    return Progress(*columns, console=console, transient=True)


class _Cell:
    """Bars as text in the output of a cell, each drawing in place of the last; rich itself would need ipywidgets."""

    def __init__(self, bars: "Progress"):
        self.bars, self.handle, self.last = bars, None, -PAUSE

    def draw(self, at_once: bool = False) -> None:
        if not at_once and time.monotonic() < self.last + PAUSE:
            return
        self.last = time.monotonic()
        with self.bars.console.capture() as captured:
            self.bars.console.print(self.bars.get_renderable())
        text = "\n".join(line.rstrip() for line in captured.get().splitlines())
        self._show({"text/plain": text})

    def _show(self, content: dict[str, Any]) -> None:
        from IPython.display import display  # pyright: ignore[reportMissingImports] (there is one in a notebook)

        if self.handle is None:
            self.handle = display(content, raw=True, display_id=True)
        else:
            self.handle.update(content, raw=True)


def _lines(total: int) -> Callable[[str, float], None]:
    began, done = time.monotonic(), 0

    def update(name: str, fraction: float) -> None:
        nonlocal done
        if fraction >= 1:
            done += 1
            sys.stderr.write(f"{done:3d} of {total}: {name}, {time.monotonic() - began:.0f} s\n")

    return update
