"""Processes that a soak starts, finds, waits for and kills."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

PATIENCE = 900.0
"""Seconds, on a machine that does much else beside."""


def until(condition: Callable[[], object], seconds: float = PATIENCE) -> float:
    """Wait for something that must come; gives the seconds that it took."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() > began + seconds:
            raise TimeoutError("waited too long")
        time.sleep(0.02)
    return time.monotonic() - began


def python(folder: Path, *words: str, **environment: str) -> subprocess.Popen:
    """Python in a **folder**, which leads a group of processes of its own; temporary files go there too."""
    (folder / "tmp").mkdir(parents=True, exist_ok=True)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background, where no child would hear Ctrl-C
        signal.signal(signal.SIGINT, signal.default_int_handler)
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    around = {**os.environ, "TMPDIR": str(folder / "tmp"), **environment}
    return subprocess.Popen([sys.executable, *words], **streams, cwd=folder, env=around, process_group=0)


def finished(process: subprocess.Popen) -> tuple[int, str]:
    """Wait for a command: its exit code, and what it said on the error stream."""
    with process:
        _, said = process.communicate(timeout=PATIENCE)
    return process.returncode, said


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


def kill(processes: Sequence[psutil.Process]) -> int:
    """Kill what is still there of these; gives how many they were."""
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    return len(processes)


def gone(processes: Sequence[psutil.Process]) -> bool:
    """Whether none of these is left but as an entry in the system's table."""
    return all(_ended(one) for one in processes)


def _ended(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
