"""The paper's figures and claims, in their order."""

from .amplifiers import Amplifiers
from .assumptions import Assumptions
from .attractor import Attractor
from .baselines import Baselines
from .elliptical import EllipticalData
from .fig1 import Figure1
from .fig2 import Figure2
from .fig3 import Figure3
from .fig4 import Figure4
from .fig5 import Figure5
from .fig6 import Figure6
from .fig7 import Figure7
from .fig8 import Figure8
from .gaussian_clone import GaussianClone
from .interactions import Interactions
from .ising_nlgp import IsingNLGP
from .kurtosis import Kurtosis
from .large_rings import LargeRings
from .lemma import Lemma
from .onset import Onset
from .orientation import Orientation
from .peaks import Peaks
from .threshold import Threshold

PAPER = (
    Figure1,
    Baselines,
    Orientation,
    Figure2,
    Figure3,
    Figure4,
    Figure5,
    Figure6,
    Figure7,
    Figure8,
    Lemma,
    IsingNLGP,
    Attractor,
    Threshold,
    LargeRings,
    Onset,
    Peaks,
    Kurtosis,
    GaussianClone,
    Assumptions,
    Amplifiers,
    EllipticalData,
    Interactions,
)

__all__ = [
    "PAPER",
    "Amplifiers",
    "Assumptions",
    "Attractor",
    "Baselines",
    "EllipticalData",
    "Figure1",
    "Figure2",
    "Figure3",
    "Figure4",
    "Figure5",
    "Figure6",
    "Figure7",
    "Figure8",
    "GaussianClone",
    "Interactions",
    "IsingNLGP",
    "Kurtosis",
    "LargeRings",
    "Lemma",
    "Onset",
    "Orientation",
    "Peaks",
    "Threshold",
]
