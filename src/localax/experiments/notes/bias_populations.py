"""Two populations of sigmoid units: what the sign of a bias goes with, what sets it, and whether one would do."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np

from ..._errors import setting_error
from ..._progress import Update
from ...analysis import concentration, dominant_frequency
from ...networks import Given, Isotropic, PositiveShifted, SoftCommittee, Xavier, seed_keys
from ...outcome import Claim, Fields, Figure, Number, Points, Rule, Scatter, Table, as_measured, by_theory, finite
from ...spec import Setting
from ...stimuli import Task
from ...theory.sigmoid import initial_push
from ...training import SaveAt
from ...trajectory import Trajectory
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.populations import Population, some
from ..toolkit.presets import by_preset
from ..toolkit.seeds import seed_from, seeds_from
from ..toolkit.sigmoid_units import NEAR, best_accuracy, least_loss, responses, signed
from ..toolkit.sources import BEHAVIOUR, NETWORKS
from ..toolkit.tasks import SIZE
from ..toolkit.train import train
from ..toolkit.unit_kinds import LOW, fast, share

SIZES = Rule(
    "both within {errors:g} standard errors of a fair coin of one half; in part: both more than {least:g} from 0 and 1",
    lambda n, t: max(abs(n.gaussian - 0.5), abs(n.nlgp - 0.5)) < t.errors * n.coin,
    partly=lambda n, t: t.least < min(n.gaussian, n.nlgp) and max(n.gaussian, n.nlgp) < 1 - t.least,
    thresholds={"errors": 3.0, "least": 0.1},
    holds={"gaussian": 0.45, "nlgp": 0.52, "coin": 0.056},
    part={"gaussian": 0.45, "nlgp": 0.8, "coin": 0.056},
    fails={"gaussian": 0.45, "nlgp": 0.95, "coin": 0.056},
)
SIGNS = Rule(
    "at least {always:.0%} of the localized units have a negative bias, and as many of the fast waves (more than {low} "
    "cycles, not localized) a positive one; in part: one of the two",
    lambda n, t: min(n.localized, n.fast) >= t.always,
    partly=lambda n, t: max(n.localized, n.fast) >= t.always,
    thresholds={"always": 0.95},  # a few units are still between the populations at the end
    holds={"localized": 1.0, "fast": 0.97},
    part={"localized": 1.0, "fast": 0.8},
    fails={"localized": 0.7, "fast": 0.8},
)
PUSH = Rule(
    "more than one half by {errors:g} standard errors of a fair coin in both; in part: in one",
    lambda n, t: min(n.gaussian, n.nlgp) > 0.5 + t.errors * n.coin,
    partly=lambda n, t: max(n.gaussian, n.nlgp) > 0.5 + t.errors * n.coin,
    thresholds={"errors": 5.0},
    holds={"gaussian": 0.9, "nlgp": 0.95, "coin": 0.056},
    part={"gaussian": 0.6, "nlgp": 0.95, "coin": 0.056},
    fails={"gaussian": 0.6, "nlgp": 0.5, "coin": 0.056},
)
POSITIVE = Rule(
    "more than one half by {errors:g} standard errors of a fair coin at both shifts; in part: at the larger",
    lambda n, t: min(n.slight, n.strong) > 0.5 + t.errors * n.coin,
    partly=lambda n, t: n.strong > 0.5 + t.errors * n.coin,
    thresholds={"errors": 3.0},
    holds={"slight": 0.75, "strong": 0.9, "coin": 0.056},
    part={"slight": 0.5, "strong": 0.9, "coin": 0.056},
    fails={"slight": 0.5, "strong": 0.55, "coin": 0.056},
)
ARBITRARY = Rule(
    "from starts shifted by as much, losses overlap: the best network whose units are all shifted alike, and end up on "
    "one side, is no worse than the worst whose shifts alternate in every second unit, and which is balanced; not "
    "testable where the shares of negative biases differ by less than {apart:g}",
    lambda n, _: n.best_unbalanced <= n.worst_balanced,
    thresholds={"apart": 0.2},
    holds={"best_unbalanced": 0.42, "worst_balanced": 0.43},
    fails={"best_unbalanced": 0.55, "worst_balanced": 0.43},
)
ALONE = Rule(
    "each alone within {near:g} of both; in part: one of them",
    lambda n, t: min(n.negative, n.positive) >= n.both - t.near,
    partly=lambda n, t: max(n.negative, n.positive) >= n.both - t.near,
    thresholds={"near": NEAR},
    holds={"both": 0.95, "negative": 0.94, "positive": 0.92},
    part={"both": 0.95, "negative": 0.94, "positive": 0.8},
    fails={"both": 0.95, "negative": 0.85, "positive": 0.8},
)


@dataclass(frozen=True)
class BiasPopulations(AbstractExperiment):
    """What does the sign of a sigmoid unit's bias go with, what sets it, and would one population do?"""

    name: ClassVar[str] = "bias_populations"
    title: ClassVar[str] = "Why sigmoid units come in two populations"
    cost: ClassVar[float] = 18.0

    gain: Annotated[float, Setting("gain of the data that are not Gaussian", gt=0)] = 3.0
    shifts: Annotated[
        tuple[float, ...], Setting("shifts of the start in its standard deviations", gt=0, many=(2, 2), rising=True)
    ] = (1.0, 4.0)
    units: Annotated[int, Setting("hidden units", kind=int, ge=2)] = 40
    seeds: Annotated[int, Setting("networks a condition", kind=int, ge=1)] = 2
    steps: Annotated[int, Setting("steps of training", kind=int, ge=1)] = 300
    rate: Annotated[float, Setting("learning rate", gt=0)] = 20.0
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 32
    scale: Annotated[float, Setting("factor on the variance of Xavier's initial weights", gt=0)] = 0.1
    samples: Annotated[int, Setting("fresh samples that judge the networks", kind=int, ge=100, even=True)] = 4000

    @classmethod
    def paper(cls) -> "BiasPopulations":
        return cls(seeds=4, steps=3000, batch=64, samples=20000)

    def check(self) -> None:
        least = PUSH.thresholds["errors"] ** 2  # of fewer units no share is that far from a fair coin
        if self.units * self.seeds <= least:
            raise setting_error(type(self), "units x seeds", self.units * self.seeds, f"more than {least:g}")

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Five conditions in one run: Gaussian data and not, two starts shifted up, and one up and down by as much."""
        gaussian, task = signed(0.01), signed(self.gain)
        tasks = [gaussian, *[task] * 4]
        trajectory = self._trained(tasks, key)
        progress(0.8)
        slight, strong = (f"shifted by {shift:g} sd" for shift in self.shifts)
        names = ("Gaussian data", f"NLGP({self.gain:g})", slight, strong, f"{strong}, every second alternating")
        conditions = (_condition(i, name, tasks[i], trajectory) for i, name in enumerate(names))
        x, y = (np.asarray(part) for part in task.sample(jax.random.fold_in(key, 1), self.samples))
        alone = _alone(x, y, trajectory.final[1], np.asarray(trajectory.biases)[1, :, -1])
        return Measured(self, *conditions, alone=alone)

    def _trained(self, tasks: list[Task], key: Any) -> Trajectory:
        start, seeds = Xavier(self.scale), seeds_from(key, self.seeds)
        spread = float(np.sqrt(2 * self.scale / (self.units + SIZE)))  # of Xavier's weights
        shifted = [PositiveShifted(spread, shift * spread) for shift in self.shifts]
        both = self._both_ways(spread, self.shifts[1] * spread, seeds)
        return train(
            tasks, SoftCommittee(self.units, "erf", bias=True), steps=self.steps, batch=self.batch, rate=self.rate,
            seeds=seeds, data_seed=seed_from(key), init=[start, start, *shifted, both], estimator="orbit",
            stream="independent", saveat=SaveAt(self.steps, record=("loss", "accuracy"), probe=self.samples),
        )  # fmt: skip

    def _both_ways(self, spread: float, shift: float, seeds: np.ndarray) -> Given:
        """Starts as far from 0 as shifted ones, but in every second unit along the fastest wave, which drives the short
        class harder: what is balanced at the end is so whatever the size of the start."""
        noise = np.asarray(Isotropic(spread).weights(seed_keys(seeds), self.units, (SIZE,), np.float32), float)
        turned = np.where(np.arange(self.units)[:, None] % 2 == 0, 1, (-1) ** np.arange(SIZE))
        return Given(noise + shift * turned)


@dataclass(frozen=True)
class Condition(Population):
    """All units of one condition together, and how well its networks do."""

    name: str
    start: np.ndarray
    fields: np.ndarray
    biases: np.ndarray
    push: np.ndarray
    losses: np.ndarray
    """Of every network."""
    accuracy: float

    @property
    def negative(self) -> np.ndarray:
        return self.biases < 0

    @property
    def share(self) -> float:
        return float(self.negative.mean())

    @property
    def loss(self) -> float:
        return float(self.losses.mean())

    @property
    def bound(self) -> float:
        return float(least_loss(self.share))

    @property
    def cycles(self) -> np.ndarray:
        """Of every unit; NaN of localized ones: a single pixel has all frequencies alike."""
        return np.where(self.local, np.nan, dominant_frequency(self.fields))

    @property
    def fast(self) -> np.ndarray:
        return fast(self.fields)

    @property
    def foretold(self) -> np.ndarray:
        """Of which units the push at the start has the sign of the final bias."""
        return np.sign(self.push) == np.sign(self.biases)


def _condition(i: int, name: str, task: Task, trajectory: Trajectory) -> Condition:
    weights, pixels = trajectory.weights[i], trajectory.pixels[0]
    push = np.concatenate([initial_push(task, network[0]) for network in weights])
    start, end = (weights[:, when].reshape(-1, pixels) for when in (0, -1))
    biases = np.asarray(trajectory.biases)[i, :, -1].ravel()
    losses, accuracies = (np.asarray(v)[i, :, -1] for v in (trajectory.loss, trajectory.records["accuracy"]))
    return Condition(name, start, end, biases, push, losses, float(accuracies.mean()))


def _alone(x: np.ndarray, y: np.ndarray, fields: np.ndarray, biases: np.ndarray) -> np.ndarray:
    """Accuracy at the best threshold with both populations, the negative and the positive one: (network, which); NaN
    where a population is empty."""
    found = []
    for w, b in zip(fields, biases, strict=True):
        units = responses(x, w, b)
        parts = (units, units[:, b < 0], units[:, b > 0])
        found.append([best_accuracy(part.mean(1), y > 0) if part.size else np.nan for part in parts])
    return np.array(found)


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """The units of five conditions, and the accuracies of populations alone."""

    experiment: BiasPopulations
    gaussian: Condition
    free: Condition
    slight: Condition
    strong: Condition
    both_ways: Condition
    alone: np.ndarray
    """(network, both or negative or positive)."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return self.gaussian, self.free, self.slight, self.strong, self.both_ways

    # Numbers ---------------------------------------------------------------------------------------------------------

    def coin(self) -> Number:
        """Standard error of a fair coin thrown once a unit."""
        return Number("coin", 0.5 / np.sqrt(len(self.free.biases)))

    def accuracies(self) -> tuple[Number, ...]:
        """At the best threshold, with both populations and with each alone."""
        chance = 0.5 / np.sqrt(self.experiment.samples)  # the most that sampling may do
        names = ("both", "negative", "positive")
        return tuple(Number(n, finite(v), chance) for n, v in zip(names, self.alone.mean(0), strict=True))

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._sizes(), self._signs(), self._push(), self._positive(), self._arbitrary(), self._alone()

    def _basis(self) -> str:
        it = self.experiment
        return (
            f"{it.seeds} networks of {it.units} units a condition, each on a stream of its own, {it.steps} steps; "
            f"{it.samples} fresh samples; standard error of a fair coin {self.coin():.3f}"
        )

    def _sizes(self) -> Claim:
        return SIZES.claim(
            "With sigmoid units the network builds two populations, roughly equal in size.",
            source=f"{BEHAVIOUR}, section 2, Frequency specialization",
            reported="roughly in equal size",
            numbers=(share("gaussian", self.gaussian.negative), share("nlgp", self.free.negative), self.coin()),
            said="share of units with a negative bias: {gaussian:.2f} (Gaussian), {nlgp:.2f} (NLGP)",
            basis=self._basis(),
            expected=as_measured("holds"),
        )

    def _signs(self) -> Claim:
        free = self.free
        rest = ~free.local & ~free.fast
        return SIGNS.claim(
            "Localized neurons always have negative bias terms, while oscillatory neurons have positive ones.",
            source=f"{NETWORKS}, section 3",
            reported="always",
            numbers=(share("localized", free.negative[free.local]), share("fast", ~free.negative[free.fast])),
            said=f"of {free.local.sum()} localized units {{localized:.0%}} have a negative bias, of {free.fast.sum()} "
            f"fast waves {{fast:.0%}} a positive one; {rest.sum()} units are neither",
            basis=self._basis(),
            expected=by_preset(
                self.experiment,
                quick="holds",
                paper="holds in part",
                why="the paper one trains ten times as long, and has twice the networks",
            ),
            words={"low": LOW},
        )

    def _push(self) -> Claim:
        return PUSH.claim(
            "Which population a unit joins has to do with its initial receptive field.",
            source=f"{NETWORKS}, section 3",
            reported="a more positive initialization, but not certain that this fully explains it",
            numbers=(share("gaussian", self.gaussian.foretold), share("nlgp", self.free.foretold), self.coin()),
            said="the sign of w'S0w - w'S1w at the start is the sign of the final bias for {gaussian:.0%} (Gaussian) "
            "and {nlgp:.0%} (NLGP) of the units",
            basis=self._basis(),
            expected=by_theory("holds", "db/dt at b = 0 has the sign of w'S0w - w'S1w"),
            reasons={
                "holds": "What counts is not the sign of the weights but which class drives the unit harder: the bias "
                "starts downwards exactly where w'S1w > w'S0w. Competition for the balance moves the rest."
            },
        )

    def _positive(self) -> Claim:
        groups = {"slight": self.slight, "strong": self.strong}
        shares = [share(name, c.negative & c.local) for name, c in groups.items()]
        parts = (f"{np.mean(c.start > 0):.0%} of weights positive: {{{n}:.0%}} localized" for n, c in groups.items())
        return POSITIVE.claim(
            "If the initialization contains mostly positive values, one gets mostly localized neurons.",
            source=f"{NETWORKS}, section 3",
            reported="mostly localized neurons",
            numbers=(*shares, self.coin()),
            said=f"{'; '.join(parts)}, with a negative bias",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "Mostly positive is not enough: a shift has to outweigh the gain in loss that a "
                "balanced network has."
            },
        )

    def _arbitrary(self) -> Claim:
        free, strong, both = self.free, self.strong, self.both_ways
        apart = abs(strong.share - both.share) >= ARBITRARY.thresholds["apart"]
        told = (
            f"{c.name}: mean loss {c.loss:.3f} at a share of negative biases of {c.share:.2f} (least possible "
            f"{c.bound:.3f})"
            for c in (strong, both, free)
        )
        return ARBITRARY.claim(
            "That there are two populations of equal size is arbitrary: networks that end up otherwise are as good, "
            "judged by their loss.",
            source=f"{BEHAVIOUR}, section 2",
            reported="seems to be arbitrary",
            numbers=(
                Number("best_unbalanced", finite(strong.losses.min()) if apart else None),
                Number("worst_balanced", finite(both.losses.max())),
                _difference("by_balance", strong.losses, both.losses),
                _difference("by_start", both.losses, free.losses),
            ),
            said=f"{'; '.join(told)}; of the shifted networks the best unbalanced one has {{best_unbalanced:.3f}}, the "
            "worst balanced one {worst_balanced:.3f}; the balance changes the loss by {by_balance:+.3f}, the start "
            "alone by {by_start:+.3f}",
            basis=f"{self._basis()}; the bound is exact for sign-symmetric data and labels -1 and 1",
            expected=as_measured("not testable here"),
            reasons={
                "not testable here": "Networks that start shifted this far end with much the same share of negative "
                "biases, whichever way their units are shifted; where shares are forced apart (shape_then_scale) the "
                "loss is least at one half.",
                "does not hold": "A unit's mean output has the sign of its bias in both classes, so that half of each "
                "sign is best.",
            },
        )

    def _alone(self) -> Claim:
        return ALONE.claim(
            "Either population could solve the task on its own.",
            source=f"{BEHAVIOUR}, section 2, which leaves it to be tested",
            reported="it appears so; to be tested for oscillatory neurons",
            numbers=self.accuracies(),
            said="accuracy at the best threshold: both {both:.3f}, negative biases alone {negative:.3f}, positive "
            "alone {positive:.3f}",
            basis=f"{self._basis()}; NLGP({self.experiment.gain:g}), the other population removed after training",
            expected=as_measured("holds in part"),
            reasons={"holds in part": f"At the best threshold {self._compared()}."},
        )

    def _compared(self) -> str:
        """How the populations do alone, in words."""
        both, *others = self.alone.mean(0)
        words = [
            "are missing"
            if np.isnan(one)
            else f"do {'nearly as well as' if one >= both - NEAR else 'clearly worse than'} both"
            for one in others
        ]
        return f"units of negative bias {words[0]}, those of positive bias {words[1]}"

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        by_bias: dict[str, Points] = {
            c.name: (c.cycles[~c.local], c.biases[~c.local], None) for c in self.conditions if not c.local.all()
        }
        waves = Scatter("units that are not localized", by_bias, "cycles round the ring", "final bias")
        last = (
            (self.free, _pushes(self.free)),
            (self.gaussian, _pushes(self.gaussian)),
            (self.strong, waves if by_bias else _pushes(self.strong)),
            (self.both_ways, self._balance()),
        )
        rows, labels = tuple((*_split(c), panel) for c, panel in last), tuple(c.name for c, _ in last)
        return Figure("Fields of erf units by the sign of their bias", rows, labels=labels), self._table()

    def _balance(self) -> Scatter:
        shares = np.linspace(0.1, 0.9, 17)
        groups: dict[str, Points] = {"least possible": (shares, np.asarray(least_loss(shares)), None)}
        groups |= {c.name: (np.array([c.share]), np.array([c.loss]), None) for c in self.conditions}
        return Scatter("loss against the balance", groups, "share of negative biases", "loss")

    def _table(self) -> Figure:
        rows = []
        for c in self.conditions:
            for sign, where in (("negative", c.negative), ("positive", ~c.negative)):
                kinds = (share("", kind[where]) for kind in (c.local, c.fast))
                values = concentration(c.fields)[where], c.cycles[where & ~c.local]
                medians = (f"{np.median(v):.1f}" if v.size else "" for v in values)
                judged = (f"{c.loss:.3f}", f"{c.bound:.3f}", f"{c.accuracy:.3f}")
                rows.append((c.name, sign, int(where.sum()), *(f"{k:.0%}" for k in kinds), *medians, *judged))
        columns = ("condition", "bias", "units", "localized", "fast waves", "median n IPR",
                   "median cycles of the rest", "loss", "least possible", "accuracy")  # fmt: skip
        return Figure("The populations in numbers", ((Table("", columns, tuple(rows)),),))

    def text(self) -> str:
        it, gaussian, free, slight, strong, both_ways = self.experiment, *self.conditions
        both, negative, positive = self.accuracies()
        down = [f"{np.mean(c.push < 0):.0%} and {c.share:.0%}" for c in (slight, strong, both_ways)]
        return (
            "The notes see sigmoid units fall into two populations of about equal size, suspect the start, call the "
            f"balance arbitrary and ask whether either could do the task alone. Here {free.share:.0%} of the units end "
            f"with a negative bias on NLGP({it.gain:g}) and {gaussian.share:.0%} on Gaussian data. The first thing "
            "that moves is the bias, down where the initial field answers the long class more strongly and up where it "
            f"answers the short: that foretells the final sign for {free.foretold.mean():.0%} and "
            f"{gaussian.foretold.mean():.0%} of the units. With the start shifted up by {it.shifts[0]:g} and by "
            f"{it.shifts[1]:g} of its standard deviations {down[0]}, {down[1]} of the units are pushed down and end "
            f"negative. Is it the start or the balance that such a network pays for? Shifted as far, but every second "
            f"unit along the fastest wave, {down[2]} do, at a loss of {both_ways.loss:.3f} against {strong.loss:.3f}; "
            f"networks that start small have {free.loss:.3f}. On sign-symmetric data the mean output of a unit has the "
            "sign of its bias in both classes, so with a share p of negative biases no squared loss is below (p^2 + "
            "(1-p)^2)/2, which is least at p = 1/2. With a threshold chosen for it, the negative population alone has "
            f"an accuracy of {negative:.3f} and the positive one of {positive:.3f}, against {both:.3f} for both: "
            f"{self._compared()}. {it.seeds} networks of {it.units} units a condition, {it.steps} steps at rate "
            f"{it.rate:g}, gradients averaged over all shifts and signs of {it.batch} samples."
        )


def _difference(name: str, one: np.ndarray, other: np.ndarray) -> Number:
    """Of mean losses, with its standard error where there are several networks."""
    several = len(one) > 1
    error = np.hypot(*(v.std(ddof=1) / np.sqrt(len(v)) for v in (one, other))) if several else None
    return Number(name, one.mean() - other.mean(), error)


def _split(c: Condition) -> tuple[Fields, Fields]:
    negative, positive = (
        Fields(f"{int(where.sum())} units of {name} bias", some(c.fields[where], 3))
        for name, where in (("negative", c.negative), ("positive", ~c.negative))
    )
    return negative, positive


def _pushes(c: Condition) -> Scatter:
    groups = {"negative": c.negative, "positive": ~c.negative}
    points: dict[str, Points] = {
        f"{name} at the end": (1e3 * c.push[where], c.biases[where], None)
        for name, where in groups.items()
        if where.any()
    }
    return Scatter("start against end", points, "push on the bias at the start, x 1000", "final bias")
