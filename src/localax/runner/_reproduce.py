"""Experiments by name: loaded where the same code has already run the same settings, else run and stored."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from .. import experiments
from .._disk import StrPath, code_version
from .._progress import progress_board
from .._record import Outcome
from ..store import Store
from ._workers import work

FILE = "outcome.npz"
RESULTS = (
    "_math.py", "_record.py", "_trajectory.py", "_types.py",
    "stimuli", "networks", "analysis", "theory", "training", "experiments",
)  # fmt: skip
"""The sources that decide what an experiment gives; a change anywhere else leaves stored outcomes valid."""


def reproduce(
    names: str | Sequence[str] | None = None,
    preset: str = "quick",
    *,
    store: StrPath | None = None,
    fresh: bool = False,
    workers: int | None = None,
    progress: bool = True,
) -> list[Outcome]:
    """The outcomes of some experiments, by default those of the paper, in the order of the report.

    **names**: experiments (see ``lx.experiments.ALL``), or a chapter: ``"paper"``, ``"notes"``, ``"all"``.
    **preset**: ``"quick"`` or ``"paper"``. **store**: the folder of results, by default ``localax-results``.
    **fresh**: run what is stored too. **workers**: processes, by default one a core.
    """
    outcomes, failed = run_or_load(names, preset, store=store, fresh=fresh, workers=workers, progress=progress)
    if failed:
        first, reason = next(iter(failed.items()))
        kept = f"the other {len(outcomes)} are stored" if outcomes else "nothing else was asked for"
        raise RuntimeError(f"{first} failed ({reason.splitlines()[-1]}); {kept}")
    return outcomes


def run_or_load(
    names: str | Sequence[str] | None = None,
    preset: str = "quick",
    *,
    store: StrPath | None = None,
    fresh: bool = False,
    workers: int | None = None,
    progress: bool = True,
) -> tuple[list[Outcome], dict[str, str]]:
    """As `reproduce`, but with what failed beside what did not: experiment and traceback."""
    shelf, wanted = Store(store), chosen(names)
    missing = [name for name in wanted if fresh or not shelf.finished(identity(name, preset))]
    with progress_board("experiments", missing, show=progress) as watch:
        failed = work(missing, preset, shelf.root, workers, watch)
    for name in wanted:
        if name not in failed and not shelf.finished(identity(name, preset)):
            failed[name] = "the sources changed while it ran; run it again"
    return [load(shelf, name, preset) for name in wanted if name not in failed], failed


def chosen(names: str | Sequence[str] | None) -> list[str]:
    """Experiments by their names or their chapter's, each once, in the order of the report."""
    asked = ["paper"] if names is None else [names] if isinstance(names, str) else list(names)
    groups = {**experiments.CHAPTERS, "all": experiments.PAPER | experiments.NOTES}
    found: set[str] = set()
    for name in asked:
        if name not in groups and name not in experiments.ALL:
            raise ValueError(f"no experiment called {name!r}; choose {', '.join([*groups, *experiments.ALL])}")
        found |= set(groups.get(name, [name]))
    return [name for name in experiments.ALL if name in found]


def identity(name: str, preset: str) -> dict[str, Any]:
    """What decides an outcome, and so names it in the store: the experiment, its settings, the code."""
    presets = experiments.ALL[name].PRESETS
    if preset not in presets:
        raise ValueError(f"no preset called {preset!r}; choose one of {', '.join(presets)}")
    return {"experiment": name, "settings": asdict(presets[preset]), "code": code_version(RESULTS)}


def load(store: Store, name: str, preset: str) -> Outcome:
    folder = store.folder(identity(name, preset)).name
    return Outcome.from_bytes(store.read(folder, FILE), name=f"{store.root}/{folder}/{FILE}")


def run(name: str, preset: str, store: Store, progress: Any) -> None:
    """Perform one experiment and store it, in place of a stored one."""
    outcome = experiments.perform(name, preset, progress=progress)
    key = identity(name, preset)
    if store.finished(key):
        store.remove(store.folder(key).name)
    store.save(key, files={FILE: outcome.to_bytes()}, kind="experiment")
