"""The lab's previews: they show the law, they come at once, and they say on which side of the threshold it is."""

import time

import numpy as np
import pytest

from lab import NLGP
from localax import stimuli, theory
from localax.web._limits import lab_settings
from localax.web._numbers import unpacked
from localax.web._stimulus import preview, samples


def test_a_preview_shows_the_law():
    found = preview(lab_settings({"stimulus": NLGP}))
    short, long = found["classes"]
    law = stimuli.NLGP(12, 1.5, 3)
    assert np.allclose(unpacked(long["covariance"]), law.covariance(), atol=1e-6)
    edges, density = (unpacked(long["marginal"][name]).astype(float) for name in ("edges", "density"))
    exact = np.diff(np.asarray(law.marginal.cdf(edges)))
    assert np.allclose(density * np.diff(edges), exact, atol=2 / 20_000)  # two points of the grid
    assert long["marginal"]["excess_kurtosis"] == pytest.approx(law.marginal.excess_kurtosis(), rel=1e-5)
    drawn = samples(lab_settings({"stimulus": NLGP}))
    assert [unpacked(one).shape for one in drawn["samples"]] == [(4, 12), (4, 12)]
    assert [one["name"] for one in (short, long)] == drawn["names"]
    a, phi = (unpacked(found["amplifier"][name]).astype(float) for name in ("a", "phi"))
    assert np.allclose(phi, theory.amplifier(law.marginal)(a), atol=1e-5)


SLOWEST = {
    "NLGP": {**NLGP, "size": 40},
    "Kur": {"kind": "Kur", "size": 40, "lengthscale": [1, 3], "k": 5},
    "Elliptical": {"kind": "Elliptical", "size": 40, "lengthscale": [1, 3], "radial": {"kind": "Shell"}},
    "Filtered": {"kind": "Filtered", "stimulus": NLGP, "kernel": {"kind": "CentreSurround"}},
    "NaturalPatches": {"kind": "NaturalPatches", "size": 40, "treatment": ["whitened", "raw"]},
}


@pytest.mark.parametrize("name", SLOWEST)
def test_a_slider_is_answered_soon(name):
    def seconds(i):
        law = {**SLOWEST[name]}
        law |= {"size": 40 + i} if name == "NaturalPatches" else {}
        law |= {"lengthscale": [1 + i / 100, 3]} if "lengthscale" in law else {}
        law |= {"kernel": {"kind": "CentreSurround", "centre": 1 + i / 100}} if "kernel" in law else {}
        began = time.process_time()  # not by the clock: others keep this machine busy
        preview(lab_settings({"stimulus": law}))
        return time.process_time() - began

    seconds(0)
    assert min(seconds(i) for i in range(1, 6)) < 0.1


@pytest.mark.parametrize(
    "law",
    [
        stimuli.Filtered(stimuli.NLGP(20, 2, 3), stimuli.CentreSurround(balance=0.5)),
        stimuli.NaturalPatches(20, "whitened"),
        stimuli.RandomScale(stimuli.NaturalPatches(20, "raw"), 0.2),
    ],
)
def test_a_sketch_has_the_moments_of_what_it_is_a_sketch_of(law):
    sketch = law.sketch()
    assert sketch is not law
    assert sketch.shape == law.shape
    # 2^16 numbers that hang together over some twenty pixels are worth three thousand: six standard errors
    room = 6 * np.sqrt((law.marginal.excess_kurtosis() + 2) / 3000)
    assert sketch.marginal.variance() == pytest.approx(law.marginal.variance(), rel=room)


def test_a_filter_that_takes_the_flat_wave_away_leaves_no_threshold():
    balanced = {"kind": "Filtered", "stimulus": NLGP, "kernel": {"kind": "CentreSurround"}}
    found = preview(lab_settings({"stimulus": balanced}))["threshold"]
    assert found["side"] == "unknown"
    assert "flat field can see" in found["sentence"]


@pytest.mark.slow
def test_the_threshold_is_where_theory_has_it(server):
    critical = float(theory.critical_gain(0.5, 1.5, 12))
    for gain, side, sign in ((0.9 * critical, "spread", -1), (1.1 * critical, "localized", 1)):
        found = preview(lab_settings({"stimulus": {**NLGP, "gain": gain}}))["threshold"]
        assert (found["side"], np.sign(found["rate"]), np.sign(found["relative"])) == (side, sign, sign)
    far = server.post("/api/threshold", json={"settings": {"stimulus": NLGP}}).json()
    assert far["critical"][0]["critical"] == pytest.approx(critical, rel=1e-4)
    assert far["exact"]["rate"] > 0


def test_a_preview_without_a_threshold_says_so():
    found = preview(lab_settings({"stimulus": {"kind": "Window", "stimulus": NLGP, "size": 6}}))
    assert found["threshold"]["side"] == "unknown"
    assert found["threshold"]["sentence"].startswith("No threshold is known here")
