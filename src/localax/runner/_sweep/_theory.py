"""Theory, repeated: flows from the starts that training has, and where the flat field gives way."""

import abc
import math
from typing import Any, ClassVar

import numpy as np
import pydantic

from ... import networks, theory
from ..._disk import canonical, pack, unpack
from ..._errors import setting_error
from ...spec import built
from ...stimuli import Task
from ...store import TRAJECTORY
from ...trajectory import Trajectory, load
from .._model import checked_by
from .._training import SHELVES, completed_stimulus, task_of
from .._unit import Files
from ._design import changed
from ._works import PLACE, AbstractWork, Settings, labelled_trajectory, measured, with_kinds


class _Theory(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    stimulus: str | dict[str, Any] = "NLGP"
    labels: list[float] | None = None
    proportions: list[float] | None = None


class FlowSettings(_Theory):
    """Settings of a flow: the task, where it starts, and the times that are recorded."""

    init: str | dict[str, Any] = "Xavier"
    seeds: int | list[int] = 1
    times: list[float]
    rtol: float = 1e-6


class EffectiveSettings(FlowSettings):
    """Also the amplifier, as `theory.effective_flow` takes it."""

    amplifier: str | None = None


class WindowSettings(FlowSettings):
    """Also the order of windows: "auto", or so many neighbouring pixels."""

    order: Any = "auto"


class ThresholdSettings(_Theory):
    """Settings of a threshold: the task, the setting that is sought, by its path, and between which values."""

    of: str = "stimulus.gain"
    low: float = 1e-3
    high: float = 100.0


def _validated(model: type[pydantic.BaseModel], what: str, given: Settings) -> Settings:
    checked = checked_by(model, what, with_kinds(given)).model_dump()
    return {**checked, "stimulus": completed_stimulus(checked["stimulus"])}


def _task(settings: Settings) -> Task:
    return task_of(settings["stimulus"], settings["labels"], settings["proportions"])


class AbstractFlow(AbstractWork):
    """A flow from the starts that training has."""

    module = "localax.theory"
    model: ClassVar[type[FlowSettings]]

    @abc.abstractmethod
    def flow(self, task: Task, w0: Any, settings: Settings) -> Trajectory:
        """The flow of one setting from all its starts."""

    def checked(self, given):
        return _validated(self.model, self.name, given)

    def form(self, settings):
        built(SHELVES["init"], "init", settings["init"])
        return canonical([_task(settings).shape, settings["times"]])

    def run(self, settings, seeds, progress, scratch):
        del scratch
        runs = []
        for one in settings:
            task, start = _task(one), built(SHELVES["init"], "init", one["init"])
            w0 = start.weights(networks.seed_keys(np.asarray(seeds)), 1, task.shape, np.float32)
            runs.append(self.flow(task, w0, one))
            progress(len(runs) / len(settings))
        weights, loss = (np.stack([getattr(run, name) for run in runs]) for name in ("weights", "loss"))
        whole = Trajectory(
            runs[0].time, weights, loss=loss, settings={"flow": self.name, "seeds": seeds},
            status=sum((run.status for run in runs), ()), pixel_ndim=runs[0].pixel_ndim,
            swept={PLACE: np.arange(len(runs))},
        )  # fmt: skip
        return Files({TRAJECTORY: measured(whole).to_bytes()}, whole.status)

    def labelled(self, data, name):
        return labelled_trajectory(load(data, name=name))

    def size(self, settings):
        return 0.0, self.disk(settings)

    def disk(self, settings):
        return 8.0 * 2 * len(settings["times"]) * math.prod(_task(settings).shape)

    def clock(self, settings):
        return np.array(settings["times"]), np.array(settings["times"])

    def cost(self, settings):
        return self.disk(settings)


class EffectiveFlow(AbstractFlow):
    """The paper's Eq. 5."""

    name = "effective_flow"
    model = EffectiveSettings

    def flow(self, task, w0, settings):
        asked = {name: settings[name] for name in ("times", "amplifier", "rtol")}
        return theory.effective_flow(task, w0, **asked)


class WindowFlow(AbstractFlow):
    """The flow by windows, through localization."""

    name = "window_flow"
    model = WindowSettings

    def checked(self, given):
        settings = super().checked(given)
        order = settings["order"]
        if order != "auto" and not (type(order) is int and order >= 1):
            raise setting_error("window_flow", "order", order, '"auto" or a whole number of pixels >= 1')
        return settings

    def flow(self, task, w0, settings):
        asked = {name: settings[name] for name in ("times", "order", "rtol")}
        return theory.window_flow(task, w0, **asked)

    def splits_seeds(self, settings):
        return settings["order"] != "auto"  # the first starts decide on the windows of all


class Threshold(AbstractWork):
    """Where the flat field of the effective flow gives way, as one setting varies."""

    name = "threshold"
    module = "localax.theory"
    has_seeds = False
    file = "numbers.npz"

    def checked(self, given):
        return _validated(ThresholdSettings, self.name, given)

    def form(self, settings):
        return str(bool(_task(changed(settings, {settings["of"]: settings["high"]}))))

    def run(self, settings, seeds, progress, scratch):
        del seeds, scratch
        found = []
        for one in settings:
            found.append(self._found(one))
            progress(len(found) / len(settings))
        return Files({self.file: pack({"threshold": np.array(found)}, {}, kind="threshold")})

    def _found(self, one: Settings) -> float:
        def tasks(value: Any) -> Task:
            return _task(changed(one, {one["of"]: value}))

        return theory.steady.critical_value(tasks, one["low"], one["high"])

    def labelled(self, data, name):
        return {"threshold": ((PLACE,), unpack(data, kind="threshold", name=name)[0]["threshold"])}
