"""A worker: takes requests for units from standard input until it ends; `localax._worker` is the caller's side."""

import _thread
import functools
import json
import os
import queue
import sys
import threading
from collections.abc import Mapping

from .._system import forget_programs, mend_cache, terminated_as_interrupt
from ..store import Store
from ._executors import trouble
from ._sources import unchanged
from ._unit import perform
from ._units import unit_of

IDLE = 120.0
"""Seconds without a request after which a worker ends: on somebody's cluster nobody may be there to end it."""

CHANGED = {"error": "the sources changed since this was asked for; ask again", "why": "mend"}


def main() -> None:
    # What libraries print must not be taken for messages.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    mend_cache()

    def tell(**message: object) -> None:
        out.write(json.dumps(message) + "\n")  # in one piece: threads may speak at once
        out.flush()

    lines: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(lines,), daemon=True).start()
    while line := _next(lines):
        try:
            tell(**answer(json.loads(line), tell))
        except BrokenPipeError:  # whoever asked is gone
            return
        forget_programs()


def _listen(lines: queue.SimpleQueue) -> None:
    """Pass requests on; when whoever asked is gone, what is being done for them is put down."""
    for line in sys.stdin:
        lines.put(line)
    lines.put("")
    _thread.interrupt_main()


def _next(lines: queue.SimpleQueue) -> str:
    try:
        return lines.get(timeout=IDLE)
    except queue.Empty:
        return ""


def answer(asked: dict, tell) -> Mapping[str, object]:
    """Do what is asked, if this process means the same by it as whoever asks."""
    try:
        unit, store = unit_of(asked["kind"], asked["request"]), Store(asked["root"])
        if unit.name != asked["name"] or not _loaded_as_named(unit.kind):
            return CHANGED
        if asked["replace"] or not store.finished(unit.identity):  # another may have done it meanwhile
            perform(unit, store, lambda f: tell(fraction=float(f)), replace=asked["replace"])
    except BrokenPipeError:
        raise
    except Exception as error:
        return trouble(error)
    return {"done": True}


@functools.cache
def _loaded_as_named(kind: str) -> bool:
    """Whether the files are those that units are named by, now that all of this **kind** is loaded."""
    del kind
    return unchanged()


if __name__ == "__main__":
    code = 0
    with terminated_as_interrupt():
        try:
            main()
        except KeyboardInterrupt:
            code = 130
    os._exit(code)  # at once: a thread still listens, and all is said
