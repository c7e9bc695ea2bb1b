"""One self-contained HTML page: claims, figures as vector graphics, tables. It opens from disk and asks for nothing."""

import html
import json
import re
from collections.abc import Sequence
from dataclasses import asdict

from .. import __version__
from .._record import Claim, Figure, Outcome, Table
from ._draw import drawable, picture

_STYLE = """
body{font:16px/1.5 Georgia,'DejaVu Serif',serif;max-width:76rem;margin:2rem auto;padding:0 1.5rem;color:#222}
h1,h2,h3,th,.verdict,footer{font-family:'Helvetica Neue',Arial,'DejaVu Sans',sans-serif}
h1{font-size:1.7rem}h2{font-size:1.25rem;margin-top:2.5rem;border-top:1px solid #ccc;padding-top:1rem}
h3{font-size:1rem}figure{margin:1rem 0}figure svg{width:100%;height:auto}figcaption{font-size:.9rem;color:#555}
table{border-collapse:collapse;font-size:.9rem}
th,td{text-align:left;padding:.25rem .8rem .25rem 0;border-bottom:1px solid #ddd;vertical-align:top}
td.number{text-align:right;font-variant-numeric:tabular-nums}
.verdict{font-weight:600;white-space:nowrap}.holds{color:#00674c}.does-not-hold{color:#a33b00}.holds-in-part{color:#7a5b00}
footer{font-size:.8rem;color:#666;margin-top:3rem}
"""


def page(outcomes: Sequence[Outcome], title: str) -> str:
    """The report on some experiments."""
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    parts = [f"<h1>{_text(title)}</h1>", _claims(claims) if claims else "", *(_section(o) for o in outcomes)]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>'
        f'<link rel="icon" href="data:,"><style>{_STYLE}</style></head>\n<body>{"".join(parts)}'
        f"<footer>Made by localax {__version__}.</footer></body></html>\n"
    )


def _text(value: object) -> str:
    return html.escape(str(value))


def _claims(claims: Sequence[Claim]) -> str:
    head = ("claim", "source", "reported", "measured", "rests on", "verdict")
    rows = "".join(
        "<tr>"
        + "".join(f"<td>{_text(cell)}</td>" for cell in (c.sentence, c.source, c.reported, c.measured, c.basis))
        + f'<td class="verdict {c.verdict.replace(" ", "-")}">{_text(c.verdict)}</td></tr>'
        for c in claims
    )
    return f"<h2>Claims</h2><table><tr>{''.join(f'<th>{h}</th>' for h in head)}</tr>{rows}</table>"


def _section(outcome: Outcome) -> str:
    figures = "".join(_figure(figure, f"{outcome.name}-{i}") for i, figure in enumerate(outcome.figures))
    settings = ", ".join(f"{name} {value}" for name, value in outcome.settings.items())
    return (
        f'<h2 id="{_text(outcome.name)}">{_text(outcome.title)}</h2><p>{_text(outcome.text)}</p>{figures}'
        f"<p><small>Settings: {_text(settings)}. It took {outcome.seconds:.1f} s.</small></p>"
    )


def _figure(figure: Figure, name: str) -> str:
    tables = "".join(_table(panel) for row in figure.rows for panel in row if isinstance(panel, Table))
    svg = _inline(picture(figure, "svg"), name) if drawable(figure) else ""
    caption = f"<figcaption>{_text(figure.caption)}</figcaption>" if figure.caption else ""
    return f"<h3>{_text(figure.title)}</h3><figure>{svg}{tables}{caption}</figure>"


def _inline(svg: bytes, name: str) -> str:
    """A picture for inside a page: no prologue, and ids of its own so that two pictures do not share clip paths."""
    text = svg.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    return re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", text)


def _table(table: Table) -> str:
    head = "".join(f"<th>{_text(column)}</th>" for column in table.columns)
    rows = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in table.rows)
    return f"<table><tr>{head}</tr>{rows}</table>"


def _cell(cell: object) -> str:
    kind = ' class="number"' if re.fullmatch(r"-?[\d.]+|infinite", str(cell)) else ""
    return f"<td{kind}>{_text(cell)}</td>"


def claims_json(outcomes: Sequence[Outcome]) -> str:
    """Every claim as JSON."""
    return json.dumps([{"experiment": o.name, **asdict(c)} for o in outcomes for c in o.claims], indent=1)
