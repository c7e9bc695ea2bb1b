"""Numbers on disk, not objects: one checked file format, one canonical JSON, one way to write a file.

A file is an ordinary ``.npz`` (``np.load`` opens it) with one more member, ``meta``, that holds JSON: what
kind of file it is, the version of that kind's format, the libraries that wrote it, and the caller's own
description. The zip comment, which is the end of the file, carries the sha256 of every byte before it, so
that a file cut short or altered is refused before anything in it is parsed. Nothing is pickled, and equal
contents give equal bytes.
"""

import functools
import hashlib
import importlib.metadata
import io
import json
import math
import os
import platform
import re
import secrets
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ._errors import SettingError
from ._system import rename, sync_folder

StrPath = str | os.PathLike[str]

# JSON -------------------------------------------------------------------------------------------------------


def canonical(value: Any, where: str = "settings") -> str:
    """The one JSON text of a value: keys sorted, no spaces, ASCII, floats by ``repr``, numpy made plain.

    What Python's JSON keeps apart stays apart: 1, 1.0 and true are three texts. A float32 stands for the
    float64 of the same value, so ``np.float32(0.1)`` is 0.10000000149011612 and not 0.1.
    """
    return json.dumps(plain(value, where), sort_keys=True, separators=(",", ":"), allow_nan=False)


