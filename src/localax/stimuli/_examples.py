"""A short- and a long-lengthscale example of every stimulus, for the battery, the gallery and the benchmarks."""

from collections.abc import Callable

import jax
import numpy as np

from ._base import AbstractStimulus
from ._copula import NLGP, Copula, Gaussian, Kur
from ._covariances import Exponential
from ._derived import Affine, Filtered, GaussianClone, RandomScale, Window
from ._elliptical import Elliptical, Shell
from ._empirical import Empirical, NaturalPatches
from ._ising import Ising
from ._kernels import CentreSurround
from ._normal_maps import Uniform
from ._pulses import BlockPulse, SinglePulse

Pair = tuple[AbstractStimulus, AbstractStimulus]


def _pulses(size: int) -> Pair:
    """Pulses of 5-10% and of 20-25% of the ring, lengths of the authors' runs."""
    short, long = (size // 20 + 1, size // 10), (size // 5 + 1, size // 4)
    return SinglePulse(size, min(short), max(short)), SinglePulse(size, min(long), max(long))


def _data(size: int) -> Pair:
    short, long = (
        Empirical(np.asarray(NLGP(size, lengthscale, 3).sample(jax.random.key(i), 2000)))
        for i, lengthscale in enumerate((1, 3))
    )
    return short, long


EXAMPLES: dict[type[AbstractStimulus], Callable[[int], Pair]] = {
    Ising: lambda n: (Ising(n, 0.3), Ising(n, 1.2)),
    NLGP: lambda n: (NLGP(n, 1, 3), NLGP(n, 3, 3)),
    Kur: lambda n: (Kur(n, 1, 5), Kur(n, 3, 5)),
    Gaussian: lambda n: (Gaussian(n, 1), Gaussian(n, 3)),
    Copula: lambda n: (Copula(n, Exponential(1), Uniform()), Copula(n, Exponential(3), Uniform())),
    Elliptical: lambda n: (Elliptical(n, 1, Shell()), Elliptical(n, 3, Shell())),
    SinglePulse: _pulses,
    BlockPulse: lambda n: (BlockPulse(n, 2), BlockPulse(n, min(6, n))),
    GaussianClone: lambda n: (GaussianClone(Ising(n, 0.3)), GaussianClone(Ising(n, 1.2))),
    Filtered: lambda n: (Filtered(NLGP(n, 1, 3), CentreSurround()), Filtered(NLGP(n, 3, 3), CentreSurround())),
    Affine: lambda n: (Affine(NLGP(n, 1, 3), 2), Affine(NLGP(n, 3, 3), 2)),
    Window: lambda n: (Window(NLGP(2 * n, 1, 3), n), Window(NLGP(2 * n, 3, 3), n)),
    RandomScale: lambda n: (RandomScale(NLGP(n, 1, 3), 0.5), RandomScale(NLGP(n, 3, 3), 0.5)),
    Empirical: _data,
    NaturalPatches: lambda n: (NaturalPatches(n, "whitened"), NaturalPatches(n, "raw")),
}
"""For each stimulus, its two examples on a ring of n pixels."""

ALL = tuple(EXAMPLES)
