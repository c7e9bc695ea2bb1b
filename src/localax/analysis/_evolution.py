"""A trajectory as a figure: how fields, localization and loss go with time, for every setting that was swept."""

import numpy as np

from ..outcome import Fields, Figure, Lines, Panel, Scatter
from ..trajectory import Trajectory
from ._localization import ipr

SHOWN = 6
"""Moments drawn of one field, curves of one panel, and settings of a sweep."""
TIME = "time (steps x rate)"


def spread(count: int, most: int = SHOWN) -> np.ndarray:
    """Places from the first to the last of so many, evenly chosen where they are more than ``most``."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def settings_apart(trajectory: Trajectory) -> list[Trajectory]:
    """Every swept setting as a trajectory of its own; the trajectory itself where nothing is swept."""
    count = trajectory.n_swept
    return [trajectory] if count is None else [trajectory.select(i) for i in range(count)]


def setting_labels(trajectory: Trajectory) -> tuple[str, ...]:
    """What to call each of the swept settings, ``gain = 0.1``; nothing where none is swept.

    **trajectory**: the sweep.
    """
    return tuple(_label(trajectory, i, tuple(trajectory.swept)) for i in range(trajectory.n_swept or 0))


def _label(trajectory: Trajectory, i: int, names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} = {trajectory.swept[name][i]:.4g}" for name in names) or f"setting {i}"


def evolution(trajectory: Trajectory) -> Figure:
    """A figure of a run: one field over time, the fields at the end, and IPR and loss against time.

    **trajectory**: a run or a sweep. Of a sweep, a row for every setting, or for some of them where they are many, and
    the IPR at the end for all.
    """
    runs, labels = settings_apart(trajectory), setting_labels(trajectory)
    if not labels:
        return Figure("Evolution of the receptive fields", (_fields(trajectory), _curves(trajectory)))
    shown = spread(len(runs))
    rows = [(*_fields(runs[i]), _localization(runs[i])) for i in shown]
    end = (_ends(trajectory),)
    return Figure("Evolution of the receptive fields", (*rows, end), tuple(labels[i] for i in shown))


def _fields(run: Trajectory) -> tuple[Panel, ...]:
    moments = spread(len(run.time))
    times = tuple(f"t = {run.time[m]:.3g}" for m in moments)
    last = run.final.reshape(-1, *run.pixels)[: SHOWN**2]
    return (
        Fields(f"seed {run.seeds[0]}, unit 0 over time", run.weights[0, moments, 0], times),
        Fields(f"fields at t = {run.time[-1]:.3g}", last),
    )


def _curves(run: Trajectory) -> tuple[Panel, ...]:
    if run.loss is None:
        return (_localization(run),)
    losses = {f"seed {seed}": loss for seed, loss in zip(run.seeds[:SHOWN], run.loss, strict=False)}
    return _localization(run), Lines("loss", run.time, losses, xlabel=TIME, ylabel="loss")


def _localization(run: Trajectory) -> Lines:
    values = ipr(run)
    places = list(np.ndindex(run.n_seeds, run.n_units))[:SHOWN]
    curves = {f"seed {run.seeds[i]}, unit {j}": values[i, :, j] for i, j in places}
    return Lines("localization", run.time, curves, xlabel=TIME, ylabel="IPR")


def _ends(trajectory: Trajectory) -> Scatter:
    """The IPR at the end of every setting, over what was swept: mean and standard deviation over seeds and units."""
    values = ipr(trajectory.final, ndim=trajectory.pixel_ndim).reshape(trajectory.n_swept or 1, -1)
    name, x, others = _abscissa(trajectory)
    labels = np.array([_label(trajectory, i, others) if others else "all seeds and units" for i in range(len(x))])
    groups = {}
    for label in dict.fromkeys(labels):
        places = np.flatnonzero(labels == label)
        places = places[np.argsort(x[places])]
        groups[str(label)] = x[places], values[places].mean(1), values[places].std(1)
    wide = x.min() > 0 and x.max() > 20 * x.min()
    return Scatter("at the end", groups, xlabel=name, ylabel="IPR", logx=bool(wide), joined=True)


def _abscissa(trajectory: Trajectory) -> tuple[str, np.ndarray, tuple[str, ...]]:
    """What was swept, by name and value, and what else where that does not tell the settings apart."""
    for name, values in trajectory.swept.items():
        if len(np.unique(values)) == len(values):
            return name, values.astype(float), ()
    if not trajectory.swept:
        return "setting", np.arange(trajectory.n_swept or 1, dtype=float), ()
    first, *others = trajectory.swept
    return first, trajectory.swept[first].astype(float), tuple(others)
