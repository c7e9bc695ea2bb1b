"""A store under bad circumstances: a full disk, a folder that may only be read, a clock set back, many processes.

``make soak`` does all of it, ``.ci/run`` a hundredth.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from localax.store import Store
from soak.crowd import crowd
from soak.kills import ROWS, SMALL, begun, contents, ended, grown_old, prepare
from soak.processes import finished, python, until
from soak.share import Share, said, share

TRAIN = ROWS["train"].words
SEEN = (("runs",), ("runs", "--json"), ("runs", "prune", "--dry-run"), TRAIN[:2])
"""What needs nothing to be written where a run is stored."""
WRITTEN = (
    ("runs", "rm", "--kind", "train"),
    ("train", "train.toml", "--data_seed", "1"),
    ("sweep", "sweep.toml", "--out", "out"),
    ("reproduce", "kurtosis", *SMALL, "--out", "out"),
)
"""What writes."""


def told(folder: Path, *words: str) -> tuple[int, str]:
    """``localax`` with the store of a **folder**: its exit code, and what it says, one line where it refuses."""
    code, text = finished(python(folder, "-m", "localax", *words, "--store", "store"))
    assert "Traceback" not in text, text
    refusals = [line for line in text.splitlines() if line.startswith("localax: ")]
    assert len(refusals) == (code != 0), text
    return code, refusals[0] if refusals else ""


# Disks ----------------------------------------------------------------------------------------------------------------


class NoMount(RuntimeError):
    """Why no disk of one's own can be had here."""


@contextlib.contextmanager
def disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """A disk of so many **kilobytes** at a **folder**."""
    folder.mkdir(parents=True, exist_ok=True)
    _mount("-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def remount(folder: Path, option: str) -> None:
    """Change an **option** of the disk at a **folder**, such as "ro" or "size=10m"."""
    _mount("-o", f"remount,{option}", str(folder))


def _mount(*words: str) -> None:
    try:
        subprocess.run(["mount", *words], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoMount(getattr(error, "stderr", "") or str(error)) from error


def filled(folder: Path, kilobytes: int) -> str:
    """Save results to a small disk until it is full, then replace them: each is there whole, the old or the new."""
    old, new = os.urandom(8000), os.urandom(9000)
    with disk(folder, kilobytes):
        store = Store(folder / "store")
        count = next(n for n in range(1000) if not _saved(store, n, old))
        replaced = sum(_saved(store, n, new) for n in range(count))
        assert len(store.runs()) == count, "a result is lost"
        held = [store.read(run.name, "numbers.bin") for run in store.runs()]
        assert sum(data == new for data in held) == replaced
        assert sum(data == old for data in held) == count - replaced
        assert len([path for path in store.root.rglob("*") if path.is_file()]) == 2 * count, "something is left"
        remount(folder, "size=100m")
        assert _saved(store, count, old)
    return f"{count} results on {kilobytes} kB, {replaced} of them replaced"


def _saved(store: Store, n: int, data: bytes) -> bool:
    try:
        return bool(store.save({"n": n}, {"numbers.bin": data}, replace=True))
    except OSError:
        return False


def full(folder: Path, words: tuple[str, ...], kilobytes: int) -> str:
    """Have a command done on a small disk: it says so in one line, and goes on when there is room."""
    with disk(folder, kilobytes):
        prepare(folder)
        code, text = told(folder, *words)
        assert code in (0, 2), text
        remount(folder, "size=200m")
        grown_old(folder)
        assert told(folder, *words)[0] == 0
        assert contents(folder)
    return f"{words[0]} on {kilobytes} kB: {text or 'there was room'}"


def full_disks(asked: Share) -> Iterator[str]:
    for i in range(asked.of(20)):
        with tempfile.TemporaryDirectory() as folder:
            yield filled(Path(folder) / "disk", 60 + 10 * i)
    for words in WRITTEN[1 : 1 + asked.of(3)]:
        for kilobytes in (8, 40, 100)[: asked.of(3)]:
            with tempfile.TemporaryDirectory() as folder:
                yield full(Path(folder) / "disk", words, kilobytes)


def read_only(asked: Share) -> Iterator[str]:
    """What is stored is listed and loaded; what would have to be written is refused, in one line and at once."""
    with tempfile.TemporaryDirectory() as place, disk(Path(place) / "disk", 10_000) as folder:
        ended(ROWS["train"], folder)
        (folder / "out").mkdir()
        before = contents(folder)
        remount(folder, "ro")
        for words in SEEN[-asked.of(4) :]:
            code, text = told(folder, *words)
            assert (code, text) == (0, ""), text
            yield f"{' '.join(words)}: as ever"
        for words in WRITTEN[: asked.of(4)]:
            code, text = told(folder, *words)
            assert (code, "Read-only" in text) == (2, True), (code, text)
            yield text
        assert contents(folder) == before


# Clocks ---------------------------------------------------------------------------------------------------------------


YEAR = 365 * 86400
"""Seconds."""


def clock_set_back(asked: Share) -> Iterator[str]:
    """A store, and a run that was killed, all from a year ahead: as it looks when the clock has been set back."""
    with tempfile.TemporaryDirectory() as place:
        folder, row = Path(place), ROWS["train"]
        ended(row, folder)
        truth = contents(folder)
        shutil.rmtree(folder / "store")
        with begun(row, folder):
            until(lambda: [*folder.glob("store/*/scratch/checkpoint/state.npz")])
        grown_old(folder, -YEAR)
        ended(row, folder)
        assert contents(folder) == truth
        grown_old(folder, -YEAR)
        for words in SEEN[: asked.of(4)]:
            assert told(folder, *words) == (0, "")
        assert contents(folder) == truth
        yield "a killed run from a year ahead went on, and what is stored is listed, kept and loaded: all the same"


CASES: dict[str, Callable[[Share], Iterator[str]]] = {
    "full disk": full_disks,
    "read-only folder": read_only,
    "clock set back": clock_set_back,
    "two processes": lambda asked: crowd(2, 300 * asked.share),
    "ten processes": lambda asked: crowd(10, 300 * asked.share),
}


def main() -> None:
    asked = share(__doc__, CASES)
    for name in asked.rows:
        try:
            for line in CASES[name](asked):
                said(f"{name}: {line}")
        except NoMount as reason:
            said(f"{name}: left out, no disk of one's own: {reason}")


if __name__ == "__main__":
    main()
