"""A worker: this package run as a program that does units, asked and answering in lines of JSON.

Nothing is pickled, no caller needs a guarded ``__main__``, and all executors have the same program do their units, with
the same flags set before JAX is loaded: so they give the same bits. This file loads the standard library alone: it is
all of the package that a Dask worker needs. The science is in the worker that it starts.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ._system import OWN_SESSION

Tell = Callable[[float], None]
"""Called with the fraction of a unit that is done."""

ONE_THREAD = dict.fromkeys(("NPROC", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
"""What XLA, numpy and scikit-learn read their number of threads from. More of them would change bits."""

PATIENCE = 3.0
"""Seconds that a worker gets to put down what it is at."""

PAUSE = 0.5
"""Seconds between two words on the progress of a unit on Dask."""


class Worker:
    """A process; **environment** is added to that of the caller."""

    def __init__(self, environment: Mapping[str, str] | None = None):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "localax.runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {}), **ONE_THREAD},
            **OWN_SESSION,  # Ctrl-C reaches the caller alone, who ends the workers when all is said
        )

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def ask(self, request: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
        """Have a unit done, tell how far it is, and give the answer; a process that ends is an answer too."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it died: that is told below
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        said = ""
        for line in self.process.stdout or ():
            try:
                message = dict(json.loads(line))
            except (ValueError, TypeError):
                said = f" after saying {line[:60]!r}"
                self.process.kill()
                break
            if "fraction" not in message:
                return message
            tell(message["fraction"])
        return {"error": f"its process ended with code {self.process.wait()}{said}"}

    def terminate(self) -> None:
        """Ask the process to end, keeping what it can."""
        self.process.terminate()

    def close(self) -> None:
        """See the process end, by force where it must be, and let go of it."""
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        with suppress(BrokenPipeError):
            self.process.__exit__(None, None, None)


# What a Dask worker does ----------------------------------------------------------------------------------------------

_IDLE: dict[str, list[Worker]] = {}
_BUSY: dict[str, list[Worker]] = {}
_LOCK = threading.Lock()


def dask_unit(run: str, text: str) -> None:
    """Do the unit that **text** asks for, in a worker that serves the **run** alone; trouble is raised, as JSON."""
    from distributed import get_worker

    asked, host = json.loads(text), get_worker()
    worker = _taken(run, asked["environment"])
    last = time.monotonic()

    def tell(fraction: float) -> None:
        nonlocal last
        if time.monotonic() > last + PAUSE:
            last = time.monotonic()
            host.log_event(run, {"name": asked["request"]["name"], "fraction": fraction})

    answer = worker.ask(asked["request"], tell)
    with _LOCK:
        _BUSY[run].remove(worker)
        if worker.alive:
            _IDLE[run].append(worker)
    if "error" in answer:
        if not worker.alive:
            worker.close()
        raise RuntimeError(json.dumps(answer))


def _taken(run: str, environment: Mapping[str, str]) -> Worker:
    """A worker of this run that has nothing to do, or a new one."""
    with _LOCK:
        idle = _IDLE.setdefault(run, [])
        while idle:
            worker = idle.pop()
            if worker.alive:
                break
            worker.close()
        else:
            worker = Worker(environment)
        _BUSY.setdefault(run, []).append(worker)
        return worker


def dask_stop(run: str) -> None:
    """End the workers of a **run**; Dask calls this beside the units, so it does not wait for them."""
    with _LOCK:
        workers = [*_IDLE.pop(run, []), *_BUSY.get(run, [])]
    for worker in workers:
        worker.terminate()
    threading.Thread(target=lambda: [worker.close() for worker in workers], daemon=True).start()
