"""The command line: parses, calls, prints, and sets the numeric flags. JAX is imported inside commands only."""

import dataclasses
import datetime
import importlib
import json
import os
import subprocess
import sys
import threading
import traceback
import webbrowser
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from . import __version__, _lab_command, _predict_command, _sweep_commands
from ._errors import SettingError, setting_error, unknown
from ._options import Folder, Fresh, Json, On, Open, Out, OutOrNone
from ._system import fast

app = typer.Typer(
    name="localax",
    help="When, why and how do receptive fields in neural networks become local?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


app.command()(_predict_command.predict)
app.command()(_sweep_commands.sweep)
app.command()(_sweep_commands.plot)
app.command()(_lab_command.lab)


def main() -> None:
    """Run a command.

    0 done, 1 a claim or a check fell short or a run diverged, 2 the input was wrong, 3 a mistake of ours, 130
    interrupted.
    """
    fast()
    try:
        app()
    except (SettingError, OSError) as error:
        text = f"{error.strerror}: {error.filename}" if isinstance(error, OSError) and error.filename else str(error)
        _stop(text, 2)
    except SystemExit as end:
        if end.code == 130:  # how typer ends on Ctrl-C
            _stop("interrupted; what was finished is kept, and the same command goes on from there", 130)
        raise
    except Exception as error:
        _stop(f"a mistake of ours, sorry: {type(error).__name__}: {error} (see it all with: localax --debug ...)", 3)


def _stop(text: str, code: int) -> NoReturn:
    """One line on the error stream, the traceback before it with ``--debug``, and an exit code."""
    if DEBUG in sys.argv and code in (2, 3):
        traceback.print_exc()
    print(f"localax: {' '.join(text.split())}", file=sys.stderr, flush=True)
    if code == 130:  # XLA may still be computing, and an orderly exit would take its memory from under it
        sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def _version(asked: bool | None) -> None:
    if asked:
        print(f"localax {__version__}")
        raise typer.Exit


VERSION = typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")


DEBUG = "--debug"


@app.callback()
def _root(
    version: Annotated[bool | None, VERSION] = None,
    debug: Annotated[bool, typer.Option(DEBUG, help="Show the traceback of an error.")] = False,
) -> None:
    del version, debug


SHELVES = {
    "stimuli": ("stimuli", "ALL"),
    "marginals": ("stimuli", "MARGINALS"),
    "covariances": ("stimuli", "COVARIANCES"),
    "radials": ("stimuli", "RADIALS"),
    "networks": ("networks", "ALL"),
    "initialisers": ("networks", "INITIALISERS"),
    "experiments": ("experiments", "ALL"),
}
"""What can be listed: the room and the tuple that holds it."""


@app.command("list")
def list_(
    what: Annotated[str | None, typer.Argument(help=f"One of {', '.join(SHELVES)}; everything if left out.")] = None,
    as_json: Json = False,
) -> None:
    """List stimuli, networks, experiments and what they are made of, with settings and ranges."""
    if what is not None and what not in SHELVES:
        raise unknown("list", what, SHELVES)
    shelves = {name: _shelf(*SHELVES[name]) for name in ([what] if what else SHELVES)}
    if as_json:
        print(json.dumps(shelves, indent=1))
        return
    for name, rows in shelves.items():
        print(f"{name}\n")
        for row in rows:
            print(f"  {row['name']:<28}{row['meaning']}")
            for setting in row["settings"]:
                default = f", default {setting['default']}" if "default" in setting else ""
                print(f"      {setting['name']:<22}{setting['meaning']} ({setting['range']}{default})")
        print()


def _shelf(room: str, shelf: str) -> list[dict[str, Any]]:
    from .spec import listing

    members = getattr(importlib.import_module(f".{room}", __package__), shelf)
    if isinstance(members, dict):
        return [{**listing(member), "name": name} for name, member in members.items()]
    return [listing(member) for member in members]


@app.command()
def stimuli(
    out: Out = Path("localax-report/stimuli"),
    size: Annotated[int, typer.Option(min=20, max=2000, help="Pixels of each ring.")] = 100,
    samples: Annotated[int, typer.Option(min=100, max=1_000_000, help="Samples behind each statistic.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the samples.")] = 0,
    store: Folder = None,
    fresh: Fresh = False,
    open_: Open = False,
    as_json: Json = False,
) -> None:
    """Draw every stimulus: samples, covariance and marginal, long and short lengthscale (figure 2, extended)."""
    from . import experiments, runner

    unit = runner.experiment_unit(experiments.Stimuli(size=size, samples=samples), seed=seed)
    ran = _run_or_load([unit], store, fresh, runner.Processes())
    _publish(ran.outcomes, ran.outcomes, out, "The stimuli of Localax", open_, as_json)
    _conclude(ran)


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Experiments, or: paper (default), notes, beyond, all.")
    ] = None,
    preset: Annotated[str, typer.Option(help="quick, or paper for the paper's own sizes.")] = "quick",
    set_: Annotated[list[str] | None, typer.Option("--set", help="A setting, e.g. --set seeds=10.")] = None,
    out: OutOrNone = None,
    store: Folder = None,
    fresh: Fresh = False,
    on: On = "processes",
    cluster: Annotated[
        Path | None, typer.Option(help="A file in TOML; its table [slurm] says what to ask for.")
    ] = None,
    summary: Annotated[Path | None, typer.Option(help="Write verdicts and numbers to this file too.")] = None,
    check: Annotated[Path | None, typer.Option(help="Compare with such a file, and write no report.")] = None,
    open_: Open = False,
    as_json: Json = False,
) -> None:
    """Reproduce the paper, claim by claim, and write the report; exit 1 if a claim misses its expected verdict.

    The report shows all that is stored under this preset, so a part of the experiments updates it. With settings of
    one's own (--set) it goes to a folder of its own and nothing is expected of the claims. With --check the exit code
    is 1 if a verdict is another than in that file, or a number beyond four joint standard errors.
    """
    from . import report, runner
    from .spec import read_toml, set_pairs

    executor = runner.executor_of(on, None if cluster is None else read_toml(cluster).get(on))
    changes = {".".join(path): value for path, value in set_pairs(set_ or [])}
    _check_summaries(summary, check, preset, changes)
    units = runner.experiment_units(names, preset, changes)
    ran = _run_or_load(units, store, fresh, executor)
    if check is not None:
        _compare(ran, check, preset, as_json)
        return
    if summary is not None and not ran.failed:
        _summarise(ran, summary, preset)
    shown = ran.outcomes if changes else [*ran.outcomes, *_stored_beside(units, preset, store)]
    folder = out or Path("localax-report", *(["own"] if changes else []))
    _publish(ran.outcomes, shown, folder, report.about_the_claims(preset), open_, as_json)
    _conclude(ran)


