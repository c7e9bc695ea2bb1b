"""How fast a wave on a flat field grows: measured on weights, whether theory's or those of trained networks."""

from typing import Any

import numpy as np

from ...networks import Given
from ...stimuli import Task
from .neuron import neuron
from .train import train


def trained_growth(experiment: Any, task: Task, start: np.ndarray, seed: int) -> tuple[float, float]:
    """The rate of growth, and its error, in networks that start there and differ by their data; settings as theirs."""
    it = experiment
    run = train(
        task, neuron(), steps=it.steps, batch=it.batch, rate=it.rate, seeds=it.seeds, init=Given(start[None]),
        data_seed=seed, estimator="orbit", stream="independent", save_every=it.save_every,
    )  # fmt: skip
    return wave_growth(run.weights[..., 0, :], it.save_every * it.rate)


def wave_growth(weights: np.ndarray, interval: float) -> tuple[float, float]:
    """The rate r in wave(t + interval) = exp(r interval) wave(t) + noise, by least squares over all networks.

    Weights are (network, time, pixel). Noise moves the mean of log wave(t), but not this regression, as it has mean 0
    wherever the wave is. The standard error is the jackknife's over networks; it is 0 for a single one.
    """
    wave = np.fft.fft(weights)[..., 1]
    common = np.sum(np.real(wave[:, :-1].conj() * wave[:, 1:]), axis=1)
    square = np.sum(np.abs(wave[:, :-1]) ** 2, axis=1)
    rate = float(np.log(common.sum() / square.sum()) / interval)
    if len(common) == 1:
        return rate, 0.0
    without = np.log((common.sum() - common) / (square.sum() - square)) / interval
    return rate, float(np.sqrt((len(without) - 1) * without.var()))
