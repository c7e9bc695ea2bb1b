"""Gaussian clones: data that localize a receptive field, beside Gaussians of the same covariance, which do not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np

from ..._progress import Update
from ...analysis import ipr, localized
from ...outcome import Claim, Fields, Figure, Lines, Number, Panel, Rule, Table, as_measured, by_theory
from ...spec import Setting
from ...stimuli import AbstractStimulus, Circulant, Copula, Normal, Task
from ...theory import exact_flow
from ...theory.steady import mode_fixed_points, winning_mode
from ...trajectory import Trajectory
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.neuron import neuron, orbit
from ..toolkit.seeds import seed_from, seeds_from
from ..toolkit.sources import NETWORKS, PAPER
from ..toolkit.tasks import NARROW, WIDE, binary, ising, nlgp
from ..toolkit.train import train
from ..toolkit.unit_kinds import share

RECORDS = 50

TASKS = ("wide", "narrow", "spins")


def _clear(n: Any, t: Any) -> int:
    """On how many tasks fields localize on the data and not on their clone."""
    return sum(getattr(n, task) >= t.most and getattr(n, f"{task}_clone") <= t.rare for task in TASKS)


LOCALIZATION = Rule(
    "at least {most:.0%} of the starts end localized on the data and at most {rare:.0%} on the clone, for every task; "
    "in part: for all but one",
    lambda n, t: _clear(n, t) == len(TASKS),
    partly=lambda n, t: _clear(n, t) == len(TASKS) - 1,
    thresholds={"most": 0.9, "rare": 0.1},  # all starts, or none, but for single exceptions
    holds={"wide": 1.0, "narrow": 1.0, "spins": 1.0, "wide_clone": 0.0, "narrow_clone": 0.1, "spins_clone": 0.0},
    part={"wide": 1.0, "narrow": 1.0, "spins": 1.0, "wide_clone": 0.0, "narrow_clone": 0.4, "spins_clone": 0.0},
    fails={"wide": 1.0, "narrow": 0.5, "spins": 1.0, "wide_clone": 0.8, "narrow_clone": 0.0, "spins_clone": 0.0},
)
MOMENTS = Rule(
    "the clone within a factor {near:g} of the covariances' own flow (noise keeps the slow modes alive), the data "
    "beyond a factor {far:g}",
    lambda n, t: n.clone < t.near and n.data > t.far,
    thresholds={"near": 1.5, "far": 4.0},
    holds={"clone": 1.2, "data": 20.0},
    fails={"clone": 1.2, "data": 1.5},
)
WAVE = Rule(
    "after {lifetimes:g} lifetimes of the slowest mode every start is within {near:.0%} of the stable wave",
    lambda n, t: n.gap < t.near,
    thresholds={"near": 0.01},
    holds={"gap": 1e-5},
    fails={"gap": 0.3},
)


@dataclass(frozen=True)
class GaussianClone(AbstractExperiment):
    """Does a neuron localize on Gaussian data whose covariances are those of data on which it localizes?"""

    name: ClassVar[str] = "gaussian_clone"
    title: ClassVar[str] = "Gaussian clones"
    cost: ClassVar[float] = 25.0

    size: Annotated[int, Setting("pixels of the ring", kind=int, ge=24, le=400)] = 40
    gain: Annotated[float, Setting("gain of NLGP", gt=0)] = 100.0
    starts: Annotated[int, Setting("initialisations", kind=int, ge=1)] = 10
    rate: Annotated[float, Setting("learning rate", gt=0)] = 0.05
    steps: Annotated[int, Setting("steps of training", kind=int, ge=RECORDS)] = 2000
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 64
    lifetimes: Annotated[
        float, Setting("lifetimes of their slowest mode for which the clones are followed exactly", gt=0, le=1000)
    ] = 30.0

    @classmethod
    def paper(cls) -> "GaussianClone":
        return cls(starts=30, batch=512)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Train one neuron on NLGP, on Ising spins and on their clones; follow the clones exactly, and for longer."""
        fields = {f"NLGP {a:g}, {b:g}": nlgp(self.gain, (a, b), self.size) for a, b in (WIDE, NARROW)}
        tasks = fields | {"Ising 0.3, 0.7": ising(self.size)}
        clones = [binary(*map(clone, task.stimuli)) for task in tasks.values()]
        paths = []
        for i, kind in enumerate((list(fields.values()), [tasks["Ising 0.3, 0.7"]], clones)):
            paths.append(self._trained(kind, key))
            progress((i + 1) / 4)
        rows = zip(tasks, clones, np.concatenate([p.weights for p in paths[:2]]), paths[2].weights, strict=True)
        wide, narrow, spins = (
            self._pair(name, task, paths[2].time, original[..., 0, :], cloned[..., 0, :])
            for name, task, original, cloned in rows
        )
        return Measured(self, wide, narrow, spins)

    def _trained(self, tasks: Sequence[Task], key: Any) -> Trajectory:
        """Weights (task, start, time, 1, pixel), from the same starts for all tasks, each on data of its own."""
        return train(
            tasks, neuron(), steps=self.steps, batch=self.batch, rate=self.rate, estimator="orbit",
            stream="independent", seeds=seeds_from(key, self.starts), data_seed=seed_from(jax.random.fold_in(key, 1)),
            save_every=self.steps // RECORDS,
        )  # fmt: skip

    def _pair(self, name: str, clone: Task, time: np.ndarray, original: np.ndarray, cloned: np.ndarray) -> "Pair":
        modes = mode_fixed_points(clone)
        slowest = float(-np.max(modes.growth[0][1:]))
        late = max(self.lifetimes / slowest, 1.01 * time[-1])  # beyond training in any case
        exact = exact_flow(clone, neuron(), original[:, 0], times=[*time, late], rtol=1e-5).weights[:, :, 0]
        height = float(modes.amplitude[0] / np.sqrt(self.size))
        return Pair(name, slowest, winning_mode(clone), height, time, original, cloned, exact)


