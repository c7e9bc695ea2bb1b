"""A unit of a sweep: settings of one form, with seeds, that run as one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..._errors import unknown
from ..._text import brief
from .._unit import AbstractUnit, Files, surroundings
from ._design import changed
from ._experiment import Experiment
from ._predict import Predict
from ._theory import EffectiveFlow, Threshold, WindowFlow
from ._train import Train
from ._works import AbstractWork

ALL = (Train(), EffectiveFlow(), WindowFlow(), Threshold(), Predict())
WORKS: dict[str, AbstractWork] = {work.name: work for work in ALL}


def work_of(what: str) -> AbstractWork:
    """What a sweep repeats, by its name: training, a flow, a threshold, a prediction or an experiment."""
    if what in WORKS:
        return WORKS[what]
    from ... import experiments

    if what in experiments.ALL:
        return Experiment(what)
    raise unknown("thing to sweep", what, [*WORKS, *experiments.ALL])


@dataclass(frozen=True)
class SweepUnit(AbstractUnit):
    """Some settings of a sweep; :func:`sweep_plan` makes it.

    ``what`` is repeated. ``base`` are the settings that stay, ``points`` those that vary, by dotted path, one table for
    each setting; ``seeds`` are their initialisations.
    """

    kind: ClassVar[str] = "sweep"

    what: str
    base: dict[str, Any]
    points: tuple[dict[str, Any], ...]
    seeds: tuple[int, ...]
    identity: dict[str, Any]

    @property
    def title(self) -> str:
        first, last = self.points[0], self.points[-1]
        said = [f"{path} {brief(first[path])} .. {brief(last[path])}" for path in first]
        return f"{self.what}, {len(self.points)} settings, {len(self.seeds)} seeds: {', '.join(said)}"

    @property
    def cost(self) -> float:
        first = self.identity["settings"]
        return work_of(self.what).cost(first) * len(self.points) * max(len(self.seeds), 1)

    def request(self) -> dict[str, Any]:
        return {"what": self.what, "base": self.base, "points": list(self.points), "seeds": list(self.seeds)}

    @classmethod
    def from_request(cls, request: Mapping[str, Any]) -> "SweepUnit":
        return sweep_unit(request["what"], request["base"], tuple(request["points"]), tuple(request["seeds"]))

    def run(self, progress, scratch) -> Files:
        work = work_of(self.what)
        settings = [work.checked(changed(self.base, point)) for point in self.points]
        return work.run(settings, list(self.seeds), progress, scratch)


def sweep_unit(
    what: str, base: dict[str, Any], points: tuple[dict[str, Any], ...], seeds: tuple[int, ...]
) -> SweepUnit:
    """The unit of some settings; named by the first of them with every default spelt out, and what differs in others.

    All of them have one form, so that what the first has by default, the others have too.
    """
    work = work_of(what)
    first = {name: value for name, value in work.checked(changed(base, points[0])).items() if name != "seeds"}
    named = {"kind": "sweep", "what": what, "settings": first, "points": list(points), "seeds": list(seeds)}
    return SweepUnit(what, base, points, seeds, {**_same(named), **surroundings(work.module)})


def _same(value: Any) -> Any:
    """Plain data in which 1 and 1.0 are one number, as a settings file means them."""
    if isinstance(value, dict):
        return {name: _same(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_same(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
