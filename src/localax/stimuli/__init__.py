"""Stimuli: laws over the pixels of a ring or torus, as covariance x marginal x mechanism."""

from ._assumptions import (
    Check,
    conditional_covariance,
    conditional_mean,
    sign_symmetry,
    translation_invariance,
    weak_dependence,
)
from ._base import AbstractStimulus, checked_stimulus
from ._battery import Report, check_stimulus
from ._copula import NLGP, AbstractCopula, Copula, Gaussian, Kur, gain_from_ig22, latent_covariance
from ._covariances import (
    COVARIANCES,
    AbstractCovariance,
    Circulant,
    CosineModulated,
    Exponential,
    PeriodicSquaredExponential,
    SquaredExponential,
)
from ._derived import Affine, Filtered, GaussianClone, RandomScale, Window
from ._elliptical import RADIALS, AbstractRadial, Elliptical, Radial, RadialStudentT, Shell, Surface
from ._empirical import Empirical, NaturalPatches
from ._examples import ALL, EXAMPLES
from ._ising import Ising
from ._kernels import AbstractKernel, CentreSurround
from ._marginals import AbstractMarginal, Weighted
from ._normal_maps import (
    MARGINALS,
    AbstractNormalMap,
    Algebraic,
    Bernoulli,
    Erf,
    GeneralizedNormal,
    Laplace,
    Normal,
    Quantile,
    StudentT,
    Uniform,
)
from ._pulses import BlockPulse, SinglePulse
from ._support import Support, hypercube_states
from ._task import Task, sign_changes

__all__ = [
    "ALL",
    "COVARIANCES",
    "EXAMPLES",
    "MARGINALS",
    "NLGP",
    "RADIALS",
    "AbstractCopula",
    "AbstractCovariance",
    "AbstractKernel",
    "AbstractMarginal",
    "AbstractNormalMap",
    "AbstractRadial",
    "AbstractStimulus",
    "Affine",
    "Algebraic",
    "Bernoulli",
    "BlockPulse",
    "CentreSurround",
    "Check",
    "Circulant",
    "Copula",
    "CosineModulated",
    "Elliptical",
    "Empirical",
    "Erf",
    "Exponential",
    "Filtered",
    "Gaussian",
    "GaussianClone",
    "GeneralizedNormal",
    "Ising",
    "Kur",
    "Laplace",
    "NaturalPatches",
    "Normal",
    "PeriodicSquaredExponential",
    "Quantile",
    "Radial",
    "RadialStudentT",
    "RandomScale",
    "Report",
    "Shell",
    "SinglePulse",
    "SquaredExponential",
    "StudentT",
    "Support",
    "Surface",
    "Task",
    "Uniform",
    "Weighted",
    "Window",
    "check_stimulus",
    "checked_stimulus",
    "conditional_covariance",
    "conditional_mean",
    "gain_from_ig22",
    "hypercube_states",
    "latent_covariance",
    "sign_changes",
    "sign_symmetry",
    "translation_invariance",
    "weak_dependence",
]
