"""Runs: each trains in one process, has its theory computed in another, and tells those who watch it."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from .._errors import refuse_unknown
from ..runner import TrainingSettings
from ..spec import plain_settings
from ._crew import Crew
from ._export import Stretches, named
from ._limits import LabRun
from ._mistakes import SORRY, tell_where
from ._work import AbstractWork, NotNow

WORDS = {"pause": ("running",), "resume": ("paused",), "rate": ("running", "paused"), "stop": ()}
"""What can be said to a run, and in which status."""
ON_THE_WAY = {"paused": "paused", "resumed": "running"}


class Run(AbstractWork):
    """A training run.

    **settings**: complete. **names**: what its page calls data of its own in them. **file**: where it is kept when it
    has ended.
    """

    goes_on_unwatched: ClassVar[bool] = False

    def __init__(
        self, settings: TrainingSettings, names: Mapping[str, str], file: Path, trainers: Crew, theorists: Crew
    ):
        super().__init__(trainers)
        self.settings, self.names, self.file, self.theorists = settings, names, file, theorists
        self.title, self.shape, self.shown = "", [], []
        self.step, self.time, self.rate = 0, 0.0, settings.rate
        self.stretches: Stretches = [{"step": 0, "rate": settings.rate}]
        self.reading = {"predicted": "", "happened": "", "why": ""}
        self.until = 0.0
        self.theory: asyncio.Task | None = None

    def state(self) -> dict[str, Any]:
        names = ("id", "title", "status", "place", "step", "time", "rate", "message", "shape", "shown", "stretches")
        settings = named(self.settings, self.names).model_dump(exclude_none=True)
        return {**{name: getattr(self, name) for name in names}, "steps": self.settings.steps, "settings": settings}

    def request(self) -> dict[str, Any]:
        return {"job": "train", "settings": self.settings.model_dump(), "file": str(self.file)}

    def hear(self, name: str, data: Any) -> None:
        if name == "frame":
            self._frame(data)
        elif name == "begun":
            self.title, self.shape, self.shown = data["title"], data["shape"], data["shown"]
            self.until = data["times"][-1]
            self.tell_state()
        elif name in ON_THE_WAY:
            self.change(ON_THE_WAY[name])
        elif name == "done":
            self.step, self.time, self.stretches = data["step"], data["time"], data["stretches"]
            self.read(happened=data["happened"])
            self.rate = self.stretches[-1]["rate"]
            self.change(data["status"], self.message)
        elif name == "failed":
            self.fail(data)

    def _frame(self, data: Any) -> None:
        self.events.tell("frame", data)
        self.step, self.time = data["step"], data["time"]
        if self.theory is None:  # the first frame is the start
            self.theory = asyncio.create_task(self._theory(data["fields"]))

    def read(self, **said: str) -> None:
        """Say more of what was predicted, what happened and why."""
        self.reading = {**self.reading, **said}
        self.events.tell("reading", self.reading)

    @property
    def reached(self) -> int:
        """Steps that the lines which make this run take: so far as it came, or will come."""
        return self.step if self.over and self.step else self.settings.steps

    def say(self, word: str, body: Mapping[str, Any]) -> None:
        """Pause, resume or stop, or take another rate."""
        refuse_unknown("word to a run", word, WORDS)
        if word == "stop":
            self.stop("stopped")
        elif self.helper is None or self.status not in WORDS[word]:
            raise NotNow(f"this run is {self.status} and cannot take {word!r}")
        elif word == "rate":
            self._another_rate(body.get("rate"))
        else:
            self.helper.say(word=word)

    def _another_rate(self, rate: Any) -> None:
        plain_settings(LabRun, {**asdict(LabRun()), "rate": rate})
        if self.settings.optimiser != "sgd":
            raise NotNow("only plain gradient descent can go on at another rate: other optimisers have a memory")
        self.rate = float(rate)
        assert self.helper is not None
        self.helper.say(word="rate", rate=self.rate)
        self.stretches = [*self.stretches, {"step": self.step, "rate": self.rate}]
        self.tell_state()

    async def _theory(self, start: Any) -> None:
        """Have theory follow the same start, while training goes on."""
        asked = {"job": "theory", "settings": self.settings.model_dump(), "start": start, "until": self.until}
        try:
            async with self.theorists.helper() as helper:
                helper.say(**asked)
                async for name, data in helper.answers():
                    self._hear_theory(name, data)
        except (asyncio.CancelledError, OSError) as error:
            self._hear_theory("failed", f"theory was given up {error}".strip())
        except Exception as error:
            tell_where(error)
            self._hear_theory("failed", SORRY)

    def _hear_theory(self, name: str, data: Any) -> None:
        if name == "reading":
            self.read(**data)
        elif name == "failed":
            self.events.tell("theory", {"flow": "theory", "title": "Theory", "missing": data})
        elif name != "done":
            self.events.tell(name, data)

    async def finish(self) -> None:
        """Wait for theory, unless nobody watches any more."""
        if self.theory is not None:
            await asyncio.wait([self.theory])

    def give_up(self) -> None:
        """Stop all that is done for it: nobody watches."""
        self.stop("stopped because nobody watched")
        if self.theory is not None:
            self.theory.cancel()

    def discard(self) -> None:
        self.file.unlink(missing_ok=True)
