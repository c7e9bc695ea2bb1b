"""How the flat field gives way: the normal form of its threshold, the fold where it jumps, and the same in training."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy

from ... import theory
from ..._progress import Update
from ...analysis import ipr
from ...outcome import Claim, Figure, Heatmap, Number, Rule, Scatter, as_measured, by_theory, finite
from ...spec import Setting
from ...stimuli import Task
from ...theory.steady import Branch, NormalForm
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.neuron import neuron, orbit
from ..toolkit.seeds import seed_from
from ..toolkit.sources import DERIVED
from ..toolkit.tasks import NARROW, SIZE, WIDE, kur, nlgp
from ..toolkit.train import train

NEAR = 1e-3
"""Relative distance from a threshold at which the wave's height is compared with its normal form."""
BEYOND = 0.0008
"""The same on the side of a jump, where the window is narrow."""
BETWEEN = (1e-4, 4e-4, 8e-4, 1.2e-3, 1.6e-3)
"""The same for the unstable waves between the flat field and the local one."""
UNLIKE_FLAT = 1.001
"""N IPR from which a state is another than the flat one."""
BRANCH = (0.38, 0.1, 0.02, 0.0, -0.004, -0.008, -0.011, -0.0125, -0.0135)
"""Exponents along the local branch, less the threshold."""
SIDES = (40, 60, 100)
"""Pixels of the rings on which the lengthscales of most figures turn from a continuous onset to a jump."""
SHORT, RATIO = (0.3, 1.4), (1.3, 3.0)
"""The plane of lengthscales: the shorter one, and the longer one in units of it."""
BRACKET = (5.2, 6.4)
"""Exponents between which every threshold lies."""
RIPPLE = 0.3
"""Of the wave on the flat field with which training starts from near it."""
PEAK = 0.4
"""The weight of the single pixel with which training starts from the local side."""
LOST = 0.1
"""Share of its N IPR that a local field may lose over the second half of training and still count as one that stays."""
FLAT, LOCAL = 1.5, 2.0
"""N IPR below which a field is nearly flat (a wave of the flat field's own height has 2.2) and above which not."""

SQUARE_ROOT = Rule(
    "just beyond a continuous threshold the wave's height is that of the normal form within {error:.0%}, for NLGP and "
    "for Kur",
    lambda n, t: n.worst < t.error,
    thresholds={"error": 0.05},
    holds={"worst": 0.02},
    fails={"worst": 0.4},
)
FOLD = Rule(
    "the cubic coefficient of Kur at (.3, .7) is positive; beyond the threshold a local state is stable and the wave "
    "of the normal form, unstable, is found within {error:.0%} of its height; in part if only the states are there",
    lambda n, t: n.cubic > 0 and n.window > 0 and n.unstable == 1 and n.miss < t.error,
    partly=lambda n, _: n.window > 0 and n.unstable == 1,
    thresholds={"error": 0.1},
    holds={"cubic": 3e-4, "window": 0.013, "unstable": 1, "miss": 0.01},
    part={"cubic": -3e-4, "window": 0.013, "unstable": 1, "miss": 0.5},
    fails={"cubic": 3e-4, "window": 0.0, "unstable": 0, "miss": 0.5},
)
TRICRITICAL = Rule(
    "for Kur the cubic coefficient has both signs over the plane of lengthscales and over the sizes of the ring, for "
    "NLGP it is negative at every size",
    lambda n, _: n.least < 0 < n.most and n.least_of_sizes < 0 < n.most_of_sizes and n.nlgp < 0,
    partly=lambda n, _: n.least < 0 < n.most or n.least_of_sizes < 0 < n.most_of_sizes,
    holds={"least": -0.01, "most": 3e-4, "least_of_sizes": -0.01, "most_of_sizes": 0.003, "nlgp": -1e-4},
    part={"least": -0.01, "most": 3e-4, "least_of_sizes": 0.001, "most_of_sizes": 0.003, "nlgp": -1e-4},
    fails={"least": -0.01, "most": -3e-4, "least_of_sizes": 0.001, "most_of_sizes": 0.003, "nlgp": -1e-4},
)
HYSTERESIS = Rule(
    "at some exponent, over the second half of training, the wave on the flat field falls in every run from near it, "
    "to less than {flat:g} times the flat field's IPR, and every run from a single pixel keeps more than {local:g} "
    "times it and loses less than {lost:.0%}; in part if so of the medians",
    lambda n, _: n.both > 0,
    partly=lambda n, _: n.medians > 0,
    holds={"both": 1, "medians": 1},
    part={"both": 0, "medians": 2},
    fails={"both": 0, "medians": 0},
)


