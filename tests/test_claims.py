"""Every experiment's quick preset gives each claim the verdict that is expected of it."""

import dataclasses
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import localax as lx
from localax import experiments
from localax._record import Histogram, Lines, Outcome, Scatter, Table
from localax.experiments._together import together
from localax.experiments._train import train

CHAPTERS = [name for members in experiments.CHAPTERS.values() for name in members]


def numbers(panel) -> list[np.ndarray]:
    """The arrays that a panel shows."""
    match panel:
        case Lines():
            return [panel.x, *panel.curves.values(), *panel.points.values()]
        case Scatter():
            return [part for group in panel.groups.values() for part in group if part is not None]
        case Histogram():
            return [panel.density]
        case Table():
            return [np.zeros(len(panel.rows))]
        case _:
            return [panel.values]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CHAPTERS)
def test_every_claim_has_its_expected_verdict(name):
    fractions = []
    outcome = experiments.perform(name, "quick", progress=fractions.append)
    missed = [
        f"{c.sentence} {c.verdict}, expected {c.expected}: {c.measured}" for c in outcome.claims if not c.as_expected
    ]
    assert outcome.claims
    assert missed == []
    assert all(part for claim in outcome.claims for part in (claim.source, claim.measured, claim.rule, claim.basis))
    assert len(outcome.text) > 200
    assert fractions == sorted(fractions)
    panels = [panel for figure in outcome.figures for row in figure.rows for panel in row]
    assert all(array.size and np.any(np.isfinite(array)) for panel in panels for array in numbers(panel))
    assert Outcome.from_bytes(outcome.to_bytes()).to_bytes() == outcome.to_bytes()


@pytest.mark.parametrize("name", experiments.ALL)
def test_every_experiment_has_two_presets_of_plain_settings(name):
    module = experiments.ALL[name]
    assert set(module.PRESETS) == {"quick", "paper"}
    for settings in module.PRESETS.values():
        assert isinstance(settings, module.Settings)
        with pytest.raises(dataclasses.FrozenInstanceError):
            settings.unknown = 1
    assert module.__doc__.splitlines()[0].endswith((".", "?"))


def test_wrong_names_give_one_line():
    with pytest.raises(ValueError, match="no experiment called 'fig99'; choose one of stimuli, fig"):
        experiments.perform("fig99")
    with pytest.raises(ValueError, match="no preset called 'slow'; choose one of quick, paper"):
        experiments.perform("kurtosis", "slow")


def test_parts_of_an_experiment_keep_order_flags_and_progress():
    told = []

    def work(part, tell):
        tell(0.5)
        tell(1.0)
        return part, jnp.zeros(1, float).dtype

    for x64, expected in ((True, np.float64), (False, np.float32)):
        with jax.enable_x64(x64):
            assert together(work, "abc", told.append) == [(part, expected) for part in "abc"]
    assert told[:6] == sorted(told[:6])
    assert told[5] == 1.0


def test_a_part_that_fails_ends_the_others():
    reports = []

    def work(part, tell):
        if part == "bad":
            raise RuntimeError("on purpose")
        while True:
            tell(0.5)
            time.sleep(0.01)

    with pytest.raises(RuntimeError, match="on purpose"):
        together(work, ["endless", "bad"], reports.append)


def test_an_interrupted_training_ends_its_experiment():
    def interrupted(*_):
        raise KeyboardInterrupt

    task = lx.Task(lx.stimuli.NLGP.pair(24), [0, 1])
    settings = {"steps": 50, "batch": 4, "rate": 0.1, "save_every": 1}
    assert train(task, lx.networks.SingleReLU(), **settings).done
    with pytest.raises(KeyboardInterrupt):
        train(task, lx.networks.SingleReLU(), watch=interrupted, **settings)
