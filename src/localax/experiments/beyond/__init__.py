"""What none of the sources has: each experiment checks a result that is derived in ``docs/derivations``."""

from ..experiment import AbstractExperiment
from .exact_threshold import ExactThreshold

BEYOND: tuple[type[AbstractExperiment], ...] = (ExactThreshold,)

__all__ = ["BEYOND", "ExactThreshold"]
