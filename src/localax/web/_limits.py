"""What the lab takes on: a page is for looking, and what is larger has the command line."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np

from .._errors import setting_error
from ..runner import TrainingSettings, completed_stimulus, training_settings
from ..spec import Setting, plain_settings
from ..training import ESTIMATORS, LOSSES, OPTIMISERS

LIMITS = {
    "classes": 8,
    "pixels": 1600,
    "units": 64,
    "batch": 20_000,
    "probe": 20_000,
    "steps": 200_000,
    "seeds": 64,
    "fields": 256,
    "records": 1000,
    "shown": 16,
    "waiting": 24,
    "kept": 12,
    "numbers": 8_000_000,
    "files": 8,
    "upload": 64 * 2**20,
    "body": 2**16,
}
"""The most of each: ``fields`` are seeds times units, ``shown`` those that frames carry, ``waiting`` and ``kept`` are
runs and jobs that go on or wait, and that have ended; ``numbers`` are those in data of one's own that is trained on, of
which so many ``files`` are kept; the last two are in bytes."""

AT_HOME = "what the lab takes; the command line has no such limit"
RECORDS = 500
"""So many records are kept of a run that does not say how many."""
PROBE = 10_000
"""Samples that the loss is measured on: its error is then a line's width beside that of theory."""
FRAMES = 20e6
"""Bytes that all frames of a run may take together; fewer records are kept of large fields."""


@dataclass(frozen=True)
class LabRun:
    """The settings of a run itself that the page offers, with the lab's bounds."""

    steps: Annotated[int, Setting("how many steps", kind=int, ge=1, le=LIMITS["steps"], typical=(100, 20_000))] = 4000
    batch: Annotated[int, Setting("samples a step", kind=int, ge=2, le=LIMITS["batch"], typical=(100, 5000))] = 1000
    rate: Annotated[float, Setting("step size; time is steps times rate", gt=0, le=100, typical=(0.001, 1))] = 0.05
    seeds: Annotated[
        int,
        Setting("networks, each with its own start", kind=int, ge=1, le=LIMITS["seeds"], typical=(1, 16)),
    ] = 4
    data_seed: Annotated[int, Setting("seed of the stream of data", kind=int, ge=0, typical=(0, 20))] = 0
    estimator: Annotated[str, Setting("how a batch gives a gradient", kind=str, choices=tuple(ESTIMATORS))] = "plain"
    stream: Annotated[str, Setting("who sees which data", kind=str, choices=("shared", "independent"))] = "shared"
    loss: Annotated[str, Setting("what is made small", kind=str, choices=tuple(LOSSES))] = "mse"
    optimiser: Annotated[str, Setting("how a gradient gives a step", kind=str, choices=tuple(OPTIMISERS))] = "sgd"


def lab_settings(given: Any) -> TrainingSettings:
    """The settings of a run as the page sends them, made complete; what is wrong or beyond the limits is refused."""
    if not isinstance(given, Mapping):
        raise setting_error("lab", "settings", given, "a table of settings")
    settings = training_settings({**{f.name: f.default for f in fields(LabRun)}, "probe": PROBE, **given})
    plain_settings(LabRun, {f.name: getattr(settings, f.name) for f in fields(LabRun)})
    check_size(settings.stimulus)
    seeds, units = int(settings.seeds), _units(settings.network)  # pyright: ignore[reportArgumentType] (checked above)
    for name, value in {"units": units, "fields": seeds * units, "probe": settings.probe}.items():
        at_most(name, value)
    if isinstance(settings.save_every, list):
        raise setting_error("lab", "save_every", settings.save_every, "a number of steps between records, or left out")
    completed = settings.model_copy(update={"stimulus": completed_stimulus(settings.stimulus)})
    task = completed.arguments()["task"]  # builds everything, and so checks it
    every = settings.save_every or _every(settings.steps, min(LIMITS["shown"], seeds * units) * math.prod(task.shape))
    at_most("records", settings.steps // every)
    return completed.model_copy(update={"save_every": every})


def check_size(stimulus: str | Mapping[str, Any]) -> None:
    """Refuse more pixels than a page can show, in a stimulus or one that it is made from."""
    given: Any = completed_stimulus(stimulus)
    while isinstance(given, Mapping):
        at_most("classes", max((len(value) for value in given.values() if isinstance(value, list)), default=1))
        sides = given.get("size", 1)
        sides = sides if isinstance(sides, list | tuple) else [sides]
        if all(isinstance(side, int) for side in sides):
            at_most("pixels", math.prod(sides))
        given = given.get("stimulus")


def _every(steps: int, weights: int) -> int:
    """Steps between records that show so many **weights**: a replay is smooth, and memory is not filled."""
    return -(-steps // int(np.clip(FRAMES / (6 * weights), 50, RECORDS)))


def _units(network: str | Mapping[str, Any]) -> int:
    units = network.get("units", 1) if isinstance(network, Mapping) else 1
    return units if isinstance(units, int) else 1


def at_most(name: str, value: int) -> None:
    """Refuse more of something than the lab takes."""
    if value > LIMITS[name]:
        raise setting_error("lab", name, value, f"at most {LIMITS[name]:,}, {AT_HOME}")
