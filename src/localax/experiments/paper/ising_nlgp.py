"""Ising spins against an NLGP of the same covariance: do their energies differ, and their receptive fields?"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np
import scipy

from ..._errors import setting_error
from ..._progress import Update
from ...analysis import align, distance, ipr
from ...outcome import Claim, Fields, Figure, Histogram, Lines, Number, Rule, Table, by_theory, finite
from ...spec import Setting
from ...stimuli import AbstractStimulus, Copula, Erf, Ising, Task, latent_covariance
from ...theory import localized_attractor
from ...theory.steady import LocalizedAttractor
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.neuron import neuron, orbit
from ..toolkit.seeds import seed_from, seeds_from
from ..toolkit.sources import PAPER
from ..toolkit.tasks import SIZE, binary
from ..toolkit.train import train

GAIN = 100.0
"""At which the pixels of an NLGP are nearly signs."""
CODE = f"the public code of {PAPER}, comparison of Ising and NLGP"

EXISTS = Rule(
    "every least eigenvalue is positive and the covariances agree to {agree:g}",
    lambda n, t: n.least > 0 and n.miss < t.agree,
    thresholds={"agree": 1e-10},
    holds={"least": 0.04, "miss": 1e-15},
    fails={"least": -0.02, "miss": 1e-15},
)
ENERGIES = Rule(
    "mean and standard deviation within {sure:g} standard errors; in part if the mean is, and less than "
    "{elsewhere:.0%} of the probability is elsewhere",
    lambda n, t: n.means < t.sure and n.spreads < t.sure,
    partly=lambda n, t: n.means < t.sure and n.elsewhere < t.elsewhere,
    thresholds={"sure": 5.0, "elsewhere": 0.05},
    holds={"means": 1.0, "spreads": 2.0, "elsewhere": 0.002},
    part={"means": 1.0, "spreads": 20.0, "elsewhere": 0.02},
    fails={"means": 1.0, "spreads": 50.0, "elsewhere": 0.1},
)
SAME_FIELDS = Rule(
    "every start of both ends within {near:.0%} of the steady state that the covariances give (the noise of the "
    "gradient keeps it a few percent away); in part if this holds for one",
    lambda n, t: n.ising < t.near and n.nlgp < t.near,
    partly=lambda n, t: n.ising < t.near or n.nlgp < t.near,
    thresholds={"near": 0.1},
    holds={"ising": 0.03, "nlgp": 0.04},
    part={"ising": 0.03, "nlgp": 0.3},
    fails={"ising": 0.2, "nlgp": 0.3},
)


@dataclass(frozen=True)
class IsingNLGP(AbstractExperiment):
    """Do Ising spins and an NLGP of the same covariance teach a neuron the same field?"""

    name: ClassVar[str] = "ising_nlgp"
    title: ClassVar[str] = "Ising spins and an NLGP of their covariance"
    cost: ClassVar[float] = 20.0

    energy_size: Annotated[int, Setting("ring whose energies are compared", kind=int, ge=6, le=200)] = 20
    coupling: Annotated[float, Setting("coupling on that ring", gt=0, le=2)] = 0.7
    samples: Annotated[int, Setting("samples of its energies", kind=int, ge=100, le=2_000_000)] = 200_000
    couplings: Annotated[tuple[float, ...], Setting("couplings of the task", gt=0, le=2, many=(2, 2))] = (0.3, 0.7)
    starts: Annotated[int, Setting("initialisations", kind=int, ge=1, le=1000)] = 10
    rate: Annotated[float, Setting("learning rate", gt=0, le=1)] = 0.05
    steps: Annotated[int, Setting("steps of training", kind=int, ge=50)] = 2000
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, le=100_000)] = 64

    @classmethod
    def paper(cls) -> "IsingNLGP":
        return cls(samples=1_000_000, starts=30, batch=512)

    def check(self) -> None:
        if not self.couplings[0] < self.couplings[1]:
            raise setting_error(type(self), "couplings", self.couplings, "the weaker, of label 0, before the stronger")

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Compare energies on a small ring, then train on both kinds of data."""
        small, *pair = (
            Ising(size, coupling)
            for size, coupling in ((self.energy_size, self.coupling), *((SIZE, one) for one in self.couplings))
        )
        laws = {"Ising": small, "NLGP": _matched(small)}
        energies = {name: self._energies(s, jax.random.fold_in(key, i)) for i, (name, s) in enumerate(laws.items())}
        progress(0.2)
        tasks = {"Ising": binary(*pair), "NLGP": binary(*map(_matched, pair))}
        ends = {name: self._trained(task, key) for name, task in tasks.items()}
        progress(1.0)
        exact = localized_attractor(tasks["Ising"], SIZE // 2)
        return Measured(self, tuple(_match(spins) for spins in (small, *pair)), energies, ends, exact)

    def _energies(self, stimulus: AbstractStimulus, key: Any) -> "Energies":
        x = np.asarray(stimulus.sample(key, self.samples), float)
        neighbour = np.roll(x, 1, axis=1)
        counts = np.bincount(np.sum(x * neighbour < 0, axis=1), minlength=self.energy_size + 1)
        return Energies(-self.coupling * np.sum(x * neighbour, axis=1), counts[::2] / self.samples)

    def _trained(self, task: Task, key: Any) -> "Ends":
        run = train(
            task, neuron(), steps=self.steps, batch=self.batch, rate=self.rate, estimator="orbit",
            seeds=seeds_from(key, self.starts), data_seed=seed_from(jax.random.fold_in(key, 2)),
            save_every=self.steps // 50,
        )  # fmt: skip
        return Ends(run.time, run.weights[:, :, 0])


def _matched(spins: Ising) -> Copula:
    """The NLGP whose covariance is that of the spins: the Gaussian behind it is found by the inverse arcsine law."""
    marginal = Erf(GAIN)
    return Copula(spins.size, latent_covariance(marginal, spins.covariance()), marginal)


def _match(spins: Ising) -> "Match":
    nlgp = _matched(spins)
    least = float(np.fft.fft(np.asarray(nlgp.latent.row)).real.min())  # of a circulant matrix
    miss = float(np.abs(nlgp.covariance() - spins.covariance()).max())
    return Match(spins.shape[0], float(spins.coupling), least, miss)


@dataclass(frozen=True)
class Match:
    """The least eigenvalue of the Gaussian behind an NLGP, and how far its covariance is from that of the spins."""

    size: int
    coupling: float
    least: float
    miss: float


@dataclass(frozen=True, eq=False)
class Energies:
    """Energies -J sum x_i x_{i+1} of samples, and how often each number of unequal neighbours occurs."""

    values: np.ndarray
    unequal: np.ndarray

    def mean(self) -> tuple[float, float]:
        """With its standard error."""
        return float(self.values.mean()), float(self.values.std() / np.sqrt(self.values.size))

    def spread(self) -> tuple[float, float]:
        """The standard deviation, with its standard error from the fourth moment."""
        squares = (self.values - self.values.mean()) ** 2
        spread = np.sqrt(squares.mean())
        return float(spread), float(squares.std() / (2 * spread * np.sqrt(squares.size)))


@dataclass(frozen=True, eq=False)
class Ends:
    """Weights (start, time, pixel) of training."""

    time: np.ndarray
    paths: np.ndarray

    @property
    def ipr(self) -> float:
        """In the median at the end."""
        return float(np.median(ipr(self.paths[:, -1])))

    def aligned(self, target: np.ndarray) -> np.ndarray:
        """The final fields, each with the shift and the sign that bring it nearest to the target."""
        return align(target, self.paths[:, -1]).field

    def gaps(self, target: np.ndarray) -> np.ndarray:
        """Relative distance of every final field from the target, up to shift and sign."""
        return distance(self.paths[:, -1], target) / np.linalg.norm(target)


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Covariances, energies and fields of both laws, and the exact steady state on spins."""

    experiment: IsingNLGP
    matches: tuple[Match, ...]
    energies: dict[str, Energies]
    ends: dict[str, Ends]
    exact: LocalizedAttractor

    # Numbers ----------------------------------------------------------------------------------------------------------

    def elsewhere(self) -> float:
        """Total variation distance between the numbers of unequal neighbours."""
        ising, nlgp = self.energies.values()
        return float(np.abs(ising.unequal - nlgp.unequal).sum() / 2)

    def furthest(self, law: str) -> Number:
        """The largest distance of a start's end from the exact field; None where that is no steady state."""
        gaps = self.ends[law].gaps(self.exact.field)
        return Number(law.lower(), finite(gaps.max()) if self.exact.dominates else None)

    # Claims -----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._existence(), self._energy(), self._field()

    def _existence(self) -> Claim:
        shown = (f"N = {m.size}, J = {m.coupling:g}: {m.least:.4f}" for m in self.matches)
        return EXISTS.claim(
            "There is an NLGP with the covariance of Ising spins.",
            source=CODE,
            reported="used there without a check",
            numbers=[
                Number("least", min(m.least for m in self.matches)),
                Number("miss", max(m.miss for m in self.matches)),
            ],
            said=f"least eigenvalue of the latent covariance: {'; '.join(shown)}; covariances agree to {{miss:.0e}}",
            basis="closed form, no samples",
            expected=by_theory("holds", "the inverse arcsine law, and the spectrum of what it gives"),
        )

    def _energy(self) -> Claim:
        it, (ising, nlgp) = self.experiment, self.energies.values()
        return ENERGIES.claim(
            "The energies of the NLGP are distributed as those of the spins.",
            source=CODE,
            reported="two histograms, no number",
            numbers=[
                _apart("means", ising.mean(), nlgp.mean()),
                _apart("spreads", ising.spread(), nlgp.spread()),
                Number("elsewhere", self.elsewhere()),
                Number("ising", *ising.spread()),
                Number("nlgp", *nlgp.spread()),
            ],
            said="means differ by {means:.1f} standard errors, standard deviations, {ising:.3f} (Ising) and {nlgp:.3f} "
            "(NLGP), by {spreads:.1f}; distributions of unequal neighbours by {elsewhere:.4f} in total variation",
            basis=f"{it.samples} samples each, N = {it.energy_size}, J = {it.coupling:g}",
            expected=by_theory("holds in part", "the mean energy is J N times a covariance, its spread is not"),
            reasons={
                "holds in part": "The mean is fixed by the covariance; the spread holds correlations of four pixels, "
                "which differ."
            },
        )

    def _field(self) -> Claim:
        it = self.experiment
        iprs = ", ".join(f"{one.ipr:.3f} ({name})" for name, one in self.ends.items())
        return SAME_FIELDS.claim(
            "Any law on the corners of the hypercube induces a localized field, the amplifier being the same.",
            source=f"{PAPER}, section 3.2",
            reported="shown for Ising and for NLGP at large gain, of different covariances",
            numbers=[self.furthest(law) for law in self.ends],
            said=f"median IPR {iprs}, exact {self.exact.ipr:.3f}; largest relative distance from the exact field: "
            "{ising:.1%} (Ising), {nlgp:.1%} (NLGP)",
            basis=f"{it.starts} starts each, N = {SIZE}, {it.steps} steps of {orbit(it.batch)}",
            expected=by_theory("holds", "w* = (S0 + S1)^-1 S1 e_i depends on the covariances alone"),
        )

    # Figures and text -------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        curves = {name: np.median(ipr(one.paths), 0) for name, one in self.ends.items()}
        exact = self.exact.field
        one_each = {"exact, spins": exact} | {name: one.aligned(exact)[0] for name, one in self.ends.items()}
        rows = (
            (*self._bars(), Lines("median IPR", self.ends["Ising"].time, curves, xlabel="time")),
            (
                *(Fields(f"final fields, {name}", one.paths[:4, -1]) for name, one in self.ends.items()),
                Lines("one field each, peaks aligned", np.arange(float(SIZE)), one_each, xlabel="pixel"),
            ),
        )
        caption = "Outlines of both histograms: the exact law of Ising spins."
        return Figure("Two laws of one covariance", rows, caption=caption), self._table()

    def _bars(self) -> list[Histogram]:
        """How often each number of unequal neighbours occurs, up to where it hardly does."""
        edges, law = np.arange(-1.0, self.experiment.energy_size + 2, 2), _ising_law(self.experiment)
        kept = 4 + int(np.searchsorted(-self.energies["Ising"].unequal[3:], -1e-4))
        return [
            Histogram(
                f"energies, {name}", edges[: kept + 1], one.unequal[:kept] / 2, law[:kept] / 2, "unequal neighbours"
            )
            for name, one in self.energies.items()
        ]

    def _table(self) -> Figure:
        rows = tuple(
            (
                name,
                "{:.4f} +- {:.4f}".format(*self.energies[name].mean()),
                "{:.4f} +- {:.4f}".format(*self.energies[name].spread()),
                f"{one.ipr:.4f}",
                f"{np.abs(one.paths[:, -1]).max():.4f}",
                f"{np.median(one.gaps(self.exact.field)):.4f}",
            )
            for name, one in self.ends.items()
        )
        steady = ("exact, spins", "", "", f"{self.exact.ipr:.4f}", f"{self.exact.field.max():.4f}", "0")
        columns = ("data", "mean energy", "its standard deviation", "IPR", "peak", "distance from the exact field")
        return Figure("Energies and final fields", ((Table("", columns, (*rows, steady)),),))

    def text(self) -> str:
        it, first = self.experiment, self.matches[0]
        ising, nlgp = (
            "mean {:.3f} +- {:.3f} and standard deviation {:.3f} +- {:.3f}".format(*one.mean(), *one.spread())
            for one in self.energies.values()
        )
        gaps = ", ".join(f"{np.median(one.gaps(self.exact.field)):.1%} ({name})" for name, one in self.ends.items())
        return (
            f"By the paper only the law of one pixel and the covariances matter, so that Ising spins and a thresholded "
            f"Gaussian field (NLGP, gain {GAIN:g}) of the same covariance should teach a neuron the same. Such a field "
            f"exists if the Gaussian covariance behind it has no negative eigenvalue; the least is {first.least:.4f} "
            f"(N = {first.size}, J = {first.coupling:g}). Its energies have {nlgp}, those of Ising spins {ising} "
            f"({it.samples} samples); {self.elsewhere():.2%} of the probability is elsewhere. After training at N = "
            f"{SIZE} the fields lie {gaps} from the exact steady state for spins, which depends on the covariances "
            f"alone, in the median of {it.starts} starts. Every step has {orbit(it.batch)}."
        )


def _apart(name: str, one: tuple[float, float], other: tuple[float, float]) -> Number:
    """The distance of two numbers with standard errors, in standard errors of their difference."""
    error = np.hypot(one[1], other[1])
    return Number(name, abs(one[0] - other[0]) / error if error > 0 else None, unit="standard errors")


def _ising_law(it: IsingNLGP) -> np.ndarray:
    """Probabilities of 0, 2, 4, ... unequal neighbours: independent bonds, given that their number is even."""
    broken = np.arange(0, it.energy_size + 1, 2)
    weights = scipy.stats.binom.pmf(broken, it.energy_size, 1 / (1 + np.exp(2 * it.coupling)))
    return weights / weights.sum()
