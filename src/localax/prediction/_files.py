"""Data of one's own from a file or a folder of images: numbers only, nothing that could run, no more than fits."""

import contextlib
import io
import math
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import SettingError, one_line, setting_error, unknown

MOST = 200_000_000
"""Numbers beyond which a file is not read whole."""
KEPT = 30_000_000
"""Numbers in the random part of its samples that is read instead."""
LABELS = 50_000_000
"""Labels at most: they are read whole."""
ARRAYS = 10_000
"""Arrays in one file; to list more takes too long."""
RUN, PIECE = 64, 4096
"""Samples that are read in one stroke, of a part (a disk takes as long for one) and of all."""
LARGEST = 100_000_000
"""Pixels of an image."""
PATCHES = 50_000
"""Patches that are cut from images at most."""
IMAGES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
FORMATS = ("PNG", "JPEG", "TIFF")
"""What an image may be, whatever its name says: a library reads dozens of kinds, and each is a parser to be trusted."""
READABLE = 8 * MOST
"""Bytes of an array that can only be read whole, and of a chunk that is unpacked at one stroke."""


@dataclass(frozen=True, eq=False)
class Data:
    """What was read: ``samples``, which ``rows`` of the file they are (None: all), and ``notes`` on it in words."""

    samples: np.ndarray
    rows: np.ndarray | None = None
    notes: tuple[str, ...] = ()


def read_samples(path: Path | str, *, array: str | None = None, patch: int = 16, seed: int = 0) -> Data:
    """Samples from **path**: .npy, .npz, .h5, .mat or .csv, an image, or a folder of images.

    **array**: which of several in a file. **patch**: the side of the patches that are cut from images, which overlap by
    half. **seed**: of the random part of the samples that is kept where all are too many.
    """
    path = _there(Path(path), "file or folder")
    if path.is_dir() or path.suffix.lower() in IMAGES:
        return _patches(path, patch, seed)
    with _told_of(path):
        return _part(_opened(path, array), path, seed)


def read_labels(path: Path | str, *, array: str | None = None) -> np.ndarray:
    """One number per sample from **path**, of any kind that holds samples; **array**: which of several in it."""
    path = _there(Path(path), "file")
    with _told_of(path):
        found = _opened(path, array)
        if (count := math.prod(found.shape)) > LABELS:
            raise setting_error("predict", path.name, f"{count:,} numbers", f"at most {LABELS:,} labels")
        return np.asarray(found[...]).squeeze()


def _there(path: Path, what: str) -> Path:
    """A path where there is **what**, or a refusal: a pipe would be waited for, some names make a system fail."""
    try:
        found = path.is_file() or (path.is_dir() and "folder" in what)
    except OSError as error:
        raise SettingError(f"predict: there is no {what} {path}: {error.strerror}") from error
    if not found:
        raise SettingError(f"predict: there is no {what} {path}")
    return path


def read_data(
    samples: Path | str, labels: Path | str | None = None, *, array: str | None = None, patch: int = 16, seed: int = 0
) -> tuple[Data, np.ndarray | None]:
    """Samples as by :func:`read_samples`, and their **labels** from a file, those of the samples that were kept.

    **samples**: a file, or a folder of images. **array**, **patch**, **seed**: as of :func:`read_samples`.
    """
    data = read_samples(samples, array=array, patch=patch, seed=seed)
    given = None if labels is None else read_labels(labels)
    if given is not None and data.rows is not None and given.ndim == 1 and len(given) > data.rows[-1]:
        given = given[data.rows]
    return data, given


def _opened(path: Path, name: str | None) -> Any:
    """The array in a file, still on disk where its kind allows that."""
    if path.suffix.lower() not in READERS:
        raise unknown("kind of file", path.suffix or path.name, [*READERS, *IMAGES])
    return READERS[path.suffix.lower()](path, name)


