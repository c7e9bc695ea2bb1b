"""One process a core, or fewer with more threads each; they take experiments one by one and say how far they are.

A worker is this package run as a program, so nothing is pickled and no caller needs a guarded ``__main__``. It
reads names from its standard input and writes one line of JSON for each thing that happens. Results travel through
the store alone. A worker that dies takes only its own experiment with it; an end of input ends it.
"""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

Watch = Callable[[str, float], None]
"""Called with an experiment's name and the fraction that is done; 1 when it is stored."""

LONGEST = (
    "fig1", "peaks", "fig5", "fig6", "fig7", "natural_images",
    "fig4", "threshold", "fig3", "gabor_hypothesis", "losses",
)  # fmt: skip
"""Begun first, so that no core is left alone with a long one."""

THREADS = ("NPROC", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
"""What XLA, numpy and scikit-learn read their number of threads from."""


def work(names: Sequence[str], preset: str, root: Path, workers: int | None, watch: Watch) -> dict[str, str]:
    """Run experiments into the store at ``root``; gives what failed, with its traceback."""
    waiting = sorted(names, key=lambda name: LONGEST.index(name) if name in LONGEST else len(LONGEST))
    messages: queue.Queue = queue.Queue()
    count = min(len(waiting), workers or cores())
    crew = [_Worker(preset, root, messages, threads=max(1, cores() // count)) for _ in range(count)]
    failed: dict[str, str] = {}
    try:
        for worker in crew:
            worker.take(waiting)
        while any(worker.name for worker in crew):
            worker, message = messages.get()
            if "fraction" in message:
                watch(worker.name, min(message["fraction"], 0.999))  # 1 is for what is stored
                continue
            if worker.name and "error" in message:
                failed[worker.name] = message["error"]
            if worker.name:
                watch(worker.name, 1.0)
            worker.take(waiting if not message.get("ended") else [])
    finally:
        for worker in crew:
            worker.stop()
    for name in waiting:  # every worker died
        failed[name] = "no process was left to run it"
    return failed


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Worker:
    """A process and the name of the experiment it is at, if any."""

    def __init__(self, preset: str, root: Path, messages: queue.Queue, threads: int):
        # A session of its own: Ctrl-C reaches the caller alone, who ends the workers when all is said.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "localax.runner", preset, str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, **dict.fromkeys(THREADS, str(threads))},
        )
        self.name = ""
        self.ear = threading.Thread(target=self._listen, args=(messages,), daemon=True)
        self.ear.start()

    def stop(self) -> None:
        """End the process, at an experiment or not, and all that hangs on it."""
        self.process.terminate()
        self.ear.join()
        with suppress(BrokenPipeError):
            self.process.__exit__(None, None, None)

    def take(self, waiting: list[str]) -> None:
        """Begin the next experiment, or none if none is left."""
        self.name = waiting.pop(0) if waiting else ""
        if self.name and self.process.stdin:
            with suppress(BrokenPipeError):  # it died: its last message says so
                self.process.stdin.write(f"{self.name}\n")
                self.process.stdin.flush()

    def _listen(self, messages: queue.Queue) -> None:
        for line in self.process.stdout or ():
            messages.put((self, json.loads(line)))
        code = self.process.wait()
        messages.put((self, {"ended": True, "error": f"its process ended with code {code}"}))
