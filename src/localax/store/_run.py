"""What is known of a stored run without opening its arrays: ``run.json``, the mark of a finished folder."""

import datetime
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .._disk import canonical, libraries, plain

MARK = "run.json"
TRAJECTORY = "trajectory.npz"
_FORMAT = 1
_HASH = re.compile(r"[0-9a-f]{16}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ +-]{0,99}")


def spec_hash(settings: Mapping[str, Any]) -> str:
    """The name that settings give to a run: the first 16 hex digits of the sha256 of their canonical JSON.

    The order of the keys does not matter and numpy scalars count as Python's. The type of a number does: 1
    and 1.0 are two settings, so let one pydantic model turn every setting into its declared type first.
    """
    return hashlib.sha256(canonical(settings).encode()).hexdigest()[:16]


def is_hash(name: str) -> bool:
    return _HASH.fullmatch(name) is not None


def checked_name(name: str) -> str:
    """A name that can only mean something directly inside its folder."""
    if not _NAME.fullmatch(name) or ".." in name or name[-1] in ". ":
        rule = "1 to 100 letters, digits, spaces or . _ + -, starting with a letter or digit, without '..'"
        raise ValueError(f"name must be {rule}, got {name[:120]!r}")
    return name


@dataclass(frozen=True)
class Run:
    """A finished run: its folder's name, its settings and their hash, its size in bytes, each file's sha256.

    ``created`` is in UTC, ISO 8601; ``kind`` is the caller's word for what was run; ``status`` is the
    trajectory's.
    """

    name: str
    hash: str
    created: str
    kind: str
    settings: dict[str, Any]
    size: int
    status: tuple[str, ...]
    libraries: dict[str, str]
    files: dict[str, str]

    @property
    def interrupted(self) -> bool:
        """Whether some seed was stopped before its end, so that the run is worth taking up again."""
        return any(word.startswith("interrupted") for word in self.status)


@dataclass(frozen=True)
class Skipped:
    """Something in the store's folder that is no finished run, and why."""

    name: str
    reason: str


def describe(
    name: str, settings: Mapping[str, Any], kind: str, status: tuple[str, ...], files: Mapping[str, bytes]
) -> Run:
    """The record of a run that is about to be written."""
    return Run(
        name=name,
        hash=spec_hash(settings),
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        kind=kind,
        settings=plain(settings),
        size=sum(map(len, files.values())),
        status=status,
        libraries=libraries(),
        files={file: hashlib.sha256(data).hexdigest() for file, data in files.items()},
    )


def to_json(run: Run) -> bytes:
    """What is written in the mark: for people too, so indented."""
    return (json.dumps({"format": _FORMAT} | asdict(run), indent=1, sort_keys=True) + "\n").encode()


def read_run(folder: Path) -> Run:
    """The record of a folder, or a ValueError that says why it is no finished run."""
    if folder.is_symlink() or not folder.is_dir():
        raise ValueError("not a folder of its own")
    if (folder / MARK).is_symlink() or not (folder / MARK).is_file():
        raise ValueError(f"has no {MARK}: half-written, or not a run")
    try:
        run = _parsed((folder / MARK).read_bytes())
        size = sum(_size(folder, file) for file in run.files)
    except (
        OSError,
        RecursionError,
        KeyError,
        TypeError,
        AttributeError,
        UnicodeDecodeError,
        json.JSONDecodeError,
    ):
        raise ValueError(f"has a {MARK} that cannot be read, or lacks a file that it lists") from None
    if size != run.size:
        raise ValueError(f"holds {size} bytes, not the {run.size} that {MARK} lists")
    if run.hash != spec_hash(run.settings) or (is_hash(folder.name) and folder.name != run.hash):
        raise ValueError("has a name or settings that do not fit its hash")
    if run.name != folder.name:
        raise ValueError(f"was saved as {run.name!r} and renamed")
    return run


def _parsed(data: bytes) -> Run:
    values = json.loads(data)
    number = values.pop("format")
    if number != _FORMAT:
        raise ValueError(f"has format {number}, this Localax reads {_FORMAT}")
    texts = (*(values[key] for key in ("name", "hash", "created", "kind")), *values["status"])
    texts = (*texts, *values["libraries"].values(), *values["files"].values())
    if not all(isinstance(text, str) for text in texts) or not isinstance(values["size"], int):
        raise TypeError(MARK)
    plain(values["settings"]).keys()  # a table, and finite
    return Run(**(values | {"status": tuple(values["status"])}))


def _size(folder: Path, file: str) -> int:
    path = folder / checked_name(file)
    if path.is_symlink() or not path.is_file():
        raise FileNotFoundError(file)
    return path.stat().st_size
