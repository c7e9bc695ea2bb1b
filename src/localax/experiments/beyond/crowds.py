"""What decides whether many units localize: neurons alone and in crowds, on laws that differ in bulk or in tails alone.

Laws are made of a *bulk* (flat, normal or peaked, the middle nine tenths of the values) and of *tails* whose weight is
chosen such that the excess kurtosis comes out as wanted. Neurons and committees start from the same fields and see the
same batches. The derivation is in ``docs/derivations/crowds.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import equinox as eqx
import jax
import numpy as np

from ..._errors import setting_error
from ..._progress import Update
from ...analysis import concentration, localized
from ...networks import SoftCommittee
from ...outcome import Claim, Fields, Figure, Lines, Number, Rule, Scatter, Table, as_measured, by_theory, finite
from ...spec import Setting
from ...stimuli import Circulant, Copula, Normal, SquaredExponential, Task
from ...theory.flows import GaussianReLU
from ...training import SaveAt
from ...trajectory import Trajectory
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.bulk_and_tails import BULKS, FAR, MIDDLE, STATISTICS, TITLES, TOWARDS, Law, laws, spliced_name
from ..toolkit.neuron import orbit
from ..toolkit.populations import some
from ..toolkit.presets import by_preset
from ..toolkit.seeds import seed_from
from ..toolkit.side_by_side import Kind, SideBySide, shares
from ..toolkit.sources import DERIVED
from ..toolkit.tasks import NARROW, SIZE, WIDE, binary
from ..toolkit.train import train
from ..toolkit.words import listed

START = 0.007
"""Standard deviation of a starting weight."""
SHORT_STEP = 0.01
"""Step in time while neurons and committees are still close."""
SHORT_STEPS = 96
SHORT_EVERY = 3
LEFT = 0.1
"""Relative distance from the neuron's path at which a unit of a committee has left it."""
RECORDS = 20
SHOWN = 4
"""Fields of a group that are drawn."""
LOCAL = (0.7, 1.0, 1.4, 2.0, 2.8, 3.9)
"""Widths of bumps that are localized on 40 pixels, in the contest."""
BROAD = (5.5, 8.0, 12.0, 1e6)
SCRAMBLES = 3

CLOSE = (
    "on some laws about half of the units are localized, and whether more than half are changes with time and starts"
)
TAILS_HELP = (
    "The bulk is not all: with one and the same flat or normal bulk a crowd localizes more where tails are heavier, as "
    "one would expect of bumps that are apart and do not share outlying pixels; that this is why was not tested."
)

