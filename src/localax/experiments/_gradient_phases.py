"""Phases of the gradient: when the quadratic term hands over to f(w), and how long f looks as if data were Gaussian."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._progress import Update
from .._record import Claim, Figure, Lines, Outcome, decide
from ..analysis import ipr, spectrum
from ..networks import SoftCommittee
from ..stimuli import Task
from ..theory import exact_flow, mean_gated_input
from ._tasks import SIZE, ising

SCALES = {"standard normal start": 1.0, "small start": float(np.sqrt(1e-3 * 2 / (SIZE + 1)))}
"""The notes' initial weights, and those of the paper (Xavier with scale 0.001)."""
HANDOVER = 2.0
"""The quadratic term hands over when it is only this many times as long as f."""
LOCALIZED = 0.5
"""IPR from which a field has localized: one pixel has most of its energy."""
SMALL, LARGE = 0.1, 0.5
"""Relative errors of the velocity: Gaussian data would move the field the same way, and would not."""
KEPT, TIMES = 0.3, 10
"""f keeps its form while its error stays below the first; the velocity loses it if its error grows so many times."""
MODES = 8


@dataclass(frozen=True)
class Settings:
    """Starts of the exact flow on Ising data, followed to this time."""

    starts: int = 3
    time: float = 60.0
    records: int = 30


PRESETS = {"quick": Settings(), "paper": Settings(starts=28, time=100.0, records=60)}


@dataclass(frozen=True)
class Phases:
    """The two terms of the gradient along the flow, (start, time, pixel), and what f would be on Gaussian data."""

    time: np.ndarray
    fields: np.ndarray
    drive: np.ndarray
    gaussian: np.ndarray
    shrinking: np.ndarray

    def ratio(self) -> np.ndarray:
        """Length of the quadratic term over that of f."""
        return _length(self.shrinking) / _length(self.drive)

    def error_of_drive(self) -> np.ndarray:
        return _length(self.drive - self.gaussian) / _length(self.drive)

    def error_of_velocity(self) -> np.ndarray:
        return _length(self.drive - self.gaussian) / _length(self.drive - self.shrinking)

    def handover(self) -> np.ndarray:
        """Index of the first record, per start, at which the quadratic term no longer dominates."""
        return _first(self.ratio() < HANDOVER)

    def localized(self) -> np.ndarray:
        """Index of the first record, per start, at which the field has localized."""
        return _first(self.ipr() > LOCALIZED)

    def ipr(self) -> np.ndarray:
        return np.asarray(ipr(jnp.asarray(self.fields)))

    def complete(self) -> np.ndarray:
        """Which starts hand over and localize before the flow ends."""
        return np.any(self.ratio() < HANDOVER, axis=1) & np.any(self.ipr() > LOCALIZED, axis=1)


def _first(so: np.ndarray) -> np.ndarray:
    """Index of the first record, per start, at which something is so; the last if it never is."""
    return np.where(so.any(axis=1), np.argmax(so, axis=1), so.shape[1] - 1)


