"""Training: one compiled loop over steps, all seeds and settings at once."""

from ._estimators import ESTIMATORS, AbstractEstimator, Antithetic, Orbit, Plain
from ._losses import LOSSES
from ._prepare import flags
from ._records import RECORDS, Logarithmic, Record, Snapshot
from ._spec import SHELVES, Spec, member, read_spec
from ._train import Cost, estimate, train
from ._typed import typed_settings

__all__ = [
    "ESTIMATORS",
    "LOSSES",
    "RECORDS",
    "SHELVES",
    "AbstractEstimator",
    "Antithetic",
    "Cost",
    "Logarithmic",
    "Orbit",
    "Plain",
    "Record",
    "Snapshot",
    "Spec",
    "estimate",
    "flags",
    "member",
    "read_spec",
    "train",
    "typed_settings",
]
