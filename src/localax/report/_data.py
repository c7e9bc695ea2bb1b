"""The numbers behind a figure, for those who would draw it their own way: one table, or one file of arrays."""

import csv
import functools
import io
import zipfile
from collections.abc import Iterator

import numpy as np

from ..outcome import Diagram, Fields, Figure, Heatmap, Histogram, Lines, Panel, Scatter, Table

Series = tuple[str, np.ndarray | None, np.ndarray, np.ndarray | None]
"""A name, x where there is one, y, and the error of y where it is known."""


def as_csv(figure: Figure) -> bytes:
    """The numbers of a **figure** in long form, one a line with its panel, series and place; tables as they are."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    found = list(_all_series(figure))
    lines.writerows([("panel", "series", "x", "y", "error")] if found else [])
    for title, (name, x, y, error) in found:
        places = np.arange(y.size) if x is None else x
        errors = np.full(y.size, np.nan) if error is None else np.broadcast_to(error, y.shape).ravel()
        for place, value, spread in zip(places.ravel(), y.ravel(), errors, strict=True):
            lines.writerow((title, name, f"{place:.10g}", f"{value:.10g}", "" if np.isnan(spread) else f"{spread:.6g}"))
    for table in (panel for row in figure.rows for panel in row if isinstance(panel, Table)):
        lines.writerows([table.columns, *table.rows])
    return out.getvalue().encode()


def as_npz(figure: Figure) -> bytes:
    """Arrays named by panel, series and part, as ``np.load`` reads them; equal figures give equal bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for i, (title, (name, *parts)) in enumerate(_all_series(figure)):
            for part, values in zip(("x", "y", "error"), parts, strict=True):
                if values is not None:
                    _add(archive, f"{i:02d} {title} {name} {part}", values)
    return out.getvalue()


def _add(archive: zipfile.ZipFile, name: str, values: np.ndarray) -> None:
    member = io.BytesIO()
    np.lib.format.write_array(member, np.asarray(values), allow_pickle=False)
    safe = "".join(c if c.isalnum() or c in " .,()+-=" else "_" for c in " ".join(name.split()))
    archive.writestr(zipfile.ZipInfo(f"{safe}.npy"), member.getvalue(), zipfile.ZIP_DEFLATED)


def _all_series(figure: Figure) -> Iterator[tuple[str, Series]]:
    for i, row in enumerate(figure.rows):
        for panel in row:
            label = f"{figure.labels[i]}: {panel.title}" if i < len(figure.labels) else panel.title
            yield from ((label, one) for one in series(panel))


@functools.singledispatch
def series(panel: Panel) -> list[Series]:
    """The series of a panel."""
    raise TypeError(f"no numbers known in a {type(panel).__name__}")


@series.register
def _(panel: Lines) -> list[Series]:
    curves: list[Series] = [(name, panel.x, y, None) for name, y in panel.curves.items()]
    return curves + [(f"{name}, points", panel.x, y, None) for name, y in panel.points.items()]


@series.register
def _(panel: Scatter) -> list[Series]:
    return [(name, x, y, error) for name, (x, y, error) in panel.groups.items()]


@series.register
def _(panel: Fields) -> list[Series]:
    names = panel.labels or [f"field {i}" for i in range(len(panel.values))]
    return [(name, None, field, None) for name, field in zip(names, panel.values, strict=True)]


@series.register
def _(panel: Heatmap) -> list[Series]:
    return [("values, row by row", None, panel.values, None)]


@series.register
def _(panel: Diagram) -> list[Series]:
    rows: list[Series] = [
        (f"{panel.ylabel} = {y:.6g}", panel.x, row, None) for y, row in zip(panel.y, panel.values, strict=True)
    ]
    return rows + [(name, x, y, None) for name, (x, y) in panel.curves.items()]


@series.register
def _(panel: Histogram) -> list[Series]:
    middles = (panel.edges[1:] + panel.edges[:-1]) / 2
    exact = [] if panel.exact is None else [("exact", middles, panel.exact, None)]
    return [("sampled", middles, panel.density, None), *exact]


@series.register
def _(panel: Table) -> list[Series]:
    del panel  # a table is text; the csv has it as it stands
    return []
