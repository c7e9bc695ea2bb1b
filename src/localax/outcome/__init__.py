"""What an experiment returns: data, never pictures.

A claim is stated once, decided by a rule, and then tested, drawn and listed from the same object. Panels hold the
arrays of a picture; the report draws them, the web page too.
"""

from ._claim import Claim, Expected, Number, Rule, Threshold, Verdict, as_measured, by_theory, finite
from ._figure import Diagram, Fields, Figure, Heatmap, Histogram, Lines, Panel, Points, Scatter, Table
from ._outcome import Outcome
from ._sources import CHAPTERS, SOURCES
from ._summary import differences, read_summary, summary, write_summary

__all__ = [
    "CHAPTERS",
    "SOURCES",
    "Claim",
    "Diagram",
    "Expected",
    "Fields",
    "Figure",
    "Heatmap",
    "Histogram",
    "Lines",
    "Number",
    "Outcome",
    "Panel",
    "Points",
    "Rule",
    "Scatter",
    "Table",
    "Threshold",
    "Verdict",
    "as_measured",
    "by_theory",
    "differences",
    "finite",
    "read_summary",
    "summary",
    "write_summary",
]
