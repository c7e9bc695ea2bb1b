"""Figure 6: committees of sigmoid units on Kur(10) and Kur(4), and independent component analysis beside them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np

from ..._errors import setting_error
from ..._progress import Update
from ...analysis import concentration, ipr, localized
from ...networks import SoftCommittee, Xavier
from ...outcome import Claim, Fields, Figure, Lines, Number, Panel, Rule, Table, as_measured, finite
from ...spec import Setting
from ...stimuli import Task
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.ica import Algorithm, Components, unmixed
from ..toolkit.neuron import orbit
from ..toolkit.seeds import seed_from, seeds_from
from ..toolkit.sources import PAPER
from ..toolkit.tasks import SIZE, kur, nlgp
from ..toolkit.train import train
from ..toolkit.unit_kinds import LOW, fast, slow
from ..toolkit.words import or_infinite

SHARP, BROAD = 10.0, 4.0
"""The exponents k of the figure: negative excess kurtosis, and an infinite one."""
CAPTION, STORED = 40, 100
"""Pixels, by the caption and in the stored runs."""
PRINTED_BATCH = 1000
WAYS: tuple[tuple[int, Algorithm], ...] = ((SIZE, "parallel"), (10, "parallel"), (10, "deflation"))
"""Components and algorithm: the caption's, the text's ten, and those of the stored outputs, one after another."""
MIXTURES = {"kur3": "Kur(3)", "kur30": "Kur(30)", "nlgp100": "NLGP(100)", "gaussian": "NLGP(0.01)"}
"""What ICA is asked to unmix, as numbers and as panels name it: excess kurtosis infinite, -1.17, -2.00 and 0."""


def _deviation(count: int, components: int) -> float:
    """The binomial standard deviation of a count of components."""
    return math.sqrt(count * (components - count) / components)


def _beyond(count: int, other: int, components: int, times: float) -> bool:
    """Whether a count is so many standard deviations of the difference above another."""
    return count - other > times * math.hypot(_deviation(count, components), _deviation(other, components))


LOCALIZED = Rule(
    "at every size more than {most:.0%} of the units localized on Kur(10) and less than {rare:.0%} on Kur(4); in part "
    "if only more of the former",
    lambda n, t: n.sharp > t.most and n.broad < t.rare,
    partly=lambda n, _: n.difference > 0,
    thresholds={"most": 0.5, "rare": 0.1},
    holds={"sharp": 0.8, "broad": 0.0, "difference": 0.8},
    part={"sharp": 0.4, "broad": 0.2, "difference": 0.2},
    fails={"sharp": 0.2, "broad": 0.3, "difference": -0.1},
)
WAVES = Rule(
    "every unit is a wave of at most {low} cycles; in part if more than {most:.0%} are",
    lambda n, _: n.slow == 1,
    partly=lambda n, t: n.slow > t.most,
    thresholds={"most": 0.5},
    holds={"slow": 1.0},
    part={"slow": 0.7},
    fails={"slow": 0.3},
)
COMPONENTS = Rule(
    "all {components} components are localized; in part if more than {most:.0%}",
    lambda n, _: n.localized == n.components,
    partly=lambda n, t: n.localized > t.most * n.components,
    thresholds={"most": 0.5},
    holds={"localized": 40, "components": 40},
    part={"localized": 30, "components": 40},
    fails={"localized": 10, "components": 40},
)
SIGN = Rule(
    "at least {most:.0%} of the components localized on all data but the Gaussian; in part if everywhere more than on "
    "the Gaussian, where there is nothing to find, by {sure:g} binomial standard deviations of the difference",
    lambda n, t: min(n.kur3, n.kur30, n.nlgp100) >= t.most * n.components,
    partly=lambda n, t: all(_beyond(c, n.gaussian, n.components, t.sure) for c in (n.kur3, n.kur30, n.nlgp100)),
    thresholds={"most": 0.9, "sure": 2.0},
    holds={"kur3": 40, "kur30": 38, "nlgp100": 37, "gaussian": 2, "components": 40},
    part={"kur3": 40, "kur30": 15, "nlgp100": 17, "gaussian": 3, "components": 40},
    fails={"kur3": 40, "kur30": 4, "nlgp100": 5, "gaussian": 3, "components": 40},
)


@dataclass(frozen=True)
class Figure6(AbstractExperiment):
    """Do committees of sigmoid units localize by the sign of the kurtosis, and ICA by its size alone?"""

    name: ClassVar[str] = "fig6"
    title: ClassVar[str] = "Figure 6: many sigmoid units, and ICA"
    cost: ClassVar[float] = 30.0

    sizes: Annotated[tuple[int, ...], Setting("pixels of the ring", kind=int, ge=18, le=1000, many=(1, None))] = (
        CAPTION,
    )
    units: Annotated[int, Setting("units of a committee", kind=int, ge=1)] = 10
    starts: Annotated[int, Setting("committees for each kind of data", kind=int, ge=1)] = 3
    rate: Annotated[float, Setting("learning rate, as stored with the figure", gt=0)] = 100.0
    steps: Annotated[int, Setting("steps of training", kind=int, ge=1)] = 5000
    batch: Annotated[int, Setting("samples a step", kind=int, ge=2)] = 32
    estimator: Annotated[
        str, Setting("plain samples, or each with its orbit", kind=str, choices=("plain", "orbit"))
    ] = "orbit"
    samples: Annotated[int, Setting("samples of the figure's data for ICA", kind=int, ge=100)] = 5_000
    controls: Annotated[int, Setting("samples of the other data for ICA", kind=int, ge=100)] = 5_000
    iterations: Annotated[int, Setting("iterations of ICA", kind=int, ge=1)] = 25

    @classmethod
    def paper(cls) -> "Figure6":
        return cls(
            sizes=(CAPTION, STORED), starts=3, steps=5000, batch=PRINTED_BATCH, estimator="plain", samples=100_000,
            controls=30_000, iterations=60,
        )  # fmt: skip

    def check(self) -> None:
        if len(set(self.sizes)) < len(self.sizes):
            raise setting_error(Figure6, "sizes", self.sizes, "different from one another")
        for size in self.sizes:
            kur(SHARP, size=size)  # a ring too small for the lengthscales is refused by the stimulus itself

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Train the committees at every size, then unmix the same kind of data."""
        committees: dict[tuple[int, float], Committee] = {}
        for i, size in enumerate(self.sizes):
            committees |= self._committees(size, jax.random.fold_in(key, size))
            progress((i + 1) / (len(self.sizes) + 1))
        tasks = dict(zip(MIXTURES, (kur(3.0), kur(30.0), nlgp(100.0), nlgp(0.01)), strict=True))
        filters = self._filters(tasks, jax.random.fold_in(key, 0))
        progress(1.0)
        excess = {name: task.stimuli[0].marginal.excess_kurtosis() for name, task in tasks.items()}
        return Measured(self, committees, filters, excess, _point_through(tasks["kur3"], 10))

    def _committees(self, size: int, key: Any) -> "dict[tuple[int, float], Committee]":
        trained = train(
            [kur(k, size=size) for k in (SHARP, BROAD)], SoftCommittee(self.units, "sigmoid", bias=True),
            steps=self.steps, batch=self.batch, rate=self.rate, estimator=self.estimator, init=Xavier(0.1),
            seeds=seeds_from(key, self.starts), data_seed=seed_from(jax.random.fold_in(key, 1)),
            save_every=self.steps,
        )  # fmt: skip
        assert trained.biases is not None
        ends = zip((SHARP, BROAD), trained.final, trained.biases[:, :, -1], strict=True)
        return {(size, k): Committee(fields, biases) for k, fields, biases in ends}

    def _filters(self, tasks: Mapping[str, Task], key: Any) -> "Filters":
        """All components at once, as in the caption; on the figure's own data also ten, as in the text."""
        found: Filters = {}
        for i, (name, task) in enumerate(tasks.items()):
            shown = i == 0
            x = np.asarray(task.sample(jax.random.fold_in(key, i), self.samples if shown else self.controls)[0])
            for components, algorithm in WAYS if shown else WAYS[:1]:
                found[name, f"{components} {algorithm}"] = unmixed(x, components, self.iterations, algorithm)
        return found


