"""Float32 against float64: discrete laws draw the same samples, and short runs differ by rounding alone."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import localax as lx
from soak.numbers.rows import Case, Row

UNIT = 2.0**-24
"""Half a step of float32."""


def _discrete(n: int) -> dict[str, Any]:
    s, rng = lx.stimuli, np.random.default_rng(0)
    return {
        "Ising": lambda: s.Ising(n, 0.7),
        "SinglePulse": lambda: s.SinglePulse(n, 1, n // 2),
        "BlockPulse": lambda: s.BlockPulse(n, 2),
        "Empirical": lambda: s.Empirical(rng.normal(size=(20, n))),
        "Affine": lambda: s.Affine(s.Ising(n, -0.3), -2.0),
        "Window": lambda: s.Window(s.Ising(n + 1, 0.3), n),
    }


def same_draws(name: str, n: int) -> float:
    """The same numbers in both types, and with float64 switched on or off."""
    law, key = _discrete(n)[name](), jax.random.key(3)
    single, double = law.sample(key, 500), law.sample(key, 500, dtype=jnp.float64)
    with jax.enable_x64(True):
        switched = law.sample(jax.random.key(3), 500)
    same = np.array_equal(single, switched) and np.array_equal(np.asarray(single, float), double)
    return 0.0 if same and np.asarray(double).dtype == np.float64 else 2.0


def same_bits_with_the_flag(cls: type) -> float:
    """Float32 samples of every stimulus, with float64 switched on and off."""
    found = []
    for law in lx.stimuli.EXAMPLES[cls](40):
        plain = np.asarray(law.sample(jax.random.key(3), 100))
        with jax.enable_x64(True):
            found.append(np.array_equal(plain, law.sample(jax.random.key(3), 100)))
    return 0.0 if all(found) else 2.0


def short_run(name: str, network: Any, estimator: str) -> float:
    """Twenty steps on the same data in both types, and the first-order bound on how far rounding takes them apart.

    A step adds at most u (|w| + rate (n + log2 B + 8) G) to a weight, with G the mean of absolute terms of a gradient,
    here below 2 max|x| (|y| + |yhat|); what was there grows by at most 1 + rate L a step, L = 2 max |x|^2. A gate that
    rounding opens would add 2 max|x| rate/B; none of these runs has one.
    """
    n, steps, rate, batch = 6, 20, 0.05, 32
    law = _discrete(n)[name]()
    task = lx.Task([law, lx.stimuli.Affine(law, 0.5)], [0, 1])
    start = lx.networks.Given(np.float32(np.random.default_rng(1).normal(size=(network.units, n)) * 0.3))
    runs = [
        lx.train(
            task, network, steps=steps, batch=batch, rate=rate, init=start, estimator=estimator, dtype=dtype,
            progress=False, saveat=lx.training.SaveAt(every=steps, record=()),
        ).weights[0, -1]
        for dtype in (jnp.float32, jnp.float64)
    ]  # fmt: skip
    states = law.support().states
    top, reach = float(np.abs(states).max()), float((states**2).sum(1).max())
    gradient = 2 * top * (2 + np.sqrt(reach) * float(np.abs(runs[1]).max()) * np.sqrt(n))
    each = UNIT * (float(np.abs(runs[1]).max()) + rate * (n + 5 + 8) * gradient)
    bound = each * ((1 + 2 * rate * reach) ** steps - 1) / (2 * rate * reach)
    return float(np.max(np.abs(runs[0] - runs[1])) / bound)


def _runs() -> list[Case]:
    networks = {
        "SingleReLU": lx.networks.SingleReLU(),
        "SoftCommittee erf": lx.networks.SoftCommittee(3, "erf", True),
        "TwoLayer": lx.networks.TwoLayer(2, "tanh", noise=0.0),
    }
    return [
        Case(f"{law}, {name}, {estimator}", lambda a=(law, network, estimator): short_run(*a))
        for law in ("Ising", "SinglePulse", "BlockPulse")
        for name, network in networks.items()
        for estimator in ("plain", "antithetic", "orbit")
    ]


ROWS = [
    Row(
        "float: discrete draws",
        lambda: [
            Case(f"{name} on {n}", lambda a=(name, n): same_draws(*a)) for name in _discrete(2) for n in (2, 5, 10)
        ],
    ),
    Row(
        "float: samplers",
        lambda: [Case(cls.__name__, lambda cls=cls: same_bits_with_the_flag(cls)) for cls in lx.stimuli.ALL],
    ),
    Row("float: short runs", _runs),
]
