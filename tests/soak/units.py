"""Small units, and a program that has them done: what is killed, and what comes out of it."""

import hashlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from localax import runner
from localax.store import Store


def small_units(count: int = 6, steps: int = 5000) -> list[runner.TrainingUnit]:
    """Training runs of a few pixels, that differ in their data."""
    settings = {
        "steps": steps,
        "batch": 10,
        "probe": 10,
        "save_every": steps,
        "stimulus": {"kind": "NLGP", "size": 8, "lengthscale": [0.5, 1]},
    }
    return [runner.training_unit(runner.training_settings({**settings, "data_seed": i})) for i in range(count)]


def digests(store: Store, units: Sequence[runner.TrainingUnit]) -> list[str]:
    """A name for the bytes of every result."""
    return [hashlib.sha256(store.read(unit.name, "trajectory.npz")).hexdigest() for unit in units]


def stored(store: Store, units: Sequence[runner.TrainingUnit]) -> set[str]:
    return {unit.name for unit in units if store.finished(unit.identity)}


def client(store: Store, workers: int = 2) -> subprocess.Popen:
    """A program that has the small units done, as a user's would; not guarded by ``__main__``, on purpose."""
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from localax import runner\nfrom localax.store import Store\nfrom soak.units import small_units\n"
        f"executor = runner.executor_of('dask', {{'workers': {workers}}})\n"
        f"runner.run_or_load(small_units(), Store({str(store.root)!r}), executor)\n"
    )
    return subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
