"""When the flat field gives way: the predicted threshold in gain and k, training on both sides of it, and what follows.

The effective flow is linearised at the flat field: a threshold in closed form. Training near the flat field shows how
fast its perturbations really grow. Steady states followed from the localized side show how they join.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ... import theory
from ..._errors import setting_error
from ..._progress import Update
from ...networks import Given
from ...outcome import Claim, Figure, Lines, Number, Rule, Scatter, as_measured, by_theory
from ...spec import Setting
from ...stimuli import Task
from ...theory.steady import Branch
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.neuron import neuron
from ..toolkit.seeds import seed_from
from ..toolkit.sources import PAPER
from ..toolkit.tasks import NARROW, SIZE, WIDE, kur, nlgp
from ..toolkit.train import train
from ..toolkit.words import listed

PAIRS = (WIDE, (1.0, 2.0), NARROW)
FIXED_GAIN = 0.25
"""At which the lengthscale is followed."""
LINEAR = 0.02
"""Share of power off the flat field up to which a perturbation counts as small: what is neglected is of this order."""
FAMILIES = {"NLGP": "gain", "Kur": "k"}

SIGN = Rule(
    "the thresholds of both families lie at excess kurtosis 0 within {near:g}",
    lambda n, t: n.farthest < t.near,
    thresholds={"near": 0.01},
    holds={"farthest": 0.004},
    fails={"farthest": 0.1},
)
SIDES = Rule(
    "in both families every rate more than {sure:g} standard errors from zero has the predicted sign, and there are "
    "such rates on both sides; in part: in one family",
    lambda n, t: _as_predicted(n, t, "nlgp") and _as_predicted(n, t, "kur"),
    partly=lambda n, t: _as_predicted(n, t, "nlgp") or _as_predicted(n, t, "kur"),
    thresholds={"sure": 2.0},
    holds={
        "nlgp_worst": 2.6, "nlgp_grows": 6.0, "nlgp_decays": 2.6, "kur_worst": -0.5, "kur_grows": 9.0, "kur_decays": 4.0
    },
    part={
        "nlgp_worst": 2.6, "nlgp_grows": 6.0, "nlgp_decays": 2.6, "kur_worst": -4.0, "kur_grows": 9.0, "kur_decays": 4.0
    },
    fails={
        "nlgp_worst": 1.0, "nlgp_grows": 6.0, "nlgp_decays": 1.0, "kur_worst": -4.0, "kur_grows": 9.0, "kur_decays": 4.0
    },
)  # fmt: skip
ONSET = Rule(
    "along gain, k and lengthscale the branch is stable, falls all the way (a step up of {rise:g} is rounding), and "
    "has less than {join:g} times the flat field's IPR, that of a single wave on a flat field, where it meets the "
    "threshold; in part: it is stable",
    lambda n, t: n.stable >= 1 and n.rise < t.rise and n.join < t.join,
    partly=lambda n, _: n.stable >= 1,
    thresholds={"rise": 1e-6, "join": 1.5},
    holds={"stable": 1.0, "rise": -0.001, "join": 1.2},
    part={"stable": 1.0, "rise": -0.001, "join": 3.0},
    fails={"stable": 0.8, "rise": -0.001, "join": 1.2},
)


def _as_predicted(n: Any, t: Any, family: str) -> bool:
    """No rate clearly against the prediction, and clear ones on both sides."""
    worst, grows, decays = (getattr(n, f"{family}_{part}") for part in ("worst", "grows", "decays"))
    return worst >= -t.sure and grows > t.sure and decays > t.sure


@dataclass(frozen=True)
class Threshold(AbstractExperiment):
    """At which gain, and at which k, does a flat field give way to a localized one?"""

    name: ClassVar[str] = "threshold"
    title: ClassVar[str] = "The threshold of localization"
    cost: ClassVar[float] = 35.0

    gains: Annotated[tuple[float, ...], Setting("gains of NLGP", gt=0, many=(2, None))] = (0.05, 0.4)
    ks: Annotated[tuple[float, ...], Setting("exponents of Kur", gt=4, many=(2, None))] = (5.0, 8.0)
    wave: Annotated[float, Setting("share of power of the slowest wave at the start", gt=0, lt=LINEAR)] = 0.01
    seeds: Annotated[int, Setting("networks a setting", kind=int, ge=2, le=1000)] = 12
    steps: Annotated[int, Setting("steps of training", kind=int, ge=2)] = 400
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, le=100_000)] = 1_024
    rate: Annotated[float, Setting("learning rate", gt=0, le=1)] = 0.05
    save_every: Annotated[int, Setting("steps from one record to the next", kind=int, ge=1)] = 10
    points: Annotated[int, Setting("steady states along a branch", kind=int, ge=4, le=1000)] = 8

    @classmethod
    def paper(cls) -> "Threshold":
        gains, ks = (0.15, 0.2, 0.25, 0.3, 0.4), (5.3, 5.6, 5.8, 6.0, 6.5)
        return cls(gains=gains, ks=ks, seeds=16, steps=600, points=25)

    def check(self) -> None:
        if self.steps % self.save_every:  # rates are measured over intervals that must be alike
            raise setting_error(type(self), "save_every", self.save_every, f"a divisor of the {self.steps} steps")

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Thresholds, training around them, and the branches that leave the flat one."""
        seed = seed_from(key)
        thresholds = tuple(_thresholds(pair) for pair in PAIRS)
        settings = {"NLGP": (self.gains, nlgp, thresholds[0].gain), "Kur": (self.ks, kur, thresholds[0].k)}
        families = {}
        for i, (name, (values, make, critical)) in enumerate(settings.items()):
            families[name] = self._family(values, [make(value) for value in values], critical, seed)
            progress((i + 1) / 4)
        return Measured(self, thresholds, families, tuple(_branches(self.points)))

    def _family(self, values: Sequence[float], tasks: list[Task], critical: float, seed: int) -> "Family":
        waves = np.fft.fft(self._trained(tasks, seed))
        power = np.abs(waves) ** 2
        share = 1 - power[..., 0] / power.sum(-1)
        interval = self.save_every * self.rate
        found = [_growth_rate(wave, small, interval) for wave, small in zip(waves[..., 1], share < LINEAR, strict=True)]
        rate, error = (np.array(column) for column in zip(*found, strict=True))
        predicted = np.array([theory.flat_growth_rates(task)[1] for task in tasks])
        return Family(np.array(values), critical, predicted, rate, error, share[..., -1])

    def _trained(self, tasks: list[Task], seed: int) -> np.ndarray:
        """Weights of networks that start near the flat field, (setting, seed, time, pixel)."""
        turns = np.arange(SIZE) / SIZE + np.random.default_rng(seed).uniform(size=(self.seeds, 1, 1))
        wave = np.sqrt(2 * self.wave / (1 - self.wave)) * np.cos(2 * np.pi * turns)
        starts = [Given(theory.steady.flat_height(task) * (1 + wave)) for task in tasks]
        run = train(
            tasks, neuron(), steps=self.steps, batch=self.batch, rate=self.rate, seeds=self.seeds, init=starts,
            data_seed=seed, estimator="orbit", stream="independent", save_every=self.save_every,
        )  # fmt: skip
        return run.weights[..., 0, :]


