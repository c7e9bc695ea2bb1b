"""Windows: E ReLU<w,X> through localization, by windows of pixels whose cells are exact, the rest Gaussian."""

from ._choice import Candidate, Choice
from ._closure import AbstractClosure, WindowSum
from ._model import AbstractGateModel
from ._orbits import Orbits
from ._windows import Windows, second_moments, whole_ring

__all__ = [
    "AbstractClosure",
    "AbstractGateModel",
    "Candidate",
    "Choice",
    "Orbits",
    "WindowSum",
    "Windows",
    "second_moments",
    "whole_ring",
]
