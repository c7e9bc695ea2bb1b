"""Panels to pictures. No science here: a panel says what its numbers are, this file only where the ink goes."""

import contextlib
import functools
import io
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure as Canvas
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter
from matplotlib.transforms import ScaledTranslation

from .._errors import SettingError, one_line, setting_error
from ..outcome import Diagram, Fields, Figure, Heatmap, Histogram, Lines, Panel, Scatter, Table

STYLE = Path(__file__).with_name("localax.mplstyle")
_PANEL = (2.6, 1.75)
"""Width and height of a panel, in inches; more than three in a row are narrower."""
_WIDEST = 3 * _PANEL[0]
_ENTRIES = 8
"""A key has no more entries than this; beyond, names tell nobody anything."""
_DASHES = ("-", "--", ":", "-.")
_MARKERS = "osD^vPX*"
_NO_DATE = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}


def drawable(figure: Figure) -> bool:
    """Whether a figure has anything but tables."""
    return bool(_drawn_rows(figure))


def figure(record: Figure) -> Canvas:
    """The figure **record** as matplotlib draws it; a notebook shows it by itself."""
    rows = _drawn_rows(record)
    if not rows:
        raise setting_error("figure", "a figure", record.title, "one with something to draw; it has tables alone")
    with mpl.rc_context(fname=STYLE):
        columns = max(len(row) for _, row in rows)
        width, height = min(_PANEL[0] * columns, _WIDEST) + 0.4, _PANEL[1] * len(rows) + 0.3
        canvas = Canvas(figsize=(width, height))
        grid = canvas.subplots(len(rows), columns, squeeze=False)
        keys = [_draw_row(axes, label, row) for axes, (label, row) in zip(grid.tolist(), rows, strict=True)]
        canvas.set_size_inches(width, height + sum(keys))
        for text in canvas.findobj(Text):
            text.set_text(_readable(text.get_text()))
    return canvas


def _readable(text: str) -> str:
    """A text whose dollars are formulas that matplotlib can read, or else are plain dollars."""
    try:
        if "$" in text:
            MathTextParser("path").parse(text)
    except ValueError:
        return text.replace("$", r"\$")
    return text


def _draw_row(axes: list[Axes], label: str, row: Sequence[Panel]) -> float:
    """Draw a row, without keys that repeat their neighbour's; gives the inches that the tallest key takes below it."""
    for ax, panel in zip(axes, row, strict=False):
        draw(panel, ax)
    for ax in axes[len(row) :]:
        ax.set_axis_off()
    axes[0].annotate(
        label, (0, 0.5), xycoords=(axes[0].yaxis.label, "axes fraction"), xytext=(-5, 0), textcoords="offset points",
        rotation=90, ha="right", va="center", fontsize=9, fontweight="bold",
    )  # fmt: skip
    keys = [tuple(ax.get_legend_handles_labels()[1]) for ax in axes]
    told = [key == before for key, before in zip(keys, [(), *keys], strict=False)]
    return max(0.0 if twice else _key(ax) for ax, twice in zip(axes, told, strict=True))


