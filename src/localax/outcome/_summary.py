"""Many outcomes in one small file: verdicts and numbers with their errors, kept to be compared with a later run."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .._disk import StrPath, read_text, write_atomically
from .._errors import SettingError
from ._outcome import Outcome

FAR = 4.0
"""Joint standard errors beyond which two measurements of one number differ."""
KEPT = ("sentence", "source", "verdict", "said", "reason")
"""What of a claim is kept beside its numbers."""


def summary(outcomes: Sequence[Outcome], *, preset: str, date: str) -> dict[str, Any]:
    """Verdicts and numbers of the **outcomes**, as plain data.

    **preset**: that they were made with. **date**: of today, as it shall be written.
    """
    versions = {name: version for outcome in outcomes for name, version in outcome.versions.items()}
    return {"preset": preset, "date": date, "versions": versions, "experiments": [_experiment(o) for o in outcomes]}


def _experiment(outcome: Outcome) -> dict[str, Any]:
    parts = {"name": outcome.name, "chapter": outcome.chapter, "title": outcome.title, "origin": outcome.origin}
    return {**parts, "seconds": round(outcome.seconds, 1), "claims": [_claim(claim) for claim in outcome.claims]}


def _claim(claim: Any) -> dict[str, Any]:
    numbers = [{name: _finite(part) for name, part in asdict(number).items()} for number in claim.measured]
    return {**{name: getattr(claim, name) for name in KEPT}, "measured": numbers}


def _finite(part: Any) -> Any:
    """JSON knows no infinity; what is said of the number in words does."""
    return None if isinstance(part, float) and not math.isfinite(part) else part


def write_summary(path: StrPath, found: Mapping[str, Any]) -> None:
    """Write what ``summary`` has **found** to the file **path**, or leave what is there as it is."""
    write_atomically(path, (json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())


def read_summary(path: StrPath) -> dict[str, Any]:
    """The summary in the file **path**."""
    text = read_text(path)
    try:
        found = json.loads(text)
        if not isinstance(found["preset"], str):
            raise TypeError
        for _, claim in _claims(found):
            list(_apart(claim, claim))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SettingError(f"{path}: is no summary that --summary wrote ({type(error).__name__})") from error
    return found


def differences(now: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """What differs between two summaries, one line each, in the experiments that **now** has; **before** may have more.

    Another verdict, a claim that only one of them has, or a number beyond four joint standard errors. Numbers without
    standard errors are not compared: their verdict is.
    """
    asked = {experiment["name"] for experiment in now["experiments"]}
    new, old = dict(_claims(now)), {key: claim for key, claim in _claims(before) if key[0] in asked}
    lines = [f"{name}: not in the summary before: {sentence}" for name, sentence in new if (name, sentence) not in old]
    lines += [
        f"{name}: only in the summary before: {sentence}" for name, sentence in old if (name, sentence) not in new
    ]
    for key in (key for key in new if key in old):
        lines += [f"{key[0]}: {line} ({key[1]})" for line in _apart(new[key], old[key])]
    return lines


def _claims(found: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Mapping[str, Any]]]:
    """Every claim by its experiment and its sentence."""
    for experiment in found["experiments"]:
        for claim in experiment["claims"]:
            yield (experiment["name"], claim["sentence"]), claim


def _apart(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[str]:
    if new["verdict"] != old["verdict"]:
        yield f"{new['verdict']}, before: {old['verdict']}"
    numbers = {number["name"]: number for number in old["measured"]}
    for number in new["measured"]:
        before = numbers.get(number["name"])
        if before is not None and (far := _errors_apart(number, before)) > FAR:
            yield f"{number['name']} {number['value']:.4g}, before {before['value']:.4g}: {far:.1f} standard errors"


def _errors_apart(new: Mapping[str, Any], old: Mapping[str, Any]) -> float:
    """How many joint standard errors two numbers differ by; 0 where there is nothing to compare."""
    if None in (new["value"], old["value"], new["standard_error"], old["standard_error"]):
        return 0.0
    joint = math.hypot(new["standard_error"], old["standard_error"])
    return abs(new["value"] - old["value"]) / joint if joint > 0 else 0.0
