"""The command line: parses, calls, prints, and sets the numeric flags. JAX is imported inside commands only."""

import importlib
import json
import os
import subprocess
import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from . import __version__

app = typer.Typer(
    name="localax",
    help="When, why and how do receptive fields in neural networks become local?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Out = Annotated[Path, typer.Option("--out", help="Folder to write to.", file_okay=False)]
Open = Annotated[bool, typer.Option("--open", help="Open the page in a browser.")]


def main() -> None:
    """Run a command: 0 done, 1 a claim or a check fell short, 2 the input was wrong, 130 interrupted."""
    _set_flags()
    try:
        app()
    except (ValueError, OSError) as error:
        text = f"{error.strerror}: {error.filename}" if isinstance(error, OSError) and error.filename else str(error)
        print(f"localax: {' '.join(text.split())}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("localax: interrupted; what was finished is kept", file=sys.stderr)
        sys.exit(130)


def _set_flags() -> None:
    """One XLA thread a process (the fastest for networks of this size) and a cache of compiled programs."""
    os.environ.setdefault("NPROC", "1")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "localax" / "jax"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")


def _version(asked: bool | None) -> None:
    if asked:
        print(f"localax {__version__}")
        raise typer.Exit


VERSION = typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")


@app.callback()
def _root(version: Annotated[bool | None, VERSION] = None) -> None:
    del version


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
        raise ValueError(f"nothing called {what!r} can be listed; choose one of {', '.join(SHELVES)}")
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
    from ._settings import described

    members = getattr(importlib.import_module(f".{room}", __package__), shelf)
    if isinstance(members, dict):
        return [
            {"name": name, "meaning": module.__doc__.splitlines()[0], "settings": []}
            for name, module in members.items()
        ]
    return [described(member) for member in members]


@app.command()
def stimuli(
    out: Out = Path("localax-report/stimuli"),
    size: Annotated[int, typer.Option(min=20, max=2000, help="Pixels of each ring.")] = 100,
    samples: Annotated[int, typer.Option(min=100, max=1_000_000, help="Samples behind each statistic.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the samples.")] = 0,
    open_: Open = False,
    as_json: Json = False,
) -> None:
    """Draw every stimulus: samples, covariance and marginal, long and short lengthscale (figure 2, extended)."""
    from . import experiments
    from ._progress import progress_bar

    settings = experiments.ALL["stimuli"].Settings(size=size, samples=samples)
    with progress_bar("sampling every stimulus") as update:
        outcome = experiments.perform("stimuli", settings, seed=seed, progress=update)
    _publish([outcome], out, "The stimuli of Localax", open_, as_json)
    if not all(claim.as_expected for claim in outcome.claims):
        raise typer.Exit(1)


@app.command()
def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments, or: paper (default), notes, all.")] = None,
    preset: Annotated[str, typer.Option(help="quick, or paper for the paper's own sizes.")] = "quick",
    out: Out = Path("localax-report"),
    store: Annotated[Path | None, typer.Option(help="Folder of stored results.", file_okay=False)] = None,
    fresh: Annotated[bool, typer.Option(help="Run even what is stored.")] = False,
    open_: Open = False,
    as_json: Json = False,
) -> None:
    """Reproduce the paper, claim by claim, and write the report; exit 1 if a claim misses its expected verdict."""
    from . import runner

    wanted = runner.chosen(names)
    runner.identity(wanted[0], preset)  # a wrong preset is refused before anything starts
    outcomes, failed = runner.run_or_load(names, preset, store=store, fresh=fresh)
    for name, trouble in failed.items():
        print(f"localax: {name} failed\n{trouble}", file=sys.stderr)
    if outcomes:
        _publish(outcomes, out, REPORT, open_, as_json, INTRO.format(preset=preset))
    if failed or not all(claim.as_expected for outcome in outcomes for claim in outcome.claims):
        raise typer.Exit(1)


REPORT = "Local receptive fields: the claims, one by one"
INTRO = (
    "Two-layer networks that tell long from short correlation lengths grow localized receptive fields if the marginals "
    "of their inputs are clearly less heavy-tailed than a Gaussian, and flat or oscillating ones otherwise. A paper "
    "(seed 004) and its working notes (seeds 000 to 003) say so and say why. Here their figures and claims are run "
    "with the preset “{preset}”, each claim is measured, and a stated rule decides. Where a source is misprinted, the "
    "printed and the right setting stand side by side."
)


def _publish(outcomes: list[Any], out: Path, title: str, open_: bool, as_json: bool, intro: str = "") -> None:
    """Write a report and say where it is."""
    from . import report
    from ._progress import progress_bar
    from .runner import cores

    with progress_bar("drawing") as update:
        page = report.publish(outcomes, out, title, intro=intro, progress=update, workers=cores())
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
            verdict = claim.verdict if claim.as_expected else f"{claim.verdict} (expected: {claim.expected})"
            table.add_row(outcome.name, claim.sentence, claim.measured, verdict)
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
    from .training import read_spec, typed_settings

    flags = list(words or [])
    file = Path(flags.pop(0)) if flags and not flags[0].startswith("--") else None
    chosen = {"stimulus": stimulus, "network": network, "init": init}
    spec = read_spec(typed_settings(file, {name: kind for name, kind in chosen.items() if kind}, flags, set_ or []))
    _report_run(*_run_or_load(spec, store, fresh, quiet=as_json), as_json)


def _run_or_load(spec: Any, folder: Path | None, fresh: bool, quiet: bool) -> tuple[Any, Any, bool]:
    """The run of a spec, from the store if it is there; trained and stored otherwise."""
    from . import training
    from .analysis import evolution
    from .report import picture
    from .store import Store

    store = Store(folder)
    settings = {"spec": spec.model_dump(), "version": __version__, **training.flags()}
    if store.finished(settings) and not fresh:
        return store.load(store.folder(settings).name), store.folder(settings), True
    arguments = spec.arguments()
    if not quiet:
        print(f"this run takes {training.estimate(**arguments)}", file=sys.stderr)
    home = store.folder(settings)
    rows = _LiveTable(arguments, quiet)
    checkpoint = home.with_name(f".{home.name}.checkpoint")
    trajectory = training.train(**arguments, checkpoint=checkpoint, watch=rows.watch, progress=not quiet)
    rows.close()
    if fresh and store.finished(settings):
        store.remove(home.name)
    saved = store.save(settings, trajectory, {"evolution.png": picture(evolution(trajectory), "png")})
    if trajectory.settings["reached"] == trajectory.settings["steps"]:
        checkpoint.unlink(missing_ok=True)
    return trajectory, saved, False


class _LiveTable:
    """One line a record while a run goes on: step, time, loss and localization, means over all networks."""

    def __init__(self, arguments: dict[str, Any], quiet: bool):
        self.arguments, self.quiet, self.begun = arguments, quiet, False

    def watch(self, step: int, latest: dict[str, Any]) -> None:
        import numpy as np

        from .analysis import ipr

        if self.quiet or not sys.stderr.isatty():
            return
        if not self.begun:
            print(f"{'step':>9} {'time':>9} {'loss':>9} {'IPR':>8}", file=sys.stderr)
            self.begun = True
        time = step * float(np.mean(self.arguments["rate"]))
        loss = float(np.mean(latest["records"].get("loss", np.nan)))
        local = float(np.mean(ipr(latest["parameters"].weights, ndim=len(self.arguments["task"].shape))))
        print(f"{step:9d} {time:9.3g} {loss:9.4f} {local:8.4f}", file=sys.stderr)

    def close(self) -> None:
        if self.begun:
            print(file=sys.stderr)


def _report_run(trajectory: Any, folder: Path, loaded: bool, as_json: bool) -> None:
    import numpy as np

    from .analysis import Kind, classify, ipr, peak

    ndim = trajectory.pixel_ndim
    fields = trajectory.final.reshape(-1, *trajectory.pixels)
    numbers = {
        "run": folder.name,
        "folder": str(folder),
        "loaded": loaded,
        "status": list(trajectory.status),
        "loss": None if trajectory.loss is None else np.asarray(trajectory.loss[..., -1], float).ravel().tolist(),
        "ipr": np.asarray(ipr(fields, ndim=ndim), float).tolist(),
        "peak": np.asarray(peak(fields, ndim=ndim)).tolist(),
        "kind": [Kind(int(kind)).name.lower() for kind in np.asarray(classify(fields, ndim=ndim))],
        "picture": str(folder / "evolution.png"),
    }
    if as_json:
        print(json.dumps(numbers, indent=1))
        return
    units = trajectory.final.shape[-1 - ndim]
    print(f"{'field':>6} {'seed':>6} {'unit':>5} {'IPR':>8} {'peak':>8}  kind")
    for i, (local, place, kind) in enumerate(zip(numbers["ipr"], numbers["peak"], numbers["kind"], strict=True)):
        print(f"{i:6d} {i // units:6d} {i % units:5d} {local:8.4f} {place!s:>8}  {kind}")
        if i == 39 and len(fields) > 40:
            print(f"   ... and {len(fields) - 40} more")
            break
    status = {s: trajectory.status.count(s) for s in dict.fromkeys(trajectory.status)}
    print(", ".join(f"{count} {s}" for s, count in status.items()))
    print(f"{'loaded from' if loaded else 'kept in'} {folder}\npicture {numbers['picture']}")


@app.command()
def runs(
    store: Annotated[Path | None, typer.Option(help="Folder of stored runs.", file_okay=False)] = None,
    as_json: Json = False,
) -> None:
    """List the stored runs."""
    from dataclasses import asdict

    from .store import Store

    listing = Store(store).scan()
    if as_json:
        print(
            json.dumps(
                {"runs": [asdict(r) for r in listing.runs], "skipped": [asdict(s) for s in listing.skipped]}, indent=1
            )
        )
        return
    for run in listing.runs:
        spec = run.settings.get("spec", {})
        parts = (str(spec.get(part, {}).get("kind", "")) for part in ("stimulus", "network"))
        what = run.settings.get("experiment") or ", ".join(parts)
        print(f"{run.name:<18} {run.created:<26} {run.size / 2**20:8.1f} MB  {what}")
    for skipped in listing.skipped:
        print(f"skipped {skipped.name}: {skipped.reason}", file=sys.stderr)
    if not listing.runs:
        print("no runs stored yet; try: localax train --stimulus nlgp --gain 3 --seeds 4")


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
        raise ValueError(f"no benchmark called {what!r}; choose one of {', '.join(known)}")
    command = [sys.executable, str(folder / f"{what}.py"), *(options or []), *(["--json"] if as_json else [])]
    raise typer.Exit(subprocess.run(command, check=False).returncode)


def _benchmarks() -> Path:
    """The benchmarks beside the sources, or inside an installed package."""
    here = Path(__file__).resolve().parent
    beside = here.parents[1] / "benchmarks"
    return beside if beside.is_dir() else here / "_benchmarks"


if __name__ == "__main__":
    main()
