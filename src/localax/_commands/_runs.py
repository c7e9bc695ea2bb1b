"""``localax runs``: what is stored, listed, shown, taken out and thrown away."""

import dataclasses
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from .._errors import SettingError, refuse_unknown, setting_error
from ._fields import report_run
from ._options import Folder, Json

ACTIONS = ("list", "show", "load", "rm", "prune")


def runs(
    action: Annotated[str, typer.Argument(help=f"One of {', '.join(ACTIONS)}.")] = "list",
    names: Annotated[
        list[str] | None, typer.Argument(help="Runs, as listed, or the beginnings of their names.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="load: a file to write: .npz, .nc or .csv.")] = None,
    kind: Annotated[str | None, typer.Option(help="list, rm: only of this kind, e.g. train or sweep.")] = None,
    match: Annotated[str | None, typer.Option(help="list, rm: only those whose title has this in it.")] = None,
    days: Annotated[float | None, typer.Option(help="prune: all that is older than this, too.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="prune: only say what would go.")] = False,
    store: Folder = None,
    as_json: Json = False,
) -> None:
    """List the stored results; show one, load one into a file of its own, rm some, or prune what is of no more use.

    Prune removes results of other code or libraries, which can never be loaded again, and what killed writers left.
    """
    from ..store import Store

    refuse_unknown("action", action, ACTIONS)
    shelf = Store(store)
    chosen = Chosen(kind, match)
    if action == "list":
        _list_runs(shelf, chosen, as_json)
    elif action == "rm" and not names and chosen.says_something:
        for run in filter(chosen, shelf.runs()):
            _remove(shelf, run.name)
    elif action == "prune":
        _prune(shelf, days, dry_run)
    elif not names:
        raise SettingError(f"runs {action}: say which run, as in: localax runs {action} NAME")
    elif action == "load" and len(names) > 1:
        raise SettingError(f"runs load: one run goes into one file, got {len(names)} runs")
    else:
        acts = {"show": lambda name: _show(shelf, name, as_json), "load": lambda name: _load(shelf, name, out)}
        meant = [_meant(shelf, name, action) for name in names]  # all of them, before anything is done with one
        for name in meant:
            acts.get(action, lambda name: _remove(shelf, name))(name)


@dataclasses.dataclass(frozen=True)
class Chosen:
    """Which results are meant: of a kind, or with a text in their title."""

    kind: str | None
    match: str | None

    @property
    def says_something(self) -> bool:
        return self.kind is not None or self.match is not None

    def __call__(self, run: Any) -> bool:
        return self.kind in (None, run.kind) and (self.match or "").lower() in run.title.lower()


def _list_runs(store: Any, chosen: Chosen, as_json: bool) -> None:
    listing = store.scan()
    runs = list(filter(chosen, listing.runs))
    if as_json:
        rows = {"runs": [dataclasses.asdict(run) for run in runs]}
        print(json.dumps({**rows, "unfinished": [dataclasses.asdict(u) for u in listing.unfinished]}, indent=1))
        return
    print("\n".join(map(str, runs)), end="\n" if runs else "")
    for other in listing.unfinished:
        print(f"{other.name:<17} unfinished: {'interrupted' if other.request else other.reason}", file=sys.stderr)
    if not listing.runs and not listing.unfinished:
        print("no runs stored yet; try: localax train --stimulus nlgp --gain 3 --seeds 4")


def _show(store: Any, name: str, as_json: bool) -> None:
    """Say what a stored result is: identity and files; for a training run, its fields too."""
    run = store.find(name)
    if as_json:
        print(json.dumps(dataclasses.asdict(run), indent=1))
        return
    fields = store.load(run.name) if "trajectory.npz" in run.files else None  # which is refused if it is damaged
    print(f"{run.name}  {run.kind}: {run.title}")
    print(f"made {run.created}, {run.size / 2**20:.1f} MB in {store.root / run.name}")
    print(json.dumps(run.identity, indent=1))
    if fields is not None:
        report_run(fields, store, run.name, loaded=True, as_json=False)


def _load(store: Any, name: str, out: Path | None) -> None:
    """Write the trajectory of a stored training run to a file of its own."""
    from .. import runner
    from .._disk import replacing

    if out is None or out.suffix not in (".npz", ".nc", ".csv"):
        raise setting_error("runs load", "--out", str(out), "a file that ends in .npz, .nc or .csv")
    trajectory = store.load(name)
    if out.suffix == ".npz":
        trajectory.save(out)
    elif out.suffix == ".nc":
        with replacing(out) as temporary:
            trajectory.to_xarray().to_netcdf(temporary)
    else:
        runner.write_table(trajectory.to_xarray(), out)
    print(f"written {out}")


def _meant(store: Any, name: str, action: str) -> str:
    """The whole name of a result; what is unfinished can only be removed, by the whole of its own."""
    if action == "rm" and name in [other.name for other in store.scan().unfinished]:
        return name
    return store.find(name).name


def _remove(store: Any, name: str) -> None:
    store.remove(name)
    print(f"removed {name}")


def _prune(store: Any, days: float | None, dry_run: bool) -> None:
    from .. import runner

    gone = {run.name: "made by other code or libraries" for run in runner.stale(store)}
    if days is not None:
        gone |= {run.name: f"older than {days:g} days" for run in store.older(days)}
    for name, reason in gone.items():
        print(f"{name:<17} {reason}")
        if not dry_run:
            with suppress(SettingError):  # another may have removed it meanwhile
                store.remove(name)
    for path in store.leftovers():
        print(f"{path.relative_to(store.root)!s:<17} left by a writer that was killed")
        if not dry_run:
            store.discard(path)
