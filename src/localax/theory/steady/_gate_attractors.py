"""Steady states on Ising rings beyond one dominant pixel: every gate of a few pixels that is its own field's gate.

On the hypercube f(w) = E[1(<w,X> >= 0) X] depends on w through the gate alone, the signs of <w,x>. A gate G that looks
at the pixels of a window W has f_G = S_1 h with h = 0 outside of W, because an Ising ring is a Markov chain: a pixel's
mean given the window is linear in the window's two end spins. So the flow inside of the gate's cell is linear and rests
at w_G = 2 (S0 + S1)^-1 S_1 h, a sum of shifted copies of w* (C5), and w_G is a steady state of the exact flow if and
only if its own gate is G.
"""

import itertools
import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..._errors import SettingError, setting_error
from ..._types import Float
from ...analysis import ipr
from ...spec import finite_array
from ...stimuli import Ising, Task, hypercube_states
from .._float64 import in_float64

TRIED = (1, 3, 5)
"""Windows of which every gate is tried: 2, 14 and 1882 of them."""
LARGEST = 17
"""Pixels of the largest window: 2^17 states."""
HEIGHTS = 3
"""Whole weights up to this size give every threshold gate of five pixels without ties."""
ROUNDS = 1000
"""Of the iteration, at most; it ends after finitely many, in practice after fewer than ten."""


@dataclass(frozen=True, eq=False)
class GateAttractor:
    """The field w_G that a neuron learns behind a fixed gate G, and whether that gate is its own.

    ``field``: w_G, (pixels), the middle of the window at pixel 0. ``gate``: -1, 0 (a tie) or 1 for every state of the
    window, in the order of ``hypercube_states``. ``pixels``: of the window. ``margin``: the least of G(x) <w_G,x> over
    all states x of the ring. ``surplus``: the same for the mean of <w_G,X> given the window, over the window's states.
    ``rate``: how fast perturbations decay, at least, where the margin is positive. ``loss``: E(prediction - label)^2
    behind the gate; the neuron's own loss at the field is no larger. ``ipr``: the field's inverse participation ratio.
    """

    field: np.ndarray
    gate: np.ndarray
    pixels: int
    margin: float
    surplus: float
    rate: float
    loss: float
    ipr: float

    @property
    def exact(self) -> bool:
        """Whether w_G has the gate G on every state of the ring: a stable steady state of the exact flow."""
        return self.margin > 0

    @property
    def consistent(self) -> bool:
        """Whether no other gate of this window would have a lower loss at w_G: G is the sign of its mean drive."""
        return self.surplus > 0


@in_float64
def gate_attractor(task: Task, gate: Any) -> GateAttractor:
    """The field behind a given gate of a window of pixels around pixel 0, in closed form.

    ``task``: an Ising ring with a positive label, and any classes of label 0 on the same ring. ``gate``: 2^m numbers
    -1, 0 or 1, one for every state of m pixels in the order of ``hypercube_states``, odd under a change of all signs;
    m is 1, 3, ... up to 17.
    """
    signs = _checked_gate(gate)
    window = _window("gate_attractor", task, int(signs.size).bit_length() - 1)
    return window.described(signs)


@in_float64
def gate_attractors(task: Task, pixels: int = 5) -> tuple[GateAttractor, ...]:
    """Every consistent gate of a window, the lowest loss first: one of those alike up to shift, mirror image and sign.

    ``task``: as in :func:`gate_attractor`. ``pixels``: of the window, 1, 3 or 5, whose 2, 14 or 1882 threshold gates
    without ties are all tried. (A gate with ties is never a minimum of the loss: its field is a saddle.) Those that are
    ``exact`` are all stable steady states of the exact flow whose gates need no more pixels than this.
    """
    if pixels not in TRIED:
        raise setting_error("gate_attractors", "pixels", pixels, "1, 3 or 5; settled_gate takes larger windows")
    window = _window("gate_attractors", task, pixels)
    gates = _threshold_gates(pixels)
    fields, _ = window.fields(gates)
    kept = window.surpluses(gates, fields) > 0
    first = _different(fields[kept])
    found = [window.described(signs) for signs in gates[kept][first]]
    return tuple(sorted(found, key=lambda one: one.loss))


