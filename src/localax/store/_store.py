"""The store: a folder of runs that many processes may write to and read from at once, without locks.

A run is written into a temporary folder beside its place and then renamed, which the system does at one
stroke. Whoever lists, loads or waits for it therefore sees all of it or nothing.
"""

import errno
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._disk import StrPath, sync_folder, write_atomically
from .._trajectory import Trajectory, load
from ._run import (
    MARK,
    TRAJECTORY,
    Run,
    Skipped,
    checked_name,
    describe,
    is_hash,
    read_run,
    spec_hash,
    to_json,
)

_TRIES = 20
_TEMPORARY = ".writing-"


@dataclass(frozen=True)
class Listing:
    """All that lies in a store: the runs, oldest first, and what was passed over."""

    runs: tuple[Run, ...]
    skipped: tuple[Skipped, ...]


class Store:
    """Runs in the folder ``root``: by default ``$LOCALAX_HOME``, else ``./localax-results``.

    A run is addressed by its settings (its folder is then their `spec_hash`) or by a name of the caller's
    choice. The root is made by the first `save`.
    """

    def __init__(self, root: StrPath | None = None) -> None:
        self.root = Path(root or os.environ.get("LOCALAX_HOME") or "localax-results").expanduser().absolute()

    def folder(self, run: Mapping[str, Any] | str) -> Path:
        """Where a run is or will be.

        Until the run is saved, the folder of a hash is free for what leads up to it, such as checkpoints;
        `save` replaces all of it.
        """
        path = self.root / (checked_name(run) if isinstance(run, str) else spec_hash(run))
        if path.is_symlink():
            raise ValueError(f"{path}: is a link, which a store does not follow; remove it or use another name")
        return path

    def finished(self, run: Mapping[str, Any] | str) -> bool:
        """Whether the run is stored and none of its seeds was interrupted."""
        try:
            return not read_run(self.folder(run)).interrupted
        except ValueError:
            return False

    def save(
        self,
        run: Mapping[str, Any] | str,
        trajectory: Trajectory | None = None,
        files: Mapping[str, bytes] | None = None,
        *,
        kind: str = "train",
    ) -> Path:
        """Store a run, all of it at once, and return its folder.

        Under settings the first finished run stays (equal settings mean an equal run), only an interrupted or
        half-written one is replaced. Under a name the settings are the trajectory's, and only an
        interrupted run of the same settings is replaced: a name that holds anything else is refused.
        """
        target = self.folder(run)
        if isinstance(run, str) and is_hash(run):
            raise ValueError(f"name must not look like a hash, got {run!r}; give the settings instead")
        contents = _contents(trajectory, files or {})
        settings = run if not isinstance(run, str) else trajectory.settings if trajectory else {}
        status = trajectory.status if trajectory else ()
        record = describe(target.name, settings, kind, status, contents)
        with self._temporary() as made:
            for file, data in (contents | {MARK: to_json(record)}).items():
                write_atomically(made / file, data)
            _settle(made, target, record)
        return target

    def load(self, ref: str) -> Trajectory:
        """The trajectory of a run, by its name, its hash or the beginning of either."""
        run = self.find(ref)
        return load(self.read(run.name, TRAJECTORY), name=str(self.root / run.name / TRAJECTORY))

    def read(self, ref: str, file: str) -> bytes:
        """One file of a run, checked against the checksum that was stored with it."""
        run = self.find(ref)
        path = self.root / run.name / checked_name(file)
        if file not in run.files:
            raise ValueError(f"run {run.name!r} has no file {file!r}; it has {', '.join(run.files) or 'none'}")
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != run.files[file]:
            raise ValueError(
                f"{path}: altered since it was saved, its checksum does not fit; remove the run and redo it"
            )
        return data

    def find(self, ref: str) -> Run:
        """The run that a name, a hash or the beginning of either means."""
        path = self.folder(ref)
        if path.is_dir():
            try:
                return read_run(path)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from error
        matches = [run for run in self.list() if run.name.startswith(ref) or run.hash.startswith(ref)]
        if len(matches) != 1:
            found = f"is the beginning of {', '.join(run.name for run in matches[:5])}" if matches else "is no run"
            raise ValueError(f"{ref!r} {found} in {self.root}; give the name or hash of one that is listed there")
        return matches[0]

    def list(self) -> list[Run]:
        """The finished runs, oldest first."""
        return [*self.scan().runs]

    def scan(self) -> Listing:
        """The finished runs, and what else lies there with the reason why it is none."""
        runs, skipped = [], []
        for folder in sorted(self.root.iterdir()) if self.root.is_dir() else []:
            try:
                runs.append(_readable(folder))
            except ValueError as error:
                skipped.append(Skipped(folder.name, str(error)))
        return Listing(tuple(sorted(runs, key=lambda run: (run.created, run.name))), tuple(skipped))

    def remove(self, name: str) -> None:
        """Delete a run by its full name or hash; what is neither a run nor named like one is refused."""
        path = self.folder(name)
        if not path.is_dir():
            raise ValueError(f"{name!r} is no run in {self.root}; give the full name of one that is listed there")
        if not is_hash(name):
            _refuse_foreign(path)
        with self._temporary() as aside:
            os.replace(path, aside)  # noqa: PTH105 (gone at one stroke, deleted at leisure)

    @contextmanager
    def _temporary(self) -> Iterator[Path]:
        """A new empty folder beside the runs, gone at the end if it is still there."""
        folder = self.root / f"{_TEMPORARY}{secrets.token_hex(8)}"
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _contents(trajectory: Trajectory | None, files: Mapping[str, bytes]) -> dict[str, bytes]:
    for file in files:
        if checked_name(file) in (MARK, TRAJECTORY):
            raise ValueError(f"files: {file!r} is the store's own name; choose another")
    return {**files, **({TRAJECTORY: trajectory.to_bytes()} if trajectory else {})}


