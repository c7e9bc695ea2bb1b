"""Combinations of settings that several experiments refuse."""

from typing import Any

from ..._errors import setting_error

STREAMS = 2
"""Streams of data that the neurons of a field study share out."""


def shared_out(experiment: Any, streams: int = STREAMS) -> None:
    """Refuse a number of neurons that cannot be shared out among streams of data."""
    if experiment.seeds % streams:
        raise setting_error(
            type(experiment), "seeds", experiment.seeds, f"a multiple of {streams}, the streams of data"
        )
