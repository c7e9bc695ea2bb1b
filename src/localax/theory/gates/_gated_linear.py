"""Gated linear networks: a linear problem with a closed-form path, whatever the gates (section 5 of the network notes).

With A = E[(g x X)(g x X)'] over all pairs of gates and b = E[Y (g x X)], the loss is E Y^2 - 2 b.w/K + w'Aw/K^2, so

    dw/dt = (2/K)(b - A w/K),   w(t) = w* + exp(-2 t A/K^2)(w0 - w*),   w* = K A^+ b.

The notes (Eqs. 48 and 51) have one factor 1/K too few, and their exp(C) (Eqs. 54 to 58) cannot start below w*.
Directions that no gate lets through (the null space of A) stay where they start.
"""

from typing import Any

import equinox as eqx
import numpy as np

from ..._errors import SettingError, setting_error
from ..._types import Float
from ...networks import GatedLinear
from ...spec import description
from ...stimuli import AbstractStimulus, Task
from ...trajectory import Trajectory
from .._checks import checked_times, checked_units
from .._estimate import batches, draw
from .._float64 import in_float64
from .._gated_input import has_exact_input, mean_gated_input
from .._products import class_labels

Matrix = Float[np.ndarray, "k k"]
Vector = Float[np.ndarray, " k"]
ROUNDING = 1e-10
"""Eigenvalues of A below this share of the largest count as 0."""


class GatedMoments(eqx.Module):
    """What a gated linear network knows of its task; vectors run over units, then pixels."""

    a: Matrix
    """A = E[(g x X)(g x X)'] over all pairs of gates g."""
    b: Vector
    """E[Y (g x X)]."""
    label_square: float
    """E Y^2, the loss of a network that gives 0."""
    units: int
    """K, the number of units, of which the output is the mean."""
    sampled: bool
    """Whether A or b come from Monte Carlo."""

    def spectrum(self) -> tuple[Vector, Matrix]:
        """Eigenvalues of A, increasing, with rounding set to 0, and eigenvectors."""
        values, vectors = np.linalg.eigh(self.a)
        return np.where(values > ROUNDING * max(values[-1], 1e-300), values, 0.0), vectors

    def rates(self) -> Vector:
        """Rates of approach to the limit, 2 A/K^2, increasing."""
        return 2 * self.spectrum()[0] / self.units**2

    def limit(self, w0: Any = None) -> Vector:
        """K A^+ b, plus the part of the start ``w0`` that no gate lets through; None: a start at 0."""
        values, vectors = self.spectrum()
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
        limit = self.units * (vectors * inverse) @ (vectors.T @ self.b)
        if w0 is None:
            return limit
        return limit + (vectors * (values == 0)) @ (vectors.T @ np.ravel(w0))

    def loss(self, w: Any) -> float:
        """E(yhat - Y)^2 at weights ``w``, (unit, *pixels) or flat."""
        flat = np.ravel(w)
        return float(self.label_square - 2 * self.b @ flat / self.units + flat @ self.a @ flat / self.units**2)

    def limiting_loss(self) -> float:
        """E Y^2 - b'A^+ b, Eqs. 60 to 63 of the network notes for any labels and proportions."""
        return float(self.label_square - self.b @ self.limit() / self.units)


@in_float64
def gated_moments(
    task: Task, network: GatedLinear, *, method: str = "auto", samples: int = 200_000, seed: int = 0
) -> GatedMoments:
    """A and b of a gated linear ``network`` on a ``task`` of as many pixels, with one label per class.

    **method**: "exact" takes closed forms (halfspace gates on Gaussian and elliptical classes; one gate wherever f(v)
    is known) and sums over states (laws of few states, any gates), and refuses the rest; "sampled" draws **samples** of
    every class from **seed**; "auto" takes what is exact and samples what is not.
    """
    labels = np.asarray(class_labels(task, "gated_moments"))
    if not isinstance(network, GatedLinear):
        raise setting_error("gated_moments", "network", network, "a GatedLinear network")
    if method not in ("auto", "exact", "sampled"):
        raise setting_error("gated_moments", "method", method, "one of auto, exact, sampled")
    if network.gates.shape[1:] != task.shape:
        raise setting_error(
            "gated_moments", "network", f"gates of shape {network.gates.shape[1:]}", f"gates of {task.shape}"
        )
    size = network.gates.size
    a, b, sampled = np.zeros((size, size)), np.zeros(size), False
    for c, (stimulus, share, label) in enumerate(zip(task.stimuli, task.proportions, labels, strict=True)):
        found = None if method == "sampled" else _exact(stimulus, network, bool(label))
        if found is None:
            if method == "exact":
                raise SettingError(_refusal(stimulus, network))
            found, sampled = _sampled(stimulus, network, samples, seed, c), True
        a, b = a + share * found[0], b + share * label * found[1]
    square = float(np.sum(np.asarray(task.proportions) * labels**2))
    return GatedMoments(a, b, square, network.units, sampled)


