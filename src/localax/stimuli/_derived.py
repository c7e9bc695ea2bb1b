"""Stimuli made from other stimuli: the Gaussian with the same covariance, and what affine maps of samples give."""

import abc
import functools
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._errors import setting_error
from .._math import circular_convolve, circular_correlate, dense_circulant
from .._text import parts
from .._types import Float, Key, Leaf, Row, Samples
from ..spec import Setting, Size, validated
from ._base import AbstractStimulus, checked_stimulus
from ._copula import NLGP, Copula, Gaussian, Kur
from ._elliptical import Elliptical
from ._empirical import LARGEST, NaturalPatches, standardised
from ._field import AbstractField, matrix_field, row_field
from ._ising import Ising
from ._kernels import AbstractKernel, CentreSurround, Taps
from ._marginals import AbstractMarginal, EvenPixel, LognormalMixture, Moved, Weighted
from ._normal_maps import Normal
from ._pulses import BlockPulse, SinglePulse
from ._sketch import Sketched
from ._support import Support

LAWS = (Ising, NLGP, Kur, Gaussian, Copula, Elliptical, SinglePulse, BlockPulse, NaturalPatches)
PIECE = Setting("pixels of the piece, or (height, width) of the corner", kind="size")
AFFINE = f"a finite number other than 0, from {1 / LARGEST:g} to {LARGEST:g} in size"
DRIFT = 1e5
"""Offsets of more standard deviations leave float32 samples less than two digits of what varies."""
INNER = Setting("any stimulus", options=lambda: (*LAWS, GaussianClone, Filtered, Affine, Window, RandomScale))


class GaussianClone(AbstractStimulus):
    """The Gaussian with the mean and covariance of another stimulus: what is left when only two moments count."""

    size: Size = eqx.field(static=True)
    stimulus: Annotated[AbstractStimulus, INNER]
    field: AbstractField
    amplitude: Leaf
    location: Leaf

    def __init__(self, stimulus: AbstractStimulus):
        self.stimulus = checked_stimulus(GaussianClone, stimulus)
        self.size = stimulus.size
        self.location = np.asarray(stimulus.mean())
        power = float(np.mean(stimulus.pixel_variances()))
        if power <= 0:
            raise setting_error(GaussianClone, "stimulus", stimulus, "a stimulus that varies")
        self.amplitude = np.asarray(np.sqrt(power))
        if stimulus.shift_invariant:
            self.field = row_field(stimulus.covariance() / power, f"the covariance of {type(stimulus).__name__}")
        else:
            self.field = matrix_field(stimulus.covariance_matrix() / power, stimulus.shape)

    def draw(self, key: Key, n: int, dtype) -> Samples:
        field = self.field.draw(key, n, dtype) * jnp.asarray(self.amplitude, dtype)
        return field + jnp.asarray(self.location, dtype)

    def covariance(self) -> Row:
        return self.stimulus.covariance()

    def covariance_matrix(self) -> Float[np.ndarray, "n n"]:
        return self.stimulus.covariance_matrix()

    @property
    def is_gaussian(self) -> bool:
        return True

    @property
    def marginal(self) -> AbstractMarginal:
        return _even_pixel(self, Normal())

    def mean(self) -> Row:
        return np.asarray(self.location)

    @property
    def shift_invariant(self) -> bool:
        return self.stimulus.shift_invariant

    @property
    def sign_symmetric(self) -> bool:
        return bool(np.all(self.location == 0))


