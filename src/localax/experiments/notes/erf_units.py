"""Sigmoid units erf(h/sqrt 2) on Gaussian data: the notes' bias flow, the field flow left blank, and why biases.

The notes derive how biases move, for one unit and for many, leave the heading "Receptive field" empty, and say that
sigmoid units need a learnable bias while ReLU units do not. Without a bias an odd unit gives an odd output, whose mean
in each class of sign-symmetric data is 0: no such network can beat a constant.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import equinox as eqx
import jax
import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import erf

from ..._errors import setting_error
from ..._progress import Update
from ...analysis import localized
from ...networks import SoftCommittee, Xavier, seed_keys
from ...outcome import Claim, Fields, Figure, Lines, Number, Rule, Table, as_measured, by_theory
from ...spec import Setting
from ...stimuli import Gaussian, Task
from ...theory.flows import GaussianErf
from ...trajectory import Trajectory
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.followed import FOLLOWED
from ..toolkit.gated_paths import Paths
from ..toolkit.seeds import seed_from, seeds_from
from ..toolkit.sigmoid_units import signed
from ..toolkit.sources import NETWORKS
from ..toolkit.tasks import SIZE, WIDE, nlgp
from ..toolkit.train import train

GAUSSIAN = 0.01
SAME = 0.01
"""Relative difference below which a printed formula counts as right: quadrature is far more exact."""
MANY = 3
"""Units of the networks on which the flow of many biases is compared."""
RECORDS = 20
SHOWN = 4
"""So many units are drawn at most."""
SMALL = 0.05
"""Standard deviation of biases "around init"."""
CONSTANT = {"erf": 1.0, "relu": 0.25}
"""Squared error of the best constant: for labels -1 and 1, and for 0 and 1."""

ONE_UNIT = Rule(
    "Eq. 42 within {same:.0%} of quadrature for erf(h/sqrt 2), the sigmoid that the section announces; in part: for "
    "erf(h), which Eq. 38 writes",
    lambda n, t: n.announced < t.same,
    partly=lambda n, t: n.written < t.same,
    thresholds={"same": SAME},
    holds={"announced": 1e-9, "written": 1e-9},
    part={"announced": 0.2, "written": 1e-9},
    fails={"announced": 0.2, "written": 0.3},
)
MANY_UNITS = Rule(
    "within {same:.0%} of quadrature for every unit; in part: for small biases, by the form around initialisation",
    lambda n, t: n.full < t.same,
    partly=lambda n, t: n.around < t.same,
    thresholds={"same": SAME},
    holds={"full": 1e-9, "around": 0.002},
    part={"full": 0.3, "around": 0.002},
    fails={"full": 0.3, "around": 0.9},
)
NOT_ENOUGH = Rule(
    "with weights held at the start the flow of biases ends more than {far:.0%} from training, and with weights that "
    "move less than that",
    lambda n, t: n.alone > t.far >= n.together,
    thresholds={"far": 0.1},
    holds={"alone": 0.8, "together": 0.01},
    fails={"alone": 0.02, "together": 0.01},
)
NEEDED = Rule(
    "with biases the loss falls below that of the best constant by at least {clear:.0%} of it on all data, and without "
    "by less than {none:.0%} of what it falls with them",
    lambda n, t: n.gain >= t.clear and n.kept < t.none,
    thresholds={"clear": 0.1, "none": 0.05},
    holds={"gain": 0.5, "kept": 0.0},
    fails={"gain": 0.5, "kept": 0.9},
)
SPARED = Rule(
    "without biases the loss falls below that of the best constant by at least {most:.0%} of what it falls with them, "
    "on all data; in part: on some",
    lambda n, t: n.least >= t.most,
    partly=lambda n, t: n.largest >= t.most,
    thresholds={"most": 0.5},
    holds={"least": 0.8, "largest": 0.9},
    part={"least": 0.3, "largest": 0.9},
    fails={"least": 0.1, "largest": 0.2},
)


@dataclass(frozen=True)
class ErfUnits(AbstractExperiment):
    """How do weights and biases of sigmoid units move on Gaussian data, and which units need a bias?"""

    name: ClassVar[str] = "erf_units"
    title: ClassVar[str] = "Sigmoid units: weights, biases, and which need one"
    cost: ClassVar[float] = 18.0

    cases: Annotated[int, Setting("random units and networks on which formulas are compared", kind=int, ge=1)] = 12
    gain: Annotated[float, Setting("gain of the data that are not Gaussian", gt=GAUSSIAN)] = 3.0
    units: Annotated[int, Setting("hidden units", kind=int, ge=2)] = 6
    streams: Annotated[int, Setting("streams of data, one a network, all from one start", kind=int, ge=2)] = 4
    steps: Annotated[int, Setting("steps of training", kind=int, ge=RECORDS)] = 1200
    rates: Annotated[tuple[float, ...], Setting("learning rates of erf and of ReLU units", gt=0, many=(2, 2))] = (
        0.3,
        0.3,
    )
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 16
    samples: Annotated[int, Setting("fresh samples that judge the networks", kind=int, ge=100, even=True)] = 4000

    @classmethod
    def paper(cls) -> "ErfUnits":
        return cls(cases=60, units=10, streams=6, steps=6000, batch=32, samples=40_000)

    def check(self) -> None:
        if self.steps % RECORDS:
            raise setting_error(type(self), "steps", self.steps, f"a multiple of {RECORDS}, the records of a run")

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Formulas against quadrature, then networks with and without biases, one of them beside its closed form."""
        formulas = _formulas(np.random.default_rng(seed_from(key)), self.cases)
        start = Xavier(0.5).weights(seed_keys(seeds_from(key, 1)), self.units, (SIZE,), np.float32)
        start = np.asarray(start)[0]
        kinds = [(kind, bias) for kind in CONSTANT for bias in (True, False)]
        runs = {}
        for i, (kind, bias) in enumerate(kinds):
            runs[kind, bias] = self._trained(kind, bias, start, jax.random.fold_in(key, 1))
            progress((i + 1) / (len(kinds) + 1))
        paths, alone = _beside(runs["erf", True], start.astype(float))
        judges = self._judges(jax.random.fold_in(key, 2))
        networks = {kind: _networks(kind[0], run, judges) for kind, run in runs.items()}
        return Measured(self, formulas, paths, alone, networks)

    def _trained(self, kind: str, bias: bool, start: np.ndarray, key: Any) -> Trajectory:
        """On Gaussian data and on others, from one start, on streams of data of their own."""
        return train(
            [TASKS[kind](gain) for gain in (GAUSSIAN, self.gain)],
            SoftCommittee(self.units, kind, bias=bias), steps=self.steps, batch=self.batch,
            rate=self.rates[list(CONSTANT).index(kind)], seeds=self.streams, init=[start, start], estimator="orbit",
            stream="independent", data_seed=seed_from(key), save_every=self.steps // RECORDS,
        )  # fmt: skip

    def _judges(self, key: Any) -> list[np.ndarray]:
        """Samples of both kinds of data, the short class in the first half."""
        tasks = (signed(gain) for gain in (GAUSSIAN, self.gain))
        return [np.asarray(task.sample(key, self.samples)[0]) for task in tasks]


