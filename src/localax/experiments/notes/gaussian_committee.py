"""Several ReLU units on Gaussian data: the notes' averages against quadrature, and training beside the closed form.

With S = <w_1, X>, T = <w_k, X> and the cosine g of w_1 and w_k under a class covariance, the notes look for
E[1(S > 0) ReLU(T) X] and stop at "some mess". It is (1/4 + asin(g)/2pi) S w_k + |w_k|/|w_1| sqrt(1 - g^2)/2pi S w_1.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import erf

from ..._errors import setting_error
from ..._math import real_dft
from ..._progress import Update
from ...networks import SoftCommittee, Xavier, seed_keys
from ...outcome import Claim, Fields, Figure, Lines, Number, Rule, Table, by_theory
from ...spec import Setting
from ...stimuli import Gaussian, Task
from ...theory import exact_flow
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.followed import FOLLOWED
from ..toolkit.gated_paths import Paths
from ..toolkit.seeds import seed_from, seeds_from
from ..toolkit.sources import NETWORKS, OLDER
from ..toolkit.tasks import SIZE, binary
from ..toolkit.train import train

LENGTHSCALES = (1.0, 2.0)
"""Those of the notes' figures."""
SAME = 0.01
"""Relative difference below which a printed formula counts as right: quadrature is far more exact."""
COSINES = (-0.8, -0.5, -0.2, 0.2, 0.5, 0.8)
POWERS = (1.0, 2.0)
"""w_1'S w_1 and w_k'S w_k where single averages are compared."""
PLACES = (0.5, 1.0, 2.0)
"""Values of T' at which averages given T' are compared."""
ANGLES = (1.0, 0.3, 0.1, 0.03, 0.01)
"""Angles between two units that become alike, in radians."""
FAR = 12.0
"""Standard deviations beyond which a normal density is nothing."""
RECORDS = 20
SHOWN = 4
"""So many units are drawn at most."""
GONE = 1e-4
"""w'S w below which a unit has vanished."""
RANDOM, WAVES = "random units", "orthogonal waves"

FORMULAS = ("eq25", "eq30", "eq63", "eq65", "eq70", "eq72", "eq75", "eq76")
"""What the older notes print on the way, by number."""


def _right(n: Any, t: Any) -> int:
    """How many of the formulas agree with quadrature."""
    return sum(getattr(n, name) < t.same for name in FORMULAS)


ONE_GATE = Rule(
    "both within {same:.0%} of quadrature for every vector",
    lambda n, t: max(n.first, n.second) < t.same,
    thresholds={"same": SAME},
    holds={"first": 1e-12, "second": 1e-12},
    fails={"first": 1e-12, "second": 0.5},
)
TWO_GATES = Rule(
    "Eq. 17 within {same:.0%} of quadrature for every pair of units; in part: Eq. 43 of the older notes, from which it "
    "was simplified",
    lambda n, t: n.simplified < t.same,
    partly=lambda n, t: n.before < t.same,
    thresholds={"same": SAME},
    holds={"simplified": 1e-12, "before": 1e-12},
    part={"simplified": 0.8, "before": 1e-12},
    fails={"simplified": 0.8, "before": 0.6},
)
PIECES = Rule(
    "every formula within {same:.0%} of quadrature at all cosines, by the reading that suits it best; in part: half of "
    "them",
    lambda n, t: _right(n, t) == len(FORMULAS),
    partly=lambda n, t: 2 * _right(n, t) >= len(FORMULAS),
    thresholds={"same": SAME},
    holds=dict.fromkeys(FORMULAS, 1e-12),
    part={**dict.fromkeys(FORMULAS, 1e-12), "eq25": 0.3, "eq63": 2.0},
    fails={**dict.fromkeys(FORMULAS, 0.3), "eq65": 1e-12},
)
NO_COMPETITION = Rule(
    "the average changes by less than {same:.0%} when an orthogonal unit gives way to another of the same norm, and in "
    "training from orthogonal waves less than {same:.0%} of a unit's power comes from the waves of the others",
    lambda n, t: n.change < t.same and n.mixed < t.same,
    thresholds={"same": SAME},
    holds={"change": 1e-12, "mixed": 0.001},
    fails={"change": 1.1, "mixed": 0.2},
)
ALIKE = Rule(
    "Eq. 54 within {same:.0%} of quadrature for the two units that are most alike",
    lambda n, t: n.off < t.same,
    thresholds={"same": SAME},
    holds={"off": 0.001},
    fails={"off": 300.0},
)


