"""``localax bench``: speed against its targets."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from .._errors import refuse_unknown
from ._options import Json


def bench(
    what: Annotated[str, typer.Argument(help="Which benchmark, e.g. stimuli.")],
    options: Annotated[list[str] | None, typer.Argument(help="Its own options, e.g. --preset paper.")] = None,
    as_json: Json = False,
) -> None:
    """Measure speed against its targets; exit 1 if one is missed."""
    folder = _benchmarks()
    known = sorted(path.stem for path in folder.glob("[!_]*.py"))
    refuse_unknown("benchmark", what, known)
    command = [sys.executable, str(folder / f"{what}.py"), *(options or []), *(["--json"] if as_json else [])]
    raise typer.Exit(subprocess.run(command, check=False).returncode)


def _benchmarks() -> Path:
    """The benchmarks beside the sources, or inside an installed package."""
    here = Path(__file__).resolve().parents[1]
    beside = here.parents[1] / "benchmarks"
    return beside if beside.is_dir() else here / "_benchmarks"
