"""Networks: two layers, linear filters and a function of their responses; and where their training starts."""

from ._activations import ACTIVATIONS
from ._autoencoder import Autoencoder
from ._base import AbstractNetwork, Parameters, respond
from ._committee import SingleReLU, SoftCommittee, TwoLayer
from ._gated import GatedLinear
from ._initialisers import (
    INITIALISERS,
    AbstractInitialiser,
    Authors,
    Basis,
    Gabor,
    Given,
    Isotropic,
    PositiveShifted,
    SmallBump,
    Xavier,
    seed_keys,
)

ALL = (SingleReLU, SoftCommittee, TwoLayer, GatedLinear, Autoencoder)

__all__ = [
    "ACTIVATIONS",
    "ALL",
    "INITIALISERS",
    "AbstractInitialiser",
    "AbstractNetwork",
    "Authors",
    "Autoencoder",
    "Basis",
    "Gabor",
    "GatedLinear",
    "Given",
    "Isotropic",
    "Parameters",
    "PositiveShifted",
    "SingleReLU",
    "SmallBump",
    "SoftCommittee",
    "TwoLayer",
    "Xavier",
    "respond",
    "seed_keys",
]
