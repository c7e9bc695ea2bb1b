"""Files of settings and of sweeps, and settings of every class: read, checked and built, up to where work begins."""

import copy
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from localax import experiments, networks, runner, stimuli
from localax.spec import Setting, built, settings_of
from localax.web._limits import lab_settings

from .driver import AbstractTarget
from .values import SEEDS, anything, changed, spoilt, toml

EXAMPLES = Path(__file__).parents[3] / "examples"
SHELVES = {
    "stimulus": stimuli.ALL,
    "marginal": stimuli.MARGINALS,
    "covariance": stimuli.COVARIANCES,
    "radial": stimuli.RADIALS,
    "network": networks.ALL,
    "init": networks.INITIALISERS,
}
OWN = {"kind": "Empirical", "samples": "FOLDER/data.npy", "classes": "FOLDER/classes.npy"}
"""Data of one's own, in a folder that is only known when they are asked for."""
RUN = {"steps": 4, "batch": 8, "probe": 8, "save_every": 2, "seeds": 2, "rate": 0.05}
RAW = (
    b"", b"a", b"=", b"a = " + b"9" * 5000, b"a = " + b"[" * 3000, b"a = " + b"[" * 400 + b"]" * 400, b"\xff\xfe",
    b"\x00", b"[[sweep]]", b"sweep = 1", b"steps = 0x10\n", b"steps = 1979-05-27\n",
    b"rate = nan\n[sweep]\nbatch = [8]", b"a.b.c = 1", b"[stimulus]\nstimulus.stimulus.stimulus = 1",
)  # fmt: skip
"""Files that no table gives."""
NAMES = (*runner.TrainingSettings.model_fields, "what", "times", "sweep", "zip", "list", "sobol", "of", "kind", "size")


def usual(cls: type, depth: int = 0) -> dict[str, Any]:
    """Settings of a class that it takes, as a file has them."""
    return {"kind": cls.__name__, **{name: _usual(setting, depth) for name, setting in settings_of(cls).items()}}


def _usual(setting: Setting, depth: int) -> Any:
    if setting.choices:
        first = setting.choices[0]
        return list(first) if isinstance(first, tuple) else first
    if setting.options:
        inner = next(cls for cls in setting.options() if depth == 0 or "stimulus" not in settings_of(cls))
        return usual(inner, depth + 1)
    if setting.kind == "size":
        return 24 if depth else 12
    return setting.kind(setting.typical[0]) if setting.typical else False


def runs() -> st.SearchStrategy:
    """Settings of training runs on every stimulus and on data of one's own, every network and initialiser."""
    parts = {part: st.sampled_from([usual(cls) for cls in SHELVES[part]]) for part in ("stimulus", "network", "init")}
    parts["stimulus"] |= st.just(OWN)
    return st.fixed_dictionaries({**{name: st.just(value) for name, value in RUN.items()}, **parts})


def sweeps() -> st.SearchStrategy:
    """The sweeps among the examples, and one for each way to say what varies."""
    base = {**RUN, "stimulus": {"kind": "NLGP", "size": 12, "lengthscale": [0.5, 1.5], "gain": 1.0}}
    tables: list[dict[str, Any]] = [
        {"rate": [0.02, 0.05], "stimulus.gain": [1.0, 2.0]},
        {"rate": {"from": 0.01, "to": 0.1, "count": 3, "log": True}, "stimulus.lengthscale.1": [1, 2]},
        {"rate": [0.1, 0.2], "batch": [8, 16], "zip": [["rate", "batch"]]},
        {"list": [{"rate": 0.1}, {"rate": 0.2, "stimulus": {"gain": 2.0}}]},
        {"sobol": {"count": 4, "seed": 1, "log": ["rate"], "rate": [0.01, 0.1], "stimulus.gain": [0.5, 2]}},
    ]
    files = [tomllib.loads(file.read_text()) for file in sorted((EXAMPLES / "sweeps").glob("*.toml"))]
    named = [{"what": name, "sweep": {"seed": [0, 1]}} for name in experiments.ALL]
    return st.sampled_from([*({**base, "sweep": table} for table in tables), *files, *named])


def written(tables: st.SearchStrategy) -> st.SearchStrategy:
    """Tables as files, mostly with another value somewhere, some with their bytes spoilt."""
    whole = st.builds(toml, changed(tables, NAMES)) | st.sampled_from(RAW)
    return whole | whole | whole | st.builds(spoilt, whole, SEEDS)


class SettingsFiles(AbstractTarget):
    name = "settings files"

    def inputs(self) -> st.SearchStrategy:
        return written(runs())

    @contextmanager
    def opened(self, folder: Path) -> Iterator[None]:
        np.save(folder / "data.npy", np.random.default_rng(0).normal(size=(64, 8)))
        np.save(folder / "classes.npy", np.arange(64) % 2)
        with super().opened(folder):
            yield

    def take(self, given: bytes) -> None:
        file = self.folder / "settings.toml"
        file.write_bytes(given.replace(b"FOLDER", bytes(self.folder)))
        runner.training_unit(runner.typed_training(file, {}, [], []))


class SweepFiles(AbstractTarget):
    name = "sweep files"

    def inputs(self) -> st.SearchStrategy:
        return written(sweeps())

    def take(self, given: bytes) -> None:
        file = self.folder / "sweep.toml"
        file.write_bytes(given)
        plan = runner.sweep_plan(file)
        for place in ("processes", "dask", "slurm"):
            runner.executor_of(place, plan.design.options.get(place))
        plan.disk()
        runner.default_out(file, plan)


class SettingValues(AbstractTarget):
    """Every class of every shelf, every experiment, and the settings of a run in the lab."""

    name = "setting values"

    def inputs(self) -> st.SearchStrategy:
        made = [
            st.tuples(st.just(what), changed(st.sampled_from(list(map(usual, shelf)))))
            for what, shelf in SHELVES.items()
        ]
        named = st.sampled_from(list(experiments.ALL)).flatmap(_experiment)
        return st.one_of(
            *made, st.tuples(st.just("experiment"), named), st.tuples(st.just("lab"), changed(runs(), NAMES))
        )

    def take(self, given: Any) -> None:
        what, value = given
        if what == "experiment":
            name, changes = value
            runner.experiment_units([name], "quick", changes)
        elif what == "lab":
            lab_settings(value)
        else:
            built(SHELVES[what], what, copy.deepcopy(value))


def _experiment(name: str) -> st.SearchStrategy:
    """An experiment's name, and settings of it that are changed."""
    own = st.sampled_from([*settings_of(experiments.ALL[name]), "no such"])
    return st.tuples(st.just(name), st.dictionaries(own, anything, max_size=2))