def _growth_rate(wave: np.ndarray, small: np.ndarray, interval: float) -> tuple[float, float]:
    """The rate r in wave(t + interval) = exp(r interval) wave(t) + noise, by least squares over all networks.

    Noise moves the mean of log wave(t), but not this regression, as it has mean 0 wherever the wave is. The standard
    error is the jackknife's over networks.
    """
    before, after = wave[:, :-1], wave[:, 1:]
    common = np.sum(np.real(before.conj() * after) * small[:, :-1], axis=1)
    square = np.sum(np.abs(before) ** 2 * small[:, :-1], axis=1)
    without = np.log((common.sum() - common) / (square.sum() - square)) / interval
    error = np.sqrt((len(without) - 1) * without.var())
    return float(np.log(common.sum() / square.sum()) / interval), float(error)


def _thresholds(pair: tuple[float, float]) -> "Thresholds":
    gain, k = theory.critical_gain(*pair, SIZE), theory.critical_k(*pair, SIZE)
    return Thresholds(pair, gain, _excess(nlgp(gain)), k, _excess(kur(k)))


def _excess(task: Task) -> float:
    return task.stimuli[1].marginal.excess_kurtosis()


# Steady states --------------------------------------------------------------------------------------------------------


def _branches(points: int) -> "list[Continued]":
    gain, k = theory.critical_gain(*WIDE, SIZE), theory.critical_k(*WIDE, SIZE)
    length = theory.steady.critical_value(_longer, 2.0, 4.5)
    lines = {
        "gain of NLGP": (nlgp, 3.0, gain),
        "k of Kur": (kur, 12.0, k),
        f"long lengthscale, gain {FIXED_GAIN:g}": (_longer, 1.4, length),
    }
    return [
        Continued(name, theory.steady.continue_branch(tasks, _towards(far, critical, points), _bump()), critical)
        for name, (tasks, far, critical) in lines.items()
    ]


def _towards(far: float, critical: float, points: int) -> np.ndarray:
    """From far off up to the threshold, denser there as a square root wants it, and one point beyond."""
    shares = np.append(np.linspace(1, 0.05, points - 1) ** 2, -0.02)
    return critical + (far - critical) * shares


def _longer(lengthscale: float) -> Task:
    return nlgp(FIXED_GAIN, (1.0, lengthscale))


