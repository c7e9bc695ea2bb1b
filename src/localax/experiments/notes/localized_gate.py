"""The gate on a single pixel: its input-output covariance, and what the input-input covariance makes of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np

from ..._math import ring_distance
from ..._progress import Update
from ...analysis import align, concentration, distance, gathered, ipr, localized
from ...networks import Xavier, seed_keys
from ...outcome import Claim, Fields, Figure, Heatmap, Lines, Number, Rule, Table, as_measured, by_theory
from ...spec import Setting
from ...stimuli import Task
from ...theory import critical_gain, mean_gated_input
from ...theory.gates import input_output_covariance
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.neuron import neuron
from ..toolkit.populations import largest
from ..toolkit.seeds import seed_from, seeds_from
from ..toolkit.sources import NETWORKS
from ..toolkit.tasks import SIZE, nlgp
from ..toolkit.train import train
from ..toolkit.words import listed

PIXEL = 20
LENGTHSCALES = (1.0, 2.0)
GAINS = (0.01, 0.3, 1.0, 3.0, 100.0)
NEAR = slice(PIXEL - 8, PIXEL + 9)
NOTED = 3.0
"""The gain at which the notes show other gates than one pixel; its peak is reported."""
SMOOTH, SHARP = GAINS[0], GAINS[-1]
"""The gains of nearly Gaussian and of nearly binary pixels."""

CONSTANT = Rule(
    "the printed peak is within {sure:g} standard errors of the sampled one at every gain",
    lambda n, t: n.off < t.sure,
    thresholds={"sure": 5.0},
    holds={"off": 2.0},
    fails={"off": 300.0},
)
BUMP = Rule(
    "at every gain it falls with the distance from the pixel, as far as is shown, and is localized",
    lambda n, _: n.falling == n.gains and n.local == n.gains,
    holds={"falling": 5, "local": 5, "gains": 5},
    fails={"falling": 5, "local": 3, "gains": 5},
)
DIFFERENCE = Rule(
    "pixel and neighbours give the least squares field within {good:.0%} at every gain, the neighbours' weight being "
    "negative (in part: within {fair:.0%}, of either sign)",
    lambda n, t: n.misfit < t.good and n.neighbour < 0,
    partly=lambda n, t: n.misfit < t.fair,
    thresholds={"good": 0.1, "fair": 0.2},  # of the norm: it looks right to the eye; it has the shape
    holds={"misfit": 0.06, "neighbour": -0.8},
    part={"misfit": 0.15, "neighbour": -0.8},
    fails={"misfit": 0.4, "neighbour": -0.8},
)
EXPLAINED = Rule(
    "less than {same:g} at every gain above {critical:.3f}, where the flat field gives way in the effective flow (in "
    "part: at gain {sharp:g})",
    lambda n, t: n.worst < t.same,
    partly=lambda n, t: n.binary < t.same,
    thresholds={"same": 0.05},  # a cosine of 0.999, what training leaves of noise
    holds={"worst": 0.03, "binary": 0.01},
    part={"worst": 0.3, "binary": 0.01},
    fails={"worst": 0.3, "binary": 0.2},
)


@dataclass(frozen=True)
class LocalizedGate(AbstractExperiment):
    """What field does the gate on a single pixel lead to, and is it that of a localized ReLU neuron?"""

    name: ClassVar[str] = "localized_gate"
    title: ClassVar[str] = "The localized gate"
    cost: ClassVar[float] = 36.0

    samples: Annotated[int, Setting("samples that check closed forms", kind=int, ge=1000)] = 100_000
    seeds: Annotated[int, Setting("trained neurons at each gain", kind=int, ge=1)] = 3
    steps: Annotated[int, Setting("steps of their training", kind=int, ge=1)] = 3000
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 128

    @classmethod
    def paper(cls) -> "LocalizedGate":
        return cls(samples=1_000_000, seeds=10, steps=8000, batch=256)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Trained neurons, closed forms beside samples at every gain, then two wider gates."""
        tasks = {gain: nlgp(gain, LENGTHSCALES) for gain in GAINS}
        learned = self._learned(list(tasks.values()), jax.random.fold_in(key, 0))
        progress(0.6)
        gates = {
            gain: self._gate(gain, task, fields, seed_from(key))
            for (gain, task), fields in zip(tasks.items(), learned, strict=True)
        }
        progress(0.9)
        seed = seed_from(jax.random.fold_in(key, 3))
        wider = {name: Wider(gate, self._drawn(tasks[NOTED], gate, seed)[0]) for name, gate in _wider().items()}
        return Measured(self, gates, wider, critical_gain(*LENGTHSCALES, SIZE))

    def _learned(self, tasks: list[Task], key: Any) -> np.ndarray:
        """Fields of ReLU neurons from small random weights and, last, from the basis vector of the gate's pixel, (task,
        start, pixel)."""
        random = Xavier(1e-3).weights(seed_keys(seeds_from(key, self.seeds)), 1, (SIZE,), np.float32)
        starts = np.concatenate([np.asarray(random), np.eye(SIZE, dtype=np.float32)[None, [PIXEL]]])
        run = train(
            tasks, neuron(), steps=self.steps, batch=self.batch, rate=0.05, seeds=len(starts),
            data_seed=seed_from(key), init=starts, estimator="orbit", save_every=self.steps,
        )  # fmt: skip
        return np.asarray(run.final[:, :, 0], float)

    def _gate(self, gain: float, task: Task, learned: np.ndarray, seed: int) -> "Gate":
        low, high = (s.covariance_matrix() for s in task.stimuli)
        sampled, error = self._drawn(task, np.eye(SIZE)[PIXEL], seed)
        drive = input_output_covariance(task, PIXEL)
        return Gate(drive, sampled, error, (low + high) / 4, printed_peak(gain), learned[:-1], learned[-1])

    def _drawn(self, task: Task, gate: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """E[g Y X] of a gate from samples, and its standard error."""
        found = mean_gated_input(task.stimuli[1], gate, method="sampled", samples=self.samples, seed=seed)
        return found.value / 2, found.standard_error / 2


def _wider() -> dict[str, np.ndarray]:
    distance = np.roll(ring_distance(SIZE), PIXEL)
    bump = np.select([distance == 0, distance == 1], [1.0, 0.5], 0.0)
    return {"small bump": bump, "Mexican hat": (1 - distance**2 / 4) * np.exp(-(distance**2) / 8)}


def printed_peak(gain: float) -> float:
    """Eq. 74 as printed, at r = 1."""
    norm = np.sqrt(2 / np.pi * np.arcsin(2 * gain**2 / (1 + 2 * gain**2)))
    return float(np.arctan(np.sqrt(2) * gain) / (np.sqrt(np.pi) * norm))


@dataclass(frozen=True)
class Gate:
    """One gain: E[g Y X] of the gate on one pixel, exact, sampled (with its error) and printed (its peak); E[g X X'],
    which is (S0 + S1)/4 behind every gate 1(<v,x> > 0); the fields of ReLU neurons from random weights, and of one that
    starts as the basis vector of the pixel."""

    drive: np.ndarray
    sampled: np.ndarray
    error: np.ndarray
    inside: np.ndarray
    printed: float
    learned: np.ndarray
    from_basis: np.ndarray

    @property
    def field(self) -> np.ndarray:
        """Where a linear unit behind the gate ends: least squares."""
        return np.linalg.solve(self.inside, self.drive)

    @property
    def falls(self) -> bool:
        """Whether the drive falls with the distance from the pixel, as far as it is shown."""
        return bool(np.all(np.diff(self.drive[PIXEL : NEAR.stop]) < 0))

    @property
    def ratio(self) -> float:
        return float(self.printed / self.sampled[PIXEL])

    def apart(self) -> np.ndarray:
        """Distance of the ReLU neurons from the field behind the gate, up to place and sign, over its norm."""
        return distance(self.learned, self.field) / np.linalg.norm(self.field)

    def basis_apart(self) -> float:
        """The same for the neuron that starts on the pixel, which must not be moved."""
        return float(np.linalg.norm(self.from_basis - self.field) / np.linalg.norm(self.field))

    def neighbours(self, reach: int) -> tuple[np.ndarray, float]:
        """The field as a filter of the drive: weights of the pixel and its neighbours that fit best, and the misfit."""
        columns = [self.drive] + [np.roll(self.drive, d) + np.roll(self.drive, -d) for d in range(1, reach + 1)]
        basis = np.stack(columns, axis=1)
        weights = np.linalg.lstsq(basis, self.field, rcond=None)[0]
        return weights, float(np.linalg.norm(basis @ weights - self.field) / np.linalg.norm(self.field))


@dataclass(frozen=True)
class Wider:
    """A gate of several pixels, and its E[g Y X] from samples."""

    gate: np.ndarray
    drive: np.ndarray


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """The gate on one pixel at every gain, wider gates at the notes' gain, and the gain from which on the flat field of
    a neuron is unstable."""

    experiment: LocalizedGate
    gates: Mapping[float, Gate]
    wider: Mapping[str, Wider]
    critical: float

    @property
    def localizing(self) -> list[float]:
        """The gains at which neurons localize: those above the critical one."""
        return [gain for gain in self.gates if gain > self.critical]

    @property
    def worst(self) -> float:
        """How far samples are from the corrected closed form, in standard errors."""
        return max(float(np.max(np.abs(g.sampled - g.drive) / g.error)) for g in self.gates.values())

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._constant(), self._bump(), self._difference(), self._explanation()

    def _constant(self) -> Claim:
        off = [abs(g.printed - g.sampled[PIXEL]) / g.error[PIXEL] for g in self.gates.values()]
        ratios, noted = [g.ratio for g in self.gates.values()], self.gates[NOTED]
        return CONSTANT.claim(
            "The input-output covariance is atan(r/sqrt(1/(2g^2) + 1 - r^2))/(sqrt(pi) Z).",
            source=f"{NETWORKS}, Eqs. 72 to 74",
            reported=f"a peak of {noted.printed:.4f} at gain {NOTED:g}",
            numbers=[
                Number("off", max(off), unit="standard errors"),
                Number("peak", noted.sampled[PIXEL], noted.error[PIXEL]),
                Number("low", min(ratios)),
                Number("high", max(ratios)),
                Number("corrected", self.worst, unit="standard errors"),
            ],
            said=f"sampled peak {{peak:.4f}} at gain {NOTED:g}; printed over sampled peaks {{low:.3f}} to {{high:.3f}} "
            "(up to {off:.0f} standard errors); with 1/(2 pi) for 1/sqrt(pi) all entries are within {corrected:.1f}",
            basis=f"{self.experiment.samples:,} samples at each of {len(self.gates)} gains",
            expected=by_theory("does not hold", "erratum B-30: the integral of Eq. 71"),
            reasons={
                "does not hold": "The integral in Eq. 71 is atan(...)/pi, not 2 atan(...)/sqrt(pi) (erratum B-30)."
            },
        )

    def _bump(self) -> Claim:
        drives = np.stack([gate.drive for gate in self.gates.values()])
        return BUMP.claim(
            "The input-output covariance of the gate is a localized bump centred at its pixel.",
            source=f"{NETWORKS}, figure 4",
            reported="a localized bump for varying gain",
            numbers=[
                Number("falling", sum(gate.falls for gate in self.gates.values()), unit="gains"),
                Number("local", int(localized(drives).sum()), unit="gains"),
                Number("gains", len(drives), unit="gains"),
                Number("concentration", np.min(concentration(drives))),
                Number("gathered", np.min(gathered(drives))),
            ],
            said="falls with the distance at {falling} and is localized at {local} of {gains} gains: n IPR at least "
            "{concentration:.1f}, at least {gathered:.3f} of the energy in one quarter of the ring",
            basis=f"closed form at {len(self.gates)} gains",
            expected=by_theory("holds", "Eq. 74 increases with the correlation r"),
        )

    def _difference(self) -> Claim:
        three, five = ([g.neighbours(reach)[1] for g in self.gates.values()] for reach in (1, 2))
        return DIFFERENCE.claim(
            "The input-input covariance basically computes a difference between adjacent points of the bump.",
            source=f"{NETWORKS}, after Eq. 74",
            reported="unfinished",
            numbers=[
                Number("misfit", max(three)),
                Number("neighbour", max(g.neighbours(1)[0][1] for g in self.gates.values())),
                Number("least", min(three)),
                Number("five", max(five)),
            ],
            said="weights of a pixel and its two neighbours give the field within {least:.1%} to {misfit:.1%}, with "
            "the next two within {five:.1%}; the neighbours' weight is at most {neighbour:.2f}; weights at gain "
            f"{SHARP:g}: {listed(self.gates[SHARP].neighbours(1)[0], '.2f')}",
            basis=f"closed form at {len(self.gates)} gains",
            expected=by_theory("holds in part", "the inverse of (S0 + S1)/4, and least squares"),
            reasons={
                "holds in part": "The inverse alternates in sign and reaches two pixels; its sum is positive, so it "
                "sharpens the bump rather than differentiates it."
            },
        )

    def _explanation(self) -> Claim:
        apart = {gain: float(g.apart().max()) for gain, g in self.gates.items()}
        distances = ", ".join(f"{d:.3f} (gain {gain:g})" for gain, d in apart.items())
        return EXPLAINED.claim(
            "The gate on one pixel explains the localization of the converged weights of the ReLU network.",
            source=f"{NETWORKS}, section 5.2",
            reported="explains the localization behavior we've observed",
            numbers=[largest("worst", [apart[gain] for gain in self.localizing]), Number("binary", apart[SHARP])],
            said=f"relative distance of the ReLU neuron from the field behind the gate: {distances}; at most "
            f"{{worst:.3f}} above the critical gain {self.critical:.3f}, {{binary:.3f}} at gain {SHARP:g}",
            basis=f"{self.experiment.seeds} trained neurons a gain",
            expected=as_measured("holds in part"),
            words={"sharp": SHARP, "critical": self.critical},
            reasons={
                "holds in part": "Exact on binary pixels, where one weight that outweighs the others is the whole "
                "gate; at lower gain neighbours move the gate too, and on Gaussian data the gate leaves the pixel."
            },
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        return self._several_gains(), self._wider_gates(), self._comparison(), self._table()

    def _several_gains(self) -> Figure:
        pixels = np.arange(SIZE)[NEAR]
        shown = {f"gain {gain:g}": self.gates[gain] for gain in (0.01, 1.0, 3.0, 100.0)}
        drive = Lines(
            "input-output covariance",
            pixels,
            {name: gate.drive[NEAR] for name, gate in shown.items()},
            {name: gate.sampled[NEAR] for name, gate in shown.items()},
            xlabel="pixel",
            kinds=("exact", "sampled"),
        )
        fields = {name: gate.field[NEAR] for name, gate in shown.items()}
        field = Lines("least squares behind the gate", pixels, fields, xlabel="pixel")
        return Figure(f"The gate on pixel {PIXEL} at several gains", ((drive, field),))

    def _wider_gates(self) -> Figure:
        """Input-input covariance, its inverse, and for two wider gates the gate, its drive and where it leads."""
        inside = self.gates[NOTED].inside
        first, last = NEAR.start - 0.5, NEAR.stop - 0.5
        maps = tuple(
            Heatmap(title, matrix[NEAR, NEAR], "pixel", "pixel", (first, last, first, last))
            for title, matrix in (("input-input covariance", inside), ("its inverse", np.linalg.inv(inside)))
        )
        panels = []
        for name, it in self.wider.items():
            field = np.linalg.solve(inside, it.drive)
            shapes = {"gate": it.gate, "input-output covariance": it.drive, "least squares": field}
            curves = {label: shape / shape.max() for label, shape in shapes.items()}
            panels.append(Lines(f"{name}, each over its maximum", np.arange(SIZE), curves, xlabel="pixel"))
        return Figure(f"Two wider gates at gain {NOTED:g}", (maps, tuple(panels)))

    def _comparison(self) -> Figure:
        panels = []
        for gain in (0.01, 1.0, 100.0):
            gate = self.gates[gain]
            moved = align(gate.field, gate.learned[0]).field
            labels = ("behind the gate", "ReLU neuron", "from the basis vector")
            panels.append(Fields(f"gain {gain:g}", np.stack([gate.field, moved, gate.from_basis]), labels))
        return Figure("The field behind the gate and that of a trained ReLU neuron", (tuple(panels),))

    def _table(self) -> Figure:
        rows = tuple(
            (
                f"{gain:g}", f"{g.drive[PIXEL]:.4f}", f"{g.printed:.4f}", f"{g.neighbours(1)[1]:.3f}",
                f"{g.neighbours(2)[1]:.3f}", f"{float(ipr(g.field)):.3f}", f"{float(np.mean(ipr(g.learned))):.3f}",
                f"{localized(g.learned).sum()} of {len(g.learned)}", f"{g.apart().mean():.3f}",
                f"{float(ipr(g.from_basis)):.3f}", f"{g.basis_apart():.3f}",
            )
            for gain, g in self.gates.items()
        )  # fmt: skip
        columns = (
            "gain", "peak", "peak of Eq. 74", "misfit of 3 pixels", "misfit of 5", "IPR behind the gate",
            "IPR of the neuron", "neurons localized", "distance", "IPR from the basis vector", "distance from there",
        )  # fmt: skip
        return Figure("Gain by gain", ((Table("", columns, rows),),))

    def text(self) -> str:
        sharp, smooth = self.gates[SHARP], self.gates[SMOOTH]
        weights, ratio = sharp.neighbours(1)[0], np.mean([gate.ratio for gate in self.gates.values()])
        falling = sum(gate.falls for gate in self.gates.values())
        apart = ", ".join(
            f"{self.gates[gain].apart().mean():.1%} (gain {gain:g}, {localized(self.gates[gain].learned).sum()} of "
            f"{self.experiment.seeds} localized)"
            for gain in self.localizing
        )
        basis = ", ".join(
            f"{g.basis_apart():.1%} (gain {gain:g}{', localized' if localized(g.from_basis) else ''})"
            for gain, g in self.gates.items()
        )
        return (
            f"{NETWORKS.capitalize()} compute the input-output covariance of a gate on one pixel, leave open what the "
            "input-input covariance does to it (after Eq. 74), and say that it explains localized ReLU neurons. The "
            f"covariance is a bump about the pixel at {falling} of {len(self.gates)} gains; the printed constant is "
            f"{ratio:.3f} times the sampled one, where 2 sqrt(pi) is {2 * np.sqrt(np.pi):.3f} "
            f"({self.experiment.samples:,} samples are within {self.worst:.1f} standard errors of the corrected form). "
            f"The input-input covariance is (S0 + S1)/4 behind every gate, and its inverse works on the bump: at gain "
            f"{SHARP:g} the best filter of three pixels has weights {weights[0]:.2f} at the pixel and {weights[1]:.2f} "
            f"at its neighbours, and the IPR goes from {float(ipr(sharp.drive)):.2f} to {float(ipr(sharp.field)):.2f}. "
            f"Above gain {self.critical:.3f}, where the flat field of a neuron gives way by theory, the result is this "
            f"far from the fields of trained neurons: {apart}. "
            f"At gain {SMOOTH:g}, nearly Gaussian data, the gate would give a field of IPR "
            f"{float(ipr(smooth.field)):.2f}; the neurons' own have {float(np.mean(ipr(smooth.learned))):.2f}, and "
            f"{localized(smooth.learned).sum()} of {len(smooth.learned)} are localized. The notes ask "
            "what becomes of a neuron that starts as a basis vector and leave Eq. 36 blank: it is E[X_i; X_i > 0] = "
            f"atan(sqrt(2) g)/(pi Z), twice the peak, {2 * self.gates[NOTED].drive[PIXEL]:.4f} at gain {NOTED:g}. As "
            f"an extension, such a neuron, whose gate is the one on its pixel at first, ends this far from the field "
            f"behind that gate: {basis}. {self.experiment.seeds} trained neurons a gain, orbit gradients."
        )
