"""Fields in, numbers out: what a receptive field looks like and what a population of them does.

Fields come as a ``Trajectory``, whose weights are measured all at once, or as arrays: the last axis is the ring; with
``ndim=2`` the last two are the torus. Measures take any leading axes and give numpy; inside of jit, vmap and grad they
are JAX like everything around them. Fields that are zero everywhere or not finite give NaN, and -1 where an index is
due; what cannot be measured raises a SettingError of one line.
"""

from ._alignment import Alignment, align, distance
from ._bump import BumpFit, fit_bump
from ._compare import Comparison, compare
from ._components import ica
from ._evolution import evolution, setting_labels
from ._gabor import GaborFit, fit_gabor
from ._gates import excess_kurtosis, gate_agreement, preactivations, uniform_gate_agreement
from ._localization import centre, entropy, ipr, peak, peak_sign, width
from ._localized import Kind, classify, concentration, gathered, localized
from ._population import spacing, tiling
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
    "concentration",
    "distance",
    "dominant_frequency",
    "entropy",
    "evolution",
    "excess_kurtosis",
    "fit_bump",
    "fit_gabor",
    "fit_sinusoid",
    "gate_agreement",
    "gathered",
    "ica",
    "ipr",
    "localized",
    "peak",
    "peak_sign",
    "preactivations",
    "setting_labels",
    "spacing",
    "spectrum",
    "tiling",
    "uncertainty",
    "uniform_gate_agreement",
    "width",
]
