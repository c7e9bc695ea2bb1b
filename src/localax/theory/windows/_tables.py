"""Tables of a window: how likely each of its cells is, and what the mean of all pixels is there.

Exact for Ising rings; for Gaussian copulas by quadrature inside each cell, where the mean of a pixel given the window's
latent values is the law's map smoothed by what they leave open; for everything else from samples.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np
import scipy

from ..._math import normal_nodes
from ..._types import Float, Int
from ...stimuli import AbstractCopula, AbstractStimulus
from ._levels import level_edges

Offsets = tuple[int, ...]
"""The pixels of a window, counted row by row, whose first is pixel 0."""
DRAWS = 2**16
"""Samples behind the tables of a law that has no better."""
POINTS = 2**15
"""Points at which the mean given the latent values is taken, over all cells together."""
ROWS = 2**20
"""Windows looked at in samples of a law that is the same at every place."""


@dataclass(frozen=True, eq=False)
class Table:
    """``chance`` (place, cell) and ``means`` (place, cell, pixel): E[X | cell], 0 where a cell is empty.

    There is one place where all are alike.
    """

    chance: np.ndarray
    means: np.ndarray


class Tables:
    """The tables of one stimulus, each made once.

    Of sign-symmetric laws on a ring or torus a cell and its mirror image are one, with the mean of the first of the
    two.
    """

    def __init__(self, stimulus: AbstractStimulus):
        self.stimulus = stimulus
        self.edges = functools.cache(self._edges)
        self.at_every_place = functools.cache(self._at_every_place)

    def at(self, offsets: Offsets, levels: int, starts: Sequence[int]) -> Table:
        """The table of the window ``offsets`` with so many ``levels`` a pixel, at each of ``starts``."""
        if self.stimulus.shift_invariant:
            return self.at_every_place(offsets, levels)
        found = [_sorted(self.x, tuple(start + o for o in offsets), self.edges(levels)) for start in starts]
        counts, totals = (np.stack(part) for part in zip(*found, strict=True))
        return Table(counts / len(self.x), totals / np.maximum(counts, 1)[..., None])

    @functools.cached_property
    def x(self) -> Float[np.ndarray, "n pixels"]:
        """Samples, with both signs where the law has no preference."""
        x = samples(self.stimulus)
        return np.concatenate([x, -x]) if self.stimulus.sign_symmetric else x

    def _edges(self, levels: int) -> np.ndarray:
        symmetric = self.stimulus.sign_symmetric
        if isinstance(self.stimulus, AbstractCopula) and self.stimulus.shift_invariant:
            return _latent_edges(self.stimulus, levels)
        some = self.x.ravel()[:: max(self.x.size // DRAWS, 1)]
        some = np.concatenate([some, -some]) if symmetric else some
        return level_edges(some, np.ones(len(some)), levels, symmetric=symmetric)

    def _at_every_place(self, offsets: Offsets, levels: int) -> Table:
        coupling = self.stimulus.ising_coupling()
        if coupling is not None:
            cells, chance, means = _ising(self.stimulus.shape[0], math.tanh(coupling), offsets)
        elif isinstance(self.stimulus, AbstractCopula):
            cells, chance, means = _copula(self.stimulus, offsets, self.edges(levels))
        else:
            cells, chance, means = _sampled(self.x, self.stimulus.shape, offsets, self.edges(levels))
        if self.stimulus.sign_symmetric:
            chance, means = _folded(cells, chance, means)
        return Table(chance[None], means[None])


def _folded(cells: Int[np.ndarray, "cells m"], chance: np.ndarray, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One of each cell and its mirror image, levels counted from the other end."""
    place = {tuple(cell): i for i, cell in enumerate(cells.tolist())}
    top = cells.max()
    mirror = np.array([place[tuple(cell)] for cell in (top - cells).tolist()])
    own = np.arange(len(cells))
    both, mean = (chance + chance[mirror]) / 2, chance[:, None] * means
    mean = (mean - mean[mirror]) / np.where(both > 0, 2 * both, 1)[:, None]
    kept = own <= mirror
    return np.where(own == mirror, 1, 2)[kept] * both[kept], mean[kept]


def _all_cells(levels: int, pixels: int) -> Int[np.ndarray, "cells m"]:
    return np.array(list(itertools.product(range(levels), repeat=pixels)))


# Ising ----------------------------------------------------------------------------------------------------------------


