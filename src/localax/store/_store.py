"""The store: a folder of results that many processes may write to and read from at once, without locks.

A writer puts its files beside the old ones under names of its own and then replaces ``run.json``, which the system does
at one stroke. Whoever lists or loads therefore sees all of the old result or all of the new one.
"""

import datetime
import json
import os
import re
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._disk import HOUR, StrPath, canonical, forsaken, untouched, write_atomically
from .._errors import SettingError, setting_error, unknown
from .._system import rename
from ..trajectory import Trajectory, load
from ._index import INDEX, Index
from ._run import (
    MARK,
    Run,
    Runs,
    Unfinished,
    checked_file,
    checksum,
    describe,
    identity_hash,
    is_hash,
    is_whole,
    read_run,
    to_json,
)

TRAJECTORY = "trajectory.npz"
_SCRATCH, _REQUEST = "scratch", "request.json"
_TRIES = 5
_TOKEN = re.compile(r"[0-9a-f]{8}")
"""What a writer puts into the names of its files, and whoever draws one of them into that of the picture."""
_DAMAGED, _REMOVED = ".damaged", ".removed"
CENTURIES = 100_000
"""Days: as long ago as anybody may ask for."""


@dataclass(frozen=True)
class Listing:
    """All that lies in a store.

    ``runs``: results, oldest first. ``unfinished``: what was begun and not finished. ``foreign``: names of what is none
    of its own.
    """

    runs: tuple[Run, ...]
    unfinished: tuple[Unfinished, ...]
    foreign: tuple[str, ...]