def _at(records: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values (start, time) at one record of each start."""
    return np.take_along_axis(values, records[:, None], axis=1)[:, 0]


def _length(vectors: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vectors, axis=-1)


def run(settings: Settings, key: Any, progress: Update) -> Outcome:
    """The exact flow from the same directions at two lengths, taken apart into its two terms."""
    task = ising()
    noise = np.asarray(jax.random.normal(key, (settings.starts, SIZE)))
    starts = np.concatenate([scale * noise for scale in SCALES.values()])
    times = np.concatenate([[0.0, 0.05, 0.1, 0.2], np.geomspace(0.3, settings.time, settings.records)])
    flow = exact_flow(task, SoftCommittee(1), starts, times=times, rtol=1e-4, atol=1e-7)
    progress(0.7)
    both = _terms(task, times, flow.weights[:, :, 0])
    phases = {name: _part(both, i, settings.starts) for i, name in enumerate(SCALES)}
    large, small = phases.values()
    shrinkage = _shrinkage(task, large)
    return Outcome(
        title="Phases of the gradient",
        text=_text(large, small, settings),
        figures=(_figure(phases, shrinkage),),
        claims=(
            _dominance_claim(large, small, settings),
            _shrinking_claim(*shrinkage, settings),
            _gaussian_claim(large, settings),
            _reason_claim(large, settings),
        ),
    )


def _terms(task: Task, times: np.ndarray, fields: np.ndarray) -> Phases:
    low, high = (s.covariance_matrix() for s in task.stimuli)
    drive = np.asarray(mean_gated_input(task.stimuli[1], fields.reshape(-1, SIZE), tolerance=1e-3))
    image = fields @ high
    spread = np.sqrt(2 * np.pi * np.sum(fields * image, axis=-1, keepdims=True))
    return Phases(times, fields, drive.reshape(fields.shape), image / spread, fields @ (low + high) / 2)


def _part(both: Phases, index: int, count: int) -> Phases:
    rows = slice(index * count, (index + 1) * count)
    return Phases(both.time, *(a[rows] for a in (both.fields, both.drive, both.gaussian, both.shrinking)))


def _shrinkage(task: Task, phases: Phases) -> tuple[np.ndarray, np.ndarray]:
    """Rates at which the lowest frequencies shrink at first: measured, and (l0 + l1)/2 of the quadratic term alone."""
    power, at = np.asarray(spectrum(jnp.asarray(phases.fields))).sum(0), 2
    measured = -np.log(power[at] / power[0]) / 2 / phases.time[at]
    rates = np.mean([np.fft.rfft(s.covariance()).real for s in task.stimuli], axis=0)
    return measured[:MODES], rates[:MODES]


def _text(large: Phases, small: Phases, settings: Settings) -> str:
    when, where = large.time[large.handover()], large.time[large.localized()]
    first, error = small.ratio()[:, 0], large.error_of_drive()
    leads = "f is the longer from the first step on" if first.max() < 1 else "f does not lead from the first step"
    return (
        f"Seed 003 says that at first the quadratic term shrinks the field, low frequencies first, that training looks "
        f"Gaussian for this reason, and that f(w) takes over later. In the exact flow on Ising data (no samples) from "
        f"standard normal weights the quadratic term is {large.ratio()[:, 0].mean():.1f} times as long as f at the "
        f"start, hands over (ratio {HANDOVER:g}) at t = {when.mean():.1f}, and the field has localized at t = "
        f"{where.mean():.1f}; {large.complete().sum()} of {settings.starts} starts do both before t = "
        f"{settings.time:g}. Up to the handover Gaussian data would give the same velocity within "
        f"{_worst_before(large):.1%}. From the paper's small weights the ratio is {first.mean():.2f} at the start: "
        f"{leads}. f itself is {error[:, 0].mean():.0%} from its Gaussian form at the start, "
        f"{_at(large.handover(), error).mean():.0%} at the handover, {error[:, -1].mean():.0%} at the end and "
        f"{error.max():.0%} at most. What changes is that the two terms come to balance, and then what f has beyond "
        f"its Gaussian form is all that moves the field. Ising data alone were tried, at one pair of couplings."
    )


def _worst_before(phases: Phases) -> float:
    """Largest error of the Gaussian velocity at any record before the handover."""
    early = np.arange(len(phases.time)) < phases.handover()[:, None]
    return float(np.max(np.where(early, phases.error_of_velocity(), 0)))


def _figure(phases: dict[str, Phases], shrinkage: tuple[np.ndarray, np.ndarray]) -> Figure:
    rows = []
    for name, p in phases.items():
        stop = int(p.localized().max()) + 3
        time = p.time[1:stop]
        lengths = {"quadratic term": _length(p.shrinking)[0, 1:stop], "f(w)": _length(p.drive)[0, 1:stop]}
        errors = {"of f(w)": p.error_of_drive()[0, 1:stop], "of the velocity": p.error_of_velocity()[0, 1:stop]}
        marks = {"localized": float(p.time[p.localized()[0]])}
        if p.handover()[0] > 0:
            marks = {"handover": float(p.time[p.handover()[0]]), **marks}
        terms = Lines(f"{name}: lengths", time, lengths, xlabel="time", logx=True, marks=marks)
        title = "relative error of the Gaussian form"
        rows.append((terms, Lines(title, time, errors, xlabel="time", logx=True, logy=True, marks=marks)))
    measured, alone = shrinkage
    curves = {"quadratic term alone": alone, "flow": measured}
    rates = Lines("early shrinking of frequencies", np.arange(MODES), curves, xlabel="k", ylabel="rate")
    time = phases["small start"].time[1:]
    local = {name: p.ipr()[0, 1:] for name, p in phases.items()}
    return Figure(
        "Two terms of one gradient", (*rows, (rates, Lines("IPR of the field", time, local, xlabel="time", logx=True)))
    )


# Claims --------------------------------------------------------------------------------------------------------------


def _basis(settings: Settings) -> str:
    return f"exact flow on Ising data, {settings.starts} starts, no samples"


def _dominance_claim(large: Phases, small: Phases, settings: Settings) -> Claim:
    first, other = (p.ratio()[:, 0] for p in (large, small))
    return Claim(
        sentence="Early in training the quadratic term dominates the dynamics.",
        source="seed 003, section 2",
        reported="with w initialized as standard Gaussian",
        measured=f"quadratic term over f at the start: {first.min():.1f} to {first.max():.1f} from standard normal "
        f"weights, {other.min():.2f} to {other.max():.2f} from those of the paper",
        rule=f"more than {HANDOVER:g} from every start of both kinds (in part: from standard normal weights)",
        basis=_basis(settings),
        verdict=decide(min(first.min(), other.min()) > HANDOVER, first.min() > HANDOVER),
        expected="holds in part",
        reason="f does not depend on the length of w and the quadratic term is proportional to it: small weights start "
        "in the second phase.",
    )


def _shrinking_claim(measured: np.ndarray, alone: np.ndarray, settings: Settings) -> Claim:
    off = np.abs(measured / alone - 1)
    return Claim(
        sentence="The quadratic term shrinks low frequencies faster than high ones.",
        source="seed 003, footnote 3 ('Does this make sense?')",
        reported="a question",
        measured=f"rates of frequencies 0 to {MODES - 1}: {', '.join(f'{r:.2f}' for r in measured)}; (l0 + l1)/2: "
        f"{', '.join(f'{r:.2f}' for r in alone)}, from which f takes up to {off.max():.0%}",
        rule="in the flow, which has f as well, the rate falls from each of these frequencies to the next",
        basis=_basis(settings),
        verdict=decide(np.all(np.diff(measured) < 0)),
        expected="holds",
    )


def _gaussian_claim(large: Phases, settings: Settings) -> Claim:
    late = _at(large.localized(), large.error_of_velocity())
    return Claim(
        sentence="The dynamics are those of Gaussian data until the quadratic term is of the order of f(w), and not "
        "after.",
        source="seed 003, section 2",
        reported="a Gaussian approximation empirically always holds early in training",
        measured=f"relative error of the velocity: at most {_worst_before(large):.3f} before the handover, "
        f"{late.min():.2f} or more when the field localizes; {large.complete().sum()} of {settings.starts} starts hand "
        "over and localize",
        rule=f"every start hands over and localizes; the error is below {SMALL} at every record before the handover "
        f"and above {LARGE} when the IPR passes {LOCALIZED}",
        basis=_basis(settings),
        verdict=decide(large.complete().all() and _worst_before(large) < SMALL and late.min() > LARGE),
        expected="holds",
    )


def _reason_claim(large: Phases, settings: Settings) -> Claim:
    drive, velocity = large.error_of_drive(), large.error_of_velocity()
    end = _at(large.localized(), velocity)
    return Claim(
        sentence="The Gaussian phase ends because f(w) is no longer negligible, not because f(w) itself changes form.",
        source="seed 003, section 2",
        reported="the first term is no longer negligible, and the dynamics are no longer Gaussian",
        measured=f"from the start to localization the error of f goes from {drive[:, 0].mean():.3f} to "
        f"{_at(large.localized(), drive).mean():.3f} (at most {drive.max():.3f}), that of the velocity from "
        f"{velocity[:, 0].mean():.3f} to {end.mean():.2f}",
        rule=f"the error of f never exceeds {KEPT}, while that of the velocity grows by more than {TIMES} times, at "
        "every start, all of which localize",
        basis=_basis(settings),
        verdict=decide(large.complete().all() and drive.max() < KEPT and np.min(end / velocity[:, 0]) > TIMES),
        expected="holds",
    )
