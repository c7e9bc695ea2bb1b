"""Pictures of a sweep, as data: curves with errors over seeds, or a phase diagram, and theory's threshold in them."""

import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import theory
from ..._disk import StrPath
from ..._errors import SettingError, setting_error, unknown
from ...outcome import Diagram, Figure, Scatter
from ...stimuli import Task
from .._training import task_of
from ._design import Axis, Design
from ._result import axis_names, described
from ._table import last
from ._unit import work_of

if TYPE_CHECKING:
    import xarray

EQ5, TRUE = "threshold (Eq. 5)", "threshold (true flow)"
"""Where the flat field gives way: in the effective flow and, where that is cheap to know, in the true one."""
GIVES_WAY = "Thresholds: where the flat field gives way."
WIDE = 20.0
"""Ratio of the ends of an axis from which on it is logarithmic."""
ROOTS = 2000
"""Settings at which growth is computed at most: each takes milliseconds."""
CHEAP = 200
"""Thresholds x pixels up to which those of the true flow are drawn too: about 5 s, most of it compiling."""
KEY = 8
"""Curves and marks of a picture: a longer key is not drawn."""
SAMPLES = 2**12
"""For each of these; their standard error is some 0.1%, less than the width of a line."""


def _excess_kurtosis(task: Task) -> float:
    return float(task.stimuli[-1].marginal.excess_kurtosis())


def _ratio(task: Task) -> float:
    """Of the widths of the last and the first class: their correlations summed over the ring."""
    short, long = (np.sum(s.covariance()) / s.covariance().flat[0] for s in (task.stimuli[0], task.stimuli[-1]))
    return float(long / short)


DERIVED: dict[str, Callable[[Task], float]] = {"excess_kurtosis": _excess_kurtosis, "width_ratio": _ratio}
"""What a picture may show along an axis beside the settings themselves: numbers of the task."""


@dataclass(frozen=True)
class _Axis:
    """An axis of a picture: which axis of the sweep it is, and the number at each of its places."""

    index: int
    name: str
    values: np.ndarray
    derived: Callable[[Task], float] | None = None

    @property
    def logarithmic(self) -> bool:
        return bool(self.values.min() > 0 and self.values.max() > WIDE * self.values.min())


def sweep_figure(
    path: StrPath,
    x: str,
    y: str = "ipr",
    color: str | None = None,
    at: Mapping[str, Any] | None = None,
    *,
    theory: bool = True,
) -> Figure:
    """A picture of the result in **path**.

    **x**: a setting. **y**: what was measured, for curves; or a second setting, for a phase diagram. **color**: what
    the diagram shows; for curves, the setting that tells them apart. **at**: values of other settings, by name; the
    first unless given. **theory**: whether its threshold is drawn.
    """
    with _result(path) as data:
        made = _Picture(data, described(json.loads(data.attrs["settings"])), dict(at or {}))
        try:
            return made.diagram(x, y, color or "ipr", theory) if made.is_axis(y) else made.curves(x, y, color, theory)
        except RuntimeError as error:  # how netCDF tells of a part that is damaged
            raise SettingError(f"plot: {path} cannot be read: {error}") from error


