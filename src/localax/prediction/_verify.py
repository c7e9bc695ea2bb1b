"""Networks trained on the data by stochastic gradients, beside what the flow says."""

import numpy as np

from ..analysis import ipr, localized
from ..networks import SingleReLU
from ..stimuli import Empirical, Task
from ..training import train
from ._classes import Classes
from ._ends import Settings

NETWORKS = 8
RATE, BATCH = 0.05, 500


def trained(classes: Classes, settings: Settings, networks: int = NETWORKS) -> tuple[np.ndarray, np.ndarray]:
    """The IPR of networks trained to the flow's horizon, each on a stream of its own, and which are local."""
    task = Task([Empirical(x.reshape(-1, *classes.shape)) for x in (classes.zero, classes.one)], [0, 1])
    network = SingleReLU()  # pyright: ignore[reportCallIssue] (its number of units is a property)
    steps = max(1, round(settings.horizon / RATE))
    run = train(
        task, network, steps=steps, batch=BATCH, rate=RATE, seeds=networks, stream="independent",
        save_every=steps, progress=False,
    )  # fmt: skip
    fields = run.final[:, 0]
    ndim = len(classes.shape)
    return np.asarray(ipr(fields, ndim=ndim)), np.asarray(localized(fields, ndim=ndim))
