"""Ratios of running times and of memory, so that a number means the same on every machine.

Each competitor is a function of a key. It runs many times inside one compiled loop whose carry is its whole result,
so XLA can skip neither an element nor a repeat, and the cost of one call from Python is shared out. Competitors take
turns round by round, timed in CPU seconds, which on one thread count the work and not the wait for a shared machine;
a ratio is taken between their fastest rounds, the least disturbed ones.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Competitor = Callable[[jax.Array], Any]

SECONDS = 0.01
"""Length of one timing: long against the clock and the call, short against the moods of a shared machine."""


@dataclass(frozen=True)
class Ratio:
    """A measured ratio, the middle half of its rounds, and what it is meant to be."""

    what: str
    value: float
    low: float
    high: float
    at_most: float = inf
    at_least: float = -inf

    @property
    def target(self) -> str:
        if self.at_most < inf:
            return f"<= {self.at_most:g}"
        return f">= {self.at_least:g}" if self.at_least > -inf else ""

    @property
    def met(self) -> bool:
        """Whether the target is reached; true where there is none."""
        return self.at_least <= self.value <= self.at_most

    def record(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "ratio": self.value,
            "middle half": [self.low, self.high],
            "target": self.target or None,
            "met": self.met if self.target else None,
        }


def exactly(what: str, value: float, **target: float) -> Ratio:
    """A ratio that is counted, not timed."""
    return Ratio(what, float(value), float(value), float(value), **target)


def timed(what: str, above: Competitor, below: Competitor, rounds: int, **target: float) -> Ratio:
    """The time of one competitor over the time of another."""
    timers = [_timer(competitor) for competitor in (above, below)]
    times = np.array([[timer(turn) for timer in timers] for turn in range(rounds)])
    low, high = np.quantile(times[:, 0] / times[:, 1], [0.25, 0.75])
    fastest = times.min(0)
    return Ratio(what, float(fastest[0] / fastest[1]), float(low), float(high), **target)


def _timer(competitor: Competitor) -> Callable[[int], float]:
    """CPU seconds per run, as a function of the seed; compiled, and with the number of repeats chosen, beforehand."""

    @jax.jit
    def run(key, repeats):
        start = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(competitor, key))
        return jax.lax.fori_loop(0, repeats, lambda i, _: competitor(jax.random.fold_in(key, i)), start)

    def seconds(seed: int, repeats: int) -> float:
        key = jax.block_until_ready(jax.random.key(seed))
        begin = time.process_time()
        jax.block_until_ready(run(key, repeats))
        return (time.process_time() - begin) / repeats

    seconds(0, 1)  # compiles
    repeats = max(1, round(SECONDS / min(seconds(turn, 2) for turn in range(3))))
    return lambda seed: seconds(seed, repeats)


def compiled_bytes(function: Callable, *arguments: Any) -> int:
    """Memory that a compiled function needs beside its arguments."""
    memory = jax.jit(function).lower(*arguments).compile().memory_analysis()
    assert memory is not None, "this backend does not say"
    return memory.temp_size_in_bytes + memory.output_size_in_bytes


@contextlib.contextmanager
def one_cpu() -> Iterator[None]:
    """Keep to one CPU, where the system lets a process choose."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def show(ratios: Sequence[Ratio], as_json: bool) -> int:
    """Print the ratios; the exit code says whether all targets are met."""
    if as_json:
        print(json.dumps([ratio.record() for ratio in ratios], indent=2))
    else:
        print("\n".join(_lines(ratios)))
    return 0 if all(ratio.met for ratio in ratios) else 1


def _lines(ratios: Sequence[Ratio]) -> Iterator[str]:
    width = max(len(ratio.what) for ratio in ratios)
    yield f"{'what':<{width}}  {'ratio':>8}  {'middle half':>15}  {'target':>8}  met"
    for ratio in ratios:
        spread = f"{_number(ratio.low)} - {_number(ratio.high)}" if ratio.low < ratio.high else "exact"
        met = "" if not ratio.target else "yes" if ratio.met else "NO"
        yield f"{ratio.what:<{width}}  {_number(ratio.value):>8}  {spread:>15}  {ratio.target:>8}  {met}".rstrip()


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
