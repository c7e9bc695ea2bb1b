"""Data of one's own in the lab: a prediction, a stimulus to train on, or one line that says why not."""

import asyncio
import contextlib
import io
import itertools
import pickle
import shlex
from pathlib import Path

import jax
import numpy as np
import pytest

import localax as lx
from lab import SMALL, events, made_by, npy, run_file, same_bits, started
from localax import runner, stimuli
from localax.spec import description
from localax.web import _own
from localax.web._limits import LIMITS
from localax.web._numbers import unpacked
from localax.web._own import OwnData


def _brought(server, files):
    """The end of a job that keeps files."""
    answer = server.post("/api/data", files=files)
    assert answer.status_code == 202, answer.text
    job = answer.json()["id"]
    return [data for event, data in events(server, f"/api/jobs/{job}/events") if event == "end"][-1]


@pytest.fixture(scope="module")
def mine(server):
    """Data that the server keeps: bytes of the samples and of their labels, and what it calls them."""
    rng = np.random.default_rng(1)
    labels = np.arange(600) % 2
    array = np.where(labels[:, None] > 0, np.repeat(rng.normal(size=(600, 4)), 3, 1), rng.normal(size=(600, 12)))
    files = {"samples": npy(array), "labels": npy(labels)}
    end = _brought(server, {"samples": ("my data.npy", files["samples"]), "labels": ("y.npy", files["labels"])})
    assert end["status"] == "done", end["message"]
    return files, end["result"]


def test_own_data_are_looked_at(server, mine):
    files, kept = mine
    assert kept["stimulus"]["samples"].endswith("/my data.npy")
    assert (kept["batch"], kept["rate"] <= 0.05) == (600, True)
    found = server.post("/api/stimulus", json={"settings": {"stimulus": kept["stimulus"]}}).json()
    array, labels = (np.load(io.BytesIO(files[name])) for name in ("samples", "labels"))
    unit = np.sqrt(np.mean([np.mean(array[labels == y] ** 2) for y in (0, 1)]))
    for y, one in enumerate(found["classes"]):
        assert one["name"] == f"label {y}"
        centred = array[labels == y] / unit
        row = np.cov(centred.T, bias=True)[6]
        assert np.allclose(unpacked(one["covariance"]), np.roll(row, -6), atol=1e-5)
        assert one["marginal"]["variance"] == pytest.approx(centred.var(), rel=1e-5)
    assert "No threshold is known here" in found["threshold"]["sentence"]  # places differ: blocks do not overlap
    drawn = server.post("/api/samples", json={"settings": {"stimulus": kept["stimulus"]}}).json()
    assert unpacked(drawn["samples"][0]).shape == (4, 12)
    assert server.get(f"/api/data/{kept['stimulus']['samples']}").status_code == 200


@pytest.mark.slow
def test_own_data_are_trained_on_and_their_own_files_make_the_same_bits(server, mine, tmp_path):
    files, kept = mine
    settings = {**SMALL, "stimulus": kept["stimulus"], "batch": 100}
    run = started(server, settings)
    told = list(events(server, f"{run}/events"))
    assert told[-1][1]["status"] == "done", told[-1][1]["message"]
    assert told[-1][1]["settings"]["stimulus"] == kept["stimulus"]
    assert {data["flow"] for name, data in told if name == "theory" and "missing" not in data} >= {"effective_flow"}
    (tmp_path / "my data.npy").write_bytes(files["samples"])
    (tmp_path / "y.npy").write_bytes(files["labels"])
    trajectory = run_file(server, run)
    lines = server.get(f"{run}/python").text
    assert "read_stimuli('my data.npy', 'y.npy')" in lines
    assert same_bits(made_by(lines, tmp_path), trajectory)
    made = runner.typed_training(None, {}, [], _set_pairs(server.get(f"{run}/command").text, tmp_path))
    exported = runner.training_unit(made).plan.settings["task"]
    places = {}
    with contextlib.chdir(tmp_path):
        exec(lines.partition("network =")[0], places)
    assert exported["stimuli"] == description(places["task"])["stimuli"]


def _set_pairs(command, folder):
    """The pairs of a command line with files in a folder."""
    words = shlex.split(command)
    pairs = [f"stimulus.kind={words[words.index('--stimulus') + 1]}"]
    pairs += [pair for flag, pair in itertools.pairwise(words) if flag == "--set"]
    return [pair.replace("=my", f"={folder}/my").replace("=y", f"={folder}/y") for pair in pairs]


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("data.npy", npy(np.array([{"a": 1}], object), allow_pickle=True), "cannot be read"),
        ("data.npy", b"rubbish", "cannot be read"),
        ("data.npy", npy(np.full((100, 8), np.nan)), "not finite"),
        ("data.npy", npy(np.ones((1, 8))), "1 samples"),
        ("data.npy", npy(np.ones((100, 8))), "equal"),
        ("data.npy", npy(np.zeros((100, 100, 100), np.uint8)), "pixels"),
        ("data.npy", npy(np.zeros((100_000, 100), np.uint8)), "numbers"),
    ],
)
def test_data_that_cannot_be_trained_on_are_refused_in_one_line(server, name, content, word):
    end = _brought(server, {"samples": (name, content)})
    assert end["status"] == "failed"
    assert word in end["message"]
    assert "\n" not in end["message"]
    assert "mistake of ours" not in end["message"]


