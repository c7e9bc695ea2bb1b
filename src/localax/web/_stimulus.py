"""What a stimulus looks like and on which side of the threshold it is, at once; what takes longer is asked apart."""

import functools
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from .._errors import SettingError
from ..prediction import data_threshold
from ..runner import TrainingSettings, task_of, training_settings
from ..spec import Number, settings_of
from ..stimuli import AbstractMarginal, AbstractNormalMap, AbstractStimulus, Task
from ..theory import amplifier, exact_growth_rates, flat_growth_rates, steady
from ._numbers import listed, packed

SAMPLES = 4
"""Samples of each class that are shown."""
BINS = 81
"""Of the marginal."""
WIDEST = 4.0
"""Standard deviations that the marginal and the samples are drawn to."""
NORMAL = special.ndtri((np.arange(20_000) + 0.5) / 20_000).astype(np.float32)
"""A normal law as equally likely points."""
GRID = 81
"""Points of the amplifier."""
EDGE = 0.995
"""How much of the amplifier's range is drawn: it is steep at the end."""


def preview(settings: TrainingSettings) -> dict[str, Any]:
    """Marginal and covariance of every class, the amplifier and the side of the threshold: nothing is compiled."""
    return _preview(json.dumps([settings.stimulus, settings.labels, settings.proportions]))


@functools.lru_cache(maxsize=4)
def _preview(law: str) -> dict[str, Any]:
    """Kept, as another rate or batch leaves it as it is."""
    began, given = time.perf_counter(), json.loads(law)
    task = task_of(*given)
    labels = np.asarray(task.labels, float)
    sketch = Task([stimulus.sketch() for stimulus in task.stimuli], labels, task.proportions)
    last = int(np.argmax(labels))
    found = {
        "shape": list(task.shape),
        "classes": [
            {"name": name, "title": repr(stimulus), "label": label, **moments}
            for name, stimulus, label, moments in zip(
                _names(given[0], len(labels)), task.stimuli, labels.tolist(), _moments(sketch.stimuli), strict=True
            )
        ],
        "amplifier": {**_amplifier(sketch.stimuli[last]), "of": last},
        "threshold": threshold(sketch if sketch.shift_invariant else task),
    }
    return {**found, "milliseconds": listed(1e3 * (time.perf_counter() - began), 3)}


def samples(settings: TrainingSettings) -> dict[str, Any]:
    """Samples of every class; asked apart from all else, as each new size of a ring is compiled."""
    task = _task(settings)
    drawn = [packed(stimulus.sample(jax.random.key(0), SAMPLES, instant=True)) for stimulus in task.stimuli]
    return {"shape": list(task.shape), "names": _names(settings.stimulus, len(drawn)), "samples": drawn}


def _names(stimulus: str | Mapping[str, Any], count: int) -> list[str]:
    """What the classes are called on the page."""
    if isinstance(stimulus, Mapping) and stimulus.get("samples"):
        return ["label 0", "label 1"] if stimulus.get("classes") else ["shuffled pixels", "your data"]
    return ["short class", "long class"] if count == 2 else [f"class {i}" for i in range(count)]


def _task(settings: TrainingSettings) -> Task:
    return task_of(settings.stimulus, settings.labels, settings.proportions)


def _moments(stimuli: Sequence[AbstractStimulus]) -> list[dict[str, Any]]:
    """Covariance and marginal of every class; the latter is computed once where all have the same."""
    laws = [stimulus.marginal for stimulus in stimuli]
    same = all(eqx.tree_equal(law, laws[0]) is True for law in laws[1:])
    marginals = [_marginal(laws[0])] * len(laws) if same else [_marginal(law) for law in laws]
    covariances = [packed(_covariance(stimulus)) for stimulus in stimuli]
    return [{"covariance": row, "marginal": law} for row, law in zip(covariances, marginals, strict=True)]


