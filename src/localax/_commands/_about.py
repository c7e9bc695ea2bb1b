"""``localax doctor`` and ``localax cite``: whether it works here, and what to cite."""

import dataclasses
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import webbrowser
from collections.abc import Callable
from pathlib import Path

import typer

from .. import __version__
from .._disk import refuse_unwritable
from .._errors import one_line
from .._system import no_backend
from ._options import Folder, Json

PAPER = """@inproceedings{lufkin2024nonlinear,
  title     = {Nonlinear dynamics of localization in neural receptive fields},
  author    = {Lufkin, Leon and Saxe, Andrew and Grant, Erin},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {37},
  year      = {2024},
}"""
SOFTWARE = f"""@software{{localax,
  title   = {{Localax: a laboratory for localized receptive fields}},
  author  = {{{{The Localax developers}}}},
  version = {{{__version__}}},
  license = {{Apache-2.0}},
}}"""


def cite(as_json: Json = False) -> None:
    """Print what to cite, in BibTeX: the paper whose theory this is, and the software."""
    print(json.dumps({"paper": PAPER, "software": SOFTWARE}, indent=1) if as_json else f"{PAPER}\n\n{SOFTWARE}")


@dataclasses.dataclass(frozen=True)
class Finding:
    """What was looked at, what was found, and whether that is fine; ``fine`` is None where it is only missing."""

    name: str
    said: str
    fine: bool | None = True

    def __str__(self) -> str:
        mark = {True: "ok", False: "TROUBLE", None: "-"}[self.fine]
        return f"{mark:<8}{self.name:<14}{self.said}"


def doctor(store: Folder = None, as_json: Json = False) -> None:
    """Look at what Localax needs and can use here; exit 1 if something that it needs does not work."""
    looks: dict[str, Callable[[], Finding]] = {
        "versions": _versions, "JAX": _backend, "threads": _threads, "cache": _cache, "store": lambda: _store(store),
        "browser": _browser, **{name: _extra(name) for name in EXTRAS}, "SLURM": _slurm,
    }  # fmt: skip
    findings = [_looked(name, look) for name, look in looks.items()]
    print(json.dumps([dataclasses.asdict(f) for f in findings], indent=1) if as_json else "\n".join(map(str, findings)))
    if any(finding.fine is False for finding in findings):
        raise typer.Exit(1)


def _looked(name: str, look: Callable[[], Finding]) -> Finding:
    """What was found, or why nobody could look: that is what is asked for."""
    try:
        return look()
    except Exception as error:
        return Finding(name, one_line(f"{type(error).__name__}: {error}", 200), False)


PARTS = ("jax", "jaxlib", "numpy", "scipy", "equinox", "diffrax", "matplotlib")
EXTRAS = {"lab": ("fastapi", "plotly", "uvicorn"), "cluster": ("dask", "distributed", "dask_jobqueue")}
"""What brings the page, and other machines."""


def _versions() -> Finding:
    parts = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PARTS)
    return Finding("versions", f"localax {__version__}, Python {platform.python_version()}, {parts}")


def _backend() -> Finding:
    """Whether what JAX finds computes what it should."""
    import jax
    import numpy as np

    if why := no_backend():
        return Finding("JAX", one_line(why, 200), False)
    devices = ", ".join(str(device) for device in jax.devices())
    found = float(jax.jit(lambda x: (x * x).sum())(np.arange(10.0)))
    said = f"{jax.default_backend()} ({devices})"
    return Finding("JAX", said if found == 285 else f"{said} sums the first nine squares to {found:g}", found == 285)


def _threads() -> Finding:
    from .._system import cores, memory

    said = f"{cores()} cores, {memory() / 2**30:.0f} GB; one XLA thread a process" if _one_thread() else (
        f"{cores()} cores; NPROC is {os.environ['NPROC']}, and 1 is the fastest for networks of this size"
    )  # fmt: skip
    return Finding("threads", said)


def _one_thread() -> bool:
    return os.environ.get("NPROC") == "1"


def _cache() -> Finding:
    """Where compiled programs are kept; a command compiles everything again without it."""
    folder = Path(os.environ["JAX_COMPILATION_CACHE_DIR"])
    trouble = _unwritable(folder)
    return Finding("cache", trouble or f"{folder} ({_megabytes(folder):.0f} MB)", not trouble)


def _store(folder: Path | None) -> Finding:
    from ..store import Store

    store = Store(folder)
    trouble = _unwritable(store.root)
    return Finding("store", trouble or f"{store.root.resolve()}, {len(store.runs())} results", not trouble)


def _unwritable(folder: Path) -> str:
    """Why nothing can be written to a folder; empty if it can be."""
    try:
        refuse_unwritable(folder)
    except OSError as error:
        return f"{folder} cannot be written to: {error.strerror}"
    return ""


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.glob("*") if path.is_file()) / 2**20


def _browser() -> Finding:
    try:
        return Finding("browser", str(getattr(webbrowser.get(), "name", "found")))
    except webbrowser.Error:
        return Finding("browser", "none found; reports are files, to be opened elsewhere", None)


def _extra(name: str) -> Callable[[], Finding]:
    def look() -> Finding:
        missing = [part for part in EXTRAS[name] if importlib.util.find_spec(part) is None]
        said = f"not installed; it comes with: pip install 'localax[{name}]'" if missing else "installed"
        return Finding(name, said, None if missing else True)

    return look


def _slurm() -> Finding:
    found = shutil.which("sbatch")
    return Finding("SLURM", found or "no sbatch here", True if found else None)
