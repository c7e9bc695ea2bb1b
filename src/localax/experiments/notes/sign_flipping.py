"""Do the gates of ReLU units flip while they learn? p(t), p_unif and the kurtosis of preactivations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np

from ..._errors import setting_error
from ..._progress import Update
from ...analysis import excess_kurtosis, gate_agreement, localized, preactivations, uniform_gate_agreement
from ...networks import SoftCommittee, Xavier
from ...outcome import Claim, Fields, Figure, Heatmap, Lines, Number, Rule, Table, as_measured
from ...spec import Setting
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.populations import Population, mean
from ..toolkit.seeds import seed_from
from ..toolkit.sources import NETWORKS, OLDER
from ..toolkit.tasks import nlgp
from ..toolkit.train import train

GAUSSIAN = 0.01
PRINTED_STEPS, PRINTED_BATCH = 5000, 10_000
"""Of the notes' run."""
NAMES = ("figure", "binary", "figure_long", "binary_long")
"""The conditions as numbers call them: the notes' gain and rate, nearly binary data, and both for longer."""

RARE = Rule(
    "at most {rare:g} in every interval and condition; in part: at the notes' rate",
    lambda n, t: max(n.figure, n.binary, n.figure_long, n.binary_long) <= t.rare,
    partly=lambda n, t: max(n.figure, n.binary) <= t.rare,
    thresholds={"rare": 0.05},  # one sample in twenty, where a gate drawn anew would flip for every second
    holds={"figure": 0.002, "binary": 0.003, "figure_long": 0.03, "binary_long": 0.04},
    part={"figure": 0.002, "binary": 0.003, "figure_long": 0.03, "binary_long": 0.2},
    fails={"figure": 0.1, "binary": 0.003, "figure_long": 0.03, "binary_long": 0.2},
)
RARER = Rule(
    "larger in the last fifth in every condition; in part: in the condition of the figure",
    lambda n, _: min(n.figure, n.binary, n.figure_long, n.binary_long) > 0,
    partly=lambda n, _: n.figure > 0,
    holds={"figure": 0.0007, "binary": 0.0004, "figure_long": 0.008, "binary_long": 0.009},
    part={"figure": 0.0007, "binary": -0.0004, "figure_long": 0.008, "binary_long": 0.009},
    fails={"figure": -0.0007, "binary": 0.0004, "figure_long": 0.008, "binary_long": 0.009},
)
STABLE = Rule(
    "at least {stable:g} in every condition; in part: in the condition of the figure",
    lambda n, t: min(n.figure, n.binary, n.figure_long, n.binary_long) >= t.stable,
    partly=lambda n, t: n.figure >= t.stable,
    thresholds={"stable": 0.9},  # beyond that, taking gates as fixed is an error that a fit would show
    holds={"figure": 0.95, "binary": 0.94, "figure_long": 0.92, "binary_long": 0.93},
    part={"figure": 0.95, "binary": 0.94, "figure_long": 0.85, "binary_long": 0.8},
    fails={"figure": 0.7, "binary": 0.94, "figure_long": 0.85, "binary_long": 0.8},
)


@dataclass(frozen=True)
class SignFlipping(AbstractExperiment):
    """How often does the gate of a hidden unit change its mind about a sample while the unit learns?"""

    name: ClassVar[str] = "sign_flipping"
    title: ClassVar[str] = "How often gates flip"
    cost: ClassVar[float] = 27.0

    lengthscales: Annotated[tuple[float, ...], Setting("short and long lengthscale", gt=0, many=(2, 2))] = (1.0, 2.0)
    gain: Annotated[float, Setting("gain beside that of nearly Gaussian data", gt=0, le=1e6)] = 100.0
    units: Annotated[int, Setting("hidden units", kind=int, ge=1)] = 12
    printed_rate: Annotated[float, Setting("the notes' learning rate", gt=0)] = 0.01
    long_rate: Annotated[float, Setting("a rate at which units come further", gt=0)] = 0.3
    steps: Annotated[int, Setting("steps of training", kind=int, ge=5)] = 2000
    every: Annotated[int, Setting("steps from one look at the gates to the next", kind=int, ge=1)] = 20
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 32
    scale: Annotated[float, Setting("scale of the initial weights", gt=0)] = 1.0
    samples: Annotated[int, Setting("samples whose gates are watched", kind=int, ge=2, even=True)] = 1000

    @classmethod
    def paper(cls) -> "SignFlipping":
        return cls(steps=5000, batch=128, samples=4000)

    def check(self) -> None:
        nlgp(self.gain, self.lengthscales)  # refuses lengthscales that are too long for the ring
        if self.steps < 5 * self.every:
            raise setting_error(type(self), "steps", self.steps, "at least five times those between two looks")
        for name in ("printed_rate", "long_rate"):  # of a mean over units, steps overshoot at somewhat larger ones
            if getattr(self, name) > self.units / 2:
                raise setting_error(type(self), name, getattr(self, name), "at most half the number of units")

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Gaussian and binary data, each at the notes' rate and at a long run, in one call."""
        gains, rates = (GAUSSIAN, self.gain) * 2, (self.printed_rate,) * 2 + (self.long_rate,) * 2
        tasks = [nlgp(gain, self.lengthscales) for gain in gains]
        run = train(
            tasks, SoftCommittee(self.units), steps=self.steps, batch=self.batch, rate=rates, seeds=(seed_from(key),),
            data_seed=seed_from(key), init=Xavier(self.scale), save_every=self.every, estimator="orbit",
        )  # fmt: skip
        progress(0.7)
        conditions = []
        for i, task in enumerate(tasks):
            x, _ = task.sample(jax.random.fold_in(key, i), self.samples)
            name = f"gain {gains[i]:g}, rate {rates[i]:g}"
            conditions.append(_gates(name, run.time[i], run.weights[i, 0], np.asarray(x)))
        return Measured(self, tuple(conditions))


