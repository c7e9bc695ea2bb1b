"""What training and theory both give: the weights of every seed at every recorded time, and what made them.

Everything that measures, compares, draws or stores works on a `Trajectory` and never asks which of the two it
came from. Where several settings were swept at once, every array has one more axis in front, the setting.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._disk import StrPath, canonical, pack, plain, storable, unpack, write_atomically

if TYPE_CHECKING:
    import xarray

_KIND, _VERSION = "trajectory", 1
_STATUS = re.compile(r"done|(diverged|interrupted) at step \d+")
_ARRAYS = ("time", "weights", "biases", "readout", "loss")
TAKEN = {*_ARRAYS, "status", "setting", "seed", "unit", "pixel", "row", "column", "setting_time"}
_PIXEL_AXES = {1: ("pixel",), 2: ("row", "column")}


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Weights over time, for one seed or many, with the settings that made them.

    Axes: ``[setting]`` is there only where settings were swept, ``*pixels`` is one axis for a ring
    (``pixel_ndim`` 1) and two for a torus (2).

    - ``time`` (time), or (setting, time) where the settings have their own clocks because the rate was swept;
      increasing
    - ``weights`` ([setting], seed, time, unit, *pixels)
    - ``biases`` ([setting], seed, time, unit), or None
    - ``readout`` ([setting], seed, time, unit, *outputs): second-layer weights, or None
    - ``loss`` ([setting], seed, time), or None
    - ``records``: anything else that was recorded, by name, each ([setting], seed, time, *anything)
    - ``settings``: JSON-able; kept as plain JSON types, so tuples come back as lists
    - ``status``: "done", "diverged at step n" or "interrupted at step n" for each seed; with a setting axis,
      for each setting and seed, seed running fastest: ``status[setting * n_seeds + seed]``. Empty: all done

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

    def __post_init__(self) -> None:
        values: dict[str, Any] = {name: _frozen(name, getattr(self, name)) for name in _ARRAYS}
        values["time"] = _frozen("time", np.asarray(self.time, np.float64))
        values["records"] = {name: _frozen(name, array) for name, array in self.records.items()}
        values["settings"] = plain(self.settings)
        for name, value in values.items():
            object.__setattr__(self, name, value)
        _check_shapes(self)
        count = self.n_seeds * (self.n_settings or 1)
        object.__setattr__(self, "status", tuple(self.status) or ("done",) * count)
        _check_status(self.status, count)

    @property
    def n_settings(self) -> int | None:
        """How many settings were swept; None where there is no such axis."""
        return self.weights.shape[0] if self.weights.ndim == self.pixel_ndim + 4 else None

    @property
    def n_seeds(self) -> int:
        return self.weights.shape[-self.pixel_ndim - 3]

    @property
    def n_units(self) -> int:
        return self.weights.shape[-self.pixel_ndim - 1]

    @property
    def pixels(self) -> tuple[int, ...]:
        """Number of pixels of the ring, or height and width of the torus."""
        return self.weights.shape[-self.pixel_ndim :]

    @property
    def done(self) -> np.ndarray:
        """Which seeds came to their end: true or false, ([setting], seed)."""
        lead = self.weights.shape[: -self.pixel_ndim - 2]
        return np.array([status == "done" for status in self.status]).reshape(lead)

    @property
    def final(self) -> np.ndarray:
        """The weights at the last recorded time, ([setting], seed, unit, *pixels)."""
        return self._moment(-1)

    def at(self, t: float | int) -> np.ndarray:
        """The weights at the recorded time nearest to t, ([setting], seed, unit, *pixels)."""
        nearest = np.argmin(np.abs(self.time - t), axis=-1)
        if self.time.ndim == 1:
            return self._moment(int(nearest))
        return np.stack([weights[:, i] for weights, i in zip(self.weights, nearest, strict=True)])

    def _moment(self, index: int) -> np.ndarray:
        return np.moveaxis(self.weights, -self.pixel_ndim - 2, 0)[index]

    def __repr__(self) -> str:
        settings = f"{self.n_settings} settings, " if self.n_settings else ""
        pixels = "x".join(map(str, self.pixels))
        span = f"{self.time.shape[-1]} times from {self.time.min():g} to {self.time.max():g}"
        kinds = ", ".join(f"{n} {word}" for word, n in Counter(s.split()[0] for s in self.status).items())
        sizes = f"{settings}{self.n_seeds} seeds, {span}, {self.n_units} units, {pixels} pixels"
        return f"Trajectory({sizes}: {kinds})"

    def to_xarray(self) -> "xarray.Dataset":
        """A labelled Dataset, ready for ``to_netcdf``; the settings are its attribute ``settings``, as JSON.

        Seeds are labelled by ``settings["seeds"]`` where that is a list of them. Clocks that differ between
        settings become the coordinate ``setting_time``. The further axes of a readout or record are called
        ``unit`` or after the pixels where their lengths say so, else ``<name>_0``, ``<name>_1``, ...
        """
        import xarray

        lead = ("setting", "seed") if self.n_settings else ("seed",)
        arrays = {name: array for name in _ARRAYS[1:] if (array := getattr(self, name)) is not None} | self.records
        data = {name: ((*lead, "time", *_further_axes(self, name, array)), array) for name, array in arrays.items()}
        status = np.array(self.status).reshape(self.done.shape)
        data["status"] = (lead, status)
        attributes = {"settings": canonical(self.settings)}
        return xarray.Dataset(data, coords=_coordinates(self), attrs=attributes)

    def save(self, path: StrPath) -> Path:
        """Write one ``.npz`` that `load` reads back; the old file stays until the new one is complete."""
        return write_atomically(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """What `save` writes."""
        arrays = {name: array for name in _ARRAYS if (array := getattr(self, name)) is not None}
        arrays |= {f"records.{name}": array for name, array in self.records.items()}
        meta = {"settings": self.settings, "status": self.status, "pixel_ndim": self.pixel_ndim}
        return pack(arrays, meta, kind=_KIND, version=_VERSION)


def load(source: StrPath | bytes, *, name: str | None = None) -> Trajectory:
    """The trajectory in a file or its bytes; one that is cut short, altered or something else is refused.

    ``name``: how complaints call it, the path unless given.
    """
    arrays, meta = unpack(source, kind=_KIND, version=_VERSION, name=name)
    try:
        values: dict[str, Any] = meta | {"status": tuple(meta["status"])}
        records = {n.removeprefix("records."): arrays.pop(n) for n in list(arrays) if n.startswith("records.")}
        return Trajectory(**arrays, records=records, **values)
    except (KeyError, TypeError, ValueError) as error:
        name = name or ("data" if isinstance(source, bytes) else str(source))
        raise ValueError(f"{name}: does not hold a trajectory ({str(error).splitlines()[0]})") from error


def _frozen(name: str, array: Any) -> np.ndarray | None:
    if array is None and name not in ("time", "weights"):
        return None
    view = storable(name, np.asarray(array)).view()
    if view.dtype.kind not in "biuf":
        raise ValueError(f"Trajectory: {name} must hold real numbers, got dtype {view.dtype}")
    view.flags.writeable = False
    return view


def _check_shapes(it: Trajectory) -> None:
    shape, fixed = it.weights.shape, it.pixel_ndim + 3
    if it.pixel_ndim not in (1, 2):
        raise ValueError(f"Trajectory: pixel_ndim must be 1 (ring) or 2 (torus), got {it.pixel_ndim}")
    if len(shape) not in (fixed, fixed + 1) or 0 in shape:
        axes = ", ".join(("[setting]", "seed", "time", "unit", *_PIXEL_AXES[it.pixel_ndim]))
        raise ValueError(f"Trajectory: weights must have axes ({axes}), none empty, got shape {shape}")
    lead = shape[: -it.pixel_ndim - 1]
    _check_time(it.time, lead)
    _check_shape("biases", it.biases, (*lead, it.n_units))
    _check_shape("readout", it.readout, (*lead, it.n_units), more=True)
    _check_shape("loss", it.loss, lead)
    for name, array in it.records.items():
        if name in TAKEN:
            raise ValueError(f"Trajectory: a record must have a name of its own, got {name!r}")
        _check_shape(f"record {name!r}", array, lead, more=True)


def _check_shape(name: str, array: np.ndarray | None, expected: tuple[int, ...], *, more: bool = False) -> None:
    if array is None or array.shape == expected or (more and array.shape[: len(expected)] == expected):
        return
    rule = f"a shape that begins with {expected}" if more else f"shape {expected}"
    raise ValueError(f"Trajectory: {name} must have {rule} to fit the weights, got {array.shape}")


def _check_time(time: np.ndarray, lead: tuple[int, ...]) -> None:
    shapes = [lead[-1:]] + ([(lead[0], lead[-1])] if len(lead) == 3 else [])
    if time.shape not in shapes:
        rule = " or ".join(map(str, shapes))
        raise ValueError(f"Trajectory: time must have shape {rule} to fit the weights, got {time.shape}")
    if not np.isfinite(time).all() or (np.diff(time) <= 0).any():
        raise ValueError("Trajectory: time must be finite and increase from each record to the next")


def _check_status(status: tuple[str, ...], count: int) -> None:
    if len(status) != count:
        raise ValueError(f"Trajectory: status must have one entry for each of {count} seeds, got {len(status)}")
    for word in status:
        if not _STATUS.fullmatch(word):
            rule = "'done', 'diverged at step n' or 'interrupted at step n'"
            raise ValueError(f"Trajectory: status must be {rule}, got {word!r}")


def _coordinates(it: Trajectory) -> dict[str, Any]:
    seeds = it.settings.get("seeds")
    listed = isinstance(seeds, list) and len({s for s in seeds if isinstance(s, int)}) == len(seeds) == it.n_seeds
    time = {"time": it.time} if it.time.ndim == 1 else {"setting_time": (("setting", "time"), it.time)}
    return {"seed": seeds if listed else np.arange(it.n_seeds), **time}


def _further_axes(it: Trajectory, name: str, array: np.ndarray) -> tuple[str, ...]:
    rest = array.shape[it.done.ndim + 1 :]
    pixels = _PIXEL_AXES[it.pixel_ndim]
    if rest[:1] == (it.n_units,):
        tail = pixels if rest[1:] == it.pixels else tuple(f"{name}_{i}" for i in range(len(rest) - 1))
        return ("unit", *tail)
    return pixels if rest == it.pixels else tuple(f"{name}_{i}" for i in range(len(rest)))
