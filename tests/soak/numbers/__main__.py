"""Every row, or a share of their cases."""

import argparse
import os
import sys

os.environ.update(dict.fromkeys(("NPROC", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))

from soak.numbers import bits, extremes, flows, laws, losses, precision
from soak.numbers.rows import Row, chosen, run

ROWS: list[Row] = [*laws.ROWS, *losses.ROWS, *flows.ROWS, *extremes.ROWS, *precision.ROWS, *bits.ROWS]


def main() -> int:
    parser = argparse.ArgumentParser(prog="soak.numbers", description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of all cases")
    parser.add_argument("--only", default="", help="rows whose name begins so")
    given = parser.parse_args()
    missed = 0
    for row, cases in chosen(ROWS, given.share, given.only):
        line, misses = run(row, cases)
        sys.stdout.write("\n".join([line, *misses]) + "\n")
        sys.stdout.flush()
        missed += len(misses)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
