"""What a draw costs, as ratios measured in one run on one thread: ``python benchmarks/stimuli.py [--json]``.

Targets stand where there are any, and the exit code is 1 if one is missed. The other rows are for information.
"""

import argparse
import os
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

os.environ["NPROC"] = "1"  # one XLA thread; read when JAX starts

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf
from rich.console import Console
from rich.progress import Progress

from localax import stimuli
from localax.stimuli import AbstractStimulus

if __package__:
    from ._measure import Competitor, Ratio, compiled_bytes, exactly, one_cpu, show, timed
else:
    from _measure import Competitor, Ratio, compiled_bytes, exactly, one_cpu, show, timed

N = 40
BATCH = 10_000
FLIPS = 2_000
COUPLING = 0.7


def draw(stimulus: AbstractStimulus, n: int) -> Competitor:
    """The public sampler."""
    return lambda key: stimulus.sample(key, n)


def uniforms(*shape: int) -> Competitor:
    return lambda key: jax.random.uniform(key, shape)


def normals(*shape: int) -> Competitor:
    return lambda key: jax.random.normal(key, shape)


def integers(n: int, each: int) -> Competitor:
    return lambda key: [jax.random.randint(part, (n,), 0, N, jnp.int32) for part in jax.random.split(key, each)]


# Ising ----------------------------------------------------------------------------------------------------------------


def metropolis(n: int) -> Competitor:
    """Single-spin-flip Metropolis as one writes it in JAX: one chain with its own key, vmapped over the batch."""

    def flip(_, state):
        key, x = state
        key, site_key, accept_key = jax.random.split(key, 3)
        i = jax.random.randint(site_key, (), 0, N, jnp.int32)
        cost = 2 * COUPLING * x[i] * (x[(i - 1) % N] + x[(i + 1) % N])
        accept = jax.random.uniform(accept_key) < jnp.exp(-cost)
        return key, x.at[i].set(jnp.where(accept, -x[i], x[i]))

    def chain(key):
        key, start_key = jax.random.split(key)
        start = jnp.where(jax.random.uniform(start_key, (N,)) < 0.5, 1.0, -1.0)
        return jax.lax.fori_loop(0, FLIPS, flip, (key, start))[1]

    return lambda key: jax.vmap(chain)(jax.random.split(key, n))


def tuned_metropolis(n: int) -> Competitor:
    """The same chains made fast: all random numbers drawn beforehand in two calls, one gather and scatter a flip."""
    chains = jnp.arange(n)

    def flip(x, step):
        i, uniform = step
        spin = x[chains, i]
        cost = 2 * COUPLING * spin * (x[chains, (i - 1) % N] + x[chains, (i + 1) % N])
        return x.at[chains, i].set(jnp.where(uniform < jnp.exp(-cost), -spin, spin)), None

    def batch(key):
        start_key, site_key, accept_key = jax.random.split(key, 3)
        start = jnp.where(jax.random.uniform(start_key, (n, N)) < 0.5, 1.0, -1.0)
        sites = jax.random.randint(site_key, (FLIPS, n), 0, N, jnp.int32)
        return jax.lax.scan(flip, start, (sites, jax.random.uniform(accept_key, (FLIPS, n))))[0]

    return batch


def ising(rounds: int) -> Iterator[Ratio]:
    ring = stimuli.Ising(N, COUPLING)
    few = draw(ring, 500)
    yield timed("Metropolis, vmapped chains / Ising(40), 500", metropolis(500), few, rounds, at_least=1000)
    yield timed("Metropolis, tuned by hand / Ising(40), 500", tuned_metropolis(500), few, rounds)
    yield timed("Ising(40), 10,000 / its uniforms", draw(ring, BATCH), uniforms(N, BATCH), rounds, at_most=1.4)


# Gaussian fields ------------------------------------------------------------------------------------------------------


def nlgp(rounds: int) -> Iterator[Ratio]:
    matrix = jax.random.normal(jax.random.key(0), (N, N))

    def parts(key):
        return erf(jax.random.normal(key, (BATCH, N)) @ matrix)

    process = draw(stimuli.NLGP(N, 3, 3), BATCH)
    yield timed("NLGP(40), 10,000 / normals, product and erf", process, parts, rounds, at_most=1.5)


def long_rings(rounds: int) -> Iterator[Ratio]:
    for power in (10, 12, 14, 17):
        size, n = 2**power, 2 ** (19 - power)
        field = draw(stimuli.Gaussian(size, 3), n)
        yield timed(f"Gaussian(2^{power}), {n} / normals", field, normals(n, size), rounds, at_most=2)


