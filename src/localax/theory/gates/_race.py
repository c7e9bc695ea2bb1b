"""The race of gates (section 5.1 of the network notes): does the fastest win, or the one of lowest limiting loss?

For one gate and sign-symmetric data A is (S0 + S1)/4 whatever the gate (as long as <v,X> = 0 has no probability), so
that rates never tell gates apart: every race by eigenvalues is a tie, and only the limiting loss can choose.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._errors import setting_error
from ..._types import Float
from ...networks import GatedLinear
from ...spec import checked_count, finite_array
from ...stimuli import Task
from .._float64 import in_float64
from .._products import two_classes
from ._gated_linear import GatedMoments, gated_moments

Gates = Float[np.ndarray, "units *pixels"]


@dataclass(frozen=True)
class Racer:
    """One family of gates: how fast it learns, what it never learns, and the loss it ends with.

    ``name`` of the family; ``slowest``, ``median`` and ``fastest`` of its positive rates, per unit of training time;
    ``unlearned``: the number of directions whose rate is 0; ``limiting_loss``: E(yhat - Y)^2 at the end; ``sampled``:
    whether its moments come from Monte Carlo.
    """

    name: str
    slowest: float
    median: float
    fastest: float
    unlearned: int
    limiting_loss: float
    sampled: bool


@in_float64
def race(
    task: Task, gates: dict[str, Any] | None = None, *, units: int = 1, seed: int = 0, samples: int = 200_000
) -> tuple[Racer, ...]:
    """Families of gates on one ``task`` of labelled classes, the lowest limiting loss first.

    **gates**: by name, each (unit, *pixels); by default :func:`gate_families` of so many **units**. **samples**:
    draws of every class where moments are not exact. **seed**: that of the draws and of the random gates.
    """
    families = gate_families(task, units=units, seed=seed) if gates is None else gates
    if not families:
        raise setting_error("race", "gates", gates, "at least one family of gates")
    rows = [
        _racer(name, gated_moments(task, GatedLinear(g), samples=samples, seed=seed)) for name, g in families.items()
    ]
    return tuple(sorted(rows, key=lambda racer: racer.limiting_loss))


def _racer(name: str, moments: GatedMoments) -> Racer:
    rates = moments.rates()
    learned = rates[rates > 0] if np.any(rates > 0) else np.zeros(1)
    least, median, largest = (float(f(learned)) for f in (np.min, np.median, np.max))
    return Racer(name, least, median, largest, int(np.sum(rates == 0)), moments.limiting_loss(), moments.sampled)


@in_float64
def gate_families(task: Task, *, units: int = 1, seed: int = 0, relu: Any = None) -> dict[str, Gates]:
    """Random, zero (always open), localized, flat and cosine gates, and those of a ReLU network, by name.

    ``task``: two classes of different labels. ``units``: how many gates each family has; localized ones and cosines are
    spread evenly over the pixels. ``seed``: that of the random ones. ``relu``: weights of a trained ReLU network,
    (unit, *pixels); by default (S0 + S1)^-1 S1 e_i, on hypercube data the ReLU neuron's own attractor and the field
    that a localized gate converges to.
    """
    units, shape = checked_count("gate_families", units), task.shape
    n = int(np.prod(shape))
    basis = np.eye(n)[np.arange(units) * n // units]
    phase = 2 * np.pi * (np.arange(n)[None] - (np.arange(units) * n // units)[:, None]) / n
    families = {
        "random": np.random.default_rng(seed).normal(size=(units, n)),
        "zero": np.zeros((units, n)),
        "localized": basis,
        "flat": np.where(np.arange(units)[:, None] % 2, -1.0, 1.0) * np.ones((units, n)),
        "cosine": np.cos(phase),
        "ReLU": _attractors(task, basis) if relu is None else _given(relu, (units, n)),
    }
    return {name: rows.reshape(units, *shape) for name, rows in families.items()}


def _attractors(task: Task, basis: Float[np.ndarray, "units n"]) -> Float[np.ndarray, "units n"]:
    """Where a gate on one pixel leads; its direction does not depend on labels 0/1 or their proportions' scale."""
    low, high = two_classes(task, "gate_families")
    covariance = low.covariance_matrix() + high.covariance_matrix()
    return np.linalg.lstsq(covariance, high.covariance_matrix() @ basis.T, rcond=1e-10)[0].T


def _given(relu: Any, shape: tuple[int, int]) -> Float[np.ndarray, "units n"]:
    array = finite_array("gate_families", "relu", np.asarray(relu), f"weights of {shape[0]} units").astype(float)
    if array.size != shape[0] * shape[1]:
        raise setting_error(
            "gate_families", "relu", f"shape {array.shape}", f"weights of {shape[0]} units of {shape[1]} pixels"
        )
    return array.reshape(shape)
