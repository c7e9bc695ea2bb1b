"""A training run as plain data: what a settings file or the command line says, checked and turned into objects."""

from collections.abc import Iterable, Mapping
from typing import Any

import pydantic

from .. import networks, stimuli
from .._settings import settings_of, wrong
from ..stimuli import Task


class Spec(pydantic.BaseModel):
    """Everything that names a training run on a lengthscale task.

    In ``stimulus`` a list gives one value per class, short lengthscale first; single values hold for all classes.
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")

    stimulus: dict[str, Any] = {"kind": "NLGP", "size": 40, "lengthscale": [1, 3], "gain": 3}
    network: dict[str, Any] = {"kind": "SingleReLU"}
    init: dict[str, Any] = {"kind": "Xavier"}
    labels: list[float] | None = None
    proportions: list[float] | None = None
    steps: int = 2000
    batch: int = 1000
    rate: float | list[float] = 0.05
    seeds: int | list[int] = 1
    data_seed: int = 0
    save_every: int | None = None
    estimator: str = "plain"
    stream: str | int = "shared"
    loss: str = "mse"
    record: list[str] = ["loss", "accuracy"]
    probe: int = 2000
    stratified: bool = True

    def arguments(self) -> dict[str, Any]:
        """What :func:`train` takes."""
        rest = self.model_dump(exclude={"stimulus", "network", "init", "labels", "proportions"})
        return {
            "task": _task(self.stimulus, self.labels, self.proportions),
            "network": _built(SHELVES["network"], "network", self.network),
            "init": _built(SHELVES["init"], "init", self.init),
            **rest,
        }


def read_spec(settings: Mapping[str, Any]) -> Spec:
    """A spec from nested settings; the first thing that is wrong, in one line."""
    try:
        return Spec.model_validate({**settings, **_named(settings)})
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        known = f"; known settings are {', '.join(Spec.model_fields)}" if first["type"] == "extra_forbidden" else ""
        raise ValueError(f"settings: {where}: {first['msg'].lower()}, got {first['input']!r}{known}") from error


SHELVES = {"stimulus": stimuli.ALL, "network": networks.ALL, "init": networks.INITIALISERS}
"""What the parts of a spec choose from."""


def _named(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The parts with their kinds spelt in full, so that one run has one spelling."""
    parts = {name: settings[name] for name in SHELVES if isinstance(settings.get(name), Mapping)}
    return {
        name: {**part, "kind": member(SHELVES[name], name, part.get("kind", "")).__name__}
        for name, part in parts.items()
    }


def _task(stimulus: Mapping[str, Any], labels: list[float] | None, proportions: list[float] | None) -> Task:
    """One stimulus per class, from settings of which lists are spread over the classes."""
    cls = member(SHELVES["stimulus"], "stimulus", stimulus.get("kind", ""))
    given = {name: value for name, value in stimulus.items() if name != "kind"}
    sized = {name: value for name, value in given.items() if isinstance(value, list) and name != "size"}
    lengths = {len(value) for value in sized.values()} or {2}
    if len(lengths) > 1:
        raise ValueError(f"stimulus: {', '.join(sized)} must have one value per class, equally many")
    classes = lengths.pop()
    each = [{**given, **{name: value[i] for name, value in sized.items()}} for i in range(classes)]
    return Task([_made(cls, "stimulus", values) for values in each], labels or list(range(classes)), proportions)


def _built(shelf: Iterable[type], what: str, settings: Mapping[str, Any]) -> Any:
    cls = member(shelf, what, settings.get("kind", ""))
    return _made(cls, what, {name: value for name, value in settings.items() if name != "kind"})


def member(shelf: Iterable[type], what: str, name: str) -> type:
    """The class of a shelf that a name means: the whole name or a part of it, in any case."""
    low = str(name).lower()
    exact = [cls for cls in shelf if cls.__name__.lower() == low]
    found = exact or [cls for cls in shelf if low and low in cls.__name__.lower()]
    if len(found) != 1:
        raise wrong("settings", what, name, f"one of {', '.join(cls.__name__ for cls in shelf)}")
    return found[0]


def _made(cls: type, what: str, values: Mapping[str, Any]) -> Any:
    known = settings_of(cls)
    for name in values:
        if name not in known:
            raise wrong("settings", f"a setting of {what} {cls.__name__}", name, f"one of {', '.join(known) or 'none'}")
    nested = {name: known[name].options for name in values if isinstance(values[name], Mapping)}
    built = {
        name: _built(tuple(options()), name, values[name]) for name, options in nested.items() if options is not None
    }
    if "size" in values and isinstance(values["size"], list):
        built["size"] = tuple(values["size"])
    try:
        return cls(**{**values, **built})
    except TypeError as error:
        missing = [name for name in known if name not in values]
        raise ValueError(f"settings: {what} {cls.__name__} also needs {', '.join(missing)}") from error
