"""Where units run: in this process, or in several. Every executor takes units and leaves results in the store.

A worker is this package run as a program, so nothing is pickled and no caller needs a guarded ``__main__``. It reads
requests from its standard input, one line of JSON each, and writes a line for each thing that happens. A worker that
dies takes only the unit with it that it was at, and another takes its place. A pool of the standard library would break
as a whole.
"""

import abc
import json
import os
import queue
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress

from .._errors import SettingError
from .._system import OWN_SESSION, cores
from ..store import Store
from ._unit import AbstractUnit, perform

Watch = Callable[[AbstractUnit, float], None]
"""Called with a unit and the fraction of it that is done; 1 when it is stored, or has failed."""

THREADS = ("NPROC", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
"""What XLA, numpy and scikit-learn read their number of threads from."""

PATIENCE = 3.0
"""Seconds that a worker gets to put down what it is at."""

ALMOST = 0.999
"""The most that a unit reports before its result is stored."""


class AbstractExecutor(abc.ABC):
    """A place where units run."""

    @abc.abstractmethod
    def run(
        self, units: Sequence[AbstractUnit], store: Store, watch: Watch, *, replace: bool = False
    ) -> dict[str, str]:
        """Run **units** into the **store**; gives what failed: the unit's name and why, traceback and all.

        **watch**: called with a unit and the fraction of it that is done. **replace**: put the new result in the place
        of a stored one.
        """


class ThisProcess(AbstractExecutor):
    """One unit after the other, here. What a user can mend is raised, not reported."""

    def run(self, units, store, watch, *, replace=False):
        failed = {}
        for unit in units:
            try:
                perform(unit, store, lambda fraction, u=unit: watch(u, min(fraction, ALMOST)), replace=replace)
            except SettingError:
                raise
            except Exception:
                failed[unit.name] = traceback.format_exc()
            watch(unit, 1.0)
        return failed


class Processes(AbstractExecutor):
    """So many **workers**, processes on this machine: by default one a core; fewer have more threads each."""

    def __init__(self, workers: int | None = None):
        self.workers = workers or cores()

    def run(self, units, store, watch, *, replace=False):
        crew = _Crew(units, store, watch, replace, min(len(units), self.workers))
        try:
            crew.work()
        finally:
            crew.stop()
        return crew.failed


class _Crew:
    """Workers, the units that wait for them, and what went wrong."""

    def __init__(self, units: Sequence[AbstractUnit], store: Store, watch: Watch, replace: bool, count: int):
        self.waiting = sorted(units, key=lambda unit: unit.cost)  # the longest last, where it is taken from
        self.store, self.watch, self.replace, self.count = store, watch, replace, count
        self.messages: queue.Queue = queue.Queue()
        self.workers: list[_Worker] = []
        self.failed: dict[str, str] = {}

    def work(self) -> None:
        self._hire()
        while any(worker.unit for worker in self.workers):
            worker, message = self.messages.get()
            if "fraction" in message:
                if worker.unit:
                    self.watch(worker.unit, min(message["fraction"], ALMOST))
                continue
            self._finish(worker, message.get("error"))
            if "ended" in message:
                self.workers.remove(worker)
                worker.stop()
                self._hire()
            else:
                self._give(worker)

    def _hire(self) -> None:
        """Fill the crew up while there is work; where no process can be started, go on with those there are."""
        while self.waiting and len(self.workers) < self.count:
            try:
                self.workers.append(_Worker(self.messages, threads=max(1, cores() // self.count)))
            except OSError as error:
                if not self.workers:
                    self.failed |= {unit.name: f"no process could be started: {error}" for unit in self.waiting}
                    self.waiting.clear()
                return
            self._give(self.workers[-1])

    def _give(self, worker: "_Worker") -> None:
        worker.unit = self.waiting.pop() if self.waiting else None
        if worker.unit:
            request = {"name": worker.unit.name, "root": str(self.store.root), "replace": self.replace}
            worker.send({**request, "kind": worker.unit.kind, "request": worker.unit.request()})

    def _finish(self, worker: "_Worker", error: str | None) -> None:
        if worker.unit is None:
            return
        if error is not None:
            self.failed[worker.unit.name] = error
        self.watch(worker.unit, 1.0)
        worker.unit = None

    def stop(self) -> None:
        for worker in self.workers:
            worker.stop()


class _Worker:
    """A process, the thread that listens to it, and the unit it is at, if any."""

    def __init__(self, messages: queue.Queue, threads: int):
        self.unit: AbstractUnit | None = None
        self.process = subprocess.Popen(
            [sys.executable, "-m", "localax.runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **dict.fromkeys(THREADS, str(threads))},
            **OWN_SESSION,  # Ctrl-C reaches the caller alone, who ends the workers when all is said
        )
        self.listener = threading.Thread(target=self._listen, args=(messages,), daemon=True)
        self.listener.start()

    def send(self, request: dict) -> None:
        with suppress(BrokenPipeError):  # it died: its last message says so
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()

    def stop(self) -> None:
        """End the process, at a unit or not, and all that hangs on it; politely first, so that it keeps what it can."""
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.listener.join()
        with suppress(BrokenPipeError):
            self.process.__exit__(None, None, None)

    def _listen(self, messages: queue.Queue) -> None:
        """Pass messages on until the process ends; one that is no message ends it."""
        said = ""
        for line in self.process.stdout or ():
            try:
                messages.put((self, dict(json.loads(line))))
            except (ValueError, TypeError):
                said = f" after saying {line[:60]!r}"
                self.process.kill()
                break
        messages.put((self, {"ended": True, "error": f"its process ended with code {self.process.wait()}{said}"}))
