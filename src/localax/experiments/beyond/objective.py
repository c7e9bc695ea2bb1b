"""What a ReLU neuron maximises: J = C/sqrt(1 + r), Geary's ratio of its input against the ratio of two variances.

Neurons are trained on laws on both sides of every threshold, from three kinds of starts, with and without a random
scale per sample; what they end at is compared with J, measured on samples that training never saw.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np

from ... import theory
from ..._progress import Update
from ...analysis import concentration, localized
from ...outcome import Claim, Expected, Figure, Lines, Number, Rule, Scatter, Table, as_measured, by_theory
from ...spec import Setting
from ...stimuli import RandomScale, Task
from ...training import SaveAt
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.neuron import neuron, orbit
from ..toolkit.populations import largest, share
from ..toolkit.presets import by_preset
from ..toolkit.seeds import seed_from
from ..toolkit.single_neurons import centred
from ..toolkit.sources import DERIVED
from ..toolkit.tasks import NARROW, SIZE, WIDE, ising, kur, nlgp
from ..toolkit.train import train
from ..toolkit.words import listed

SOURCE = f"{DERIVED}, objective"
SIDES = ("pixel wins", "between", "flat is stable")
"""What the criteria say."""
STARTS = ("small random", "flat", "local")
HEIGHT = {"flat": 0.03, "local": 0.1}
"""Of a starting weight, well below where training ends."""
RING = 8
"""Spins of the ring whose states are all summed."""
EXACT_STEPS, EXACT_RATE, EXACT_ITERATIONS = 200, 0.25, 20
"""Of the descent on that ring, long enough to settle to rounding: its slowest rate is 0.4."""
KICK, RAISED = 0.2, 0.005
"""A random change of a trained field, in units of its norm, and the relative gain of J behind it that counts: after a
kick a saddle is left for a field of higher J, and a maximum is not."""
ASCENT_SAMPLES, ASCENT_STEPS = 500, 200
POINTS = 13
"""On the way from the flat field to a local one."""
CURVES = 6
"""Of a panel, at most: more have no legend."""
SLACK = 1e-3
"""By how much a candidate's J may exceed a trained field's and count as equal."""
SADDLES = (
    "Flat fields are saddles of J that noisy training leaves slowly: some neurons that start flat are still there."
)

IDENTITY = Rule(
    "within {exact:g} of the exact loss on the ring, and within {sure:g} standard errors of every sampled loss",
    lambda n, t: n.exact < t.exact and n.sampled < t.sure,
    thresholds={"exact": 1e-5, "sure": 5.0},
    holds={"exact": 1e-8, "sampled": 2.5},
    fails={"exact": 1e-8, "sampled": 9.0},
)
MAXIMUM = Rule(
    f"a kick of {KICK:.0%} and an ascent of up to {ASCENT_STEPS} steps raise J by less than {RAISED:.1%} for "
    "{all:.0%} of the trained fields; in part: for {most:.0%}",
    lambda n, t: n.settled >= t.all,
    partly=lambda n, t: n.settled >= t.most,
    thresholds={"all": 0.99, "most": 0.75},
    holds={"settled": 1.0},
    part={"settled": 0.8},
    fails={"settled": 0.5},
)
BEST = Rule(
    f"J of the flat field, of a wave, of one pixel and of the best field behind one pixel's gate at most {SLACK:.1%} "
    "above that of {all:.0%} of the trained fields; in part: of {most:.0%}",
    lambda n, t: n.unbeaten >= t.all,
    partly=lambda n, t: n.unbeaten >= t.most,
    thresholds={"all": 0.99, "most": 0.75},
    holds={"unbeaten": 1.0},
    part={"unbeaten": 0.8},
    fails={"unbeaten": 0.5},
)
SCALE = Rule(
    "with the scale every excess kurtosis is positive that was negative, and the median N IPR changes by less than "
    "{little:.0%}; in part: by less than {more:.0%}",
    lambda n, t: n.before < 0 < n.after and n.change < t.little,
    partly=lambda n, t: n.before < 0 < n.after and n.change < t.more,
    thresholds={"little": 0.15, "more": 0.3},
    holds={"before": -1.4, "after": 4.0, "change": 0.05},
    part={"before": -1.4, "after": 4.0, "change": 0.2},
    fails={"before": -1.4, "after": 4.0, "change": 0.8},
)
CRITERIA = Rule(
    "at least {most:.0%} of the neurons are localized where one pixel's gate guarantees a higher J than any Gaussian "
    "field has, at most {few:.0%} where the flat field is stable; in part: one of the two",
    lambda n, t: n.inside >= t.most and n.outside <= t.few,
    partly=lambda n, t: n.inside >= t.most or n.outside <= t.few,
    thresholds={"most": 0.95, "few": 0.05},
    holds={"inside": 1.0, "outside": 0.0},
    part={"inside": 1.0, "outside": 0.5},
    fails={"inside": 0.5, "outside": 0.5},
)
ASCENT = Rule(
    "no step lowers J by more than {rounding:g}, and the fields it ends at have an overlap of {alike:g} with those "
    "that training ends at, in the median and up to shift and sign; in part: no step lowers J",
    lambda n, t: n.fall < t.rounding and n.overlap >= t.alike,
    partly=lambda n, t: n.fall < t.rounding,
    thresholds={"rounding": 1e-9, "alike": 0.95},
    holds={"fall": 1e-15, "overlap": 0.99},
    part={"fall": 1e-15, "overlap": 0.5},
    fails={"fall": 0.01, "overlap": 0.99},
)


@dataclass(frozen=True)
class WhatANeuronMaximises(AbstractExperiment):
    """Which number of its data does a ReLU neuron maximise, and does that number say when fields become local?"""

    name: ClassVar[str] = "objective"
    title: ClassVar[str] = "What a ReLU neuron maximises"
    cost: ClassVar[float] = 20.0

    gains: Annotated[tuple[float, ...], Setting("gains of NLGP", gt=0, many=(1, None))] = (0.1, 0.3, 0.7, 3.0)
    exponents: Annotated[tuple[float, ...], Setting("exponents of Kur", gt=4, many=(0, None))] = ()
    scaled: Annotated[tuple[float, ...], Setting("gains with and without a scale", gt=0, many=(1, None))] = (1.0, 100.0)
    spread: Annotated[float, Setting("of the logarithm of the scale", gt=0, le=1)] = 0.7
    seeds: Annotated[int, Setting("neurons of each kind of start", kind=int, ge=1)] = 2
    steps: Annotated[int, Setting("steps of training", kind=int, ge=20)] = 3000
    rate: Annotated[float, Setting("learning rate", gt=0)] = 0.1
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 100
    samples: Annotated[int, Setting("fresh samples behind every J and loss", kind=int, ge=1000)] = 30_000

    @classmethod
    def paper(cls) -> "WhatANeuronMaximises":
        return cls(
            gains=(0.05, 0.1, 0.2, 0.3, 0.45, 0.7, 1.5, 100.0), exponents=(4.5, 5.5, 6.5, 8.0, 15.0, 50.0),
            scaled=(1.0, 3.0, 100.0), seeds=3, steps=6000, samples=100_000,
        )  # fmt: skip

    def laws(self) -> "tuple[tuple[Law, ...], ...]":
        """Those of NLGP and those of Kur: each is trained in one call."""
        first = [Law("NLGP", gain, NARROW, 0.0) for gain in self.gains]
        pairs = [Law("NLGP", gain, WIDE, spread) for gain in self.scaled for spread in (0.0, self.spread)]
        families = (*first, *pairs), tuple(Law("Kur", k, NARROW, 0.0) for k in self.exponents)
        return tuple(laws for laws in families if laws)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Exact numbers on a small ring; then both families, trained and judged on fresh samples."""
        exact = _small_ring(jax.random.fold_in(key, 0))
        start = _starts(jax.random.fold_in(key, 1), self.seeds)
        found: list[Found] = []
        for i, laws in enumerate(self.laws()):
            fields = self._trained(laws, start, seed_from(jax.random.fold_in(key, 2 + i)), progress)
            seeds = [seed_from(jax.random.fold_in(key, 10 + len(found) + j)) for j in range(len(laws))]
            judged = zip(laws, fields, seeds, strict=True)
            found += [_judged(law, w, start, self.samples, seed) for law, w, seed in judged]
            progress((i + 1) / len(self.laws()))
        return Measured(self, exact, tuple(found))

    def _trained(self, laws: Sequence["Law"], start: np.ndarray, seed: int, progress: Update) -> np.ndarray:
        """(law, neuron, pixel) at the end."""
        run = train(
            [law.task() for law in laws], neuron(), steps=self.steps, batch=self.batch, rate=self.rate,
            seeds=len(start), data_seed=seed, init=start[:, None], estimator="orbit",
            saveat=SaveAt(self.steps, record=()), watch=lambda step, _: progress(step / self.steps / 2),
        )  # fmt: skip
        return np.asarray(run.final[:, :, 0], float)


