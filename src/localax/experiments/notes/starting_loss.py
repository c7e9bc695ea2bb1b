"""The loss before training against the gain of the data, for a ReLU and for a sigmoid unit."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ..._progress import Update
from ...networks import Xavier, seed_keys
from ...outcome import Claim, Figure, Lines, Number, Points, Rule, Scatter, Table, as_measured, by_theory
from ...spec import Setting
from ...stimuli import Gaussian, Task
from ...theory.sigmoid import starting_loss
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.seeds import seeds_from
from ..toolkit.sources import BEHAVIOUR
from ..toolkit.tasks import SIZE, binary, nlgp

GAINS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
LENGTHSCALES = (1.0, 2.0)
UNITS = ("ReLU", "sigmoid")
CHECKED = 20
"""So many initialisations are compared with the closed forms."""

FALLS = Rule(
    "it falls in {most:.0%} of the initialisations (in part: on average, by {sure:g} standard errors)",
    lambda n, t: n.falls > t.most,
    partly=lambda n, t: n.change < -t.sure * n.error,
    thresholds={"most": 0.95, "sure": 3.0},  # all but few; not by chance
    holds={"falls": 0.98, "change": -0.02, "error": 0.001},
    part={"falls": 0.6, "change": -0.02, "error": 0.001},
    fails={"falls": 0.5, "change": -0.001, "error": 0.001},
)
FIXED = Rule(
    "it changes by less than {sure:g} standard errors on average (in part: by less than {share:g} of the ReLU units' "
    "change)",
    lambda n, t: abs(n.change) < t.sure * n.error,
    partly=lambda n, t: abs(n.change) < t.share * abs(n.relu),
    thresholds={"sure": 3.0, "share": 0.5},
    holds={"change": 0.0005, "error": 0.0003, "relu": -0.005},
    part={"change": 0.002, "error": 0.0003, "relu": -0.005},
    fails={"change": 0.005, "error": 0.0003, "relu": -0.005},
)
FORMS = Rule(
    "within {sure:g} standard errors at each of {count} initialisations, at gain {gain:g}",
    lambda n, t: max(n.relu, n.sigmoid) < t.sure,
    thresholds={"sure": 5.0},
    holds={"relu": 2.1, "sigmoid": 2.4},
    fails={"relu": 2.1, "sigmoid": 40.0},
)


@dataclass(frozen=True)
class StartingLoss(AbstractExperiment):
    """Does the loss before training fall with the gain for ReLU units and stay for sigmoid units?"""

    name: ClassVar[str] = "starting_loss"
    title: ClassVar[str] = "The loss before training"
    cost: ClassVar[float] = 7.0

    seeds: Annotated[int, Setting("initialisations (Xavier, scale 1)", kind=int, ge=3)] = 2000
    samples: Annotated[int, Setting("samples a class, the same latent fields at all gains", kind=int, ge=100)] = 3000

    @classmethod
    def paper(cls) -> "StartingLoss":
        return cls(seeds=5000, samples=5000)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """All gains on the same latent fields, and the closed forms on Gaussian data."""
        weights = Xavier(1.0).weights(seed_keys(seeds_from(key, self.seeds)), 1, (SIZE,), np.float64)[:, 0]
        found = []
        for i, gain in enumerate(GAINS):
            found.append(_losses(gain, jnp.asarray(weights), self.samples, jax.random.fold_in(key, 1)))
            progress((i + 1) / len(GAINS))
        value, error = ({unit: np.stack([row[unit][i] for row, _ in found]) for unit in UNITS} for i in range(2))
        return Measured(
            self, value, error, np.stack([modulus for _, modulus in found]), _exact(np.asarray(weights)[:CHECKED])
        )


def _losses(
    gain: float, weights: jax.Array, count: int, key: Any
) -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Losses at one gain with their errors, second moments being exact and signs averaged out (labels 0, 1 and -1, 1);
    and E|<w,X>| over the standard deviation."""
    task, moduli, squares, powers = nlgp(gain, LENGTHSCALES), [], [], []
    for stimulus, part in zip(task.stimuli, jax.random.split(key), strict=True):
        powers.append(np.sum(weights @ stimulus.covariance_matrix() * weights, axis=1))
        modulus, square = _means(stimulus.sample(part, count, dtype=np.float64), weights, powers[-1])
        moduli.append(modulus)
        squares.append(square)
    relu = 0.25 - moduli[1][0] / 4 + (powers[0] + powers[1]) / 8
    sigmoid = 0.5 + (squares[0][0] + squares[1][0]) / 4
    errors = moduli[1][1] / 4, jnp.hypot(squares[0][1], squares[1][1]) / 4
    found = zip(UNITS, (relu, sigmoid), errors, strict=True)
    losses = {unit: (np.asarray(value), np.asarray(error)) for unit, value, error in found}
    return losses, np.asarray(moduli[1][0] / np.sqrt(powers[1]))


