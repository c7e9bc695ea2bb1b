"""Theory beside a run: the flows from the same start, on the same time axis, and where a field could go."""

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import numpy as np

from .._errors import SettingError
from ..analysis import ipr
from ..networks import AbstractNetwork, SingleReLU, SoftCommittee
from ..runner import TrainingSettings, training_settings
from ..stimuli import Task
from ..theory import ascend_objective, effective_flow, exact_flow, flat_growth_rates, window_flow
from ..trajectory import Trajectory
from ._measures import worth
from ._numbers import listed, packed, unpacked
from ._stimulus import threshold
from ._words import predicted, why

TIMES = 101
"""Moments at which a flow is recorded."""
WINDOW_PIXELS = 144
"""Pixels up to which the flow through localization takes seconds."""
WINDOW_SEEDS = 4
"""Starts that it is followed from."""
GAUSSIAN = float(np.sqrt(2 / np.pi))


def work(request: Mapping[str, Any], tell: Any, inbox: Any) -> None:
    """Every flow from the start that the **request** brings, each told as soon as it is there, with what it says."""
    del inbox
    settings = training_settings(request["settings"])
    arguments = settings.arguments()
    task, network, start = arguments["task"], arguments["network"], unpacked(request["start"]).astype(float)
    times = np.linspace(0, request["until"], TIMES)
    points = landscape(task)
    tell("landscape", {"points": points, "gaussian": GAUSSIAN})
    flows: dict[str, Trajectory] = {}
    for name, flow in FLOWS.items():
        told, found = _followed(name, flow, settings, task, network, start, times)
        tell("theory", told)
        flows |= {} if found is None else {name: found}
        tell("reading", {"predicted": predicted(threshold(task), flows), "why": why(task, points)})


Flow = Callable[[Task, AbstractNetwork, np.ndarray, np.ndarray], Trajectory]


def _effective(task: Task, network: AbstractNetwork, start: np.ndarray, times: np.ndarray) -> Trajectory:
    _one_neuron("Eq. 5", network)
    return effective_flow(task, start, times=times)


def _windows(task: Task, network: AbstractNetwork, start: np.ndarray, times: np.ndarray) -> Trajectory:
    _one_neuron("the flow through localization", network)
    if np.prod(task.shape) > WINDOW_PIXELS:
        raise SettingError(f"the lab follows it up to {WINDOW_PIXELS} pixels; in Python there is no limit")
    return window_flow(task, start[:WINDOW_SEEDS], times=times)


def _exact(task: Task, network: AbstractNetwork, start: np.ndarray, times: np.ndarray) -> Trajectory:
    whole = len(start) // network.units
    if not whole:
        raise SettingError("the page shows a part of one network, and the flow needs all its units")
    starts = start[: whole * network.units].reshape(whole, network.units, *task.shape)
    return exact_flow(task, network, starts, times=times)


FLOWS: dict[str, Flow] = {"effective_flow": _effective, "exact_flow": _exact, "window_flow": _windows}
"""In the order of how long they take."""

TITLES = {
    "effective_flow": "Effective flow (Eq. 5)",
    "exact_flow": "Exact flow",
    "window_flow": "Flow through localization",
}
NOTES = {
    "effective_flow": "Holds until single pixels decide; beyond, it shows the trend, and its loss is its own estimate.",
    "exact_flow": "Gradient flow on the population loss: training follows it up to the noise of its batches.",
    "window_flow": "Windows of pixels treated exactly: holds through localization.",
}


def _one_neuron(what: str, network: AbstractNetwork) -> None:
    like_one = SoftCommittee(1, "relu", bias=False, offset=0)
    if not isinstance(network, SingleReLU) and not eqx.tree_equal(network, like_one):
        raise SettingError(f"{what} is of one ReLU neuron without bias; this is a {type(network).__name__}")


def _followed(
    name: str, flow: Flow, settings: TrainingSettings, task: Task, network: Any, start: Any, times: Any
) -> Any:
    """What is told of a flow, and the flow itself where there is one."""
    head, began = {"flow": name, "title": TITLES[name]}, time.perf_counter()
    try:
        if settings.loss != "mse" or settings.optimiser != "sgd":
            raise SettingError("flows are of gradient descent on the squared error")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of data that are not quite symmetric: the note says how far to trust it
            found = flow(task, network, start, times)
    except SettingError as error:
        return {**head, "missing": str(error).removeprefix(f"{name}: ")}, None
    fields = np.moveaxis(found.weights, 1, 2).reshape(-1, len(times), *task.shape)
    loss = [] if found.loss is None else np.repeat(found.loss, found.n_units, axis=0)
    told = {
        "time": listed(found.time), "fields": packed(fields), "loss": listed(np.asarray(loss)),
        "ipr": listed(ipr(fields, ndim=len(task.shape))), "seconds": listed(time.perf_counter() - began, 3),
        "note": NOTES[name],
    }  # fmt: skip
    return {**head, **told}, found


# Where a field could go -----------------------------------------------------------------------------------------------


def landscape(task: Task) -> list[dict[str, Any]]:
    """Fields that the field may become, with C, r and J of each: flat, the fastest wave, and the best local one."""
    fields = {"flat": ("flat field", np.ones(task.shape)), **_wave(task), **_local(task)}
    found = worth(task, np.stack([field for _, field in fields.values()]))
    if found["objective"] is None:
        return []
    return [
        {"name": name, "title": title, "field": packed(field), **{key: values[i] for key, values in found.items()}}
        for i, (name, (title, field)) in enumerate(fields.items())
    ]


def _wave(task: Task) -> dict[str, tuple[str, np.ndarray]]:
    """The wave that the flat field gives way to first, where there is a flat field to rest at."""
    try:
        rates = flat_growth_rates(task)
    except SettingError:
        return {}
    cycles = np.unravel_index(1 + int(np.argmax(rates.ravel()[1:])), rates.shape)
    phases = [2 * np.pi * k * i / n for k, i, n in zip(cycles, np.indices(task.shape), task.shape, strict=True)]
    return {"wave": ("fastest wave", np.cos(np.sum(phases, axis=0)))}


def _local(task: Task) -> dict[str, tuple[str, np.ndarray]]:
    """Where J leads to from a single pixel."""
    pixel = np.zeros(task.shape)
    pixel[tuple(side // 2 for side in task.shape)] = 1
    try:
        found = ascend_objective(task, pixel[None], iterations=100, tolerance=1e-4, method="sampled", samples=1000)
    except SettingError:  # not sign-symmetric
        return {"local": ("single pixel", pixel)}
    return {"local": ("best local field", found.final[0, 0])}