# Laws, starts and the small ring -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Law:
    """A task by its family, its setting, its lengthscales and the spread of a random scale (0: none)."""

    family: str
    setting: float
    lengthscales: tuple[float, float]
    spread: float

    def plain(self) -> Task:
        make: Callable[..., Task] = nlgp if self.family == "NLGP" else kur
        return make(self.setting, self.lengthscales)

    def task(self) -> Task:
        """With a scale in any case, which may be 1, so that all laws of a family train in one program."""
        return Task([RandomScale(stimulus, self.spread) for stimulus in self.plain().stimuli], [0, 1])

    def __str__(self) -> str:
        scale = f" x lognormal({self.spread:g})" if self.spread else ""
        return f"{self.family}({self.setting:g}){scale}, ({self.lengthscales[0]:g}, {self.lengthscales[1]:g})"


def _starts(key: Any, count: int) -> np.ndarray:
    """(neuron, pixel): kind after kind, the same for every law."""
    rng = np.random.default_rng(seed_from(key))
    noise = 0.007 * rng.normal(size=(3, count, SIZE))  # the standard deviation of the paper's smallest start
    noise[1] += HEIGHT["flat"]
    noise[2, np.arange(count), rng.integers(0, SIZE, count)] += HEIGHT["local"]
    return noise.reshape(-1, SIZE)


