"""A call of ``train`` made ready: every setting checked, and what is swept stacked along one axis."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._settings import description, wrong
from .._trajectory import Trajectory
from ..networks import AbstractInitialiser, AbstractNetwork, Authors, Given, Parameters, Xavier
from ..stimuli import Task
from ._estimators import chosen_estimator
from ._loop import Problem, draw_probe
from ._losses import chosen_loss
from ._records import chosen_records, record_steps
from ._stream import Stream, stream_keys


class Run(eqx.Module):
    """A run made ready: the problem, where it starts, what is recorded when, and the settings that name it."""

    problem: Problem
    parameters: Parameters
    stops: np.ndarray
    offset: int
    """Steps taken before, by the trajectory that this run continues."""
    seeds: np.ndarray
    settings: dict[str, Any]

    @property
    def count(self) -> int:
        return int(np.prod(self.parameters.weights.shape[: -1 - len(self.problem.task.shape)]))


def prepare(
    task, network, *, steps, batch, rate, seeds, init, data_seed, save_every, probe, dtype, optimiser, **options
) -> Run:
    """Check every setting, and make the axis of settings if one is swept."""
    steps, batch, probe = (_whole(n, v) for n, v in (("steps", steps), ("batch", batch), ("probe", probe)))
    seeds, rate, dtype, data_seed = _seeds(seeds), _rate(rate), _dtype(dtype), _whole("data_seed", data_seed, 0)
    tasks = [task] if isinstance(task, Task) else list(task)
    if not tasks or not all(isinstance(t, Task) for t in tasks):
        raise wrong("train", "task", task, "a Task or a list of Tasks")
    if not isinstance(network, AbstractNetwork):
        raise wrong("train", "network", network, "a network, e.g. lx.networks.SingleReLU()")
    if not callable(optimiser):
        raise wrong("train", "optimiser", optimiser, "a function of the rate, such as optax.adam")
    if not 0 < options["bound"] < np.inf:
        raise wrong("train", "bound", options["bound"], "a finite number > 0")
    stream = Stream(batch, options["stratified"], dtype)
    for one in tasks:
        stream.check(one)
    estimators = [chosen_estimator(options["estimator"], one) for one in tasks]
    if any(estimator != estimators[0] for estimator in estimators):
        raise ValueError("train: swept tasks must have the same symmetries for this estimator")
    inits = _inits(init)
    swept = not isinstance(task, Task) or rate.ndim > 0 or _is_swept(init)
    settings = _sweep(len(tasks), rate, inits) if swept else 0
    swept_task = len(tasks) > 1
    before = init if isinstance(init, Trajectory) else None
    weights = [i.weights(seeds, network.units, tasks[0].shape, dtype) for i in inits]
    keys = stream_keys(data_seed, options["stream"], seeds)
    parameters = _parameters(network, weights, seeds, settings, keys.shape[0], before, dtype)
    if network.outputs > 1 and network.outputs < len(tasks[0].stimuli):
        raise wrong("train", "network", f"{network.outputs} outputs", f"one output per class ({len(tasks[0].stimuli)})")
    stacked, records = _of_type(_stacked(tasks) if swept_task else tasks[0], dtype), chosen_records(options["record"])
    probe_key = jax.random.fold_in(jax.random.key(data_seed), 2**31 - 1)
    probe_size = _probe_size(tasks[0], probe, stream)
    problem = Problem(
        stacked, network, estimators[0], stream,
        jnp.asarray(np.broadcast_to(rate, (settings,)) if settings else rate, dtype), keys,
        draw_probe(stream, stacked, probe_key, probe_size, swept_task) if records else None,
        chosen_loss(options["loss"], network.outputs), optimiser, records,
        float(options["bound"]), bool(settings), swept_task,
    )  # fmt: skip
    offset = 0 if before is None else int(before.settings.get("reached", 0))
    record_at = record_steps(steps, save_every)
    names = {
        "task": description(tasks if swept_task else tasks[0]), "network": description(network), "steps": steps,
        "batch": batch, "rate": description(rate), "seeds": seeds.tolist(), "data_seed": data_seed,
        "init": _init_name(init, inits), "save_every": description(save_every), "probe": probe,
        "dtype": str(dtype), "offset": offset, "optimiser": description(optimiser), **flags(),
        **{name: description(value) for name, value in options.items()},
    }  # fmt: skip
    return Run(problem, parameters, record_at + offset, offset, seeds, names)


def flags() -> dict[str, Any]:
    """What beside its settings decides the bits of a run."""
    return {"x64": bool(jax.config.read("jax_enable_x64")), "backend": jax.default_backend()}


# Checking and stacking settings ------------------------------------------------------------------------------------


def _whole(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value < 2**31:
        raise wrong("train", name, value, f"a whole number >= {least} and < 2^31")
    return int(value)


def _seeds(seeds: Any) -> np.ndarray:
    many = isinstance(seeds, int | np.integer) and not isinstance(seeds, bool)
    array = np.arange(seeds) if many else np.asarray(seeds)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size or array.min() < 0 or array.max() >= 2**31:
        raise wrong("train", "seeds", seeds, "whole numbers from 0 to 2^31 - 1, or how many")
    if len(np.unique(array)) < len(array):
        raise wrong("train", "seeds", seeds, "different from each other")
    return array.astype(np.int32)


def _rate(rate: Any) -> np.ndarray:
    array = np.asarray(rate)
    numbers = array.ndim <= 1 and array.dtype.kind in "iuf" and array.size
    if not numbers or not np.all(np.isfinite(array) & (array > 0)):
        raise wrong("train", "rate", rate, "a finite number > 0, or a list of them")
    return array.astype(float)


def _dtype(dtype: Any) -> Any:
    dtype = jnp.dtype(dtype)
    if dtype == np.float64 and not jax.config.read("jax_enable_x64"):
        raise ValueError("train: float64 needs lx.enable_x64(), called before the first array is made")
    if dtype not in (np.float32, np.float64):
        raise wrong("train", "dtype", dtype, "float32 or float64")
    return dtype


def _inits(init: Any) -> list[AbstractInitialiser]:
    """One initialiser, or one per setting."""
    if init is None:
        return [Xavier()]
    if isinstance(init, AbstractInitialiser):
        return list(init.each() or [init])
    if isinstance(init, str):
        if init != "authors":
            raise wrong("train", "init", init, "an initialiser, 'authors', an array or a Trajectory")
        return [Authors()]
    if isinstance(init, list | tuple) and init and all(isinstance(i, AbstractInitialiser) for i in init):
        return list(init)
    if isinstance(init, Trajectory):
        final = init.final
        return [Given(f) for f in final] if init.n_settings is not None else [Given(final)]
    return [Given(init)]


def _is_swept(init: Any) -> bool:
    """Whether the start has an axis of settings, be it of one."""
    if isinstance(init, Trajectory):
        return init.n_settings is not None
    if isinstance(init, AbstractInitialiser):
        return init.each() is not None
    return isinstance(init, list | tuple) and any(isinstance(i, AbstractInitialiser) for i in init)


def _init_name(init: Any, inits: list[AbstractInitialiser]) -> Any:
    return description(inits if _is_swept(init) else inits[0])


def _of_type(task: Task, dtype: Any) -> Task:
    """The task with its numbers of one type: a float64 numpy leaf would enter the compiled loop as what x64 says."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype) if eqx.is_inexact_array_like(leaf) else leaf, task)


