"""Prediction: bring samples, learn whether receptive fields on them become local, where, and why."""

from ._amplifier import Band
from ._assumptions import Assumption
from ._beside import Beside
from ._files import Data, read_labels, read_samples
from ._law import Law
from ._predict import predict
from ._prediction import Prediction
from ._why import Why, Worth

__all__ = [
    "Assumption",
    "Band",
    "Beside",
    "Data",
    "Law",
    "Prediction",
    "Why",
    "Worth",
    "predict",
    "read_labels",
    "read_samples",
]
