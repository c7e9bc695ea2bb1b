"""Proposition 3.3 beyond its figure: its condition, all steady states, and what it is said to reveal.

On elliptical data the amplifier is linear: dw/dt = (C/2) S1 w/sqrt(w S1 w) - (S0 + S1) w/2 whatever the law, and C only
scales the fields. So steady states are looked for as roots of the right-hand side, stable or not.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np
import scipy

from ..._math import dense_circulant
from ..._progress import Update
from ...analysis import concentration, localized
from ...outcome import Claim, Fields, Figure, Lines, Number, Points, Rule, Scatter, as_measured, by_theory
from ...spec import Setting
from ...stimuli import NLGP, AbstractStimulus, Elliptical, RadialStudentT, Shell, Surface, Task, Window
from ...theory.steady import mode_fixed_points
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.neuron import neuron, orbit
from ..toolkit.populations import Population, share
from ..toolkit.seeds import seed_from, seeds_from
from ..toolkit.single_neurons import final_fields
from ..toolkit.sources import PAPER
from ..toolkit.tasks import NARROW, SIZE, WIDE, binary, nlgp
from ..toolkit.train import train
from ..toolkit.words import listed, or_infinite

DF = 5.0
"""Degrees of freedom of a Student t whose kurtosis is finite."""
FIGURE_DF = 3.0
"""Of that in figure 4."""
TORUS = (30, 30)
"""Of figure 1, with its lengthscales."""
TORUS_LENGTHSCALES = (1.0, 2.0)
RINGS = ((SIZE, WIDE), (SIZE, NARROW), (SIZE, TORUS_LENGTHSCALES), (100, NARROW))
"""Sizes and lengthscales of the paper's tasks on rings."""
SAME = 1e-6
"""Ratios that differ by less, relatively, are one: the eigenvalues have that many digits."""
SHARP = 100.0
"""The gain of the data whose ends are opened."""
LONGER = 60
"""Pixels of the ring that a row with open ends is cut from."""
PLAIN, PLAIN_STEPS = 500, 1500
"""Samples a step, and steps, where there are no shifts to average over."""
BATCHES = 20
"""Of samples, for the error of a kurtosis."""

WAVES = Rule(
    "of every steady state found, all but {tiny:g} of the squared weights is at one frequency, and not so of some "
    "where all ratios are the same, which the condition forbids; in part: the former",
    lambda n, t: n.impure < t.tiny < n.free,
    partly=lambda n, t: n.impure < t.tiny,
    thresholds={"tiny": 1e-6},
    holds={"impure": 1e-12, "free": 0.8, "found": 90},
    part={"impure": 1e-12, "free": 1e-12, "found": 90},
    fails={"impure": 0.3, "free": 0.8, "found": 90},
)
PRACTICE = Rule(
    "in the tasks on rings and in that on a torus no ratio of eigenvalues occurs more than twice; in part: on rings",
    lambda n, _: max(n.ring, n.torus) <= 2,
    partly=lambda n, _: n.ring <= 2,
    holds={"ring": 2, "torus": 2},
    part={"ring": 2, "torus": 8},
    fails={"ring": 4, "torus": 8},
)
MEASURE = Rule(
    "some field that is not localized has a larger size of the excess kurtosis than every localized one, and some has "
    "a lower excess kurtosis than some localized one; in part: one of the two",
    lambda n, _: n.flat_size > n.local_size and n.flat_lowest < n.local_highest,
    partly=lambda n, _: n.flat_size > n.local_size or n.flat_lowest < n.local_highest,
    holds={"flat_size": 6.0, "local_size": 1.9, "flat_lowest": -0.14, "local_highest": -0.1},
    part={"flat_size": 6.0, "local_size": 1.9, "flat_lowest": -0.14, "local_highest": -0.4},
    fails={"flat_size": 0.1, "local_size": 1.9, "flat_lowest": -0.14, "local_highest": -0.4},
)
SYMMETRY = Rule(
    "no field on elliptical data is localized, and opening the ends of the ring changes the share of localized fields "
    "by more than making the data elliptical; in part: the former",
    lambda n, _: n.ring_elliptical == 0 and abs(n.ring - n.open) > n.ring - n.ring_elliptical,
    partly=lambda n, _: n.ring_elliptical == 0,
    holds={"ring": 0.4, "open": 0.95, "ring_elliptical": 0, "open_elliptical": 0},
    part={"ring": 1.0, "open": 0.9, "ring_elliptical": 0, "open_elliptical": 0},
    fails={"ring": 1.0, "open": 0.9, "ring_elliptical": 1, "open_elliptical": 1},
)


