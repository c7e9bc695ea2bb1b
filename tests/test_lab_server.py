"""The lab's server: what it offers, whom it lets in, and that what it trains is what `lx.train` trains."""

import asyncio
import contextlib
import io
import itertools
import json
import os
import pickle
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import equinox as eqx
import httpx
import jax
import numpy as np
import pytest
from starlette.responses import PlainTextResponse

import localax as lx
from localax import experiments, runner, stimuli, theory
from localax._errors import SettingError
from localax.outcome import Fields, Figure, Outcome
from localax.spec import Setting, description
from localax.store import Store
from localax.web import _own
from localax.web._events import Events
from localax.web._export import command_line, python_lines
from localax.web._forms import forms, kinds
from localax.web._guard import Door, Guard
from localax.web._jobs import Job
from localax.web._lab import Lab
from localax.web._limits import LIMITS, lab_settings
from localax.web._numbers import listed, packed, unpacked
from localax.web._own import OwnData
from localax.web._presets import SETTINGS, preset_settings
from localax.web._stimulus import far_threshold, preview, samples


def _npy(array, **how):
    out = io.BytesIO()
    np.save(out, array, **how)
    return out.getvalue()


NLGP = {"kind": "NLGP", "size": 12, "lengthscale": [0.5, 1.5], "gain": 3}
SMALL = {"stimulus": NLGP, "steps": 60, "batch": 500, "seeds": 2, "probe": 20}
LONG = {**SMALL, "steps": 200_000, "save_every": 400}
"""Goes on until it is stopped, and compiles what SMALL compiles."""
FIGURE = Figure("A figure", ((Fields("fields", np.eye(4)),),), caption="Four fields.")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with one outcome, as `localax reproduce kurtosis` would leave it."""
    root = tmp_path_factory.mktemp("store")
    unit = runner.experiment_units("kurtosis")[0]
    outcome = Outcome("A title", r"Words, and $x^2$.", (FIGURE,), name="kurtosis", chapter="paper")
    Store(root).save(unit.identity, {"outcome.npz": outcome.to_bytes()}, kind=unit.kind, title=unit.title)
    return root


@pytest.fixture(scope="module")
def server(store):
    """The real command in a process of its own; at the end Ctrl-C must leave nothing behind."""
    words = [sys.executable, "-m", "localax", "lab", "--port", "0", "--no-browser", "--store", str(store)]
    log = store.with_name("log")
    with log.open("w") as said:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=said, text=True, start_new_session=True)
    address = process.stdout.readline().split()[-1]
    with httpx.Client(base_url=address, timeout=120) as client:
        for _ in range(100):
            with contextlib.suppress(httpx.ConnectError):
                client.get("/favicon.ico")
                break
            time.sleep(0.2)
        client.process, client.log = process, log
        yield client
        left = _children(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    process.stdout.close()
    assert not any(Path(f"/proc/{child}").exists() for child in left)


def _children(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, rest = stat.parent.name, stat.read_text().rpartition(")")[2].split()
            found += [int(name)] if int(rest[1]) == parent else []
    return found


def _events(client, address, *, seconds=120, **headers):
    """Events of a stream as pairs of name and data, to its end."""
    with client.stream("GET", address, headers=headers, timeout=seconds) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        name = None
        for line in answer.iter_lines():
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                yield name, json.loads(line[6:])


def _started(client, settings):
    answer = client.post("/api/runs", json={"settings": settings})
    assert answer.status_code == 201, answer.text
    return f"/api/runs/{answer.json()['id']}"


def _reached(stream, status):
    """Read a stream up to a status, which is given."""
    return next(data for name, data in stream if name in ("status", "end") and data["status"] in (status, "failed"))


def _stopped(client, run):
    client.post(f"{run}/stop", json={})
    return _reached(_events(client, f"{run}/events"), "stopped")


# What is offered ------------------------------------------------------------------------------------------------------


def test_every_ready_form_builds_what_it_offers():
    offered = forms()
    assert [kind["kind"] for kind in offered["stimuli"]] == [cls.__name__ for cls in stimuli.ALL]
    for kind in offered["stimuli"]:
        settings = {"kind": kind["kind"], **{field["name"]: field["default"] for field in kind["fields"]}}
        if any(field["type"] == "file" for field in kind["fields"]):
            with pytest.raises(SettingError, match="samples must be a file"):
                runner.task_of(settings, None, None)
        elif kind["ready"]:
            classes = runner.task_of(settings, None, None).stimuli
            assert not eqx.tree_equal(*classes), f"the classes of {kind['kind']} are the same"
        else:
            assert "arrays" in kind["note"]
    json.dumps(offered, allow_nan=False)


def test_a_class_of_ones_own_gets_a_form_by_its_annotations():
    class Mine(eqx.Module):
        """A law of one's own."""

        depth: Annotated[float, Setting("how deep", gt=0, le=9, typical=(1, 2))]
        shade: Annotated[str, Setting("how dark", kind=str, choices=("dim", "dark"))] = "dim"

    (kind,) = kinds([Mine])
    depth, shade = kind["fields"]
    assert (kind["kind"], kind["meaning"], kind["ready"]) == ("Mine", "A law of one's own.", True)
    assert (depth["type"], depth["min"], depth["max"], depth["highest"]) == ("number", 1, 2, 9)
    assert (shade["type"], shade["choices"], shade["default"]) == ("choice", ["dim", "dark"], "dim")