@dataclass(frozen=True)
class GaussianCommittee(AbstractExperiment):
    """What do several ReLU units do to each other on Gaussian data, and does training follow the closed form?"""

    name: ClassVar[str] = "gaussian_committee"
    title: ClassVar[str] = "Several neurons on Gaussian data"
    cost: ClassVar[float] = 12.0

    pairs: Annotated[int, Setting("random pairs of units on which averages are compared", kind=int, ge=1)] = 8
    samples: Annotated[int, Setting("samples that check the quadrature", kind=int, ge=100)] = 100_000
    units: Annotated[int, Setting("units of the committee that is trained", kind=int, ge=2, le=SIZE)] = 3
    streams: Annotated[int, Setting("streams of data from each start", kind=int, ge=2)] = 6
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 64
    steps: Annotated[int, Setting("steps of training", kind=int, ge=RECORDS)] = 1600
    rate: Annotated[float, Setting("learning rate", gt=0)] = 0.05

    @classmethod
    def paper(cls) -> "GaussianCommittee":
        """Twelve units, as behind the notes' figure 3."""
        return cls(pairs=40, samples=400_000, units=12, batch=128, steps=4000, rate=0.1)

    def check(self) -> None:
        if self.steps % RECORDS:
            raise setting_error(type(self), "steps", self.steps, f"a multiple of {RECORDS}, the records of a run")

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Averages by quadrature and by sampling, then training from two starts beside the closed form."""
        pairs = _pairs(jax.random.fold_in(key, 0), self.pairs)
        drawn = _sampled(pairs, jax.random.fold_in(key, 1), self.samples)
        progress(0.2)
        off = {name: formula.off() for name, formula in formulas().items()}
        return Measured(self, pairs, drawn, *self._trained(jax.random.fold_in(key, 2)), off)

    def _trained(self, key: Any) -> tuple[dict[str, Paths], np.ndarray]:
        """Training and closed form from random units and from orthogonal waves, and Eq. 52 from the latter."""
        random = Xavier(1.0).weights(seed_keys(seeds_from(key, 1)), self.units, (SIZE,), np.float32)
        starts = np.stack([np.asarray(random)[0], real_dft(SIZE)[1 : self.units + 1].astype(np.float32)])
        network, task = SoftCommittee(self.units), _task()
        run = train(
            task, network, steps=self.steps, batch=self.batch, rate=self.rate, seeds=2 * self.streams,
            init=np.tile(starts, (self.streams, 1, 1)), estimator="orbit", stream=self.streams,
            data_seed=seed_from(jax.random.fold_in(key, 1)), save_every=self.steps // RECORDS,
        )  # fmt: skip
        flow = exact_flow(task, network, starts.astype(float), times=run.time).weights
        trained = run.weights.reshape(self.streams, 2, -1, self.units, SIZE).swapaxes(0, 1)
        paths = {name: Paths(run.time, trained[i], flow[i]) for i, name in enumerate((RANDOM, WAVES))}
        return paths, _without_competition(task, starts[1].astype(float), run.time)


def _task() -> Task:
    return binary(*(Gaussian(SIZE, lengthscale) for lengthscale in LENGTHSCALES))


def _without_competition(task: Task, start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The flow of Eq. 52 with both classes, (time, unit, pixel), in the time of training.

    It takes w_k'S w_k/w_1'S w_1 for a rate, so that weak units vanish in a finite time; there they stay.
    """
    covariances = np.stack([stimulus.covariance_matrix() for stimulus in task.stimuli])
    units = len(start)

    def velocity(_: float, flat: np.ndarray) -> np.ndarray:
        moved = np.einsum("cpq,uq->cup", covariances, w := flat.reshape(start.shape))
        power = np.einsum("cup,up->cu", moved, w)
        others = (power.sum(1, keepdims=True) - power) / (4 * power)
        pull = np.array([[0.0], [1.0]]) / np.sqrt(2 * np.pi * power) - (0.5 + others) / units
        pull *= power.min(0) > GONE
        return ((pull[..., None] * moved).sum(0) / units).ravel()

    path = solve_ivp(velocity, (0, times[-1]), start.ravel(), t_eval=times, rtol=1e-5, atol=1e-7)
    return path.y.T.reshape(len(times), *start.shape)


