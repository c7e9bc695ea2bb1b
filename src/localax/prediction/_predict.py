"""From samples to a verdict."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from .._errors import setting_error
from .._progress import Update, silent
from ..spec import Number, checked_count
from ._assumptions import Assumption, assumptions, hold, periodic
from ._beside import PIXELS, Beside, beside
from ._beside import STARTS as BESIDE
from ._classes import CONTRASTS, Classes, as_classes, contrasted
from ._ends import VERDICTS, Ends, Flows, Settings, changed, ends
from ._flow import HORIZON
from ._flow import starts as first_fields
from ._law import Law, law
from ._prediction import Prediction
from ._reasons import (
    amplifier_reason,
    beside_reason,
    check_reason,
    contrast_reason,
    flow_reason,
    gain_reason,
    large_reason,
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
VERIFIES = 0.3
"""About the share of the time that all but the training of networks takes."""
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
    flows: bool = False,
    verify: bool = False,
    progress: Update = silent,
) -> Prediction:
    """Whether the receptive field of a ReLU neuron becomes local on data of one's own, where, and why.

    **samples**: finite numbers of shape (n, pixels) or (n, height, width); neither periodic nor centred nor of variance
    1. **labels**: one of two values for every sample; the larger is what the neuron answers to. **contrast**: samples
    of the other class, in place of labels. With neither, the contrast is independent pixels of the same marginals.
    **centre**: remove the mean of every pixel, which is kept otherwise. **starts**: from how many fields the flow
    starts (default 32, or 8 on more than 2e7 numbers). **horizon**: the time, steps x rate, to which it is followed.
    **seed**: of clones and contrasts. **explain**: measure reasons, assumptions and the law behind the data too.
    **flows**: follow the theory's effective and window flows beside it, where data are periodic, stationary and
    symmetric; compiling them takes a while. **verify**: train eight networks on the data beside it. **progress**:
    called with the fraction that is done.
    """
    if not np.isfinite(horizon) or not 0 < horizon <= 1e6:
        raise setting_error("predict", "horizon", horizon, "a number in (0, 1e6]")
    classes = as_classes(samples, labels, contrast, centre=centre, seed=seed)
    count = checked_count("predict", (FEWER if _is_large(classes) else STARTS) if starts is None else starts)
    settings = Settings(count, float(horizon), seed)
    ours = Flows(classes, settings)
    found = ours.ends()
    before = VERIFIES if verify else 1.0
    progress(0.2 * before)
    story = _explained(ours, found, centre, flows) if explain else _Story((flow_reason(found, settings),))
    progress(before)
    watched = (lambda done: progress(before + (1 - before) * done)) if verify else None
    return _assembled(classes, found, settings, story, watched)


def _is_large(classes: Classes) -> bool:
    return classes.one.size + classes.zero.size > LARGE


@dataclass(frozen=True)
class _Story:
    """What is said beside the verdict."""

    reasons: tuple[str, ...]
    checks: tuple[Assumption, ...] = ()
    why: Why | None = None
    law: Law | None = None
    beside: tuple[Beside, ...] = ()


def _explained(flows: Flows, found: Ends, centre: bool, theory: bool) -> _Story:
    classes, settings = flows.classes, flows.settings
    checks = assumptions(classes)
    ring, symmetric = periodic(classes, checks), hold(checks, "S3")
    behind = law(flows, found, ring, symmetric)
    numbers = why(classes, found.fields[found.typical()], ring and symmetric)
    follow = theory and ring and symmetric and classes.pixels <= PIXELS
    starts = np.roll(first_fields(classes.shape, settings.starts), -found.typical(), axis=0)
    others = beside(classes, starts[:BESIDE], settings.horizon) if follow else ()
    reasons = [
        flow_reason(found, settings),
        worth_reason(numbers, found.verdict),
        threshold_reason(numbers),
        amplifier_reason(numbers),
        law_reason(behind, found.verdict),
        beside_reason(others, ring, symmetric, classes.pixels) if theory else None,
        *_if_changed(classes, settings, found.verdict, numbers, centre),
        tail_reason(numbers),
        sample_reason(classes),
        check_reason(classes),
    ]
    return _Story(tuple(reason for reason in reasons if reason), checks, numbers, behind, others)


def _if_changed(classes: Classes, settings: Settings, verdict: str, why: Why, centre: bool) -> list[str | None]:
    """What other contrasts, means and saturation would give; each is as much work as the verdict itself."""
    large = _is_large(classes)
    tried = why.mean > SHIFTED and not centre and not large
    return [
        contrast_reason(classes.contrast, *((None, "") if large else _sensitivity(classes, settings))),
        mean_reason(why, ends(classes.centred(), settings) if tried else None, centre),
        None if verdict == VERDICTS[0] or large else gain_reason(_saturated(classes, settings)),
        large_reason(classes.one.size + classes.zero.size) if large else None,
    ]


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


def _assembled(classes: Classes, found: Ends, settings: Settings, story: _Story, verify: Update | None) -> Prediction:
    """All of it; ``verify``: told how far networks are that are trained beside it, None where none are."""
    iprs, local = (None, None) if verify is None else trained(classes, settings, progress=verify)
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
        beside=story.beside,
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
