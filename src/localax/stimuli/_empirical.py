"""Somebody's own data, and patches of the photographs that ship with scikit-learn and scikit-image."""

import functools
from typing import Annotated, Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._errors import setting_error
from .._types import Float, Key, Leaf, Row, Samples
from ..spec import Setting, Size, SizeField, checked_size, validated
from ._base import AbstractStimulus
from ._marginals import Weighted
from ._sketch import NUMBERS
from ._support import Support, even_support


class Empirical(AbstractStimulus):
    """Samples from outside, drawn with replacement; neither periodic nor symmetric, and on their own scale.

    ``samples``: finite numbers of shape (n, pixels) or (n, height, width), kept in float32.
    """

    size: Size = eqx.field(static=True)
    samples: Leaf

    def __init__(self, samples: Any):
        self.samples = checked_samples(Empirical, samples)
        self.size = checked_size(Empirical, self.samples.shape[1:])

    def draw(self, key: Key, n: int, dtype) -> Samples:
        index = jax.random.randint(key, (n,), 0, self.samples.shape[0], jnp.int32)
        return jnp.asarray(self.samples)[index].astype(dtype)

    def mean(self) -> Row:
        return np.asarray(self.samples, float).mean(0)

    def covariance(self) -> Row:
        return self.covariance_matrix()[0].reshape(self.shape)

    def covariance_matrix(self) -> Float[np.ndarray, "n n"]:
        flat = np.asarray(self.samples, float).reshape(self.samples.shape[0], -1)
        flat = flat - flat.mean(0)
        return flat.T @ flat / len(flat)

    @property
    def marginal(self) -> Weighted:
        return Weighted(np.asarray(self.samples))

    def sketch(self) -> "Empirical":
        every = -(-self.samples.size // NUMBERS)
        return self if every == 1 else Empirical(np.asarray(self.samples)[::every])

    def standard_marginal(self) -> Weighted:
        return standardised(self.dataset())

    def dataset(self) -> Float[np.ndarray, "n *pixels"]:
        return np.asarray(self.samples)

    def support(self) -> Support:
        return even_support(np.asarray(self.samples, float).reshape(len(self.samples), -1))

    @property
    def shift_invariant(self) -> bool:
        return False

    @property
    def sign_symmetric(self) -> bool:
        return False


def standardised(samples: Float[np.ndarray, "n *pixels"]) -> Weighted:
    """All pixels in units of their own standard deviation, those that never vary left out."""
    centred = np.asarray(samples, float) - np.mean(samples, axis=0, dtype=float)
    deviation = centred.std(0)
    varies = np.broadcast_to(deviation > 0, centred.shape)
    if not varies.any():
        raise setting_error(Empirical, "samples", "the same in every sample", "samples that vary")
    return Weighted(centred / np.where(deviation > 0, deviation, 1), varies)


def checked_samples(cls: type | str, samples: Any) -> Float[np.ndarray, "n *pixels"]:
    """Samples as a finite float32 array (n, pixels) or (n, height, width), or one line that says what is wrong."""
    expected = "finite numbers of shape (n, pixels) or (n, height, width)"
    try:
        array = np.asarray(samples)
    except ValueError as error:  # ragged nested lists
        raise setting_error(cls, "samples", samples, expected) from error
    if array.dtype.kind not in "iuf" or array.ndim not in (2, 3) or array.size == 0:
        raise setting_error(cls, "samples", f"{array.dtype} array of shape {array.shape}", expected)
    with np.errstate(over="ignore"):  # what float32 cannot hold is refused below
        single = array.astype(np.float32)
    if not np.all(np.isfinite(single)):
        bad = np.argwhere(~np.isfinite(single))[0].tolist()
        raise setting_error(cls, "samples", f"a value that is not finite at {bad}", expected)
    top = float(np.max(np.abs(array)))
    if top and not 1 / LARGEST <= top <= LARGEST:
        scaled = f"numbers the largest of which is from {1 / LARGEST:g} to {LARGEST:g} (divide them by their deviation)"
        raise setting_error(cls, "samples", f"numbers up to {top:.3g}", scaled)
    return single


LARGEST = 1e15
"""Numbers beyond this, and data wholly below its inverse, have squares and products that float32 cannot hold."""


TREATMENTS = ("raw", "whitened", "centre-surround")


class NaturalPatches(AbstractStimulus):
    """Patches of real photographs, grey, centred, variance 1; optionally whitened or centre-surround filtered."""

    size: SizeField = eqx.field(static=True)
    treatment: Annotated[str, Setting("what is done to the photographs", kind=str, choices=TREATMENTS)] = eqx.field(
        static=True
    )
    images: Leaf

    def __init__(self, size: Size = (16, 16), treatment: Literal["raw", "whitened", "centre-surround"] = "raw"):
        self.size, self.treatment = validated(NaturalPatches, size=size, treatment=treatment)
        self.images = _photographs(treatment)
        if max(self.shape) > SIDE:
            raise setting_error(NaturalPatches, "size", size, f"at most {SIDE} a side (the photographs' size)")

    @property
    def _window(self) -> tuple[int, int]:
        return self.shape if len(self.shape) == 2 else (1, self.shape[0])

    def draw(self, key: Key, n: int, dtype) -> Samples:
        height, width = self._window
        which, top, left = (
            jax.random.randint(k, (n,), 0, bound, jnp.int32)
            for k, bound in zip(
                jax.random.split(key, 3), (len(self.images), SIDE - height + 1, SIDE - width + 1), strict=True
            )
        )
        images = jnp.asarray(self.images)
        cut = jax.vmap(lambda i, y, x: jax.lax.dynamic_slice(images, (i, y, x), (1, height, width)))
        return cut(which, top, left).reshape(n, *self.shape).astype(dtype)

    def covariance(self) -> Row:
        return self.covariance_matrix()[0].reshape(self.shape)

    def mean(self) -> Row:
        return self._moments[0].reshape(self.shape)

    def covariance_matrix(self) -> Float[np.ndarray, "n n"]:
        """Over every patch of every photograph."""
        return self._moments[1]

    @property
    def _moments(self) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n n"]]:
        return _patch_moments(self.treatment, self._window)

    def sketch(self) -> Empirical:
        """Patches at random places, cut by numpy: nothing is compiled for another size."""
        rng, count = np.random.default_rng(0), max(16, NUMBERS // int(np.prod(self.shape)))
        patches = np.lib.stride_tricks.sliding_window_view(np.asarray(self.images), self._window, axis=(1, 2))
        places = (rng.integers(side, size=count) for side in patches.shape[:3])
        return Empirical(patches[*places].reshape(count, *self.shape))

    @property
    def marginal(self) -> Weighted:
        """All pixels, each as often as patches cover it."""
        rows, columns = (_coverage(side) for side in self._window)
        weights = np.broadcast_to(np.outer(rows, columns), self.images.shape)
        return Weighted(np.asarray(self.images), weights)

    @property
    def shift_invariant(self) -> bool:
        return False

    @property
    def sign_symmetric(self) -> bool:
        return False


SIDE = 400
"""Photographs are cut to this many pixels a side, so that they stack."""


def _coverage(window: int) -> np.ndarray:
    return np.convolve(np.ones(SIDE - window + 1), np.ones(window))


@functools.lru_cache(maxsize=4)
def _patch_moments(treatment: str, window: tuple[int, int]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n n"]]:
    """Mean and covariance of all patches, row by row of their places, which keeps memory small."""
    total, outer, count = 0.0, 0.0, 0
    for image in np.asarray(_photographs(treatment), float):
        for band in np.lib.stride_tricks.sliding_window_view(image, window):
            flat = band.reshape(len(band), -1)
            total, outer, count = total + flat.sum(0), outer + flat.T @ flat, count + len(flat)
    mean = np.asarray(total) / count
    return mean, np.asarray(outer) / count - np.outer(mean, mean)


@functools.cache
def _photographs(treatment: str) -> np.ndarray:
    """The photographs as (image, row, column), float32, of mean 0 and variance 1 together."""
    images = np.stack([_treated(_grey(photo), treatment) for photo in _raw_photographs()])
    images = images - images.mean()
    return (images / images.std()).astype(np.float32)


def _raw_photographs() -> list[np.ndarray]:
    from skimage import data
    from sklearn.datasets import load_sample_images

    return [
        *load_sample_images().images,
        data.astronaut(),
        data.camera(),
        data.coffee(),
        data.rocket(),
        data.chelsea(),
    ]


def _grey(photo: np.ndarray) -> np.ndarray:
    from skimage.color import rgb2gray
    from skimage.transform import resize

    grey = rgb2gray(photo) if photo.ndim == 3 else photo / 255.0
    top, left = ((side - SIDE) // 2 for side in grey.shape)
    if min(grey.shape) < SIDE:
        return np.asarray(resize(grey[:, : min(grey.shape)], (SIDE, SIDE), anti_aliasing=True))
    return grey[top : top + SIDE, left : left + SIDE]


def _treated(image: np.ndarray, treatment: str) -> np.ndarray:
    from scipy import ndimage

    image = (image - image.mean()) / image.std()
    if treatment == "whitened":
        return _whitened(image)
    if treatment == "centre-surround":
        return ndimage.gaussian_filter(image, 1, mode="reflect") - ndimage.gaussian_filter(image, 3, mode="reflect")
    return image


def _whitened(image: np.ndarray) -> np.ndarray:
    """Flattens the 1/f amplitude of photographs below 4/5 of the highest frequency (Olshausen and Field 1996)."""
    from scipy import fft

    frequency = np.hypot(*np.meshgrid(np.arange(SIDE), np.arange(SIDE))) / SIDE
    return np.asarray(fft.idctn(np.asarray(fft.dctn(image)) * frequency * np.exp(-((frequency / 0.8) ** 4))))
