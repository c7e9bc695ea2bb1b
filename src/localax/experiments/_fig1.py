"""Figure 1, right: localized receptive fields in two dimensions, by a committee of ReLU units and by ICA."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .._record import Claim, Fields, Figure, Lines, Outcome, Table, decide
from .._trajectory import Trajectory
from ..analysis import ica, ipr, peak, peak_sign, tiling
from ..networks import SoftCommittee, Xavier
from ..stimuli import GaussianClone, Task
from ..training import train
from ._seeds import seed_from, seeds_from
from ._tasks import binary, nlgp
from ._unit_kinds import CONCENTRATED

GAIN = 100.0


@dataclass(frozen=True)
class Settings:
    """A committee on a torus, its control on the Gaussian clone of the data, and the samples that ICA unmixes."""

    side: int = 16
    lengthscales: tuple[float, float] = (1.0, 2.0)
    units: int = 20
    rate: float = 3.0
    steps: int = 1500
    control_steps: int = 200
    """Steps on the clone, whose fields stay as they are from early on."""
    batch: int = 16
    ica_side: int = 10
    ica_lengthscales: tuple[float, float] = (0.5, 0.7)
    components: int = 30
    samples: int = 20_000
    iterations: int = 40


PRESETS = {
    "quick": Settings(),
    "paper": Settings(side=30, steps=10_000, control_steps=2500, batch=10, ica_side=16, components=80, samples=100_000),
}


def run(settings: Settings, key: Any, progress: Callable[[float], None]) -> Outcome:
    """Train the committee and its control, then unmix."""
    sides = (settings.side, settings.side)
    task = nlgp(GAIN, settings.lengthscales, sides)
    data = _trained(task, settings.steps, settings, key)
    progress(0.5)
    clone = _trained(binary(*map(GaussianClone, task.stimuli)), settings.control_steps, settings, key)
    progress(0.6)
    filters = _unmixed(settings, jax.random.fold_in(key, 2))
    progress(1.0)
    return Outcome(
        title="Figure 1: two dimensions",
        text=_text(data, clone, filters, settings),
        figures=(_figure(data, clone, filters, settings), _table(data, clone, filters)),
        claims=(_committee_claim(data, clone, settings), _ica_claim(filters, settings)),
    )


def _trained(task: Task, steps: int, settings: Settings, key: Any) -> Trajectory:
    return train(
        task, SoftCommittee(settings.units), steps=steps, batch=settings.batch, rate=settings.rate, estimator="orbit",
        init=Xavier(0.01), seeds=seeds_from(key, 1), data_seed=seed_from(jax.random.fold_in(key, 1)),
        save_every=steps // 20, progress=False,
    )  # fmt: skip


def _unmixed(settings: Settings, key: Any) -> np.ndarray:
    task = nlgp(GAIN, settings.ica_lengthscales, (settings.ica_side, settings.ica_side))
    x = np.asarray(task.sample(key, settings.samples)[0], float)  # float32 is not enough for this many components
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*did not converge")
        return ica(x, settings.components, steps=settings.iterations)


def sharpness(fields: np.ndarray) -> np.ndarray:
    """N * IPR of images (..., row, column): 1 if flat, 3 for white noise."""
    return np.asarray(ipr(fields, ndim=2)) * fields.shape[-1] * fields.shape[-2]


def _text(data: Trajectory, clone: Trajectory, filters: np.ndarray, settings: Settings) -> str:
    end = data.final[0]
    places, signs = len(np.unique(peak(end, ndim=2))), int(np.sum(np.asarray(peak_sign(end, ndim=2)) > 0))
    mine, its, unmixed = (float(np.median(sharpness(w))) for w in (end, clone.final[0], filters))
    return (
        f"The paper opens with fields in two dimensions that a committee and ICA learn from the same kind of data. "
        f"{settings.units} ReLU units on a torus of {settings.side} x {settings.side} pixels end with a median N x IPR "
        f"of {mine:.1f}, against {its:.1f} on the Gaussian clone of the data and 3 for white noise. Their peaks are at "
        f"{places} different pixels (evenness {float(tiling(end, ndim=2)):.2f}; 1 is best and chance 0.7); "
        f"{signs} are positive. ICA with {settings.components} components of {settings.ica_side} x {settings.ica_side} "
        f"pixels has a median of {unmixed:.1f}. It needs many samples: a random direction among n components has about "
        f"1/n of the kurtosis of a pixel, which must stand out of the noise. One network, one fit; the network's "
        f"gradients are averages over all shifts and both signs of {settings.batch} samples a step in place of "
        f"10,000 samples."
    )


def _figure(data: Trajectory, clone: Trajectory, filters: np.ndarray, settings: Settings) -> Figure:
    shown = min(20, settings.components)
    progress = {"data": data, "Gaussian clone": clone}
    curves = {name: np.median(sharpness(run.weights[0]), -1) for name, run in progress.items()}
    share = np.linspace(0, 1, len(curves["data"]))
    images = (
        Fields("committee", data.final[0]),
        Fields("committee, Gaussian clone", clone.final[0]),
        Fields(f"ICA, {shown} components", filters[:shown]),
        Lines("median N x IPR of the committee", share, curves, xlabel="share of the training"),
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
        basis=f"one network, {settings.side} x {settings.side} pixels, {settings.steps} steps of {settings.batch} "
        "samples with all their shifts and signs",
        verdict=decide(local.mean() >= 0.9 and ratio >= 3, local.mean() > 0.5),
        expected="holds",
    )


def _ica_claim(filters: np.ndarray, settings: Settings) -> Claim:
    local = sharpness(filters) >= CONCENTRATED
    return Claim(
        sentence="ICA learns localized receptive fields from the task in 2-D.",
        source="seed 004, figure 1 (right)",
        reported="blobs",
        measured=f"{int(local.sum())} of {local.size} components with N * IPR of at least {CONCENTRATED:g}, median "
        f"{np.median(sharpness(filters)):.1f}",
        rule="at least nine tenths of the components; in part if more than half",
        basis=f"one fit, {settings.samples} samples of {settings.ica_side} x {settings.ica_side} pixels",
        verdict=decide(local.mean() >= 0.9, local.mean() > 0.5),
        expected="holds",
    )
