"""A worker: takes names of experiments from standard input until it ends; see `_workers`."""

import json
import math
import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import jax

from ..store import Store
from ._reproduce import run

ROOM = 1.0
"""GB from which on a worker forgets what it compiled: two of them and the caller stay below 3."""


def main(preset: str, root: str) -> None:
    # What libraries print must not be taken for messages.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(**message: object) -> None:
        out.write(json.dumps(message) + "\n")  # in one piece: threads may speak at once
        out.flush()

    for line in sys.stdin:
        try:
            run(line.strip(), preset, Store(root), lambda fraction: tell(fraction=float(fraction)))
            tell(done=True)
        except BrokenPipeError:  # whoever asked is gone
            return
        except Exception:
            tell(error=traceback.format_exc())
        if resident() > ROOM:  # compiled programs add up to gigabytes, and only the small ones serve again
            jax.clear_caches()


def resident() -> float:
    """GB that this process takes; without /proc, as much as there is."""
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e9
    return math.inf


if __name__ == "__main__":
    main(*sys.argv[1:])
