"""What a sweep file says: the settings that stay, and axes along which others vary. Nothing is built here.

A file is a settings file with one more table, ``[sweep]``. Lists there are combined all with all; ``zip`` ties some of
them together, ``list`` gives settings one by one, and ``sobol`` spreads points over ranges.
"""

import copy
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..._disk import StrPath, canonical, plain
from ..._errors import SettingError, setting_error, unknown
from ...spec import put, read_toml, set_pairs
from ...trajectory import TAKEN

SETTINGS = 1_000_000
"""The most settings that one sweep may have."""
WAYS = ("zip", "list", "sobol")
"""Words of the table [sweep] that are no settings."""
RANGE = {"from", "to", "count", "log"}
TOGETHER = "sweep"
"""The axis of settings that are no product: those of a list or of a Sobol design."""
RESERVED = {*TAKEN, "ipr", "localized", "diverged", "claim", "number", "threshold", "value", "error", "verdict"}
"""Names that the result of a sweep needs for itself."""

Place = dict[str, Any]
"""What is set at one place of an axis: values by dotted path."""


@dataclass(frozen=True)
class Axis:
    """Settings that vary together: a ``name``, and what is set at each of its ``places``, by dotted path."""

    name: str
    places: tuple[Place, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self.places[0])

    def values(self, path: str) -> list[Any]:
        return [place[path] for place in self.places]