@dataclass(frozen=True)
class SmallRing:
    """Ising spins, all states summed: descent without noise and the iteration from the same starts."""

    descent: np.ndarray
    """Fields (step, start, pixel)."""
    iteration: np.ndarray
    descent_value: np.ndarray
    """J of each field, (step, start)."""
    iteration_value: np.ndarray
    gap: float
    """Largest distance of the last loss, summed over all states, from 1/2 - J^2/4."""

    def same(self) -> np.ndarray:
        """Which starts lead both to one field."""
        return _overlap(self.descent[-1], self.iteration[-1]) > 0.999

    def fall(self) -> float:
        return float(-np.diff(self.iteration_value, axis=0).min())


def _small_ring(key: Any) -> SmallRing:
    task = ising(RING)
    start = 0.01 * np.random.default_rng(seed_from(key)).normal(size=(4, RING))
    power = sum((s.covariance_matrix() for s in task.stimuli), np.zeros((RING, RING))) / 2
    descent = _followed(task, power, start, EXACT_STEPS, lambda w, f: w + EXACT_RATE * (f - w @ power))
    iteration = _followed(task, power, start, EXACT_ITERATIONS, lambda _, f: np.linalg.solve(power, f.T).T)
    end = descent[0][-1]
    gap = np.abs(_states_loss(task, end) - theory.objective(task, end).loss).max()
    return SmallRing(descent[0], iteration[0], descent[1], iteration[1], float(gap))


def _followed(task: Task, power: np.ndarray, w: np.ndarray, steps: int, step: Callable) -> tuple[np.ndarray, ...]:
    """Fields and their J = <w,f>/sqrt(w'Mw/2), before every step and at the end."""
    path, values = [], []
    for _ in range(steps + 1):
        gated = theory.mean_gated_input(task.stimuli[1], w).value
        path.append(w)
        values.append(np.sum(w * gated, 1) / np.sqrt(np.sum(w * (w @ power), 1) / 2))
        w = step(w, gated)
    return np.stack(path), np.stack(values)


