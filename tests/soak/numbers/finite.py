"""Stimuli of finitely many states on rings of 2 to 10 pixels, each beside its enumeration."""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import localax as lx
from soak.numbers import truth
from soak.numbers.truth import States

Stimulus = Any
SIZES = range(2, 11)
ORTHANTS = 5
"""Pixels up to which orthant probabilities are quick."""


@dataclass(frozen=True)
class Law:
    """A stimulus, made when it is asked for, and all of its states; ``listed``: whether samples are among them."""

    name: str
    stimulus: Callable[[], Stimulus]
    states: Callable[[], States]
    listed: bool = True


def _law(name: str, make: Callable[[], Stimulus], states: Callable[[], States], listed: bool = True) -> Law:
    return Law(name, functools.cache(make), functools.cache(states), listed)


def bases(n: int) -> Iterator[Law]:
    """Everything of few states that is not made from another stimulus."""
    s = lx.stimuli
    for j in (-0.8, 0.0, 0.3, 1.2):
        yield _law(f"Ising({n}, {j:g})", lambda j=j: s.Ising(n, j), lambda j=j: truth.ising(n, j))
    longest = max(n // 2, 1)
    for values, turned in (((-1, 1), True), ((-1, 1), False), ((0, 1), True), ((0, 1), False)):
        name = f"SinglePulse({n}, 1, {longest}, {values}, {turned})"
        make = functools.partial(s.SinglePulse, n, 1, longest, values, turned)
        yield _law(name, make, functools.partial(truth.pulses, n, 1, longest, values, turned))
    for length in sorted({1, 2, n // 2 + 1, n}):
        make, states = functools.partial(s.BlockPulse, n, length), functools.partial(truth.blocks, n, length)
        yield _law(f"BlockPulse({n}, {length})", make, states)
    if n <= ORTHANTS:
        yield from _signs(n)
    for name, samples in _data(n).items():
        chances = np.full(len(samples), 1 / len(samples))
        yield _law(
            f"{name} on {n}", lambda x=samples: s.Empirical(x), lambda x=samples, p=chances: (x.astype(float), p)
        )


def _signs(n: int) -> Iterator[Law]:
    """Signs of a Gaussian field, as a copula of +-1 and as NLGP at a gain at which no float32 sample is between."""
    s, d = lx.stimuli, np.minimum(np.arange(n), n - np.arange(n))
    rows = {"Exponential": np.exp(-d / 1.5), "NLGP(1e9)": np.exp(-((d / 0.6) ** 2))}
    makes = {
        "Exponential": lambda: s.Copula(n, s.Exponential(1.5), s.Bernoulli()),
        "NLGP(1e9)": lambda: s.NLGP(n, 0.6, 1e9),
    }
    for name, row in rows.items():
        matrix = np.array([[row[(i - j) % n] for j in range(n)] for i in range(n)])
        yield _law(f"signs, {name} on {n}", makes[name], lambda m=matrix: truth.signs(m))


def _data(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(n)
    return {
        "Empirical": rng.normal(size=(7, n)).astype(np.float32),
        "Empirical of few values": rng.integers(-1, 2, size=(12, n)).astype(np.float32),
    }


TAPS = [0.5, 1.0, -0.25]


def derived(n: int) -> Iterator[Law]:
    """Every stimulus that is made from another, of some of the above."""
    s = lx.stimuli
    for base in bases(n):
        if not base.name.startswith(("Ising", "SinglePulse", "BlockPulse", "Empirical")) or "1.2" in base.name:
            continue
        inner, states = base.stimulus, base.states
        yield _law(f"-2 {base.name}", lambda i=inner: s.Affine(i(), -2.0), lambda t=states: truth.affine(t(), -2, 0))
        yield _law(
            f"0.5 {base.name} + 0.3",
            lambda i=inner: s.Affine(i(), 0.5, 0.3),
            lambda t=states: truth.affine(t(), 0.5, 0.3),
        )
        if n > 2:
            name, small = f"Window({base.name}, {n - 1})", n - 1
            yield _law(name, lambda i=inner, k=small: s.Window(i(), k), lambda t=states, k=small: truth.window(t(), k))
            yield _law(
                f"Filtered({base.name})",
                lambda i=inner: s.Filtered(i(), TAPS),
                lambda t=states: truth.filtered(t(), TAPS),
            )
        scaled = functools.partial(truth.random_scale, spread=0.4)
        name = f"RandomScale({base.name})"
        yield _law(name, lambda i=inner: s.RandomScale(i(), 0.4), lambda t=states, f=scaled: f(t()), listed=False)


@functools.cache
def laws() -> list[Law]:
    """Every law on every ring; what is made from others on rings of 2, 3, 5 and 8 pixels."""
    every = [law for n in SIZES for law in bases(n)]
    return every + [law for n in (2, 3, 5, 8) for law in derived(n)]