@dataclass(frozen=True)
class EllipticalData(AbstractExperiment):
    """What do steady states on elliptical data look like, does their condition hold, and what follows for symmetry?"""

    name: ClassVar[str] = "elliptical"
    title: ClassVar[str] = "Elliptical data and symmetry"
    cost: ClassVar[float] = 15.0

    starts: Annotated[int, Setting("fields from which steady states are looked for", kind=int, ge=4)] = 60
    gains: Annotated[tuple[float, ...], Setting("gains of NLGP that are trained on", gt=0, many=(1, None))] = (
        0.01, 0.3, 100.0,
    )  # fmt: skip
    seeds: Annotated[int, Setting("neurons a setting", kind=int, ge=1)] = 4
    steps: Annotated[int, Setting("steps of training", kind=int, ge=1)] = 3000
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=1)] = 16
    rate: Annotated[float, Setting("learning rate", gt=0)] = 0.1
    samples: Annotated[int, Setting("samples that a kurtosis is taken of", kind=int, ge=1000)] = 40_000

    @classmethod
    def paper(cls) -> "EllipticalData":
        return cls(starts=300, gains=(0.01, 0.1, 0.3, 0.5, 1.0, 3.0, 100.0), seeds=10, steps=6000, batch=64,
                   samples=200_000)  # fmt: skip

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Steady states, ratios of eigenvalues, trained neurons with their preactivations, and open ends."""
        s0, s1 = (dense_circulant(Elliptical(SIZE, one, Surface()).covariance()) for one in WIDE)
        fields = _starting(self.starts, jax.random.fold_in(key, 0))
        roots, free = _steady_states(s0, s1, fields), _steady_states(s1 / 2, s1, fields)
        progress(0.2)
        trained = self._trained(jax.random.fold_in(key, 1))
        progress(0.7)
        opened = self._opened(jax.random.fold_in(key, 2))
        return Measured(self, roots, free, _ratios(), trained, opened, _open_wave())

    def _trained(self, key: Any) -> "tuple[Trained, ...]":
        cases = [(gain, lengthscales) for lengthscales in (NARROW, WIDE) for gain in self.gains]
        tasks = [nlgp(gain, lengthscales) for gain, lengthscales in cases]
        options = {"seeds": self.seeds, "steps": self.steps, "batch": self.batch, "rate": self.rate}
        ends = final_fields(tasks, key, stream="independent", **options)
        probes = (jax.random.fold_in(key, i) for i in range(len(cases)))
        return tuple(
            Trained(gain, lengthscales, fields, _preactivation(task.stimuli[1], fields, probe, self.samples))
            for (gain, lengthscales), task, fields, probe in zip(cases, tasks, ends, probes, strict=True)
        )

    def _opened(self, key: Any) -> np.ndarray:
        """Where neurons end on rows with open ends, (seed, pixel)."""
        task = binary(*(Window(NLGP(LONGER, one, SHARP), SIZE) for one in WIDE))
        run = train(
            task, neuron(), steps=PLAIN_STEPS, batch=PLAIN, rate=self.rate, seeds=seeds_from(key, 2 * self.seeds),
            data_seed=seed_from(key), estimator="antithetic", save_every=PLAIN_STEPS,
        )  # fmt: skip
        return np.asarray(run.final[:, 0], float)


# Steady states --------------------------------------------------------------------------------------------------------


def _starting(count: int, key: Any) -> np.ndarray:
    """Where roots are looked for: half of the fields are random, half are bumps of random widths with noise."""
    noise = np.asarray(jax.random.normal(key, (count, SIZE)))
    widths = np.asarray(jax.random.uniform(jax.random.fold_in(key, 1), (count, 1), minval=0.3, maxval=6.0))
    bumps = np.exp(-(((np.arange(SIZE) - SIZE / 2) / widths) ** 2)) + 0.05 * noise
    fields = np.where(np.arange(count)[:, None] % 2, bumps, noise)
    return 0.3 * fields / np.linalg.norm(fields, axis=1, keepdims=True)


def _steady_states(s0: np.ndarray, s1: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Fields at which the flow rests, (found, pixel), by Newton-like steps from every start; some end nowhere."""
    half, mean = _constant() / 2, (s0 + s1) / 2

    def flow(w: np.ndarray) -> np.ndarray:
        return half * s1 @ w / np.sqrt(w @ s1 @ w) - mean @ w

    def slope(w: np.ndarray) -> np.ndarray:
        image, norm = s1 @ w, np.sqrt(w @ s1 @ w)
        return half * (s1 / norm - np.outer(image, image) / norm**3) - mean

    ends = [scipy.optimize.root(flow, start, jac=slope, method="lm", options={"xtol": 1e-14}).x for start in starts]
    return np.array([w for w in ends if np.linalg.norm(w) > 1e-3 and np.linalg.norm(flow(w)) < 1e-11]).reshape(-1, SIZE)


