"""Arrays in, numbers out: what a receptive field looks like and what a population of them does.

Every function but ``ica`` is pure jax.numpy: it compiles, maps, and takes any leading axes. The last axis
is the ring; with ``ndim=2`` the last two are the torus. Fields that are zero everywhere or not finite give
NaN, and -1 where an index is due; arrays of a wrong shape raise a ValueError of one line.
"""

from ._alignment import Alignment, align, distance
from ._bump import BumpFit, fit_bump
from ._components import ica
from ._evolution import Comparison, compare, evolution
from ._gabor import GaborFit, fit_gabor
from ._gates import excess_kurtosis, gate_agreement, preactivations, uniform_gate_agreement
from ._localization import centre, entropy, ipr, peak, peak_sign, width
from ._population import Kind, classify, spacing, tiling
from ._sinusoid import SinusoidFit, fit_sinusoid
from ._spectrum import dominant_frequency, spectrum, uncertainty

__all__ = [
    "Alignment",
    "BumpFit",
    "Comparison",
    "GaborFit",
    "Kind",
    "SinusoidFit",
    "align",
    "centre",
    "classify",
    "compare",
    "distance",
    "dominant_frequency",
    "entropy",
    "evolution",
    "excess_kurtosis",
    "fit_bump",
    "fit_gabor",
    "fit_sinusoid",
    "gate_agreement",
    "ica",
    "ipr",
    "peak",
    "peak_sign",
    "preactivations",
    "spacing",
    "spectrum",
    "tiling",
    "uncertainty",
    "uniform_gate_agreement",
    "width",
]
