"""When the flat field gives way: where Eq. 5 puts it, and where training does.

Linearised at the flat field, the effective flow has a threshold in closed form. Networks that start from a flat field
with a wave on it show how fast that wave really grows, on both sides; training's own threshold is where it does not.
Eq. 5 is integrated from the same starts and read the same way, so that the size of the wave does not matter.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy.interpolate import PchipInterpolator

from ... import theory
from ..._errors import setting_error
from ..._progress import Update
from ...outcome import Claim, Figure, Number, Rule, Scatter, by_theory
from ...spec import Setting
from ...stimuli import Task
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.growth import trained_growth, wave_growth
from ..toolkit.neuron import orbit
from ..toolkit.seeds import seeds_from
from ..toolkit.sources import PAPER
from ..toolkit.tasks import SIZE, WIDE, kur, nlgp, pixel_excess

SETTLED = 4.0
"""Time that Eq. 5 gives the flat part to find its height under the wave, which it does at a rate of 3.5."""
CLEAR = 2.0
"""Standard errors that the rates' slope must have for a zero to be sought."""
SHARP = 0.03
"""Standard error of a zero, in excess kurtosis, up to which one that agrees counts: half of what parts the threshold of
Kur, at excess kurtosis +0.056 by Eq. 5, from the sign."""

Make = Callable[[float], Task]
"""From a gain, or an exponent, to its task."""

ZERO = Rule(
    "in both families the setting at which the trained rate is zero, by a line through the rates, lies within {near:g} "
    "standard errors of that of Eq. 5 for the same wave; in part: in one of them. A zero that agrees only because its "
    "standard error exceeds {sharp:g} in excess kurtosis decides nothing",
    lambda n, t: n.nlgp_off <= t.near and n.kur_off <= t.near,
    partly=lambda n, t: n.nlgp_off <= t.near or n.kur_off <= t.near,
    thresholds={"near": 3.0},
    holds={"nlgp_off": 0.8, "kur_off": 1.9},
    part={"nlgp_off": 5.2, "kur_off": 1.9},
    fails={"nlgp_off": 5.2, "kur_off": 4.4},
)


