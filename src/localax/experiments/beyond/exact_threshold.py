"""Where the flat field really gives way: the true flow's own threshold, beside Eq. 5's and beside training.

Linearised at the flat field the true flow needs one thing of a class beyond its covariance: how strong a wave is where
the pixels add up to zero. That gives growth rates without the assumptions of Eq. 5. On many pixels the fourth cumulant
of the sum of all pixels decides, of which the kurtosis of one pixel is only a part.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ... import theory
from ..._errors import setting_error
from ..._progress import Update
from ...outcome import Claim, Figure, Number, Rule, Scatter, by_theory
from ...spec import Setting
from ...stimuli import Kur, Task
from ...theory.steady import (
    critical_value,
    edgeworth_growth_rates,
    exact_critical_value,
    exact_flat_height,
    exact_growth_rates,
    growth_quotient,
    summed_cumulant,
)
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.growth import trained_growth
from ..toolkit.neuron import orbit
from ..toolkit.seeds import seeds_from
from ..toolkit.sources import DERIVED, PAPER
from ..toolkit.tasks import SIZE, WIDE, kur, nlgp, pixel_excess

FAMILIES: dict[str, tuple[Callable[..., Task], tuple[float, float]]] = {
    "NLGP": (nlgp, (0.005, 1.0)),
    "Kur": (kur, (5.1, 30.0)),
}
"""Tasks by their setting, and between which settings a threshold is sought."""
SHARP = 0.006
"""Largest standard error of the mean difference of rates that tells anything: about half of what Eq. 5 and the true
flow differ by at a gain of 0.25."""

AGREES = Rule(
    "the mean difference of the trained growth rates from the exact ones, weighted by their errors, is within {near:g} "
    "of its standard errors. A mean whose standard error exceeds {sharp:g} decides nothing",
    lambda n, t: n.exact_off <= t.near,
    thresholds={"near": 3.0},
    holds={"exact_off": 1.2},
    fails={"exact_off": 5.0},
)
ELSEWHERE = Rule(
    "in both families the threshold of the true flow differs from that of Eq. 5 by more than {clear:g} standard errors "
    "and by more than {apart:.0%}; in part: in one of them",
    lambda n, t: min(n.nlgp_sure, n.kur_sure) > t.clear and min(n.nlgp_apart, n.kur_apart) > t.apart,
    partly=lambda n, t: (
        (n.nlgp_sure > t.clear and n.nlgp_apart > t.apart) or (n.kur_sure > t.clear and n.kur_apart > t.apart)
    ),
    thresholds={"clear": 3.0, "apart": 0.01},
    holds={"nlgp_sure": 50.0, "nlgp_apart": 0.11, "kur_sure": 20.0, "kur_apart": 0.02},
    part={"nlgp_sure": 50.0, "nlgp_apart": 0.11, "kur_sure": 2.0, "kur_apart": 0.02},
    fails={"nlgp_sure": 1.0, "nlgp_apart": 0.001, "kur_sure": 2.0, "kur_apart": 0.02},
)
SUMMED = Rule(
    "at half the excess kurtosis at which the summed cumulant of Kur vanishes, the excess kurtosis is positive, the "
    "summed cumulant negative, and the exact rate of the slowest wave positive by more than {sure:g} standard errors",
    lambda n, t: n.excess > 0 and n.cumulant < 0 and n.rate_sure > t.sure,
    thresholds={"sure": 3.0},
    holds={"excess": 0.09, "cumulant": -0.06, "rate_sure": 5.0},
    fails={"excess": 0.09, "cumulant": -0.06, "rate_sure": -5.0},
)
SIGN = Rule(
    "the true flow's threshold tends to an excess kurtosis within {near:g} of 0 as the number of pixels grows, in both "
    "families; in part: in one of them",
    lambda n, t: abs(n.nlgp_limit) < t.near and abs(n.kur_limit) < t.near,
    partly=lambda n, t: abs(n.nlgp_limit) < t.near or abs(n.kur_limit) < t.near,
    thresholds={"near": 0.05},
    holds={"nlgp_limit": -0.001, "kur_limit": 0.01},
    part={"nlgp_limit": -0.001, "kur_limit": 0.2},
    fails={"nlgp_limit": -0.7, "kur_limit": -0.5},
)


@dataclass(frozen=True)
class ExactThreshold(AbstractExperiment):
    """Where does the flat field give way under the true flow, and what decides that on many pixels?"""

    name: ClassVar[str] = "exact_threshold"
    title: ClassVar[str] = "The threshold of the true flow"
    cost: ClassVar[float] = 25.0

    gains: Annotated[tuple[float, ...], Setting("gains of NLGP trained on", gt=0, many=(1, None))] = (0.2, 0.4)
    wave: Annotated[float, Setting("size of the wave at the start, in units of the height", gt=0, lt=0.7)] = 0.3
    seeds: Annotated[int, Setting("networks a gain", kind=int, ge=2, le=1000)] = 16
    steps: Annotated[int, Setting("steps of training", kind=int, ge=2)] = 100
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, le=100_000)] = 2_048
    rate: Annotated[float, Setting("learning rate", gt=0, le=1)] = 0.02
    save_every: Annotated[int, Setting("steps from one record to the next", kind=int, ge=1)] = 20
    samples: Annotated[int, Setting("samples of the latent field a rate", kind=int, ge=1000, le=10**7)] = 2**13
    sizes: Annotated[
        tuple[int, ...], Setting("pixels of rings with an exact threshold", kind=int, ge=32, le=2000, many=(1, None))
    ] = (SIZE,)
    large: Annotated[int, Setting("pixels of the ring on which cumulant and kurtosis disagree", kind=int, ge=32)] = SIZE
    side: Annotated[int, Setting("side of the largest torus", kind=int, ge=30, le=1000)] = 120
    torus: Annotated[int, Setting("side of the torus with an exact threshold; 0: none", kind=int, ge=0, le=60)] = 0

    @classmethod
    def paper(cls) -> "ExactThreshold":
        return cls(gains=(0.15, 0.2, 0.3, 0.4), seeds=40, steps=120, sizes=(SIZE, 100, 400), large=400, torus=30)

    def check(self) -> None:
        if self.steps % self.save_every:  # rates are measured over intervals that must be alike
            raise setting_error(type(self), "save_every", self.save_every, f"a divisor of the {self.steps} steps")

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Rates of training and of theory from the same wave, thresholds by theory, and one law far from both zeros."""
        seeds = seeds_from(key, len(self.gains))
        growth = tuple(self._growth(gain, int(seed)) for gain, seed in zip(sorted(self.gains), seeds, strict=True))
        progress(0.3)
        rings = tuple(self._at(size) for size in sorted(self.sizes))
        progress(0.6)
        limits = {"NLGP": self._expanded("NLGP", 10**4), "Kur": _zero_of_cumulant()}
        tori = {name: self._expanded(name, (self.side, self.side)) for name in FAMILIES}
        exact_torus = self._exact("NLGP", (self.torus, self.torus)) if self.torus else None
        progress(0.8)
        return Measured(self, growth, rings, limits, tori, exact_torus, self._between(limits["Kur"]))

    def _growth(self, gain: float, seed: int) -> "Growth":
        task = nlgp(gain)
        first = growth_quotient(task, [self.wave, 1e-3], samples=self.samples)
        half_way = min(self.wave * float(np.exp(first.value[0] * self.steps * self.rate / 2)), 0.9)
        exact = growth_quotient(task, [half_way, 1e-3], samples=self.samples)
        field, lower, _ = _by_eq5(task, self.wave)
        # A field at another height than the true flow's would relax first, and the wave grow as that lets it.
        start = field * lower * float(exact_flat_height(task, samples=self.samples).value)
        rate, error = trained_growth(self, task, start, seed)
        return Growth(
            gain, rate, error, float(exact.value[0]), float(exact.standard_error[0]), float(exact.value[1]),
            _by_eq5(task, half_way)[2],
        )  # fmt: skip

    def _at(self, size: int) -> dict[str, "At"]:
        return {name: self._exact(name, size) for name in FAMILIES}

    def _exact(self, name: str, size: int | tuple[int, int]) -> "At":
        """The true threshold, sought around the middle of the two that cost nothing."""
        make, ends = FAMILIES[name]
        eq5, first = (_critical(name, size, rates) for rates in (theory.flat_growth_rates, edgeworth_growth_rates))
        low, high = max(0.85 * min(eq5, first), ends[0]), min(1.15 * max(eq5, first), ends[1])
        found = exact_critical_value(lambda value: make(value, WIDE, size), low, high, samples=self.samples)
        value, error = float(found.value), float(found.standard_error)
        return At(value, error, eq5, first, pixel_excess(make(value, WIDE, size)))

    def _expanded(self, name: str, size: int | tuple[int, int]) -> float:
        """Excess kurtosis of the threshold to first order in 1/N."""
        return pixel_excess(FAMILIES[name][0](_critical(name, size, edgeworth_growth_rates), WIDE, size))

    def _between(self, zero: float) -> "Between":
        """A law of Kur whose summed cumulant is negative and whose excess kurtosis is positive, on a large ring."""
        k = _exponent_of(zero / 2)
        task = kur(k, WIDE, self.large)
        law = task.stimuli[1]
        exact = exact_growth_rates(task, samples=self.samples)
        cumulant = float(summed_cumulant(law).value) / float(np.sum(law.covariance())) ** 3
        eq5 = float(theory.flat_growth_rates(task)[1])
        return Between(k, pixel_excess(task), cumulant, float(exact.value[1]), float(exact.standard_error[1]), eq5)


