"""What none of the sources has: each experiment checks a result that is derived in ``docs/derivations``."""

from .crowds import Crowds
from .exact_threshold import ExactThreshold
from .fold import Fold
from .gate_attractors import GateAttractors
from .heavy_tails import HeavyTails
from .objective import WhatANeuronMaximises
from .windows import ThroughLocalization

BEYOND = (WhatANeuronMaximises, ThroughLocalization, ExactThreshold, Fold, GateAttractors, Crowds, HeavyTails)

__all__ = [
    "BEYOND",
    "Crowds",
    "ExactThreshold",
    "Fold",
    "GateAttractors",
    "HeavyTails",
    "ThroughLocalization",
    "WhatANeuronMaximises",
]
