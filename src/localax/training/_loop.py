"""The compiled loop: all settings, streams and seeds at once, many steps and records a call.

Bounds are traced, so one compilation serves runs of any length, and cutting a run into calls changes no number.
"""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from .._math import brief_jit
from .._types import Array, Float, Int
from ..networks import AbstractNetwork, Parameters
from ..spec import Number
from ..stimuli import Task
from ._arguments import positive
from ._estimators import AbstractEstimator, Batch
from ._keys import probe_key, readout_keys
from ._records import Snapshot
from ._stream import Batches, Order

RECORDS_PER_CALL = 32
"""At most; a call that makes fewer leaves the rest empty."""


class Divergence(eqx.Module):
    """When a network's run ends early: its parameters grow beyond the norm **bound**, or turn NaN.

    It keeps its last finite state, and the others go on.
    """

    bound: float = eqx.field(static=True, default=1e6)

    def __init__(self, bound: Number = 1e6):
        self.bound = positive("divergence", bound)


class Problem(eqx.Module):
    """What is trained, on what, and how: everything that does not change during a run."""

    task: Task
    network: AbstractNetwork
    estimator: AbstractEstimator
    batches: Batches
    rate: Array
    keys: Array
    probe: tuple[Array, Array] | None
    """Samples on which records are made, if any are."""
    criterion: Callable = eqx.field(static=True)
    optimiser: Callable = eqx.field(static=True)
    """From a rate to an optax optimiser."""
    records: tuple[tuple[str, Callable], ...] = eqx.field(static=True)
    divergence: Divergence
    swept: bool = eqx.field(static=True)
    """Whether there is a sweep axis."""
    swept_task: bool = eqx.field(static=True)
    """Whether the task, and so the data, differ between settings."""

    def over_settings(self, f: Callable, *, rest: int) -> Callable:
        """f(task, data, *rest) mapped over the sweep axis, if there is one; tasks that agree share their data."""
        if not self.swept:
            return f
        shared = 0 if self.swept_task else None
        return jax.vmap(f, (shared, shared, *(0,) * rest))

    def over_streams(self, f: Callable, *axes: int | None) -> Callable:
        """f mapped over streams, if there is more than one."""
        return jax.vmap(f, axes) if self.keys.shape[0] > 1 else f


class State(eqx.Module):
    """What changes during a run; leading axes [setting,] [stream,] seed."""

    parameters: Parameters
    optimiser: Any
    order: Order
    alive: Array
    died: Int[Array, "..."]
    """The step at which a seed diverged, or -1."""


def target(network: AbstractNetwork, task: Task, x: Float[Array, "n *pixels"], classes: Int[Array, " n"]) -> Array:
    """What a network should give: the label, the class one-hot, or the input itself."""
    if network.reconstructs:
        return x.reshape(x.shape[0], -1).T
    if network.outputs > 1:
        return jax.nn.one_hot(classes, network.outputs, dtype=x.dtype, axis=0)
    return task.label(x, classes)


def _retarget(network: AbstractNetwork, task: Task) -> Callable | None:
    if network.reconstructs:
        return lambda x: x.reshape(x.shape[0], -1).T
    return task.target if network.outputs == 1 else None


@brief_jit
def start(problem: Problem, parameters: Parameters, first: Any) -> State:
    """The state before step ``first``."""
    moments = problem.over_streams(jax.vmap(lambda r, p: problem.optimiser(r).init(p), (None, 0)), None, 0)
    moments = jax.vmap(moments) if problem.swept else moments
    streams = problem.keys.shape[0]
    orders = problem.over_streams(lambda task, key: problem.batches.start(task, key, first), None, 0)
    orders = jax.vmap(orders, (0, None)) if problem.swept_task else orders
    order = orders(problem.task, problem.keys if streams > 1 else problem.keys[0])
    shape = parameters.weights.shape[: 1 + int(problem.swept) + int(streams > 1)]
    died = jnp.full(shape, -1, jnp.int32)
    return State(parameters, moments(problem.rate, parameters), order, jnp.ones(shape, bool), died)