ONE = Rule(
    "over all laws, Geary's ratio tells those on which most neurons localize from the others with an AUC of at least "
    "{clear:g}, and no other statistic has a larger one; in part: an AUC of at least {clear:g}",
    lambda n, t: n.geary >= t.clear and n.geary >= max(n.kurtosis, n.bulk, n.tails),
    partly=lambda n, t: n.geary >= t.clear,
    thresholds={"clear": 0.9},
    holds={"geary": 0.97, "kurtosis": 0.9, "bulk": 0.9, "tails": 0.6},
    part={"geary": 0.92, "kurtosis": 0.97, "bulk": 0.9, "tails": 0.6},
    fails={"geary": 0.8, "kurtosis": 0.97, "bulk": 0.9, "tails": 0.6},
)
MANY = Rule(
    "over all laws, the bulk tells those on which most units of the widest committees localize from the others with an "
    "AUC of at least {clear:g}, and the kurtosis has one that is smaller by {apart:g} or more; in part: the kurtosis "
    "has a smaller one",
    lambda n, t: n.bulk >= t.clear and n.bulk - n.kurtosis >= t.apart,
    partly=lambda n, _: n.bulk > n.kurtosis,
    thresholds={"clear": 0.9, "apart": 0.1},
    holds={"bulk": 0.97, "kurtosis": 0.6, "geary": 0.9, "tails": 0.4},
    part={"bulk": 0.8, "kurtosis": 0.75, "geary": 0.9, "tails": 0.4},
    fails={"bulk": 0.7, "kurtosis": 0.9, "geary": 0.9, "tails": 0.4},
)
CONTEST = Rule(
    "at the widest committees the contest says of at least {right:.0%} of the laws whether most units localize, and on "
    "Gaussian data the share of localized units is within {chance:.0%} of the units of that of their phase-scrambled "
    "copies; in part: one of the two",
    lambda n, t: n.right >= t.right and n.gaussian <= t.chance,
    partly=lambda n, t: n.right >= t.right or n.gaussian <= t.chance,
    thresholds={"right": 0.9, "chance": 0.15},
    holds={"right": 1.0, "gaussian": 0.02},
    part={"right": 0.7, "gaussian": 0.02},
    fails={"right": 0.5, "gaussian": 0.5},
)
LEAVE = Rule(
    "on every law and at every width that is followed, the time at which the median unit is a tenth of its norm away "
    "from the neuron of the same start is within {close:.0%} of that of the closed form for Gaussian classes of the "
    "same covariance; in part: in the median over laws and widths",
    lambda n, t: n.worst <= t.close,
    partly=lambda n, t: n.median <= t.close,
    thresholds={"close": 0.2},
    holds={"worst": 0.1, "median": 0.04},
    part={"worst": 0.5, "median": 0.1},
    fails={"worst": 0.9, "median": 0.4},
)
TWO = Rule(
    "at short lengthscales, on every law, the share of localized units of committees of two is within {apart:.0%} of "
    "the units of that of neurons, and the median n IPR within a factor of {factor:g}; in part: the shares are",
    lambda n, t: n.gap <= t.apart and n.factor <= t.factor,
    partly=lambda n, t: n.gap <= t.apart,
    thresholds={"apart": 0.25, "factor": 1.25},
    holds={"gap": 0.05, "factor": 1.1},
    part={"gap": 0.05, "factor": 1.6},
    fails={"gap": 0.6, "factor": 1.6},
)

AREAS = (
    "AUC: Geary's ratio {geary:.2f}, excess kurtosis {kurtosis:.2f}, kurtosis of the bulk {bulk:.2f}, tails {tails:.2f}"
)


