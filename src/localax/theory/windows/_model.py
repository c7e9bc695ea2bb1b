"""What stands for a class in a flow: a stimulus, and a closure for what a ReLU neuron sees of it."""

import abc
import math
from typing import Any

import equinox as eqx
import numpy as np

from ..._text import readable
from ..._types import Float
from ...stimuli import AbstractStimulus
from .._checks import checked_fields
from .._estimate import Estimate
from .._float64 import in_float64
from ._closure import AbstractClosure, gated_inputs
from ._reference import reference


class AbstractGateModel(eqx.Module):
    """A stimulus and a closure for what a ReLU neuron sees of it."""

    __repr__ = readable

    stimulus: eqx.AbstractVar[AbstractStimulus]
    closure: eqx.AbstractVar[AbstractClosure]

    @abc.abstractmethod
    def described(self) -> dict[str, Any]:
        """Its settings as plain data."""

    @in_float64
    def mean_gated_input(self, w: Any) -> Float[np.ndarray, "..."]:
        """f(w) = E[1(<w,X> >= 0) X] at one field **w** (*pixels) or many (..., *pixels)."""
        fields = checked_fields(type(self).__name__, w, self.stimulus.shape)
        flat = fields.reshape(-1, math.prod(self.stimulus.shape))
        return gated_inputs(self.closure, flat).reshape(fields.shape)

    @in_float64
    def error(self, w: Any) -> Estimate:
        """The error of f relative to its length, with a standard error, at one field **w** (*pixels) or many.

        Against the exact f where there is one, else against a sample of 65,536 with all its shifts and both signs.
        """
        fields = checked_fields(type(self).__name__, w, self.stimulus.shape)
        flat = fields.reshape(-1, math.prod(self.stimulus.shape))
        truth = reference(self.stimulus)
        found = truth.error(truth.parts(flat), gated_inputs(self.closure, flat))
        lead = fields.shape[: fields.ndim - len(self.stimulus.shape)]
        return Estimate(found.value.reshape(lead), found.standard_error.reshape(lead))
