"""Every kind of unit, and a unit from a request; what a kind is made of is loaded when the first of it is made."""

from collections.abc import Mapping
from typing import Any

from ._experiments import ExperimentUnit
from ._sweep import SweepUnit
from ._training import TrainingUnit
from ._unit import AbstractUnit

KINDS: dict[str, type[AbstractUnit]] = {kind.kind: kind for kind in (ExperimentUnit, SweepUnit, TrainingUnit)}


def unit_of(kind: str, request: Mapping[str, Any]) -> AbstractUnit:
    """The unit that a request asks for."""
    return KINDS[kind].from_request(request)
