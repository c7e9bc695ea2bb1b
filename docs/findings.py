"""Makes docs/findings.md from docs/paper_preset.json, so that every number on that page was measured."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from localax.outcome import CHAPTERS

HERE = Path(__file__).parent
SUMMARY = HERE / "paper_preset.json"
PAGE = HERE / "findings.md"


def page(summary: Mapping[str, Any]) -> str:
    """The page on a **summary** of outcomes."""
    claims = [{**claim, "experiment": e} for e in summary["experiments"] for claim in e["claims"]]
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, autoescape=False,  # it is Markdown that comes out, and `text` escapes for that
    )  # fmt: skip
    made.filters["text"] = escaped
    template = made.get_template("findings.md.jinja")
    return template.render(
        summary=summary, claims=claims, chapters=CHAPTERS, find=lambda name, words: _found(claims, name, words)
    )


def _found(claims: Sequence[Mapping[str, Any]], name: str, words: str) -> Mapping[str, Any]:
    """The one claim of an experiment whose sentence has these words."""
    (one,) = [claim for claim in claims if claim["experiment"]["name"] == name and words in claim["sentence"]]
    return one


def escaped(text: str) -> str:
    """Words of a claim as they are, in a cell of a table; formulas between dollars stay formulas."""
    parts = re.split(r"(\$[^$]+\$)", " ".join(text.split()))
    parts[::2] = [re.sub(r"([\\|*_<>`\[\]~])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(SUMMARY.read_text())))
