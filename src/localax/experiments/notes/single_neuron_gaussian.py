"""One ReLU neuron on Gaussian data: closed form against training, the wave that survives, and every steady state."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ..._math import real_dft
from ..._progress import Update
from ...analysis import spectrum
from ...networks import SoftCommittee, Xavier, seed_keys
from ...outcome import Claim, Fields, Figure, Heatmap, Lines, Number, Rule, Table, by_theory
from ...spec import Setting
from ...stimuli import Copula, CosineModulated, Gaussian, Normal, Task
from ...theory import exact_flow
from ...theory.steady import mode_fixed_points
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.seeds import seed_from, seeds_from
from ..toolkit.sources import NETWORKS
from ..toolkit.tasks import SIZE, binary, nlgp
from ..toolkit.train import train
from ..toolkit.words import listed

NOTES, PAPER, MODULATED = "lengthscales 1, 2", "lengthscales 1, 3", "modulated class"
PHASES = 8
PAIRED = 100.0
"""Long enough for a wave to find its height, too short for rounding to grow into another wave."""
RECORDS = 25
SHOWN = [3, 13, -1]
"""Which of the records figures show: early, halfway and last."""
WAVES = 5
"""So many steady states of each task, from the constant on, are linearised."""
SAME = 0.01
"""Relative difference below which two norms are one: the flow is integrated far more closely."""

DESCRIBED = Rule(
    "at every record the mean over streams is within {sure:g} standard errors of the flow, and every run has a cosine "
    "above {straight:g} with it (in part: the cosine)",
    lambda n, t: n.deviation < t.sure and n.cosine > t.straight,
    partly=lambda n, t: n.cosine > t.straight,
    thresholds={"sure": 5.0, "straight": 0.99},
    holds={"deviation": 2.0, "cosine": 0.995},
    part={"deviation": 12.0, "cosine": 0.995},
    fails={"deviation": 12.0, "cosine": 0.9},
)
LEFT = Rule(
    "more than {left:g} of the power from every start in all three tasks (in part: in the notes' task, where it is the "
    "constant)",
    lambda n, t: min(n.notes, n.paper, n.modulated) > t.left,
    partly=lambda n, t: n.notes > t.left and n.survivor == 0,
    thresholds={"left": 0.99},
    holds={"notes": 0.9999, "paper": 0.9999, "modulated": 0.9995, "survivor": 0},
    part={"notes": 0.9999, "paper": 0.9999, "modulated": 0.4, "survivor": 0},
    fails={"notes": 0.6, "paper": 0.9999, "modulated": 0.4, "survivor": 0},
)
AMPLITUDE = Rule(
    "within {same:.0%} of the flow's end in all three tasks",
    lambda n, t: n.off < t.same,
    thresholds={"same": SAME},
    holds={"off": 0.002},
    fails={"off": 0.3},
)
COEFFICIENTS = Rule(
    "all phases end at the same two coefficients, up to sign, within {same:.0%} of their norm",
    lambda n, t: n.spread < t.same,
    thresholds={"same": SAME},
    holds={"spread": 0.001},
    fails={"spread": 1.0},
)
ORTHOGONAL = Rule(
    "the products of any two columns are within {rounding:g} of 0, and of every column with itself of 1 (in part: the "
    "former)",
    lambda n, t: max(n.overlap, n.off) < t.rounding,
    partly=lambda n, t: n.overlap < t.rounding,
    thresholds={"rounding": 1e-12},
    holds={"overlap": 1e-15, "off": 1e-15},
    part={"overlap": 1e-15, "off": 0.5},
    fails={"overlap": 0.1, "off": 0.5},
)
RESTS = Rule(
    "at each wave Eq. 20 linearised has as many positive eigenvalues as there are modes of lesser ratio",
    lambda n, _: n.agree == n.waves,
    holds={"agree": 15, "waves": 15},
    fails={"agree": 12, "waves": 15},
)


@dataclass(frozen=True)
class SingleNeuronGaussian(AbstractExperiment):
    """Does the closed flow of one ReLU neuron on Gaussian data describe training, and which wave is left in the end?"""

    name: ClassVar[str] = "single_neuron_gaussian"
    title: ClassVar[str] = "A single neuron on Gaussian data"
    cost: ClassVar[float] = 41.0

    seeds: Annotated[int, Setting("initialisations that are trained", kind=int, ge=1)] = 2
    streams: Annotated[int, Setting("streams of data for each of them", kind=int, ge=2)] = 4
    estimator: Annotated[str, Setting("how gradients are made", kind=str, choices=("plain", "antithetic", "orbit"))] = (
        "orbit"
    )
    batch: Annotated[int, Setting("samples a step", kind=int, ge=2, even=True)] = 256
    steps: Annotated[int, Setting("steps of training", kind=int, ge=RECORDS)] = 2000
    rate: Annotated[float, Setting("learning rate; beyond 0.5 steps would overshoot", gt=0, le=0.5)] = 0.01
    starts: Annotated[int, Setting("starts of the closed flow", kind=int, ge=1)] = 8
    time: Annotated[float, Setting("how long the closed flow goes on", gt=1)] = 10_000.0

    @classmethod
    def paper(cls) -> "SingleNeuronGaussian":
        return cls(streams=3, estimator="plain", batch=10_000, starts=40, time=30_000.0)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Training beside the closed flow, then the flow alone for very long, on three tasks."""
        training = self._training(jax.random.fold_in(key, 0))
        progress(0.6)
        starts = np.asarray(jax.random.normal(jax.random.fold_in(key, 1), (self.starts, SIZE))) / np.sqrt(SIZE)
        times = np.concatenate([[0.0], np.geomspace(1, self.time, RECORDS)])
        tasks = gaussian_tasks()
        races = {name: _race(task, starts, times) for name, task in tasks.items()}
        progress(0.9)
        pairs = _flow(tasks[NOTES], _phases(), PAIRED * times / times[-1])[:, -1]
        return Measured(self, training, races, real_dft(SIZE)[1:3] @ pairs.T)

    def _training(self, key: Any) -> "Training":
        """The notes' figure 1: every initialisation on every stream, beside the flow."""
        starts = Xavier(1.0).weights(seed_keys(seeds_from(key, self.seeds)), 1, (SIZE,), np.float32)
        starts = np.tile(np.asarray(starts), (self.streams, 1, 1))
        run = train(
            nlgp(0.01, (1.0, 2.0)), _neuron(), steps=self.steps, batch=self.batch, rate=self.rate, seeds=len(starts),
            data_seed=seed_from(jax.random.fold_in(key, 1)), init=starts, estimator=self.estimator,
            stream=self.streams, save_every=self.steps // RECORDS,
        )  # fmt: skip
        flow = _flow(gaussian_tasks()[NOTES], starts[:, 0], run.time)
        lead = (self.streams, self.seeds, -1, SIZE)
        trained, closed = (np.swapaxes(fields.reshape(lead), 0, 1) for fields in (run.weights, flow))
        return Training(np.rint(run.time / self.rate).astype(int), trained, closed)


