"""``train``: many networks at once, in one compiled loop, with progress, checkpoints and a trajectory at the end."""

import contextlib
import inspect
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from .._disk import StrPath
from .._progress import Update, progress_bar
from .._system import interrupts, make_room
from ..networks import AbstractNetwork
from ..spec import Number
from ..stimuli import Task
from ..trajectory import Trajectory
from ._checkpoint import Checkpoint, Keeper, Position, chosen_checkpoint, joined
from ._estimators import AbstractEstimator
from ._loop import RECORDS_PER_CALL, Divergence, advance, start
from ._plan import Plan, numerics, prepare
from ._records import SaveAt
from ._resume import continued, refuse_another
from ._stream import Stream

Watch = Callable[[int, dict[str, Any]], None]
"""Called with a step and the records made there."""

CALL_SECONDS = 0.5
"""What a call of the compiled loop should take: often enough for a bar and for Ctrl-C."""


def train(
    task: Task | Sequence[Task],
    network: AbstractNetwork,
    *,
    steps: int,
    batch: int,
    rate: Number | Sequence[Number] | np.ndarray | None = None,
    seeds: int | Sequence[int] | np.ndarray = (0,),
    data_seed: int = 0,
    init: Any = None,
    sweep: str | None = None,
    save_every: int | None = None,
    saveat: SaveAt | None = None,
    estimator: str | AbstractEstimator = "plain",
    stream: str | int | Stream = "shared",
    loss: str | Callable = "mse",
    optimiser: str | Callable[[Any], optax.GradientTransformation] = "sgd",
    divergence: Number | Divergence = 1e6,
    dtype: Any = jnp.float32,
    checkpoint: StrPath | Checkpoint | None = None,
    watch: Watch | None = None,
    progress: bool | Update = True,
    pace: Number = CALL_SECONDS,
) -> Trajectory:
    """Train a network from many initialisations, and under many settings, at once.

    **task**: classes, labels and proportions. **network**: what is trained on it.
    **steps**: how many. **batch**: samples a step. **rate**: the step size, by default a tenth of the largest stable
    one (:func:`stable_rate`) where that is known; time is ``steps * rate``.
    **seeds**: initialisations; a whole number stands for that many, from 0. **data_seed**: the stream of data.
    **init**: an initialiser or its name (default ``Xavier(1e-3)``), or an array of weights.
    **sweep**: a list of tasks of one kind, of rates, of starts or of scales of a start is a sweep axis, with
    names and values; of several such lists this says whether they are taken together ("zip") or all with all
    ("product").
    **save_every**: steps between records, by default a hundredth of the run; **saveat**: a `SaveAt`, which says what
    is recorded too. The first and the last step are always recorded.
    **estimator**: "plain", "antithetic", "orbit" or an object. **stream**: "shared" (all seeds see the same batches),
    "independent", a number of streams that the seeds share out, or a `Stream`.
    **loss**: "mse", "cross-entropy", "l1" or a function of (prediction, target).
    **optimiser**: "sgd", "adam" or a function of the rate that gives an optax optimiser.
    **divergence**: the norm of its parameters beyond which a network stops with its last finite state.
    **dtype**: float32 or float64, which is switched on for this run.
    **checkpoint**: a folder, or a `Checkpoint`; the same call goes on from it after any interruption and ends with the
    same bits.
    **watch**: called with the step and the latest records whenever there are new ones, about twice a second.
    **progress**: whether to show a bar, or a function to call with the fraction that is done.
    **pace**: how many seconds should lie between two such calls; the numbers are the same whatever it is.

    Ctrl-C gives back what is done so far, and so does a KeyboardInterrupt out of **watch** or **progress**.
    """
    made = prepare(
        task, network, steps=steps, batch=batch, rate=rate, seeds=seeds, data_seed=data_seed, init=init, sweep=sweep,
        save_every=save_every, saveat=saveat, estimator=estimator, stream=stream, loss=loss, optimiser=optimiser,
        divergence=divergence, dtype=dtype,
    )  # fmt: skip
    return _run(made, checkpoint, watch, progress, pace)


def plan(task: Task | Sequence[Task], network: AbstractNetwork, **settings: Any) -> Plan:
    """A call of :func:`train` made ready and checked but not run.

    **task**, **network**, **settings**: all that shapes a run, as :func:`train` takes it.
    """
    parameters = inspect.signature(train).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty and p.name not in ASIDE}
    return prepare(task, network, **{**defaults, **settings})


ASIDE = ("checkpoint", "watch", "progress", "pace")
"""Arguments that shape no number of a run."""


