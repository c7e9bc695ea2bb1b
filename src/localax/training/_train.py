"""``train``: many networks at once, in one compiled loop, with progress, checkpoints and a trajectory at the end."""

import inspect
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from .._progress import progress_bar
from .._settings import Number, description, wrong
from .._trajectory import Trajectory
from ..networks import AbstractInitialiser, AbstractNetwork, Authors, Given, Parameters, Xavier
from ..stimuli import Task
from ._checkpoint import joined, read_checkpoint, write_checkpoint
from ._estimators import AbstractEstimator, chosen_estimator
from ._loop import SLOTS, Problem, State, advance, draw_probe, record_form, start
from ._losses import chosen_loss
from ._records import Logarithmic, Record, chosen_records, record_steps
from ._stream import Stream, stream_keys

Watch = Callable[[int, dict[str, Any]], None]
"""Called with a step and the records made there."""

CALL = 0.5
"""Seconds a call of the compiled loop should take: often enough for a bar and for Ctrl-C."""


def train(
    task: Task | Sequence[Task],
    network: AbstractNetwork,
    *,
    steps: int,
    batch: int,
    rate: Number | Sequence[Number] | np.ndarray,
    seeds: int | Sequence[int] | np.ndarray = (0,),
    data_seed: int = 0,
    init: Any = None,
    save_every: int | Logarithmic | None = None,
    estimator: str | AbstractEstimator = "plain",
    stream: str | int = "shared",
    loss: str | Callable = "mse",
    optimiser: Callable[[Any], optax.GradientTransformation] = optax.sgd,
    record: Record = ("loss",),
    probe: int = 2000,
    stratified: bool = True,
    bound: Number = 1e6,
    dtype: Any = jnp.float32,
    checkpoint: str | Path | None = None,
    checkpoint_every: Number = 10.0,
    watch: Watch | None = None,
    progress: bool = True,
) -> Trajectory:
    """Train a network from many initialisations, and under many settings, at once.

    **task**: classes, labels and proportions; a list of tasks of one kind makes an axis of settings, as do lists of
    rates and of init scales (taken together, not as a product).
    **seeds**: initialisations; a whole number stands for that many, from 0. **data_seed**: the stream of data.
    **init**: an initialiser (default ``Xavier(1e-3)``), ``"authors"``, an array, a list of these (one per setting),
    or a Trajectory to continue from.
    **save_every**: steps between records (default: a hundredth of the run), or ``Logarithmic(count)``; the first and
    the last step are always recorded. **record**: names or functions of a snapshot to record beside the weights.
    **estimator**: ``"plain"``, ``"antithetic"``, ``"orbit"`` or an object. **stream**: ``"shared"`` (all seeds see
    the same batches), ``"independent"``, or a number of streams that the seeds share out in order.
    **optimiser**: a function of the rate that gives an optax optimiser.
    **bound**: a seed whose parameters grow beyond this norm, or turn NaN, stops with its last finite state.
    **checkpoint**: a file; the same call goes on from it after any interruption and ends with the same bits.
    **watch**: called with the step and the latest records whenever there are new ones, about twice a second.

    Time is ``steps * rate``. Ctrl-C gives back what is done so far.
    """
    run = _prepare(
        task, network, steps=steps, batch=batch, rate=rate, seeds=seeds, data_seed=data_seed, init=init,
        estimator=estimator, stream=stream, loss=loss, optimiser=optimiser, record=record, probe=probe,
        stratified=stratified, bound=bound, dtype=dtype, save_every=save_every,
    )  # fmt: skip
    title = f"{run.count} network{'s' if run.count > 1 else ''}"
    path = None if checkpoint is None else Path(checkpoint)
    with progress_bar(title, show=progress, steps=steps) as update:
        reached, state, kept = _loop(run, path, checkpoint_every, update, watch or (lambda *_: None))
    return _trajectory(run, reached, state, joined(kept))


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


