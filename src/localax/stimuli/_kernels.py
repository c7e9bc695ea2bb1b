"""Filters on a ring or torus."""

import abc
from typing import Annotated

import equinox as eqx
import numpy as np

from .._errors import setting_error
from .._math import ring_distance
from .._text import readable
from .._types import Leaf, Row
from ..spec import Setting, finite_array, validated


class AbstractKernel(eqx.Module):
    """A filter on a ring or torus, its centre at pixel 0."""

    __repr__ = readable

    @abc.abstractmethod
    def row(self, shape: tuple[int, ...]) -> Row:
        """The filter's value at every pixel of a ring or torus of this ``shape``."""


class CentreSurround(AbstractKernel):
    """A narrow Gaussian less a wide one, each of unit sum: on-centre, off-surround."""

    centre: Annotated[Leaf, Setting("width of the centre in pixels", ge=1e-6, le=1e6, typical=(0.5, 2))]
    surround: Annotated[Leaf, Setting("width of the surround in pixels", ge=1e-6, le=1e6, typical=(2, 6))]
    balance: Annotated[Leaf, Setting("weight of the surround", ge=0, le=2, typical=(0, 1))]

    def __init__(self, centre=1.0, surround=3.0, balance=1.0):
        self.centre, self.surround, self.balance = validated(
            CentreSurround, centre=centre, surround=surround, balance=balance
        )

    def row(self, shape: tuple[int, ...]) -> Row:
        distance2 = sum(d**2 for d in np.ix_(*(ring_distance(side) for side in shape)))
        narrow, wide = (np.exp(-distance2 / (2 * width**2)) for width in (self.centre, self.surround))
        return narrow / narrow.sum() - self.balance * wide / wide.sum()


class Taps(AbstractKernel):
    """A filter given by its values, the middle one on the pixel itself."""

    values: Leaf

    def __init__(self, values):
        expected = "an AbstractKernel, or finite numbers up to 1e15 on one or two axes"
        array = finite_array("Filtered", "kernel", values, expected)
        if array.ndim not in (1, 2) or np.any(np.abs(array) > 1e15):
            raise setting_error("Filtered", "kernel", values, expected)
        self.values = array.astype(float)

    def row(self, shape: tuple[int, ...]) -> Row:
        if self.values.ndim != len(shape) or any(t > s for t, s in zip(self.values.shape, shape, strict=True)):
            raise setting_error("Filtered", "kernel", self.values, f"no larger than the stimulus, {shape}")
        row = np.zeros(shape)
        row[tuple(slice(side) for side in self.values.shape)] = self.values
        return np.roll(row, [-(side // 2) for side in self.values.shape], axis=range(len(shape)))
