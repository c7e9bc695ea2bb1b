"""``localax train``: a network is trained, kept and shown."""

import contextlib
import dataclasses
import importlib
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import typer

from ._fields import report_run
from ._options import Folder, Fresh, Json, Set
from ._troubles import tell_failures

WORDS = typer.Argument(
    metavar="[FILE.toml] [--SETTING VALUE]...", help="A file of settings, and any setting as a flag."
)


def train(
    words: Annotated[list[str] | None, WORDS] = None,
    stimulus: Annotated[str | None, typer.Option(help="A stimulus, e.g. nlgp (see: localax list stimuli).")] = None,
    network: Annotated[str | None, typer.Option(help="A network, e.g. committee (see: localax list networks).")] = None,
    init: Annotated[str | None, typer.Option(help="An initialiser (see: localax list initialisers).")] = None,
    set_: Set = None,
    store: Folder = None,
    fresh: Fresh = False,
    as_json: Json = False,
) -> None:
    """Train a network and keep the run: fields, loss and a picture.

    A file of settings in TOML may come first; flags override it. Every setting of the stimulus, the network, the
    initialiser and the run is a flag, for example --gain 3 --lengthscale 1,3 --units 10 --activation sigmoid
    --bias true --rate 0.05 --steps 2000 --seeds 8. A list gives one value per class.
    """
    from .. import runner

    flags = list(words or [])
    file = Path(flags.pop(0)) if flags and not flags[0].startswith("--") else None
    kinds = {"stimulus": stimulus, "network": network, "init": init}
    settings = runner.typed_training(file, {name: kind for name, kind in kinds.items() if kind}, flags, set_ or [])
    _train(runner.training_unit(settings), store, fresh, as_json)


def _train(unit: Any, folder: Path | None, fresh: bool, as_json: bool) -> None:
    """Run or load one training run, and say what came of it."""
    from .. import runner
    from .._progress import progress_bar
    from ..store import Store

    store = Store(folder)
    if fresh or not store.finished(unit.identity):
        if (begun := unit.reached(store)) and not as_json:
            print(f"going on from step {begun}", file=sys.stderr)
        # What draws takes half a second to load, and can do so while XLA compiles.
        threading.Thread(target=_load_what_draws).start()
    rows = _LiveTable(unit.plan, quiet=as_json)
    with progress_bar(unit.title, show=not as_json, steps=unit.settings.steps) as update:
        unit = dataclasses.replace(unit, follow=rows.watch)

        def watch(_: Any, fraction: float) -> None:
            update(fraction)

        results = runner.run_or_load([unit], store, runner.ThisProcess(), watch, fresh=fresh)
    rows.close()
    tell_failures({unit.name: unit.title}, results.failed)
    trajectory = store.load(unit.name)
    report_run(trajectory, store, unit.name, unit.name in results.loaded, as_json)
    if any(status.startswith("diverged") for status in trajectory.status):
        raise typer.Exit(1)


def _load_what_draws() -> None:
    with contextlib.suppress(Exception):  # a command may end at once; and whoever draws is told what is wrong
        importlib.import_module("localax.report")


class _LiveTable:
    """One line a record while a run goes on: step, time, loss and localization, means over all networks."""

    def __init__(self, plan: Any, quiet: bool):
        self.plan, self.quiet, self.begun = plan, quiet, False

    def watch(self, step: int, latest: dict[str, Any]) -> None:
        import numpy as np

        from ..analysis import ipr

        if self.quiet or not sys.stderr.isatty():
            return
        if not self.begun:
            print(f"{'step':>9} {'time':>9} {'loss':>9} {'IPR':>8}", file=sys.stderr)
            self.begun = True
        time = step * float(np.mean(self.plan.settings["rate"]))
        loss = float(np.mean(latest["records"].get("loss", np.nan)))
        local = float(np.mean(ipr(latest["parameters"].weights, ndim=len(self.plan.problem.task.shape))))
        print(f"{step:9d} {time:9.3g} {loss:9.4f} {local:8.4f}", file=sys.stderr)

    def close(self) -> None:
        if self.begun:
            print(file=sys.stderr)
