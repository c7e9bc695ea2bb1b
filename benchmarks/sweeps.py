"""What sweeps cost: ``python benchmarks/sweeps.py [--networks 10000] [--units 10000] [--json]``.

Two parts. A sweep of neurons of 40 pixels, 1,000 steps, orbit batches of 200, is run on all cores and compared, in CPU
seconds of all processes, with a hand-written loop: the same batches trained by as many processes that do nothing else.
Then so many tiny units, with one small result each, show what planning, storing, listing, putting together and opening
take. The exit code is 1 if a target is missed.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("NPROC", "1")

import netCDF4
import numpy as np
import xarray

from _measure import Ratio, exactly, show
from localax import runner
from localax._system import cores
from localax.runner import AbstractExecutor, Processes, ThisProcess
from localax.runner._sweep import _plan
from localax.store import Store

SEEDS = 10
NEURONS = {
    "steps": 1000, "batch": 200, "estimator": "orbit", "seeds": SEEDS,
    "stimulus": {"kind": "NLGP", "size": 40, "lengthscale": [1, 3]},
}  # fmt: skip
TINY = {**NEURONS, "steps": 2, "batch": 4, "seeds": 1, "probe": 4, "record": ["loss"]}

HAND = """
import json, sys
from localax import Task, training
from localax.networks import SingleReLU, Xavier
from localax.stimuli import NLGP
for gains in json.load(sys.stdin):
    tasks = [Task([NLGP(40, xi, gain) for xi in (1, 3)], [0, 1]) for gain in gains]
    saveat = training.SaveAt(record=["loss", "accuracy"])
    run = training.train(tasks, SingleReLU(), steps=1000, batch=200, rate=[0.05] * len(gains), seeds=%d, sweep="zip",
                         init=Xavier(), estimator="orbit", saveat=saveat, progress=False)
    assert run.weights.shape[0] == len(gains)
"""
"""The same networks by hand: vectorised alike, nothing stored."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=10_000)
    parser.add_argument("--units", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ratios = neurons(Path(folder), options.networks) if options.networks else []
        ratios += tiny(Path(folder), options.units) if options.units else []
    return show(ratios, options.json)


# Neurons --------------------------------------------------------------------------------------------------------------


def _gains(tables: dict[str, Any]) -> list[list[float]]:
    """The gains of each unit."""
    units = [unit for unit in runner.sweep_plan(tables).units if isinstance(unit, runner.SweepUnit)]
    return [[point["stimulus.gain"] for point in unit.points] for unit in units]


def neurons(folder: Path, networks: int) -> list[Ratio]:
    """A sweep against a loop by hand."""
    gains = np.geomspace(0.1, 10, networks // SEEDS).tolist()
    tables = {**NEURONS, "sweep": {"stimulus.gain": gains}}
    (folder / "plan.json").write_text(json.dumps(tables))
    program = (
        "import json, sys; import localax as lx; lx.fast(); lx.sweep(json.load(open(sys.argv[1])), out=sys.argv[2],"
    )
    program += " store=sys.argv[3], progress=False)"
    words = [str(folder / "plan.json"), str(folder / "out"), str(folder / "store")]
    hand = _spent(lambda: _by_hand(_gains(tables)))
    swept = _spent(lambda: subprocess.run([sys.executable, "-c", program, *words], check=True))
    scale = 10_000 / networks
    _say(f"sweep: {swept['wall']:.0f} s wall, {swept['cpu']:.0f} CPU s; by hand: {hand['wall']:.0f}, {hand['cpu']:.0f}")
    _say(f"{swept['cpu'] / networks / 1000 * 1e6:.1f} us a network and step, compiling and all")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    _say(f"{size / networks / 1e3:.1f} kB on disk a network, in its unit and in the result")
    return [
        exactly(f"{networks:,} networks, CPU: sweep / by hand", swept["cpu"] / hand["cpu"], at_most=1.05),
        exactly("10,000 networks on these cores / 10 minutes", swept["wall"] * scale / 600, at_most=1.0),
    ]


def _by_hand(batches: list[list[float]]) -> None:
    crew = [
        subprocess.Popen([sys.executable, "-c", HAND % SEEDS], stdin=subprocess.PIPE, text=True) for _ in range(cores())
    ]
    for i, process in enumerate(crew):
        assert process.stdin is not None
        process.stdin.write(json.dumps(batches[i :: len(crew)]))
        process.stdin.close()
    assert [process.wait() for process in crew] == [0] * len(crew)


def _spent(work: Callable[[], Any]) -> dict[str, float]:
    """Seconds by the clock, and of all processes that the work started."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": time.perf_counter() - began, "cpu": cpu}


# Tiny units -----------------------------------------------------------------------------------------------------------


class Planted(AbstractExecutor):
    """Stores one and the same small result for every unit: what is left is the cost of a unit itself."""

    def run(self, units, store, watch, *, replace=False):
        ThisProcess().run(units[:1], store, watch, replace=replace)
        data = store.read(units[0].name, "trajectory.npz")
        for unit in units[1:]:
            store.save(unit.identity, {"trajectory.npz": data}, kind=unit.kind, title=unit.title, status=("done",))
            watch(unit, 1.0)
        return {}


def tiny(folder: Path, count: int) -> list[Ratio]:
    """So many units of one network each."""
    _plan.PARTS, _plan.FEWEST = count, 1
    tables = {**TINY, "sweep": {"stimulus.gain": np.linspace(0.5, 3.5, count).tolist()}}
    plan, planning = _timed(lambda: runner.sweep_plan(tables))
    assert len(plan.units) == count
    store, out = folder / "tiny", folder / "tiny-out"
    swept, running = _timed(lambda: runner.run_sweep(plan, on=Planted(), out=out, store=store, progress=False))
    _, again = _timed(lambda: runner.run_sweep(plan, on=Processes(), out=out, store=store, progress=False))
    _, indexing = _timed(Store(store).scan)
    listed, listing = _timed(Store(store).scan)
    assert len(listed.runs) == count
    data, opening = _timed(lambda: xarray.open_dataset(swept.path))
    assert data.sizes["gain"] == count
    with netCDF4.Dataset(swept.path) as file:
        _say(f"sweep.nc: {swept.path.stat().st_size / count:,.0f} bytes a unit, {len(file.variables)} variables")
    each = {"planned": planning, "stored and put together": running, "found again": again, "indexed": indexing}
    _say(f"{count:,} units, ms each: " + ", ".join(f"{what} {1e3 * s / count:.2f}" for what, s in each.items()))
    small = count <= 10_000  # the targets are for so many
    return [
        exactly(f"listing {count:,} units / 1 s", listing, **({"at_most": 1.0} if small else {})),
        exactly(f"opening the data set of {count:,} units / 3 s", opening / 3, at_most=1.0),
    ]


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What a piece of work gives, and its CPU seconds: these count the work, not the wait for a shared machine."""
    began = time.process_time()
    return work(), time.process_time() - began


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
