"""What an experiment returns: data, never pictures.

A claim is stated once, decided by a rule, and then tested, drawn and listed from the same record. Panels hold the
arrays of a picture and say how they are to be read; the report draws them, the web page too.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ._disk import pack, unpack

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
    """What the rule gives; see :func:`decide`."""
    expected: Verdict
    reason: str = ""
    """Why a verdict is not what the source says, where that is known."""

    @property
    def as_expected(self) -> bool:
        return self.verdict == self.expected


def decide(fully: Any, partly: Any = False) -> Verdict:
    """The verdict of a rule that is met fully, in part, or not at all."""
    return "holds" if fully else "holds in part" if partly else "does not hold"


@dataclass(frozen=True)
class Lines:
    """Curves over a common x, and points that were measured, in the colour of the curve of the same name.

    ``marks`` are vertical lines with a name, such as a predicted threshold.
    """

    title: str
    x: np.ndarray
    curves: dict[str, np.ndarray]
    points: dict[str, np.ndarray] = field(default_factory=dict)
    xlabel: str = ""
    ylabel: str = ""
    logx: bool = False
    logy: bool = False
    marks: dict[str, float] = field(default_factory=dict)


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


Points = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Where the points of a group lie, x and y, and the errors of y."""


@dataclass(frozen=True)
class Scatter:
    """Points in groups, with vertical errors where they are known; ``joined`` puts a line through each group."""

    title: str
    groups: Mapping[str, Points]
    xlabel: str = ""
    ylabel: str = ""
    logx: bool = False
    logy: bool = False
    joined: bool = False
    marks: dict[str, float] = field(default_factory=dict)


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
    """The result of an experiment. An experiment fills the first four fields, and whoever performs it the rest."""

    title: str
    text: str
    """What was asked, what was found and how sure that is, in plain words, filled from the numbers."""
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...] = ()
    name: str = ""
    chapter: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """A file that `Outcome.from_bytes` reads: arrays, and JSON that says where they go."""
        arrays: dict[str, np.ndarray] = {}
        written = _written(self, arrays)
        return pack(arrays, {"outcome": written}, kind="outcome")

    @staticmethod
    def from_bytes(data: bytes, name: str = "outcome") -> "Outcome":
        arrays, meta = unpack(data, kind="outcome", name=name)
        return _read(meta["outcome"], arrays)


# To a file and back ---------------------------------------------------------------------------------------------------

_KINDS = {kind.__name__: kind for kind in (Claim, Lines, Fields, Heatmap, Histogram, Scatter, Table, Figure, Outcome)}


def _written(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The value in JSON's types; arrays move to ``arrays`` and leave their name."""
    if isinstance(value, np.ndarray):
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if dataclasses.is_dataclass(value):
        parts = {f.name: _written(getattr(value, f.name), arrays) for f in dataclasses.fields(value)}
        return {"kind": type(value).__name__, "fields": parts}
    if isinstance(value, dict):  # as pairs: JSON is written with its keys sorted, and curves have an order
        return {"pairs": [[name, _written(item, arrays)] for name, item in value.items()]}
    if isinstance(value, tuple | list):
        return [_written(item, arrays) for item in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else {"number": str(float(value))}
    return value


def _read(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, list):
        return tuple(_read(item, arrays) for item in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "number" in value:
        return float(value["number"])
    if "pairs" in value:
        return {name: _read(item, arrays) for name, item in value["pairs"]}
    return _KINDS[value["kind"]](**{name: _read(item, arrays) for name, item in value["fields"].items()})