def run(
    plan: Plan,
    *,
    checkpoint: StrPath | Checkpoint | None = None,
    watch: Watch | None = None,
    progress: bool | Update = True,
    pace: Number = CALL_SECONDS,
) -> Trajectory:
    """Train what :func:`plan` has made ready.

    **plan**: the run. **checkpoint**, **watch**, **progress**, **pace**: how it is kept and followed, as in
    :func:`train`.
    """
    return _run(plan, checkpoint, watch, progress, pace)


def resume(
    trajectory: Trajectory,
    task: Task | Sequence[Task],
    network: AbstractNetwork,
    *,
    steps: int,
    rate: Number | Sequence[Number] | np.ndarray | None = None,
    save_every: int | None = None,
    checkpoint: StrPath | Checkpoint | None = None,
    watch: Watch | None = None,
    progress: bool | Update = True,
    pace: Number = CALL_SECONDS,
    **own: Any,
) -> Trajectory:
    """Go on with a run from its last state, on the next batches of its stream; its clock goes on too.

    **trajectory**: the run. **task**, **network**: those of the run, or this is refused. **steps**: how many more.
    **rate**: another step size; by default the same. **save_every**: steps between records, by default a hundredth.
    **own**: what the run had that has no name: a loss, optimiser, estimator or ``saveat`` with functions of one's own.
    **checkpoint**, **watch**, **progress**, **pace**: as in :func:`train`.

    The trajectory is of the new steps alone. An optimiser with a memory of its own cannot go on from weights: train
    with a checkpoint instead, and with more steps.
    """
    again = continued(trajectory, save_every, own)
    made = plan(task, network, steps=steps, before=trajectory, **again | ({} if rate is None else {"rate": rate}))
    refuse_another(trajectory.settings, made)
    return _run(made, checkpoint, watch, progress, pace)


# Running -----------------------------------------------------------------------------------------------------------


def _run(plan: Plan, checkpoint: Any, watch: Watch | None, progress: bool | Update, pace: Number) -> Trajectory:
    make_room()
    keeper = Keeper(chosen_checkpoint(checkpoint), plan.settings)
    title, steps = f"{plan.count} network{'s' if plan.count > 1 else ''}", int(plan.stops[-1]) - plan.first_step
    bar = contextlib.nullcontext(progress) if callable(progress) else progress_bar(title, show=progress, steps=steps)
    with numerics(plan.settings["x64"]):
        with bar as update:
            position = _loop(plan, keeper, update, watch or (lambda *_: None), pace)
        if position.step not in plan.stops:  # a run that ended early keeps its last state too
            position = _call(plan, position, np.array([position.step]))
        return _trajectory(plan, position)


def _loop(plan: Plan, keeper: Keeper, update: Update, watch: Watch, pace: Number) -> Position:
    """Call the compiled loop until the last step, an interruption, or the end of the last seed."""
    beginning, last = _beginning(plan), int(plan.stops[-1])
    position = keeper.read(beginning, plan.record_form) or _call(plan, beginning, plan.stops[:1])
    reach, saved = 1, time.monotonic()
    with contextlib.suppress(KeyboardInterrupt), interrupts() as interrupted:
        while position.step < last and np.asarray(position.state.alive).any() and not interrupted():
            began = time.monotonic()
            stops, target = _way(plan, position.step, reach)
            position = _call(plan, position, stops, target)
            spent = time.monotonic() - began
            if len(stops):
                watch(position.step, jax.tree.map(lambda leaf: leaf[-1], position.rows[-1]))
            update((position.step - plan.first_step) / (last - plan.first_step))
            reach = _next_reach(reach, spent, pace)
            if time.monotonic() - saved >= keeper.every:
                keeper.write(position)
                saved = time.monotonic()
    keeper.write(position)
    return position


def _beginning(plan: Plan) -> Position:
    """Before the first step and the first record."""
    state = start(plan.problem, plan.parameters, np.int32(plan.first_step))
    return Position(plan.first_step, state, plan.parameters, ())


def _way(plan: Plan, step: int, reach: int) -> tuple[np.ndarray, int]:
    """The records that the next call makes, and where it ends."""
    due = plan.stops[plan.stops > step][:RECORDS_PER_CALL]
    stops = due[due <= step + reach]
    return stops, int(stops[-1]) if len(stops) else min(step + reach, int(due[0]))


