"""Dask: a scheduler that is running, or a cluster that is started for as long as the units need it.

Dask carries requests and answers, as text. A Dask worker starts the same worker that `Processes` does
(`localax._worker`), so all executors give the same bits, and a worker of somebody's cluster need not be set up for JAX.
"""

import asyncio
import contextlib
import importlib.util
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import SettingError
from .._system import OWN_SESSION
from .._worker import ONE_THREAD, dask_stop, dask_unit
from ._executors import AbstractElsewhere, AbstractPlace, Tell

if TYPE_CHECKING:
    from distributed import Client, Future

ANSWER = 10.0
"""Seconds in which a scheduler must answer."""

LOOK = 1.0
"""Seconds after which the number of workers is asked for again."""


class Dask(AbstractElsewhere):
    """The workers of the Dask scheduler at an **address**, ``tcp://HOST:PORT``."""

    def __init__(self, address: str):
        require_dask()
        self.address = address

    @contextlib.contextmanager
    def place(self, units: int) -> Iterator["_Scheduler"]:
        del units
        with _connected(self.address) as scheduler:
            yield scheduler


class DaskCluster(AbstractElsewhere):
    """A Dask cluster that is started for some units: **kind** "local" or "slurm", with its **options**."""

    def __init__(self, kind: str, **options: Any):
        require_dask()
        self.asked = {"kind": kind, **options}

    @contextlib.contextmanager
    def place(self, units: int) -> Iterator["_Scheduler"]:
        del units
        with _started(self.asked) as address, _connected(address) as scheduler:
            yield scheduler


def require_dask() -> None:
    """Say in one line what is missing, if anything is."""
    missing = [name for name in ("dask", "distributed", "dask_jobqueue") if importlib.util.find_spec(name) is None]
    if missing:
        raise SettingError(f"this needs {', '.join(missing)}, which is not installed: pip install 'localax[cluster]'")


# A cluster of our own -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _started(asked: Mapping[str, Any]) -> Iterator[str]:
    """The address of a cluster that lives as long as the block, or as this process."""
    process = subprocess.Popen(
        [sys.executable, "-P", str(Path(__file__).with_name("_cluster.py")), json.dumps(asked)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **ONE_THREAD},
        **OWN_SESSION,
    )
    with process:
        try:
            yield _address(process, asked["kind"])
        finally:
            _end(process)


def _address(process: subprocess.Popen, kind: str) -> str:
    assert process.stdout is not None
    said = json.loads(process.stdout.readline() or '{"error": "its process ended"}')
    if "error" in said:
        raise SettingError(f"the {kind} cluster cannot be started: {said['error']}")
    return said["address"]


def _end(process: subprocess.Popen) -> None:
    """Let a cluster close, and with it its workers, by force where it must be."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(ANSWER)
    except subprocess.TimeoutExpired:
        process.kill()


# A scheduler ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _connected(address: str) -> Iterator["_Scheduler"]:
    """A scheduler, told once where its page is; what it still does for us in the end is given up."""
    from distributed import Client

    try:
        with ThreadPoolExecutor(1) as thread:  # a notebook has a loop of its own in this one
            thread.submit(asyncio.run, _greeting(address)).result()
        client = Client(address, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError, TimeoutError, MemoryError) as error:  # others begin with words, not a length
        raise SettingError(f"no Dask scheduler answers at {address} within {ANSWER:.0f} s") from error
    scheduler = _Scheduler(client, address)
    try:
        _show_page(str(client.dashboard_link))
        yield scheduler
    finally:
        scheduler.close()
        client.close()


async def _greeting(address: str) -> None:
    """Dask's own way to connect waits for ever for who takes the call and says nothing."""
    from distributed.comm.core import connect

    comm = await asyncio.wait_for(connect(address, timeout=ANSWER), ANSWER)
    await comm.close()


def _show_page(link: str) -> None:
    empty = "" if importlib.util.find_spec("bokeh") else " (empty where bokeh is not installed)"
    sys.stderr.write(f"Dask's dashboard: {link}{empty}\n")


class _Scheduler(AbstractPlace):
    """Units as tasks of Dask, no more than there are threads: whose worker dies was at that unit and no other."""

    def __init__(self, client: "Client", address: str):
        self.client, self.address = client, address
        self.run = f"localax-{secrets.token_hex(4)}"
        self.environment = {name: value for name, value in os.environ.items() if _decides_bits(name)}
        self.futures: dict[str, tuple[Future, Tell]] = {}
        self.threads, self.looked = 0, -LOOK
        client.subscribe_topic(self.run, self._progress)

    def room(self) -> int:
        if time.monotonic() > self.looked + LOOK:
            with self._scheduler_is_there():
                threads: Any = self.client.nthreads()  # a coroutine only for who asks for one
                self.threads, self.looked = sum(threads.values()), time.monotonic()
        return self.threads

    def begin(self, request, tell) -> None:
        text = json.dumps({"request": request, "environment": self.environment})
        key = f"localax-{request['name']}-{secrets.token_hex(4)}"
        with self._scheduler_is_there():
            future = self.client.submit(dask_unit, self.run, text, key=key, pure=False)
            self.futures[request["name"]] = future, tell
            future.add_done_callback(lambda done, name=request["name"]: self._finish(name, done))

    def _progress(self, event: tuple[float, dict[str, Any]]) -> None:
        _, said = event
        if said["name"] in self.futures:
            self.futures[said["name"]][1]({"fraction": said["fraction"]})

    def _finish(self, name: str, future: "Future") -> None:
        _, tell = self.futures.pop(name)
        tell(_answer(future))

    @contextlib.contextmanager
    def _scheduler_is_there(self) -> Iterator[None]:
        try:
            if self.client.status != "running":
                raise ConnectionError
            yield
        except (OSError, RuntimeError) as error:
            text = f"the Dask scheduler at {self.address} was lost; what was finished is kept, and asking again goes on"
            raise ConnectionError(text) from error

    def close(self) -> None:
        """Give up what is not done, and end the workers that this run has inside of Dask's."""
        futures = [future for future, _ in self.futures.values()]
        with contextlib.suppress(Exception):  # nothing of this matters where the scheduler is gone
            if self.client.status == "running":
                self.client.cancel(futures)
                self.client.run(dask_stop, self.run, on_error="ignore")


def _decides_bits(name: str) -> bool:
    """Whether a variable of the environment must be the same for all workers; a folder of this machine need not be."""
    return name.startswith(("JAX_", "XLA_")) and "CACHE" not in name


def _answer(future: "Future") -> dict[str, Any]:
    """What came of a unit: done, what its worker says went wrong, or that a Dask worker died."""
    from distributed import KilledWorker

    if future.status == "cancelled":
        return {"error": "its task of Dask was cancelled"}
    error = future.exception()
    if error is None:
        return {"done": True}
    if isinstance(error, KilledWorker):
        return {"error": "its Dask worker died", "times": error.allowed_failures + 1}
    with contextlib.suppress(ValueError):
        return dict(json.loads(str(error)))
    return {"error": f"{type(error).__name__}: {error}"}