@in_float64
def settled_gate(task: Task, guess: Any, pixels: int = 11) -> GateAttractor:
    """The consistent gate of a window to which a field leads: gate of the field, field of the gate, and so on.

    Each round gives the field its best gate of the window and the gate its best field, so that the loss never grows,
    and as there are finitely many gates it ends. ``task``: as in :func:`gate_attractor`. ``guess``: one field, whose
    largest weight becomes the middle of the window. ``pixels``: of the window, 1, 3, ... up to 17.
    """
    window = _window("settled_gate", task, pixels)
    expected = f"one field of {window.size} finite numbers, not all 0"
    start = finite_array("settled_gate", "guess", guess, expected).astype(float)
    if start.shape != (window.size,) or not np.any(start):
        raise setting_error("settled_gate", "guess", f"shape {start.shape}", expected)
    field = np.roll(start, -int(np.argmax(np.abs(start))))
    signs = np.sign(window.means(field[None]))[0]
    for _ in range(ROUNDS):
        (field,), _ = window.fields(signs[None])
        after = np.sign(window.means(field[None]))[0]
        if np.array_equal(after, signs):
            return window.described(signs)
        signs = after
    raise SettingError(f"settled_gate: no gate of its own after {ROUNDS} rounds; try another guess")


@in_float64
def gate_doubt(task: Task, attractor: GateAttractor, pixels: int = LARGEST) -> tuple[float, float]:
    """Bounds of the probability that w_G has another sign than its gate, under the labelled class.

    ``task``: as in :func:`gate_attractor`. ``attractor``: a gate and its field. ``pixels``: of a larger window, whose
    states are all looked at; those whose sign the pixels outside of it might still turn count for the upper bound only.
    """
    window = _window("gate_doubt", task, pixels)
    if pixels < attractor.pixels:
        raise setting_error("gate_doubt", "pixels", pixels, f"at least the gate's own {attractor.pixels}")
    edge = (pixels - attractor.pixels) // 2
    inner = window.states[:, edge : edge + attractor.pixels]
    gate = attractor.gate[(inner < 0) @ _places(attractor.pixels)]
    agreed = gate * (window.states @ attractor.field[window.places])
    outside = window.outside(attractor.field[None])[0]
    chance = window.chances
    return float(chance[agreed < -outside].sum()), float(chance[agreed <= outside].sum())


# The window ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Window:
    """Some pixels in a row on a ring, with the law of the labelled class on them and what its gates lead to."""

    size: int
    places: np.ndarray
    """The window's pixels, from the left to the right of pixel 0."""
    states: np.ndarray
    chances: np.ndarray
    """Of every state, under the labelled class."""
    labelled: np.ndarray
    """S_1, the labelled class's covariance matrix."""
    total: np.ndarray
    """sum_c p_c S_c."""
    strength: float
    """Share times label of the labelled class."""
    label: float

    def fields(self, gates: Float[np.ndarray, "gates states"]) -> tuple[np.ndarray, np.ndarray]:
        """w_G and f_G of every gate, (gate, pixel)."""
        inside = (gates * self.chances) @ self.states / 2
        h = self._solved(inside)
        drives = h @ self.labelled[self.places]
        return np.linalg.lstsq(self.total, 2 * self.strength * drives.T, rcond=1e-12)[0].T, drives

    def _solved(self, inside: Float[np.ndarray, "gates window"]) -> np.ndarray:
        """S_WW^-1 times vectors of the window."""
        return np.linalg.lstsq(self.labelled[np.ix_(self.places, self.places)], inside.T, rcond=1e-12)[0].T

    def means(self, fields: Float[np.ndarray, "fields pixels"]) -> np.ndarray:
        """E[<w,X> | x_W] at every state of the window: linear, as a pixel's mean is linear in the two end spins."""
        return self._solved(fields @ self.labelled[:, self.places]) @ self.states.T

    def surpluses(self, gates: np.ndarray, fields: np.ndarray) -> np.ndarray:
        return np.min(gates * self.means(fields), axis=1)

    def outside(self, fields: np.ndarray) -> np.ndarray:
        """The sum of all weights outside of the window, in magnitude."""
        others = np.ones(self.size, bool)
        others[self.places] = False
        return np.abs(fields[:, others]).sum(1)

    def described(self, signs: np.ndarray) -> GateAttractor:
        (field,), (drive,) = self.fields(signs[None])
        # Pixels outside are free to take any signs, so that the least over all states is this one exactly.
        margin = np.min(signs * (self.states @ field[self.places]) - np.abs(signs) * self.outside(field[None])[0])
        return GateAttractor(
            field=field,
            gate=signs,
            pixels=len(self.places),
            margin=float(margin),
            surplus=float(self.surpluses(signs[None], field[None])[0]),
            rate=max(float(np.linalg.eigvalsh(self.total)[0]), 0.0),
            loss=float(self.strength * (self.label - drive @ field)),
            ipr=float(ipr(field)),
        )


