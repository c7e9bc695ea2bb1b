"""Localax: when, why and how do receptive fields in neural networks become local?

The rooms load when they are first used, so that ``import localax`` is instant and pulls in no JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_ROOMS = (
    "analysis", "experiments", "networks", "outcome", "prediction", "report", "runner", "spec", "stimuli", "store",
    "theory", "training", "trajectory",
)  # fmt: skip
_NAMES = {
    "Task": "stimuli",
    "Trajectory": "trajectory",
    "compare": "analysis",
    "fast": "_system",
    "Outcome": "outcome",
    "Prediction": "prediction",
    "SaveAt": "training",
    "SettingError": "_errors",
    "load": "trajectory",
    "plot": "_notebook",
    "predict": "prediction",
    "reproduce": "runner",
    "resume": "training",
    "runs": "_notebook",
    "sweep": "runner",
    "train": "training",
}

__all__ = ["__version__", *_ROOMS, *_NAMES]

if TYPE_CHECKING:
    from . import (
        analysis,
        experiments,
        networks,
        outcome,
        prediction,
        report,
        runner,
        spec,
        stimuli,
        store,
        theory,
        training,
        trajectory,
    )
    from ._errors import SettingError
    from ._notebook import plot, runs
    from ._system import fast
    from .analysis import compare
    from .outcome import Outcome
    from .prediction import Prediction, predict
    from .runner import reproduce, sweep
    from .stimuli import Task
    from .training import SaveAt, resume, train
    from .trajectory import Trajectory, load


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'localax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
