"""Linear units behind gates of which one is open at a time: each learns alone, on its part of the data."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np

from ..._errors import setting_error
from ..._progress import Update
from ...networks import GatedLinear
from ...outcome import Claim, Figure, Heatmap, Lines, Number, Rule, Table, by_theory
from ...spec import Setting
from ...theory.gates import GatedMoments, gated_linear_flow, gated_moments
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.followed import FOLLOWED
from ..toolkit.gated_paths import Paths, follow, random_start
from ..toolkit.sources import NETWORKS, OLDER
from ..toolkit.tasks import ising
from ..toolkit.words import listed

SIZE = 12
"""Few enough spins to sum over all states, so that nothing but the training is sampled."""
STEPS = 200
"""Steps that the slowest direction's lifetime needs: the fastest is up to 300 times as fast behind six gates."""

LEAST_SQUARES = Rule(
    "trained weights have the direction (cosine above {straight:g}) and the size (within {near:.0%}) of least squares "
    "(in part: the direction)",
    lambda n, t: n.cosine > t.straight and n.off < t.near,
    partly=lambda n, t: n.cosine > t.straight,
    thresholds={"straight": 0.99, "near": 0.05},
    holds={"cosine": 0.999, "off": 0.02},
    part={"cosine": 0.999, "off": 1.0},
    fails={"cosine": 0.7, "off": 1.0},
)
ANY_START = Rule(
    "a diagonal matrix C of complex numbers gives back every coordinate of a random start within {rounding:g} of the "
    "largest",
    lambda n, t: n.off < t.rounding,
    thresholds={"rounding": 1e-9},
    holds={"off": 1e-14, "negative": 9, "of": 24},
    fails={"off": 0.2, "negative": 9, "of": 24},
)


@dataclass(frozen=True)
class ExclusiveGates(AbstractExperiment):
    """Do linear units behind exclusive gates converge to least squares on the data that their gates let through?"""

    name: ClassVar[str] = "exclusive_gates"
    title: ClassVar[str] = "Exclusive gates"
    cost: ClassVar[float] = 30.0

    runs: Annotated[int, Setting("streams of data, each with a run from the same start", kind=int, ge=2)] = 6
    steps: Annotated[int, Setting("steps of training", kind=int, ge=40)] = 2000
    lifetimes: Annotated[float, Setting("how long to train, in lifetimes of the slowest direction", gt=0)] = 6.0
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 64
    winners: Annotated[int, Setting("gates of which the largest response opens one", kind=int, ge=2, le=6)] = 3

    @classmethod
    def paper(cls) -> "ExclusiveGates":
        return cls(runs=16, steps=6000, batch=512, winners=4)

    def check(self) -> None:
        if self.steps < STEPS * self.lifetimes:
            raise setting_error(type(self), "steps", self.steps, f"at least {STEPS} for each of the lifetimes")

    def measure(self, key: Any, progress: Update) -> "Measured":
        """A halfspace and its opposite, then several gates of which the largest response opens one."""
        drawn = random_start(jax.random.fold_in(key, 0), self.winners, SIZE)
        networks = {
            "two opposite halfspaces": GatedLinear(np.stack([drawn[0], -drawn[0]])),
            f"the largest of {self.winners}": GatedLinear(drawn, rule="winner"),
        }
        cases = {}
        for i, (name, network) in enumerate(networks.items()):
            cases[name] = self._case(network, jax.random.fold_in(key, i + 1))
            progress((i + 1) / len(networks))
        return Measured(self, cases)

    def _case(self, network: GatedLinear, key: Any) -> "Case":
        task = ising(SIZE)
        start, moments = random_start(key, network.units, SIZE), gated_moments(task, network, method="exact")

        def closed(times: np.ndarray) -> np.ndarray:
            return gated_linear_flow(task, network, start[None], times=times, moments=moments).weights[0]

        rate = self.lifetimes / moments.rates().min() / self.steps
        paths = follow(
            task, network, start, closed, runs=self.runs, steps=self.steps, rate=float(rate), batch=self.batch,
            key=jax.random.fold_in(key, 1),
        )  # fmt: skip
        return Case(moments, paths)