def _window(asker: str, task: Any, pixels: Any) -> _Window:
    labelled = _labelled(asker, task)
    size = labelled.size
    if not isinstance(pixels, int) or pixels % 2 == 0 or not 1 <= pixels <= min(LARGEST, size):
        expected = f"an odd number of pixels, at most {min(LARGEST, size)}"
        raise setting_error(asker, "pixels", pixels, expected)
    at = int(np.flatnonzero(np.asarray(task.labels))[0])
    shares, label = np.asarray(task.proportions), float(np.asarray(task.labels)[at])
    states = hypercube_states(pixels)
    return _Window(
        size=size,
        places=(np.arange(pixels) - pixels // 2) % size,
        states=states,
        chances=_chances(states, size, labelled.ising_coupling()),
        labelled=labelled.covariance_matrix(),
        total=np.tensordot(shares, np.stack([s.covariance_matrix() for s in task.stimuli]), 1),
        strength=float(shares[at]) * label,
        label=label,
    )


def _labelled(asker: str, task: Any) -> Ising:
    """The one class whose label is not 0."""
    expected = "a Task of an Ising ring with a positive label, and sign-symmetric classes of label 0"
    if not isinstance(task, Task) or task.labels is None:
        raise setting_error(asker, "task", task, expected)
    labels = np.asarray(task.labels, float)
    found = [stimulus for stimulus, label in zip(task.stimuli, labels, strict=True) if label != 0]
    if len(found) != 1 or labels.max() <= 0 or not task.sign_symmetric:
        raise setting_error(asker, "task", labels.tolist(), expected)
    if not isinstance(found[0], Ising):
        raise setting_error(asker, "task", type(found[0]).__name__, expected)
    return found[0]


def _chances(states: np.ndarray, size: int, coupling: float) -> np.ndarray:
    """The law of m neighbours on a ring: their bonds, and the way round the rest of it."""
    pixels = states.shape[1]
    energy = coupling * np.sum(states[:, 1:] * states[:, :-1], axis=1)
    around = 1 + math.tanh(coupling) ** (size - pixels + 1) * states[:, 0] * states[:, -1]
    weight = np.exp(energy - energy.max()) * around
    return weight / weight.sum()


# Gates ---------------------------------------------------------------------------------------------------------------


@cache
def _threshold_gates(pixels: int) -> Float[np.ndarray, "gates states"]:
    """sign<v,x> of all states x for every v without ties, each gate once."""
    heights = np.array(list(itertools.product(range(-HEIGHTS, HEIGHTS + 1), repeat=pixels)))
    sums = heights @ hypercube_states(pixels).T
    return np.unique(np.sign(sums[np.all(sums != 0, axis=1)]), axis=0)


def _checked_gate(gate: Any) -> Float[np.ndarray, " states"]:
    expected = "2^m numbers -1, 0 or 1 for m = 1, 3, ..., 17, odd under a change of all signs and not all 0"
    signs = finite_array("gate_attractor", "gate", gate, expected).astype(float)
    pixels = int(signs.size).bit_length() - 1
    if signs.shape != (2**pixels,) or pixels % 2 == 0 or pixels > LARGEST or not np.all(np.isin(signs, (-1, 0, 1))):
        raise setting_error("gate_attractor", "gate", f"shape {signs.shape}", expected)
    opposite = signs[(hypercube_states(pixels) > 0) @ _places(pixels)]
    if not np.array_equal(opposite, -signs) or not np.any(signs):
        raise setting_error("gate_attractor", "gate", "one that is not odd", expected)
    return signs


def _places(pixels: int) -> np.ndarray:
    """What each negative pixel adds to the number of a state."""
    index = np.flatnonzero(np.sum(hypercube_states(pixels) < 0, axis=1) == 1)
    return index[np.argsort(np.argmax(hypercube_states(pixels)[index] < 0, axis=1))]


def _different(fields: np.ndarray) -> np.ndarray:
    """One of the fields that shift, mirror image and sign make of each other: that with the largest weight at 0.

    Fields with the same power at every frequency and the same weights in some order count as one.
    """
    power = np.abs(np.fft.rfft(fields)) ** 2
    traits = np.concatenate([power, np.sort(np.abs(fields), axis=1)], axis=1).round(8)
    order = np.argsort(-fields[:, 0], kind="stable")
    _, first = np.unique(traits[order], axis=0, return_index=True)
    return order[first]
