"""A trajectory as a labelled xarray Dataset."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .._disk import canonical

if TYPE_CHECKING:
    import xarray

    from ._trajectory import Trajectory

PIXEL_AXES = {1: ("pixel",), 2: ("row", "column")}


def dataset(it: "Trajectory") -> "xarray.Dataset":
    """Every array of a trajectory with names for its axes and values along them."""
    import xarray

    axes, shape = _sweep_axes(it)
    named = {"weights": it.weights, "biases": it.biases, "readout": it.readout, "loss": it.loss, **it.records}
    arrays = {name: array for name, array in named.items() if array is not None}
    lead = (*axes, "seed")
    data = {
        name: ((*lead, "time", *_further_axes(it, name, array)), _unfolded(it, array, shape))
        for name, array in arrays.items()
    }
    data["status"] = (lead, np.array(it.status).reshape(*shape, it.n_seeds))
    return xarray.Dataset(data, coords=_coordinates(it, axes, shape), attrs={"settings": canonical(it.settings)})


def _sweep_axes(it: "Trajectory") -> tuple[tuple[str, ...], tuple[int, ...]]:
    """One axis for each swept setting where they were combined all with all, else one for them together."""
    if it.n_swept is None:
        return (), ()
    grid = [_levels(values) for values in it.swept.values()]
    shape = tuple(len(levels) for levels in grid)
    if grid and int(np.prod(shape)) == it.n_swept:
        full = [axis.ravel() for axis in np.meshgrid(*grid, indexing="ij")]
        if all(np.array_equal(a, b) for a, b in zip(full, it.swept.values(), strict=True)):
            return tuple(it.swept), shape
    return ("sweep",), (it.n_swept,)


def _levels(values: np.ndarray) -> np.ndarray:
    """The different values of a swept setting, in the order in which they first come."""
    return values[np.sort(np.unique(values, return_index=True)[1])]


def _unfolded(it: "Trajectory", array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return array if it.n_swept is None else array.reshape(*shape, *array.shape[1:])


def _coordinates(it: "Trajectory", axes: tuple[str, ...], shape: tuple[int, ...]) -> dict[str, Any]:
    swept: dict[str, Any] = {name: _levels(values) for name, values in it.swept.items() if name in axes}
    swept |= {name: (("sweep",), values) for name, values in it.swept.items() if name not in axes}
    return {**swept, "seed": list(it.seeds), **_clocks(it, axes, shape)}


def _clocks(it: "Trajectory", axes: tuple[str, ...], shape: tuple[int, ...]) -> dict[str, Any]:
    if it.time.ndim == 1:
        return {"time": it.time}
    clock = {"clock": ((*axes, "time"), it.time.reshape(*shape, -1))}
    if "rate" not in it.swept or it.time[:, 0].any():
        return clock
    return {"time": np.rint(it.time[0] / it.swept["rate"][0]).astype(int), **clock}


def _further_axes(it: "Trajectory", name: str, array: np.ndarray) -> tuple[str, ...]:
    rest = array.shape[it.done.ndim + 1 :]
    pixels = PIXEL_AXES[it.pixel_ndim]
    if rest[:1] == (it.n_units,):
        tail = pixels if rest[1:] == it.pixels else tuple(f"{name}_{i}" for i in range(len(rest) - 1))
        return ("unit", *tail)
    return pixels if rest == it.pixels else tuple(f"{name}_{i}" for i in range(len(rest)))
