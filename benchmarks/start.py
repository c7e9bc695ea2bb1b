"""What everyday use costs before it computes anything: ``python benchmarks/start.py [--rounds 3] [--json]``.

Processes are started one after the other: a bare one that loads JAX and matplotlib and compiles a scan, ``localax
train`` of 500 steps with nothing compiled beforehand (cold) and with all of it (warm), and the ten lines of the README.
They take turns and are measured in CPU seconds on one core, which leave out the wait for a shared machine, though a
busy one takes more of them for the same work; what counts is the fastest of each. Targets stand where there are any,
and the exit code is 1 if one is missed.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

import numpy as np

if __package__:
    from ._measure import Ratio, one_cpu, show
else:
    from _measure import Ratio, one_cpu, show

BARE = """
import jax, jax.numpy as jnp, matplotlib.figure
step = lambda state, _: (jnp.sin(state) @ state, None)
jax.jit(lambda start: jax.lax.scan(step, start, None, 100)[0])(jnp.eye(40)).block_until_ready()
"""


def ten_lines() -> str:
    """The first program of the README, which lies beside the sources or in the description of the installed package."""
    beside = Path(__file__).resolve().parents[1] / "README.md"
    text = beside.read_text() if beside.exists() else str(metadata.metadata("localax").json["description"])
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)[0]


SET = ("NPROC", "JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "PYTHONDONTWRITEBYTECODE")
"""What whoever measures may have set, and everyday use has not."""


def seconds(words: Sequence[str], folder: Path) -> float:
    """CPU seconds of a process, its children included, that has this folder to itself."""
    inherited = {name: value for name, value in os.environ.items() if name not in SET}
    environment = {**inherited, "XDG_CACHE_HOME": str(folder)}
    before = os.times()
    subprocess.run([sys.executable, *words], cwd=folder, env=environment, check=True, capture_output=True)
    after = os.times()
    return sum(getattr(after, name) - getattr(before, name) for name in ("children_user", "children_system"))


def turn(folder: Path) -> dict[str, float]:
    """One round: every process once, in a new folder."""
    train = ("-m", "localax", "train", "--steps", "500", "--fresh")
    program = ten_lines()
    return {
        "bare": seconds(("-c", BARE), folder),
        "help": seconds(("-m", "localax", "--help"), folder),
        "list": seconds(("-m", "localax", "list"), folder),
        "cold": seconds(train, folder),
        "warm": seconds(train, folder),
        "ten lines": seconds(("-c", program), folder),
        "ten lines, kept": min(seconds(("-c", f"import localax; localax.fast()\n{program}"), folder) for _ in range(2)),
    }


def measure(rounds: int) -> list[Ratio]:
    turns = []
    with one_cpu():
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                turns.append(turn(Path(folder)))

    def of(what: str, value: Callable[[dict[str, float]], float], **target: float) -> Ratio:
        low, high = np.quantile([value(one) for one in turns], [0.25, 0.75])
        fastest = value({name: min(one[name] for one in turns) for name in turns[0]})
        return Ratio(what, fastest, float(low), float(high), **target)

    return [
        of("train, 500 steps, warm / a bare process", lambda one: one["warm"] / one["bare"], at_most=2.5),
        of("bare process: JAX, matplotlib, one scan [s]", lambda one: one["bare"]),
        of("localax --help [s]", lambda one: one["help"]),
        of("localax list [s]", lambda one: one["list"]),
        of("train, 500 steps, cold [s]", lambda one: one["cold"], at_most=6),
        of("train, 500 steps, warm [s]", lambda one: one["warm"], at_most=3),
        of("the README's ten lines [s]", lambda one: one["ten lines"], at_most=8),
        of("  for the second time, with lx.fast() [s]", lambda one: one["ten lines, kept"]),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="start", description="What everyday use costs before it computes anything.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(argv)
    return show(measure(options.rounds), options.json)


if __name__ == "__main__":
    raise SystemExit(main())