# Averages ------------------------------------------------------------------------------------------------------------


@functools.cache
def _nodes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss and Legendre's nodes and weights, which take longer than all that is done with them."""
    return np.polynomial.legendre.leggauss(count)


def half_line(function: Callable[[np.ndarray], np.ndarray]) -> float:
    """The integral of a function that falls off like a normal density, over all positive numbers."""
    nodes, weights = _nodes(200)
    return float(FAR / 2 * weights @ function(FAR / 2 * (1 + nodes)))


def sector(function: Callable[[np.ndarray, np.ndarray], np.ndarray], cosine: float, gates: int = 2) -> float:
    """E[function(S, T)] where S > 0 and, with two gates, T > 0, for standard normals of this correlation."""
    tilt = np.arccos(cosine)
    middle, half = (tilt / 2, (np.pi - tilt) / 2) if gates == 2 else (0.0, np.pi / 2)
    nodes, weights = _nodes(64)
    angle = middle + half * nodes

    def ring(radius: np.ndarray) -> np.ndarray:
        r = radius[:, None]
        return radius * np.exp(-(radius**2) / 2) * (function(r * np.cos(angle), r * np.cos(angle - tilt)) @ weights)

    return half / (2 * np.pi) * half_line(ring)


def density(s: np.ndarray, mean: float = 0.0, deviation: float = 1.0) -> np.ndarray:
    return np.exp(-(((s - mean) / deviation) ** 2) / 2) / (np.sqrt(2 * np.pi) * deviation)


@dataclass(frozen=True)
class Pair:
    """Two units under one covariance: S w_1 and S w_k (which, pixel), their powers and their cosine."""

    moved: np.ndarray
    powers: tuple[float, float]
    cosine: float

    def average(self) -> np.ndarray:
        """E[1(S > 0) ReLU(T) X], by quadrature: X given S and T is linear in them."""
        own, other = np.sqrt(self.powers)
        mixed = own * other * sector(lambda s, t: s * t, self.cosine)
        square = other**2 * sector(lambda _, t: t**2, self.cosine)
        across = own * other * self.cosine
        gram = np.array([[self.powers[0], across], [across, self.powers[1]]])
        return np.linalg.solve(gram, [mixed, square]) @ self.moved

    def form(self, coefficients: "Coefficients") -> np.ndarray:
        return np.array(coefficients(*self.powers, self.cosine)) @ self.moved

    def off(self, coefficients: "Coefficients") -> float:
        """Distance of a form from quadrature, relative."""
        exact = self.average()
        return float(np.linalg.norm(self.form(coefficients) - exact) / np.linalg.norm(exact))

    def one_gate(self) -> tuple[float, float]:
        """Relative distances of Eqs. 12 and 14 from quadrature, where E[X | S] = S (S w_1)/(w_1'S w_1)."""
        power = self.powers[0]
        exact = [sector(f, 0.0, gates=1) / power for f in (lambda s, _: np.sqrt(power) * s, lambda s, _: power * s**2)]
        printed = 1 / np.sqrt(2 * np.pi * power), 0.5
        first, second = (float(abs(p - e) / e) for p, e in zip(printed, exact, strict=True))
        return first, second


Coefficients = Callable[[float, float, float], tuple[float, float]]
"""From w_1'S w_1, w_k'S w_k and the cosine to the coefficients of S w_1 and S w_k."""


def right_form(own: float, other: float, g: float) -> tuple[float, float]:
    return np.sqrt(other * (1 - g**2) / own) / (2 * np.pi), 0.25 + np.arcsin(g) / (2 * np.pi)


def older_form(own: float, other: float, g: float) -> tuple[float, float]:
    """Eq. 43 of the older notes."""
    across, rest = g * np.sqrt(own * other), own * other * (1 - g**2)
    first = other**2 * np.arccos(-g) - across**2 * np.arcsin(g)
    second = -across * other * np.arccos(-g) + across * own * np.arcsin(g)
    common = across / (own * other) / np.sqrt(rest)
    return tuple(
        (head / rest + common * tail) / (2 * np.pi)
        for head, tail in ((first, other - across), (second, own - across))
    )  # fmt: skip


