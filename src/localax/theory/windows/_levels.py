"""Levels of one pixel: where its range is cut, after Lloyd and Max, so that a level's mean stands for it best."""

import numpy as np

from ..._types import Float

ROUNDS = 300
TAIL = 1e-4
"""The first cuts are evenly spaced over all but this share of the law at each end."""


def level_edges(
    values: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"], levels: int, *, symmetric: bool
) -> Float[np.ndarray, " edges"]:
    """The ``levels - 1`` cuts of a law given by ``values`` and ``weights``, in increasing order.

    Fewer where the law has fewer values; symmetric about 0 where the law is ``symmetric``, so that two levels are the
    sign.
    """
    order = np.argsort(values)
    x, p = np.asarray(values, float)[order], np.asarray(weights, float)[order] / np.sum(weights)
    distinct = np.unique(x[p > 0])
    if len(distinct) <= levels:
        return (distinct[1:] + distinct[:-1]) / 2
    mass, moment = (np.concatenate([[0.0], np.cumsum(terms)]) for terms in (p, p * x))
    low, high = x[np.searchsorted(mass[1:], [TAIL, 1 - TAIL])]
    edges = np.linspace(low, high, levels + 1)[1:-1]
    for _ in range(ROUNDS):
        cuts = np.concatenate([[0], np.searchsorted(x, edges), [len(x)]])
        share, total = np.diff(mass[cuts]), np.diff(moment[cuts])
        ends = np.concatenate([[low], edges, [high]])
        centres = np.where(share > 0, total / np.where(share > 0, share, 1), (ends[1:] + ends[:-1]) / 2)
        edges = (centres[1:] + centres[:-1]) / 2
        edges = (edges - edges[::-1]) / 2 if symmetric else edges
    return edges
