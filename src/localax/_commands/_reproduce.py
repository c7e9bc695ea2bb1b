"""``localax reproduce`` and ``localax stimuli``: experiments, their report and their claims."""

import dataclasses
import datetime
import json
import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from .._disk import refuse_unwritable
from .._errors import SettingError, setting_error
from ._options import Folder, Fresh, Json, On, Open, Out, OutOrNone
from ._troubles import tell_failures


def stimuli(
    out: Out = Path("localax-report/stimuli"),
    size: Annotated[int, typer.Option(min=20, max=2000, help="Pixels of each ring.")] = 100,
    samples: Annotated[int, typer.Option(min=100, max=1_000_000, help="Samples behind each statistic.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of the samples.")] = 0,
    store: Folder = None,
    fresh: Fresh = False,
    open_: Open = False,
    as_json: Json = False,
) -> None:
    """Draw every stimulus: samples, covariance and marginal, long and short lengthscale (figure 2, extended)."""
    from .. import experiments, runner

    unit = runner.experiment_unit(experiments.Stimuli(size=size, samples=samples), seed=seed)
    ran = _run_or_load([unit], store, fresh, runner.Processes())
    _publish(ran.outcomes, ran.outcomes, out, "The stimuli of Localax", open_, as_json)
    _conclude(ran)


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
    from .. import report, runner
    from ..spec import read_toml, set_pairs

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
    from .. import runner
    from ..store import Store

    store = Store(folder)
    results = runner.run_with_board(units, store, on, fresh=fresh)
    outcomes = [runner.load_outcome(store, unit) for unit in results.stored]
    return _Ran(outcomes, {unit.name: unit.title for unit in units}, results.failed)


def _stored_beside(units: list[Any], preset: str, folder: Path | None) -> list[Any]:
    """The outcomes of the other experiments that are stored under a preset."""
    from .. import runner
    from ..store import Store

    store, asked = Store(folder), {unit.name for unit in units}
    others = [unit for unit in runner.experiment_units("all", preset) if unit.name not in asked]
    return [runner.load_outcome(store, unit) for unit in others if store.finished(unit.identity)]


def _conclude(ran: _Ran) -> None:
    """Tell what failed, and exit with 1 if a claim misses what is expected of it."""
    tell_failures(ran.titles, ran.failed)
    if not all(claim.as_expected for outcome in ran.outcomes for claim in outcome.claims):
        raise typer.Exit(1)


def _check_summaries(summary: Path | None, check: Path | None, preset: str, changes: dict[str, Any]) -> None:
    """Refuse what does not go together before anything runs."""
    from ..outcome import read_summary

    if (summary or check) and (changes or (summary and check)):
        raise SettingError("reproduce: --summary and --check are for a preset as it is (no --set), and one at a time")
    if summary is not None:
        if summary.exists() and not summary.is_file():
            raise setting_error("reproduce", "--summary", str(summary), "a file to write")
        refuse_unwritable(summary.absolute().parent)
    if check is not None and (found := read_summary(check)["preset"]) != preset:
        raise setting_error("reproduce", "check", check, f"of the preset {preset}; this file is of {found}")


def _compare(ran: _Ran, file: Path, preset: str, as_json: bool) -> None:
    """Say what differs from the summary of an earlier run, and exit with 1 if anything does."""
    from ..outcome import differences, read_summary, summary

    found = differences(summary(ran.outcomes, preset=preset, date=""), read_summary(file))
    count = sum(len(outcome.claims) for outcome in ran.outcomes)
    if as_json:
        print(json.dumps({"file": str(file), "claims": count, "differences": found}, indent=1))
    else:
        print("\n".join([*found, f"{count} claims compared with {file}: {len(found) or 'no'} differences"]))
    tell_failures(ran.titles, ran.failed)
    if found:
        raise typer.Exit(1)


def _summarise(ran: _Ran, file: Path, preset: str) -> None:
    from ..outcome import summary, write_summary

    write_summary(file, summary(ran.outcomes, preset=preset, date=datetime.date.today().isoformat()))


def _publish(outcomes: list[Any], shown: list[Any], out: Path, about: Any, open_: bool, as_json: bool) -> None:
    """Write the report on all that is shown, in the order of `localax list`, and print the claims of what was asked."""
    from .. import experiments, report
    from .._progress import progress_bar
    from .._system import cores

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
