"""Kill a command at a random moment, start it again, and see that it ends with the bytes of one that nobody disturbed.

``make soak`` does it at twenty moments for each row below, ``.ci/run`` at one. A moment is a
time since the start, or, to meet it while it writes, the n-th change that is seen in its folders.
"""

import contextlib
import os
import random
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from localax.outcome import Outcome
from localax.store import Store
from slurm.slurm import NoSlurm, slurm
from soak import lab
from soak.processes import PATIENCE, dask_workers, family, finished, gone, kill, localax_workers, python, until
from soak.share import said, share

TRAIN = """
steps = 40000
batch = 20
probe = 20
save_every = 2000
seeds = 2
[stimulus]
kind = "NLGP"
size = 8
lengthscale = [0.5, 1]
"""
"""Half a second of steps, and a chunk of records at least every call."""

SWEEP = """
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
[processes]
workers = 1
[dask]
workers = 1
[slurm]
interface = "lo"
memory = "500MB"
walltime = "00:10:00"
log_directory = "logs"
local_directory = "tmp"
"""
"""Six units of one program."""


def _group(pid: int) -> int:
    os.killpg(pid, signal.SIGKILL)
    return 1


VICTIMS: dict[str, Callable[[int], int]] = {
    "the command": lambda pid: kill(family(pid)[:1]),
    "its group": _group,
    "everything": lambda pid: kill(family(pid)),
    "a worker": lambda pid: kill(localax_workers(family(pid))[:1]),
    "a Dask worker": lambda pid: kill(dask_workers(family(pid))[:1]),
}
"""Each kills what there is of it, and says how many."""
ALL = ("the command", "its group", "everything")
SURVIVED = ("a worker", "a Dask worker")
"""Victims whose command goes on without them."""


@dataclass(frozen=True)
class Row:
    """A command: its **words** to a **program**, whom to kill, and what somebody does with it to its end."""

    words: tuple[str, ...]
    program: tuple[str, ...] = ("-m", "localax")
    victims: tuple[str, ...] = ALL
    visit: Callable[[subprocess.Popen], None] | None = None


def _sweep(on: str, *victims: str) -> Row:
    words = ("sweep", "sweep.toml", "--on", on, "--out", "out", "--store", "store")
    return Row(words, victims=(*ALL, *victims))


MANY_CHECKPOINTS = """
from localax import cli
from localax.training import Checkpoint, run
Checkpoint.__init__.__defaults__ = (0.0,)  # seconds; ten for users
run.__kwdefaults__["pace"] = 0.02
cli.main()
"""
"""A command whose runs are kept many times a second: many moments to be killed at."""

SLOW_DISK = f"""
import os, time
def slow(act):
    return lambda *given, **named: (time.sleep(0.1), act(*given, **named))[1]
os.fsync, os.replace, os.unlink, os.rmdir = map(slow, (os.fsync, os.replace, os.unlink, os.rmdir))
{MANY_CHECKPOINTS.replace("0.02", "1.0")}
"""
"""A command on a disk that takes its time."""

SMALL = ("--set", "sizes=1000", "--set", "repeats=4")
ROWS = {
    "reproduce": Row(("reproduce", "kurtosis", *SMALL, "--store", "store", "--out", "out"), victims=(*ALL, "a worker")),
    "train": Row(("train", "train.toml", "--store", "store"), program=("-c", MANY_CHECKPOINTS)),
    "train on a slow disk": Row(("train", "train.toml", "--store", "store"), program=("-c", SLOW_DISK)),
    "sweep on processes": _sweep("processes", "a worker"),
    "sweep on dask": _sweep("dask", *SURVIVED),
    "sweep on slurm": _sweep("slurm"),
    "lab": Row(("lab", "--no-browser", "--port", str(lab.PORT), "--store", "store"), visit=lab.visit),
}


