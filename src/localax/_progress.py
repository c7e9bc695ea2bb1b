"""A progress bar with speed and time left, silent where nobody watches."""

import contextlib
import sys
from collections.abc import Callable, Iterator

Update = Callable[[float], None]
"""Called with the fraction that is done."""


@contextlib.contextmanager
def progress_bar(title: str, *, show: bool = True, steps: int | None = None) -> Iterator[Update]:
    """Show a bar on the terminal's error stream while the block runs; with ``steps``, show steps per second too."""
    if not show or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    speed = [TextColumn("{task.fields[speed]}")] if steps else []
    columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"), *speed]
    columns += [TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0, speed="")

        def update(fraction: float) -> None:
            rate = bar.tasks[0].speed
            bar.update(task, completed=fraction, speed=f"{rate * steps:,.0f} steps/s" if rate and steps else "")

        yield update
