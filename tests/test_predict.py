"""From samples to a verdict: the flow against other ways to the same field, known laws, files, and bad input."""

import json
import math
import struct
import zlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy

import localax as lx
from localax import SettingError, prediction, stimuli
from localax.prediction import _classes, _clones, _ends, _files, _flow, _law, _verify, _why
from test_cli import localax, said

PIXELS, N = 24, 2000
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


def test_the_threshold_of_gaussian_data():
    """Wave k grows at l1_k (r_0 - r_k)/2 on a flat field."""
    data = classes("gaussian", 40_000)
    one, zero = (np.fft.fft(LAWS["gaussian"](scale).covariance()).real for scale in (3.0, 1.0))
    rates = one * (zero[0] / one[0] - zero / one) / 2
    rate, error = _why.threshold(data)
    nearest = np.abs(rates[1 : PIXELS // 2 + 1] - rate).min()
    assert nearest < 6 * error
    assert error < 0.1


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
    import netCDF4

    with netCDF4.Dataset(path, "w") as file:
        for name, array in arrays.items():
            dimensions = [file.createDimension(f"{name}{i}", side).name for i, side in enumerate(array.shape)]
            file.createVariable(name, array.dtype, dimensions)[:] = array


WRITERS = {
    "x.npy": lambda path: np.save(path, GOOD),
    "x.npz": lambda path: np.savez(path, a=GOOD, b=GOOD[0]),
    "x.h5": lambda path: write_h5(path, {"a": GOOD, "b": GOOD[0]}),
    "x.mat": lambda path: scipy.io.savemat(path, {"a": GOOD, "b": GOOD[0]}),
    "x.csv": lambda path: np.savetxt(path, GOOD, delimiter=",", header="one,two", comments=""),
}


@pytest.mark.parametrize("name", WRITERS)
def test_files_are_read(name, tmp_path):
    WRITERS[name](tmp_path / name)
    several = name in ("x.npz", "x.h5", "x.mat")
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


def test_a_file_larger_than_memory_is_no_trouble(tmp_path, monkeypatch):
    """10 GB of zeros that take no disk."""
    monkeypatch.setattr(_files, "KEPT", 3_200_000)
    with (tmp_path / "x.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (50_000_000, 50)})
        file.truncate(file.tell() + 10_000_000_000)
    found = prediction.read_samples(tmp_path / "x.npy")
    assert found.samples.nbytes == 4 * _files.KEPT


def test_images_are_cut_into_patches(tmp_path):
    from PIL import Image

    ramp = np.add.outer(np.arange(32), np.arange(40)).astype(np.uint8)
    Image.fromarray(ramp).save(tmp_path / "a.png")
    Image.fromarray(np.stack([ramp] * 3, -1)).save(tmp_path / "b.tif")
    found = prediction.read_samples(tmp_path, patch=8)
    assert found.samples.shape == (2 * 7 * 9, 8, 8)
    assert np.array_equal(found.samples[0], ramp[:8, :8])
    assert "overlap by half" in found.notes[0]


def spoil(folder):
    (folder / "empty").mkdir()
    np.save(folder / "objects.npy", np.array([{}], object), allow_pickle=True)
    np.save(folder / "whole.npy", GOOD)
    (folder / "cut.npy").write_bytes((folder / "whole.npy").read_bytes()[:1000])
    np.savez(folder / "whole.npz", GOOD)
    (folder / "cut.npz").write_bytes((folder / "whole.npz").read_bytes()[:1000])
    for name in ("none.npy", "cut.h5", "cut.mat", "cut.csv", "cut.png", "code.pkl"):
        (folder / name).write_bytes(b"nothing of that kind" if name != "none.npy" else b"")
    np.save(folder / "labels.npy", np.arange(5))


@pytest.mark.parametrize(
    "words",
    [
        ["gone.npy"], ["empty"], ["objects.npy"], ["cut.npy"], ["cut.npz"], ["none.npy"], ["cut.h5"], ["cut.mat"],
        ["cut.csv"], ["cut.png"], ["code.pkl"], ["whole.npy", "--labels", "labels.npy"],
        ["whole.npy", "--contrast", "gone.npy"], ["whole.npy", "--report", "labels.npy"],
    ],
)  # fmt: skip
def test_bad_files_are_refused_and_nothing_is_written(words, tmp_path):
    spoil(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    said(localax("predict", *words, folder=tmp_path))
    assert sorted(tmp_path.rglob("*")) == before


def test_an_enormous_image_is_refused(tmp_path):
    """The head of a PNG says its size; no more of it is needed, or read."""
    head = b"IHDR" + struct.pack(">IIBBBBB", 40_000, 40_000, 8, 0, 0, 0, 0)
    data = b"IDAT" + zlib.compress(b"")
    chunks = [struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in (head, data, b"IEND")]
    (tmp_path / "x.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
    assert "cut it" in said(localax("predict", "x.png", folder=tmp_path))


def test_the_command(tmp_path):
    one, zero = drawn("nlgp")
    np.save(tmp_path / "x.npy", np.concatenate([one, zero]))
    np.save(tmp_path / "y.npy", np.r_[np.ones(N), np.zeros(N)])
    done = localax("predict", "x.npy", "--labels", "y.npy", "--json", "--report", "out", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "localizes"
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "field.npy", "index.html", "prediction.json", "prediction.svg",
    ]  # fmt: skip
    assert "localizes" in (tmp_path / "out" / "index.html").read_text()
