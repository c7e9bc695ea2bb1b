"""From samples to a verdict: the flow against other ways to the same field, known laws, files, and bad input."""

import itertools
import json
import math
import os
import pickle
import runpy
import struct
import sys
import zlib
from pathlib import Path

import h5py
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy
from PIL import Image

import localax as lx
from localax import SettingError, prediction, runner, stimuli, theory
from localax.prediction import _amplifier, _beside, _classes, _clones, _ends, _files, _flow, _law, _verify, _why
from test_cli import localax, said

PIXELS, N = 24, 2000
ROOT = Path(__file__).resolve().parents[1]
LAWS = {
    "nlgp": lambda scale: stimuli.NLGP(PIXELS, scale, 3.0),
    "ising": lambda scale: stimuli.Ising(PIXELS, 0.3 * scale),
    "gaussian": lambda scale: stimuli.Gaussian(PIXELS, scale),
    "student": lambda scale: stimuli.Elliptical(PIXELS, scale, stimuli.RadialStudentT(df=3)),
}


def drawn(name: str, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Samples of the long and of the short class."""
    law = LAWS[name]
    return tuple(np.asarray(law(scale).sample(jax.random.key(i), n)) for i, scale in enumerate((3.0, 1.0)))  # pyright: ignore[reportReturnType]


def classes(name: str, n: int = N) -> _classes.Classes:
    one, zero = drawn(name, n)
    return _classes.as_classes(one, None, zero, centre=False, seed=0)


def quick(*data, **options) -> prediction.Prediction:
    return lx.predict(*data, explain=False, **options)


# The flow -------------------------------------------------------------------------------------------------------------


def gradient(one: np.ndarray, zero: np.ndarray, w: np.ndarray) -> np.ndarray:
    """-dL/dw of mean((y - ReLU)^2) with classes of equal share, sample by sample."""
    p, q = one @ w, zero @ w
    return one.T @ ((p > 0) * (1 - p)) / len(one) - zero.T @ np.maximum(q, 0) / len(zero)


@pytest.mark.slow
def test_the_flow_ends_where_an_ordinary_solver_does():
    """Both come to a steady state of the same loss; float32 leaves 1e-4 of a field of size 1."""
    data = classes("nlgp", 300)
    few = _classes.Classes(data.one[:, :6], data.zero[:, :6], (6,), 1.0, "", False)
    moment = (_flow.second_moment(few.one) + _flow.second_moment(few.zero)) / 2
    w0 = _flow.starts((6,), 3)
    found = _flow.follow(_flow.padded(few), few.shares(1.0), moment, w0, 400.0, batch=math.inf)
    one, zero = few.one.astype(float), few.zero.astype(float)
    for start, end in zip(w0, found, strict=True):
        path = scipy.integrate.solve_ivp(lambda _, w: gradient(one, zero, w), (0, 400), start, rtol=1e-6, atol=1e-8)
        assert np.allclose(end, path.y[:, -1], atol=2e-2 * np.abs(end).max())
        assert np.abs(gradient(one, zero, end)).max() < 5e-3  # the sample's gradient jumps by 1/n where a gate does


def test_a_part_of_the_data_is_as_if_the_rest_were_not_there():
    data = classes("nlgp", 300)
    half = data.most(150 * PIXELS)
    moment = (_flow.second_moment(half.one) + _flow.second_moment(half.zero)) / 2
    ends = [_flow.follow(_flow.padded(x), (150, 150), moment, _flow.starts((PIXELS,), 2), 20.0) for x in (data, half)]
    assert np.array_equal(ends[0], ends[1])


def test_steps_reach_the_horizon():
    assert len(_flow.steps(400.0)) == 66
    assert math.isclose(2 * _flow.steps(37.0).sum(), 37.0)


@pytest.mark.slow
def test_long_steps_end_where_short_ones_do(monkeypatch):
    """As the constants promise: one start in 32 on the other side, the IPR of nine in ten within 11%."""
    one, zero = (np.asarray(stimuli.NLGP(PIXELS, scale, 100.0).sample(jax.random.key(5), N)) for scale in (0.7, 0.3))
    data = _classes.as_classes(one, None, zero, centre=False, seed=0)
    settings = _ends.Settings(32, 100.0, 0)
    long = _ends.ends(data, settings)
    monkeypatch.setattr(_flow, "LONGEST", 0.25)
    monkeypatch.setattr(_flow, "CATCH_UP", 0.0)
    short = _ends.ends(data, settings)
    assert 0 < short.probability < 1  # near the threshold, where starts differ
    assert np.sum(lx.analysis.localized(long.fields) != lx.analysis.localized(short.fields)) <= 1
    assert np.quantile(np.abs(long.concentration / short.concentration - 1), 0.9) < 0.11


def test_a_blurred_gate_is_the_mean_over_noise():
    """Against draws, to 6 standard errors."""
    p, spread = np.array([-0.3, 0.0, 0.2, 2.0]), 0.25
    noisy = p + spread * np.random.default_rng(0).standard_normal((400_000, 1))
    for label in (0.0, 1.0):
        draws = np.where(noisy > 0, label - noisy, 0)
        found = np.asarray(_flow._blurred(jnp.asarray(p), jnp.asarray(spread), label))
        assert np.all(np.abs(found - draws.mean(0)) < 6 * draws.std(0) / math.sqrt(len(draws)) + 1e-6)


@pytest.mark.slow
def test_many_gaussian_samples_set_off_on_the_exact_flow():
    """The mean of n gated inputs is off by sqrt(pixels/2n); later on, the flow itself makes more of that."""
    n, time = 40_000, 0.002
    laws = [stimuli.Gaussian(PIXELS, scale) for scale in (1.0, 3.0)]
    one, zero = (np.asarray(law.sample(jax.random.key(i), n)) for i, law in enumerate(laws[::-1]))
    data = _classes.Classes(one, zero, (PIXELS,), 1.0, "", False)
    w0 = _flow.starts((PIXELS,), 2)
    moment = (_flow.second_moment(one) + _flow.second_moment(zero)) / 2
    found = _flow.follow(_flow.padded(data), data.shares(1.0), moment, w0, time)
    task = lx.Task(laws, [0, 1])
    network = lx.networks.SingleReLU()  # pyright: ignore[reportCallIssue] (its number of units is a property)
    exact = lx.theory.exact_flow(task, network, w0, times=np.array([0.0, time])).final[:, 0]
    assert np.linalg.norm(found - exact, axis=1).max() < 6 * time * math.sqrt(PIXELS / 2 / n)
    assert np.linalg.norm(exact - w0, axis=1).min() > 20 * time * math.sqrt(PIXELS / 2 / n)  # it went somewhere


def test_a_clone_has_the_moments_and_radii_of_the_data_and_no_shape():
    x = classes("nlgp").one + np.float32(0.5)
    clone = _clones.clone(x, np.random.default_rng(0))
    assert np.abs(clone.mean(0) - x.mean(0)).max() < 6 / math.sqrt(N)
    assert np.abs(np.cov(clone.T) - np.cov(x.T)).max() < 6 * math.sqrt(2 / N)
    inverse = np.linalg.inv(np.cov(x.T, bias=True))
    radii = [np.einsum("ni,ij,nj->n", y - x.mean(0), inverse, y - x.mean(0)) for y in (x, clone)]
    assert np.allclose(*radii, rtol=1e-2)
    assert abs(scipy.stats.kurtosis(clone[:, 3])) < 0.6 < abs(scipy.stats.kurtosis(x[:, 3]))


# Verdicts -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("nlgp", "localizes"),
        ("ising", "localizes"),
        ("gaussian", "does not localize"),
        ("student", "does not localize"),
    ],
)
def test_known_laws(name, verdict):
    one, zero = drawn(name)
    found = quick(one, contrast=zero)
    assert found.verdict == verdict
    assert quick(one).verdict == verdict  # without class 0, against independent pixels


def test_elliptical_clones_of_what_localizes_do_not():
    clones = _clones.clones(classes("nlgp"), seed=1)
    assert quick(clones.one, contrast=clones.zero).verdict == "does not localize"


def test_the_verdict_does_not_depend_on_scale_order_signs_or_place():
    one, zero = drawn("nlgp")
    base = quick(one, contrast=zero)
    order = np.random.default_rng(0).permutation(N)
    others = {"scale": (1e3 * one, 1e3 * zero), "order": (one[order], zero[order[::-1]]), "signs": (-one, -zero),
              "place": (np.roll(one, 5, axis=1), np.roll(zero, 5, axis=1))}  # fmt: skip
    for what, (a, b) in others.items():
        found = quick(a, contrast=b)
        assert found.verdict == base.verdict, what
        # Single starts differ by 15%, so medians of 32 by 3% and two of these by 5%: three times that.
        assert abs(found.ipr / base.ipr - 1) < 0.15, what
    assert math.isclose(quick(1e3 * one, contrast=1e3 * zero).scale, 1e3 * base.scale, rel_tol=1e-5)


@pytest.mark.slow
def test_networks_trained_on_the_data_agree():
    """Networks of one data set differ by 4% in IPR, four of them and the noise of batches by three times as much."""
    data = classes("nlgp")
    settings = _ends.Settings(8, 50.0, 0)
    found = _ends.ends(data, settings)
    iprs, local = _verify.trained(data, settings, networks=4)
    assert local.all()
    assert found.verdict == "localizes"
    assert abs(np.median(iprs) / found.ipr - 1) < 0.12


def test_networks_that_see_all_samples_at_once_descend_the_gradient():
    """A batch of all 250 samples a class, in whatever order, is gradient descent; float32 leaves 1e-5 of 40 steps."""
    data = classes("nlgp", 250)
    found = _verify.trained_fields(data, _ends.Settings(1, 2.0, 0), networks=2)
    one, zero = data.one.astype(float), data.zero.astype(float)
    for w, end in zip(_flow.starts((PIXELS,), 2, _verify.FIRST_SEED).astype(float), found, strict=True):
        for _ in range(round(2.0 / _flow.RATE)):
            w = w + _flow.RATE * gradient(one, zero, w)
        assert np.allclose(end, w, atol=1e-5)


def test_networks_on_fresh_samples_of_a_law_that_localizes():
    task = lx.Task([LAWS["nlgp"](1.0), LAWS["nlgp"](3.0)], [0, 1])
    assert lx.analysis.localized(_verify.fresh_fields(task, 1.0, _ends.Settings(1, 50.0, 0), networks=2)).all()


def test_second_moments_that_localize_by_themselves_are_no_chance():
    bump = np.exp(-np.square(np.arange(PIXELS) - 8.0) / 2)[None].astype(np.float32)
    n_ipr = float(lx.analysis.concentration(bump)[0])
    assert _ends.Ends(bump, n_ipr + 1, 10, alone=0.7).probability == 0
    assert _ends.Ends(bump, n_ipr + 1, 10, alone=0.9).probability == 1


@pytest.mark.slow
def test_answers_stand_beside_each_other():
    one, zero = drawn("nlgp", 400)
    found = prediction.compared(one, zero, starts=4, horizon=20, networks=2, behind=False)
    assert found["flow_concentration"].shape == (4,)
    assert found["network_gathered"].shape == (2,)
    assert found["kurtosis"] < 0 < found["gap"]
    assert set(prediction.BASELINES) <= set(found)


def test_labels_part_the_classes_and_the_larger_is_1():
    one, zero = drawn("nlgp")
    labels = np.r_[np.full(N, 1), np.full(N, -1)]
    found = quick(np.concatenate([one, zero]), labels)
    assert found.samples == (N, N)
    assert found.verdict == quick(one, contrast=zero).verdict
    assert found.contrast == "your label -1"


@pytest.mark.slow
def test_tori_are_measured_as_tori():
    x = [np.asarray(stimuli.NLGP((8, 10), s, 3.0).sample(jax.random.key(0), 1000)) for s in (1.5, 0.7)]
    found = quick(x[0], contrast=x[1], starts=8)
    assert found.field.shape == (8, 10)
    assert found.fields.shape == (8, 8, 10)
    assert math.isclose(found.ipr, np.median(lx.analysis.ipr(found.fields, ndim=2)), rel_tol=1e-6)


@pytest.mark.parametrize(("probability", "word"), [(0.8, "localizes"), (0.2, "does not localize"), (0.5, "undecided")])
def test_words_for_probabilities(probability, word):
    assert _ends.verdict(probability) == word


def test_what_is_local_must_be_so_beyond_chance():
    bump = np.exp(-np.square(np.arange(PIXELS) - 8.0) / 2)[None].astype(np.float32)
    n_ipr = float(lx.analysis.concentration(bump)[0])
    assert _ends.Ends(bump, n_ipr - 0.1, 10).probability == 1
    assert _ends.Ends(bump, n_ipr + 0.1, 10).probability == 0
    assert _ends.Ends(bump, n_ipr - 0.1, 10).peaks() == {8: 1.0}


# Reasons --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def explained() -> prediction.Prediction:
    return lx.predict(drawn("nlgp")[0] + 0.3)


@pytest.mark.slow
def test_all_is_said(explained):
    text = " ".join(explained.reasons)
    for part in (
        "32 starts",
        "elliptical clones",
        "J =",
        "Learning curve",
        "shuffled within",
        "Without them",
        "kurtosis",
    ):
        assert part in text, part
    assert {check.name for check in explained.checks} == {"S1", "S2", "S3", "A1", "A2"}
    assert {check.name: check.status for check in explained.checks}["S3"] == "violated"
    assert explained.law.samples == (N // 2, N, 2 * N)


def test_texts_json_and_picture(explained):
    assert explained.verdict in str(explained)
    assert "<table>" in explained._repr_html_()
    numbers = json.loads(explained.to_json())
    names = {"verdict", "probability", "ipr", "width", "field", "checks", "reasons"}
    assert names <= set(numbers)
    assert np.allclose(numbers["field"], explained.field)
    assert lx.plot(explained).record.title == f"Prediction: {explained.verdict}"


def test_worth_is_the_identity_of_the_loss():
    """The least loss over heights is 1/2 - J^2/4, found here on a grid of heights."""
    data = classes("gaussian", 400)
    task = lx.Task([stimuli.Empirical(data.zero), stimuli.Empirical(data.one)], [0, 1])
    field = _why.spread_field(data)
    p, q = data.one @ field, data.zero @ field
    losses = [(np.mean((1 - np.maximum(h * p, 0)) ** 2) + np.mean(np.maximum(h * q, 0) ** 2)) / 2
              for h in np.linspace(0, 5 / np.abs(p).max(), 4001)]  # fmt: skip
    assert math.isclose(min(losses), 0.5 - _why.worth(task, field[None]).value ** 2 / 4, rel_tol=1e-5)


def test_growth_rates_of_gaussian_data():
    """Wave k grows at l1_k (r_0 - r_k)/2 on a flat field; errors are from ten groups, so that they are 25% off."""
    one, zero = (np.fft.fft(LAWS["gaussian"](scale).covariance()).real for scale in (3.0, 1.0))
    exact = (one * (zero[0] / one[0] - zero / one) / 2)[1 : PIXELS // 2 + 1]
    rates, errors = _why.growth_rates(classes("gaussian", 40_000))
    assert np.all(np.abs(rates - exact) < 6 * errors)
    assert np.all(errors < 0.1)
    assert _why.threshold(classes("gaussian", 40_000))[0] == rates.max()


@pytest.mark.parametrize("name", ["nlgp", "ising", "gaussian"])
def test_the_band_has_the_amplifier_of_the_law_in_it(name):
    found = _amplifier.band(classes(name))
    exact = theory.amplifier(LAWS[name](3.0).marginal)
    assert np.all(np.abs(found.value - exact(found.correlation)) < 6 * found.error + 1e-3)  # each pixel by its own sd
    assert abs(found.index - exact.index()) < 6 * found.index_error + 1e-3
    x = classes(name).most(_amplifier.MOST).one
    mine = theory.amplifier(stimuli.Empirical((x - x.mean(0)) / x.std(0)))
    assert np.allclose(found.value, mine(found.correlation), atol=1e-6)  # float32 leaves a variance of 1 + 1e-7
    assert math.isclose(found.index, mine.index(), abs_tol=1e-6)


@pytest.mark.slow
def test_the_band_is_as_wide_as_data_sets_differ():
    """Twenty data sets tell a spread to 16%, and twenty groups tell an error to as much."""
    x = drawn("nlgp", 20 * 400)[0].reshape(20, 400, PIXELS)
    found = [_amplifier.band(_classes.Classes(part, part, (PIXELS,), 1.0, "", False)) for part in x]
    error = np.sqrt(np.mean([band.index_error**2 for band in found]))
    assert 0.5 < np.std([band.index for band in found], ddof=1) / error < 2


def test_stationary_samples_have_the_moments_of_all_their_shifts():
    x = np.random.default_rng(0).normal(size=(50, 3, 4))
    shifts = [np.roll(x, (i, j), (1, 2)).reshape(50, -1) for i in range(3) for j in range(4)]
    second = sum(shift.T @ shift for shift in shifts) / (12 * 50)
    law = _beside.Stationary(x)
    assert np.allclose(law.covariance().ravel(), second[0], atol=1e-12)
    assert np.allclose(law.covariance_matrix(), second, atol=1e-12)


@pytest.mark.slow
def test_the_flows_of_the_theory_stand_beside_the_field():
    """Data of an Ising ring: windows should come to the field of the data, the effective flow to a state of Eq. 5."""
    laws = [stimuli.Ising(16, coupling) for coupling in (0.3, 0.7)]
    zero, one = (np.asarray(law.sample(jax.random.key(i), 20_000)) for i, law in enumerate(laws))
    found = lx.predict(one, contrast=zero, flows=True, starts=8)
    effective, windows = found.beside
    assert abs(windows.ipr / found.ipr - 1) < 0.1  # windows are 3% off, and 20,000 samples 5%
    s0, s1 = (_beside.Stationary(x).covariance_matrix() for x in (zero, one))
    a = s1 @ effective.field / math.sqrt(effective.field @ s1 @ effective.field)
    drive, decay = scipy.special.erf(a / np.sqrt(2 * (1 - a**2))) / 2, (s0 + s1) @ effective.field / 2
    assert np.linalg.norm(drive - decay) < 1e-3 * np.linalg.norm(drive)  # a steady state of Eq. 5, by time 400
    assert any("the window flow at" in reason for reason in found.reasons)
    assert len(found.figure().rows[0][0].values) == 3


def test_flows_that_do_not_apply_say_so():
    one, zero = drawn("nlgp", 300)
    ramp = np.linspace(0.5, 2, PIXELS)
    found = lx.predict(ramp * one, contrast=ramp * zero, flows=True, starts=2, horizon=20)
    assert found.beside == ()
    assert any("flows do not apply: S2 must hold" in reason for reason in found.reasons)


def ising_states(size: int, bonds: int) -> np.ndarray:
    """Every state of a ring of spins, as often as ``bonds`` to the power of its pairs of equal neighbours."""
    states = np.array(list(itertools.product((-1.0, 1.0), repeat=size)), np.float32)
    equal = np.sum(states == np.roll(states, 1, axis=1), axis=1)
    return np.repeat(states, bonds**equal, axis=0)


def test_worth_on_all_states_is_that_of_the_law_and_of_the_loss():
    """Weights 2^equal and 3^equal are those of Ising rings of coupling log(2)/2 and log(3)/2, without any error."""
    zero, one = ising_states(7, 2), ising_states(7, 3)
    data = _classes.Classes(one, zero, (7,), 1.0, "", False)
    task = lx.Task([stimuli.Empirical(zero), stimuli.Empirical(one)], [0, 1])
    law = lx.Task([stimuli.Ising(7, math.log(bonds) / 2) for bonds in (2, 3)], [0, 1])
    for field in (_why.spread_field(data), *_why.pixel_fields(data)[:2], np.arange(7.0) - 2.3):
        mine, exact = _why.worth(task, field[None]), theory.objective(law, field[None])
        p, q = one.astype(float) @ field, zero.astype(float) @ field
        height = np.maximum(p, 0).mean() / (np.mean(np.maximum(p, 0) ** 2) + np.mean(np.maximum(q, 0) ** 2))
        loss = (np.mean((1 - np.maximum(height * p, 0)) ** 2) + np.mean(np.maximum(height * q, 0) ** 2)) / 2
        assert math.isclose(loss, 0.5 - mine.value**2 / 4, rel_tol=1e-12)
        assert math.isclose(mine.geary, np.abs(p).mean() / math.sqrt(np.mean(p**2)), rel_tol=1e-12)
        assert math.isclose(mine.ratio, np.mean(q**2) / np.mean(p**2), rel_tol=1e-12)
        for name in ("geary", "ratio", "value"):
            assert math.isclose(getattr(mine, name), float(getattr(exact, name)[0]), rel_tol=1e-12), name


def test_hill_finds_the_exponent_of_a_tail():
    values = np.random.default_rng(0).pareto(3.0, 400_000) + 1
    assert abs(_why.hill(values) / 3 - 1) < 6 / math.sqrt(4000)  # k values give 1/sqrt k
    assert _why.hill(np.ones(1000)) == math.inf


def test_shifted_copies_are_the_samples_moved():
    x = np.arange(24, dtype=np.float32).reshape(2, 12)
    moved = _law._moved(x, (3, 4), np.random.default_rng(0)).reshape(2, 3, 4)
    for sample, before in zip(moved, x.reshape(2, 3, 4), strict=True):
        assert any(np.array_equal(np.roll(before, (i, j), (0, 1)), sample) for i in range(3) for j in range(4))


def test_contrasts_keep_what_they_promise():
    x, rng = drawn("nlgp", 500)[0], np.random.default_rng(0)
    pixels = _classes.independent_pixels(x, rng)
    assert np.array_equal(np.sort(pixels, 0), np.sort(x, 0))
    assert np.abs(np.corrcoef(pixels.T) - np.eye(PIXELS)).max() < 6 / math.sqrt(500)
    assert np.array_equal(np.sort(_classes.shuffled_within(x, rng), 1), np.sort(x, 1))


def test_fewer_samples_than_pixels_get_an_answer_and_a_warning():
    one, zero = drawn("nlgp", 20)
    found = lx.predict(one, contrast=zero, starts=2, horizon=20)
    assert any("fewer samples than the 24 pixels" in reason for reason in found.reasons)
    assert found.checks == ()


# Bad input ------------------------------------------------------------------------------------------------------------

GOOD = np.random.default_rng(0).normal(size=(64, 8))
BAD = {
    "one axis": ((GOOD[0],), "shape (8,)"),
    "channels": ((np.zeros((4, 8, 8, 3)),), "several channels"),
    "texts": ((np.array([["a"] * 8] * 64),), "finite numbers of shape"),
    "objects": ((np.full((64, 8), None),), "finite numbers of shape"),
    "ragged": (([[1, 2], [1]],), "finite numbers of shape"),
    "not finite": ((np.where(np.eye(64, 8), np.nan, GOOD),), "not finite at [0, 0]"),
    "one sample": ((GOOD[:1],), "class 1 has 1 samples"),
    "all equal": ((np.ones((64, 8)),), "all samples are equal"),
    "all zero": ((np.zeros((64, 8)),), "not 0"),
    "a constant pixel": ((GOOD * (np.arange(8) != 3),), "1 pixels never vary, the first is 3"),
    "few pixels": ((GOOD[:, :3],), "at least 4 pixels"),
    "labels of another length": ((GOOD, np.arange(63) % 2), "64 numbers, one per sample"),
    "three labels": ((GOOD, np.arange(64) % 3), "two values"),
    "a small class": ((GOOD, np.arange(64) < 3), "class 1 has 3 samples"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_data_are_refused_in_one_line(name):
    given, text = BAD[name]
    with pytest.raises(SettingError) as error:
        quick(*given)
    assert text in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"contrast": GOOD[:, :5]}, "contrast must be of the samples'"),
        ({"contrast": GOOD, "labels": np.arange(64) % 2}, "give one of them"),
        ({"horizon": 0}, "horizon must be"),
        ({"starts": 0}, "a whole number >= 1"),
    ],
)
def test_bad_options_are_refused_in_one_line(options, text):
    with pytest.raises(SettingError, match=text):
        quick(GOOD, **options)


# Files ----------------------------------------------------------------------------------------------------------------


def write_h5(path, arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array


def write_mat73(path, arrays):
    """As Matlab does since version 7.3: HDF5 behind a head of 512 bytes, axes the other way round."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file[name] = array.T
        file["#refs#/a"] = np.zeros(3)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + bytes([0, 2]) + b"IM")


