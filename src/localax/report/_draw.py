"""Panels to pictures. No science here: a panel says what its numbers are, this file only where the ink goes."""

import functools
import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from .._record import Fields, Figure, Heatmap, Histogram, Lines, Panel, Scatter, Table

STYLE = Path(__file__).with_name("localax.mplstyle")
_DASHES = ("-", "--", ":", "-.")
_MARKERS = "osD^vPX*"
_NO_DATE = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}


def drawable(figure: Figure) -> bool:
    """Whether a figure has anything but tables."""
    return any(not isinstance(panel, Table) for row in figure.rows for panel in row)


def figure(record: Figure) -> Canvas:
    """A figure as matplotlib draws it; a notebook shows it by itself."""
    with mpl.rc_context(fname=STYLE):
        columns = max(len(row) for row in record.rows)
        canvas = Canvas(figsize=(2.6 * columns + 0.4, 1.75 * len(record.rows) + 0.3))
        grid = canvas.subplots(len(record.rows), columns, squeeze=False)
        for i, row in enumerate(record.rows):
            for ax, panel in zip(grid[i], row, strict=False):
                draw(panel, ax)
            for ax in grid[i, len(row) :]:
                ax.set_axis_off()
            if i < len(record.labels):
                own = grid[i, 0].get_ylabel()
                grid[i, 0].set_ylabel("\n".join(filter(None, (record.labels[i], own))), fontsize=9, fontweight="bold")
    return canvas


def picture(record: Figure, form: str) -> bytes:
    """A figure as svg, pdf or png; the same figure gives the same bytes."""
    return pictures(record, (form,))[form]


def pictures(record: Figure, forms: Sequence[str]) -> dict[str, bytes]:
    """A figure in several forms, arranged once: finding room for labels takes longer than drawing."""
    with mpl.rc_context(fname=STYLE):
        canvas = figure(record)
        canvas.get_layout_engine().execute(canvas)  # pyright: ignore[reportOptionalMemberAccess]
        # Unlike "none", which leaves a placeholder that makes each form be drawn twice.
        with mpl.rc_context({"figure.constrained_layout.use": False}):
            canvas.set_layout_engine(None)
            return {form: _saved(canvas, form) for form in forms}


def _saved(canvas: Canvas, form: str) -> bytes:
    out = io.BytesIO()
    canvas.savefig(out, format=form, metadata=_NO_DATE[form])
    return out.getvalue()


@functools.singledispatch
def draw(panel: Panel, ax: Axes) -> None:
    """Draw one panel."""
    raise TypeError(f"no way to draw a {type(panel).__name__} on {ax}")


def _labels(ax: Axes, title: str, xlabel: str = "", ylabel: str = "") -> None:
    ax.set_title(title)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)


def _plain_ticks(axis: Axis) -> None:
    """1, 2, 5, 10 in place of powers of ten, which would be none at all on less than a decade."""
    low, high = axis.get_data_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,)))
    if high < 200 * low:
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_locator(NullLocator())


def _axes(ax: Axes, panel: Lines | Scatter) -> None:
    """Scales, marks and the legend: what curves and points have in common."""
    if panel.logx:
        ax.set_xscale("log")
        _plain_ticks(ax.xaxis)
    if panel.logy:
        ax.set_yscale("log")
    for i, (name, x) in enumerate(panel.marks.items()):
        ax.axvline(x, color="0.45", ls=_DASHES[(i + 1) % len(_DASHES)], lw=0.8, label=name)
    if 1 < len(ax.get_legend_handles_labels()[1]) <= 8:
        ax.legend()
    _labels(ax, panel.title, panel.xlabel, panel.ylabel)


@draw.register
def _(panel: Lines, ax: Axes) -> None:
    for i, (name, y) in enumerate(panel.curves.items()):
        ax.plot(panel.x, y, _DASHES[i % len(_DASHES)], label=name)
        if name in panel.points:
            ax.plot(panel.x, panel.points[name], _MARKERS[i % len(_MARKERS)], color=f"C{i}", ms=2.2, mew=0)
    _axes(ax, panel)


@draw.register
def _(panel: Fields, ax: Axes) -> None:
    if panel.values.ndim == 2:
        for i, field in enumerate(panel.values):
            colour = mpl.colormaps["viridis"](i / max(len(panel.values) - 1, 1) * 0.9)
            ax.plot(field, lw=0.9, color=colour, label=panel.labels[i] if panel.labels else None)
        ax.axhline(0, color="0.8", lw=0.5, zorder=0)
        ax.set_xlabel("pixel")
        if panel.labels:
            ax.legend(ncols=2)
    else:
        tiles = _tiled(panel.values)
        reach = np.nanmax(np.abs(tiles)) or 1.0
        ax.imshow(tiles, vmin=-reach, vmax=reach)
        ax.set(xticks=[], yticks=[])  # an axis switched off would take the label of its row with it
        ax.spines[:].set_visible(False)
    ax.set_title(panel.title)


def _tiled(images: np.ndarray) -> np.ndarray:
    """Images on a near-square grid with a gap of one pixel, each scaled to its own largest value."""
    count, height, width = images.shape
    columns = int(np.ceil(np.sqrt(count)))
    rows = -(-count // columns)
    sheet = np.full((rows * (height + 1) - 1, columns * (width + 1) - 1), np.nan)
    for i, image in enumerate(images):
        top, left = (i // columns) * (height + 1), (i % columns) * (width + 1)
        sheet[top : top + height, left : left + width] = image / (np.abs(image).max() or 1.0)
    return sheet


@draw.register
def _(panel: Heatmap, ax: Axes) -> None:
    reach = np.nanmax(np.abs(panel.values)) or 1.0
    shown = ax.imshow(panel.values, vmin=-reach, vmax=reach, aspect="auto", origin="lower", extent=panel.extent)
    ax.figure.colorbar(shown, ax=ax, shrink=0.8)
    _labels(ax, panel.title, panel.xlabel, panel.ylabel)


@draw.register
def _(panel: Histogram, ax: Axes) -> None:
    ax.stairs(panel.density, panel.edges, fill=True, color="0.75", label="sampled")
    if panel.exact is not None:
        ax.stairs(panel.exact, panel.edges, color="C1", lw=1.0, label="exact")
    ax.set_yticks([])
    _labels(ax, panel.title, panel.xlabel)


@draw.register
def _(panel: Scatter, ax: Axes) -> None:
    for i, (name, (x, y, error)) in enumerate(panel.groups.items()):
        line = _DASHES[i % len(_DASHES)] if panel.joined else ""
        ax.errorbar(x, y, error, fmt=_MARKERS[i % len(_MARKERS)] + line, ms=3, lw=0.7, label=name)
    _axes(ax, panel)
