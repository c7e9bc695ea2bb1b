"""The loss before training against the gain of the data, for ReLU and for sigmoid units, alone and in networks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import setting_error
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
BLOCKS = 10
"""Parts of the samples, from whose spread the error of an average over initialisations is known."""

FALLS = Rule(
    "for one unit and for a network it falls in {most:.0%} of the initialisations (in part: on average, by {sure:g} "
    "standard errors, for one of the two)",
    lambda n, t: min(n.one_falls, n.network_falls) > t.most,
    partly=lambda n, t: n.one < -t.sure * n.one_error or n.network < -t.sure * n.network_error,
    thresholds={"most": 0.95, "sure": 3.0},  # all but few; not by chance
    holds={
        "one": -0.02, "one_error": 0.001, "one_falls": 0.98,
        "network": -0.02, "network_error": 0.001, "network_falls": 1.0,
    },
    part={
        "one": -0.02, "one_error": 0.001, "one_falls": 0.6,
        "network": 0.01, "network_error": 0.001, "network_falls": 0.1,
    },
    fails={
        "one": -0.001, "one_error": 0.001, "one_falls": 0.5,
        "network": 0.01, "network_error": 0.001, "network_falls": 0.1,
    },
)  # fmt: skip
FIXED = Rule(
    "said beside a fall of the ReLU units' loss, it means a change of less than {share:g} of theirs, for one unit and "
    "for a network (in part: for one of the two)",
    lambda n, t: abs(n.one) < t.share * abs(n.one_relu) and abs(n.network) < t.share * abs(n.network_relu),
    partly=lambda n, t: abs(n.one) < t.share * abs(n.one_relu) or abs(n.network) < t.share * abs(n.network_relu),
    thresholds={"share": 0.1},  # flat in a picture that shows the fall
    holds={"one": 2e-4, "one_relu": -0.005, "network": 1e-5, "network_relu": -0.005},
    part={"one": 0.004, "one_relu": -0.005, "network": 1e-5, "network_relu": -0.005},
    fails={"one": 0.004, "one_relu": -0.005, "network": 0.002, "network_relu": -0.005},
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
    cost: ClassVar[float] = 12.0

    seeds: Annotated[int, Setting("units drawn (Xavier, scale 1), one by one and in networks", kind=int, ge=3)] = 1200
    units: Annotated[int, Setting("units of a network", kind=int, ge=2)] = 40
    samples: Annotated[int, Setting("samples a class, the same latent fields at all gains", kind=int, ge=100)] = 2000

    @classmethod
    def paper(cls) -> "StartingLoss":
        return cls(seeds=5000, samples=5000)

    def check(self) -> None:
        if self.seeds < 3 * self.units:
            raise setting_error(type(self), "seeds", self.seeds, "at least three networks of so many units")

    def measure(self, key: Any, progress: Update) -> "Measured":
        """All gains on the same latent fields, for single units and for networks; closed forms on Gaussian data."""
        one, network = (self._starts(units, jax.random.fold_in(key, units)) for units in (1, self.units))
        found = []
        for i, gain in enumerate(GAINS):
            found.append([_losses(gain, w, self.samples, jax.random.fold_in(key, 0)) for w in (one, network)])
            progress((i + 1) / len(GAINS))
        single, several = (Losses.joined(rows) for rows in zip(*found, strict=True))
        return Measured(self, single, several, _exact(np.asarray(one)[:CHECKED, 0]))

    def _starts(self, units: int, key: Any) -> jax.Array:
        """Initial weights, (network, unit, pixel)."""
        seeds = seed_keys(seeds_from(key, self.seeds // units))
        return jnp.asarray(Xavier(1.0).weights(seeds, units, (SIZE,), np.float64))


@dataclass(frozen=True)
class Losses:
    """Half the squared error at initialisation by unit, (gain, block of samples, network), with its standard error from
    sampling (gain, network); and E|<w,X>| over the standard deviation in the class of label 1 (gain, network)."""

    blocks: dict[str, np.ndarray]
    error: dict[str, np.ndarray]
    modulus: np.ndarray

    @classmethod
    def joined(cls, rows: Sequence["Losses"]) -> "Losses":
        """Those of single gains, one after the other."""
        blocks, error = (
            {unit: np.stack([getattr(row, name)[unit] for row in rows]) for unit in UNITS}
            for name in ("blocks", "error")
        )
        return cls(blocks, error, np.stack([row.modulus for row in rows]))

    def value(self, unit: str) -> np.ndarray:
        """(gain, network)."""
        return self.blocks[unit].mean(1)

    def changes(self, unit: str) -> np.ndarray:
        """From the least gain to every gain, relative, (gain, network)."""
        value = self.value(unit)
        return value / value[0] - 1

    def change(self, unit: str, name: str) -> Number:
        """From the least gain to the largest, on average; its error is that of the draws and of the samples."""
        last, parts = self.changes(unit)[-1], self.blocks[unit]
        by_block = np.mean((parts[-1] - parts[0]) / self.value(unit)[0], axis=1)
        errors = (part.std(ddof=1) / np.sqrt(len(part)) for part in (last, by_block))
        return Number(name, last.mean(), float(np.hypot(*errors)))

    def falls(self, unit: str) -> float:
        """Share of the initialisations in which the loss is lower at the largest gain."""
        return float(np.mean(self.changes(unit)[-1] < 0))

    def spread(self, unit: str) -> float:
        return float(self.changes(unit)[-1].std(ddof=1))


def _losses(gain: float, weights: jax.Array, count: int, key: Any) -> Losses:
    """At one gain. With a and m the means over units of |h| and h, and signs averaged out, a ReLU network has the loss
    1/4 - E_1 a/4 + sum_c E_c(a^2 + m^2)/16 (labels 0, 1) and a sigmoid network 1/2 + sum_c E_c s^2/4 (labels -1, 1)."""
    task, classes, flat = nlgp(gain, LENGTHSCALES), [], weights.mean(1)
    for label, (stimulus, part) in enumerate(zip(task.stimuli, jax.random.split(key), strict=True)):
        covariance = stimulus.covariance_matrix()
        power = jnp.mean(jnp.sum(weights @ covariance * weights, -1), 1), jnp.sum(flat @ covariance * flat, -1)
        x = stimulus.sample(part, count, dtype=np.float64)
        classes.append(_terms(x[: count // BLOCKS * BLOCKS], weights, *power, label))
    (relu_0, sigmoid_0, _), (relu_1, sigmoid_1, modulus) = classes
    found = {"ReLU": (0.25, relu_0, relu_1), "sigmoid": (0.5, sigmoid_0, sigmoid_1)}
    return Losses(
        {unit: base + np.asarray(one[0] + two[0]) for unit, (base, one, two) in found.items()},
        {unit: np.hypot(one[1], two[1]) for unit, (_, one, two) in found.items()},
        np.asarray(modulus),
    )


@jax.jit
def _terms(x: jax.Array, weights: jax.Array, power: jax.Array, flat: jax.Array, label: Any) -> tuple[Any, Any, Any]:
    """What a class adds to both losses, with its error, and the modulus. Controls, the means of which are known: of all
    squared responses, and of the square of their mean."""
    h = jnp.einsum("sp,nkp->snk", x, weights)
    a, m, square = jnp.abs(h).mean(2), h.mean(2), jnp.mean(h**2, 2)
    s = jax.scipy.special.erf(h / np.sqrt(2)).mean(2)
    relu = _controlled(a**2 / 16 - label * a / 4, square, power)
    sigmoid = _controlled(s**2 / 4, m**2, flat)
    modulus = _controlled(a, square, power)[0].mean(0) / jnp.sqrt(power)
    return (relu[0] + flat / 16, relu[1]), sigmoid, modulus


def _controlled(values: jax.Array, control: jax.Array, mean: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Means over blocks of samples, (block, network), and the error of all samples together."""
    apart = control - control.mean(0)
    slope = jnp.mean(values * apart, 0) / jnp.mean(apart**2, 0)
    rest = values - slope * (control - mean)
    return rest.reshape(BLOCKS, -1, rest.shape[1]).mean(1), rest.std(0) / np.sqrt(len(rest))


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
    """Losses of single units and of networks, and the closed forms at the first single units."""

    experiment: StartingLoss
    one: Losses
    network: Losses
    exact: dict[str, np.ndarray]

    # Numbers ---------------------------------------------------------------------------------------------------------

    @property
    def sizes(self) -> dict[str, Losses]:
        return {"one": self.one, "network": self.network}

    def off(self, unit: str) -> Number:
        """Largest distance of the loss at the least gain from the closed form, in standard errors."""
        count = len(self.exact[unit])
        apart = np.abs(self.one.value(unit)[0, :count] - self.exact[unit]) / self.one.error[unit][0, :count]
        return Number(unit.lower(), apart.max(), unit="standard errors")

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._falls(), self._fixed(), self._forms()

    def _basis(self) -> str:
        it, networks = self.experiment, self.network.modulus.shape[1]
        return (
            f"{it.seeds:,} single units and {networks} networks of {it.units}, {it.samples:,} samples a class on the "
            "same fields at every gain"
        )

    def _falls(self) -> Claim:
        numbers = []
        for name, losses in self.sizes.items():
            change = losses.change("ReLU", name)
            numbers += [change, Number(f"{name}_error", change.standard_error)]
            numbers += [Number(f"{name}_falls", losses.falls("ReLU")), Number(f"{name}_spread", losses.spread("ReLU"))]
        return FALLS.claim(
            "The starting loss of ReLU units decreases as the gain grows.",
            source=f"{BEHAVIOUR}, section 3",
            reported="seems to decrease",
            numbers=numbers,
            said="one unit {one:+.2%} +- {one_error:.2%} on average, spread {one_spread:.2%} over initialisations, "
            "falls in {one_falls:.0%}; "
            f"{self.experiment.units} units {{network:+.2%}} +- {{network_error:.2%}}, spread {{network_spread:.2%}}, "
            "falls in {network_falls:.0%}",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "The covariance changes with the gain and moves single fields either way, so that one "
                "unit's loss falls on average alone; in a network many fields are averaged."
            },
        )

    def _fixed(self) -> Claim:
        return FIXED.claim(
            "The starting loss of sigmoid units stays fixed as the gain grows.",
            source=f"{BEHAVIOUR}, section 3",
            reported="(sensibly) stays fixed",
            numbers=[
                losses.change(unit, f"{name}{end}")
                for name, losses in self.sizes.items()
                for unit, end in (("sigmoid", ""), ("ReLU", "_relu"))
            ],
            said="one unit {one:+.3%} +- {one.standard_error:.3%}, where that of a ReLU unit changes by "
            "{one_relu:+.3%}; "
            f"{self.experiment.units} units {{network:+.4%}} +- {{network.standard_error:.4%}}, where that of ReLU "
            "units changes by {network_relu:+.3%}",
            basis=self._basis(),
            expected=by_theory("holds in part", "E yhat^2 of K odd units with independent weights is of order 1/K"),
            reasons={
                "holds in part": "The loss is 1/2 + E yhat^2/2, and E yhat^2 of a sigmoid unit grows as pixels become "
                "binary; in a network the units' signs average out, and it is of order 1/K."
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
            basis=f"one unit, {self.experiment.samples:,} samples a class",
            expected=by_theory("holds", "Gaussian integrals of the two units"),
            words={"count": len(self.exact["ReLU"]), "gain": GAINS[0]},
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        names = {"one": "one unit", "network": f"{self.experiment.units} units"}
        rows = tuple((*(_single(unit, losses) for unit in UNITS), _averages(losses)) for losses in self.sizes.values())
        return Figure("The loss before training", rows, labels=tuple(names.values())), self._table(names)

    def _table(self, names: dict[str, str]) -> Figure:
        rows = tuple(
            (names[name], f"{gain:g}", *(_spread(losses.value(unit)[i]) for unit in UNITS))
            for name, losses in self.sizes.items()
            for i, gain in enumerate(GAINS)
        )
        columns = ("network", "gain", *(f"{unit}: mean and spread over initialisations" for unit in UNITS))
        return Figure("Half the mean squared error at the start", ((Table("", columns, rows),),))

    def text(self) -> str:
        it, modulus = self.experiment, self.one.modulus
        (relu, sigmoid), (relus, sigmoids) = (
            [losses.change(unit, "change") for unit in UNITS] for losses in self.sizes.values()
        )
        grown = modulus[-1] - modulus[0]
        return (
            f"Why does the starting loss of ReLU units seem to fall as the gain grows while that of sigmoid units "
            f"stays, wonder {BEHAVIOUR}. Over {it.seeds:,} initialisations of one unit, to which the notes turn for "
            f"simplicity (Xavier with scale 1, lengthscales {LENGTHSCALES[0]:g} and {LENGTHSCALES[1]:g}, "
            f"{it.samples:,} samples a class on the same latent fields), the ReLU loss changes from gain {GAINS[0]:g} "
            f"to {GAINS[-1]:g} by {relu:+.2%} on average (standard error {relu.standard_error:.2%}), with a spread of "
            f"{self.one.spread('ReLU'):.1%} over initialisations: it falls in {self.one.falls('ReLU'):.0%} of them. "
            f"The sigmoid loss changes by {sigmoid:+.2%} (standard error {sigmoid.standard_error:.2%}). In networks of "
            f"{it.units} units the ReLU loss changes by {relus:+.2%} ({relus.standard_error:.2%}) and the sigmoid loss "
            f"by {sigmoids:+.4%} ({sigmoids.standard_error:.4%}): there a mean of odd functions with signs that differ "
            "from unit to unit hardly enters the loss at all. Two things change with the gain: the covariance of the "
            "data, which moves single fields either way, and E|<w,X>|, whose growth lowers the loss of a ReLU unit: in "
            f"units of the standard deviation it goes from {modulus[0].mean():.4f} to {modulus[-1].mean():.4f} on "
            f"average (change {grown.mean():+.4f} +- {grown.std(ddof=1) / np.sqrt(len(grown)):.4f}). Other "
            "lengthscales and other scales of the start were not tried."
        )


def _single(unit: str, losses: Losses) -> Lines:
    change = 100 * losses.changes(unit)
    curves = {"mean": change.mean(1), **{f"initialisation {i}": change[:, i] for i in range(3)}}
    title = f"{unit}: change of the loss"
    return Lines(title, np.array(GAINS), curves, xlabel="gain", ylabel="percent", logx=True)


def _averages(losses: Losses) -> Scatter:
    groups: dict[str, Points] = {}
    for unit in UNITS:
        change = 100 * losses.changes(unit)
        groups[unit] = np.array(GAINS), change.mean(1), change.std(1, ddof=1) / np.sqrt(change.shape[1])
    title = "means with standard errors"
    return Scatter(title, groups, xlabel="gain", ylabel="percent", logx=True, joined=True)


def _spread(values: np.ndarray) -> str:
    return f"{values.mean():.4f} +- {values.std(ddof=1):.4f}"