def _bump() -> np.ndarray:
    distance = np.minimum(np.arange(SIZE), SIZE - np.arange(SIZE))
    return 0.3 * np.exp(-(distance**2) / 8.0)


# What was measured ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Thresholds:
    """Where the flat field gives way at a pair of lengthscales, and the excess kurtosis there."""

    pair: tuple[float, float]
    gain: float
    gain_excess: float
    k: float
    k_excess: float

    @property
    def shown(self) -> str:
        return (
            f"lengthscales ({self.pair[0]:g}, {self.pair[1]:g}): gain {self.gain:.3f} (excess "
            f"{self.gain_excess:+.3f}), k {self.k:.3f} (excess {self.k_excess:+.3f})"
        )


@dataclass(frozen=True)
class Family:
    """Networks that start near the flat field, one row a setting."""

    values: np.ndarray
    critical: float
    predicted: np.ndarray
    rate: np.ndarray
    """Growth rate of the slowest wave while perturbations are small, and its standard error over networks."""
    error: np.ndarray
    share: np.ndarray
    """Share of the final field's power that is not flat, (setting, seed)."""

    @property
    def shown(self) -> str:
        rows = zip(self.values, self.rate, self.error, self.predicted, strict=True)
        return ", ".join(f"{v:g}: {r:+.3f} +- {e:.3f} ({p:+.3f})" for v, r, e, p in rows)

    def numbers(self, name: str) -> list[Number]:
        """Rates in standard errors, positive where the sign is as predicted: the least of all, and the largest of
        those that are predicted to grow and to decay."""
        known = np.isfinite(self.rate / self.error)
        agreement = np.where(known, np.sign(self.predicted) * self.rate / self.error, 0.0)
        parts = {"worst": agreement[known], "grows": agreement[known & (self.predicted > 0)],
                 "decays": agreement[known & (self.predicted < 0)]}  # fmt: skip
        found = {part: (v.min() if part == "worst" else v.max()) if v.size else None for part, v in parts.items()}
        return [Number(f"{name}_{part}", value, unit="standard errors") for part, value in found.items()]


