"""Which executor a word means: what ``--on`` and ``on=`` take."""

from collections.abc import Mapping
from typing import Any

from .._errors import unknown
from ._executors import AbstractExecutor, Processes


def executor_of(on: str, options: Mapping[str, Any] | None = None) -> AbstractExecutor:
    """The executor that **on** names, with its **options**."""
    if on != "processes":
        raise unknown("executor", on, ["processes"])
    return Processes(**(options or {}))
