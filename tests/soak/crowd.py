"""Several processes on one store, each doing at random what people do: nothing is lost, nothing damaged, nobody fails.

Results are bytes that their identity decides, so that whoever reads one knows what it must hold. Those of even number
are never removed: once somebody has stored one, it must be there at any later time.
"""

import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from localax import runner
from localax._errors import SettingError
from localax.runner import AbstractUnit, ThisProcess
from localax.runner._unit import Files
from localax.store import Store, identity_hash

COUNT = 100
"""Results that there can be; more than an index is begun with."""


def expected(n: int) -> bytes:
    """What result **n** holds: some kilobytes."""
    return hashlib.shake_256(str(n).encode()).digest(20_000 + 100 * n)


@dataclass(frozen=True)
class Quick(AbstractUnit):
    """A unit that is done at once, and keeps something on its way."""

    kind: ClassVar[str] = "quick"
    identity: dict[str, Any]
    title, cost = "quick", 1.0  # pyright: ignore

    def request(self) -> dict[str, Any]:
        return self.identity

    @classmethod
    def from_request(cls, request: Any) -> "Quick":
        return cls(dict(request))

    def run(self, progress: Any, scratch: Callable[[], Path]) -> Files:
        (scratch() / "way.txt").write_text("on the way")
        progress(0.5)
        return Files({"numbers.bin": expected(self.identity["n"])})


@contextmanager
def _allowed(*words: str) -> Iterator[None]:
    """A refusal that says one of these **words**: a result that is not there yet, or that somebody removes."""
    try:
        yield
    except SettingError as error:
        if not any(word in str(error) for word in words):
            raise


def _do(store: Store, n: int, fresh: bool) -> None:
    failed = runner.run_or_load([Quick({"n": n})], store, ThisProcess(), fresh=fresh).failed
    assert not failed or n % 2, failed  # one that is removed at the same time may be missing afterwards


def _read(store: Store, n: int) -> None:
    with _allowed("no run called", "has no run.json", *(["kept being", "not a folder"] if n % 2 else [])):
        assert store.read(identity_hash({"n": n}), "numbers.bin") == expected(n)


def _list(store: Store, n: int) -> None:
    del n
    for run in store.scan().runs:
        assert run.size == len(expected(run.identity["n"]))


def _remove(store: Store, n: int) -> None:
    with _allowed("no run called"):
        store.remove(identity_hash({"n": n | 1}))


def _prune(store: Store, n: int) -> None:
    del n
    for path in store.leftovers(60):
        store.discard(path)


ACTS: list[Callable[[Store, int], None]] = [
    *3 * [lambda store, n: _do(store, n, fresh=False)],
    *2 * [lambda store, n: _do(store, n, fresh=True)],
    *4 * [_read],
    _list,
    _remove,
    _prune,
]


def member(root: Path, seconds: float, seed: int) -> None:
    """One of many: does at random what people do."""
    store, draw, acts = Store(root), random.Random(seed), 0
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        draw.choice(ACTS)(store, draw.randrange(COUNT))
        acts += 1
        time.sleep(draw.uniform(0, 0.01))
    sys.stdout.write(f"{acts}\n")


def crowd(processes: int, seconds: float) -> Iterator[str]:
    """So many **processes** on one store for so many **seconds**."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "soak.crowd", folder, str(seconds)]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        around = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
        started = [subprocess.Popen([*words, str(seed)], **pipes, env=around) for seed in range(processes)]
        seen = _watched(Store(folder), started)
        said = [process.communicate() for process in started]
        assert [process.returncode for process in started] == [0] * processes, "\n".join(text for _, text in said)
        yield f"{sum(int(text) for text, _ in said)} acts of {processes} processes, {_left(Store(folder), seen)}"


def _watched(store: Store, started: list[subprocess.Popen]) -> set[int]:
    """Look on while they are at it: what is never removed and was seen once must stay; gives which of it there is."""
    seen: set[int] = set()
    while any(process.poll() is None for process in started):
        now = {run.identity["n"] for run in store.runs() if run.identity["n"] % 2 == 0}
        assert now >= seen, f"lost: {seen - now}"
        seen = now
        time.sleep(0.2)
    return seen


def _left(store: Store, seen: set[int]) -> str:
    """What is there in the end: whole results, and nothing that cannot be swept."""
    for path in store.leftovers(-1):
        store.discard(path)
    listing = store.scan()
    assert {run.identity["n"] for run in listing.runs} >= seen, "a result is lost"
    for run in listing.runs:
        assert store.read(run.name, "numbers.bin") == expected(run.identity["n"])
    begun = [one for one in listing.unfinished if one.request is None]
    assert (begun, listing.foreign) == ([], ()), "something is left"
    return f"{len(listing.runs)} results whole, {len(listing.unfinished)} on the way"


if __name__ == "__main__":
    member(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
