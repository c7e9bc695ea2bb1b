"""Every experiment's quick preset gives each claim the verdict that is expected of it."""

import dataclasses

import numpy as np
import pytest

from localax import experiments
from localax._record import Fields, Histogram, Lines, Outcome, Scatter, Table

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
        case Fields():
            return [panel.values]
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