WRITERS = {
    "x.npy": lambda path: np.save(path, GOOD),
    "x.npz": lambda path: np.savez(path, a=GOOD, b=GOOD[0]),
    "x.h5": lambda path: write_h5(path, {"a": GOOD, "b": GOOD[0]}),
    "x.mat": lambda path: scipy.io.savemat(path, {"a": GOOD, "b": GOOD[0]}),
    "y.mat": lambda path: write_mat73(path, {"a": GOOD, "b": GOOD[0]}),
    "x.csv": lambda path: np.savetxt(path, GOOD, delimiter=",", header="one,two", comments=""),
}


@pytest.mark.parametrize("name", WRITERS)
def test_files_are_read(name, tmp_path):
    WRITERS[name](tmp_path / name)
    several = name not in ("x.npy", "x.csv")
    assert np.allclose(prediction.read_samples(tmp_path / name, array="a" if several else None).samples, GOOD)
    if several:
        with pytest.raises(SettingError, match=r"one of its arrays \(a, b\)"):
            prediction.read_samples(tmp_path / name)


def test_large_files_are_read_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "MOST", 100)
    monkeypatch.setattr(_files, "KEPT", 80)
    monkeypatch.setattr(_files, "RUN", 5)
    np.save(tmp_path / "x.npy", GOOD)
    found = prediction.read_samples(tmp_path / "x.npy")
    assert np.allclose(found.samples, GOOD[found.rows])
    assert found.samples.shape == (10, 8)
    assert "10 were taken at random places, 5 at each" in found.notes[0]


