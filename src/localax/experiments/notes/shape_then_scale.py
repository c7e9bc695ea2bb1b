"""Does a sigmoid network scale its fields up or improve their shape? And what if its populations were unbalanced?"""

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ..._errors import setting_error
from ..._progress import Update
from ...analysis import localized
from ...networks import SoftCommittee, Xavier
from ...outcome import Claim, Fields, Figure, Lines, Number, Points, Rule, Scatter, as_measured, by_theory
from ...spec import Setting
from ...training import SaveAt
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.populations import some
from ..toolkit.seeds import seed_from
from ..toolkit.sigmoid_units import NEAR, best_accuracy, least_loss, responses, signed
from ..toolkit.sources import BEHAVIOUR
from ..toolkit.train import train
from ..toolkit.unit_kinds import median, share
from ..toolkit.words import listed

ALIKE = 0.9
"""Cosine from which a field has its final shape."""
GROWN = 0.5
"""Share of the final norm from which a field has grown."""
CUT = 0.5
"""The part of its time at which the run is cut to see whether its length matters."""
UNBALANCED = (0.2, 0.8)
"""Shares of negative biases that are far from balance and leave both populations in place."""
SOURCE = f"{BEHAVIOUR}, section 2, A cheat"

GROWTH = Rule(
    "both medians grow from each quarter of the time to the next; in part: from the first quarter to the end",
    lambda n, _: min(n.norm_step, n.bias_step) > 0,
    partly=lambda n, _: min(n.norm_growth, n.bias_growth) > 0,
    holds={"norm_step": 0.1, "bias_step": 0.05, "norm_growth": 0.6, "bias_growth": 0.3},
    part={"norm_step": -0.02, "bias_step": 0.05, "norm_growth": 0.6, "bias_growth": 0.3},
    fails={"norm_step": -0.4, "bias_step": 0.05, "norm_growth": -0.2, "bias_growth": 0.3},
)
EARLY = Rule(
    "in at least {most:.0%} of the units a cosine of {alike:g} with the last field, for good, comes no later than "
    "{grown:g} of the last norm, and in the median unit it comes before {half:.0%} of the fall of the loss; both for "
    "the run and for the run cut at half its time, so that its length does not decide; in part: one of the two",
    lambda n, t: min(n.first, n.first_cut) >= t.most and max(n.fall, n.fall_cut) < t.half,
    partly=lambda n, t: min(n.first, n.first_cut) >= t.most or max(n.fall, n.fall_cut) < t.half,
    thresholds={"most": 0.75, "half": 0.5},  # halfway between most units and all; more lies ahead than behind
    holds={"first": 0.9, "first_cut": 0.8, "fall": 0.2, "fall_cut": 0.3},
    part={"first": 0.9, "first_cut": 0.8, "fall": 0.2, "fall_cut": 0.7},
    fails={"first": 0.9, "first_cut": 0.4, "fall": 0.2, "fall_cut": 0.7},
)
CHEAT = Rule(
    "the probability does not rise by more than {errors:g} standard errors of one unit's estimate",
    lambda n, t: n.end - n.start <= t.errors * n.error,
    thresholds={"errors": 5.0},
    holds={"start": 0.6, "end": 0.61, "error": 0.015},
    fails={"start": 0.5, "end": 0.7, "error": 0.015},
)
BALANCE = Rule(
    "accuracy falls by {near:g} at most and the loss rises by {near:g} at most (a fifth of the least loss that balance "
    "allows, {least:g}); in part: the first",
    lambda n, t: n.drop <= t.near and n.rise <= t.near,
    partly=lambda n, t: n.drop <= t.near,
    thresholds={"near": NEAR},
    holds={"drop": 0.01, "rise": 0.03},
    part={"drop": 0.01, "rise": 0.2},
    fails={"drop": 0.1, "rise": 0.2},
)