def _refusal(stimulus: AbstractStimulus, network: GatedLinear) -> str:
    return (
        f"gated_moments: no exact moments are known for {network.units} {network.rule} gates on "
        f"{type(stimulus).__name__}; they are for halfspace gates on Gaussian and elliptical classes, for a single "
        "gate where f(v) is known, and for laws of few states; use method='sampled'"
    )


# Moments of one class: E[g g' x XX'] and E[g x X] ---------------------------------------------------------------------


def _exact(stimulus: AbstractStimulus, network: GatedLinear, needed: bool) -> tuple[Matrix, Vector] | None:
    law = stimulus.support()
    if law is not None and len(law.states) * network.gates.size <= 2**24:
        return _summed(law.states, law.probabilities, network)
    if network.rule != "halfspace" or not stimulus.sign_symmetric:
        return None
    gates = np.asarray(network.gates, float).reshape(network.units, -1)
    turning = np.any(gates != 0, axis=1)  # a gate of zeros is open for every x: E[X] = 0, E[XX'] = S
    if stimulus.elliptical_constant() is None and (np.sum(turning) > 1 or _ties(stimulus, gates)):
        return None
    if needed and np.any(turning) and not has_exact_input(stimulus, gates[turning]):
        return None
    b = np.zeros(gates.shape)
    if needed and np.any(turning):
        fields = gates[turning].reshape(-1, *stimulus.shape)
        b[turning] = mean_gated_input(stimulus, fields).value.reshape(-1, gates.shape[1])
    return _pairs(stimulus.covariance_matrix(), gates, turning), b.ravel()


def _ties(stimulus: AbstractStimulus, gates: Float[np.ndarray, "units n"]) -> bool:
    """Whether some <gate,X> is 0 with a chance that matters, as on spins under a flat gate: then E[1 XX'] is not S/2.

    Told from 4,096 draws; ties too rare to be among them change A by less than their chance.
    """
    atoms = stimulus.marginal.atoms()
    if atoms is None:
        return False
    response = np.abs(np.asarray(draw(stimulus, 0, 0, 0, 4096)).reshape(4096, -1) @ gates.T)
    size = np.abs(gates).sum(axis=1) * np.max(np.abs(atoms[0]))
    return bool(np.any((response <= 1e-6 * size) & (size > 0)))


def _pairs(covariance: Float[np.ndarray, "n n"], gates: Float[np.ndarray, "units n"], turning: np.ndarray) -> Matrix:
    """All blocks E[1(<u,X> >= 0) 1(<v,X> >= 0) XX']; of one gate it is S/2 for any sign-symmetric law without ties."""
    units, n = gates.shape
    a = np.zeros((units, n, units, n))
    for i in range(units):
        for j in range(units):
            both = turning[i] and turning[j] and i != j
            alone = covariance / 2 if turning[i] or turning[j] else covariance
            a[i, :, j, :] = halfspace_pair(covariance, gates[i], gates[j]) if both else alone
    return a.reshape(units * n, units * n)


def halfspace_pair(covariance: Matrix, u: Vector, v: Vector) -> Matrix:
    """E[1(<u,X> >= 0) 1(<v,X> >= 0) XX'] for Gaussian and elliptical X of the given ``covariance`` S.

    ``u`` and ``v`` are two gates, pixels flattened, neither 0. With a = Su/sd, b = Sv/sd and g = cos(angle) the
    correlation of <u,X> and <v,X>, it is (1/4 + asin(g)/2pi) S + [ab' + ba' - g(aa' + bb')]/(2 pi sqrt(1 - g^2));
    written here in a + b and a - b, whose lengths 2 cos(angle/2) and 2 sin(angle/2) keep their digits for gates that
    nearly agree.
    """
    u, v = (w / np.sqrt(w @ covariance @ w) for w in (np.asarray(u, float), np.asarray(v, float)))
    plus, minus = covariance @ (u + v), covariance @ (u - v)
    long, short = (np.sqrt(max(w @ covariance @ w, 0.0)) for w in (u + v, u - v))
    pair = (0.5 - np.arctan2(short, long) / np.pi) * covariance
    if long > 0 and short > 0:
        pair = pair + (short / long * np.outer(plus, plus) - long / short * np.outer(minus, minus)) / (4 * np.pi)
    return pair


def _gates(x: np.ndarray, network: GatedLinear) -> np.ndarray:
    gates = np.asarray(network.gates, float).reshape(network.units, -1)
    response = x @ gates.T
    if network.rule == "winner":
        return response >= response.max(axis=1, keepdims=True)
    return response >= -1e-12 * np.abs(gates).sum(axis=1) * np.max(np.abs(x))  # a tie up to rounding is open


