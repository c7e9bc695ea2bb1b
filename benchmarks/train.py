"""What a step of training costs, as ratios measured in one run on one thread: ``python benchmarks/train.py [--json]``.

Targets stand where there are any, and the exit code is 1 if one is missed. ``--torus`` adds the large 2-D run.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

os.environ["NPROC"] = "1"  # one XLA thread; read when JAX starts

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.progress import Progress

import localax as lx
from localax.networks import SingleReLU, SoftCommittee, Xavier, seed_keys
from localax.training import plan
from localax.training._estimators import Batch, Orbit, Plain
from localax.training._loop import _step, start
from localax.training._losses import mse

if __package__:
    from ._measure import Competitor, Ratio, exactly, one_cpu, show, timed
else:
    from _measure import Competitor, Ratio, exactly, one_cpu, show, timed

N, BATCH = 40, 10_000


def task(gain: float = 3.0) -> lx.Task:
    return lx.Task([lx.stimuli.NLGP(N, 1, gain), lx.stimuli.NLGP(N, 3, gain)], [0, 1])


def step(network: Any = None, **settings: Any) -> Competitor:
    """One step of training, its data drawn from the key."""
    run = plan(task(), network or SingleReLU(), **{"steps": 1000, "batch": BATCH, "rate": 0.05, **settings})
    state = start(run.problem, run.parameters, np.int32(0))

    def once(key):
        problem = eqx.tree_at(lambda p: p.keys, run.problem, key[None])
        return _step(problem, state, jnp.int32(0)).parameters

    return once


def sampling(key):
    return task().sample(key, BATCH)


def steps(rounds: int) -> Iterator[Ratio]:
    one, many = step(), np.linspace(0.01, 0.1, 30)
    yield timed("one step, batch 10,000 / sampling alone", one, sampling, rounds, at_most=1.3)
    yield timed("30 seeds, shared stream / one seed", step(seeds=30), one, rounds, at_most=2)
    yield timed("30 rates / one rate", step(rate=many), one, rounds, at_most=2)


def orbits(rounds: int) -> Iterator[Ratio]:
    one, committee = step(), SoftCommittee(10)
    wide = step(committee)
    orbit = step(estimator="orbit", batch=512)
    yield timed("orbit 512 / plain 10,000, one unit", orbit, one, rounds, at_most=1 / 8)
    yield timed(
        "orbit 512 / plain 10,000, ten units",
        step(committee, estimator="orbit", batch=512),
        wide,
        rounds,
        at_most=1 / 3,
    )
    yield timed(
        "30 seeds, orbit 256 / one seed, plain 10,000",
        step(estimator="orbit", batch=256, seeds=30),
        one,
        rounds,
        at_most=0.5,
    )


def gradient_errors(_: int) -> Iterator[Ratio]:
    """Root mean square error of the gradient, orbit 512 over plain 10,000."""
    starts = np.asarray(Xavier().weights(seed_keys(range(20)), 1, (N,), jnp.float32))
    local = np.zeros((1, 1, N), np.float32)
    local[0, 0, :3] = 0.2, 0.5, 0.2
    for name, weights in (("20 default starts", starts), ("a localized field", local)):
        ratio = _error(Orbit(), 512, weights) / _error(Plain(), BATCH, weights)
        yield exactly(f"gradient error, orbit 512 / plain 10,000, {name}", ratio, at_most=1)


def _error(estimator: Any, batch: int, weights: np.ndarray) -> float:
    network, chosen = SingleReLU(), task()

    def gradient(estimator, batch, key, w):
        x, y = chosen.sample(key, batch)
        parameters = network.parameters(w, key)
        return jax.grad(lambda p: estimator.loss(network, mse, p, Batch(x, y, None)))(parameters).weights

    every = jax.vmap(gradient, (None, None, None, 0))
    keys = jax.random.split(jax.random.key(1), 40)
    draws = jax.lax.map(lambda key: every(estimator, batch, key, jnp.asarray(weights)), keys)
    exact = jax.lax.map(lambda key: every(Orbit(), 20_000, key, jnp.asarray(weights)), keys).mean(0)
    return float(jnp.sqrt(jnp.mean((draws - exact) ** 2)))


COMPILE = """
import os, time
os.environ["NPROC"] = "1"
import localax as lx
task = lx.Task([lx.stimuli.NLGP(40, 1, 3), lx.stimuli.NLGP(40, 3, 3)], [0, 1])
import jax
jax.block_until_ready(jax.numpy.zeros(1) + 1)
begin = time.perf_counter()
lx.train(task, lx.networks.SingleReLU(), steps=1, batch=10_000, rate=0.05, progress=False)
print(time.perf_counter() - begin)
"""


def compilation(_: int) -> Iterator[Ratio]:
    """Seconds to the end of the first step in a new process, without and with what an earlier one left in the cache."""
    with tempfile.TemporaryDirectory() as folder:
        cache = {"JAX_COMPILATION_CACHE_DIR": folder, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1"}
        first, second = (_seconds(cache) for _ in range(2))
    yield exactly("seconds to compile the standard run", first, at_most=5)
    yield exactly("second process, with the cache / first", second / first, at_most=1)


def _seconds(environment: dict[str, str]) -> float:
    done = subprocess.run(
        [sys.executable, "-c", COMPILE], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def torus(_: int) -> Iterator[Ratio]:
    """30 x 30 pixels, 20 units, gain 100, lengthscales 1 and 2: localization against the Gaussian clone."""
    begin = time.perf_counter()
    classes = [lx.stimuli.NLGP((30, 30), lengthscale, 100) for lengthscale in (1, 2)]
    clones = [lx.stimuli.GaussianClone(stimulus) for stimulus in classes]
    real, clone = (_median_ipr(lx.Task(stimuli, [0, 1])) for stimuli in (classes, clones))
    yield exactly("2-D 30 x 30, 20 units: median IPR / Gaussian clone's", real / clone, at_least=4)
    yield exactly("2-D 30 x 30, 20 units: minutes for both", (time.perf_counter() - begin) / 60, at_most=3)


def _median_ipr(chosen: lx.Task) -> float:
    run = lx.train(
        chosen,
        SoftCommittee(20),
        steps=10_000,
        batch=10,
        rate=5.0,
        init=Xavier(0.01),
        estimator="orbit",
        progress=False,
    )
    return float(np.median(lx.analysis.ipr(run.final, ndim=2)))


PARTS = (steps, orbits, gradient_errors, compilation)


def measure(rounds: int, parts: Sequence[Any]) -> list[Ratio]:
    ratios: list[Ratio] = []
    with one_cpu(), Progress(console=Console(stderr=True), transient=True) as bar:
        for part in bar.track(parts, description="measuring"):
            ratios += part(rounds)
    return ratios


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rounds", type=int, default=15, help="turns each competitor takes")
    parser.add_argument("--torus", action="store_true", help="add the large 2-D run (two to three minutes)")
    options = parser.parse_args(argv)
    parts = (*PARTS, torus) if options.torus else PARTS
    return show(measure(options.rounds, parts), options.json)


if __name__ == "__main__":
    sys.exit(main())
