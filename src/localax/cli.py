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
        line = " ".join(str(error).split())
        print(f"localax: {line}", file=sys.stderr)
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


def _version(asked: bool) -> None:
    if asked:
        print(f"localax {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


SHELVES = {
    "stimuli": ("stimuli", "ALL"),
    "marginals": ("stimuli", "MARGINALS"),
    "covariances": ("stimuli", "COVARIANCES"),
    "radials": ("stimuli", "RADIALS"),
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
    out: Out = Path("localax-results/stimuli"),
    size: Annotated[int, typer.Option(min=20, max=2000, help="Pixels of each ring.")] = 100,
    samples: Annotated[int, typer.Option(min=100, max=1_000_000, help="Samples behind each statistic.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the samples.")] = 0,
    open_: Open = False,
    as_json: Json = False,
) -> None:
    """Draw every stimulus: samples, covariance and marginal, long and short lengthscale (figure 2, extended)."""
    import jax

    from . import experiments
    from ._progress import progress_bar

    gallery = experiments.ALL["stimuli"]
    with progress_bar("sampling every stimulus") as update:
        outcome = gallery.run(gallery.Settings(size=size, samples=samples), jax.random.key(seed), update)
    _publish(outcome, out, "The stimuli of Localax", open_, as_json)


def _publish(outcome: Any, out: Path, title: str, open_: bool, as_json: bool) -> None:
    """Write an outcome's page, pictures and claims, say where they are, and exit by its claims."""
    from . import report
    from ._disk import write_atomically

    page = write_atomically(out / f"{outcome.name}.html", report.page([outcome], title).encode())
    picture = write_atomically(out / f"{outcome.name}.png", report.picture(outcome.figures[0], "png"))
    claims = report.claims_json([outcome])
    write_atomically(out / "claims.json", claims.encode())
    if as_json:
        print(json.dumps({"page": str(page), "picture": str(picture), "claims": json.loads(claims)}, indent=1))
    else:
        for claim in outcome.claims:
            print(f"{claim.verdict}: {claim.sentence} {claim.measured} ({claim.basis})")
        print(f"page     {page}\npicture  {picture}")
    if open_:
        webbrowser.open(page.resolve().as_uri())
    if not all(claim.as_expected for claim in outcome.claims):
        raise typer.Exit(1)


@app.command()
def bench(
    what: Annotated[str, typer.Argument(help="Which benchmark, e.g. stimuli.")],
    as_json: Json = False,
) -> None:
    """Measure speed as ratios in one run on one thread, against targets; exit 1 if one is missed."""
    folder = _benchmarks()
    known = sorted(path.stem for path in folder.glob("[!_]*.py"))
    if what not in known:
        raise ValueError(f"no benchmark called {what!r}; choose one of {', '.join(known)}")
    command = [sys.executable, str(folder / f"{what}.py"), *(["--json"] if as_json else [])]
    raise typer.Exit(subprocess.run(command, check=False).returncode)


def _benchmarks() -> Path:
    """The benchmarks beside the sources, or inside an installed package."""
    here = Path(__file__).resolve().parent
    beside = here.parents[1] / "benchmarks"
    return beside if beside.is_dir() else here / "_benchmarks"


if __name__ == "__main__":
    main()
