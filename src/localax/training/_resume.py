"""Going on with a run: its settings read back from its trajectory, and refused where they are another run's."""

from collections.abc import Mapping
from typing import Any

from .._errors import SettingError
from ..networks import Given
from ..trajectory import Trajectory
from ._checkpoint import difference_of
from ._estimators import ESTIMATORS
from ._losses import LOSSES
from ._optimisers import OPTIMISERS, chosen_optimiser, has_memory
from ._plan import Plan
from ._records import RECORDS, SaveAt
from ._stream import Stream

OTHER = ("steps", "rate", "init", "sweep", "saveat", "first_step", "first_time", "x64", "backend", "device")
"""Settings in which a run that goes on may differ from what it was."""


def continued(before: Trajectory, save_every: int | None, own: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the run that gave a trajectory; ``own`` has those that plain data cannot tell."""
    settings = before.settings
    if "batch" not in settings:
        raise SettingError("resume: only a run that train made can go on; this trajectory does not say how it was made")
    again: dict[str, Any] = {name: settings[name] for name in ("batch", "rate", "seeds", "data_seed", "dtype")}
    again["stream"] = Stream(**{name: v for name, v in settings["stream"].items() if name != "kind"})
    again["divergence"] = settings["divergence"]["bound"]
    for name, known in {"loss": LOSSES, "optimiser": OPTIMISERS}.items():
        again[name] = own.get(name) or _known(name, settings[name], known)
    again["estimator"] = own.get("estimator") or _estimator(settings["estimator"])
    again["saveat"] = own.get("saveat") or _saveat(settings["saveat"], save_every)
    if before.n_swept is not None:
        again |= {"init": [Given(weights) for weights in before.final], "sweep": "zip"}
    if has_memory(chosen_optimiser(again["optimiser"])):
        raise SettingError("resume: this optimiser has a memory of its own; train with a checkpoint and more steps")
    return again


def _known(name: str, value: Any, known: Mapping[str, Any]) -> Any:
    """What a setting's name stands for; a function of one's own has none and must be given again."""
    if not isinstance(value, str) or value not in known:
        raise SettingError(f"resume: {name} was a function of your own; give it again, as {name}=...")
    return value


def _estimator(settings: Mapping[str, Any]) -> Any:
    kinds = {type(one).__name__: type(one) for one in ESTIMATORS.values()}
    kind, rest = settings["kind"], {name: value for name, value in settings.items() if name != "kind"}
    if kind not in kinds:
        raise SettingError("resume: the estimator was of your own; give it again, as estimator=...")
    return kinds[kind](**{name: tuple(value) if isinstance(value, list) else value for name, value in rest.items()})


def _saveat(settings: Mapping[str, Any], save_every: int | None) -> SaveAt:
    """The same records as before, on as many samples."""
    record = settings["record"]
    for name, value in record.items():
        _known(f"record {name}", value, RECORDS)
    return SaveAt(save_every, record=record, probe=settings["probe"] or 1)


def refuse_another(settings: Mapping[str, Any], plan: Plan) -> None:
    """Refuse to go on with a task, network or anything else that is not that of the run."""
    was, now = ({n: v for n, v in one.items() if n not in (*OTHER, "reached")} for one in (settings, plan.settings))
    if was != now:
        raise SettingError(f"resume: this would be another run: {difference_of(was, now)}")