@contextlib.contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """What libraries say of a file that they cannot read, in one line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they may hold names, and numbers are found wanting below
            yield
    except SettingError:
        raise
    except Exception as error:  # libraries raise whatever they meet in a file that is not what its name says
        reason = str(error) or type(error).__name__
        raise SettingError(f"predict: {path.name} cannot be read as {path.suffix}: {one_line(reason, 120)}") from error


def _part(source: Any, path: Path, seed: int) -> Data:
    """All samples, or a random part of them, in order, read piece by piece in float32."""
    shape, kind = tuple(source.shape), np.dtype(source.dtype)
    if kind.kind not in "biuf" or len(shape) not in (2, 3, 4) or 0 in shape:
        raise setting_error("predict", path.name, f"{kind} array of shape {shape}", "numbers (n, pixels) or (n, h, w)")
    pixels = math.prod(shape[1:])
    if pixels > MOST // RUN:
        raise setting_error("predict", path.name, f"samples of {pixels:,} pixels", f"of at most {MOST // RUN:,} pixels")
    if shape[0] * pixels <= MOST:
        return Data(_read(source, np.arange(0, shape[0], PIECE), PIECE, shape[0]))
    firsts = _runs(shape[0], max(1, KEPT // pixels), seed)
    rows = (firsts[:, None] + np.arange(RUN)).ravel()
    said = f"{len(rows):,} were taken at random places, {RUN} at each"
    return Data(_read(source, firsts, RUN, len(rows)), rows, (f"Of {shape[0]:,} samples in the file, {said}.",))


def _read(source: Any, firsts: np.ndarray, each: int, count: int) -> np.ndarray:
    """``count`` samples, so many on ``each`` stroke; what float32 cannot hold becomes infinite, and is refused."""
    out = np.empty((count, *source.shape[1:]), np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for i, first in enumerate(firsts.tolist()):
            part = out[i * each : (i + 1) * each]
            part[...] = source[first : first + len(part)]
    return out


def _runs(all_: int, kept: int, seed: int) -> np.ndarray:
    """Where the runs of samples begin that are kept, in order."""
    places = all_ // RUN
    return RUN * np.sort(
        np.random.default_rng([seed, 4]).choice(places, min(places, max(1, kept // RUN)), replace=False)
    )


# Kinds of files -------------------------------------------------------------------------------------------------------


def _npy(path: Path, name: str | None) -> Any:
    del name
    mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    return _OnDisk(path, mapped) if mapped.flags.c_contiguous and mapped.ndim else mapped


class _OnDisk:
    """An array in a file, of which slices of samples are read: 200 times faster here than by mapped memory."""

    def __init__(self, path: Path, mapped: np.memmap):
        self.path, self.offset, self.shape, self.dtype = path, mapped.offset, mapped.shape, mapped.dtype

    def __getitem__(self, rows: Any) -> np.ndarray:
        first, last, _ = (slice(None) if rows is ... else rows).indices(self.shape[0])
        each = math.prod(self.shape[1:])
        offset = self.offset + first * each * self.dtype.itemsize
        values = np.fromfile(self.path, self.dtype, count=(last - first) * each, offset=offset)
        return values.reshape(-1, *self.shape[1:])


def _npz(path: Path, name: str | None) -> Any:
    with zipfile.ZipFile(path) as archive:
        names = [member.removesuffix(".npy") for member in archive.namelist()]
        _refuse_large(path, archive.getinfo(f"{_chosen(names, name, path)}.npy").file_size)
    with np.load(path, allow_pickle=False) as arrays:
        return arrays[_chosen(names, name, path)]


def _refuse_large(path: Path, size: int) -> None:
    if size > READABLE:
        raise SettingError(f"predict: {path.name} holds {size / 2**30:.1f} GB; save it as .npy, which is read in parts")


def _mat(path: Path, name: str | None) -> Any:
    import scipy

    try:
        with _Counted(path) as file:
            kinds = {found: (8 * math.prod(shape), kind) for found, shape, kind in scipy.io.whosmat(file)}
    except NotImplementedError:  # version 7.3, which is HDF5
        return _Turned(_h5(path, name))
    chosen = _chosen(list(kinds), name, path)
    size, kind = kinds[chosen]
    if not re.fullmatch("double|single|u?int[0-9]+|logical", kind):
        raise setting_error("predict", f"{chosen} in {path.name}", kind, "a full array of numbers")
    _refuse_large(path, size)
    return _loaded_elsewhere(path, chosen)


_LOADS = (
    "import sys, numpy, scipy.io\n"
    "path, name, out = sys.argv[1:]\n"
    "try:\n"
    "    numpy.save(out, scipy.io.loadmat(path, variable_names=[name])[name], allow_pickle=False)\n"
    "except Exception as error:\n"
    "    sys.exit(f'{type(error).__name__}: {error}')\n"
)


def _loaded_elsewhere(path: Path, name: str) -> np.ndarray:
    """An array of a .mat file, read by a process of its own: some spoilt ones take the process down that reads them."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "array.npy")
        words = [sys.executable, "-I", "-c", _LOADS, str(path), name, str(out)]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise ValueError(said[-1] if said else f"its reader ended with code {done.returncode}")
        return np.load(out, allow_pickle=False)