@dataclasses.dataclass(frozen=True)
class _Ran:
    """Outcomes of experiments; the titles of all that were asked for by name, and what failed."""

    outcomes: list[Any]
    titles: dict[str, str]
    failed: dict[str, str]


def _run_or_load(units: list[Any], folder: Path | None, fresh: bool, on: Any) -> _Ran:
    from . import runner
    from .store import Store

    store = Store(folder)
    results = runner.run_with_board(units, store, on, fresh=fresh)
    outcomes = [runner.load_outcome(store, unit) for unit in results.stored]
    return _Ran(outcomes, {unit.name: unit.title for unit in units}, results.failed)


def _stored_beside(units: list[Any], preset: str, folder: Path | None) -> list[Any]:
    """The outcomes of the other experiments that are stored under a preset."""
    from . import runner
    from .store import Store

    store, asked = Store(folder), {unit.name for unit in units}
    others = [unit for unit in runner.experiment_units("all", preset) if unit.name not in asked]
    return [runner.load_outcome(store, unit) for unit in others if store.finished(unit.identity)]


def _conclude(ran: _Ran) -> None:
    """Tell what failed, and exit with 1 if a claim misses what is expected of it."""
    _tell_failures(ran.titles, ran.failed)
    if not all(claim.as_expected for outcome in ran.outcomes for claim in outcome.claims):
        raise typer.Exit(1)


def _check_summaries(summary: Path | None, check: Path | None, preset: str, changes: dict[str, Any]) -> None:
    """Refuse what does not go together before anything runs."""
    from .outcome import read_summary

    if (summary or check) and (changes or (summary and check)):
        raise SettingError("reproduce: --summary and --check are for a preset as it is (no --set), and one at a time")
    if check is not None and (found := read_summary(check)["preset"]) != preset:
        raise setting_error("reproduce", "check", check, f"of the preset {preset}; this file is of {found}")


