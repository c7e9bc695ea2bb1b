"""The paper's figures and claims, in their order."""

from .attractor import Attractor
from .fig1 import Figure1
from .fig2 import Figure2
from .fig3 import Figure3
from .fig4 import Figure4
from .fig5 import Figure5
from .fig6 import Figure6
from .fig7 import Figure7
from .fig8 import Figure8
from .gaussian_clone import GaussianClone
from .ising_nlgp import IsingNLGP
from .kurtosis import Kurtosis
from .lemma import Lemma
from .peaks import Peaks
from .threshold import Threshold

PAPER = (
    Figure1,
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
    Peaks,
    Kurtosis,
    GaussianClone,
)

__all__ = [
    "PAPER",
    "Attractor",
    "Figure1",
    "Figure2",
    "Figure3",
    "Figure4",
    "Figure5",
    "Figure6",
    "Figure7",
    "Figure8",
    "GaussianClone",
    "IsingNLGP",
    "Kurtosis",
    "Lemma",
    "Peaks",
    "Threshold",
]
