"""Prediction: bring samples, learn whether receptive fields on them become local, where, and why."""

from ._amplifier import Band
from ._assumptions import Assumption
from ._baselines import BASELINES
from ._beside import Beside
from ._classes import read_stimuli
from ._compare import BEHIND, compared
from ._files import Data, read_data, read_labels, read_samples
from ._law import Law
from ._predict import predict
from ._prediction import Prediction
from ._why import Why, Worth, data_threshold

__all__ = [
    "BASELINES",
    "BEHIND",
    "Assumption",
    "Band",
    "Beside",
    "Data",
    "Law",
    "Prediction",
    "Why",
    "Worth",
    "compared",
    "data_threshold",
    "predict",
    "read_data",
    "read_labels",
    "read_samples",
    "read_stimuli",
]
