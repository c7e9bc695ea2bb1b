"""Where units run: every executor takes units and leaves results in the store. What is done about failures stands here.

A unit that fails, or whose worker dies, is tried again after all others, three times in all. What a user can mend is
not tried again, and where nothing can be written any more no other unit is begun. Nothing that is finished is lost.
"""

import abc
import errno
import queue
import traceback
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from .._disk import canonical
from .._errors import SettingError
from ..store import Store
from ._unit import AbstractUnit, perform

Watch = Callable[[AbstractUnit, float], None]
"""Called with a unit and the fraction of it that is done; 1 when it is stored, or has failed."""

Tell = Callable[[dict[str, Any]], None]
"""Called with ``{"fraction": f}`` while a unit goes on and at its end with an answer: done, or an error."""

TRIES = 3
"""How often a unit may fail before it is given up."""

ALMOST = 0.999
"""The most that a unit reports before its result is stored."""

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
"""Of a disk that takes nothing more."""


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
        work = Work(units, watch)
        while unit := work.next():
            try:
                perform(unit, store, lambda fraction, u=unit: watch(u, min(fraction, ALMOST)), replace=replace)
            except SettingError:
                raise
            except Exception as error:
                work.settle(unit, trouble(error))
            else:
                work.settle(unit, {"done": True})
        return work.failed


class AbstractPlace(abc.ABC):
    """Workers that are there for as long as some units need them."""

    @abc.abstractmethod
    def room(self) -> int:
        """How many units can run at once, now."""

    @abc.abstractmethod
    def begin(self, request: Mapping[str, Any], tell: Tell) -> None:
        """Have what is asked for in **request** done, and **tell** of it, from any thread."""


class AbstractElsewhere(AbstractExecutor):
    """An executor with workers of its own."""

    @abc.abstractmethod
    def place(self, units: int) -> AbstractContextManager[AbstractPlace]:
        """Workers for so many **units**; when the block ends they are gone."""

    def run(self, units, store, watch, *, replace=False):
        work = Work(units, watch)
        with self.place(len(units)) as place:
            _carry_out(work, place, {"root": str(store.root), "replace": replace})
        return work.failed


def _carry_out(work: "Work", place: AbstractPlace, common: Mapping[str, Any]) -> None:
    """Keep a place busy until all is done, or given up."""
    messages: queue.SimpleQueue = queue.SimpleQueue()
    running: set[str] = set()
    while True:
        while len(running) < place.room() and (unit := work.next()):
            running.add(unit.name)
            request = {"name": unit.name, "kind": unit.kind, "request": unit.request(), **common}
            place.begin(request, lambda message, unit=unit: messages.put((unit, message)))
        if not running and not work.waiting:
            return
        try:
            unit, message = messages.get(timeout=1.0)  # now and then, see how much room there is
        except queue.Empty:
            continue
        if "fraction" not in message:
            running.remove(unit.name)
            work.settle(unit, message)
        elif unit.name in running:
            work.watch(unit, min(message["fraction"], ALMOST))


# What is done about failures ------------------------------------------------------------------------------------------


class Work:
    """Units that wait, the longest first, and what failed for good."""

    def __init__(self, units: Sequence[AbstractUnit], watch: Watch):
        self.waiting = deque(sorted(units, key=lambda unit: -unit.cost))
        self.watch = watch
        self.tries: Counter[str] = Counter()
        self.failed: dict[str, str] = {}

    def next(self) -> AbstractUnit | None:
        return self.waiting.popleft() if self.waiting else None

    def settle(self, unit: AbstractUnit, answer: Mapping[str, Any]) -> None:
        """Take note of an **answer**: done, to be tried again when the others had their turn, or failed."""
        if "error" not in answer:
            self.watch(unit, 1.0)
            return
        why = answer.get("why", "again")
        self.tries[unit.name] += answer.get("times", 1)
        if why == "again" and self.tries[unit.name] < TRIES:
            self.waiting.append(unit)
            return
        tried = f"{self.tries[unit.name]} tries; " if why == "again" else ""
        text = f"{answer['error']} ({tried}settings {canonical(unit.request())})"
        self._give_up(unit, Failure(text, mendable=why != "again"))
        while why == "full" and (rest := self.next()):
            text = f"not begun, as nothing can be stored: {answer['error'].splitlines()[-1]}"
            self._give_up(rest, Failure(text, mendable=True))

    def _give_up(self, unit: AbstractUnit, reason: "Failure") -> None:
        self.failed[unit.name] = reason
        self.watch(unit, 1.0)


class Failure(str):
    """Why a unit failed, traceback and all; ``mendable``: by whoever asked for it, so that it is no mistake of ours."""

    mendable: bool

    def __new__(cls, text: str, *, mendable: bool) -> "Failure":
        made = super().__new__(cls, text)
        made.mendable = mendable
        return made


def trouble(error: Exception) -> dict[str, str]:
    """The answer of a unit that failed with **error**: what happened, and whether to try "again".

    Otherwise there is something to "mend", or the disk is "full".
    """
    full = isinstance(error, OSError) and error.errno in NO_ROOM
    why = "mend" if isinstance(error, SettingError) else "full" if full else "again"
    return {"error": "".join(traceback.format_exception(error)).strip(), "why": why}
