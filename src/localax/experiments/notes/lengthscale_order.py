"""What the notes report first: it matters which class has the longer lengthscale, and not which sigmoid units have."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np

from ..._progress import Update
from ...analysis import Kind, classify, dominant_frequency, ipr, localized
from ...networks import SoftCommittee, Xavier, seed_keys
from ...outcome import Claim, Fields, Figure, Lines, Number, Points, Rule, Scatter, Table, as_measured
from ...spec import Setting
from ...stimuli import Task
from ...theory import localized_attractor
from ...theory.steady import LocalizedAttractor
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.checks import shared_out
from ..toolkit.populations import Population, share, some
from ..toolkit.seeds import seed_from, seeds_from
from ..toolkit.sigmoid_units import signed
from ..toolkit.single_neurons import centred, final_fields
from ..toolkit.sources import NETWORKS
from ..toolkit.tasks import SIZE, WIDE, ising, nlgp
from ..toolkit.train import train
from ..toolkit.unit_kinds import fast, slow

SHORT_RANGE = 5
"""Cycles round the ring beyond which a wave is short-range: half a period is then no longer than 4 pixels, about the
longer lengthscale. Elsewhere waves are fast beyond 2 cycles, of which half a period may be 6 pixels and long-range."""
CHANGES, FAINT = 4, 0.1
"""Changes of sign, two cycles, from which a localized field oscillates, a centre with its surround having two; counted
among pixels of this share of the largest, which is beyond the noise of training."""
GAUSSIAN, SHARP = 0.1, 3.0
"""Gains up to which data count as Gaussian, and from which they do not: an excess kurtosis close to the least, -2."""
COUPLINGS = (0.3, 0.7)
"""Of the Ising classes of the paper's figure 3."""
SMOOTH = (0.01, 3.0)
"""Gains at which erf and logistic units are compared: nearly Gaussian data, and data on which erf units localize."""
SLOPE = 0.5 * np.sqrt(np.pi / 2)
"""(1 + erf(SLOPE h/sqrt 2))/2 has the slope of the logistic function at 0."""
KINDS = ("localized", "slow wave", "fast wave", "mixed")

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
    "{most:.0%} of the neurons at every gain oscillate at short range: waves of more than {cycles} cycles, or "
    "localized packets of them with {changes} changes of sign or more; in part: more than {half:.0%} at every gain up "
    "to {to_gain:g}",
    lambda n, t: n.least >= t.most,
    partly=lambda n, t: n.moderate > t.half,
    thresholds={"most": 0.9, "half": 0.5},  # one in ten may still be on its way
    holds={"least": 0.95, "moderate": 1.0},
    part={"least": 0.4, "moderate": 0.8},
    fails={"least": 0.1, "moderate": 0.3},
)
ALIKE = Rule(
    "at every gain at most {same:.0%} of the units of one network have no counterpart of their kind and sign of bias "
    "in the other (in part: at most {half:.0%})",
    lambda n, t: n.apart <= t.same,
    partly=lambda n, t: n.apart <= t.half,
    thresholds={"same": 0.25, "half": 0.5},
    holds={"apart": 0.1},
    part={"apart": 0.4},
    fails={"apart": 0.7},
)


