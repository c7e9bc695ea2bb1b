"""Processes that do the lab's work: started once, kept warm, one XLA thread each, asked and answering in lines of JSON.

A process that dies takes the work it was at with it, and another takes its place.
"""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any

from .._system import OWN_SESSION
from .._worker import ONE_THREAD
from ._numbers import json_line

PROGRAM = f"{__package__}._worker"
LONGEST_LINE = 2**27
GRACE = 2.0
"""Seconds that a process gets to put down what it is at."""


class Helper:
    """One process."""

    def __init__(self, process: asyncio.subprocess.Process):
        self.process = process
        self.rehearsal: asyncio.Task | None = None

    @classmethod
    async def hire(cls) -> "Helper":
        """Start a process; it loads JAX while nobody waits for it."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", PROGRAM, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE, env={**os.environ, **ONE_THREAD}, **OWN_SESSION,
        )  # fmt: skip
        return cls(process)

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    def say(self, **message: Any) -> None:
        """Send a request, or a word on the one it is at."""
        assert self.process.stdin is not None
        with contextlib.suppress(ConnectionError, RuntimeError):  # it died: whoever listens is told
            self.process.stdin.write(f"{json_line(message)}\n".encode())

    async def answers(self) -> AsyncIterator[tuple[str, Any]]:
        """What it says on a request, word by word, to the one that ends it: "done" or "failed"."""
        assert self.process.stdout is not None
        while (line := await self.process.stdout.readline()).endswith(b"\n"):  # a killed one stops anywhere
            name, data = json.loads(line)
            yield name, data
            if name in ("done", "failed"):
                return
        code = await self.process.wait()
        yield "failed", f"its process ended with code {code}; start it again"

    def rehearse(self, request: Mapping[str, Any]) -> None:
        """Have it do something for nobody: what that compiles is there for the next request."""

        async def heard() -> None:
            async for _ in self.answers():
                pass

        self.say(**request)
        self.rehearsal = asyncio.create_task(heard())

    async def rehearsed(self) -> None:
        """Wait until it has done what it rehearses."""
        if self.rehearsal is not None:
            await asyncio.wait([self.rehearsal])

    async def dismiss(self) -> None:
        """End the process, by force if it does not end by itself."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), GRACE)
        except TimeoutError:
            self.kill()
            await self.process.wait()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()


class Crew:
    """At most so many processes; who asks for one when all are busy waits, first come, first served."""

    def __init__(self, most: int):
        self.idle: list[Helper] = []
        self.busy: set[Helper] = set()
        self._free = asyncio.Semaphore(most)

    @property
    def full(self) -> bool:
        """Whether one would have to wait."""
        return self._free.locked()

    async def warm(self, request: Mapping[str, Any] | None = None) -> None:
        """Have one process ready before it is needed, and a **request** like the first one rehearsed."""
        helper = await Helper.hire()
        self.idle.append(helper)
        if request is not None:
            helper.rehearse(request)

    @contextlib.asynccontextmanager
    async def helper(self) -> AsyncIterator[Helper]:
        """A process of one's own for a while; one that is left in the middle of its work is ended."""
        async with self._free:
            helper = await self._taken()
            self.busy.add(helper)
            try:
                yield helper
                self.idle.append(helper)
            except BaseException:
                helper.kill()
                raise
            finally:
                self.busy.discard(helper)

    async def _taken(self) -> Helper:
        while self.idle:
            helper = self.idle.pop()
            try:
                await helper.rehearsed()
            except asyncio.CancelledError:
                self.idle.append(helper)
                raise
            if helper.alive:
                return helper
        return await Helper.hire()

    async def dismiss(self) -> None:
        """End all processes."""
        for helper in self.busy:
            helper.kill()
        await asyncio.gather(*(helper.dismiss() for helper in (*self.busy, *self.idle)))
