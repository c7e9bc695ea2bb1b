"""Combinations of settings that several experiments refuse."""

from itertools import pairwise
from typing import Any

from ..._errors import setting_error

STREAMS = 2
"""Streams of data that the neurons of a field study share out."""


def rising(experiment: Any, *names: str) -> None:
    """Refuse lists that do not grow: their first and last values stand for the least and the largest."""
    for name in names:
        values = getattr(experiment, name)
        if any(a >= b for a, b in pairwise(values)):
            raise setting_error(type(experiment), name, values, "in increasing order")


def shared_out(experiment: Any, streams: int = STREAMS) -> None:
    """Refuse a number of neurons that cannot be shared out among streams of data."""
    if experiment.seeds % streams:
        raise setting_error(
            type(experiment), "seeds", experiment.seeds, f"a multiple of {streams}, the streams of data"
        )


def even(experiment: Any, *names: str) -> None:
    """Refuse numbers of samples that two classes cannot share out evenly."""
    for name in names:
        value = getattr(experiment, name)
        if value % 2:
            raise setting_error(type(experiment), name, value, "even: half of the samples are of either class")
