"""An experiment, repeated with other settings: the numbers of its claims, and their verdicts."""

import re
from typing import Any

import numpy as np

from ..._errors import setting_error
from ...outcome import Outcome
from .._experiments import FILE, ExperimentUnit, experiment_unit
from ._works import PLACE, AbstractWork, Labelled, Settings


class Experiment(AbstractWork):
    """One of ``experiments.ALL`` by its name; ``preset`` and ``seed`` are settings beside its own."""

    has_seeds = False
    file = FILE

    def __init__(self, name: str):
        self.name = name

    def checked(self, given):
        settings = {"preset": "quick", "seed": 0, **given}
        self.own_unit(settings)
        return settings

    def own_unit(self, settings: Settings) -> ExperimentUnit:
        from ... import experiments

        seed = settings["seed"]
        if type(seed) is not int or not 0 <= seed < 2**31:
            raise setting_error("sweep", "seed", seed, "a whole number >= 0 and < 2^31")
        own = {name: value for name, value in settings.items() if name not in ("preset", "seed")}
        made = experiments.named(self.name).preset(settings["preset"]).changed(own)
        return experiment_unit(made, seed=seed)

    def form(self, settings):
        return self.own_unit(settings).name

    def run(self, settings, seeds, progress, scratch):
        raise NotImplementedError("an experiment runs as a unit of its own")

    def seconds(self, settings, seeds):
        del seeds
        return sum(self.own_unit(one).cost for one in settings)

    def labelled(self, data, name) -> Labelled:
        outcome = Outcome.from_bytes(data, name=name)
        found: dict[str, Any] = {"seconds": outcome.seconds}
        for i, claim in enumerate(outcome.claims, 1):
            found[f"claim{i}_holds"] = float(claim.verdict == "holds")
            for number in claim.measured:
                found[f"claim{i}_{_word(number.name)}"] = np.nan if number.value is None else number.value
        return {name: ((PLACE,), np.array([value], float)) for name, value in found.items()}


def _word(name: str) -> str:
    return re.sub(r"\W+", "_", name)
