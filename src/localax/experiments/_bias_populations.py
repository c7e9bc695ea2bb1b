"""Two populations of sigmoid units: what the sign of a bias goes with, what sets it, and whether one would do."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .._progress import Update
from .._record import Claim, Fields, Figure, Outcome, Points, Scatter, Table, decide
from .._trajectory import Trajectory
from ..analysis import dominant_frequency, ipr
from ..networks import PositiveShifted, SoftCommittee, Xavier
from ..stimuli import Task
from ..theory import initial_push
from ._seeds import seed_from, seeds_from
from ._sigmoid_units import NEAR, best_accuracy, least_loss, responses, signed
from ._train import train
from ._unit_kinds import CONCENTRATED, concentrated

SPLIT = 5
"""Cycles round the ring of 40 pixels that part slow fields from fast ones: a period of 8 pixels."""
ALWAYS = 0.95
"""Share of units from which the notes' "always" is granted: a few are still between the populations at the end."""


@dataclass(frozen=True)
class Settings:
    """Gain of the non-Gaussian data, shifts of the start in standard deviations, and how networks are trained."""

    gain: float = 3.0
    shifts: tuple[float, float] = (1.0, 4.0)
    units: int = 40
    seeds: int = 2
    steps: int = 300
    rate: float = 20.0
    batch: int = 32
    scale: float = 0.1
    samples: int = 4000


PRESETS = {"quick": Settings(), "paper": Settings(seeds=4, steps=3000, batch=64, samples=20000)}


@dataclass(frozen=True)
class Condition:
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
        return np.asarray(dominant_frequency(self.fields))

    @property
    def concentration(self) -> np.ndarray:
        """IPR, in units of that of a flat field."""
        return np.asarray(ipr(self.fields)) * self.fields.shape[-1]

    @property
    def localized(self) -> np.ndarray:
        """Negative bias, slow and concentrated."""
        return self.negative & (self.cycles <= SPLIT) & concentrated(self.fields)

    @property
    def foretold(self) -> float:
        return float(np.mean(np.sign(self.push) == np.sign(self.biases)))


def run(settings: Settings, key: Any, progress: Update) -> Outcome:
    """Four conditions in one run: Gaussian data and not, and two starts that are shifted up."""
    gaussian, task = signed(0.01), signed(settings.gain)
    tasks = [gaussian, task, task, task]
    trajectory = _trained(settings, tasks, key)
    progress(0.8)
    names = ("Gaussian data", f"NLGP({settings.gain:g})", *(f"shifted by {shift:g} sd" for shift in settings.shifts))
    conditions = [_condition(i, names[i], tasks[i], trajectory) for i in range(4)]
    x, y = (np.asarray(part) for part in task.sample(jax.random.fold_in(key, 1), settings.samples))
    alone = _alone(x, y, trajectory.final[1], np.asarray(trajectory.biases)[1, :, -1])
    plain, free, slight, strong = conditions
    return Outcome(
        title="Why sigmoid units come in two populations",
        text=_text(settings, conditions, alone),
        figures=(_figure(conditions), _table(conditions)),
        claims=(
            _sizes_claim(plain, free, settings),
            _signs_claim(free, settings),
            _push_claim(plain, free, settings),
            _positive_claim(slight, strong, settings),
            _balance_claim(free, strong, settings),
            _alone_claim(alone, settings),
        ),
    )


def _trained(settings: Settings, tasks: list[Task], key: Any) -> Trajectory:
    start = Xavier(settings.scale)
    spread = float(np.sqrt(2 * settings.scale / (settings.units + tasks[0].shape[0])))  # of Xavier's weights
    shifted = [PositiveShifted(spread, shift * spread) for shift in settings.shifts]
    return train(
        tasks, SoftCommittee(settings.units, "erf", bias=True), steps=settings.steps, batch=settings.batch,
        rate=settings.rate, seeds=seeds_from(key, settings.seeds), data_seed=seed_from(key),
        init=[start, start, *shifted], estimator="orbit", save_every=settings.steps,
        record=("loss", "accuracy"), probe=settings.samples,
    )  # fmt: skip