def _result(path: StrPath) -> "xarray.Dataset":
    """The file of a sweep, opened."""
    import xarray

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of readers that guessed in vain
            data = xarray.open_dataset(path)
        design = described(json.loads(data.attrs["settings"]))
        if any(data.sizes[name] != size for name, size in zip(axis_names(design), design.shape, strict=True)):
            raise ValueError("a part of a result")
    except (FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # whatever is met in a file that is not what it should be
        raise SettingError(f"plot: {path} is no result of a sweep, as localax sweep writes it") from error
    return data


class _Picture:
    """A result, its design, and the values of settings that a picture does not show."""

    def __init__(self, data: "xarray.Dataset", design: Design, at: dict[str, Any]):
        self.data, self.design, self.names = data, design, axis_names(design)
        self.fixed = dict.fromkeys(range(len(design.axes)), 0)
        for name, value in at.items():
            axis = self.axis(name)
            if type(value) not in (int, float):
                raise setting_error("plot", name, value, "a number, e.g. --at rate=0.05")
            if not np.isclose(axis.values, value, rtol=1e-6).any():
                there = ", ".join(f"{one:g}" for one in axis.values[:8])
                raise setting_error("plot", name, value, f"one of {there}")
            self.fixed[axis.index] = int(np.argmin(np.abs(axis.values - value)))

    def is_axis(self, name: str) -> bool:
        return name in DERIVED or name in self.design.names.values()

    def axis(self, name: str) -> _Axis:
        """An axis of the sweep by the name of what varies along it."""
        if name in DERIVED:
            return self._derived(name)
        for i, axis in enumerate(self.design.axes):
            if name in [self.design.names[path] for path in axis.paths]:
                values = np.asarray(self.data[name].values)
                numbers = values if values.dtype.kind in "iuf" else np.arange(len(values))
                return _Axis(i, name, np.asarray(numbers, float))
        raise unknown("setting of this sweep", name, [*self.design.names.values(), *DERIVED])

    def _derived(self, name: str) -> _Axis:
        """A number of the task, along the axis on which it varies."""
        found = []
        for i, axis in enumerate(self.design.axes):
            values = np.array([DERIVED[name](self.task({i: place})) for place in range(len(axis.places))])
            found += [_Axis(i, name, values, DERIVED[name])] if np.ptp(values) > 0 else []
        if len(found) != 1:
            raise setting_error("plot", name, f"varying along {len(found)} axes", "one that varies along one axis")
        return found[0]

    def task(self, where: Mapping[int, int], changes: Mapping[str, Any] | None = None) -> Task:
        """The task at some places of the axes, with settings changed."""
        point: dict[str, Any] = {}
        for i, axis in enumerate(self.design.axes):
            point |= axis.places[(self.fixed | dict(where))[i]]
        settings = work_of(self.design.what).checked(self.design.at({**point, **(changes or {})}))
        if "stimulus" not in settings:
            raise SettingError(f"plot: a sweep of {self.design.what} has no task to ask theory about")
        return task_of(settings["stimulus"], settings["labels"], settings["proportions"])

    # What was measured ------------------------------------------------------------------------------------------------

    def measured(self, name: str, shown: list[_Axis]) -> tuple[np.ndarray, np.ndarray | None]:
        """Means over units and seeds, with axes as shown, and their standard errors where there are several seeds."""
        if name not in self.data.data_vars:
            raise unknown("measured quantity", name, map(str, self.data.data_vars))
        chosen = {self.names[i]: place for i, place in self.fixed.items() if i not in [axis.index for axis in shown]}
        array = last(self.data[name].isel(chosen))
        seeds = [dim for dim in array.dims if dim not in [self.names[axis.index] for axis in shown]]
        array = array.mean([dim for dim in seeds if dim != "seed"])
        order = [self.names[axis.index] for axis in shown]
        if "seed" not in array.dims:
            return array.transpose(*order).values, None
        array = array.transpose(*order, "seed")
        mean, count = array.mean("seed").values, array.sizes["seed"]
        return mean, array.std("seed", ddof=1).values / np.sqrt(count) if count > 1 else None

    def curves(self, x: str, y: str, color: str | None, draws_theory: bool) -> Figure:
        """Curves over one setting, one for each value of another."""
        along, apart = self.axis(x), self.axis(color) if color else None
        if apart and apart.index == along.index:
            raise setting_error("plot", "color", color, f"another axis than {x}")
        values, errors = self.measured(y, [apart, along] if apart else [along])
        values, errors = np.atleast_2d(values), None if errors is None else np.atleast_2d(errors)
        order = np.argsort(along.values)
        names = [f"{color} = {self._said(apart, i)}" for i in range(len(values))] if apart else [y]
        groups = {
            name: (along.values[order], row[order], None if errors is None else errors[i][order])
            for i, (name, row) in enumerate(zip(names, values, strict=True))
        }
        places: list[dict[int, int]] = [{apart.index: i} for i in range(len(names))] if apart else [{}]
        marks = self._marks(along, places, names) if draws_theory and self._has_theory() else {}
        panel = Scatter(self._title([along, apart]), groups, x, y, logx=along.logarithmic, joined=True, marks=marks)
        return Figure(
            f"{y} against {x}", ((panel,),), caption=f"Means over units and seeds, with standard errors. {GIVES_WAY}"
        )

    def _marks(self, along: _Axis, places: list[dict[int, int]], names: list[str]) -> dict[str, float]:
        """The thresholds of the curves: one for all where it is the same, else the smallest and the largest."""
        marks: dict[str, float] = {}
        for theirs, found in self.thresholds(along, places).items():
            ends = dict.fromkeys(pick(found, key=lambda one: one[1]) for pick in (min, max))
            same = len({root for _, root in ends}) == 1
            new = {theirs: found[0][1]} if same else {f"{theirs}, {names[i]}": root for i, root in ends}
            marks |= new if len(names) + len(marks) + len(new) <= KEY else {}
        return marks

    def diagram(self, x: str, y: str, color: str, draws_theory: bool) -> Figure:
        """One number over two settings."""
        along, up = self.axis(x), self.axis(y)
        if along.index == up.index:
            raise setting_error("plot", "y", y, f"along another axis than {x}; these two vary together")
        values, _ = self.measured(color, [up, along])
        rows, columns = np.argsort(up.values), np.argsort(along.values)
        found = {}
        if draws_theory and self._has_theory():
            found = self.thresholds(along, [{up.index: int(i)} for i in rows])
        curves = {
            name: (np.array([root for _, root in roots]), np.array([up.values[rows[i]] for i, _ in roots]))
            for name, roots in found.items()
        }
        panel = Diagram(
            self._title([along, up]), along.values[columns], up.values[rows], values[np.ix_(rows, columns)], curves,
            xlabel=x, ylabel=y, color=color, logx=along.logarithmic, logy=up.logarithmic,
        )  # fmt: skip
        return Figure(f"{color} over {x} and {y}", ((panel,),), caption=f"Means over units and seeds. {GIVES_WAY}")

    def _said(self, axis: _Axis | None, place: int) -> str:
        assert axis is not None
        if axis.derived:
            return f"{axis.values[place]:.3g}"
        value = self.data[axis.name].values[place]
        return str(value) if isinstance(value, str) else f"{value:g}"

    def _title(self, shown: list[_Axis | None]) -> str:
        """The values of the settings that are not shown."""
        seen = [axis.index for axis in shown if axis]
        rest = [i for i, axis in enumerate(self.design.axes) if i not in seen and len(axis.places) > 1]
        said = [(self.design.names[path], value) for i in rest for path, value in self._place(i).items()]
        return ", ".join(f"{name} = {value}" for name, value in said)

    def _place(self, index: int) -> Mapping[str, Any]:
        return self.design.axes[index].places[self.fixed[index]]

    # Theory -----------------------------------------------------------------------------------------------------------

    def _has_theory(self) -> bool:
        """Whether the criterion on the flat field speaks of what was swept: one ReLU neuron on a ring or torus."""
        if self.design.what not in ("train", "effective_flow", "window_flow") or self.design.count > ROOTS:
            return False
        kind = self.design.base.get("network", "SingleReLU")
        return str(kind.get("kind", "") if isinstance(kind, dict) else kind).lower() == "singlerelu"

    def thresholds(self, along: _Axis, places: list[dict[int, int]]) -> dict[str, list[tuple[int, float]]]:
        """By name, where the flat field changes its stability along an axis, for each of some places of the others."""
        pixels = sum(math.prod(self.task(place).shape) for place in places)
        found: dict[str, list[tuple[int, float]]] = {EQ5: [], TRUE: []}
        for i, place in enumerate(places):
            for name, root in self._roots(along, place, pixels <= CHEAP):
                found[name].append((i, root))
        return {name: roots for name, roots in found.items() if roots}

    def _roots(self, along: _Axis, where: Mapping[int, int], draws_true: bool) -> Iterator[tuple[str, float]]:
        """Thresholds of one place: first between which settings they are, then where exactly."""
        axis: Axis = self.design.axes[along.index]
        if len(axis.paths) != 1 or not all(type(value) in (int, float) for value in axis.values(axis.paths[0])):
            return
        path, settings = axis.paths[0], np.sort(np.array(axis.values(axis.paths[0]), float))

        def task(value: float) -> Task:
            return self.task(where, {path: value})

        try:
            growth = [float(theory.steady.flat_growth_rates(task(value)).ravel()[1:].max()) for value in settings]
        except SettingError:  # no such criterion for this task
            return
        for i in np.flatnonzero(np.diff(np.sign(growth))):
            near = settings[max(i - 1, 0)], settings[min(i + 2, len(settings) - 1)]
            roots = {EQ5: theory.steady.critical_value(task, settings[i], settings[i + 1])}
            roots |= {TRUE: _true_threshold(task, *near)} if draws_true else {}
            for name, root in roots.items():
                if np.isfinite(root):
                    yield name, along.derived(task(root)) if along.derived else root


def _true_threshold(task: Callable[[float], Task], low: float, high: float) -> float:
    """The threshold of the true flow; NaN where there is none between these settings, or none is known."""
    try:
        return float(theory.steady.exact_critical_value(task, low, high, samples=SAMPLES).value)
    except SettingError:
        return float("nan")