def _readable(folder: Path) -> Run:
    if folder.name.startswith(_TEMPORARY):
        raise ValueError("being written, or left by a writer that was killed; without one it can be deleted")
    return read_run(folder)


def _refuse_foreign(folder: Path) -> None:
    try:
        read_run(folder)
    except ValueError as error:
        raise ValueError(f"{folder}: {error}; it may be somebody else's and is left alone") from error


def _settle(made: Path, target: Path, record: Run) -> None:
    """Put a complete folder in its place; where another writer was faster, look again who has precedence."""
    for _ in range(_TRIES):
        if os.path.lexists(target) and _stays(target, record):
            return None
        try:
            return _swap(made, target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
    raise ValueError(f"{target}: other writers kept replacing it {_TRIES} times; save it again")


def _stays(target: Path, record: Run) -> bool:
    """Whether what is at the target has precedence over the new run; refused where it may not be replaced."""
    if target.is_symlink() or target.is_file():
        raise ValueError(f"{target}: is in the way and no folder; remove it or use another name")
    old = _patient_read(target)
    if old is None and not is_hash(target.name) and target.exists():
        _refuse_foreign(target)
    if old is None:
        return False
    if old.hash == record.hash and old.interrupted:
        return False
    if not is_hash(target.name) and (old.hash, old.files) != (record.hash, record.files):
        raise ValueError(f"{target}: already holds another run; remove it or use another name")
    return True


def _patient_read(folder: Path) -> Run | None:
    """The run in a folder, if any; a failure counts only if it lasts: another writer may be renaming."""
    for _ in range(3):
        with suppress(ValueError):
            return read_run(folder)
        time.sleep(0.01)
    return None


def _swap(made: Path, target: Path) -> None:
    """Rename the new folder into place; an old one stands aside until then, and returns if that fails."""
    aside = made.with_name(f"{made.name}-old")
    with suppress(FileNotFoundError):
        os.replace(target, aside)  # noqa: PTH105
    try:
        os.replace(made, target)  # noqa: PTH105
    except OSError:
        with suppress(OSError):
            os.replace(aside, target)  # noqa: PTH105
        raise
    finally:
        if target.exists():  # else the old folder is all there is
            shutil.rmtree(aside, ignore_errors=True)
    sync_folder(target.parent)