def _condition(i: int, name: str, task: Task, trajectory: Trajectory) -> Condition:
    weights, pixels = trajectory.weights[i], trajectory.pixels[0]
    push = np.concatenate([initial_push(task, network[0]) for network in weights])
    start, end = (weights[:, when].reshape(-1, pixels) for when in (0, -1))
    biases = np.asarray(trajectory.biases)[i, :, -1].ravel()
    losses, accuracies = (np.asarray(v)[i, :, -1] for v in (trajectory.loss, trajectory.records["accuracy"]))
    return Condition(name, start, end, biases, push, losses, float(accuracies.mean()))


def _alone(x: np.ndarray, y: np.ndarray, fields: np.ndarray, biases: np.ndarray) -> np.ndarray:
    """Accuracy at the best threshold with both populations, the negative and the positive one; mean over networks."""
    found = []
    for w, b in zip(fields, biases, strict=True):
        units = responses(x, w, b)
        parts = (units, units[:, b < 0], units[:, b > 0])
        found.append([best_accuracy(part.mean(1), y > 0) if part.size else 0.5 for part in parts])
    return np.mean(found, axis=0)


# Pictures and words ---------------------------------------------------------------------------------------------------


def _figure(conditions: list[Condition]) -> Figure:
    gaussian, free, slight, strong = conditions
    by_bias: dict[str, Points] = {c.name: (c.cycles.astype(float), c.biases, None) for c in conditions}
    return Figure(
        "Fields of erf units by the sign of their bias",
        (
            (*_split(free), _pushes(free)),
            (*_split(gaussian), _pushes(gaussian)),
            (*_split(strong), Scatter("all units", by_bias, "cycles round the ring", "final bias")),
            (*_split(slight), _balance(conditions)),
        ),
        labels=tuple(c.name for c in (free, gaussian, strong, slight)),
    )


def _split(c: Condition, count: int = 3) -> tuple[Fields, Fields]:
    groups = (("negative", c.negative), ("positive", ~c.negative))
    negative, positive = (
        Fields(f"{int(where.sum())} units of {name} bias", c.fields[where][:count] if where.any() else np.zeros((1, 2)))
        for name, where in groups
    )
    return negative, positive


def _pushes(c: Condition) -> Scatter:
    groups = {"negative": c.negative, "positive": ~c.negative}
    points: dict[str, Points] = {
        f"{name} at the end": (1e3 * c.push[where], c.biases[where], None) for name, where in groups.items()
    }
    return Scatter("start against end", points, "push on the bias at the start, x 1000", "final bias")


def _balance(conditions: list[Condition]) -> Scatter:
    share = np.linspace(0.1, 0.9, 17)
    groups: dict[str, Points] = {"least possible": (share, np.asarray(least_loss(share)), None)}
    groups |= {c.name: (np.array([c.share]), np.array([c.loss]), None) for c in conditions}
    return Scatter("loss against the balance", groups, "share of negative biases", "loss")


def _table(conditions: list[Condition]) -> Figure:
    rows = []
    for c in conditions:
        for sign, where in (("negative", c.negative), ("positive", ~c.negative)):
            medians = [f"{np.median(v[where]):.1f}" if where.any() else "-" for v in (c.concentration, c.cycles)]
            rows.append(
                (c.name, sign, int(where.sum()), *medians, f"{c.loss:.3f}", f"{c.bound:.3f}", f"{c.accuracy:.3f}")
            )
    columns = ("condition", "bias", "units", "median IPR / flat", "median cycles", "loss", "least possible", "accuracy")
    return Figure("The populations in numbers", ((Table("", columns, tuple(rows)),),))


