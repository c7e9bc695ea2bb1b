"""What a prediction says, for people and for machines."""

import html
import json
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._text import table
from .._types import Float
from ..analysis import spectrum
from ..outcome import Fields, Figure, Lines, Scatter
from ._assumptions import Assumption
from ._law import Law
from ._why import Why


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """Whether data localize, where, and why. :func:`predict` makes it.

    ``verdict``: "localizes", "does not localize" or "undecided". ``probability``: the share of starts that end in a
    local field. ``ipr``, ``width``: medians over starts. ``field``: the one that stands for all, (*pixels).
    ``checks``: the theory's assumptions on these data. ``reasons``: why, in words. ``why``: the numbers in them.
    ``law``: what more samples would give. ``fields``: where every start ended. ``peaks``: where local fields peak, with
    shares. ``ceiling``: the n IPR that chance gives. ``horizon``: the time to which the flow was followed. ``scale``:
    the root mean square that was divided out. ``samples``: of class 1 and 0. ``contrast``: what class 0 is.
    ``trained``: the IPR of networks trained on the data, where that was asked for. ``local``: which of those are local.
    """

    verdict: str
    probability: float
    ipr: float
    width: float
    field: Float[np.ndarray, "*pixels"]
    checks: tuple[Assumption, ...]
    reasons: tuple[str, ...]
    why: Why | None
    law: Law | None
    fields: Float[np.ndarray, "n *pixels"]
    peaks: dict[int, float]
    ceiling: float
    horizon: float
    scale: float
    samples: tuple[int, int]
    contrast: str
    trained: Float[np.ndarray, " networks"] | None = None
    local: np.ndarray | None = None

    def __repr__(self) -> str:
        numbers = f"probability={self.probability:.2f}, ipr={self.ipr:.3f}, width={self.width:.3g}"
        return f"Prediction({self.verdict}, {numbers})"

    def __str__(self) -> str:
        lines = [*(f"{name:<12} {value}" for name, value in self._facts()), "", "why"]
        lines += [f"  - {reason}" for reason in self.reasons]
        lines += ["", "assumptions of the theory (the verdict needs none)"] if self.checks else []
        return "\n".join([*lines, *(f"  {check}" for check in self.checks)])

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """All that it says as HTML, without the page around it."""
        reasons = "".join(f"<li>{html.escape(reason)}</li>" for reason in self.reasons)
        head = ("assumption", "class", "value", "error", "status")
        rows = [(c.name, c.label, f"{c.value:.3g}", f"{c.standard_error:.2g}", c.status) for c in self.checks]
        parts = [table(self._facts(), caption="Prediction"), f"<ul>{reasons}</ul>"]
        return "\n".join([*parts, *([table(rows, head, "Assumptions of the theory")] if rows else [])])

    def _facts(self) -> list[tuple[str, str]]:
        places = list(self.peaks.items())
        sits = ", ".join(f"pixel {place} ({share:.0%})" for place, share in places[:4])
        more = f" and {len(places) - 4} other places" if len(places) > 4 else ""
        facts = [
            ("verdict", f"{self.verdict} (probability {self.probability:.2f}, at time {self.horizon:g})"),
            ("law", "not asked" if self.law is None else f"{self.law.verdict}; {self.law.said}"),
            ("field", f"IPR {self.ipr:.4f} (n IPR {self.ipr * self.field.size:.3g}), width {self.width:.3g} pixels"),
            ("sits at", f"{sits}{more}" if sits else "no place"),
            ("samples", f"{self.samples[0]:,} against {self.samples[1]:,} ({self.contrast}); scale {self.scale:.4g}"),
        ]
        if self.trained is not None and self.local is not None:
            said = f"{int(self.local.sum())} of {len(self.local)} networks localize, IPR {np.median(self.trained):.4f}"
            facts.append(("trained", said))
        return facts

    def to_json(self) -> str:
        """All of it as JSON, under the names it has here, without the field of every start."""
        skipped = ("fields",)
        return json.dumps({k: _plain(v) for k, v in asdict(self).items() if k not in skipped}, indent=1)

    def figure(self) -> Figure:
        """A picture of it, as data: the field, all that starts ended in, its spectrum and the learning curve."""
        fields = self.fields[:: max(1, len(self.fields) // 9)][:9]
        panels: list[Any] = [
            Fields("the field that stands for all", self.field[None]),
            Fields(f"fields from {len(fields)} starts", fields),
        ]
        power = np.asarray(spectrum(self.field, ndim=self.field.ndim))
        if power.ndim == 1:
            x = np.arange(len(power))
            panels.append(Lines("its spectrum", x, {"power": power}, xlabel="frequency", ylabel="power"))
        rows = [tuple(panels), *([(self._curve(self.law),)] if self.law else [])]
        return Figure(f"Prediction: {self.verdict}", tuple(rows), caption=" ".join(self.reasons))

    def _curve(self, law: Law) -> Scatter:
        points = (np.array(law.samples, float), np.array(law.concentration), None)
        return Scatter("learning curve", {"n IPR": points}, xlabel="samples", ylabel="n IPR", logx=True, joined=True)


def _plain(value: Any) -> Any:
    """A value as JSON has it; what is no number there is null."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
