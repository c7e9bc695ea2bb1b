"""What a prediction costs: ``python benchmarks/predict.py [--small] [--rounds 3] [--json]``.

20,000 samples of 40 pixels with all reasons, on one thread, after a first prediction that compiles; then 50,000 samples
of 1,600 pixels, in a process of its own, from the first line to the last, by all cores, with the most memory that it
held. CPU seconds leave out the wait for a shared machine; spread over cores they are the least that it can take. The
exit code is 1 if a target is missed.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence

os.environ.setdefault("NPROC", "1")  # one XLA thread, unless a process of ours is told otherwise; read when JAX starts

import jax
import numpy as np

import localax as lx

if __package__:
    from ._measure import Ratio, exactly, one_cpu, show
else:
    from _measure import Ratio, exactly, one_cpu, show

SMALL, LARGE = (10_000, 40), (25_000, (40, 40))
"""Samples a class, and pixels."""
CORES = 2


def data(count: int, size: int | tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Samples and labels of two lengthscales."""
    out = np.empty((2 * count, *np.atleast_1d(size)), np.float32)
    for label, lengthscale in enumerate((1.0, 3.0)):
        law = lx.stimuli.NLGP(size, lengthscale, 3.0)
        for start in range(0, count, 5000):
            rows = slice(label * count + start, label * count + start + 5000)
            out[rows] = law.sample(jax.random.key(label * count + start), 5000)
    return out, np.repeat([0, 1], count)


def small(rounds: int) -> list[Ratio]:
    samples, labels = data(*SMALL)
    with one_cpu():
        taken = []
        for _ in range(1 + rounds):
            start = time.process_time()
            lx.predict(samples, labels)
            taken.append(time.process_time() - start)
    low, high = np.quantile(taken[1:], [0.25, 0.75])
    return [
        Ratio("20,000 x 40, CPU seconds after compilation", min(taken[1:]), float(low), float(high), at_most=1.5),
        exactly("20,000 x 40, CPU seconds with compilation", taken[0]),
    ]


def once() -> None:
    """One large prediction in this process; prints what it took."""
    samples, labels = data(*LARGE)
    wall, cpu = time.perf_counter(), time.process_time()
    found = lx.predict(samples, labels)
    taken = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "verdict": found.verdict}
    print(json.dumps({**taken, "kB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


def large() -> list[Ratio]:
    environment = {**os.environ, "NPROC": str(CORES)}
    done = subprocess.run(
        [sys.executable, __file__, "--once"], env=environment, capture_output=True, text=True, check=True
    )
    taken = json.loads(done.stdout.splitlines()[-1])
    return [
        exactly("50,000 x 1,600, seconds", taken["wall"], at_most=20),
        exactly(f"50,000 x 1,600, CPU seconds over {CORES} cores", taken["cpu"] / CORES),
        exactly("50,000 x 1,600, GB at most", taken["kB"] / 1e6, at_most=1.5),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="predict", description="The cost of a prediction.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rounds", type=int, default=3, help="how often the small data are predicted")
    parser.add_argument("--small", action="store_true", help="leave out the large data")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.once:
        once()
        return 0
    if options.rounds < 1:
        parser.error(f"--rounds: must be at least 1, got {options.rounds}")
    return show([*small(options.rounds), *([] if options.small else large())], options.json)


if __name__ == "__main__":
    raise SystemExit(main())
