"""Numbers as the texts and claims write them."""

from collections.abc import Iterable
from typing import Any

import numpy as np


def listed(values: Iterable[Any], form: str = "") -> str:
    """Values one after the other, each in a format such as ``.3f``."""
    return ", ".join(format(value, form) for value in values)


def excess(value: float, form: str = ".3f") -> str:
    """An excess kurtosis, which may be infinite."""
    return "infinite" if np.isinf(value) else format(value, form)
