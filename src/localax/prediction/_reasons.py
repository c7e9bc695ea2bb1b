"""The reasons for a verdict, in plain words made from its numbers."""

import math

import numpy as np

from ._assumptions import FEWEST
from ._beside import Beside
from ._classes import Classes
from ._ends import VERDICTS, Ends, Settings
from ._law import Law
from ._why import Why, Worth

HEAVY = 5.0
"""Hill's exponent below which the fourth moment, if there is one, is a matter of chance."""
NONE = 30.0
"""Hill's exponent from which values stop at a bound."""
PLAIN = math.sqrt(2 / math.pi)
"""C of a Gaussian projection."""
EVEN = 0.2
"""Share of the larger of two terms that opposite ones leave, below which neither decides."""
FEW = 50
"""Samples a pixel, in both classes together, below which noise may shape the field."""


def flow_reason(ends: Ends, settings: Settings) -> str:
    local, all_ = int(ends.local.sum()), len(ends.fields)
    return (
        f"The gradient flow on these data ends in a local field from {local} of {all_} starts, at time "
        f"{settings.horizon:g} (steps x rate, data of mean square 1): n IPR {np.median(ends.concentration):.3g} in the "
        f"median, {ends.gathered:.2f} of the energy in the best quarter. A local field needs 4 and 0.6, and more than "
        f"the {ends.ceiling:.3g} that chance gives on elliptical clones of the data."
    )


def worth_reason(why: Why, verdict: str) -> str:
    """What a local field is worth beside a spread one, by the two terms of log J = log C - log(1 + r)/2."""
    if not why.found.geary > 0:
        return "The field found answers to no sample of class 1: it died."
    name, local = ("found", why.found) if verdict == VERDICTS[0] else ("behind the gate of one pixel", why.pixel)
    shape = math.log(local.geary / why.spread.geary)
    variance = -math.log((1 + local.ratio) / (1 + why.spread.ratio)) / 2
    decides = "C, the shape of its projection," if abs(shape) > abs(variance) else "r, the ratio of variances,"
    if abs(shape + variance) < EVEN * max(abs(shape), abs(variance)):
        decides = "neither"
    less = verdict == VERDICTS[0] and local.value < why.spread.value
    stops = " It is worth less: the flow stops at the first field that no small change betters." if less else ""
    return (
        f"A ReLU neuron maximises J = C/sqrt(1 + r). The field found has J = {_said(why.found)}, the best spread "
        f"field {_said(why.spread)}, the best field behind the gate of one pixel {_said(why.pixel)}. The field {name} "
        f"differs from the spread one by {100 * shape:+.1f}% through C and {100 * variance:+.1f}% through r: "
        f"{decides} decides.{stops} (A Gaussian projection has C = {PLAIN:.3f}.)"
    )


def _said(worth: Worth) -> str:
    return f"{worth.value:.4f} (C {worth.geary:.3f}, r {worth.ratio:.3f})"


def threshold_reason(why: Why) -> str | None:
    """How far the flat field is from giving way; None where no field is flat."""
    if why.rate is None or why.rate_error is None:
        return None
    sure = abs(why.rate) > 2 * why.rate_error
    gives = ("gives way" if why.rate > 0 else "is stable") if sure else "is too near its threshold to tell"
    return (
        f"A flat field {gives}: its fastest wave grows at rate {why.rate:+.3f} +- {why.rate_error:.3f} (threshold 0)."
    )


def amplifier_reason(why: Why) -> str:
    """Which side of its tangent the amplifier is on; what pulls harder than in proportion favours local fields."""
    band = why.amplifier
    sure = abs(band.index) > 2 * band.index_error
    side = ("super-linear, which favours" if band.index > 0 else "sub-linear, which is against") if sure else None
    said = f"{side} local fields" if side else "not to be told from a straight line, that of a Gaussian"
    area = f"{100 * band.index:+.2f}% +- {100 * band.index_error:.2f}%"
    return f"The amplifier of a pixel is {said}: between it and its tangent lies {area} of the area below the tangent."


