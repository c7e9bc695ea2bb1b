"""Losses of every network on a law of few states, in plain numpy, and their gradients by central differences."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from localax.networks import Autoencoder, GatedLinear, SingleReLU, SoftCommittee, TwoLayer
from soak.numbers.truth import States

ACTIVATIONS = {
    "relu": lambda h: np.maximum(h, 0),
    "erf": lambda h: scipy.special.erf(h / math.sqrt(2)),
    "sigmoid": lambda h: 1 / (1 + np.exp(-h)),
    "tanh": np.tanh,
    "identity": lambda h: h,
}


@dataclass(frozen=True)
class Weights:
    """What is trained, as arrays; None for what a network does not have."""

    weights: np.ndarray
    biases: np.ndarray | None = None
    readout: np.ndarray | None = None
    constant: np.ndarray | None = None


def output(network: Any, w: Weights, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The output (state, *outputs) and the hidden activity (state, unit)."""
    h = x @ w.weights.T
    if isinstance(network, GatedLinear):
        seen = x @ np.asarray(network.gates, float).T
        best = seen == seen.max(axis=1, keepdims=True)
        hidden = h * (seen >= 0 if network.rule == "halfspace" else best)
        return hidden.mean(1), hidden
    if isinstance(network, SingleReLU):
        return np.maximum(h[:, 0], 0), h
    h = h + (0 if w.biases is None else w.biases) + getattr(network, "offset", 0.0)
    hidden = ACTIVATIONS[network.activation](h)
    if isinstance(network, SoftCommittee):
        return hidden.mean(1), hidden
    assert w.readout is not None
    if isinstance(network, Autoencoder):
        return hidden @ w.readout, hidden
    assert isinstance(network, TwoLayer)
    return (hidden @ w.readout + w.constant) / network.units, hidden


def loss(network: Any, kind: str, w: Weights, classes: list[tuple[float, int, States]]) -> float:
    """The mean over classes of (label, number of the class, law), in equal shares."""
    total = 0.0
    for label, number, (x, chances) in classes:
        y, hidden = output(network, w, x)
        goal: Any = label
        if isinstance(network, Autoencoder):
            goal = x
        elif y.ndim == 2:
            goal = np.eye(y.shape[1])[number]
        error = _criterion(kind, y, goal)
        each = error if error.ndim == 1 else error.mean(1)
        sparse = float(getattr(network, "sparsity", 0.0)) * np.abs(hidden).mean(1)
        total += float(chances @ (each + sparse))
    return total / len(classes)


def _criterion(kind: str, y: np.ndarray, goal: Any) -> np.ndarray:
    if kind == "cross-entropy":
        return -np.sum(goal * (y - scipy.special.logsumexp(y, axis=1, keepdims=True)), axis=1)
    return np.abs(y - goal) if kind == "l1" else (y - goal) ** 2


def gradient(network: Any, kind: str, w: Weights, classes: list[tuple[float, int, States]]) -> np.ndarray:
    """By central differences of step 1e-5, whose error is about 1e-10; all that is trained, one after the other."""
    parts = []
    for name in ("weights", "biases", "readout", "constant"):
        array = getattr(w, name)
        if array is None:
            continue
        slope = np.zeros(array.shape)
        for index in np.ndindex(array.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = np.array(array, float)
                moved[index] += step
                ends.append(loss(network, kind, replace(w, **{name: moved}), classes))
            slope[index] = (ends[0] - ends[1]) / 2e-5
        parts.append(slope.ravel())
    return np.concatenate(parts)
