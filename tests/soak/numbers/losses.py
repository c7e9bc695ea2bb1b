"""One step of training of every network with every estimator, against the gradient of the enumerated population loss.

Seeds have streams of their own, so that each gives an independent estimate of the gradient; on a data set that is read
whole there is nothing to estimate, and the step is the gradient but for float32's rounding.
"""

import itertools
from typing import Any

import numpy as np

import localax as lx
from soak.numbers import population, truth
from soak.numbers.population import Weights
from soak.numbers.rows import Case, Row, apart, sampled
from soak.numbers.truth import States

SEEDS, BATCH, RATE = 48, 32, 0.5
ROUNDING = 1e-5
"""Of a float32 gradient of some hundred terms of order 1, over the rate."""


def _networks(n: int) -> dict[str, tuple[Any, str]]:
    """Every network in every mode, with its loss."""
    net, rng = lx.networks, np.random.default_rng(3)
    found: dict[str, tuple[Any, str]] = {
        "SingleReLU": (net.SingleReLU(), "mse"),
        "SingleReLU l1": (net.SingleReLU(), "l1"),
    }
    for name, bias, offset in itertools.product(population.ACTIVATIONS, (False, True), (0.0, 0.3)):
        found[f"SoftCommittee {name} {bias} {offset}"] = net.SoftCommittee(3, name, bias, offset), "mse"
    for name, bias, classes in itertools.product(population.ACTIVATIONS, (False, True), (1, 2)):
        kind = "cross-entropy" if classes == 2 and bias else "mse"
        found[f"TwoLayer {name} {bias} {classes}"] = net.TwoLayer(2, name, bias, classes), kind
    for rule in ("halfspace", "winner"):
        found[f"GatedLinear {rule}"] = net.GatedLinear(rng.normal(size=(3, n)), rule), "mse"
    for name, bias in itertools.product(population.ACTIVATIONS, (False, True)):
        found[f"Autoencoder {name} {bias}"] = net.Autoencoder(2, name, bias, 0.1 * bias), "mse"
    return found


def _pairs(n: int) -> dict[str, tuple[list[Any], list[States]]]:
    """Two classes that have every symmetry, of three kinds."""
    s = lx.stimuli
    spins = [truth.ising(n, j) for j in (0.2, 0.9)]
    pulse = (-1, 1)
    return {
        "Ising": ([s.Ising(n, 0.2), s.Ising(n, 0.9)], spins),
        "pulses": (
            [s.SinglePulse(n, 1, 1, pulse), s.BlockPulse(n, 2)],
            [truth.pulses(n, 1, 1, pulse, True), truth.blocks(n, 2)],
        ),
        "scaled": (
            [s.Affine(s.Ising(n, 0.2), -0.5), s.Filtered(s.Ising(n, 0.9), [1.0, 0.5])],
            [truth.affine(spins[0], -0.5, 0), truth.filtered(spins[1], [1.0, 0.5])],
        ),
    }


def _classes(states: list[States]) -> list[tuple[float, int, States]]:
    return [(float(number), number, law) for number, law in enumerate(states)]


def _stepped(
    task: Any, network: Any, kind: str, n: int, seeds: int, **settings: Any
) -> tuple[np.ndarray, list[Weights]]:
    """What a step of training takes off every parameter, over the rate, seed by seed; and where each seed starts."""
    rng = np.random.default_rng(5)
    biased = getattr(network, "bias", False)
    start = lx.networks.Given(
        rng.normal(size=(network.units, n)) * 0.5, rng.normal(size=network.units) * 0.3 if biased else None
    )
    path = lx.train(
        task, network, steps=1, rate=RATE, seeds=seeds, init=start, loss=kind, progress=False,
        saveat=lx.training.SaveAt(every=1, record=()), **settings,
    )  # fmt: skip
    parts = [path.weights, path.biases, path.readout, path.records.get("constant")]
    there = [None if part is None else np.asarray(part, float) for part in parts]
    change = [(part[:, 0] - part[:, 1]).reshape(seeds, -1) / RATE for part in there if part is not None]
    starts = [Weights(*(None if part is None else part[i, 0] for part in there)) for i in range(seeds)]
    return np.concatenate(change, axis=1), starts


def _gradients(network: Any, kind: str, starts: list[Weights], states: list[States]) -> np.ndarray:
    """Of every seed; all alike where nothing but the first layer is drawn."""
    drawn = starts[0].readout is not None
    found = [population.gradient(network, kind, w, _classes(states)) for w in (starts if drawn else starts[:1])]
    return np.broadcast_to(np.stack(found), (len(starts), len(found[0])))


def estimated(n: int, pair: str, name: str, estimator: str) -> float:
    network, kind = _networks(n)[name]
    stimuli, states = _pairs(n)[pair]
    task = lx.Task(stimuli, [0, 1])
    seeds = 16 if network.__class__.__name__ in ("TwoLayer", "Autoencoder") else SEEDS
    change, starts = _stepped(task, network, kind, n, seeds, batch=BATCH, estimator=estimator, stream="independent")
    return sampled(change - _gradients(network, kind, starts, states), 0.0, ROUNDING)


def whole(n: int, name: str) -> float:
    """A data set of 8 samples a class in batches of 16: every step sees all of it."""
    network, kind = _networks(n)[name]
    rng = np.random.default_rng(n)
    data = [rng.normal(size=(8, n)).astype(np.float32) for _ in range(2)]
    task = lx.Task([lx.stimuli.Empirical(x) for x in data], [0, 1])
    change, starts = _stepped(task, network, kind, n, 1, batch=16)
    states = [(x.astype(float), np.full(8, 1 / 8)) for x in data]
    return apart(change, _gradients(network, kind, starts, states), ROUNDING)


def _estimated_cases() -> list[Case]:
    """Every network with every estimator, ring sizes and classes in turn."""
    turn, cases = itertools.count(), []
    for name, estimator in itertools.product(_networks(2), ("plain", "antithetic", "orbit")):
        i = next(turn)
        n, pair = 3 + i % 6, ("Ising", "pulses", "scaled")[i % 7 % 3]
        what = f"{name} on {pair}({n}), {estimator}"
        cases.append(Case(what, lambda a=(n, pair, name, estimator): estimated(*a)))
    return cases


def _whole_cases() -> list[Case]:
    return [
        Case(f"{name} on {2 + i % 9} pixels", lambda n=2 + i % 9, name=name: whole(n, name))
        for i, name in enumerate(_networks(2))
    ]


ROWS = [Row("step: data set", _whole_cases), Row("step: estimators", _estimated_cases)]