def _states_loss(task: Task, fields: np.ndarray) -> np.ndarray:
    """E(y - ReLU)^2 at the heights that the fields have, as a sum over all states of both classes."""
    total = np.zeros(len(fields))
    for label, stimulus in enumerate(task.stimuli):
        law = stimulus.support()
        assert law is not None  # few spins
        total += law.probabilities @ (label - np.maximum(law.states @ fields.T, 0)) ** 2 / 2
    return total


def _overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(np.sum(a * b, -1)) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


# One law -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """One law: its trained fields (neuron, pixel), what they and others are worth, and what the criteria say."""

    law: Law
    fields: np.ndarray
    excess: float
    worth: theory.Objective
    """Of the trained fields."""
    loss: np.ndarray
    """(2, neuron): the trained neurons' own loss on other samples, and its standard error."""
    candidates: theory.Objective
    """Of the flat field, a wave, one pixel, and the best field behind its gate."""
    path: np.ndarray
    """J from the flat field to the last candidate."""
    climbed: np.ndarray
    """J behind a kick of one trained field of each kind of start and an ascent, relative to that before."""
    ends: np.ndarray
    """Where ascents from the small random starts end, (neuron, pixel)."""
    fall: float
    """Largest fall of J in a step of any ascent."""
    growth: float
    """The fastest rate at which Eq. 5's flat field gives way to a wave."""
    gate: float
    gaussian: float

    @property
    def gap(self) -> np.ndarray:
        """Of the loss from 1/2 - J^2/4, in standard errors."""
        return np.abs(self.loss[0] - self.worth.loss) / np.hypot(self.loss[1], self.worth.loss_error)

    @property
    def side(self) -> str:
        """What the criteria say."""
        return "pixel wins" if self.gate > self.gaussian else "between" if self.growth > 0 else "flat is stable"

    def overlaps(self) -> np.ndarray:
        """Of trained fields and ends of the ascent, from the same small random starts, peaks and signs aligned."""
        return _overlap(centred(self.ends), centred(self.fields[: len(self.ends)]))


CANDIDATES = ("flat", "wave", "pixel", "behind the pixel")


def _judged(law: Law, fields: np.ndarray, start: np.ndarray, samples: int, seed: int) -> Found:
    task, each = law.task(), len(fields) // len(STARTS)
    candidates = _candidates(task)
    flat, local = (w / np.linalg.norm(w) for w in (candidates[0], candidates[-1]))
    way = _path()[::-1, None] * flat + _path()[:, None] * local
    climbs = theory.ascend_objective(
        task, np.concatenate([_kicked(fields[::each], seed), start[:each]]), iterations=ASCENT_STEPS, tolerance=1e-4,
        method="sampled", samples=ASCENT_SAMPLES, seed=seed,
    )  # fmt: skip
    ends = climbs.final[: len(STARTS), 0]
    together = theory.objective(
        task, np.concatenate([fields, candidates, way, ends]), method="sampled", samples=samples, seed=seed
    )
    parts = np.cumsum([len(fields), len(candidates), len(way)])
    worth, others, between, after = (_part(together, i) for i in np.split(np.arange(len(together.value)), parts))
    return Found(
        law=law, fields=fields, excess=task.stimuli[1].marginal.excess_kurtosis(), worth=worth,
        loss=_fresh_loss(task, fields, samples, seed + 1), candidates=others, path=between.value,
        climbed=after.value / worth.value[::each], growth=float(theory.flat_growth_rates(task).ravel()[1:].max()),
        ends=climbs.final[len(STARTS) :, 0], fall=float(-np.diff(climbs.records["objective"], axis=1).min()),
        gate=float(theory.gate_objective(task, np.eye(SIZE)[0])),
        gaussian=_best_gaussian(law),
    )  # fmt: skip


def _path() -> np.ndarray:
    """Shares of the local field on the way to it."""
    return np.linspace(0, 1, POINTS)


def _kicked(fields: np.ndarray, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=fields.shape)
    return fields + KICK * noise * np.linalg.norm(fields, axis=1, keepdims=True) / np.sqrt(SIZE)