class AbstractMapped(AbstractStimulus):
    """Another stimulus, every sample of which goes through one affine map."""

    stimulus: eqx.AbstractVar[AbstractStimulus]

    @abc.abstractmethod
    def through(self, x: Any) -> Any:
        """The map, of samples ``x`` in an array of numpy or JAX."""

    @property
    def keeps_origin(self) -> bool:
        """Whether the map takes 0 to 0."""
        return True

    def draw(self, key: Key, n: int, dtype) -> Samples:
        return self.through(self.stimulus.draw(key, n, dtype))

    def mean(self) -> Row:
        return self.through(self.stimulus.mean()[None])[0]

    def dataset(self) -> Float[np.ndarray, "n *pixels"] | None:
        data = self.stimulus.dataset()
        return None if data is None else self.through(np.asarray(data, float))

    def support(self) -> Support | None:
        law = self.stimulus.support()
        if law is None:
            return None
        states = self.through(law.states.reshape(-1, *self.stimulus.shape))
        return Support(states.reshape(len(states), -1), law.probabilities)

    def standard_marginal(self) -> AbstractMarginal:
        data = self.dataset()
        if data is not None:
            return standardised(data)
        constant = self.elliptical_constant()
        return super().standard_marginal() if constant is None else self.stimulus.standard_marginal()

    def sketch(self) -> AbstractStimulus:
        return _of_sketch(self)

    @property
    def is_gaussian(self) -> bool:
        return self.stimulus.is_gaussian

    def elliptical_constant(self) -> float | None:
        own = super().elliptical_constant()
        return self.stimulus.elliptical_constant() if own is None and self.keeps_origin else own

    @property
    def shift_invariant(self) -> bool:
        return self.stimulus.shift_invariant

    @property
    def sign_symmetric(self) -> bool:
        return self.stimulus.sign_symmetric and self.keeps_origin


class Filtered(AbstractMapped):
    """Any stimulus convolved with a kernel on its ring or torus, scaled back to a mean variance of 1."""

    size: Size = eqx.field(static=True)
    stimulus: Annotated[AbstractStimulus, INNER]
    kernel: Annotated[AbstractKernel, Setting("the filter", options=lambda: (CentreSurround,))]
    taps: Leaf

    def __init__(self, stimulus: AbstractStimulus, kernel):
        self.stimulus = checked_stimulus(Filtered, stimulus)
        self.size = stimulus.size
        self.kernel = kernel if isinstance(kernel, AbstractKernel) else Taps(kernel)
        row = self.kernel.row(stimulus.shape)
        alike = stimulus.shift_invariant
        power = _filtered_row(stimulus, row).flat[0] if alike else np.diag(_filtered_matrix(stimulus, row)).mean()
        if not power > 1e-12 * np.mean(stimulus.pixel_variances()) * np.sum(row**2):
            raise setting_error(Filtered, "kernel", kernel, "a filter that leaves some of the stimulus")
        self.taps = row / np.sqrt(power)

    def through(self, x: Any) -> Any:
        taps = jnp.asarray(self.taps, x.dtype) if isinstance(x, jax.Array) else np.asarray(self.taps)
        return circular_convolve(x, taps, len(self.shape))

    def covariance(self) -> Row:
        if self.shift_invariant:
            return _filtered_row(self.stimulus, np.asarray(self.taps))
        return self.covariance_matrix()[0].reshape(self.shape)

    def covariance_matrix(self) -> Float[np.ndarray, "n n"]:
        return _filtered_matrix(self.stimulus, np.asarray(self.taps))

    @functools.cached_property
    def marginal(self) -> AbstractMarginal:
        """A pixel, each as likely."""
        return _any_pixel(self)

    def sketch(self) -> AbstractStimulus:
        return _of_sketch(self) if not self.shift_invariant or _family_is_kept(self) else Sketched(self)


