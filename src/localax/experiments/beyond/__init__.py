"""What none of the sources has: each experiment checks a result that is derived in ``docs/derivations``."""

from ..experiment import AbstractExperiment
from .gate_attractors import GateAttractors

BEYOND: tuple[type[AbstractExperiment], ...] = (GateAttractors,)

__all__ = ["BEYOND"]
