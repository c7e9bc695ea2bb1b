"""A report on disk: one page that stands alone, its claims as JSON, and every figure as files."""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from .._disk import StrPath, write_atomically
from .._progress import Update
from .._record import Figure, Outcome
from ._data import as_csv, as_npz
from ._draw import drawable, pictures
from ._page import Files, claims_json, figure_name, page


def publish(
    outcomes: Sequence[Outcome],
    folder: StrPath,
    title: str,
    *,
    intro: str = "",
    progress: Update = lambda _: None,
    workers: int = 1,
) -> Path:
    """Write ``report.html``, ``claims.json`` and ``figures/`` into a folder; gives the page.

    **workers**: processes that draw; a program that asks for more than one guards its start by ``__name__``.
    """
    folder = Path(folder)
    named = {figure_name(o, i): figure for o in outcomes for i, figure in enumerate(o.figures)}
    files: Files = {}
    with _mapping(min(workers, len(named))) as mapping:
        for name, forms in zip(named, mapping(as_files, named.values()), strict=True):
            files[name] = forms
            for form, data in forms.items():
                write_atomically(folder / "figures" / f"{name}.{form}", data)
            progress(len(files) / len(named))
    write_atomically(folder / "claims.json", claims_json(outcomes).encode())
    return write_atomically(folder / "report.html", page(outcomes, title, intro=intro, files=files).encode())


@contextmanager
def _mapping(workers: int) -> Iterator[Callable]:
    """``map``, or the same by several processes; Ctrl-C is for the parent, which ends them."""
    if workers < 2:
        yield map
        return
    start = multiprocessing.get_context("spawn")
    ignore = (signal.SIGINT, signal.SIG_IGN)
    pool = ProcessPoolExecutor(workers, mp_context=start, initializer=signal.signal, initargs=ignore)
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)


def as_files(figure: Figure) -> dict[str, bytes]:
    """A figure in every form: pictures, and the numbers behind them."""
    if not drawable(figure):
        return {"csv": as_csv(figure)}
    return {**pictures(figure, ("svg", "pdf", "png")), "csv": as_csv(figure), "npz": as_npz(figure)}