class Affine(AbstractMapped):
    """Any stimulus, every pixel times a scale and plus an offset: its variance is scale^2 times what it was."""

    size: Size = eqx.field(static=True)
    stimulus: Annotated[AbstractStimulus, INNER]
    scale: Annotated[Leaf, Setting("factor of every pixel, not 0", typical=(0.5, 2))]
    offset: Annotated[Leaf, Setting("what is added to every pixel", typical=(-1, 1))]

    def __init__(self, stimulus: AbstractStimulus, scale=1.0, offset=0.0):
        self.stimulus = checked_stimulus(Affine, stimulus)
        self.size = stimulus.size
        self.scale, self.offset = validated(Affine, scale=scale, offset=offset)
        if not 1 / LARGEST <= abs(self.scale) <= LARGEST:
            raise setting_error(Affine, "scale", scale, AFFINE)
        if not self.keeps_origin:
            self._refuse_drift()

    def through(self, x: Any) -> Any:
        xp = jnp if isinstance(x, jax.Array) else np
        return x * xp.asarray(self.scale, x.dtype) + xp.asarray(self.offset, x.dtype)

    def _refuse_drift(self) -> None:
        spread = float(abs(self.scale) * np.sqrt(np.mean(self.stimulus.pixel_variances())))
        if abs(self.offset) > (DRIFT * spread or LARGEST):
            expected = f"at most {DRIFT:g} standard deviations ({spread:g}), beyond which float32 rounds samples away"
            raise setting_error(Affine, "offset", float(self.offset), expected)

    @property
    def keeps_origin(self) -> bool:
        return bool(self.offset == 0)

    def covariance(self) -> Row:
        return float(self.scale) ** 2 * self.stimulus.covariance()

    def covariance_matrix(self) -> Float[np.ndarray, "n n"]:
        return float(self.scale) ** 2 * self.stimulus.covariance_matrix()

    @property
    def marginal(self) -> AbstractMarginal:
        return Moved(self.stimulus.marginal, float(self.scale), float(self.offset))

    def standard_marginal(self) -> AbstractMarginal:
        return Moved(self.stimulus.standard_marginal(), float(self.scale), 0.0)

    def sign_correlation(self) -> Row | None:
        return self.stimulus.sign_correlation() if self.keeps_origin else None

    def ising_coupling(self) -> float | None:
        return self.stimulus.ising_coupling() if self.keeps_origin and abs(self.scale) == 1 else None

    def one_pixel_input(self) -> Row | None:
        alike = self.keeps_origin and (self.scale > 0 or self.sign_symmetric)
        inner = self.stimulus.one_pixel_input() if alike else None
        return super().one_pixel_input() if inner is None else abs(float(self.scale)) * inner

    def multiple_of(self) -> tuple[AbstractStimulus, float]:
        stimulus, factor = self.stimulus.multiple_of()
        return (stimulus, factor * float(self.scale)) if self.keeps_origin else (self, 1.0)


class Window(AbstractMapped):
    """A piece of a longer ring or a larger torus, with open ends: its first pixels, or its upper left corner."""

    size: Annotated[Size, PIECE] = eqx.field(static=True)
    stimulus: Annotated[AbstractStimulus, INNER]

    def __init__(self, stimulus: AbstractStimulus, size: Size):
        self.stimulus = checked_stimulus(Window, stimulus)
        (self.size,) = validated(Window, size=size)
        whole = stimulus.shape
        if len(self.shape) != len(whole) or any(a > b for a, b in zip(self.shape, whole, strict=True)):
            raise setting_error(Window, "size", size, f"no larger than the stimulus, {stimulus.size}")

    @property
    def _corner(self) -> tuple[slice, ...]:
        return tuple(slice(side) for side in self.shape)

    def through(self, x: Any) -> Any:
        return x[:, *self._corner]

    @property
    def shift_invariant(self) -> bool:
        return False

    def covariance(self) -> Row:
        return self.stimulus.covariance()[self._corner]

    def covariance_matrix(self) -> Float[np.ndarray, "n n"]:
        if self.stimulus.shift_invariant:
            return dense_circulant(self.stimulus.covariance(), self.shape)
        kept = np.arange(np.prod(self.stimulus.shape)).reshape(self.stimulus.shape)[self._corner].ravel()
        return self.stimulus.covariance_matrix()[np.ix_(kept, kept)]

    @functools.cached_property
    def marginal(self) -> AbstractMarginal:
        """A pixel, each as likely."""
        return self.stimulus.marginal if self.stimulus.shift_invariant else _any_pixel(self)

    def sign_correlation(self) -> Row | None:
        signs = self.stimulus.sign_correlation()
        return None if signs is None else signs[self._corner]

    def one_pixel_input(self) -> Row | None:
        inner = self.stimulus.one_pixel_input()
        return None if inner is None else inner[self._corner]