def _constant() -> float:
    """C of the law whose preactivation is compared; it scales all steady states and does nothing else."""
    return Elliptical(SIZE, WIDE[1], RadialStudentT(DF)).elliptical_constant()


def _by_frequency(fields: np.ndarray) -> np.ndarray:
    """The share of the squared weights at every frequency from 0, (field, frequency)."""
    power = np.abs(np.fft.rfft(fields)) ** 2
    power[:, 1 : (SIZE + 1) // 2] *= 2
    return power / power.sum(1, keepdims=True)


def _impurity(fields: np.ndarray) -> np.ndarray:
    """The share of the squared weights outside of the strongest frequency, summed without the strongest."""
    shares = np.sort(_by_frequency(fields), axis=1)
    return shares[:, :-1].sum(1)


@dataclass(frozen=True)
class Ratios:
    """lambda(S0)/lambda(S1) of a task by frequency, and how many eigenvalues have each."""

    name: str
    ratio: np.ndarray
    multiplicity: np.ndarray

    def _runs(self) -> tuple[np.ndarray, np.ndarray]:
        """Ratios in increasing order, and the number of the group of equal ones that each belongs to."""
        order = np.argsort(self.ratio)
        apart = np.diff(self.ratio[order]) > SAME * self.ratio[order][1:]
        return order, np.concatenate([[0], np.cumsum(apart)])

    @property
    def most(self) -> int:
        """The largest number of eigenvalues that share a ratio."""
        order, group = self._runs()
        return int(np.bincount(group, self.multiplicity[order]).max())

    @property
    def gap(self) -> float:
        """The least relative distance of two ratios that differ."""
        order, _ = self._runs()
        gaps = np.diff(self.ratio[order]) / self.ratio[order][1:]
        return float(gaps[gaps > SAME].min())


def _ratios() -> tuple[Ratios, ...]:
    """Of the tasks on rings, and last of that on a torus."""
    return tuple(_ratio(size, lengthscales) for size, lengthscales in (*RINGS, (TORUS, TORUS_LENGTHSCALES)))


def _ratio(size: int | tuple[int, int], lengthscales: tuple[float, ...]) -> Ratios:
    points = mode_fixed_points(Task([Elliptical(size, one, Surface()) for one in lengthscales], [0, 1]))
    assert points.ratio is not None
    known = np.isfinite(points.ratio)
    pixels = f"{size}" if isinstance(size, int) else " x ".join(map(str, size))
    name = f"{pixels} pixels, {lengthscales[0]:g} and {lengthscales[1]:g}"
    return Ratios(name, points.ratio[known], points.multiplicity[known])


# Preactivations and open ends -----------------------------------------------------------------------------------------


def _preactivation(stimulus: AbstractStimulus, fields: np.ndarray, key: Any, samples: int) -> np.ndarray:
    """The excess kurtosis of <w, X> of every field, with its standard error: (2, field)."""
    x = np.asarray(stimulus.sample(key, samples), float)
    h = (fields @ x.T).reshape(len(fields), BATCHES, -1)
    second, fourth = (h**2).mean(-1), (h**4).mean(-1)  # of both signs alike, so that the mean is 0
    parts = fourth / second**2 - 3
    whole = fourth.mean(1) / second.mean(1) ** 2 - 3
    return np.stack([whole, parts.std(1, ddof=1) / np.sqrt(BATCHES)])


def _open_wave() -> np.ndarray:
    """The stable steady state on elliptical data with open ends: the field of least w S0 w/w S1 w."""
    s0, s1 = (Window(Elliptical(LONGER, one, Surface()), SIZE).covariance_matrix() for one in WIDE)
    _, fields = scipy.linalg.eigh(s0, s0 + s1)
    return fields[:, 0]


@dataclass(frozen=True, eq=False)
class Trained(Population):
    """Neurons on NLGP data: fields (seed, pixel), and the excess kurtosis of their preactivation with its error."""

    gain: float
    lengthscales: tuple[float, ...]
    fields: np.ndarray
    excess: np.ndarray


# What was measured ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Steady states with and without the condition, ratios by task, trained neurons, and fields with open ends."""

    experiment: EllipticalData
    roots: np.ndarray
    free: np.ndarray
    ratios: tuple[Ratios, ...]
    trained: tuple[Trained, ...]
    opened: np.ndarray
    open_wave: np.ndarray

    @property
    def elliptical(self) -> dict[str, float]:
        """The excess kurtosis of <w, X> on elliptical data: that of a pixel, for every w."""
        students = {f"Student t({df:g})": RadialStudentT(df) for df in (DF, FIGURE_DF)}
        laws = {"surface": Surface(), "shell": Shell(), **students}
        return {name: law.marginal(SIZE).excess_kurtosis() for name, law in laws.items()}

    def _all(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Excess, standard error and whether localized, of all trained neurons."""
        excess, error = np.concatenate([case.excess for case in self.trained], axis=1)
        return excess, error, np.concatenate([case.local for case in self.trained])

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._waves(), self._practice(), self._measure(), self._symmetry()

    def _waves(self) -> Claim:
        found, free = len(self.roots), len(self.free)
        frequencies = np.unique(_by_frequency(self.roots).argmax(1)) if found else []
        return WAVES.claim(
            "On elliptical data steady states are sinusoids if each ratio of eigenvalues occurs at most twice, which "
            "constrains the number of Fourier components.",
            source=f"{PAPER}, proposition 3.3 and section 3.3",
            reported="a proof",
            numbers=[
                Number("impure", _impurity(self.roots).max() if found else None),
                Number("free", _impurity(self.free).max() if free else None),
                Number("found", found, unit="steady states"),
            ],
            said="{found} steady states found, at frequencies "
            f"{listed(frequencies)}, with at most {{impure:.0e}} of the squared weights elsewhere and "
            f"{_local(self.roots)} localized; with S0 = S1/2, where all ratios are the same, up to {{free:.0%}} is "
            f"elsewhere and {_local(self.free)} of {free} are localized",
            basis=f"roots of the flow from {self.experiment.starts} fields, {SIZE} pixels, lengthscales "
            f"{WIDE[0]:g} and {WIDE[1]:g}; no samples",
            expected=by_theory("holds", "in Fourier space the flow rests only on modes that share one ratio"),
            reasons={
                "holds": "The constant C only scales them (erratum B-06), and most are unstable, on which the "
                "proposition is silent (erratum B-09)."
            },
        )

    def _practice(self) -> Claim:
        *rings, torus = self.ratios
        return PRACTICE.claim(
            "The condition on the ratios seems to always hold in practice.",
            source=f"{PAPER}, section 3.3",
            reported="no measurement",
            numbers=[
                Number("ring", max(one.most for one in rings), unit="eigenvalues"),
                Number("torus", torus.most, unit="eigenvalues"),
                Number("gap", min(one.gap for one in rings)),
            ],
            said="most eigenvalues that share a ratio: {ring} on rings ("
            + "; ".join(one.name for one in rings)
            + f"), {{torus}} on the torus of figure 1 ({torus.name}); the least relative distance of two ratios on a "
            "ring is {gap:.1e}",
            basis="eigenvalues, no samples",
            expected=by_theory("holds in part", "on a torus (k, l), (l, k) and their mirror images have one ratio"),
            reasons={
                "holds in part": "On a torus axes can be exchanged and turned round, so that up to eight modes share a "
                "ratio: steady states are then sums of waves, still not localized."
            },
        )

    def _measure(self) -> Claim:
        excess, error, local = self._all()
        every = {name: or_infinite(value, "+.2f") for name, value in self.elliptical.items()}
        flat = [value for value in self.elliptical.values() if np.isfinite(value)]
        size, top = (max(values, default=None) for values in (np.abs(excess[local]), excess[local]))
        errors = dict(zip(excess, error, strict=True))
        ranges = f"{excess[local].min():.2f} to {excess[local].max():.2f}" if local.any() else "none"
        return MEASURE.claim(
            "The kurtosis of the preactivation is not an appropriate metric for explaining localization.",
            source=f"{PAPER}, section 3.3",
            reported="the Student t, whose preactivation has any kurtosis and whose fields are waves",
            numbers=[
                Number("flat_size", max(map(abs, flat))),
                Number("local_size", size, None if size is None else errors.get(-size, errors.get(size))),
                Number("flat_lowest", min(flat)),
                Number("local_highest", top, None if top is None else errors[top]),
            ],
            said="excess kurtosis of the preactivation on elliptical data, where no field is localized: "
            + ", ".join(f"{name} {value}" for name, value in every.items())
            + f", the same for every field; of {int(local.sum())} localized neurons on NLGP data: {ranges}",
            basis=f"closed forms; {len(local)} neurons on {len(self.trained)} NLGP tasks, {self.experiment.steps:,} "
            f"steps of {orbit(self.experiment.batch)}, {self.experiment.samples:,} samples for each kurtosis",
            expected=as_measured("holds"),
            reasons={
                "holds in part": "Its size does not tell localized fields from others; on these data its sign and size "
                "together would."
            },
        )

    def _symmetry(self) -> Claim:
        ring = next((case for case in self.trained if (case.gain, case.lengthscales) == (SHARP, WIDE)), None)
        local = np.zeros(0, bool) if ring is None else ring.local
        numbers = [
            share("ring", local),
            share("open", np.asarray(localized(self.opened))),
            Number("ring_elliptical", int(localized(np.ones(SIZE)))),
            Number("open_elliptical", int(localized(self.open_wave))),
        ]
        return SYMMETRY.claim(
            "Elliptical symmetry does not lead to localized fields; translational symmetry is more relevant for them.",
            source=f"{PAPER}, section 3.3",
            reported="read off proposition 3.3",
            numbers=numbers,
            said=f"localized of the neurons on NLGP({SHARP:g}) data: {{ring:.0%}} on a ring, {{open:.0%}} on rows with "
            "open ends; the stable field on elliptical data of the same lengthscales is the constant on a ring, and "
            f"with open ends one of n IPR {float(concentration(self.open_wave)):.2f}: localized {{ring_elliptical}} "
            "and {open_elliptical} times",
            basis=f"{local.size} neurons after {self.experiment.steps:,} steps of {orbit(self.experiment.batch)}, "
            f"{len(self.opened)} after {PLAIN_STEPS:,} steps of {PLAIN} samples with both signs; closed forms for the "
            "elliptical data",
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "Elliptical symmetry forbids localized fields, which is as relevant as can be; open "
                "ends change little."
            },
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        return self._steady(), self._kurtoses(), self._ends()

    def _steady(self) -> Figure:
        shown = [_distinct(fields) for fields in (self.roots, self.free)]
        titles = ("with the condition", "all ratios the same")
        fields = tuple(Fields(title, some) for title, some in zip(titles, shown, strict=True))
        rings = [one for one in self.ratios if one.ratio.size == SIZE // 2 + 1]
        curves = {one.name: np.sort(one.ratio) for one in rings}
        ratio = Lines("ratio by frequency", np.arange(SIZE // 2 + 1.0), curves, xlabel="cycles", logy=True)
        caption = (
            "Steady states found from random fields and from bumps, one of each frequency at the left. Right: "
            "lambda(S0)/lambda(S1), which is different for every frequency on these rings."
        )
        return Figure("Steady states on elliptical data", ((*fields, ratio),), caption=caption)

    def _kurtoses(self) -> Figure:
        groups: dict[str, Points] = {}
        for lengthscales in (NARROW, WIDE):
            cases = [case for case in self.trained if case.lengthscales == lengthscales]
            excess, error = np.concatenate([case.excess for case in cases], axis=1)
            sharp = np.concatenate([np.asarray(concentration(case.fields)) for case in cases])
            groups[f"NLGP, {lengthscales[0]:g} and {lengthscales[1]:g}"] = (sharp, excess, error)
        values = np.array([value for value in self.elliptical.values() if np.isfinite(value)])
        groups["elliptical, constant field"] = (np.ones_like(values), values, None)
        panel = Scatter("preactivation", groups, "n IPR of the field", "excess kurtosis")
        return Figure("Localized fields and the kurtosis of their preactivation", ((panel,),))

    def _ends(self) -> Figure:
        ring = [case.fields for case in self.trained if (case.gain, case.lengthscales) == (SHARP, WIDE)]
        row = (
            Fields("ring", ring[0][:4] if ring else np.zeros((1, SIZE))),
            Fields("open ends", self.opened[:4]),
            Fields("ring, elliptical", np.ones((1, SIZE)) / np.sqrt(SIZE)),
            Fields("open ends, elliptical", self.open_wave[None] / np.linalg.norm(self.open_wave)),
        )
        return Figure("Translational and elliptical symmetry", (row,), caption=f"Left two: NLGP({SHARP:g}), trained.")

    def text(self) -> str:
        excess, _, local = self._all()
        torus = self.ratios[-1]
        elliptical = ", ".join(f"{name} {or_infinite(value, '+.2f')}" for name, value in self.elliptical.items())
        return (
            "On elliptical data the pull on a field is linear in S1 w, so that it can rest only on Fourier modes which "
            f"share one ratio of eigenvalues. Looked for from {self.experiment.starts} fields, half of them bumps, "
            f"{len(self.roots)} steady states were found, of which {_local(self.roots)} are localized. "
            f"Where the condition is broken altogether, {_local(self.free)} of {len(self.free)} are. The "
            f"condition holds on the paper's rings; on its torus {torus.most} modes share a ratio. The paper concludes "
            f"that the kurtosis of the preactivation does not explain localization: elliptical data have {elliptical} "
            f"for every field, localized or not, and {int(local.sum())} of {len(local)} neurons trained on NLGP data "
            f"are localized, with values from {excess.min():+.2f} to {excess.max():+.2f} over all of them."
        )


def _local(fields: np.ndarray) -> int:
    """How many fields, of none or more, are localized."""
    return int(localized(fields).sum()) if len(fields) else 0


def _distinct(fields: np.ndarray, count: int = 6) -> np.ndarray:
    """One field of each strongest frequency, a few of them."""
    if not len(fields):
        return np.zeros((1, SIZE))
    _, first = np.unique(_by_frequency(fields).argmax(1), return_index=True)
    return fields[first[:count]]
