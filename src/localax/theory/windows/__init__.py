"""Windows: E ReLU<w,X> through localization, by windows of pixels whose cells are exact, the rest Gaussian."""

from ._closure import AbstractClosure, WindowSum
from ._reference import Orbits
from ._windows import AbstractGateModel, Windows

__all__ = ["AbstractClosure", "AbstractGateModel", "Orbits", "WindowSum", "Windows"]
