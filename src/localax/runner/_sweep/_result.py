"""The result of a sweep: one netCDF file, written unit by unit, which xarray opens without reading it.

Memory is bounded by a unit. Units whose shapes differ (a swept size) share an axis as long as the longest; what is
beyond a shorter one is NaN, as is the place of a unit that failed.
"""

import hashlib
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

from ..._disk import canonical, replacing, sweep_forsaken
from ...store import Store
from ._design import Axis, Design, label
from ._plan import Piece, SweepPlan
from ._works import Labelled

MEANINGS = {
    "weights": "weights of the hidden units",
    "loss": "loss on a probe batch that stays the same",
    "ipr": "inverse participation ratio of each field",
    "localized": "1 where a field is localized, 0 where not",
    "diverged": "step at which a network diverged; -1: it did not",
    "clock": "steps x rate",
}
CHUNK = 2**16
"""Bytes that a chunk has at least, where the last axis of the sweep is long enough."""


def fingerprint(plan: SweepPlan) -> str:
    """What decides a result, in 16 digits: its units, and where they belong."""
    said = [[piece.unit.name, piece.places.tolist(), piece.seeds.start] for piece in plan.pieces]
    return hashlib.sha256(canonical([said, description(plan.design)]).encode()).hexdigest()[:16]


def description(design: Design) -> dict[str, Any]:
    """A design as plain data, from which it can be made again."""
    axes = [{"name": axis.name, "places": list(axis.places)} for axis in design.axes]
    return {"what": design.what, "base": design.base, "axes": axes, "names": design.names}


def described(data: Mapping[str, Any]) -> Design:
    """The design that a description is of."""
    axes = tuple(Axis(axis["name"], tuple(axis["places"])) for axis in data["axes"])
    return Design(data["what"], data["base"], axes, data["names"])


def is_current(path: Path, mark: str) -> bool:
    """Whether a result is there, is of this very sweep, and lacks nothing."""
    try:
        with netCDF4.Dataset(path) as file:
            return file.getncattr("sweep") == mark and not file.getncattr("missing")
    except (OSError, AttributeError):
        return False


def write_result(plan: SweepPlan, store: Store, stored: set[str], path: Path) -> Path:
    """Put the units that are stored together in one file; an old one stays until the new one is complete."""
    sweep_forsaken(path.parent)
    pieces = [piece for piece in plan.pieces if piece.unit.name in stored]
    try:
        with replacing(path) as temporary, netCDF4.Dataset(temporary, "w") as file:
            _describe(file, plan, len(plan.pieces) - len(pieces))
            variables = _make_variables(file, plan, _layout(plan, store, stored))
            for piece in pieces:
                _put(plan, variables, piece, _read(plan, store, piece))
    except RuntimeError as error:  # all that netCDF says of a full disk
        raise OSError(f"{path} cannot be written ({error}); is the disk full? All units are kept") from error
    return path


def _read(plan: SweepPlan, store: Store, piece: Piece) -> Labelled:
    name = piece.unit.name
    return plan.work.labelled(store.read(name, plan.work.file), f"{store.root}/{name}/{plan.work.file}")


# What the file looks like ---------------------------------------------------------------------------------------------

Layout = dict[str, tuple[tuple[str, ...], tuple[int, ...], np.dtype]]
"""For each variable its further axes, their lengths, and its type."""


def _layout(plan: SweepPlan, store: Store, stored: set[str]) -> Layout:
    """The variables of all groups; the first unit of each that is stored tells."""
    layout: Layout = {}
    seen: set[int] = set()
    for piece, group in zip(plan.pieces, plan.groups, strict=True):
        if group in seen or piece.unit.name not in stored:
            continue
        seen.add(group)
        for name, (dims, array) in _read(plan, store, piece).items():
            lengths = array.shape[1:]
            if name in layout:
                lengths = tuple(np.maximum(lengths, layout[name][1]).tolist())
            layout[name] = (dims[1:], lengths, array.dtype)
    return layout


def _describe(file: netCDF4.Dataset, plan: SweepPlan, missing: int) -> None:
    """The axes of the sweep with their coordinates, and what made the file."""
    design = plan.design
    beside: list[str] = []
    for axis, name in zip(design.axes, axis_names(design), strict=True):
        file.createDimension(name, len(axis.places))
        for path in axis.paths:
            _coordinate(file, design.names[path], (name,), [label(value) for value in axis.values(path)])
            beside += [design.names[path]] if design.names[path] != name else []
    if plan.seeds:
        file.createDimension("seed", len(plan.seeds))
        _coordinate(file, "seed", ("seed",), list(plan.seeds))
    beside += _describe_time(file, plan)
    marks = {"settings": canonical(description(design)), "sweep": fingerprint(plan), "missing": missing}
    file.setncatts(marks | ({"coordinates": " ".join(beside)} if beside else {}))


