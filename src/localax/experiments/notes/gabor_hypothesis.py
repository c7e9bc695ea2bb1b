"""Are receptive fields Gabors of which only decay and frequency change with the gain? Fits, rivals, uncertainty."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ..._math import ring_distance
from ..._progress import Update
from ...analysis import fit_gabor, localized, uncertainty
from ...networks import AbstractNetwork, SoftCommittee
from ...outcome import Claim, Figure, Lines, Number, Rule, Scatter, Table, as_measured
from ...spec import Setting
from ...theory import critical_gain
from ...theory.steady import ising_attractor
from ...training import SaveAt
from ...trajectory import Trajectory
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.checks import STREAMS, shared_out
from ..toolkit.neuron import neuron
from ..toolkit.populations import largest, least, share
from ..toolkit.seeds import seed_from, seeds_from
from ..toolkit.single_neurons import centred
from ..toolkit.sources import NETWORKS
from ..toolkit.tasks import SIZE, WIDE, nlgp
from ..toolkit.train import train
from ..toolkit.words import listed

COUPLINGS = (0.3, 0.7)
"""Of the Ising classes of the paper's figure 3, whose steady state has a closed form."""
SOURCE = f"{NETWORKS}, section 2, Uncertainty Principle"

GOOD = 0.1
"""Relative error below which a fit looks right to the eye."""
HIGH = 3.0
"""Gain from which on the notes' "high gain" is taken: an excess kurtosis close to the least, -2."""
PHASES = 7
"""Phases tried for all Gabors of a network, from a cosine to a sine."""

GABORS = Rule(
    "Gabors of free place, height, decay and frequency, whose phase is the same at all gains, fit with a median "
    "relative error below {good:g} at every gain, for both networks; in part: for one network, at all gains above the "
    "critical one or at all below it",
    lambda n, t: n.worst < t.good,
    partly=lambda n, t: n.case < t.good,
    thresholds={"good": GOOD},
    holds={"worst": 0.06, "case": 0.02},
    part={"worst": 0.4, "case": 0.05},
    fails={"worst": 0.4, "case": 0.2},
)
LOOKS = Rule(
    "at gains from {high:g} on more than {half:.0%} of the committee's fields are within {good:g} of a Gabor; in part "
    "(sometimes): more than {some:.0%}",
    lambda n, t: n.alike > t.half,
    partly=lambda n, t: n.alike > t.some,
    thresholds={"half": 0.5, "some": 0.1},
    holds={"alike": 0.7},
    part={"alike": 0.3},
    fails={"alike": 0.05},
)
DEFORM = Rule(
    "the median width of the best Gabor falls from each gain above the critical one to the next, no field at the least "
    "gain is localized and all are at the largest; in part: the width falls",
    lambda n, _: n.step < 0 and n.low == 0 and n.high == 1,
    partly=lambda n, _: n.step < 0,
    holds={"step": -0.2, "low": 0.0, "high": 1.0},
    part={"step": -0.2, "low": 0.5, "high": 1.0},
    fails={"step": 0.1, "low": 0.0, "high": 1.0},
)
UNCERTAIN = Rule(
    "medians at every gain above the critical one: end less than {near:g} from 1/2, and less than {near:g} above the "
    "least on the way; in part: every run falls at least {fold:g}-fold",
    lambda n, t: n.off < t.near and n.rise < t.near,
    partly=lambda n, t: n.fall >= t.fold,
    thresholds={"near": 0.05, "fold": 5.0},
    holds={"off": 0.02, "rise": 0.01, "fall": 20.0},
    part={"off": 0.3, "rise": 0.1, "fall": 20.0},
    fails={"off": 0.3, "rise": 0.1, "fall": 2.0},
)


