"""Training: one compiled loop over steps, all seeds and settings at once."""

from ._estimators import ESTIMATORS, AbstractEstimator, Antithetic, Orbit, Plain
from ._losses import LOSSES
from ._records import RECORDS, Logarithmic, Snapshot
from ._train import Estimate, estimate, train

__all__ = [
    "ESTIMATORS",
    "LOSSES",
    "RECORDS",
    "AbstractEstimator",
    "Antithetic",
    "Estimate",
    "Logarithmic",
    "Orbit",
    "Plain",
    "Snapshot",
    "estimate",
    "train",
]
