"""Formulas as MathML, which browsers draw without network, as in the report; one that is misspelt fails the build."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (inline, None), (display, None))


def inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(_mathml(node, "inline"))
    raise nodes.SkipNode


def display(translator: Any, node: nodes.Element) -> None:
    translator.body.append(f'<div class="formula">{_mathml(node, "block")}</div>\n')
    raise nodes.SkipNode


def _mathml(node: nodes.Element, display: str) -> str:
    formula = node.astext().strip()
    written = convert(formula, display=display)
    if "\\" in written:  # the converter passes on what it does not know
        logging.getLogger(__name__).warning("formula with a command that is not known: %s", formula, location=node)
    # Where no font for mathematics is installed, what is marked as an accent is drawn across its letter.
    return written.replace(' accent="true"', "")
