"""The table of data sets, the rules that judge them, on invented numbers, and the page that is made from the file."""

import importlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localax import SettingError
from localax.runner import ThisProcess, run_sweep, sweep_plan

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def calibration() -> Any:
    sys.path.insert(0, str(DOCS))
    try:
        return importlib.import_module("calibration")
    finally:
        sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    return json.loads((DOCS / "calibration.json").read_text())


def invented(starts: int, networks: int, *, ipr: float = 8.0, off: float = 1.0, **other: Any) -> dict[str, Any]:
    """A set on which so many of 32 starts and of 8 networks are local."""

    def fields(local: int, count: int, size: float) -> dict[str, list[float]]:
        return {
            "concentration": [size] * local + [2.0] * (count - local),
            "gathered": [0.9] * local + [0.4] * (count - local),
            "width": [1.0] * count,
        }

    numbers = {f"flow_{name}": values for name, values in fields(starts, 32, ipr * off).items()}
    numbers |= {f"network_{name}": values for name, values in fields(networks, 8, ipr).items()}
    numbers |= {"ceiling": 3.0, "alone": 0.0, "kurtosis": -1.0, "growth": 1.0, "gap": 0.1, "effective": 1.0, "ica": 1.0}
    law = {"kind": "NLGP", "size": 40, "lengthscale": 3, "gain": 1}
    return {"family": "NLGP", "classes": [law, law], "samples": 2000, "numbers": numbers} | other


def test_the_table_has_what_was_asked_for(calibration):
    made = calibration.sets()
    assert len(made) >= 300
    assert made == calibration.sets()
    assert len({one["seed"] for one in made}) == len(made)
    sizes, samples = [calibration.pixels(one) for one in made], [one["samples"] for one in made]
    assert (min(sizes), max(sizes), min(samples), max(samples)) == (20, 200, 2_000, 100_000)
    families = {one["family"] for one in made}
    assert {"elliptical", "scale mixtures", "block pulses", "natural patches", "tori", "open windows"} <= families


def test_a_sweep_of_predictions_has_a_unit_for_each_set(calibration):
    listed = [{name: value for name, value in one.items() if name != "family"} for one in calibration.sets()[:3]]
    plan = sweep_plan({"what": "predict", "sweep": {"list": listed}})
    assert [piece.networks for piece in plan.pieces] == [1, 1, 1]


SMALL = {"what": "predict", "starts": 2, "networks": 2, "horizon": 1.0, "samples": 64, "behind": False}


@pytest.mark.slow
def test_a_sweep_of_predictions_runs_to_one_labelled_file(tmp_path):
    import xarray

    two = [{"kind": "NLGP", "size": 8, "lengthscale": scale, "gain": 3} for scale in (0.3, 0.7)]
    listed = [
        {"classes": two, "fresh": True, "treatment": "none"},
        {"classes": two[1:], "fresh": False, "treatment": "signs"},
    ]
    swept = run_sweep(
        sweep_plan({**SMALL, "sweep": {"list": listed}}), on=ThisProcess(), out=tmp_path, store=tmp_path / "store",
        progress=False,
    )  # fmt: skip
    assert not swept.troubles
    with xarray.open_dataset(swept.path) as data:
        assert data.flow_concentration.dims == ("sweep", "start")
        assert data.fresh_gathered.shape == (2, 2)
        assert np.isfinite(data.fresh_gathered.values).all(1).tolist() == [True, False]
        assert np.isnan(data.law.values).all()
        assert ((data.probability >= 0) & (data.probability <= 1)).all()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"classes": []}, "one table, or two"),
        ({"treatment": "blurred"}, "treatment"),
        ({"samples": 0}, "samples"),
        ({"fresh": True, "treatment": "signs"}, "false where data are treated"),
        ({"sample": 3}, "samples"),
    ],
)
def test_wrong_settings_of_a_sweep_of_predictions_are_refused(change, text):
    law = {"kind": "NLGP", "size": 8, "lengthscale": 0.5, "gain": 3}
    with pytest.raises(SettingError, match=text):
        sweep_plan({**SMALL, "classes": [law, law], **change, "sweep": {"seed": [0]}})


