"""Localax against what one writes first: ``python benchmarks/naive.py [--rounds 3] [--json]``.

Each row is the same work done twice in one process on one thread, in CPU seconds, compiled beforehand: by a
straightforward program of some ten lines in JAX or scipy, which stands below, and by Localax. Where both end in fields,
they are compared first. The README's table is made of these rows.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

os.environ["NPROC"] = "1"  # one XLA thread; read when JAX starts

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf
from rich.console import Console
from rich.progress import Progress
from scipy import special
from scipy.integrate import solve_ivp

import localax as lx
from localax.networks import Authors, SingleReLU, Xavier, seed_keys

if __package__:
    from ._measure import Ratio, one_cpu, show, timed
    from .stimuli import draw, metropolis
else:
    from _measure import Ratio, one_cpu, show, timed
    from stimuli import draw, metropolis

N, GAIN, RATE = 40, 3.0, 0.05
SCALE = float(np.sqrt(2 / np.pi * np.arcsin(2 * GAIN**2 / (1 + 2 * GAIN**2))))
"""What divides erf(gain z) so that a pixel has variance 1."""
SEEDS, STEPS, BATCH, NODES = 30, 1000, 10_000, 200


def task() -> lx.Task:
    return lx.Task([lx.stimuli.NLGP(N, xi, GAIN) for xi in (1, 3)], [0, 1])


def seconds(run: Callable[[], Any]) -> float:
    before = time.process_time()
    jax.block_until_ready(run())
    return time.process_time() - before


def ratio(what: str, naive: Callable[[], Any], ours: Callable[[], Any], rounds: int, share: float = 1.0) -> Ratio:
    """CPU seconds of one over the other, in turns; **naive** does this **share** of the work."""
    seconds(naive)  # compiles
    seconds(ours)
    times = np.array([[seconds(naive) / share, seconds(ours)] for _ in range(rounds)])
    low, high = np.quantile(times[:, 0] / times[:, 1], [0.25, 0.75])
    fastest = times.min(0)
    return Ratio(what, float(fastest[0] / fastest[1]), float(low), float(high))


# Sampling -------------------------------------------------------------------------------------------------------------


def factor(size: int, lengthscale: float) -> jax.Array:
    """A square root of the covariance of a ring, as a matrix."""
    apart = np.minimum(np.arange(size), size - np.arange(size))
    row = np.exp(-((apart / lengthscale) ** 2))
    matrix = row[(np.arange(size)[:, None] - np.arange(size)) % size]
    values, vectors = np.linalg.eigh(matrix)
    return jnp.asarray(vectors * np.sqrt(np.maximum(values, 0)), jnp.float32)


def sampling(rounds: int) -> Iterator[Ratio]:
    exact = draw(lx.stimuli.Ising(N, 0.7), 500)
    yield timed("500 Ising rings of 40 spins: Metropolis / exact sampler", metropolis(500), exact, rounds)
    root = factor(4096, 3.0)
    fft = draw(lx.stimuli.Gaussian(4096, 3.0), 32)
    dense = lambda key: jax.random.normal(key, (32, 4096)) @ root.T  # noqa: E731
    yield timed("32 Gaussian fields of 4,096 pixels: matrix product / FFT", dense, fft, rounds)


# Training -------------------------------------------------------------------------------------------------------------


def one_network(steps: int) -> Callable[[], Any]:
    """One neuron trained by a Python loop over compiled steps."""
    roots = [factor(N, xi) for xi in (1.0, 3.0)]
    y = jnp.repeat(jnp.arange(2.0), BATCH // 2)

    @jax.jit
    def step(w, key):
        keys = jax.random.split(key)
        normals = [jax.random.normal(k, (BATCH // 2, N)) @ root.T for k, root in zip(keys, roots, strict=True)]
        x = erf(GAIN * jnp.concatenate(normals)) / SCALE
        gradient = jax.grad(lambda w: jnp.mean((jax.nn.relu(x @ w) - y) ** 2))
        return w - RATE * gradient(w)

    def run():
        w = jnp.asarray(Xavier(0.1).weights(seed_keys(range(1)), 1, (N,), jnp.float32))[0, 0]
        for i in range(steps):
            w = step(w, jax.random.fold_in(jax.random.key(0), i))
        return w

    return run


def networks(steps: int, **settings: Any) -> np.ndarray:
    """All networks at once."""
    ours = {"rate": RATE, "seeds": SEEDS, "init": Xavier(0.1), "save_every": steps, "progress": False}
    return lx.train(task(), SingleReLU(), steps=steps, **ours, **settings).final[:, 0]


def training(rounds: int) -> Iterator[Ratio]:
    short = STEPS // 10
    loop = one_network(short)
    # A step adds noise of about rate/sqrt(batch) to a weight: six standard deviations of that of all steps.
    noise = 6 * RATE * np.sqrt(2 * short / BATCH)
    np.testing.assert_allclose(loop(), networks(short, batch=BATCH)[0], atol=noise)
    what = f"{SEEDS} neurons, {STEPS:,} steps: a Python loop, {BATCH:,} samples a step / train"
    share = short / STEPS / SEEDS
    yield ratio(f"{what}, one stream for all", loop, lambda: networks(STEPS, batch=BATCH), rounds, share)
    orbits = lambda: networks(STEPS, batch=256, estimator="orbit")  # noqa: E731
    yield ratio(f"{what}, orbits of 256 samples", loop, orbits, rounds, share)


# Theory ---------------------------------------------------------------------------------------------------------------


def effective_field() -> Callable[[float, np.ndarray], np.ndarray]:
    """The right-hand side of the paper's Eq. 5 in numpy, its amplifier by the midpoint rule over the marginal."""
    spectra = [np.fft.rfft(np.asarray(stimulus.covariance(), float)) for stimulus in task().stimuli]
    pixels = special.erf(GAIN * special.ndtri((np.arange(NODES) + 0.5) / NODES)) / SCALE

    def field(_, w):
        short, long = (np.fft.irfft(np.fft.rfft(w) * spectrum, N) for spectrum in spectra)
        a = long / np.sqrt(w @ long)
        phi = pixels @ special.erf(pixels[:, None] * a / np.sqrt(2 * (1 - a**2))) / NODES
        return (phi - short - long) / 2

    return field


def flows(rounds: int) -> Iterator[Ratio]:
    """One start after the other, and all at once."""
    starts = np.asarray(Authors(1e-3).weights(seed_keys(range(64)), 1, (N,), np.float32))[:, 0]
    field = effective_field()

    def one_by_one():
        return np.array([solve_ivp(field, (0, 100), w, rtol=1e-6, atol=1e-7).y[:, -1] for w in starts[:4]])

    def at_once():
        return lx.theory.effective_flow(task(), starts, times=[0.0, 100.0]).final[:, 0]

    np.testing.assert_allclose(one_by_one(), at_once()[:4], atol=0.2 / NODES)  # a weight, and the midpoint rule's error
    what = "effective flow from 64 starts to t = 100: scipy, one by one / effective_flow"
    yield ratio(what, one_by_one, at_once, rounds, 4 / 64)


PARTS = (sampling, training, flows)


def measure(rounds: int) -> list[Ratio]:
    ratios: list[Ratio] = []
    with one_cpu(), Progress(console=Console(stderr=True), transient=True) as bar:
        for part in bar.track(PARTS, description="measuring"):
            ratios += part(rounds)
    return ratios


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="naive", description="Localax against what one writes first.")
    parser.add_argument("--rounds", type=int, default=3, help="turns each competitor takes")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(argv)
    return show(measure(options.rounds), options.json)


if __name__ == "__main__":
    sys.exit(main())
