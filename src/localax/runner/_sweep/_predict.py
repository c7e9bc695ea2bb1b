"""Prediction, repeated: data drawn from laws, with what networks trained on them do beside what is predicted.

The room of predictions is imported where one is made: other sweeps do without.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pydantic
import scipy

from ..._disk import pack, unpack
from ..._errors import refuse_unknown, setting_error
from ...spec import built
from ...stimuli import AbstractStimulus, Task
from .._model import checked_by
from .._training import SHELVES
from .._unit import Files
from ._works import PLACE, AbstractWork, Settings

ALONE = 2.0**30
"""Said to be the size of a data set, so that each is a unit of its own."""


def _ranks(x: np.ndarray) -> np.ndarray:
    """Every pixel's rank among the samples, spread over (-1, 1)."""
    return 2 * scipy.stats.rankdata(x, axis=0) / (len(x) + 1) - 1


def _ramp(x: np.ndarray) -> np.ndarray:
    """A standard deviation that grows threefold along the last axis."""
    return x * np.linspace(0.5, 1.5, x.shape[-1])


TREATMENTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "none": lambda x: x,
    "signs": np.sign,
    "ranks": _ranks,
    "ramp": _ramp,
}
"""What may be done to samples once they are drawn."""


class PredictSettings(pydantic.BaseModel):
    """Settings of a data set and of what is asked about it."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    classes: list[dict[str, Any]]
    """A table for each class, label 0 first; one alone is told from independent pixels of the same marginals."""
    treatment: str = "none"
    """What is done to the samples: a name in ``TREATMENTS``."""
    samples: pydantic.PositiveInt = 2000
    """Of each class."""
    seed: int = 0
    """Of the samples."""
    starts: pydantic.PositiveInt = 32
    """Of the flow."""
    horizon: pydantic.PositiveFloat = 400.0
    """Of the flow and of training."""
    networks: pydantic.PositiveInt = 8
    """That are trained on the data."""
    fresh: bool = False
    """Whether as many are trained on fresh samples of the law."""
    behind: bool = True
    """Whether the law behind the data is asked for."""


class Predict(AbstractWork):
    """`localax predict` on data that are drawn, with the truth beside it."""

    name = "predict"
    module = "localax.prediction"
    has_seeds = False
    file = "numbers.npz"

    def checked(self, given):
        checked = checked_by(PredictSettings, self.name, given)
        refuse_unknown("treatment", checked.treatment, TREATMENTS)
        if len(checked.classes) not in (1, 2):
            raise setting_error("predict", "classes", checked.classes, "one table, or two with label 0 first")
        if checked.fresh and (checked.treatment != "none" or len(checked.classes) == 1):
            raise setting_error("predict", "fresh", True, "false where data are treated or have one class alone")
        return checked.model_dump()

    def form(self, settings):
        _laws(settings)
        return self.name  # all alike, so that units run in the order of the sweep

    def run(self, settings, seeds, progress, scratch):
        from ... import prediction

        del seeds, scratch
        (one,) = settings
        *zero, long = (_drawn(law, i, one) for i, law in enumerate(_laws(one)))
        asked = {name: one[name] for name in ("starts", "horizon", "networks", "seed", "behind")}
        task = Task(_laws(one), [0, 1]) if one["fresh"] else None
        found = prediction.compared(long, *zero, task=task, **asked)
        progress(1.0)
        return Files({self.file: pack(found, {}, kind="predict")})

    def labelled(self, data, name):
        from ...prediction import BEHIND

        arrays = unpack(data, kind="predict", name=name)[0]
        absent = {
            key.replace("network", "fresh"): np.full_like(a, np.nan) for key, a in arrays.items() if "network" in key
        }
        absent |= dict.fromkeys(BEHIND, np.array(np.nan))
        return {key: (_axes(key, array), array[None]) for key, array in (absent | arrays).items()}

    def size(self, settings):
        del settings
        return ALONE, 0.0


def _axes(name: str, array: np.ndarray) -> tuple[str, ...]:
    along = "network" if name.startswith(("network", "fresh")) else "start"
    return (PLACE, *[along] * array.ndim)


def _laws(settings: Settings) -> list[AbstractStimulus]:
    return [built(SHELVES["stimulus"], "classes", table) for table in settings["classes"]]


def _drawn(law: AbstractStimulus, label: int, settings: Settings) -> np.ndarray:
    key = jax.random.fold_in(jax.random.key(settings["seed"]), label)
    return TREATMENTS[settings["treatment"]](np.asarray(law.sample(key, settings["samples"])))