@dataclass(frozen=True)
class Design:
    """A sweep as its file says it.

    ``what`` is repeated: "train", the name of a flow, or that of an experiment. ``base``: settings that stay. ``axes``:
    those that vary. ``names``: for each dotted path, what it is called in the result.
    """

    what: str
    base: dict[str, Any]
    axes: tuple[Axis, ...]
    names: dict[str, str]
    options: dict[str, Any] = field(default_factory=dict, compare=False)
    """Of executors, by their names; they change no number."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis.places) for axis in self.axes)

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    def point(self, place: int) -> Place:
        """What is set at one place of the whole sweep, counted with the last axis fastest."""
        where = np.unravel_index(place, self.shape) if self.axes else ()
        return {path: value for axis, i in zip(self.axes, where, strict=True) for path, value in axis.places[i].items()}

    def at(self, point: Place) -> dict[str, Any]:
        """The settings of one point, all of them."""
        return changed(self.base, point)


def changed(base: Mapping[str, Any], point: Place) -> dict[str, Any]:
    """Settings with some of them set anew, by dotted path; a number in a path is a place in a list."""
    settings = copy.deepcopy(dict(base))
    for path, value in point.items():
        *way, last = path.split(".")
        if last.isdigit():
            inside = _looked_up(settings, way)
            if not isinstance(inside, list) or int(last) >= len(inside):
                raise setting_error("sweep", ".".join(way), inside, f"a list with a place {last}, since {path} is set")
            inside[int(last)] = value
        else:
            put(settings, [*way, last], value)
    return settings


def _looked_up(settings: Any, way: Sequence[str]) -> Any:
    for part in way:
        settings = settings.get(part) if isinstance(settings, Mapping) else None
    return settings


def read_design(source: StrPath | Mapping[str, Any], pairs: Sequence[str] = ()) -> Design:
    """The design of a file, or of the same tables as data; **pairs** ``a.b=value`` override settings that stay."""
    tables = dict(source) if isinstance(source, Mapping) else read_toml(Path(source))
    tables = plain(tables, "sweep")
    for path, value in set_pairs(pairs):
        put(tables, path, value)
    table = tables.pop("sweep", {})
    if not isinstance(table, dict) or not table:
        raise SettingError("sweep: the file needs a table [sweep] that says what varies, e.g. rate = [0.02, 0.05]")
    what = tables.pop("what", "train")
    if not isinstance(what, str):
        raise setting_error("sweep", "what", what, 'the name of what is repeated, e.g. "train"')
    options = {on: tables.pop(on) for on in ("processes", "dask", "slurm") if on in tables}
    axes = tuple(_axes(table, tables))
    if not axes:
        raise SettingError("sweep: the table [sweep] names nothing that varies; add a list, e.g. rate = [0.02, 0.05]")
    design = Design(what, tables, axes, _names(axes), options)
    if design.count > SETTINGS:
        raise SettingError(f"sweep: {design.count:,} settings are more than the {SETTINGS:,} of one sweep; take fewer")
    return design


# Axes -----------------------------------------------------------------------------------------------------------------


def _axes(table: Mapping[str, Any], base: Mapping[str, Any]) -> Iterator[Axis]:
    lists = {path: _listed(path, value) for path, value in _leaves(table, WAYS)}
    for path, values in lists.items():
        if not values:
            raise setting_error("sweep", path, [], "a list with something in it")
    yield from _product(lists, table.get("zip", []))
    if "list" in table and "sobol" in table:
        raise SettingError("sweep: list and sobol in one file; each is a design of its own, take one")
    if "list" in table:
        yield Axis(TOGETHER, _explicit(table["list"], base))
    if "sobol" in table:
        yield Axis(TOGETHER, _sobol(table["sobol"]))


def _leaves(table: Mapping[str, Any], aside: Sequence[str] = (), before: str = "") -> Iterator[tuple[str, Any]]:
    """Values by dotted path; a table inside a table is a part of the path, unless it is a range."""
    for name, value in table.items():
        if name in aside:
            continue
        if isinstance(value, Mapping) and not set(value) & RANGE:
            yield from _leaves(value, (), f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _listed(path: str, value: Any) -> list[Any]:
    """The values of an axis: a list, or a range {from, to, count, log}."""
    if isinstance(value, list):
        return value
    if not isinstance(value, Mapping):
        raise setting_error("sweep", path, value, "a list, or a range such as {from = 0.1, to = 10, count = 5}")
    for name in value:
        if name not in RANGE:
            raise unknown(f"word of the range {path}", name, sorted(RANGE))
    low, high = _ends(path, [value.get("from"), value.get("to")], bool(value.get("log")))
    count = _count(path, value.get("count"))
    spread = np.geomspace if value.get("log") else np.linspace
    return [_round(number) for number in spread(low, high, count)]


def _ends(path: str, ends: Any, log: bool) -> tuple[float, float]:
    numbers = isinstance(ends, list) and len(ends) == 2 and all(_is_number(end) for end in ends)
    if not numbers or not ends[0] < ends[1] or (log and ends[0] <= 0):
        raise setting_error("sweep", path, ends, f"a range from a smaller to a larger number{', both > 0' * log}")
    return float(ends[0]), float(ends[1])


def _is_number(value: Any) -> bool:
    """Whether a value is one that a float can hold; JSON's and TOML's whole numbers have no end."""
    return type(value) in (int, float) and abs(value) < 1e300


def _count(path: str, count: Any) -> int:
    if type(count) is not int or not 1 <= count <= SETTINGS:
        raise setting_error("sweep", f"count of {path}", count, f"a whole number from 1 to {SETTINGS:,}")
    return count


def _round(number: float) -> float:
    """Six digits: enough for any setting, and readable."""
    return float(f"{number:.6g}")


def _product(lists: dict[str, list[Any]], ties: Any) -> Iterator[Axis]:
    """One axis for each list, and one for those that are tied together, where the first of them stands."""
    tied = _ties(lists, ties)
    for path in lists:
        group = next((group for group in tied if path in group), [path])
        if path != group[0]:
            continue
        lengths = {other: len(lists[other]) for other in group}
        if len(set(lengths.values())) > 1:
            said = ", ".join(f"{count} of {other}" for other, count in lengths.items())
            raise SettingError(f"sweep: lists that are tied together must be equally long, got {said}")
        rows = zip(*(lists[other] for other in group), strict=True)
        yield Axis(path, tuple(dict(zip(group, row, strict=True)) for row in rows))


def _ties(lists: Mapping[str, Any], ties: Any) -> list[list[str]]:
    """Groups of paths, each called by its whole path or the end of it."""
    if not isinstance(ties, list) or not all(isinstance(group, list) and len(group) > 1 for group in ties):
        raise setting_error("sweep", "zip", ties, 'groups of two and more lists, e.g. zip = [["gain", "rate"]]')
    groups = [[_meant(lists, str(name)) for name in group] for group in ties]
    often = [path for path, count in Counter(path for group in groups for path in group).items() if count > 1]
    if often:
        raise SettingError(f"sweep: {often[0]} is tied twice in zip; once is all there is")
    return [[path for path in lists if path in group] for group in groups]


def _meant(lists: Mapping[str, Any], name: str) -> str:
    found = [path for path in lists if path == name] or [path for path in lists if path.endswith(f".{name}")]
    if len(found) != 1:
        raise unknown("list to tie", name, lists)
    return found[0]


def _explicit(rows: Any, base: Mapping[str, Any]) -> tuple[Place, ...]:
    """Settings one by one; what one of them leaves out stays as the file has it."""
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) and row for row in rows):
        raise setting_error("sweep", "list", rows, "tables of settings, e.g. list = [{rate = 0.1}, {rate = 0.2}]")
    places = [dict(_leaves(row)) for row in rows]
    paths = list(dict.fromkeys(path for place in places for path in place))
    stay = {path: _looked_up(base, path.split(".")) for path in paths}
    for i, place in enumerate(places):
        lacking = [path for path in paths if path not in place and stay[path] is None]
        if lacking:
            raise SettingError(f"sweep: entry {i} of list has no {lacking[0]}, and neither has the rest of the file")
    return tuple({path: place.get(path, stay[path]) for path in paths} for place in places)


def _sobol(table: Any) -> tuple[Place, ...]:
    """Points of a scrambled Sobol sequence, spread over ranges; logarithmically where ``log`` names them."""
    from scipy.stats import qmc

    if not isinstance(table, Mapping):
        raise setting_error("sweep", "sobol", table, "a table: count, seed, log and ranges of settings")
    log, seed, count = table.get("log", []), table.get("seed", 0), _count("sobol", table.get("count"))
    if type(seed) is not int or not 0 <= seed < 2**63:
        raise setting_error("sweep", "seed of sobol", seed, "a whole number >= 0")
    if not isinstance(log, list):
        raise setting_error("sweep", "log of sobol", log, "a list of settings, e.g. log = ['rate']")
    ranges = dict(_leaves(table, ("count", "seed", "log")))
    if not ranges:
        raise SettingError("sweep: sobol names no range; add one, e.g. rate = [0.01, 0.1]")
    logs = [_meant(ranges, str(name)) for name in log]
    ends = np.array([_ends(path, value, path in logs) for path, value in ranges.items()], float)
    ends = np.where([[path in logs] for path in ranges], np.log(np.where(ends > 0, ends, 1)), ends)
    unit = qmc.Sobol(len(ranges), rng=seed).random_base2(max(count - 1, 0).bit_length())[:count]
    spread = ends[:, 0] + unit * np.ptp(ends, axis=1)
    return tuple(
        {path: _round(math.exp(x) if path in logs else x) for path, x in zip(ranges, row, strict=True)}
        for row in spread.tolist()
    )


# Names ----------------------------------------------------------------------------------------------------------------


def _names(axes: tuple[Axis, ...]) -> dict[str, str]:
    """What each path is called: its last part, with more of it where two would clash or the name is taken."""
    paths = [path for axis in axes for path in axis.paths]
    twice = [path for path, count in Counter(paths).items() if count > 1]
    if twice:
        raise SettingError(f"sweep: {twice[0]} varies along two axes; once is all there is")
    return {path: _name(path, paths) for path in paths}


def _name(path: str, paths: list[str]) -> str:
    if path == "seed":  # of an experiment, whose result has no other
        return path
    for parts in range(1, path.count(".") + 2):
        name = _end(path, parts)
        if name not in RESERVED and sum(_end(other, parts) == name for other in paths) == 1:
            return name
    return f"swept_{path.replace('.', '_')}"


def _end(path: str, parts: int) -> str:
    """The last parts of a path; the place in a list belongs to the name before it."""
    named = path.split(".")
    return "_".join(named[-parts - named[-1].isdigit() :])


def label(value: Any) -> Any:
    """A value as a coordinate: numbers and texts as they are, the rest as short JSON."""
    return value if isinstance(value, bool | int | float | str) else canonical(value)