def torus(rounds: int) -> Iterator[Ratio]:
    side, n = 256, 8
    field = stimuli.Gaussian((side, side), 3)
    yield timed(f"Gaussian(256, 256), {n} / normals", draw(field, n), normals(n, side, side), rounds)
    once, twice = (_bytes_of_draw(field, samples) for samples in (n, 2 * n))
    yield exactly("Gaussian(256, 256), bytes of 16 samples / of 8", twice / once, at_most=2.05)
    yield exactly("Gaussian(256, 256), bytes / those of the samples", once / (4 * n * side**2))


def _bytes_of_draw(stimulus: AbstractStimulus, n: int) -> int:
    return compiled_bytes(lambda stimulus, key: stimulus.sample(key, n), stimulus, jax.random.key(0))


def no_square_matrix(_: int) -> Iterator[Ratio]:
    """Above 256 pixels nothing of N x N elements is kept, nor made on the way; the worst of several is shown."""
    kept = [_largest_array(make(size)) for make in FIELDS for size in (257, 2**14, (256, 256))]
    yield exactly("fields above 256 pixels, largest array / pixels", max(kept), at_most=1)
    made = [_peak(lambda make=make: make(2**12)) / (8 * 2**24) for make in FIELDS]
    yield exactly("fields of 2^12 pixels, peak while built / N x N", max(made), at_most=0.5)


FIELDS: tuple[Callable[[Any], AbstractStimulus], ...] = (
    lambda size: stimuli.Gaussian(size, 3),
    lambda size: stimuli.NLGP(size, 3, 3),
    lambda size: stimuli.Kur(size, 3, 5),
    lambda size: stimuli.Elliptical(size, 3, stimuli.Shell()),
)


def _largest_array(stimulus: AbstractStimulus) -> float:
    """Elements of the largest array that a stimulus keeps, over its pixels."""
    return max(np.size(leaf) for leaf in jax.tree.leaves(stimulus)) / np.prod(stimulus.shape)


def _peak(make: Callable[[], AbstractStimulus]) -> int:
    """The most bytes that Python and numpy held while a stimulus was built."""
    make()  # what is cached once for all is not counted
    tracemalloc.start()
    try:
        make()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# Everything else ------------------------------------------------------------------------------------------------------


def bare(stimulus: AbstractStimulus, n: int) -> tuple[str, Competitor]:
    """The random numbers behind a draw, and what they are called."""
    match stimulus:
        case stimuli.Ising() | stimuli.BlockPulse():
            return "uniforms", uniforms(n, N)
        case stimuli.SinglePulse() | stimuli.NaturalPatches():
            return "3 integers a sample", integers(n, 3)
        case stimuli.Empirical():
            return "1 integer a sample", integers(n, 1)
        case stimuli.Window():
            return bare(stimulus.stimulus, n)
        case _:
            return "normals", normals(n, *stimulus.shape)


def others(rounds: int) -> Iterator[Ratio]:
    for name, stimulus in _named():
        n = BATCH * N // int(np.prod(stimulus.shape))
        numbers, competitor = bare(stimulus, n)
        yield timed(f"{name} / {numbers}", draw(stimulus, n), competitor, rounds)


def _named() -> Iterator[tuple[str, AbstractStimulus]]:
    for kind, pair in stimuli.EXAMPLES.items():
        if kind not in (stimuli.Copula, stimuli.Elliptical):
            yield f"{kind.__name__}(40)", pair(N)[1]
    yield "NLGP(30, 30)", stimuli.NLGP((30, 30), 3, 3)
    for radial in (stimuli.Surface(), stimuli.Shell(), stimuli.RadialStudentT(3)):
        yield f"Elliptical(40), {type(radial).__name__}", stimuli.Elliptical(N, 3, radial)
    laws = (
        stimuli.Uniform(),
        stimuli.Laplace(),
        stimuli.Bernoulli(),
        stimuli.StudentT(5),
        stimuli.GeneralizedNormal(4),
    )
    for law in laws:
        yield f"Copula(40), {type(law).__name__}", stimuli.Copula(N, stimuli.SquaredExponential(3), law)


PARTS = (ising, nlgp, long_rings, torus, no_square_matrix, others)


def measure(rounds: int) -> list[Ratio]:
    """All ratios, with a line of progress on the error stream."""
    ratios: list[Ratio] = []
    with one_cpu(), Progress(console=Console(stderr=True), transient=True, auto_refresh=False) as progress:
        bar = progress.add_task("measuring", total=len(PARTS))
        for part in PARTS:
            ratios.extend(part(rounds))
            progress.advance(bar)
            progress.refresh()  # by hand: a thread that draws would be timed too
    return ratios


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="stimuli", description="The cost of drawing stimuli, as ratios.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rounds", type=int, default=30, help="how often each pair of competitors takes turns")
    options = parser.parse_args(argv)
    if options.rounds < 1:
        parser.error(f"--rounds: must be at least 1, got {options.rounds}")
    return show(measure(options.rounds), options.json)


if __name__ == "__main__":
    raise SystemExit(main())
