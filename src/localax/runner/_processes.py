"""Processes on this machine. A worker that dies takes only the unit with it that it was at, and another takes its
place; a pool of the standard library would break as a whole."""

import contextlib
import queue
import threading
from collections.abc import Iterator

from .._system import cores
from .._worker import Worker
from ._executors import AbstractElsewhere, AbstractPlace


class Processes(AbstractElsewhere):
    """So many **workers**, processes on this machine, with one XLA thread each: by default one a core."""

    def __init__(self, workers: int | None = None):
        self.workers = workers or cores()

    @contextlib.contextmanager
    def place(self, units: int) -> Iterator["_Crew"]:
        crew = _Crew(min(units, self.workers))
        try:
            yield crew
        finally:
            crew.close()


class _Crew(AbstractPlace):
    """Threads that each keep a worker."""

    def __init__(self, count: int):
        self.count = count
        self.asked: queue.SimpleQueue = queue.SimpleQueue()
        self.workers: set[Worker] = set()
        self.lock, self.closed = threading.Lock(), False
        self.threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def room(self) -> int:
        return self.count

    def begin(self, request, tell) -> None:
        self.asked.put((request, tell))

    def _serve(self) -> None:
        worker = None
        while job := self.asked.get():
            request, tell = job
            try:
                worker = worker if worker and worker.alive else self._hired(worker)
            except OSError as error:
                if self._others_go_on():
                    self.asked.put(job)
                    return
                tell({"error": f"no process could be started: {error}"})
                continue
            tell(worker.ask(request, lambda fraction, tell=tell: tell({"fraction": fraction})))

    def _hired(self, dead: Worker | None) -> Worker:
        """A new worker in the place of one that died, if any."""
        with self.lock:
            if dead:
                self.workers.remove(dead)
                dead.close()
            if self.closed:
                raise OSError("all workers were ended")
            worker = Worker()
            self.workers.add(worker)
            return worker

    def _others_go_on(self) -> bool:
        """Whether this thread can stop, as others have a process."""
        with self.lock:
            self.count -= bool(self.workers)
            return bool(self.workers)

    def close(self) -> None:
        """End the processes, at a unit or not; politely first, so that they keep what they can."""
        with self.lock:
            self.closed = True
            for worker in self.workers:
                worker.terminate()
        for _ in self.threads:
            self.asked.put(None)
        for worker in self.workers:
            worker.close()
        for thread in self.threads:
            thread.join()
