"""Single ReLU neurons after training, and fields with their peak in the middle: what questions on fields share."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...analysis import peak, peak_sign
from ...stimuli import Task
from .neuron import neuron
from .seeds import seed_from, seeds_from
from .train import train


def final_fields(
    tasks: Sequence[Task], key: Any, *, seeds: int, steps: int, batch: int, rate: float, stream: str | int = "shared"
) -> np.ndarray:
    """Where neurons from small random weights end, (task, seed, pixel)."""
    run = train(
        list(tasks), neuron(), steps=steps, batch=batch, rate=rate, seeds=seeds_from(key, seeds),
        data_seed=seed_from(key), estimator="orbit", stream=stream, save_every=steps,
    )  # fmt: skip
    return np.asarray(run.final[:, :, 0], float)


def centred(fields: np.ndarray) -> np.ndarray:
    """Fields (field, pixel) with their peaks in the middle and upwards."""
    places, signs = peak(fields), peak_sign(fields)
    middle = fields.shape[-1] // 2
    return np.stack([s * np.roll(w, middle - p) for w, s, p in zip(fields, signs, places, strict=True)])
