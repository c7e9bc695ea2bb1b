"""The lab under many eyes: ``python benchmarks/lab.py [--seconds 20] [--minutes 0] [--clients 20] [--json]``.

A server of its own trains two runs at N = 40 while clients watch them, half of them each. Frames a second are counted
for every client, and the slowest counts; previews of a stimulus are timed from question to answer while nothing else
goes on. With ``--minutes 30`` runs follow one another and the resident memory of the server is noted every minute: what
counts is how much it grows from minute 5 on. The exit code is 1 if a target is missed.
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
FRAMES, SLIDER, GROWTH = 5.0, 0.1, 1.05
"""Frames a second at least; seconds for a preview, and growth of memory, at most."""


class Server:
    """A lab in a process of its own."""

    def __init__(self, process: subprocess.Popen, port: int):
        self.process, self.port = process, port

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        line.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        return json.loads(line.getresponse().read())

    def start(self) -> str:
        return self.ask("POST", "/api/runs", {"settings": RUN})["id"]

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


def slider(server: Server, rounds: int = 30) -> float:
    """The middle time of a preview, warm, in seconds."""
    times = []
    for i in range(rounds):
        began = time.perf_counter()
        server.ask("POST", "/api/stimulus", {"settings": {"stimulus": {**STIMULUS, "gain": 1 + i / 10}}})
        times.append(time.perf_counter() - began)
    return float(np.median(times[3:]))


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
        server.ask("GET", "/api/catalogue")
        waits = slider(server)
        rates = watched(server, clients, seconds)
        out = [
            exactly(f"frames a second, the slowest of {clients} clients of 2 runs", min(rates), at_least=FRAMES),
            exactly("seconds from slider to answer", waits, at_most=SLIDER),
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
