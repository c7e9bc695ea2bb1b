"""From samples to a verdict."""

import math
from typing import Any

import numpy as np
import scipy

from .._errors import setting_error
from ..spec import Number, checked_count
from ._assumptions import Assumption, assumptions, hold, periodic
from ._classes import CONTRASTS, Classes, as_classes, contrasted
from ._ends import VERDICTS, Ends, Flows, Settings, changed, ends
from ._flow import HORIZON
from ._law import Law, law
from ._prediction import Prediction
from ._reasons import (
    check_reason,
    contrast_reason,
    flow_reason,
    gain_reason,
    law_reason,
    mean_reason,
    sample_reason,
    tail_reason,
    threshold_reason,
    worth_reason,
)
from ._verify import trained
from ._why import Why, why

STARTS, FEWER = 32, 8
"""Starts of the flow, and how many where data are large."""
LARGE = 20_000_000
"""Numbers from which data are large."""
SHIFTED = 0.1
"""Standard deviations of mean from which its effect is measured."""
GAINS = (0.25, 0.5, 1.0, 2.0, math.inf)
"""At which pixels are saturated, to say what would change a verdict."""


def predict(
    samples: Any,
    labels: Any = None,
    *,
    contrast: Any = None,
    centre: bool = False,
    starts: int | None = None,
    horizon: Number = HORIZON,
    seed: int = 0,
    explain: bool = True,
    verify: bool = False,
) -> Prediction:
    """Whether the receptive field of a ReLU neuron becomes local on data of one's own, where, and why.

    **samples**: finite numbers of shape (n, pixels) or (n, height, width); neither periodic nor centred nor of variance
    1. **labels**: one of two values for every sample; the larger is what the neuron answers to. **contrast**: samples
    of the other class, in place of labels. With neither, the contrast is independent pixels of the same marginals.
    **centre**: remove the mean of every pixel, which is kept otherwise. **starts**: from how many fields the flow
    starts (default 32, or 8 on more than 2e7 numbers). **horizon**: the time, steps x rate, to which it is followed.
    **seed**: of clones and contrasts. **explain**: measure reasons, assumptions and the law behind the data too.
    **verify**: train eight networks on the data beside it.
    """
    if not np.isfinite(horizon) or not 0 < horizon <= 1e6:
        raise setting_error("predict", "horizon", horizon, "a number in (0, 1e6]")
    classes = as_classes(samples, labels, contrast, centre=centre, seed=seed)
    many = classes.one.size + classes.zero.size > LARGE
    count = checked_count("predict", (FEWER if many else STARTS) if starts is None else starts)
    settings = Settings(count, float(horizon), seed)
    flows = Flows(classes, settings)
    found = flows.ends()
    story = _explained(flows, found) if explain else _Story((), None, None, (flow_reason(found, settings),))
    return _assembled(classes, found, settings, story, verify)


class _Story:
    """What is said beside the verdict."""

    def __init__(
        self, checks: tuple[Assumption, ...], why: Why | None, law: Law | None, reasons: tuple[str, ...]
    ) -> None:
        self.checks, self.why, self.law, self.reasons = checks, why, law, reasons


def _explained(flows: Flows, found: Ends) -> _Story:
    classes, settings = flows.classes, flows.settings
    checks = assumptions(classes)
    ring, symmetric = periodic(classes, checks), hold(checks, "S3")
    behind = law(flows, found, ring, symmetric)
    numbers = why(classes, found.fields[found.typical()], ring and symmetric)
    reasons = [
        flow_reason(found, settings),
        worth_reason(numbers),
        threshold_reason(numbers),
        law_reason(behind, found.verdict),
        contrast_reason(classes.contrast, *_sensitivity(classes, settings)),
        mean_reason(numbers, ends(classes.centred(), settings) if numbers.mean > SHIFTED else None),
        tail_reason(numbers),
        None if found.verdict == VERDICTS[0] else gain_reason(_saturated(classes, settings)),
        sample_reason(classes),
        check_reason(classes),
    ]
    return _Story(checks, numbers, behind, tuple(reason for reason in reasons if reason))


def _sensitivity(classes: Classes, settings: Settings) -> tuple[Ends | None, str]:
    """The verdict against the other contrast, where the contrast is our own."""
    second = list(CONTRASTS)[1]
    return (ends(contrasted(classes, second, settings.seed), settings) if classes.invented else None), second


def _saturated(classes: Classes, settings: Settings) -> dict[float, Ends]:
    """Where the flow ends on pixels erf(gain (x - mean)/sd), up to the first gain at which it is sure to be local."""
    found: dict[float, Ends] = {}
    mean, spread = classes.one.mean(0), np.maximum(np.maximum(classes.one.std(0), classes.zero.std(0)), 1e-6)
    for gain in GAINS:
        one, zero = (_squashed((x - mean) / spread, gain) for x in (classes.one, classes.zero))
        found[gain] = ends(changed(classes, one, zero), settings)
        if found[gain].verdict == VERDICTS[0]:
            break
    return found


def _squashed(x: np.ndarray, gain: float) -> np.ndarray:
    return np.sign(x) if math.isinf(gain) else scipy.special.erf(gain * x)


def _assembled(classes: Classes, found: Ends, settings: Settings, story: _Story, verify: bool) -> Prediction:
    iprs, local = trained(classes, settings) if verify else (None, None)
    return Prediction(
        verdict=found.verdict,
        probability=found.probability,
        ipr=found.ipr,
        width=found.width,
        field=found.fields[found.typical()],
        checks=story.checks,
        reasons=story.reasons,
        why=story.why,
        law=story.law,
        fields=found.fields,
        peaks=found.peaks() if found.local.any() else {},
        ceiling=found.ceiling,
        horizon=settings.horizon,
        scale=classes.scale,
        samples=(len(classes.one), len(classes.zero)),
        contrast=classes.contrast,
        trained=iprs,
        local=local,
    )