@dataclass(frozen=True)
class LengthscaleOrder(AbstractExperiment):
    """Do ReLU neurons localize only if label 1 has the longer lengthscale, and are sigmoid units like erf units?"""

    name: ClassVar[str] = "lengthscale_order"
    title: ClassVar[str] = "Which class is the long one, and which sigmoid"
    cost: ClassVar[float] = 18.0

    gains: Annotated[tuple[float, ...], Setting("gains of NLGP", gt=0, many=(2, None), rising=True)] = (
        0.01,
        3.0,
        100.0,
    )
    seeds: Annotated[int, Setting("initialisations", kind=int, ge=1)] = 8
    streams: Annotated[int, Setting("streams of data that they share out", kind=int, ge=1)] = 2
    steps: Annotated[int, Setting("steps of training", kind=int, ge=1)] = 2000
    rate: Annotated[float, Setting("learning rate", gt=0)] = 0.1
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 48
    units: Annotated[int, Setting("hidden units of networks of erf and of logistic units", kind=int, ge=2)] = 20
    networks: Annotated[int, Setting("such networks of either kind, each on data of its own", kind=int, ge=1)] = 2
    course: Annotated[int, Setting("steps of their training", kind=int, ge=1)] = 300

    def check(self) -> None:
        shared_out(self, self.streams)

    @classmethod
    def paper(cls) -> "LengthscaleOrder":
        return cls(
            gains=(0.01, 0.5, 1.0, 3.0, 100.0),
            seeds=28,
            streams=4,
            steps=8000,
            rate=0.05,
            batch=128,
            networks=4,
            course=1000,
        )

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Every gain in both orders in one call, label 1 being that of the second lengthscale of a pair; then erf and
        logistic units."""
        pairs = (WIDE, WIDE[::-1])
        final = final_fields(
            [nlgp(gain, pair) for pair in pairs for gain in self.gains], key, seeds=self.seeds,
            steps=self.steps, batch=self.batch, rate=self.rate, stream=self.streams,
        ).reshape(2, len(self.gains), self.seeds, SIZE)  # fmt: skip
        progress(0.5)
        exact = [localized_attractor(ising(couplings=pair), SIZE // 2) for pair in (COUPLINGS, COUPLINGS[::-1])]
        long, short = (Order(*parts) for parts in zip(("label 1 long", "label 1 short"), final, exact, strict=True))
        erf, logistic = self._sigmoids(jax.random.fold_in(key, 1))
        return Measured(self, long, short, erf, logistic)

    def _sigmoids(self, key: Any) -> tuple["Units", "Units"]:
        """Networks of erf and of logistic units whose flows would be the same if a logistic function were an erf.

        With v = SLOPE w and labels 0, 1 for -1, 1 the loss is a quarter and dv/dt is SLOPE^2/4 of what it is for erf.
        """
        start = np.asarray(
            Xavier(0.1).weights(seed_keys(seeds_from(key, self.networks)), self.units, (SIZE,), np.float64)
        )
        erf = self._committees("erf", [signed(gain) for gain in SMOOTH], start, 0.5, key)
        tasks = [nlgp(gain) for gain in SMOOTH]
        return erf, self._committees("sigmoid", tasks, start / SLOPE, 0.5 * 4 / SLOPE**2, key)

    def _committees(self, activation: str, tasks: list[Task], start: np.ndarray, rate: float, key: Any) -> "Units":
        run = train(
            tasks, SoftCommittee(self.units, activation, bias=True), steps=self.course, batch=32,
            rate=rate * self.units, seeds=self.networks, data_seed=seed_from(key), init=start, estimator="orbit",
            stream="independent", save_every=self.course,
        )  # fmt: skip
        biases = np.asarray(run.biases, float)[:, :, -1].reshape(len(tasks), -1)
        return Units(np.asarray(run.final, float).reshape(len(tasks), -1, SIZE), biases)


@dataclass(frozen=True)
class Order(Population):
    """Fields of one order of the lengthscales, (gain, seed, pixel), and the exact attractor on Ising data."""

    name: str
    fields: np.ndarray
    attractor: LocalizedAttractor

    @property
    def waves(self) -> np.ndarray:
        """Which neurons oscillate at short range: as waves, or as localized packets of waves."""
        packets = self.local & (_sign_changes(self.fields) >= CHANGES)
        oscillating = (classify(self.fields) == Kind.OSCILLATORY) | packets
        return oscillating & (dominant_frequency(self.fields) > SHORT_RANGE)


@dataclass(frozen=True)
class Units:
    """Sigmoid units at each of the gains SMOOTH: fields (gain, unit, pixel) and biases (gain, unit)."""

    fields: np.ndarray
    biases: np.ndarray

    @property
    def kinds(self) -> np.ndarray:
        """The place of each unit's kind in KINDS, (gain, unit)."""
        return np.select([localized(self.fields), slow(self.fields), fast(self.fields)], [0, 1, 2], 3)

    def groups(self) -> np.ndarray:
        """How many units are of each sign of bias and kind, (gain, sign, kind)."""
        of = self.kinds + len(KINDS) * (self.biases > 0)
        counts = np.stack([np.bincount(row, minlength=2 * len(KINDS)) for row in of])
        return counts.reshape(len(of), 2, len(KINDS))

    def words(self, gain: int) -> str:
        """What the units at a gain are."""
        below, above = self.groups()[gain]
        named = (f"{a} and {b} {kind}" for a, b, kind in zip(below, above, KINDS, strict=True) if a + b)
        return ", ".join(named)


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """What neurons become in both orders, and what erf and logistic units become."""

    experiment: LengthscaleOrder
    long: Order
    short: Order
    erf: Units
    logistic: Units

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._long(), self._short(), self._alike()

    def _basis(self) -> str:
        it = self.experiment
        return f"{it.seeds} initialisations on {it.streams} streams of data at each gain, {it.steps} steps"

    def _counts(self, which: np.ndarray) -> str:
        return ", ".join(f"{int(w.sum())} at gain {g:g}" for g, w in zip(self.experiment.gains, which, strict=True))

    def _share(self, name: str, shares: np.ndarray) -> Number:
        """The least of the shares of neurons at several gains, with its binomial error."""
        if not len(shares):
            return Number(name, None)
        least = float(shares.min())
        return Number(name, least, float(np.sqrt(least * (1 - least) / self.experiment.seeds)))

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
            numbers=[self._share("least", shares), self._share("moderate", moderate)],
            said=f"short-range oscillations, of {it.seeds}: {self._counts(self.short.waves)}; localized, packets among "
            "them: "
            f"{self._counts(self.short.local)}; least share of oscillations {{least:.0%}}, {{moderate:.0%}} up to gain "
            f"{SHARP:g}",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            words={"cycles": SHORT_RANGE, "to_gain": SHARP, "changes": CHANGES},
            reasons={
                "holds in part": "Near the hypercube the swapped task has localized steady states as well, a centre "
                "with a surround of opposite sign; at gains between, waves and packets of waves are learned side by "
                "side."
            },
        )

    def _alike(self) -> Claim:
        erf, logistic, it = self.erf.groups(), self.logistic.groups(), self.experiment
        count = it.units * it.networks
        apart = np.abs(erf - logistic).sum((1, 2)) / (2 * count)
        kinds = "; ".join(
            f"gain {gain:g}: erf {self.erf.words(i)}; logistic {self.logistic.words(i)}"
            for i, gain in enumerate(SMOOTH)
        )
        return ALIKE.claim(
            "With logistic in place of erf units the results are qualitatively identical.",
            source=f"{NETWORKS}, section 1",
            reported="qualitatively identical",
            numbers=[
                Number("apart", apart.max(), np.sqrt(apart.max() * (1 - apart.max()) / count)),
                Number("paired", np.mean(self.erf.kinds == self.logistic.kinds)),
            ],
            said=f"units with negative and positive bias, {kinds}; at most {{apart:.0%}} without a counterpart; of "
            "units with the same start {paired:.0%} end as the same kind",
            basis=f"{it.networks} networks of {it.units} units of either kind, {it.course} steps; same starts and data",
            expected=as_measured("holds"),
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
        return Figure("Both orders of the lengthscales", (*rows, last), labels=labels), self._sigmoid(), self._table()

    def _sigmoid(self) -> Figure:
        """The first units of either sign of bias, at the larger gain."""
        rows = [
            tuple(
                Fields(f"{name} bias", some(units.fields[-1][where], 4))
                for name, where in (("negative", units.biases[-1] < 0), ("positive", units.biases[-1] > 0))
            )
            for units in (self.erf, self.logistic)
        ]
        return Figure(f"Erf and logistic units, gain {SMOOTH[-1]:g}", tuple(rows), labels=("erf", "logistic"))

    def _table(self) -> Figure:
        seeds = self.experiment.seeds
        rows = tuple(
            (o.name, f"{gain:g}", int(o.local[i].sum()), int(o.waves[i].sum()), seeds, f"{np.median(o.ipr[i]):.3f}")
            for o in (self.long, self.short)
            for i, gain in enumerate(self.experiment.gains)
        )
        columns = ("order", "gain", "localized", "oscillating at short range", "of", "median IPR")
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
            f"up to {short.ipr[-1].max():.2f}). An extension: on Ising data, couplings {COUPLINGS[1]:g} and "
            f"{COUPLINGS[0]:g}, a localized field for the swapped task is known exactly, (S0+S1)^-1 S1 e: peak "
            f"{exact.field.max():.3f}, neighbours {exact.field[SIZE // 2 + 1]:.3f}, IPR {exact.ipr:.3f}, its peak "
            f"larger than all other weights together by {exact.margin:.3f}, which makes it stable if positive. No "
            f"neurons were trained on Ising data, so how many of them would reach it is not known here. Lengthscales "
            f"{WIDE[0]:g} and {WIDE[1]:g}, {it.seeds} initialisations on {it.streams} streams of data, {it.steps} "
            f"steps at rate {it.rate:g}, gradients averaged over all shifts and signs of {it.batch} samples; the "
            f"notes state neither gain nor number of units, and these are single neurons. They also found logistic "
            f"units like erf units: networks of {it.units} units with biases were trained from the same starts on the "
            f"same data, the logistic ones from weights {1 / SLOPE:.3f} times as large and at {4 / SLOPE**2:.2f} times "
            f"the rate, at which both would do the same if the logistic function were an erf."
        )


def _sign_changes(fields: np.ndarray) -> np.ndarray:
    """How often the sign changes round the ring, from one pixel that is not faint to the next."""
    flat = fields.reshape(-1, fields.shape[-1])
    seen = np.abs(flat) >= FAINT * np.abs(flat).max(1, keepdims=True)
    signs = [np.sign(w[where]) for w, where in zip(flat, seen, strict=True)]
    return np.array([np.sum(s != np.roll(s, 1)) for s in signs]).reshape(fields.shape[:-1])


def _most_local(fields: np.ndarray, count: int = 3) -> np.ndarray:
    return centred(fields)[np.argsort(-ipr(fields))[:count]]