@dataclass(frozen=True)
class GaborHypothesis(AbstractExperiment):
    """Are receptive fields Gabors of which only decay and frequency change with the gain?"""

    name: ClassVar[str] = "gabor_hypothesis"
    title: ClassVar[str] = "Are the fields Gabors?"
    cost: ClassVar[float] = 20.0

    gains: Annotated[tuple[float, ...], Setting("gains of NLGP", gt=0, many=(1, None), rising=True)] = (
        0.01,
        0.5,
        3.0,
        100.0,
    )
    units: Annotated[int, Setting("units of the committee", kind=int, ge=1)] = 6
    seeds: Annotated[int, Setting("initialisations, on two streams of data", kind=int, ge=2)] = 2
    steps: Annotated[int, Setting("steps of training", kind=int, ge=2)] = 1200
    rate: Annotated[float, Setting("learning rate, per unit", gt=0)] = 0.06
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 64
    records: Annotated[int, Setting("moments recorded", kind=int, ge=2)] = 24

    @classmethod
    def paper(cls) -> "GaborHypothesis":
        gains = (0.01, 0.5, 1.0, 3.0, 10.0, 100.0)
        return cls(gains=gains, units=8, seeds=4, steps=3000, rate=0.05, batch=128, records=40)

    def check(self) -> None:
        shared_out(self)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """One neuron and a committee at every gain, and the exact steady state on Ising data."""
        one = self._trained(neuron(), key)
        progress(0.3)
        many = self._trained(SoftCommittee(self.units), key)
        progress(0.6)
        spins = ising_attractor(*COUPLINGS, ring_distance(SIZE))
        fitted, committee, exact = _fitted([_fields(one), _fields(many), spins[None, None]])
        product = uncertainty(one.weights[:, :, :, 0])
        return Measured(self, fitted, committee, exact, one.time, product, critical_gain(*WIDE, SIZE))

    def _trained(self, network: AbstractNetwork, key: Any) -> Trajectory:
        return train(
            [nlgp(gain) for gain in self.gains], network, steps=self.steps, batch=self.batch,
            rate=self.rate * network.units, seeds=seeds_from(key, self.seeds), data_seed=seed_from(key),
            estimator="orbit", stream=STREAMS, saveat=SaveAt(logarithmic=self.records, record=()),
        )  # fmt: skip


def _fields(trajectory: Trajectory) -> np.ndarray:
    final = np.asarray(trajectory.final, float)
    return final.reshape(len(final), -1, final.shape[-1])


@dataclass(frozen=True)
class Fitted:
    """The fields of one network, (gain, field, pixel), moved so that each peak is upwards and in the middle; the best
    Gabor and the best pixel on an exponential; and the errors of Gabors of one phase, (gain, field, phase)."""

    fields: np.ndarray
    gabor: np.ndarray
    gabor_error: np.ndarray
    width: np.ndarray
    frequency: np.ndarray
    bump: np.ndarray
    bump_error: np.ndarray
    strict_error: np.ndarray

    def own_phase(self) -> np.ndarray:
        """Medians over fields by gain, where every field has the phase that fits it best."""
        return np.median(self.strict_error.min(-1), 1)

    def strict(self, gains: np.ndarray) -> np.ndarray:
        """Medians over fields by gain, of those chosen, at the phase that fits all of these gains best."""
        medians = np.median(self.strict_error[gains], 1)
        return medians[:, np.argmin(medians.max(0))]


def _fitted(groups: list[np.ndarray]) -> list[Fitted]:
    """All fits in one call: a second shape would compile a second time."""
    every = centred(np.concatenate([group.reshape(-1, group.shape[-1]) for group in groups]))
    gabor, bump = fit_gabor(every), _on_exponential(every)
    parts = [every, gabor.field, gabor.error, gabor.width, gabor.frequency, *bump, _one_phase(every).T]
    edges = np.cumsum([group.shape[0] * group.shape[1] for group in groups])[:-1]
    split = [np.split(np.asarray(part), edges) for part in parts]
    shaped = (
        [part[i].reshape(*group.shape[:2], *part[i].shape[1:]) for part in split] for i, group in enumerate(groups)
    )
    return [Fitted(*parts) for parts in shaped]