def clone(stimulus: AbstractStimulus) -> Copula:
    """A Gaussian of the same covariance, in a form that is the same for all stimuli: the clones train together."""
    return Copula(stimulus.size, Circulant(stimulus.covariance()), Normal())


@dataclass(frozen=True, eq=False)
class Pair:
    """Data and their clone: paths (start, time, pixel) of training on both, and of the clone's exact flow."""

    name: str
    slowest: float
    """The rate at which the clone's last perturbation of the flat field dies."""
    mode: int | tuple[int, ...]
    """The wave that is predicted to win on the clone."""
    height: float
    """Each weight of the constant steady state on the clone."""
    time: np.ndarray
    original: np.ndarray
    cloned: np.ndarray
    exact: np.ndarray
    """As ``cloned``, with the late time at the end."""

    def local(self) -> tuple[np.ndarray, np.ndarray]:
        """Which starts end localized, on the data and on the clone."""
        return localized(self.original[:, -1]), localized(self.cloned[:, -1])

    def iprs(self) -> np.ndarray:
        """Medians after training on the data and on the clone, and of the clone's exact flow, then and late."""
        ends = (self.original[:, -1], self.cloned[:, -1], self.exact[:, -2], self.exact[:, -1])
        return np.array([np.median(ipr(w)) for w in ends])

    def relative_errors(self) -> tuple[float, float]:
        """Standard errors of the median IPR on the data and on the clone, over these medians."""
        return _median_error(ipr(self.original[:, -1])), _median_error(ipr(self.cloned[:, -1]))

    def gap(self) -> float:
        """The largest relative distance of a late field from the constant one; either sign will do."""
        ends = self.exact[:, -1]
        flat = self.height * np.sign(ends.mean(-1, keepdims=True)) * np.ones_like(ends)
        return float(np.max(np.linalg.norm(ends - flat, axis=-1) / np.linalg.norm(flat, axis=-1)))

    def panels(self) -> tuple[Panel, ...]:
        medians = {name: np.median(ipr(w), 0) for name, w in (("data", self.original), ("clone", self.cloned))}
        medians["clone, exact flow"] = np.median(ipr(self.exact[:, :-1]), 0)
        return (
            Fields("trained on data", self.original[:4, -1]),
            Fields("trained on the Gaussian clone", self.cloned[:4, -1]),
            Lines("median IPR", self.time, medians, xlabel="time"),
        )


