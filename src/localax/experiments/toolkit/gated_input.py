"""f(w) = E[1(<w,X> >= 0) X] of many fields from few samples, and the error of phi/2 that is left without their noise.

Three things make few samples enough: every sample stands for all its shifts and signs; one Fourier transform of it
serves all fields; and what S = <w,X> foretells of its sign, S/sqrt(2 pi Var S), is taken from the known covariance.
"""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import scipy

from ...stimuli import AbstractStimulus
from .expansions import SLOPE

BATCHES = 20
"""Groups of samples whose spread gives the noise."""


@dataclass(frozen=True)
class GatedInput:
    """f by batch of samples, (batch, field, pixel): one batch where it is exact."""

    batches: np.ndarray

    def squared_error(self, approximation: np.ndarray) -> "SquaredError":
        """Of an approximation (field, pixel), relative to |f|^2, less the part that the noise makes: right in the mean.

        As fields share their samples, they share noise; the error without each of the batches tells how much.
        """
        norm = np.sum(self.batches.mean(0) ** 2, axis=-1)
        gaps, count = approximation - self.batches, len(self.batches)
        parts = [np.delete(gaps, b, axis=0) for b in range(count)] if count > 1 else []
        return SquaredError(_without_noise(gaps) / norm, np.array([_without_noise(part) / norm for part in parts]))


@dataclass(frozen=True)
class SquaredError:
    """``each``: by field. ``without``: the same without one batch of samples, (batch, field); empty where exact."""

    each: np.ndarray
    without: np.ndarray

    def __sub__(self, other: "SquaredError") -> "SquaredError":
        return SquaredError(self.each - other.each, self.without - other.without)

    def mean(self) -> tuple[float, float]:
        """Over fields, and its standard error: that of the fields drawn, and by the jackknife that of the samples."""
        drawn = self.each.var(ddof=1) / len(self.each)
        count = len(self.without)
        sampled = (count - 1) * self.without.mean(1).var() if count else 0.0
        return float(self.each.mean()), float(np.sqrt(drawn + sampled))


def _without_noise(gaps: np.ndarray) -> np.ndarray:
    """|mean|^2 over batches less its own sampling variance, (field)."""
    noise = np.sum(gaps.var(0, ddof=1), axis=-1) / len(gaps) if len(gaps) > 1 else 0.0
    return np.sum(gaps.mean(0) ** 2, axis=-1) - noise


def sampled_input(stimulus: AbstractStimulus, fields: np.ndarray, samples: int, key: Any) -> GatedInput:
    """f on a ring for sign-symmetric data, from samples with their orbits."""
    keys = jax.random.split(key, BATCHES)
    return GatedInput(np.stack([_from_batch(stimulus, fields, k, max(samples // BATCHES, 2)) for k in keys]))


def linear_input(stimulus: AbstractStimulus, fields: np.ndarray) -> np.ndarray:
    """f if <w,X> and X were jointly Gaussian: S w/sqrt(2 pi w S w), phi/2 with the linear amplifier."""
    image, norm = covariance_image(stimulus, fields)
    return SLOPE / 2 * image / norm


def covariance_image(stimulus: AbstractStimulus, fields: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """S w of fields (..., pixel) on a ring, and sqrt(w S w) of each."""
    row = scipy.fft.rfft(stimulus.covariance())
    image = scipy.fft.irfft(scipy.fft.rfft(fields) * row, fields.shape[-1])
    return image, np.sqrt(np.sum(fields * image, axis=-1, keepdims=True))


def _from_batch(stimulus: AbstractStimulus, fields: np.ndarray, key: Any, count: int) -> np.ndarray:
    size = fields.shape[-1]
    waves = scipy.fft.rfft(np.asarray(stimulus.sample(key, count), np.float32))
    gated = np.stack([_signed(waves, w.astype(np.float32)) for w in fields])
    sampled = scipy.fft.irfft(scipy.fft.rfft(fields) * np.mean(np.abs(waves) ** 2, axis=0, dtype=float), size) / size
    image, norm = covariance_image(stimulus, fields)
    return gated - SLOPE / 2 * (sampled - image) / norm


def _signed(waves: np.ndarray, w: np.ndarray) -> np.ndarray:
    """E[sign<w,X> X]/2 over samples, given by their waves, and all shifts of them."""
    signs = np.sign(scipy.fft.irfft(waves * np.conj(scipy.fft.rfft(w)), len(w)))
    mean = np.mean(waves * np.conj(scipy.fft.rfft(signs)), axis=0, dtype=complex)
    return scipy.fft.irfft(mean, len(w)) / (2 * len(w))
