"""Trajectories as numbers and figures: how fields, loss and localization go with time, and how two runs compare."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from .._record import Fields, Figure, Lines
from .._trajectory import Trajectory
from ._localization import ipr, peak

SHOWN = 6
"""Moments drawn of one field's evolution, and fields drawn of a population."""


def evolution(trajectory: Trajectory) -> Figure:
    """A figure of a run: one field over time, the fields at the end, and IPR and loss against time.

    Of several settings the first is drawn.
    """
    weights, time = trajectory.weights, trajectory.time
    if trajectory.n_settings is not None:
        weights, time = weights[0], time[0] if time.ndim == 2 else time
    moments = np.unique(np.linspace(0, len(time) - 1, SHOWN).astype(int))
    values = np.asarray(ipr(jnp.asarray(weights), ndim=trajectory.pixel_ndim))
    curves = {
        f"seed {i + 1}, unit {j + 1}": values[i, :, j]
        for i, j in list(np.ndindex(values.shape[0], values.shape[2]))[:SHOWN]
    }
    last = weights[:, -1].reshape(-1, *trajectory.pixels)[: SHOWN**2]
    first = (
        Fields("first unit over time", weights[0, moments, 0], tuple(f"t = {time[m]:.3g}" for m in moments)),
        Fields(f"fields at t = {time[-1]:.3g}", last),
    )
    second = [Lines("localization", time, curves, xlabel="time (steps x rate)", ylabel="IPR")]
    if trajectory.loss is not None:
        loss = trajectory.loss[0] if trajectory.n_settings is not None else trajectory.loss
        losses = {f"seed {i + 1}": loss[i] for i in range(min(len(loss), SHOWN))}
        second.append(Lines("loss", time, losses, xlabel="time (steps x rate)", ylabel="loss"))
    return Figure("Evolution of the receptive fields", (first, tuple(second)))


@dataclass(frozen=True)
class Comparison:
    """Two trajectories at the times of the first: per time, averaged over seeds and units."""

    time: np.ndarray
    distance: np.ndarray
    """Relative l2 distance |a - b| / |b|."""
    ipr: tuple[np.ndarray, np.ndarray]
    peaks: np.ndarray
    """Share of fields whose largest weight is at the same pixel."""

    def __str__(self) -> str:
        rows = zip(self.time, self.distance, *self.ipr, self.peaks, strict=True)
        lines = [f"{t:10.4g} {d:10.4f} {a:8.4f} {b:8.4f} {p:8.2f}" for t, d, a, b, p in rows]
        return "\n".join(["      time   distance    IPR a    IPR b    peaks", *lines])


def compare(a: Trajectory, b: Trajectory) -> Comparison:
    """How far two runs of the same networks are apart over time: l2, IPR and agreement of peaks."""
    if a.final.shape != b.final.shape:
        raise ValueError(f"compare: the fields must have the same shape, got {a.final.shape} and {b.final.shape}")
    if a.time.ndim > 1 or b.time.ndim > 1:
        raise ValueError("compare: takes runs with one clock; choose one of the swept rates first")
    ours, theirs = a.weights, _at_times(b, a.time)
    pixels = tuple(range(-a.pixel_ndim, 0))
    gap, size = (np.sqrt(np.sum(v**2, axis=pixels)) for v in (ours - theirs, theirs))
    axis = 1 if a.n_settings is None else 2
    keep = tuple(i for i in range(gap.ndim) if i != axis)
    iprs = tuple(np.asarray(ipr(jnp.asarray(w), ndim=a.pixel_ndim)).mean(axis=keep) for w in (ours, theirs))
    same = np.asarray(peak(jnp.asarray(ours), ndim=a.pixel_ndim) == peak(jnp.asarray(theirs), ndim=a.pixel_ndim))
    return Comparison(
        a.time, (gap / size).mean(axis=keep), (iprs[0], iprs[1]), _agreement(same, gap.shape).mean(axis=keep)
    )


def _agreement(same: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """One truth per field, whether peaks are indices or coordinates."""
    return same if same.shape == shape else np.asarray(same.all(axis=-1))


def _at_times(trajectory: Trajectory, times: np.ndarray) -> np.ndarray:
    """Weights at given times, by linear interpolation between records."""
    axis = 1 if trajectory.n_settings is None else 2
    after = np.clip(np.searchsorted(trajectory.time, times), 1, len(trajectory.time) - 1)
    left, right = trajectory.time[after - 1], trajectory.time[after]
    share = np.clip((times - left) / (right - left), 0, 1)
    share = share.reshape([-1 if i == axis else 1 for i in range(trajectory.weights.ndim)])
    low, high = np.take(trajectory.weights, after - 1, axis), np.take(trajectory.weights, after, axis)
    return low + share * (high - low)
