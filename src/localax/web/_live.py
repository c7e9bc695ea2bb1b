"""A training run that is watched: frames as it goes, and between two calls of the loop paused, stopped or sped up.

The bits are those of `lx.train` and, where the rate was changed, of `lx.resume` behind it.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import training
from ..runner import training_settings, training_unit
from ..trajectory import Trajectory
from ._limits import LIMITS
from ._measures import measures
from ._numbers import listed
from ._words import happened

PACE = 0.08
"""Seconds that a call of the compiled loop should take: more than five frames a second, whatever the network."""


def work(request: Mapping[str, Any], tell: Any, inbox: Any) -> dict[str, Any]:
    """Train what the **request** asks for, tell its frames, and write the run to the file that it names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of rates and divergence: the page tells both
        live = _Live(request["settings"], tell, inbox)
        live.begin()
        trajectory = live.train()
    trajectory.save(Path(request["file"]))
    return {
        "status": _status(trajectory, live.stopped),
        "step": trajectory_step(trajectory),
        "time": listed(float(trajectory.time[-1])),
        "stretches": live.stretches,
        "happened": happened(trajectory),
    }


def trajectory_step(trajectory: Trajectory) -> int:
    """The step at which a run has ended, through all its stretches."""
    return int([trajectory.settings, *trajectory.settings.get("then", ())][-1]["reached"])


def _status(trajectory: Trajectory, stopped: bool) -> str:
    if all(status.startswith("diverged") for status in trajectory.status):
        return "diverged"
    return "stopped" if stopped else "done"


class _Live:
    """One run, and what those who watch it say of it."""

    def __init__(self, settings: Mapping[str, Any], tell: Any, inbox: Any):
        self.settings = training_settings(settings)
        self.unit = training_unit(self.settings)
        arguments = self.settings.arguments()
        self.task, self.network = arguments["task"], arguments["network"]
        self.tell, self.inbox = tell, inbox
        self.rate, self.every = float(self.unit.plan.rate), int(self.settings.save_every)  # pyright: ignore[reportArgumentType]
        self.stretches = [{"step": 0, "rate": self.rate}]
        self.began = (0, 0.0)
        """Step and time at which this stretch began."""
        self.stopped = False

    def begin(self) -> None:
        """Tell what will be shown, and the fields at the start."""
        plan, units = self.unit.plan, self.network.units
        shown = [{"seed": int(seed), "unit": unit} for seed in plan.seeds for unit in range(units)][: LIMITS["shown"]]
        told = {"title": self.unit.title, "shape": list(self.task.shape), "shown": shown}
        self.tell("begun", {**told, "times": (plan.stops * self.rate).tolist()})
        self.frame(0, {"parameters": plan.parameters, "records": {}})

    def train(self) -> Trajectory:
        """The whole run, stretch by stretch: a new rate begins a new one."""
        how: dict[str, Any] = {"watch": self.frame, "progress": self.heed, "pace": PACE}
        whole = part = training.run(self.unit.plan, **how)
        while not self.stopped and any(status.startswith("interrupted") for status in part.status):
            self.began = (int(part.settings["reached"]), float(part.time[-1]))
            self.stretches.append({"step": self.began[0], "rate": self.rate})
            part = training.resume(
                part, self.task, self.network, steps=self.settings.steps - self.began[0], rate=self.rate,
                save_every=self.every, **how,
            )  # fmt: skip
            whole = whole.followed_by(part)
        return whole

    def frame(self, step: int, latest: Mapping[str, Any]) -> None:
        """Tell a record: fields, and the numbers beside them."""
        first, time = self.began
        told = {"step": step, "time": listed(time + (step - first) * self.rate)}
        weights = np.asarray(latest["parameters"].weights).reshape(-1, *self.task.shape)[: LIMITS["shown"]]
        records = {name: self._shown(latest["records"].get(name)) for name in ("loss", "accuracy")}
        self.tell("frame", {**told, **records, **measures(self.task, weights, valued=not self.network.reconstructs)})

    def _shown(self, numbers: Any) -> Any:
        """A number a seed, for every field that is shown; None where it was not recorded."""
        if numbers is None:
            return None
        return listed(np.repeat(np.asarray(numbers, float).ravel(), self.network.units)[: LIMITS["shown"]])

    def heed(self, _: float) -> None:
        """Do what was said meanwhile; called between two calls of the loop, where KeyboardInterrupt ends a stretch."""
        paused, rate = False, self.rate
        while message := self.inbox.next(block=paused):
            word = message.get("word")
            if word in ("pause", "resume"):
                paused = word == "pause"
                self.tell("paused" if paused else "resumed", None)
            elif word == "rate":
                rate = float(message["rate"])
            elif word == "stop":
                self.stopped = True
                raise KeyboardInterrupt
        if rate != self.rate:
            self.rate = rate
            raise KeyboardInterrupt
