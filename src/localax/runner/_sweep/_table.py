"""A sweep, or one run, as a table: one row for each field, as it is at the end."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import netCDF4
import numpy as np

from ..._disk import StrPath, write_atomically
from ...analysis import ipr

if TYPE_CHECKING:
    import xarray

ROWS = ("seed", "unit")
"""Axes that make rows beside those of the sweep."""
INSIDE = ("time", "pixel", "row", "column")


def last(array: "xarray.DataArray") -> "xarray.DataArray":
    """An array at its last record; runs that were recorded less often end earlier, with NaN behind."""
    if "time" not in array.dims:
        return array
    values = np.moveaxis(array.values, array.dims.index("time"), -1)
    if values.dtype.kind != "f":
        return array.isel(time=-1, drop=True)
    count = values.shape[-1] - np.argmax(np.isfinite(values[..., ::-1]), axis=-1)
    ends = np.take_along_axis(values, count[..., None] - 1, axis=-1)[..., 0]
    return array.isel(time=-1, drop=True).copy(data=ends)


def write_csv(path: StrPath) -> Path:
    """The table of the result in **path**, beside it."""
    import xarray

    with xarray.open_dataset(path) as data:
        return write_table(data, Path(path).with_suffix(".csv"))


def write_table(data: "xarray.Dataset", path: StrPath) -> Path:
    """Write one row for each field in **data** to **path**: its settings, seed and unit, and what was measured last."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(_rows(_with_ipr(data)))
    return write_atomically(path, out.getvalue().encode())


def _with_ipr(data: "xarray.Dataset") -> "xarray.Dataset":
    if "weights" not in data or "ipr" in data:
        return data
    weights = data["weights"]
    ndim = sum(dim in weights.dims for dim in ("pixel", "row", "column"))
    return data.assign(ipr=(weights.dims[:-ndim], np.asarray(ipr(weights.values, ndim=ndim))))


def _rows(data: "xarray.Dataset") -> Iterator[list[Any]]:
    plain = {name: array for name, array in data.data_vars.items() if not set(array.dims) & set(INSIDE[1:])}
    dims = [dim for dim in data.dims if any(dim in a.dims for a in plain.values()) and dim != "time"]
    dims = [dim for dim in dims if dim not in ROWS] + [dim for dim in ROWS if dim in dims]
    kept = {name: last(array) for name, array in plain.items() if set(array.dims) <= {*dims, "time"}}
    beside = [str(c) for c, values in data.coords.items() if set(values.dims) <= set(dims) and c not in dims]
    yield [*map(str, dims), *beside, *map(str, kept)]
    sizes = [data.sizes[dim] for dim in dims]
    for where in np.ndindex(*sizes):
        place = dict(zip(dims, where, strict=True))
        own = [data[dim].values[i] if dim in data.coords else i for dim, i in place.items()]
        parts = [*(data[c] for c in beside), *kept.values()]
        yield [*own, *(_cell(part, place) for part in parts)]


def _cell(array: "xarray.DataArray", place: dict[Any, int]) -> Any:
    value = array.values[tuple(place[dim] for dim in array.dims)]
    return f"{value:.9g}" if isinstance(value, float | np.floating) else value


def count_diverged(path: StrPath) -> int:
    """Networks of the result in **path** that diverged."""
    with netCDF4.Dataset(path) as file:
        if "diverged" not in file.variables:
            return 0
        return int(np.sum(np.ma.filled(file["diverged"][:], -1) >= 0))
