"""What is said of a run: what theory predicted, what happened and why, in one sentence each, made from numbers."""

from typing import Any

import numpy as np

from ..analysis import Kind, classify, ipr
from ..stimuli import Task
from ..trajectory import Trajectory


def happened(trajectory: Trajectory) -> str:
    """What came of a run."""
    ndim = trajectory.pixel_ndim
    fields = trajectory.final.reshape(-1, *trajectory.pixels)
    diverged = sum(status.startswith("diverged") for status in trajectory.status)
    if diverged == len(trajectory.status):
        return f"Every network diverged by t = {trajectory.time[-1]:.3g}; try a smaller rate."
    local, median = count_localized(fields, ndim), float(np.median(ipr(fields, ndim=ndim)))
    said = f"{_of(local, len(fields))} localized by t = {trajectory.time[-1]:.3g}, with a median IPR of {median:.3g}"
    loss = trajectory.loss
    fell = "" if loss is None else f"; the loss went from {np.mean(loss[:, 0]):.3g} to {np.mean(loss[:, -1]):.3g}"
    return f"{said}{fell}{f'; {diverged} diverged' if diverged else ''}."


def count_localized(fields: np.ndarray, ndim: int) -> int:
    """How many **fields** (field, *pixels) are localized."""
    return int(np.sum(np.asarray(classify(fields, ndim=ndim)) == Kind.LOCALIZED))


def _of(count: int, all_: int) -> str:
    if all_ == 1:
        return "The field is" if count else "The field is not"
    many = "None" if not count else "All" if count == all_ else str(count)
    return f"{many} of {all_} fields {'is' if count == 1 else 'are'}"


def predicted(side: dict[str, Any], flows: dict[str, Trajectory]) -> str:
    """What theory says before anything is trained: the threshold, and where the best flow there is ends."""
    best = next((flows[name] for name in ("exact_flow", "window_flow", "effective_flow") if name in flows), None)
    said = side["sentence"].rstrip(".")
    if best is None:
        return f"{said}; no flow is known for this network and task."
    fields = best.final.reshape(-1, *best.pixels)
    local, median = count_localized(fields, best.pixel_ndim), float(np.median(ipr(fields, ndim=best.pixel_ndim)))
    name = {"exact": "the exact flow", "windows": "the flow through localization"}.get(best.settings["flow"], "Eq. 5")
    ends = _of(local, len(fields)).replace("The field", "the field").replace("None", "none").replace("All", "all")
    return f"{said}; by {name} {ends} localized at t = {best.time[-1]:.3g}, with a median IPR of {median:.3g}."


def why(task: Task, points: list[dict[str, Any]]) -> str:
    """Why a field becomes local or stays spread: F17's J of both, and what it is made of."""
    named = {point["name"]: point for point in points}
    spread = max((p for name, p in named.items() if name != "local"), key=lambda p: p["objective"] or 0, default=None)
    local = named.get("local")
    if spread is None or local is None:
        return "Nothing is known of what fields are worth here."
    wins = local["objective"] > spread["objective"]
    pays = f"being {'local' if wins else 'spread'} pays"
    best = f"The best local field is worth {_worth(local)} against {_worth(spread)} of the {spread['title']}"
    return f"{best}: {pays}; {_law(task)}."


def _worth(point: dict[str, Any]) -> str:
    return f"J = {point['objective']:.3f} (C = {point['geary']:.3f}, r = {point['ratio']:.3f})"


def _law(task: Task) -> str:
    """What the law of a pixel has to do with it."""
    kurtosis = float(task.stimuli[int(np.argmax(np.asarray(task.labels)))].marginal.excess_kurtosis())
    if not np.isfinite(kurtosis):
        return "pixels have no fourth moment, and C of a few of them is low"
    light = "lighter tails than a Gaussian, which keeps C high where few are summed"
    heavy = "heavier tails than a Gaussian, which makes C low where few are summed"
    near = "nearly the tails of a Gaussian, so that C is the same wherever one looks"
    said = near if abs(kurtosis) < 0.05 else light if kurtosis < 0 else heavy
    return f"pixels have {said} (excess kurtosis {kurtosis:.2f})"