class Store:
    """Results in the folder ``root``: by default ``$LOCALAX_HOME``, else ``./localax-results``.

    A result is addressed by its identity, or by the hash of it or the beginning of that. The root is made by the first
    `save`.
    """

    def __init__(self, root: StrPath | None = None) -> None:
        place = root or os.environ.get("LOCALAX_HOME") or "localax-results"
        try:
            self.root = Path(place).expanduser().absolute()
        except RuntimeError as error:  # ~ of nobody
            raise setting_error("store", "its folder", str(place), "a folder; no home is known here") from error

    def folder(self, identity: Mapping[str, Any]) -> Path:
        """Where the result of this **identity** is or will be."""
        return self._at(identity_hash(identity))

    def _at(self, name: str) -> Path:
        path = self.root / name
        if path.is_symlink():
            raise SettingError(f"{path}: is a link, which a store does not follow; remove it")
        return path

    def finished(self, identity: Mapping[str, Any]) -> bool:
        """Whether the result of this **identity** is stored, whole: every file is there and has its checksum."""
        try:
            folder = self.folder(identity)
            return is_whole(folder, read_run(folder))
        except (SettingError, OSError):
            return False

    def marked(self, name: str) -> bool:
        """Whether a result of this **name** was ever finished, whole or not: the quick question."""
        return (self.root / name / MARK).is_file()

    def set_aside(self, name: str) -> Path | None:
        """Rename what is marked as finished under this **name**, for somebody to look at; None where nothing is."""
        return self._renamed(name, _DAMAGED) if self.marked(name) else None

    def _renamed(self, name: str, ending: str) -> Path | None:
        """Take a folder out of the way at one stroke; None where another has just done so."""
        aside = self.root / f"{name}.{secrets.token_hex(4)}{ending}"
        try:
            rename(self._at(name), aside)
        except FileNotFoundError:
            return None
        return aside

    def save(
        self,
        identity: Mapping[str, Any],
        files: Mapping[str, bytes],
        *,
        kind: str = "train",
        title: str = "",
        status: tuple[str, ...] = (),
        replace: bool = False,
    ) -> Path:
        """Store a result, all of it at once, and return its folder.

        **identity**: all that decides it, as JSON. **files**: its bytes by file name. **kind**: what was run.
        **title**: what it is in a few words. **status**: the trajectory's, where there is one. A finished one stays
        (equal identities mean equal results) unless ``replace``; then the new one takes its place at one stroke. What a
        run kept on its way is cleared.
        """
        folder = self.folder(identity)
        for file in files:
            checked_file(file)
        if folder.exists() and not folder.is_dir():
            raise SettingError(f"{folder}: is in the way and no folder; remove it")
        if replace or not self.finished(identity):
            mine = secrets.token_hex(4)
            written = {file: _own_name(file, mine) for file in files}
            _put(folder, describe(identity, kind, title, status, written, files), files)
        shutil.rmtree(folder / _SCRATCH, ignore_errors=True)
        return folder

    def load(self, ref: str) -> Trajectory:
        """The trajectory of a result; **ref** is its name or the beginning of it."""
        run = self.find(ref)
        return load(self.read(run.name, TRAJECTORY), name=str(self.root / run.name / TRAJECTORY))

    def read(self, ref: str, file: str) -> bytes:
        """The bytes of one **file** of a result; **ref** is its name or the beginning of it."""
        for _ in range(_TRIES):  # it may be replaced between looking and reading
            run = self.find(ref)
            if file not in run.files:
                raise SettingError(f"run {run.name!r} has no file {file!r}; it has {', '.join(run.files) or 'none'}")
            with suppress(FileNotFoundError):
                data = (self.root / run.name / run.files[file]).read_bytes()
                if checksum(data) != run.sha256.get(file, checksum(data)):
                    raise SettingError(f"{self.root / run.name / file}: altered since it was saved; run it again")
                return data
        raise SettingError(f"run {ref!r} kept being replaced while it was read; read it again")

    def find(self, ref: str) -> Run:
        """The result that **ref** means: its name of 16 hex digits, or the beginning of it where that is enough."""
        if not isinstance(ref, str) or not ref or len(ref) > 16 or set(ref) - set("0123456789abcdef"):
            raise setting_error(
                "store", "a run", ref, "called by the 16 digits that `localax runs` lists, or the first"
            )
        exact = is_hash(ref) and (self.root / ref).is_dir()
        names = [ref] if exact else [path.name for path in self._folders() if path.name.startswith(ref)]
        if not names:
            raise unknown("run", ref, [run.name for run in self.runs()] or ["(none is stored)"])
        if len(names) > 1:
            raise SettingError(f"{ref!r} is the beginning of {', '.join(names[:5])}; give more of it")
        try:
            return read_run(self._at(names[0]))
        except SettingError as error:
            raise SettingError(f"{self.root / names[0]}: {error}") from error

    def _folders(self) -> list[Path]:
        return [self.root / name for name in sorted(self._names()) if is_hash(name)]

    def _names(self) -> list[str]:
        return os.listdir(self.root) if self.root.is_dir() else []  # noqa: PTH208 (ten thousand names are no paths yet)

    def runs(self) -> Runs:
        """The finished results, oldest first."""
        return Runs(self.scan().runs)

    def scan(self) -> Listing:
        """Finished results, unfinished ones with the reason, and names that are not the store's own."""
        runs, unfinished = [], []
        with Index(self.root) as index:
            for folder in self._folders():
                try:
                    runs.append(index.run(folder))
                except SettingError as error:
                    unfinished.append(Unfinished(folder.name, str(error), self.request(folder.name)))
        foreign = [name for name in self._names() if not is_hash(name) and name != INDEX]
        ordered = sorted(runs, key=lambda run: (run.created, run.name))
        return Listing(tuple(ordered), tuple(unfinished), tuple(sorted(foreign)))

    # What a run keeps on its way -------------------------------------------------------------------------------------

    def scratch(self, identity: Mapping[str, Any], request: Mapping[str, Any]) -> Path:
        """A folder for what leads up to a result, such as checkpoints; cleared when the result is saved.

        **identity**: of the result. **request**: what was asked for, as JSON; kept in the folder.
        """
        folder = self.folder(identity) / _SCRATCH
        write_atomically(folder / _REQUEST, (canonical(request, "request") + "\n").encode())
        return folder

    def request(self, name: str) -> dict[str, Any] | None:
        """What was asked for in the unfinished folder **name**, if it says so."""
        with suppress(OSError, ValueError, RecursionError):
            found = json.loads((self.root / name / _SCRATCH / _REQUEST).read_text())
            return found if isinstance(found, dict) else None
        return None

    # Forgetting ------------------------------------------------------------------------------------------------------

    def remove(self, name: str) -> None:
        """Delete a result, finished or not, by its full **name**."""
        if not is_hash(name) or not (self.root / name).exists():
            raise unknown("run", name, [path.name for path in self._folders()] or ["(none is stored)"])
        if aside := self._renamed(name, _REMOVED):  # from here on it is not there
            _delete(aside)

    def older(self, days: float | int) -> Runs:
        """Results made longer ago than so many **days**."""
        if not 0 <= days <= CENTURIES:
            raise setting_error("runs", "days", days, f"from 0 to {CENTURIES:,}")
        limit = (datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=days)).isoformat(timespec="milliseconds")
        return Runs(run for run in self.runs() if run.created < limit)

    def discard(self, path: Path) -> None:
        """Delete one of the `leftovers`, by its **path**."""
        if path.parent != self.root and path.parent.parent != self.root:
            raise setting_error("store", "a leftover", str(path), f"inside {self.root}")
        _delete(path)

    def leftovers(self, seconds: float | int = HOUR) -> list[Path]:
        """What nobody needs: what a finished result does not list, unfinished ones without a checkpoint, damaged ones.

        Only what has not changed for so many **seconds**: a writer may still be at it. A folder that another version of
        Localax has marked as finished is none of these.
        """
        aside = [self.root / name for name in self._names() if name.endswith((_DAMAGED, _REMOVED))]
        unlisted = [path for folder in self._folders() for path in _unlisted(folder)]
        return [path for path in (*unlisted, *aside) if untouched(path, seconds)] + forsaken(self.root, seconds)