def _candidates(task: Task) -> np.ndarray:
    total = sum(s.covariance_matrix() for s in task.stimuli)
    pixel = np.eye(SIZE)[0]
    gated = theory.mean_gated_input(task.stimuli[1], pixel).value
    wave = np.cos(2 * np.pi * np.arange(SIZE) / SIZE)
    return np.stack([np.ones(SIZE), wave, pixel, np.linalg.solve(total, gated)])


def _best_gaussian(law: Law) -> float:
    """sqrt(2/pi)/sqrt(1 + least r), times the mean of the scale: the most of any field whose projection is Gaussian."""
    short, long = (np.fft.fft(stimulus.covariance()).real for stimulus in law.plain().stimuli)
    return float(np.sqrt(2 / np.pi) * np.exp(-(law.spread**2) / 2) / np.sqrt(1 + np.min(short / long)))


def _part(found: theory.Objective, index: np.ndarray) -> theory.Objective:
    return theory.Objective(**{name: array[index] for name, array in vars(found).items()})


def _fresh_loss(task: Task, fields: np.ndarray, samples: int, seed: int) -> np.ndarray:
    """Mean and standard error of (y - ReLU)^2 at the trained heights, classes in equal shares."""
    means, noises = np.zeros(len(fields)), np.zeros(len(fields))
    for label, stimulus in enumerate(task.stimuli):
        x = np.asarray(stimulus.sample(jax.random.fold_in(jax.random.key(seed), label), samples), float)
        squares = (label - np.maximum(x @ fields.T, 0)) ** 2
        means, noises = means + squares.mean(0) / 2, noises + squares.var(0) / samples / 4
    return np.stack([means, np.sqrt(noises)])


