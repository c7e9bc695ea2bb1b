"""What training and theory both give: weights over time, for every seed, with what made them. No JAX here."""

from ._trajectory import TAKEN, Trajectory, load

__all__ = ["TAKEN", "Trajectory", "load"]