def _key(ax: Axes) -> float:
    """Put the key below a panel, where it covers nothing; gives its height in inches."""
    handles, names = ax.get_legend_handles_labels()
    if not 1 < len(names) <= _ENTRIES:
        return 0.0
    size = mpl.rcParams["legend.fontsize"]
    room = 1.15 * ax.bbox.width / ax.figure.dpi * 72  # points; the layout will make panels wider than they are now
    columns = int(np.clip(room // (size * (3.5 + 0.6 * max(map(len, names)))), 1, len(names)))
    drop = 30 if ax.get_xlabel() else 19  # points, past the ticks and the label of the axis
    corner = ax.transAxes + ScaledTranslation(0, -drop / 72, ax.figure.dpi_scale_trans)
    ax.legend(handles, names, loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=corner, ncols=columns)
    return 1.45 * size * -(-len(names) // columns) / 72


def _drawn_rows(record: Figure) -> list[tuple[str, list[Panel]]]:
    """The rows of a figure with their labels, without the tables, which are text."""
    labels = [*record.labels, *[""] * len(record.rows)]
    rows: list[list[Panel]] = [[panel for panel in row if not isinstance(panel, Table)] for row in record.rows]
    return [(label, row) for label, row in zip(labels, rows, strict=False) if row]


def picture(record: Figure, form: str) -> bytes:
    """The figure **record** in a **form**: "svg", "pdf" or "png"; the same figure gives the same bytes."""
    return pictures(record, (form,))[form]


def pictures(record: Figure, forms: Sequence[str]) -> dict[str, bytes]:
    """A figure in several forms, arranged once: finding room for labels takes longer than drawing."""
    with _told_of(record), mpl.rc_context(fname=STYLE):
        canvas = figure(record)
        canvas.get_layout_engine().execute(canvas)  # pyright: ignore[reportOptionalMemberAccess]
        # Unlike "none", which leaves a placeholder that makes each form be drawn twice.
        with mpl.rc_context({"figure.constrained_layout.use": False}):
            canvas.set_layout_engine(None)
            return {form: _saved(canvas, form) for form in forms}


@contextlib.contextmanager
def _told_of(record: Figure) -> Iterator[None]:
    """Refuse numbers that no axes can hold, as a stored outcome may have them, without warnings of them beside."""
    try:
        with warnings.catch_warnings(record=True) as beside:
            yield
    except SettingError:
        raise
    except (ValueError, ArithmeticError) as error:
        raise SettingError(f"the figure {record.title!r} cannot be drawn: {one_line(str(error))}") from error
    for one in beside:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _saved(canvas: Canvas, form: str) -> bytes:
    out = io.BytesIO()
    canvas.savefig(out, format=form, metadata=_NO_DATE[form])
    return out.getvalue()


@functools.singledispatch
def draw(panel: Panel, ax: Axes) -> None:
    """Draw one **panel** on the axes **ax** of matplotlib."""
    raise TypeError(f"no way to draw a {type(panel).__name__} on {ax}")


def _labels(ax: Axes, title: str, xlabel: str = "", ylabel: str = "") -> None:
    ax.set_title(title)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)


def _plain_ticks(axis: Axis) -> None:
    """1, 2, 5, 10 in place of powers of ten, which would be none at all on less than a decade."""
    low, high = axis.get_data_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,)))
    if high < 200 * low:
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_locator(NullLocator())


def _axes(ax: Axes, panel: Lines | Scatter) -> None:
    """Scales and marks: what curves and points have in common."""
    if panel.logx:
        ax.set_xscale("log")
        _plain_ticks(ax.xaxis)
    if panel.logy:
        ax.set_yscale("log")
    for i, (name, x) in enumerate(panel.marks.items()):
        ax.axvline(x, color="0.45", ls=_DASHES[(i + 1) % len(_DASHES)], lw=0.8, label=name)
    _labels(ax, panel.title, panel.xlabel, panel.ylabel)


@draw.register
def _(panel: Lines, ax: Axes) -> None:
    for i, name in enumerate({**panel.curves, **panel.points}):
        if name in panel.curves:
            ax.plot(panel.x, panel.curves[name], _DASHES[i % len(_DASHES)], color=f"C{i}", label=name)
        if name in panel.points:
            label = None if name in panel.curves else name
            marker = _MARKERS[i % len(_MARKERS)]
            ax.plot(panel.x, panel.points[name], marker, color=f"C{i}", ms=2.2, mew=0, label=label)
    for kind, style in zip(panel.kinds, ("-", "o"), strict=False):
        ax.plot([], [], style, color="0.45", ms=2.2, mew=0, label=kind)
    _axes(ax, panel)