def _own_name(file: str, token: str) -> str:
    stem, dot, ending = file.partition(".")
    return f"{stem}-{token}{dot}{ending}"


def _put(folder: Path, run: Run, files: Mapping[str, bytes]) -> None:
    """Write the files of a result, its mark, and then remove those of the result that was there before."""
    mine = _tokens(run)
    for _ in range(_TRIES):  # somebody may remove the folder meanwhile, and half of this with it
        try:
            for file, data in files.items():
                write_atomically(folder / run.files[file], data)
            old = (_marked(folder) or set()) - mine
            write_atomically(folder / MARK, to_json(run))
        except FileNotFoundError:
            continue
        except BaseException:
            _forget(folder, mine)
            raise
        if _marked(folder) is not None:  # as this one made it, or another that came later
            _forget(folder, old)
            return
    raise SettingError(f"{folder}: kept being removed while it was written; run it again")


def _tokens(run: Run) -> set[str]:
    """What the writer of a result has put into the names of its files."""
    return {Path(file).stem.rpartition("-")[2] for file in run.files.values()}


def _marked(folder: Path) -> set[str] | None:
    """The tokens of the files that the mark lists; None where nobody finished."""
    try:
        return _tokens(read_run(folder))
    except SettingError:
        return None


def _forget(folder: Path, tokens: set[str]) -> None:
    """Delete the files of some writers, and the folder if that leaves it empty; others' files stay."""
    for path in folder.glob("*-*") if folder.is_dir() else ():
        if path.stem.rpartition("-")[2] in tokens:
            path.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def _unlisted(folder: Path) -> list[Path]:
    """What a folder holds beside a result: the files of others, or all of it where nobody finished or goes on."""
    mine = _marked(folder)
    if mine is None:
        begun = (folder / _SCRATCH).is_dir() or (folder / MARK).exists() or folder.is_symlink()
        return [] if begun else [folder]
    with suppress(FileNotFoundError):  # it may be removed meanwhile
        return [path for path in folder.iterdir() if _is_left(path, mine)]
    return []


def _is_left(path: Path, mine: set[str]) -> bool:
    """Whether a file is of another writer than those of ``mine``, of none that finished, or led up to the result."""
    token = path.stem.rpartition("-")[2]
    of_another = token != path.stem and _TOKEN.fullmatch(token) is not None and token not in mine
    return of_another or path.name == _SCRATCH or path.suffix == ".tmp"


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