def test_packed_arrays_come_back():
    array = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    assert np.array_equal(unpacked(packed(array)), array)
    assert listed([1.23456789, np.nan, [np.inf, 2]], 3) == [1.23, None, [None, 2]]


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"steps": 0}, "steps"), ({"steps": 10**7}, "steps"), ({"seeds": [0, 1]}, "seeds"), ({"rate": -1}, "rate"),
        ({"rate": None}, "rate"), ({"batch": 10**6}, "batch"), ({"stimulus": {**NLGP, "size": 5000}}, "pixels"),
        ({"stimulus": {**NLGP, "gain": "high"}}, "gain"), ({"network": {"kind": "TwoLayer", "units": 65}}, "units"),
        ({"stimulus": {**NLGP, "lengthscale": [1] * 9}}, "classes"), ({"save_every": [1, 2]}, "save_every"),
        ({"stimulus": "Empirical"}, "samples"), ({"stimulus": {"kind": "Empirical", "sample": "x"}}, "sample"),
        ({"network": "nothing"}, "network"), ({"wrong": 1}, "wrong"),
        ({"steps": 5000, "save_every": 1}, "records"), ({"probe": 10**6}, "probe"), ([], "settings"),
    ],
)  # fmt: skip
def test_settings_that_are_wrong_or_too_large_are_refused_in_one_line(settings, word):
    with pytest.raises(SettingError, match=word) as refused:
        lab_settings(settings)
    assert "\n" not in str(refused.value)


# The stimulus ---------------------------------------------------------------------------------------------------------


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
    # 2^17 numbers that hang together over some twenty pixels are worth six thousand: six standard errors
    room = 6 * np.sqrt((law.marginal.excess_kurtosis() + 2) / 6000)
    assert sketch.marginal.variance() == pytest.approx(law.marginal.variance(), rel=room)


def test_a_filter_that_takes_the_flat_wave_away_leaves_no_threshold():
    balanced = {"kind": "Filtered", "stimulus": NLGP, "kernel": {"kind": "CentreSurround"}}
    found = preview(lab_settings({"stimulus": balanced}))["threshold"]
    assert found["side"] == "unknown"
    assert "flat field can see" in found["sentence"]


@pytest.mark.slow
def test_the_threshold_is_where_theory_has_it():
    critical = float(theory.critical_gain(0.5, 1.5, 12))
    for gain, side, sign in ((0.9 * critical, "spread", -1), (1.1 * critical, "localized", 1)):
        found = preview(lab_settings({"stimulus": {**NLGP, "gain": gain}}))["threshold"]
        assert (found["side"], np.sign(found["rate"]), np.sign(found["relative"])) == (side, sign, sign)
    far = far_threshold(lab_settings({"stimulus": NLGP}))
    assert far["critical"][0]["critical"] == pytest.approx(critical, rel=1e-4)
    assert far["exact"]["rate"] > 0


