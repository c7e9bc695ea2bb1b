"""Where the flow ends on data and on their elliptical clones, and what that says: probability and verdict."""

from dataclasses import dataclass, replace

import numpy as np

from .._types import Float
from ..analysis import concentration, gathered, ipr, localized, peak, width
from ._classes import Classes, common_scale
from ._clones import clones
from ._flow import follow, padded, second_moment, starts

YES, NO = 0.8, 0.2
"""Probabilities from which, and up to which, the verdict is sure."""
CHANCE = 0.95
"""The quantile of n IPR on clones that a field must be beyond."""
VERDICTS = ("localizes", "does not localize", "undecided")


@dataclass(frozen=True, eq=False)
class Ends:
    """The fields that the flow ends in, one for each start.

    ``fields``: (start, *pixels). ``ceiling``: what n IPR chance gives, on clones. ``samples``: of both classes.
    ``alone``: the share of starts that end in a local field on clones.
    """

    fields: Float[np.ndarray, "n *pixels"]
    ceiling: float
    samples: int
    alone: float = 0.0

    @property
    def ndim(self) -> int:
        return self.fields.ndim - 1

    @property
    def concentration(self) -> Float[np.ndarray, " starts"]:
        return np.asarray(concentration(self.fields, ndim=self.ndim))

    @property
    def local(self) -> np.ndarray:
        """Which fields are localized, by the one rule for that, and more so than chance makes them.

        Where clones are local from nearly every start, that is no chance: second moments alone localize, as those of
        a law whose variance differs from place to place can, and nothing more is asked of the data.
        """
        beyond = self.concentration > (0.0 if self.alone >= YES else self.ceiling)
        return np.asarray(localized(self.fields, ndim=self.ndim)) & beyond

    @property
    def probability(self) -> float:
        return float(np.mean(self.local))

    @property
    def verdict(self) -> str:
        return verdict(self.probability)

    @property
    def ipr(self) -> float:
        return float(np.median(ipr(self.fields, ndim=self.ndim)))

    @property
    def gathered(self) -> float:
        return float(np.median(gathered(self.fields, ndim=self.ndim)))

    @property
    def width(self) -> float:
        return float(np.median(width(self.fields, ndim=self.ndim)))

    def typical(self) -> int:
        """The start whose field stands for all: of those on the side of the majority, the one of median IPR."""
        side = np.flatnonzero(self.local == (self.probability >= 0.5))
        order = side[np.argsort(self.concentration[side])]
        return int(order[len(order) // 2])

    def peaks(self) -> dict[int, float]:
        """Where local fields peak, pixels counted row by row, with their shares, the most frequent first."""
        places, counts = np.unique(peak(self.fields[self.local], ndim=self.ndim), return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return {int(places[i]): float(counts[i] / counts.sum()) for i in order}


def verdict(probability: float) -> str:
    """The word for a probability."""
    return VERDICTS[0] if probability >= YES else VERDICTS[1] if probability <= NO else VERDICTS[2]


@dataclass(frozen=True)
class Settings:
    """How the flow is followed: ``starts``, the ``horizon`` in time, and the ``seed`` of clones and contrasts."""

    starts: int
    horizon: float
    seed: int


class Flows:
    """The flow on two classes and on their clones, for any share of the samples, by one program."""

    def __init__(self, classes: Classes, settings: Settings):
        self.settings = settings
        self.both = [(part, padded(part)) for part in (classes, clones(classes, settings.seed))]

    @property
    def classes(self) -> Classes:
        return self.both[0][0]

    @property
    def clones(self) -> Classes:
        return self.both[1][0]

    def ends(self, share: float = 1.0) -> Ends:
        """Where it ends on the first samples, a share of all."""
        counts = self.classes.shares(share)
        w0 = starts(self.classes.shape, self.settings.starts)
        found = [follow(data, counts, _moment(part, counts), w0, self.settings.horizon) for part, data in self.both]
        chance, alone = concentration(found[1], ndim=w0.ndim - 1), localized(found[1], ndim=w0.ndim - 1)
        return Ends(found[0], float(np.quantile(chance, CHANCE)), sum(counts), float(np.mean(alone)))


def ends(classes: Classes, settings: Settings) -> Ends:
    """Where the flow ends on all samples."""
    return Flows(classes, settings).ends()


def _moment(classes: Classes, counts: tuple[int, int]) -> Float[np.ndarray, "pixels pixels"]:
    return (second_moment(classes.one[: counts[0]]) + second_moment(classes.zero[: counts[1]])) / 2


def changed(classes: Classes, one: np.ndarray, zero: np.ndarray) -> Classes:
    """Other numbers in place of both classes', brought to the same scale."""
    scale = common_scale(one, zero)
    return replace(classes, one=(one / scale).astype(np.float32), zero=(zero / scale).astype(np.float32))
