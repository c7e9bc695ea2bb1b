"""What the working notes ask, in their order."""

from .bias_populations import BiasPopulations
from .erf_units import ErfUnits
from .exclusive_gates import ExclusiveGates
from .filtered_stimuli import FilteredStimuli
from .gabor_hypothesis import GaborHypothesis
from .gate_search import GateSearch
from .gaussian_committee import GaussianCommittee
from .gradient_phases import GradientPhases
from .hypercube import Hypercube
from .lengthscale_order import LengthscaleOrder
from .localized_gate import LocalizedGate
from .losses import Losses
from .natural_images import NaturalImages
from .neural_race import NeuralRace
from .probability_dominance import ProbabilityDominance
from .redundant_gates import RedundantGates
from .shape_then_scale import ShapeThenScale
from .sign_flipping import SignFlipping
from .single_neuron_gaussian import SingleNeuronGaussian
from .single_pulse import SinglePulse
from .starting_loss import StartingLoss
from .tiling import Tiling
from .zero_crossings import ZeroCrossings

NOTES = (
    SingleNeuronGaussian,
    GaussianCommittee,
    SignFlipping,
    NeuralRace,
    LocalizedGate,
    RedundantGates,
    ExclusiveGates,
    GaborHypothesis,
    ErfUnits,
    BiasPopulations,
    Tiling,
    ProbabilityDominance,
    ShapeThenScale,
    ZeroCrossings,
    GateSearch,
    FilteredStimuli,
    StartingLoss,
    Hypercube,
    GradientPhases,
    LengthscaleOrder,
    SinglePulse,
    Losses,
    NaturalImages,
)

__all__ = [
    "NOTES",
    "BiasPopulations",
    "ErfUnits",
    "ExclusiveGates",
    "FilteredStimuli",
    "GaborHypothesis",
    "GateSearch",
    "GaussianCommittee",
    "GradientPhases",
    "Hypercube",
    "LengthscaleOrder",
    "LocalizedGate",
    "Losses",
    "NaturalImages",
    "NeuralRace",
    "ProbabilityDominance",
    "RedundantGates",
    "ShapeThenScale",
    "SignFlipping",
    "SingleNeuronGaussian",
    "SinglePulse",
    "StartingLoss",
    "Tiling",
    "ZeroCrossings",
]