@dataclass(frozen=True)
class Fold(AbstractExperiment):
    """When does the flat field give way with a jump, and does the start then decide in training too?"""

    name: ClassVar[str] = "fold"
    title: ClassVar[str] = "Jumps at the flat field's threshold"
    cost: ClassVar[float] = 20.0

    plane: Annotated[int, Setting("lengthscales along each side of the plane", kind=int, ge=2, le=30)] = 2
    seeds: Annotated[int, Setting("networks from each start at every exponent", kind=int, ge=1, le=100)] = 2
    exponents: Annotated[
        tuple[float, ...], Setting("k of Kur at which networks are trained", gt=4, le=100, many=(1, None))
    ] = (5.6, 5.81, 6.2, 6.6)
    steps: Annotated[int, Setting("steps of training", kind=int, ge=20)] = 3_000
    rate: Annotated[float, Setting("learning rate", gt=0, le=1)] = 0.2
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, le=100_000, even=True)] = 64

    @classmethod
    def paper(cls) -> "Fold":
        return cls(plane=6, seeds=4, exponents=(5.6, 5.7, 5.81, 6.0, 6.2, 6.4, 6.6), steps=8_000, batch=128)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Normal forms over sizes and lengthscales, steady states near two thresholds, training from two starts."""
        continuous = (_beside("NLGP (1, 3)", nlgp, _gain(SIZE)), _beside("Kur (1, 3)", kur, _k(WIDE)))
        window = _window()
        progress(0.3)
        sizes = {"Kur": _cubics(kur, BRACKET), "NLGP": _cubics(nlgp, (1e-2, 0.5))}
        lengths = np.geomspace(*SHORT, self.plane), np.geomspace(*RATIO, self.plane)
        cubics = np.array([[_cubic(kur, (a, a * b), SIZE, BRACKET) for a in lengths[0]] for b in lengths[1]])
        progress(0.6)
        return Measured(self, continuous, window, sizes, cubics, self._trained(seed_from(key)))

    def _trained(self, seed: int) -> np.ndarray:
        """N IPR at the middle and the end of training, (time, exponent, start, seed)."""
        wave = np.cos(2 * np.pi * np.arange(SIZE) / SIZE)
        tasks = [kur(k, NARROW) for k in self.exponents]
        near = theory.steady.flat_height(tasks[0]) * (1 + RIPPLE * wave)
        start = np.stack([near, PEAK * (np.arange(SIZE) == 0)]).repeat(self.seeds, 0)
        run = train(
            tasks, neuron(), steps=self.steps, batch=self.batch, rate=self.rate, seeds=2 * self.seeds, init=start,
            data_seed=seed, estimator="orbit", stream="independent", save_every=max(self.steps // 2, 1),
        )  # fmt: skip
        late = SIZE * ipr(run.weights[..., -2:, 0, :])
        return np.moveaxis(late, -1, 0).reshape(2, len(tasks), 2, self.seeds)


# Steady states --------------------------------------------------------------------------------------------------------


def _gain(size: int) -> float:
    return theory.critical_gain(*WIDE, size)


def _k(lengthscales: tuple[float, float]) -> float:
    return theory.critical_k(*lengthscales, SIZE, low=BRACKET[0], high=BRACKET[1])


@dataclass(frozen=True)
class Beside:
    """A threshold, the normal form a little beyond it, and the height of the wave that was found there."""

    name: str
    critical: float
    form: NormalForm
    found: float
    unstable: int

    @property
    def miss(self) -> float:
        """Of the normal form's height, relative to what was found."""
        return abs(self.form.amplitude / self.found - 1) if self.found else np.inf