@dataclass(frozen=True)
class Case:
    """Exact moments behind some gates, and the paths there."""

    moments: GatedMoments
    paths: Paths

    @property
    def units(self) -> int:
        return self.moments.units

    @property
    def coordinates(self) -> int:
        return self.units * SIZE

    def least_squares(self) -> np.ndarray:
        """A_kk^-1 b_k: regression of the label on the data that a gate lets through, (unit, pixel)."""
        blocks = self.moments.a.reshape(self.units, SIZE, self.units, SIZE)
        drive = self.moments.b.reshape(self.units, SIZE)
        return np.stack([np.linalg.solve(blocks[k, :, k], drive[k]) for k in range(self.units)])

    def scale(self) -> np.ndarray:
        """The trained weights of each unit over its least squares solution, by projection."""
        goal, end = self.least_squares(), self.paths.mean[-1]
        return np.sum(end * goal, axis=1) / np.sum(goal**2, axis=1)

    def cosine(self) -> float:
        """Least cosine of a unit's trained weights with its least squares solution."""
        goal, end = self.least_squares(), self.paths.mean[-1]
        return float(np.min(np.sum(end * goal, 1) / np.linalg.norm(end, axis=1) / np.linalg.norm(goal, axis=1)))

    def constants(self) -> tuple[np.ndarray, np.ndarray]:
        """exp(C) that Eq. 54 needs at the start in every coordinate, Lambda (u(0) - u*), and how far the start is from
        what the logarithm of it, taken as C, gives back, over the largest coordinate."""
        values, vectors = self.moments.spectrum()
        start, limit = (vectors.T @ w for w in (self.paths.exact[0].ravel(), self.moments.limit()))
        needed = values * (start - limit)
        decays = needed != 0  # elsewhere Eq. 54 has no C
        back = limit.astype(complex)
        back[decays] += np.exp(np.log(needed[decays].astype(complex))) / values[decays]
        return needed, np.abs(back - start) / np.abs(start).max()

    def negative(self) -> int:
        """How many coordinates start below their limit, where no real C will do."""
        return int(np.sum(self.constants()[0] < 0))


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Both kinds of exclusive gates, by name."""

    experiment: ExclusiveGates
    cases: dict[str, Case]

    @property
    def cosine(self) -> float:
        return min(case.cosine() for case in self.cases.values())

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._limit(), self._constant(), self._path()

    def _basis(self) -> str:
        it = self.experiment
        return f"one start a case, {it.runs} independent streams, {it.steps:,} steps, orbit gradients"

    def _limit(self) -> Claim:
        scales = {name: case.scale() for name, case in self.cases.items()}
        sizes = "; ".join(
            f"{name}: {s.min():.3f} to {s.max():.3f} times as large (K = {len(s)})" for name, s in scales.items()
        )
        return LEAST_SQUARES.claim(
            "Each weight vector converges to the least squares solution on the data that its gate lets through.",
            source=f"{NETWORKS}, Eq. 58; {OLDER}, Eq. 107",
            reported="w_1 = A_11^-1 b_1",
            numbers=[
                Number("cosine", self.cosine),
                Number("off", max(np.abs(s - 1).max() for s in scales.values())),
            ],
            said=f"{sizes}; least cosine {{cosine:.4f}}; size off by up to {{off:.3f}}",
            basis=self._basis(),
            expected=by_theory("holds in part", "erratum B-14: w* = K A^+ b"),
            reasons={
                "holds in part": "The output is a mean of K units: the quadratic term of Eq. 48 lacks a factor 1/K "
                "(erratum B-14)."
            },
        )

    def _constant(self) -> Claim:
        counts = (f"{case.negative()} of {case.coordinates} ({name})" for name, case in self.cases.items())
        off = max(case.constants()[1].max() for case in self.cases.values())
        return ANY_START.claim(
            "A constant diagonal matrix C in exp(-t Lambda/(K tau) + C) defines the initial condition.",
            source=f"{NETWORKS}, Eqs. 54 to 58",
            reported="any initial condition",
            numbers=[
                Number("off", off),
                Number("negative", sum(case.negative() for case in self.cases.values()), unit="coordinates"),
                Number("of", sum(case.coordinates for case in self.cases.values()), unit="coordinates"),
            ],
            said="start given back within {off:.0e}; C has an imaginary part pi in {negative} of {of} coordinates: "
            f"{'; '.join(counts)}",
            basis="one random start a case, closed form",
            expected=by_theory("holds", "every number but 0 has a complex logarithm"),
            reasons={
                "holds": "C has to be complex: coordinates that start below their limit need a negative exp(C) "
                "(erratum B-15)."
            },
        )

    def _path(self) -> Claim:
        deviations = [case.paths.deviation().max() for case in self.cases.values()]
        apart = [case.paths.distance().max() for case in self.cases.values()]
        return FOLLOWED.claim(
            "Gated linear networks follow w(t) = w* + exp(-t A/(K^2 tau))(w(0) - w*), with w* = K A^-1 b.",
            source=f"{NETWORKS}, Eqs. 51 to 56, corrected",
            reported="solution of Eq. 51",
            numbers=[Number("deviation", max(deviations), unit="standard errors"), Number("apart", max(apart))],
            said="mean of the runs at most {deviation:.1f} standard errors and {apart:.2%} of the norm away at any "
            f"record; by case {listed(deviations, '.1f')} standard errors and {listed(apart, '.2%')}",
            basis=self._basis(),
            expected=by_theory("holds", "closed form of a linear flow"),
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        rows = tuple((_largest_weights(name, case), _matrix(name, case)) for name, case in self.cases.items())
        return Figure("Units behind exclusive gates", rows), self._table()

    def _table(self) -> Figure:
        rows = tuple(
            (name, case.units, f"{case.scale().min():.3f} to {case.scale().max():.3f}", f"{case.cosine():.5f}",
             f"{case.paths.distance()[-1]:.4f}", f"{case.negative()} of {case.coordinates}")
            for name, case in self.cases.items()
        )  # fmt: skip
        columns = ("gates", "K", "trained over least squares", "cosine", "distance from the closed form", "complex C")
        return Figure("Where training ends", ((Table("", columns, rows),),))

    def text(self) -> str:
        scales = "; ".join(f"{name}: {case.scale().mean():.2f}" for name, case in self.cases.items())
        ends = "; ".join(
            f"{c.paths.distance()[-1]:.1%} ({c.paths.deviation()[-1]:.1f} standard errors; at most "
            f"{c.paths.deviation().max():.1f} on the way)"
            for c in self.cases.values()
        )
        return (
            f"Behind exclusive gates every unit is said to converge to least squares on the data that its gate lets "
            f"through ({NETWORKS}, and {OLDER}). On rings of {SIZE} spins all averages are sums over states. Two "
            f"exclusive gates are never open together, so that A is block diagonal by definition. The directions of "
            f"trained units and of least squares agree to {1 - self.cosine:.0e} of a cosine. But the network is a mean "
            f"of K units, so a unit must be K times as large as least squares (measured {scales}). The closed form "
            f"with this factor, in which exp(C) of the notes is a constant of either sign, is at the end of training "
            f"{ends} from the mean over {self.experiment.runs} streams of data."
        )


def _largest_weights(name: str, case: Case) -> Lines:
    strongest = np.abs(case.paths.exact[-1]).argmax(1)
    shown = {f"unit {u}": (u, p) for u, p in enumerate(strongest)}
    return Lines(
        f"{name}: largest weights",
        case.paths.time,
        {label: case.paths.exact[:, u, p] for label, (u, p) in shown.items()},
        {label: case.paths.mean[:, u, p] for label, (u, p) in shown.items()},
        xlabel="time",
        kinds=("theory", "training"),
    )


def _matrix(name: str, case: Case) -> Heatmap:
    edge = float(case.units)
    return Heatmap(f"{name}: A", case.moments.a, "unit and pixel", "unit and pixel", (0.0, edge, 0.0, edge))
