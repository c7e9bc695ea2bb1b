"""From a design to units: a function of the file alone, so that whoever runs them, the result has the same bits."""

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..._disk import canonical
from ..._errors import SettingError, setting_error
from .._unit import AbstractUnit
from ._design import Axis, Design
from ._unit import sweep_unit, work_of
from ._works import AbstractWork

BYTES = 256 * 2**20
"""The most that a unit takes while it runs."""
NETWORKS = 512
"""The most networks of a unit. From 80 on a network costs the same; smaller units spread over more workers."""
PARTS = 32
"""So many units at least, of those settings that can share one ..."""
FEWEST = 32
"""... unless they had fewer networks than this: below, a network costs more."""
MOST = 10**9
"""Networks in a sweep."""


@dataclass(frozen=True)
class Piece:
    """A unit, and where its numbers belong: ``places`` of the design, and which of the seeds."""

    unit: AbstractUnit
    places: np.ndarray
    seeds: slice

    @property
    def networks(self) -> int:
        return len(self.places) * max(self.seeds.stop - self.seeds.start, 1)


@dataclass(frozen=True)
class SweepPlan:
    """A design cut into units."""

    design: Design
    """What the file says."""
    work: AbstractWork
    """What is repeated."""
    pieces: tuple[Piece, ...]
    """Units, and where their numbers belong."""
    seeds: tuple[int, ...]
    """Initialisations of every setting; none where the work knows no such thing."""
    groups: tuple[int, ...]
    """For each piece, the group of settings of one form that it belongs to."""

    @property
    def units(self) -> tuple[AbstractUnit, ...]:
        return tuple(piece.unit for piece in self.pieces)

    @cached_property
    def networks(self) -> int:
        return _networks(self.pieces)

    def name(self, path: str) -> str:
        """What the result calls a setting, by its **path**."""
        return self.design.names[path]

    def settings(self, place: int) -> dict[str, Any]:
        """The settings at one **place** of the design, with every default spelt out."""
        return self.work.checked(self.design.at(self.design.point(int(place))))

    def try_out(self, names: Collection[str]) -> None:
        """Prepare the first setting of each group that has a unit among **names**, so that errors are said at once."""
        for first, members in self._by_group():
            if any(piece.unit.name in names for piece in members):
                self.work.try_out(self.settings(int(first.places[0])))

    def disk(self) -> float:
        """Bytes of the whole on disk, units and result."""
        return sum(self.work.disk(self.settings(first.places[0])) * _networks(all_) for first, all_ in self._by_group())

    def seconds(self) -> float:
        """About how long one core takes: the first unit of each group is tried."""
        total = 0.0
        for first, members in self._by_group():
            settings = [self.settings(place) for place in first.places]
            spent = self.work.seconds(settings, list(self.seeds[first.seeds]))
            total += spent * _networks(members) / first.networks
        return total

    def _by_group(self) -> Iterator[tuple[Piece, list[Piece]]]:
        """The first piece of each group, and all of them."""
        found: dict[int, list[Piece]] = {}
        for piece, group in zip(self.pieces, self.groups, strict=True):
            found.setdefault(group, []).append(piece)
        yield from ((members[0], members) for members in found.values())


def _networks(pieces: Iterable[Piece]) -> int:
    return sum(piece.networks for piece in pieces)


def plan_sweep(design: Design) -> SweepPlan:
    """The units of a **design**; what is wrong with any of its settings is said before one is made."""
    work = work_of(design.what)
    if work.has_seeds and "seeds" in design.names:
        raise setting_error("sweep", "seeds", "a list in [sweep]", "above the table: seeds are an axis already")
    first = work.checked(design.at(design.point(0)))
    seeds = tuple(work.seeds(first))
    if work.has_seeds and not seeds:
        raise setting_error("sweep", "seeds", first["seeds"], "a whole number >= 1, or a list of seeds")
    if design.count * max(len(seeds), 1) > MOST:
        raise SettingError(f"sweep: {design.count:,} settings x {len(seeds):,} seeds are more than {MOST:,} networks")
    group_of = _groups(work, design)
    pieces, groups = [], []
    for group in range(group_of.max() + 1):
        made = list(_cut(work, design, np.flatnonzero(group_of == group), seeds))
        pieces += made
        groups += [group] * len(made)
    return SweepPlan(design, work, tuple(pieces), seeds, tuple(groups))


