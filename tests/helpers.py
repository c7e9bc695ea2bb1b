"""What several tests share: comparison within six standard errors, dense matrices by plain loops, random settings."""

import functools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from localax import runner
from localax.outcome import Outcome
from localax.spec import Setting, settings_of
from localax.stimuli import AbstractStimulus, Report, _battery
from localax.store import Store

SIGMAS = 6.0
RARE = 2e-9
"""The chance of a six-sigma event: the p-value below which a test fails."""

STATEMENTS = (
    "mean", "covariance", "marginal", "moments of the marginal", "translation invariance", "sign symmetry",
)  # fmt: skip
"""The items of the battery that compare samples with what a stimulus says of itself; cheap, as they compile nothing."""


def assert_within(samples: np.ndarray, truth: Any, rounding: float = 1e-6) -> None:
    """Means over the first axis agree with the truth to six standard errors, and to float32 rounding."""
    samples = np.asarray(samples, float)
    error = samples.std(0) / np.sqrt(len(samples))
    gap = np.abs(samples.mean(0) - truth)
    assert np.all(gap <= SIGMAS * error + rounding), f"off by {np.max(gap / (error + rounding)):.1f} standard errors"


def matrix(row: np.ndarray) -> np.ndarray:
    """The covariance matrix of a ring or torus, entry by entry."""
    pixels = list(np.ndindex(row.shape))
    return np.array(
        [[row[tuple((a - b) % n for a, b, n in zip(p, q, row.shape, strict=True))] for q in pixels] for p in pixels]
    )


def run_items(stimulus: AbstractStimulus, names: Iterable[str], n: int, seed: int = 0) -> Report:
    """A part of the battery."""
    subject = _battery._Subject(stimulus, seed, np.asarray(stimulus.sample(jax.random.key(seed), n)))
    return Report(
        type(stimulus).__name__, tuple(_battery._run(name, _battery.ITEMS[name], subject) for name in sorted(names))
    )


def statements(stimulus: AbstractStimulus, n: int = 5000, seed: int = 0) -> Report:
    """The part of the battery that compares samples with exact statements."""
    return run_items(stimulus, STATEMENTS, n, seed)


# Any object of the package, with settings drawn from what its annotations call typical --------------------------------


def drawn(data: Any, cls: type, size: int | tuple[int, int] = 40) -> Any:
    """An instance of a class, whose settings are read off its annotations and drawn by hypothesis."""
    return data.draw(recipes(cls, size))()


def recipes(cls: type, size: int | tuple[int, int] = 40) -> st.SearchStrategy:
    """What to build; built outside of hypothesis, as the shape checks under pytest draw random numbers of their own."""
    own = settings_of(cls)
    inside = tuple(2 * side for side in size) if isinstance(size, tuple) else 2 * size
    values = {name: _values(setting, size, inside if "size" in own else size) for name, setting in own.items()}
    return st.fixed_dictionaries(values).map(lambda chosen: functools.partial(construct, cls, **chosen))


def _values(setting: Setting, size: Any, inside: Any) -> st.SearchStrategy:
    if setting.choices:
        return st.sampled_from(setting.choices)
    if setting.options:
        simple = [option for option in setting.options() if "stimulus" not in settings_of(option)]
        return st.one_of([recipes(option, inside) for option in simple])
    if setting.kind == "size":
        return st.just(size)
    if setting.kind is bool:
        return st.booleans()
    assert setting.typical, f"{setting.meaning!r} says nothing about typical values"
    low, high = setting.typical
    return st.integers(int(low), int(high)) if setting.kind is int else st.floats(low, high)


def construct(cls: type, **chosen: Any) -> Any:
    """An object, or another example where its correlation is no covariance."""
    chosen = {name: value() if isinstance(value, functools.partial) else value for name, value in chosen.items()}
    try:
        return cls(**chosen)
    except ValueError as error:
        assume("is no covariance" not in str(error))  # refused with reason; that is tested elsewhere
        raise


# Outcomes of the quick preset -----------------------------------------------------------------------------------------


@functools.cache
def quick_outcome(name: str) -> Outcome:
    """The outcome of an experiment's quick preset: from the store that ``make test`` filled, else run into it."""
    store = Store(os.environ.get("LOCALAX_TEST_STORE", Path(__file__).parents[1] / ".quick" / "store"))
    units = runner.experiment_units([name])
    results = runner.run_or_load(units, store, runner.Processes(1))
    assert results.failed == {}
    return runner.load_outcome(store, units[0])
