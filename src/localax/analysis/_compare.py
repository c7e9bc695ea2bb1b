"""Two runs of the same networks side by side: how far apart they are over time, in numbers, words and a figure."""

from dataclasses import dataclass

import numpy as np

from .._errors import SettingError, setting_error
from .._text import FEW, table
from ..outcome import Figure, Lines, Panel
from ..trajectory import Trajectory
from ._evolution import TIME, setting_labels, settings_apart, spread
from ._localization import ipr, peak

NEAR = 0.05
"""Runs less than this part of their norm apart are called near."""
COLUMNS = ("distance", "IPR a", "IPR b", "peaks")


@dataclass(frozen=True)
class Comparison:
    """Two trajectories at the times of the first that both have: means over seeds and units, ([sweep], time)."""

    time: np.ndarray
    """The times compared, (time), or ([sweep], time) where settings have their own clocks."""
    distance: np.ndarray
    """Relative l2 distance |a - b| / |b|, pixel by pixel: neither shift nor sign is taken out."""
    ipr: tuple[np.ndarray, np.ndarray]
    """IPR of the first and of the second."""
    peaks: np.ndarray
    """Share of fields whose largest weight is at the same pixel."""
    fields: int
    """How many fields, seeds times units, each number is a mean over."""
    labels: tuple[str, ...] = ()
    """What each setting is called; empty where nothing was swept."""

    def sentence(self) -> str:
        """What the numbers show, in words."""
        if not self.labels:
            return f"{_nearness(self.time, self.distance)}; at the end {self._at_the_end()}"
        end = self.distance[:, -1]
        if not np.isfinite(end).all():
            return f"{len(end)} settings, of which {np.sum(~np.isfinite(end))} do not stay finite"
        least, most = (f"{end[i]:.1%} ({self.labels[i]})" for i in (end.argmin(), end.argmax()))
        return f"{len(end)} settings: at the end apart by {least} to {most}, {self._peaks_agree()}"

    def _at_the_end(self) -> str:
        end = self.distance[-1]
        return f"{end:.1%} apart, {self._peaks_agree()}" if np.isfinite(end) else "not finite"

    def _peaks_agree(self) -> str:
        ends = np.atleast_1d(self.peaks[..., -1])
        return f"peaks agree in {round(ends.sum() * self.fields)} of {ends.size * self.fields}"

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """At most eight rows and their head: moments of one setting, or the ends of several."""
        numbers = [self.distance, *self.ipr, self.peaks]
        if self.labels:
            names, ends = list(self.labels), [column[:, -1] for column in numbers]
        else:
            names, ends = [f"{t:.4g}" for t in self.time], numbers
        head = ["at the end" if self.labels else "time", *COLUMNS]
        return head, [[names[i], *(f"{column[i]:.4f}" for column in ends)] for i in spread(len(names), FEW)]

    def __str__(self) -> str:
        head, rows = self.rows()
        wide = max(len(row[0]) for row in (head, *rows))
        lines = [" ".join([row[0].rjust(wide), *(cell.rjust(8) for cell in row[1:])]) for row in (head, *rows)]
        return "\n".join([*lines, self.sentence()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, rows = self.rows()
        return table(rows, head, self.sentence())

    def figure(self) -> Figure:
        """Distance, IPR and peaks over time; a row for every setting, or for some where they are many."""
        if not self.labels:
            return Figure("Comparison", (_panels(self.time, self.distance, *self.ipr, self.peaks),))
        shown = spread(len(self.labels))
        rows = [_panels(*(part[i] for part in (self.time, self.distance, *self.ipr, self.peaks))) for i in shown]
        return Figure("Comparison", tuple(rows), tuple(self.labels[i] for i in shown))


def compare(a: Trajectory, b: Trajectory) -> Comparison:
    """How far two runs of the same networks are apart over time: relative l2, IPR and agreement of peaks.

    ``a``, ``b``: two runs, of training or theory. At the times of ``a`` that ``b`` covers, ``b`` taken linearly between
    its records. Two sweeps over the same settings are compared setting by setting.
    """
    for name, it in {"a": a, "b": b}.items():
        if not isinstance(it, Trajectory):
            raise setting_error("compare", name, it, "a Trajectory")
    if a.final.shape != b.final.shape or a.pixel_ndim != b.pixel_ndim:
        raise SettingError(f"compare: the fields must have the same shape, got {a.final.shape} and {b.final.shape}")
    if a.swept and b.swept and setting_labels(a) != setting_labels(b):
        raise SettingError(f"compare: the settings differ: {setting_labels(a)[0]} ... and {setting_labels(b)[0]} ...")
    each = [_compared(*pair) for pair in zip(settings_apart(a), settings_apart(b), strict=True)]
    fields, labels = a.n_seeds * a.n_units, setting_labels(a)
    if not labels:
        time, distance, ours, theirs, peaks = each[0]
    elif len({len(parts[0]) for parts in each}) > 1:
        raise SettingError("compare: the settings share unequally many times; choose one with .select(i)")
    else:
        time, distance, ours, theirs, peaks = map(np.stack, zip(*each, strict=True))
    return Comparison(time, distance, (ours, theirs), peaks, fields, labels)


def _compared(a: Trajectory, b: Trajectory) -> tuple[np.ndarray, ...]:
    """Times, distance, both IPRs and the share of equal peaks, of one setting."""
    both = _shared(a.time, b.time)
    if not both.any():
        raise SettingError(f"compare: the runs share no time: {a.time[0]:g} to {a.time[-1]:g} and {b.time[0]:g} on")
    time, ndim, mean = a.time[both], a.pixel_ndim, (0, 2)
    ours, theirs = a.weights[:, both], _at_times(b, time)
    gap, size = (np.sqrt(np.sum(w**2, axis=tuple(range(-ndim, 0)))) for w in (ours - theirs, theirs))
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.where(gap == 0, 0, gap / size)
    ours_at, theirs_at = (peak(w, ndim=ndim) for w in (ours, theirs))
    same = (ours_at == theirs_at) & (ours_at >= 0)
    iprs = (ipr(w, ndim=ndim).mean(mean) for w in (ours, theirs))
    return time, apart.mean(mean), *iprs, same.mean(mean)


def _shared(time: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Which times lie in the span of the others, up to rounding of steps times rate."""
    slack = 1e-6 * (other[-1] - other[0])
    return (time >= other[0] - slack) & (time <= other[-1] + slack)


def _at_times(trajectory: Trajectory, times: np.ndarray) -> np.ndarray:
    """Weights of one setting at given times, by linear interpolation between records."""
    if len(trajectory.time) == 1:
        return trajectory.weights.repeat(len(times), 1)
    after = np.clip(np.searchsorted(trajectory.time, times), 1, len(trajectory.time) - 1)
    left, right = trajectory.time[after - 1], trajectory.time[after]
    share = np.clip((times - left) / (right - left), 0, 1).reshape(-1, 1, *[1] * trajectory.pixel_ndim)
    low, high = trajectory.weights[:, after - 1], trajectory.weights[:, after]
    return low + share * (high - low)


def _nearness(time: np.ndarray, distance: np.ndarray) -> str:
    beyond = ~(distance <= NEAR)  # so that NaN counts
    if not beyond.any():
        return f"within {NEAR:.0%} of each other throughout"
    first = int(beyond.argmax())
    if first <= 1:  # most runs that are compared have one start
        return f"more than {NEAR:.0%} apart from t = {time[first]:.3g} on"
    return f"within {NEAR:.0%} until t = {time[first - 1]:.3g}"


def _panels(
    time: np.ndarray, distance: np.ndarray, ours: np.ndarray, theirs: np.ndarray, peaks: np.ndarray
) -> tuple[Panel, ...]:
    return (
        Lines("relative distance", time, {"|a - b| / |b|": distance}, xlabel=TIME),
        Lines("localization", time, {"a": ours, "b": theirs}, xlabel=TIME, ylabel="IPR"),
        Lines("share of equal peaks", time, {"peaks": peaks}, xlabel=TIME),
    )
