"""What an input does beside its answer: how long it takes, how much memory, what it writes or starts."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from localax.prediction._files import _LOADS

LONGEST = 10.0
"""Seconds that an input may take."""
LARGEST = 4 * 2**30
"""Bytes that the process may take."""

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {
    "os.mkdir": 1, "os.remove": 1, "os.rmdir": 1, "os.rename": 2, "os.link": 2, "os.truncate": 1, "os.chmod": 1,
    "os.chown": 1, "os.utime": 1, "os.symlink": 2,
}  # fmt: skip
"""Events of Python's that change files, and how many of their arguments are paths; of a link, the second is made."""
NEVER = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")
"""Events that no input may bring about, but that a .mat file is read elsewhere."""


class TooLong(BaseException):
    """An input takes longer than it may; no handler of errors in the package takes it for one of its own."""


def stopwatch() -> Callable[[], float]:
    """Gives the seconds since now, less those in which our threads waited for a processor that others had."""
    began, busy, waited = time.monotonic(), time.process_time(), _waited()
    return lambda: max(time.process_time() - busy, time.monotonic() - began - (_waited() - waited))


def _waited() -> float:
    """Seconds that all threads have waited for a processor; what compiles has threads of its own."""
    total = 0
    for thread in Path("/proc/self/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # it has ended
            total += int(thread.read_text().split()[1])
    return total / 1e9


@contextlib.contextmanager
def limited(seconds: float = LONGEST) -> Iterator[None]:
    """Raise `TooLong` in what takes more than so many seconds of its own."""
    spent = stopwatch()

    def ring(*_: Any) -> None:
        left = seconds - spent()
        if left <= 0:
            raise TooLong
        signal.setitimer(signal.ITIMER_REAL, max(left, 0.1))

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def peak(*, afresh: bool = False) -> int:
    """The most bytes that this process ever had, or since it was asked **afresh**."""
    if afresh:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


class Files:
    """Hears of every file that Python changes, through its audit events, and looks at what lies around a folder.

    The events tell of each change at its moment, wherever it is; libraries in C do not raise them, so the folder's
    neighbours are looked at too.
    """

    def __init__(self) -> None:
        self.allowed: tuple[str, ...] = ()
        self.outer, self.listens = Path(), False
        self.strange: list[str] = []
        self.changed = False
        """Whether anything was, since `heard` began."""
        self.state: Any = None
        self.hears = False

    def around(self, outer: Path, inside: Path, *also: Path) -> None:
        """Watch over what lies outside of **inside**, a folder in **outer**; **also**: where else may be written."""
        if not self.hears:  # a hook stays for as long as the process
            self.hears = True
            sys.addaudithook(self._hear)
        (outer / "beside.txt").write_text("nobody's business")
        # whoever names a place where nothing can be made is refused by the system
        self.allowed = (*(os.path.realpath(place) for place in (inside, *also)), "/dev/null", "/proc")
        self.outer, self.state = outer, _state(outer)

    @contextlib.contextmanager
    def heard(self) -> Iterator[list[str]]:
        """What happens meanwhile that should not: the list is filled when the block ends."""
        self.strange, self.listens, self.changed = [], True, False
        try:
            yield self.strange
        finally:
            self.listens = False
            if (now := _state(self.outer)) != self.state:
                self.strange.append(f"beside its folder there is {now}, not {self.state}")
                self.state = now

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.listens:
            return
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES:
            self._changes(event, arguments[0])
        elif event in CHANGES:
            first = 1 if event == "os.symlink" else 0
            for path in arguments[first : CHANGES[event]]:
                self._changes(event, path, arguments[-1])
        elif event in NEVER and not (event == "subprocess.Popen" and _LOADS in arguments[1]):
            self.strange.append(f"{event} {arguments[:2]!r:.200}")

    def _changes(self, event: str, path: Any, folder: Any = -1) -> None:
        """Take note of a change, if it is outside; **folder**: what some events take a path from, -1 for none."""
        self.changed = True
        if isinstance(path, int) or path is None:
            return
        where = Path(os.fsdecode(path))
        if event in ("os.remove", "os.rmdir", "os.mkdir") and folder > 2:
            where = Path(f"/proc/self/fd/{folder}").readlink() / where
        real = where.parent.resolve() / where.name
        if not str(real).startswith(self.allowed):
            self.strange.append(f"{event} {real}")


def _state(outer: Path) -> list[tuple[str, int, int]]:
    """Names, sizes and times of what lies in a folder; of folders in it, the names alone."""
    found = []
    for entry in os.scandir(outer):
        stat = entry.stat(follow_symlinks=False)
        found.append((entry.name, 0, 0) if entry.is_dir() else (entry.name, stat.st_size, stat.st_mtime_ns))
    return sorted(found)
