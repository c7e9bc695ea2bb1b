"""What a sweep repeats: how its settings are checked, which of them can share a unit, and what a unit gives."""

import abc
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..._progress import Update
from ...analysis import ipr, localized
from ...spec import counted_seeds
from ...store import TRAJECTORY
from ...trajectory import Trajectory
from .._training import SHELVES, TrainingSettings
from .._unit import AbstractUnit, Files

Settings = dict[str, Any]
Labelled = dict[str, tuple[tuple[str, ...], np.ndarray]]
"""Arrays by name with the names of their axes; the first axis runs over the settings of a unit."""

Scratch = Callable[[], Path]
"""Gives a folder that survives an interruption."""

PLACE = "place"
"""The axis of a unit's settings."""


class AbstractWork(abc.ABC):
    """Something that can be repeated with other settings. A new one is one class in ``WORKS``."""

    name: str
    module: ClassVar[str]
    """The code that its numbers rest on."""
    has_seeds: ClassVar[bool] = True
    """Whether its setting ``seeds`` makes an axis of the result."""
    file: ClassVar[str] = TRAJECTORY
    """What a unit leaves in the store."""

    @abc.abstractmethod
    def checked(self, given: Settings) -> Settings:
        """Settings with every default spelt out; what is wrong is refused in one line."""

    @abc.abstractmethod
    def form(self, settings: Settings) -> str:
        """Settings of one form can share a unit; building what they describe checks them too."""

    @abc.abstractmethod
    def run(self, settings: Sequence[Settings], seeds: list[int], progress: Update, scratch: Scratch) -> Files:
        """Do the work for settings of one form."""

    @abc.abstractmethod
    def labelled(self, data: bytes, name: str) -> Labelled:
        """What a unit gave, from its file; ``name`` is how complaints call that."""

    def seeds(self, settings: Settings) -> list[int]:
        """Initialisations; none where the work knows no such thing."""
        seeds = settings.get("seeds", []) if self.has_seeds else []
        return list(range(counted_seeds("sweep", seeds))) if isinstance(seeds, int) else list(seeds)

    def size(self, settings: Settings) -> tuple[float, float]:
        """Bytes that a setting takes while it runs, and those of each of its networks."""
        del settings
        return 0.0, 0.0

    def disk(self, settings: Settings) -> float:
        """Bytes that a network leaves on disk."""
        del settings
        return 100.0

    def cost(self, settings: Settings) -> float:
        """What a network takes, in any unit."""
        del settings
        return 1.0

    def seconds(self, settings: Sequence[Settings], seeds: list[int]) -> float:
        """About how long a unit takes: the first of its settings is tried."""
        began = time.perf_counter()
        self.run(settings[:1], seeds, lambda _: None, Path)
        return (time.perf_counter() - began) * len(settings)

    def try_out(self, settings: Settings) -> None:  # noqa: B027 (for some works there is nothing left to try)
        """Prepare a setting and run nothing: what a worker would refuse is refused before one is asked."""

    def clock(self, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
        """When records are made: by the count of steps, and by the clock; empty where nothing is recorded over time."""
        del settings
        return np.zeros(0), np.zeros(0)

    def splits_seeds(self, settings: Settings) -> bool:
        """Whether the seeds of a setting may be shared out among units."""
        del settings
        return True

    def own_unit(self, settings: Settings) -> AbstractUnit | None:
        """The unit of one setting, where units of this work hold one alone and have a kind of their own."""
        del settings
        return None


def with_kinds(given: Settings) -> Settings:
    """Settings in which a stimulus, network or start that names no kind has the usual one."""
    usual = {part: TrainingSettings.model_fields[part].default for part in SHELVES}
    return given | {
        part: {"kind": kind, **given[part]} for part, kind in usual.items() if isinstance(given.get(part), dict)
    }


def measured(run: Trajectory) -> Trajectory:
    """A run with how local its fields are, at every record; a unit measures where it runs."""
    of = {"ipr": ipr(run.weights, ndim=run.pixel_ndim), "localized": localized(run.weights, ndim=run.pixel_ndim)}
    return replace(run, records=run.records | {name: np.asarray(array, np.float32) for name, array in of.items()})


def labelled_trajectory(run: Trajectory) -> Labelled:
    """Every array of a run with its axes, and at which step networks diverged."""
    named = {"weights": run.weights, "biases": run.biases, "readout": run.readout, "loss": run.loss, **run.records}
    arrays = {name: array for name, array in named.items() if array is not None}
    lead = (PLACE, "seed")
    found: Labelled = {
        name: ((*lead, "time", *_further(run, name, array.shape[3:])), array) for name, array in arrays.items()
    }
    died = [int(status.split()[-1]) if status.startswith("diverged") else -1 for status in run.status]
    found["diverged"] = (lead, np.array(died, np.int32).reshape(run.done.shape))
    return found


def _further(run: Trajectory, name: str, lengths: tuple[int, ...]) -> tuple[str, ...]:
    """Axes after the time: units and pixels where the lengths say so, else numbered ones."""
    pixels = ("pixel",) if run.pixel_ndim == 1 else ("row", "column")
    if name == "weights":
        return ("unit", *pixels)
    unit = lengths[:1] == (run.n_units,)
    return (*["unit"] * unit, *(f"{name}_{i}" for i in range(len(lengths) - unit)))
