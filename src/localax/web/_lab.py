"""The lab itself: its processes, the runs and jobs that go on in them, and what becomes of them when nobody watches."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from .._errors import SettingError
from .._system import cores, own_folder
from ..runner import TrainingSettings
from ..store import Store
from ._catalogue import catalogue
from ._crew import Crew
from ._forms import DEFAULTS
from ._jobs import Job
from ._limits import LIMITS, lab_settings
from ._own import OwnData, key_of
from ._runs import Run
from ._stimulus import preview, samples
from ._work import AbstractWork, Gone, NotNow

T = TypeVar("T")

CHECK = 0.5
"""Seconds between two looks at who is watched and who waits."""
KEPT = 32e6
"""Bytes of events that are kept of what has ended; the oldest go first."""


class Lab:
    """What all routes share. **store**: the folder of results, by default that of ``Store``."""

    def __init__(self, store: Path | None = None, *, most: int | None = None):
        self.store = Store(store)
        self.trainers, self.theorists, self.jobbers = Crew(most or cores()), Crew(1), Crew(1)
        self.works: dict[str, AbstractWork] = {}
        self.own = OwnData()
        self.sketches, self.brushes, self.desk = (ThreadPoolExecutor(1) for _ in range(3))
        """A thread for previews, which a slider waits for, one for what a page opens with, and one for the rest."""

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["Lab"]:
        """Be there: processes warm, old things forgotten; at the end nothing is left."""
        with own_folder("localax-lab-") as self.folder:
            beside = [asyncio.create_task(job) for job in (self._look_after(), self._warm())]
            try:
                yield self
            finally:
                await self._close(beside)

    async def _warm(self) -> None:
        """What the first visitor would wait for: processes, and the programs of the first preview and run."""
        short = await self.sketch(lab_settings, {**DEFAULTS, "steps": 10, "save_every": 8})
        run = {"job": "train", "settings": short.model_dump(), "file": str(self.folder / "rehearsal.npz")}
        helpers = self.trainers.warm(run), self.theorists.warm()
        first = await self.sketch(lab_settings, DEFAULTS)
        drawn = self.sketch(preview, first), self.draw(samples, first), self.draw(catalogue, self.store)
        await asyncio.gather(*helpers, *drawn)

    async def _close(self, beside: list[asyncio.Task]) -> None:
        tasks = [*beside, *(work.task for work in self.works.values() if work.task is not None)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*(crew.dismiss() for crew in (self.trainers, self.theorists, self.jobbers)))
        await asyncio.wait(tasks, timeout=2)
        for thread in (self.sketches, self.brushes, self.desk):
            thread.shutdown(wait=False, cancel_futures=True)

    def hang_up(self) -> None:
        """End all streams of events: the server is closing."""
        for work in self.works.values():
            work.events.hang_up()

    async def sketch(self, function: Callable[..., T], *arguments: Any) -> T:
        """The result of a function that takes milliseconds, computed beside the page."""
        return await asyncio.get_running_loop().run_in_executor(self.sketches, function, *arguments)

    async def draw(self, function: Callable[..., T], *arguments: Any) -> T:
        """The result of a function that takes a tenth of a second, and more where it compiles."""
        return await asyncio.get_running_loop().run_in_executor(self.brushes, function, *arguments)

    async def ask(self, function: Callable[..., T], *arguments: Any) -> T:
        """The result of a function that may take a second; previews do not wait for it."""
        return await asyncio.get_running_loop().run_in_executor(self.desk, function, *arguments)

    async def work_out(self, job: str, settings: TrainingSettings) -> Any:
        """The result of a job of a second that a process does: here previews would wait for XLA's one thread."""
        async with self.theorists.helper() as helper:
            helper.say(job=job, settings=settings.model_dump())
            name, data = [said async for said in helper.answers()][-1]
        if name == "failed":
            raise SettingError(data)
        return data

    # Work -------------------------------------------------------------------------------------------------------------

    async def understood(self, given: Any) -> tuple[TrainingSettings, dict[str, str]]:
        """The settings that a page has **given**, complete and checked, and what it calls data of its own in them."""
        located, names = self.own.located(given)
        return await self.sketch(lab_settings, located), names

    def needed(self) -> set[str]:
        """The keys of data that runs wait for or go on with."""
        return {key_of(work.names) for work in self.works.values() if isinstance(work, Run) and not work.over}

    async def start_run(self, given: Any) -> Run:
        """Check the settings of a run and put it in line."""
        settings, names = await self.understood(given)
        run = Run(settings, names, Path(), self.trainers, self.theorists)
        run.file = self.folder / f"{run.id}.npz"
        return self._begin(run)

    def start_job(self, request: Mapping[str, Any], after: Callable[[], None] | None = None) -> Job:
        """Put a job in line; **after** is called when it has ended."""
        return self._begin(Job(request, self.jobbers, after))

    def _begin(self, work: T) -> T:
        assert isinstance(work, AbstractWork)
        waiting = sum(not other.over for other in self.works.values())
        if waiting >= LIMITS["waiting"]:
            raise NotNow(f"{waiting} runs and jobs go on or wait already; stop one of them, or wait")
        self.works[work.id] = work
        if work.crew.full:
            self._tell_places()
        else:
            work.tell_state()
        work.task = asyncio.create_task(work.perform())
        return work

    def find(self, kind: type[T], name: str) -> T:
        """The run or job of this **name**."""
        found = self.works.get(name)
        if not isinstance(found, kind):
            raise Gone(f"no {kind.__name__.lower()} is known here; it was forgotten, or the server began anew")
        return found

    async def _look_after(self) -> None:
        """Stop what nobody watches, tell those who wait how long the line is, forget what is old."""
        while True:
            await asyncio.sleep(CHECK)
            for work in list(self.works.values()):
                if not work.events.closed and not work.goes_on_unwatched and work.events.abandoned:
                    work.give_up()
            self._tell_places()
            self._forget()
            self.own.forget(self.needed())

    def _tell_places(self) -> None:
        for crew in (self.trainers, self.jobbers):
            waiting = [work for work in self.works.values() if work.crew is crew and work.status == "queued"]
            for place, work in enumerate(waiting, 1):
                if work.place != place:
                    work.place = place
                    before = "next in line" if place == 1 else f"{place - 1} before it in line"
                    work.change("queued", f"waits for a processor: {before}")

    def _forget(self) -> None:
        """Let go of the oldest that have ended, as far as all together keep too much."""
        ended = [work for work in self.works.values() if work.events.closed and work.events.watchers == 0]
        total = sum(work.events.size for work in ended)
        for work in ended:
            if total <= KEPT and len(ended) <= LIMITS["kept"]:
                return
            total -= work.events.size
            ended = ended[1:]
            del self.works[work.id]
            work.discard()
