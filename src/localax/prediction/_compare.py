"""One data set, all answers beside each other: the flow's, trained networks', and those of simpler predictors."""

import time
from typing import Any

import numpy as np

from ..analysis import concentration, gathered, width
from ..spec import Number
from ..stimuli import Task
from ._assumptions import assumptions, hold, periodic
from ._baselines import baselines
from ._classes import as_classes
from ._ends import VERDICTS, Flows, Settings
from ._flow import HORIZON
from ._law import SHARES, law
from ._verify import NETWORKS, fresh_fields, trained_fields

Numbers = dict[str, np.ndarray]
BEHIND = ("law", "grows", "shifted", *(f"probability_{share:g}" for share in SHARES))
"""Names of what is said of the law behind the data."""


def compared(
    samples: Any,
    contrast: Any = None,
    *,
    task: Task | None = None,
    starts: int = 32,
    horizon: Number = HORIZON,
    networks: int = NETWORKS,
    seed: int = 0,
    behind: bool = True,
) -> Numbers:
    """What the flow says of data, and what networks trained on them and simpler predictors say, as named arrays.

    **samples**, **contrast**, **starts**, **horizon**, **seed**: as :func:`predict` takes them. **networks**: how many
    are trained. **task**: the law that the data were drawn from, to train networks on fresh samples of it too.
    **behind**: ask for the law behind the data, by the learning curve and by shifts.
    """
    began = time.process_time()
    classes = as_classes(samples, None, contrast, centre=False, seed=seed)
    settings = Settings(starts, float(horizon), seed)
    flows = Flows(classes, settings)
    found = flows.ends()
    numbers = {f"flow_{name}": value for name, value in _measured(found.fields, found.ndim).items()}
    numbers |= _single(probability=found.probability, ceiling=found.ceiling, alone=found.alone, scale=classes.scale)
    numbers |= _single(flow_seconds=time.process_time() - began)
    if behind:
        checks = assumptions(classes)
        numbers |= _law(flows, found, periodic(classes, checks), hold(checks, "S3"))
    numbers |= {
        f"network_{k}": v for k, v in _measured(trained_fields(classes, settings, networks), found.ndim).items()
    }
    numbers |= _single(**baselines(classes, settings))
    if task is not None:
        fields = fresh_fields(task, classes.scale, settings, networks)
        numbers |= {f"fresh_{name}": value for name, value in _measured(fields, found.ndim).items()}
    return numbers | _single(seconds=time.process_time() - began)


def _law(flows: Flows, found: Any, ring: bool, symmetric: bool) -> Numbers:
    told = law(flows, found, ring, symmetric)
    shifted = np.nan if told.shifted is None else told.shifted
    values = (VERDICTS.index(told.verdict), told.grows, shifted, *told.probability[:-1])
    return _single(**dict(zip(BEHIND, values, strict=True)))


def _measured(fields: np.ndarray, ndim: int) -> Numbers:
    of = {"concentration": concentration, "gathered": gathered, "width": width}
    return {name: np.asarray(measure(fields, ndim=ndim), np.float32) for name, measure in of.items()}


def _single(**values: Any) -> Numbers:
    return {name: np.array(value, float) for name, value in values.items()}
