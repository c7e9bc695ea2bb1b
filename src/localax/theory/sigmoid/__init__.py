"""Sigmoid units: the flow of their biases, their two populations, and the loss they start from."""

from ._sigmoid import (
    Population,
    Specialisation,
    bias_flow,
    bias_response,
    convolutional_output,
    frequency_specialisation,
    initial_push,
    population_output,
)
from ._starting_loss import starting_loss

__all__ = [
    "Population",
    "Specialisation",
    "bias_flow",
    "bias_response",
    "convolutional_output",
    "frequency_specialisation",
    "initial_push",
    "population_output",
    "starting_loss",
]
