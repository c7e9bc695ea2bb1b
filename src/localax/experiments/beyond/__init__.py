"""What none of the sources has: each experiment checks a result that is derived in ``docs/derivations``."""

from ..experiment import AbstractExperiment
from .crowds import Crowds

BEYOND: tuple[type[AbstractExperiment], ...] = (Crowds,)

__all__ = ["BEYOND"]
