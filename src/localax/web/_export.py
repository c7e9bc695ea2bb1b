"""What is on the screen as Python and as a command line: both make the same bits on the same machine."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .._errors import SettingError
from .._text import parts
from .._worker import ONE_THREAD
from ..runner import TrainingSettings

Stretches = Sequence[Mapping[str, Any]]
"""Where a rate began: ``step`` and ``rate`` of each stretch of a run."""


Names = Mapping[str, str]
"""What a page calls data of its own, by the setting that names it."""


def named(settings: TrainingSettings, names: Names) -> TrainingSettings:
    """**settings** with the page's **names** in place of files that are kept for it."""
    if not names:
        return settings
    return settings.model_copy(update={"stimulus": {**_table(settings.stimulus), **names}})


def _at_home(names: Names) -> dict[str, str]:
    """What the files are called where they came from."""
    return {setting: name.partition("/")[2] for setting, name in names.items()}


def python_lines(
    settings: TrainingSettings, stretches: Stretches = (), steps: int | None = None, names: Names | None = None
) -> str:
    """The lines of Python that make a run; with **stretches** whose rate was changed, up to a number of **steps**.

    **names**: of data of one's own, which the lines read.
    """
    first, *others = [*stretches] or [{"step": 0, "rate": settings.rate}]
    last = settings.steps if steps is None else steps
    ends = [*(stretch["step"] for stretch in others), last]
    lines = [*_objects(settings, _at_home(names or {})), *_training(settings, first["rate"], ends[0])]
    for i, (stretch, end) in enumerate(zip(others, ends[1:], strict=True)):
        before, whole = ("run", "run") if i == 0 else ("more", "whole")
        again = f"steps={end - stretch['step']}, rate={stretch['rate']!r}, save_every={settings.save_every}"
        lines += [f"more = lx.resume({before}, task, network, {again})", f"whole = {whole}.followed_by(more)"]
    name = "whole" if others else "run"
    return "\n".join([*lines, f'{name}.save("run.npz")', f'lx.plot({name}).save("run.png")', ""])


def _objects(settings: TrainingSettings, files: Names) -> list[str]:
    """What is trained on what, and what is recorded."""
    made = settings.arguments()
    threads = ", ".join(f"{name}={value!r}" for name, value in ONE_THREAD.items())
    record = [name for name, _ in made["saveat"].record]
    shares = "" if settings.proportions is None else f", proportions={settings.proportions!r}"
    each = [f"    {code(stimulus, 'stimuli')}," for stimulus in made["task"].stimuli if not files]
    read = f"classes = lx.prediction.read_stimuli({', '.join(map(repr, files.values()))})  # your own"
    return [
        "import os", "", f"os.environ.update({threads})  # more threads would round otherwise",
        "import localax as lx", "",
        *([read] if files else ["classes = [", *each, "]"]),
        f"task = lx.Task(classes, labels={code(made['task'].labels, '')}{shares})",
        f"network = {code(made['network'], 'networks')}", f"init = {code(made['init'], 'networks')}",
        f"saveat = lx.SaveAt({settings.save_every}, record={record!r}, probe={settings.probe})",
        f"stream = lx.training.Stream({settings.stream!r}, stratified={settings.stratified}, common={settings.common})",
    ]  # fmt: skip


def _training(settings: TrainingSettings, rate: Any, steps: int) -> list[str]:
    return [
        "run = lx.train(",
        f"    task, network, steps={steps}, batch={settings.batch}, rate={rate!r}, seeds={settings.seeds!r},",
        f"    data_seed={settings.data_seed}, init=init, saveat=saveat, stream=stream,",
        f"    estimator={settings.estimator!r}, loss={settings.loss!r}, optimiser={settings.optimiser!r},",
        ")",
    ]


def code(value: Any, room: str) -> str:
    """An object as the call that makes it, with every number in full; **room**: where its class is found."""
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "dtype"):
        return repr(np.asarray(value).tolist())
    if isinstance(value, tuple):
        return f"({', '.join(code(item, room) for item in value)})"
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    given = ", ".join(f"{name}={code(item, room)}" for name, item in parts(value).items())
    return f"lx.{room}.{type(value).__name__}({given})"


# The command line -----------------------------------------------------------------------------------------------------


def command_line(
    settings: TrainingSettings, stretches: Stretches = (), steps: int | None = None, names: Names | None = None
) -> str:
    """The command that makes a run and keeps it in a store; arguments as of :func:`python_lines`."""
    files = _at_home(names or {})
    if any("," in file for file in files.values()):
        raise SettingError("a name with a comma is a list on the command line; take the Python lines or rename it")
    settings = named(settings, files)
    if len(stretches) > 1:
        raise SettingError("the rate was changed on the way, which no command line can say; take the Python lines")
    last = settings.steps if steps is None else steps
    given = settings.model_dump(exclude_none=True, exclude_defaults=True) | {"steps": last}
    words = [f"{name}={value}" for name, value in ONE_THREAD.items()] + ["localax", "train"]
    for part in ("stimulus", "network", "init"):
        table = {name: value for name, value in _table(getattr(settings, part)).items() if value != ""}  # no file
        given.pop(part, None)
        words += [f"--{part}", table.pop("kind")]
        words += [word for pair in _pairs(table, part) for word in ("--set", pair)]
    words += [word for pair in _pairs(given) for word in ("--set", pair)]
    return " ".join(shlex.quote(word) for word in words) + "\n"


def _table(part: str | Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": part} if isinstance(part, str) else dict(part)


def _pairs(table: Mapping[str, Any], inside: str = "") -> Iterator[str]:
    """``a.b=value`` for every setting, those of nested objects too, whose kind comes first."""
    for name, value in sorted(table.items(), key=lambda pair: pair[0] != "kind"):
        path = f"{inside}.{name}" if inside else name
        if isinstance(value, Mapping):
            yield from _pairs(value, path)
        else:
            yield f"{path}={_typed(value)}"


def _typed(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(_typed(item) for item in value) + ("," if len(value) == 1 else "")
    return str(value).lower() if isinstance(value, bool) else str(value)