def prepare(folder: Path) -> None:
    """Put the settings that commands are given into a **folder**."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.toml").write_text(TRAIN)
    (folder / "sweep.toml").write_text(SWEEP)


@contextlib.contextmanager
def begun(row: Row, folder: Path) -> Iterator[subprocess.Popen]:
    """The command of a **row** in a **folder**; nothing of it outlives the block."""
    prepare(folder)
    process = python(folder, *row.program, *row.words)
    try:
        yield process
    finally:
        kill(family(process.pid))
        process.wait()
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()


def ended(row: Row, folder: Path) -> None:
    """Have the command of a **row** done, to its end."""
    with begun(row, folder) as process:
        if row.visit:
            row.visit(process)
        code, told = finished(process)
        assert code == 0, told


# What a command leaves ------------------------------------------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    """All that lies in the store, in ``out`` and in the temporary folder, but for the time that it took."""
    store = Store(folder / "store")
    listing = store.scan()
    assert [one.reason for one in listing.unfinished] == []
    runs = {f"{run.name}/{file}": store.read(run.name, file) for run in listing.runs for file in run.files}
    listed = {store.root / run.name / file for run in listing.runs for file in (*run.files.values(), "run.json")}
    rest = [path for path in _files(folder / "store") if path not in listed]
    rest += [*_files(folder / "out"), *(folder / "tmp").glob("localax*")]
    found = {**runs, **{_named(path, folder): path.read_bytes() if path.is_file() else b"" for path in rest}}
    return {name: _timeless(name, data) for name, data in found.items()}


def _named(path: Path, folder: Path) -> str:
    """A file's name without what its writer made up."""
    return re.sub(r"-[0-9a-f]{8}(?=\.\w+$)", "", str(path.relative_to(folder)))


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _timeless(name: str, data: bytes) -> bytes:
    if name.endswith("outcome.npz"):
        return replace(Outcome.from_bytes(data), seconds=0.0).to_bytes()
    return re.sub(rb"run time \([\d.]+ s\)", b"", data) if name.endswith("report.html") else data


def kept(folder: Path) -> dict[str, int]:
    """What is listed as stored, which must be whole: when each was made."""
    store = Store(folder / "store")
    runs = store.scan().runs
    assert all(store.finished(run.identity) for run in runs), "what is listed is not whole"
    return {run.name: (store.root / run.name / "run.json").stat().st_mtime_ns for run in runs}


def grown_old(folder: Path, seconds: int = 7200) -> None:
    """Make all of a **folder** so much older; after two hours what killed writers left is left alone no longer."""
    for path in (folder, *folder.rglob("*")):
        with contextlib.suppress(FileNotFoundError):
            found = path.stat()
            os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns - seconds * 10**9))


# Moments --------------------------------------------------------------------------------------------------------------


def changes(folder: Path, process: subprocess.Popen) -> Iterator[int]:
    """Counts the changes that are seen in the folders of a command, until it has ended."""
    seen, count = None, 0
    while process.poll() is None:
        now = {(path, *_changed(path)) for name in ("store", "out", "tmp") for path in _walked(folder / name)}
        if now != seen:
            seen, count = now, count + 1
            yield count
        time.sleep(0.003)


def _walked(folder: Path) -> Iterator[str]:
    for place, _, files in os.walk(folder):  # which takes folders that vanish as they are
        yield from (f"{place}/{file}" for file in (*files, "."))


def _changed(path: str) -> tuple[int, int]:
    with contextlib.suppress(OSError):
        found = os.stat(path)  # noqa: PTH116 (asked hundreds of times a second)
        return found.st_mtime_ns, found.st_size
    return 0, 0


@dataclass(frozen=True)
class Span:
    """How long a command takes, and how often its folders are seen to change."""

    seconds: float
    changes: int


@dataclass(frozen=True)
class Quiet:
    """What comes of a command that nobody disturbs."""

    span: Span
    contents: dict[str, bytes]


@contextlib.contextmanager
def _visited(row: Row, process: subprocess.Popen) -> Iterator[None]:
    """Somebody does with a command what they do, whatever becomes of it."""

    def visit() -> None:
        with contextlib.suppress(Exception):  # the command may be killed; whoever compares finds out
            assert row.visit is not None
            row.visit(process)

    thread = threading.Thread(target=visit, daemon=True)
    if row.visit:
        thread.start()
    yield
    if row.visit:
        thread.join(PATIENCE)


