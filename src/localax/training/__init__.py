"""Training: one compiled loop over steps, all seeds and settings at once."""

from ._checkpoint import Checkpoint, reached
from ._estimators import ESTIMATORS, AbstractEstimator, Antithetic, Orbit, Plain
from ._loop import Divergence
from ._losses import LOSSES
from ._optimisers import OPTIMISERS
from ._plan import Plan, numeric_flags
from ._rate import stable_rate
from ._records import RECORDS, Record, SaveAt, Snapshot
from ._stream import Stream
from ._train import Cost, estimate, plan, resume, run, train

__all__ = [
    "ESTIMATORS",
    "LOSSES",
    "OPTIMISERS",
    "RECORDS",
    "AbstractEstimator",
    "Antithetic",
    "Checkpoint",
    "Cost",
    "Divergence",
    "Orbit",
    "Plain",
    "Plan",
    "Record",
    "SaveAt",
    "Snapshot",
    "Stream",
    "estimate",
    "numeric_flags",
    "plan",
    "reached",
    "resume",
    "run",
    "stable_rate",
    "train",
]