def simplified_form(own: float, other: float, g: float) -> tuple[float, float]:
    """Eq. 17 of the network notes."""
    rest, root, mixed = 2 * np.pi * (1 - g**2), 2 * np.pi * np.sqrt(1 - g**2), np.sqrt(own * other)
    first = (other / own * np.arccos(-g) - g**2 * np.arcsin(g)) / rest + (1 / (g * own) - 1 / mixed) / root
    second = -g * np.sqrt(own / other) * (other / own * np.arccos(g) - np.arcsin(g)) / rest
    return first, second + (1 / (g * other) - 1 / mixed) / root


def alike_form(own: float, other: float, g: float) -> tuple[float, float]:
    """Eq. 54 of the older notes, for units that are almost identical, with eps^2 the distance of their product."""
    across = g * np.sqrt(own * other)
    eps = np.sqrt(abs(across - np.sqrt(own * other)))
    turn = np.arccos(-1.0) - np.arcsin(1.0)
    head = other**2 / (2 * np.pi * eps**2) * turn
    return head + (other - across) / (2 * np.pi * eps), -head * other**2 + (own - across) / (2 * np.pi * eps)


def orthogonal_form(own: float, other: float, _: float) -> tuple[float, float]:
    """Eq. 49 of the older notes."""
    return other / (4 * own), 0.0


