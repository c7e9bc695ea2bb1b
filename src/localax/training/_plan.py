"""A call of ``train`` made ready: every setting checked, and what is swept laid side by side."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .._errors import SettingError, setting_error
from .._system import memory
from ..networks import AbstractNetwork, Parameters
from ..spec import description
from ..stimuli import AbstractStimulus, Task
from ..trajectory import Trajectory
from ._arguments import checked_dtype, checked_rate, checked_seeds, whole
from ._estimators import AbstractEstimator, chosen_estimator
from ._keys import stream_keys
from ._loop import Divergence, Problem, draw_probe, record_form
from ._losses import LOSSES, chosen_loss
from ._optimisers import OPTIMISERS, chosen_optimiser
from ._rate import default_rate, warn_of_rate
from ._records import RECORDS, SaveAt, chosen_saveat
from ._start import by_stream, chosen_starts, first_parameters, last_parameters
from ._stream import Batches, chosen_stream, with_data_sets
from ._sweep import Sweep, arranged, of_type, on_device, stacked


@dataclass(frozen=True)
class Plan:
    """A run made ready: what is trained, where it starts, what is recorded when, and the settings that name it."""

    problem: Problem
    """What the compiled loop is given: task, network, estimator, batches, rates and the rest."""
    parameters: Parameters
    """Where training starts, with axes ([sweep], [stream], seed) in front."""
    stops: np.ndarray
    """The steps that are recorded."""
    record_form: Any
    """Shapes and types of one record."""
    rate: np.ndarray
    """In float64, for the clock; one number, or one per setting where they differ."""
    seeds: np.ndarray
    """What the initialisations are called."""
    coordinates: dict[str, np.ndarray]
    """What is swept, by name."""
    first_step: int
    """Step at which the trajectory that this run continues has ended, else 0."""
    first_time: np.ndarray
    """Time at which it has ended; one number, or one per setting."""
    settings: dict[str, Any]
    """Plain data with every default spelt out: equal runs have equal settings, however they were asked for."""

    @property
    def count(self) -> int:
        """How many networks are trained."""
        return int(np.prod(self.parameters.weights.shape[: -1 - len(self.problem.task.shape)]))


def numeric_flags() -> dict[str, Any]:
    """What beside its settings and the code decides the bits of a run."""
    x64, device = bool(jax.config.read("jax_enable_x64")), jax.devices()[0].device_kind
    return {"x64": x64, "backend": jax.default_backend(), "device": device}


def numerics(x64: bool) -> contextlib.AbstractContextManager:
    """JAX with float64 on or off; nothing is touched where it is so already, which would trace everything again."""
    return contextlib.nullcontext() if x64 == jax.config.read("jax_enable_x64") else jax.enable_x64(x64)


def prepare(task: Any, network: Any, *, dtype: Any, before: Trajectory | None = None, **settings: Any) -> Plan:
    """Check every setting of a run; float64 is switched on for one that asks for it."""
    dtype = checked_dtype(dtype)
    with numerics(dtype == np.float64 or bool(jax.config.read("jax_enable_x64"))):
        return _prepared(task, network, dtype, before, **settings)


def _prepared(
    task, network, dtype, before, *, steps, batch, rate, seeds, data_seed, init, sweep, save_every, saveat, estimator,
    stream, loss, optimiser, divergence,
) -> Plan:  # fmt: skip
    steps, batch, data_seed = whole("steps", steps), whole("batch", batch), whole("data_seed", data_seed, 0)
    seeds, laid = checked_seeds(seeds), _swept(task, network, rate, init, sweep)
    saveat = chosen_saveat(save_every, saveat).spelt_out(steps)
    batches = Batches(batch, chosen_stream(stream), dtype)
    keys = stream_keys(data_seed, batches.stream.sharing, seeds)
    _refuse_what_cannot_fit(laid, network.units, len(seeds), len(keys), batches, saveat.most(steps))
    problem = _problem(laid, network, batches, keys, saveat, data_seed, estimator, loss, optimiser, divergence)
    parameters = first_parameters(network, laid.starts, seeds, laid.tasks[0].shape, dtype, laid.width)
    if before is not None:
        parameters = last_parameters(parameters, before)
    start = description(parameters if before is not None else laid.starts if len(laid.starts) > 1 else laid.starts[0])
    parameters = by_stream(parameters, len(keys), int(bool(laid.width)))
    first_step, first_time = _begun(before, steps)
    coordinates = laid.coordinates if before is None else _same_coordinates(before, laid)
    settings = {
        "task": description(laid.tasks if laid.width and len(laid.tasks) > 1 else laid.tasks[0]), "steps": steps,
        "rate": laid.rates.tolist(), "seeds": seeds.tolist(), "data_seed": data_seed, "init": start,
        "sweep": {name: values.tolist() for name, values in coordinates.items()},
        "saveat": _described_saveat(saveat, problem), "first_step": first_step, "first_time": first_time.tolist(),
        **_described(problem), **numeric_flags(),
    }  # fmt: skip
    warn_of_rate(laid.rates, laid.tasks, network, stacklevel=6)  # now that nothing is refused any more
    clock = laid.rates if np.unique(laid.rates).size > 1 else laid.rates.reshape(-1)[0]
    return Plan(
        problem, parameters, first_step + saveat.stops(steps), record_form(problem, parameters), np.asarray(clock),
        seeds, coordinates, first_step, first_time, settings,
    )  # fmt: skip


def _swept(task: Any, network: Any, rate: Any, init: Any, how: Any) -> Sweep:
    """Tasks, rates and starts, with what was given as a list laid side by side."""
    tasks = _tasks(task)
    _check_network(network, tasks[0])
    rates = checked_rate(default_rate(tasks[0], network) if rate is None else rate)
    starts, swept_init = chosen_starts(init)
    given = {"task": not isinstance(task, Task), "rate": rates.ndim > 0, "init": swept_init}
    return arranged(tasks, rates, starts, how, {name for name, listed in given.items() if listed})


def _problem(laid: Sweep, network, batches, keys, saveat, data_seed, estimator, loss, optimiser, divergence) -> Problem:
    dtype, swept_task = batches.dtype, len(laid.tasks) > 1
    laid_open = [with_data_sets(task) for task in laid.tasks]
    for one in laid_open:
        batches.check(one)
    task = of_type(stacked(laid_open) if swept_task else laid_open[0], dtype)
    probe = _probe_size(laid.tasks[0], saveat.probe, batches) if saveat.record else None
    rate = on_device(np.broadcast_to(laid.rates, (laid.width,)) if laid.width else laid.rates, dtype)
    return Problem(
        task, network, _fitted(estimator, laid.tasks), batches, rate, keys,
        draw_probe(batches, task, np.int32(data_seed), probe, swept_task) if probe else None,
        chosen_loss(loss, network.outputs), chosen_optimiser(optimiser), saveat.record,
        divergence if isinstance(divergence, Divergence) else Divergence(divergence), bool(laid.width), swept_task,
    )  # fmt: skip


def _described(problem: Problem) -> dict[str, Any]:
    """What is trained and how, as plain data."""
    return {
        "network": description(problem.network),
        "batch": problem.batches.batch,
        "stream": description(problem.batches.stream),
        "dtype": str(problem.batches.dtype),
        "estimator": description(problem.estimator),
        "loss": _named(problem.criterion, LOSSES),
        "optimiser": _named(problem.optimiser, OPTIMISERS),
        "divergence": description(problem.divergence),
    }


def _described_saveat(saveat: SaveAt, problem: Problem) -> dict[str, Any]:
    """What is saved when, with the probe that the batches allow."""
    probe = None if problem.probe is None else int(problem.probe[1].shape[-1])
    record = {name: _named(f, RECORDS) for name, f in saveat.record}
    steps = None if saveat.steps is None else list(saveat.steps)
    return {"every": saveat.every, "steps": steps, "logarithmic": saveat.logarithmic, "record": record, "probe": probe}


def _named(function: Any, known: dict[str, Any]) -> Any:
    """The name of a function that has one, else its description."""
    return next((name for name, one in known.items() if one is function), description(function))


# Checks --------------------------------------------------------------------------------------------------------------


def _tasks(task: Any) -> list[Task]:
    """One task, or one per setting."""
    tasks = list(task) if isinstance(task, Sequence) else [task]
    if any(isinstance(one, AbstractStimulus) for one in tasks):
        advice = "wrap it in lx.Task([short, long], labels=[0, 1])"
        raise SettingError(f"train: task must be a Task, got a stimulus; {advice}")
    if not tasks or not all(isinstance(one, Task) for one in tasks):
        raise setting_error("train", "task", task, "a Task or a list of Tasks")
    return tasks


def _check_network(network: Any, task: Task) -> None:
    if not isinstance(network, AbstractNetwork):
        raise setting_error("train", "network", network, "a network, e.g. lx.networks.SingleReLU()")
    if 1 < network.outputs < len(task.stimuli):
        expected = f"one output per class ({len(task.stimuli)})"
        raise setting_error("train", "network", f"{network.outputs} outputs", expected)


def _fitted(estimator: Any, tasks: list[Task]) -> AbstractEstimator:
    first, *others = (chosen_estimator(estimator, task) for task in tasks)
    if any(other != first for other in others):
        raise SettingError("train: swept tasks must have the same symmetries for this estimator")
    return first


def _refuse_what_cannot_fit(laid: Sweep, units: int, seeds: int, streams: int, batches: Batches, records: int) -> None:
    """Before anything is drawn: fields at every record, a few copies of the last, and one batch with its responses."""
    pixels, width, itemsize = math.prod(laid.tasks[0].shape), max(laid.width, 1), np.dtype(batches.dtype).itemsize
    fields = width * seeds * units * pixels
    batch = len(laid.tasks) * streams * batches.batch * (pixels + units)
    needed = itemsize * (fields * (records + 4) + 2 * batch)
    if needed > memory():
        raise SettingError(
            f"train: this needs about {needed / 2**30:,.0f} GB and the machine has {memory() / 2**30:,.0f}: "
            f"{width * seeds:,} networks of {units} x {pixels:,} weights at {records} records, batches of "
            f"{batches.batch:,}; take fewer of them"
        )


def _probe_size(task: Task, probe: int, batches: Batches) -> int:
    """The nearest size that the task's proportions allow: a multiple of the batch, if need be."""
    if not batches.stratified:
        return probe
    try:
        task.counts(probe)
    except ValueError:
        return -(-probe // batches.batch) * batches.batch
    return probe


def _same_coordinates(before: Trajectory, laid: Sweep) -> dict[str, np.ndarray]:
    """What a run that goes on was swept over, at rates that may be new."""
    rates = {"rate": np.broadcast_to(laid.rates, (laid.width,))}
    return before.swept | (rates if "rate" in before.swept or "rate" in laid.coordinates else {})


def _begun(before: Trajectory | None, steps: int) -> tuple[int, np.ndarray]:
    """The step and time that a run goes on from: those at which the other ended, where settings have clocks each."""
    if before is None:
        return 0, np.zeros(())
    step, time = int(before.settings.get("reached", 0)), before.time[..., -1]
    whole("steps", step + steps)  # steps are counted in int32
    return step, time.reshape(()) if time.size == 1 else time
