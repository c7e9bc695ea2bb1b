"""What the tests of the lab share: the real server in a process of its own, and how to talk with it."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import httpx
import numpy as np

import localax as lx
from localax import runner
from localax.outcome import Fields, Figure, Outcome
from localax.store import Store

NLGP = {"kind": "NLGP", "size": 12, "lengthscale": [0.5, 1.5], "gain": 3}
SMALL = {"stimulus": NLGP, "steps": 60, "batch": 500, "seeds": 2, "probe": 20}
LONG = {**SMALL, "steps": 200_000, "save_every": 400, "rate": 1e-3}
"""Goes on until it is stopped, and compiles what SMALL compiles; theory has not far to go."""
FIGURE = Figure("A figure", ((Fields("fields", np.eye(4)),),), caption="Four fields.")


def fill(root: Path) -> None:
    """A store with one outcome, as `localax reproduce kurtosis` would leave it."""
    unit = runner.experiment_units("kurtosis")[0]
    outcome = Outcome("A title", r"Words, and $x^2$.", (FIGURE,), name="kurtosis", chapter="paper")
    Store(root).save(unit.identity, {"outcome.npz": outcome.to_bytes()}, kind=unit.kind, title=unit.title)


@contextlib.contextmanager
def served(store: Path) -> Iterator[httpx.Client]:
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
        left = children(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    assert process.stdout.read() == "Ctrl-C closes it\nthe lab is closed\n"
    process.stdout.close()
    assert not any(Path(f"/proc/{child}").exists() for child in left)


def children(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, rest = stat.parent.name, stat.read_text().rpartition(")")[2].split()
            found += [int(name)] if int(rest[1]) == parent else []
    return found


def busiest(parent: int) -> int:
    """The child of a process that computes most."""

    def ticks(child: int) -> int:
        return sum(map(int, Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:13]))

    before = {child: ticks(child) for child in children(parent)}
    time.sleep(0.5)
    return max(before, key=lambda child: ticks(child) - before[child])


def events(client, address, *, seconds=120, **headers):
    """Events of a stream as pairs of name and data, to its end."""
    with client.stream("GET", address, headers=headers, timeout=seconds) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        name = None
        for line in answer.iter_lines():
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                yield name, json.loads(line[6:])


def started(client, settings):
    answer = client.post("/api/runs", json={"settings": settings})
    assert answer.status_code == 201, answer.text
    return f"/api/runs/{answer.json()['id']}"


def reached(stream, status):
    """Read a stream up to a status, which is given."""
    return next(data for name, data in stream if name in ("status", "end") and data["status"] in (status, "failed"))


def stopped(client, run):
    client.post(f"{run}/stop", json={})
    return reached(events(client, f"{run}/events"), "stopped")


def run_file(client, run):
    return lx.load(client.get(f"{run}/file").content)


def npy(array, **how):
    out = io.BytesIO()
    np.save(out, array, **how)
    return out.getvalue()


ELSEWHERE = {**os.environ, "PYTHONPATH": str(Path(lx.__file__).parents[1])}
"""The environment of a process in another folder, where a relative path to the sources would lead nowhere."""


def made_by(lines, folder):
    """The run that Python lines make and keep in a folder."""
    with contextlib.chdir(folder), mock.patch.dict(os.environ):
        exec(lines, {})
    return lx.load(folder / "run.npz")


def same_bits(one, other):
    return all(
        np.array_equal(a, b, equal_nan=True)
        for a, b in ((one.time, other.time), (one.weights, other.weights), (one.loss, other.loss))
    )