TASKS = {"erf": signed, "relu": nlgp}
"""Labels -1 and 1 for erf units, 0 and 1 for ReLU units, as in the notes."""


def _gaussian() -> Task:
    return Task([Gaussian(SIZE, lengthscale) for lengthscale in WIDE], [-1, 1])


def _beside(run: Trajectory, start: np.ndarray) -> tuple[Paths, np.ndarray]:
    """Training on Gaussian data and closed form, each field with its bias as a last pixel, and biases alone."""
    time = np.atleast_2d(run.time)[0]
    trained = np.concatenate([run.weights[0], np.asarray(run.biases)[0, ..., None]], -1)
    return Paths(time, trained, _closed(start, time)), _biases_alone(start, time)


def _closed(start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The closed form, (time, unit, pixel and bias).

    By scipy: `exact_flow` gives the same, and the program that it compiles takes longer than all else here.
    """
    flow = GaussianErf.build(_gaussian(), SoftCommittee(len(start), "erf", bias=True), 1.0)
    assert flow is not None
    move: Callable[..., Any] = eqx.filter_jit(flow.velocity)
    first = np.concatenate([start, np.zeros((len(start), 1))], -1)

    def velocity(_: float, flat: np.ndarray) -> np.ndarray:
        state = flat.reshape(first.shape)
        w, b = move(state[:, :-1], state[:, -1])
        return np.concatenate([w, np.asarray(b)[:, None]], -1).ravel()

    path = solve_ivp(velocity, (0, times[-1]), first.ravel(), t_eval=times, rtol=1e-6, atol=1e-8)
    return path.y.T.reshape(-1, *first.shape)


def _biases_alone(weights: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The biases' own flow, (time, unit), with weights that stay where they start."""
    overlaps = _overlaps(weights)

    def velocity(_: float, b: np.ndarray) -> np.ndarray:
        return 2 / len(b) * closed_many(overlaps, b)

    path = solve_ivp(velocity, (0, times[-1]), np.zeros(len(weights)), t_eval=times, rtol=1e-6, atol=1e-8)
    return path.y.T


def _networks(kind: str, run: Trajectory, judges: list[np.ndarray]) -> "Networks":
    """Losses of a run on fresh samples of each kind of data, (data, network, time), and its final fields."""
    losses = []
    for i, x in enumerate(judges):
        biases = np.zeros(run.weights.shape[:-1]) if run.biases is None else np.asarray(run.biases)
        losses.append(_loss(kind, run.weights[i], biases[i], x))
    return Networks(np.atleast_2d(run.time)[0], np.array(losses), run.final)


def _loss(kind: str, weights: np.ndarray, biases: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The squared error of every network at every time."""
    found = np.empty(weights.shape[:2])
    y = np.repeat([-1.0, 1.0] if kind == "erf" else [0.0, 1.0], len(x) // 2)
    for where in np.ndindex(found.shape):  # one at a time keeps memory small
        h = weights[where] @ x.T + biases[where][:, None]
        output = erf(h * np.sqrt(0.5)) if kind == "erf" else np.maximum(h, 0)
        found[where] = np.mean((output.mean(0) - y) ** 2)
    return found


# Formulas ------------------------------------------------------------------------------------------------------------

SCALES: Mapping[str, float] = {"announced": np.sqrt(0.5), "written": 1.0}
"""erf(h/sqrt 2), and erf(h)."""


@functools.cache
def _normal_nodes(count: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of averages over a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes, weights / weights.sum()


def _slope(h: np.ndarray, scale: float) -> np.ndarray:
    """The derivative of erf(scale h)."""
    return 2 * scale / np.sqrt(np.pi) * np.exp(-((scale * h) ** 2))


def exact_one(long: float, short: float, bias: float, *, scale: float) -> float:
    """db/dt of one unit with labels 1 and 0, for half the squared error, by quadrature.

    ``long``, ``short``: variances of <w, X> in the classes.
    """
    nodes, weights = _normal_nodes()
    total = 0.0
    for label, variance in ((1.0, long), (0.0, short)):
        h = bias + np.sqrt(variance) * nodes
        total += weights @ ((label - erf(scale * h)) * _slope(h, scale)) / 2
    return float(total)


def printed_one(long: float, short: float, bias: float) -> float:
    """Eq. 42."""

    def response(variance: float) -> float:
        q = 2 * variance / (2 * variance + 1)
        return np.exp((q - 1) * bias**2) * erf((q - 1) / np.sqrt(1 + q) * bias)

    first = np.exp((1 / (2 * long + 1) - 1) * bias**2 / (2 * long))
    ratio = np.sqrt((2 * long + 1) / (2 * short + 1))
    return float((first + response(long) + ratio * response(short)) / np.sqrt(np.pi * (2 * long + 1)))


def exact_many(overlaps: Sequence[np.ndarray], biases: np.ndarray) -> float:
    """K db_1/dt of the first of K units with labels 1 and -1, for half the squared error, by quadrature.

    ``overlaps``: covariances of the preactivations in the two classes.
    """
    nodes, weights = _normal_nodes()
    scale, total = SCALES["announced"], 0.0
    for label, q in zip((1.0, -1.0), overlaps, strict=True):
        own = biases[0] + np.sqrt(q[0, 0]) * nodes
        given = [biases[k] + q[0, k] / q[0, 0] * (own - biases[0]) for k in range(len(biases))]
        rest = [np.sqrt(max(q[k, k] - q[0, k] ** 2 / q[0, 0], 0.0)) for k in range(len(biases))]
        output = [erf(scale * (g[:, None] + r * nodes)) @ weights for g, r in zip(given, rest, strict=True)]
        total += weights @ ((label - np.mean(output, axis=0)) * _slope(own, scale)) / 2
    return float(total)


def closed_many(overlaps: Sequence[np.ndarray], biases: np.ndarray) -> np.ndarray:
    """The same in closed form, for every unit: C2, with the mean and the factors that the notes miss."""
    total = np.zeros(len(biases))
    for label, q in zip((1.0, -1.0), overlaps, strict=True):
        own = 1 + np.diag(q)
        slope = np.sqrt(2 / (np.pi * own)) * np.exp(-(biases**2) / (2 * own))
        spread = own[None, :] - q**2 / own[:, None]
        other = erf((biases[None, :] - q * (biases / own)[:, None]) / np.sqrt(2 * spread))
        total += slope * (label - other.mean(1)) / 2
    return total


def printed_many(overlaps: Sequence[np.ndarray], biases: np.ndarray, *, around: bool = False) -> float:
    """The notes' flow of many biases, which has no number; or its form around initialisation."""
    count, b = len(biases), biases[0]
    teacher, own, others = 0.0, 0.0, 0.0
    for sign, q in zip((1.0, -1.0), overlaps, strict=True):
        s = q[0, 0]
        share = 1 - s / (s + 1)
        teacher += sign * np.sqrt(2 / np.pi) * np.exp(-(b**2) / (2 * (s + 1))) / np.sqrt(s + 1)
        own += np.exp(-share * b**2 / 2) / np.sqrt(s + 1) * erf(share * b / np.sqrt(2 * (1 + s / (s + 1))))
        tail = _around if around else _argument
        answers = sum(erf(tail(s, q[0, k], q[k, k], b, biases[k])) for k in range(1, count))
        others += np.exp(-(b**2) / (2 * (s + 1))) / np.sqrt(s + 1) * answers
    return float(teacher - own / (2 * count) - np.sqrt(2 / np.pi) * others / (2 * count))


def _argument(own: float, mixed: float, other: float, b: float, bias: float) -> float:
    """What stands in the error function of another unit."""
    rest = own + own * other - mixed**2
    head = (-mixed / own * b / (own + 1) + bias) / np.sqrt(1 + mixed**2 / rest / (own + 1))
    return head / np.sqrt(2 * (1 + other - mixed**2 / own))


def _around(own: float, mixed: float, other: float, b: float, bias: float) -> float:
    del own, mixed, b
    return bias / np.sqrt(2 * (1 + other))


@dataclass(frozen=True)
class Formulas:
    """What quadrature and the printed forms give on random cases.

    ``one``: exact for erf(h/sqrt 2), exact for erf(h), Eq. 42 (which, case). ``many``, ``near``: exact and printed
    (which, case), at biases of order 1 and around initialisation. ``corrected``: the closed form at the former.
    """

    one: np.ndarray
    many: np.ndarray
    near: np.ndarray
    corrected: np.ndarray


def _off(printed: np.ndarray, exact: np.ndarray) -> float:
    """Largest distance, in units of the largest exact value, for the flows pass through 0."""
    return float(np.abs(printed - exact).max() / np.abs(exact).max())


@functools.cache
def _covariances() -> tuple[np.ndarray, np.ndarray]:
    """Of the long class and of the short one."""
    short, long = (stimulus.covariance_matrix() for stimulus in _gaussian().stimuli)
    return long, short


def _overlaps(weights: np.ndarray) -> list[np.ndarray]:
    """Covariances of the preactivations in the long class and in the short one."""
    return [weights @ covariance @ weights.T for covariance in _covariances()]


def _formulas(random: np.random.Generator, cases: int) -> Formulas:
    variances, biases = random.uniform(0.2, 4.0, (cases, 2)), random.uniform(-2.0, 2.0, cases)
    rows = [(long, short, bias) for (long, short), bias in zip(variances.tolist(), biases.tolist(), strict=True)]
    one = [[exact_one(*row, scale=scale) for row in rows] for scale in SCALES.values()]
    one.append([printed_one(*row) for row in rows])
    weights = random.normal(size=(cases, MANY, SIZE)) / np.sqrt(SIZE)
    many, near = random.normal(size=(cases, MANY)), SMALL * random.normal(size=(cases, MANY))
    overlaps = [_overlaps(w) for w in weights]
    corrected = [closed_many(q, b)[0] for q, b in zip(overlaps, many, strict=True)]
    return Formulas(
        np.array(one),
        _compared(overlaps, many, printed_many),
        _compared(overlaps, near, lambda q, b: printed_many(q, b, around=True)),
        np.array(corrected),
    )


def _compared(overlaps: Sequence[Any], biases: np.ndarray, form: Callable[[Any, np.ndarray], float]) -> np.ndarray:
    return np.array([[f(q, b) for q, b in zip(overlaps, biases, strict=True)] for f in (exact_many, form)])


# What is said of it ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Networks:
    """Networks of one kind on two kinds of data: losses (data, network, time), final fields (data, network, ...)."""

    time: np.ndarray
    losses: np.ndarray
    fields: np.ndarray

    def gains(self, constant: float) -> np.ndarray:
        """How far the last loss is below that of the best constant, in units of it, (data, network)."""
        return 1 - self.losses[..., -1] / constant


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Formulas, a network beside its closed form, its biases with weights held fixed, and networks by kind and bias."""

    experiment: ErfUnits
    formulas: Formulas
    paths: Paths
    alone: np.ndarray
    networks: Mapping[tuple[str, bool], Networks]

    # Numbers ---------------------------------------------------------------------------------------------------------

    @property
    def _data(self) -> tuple[str, str]:
        return "Gaussian", f"NLGP({self.experiment.gain:g})"

    def gains(self, kind: str, bias: bool) -> np.ndarray:
        """Over the best constant, (data, network)."""
        return self.networks[kind, bias].gains(CONSTANT[kind])

    def kept(self, kind: str) -> np.ndarray:
        """The share of the gain that is left without biases, (data)."""
        return self.gains(kind, False).mean(1) / self.gains(kind, True).mean(1)

    def _kept_error(self, kind: str) -> np.ndarray:
        """Its standard error over networks, (data)."""
        gains = self.gains(kind, False)
        return gains.std(1, ddof=1) / np.sqrt(gains.shape[1]) / self.gains(kind, True).mean(1)

    def bias_distances(self) -> tuple[float, float]:
        """Of biases alone and of the whole closed form from training, at the last record, relative."""
        trained, closed = (path[-1, :, -1] for path in (self.paths.mean, self.paths.exact))
        alone, together = (np.linalg.norm(b - trained) / np.linalg.norm(trained) for b in (self.alone[-1], closed))
        return float(alone), float(together)

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._one(), self._many(), self._followed(), self._not_enough(), self._needed(), self._spared()

    def _one(self) -> Claim:
        announced, written, printed = self.formulas.one
        return ONE_UNIT.claim(
            "Eq. 42 is the flow of the bias of one sigmoid unit.",
            source=f"{NETWORKS}, section 3, Eqs. 37 to 43",
            reported="derived",
            numbers=[Number("announced", _off(printed, announced)), Number("written", _off(printed, written))],
            said="largest distance from quadrature, relative to the largest value: {announced:.2g} for erf(h/sqrt 2), "
            "{written:.1e} for erf(h)",
            basis=f"{self.experiment.cases} random units; no samples",
            expected=by_theory("holds in part", "erratum B-28"),
            reasons={"holds in part": "The section announces erf(h/sqrt 2) and derives the flow of erf(h)."},
        )

    def _many(self) -> Claim:
        found = self.formulas
        return MANY_UNITS.claim(
            "The flow of a bias among many sigmoid units is the one printed.",
            source=f"{NETWORKS}, section 3, 'Multiple Neurons'",
            reported="derived, without a number, in full and around initialisation",
            numbers=[
                Number("full", _off(found.many[1], found.many[0])),
                Number("around", _off(found.near[1], found.near[0])),
                Number("right", _off(found.corrected, found.many[0])),
            ],
            said="largest distance from quadrature, relative to the largest value: {full:.2g} in full, {around:.2g} "
            "around initialisation, {right:.1e} for the closed form",
            basis=f"{self.experiment.cases} random networks of {MANY} units; no samples",
            expected=by_theory("does not hold", "erratum B-29"),
            reasons={
                "does not hold": "The first line lacks 1/2, the second sqrt(2/pi), and the mean of another unit is b_k "
                "- s_1k b_1/(1 + s_11) (erratum B-29)."
            },
        )

    def _followed(self) -> Claim:
        it, path = self.experiment, self.paths
        return FOLLOWED.claim(
            "The flow of the receptive fields of sigmoid units, whose heading has no text, has a closed form, which "
            "training follows with its biases.",
            source=f"{NETWORKS}, section 3, 'Receptive field' and 'Multiple Neurons'",
            reported="left blank",
            numbers=[
                Number("deviation", path.deviation().max(), unit="standard errors"),
                Number("distance", path.distance()[-1]),
            ],
            said="at most {deviation:.1f} standard errors of the mean over streams at any record; relative distance at "
            "the last {distance:.4f}",
            basis=f"{it.units} units, {it.streams} streams from one start, {it.steps:,} steps of {it.batch} samples "
            "with all their shifts and signs",
            expected=by_theory("holds", "Stein's lemma and four averages of erf, C2"),
        )

    def _not_enough(self) -> Claim:
        it = self.experiment
        alone, together = self.bias_distances()
        return NOT_ENOUGH.claim(
            "Analyzing the bias term may not be sufficient: one might have to look at the evolution of the receptive "
            "field too.",
            source=f"{NETWORKS}, section 3, the note after Eq. 43",
            reported="a suspicion",
            numbers=[Number("alone", alone), Number("together", together)],
            said="at the last record the biases are {alone:.0%} of their norm from training where weights are held at "
            "the start, and {together:.1%} where they move",
            basis=f"{it.units} units, {it.streams} streams, to t = {self.paths.time[-1]:g}",
            expected=as_measured("holds"),
            reasons={"holds": "Biases feed the growth of the weights that push them: each needs the other."},
        )

    def _needed(self) -> Claim:
        gains, kept, error = self.gains("erf", True), self.kept("erf"), self._kept_error("erf")
        shown = ", ".join(f"{name} {g:.0%} and {k:.1%}" for name, g, k in self._rows("erf"))
        return NEEDED.claim(
            "For a sigmoid activation we need a learnable bias term.",
            source=f"{NETWORKS}, sections 1 and 3",
            reported="needed, because of the symmetry about 0",
            numbers=[
                Number("gain", gains.mean(1).min(), gains.std(1, ddof=1).max() / np.sqrt(gains.shape[1])),
                Number("kept", kept.max(), error[kept.argmax()]),
            ],
            said=f"with biases the loss is below that of the best constant by, and without them by a share of that of: "
            f"{shown}",
            basis=self._networks(),
            expected=by_theory("holds", "an odd output has mean 0 in each class, so the loss is 1 + E yhat^2"),
            reasons={
                "holds": "Without a bias the output is odd in x, and on sign-symmetric data the loss is that of an "
                "output of 0 plus its own power: an erf network can only learn to be silent."
            },
        )

    def _spared(self) -> Claim:
        kept, error = self.kept("relu"), self._kept_error("relu")
        shown = ", ".join(f"{name} {g:.0%} and {k:.0%}" for name, g, k in self._rows("relu"))
        return SPARED.claim(
            "For ReLU one can remove the bias terms.",
            source=f"{NETWORKS}, section 1",
            reported="one can further remove the bias terms (though not for sigmoid)",
            numbers=[
                Number("least", kept.min(), error[kept.argmin()]),
                Number("largest", kept.max(), error[kept.argmax()]),
            ],
            said=f"with biases the loss is below that of the best constant by, and without them by a share of that of: "
            f"{shown}",
            basis=self._networks(),
            expected=as_measured("holds"),
        )

    def _rows(self, kind: str) -> list[tuple[str, float, float]]:
        return list(zip(self._data, self.gains(kind, True).mean(1), self.kept(kind), strict=True))

    def _networks(self) -> str:
        it = self.experiment
        return f"{it.streams} networks of {it.units} units a condition, {it.steps:,} steps; {it.samples:,} samples"

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        return self._beside(), self._losses(), self._table()

    def _beside(self) -> Figure:
        path = self.paths
        sets = {"start": path.mean[0], "training": path.mean[-1], "closed form": path.exact[-1]}
        fields = tuple(Fields(name, w[:SHOWN, :-1]) for name, w in sets.items())
        names = [f"unit {i}" for i in range(min(SHOWN, path.exact.shape[1]))]
        columns = {name: i for i, name in enumerate(names)}
        closed, trained, held = (
            {name: values[:, i] for name, i in columns.items()}
            for values in (path.exact[..., -1], path.mean[..., -1], self.alone)
        )
        kinds = ("closed form", "training")
        biases = Lines("biases", path.time, closed, trained, xlabel="time", ylabel="bias", kinds=kinds)
        frozen = Lines("biases, weights held", path.time, held, trained, xlabel="time", kinds=kinds)
        way = Lines("distance from training", path.time[1:], {"closed form": path.distance()}, xlabel="time")
        return Figure("A network of erf units on Gaussian data", (fields, (biases, frozen, way)))

    def _losses(self) -> Figure:
        rows = []
        for kind, constant in CONSTANT.items():
            found = {"with biases": self.networks[kind, True], "without": self.networks[kind, False]}
            time = found["without"].time
            curves = {
                f"{data}, {name}": n.losses[i].mean(0) / constant
                for i, data in enumerate(self._data)
                for name, n in found.items()
            }
            fields = (Fields(f"{self._data[1]}, {name}", n.fields[1, 0][:SHOWN]) for name, n in found.items())
            lines = Lines("loss over that of a constant", time, curves, xlabel="time (steps x rate)")
            rows.append((lines, *fields))
        return Figure("With biases and without", tuple(rows), labels=("erf", "ReLU"))

    def _table(self) -> Figure:
        rows = []
        for (kind, bias), n in self.networks.items():
            for i, data in enumerate(self._data):
                local = localized(n.fields[i]).mean()
                loss = n.losses[i, :, -1].mean()
                gain = self.gains(kind, bias)[i].mean()
                rows.append((kind, data, "yes" if bias else "no", f"{loss:.4f}", f"{gain:.1%}", f"{local:.0%}"))
        columns = ("units", "data", "biases", "loss", "below the best constant", "localized units")
        return Figure("Losses with biases and without", ((Table("", columns, tuple(rows)),),))

    def text(self) -> str:
        it, found = self.experiment, self.formulas
        announced, written, printed = found.one
        alone, together = self.bias_distances()
        erf_kept, relu_kept = (", ".join(f"{k:.1%}" for k in self.kept(kind)) for kind in CONSTANT)
        return (
            "The notes work out how the biases of sigmoid units move on Gaussian data, leave the weights blank, and "
            f"say that such units need a bias where ReLU units do not. Their Eq. 42 is exact for erf(h) (within "
            f"{_off(printed, written):.0e}) but not for the erf(h/sqrt 2) that they announce (off by up to "
            f"{_off(printed, announced):.2g} of the largest value); the flow of many biases is off by up to "
            f"{_off(found.many[1], found.many[0]):.2g}. With Stein's lemma all averages that weights and biases need "
            f"have closed forms, and {it.units} units in training stay within {self.paths.deviation().max():.1f} "
            f"standard errors of that flow. The weights matter for the biases: with weights held at the start the "
            f"biases end {alone:.0%} of their norm away from training, with weights that move {together:.1%}. Without "
            "biases the output of an erf network is odd in x, so that its mean over each class is 0 and its loss that "
            "of silence plus its own power. Of what networks with biases gain over the best constant, erf units "
            f"without them keep {erf_kept} on Gaussian data and NLGP({it.gain:g}), ReLU units {relu_kept}. "
            f"Lengthscales {WIDE[0]:g} and {WIDE[1]:g}; {self._networks()}. How the sign of a bias follows from the "
            "start is asked among the two populations of sigmoid units."
        )