# Which settings share a program ---------------------------------------------------------------------------------------


def _groups(work: AbstractWork, design: Design) -> np.ndarray:
    """For every place of a design, the number of its group: places of one form along every axis."""
    along = [_forms(work, design, axis) for axis in design.axes]
    grid = np.meshgrid(*along, indexing="ij")
    _, group = np.unique(np.stack([axis.ravel() for axis in grid]), axis=1, return_inverse=True)
    order = dict.fromkeys(group.ravel().tolist())  # counted as they first come
    number = {its: i for i, its in enumerate(order)}
    return np.array([number[its] for its in group.ravel().tolist()])


def _forms(work: AbstractWork, design: Design, axis: Axis) -> np.ndarray:
    """The number of the form at each place of an axis, the other axes at their first.

    Places that differ in a fraction alone have one form, so only the first and the extreme ones of these are built.
    """
    keys = [canonical({path: _blank(value) for path, value in place.items()}) for place in axis.places]
    tried = {keys.index(key) for key in dict.fromkeys(keys)} | _extremes(axis)
    others = {path: value for other in design.axes if other is not axis for path, value in other.places[0].items()}
    numbers: dict[str, int] = {}
    form_of: dict[str, int] = {}
    for i in sorted(tried):
        form = work.form(work.checked(design.at({**others, **axis.places[i]})))
        form_of.setdefault(keys[i], numbers.setdefault(form, len(numbers)))
    return np.array([form_of[key] for key in keys])


def _blank(value: Any) -> Any:
    return "a fraction" if isinstance(value, float) else value


def _extremes(axis: Axis) -> set[int]:
    """Places of the smallest and the largest value of each setting that is a number."""
    found: set[int] = set()
    for path in axis.paths:
        values = axis.values(path)
        if all(type(value) in (int, float) for value in values):
            found |= {int(np.argmin(values)), int(np.argmax(values))}
    return found


# Units of a group -----------------------------------------------------------------------------------------------------


def _cut(work: AbstractWork, design: Design, places: np.ndarray, seeds: tuple[int, ...]) -> Iterator[Piece]:
    """The settings of one form, in units."""
    first = work.checked(design.at(design.point(int(places[0]))))
    if work.own_unit(first) is not None:
        for place in places:
            unit = work.own_unit(work.checked(design.at(design.point(int(place)))))
            assert unit is not None
            yield Piece(unit, np.array([place]), slice(0, 0))
        return
    width, block = _width(work, first, len(places), len(seeds))
    for start in range(0, len(places), width):
        here = places[start : start + width]
        points = tuple(design.point(int(place)) for place in here)
        for low in range(0, max(len(seeds), 1), block):
            part = seeds[low : low + block]
            unit = sweep_unit(design.what, design.base, points, part)
            yield Piece(unit, here, slice(low, low + len(part)))


def _width(work: AbstractWork, first: dict[str, Any], count: int, seeds: int) -> tuple[int, int]:
    """Settings and seeds of a unit: all seeds of a setting together, unless they alone are too many."""
    networks = max(seeds, 1)
    setting, network = work.size(first)
    block = networks
    if work.splits_seeds(first):
        block = int(np.clip((BYTES - setting) // max(network, 1), 1, min(networks, NETWORKS)))
    most = min(NETWORKS // block, int(BYTES // max(setting + block * network, 1)))
    wanted = max(math.ceil(count / PARTS), math.ceil(FEWEST / networks))
    return int(np.clip(wanted, 1, max(min(most, count), 1))), block