def _text(settings: Settings, conditions: list[Condition], alone: np.ndarray) -> str:
    gaussian, free, slight, strong = conditions
    down = float(np.mean(slight.push < 0))
    return (
        "The notes see sigmoid units fall into two populations of about equal size, localized ones with a negative "
        "bias and oscillatory ones with a positive bias, suspect the start, call the balance arbitrary and ask "
        f"whether either population could do the task alone. Here {free.share:.0%} of the units end with a negative "
        f"bias on NLGP({settings.gain:g}) and {gaussian.share:.0%} on Gaussian data. The first thing that moves is "
        "the bias, down where the initial field answers the long class more strongly and up where it answers the "
        f"short: that foretells the final sign for {free.foretold:.0%} and {gaussian.foretold:.0%} of the units. It "
        f"does not decide alone: with the start shifted up by {settings.shifts[0]:g} standard deviation {down:.0%} "
        f"of the units are pushed down, and {slight.share:.0%} end negative; by {settings.shifts[1]:g}, "
        f"{strong.share:.0%}. The balance has a reason. On sign-symmetric data the mean output of a unit has the "
        "sign of its bias in both classes, so with a share p of negative biases no squared loss is below (p^2 + "
        "(1-p)^2)/2, which is least, 1/4, at p = 1/2; without biases the output is odd in x and the loss 1 + E "
        "yhat^2, never below that of an output of 0. With a threshold chosen for it, the negative population alone "
        f"has an accuracy of {alone[1]:.3f} and the positive one of {alone[2]:.3f}, against {alone[0]:.3f} for both: "
        f"{_near_words(alone)}. {settings.seeds} networks of {settings.units} units a condition, {settings.steps} "
        f"steps at rate {settings.rate:g}, gradients averaged over all shifts and signs of {settings.batch} samples."
    )


# Claims ---------------------------------------------------------------------------------------------------------------


def _basis(settings: Settings) -> str:
    networks = f"{settings.seeds} networks of {settings.units} units a condition"
    return f"{networks}, {settings.steps} steps; {settings.samples} fresh samples"


def _sizes_claim(gaussian: Condition, free: Condition, settings: Settings) -> Claim:
    shares, slack = [gaussian.share, free.share], 3 * 0.5 / np.sqrt(len(free.biases))
    return Claim(
        sentence="With sigmoid units the network builds two populations, roughly equal in size.",
        source="seed 002, section 2, Frequency specialization",
        reported="roughly in equal size",
        measured=f"share of units with a negative bias: {shares[0]:.2f} (Gaussian), {shares[1]:.2f} (NLGP)",
        rule=f"both within 3 standard errors of a fair coin ({slack:.2f}) of one half; in part: both from .1 to .9",
        basis=_basis(settings),
        verdict=decide(all(abs(s - 0.5) < slack for s in shares), all(0.1 < s < 0.9 for s in shares)),
        expected="holds",
    )


def _signs_claim(free: Condition, settings: Settings) -> Claim:
    slow = float(np.mean(free.cycles[free.negative] <= SPLIT))
    fast = float(np.mean(free.cycles[~free.negative] > SPLIT))
    local = float(np.median(free.concentration[free.negative]))
    return Claim(
        sentence="Localized neurons always have negative bias terms, while oscillatory neurons have positive ones.",
        source="seed 000, section 3",
        reported="always",
        measured=f"slow fields among negative biases {slow:.0%}, their median IPR {local:.1f} times the flat field's; "
        f"fast fields among positive biases {fast:.0%}",
        rule=f"at least {ALWAYS:.0%} of negative biases have fields of at most {SPLIT} cycles, with a median IPR of at "
        f"least {CONCENTRATED:g} times the flat field's, and at least {ALWAYS:.0%} of positive biases have faster "
        f"fields; in part: without the IPR",
        basis=_basis(settings),
        verdict=decide(min(slow, fast) >= ALWAYS and local >= CONCENTRATED, min(slow, fast) >= ALWAYS),
        expected="holds",
    )


