"""Training inside an experiment: without a bar of its own, and whole or not at all."""

from collections.abc import Sequence
from typing import Any

from ... import training
from ...networks import AbstractNetwork
from ...stimuli import Task
from ...training import SaveAt
from ...trajectory import Trajectory


def train(
    task: Task | Sequence[Task],
    network: AbstractNetwork,
    *,
    save_every: int | None = None,
    saveat: SaveAt | None = None,
    **settings: Any,
) -> Trajectory:
    """`localax.training.train`, with lists taken together and nothing recorded but parameters unless asked for.

    An interruption stops the experiment: no claim may rest on a part of a run.
    """
    saveat = saveat or SaveAt(save_every, record=())
    trained = training.train(task, network, saveat=saveat, sweep="zip", progress=False, **settings)
    if any(status.startswith("interrupted") for status in trained.status):
        raise KeyboardInterrupt
    return trained
