"""``python -m soak.fuzz [--share 0.01] [--only NAME ...] [--seed N]``: all targets, or some; exit 1 if one fails."""

import argparse
import os
import sys
from pathlib import Path

# Before JAX is loaded: one thread, and the cache of the tests.
os.environ.update(dict.fromkeys(("NPROC", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[3] / ".quick" / "compiled"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


def main() -> int:
    from soak.fuzz.driver import COUNT, from_text, fuzz, judged, standing
    from soak.fuzz.targets import ALL

    parser = argparse.ArgumentParser(prog="python -m soak.fuzz", description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the ten thousand inputs to each target")
    parser.add_argument("--only", help="some targets", nargs="+", choices=[target.name for target in ALL])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-defects"), help="where inputs with a defect go")
    parser.add_argument("--replay", type=Path, help="give one such input again, and show what happens")
    asked = parser.parse_args()
    if asked.replay:
        kept = from_text(asked.replay.read_text())
        target = next(one for one in ALL if one.name == kept["target"])
        with standing(target):
            judged(target, kept["input"])
        return 0
    defects = 0
    for target in ALL:
        if target.name in (asked.only or [target.name]):
            tally = fuzz(target, max(1, round(asked.share * COUNT)), seed=asked.seed, keep=asked.keep)
            lines = [f"    {count:5d} x {kind[:200]}" for kind, count in tally.kinds.items()]
            sys.stdout.write("\n".join([str(tally), *lines, ""]))
            sys.stdout.flush()
            defects += tally.defects
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