# What was measured ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """The small ring, and every law."""

    experiment: WhatANeuronMaximises
    ring: SmallRing
    found: tuple[Found, ...]

    # Claims -----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._identity(), self._maximum(), self._best(), self._scale(), self._criteria(), self._ascent()

    @property
    def _basis(self) -> str:
        it, kinds = self.experiment, len(STARTS)
        return f"{len(self.found)} laws, {kinds * it.seeds} neurons each, {it.steps} steps of {orbit(it.batch)}"

    def _identity(self) -> Claim:
        return IDENTITY.claim(
            "The loss of a trained ReLU neuron is 1/2 - J^2/4, J = C/sqrt(1 + r).",
            source=SOURCE,
            reported="derived",
            numbers=[Number("exact", self.ring.gap), largest("sampled", [f.gap.max() for f in self.found])],
            said=f"largest gap {{exact:.1e}} on a ring of {RING} spins where descent without noise ends, and "
            "{sampled:.1f} standard errors on sampled laws",
            basis=f"{self._basis}; {self.experiment.samples:,} fresh samples a class",
            expected=by_theory("holds", "the minimum of a parabola in the height"),
        )

    def _maximum(self) -> Claim:
        raised = np.concatenate([f.climbed - 1 for f in self.found])
        return MAXIMUM.claim(
            "Training ends at a local maximum of J.",
            source=SOURCE,
            reported="derived for the flow, which may rest at a saddle for long",
            numbers=[share("settled", raised < RAISED), Number("raised", raised.max())],
            said="true of {settled:.0%} of the trained fields; the largest gain of J behind a kick is {raised:.2%}",
            basis=f"{self._basis}; one field of each kind of start, J before and after on other samples",
            expected=self._sooner_or_later(),
            reasons={"holds in part": SADDLES},
        )

    def _best(self) -> Claim:
        least = [f.worth.value / f.candidates.value.max() for f in self.found]
        return BEST.claim(
            "No flat field, wave or single pixel has a higher J than the field that training ends at.",
            source=SOURCE,
            reported="not derived: a local maximum need not be the highest",
            numbers=[
                share("unbeaten", np.concatenate(least) >= 1 - SLACK),
                Number("least", np.concatenate(least).min()),
            ],
            said="true of {unbeaten:.0%} of the trained fields; the least ratio of J to the best candidate's is "
            "{least:.4f}",
            basis=self._basis,
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": f"{SADDLES} Where the flat field is the best, noise keeps neurons some tenths of a "
                "percent below it."
            },
        )

    def _scale(self) -> Claim:
        pairs = self._pairs()
        change = [abs(np.median(_counts(b)) / np.median(_counts(a)) - 1) for a, b in pairs]
        shown = "; ".join(
            f"{a.law}: {np.median(_counts(a)):.1f} at {a.excess:+.2f}, {np.median(_counts(b)):.1f} at {b.excess:+.2f}"
            for a, b in pairs
        )
        return SCALE.claim(
            "A random scale per sample turns the excess kurtosis from negative to positive and leaves the fields.",
            source=SOURCE,
            reported="derived: it multiplies J of every field by one number",
            numbers=[
                Number("before", max((a.excess for a, _ in pairs), default=None)),
                Number("after", min((b.excess for _, b in pairs), default=None)),
                largest("change", change),
            ],
            said=f"median N IPR and excess kurtosis, without and with the scale: {shown}; a change of "
            "{change:.1%} at most",
            basis=self._basis,
            expected=by_theory("holds", "f(w) is multiplied by the mean of the scale, the covariance stays"),
        )

    def _criteria(self) -> Claim:
        shares = [share(n, self._local(side)) for n, side in (("inside", "pixel wins"), ("outside", "flat is stable"))]
        shown = "; ".join(f"{side}: {self._by_start(side)}" for side in SIDES)
        return CRITERIA.claim(
            "Neurons become local where one pixel's gate guarantees more than any Gaussian field, and not where "
            "the flat field is stable.",
            source=SOURCE,
            reported="the first is a bound on J, the second Eq. 5 of the paper at the flat field",
            numbers=shares,
            said="localized: {inside:.0%} of the neurons where the pixel wins, {outside:.0%} where the flat field is "
            f"stable; by start ({', '.join(STARTS)}), {shown}",
            basis=self._basis,
            expected=self._sooner_or_later(),
            reasons={"holds in part": SADDLES},
        )

    def _ascent(self) -> Claim:
        won = [f.overlaps() for f in self.found if f.side == "pixel wins"]
        overlap = float(np.median(np.concatenate(won))) if won else None
        return ASCENT.claim(
            "The iteration w <- M^-1 f(w) never lowers J and ends where training ends.",
            source=SOURCE,
            reported="derived: the first for every law, the second for fixed points",
            numbers=[
                Number("fall", max(0.0, self.ring.fall(), *(f.fall for f in self.found))),
                Number("overlap", overlap),
                share("same", self.ring.same()),
            ],
            said="largest fall of J in a step {fall:.1e}; overlap with the trained fields {overlap:.3f} in the "
            f"median where the pixel wins; on the ring of {RING} spins {{same:.0%}} of the starts lead descent and "
            "iteration to one field",
            basis=f"{self._basis}; {ASCENT_SAMPLES:,} samples with their orbits behind each sampled ascent",
            expected=as_measured("holds"),
        )

    def _sooner_or_later(self) -> Expected:
        why = "the longer the training, the fewer are left at saddles"
        return by_preset(self.experiment, quick="holds in part", paper="holds", why=why)

    def _pairs(self) -> list[tuple[Found, Found]]:
        """Laws without and with a scale."""
        wide = [f for f in self.found if f.law.lengthscales == WIDE]
        return list(zip(wide[::2], wide[1::2], strict=True))

    def _local(self, side: str) -> np.ndarray:
        """Which neurons of the laws on one side are localized."""
        found = [np.asarray(localized(f.fields)) for f in self.found if f.side == side]
        return np.concatenate(found) if found else np.zeros(0, bool)

    def _by_start(self, side: str) -> str:
        which = self._local(side).reshape(-1, len(STARTS), self.experiment.seeds)
        return listed(which.mean((0, 2)), ".0%") if which.size else "no law"

    # Figures and text -------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("The landscape of J", ((self._landscape(NARROW), self._landscape(WIDE)), self._parts())),
            Figure("Localization, kurtosis and the two criteria", ((self._kurtosis(), self._climb()),)),
            Figure("Laws, criteria and trained neurons", ((self._table(),),)),
        )

    def _landscape(self, pair: tuple[float, float]) -> Lines:
        found = sorted((f for f in self.found if f.law.lengthscales == pair), key=lambda f: f.path[-1] / f.path[0])
        curves = {_short(f): f.path / f.path[0] for f in found[:: -(-len(found) // CURVES)]}
        title = f"from flat to local, ({pair[0]:g}, {pair[1]:g})"
        return Lines(title, _path(), curves, xlabel="share of the local field", ylabel="J/J(flat)")

    def _parts(self) -> tuple[Scatter, ...]:
        ends = sorted((f for f in self.found if f.law.lengthscales == NARROW), key=lambda f: f.excess)
        return tuple(_trade(f) for f in (ends[-1], ends[0]))

    def _kurtosis(self) -> Scatter:
        groups = {
            name: _by_kurtosis([f for f in self.found if test(f.law)])
            for name, test in {
                f"{NARROW}": lambda law: law.lengthscales == NARROW,
                f"{WIDE}": lambda law: law.lengthscales == WIDE and not law.spread,
                f"{WIDE}, random scale": lambda law: law.spread > 0,
            }.items()
        }
        return Scatter("N IPR of trained fields", groups, xlabel="excess kurtosis of a pixel", ylabel="N IPR")

    def _climb(self) -> Scatter:
        values, time = self.ring.iteration_value[:, 0], EXACT_RATE * np.arange(0, 81, 4)
        groups = {
            "iteration": (np.arange(len(values), dtype=float), values, None),
            "descent": (time, self.ring.descent_value[:81:4, 0], None),
        }
        return Scatter(f"{RING} spins, one start", groups, "steps, or time of the descent", "J", joined=True)

    def _table(self) -> Table:
        columns = ("law", "excess kurtosis", "J of the pixel's gate", "best J of a Gaussian", "rate at the flat field",
                   "criteria", *(f"localized, {s}" for s in STARTS), "J trained", "J flat")  # fmt: skip
        return Table("", columns, tuple(_row(f) for f in self.found))

    def text(self) -> str:
        inside, outside, between = (self._local(side) for side in ("pixel wins", "flat is stable", "between"))
        shares = [f"{which.mean():.0%}" if which.size else "none" for which in (inside, outside, between)]
        return (
            "The height of a ReLU's field can be chosen after its direction, and what is left of the loss is 1/2 - "
            "J^2/4 with J = C/sqrt(1 + r): Geary's ratio C = E|S|/sd(S) of the projection S of class 1, and the ratio "
            "r of the variances of the two classes. A neuron trades one against the other. Spread fields have the "
            "lowest r, and C of a Gaussian; on pixels near +-1 a local field has a higher C, which pays for its r. The "
            "kurtosis of a pixel does not decide: a random scale per sample changes it at will, multiplies every C by "
            f"one number and leaves the landscape. Localized neurons: {shares[0]} where one pixel's gate alone "
            f"guarantees more than every Gaussian field has, {shares[1]} where the flat field is stable under Eq. 5, "
            f"{shares[2]} between the two."
        )


def _counts(found: Found) -> np.ndarray:
    return np.asarray(concentration(found.fields), float)


def _short(found: Found) -> str:
    return str(found.law).rsplit(", (", 1)[0]


def _by_kurtosis(found: Sequence[Found]) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    counts = [_counts(f) for f in found]
    errors = np.array([n.std() / np.sqrt(len(n)) for n in counts])
    return np.array([f.excess for f in found]), np.array([np.median(n) for n in counts]), errors


def _trade(found: Found) -> Scatter:
    """C against r of the candidates and of the trained fields."""
    several = found.candidates
    groups = {name: (several.ratio[i : i + 1], several.geary[i : i + 1], None) for i, name in enumerate(CANDIDATES)}
    groups["trained"] = (found.worth.ratio, found.worth.geary, None)
    return Scatter(f"{_short(found)}", groups, xlabel="r, ratio of the variances", ylabel="C, Geary's ratio")


def _row(found: Found) -> tuple[str, ...]:
    local = np.asarray(localized(found.fields)).reshape(len(STARTS), -1).mean(1)
    numbers = (f"{found.excess:+.2f}", f"{found.gate:.4f}", f"{found.gaussian:.4f}", f"{found.growth:+.4f}", found.side)
    ends = f"{np.median(found.worth.value):.4f}", f"{found.candidates.value[0]:.4f}"
    return (str(found.law), *numbers, *(f"{value:.0%}" for value in local), *ends)
