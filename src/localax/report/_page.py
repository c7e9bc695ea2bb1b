"""One self-contained HTML page: claims, figures, tables. It opens from disk and asks for nothing.

The templates beside this file make it, with everything escaped that is not theirs; this file gathers what they show.
"""

import base64
import functools
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from .. import __version__
from ..outcome import CHAPTERS, SOURCES, Claim, Figure, Outcome, Table
from ._about import About
from ._draw import drawable, picture
from ._formulas import with_formulas

Files = dict[str, dict[str, bytes]]
"""For each figure's name, its files beside the page: the bytes by form."""

TEMPLATES = Path(__file__).with_name("templates")
SIGNS = {"holds": "✓", "holds in part": "◐", "does not hold": "✗", "not testable here": "–"}
"""Beside the words, so that no verdict hangs on colour."""
EXPECTED = {"theory": "by theory", "measured before": "as measured before"}
NEW = "beyond"
"""The chapter whose results are told on the first page, one for each experiment, where they hold."""
_SCALE = 1.5
"""Pixels of a page for a point of a picture, where there is room."""
_NUMBER = re.compile(r"[-+−]?[\d.,]+(e[-+]?\d+)?( \+- [\d.,e-]+)?%?|-?infinite|nan|never|–|")


def page(outcomes: Sequence[Outcome], about: About | str, *, files: Mapping = {}) -> str:
    """The report on the **outcomes** of some experiments, as HTML.

    **about**: its words, or its title alone. **files**: bytes of every figure by its name and form, such as "svg"; what
    is missing is drawn.
    """
    shown = [_Experiment(outcome, _shown_figures(outcome, files)) for outcome in outcomes]
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    return _environment().get_template("page.html").render(
        about=About(about) if isinstance(about, str) else about,
        headlines=sorted(
            ((one, figure) for one in shown for figure in one.figures if figure.record.headline),
            key=lambda pair: pair[1].record.place,
        ),
        chapters=[
            (CHAPTERS.get(name, name), [one for one in shown if one.outcome.chapter == name])
            for name in _chapters(outcomes)
        ],
        news=[(o, held) for o in outcomes if o.chapter == NEW and (held := _first_that_holds(o)) is not None],
        experiments=len(shown),
        claims=claims,
        counts={verdict: sum(claim.verdict == verdict for claim in claims) for verdict in SIGNS},
        surprises=sum(not claim.as_expected for claim in claims),
        sources=sorted(set(map(source_of, claims))),
        tables=(_sources(), _thresholds(outcomes)),
        version=__version__,
        style=_inline("page.css"),
        script=_inline("filter.js"),
    )  # fmt: skip


@dataclass(frozen=True)
class Sheet:
    """What a page about one thing says, in plain text.

    ``title``, ``lead``, ``method``: its head. ``figure``: the picture. ``facts``: the answer in a few lines, each with
    its name. ``lists``: headings with their lines. ``tables``: with their rows. ``files``: names beside the page.
    """

    title: str
    lead: str
    method: str
    figure: Figure
    facts: Sequence[tuple[str, str]]
    lists: Sequence[tuple[str, Sequence[str]]] = ()
    tables: Sequence[Table] = ()
    files: Sequence[str] = ()


def sheet(content: Sheet) -> str:
    """The **content** of a page about one thing, as HTML that can be read alone."""
    return _environment().get_template("sheet.html").render(
        sheet=content,
        picture=_picture(content.figure, picture(content.figure, "svg")),
        tables=[_table(table) for table in content.tables],
        version=__version__,
        style=_inline("page.css"),
    )  # fmt: skip


def _first_that_holds(outcome: Outcome) -> Claim | None:
    return next((claim for claim in outcome.claims if claim.verdict == "holds"), None)


def figure_name(outcome: Outcome, index: int) -> str:
    """The name of a figure's files: that of its experiment, with a number where there are several."""
    name = outcome.name or "outcome"
    return name if len(outcome.figures) == 1 else f"{name}-{index + 1}"


