"""Samples, covariances and marginals of Ising, NLGP and Kur, at a long and a short lengthscale (figure 2)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .._record import Claim, Figure, Outcome, decide
from ..stimuli import NLGP, AbstractStimulus, Ising, Kur
from ._gallery import Settings as Gallery
from ._gallery import centred_claim, mean_gap, row

CLOSE = 0.02
"""Five standard errors of a covariance between 10,000 pairs of independent pixels, averaged over 100 places."""


@dataclass(frozen=True)
class Settings:
    """The figure's own: 100 pixels, 10,000 samples, long against short."""

    size: int = 100
    samples: int = 10_000
    couplings: tuple[float, float] = (0.3, 1.2)
    lengthscales: tuple[float, float] = (1.0, 5.0)
    gain: float = 0.01
    k: float = 5.0


PRESETS = {"quick": Settings(), "paper": Settings()}


def run(settings: Settings, key: Any, progress: Callable[[float], None]) -> Outcome:
    """Sample the three laws and set the samples beside what the laws say."""
    rows, gaps, misfits = [], [], []
    pairs = _pairs(settings)
    for i, (name, pair) in enumerate(pairs.items()):
        keys = jax.random.split(jax.random.fold_in(key, i))
        draws = [np.asarray(law.sample(one, settings.samples)) for law, one in zip(pair, keys, strict=True)]
        rows.append(row(*pair, *draws))
        gaps += [mean_gap(law, x) for law, x in zip(pair, draws, strict=True)]
        misfits += [(f"{name} {length}", _misfit(law, x)) for law, x, length in zip(pair, draws, WORDS, strict=True)]
        progress((i + 1) / len(pairs))
    return Outcome(
        title="Figure 2: the stimuli",
        text=f"The three laws of the paper on {settings.size} pixels: one sample at a long and one at a short "
        f"lengthscale, the covariance with pixel 0 and the law of one pixel, curves and outlines exact, dots and bars "
        f"from {settings.samples:,} samples. The weight of an Ising ring is exp(+J sum x x'): with the minus sign that "
        "the paper prints, neighbours would differ (erratum B-01).",
        figures=(Figure("Samples, covariance and marginal", tuple(rows), tuple(pairs)),),
        claims=(centred_claim(Gallery(settings.size, settings.samples), gaps), _covariance_claim(misfits, settings)),
    )


WORDS = ("short", "long")


def _pairs(settings: Settings) -> dict[str, tuple[AbstractStimulus, AbstractStimulus]]:
    short, long = settings.lengthscales
    size = settings.size
    return {
        "Ising": (Ising(size, settings.couplings[0]), Ising(size, settings.couplings[1])),
        f"NLGP({settings.gain:g})": (NLGP(size, short, settings.gain), NLGP(size, long, settings.gain)),
        f"Kur({settings.k:g})": (Kur(size, short, settings.k), Kur(size, long, settings.k)),
    }


def _misfit(law: AbstractStimulus, x: np.ndarray) -> float:
    """Largest distance of the sampled covariance, averaged over all places, from the exact one."""
    power = np.mean(np.abs(np.fft.fft(x, axis=1)) ** 2, axis=0) / x.shape[1]
    return float(np.max(np.abs(np.fft.ifft(power).real - law.covariance())))


def _covariance_claim(misfits: list[tuple[str, float]], settings: Settings) -> Claim:
    return Claim(
        sentence="Long and short lengthscales differ in how fast the covariance falls.",
        source="seed 004, figure 2 and equations 2 to 4",
        reported="shown",
        measured="largest distance of the sampled from the exact covariance: "
        + ", ".join(f"{name} {value:.3f}" for name, value in misfits),
        rule=f"every sampled covariance within {CLOSE} of its closed form",
        basis=f"{settings.samples:,} samples of each of six laws, {settings.size} places each",
        verdict=decide(max(value for _, value in misfits) < CLOSE),
        expected="holds",
    )
