"""The same bits in two processes: what is promised to repeat on one machine is made twice, each time afresh."""

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import localax as lx
from soak.numbers.rows import Case, Row


def _nlgp(gain: float = 3.0) -> Any:
    return lx.Task([lx.stimuli.NLGP(12, 0.5, gain), lx.stimuli.NLGP(12, 1, gain)], [0, 1])


def _train(**settings: Any) -> Any:
    given = {"steps": 200, "batch": 32, "rate": 0.05, "seeds": 3, "progress": False, "save_every": 50}
    task, network = settings.pop("task", _nlgp()), settings.pop("network", lx.networks.SingleReLU())
    return lx.train(task, network, **{**given, **settings})


def _bytes(path: Any) -> bytes:
    arrays = [path.time, path.weights, path.biases, path.readout, path.loss]
    return b"".join(np.ascontiguousarray(a).tobytes() for a in arrays if a is not None) + repr(path.status).encode()


def _resumed() -> bytes:
    """The second half of a run that goes on, after checking it against one long run."""
    half = _train(steps=100)
    rest = lx.resume(half, _nlgp(), lx.networks.SingleReLU(), steps=100, save_every=50, progress=False)
    assert np.array_equal(rest.weights[:, -1], _train().weights[:, -1]), "going on is not one long run"
    return _bytes(rest)


def _outcome() -> bytes:
    """An experiment's claims and words, and its figures drawn."""
    from localax.report import picture
    from localax.report._draw import drawable

    found = lx.experiments.ALL["zero_crossings"].quick().perform()
    drawn = [picture(figure, "svg") for figure in found.figures if drawable(figure)]
    return "\n".join([found.text, *map(repr, found.claims)]).encode() + b"".join(drawn)


def _swept() -> bytes:
    from localax import runner
    from soak import kills

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kills.prepare(folder)
        plan = runner.sweep_plan(folder / "sweep.toml")
        swept = runner.run_sweep(plan, on=runner.ThisProcess(), out=folder, store=folder / "store", progress=False)
        return swept.path.read_bytes()


def _predicted() -> bytes:
    rng = np.random.default_rng(0)
    x = np.sign(rng.normal(size=(2000, 10)) + np.repeat(rng.normal(size=(2000, 5)), 2, axis=1))
    return repr(lx.predict(x, np.arange(2000) % 2)).encode()


PRODUCTS: dict[str, Callable[[], bytes]] = {
    "train plain": lambda: _bytes(_train()),
    "train antithetic": lambda: _bytes(_train(estimator="antithetic")),
    "train orbit": lambda: _bytes(_train(estimator="orbit")),
    "train committee": lambda: _bytes(_train(network=lx.networks.SoftCommittee(4, "erf", True))),
    "train two layers, adam": lambda: _bytes(_train(network=lx.networks.TwoLayer(3), optimiser="adam")),
    "train many rates": lambda: _bytes(_train(rate=[0.02, 0.05], stream="independent")),
    "train many gains": lambda: _bytes(_train(task=[_nlgp(1.0), _nlgp(4.0)])),
    "resume": _resumed,
    "effective flow": lambda: _bytes(lx.theory.effective_flow(_nlgp(), np.eye(12)[:3] + 0.1, times=[0, 1, 10.0])),
    "window flow": lambda: _bytes(lx.theory.window_flow(_nlgp(), np.eye(12)[:2] + 0.1, times=[0, 1, 5.0])),
    "exact rates": lambda: repr(lx.theory.exact_growth_rates(_nlgp(), samples=2**12)).encode(),
    "predict": _predicted,
    "experiment and figures": _outcome,
    "sweep": _swept,
}
"""Each makes its bytes from nothing."""


PATH = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
ENVIRONMENT = os.environ | {"NPROC": "1", "PYTHONPATH": PATH}


def made_afresh(name: str) -> str:
    """The digest of a product made in a process of its own."""
    words = [sys.executable, "-m", "soak.numbers.bits", name]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr.splitlines()[-1]
    return done.stdout


def same(name: str) -> float:
    return 0.0 if made_afresh(name) == made_afresh(name) else 2.0


ROWS = [Row("same bits", lambda: [Case(name, lambda name=name: same(name)) for name in PRODUCTS])]

if __name__ == "__main__":
    sys.stdout.write(hashlib.sha256(PRODUCTS[sys.argv[1]]()).hexdigest())
