"""Training inside an experiment: without a bar of its own, and whole or not at all."""

from collections.abc import Sequence
from typing import Any

from .. import training
from .._trajectory import Trajectory
from ..networks import AbstractNetwork
from ..stimuli import Task
from ..training import Record


def train(task: Task | Sequence[Task], network: AbstractNetwork, *, record: Record = (), **settings: Any) -> Trajectory:
    """`localax.training.train`, with nothing recorded but parameters unless asked for.

    An interruption stops the experiment: no claim may rest on a part of a run.
    """
    trained = training.train(task, network, record=record, progress=False, **settings)
    if any(status.startswith("interrupted") for status in trained.status):
        raise KeyboardInterrupt
    return trained