def _sweep(tasks: int, rate: np.ndarray, inits: list) -> int:
    """The number of settings: what is swept is as long as this, the rest is the same for all."""
    lengths = {"tasks": tasks, "rates": rate.size if rate.ndim else 1, "inits": len(inits)}
    longest = max(lengths.values())
    if any(length not in (1, longest) for length in lengths.values()):
        said = ", ".join(f"{count} {name}" for name, count in lengths.items())
        raise ValueError(f"train: swept settings are taken together and must be equally many, got {said}")
    return longest


def _stacked(tasks: list[Task]) -> Task:
    forms = {str(jax.tree.structure(t)) for t in tasks}
    shapes = {tuple(np.shape(leaf) for leaf in jax.tree.leaves(t)) for t in tasks}
    if len(forms) > 1 or len(shapes) > 1:
        raise ValueError("train: swept tasks must have the same kinds of stimuli, sizes and proportions")
    return jax.tree.map(lambda *leaves: np.stack(leaves), *tasks)


def _probe_size(task: Task, probe: int, stream: Stream) -> int:
    """The nearest size that the task's proportions allow: a multiple of the batch, if need be."""
    if not stream.stratified:
        return probe
    try:
        task.counts(probe)
    except ValueError:
        return -(-probe // stream.batch) * stream.batch
    return probe


def _parameters(network, weights, seeds, settings, streams, before, dtype) -> Parameters:
    """Parameters at the start, with leading axes [setting,] [stream,] seed."""
    keys = jax.vmap(lambda seed: jax.random.fold_in(jax.random.key(seed), 1))(jnp.asarray(seeds))
    made = [jax.vmap(network.parameters)(w, keys) for w in weights]
    if settings:
        made = made * settings if len(made) == 1 else made
        parameters = jax.tree.map(lambda *leaves: jnp.stack(leaves), *made)
    else:
        parameters = made[0]
    if before is not None:
        parameters = _continued(parameters, before, dtype)
    if streams == 1:
        return parameters
    lead = int(bool(settings))
    split = lambda leaf: leaf.reshape(*leaf.shape[:lead], streams, -1, *leaf.shape[lead + 1 :])  # noqa: E731
    return jax.tree.map(split, parameters)


def _continued(parameters: Parameters, before: Trajectory, dtype) -> Parameters:
    """The last state of another run, in all that this network trains."""
    last = {"biases": before.biases, "readout": before.readout, "constant": before.records.get("constant")}
    axis = 1 if before.n_settings is None else 2
    for name, values in last.items():
        if getattr(parameters, name) is not None and values is not None:
            final = jnp.asarray(np.take(values, -1, axis=axis), dtype)
            parameters = eqx.tree_at(lambda p, n=name: getattr(p, n), parameters, final)
    return parameters