def _by_eq5(task: Task, eps: float) -> tuple[np.ndarray, float, float]:
    """A wave on a flat field of height 1, how much lower the wave makes that field, and how fast it grows by Eq. 5."""
    wave = np.cos(2 * np.pi * np.arange(SIZE) / SIZE)
    fields = np.stack([np.ones(SIZE), 1 + eps * wave])
    flat, drive = theory.mean_gated_input(task.stimuli[1], fields, method="effective").value
    damping = np.sum([np.fft.fft(s.covariance()).real for s in task.stimuli], axis=0) / 2
    growth = damping[0] * (drive @ wave) / (np.mean(drive) * eps * np.sum(wave**2)) - damping[1]
    return fields[1], float(np.mean(drive) / np.mean(flat)), float(growth)


def _critical(name: str, size: int | tuple[int, int], rates: Callable[[Task], np.ndarray]) -> float:
    make, ends = FAMILIES[name]
    return critical_value(lambda value: make(value, WIDE, size), *ends, rates=rates)


def _exponent_of(excess: float) -> float:
    """The k at which Kur has an excess kurtosis, which falls as k rises."""
    low, high = FAMILIES["Kur"][1]
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if pixel_excess(kur(middle)) > excess else (low, middle)
    return low


def _zero_of_cumulant() -> float:
    """The excess kurtosis of Kur at which the summed cumulant of the long class vanishes."""
    low, high = FAMILIES["Kur"][1]
    for _ in range(30):
        middle = (low + high) / 2
        positive = float(summed_cumulant(Kur(100, WIDE[1], middle)).value) > 0
        low, high = (middle, high) if positive else (low, middle)
    return pixel_excess(kur(low))