def _beside(name: str, tasks: Any, critical: float, step: float = NEAR) -> Beside:
    """The state near the wave that the normal form predicts."""
    task = tasks(critical * (1 + step))
    form = theory.steady.normal_form(task, 1)
    wave = np.cos(2 * np.pi * np.arange(SIZE) / SIZE)
    height = form.amplitude if np.isfinite(form.amplitude) else 0.1
    state = theory.steady.steady_state(task, form.height * (1 + height * wave))
    return Beside(
        name, critical, form, float(2 * abs(np.fft.rfft(state.field)[1]) / SIZE / form.height), state.unstable
    )


@dataclass(frozen=True)
class Window:
    """Kur at the narrow lengthscales: the unstable wave, the local branch, and the unstable one between them."""

    wave: Beside
    local: Branch
    between: np.ndarray
    """(state, 2): exponents and IPRs."""

    @property
    def last(self) -> float:
        """The least exponent with a stable local state."""
        stable = self.local.stable & (self.local.ipr * SIZE > UNLIKE_FLAT)
        return float(self.local.value[stable].min()) if stable.any() else np.nan


def _window() -> Window:
    critical = _k(NARROW)
    tasks = partial(kur, lengthscales=NARROW)
    apart = np.minimum(np.arange(SIZE), SIZE - np.arange(SIZE))
    wave = _beside("Kur (.3, .7)", tasks, critical, -BEYOND)
    local = theory.steady.continue_branch(tasks, critical + np.array(BRANCH), 0.3 * np.exp(-(apart**2.0)))
    return Window(wave, local, np.array(_between(tasks, critical)).reshape(-1, 2))


def _between(tasks: Callable[[float], Task], critical: float) -> list[tuple[float, float]]:
    """(exponent, IPR) of the unstable waves between the flat and the local states, each sought by its normal form."""
    x = 2 * np.pi * np.arange(SIZE) / SIZE
    found = []
    for step in BETWEEN:
        task = tasks(critical * (1 - step))
        form = theory.steady.normal_form(task, 1)
        square = form.amplitude**2
        shape = 1 + form.mean * square + form.amplitude * np.cos(x) + form.harmonic * square * np.cos(2 * x)
        state = theory.steady.steady_state(task, form.height * shape)
        if state.unstable == 1 and state.ipr * SIZE > UNLIKE_FLAT:
            found.append((critical * (1 - step), state.ipr))
    return found


def _cubics(tasks: Any, bracket: tuple[float, float]) -> np.ndarray:
    return np.array([_cubic(tasks, WIDE, size, bracket) for size in SIDES])


def _cubic(tasks: Any, lengthscales: tuple[float, float], size: int, bracket: tuple[float, float]) -> float:
    """The cubic coefficient of one wave round the ring, at the threshold."""

    def at(value: float) -> Task:
        return tasks(value, lengthscales, size)

    def fastest(value: float) -> float:
        return float(theory.flat_growth_rates(at(value))[1])

    found: Any = scipy.optimize.brentq(fastest, *bracket, xtol=1e-4)
    return theory.steady.normal_form(at(found), 1).cubic