def test_a_preview_without_a_threshold_says_so():
    found = preview(lab_settings({"stimulus": {"kind": "Window", "stimulus": NLGP, "size": 6}}))
    assert found["threshold"]["side"] == "unknown"
    assert found["threshold"]["sentence"].startswith("No threshold is known here")


# Who is let in --------------------------------------------------------------------------------------------------------


async def _echo(scope, receive, send):
    body = b""
    while scope["type"] == "http":
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await PlainTextResponse(f"{len(body)}")(scope, receive, send)


def _asked(door, method, path, *, name="127.0.0.1", app=_echo, **how):
    """What a guard that keeps a door answers."""

    async def asked():
        way = httpx.ASGITransport(Guard(app, door))
        async with httpx.AsyncClient(transport=way, base_url=f"http://{name}") as client:
            return await client.request(method, path, **how)

    return asyncio.run(asked())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200), ({"host": "localhost:81"}, 200), ({"host": "[::1]:81"}, 200), ({"host": "evil.example"}, 403),
        ({"host": ""}, 403), ({"origin": "http://127.0.0.1"}, 200), ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403), ({"host": "["}, 403), ({"origin": "http://["}, 403),
        ({"sec-fetch-site": "cross-site"}, 403), ({"sec-fetch-site": "same-origin"}, 200),
    ],
)  # fmt: skip
def test_only_the_own_page_may_ask(headers, status):
    for method in ("GET", "POST"):
        answer = _asked(Door("127.0.0.1", 80), method, "/api/runs", headers=headers)
        assert answer.status_code == status
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'self'" in answer.headers["content-security-policy"]


def test_from_other_machines_the_token_is_asked_for_once():
    door = Door.at("0.0.0.0", 80)

    def status(path, **headers):
        return _asked(door, "GET", path, name="lab.example", headers=headers).status_code

    assert [status("/"), status("/?token=guess"), status(f"/api/runs?token={door.token}")] == [403] * 3
    welcome = _asked(door, "GET", f"/?token={door.token}", name="lab.example")
    assert (welcome.status_code, welcome.headers["location"]) == (303, "/")
    cookie, *rest = welcome.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=strict"} <= set(rest)
    assert status("/api/runs", cookie=cookie) == 200
    assert status("/api/runs", cookie=cookie[:-1]) == 403
    assert status("/api/runs", cookie=cookie, origin="http://evil.example") == 403
    assert Door.at("127.0.0.1", 80).token is None
    assert door.token in door.address


def test_a_mistake_of_ours_says_where_and_no_more(capfd):
    async def wrong(*_):
        raise KeyError("/home/me/secret.npy")

    answer = _asked(Door("127.0.0.1", 80), "GET", "/api/runs", app=wrong)
    assert answer.status_code == 500
    assert answer.json() == {"error": "a mistake of ours, sorry; the lab's terminal says where"}
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert re.fullmatch(
        r"localax: lab: a mistake of ours: KeyError in test_lab_server\.py, line \d+\n", capfd.readouterr().err
    )


