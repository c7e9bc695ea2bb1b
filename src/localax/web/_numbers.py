"""Numbers as the page takes them: large arrays packed in text, small ones as lists with null for what is not finite."""

import base64
import json
import math
from typing import Any

import numpy as np


def packed(values: Any) -> dict[str, Any]:
    """An array as its shape and the base64 of little-endian float32, in C order."""
    array = np.ascontiguousarray(values, "<f4")
    return {"shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode()}


def unpacked(data: dict[str, Any]) -> np.ndarray:
    """The array that :func:`packed` has packed."""
    return np.frombuffer(base64.b64decode(data["data"]), "<f4").reshape(data["shape"])


def listed(values: Any, digits: int = 6) -> Any:
    """Numbers or nested lists of them, to so many significant digits; null where one is not finite."""
    if isinstance(values, np.ndarray | np.generic):
        return listed(values.tolist(), digits)
    if isinstance(values, list | tuple):
        return [listed(value, digits) for value in values]
    if isinstance(values, float):
        return float(f"{values:.{digits}g}") if math.isfinite(values) else None
    return values


def json_line(value: Any) -> str:
    """JSON in one line without spaces; what is not finite is a mistake here and not at the reader's."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