def _neuron() -> SoftCommittee:
    """A committee of one: the notes' network."""
    return SoftCommittee(1)


def gaussian_tasks() -> dict[str, Task]:
    """That of the notes, that of the paper, and one whose least ratio of spectra is not at the largest spectrum."""
    wave = Copula(SIZE, CosineModulated(3.0, SIZE / 4), Normal())
    return {
        NOTES: binary(Gaussian(SIZE, 1.0), Gaussian(SIZE, 2.0)),
        PAPER: binary(Gaussian(SIZE, 1.0), Gaussian(SIZE, 3.0)),
        MODULATED: binary(Gaussian(SIZE, 1.0), wave),
    }


def printed_basis() -> np.ndarray:
    """Real and imaginary parts of the columns of the discrete Fourier transform as Eqs. 33 to 35 select them, sorted by
    frequency, (pixel, column)."""
    columns = np.exp(-2j * np.pi * np.outer(np.arange(SIZE), np.arange(SIZE // 2 + 1)) / SIZE) / np.sqrt(SIZE)
    pairs = [part for j in range(1, SIZE // 2) for part in (columns[:, j].real, columns[:, j].imag)]
    return np.stack([columns[:, 0].real, *pairs, columns[:, -1].real], axis=1)


def _flow(task: Task, starts: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Fields of Eq. 21 at the given times, (start, time, pixel)."""
    return exact_flow(task, _neuron(), starts, times=times, rtol=1e-5).weights[:, :, 0]


def _phases() -> np.ndarray:
    """Waves of one cycle that differ in phase alone."""
    angle = 2 * np.pi * np.arange(SIZE) / SIZE
    return np.cos(angle - 2 * np.pi * np.arange(PHASES)[:, None] / PHASES) / SIZE


def _race(task: Task, starts: np.ndarray, times: np.ndarray) -> "Race":
    points = mode_fixed_points(task)
    assert points.ratio is not None
    lesser = [points.multiplicity[points.ratio < points.ratio[k] * (1 - 1e-9)].sum() for k in range(WAVES)]
    return Race(
        times=times,
        paths=_flow(task, starts, times),
        spectra=np.stack([np.fft.rfft(s.covariance()).real for s in task.stimuli]),
        ratio=points.ratio,
        amplitude=points.amplitude,
        growing=np.array([_growing(task, k, points.amplitude[k]) for k in range(WAVES)]),
        lesser=np.array(lesser),
    )


def _growing(task: Task, k: int, amplitude: float) -> int:
    """How many directions grow at the wave of frequency k, from the derivative of Eq. 20."""
    low, high = (jnp.asarray(s.covariance_matrix()) for s in task.stimuli)

    def velocity(w: Any) -> Any:
        return high @ w / jnp.sqrt(2 * jnp.pi * (w @ high @ w)) - (low + high) @ w / 2

    wave = amplitude * real_dft(SIZE)[max(2 * k - 1, 0)]
    slope = np.asarray(jax.jacfwd(velocity)(jnp.asarray(wave)))
    return int(np.sum(np.linalg.eigvals(slope).real > 1e-9))


@dataclass(frozen=True)
class Training:
    """Fields of training and of the closed flow, both (seed, stream, record, pixel), at recorded steps.

    Distances are those at every record after the start, relative to the norm of the flow.
    """

    steps: np.ndarray
    trained: np.ndarray
    flow: np.ndarray

    @property
    def _gap(self) -> np.ndarray:
        return (self.trained - self.flow)[:, :, 1:]

    @property
    def _norm(self) -> np.ndarray:
        return np.linalg.norm(self.flow[:, :, 1:], axis=-1)

    @property
    def single(self) -> np.ndarray:
        """Of single runs, (seed, stream, record)."""
        return np.linalg.norm(self._gap, axis=-1) / self._norm

    @property
    def mean(self) -> np.ndarray:
        """Of the mean over streams, (seed, record)."""
        return np.linalg.norm(self._gap.mean(1), axis=-1) / self._norm[:, 0]

    @property
    def noise(self) -> np.ndarray:
        """The standard error of that mean, (seed, record)."""
        run = self.trained[:, :, 1:]
        return np.sqrt(run.var(1, ddof=1).sum(-1) / run.shape[1]) / self._norm[:, 0]

    @property
    def cosine(self) -> np.ndarray:
        """Cosines of single runs with the flow, (seed, stream, record)."""
        run = self.trained[:, :, 1:]
        return np.sum(run * self.flow[:, :, 1:], -1) / np.linalg.norm(run, axis=-1) / self._norm


@dataclass(frozen=True)
class Race:
    """One task: paths of its closed flow (start, time, pixel); spectra (class, frequency), their ratio and the norms of
    the waves on which the flow can rest; at the first waves, how many directions grow and how many modes have a lesser
    ratio."""

    times: np.ndarray
    paths: np.ndarray
    spectra: np.ndarray
    ratio: np.ndarray
    amplitude: np.ndarray
    growing: np.ndarray
    lesser: np.ndarray

    @property
    def winner(self) -> int:
        """The frequency of the least ratio of spectra."""
        return int(np.argmin(self.ratio))

    @property
    def strongest(self) -> int:
        """The frequency at which the spectra are largest."""
        return int(self.spectra.sum(0).argmax())

    def shares(self) -> np.ndarray:
        """Share of each frequency in the power of a field, (start, time, frequency)."""
        power = spectrum(self.paths)
        return power / power.sum(-1, keepdims=True)

    @property
    def left(self) -> float:
        """The least share that the frequency of the least ratio has at the end."""
        return float(self.shares()[:, -1, self.winner].min())

    @property
    def norm(self) -> float:
        """Norm of the field at the end, mean over starts."""
        return float(np.linalg.norm(self.paths[:, -1], axis=-1).mean())

    @property
    def right(self) -> float:
        """sqrt(2/pi) sqrt(l1)/(l0 + l1), the norm of the surviving wave."""
        return float(self.amplitude[self.winner])

    @property
    def printed(self) -> float:
        """The norm that Eq. 25 gives to the surviving wave."""
        return float(np.sqrt(np.sqrt(2 / np.pi) / self.spectra[:, self.winner].sum()))

    def panels(self, name: str) -> tuple[Lines, Lines]:
        shares, best = self.shares().mean(0)[1:], self.winner
        first, count = max(best - 2, 0), best + 5
        curves = {f"k = {k}": shares[:, k] for k in range(first, first + 4)}
        survival = Lines(f"{name}: share of the power", self.times[1:], curves, xlabel="time", logx=True)
        title, mark = f"{name}: ratio of spectra", {f"least at k = {best}": float(best)}
        return survival, Lines(title, np.arange(count), {"r_k": self.ratio[:count]}, xlabel="k", marks=mark)


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Training beside the flow, the flow on three tasks, and the coefficients (cosine or sine, phase) at which waves of
    one cycle end."""

    experiment: SingleNeuronGaussian
    training: Training
    races: Mapping[str, Race]
    pairs: np.ndarray

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return (
            self._closed_form(),
            self._survivor(),
            self._amplitude(),
            self._pair(),
            self._stability(),
            _orthogonal(),
        )

    def _closed_form(self) -> Claim:
        it, found = self.experiment, self.training
        ends = zip(found.mean[:, -1], found.noise[:, -1], strict=True)
        return DESCRIBED.claim(
            "Equation 21 describes training on Gaussian data; what differs comes from minibatches.",
            source=f"{NETWORKS}, figure 1",
            reported="slightly different because of minibatches, and possibly of the learning rate",
            numbers=[
                Number("deviation", np.max(found.mean / found.noise), unit="standard errors"),
                Number("cosine", found.cosine.min()),
                Number("single", found.single[..., -1].mean()),
            ],
            said="relative l2 distance at the last step: of a run {single:.3f}, of the mean over streams "
            f"{', '.join(f'{m:.3f} +- {n:.3f}' for m, n in ends)}; at any record the latter is at most "
            "{deviation:.1f} standard errors, and the cosine of a run at least {cosine:.4f}",
            basis=f"{it.seeds} initialisations on {it.streams} streams each, {it.estimator} gradients of {it.batch:,} "
            "samples",
            expected=by_theory("holds", "Eq. 21 is exact on Gaussian data"),
        )

    def _survivor(self) -> Claim:
        it = self.experiment
        names = dict(zip(("notes", "paper", "modulated"), self.races, strict=True))
        kept = "; ".join(f"{race}: k = {self.races[race].winner} keeps {{{n}:.4f}}" for n, race in names.items())
        return LEFT.claim(
            "In the very long limit only the mode with the smallest ratio of eigenvalues is left.",
            source=f"{NETWORKS}, 'Finding u_1'",
            reported="only the first, a flat receptive field; not sure if this will generalize",
            numbers=[
                *(Number(name, self.races[race].left) for name, race in names.items()),
                Number("survivor", self.races[NOTES].winner),
            ],
            said=f"least share of the power at the end: {kept} (there the spectra are largest at k = "
            f"{self.races[MODULATED].strongest})",
            basis=f"{it.starts} random starts a task, closed flow to t = {it.time:,.0f}, no samples",
            expected=by_theory("holds", "at every other wave a mode of lesser ratio grows"),
        )

    def _amplitude(self) -> Claim:
        races = self.races.values()
        return AMPLITUDE.claim(
            "The surviving coefficient is (u_k)^2 = sqrt(2/pi)/(l0 + l1).",
            source=f"{NETWORKS}, Eq. 25",
            reported=f"|u| = {listed((race.printed for race in races), '.4f')}",
            numbers=[
                Number("off", max(abs(race.printed / race.norm - 1) for race in races)),
                Number("right", max(abs(race.norm / race.right - 1) for race in races)),
            ],
            said=f"|u| = {listed((race.norm for race in races), '.4f')}: off by up to {{off:.1%}}; sqrt(2/pi) "
            "sqrt(l1)/(l0 + l1) is within {right:.1e}",
            basis=f"{self.experiment.starts} starts a task, closed flow, no samples",
            expected=by_theory("does not hold", "erratum B-19: Eq. 22 at a single mode"),
            reasons={"does not hold": "The norm of a single mode is |u| sqrt(l1), not u^2 l1 (erratum B-19)."},
        )

    def _pair(self) -> Claim:
        norms, right = np.hypot(*self.pairs), self.races[NOTES].amplitude[1]
        return COEFFICIENTS.claim(
            "Eqs. 29 and 31 can be solved for the two coefficients of a cosine and its sine.",
            source=f"{NETWORKS}, Eqs. 26 to 31",
            reported="two equations for two unknowns",
            numbers=[
                Number("spread", np.ptp(np.abs(self.pairs), axis=1).max() / norms.mean()),
                Number("low", self.pairs[0].min()),
                Number("high", self.pairs[0].max()),
                Number("norm", norms.mean()),
                Number("off", np.abs(norms / right - 1).max()),
            ],
            said=f"{PHASES} starts of one cycle end with cosine coefficients from {{low:.3f}} to {{high:.3f}} and one "
            "norm, {norm:.5f}, within {off:.1e} of sqrt(2/pi) sqrt(l1)/(l0 + l1); up to sign the coefficients differ "
            "by up to {spread:.2f} of it",
            basis=f"closed flow from {PHASES} phases, no samples",
            expected=by_theory("does not hold", "erratum B-19: shifts of a solution are solutions"),
            reasons={
                "does not hold": "Cosine and sine share their eigenvalues: both equations are one, which fixes the "
                "norm, not the phase."
            },
        )

    def _stability(self) -> Claim:
        races = self.races.values()
        counted, foreseen = ([getattr(race, part).tolist() for race in races] for part in ("growing", "lesser"))
        return RESTS.claim(
            "Of all the waves that solve Eq. 22 the flow can rest on one alone, that of least ratio.",
            source=f"{NETWORKS}, 'We still do not know which eigenvalues will be nonzero'",
            reported="open",
            numbers=[
                Number("agree", sum(int(np.sum(race.growing == race.lesser)) for race in races), unit="waves"),
                Number("waves", WAVES * len(races), unit="waves"),
            ],
            said=f"growing directions at the waves k = 0 to {WAVES - 1}, by task: {counted}; modes of lesser ratio: "
            f"{foreseen}; equal at {{agree}} of {{waves}}",
            basis=f"derivatives of the closed flow at {WAVES * len(races)} steady states, no samples",
            expected=by_theory("holds", "Eq. 20 linearised at a wave is diagonal in the waves"),
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        survival = tuple(race.panels(name) for name, race in self.races.items())
        return self._comparison(), Figure("Which frequency survives", survival), self._states(), _basis_figure()

    def _comparison(self) -> Figure:
        trained, flow = self.training.trained[0, 0], self.training.flow[0, 0]
        labels = tuple(f"step {step}" for step in self.training.steps[SHOWN])
        basis, count, name = real_dft(SIZE), 15, "closed form"
        space = Lines(
            "last step: weights", np.arange(SIZE), {name: flow[-1]}, {name: trained[-1]}, xlabel="pixel",
            ylabel="weight", kinds=("theory", "training"),
        )  # fmt: skip
        theory, training = ((basis @ fields[-1])[:count] for fields in (flow, trained))
        frequency = Lines(
            "last step: Fourier coefficients", np.arange(count), {name: theory}, {name: training},
            xlabel="constant, then cosines and sines", kinds=("theory", "training"),
        )  # fmt: skip
        rows = ((Fields("training", trained[SHOWN], labels), Fields(name, flow[SHOWN], labels)), (space, frequency))
        return Figure("One neuron on Gaussian data: training and closed form", rows)

    def _states(self) -> Figure:
        rows = tuple(
            (name, race.winner, f"{race.norm:.6f}", f"{race.right:.6f}", f"{race.printed:.6f}")
            for name, race in self.races.items()
        )
        columns = ("task", "survivor k", "norm at the end", "sqrt(2/pi) sqrt(l1)/(l0+l1)", "Eq. 25 as printed")
        split = np.stack([*self.pairs, np.hypot(*self.pairs)], axis=1)
        phases = tuple((f"{360 * i / PHASES:.0f}", *(f"{c:.4f}" for c in row)) for i, row in enumerate(split))
        waves = Table("One cycle, from starts of different phase", ("phase", "cosine", "sine", "norm"), phases)
        return Figure("Steady states", ((Table("The wave that survives", columns, rows),), (waves,)))

    def text(self) -> str:
        it, found, modulated = self.experiment, self.training, self.races[MODULATED]
        survivors = ", ".join(f"k = {race.winner} ({name})" for name, race in self.races.items())
        left = min(race.left for race in self.races.values())
        flat = self.races[NOTES].shares()[:, :, 0].mean(0)
        strong = modulated.shares()[:, -1, modulated.strongest].mean()
        return (
            f"{NETWORKS.capitalize()} derive the flow of one ReLU neuron on Gaussian data (Eqs. 20 and 21), compare it "
            "with training and leave open which Fourier mode survives. With the settings of their figure 1 "
            f"({it.estimator} gradients, batch {it.batch:,}, {it.seeds} initialisations on {it.streams} streams of "
            f"data each) a run ends {found.single[..., -1].mean():.1%} from the closed flow and the mean over streams "
            f"{found.mean[:, -1].mean():.1%}, with a standard error of {found.noise[:, -1].mean():.1%}. At t = "
            f"{it.time:,.0f} the frequency of the least ratio of spectra r_k = l0_k/l1_k has at least {left:.4f} of "
            f"the power: {survivors}, from {it.starts} starts each; in the notes' task the share of the constant goes "
            f"from {flat[0]:.2f} to {flat[-1]:.4f}. In the third task the spectra themselves are largest at k = "
            f"{modulated.strongest}, and the wave of that frequency ends with {strong:.4f} of the power. Every other "
            "wave is a steady state too, from which modes of lesser ratio grow. Eqs. 25 to 31 have the square of a "
            "norm where the norm belongs, and fix the norm of a cosine and its sine together, never the two one by "
            "one."
        )


def _orthogonal() -> Claim:
    basis = printed_basis()
    products = basis.T @ basis
    norms = np.sqrt(np.diag(products))
    return ORTHOGONAL.claim(
        "Real and imaginary parts of the columns of the discrete Fourier transform make a real orthogonal matrix.",
        source=f"{NETWORKS}, Eqs. 33 to 35 and figure 2",
        reported="a real orthogonal matrix",
        numbers=[
            Number("overlap", np.abs(products - np.diag(np.diag(products))).max()),
            Number("off", np.abs(np.diag(products) - 1).max()),
        ],
        said=f"products of different columns at most {{overlap:.0e}}; norms {norms.min():.4f} to {norms.max():.4f}",
        basis=f"closed form, {SIZE} pixels",
        expected=by_theory("holds in part", "erratum B-08: cosines and sines share the norm of their column"),
        reasons={
            "holds in part": "Cosine and sine share the norm 1 of a complex column: each needs a factor sqrt(2), but "
            "for the constant and the fastest wave (erratum B-08)."
        },
    )


def _basis_figure() -> Figure:
    """Figure 2 of the notes, with columns of norm 1, and the norms as printed."""
    edge = float(SIZE)
    matrix = Heatmap("real Fourier basis", real_dft(SIZE).T, "column", "pixel", (0.0, edge, 0.0, edge))
    norms = {"as printed": np.linalg.norm(printed_basis(), axis=0), "orthogonal": np.ones(SIZE)}
    return Figure(
        "The basis in which both covariances are diagonal",
        ((matrix, Lines("norms of the columns", np.arange(SIZE), norms, xlabel="column")),),
    )