def tail_reason(why: Why) -> str:
    said = f"A pixel's excess kurtosis is {why.excess_kurtosis:+.2f}"
    if why.tail < HEAVY:
        return (
            f"{said}, but its tail falls as |x|^-{why.tail:.1f} (Hill): fourth moments are a matter of chance, and "
            "theory that needs them does not apply. The verdict needs second moments alone."
        )
    exponent = f"Hill's exponent {why.tail:.1f}" if why.tail < NONE else "there is no tail to speak of"
    return f"{said}; tails are light enough to trust it ({exponent})."


def law_reason(law: Law, verdict: str) -> str:
    steps = ", ".join(f"{c:.3g} at {n:,}" for n, c in zip(law.samples, law.concentration, strict=True))
    shifts = "" if law.shifted is None else f" With shifts of every sample added the probability is {law.shifted:.2f}."
    both = f" For the law behind the data the answer is: {law.verdict}." if law.verdict != verdict else ""
    return f"Learning curve: n IPR {steps} samples: {law.said}.{shifts}{both}"


def mean_reason(why: Why, centred: Ends | None, removed: bool) -> str:
    if removed:
        return "The mean of every pixel was removed from each class."
    kept = f"Means were kept; the largest is {why.mean:.2f} standard deviations."
    if centred is None:
        return kept
    return f"{kept} Without them the probability would be {centred.probability:.2f} ({centred.verdict})."


def beside_reason(found: tuple[Beside, ...], periodic: bool, symmetric: bool, pixels: int) -> str:
    """What the theory's flows give, or why they were not followed."""
    if found:
        effective, windows = found
        error = "" if windows.error is None else f", with a gated input {100 * windows.error:.1f}% off"
        return (
            f"Theory beside it: the effective flow (Eq. 5) ends at n IPR {effective.ipr * pixels:.3g}, the window "
            f"flow at {windows.ipr * pixels:.3g}{error}."
        )
    if not (periodic and symmetric):
        missing = " and ".join(name for name, there in (("S2", periodic), ("S3", symmetric)) if not there)
        return f"The effective and window flows do not apply: {missing} must hold, that is all places and signs alike."
    return f"The effective and window flows were not followed: {pixels} pixels are too many for tables of windows."


def contrast_reason(name: str, other: Ends | None, second: str) -> str:
    if other is None:
        return f"Class 0 is {name}."
    return (
        f"There is one class, told apart from {name} of the same marginals. Against pixels {second} the probability is "
        f"{other.probability:.2f} ({other.verdict})."
    )


def gain_reason(gains: dict[float, Ends]) -> str:
    """What would change it: the least gain at which saturated pixels localize."""
    for gain, found in gains.items():
        if found.verdict == VERDICTS[0]:
            how = (
                "taken by their signs" if math.isinf(gain) else f"saturated as erf(gain (x - mean)/sd) at gain {gain:g}"
            )
            return f"What would change it: with pixels {how} these data would localize."
    return "Saturating the pixels, up to their signs, would not change it."


def large_reason(numbers: int) -> str:
    return (
        f"With {numbers / 1e6:.0f} million numbers, what saturated pixels, other contrasts and means would give was "
        "not tried; give a part of the samples to learn it."
    )


def sample_reason(classes: Classes) -> str | None:
    n, pixels = len(classes.one) + len(classes.zero), classes.pixels
    if min(len(classes.one), len(classes.zero)) < pixels:
        return (
            f"A class has fewer samples than the {pixels} pixels: covariances are singular, and what is found is about "
            "these samples; of the law behind them nothing can be told."
        )
    if n < FEW * pixels:
        return f"There are {n / pixels:.0f} samples a pixel; below {FEW} noise may shape the field."
    return None


def check_reason(classes: Classes) -> str | None:
    if min(len(classes.one), len(classes.zero)) < FEWEST:
        return f"Assumptions were not measured: that takes {FEWEST} samples a class."
    return None
