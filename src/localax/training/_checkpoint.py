"""Checkpoints: a folder that holds all that a run needs to go on, whatever moment it was killed at.

Records are written once, in chunks that are named by the records they hold; one small file has the state and says which
chunks belong to it. It is replaced whole, after the chunk it speaks of. A chunk that it does not name is what a crash
left behind, or of another process that does the same run: it does not count. So the bytes written grow with the length
of a run and not with its square.
"""

import hashlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from .._disk import StrPath, canonical, pack, unpack, write_atomically
from .._errors import SettingError, setting_error
from ..networks import Parameters
from ._loop import State

KIND = "localax training checkpoint"
CHUNK = "localax training records"
VERSION = 2
"""Of the state's format."""


class Position(NamedTuple):
    """How far a run has come. Always replaced as a whole, so that no interruption finds a part of it."""

    step: int
    state: State
    previous: Parameters
    """The parameters at the last record."""
    rows: tuple[Any, ...]
    """Records, each entry with a leading axis of time."""


@dataclass(frozen=True)
class Checkpoint:
    """Where a run is kept while it goes on: the folder **path**, written to about **every** so many seconds.

    The same call goes on from it after any interruption and ends with the same bits.
    """

    path: StrPath
    every: float | int = 10.0

    def __post_init__(self) -> None:
        if isinstance(self.every, bool) or not isinstance(self.every, int | float) or not self.every >= 0:
            raise setting_error(Checkpoint, "every", self.every, "seconds >= 0")


def chosen_checkpoint(checkpoint: Any) -> Checkpoint | None:
    """A checkpoint, or its folder as a shorthand for one."""
    return checkpoint if checkpoint is None or isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)


class Keeper:
    """Writes a run to its checkpoint and reads it back; without one, neither."""

    def __init__(self, checkpoint: Checkpoint | None, settings: dict[str, Any]):
        self.path = None if checkpoint is None else Path(checkpoint.path)
        self.every = math.inf if checkpoint is None else checkpoint.every
        self.settings = settings
        self.run = hashlib.sha256(canonical(settings).encode()).hexdigest()
        self.saved: tuple[int, tuple[int, ...]] = (-1, (0,))
        """The step that was last written, and after how many records each of its chunks ends; the first begins at 0."""

    def read(self, start: Position, record_form: Any) -> Position | None:
        """The run that is kept here, if any; one of other settings, or damaged, is refused.

        The start and the form of a record say how arrays belong together.
        """
        if self.path is None or not _begun(self.path):
            return None
        file = self.path / "state.npz"
        arrays, meta = unpack(file, kind=KIND, version=VERSION)
        if canonical(meta["settings"]) != canonical(self.settings):
            difference = difference_of(meta["settings"], self.settings)
            raise SettingError(f"checkpoint {self.path} is of another run: {difference}")
        state, previous = _refilled(file, arrays, (start.state, start.previous))
        rows = joined(tuple(self._chunk(span, record_form) for span in itertools.pairwise(meta["ends"])))
        self.saved = (meta["step"], tuple(meta["ends"]))
        return Position(meta["step"], state, previous, (rows,))

    def write(self, position: Position) -> None:
        """Keep a run as far as it has come."""
        step, ends = self.saved
        if self.path is None or position.step == step:
            return
        last = np.cumsum([_length(rows) for rows in position.rows])
        new = tuple(rows for rows, end in zip(position.rows, last, strict=True) if end > ends[-1])
        if new:
            ends = (*ends, int(last[-1]))
            chunk = pack(_arrays(joined(new)), {"run": self.run}, kind=CHUNK)
            write_atomically(self._chunk_file(ends[-2:]), chunk)
        meta = {"settings": self.settings, "step": position.step, "ends": ends}
        kept = _arrays((position.state, position.previous))
        write_atomically(self.path / "state.npz", pack(kept, meta, kind=KIND, version=VERSION))
        self.saved = (position.step, ends)

    def _chunk_file(self, span: Sequence[int]) -> Path:
        assert self.path is not None
        return self.path / f"records-{span[0]}-{span[1]}.npz"

    def _chunk(self, span: Sequence[int], form: Any) -> Any:
        file = self._chunk_file(span)
        if not file.exists():
            raise SettingError(f"{file}: missing, and checkpoint {self.path} needs it; restore it or start again")
        arrays, meta = unpack(file, kind=CHUNK)
        if meta["run"] != self.run:
            raise SettingError(f"{file}: of another run than the rest of checkpoint {self.path}; start again")
        return _refilled(file, arrays, form, axes=1)


def reached(path: StrPath) -> int | None:
    """The step from which a run with its checkpoint in the folder **path** goes on; None where none is kept yet."""
    return unpack(Path(path) / "state.npz", kind=KIND, version=VERSION)[1]["step"] if _begun(Path(path)) else None


def _begun(path: Path) -> bool:
    """Whether a run is kept at a path; a path that holds something else is refused."""
    if (path / "state.npz").exists():
        return True
    if path.exists() and (not path.is_dir() or any(not _is_ours(entry.name) for entry in path.iterdir())):
        raise SettingError(f"checkpoint {path} must be a new folder or one that train made, and is something else")
    return False


def _is_ours(name: str) -> bool:
    """Whether a file may have been left by a run that was killed before its first state was written."""
    return name.startswith("records-") or name.endswith(".tmp")


def _arrays(tree: Any) -> dict[str, np.ndarray]:
    return {f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}


def _refilled(file: Path, arrays: dict[str, np.ndarray], like: Any, axes: int = 0) -> Any:
    """Arrays of a file in the form of a tree; they may have more leading axes."""
    leaves, form = jax.tree.flatten(like)
    found = [arrays.get(f"leaf{i}", np.zeros(0)) for i in range(len(leaves))]
    if any(a.shape[axes:] != leaf.shape or a.dtype != leaf.dtype for a, leaf in zip(found, leaves, strict=True)):
        raise SettingError(f"{file}: its arrays do not fit this run; remove the checkpoint and start again")
    return jax.tree.unflatten(form, found)


def joined(rows: tuple[Any, ...]) -> Any:
    """Records of several calls along one axis of time."""
    return jax.tree.map(lambda *parts: np.concatenate([np.asarray(part) for part in parts]), *rows)


def _length(rows: Any) -> int:
    return len(jax.tree.leaves(rows)[0])


def difference_of(saved: dict[str, Any], wanted: dict[str, Any]) -> str:
    """The first setting in which two runs differ."""
    for name in sorted(saved.keys() | wanted.keys()):
        if saved.get(name) != wanted.get(name):
            return f"its {name} is {_short(saved.get(name))}, this run's {_short(wanted.get(name))}"
    return "its settings differ"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
