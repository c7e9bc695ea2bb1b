"""Run or load: the one path of experiments, training runs and sweeps. What is stored is not run again."""

from collections.abc import Sequence
from dataclasses import dataclass

from .._disk import StrPath, refuse_unwritable
from .._progress import progress_board
from ..outcome import Outcome
from ..store import Store
from ._executors import AbstractExecutor, Watch
from ._experiments import experiment_units, load_outcome
from ._on import executor_of
from ._unit import AbstractUnit


@dataclass(frozen=True)
class Results:
    """What came of some units."""

    stored: tuple[AbstractUnit, ...]
    """Which are stored now."""
    loaded: frozenset[str]
    """The names of those that were stored before."""
    failed: dict[str, str]
    """What failed, by name, and why."""


def run_or_load(
    units: Sequence[AbstractUnit],
    store: Store,
    on: AbstractExecutor,
    watch: Watch | None = None,
    *,
    fresh: bool = False,
) -> Results:
    """Those **units** that are not in the **store** yet, or all if **fresh**, run; the rest is there already.

    What is there but damaged is set aside and run again. **on**: the executor that runs them. **watch**: called with a
    unit and the fraction of it that is done.
    """
    ready = frozenset(unit.name for unit in units if not fresh and store.finished(unit.identity))
    missing = [unit for unit in units if unit.name not in ready]
    if missing:
        refuse_unwritable(store.root)
    for unit in missing:
        if store.marked(unit.name) and not store.finished(unit.identity):  # in this order: another may finish it now
            store.set_aside(unit.name)
    failed = on.run(missing, store, watch or (lambda *_: None), replace=fresh) if missing else {}
    for unit in missing:
        if unit.name not in failed and not store.finished(unit.identity):
            failed[unit.name] = (
                "its result is not in the store; do all workers see that folder, and was it emptied meanwhile?"
            )
    return Results(tuple(unit for unit in units if unit.name not in failed), ready, failed)


def reproduce(
    names: str | Sequence[str] | None = None,
    preset: str = "quick",
    *,
    store: StrPath | None = None,
    fresh: bool = False,
    on: str = "processes",
    workers: int | None = None,
    progress: bool = True,
) -> list[Outcome]:
    """The outcomes of some experiments, by default those of the paper, in the order of the report.

    **names**: experiments (see ``lx.experiments.ALL``), or ``"paper"``, ``"notes"``, ``"beyond"``, ``"all"``.
    **preset**: ``"quick"`` or ``"paper"``. **store**: the folder of results, by default ``localax-results``.
    **fresh**: run what is stored too. **on**: where it runs, ``"processes"``, ``"dask"``, ``"dask://HOST:PORT"`` or
    ``"slurm"``. **workers**: so many processes, here or of Dask, by default one a core. **progress**: show a bar.
    """
    units, shelf = experiment_units(names, preset), Store(store)
    executor = executor_of(on, {} if workers is None else {"workers": workers})
    results = run_with_board(units, shelf, executor, fresh=fresh, show=progress)
    if results.failed:
        names_of = {unit.name: unit.title for unit in units}
        first, reason = next(iter(results.failed.items()))
        count = len(results.stored)
        kept = f"the other {count} are stored" if count else "nothing else was asked for"
        raise RuntimeError(f"{names_of[first]} failed ({reason.splitlines()[-1]}); {kept}")
    return [load_outcome(shelf, unit) for unit in results.stored]


def run_with_board(
    units: Sequence[AbstractUnit], store: Store, on: AbstractExecutor, *, fresh: bool = False, show: bool = True
) -> Results:
    """`run_or_load` with a bar for each unit that runs.

    **units**, **store**, **on**, **fresh**: as there. **show**: whether there are bars.
    """
    missing = [unit.title for unit in units if fresh or not store.finished(unit.identity)]
    with progress_board("experiments", missing, show=show) as update:
        return run_or_load(units, store, on, lambda unit, fraction: update(unit.title, fraction), fresh=fresh)
