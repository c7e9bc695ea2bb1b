"""The data sets that predictions are calibrated on: a table of families, parameters and sizes, in a fixed order.

Every family has laws and the (pixels, samples a class) that they are drawn at. The order is shuffled once, so that any
first part of the list is a fair cross-section; the seed of a set is its place in the table.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

Table = dict[str, Any]

PAIRS = ((1, 3), (0.3, 0.7), (1, 2))
"""Lengthscales of class 0 and class 1, in pixels."""
SMALL = ((24, 2_000), (40, 2_000), (40, 10_000))
MIXED = ((40, 10_000), (100, 2_000), (24, 10_000), (40, 30_000), (200, 2_000), (100, 10_000))
"""Pixels, and samples a class."""


def sets() -> list[Table]:
    """What is swept, set by set: ``family``, and the settings of a sweep of predictions."""
    made = [{**one, "seed": seed} for seed, one in enumerate(_all())]
    seen: set[str] = set()
    for one in made:  # networks on fresh samples, once for every law that can have them
        law = repr(one["classes"])
        plain = one["treatment"] == "none" and len(one["classes"]) == 2
        one["behind"] = one["family"] in ("NLGP", "Kur", "Ising")
        one["fresh"] = one.pop("lawful") and plain and law not in seen
        seen |= {law} if one["fresh"] else set()
    order = np.random.default_rng(0).permutation(len(made))
    return [made[i] for i in order]


def _all() -> Iterator[Table]:
    yield from _copulas()
    yield from _binary()
    yield from _elliptical()
    yield from _derived()
    yield from _tori()
    yield from _patches()
    yield from _alone()


def _set(family: str, classes: list[Table], samples: int, treatment: str = "none", *, lawful: bool = False) -> Table:
    return {"family": family, "classes": classes, "samples": samples, "treatment": treatment, "lawful": lawful}


def _pair(kind: str, size: Any, scales: tuple[float, ...], name: str = "lengthscale", **rest: Any) -> list[Table]:
    return [{"kind": kind, "size": size, name: scale, **rest} for scale in scales]


def _around(kind: str, classes: list[Table], **rest: Any) -> list[Table]:
    return [{"kind": kind, "stimulus": law, **rest} for law in classes]


def _copulas() -> Iterator[Table]:
    large = itertools.cycle(MIXED)
    for gain, pair in itertools.product((0.1, 0.3, 0.5, 0.7, 1, 1.5, 3, 100), PAIRS):
        for pixels, samples in (*SMALL, next(large)):
            yield _set("NLGP", _pair("NLGP", pixels, pair, gain=gain), samples, lawful=pixels == 40)
    for gain in (0.3, 0.5, 1):
        yield _set("NLGP", _pair("NLGP", 40, PAIRS[1], gain=gain), 100_000)
    for k, pair in itertools.product((3.5, 4.5, 6, 10, 30, 100), PAIRS[:2]):
        for pixels, samples in (SMALL[1], next(large)):
            yield _set("Kur", _pair("Kur", pixels, pair, k=k), samples, lawful=pixels == 40)
    marginals = [{"kind": "Uniform"}, {"kind": "Laplace"}, {"kind": "StudentT", "df": 5}, {"kind": "Bernoulli"}]
    marginals += [{"kind": "GeneralizedNormal", "shape": 4}, {"kind": "Algebraic", "k": 5}]
    for marginal, kind in itertools.product(marginals, ("SquaredExponential", "Exponential")):
        for pixels, samples in SMALL[1:]:
            laws = [
                {"kind": "Copula", "size": pixels, "marginal": marginal, "covariance": {"kind": kind, "lengthscale": s}}
                for s in PAIRS[0]
            ]
            yield _set("other marginals", laws, samples)


def _binary() -> Iterator[Table]:
    for couplings in ((0.3, 0.7), (0.1, 0.5), (0.3, 0.9), (0.0, 0.3), (0.5, 1.2)):
        for pixels, samples in ((20, 2_000), *SMALL[1:]):
            laws = _pair("Ising", pixels, couplings, "coupling")
            yield _set("Ising", laws, samples, lawful=pixels == 40)
    for lengths in ((1, 3), (2, 4), (2, 6), (3, 10), (1, 2)):
        for pixels, samples in SMALL[1:]:
            yield _set("block pulses", _pair("BlockPulse", pixels, lengths, "length"), samples)
    for short, long in (((2, 3), (8, 10)), ((3, 4), (5, 6)), ((1, 2), (3, 4))):
        for pixels, samples in SMALL[1:]:
            laws = [{"kind": "SinglePulse", "size": pixels, "shortest": a, "longest": b} for a, b in (short, long)]
            yield _set("single pulses", laws, samples)


def _elliptical() -> Iterator[Table]:
    radials = [{"kind": "Shell"}, {"kind": "Surface"}, {"kind": "RadialStudentT", "df": 3}]
    sizes = ((24, 2_000), (40, 2_000), (40, 10_000), (100, 2_000), (200, 2_000))
    for pair, (pixels, samples) in itertools.product(PAIRS[:2], sizes):
        yield _set("elliptical", _pair("Gaussian", pixels, pair), samples)
        for radial in radials:
            yield _set("elliptical", _pair("Elliptical", pixels, pair, radial=radial), samples)
    for spread, (pixels, samples) in itertools.product((0.3, 0.7), SMALL):
        laws = _around("RandomScale", _pair("Gaussian", pixels, PAIRS[0]), spread=spread)
        yield _set("elliptical", laws, samples)


def _derived() -> Iterator[Table]:
    for gain, spread, (pixels, samples) in itertools.product((0.5, 1, 100), (0.3, 0.5, 0.7), SMALL[1:]):
        laws = _around("RandomScale", _pair("NLGP", pixels, PAIRS[0], gain=gain), spread=spread)
        yield _set("scale mixtures", laws, samples)
    for gain, pair, (pixels, samples) in itertools.product((0.5, 1, 3, 100), PAIRS[:2], (SMALL[0], SMALL[2])):
        laws = _around("Window", _pair("NLGP", 2 * pixels, pair, gain=gain), size=pixels)
        yield _set("open windows", laws, samples)
    for pixels, samples in SMALL:
        for law in (_pair("Ising", 2 * pixels, (0.3, 0.7), "coupling"), _pair("Gaussian", 2 * pixels, PAIRS[0])):
            yield _set("open windows", _around("Window", law, size=pixels), samples)
    for offset, gain, (pixels, samples) in itertools.product((0.1, 0.25, 0.5, 1), (1, 3), SMALL[1:]):
        laws = _around("Affine", _pair("NLGP", pixels, PAIRS[0], gain=gain), offset=offset)
        yield _set("means", laws, samples)
    for gain, (pixels, samples) in itertools.product((0.5, 1, 3, 100), SMALL[1:]):
        yield _set("ramps of variance", _pair("NLGP", pixels, PAIRS[0], gain=gain), samples, "ramp")
    for pair, (pixels, samples) in itertools.product(PAIRS[:2], SMALL[1:]):
        yield _set("ramps of variance", _pair("Gaussian", pixels, pair), samples, "ramp")


def _tori() -> Iterator[Table]:
    scales = ((0.3, 0.7), (0.5, 1))
    for gain, pair, samples in itertools.product((0.3, 1, 3, 100), scales, (2_000, 10_000)):
        yield _set("tori", _pair("NLGP", [8, 8], pair, gain=gain), samples)
    for samples in (2_000, 10_000):
        yield _set("tori", _pair("Gaussian", [8, 8], scales[1]), samples)
        yield _set("tori", _pair("Kur", [8, 8], scales[1], k=4.5), samples)
        yield _set("tori", _pair("Kur", [8, 8], scales[1], k=100), samples)
    for gain in (0.3, 1, 100):
        yield _set("tori", _pair("NLGP", [12, 12], (0.7, 1.5), gain=gain), 10_000)


def _patches() -> Iterator[Table]:
    sizes = (([8, 8], 2_000), ([8, 8], 10_000), (20, 10_000))
    kinds = itertools.product(("raw", "whitened", "centre-surround"), ("none", "signs", "ranks"), sizes)
    for treatment, then, (size, samples) in kinds:
        law = {"kind": "NaturalPatches", "size": size, "treatment": treatment}
        yield _set("natural patches", [law], samples, then)


def _alone() -> Iterator[Table]:
    """One class, told from independent pixels of the same marginals."""
    for pixels, samples in SMALL[1:]:
        for gain in (0.3, 1, 3, 100):
            yield _set("one class", _pair("NLGP", pixels, (3,), gain=gain), samples)
        yield _set("one class", _pair("Kur", pixels, (3,), k=4.5), samples)
        yield _set("one class", _pair("Gaussian", pixels, (3,)), samples)
