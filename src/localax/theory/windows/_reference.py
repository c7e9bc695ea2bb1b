"""What windows are measured against: the exact f where there is one, else a sample with all its symmetries."""

import abc
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from ..._math import dense_circulant
from ..._types import Array, Float, Leaf
from ...stimuli import AbstractCopula, AbstractStimulus
from .._estimate import Estimate
from .._input_gates import exact_gate
from .._transfer import AbstractGate
from ._closure import AbstractClosure, Field, Number, gated_inputs, xp_of
from ._tables import samples

Sums = Float[Array, "samples shifts"] | Float[np.ndarray, "samples shifts"]
EXACT = 1e-3
"""The error allowed to the series of an exact f on Ising rings of more than 24 spins."""
HALVES = 4
"""Parts of a sample, whose spread says how well it is known."""


class OrbitMean(AbstractClosure):
    """The mean over samples ``x``, all their shifts and both signs, as far as the law has these symmetries.

    ``there`` (pixel, shift): where a shift takes a pixel; ``back``: whence it comes; None without shifts. ``second``:
    E[X X'], where both signs are there.
    """

    x: Leaf
    there: Leaf | None
    back: Leaf | None
    second: Leaf | None

    def moments(self, w: Field) -> tuple[Number, Number]:
        s = self._sums(w)
        relu = abs(s) / 2 if self.second is not None else s * (s > 0)
        return relu.mean(), (s**2).mean() / 4 if self.second is not None else (relu**2).mean() / 2

    def gradients(self, w: Field) -> tuple[Field, Field]:
        s = self._sums(w)
        if self.second is not None:
            return self._seen((s > 0) - 0.5), self.second @ w / 2
        return self._seen((s >= 0) + 0.0), self._seen(s * (s > 0))

    def _sums(self, w: Field) -> Sums:
        """<w, X> of every sample moved by every shift."""
        return self.x @ (w[:, None] if self.there is None else w[self.there])

    def _seen(self, weights: Sums) -> Field:
        """The mean of all moved samples, each with its weight."""
        seen = self.x.T @ weights / weights.size
        if self.back is None:
            return seen[:, 0]
        return xp_of(seen).take_along_axis(seen, self.back, axis=0).sum(1)


def orbit_mean(stimulus: AbstractStimulus, x: Float[np.ndarray, "n pixels"]) -> OrbitMean:
    """The mean over the orbits of samples ``x`` of a ``stimulus``."""
    second = x.T @ x / len(x) if stimulus.sign_symmetric else None
    if not stimulus.shift_invariant:
        return OrbitMean(x, None, None, second)
    place = np.indices(stimulus.shape).reshape(len(stimulus.shape), -1)
    sides = np.array(stimulus.shape)[:, None, None]
    moved = (place[:, :, None] + sign * place[:, None, :] for sign in (1, -1))
    there, back = (np.asarray(np.ravel_multi_index(tuple(at % sides), stimulus.shape)) for at in moved)
    if second is not None:
        row = np.take_along_axis(second, there, axis=0).mean(1)  # E X_(i+j) X_j over all places j
        second = row[back]
    return OrbitMean(x, there, back, second)


def representatives(stimulus: AbstractStimulus, count: int, seed: int) -> Float[np.ndarray, "n pixels"]:
    """Samples that stand for a law: of copulas Sobol's points along the largest directions of the latent field
    first."""
    if not isinstance(stimulus, AbstractCopula):
        x = samples(stimulus, count, seed)
        return x if len(x) <= count else x[np.random.default_rng(seed).permutation(len(x))[:count]]
    size = math.prod(stimulus.shape)
    values, vectors = np.linalg.eigh(dense_circulant(np.asarray(stimulus.latent.row, float)))
    points = scipy.stats.qmc.Sobol(size, seed=seed).random(count)
    normal = scipy.special.ndtri(np.clip(points, 1e-12, 1 - 1e-12))
    z = normal @ (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1].T
    return stimulus.marginal.smoothed(z, np.zeros(size))


# How good something is ------------------------------------------------------------------------------------------------


class AbstractReference(eqx.Module):
    """The true f, as well as it is known."""

    def error(self, parts: Float[np.ndarray, "parts fields n"], f: Float[np.ndarray, "fields n"]) -> Estimate:
        """|f - truth|/|truth| at each of the fields, the truth in ``parts``."""
        truth = parts.mean(0)
        length = np.linalg.norm(truth, axis=1)
        if len(parts) == 1:
            return Estimate(np.linalg.norm(f - truth, axis=1) / length, np.zeros(len(f)))
        # The product of two parts' errors has no noise in its mean, where the square of one would have.
        gaps = f - parts
        pairs = [np.sum(a * b, axis=1) for i, a in enumerate(gaps) for b in gaps[:i]]
        square = np.maximum(np.mean(pairs, axis=0), 0)
        noise = np.linalg.norm(parts - truth, axis=2).mean(0) / math.sqrt(len(parts) - 1)
        return Estimate(np.sqrt(square) / length, noise / length)

    @abc.abstractmethod
    def parts(self, w: Float[np.ndarray, "fields n"]) -> Float[np.ndarray, "parts fields n"]:
        """f by each of several independent parts of a sample; one where it is exact."""


class ExactReference(AbstractReference):
    """A closed form, transfer matrices or a sum over states."""

    gate: AbstractGate

    def parts(self, w: Float[np.ndarray, "fields n"]) -> Float[np.ndarray, "parts fields n"]:
        return np.asarray(_exact(self.gate, jnp.asarray(w)))[None]


class SampledReference(AbstractReference):
    """Parts of a sample."""

    means: tuple[OrbitMean, ...]

    def parts(self, w: Float[np.ndarray, "fields n"]) -> Float[np.ndarray, "parts fields n"]:
        return np.stack([gated_inputs(mean, w) for mean in self.means])


@eqx.filter_jit
def _exact(gate: AbstractGate, w: Float[Array, "fields n"]) -> Float[Array, "fields n"]:
    return jax.lax.map(lambda one: gate(one)[0], w)


def reference(stimulus: AbstractStimulus, count: int = 2**16) -> AbstractReference:
    """The best truth that there is for f of a ``stimulus``; ``count``: samples where it has to be a sample."""
    gate = exact_gate(stimulus, EXACT)
    if gate is not None:
        return ExactReference(gate)
    size = count // HALVES
    parts = (representatives(stimulus, size, 1 + part) for part in range(HALVES))
    return SampledReference(tuple(orbit_mean(stimulus, x) for x in parts))
