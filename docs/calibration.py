"""How often predictions are right: runs the data sets of calibration_sets.py, judges them, and writes the page.

    python docs/calibration.py            what is missing of the sweep, docs/calibration.json, and the page
    python docs/calibration.py collect    the same from what is stored by now
    python docs/calibration.py page       the page alone, from docs/calibration.json

The rules, by which a set is judged from the n IPR and the share in the best quarter of fields, stand in ``judged``.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from calibration_sets import sets

from localax.outcome import Figure, Lines, Scatter
from localax.prediction import BASELINES
from localax.report import picture
from localax.runner import SweepPlan, run_sweep, sweep_plan
from localax.store import Store

HERE = Path(__file__).parent
NUMBERS, PAGE, PICTURE = HERE / "calibration.json", HERE / "calibration.md", HERE / "pictures" / "calibration.svg"
FOLDER = HERE.parent / ".calibration"

CONCENTRATED, GATHERED, YES, NO = 4.0, 0.6, 0.8, 0.2
"""The named thresholds: n IPR, share in the best quarter, and the probabilities from which a verdict is sure."""
AGREE = 7 / 8
"""Share of networks from which they agree; sets where fewer do are the band."""
BINS = 10
"""Of the probability, for the calibration error."""
SAMPLES_PER_PIXEL = 50
"""Samples a class and pixel from which no elliptical set may be said to localize."""
TARGETS = {
    "accuracy outside the band": (">=", 0.97),
    "accuracy on all sets": (">=", 0.94),
    "calibration error": ("<", 0.05),
    "calibration error, .05 < P < .95": ("<", 0.10),
    "IPR off, median": ("<=", 0.05),
    "IPR off, 90%": ("<=", 0.15),
    "elliptical sets that localize, many samples": ("<=", 0.0),
    "elliptical sets that localize, few samples": ("<", 0.01),
}
"""What was asked for before anything was run."""
LAW = ("localizes", "does not localize", "undecided")

Set = Mapping[str, Any]
Rule = dict[str, float]


# Running --------------------------------------------------------------------------------------------------------------


def plan() -> SweepPlan:
    """The sweep of all sets."""
    listed = [{name: value for name, value in one.items() if name != "family"} for one in sets()]
    return sweep_plan({"what": "predict", "sweep": {"list": listed}})


def collected(made: SweepPlan, store: Store) -> list[dict[str, Any]]:
    """Every set that is stored, with its numbers, in the order of the table."""
    found = []
    for piece, one in zip(sorted(made.pieces, key=lambda piece: piece.places[0]), sets(), strict=True):
        if store.finished(piece.unit.identity):
            data = made.work.labelled(store.read(piece.unit.name, made.work.file), piece.unit.name)
            numbers = {name: _short(array[0]) for name, (_, array) in data.items() if not np.all(np.isnan(array))}
            found.append({**one, "numbers": numbers})
    return sorted(found, key=lambda one: one["seed"])


def _short(array: np.ndarray) -> Any:
    """Four digits of numbers, or of a list of them; null for none."""
    if array.ndim:
        return [_short(entry) for entry in array]
    return float(f"{float(array):.4g}") if np.isfinite(array) else None


# Judging --------------------------------------------------------------------------------------------------------------


def local(numbers: Set, whose: str, rule: Rule) -> np.ndarray:
    """Which fields of the flow, the networks or fresh networks are local."""
    concentration, gathered = (np.array(numbers[f"{whose}_{name}"], float) for name in ("concentration", "gathered"))
    return (concentration >= rule["concentrated"]) & (gathered >= rule["gathered"])


def probability(numbers: Set, rule: Rule) -> float:
    """The share of starts that end in a local field, beyond what clones give unless these are local by themselves."""
    beyond = np.array(numbers["flow_concentration"], float) > (0 if numbers["alone"] >= YES else numbers["ceiling"])
    return float(np.mean(local(numbers, "flow", rule) & beyond))


RULE = {"concentrated": CONCENTRATED, "gathered": GATHERED, "yes": YES, "no": NO}


def judged(one: Set, rule: Rule = RULE) -> dict[str, Any]:
    """One set: what was predicted by a rule, what networks did by the one rule, and whether these agree."""
    numbers = one["numbers"]
    p, share = probability(numbers, rule), float(np.mean(local(numbers, "network", RULE)))
    iprs = [np.median(numbers[f"{whose}_concentration"]) for whose in ("flow", "network")]
    widths = [np.median(numbers[f"{whose}_width"]) for whose in ("flow", "network")]
    fresh = None if "fresh_gathered" not in numbers else float(np.mean(local(numbers, "fresh", RULE)))
    return {
        "family": one["family"],
        "probability": p,
        "verdict": LAW[0] if p >= rule["yes"] else LAW[1] if p <= rule["no"] else LAW[2],
        "share": share,
        "truth": share >= 0.5,
        "right": (p >= 0.5) == (share >= 0.5),
        "agreed": max(share, 1 - share) >= AGREE,
        "ipr": abs(iprs[0] / iprs[1] - 1),
        "width": abs(widths[0] / widths[1] - 1),
        "few": one["samples"] < SAMPLES_PER_PIXEL * pixels(one),
        "law": LAW[int(numbers["law"])] if "law" in numbers else None,
        "fresh": fresh,
        **{name: _said(name, numbers.get(name)) for name in BASELINES},
    }


def _said(name: str, value: float | None) -> bool:
    """What a simpler predictor says; one that has no number says no."""
    return value is not None and BASELINES[name][1](value)


def pixels(one: Set) -> int:
    """Of a set."""
    size = _size(one["classes"][0])
    return int(np.prod(size))


def _size(law: Mapping[str, Any]) -> Any:
    return law["size"] if "size" in law else _size(law["stimulus"])


def law_truths(made: Sequence[Set]) -> dict[str, float]:
    """By law, the share of networks on fresh samples of it that are local."""
    return {
        repr(one["classes"]): float(np.mean(local(one["numbers"], "fresh", RULE)))
        for one in made
        if "fresh_gathered" in one["numbers"]
    }


def calibration_error(p: np.ndarray, share: np.ndarray) -> float:
    """The mean over sets of how far, in ten bins of the probability, it is from the share of networks."""
    if not len(p):
        return 0.0
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    gaps = [abs(p[place == i].mean() - share[place == i].mean()) * np.mean(place == i) for i in np.unique(place)]
    return float(np.sum(gaps))


def statistics(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All numbers of the page that sets together have."""
    p, share = (np.array([one[name] for one in found], float) for name in ("probability", "share"))
    right, agreed, truth = (np.array([one[name] for one in found], bool) for name in ("right", "agreed", "truth"))
    between = (p > 0.05) & (p < 0.95)
    off = np.array([one["ipr"] for one in found])[truth]
    wide = np.array([one["width"] for one in found])[truth]
    return {
        "sets": len(found),
        "band": int(np.sum(~agreed)),
        "between": int(between.sum()),
        "localizing": int(truth.sum()),
        "accuracy outside the band": _mean(right[agreed]),
        "accuracy on all sets": _mean(right),
        "calibration error": calibration_error(p, share),
        "calibration error, .05 < P < .95": calibration_error(p[between], share[between]),
        "IPR off, median": _quantile(off, 0.5),
        "IPR off, 90%": _quantile(off, 0.9),
        "width off, median": _quantile(wide, 0.5),
        "width off, 90%": _quantile(wide, 0.9),
        **_elliptical(found),
    }