# The experiment -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Crowds(AbstractExperiment):
    """Which statistic of a pixel decides whether units localize, for one unit and for many?"""

    name: ClassVar[str] = "crowds"
    title: ClassVar[str] = "What decides for a crowd"
    cost: ClassVar[float] = 25.0

    widths: Annotated[
        tuple[int, ...], Setting("units K of the committees, beside one and two", kind=int, ge=3, many=(1, None))
    ] = (5, 20)
    units: Annotated[int, Setting("starting fields, which every width shares out", kind=int, ge=2)] = 20
    excesses: Annotated[
        tuple[float, ...], Setting("excess kurtosis that every bulk is given", gt=-0.3, le=20, many=(1, None))
    ] = (-0.25, 3.0)
    further: Annotated[bool, Setting("more laws, units with biases, erf units, plain batches", kind=bool)] = False
    short: Annotated[int, Setting("laws that are trained at short lengthscales too", kind=int, ge=1)] = 2
    steps: Annotated[int, Setting("steps of training", kind=int, ge=RECORDS)] = 1000
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2)] = 16
    rate: Annotated[float, Setting("learning rate of a single neuron", gt=0)] = 0.15
    samples: Annotated[int, Setting("samples of a class that the contest is held on", kind=int, ge=100)] = 2000

    @classmethod
    def paper(cls) -> "Crowds":
        return cls(widths=(5, 20, 50), units=50, excesses=(-0.25, 1.0, 3.0), further=True, samples=8000)

    def check(self) -> None:
        if self.units < max(self.widths):
            raise setting_error(Crowds, "units", self.units, f"at least {max(self.widths)}, the largest width")

    @property
    def crowd(self) -> Kind:
        """The width that stands for many: 20, else the largest."""
        return Kind(20 if 20 in self.widths else max(self.widths))

    @property
    def followed(self) -> tuple[int, ...]:
        """The widths whose first steps are compared with the closed form: those that divide that of the crowd."""
        return tuple(width for width in self.widths if self.crowd.width % width == 0)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        width = self.crowd.width
        more = (Kind(width, bias=True), Kind(width, "erf", True)) if self.further else ()
        return (Kind(1), Kind(2), *map(Kind, sorted(set(self.widths))), *more)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Train all kinds at once from the same starts, follow the closed form, and hold the contest."""
        chosen = laws(self.excesses, self.further)
        draws = np.random.default_rng(seed_from(key)).normal(size=(self.units, SIZE))
        trainer = Trainer(self, chosen, (START * draws).astype(np.float32), seed_from(key))
        groups, narrow = trainer.ends(self.kinds, "orbit")
        progress(0.7)
        plain = trainer.ends((self.crowd,), "plain")[0][self.crowd] if self.further else None
        early, closed = trainer.early(self.kinds), trainer.closed_forms()
        progress(0.9)
        contest = _contest(chosen, (1, *self.widths), seed_from(jax.random.fold_in(key, 1)), self.samples)
        return Measured(self, chosen, groups, narrow, plain, early, closed, contest)


@dataclass(frozen=True, eq=False)
class Trainer:
    """All networks of the experiment, on all laws at once."""

    it: Crowds
    laws: tuple[Law, ...]
    starts: np.ndarray
    seed: int

    def _run(self, kinds: tuple[Kind, ...], estimator: str, steps: int, rate: float, every: int) -> Trajectory:
        """On all laws at long lengthscales, then on some at short ones; weights (law, 1, time, unit, pixel)."""
        network = self._network(kinds)
        tasks = [law.task(WIDE) for law in self.laws] + [law.task(NARROW) for law in self.laws[: self.it.short]]
        batch = self.it.batch * (SIZE if estimator == "plain" else 1)
        return train(
            tasks, network, steps=steps, batch=batch, rate=rate, data_seed=self.seed, estimator=estimator,
            init=np.concatenate([self.starts[:n] for n in network.used])[None], saveat=SaveAt(every, record=()),
            loss=network.loss,
        )  # fmt: skip

    def _network(self, kinds: tuple[Kind, ...]) -> SideBySide:
        return SideBySide(kinds, [len(self.starts) // kind.width * kind.width for kind in kinds])

    def ends(self, kinds: tuple[Kind, ...], estimator: str) -> "tuple[dict[Kind, Group], dict[Kind, Group]]":
        """Training, by kind, at long and at short lengthscales."""
        run = self._run(kinds, estimator, self.it.steps, self.it.rate, self.it.steps // RECORDS)
        paths, count, time = self._by_kind(kinds, run), len(self.laws), np.asarray(run.time)
        long = {kind: Group(kind, time, weights[:count]) for kind, weights in paths.items()}
        return long, {kind: Group(kind, time, weights[count:]) for kind, weights in paths.items()}

    def early(self, kinds: tuple[Kind, ...]) -> dict[int, np.ndarray]:
        """The first short while of ReLU units without biases, by width; (law, time, start, pixel)."""
        run = self._run(kinds, "orbit", SHORT_STEPS, SHORT_STEP, SHORT_EVERY)
        paths = self._by_kind(kinds, run)
        return {kind.width: w[: len(self.laws)] for kind, w in paths.items() if kind == Kind(kind.width)}

    def _by_kind(self, kinds: tuple[Kind, ...], run: Trajectory) -> dict[Kind, np.ndarray]:
        """Weights (law, time, start, pixel)."""
        network = self._network(kinds)
        return network.by_kind(run.weights[:, 0], network.used, axis=2)

    def closed_forms(self) -> dict[int, np.ndarray]:
        """The same steps of the closed form, on Gaussian classes that have the covariances of the laws, by width.

        Units that are alike count as one, so that all widths are that of the crowd, and one program does.
        """
        flows = [GaussianReLU.build(_gaussian(law.task(WIDE)), SoftCommittee(2), 0.0) for law in self.laws]
        stack, common = jax.tree.map(lambda *leaves: np.stack(leaves), *flows), self.it.crowd.width
        widths = (1, *self.it.followed)
        counts = [len(self.starts) // width for width in widths]
        starts = [
            np.repeat(self.starts[: n * width].reshape(n, width, SIZE), common // width, axis=1)
            for n, width in zip(counts, widths, strict=True)
        ]
        paths = np.moveaxis(np.asarray(_followed(stack, np.concatenate(starts).astype(float))), 1, 2)
        parts = np.split(paths, np.cumsum(counts)[:-1], axis=2)
        return {
            width: part[..., :: common // width, :].reshape(*part.shape[:2], -1, SIZE)
            for width, part in zip(widths, parts, strict=True)
        }


def _gaussian(task: Task) -> Task:
    """Gaussian classes of the same covariance."""
    return binary(*(Copula(SIZE, Circulant(row / row[0]), Normal()) for row in (s.covariance() for s in task.stimuli)))


@eqx.filter_jit
def _followed(flows: GaussianReLU, starts: Any) -> Any:
    """Euler steps as training takes them, for all laws and networks; (law, network, time, unit, pixel)."""

    def one(flow: GaussianReLU, weights: Any) -> Any:
        def step(w: Any, _: Any) -> tuple[Any, Any]:
            return w + SHORT_STEP * len(w) * flow.velocity(w, None)[0], w

        return jax.lax.scan(step, weights, None, SHORT_STEPS + 1)[1][::SHORT_EVERY]

    return jax.lax.map(lambda flow: jax.vmap(lambda w: one(flow, w))(starts), flows)


# The contest of bumps with their phase-scrambled copies ---------------------------------------------------------------


def _contest(chosen: Sequence[Law], widths: Sequence[int], seed: int, samples: int) -> dict[int, np.ndarray]:
    """For every width, by law: the logarithm of the best gain of bumps over that of fields with scrambled phases."""
    rng = np.random.default_rng(seed)
    turns = [_turn(rng) for _ in range(SCRAMBLES)]
    latent = [_latent(SquaredExponential(lengthscale), rng, samples) for lengthscale in WIDE]
    x = [[(np.sign(z) * law.magnitude(np.abs(z))).astype(np.float32) for z in latent] for law in chosen]
    return {width: np.array([_gap(both, max(width // 2, 1), turns) for both in x]) for width in widths}


def _latent(covariance: SquaredExponential, rng: np.random.Generator, samples: int) -> np.ndarray:
    """Samples of the Gaussian field behind the laws."""
    spectrum = np.maximum(np.fft.rfft(np.asarray(Copula(SIZE, covariance, Normal()).covariance())).real, 0)
    return np.fft.irfft(np.fft.rfft(rng.normal(size=(samples, SIZE))) * np.sqrt(spectrum), SIZE)


def _gap(x: Sequence[np.ndarray], pairs: int, turns: Sequence[np.ndarray]) -> float:
    local = max(_gain(x, _tiled(pairs, width)) for width in LOCAL)
    scrambled = (
        np.mean([_gain(x, _turned(_tiled(pairs, width), turn)) for turn in turns]) for width in (*LOCAL, *BROAD)
    )
    return float(np.log(local / max(scrambled)))


def _gain(x: Sequence[np.ndarray], fields: np.ndarray) -> float:
    """How far fields and their mirror images take the loss at the best height: (E_1 A)^2/(2 (E_0 A^2 + E_1 A^2))."""
    zero, one = (np.abs(each @ fields.T).mean(1, dtype=float) for each in x)
    return float(one.mean() ** 2 / (2 * (np.mean(zero**2) + np.mean(one**2))))


def _tiled(pairs: int, width: float) -> np.ndarray:
    """Gaussian bumps, evenly spaced on the ring."""
    apart = (np.arange(SIZE) - np.round(np.arange(pairs) * SIZE / pairs)[:, None] + SIZE / 2) % SIZE - SIZE / 2
    return np.exp(-(apart**2) / (2 * width**2)).astype(np.float32)


def _turn(rng: np.random.Generator) -> np.ndarray:
    """A random phase for every wave, a sign for the two that are real."""
    turn = np.exp(2j * np.pi * rng.random(SIZE // 2 + 1))
    turn[[0, -1]] = rng.choice([-1.0, 1.0], 2)
    return turn


def _turned(fields: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Fields with one and the same phases added: all their overlaps under circulant covariances stay."""
    return np.fft.irfft(np.fft.rfft(fields) * turn, SIZE).astype(np.float32)