@draw.register
def _(panel: Fields, ax: Axes) -> None:
    if panel.values.ndim == 2:
        for i, field in enumerate(panel.values):
            colour = mpl.colormaps["viridis"](i / max(len(panel.values) - 1, 1) * 0.9)
            ax.plot(field, lw=0.9, color=colour, label=panel.labels[i] if panel.labels else None)
        ax.axhline(0, color="0.8", lw=0.5, zorder=0)
        ax.set_xlabel("pixel")
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
def _(panel: Diagram, ax: Axes) -> None:
    for log, axis, scale in ((panel.logx, ax.xaxis, ax.set_xscale), (panel.logy, ax.yaxis, ax.set_yscale)):
        if log:
            scale("log")
            _plain_ticks(axis)
    shown = ax.pcolormesh(*_borders(panel), panel.values, cmap="viridis")
    ax.figure.colorbar(shown, ax=ax, shrink=0.8, label=panel.color)
    for i, (name, (x, y)) in enumerate(panel.curves.items()):
        style = {"color": "tomato", "mec": "w", "ms": 2.5, "mew": 0.4}  # seen on all of viridis, and in the key
        ax.plot(x, y, _DASHES[(i + 1) % len(_DASHES)] + "o", **style, label=name)
    _labels(ax, panel.title, panel.xlabel, panel.ylabel)


def _borders(panel: Diagram) -> list[np.ndarray]:
    """Where the cells of a diagram end: halfway between settings, on the scale of their axis."""
    out = []
    for values, log in ((panel.x, panel.logx), (panel.y, panel.logy)):
        place = np.log(values) if log else values
        wide = np.pad(place, 1, "reflect", reflect_type="odd") if len(place) > 1 else place + np.arange(-1.0, 2)
        middle = (wide[1:] + wide[:-1]) / 2
        out.append(np.exp(middle) if log else middle)
    return out


@draw.register
def _(panel: Histogram, ax: Axes) -> None:
    values = _few_values(panel)
    if values.size:
        _bars(panel, values, ax)
    else:
        ax.stairs(panel.density, panel.edges, fill=True, color="0.75", label="sampled")
        if panel.exact is not None:
            ax.stairs(panel.exact, panel.edges, color="C1", lw=1.0, label="exact")
        ax.set_yticks([])
    _labels(ax, panel.title, panel.xlabel, "share" if values.size else "")


def _few_values(panel: Histogram) -> np.ndarray:
    """The bins of a law that takes a few values: at most four, of many, that hold nearly all of it."""
    share = (panel.density if panel.exact is None else panel.exact) * np.diff(panel.edges)
    order = np.argsort(-share)
    count = 1 + int(np.searchsorted(np.cumsum(share[order]), 0.95 * share.sum()))
    return np.sort(order[:count]) if count <= min(4, len(share) // 5) else order[:0]


def _bars(panel: Histogram, values: np.ndarray, ax: Axes) -> None:
    """One bar a value, as high as its share."""
    bins = np.diff(panel.edges)[values]
    places = (panel.edges[:-1] + panel.edges[1:])[values] / 2
    width = 0.4 * np.min(np.diff(places), initial=np.ptp(panel.edges) / 2)
    ax.bar(places, panel.density[values] * bins, width, color="0.75", label="sampled")
    if panel.exact is not None:
        ax.bar(places, panel.exact[values] * bins, width, fill=False, edgecolor="C1", label="exact")
    ax.set_xlim(panel.edges[0] - width, panel.edges[-1] + width)


@draw.register
def _(panel: Scatter, ax: Axes) -> None:
    for i, (name, (x, y, error)) in enumerate(panel.groups.items()):
        line = _DASHES[i % len(_DASHES)] if panel.joined else ""
        ax.errorbar(x, y, error, fmt=_MARKERS[i % len(_MARKERS)] + line, ms=3, lw=0.7, label=name)
    _axes(ax, panel)
