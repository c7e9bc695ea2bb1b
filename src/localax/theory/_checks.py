"""What the functions of this room ask of weights, times and data, each in one place."""

import warnings
from typing import Any

import numpy as np

from .._errors import setting_error
from .._types import Float
from ..spec import finite_array
from ..stimuli import AbstractStimulus, Check, Task, sign_symmetry, translation_invariance

SIGMAS = 6.0
"""An assumption counts as broken from so many standard errors on."""
LOOKED_AT = 2**18
"""So many pixels of a data set are looked at, which takes some hundredths of a second."""
FEWEST = 250
"""With fewer samples nothing can be told."""


def checked_start(asker: str, w0: Any, shape: tuple[int, ...]) -> Float[np.ndarray, "seeds *pixels"]:
    """Starting fields of single neurons, none of zeros, or one line that says what is wrong with them."""
    return checked_units(asker, w0, shape, 1, zeros=False)[:, 0]


def checked_fields(asker: str, w: Any, shape: tuple[int, ...]) -> Float[np.ndarray, "..."]:
    """One field or many, (..., *pixels) in float64, none of zeros, or one line that says what is wrong with them."""
    expected = f"finite numbers whose last axes are the pixels {shape}"
    array = finite_array(asker, "w", np.asarray(w), expected).astype(float)
    if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
        raise setting_error(asker, "w", f"shape {array.shape}", expected)
    pixels = tuple(range(array.ndim - len(shape), array.ndim))
    if np.any(np.all(array == 0, axis=pixels)):
        raise setting_error(asker, "w", "a field of zeros", "different from 0 (f jumps there)")
    return array


def symmetric_task(asker: str, task: Any) -> tuple[np.ndarray, np.ndarray]:
    """Shares and labels of sign-symmetric classes on a ring or torus, or one line that says what is wrong with them."""
    if not isinstance(task, Task) or task.labels is None or not task.shift_invariant or not task.sign_symmetric:
        expected = "a Task of sign-symmetric classes on a ring or torus with one label per class"
        raise setting_error(asker, "task", task, expected)
    return np.asarray(task.proportions), np.asarray(task.labels, float)


def unbalanced(asker: str, labels: np.ndarray) -> Exception:
    """What is said of labels under which no flat field rests."""
    expected = "of labels under which a flat field can rest (on the whole positive)"
    return setting_error(asker, "task", labels.tolist(), expected)


def flat_damping(asker: str, shares: np.ndarray, modes: Float[np.ndarray, "classes *pixels"]) -> float:
    """sum_c p_c l_c0, by which a flat field decays; refused where it is rounding, as behind a filter that sums to 0."""
    total = np.tensordot(shares, modes, 1)
    if total.flat[0] <= 1e-9 * np.max(total):
        raise setting_error(
            asker, "task", "pixels that sum to 0 in every sample", "of classes that a flat field can see"
        )
    return float(total.flat[0])


def checked_times(asker: str, times: Any) -> Float[np.ndarray, " time"]:
    """Times to record, or one line that says what is wrong with them."""
    expected = "finite numbers >= 0 that increase"
    array = finite_array(asker, "times", times, expected).astype(float)
    if array.ndim != 1 or array.size == 0 or array[0] < 0 or np.any(np.diff(array) <= 0):
        raise setting_error(asker, "times", times, expected)
    return array


def checked_units(
    owner: str, w0: Any, pixels: tuple[int, ...], units: int, *, zeros: bool = True
) -> Float[np.ndarray, "seeds units *pixels"]:
    """Starting weights as (seed, unit, *pixels), or one line that says what is wrong with them.

    ``zeros``: whether a unit may be zero everywhere.
    """
    inside = ", ".join(map(str, pixels))
    expected = f"finite numbers of shape {pixels}, (seed, {inside}) or (seed, {units}, {inside})"
    array = finite_array(owner, "w0", w0, expected).astype(float)
    shape, lead = array.shape, array.ndim - len(pixels)
    if lead == 0:
        array = array[None, None]
    elif lead == 1:
        array = array[:, None] if units == 1 else array[None]
    if array.ndim != len(pixels) + 2 or array.shape[1:] != (units, *pixels) or not array.size:
        raise setting_error(owner, "w0", f"shape {shape}", expected)
    if not zeros and not np.all(np.any(array.reshape(*array.shape[:2], -1) != 0, axis=-1)):
        raise setting_error(owner, "w0", "a field of zeros", "not zero everywhere: the flow has no direction there")
    return array


def warn_of_data(asker: str, task: Task) -> None:
    """Warn in one line where data break the symmetries that a flow assumes; a law is taken at its word."""
    broken = [f"class {c}: {check}" for c, s in enumerate(task.stimuli) for check in _measured(s) if _is_broken(check)]
    if broken:
        text = f"{asker} assumes S2 and S3, and the data break them: {'; '.join(broken)}"
        warnings.warn(text, UserWarning, stacklevel=4)  # where the public function was called, behind its wrapper


def _measured(stimulus: AbstractStimulus) -> tuple[Check, ...]:
    data = stimulus.dataset()
    if data is None or len(data) < FEWEST:
        return ()
    count = max(LOOKED_AT // data[0].size, FEWEST)
    some = data[np.random.default_rng(0).permutation(len(data))[:count]]
    standard = some / np.std(some)
    return translation_invariance(standard), sign_symmetry(standard)


def _is_broken(check: Check) -> bool:
    return check.value > SIGMAS * check.standard_error + 1e-6  # float32 rounding
