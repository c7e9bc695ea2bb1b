"""What none of the sources has: each experiment checks a result that is derived in ``docs/derivations``."""

from ..experiment import AbstractExperiment
from .fold import Fold
from .gate_attractors import GateAttractors

BEYOND: tuple[type[AbstractExperiment], ...] = (GateAttractors, Fold)

__all__ = ["BEYOND"]