@dataclass(frozen=True)
class Continued:
    """The localized steady states along one setting, from far to the flat branch."""

    name: str
    branch: Branch
    critical: float

    @property
    def relative(self) -> np.ndarray:
        """IPR in units of the flat field's."""
        return self.branch.ipr * SIZE

    @property
    def join(self) -> float:
        """The same at the last point before the threshold, a four-hundredth of the way, or before the branch ends."""
        return float(self.relative[~self.flat_is_stable(self.branch.value)][-1])

    def flat_is_stable(self, value: np.ndarray) -> np.ndarray:
        """Flat fields are stable on the far side of the threshold, to which the branch leads."""
        return (value - self.critical) * (self.branch.value[0] - self.critical) < 0


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Thresholds, growth at the flat field, and branches of steady states."""

    experiment: Threshold
    thresholds: tuple[Thresholds, ...]
    families: dict[str, Family]
    branches: tuple[Continued, ...]

    # Claims -----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._sign(), self._sides(), self._onset()

    def _sign(self) -> Claim:
        farthest = max(abs(excess) for t in self.thresholds for excess in (t.gain_excess, t.k_excess))
        return SIGN.claim(
            "The sign of the excess kurtosis decides whether the field localizes.",
            source=f"{PAPER}, appendix B.1",
            reported="to a first approximation, the sign of the excess kurtosis decides between the two",
            numbers=[Number("farthest", farthest)],
            said=f"{'; '.join(t.shown for t in self.thresholds)}; at most {{farthest:.3f}} from 0",
            basis="closed form, no samples",
            expected=by_theory("does not hold", "the growth rates of waves at the flat field (erratum B-10)"),
            reasons={
                "does not hold": "At finite N the elasticity is taken at a0 > 0, where more than the fourth moment "
                "counts, and a wave must also outgrow the difference of the covariances (erratum B-10). The sign is a "
                "good first guess."
            },
        )

    def _sides(self) -> Claim:
        it = self.experiment
        shown = "; ".join(f"{name} {family.shown}" for name, family in self.families.items())
        return SIDES.claim(
            "Perturbations of the flat field grow on one side of the predicted threshold and not on the other.",
            source=f"{PAPER}, section 3.2 (an explicit condition is called impossible)",
            reported="no threshold given",
            numbers=[number for name, family in self.families.items() for number in family.numbers(name.lower())],
            said=f"growth rate of the slowest wave (predicted): {shown}; in standard errors, with the predicted sign, "
            "at least {nlgp_worst:.1f} (NLGP) and {kur_worst:.1f} (Kur)",
            basis=f"{it.seeds} networks a setting, each with data of its own, {it.steps} steps, each the orbit of "
            f"{it.batch} samples, as long as the power off the flat field is below {LINEAR:.0%}",
            expected=by_theory("holds", "the growth rates of waves at the flat field"),
        )

    def _onset(self) -> Claim:
        shown = "; ".join(f"{line.name}: from {line.relative[0]:.1f} to {line.join:.2f}" for line in self.branches)
        return ONSET.claim(
            "Beyond the threshold a localized steady state leaves the flat one continuously.",
            source=f"{PAPER}, appendix B.2 (steady states are called unsolvable)",
            reported="not given",
            numbers=[
                Number("stable", min(float(line.branch.stable.mean()) for line in self.branches)),
                Number("rise", max(np.diff(line.branch.ipr).max(initial=-1.0) for line in self.branches)),
                Number("join", max(line.join for line in self.branches)),
            ],
            said=f"IPR in units of the flat field's, from the far end to the threshold: {shown}; at least "
            "{stable:.0%} of each branch stable",
            basis=f"{sum(len(line.branch.value) for line in self.branches)} steady states by root finding, no samples",
            expected=as_measured("holds"),
        )

    # Figures and text -------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        growth = tuple(_growth(name, family) for name, family in self.families.items())
        lines = tuple((_diagram(line), _profiles(line)) for line in self.branches)
        return (
            Figure("Growth at the flat field, predicted and trained", growth, tuple(self.families)),
            Figure("Bifurcation diagrams of the effective flow", lines),
        )

    def text(self) -> str:
        first, it = self.thresholds[0], self.experiment
        nlgps, kurs = (listed(family.share.mean(1), ".3f") for family in self.families.values())
        ends = ", ".join(f"{line.relative[0]:.1f} to {line.join:.2f} ({line.name})" for line in self.branches)
        return (
            "The paper says that no explicit threshold can be had. The effective flow has one: linearised at the flat "
            "field, a wave grows if the elasticity of the amplifier, a phi'(a)/phi(a), exceeds a ratio of eigenvalues. "
            f"For lengthscales ({first.pair[0]:g}, {first.pair[1]:g}) on {SIZE} pixels that is at gain "
            f"{first.gain:.3f} for NLGP, where the excess kurtosis is {first.gain_excess:+.3f}, and at k = "
            f"{first.k:.3f} for Kur, where it is {first.k_excess:+.3f}. Networks trained from a flat field with "
            f"{it.wave:.0%} of its power in the slowest wave show how fast that wave grows or decays while it is "
            f"small; the share of power that is not flat ends at {nlgps} (NLGP) and {kurs} (Kur) from the lowest to "
            f"the highest setting. {self._offset()} From strong non-Gaussianity down to the threshold the IPR of the "
            f"steady state goes, in units of the flat field's, from {ends}."
        )

    def _offset(self) -> str:
        families = self.families.values()
        apart = np.concatenate([family.rate - family.predicted for family in families])
        error = np.sqrt(np.mean(np.concatenate([family.error**2 for family in families])) / len(apart))
        return (
            f"On average the rates lie {apart.mean():+.3f} +- {error:.3f} off the predicted ones, which is how far the "
            "effective flow can be trusted this near to the threshold."
        )


def _growth(name: str, family: Family) -> tuple[Scatter, Scatter]:
    label, marks = FAMILIES[name], {f"threshold {family.critical:.3f}": family.critical}
    rates = Scatter(
        f"{name}: growth of the slowest wave",
        {"predicted": (family.values, family.predicted, None), "trained": (family.values, family.rate, family.error)},
        xlabel=label,
        ylabel="rate at the flat field",
        marks=marks,
    )
    after = Scatter(
        f"{name}: after training",
        {"trained networks": (family.values, family.share.mean(1), family.share.std(1))},
        xlabel=label,
        ylabel="share of power not flat",
        logy=True,
        marks=marks,
    )
    return rates, after


def _diagram(line: Continued) -> Lines:
    order = np.argsort(line.branch.value)
    value = line.branch.value[order]
    flat, stable = np.full(len(value), 1 / SIZE), line.flat_is_stable(value)
    return Lines(
        "steady states",
        value,
        {
            "followed from afar": line.branch.ipr[order],
            "flat, stable": np.where(stable, flat, np.nan),
            "flat, unstable": np.where(stable, np.nan, flat),
        },
        xlabel=line.name,
        ylabel="IPR",
        logx=bool(value.max() > 5 * value.min()),
        marks={f"threshold {line.critical:.3f}": line.critical},
    )


def _profiles(line: Continued) -> Lines:
    value, field = line.branch.value, line.branch.field
    centred = {f"{value[i]:.3g}": np.roll(field[i], SIZE // 2) for i in (0, len(value) // 2, len(value) - 1)}
    return Lines("fields along the branch", np.arange(SIZE) - SIZE / 2, centred, xlabel="distance from the peak")
