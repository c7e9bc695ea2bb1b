"""Localax: when, why and how do receptive fields in neural networks become local?

The rooms load when they are first used, so that ``import localax`` is instant and pulls in no JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_ROOMS = ("analysis", "experiments", "networks", "report", "runner", "store", "stimuli", "theory", "training")
_NAMES = {
    "Task": "stimuli",
    "Trajectory": "_trajectory",
    "compare": "analysis",
    "Outcome": "_record",
    "enable_x64": "_math",
    "load": "_trajectory",
    "plot": "_notebook",
    "reproduce": "runner",
    "runs": "_notebook",
    "train": "training",
}

__all__ = ["__version__", *_ROOMS, *_NAMES]

if TYPE_CHECKING:
    from . import analysis, experiments, networks, report, runner, stimuli, store, theory, training
    from ._math import enable_x64
    from ._notebook import plot, runs
    from ._record import Outcome
    from ._trajectory import Trajectory, load
    from .analysis import compare
    from .runner import reproduce
    from .stimuli import Task
    from .training import train


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'localax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
