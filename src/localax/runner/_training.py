"""Training runs as units: what a settings file or the command line says, checked and turned into objects."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pydantic

from .. import networks, stimuli, training
from .._errors import SettingError, unknown
from .._text import brief
from ..spec import built, chosen, flag_pairs, put, read_toml, set_pairs, settings_of
from ..stimuli import Task
from ..store import Store
from ._model import checked_by
from ._own import in_words, with_data
from ._unit import AbstractUnit, Files, surroundings

SHELVES = {"stimulus": stimuli.ALL, "network": networks.ALL, "init": networks.INITIALISERS}
"""What the parts of a run are chosen from."""

STANDARD = {
    "size": 40,
    "lengthscale": [1, 3],
    "coupling": [0.3, 0.7],
    "gain": 3,
    "k": 10,
    "shortest": [3, 9],
    "longest": [4, 10],
    "length": [2, 6],
    "radial": {"kind": "Shell"},
    "stimulus": "NLGP",
    "kernel": "CentreSurround",
    "treatment": ["whitened", "raw"],
}
"""What a stimulus gets where nothing is said: the paper's lengthscale task."""


class TrainingSettings(pydantic.BaseModel):
    """Everything that names a training run on a lengthscale task.

    In ``stimulus`` a list gives one value per class, short lengthscale first; single values hold for all classes. A
    name in place of a table stands for an object with nothing but defaults. A stimulus made from another one has a
    table ``stimulus`` of its own.
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    stimulus: str | dict[str, Any] = "NLGP"
    """What the classes are drawn from."""
    network: str | dict[str, Any] = "SingleReLU"
    """What is trained."""
    init: str | dict[str, Any] = "Xavier"
    """Where training starts."""
    labels: list[float] | None = None
    """One number per class; None counts from 0."""
    proportions: list[float] | None = None
    """How often each class comes; None: equally often."""
    steps: int = 2000
    """How many."""
    batch: int = 1000
    """Samples a step."""
    rate: float | list[float] | None = 0.05
    """The step size, or several that are swept; None: a tenth of the largest stable one."""
    seeds: int | list[int] = 1
    """Initialisations, or how many of them, from 0."""
    data_seed: int = 0
    """Of the stream of data."""
    sweep: str | None = None
    """How several lists are combined: "zip" or "product"."""
    save_every: int | list[int] | None = None
    """Steps between records, or the steps one by one; None: a hundredth of the run."""
    estimator: str = "plain"
    """A name in ``training.ESTIMATORS``."""
    stream: str | int = "shared"
    """Who sees which data: "shared", "independent" or a number of streams."""
    loss: str = "mse"
    """A name in ``training.LOSSES``."""
    optimiser: str = "sgd"
    """A name in ``training.OPTIMISERS``."""
    record: list[str] | None = None
    """Names in ``training.RECORDS``; None: the loss and, where the network tells classes, the accuracy."""
    probe: int = 2000
    """Samples that records are made on."""
    stratified: bool = True
    """Whether every batch has the classes in their exact proportions."""
    common: bool = False
    """Whether the classes of a batch are made from the same random numbers."""

    def arguments(self) -> dict[str, Any]:
        """What :func:`localax.training.plan` takes."""
        same = ("steps", "batch", "rate", "seeds", "data_seed", "sweep", "estimator", "loss", "optimiser")
        return {
            "task": task_of(self.stimulus, self.labels, self.proportions),
            "network": built(SHELVES["network"], "network", self.network),
            "init": built(SHELVES["init"], "init", self.init),
            "saveat": self.saveat(),
            "stream": training.Stream(self.stream, stratified=self.stratified, common=self.common),
            **{name: getattr(self, name) for name in same},
        }

    def saveat(self) -> training.SaveAt:
        """What is recorded, and when."""
        network = built(SHELVES["network"], "network", self.network)
        told = ["loss"] if network.reconstructs else ["loss", "accuracy"]
        record = told if self.record is None else self.record
        if isinstance(self.save_every, list):
            return training.SaveAt(steps=self.save_every, record=record, probe=self.probe)
        return training.SaveAt(self.save_every, record=record, probe=self.probe)


def task_of(stimulus: str | dict[str, Any], labels: list[float] | None, proportions: list[float] | None) -> Task:
    """One stimulus per class, from settings of which lists are spread over the classes.

    **stimulus**: a name, or its settings. **labels**, **proportions**: one number per class, or None: from 0 on, and
    equally often.
    """
    given = with_data(completed_stimulus(stimulus))
    if isinstance(given, list):
        return Task(given, list(range(len(given))) if labels is None else labels, proportions)
    spread = dict(_lists(given))
    lengths = {len(value) for value in spread.values()} or {2}
    if len(lengths) > 1:
        raise SettingError(f"stimulus: {', '.join(spread)} must have one value per class, equally many")
    classes = lengths.pop()
    made = [built(SHELVES["stimulus"], "stimulus", _of_class(given, i)) for i in range(classes)]
    return Task(made, list(range(classes)) if labels is None else labels, proportions)


DEEPEST = 16
"""So many stimuli can be made one from another."""


def completed_stimulus(stimulus: str | Mapping[str, Any], depth: int = DEEPEST) -> dict[str, Any]:
    """The settings of a **stimulus** and of the one inside it, with the standard ones where nothing is said.

    **depth**: how many more there may be inside it.
    """
    if depth == 0:
        raise SettingError(f"stimulus: more than {DEEPEST} are made one from another; take fewer")
    given = {"kind": stimulus} if isinstance(stimulus, str) else dict(stimulus)
    cls = chosen(SHELVES["stimulus"], "stimulus", given.get("kind", ""))
    names = settings_of(in_words(cls))
    given = {**{name: STANDARD[name] for name in names if name in STANDARD}, **given, "kind": cls.__name__}
    inside = given.get("stimulus")
    return {**given, "stimulus": completed_stimulus(inside, depth - 1)} if isinstance(inside, str | Mapping) else given


def _lists(given: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """The settings that have one value per class, at any depth."""
    for name, value in given.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", found) for inner, found in _lists(value))
        elif isinstance(value, list) and name not in ("size", "values"):
            yield name, value


def _of_class(given: Mapping[str, Any], i: int) -> dict[str, Any]:
    """The settings of one class."""
    own = {name: value[i] for name, value in _lists(given) if name in given}
    return {**given, **own, **{name: _of_class(v, i) for name, v in given.items() if isinstance(v, Mapping)}}


# From typed words -----------------------------------------------------------------------------------------------------


def training_settings(settings: Mapping[str, Any]) -> TrainingSettings:
    """The **settings** of a run, given as nested data, checked; the first thing that is wrong, in one line."""
    return checked_by(TrainingSettings, "a run", settings)


def typed_training(
    file: Path | None, kinds: Mapping[str, str], flags: Sequence[str], pairs: Sequence[str]
) -> TrainingSettings:
    """Settings of a **file** in TOML, or the defaults, overridden by what was typed, in this order.

    **kinds**: of stimulus, network and initialiser, by part. **flags**: ``--gain 3``, word by word. **pairs**: of
    ``--set``, ``stimulus.gain=3``.
    """
    settings: dict[str, Any] = {} if file is None else read_toml(file)
    settings |= kinds  # another kind starts from its own settings
    for part in SHELVES:
        settings.setdefault(part, TrainingSettings.model_fields[part].default)
    for name, value in flag_pairs(flags):
        put(settings, _owner(settings, name), value)
    for path, value in set_pairs(pairs):
        put(settings, path, value)
    return training_settings(settings)


def _owner(settings: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Where a flag belongs: the run, or its stimulus, network or initialiser."""
    fields = TrainingSettings.model_fields
    if name in fields and name not in SHELVES:
        return (name,)
    known: list[str] = []
    for part, shelf in SHELVES.items():
        given = settings.get(part, fields[part].default)
        kind = given.get("kind", "") if isinstance(given, Mapping) else given
        names = settings_of(in_words(chosen(shelf, part, kind)))
        if name in names:
            return part, name
        known += names
    raise unknown("setting", f"--{name}", [f"--{k}" for k in (*dict.fromkeys(known), *fields)])


