"""What none of the sources has: each experiment checks a result that is derived in ``docs/derivations``."""

from .fold import Fold
from .gate_attractors import GateAttractors
from .heavy_tails import HeavyTails

BEYOND = (Fold, GateAttractors, HeavyTails)

__all__ = ["BEYOND", "Fold", "GateAttractors", "HeavyTails"]
