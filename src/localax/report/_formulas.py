"""Text with formulas for a page: what stands between dollars becomes MathML, and everything else is escaped."""

import functools
import re
from xml.etree import ElementTree

from markupsafe import Markup, escape

_FORMULA = re.compile(r"\$\$([^$]+)\$\$|\$([^$\n]+)\$")
_TAGS = frozenset(
    {"math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup"}
    | {"munder", "mover", "munderover", "mtable", "mtr", "mtd", "mstyle"}
)
_ATTRIBUTES = frozenset(
    {"display", "displaystyle", "scriptlevel", "mathvariant", "stretchy", "fence", "form", "separator", "accent"}
    | {"largeop", "movablelimits", "lspace", "rspace", "width", "minsize", "maxsize", "linethickness"}
    | {"columnalign", "columnspacing", "rowspacing"}
)
"""What a formula may consist of: no links, no styles, no events."""


def with_formulas(text: object) -> Markup:
    """The **text**, escaped, with ``$...$`` (in the line) and ``$$...$$`` (on a line of its own) as MathML."""
    parts, end = [], 0
    for found in _FORMULA.finditer(source := str(text)):
        alone, inside = found.groups()
        formula = _mathml(alone or inside, "block" if alone else "inline")
        parts += [_words(source[end : found.start()]), escape(found[0]) if formula is None else formula]
        end = found.end()
    return Markup("").join([*parts, _words(source[end:])])


def _words(text: str) -> Markup:
    return escape(text.replace("+-", "±"))


@functools.cache
def _mathml(tex: str, display: str) -> Markup | None:
    """A formula, or None where it is no TeX or asks for more than a formula has, such as a link or a style.

    The converter passes on what it finds in ``\\text`` as it is. So its answer is read, checked part by part and
    written anew.
    """
    from latex2mathml.converter import convert  # who draws a picture and no page does without it

    try:
        tree = ElementTree.fromstring(re.sub(r' xmlns="[^"]*"', "", convert(tex, display=display), count=1))
    except Exception:  # the converter's errors have no base in common
        return None
    if all(part.tag in _TAGS and set(part.attrib) <= _ATTRIBUTES for part in tree.iter()):
        return Markup(ElementTree.tostring(tree, encoding="unicode"))
    return None
