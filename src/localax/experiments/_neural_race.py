"""The neural race of gates: does a ReLU network take the gates that learn fastest, or those that end best?"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np

from .._progress import Update
from .._record import Claim, Fields, Figure, Lines, Outcome, Table, decide
from ..networks import GatedLinear, SoftCommittee, Xavier
from ..stimuli import Gaussian, Task
from ..theory import GatedMoments, gate_families, gated_linear_flow, gated_moments
from ._seeds import seed_from, seeds_from
from ._tasks import SIZE, binary, nlgp
from ._train import train

LENGTHSCALES = (1.0, 2.0)
GAINS = {"Gaussian": 0.01, "gain 100": 100.0}
CYCLES = 8
TOLERANCE = 0.003
"""Between limiting losses of single gates: several times what another sample changes them by."""
SINGLE = 10
"""Times as many samples for a single gate, whose A is known: they are cheap."""
WHICH = {"least": np.min, "median": np.median, "largest": np.max}
"""The notes ask which of the many eigenvalues to look at: these."""
SHOWN = ("flat", "localized", "oscillatory", "random", "ReLU")


@dataclass(frozen=True)
class Settings:
    """Units of each race, the largest last; training of the networks that lend their gates; samples for moments."""

    units: tuple[int, ...] = (1, 8)
    seeds: int = 2
    steps: int = 2000
    batch: int = 64
    samples: int = 10_000


PRESETS = {"quick": Settings(), "paper": Settings(units=(1, 3, 8), seeds=3, steps=6000, batch=128, samples=40_000)}


@dataclass(frozen=True)
class Entry:
    """One gate structure: what a gated linear network knows behind it, and its loss over time from weights 0."""

    moments: GatedMoments
    loss: np.ndarray

    @property
    def end(self) -> float:
        return self.moments.limiting_loss()

    @property
    def slope(self) -> float:
        """How fast the loss falls at the start, from weights 0."""
        return float(np.sum((2 * self.moments.b / self.moments.units) ** 2))

    @cached_property
    def rates(self) -> np.ndarray:
        """Those of the directions that the gates let through."""
        rates = self.moments.rates()
        return rates[rates > 0] if np.any(rates > 0) else np.zeros(1)


Race = dict[str, Entry]


def run(settings: Settings, key: Any, progress: Update) -> Outcome:
    """Races of single gates and of several, on Gaussian and on nearly binary data."""
    learned, races = {}, {}
    for part, units in enumerate(settings.units):
        learned[units] = _learned(units, settings, jax.random.fold_in(key, part))
        for i, name in enumerate(GAINS):
            races[units, name] = _race(name, learned[units][i], settings, jax.random.fold_in(key, 9))
        progress((part + 1) / len(settings.units))
    return Outcome(
        title="The neural race",
        text=_text(races, settings),
        figures=(_curves(races, learned), _table(races)),
        claims=(_eigenvalue_claim(races, settings), _fastest_claim(races, settings), _best_claim(races, settings)),
    )


def _learned(units: int, settings: Settings, key: Any) -> np.ndarray:
    """Fields of ReLU networks after training, (task, seed, unit, pixel)."""
    tasks = [nlgp(gain, LENGTHSCALES) for gain in GAINS.values()]
    run = train(
        tasks, SoftCommittee(units), steps=settings.steps, batch=settings.batch, rate=0.1 * units,
        seeds=seeds_from(key, settings.seeds), data_seed=seed_from(key), init=Xavier(1e-3), estimator="orbit",
        save_every=settings.steps,
    )  # fmt: skip
    return run.final


def _race(name: str, learned: np.ndarray, settings: Settings, key: Any) -> Race:
    gaussian = binary(*(Gaussian(SIZE, xi) for xi in LENGTHSCALES))
    task = gaussian if name == "Gaussian" else nlgp(GAINS[name], LENGTHSCALES)
    return {name: _entry(task, gates, settings, key) for name, gates in _gates(task, learned, key).items()}


def _gates(task: Task, learned: np.ndarray, key: Any) -> dict[str, np.ndarray]:
    """The families that the notes want raced; ReLU networks after the first by number."""
    units = learned.shape[1]
    place = np.arange(units)[:, None]
    families = gate_families(task, units=units, seed=seed_from(key), relu=learned[0])
    families["oscillatory"] = np.cos(2 * np.pi * (CYCLES * np.arange(SIZE) / SIZE - place / units))
    return families | {f"ReLU {i + 2}": gates for i, gates in enumerate(learned[1:])}


def _entry(task: Task, gates: np.ndarray, settings: Settings, key: Any) -> Entry:
    network = GatedLinear(gates)
    samples = settings.samples * (SINGLE if network.units == 1 else 1)
    moments = gated_moments(task, network, samples=samples, seed=seed_from(key))
    path = gated_linear_flow(task, network, np.zeros((1, *gates.shape)), times=_times(network.units), moments=moments)
    assert path.loss is not None
    return Entry(moments, path.loss[0])


def _times(units: int) -> np.ndarray:
    """From first changes to rest: rates fall with the square of the number of units."""
    return np.geomspace(0.02, 30, 40) * units**2


def _relu(race: Race) -> list[Entry]:
    return [entry for name, entry in race.items() if name.startswith("ReLU")]


def _others(race: Race) -> Race:
    return {name: entry for name, entry in race.items() if not name.startswith("ReLU")}


def _best(race: Race) -> str:
    return min(_others(race), key=lambda name: race[name].end)


def _fastest(race: Race) -> str:
    return max(_others(race), key=lambda name: race[name].slope)


def _gap(race: Race) -> float:
    """How much worse than the best family the gates of ReLU networks end, at the worst network."""
    return max(entry.end for entry in _relu(race)) - race[_best(race)].end


def _place(race: Race) -> str:
    """Where the gates of the worst trained network end, in words."""
    best, fast = _best(race), _fastest(race)
    own = max(entry.end for entry in _relu(race))
    to_best = "above" if own > race[best].end + TOLERANCE else "no worse than"
    to_fast = "below" if own < race[fast].end - TOLERANCE else "no better than"
    return (
        f"{own:.4f}, {to_best} the best family ({best}, {race[best].end:.4f}) and {to_fast} the fastest ({fast}, "
        f"{race[fast].end:.4f})"
    )


def _text(races: dict, settings: Settings) -> str:
    one, many = ("; ".join(f"{n}: {_place(races[k, n])}" for n in GAINS) for k in (1, settings.units[-1]))
    return (
        "Seed 000 asks whether a ReLU network takes the gates that learn fastest in a gated linear network (which it "
        "would judge by the eigenvalues of A), or those of least limiting loss. For a single gate the eigenvalues "
        "cannot answer: on sign-symmetric data A = (S0 + S1)/4 for every halfspace, so that they are the same for "
        f"every gate that opens. The limiting losses differ. The gate of a trained ReLU neuron ends at: {one}. The "
        f"gates of a trained network of {settings.units[-1]} units end at: {many}. Moments on Gaussian data are exact, "
        f"those at gain {GAINS['gain 100']:g} from {settings.samples:,} samples a class ({SINGLE} times as many for "
        f"one gate); {settings.seeds} trained networks of each kind (orbit gradients), the worst of which counts. "
        f"Only the named families compete: what other gates could do is the question of the search for gates."
    )


# Figures -------------------------------------------------------------------------------------------------------------


def _curves(races: dict, learned: dict[int, np.ndarray]) -> Figure:
    rows = []
    for (units, name), race in races.items():
        curves = {family: race[family].loss for family in SHOWN}
        title = f"{name}, {units} gate{'s' if units > 1 else ''}"
        loss = Lines(title, _times(units), curves, xlabel="time", ylabel="loss", logx=True)
        fields = learned[units][list(GAINS).index(name), 0]
        rows.append((loss, Fields("fields of the trained ReLU network", fields)))
    return Figure("Gated linear networks behind different gates", tuple(rows))


def _table(races: dict) -> Figure:
    rows = []
    for (units, name), race in races.items():
        for family, entry in sorted(race.items(), key=lambda item: item[1].end):
            low, middle, high = (f"{f(entry.rates):.4f}" for f in WHICH.values())
            rows.append((name, units, family, f"{entry.end:.4f}", f"{entry.slope:.4f}", low, middle, high))
    columns = ("data", "gates", "family", "limiting loss", "initial slope", "least rate", "median rate", "largest rate")
    return Figure("Limiting losses and rates, best first", ((Table("", columns, tuple(rows)),),))


# Claims --------------------------------------------------------------------------------------------------------------


def _eigenvalue_claim(races: dict, settings: Settings) -> Claim:
    several = {name: races[settings.units[-1], name] for name in GAINS}
    rows = {(name, which): _eigenvalues(race, f) for name, race in several.items() for which, f in WHICH.items()}
    wins = [all(rows[name, which][0] < min(rows[name, which][1].values()) for name in GAINS) for which in WHICH]
    return Claim(
        sentence="The winner of the race is the gating structure with the smallest eigenvalues of A.",
        source="seed 000, section 5.1; seed 001, section 4.4",
        reported="a proposal",
        measured="; ".join(
            f"{name}, {which}: {own:.4f} for ReLU gates, least for {min(others, key=others.__getitem__)} gates "
            f"({min(others.values()):.4f})"
            for (name, which), (own, others) in rows.items()
        ),
        rule=f"of {settings.units[-1]} gates the ReLU network's own have smaller rates 2 A/K^2 than every family that "
        "opens, on both data, by the least positive, the median and the largest one (in part: by one of the three)",
        basis=_moments_basis(settings),
        verdict=decide(all(wins), any(wins)),
        expected="does not hold",
        reason="A does not see the labels. For one gate it does not see the gate either: E[g X X'] = (S0 + S1)/4 for "
        "every halfspace on sign-symmetric data, so that a race of single gates by eigenvalues is a tie.",
    )


def _eigenvalues(race: Race, which: Callable[[np.ndarray], Any]) -> tuple[float, dict[str, float]]:
    """One of the rates for the ReLU networks (the largest over networks) and for each family that opens."""
    others = {name: float(which(entry.rates)) for name, entry in _others(race).items() if name != "zero"}
    return max(float(which(entry.rates)) for entry in _relu(race)), others


def _moments_basis(settings: Settings) -> str:
    return (
        f"{settings.seeds} trained networks in each race; exact moments (Gaussian) and {settings.samples:,} samples a "
        f"class ({list(GAINS)[-1]})"
    )


def _fastest_claim(races: dict, settings: Settings) -> Claim:
    many = settings.units[-1]
    several = {name: races[many, name] for name in GAINS}
    slopes = {n: (max(e.slope for e in _relu(race)), race[_fastest(race)].slope) for n, race in several.items()}
    return Claim(
        sentence="The gating structure that learns fastest is the one that the ReLU network ends up implementing.",
        source="seed 000, section 5.1",
        reported="a question",
        measured="; ".join(
            f"{name}: initial slope {own:.4f} of the ReLU gates, {other:.4f} of {_fastest(several[name])} gates, "
            f"which end at {several[name][_fastest(several[name])].end:.4f} instead of "
            f"{min(e.end for e in _relu(several[name])):.4f}"
            for name, (own, other) in slopes.items()
        ),
        rule=f"of {many} gates the ReLU network's own make the loss fall most steeply at first, on both data",
        basis=_moments_basis(settings),
        verdict=decide(all(own >= other for own, other in slopes.values())),
        expected="does not hold",
        reason="Flat gates see the largest share of the input at once and soon have no more to learn.",
    )


def _best_claim(races: dict, settings: Settings) -> Claim:
    gaps = {where: _gap(race) for where, race in races.items()}
    return Claim(
        sentence="The ReLU network uses the gating structure of least limiting loss.",
        source="seed 000, section 5.1",
        reported="a question",
        measured="; ".join(
            f"{name}, {units} gate{'s' if units > 1 else ''}: {gap:+.4f} from {_best(races[units, name])} gates"
            for (units, name), gap in gaps.items()
        ),
        rule=f"no family of fixed gates is better by more than {TOLERANCE} in any race (in part: in those of one gate)",
        basis=_moments_basis(settings),
        verdict=decide(
            max(gaps.values()) < TOLERANCE, max(gap for (units, _), gap in gaps.items() if units == 1) < TOLERANCE
        ),
        expected="holds in part",
        reason="With many units the ReLU network's gates lead the middle of the race and are overtaken late by single "
        "pixels. Gate and field of a ReLU unit are one, so it cannot have every field behind every gate.",
    )