# What was measured ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Group:
    """Committees of one kind on some laws: fields (law, time, unit, pixel)."""

    kind: Kind
    time: np.ndarray
    weights: np.ndarray

    @property
    def fields(self) -> np.ndarray:
        """At the end, (law, unit, pixel)."""
        return self.weights[:, -1]

    @cached_property
    def local(self) -> np.ndarray:
        """Which units are localized, (law, unit)."""
        return np.asarray(localized(self.fields))

    @cached_property
    def share(self) -> np.ndarray:
        """Of the units that are localized, by law."""
        return shares(self.local, self.kind.width)[0]

    @cached_property
    def error(self) -> np.ndarray:
        """Of the share."""
        return shares(self.local, self.kind.width)[1]

    @cached_property
    def sharpness(self) -> np.ndarray:
        """The median n IPR, by law."""
        return np.median(np.asarray(concentration(self.fields)), axis=1)


def _area(statistic: np.ndarray, positive: np.ndarray, tie: float = 1e-3) -> float | None:
    """The chance that one of the positive laws has more of a statistic than one of the others; ties count half."""
    more, less = statistic[positive, None], statistic[~positive]
    if not more.size or not less.size:
        return None
    alike = np.abs(more - less) <= tie
    return float(np.mean(np.where(alike, 0.5, more > less)))


