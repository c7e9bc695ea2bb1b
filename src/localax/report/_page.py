"""One self-contained HTML page: claims, figures as vector graphics, tables. It opens from disk and asks for nothing."""

import base64
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from .. import __version__
from .._record import Claim, Figure, Outcome, Table
from ._draw import drawable, picture

Files = dict[str, dict[str, bytes]]
"""For each figure's name, what can be downloaded: the bytes by form."""

STYLE = Path(__file__).with_name("page.css")
SIGNS = {"holds": "✓", "holds in part": "◐", "does not hold": "✗", "not testable here": "–"}
"""Beside the words, so that no verdict hangs on colour."""
_TYPES = {"svg": "image/svg+xml", "pdf": "application/pdf", "png": "image/png", "csv": "text/csv"}


def page(outcomes: Sequence[Outcome], title: str, *, intro: str = "", files: Mapping = {}) -> str:
    """The report on some experiments; ``files`` can be downloaded from it."""
    chapters = list(dict.fromkeys(outcome.chapter for outcome in outcomes))
    parts = [f"<h1>{_text(title)}</h1>", f"<p>{_text(intro)}</p>" if intro else "", _count(outcomes)]
    for chapter in chapters:
        members = [outcome for outcome in outcomes if outcome.chapter == chapter]
        parts += [f"<h2>The {_text(chapter)}</h2>" if chapter else "", _contents(members), _summary(members)]
    for chapter in chapters:
        parts += [f'<h2 class="chapter">The {_text(chapter)}, one by one</h2>'] if len(chapters) > 1 else []
        parts += [_section(outcome, files) for outcome in outcomes if outcome.chapter == chapter]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>'
        '<meta name="viewport" content="width=device-width">'
        f'<link rel="icon" href="data:,"><style>{STYLE.read_text()}</style></head>\n<body>{"".join(parts)}'
        f"<footer>Made by localax {__version__}.</footer></body></html>\n"
    )


def figure_name(outcome: Outcome, index: int) -> str:
    """The name of a figure's files: that of its experiment, with a number where there are several."""
    return outcome.name if len(outcome.figures) == 1 else f"{outcome.name}-{index + 1}"


def claims_json(outcomes: Sequence[Outcome]) -> str:
    """Every claim as JSON."""
    return json.dumps([{"experiment": o.name, **asdict(c)} for o in outcomes for c in o.claims], indent=1)


def _text(value: object) -> str:
    return html.escape(str(value))


# The head -------------------------------------------------------------------------------------------------------------


def _count(outcomes: Sequence[Outcome]) -> str:
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    if not claims:
        return ""
    counts = ", ".join(
        f"{sum(c.verdict == verdict for c in claims)} × {_verdict_words(verdict)}"
        for verdict in SIGNS
        if any(c.verdict == verdict for c in claims)
    )
    surprises = sum(not claim.as_expected for claim in claims)
    surprise = f" {surprises} differ from what was expected." if surprises else " Each is what was expected."
    return f"<p>{len(claims)} claims: {counts}.{surprise}</p>"


def _contents(outcomes: Sequence[Outcome]) -> str:
    links = (f'<a href="#{_text(o.name)}">{_text(o.title)}</a>' for o in outcomes)
    return f"<nav>{' · '.join(links)}</nav>" if len(outcomes) > 1 else ""


def _summary(outcomes: Sequence[Outcome]) -> str:
    rows = "".join(_summary_row(o, c) for o in outcomes for c in o.claims)
    head = "".join(f"<th>{name}</th>" for name in ("claim", "reported", "measured", "verdict"))
    return f'<table class="claims"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>' if rows else ""


def _summary_row(outcome: Outcome, claim: Claim) -> str:
    source = f'<small><a href="#{_text(outcome.name)}">{_text(outcome.name)}</a>, {_text(claim.source)}</small>'
    cells = (
        f"<td>{_text(claim.sentence)}<br>{source}</td><td>{_text(claim.reported)}</td><td>{_text(claim.measured)}</td>"
    )
    return f"<tr>{cells}<td>{_verdict(claim)}</td></tr>"


