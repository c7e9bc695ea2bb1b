"""What is known of a stored result without opening its files: ``run.json``, the mark of a finished folder."""

import datetime
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .._disk import canonical, libraries, plain
from .._errors import SettingError, setting_error, short
from .._text import table

MARK = "run.json"
_FORMAT = 2
_HASH = re.compile(r"[0-9a-f]{16}")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}(\.[A-Za-z0-9]{1,10})?")


def identity_hash(identity: Mapping[str, Any]) -> str:
    """The name that an **identity** gives to a result: 16 hex digits of the sha256 of its canonical JSON.

    The order of the keys does not matter and numpy scalars count as Python's. The type of a number does: 1 and 1.0 are
    two identities, so an identity is taken from built objects, whose settings have the types that they declare.
    """
    return hashlib.sha256(canonical(identity).encode()).hexdigest()[:16]


def is_hash(name: str) -> bool:
    return _HASH.fullmatch(name) is not None


def checked_file(name: str) -> str:
    """A name that can only mean a file directly inside its folder."""
    if not isinstance(name, str) or not _FILE.fullmatch(name) or name == MARK:
        raise setting_error("store", "a file", name, f"named by letters, digits, _ and -, one ending, not {MARK}")
    return name


@dataclass(frozen=True)
class Run:
    """A finished result: its name, when and by what it was made, and its files.

    ``name`` is the hash of its ``identity``, which is all that decides it; ``created`` is in UTC, ISO 8601; ``kind`` is
    what was run, ``title`` what it is in a few words; ``size`` counts bytes; ``status`` is the trajectory's, where
    there is one; ``libraries`` are those it was made with, by name and version; ``files`` has for each file its name on
    disk, ``sha256`` its checksum.
    """

    name: str
    created: str
    kind: str
    title: str
    identity: dict[str, Any]
    size: int
    status: tuple[str, ...]
    libraries: dict[str, str]
    files: dict[str, str]
    sha256: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name:<17} {self.created[:19]} {self.size / 2**20:8.1f} MB  {self.kind:<11} {self.title}"


class Runs(list[Run]):
    """Stored results, which list themselves in a notebook."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no runs stored"

    def _repr_html_(self) -> str:
        rows = [(run.name, run.created[:19], f"{run.size / 2**20:.1f} MB", run.kind, run.title) for run in self]
        return table(rows, ("run", "made (UTC)", "size", "kind", "what"), f"{len(rows)} runs")


@dataclass(frozen=True)
class Unfinished:
    """A folder of the store, by its ``name``, that holds no finished result.

    ``reason``: why, in words. ``request``: what would finish it, if known.
    """

    name: str
    reason: str
    request: dict[str, Any] | None = None


def describe(
    identity: Mapping[str, Any],
    kind: str,
    title: str,
    status: tuple[str, ...],
    named: dict[str, str],
    files: Mapping[str, bytes],
) -> Run:
    """The record of a result that is about to be marked as finished; ``named`` are its files' names on disk."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    size, sums = sum(map(len, files.values())), {name: checksum(data) for name, data in files.items()}
    return Run(identity_hash(identity), now, kind, title, plain(identity), size, status, libraries(), named, sums)


def checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def is_whole(folder: Path, run: Run) -> bool:
    """Whether the files of a result are still the bytes that were written; one without checksums is believed."""
    return all(checksum((folder / run.files[name]).read_bytes()) == known for name, known in run.sha256.items())


def to_json(run: Run) -> bytes:
    """What is written in the mark: for people too, so indented."""
    return (json.dumps({"format": _FORMAT} | asdict(run), indent=1, sort_keys=True) + "\n").encode()


def read_run(folder: Path) -> Run:
    """The record of a folder, or a SettingError that says why it is no finished result."""
    while True:
        mark = _mark(folder)
        try:
            return _checked(folder, mark)
        except SettingError:
            if _mark(folder) == mark:  # else it was replaced, and its old files removed, while this looked
                raise


def _mark(folder: Path) -> bytes:
    if folder.is_symlink() or not folder.is_dir():
        raise SettingError("not a folder of its own")
    if (folder / MARK).is_symlink() or not (folder / MARK).is_file():
        raise SettingError(f"has no {MARK}: half-written, or no result")
    try:
        return (folder / MARK).read_bytes()
    except OSError:
        raise SettingError(f"has a {MARK} that cannot be read") from None


def _checked(folder: Path, mark: bytes) -> Run:
    """The record that a mark holds, if all that it lists is there."""
    try:
        run = _parsed(mark)
        size = sum(_size(folder, file) for file in run.files.values())
    except SettingError:
        raise
    except (OSError, RecursionError, KeyError, TypeError, AttributeError, ValueError):
        raise SettingError(f"has a {MARK} that cannot be read, or lacks a file that it lists") from None
    if size != run.size:
        raise SettingError(f"holds {size} bytes, not the {run.size} that {MARK} lists")
    if not folder.name == run.name == identity_hash(run.identity):
        raise SettingError("has a name that does not fit its identity")
    return run


def _parsed(data: bytes) -> Run:
    values = json.loads(data)
    number = values.pop("format")
    if number != _FORMAT:
        raise SettingError(f"has format {short(number)}, {_writer(values)}; this one reads {_FORMAT}: {_ADVICE}")
    plain(values["identity"])  # finite
    return run_of(values)


def run_of(values: Mapping[str, Any]) -> Run:
    """A record from plain data; a TypeError, KeyError or AttributeError where it is none."""
    texts = (*(values[key] for key in ("name", "created", "kind", "title")), *values["status"])
    texts = (*texts, *values["libraries"].values(), *values["files"].values(), *values.get("sha256", {}).values())
    if not all(isinstance(text, str) for text in texts) or type(values["size"]) is not int:
        raise TypeError(MARK)
    values["identity"].keys()  # a table
    if not values.get("sha256", {}).keys() <= values["files"].keys():
        raise KeyError(MARK)
    return Run(**{**values, "status": tuple(values["status"])})


_ADVICE = "run it again, or read its trajectory.npz with lx.load"


def _writer(values: dict[str, Any]) -> str:
    version = str(values.get("libraries", {}).get("localax", ""))
    return f"written by Localax {version[:20]}" if version else "of another Localax"


def _size(folder: Path, file: str) -> int:
    path = folder / checked_file(file)
    if path.is_symlink() or not path.is_file():
        raise FileNotFoundError(file)
    return path.stat().st_size
