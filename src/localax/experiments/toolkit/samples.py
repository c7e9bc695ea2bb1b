"""Samples of stimuli beside what they say of themselves: a row of a figure, and the claim that they are centred."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...outcome import Claim, Fields, Histogram, Lines, Number, Panel, Rule, by_theory
from ...stimuli import AbstractStimulus
from .sources import PAPER
from .words import or_infinite

CENTRED = Rule(
    "every stimulus within {sure:g} standard errors of its stated mean",
    lambda n, t: n.worst < t.sure,
    thresholds={"sure": 5.0},
    holds={"worst": 1.0},
    fails={"worst": 30.0},
)


Drawn = tuple[AbstractStimulus, np.ndarray]
"""A stimulus and samples of it, (sample, *pixels)."""


def pair_row(short: AbstractStimulus, long: AbstractStimulus, x: np.ndarray, y: np.ndarray) -> tuple[Panel, ...]:
    """A row on a stimulus at two lengthscales."""
    return row({"long lengthscale": (long, y), "short lengthscale": (short, x)})


def row(laws: Mapping[str, Drawn]) -> tuple[Panel, ...]:
    """A sample of every law, their covariances, and the marginal of the first."""
    return (
        *(_sample(name, x) for name, (_, x) in laws.items()),
        _covariances(laws),
        marginal(*next(iter(laws.values()))),
    )


def _sample(title: str, x: np.ndarray) -> Panel:
    if x.ndim == 3:
        return Fields(title, x[:1])
    return Lines(title, np.arange(x.shape[1], dtype=float), {"sample": x[0]}, xlabel="pixel")


def _covariances(laws: Mapping[str, Drawn]) -> Panel:
    """With pixel 0, along its ring, or along its row of the torus."""
    reach = min(min(x.shape[-1] for _, x in laws.values()) // 2, 20)
    exact = {name: law.covariance().reshape(-1, x.shape[-1])[0, : reach + 1] for name, (law, x) in laws.items()}
    sampled = {name: _sampled_covariance(law, x, reach) for name, (law, x) in laws.items()}
    return Lines("covariance", np.arange(reach + 1.0), exact, sampled, xlabel="distance", kinds=("exact", "sampled"))


def _sampled_covariance(stimulus: AbstractStimulus, x: np.ndarray, reach: int) -> np.ndarray:
    """With pixel 0, averaged over all pixels in its place where the law allows it."""
    lines = (x - x.mean(0)).reshape(len(x), -1, x.shape[-1])
    lines = lines if stimulus.shift_invariant else lines[:, :1]
    first = lines if stimulus.shift_invariant else lines[..., :1]
    return np.array([np.mean(first * np.roll(lines, -d, -1)[..., : first.shape[-1]]) for d in range(reach + 1)])


def marginal(stimulus: AbstractStimulus, x: np.ndarray) -> Panel:
    """The law of one pixel, sampled and exact."""
    law = stimulus.marginal
    reach = max(float(np.quantile(np.abs(x - law.mean()), 0.995)) * 1.15, 0.1)
    edges = law.mean() + np.linspace(-reach, reach, 42)
    width = edges[1] - edges[0]
    counts, _ = np.histogram(x, edges)
    return Histogram(
        f"excess kurtosis {or_infinite(law.excess_kurtosis())}",
        edges,
        counts / (x.size * width),
        np.diff(law.cdf(edges)) / width,
        xlabel="pixel value",
    )


def mean_gap(stimulus: AbstractStimulus, x: np.ndarray) -> float:
    """Distance of the sampled mean from the exact one, in standard errors."""
    means = x.astype(float).mean(1)
    exact = 0.0 if stimulus.sign_symmetric else stimulus.marginal.mean()
    return float(abs(means.mean() - exact) / (means.std() / np.sqrt(len(means)) + 1e-12))


def centred_claim(samples: int, gaps: Sequence[float]) -> Claim:
    """That samples are centred, from the distances of their means in standard errors."""
    return CENTRED.claim(
        "Each model generates samples centred about zero.",
        source=f"{PAPER}, figure 2",
        reported="shown for Ising, NLGP and Kur",
        numbers=[Number("worst", max(gaps, default=None), unit="standard errors")],
        said="largest distance of a sampled mean from its exact value: {worst:.1f} standard errors",
        basis=f"{len(gaps)} stimuli, {samples} samples each",
        expected=by_theory("holds", "every stimulus states its mean"),
    )
