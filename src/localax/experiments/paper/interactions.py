"""Do neurons that share an output learn what each of them would learn alone?

Single neurons, committees of several widths and networks with a learned second layer are trained side by side, from the
same starting fields and on the same batches: they differ in nothing but in who shares an output with whom. A committee
gives the mean of its K units, so its loss counts K times and every unit moves at the pace of a single neuron.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ..._errors import setting_error
from ..._progress import Update
from ...analysis import concentration, distance, localized
from ...outcome import Claim, Fields, Figure, Number, Rule, Scatter, Table, as_measured, finite
from ...spec import Setting
from ...stimuli import Task
from ...training import SaveAt
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.populations import some
from ..toolkit.seeds import seed_from
from ..toolkit.side_by_side import Kind, SideBySide, shares
from ..toolkit.single_neurons import centred
from ..toolkit.sources import PAPER
from ..toolkit.tasks import NARROW, SIZE, WIDE, kur, nlgp
from ..toolkit.train import train
from ..toolkit.words import listed

GAIN = 100.0
"""Of the NLGP: almost +-1."""
START = 0.007
"""Standard deviation of a starting weight: that of the paper's single neurons."""
EVERY = 50
"""Steps between records; noise is what differs between three of them, in the later half of training."""
LEAST = 8
"""Records that this takes."""
SHOWN = 4
"""Fields of a group that are drawn."""

ROLE = Rule(
    "on all data and at every width, the share of localized units is within {apart:.0%} of the units of that of single "
    "neurons, and the median n IPR within a factor of {factor:g}; in part: on all data and at every width more than "
    "half of the units are localized if more than half of the single neurons are, and else not",
    lambda n, t: n.gap < t.apart and n.factor < t.factor,
    partly=lambda n, _: n.turned == 0,
    thresholds={"apart": 0.25, "factor": 2.0},
    holds={"gap": 0.1, "factor": 1.3, "turned": 0},
    part={"gap": 0.3, "factor": 2.6, "turned": 0},
    fails={"gap": 0.8, "factor": 5.0, "turned": 3},
)
CONDITIONS = Rule(
    "at every width at least {half:.0%} of the units are localized on data of negative excess kurtosis, and fewer on "
    "data of positive; in part: one of the two",
    lambda n, t: n.least >= t.half > n.most,
    partly=lambda n, t: n.least >= t.half or n.most < t.half,
    thresholds={"half": 0.5},
    holds={"least": 0.9, "most": 0.05},
    part={"least": 0.2, "most": 0.05},
    fails={"least": 0.2, "most": 0.8},
)
ALIKE = Rule(
    "on all data and at every width the median overlap of localized units with the localized single neuron, at the "
    "best shift and sign, is at least {alike:g}, which two Gaussian bumps have if their widths differ by a factor of "
    "2.6; in part: somewhere",
    lambda n, t: n.least >= t.alike,
    partly=lambda n, t: n.most >= t.alike,
    thresholds={"alike": 0.8},
    holds={"least": 0.95, "most": 0.99},
    part={"least": 0.6, "most": 0.95},
    fails={"least": 0.5, "most": 0.7},
)
QUIET = Rule(
    "on all data the noise of a field, relative to its norm, is at least {clearly:g} times as large with a learned "
    "second layer, and the share of localized units differs by less than {apart:.0%} of them; in part: one of the two",
    lambda n, t: n.ratio >= t.clearly and n.gap < t.apart,
    partly=lambda n, t: n.ratio >= t.clearly or n.gap < t.apart,
    thresholds={"clearly": 1.1, "apart": 0.25},
    holds={"ratio": 1.6, "gap": 0.05},
    part={"ratio": 1.6, "gap": 0.5},
    fails={"ratio": 0.9, "gap": 0.5},
)


def _losses(snapshot: Any) -> Any:
    """The loss of every network on the probe batch."""
    prediction = snapshot.network(snapshot.parameters, snapshot.x)
    return jnp.mean((prediction - snapshot.target) ** 2, axis=-1)