def _compare(ran: _Ran, file: Path, preset: str, as_json: bool) -> None:
    """Say what differs from the summary of an earlier run, and exit with 1 if anything does."""
    from .outcome import differences, read_summary, summary

    found = differences(summary(ran.outcomes, preset=preset, date=""), read_summary(file))
    count = sum(len(outcome.claims) for outcome in ran.outcomes)
    if as_json:
        print(json.dumps({"file": str(file), "claims": count, "differences": found}, indent=1))
    else:
        print("\n".join([*found, f"{count} claims compared with {file}: {len(found) or 'no'} differences"]))
    _tell_failures(ran.titles, ran.failed)
    if found:
        raise typer.Exit(1)


def _summarise(ran: _Ran, file: Path, preset: str) -> None:
    from .outcome import summary, write_summary

    write_summary(file, summary(ran.outcomes, preset=preset, date=datetime.date.today().isoformat()))


def _tell_failures(titles: dict[str, str], failed: dict[str, str]) -> None:
    """One line for each unit that failed, the traceback too with ``--debug``; such a failure is a mistake of ours."""
    for name, trouble in failed.items():
        text = trouble if DEBUG in sys.argv else trouble.strip().splitlines()[-1]
        print(f"localax: {titles[name]} failed: {text}", file=sys.stderr)
    if failed:
        raise typer.Exit(3)


def _publish(outcomes: list[Any], shown: list[Any], out: Path, about: Any, open_: bool, as_json: bool) -> None:
    """Write the report on all that is shown, in the order of `localax list`, and print the claims of what was asked."""
    from . import experiments, report
    from ._progress import progress_bar
    from ._system import cores

    if not outcomes:
        return
    order = {name: i for i, name in enumerate(experiments.ALL)}
    shown = sorted(shown, key=lambda outcome: order.get(outcome.name, -1))
    with progress_bar("drawing") as update:
        page = report.publish(shown, out, about, progress=update, workers=cores())
    if as_json:
        print(json.dumps({"page": str(page), "claims": json.loads(report.claims_json(outcomes))}, indent=1))
    else:
        _print_claims(outcomes)
        print(f"report {page}")
    if open_:
        webbrowser.open(page.resolve().as_uri())


