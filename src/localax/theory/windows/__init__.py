"""Windows: E ReLU<w,X> through localization, by windows of pixels whose cells are exact, the rest Gaussian."""

from ._choice import Candidate, Choice, best_windows, choose_windows, named
from ._closure import AbstractClosure, WindowSum
from ._reference import Orbits
from ._windows import AbstractGateModel, Windows, second_moments, whole_ring

__all__ = [
    "AbstractClosure",
    "AbstractGateModel",
    "Candidate",
    "Choice",
    "Orbits",
    "WindowSum",
    "Windows",
    "best_windows",
    "choose_windows",
    "named",
    "second_moments",
    "whole_ring",
]