# What was measured ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Growth:
    """How fast the slowest wave grows at one gain: trained, by the true flow and by Eq. 5 for a wave of this size.

    That is its size half-way through training. ``linear``: by the true flow, for a wave of no size.
    """

    gain: float
    trained: float
    error: float
    exact: float
    exact_error: float
    linear: float
    eq5: float

    @property
    def shown(self) -> str:
        return f"{self.gain:g}: {self.trained:+.4f} +- {self.error:.4f} ({self.exact:+.4f}, {self.eq5:+.4f})"


@dataclass(frozen=True)
class At:
    """Thresholds of a family on one ring or torus: exact, by Eq. 5, and to first order in 1/N."""

    value: float
    error: float
    eq5: float
    first: float
    excess: float

    @property
    def sure(self) -> float:
        return abs(self.value - self.eq5) / self.error

    @property
    def apart(self) -> float:
        return abs(self.value / self.eq5 - 1)

    @property
    def shown(self) -> str:
        return (
            f"{self.value:.4g} +- {self.error:.1g} (excess kurtosis {self.excess:+.3f}), by Eq. 5 {self.eq5:.4g}, "
            f"to first order in 1/N {self.first:.4g}"
        )


@dataclass(frozen=True)
class Between:
    """A law between the two zeros: its exponent, excess kurtosis, summed cumulant and rates on a large ring."""

    k: float
    excess: float
    cumulant: float
    rate: float
    error: float
    eq5: float


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Growth in training, thresholds by theory, and their limits as excess kurtoses by family."""

    experiment: ExactThreshold
    growth: tuple[Growth, ...]
    rings: tuple[dict[str, At], ...]
    limits: dict[str, float]
    tori: dict[str, float]
    exact_torus: At | None
    between: Between

    def claims(self) -> tuple[Claim, ...]:
        return self._agrees(), self._elsewhere(), self._summed(), self._ring(), self._torus()

    # Claims -----------------------------------------------------------------------------------------------------------

    def _off(self, of: str) -> tuple[float, float]:
        """Mean difference of the trained rates from others, and its standard error."""
        error = np.array([np.hypot(one.error, one.exact_error) for one in self.growth])
        apart = np.array([one.trained - getattr(one, of) for one in self.growth])
        return float(np.average(apart, weights=error**-2)), float(np.sum(error**-2) ** -0.5)

    def _agrees(self) -> Claim:
        it = self.experiment
        (off, error), (eq5, _) = self._off("exact"), self._off("eq5")
        rates = ", ".join(one.shown for one in self.growth)
        return AGREES.claim(
            "In training a wave on the flat field grows at the rate of the true flow's quotient there.",
            source=f"{DERIVED}, thresholds",
            reported="a formula for the rate",
            numbers=[
                Number("exact_off", abs(off) / error if error <= SHARP else None, 1.0, "standard errors"),
                Number("difference", off, error),
                Number("from_eq5", eq5, error),
            ],
            said=f"on average {{difference:+.4f}} +- {error:.4f} off the exact rates and {{from_eq5:+.4f}} off those "
            f"of Eq. 5; by gain, trained (exact, Eq. 5): {rates}",
            basis=f"{it.seeds} networks a gain, each with data of its own, {it.steps} steps, each {orbit(it.batch)}; a "
            f"wave of {it.wave:g} of the height",
            expected=by_theory("holds", "the rate is exact for a wave of this size"),
            words={"sharp": SHARP},
        )

    def _elsewhere(self) -> Claim:
        first = self.rings[0]
        shown = "; ".join(
            f"{size} pixels: " + ", ".join(f"{name} {at.shown}" for name, at in ring.items())
            for size, ring in zip(sorted(self.experiment.sizes), self.rings, strict=True)
        )
        return ELSEWHERE.claim(
            f"On {min(self.experiment.sizes)} pixels the flat field of the true flow gives way at another setting than "
            "that of Eq. 5.",
            source=f"{DERIVED}, thresholds",
            reported="the difference that Eq. 5 neglects",
            numbers=[
                *(Number(f"{name.lower()}_threshold", at.value, at.error) for name, at in first.items()),
                *(Number(f"{name.lower()}_sure", at.sure, 1.0, "standard errors") for name, at in first.items()),
                *(Number(f"{name.lower()}_apart", at.apart, at.error / at.eq5) for name, at in first.items()),
            ],
            said=shown,
            basis=f"{self.experiment.samples:,} samples of the latent field a rate, with controls",
            expected=by_theory("holds", "the expansion in 1/N of both rates differs in its first term"),
        )

    def _summed(self) -> Claim:
        it, size = self.between, self.experiment.large
        return SUMMED.claim(
            "On many pixels the sign of the fourth cumulant summed over pixels decides whether the flat field gives "
            "way, not the sign of a pixel's excess kurtosis.",
            source=f"{DERIVED}, thresholds",
            reported="a criterion to first order in 1/N",
            numbers=[
                Number("excess", it.excess),
                Number("cumulant", it.cumulant),
                Number("rate", it.rate, it.error),
                Number("rate_sure", it.rate / it.error, 1.0, "standard errors"),
            ],
            said=f"Kur at k = {it.k:.3f}, {size} pixels: excess kurtosis {{excess:+.3f}}, summed cumulant "
            f"{{cumulant:+.3f}} in units of the cubed variance, rate {{rate:+.5f}} +- {it.error:.5f} (Eq. 5 "
            f"{it.eq5:+.5f})",
            basis=f"{self.experiment.samples:,} samples of the latent field, with controls; too slow a growth for "
            "training to show",
            expected=by_theory("holds", "the Edgeworth expansion of the exact rate"),
        )

    def _ring(self) -> Claim:
        return self._sign(
            "ring", self.limits,
            "NLGP's by the expansion on 10,000 pixels, Kur's where the summed cumulant is 0",
            by_theory("holds in part", "at NLGP's threshold the law tends to a Gaussian, at Kur's it does not"),
        )  # fmt: skip

    def _torus(self) -> Claim:
        side, exact = self.experiment.side, self.exact_torus
        more = f"; on {self.experiment.torus} x {self.experiment.torus} pixels NLGP {exact.shown}" if exact else ""
        return self._sign(
            "torus", self.tori,
            f"by the expansion on {side} x {side} pixels{more}",
            by_theory("does not hold", "the difference of the ratios and the weight of the cumulant both fall as 1/N"),
        )  # fmt: skip

    def _sign(self, place: str, limits: dict[str, float], how: str, expected: Any) -> Claim:
        return SIGN.claim(
            f"For sufficiently many pixels the sign of the excess kurtosis decides on a {place}, in the true flow.",
            source=f"{PAPER}, claim 3.2 and section 3.2 (read for the true flow)",
            reported="sufficiently negative excess kurtosis localizes, sufficiently positive does not",
            numbers=[Number(f"{name.lower()}_limit", value) for name, value in limits.items()],
            said="the threshold tends to an excess kurtosis of {nlgp_limit:+.4f} (NLGP) and {kur_limit:+.4f} (Kur); "
            f"{how}",
            basis="theory alone",
            expected=expected,
            reasons={
                "holds in part": "What decides is a cumulant of the whole field. It has the sign of the pixel's only "
                "where the law at the threshold is nearly Gaussian.",
                "does not hold": "In two dimensions the flat field resists by as much as the kurtosis pushes, at every "
                "size.",
            },
        )

    # Figures and text -------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        gains = np.array([one.gain for one in self.growth])
        column = {name: np.array([getattr(one, name) for one in self.growth]) for name in Growth.__dataclass_fields__}
        rates = Scatter(
            "NLGP: growth of the slowest wave",
            {
                "trained": (gains, column["trained"], column["error"]),
                "true flow, this wave": (gains, column["exact"], column["exact_error"]),
                "true flow, small waves": (gains, column["linear"], None),
                "Eq. 5": (gains, column["eq5"], None),
            },
            xlabel="gain",
            ylabel="rate at the flat field",
            joined=True,
        )
        return (Figure("Growth at the flat field: trained, exact and by Eq. 5", ((rates,),)),)

    def text(self) -> str:
        first, (off, error), (eq5, _) = self.rings[0], self._off("exact"), self._off("eq5")
        return (
            "Linearised at the flat field, the true flow lets a wave grow by its power given that the pixels add up to "
            f"zero. For NLGP and Kur at lengthscales ({WIDE[0]:g}, {WIDE[1]:g}) on {min(self.experiment.sizes)} pixels "
            f"it gives way at gain {first['NLGP'].value:.4f} and at k = {first['Kur'].value:.3f}, where Eq. 5 says "
            f"{first['NLGP'].eq5:.4f} and {first['Kur'].eq5:.3f}. Trained networks that start with a wave grow it at "
            f"rates {off:+.4f} +- {error:.4f} off the exact ones on average and {eq5:+.4f} off those of Eq. 5. On many "
            "pixels the fourth cumulant of the sum of all pixels decides: on rings NLGP's threshold tends to a "
            f"Gaussian law, but Kur's to an excess kurtosis of {self.limits['Kur']:+.3f}; on tori both stay away "
            f"from 0, at {self.tori['NLGP']:+.3f} and {self.tori['Kur']:+.3f}."
        )