def _covariance(stimulus: AbstractStimulus) -> np.ndarray:
    """With pixel 0; where there is no ring with the pixel in the middle, which is put first."""
    if stimulus.shift_invariant:
        return stimulus.covariance()
    centre, data = [side // 2 for side in stimulus.shape], stimulus.dataset()
    middle = np.ravel_multi_index(centre, stimulus.shape)
    if data is None:
        row = stimulus.covariance_matrix()[middle]
    else:
        flat = np.asarray(data, float).reshape(len(data), -1)
        row = (flat[:, middle] - flat[:, middle].mean()) @ flat / len(flat)
    return np.roll(row.reshape(stimulus.shape), [-side for side in centre], range(len(centre)))


def _marginal(law: AbstractMarginal) -> dict[str, Any]:
    mean, variance, excess = float(law.mean()), float(law.variance()), float(law.excess_kurtosis())
    edges = mean + WIDEST * np.sqrt(variance) * np.linspace(-1, 1, BINS + 1)
    return {
        "edges": packed(edges),
        "density": packed(_shares(law, edges) / np.diff(edges)),
        "mean": listed(mean),
        "variance": listed(variance),
        "excess_kurtosis": listed(excess),
        "excess_kurtosis_text": f"{excess:.2f}" if np.isfinite(excess) else "infinite",
    }


def _shares(law: AbstractMarginal, edges: np.ndarray) -> np.ndarray:
    """How much of a law lies in each bin; by its map from a normal where it has one, which is twenty times faster."""
    atoms = law.atoms()
    if atoms is not None:
        return np.histogram(atoms[0], edges, weights=atoms[1])[0]
    if isinstance(law, AbstractNormalMap):
        return np.histogram(law.from_normal(jnp.asarray(NORMAL)), edges)[0] / NORMAL.size
    return np.diff(np.asarray(law.cdf(edges), float))


def _amplifier(stimulus: AbstractStimulus) -> dict[str, Any]:
    """The amplifier of a class, its tangent and its expansion to third order; by numpy, as each law has other nodes."""
    try:
        phi = amplifier(stimulus, groups=0)
    except SettingError as error:
        return {"missing": str(error)}
    r = EDGE * np.linspace(-1, 1, GRID)
    a, value = phi.scale * r, phi.scale * phi.law.amplify(r / np.sqrt(1 - r**2))[0]
    return {"a": packed(a), "phi": packed(value), "tangent": packed(phi.taylor(1)(a)), "third": _third(phi, a)}


def _third(phi: Any, a: np.ndarray) -> Any:
    try:
        return packed(phi.taylor(3)(a))
    except SettingError:  # no fourth moment, so no third order
        return None


# The threshold --------------------------------------------------------------------------------------------------------


def threshold(task: Task) -> dict[str, Any]:
    """On which side of the threshold of Eq. 5 a **task** is: how fast the flat field gives way, or does not."""
    nothing = {"side": "unknown", "rate": None, "wave": None, "relative": None}
    try:
        if all(stimulus.dataset() is not None for stimulus in task.stimuli):
            return _measured(task)
        rates = flat_growth_rates(task)
    except SettingError as error:
        return {**nothing, "sentence": f"No threshold is known here: {_reason(error)}."}
    wave, rate = _fastest(rates)
    gives_way = rate > 0
    said = f"{_wave_name(wave, rates.shape)} {'grows' if gives_way else 'decays'} at rate {abs(rate):.3g}"
    return {
        "side": "localized" if gives_way else "spread",
        "rate": listed(rate),
        "wave": _wave_name(wave, rates.shape),
        "relative": listed(rate / abs(float(rates.flat[0]))),
        "sentence": f"The flat field {'gives way' if gives_way else 'holds'}: by Eq. 5 {said}.",
    }


def _reason(error: SettingError) -> str:
    """What is wanted, without who asked and what was given, which is on the screen."""
    return str(error).partition(", got ")[0].partition(": ")[2] or str(error)


def _measured(task: Task) -> dict[str, Any]:
    """The same of data sets, measured on them."""
    rate, error = data_threshold(task)
    pixels, axes = np.prod(task.shape), tuple(range(1, 1 + len(task.shape)))
    data = (np.asarray(stimulus.dataset()) for stimulus in task.stimuli)
    decay = np.mean([np.mean(np.sum(x, axes, float) ** 2) / pixels for x in data])
    gives_way, sure = rate > 0, "" if abs(rate) > 2 * error else ", too close to call"
    said = f"on these data its fastest wave {'grows' if gives_way else 'decays'} at {abs(rate):.3g} ± {error:.1g}{sure}"
    return {
        "side": "localized" if gives_way else "spread",
        "rate": listed(rate),
        "wave": None,
        "relative": listed(rate / float(decay)),
        "sentence": f"The flat field {'gives way' if gives_way else 'holds'}: {said}.",
    }


def _fastest(rates: np.ndarray) -> tuple[int, float]:
    """The wave that grows fastest, and its rate."""
    flat = rates.ravel()
    wave = 1 + int(np.argmax(flat[1:]))
    return wave, float(flat[wave])


def _wave_name(wave: int, shape: tuple[int, ...]) -> str:
    """By cycles round the ring, or down and across the torus."""
    cycles = [int(min(i, side - i)) for i, side in zip(np.unravel_index(wave, shape), shape, strict=True)]
    return f"the wave of {' × '.join(map(str, cycles))} cycle{'' if cycles == [1] else 's'}"


def work(request: Mapping[str, Any], tell: Any, inbox: Any) -> dict[str, Any]:
    """What is asked apart, as it takes a second."""
    del tell, inbox
    return far_threshold(training_settings(request["settings"]))


def far_threshold(settings: TrainingSettings) -> dict[str, Any]:
    """Where the threshold lies in each setting that has one, and the growth rate of the true flow."""
    task = _task(settings)
    return {"critical": _criticals(settings), "exact": _exact(task)}


def _exact(task: Task) -> dict[str, Any]:
    try:
        found = exact_growth_rates(task)
    except SettingError as error:
        return {"missing": f"Of the true flow no rate is known: {_reason(error)}."}
    wave, rate = _fastest(np.asarray(found.value))
    error = float(np.asarray(found.standard_error).ravel()[wave])
    if not np.isfinite(error):
        return {
            "missing": "Of the true flow no rate is known: its pixels have nearly two values, and few samples decide."
        }
    name = _wave_name(wave, np.shape(found.value))
    sure = "" if abs(rate) > 2 * error else ", too close to call"
    grows = "grows" if rate > 0 else "decays"
    said = f"In the true flow {name} {grows} at rate {abs(rate):.3g} ± {error:.1g}{sure}."
    return {"rate": listed(rate), "error": listed(error), "sentence": said}


def _criticals(settings: TrainingSettings) -> list[dict[str, Any]]:
    given = settings.stimulus
    if isinstance(given, str):
        return []
    made = task_of(given, settings.labels, settings.proportions).stimuli[0]
    numbers = {
        name: (float(given[name]), setting)
        for name, setting in settings_of(type(made)).items()
        if setting.kind is float and isinstance(given.get(name), int | float) and setting.typical
    }
    found = [_critical(settings, given, name, value, setting.typical) for name, (value, setting) in numbers.items()]
    return [one for one in found if one is not None]


def _critical(
    settings: TrainingSettings, given: Mapping[str, Any], name: str, value: float, typical: Any
) -> dict[str, Any] | None:
    """The value of one setting at which the flat field changes its stability, within what is typical of it."""

    def tasks(at: Number) -> Task:
        return task_of({**given, name: float(at)}, settings.labels, settings.proportions)

    low, high = min(*typical, value), max(*typical, value)
    try:
        at = steady.critical_value(tasks, low, high)
        above = flat_growth_rates(tasks(high)).ravel()[1:].max() > 0
    except SettingError:  # the same on both ends, or no flat field at all
        return None
    side = "above" if above else "below"
    said = f"{name} {value:g}; by Eq. 5 the flat field gives way {side} {at:.3g}"
    return {"setting": name, "value": value, "critical": listed(at), "sentence": said}
