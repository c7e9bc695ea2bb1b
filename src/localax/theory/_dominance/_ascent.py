"""Gradient ascent on probability dominance: which field does the objective itself ask for?"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from ..._types import Array, Float
from ...spec import checked_count, description
from ...stimuli import AbstractStimulus, Task
from ...trajectory import Trajectory
from .._checks import checked_start
from .._float64 import in_float64
from .._products import two_classes
from ._dominance import even_response, spread_of


@in_float64
def ascend_dominance(
    task: Task,
    w0: Any,
    *,
    average: bool = False,
    response: str | Callable = "square",
    steps: int = 1000,
    batch: int = 1000,
    rate: float = 0.02,
    temperature: float = 0.1,
    records: int = 50,
    seed: int = 0,
) -> Trajectory:
    """Gradient ascent on dominance from given fields, by Adam on fresh samples; w keeps norm 1, as only shape counts.

    **task**: two classes of different labels. **w0**: where to start, (*pixels) or (seed, *pixels), no field zero.
    **average**, **response**: what is compared, as in :func:`dominance`. **steps**: how many, each on **batch** new
    samples of either class, at Adam's learning rate **rate**. **records**: how many fields are kept beside the first,
    at even distances. **seed**: that of the samples, which all starts share.

    The step 1(gap > 0) has no slope, so it is smoothed: sigmoid(gap/temperature), with the gap of the two spreads
    relative to their sum; a smaller ``temperature`` is nearer to the step and noisier. ``loss`` is 1 less the smoothed
    dominance of the batch; time counts steps.
    """
    two_classes(task, "ascend_dominance")
    start = checked_start("ascend_dominance", w0, task.shape)
    steps, batch, records = (checked_count("ascend_dominance", n) for n in (steps, batch, records))
    at = np.unique(np.linspace(0, steps, records + 1).astype(int))
    climb = _Climb(
        *two_classes(task, "ascend_dominance"), even_response(response) if average else None, batch, temperature, rate
    )
    path, loss = _ascend(climb, jnp.asarray(start.reshape(len(start), -1)), jax.random.key(seed), steps)
    shape = (len(start), len(at), 1, *task.shape)
    settings = {"flow": "dominance", "task": description(task), "average": average, "steps": steps, "batch": batch,
                "rate": rate, "temperature": temperature, "seed": seed}  # fmt: skip
    weights, losses = (np.moveaxis(np.asarray(a)[at], 0, 1) for a in (path, loss))
    return Trajectory(at, weights.reshape(shape), loss=losses, settings=settings, pixel_ndim=len(task.shape))


class _Climb(eqx.Module):
    """What one step of the ascent needs."""

    low: AbstractStimulus
    high: AbstractStimulus
    average: Callable | None = eqx.field(static=True)
    batch: int = eqx.field(static=True)
    temperature: float
    rate: float

    def objective(self, w: Float[Array, "seeds n"], key: Any) -> Float[Array, " seeds"]:
        unit = w / jnp.linalg.norm(w, axis=1, keepdims=True)
        keys = jax.random.split(key)
        draws = [s.draw(k, self.batch, jnp.float64) for s, k in zip((self.low, self.high), keys, strict=True)]
        low, high = (
            spread_of(x.reshape(self.batch, -1), unit, shape=self.low.shape, average=self.average) for x in draws
        )
        return jnp.mean(jax.nn.sigmoid((high - low) / (high + low + 1e-30) / self.temperature), axis=0)


@eqx.filter_jit
def _ascend(climb: _Climb, w0: Float[Array, "seeds n"], key: Any, steps: int):
    optimiser = optax.adam(climb.rate)

    def step(carry, key):
        w, state = carry
        (_, each), slope = jax.value_and_grad(lambda w: ((e := -climb.objective(w, key)).sum(), e), has_aux=True)(w)
        update, state = optimiser.update(slope, state, w)
        moved = optax.apply_updates(w, update)
        return (moved / jnp.linalg.norm(moved, axis=1, keepdims=True), state), (w, 1 + each)

    first = w0 / jnp.linalg.norm(w0, axis=1, keepdims=True)
    _, (path, loss) = jax.lax.scan(step, (first, optimiser.init(first)), jax.random.split(key, steps + 1))
    return path, loss