@pytest.mark.parametrize(
    "stimulus",
    [
        {"kind": "Empirical", "samples": "/etc/passwd"},
        {"kind": "empir", "samples": "../../etc/passwd"},
        {"kind": "NLGP", "classes": "/etc/passwd"},
        {"kind": "Empirical", "samples": "0123456789abcdef/mine.npy"},
        {"kind": "Affine", "stimulus": {"kind": "Empirical", "samples": "/etc/passwd"}},
        {"kind": "Empirical", "samples": ["/etc/passwd"]},
    ],
)
def test_no_file_is_found_but_by_what_the_server_calls_it(server, stimulus):
    for path in ("/api/stimulus", "/api/samples", "/api/threshold", "/api/python", "/api/command", "/api/runs"):
        answer = server.post(path, json={"settings": {"stimulus": stimulus}})
        assert answer.status_code in (400, 404), path
        assert "\n" not in answer.json()["error"]
        assert "root:" not in answer.text


def test_what_was_forgotten_is_to_be_dropped_again(server):
    gone = {"kind": "Empirical", "samples": "0123456789abcdef/mine.npy"}
    answer = server.post("/api/stimulus", json={"settings": {"stimulus": gone}})
    assert answer.json()["error"] == "mine.npy is no longer on the server: drop it again at Own data"


def test_only_so_many_data_are_kept_and_none_that_is_old_unless_a_run_needs_it(tmp_path, monkeypatch):
    async def life():
        own = OwnData()
        for i in range(LIMITS["files"] + 3):
            (tmp_path / f"{i:02}").mkdir()
            own.add(tmp_path / f"{i:02}", {"samples": "x.npy", "classes": ""})
        own.forget({"00"})
        many = list(own.kept)
        monkeypatch.setattr(_own, "HELD", -1.0)
        own.forget({"00"})
        return many, list(own.kept)

    many, old = asyncio.run(life())
    assert len(many) <= LIMITS["files"] + 1
    assert old == ["00"]
    assert [folder.name for folder in tmp_path.iterdir()] == ["00"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.npy", npy(np.array([{"a": 1}], object), allow_pickle=True)),
        ("data.pkl", pickle.dumps([1, 2])),
        ("data.npy", b"rubbish"),
        ("../../x.npz", b"PK\x03\x04"),
        ("data", b""),
    ],
)
def test_rubbish_is_refused_in_one_line_and_nothing_is_kept(server, name, content):
    job = server.post("/api/predict", files={"samples": (name, content)}).json()
    assert "id" in job, job
    end = [data for event, data in events(server, f"/api/jobs/{job['id']}/events") if event == "end"][-1]
    assert end["status"] == "failed"
    assert "\n" not in end["message"]
    assert "mistake of ours" not in end["message"]
    assert Path(name).name in end["message"] or Path(name).suffix in end["message"]


def test_an_upload_without_samples_is_refused(server):
    assert server.post("/api/predict", files={"other": ("x.npy", b"")}).status_code == 400
    assert server.post("/api/predict", json={}).status_code == 422
    for path in ("/api/predict", "/api/data"):
        for headers in ("multipart/form-data; boundary=x", "multipart/form-data"):
            refused = server.post(path, content=b"no such thing", headers={"content-type": headers})
            assert refused.status_code == 422
            assert refused.json()["error"].startswith("the upload cannot be read: ")


@pytest.mark.slow
def test_data_of_ones_own_get_a_prediction(server):
    law = stimuli.NLGP(16, 1.5, 100)
    samples = np.asarray(law.sample(jax.random.key(0), 2000))
    job = server.post("/api/predict", files={"samples": ("mine.npy", npy(samples))}).json()
    end = [data for event, data in events(server, f"/api/jobs/{job['id']}/events") if event == "end"][-1]
    assert end["status"] == "done", end["message"]
    direct = lx.predict(samples, explain=False)
    assert end["result"]["prediction"]["verdict"] == direct.verdict
    assert end["result"]["prediction"]["probability"] == pytest.approx(direct.probability)
    assert end["result"]["figures"][0]["svg"].startswith("data:image/svg+xml;base64,")
