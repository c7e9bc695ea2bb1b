"""Does it matter which class has the longer lengthscale? Localization against short-range oscillation."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ..._progress import Update
from ...analysis import dominant_frequency, ipr
from ...outcome import Claim, Fields, Figure, Lines, Number, Points, Rule, Scatter, Table, as_measured, by_theory
from ...spec import Setting
from ...theory import localized_attractor
from ...theory.steady import LocalizedAttractor
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.checks import even, rising, shared_out
from ..toolkit.populations import Population, share
from ..toolkit.single_neurons import centred, final_fields
from ..toolkit.sources import NETWORKS
from ..toolkit.tasks import SIZE, WIDE, ising, nlgp

SHORT_RANGE = 5
"""Cycles round the ring beyond which a wave is short-range: half a period is then no longer than 4 pixels, about the
longer lengthscale. Elsewhere waves are fast beyond 2 cycles, of which half a period may be 6 pixels and long-range."""
GAUSSIAN, SHARP = 0.1, 3.0
"""Gains up to which data count as Gaussian, and from which they do not: an excess kurtosis close to the least, -2."""
COUPLINGS = (0.3, 0.7)

LONG = Rule(
    "every neuron at gains from {from_gain:g} on is localized, and none on Gaussian data; in part: more than "
    "{half:.0%} of them at these gains",
    lambda n, _: n.sharp == 1 and n.gaussian == 0,
    partly=lambda n, t: n.sharp > t.half,
    thresholds={"half": 0.5},
    holds={"sharp": 1.0, "gaussian": 0.0},
    part={"sharp": 0.8, "gaussian": 0.1},
    fails={"sharp": 0.3, "gaussian": 0.0},
)
SHORT = Rule(
    "{most:.0%} of the neurons at every gain are not localized and have more than {cycles} cycles; in part: more than "
    "{half:.0%} of them at every gain up to {to_gain:g}",
    lambda n, t: n.least >= t.most,
    partly=lambda n, t: n.moderate > t.half,
    thresholds={"most": 0.9, "half": 0.5},  # one in ten may still be on its way
    holds={"least": 0.95, "moderate": 1.0},
    part={"least": 0.4, "moderate": 0.8},
    fails={"least": 0.1, "moderate": 0.3},
)
NO_LOCAL = Rule(
    "the candidate (S0+S1)^-1 S1 e is no stable fixed point: its peak does not outweigh all other weights together, or "
    "perturbations do not decay",
    lambda n, _: not (n.margin > 0 and n.rate > 0),
    holds={"margin": -0.2, "rate": 0.4},
    fails={"margin": 0.2, "rate": 0.4},
)


@dataclass(frozen=True)
class LengthscaleOrder(AbstractExperiment):
    """Do ReLU neurons localize if label 1 has the longer lengthscale, and oscillate at short range otherwise?"""

    name: ClassVar[str] = "lengthscale_order"
    title: ClassVar[str] = "Which class is the long one"
    cost: ClassVar[float] = 10.0

    gains: Annotated[tuple[float, ...], Setting("gains of NLGP", gt=0, many=(2, None))] = (0.01, 3.0, 100.0)
    seeds: Annotated[int, Setting("initialisations", kind=int, ge=1)] = 8
    streams: Annotated[int, Setting("streams of data that they share out", kind=int, ge=1)] = 2
    steps: Annotated[int, Setting("steps of training", kind=int, ge=1)] = 2000
    rate: Annotated[float, Setting("learning rate", gt=0)] = 0.1
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2)] = 48

    def check(self) -> None:
        even(self, "batch")
        rising(self, "gains")
        shared_out(self, self.streams)

    @classmethod
    def paper(cls) -> "LengthscaleOrder":
        return cls(gains=(0.01, 0.5, 1.0, 3.0, 100.0), seeds=28, streams=4, steps=8000, rate=0.05, batch=128)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Every gain in both orders in one call; label 1 belongs to the second lengthscale of a pair."""
        pairs = (WIDE, WIDE[::-1])
        final = final_fields(
            [nlgp(gain, pair) for pair in pairs for gain in self.gains], key, seeds=self.seeds,
            steps=self.steps, batch=self.batch, rate=self.rate, stream=self.streams,
        ).reshape(2, len(self.gains), self.seeds, SIZE)  # fmt: skip
        progress(0.9)
        exact = [localized_attractor(ising(couplings=pair), SIZE // 2) for pair in (COUPLINGS, COUPLINGS[::-1])]
        long, short = (Order(*parts) for parts in zip(("label 1 long", "label 1 short"), final, exact, strict=True))
        return Measured(self, long, short)


@dataclass(frozen=True)
class Order(Population):
    """Fields of one order of the lengthscales, (gain, seed, pixel), and the exact attractor on Ising data."""

    name: str
    fields: np.ndarray
    attractor: LocalizedAttractor

    @property
    def waves(self) -> np.ndarray:
        """Which neurons have become short-range waves."""
        return ~self.local & (dominant_frequency(self.fields) > SHORT_RANGE)


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """What neurons become in both orders."""

    experiment: LengthscaleOrder
    long: Order
    short: Order

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._long(), self._short(), self._binary()

    def _basis(self) -> str:
        it = self.experiment
        return f"{it.seeds} initialisations on {it.streams} streams of data at each gain, {it.steps} steps"

    def _counts(self, which: np.ndarray) -> str:
        return ", ".join(f"{int(w.sum())} at gain {g:g}" for g, w in zip(self.experiment.gains, which, strict=True))

    def _long(self) -> Claim:
        gains, found = np.array(self.experiment.gains), self.long.local
        return LONG.claim(
            "ReLU neurons localize if the class of label 1 has the longer lengthscale.",
            source=f"{NETWORKS}, section 1",
            reported="localization if xi_1 > xi_2, for non-Gaussian data",
            numbers=[share("sharp", found[gains >= SHARP]), share("gaussian", found[gains <= GAUSSIAN])],
            said=f"of {self.experiment.seeds}: {self._counts(found)}; {{sharp:.0%}} at gains from {SHARP:g} on, "
            "{gaussian:.0%} on Gaussian data",
            basis=self._basis(),
            expected=as_measured("holds"),
            words={"from_gain": SHARP},
        )

    def _short(self) -> Claim:
        shares, it = self.short.waves.mean(1), self.experiment
        moderate = shares[np.array(it.gains) <= SHARP]
        return SHORT.claim(
            "Otherwise, if the class of label 1 has the shorter lengthscale, the fields are short-range oscillations.",
            source=f"{NETWORKS}, section 1",
            reported="short-range oscillations otherwise",
            numbers=[Number("least", shares.min()), Number("moderate", min(moderate, default=None))],
            said=f"short-range waves, of {it.seeds}: {self._counts(self.short.waves)}; localized: "
            f"{self._counts(self.short.local)}; least share of waves {{least:.0%}}, {{moderate:.0%}} up to gain "
            f"{SHARP:g}",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            words={"cycles": SHORT_RANGE, "to_gain": SHARP},
            reasons={
                "holds in part": "Near the hypercube the swapped task has localized steady states as well, with a "
                "surround of opposite sign."
            },
        )

    def _binary(self) -> Claim:
        found, centre = self.short.attractor, SIZE // 2
        return NO_LOCAL.claim(
            "On binary data there is no localized solution when label 1 has the shorter lengthscale.",
            source=f"{NETWORKS}, section 1, read for Ising data",
            reported="short-range oscillations otherwise",
            numbers=[
                Number("peak", found.field[centre]),
                Number("beside", found.field[centre + 1]),
                Number("ipr", found.ipr),
                Number("margin", found.margin),
                Number("rate", found.rate),
            ],
            said=f"couplings {COUPLINGS[1]:g} and {COUPLINGS[0]:g}: fixed point with peak {{peak:.3f}}, neighbours "
            "{beside:.3f}, IPR {ipr:.3f}, margin {margin:.3f}, decay of perturbations {rate:.3f}",
            basis="closed form, no samples",
            expected=by_theory("does not hold", "the closed form (S0+S1)^-1 S1 e, where its peak outweighs the rest"),
            reasons={
                "does not hold": "Where one weight outweighs the rest the flow is linear, whatever the order of the "
                "classes."
            },
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        gains, orders = self.experiment.gains, (self.long, self.short)
        shown = sorted({0, len(gains) - 2, len(gains) - 1})
        rows = [tuple(Fields(f"gain {gains[i]:g}", _most_local(o.fields[i])) for i in shown) for o in orders]
        places = np.repeat(np.array(gains), self.experiment.seeds)
        spread: dict[str, Points] = {o.name: (places, o.ipr.ravel(), None) for o in orders}
        distance = np.arange(-6, 7)
        attractors = {o.name: o.attractor.field[SIZE // 2 + distance] for o in orders}
        last = (
            Scatter("every neuron", spread, "gain", "IPR", logx=True),
            Lines("exact on Ising data", distance, attractors, xlabel="distance from the peak"),
        )
        labels = tuple(o.name for o in orders)
        return Figure("Both orders of the lengthscales", (*rows, last), labels=labels), self._table()

    def _table(self) -> Figure:
        seeds = self.experiment.seeds
        rows = tuple(
            (o.name, f"{gain:g}", int(o.local[i].sum()), int(o.waves[i].sum()), seeds, f"{np.median(o.ipr[i]):.3f}")
            for o in (self.long, self.short)
            for i, gain in enumerate(self.experiment.gains)
        )
        columns = ("order", "gain", "localized", "short-range waves", "of", "median IPR")
        return Figure("What neurons become", ((Table("", columns, rows),),))

    def text(self) -> str:
        it, long, short = self.experiment, self.long, self.short
        exact = short.attractor
        return (
            f"The notes say that localization appears when the class of label 1 has the longer lengthscale, and "
            f"short-range oscillations otherwise. With the longer one as label 1, {int(long.local[-1].sum())} of "
            f"{it.seeds} neurons localize at gain {it.gains[-1]:g} and {int(long.local[0].sum())} at gain "
            f"{it.gains[0]:g}. Swapped, {int(short.waves[0].sum())} of {it.seeds} oscillate at gain {it.gains[0]:g}; "
            f"at gain {it.gains[-1]:g} {int(short.waves[-1].sum())} do and {int(short.local[-1].sum())} localize (IPR "
            f"up to {short.ipr[-1].max():.2f}). On Ising data a localized field for the swapped task is known exactly: "
            f"peak {exact.field.max():.3f}, neighbours {exact.field[SIZE // 2 + 1]:.3f}, IPR {exact.ipr:.3f}, its peak "
            f"larger than all other weights together by {exact.margin:.3f}, which makes it stable if positive. No "
            f"neurons were trained on Ising data, so how many of them would reach it is not known here. Lengthscales "
            f"{WIDE[0]:g} and {WIDE[1]:g}, {it.seeds} initialisations on {it.streams} streams of data, {it.steps} "
            f"steps at rate {it.rate:g}, gradients averaged over all shifts and signs of {it.batch} samples."
        )


def _most_local(fields: np.ndarray, count: int = 3) -> np.ndarray:
    return centred(fields)[np.argsort(-ipr(fields))[:count]]