class _Counted(io.FileIO):
    """A file that is read in no more strokes than a list of its arrays takes; zeros are a list that never ends."""

    left = 10 * ARRAYS

    def read(self, size: int | None = -1, /) -> bytes | None:
        self.left -= 1
        if self.left < 0:
            raise setting_error("predict", Path(str(self.name)).name, "more arrays", f"at most some {ARRAYS:,} arrays")
        return super().read(size)


class _Turned:
    """An array in a file that has its axes the other way round."""

    def __init__(self, array: Any):
        self.array, self.shape, self.dtype = array, tuple(array.shape)[::-1], array.dtype

    def __getitem__(self, rows: Any) -> np.ndarray:
        return np.asarray(self.array[..., slice(None) if rows is ... else rows]).T


def _h5(path: Path, name: str | None) -> Any:
    import h5py

    found: dict[str, Any] = {}

    def keep(at: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and not at.startswith("#"):  # Matlab keeps its own things there
            found[at] = item

    h5py.File(path, "r").visititems(keep)  # it follows no link to another file
    chosen = found[_chosen(list(found), name, path)]
    _refuse_large(path, math.prod(chosen.chunks or (0,)) * chosen.dtype.itemsize)  # read in parts, but no smaller ones
    return chosen


def _csv(path: Path, name: str | None) -> Any:
    """Numbers with commas between; a first line of names is passed over."""
    del name
    _refuse_large(path, path.stat().st_size)
    with path.open() as lines:
        first = lines.readline()
    try:
        [float(cell) for cell in first.split(",")]
        skipped = 0
    except ValueError:
        skipped = 1
    return np.loadtxt(path, delimiter=",", skiprows=skipped, ndmin=2, dtype=np.float32)


READERS: dict[str, Callable[[Path, str | None], Any]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".h5": _h5,
    ".hdf5": _h5,
    ".mat": _mat,
    ".csv": _csv,
}


def _chosen(names: list[str], name: str | None, path: Path) -> str:
    """The array that is meant: the one named, or the only one."""
    if name is None and len(names) == 1:
        return names[0]
    if name is None or name not in names:
        listed = ", ".join(names[:12]) or "none"
        raise setting_error("predict", f"the array in {path.name}", name, f"one of its arrays ({listed}); use --array")
    return name


# Images ---------------------------------------------------------------------------------------------------------------


def _patches(path: Path, side: int, seed: int) -> Data:
    """Patches of all images in grey, half overlapping."""
    files = sorted(one for one in path.iterdir() if one.suffix.lower() in IMAGES) if path.is_dir() else [path]
    if not files:
        raise SettingError(f"predict: the folder {path} has no images ({', '.join(IMAGES)})")
    if not 2 <= side <= 256:
        raise setting_error("predict", "patch", side, "a side of 2 to 256 pixels")
    rng = np.random.default_rng([seed, 5])
    most = min(PATCHES, KEPT // side**2)
    cut = [_cut(_grey(file), side, max(1, most // len(files)), rng, file) for file in files[:most]]
    samples = np.concatenate(cut)
    cut_from = f"{len(samples):,} patches of {side} x {side} pixels, from {len(cut)} image{'s'[: len(cut) - 1]},"
    return Data(samples, notes=(f"{cut_from} overlap by half: they are worth fewer independent samples.",))


def _grey(path: Path) -> np.ndarray:
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of large images, which are refused below
            with Image.open(_there(path, "file"), formats=FORMATS) as image:
                return _numbers(image, path)
    except SettingError:
        raise
    except Image.DecompressionBombError as error:
        raise SettingError(
            f"predict: {path.name} has more than the {LARGEST:,} pixels that are read; cut it"
        ) from error
    except Exception as error:
        raise SettingError(f"predict: {path.name} cannot be read as an image") from error


def _numbers(image: Any, path: Path) -> np.ndarray:
    if image.width * image.height > LARGEST:
        size = f"{image.width} x {image.height}"
        raise SettingError(f"predict: {path.name} has {size} pixels; at most {LARGEST:,} are read, so cut it")
    return np.asarray(image.convert("F" if image.mode.startswith(("I", "F")) else "L"), np.float32)


def _cut(image: np.ndarray, side: int, most: int, rng: np.random.Generator, path: Path) -> np.ndarray:
    if min(image.shape) < side:
        raise SettingError(f"predict: {path.name} is smaller than a patch of {side} pixels; choose a smaller --patch")
    step = max(1, side // 2)
    views = np.lib.stride_tricks.sliding_window_view(image, (side, side))[::step, ::step]
    count = views.shape[0] * views.shape[1]
    kept = np.sort(rng.choice(count, min(most, count), replace=False))
    return views[kept // views.shape[1], kept % views.shape[1]]