def _prepare(
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
    stacked = _of_type(_stacked(tasks) if swept_task else tasks[0], dtype)
    probe_key = jax.random.fold_in(jax.random.key(data_seed), 2**31 - 1)
    problem = Problem(
        stacked, network, estimators[0], stream,
        jnp.asarray(np.broadcast_to(rate, (settings,)) if settings else rate, dtype), keys,
        draw_probe(stream, stacked, probe_key, _probe_size(tasks[0], probe, stream), swept_task),
        chosen_loss(options["loss"], network.outputs), optimiser, chosen_records(options["record"]),
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


# Running -----------------------------------------------------------------------------------------------------------


def _loop(run: Run, path: Path | None, every: Number, update: Callable, watch: Watch) -> tuple[int, State, list]:
    """Call the compiled loop until the last step, an interruption, or the end of the last seed."""
    state, previous = start(run.problem, run.parameters, run.offset), run.parameters
    kept, step, last = [], int(run.stops[0]), int(run.stops[-1])
    if path is not None and path.exists():
        form = record_form(run.problem, run.parameters)
        step, state, previous, kept = read_checkpoint(path, run.settings, state, previous, form)
    else:
        state, previous, kept = _call(run, state, previous, step, run.stops[:1])
    reach, saved = 1, time.monotonic()
    try:
        while step < last and bool(np.any(state.alive)):
            began = time.monotonic()
            due = run.stops[run.stops > step][:SLOTS]
            stops = due[due <= step + reach]
            target = int(stops[-1]) if len(stops) else min(step + reach, int(due[0]))
            state, previous, rows = _call(run, state, previous, step, stops, target)
            step, kept = target, kept + rows
            for row in rows:
                watch(step, jax.tree.map(lambda leaf: leaf[-1], row))
            update((step - run.offset) / (last - run.offset))
            reach = _next_reach(reach, time.monotonic() - began)
            if path is not None and (time.monotonic() - saved >= every or step >= last):
                write_checkpoint(path, run.settings, step, state, previous, kept)
                kept, saved = [joined(kept)], time.monotonic()
    except KeyboardInterrupt:
        if path is not None:
            write_checkpoint(path, run.settings, step, state, previous, kept)
    if step not in run.stops:  # a run that ended early keeps its last state too
        kept = kept + _call(run, state, previous, step, np.array([step]))[2]
    return step, state, kept


def _call(run: Run, state: State, previous: Parameters, step: int, stops: np.ndarray, target: int = -1):
    """One call of the compiled loop: through the records at ``stops``, or without one to ``target``."""
    way = stops if len(stops) else np.array([target])
    slots = np.concatenate([way, np.full(SLOTS - len(way), -1)]).astype(np.int32)
    keep = np.arange(SLOTS) < len(stops)
    state, previous, rows = advance(run.problem, state, previous, np.int32(step), slots, keep)
    jax.block_until_ready(state.died)
    rows = [jax.tree.map(lambda leaf: np.asarray(leaf)[: len(stops)].copy(), rows)] if len(stops) else []
    return state, previous, rows


def _next_reach(reach: int, seconds: float) -> int:
    """Twice as far while a call is quick, half as far when it is slow."""
    return reach * 2 if seconds < CALL / 2 else max(reach // 2, 1) if seconds > 2 * CALL else reach


# The result --------------------------------------------------------------------------------------------------------


def _trajectory(run: Run, reached: int, state: State, kept: dict[str, Any]) -> Trajectory:
    problem, lead = run.problem, int(run.problem.swept)
    streams = problem.keys.shape[0] > 1

    def by_seed(leaf: np.ndarray) -> np.ndarray:
        """(time, [setting,] [stream,] seed, ...) to ([setting,] seed, time, ...)."""
        if streams:
            leaf = leaf.reshape(*leaf.shape[: 1 + lead], len(run.seeds), *leaf.shape[3 + lead :])
        return np.moveaxis(leaf, 0, 1 + lead)

    kept = jax.tree.map(by_seed, kept)
    parameters, records = kept["parameters"], dict(kept["records"])
    if parameters.constant is not None:
        records["constant"] = parameters.constant
    died = np.asarray(state.died).ravel()
    stops = np.union1d(run.stops[run.stops <= reached], [reached])
    time_ = np.asarray(stops * np.asarray(problem.rate, float)[..., None], float)
    _warn(died, problem.rate)
    return Trajectory(
        time=time_,
        weights=parameters.weights,
        biases=parameters.biases,
        readout=parameters.readout,
        loss=records.pop("loss", None),
        records=records,
        settings={**run.settings, "reached": int(reached)},
        status=_status(died, reached, int(run.stops[-1])),
        pixel_ndim=len(problem.task.shape),
    )


def _status(died: np.ndarray, reached: int, last: int) -> tuple[str, ...]:
    healthy = "done" if reached >= last else f"interrupted at step {reached}"
    return tuple(healthy if step < 0 else f"diverged at step {step}" for step in died)


def _warn(died: np.ndarray, rate: Any) -> None:
    gone = died[died >= 0]
    if len(gone):
        each = np.repeat(np.atleast_1d(np.asarray(rate, float)), len(died) // np.size(rate))
        rates = ", ".join(f"{r:g}" for r in np.unique(each[died >= 0])[:4])
        warnings.warn(
            f"{len(gone)} of {len(died)} networks diverged, the first at step {gone.min()}, with rate {rates}; "
            "they keep their last finite state; try a smaller rate",
            RuntimeWarning,
            stacklevel=4,
        )


@dataclass(frozen=True)
class Estimate:
    """What a run will take."""

    seconds: float
    bytes: int

    def __str__(self) -> str:
        return f"about {self.seconds:.0f} s and {self.bytes / 2**20:.0f} MB"


def _defaults() -> dict[str, Any]:
    """The defaults of :func:`train` that shape a run, not how it is watched or kept."""
    parameters = inspect.signature(train).parameters.values()
    aside = ("checkpoint", "checkpoint_every", "watch", "progress")
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty and p.name not in aside}


def estimate(task: Task | Sequence[Task], network: AbstractNetwork, *, steps: int, **settings: Any) -> Estimate:
    """Time and memory of a run with these settings, from a few timed steps of it (and its compilation)."""
    run = _prepare(task, network, steps=steps, **{**_defaults(), **settings})
    state, previous = start(run.problem, run.parameters, run.offset), run.parameters
    none, reach, seconds = np.array([], int), 1, 0.0
    _call(run, state, previous, run.offset, none, run.offset + 1)  # compiles
    while seconds < 0.2 and reach < steps:
        reach = min(reach * 4, steps)
        began = time.monotonic()
        _call(run, state, previous, run.offset, none, run.offset + reach)
        seconds = time.monotonic() - began
    records = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(run.parameters)) * len(run.stops)
    samples = int(np.prod(run.problem.task.shape)) * run.problem.stream.batch * run.problem.keys.shape[0] * 4
    return Estimate(seconds * steps / reach, int(records + 4 * samples))