def _elliptical(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How many elliptical sets are said to localize, with many samples and with few."""
    numbers: dict[str, Any] = {}
    for word, few in (("many", False), ("few", True)):
        mine = [one["verdict"] == LAW[0] for one in found if one["family"] == "elliptical" and one["few"] == few]
        numbers |= {f"elliptical sets that localize, {word} samples": _mean(mine), f"elliptical, {word}": len(mine)}
    return numbers


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _quantile(values: np.ndarray, share: float) -> float:
    return float(np.quantile(values, share)) if len(values) else float("nan")


def met(name: str, value: float) -> bool:
    """Whether a number is as it was asked for."""
    sign, target = TARGETS[name]
    return {">=": value >= target, "<=": value <= target, "<": value < target}[sign]


def confusion(found: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """How many sets have each verdict, by what networks did: all but one local, hardly any, or neither."""
    kinds = {"networks localize": (AGREE, 1), "they differ": None, "networks do not": (0, 1 - AGREE)}
    table = {}
    for kind, ends in kinds.items():
        mine = [one for one in found if (not one["agreed"] if ends is None else ends[0] <= one["share"] <= ends[1])]
        table[kind] = {word: sum(one["verdict"] == word for one in mine) for word in LAW}
    return table


CHANGES = (
    ("n IPR", "concentrated", 2.0), ("n IPR", "concentrated", 8.0), ("share in the best quarter", "gathered", 0.3),
    ("share in the best quarter", "gathered", 0.8), ("sure", "no", 0.1), ("sure", "no", 0.4),
)  # fmt: skip
"""Each threshold at half and at twice its value; of the share that is left to 1, half."""


def changed(name: str, value: float) -> Rule:
    """The rule with one threshold at another value; probabilities from which a verdict is sure move together."""
    return {**RULE, name: value, **({"yes": 1 - value} if name == "no" else {})}


def sure(found: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """How many sets get a sure verdict, and how many of these are right."""
    said = [one for one in found if one["verdict"] != LAW[2]]
    return {
        "decided": _mean([one["verdict"] != LAW[2] for one in found]),
        "right": _mean([one["right"] for one in said]),
    }


def of_laws(made: Sequence[Set]) -> dict[str, Any]:
    """What was said of laws, beside networks on fresh samples of them."""
    truths = law_truths(made)
    found = [(judged(one), truths[repr(one["classes"])] >= 0.5) for one in made if repr(one["classes"]) in truths]
    decided = [(one["law"] == LAW[0]) == truth for one, truth in found if one["law"] != LAW[2]]
    return {
        "laws": len(truths),
        "sets": len(found),
        "undecided": len(found) - len(decided),
        "right": _mean(decided),
        "differ": sum(one["truth"] != truth for one, truth in found),
    }


# The page -------------------------------------------------------------------------------------------------------------


def figure(found: Sequence[Mapping[str, Any]]) -> Figure:
    """The reliability curve, and n IPR's error, as data."""
    p, share = (np.array([one[name] for one in found], float) for name in ("probability", "share"))
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    bins = np.unique(place)
    x, y = (np.array([values[place == i].mean() for i in bins]) for values in (p, share))
    errors = np.array([share[place == i].std() / np.sqrt(np.sum(place == i)) for i in bins])
    ends = np.array([0.0, 1.0])
    reliable = Scatter(
        "Reliability", {"sets in ten bins": (x, y, errors), "ideal": (ends, ends, None)},
        xlabel="probability that was predicted", ylabel="share of networks that localize", joined=True,
    )  # fmt: skip
    off = np.sort([one["ipr"] for one in found if one["truth"]])
    errors_of = Lines(
        "IPR, where networks localize", np.linspace(0, 1, len(off)), {"off by": np.maximum(off, 1e-4)},
        xlabel="share of the sets", ylabel="relative error", logy=True,
    )  # fmt: skip
    caption = (
        "Left: the share of networks that localize, by the probability that was predicted. Right: error of the IPR."
    )
    return Figure("Predictions beside trained networks", ((reliable, errors_of),), caption=caption)


def families(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The numbers of every family, in the order of the table."""
    names = list(dict.fromkeys(one["family"] for one in found))
    return [{"name": name, **statistics([one for one in found if one["family"] == name])} for name in names]


def page(summary: Mapping[str, Any]) -> str:
    """The page on what was collected."""
    made = summary["sets"]
    found = [judged(one) for one in made]
    right = {name: _mean([one[name] == one["truth"] for one in found]) for name in BASELINES}
    outside = {name: _mean([one[name] == one["truth"] for one in found if one["agreed"]]) for name in BASELINES}
    changes = []
    for words, name, value in CHANGES:
        again = [judged(one, changed(name, value)) for one in made]
        changes.append({"words": words, "value": value, **statistics(again), "sure": sure(again)})
    wrong = [{**one, **two} for one, two in zip(made, found, strict=True) if two["agreed"] and not two["right"]]
    jinja = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, autoescape=False,  # it is Markdown that comes out
    )  # fmt: skip
    jinja.filters["law"] = described
    return jinja.get_template("calibration.md.jinja").render(
        summary=summary, all=statistics(found), targets=TARGETS, met=met, families=families(found),
        confusion=confusion(found), words=LAW, right=right, outside=outside, changes=changes, sure=sure(found),
        wrong=wrong, laws=of_laws(made), seconds=float(np.median([one["numbers"]["flow_seconds"] for one in made])),
    )  # fmt: skip


def described(one: Set) -> str:
    """A set in a few words."""
    law = one["classes"][-1]
    parts = []
    while law:
        numbers = [f"{k} {v}" for k, v in law.items() if k not in ("kind", "stimulus") and not isinstance(v, Mapping)]
        inner = [v["kind"] for k, v in law.items() if k != "stimulus" and isinstance(v, Mapping)]
        parts.append(f"{law['kind']}({', '.join([*inner, *numbers])})")
        law = law.get("stimulus")
    treated = "" if one["treatment"] == "none" else f", {one['treatment']}"
    return f"{' of '.join(parts)}{treated}, {one['samples']:,} a class"


def write(made: Sequence[Set], planned: int) -> None:
    """The numbers, as they are kept."""
    summary = {"command": "make calibration", "planned": planned, "sets": list(made)}
    NUMBERS.write_text(
        json.dumps(summary, separators=(",", ":"), default=float).replace('{"family"', '\n{"family"') + "\n"
    )


def main(word: str) -> None:
    if word != "page":
        made = plan()
        if word == "run":
            run_sweep(made, out=FOLDER, store=FOLDER / "store")
        write(collected(made, Store(FOLDER / "store")), len(made.pieces))
    summary = json.loads(NUMBERS.read_text())
    PAGE.write_text(page(summary))
    PICTURE.write_bytes(picture(figure([judged(one) for one in summary["sets"]]), "svg"))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "run")