def quiet(row: Row, folder: Path) -> Quiet:
    """A command that nobody disturbs."""
    began = time.monotonic()
    with begun(row, folder) as process, _visited(row, process):
        count = max(changes(folder, process), default=0)
        _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, told
    return Quiet(Span(time.monotonic() - began, max(1, count)), contents(folder))


@dataclass(frozen=True)
class Struck:
    """What comes of a kill: whether there was somebody to **hit**, in words what was found, and how far it came."""

    hit: bool
    said: str
    span: Span


def struck(row: Row, folder: Path, victim: str, draw: random.Random, truth: Quiet, span: Span | None = None) -> Struck:
    """Kill a **victim** at some moment of a **span**, by default that of the **truth**; go on, and see what comes."""
    with begun(row, folder) as process, _visited(row, process):
        moment, span = _moment(process, folder, draw, span or truth.span)
        before, running, began = family(process.pid), process.poll() is None, time.monotonic()
        hit = running and VICTIMS[victim](process.pid) > 0
        _, told = process.communicate(timeout=PATIENCE)
        until(lambda: gone(before))
    after = f"it went on {time.monotonic() - began:.1f} s"
    if victim in SURVIVED or not hit:
        assert process.returncode == 0, told
    return Struck(hit, f"{victim} at {moment}, {after}: {_gone_on(row, folder, truth)}", span)


def _moment(process: subprocess.Popen, folder: Path, draw: random.Random, span: Span) -> tuple[str, Span]:
    """Wait for some moment of a **span**: which it was, and a shorter span if the command ended before it."""
    if draw.random() < 0.5:
        seconds, began = draw.uniform(0, span.seconds), time.monotonic()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            span = replace(span, seconds=time.monotonic() - began)
        return f"{seconds:.2f} s", span
    count, seen = draw.randint(1, span.changes), 0
    for seen in changes(folder, process):
        if seen >= count:
            return f"change {seen}", span
    return f"change {count}", replace(span, changes=max(1, seen))


def _gone_on(row: Row, folder: Path, truth: Quiet) -> str:
    """Start a command again, and see that nothing of what it stored is lost or made anew, and that no bit differs."""
    grown_old(folder)
    before, store = kept(folder), Store(folder / "store")
    ended(row, folder)
    for path in store.leftovers():  # as ``localax runs prune`` does
        store.discard(path)
    after, found = kept(folder), contents(folder)
    assert before.items() <= after.items(), "a result is lost, or was made again"
    assert found.keys() == truth.contents.keys(), f"left or missing: {found.keys() ^ truth.contents.keys()}"
    assert [name for name in found if found[name] != truth.contents[name]] == [], "a bit differs"
    return f"{len(before)} of {len(after)} results stored, all the same"


# Twenty moments -------------------------------------------------------------------------------------------------------


def soak(name: str, moments: int) -> None:
    """Kill the command of a row at so many **moments**; one at which it had ended, or had no such victim, is none.

    A machine is more busy or less from one run to the next: whoever came too late is earlier from then on.
    """
    row, draw = ROWS[name], random.Random(name)
    with tempfile.TemporaryDirectory() as folder:
        truth = quiet(row, Path(folder))
    said(f"{name}: {truth.span.seconds:.1f} s, {truth.span.changes} changes, {len(truth.contents)} files")
    span, hits = truth.span, 0
    while hits < moments:
        victim = row.victims[hits % len(row.victims)]
        with tempfile.TemporaryDirectory() as folder:
            found = struck(row, Path(folder), victim, draw, truth, span)
        hits, span = hits + found.hit, found.span
        said(f"{name} {hits if found.hit else 'too late or too early':>3} {found.said}")


@contextlib.contextmanager
def around(name: str) -> Iterator[None]:
    """What the command of a row needs to be there."""
    with slurm() if name.endswith("slurm") else contextlib.nullcontext({}) as environment:
        os.environ.update(environment)
        yield


def main() -> None:
    asked = share(__doc__, ROWS)
    os.environ.update(dict.fromkeys(("NPROC", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))
    for name in asked.rows:
        try:
            with around(name):
                soak(name, asked.of(20))
        except NoSlurm as reason:
            said(f"{name}: left out, no SLURM: {reason}")


if __name__ == "__main__":
    main()
