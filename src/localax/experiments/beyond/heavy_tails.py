"""What is a larger batch worth where tails are heavy? The exponent of the gradient's noise, and figure 4's batch.

A batch's gradient along the field is measured on drawn pixels and compared with an integral that needs none; then
training on the Student t of figure 4 goes on from its steady state, at batches that differ a hundredfold.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ... import theory
from ..._progress import Update
from ...analysis import fit_sinusoid
from ...outcome import Claim, Expected, Figure, Number, Points, Rule, Scatter, Table, as_measured, by_theory
from ...spec import Setting
from ...stimuli import AbstractStimulus, Elliptical, Kur, RadialStudentT, Task
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.seeds import seed_from
from ..toolkit.sources import DERIVED, PAPER
from ..toolkit.student_batches import student_sgd
from ..toolkit.tasks import SIZE, WIDE, binary
from ..toolkit.words import listed

BLOCK = 100
"""Samples of the smallest batch; larger ones are made of such blocks."""
DRAWN = 20_000
"""Samples drawn at a time."""
FAR = (1e7, 1e8)
"""Batches between which the exponent of theory is compared with its limit."""
RATE = 0.01
"""Of training on the Student t, the authors'."""
RECORDS = 40
SQUARED = "one pixel of the tail decides, and its square has half of the pixel's index"
WANTED = 0.05
"""The error of the best wave for which a batch is foretold."""

EXPONENT = Rule(
    "for every tail index but 4, the exponent between batches of 10^7 and 10^8, from the characteristic function, is "
    "within {near:g} of max(2/nu - 1, -1/2); and medians over drawn batches, at every index and size, are within "
    "{errors:g} standard errors of the same theory",
    lambda n, t: n.limit_gap < t.near and n.worst < t.errors,
    thresholds={"near": 0.01, "errors": 4.0},
    holds={"limit_gap": 0.002, "worst": 2.5},
    fails={"limit_gap": 0.002, "worst": 12.0},
)
SQUARE_ROOT = Rule(
    "with 3 degrees of freedom the noise falls by less than the square root of the batch, from the smallest to the "
    "largest, by more than {errors:g} standard errors of the measured exponent",
    lambda n, t: n.exponent - t.errors * n.error > -0.5,
    thresholds={"errors": 4.0},
    holds={"exponent": -0.3, "error": 0.02},
    fails={"exponent": -0.48, "error": 0.02},
)
KUR = Rule(
    "over the last decade of batches the exponent is within {near:g} of -1/3 for k = 3, and of -1/2 + 1/(2 log B) for "
    "k = 4; in part: for one of them",
    lambda n, t: n.three < t.near and n.four < t.near,
    partly=lambda n, t: min(n.three, n.four) < t.near,
    thresholds={"near": 0.08},
    holds={"three": 0.03, "four": 0.04},
    part={"three": 0.15, "four": 0.04},
    fails={"three": 0.15, "four": 0.12},
)
TRAINED = Rule(
    "from the smallest to the largest batch the error's exponent is within {near:g} of -1/3, and more than {errors:g} "
    "standard errors from -1/2",
    lambda n, t: abs(n.exponent + 1 / 3) < t.near and n.exponent - t.errors * n.error > -0.5,
    thresholds={"near": 0.05, "errors": 4.0},
    holds={"exponent": -0.32, "error": 0.02},
    fails={"exponent": -0.48, "error": 0.02},
)
NEEDED = Rule(
    "trained at the batch that the error at the smallest batch and the exponent -1/3 foretell for an error of "
    "{wanted:.0%}, the median error is within {near:.0%} of that",
    lambda n, t: abs(n.found / WANTED - 1) < t.near,
    thresholds={"near": 0.2},
    holds={"found": 0.053, "batch": 5e5},
    fails={"found": 0.09, "batch": 5e5},
)