def _summed(x: np.ndarray, probabilities: np.ndarray, network: GatedLinear) -> tuple[Matrix, Vector]:
    gated = (_gates(x, network)[:, :, None] * x[:, None, :]).reshape(len(x), -1)
    return (gated * probabilities[:, None]).T @ gated, probabilities @ gated


def _sampled(stimulus, network: GatedLinear, samples: int, seed: int, stream: int) -> tuple[Matrix, Vector]:
    a, b = 0.0, 0.0
    for index, n in batches(samples, network.gates.size):
        x = np.asarray(draw(stimulus, seed, stream, index, n))
        one, mean = _summed(x, np.full(n, 1 / samples), network)
        a, b = a + one, b + mean
    gates = np.asarray(network.gates, float).reshape(network.units, -1)
    if network.units == 1 and network.rule == "halfspace" and stimulus.sign_symmetric and not _ties(stimulus, gates):
        a = stimulus.covariance_matrix() / (2 if np.any(gates != 0) else 1)  # exact, and so are the rates
    return np.asarray(a), np.asarray(b)


# Paths ---------------------------------------------------------------------------------------------------------------


@in_float64
def gated_linear_flow(
    task: Task, network: GatedLinear, w0: Any, *, times: Any, moments: GatedMoments | None = None, **options: Any
) -> Trajectory:
    """The path of a gated linear ``network`` on a ``task`` from any start, in closed form.

    **w0**: as in ``exact_flow``, zeros allowed. **times**: when to record, increasing, from 0 on. **moments**:
    those of this task and network, where they are known already; else they come from :func:`gated_moments`, to which
    **options** go.
    """
    found = gated_moments(task, network, **options) if moments is None else moments
    at = checked_times("gated_linear_flow", times)
    start = checked_units("gated_linear_flow", w0, task.shape, network.units)
    flat = start.reshape(len(start), -1)
    limits = np.stack([found.limit(w) for w in flat])
    _, vectors = found.spectrum()
    decay = np.exp(-np.outer(at, found.rates()))
    path = limits[:, None] + np.einsum("te,se,ne->stn", decay, (flat - limits) @ vectors, vectors)
    loss = np.array([[found.loss(w) for w in seed] for seed in path])
    settings = {"flow": "gated linear", "task": description(task), "network": description(network)}
    shape = (len(start), len(at), network.units, *task.shape)
    return Trajectory(at, path.reshape(shape), loss=loss, settings=settings, pixel_ndim=len(task.shape))


@in_float64
def redundant_path(
    a: Matrix, b: Vector, first: Vector, second: Vector, *, times: Any, units: int = 2
) -> tuple[Float[np.ndarray, "times n"], Float[np.ndarray, "times n"]]:
    """Two units behind the same gate (Eqs. 108 to 113 of the older notes): their difference stays, their mean m follows

    m(t) = m* + exp(-4 t A/K^2)(m(0) - m*), m* = K A^+ b/2. ``a``, ``b`` are those of the shared gate; any other units
    must have gates that exclude it. ``first`` and ``second``: the two units' weights at time 0, pixels flattened.
    ``times``: when to record, increasing, from 0 on; both paths are (time, pixel). ``units``: K, of the whole network.
    """
    alone = GatedMoments(np.asarray(a, float), np.asarray(b, float), 0.0, units, False)
    apart, middle = (np.asarray(first) - second) / 2, (np.asarray(first) + second) / 2
    values, vectors = alone.spectrum()
    kept = (vectors * (values == 0)) @ (vectors.T @ middle)
    limit = alone.limit() / 2 + kept
    decay = np.exp(-np.outer(checked_times("redundant_path", times), 4 * values / units**2))
    path = limit + (decay * (vectors.T @ (middle - limit))) @ vectors.T
    return path + apart, path - apart


@in_float64
def input_output_covariance(task: Task, pixel: int) -> Float[np.ndarray, "*pixels"]:
    """E[1(X_i >= 0) Y X], the input-output covariance of the localized gate (Eqs. 66 to 74 of the network notes).

    ``task``: classes with one label each, whose f is known at fields of a single pixel. ``pixel``: the gate's place i,
    on a torus counted row by row. For NLGP with labels 0 and 1 it is atan(r/sqrt(1/(2g^2) + 1 - r^2))/(2 pi norm); the
    notes' constant is too large by 2 sqrt(pi).
    """
    labels = np.asarray(class_labels(task, "input_output_covariance"))
    field = np.zeros(task.shape)
    field[np.unravel_index(int(pixel), task.shape)] = 1
    parts = zip(task.stimuli, task.proportions, labels, strict=True)
    terms = [share * label * mean_gated_input(s, field).value for s, share, label in parts if label != 0]
    return np.sum(terms, axis=0) if terms else np.zeros(task.shape)
