"""The lab under many eyes: ``python benchmarks/lab.py [--seconds 20] [--minutes 0] [--clients 20] [--json]``.

A server of its own trains two runs at N = 40 while clients watch them, half of them each. Frames a second are counted
for every client, and the slowest counts; previews of every stimulus are timed from question to answer while nothing
else goes on, and the slowest counts; so is the first frame after Start. With ``--minutes 30`` runs follow one another
and the resident memory of the server is noted every minute: what counts is how much it grows from minute 5 on. The
exit code is 1 if a target is missed.
"""

import argparse
import contextlib
import http.client
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

if __package__:
    from ._measure import Ratio, exactly, show
else:
    from _measure import Ratio, exactly, show

STIMULUS = {"kind": "NLGP", "size": 40, "lengthscale": [1, 3], "gain": 3}
RUN = {"stimulus": STIMULUS, "steps": 200_000, "save_every": 200, "batch": 1000, "seeds": 4}
FRAMES, SLIDER, FIRST, GROWTH = 5.0, 0.1, 1.0, 1.05
"""Frames a second at least; seconds for a preview and to a first frame, and growth of memory, at most."""


class Server:
    """A lab in a process of its own."""

    def __init__(self, process: subprocess.Popen, port: int):
        self.process, self.port = process, port

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        line.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        return json.loads(line.getresponse().read())

    def start(self, settings: dict[str, Any] = RUN) -> str:
        return self.ask("POST", "/api/runs", {"settings": settings})["id"]

    def resident(self) -> int:
        """Bytes that the server takes, without its processes, which forget what they compiled when it becomes much."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * 4096


@contextlib.contextmanager
def served() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "localax", "lab", "--port", "0", "--no-browser", "--store", folder]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        try:
            yield Server(process, int(address.rstrip("/").rpartition(":")[2]))
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)
            process.stdout.close()


class Client(threading.Thread):
    """Watches a run, and notes when each frame arrives."""

    def __init__(self, server: Server, run: str):
        super().__init__(daemon=True)
        self.frames: list[float] = []
        line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
        line.request("GET", f"/api/runs/{run}/events")
        self.answer = line.getresponse()
        self.start()

    def run(self) -> None:
        while text := self.answer.readline():
            if text.startswith(b"event: frame"):
                self.frames.append(time.monotonic())
            elif text.startswith(b"event: end"):
                return


def watched(server: Server, clients: int, seconds: float) -> list[float]:
    """Frames a second of each client of two runs, from the moment at which both train."""
    runs = [server.start(), server.start()]
    watching = [Client(server, runs[i % 2]) for i in range(clients)]
    while any(len(client.frames) < 5 and client.is_alive() for client in watching):  # they compile
        time.sleep(0.1)
    began = time.monotonic()
    time.sleep(seconds)
    ended = time.monotonic()
    for run in runs:
        server.ask("POST", f"/api/runs/{run}/stop", {})
    for client in watching:
        client.join()
    return [sum(began < moment < ended for moment in client.frames) / seconds for client in watching]


def first_frame(server: Server) -> float:
    """Seconds from Start, as the page opens, to the first frame; its process is warm."""
    opening = server.ask("GET", "/api/catalogue")["defaults"]
    began = time.monotonic()
    run = server.start(opening)
    client = Client(server, run)
    while not client.frames and client.is_alive():
        time.sleep(0.005)
    server.ask("POST", f"/api/runs/{run}/stop", {})
    client.join()
    return client.frames[0] - began


def slider(server: Server, kind: dict[str, Any], rounds: int = 12) -> float:
    """The middle time from a slider of a stimulus to its law and samples, warm, in seconds."""
    times = []
    for i in range(rounds):
        settings = {"stimulus": {"kind": kind["kind"], **moved(kind["fields"], 1 + i / 100)}}
        began = time.perf_counter()
        for path in ("/api/stimulus", "/api/samples"):
            server.ask("POST", path, {"settings": settings})
        times.append(time.perf_counter() - began)
    return float(np.median(times[3:]))


def moved(fields: list[dict[str, Any]], factor: float) -> dict[str, Any]:
    """The defaults of a form with every number on a slider, those of objects inside too, times a factor."""
    out = {}
    for field in fields:
        value = field["default"]
        if field["type"] == "number":
            value = [one * factor for one in value] if isinstance(value, list) else value * factor
        elif field["type"] == "object":
            inner = next(kind for kind in field["options"] if kind["kind"] == value["kind"])
            value = {**value, **moved([f for f in inner["fields"] if f["name"] in value], factor)}
        out[field["name"]] = value
    return out


def slowest_slider(server: Server) -> tuple[float, str]:
    """The seconds of the slowest stimulus that needs no file, and which it is; a new size, which compiles, aside."""
    kinds = [kind for kind in server.ask("GET", "/api/catalogue")["stimuli"] if not needs_file(kind)]
    return max((slider(server, kind), kind["kind"]) for kind in kinds)


def needs_file(kind: dict[str, Any]) -> bool:
    return any(field["type"] == "file" for field in kind["fields"])


def growth(server: Server, clients: int, minutes: int) -> list[int]:
    """Resident memory after every minute of runs that follow one another."""
    found = []
    for minute in range(minutes):
        watched(server, clients, 60)
        found.append(server.resident())
        print(f"minute {minute + 1}: {found[-1] / 2**20:.1f} MB", file=sys.stderr, flush=True)
    return found


def measured(clients: int, seconds: float, minutes: int) -> list[Ratio]:
    with served() as server:
        waits, of = slowest_slider(server)
        first = first_frame(server)
        rates = watched(server, clients, seconds)
        out = [
            exactly(f"frames a second, the slowest of {clients} clients of 2 runs", min(rates), at_least=FRAMES),
            exactly(f"seconds from slider to answer, the slowest stimulus ({of})", waits, at_most=SLIDER),
            exactly("seconds from Start to the first frame", first, at_most=FIRST),
        ]
        sizes = growth(server, clients, minutes)
    if len(sizes) > 5:
        out.append(exactly(f"memory at minute {len(sizes)} over minute 5", sizes[-1] / sizes[4], at_most=GROWTH))
    return out


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="lab", description="The lab under many eyes.")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long frames are counted")
    parser.add_argument("--minutes", type=int, default=0, help="how long memory is watched")
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(argv)
    return show(measured(options.clients, options.seconds, options.minutes), options.json)


if __name__ == "__main__":
    raise SystemExit(main())
