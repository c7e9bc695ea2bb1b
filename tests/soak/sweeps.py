"""Kill ``localax sweep`` at some moment, start it again, and see that its result has the bytes of a quiet one.

``make soak`` does it at twenty random moments; the tests, with the functions here, at one for each executor.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from localax import runner
from soak import kills

TRAIN = """
steps = 2000
batch = 10
probe = 10
save_every = 500
record = ["loss"]
seeds = 32
[stimulus]
size = 8
lengthscale = [0.5, 1]
[sweep]
"stimulus.gain" = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0]
"""
"""Six units of one program."""


def quiet(folder: Path) -> bytes:
    """The result where nothing happens, made in this very process."""
    file = written(folder)
    plan = runner.sweep_plan(file)
    assert len(plan.units) == 6
    return runner.run_sweep(
        plan, on=runner.ThisProcess(), out=folder, store=folder / "store", progress=False
    ).path.read_bytes()


def written(folder: Path) -> Path:
    """The file of the sweep, in a **folder**."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "sweep.toml"
    file.write_text(TRAIN)
    return file


def command(folder: Path, on: str = "processes", out: str = "out", workers: int = 2) -> subprocess.Popen:
    """``localax sweep`` of the file into a **folder**, its units beside; leads a group of processes of its own."""
    words = ["sweep", str(written(folder)), "--on", on, "--out", str(folder / out), "--store", str(folder / "store")]
    words += ["--set", f"{on}.workers={workers}"]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-m", "localax", *words], **streams, process_group=0)


def finished(process: subprocess.Popen) -> tuple[int, str]:
    """Wait for a command: its exit code, and what it said on the error stream."""
    with process:
        _, said = process.communicate(timeout=kills.PATIENCE)
    return process.returncode, said


def units_in(folder: Path) -> set[str]:
    """The units that are stored, by name, each told by the file that is written last."""
    return {path.parent.name for path in (folder / "store").glob("*/run.json")}


VICTIMS: dict[str, Callable[[int], object]] = {
    "its group": lambda pid: os.killpg(pid, signal.SIGKILL),
    "everything": lambda pid: kills.kill(kills.family(pid)),
}


def kill_at_a_moment(
    folder: Path, on: str, victim: str, done: int, seconds: float, truth: bytes, workers: int = 2
) -> str:
    """Strike so many **seconds** after workers are there and so many units are **done**, and say what came of it."""
    with command(folder, on, workers=workers) as process:
        kills.until(lambda: process.poll() is not None or _is_at(process.pid, folder, done))
        time.sleep(seconds)
        before = kills.family(process.pid)
        if process.poll() is None:
            VICTIMS[victim](process.pid)
        process.communicate(timeout=kills.PATIENCE)
    kills.until(lambda: kills.gone(before))
    kept = {name: _when(folder, name) for name in units_in(folder)}
    code, said = finished(command(folder, on, workers=workers))
    assert code == 0, said
    assert (folder / "out" / "sweep.nc").read_bytes() == truth, "a bit differs"
    assert {name: _when(folder, name) for name in kept} == kept, "a result was made again"
    return f"{victim} of a sweep on {on} killed with {len(kept)} of 6 units stored: all the same"


def _is_at(pid: int, folder: Path, done: int) -> bool:
    """Whether a command has workers, and so many units are done."""
    return bool(kills.localax_workers(kills.family(pid))) and len(units_in(folder)) >= done


def _when(folder: Path, name: str) -> int:
    return (folder / "store" / name / "run.json").stat().st_mtime_ns


def main(moments: int = 20) -> None:
    draw = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        truth = quiet(Path(folder))
    for i in range(moments):
        on, victim = ("dask" if i % 4 == 3 else "processes"), list(VICTIMS)[i % 2]
        with tempfile.TemporaryDirectory() as folder:
            said = kill_at_a_moment(Path(folder), on, victim, draw.randrange(6), draw.uniform(0, 0.5), truth)
        sys.stdout.write(f"{i + 1:3d} {said}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    os.environ.update(dict.fromkeys(("NPROC", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))
    main(*map(int, sys.argv[1:]))
