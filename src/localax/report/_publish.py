"""A report on disk: one page that can be read alone, its claims as JSON, and every figure as files."""

import hashlib
import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from pathlib import Path

import matplotlib
import numpy as np

from .._disk import StrPath, sweep_forsaken, write_atomically
from .._progress import Update
from .._system import end_with_parent
from ..outcome import Figure, Outcome
from ._about import About
from ._data import as_csv, as_npz
from ._draw import STYLE, drawable, pictures
from ._page import Files, claims_json, figure_name, page


def publish(
    outcomes: Sequence[Outcome],
    folder: StrPath,
    about: About | str,
    *,
    progress: Update = lambda _: None,
    workers: int = 1,
) -> Path:
    """Write ``report.html``, ``claims.json`` and ``figures/`` into a **folder**; gives the page.

    **outcomes**: of the experiments to report on. **progress**: called with the fraction of figures drawn. **about**:
    the words of the page, or its title alone. **workers**: processes that draw; a program that asks for more than one
    guards its start by ``__name__``.
    """
    folder = Path(folder)
    for place in (folder, folder / "figures"):
        sweep_forsaken(place)
    named = {figure_name(o, i): figure for o in outcomes for i, figure in enumerate(o.figures)}
    drawn = {
        name: forms for name, figure in named.items() if (forms := _drawn_before(folder / "figures", name, figure))
    }
    left = {name: figure for name, figure in named.items() if name not in drawn}
    for name, forms in _each_drawn(left, min(workers, len(left))):
        drawn[name] = forms
        _keep(folder / "figures", name, left[name], forms)
        progress(len(drawn) / len(named))
    files: Files = {name: drawn[name] for name in named}
    write_atomically(folder / "claims.json", claims_json(outcomes).encode())
    return write_atomically(folder / "report.html", page(outcomes, about, files=files).encode())


def _state(figure: Figure) -> str:
    """What decides how a figure looks: its numbers, the style and the code that draws."""
    code = b"".join(Path(__file__).with_name(name).read_bytes() for name in ("_draw.py", "_data.py", STYLE.name))
    versions = f"{matplotlib.__version__} {np.__version__}".encode()
    return hashlib.sha256(Outcome("", "", (figure,)).to_bytes() + code + versions).hexdigest()


def _drawn_before(folder: Path, name: str, figure: Figure) -> dict[str, bytes] | None:
    """The files of a figure where they were drawn from the same numbers by the same code."""
    try:
        if (folder / f".{name}.state").read_text() == _state(figure):
            return {form: (folder / f"{name}.{form}").read_bytes() for form in _forms(figure)}
    except OSError:
        pass
    return None


def _keep(folder: Path, name: str, figure: Figure, forms: dict[str, bytes]) -> None:
    (folder / f".{name}.state").unlink(missing_ok=True)  # until all of it is there, it is not
    for form, data in forms.items():
        write_atomically(folder / f"{name}.{form}", data)
    write_atomically(folder / f".{name}.state", _state(figure).encode())


def _each_drawn(figures: Mapping[str, Figure], workers: int) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Every figure in all its forms; where a process that draws is killed, this one draws what is left."""
    left = dict(figures)
    with suppress(BrokenProcessPool), _mapping(workers) as mapping:
        for name, forms in zip(figures, mapping(as_files, figures.values()), strict=True):
            del left[name]
            yield name, forms
    for name, figure in left.items():
        yield name, as_files(figure)


@contextmanager
def _mapping(workers: int) -> Iterator[Callable]:
    """``map``, or the same by several processes, which end with this one, however it ends."""
    if workers < 2:
        yield map
        return
    start = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=start, initializer=end_with_parent)
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)


PICTURES = ("svg", "pdf", "png")


def _forms(figure: Figure) -> tuple[str, ...]:
    return (*PICTURES, "csv", "npz") if drawable(figure) else ("csv",)


def as_files(figure: Figure) -> dict[str, bytes]:
    """A figure in every form: pictures, and the numbers behind them."""
    if not drawable(figure):
        return {"csv": as_csv(figure)}
    return {**pictures(figure, PICTURES), "csv": as_csv(figure), "npz": as_npz(figure)}
