"""Which stored results can never be loaded again: made by other code, other libraries or on another device."""

from ..store import Run, Store
from ._experiments import ExperimentUnit
from ._sweep import WORKS, SweepUnit
from ._training import TrainingUnit
from ._unit import surroundings


def stale(store: Store) -> list[Run]:
    """Results of the **store** that this program would make anew, because what decides them has changed since."""
    return [run for run in store.runs() if _made_otherwise(run)]


def _made_otherwise(run: Run) -> bool:
    from .. import experiments

    if run.kind == TrainingUnit.kind:
        now = surroundings("localax.training")
    elif run.kind == SweepUnit.kind and (what := str(run.identity.get("what"))) in WORKS:
        now = surroundings(WORKS[what].module)
    elif run.kind == ExperimentUnit.kind and (name := str(run.identity.get("experiment"))) in experiments.ALL:
        now = surroundings(experiments.ALL[name].__module__)
    else:
        return True
    return any(run.identity.get(name) != value for name, value in now.items())
