"""Elliptical clones: the same means, covariances and radii, all directions alike. On them no field has a reason to be
local, so what the flow finds there is what chance gives to this many samples."""

from dataclasses import replace

import numpy as np

from ._classes import Classes, Rows
from ._flow import RIDGE


def clone(x: Rows, rng: np.random.Generator) -> Rows:
    """Every sample turned at random where the covariance is the identity: its distance from the mean there stays."""
    mean = x.mean(0)
    centred = x - mean
    s = np.asarray(centred.T @ centred, float) / len(x)
    l, basis = np.linalg.eigh(s + RIDGE * np.trace(s) / len(s) * np.eye(len(s)))
    root = (basis * np.sqrt(l)).astype(np.float32)
    radius = np.linalg.norm(centred @ (basis / np.sqrt(l)).astype(np.float32), axis=1, keepdims=True)
    turned = rng.standard_normal(x.shape, dtype=np.float32)
    turned *= radius / np.linalg.norm(turned, axis=1, keepdims=True)
    return turned @ root.T + mean


def clones(classes: Classes, seed: int) -> Classes:
    """Clones of both classes."""
    rng = np.random.default_rng([seed, 2])
    return replace(classes, one=clone(classes.one, rng), zero=clone(classes.zero, rng))