@jax.jit
def _means(samples: jax.Array, weights: jax.Array, power: jax.Array) -> tuple[tuple[jax.Array, jax.Array], ...]:
    """E|h| and E s(h)^2 with their errors, the square of h, whose mean is known, serving as a control."""
    response = samples @ weights.T
    apart = response**2 - jnp.mean(response**2, 0)
    found = []
    for values in (jnp.abs(response), jax.scipy.special.erf(response / np.sqrt(2)) ** 2):
        slope = jnp.mean(values * apart, 0) / jnp.mean(apart**2, 0)
        rest = values - slope * (response**2 - power)
        found.append((rest.mean(0), rest.std(0) / np.sqrt(len(samples))))
    return tuple(found)


def _exact(weights: np.ndarray) -> dict[str, np.ndarray]:
    """The closed forms on Gaussian data, in the notes' half squares."""
    low, high = (Gaussian(SIZE, xi) for xi in LENGTHSCALES)
    kinds = zip(UNITS, (binary(low, high), Task([low, high], [-1, 1])), ("relu", "erf"), strict=True)
    return {
        unit: np.array([float(starting_loss(task, w, activation=activation).value) for w in weights]) / 2
        for unit, task, activation in kinds
    }


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Half the squared error at initialisation, (gain, seed) for each unit, its standard error from sampling, E|<w,X>|
    over the standard deviation in the class of label 1 (gain, seed), and the closed forms at the first seeds."""

    experiment: StartingLoss
    value: dict[str, np.ndarray]
    error: dict[str, np.ndarray]
    modulus: np.ndarray
    exact: dict[str, np.ndarray]

    # Numbers ---------------------------------------------------------------------------------------------------------

    def changes(self, unit: str) -> np.ndarray:
        """From the least gain to every gain, relative, (gain, seed)."""
        return self.value[unit] / self.value[unit][0] - 1

    def change(self, unit: str, name: str = "change") -> Number:
        """From the least gain to the largest, on average."""
        last = self.changes(unit)[-1]
        return Number(name, last.mean(), last.std(ddof=1) / np.sqrt(len(last)))

    def spread(self, unit: str) -> Number:
        return Number("spread", self.changes(unit)[-1].std(ddof=1))

    def falls(self) -> Number:
        """Share of the initialisations in which the ReLU loss is lower at the largest gain."""
        return Number("falls", np.mean(self.changes("ReLU")[-1] < 0))

    def off(self, unit: str) -> Number:
        """Largest distance of the loss at the least gain from the closed form, in standard errors."""
        count = len(self.exact[unit])
        apart = np.abs(self.value[unit][0, :count] - self.exact[unit]) / self.error[unit][0, :count]
        return Number(unit.lower(), apart.max(), unit="standard errors")

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._falls(), self._fixed(), self._forms()

    def _basis(self) -> str:
        it = self.experiment
        return f"{it.seeds:,} initialisations, {it.samples:,} samples a class on the same fields at every gain"

    def _falls(self) -> Claim:
        change = self.change("ReLU")
        return FALLS.claim(
            "The starting loss of ReLU units decreases as the gain grows.",
            source=f"{BEHAVIOUR}, section 3",
            reported="seems to decrease",
            numbers=[change, Number("error", change.standard_error), self.spread("ReLU"), self.falls()],
            said="{change:+.2%} +- {error:.2%} on average, spread {spread:.2%} over initialisations, falls in "
            "{falls:.0%}",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "The covariance changes with the gain and moves single fields either way; only the "
                "average falls."
            },
        )

    def _fixed(self) -> Claim:
        change = self.change("sigmoid")
        return FIXED.claim(
            "The starting loss of sigmoid units stays fixed as the gain grows.",
            source=f"{BEHAVIOUR}, section 3",
            reported="(sensibly) stays fixed",
            numbers=[
                change,
                Number("error", change.standard_error),
                self.spread("sigmoid"),
                self.change("ReLU", "relu"),
            ],
            said="{change:+.2%} +- {error:.2%} on average, spread {spread:.2%}, where that of ReLU units changes by "
            "{relu:+.2%}",
            basis=self._basis(),
            expected=as_measured("does not hold"),
            reasons={
                "does not hold": "E s(h)^2 grows as pixels become binary: as small an effect as that on the ReLU loss, "
                "of the other sign."
            },
        )

    def _forms(self) -> Claim:
        return FORMS.claim(
            "On Gaussian data the starting losses are 1/2 + (1/2pi) sum_c asin(v_c/(1+v_c)) and "
            "1/4 - sqrt(v_1/(8 pi)) + (v_0 + v_1)/8, with v_c = w'S_c w.",
            source=f"{BEHAVIOUR}, Eqs. 25 (blank) and 27",
            reported="left blank",
            numbers=[self.off(unit) for unit in UNITS],
            said="ReLU: at most {relu:.1f} standard errors from the samples; sigmoid: at most {sigmoid:.1f}",
            basis=f"{self.experiment.samples:,} samples a class",
            expected=by_theory("holds", "Gaussian integrals of the two units"),
            words={"count": len(self.exact["ReLU"]), "gain": GAINS[0]},
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        panels = (*(self._single(unit) for unit in UNITS), self._averages())
        return Figure("The loss before training", (panels,)), self._table()

    def _single(self, unit: str) -> Lines:
        change = 100 * self.changes(unit)
        curves = {"mean": change.mean(1), **{f"initialisation {i}": change[:, i] for i in range(3)}}
        title = f"{unit}: change of the loss"
        return Lines(title, np.array(GAINS), curves, xlabel="gain", ylabel="percent", logx=True)

    def _averages(self) -> Scatter:
        groups: dict[str, Points] = {}
        for unit in UNITS:
            change = 100 * self.changes(unit)
            groups[unit] = np.array(GAINS), change.mean(1), change.std(1, ddof=1) / np.sqrt(change.shape[1])
        title = "means with standard errors"
        return Scatter(title, groups, xlabel="gain", ylabel="percent", logx=True, joined=True)

    def _table(self) -> Figure:
        rows = tuple(
            (f"{gain:g}", *(f"{self.value[u][i].mean():.4f} +- {self.value[u][i].std(ddof=1):.4f}" for u in UNITS))
            for i, gain in enumerate(GAINS)
        )
        columns = ("gain", *(f"{unit}: mean and spread over initialisations" for unit in UNITS))
        return Figure("Half the mean squared error at the start", ((Table("", columns, rows),),))

    def text(self) -> str:
        it, (relu, sigmoid) = self.experiment, (self.change(unit) for unit in UNITS)
        moduli, grown = self.modulus.mean(1), self.modulus[-1] - self.modulus[0]
        return (
            f"Why does the starting loss of ReLU units seem to fall as the gain grows while that of sigmoid units "
            f"stays, wonder {BEHAVIOUR}. Over {it.seeds:,} initialisations (one unit, Xavier with scale 1, "
            f"lengthscales {LENGTHSCALES[0]:g} and {LENGTHSCALES[1]:g}, {it.samples:,} samples a class on the same "
            f"latent fields) the ReLU loss changes from gain {GAINS[0]:g} to {GAINS[-1]:g} by {relu:+.2%} on average "
            f"(standard error {relu.standard_error:.2%}), with a spread of {self.spread('ReLU'):.1%} over "
            f"initialisations: it falls in {self.falls():.0%} of them. The sigmoid loss changes by {sigmoid:+.2%} "
            f"(standard error {sigmoid.standard_error:.2%}). Two things change with the gain: the covariance of the "
            "data, which moves single fields either way, and E|<w,X>|, whose growth lowers the ReLU loss: in units of "
            f"the standard deviation it goes from {moduli[0]:.4f} to {moduli[-1]:.4f} on average (change "
            f"{grown.mean():+.4f} +- {grown.std(ddof=1) / np.sqrt(len(grown)):.4f}). Networks of several units, other "
            "lengthscales and other scales of the start were not tried."
        )
