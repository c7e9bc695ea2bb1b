"""The report, browsable: claims and figures of what is stored, and experiments that are run again."""

import dataclasses
import functools
import html
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import experiments, runner
from .._errors import refuse_unknown, setting_error, unknown
from ..outcome import Figure, Outcome, read_summary
from ..report import as_csv, picture, with_formulas
from ..store import Store
from ._numbers import json_line, listed
from ._work import Gone

MEDIA = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
PRESETS = ("quick", "paper")
CLAIM = ("sentence", "verdict", "as_expected", "said", "source", "rule", "reported", "basis", "reason")
"""What of a claim is shown."""


def stored_outcomes(store: Store, preset: str) -> dict[str, Outcome]:
    """What is stored under a **preset**, by the name of the experiment."""
    refuse_unknown("preset", preset, PRESETS)
    units = [unit for unit in runner.experiment_units("all", preset) if store.finished(unit.identity)]
    return {unit.title: _outcome(store.root, unit.name) for unit in units}


@functools.lru_cache(128)
def _outcome(root: Path, name: str) -> Outcome:
    """A stored outcome; names are those of contents, so what is read once stays."""
    return Outcome.from_bytes(Store(root).read(name, "outcome.npz"), name=name)


def report(store: Store, preset: str) -> dict[str, Any]:
    """Every experiment with its claims and figures where it is stored, and how many claims have each verdict."""
    outcomes = stored_outcomes(store, preset)
    claims = known_claims(outcomes)
    shown = [_experiment(name, outcomes.get(name), claims.get(name, []), preset) for name in experiments.ALL]
    verdicts = [claim["verdict"] for one in shown for claim in one["claims"]]
    counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
    return {"preset": preset, "counts": counts, "experiments": shown}


def _experiment(name: str, outcome: Outcome | None, claims: list[dict[str, Any]], preset: str) -> dict[str, Any]:
    kind = experiments.ALL[name]
    head = {"name": name, "title": kind.title, "chapter": experiments.chapter_of(name) or "lab", "claims": claims,
            "question": (kind.__doc__ or "").strip().splitlines()[0]}  # fmt: skip
    if outcome is None:
        return {**head, "stored": False, "text": "", "seconds": kind.cost, "figures": []}
    return {
        **head,
        "stored": True,
        "text": _pieces(outcome.text),
        "seconds": outcome.seconds,
        "figures": _figures(outcome, preset),
    }


def _pieces(text: str) -> list[dict[str, str]]:
    """A text as words and formulas in turn."""
    parts = re.split(r"(<math.*?</math>)", str(with_formulas(text)))
    return [{"mathml": part} if part.startswith("<math") else {"words": html.unescape(part)} for part in parts if part]


def _figures(outcome: Outcome, preset: str) -> list[dict[str, Any]]:
    def at(index: int, form: str) -> str:
        return f"/api/report/{outcome.name}/{index}.{form}?preset={preset}"

    return [
        {"index": i, "title": figure.title, "caption": figure.caption, "svg": at(i, "svg"), "png": at(i, "png"),
         "csv": at(i, "csv"), "data": at(i, "json")}
        for i, figure in enumerate(outcome.figures)
    ]  # fmt: skip


def known_claims(outcomes: Mapping[str, Outcome]) -> dict[str, list[dict[str, Any]]]:
    """The claims of every experiment: those stored, else those that were found with the paper's preset and kept."""
    stored = {name: [_claim(claim) for claim in outcome.claims] for name, outcome in outcomes.items()}
    return {**_kept_claims(), **stored}


def _claim(claim: Any) -> dict[str, Any]:
    return {name: getattr(claim, name) for name in CLAIM}


@functools.cache
def _kept_claims() -> dict[str, list[dict[str, Any]]]:
    """Verdicts of the paper preset that come with this package, or stand beside its sources."""
    package = Path(__file__).parents[1]
    places = (package / "_paper_preset.json", package.parents[1] / "docs" / "paper_preset.json")
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        return {}
    empty = {"as_expected": True, "rule": "", "reported": "", "basis": "the paper preset"}
    return {
        one["name"]: [{**empty, **{name: claim[name] for name in CLAIM if name in claim}} for claim in one["claims"]]
        for one in read_summary(file)["experiments"]
    }


def picture_of(store: Store, name: str, preset: str, index: int, form: str) -> tuple[bytes, str]:
    """A figure of a stored experiment in a **form**, and the type of that."""
    if name not in experiments.ALL:
        raise Gone(str(unknown("experiment", name, experiments.ALL)))
    outcome = _stored(store, name, preset)
    if not 0 <= index < len(outcome.figures):
        raise Gone(f"{name} has {len(outcome.figures)} figures, counted from 0")
    if form == "csv":
        return as_csv(outcome.figures[index]), "text/csv"
    if form == "json":
        return json_line(_as_data(outcome.figures[index])).encode(), "application/json"
    if form not in MEDIA:
        raise setting_error("report", "form", form, f"one of {', '.join([*MEDIA, 'csv', 'json'])}")
    return picture(outcome.figures[index], form), MEDIA[form]


def _as_data(figure: Figure) -> dict[str, Any]:
    """The panels of a figure under their own names, arrays as lists."""
    rows = [[{"kind": type(panel).__name__, **_listed(panel)} for panel in row] for row in figure.rows]
    return {"title": figure.title, "caption": figure.caption, "labels": list(figure.labels), "rows": rows}


def _listed(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {field.name: _listed(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: _listed(item) for name, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, tuple) else listed(value)


def _stored(store: Store, name: str, preset: str) -> Outcome:
    refuse_unknown("preset", preset, PRESETS)
    unit = runner.experiment_units(name, preset)[0]
    if not store.finished(unit.identity):
        raise Gone(f"{name} is not stored under the preset {preset}; run it first")
    return _outcome(store.root, unit.name)


def reproduce_request(store: Store, name: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """What a process is asked to run an experiment again."""
    preset = body.get("preset", "quick")
    refuse_unknown("preset", preset, PRESETS)
    refuse_unknown("experiment", name, experiments.ALL)
    return {
        "job": "reproduce",
        "name": name,
        "preset": preset,
        "fresh": bool(body.get("fresh", True)),
        "root": str(store.root),
    }


def work(request: Mapping[str, Any], tell: Any, inbox: Any) -> dict[str, Any]:
    """Run the experiment that a **request** names, tell how far it is, and store what comes of it."""
    store = Store(Path(request["root"]))
    units = runner.experiment_units(request["name"], request["preset"])

    def watch(_: Any, fraction: float) -> None:
        if (message := inbox.next(block=False)) and message.get("word") == "stop":
            raise RuntimeError("stopped")
        tell("progress", float(fraction))

    ran = runner.run_or_load(units, store, runner.ThisProcess(), watch, fresh=request["fresh"])
    for trouble in ran.failed.values():
        raise RuntimeError(trouble.strip().splitlines()[-1])
    claims = runner.load_outcome(store, units[0]).claims
    return {"name": request["name"], "claims": json.loads(json.dumps([_claim(claim) for claim in claims]))}
