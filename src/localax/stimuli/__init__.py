"""Stimuli: laws over the pixels of a ring or torus, as covariance x marginal x mechanism."""

from ._assumptions import (
    Check,
    conditional_covariance,
    conditional_mean,
    sign_symmetry,
    translation_invariance,
    weak_dependence,
)
from ._base import AbstractStimulus
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
from ._derived import AbstractKernel, CentreSurround, Filtered, GaussianClone
from ._elliptical import RADIALS, AbstractRadial, Elliptical, Radial, RadialStudentT, Shell, Surface
from ._empirical import Empirical, NaturalPatches
from ._ising import Ising
from ._marginals import (
    MARGINALS,
    AbstractMarginal,
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
from ._task import Task, sign_changes

ALL = (
    Ising,
    NLGP,
    Kur,
    Gaussian,
    Copula,
    Elliptical,
    SinglePulse,
    BlockPulse,
    GaussianClone,
    Filtered,
    Empirical,
    NaturalPatches,
)

__all__ = [
    "ALL",
    "COVARIANCES",
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
    "Report",
    "Shell",
    "SinglePulse",
    "SquaredExponential",
    "StudentT",
    "Surface",
    "Task",
    "Uniform",
    "check_stimulus",
    "conditional_covariance",
    "conditional_mean",
    "gain_from_ig22",
    "latent_covariance",
    "sign_changes",
    "sign_symmetry",
    "translation_invariance",
    "weak_dependence",
]
