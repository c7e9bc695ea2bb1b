"""Options that several commands take, each said once."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Out = Annotated[Path, typer.Option("--out", help="Folder to write to.", file_okay=False)]
OutOrNone = Annotated[Path | None, typer.Option("--out", help="Folder to write to.", file_okay=False)]
Open = Annotated[bool, typer.Option("--open", help="Open the page in a browser.")]
Folder = Annotated[Path | None, typer.Option("--store", help="Folder of stored results.", file_okay=False)]
Fresh = Annotated[bool, typer.Option("--fresh", help="Run even what is stored.")]
On = Annotated[str, typer.Option("--on", help="Where: processes, dask, dask://HOST:PORT or slurm.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="Any setting, e.g. --set init.scale=0.1.")]