def axis_names(design: Design) -> tuple[str, ...]:
    """The axes as the result calls them: by the setting that varies, or the first of several that are tied."""
    return tuple(design.names.get(axis.name, axis.name) for axis in design.axes)


def _coordinate(file: netCDF4.Dataset, name: str, dims: tuple[str, ...], values: list[Any]) -> None:
    array = np.array(values)
    if array.dtype.kind not in "iuf":
        array = np.array([str(value) for value in values], object)
    kind = str if array.dtype == object else array.dtype
    file.createVariable(name, kind, dims)[:] = array


TIMING = ("rate", "steps", "save_every", "times")
"""Settings that decide when records are made."""


def _describe_time(file: netCDF4.Dataset, plan: SweepPlan) -> list[str]:
    """The axis of time: the clock where all settings share one, else steps, or records where these differ too."""
    axes = [(i, axis) for i, axis in enumerate(plan.design.axes) if set(axis.paths) & set(TIMING)]
    shape = tuple(len(axis.places) for _, axis in axes)
    found = []
    for where in np.ndindex(shape):
        whole = np.zeros(len(plan.design.axes), int)
        whole[[i for i, _ in axes]] = where
        found.append(plan.work.clock(plan.settings(int(np.ravel_multi_index(tuple(whole), plan.design.shape)))))
    stops, clocks = zip(*found, strict=True)
    length = max(map(len, stops))
    if not length:
        return []
    file.createDimension("time", length)
    if len({clock.tobytes() for clock in clocks}) == 1:
        _coordinate(file, "time", ("time",), clocks[0].tolist())
        return []
    same = len({stop.tobytes() for stop in stops}) == 1
    _coordinate(file, "time", ("time",), stops[0].tolist() if same else list(range(length)))
    names = [axis_names(plan.design)[i] for i, _ in axes]
    clock = file.createVariable("clock", "f8", (*names, "time"), fill_value=np.nan)
    clock.long_name = MEANINGS["clock"]
    clock[:] = np.stack([np.pad(c, (0, length - len(c)), constant_values=np.nan) for c in clocks]).reshape(*shape, -1)
    return ["clock"]


def _make_variables(file: netCDF4.Dataset, plan: SweepPlan, layout: Layout) -> dict[str, Any]:
    lengths: dict[str, int] = {}
    for dims, found, _ in layout.values():
        lengths |= {dim: max(n, lengths.get(dim, 0)) for dim, n in zip(dims, found, strict=True)}
    for dim in lengths:
        if dim not in file.dimensions:
            file.createDimension(dim, lengths[dim])
    lead = axis_names(plan.design)
    made = {}
    for name, (dims, _, dtype) in layout.items():
        kind: np.dtype = dtype if dtype.kind in "if" else np.dtype("f4")
        chunks = _chunks(plan.design.shape, [len(file.dimensions[dim]) for dim in dims], kind.itemsize)
        fill = np.nan if kind.kind == "f" else np.iinfo(str(kind)).min
        variable = file.createVariable(
            name, kind, (*lead, *dims), fill_value=fill, chunksizes=chunks, fletcher32=True, contiguous=not chunks
        )
        if name in MEANINGS:
            variable.long_name = MEANINGS[name]
        made[name] = variable
    return made


def _chunks(shape: tuple[int, ...], lengths: list[int], itemsize: int) -> list[int]:
    """One setting a chunk, or several along the last axis where settings are small."""
    one = int(np.prod(lengths)) * itemsize
    return [*[1] * (len(shape) - 1), min(shape[-1], max(1, CHUNK // one)), *lengths]


# Filling it -----------------------------------------------------------------------------------------------------------


def _put(plan: SweepPlan, variables: Mapping[str, Any], piece: Piece, labelled: Labelled) -> None:
    for name, (dims, array) in labelled.items():
        further = tuple(
            piece.seeds if dim == "seed" else slice(0, n) for dim, n in zip(dims[1:], array.shape[1:], strict=True)
        )
        for lead, along, part in _stretches(plan.design.shape, piece.places):
            variables[name][(*lead, along, *further)] = array[part]


def _stretches(shape: tuple[int, ...], places: np.ndarray) -> Iterator[tuple[tuple[int, ...], slice, slice]]:
    """Places that follow each other along the last axis are written at one stroke: where to, and which of them."""
    where = np.stack(np.unravel_index(places, shape), axis=1)
    follows = (np.diff(places, prepend=places[0] - 2) == 1) & (where[:, -1] > 0)
    starts = [*np.flatnonzero(~follows).tolist(), len(places)]
    for low, high in itertools.pairwise(starts):
        first = where[low].tolist()
        yield tuple(first[:-1]), slice(first[-1], first[-1] + high - low), slice(low, high)