class RandomScale(AbstractStimulus):
    """Any stimulus, every sample times a random factor exp(spread Z - spread^2) of its own, whose square has mean 1.

    Directions stay as they are, so that no gate sees the factor; tails become heavy: the kurtosis grows by
    e^(4 spread^2) where the mean is 0, and the variance stays.
    """

    size: Size = eqx.field(static=True)
    stimulus: Annotated[AbstractStimulus, INNER]
    spread: Annotated[Leaf, Setting("standard deviation of the factor's logarithm", ge=0, le=2, typical=(0.1, 0.6))]

    def __init__(self, stimulus: AbstractStimulus, spread=0.5):
        self.stimulus = checked_stimulus(RandomScale, stimulus)
        self.size = stimulus.size
        (self.spread,) = validated(RandomScale, spread=spread)

    def draw(self, key: Key, n: int, dtype) -> Samples:
        inner, outer = jax.random.split(key)
        spread = jnp.asarray(self.spread, dtype)
        factor = jnp.exp(spread * jax.random.normal(outer, (n, *(1,) * len(self.shape)), dtype) - spread**2)
        return factor * self.stimulus.draw(inner, n, dtype)

    def mean_factor(self) -> float:
        """E A = e^(-spread^2/2), by which every E|<w,X>| shrinks."""
        return float(np.exp(-(float(self.spread) ** 2) / 2))

    def mean(self) -> Row:
        return self.mean_factor() * self.stimulus.mean()

    def covariance(self) -> Row:
        if self.shift_invariant:
            return self.stimulus.covariance() + self._lost() * self.stimulus.mean().flat[0] ** 2
        return self.covariance_matrix()[0].reshape(self.shape)

    def covariance_matrix(self) -> Float[np.ndarray, "n n"]:
        mean = self.stimulus.mean().ravel()
        return self.stimulus.covariance_matrix() + self._lost() * np.outer(mean, mean)

    def _lost(self) -> float:
        """1 - (E A)^2: the part of a squared mean that becomes variance."""
        return 1 - self.mean_factor() ** 2

    @property
    def marginal(self) -> AbstractMarginal:
        return LognormalMixture(self.stimulus.marginal, float(self.spread))

    def standard_marginal(self) -> AbstractMarginal:
        return LognormalMixture(self.stimulus.standard_marginal(), float(self.spread))

    def sketch(self) -> AbstractStimulus:
        return _of_sketch(self)

    def sign_correlation(self) -> Row | None:
        return self.stimulus.sign_correlation()

    @property
    def is_gaussian(self) -> bool:
        return bool(self.spread == 0) and self.stimulus.is_gaussian

    def elliptical_constant(self) -> float | None:
        inner = self.stimulus.elliptical_constant()
        return None if inner is None else self.mean_factor() * inner

    def one_pixel_input(self) -> Row | None:
        inner = self.stimulus.one_pixel_input()
        return None if inner is None else self.mean_factor() * inner

    def multiple_of(self) -> tuple[AbstractStimulus, float]:
        stimulus, factor = self.stimulus.multiple_of()
        return stimulus, factor * self.mean_factor()

    @property
    def shift_invariant(self) -> bool:
        return self.stimulus.shift_invariant

    @property
    def sign_symmetric(self) -> bool:
        return self.stimulus.sign_symmetric


def _of_sketch(stimulus: AbstractMapped | RandomScale) -> AbstractStimulus:
    """The same made from a sketch of what it is made from."""
    inner = stimulus.stimulus.sketch()
    return stimulus if inner is stimulus.stimulus else type(stimulus)(**{**parts(stimulus), "stimulus": inner})


def _family_is_kept(stimulus: AbstractStimulus) -> bool:
    return stimulus.is_gaussian or stimulus.elliptical_constant() is not None


def _any_pixel(stimulus: AbstractMapped) -> AbstractMarginal:
    """A pixel, each as likely: exact where the map keeps the family (Gaussian, elliptical) and for finite data, else
    estimated from one pixel each of 2^17 draws."""
    if _family_is_kept(stimulus):
        return _even_pixel(stimulus, stimulus.stimulus.standard_marginal())
    data = stimulus.dataset()
    if data is not None:
        return Weighted(data)
    flat = np.asarray(stimulus.sample(jax.random.key(2**17), 2**17)).reshape(2**17, -1)  # a key of its own
    rows = np.arange(len(flat))
    return Weighted(flat[rows, rows % flat.shape[1]], estimated=True)


def _even_pixel(stimulus: AbstractStimulus, standard: AbstractMarginal) -> EvenPixel:
    """The law of a pixel where all are moved and stretched versions of one law, of which one is enough where alike."""
    count = 1 if stimulus.shift_invariant else None
    return EvenPixel(standard, stimulus.mean().ravel()[:count], stimulus.pixel_variances().ravel()[:count])


def _filtered_row(stimulus: AbstractStimulus, kernel: Row) -> Row:
    once = circular_convolve(stimulus.covariance(), kernel, kernel.ndim)
    return np.asarray(circular_correlate(once, kernel, kernel.ndim))


def _filtered_matrix(stimulus: AbstractStimulus, kernel: Row) -> Float[np.ndarray, "n n"]:
    operator = dense_circulant(kernel)
    return operator @ stimulus.covariance_matrix() @ operator.T
