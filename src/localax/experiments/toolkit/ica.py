"""Independent components as the figures need them: until FastICA has converged, and what its contrast itself prefers.

FastICA looks for directions of unit variance at which E log cosh is far from its value for a Gaussian. That distance
is known without a sample in three places. A single pixel has the marginal law. A direction that adds up many pixels is
Gaussian within a class, but the classes mix Gaussians of different variance: at a random direction of the whitened
space these are the means over all waves, and at a wave they are its own. Of whitened pixels it takes samples.
"""

import math
import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...stimuli import AbstractMarginal, Task

Algorithm = Literal["parallel", "deflation"]
NODES = 200
"""Of the quadrature for a Gaussian: its error is below 1e-13."""


@dataclass(frozen=True, eq=False)
class Components:
    """Filters (component, *pixels), the iterations they took, and whether these were enough.

    By deflation it is the iterations of the component that took most.
    """

    filters: np.ndarray
    iterations: int
    converged: bool

    def told(self) -> str:
        """How the fit ended, in words."""
        return f"converged after {self.iterations}" if self.converged else f"not converged after {self.iterations}"


def unmixed(x: np.ndarray, components: int, most: int, algorithm: Algorithm = "parallel") -> Components:
    """FastICA, as scikit-learn has it, until its filters change by less than 1e-4 or for so many iterations at most.

    That it does not converge is a result: where no direction stands out there is nothing to converge to.
    `localax.analysis.ica` does not tell how many iterations it took.
    """
    from sklearn.decomposition import FastICA
    from threadpoolctl import threadpool_limits

    model = FastICA(
        components, algorithm=algorithm, whiten="unit-variance", whiten_solver="eigh", max_iter=most, tol=1e-4,
        random_state=0,
    )  # fmt: skip
    with threadpool_limits(1), warnings.catch_warnings():  # threads spend more than they gain on products so small
        warnings.filterwarnings("ignore", message=".*did not converge")
        filters = model.fit(x.reshape(len(x), -1)).components_
    filters = filters / np.linalg.norm(filters, axis=1, keepdims=True)
    return Components(filters.reshape(components, *x.shape[1:]), int(model.n_iter_), model.n_iter_ < most)


# The contrast ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contrast:
    """E log cosh less its value for a Gaussian at three kinds of directions; FastICA maximises the square of it."""

    pixel: float
    random: float
    wave: float
    """The wave at which it is largest in size."""


def contrast(task: Task) -> Contrast:
    """The contrast of classes that differ in their covariance, and not in the law of a pixel."""
    spectra = np.array([np.fft.fftn(s.covariance()).real.ravel() for s in task.stimuli])
    shares = np.array(task.proportions)
    variances = spectra / (shares @ spectra)  # of the classes at every wave, whitened
    waves = _mixture(variances, shares)
    return Contrast(
        pixel=pixel_contrast(task.stimuli[0].marginal),
        random=float(_mixture(variances.mean(1, keepdims=True), shares)[0]),
        wave=float(waves[np.argmax(np.abs(waves))]),
    )


def pixel_contrast(marginal: AbstractMarginal) -> float:
    """That of one pixel: negative for heavy tails, positive for none, and not by the kurtosis alone."""
    values, weights = marginal.nodes()
    standard = (values - marginal.mean()) / math.sqrt(marginal.variance())
    return float(weights @ _log_cosh(standard)) - float(_gaussian(np.ones(1))[0])


def whitened_contrast(x: np.ndarray) -> tuple[float, float]:
    """That of a pixel of whitened samples (sample, pixel), on average over pixels, and its standard error.

    Components are uncorrelated, as pixels are not: of all uncorrelated directions these are nearest to them.
    """
    values, waves = np.linalg.eigh(np.cov(x.T))
    white = (x - x.mean(0)) @ (waves / np.sqrt(values) @ waves.T)
    each = _log_cosh(white).mean(1)
    return float(each.mean() - _gaussian(np.ones(1))[0]), float(each.std() / math.sqrt(len(x)))


def _mixture(variances: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """That of a mixture of Gaussians with variances (class, direction) of mean 1."""
    return shares @ _gaussian(variances) - _gaussian(np.ones(1))


def _gaussian(variances: np.ndarray) -> np.ndarray:
    """E log cosh of centred Gaussians."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return _log_cosh(np.sqrt(np.maximum(variances, 0))[..., None] * nodes) @ (weights / weights.sum())


def _log_cosh(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(x, -x) - math.log(2)