@dataclass(frozen=True)
class HeavyTails(AbstractExperiment):
    """How does a gradient's noise fall with the batch where pixels have heavy tails, and what does figure 4 need?"""

    name: ClassVar[str] = "heavy_tails"
    title: ClassVar[str] = "Heavy tails: what a larger batch is worth"
    cost: ClassVar[float] = 25.0

    degrees: Annotated[
        tuple[float, ...], Setting("degrees of freedom of the Student t", gt=2, le=100, many=(1, None), rising=True)
    ] = (2.2, 2.5, 3.0, 4.0, 6.0, 8.0)  # fmt: skip
    samples: Annotated[int, Setting("samples of every law", kind=int, ge=20 * DRAWN)] = 2_000_000
    batches: Annotated[
        tuple[int, ...],
        Setting("batches whose noise is measured, multiples of 100", kind=int, ge=100, many=(2, None), rising=True),
    ] = (100, 1000, 10_000)
    trained: Annotated[
        tuple[int, ...], Setting("batches of training", kind=int, ge=5000, many=(2, None), rising=True)
    ] = (10_000, 100_000, 1_000_000)
    steps: Annotated[int, Setting("steps of training", kind=int, ge=RECORDS)] = 4000
    runs: Annotated[int, Setting("runs of training, each on data of its own", kind=int, ge=4)] = 8

    @classmethod
    def paper(cls) -> "HeavyTails":
        return cls(samples=12_000_000, batches=(100, 1000, 10_000, 100_000), steps=10_000, runs=24)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Noise on drawn pixels for every law, then training on the Student t of figure 4."""
        cases = [(f"t({df:g})", df, Elliptical(SIZE, WIDE[1], RadialStudentT(df)), _wave()) for df in self.degrees]
        for k in (3.0, 4.0):
            law = Kur(SIZE, WIDE[1], k)
            cases += [(f"Kur({k:g})", k, law, _wave()), (f"Kur({k:g}), one pixel", k, law, np.eye(SIZE)[0])]
        noise = []
        for i, case in enumerate(cases):
            noise.append(self._noise(*case, jax.random.fold_in(key, i)))
            progress(0.6 * (i + 1) / len(cases))
        runs = [self._errors(batch, seed_from(key) + i) for i, batch in enumerate(self.trained)]
        progress(0.9)
        needed = round(self.trained[0] * (float(np.median(runs[0])) / WANTED) ** 3)
        found = self._errors(max(needed + needed % 2, 5000), seed_from(key) - 1)
        return Measured(self, tuple(noise), np.array(runs), needed, found)

    def _noise(self, name: str, index: float, law: AbstractStimulus, field: np.ndarray, key: Any) -> "Noise":
        blocks = np.asarray(_blocks(law, field, jax.random.split(key, self.samples // DRAWN)), float).ravel()
        mean = float(field @ law.covariance_matrix() @ field) / 2
        found = [_median_difference(blocks / mean, batch // BLOCK) for batch in self.batches]
        foretold = theory.student_batch_noise(index, self.batches) if name.startswith("t") else None
        return Noise(name, index, np.array(self.batches, float), np.array(found), foretold)

    def _errors(self, batch: int, seed: int) -> np.ndarray:
        """Errors of the best wave in the second half of training, (run, time), from the steady state on."""
        task = _student()
        height = float(theory.steady.mode_fixed_points(task).amplitude[0]) / math.sqrt(SIZE)
        run = student_sgd(
            task, np.full((self.runs, SIZE), height), steps=self.steps, batch=batch, rate=RATE, seed=seed,
            every=self.steps // RECORDS,
        )  # fmt: skip
        return np.asarray(fit_sinusoid(run.weights[:, RECORDS // 2 :, 0]).error)


def _student() -> Task:
    return binary(*(Elliptical(SIZE, lengthscale, RadialStudentT(3.0)) for lengthscale in WIDE))


def _wave() -> np.ndarray:
    """A field that spans the ring, along which the noise is measured."""
    return np.cos(2 * np.pi * np.arange(SIZE) / SIZE)


@jax.jit
def _blocks(law: AbstractStimulus, field: Any, keys: Any) -> Any:
    """Means over blocks of samples of the gradient along a field, 1(s > 0) s^2."""

    def some(key: Any) -> Any:
        s = law.draw(key, DRAWN, jnp.float32) @ field.astype(jnp.float32)
        return jnp.mean((jnp.maximum(s, 0) ** 2).reshape(-1, BLOCK), axis=1)

    return jax.lax.map(some, keys)


def _median_difference(blocks: np.ndarray, together: int) -> tuple[float, float]:
    """The median difference of two batches of so many blocks, and the standard error of its logarithm."""
    means = blocks[: len(blocks) // (2 * together) * 2 * together].reshape(-1, 2, together).mean(-1)
    ranked = np.sort(np.log(np.abs(means[:, 0] - means[:, 1])))
    # One standard error of a median is half a square root of the number of ranks.
    reach = math.sqrt(len(ranked)) / 2
    low, middle, high = np.interp(len(ranked) / 2 - 0.5 + np.array([-reach, 0, reach]), np.arange(len(ranked)), ranked)
    return float(math.exp(middle)), float((high - low) / 2)


# What was measured ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Noise:
    """The noise of one law.

    ``index``: of its tails. ``batches``. ``measured`` (batch, 2): the median difference of two batches in units of the
    mean, and the standard error of its logarithm. ``foretold`` (batch): by theory, for the Student t.
    """

    name: str
    index: float
    batches: np.ndarray
    measured: np.ndarray
    foretold: np.ndarray | None

    def exponent(self, first: int = 0) -> tuple[float, float]:
        """From the batch numbered ``first`` to the largest, with its standard error."""
        span = math.log(self.batches[-1] / self.batches[first])
        (a, a_error), (b, b_error) = self.measured[first], self.measured[-1]
        return math.log(b / a) / span, math.hypot(a_error, b_error) / span

    @property
    def worst(self) -> float:
        """How far the measured medians are from theory at most, in standard errors."""
        return float(np.max(np.abs(np.log(self.measured[:, 0] / self.foretold)) / self.measured[:, 1]))

    @property
    def limit_gap(self) -> float:
        """How far the exponent of theory at large batches is from its limit."""
        low, high = theory.student_batch_noise(self.index, FAR)
        return abs(math.log(high / low) / math.log(FAR[1] / FAR[0]) - theory.noise_exponent(self.index))

    @property
    def points(self) -> Points:
        value, error = self.measured.T
        return self.batches, value, value * error


def _at_four(batches: Sequence[int]) -> float:
    """The exponent where the variance diverges by a logarithm, between the two largest batches."""
    return -0.5 + 0.5 / float(np.mean(np.log(batches[-2:])))


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Noise of every law; errors (batch, run, time) of training; the batch foretold, and the errors there."""

    experiment: HeavyTails
    noise: tuple[Noise, ...]
    errors: np.ndarray
    needed: int
    found: np.ndarray

    @property
    def students(self) -> list[Noise]:
        return [one for one in self.noise if one.foretold is not None]

    def named(self, name: str) -> Noise:
        return next(one for one in self.noise if one.name == name)

    # Claims -----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        sentence = "Kur(3) and Kur(4) have the exponents of the Student t with as many degrees of freedom, along "
        along = self._kur(sentence + "a wave.", "", as_measured("holds in part"))
        alone = self._kur(sentence + "one pixel.", ", one pixel", by_theory("holds", SQUARED))
        return self._exponent(), self._square_root(), along, alone, self._trained(), self._needed()

    def _exponent(self) -> Claim:
        limits = [one.limit_gap for one in self.students if one.index != 4]
        shown = "; ".join(f"{one.name}: {one.exponent()[0]:.3f}" for one in self.students)
        return EXPONENT.claim(
            "The gradient of a batch of B samples with tails of index nu varies as B^(2/nu - 1) below nu = 4, and as "
            "B^(-1/2) above.",
            source=f"{DERIVED}, heavy tails",
            reported="not given",
            numbers=[
                Number("limit_gap", max(limits, default=None)),
                Number("worst", max(one.worst for one in self.students), unit="standard errors"),
            ],
            said="between 10^7 and 10^8 samples theory is within {limit_gap:.4f} of the exponent; medians over drawn "
            f"batches are within {{worst:.1f}} standard errors of theory; exponents from {self._span}: {shown}",
            basis=self._basis(),
            expected=by_theory("holds", "the characteristic function of a batch's gradient"),
        )

    def _square_root(self) -> Claim:
        exponent, error = self.named("t(3)").exponent() if 3 in self.experiment.degrees else (None, None)
        return SQUARE_ROOT.claim(
            "On the Student t of figure 4 a hundredfold batch makes the gradient less than ten times as exact.",
            source=f"{DERIVED}, heavy tails",
            reported="not given",
            numbers=[Number("exponent", exponent, error), Number("error", error)],
            said=f"from {self._span} the noise falls with the exponent {{exponent:.3f}} +- {{error:.3f}}",
            basis=self._basis(),
            expected=by_theory("holds", "the characteristic function of a batch's gradient"),
        )

    def _kur(self, sentence: str, kind: str, expected: Expected) -> Claim:
        (a, a_error), (b, b_error) = (self.named(f"Kur({k}){kind}").exponent(-2) for k in (3, 4))
        limit = _at_four(self.experiment.batches)
        return KUR.claim(
            sentence,
            source=f"{DERIVED}, heavy tails",
            reported="not given",
            numbers=[Number("three", abs(a + 1 / 3), a_error), Number("four", abs(b - limit), b_error)],
            said=f"over the last decade of batches {a:.3f} +- {a_error:.3f} for k = 3, {{three:.3f}} from -1/3; "
            f"{b:.3f} +- {b_error:.3f} for k = 4, {{four:.3f}} from {limit:.3f}",
            basis=self._basis(),
            expected=expected,
            reasons=dict.fromkeys(
                ("holds in part", "does not hold"),
                "A wave sums many pixels that are large one at a time: the bulk of the sum is nearly Gaussian, and "
                "hides the tail up to batches larger than these.",
            ),
        )

    def _trained(self) -> Claim:
        exponent, error = self._slope()
        shown = ", ".join(f"{e:.3f} at {b:,}" for e, b in zip(self._medians(), self.experiment.trained, strict=True))
        return TRAINED.claim(
            "The error of the best wave that stays in training on the Student t of figure 4 falls as the cube root of "
            "the batch.",
            source=f"{DERIVED}, heavy tails",
            reported="not given",
            numbers=[Number("exponent", exponent, error), Number("error", error)],
            said=f"median errors {shown}; exponent {{exponent:.3f}} +- {{error:.3f}}",
            basis=self._training(),
            expected=by_theory("holds", "the linearised flow driven by stable noise of index 3/2"),
        )

    def _needed(self) -> Claim:
        found = np.median(self.found, axis=1)
        error = float(np.std(found, ddof=1) / math.sqrt(len(found)))
        return NEEDED.claim(
            "How large a batch figure 4 needs on its Student t follows from the cube root.",
            source=f"{PAPER}, figure 4 (left)",
            reported="9.77% from one run with batches of 50,000",
            numbers=[Number("found", float(np.median(self.found)), error), Number("batch", self.needed)],
            said=f"{WANTED:.0%} are foretold at a batch of {{batch:,}}; the median error there is {{found:.3f}}",
            basis=self._training(),
            expected=by_theory("holds", "the linearised flow driven by stable noise of index 3/2"),
            words={"wanted": WANTED},
        )

    @property
    def _span(self) -> str:
        return f"{self.experiment.batches[0]:,} to {self.experiment.batches[-1]:,} samples"

    def _medians(self) -> np.ndarray:
        return np.median(self.errors, axis=(1, 2))

    def _slope(self) -> tuple[float, float]:
        """Exponent of the error from the first batch of training to the last, runs giving its standard error."""
        logs = np.log(np.median(self.errors[[0, -1]], axis=2))
        span = math.log(self.experiment.trained[-1] / self.experiment.trained[0])
        error = math.hypot(*np.std(logs, axis=1, ddof=1)) / math.sqrt(logs.shape[1])
        low, high = np.log(self._medians()[[0, -1]])
        return (high - low) / span, error / span

    def _basis(self) -> str:
        return f"{self.experiment.samples:,} samples of every law on {SIZE} pixels, lengthscale {WIDE[1]:g}"

    def _training(self) -> str:
        it = self.experiment
        return f"{it.runs} runs of {it.steps:,} steps at rate {RATE:g}, from the steady state; second half"

    # Figures and text -------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        measured = {one.name: one.points for one in self.noise}
        foretold = {
            f"{one.name}, theory": (one.batches, one.foretold, None) for one in self.noise if one.foretold is not None
        }
        axes = {"xlabel": "batch", "logx": True, "logy": True}
        noise = Scatter("noise of the gradient", measured, ylabel="median difference / mean", **axes)
        theoretical = Scatter("theory, no samples", foretold, ylabel="median difference / mean", joined=True, **axes)
        return (
            Figure("Noise of the gradient against the batch", ((noise, theoretical),)),
            Figure("Training on the Student t of figure 4", ((self._errors_panel(),),)),
            Figure("Exponents", ((self._table(),),)),
        )

    def _errors_panel(self) -> Scatter:
        batch = np.array(self.experiment.trained, float)
        cube = self._medians()[0] * (batch / batch[0]) ** (-1 / 3)
        groups = {
            "median error of the best wave": (batch, self._medians(), None),
            "cube root": (batch, cube, None),
            f"foretold for {WANTED:.0%}": (np.array([float(self.needed)]), np.array([np.median(self.found)]), None),
        }
        return Scatter(
            "errors in training", groups, xlabel="batch", ylabel="relative error", logx=True, logy=True, joined=True
        )

    def _table(self) -> Table:
        rows = []
        for one in self.noise:
            exponent, error = one.exponent()
            last, last_error = one.exponent(-2)
            rows.append(
                (one.name, f"{theory.noise_exponent(one.index):.3f}", f"{exponent:.3f} +- {error:.3f}",
                 f"{last:.3f} +- {last_error:.3f}")
            )  # fmt: skip
        return Table("exponents", ("law", "limit", f"from {self._span}", "last decade"), tuple(rows))

    def text(self) -> str:
        slope, error = self._slope()
        return (
            "A ReLU neuron's gradient is quadratic in the pixels, so where their tails fall as x^-nu, its own fall as "
            "x^(-nu/2). Below nu = 4 one sample has no variance, and the mean of B of them varies as B^(2/nu - 1). For "
            "the Student t the law of a batch's gradient along the field is known at every B by its characteristic "
            "function, the same for every field and covariance. On the Student t of figure 4, with 3 degrees of "
            f"freedom, a larger batch buys its cube root: medians of the error are {listed(self._medians(), '.3f')} at "
            f"batches of {listed(self.experiment.trained, ',')}, an exponent of {slope:.3f} +- {error:.3f}. For an "
            f"error of {WANTED:.0%} a batch of {self.needed:,} is needed, where square-root noise would ask for "
            f"{round(self.experiment.trained[0] * (self._medians()[0] / WANTED) ** 2):,}."
        )
