"""Where to run, in a word: "processes", "dask", "dask://HOST:PORT" or "slurm"."""

import re
from collections.abc import Mapping
from typing import Any

import pydantic

from .._errors import SettingError, setting_error, unknown
from .._system import cores
from ._dask import Dask, DaskCluster
from ._executors import AbstractExecutor
from ._model import checked_by
from ._processes import Processes

PLACES = ("processes", "dask", "dask://HOST:PORT", "slurm")
"""What can be said."""


class _Settings(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", strict=True)


class _Workers(_Settings):
    workers: pydantic.PositiveInt | None = None


class _Nothing(_Settings):
    pass


class SlurmSettings(_Settings):
    """What to ask SLURM for; the names are those of dask-jobqueue."""

    jobs: pydantic.PositiveInt = 1
    """How many, side by side; one that ends before all is done is asked for again."""
    cores: pydantic.PositiveInt = 1
    """Of each job, which runs as many units at once."""
    memory: str = "2GB"
    """Of each job; a unit of the usual size takes less than 1 GB."""
    walltime: str = "01:00:00"
    """Of each job."""
    queue: str | None = None
    """The partition."""
    account: str | None = None
    """Who pays."""
    interface: str | None = None
    """The network between the nodes and this machine, such as "ib0"; None: that of the host's name."""
    python: str | None = None
    """The interpreter on the nodes; None: this one."""
    job_script_prologue: list[str] = []
    """Lines of the job's script before the worker starts."""
    job_extra_directives: list[str] = []
    """More lines for ``#SBATCH``."""
    log_directory: str | None = None
    """Where jobs write what they say."""
    local_directory: str | None = None
    """Where Dask's workers may write on the nodes."""


def executor_of(on: str, options: Mapping[str, Any] | None = None) -> AbstractExecutor:
    """The executor that **on** means: one of ``PLACES``.

    **options**: for "processes" and "dask" the number of ``workers``, for "slurm" what to ask it for.
    """
    if not isinstance(options, Mapping | None):
        raise setting_error(on, "its table", options, "a table of options")
    given = dict(options or {})
    if on.startswith("dask://"):
        _checked(on, _Nothing, given)
        return Dask(_address(on))
    if on == "processes":
        return Processes(_checked(on, _Workers, given).workers)
    if on == "dask":
        return DaskCluster("local", workers=_checked(on, _Workers, given).workers or cores())
    if on == "slurm":
        return DaskCluster("slurm", **_checked(on, SlurmSettings, given).model_dump(exclude_none=True))
    raise unknown("place to run on", on, PLACES)


def _address(on: str) -> str:
    found = re.fullmatch(r"dask://([\w.-]+|\[[0-9a-fA-F:]+\]):(\d{1,5})/?", on)
    if not found or not 0 < int(found[2]) < 65536:
        raise setting_error("on", "the scheduler", on, "given as dask://HOST:PORT")
    return f"tcp://{found[1]}:{found[2]}"


def _checked(on: str, kind: type[_Settings], given: Mapping[str, Any]) -> Any:
    """The options of a place, or the first thing that is wrong with them."""
    if given and not kind.model_fields:
        raise SettingError(f"{on}: takes no options, got {', '.join(map(str, given))}")
    return checked_by(kind, on, given, part="option")
