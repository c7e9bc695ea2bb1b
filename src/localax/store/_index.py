"""An index of a store, so that listing ten thousand results reads one file and not ten thousand.

It is a copy that anybody may delete. An entry counts only while every file that it speaks of has the size and the time
of change that it had; others are read anew, and the index is written again.
"""

import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from .._disk import write_atomically
from ._run import MARK, Run, read_run, run_of

INDEX = "index.json"
_FORMAT = 1
_MANY = 64
"""Fewer results than this are read as fast without an index."""

Signature = list[list[int]]
"""Size and time of change of the mark and of every file, in the order of the mark."""


class Index:
    """The index of the store in ``root``, read when a ``with`` block begins and written when it ends."""

    def __init__(self, root: Path):
        self.root = root
        self.known: dict[str, Any] = {}
        self.new: dict[str, Any] = {}
        self.changed = False

    def __enter__(self) -> "Index":
        with suppress(OSError, ValueError, RecursionError, TypeError, KeyError, AttributeError):
            found = from_json((self.root / INDEX).read_bytes())  # several times as fast as json
            self.known = dict(found["runs"]) if found["format"] == _FORMAT else {}
        return self

    def __exit__(self, *_: object) -> None:
        gone = self.known.keys() - self.new.keys()
        if len(self.new) >= _MANY and (self.changed or gone):
            with suppress(OSError):  # a store that may only be read is listed as well
                write_atomically(self.root / INDEX, json.dumps({"format": _FORMAT, "runs": self.new}).encode())

    def run(self, folder: Path) -> Run:
        """The record of a folder, or a SettingError that says why it is no finished result."""
        entry = self.known.get(folder.name)
        with suppress(OSError, KeyError, TypeError, AttributeError):
            if entry is not None and entry["signature"] == _signature(folder, entry["run"]["files"]):
                run = run_of(entry["run"])
                self.new[folder.name] = entry
                return run
        run = read_run(folder)
        self.changed = True
        with suppress(OSError):
            self.new[folder.name] = {"signature": _signature(folder, run.files), "run": asdict(run)}
        return run


def _signature(folder: Path, files: dict[str, str]) -> Signature:
    found = [os.stat(f"{folder}/{name}") for name in (MARK, *files.values())]  # noqa: PTH116 (three times as fast)
    return [[stat.st_size, stat.st_mtime_ns] for stat in found]