# What was measured ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Normal forms, steady states and training.

    ``sizes``: cubic coefficients at the thresholds of rings of ``SIDES`` pixels, by law. ``cubics`` (ratio of the
    lengthscales, shorter one): those of Kur over the plane. ``trained`` (middle and end, exponent, start, seed): N IPR.
    """

    experiment: Fold
    continuous: tuple[Beside, ...]
    window: Window
    sizes: dict[str, np.ndarray]
    cubics: np.ndarray
    trained: np.ndarray

    # Numbers ----------------------------------------------------------------------------------------------------------

    @property
    def turns(self) -> float:
        """The number of pixels at which Kur's coefficient changes its sign, between two sizes; NaN if it does not."""
        values = self.sizes["Kur"]
        at = np.flatnonzero(np.diff(np.sign(values)))
        if not at.size:
            return np.nan
        i = int(at[0])
        share = values[i] / (values[i] - values[i + 1])
        return float(SIDES[i] + share * (SIDES[i + 1] - SIDES[i]))

    def both(self, pick: bool = True) -> int:
        """At how many exponents near-flat runs fall back and local ones stay: all of them, or else their medians."""
        near, single = self.trained[:, :, 0], self.trained[:, :, 1]
        if not pick:
            near, single = (np.median(runs, axis=-1, keepdims=True) for runs in (near, single))
        back = (near[1] < near[0]) & (near[1] < FLAT)
        stays = (single[1] > LOCAL) & (single[1] > (1 - LOST) * single[0])
        return int(np.sum(back.all(-1) & stays.all(-1)))

    # Claims -----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._square_root(), self._fold(), self._tricritical(), self._hysteresis()

    def _square_root(self) -> Claim:
        return SQUARE_ROOT.claim(
            "Where the cubic coefficient is negative, the wave beyond the threshold has the height sqrt(-rate/cubic).",
            source=f"{DERIVED}, onset",
            reported="the normal form, in closed form",
            numbers=[Number("worst", max(one.miss if one.unstable == 0 else 1.0 for one in self.continuous))],
            said="; ".join(
                f"{one.name}: {one.found:.4f} of the flat field's height, normal form {one.form.amplitude:.4f}"
                for one in self.continuous
            )
            + "; at most {worst:.1%} off",
            basis=f"steady states {NEAR:.1%} beyond the thresholds on {SIZE} pixels, no samples",
            expected=by_theory("holds", "the normal form is exact at the threshold"),
        )

    def _fold(self) -> Claim:
        wave, last = self.window.wave, self.window.last
        return FOLD.claim(
            "Where it is positive, the flat field gives way with a jump, and both it and a local field are stable over "
            "a window.",
            source=f"{DERIVED}, onset",
            reported="an unstable wave of height sqrt(-rate/cubic) on the stable side",
            numbers=[
                Number("cubic", wave.form.cubic),
                Number("window", finite(max(wave.critical - last, 0.0))),
                Number("unstable", wave.unstable),
                Number("miss", finite(wave.miss)),
            ],
            said=f"{wave.name}: cubic coefficient {{cubic:.2e}}; threshold k = {wave.critical:.4f}, local states down "
            f"to {last:.4f}, N IPR there {self.window.local.ipr[-1] * SIZE:.2f}; the unstable wave {{miss:.1%}} off",
            basis=f"{len(self.window.local.value) + len(self.window.between)} steady states of Eq. 5, no samples",
            expected=by_theory("holds", "the sign of the cubic coefficient"),
        )

    def _tricritical(self) -> Claim:
        kur_sizes, nlgp_sizes = self.sizes["Kur"], self.sizes["NLGP"]
        return TRICRITICAL.claim(
            "Kur has a tricritical point, in the plane of lengthscales and in the size of the ring; NLGP has none.",
            source=f"{DERIVED}, onset",
            reported="on large rings a jump for Kur, none for laws with a sixth moment",
            numbers=[
                Number("least", float(self.cubics.min())),
                Number("most", float(self.cubics.max())),
                Number("least_of_sizes", float(kur_sizes.min())),
                Number("most_of_sizes", float(kur_sizes.max())),
                Number("nlgp", float(nlgp_sizes.max())),
            ],
            said=f"on {SIZE} pixels Kur's coefficient goes from {{least:.1e}} to {{most:.1e}} over the plane, positive "
            f"at {np.mean(self.cubics > 0):.0%} of it; at (1, 3) from {{least_of_sizes:.1e}} to {{most_of_sizes:.1e}} "
            f"over {SIDES[0]} to {SIDES[-1]} pixels, 0 near {self.turns:.0f}; NLGP's is at most {{nlgp:.1e}}",
            basis=f"{self.cubics.size + 2 * len(SIDES)} thresholds, no samples",
            expected=by_theory("holds", "the cubic coefficient in closed form"),
        )

    def _hysteresis(self) -> Claim:
        it = self.experiment
        shown = "; ".join(
            f"k = {k:g}: {np.median(ends[0]):.2f} and {np.median(ends[1]):.2f}"
            for k, ends in zip(it.exponents, self.trained[-1], strict=True)
        )
        return HYSTERESIS.claim(
            "In training, too, the start decides between a flat and a local field near the threshold.",
            source=f"{DERIVED}, onset",
            reported="of Eq. 5: both are stable over a narrow window of k",
            numbers=[
                Number("both", self.both(), unit="exponents"),
                Number("medians", self.both(pick=False), unit="exponents"),
            ],
            said=f"median N IPR at the end, from near the flat field and from a single pixel: {shown}; both stay "
            "in all runs at {both} exponents, by their medians at {medians}",
            basis=f"{it.seeds} networks a start and exponent, {it.steps:,} steps of {it.rate:g} and {orbit(it.batch)}, "
            f"to t = {it.steps * it.rate:g}",
            expected=as_measured("does not hold"),
            reasons={
                "does not hold": "Fields from a single pixel are still coming down where those from near the flat one "
                "fall back, and elsewhere some of the latter leave it and others do not: the noise of training, which "
                "multiplies the wave, decides there rather than the start."
            },
            words={"flat": FLAT, "local": LOCAL, "lost": LOST},
        )

    # Figures and text -------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        plane = Heatmap(
            "Kur: 1 with a jump, -1 without", np.sign(self.cubics), "log10 of the shorter lengthscale",
            "log10 of their ratio", tuple(np.log10([*SHORT, *RATIO])),
        )  # fmt: skip
        return (
            Figure("The window", ((self._diagram(), self._runs()),)),
            Figure("Where the onset jumps", ((self._of_sizes(), plane),)),
        )

    def _diagram(self) -> Scatter:
        local, between = self.window.local, self.window.between
        near = local.value < self.window.wave.critical + 0.02
        groups = {
            "local": (local.value[near], local.ipr[near] * SIZE, None),
            "between, unstable": (between[:, 0], between[:, 1] * SIZE, None),
        }
        marks = {"threshold": self.window.wave.critical}
        return Scatter("steady states of Eq. 5, (.3, .7)", groups, "k", "N IPR", joined=True, marks=marks)

    def _runs(self) -> Scatter:
        k = np.repeat(self.experiment.exponents, self.experiment.seeds)
        ends = self.trained[-1]
        groups = {"from near flat": (k, ends[:, 0].ravel(), None), "from one pixel": (k, ends[:, 1].ravel(), None)}
        return Scatter("trained networks", groups, "k", "N IPR", logy=True, marks={"Eq. 5": self.window.wave.critical})

    def _of_sizes(self) -> Scatter:
        groups = {
            name: (np.array(SIDES, float), values / np.abs(values).max(), None) for name, values in self.sizes.items()
        }
        title = "cubic coefficient at (1, 3), scaled"
        return Scatter(title, groups, "pixels of the ring", logx=True, joined=True)

    def text(self) -> str:
        wave, last = self.window.wave, self.window.last
        heights = ", ".join(f"{o.name} {o.found:.3f} (normal form {o.form.amplitude:.3f})" for o in self.continuous)
        return (
            "At its threshold the flat field of Eq. 5 gives way to one wave round the ring, whose height obeys dA/dt = "
            "rate A + cubic A^3, with both coefficients in closed form. Where the cubic one is negative the wave grows "
            f"without a jump: {heights} at {NEAR:.1%} beyond the threshold. For {wave.name} it is positive, "
            f"{wave.form.cubic:.1e}: local states are stable down to k = {last:.4f}, below the threshold "
            f"{wave.critical:.4f}. On {SIZE} pixels the onset jumps at {np.mean(self.cubics > 0):.0%} of the plane of "
            f"lengthscales, and at (1, 3) from about {self.turns:.0f} pixels on; NLGP never does. Networks "
            "were trained from near the flat field and from a single pixel at k = "
            f"{', '.join(f'{k:g}' for k in self.experiment.exponents)}; both stay in all runs at {self.both()} of "
            "them."
        )