# The experiment -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interactions(AbstractExperiment):
    """Do neurons that share an output learn what each of them would learn alone?"""

    name: ClassVar[str] = "interactions"
    title: ClassVar[str] = "Many neurons or one"
    cost: ClassVar[float] = 20.0

    widths: Annotated[
        tuple[int, ...], Setting("units K of the committees, beside single neurons", kind=int, ge=2, many=(1, None))
    ] = (5, 10)
    learned: Annotated[
        tuple[int, ...], Setting("widths, of those, that get a learned second layer too", kind=int, ge=2, many=(0, 3))
    ] = (10,)
    starts: Annotated[int, Setting("starting fields, which every width shares out", kind=int, ge=2)] = 20
    sets: Annotated[int, Setting("sets of starts, each with data of its own", kind=int, ge=1)] = 1
    exponents: Annotated[
        tuple[float, ...], Setting("exponents k of the Kur data, beside NLGP data", gt=4, many=(0, None))
    ] = (4.5, 30.0)
    steps: Annotated[int, Setting("steps of training", kind=int, ge=LEAST)] = 2000
    batch: Annotated[int, Setting("samples a step", kind=int, ge=2)] = 400
    rate: Annotated[float, Setting("learning rate of a single neuron", gt=0)] = 0.1

    @classmethod
    def paper(cls) -> "Interactions":
        return cls(widths=(2, 5, 10, 20), learned=(10, 20), sets=2, steps=4000)

    def check(self) -> None:
        for width in self.widths:
            if self.starts % width:
                raise setting_error(Interactions, "starts", self.starts, f"a multiple of every width, such as {width}")
        if not set(self.learned) <= set(self.widths):
            raise setting_error(Interactions, "learned", self.learned, f"some of the widths {self.widths}")

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Single neurons, committees, networks with a learned second layer."""
        fixed = (Kind(width) for width in sorted(set(self.widths)))
        return Kind(1), *fixed, *(Kind(width, learned=True) for width in sorted(set(self.learned)))

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Train all kinds at once, on NLGP and on Kur data."""
        narrow, wide = (f"NLGP({GAIN:g}), {short:g} and {long:g}" for short, long in (NARROW, WIDE))
        groups = self._trained({narrow: nlgp(GAIN, NARROW), wide: nlgp(GAIN, WIDE)}, jax.random.fold_in(key, 0))
        progress(0.5)
        if self.exponents:
            tasks = {f"Kur({k:g}), {WIDE[0]:g} and {WIDE[1]:g}": kur(k) for k in self.exponents}
            groups |= self._trained(tasks, jax.random.fold_in(key, 1))
        progress(1.0)
        return Measured(self, groups)

    def _trained(self, tasks: dict[str, Task], key: Any) -> "dict[str, Law]":
        network = SideBySide(self.kinds, [self.starts] * len(self.kinds))
        draws = np.random.default_rng(seed_from(key)).normal(size=(self.sets, self.starts, SIZE))
        run = train(
            list(tasks.values()), network, steps=self.steps, batch=self.batch, rate=self.rate, seeds=self.sets,
            init=np.tile((START * draws).astype(np.float32), (1, len(self.kinds), 1)), data_seed=seed_from(key),
            stream="independent", loss=network.loss,
            saveat=SaveAt(min(EVERY, self.steps // LEAST), record={"losses": _losses}),
        )  # fmt: skip
        found = zip(tasks.items(), run.weights, run.records["losses"], strict=True)
        return {
            name: Law(task.stimuli[1].marginal.excess_kurtosis(), run.time, _by_kind(network, weights, losses))
            for (name, task), weights, losses in found
        }


def _by_kind(network: SideBySide, weights: np.ndarray, losses: np.ndarray) -> "dict[Kind, Group]":
    """From (set, time, unit, pixel) and (set, time, network) to the kinds."""
    units = network.by_kind(weights, network.used, axis=2)
    ends = network.by_kind(losses[:, -1], network.networks, axis=1)
    return {kind: Group(kind, units[kind], ends[kind].ravel()) for kind in network.kinds}


# What was measured ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Group:
    """All networks of a kind on one law: fields (set, time, unit, pixel), and the loss of every network at the end."""

    kind: Kind
    weights: np.ndarray
    losses: np.ndarray

    @property
    def fields(self) -> np.ndarray:
        """At the end, (unit, pixel)."""
        return self.weights[:, -1].reshape(-1, self.weights.shape[-1])

    @cached_property
    def local(self) -> np.ndarray:
        return np.asarray(localized(self.fields))

    @property
    def share(self) -> tuple[float, float]:
        """The share of localized units, and its standard error."""
        share, error = shares(self.local, self.kind.width)
        return float(share), float(error)

    @cached_property
    def sharpness(self) -> tuple[float, float]:
        """The median n IPR, with its standard error."""
        return _median(np.asarray(concentration(self.fields)))

    @property
    def size(self) -> float:
        """The median norm of a field."""
        return float(np.median(np.linalg.norm(self.fields, axis=1)))

    @cached_property
    def noise(self) -> tuple[float, float]:
        """How much a field jumps about late in training, relative to its norm: the median over units, and its error.

        By second differences in time, which a steady drift leaves at 0; their variance is six times that of noise.
        """
        late = self.weights[:, self.weights.shape[1] // 2 :]
        jumps = late[:, 2:] - 2 * late[:, 1:-1] + late[:, :-2]
        size = np.sqrt(np.sum(jumps**2, axis=-1).mean(1) / 6)
        return _median((size / np.linalg.norm(late, axis=-1).mean(1)).ravel())

    def overlap(self, alone: np.ndarray | None) -> tuple[float, float] | None:
        """The median overlap of localized units with a field of norm 1, at the best shift and sign."""
        if alone is None or not self.local.any():
            return None
        apart = np.asarray(distance(self.fields / np.linalg.norm(self.fields, axis=-1, keepdims=True), alone))
        return _median(1 - apart[self.local] ** 2 / 2)

    def described(self, alone: np.ndarray | None) -> tuple[str, ...]:
        """A row of the table."""
        overlap = self.overlap(alone)
        return (
            str(self.kind), str(self.losses.size), _with_error(self.share, ".0%"), _with_error(self.sharpness, ".1f"),
            "" if overlap is None else _with_error(overlap, ".2f"), _with_error(self.noise, ".3f"),
            f"{self.losses.mean():.3f}",
        )  # fmt: skip


def _median(values: np.ndarray) -> tuple[float, float]:
    """A median and its standard error, from quartiles as for a normal law."""
    low, high = np.quantile(values, (0.25, 0.75))
    return float(np.median(values)), float(np.sqrt(np.pi / 2) * (high - low) / 1.349 / np.sqrt(values.size))


def _with_error(number: tuple[float, float], form: str) -> str:
    return f"{number[0]:{form}} +- {number[1]:{form}}"


@dataclass(frozen=True, eq=False)
class Law:
    """All kinds of networks on one law, whose long class has an excess kurtosis."""

    excess: float
    time: np.ndarray
    groups: dict[Kind, Group]

    @property
    def alone(self) -> Group:
        return self.groups[Kind(1)]

    @property
    def many(self) -> list[Group]:
        """The networks of several units."""
        return [group for kind, group in self.groups.items() if kind.width > 1]

    @cached_property
    def field(self) -> np.ndarray | None:
        """What a localized single neuron looks like, with norm 1; None where none is localized."""
        if not self.alone.local.any():
            return None
        mean = centred(self.alone.fields)[self.alone.local].mean(0)
        return mean / np.linalg.norm(mean)


Value = tuple[float, float]


def _difference(a: Value, b: Value) -> Value:
    """How far two numbers are apart, with the joint standard error."""
    return abs(a[0] - b[0]), float(np.hypot(a[1], b[1]))


def _ratio(a: Value, b: Value) -> Value:
    """a/b with its standard error."""
    return a[0] / b[0], a[0] / b[0] * float(np.hypot(a[1] / a[0], b[1] / b[0]))


def _factor(a: Value, b: Value) -> Value:
    """How many times the larger is as large as the smaller."""
    return _ratio(a, b) if a[0] >= b[0] else _ratio(b, a)


def _number(name: str, found: Value | None, unit: str = "") -> Number:
    return Number(name, None) if found is None else Number(name, finite(found[0]), found[1], unit)


def _extreme(name: str, values: Sequence[Value], sign: int, unit: str = "") -> Number:
    """The largest (sign 1) or least (-1) of numbers with errors; no number where there are none."""
    return _number(name, max(values, key=lambda value: sign * value[0], default=None), unit)


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """All laws, by name."""

    experiment: Interactions
    laws: dict[str, Law]

    def _basis(self) -> str:
        it = self.experiment
        sets = f"{it.sets} sets of {it.starts} starting fields, shared by all kinds of networks"
        return f"{sets}; {it.steps:,} steps of {it.batch:,} samples at rate {it.rate:g} (time {it.steps * it.rate:g})"

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._role(), self._conditions(), self._alike(), self._quiet()

    def _role(self) -> Claim:
        pairs = [(law.alone, group) for law in self.laws.values() for group in law.many]
        turned = sum((alone.share[0] > 0.5) != (group.share[0] > 0.5) for alone, group in pairs)
        shown = "; ".join(f"{name}: {_series(law)}" for name, law in self.laws.items())
        return ROLE.claim(
            "Interactions between neurons do not play a significant role in shaping localization.",
            source=f"{PAPER}, section 5",
            reported="from figures 6 and 7, without a single neuron on the same data beside them",
            numbers=[
                _extreme("gap", [_difference(one.share, many.share) for one, many in pairs], 1, "of the units"),
                _extreme("factor", [_factor(one.sharpness, many.sharpness) for one, many in pairs], 1),
                Number("turned", int(turned), unit="cases"),
            ],
            said="the share of localized units changes by up to {gap:.0%} of the units and the median n IPR by up to a "
            f"factor of {{factor:.1f}}; what the majority does changes in {{turned}} of {len(pairs)} cases. {shown}",
            basis=self._basis(),
            expected=as_measured("does not hold"),
            reasons={
                "does not hold": "Units that share an output share the error that is left: what the others explain is "
                "no longer there to be learned."
            },
        )

    def _conditions(self) -> Claim:
        by_sign = {sign: [law for law in self.laws.values() if law.excess * sign > 0] for sign in (1, -1)}
        shares = {sign: [group.share for law in laws for group in law.many] for sign, laws in by_sign.items()}
        negative, positive = (
            "; ".join(f"{name} ({law.excess:+.2f}): {_series(law, sharp=False)}" for name, law in self.laws.items()
                      if law.excess * sign > 0) for sign in (-1, 1)
        )  # fmt: skip
        return CONDITIONS.claim(
            "The conditions for localization of the single neuron also hold for the many-neuron architecture.",
            source=f"{PAPER}, section 3 (opening) and claim 3.2",
            reported="demonstrated in section 4",
            numbers=[
                _extreme("least", shares[-1], -1, "of the units"),
                _extreme("most", shares[1], 1, "of the units"),
            ],
            said="localized units of networks of several units: at least {least:.0%} where the excess kurtosis is "
            f"negative ({negative or 'no data'}), at most {{most:.0%}} where it is positive ({positive or 'no data'})",
            basis=self._basis(),
            expected=as_measured("does not hold"),
            reasons={
                "does not hold": "With several units the sign of the excess kurtosis separates neither way.",
                "holds in part": "With several units the sign of the excess kurtosis separates one way only.",
            },
        )

    def _alike(self) -> Claim:
        found = {
            f"{name}, {group.kind}": overlap
            for name, law in self.laws.items()
            for group in law.many
            if (overlap := group.overlap(law.field)) is not None
        }
        shown = "; ".join(f"{name} {value:.2f}" for name, (value, _) in found.items())
        return ALIKE.claim(
            "The localized fields of many- and single-neuron models are qualitatively similar up to translation.",
            source=f"{PAPER}, section 2.1",
            reported="as Ingrosso and Goldt demonstrate",
            numbers=[
                _extreme("least", list(found.values()), -1),
                _extreme("most", list(found.values()), 1),
            ],
            said=f"median overlap between {{least:.2f}} and {{most:.2f}}: {shown or 'no localized fields'}",
            basis=f"{self._basis()}; the localized units alone",
            expected=as_measured("holds in part"),
        )

    def _quiet(self) -> Claim:
        pairs = {
            f"{name}, K = {width}": (law.groups[Kind(width)], law.groups[Kind(width, learned=True)])
            for name, law in self.laws.items()
            for width in self.experiment.learned
        }
        grown = np.array([learned.size / fixed.size for fixed, learned in pairs.values()] or [1.0])
        shown = "; ".join(
            f"{name}: {fixed.noise[0]:.3f} and {learned.noise[0]:.3f}, {fixed.share[0]:.0%} and {learned.share[0]:.0%}"
            for name, (fixed, learned) in pairs.items()
        )
        return QUIET.claim(
            "With a fixed second layer the fields are less noisy, and localization behaves similarly.",
            source=f"{PAPER}, section 2.1",
            reported="as Ingrosso and Goldt note",
            numbers=[
                _extreme("ratio", [_ratio(b.noise, a.noise) for a, b in pairs.values()], -1),
                _extreme("gap", [_difference(a.share, b.share) for a, b in pairs.values()], 1, "of the units"),
            ],
            said="with a learned second layer the noise is at least {ratio:.2f} times that with a fixed one, and the "
            "share of localized units up to {gap:.0%} of the units apart. Noise and share, fixed and learned: "
            + (shown or "no data"),
            basis=f"{self._basis()}; noise over the later half of training, from records {EVERY} steps apart",
            expected=as_measured("does not hold"),
            reasons={
                "does not hold": f"With a learned second layer the norm of a field is {grown.min():.1f} to "
                f"{grown.max():.1f} times what it is with a fixed one, and the larger it is the less does the noise of "
                "a batch count."
            },
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        return self._by_width(), self._fields(), self._over_time(), self._table()

    def _by_width(self) -> Figure:
        panels = (("share of localized units", "share"), ("median n IPR", "sharpness"))
        row = tuple(
            Scatter(title, {name: _over_width(law, part) for name, law in self.laws.items()}, "units K", title,
                    logx=True, joined=True) for title, part in panels
        )  # fmt: skip
        caption = "Committees with a second layer fixed at 1/K, beside single neurons (K = 1) from the same starts."
        return Figure("What sharing an output does", (row,), caption=caption)

    def _fields(self) -> Figure:
        rows = tuple(
            tuple(Fields(str(kind), some(group.fields, SHOWN)) for kind, group in law.groups.items())
            for law in self.laws.values()
        )
        caption = f"The first {SHOWN} units of each kind, from the same starting fields and on the same data."
        return Figure("The same starts, alone and together", rows, tuple(self.laws), caption)

    def _over_time(self) -> Figure:
        row = tuple(
            Scatter(name, {str(kind): _path(law, group) for kind, group in law.groups.items()}, "time (steps x rate)",
                    "median n IPR", joined=True) for name, law in self.laws.items()
        )  # fmt: skip
        return Figure("How fields localize", (row,), caption="Whether training was long enough can be seen here.")

    def _table(self) -> Figure:
        columns = ("data", "units", "networks", "localized", "median n IPR", "overlap", "noise", "loss")
        rows = tuple(
            (name, *group.described(law.field)) for name, law in self.laws.items() for group in law.groups.values()
        )
        caption = (
            "Overlap: of localized units with the localized single neuron at the best shift and sign. Noise: how far a "
            "field jumps about late in training, relative to its norm."
        )
        return Figure("Alone and together", ((Table("", columns, rows),),), caption=caption)

    def text(self) -> str:
        it = self.experiment
        series = " ".join(f"{name}: {_series(law)}." for name, law in self.laws.items())
        losses = "; ".join(
            f"{name}: {law.alone.losses.mean():.3f} alone and {law.many[-1].losses.mean():.3f} with {law.many[-1].kind}"
            for name, law in self.laws.items()
        )
        return (
            f"The paper derives its theory for one neuron and concludes from figures of many that interactions between "
            f"neurons play no significant role. Here single ReLU neurons and committees of K = {listed(it.widths)} of "
            f"them start from the same fields and see the same batches; they differ only in who shares an output. The "
            f"output is the mean of the K units and the loss counts K times, so that a unit moves at the same pace "
            f"whatever K is. Share of localized units and median n IPR by K: {series} The loss at the end: {losses}. "
            f"Networks with a learned second layer were trained for K = {listed(it.learned) or 'none'}, without "
            f"biases, as the committees. {self._basis()}."
        )


def _series(law: Law, *, sharp: bool = True) -> str:
    """The kinds of networks on a law, one after the other."""
    return ", ".join(
        f"{kind} {group.share[0]:.0%}" + f" ({group.sharpness[0]:.1f})" * sharp for kind, group in law.groups.items()
    )


def _over_width(law: Law, part: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A number of the committees, over their width."""
    fixed = [group for kind, group in law.groups.items() if not kind.learned]
    value, error = np.transpose([getattr(group, part) for group in fixed])
    return np.array([float(group.kind.width) for group in fixed]), value, error


def _path(law: Law, group: Group) -> tuple[np.ndarray, np.ndarray, None]:
    """The median n IPR over time."""
    paths = np.asarray(concentration(group.weights))
    return law.time, np.median(paths, axis=(0, 2)), None
