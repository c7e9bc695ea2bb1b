"""The neural race of gates: does a ReLU network take the gates that learn fastest, or those that end best?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np

from ..._errors import setting_error
from ..._progress import Update
from ...networks import GatedLinear, SoftCommittee, Xavier
from ...outcome import Claim, Fields, Figure, Lines, Number, Rule, Table, as_measured
from ...spec import Setting
from ...stimuli import Gaussian, Task
from ...theory.gates import gate_families, gated_linear_flow, gated_moments
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.seeds import seed_from, seeds_from
from ..toolkit.sources import NETWORKS, OLDER
from ..toolkit.tasks import SIZE, binary, nlgp
from ..toolkit.train import train

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

EIGENVALUES = Rule(
    "of {many} gates the ReLU network's own have smaller rates 2 A/K^2 than every family (but that of zeros, which is "
    "always open), on both data, by the least positive, the median and the largest one (in part: by one of the three)",
    lambda n, _: n.least < 0 and n.median < 0 and n.largest < 0,
    partly=lambda n, _: n.least < 0 or n.median < 0 or n.largest < 0,
    holds={"least": -0.001, "median": -0.002, "largest": -0.02},
    part={"least": 0.001, "median": -0.002, "largest": 0.01},
    fails={"least": 0.001, "median": 0.002, "largest": 0.01},
)
STEEPEST = Rule(
    "of {many} gates the ReLU network's own make the loss fall most steeply at first, on both data",
    lambda n, _: n.gaussian >= 0 and n.binary >= 0,
    holds={"gaussian": 0.004, "binary": 0.001},
    fails={"gaussian": -0.006, "binary": 0.001},
)
BEST = Rule(
    "no family of fixed gates is better by {near:g} or more in any race (in part: in those of one gate)",
    lambda n, t: n.single < t.near and n.several < t.near,
    partly=lambda n, t: n.single < t.near,
    thresholds={"near": TOLERANCE},
    holds={"single": 0.001, "several": 0.002},
    part={"single": 0.001, "several": 0.03},
    fails={"single": 0.02, "several": 0.03},
)


@dataclass(frozen=True)
class NeuralRace(AbstractExperiment):
    """Does a ReLU network take the gates that learn fastest in a gated linear network, or those that end best?"""

    name: ClassVar[str] = "neural_race"
    title: ClassVar[str] = "The neural race"
    cost: ClassVar[float] = 56.0

    units: Annotated[
        tuple[int, ...],
        Setting("gates of each race: 1, then more", kind=int, ge=1, le=SIZE, many=(2, None), rising=True),
    ] = (1, 8)
    seeds: Annotated[int, Setting("trained networks that lend their gates", kind=int, ge=1)] = 2
    steps: Annotated[int, Setting("steps of their training", kind=int, ge=1)] = 2000
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 64
    samples: Annotated[int, Setting("samples a class for moments without closed form", kind=int, ge=1000)] = 10_000

    @classmethod
    def paper(cls) -> "NeuralRace":
        return cls(units=(1, 3, 8), seeds=3, steps=6000, batch=128, samples=40_000)

    def check(self) -> None:
        if self.units[0] != 1:
            raise setting_error(type(self), "units", self.units, "a list that begins with 1, the race of single gates")

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Races of single gates and of several, on Gaussian and on nearly binary data."""
        learned, races = {}, {}
        for part, units in enumerate(self.units):
            fields = self._learned(units, jax.random.fold_in(key, part))
            for name, own in zip(GAINS, fields, strict=True):
                learned[units, name] = own[0]
                races[units, name] = self._race(name, own, jax.random.fold_in(key, 9))
            progress((part + 1) / len(self.units))
        return Measured(self, races, learned)

    def _learned(self, units: int, key: Any) -> np.ndarray:
        """Fields of ReLU networks after training, (task, seed, unit, pixel)."""
        tasks = [nlgp(gain, LENGTHSCALES) for gain in GAINS.values()]
        run = train(
            tasks, SoftCommittee(units), steps=self.steps, batch=self.batch, rate=0.1 * units,
            seeds=seeds_from(key, self.seeds), data_seed=seed_from(key), init=Xavier(1e-3), estimator="orbit",
            save_every=self.steps,
        )  # fmt: skip
        return run.final

    def _race(self, name: str, learned: np.ndarray, key: Any) -> "Race":
        gaussian = binary(*(Gaussian(SIZE, xi) for xi in LENGTHSCALES))
        task = gaussian if name == "Gaussian" else nlgp(GAINS[name], LENGTHSCALES)
        return Race({name: self._entry(task, gates, key) for name, gates in _gates(task, learned, key).items()})

    def _entry(self, task: Task, gates: np.ndarray, key: Any) -> "Entry":
        network, start = GatedLinear(gates), np.zeros((1, *gates.shape))
        samples = self.samples * (SINGLE if network.units == 1 else 1)
        moments = gated_moments(task, network, samples=samples, seed=seed_from(key))
        path = gated_linear_flow(task, network, start, times=_times(network.units), moments=moments)
        assert path.loss is not None
        rates = moments.rates()
        rates = rates[rates > 0] if np.any(rates > 0) else np.zeros(1)
        slope = float(np.sum((2 * moments.b / moments.units) ** 2))
        return Entry(moments.limiting_loss(), slope, rates, path.loss[0])


