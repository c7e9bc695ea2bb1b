"""Experiments as units, by their names, their chapters and their settings.

They are imported where one is asked for: they take half a second and all of theory, which a training run does without.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .._errors import unknown
from ..outcome import Outcome
from ..spec import description
from ..store import Store
from ._unit import AbstractUnit, Files, surroundings

if TYPE_CHECKING:
    from ..experiments import AbstractExperiment

FILE = "outcome.npz"


@dataclass(frozen=True)
class ExperimentUnit(AbstractUnit):
    """One experiment with its settings; :func:`experiment_unit` makes it."""

    kind: ClassVar[str] = "experiment"

    experiment: "AbstractExperiment"
    """What is performed."""
    seed: int
    """Of the key that it measures with."""
    identity: dict[str, Any]

    @property
    def title(self) -> str:
        return self.experiment.name

    @property
    def cost(self) -> float:
        return self.experiment.cost

    def request(self) -> dict[str, Any]:
        settings = dataclasses.asdict(self.experiment)
        return {"experiment": self.experiment.name, "settings": settings, "seed": self.seed}

    @classmethod
    def from_request(cls, request: Mapping[str, Any]) -> "ExperimentUnit":
        from .. import experiments

        made = experiments.named(request["experiment"]).quick().changed(request["settings"])
        return experiment_unit(made, seed=request["seed"])

    def run(self, progress, scratch) -> Files:
        from .. import experiments

        del scratch
        chapter = experiments.chapter_of(self.experiment.name)
        outcome = self.experiment.perform(seed=self.seed, progress=progress, chapter=chapter)
        return Files({FILE: outcome.to_bytes()})


def experiment_unit(experiment: "AbstractExperiment", *, seed: int = 0) -> ExperimentUnit:
    """The unit of an **experiment**, which draws what is random with **seed**."""
    named = {"kind": "experiment", "experiment": experiment.name, "settings": description(experiment), "seed": seed}
    return ExperimentUnit(experiment, seed, {**named, **surroundings(type(experiment).__module__)})


def experiment_units(
    names: str | Sequence[str] | None = None, preset: str = "quick", changes: Mapping[str, Any] | None = None
) -> list[ExperimentUnit]:
    """Experiments by their names or their chapter's, each once, in the order of the report.

    **names**: one or several, by default "paper". **preset**: "quick" or "paper". **changes**: settings that differ
    from the preset; every experiment asked for must have them.
    """
    from .. import experiments

    asked = ["paper"] if names is None else [names] if isinstance(names, str) else list(names)
    chapters = experiments.CHAPTERS
    groups = {**chapters, "all": {name: kind for members in chapters.values() for name, kind in members.items()}}
    found: set[str] = set()
    for name in asked:
        if name not in groups and name not in experiments.ALL:
            raise unknown("experiment", name, [*groups, *experiments.ALL])
        found |= set(groups.get(name, [name]))
    kinds = [kind for name, kind in experiments.ALL.items() if name in found]
    return [experiment_unit(kind.preset(preset).changed(changes or {})) for kind in kinds]


def load_outcome(store: Store, unit: AbstractUnit) -> Outcome:
    """The outcome of the experiment **unit** that is in the **store**."""
    return Outcome.from_bytes(store.read(unit.name, FILE), name=f"{store.root}/{unit.name}/{FILE}")
