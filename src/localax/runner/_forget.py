"""Which stored results can never be loaded again: made by other code, other libraries or on another device."""

from .._errors import SettingError
from ..store import Run, Store
from ._sweep import SweepUnit, work_of
from ._training import TrainingUnit
from ._unit import surroundings


def stale(store: Store) -> list[Run]:
    """Results of the **store** that this program would make anew, because what decides them has changed since."""
    return [run for run in store.runs() if _made_otherwise(run)]


def _made_otherwise(run: Run) -> bool:
    try:
        now = surroundings(_module(run))
    except SettingError:  # another version asked for something that this one does not know
        return True
    return any(run.identity.get(name) != value for name, value in now.items())


def _module(run: Run) -> str:
    """The module whose code decides a result."""
    if run.kind == TrainingUnit.kind:
        return "localax.training"
    if run.kind == SweepUnit.kind:
        return work_of(str(run.identity.get("what"))).module
    from .. import experiments

    return experiments.named(str(run.identity.get("experiment"))).__module__