def test_what_is_sent_is_limited():
    door, most = Door("127.0.0.1", 80), LIMITS["body"]

    async def pieces():  # without a length said before
        for _ in range(most // 1000 + 1):
            yield b"x" * 1000

    assert _asked(door, "POST", "/api/runs", content=b"x" * most).text == str(most)
    assert _asked(door, "POST", "/api/runs", content=b"x" * (most + 1)).status_code == 413
    assert _asked(door, "POST", "/api/runs", content=pieces()).status_code == 413
    for length in (str(10**12), "9" * 5000, b"\xb2"):
        assert _asked(door, "POST", "/api/predict", headers={"content-length": length}).status_code == 413


# Events ---------------------------------------------------------------------------------------------------------------


def test_who_comes_late_or_again_misses_nothing():
    async def life():
        events = Events()
        events.tell("a", 1)
        early = events.follow()
        assert await anext(early) == b"retry: 1000\n\n"
        first = await anext(early)
        events.tell("b", {"x": None}, last=True)
        events.tell("c", "too late")
        rest = b"".join([part async for part in early])
        late = b"".join([part async for part in events.follow()])
        again = b"".join([part async for part in events.follow(0)])
        return first, rest, late, again

    first, rest, late, again = asyncio.run(life())
    assert first == b"id: 0\nevent: a\ndata: 1\n\n"
    assert rest == b'id: 1\nevent: b\ndata: {"x":null}\n\n'
    assert late.endswith(first + rest)
    assert again.endswith(rest)
    assert first not in again


def test_twenty_clients_of_two_runs_each_get_every_frame_in_order():
    frames, clients = 50, 20

    async def life():
        runs = [Events(), Events()]
        watching = [asyncio.create_task(_heard(runs[i % 2])) for i in range(clients)]
        for step in range(frames):
            for run in runs:
                run.tell("frame", step, last=step == frames - 1)
            await asyncio.sleep(0)
        heard = await asyncio.gather(*watching)
        return heard, [run.watchers for run in runs]

    async def _heard(run):
        text = b"".join([part async for part in run.follow()]).decode()
        return [int(line[6:]) for line in text.splitlines() if line.startswith("data: ")]

    heard, left = asyncio.run(life())
    assert heard == [list(range(frames))] * clients
    assert left == [0, 0]


# Data of one's own ----------------------------------------------------------------------------------------------------


def _brought(server, files):
    """The end of a job that keeps files."""
    answer = server.post("/api/data", files=files)
    assert answer.status_code == 202, answer.text
    job = answer.json()["id"]
    return [data for event, data in _events(server, f"/api/jobs/{job}/events") if event == "end"][-1]


@pytest.fixture(scope="module")
def mine(server):
    """Data that the server keeps: bytes of the samples and of their labels, and what it calls them."""
    rng = np.random.default_rng(1)
    labels = np.arange(600) % 2
    array = np.where(labels[:, None] > 0, np.repeat(rng.normal(size=(600, 4)), 3, 1), rng.normal(size=(600, 12)))
    files = {"samples": _npy(array), "labels": _npy(labels)}
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
    run = _started(server, settings)
    told = list(_events(server, f"{run}/events"))
    assert told[-1][1]["status"] == "done", told[-1][1]["message"]
    assert told[-1][1]["settings"]["stimulus"] == kept["stimulus"]
    assert {data["flow"] for name, data in told if name == "theory" and "missing" not in data} >= {"effective_flow"}
    (tmp_path / "my data.npy").write_bytes(files["samples"])
    (tmp_path / "y.npy").write_bytes(files["labels"])
    trajectory = _file(server, run)
    lines = server.get(f"{run}/python").text
    assert "read_stimuli('my data.npy', 'y.npy')" in lines
    assert _same_bits(_made_by(lines, tmp_path), trajectory)
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
        ("data.npy", _npy(np.array([{"a": 1}], object), allow_pickle=True), "cannot be read"),
        ("data.npy", b"rubbish", "cannot be read"),
        ("data.npy", _npy(np.full((100, 8), np.nan)), "not finite"),
        ("data.npy", _npy(np.ones((1, 8))), "1 samples"),
        ("data.npy", _npy(np.ones((100, 8))), "equal"),
        ("data.npy", _npy(np.zeros((100, 100, 100), np.uint8)), "pixels"),
        ("data.npy", _npy(np.zeros((100_000, 100), np.uint8)), "numbers"),
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


def test_what_the_lab_keeps_is_bounded_after_many_runs(store):
    """Works, files, events and tasks after many runs whose tabs are closed; counted, as memory would be by chance."""

    class Short(Job):
        async def perform(self):
            self.file = self.lab.folder / f"{self.id}.npz"
            self.file.write_bytes(b"x")
            self.events.tell("frame", "x" * 1000)
            self.status = "done"
            self.events.tell("end", self.state(), last=True)

        def discard(self):
            self.file.unlink()

    async def life():
        lab = Lab(store)
        monkey = pytest.MonkeyPatch()
        monkey.setattr(Lab, "_warm", lambda _: asyncio.sleep(0))
        Short.lab = lab
        async with lab.open():
            for _ in range(20 * LIMITS["kept"]):
                job = lab._begin(Short({}, lab.jobbers))
                assert [part async for part in job.events.follow()]
                lab._forget()
            await asyncio.sleep(0.05)
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            kept = len(lab.works), len(list(lab.folder.glob("*.npz"))), sum(w.events.size for w in lab.works.values())
        monkey.undo()
        return kept, len(tasks)

    (works, files, size), tasks = asyncio.run(life())
    assert works == files <= LIMITS["kept"]
    assert size < LIMITS["kept"] * 2000
    assert tasks == 1  # the one that looks after them all


# The real server ------------------------------------------------------------------------------------------------------


def test_the_page_and_what_it_needs(server):
    answer = server.get("/plotly.min.js")
    assert answer.status_code == 200
    assert "javascript" in answer.headers["content-type"]
    assert server.get("/api/nothing").json() == {"error": "Not Found", "where": None}
    found = server.get("/api/catalogue").json()
    assert found["limits"] == LIMITS
    assert {"ipr", "geary", "objective", "effective_flow"} <= set(found["glossary"])
    assert found["glossary"]["ipr"]["mathml"].startswith("<math")
    assert [preset["name"] for preset in found["presets"]] == list(experiments.ALL)
    assert [preset["name"] for preset in found["presets"] if preset["stored"]] == ["kurtosis"]


@pytest.mark.parametrize(
    "path", ["/static/../_app.py", "/static/%2e%2e/_app.py", "/static/..%2f_app.py", "/static//etc/passwd"]
)
def test_nothing_outside_is_served(server, path):
    host, port = server.base_url.host, server.base_url.port
    with socket.create_connection((host, port), 10) as line:  # a client of ours would tidy the path up
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: line.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 404")


def test_questions_that_are_wrong_get_one_line(server):
    wrong = server.post("/api/runs", json={"settings": {"rate": -1}})
    assert (wrong.status_code, wrong.json()["where"]) == (400, "rate")
    assert server.post("/api/runs", content="settings=1").status_code == 422
    headers = {"content-type": "application/json"}
    assert server.post("/api/stimulus", content="{", headers=headers).status_code == 422
    assert server.post("/api/stimulus", content="[" * 60_000, headers=headers).status_code == 422
    assert server.post("/api/stimulus", json=[1]).status_code == 422
    assert server.get("/api/runs/unknown").status_code == 404
    assert server.get("/api/jobs/unknown/events").status_code == 404
    assert server.post("/api/runs", json={}, headers={"host": "evil.example"}).status_code == 403
    assert server.get("/api/report?preset=other").status_code == 400
    assert server.get("/api/report/nothing/0.svg").status_code == 404
    assert server.post("/api/reproduce/nothing", json={}).status_code == 400


@pytest.fixture(scope="module")
def finished(server):
    """A run that came to its end, with all that was told of it."""
    run = _started(server, SMALL)
    return run, list(_events(server, f"{run}/events"))


def _file(client, run):
    return lx.load(client.get(f"{run}/file").content)


def test_a_run_is_told_from_its_start_to_its_end(server, finished):
    run, told = finished
    frames = [data for name, data in told if name == "frame"]
    assert told[-1][0] == "end"
    assert told[-1][1]["status"] == "done"
    assert [frames[0]["step"], frames[-1]["step"]] == [0, 60]
    assert len(frames) > 2
    trajectory = _file(server, run)
    assert np.array_equal(unpacked(frames[-1]["fields"]), trajectory.final[:, 0])
    assert frames[-1]["loss"] == pytest.approx(trajectory.loss[:, -1].tolist(), rel=1e-5)
    assert frames[-1]["ipr"] == pytest.approx(lx.analysis.ipr(trajectory.final[:, 0]).tolist(), rel=1e-5)
    value, geary, ratio = (np.array(frames[-1][name]) for name in ("objective", "geary", "ratio"))
    assert np.allclose(value, geary / np.sqrt(1 + ratio), atol=1e-4)  # F17
    reading = [data for name, data in told if name == "reading"][-1]
    assert all(reading[name].endswith(".") for name in ("predicted", "happened", "why"))


def test_theory_begins_where_training_does(finished):
    _, told = finished
    start = unpacked(next(data for name, data in told if name == "frame")["fields"])
    flows = {data["flow"]: data for name, data in told if name == "theory"}
    assert set(flows) == {"effective_flow", "exact_flow", "window_flow"}
    assert "no exact flow" in flows["exact_flow"]["missing"]
    settings = lab_settings(SMALL)
    for name in ("effective_flow", "window_flow"):
        fields = unpacked(flows[name]["fields"])
        assert np.array_equal(fields[:, 0], start)
        assert [flows[name]["time"][0], flows[name]["time"][-1]] == [0, settings.steps * settings.rate]
    points = next(data for name, data in told if name == "landscape")["points"]
    assert {"flat", "local"} <= {point["name"] for point in points}


def _made_by(lines, folder):
    sources = {
        **os.environ,
        "PYTHONPATH": str(Path(lx.__file__).parents[1]),
    }  # a relative one would mean another folder
    subprocess.run([sys.executable, "-c", lines], cwd=folder, env=sources, check=True, capture_output=True)
    return lx.load(folder / "run.npz")


def _same_bits(one, other):
    return all(
        np.array_equal(a, b, equal_nan=True)
        for a, b in ((one.time, other.time), (one.weights, other.weights), (one.loss, other.loss))
    )


@pytest.mark.slow
def test_the_lines_taken_away_make_the_same_bits(server, finished, tmp_path):
    run, _ = finished
    trajectory = _file(server, run)
    assert _same_bits(_made_by(server.get(f"{run}/python").text, tmp_path), trajectory)
    command = server.get(f"{run}/command").text.replace("localax train", f"{sys.executable} -m localax train")
    subprocess.run(f"{command.strip()} --store {tmp_path}", shell=True, check=True, capture_output=True)
    (stored,) = Store(tmp_path).runs()
    assert _same_bits(Store(tmp_path).load(stored.name), trajectory)


@pytest.mark.slow
def test_the_rate_changes_on_the_way(server, tmp_path):
    run = _started(server, LONG)
    stream = _events(server, f"{run}/events")
    next(data for name, data in stream if name == "frame" and data["step"] > 0)
    assert server.post(f"{run}/rate", json={"rate": -1}).status_code == 400
    assert server.post(f"{run}/rate", json={"rate": 0.01}).status_code == 200
    assert server.get(f"{run}/file").status_code == 409
    assert next(data for name, data in stream if name == "status")["rate"] == 0.01
    seen = [next(data["step"] for name, data in stream if name == "frame") for _ in range(4)]
    stopped = _stopped(server, run)
    assert (seen, stopped["status"]) == (sorted(seen), "stopped")
    assert [stretch["rate"] for stretch in stopped["stretches"]] == [0.05, 0.01]
    assert server.get(f"{run}/command").status_code == 409
    trajectory = _file(server, run)
    assert _same_bits(_made_by(server.get(f"{run}/python").text, tmp_path), trajectory)
    assert np.unique(np.round(np.diff(trajectory.time), 9)).size >= 2


def test_a_run_waits_while_it_is_paused(server):
    run = _started(server, LONG)
    stream = _events(server, f"{run}/events")
    next(data for name, data in stream if name == "frame" and data["step"] > 0)
    assert server.post(f"{run}/resume", json={}).status_code == 409
    server.post(f"{run}/pause", json={})
    assert _reached(stream, "paused")["status"] == "paused"
    step = server.get(run).json()["step"]
    time.sleep(0.7)
    assert server.get(run).json()["step"] == step
    server.post(f"{run}/resume", json={})
    assert next(data for name, data in stream if name == "frame" and data["step"] > step)
    assert server.post(f"{run}/dance", json={}).status_code == 400
    assert _stopped(server, run)["status"] == "stopped"


def test_more_runs_than_processors_wait_and_say_so(server):
    cores = server.get("/api/catalogue").json()["cores"]
    runs = [_started(server, LONG) for _ in range(cores + 1)]
    streams = [_events(server, f"{run}/events") for run in runs]
    for stream in streams[:-1]:
        assert _reached(stream, "running")["status"] == "running"
    waits = next(data for name, data in streams[-1] if data["place"])
    assert (waits["status"], waits["place"]) == ("queued", 1)
    assert "waits for a processor" in waits["message"]
    server.post(f"{runs[0]}/stop", json={})
    assert _reached(streams[-1], "running")["status"] == "running"
    assert [_stopped(server, run)["status"] for run in runs] == ["stopped"] * len(runs)


def test_a_run_that_nobody_watches_ends(server):
    run = _started(server, LONG)
    stream = _events(server, f"{run}/events")
    assert _reached(stream, "running")["status"] == "running"
    stream.close()
    began = time.monotonic()
    while (state := server.get(run).json())["status"] != "stopped" and time.monotonic() < began + 30:
        time.sleep(0.3)
    assert (state["status"], state["message"]) == ("stopped", "stopped because nobody watched")
    assert 4 < time.monotonic() - began < 15


def test_a_process_that_is_killed_takes_its_run_alone(server):
    run = _started(server, LONG)
    stream = _events(server, f"{run}/events")
    next(data for name, data in stream if name == "frame" and data["step"] > 0)
    for child in _children(server.process.pid):
        os.kill(child, signal.SIGKILL)
    failed = _reached(stream, "failed")
    assert "ended with code -9" in failed["message"]
    again = _started(server, SMALL)
    assert next(data for name, data in _events(server, f"{again}/events") if name == "frame")["step"] == 0
    _stopped(server, again)


def test_the_report_shows_what_is_stored(server):
    found = server.get("/api/report").json()
    shown = {one["name"]: one for one in found["experiments"]}
    assert [name for name, one in shown.items() if one["stored"]] == ["kurtosis"]
    assert shown["kurtosis"]["text"][0] == {"words": "Words, and "}
    assert shown["kurtosis"]["text"][1]["mathml"].startswith("<math")
    assert sum(found["counts"].values()) == sum(len(one["claims"]) for one in shown.values())
    (figure,) = shown["kurtosis"]["figures"]
    assert server.get(figure["svg"]).text.startswith("<?xml")
    assert server.get(figure["png"]).content.startswith(b"\x89PNG")
    assert server.get(figure["data"]).json()["rows"][0][0]["values"][0] == [1, 0, 0, 0]
    assert server.get("/api/report/kurtosis/1.svg").status_code == 404
    assert server.get("/api/report/kurtosis/0.exe").status_code == 400
    told = server.get("/api/report/kurtosis/first.svg")
    assert (told.status_code, told.json()["where"]) == (422, "index")
    assert told.json()["error"].endswith("got 'first'")
    assert server.get("/api/report/fig5/0.svg").status_code == 404


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.npy", _npy(np.array([{"a": 1}], object), allow_pickle=True)),
        ("data.pkl", pickle.dumps([1, 2])),
        ("data.npy", b"rubbish"),
        ("../../x.npz", b"PK\x03\x04"),
        ("data", b""),
    ],
)
def test_rubbish_is_refused_in_one_line_and_nothing_is_kept(server, name, content):
    job = server.post("/api/predict", files={"samples": (name, content)}).json()
    assert "id" in job, job
    end = [data for event, data in _events(server, f"/api/jobs/{job['id']}/events") if event == "end"][-1]
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
    job = server.post("/api/predict", files={"samples": ("mine.npy", _npy(samples))}).json()
    end = [data for event, data in _events(server, f"/api/jobs/{job['id']}/events") if event == "end"][-1]
    assert end["status"] == "done", end["message"]
    direct = lx.predict(samples, explain=False)
    assert end["result"]["prediction"]["verdict"] == direct.verdict
    assert end["result"]["prediction"]["probability"] == pytest.approx(direct.probability)
    assert end["result"]["figures"][0]["svg"].startswith("data:image/svg+xml;base64,")