def _call(plan: Plan, position: Position, stops: np.ndarray, target: int | None = None) -> Position:
    """One call of the compiled loop: through the records at ``stops``, or without one to ``target``."""
    way = stops if len(stops) else np.array([target])
    slots = np.concatenate([way, np.full(RECORDS_PER_CALL - len(way), -1)]).astype(np.int32)
    keep = np.arange(RECORDS_PER_CALL) < len(stops)
    step, state, previous, rows = position
    state, previous, made = advance(plan.problem, state, previous, np.int32(step), slots, keep)
    jax.block_until_ready(state.died)
    new = (jax.tree.map(lambda leaf: np.asarray(leaf)[: len(stops)].copy(), made),) if len(stops) else ()
    return Position(int(way[-1]), state, previous, rows + new)


def _next_reach(reach: int, seconds: float, pace: Number) -> int:
    """Twice as far while a call is quick, half as far when it is slow."""
    slow, quick = seconds > 2 * pace, seconds < pace / 2
    return reach * 2 if quick else max(reach // 2, 1) if slow else reach


# The result --------------------------------------------------------------------------------------------------------


def _trajectory(plan: Plan, position: Position) -> Trajectory:
    kept = jax.tree.map(lambda leaf: _by_seed(plan, leaf), joined(position.rows))
    parameters, records = kept["parameters"], dict(kept["records"])
    if parameters.constant is not None:
        records["constant"] = parameters.constant
    died, reached = np.asarray(position.state.died).ravel(), position.step
    _warn(died, plan.rate)
    return Trajectory(
        time=_clock(plan, reached),
        weights=parameters.weights,
        biases=parameters.biases,
        readout=parameters.readout,
        loss=records.pop("loss", None),
        records=records,
        settings={**plan.settings, "reached": reached},
        status=_status(died, reached, int(plan.stops[-1])),
        pixel_ndim=len(plan.problem.task.shape),
        swept=plan.coordinates,
    )


def _by_seed(plan: Plan, leaf: np.ndarray) -> np.ndarray:
    """(time, [setting,] [stream,] seed, ...) to ([setting,] seed, time, ...)."""
    lead = int(plan.problem.swept)
    if plan.problem.keys.shape[0] > 1:
        leaf = leaf.reshape(*leaf.shape[: 1 + lead], len(plan.seeds), *leaf.shape[3 + lead :])
    return np.moveaxis(leaf, 0, 1 + lead)


def _clock(plan: Plan, reached: int) -> np.ndarray:
    """Times of the records, (time), or (sweep, time) where settings have clocks of their own."""
    stops = np.union1d(plan.stops[plan.stops <= reached], [reached])
    return plan.first_time[..., None] + (stops - plan.first_step) * plan.rate[..., None]


def _status(died: np.ndarray, reached: int, last: int) -> tuple[str, ...]:
    healthy = "done" if reached >= last else f"interrupted at step {reached}"
    return tuple(healthy if step < 0 else f"diverged at step {step}" for step in died)


def _warn(died: np.ndarray, rate: np.ndarray) -> None:
    gone = died[died >= 0]
    if len(gone):
        each = np.repeat(np.atleast_1d(rate), len(died) // rate.size)
        rates = ", ".join(f"{r:g}" for r in np.unique(each[died >= 0])[:4])
        warnings.warn(
            f"{len(gone)} of {len(died)} networks diverged, the first at step {gone.min()}, with rate {rates}; "
            "they keep their last finite state; try a smaller rate",
            RuntimeWarning,
            stacklevel=5,
        )


@dataclass(frozen=True)
class Cost:
    """What a run will take."""

    seconds: float
    """On this machine, without compiling."""
    bytes: int
    """Of memory, for records and samples."""

    def __str__(self) -> str:
        return f"about {self.seconds:.0f} s and {self.bytes / 2**20:.0f} MB"


def estimate(plan: Plan) -> Cost:
    """Time and memory of the run **plan**, from a few timed steps; what it compiles, the run uses again."""
    none, reach, seconds = np.array([], int), 1, 0.0
    steps = int(plan.stops[-1]) - plan.first_step
    with numerics(plan.settings["x64"]):
        beginning = _beginning(plan)
        _call(plan, beginning, none, plan.first_step + 1)  # compiles
        while seconds < 0.2 and reach < steps:
            reach = min(reach * 4, steps)
            began = time.monotonic()
            _call(plan, beginning, none, plan.first_step + reach)
            seconds = time.monotonic() - began
    record = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(plan.record_form))
    samples = int(np.prod(plan.problem.task.shape)) * plan.problem.batches.batch * plan.problem.keys.shape[0] * 4
    return Cost(seconds * steps / reach, int(record * len(plan.stops) + 4 * samples))
