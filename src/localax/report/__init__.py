"""The report: draws panels and fills the templates of one self-contained HTML page. It knows no science."""

from ._about import About, about_the_claims
from ._draw import draw, figure, picture
from ._page import Sheet, claims_json, page, sheet
from ._publish import publish

__all__ = ["About", "Sheet", "about_the_claims", "claims_json", "draw", "figure", "page", "picture", "publish", "sheet"]
