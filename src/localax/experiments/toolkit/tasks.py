"""The tasks that figures share: short against long lengthscale, labels 0 and 1."""

from collections.abc import Sequence

from ...stimuli import NLGP, AbstractStimulus, Ising, Kur, Task

SIZE = 40
WIDE = (1.0, 3.0)
"""The lengthscales that most of the paper's figures state."""
NARROW = (0.3, 0.7)
"""The lengthscales at which the paper's figures 5 and 8 come out; figure 5 does not state its own."""


def binary(short: AbstractStimulus, long: AbstractStimulus) -> Task:
    return Task([short, long], [0, 1])


def ising(size: int = SIZE, couplings: Sequence[float] = (0.3, 0.7)) -> Task:
    return binary(*(Ising(size, coupling) for coupling in couplings))


def nlgp(gain: float, lengthscales: Sequence[float] = WIDE, size: int | tuple[int, int] = SIZE) -> Task:
    return binary(*(NLGP(size, lengthscale, gain) for lengthscale in lengthscales))


def kur(k: float, lengthscales: Sequence[float] = WIDE, size: int | tuple[int, int] = SIZE) -> Task:
    return binary(*(Kur(size, lengthscale, k) for lengthscale in lengthscales))


def pixel_excess(task: Task) -> float:
    """The excess kurtosis of a pixel of the long class."""
    return task.stimuli[1].marginal.excess_kurtosis()
