"""Numbers as the texts and claims write them."""

from collections.abc import Iterable
from typing import Any

import numpy as np


def listed(values: Iterable[Any], form: str = "") -> str:
    """Values one after the other, each in a format such as ``.3f``."""
    return ", ".join(format(value, form) for value in values)


def or_infinite(value: float, form: str = ".3f") -> str:
    """A number that may be infinite, such as an excess kurtosis."""
    return "infinite" if np.isinf(value) else format(value, form)
