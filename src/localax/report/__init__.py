"""The report: draws panels and fills the templates of one self-contained HTML page. It knows no science."""

from ._about import About, about_the_claims
from ._data import as_csv
from ._draw import draw, figure, picture
from ._formulas import with_formulas
from ._page import Sheet, claims_json, page, sheet
from ._publish import publish

__all__ = [
    "About",
    "Sheet",
    "about_the_claims",
    "as_csv",
    "claims_json",
    "draw",
    "figure",
    "page",
    "picture",
    "publish",
    "sheet",
    "with_formulas",
]