def _gates(task: Task, learned: np.ndarray, key: Any) -> dict[str, np.ndarray]:
    """The families that the notes want raced; ReLU networks after the first by number."""
    units = learned.shape[1]
    place = np.arange(units)[:, None]
    families = gate_families(task, units=units, seed=seed_from(key), relu=learned[0])
    families["oscillatory"] = np.cos(2 * np.pi * (CYCLES * np.arange(SIZE) / SIZE - place / units))
    return families | {f"ReLU {i + 2}": gates for i, gates in enumerate(learned[1:])}


def _times(units: int) -> np.ndarray:
    """From first changes to rest: rates fall with the square of the number of units."""
    return np.geomspace(0.02, 30, 40) * units**2


@dataclass(frozen=True)
class Entry:
    """What a gated linear network does behind one gate structure: the loss it ends at, how fast the loss falls at the
    start, the rates of the directions that the gates let through, and the loss over time, from weights 0."""

    end: float
    slope: float
    rates: np.ndarray
    loss: np.ndarray


@dataclass(frozen=True)
class Race:
    """Gate structures by name: families, and trained ReLU networks."""

    entries: Mapping[str, Entry]

    @property
    def relu(self) -> list[Entry]:
        return [entry for name, entry in self.entries.items() if name.startswith("ReLU")]

    @property
    def families(self) -> dict[str, Entry]:
        return {name: entry for name, entry in self.entries.items() if not name.startswith("ReLU")}

    @property
    def best(self) -> str:
        return min(self.families, key=lambda name: self.entries[name].end)

    @property
    def fastest(self) -> str:
        return max(self.families, key=lambda name: self.entries[name].slope)

    @property
    def own(self) -> float:
        """Where the gates of the worst ReLU network end."""
        return max(entry.end for entry in self.relu)

    @property
    def gap(self) -> float:
        """How much worse than the best family that is."""
        return self.own - self.entries[self.best].end

    @property
    def lead(self) -> float:
        """By how much the loss of the steepest ReLU network falls more steeply at first than that of any family."""
        return max(entry.slope for entry in self.relu) - self.entries[self.fastest].slope

    def eigenvalues(self, which: str) -> tuple[float, str, float]:
        """One of the rates for the ReLU networks (the largest over networks), and the family that has least."""
        take = WHICH[which]
        others = {name: float(take(entry.rates)) for name, entry in self.families.items() if name != "zero"}
        least = min(others, key=others.__getitem__)
        return max(float(take(entry.rates)) for entry in self.relu), least, others[least]

    def place(self) -> str:
        """Where the gates of the worst trained network end, in words."""
        best, fast = (self.entries[name].end for name in (self.best, self.fastest))
        to_best = "above" if self.own > best + TOLERANCE else "no worse than"
        to_fast = "below" if self.own < fast - TOLERANCE else "no better than"
        return (
            f"{self.own:.4f}, {to_best} the best family ({self.best}, {best:.4f}) and {to_fast} the fastest "
            f"({self.fastest}, {fast:.4f})"
        )