def _distance(committee: np.ndarray, alone: np.ndarray) -> np.ndarray:
    """The median relative distance of paths (law, time, start, pixel); (law, time)."""
    alone = alone[:, :, : committee.shape[2]]
    return np.median(np.linalg.norm(committee - alone, axis=-1) / np.linalg.norm(alone, axis=-1), axis=2)


def _leaving(committee: np.ndarray, alone: np.ndarray) -> np.ndarray:
    """When the median unit is `LEFT` away from the neuron of its start, by law; NaN where never."""
    distances = _distance(committee, alone)
    times = np.arange(distances.shape[1]) * SHORT_STEP * SHORT_EVERY
    return np.array([_crossing(times, row) for row in distances])


def _crossing(times: np.ndarray, row: np.ndarray) -> float:
    above = np.flatnonzero(row >= LEFT)
    if not len(above) or above[0] == 0:
        return float("nan")
    i = above[0]
    return float(np.interp(LEFT, row[i - 1 : i + 1], times[i - 1 : i + 1]))


def _scrambled_share(fields: np.ndarray, copies: int) -> float:
    """How many fields are localized when their phases are drawn anew, each its own."""
    rng = np.random.default_rng(0)
    turns = np.array([[_turn(rng) for _ in fields] for _ in range(copies)])
    return float(np.mean(np.asarray(localized(np.fft.irfft(np.fft.rfft(fields) * turns, SIZE)))))


def _cosines(fields: np.ndarray) -> np.ndarray:
    """Of the two units of every pair, (law, pair)."""
    unit = fields / np.linalg.norm(fields, axis=-1, keepdims=True)
    return np.sum(unit[:, ::2] * unit[:, 1::2], axis=-1)


def _written(area: float | None) -> str:
    return "none" if area is None else f"{area:.2f}"


