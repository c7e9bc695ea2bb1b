"""What the flows of theory cost, in seconds on this machine: ``python benchmarks/theory.py [--json]``.

Targets stand where there are any, and the exit code is 1 if one is missed.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import localax as lx
from localax.networks import Authors, SingleReLU, seed_keys
from localax.stimuli import NLGP, Ising

if __package__:
    from ._measure import Ratio, exactly, show
else:
    from _measure import Ratio, exactly, show

ISING = lx.Task([Ising(40, 0.3), Ising(40, 0.7)], [0, 1])
LONG = 100_000


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    before = time.perf_counter()
    result = run()
    return time.perf_counter() - before, result


def starts(count: int, size: int = 40) -> np.ndarray:
    return np.asarray(Authors(1e-3).weights(seed_keys(range(count)), 1, (size,), np.float32))


def measure() -> list[Ratio]:
    w0, times = starts(28), np.linspace(0, 100, 101)
    ising, path = seconds(lambda: lx.theory.exact_flow(ISING, SingleReLU(), w0, times=[100.0]))
    tight = lx.theory.exact_flow(ISING, SingleReLU(), w0, times=[20.0], rtol=1e-8, atol=1e-10, tolerance=2e-4)
    peaks, wanted = (np.argmax(np.abs(p.final[:, 0]), axis=1) for p in (path, tight))
    star = lx.theory.localized_attractor(ISING).field
    turned = np.stack([np.sign(w[p]) * np.roll(w, -p) for w, p in zip(path.final[:, 0], peaks, strict=True)])
    lx.theory.effective_flow(ISING, w0, times=times)
    short, _ = seconds(lambda: lx.theory.effective_flow(ISING, w0, times=times))
    task = lx.Task([NLGP(LONG, 1, 3), NLGP(LONG, 3, 3)], [0, 1])
    long, _ = seconds(lambda: lx.theory.effective_flow(task, starts(1, LONG), times=[100.0]))
    return [
        exactly("effective flow, N = 40, 28 starts to t = 100, compiled [s]", short, at_most=1),
        exactly("effective flow, N = 100,000, to t = 100, with compilation [s]", long, at_most=8),
        exactly("exact Ising flow, 28 starts to t = 100, with compilation [s]", ising, at_most=8),
        exactly("  largest distance from w*", np.abs(turned - star).max(), at_most=1e-3),
        exactly("  peaks that a 1e-8 solve picks too, of 28", int(np.sum(peaks == wanted)), at_least=28),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="theory", description="The cost of the flows of theory.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(argv)
    return show(measure(), options.json)


if __name__ == "__main__":
    raise SystemExit(main())
