"""What none of the sources has: each experiment checks a result that is derived in ``docs/derivations``."""

from .heavy_tails import HeavyTails

BEYOND = (HeavyTails,)

__all__ = ["BEYOND", "HeavyTails"]