def _point_through(task: Task, waves: int) -> float:
    """Mean IPR of a single pixel seen through the strongest principal components."""
    covariance = np.mean([s.covariance_matrix() for s in task.stimuli], axis=0)
    strongest = np.linalg.eigh(covariance)[1][:, -waves:]
    return float(np.mean(ipr(strongest @ strongest.T)))


@dataclass(frozen=True, eq=False)
class Committee:
    """Final fields (start, unit, pixel) and biases (start, unit) on one kind of data."""

    fields: np.ndarray
    biases: np.ndarray

    def described(self) -> str:
        high = fast(self.fields)
        a, b, c = (int(kind.sum()) for kind in (localized(self.fields), slow(self.fields), high))
        positive = int(np.sum(self.biases[high] > 0))
        return f"{a} localized, {b} of low and {c} of high frequency ({positive} of these with a positive bias)"


Filters = dict[tuple[str, str], Components]
"""Components by the data and by how they were found."""


def _share(name: str, which: np.ndarray) -> Number:
    """The share of units (start, unit), with its standard error over starts."""
    error = which.mean(1).std(ddof=1) / np.sqrt(len(which)) if len(which) > 1 else None
    return Number(name, which.mean(), error, "of the units")


def _panels(title: str, fields: np.ndarray) -> tuple[Panel, ...]:
    """Fields, if there are any."""
    return (Fields(title, fields),) if len(fields) else ()


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Committees by size and exponent, independent components, and what is known of the data that were unmixed."""

    experiment: Figure6
    committees: dict[tuple[int, float], Committee]
    filters: Filters
    excess: dict[str, float]
    point: float
    """IPR of a single pixel through the ten strongest waves of the figure's data."""

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._localized(), self._waves(), self._components(), self._sign()

    def _training(self) -> str:
        it = self.experiment
        samples = orbit(it.batch) if it.estimator == "orbit" else f"{it.batch:,} samples"
        return f"{it.starts} committees of {it.units}, {it.steps:,} steps of {samples}"

    def _fitting(self, filters: Filters) -> str:
        """The iterations of these fits, and which of them were not enough."""
        unfinished = [f"{MIXTURES[name]} ({way})" for (name, way), one in filters.items() if one.converged is False]
        ends = f"not converged: {', '.join(unfinished)}" if unfinished else "all converged"
        return f"{self.experiment.iterations} iterations a fit, {ends}"

    def count(self, name: str, way: str = f"{SIZE} parallel") -> int:
        """How many components are localized."""
        return int(np.sum(localized(self.filters[name, way].filters)))

    def _localized(self) -> Claim:
        sizes = self.experiment.sizes
        each = {
            (word, size): _share(f"{word}_{size}", localized(self.committees[size, k].fields))
            for size in sizes
            for word, k in (("sharp", SHARP), ("broad", BROAD))
        }
        sharp, broad = (np.array([each[word, size].value for size in sizes], float) for word in ("sharp", "broad"))
        worst = {"sharp": sharp.min(), "broad": broad.max(), "difference": (sharp - broad).min()}
        return LOCALIZED.claim(
            "The receptive fields are sharply localized on Kur(10) and not on Kur(4).",
            source=f"{PAPER}, figure 6 and section 4.4",
            reported="all ten shown are, and none",
            numbers=[*(Number(name, value) for name, value in worst.items()), *each.values()],
            said=f"units that are localized, of {self.experiment.starts * self.experiment.units}, Kur(10) and Kur(4): "
            + "; ".join(f"N = {size}: {{sharp_{size}:.0%}} and {{broad_{size}:.0%}}" for size in sizes),
            basis=self._training(),
            expected=as_measured("holds"),
        )

    def _waves(self) -> Claim:
        broad = {size: one for (size, k), one in self.committees.items() if k == BROAD}
        least = min((_share("slow", slow(one.fields)) for one in broad.values()), key=lambda share: share.value or 0)
        return WAVES.claim(
            "On Kur(4) the receptive fields look like low-frequency oscillations.",
            source=f"{PAPER}, section 4.4",
            reported="all of them",
            numbers=[least],
            said="at least {slow:.0%} of low frequency; "
            + "; ".join(f"N = {size}: {one.described()}" for size, one in broad.items()),
            basis=self._training(),
            expected=as_measured("holds in part"),
            words={"low": LOW},
            reasons={
                "holds in part": "Some units turn to a positive bias and a high frequency: the second population of "
                "sigmoid units."
            },
        )

    def _components(self) -> Claim:
        shown = {key: one for key, one in self.filters.items() if key[0] == "kur3"}
        medians = {way: float(np.median(ipr(one.filters))) for (_, way), one in shown.items()}
        ways = dict(zip(("localized", "ten", "deflation"), medians, strict=True))
        numbers = [
            Number("components", SIZE),
            *(Number(word, self.count("kur3", way), unit="components") for word, way in ways.items()),
            *(Number(f"{word}_ipr", finite(medians[way])) for word, way in ways.items()),
        ]
        return COMPONENTS.claim(
            "ICA learns localized receptive fields from Kur(3).",
            source=f"{PAPER}, figure 6 (caption: 40 components) and section 4.4 (10 components)",
            reported="ten components, all localized",
            numbers=numbers,
            said="localized: "
            + "; ".join(f"of {way}: {{{word}}}, median IPR {{{word}_ipr:.2f}}" for word, way in ways.items()),
            basis=f"one fit a number, {self.experiment.samples:,} samples; {self._fitting(shown)}",
            expected=as_measured("holds"),
            words={"components": SIZE},
        )

    def _sign(self) -> Claim:
        it = self.experiment
        counts = {name: self.count(name) for name in MIXTURES}
        whole = {key: one for key, one in self.filters.items() if key[1].startswith(str(SIZE))}
        return SIGN.claim(
            "For ICA the sign of the excess kurtosis is irrelevant, so long as it is nonzero.",
            source=f"{PAPER}, section 4.4",
            reported="shown for positive excess kurtosis only",
            numbers=[
                Number("components", SIZE),
                *(Number(name, count, _deviation(count, SIZE), "components") for name, count in counts.items()),
            ],
            said="localized components of {components}: "
            + ", ".join(f"{shown} {{{name}}}" for name, shown in MIXTURES.items()),
            basis=f"one fit each; {it.samples:,} samples of Kur(3), {it.controls:,} of the others; "
            + self._fitting(whole),
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "What is found must stand out of the noise of the samples: a negative excess kurtosis "
                "is at most 2 in size, a positive one has no bound."
            },
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        sizes = self.experiment.sizes
        rows = tuple(self._row(size) for size in sizes)
        labels = tuple(f"N = {size}" for size in sizes)
        return Figure("Committees of sigmoid units with trained biases", rows, labels), self._ica(), self._table()

    def _row(self, size: int) -> tuple[Panel, ...]:
        pair = {f"Kur({k:g})": self.committees[size, k] for k in (SHARP, BROAD)}
        sharp = {name: np.sort(concentration(one.fields).ravel())[::-1] for name, one in pair.items()}
        ranks = np.arange(1.0, len(sharp["Kur(10)"]) + 1)
        negative = [_panels(f"{name}, negative bias", one.fields[0][one.biases[0] < 0]) for name, one in pair.items()]
        first = pair["Kur(10)"]
        positive = _panels("Kur(10), positive bias", first.fields[first.biases > 0][:3])
        lines = Lines("n IPR of all units", ranks, sharp, xlabel="unit, by rank")
        return (*negative[0], *negative[1], *positive, lines)

    def _ica(self) -> Figure:
        whole = f"{SIZE} parallel"
        top = (
            Fields(f"Kur(3): ten of {SIZE} components", self.filters["kur3", whole].filters[:10]),
            Fields("Kur(3): ten components only", self.filters["kur3", "10 parallel"].filters),
            Fields("Kur(3): ten, by deflation", self.filters["kur3", "10 deflation"].filters),
        )
        bottom = tuple(
            Fields(f"{shown}: ten of {SIZE}", self.filters[name, whole].filters[:10])
            for name, shown in list(MIXTURES.items())[1:]
        )
        return Figure("Independent components", (top, bottom), ("the figure", "controls"))

    def _table(self) -> Figure:
        rows = []
        for (name, way), one in self.filters.items():
            spread = (f"{v:.3f}" for v in np.quantile(ipr(one.filters), (0, 0.5, 1)))
            ends = {True: "yes", False: "no", None: "not told"}[one.converged]
            found = f"{self.count(name, way)}/{len(one.filters)}"
            rows.append((MIXTURES[name], or_infinite(self.excess[name]), way, found, *spread, ends))
        columns = ("data", "excess kurtosis", "components", "localized", "least IPR", "median", "largest", "converged")
        return Figure("Components that are localized", ((Table("", columns, tuple(rows)),),))

    def text(self) -> str:
        it = self.experiment
        found = "; ".join(f"N = {size}, Kur({k:g}): {one.described()}" for (size, k), one in self.committees.items())
        unmixed = ", ".join(f"{self.count(name)} on {shown}" for name, shown in MIXTURES.items())
        ten = np.median(ipr(self.filters["kur3", "10 parallel"].filters))
        instead = f", in place of {PRINTED_BATCH:,} samples" if it.estimator == "orbit" else ""
        return (
            f"The paper trains committees of {it.units} sigmoid units with biases on Kur(10), where it expects "
            f"localized fields, and on Kur(4), where it does not, and contrasts them with ICA, for which the sign of "
            f"the kurtosis should not matter. Of {it.starts * it.units} units each: {found}. Units of high frequency, "
            f"of which the text does not speak, belong to the second population that sigmoid units can form. FastICA "
            f"finds localized components (of {SIZE}): {unmixed}. If only ten are asked for, it first keeps the ten "
            f"strongest waves, through which a single pixel has an IPR of {self.point:.2f}; what it finds has a median "
            f"of {ten:.2f}. ICA had {it.samples:,} samples of Kur(3), {it.controls:,} of the others, and "
            f"{self._fitting(self.filters)}. The caption says N = {CAPTION}, the stored runs have N = {STORED}; here N "
            f"= {' and '.join(map(str, it.sizes))}. Training: {self._training()}{instead}."
        )