@pytest.mark.parametrize(
    ("starts", "networks", "right", "agreed", "verdict"),
    [
        (32, 8, True, True, "localizes"),
        (0, 0, True, True, "does not localize"),
        (0, 8, False, True, "does not localize"),
        (32, 1, False, True, "localizes"),
        (20, 6, True, False, "undecided"),
        (10, 6, False, False, "undecided"),
    ],
)
def test_how_a_set_is_judged(calibration, starts, networks, right, agreed, verdict):
    found = calibration.judged(invented(starts, networks))
    assert (found["right"], found["agreed"], found["verdict"]) == (right, agreed, verdict)


def test_chance_counts_unless_second_moments_localize(calibration):
    one = invented(32, 8)
    one["numbers"]["ceiling"] = 9.0
    assert calibration.judged(one)["probability"] == 0
    one["numbers"]["alone"] = 0.9
    assert calibration.judged(one)["probability"] == 1


def test_the_thresholds_move_what_is_predicted_and_not_the_truth(calibration):
    one = invented(32, 8, ipr=5.0)
    changed = calibration.judged(one, calibration.changed("concentrated", 8.0))
    assert (changed["probability"], changed["share"]) == (0, 1)
    assert calibration.changed("no", 0.1)["yes"] == 0.9


def test_targets_are_met_by_good_numbers_and_missed_by_bad_ones(calibration):
    good = [invented(32, 8), invented(0, 0), invented(0, 0, family="elliptical", samples=1000)]
    good += [invented(0, 0, family="elliptical")]
    bad = [invented(0, 8), invented(32, 8, off=2.0), invented(32, 0, family="elliptical")]
    bad += [invented(32, 0, family="elliptical", samples=1000), invented(16, 8), invented(16, 8)]
    for made, expected in ((good, True), (bad, False)):
        found = calibration.statistics([calibration.judged(one) for one in made])
        assert {name: calibration.met(name, found[name]) for name in calibration.TARGETS} == dict.fromkeys(
            calibration.TARGETS, expected
        )


def test_the_calibration_error_by_hand(calibration):
    """Bins .2-.3 (P .25 twice; shares 0 and .5 make .25) and .9-1 (P 1; share .5): (2 x 0 + 1 x .5)/3."""
    assert math.isclose(calibration.calibration_error(np.array([0.25, 0.25, 1.0]), np.array([0.0, 0.5, 0.5])), 0.5 / 3)


def test_the_law_is_judged_by_fresh_networks_of_the_same_law(calibration):
    one, two = invented(32, 8), invented(0, 0)
    one["numbers"] |= {"law": 0, "fresh_concentration": [8.0] * 8, "fresh_gathered": [0.9] * 8}
    two["numbers"] |= {"law": 1}
    found = calibration.of_laws([one, two])
    assert (found["laws"], found["sets"], found["undecided"], found["right"], found["differ"]) == (1, 2, 0, 0.5, 1)


def test_the_file_is_of_this_table(calibration, kept):
    by_seed = {one["seed"]: one for one in calibration.sets()}
    for one in kept["sets"]:
        assert {name: one[name] for name in by_seed[one["seed"]]} == by_seed[one["seed"]], "run `make calibration`"
    assert (DOCS / "calibration.json").stat().st_size < 2_000_000


def test_the_page_says_what_the_file_has(calibration, kept):
    assert (DOCS / "calibration.md").read_text() == calibration.page(kept), "run `python docs/calibration.py page`"
    found = [calibration.judged(one) for one in kept["sets"]]
    right = np.mean([(one["probability"] >= 0.5) == (one["share"] >= 0.5) for one in found])
    assert f"| accuracy on all sets | {100 * right:.1f}% |" in calibration.page(kept)
