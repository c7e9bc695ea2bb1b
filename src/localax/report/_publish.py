"""A report on disk: one page that stands alone, its claims as JSON, and every figure as files."""

from collections.abc import Sequence
from pathlib import Path

from .._disk import StrPath, write_atomically
from .._progress import Update
from .._record import Figure, Outcome
from ._data import as_csv, as_npz
from ._draw import drawable, pictures
from ._page import Files, claims_json, figure_name, page


def publish(
    outcomes: Sequence[Outcome], folder: StrPath, title: str, progress: Update = lambda _: None, intro: str = ""
) -> Path:
    """Write ``report.html``, ``claims.json`` and ``figures/`` into a folder; gives the page."""
    folder, named = Path(folder), [(figure_name(o, i), f) for o in outcomes for i, f in enumerate(o.figures)]
    files: Files = {}
    for i, (name, figure) in enumerate(named):
        files[name] = as_files(figure)
        for form, data in files[name].items():
            write_atomically(folder / "figures" / f"{name}.{form}", data)
        progress((i + 1) / len(named))
    write_atomically(folder / "claims.json", claims_json(outcomes).encode())
    return write_atomically(folder / "report.html", page(outcomes, title, intro=intro, files=files).encode())


def as_files(figure: Figure) -> dict[str, bytes]:
    """A figure in every form: pictures, and the numbers behind them."""
    if not drawable(figure):
        return {"csv": as_csv(figure)}
    return {**pictures(figure, ("svg", "pdf", "png")), "csv": as_csv(figure), "npz": as_npz(figure)}
