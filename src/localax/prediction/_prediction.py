"""What a prediction says, for people and for machines."""

import html
import json
import math
import textwrap
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._text import table
from .._types import Float
from ..analysis import spectrum
from ..outcome import Fields, Figure, Heatmap, Lines, Scatter, Table
from ._assumptions import Assumption
from ._beside import Beside
from ._law import Law
from ._why import Why

LINE = 110
"""Characters of a line in a terminal."""


@dataclass(frozen=True, eq=False, repr=False)
class Prediction:
    """Whether data localize, where, and why. :func:`predict` makes it.

    ``verdict``: "localizes", "does not localize" or "undecided". ``probability``: the share of starts that end in a
    local field. ``ipr``, ``width``: medians over starts. ``field``: the one that stands for all, (*pixels).
    ``checks``: the theory's assumptions on these data. ``reasons``: why, in words. ``why``: the numbers in them.
    ``law``: what more samples would give. ``beside``: fields of the theory, where asked for. ``fields``: where every
    start ended. ``peaks``: where local fields peak, with shares. ``ceiling``: the n IPR that chance gives. ``horizon``:
    the time to which the flow was followed. ``scale``: the root mean square that was divided out. ``samples``: of class
    1 and 0. ``contrast``: what class 0 is. ``trained``: the IPR of networks trained on the data, where that was asked
    for. ``local``: which of those are local.
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
    beside: tuple[Beside, ...]
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
        lines = [_wrapped(f"{name:<12} ", value) for name, value in self.facts()]
        lines += ["", "why", *(_wrapped("  - ", reason) for reason in self.reasons)]
        lines += ["", "assumptions of the theory (the verdict needs none)"] if self.checks else []
        return "\n".join([*lines, *(_wrapped("  ", str(check)) for check in self.checks)])

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """All that it says as HTML, without the page around it."""
        reasons = "".join(f"<li>{html.escape(reason)}</li>" for reason in self.reasons)
        found = self.assumptions()
        parts = [table(self.facts(), caption="Prediction"), f"<ul>{reasons}</ul>"]
        return "\n".join([*parts, *([table(found.rows, found.columns, found.title)] if found.rows else [])])

    def assumptions(self) -> Table:
        """What the theory assumes, as measured."""
        columns = ("assumption", "class", "value", "error", "status", "what the value means")
        rows = (
            (f"{c.name} {c.title}", c.label, f"{c.value:.2g}", f"{c.standard_error:.1g}", _status(c), c.meaning)
            for c in self.checks
        )
        return Table("Assumptions of the theory (the verdict needs none)", columns, tuple(rows))

    def facts(self) -> list[tuple[str, str]]:
        """The answer in a few lines, each with its name."""
        facts = [
            ("verdict", f"{self.verdict} (probability {self.probability:.2f}, at time {self.horizon:g})"),
            ("law behind", "not asked" if self.law is None else f"{self.law.verdict}; {self.law.said}"),
            ("field", f"IPR {self.ipr:.4f} (n IPR {self.ipr * self.field.size:.3g}), width {self.width:.3g} pixels"),
            ("sits at", self._places()),
            ("samples", f"{self.samples[0]:,} against {self.samples[1]:,} ({self.contrast}); scale {self.scale:.4g}"),
        ]
        if self.trained is not None and self.local is not None:
            said = f"{int(self.local.sum())} of {len(self.local)} networks localize, IPR {np.median(self.trained):.4f}"
            facts.append(("trained", said))
        return facts

    def _places(self) -> str:
        places = list(self.peaks.items())
        said = ", ".join(f"pixel {self._place(pixel)} ({share:.0%})" for pixel, share in places[:4])
        return f"{said} and {len(places) - 4} other places" if len(places) > 4 else said or "no place"

    def _place(self, pixel: int) -> str:
        row_column = np.unravel_index(pixel, self.field.shape)
        return str(pixel) if self.field.ndim == 1 else f"({', '.join(map(str, row_column))})"

    def to_json(self) -> str:
        """All of it as JSON, under the names it has here, without the field of every start."""
        skipped = ("fields",)
        return json.dumps({k: _plain(v) for k, v in asdict(self).items() if k not in skipped}, indent=1)

    def figure(self) -> Figure:
        """A picture of it, as data: the field, what all starts ended in, its spectrum, learning curve and amplifier."""
        some = self.fields[:: max(1, len(self.fields) // 9)][:9]
        shown = np.stack([self.field, *(_aligned(other.field, self.field) for other in self.beside)])
        names = ("on the data", *(other.flow for other in self.beside)) if self.beside else ()
        fields = Fields("the field that stands for all", shown, names)
        panels = (fields, Fields(f"fields from {len(some)} starts", some), self._spectrum())
        below = (*([self._curve(self.law)] if self.law else []), *([self._amplifier(self.why)] if self.why else []))
        rows = (panels, below) if below else (panels,)
        return Figure(f"Prediction: {self.verdict}", rows, caption=" ".join(self.reasons))

    def _spectrum(self) -> Lines | Heatmap:
        power = np.asarray(spectrum(self.field, ndim=self.field.ndim))
        if power.ndim == 2:
            return Heatmap("its spectrum", np.fft.fftshift(power, axes=0), xlabel="frequency", ylabel="frequency")
        return Lines("its spectrum", np.arange(len(power)), {"power": power}, xlabel="frequency", ylabel="power")

    def _curve(self, law: Law) -> Scatter:
        points = (np.array(law.samples, float), np.array(law.concentration), None)
        return Scatter("learning curve", {"n IPR": points}, xlabel="samples", ylabel="n IPR", logx=True, joined=True)

    def _amplifier(self, why: Why) -> Scatter:
        band = why.amplifier
        groups = {
            "a pixel, with 2 errors": (band.correlation, band.value, 2 * band.error),
            "a Gaussian": (band.correlation, band.tangent, None),
        }
        return Scatter("amplifier of a pixel", groups, xlabel="correlation", ylabel="pull", joined=True)


def _status(check: Assumption) -> str:
    return check.status if check.status == "holds" else f"{check.status}: {check.effect}"


def _wrapped(head: str, text: str) -> str:
    """A text after its head, in lines that fit a terminal, all but the first indented."""
    return textwrap.fill(text, LINE, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False)


def _aligned(field: np.ndarray, model: np.ndarray) -> np.ndarray:
    """A field moved to the place, and given the sign, at which it is most like another."""
    axes = tuple(range(field.ndim))
    match = np.fft.ifftn(np.conj(np.fft.fftn(field)) * np.fft.fftn(model)).real
    place = np.unravel_index(int(np.argmax(np.abs(match))), field.shape)
    return np.sign(match[place]) * np.roll(field, place, axes)


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