def _gates(name: str, time: np.ndarray, weights: np.ndarray, x: np.ndarray) -> "Gates":
    h = preactivations(weights, x)
    late, start = h.copy(), len(weights) // 5
    late[:start] = late[start]  # of the same shape as all records, which serves one compilation
    return Gates(
        name,
        time,
        gate_agreement(h),
        uniform_gate_agreement(late),
        uniform_gate_agreement(h),
        excess_kurtosis(h),
        weights[-1],
    )


@dataclass(frozen=True)
class Gates(Population):
    """One condition: agreement from each record to the next (time, unit), over the last four fifths and over all
    records (unit); kurtosis of preactivations (time, unit); final fields."""

    name: str
    time: np.ndarray
    agreement: np.ndarray
    uniform: np.ndarray
    always: np.ndarray
    kurtosis: np.ndarray
    fields: np.ndarray

    @property
    def early(self) -> np.ndarray:
        """Mean p(t) of the first fifth, by unit."""
        return self.agreement[: len(self.agreement) // 5].mean(0)

    @property
    def late(self) -> np.ndarray:
        return self.agreement[-(len(self.agreement) // 5) :].mean(0)

    @property
    def worst(self) -> np.ndarray:
        """The share of samples, by unit, for which gates flip in the interval in which that is most."""
        return 1 - self.agreement[self.agreement.mean(1).argmin()]

    @property
    def order(self) -> np.ndarray:
        """Units, the most local first."""
        return np.argsort(-self.ipr)


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """The gates of one network in each of four conditions, in the order of ``NAMES``."""

    experiment: SignFlipping
    conditions: tuple[Gates, ...]

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._rare(), self._rarer(), self._stable()

    def _basis(self) -> str:
        it = self.experiment
        return (
            f"one network of {it.units} units in each of 4 conditions, {it.steps} steps, {it.samples} samples; "
            "standard errors are over units"
        )

    def _said(self, form: str) -> str:
        """One number of every condition, by its name."""
        return "; ".join(f"{g.name}: {{{name}:{form}}}" for name, g in zip(NAMES, self.conditions, strict=True))

    def _rare(self) -> Claim:
        return RARE.claim(
            "At any given time gates flip, on average, for a very small fraction of the data.",
            source=f"{NETWORKS}, section 4.1, figure 3",
            reported="p(t) near 1",
            numbers=_each([g.worst for g in self.conditions]),
            said=f"largest share that flips in one interval, mean of units: {self._said('.4f')}",
            basis=self._basis(),
            expected=as_measured("holds"),
        )

    def _rarer(self) -> Claim:
        fifths = "; ".join(f"{g.early.mean():.4f}, {g.late.mean():.4f}" for g in self.conditions)
        return RARER.claim(
            "Sign flipping happens less as training progresses.",
            source=f"{NETWORKS}, section 4.1, figure 3",
            reported="p(t) increases",
            numbers=_each([g.late - g.early for g in self.conditions]),
            said=f"growth of the mean p(t) from the first fifth to the last: {self._said('+.4f')} (first and last: "
            f"{fifths})",
            basis=self._basis(),
            expected=as_measured("holds"),
        )

    def _stable(self) -> Claim:
        whole = min(g.always.mean() for g in self.conditions)
        return STABLE.claim(
            "The gates stabilize relatively early on.",
            source=f"{NETWORKS}, section 5.2, and {OLDER}, Eq. 79",
            reported="but there is still some flipping, so that fixed gates cannot be trusted",
            numbers=_each([g.uniform for g in self.conditions]),
            said=f"share of samples without a flip in the last four fifths, mean of units: {self._said('.3f')}; in the "
            f"whole run at least {whole:.3f}",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "Small flips add up where fields still move: p(t) close to 1 does not mean gates that "
                "stay."
            },
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        """As figure 3 of the notes; every hidden unit, the most local first; and a table."""
        labels = tuple(g.name.replace(", ", "\n") for g in self.conditions)
        return (
            Figure("Sign flipping", tuple(map(_summary, self.conditions)), labels=labels),
            Figure("Unit by unit", tuple(map(_units, self.conditions)), labels=labels),
            self._table(),
        )

    def _table(self) -> Figure:
        rows = tuple(
            (g.name, f"{g.early.mean():.4f}", f"{g.late.mean():.4f}", f"{g.agreement.min():.3f}",
             f"{g.uniform.mean():.3f}", f"{g.uniform.min():.3f}", f"{g.always.mean():.3f}", f"{g.ipr.max():.3f}",
             f"{g.local.sum()} of {len(g.fields)}")
            for g in self.conditions
        )  # fmt: skip
        columns = (
            "condition", "p, first fifth", "p, last fifth", "least p", "p_unif, last 4/5", "least unit",
            "p_unif, all records", "largest IPR", "localized",
        )  # fmt: skip
        return Figure("Gates in numbers", ((Table("", columns, rows),),))

    def text(self) -> str:
        it, (figure, *_, long) = self.experiment, self.conditions
        return (
            f"{NETWORKS.capitalize()} ask how often the gate 1(<w, x> >= 0) of a hidden unit changes its mind about a "
            "sample, since a gated linear network with fixed gates stands or falls with it. At their rate and gain "
            f"({it.steps:,} of their {PRINTED_STEPS:,} steps) a unit keeps its gate from one look to the next "
            f"({it.every} steps) for {figure.early.mean():.4f} of the samples in the first fifth of training and "
            f"{figure.late.mean():.4f} in the last; {figure.uniform.mean():.3f} of the samples never see a flip in the "
            f"last four fifths, and {figure.always.mean():.3f} in the whole run. With the mean over {it.units} units "
            f"and a rate of {it.printed_rate:g}, {localized(figure.fields).sum()} of the fields are then localized, "
            f"with an IPR of up to {figure.ipr.max():.2f}. At rate {it.long_rate:g} and gain {it.gain:g}, "
            f"{long.local.sum()} are, with up to {long.ipr.max():.2f}; the kurtosis of their "
            f"preactivations moves from {np.median(long.kurtosis[0]):.2f} to {np.median(long.kurtosis[-1]):.2f}, p(t) "
            f"goes from {long.early.mean():.4f} to {long.late.mean():.4f} and {long.uniform.mean():.3f} of the samples "
            f"see no flip in the last four fifths ({long.always.mean():.3f} in the whole run). One network of "
            f"{it.units} units a condition, {it.samples} samples; gradients averaged over all shifts and signs of "
            f"{it.batch} samples instead of a batch of {PRINTED_BATCH:,}."
        )


def _each(values: Sequence[np.ndarray]) -> list[Number]:
    """The mean over units in every condition."""
    return [mean(name, one) for name, one in zip(NAMES, values, strict=True)]


def _summary(gates: Gates) -> tuple[Lines, Lines, Fields]:
    """Agreement, kurtosis, and the fields that are most local."""
    flips = {"mean of units": gates.agreement.mean(1), "least unit": gates.agreement.min(1)}
    low, middle, high = np.quantile(gates.kurtosis, [0, 0.5, 1], axis=1)
    kurtosis = {"median unit": middle, "least": low, "greatest": high}
    return (
        Lines("p(t)", gates.time[1:], flips, xlabel="time"),
        Lines("kurtosis of preactivations", gates.time, kurtosis, xlabel="time"),
        Fields(f"most local fields, IPR up to {gates.ipr.max():.2f}", gates.fields[gates.order[:4]]),
    )


def _units(gates: Gates) -> tuple[Heatmap, Heatmap, Fields]:
    order = gates.order
    extent = (float(gates.time[0]), float(gates.time[-1]), 0.5, len(order) + 0.5)
    return (
        Heatmap("1 - p(t)", 1 - gates.agreement[:, order].T, "time", "unit", extent),
        Heatmap("excess kurtosis", gates.kurtosis[:, order].T, "time", "unit", extent),
        Fields("final fields", gates.fields[order]),
    )