@dataclass(frozen=True)
class ShapeThenScale(AbstractExperiment):
    """Does a sigmoid network scale its fields up or improve their shape, and does it need balanced populations?"""

    name: ClassVar[str] = "shape_then_scale"
    title: ClassVar[str] = "Shape first, then scale"
    cost: ClassVar[float] = 8.0

    gain: Annotated[float, Setting("gain of NLGP", gt=0)] = 3.0
    units: Annotated[int, Setting("hidden units", kind=int, ge=2)] = 40
    steps: Annotated[int, Setting("steps of training", kind=int, ge=10)] = 800
    rate: Annotated[float, Setting("learning rate", gt=0)] = 20.0
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 48
    records: Annotated[int, Setting("moments recorded, by a constant factor apart", kind=int, ge=10)] = 30
    samples: Annotated[int, Setting("samples that judge the network", kind=int, ge=100, even=True)] = 3000

    @classmethod
    def paper(cls) -> "ShapeThenScale":
        return cls(steps=10000, batch=128, records=50, samples=10000)

    def check(self) -> None:
        least = int(np.ceil(1 + np.log(self.steps) / np.log(4 / 3)))
        if self.records < least:  # two quarters of the time would be one moment
            raise setting_error(type(self), "records", self.records, f"at least {least} for {self.steps} steps")

    def measure(self, key: Any, progress: Update) -> "Measured":
        """One network watched closely, its shapes and scales exchanged between times, its populations re-weighted."""
        task = signed(self.gain)
        trajectory = train(
            task, SoftCommittee(self.units, "erf", bias=True), steps=self.steps, batch=self.batch, rate=self.rate,
            seeds=(seed_from(key),), data_seed=seed_from(key), init=Xavier(0.1), estimator="orbit",
            saveat=SaveAt(logarithmic=self.records, record=()),
        )  # fmt: skip
        progress(0.7)
        x, y = (np.asarray(part, float) for part in task.sample(key, self.samples))
        fields, biases = (np.asarray(part, float)[0] for part in (trajectory.weights, trajectory.biases))
        dominance = np.stack([_dominance(w, x, y > 0) for w in fields])
        loss = _losses(fields, biases, x, np.where(y > 0, 1, -1))
        course = Course(np.asarray(trajectory.time), fields, biases, dominance, loss)
        return Measured(self, course, _exchanged(course, x, y > 0), _shares(course, x, y > 0))


@dataclass(frozen=True)
class Course:
    """A run: fields (time, unit, pixel), biases and dominance of every unit (time, unit), and the loss (time)."""

    time: np.ndarray
    fields: np.ndarray
    biases: np.ndarray
    dominance: np.ndarray
    loss: np.ndarray

    def until(self, part: float) -> "Course":
        """The run cut at a part of its time."""
        kept = self.time <= part * self.time[-1]
        return Course(*(getattr(self, field.name)[kept] for field in dataclasses.fields(self)))

    @property
    def negative(self) -> np.ndarray:
        """Which units end with a negative bias."""
        return self.biases[-1] < 0

    @property
    def norms(self) -> np.ndarray:
        return np.linalg.norm(self.fields, axis=-1)

    @property
    def likeness(self) -> np.ndarray:
        """Cosine of every field with its final self, (time, unit)."""
        inner = np.einsum("tup,up->tu", self.fields, self.fields[-1])
        return inner / (self.norms * self.norms[-1])

    def reached(self, values: np.ndarray, level: float) -> np.ndarray:
        """When values, (time, unit), come above a level for good, by unit."""
        above = np.flip(np.logical_and.accumulate(np.flip(values >= level, 0), axis=0), 0)
        return self.time[np.argmax(above, axis=0)]

    def times(self) -> tuple[np.ndarray, np.ndarray]:
        """When units of negative bias have their final shape, and when half their final norm."""
        shape, scale = self.reached(self.likeness, ALIKE), self.reached(self.norms / self.norms[-1], GROWN)
        return shape[self.negative], scale[self.negative]

    def fallen(self) -> np.ndarray:
        """The share of its whole fall that the loss has behind it when units of negative bias have their shape."""
        at = np.searchsorted(self.time, self.times()[0])
        return (self.loss[0] - self.loss[at]) / (self.loss[0] - self.loss[-1])

    def quarters(self) -> tuple[np.ndarray, np.ndarray]:
        """Medians of norm and bias over units of negative bias, at each quarter of the time."""
        at = [int(np.argmin(np.abs(self.time - part * self.time[-1]))) for part in (0.25, 0.5, 0.75, 1.0)]
        norms, biases = (_medians(values[at], self.negative) for values in (self.norms, np.abs(self.biases)))
        return norms, biases