def _ising(size: int, t: float, offsets: Offsets) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Spins at some places of a ring: a chain of bonds t^distance that closes, whatever lies between summed over.

    Between two known spins a and b, at distances l and l', the mean is (t^l a + t^l' b)/(1 + t^(l + l') a b).
    """
    cells = _all_cells(2, len(offsets))
    spins = 2.0 * cells - 1
    gaps = np.diff([*offsets, offsets[0] + size])
    bonds = 1 + t ** gaps.astype(float) * spins * np.roll(spins, -1, axis=1)
    chance = np.prod(bonds, axis=1)
    pixels = np.arange(size)
    left = (np.searchsorted(offsets, pixels, side="right") - 1) % len(offsets)
    before = (pixels - np.asarray(offsets)[left]) % size
    after = gaps[left] - before
    a, b = spins[:, left], np.roll(spins, -1, axis=1)[:, left]
    closed = 1 + t ** (before + after).astype(float) * a * b
    means = (t ** before.astype(float) * a + t ** after.astype(float) * b) / np.where(closed > 0, closed, 1)
    means[:, np.asarray(offsets)] = spins  # with one spin alone, before and after are the same spin
    return cells, chance / chance.sum(), means


# Gaussian copulas -----------------------------------------------------------------------------------------------------


def _copula(stimulus: AbstractCopula, offsets: Offsets, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inside each cell, latent values one after the other, each by its law given those before and the cell's bounds."""
    bounds = np.concatenate([[-np.inf], edges, [np.inf]])
    cells = _all_cells(len(bounds) - 1, len(offsets))
    near, root, shadow = _latents(stimulus, offsets)
    noise, weight = _inside(cells, bounds, root)
    rest = np.maximum(1 - np.sum(shadow**2, axis=0), 0)
    rest[np.isin(near, offsets)] = 0
    given = stimulus.marginal.smoothed(noise.reshape(-1, len(offsets)) @ shadow, rest)
    share = weight / np.maximum(weight.sum(1, keepdims=True), 1e-300)
    means = np.zeros((len(cells), math.prod(stimulus.shape)))
    means[:, near] = np.einsum("cp,cpk->ck", share, given.reshape(*weight.shape, -1))
    chance = weight.sum(1) / weight.sum()
    return cells, *_mirrored(cells, chance, means, stimulus.shape, offsets)


def _latent_edges(stimulus: AbstractCopula, levels: int) -> np.ndarray:
    marginal, (z, weight) = stimulus.marginal, normal_nodes()
    atoms = marginal.atoms()
    if atoms is not None:
        edges = level_edges(*atoms, levels, symmetric=stimulus.sign_symmetric)
        return scipy.special.ndtri(np.array([np.sum(atoms[1][atoms[0] < edge]) for edge in edges]))
    x, _ = marginal.nodes()
    core = weight > 1e-20
    return np.interp(level_edges(x[core], weight[core], levels, symmetric=stimulus.sign_symmetric), x[core], z[core])


def _latents(stimulus: AbstractCopula, offsets: Offsets) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pixels that the window tells anything of, the root of its latent covariance, and what its noise adds to each."""
    row, axes = np.asarray(stimulus.latent.row, float), tuple(range(len(stimulus.shape)))
    moved = np.stack([np.roll(row, np.unravel_index(o, row.shape), axis=axes).ravel() for o in offsets])
    inside = moved[:, np.asarray(offsets)]
    root = np.linalg.cholesky(inside + 1e-12 * np.eye(len(offsets)))
    near = np.flatnonzero(np.max(np.abs(moved), axis=0) > 1e-12)
    return near, root, scipy.linalg.solve_triangular(root, moved[:, near], lower=True)


def _inside(cells: np.ndarray, bounds: np.ndarray, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points of the noise (cell, point, latent) in every cell and their weights, whose sum is the cell's chance."""
    nodes, weight = _unit_points(len(root), len(cells))
    noise = np.zeros((len(cells), *nodes.shape))
    weights = np.broadcast_to(weight, (len(cells), len(weight))).copy()
    for k in range(len(root)):
        known = noise[..., :k] @ root[k, :k]
        low, high = ((bounds[cells[:, k] + side, None] - known) / root[k, k] for side in (0, 1))
        noise[..., k], chance = _truncated(low, high, nodes[:, k])
        weights *= chance
    return noise, weights


def _truncated(low: np.ndarray, high: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantiles of a normal between two bounds, and the chance of these: by the lower tail, where digits are kept."""
    flip = low + high > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    below, above = scipy.special.ndtr(low), scipy.special.ndtr(high)
    at = scipy.special.ndtri(below + np.where(flip, 1 - share, share) * (above - below))
    at = np.clip(np.nan_to_num(at, neginf=-38.0, posinf=38.0), np.maximum(low, -38.0), np.maximum(high, -38.0))
    return np.where(flip, -at, at), above - below


def _unit_points(dimension: int, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights in the unit cube: Gauss and Legendre's for one or two dimensions, Sobol's for more."""
    if dimension > 2:
        count = 2 ** max(round(math.log2(POINTS / cells)), 6)
        points = scipy.stats.qmc.Sobol(dimension, seed=0).random(count)
        return np.clip(points, 1e-9, 1 - 1e-9), np.full(count, 1 / count)
    t, weight = np.polynomial.legendre.leggauss(16 if dimension == 1 else 12)
    grid = np.meshgrid(*[(t + 1) / 2] * dimension, indexing="ij")
    together = np.meshgrid(*[weight / 2] * dimension, indexing="ij")
    return np.stack([g.ravel() for g in grid], axis=1), np.prod([g.ravel() for g in together], axis=0)


def _mirrored(
    cells: np.ndarray, chance: np.ndarray, means: np.ndarray, shape: tuple[int, ...], offsets: Offsets
) -> tuple[np.ndarray, np.ndarray]:
    """The mean with the same seen from the window's other end, which a Gaussian field cannot tell apart."""
    there = np.indices(shape).reshape(len(shape), -1)
    last = np.array(np.unravel_index(offsets[-1], shape))[:, None]
    turned = np.asarray(np.ravel_multi_index(tuple((last - there) % np.array(shape)[:, None]), shape))
    place = {tuple(cell): i for i, cell in enumerate(cells.tolist())}
    order = np.array([offsets.index(turned[o]) for o in offsets])
    other = np.array([place[tuple(cell)] for cell in cells[:, order].tolist()])
    both, mean = (chance + chance[other]) / 2, chance[:, None] * means
    mean = (mean + mean[other][:, turned]) / np.where(both > 0, 2 * both, 1)[:, None]
    return both, mean


# Samples --------------------------------------------------------------------------------------------------------------


def samples(stimulus: AbstractStimulus, count: int = DRAWS, seed: int = 0) -> Float[np.ndarray, "n pixels"]:
    """The data where there are some, else draws, in float64 with pixels flattened."""
    data = stimulus.dataset()
    if data is None:
        data = np.asarray(stimulus.sample(jax.random.key(seed), count))
    return np.asarray(data, float).reshape(len(data), -1)


def _sampled(
    x: np.ndarray, shape: tuple[int, ...], offsets: Offsets, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples of a law that is the same at every place, moved about."""
    cells = _all_cells(len(edges) + 1, len(offsets))
    count = max(min(ROWS // len(x), x.shape[1]), 1)
    shifts = np.unravel_index(np.linspace(0, x.shape[1], count, endpoint=False).astype(int), shape)
    axes = tuple(range(1, len(shape) + 1))
    chance, means = np.zeros(len(cells)), np.zeros((len(cells), x.shape[1]))
    for shift in zip(*shifts, strict=True):
        n, total = _sorted(np.roll(x.reshape(-1, *shape), shift, axis=axes).reshape(len(x), -1), offsets, edges)
        chance, means = chance + n, means + total
    return cells, chance / chance.sum(), means / np.maximum(chance, 1)[:, None]


def _sorted(x: np.ndarray, pixels: Offsets, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many samples fall in every cell, and their sum there."""
    base = len(edges) + 1
    cell = np.zeros(len(x), int)
    for pixel in pixels:
        cell = base * cell + np.searchsorted(edges, x[:, pixel], side="right")
    size = base ** len(pixels)
    which = scipy.sparse.csr_matrix((np.ones(len(x)), (cell, np.arange(len(x)))), shape=(size, len(x)))
    return np.bincount(cell, minlength=size).astype(float), which @ x


def tables_of(stimulus: AbstractStimulus) -> Tables:
    """The tables of a stimulus, or of what it is a multiple of."""
    return Tables(stimulus.multiple_of()[0])