# The unit -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainingUnit(AbstractUnit):
    """One training run; :func:`training_unit` makes it.

    ``follow`` is called with the step and the latest records while it goes on.
    """

    kind: ClassVar[str] = "train"

    settings: TrainingSettings
    """What was asked for."""
    plan: training.Plan
    """The run made ready."""
    identity: dict[str, Any]
    follow: Callable[[int, dict[str, Any]], None] | None = field(default=None, compare=False)

    @property
    def title(self) -> str:
        made = self.plan.settings
        kinds = dict.fromkeys(stimulus["kind"] for stimulus in made["task"]["stimuli"])
        said = [f"{name} {value}" for name, value in _said(made["task"]["stimuli"]).items()]
        run = [f"{made['steps']} steps at {brief(made['rate'])}", _counted(len(made["seeds"]), "seed")]
        return f"{made['network']['kind']} on {', '.join([' and '.join(kinds), *said])}: {', '.join(run)}"

    def reached(self, store: Store) -> int | None:
        """The step from which an interrupted run of this unit would go on; None where the **store** keeps none."""
        return training.reached(store.folder(self.identity) / "scratch" / "checkpoint")

    @property
    def cost(self) -> float:
        return float(self.settings.steps * self.plan.count)

    def request(self) -> dict[str, Any]:
        return self.settings.model_dump()

    @classmethod
    def from_request(cls, request: Mapping[str, Any]) -> "TrainingUnit":
        return training_unit(training_settings(request))

    def run(self, progress, scratch) -> Files:
        trajectory = training.run(self.plan, checkpoint=scratch() / "checkpoint", watch=self.follow, progress=progress)
        if any(status.startswith("interrupted") for status in trajectory.status):
            raise KeyboardInterrupt
        return Files({"trajectory.npz": trajectory.to_bytes()}, trajectory.status)


def _said(stimuli: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The numbers that make a task, by name: one where all classes have it, else one for each."""
    found = {}
    for name in stimuli[0]:
        values = [brief(stimulus.get(name)) for stimulus in stimuli]
        if all(isinstance(stimulus.get(name), int | float) for stimulus in stimuli):
            found[name] = values[0] if len(set(values)) == 1 else "/".join(values)
    return found


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count > 1 else ''}"


def training_unit(settings: TrainingSettings) -> TrainingUnit:
    """The unit of a training run, named by what its **settings** build."""
    plan = training.plan(**settings.arguments())
    named = {"kind": "train", "settings": plan.settings}
    return TrainingUnit(settings, plan, {**named, **surroundings("localax.training")})