@dataclass(frozen=True, eq=False)
class Measured(AbstractMeasured):
    """Committees by kind, at long and at short lengthscales; paths of the first short while, by width; the contest."""

    experiment: Crowds
    laws: tuple[Law, ...]
    groups: dict[Kind, Group]
    narrow: dict[Kind, Group]
    plain: Group | None
    early: dict[int, np.ndarray]
    closed: dict[int, np.ndarray]
    contest: dict[int, np.ndarray]

    @property
    def _many(self) -> Group:
        return self.groups[self.experiment.crowd]

    def _basis(self) -> str:
        it = self.experiment
        return (
            f"{len(self.laws)} laws at lengthscales {WIDE[0]:g} and {WIDE[1]:g}; {it.units} starting fields, shared by "
            f"all widths; {it.steps:,} steps of {orbit(it.batch)}, to time {it.steps * it.rate:g}"
        )

    def _values(self, name: str) -> np.ndarray:
        return np.array([law.statistics[name] for law in self.laws])

    def _areas(self, group: Group) -> dict[str, float | None]:
        """The AUC of every statistic."""
        return {
            name: _area(way * self._values(name), group.share > 0.5)
            for name, way in zip(STATISTICS, TOWARDS, strict=True)
        }

    def _decides(self, group: Group) -> list[Number]:
        """These as numbers, with the error of a share of the smaller of the two groups of laws."""
        count = int((group.share > 0.5).sum())
        least = max(min(count, len(self.laws) - count), 1)
        return [
            Number(name, area, None if area is None else float(np.sqrt((area * (1 - area) + 0.02) / least)))
            for name, area in self._areas(group).items()
        ]

    def _shares(self, group: Group) -> str:
        return ", ".join(f"{law.name} {share:.0%}" for law, share in zip(self.laws, group.share, strict=True))

    # Claims -----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._one(), self._crowd(), self._contested(), self._leave(), self._two()

    def _one(self) -> Claim:
        return ONE.claim(
            "For one neuron Geary's ratio of a pixel decides whether it localizes, at least as well as the kurtosis.",
            source=f"{DERIVED}, crowds",
            reported="the loss at the best height is 1/2 - C^2/(4 (1 + r)), C Geary's ratio of <w, X>",
            numbers=self._decides(self.groups[Kind(1)]),
            said=f"{AREAS}. Localized neurons: {self._shares(self.groups[Kind(1)])}",
            basis=self._basis(),
            expected=as_measured("holds"),
        )

    def _crowd(self) -> Claim:
        return MANY.claim(
            "For many units the bulk of a pixel's law decides, and the kurtosis does not.",
            source=f"{DERIVED}, crowds",
            reported="the hold of Geary's ratio on the loss fades as 1/(1 + (M - 1) C^2) with M pairs of units",
            numbers=self._decides(self._many),
            said=f"{AREAS}. Localized units at {self._many.kind}: {self._by_bulk()}; {self._shares(self._many)}",
            basis=self._basis(),
            expected=by_preset(self.experiment, quick="holds", paper="holds in part", why=CLOSE),
            reasons=dict.fromkeys(("holds", "holds in part"), TAILS_HELP),
        )

    def _by_bulk(self) -> str:
        """Shares of the crowd for one bulk and more and more kurtosis."""
        share = dict(zip((law.name for law in self.laws), self._many.share, strict=True))
        excesses = sorted(self.experiment.excesses)
        rows = (f"{bulk} bulk {listed((share[spliced_name(bulk, e)] for e in excesses), '.0%')}" for bulk in BULKS)
        return f"at excess kurtosis {listed(excesses, '+g')}: {'; '.join(rows)}"

    def _contested(self) -> Claim:
        many = self._many
        agree = (self.contest[many.kind.width] > 0) == (many.share > 0.5)
        right, local, copies = (
            float(agree.mean()),
            float(many.share[0]),
            _scrambled_share(many.fields[0], len(self.laws)),
        )
        wrong = listed(law.name for law, ok in zip(self.laws, agree, strict=True) if not ok)
        return CONTEST.claim(
            "On Gaussian data committees localize by chance alone, whatever their width; on other data they do where "
            "tiled bumps beat their phase-scrambled copies.",
            source=f"{DERIVED}, crowds",
            reported="on elliptical classes the loss is the same for all phases; what is not elliptical breaks the tie",
            numbers=[
                Number("right", right, float(np.sqrt((right * (1 - right) + 0.02) / len(agree))), "of the laws"),
                Number("gaussian", abs(local - copies), float(many.error[0]), "of the units"),
            ],
            said=f"at {many.kind} the contest is right on {{right:.0%}} of the laws (wrong: {wrong or 'none'}), its "
            f"AUC is {_written(_area(self.contest[many.kind.width], many.share > 0.5, 0.0))}; on Gaussian data "
            f"{local:.0%} of the units are localized, and {copies:.0%} of their scrambled copies",
            basis=f"{self._basis()}; the contest on {self.experiment.samples:,} samples of a class",
            expected=by_preset(
                self.experiment,
                quick="holds",
                paper="holds in part",
                why=CLOSE,
            ),
        )

    def _times(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        """When units leave, in training and by the closed form, by law."""
        return _leaving(self.early[width], self.early[1]), _leaving(self.closed[width], self.closed[1])

    def _leave(self) -> Claim:
        found = {width: self._times(width) for width in self.experiment.followed}
        off = np.abs([measured / closed - 1 for measured, closed in found.values()])
        shown = "; ".join(
            f"K = {width}: {measured.min():.3f} to {measured.max():.3f}, closed form {closed.min():.3f} to "
            f"{closed.max():.3f}"
            for width, (measured, closed) in found.items()
        )
        return LEAVE.claim(
            "Units of a committee leave the path of a single neuron when the closed form for Gaussian classes says, "
            "whatever the law.",
            source=f"{DERIVED}, crowds",
            reported="the interaction is the gradient of the diversity, which grows as the square of the fields",
            numbers=[Number("worst", finite(np.max(off))), Number("median", finite(np.median(off)))],
            said=f"times differ by up to {{worst:.0%}}, {{median:.0%}} in the median ({shown}); {self._so_far()}",
            basis=f"{self._basis()}; for this, {SHORT_STEPS} steps of {SHORT_STEP:g} in time",
            expected=by_theory(
                "holds", "a random small field sums many pixels, so that its response is nearly Gaussian"
            ),
        )

    def _so_far(self) -> str:
        """How far a single neuron is when units leave its path, and when it localizes."""
        when = np.nanmedian(self._times(self.experiment.crowd.width)[0])
        step = round(float(when) / (SHORT_STEP * SHORT_EVERY)) if np.isfinite(when) else 0
        alone = self.groups[Kind(1)]
        norms = (np.linalg.norm(w, axis=-1) for w in (self.early[1][:, step], alone.fields))
        grown = np.median(np.divide(*norms))
        path = np.array([localized(fields) for fields in np.moveaxis(alone.weights, 1, 0)]).mean(2)
        times = [alone.time[np.argmax(row > 0.5)] for row in path.T if row[-1] > 0.5]
        late = f"most neurons are localized from time {min(times):.0f} on, not before" if times else "none localizes"
        return f"by then a neuron has {grown:.0%} of the norm that it ends with, and {late}"

    def _two(self) -> Claim:
        alone, pair = self.narrow[Kind(1)], self.narrow[Kind(2)]
        gaps = np.abs(alone.share - pair.share)
        factors = np.exp(np.abs(np.log(alone.sharpness / pair.sharpness)))
        worst = int(np.argmax(gaps))
        error = float(np.hypot(alone.error[worst], pair.error[worst]))
        return TWO.claim(
            "For two units at short lengthscales interactions play no significant role.",
            source=f"{DERIVED}, crowds",
            reported="a field and its mirror image, twice as high, are at rest wherever the field alone is",
            numbers=[
                Number("gap", float(gaps[worst]), error, "of the units"),
                Number("factor", finite(factors.max())),
            ],
            said="shares differ by up to {gap:.0%} of the units, the median n IPR by up to a factor of {factor:.2f}. "
            f"Alone and as two: {_pairs(self.laws, alone, pair)}. At long lengthscales: "
            f"{_pairs(self.laws, self.groups[Kind(1)], self.groups[Kind(2)])}",
            basis=f"lengthscales {NARROW[0]:g} and {NARROW[1]:g}; otherwise {self._basis()}",
            expected=as_measured("holds"),
        )

    # Figures and text -------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        return self._maps(), self._by_width(), self._fields(), self._paths(), self._table()

    def _maps(self) -> Figure:
        groups = (self.groups[Kind(1)], self._many)
        rows = tuple(
            tuple(Scatter(title, {"laws": (self._values(name), group.share, group.error)}, title,
                          "share of localized units") for name, title in zip(STATISTICS, TITLES, strict=True))
            for group in groups
        )  # fmt: skip
        caption = "One point a law. A statistic that decides has all localized laws on one side."
        return Figure("Which statistic of a pixel decides", rows, ("one neuron", str(self._many.kind)), caption)

    def _by_width(self) -> Figure:
        widths = (1, *sorted(self.experiment.widths))
        shares = np.array([self.groups[Kind(width)].share for width in widths])
        gaps = np.array([self.contest[width] for width in widths])
        row = (
            Scatter("trained", self._over(widths, shares), "units K", "share of localized units", True, joined=True),
            Scatter(
                "contest", self._over(widths, gaps), "units K", "log gain, bumps over scrambled", True, joined=True
            ),
        )
        return Figure("From one unit to many", (row,), caption="Where the contest is above 0, bumps should win.")

    def _over(self, widths: Sequence[int], values: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray, None]]:
        return {law.name: (np.array(widths, float), values[:, i], None) for i, law in enumerate(self.laws)}

    def _fields(self) -> Figure:
        groups = [self.groups[Kind(width)] for width in (1, *self.experiment.widths)]
        rows = tuple(
            tuple(Fields(str(group.kind), some(group.fields[i], SHOWN)) for group in groups)
            for i in range(len(self.laws))
        )
        names = tuple(law.name for law in self.laws)
        return Figure("Alone and in a crowd", rows, names, f"The first {SHOWN} units, from the same starting fields.")

    def _paths(self) -> Figure:
        times = np.arange(self.early[1].shape[1]) * SHORT_STEP * SHORT_EVERY
        names = [law.name for law in self.laws]
        row = tuple(
            Lines(f"K = {width}", times, dict(zip(names, _distance(self.closed[width], self.closed[1]), strict=True)),
                  dict(zip(names, _distance(self.early[width], self.early[1]), strict=True)), "time",
                  "distance from the neuron", kinds=("closed form", "trained")) for width in self.experiment.followed
        )  # fmt: skip
        caption = "Relative to the norm; medians over starting fields."
        return Figure("When units leave the path of a single neuron", (row,), caption=caption)

    def _table(self) -> Figure:
        groups = {str(kind): group for kind, group in self.groups.items()}
        groups |= {f"{self._many.kind}, plain batches": self.plain} if self.plain else {}
        rows = tuple(
            (law.name, *(f"{law.statistics[name]:.3f}" for name in STATISTICS),
             *(f"{group.share[i]:.0%} ({group.sharpness[i]:.1f})" for group in groups.values()))
            for i, law in enumerate(self.laws)
        )  # fmt: skip
        areas = [self._areas(group) for group in groups.values()]
        ranks = tuple(
            (f"AUC of {title}", "", "", "", "", *(_written(area[name]) for area in areas))
            for name, title in zip(STATISTICS, TITLES, strict=True)
        )
        caption = (
            f"Localized units, with their median n IPR. Kurtosis of the bulk: of the middle {MIDDLE:.0%} of values. "
            f"Tails: logarithm of the quantile of |X| at {FAR:g} over that at {MIDDLE:g}. AUC: the chance that a law "
            "on which most units localize has more of a statistic, in the direction that is expected to localize."
        )
        return Figure("All laws", ((Table("", ("law", *TITLES, *groups), (*rows, *ranks)),),), caption=caption)

    def text(self) -> str:
        one, many = self._areas(self.groups[Kind(1)]), self._areas(self._many)
        ranks = "; ".join(
            f"{title} {_written(one[name])} and {_written(many[name])}"
            for name, title in zip(STATISTICS, TITLES, strict=True)
        )
        return (
            "The loss of a committee is the mean loss of its units alone less their diversity, so that units repel. "
            "Laws of one pixel with the same kurtosis and another bulk, and with the same bulk and other tails, show "
            f"which statistic decides. AUC at K = 1 and at {self._many.kind}: {ranks}. {self._basis()}."
        )


def _pairs(laws: Sequence[Law], alone: Group, pair: Group) -> str:
    """What two units do beside one, law by law."""
    mirrored = np.mean(_cosines(pair.fields) < -0.9, axis=1)
    norms = np.linalg.norm(pair.fields, axis=-1) / np.linalg.norm(alone.fields[:, : pair.fields.shape[1]], axis=-1)
    return "; ".join(
        f"{law.name}: {alone.share[i]:.0%} and {pair.share[i]:.0%} localized, n IPR {alone.sharpness[i]:.1f} and "
        f"{pair.sharpness[i]:.1f}, {mirrored[i]:.0%} of the pairs mirror images, norms {np.median(norms[i]):.2f} times "
        "those alone"
        for i, law in enumerate(laws[: len(pair.fields)])
    )
