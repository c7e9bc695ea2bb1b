"""Gated linear networks: units that are linear in x, each switched on by a fixed gate."""

from typing import Annotated, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._errors import setting_error
from .._types import Key, Leaf
from ..spec import Setting, finite_array
from ._base import AbstractNetwork, Parameters, Responses, Weights

RULES = ("halfspace", "winner")


class GatedLinear(AbstractNetwork):
    """The mean of linear units behind fixed gates: open where <gate, x> >= 0, or for the largest <gate, x> alone.

    ``gates`` has one row of the input's shape per unit: random, localized (basis vectors), or taken from a trained
    ReLU network. The rule ``winner`` makes gates exclusive; equal rows make them redundant.
    """

    gates: Leaf
    rule: Annotated[str, Setting("when a gate is open", kind=str, choices=RULES)] = eqx.field(static=True)

    def __init__(self, gates: Any, rule: str = "halfspace"):
        expected = "finite numbers of shape (units, pixels) or (units, height, width)"
        gates = finite_array(GatedLinear, "gates", gates, expected)
        if gates.ndim not in (2, 3) or not gates.size:
            raise setting_error(GatedLinear, "gates", gates, expected)
        if rule not in RULES:
            raise setting_error(GatedLinear, "rule", rule, f"one of {', '.join(RULES)}")
        self.gates, self.rule = gates.astype(np.float32), rule

    @property
    def units(self) -> int:
        return self.gates.shape[0]

    def parameters(self, weights: Weights, key: Key) -> Parameters:
        del key
        if weights.shape != self.gates.shape:
            raise setting_error(GatedLinear, "gates", self.gates.shape, f"of the weights' shape {weights.shape}")
        return Parameters(weights)

    def filters(self, parameters: Parameters):
        return jnp.concatenate([parameters.weights, jnp.asarray(self.gates, parameters.weights.dtype)])

    def output(self, parameters: Parameters, responses: Responses):
        del parameters
        linear, gate = responses[: self.units], responses[self.units :]
        is_open = gate >= 0 if self.rule == "halfspace" else gate >= jnp.max(gate, axis=0, keepdims=True)
        return jnp.mean(jnp.where(is_open, linear, 0), axis=0)