@pytest.mark.slow
def test_an_experiment_is_run_again(server, store):
    job = server.post("/api/reproduce/kurtosis", json={"fresh": True}).json()
    told = list(_events(server, f"/api/jobs/{job['id']}/events"))
    assert told[-1][1]["status"] == "done", told[-1][1]["message"]
    assert any(name == "progress" and 0 < data["fraction"] < 1 for name, data in told)
    outcome = runner.load_outcome(Store(store), runner.experiment_units("kurtosis")[0])
    assert [claim["verdict"] for claim in told[-1][1]["result"]["claims"]] == [c.verdict for c in outcome.claims]
    assert len(outcome.claims) > 0


# The lines and the command --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_experiment_has_a_preset_whose_lines_make_it():
    """Python and command line, read back, build the very objects that the lab builds; rates are stable ones."""
    assert set(SETTINGS) == set(experiments.ALL)
    for name in experiments.ALL:
        settings = lab_settings(preset_settings(name))
        made = settings.arguments()
        stable = lx.training.stable_rate(made["task"], made["network"])
        assert stable is None or settings.rate < 0.8 * stable, name
        places = {}
        exec(python_lines(settings).partition("run = lx.train(")[0], places)
        for part in ("task", "network", "init", "saveat", "stream"):
            assert description(places[part]) == description(made[part]), f"{name}: {part}"
        flags = shlex.split(command_line(settings).split("train ", 1)[1])
        typed = list(zip(flags[::2], flags[1::2], strict=True))
        kinds_ = {flag[2:]: value for flag, value in typed if flag != "--set"}
        again = runner.typed_training(None, kinds_, [], [value for flag, value in typed if flag == "--set"])
        assert description(again.arguments()) == description(made), name


