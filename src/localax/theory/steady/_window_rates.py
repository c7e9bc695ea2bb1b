"""When does the flat field give way under the window flow? Its Jacobian there, by automatic differentiation."""

import jax
import jax.numpy as jnp
import numpy as np

from ..._math import brief_jit
from ..._types import Array, Float
from ...stimuli import Task
from .._checks import symmetric_task, unbalanced
from .._float64 import in_float64
from ..flows import Order, WindowField, window_field


@in_float64
def window_growth_rates(task: Task, order: Order = "auto") -> Float[np.ndarray, "*pixels"]:
    """Growth rate of every Fourier mode at the flat fixed point of the window flow; entry 0 is the flat mode.

    Shaped and ordered like :func:`flat_growth_rates`, which does the same for the effective flow, and
    :func:`exact_growth_rates`. ``task``: sign-symmetric classes on a ring or torus with one label each, positive on the
    whole. ``order``: as in ``window_flow``; "auto" chooses along a pilot flow, for all stages alike.
    """
    _, labels = symmetric_task("window_growth_rates", task)
    field = window_field(task, order, asker="window_growth_rates")
    height = _flat_height(field, task.shape)
    if not height > 0:
        raise unbalanced("window_growth_rates", labels)
    column = np.asarray(_column(field, jnp.asarray(np.full(task.shape, height))))
    return np.fft.fftn(column).real


def _flat_height(field: WindowField, shape: tuple[int, ...]) -> float:
    """Where a flat field rests: dw/dt is a constant less a multiple of the height."""
    one, two = (float(np.mean(_velocity(field, jnp.asarray(np.full(shape, height))))) for height in (1.0, 2.0))
    return one / (one - two) + 1


@brief_jit
def _velocity(field: WindowField, w: Float[Array, "*pixels"]) -> Float[Array, "*pixels"]:
    """One program: step by step every sum and product would be one."""
    return field(w)


@brief_jit
def _column(field: WindowField, w: Float[Array, "*pixels"]) -> Float[Array, "*pixels"]:
    """The derivative of dw/dt at every pixel by the weight of pixel 0: the first column of a circulant matrix."""
    first = jnp.zeros(w.size).at[0].set(1.0).reshape(w.shape)
    return jax.jvp(field, (w,), (first,))[1]
