"""Training, repeated: settings of one form differ in numbers alone, and train as one compiled program."""

import json
import math
import warnings
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ... import training
from ..._disk import canonical
from ..._errors import setting_error
from ...spec import built
from ...store import TRAJECTORY
from ...trajectory import load
from .._training import SHELVES, TrainingSettings, completed_stimulus, task_of, training_settings
from .._unit import Files
from ._works import AbstractWork, Settings, labelled_trajectory, measured, with_kinds

LONG = 2_000_000
"""Networks x steps from which on a unit keeps checkpoints: a minute or so for small networks."""
SOFT = ("stimulus", "labels", "proportions", "rate", "init", "seeds")
"""Settings of a run that do not decide by themselves which program is compiled."""


class Train(AbstractWork):
    """`localax train`, many networks at once."""

    name = "train"
    module = "localax.training"

    def checked(self, given):
        checked = training_settings(with_kinds(given))
        if not isinstance(checked.rate, float):
            raise setting_error("sweep", "rate", checked.rate, "one number, or a list in the table [sweep]")
        if checked.sweep is not None:
            raise setting_error("sweep", "sweep", checked.sweep, "a table")
        return {**checked.model_dump(), "stimulus": completed_stimulus(checked.stimulus)}

    def form(self, settings):
        made = TrainingSettings(**settings).arguments()
        leaves, structure = jax.tree.flatten(made["task"])
        rest = {name: value for name, value in settings.items() if name not in SOFT}
        return canonical([str(structure), [np.shape(leaf) for leaf in leaves], rest])

    def run(self, settings, seeds, progress, scratch):
        given = _together(settings, seeds)
        long = len(settings) * len(seeds) * settings[0]["steps"] > LONG
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # what diverged is counted in the result
            checkpoint = scratch() / "checkpoint" if long else None
            run = training.run(training.plan(**given), checkpoint=checkpoint, progress=progress)
        if any(status.startswith("interrupted") for status in run.status):
            raise KeyboardInterrupt
        return Files({TRAJECTORY: measured(run).to_bytes()}, run.status)

    def labelled(self, data, name):
        return labelled_trajectory(load(data, name=name))

    def size(self, settings):
        made, (fields, records) = TrainingSettings(**settings), _fields(settings)
        pixels = math.prod(task_of(made.stimulus, made.labels, made.proportions).shape)
        shifts = pixels if settings["estimator"] == "orbit" else 1
        responses = 3 * made.batch * (fields // pixels) * shifts
        return 4.0 * 6 * made.batch * pixels, 4.0 * (fields * (records + 4) + responses)

    def disk(self, settings):
        fields, records = _fields(settings)
        return 4.0 * records * (2 * fields + 3)  # as a unit and in the whole

    def try_out(self, settings):
        training.plan(**_together([settings], self.seeds(settings)[:1]))

    def clock(self, settings):
        stops = _stops(TrainingSettings(**settings))
        return stops, stops * settings["rate"]

    def seconds(self, settings, seeds):
        return training.estimate(training.plan(**_together(settings, seeds))).seconds

    def cost(self, settings):
        return float(settings["steps"] * settings["batch"] * _fields(settings)[0])

    def splits_seeds(self, settings):
        return not isinstance(settings["stream"], int)  # seeds share such streams out by their number


def _together(settings: Sequence[Settings], seeds: list[int]) -> dict[str, Any]:
    """The call of `training.plan` that trains all settings at once; what all have alike is given once."""
    first = {**TrainingSettings(**settings[0]).arguments(), "seeds": seeds, "sweep": "zip"}
    first["rate"] = [one["rate"] for one in settings]
    tasks = [canonical([one[name] for name in ("stimulus", "labels", "proportions")]) for one in settings]
    starts = [canonical(one["init"]) for one in settings]
    if len(set(tasks)) > 1:
        made = {text: task_of(*json.loads(text)) for text in dict.fromkeys(tasks)}
        first["task"] = [made[text] for text in tasks]
    if len(set(starts)) > 1:
        begun = {text: built(SHELVES["init"], "init", json.loads(text)) for text in dict.fromkeys(starts)}
        first["init"] = [begun[text] for text in starts]
    return first


def _fields(settings: Settings) -> tuple[int, int]:
    """Weights of a network, and how often they are recorded."""
    made = TrainingSettings(**settings)
    units = built(SHELVES["network"], "network", made.network).units
    return units * math.prod(task_of(made.stimulus, made.labels, made.proportions).shape), len(_stops(made))


def _stops(made: TrainingSettings) -> np.ndarray:
    """The steps that are recorded."""
    return made.saveat().spelt_out(made.steps).stops(made.steps)
