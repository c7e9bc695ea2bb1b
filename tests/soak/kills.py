"""Kill what runs units at some moment, go on, and see that nothing is lost and no bit differs.

``make soak`` does it at twenty random moments; the tests, with the functions here, at a few.
"""

import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from localax import runner
from localax.store import Store

PATIENCE = 300.0
"""Seconds, on a machine that does much else beside."""


def small_units(count: int = 6, steps: int = 5000) -> list[runner.TrainingUnit]:
    """Training runs of a few pixels, that differ in their data."""
    settings = {
        "steps": steps,
        "batch": 10,
        "probe": 10,
        "save_every": steps,
        "stimulus": {"kind": "NLGP", "size": 8, "lengthscale": [0.5, 1]},
    }
    return [runner.training_unit(runner.training_settings({**settings, "data_seed": i})) for i in range(count)]


def digests(store: Store, units: Sequence[runner.TrainingUnit]) -> list[str]:
    """A name for the bytes of every result."""
    return [hashlib.sha256(store.read(unit.name, "trajectory.npz")).hexdigest() for unit in units]


def stored(store: Store, units: Sequence[runner.TrainingUnit]) -> set[str]:
    return {unit.name for unit in units if store.finished(unit.identity)}


def until(condition: Callable[[], object]) -> None:
    """Wait for something that must come."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("waited too long")
        time.sleep(0.02)


# Processes ------------------------------------------------------------------------------------------------------------


def client(store: Store, workers: int = 2) -> subprocess.Popen:
    """A program that has the small units done, as a user's would; not guarded by ``__main__``, on purpose."""
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from localax import runner\nfrom localax.store import Store\nfrom soak.kills import small_units\n"
        f"executor = runner.executor_of('dask', {{'workers': {workers}}})\n"
        f"runner.run_or_load(small_units(), Store({str(store.root)!r}), executor)\n"
    )
    return subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)


def family(pid: int) -> list[psutil.Process]:
    """A process and all that it started, directly or not."""
    try:
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def dask_workers(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    return [one for one in processes if "spawn_main" in _command(one)]


def localax_workers(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    return [one for one in processes if _command(one).endswith("-m localax.runner")]


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def kill(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue


def gone(processes: Sequence[psutil.Process]) -> bool:
    """Whether none of these is left but as an entry in the system's table."""
    left = [one for one in processes if one.is_running()]
    return all(one.status() == psutil.STATUS_ZOMBIE for one in left)


VICTIMS: dict[str, Callable[[int], list[psutil.Process]]] = {
    "a worker": lambda pid: localax_workers(family(pid))[:1],
    "a Dask worker": lambda pid: dask_workers(family(pid))[:1],
    "the client": lambda pid: family(pid)[:1],
    "everything": family,
}


# Twenty moments -------------------------------------------------------------------------------------------------------


def kill_at_a_moment(victim: str, done: int, seconds: float, truth: list[str]) -> str:
    """Strike so many **seconds** after workers are there and so many units are **done**, and say what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        store, units = Store(folder), small_units()
        with client(store) as process:
            until(lambda: localax_workers(family(process.pid)) and len(stored(store, units)) >= done)
            time.sleep(seconds)
            before = family(process.pid)
            kill(VICTIMS[victim](process.pid))
            kept = stored(store, units)
            process.communicate(timeout=PATIENCE)
        until(lambda: gone(before))
        assert stored(store, units) >= kept, "a result is lost"
        results = runner.run_or_load(units, store, runner.ThisProcess())
        assert results.loaded >= kept, "a result was made again"
        assert digests(store, units) == truth, "a bit differs"
        assert process.returncode == (0 if victim in ("a worker", "a Dask worker") else -signal.SIGKILL)
        return f"{victim} killed with {len(kept)} of {len(units)} stored: all the same"


def main(moments: int = 20) -> None:
    draw = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        units = small_units()
        runner.run_or_load(units, Store(folder), runner.ThisProcess())
        truth = digests(Store(folder), units)
    for i in range(moments):
        said = kill_at_a_moment(list(VICTIMS)[i % len(VICTIMS)], draw.randrange(5), draw.uniform(0, 0.5), truth)
        sys.stdout.write(f"{i + 1:3d} {said}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    os.environ.setdefault("NPROC", "1")
    main(*map(int, sys.argv[1:]))
