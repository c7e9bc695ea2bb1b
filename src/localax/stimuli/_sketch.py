"""A stimulus as a picture needs it: its moments at once, where they are estimated, from fewer draws."""

import equinox as eqx
import jax
import numpy as np

from .._types import Key, Row, Samples
from ..spec import Size
from ._base import AbstractStimulus
from ._marginals import Weighted

NUMBERS = 2**16
"""Numbers that the moments of a sketch are made from; the excess kurtosis of a Gaussian is then right to some 0.04."""


class Sketched(AbstractStimulus):
    """Another ``stimulus`` on a ring or torus, whose marginal is taken from all pixels of some draws."""

    size: Size = eqx.field(static=True)
    stimulus: AbstractStimulus
    marginal: Weighted

    def __init__(self, stimulus: AbstractStimulus):
        self.size, self.stimulus = stimulus.size, stimulus
        draws = max(1, NUMBERS // int(np.prod(stimulus.shape)))
        self.marginal = Weighted(
            np.asarray(stimulus.sample(jax.random.key(NUMBERS), draws, instant=True)), estimated=True
        )

    def draw(self, key: Key, n: int, dtype) -> Samples:
        return self.stimulus.draw(key, n, dtype)

    def covariance(self) -> Row:
        return self.stimulus.covariance()

    @property
    def sign_symmetric(self) -> bool:
        return self.stimulus.sign_symmetric
