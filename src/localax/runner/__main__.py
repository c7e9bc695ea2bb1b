"""A worker: takes requests for units from standard input until it ends; see `_executors`."""

import json
import os
import sys
import traceback

import jax

from .._system import resident, terminated_as_interrupt
from ..store import Store
from ._sources import unchanged
from ._unit import perform
from ._units import unit_of

FULL = 1e9
"""Bytes from which on a worker forgets what it compiled: two of them and the caller stay below 3 GB."""

CHANGED = "the sources changed since this was asked for; ask again"


def main() -> None:
    # What libraries print must not be taken for messages.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(**message: object) -> None:
        out.write(json.dumps(message) + "\n")  # in one piece: threads may speak at once
        out.flush()

    whole = unchanged()
    for line in sys.stdin:
        try:
            tell(**answer(json.loads(line), tell) if whole else {"error": CHANGED})
        except BrokenPipeError:  # whoever asked is gone
            return
        if resident() > FULL:  # compiled programs add up to gigabytes, and only the small ones serve again
            jax.clear_caches()


def answer(asked: dict, tell) -> dict[str, object]:
    """Do what is asked, if this process means the same by it as whoever asks."""
    try:
        unit = unit_of(asked["kind"], asked["request"])
        if unit.name != asked["name"]:
            return {"error": CHANGED}
        perform(unit, Store(asked["root"]), lambda f: tell(fraction=float(f)), replace=asked["replace"])
    except BrokenPipeError:
        raise
    except Exception:
        return {"error": traceback.format_exc()}
    return {"done": True}


if __name__ == "__main__":
    with terminated_as_interrupt():
        try:
            main()
        except KeyboardInterrupt:
            sys.exit(130)
