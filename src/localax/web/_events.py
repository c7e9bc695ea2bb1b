"""Events of a run or a job: kept from the first on, so that whoever comes late or comes again misses nothing."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from ._numbers import json_line

BEAT = 5.0
"""Seconds without an event after which a comment is sent: it shows that both ends are there."""
PATIENCE = 5.0
"""Seconds without a watcher after which what is watched is given up."""


class Events:
    """Server-sent events, each made into bytes once, whoever watches."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed = False
        self.watchers = 0
        self.left_at = asyncio.get_running_loop().time()
        """When the last watcher went; until the first one comes, when all began."""
        self._news, self._over = asyncio.Event(), False

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return sum(map(len, self.sent))

    def tell(self, name: str, data: Any, *, last: bool = False) -> None:
        """Send an event of this **name**; after the **last** one there is no other."""
        if self.closed:
            return
        self.sent.append(f"id: {len(self.sent)}\nevent: {name}\ndata: {json_line(data)}\n\n".encode())
        self.closed = last
        self._wake()

    def hang_up(self) -> None:
        """End the streams of all who watch; what was sent is kept."""
        self._over = True
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    @property
    def abandoned(self) -> bool:
        """Whether nobody has watched for a while."""
        return self.watchers == 0 and asyncio.get_running_loop().time() - self.left_at > PATIENCE

    async def follow(self, after: int = -1) -> AsyncIterator[bytes]:
        """All events behind the one of number **after**, those to come too."""
        self.watchers += 1
        try:
            place = after + 1
            yield b"retry: 1000\n\n"
            while not self._over:
                waiting = self._news
                if place < len(self.sent):
                    news = self.sent[place:]
                    place += len(news)
                    yield b"".join(news)
                elif self.closed:
                    return
                elif not await _within(waiting, BEAT):
                    yield b": beat\n\n"
        finally:
            self.watchers -= 1
            self.left_at = asyncio.get_running_loop().time()


async def _within(event: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
