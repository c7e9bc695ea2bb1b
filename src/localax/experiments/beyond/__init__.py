"""What none of the sources has: each experiment checks a result that is derived in ``docs/derivations``."""

from ..experiment import AbstractExperiment

BEYOND: tuple[type[AbstractExperiment], ...] = ()

__all__ = ["BEYOND"]