def _pairs(key: Any, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Random units of norms about 1 and 1/2."""
    drawn = np.asarray(jax.random.normal(key, (count, 2, SIZE)), float) / np.sqrt(SIZE)
    return [(own, other / 2) for own, other in drawn]


@functools.cache
def _covariance() -> np.ndarray:
    """Of the long class, to which the label 1 belongs."""
    return _task().stimuli[1].covariance_matrix()


def pair_of(own: np.ndarray, other: np.ndarray) -> Pair:
    """Two units under the covariance of the long class."""
    moved = np.stack([own, other]) @ _covariance()
    gram = moved @ np.stack([own, other]).T
    return Pair(moved, (gram[0, 0], gram[1, 1]), gram[0, 1] / np.sqrt(gram[0, 0] * gram[1, 1]))


def _sampled(pairs: list[tuple[np.ndarray, np.ndarray]], key: Any, samples: int) -> np.ndarray:
    """For each pair how far sampled averages lie from the right form, in standard errors of them all."""
    x = np.asarray(_task().stimuli[1].sample(key, samples, dtype=jnp.float32), float)
    found = []
    for own, other in pairs:
        gated = ((x @ own > 0) * np.maximum(x @ other, 0))[:, None] * x
        error = np.sqrt(gated.var(0).sum() / samples)
        found.append(np.linalg.norm(gated.mean(0) - pair_of(own, other).form(right_form)) / error)
    return np.array(found)


# The older notes' second attempt -------------------------------------------------------------------------------------

Of = Callable[[float, float], float]
"""Of the cosine and of T', which not all of them need."""


def _given(power: int, *, divided: bool) -> Of:
    """E[S'^power 1(S' > 0) | T'], or with ``divided`` given S' > 0 too."""

    def average(g: float, t: float) -> float:
        spread = np.sqrt(1 - g**2)
        top = half_line(lambda s: s**power * density(s, g * t, spread))
        return top / half_line(lambda s: density(s, g * t, spread)) if divided else top

    return average


def _folded(g: float, t: float) -> float:
    """E[|S'| given T']."""
    spread = np.sqrt(1 - g**2)
    return half_line(lambda s: s * (density(s, g * t, spread) + density(-s, g * t, spread)))


def _weighed(function: Callable[[np.ndarray, float], np.ndarray], factor: float = 1.0) -> Of:
    """factor E[1(T' > 0) function(T')]."""
    return lambda g, _: factor * half_line(lambda t: function(t, g) * density(t))


def _steep(t: Any, g: float) -> Any:
    return erf(g * t / np.sqrt(2 * (1 - g**2)))


def _turn(g: float) -> float:
    return np.arctan(np.sqrt(1 - g**2) / g)


@dataclass(frozen=True)
class Formula:
    """A formula as it is printed, and what it may mean: the reading that is nearest to it counts."""

    means: str
    printed: Of
    readings: tuple[Of, ...]

    def off(self) -> float:
        """The largest relative distance from quadrature."""
        return min(max(self._distance(reading, g, t) for g in COSINES for t in PLACES) for reading in self.readings)

    def _distance(self, reading: Of, g: float, t: float) -> float:
        exact = reading(g, t)
        return abs(self.printed(g, t) - exact) / abs(exact)


def formulas() -> Mapping[str, Formula]:
    """Eqs. 25, 30 and 63 to 76 of the older notes."""
    own, other = POWERS
    mixed = np.sqrt(own * other)

    def tail(g: float) -> float:
        return g * np.sqrt(1 - g**2)

    def flat(t: Any, g: float) -> Any:
        return 1 + (t**2 - 1) * g**2

    return {
        "eq25": Formula(
            "E[S^2; S, T > 0]", lambda g, _: other / (2 * np.pi) * (np.arccos(-g) + tail(g)),
            (lambda g, _: own * sector(lambda s, _: s**2, g),),
        ),
        "eq30": Formula(
            "E[ST; S, T > 0]", lambda g, _: g * mixed / (2 * np.pi) * (np.arcsin(g) + tail(g)),
            (lambda g, _: mixed * sector(lambda s, t: s * t, g),),
        ),
        "eq63": Formula(
            "E[S'^2 | S' > 0, T']", lambda g, t: flat(t, g),
            (_given(2, divided=True), _given(2, divided=False)),
        ),
        "eq65": Formula("P(S' > 0 | T')", lambda g, t: (1 + _steep(t, g)) / 2, (_given(0, divided=False),)),
        "eq70": Formula(
            "E[1 + (T'^2 - 1) rho^2; T' > 0]", lambda g, _: 1 - g**2 / 2, (_weighed(flat), _weighed(flat, 2.0))
        ),
        "eq72": Formula(
            "(1 - rho^2) E[erf(..); T' > 0]", lambda g, _: (1 - g**2) / 2 * (1 - 2 / np.pi * _turn(g)),
            (lambda g, _: (1 - g**2) * half_line(lambda t: _steep(t, g) * density(t)),),
        ),
        "eq75": Formula(
            "rho^2 E[T'^2 erf(..); T' > 0]",
            lambda g, _: g**2 / (2 * np.sqrt(2 * np.pi))
            * (2**1.5 * _turn(g) - 2 * np.sqrt(2) * g * np.sqrt(1 - g**2) / (3 * g**2 + 1)),
            (lambda g, _: g**2 * half_line(lambda t: t**2 * _steep(t, g) * density(t)),),
        ),
        "eq76": Formula(
            "E[S' | S' > 0, T']",
            lambda g, t: np.sqrt(2 / np.pi) * (1 - g**2) * np.exp(-(g**2) * t**2 / (2 * np.sqrt(1 - g**2)))
            + g * t * _steep(t, g),
            (_given(1, divided=True), _given(1, divided=False), _folded),
        ),
    }  # fmt: skip


# What is said of it ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Pairs of units, how far sampled averages lie from the right form, training from two starts, and Eq. 52."""

    experiment: GaussianCommittee
    units: list[tuple[np.ndarray, np.ndarray]]
    sampled: np.ndarray
    paths: Mapping[str, Paths]
    printed: np.ndarray
    """Eq. 52 from orthogonal waves, (time, unit, pixel)."""
    off: Mapping[str, float]
    """How far the formulas of the older notes lie from quadrature."""

    # Numbers ---------------------------------------------------------------------------------------------------------

    @property
    def pairs(self) -> list[Pair]:
        return [pair_of(*both) for both in self.units]

    def worst(self, coefficients: Coefficients) -> float:
        """The largest relative distance of a form from quadrature."""
        return max(pair.off(coefficients) for pair in self.pairs)

    def orthogonal(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The pairs with the second unit made orthogonal to the first under the covariance."""
        moved = [own @ _covariance() for own, _ in self.units]
        return [(own, v - own * (m @ v) / (m @ own)) for (own, v), m in zip(self.units, moved, strict=True)]

    def change(self) -> float:
        """How much the average changes, relative and at most, when an orthogonal unit gives way to its negative."""
        ends = [(pair_of(a, b).average(), pair_of(a, -b).average()) for a, b in self.orthogonal()]
        return max(float(np.linalg.norm(one - two) / np.linalg.norm(one)) for one, two in ends)

    def persisting(self) -> float:
        """The coefficient of S w_k that is left for orthogonal units, by quadrature, mean over pairs."""
        pairs = [pair_of(*both) for both in self.orthogonal()]
        return float(np.mean([np.linalg.lstsq(pair.moved.T, pair.average())[0][1] for pair in pairs]))

    def mixed(self, fields: np.ndarray) -> np.ndarray:
        """Share of the power of units (..., unit, pixel) that comes from waves with which other units start; mean."""
        shares = (fields @ real_dft(SIZE)[1 : self.experiment.units + 1].T) ** 2
        own = np.diagonal(shares, axis1=-2, axis2=-1)
        return np.mean((shares.sum(-1) - own) / (fields**2).sum(-1), axis=-1)

    def nearing(self) -> dict[str, np.ndarray]:
        """Relative distances from quadrature as the second unit turns towards the first, by form."""
        own, other = self.orthogonal()[0]
        powers = pair_of(own, other).powers
        other = other * np.sqrt(powers[0] / powers[1])
        near = [pair_of(own, np.cos(angle) * own + np.sin(angle) * other) for angle in ANGLES]
        forms = {"closed form": right_form, "Eq. 43": older_form, "Eq. 54": alike_form}
        return {name: np.array([pair.off(form) for pair in near]) for name, form in forms.items()}

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return (
            self._one_gate(), self._two_gates(), self._pieces(), self._no_competition(), self._alike(),
            self._followed(),
        )  # fmt: skip

    def _basis(self) -> str:
        it = self.experiment
        return f"{it.pairs} random pairs of units, quadrature; no samples"

    def _one_gate(self) -> Claim:
        off = np.array([pair.one_gate() for pair in self.pairs]).max(0)
        return ONE_GATE.claim(
            "E[1(S > 0) X] = S w/sqrt(2 pi w'S w), and E[1(S > 0) S X] = S w/2.",
            source=f"{NETWORKS}, Eqs. 12 and 14",
            reported="derived",
            numbers=[Number("first", off[0]), Number("second", off[1])],
            said="largest relative distance from quadrature: {first:.1e} and {second:.1e}",
            basis=self._basis(),
            expected=by_theory("holds", "the mean and the second moment of a half normal"),
        )

    def _two_gates(self) -> Claim:
        it = self.experiment
        return TWO_GATES.claim(
            "E[1(S > 0) ReLU(T) X] is the sum of S w_1 and S w_k with the coefficients of Eq. 17.",
            source=f"{NETWORKS}, Eq. 17; {OLDER}, Eqs. 43 to 47",
            reported="really messy; coefficients are printed, the last of them as 'some mess'",
            numbers=[
                Number("simplified", self.worst(simplified_form)),
                Number("before", self.worst(older_form)),
                Number("right", self.worst(right_form)),
                Number("sampled", self.sampled.max(), unit="standard errors"),
            ],
            said="largest relative distance from quadrature: Eq. 17 {simplified:.2g}, Eq. 43 {before:.2g}, (1/4 + "
            "asin(g)/2pi) S w_k + |w_k|/|w_1| sqrt(1 - g^2)/2pi S w_1 {right:.1e}; that form is at most {sampled:.1f} "
            f"standard errors from {it.samples:,} samples",
            basis=self._basis(),
            expected=by_theory("does not hold", "erratum B-18: the derivative of the arc-cosine kernel"),
            reasons={
                "does not hold": "The density of Eq. 22 has w_1'S w_1 and w_k'S w_k swapped, Eq. 20 takes (S^2, ST) "
                "for (ST, T^2), and the probability of both gates is counted twice (erratum B-18)."
            },
        )

    def _pieces(self) -> Claim:
        right = [name for name, value in self.off.items() if value < SAME]
        return PIECES.claim(
            "The averages over two gates are those of Eqs. 25, 30, 63, 65, 70, 72, 75 and 76.",
            source=f"{OLDER}, section 2, 'Gaussian Data'",
            reported="derived, the last with a question mark",
            numbers=[Number(name, value) for name, value in self.off.items()],
            said=f"{len(right)} of {len(FORMULAS)} agree with quadrature; largest relative distances "
            + ", ".join(f"{{{name}:.2g}} (Eq. {name[2:]})" for name in self.off),
            basis=f"cosines {', '.join(f'{g:g}' for g in COSINES)}; no samples",
            expected=by_theory("does not hold", "erratum B-18, checked formula by formula"),
            reasons={
                "does not hold": "A truncated normal is taken for a folded one (63), a half for a whole (69), and "
                "the angle of Eq. 72 is right for positive cosines alone."
            },
        )

    def _no_competition(self) -> Claim:
        it, path = self.experiment, self.paths[WAVES]
        mixed = self.mixed(path.trained[:, -1])
        error = float(mixed.std(ddof=1) / np.sqrt(len(mixed)))
        return NO_COMPETITION.claim(
            "For orthogonal units the update of w_1 depends on w_k through its weighted norm alone: no competition "
            "term persists.",
            source=f"{OLDER}, Eqs. 49 to 52",
            reported="so the update only depends on w_k through its weighted norm",
            numbers=[
                Number("change", self.change()),
                Number("coefficient", self.persisting()),
                Number("off", max(pair_of(*both).off(orthogonal_form) for both in self.orthogonal())),
                Number("mixed", mixed.mean(), error),
                Number("printed", path.distance(self.printed)[-1]),
                Number("closed", path.distance()[-1]),
            ],
            said="an orthogonal unit replaced by its negative changes the average by up to {change:.2f} of itself, for "
            "S w_k has a coefficient of {coefficient:.3f} (Eq. 49 is off by up to {off:.2f}); trained from orthogonal "
            "waves, units end with {mixed:.1%} of their power in the waves of the others, {printed:.2f} of their norm "
            "from Eq. 52 and {closed:.3f} from the closed form",
            basis=f"{it.pairs} pairs by quadrature; {it.units} units on {it.streams} streams, {it.steps:,} steps",
            expected=by_theory("does not hold", "erratum B-18: S w_k/4 is left at a cosine of 0"),
            reasons={
                "does not hold": "Two gates at right angles are open together a quarter of the time, and then T X "
                "has the mean S w_k: the average is S w_k/4 + |w_k|/|w_1| S w_1/2pi."
            },
        )

    def _alike(self) -> Claim:
        near = self.nearing()
        return ALIKE.claim(
            "When w_1 and w_k are almost identical, the average is given by Eq. 54, whose terms grow as 1/eps^2 and "
            "1/eps.",
            source=f"{OLDER}, Eqs. 53 and 54",
            reported="an approximation with 1/eps^2",
            numbers=[
                Number("off", near["Eq. 54"][-1]),
                Number("older", near["Eq. 43"][-1]),
                Number("right", near["closed form"][-1]),
            ],
            said=f"at an angle of {ANGLES[-1]:g} the relative distance from quadrature is {{off:.2g}} (Eq. 43: "
            "{older:.2g}, closed form {right:.1e}); quadrature tends to S w/2",
            basis=f"angles from {ANGLES[0]:g} to {ANGLES[-1]:g} between two units of one norm; no samples",
            expected=by_theory("does not hold", "Eq. 14: for equal units the average is S w/2"),
            reasons={
                "does not hold": "With T = S there is one gate, and nothing can grow; also, the product of two units "
                "is at most, never more than, that of their norms."
            },
        )

    def _followed(self) -> Claim:
        it = self.experiment
        found = {name: path.deviation().max() for name, path in self.paths.items()}
        ends = ", ".join(f"{path.distance()[-1]:.4f} ({name})" for name, path in self.paths.items())
        return FOLLOWED.claim(
            "The full update of several units, which is left blank, is a flow in closed form that training follows.",
            source=f"{NETWORKS}, after Eq. 18: 'the full update is given by'",
            reported="left blank",
            numbers=[Number("deviation", max(found.values()), unit="standard errors")],
            said=f"at most {{deviation:.1f}} standard errors of the mean over streams at any record; relative distance "
            f"at the last: {ends}",
            basis=f"{it.units} units, {it.streams} streams from each of 2 starts, {it.steps:,} steps of {it.batch} "
            "samples with all their shifts and signs",
            expected=by_theory("holds", "the gradient of the arc-cosine kernel, C1"),
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        return self._averages(), self._training(RANDOM), self._training(WAVES), self._table()

    def _averages(self) -> Figure:
        g = np.linspace(-0.95, 0.95, 58)  # an even number, so that Eq. 17 is not asked at a cosine of 0
        titles = "coefficient of S w_1", "coefficient of S w_k"
        exact = np.array([Pair(np.eye(2), (1.0, 1.0), c).average() for c in g])
        forms = {"closed form": right_form, "Eq. 17": simplified_form, "Eq. 43": older_form}
        curves = {name: np.array([form(1.0, 1.0, c) for c in g]) for name, form in forms.items()}
        panels = tuple(
            Lines(
                title, g, {name: np.where(np.abs(c[:, i]) < 1.5, c[:, i], np.nan) for name, c in curves.items()},
                {"closed form": exact[:, i]}, xlabel="cosine of the units", kinds=("formula", "quadrature"),
            )
            for i, title in enumerate(titles)
        )  # fmt: skip
        near = Lines(
            "units that become alike", np.array(ANGLES), {n: v for n, v in self.nearing().items() if "E" in n},
            xlabel="angle", ylabel="relative distance", logx=True, logy=True,
        )  # fmt: skip
        caption = "Two units of one norm. Values beyond 1.5 are left out."
        return Figure("The average with two gates", ((*panels, near),), caption=caption)

    def _training(self, name: str) -> Figure:
        path = self.paths[name]
        sets = {"start": path.mean[0], "training": path.mean[-1], "closed form": path.exact[-1]}
        forms = {"closed form": path.distance()}
        if name == WAVES:
            sets |= {"Eq. 52": self.printed[-1]}
            forms |= {"Eq. 52": path.distance(self.printed)}
        fields = tuple(Fields(title, w[:SHOWN]) for title, w in sets.items())
        way = Lines(
            "distance from training", path.time[1:], forms, xlabel="time", ylabel="relative to its norm", logy=True
        )
        if name == RANDOM:
            return Figure(f"A committee from {name}", ((*fields, way),))
        spread = Lines(
            "power in the waves of the others", path.time,
            {"closed form": self.mixed(path.exact), "Eq. 52": self.mixed(self.printed)},
            {"closed form": self.mixed(path.mean)}, xlabel="time", ylabel="share", kinds=("theory", "training"),
        )  # fmt: skip
        return Figure(f"A committee from {name}", (fields, (way, spread)))

    def _table(self) -> Figure:
        rows = tuple(
            (f"({name[2:]})", formula.means, f"{self.off[name]:.2g}", "right" if self.off[name] < SAME else "wrong")
            for name, formula in formulas().items()
        )
        columns = ("equation of the older notes", "what it is for", "largest relative distance", "at all cosines")
        return Figure("Formulas for two gates against quadrature", ((Table("", columns, rows),),))

    def text(self) -> str:
        it, path = self.experiment, self.paths[WAVES]
        right = sum(value < SAME for value in self.off.values())
        return (
            "For several ReLU units on Gaussian data the notes need the average of ReLU(T) X over the half space of "
            "another unit, fill forty equations, and give up. Quadrature tells what holds of them: with one gate "
            f"Eqs. 12 and 14 are right, with two Eq. 17 is off by up to {self.worst(simplified_form):.2g} times the "
            f"average and {right} of the {len(FORMULAS)} formulas on the way are right. The average is "
            "$(1/4 + \\arcsin(g)/2\\pi)\\, S w_k + |w_k|/|w_1| \\sqrt{1 - g^2}/2\\pi\\; S w_1$, with norms and the "
            f"cosine g under the covariance, which is the derivative of the arc-cosine kernel ({it.samples:,} samples "
            f"are at most {self.sampled.max():.1f} standard errors away). With it the flow of any number of units has "
            f"a closed form, and {it.units} units in training stay within "
            f"{max(p.deviation().max() for p in self.paths.values()):.1f} standard errors of it. Orthogonal units do "
            f"compete: S w_k keeps a coefficient of {self.persisting():.3f}, so that waves that start orthogonal end "
            f"with {self.mixed(path.mean[-1]):.0%} of their power in one another, while by Eq. 52 they would stay "
            f"apart (it ends {path.distance(self.printed)[-1]:.2f} of their norm from training, the closed form "
            f"{path.distance()[-1]:.3f}). And two units that become alike have a finite average, S w/2. Lengthscales "
            f"{LENGTHSCALES[0]:g} and {LENGTHSCALES[1]:g}, {it.streams} streams of {it.steps:,} steps at rate "
            f"{it.rate:g}."
        )