def _median_error(values: np.ndarray) -> float:
    """The relative standard error of the median of independent values, as if they were normal; 0 of one value."""
    return float(np.sqrt(np.pi / 2) * values.std() / np.sqrt(max(len(values) - 1, 1)) / np.median(values))


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """NLGP at both pairs of lengthscales and Ising spins, each with its clone."""

    experiment: GaussianClone
    wide: Pair
    narrow: Pair
    spins: Pair

    @property
    def pairs(self) -> dict[str, Pair]:
        return {"wide": self.wide, "narrow": self.narrow, "spins": self.spins}

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._localization(), self._moments(), self._wave()

    def _basis(self) -> str:
        it = self.experiment
        return f"{it.starts} starts a task, each on a stream of its own, {it.steps} steps of {orbit(it.batch)}"

    def _localization(self) -> Claim:
        numbers, parts = [], []
        for name, pair in self.pairs.items():
            least, largest = ipr(pair.original[:, -1]).min(), ipr(pair.cloned[:, -1]).max()
            numbers += [
                share(part, local, "of the starts")
                for part, local in zip((name, f"{name}_clone"), pair.local(), strict=True)
            ]
            parts.append(
                f"{pair.name}: {{{name}:.0%}} localized on the data (least IPR {least:.3f}), {{{name}_clone:.0%}} on "
                f"the clone (largest IPR {largest:.3f})"
            )
        return LOCALIZATION.claim(
            "Trained on a Gaussian with the covariance of the non-Gaussian data, you do not get localization.",
            source=f"{NETWORKS}, section 2, conclusion",
            reported="no localization",
            numbers=numbers,
            said="; ".join(parts),
            basis=self._basis(),
            expected=by_theory("holds", "the clones' exact flow, which ends flat (Proposition 3.3, erratum B-09)"),
        )

    def _moments(self) -> Claim:
        data, clone, flow, _ = np.array([pair.iprs() for pair in self.pairs.values()]).T
        errors = np.array([pair.relative_errors() for pair in self.pairs.values()])
        lowest, furthest = np.argmin(data / flow), np.argmax(np.abs(np.log(clone / flow)))
        off = float(np.exp(np.abs(np.log(clone / flow)[furthest])))
        factors = zip(self.pairs.values(), data / flow, clone / flow, strict=True)
        shown = "; ".join(f"{pair.name}: {a:.1f} and {b:.2f}" for pair, a, b in factors)
        return MOMENTS.claim(
            "Something other than the eigenvalues of the covariances changes the dynamics for non-Gaussian data.",
            source=f"{NETWORKS}, section 2, conclusion",
            reported="not said by how much",
            numbers=[
                Number("data", (data / flow)[lowest], (data / flow)[lowest] * errors[lowest, 0]),
                Number("clone", off, off * errors[furthest, 1]),
            ],
            said=f"IPR on the data and on the clone, over that of the flow with these covariances: {shown}; least "
            "{data:.1f}, and within a factor {clone:.2f}",
            basis=self._basis(),
            expected=as_measured("holds"),
        )

    def _wave(self) -> Claim:
        shown = "; ".join(f"{pair.name}: mode {pair.mode}, {pair.gap():.1e}" for pair in self.pairs.values())
        constant = ", here the constant" if all(pair.mode == 0 for pair in self.pairs.values()) else ""
        return WAVE.claim(
            "On Gaussian data the receptive field converges to a sinusoid.",
            source=f"{PAPER}, proposition 3.3",
            reported="a sinusoid; which one is left open",
            numbers=[Number("gap", max(pair.gap() for pair in self.pairs.values()))],
            said=f"predicted mode, and relative distance of the exact flow from the constant: {shown}; at most "
            "{gap:.1e}",
            basis=f"exact flow of the clones from {self.experiment.starts} starts a task, no samples",
            expected=by_theory("holds", "Proposition 3.3 with erratum B-09"),
            words={"lifetimes": self.experiment.lifetimes},
            reasons={"holds": f"It is the wave with the least ratio of eigenvalues{constant} (erratum B-09)."},
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        pairs = tuple(self.pairs.values())
        columns = ("data", "localized: data", "clone", "IPR: data", "clone", "clone, exact", "clone, exact, late")
        rows = tuple(
            (p.name, *(f"{n.sum()}/{len(n)}" for n in p.local()), *(f"{v:.4f}" for v in p.iprs())) for p in pairs
        )
        caption = "Receptive fields of four starting points at the end of training."
        panels, names = tuple(p.panels() for p in pairs), tuple(p.name for p in pairs)
        return (
            *self._headlines(),
            Figure("Data and Gaussians of the same covariance", panels, names, caption),
            Figure("Localized starting points and median IPR", ((Table("", columns, rows),),)),
        )

    def _headlines(self) -> tuple[Figure, Figure]:
        """Binary pixels and their clone, a panel each for the first screen."""
        pair, flat = self.spins, 1 / self.experiment.size
        counts = [f"{local.sum()} of {len(local)} starts" for local in pair.local()]
        data, clone, *_ = pair.iprs()
        sure = f"(median IPR {data:.2f}; a flat field has {flat:.3f})"
        return (
            Figure(
                "Binary pixels", ((Fields("trained on binary pixels", pair.original[:4, -1]),),),
                headline=f"On binary pixels (Ising spins) {counts[0]} end in a localized field {sure}.", place=1,
            ),
            Figure(
                "Their Gaussian clone", ((Fields("trained on their Gaussian clone", pair.cloned[:4, -1]),),),
                headline=f"On Gaussian pixels of the same covariance {counts[1]} do (median IPR {clone:.3f}).", place=2,
            ),
        )  # fmt: skip

    def text(self) -> str:
        it, pairs = self.experiment, self.pairs.values()
        found = "; ".join("{}: {:.3f}, {:.3f} and {:.3f}".format(p.name, *p.iprs()[:3]) for p in pairs)
        return (
            f"The notes argue that covariances alone cannot explain localization, because a Gaussian with the "
            f"covariance of the localizing data does not localize. One ReLU neuron was trained on NLGP (gain "
            f"{it.gain:g}), on Ising spins and on the Gaussian clones of all three tasks, from the same {it.starts} "
            f"starting points, to time {it.steps * it.rate:g}. Median IPR on the data, on the clone and in the clone's "
            f"exact flow, which knows nothing but the covariances: {found}; a flat field has {1 / it.size:.3f}. "
            f"{self._settled()} Every start has data of its own, every step {orbit(it.batch)}."
        )

    def _settled(self) -> str:
        """How far training has brought the clones, made from their slowest rates."""
        it, pairs = self.experiment, self.pairs.values()
        end, late = it.steps * it.rate, max(p.iprs()[3] for p in pairs)
        lives = ", ".join(f"{1 / p.slowest:.0f} ({p.name})" for p in pairs)
        slow = [p.name for p in pairs if p.slowest * end < 1]
        told = f"training ends before that on {' and '.join(slow)}" if slow else "training lasts longer on every clone"
        counts = ", ".join(f"{p.local()[1].sum()} ({p.name})" for p in pairs)
        return (
            f"The last wave that perturbs the flat field of a clone lives for a time of {lives}: {told}. Of "
            f"{it.starts} starts on a clone, localized at the end of training: {counts}. Followed for "
            f"{it.lifetimes:g} such lifetimes, the exact flows end at a median IPR of {late:.3f} or less."
        )