def test_patches_are_no_more_than_fit(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "KEPT", 10 * 16**2)
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (200, 200), np.uint8)).save(tmp_path / "a.png")
    assert prediction.read_samples(tmp_path, patch=16).samples.shape == (10, 16, 16)


def test_images_are_cut_into_patches(tmp_path):
    ramp = np.add.outer(np.arange(32), np.arange(40)).astype(np.uint8)
    Image.fromarray(ramp).save(tmp_path / "a.png")
    Image.fromarray(np.stack([ramp] * 3, -1)).save(tmp_path / "b.tif")
    found = prediction.read_samples(tmp_path, patch=8)
    assert found.samples.shape == (2 * 7 * 9, 8, 8)
    assert np.array_equal(found.samples[0], ramp[:8, :8])
    assert "overlap by half" in found.notes[0]


class Trap:
    """Something that would leave a trace if a pickle of it were opened."""

    def __reduce__(self):
        return os.mkdir, ("opened",)


def cut(whole: Path, name: str, size: int) -> None:
    whole.with_name(name).write_bytes(whole.read_bytes()[:size])


def spoil(folder):
    """Files of every kind that are wrong in every way, and some that are right, beside a folder without images."""
    (folder / "empty").mkdir()
    (folder / "empty" / "readme.txt").write_text("no image")
    arrays = {
        "whole": GOOD, "one_axis": GOOD[0], "channels": np.zeros((20, 4, 4, 3)), "texts": np.full((64, 8), "a"),
        "one": GOOD[:1], "equal": np.ones((64, 8)), "constant": GOOD * (np.arange(8) != 3), "none": np.zeros((0, 8)),
        "nan": np.where(np.eye(64, 8), np.nan, GOOD), "inf": np.where(np.eye(64, 8), 1e300, GOOD),
        "short": np.arange(5), "three": np.arange(64) % 3, "rare": np.arange(64) < 3, "wide": np.ones((64, 9)),
        "complex": GOOD * 1j,
    }  # fmt: skip
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    np.save(folder / "objects.npy", np.array([Trap()] * 64, object), allow_pickle=True)
    np.savez(folder / "objects.npz", a=np.array([Trap()] * 64, object), allow_pickle=True)
    np.savez(folder / "whole.npz", GOOD)
    (folder / "code.pkl").write_bytes(pickle.dumps(Trap()))
    (folder / "code.npy").write_bytes(pickle.dumps(Trap()))
    write_h5(folder / "whole.h5", {"a": GOOD})
    write_h5(folder / "texts.h5", {"a": np.array([b"a", b"b"], object)})
    scipy.io.savemat(folder / "whole.mat", {"a": GOOD})
    for name, size in (("npy", 1000), ("npz", 1000), ("h5", 3000), ("mat", 1000)):
        cut(folder / f"whole.{name}", f"cut.{name}", size)
    for name in ("nothing.npy", "nothing.h5", "nothing.mat", "nothing.csv", "nothing.png", "nothing.npz"):
        (folder / name).write_bytes(b"")
    for name in ("other.h5", "other.mat", "other.csv", "other.png", "other.jpg", "other.tif"):
        (folder / name).write_bytes(b"nothing of that kind")
    (folder / "ragged.csv").write_text("1,2,3,4\n1,2\n")
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(folder / "small.png")
    Image.fromarray(np.zeros((64, 64), np.uint8)).save(folder / "black.png")
    Image.fromarray(np.arange(64**2, dtype=np.uint8).reshape(64, 64)).save(folder / "image.png")
    cut(folder / "image.png", "cut.png", 80)
    spoil_sizes(folder)


