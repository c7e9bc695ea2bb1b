"""What none of the sources has: each experiment checks a result that is derived in ``docs/derivations``."""

from .fold import Fold
from .gate_attractors import GateAttractors
from .heavy_tails import HeavyTails
from .objective import WhatANeuronMaximises

BEYOND = (WhatANeuronMaximises, Fold, GateAttractors, HeavyTails)

__all__ = ["BEYOND", "Fold", "GateAttractors", "HeavyTails", "WhatANeuronMaximises"]
