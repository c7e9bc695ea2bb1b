"""What an experiment gives, whole, and its file."""

import dataclasses
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._disk import pack, unpack
from .._errors import SettingError, setting_error
from .._text import table
from ._claim import Claim, Expected, Number, Threshold
from ._figure import Diagram, Fields, Figure, Heatmap, Histogram, Lines, Scatter, Table
from ._fits import misfit

_NAME = re.compile(r"[A-Za-z0-9_-]{0,60}")


@dataclass(frozen=True)
class Outcome:
    """The result of an experiment. An experiment fills the first four fields, and whoever performs it the rest."""

    title: str
    """What was asked, in a few words."""
    text: str
    """What was asked, what was found and how sure that is, in plain words, filled from the numbers."""
    figures: tuple[Figure, ...]
    """What was measured, as panels to be drawn."""
    claims: tuple[Claim, ...] = ()
    """What was claimed, and the verdicts."""
    name: str = ""
    """Of the experiment: letters, digits, _ and -, at most 60."""
    chapter: str = ""
    """Of the report that it belongs to."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Of the experiment, by name, with its seed."""
    seconds: float = 0.0
    """How long it took."""
    versions: dict[str, str] = field(default_factory=dict)
    """Of the libraries that it was made with."""
    question: str = ""
    """What the experiment asks, in one sentence."""
    origin: str = ""
    """The file that made it."""

    def __post_init__(self) -> None:
        # It names files and parts of a page, and may come from somebody else's file.
        if not _NAME.fullmatch(self.name):
            raise setting_error("Outcome", "name", self.name, "letters, digits, _ and -, at most 60")

    def __repr__(self) -> str:
        verdicts = Counter(claim.verdict for claim in self.claims)
        said = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()) or "no claims"
        return f"Outcome({self.name or self.title!r}: {said}; {len(self.figures)} figures)"

    def __str__(self) -> str:
        return "\n".join([self.title, *(f"{claim.verdict}: {claim.sentence} {claim.said}" for claim in self.claims)])

    def _repr_html_(self) -> str:
        rows = [(claim.sentence, claim.said, claim.verdict) for claim in self.claims]
        return table(rows, ("claim", "measured", "verdict"), self.title)

    def to_bytes(self) -> bytes:
        """A file that `Outcome.from_bytes` reads: arrays, and JSON that says where they go."""
        arrays: dict[str, np.ndarray] = {}
        written = _written(self, arrays)
        return pack(arrays, {"outcome": written}, kind="outcome")

    @staticmethod
    def from_bytes(data: bytes, name: str = "outcome") -> "Outcome":
        """The outcome in the bytes **data** of a file; **name** is how complaints call it."""
        arrays, meta = unpack(data, kind="outcome", name=name)
        try:
            outcome = _read(meta["outcome"], arrays)
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise SettingError(f"{name}: does not hold an outcome ({type(error).__name__})") from error
        if not isinstance(outcome, Outcome):
            raise SettingError(f"{name}: does not hold an outcome")
        return outcome


# To a file and back ---------------------------------------------------------------------------------------------------

_PARTS = (
    Claim, Expected, Number, Threshold, Lines, Fields, Heatmap, Diagram, Histogram, Scatter, Table, Figure, Outcome,
)  # fmt: skip
_KINDS = {kind.__name__: kind for kind in _PARTS}


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
    found = _KINDS[value["kind"]](**{name: _read(item, arrays) for name, item in value["fields"].items()})
    if (name := misfit(found)) is not None:
        raise TypeError(f"{value['kind']}.{name}")
    return found
