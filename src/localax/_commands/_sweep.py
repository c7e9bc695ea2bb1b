"""The commands on sweeps: ``localax sweep`` and ``localax plot``."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._options import Folder, Fresh, Json, On, OutOrNone, Set

if TYPE_CHECKING:
    from ..runner import SweepPlan, Swept


def sweep(
    file: Annotated[Path, typer.Argument(help="Settings in TOML with a table [sweep].", metavar="FILE.toml")],
    on: On = "processes",
    out: OutOrNone = None,
    store: Folder = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would run.")] = False,
    set_: Set = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write a table too: one row a field, as it ends.")] = False,
    fresh: Fresh = False,
    as_json: Json = False,
) -> None:
    """Train, or follow a theory or an experiment, under many settings, into one labelled file.

    The result is sweep.nc in the folder --out. What is stored already is not run again, so the same command goes on
    after any interruption. The exit code is 1 if a network diverged or a unit failed.
    """
    from .. import runner

    plan = runner.sweep_plan(file, set_ or [])
    if dry_run:
        _say_plan(plan, as_json)
        return
    folder = out or runner.default_out(file, plan)
    swept = runner.run_sweep(plan, on=on, out=folder, store=store, fresh=fresh, progress=not as_json)
    written = [swept.path, *([runner.write_csv(swept.path)] if csv else [])]
    diverged = runner.count_diverged(swept.path)
    _say_result(swept, written, diverged, as_json)
    if swept.troubles or diverged:
        raise typer.Exit(1)


def _say_plan(plan: "SweepPlan", as_json: bool) -> None:
    """Units, batches, time and disk."""
    from .._system import cores

    seconds, disk = plan.seconds(), plan.disk()
    sizes = [piece.networks for piece in plan.pieces]
    said: dict[str, Any] = {"settings": plan.design.count, "seeds": len(plan.seeds), "networks": plan.networks}
    said |= {"units": len(sizes), "programs": len(set(plan.groups)), "networks a unit": [min(sizes), max(sizes)]}
    said |= {"core seconds": round(seconds, 1), "cores": cores(), "disk bytes": int(disk)}
    if as_json:
        print(json.dumps(said, indent=1))
        return
    axes = " x ".join(f"{len(axis.places)} {'+'.join(map(plan.name, axis.paths))}" for axis in plan.design.axes)
    print(f"{axes} = {plan.design.count:,} settings, {len(plan.seeds):,} seeds: {plan.networks:,} networks")
    print(f"{len(sizes):,} units of {min(sizes)} to {max(sizes)} networks, {len(set(plan.groups))} compiled programs")
    spent = f"{seconds:,.0f} s on one core, {seconds / cores():,.0f} s on the {cores()} here, without compiling"
    print(f"about {spent}; {disk / 2**20:,.1f} MB on disk")


def _say_result(swept: "Swept", written: list[Path], diverged: int, as_json: bool) -> None:
    stored, loaded = len(swept.results.stored), len(swept.results.loaded)
    if as_json:
        said: dict[str, Any] = {"files": [str(path) for path in written], "networks": swept.plan.networks}
        said |= {"units": {"stored": stored, "loaded": loaded, "failed": swept.troubles}, "diverged": diverged}
        print(json.dumps(said, indent=1))
        return
    for trouble in swept.troubles:
        print(f"localax: failed: {trouble}", file=sys.stderr)
    if diverged:
        print(f"localax: {diverged} networks diverged; they keep their last finite state", file=sys.stderr)
    print(f"{swept.plan.networks:,} networks in {stored} units, {loaded} of them stored before")
    print("\n".join(f"written {path}" for path in written))


def plot(
    source: Annotated[Path, typer.Argument(help="The folder of a sweep, or its sweep.nc.", metavar="SWEEP")],
    x: Annotated[str, typer.Option("--x", help="The setting along the horizontal axis.")],
    y: Annotated[str, typer.Option("--y", help="A second setting, or what was measured (ipr, loss, ...).")] = "ipr",
    color: Annotated[str | None, typer.Option("--color", help="What is coloured: measured, or a setting.")] = None,
    at: Annotated[list[str] | None, typer.Option("--at", help="Another setting's value, e.g. --at rate=0.05.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The picture: .png, .svg or .pdf.", dir_okay=False)] = None,
    theory: Annotated[bool, typer.Option(help="Draw where the flat field gives way in theory.")] = True,
    as_json: Json = False,
) -> None:
    """Draw a sweep: curves with errors over seeds, or, over two settings, a phase diagram; theory's threshold in them.

    With a measured --y there is a curve for each value of the setting --color. With two settings, --color says what
    is measured. Both are means over seeds and units at the last record.
    """
    from .. import runner
    from .._notebook import Plot
    from ..spec import set_pairs

    path = source / "sweep.nc" if source.is_dir() else source
    fixed = {".".join(name): value for name, value in set_pairs(at or [])}
    figure = runner.sweep_figure(path, x, y, color, fixed, theory=theory)
    picture = Plot(figure).save(out or path.with_name(f"{'-'.join(filter(None, (x, y, color)))}.png"))
    print(json.dumps({"picture": str(picture)}) if as_json else f"picture {picture}")