def _on_exponential(fields: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest sum of the peak's pixel, an exponential about it and a constant, and its relative error."""
    away = np.roll(ring_distance(fields.shape[-1]), fields.shape[-1] // 2)
    skirts = np.exp(-away / np.geomspace(0.2, 10 * len(away), 100)[:, None])
    columns = np.stack([np.broadcast_to(part, skirts.shape) for part in (away == 0, skirts, 1.0)], axis=-1)
    basis = np.linalg.qr(columns)[0]
    found = np.einsum("lpc,fp->flc", basis, fields)
    best = np.argmax(np.sum(found**2, -1), 1)
    nearest = np.einsum("fpc,fc->fp", basis[best], found[np.arange(len(fields)), best])
    return nearest, np.linalg.norm(nearest - fields, axis=-1) / np.linalg.norm(fields, axis=-1)


def _one_phase(fields: np.ndarray) -> np.ndarray:
    """Relative error of the best Gabor with each of PHASES phases, (phase, field): place, height, decay and frequency
    on a fine grid. A field and its mirror image count as one."""
    n, both = fields.shape[-1], np.concatenate([fields, np.roll(fields[:, ::-1], 1, axis=1)])
    shift = np.arange(-n / 4, n / 4 + 0.5, 0.5)[:, None, None, None]
    width = np.geomspace(0.4, 10 * n, 40)[:, None, None]
    cycles = np.arange(0, n / 2 + 0.5, 0.5)[:, None]
    away = (np.arange(n) - n // 2 - shift + n / 2) % n - n / 2
    envelope, angle = np.exp(-0.5 * (away / width) ** 2), 2 * np.pi * cycles * away / n
    errors = []
    for phase in np.linspace(0, np.pi / 2, PHASES):
        waves = (envelope * np.cos(angle + phase)).reshape(-1, n)
        size = np.linalg.norm(waves, axis=1)
        waves = waves[size > 1e-6] / size[size > 1e-6, None]
        cosine = np.max(np.abs(both @ waves.T), axis=1) / np.linalg.norm(both, axis=1)
        errors.append(np.sqrt(np.maximum(1 - cosine.reshape(2, -1).max(0) ** 2, 0)))
    return np.array(errors)


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Fits of a neuron's and a committee's fields and of the exact one, and the uncertainty of the neuron's."""

    experiment: GaborHypothesis
    neuron: Fitted
    committee: Fitted
    exact: Fitted
    time: np.ndarray
    product: np.ndarray
    """(gain, seed, time)."""
    critical: float
    """Gain above which the flat field of the neuron gives way in the effective flow."""

    # Numbers ---------------------------------------------------------------------------------------------------------

    @property
    def settled(self) -> np.ndarray:
        """Which gains are above the critical one."""
        return np.array(self.experiment.gains) > self.critical

    @property
    def networks(self) -> dict[str, Fitted]:
        return {"neuron": self.neuron, "committee": self.committee}

    def strict(self) -> tuple[Number, Number]:
        """The largest median error of Gabors that differ in decay and frequency alone, and the least of those in one
        case, Gaussian or not, for one network."""
        every = np.ones(len(self.settled), bool)
        cases = [case for case in (self.settled, ~self.settled) if case.any()]
        worst = [f.strict(every).max() for f in self.networks.values()]
        return largest("worst", worst), least(
            "case", np.array([f.strict(case).max() for f in self.networks.values() for case in cases])
        )

    def widths(self) -> tuple[Number, Number]:
        """The largest step of the neuron's median width from one gain to the next, and its largest frequency."""
        width, cycles = (np.median(v, 1)[self.settled] for v in (self.neuron.width, self.neuron.frequency))
        return largest("step", np.diff(width), "pixels"), largest("cycles", cycles, "cycles round the ring")

    def uncertainties(self) -> tuple[Number, Number, Number]:
        """Largest distance of the end from 1/2, largest rise above the least, least fall of a run."""
        late = self.product[self.settled]
        end, rise = np.median(late[..., -1], 1), np.median(late[..., -1] - late.min(-1), 1)
        fall = (late[..., 0] / late[..., -1]).ravel()
        return largest("off", np.abs(end - 0.5)), largest("rise", rise), least("fall", fall)

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._gabors(), self._looks(), self._deform(), self._uncertain()

    def _basis(self) -> str:
        it = self.experiment
        return f"{it.seeds} initialisations at each of {len(it.gains)} gains, {it.steps} steps"

    def _gabors(self) -> Claim:
        every, gains = np.ones(len(self.settled), bool), self.experiment.gains
        shown = "; ".join(
            f"{name}, gains {listed(gains, 'g')}: {listed(f.strict(every), '.3f')} ({listed(f.own_phase(), '.3f')} if "
            f"every field has its own phase, {listed(np.median(f.gabor_error, 1), '.3f')} if it has an offset too)"
            for name, f in self.networks.items()
        )
        return GABORS.claim(
            "In the Gaussian and the non-Gaussian case the receptive fields are Gabors, differing only in decay and "
            "frequency.",
            source=SOURCE,
            reported="a hypothesis to be tested",
            numbers=self.strict(),
            said=f"median error of the best Gabor of a common phase: {shown}; "
            f"largest {{worst:.3f}}; in one case (below or above the critical gain {self.critical:.3f}) for one "
            "network {case:.3f} at the least",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "A wave, which a neuron learns from nearly Gaussian data, is a Gabor of infinite "
                "width; a bump at high gain is none, and the committee's fields differ in phase and offset as well."
            },
        )

    def _looks(self) -> Claim:
        high = np.array(self.experiment.gains) >= HIGH
        many = self.committee
        medians = ", ".join(
            f"{np.median(e):.3f} (gain {g:g})" for g, e in zip(self.experiment.gains, many.gabor_error, strict=True)
        )
        return LOOKS.claim(
            "Sometimes the receptive fields really look like Gabors: so it seems with several hidden units and high "
            "gain.",
            source=SOURCE,
            reported="really look like Gabors",
            numbers=[share("alike", many.gabor_error[high] < GOOD), share("rival", many.bump_error[high] < GOOD)],
            said=f"committee of {self.experiment.units}, gains from {HIGH:g} on: {{alike:.0%}} of the fields within "
            f"{GOOD:g} of a Gabor ({{rival:.0%}} of one pixel on an exponential); median errors {medians}",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            words={"high": HIGH, "good": GOOD},
        )

    def _deform(self) -> Claim:
        local = localized(self.neuron.fields)
        step, cycles = self.widths()
        return DEFORM.claim(
            "Receptive fields continuously deform from long-range oscillations to localized bumps as the gain "
            "increases.",
            source=SOURCE,
            reported="can be shown",
            numbers=(step, cycles, share("low", local[0]), share("high", local[-1])),
            said=f"one neuron, gains above {self.critical:.3f}: width "
            f"{listed(np.median(self.neuron.width, 1)[self.settled], '.2f')} pixels, largest step {{step:+.2f}}; "
            "frequency at most {cycles:.2f} cycles; localized at the least gain {low:.0%}, at the largest {high:.0%}; "
            "between these gains nothing was tried",
            basis=self._basis(),
            expected=as_measured("holds"),
        )

    def _uncertain(self) -> Claim:
        late = self.product[self.settled]
        end, rise = np.median(late[..., -1], 1), np.median(late[..., -1] - late.min(-1), 1)
        pairs = (f"{e:.2f} ({r:.2f})" for e, r in zip(end, rise, strict=True))
        return UNCERTAIN.claim(
            "The uncertainties in position and frequency decrease monotonically during training, to the minimum of "
            "1/2.",
            source=SOURCE,
            reported="a conjecture",
            numbers=self.uncertainties(),
            said=f"final product, and its rise above the least on the way, at gains above {self.critical:.2f}: "
            f"{', '.join(pairs)}; at most {{off:.2f}} from 1/2, rise at most {{rise:.2f}}; every run falls at least "
            "{fall:.0f}-fold",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "It falls steeply until the field is local, then changes little and is not least for "
                "a delta on an exponential."
            },
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        shown = self._shown()
        rows = tuple(tuple(self._fit(f, i) for i in shown) for f in self.networks.values())
        last = (self._errors(), self._widths(), self._course(shown))
        labels = ("one neuron", "committee")
        return Figure("Gabors and their rival", (*rows, last), labels=labels), self._table()

    def _shown(self) -> list[int]:
        """The first, middle and last gain above the critical one, or of all where none is."""
        late = np.flatnonzero(self.settled) if self.settled.any() else np.arange(len(self.experiment.gains))
        return [int(i) for i in np.unique([late[0], late[len(late) // 2], late[-1]])]

    def _fit(self, fitted: Fitted, i: int) -> Lines:
        """The field of median Gabor error."""
        which = int(np.argsort(fitted.gabor_error[i])[len(fitted.gabor_error[i]) // 2])
        curves = {"field": fitted.fields, "Gabor": fitted.gabor, "delta + exp": fitted.bump}
        distance = np.arange(fitted.fields.shape[-1]) - fitted.fields.shape[-1] // 2
        shown = {name: fields[i, which] for name, fields in curves.items()}
        return Lines(f"gain {self.experiment.gains[i]:g}", distance, shown, xlabel="distance from the peak")

    def _errors(self) -> Scatter:
        gains = np.array(self.experiment.gains)
        groups = {
            f"{name}, {model}": (gains, np.median(values, 1), None)
            for name, fitted in self.networks.items()
            for model, values in (("Gabor", fitted.gabor_error), ("delta + exp", fitted.bump_error))
        }
        return Scatter("error of the best fit", groups, "gain", "median relative error", logx=True, joined=True)

    def _widths(self) -> Scatter:
        late = self.settled if self.settled.any() else ~self.settled
        gains = np.array(self.experiment.gains)[late]
        groups = {name: (gains, np.median(f.width, 1)[late], None) for name, f in self.networks.items()}
        return Scatter("width of the Gabor's envelope", groups, "gain", "pixels", logx=True, joined=True)

    def _course(self, shown: list[int]) -> Lines:
        curves = {f"gain {self.experiment.gains[i]:g}": np.median(self.product[i], 0)[1:] for i in shown}
        curves["1/2"] = np.full(len(self.time) - 1, 0.5)
        title = "uncertainty of the neuron's field"
        return Lines(title, self.time[1:], curves, xlabel="time", logx=True, logy=True)

    def _table(self) -> Figure:
        rows = [
            (name, f"{gain:g}", *(f"{np.median(v[i]):.3f}" for v in _columns(f)))
            for name, f in (("one neuron", self.neuron), ("committee", self.committee))
            for i, gain in enumerate(self.experiment.gains)
        ]
        gabor, bump, *others = (v[0, 0] for v in _columns(self.exact))
        rows.append(("exact, Ising", "-", f"{gabor:.4f}", f"{bump:.4f}", *(f"{v:.3f}" for v in others)))
        columns = (
            "network",
            "gain",
            "Gabor error",
            "delta + exp error",
            "width",
            "cycles round the ring",
            "without an offset",
        )
        return Figure("Medians over fields", ((Table("", columns, tuple(rows)),),))

    def text(self) -> str:
        it, one, many = self.experiment, self.neuron, self.committee
        low, high = self._shown()[0], len(it.gains) - 1
        better = "better" if np.median(many.gabor_error[high]) < np.median(many.bump_error[high]) else "worse"

        def at(values: np.ndarray, i: int) -> str:
            return f"{np.median(values[i]):.3f}"

        first, last = f"gain {it.gains[low]:g}", f"gain {it.gains[high]:g}"
        return (
            "The notes suppose that all receptive fields are one-dimensional Gabors which differ in decay and "
            "frequency alone, and that their uncertainty falls to 1/2 during training. A single neuron's field "
            f"oscillates by {at(one.frequency, low)} cycles a ring at {first} and {at(one.frequency, high)} at {last} "
            f"(0 is a bump); the best Gabor of six parameters misses {at(one.gabor_error, low)} of it at {first} and "
            f"{at(one.gabor_error, high)} at {last}, where one pixel on an exponential, of five parameters, misses "
            f"{at(one.bump_error, high)}. An extension: on Ising data, couplings {COUPLINGS[0]:g} and "
            f"{COUPLINGS[1]:g}, the steady state (S0+S1)^-1 S1 e is known exactly; one pixel on an exponential misses "
            f"{self.exact.bump_error[0, 0]:.4f} of it and a Gabor {self.exact.gabor_error[0, 0]:.3f}. In a committee "
            f"of {it.units} units the fields have about {at(many.frequency, high)} cycles a ring at {last}, and Gabors "
            f"are the {better} description: {at(many.gabor_error, high)} against {at(many.bump_error, high)}. The "
            f"uncertainty goes from {np.median(self.product[high, :, 0]):.1f} to "
            f"{np.median(self.product[high, :, -1]):.2f} at the highest gain; 1/2 is no bound on a ring of pixels (one "
            f"pixel alone has 0). The flat field gives way above gain {self.critical:.2f} in the effective flow. "
            f"Lengthscales {WIDE[0]:g} and {WIDE[1]:g} alone were run. {it.seeds} initialisations, {it.steps} steps, "
            f"gradients averaged over all shifts and signs of {it.batch} samples, whose noise in the tails counts in "
            "the uncertainty."
        )


def _columns(fitted: Fitted) -> tuple[np.ndarray, ...]:
    one_phase = fitted.strict_error.min(-1)
    return fitted.gabor_error, fitted.bump_error, fitted.width, fitted.frequency, one_phase