@dataclass(frozen=True)
class Shares:
    """A trained network with its populations re-weighted: share of the negative one, loss and accuracies."""

    share: np.ndarray
    loss: np.ndarray
    free: np.ndarray
    """Accuracy at the best threshold."""
    fixed: np.ndarray
    """Accuracy at threshold 0."""


def _dominance(fields: np.ndarray, x: np.ndarray, long: np.ndarray) -> np.ndarray:
    """P(|<w, X1>| > |<w, X0>|) of every unit, the advantage that no scaling can change (Eq. 9)."""
    h = np.abs(x @ fields.T)
    ranks = [np.searchsorted(np.sort(low), high) for low, high in zip(h[~long].T, h[long].T, strict=True)]
    return np.mean(ranks, axis=1) / np.sum(~long)


def _losses(fields: np.ndarray, biases: np.ndarray, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Of networks (time, unit, pixel) with biases (time, unit) or (unit)."""
    every = zip(fields, np.broadcast_to(biases, fields.shape[:2]), strict=True)
    return np.array([np.mean((responses(x, w, b).mean(1) - labels) ** 2) for w, b in every])


def _exchanged(course: Course, x: np.ndarray, long: np.ndarray) -> dict[str, np.ndarray]:
    """Loss at every time: as it was, with the final norms and biases, and with the final shapes."""
    norms, last, labels = np.maximum(course.norms, 1e-12), course.norms[-1], np.where(long, 1, -1)
    unit = course.fields / norms[..., None]
    return {
        "as it was": course.loss,
        "with the final scale": _losses(unit * last[:, None], course.biases[-1], x, labels),
        "with the final shape": _losses(unit[-1] * norms[..., None], course.biases, x, labels),
    }


def _shares(course: Course, x: np.ndarray, long: np.ndarray) -> Shares | None:
    """The final network re-weighted; nothing where one of its populations is empty."""
    low = course.negative
    if low.all() or not low.any():
        return None
    weights, units = np.linspace(0, 1, 21), responses(x, course.fields[-1], course.biases[-1])
    negative, positive = (units[:, where].mean(1) for where in (low, ~low))
    outputs = [p * negative + (1 - p) * positive for p in weights]
    return Shares(
        weights,
        np.array([np.mean((out - np.where(long, 1, -1)) ** 2) for out in outputs]),
        np.array([best_accuracy(out, long) for out in outputs]),
        np.array([np.mean((out > 0) == long) for out in outputs]),
    )


def _medians(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Of values (time, unit) over some units; NaN over none."""
    return np.median(values[:, where], axis=1) if where.any() else np.full(len(values), np.nan)


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """The course of one network, its losses with parts exchanged, and its populations re-weighted."""

    experiment: ShapeThenScale
    course: Course
    exchanged: dict[str, np.ndarray]
    shares: Shares | None
    """None where all biases have one sign."""

    # Numbers ---------------------------------------------------------------------------------------------------------

    def growth(self) -> list[Number]:
        """Least step from quarter to quarter, and growth from the first to the last, of norms and of biases."""
        there = self.course.negative.any()
        numbers = []
        for name, values in zip(("norm", "bias"), self.course.quarters(), strict=True):
            numbers.append(Number(f"{name}_step", np.diff(values).min() if there else None))
            numbers.append(Number(f"{name}_growth", values[-1] - values[0] if there else None))
        return numbers

    def dominance(self) -> tuple[Number, Number, Number]:
        """Median of units of negative bias at start and end, and the standard error of one unit's."""
        start, end = (self.course.dominance[t, self.course.negative] for t in (0, -1))
        error = Number("error", 1 / np.sqrt(3 * self.experiment.samples / 2))
        return median("start", start), median("end", end), error

    def unbalanced(self) -> tuple[Number, Number, Number]:
        """How far accuracy falls and loss rises among unbalanced shares, and the share of least loss."""
        if (shares := self.shares) is None:
            return Number("drop", None), Number("rise", None), Number("best", None)
        low, high = UNBALANCED
        middle = (shares.share >= low - 1e-9) & (shares.share <= high + 1e-9)
        drop = Number("drop", shares.free.max() - shares.free[middle].min())
        rise = Number("rise", shares.loss[middle].max() - shares.loss.min())
        return drop, rise, Number("best", shares.share[np.argmin(shares.loss)])

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._growth(), self._early(), self._cheat(), self._balance()

    def _basis(self) -> str:
        it, low = self.experiment, self.course.negative
        kinds = f"{share('', localized(self.course.fields[-1])[low]):.0%} of the {low.sum()} of negative bias localized"
        return f"one network of {it.units} units ({kinds}), {it.steps} steps, {it.samples} samples"

    def _growth(self) -> Claim:
        norms, biases = (listed(values, ".2f") for values in self.course.quarters())
        return GROWTH.claim(
            "The norms of w and b grow throughout training.",
            source=SOURCE,
            reported="they do indeed grow",
            numbers=self.growth(),
            said=f"medians of units of negative bias at each quarter of the time: norm {norms}, bias {biases}; least "
            "step {norm_step:.2f} and {bias_step:.2f}, growth {norm_growth:.2f} and {bias_growth:.2f}",
            basis=self._basis(),
            expected=as_measured("holds"),
        )

    def _early(self) -> Claim:
        course, cut = self.course, self.course.until(CUT)
        shape, scale = course.times()
        numbers = [_order("first", course), _order("first_cut", cut)]
        numbers += [median("fall", course.fallen()), median("fall_cut", cut.fallen())]
        numbers += [median("shape", shape), median("scale", scale)]
        return EARLY.claim(
            "The shape of the field emerges relatively early on, before it is scaled up in norm.",
            source=SOURCE,
            reported="relatively early",
            numbers=numbers,
            said=f"final shape at time {{shape:.0f}}, half the final norm at {{scale:.0f}} of {course.time[-1]:.0f} "
            f"(medians of {len(shape)} units of negative bias); shape not after norm in {{first:.0%}} of them, when "
            "{fall:.0%} of the loss's fall is done; of the run cut at half its time {first_cut:.0%} and {fall_cut:.0%}",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            words={"alike": ALIKE, "grown": GROWN},
            reasons={"holds in part": self._why_in_part()},
        )

    def _why_in_part(self) -> str:
        fallen, early = self.course.fallen(), EARLY.thresholds["half"]
        if not fallen.size or np.median(fallen) < early:
            return "Units do not all have their shape before their norm."
        return "Shape comes before scale, and early in time, but what is learned until then is most of all."

    def _cheat(self) -> Claim:
        return CHEAT.claim(
            "The model takes the easy route by scaling up w instead of properly optimizing it.",
            source=SOURCE,
            reported="an open question",
            numbers=self.dominance(),
            said="P(|<w, X1>| > |<w, X0>|) of units of negative bias, which no scale changes: {start:.3f} at the "
            "start, {end:.3f} at the end; standard error of one unit's estimate {error:.3f}",
            basis=self._basis(),
            expected=as_measured("does not hold"),
            reasons={"does not hold": "The shape is optimized; scaling up comes on top of it."},
        )

    def _balance(self) -> Claim:
        low, high = UNBALANCED
        return BALANCE.claim(
            "Balancing the two populations is not required to solve the task, judged by the accuracy at a threshold of "
            "its own and by the loss.",
            source=f"{BEHAVIOUR}, section 2, '[insert figure showing unbalanced classes]'",
            reported="not required",
            numbers=self.unbalanced(),
            said=f"shares of negative biases from {low:g} to {high:g}: accuracy at its best threshold falls by "
            "{drop:.3f} at most, the loss rises by {rise:.3f} at most; least loss at {best:.2f}",
            basis=f"{self._basis()}; populations re-weighted after training",
            expected=by_theory("holds in part", "least loss (p^2 + (1-p)^2)/2 at a share p of negative biases"),
            words={"least": least_loss(0.5)},
            reasons={
                "holds in part": "Each population carries the information, but squared loss with labels -1 and 1 wants "
                "both."
            },
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        above = self._unit(), self._grown(), self._dominance()
        exchanged = {name: values[1:] for name, values in self.exchanged.items()}
        losses = Lines("loss with exchanged parts", self.course.time[1:], exchanged, xlabel="time", logx=True)
        return (Figure("Shape, scale and balance", (above, (losses, *self._reweighted()))),)

    def _unit(self) -> Fields:
        time, fields = self.course.time, self.course.fields[:, self.course.negative]
        moments = [int(np.argmin(np.abs(time - t))) for t in np.geomspace(time[1], time[-1], 6)][2:]
        labels = tuple(f"t = {time[m]:.0f}" for m in moments)
        return Fields("a unit of negative bias", some(fields[moments, :1].reshape(-1, fields.shape[-1])), labels)

    def _grown(self) -> Lines:
        course, low = self.course, self.course.negative
        curves = {
            "cosine with the end": _medians(course.likeness, low)[1:],
            "norm / final": _medians(course.norms / course.norms[-1], low)[1:],
            "bias / final": _medians(course.biases / course.biases[-1], low)[1:],
        }
        return Lines("units of negative bias, median", course.time[1:], curves, xlabel="time", logx=True)

    def _dominance(self) -> Lines:
        course, low = self.course, self.course.negative
        groups = (("negative bias", low), ("positive bias", ~low))
        curves = {name: _medians(course.dominance, where)[1:] for name, where in groups if where.any()}
        return Lines("P(|<w, X1>| > |<w, X0>|)", course.time[1:], curves, xlabel="time", logx=True)

    def _reweighted(self) -> tuple[Lines | Scatter, ...]:
        if (shares := self.shares) is None:
            return ()
        bound = {"loss": shares.loss, "least possible": np.asarray(least_loss(shares.share))}
        accuracy: dict[str, Points] = {
            "best threshold": (shares.share, shares.free, None),
            "threshold 0": (shares.share, shares.fixed, None),
        }
        label = "weight of negative biases"
        return (
            Lines("loss of unbalanced networks", shares.share, bound, xlabel=label),
            Scatter("accuracy of unbalanced networks", accuracy, label, joined=True),
        )

    def text(self) -> str:
        it = self.experiment
        return (
            "If a field has some advantage, a sigmoid network can enlarge it cheaply by scaling weights and biases up; "
            f"the notes ask whether it does that or improves the shape. {self._order_words()}{self._share_words()}"
            f"One network of {it.units} erf units on NLGP({it.gain:g}), {it.steps} steps at rate {it.rate:g}, judged "
            f"on {it.samples} samples."
        )

    def _order_words(self) -> str:
        shape, scale = (float(np.median(times)) if times.size else np.nan for times in self.course.times())
        if np.isnan(shape):
            return "No unit ends with a negative bias here. "
        at = int(np.argmin(np.abs(self.course.time - shape)))
        was, rescaled, reshaped = (values[at] for values in self.exchanged.values())
        start, end, _ = self.dominance()
        grow = GROWTH.decide({number.name: number.value for number in self.growth()}) == "holds"
        return (
            f"Units of negative bias have their final shape (cosine {ALIKE:g}) at time {shape:.0f} and half their "
            f"final norm at {scale:.0f}: {'shape' if shape <= scale else 'scale'} first, and by then "
            f"{np.median(self.course.fallen()):.0%} of the loss's fall is done. Their weights and biases "
            f"{'grow' if grow else 'do not both grow'} from each quarter of the run to the next, and the probability "
            f"that the long class drives them harder, which no scale changes, goes from {start:.3f} to {end:.3f}. At "
            f"the first of these times the loss is {was:.3f}; the shapes of that moment with the final scale would "
            f"give {rescaled:.3f}, the final shapes with the scale of that moment {reshaped:.3f}, and the end has "
            f"{self.exchanged['as it was'][-1]:.3f}. "
        )

    def _share_words(self) -> str:
        if (shares := self.shares) is None:
            return "All biases end with one sign. "
        return (
            f"Re-weighting the populations of the trained network changes its loss from {shares.loss.min():.3f} at a "
            f"share of negative biases of {shares.share[np.argmin(shares.loss)]:.2f} to {shares.loss[0]:.3f} and "
            f"{shares.loss[-1]:.3f} with one population alone, while the accuracy at a threshold of its own stays at "
            f"{shares.free.min():.3f} or more. "
        )


def _order(name: str, course: Course) -> Number:
    """The share of units of negative bias that have their shape no later than half their norm."""
    shape, scale = course.times()
    return share(name, shape <= scale)
