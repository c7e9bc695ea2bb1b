"""Jobs: work with a fraction done and a result at the end: an experiment run again, a prediction for one's data."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from ._crew import Crew
from ._work import AbstractWork


class Job(AbstractWork):
    """What a process is asked by a **request**; **after** is called when it has ended, however it did."""

    goes_on_unwatched: ClassVar[bool] = False

    def __init__(self, request: Mapping[str, Any], crew: Crew, after: Callable[[], None] | None = None):
        super().__init__(crew)
        self.asked, self.after = request, after
        self.result: Any = None
        self.began = time.monotonic()

    def state(self) -> dict[str, Any]:
        names = ("id", "status", "place", "message", "result")
        return {name: getattr(self, name) for name in names}

    def request(self) -> dict[str, Any]:
        self.began = time.monotonic()
        return dict(self.asked)

    def hear(self, name: str, data: Any) -> None:
        if name == "progress":
            spent = time.monotonic() - self.began
            left = spent * (1 - data) / data if data > 0.02 else None
            self.events.tell("progress", {"fraction": data, "seconds": spent, "left": left, "status": self.status})
        elif name == "done":
            self.result = data
            self.change("done")
        elif name == "failed":
            self.fail(data)

    async def finish(self) -> None:
        if self.after is not None:
            await asyncio.get_running_loop().run_in_executor(None, self.after)

    def give_up(self) -> None:
        self.stop("stopped because nobody watched")

    def discard(self) -> None:
        """Nothing of a job is kept outside of it."""