def _verdict(claim: Claim) -> str:
    other = "" if claim.as_expected else f"<br><small>expected: {_text(claim.expected)}</small>"
    return f'<span class="verdict {claim.verdict.replace(" ", "-")}">{_verdict_words(claim.verdict)}</span>{other}'


def _verdict_words(verdict: str) -> str:
    return f"{SIGNS[verdict]} {_text(verdict)}"


# An experiment --------------------------------------------------------------------------------------------------------


def _section(outcome: Outcome, files: Mapping) -> str:
    figures = "".join(_figure(f, figure_name(outcome, i), files) for i, f in enumerate(outcome.figures))
    claims = "".join(_claim(claim) for claim in outcome.claims)
    return (
        f'<section><h2 id="{_text(outcome.name)}">{_text(outcome.title)}</h2><p>{_text(outcome.text)}</p>'
        f"{figures}{claims}{_origin(outcome)}</section>"
    )


def _claim(claim: Claim) -> str:
    parts = {"Reported": claim.reported, "Measured": claim.measured, "Rule": claim.rule, "Rests on": claim.basis}
    if claim.reason:
        parts["Why"] = claim.reason
    rows = "".join(f"<dt>{name}</dt><dd>{_text(value)}</dd>" for name, value in parts.items())
    source = f"<small>{_text(claim.source)}</small>"
    return f'<div class="claim">{_verdict(claim)} <q>{_text(claim.sentence)}</q> {source}<dl>{rows}</dl></div>'


def _origin(outcome: Outcome) -> str:
    """What made it: settings, seed, time and versions, folded away."""
    settings = ", ".join(f"{name} = {_shown(value)}" for name, value in outcome.settings.items())
    versions = ", ".join(f"{name} {version}" for name, version in outcome.versions.items())
    return (
        f"<details><summary>Settings and run time ({outcome.seconds:.1f} s)</summary>"
        f"<p>{_text(settings)}</p><p>{_text(versions)}</p></details>"
    )


def _shown(value: object) -> str:
    return f"({', '.join(map(_shown, value))})" if isinstance(value, tuple | list) else str(value)


def _figure(figure: Figure, name: str, files: Mapping) -> str:
    have = files.get(name, {})
    tables = "".join(_table(panel) for row in figure.rows for panel in row if isinstance(panel, Table))
    svg = _inline(have.get("svg") or picture(figure, "svg"), name) if drawable(figure) else ""
    links = " ".join(_download(f"{name}.{form}", form, data) for form, data in have.items())
    caption = f"{_text(figure.caption)} " if figure.caption else ""
    below = f"<figcaption>{caption}{links}</figcaption>" if caption or links else ""
    return f'<h3>{_text(figure.title)}</h3><figure id="figure-{_text(name)}">{svg}{tables}{below}</figure>'


def _download(name: str, form: str, data: bytes) -> str:
    kind = _TYPES.get(form, "application/octet-stream")
    address = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    return f'<a class="download" download="{_text(name)}" href="{address}">{form}</a>'


def _inline(svg: bytes, name: str) -> str:
    """A picture for inside a page: no prologue, and ids of its own so that two pictures do not share clip paths."""
    text = svg.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text).replace("xlink:href", "href")
    width = float(re.search(r'width="([\d.]+)pt"', text).group(1))  # pyright: ignore[reportOptionalMemberAccess]
    text = re.sub(r'width="[\d.]+pt" height="[\d.]+pt"|height="[\d.]+pt" [^>]*?width="[\d.]+pt"', "", text, count=1)
    text = text.replace("<svg", f'<svg role="img" style="width:{1.6 * width:.0f}px"', 1)
    return re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", text)


def _table(table: Table) -> str:
    head = "".join(f"<th>{_text(column)}</th>" for column in table.columns)
    rows = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in table.rows)
    title = f"<caption>{_text(table.title)}</caption>" if table.title else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(cell: object) -> str:
    kind = ' class="number"' if re.fullmatch(r"-?[\d.,]+%?|infinite", str(cell)) else ""
    return f"<td{kind}>{_text(cell)}</td>"