def _print_claims(outcomes: list[Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("experiment", "claim", "measured", "verdict", box=None, pad_edge=False)
    for outcome in outcomes:
        for claim in outcome.claims:
            verdict = claim.verdict if claim.as_expected else f"{claim.verdict} (expected: {claim.expected.verdict})"
            table.add_row(outcome.name, claim.sentence, claim.said, verdict)
    Console(width=None if sys.stdout.isatty() else 160).print(table)


WORDS = typer.Argument(
    metavar="[FILE.toml] [--SETTING VALUE]...", help="A file of settings, and any setting as a flag."
)


@app.command(context_settings={"ignore_unknown_options": True})
def train(
    words: Annotated[list[str] | None, WORDS] = None,
    stimulus: Annotated[str | None, typer.Option(help="A stimulus, e.g. nlgp (see: localax list stimuli).")] = None,
    network: Annotated[str | None, typer.Option(help="A network, e.g. committee (see: localax list networks).")] = None,
    init: Annotated[str | None, typer.Option(help="An initialiser (see: localax list initialisers).")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Any setting, e.g. --set init.scale=0.1.")] = None,
    store: Annotated[Path | None, typer.Option(help="Folder of stored runs.", file_okay=False)] = None,
    fresh: Annotated[bool, typer.Option(help="Run even if the same run is stored.")] = False,
    as_json: Json = False,
) -> None:
    """Train a network and keep the run: fields, loss and a picture.

    A file of settings in TOML may come first; flags override it. Every setting of the stimulus, the network, the
    initialiser and the run is a flag, for example --gain 3 --lengthscale 1,3 --units 10 --activation sigmoid
    --bias true --rate 0.05 --steps 2000 --seeds 8. A list gives one value per class.
    """
    from . import runner

    flags = list(words or [])
    file = Path(flags.pop(0)) if flags and not flags[0].startswith("--") else None
    kinds = {"stimulus": stimulus, "network": network, "init": init}
    settings = runner.typed_training(file, {name: kind for name, kind in kinds.items() if kind}, flags, set_ or [])
    _train(runner.training_unit(settings), store, fresh, as_json)


def _train(unit: Any, folder: Path | None, fresh: bool, as_json: bool) -> None:
    """Run or load one training run, and say what came of it."""
    from . import runner
    from ._progress import progress_bar
    from .store import Store

    store = Store(folder)
    if fresh or not store.finished(unit.identity):
        if (begun := unit.reached(store)) and not as_json:
            print(f"going on from step {begun}", file=sys.stderr)
        # What draws takes half a second to load, and can do so while XLA compiles.
        threading.Thread(target=importlib.import_module, args=(".report", __package__)).start()
    rows = _LiveTable(unit.plan, quiet=as_json)
    with progress_bar(unit.title, show=not as_json, steps=unit.settings.steps) as update:
        unit = dataclasses.replace(unit, follow=rows.watch)

        def watch(_: Any, fraction: float) -> None:
            update(fraction)

        results = runner.run_or_load([unit], store, runner.ThisProcess(), watch, fresh=fresh)
    rows.close()
    _tell_failures({unit.name: unit.title}, results.failed)
    trajectory = store.load(unit.name)
    _report_run(trajectory, store, unit.name, unit.name in results.loaded, as_json)
    if any(status.startswith("diverged") for status in trajectory.status):
        raise typer.Exit(1)


class _LiveTable:
    """One line a record while a run goes on: step, time, loss and localization, means over all networks."""

    def __init__(self, plan: Any, quiet: bool):
        self.plan, self.quiet, self.begun = plan, quiet, False

    def watch(self, step: int, latest: dict[str, Any]) -> None:
        import numpy as np

        from .analysis import ipr

        if self.quiet or not sys.stderr.isatty():
            return
        if not self.begun:
            print(f"{'step':>9} {'time':>9} {'loss':>9} {'IPR':>8}", file=sys.stderr)
            self.begun = True
        time = step * float(np.mean(self.plan.settings["rate"]))
        loss = float(np.mean(latest["records"].get("loss", np.nan)))
        local = float(np.mean(ipr(latest["parameters"].weights, ndim=len(self.plan.problem.task.shape))))
        print(f"{step:9d} {time:9.3g} {loss:9.4f} {local:8.4f}", file=sys.stderr)

    def close(self) -> None:
        if self.begun:
            print(file=sys.stderr)


def _report_run(trajectory: Any, store: Any, name: str, loaded: bool, as_json: bool) -> None:
    import numpy as np

    from .analysis import Kind, classify, ipr, peak

    ndim = trajectory.pixel_ndim
    fields = trajectory.final.reshape(-1, *trajectory.pixels)
    numbers = {
        "run": name,
        "folder": str(store.root / name),
        "loaded": loaded,
        "status": list(trajectory.status),
        "loss": None if trajectory.loss is None else np.asarray(trajectory.loss[..., -1], float).ravel().tolist(),
        "ipr": ipr(fields, ndim=ndim).tolist(),
        "peak": peak(fields, ndim=ndim).tolist(),
        "kind": [Kind(int(kind)).name.lower() for kind in classify(fields, ndim=ndim)],
        "picture": str(_picture(trajectory, store, name)),
    }
    if as_json:
        print(json.dumps(numbers, indent=1))
        return
    _print_fields(trajectory, numbers)
    status = {s: trajectory.status.count(s) for s in dict.fromkeys(trajectory.status)}
    print(", ".join(f"{count} {s}" for s, count in status.items()))
    print(f"{'loaded from' if loaded else 'kept in'} {numbers['folder']}\npicture {numbers['picture']}")


SHOWN = 40
"""Rows of a table of fields that are printed."""


def _print_fields(trajectory: Any, numbers: dict[str, Any]) -> None:
    """One row a field, called by its setting where settings are swept, its seed and its unit."""
    heads = "".join(f"{setting:>12} " for setting in trajectory.swept)
    print(f"{heads}{'seed':>6} {'unit':>5} {'IPR':>8} {'peak':>8}  kind")
    for i, (local, place, kind) in enumerate(zip(numbers["ipr"], numbers["peak"], numbers["kind"], strict=True)):
        if i == SHOWN:
            print(f"   ... and {len(numbers['ipr']) - SHOWN} more")
            break
        run, unit = divmod(i, trajectory.n_units)
        place_in_sweep, seed = divmod(run, trajectory.n_seeds)
        swept = "".join(f"{values[place_in_sweep]:12g} " for values in trajectory.swept.values())
        print(f"{swept}{trajectory.seeds[seed]:6d} {unit:5d} {local:8.4f} {place!s:>8}  {kind}")


def _picture(trajectory: Any, store: Any, name: str) -> Path:
    """A picture of the run beside its file, drawn when first asked for."""
    from ._disk import write_atomically
    from .analysis import evolution
    from .report import picture

    run = store.find(name)
    path = store.root / name / run.files["trajectory.npz"].replace("trajectory", "evolution").replace(".npz", ".png")
    return path if path.exists() else write_atomically(path, picture(evolution(trajectory), "png"))


# Stored results -------------------------------------------------------------------------------------------------------

ACTIONS = ("list", "show", "load", "rm", "prune")


@app.command()
def runs(
    action: Annotated[str, typer.Argument(help=f"One of {', '.join(ACTIONS)}.")] = "list",
    names: Annotated[
        list[str] | None, typer.Argument(help="Runs, as listed, or the beginnings of their names.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="load: a file to write: .npz, .nc or .csv.")] = None,
    kind: Annotated[str | None, typer.Option(help="list, rm: only of this kind, e.g. train or sweep.")] = None,
    match: Annotated[str | None, typer.Option(help="list, rm: only those whose title has this in it.")] = None,
    days: Annotated[float | None, typer.Option(min=0, help="prune: all that is older than this, too.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="prune: only say what would go.")] = False,
    store: Folder = None,
    as_json: Json = False,
) -> None:
    """List the stored results; show one, load one into a file of its own, rm some, or prune what is of no more use.

    Prune removes results of other code or libraries, which can never be loaded again, and what killed writers left.
    """
    from .store import Store

    if action not in ACTIONS:
        raise unknown("action", action, ACTIONS)
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
    else:
        acts = {"show": lambda name: _show(shelf, name, as_json), "load": lambda name: _load(shelf, name, out)}
        for name in names:
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
    print(f"{run.name}  {run.kind}: {run.title}")
    print(f"made {run.created}, {run.size / 2**20:.1f} MB in {store.root / run.name}")
    print(json.dumps(run.identity, indent=1))
    if "trajectory.npz" in run.files:
        _report_run(store.load(run.name), store, run.name, loaded=True, as_json=False)


def _load(store: Any, name: str, out: Path | None) -> None:
    """Write the trajectory of a stored training run to a file of its own."""
    from . import runner

    if out is None or out.suffix not in (".npz", ".nc", ".csv"):
        raise setting_error("runs load", "--out", str(out), "a file that ends in .npz, .nc or .csv")
    trajectory = store.load(name)
    if out.suffix == ".npz":
        trajectory.save(out)
    elif out.suffix == ".nc":
        trajectory.to_xarray().to_netcdf(out)
    else:
        runner.write_table(trajectory.to_xarray(), out)
    print(f"written {out}")


def _remove(store: Any, name: str) -> None:
    unfinished = [other.name for other in store.scan().unfinished if other.name == name]
    whole = unfinished[0] if unfinished else store.find(name).name
    store.remove(whole)
    print(f"removed {whole}")


def _prune(store: Any, days: float | None, dry_run: bool) -> None:
    from . import runner

    gone = {run.name: "made by other code or libraries" for run in runner.stale(store)}
    if days is not None:
        gone |= {run.name: f"older than {days:g} days" for run in store.older(days)}
    for name, reason in gone.items():
        print(f"{name:<17} {reason}")
        if not dry_run:
            store.remove(name)
    for path in store.leftovers():
        print(f"{path.relative_to(store.root)!s:<17} left by a writer that was killed")
        if not dry_run:
            store.discard(path)


@app.command(context_settings={"ignore_unknown_options": True})
def bench(
    what: Annotated[str, typer.Argument(help="Which benchmark, e.g. stimuli.")],
    options: Annotated[list[str] | None, typer.Argument(help="Its own options, e.g. --preset paper.")] = None,
    as_json: Json = False,
) -> None:
    """Measure speed against its targets; exit 1 if one is missed."""
    folder = _benchmarks()
    known = sorted(path.stem for path in folder.glob("[!_]*.py"))
    if what not in known:
        raise unknown("benchmark", what, known)
    command = [sys.executable, str(folder / f"{what}.py"), *(options or []), *(["--json"] if as_json else [])]
    raise typer.Exit(subprocess.run(command, check=False).returncode)


def _benchmarks() -> Path:
    """The benchmarks beside the sources, or inside an installed package."""
    here = Path(__file__).resolve().parent
    beside = here.parents[1] / "benchmarks"
    return beside if beside.is_dir() else here / "_benchmarks"


if __name__ == "__main__":
    main()
