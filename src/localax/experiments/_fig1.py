"""Figure 1, right: localized receptive fields in two dimensions, by a committee of ReLU units and by ICA."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .._progress import Update
from .._record import Claim, Fields, Figure, Lines, Outcome, Table, decide
from .._trajectory import Trajectory
from ..analysis import ipr, peak, peak_sign, tiling
from ..networks import SoftCommittee, Xavier
from ..stimuli import GaussianClone, Task
from ..theory import exact_flow
from ._ica import Components, unmixed
from ._neuron import orbit
from ._seeds import seed_from, seeds_from
from ._tasks import binary, nlgp
from ._train import train
from ._unit_kinds import CONCENTRATED

GAIN = 100.0
BATCH = 10_000
"""Samples a step behind the figure."""


@dataclass(frozen=True)
class Settings:
    """A committee on a torus, and the samples that ICA unmixes."""

    side: int = 16
    lengthscales: tuple[float, float] = (1.0, 2.0)
    units: int = 20
    rate: float = 3.0
    steps: int = 1500
    batch: int = 16
    ica_side: int = 10
    ica_lengthscales: tuple[float, float] = (0.5, 0.7)
    components: int = 30
    samples: int = 20_000
    iterations: int = 40


PRESETS = {
    "quick": Settings(),
    "paper": Settings(side=30, steps=10_000, batch=10, ica_side=16, components=80, samples=100_000),
}


def run(settings: Settings, key: Any, progress: Update) -> Outcome:
    """Train the committee, follow the population flow on the Gaussian clone from the same weights, then unmix."""
    sides = (settings.side, settings.side)
    task = nlgp(GAIN, settings.lengthscales, sides)
    data = _trained(task, settings, key)
    progress(0.5)
    clone = _control(task, data, settings)
    progress(0.6)
    found = _unmixed(settings, jax.random.fold_in(key, 2))
    progress(1.0)
    return Outcome(
        title="Figure 1: two dimensions",
        text=_text(data, clone, found, settings, jax.random.fold_in(key, 3)),
        figures=(_figure(data, clone, found.filters), _table(data, clone, found.filters)),
        claims=(_committee_claim(data, clone, settings), _ica_claim(found, settings)),
    )


def _trained(task: Task, settings: Settings, key: Any) -> Trajectory:
    return train(
        task, SoftCommittee(settings.units), steps=settings.steps, batch=settings.batch, rate=settings.rate,
        estimator="orbit", init=Xavier(0.01), seeds=seeds_from(key, 1),
        data_seed=seed_from(jax.random.fold_in(key, 1)), save_every=settings.steps // 20,
    )  # fmt: skip


def _control(task: Task, data: Trajectory, settings: Settings) -> Trajectory:
    """The Gaussian clone of the data, to the same time: its gradient is known, so nothing is sampled."""
    clone = binary(*map(GaussianClone, task.stimuli))
    return exact_flow(clone, SoftCommittee(settings.units), data.weights[:, 0], times=data.time, rtol=1e-4, atol=1e-6)


def _unmixed(settings: Settings, key: Any) -> Components:
    task = nlgp(GAIN, settings.ica_lengthscales, (settings.ica_side, settings.ica_side))
    x = np.asarray(task.sample(key, settings.samples)[0], float)  # float32 is not enough for this many components
    return unmixed(x, settings.components, settings.iterations)


def _evenness_by_chance(settings: Settings, key: Any) -> float:
    """The mean evenness of as many peaks at random pixels."""
    pixels = settings.side**2
    peaks = jax.random.randint(key, (20, settings.units), 0, pixels)
    fields = jax.nn.one_hot(peaks, pixels).reshape(20, settings.units, settings.side, settings.side)
    return float(np.mean(tiling(fields, ndim=2)))


def sharpness(fields: np.ndarray) -> np.ndarray:
    """N * IPR of images (..., row, column): 1 if flat, 3 for white noise."""
    return np.asarray(ipr(fields, ndim=2)) * fields.shape[-1] * fields.shape[-2]


def _text(data: Trajectory, clone: Trajectory, found: Components, settings: Settings, key: Any) -> str:
    end = data.final[0]
    places, signs = len(np.unique(peak(end, ndim=2))), int(np.sum(np.asarray(peak_sign(end, ndim=2)) > 0))
    mine, its, ours = (float(np.median(sharpness(w))) for w in (end, clone.final[0], found.filters))
    return (
        f"The paper opens with fields in two dimensions that a committee and ICA learn from the same kind of data. "
        f"{settings.units} ReLU units on a torus of {settings.side} x {settings.side} pixels end with a median N x IPR "
        f"of {mine:.1f}, against {its:.1f} on the Gaussian clone of the data (population flow from the same weights to "
        f"the same time, without samples) and 3 for white noise. Their peaks are at {places} different pixels "
        f"(evenness {float(tiling(end, ndim=2)):.2f}; 1 is best and chance gives "
        f"{_evenness_by_chance(settings, key):.2f}); {signs} are positive. ICA with {settings.components} components "
        f"of {settings.ica_side} x {settings.ica_side} pixels has a median of {ours:.1f} after "
        f"{_iterations(found, settings)}. It needs many samples: a random direction among n components has about 1/n "
        f"of the kurtosis of a pixel, which must stand out of the noise. One network, one fit; a step of the network "
        f"has {orbit(settings.batch)} in place of {BATCH:,} samples.{_missing(settings)}"
    )


def _missing(settings: Settings) -> str:
    whole = PRESETS["paper"]
    if settings.side >= whole.side and settings.steps >= whole.steps:
        return ""
    return (
        f" The figure has {whole.side} x {whole.side} pixels and {whole.steps:,} steps, here {settings.steps:,}; its "
        f"ICA {whole.components} components of {whole.ica_side} x {whole.ica_side}."
    )


def _iterations(found: Components, settings: Settings) -> str:
    return f"{settings.iterations} iterations, {'' if found.converged else 'not '}converged"


def _figure(data: Trajectory, clone: Trajectory, filters: np.ndarray) -> Figure:
    shown = min(20, len(filters))
    progress = {"data": data, "Gaussian clone": clone}
    curves = {name: np.median(sharpness(run.weights[0]), -1) for name, run in progress.items()}
    images = (
        Fields("committee", data.final[0]),
        Fields("committee, Gaussian clone", clone.final[0]),
        Fields(f"ICA, {shown} components", filters[:shown]),
        Lines("median N x IPR of the committee", data.time, curves, xlabel="time (steps x rate)"),
    )
    caption = "Every field is scaled to its own largest value."
    return Figure("Receptive fields in two dimensions", (images[:2], images[2:]), caption=caption)


def _table(data: Trajectory, clone: Trajectory, filters: np.ndarray) -> Figure:
    rows = []
    for name, w in {"committee": data.final[0], "committee, clone": clone.final[0], "ICA": filters}.items():
        sharp = sharpness(w)
        size = f"{w.shape[-2]} x {w.shape[-1]}"
        count = f"{int(np.sum(sharp >= CONCENTRATED))}/{len(w)}"
        rows.append((name, size, count, *(f"{v:.1f}" for v in np.quantile(sharp, (0, 0.5, 1)))))
    columns = ("fields of", "pixels", "concentrated", "least N x IPR", "median", "largest")
    return Figure("How local the fields are", ((Table("", columns, tuple(rows)),),))


def _committee_claim(data: Trajectory, clone: Trajectory, settings: Settings) -> Claim:
    mine, its = sharpness(data.final[0]), sharpness(clone.final[0])
    ratio = float(np.median(mine) / np.median(its))
    local = mine >= CONCENTRATED
    return Claim(
        sentence="The soft committee machine learns localized receptive fields from the task in 2-D.",
        source="seed 004, figure 1 (right)",
        reported="twenty blobs",
        measured=f"{int(local.sum())} of {local.size} units with N * IPR of at least {CONCENTRATED:g}, median "
        f"{np.median(mine):.1f}, {ratio:.1f} times that on the Gaussian clone",
        rule="at least nine tenths of the units, and a median of three times the clone's; in part if more than half",
        basis=f"one network, {settings.side} x {settings.side} pixels, {settings.steps:,} steps of "
        f"{orbit(settings.batch)}; the clone to the same time, without samples",
        verdict=decide(local.mean() >= 0.9 and ratio >= 3, local.mean() > 0.5),
        expected="holds",
    )


def _ica_claim(found: Components, settings: Settings) -> Claim:
    local = sharpness(found.filters) >= CONCENTRATED
    return Claim(
        sentence="ICA learns localized receptive fields from the task in 2-D.",
        source="seed 004, figure 1 (right)",
        reported="blobs",
        measured=f"{int(local.sum())} of {local.size} components with N * IPR of at least {CONCENTRATED:g}, median "
        f"{np.median(sharpness(found.filters)):.1f}",
        rule="at least nine tenths of the components; in part if more than half",
        basis=f"one fit, {settings.samples:,} samples of {settings.ica_side} x {settings.ica_side} pixels, "
        f"{_iterations(found, settings)}",
        verdict=decide(local.mean() >= 0.9, local.mean() > 0.5),
        expected="holds",
    )