def test_every_answer_has_its_policy(server):
    for path in ("/", "/static/lab.js", "/plotly.min.js", "/favicon.ico", "/api/catalogue", "/nothing", "/static/none"):
        assert "default-src 'self'" in server.get(path).headers["content-security-policy"], path
    refused = server.get("/", headers={"host": "evil.example"})
    assert "default-src 'self'" in refused.headers["content-security-policy"]


def test_nothing_that_visitors_send_is_in_the_log(server):
    server.get("/nothing/secret-path?secret=query")
    server.post("/api/runs", json={"settings": {"secret-setting": 1}})
    for name, content in (("secret-name.npy", b"secret-content"), ("secret-image.png", b"secret-content")):
        job = server.post("/api/predict", files={"samples": (name, content)}).json()
        told = list(_events(server, f"/api/jobs/{job['id']}/events"))
        assert name in told[-1][1]["message"]  # the visitor is told
    said = server.log.read_text()
    assert not [word for word in ("secret", "evil", "passwd", "x.npz", "/api/", "GET", "POST") if word in said], said


@pytest.mark.slow
def test_the_token_is_in_the_address_alone(tmp_path):
    words = ["lab", "--host", "0.0.0.0", "--port", "0", "--no-browser", "--store", str(tmp_path)]
    process = subprocess.Popen([sys.executable, "-m", "localax", *words], stdout=-1, stderr=-1, text=True)
    address = httpx.URL(process.stdout.readline().split()[-1])
    assert process.stdout.readline() == "Ctrl-C closes it\n"
    with httpx.Client(base_url=f"http://127.0.0.1:{address.port}", timeout=120, follow_redirects=True) as client:
        assert client.get("/?token=guess").status_code == 403
        welcome = client.get("/", params=address.params)
        assert (welcome.status_code, welcome.url.query) == (200, b"")
        assert client.get("/api/runs").json() == {"runs": []}
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=20)
    assert (out, said) == ("the lab is closed\n", "")


@pytest.mark.slow
def test_a_port_in_use_is_told_in_one_line(server):
    words = [sys.executable, "-m", "localax", "lab", "--no-browser", "--port", str(server.base_url.port)]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert found.stderr.startswith("localax: lab: port")
    assert found.stderr.count("\n") == 1


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    from localax._commands import _lab

    monkeypatch.setattr(_lab, "NEEDED", ("fastapi", "no_such_package"))
    with pytest.raises(SettingError, match=r"no_such_package.*pip install 'localax\[lab\]'"):
        _lab.lab()