@eqx.filter_jit
def advance(problem: Problem, state: State, previous: Parameters, first: Any, stops: Any, keep: Any):
    """Run from step ``first`` to each of ``stops`` in turn, recording at those that ``keep`` marks.

    Gives the state, the parameters at the last record, and the records on a leading axis of stops, of which the
    unmarked are zeros. A stop that lies behind runs nothing.
    """
    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), record_form(problem, state.parameters))

    def to_stop(carry, slot):
        step, state, previous = carry
        stop, kept = slot
        state = jax.lax.fori_loop(step, stop, lambda i, s: _step(problem, s, i), state)
        row = jax.lax.cond(kept, lambda: _record(problem, state.parameters, previous), lambda: blank)
        previous = jax.tree.map(lambda new, old: jnp.where(kept, new, old), state.parameters, previous)
        return (jnp.maximum(step, stop), state, previous), row

    (_, state, previous), records = jax.lax.scan(to_stop, (first, state, previous), (stops, keep))
    return state, previous, records


def record_form(problem: Problem, parameters: Parameters) -> Any:
    """Shapes and types of one record, without computing it."""
    return eqx.filter_eval_shape(_record, problem, parameters, parameters)


def _step(problem: Problem, state: State, step: Int[Array, ""]) -> State:
    def draw(task, order, key):
        x, classes, order = problem.batches.next(task, order, key, step)
        return x, target(problem.network, task, x, classes), order

    keys = problem.keys if problem.keys.shape[0] > 1 else problem.keys[0]
    streams = problem.over_streams(draw, None, 0, 0)
    drawn: Callable = jax.vmap(streams, (0, 0, None)) if problem.swept_task else streams
    x, y, order = drawn(problem.task, state.order, keys)

    def update(task, data, rate, parameters, optimiser, alive, died):
        return _update(problem, task, data, rate, step, parameters, optimiser, alive, died)

    seeds = jax.vmap(update, (None, None, None, 0, 0, 0, 0))
    streams = problem.over_streams(seeds, None, 0, None, 0, 0, 0, 0)
    every = problem.over_settings(streams, rest=5)
    parameters, optimiser, alive, died = every(
        problem.task, (x, y), problem.rate, state.parameters, state.optimiser, state.alive, state.died
    )
    return State(parameters, optimiser, order, alive, died)


def _update(problem: Problem, task, data, rate, step, parameters, optimiser, alive, died):
    """One step of one network; a step that leaves finite numbers behind is not taken, and ends that network's run."""
    x, y = data
    batch = Batch(x, y, _retarget(problem.network, task))

    def loss(parameters: Parameters) -> Array:
        return problem.estimator.loss(problem.network, problem.criterion, parameters, batch)

    gradient = jax.grad(loss)(parameters)
    change, moved = problem.optimiser(rate).update(gradient, optimiser, parameters)
    after = optax.apply_updates(parameters, change)
    size = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(after))
    good = alive & (size < problem.divergence.bound**2)  # false for NaN too
    keep = functools.partial(jnp.where, good)
    died = jnp.where(alive & ~good, step + 1, died)
    return jax.tree.map(keep, after, parameters), jax.tree.map(keep, moved, optimiser), good, died


def _record(problem: Problem, parameters: Parameters, previous: Parameters) -> dict[str, Any]:
    """The parameters and every record, of all networks."""
    if not problem.records:
        return {"parameters": parameters, "records": {}}

    def one(task, data, now, before):
        x, classes = data
        goal = target(problem.network, task, x, classes)
        snapshot = Snapshot(problem.network, now, before, x, goal, classes, task.labels, problem.criterion)
        return {name: f(snapshot) for name, f in problem.records}

    seeds = jax.vmap(one, (None, None, 0, 0))
    streams = problem.over_streams(seeds, None, None, 0, 0)
    every = problem.over_settings(streams, rest=2)
    return {"parameters": parameters, "records": every(problem.task, problem.probe, parameters, previous)}


@brief_jit
def beginning(network: AbstractNetwork, weights: Array, seeds: Any) -> Parameters:
    """The parameters of every seed, from its first-layer weights."""
    return jax.vmap(network.parameters)(weights, readout_keys(seeds))


@brief_jit
def draw_probe(batches: Batches, task: Task, data_seed: Any, n: int, swept_task: bool) -> tuple[Array, Array]:
    """A batch that is the same at every record, one for each task."""
    key = probe_key(data_seed)

    def one(task: Task) -> tuple[Array, Array]:
        return batches.draw(task, key, n)

    return jax.vmap(one)(task) if swept_task else one(task)
