"""One-liners for a notebook: look at a run, or list what is stored."""

from typing import Any

import numpy as np

from ._record import Fields, Figure
from ._trajectory import Trajectory


def plot(what: Any) -> Any:
    """A matplotlib figure of a trajectory, of one field, or of several: (field, pixel) or (field, row, column)."""
    from .analysis import evolution
    from .report import figure

    if isinstance(what, Trajectory):
        return figure(evolution(what))
    if isinstance(what, Figure):
        return figure(what)
    values = np.asarray(what)
    if values.dtype.kind not in "iuf" or values.ndim not in (1, 2, 3):
        raise ValueError(f"plot: takes a Trajectory or an array of fields, got {type(what).__name__}")
    return figure(Figure("", ((Fields("receptive fields", np.atleast_2d(values)),),)))


def runs(root: str | None = None) -> Any:
    """What is stored, newest last."""
    from .store import Store

    return Store(root).list()
