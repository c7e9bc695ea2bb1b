"""Work that takes long: it waits for a process, is told of while it goes on, and ends. Runs and jobs are such work."""

import abc
import asyncio
import secrets
from typing import Any, ClassVar

from .._errors import SettingError
from ._crew import Crew, Helper
from ._events import Events
from ._mistakes import SORRY, tell_where

OVER = ("done", "stopped", "diverged", "failed")
"""What a piece of work is when nothing more will come of it."""
WAIT = 3.0
"""Seconds that work gets to stop by itself before its process is ended."""


class Gone(SettingError):
    """A run or job that this server does not know."""


class NotNow(SettingError):
    """Something that cannot be done in the state that things are in."""


class AbstractWork(abc.ABC):
    """A piece of work; :meth:`perform` is its life."""

    goes_on_unwatched: ClassVar[bool]

    def __init__(self, crew: Crew):
        self.id = secrets.token_urlsafe(12)
        self.crew, self.events = crew, Events()
        self.status, self.message, self.place, self.stopping = "queued", "", 0, False
        self.helper: Helper | None = None
        self.task: asyncio.Task | None = None

    @property
    def over(self) -> bool:
        return self.status in OVER

    @abc.abstractmethod
    def state(self) -> dict[str, Any]:
        """What the page is told of it."""

    @abc.abstractmethod
    def request(self) -> dict[str, Any]:
        """What a process is asked."""

    @abc.abstractmethod
    def hear(self, name: str, data: Any) -> None:
        """Take a word of the process: one on the way, "done" or "failed"."""

    @abc.abstractmethod
    def give_up(self) -> None:
        """Stop all that is done for it: nobody watches."""

    @abc.abstractmethod
    def discard(self) -> None:
        """Remove what is kept of it outside this process."""

    def tell_state(self) -> None:
        self.events.tell("status", self.state())

    def change(self, status: str, message: str = "") -> None:
        """Be in another status, and say so."""
        self.status, self.message = status, message
        self.tell_state()

    async def perform(self) -> None:
        """Wait for a process, have the work done, pass on what it says, and say at last that this was all."""
        try:
            async with self.crew.helper() as helper:
                self.helper, self.place = helper, 0
                self.change("running")
                helper.say(**self.request())
                async for name, data in helper.answers():
                    self.hear(name, data)
        except asyncio.CancelledError:
            self.change("stopped", self.message)
        except OSError as error:
            self.change("failed", f"no process could be started: {error}")
        except Exception as error:  # else whoever watches would wait for ever
            tell_where(error)
            self.change("failed", SORRY)
        finally:
            self.helper = None
        try:
            await self.finish()
        finally:
            self.events.tell("end", self.state(), last=True)

    async def finish(self) -> None:  # noqa: B027 (most work is over when its process says so)
        """Wait for what goes on beside the work."""

    def fail(self, why: str) -> None:
        """End without a result; work that was to stop has stopped."""
        self.change("stopped" if self.stopping else "failed", self.message if self.stopping else why)

    def stop(self, why: str = "") -> None:
        """Stop: by itself within a few seconds, else with its process."""
        if self.over or self.stopping:
            return
        self.stopping, self.message = True, why
        if self.helper is None:  # it waits for a process
            assert self.task is not None
            self.task.cancel()
        else:
            self.helper.say(word="stop")
            asyncio.get_running_loop().call_later(WAIT, self._force)

    def _force(self) -> None:
        if self.helper is not None and not self.over:
            self.helper.kill()
