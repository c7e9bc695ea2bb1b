"""The neural race of gates: does a ReLU network take the gates that learn fastest, or those that end best?"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .._record import Claim, Fields, Figure, Lines, Outcome, Table, decide
from ..networks import GatedLinear, SoftCommittee, Xavier
from ..stimuli import Gaussian, Task
from ..theory import GatedMoments, gate_families, gated_linear_flow, gated_moments
from ..training import train
from ._seeds import seed_from, seeds_from
from ._tasks import SIZE, binary, nlgp

LENGTHSCALES = (1.0, 2.0)
GAINS = {"Gaussian": 0.01, "gain 100": 100.0}
CYCLES = 8
TOLERANCE = 0.003
"""Between limiting losses of single gates: several times what another sample changes them by."""
SINGLE = 10
"""Times as many samples for a single gate, whose A is known: they are cheap."""
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

    @property
    def rates(self) -> np.ndarray:
        return self.moments.rates()


Race = dict[str, Entry]


def run(settings: Settings, key: Any, progress: Callable[[float], None]) -> Outcome:
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
        claims=(_eigenvalue_claim(races), _fastest_claim(races, settings), _best_claim(races, settings)),
    )


def _learned(units: int, settings: Settings, key: Any) -> np.ndarray:
    """Fields of ReLU networks after training, (task, seed, unit, pixel)."""
    tasks = [nlgp(gain, LENGTHSCALES) for gain in GAINS.values()]
    run = train(
        tasks, SoftCommittee(units), steps=settings.steps, batch=settings.batch, rate=0.1 * units,
        seeds=seeds_from(key, settings.seeds), data_seed=seed_from(key), init=Xavier(1e-3), estimator="orbit",
        save_every=settings.steps, record=(), progress=False,
    )  # fmt: skip
    return run.final


def _race(name: str, learned: np.ndarray, settings: Settings, key: Any) -> Race:
    gaussian = binary(*(Gaussian(SIZE, xi) for xi in LENGTHSCALES))
    task = gaussian if name == "Gaussian" else nlgp(GAINS[name], LENGTHSCALES)
    return {name: _entry(task, gates, settings, key) for name, gates in _gates(task, learned, key).items()}


def _gates(task: Task, learned: np.ndarray, key: Any) -> dict[str, np.ndarray]:
    """The families of the notes' TODO; ReLU networks after the first by number."""
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


def _text(races: dict, settings: Settings) -> str:
    many = settings.units[-1]
    ends = "; ".join(
        f"{name}: {_relu(race)[0].end:.4f}, while {_best(race)} gates end at {race[_best(race)].end:.4f} and the "
        f"fastest ({_fastest(race)}) at {race[_fastest(race)].end:.4f}"
        for (units, name), race in races.items()
        if units == many
    )
    flat, wave = (races[1, "Gaussian"][name].end for name in ("flat", "cosine"))
    return (
        f"Seed 000 asks whether a ReLU network takes the gates that learn fastest in a gated linear network, or those "
        f"of least limiting loss. For a single gate the eigenvalues of A cannot answer: they are the same for every "
        f"gate that opens, whatever the data. The limiting losses differ, and the gate of a trained ReLU neuron has "
        f"the least: flat on Gaussian data ({flat:.4f}, a cosine {wave:.4f}, in closed form), localized at gain 100 "
        f"({races[1, 'gain 100']['localized'].end:.4f}, the flat one {races[1, 'gain 100']['flat'].end:.4f}). With "
        f"{many} units it takes neither: the gates of trained networks are worse than the best family and better than "
        f"the fastest ({ends}). Moments on Gaussian data are exact, those at gain 100 from {settings.samples:,} "
        f"samples a class ({SINGLE} times as many for one gate); {settings.seeds} trained networks of each kind (orbit "
        f"gradients)."
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
            low, middle, high = (f"{f(entry.rates):.4f}" for f in (np.min, np.median, np.max))
            rows.append((name, units, family, f"{entry.end:.4f}", f"{entry.slope:.4f}", low, middle, high))
    columns = ("data", "gates", "family", "limiting loss", "initial slope", "least rate", "median rate", "largest rate")
    return Figure("Limiting losses and rates, best first", ((Table("", columns, tuple(rows)),),))


# Claims --------------------------------------------------------------------------------------------------------------


def _eigenvalue_claim(races: dict) -> Claim:
    spreads = []
    for name in GAINS:
        rates = np.stack([entry.rates for family, entry in races[1, name].items() if family != "zero"])
        spreads.append(float(np.ptp(rates, axis=0).max() / rates.max()))
    return Claim(
        sentence="The winner of the race is the gating structure with the smallest eigenvalues of A.",
        source="seed 000, section 5.1; seed 001, section 4.4",
        reported="a proposal",
        measured="for one gate the eigenvalues of all structures that open agree within "
        f"{max(spreads):.1e} of the largest; limiting losses from "
        + ", ".join(f"{min(e.end for e in races[1, n].values()):.4f} ({n})" for n in GAINS)
        + " upwards",
        rule="eigenvalues of single gates differ by more than 1% of the largest",
        basis="closed form, no samples",
        verdict=decide(max(spreads) > 0.01),
        expected="does not hold",
        reason="For sign-symmetric data E[g X X'] = (S0 + S1)/4 for every halfspace: only the loss can choose.",
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
        basis=f"{settings.seeds} trained networks; exact moments (Gaussian) and {settings.samples:,} samples a class",
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
        basis=f"{settings.seeds} trained networks in each race; exact moments (Gaussian) and {settings.samples:,} "
        "samples a class (gain 100)",
        verdict=decide(
            max(gaps.values()) < TOLERANCE, max(gap for (units, _), gap in gaps.items() if units == 1) < TOLERANCE
        ),
        expected="holds in part",
        reason="With many units the ReLU network's gates lead the middle of the race and are overtaken late by single "
        "pixels. Gate and field of a ReLU unit are one, so it cannot have every field behind every gate.",
    )
