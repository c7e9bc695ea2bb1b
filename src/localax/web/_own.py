"""Data of a visitor's own to look at and train on: read once, in a process, and kept while it is asked for.

The page and its address call data by a key of ours and the visitor's name for it, ``0123456789abcdef/mine.npy``. Only
what is on the list of this server is found by that; on its disk there are names of ours alone.
"""

import asyncio
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import setting_error
from ._limits import LIMITS, LabRun, at_most
from ._uploads import BROUGHT, received
from ._work import Gone

if TYPE_CHECKING:
    from fastapi import Request

    from ._jobs import Job
    from ._lab import Lab

HELD = 900.0
"""Seconds without a question after which data are forgotten; a page that shows them asks every minute."""
FILES = {"samples": "samples.npy", "classes": "classes.npy"}
"""The settings that name data, and the names of ours."""


@dataclass
class Kept:
    """Data in a **folder**, called **names** by who brought them; **asked** is when they were asked for last."""

    folder: Path
    names: dict[str, str]
    asked: float


class OwnData:
    """All data that are kept."""

    def __init__(self) -> None:
        self.kept: dict[str, Kept] = {}

    def add(self, folder: Path, names: Mapping[str, str]) -> None:
        now = asyncio.get_running_loop().time()
        self.kept[folder.name] = Kept(folder, {k: f"{folder.name}/{name}" for k, name in names.items() if name}, now)

    def find(self, name: str) -> Kept:
        """Data by the key in their name, which stay a while longer for it."""
        key, _, file = str(name).partition("/")
        if key not in self.kept:
            raise Gone(f"{file[:60] or 'this file'} is no longer on the server: drop it again at Own data")
        self.kept[key].asked = asyncio.get_running_loop().time()
        return self.kept[key]

    def located(self, given: Any) -> tuple[Any, dict[str, str]]:
        """Settings as a page **given** them with our files in place of its names, and those names."""
        stimulus = given.get("stimulus") if isinstance(given, Mapping) else None
        stimulus = stimulus if isinstance(stimulus, Mapping) else {}
        _refuse_inside(stimulus)
        named = {name: stimulus[name] for name in FILES if stimulus.get(name)}
        if not named:
            return given, {}
        kept = self.find(next(iter(named.values())))
        if named != kept.names:
            raise setting_error("lab", "samples", named, "data that were dropped at Own data")
        files = {name: str(kept.folder / FILES[name]) for name in named}
        return {**given, "stimulus": {**stimulus, **files}}, named

    def forget(self, needed: set[str]) -> None:
        """Let go of what is old, and of the oldest where there are too many; not of what is **needed**."""
        now = asyncio.get_running_loop().time()
        oldest = sorted(self.kept, key=lambda one: self.kept[one].asked)
        many = oldest[: max(0, len(oldest) - LIMITS["files"])]
        for one in oldest:
            if one not in needed and (one in many or now - self.kept[one].asked > HELD):
                shutil.rmtree(self.kept.pop(one).folder, ignore_errors=True)


def key_of(names: Mapping[str, str]) -> str:
    """The key of the data that settings name; nothing where they name none."""
    return str(next(iter(names.values()), "")).partition("/")[0]


def _refuse_inside(stimulus: Any) -> None:
    """Files may be named at the place where they are looked for, and nowhere deeper."""
    inner = stimulus.get("stimulus") if isinstance(stimulus, Mapping) else None
    while isinstance(inner, Mapping):
        if any(name in inner for name in FILES):
            raise setting_error("lab", "samples", "inside another stimulus", "those of the stimulus itself")
        inner = inner.get("stimulus")


async def receive_data(lab: "Lab", request: "Request") -> "Job":
    """Have what was sent read and kept."""
    folder = lab.folder / secrets.token_hex(8)
    asked = await received(lab, request, folder)
    lab.own.add(folder, dict(zip(FILES, asked["names"], strict=True)))
    lab.own.forget({folder.name, *lab.needed()})
    called = lab.own.find(folder.name).names

    def after() -> None:
        if not (folder / FILES["samples"]).is_file():  # refused, stopped or killed
            lab.own.kept.pop(folder.name, None)
            shutil.rmtree(folder, ignore_errors=True)

    try:
        return lab.start_job({"job": "keep", **asked, "called": called, "folder": str(folder)}, after)
    except BaseException:
        after()
        raise


# In a process ---------------------------------------------------------------------------------------------------------


def work(request: Mapping[str, Any], tell: Any, inbox: Any) -> dict[str, Any]:
    """Read and check files, and keep their numbers alone; what settings call them, and what would suit them."""
    from ..networks import SingleReLU
    from ..prediction import read_data, read_stimuli
    from ..stimuli import Task
    from ..training import stable_rate

    del inbox
    tell("progress", 0.1)
    folder = Path(request["folder"])
    data, labels = read_data(request["samples"], request["labels"])
    at_most("numbers", data.samples.size)
    at_most("pixels", int(np.prod(data.samples.shape[1:])))
    tell("progress", 0.5)
    files = {name: folder / f"new-{file}" for name, file in FILES.items()}
    np.save(files["samples"], data.samples)
    if labels is not None:
        np.save(files["classes"], labels)
    zero, one = read_stimuli(files["samples"], files["classes"] if labels is not None else None)
    neuron = SingleReLU()
    fewest, stable = min(len(zero.samples), len(one.samples)), stable_rate(Task([zero, one], [0, 1]), neuron)
    for name in reversed(FILES):  # samples last: they say that all is there
        if files[name].is_file():
            files[name].replace(folder / FILES[name])
    shutil.rmtree(folder / BROUGHT, ignore_errors=True)
    return {
        "stimulus": {"kind": "Empirical", **request["called"]},
        "batch": min(LabRun().batch, 2 * fewest),
        "rate": LabRun().rate if stable is None else float(f"{min(LabRun().rate, 0.4 * stable):.1g}"),
        "notes": list(data.notes),
    }
