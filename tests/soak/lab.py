"""What somebody does in the lab: trains a network, has an experiment run again, and leaves."""

import json
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def _free() -> int:
    """A port that nobody listens at: several soaks and tests run side by side."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


PORT = _free()
RING = {"kind": "NLGP", "size": 12, "lengthscale": [0.5, 1.5], "gain": 3}
RUN = {"stimulus": RING, "steps": 2000, "save_every": 400, "batch": 500, "seeds": 2, "probe": 20}


ASKED = {"runs": ("/api/runs", {"settings": RUN}), "jobs": ("/api/reproduce/kurtosis", {"fresh": False})}


def visit(process: subprocess.Popen) -> None:
    """Train while an experiment is run, see both end, and close the lab."""
    try:
        _wait_for_the_page(process)
        with ThreadPoolExecutor(2) as both:  # what nobody watches is stopped
            for name, data in both.map(_watched, ASKED):
                assert (name, data["status"]) == ("end", "done"), data.get("message")
    finally:
        process.send_signal(signal.SIGINT)


def _watched(what: str) -> tuple[str, Any]:
    """The last event of a run or a job."""
    *_, last = _events(f"/api/{what}/{_asked(*ASKED[what])['id']}/events")
    return last


def _wait_for_the_page(process: subprocess.Popen) -> None:
    while process.poll() is None:
        try:
            with urllib.request.urlopen(_address("/favicon.ico"), timeout=60):
                return
        except OSError:
            time.sleep(0.1)
    raise OSError("the lab has ended")


def _address(path: str) -> str:
    return f"http://127.0.0.1:{PORT}{path}"


def _asked(path: str, body: Any) -> dict[str, Any]:
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(_address(path), json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def _events(path: str) -> Iterator[tuple[str, Any]]:
    """Events of a stream, each with its name, to its end."""
    with urllib.request.urlopen(_address(path), timeout=300) as answer:
        name = ""
        for line in answer:
            word, _, rest = line.decode().strip().partition(": ")
            name = rest if word == "event" else name
            if word == "data":
                yield name, json.loads(rest)