def plain(value: Any, where: str = "settings") -> Any:
    """The value in JSON's own types; NaN, infinities and what JSON has no word for are refused, by place."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.char in "?bhilqBHILQefdU":
        return plain(value.tolist(), where)
    if isinstance(value, Mapping):
        return {_text_key(key, where): plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingError(f"{where} must be finite, got {value}")
    if value is None or isinstance(value, str | int | float):
        return value
    raise SettingError(
        f"{where} must be text, a number, true, false, null, a list or a table, got {type(value).__name__}"
    )


def _text_key(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise SettingError(f"{where} must have keys of text, got {key!r}")
    return key


# Files ------------------------------------------------------------------------------------------------------

LONGEST_TEXT = 2**24
"""Bytes of settings or of a summary; some devices never end."""


def read_text(path: StrPath) -> str:
    """The text of a file that somebody writes by hand or reads with their eyes, or comes out of a pipe."""
    with Path(path).open("rb") as file:
        data = file.read(LONGEST_TEXT + 1)
    if len(data) > LONGEST_TEXT:
        raise SettingError(f"{path} must hold at most {LONGEST_TEXT // 2**20} MB of text, and has more")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise SettingError(f"{path} must be text in UTF-8, and is not from byte {error.start} on") from error


def write_atomically(path: StrPath, data: bytes) -> Path:
    """Write a file so that at every moment, even in a power cut, its name means the old bytes or the new."""
    with replacing(path) as temporary, temporary.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return Path(path)


@contextmanager
def replacing(path: StrPath) -> Iterator[Path]:
    """A file to write that takes the place of **path** at one stroke when the block ends; gone where that fails."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(path.parent)
    try:
        yield temporary
        rename(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def _temporary(folder: Path) -> Path:
    return folder / f".{secrets.token_hex(8)}.tmp"


def refuse_unwritable(folder: Path) -> None:
    """Find out before hours of work, by an OSError, that nothing could be kept in a **folder**, or it not be made."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    probe = _temporary(there)
    try:
        probe.write_bytes(b"0")  # a full disk still takes names
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(there)) from error
    finally:
        with suppress(OSError):
            probe.unlink()


HOUR = 3600.0
"""Seconds after which nobody is at a temporary file any more."""


def forsaken(folder: Path, seconds: float | int = HOUR) -> list[Path]:
    """The temporary files that killed writers left in a **folder**, once they have not changed for so many seconds."""
    return [path for path in folder.glob(f".{'[0-9a-f]' * 16}.tmp") if untouched(path, seconds)]


def untouched(path: Path, seconds: float | int = HOUR) -> bool:
    """Whether nothing at **path** has changed for so many seconds; what is gone is not there to be untouched."""
    with suppress(FileNotFoundError):
        inside = [file for file in path.rglob("*") if file.is_file()] if not path.is_symlink() else []
        return max(file.lstat().st_mtime for file in (path, *inside)) < time.time() - seconds
    return False


def sweep_forsaken(folder: Path) -> None:
    """Delete what killed writers left in a **folder**."""
    for path in forsaken(folder):
        path.unlink(missing_ok=True)


# The format -------------------------------------------------------------------------------------------------

_META = "meta"
_SEAL = b"localax 1 sha256 "
_DIGITS = 64
_ARRAY_NAME = re.compile(r"[\w .+-]{1,100}")
_LIBRARIES = (
    "localax", "numpy", "scipy", "jax", "jaxlib", "equinox", "optax", "diffrax", "optimistix", "scikit-learn",
    "scikit-image",
)  # fmt: skip


@functools.cache
def libraries() -> dict[str, str]:
    """Versions of what computes the numbers, found without importing it."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def pack(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], *, kind: str = "arrays", version: int = 1) -> bytes:
    """The bytes of a file that holds named arrays and a JSON-able description."""
    envelope = {"kind": kind, "version": version, "libraries": libraries(), "meta": meta}
    members = {name: storable(name, array) for name, array in arrays.items()}
    members[_META] = np.array(canonical(envelope, "meta"))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in members.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        archive.comment = _SEAL + bytes(_DIGITS)
    with buffer.getbuffer() as view:
        view[-_DIGITS:] = _digest(view)
    return buffer.getvalue()


def storable(name: str, array: np.ndarray) -> np.ndarray:
    """The array, if its name and type can be stored; ask before a long computation rather than after."""
    if not _ARRAY_NAME.fullmatch(name) or name == _META:
        raise SettingError(
            f"array {name!r} must be named by 1 to 100 letters, digits, _ . + - and spaces, and not 'meta'"
        )
    array = np.asarray(array)
    if array.dtype.kind not in "biufcUS":
        raise SettingError(f"array {name!r} must hold numbers, truth values or text, got dtype {array.dtype}")
    return array


def unpack(
    source: bytes | StrPath, *, kind: str = "arrays", version: int = 1, name: str | None = None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and description from a file or its bytes; what is not whole, or of another kind, is refused."""
    name = name or ("data" if isinstance(source, bytes) else os.fspath(source))
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    _check_seal(data, name)
    try:
        arrays = _members(data)
        envelope = json.loads(arrays.pop(_META).item())
        found, number, meta = envelope["kind"], envelope["version"], envelope["meta"]
    except Exception as error:
        raise SettingError(f"{name}: sealed like a file of Localax, but its contents cannot be read") from error
    if found != kind:
        raise SettingError(f"{name}: must hold a file of kind {kind!r}, got {found!r}")
    if number != version:
        raise SettingError(f"{name}: format {number} of {kind!r} is not known to this Localax, which reads {version}")
    return arrays, meta


def _members(data: bytes) -> dict[str, np.ndarray]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(member.file_size for member in archive.infolist()) > len(data):  # nothing of ours is packed
            raise ValueError("holds more than its bytes")
        return {name.removesuffix(".npy"): _member(archive, name) for name in archive.namelist()}


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(name) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _check_seal(data: bytes, name: str) -> None:
    end = len(_SEAL) + _DIGITS
    if data[-end:-_DIGITS] != _SEAL:
        raise SettingError(f"{name}: not a file of Localax, or cut short; expected one that Localax saved")
    if data[-_DIGITS:] != _digest(memoryview(data)):
        raise SettingError(
            f"{name}: altered since it was saved, its checksum does not fit; restore it or compute it again"
        )


def _digest(view: memoryview) -> bytes:
    return hashlib.sha256(view[:-_DIGITS]).hexdigest().encode()