def _named(units: int, name: str) -> str:
    return f"{name}, {units} gate{'s' if units > 1 else ''}"


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Every race, and the fields of the first ReLU network in it, by number of gates and name of the data."""

    experiment: NeuralRace
    races: Mapping[tuple[int, str], Race]
    learned: Mapping[tuple[int, str], np.ndarray]

    def _of(self, units: int) -> dict[str, Race]:
        return {name: self.races[units, name] for name in GAINS}

    @property
    def several(self) -> dict[str, Race]:
        return self._of(self.experiment.units[-1])

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._eigenvalue(), self._fastest(), self._best()

    def _basis(self) -> str:
        it = self.experiment
        return (
            f"{it.seeds} trained networks in each race; exact moments (Gaussian) and {it.samples:,} samples a class "
            f"({list(GAINS)[-1]})"
        )

    def _eigenvalue(self) -> Claim:
        found = {(name, which): race.eigenvalues(which) for name, race in self.several.items() for which in WHICH}
        rows = "; ".join(
            f"{name}, {which}: {own:.4f} for ReLU gates, least for {family} gates ({least:.4f})"
            for (name, which), (own, family, least) in found.items()
        )
        margins = {w: max(found[name, w][0] - found[name, w][2] for name in GAINS) for w in WHICH}
        return EIGENVALUES.claim(
            "The winner of the race is the gating structure with the smallest eigenvalues of A.",
            source=f"{NETWORKS}, section 5.1; {OLDER}, section 4.4",
            reported="a proposal",
            numbers=[Number(which, margin) for which, margin in margins.items()],
            said=f"{rows}; ReLU gates less the least family, at the worse data: {{least:+.4f}} (least), "
            "{median:+.4f} (median), {largest:+.4f} (largest)",
            basis=self._basis(),
            expected=as_measured("does not hold"),
            words={"many": self.experiment.units[-1]},
            reasons={
                "does not hold": "A does not see the labels. For one gate it does not see the gate either: E[g X X'] = "
                "(S0 + S1)/4 for every halfspace on sign-symmetric data, so that a race of single gates by "
                "eigenvalues is a tie."
            },
        )

    def _fastest(self) -> Claim:
        rows = "; ".join(
            f"{name}: initial slope {max(e.slope for e in race.relu):.4f} of the ReLU gates, "
            f"{race.entries[race.fastest].slope:.4f} of {race.fastest} gates, which end at "
            f"{race.entries[race.fastest].end:.4f} instead of {min(e.end for e in race.relu):.4f}"
            for name, race in self.several.items()
        )
        leads = [race.lead for race in self.several.values()]
        return STEEPEST.claim(
            "The gating structure that learns fastest is the one that the ReLU network ends up implementing.",
            source=f"{NETWORKS}, section 5.1",
            reported="a question",
            numbers=[Number(name, lead) for name, lead in zip(("gaussian", "binary"), leads, strict=True)],
            said=f"{rows}; lead of the ReLU gates: {{gaussian:+.4f}} and {{binary:+.4f}}",
            basis=self._basis(),
            expected=as_measured("does not hold"),
            words={"many": self.experiment.units[-1]},
            reasons={
                "does not hold": "A slope at the start says how much of the label all open gates together see at once, "
                "not how much there is to learn behind them."
            },
        )

    def _best(self) -> Claim:
        rows = "; ".join(
            f"{_named(*where)}: {race.gap:+.4f} from {race.best} gates" for where, race in self.races.items()
        )
        gaps = {kind: [r.gap for (k, _), r in self.races.items() if (k > 1) == kind] for kind in (False, True)}
        return BEST.claim(
            "The ReLU network uses the gating structure of least limiting loss.",
            source=f"{NETWORKS}, section 5.1",
            reported="a question",
            numbers=[Number("single", max(gaps[False])), Number("several", max(gaps[True]))],
            said=f"{rows}; at most {{single:+.4f}} with one gate and {{several:+.4f}} with several",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "Gate and field of a ReLU unit are one, so that several units cannot have every field "
                "behind every gate."
            },
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        rows = tuple((self._losses(*where), self._fields(*where)) for where in self.races)
        return Figure("Gated linear networks behind different gates", rows), self._table()

    def _losses(self, units: int, name: str) -> Lines:
        curves = {family: self.races[units, name].entries[family].loss for family in SHOWN}
        return Lines(_named(units, name), _times(units), curves, xlabel="time", ylabel="loss", logx=True)

    def _fields(self, units: int, name: str) -> Fields:
        return Fields("fields of the trained ReLU network", self.learned[units, name])

    def _table(self) -> Figure:
        rows = []
        for (units, name), race in self.races.items():
            for family, entry in sorted(race.entries.items(), key=lambda item: item[1].end):
                rates = (f"{take(entry.rates):.4f}" for take in WHICH.values())
                rows.append((name, units, family, f"{entry.end:.4f}", f"{entry.slope:.4f}", *rates))
        names = ("data", "gates", "family", "limiting loss", "initial slope", *(f"{which} rate" for which in WHICH))
        return Figure("Limiting losses and rates, best first", ((Table("", names, tuple(rows)),),))

    def text(self) -> str:
        it = self.experiment
        one, many = (
            "; ".join(f"{name}: {race.place()}" for name, race in races.items())
            for races in (self._of(1), self.several)
        )
        return (
            f"{NETWORKS.capitalize()} ask whether a ReLU network takes the gates that learn fastest in a gated linear "
            "network (which they would judge by the eigenvalues of A), or those of least limiting loss. For a single "
            "gate the eigenvalues cannot answer: on sign-symmetric data A = (S0 + S1)/4 for every halfspace, so that "
            "they are the same for every gate. The limiting loss can. The gate of a trained ReLU neuron ends at: "
            f"{one}. The gates of a trained network of {it.units[-1]} units end at: {many}. Moments on Gaussian data "
            f"are exact, those at gain {GAINS['gain 100']:g} from {it.samples:,} samples a class ({SINGLE} times as "
            f"many for one gate); {it.seeds} trained networks of each kind (orbit gradients), the worst of which "
            "counts. Only the named families compete: what other gates could do is the question of the search for "
            "gates."
        )
