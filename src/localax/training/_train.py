"""``train``: many networks at once, in one compiled loop, with progress, checkpoints and a trajectory at the end."""

import inspect
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from .._progress import progress_bar
from .._settings import Number
from .._trajectory import Trajectory
from ..networks import AbstractNetwork, Parameters
from ..stimuli import Task
from ._checkpoint import joined, read_checkpoint, write_checkpoint
from ._estimators import AbstractEstimator
from ._loop import SLOTS, State, advance, record_form, start
from ._prepare import Run, prepare
from ._records import Logarithmic, Record

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
    run = prepare(
        task, network, steps=steps, batch=batch, rate=rate, seeds=seeds, data_seed=data_seed, init=init,
        estimator=estimator, stream=stream, loss=loss, optimiser=optimiser, record=record, probe=probe,
        stratified=stratified, bound=bound, dtype=dtype, save_every=save_every,
    )  # fmt: skip
    title = f"{run.count} network{'s' if run.count > 1 else ''}"
    path = None if checkpoint is None else Path(checkpoint)
    with progress_bar(title, show=progress, steps=steps) as update:
        reached, state, kept = _loop(run, path, checkpoint_every, update, watch or (lambda *_: None))
    return _trajectory(run, reached, state, joined(kept))


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
class Cost:
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


def estimate(task: Task | Sequence[Task], network: AbstractNetwork, *, steps: int, **settings: Any) -> Cost:
    """Time and memory of a run with these settings, from a few timed steps of it (and its compilation)."""
    run = prepare(task, network, steps=steps, **{**_defaults(), **settings})
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
    return Cost(seconds * steps / reach, int(records + 4 * samples))