def _push_claim(gaussian: Condition, free: Condition, settings: Settings) -> Claim:
    shares, slack = [gaussian.foretold, free.foretold], 5 * 0.5 / np.sqrt(len(free.biases))
    return Claim(
        sentence="Which population a unit joins has to do with its initial receptive field.",
        source="seed 000, section 3",
        reported="a more positive initialization, but not certain that this fully explains it",
        measured=f"the sign of w'S0w - w'S1w at the start is the sign of the final bias for {shares[0]:.0%} "
        f"(Gaussian) and {shares[1]:.0%} (NLGP) of the units",
        rule=f"more than one half by 5 standard errors of a fair coin ({slack:.2f}) in both; in part: in one",
        basis=_basis(settings),
        verdict=decide(min(shares) > 0.5 + slack, max(shares) > 0.5 + slack),
        expected="holds",
        reason="What counts is not the sign of the weights but which class drives the unit harder: the bias starts "
        "downwards exactly where w'S1w > w'S0w. Competition for the balance moves the rest.",
    )


def _positive_claim(slight: Condition, strong: Condition, settings: Settings) -> Claim:
    found = [(float(np.mean(c.start > 0)), float(np.mean(c.localized))) for c in (slight, strong)]
    slack = 3 * 0.5 / np.sqrt(len(slight.biases))
    many = [local > 0.5 + slack for _, local in found]
    return Claim(
        sentence="If the initialization contains mostly positive values, one gets mostly localized neurons.",
        source="seed 000, section 3",
        reported="mostly localized neurons",
        measured="; ".join(
            f"{up:.0%} of weights positive: {local:.0%} localized with a negative bias" for up, local in found
        ),
        rule=f"more than one half by 3 standard errors of a fair coin ({slack:.2f}) at both shifts; in part: at the "
        f"larger",
        basis=_basis(settings),
        verdict=decide(all(many), many[1]),
        expected="holds in part",
        reason="Mostly positive is not enough: a shift has to outweigh the gain in loss that a balanced network has.",
    )


def _balance_claim(free: Condition, strong: Condition, settings: Settings) -> Claim:
    return Claim(
        sentence="That there are two populations of equal size is arbitrary: networks that end up otherwise are as "
        "good, judged by their loss.",
        source="seed 002, section 2",
        reported="seems to be arbitrary",
        measured=f"loss {free.loss:.3f} at a share of negative biases of {free.share:.2f} (least possible "
        f"{free.bound:.3f}), {strong.loss:.3f} at {strong.share:.2f} (least possible {strong.bound:.3f})",
        rule=f"losses overlap: the best network that started {settings.shifts[1]:g} standard deviations higher is no "
        "worse than the worst of those that did not",
        basis=f"{_basis(settings)}; the bound is exact for sign-symmetric data and labels -1 and 1",
        verdict=decide(strong.losses.min() <= free.losses.max()),
        expected="does not hold",
        reason="A unit's mean output has the sign of its bias in both classes, so that half of each sign is best.",
    )


def _alone_claim(alone: np.ndarray, settings: Settings) -> Claim:
    both, negative, positive = alone
    near = _near(alone)
    return Claim(
        sentence="Either population could solve the task on its own.",
        source="seed 002, section 2, which leaves it to be tested",
        reported="it appears so; to be tested for oscillatory neurons",
        measured=f"accuracy at the best threshold: both {both:.3f}, negative biases alone {negative:.3f}, positive "
        f"alone {positive:.3f}",
        rule=f"each alone within {NEAR} of both; in part: one of them",
        basis=f"{_basis(settings)}; NLGP({settings.gain:g}), the other population removed after training",
        verdict=decide(all(near), any(near)),
        expected="holds in part",
        reason=f"At the best threshold {_near_words(alone)}.",
    )


def _near(alone: np.ndarray) -> list[bool]:
    """Whether the negative and the positive population do as well alone."""
    return [bool(part >= alone[0] - NEAR) for part in alone[1:]]


def _near_words(alone: np.ndarray) -> str:
    words = ["do nearly as well as both" if near else "do clearly worse than both" for near in _near(alone)]
    return f"units of negative bias {words[0]}, those of positive bias {words[1]}"