def claims_json(outcomes: Sequence[Outcome]) -> str:
    """Every claim of the **outcomes** as JSON, with the experiment and the file that made it."""
    rows = [{"experiment": o.name, "origin": o.origin, **asdict(c)} for o in outcomes for c in o.claims]
    return json.dumps(rows, indent=1)


def source_of(claim: Claim) -> str:
    """The document that a claim is taken from: its source without the place in it."""
    return claim.source.partition(",")[0]


@functools.cache
def _environment() -> Any:
    import jinja2  # as with the converter of formulas

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters |= {"formulas": with_formulas, "source": source_of, "plain": _plain}
    made.globals |= {"SIGNS": SIGNS, "EXPECTED": EXPECTED}
    return made


def _inline(name: str) -> dict[str, Any]:
    """A file of ours inside the page, and the hash by which the page's own policy lets it and nothing else work."""
    text = (TEMPLATES / name).read_text()
    return {"text": Markup(text), "hash": base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}


def _plain(value: object) -> str:
    return f"({', '.join(map(_plain, value))})" if isinstance(value, tuple | list) else str(value)


# What is shown --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Shown:
    """A figure: its picture, its tables and its files."""

    record: Figure
    name: str
    tables: "list[_ShownTable]"
    forms: tuple[str, ...]
    picture: "_Picture | None"


@dataclass(frozen=True)
class _Picture:
    """A picture as an address that holds all of it, its size in pixels, and what it shows in words."""

    address: str
    width: int
    height: int
    words: str


@dataclass(frozen=True)
class _ShownTable:
    """A table, and which of its columns are numbers."""

    table: Table
    numeric: tuple[bool, ...]


@dataclass(frozen=True)
class _Experiment:
    outcome: Outcome
    figures: list[_Shown]


def _chapters(outcomes: Iterable[Outcome]) -> list[str]:
    return list(dict.fromkeys(outcome.chapter for outcome in outcomes))


def _shown_figures(outcome: Outcome, files: Mapping) -> list[_Shown]:
    names = [figure_name(outcome, i) for i in range(len(outcome.figures))]
    return [_shown(figure, name, files.get(name, {})) for name, figure in zip(names, outcome.figures, strict=True)]


def _shown(figure: Figure, name: str, have: Mapping[str, bytes]) -> _Shown:
    tables = [_table(panel) for row in figure.rows for panel in row if isinstance(panel, Table)]
    drawn = _picture(figure, have.get("svg", b"")) if drawable(figure) else None
    return _Shown(figure, name, tables, tuple(have), drawn)


def _picture(figure: Figure, svg: bytes) -> _Picture:
    sizes = [re.search(rb'%s="([\d.]+)pt"' % side, svg) for side in (b"width", b"height")]
    if None in sizes:  # not drawn yet, or another program has written it since
        return _picture(figure, picture(figure, "svg"))
    width, height = (round(_SCALE * float(size[1])) for size in sizes if size)
    panels = ", ".join(panel.title for row in figure.rows for panel in row if not isinstance(panel, Table))
    address = f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
    return _Picture(address, width, height, f"{figure.title}: {panels}")


def _table(table: Table) -> _ShownTable:
    columns = range(len(table.columns))
    return _ShownTable(table, tuple(all(_NUMBER.fullmatch(str(row[i])) for row in table.rows) for i in columns))


def _sources() -> _ShownTable:
    return _table(Table("Sources", ("called", "what it is"), tuple(SOURCES.items())))


def _thresholds(outcomes: Sequence[Outcome]) -> _ShownTable:
    """Every number that a rule compares with, and the verdict where it is half or twice as large."""
    columns = ("experiment", "claim", "threshold", "value", "at half of it", "verdict", "at twice")
    rows = tuple(
        (o.name, c.sentence, t.name, f"{t.value:g}", t.at_half, c.verdict, t.at_twice)
        for o in outcomes
        for c in o.claims
        for t in c.thresholds
    )
    return _table(Table("Thresholds", columns, rows))