def spoil_sizes(folder):
    """Files that are small, and declare what no memory holds; a head that never ends."""
    (folder / "endless.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", 20) + b"{'descr': '<f8', (((")
    with (folder / "long.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (10**9,)})
        file.truncate(file.tell() + 8 * 10**9)  # it takes no disk
    with h5py.File(folder / "chunk.h5", "w") as file:
        file.create_dataset("a", (1024, 2**19), "f4", chunks=(1024, 2**19))
    scipy.io.savemat(folder / "sparse.mat", {"a": scipy.sparse.eye(20).tocsc()})
    scipy.io.savemat(folder / "tag.mat", {"a": GOOD})
    data = (folder / "tag.mat").read_bytes()  # scipy looks the kind of its numbers up in a table
    (folder / "tag.mat").write_bytes(data[:176] + struct.pack("<L", 0x4009) + data[180:])
    parts = struct.pack("<LLLL LLll HHL LL", 6, 8, 6, 0, 5, 8, 2**16, 2**16, 1, 1, 0x61, 1, 0)
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<HH", 0x100, 0x4D49)
    (folder / "large.mat").write_bytes(head + struct.pack("<LL", 14, len(parts)) + parts)


ALONE = (
    "gone.npy", "empty", "one_axis.npy", "channels.npy", "texts.npy", "one.npy", "equal.npy", "constant.npy",
    "none.npy", "nan.npy", "inf.npy", "complex.npy", "objects.npy", "objects.npz", "code.pkl", "code.npy", "texts.h5",
    "cut.npy", "cut.npz", "cut.h5", "cut.mat", "cut.png", "nothing.npy", "nothing.h5", "nothing.mat", "nothing.csv",
    "nothing.png", "nothing.npz", "other.h5", "other.mat", "other.csv", "other.png", "other.jpg", "other.tif",
    "ragged.csv", "small.png", "black.png", "endless.npy", "chunk.h5", "large.mat", "sparse.mat", "tag.mat",
)  # fmt: skip
TOGETHER = (
    ["--labels", "short.npy"], ["--labels", "three.npy"], ["--labels", "rare.npy"], ["--labels", "gone.npy"],
    ["--labels", "objects.npy"], ["--labels", "long.npy"], ["--labels", "empty"], ["--contrast", "gone.npy"],
    ["--contrast", "wide.npy"], ["--contrast", "nan.npy"], ["--contrast", "whole.npy", "--labels", "rare.npy"],
    ["--report", "short.npy"], ["--report", "short.npy/inside"],
)  # fmt: skip


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spoilt")
    spoil(folder)
    return folder


@pytest.mark.parametrize(
    "words", [*([name] for name in ALONE), ["image.png", "--patch", "1"], *(["whole.npy", *more] for more in TOGETHER)]
)
def test_bad_files_are_refused_and_nothing_is_written(words, spoilt):
    before = sorted(spoilt.rglob("*"))
    line = said(localax("predict", *words, *([] if "--report" in words else ["--report", "out"]), folder=spoilt))
    assert len(line) < 300
    assert sorted(spoilt.rglob("*")) == before  # nor was a pickle opened, which would leave a folder


def test_an_enormous_image_is_refused(tmp_path):
    """The head of a PNG says its size; no more of it is needed, or read."""
    head = b"IHDR" + struct.pack(">IIBBBBB", 40_000, 40_000, 8, 0, 0, 0, 0)
    data = b"IDAT" + zlib.compress(b"")
    chunks = [struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in (head, data, b"IEND")]
    (tmp_path / "x.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
    assert "cut it" in said(localax("predict", "x.png", folder=tmp_path))


def test_an_image_is_what_its_name_says(tmp_path):
    """Other kinds of images have parsers of their own, some with a history of flaws: they are not asked."""
    for kind in ("GIF", "BMP", "PPM"):
        Image.fromarray(np.arange(64**2, dtype=np.uint8).reshape(64, 64)).save(tmp_path / "x.png", kind)
        with pytest.raises(SettingError, match=r"x\.png cannot be read as an image"):
            prediction.read_samples(tmp_path / "x.png")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    for name in ("x.npy", "x.csv", "x.png"):
        os.mkfifo(tmp_path / name)
        for read in (prediction.read_samples, prediction.read_labels):
            with pytest.raises(SettingError, match=f"there is no file.*{name}"):
                read(tmp_path / name)
    with pytest.raises(SettingError, match="there is no file"):
        prediction.read_samples(tmp_path)  # as a folder of images


@pytest.mark.parametrize("name", ["a" * 3000, "a\0b.npy", "x.npy/y"])
def test_names_that_no_file_can_have_are_refused_in_one_line(name, tmp_path):
    (tmp_path / "x.npy").touch()
    settings = {"stimulus": {"kind": "Empirical", "samples": str(tmp_path / name)}}
    asked = (prediction.read_samples, prediction.read_labels, lambda _: runner.training_settings(settings).arguments())
    for ask in asked:
        with pytest.raises(SettingError, match="there is no file") as refusal:
            ask(tmp_path / name)
        assert len(str(refusal.value).splitlines()) == 1


def test_a_list_of_arrays_that_never_ends_is_left(tmp_path, monkeypatch):
    """What follows the array of an old .mat file are zeros, each of which is an empty array for whoever reads on."""
    file = tmp_path / "x.mat"
    scipy.io.savemat(file, {"a": np.ones((20, 4))}, format="4")
    assert prediction.read_samples(file).samples.shape == (20, 4)
    os.truncate(file, 2**33)
    monkeypatch.setattr(_files._Counted, "left", 1000)
    for read in (prediction.read_samples, prediction.read_labels):
        with pytest.raises(SettingError, match=r"x.mat must be at most some 10,000 arrays"):
            read(file)


def test_what_a_small_file_unpacks_to_is_known_before(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "READABLE", 8 * GOOD.size - 1)
    scipy.io.savemat(tmp_path / "x.mat", {"a": GOOD}, do_compression=True)
    monkeypatch.setattr(scipy.io, "loadmat", None)
    with pytest.raises(SettingError, match=r"x\.mat holds .* GB; save it as \.npy"):
        prediction.read_samples(tmp_path / "x.mat")
    monkeypatch.setattr(_files, "LABELS", GOOD.size - 1)
    write_h5(tmp_path / "y.h5", {"a": GOOD})
    with pytest.raises(SettingError, match=r"y\.h5 must be at most"):
        prediction.read_labels(tmp_path / "y.h5")


def test_what_is_no_numbers_is_not_opened(tmp_path, monkeypatch):
    scipy.io.savemat(tmp_path / "x.mat", {"a": {"inside": GOOD}})
    monkeypatch.setattr(scipy.io, "loadmat", None)
    with pytest.raises(SettingError, match=r"a full array of numbers, got 'struct'"):
        prediction.read_samples(tmp_path / "x.mat")


@pytest.mark.slow
def test_the_command(tmp_path):
    one, zero = drawn("nlgp")
    np.save(tmp_path / "x.npy", np.concatenate([one, zero]))
    np.save(tmp_path / "y.npy", np.r_[np.ones(N), np.zeros(N)])
    done = localax("predict", "x.npy", "--labels", "y.npy", "--json", "--report", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "localizes"
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "field.npy", "index.html", "prediction.json", "prediction.png", "prediction.svg",
    ]  # fmt: skip
    assert "localizes" in (tmp_path / "out" / "index.html").read_text()


def test_centring_is_taking_the_means_away_by_hand_and_keeps_the_scale_at_one():
    rng = np.random.default_rng(0)
    x, y = (rng.normal(3, spread, (500, 8)).astype(np.float32) for spread in (1.0, 2.0))
    ours = _classes.as_classes(x, None, y, centre=True, seed=0)
    hand = _classes.as_classes(x - x.mean(0), None, y - y.mean(0), centre=False, seed=0)
    assert np.allclose(ours.one, hand.one, atol=1e-5)  # float32
    assert np.allclose(ours.zero, hand.zero, atol=1e-5)
    assert ours.scale == pytest.approx(hand.scale, rel=1e-5)


# What is shown to people ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_example_on_photographs_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["predict_photographs.py", "3000"])
    runpy.run_path(str(ROOT / "examples" / "predict_photographs.py"))
    out = capsys.readouterr().out
    raw, signs = out.split("\nsigns\n")
    assert "44,652 patches of 10 x 10 pixels, from 5 images" in raw
    assert "verdict      does not localize" in raw
    assert "verdict      localizes" in signs
    assert sorted(path.name for path in tmp_path.iterdir()) == ["predict_raw.png", "predict_signs.png"]
