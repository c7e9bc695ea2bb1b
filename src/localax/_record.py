"""What an experiment returns: data, never pictures.

A claim is stated once, decided by a rule, and then tested, drawn and listed from the same record. Panels hold the
arrays of a picture and say how they are to be read; the report draws them, the web page too.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Verdict = Literal["holds", "holds in part", "does not hold", "not testable here"]


@dataclass(frozen=True)
class Claim:
    """A sentence of a source, what it reports, what was measured, and the verdict that a rule gives."""

    sentence: str
    source: str
    reported: str
    measured: str
    rule: str
    basis: str
    """How many seeds and samples the measurement rests on."""
    verdict: Verdict
    expected: Verdict
    reason: str = ""

    @property
    def as_expected(self) -> bool:
        return self.verdict == self.expected


@dataclass(frozen=True)
class Lines:
    """Curves over a common x, and points that were measured, in the colour of the curve of the same name."""

    title: str
    x: np.ndarray
    curves: dict[str, np.ndarray]
    points: dict[str, np.ndarray] = field(default_factory=dict)
    xlabel: str = ""
    ylabel: str = ""
    logx: bool = False
    logy: bool = False


@dataclass(frozen=True)
class Fields:
    """Receptive fields or samples side by side: (field, pixel) as curves, (field, row, column) as images."""

    title: str
    values: np.ndarray
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Heatmap:
    """One number at every point of a grid."""

    title: str
    values: np.ndarray
    xlabel: str = ""
    ylabel: str = ""
    extent: tuple[float, float, float, float] | None = None


@dataclass(frozen=True)
class Histogram:
    """Measured density in bins, with the exact one where it is known."""

    title: str
    edges: np.ndarray
    density: np.ndarray
    exact: np.ndarray | None = None
    xlabel: str = ""


@dataclass(frozen=True)
class Scatter:
    """Points in groups, with vertical errors where they are known."""

    title: str
    groups: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray | None]]
    xlabel: str = ""
    ylabel: str = ""
    logx: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text and numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


Panel = Lines | Fields | Heatmap | Histogram | Scatter | Table


@dataclass(frozen=True)
class Figure:
    """Rows of panels under one title, each row with a label of its own."""

    title: str
    rows: tuple[tuple[Panel, ...], ...]
    labels: tuple[str, ...] = ()
    caption: str = ""


@dataclass(frozen=True)
class Outcome:
    """The result of an experiment."""

    name: str
    title: str
    text: str
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
