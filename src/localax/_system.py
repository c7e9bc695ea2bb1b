"""What depends on the operating system, each with its fall-back; nothing else in this package asks which one it is."""

import contextlib
import ctypes
import functools
import gc
import math
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

OWN_SESSION: dict[str, Any] = {"creationflags": 0x200} if sys.platform == "win32" else {"start_new_session": True}
"""Options of ``subprocess`` for a process that Ctrl-C on the terminal does not reach."""


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """Bytes of this machine's memory; 16 GB where it does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 16 * 2**30


def resident() -> int | float:
    """Bytes that this process takes; where nobody tells, as many as there can be."""
    with contextlib.suppress(OSError, AttributeError, ValueError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(ImportError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return math.inf


def forget_programs(beyond: float = 1e9) -> None:
    """Where this process takes more bytes than that, let go of what JAX has compiled, and give the memory back.

    Programs add up to gigabytes, and only the small ones serve again; two workers and who asks them stay below 3 GB.
    """
    if "jax" in sys.modules and resident() > beyond:
        sys.modules["jax"].clear_caches()
        gc.collect()
        with contextlib.suppress(OSError, AttributeError, TypeError):
            ctypes.CDLL(None).malloc_trim(0)  # glibc would keep nearly all of what is freed


def pieces() -> int:
    """How many pieces of memory this process has mapped; a compiled program has hundreds."""
    with contextlib.suppress(OSError):
        return Path("/proc/self/maps").read_bytes().count(b"\n")
    return 0


@functools.cache
def most_pieces() -> int | float:
    """How many of them a process may have, where that is limited."""
    with contextlib.suppress(OSError, ValueError):
        return int(Path("/proc/sys/vm/max_map_count").read_text())
    return math.inf


LOOK = 64 * 2**20
"""Bytes that a process grows by, or shrinks, before its pieces are counted again, which takes milliseconds."""
_seen = 0.0


def make_room() -> None:
    """Forget what is compiled where that comes near the most pieces of memory that a process may have.

    At the next program XLA would end the process: some 160 trainings of different sizes come to that.
    """
    global _seen  # noqa: PLW0603 (the process's own)
    if "jax" not in sys.modules or abs(resident() - _seen) < LOOK:
        return
    if pieces() > most_pieces() / 2:
        forget_programs(0)
    _seen = resident()


def fast() -> None:
    """Let JAX work in one thread and keep what it compiles for the next process, as the command line does.

    One thread is the fastest for networks of this size, and what is kept is not compiled again. To be called before JAX
    has computed anything; what the environment says already is left as it is.
    """
    flags: dict[str, Any] = {"jax_persistent_cache_min_compile_time_secs": 0.1}
    with contextlib.suppress(RuntimeError):  # nobody's home
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "localax" / "jax"
        flags["jax_compilation_cache_dir"] = str(cache)
    os.environ.setdefault("NPROC", "1")
    for name, value in flags.items():
        if os.environ.setdefault(name.upper(), str(value)) == str(value) and "jax" in sys.modules:
            sys.modules["jax"].config.update(name, value)  # it has read the environment before


def no_backend() -> str:
    """Why JAX, where it is loaded, computes nothing at all, as on a GPU that is not there; empty if it does."""
    try:
        if "jax" in sys.modules:
            sys.modules["jax"].devices()
    except Exception as error:  # of many kinds, some of them without words
        asked = os.environ.get("JAX_PLATFORMS", "")
        said = f" on {asked}, as JAX_PLATFORMS asks" if asked else ""
        return f"JAX cannot begin{said}: {str(error) or type(error).__name__}"
    return ""


def mend_cache() -> None:
    """Have what JAX kept compiled, and cannot read, removed, so that it is kept anew; JAX itself warns for ever.

    A killed process, or a full disk, leaves it half-written. That nothing can be kept is for ``localax doctor`` to say.
    To be called in a program that is all ours.
    """
    show = warnings.showwarning

    def mend(message: Warning | str, *rest: Any, **named: Any) -> None:
        found = re.match(r"Error (?:reading|writing) persistent compilation cache entry for '([\w-]+)'", str(message))
        if found is None:
            show(message, *rest, **named)
            return
        for path in Path(os.environ.get("JAX_COMPILATION_CACHE_DIR", "")).glob(f"{found[1]}-*-cache"):
            with contextlib.suppress(OSError):  # a cache that may only be read
                path.unlink()

    warnings.showwarning = mend


def sync_folder(folder: Path) -> None:
    """Make renames inside a folder survive a power cut, where the system can."""
    with contextlib.suppress(OSError):  # some systems and network disks cannot open or sync a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def rename(old: Path, new: Path) -> None:
    """Rename a file or folder at one stroke; a system that refuses while somebody reads it says so in one line."""
    try:
        os.replace(old, new)  # noqa: PTH105 (the name that the tests interrupt)
    except PermissionError as error:
        raise PermissionError(
            error.errno, "in use by another program, which this system does not allow", new
        ) from error


@contextlib.contextmanager
def own_folder(prefix: str) -> Iterator[Path]:
    """A temporary folder while the block lasts; those that killed processes left under this **prefix** are deleted.

    Whoever lives holds a lock in its folder, which the system lets go of however a process ends. Where there are no
    such locks, nothing of others is deleted.
    """
    for other in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError, AttributeError):  # not every system has owners
            if other.lstat().st_uid != os.getuid() or not (other / _LOCK).is_file():
                continue  # somebody else's, who may have put there what is waited for
            with (other / _LOCK).open() as file:
                if _locked(file):
                    shutil.rmtree(other, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix) as folder, (Path(folder) / _LOCK).open("w") as file:
        _locked(file)
        yield Path(folder)


_LOCK = ".lock"


def _locked(file: IO[str]) -> bool:
    """Lock a file until it is closed; False where another has it, or nobody can."""
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def say_no_more() -> None:
    """What could not be printed is not tried again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def ignore_interrupts() -> None:
    """Leave Ctrl-C to the parent, which ends this process when all is said."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def end_with_parent() -> None:
    """Leave Ctrl-C to the parent of this process of a pool, and end when it does: a pool's own waits for ever."""
    import multiprocessing  # which takes 25 ms

    ignore_interrupts()
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()


@contextlib.contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed, to be asked between two pieces of work; a second press acts at once.

    Python raises an interruption at whatever line it meets, and forgets one that it meets in a destructor.
    """
    pressed = []

    def press(*arguments: Any) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(arguments)

    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield lambda: False  # Ctrl-C is ignored here, or another thread's
        return
    signal.signal(signal.SIGINT, press)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def terminated_as_interrupt() -> Iterator[None]:
    """Let a polite end (SIGTERM) be taken as Ctrl-C, so that what is done is kept."""

    def interrupt(*arguments: Any) -> None:
        press = signal.getsignal(signal.SIGINT)
        (press if callable(press) else signal.default_int_handler)(*arguments)

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
