"""A worker: takes names of experiments from standard input until it ends; see `_workers`."""

import json
import os
import sys
import traceback

import jax

from ..store import Store
from ._reproduce import run


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
        jax.clear_caches()  # compiled programs of one experiment serve no other, and add up to gigabytes


if __name__ == "__main__":
    main(*sys.argv[1:])
