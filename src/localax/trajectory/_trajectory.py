"""What training and theory both give: the weights of every seed at every recorded time, and what made them.

Everything that measures, compares, draws or stores works on a `Trajectory` and never asks which of the two it
came from. Where several settings were swept at once, every array has one more axis in front; ``swept`` says by name
which values the settings along it have.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._disk import StrPath, pack, plain, storable, unpack, write_atomically
from .._errors import SettingError, refuse_unknown, setting_error
from .._text import brief, folded, table
from ._dataset import PIXEL_AXES, dataset

if TYPE_CHECKING:
    import xarray

_KIND, _VERSION = "trajectory", 1
_STATUS = re.compile(r"done( beyond tolerance)?|(diverged|interrupted) at step \d+")
_ARRAYS = ("time", "weights", "biases", "readout", "loss")
TAKEN = {*_ARRAYS, "status", "sweep", "seed", "unit", "pixel", "row", "column", "clock"}


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Weights over time, for one seed or many, with the settings that made them.

    Axes: ``[sweep]`` is there only where settings were swept, ``*pixels`` is one axis for a ring
    (``pixel_ndim`` 1) and two for a torus (2).

    - ``time`` (time), or (sweep, time) where the settings have their own clocks because the rate was swept;
      increasing
    - ``weights`` ([sweep], seed, time, unit, *pixels)
    - ``biases`` ([sweep], seed, time, unit), or None
    - ``readout`` ([sweep], seed, time, unit, *outputs): second-layer weights, or None
    - ``loss`` ([sweep], seed, time), or None
    - ``records``: anything else that was recorded, by name, each ([sweep], seed, time, *anything)
    - ``settings``: JSON-able; kept as plain JSON types, so tuples come back as lists
    - ``status``: "done", "done beyond tolerance" (a flow that had to take steps less exact than it was asked
      to), "diverged at step n" or "interrupted at step n" for each seed; with a sweep axis,
      for each place of it and seed, seed running fastest: ``status[place * n_seeds + seed]``. Empty: all done

    - ``swept``: for each setting that was swept its value at every place of the sweep axis, by name; empty
      where nothing was

    The arrays are read-only.
    """

    time: np.ndarray
    weights: np.ndarray
    biases: np.ndarray | None = None
    readout: np.ndarray | None = None
    loss: np.ndarray | None = None
    records: dict[str, np.ndarray] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    status: tuple[str, ...] = ()
    pixel_ndim: int = 1
    swept: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        values: dict[str, Any] = {name: _frozen(name, getattr(self, name)) for name in _ARRAYS}
        values["time"] = _frozen("time", np.asarray(self.time, np.float64))
        values["records"] = {name: _frozen(name, array) for name, array in self.records.items()}
        values["swept"] = {name: _frozen(name, array) for name, array in self.swept.items()}
        values["settings"] = plain(dict(self.settings))
        for name, value in values.items():
            object.__setattr__(self, name, value)
        _check_shapes(self)
        count = self.n_seeds * (self.n_swept or 1)
        object.__setattr__(self, "status", tuple(self.status) or ("done",) * count)
        _check_status(self.status, count)

    @property
    def n_swept(self) -> int | None:
        """How many settings were swept; None where there is no such axis."""
        return self.weights.shape[0] if self.weights.ndim == self.pixel_ndim + 4 else None

    @property
    def n_seeds(self) -> int:
        return self.weights.shape[-self.pixel_ndim - 3]

    @property
    def seeds(self) -> tuple[int, ...]:
        """What the seeds are called: ``settings["seeds"]`` where that lists them, else they are counted from 0."""
        named = self.settings.get("seeds")
        whole = [seed for seed in named if isinstance(seed, int)] if isinstance(named, list) else []
        listed = len(set(whole)) == len(whole) == self.n_seeds
        return tuple(whole if listed else range(self.n_seeds))

    @property
    def n_units(self) -> int:
        return self.weights.shape[-self.pixel_ndim - 1]

    @property
    def pixels(self) -> tuple[int, ...]:
        """Number of pixels of the ring, or height and width of the torus."""
        return self.weights.shape[-self.pixel_ndim :]

    @property
    def done(self) -> np.ndarray:
        """Which seeds came to their end: true or false, ([sweep], seed)."""
        lead = self.weights.shape[: -self.pixel_ndim - 2]
        return np.array([status.startswith("done") for status in self.status]).reshape(lead)

    @property
    def final(self) -> np.ndarray:
        """The weights at the last recorded time, ([sweep], seed, unit, *pixels)."""
        return self._moment(-1)

    def at(self, t: float | int) -> np.ndarray:
        """The weights at the recorded time nearest to **t**, ([sweep], seed, unit, *pixels)."""
        nearest = np.argmin(np.abs(self.time - t), axis=-1)
        if self.time.ndim == 1:
            return self._moment(int(nearest))
        return np.stack([weights[:, i] for weights, i in zip(self.weights, nearest, strict=True)])

    def select(self, place: int | None = None, **values: Any) -> "Trajectory":
        """One of the swept settings, or those that agree with the values given: ``select(2)``, ``select(gain=3)``.

        **place**: the setting's place along the axis, from 0. **values**: by the names in ``swept``. A single setting
        is a trajectory of its own, without the axis.
        """
        if self.n_swept is None:
            raise SettingError("select: this trajectory has one setting only; there is nothing to choose")
        if (place is None) == (not values):
            raise SettingError("select: say which setting, by its place or by values, as in select(gain=3)")
        chosen = self._places(values) if place is None else np.array([self._place(place)])
        return self._part(int(chosen[0])) if len(chosen) == 1 else self._part(chosen)

    def _place(self, place: int) -> int:
        count = self.n_swept or 0
        if not -count <= place < count:
            raise setting_error("select", "place", place, f"from 0 to {count - 1}")
        return place % count

    def _places(self, values: dict[str, Any]) -> np.ndarray:
        """Where the swept settings have these values."""
        found = np.ones(self.n_swept or 0, bool)
        for name, value in values.items():
            refuse_unknown("swept setting", name, self.swept)
            same = np.isclose(self.swept[name], value, rtol=1e-9, atol=0)
            if not same.any():
                there = ", ".join(f"{one:g}" for one in np.unique(self.swept[name]))
                raise setting_error("select", name, value, f"one of {there}")
            found &= same
        if not found.any():
            raise SettingError(f"select: no setting has {', '.join(f'{n}={v}' for n, v in values.items())} together")
        return np.flatnonzero(found)

    def _part(self, places: Any) -> "Trajectory":
        """The settings at some places of the axis, or the one at a place, without the axis."""
        arrays = {name: array[places] for name in _ARRAYS[1:] if (array := getattr(self, name)) is not None}
        still = {} if isinstance(places, int) else {name: values[places] for name, values in self.swept.items()}
        here = {name: values[places].tolist() for name, values in self.swept.items()}
        return Trajectory(
            self.time if self.time.ndim == 1 else self.time[places],
            **arrays,
            records={name: array[places] for name, array in self.records.items()},
            settings=self.settings | {"selected": here},
            status=tuple(np.array(self.status).reshape(self.done.shape)[places].ravel().tolist()),
            pixel_ndim=self.pixel_ndim,
            swept=still,
        )

    def followed_by(self, later: "Trajectory") -> "Trajectory":
        """This trajectory and a **later** one that went on from its end, as :func:`localax.training.resume` gives it.

        The settings are those of this one, with those of what followed as a list ``then``.
        """
        if not isinstance(later, Trajectory) or self.n_swept is not None or later.n_swept is not None:
            raise SettingError("followed_by: takes a Trajectory that went on from this one, both of one setting")
        if later.time[0] != self.time[-1] or not np.array_equal(later.at(later.time[0]), self.final, equal_nan=True):
            raise SettingError("followed_by: the later trajectory must begin with the state in which this one ends")
        arrays = {name: _end_to_end(getattr(self, name), getattr(later, name)) for name in _ARRAYS[1:]}
        return Trajectory(
            np.concatenate([self.time, later.time[1:]]),
            **arrays,
            records={n: _end_to_end(self.records[n], later.records[n]) for n in self.records if n in later.records},
            settings=self.settings | {"then": [*self.settings.get("then", ()), later.settings]},
            status=later.status,
            pixel_ndim=self.pixel_ndim,
        )

    def _moment(self, index: int) -> np.ndarray:
        return np.moveaxis(self.weights, -self.pixel_ndim - 2, 0)[index]

    def __repr__(self) -> str:
        facts = dict(self._facts())
        status = facts.pop("status")
        return f"Trajectory({', '.join(f'{value} {name}' for name, value in facts.items())}: {status})"

    def _repr_html_(self) -> str:
        made = table([(name, brief(value)) for name, value in self.settings.items()])
        return table(self._facts(), caption="Trajectory") + (folded("settings", made) if self.settings else "")

    def _facts(self) -> list[tuple[str, str]]:
        swept = f" of {' and '.join(self.swept)}" if self.swept else ""
        settings = [(f"settings{swept}", str(self.n_swept))] if self.n_swept else []
        kinds = Counter(status.split()[0] for status in self.status)
        return [
            *settings,
            ("seeds", str(self.n_seeds)),
            (f"times from {self.time.min():g} to {self.time.max():g}", str(self.time.shape[-1])),
            ("units", str(self.n_units)),
            ("pixels", "x".join(map(str, self.pixels))),
            ("status", ", ".join(f"{count} {word}" for word, count in kinds.items())),
        ]

    def to_xarray(self) -> "xarray.Dataset":
        """A labelled Dataset, ready for ``to_netcdf``; the settings are its attribute ``settings``, as JSON.

        Swept settings are axes by their names where they were combined all with all, else coordinates of one axis
        ``sweep``. Seeds are labelled by ``settings["seeds"]`` where that is a list of them. Where swept rates give each
        setting a clock of its own, that is the coordinate ``clock`` and ``time`` counts steps. The further axes of a
        readout or record are called ``unit`` or after the pixels where their lengths say so, else ``<name>_0``, ...
        """
        return dataset(self)

    def save(self, path: StrPath) -> Path:
        """Write one ``.npz`` at **path**, which `load` reads back; an old file stays until the new one is complete."""
        return write_atomically(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """What `save` writes."""
        arrays = {name: array for name in _ARRAYS if (array := getattr(self, name)) is not None}
        arrays |= {f"records.{name}": array for name, array in self.records.items()}
        arrays |= {f"swept.{name}": array for name, array in self.swept.items()}
        meta = {"settings": self.settings, "status": self.status, "pixel_ndim": self.pixel_ndim}
        return pack(arrays, meta, kind=_KIND, version=_VERSION)


def load(source: StrPath | bytes, *, name: str | None = None) -> Trajectory:
    """The trajectory in a file or its bytes; one that is cut short, altered or something else is refused.

    **source**: the path, or the bytes. **name**: how complaints call it, the path unless given.
    """
    arrays, meta = unpack(source, kind=_KIND, version=_VERSION, name=name)
    try:
        values: dict[str, Any] = meta | {"status": tuple(meta["status"])}
        parts = {part: _taken_out(arrays, f"{part}.") for part in ("records", "swept")}
        return Trajectory(**arrays, **parts, **values)
    except (KeyError, TypeError, ValueError) as error:
        name = name or ("data" if isinstance(source, bytes) else str(source))
        raise SettingError(f"{name}: does not hold a trajectory ({str(error).splitlines()[0]})") from error


def _end_to_end(first: np.ndarray | None, then: np.ndarray | None) -> Any:
    """Two records along one axis of time, (seed, time, ...); the second begins where the first ends."""
    return None if first is None or then is None else np.concatenate([first, then[:, 1:]], axis=1)


def _taken_out(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays whose names begin with a prefix, without it; they are no longer among the others."""
    return {n.removeprefix(prefix): arrays.pop(n) for n in list(arrays) if n.startswith(prefix)}


def _frozen(name: str, array: Any) -> np.ndarray | None:
    if array is None and name not in ("time", "weights"):
        return None
    view = storable(name, np.asarray(array)).view()
    if view.dtype.kind not in "biuf":
        raise SettingError(f"Trajectory: {name} must hold real numbers, got dtype {view.dtype}")
    view.flags.writeable = False
    return view


def _check_shapes(it: Trajectory) -> None:
    shape, fixed = it.weights.shape, it.pixel_ndim + 3
    if it.pixel_ndim not in (1, 2):
        raise SettingError(f"Trajectory: pixel_ndim must be 1 (ring) or 2 (torus), got {it.pixel_ndim}")
    if len(shape) not in (fixed, fixed + 1) or 0 in shape:
        axes = ", ".join(("[sweep]", "seed", "time", "unit", *PIXEL_AXES[it.pixel_ndim]))
        raise SettingError(f"Trajectory: weights must have axes ({axes}), none empty, got shape {shape}")
    lead = shape[: -it.pixel_ndim - 1]
    _check_time(it.time, lead)
    _check_shape("biases", it.biases, (*lead, it.n_units))
    _check_shape("readout", it.readout, (*lead, it.n_units), more=True)
    _check_shape("loss", it.loss, lead)
    for name, values in it.swept.items():
        if name in TAKEN or values.shape != (it.n_swept,):
            rule = f"a name of its own and {it.n_swept or 'no'} values, one for each setting"
            raise SettingError(f"Trajectory: what is swept must have {rule}, got {name!r} with {values.shape}")
    for name, array in it.records.items():
        if name in {*TAKEN, *it.swept}:
            raise SettingError(f"Trajectory: a record must have a name of its own, got {name!r}")
        _check_shape(f"record {name!r}", array, lead, more=True)


def _check_shape(name: str, array: np.ndarray | None, expected: tuple[int, ...], *, more: bool = False) -> None:
    if array is None or array.shape == expected or (more and array.shape[: len(expected)] == expected):
        return
    rule = f"a shape that begins with {expected}" if more else f"shape {expected}"
    raise SettingError(f"Trajectory: {name} must have {rule} to fit the weights, got {array.shape}")


def _check_time(time: np.ndarray, lead: tuple[int, ...]) -> None:
    shapes = [lead[-1:]] + ([(lead[0], lead[-1])] if len(lead) == 3 else [])
    if time.shape not in shapes:
        rule = " or ".join(map(str, shapes))
        raise SettingError(f"Trajectory: time must have shape {rule} to fit the weights, got {time.shape}")
    if not np.isfinite(time).all() or (np.diff(time) <= 0).any():
        raise SettingError("Trajectory: time must be finite and increase from each record to the next")


def _check_status(status: tuple[str, ...], count: int) -> None:
    if len(status) != count:
        raise SettingError(f"Trajectory: status must have one entry for each of {count} seeds, got {len(status)}")
    for word in status:
        if not _STATUS.fullmatch(word):
            rule = "'done', 'done beyond tolerance', 'diverged at step n' or 'interrupted at step n'"
            raise SettingError(f"Trajectory: status must be {rule}, got {word!r}")
