"""Runs in the lab: what they tell from start to end, what can be said to them, and whose bits they are."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import localax as lx
from lab import ELSEWHERE, LONG, SMALL, busiest, events, made_by, reached, run_file, same_bits, started, stopped
from localax.store import Store
from localax.web._limits import lab_settings
from localax.web._numbers import unpacked


@pytest.fixture(scope="module")
def finished(server):
    """A run that came to its end, with all that was told of it."""
    run = started(server, SMALL)
    return run, list(events(server, f"{run}/events"))


def test_a_run_is_told_from_its_start_to_its_end(server, finished):
    run, told = finished
    frames = [data for name, data in told if name == "frame"]
    assert told[-1][0] == "end"
    assert told[-1][1]["status"] == "done"
    assert [frames[0]["step"], frames[-1]["step"]] == [0, 60]
    assert len(frames) > 2
    trajectory = run_file(server, run)
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


@pytest.mark.slow
def test_the_lines_taken_away_make_the_same_bits(server, finished, tmp_path):
    run, _ = finished
    trajectory = run_file(server, run)
    lines = [sys.executable, "-c", server.get(f"{run}/python").text]  # a process that says its threads itself
    subprocess.run(lines, cwd=tmp_path, env=ELSEWHERE, check=True, capture_output=True)
    assert same_bits(lx.load(tmp_path / "run.npz"), trajectory)
    command = server.get(f"{run}/command").text.replace("localax train", f"{sys.executable} -m localax train")
    subprocess.run(f"{command.strip()} --store {tmp_path}", shell=True, check=True, capture_output=True)
    (stored,) = Store(tmp_path).runs()
    assert same_bits(Store(tmp_path).load(stored.name), trajectory)


@pytest.mark.slow
def test_the_rate_changes_on_the_way(server, tmp_path):
    run = started(server, LONG)
    stream = events(server, f"{run}/events")
    next(data for name, data in stream if name == "frame" and data["step"] > 0)
    assert server.post(f"{run}/rate", json={"rate": -1}).status_code == 400
    assert server.post(f"{run}/rate", json={"rate": 0.01}).status_code == 200
    assert server.get(f"{run}/file").status_code == 409
    assert next(data for name, data in stream if name == "status")["rate"] == 0.01
    seen = [next(data["step"] for name, data in stream if name == "frame") for _ in range(4)]
    end = stopped(server, run)
    assert (seen, end["status"]) == (sorted(seen), "stopped")
    assert [stretch["rate"] for stretch in end["stretches"]] == [0.001, 0.01]
    assert server.get(f"{run}/command").status_code == 409
    trajectory = run_file(server, run)
    assert same_bits(made_by(server.get(f"{run}/python").text, tmp_path), trajectory)
    assert np.unique(np.round(np.diff(trajectory.time), 9)).size >= 2


def test_twenty_clients_of_two_runs_each_see_all_of_theirs(server):
    runs = [started(server, {**LONG, "steps": 2000, "save_every": 100}) for _ in range(2)]

    def seen(i):
        return [data["step"] for name, data in events(server, f"{runs[i % 2]}/events") if name == "frame"]

    with ThreadPoolExecutor(20) as pool:
        told = list(pool.map(seen, range(20)))
    for steps in told[:2]:
        assert (steps[0], steps[-1], steps) == (0, 2000, sorted(set(steps)))
    assert told == told[:2] * 10


def test_a_run_waits_while_it_is_paused(server):
    run = started(server, LONG)
    stream = events(server, f"{run}/events")
    next(data for name, data in stream if name == "frame" and data["step"] > 0)
    assert server.post(f"{run}/resume", json={}).status_code == 409
    server.post(f"{run}/pause", json={})
    assert reached(stream, "paused")["status"] == "paused"
    step = server.get(run).json()["step"]
    time.sleep(0.7)
    assert server.get(run).json()["step"] == step
    server.post(f"{run}/resume", json={})
    assert next(data for name, data in stream if name == "frame" and data["step"] > step)
    assert server.post(f"{run}/dance", json={}).status_code == 400
    assert stopped(server, run)["status"] == "stopped"


def test_more_runs_than_processors_wait_and_say_so(server):
    cores = server.get("/api/catalogue").json()["cores"]
    runs = [started(server, LONG) for _ in range(cores + 1)]
    streams = [events(server, f"{run}/events") for run in runs]
    for run, stream in zip(runs, streams[:-1], strict=False):
        assert reached(stream, "running")["status"] == "running"
        server.post(f"{run}/pause", json={})  # it keeps its processor, and lets others work
    waits = next(data for name, data in streams[-1] if data["place"])
    assert (waits["status"], waits["place"]) == ("queued", 1)
    assert "waits for a processor" in waits["message"]
    server.post(f"{runs[0]}/stop", json={})
    assert reached(streams[-1], "running")["status"] == "running"
    assert [stopped(server, run)["status"] for run in runs] == ["stopped"] * len(runs)


def test_a_run_that_nobody_watches_ends(server):
    run = started(server, LONG)
    stream = events(server, f"{run}/events")
    assert reached(stream, "running")["status"] == "running"
    server.post(f"{run}/pause", json={})  # a run that waits costs nobody anything
    assert reached(stream, "paused")["status"] == "paused"
    stream.close()
    began = time.monotonic()
    while (state := server.get(run).json())["status"] != "stopped" and time.monotonic() < began + 30:
        time.sleep(0.3)
    assert (state["status"], state["message"]) == ("stopped", "stopped because nobody watched")
    assert 4 < time.monotonic() - began < 15


def test_a_process_that_is_killed_takes_its_run_alone(server):
    run = started(server, LONG)
    stream = events(server, f"{run}/events")
    next(data for name, data in stream if name == "theory" and data["flow"] == "window_flow")  # the last to come
    os.kill(busiest(server.process.pid), signal.SIGKILL)
    failed = reached(stream, "failed")
    assert "ended with code -9" in failed["message"]
    again = started(server, SMALL)
    assert next(data for name, data in events(server, f"{again}/events") if name == "frame")["step"] == 0
    stopped(server, again)
