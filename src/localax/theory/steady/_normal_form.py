"""How the flat field gives way: the normal form of the effective flow at its threshold, in closed form.

Near the flat field of height c, w = c (1 + A cos qx + B_0 + B_2 cos 2qx + ...) with the slaved B_0 = mean A^2 and B_2 =
harmonic A^2, and the wave obeys dA/dt = rate A + cubic A^3. With cubic < 0 the wave grows continuously out of the flat
field, A^2 = -rate/cubic; with cubic > 0 it does not: an unstable wave exists where the flat field is still stable, up
to a fold, and between the two a stable local state.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._errors import setting_error
from ..._math import spectrum
from ..._types import Float
from ...stimuli import AbstractStimulus, Task
from .._float64 import in_float64
from .._pixel_law import pixel_law


@dataclass(frozen=True)
class NormalForm:
    """dA/dt = ``rate`` A + ``cubic`` A^3 of a wave of relative amplitude A on the flat field.

    ``mode``: cycles round the ring. ``height``: of the flat field. ``mean``, ``harmonic``: what A^2 adds to the flat
    part and to the wave of twice the frequency, in units of the height; exact where the rate is 0.
    """

    mode: int
    height: float
    rate: float
    cubic: float
    mean: float
    harmonic: float

    @property
    def continuous(self) -> bool:
        """Whether the wave grows out of the flat field without a jump."""
        return self.cubic < 0

    @property
    def amplitude(self) -> float:
        """sqrt(-rate/cubic): of the stable wave behind a continuous threshold, of the unstable one before the other.

        NaN on the side of the threshold where there is no small wave.
        """
        square = -self.rate / self.cubic
        return math.sqrt(square) if square >= 0 else math.nan


@in_float64
def normal_form(task: Task, mode: int | None = None) -> NormalForm:
    """The normal form of the effective flow at its flat field, for one wave.

    ``task``: classes on a ring with one label each, positive on the whole, so that a flat field can rest. ``mode``:
    cycles of the wave round the ring, by default those of the wave that grows fastest. The ring must not hold a
    multiple of 2, 3 or 4 of its half, third or quarter turns: N divides neither 2, 3 nor 4 times the mode, as there the
    lattice takes its harmonics for the wave itself.
    """
    _check_ring(task)
    modes = np.stack([spectrum(s.covariance()) for s in task.stimuli])
    size = modes.shape[1]
    shares, labels = np.asarray(task.proportions), np.asarray(task.labels, float)
    drawn = zip(task.stimuli, modes[:, 0], labels, strict=True)
    # (class, order): a^n times the n-th derivative of phi at the flat field's a, times share and label.
    phi = np.stack([_derivatives(s, math.sqrt(l / size)) if y else np.zeros(4) for s, l, y in drawn])
    phi *= (shares * labels)[:, None]
    damping = float(shares @ modes[:, 0])
    height = float(phi[:, 0].sum()) / damping
    if not height > 0:
        expected = "of labels under which a flat field can rest (on the whole positive)"
        raise setting_error("normal_form", "task", labels.tolist(), expected)
    rates = (phi[:, 1] / modes[:, 0] / height - shares) @ modes
    chosen = _checked_mode(mode, rates)
    return _reduced(phi / height, modes / modes[:, :1], rates, damping, chosen, height)


def _reduced(
    phi: Float[np.ndarray, "classes 4"],
    ratio: Float[np.ndarray, "classes modes"],
    rates: Float[np.ndarray, " modes"],
    damping: float,
    mode: int,
    height: float,
) -> NormalForm:
    """The amplitude's equation, from derivatives in units of the height and spectra in units of their constant."""
    _, first, second, third = phi.T
    one, two = ratio[:, mode], ratio[:, 2 * mode % ratio.shape[1]]
    mean = np.sum(second * one**2 - first * one) / (4 * damping)
    harmonic = np.sum(second * one**2) / (-4 * rates[2 * mode % len(rates)])
    cubic = np.sum(
        -first * one * mean
        - (first + second) * one**2 / 4
        + second * one * two * harmonic / 2
        + third * one**3 / 8
    )  # fmt: skip
    return NormalForm(mode, height, float(rates[mode]), float(cubic), float(mean), float(harmonic))


def _check_ring(task: Any) -> None:
    if not isinstance(task, Task) or task.labels is None or not task.shift_invariant or len(task.shape) != 1:
        raise setting_error("normal_form", "task", task, "a Task on a ring with one label per class")


def _checked_mode(mode: int | None, rates: Float[np.ndarray, " modes"]) -> int:
    size = len(rates)
    half = (size + 1) // 2
    chosen = 1 + int(np.argmax(rates[1:half])) if mode is None else mode
    if not isinstance(chosen, int) or not 1 <= chosen < half or any(n * chosen % size == 0 for n in (2, 3, 4)):
        expected = f"from 1 to {half - 1}, and not a third or a quarter of {size}"
        raise setting_error("normal_form", "mode", chosen, expected)
    return chosen


def _derivatives(stimulus: AbstractStimulus, a: float) -> Float[np.ndarray, "4"]:
    """a^n phi^(n)(a) for n = 0 to 3, by the chain rule through t = r/sqrt(1 - r^2), r = a/s."""
    law = pixel_law(stimulus.marginal)
    r = a / law.scale
    rest = 1 - r**2
    t = r / math.sqrt(rest)
    x, weight = law.magnitude, law.weight
    bell = math.sqrt(2 / math.pi) * weight * np.exp(-((x * t) ** 2) / 2)
    value = law.amplify(np.array([t]))[0][0]
    f1, f2, f3 = bell @ x**2, -t * (bell @ x**4), bell @ (t**2 * x**6 - x**4)
    t1, t2, t3 = rest**-1.5, 3 * r * rest**-2.5, 3 * rest**-2.5 + 15 * r**2 * rest**-3.5
    slopes = np.array([value, f1 * t1, f2 * t1**2 + f1 * t2, f3 * t1**3 + 3 * f2 * t1 * t2 + f1 * t3])
    return law.scale * slopes * r ** np.arange(4)
