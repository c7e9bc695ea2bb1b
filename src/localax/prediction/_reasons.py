"""The reasons for a verdict, in plain words made from its numbers."""

import math

import numpy as np

from ._assumptions import FEWEST
from ._classes import Classes
from ._ends import VERDICTS, Ends, Settings
from ._law import Law
from ._why import Why, Worth

HEAVY = 5.0
"""Hill's exponent below which the fourth moment, if there is one, is a matter of chance."""
PLAIN = math.sqrt(2 / math.pi)
"""C of a Gaussian projection."""
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


def worth_reason(why: Why) -> str:
    """What the fields are worth, and which of the two terms of log J = log C - log(1 + r)/2 makes the difference."""
    if not why.found.geary > 0:
        return "The field found answers to no sample of class 1: it died."
    shape = math.log(why.found.geary / why.spread.geary)
    variance = -math.log((1 + why.found.ratio) / (1 + why.spread.ratio)) / 2
    decides = "the shape of its projection" if abs(shape) > abs(variance) else "the ratio of variances"
    return (
        f"The field found is worth J = {_said(why.found)}, the best spread field {_said(why.spread)}, the best field "
        f"behind the gate of one pixel {_said(why.pixel)}. Between the first two it is {100 * shape:+.1f}% by C and "
        f"{100 * variance:+.1f}% by r, so that {decides} decides. (C of a Gaussian is {PLAIN:.3f}.)"
    )


def _said(worth: Worth) -> str:
    return f"{worth.value:.4f} (C {worth.geary:.3f}, r {worth.ratio:.3f})"


def threshold_reason(why: Why) -> str | None:
    """How far the flat field is from giving way; None where no field is flat."""
    if why.rate is None or why.rate_error is None:
        return None
    sure = abs(why.rate) > 2 * why.rate_error
    gives = ("gives way" if why.rate > 0 else "is stable") if sure else "is too near its threshold to tell"
    return f"A flat field {gives}: its fastest wave grows at rate {why.rate:+.3f} +- {why.rate_error:.3f}."


def tail_reason(why: Why) -> str:
    said = f"A pixel's excess kurtosis is {why.excess_kurtosis:+.2f}"
    if why.tail < HEAVY:
        return (
            f"{said}, but its tail falls as |x|^-{why.tail:.1f} (Hill): fourth moments are a matter of chance, and "
            "theory that needs them does not apply. The verdict needs second moments alone."
        )
    return f"{said}; tails are light enough to trust it (Hill's exponent {why.tail:.1f})."


def law_reason(law: Law, verdict: str) -> str:
    steps = ", ".join(f"{c:.3g} at {n:,}" for n, c in zip(law.samples, law.concentration, strict=True))
    shifts = "" if law.shifted is None else f" With shifts of every sample added the probability is {law.shifted:.2f}."
    both = f" For the law behind the data the answer is: {law.verdict}." if law.verdict != verdict else ""
    return f"Learning curve: n IPR {steps} samples: {law.said}.{shifts}{both}"


def mean_reason(why: Why, centred: Ends | None) -> str:
    if centred is None:
        return f"Means are small (at most {why.mean:.2f} standard deviations) and were kept."
    return (
        f"Means were kept; the largest is {why.mean:.2f} standard deviations. Without them the probability would be "
        f"{centred.probability:.2f} ({centred.verdict})."
    )


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
                "taken by their signs"
                if math.isinf(gain)
                else f"saturated at gain {gain:g}, as erf(gain (x - mean)/sd)"
            )
            return f"What would change it: with pixels {how}, these data would localize."
    return "Saturating the pixels, up to their signs, would not change it."


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
