"""What none of the sources has: each experiment checks a result that is derived in ``docs/derivations``."""

from ..experiment import AbstractExperiment
from .objective import WhatANeuronMaximises

BEYOND: tuple[type[AbstractExperiment], ...] = (WhatANeuronMaximises,)

__all__ = ["BEYOND", "WhatANeuronMaximises"]
