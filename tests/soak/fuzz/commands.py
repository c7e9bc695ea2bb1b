"""The command line, in this process: everything is checked as it always is, and what would take long is not begun."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import typer.main
from hypothesis import strategies as st

from localax import cli, runner

from . import driver
from .driver import AbstractTarget
from .loaders import images, npy, npz
from .stores import SETTINGS, filled
from .typed import command
from .values import WORDS, texts

GOOD = (
    "reproduce kurtosis", "reproduce fig5 onset --preset paper", "reproduce --check summary.json",
    "reproduce all --json", "reproduce kurtosis --set seeds=3 --out page",
    "reproduce --on dask --cluster cluster.toml", "stimuli --size 40", "stimuli --samples 200 --seed 3 --out page",
    "train", "train settings.toml --gain 2", "train --stimulus ising --steps 5",
    "train --network committee --units 3 --bias true", "train --set init.scale=0.1 --seeds 2 --json --fresh",
    "predict data.npy", "predict data.npy --labels labels.npy --centre", "predict image.png --patch 8 --report page",
    "predict data.csv --contrast data.npy", "predict data.npz --array a --seed 2 --flows --verify --json",
    "lab --port 0 --no-browser", "lab --host 127.0.0.1 --port 8271", "sweep sweep.toml", "sweep sweep.toml --dry-run",
    "sweep sweep.toml --out page --csv --set rate=0.1", "sweep sweep.toml --dry-run --json", "runs",
    "runs list --kind train", "runs show TRAIN", "runs show OUTCOME --json", "runs load TRAIN --out run.npz",
    "runs load TRAIN --out run.csv", "runs rm TRAIN", "runs prune --days 3 --dry-run", "runs rm --match a",
    "plot sweep.nc --x gain --out p.png", "plot bad.nc --x gain",
    "plot sweep.nc --x gain --y ipr --at rate=0.1 --no-theory", "list", "list stimuli --json", "bench stimuli",
    "bench train --preset paper --json", "doctor --json", "cite", "--version", "--help", "train --help",
)  # fmt: skip
"""What people type, in a folder that has these files; TRAIN and OUTCOME are stored results."""
PLACES = (
    "settings.toml", "sweep.toml", "summary.json", "cluster.toml", "data.npy", "data.csv", "sweep.nc", "bad.nc",
    "gone.toml", "store", "page", ".", "..", "../up", "a/../b", "settings.toml/x", "/dev/null", "/dev/full",
    "/proc/self/nothing", "link", "store/nothing", "é", "a" * 300,
)  # fmt: skip
"""Files and folders: those that are there, and such as cannot be."""


class Begun(BaseException):
    """All is checked, and the work would begin."""


def begin(*_: Any, **__: Any) -> Any:
    raise Begun


@st.composite
def lines(draw: Callable) -> list[str]:
    """What people type, with up to three words taken out, put in or exchanged."""
    words = draw(st.sampled_from(GOOD)).split()
    options = OPTIONS.get(words[0], ["--help"])
    others = texts | st.sampled_from(PLACES) | st.sampled_from(options) | st.sampled_from(WORDS)
    pairs = st.builds("{}={}".format, st.sampled_from((*options, "stimulus.gain", "init.scale", "a.b.c")), texts)
    for _ in range(draw(st.integers(0, 3))):
        at, how = draw(st.integers(0, len(words))), draw(st.sampled_from(("out", "in", "other", "option")))
        new = draw(others | pairs)
        words[at : at + (how in ("out", "other"))] = {"out": [], "option": [draw(st.sampled_from(options)), new]}.get(
            how, [new]
        )
    return [word.replace("\x00", "") for word in words]  # the system hands no such word on


OPTIONS = {
    name: [option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)]
    for name, command in typer.main.get_command(cli.app).commands.items()  # pyright: ignore[reportAttributeAccessIssue]
}
"""The options of every command."""


class CommandLine(AbstractTarget):
    name = "command line"

    def inputs(self) -> st.SearchStrategy:
        return lines()

    @contextmanager
    def opened(self, folder: Path) -> Iterator[None]:
        self.home, self.ready = folder / "a" / "b", folder / "ready"
        self.names = _furnished(self.ready)
        shutil.copytree(self.ready, self.home, symlinks=True)
        places = {"HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "cache"), "LOCALAX_HOME": "store"}
        with ExitStack() as stack:
            stack.enter_context(mock.patch.dict(os.environ, places))
            for place in STOPS:
                stack.enter_context(mock.patch(place, begin))
            stack.enter_context(mock.patch.object(runner.SweepPlan, "seconds", return_value=1.0))  # it is measured
            stack.enter_context(mock.patch("webbrowser.open"))
            yield

    def take(self, given: Any) -> None:
        try:
            command([self.names.get(word, word) for word in given], self.home)
        except Begun:
            return
        finally:
            if driver.files.changed:
                shutil.rmtree(self.home.parent)
                shutil.copytree(self.ready, self.home, symlinks=True)


STOPS = (
    "localax.runner._executors.ThisProcess.run", "localax.runner._executors.AbstractElsewhere.run",
    "localax.prediction._predict.Flows", "localax.web._serve._Server.run", "localax._commands._bench.subprocess.run",
)  # fmt: skip
"""Where work begins: units on every executor, the flows of a prediction, the lab's loop, a benchmark's process."""


def _furnished(folder: Path) -> dict[str, str]:
    """Files that commands read, and a store; gives the names of its results."""
    names = filled(folder / "store")
    data = np.random.default_rng(0).normal(size=(64, 8))
    np.save(folder / "data.npy", data)
    np.save(folder / "labels.npy", np.arange(64) % 2)
    np.savetxt(folder / "data.csv", data, delimiter=",")
    (folder / "data.npz").write_bytes(npz({"a.npy": npy(data)}))
    (folder / "image.png").write_bytes(images()[0])
    (folder / "settings.toml").write_text(
        'steps = 4\nbatch = 8\n[stimulus]\nkind = "NLGP"\nsize = 12\nlengthscale = [0.5, 1]\n'
    )
    (folder / "sweep.toml").write_text(
        'steps = 4\nbatch = 8\n[sweep]\nrate = [0.1, 0.2]\n"stimulus.gain" = [1.0, 2.0]\n'
    )
    (folder / "cluster.toml").write_text("[dask]\nworkers = 1\n")
    (folder / "summary.json").write_text('{"preset": "quick", "experiments": []}')
    (folder / "bad.nc").write_bytes(b"CDF\x01 and nothing more")
    (folder / "link").symlink_to("store")
    swept = {**SETTINGS, "sweep": {"stimulus.gain": [1.0, 2.0], "rate": [0.1, 0.2]}}
    runner.run_sweep(
        runner.sweep_plan(swept), on=runner.ThisProcess(), out=folder, store=folder / "units", progress=False
    )
    return names
