"""The report: draws panels and writes one self-contained HTML page. It knows no science."""

from ._draw import draw, figure, picture
from ._page import claims_json, page
from ._publish import publish

__all__ = ["claims_json", "draw", "figure", "page", "picture", "publish"]