@dataclass(frozen=True)
class Threshold(AbstractExperiment):
    """At which gain, and at which k, does a flat field give way to a localized one?"""

    name: ClassVar[str] = "threshold"
    title: ClassVar[str] = "The threshold of localization"
    cost: ClassVar[float] = 20.0

    gains: Annotated[tuple[float, ...], Setting("gains of NLGP", gt=0, many=(3, None))] = (0.16, 0.2, 0.24, 0.28)
    ks: Annotated[tuple[float, ...], Setting("exponents of Kur", gt=4, many=(3, None))] = (5.5, 5.7, 5.9, 6.1)
    wave: Annotated[float, Setting("share of power of the slowest wave at the start", gt=0, lt=0.2)] = 0.06
    seeds: Annotated[int, Setting("networks a setting", kind=int, ge=2, le=1000)] = 16
    steps: Annotated[int, Setting("steps of training", kind=int, ge=2)] = 100
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, le=100_000)] = 512
    rate: Annotated[float, Setting("learning rate", gt=0, le=1)] = 0.02
    save_every: Annotated[int, Setting("steps from one record to the next", kind=int, ge=1)] = 10

    @classmethod
    def paper(cls) -> "Threshold":
        return cls(seeds=40, batch=1_024, steps=300)

    def check(self) -> None:
        if self.steps % self.save_every:  # rates are measured over intervals that must be alike
            raise setting_error(type(self), "save_every", self.save_every, f"a divisor of the {self.steps} steps")

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Training on both sides of both thresholds, each network and each setting with data of its own."""
        families = {}
        for name, values, make in (("NLGP", self.gains, nlgp), ("Kur", self.ks, kur)):
            search = theory.critical_gain if make is nlgp else theory.critical_k
            seeds = seeds_from(key, len(values))
            families[name] = self._family(np.sort(values), make, search(*WIDE, SIZE), seeds)
            progress((len(families)) / 2)
        return Measured(self, families)

    def _family(self, values: np.ndarray, make: Make, critical: float, seeds: np.ndarray) -> "Family":
        # One call a setting, with the same compiled program: in one call for all, settings would share their noise.
        tasks = [make(value) for value in values]
        paths = [self._integrated(task) for task in tasks]
        runs = zip(tasks, paths, seeds, strict=True)
        trained = [trained_growth(self, task, path[0, 0], int(seed)) for task, path, seed in runs]
        predicted = [wave_growth(path, self.save_every * self.rate)[0] for path in paths]
        rate, error = (np.array(column) for column in zip(*trained, strict=True))
        excess = np.array([pixel_excess(task) for task in tasks])
        return Family(values, rate, error, np.array(predicted), excess, critical, pixel_excess(make(critical)))

    def _integrated(self, task: Task) -> np.ndarray:
        """Weights by Eq. 5 from the flat field with a wave, once it has settled, (1, time, pixel)."""
        wave = np.sqrt(2 * self.wave / (1 - self.wave)) * np.cos(2 * np.pi * np.arange(SIZE) / SIZE)
        start = theory.steady.flat_height(task) * (1 + wave)
        times = SETTLED + self.rate * np.arange(0, self.steps + 1, self.save_every)
        return theory.effective_flow(task, start, times=times, rtol=1e-8).weights[:, :, 0]


# What was measured ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Zero:
    """Where a trained rate is zero: the setting, the excess kurtosis there, and their standard errors."""

    value: float
    error: float
    excess: float
    excess_error: float


@dataclass(frozen=True)
class Family:
    """Networks that start from flat fields with a wave, one entry a setting, in order.

    ``rate``, ``error``: the growth rate of the wave in training and its standard error over networks. ``predicted``:
    the same by Eq. 5. ``excess``: the excess kurtosis. ``critical``, ``critical_excess``: the threshold of Eq. 5 for
    waves of no size, in closed form.
    """

    values: np.ndarray
    rate: np.ndarray
    error: np.ndarray
    predicted: np.ndarray
    excess: np.ndarray
    critical: float
    critical_excess: float

    @property
    def expected(self) -> float:
        """Where the wave neither grows nor decays by Eq. 5; NaN where that is not among the settings."""
        return self._at(0.0, self.values)[0]

    @property
    def line(self) -> tuple[float, float, np.ndarray]:
        """Slope and height of a weighted line through trained against predicted rates, and their covariances.

        The predicted rate is the abscissa, as it bends with the setting the way the true one does: a line of slope 1
        through 0 where Eq. 5 is right, and a line still where it is off by a shift or a factor.
        """
        known = np.isfinite(self.rate) & (self.error > 0)
        if known.sum() < 3:
            return np.nan, np.nan, np.full((2, 2), np.nan)
        (slope, height), covariance = np.polyfit(
            self.predicted[known], self.rate[known], 1, w=1 / self.error[known], cov="unscaled"
        )
        return float(slope), float(height), covariance

    @property
    def zero(self) -> Zero | None:
        """The zero of that line, carried back to the setting; None where there is no clear one among the settings."""
        slope, height, covariance = self.line
        if not slope > CLEAR * np.sqrt(covariance[0, 0]):
            return None
        at = -height / slope
        error = np.sqrt(covariance[1, 1] + at**2 * covariance[0, 0] + 2 * at * covariance[0, 1]) / slope
        (value, change), (excess, bend) = self._at(at, self.values), self._at(at, self.excess)
        return Zero(value, error * abs(change), excess, error * abs(bend)) if np.isfinite(value) else None

    def _at(self, rate: float, curve: np.ndarray) -> tuple[float, float]:
        """A curve over the settings and its slope where the predicted rate has this value; NaN outside of them."""
        if not np.all(np.diff(self.predicted) > 0):
            return np.nan, np.nan
        smooth = PchipInterpolator(self.predicted, curve, extrapolate=False)
        return float(smooth(rate)), float(smooth.derivative()(rate))

    @property
    def off(self) -> float | None:
        """Distance of the zero from that of Eq. 5 in its standard errors; None where that says nothing."""
        if self.zero is None or not np.isfinite(self.expected):
            return None
        off = abs(self.zero.value - self.expected) / self.zero.error
        return off if off > ZERO.thresholds["near"] or self.zero.excess_error <= SHARP else None

    @property
    def shown(self) -> str:
        rows = zip(self.values, self.rate, self.error, self.predicted, strict=True)
        return ", ".join(f"{v:g}: {r:+.4f} +- {e:.4f} ({p:+.4f})" for v, r, e, p in rows)

    @property
    def compared(self) -> str:
        """The zero against the threshold, in words."""
        excess = self._at(0.0, self.excess)[0]
        predicted = f"by Eq. 5 at {self.expected:.4g} (excess kurtosis {excess:+.3f})"
        if self.zero is None:
            return f"no clear zero among the settings, {predicted}"
        it = self.zero
        return (
            f"zero at {it.value:.4g} +- {it.error:.2g} (excess kurtosis {it.excess:+.3f} +- {it.excess_error:.2g}), "
            f"{predicted}: {it.value / self.expected - 1:+.1%}, {abs(it.value - self.expected) / it.error:.1f} "
            "standard errors"
        )

    def numbers(self, name: str) -> list[Number]:
        zero = self.zero
        return [
            Number(f"{name}_zero", zero and zero.value, zero and zero.error),
            Number(f"{name}_off", self.off, 1.0, "standard errors"),
        ]


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Growth at the flat field in both families."""

    experiment: Threshold
    families: dict[str, Family]

    def claims(self) -> tuple[Claim, ...]:
        return (self._zero(),)

    def _zero(self) -> Claim:
        it = self.experiment
        whole = it == Threshold.paper()
        shown = "; ".join(f"{name} {family.compared}" for name, family in self.families.items())
        rates = "; ".join(f"{name} {family.shown}" for name, family in self.families.items())
        return ZERO.claim(
            "Perturbations of the flat field grow on one side of the predicted threshold and not on the other.",
            source=f"{PAPER}, section 3.2 (an explicit condition is called impossible)",
            reported="no threshold given",
            numbers=[number for name, family in self.families.items() for number in family.numbers(name.lower())],
            said=f"{shown}; growth rate of the slowest wave (by Eq. 5): {rates}",
            basis=f"{it.seeds} networks a setting, each with data of its own, {it.steps} steps, each "
            f"{orbit(it.batch)}; a wave with {it.wave:.0%} of the power",
            expected=by_theory(
                "does not hold" if whole else "not testable here",
                "the exact rate at the flat field, by the variance of a wave where the pixels' sum is zero, vanishes "
                "elsewhere than Eq. 5's" + ("" if whole else "; the quick preset is too small to tell"),
            ),
            reasons={
                "does not hold": "Eq. 5 takes the pixels as if each met an independent Gaussian rest. Near the "
                "threshold, where rates are small, what it leaves out is of their order.",
                "not testable here": "The zero is not known well enough to tell the threshold from others.",
            },
            words={"sharp": SHARP},
        )

    # Figures and text -------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        growth = tuple(_growth(name, family) for name, family in self.families.items())
        return (Figure("Growth at the flat field, predicted and trained", (growth,)),)

    def text(self) -> str:
        it = self.experiment
        closed = ", ".join(
            f"{family.critical:.4g} for {name} (excess kurtosis {family.critical_excess:+.3f})"
            for name, family in self.families.items()
        )
        compared = "; ".join(f"{name}: {family.compared}" for name, family in self.families.items())
        return (
            "The paper says that no explicit threshold can be had. The effective flow has one: linearised at the flat "
            "field, a wave grows if the elasticity of the amplifier, a phi'(a)/phi(a), exceeds a ratio of eigenvalues. "
            f"At lengthscales ({WIDE[0]:g}, {WIDE[1]:g}) on {SIZE} pixels that is from {closed} on. Networks trained "
            f"from a flat field with {it.wave:.0%} of its power in the slowest wave show how fast that wave grows or "
            "decays, and a line through these rates where it does neither; Eq. 5 is read in the same way from the same "
            f"wave. {compared}. {self._offset()}"
        )

    def _offset(self) -> str:
        families = self.families.values()
        apart = np.concatenate([family.rate - family.predicted for family in families])
        weight = np.concatenate([family.error**-2 for family in families])
        return (
            f"On average the rates lie {np.average(apart, weights=weight):+.4f} +- {weight.sum() ** -0.5:.4f} off the "
            "predicted ones."
        )


def _growth(name: str, family: Family) -> Scatter:
    marks = {f"Eq. 5 {family.expected:.4g}": family.expected} if np.isfinite(family.expected) else {}
    if family.zero is not None:
        marks[f"trained {family.zero.value:.4g}"] = family.zero.value
    slope, height, _ = family.line
    return Scatter(
        f"{name}: growth of the slowest wave",
        {
            "by Eq. 5": (family.values, family.predicted, None),
            "trained": (family.values, family.rate, family.error),
            "line through the trained": (family.values, height + slope * family.predicted, None),
        },
        xlabel={"NLGP": "gain", "Kur": "k"}[name],
        ylabel="rate at the flat field",
        joined=True,
        marks=marks,
    )
