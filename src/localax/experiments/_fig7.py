"""Figure 7: two-layer networks trained whole, whose fields do not tell the sign of the kurtosis."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .._progress import Update
from .._record import Claim, Fields, Figure, Lines, Outcome, Panel, Table, decide
from ..analysis import ipr
from ..networks import TwoLayer, Xavier
from ._neuron import orbit
from ._seeds import seed_from, seeds_from
from ._tasks import SIZE, kur
from ._train import train
from ._unit_kinds import CONCENTRATED, LOW, bump, fast, slow

KINDS = (4.0, 30.0)
"""Exponents k of the two data sets: infinite and negative (-1.17) excess kurtosis. Each is the other's control."""
PRINTED = 80.0
"""The rate stored with the top row."""
PRINTED_BATCH = 5000
"""Samples a step stored with the bottom row."""


@dataclass(frozen=True)
class Settings:
    """Sigmoid networks at several rates (top row), then ReLU networks of several widths (bottom row)."""

    rates: tuple[float, ...] = (PRINTED, 20.0)
    """The printed rate first; the last is the one that is compared further."""
    sigmoid_units: int = 10
    sigmoid_steps: int = 1000
    sigmoid_batch: int = 1000
    relu_units: tuple[int, ...] = (10, 100)
    """The width of the caption, and that of the stored run."""
    relu_rate: float = 0.5
    relu_steps: int = 2000
    orbits: int = 8
    """Samples a step, with all their shifts and signs, where gradients are averaged over these."""
    starts: int = 2
    averaged: bool = False
    """Whether the top row is trained once more with such averages, from the same weights."""


PRESETS = {
    "quick": Settings(),
    "paper": Settings(rates=(PRINTED, 5.0, 20.0), sigmoid_steps=5000, orbits=64, starts=3, averaged=True),
}


@dataclass(frozen=True, eq=False)
class Nets:
    """The networks of one setting: final fields (start, unit, pixel), second layers, accuracies, and which lived."""

    fields: np.ndarray
    readout: np.ndarray
    accuracy: np.ndarray
    done: np.ndarray

    def of(self, kind: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Which units are of a kind, (start, unit), in the networks that did not diverge."""
        return kind(self.fields[self.done])

    def share(self, kind: Callable[[np.ndarray], np.ndarray]) -> float:
        return float(self.of(kind).mean()) if self.done.any() else float("nan")

    def count(self, kind: Callable[[np.ndarray], np.ndarray]) -> str:
        found = self.of(kind)
        return f"{int(found.sum())} of {found.size}"

    def described(self) -> str:
        if not self.done.any():
            return f"all {self.done.size} networks diverged"
        lost = "" if self.done.all() else f"{int((~self.done).sum())} of {self.done.size} networks diverged, else "
        return (
            f"{lost}{self.count(bump)} units localized, {self.count(slow)} of low and {self.count(fast)} of high "
            f"frequency, accuracy {self.accuracy[self.done].mean():.2f}"
        )


Found = dict[tuple[float, float], Nets]
"""Networks by the exponent k of their data, and by their rate or width."""


def gap(row: "dict[float, Nets]") -> tuple[float, float]:
    """The share of localized units on Kur(30) less that on Kur(4), with its binomial standard error."""
    high, low = (row[k].of(bump) for k in (30.0, 4.0))
    variances = (x.mean() * (1 - x.mean()) / x.size for x in (high, low))
    return float(high.mean() - low.mean()), float(np.sqrt(sum(variances)))


def run(settings: Settings, key: Any, progress: Update) -> Outcome:
    """Both rows, each on both kinds of data, and the top row once more with less noise in its gradient."""
    sigmoid = TwoLayer(settings.sigmoid_units, "sigmoid")
    plain = {"steps": settings.sigmoid_steps, "batch": settings.sigmoid_batch, "estimator": "plain"}
    quiet = {"steps": settings.sigmoid_steps, "batch": settings.orbits, "estimator": "orbit"}
    noisy = _trained(sigmoid, settings.rates, settings, key, **plain)
    progress(0.4)
    exact = _trained(sigmoid, settings.rates[-1:], settings, key, **quiet) if settings.averaged else {}
    progress(0.6)
    relu: Found = {}
    for i, units in enumerate(settings.relu_units):
        network, bottom = TwoLayer(units, "relu"), quiet | {"steps": settings.relu_steps}
        found = _trained(network, (settings.relu_rate,), settings, jax.random.fold_in(key, i + 1), **bottom)
        relu |= {(k, float(units)): nets for (k, _), nets in found.items()}
        progress(0.8 + 0.2 * i)
    return Outcome(
        title="Figure 7: two layers trained together",
        text=_text(noisy, exact, relu, settings),
        figures=(_figure(noisy, exact, relu, settings), _table(noisy, exact, relu, settings)),
        claims=(
            _top_claim(noisy, settings),
            _evidence_claim(noisy, exact, relu, settings),
            _bottom_claim(relu, settings),
            _variance_claim(relu, settings),
        ),
    )


def _trained(network: TwoLayer, rates: Sequence[float], settings: Settings, key: Any, **options: Any) -> Found:
    """Networks on both kinds of data at every rate."""
    names = [(k, rate) for k in KINDS for rate in rates]
    with warnings.catch_warnings():  # that the printed rate diverges is a result here
        warnings.filterwarnings("ignore", message=".*diverged", category=RuntimeWarning)
        end = train(
            [kur(k) for k, _ in names], network, rate=[rate for _, rate in names], init=Xavier(1e-3),
            seeds=seeds_from(key, settings.starts), data_seed=seed_from(jax.random.fold_in(key, 0)),
            save_every=options["steps"], record=("accuracy",), **options,
        )  # fmt: skip
    assert end.readout is not None
    rows = zip(names, end.final, end.readout[:, :, -1], end.records["accuracy"][..., -1], end.done, strict=True)
    return {name: Nets(*values) for name, *values in rows}


def _compared(noisy: Found, exact: Found, relu: Found, settings: Settings) -> dict[str, dict[float, Nets]]:
    """The comparisons of both kinds of data, by what was trained."""
    rate = settings.rates[-1]
    rows = {f"sigmoid, rate {rate:g}": {k: noisy[k, rate] for k in KINDS}}
    if exact:
        rows["sigmoid, averaged"] = {k: exact[k, rate] for k in KINDS}
    return rows | {f"ReLU, K = {units}": {k: relu[k, units] for k in KINDS} for units in settings.relu_units}


def _text(noisy: Found, exact: Found, relu: Found, settings: Settings) -> str:
    rows, rate = _compared(noisy, exact, relu, settings), settings.rates[-1]
    counts = "; ".join(f"{name}: {row[4.0].count(bump)} and {row[30.0].count(bump)}" for name, row in rows.items())
    lost = int(sum((~noisy[k, PRINTED].done).sum() for k in KINDS))
    waves = " and ".join(f"{noisy[k, rate].count(fast)} on Kur({k:g})" for k in KINDS)
    verdict = "in every network" if min(gap(row)[0] for row in rows.values()) > 0 else "not in every network"
    averaged = f"steps of {orbit(settings.orbits)} where the top row is averaged; " if exact else ""
    return (
        f"The paper trains both layers and shows fast waves on Kur(4) (sigmoid units) and weakly localized fields on "
        f"Kur(30) (ReLU units), which it reads as the prediction of the kurtosis. As its two rows differ in the units "
        f"too, each network is trained on both data here. The stored rate of the top row, {PRINTED:g}, loses {lost} of "
        f"{2 * settings.starts} networks to divergence; at rate {rate:g} the units that are fast waves, as "
        f"in the figure, are {waves}. "
        f"Localized units on Kur(4) and on Kur(30): {counts}. More of them on Kur(30) than on Kur(4), as the "
        f"kurtosis would have it, are found {verdict}; the criterion is derived for one neuron with ReLU and no bias. "
        f"{settings.starts} networks a setting, in the top row {settings.sigmoid_steps:,} steps of "
        f"{settings.sigmoid_batch:,} samples; {averaged}in the bottom row {settings.relu_steps:,} steps of "
        f"{orbit(settings.orbits)}, in place of the stored run's {PRINTED_BATCH:,} samples, to which they "
        "were not compared."
    )


def _figure(noisy: Found, exact: Found, relu: Found, settings: Settings) -> Figure:
    rows = _compared(noisy, exact, relu, settings)
    return Figure(
        "Two-layer networks on both kinds of data",
        tuple(_row(row) for row in rows.values()),
        tuple(rows),
        caption="Four units of one network each; N x IPR of all units, from the largest to the least.",
    )


def _row(row: dict[float, Nets]) -> tuple[Panel, ...]:
    fields = (Fields(f"Kur({k:g})", nets.fields[0][:4]) for k, nets in row.items())
    sharp = {f"Kur({k:g})": np.sort(np.asarray(ipr(nets.fields)).ravel() * SIZE)[::-1] for k, nets in row.items()}
    rank = np.linspace(0, 100, len(next(iter(sharp.values()))))
    sharp["concentrated"] = np.full(len(rank), CONCENTRATED)
    return (*fields, Lines("N x IPR", rank, sharp, xlabel="% of the units"))


def _table(noisy: Found, exact: Found, relu: Found, settings: Settings) -> Figure:
    trained = {f"sigmoid, rate {rate:g}": {k: noisy[k, rate] for k in KINDS} for rate in settings.rates}
    trained |= _compared(noisy, exact, relu, settings)
    rows = tuple((name, f"Kur({k:g})", nets.described()) for name, row in trained.items() for k, nets in row.items())
    return Figure("How the networks end", ((Table("", ("network", "data", "end"), rows),),))


def _top_claim(noisy: Found, settings: Settings) -> Claim:
    found = {rate: noisy[4.0, rate] for rate in settings.rates}
    waves = [nets.done.all() and nets.share(fast) > 0.5 and nets.share(bump) < 0.1 for nets in found.values()]
    return Claim(
        sentence="With sigmoid units and a learned second layer, fields on Kur(4) are fast waves and not localized.",
        source="seed 004, figure 7 (top) and section 4.4; rate of the stored run",
        reported=f"four fast waves, at rate {PRINTED:g}",
        measured="; ".join(f"rate {rate:g}: {nets.described()}" for rate, nets in found.items()),
        rule=f"at the printed rate no network diverges, more than half of the units have more than {LOW} cycles and "
        "less than a tenth are localized; in part if so at a smaller rate",
        basis=f"{settings.starts} networks a rate, {settings.sigmoid_steps} steps of {settings.sigmoid_batch} samples",
        verdict=decide(waves[0], any(waves)),
        expected="holds in part",
        reason="At the stored rate the second layer is unstable (erratum B-36); at smaller rates the picture appears.",
    )


def _evidence_claim(noisy: Found, exact: Found, relu: Found, settings: Settings) -> Claim:
    rows = _compared(noisy, exact, relu, settings)
    gaps = {name: gap(row) for name, row in rows.items()}
    against = [name for name, (value, error) in gaps.items() if value < -2 * error]
    least = min(value for value, _ in gaps.values())
    return Claim(
        sentence="Whether fields of two-layer networks are localized is as the sign of the excess kurtosis predicts.",
        source="seed 004, figure 7 ('as predicted by Claim 3.2') and section 4.4",
        reported="one kind of network on each kind of data",
        measured="share of localized units on Kur(30) less that on Kur(4): "
        + "; ".join(f"{name}: {value:+.0%} +- {error:.0%}" for name, (value, error) in gaps.items()),
        rule="in every network at least half of the units more on Kur(30) than on Kur(4); in part if more at all",
        basis=f"{settings.starts} networks a setting; binomial standard errors, as if units were independent",
        verdict=decide(least >= 0.5, least > 0),
        expected="does not hold",
        reason="The figure compares sigmoid units on the one data with ReLU units on the other."
        + (
            f" By two standard errors more are localized on Kur(4): {', '.join(against)}; why is open."
            if against
            else ""
        ),
    )


def _bottom_claim(relu: Found, settings: Settings) -> Claim:
    nets = {units: relu[30.0, units] for units in settings.relu_units}
    shares = {units: one.share(bump) for units, one in nets.items()}
    caption = settings.relu_units[0]
    some = any(shares[units] >= 0.1 and one.share(fast) < 0.1 for units, one in nets.items())
    return Claim(
        sentence="With ReLU units on Kur(30), fields are localized or of low frequency, not all being localized.",
        source="seed 004, figure 7 (bottom; caption: K = 10, stored run: K = 100)",
        reported="three of the four shown localized",
        measured="; ".join(f"K = {units}: {one.described()}" for units, one in nets.items()),
        rule=f"at the caption's K half of the units or more are localized, but not all, and none has more than {LOW} "
        "cycles; in part if at some K a tenth or more are localized and less than a tenth have more cycles",
        basis=f"{settings.starts} networks a width, {settings.relu_steps:,} steps of {orbit(settings.orbits)}",
        verdict=decide(0.5 <= shares[caption] < 1 and nets[caption].share(fast) == 0, some),
        expected="holds in part",
        reason="A minority of the units is localized.",
    )


def _variance_claim(relu: Found, settings: Settings) -> Claim:
    nets = relu[30.0, settings.relu_units[-1]]
    inside, readout = nets.of(bump), nets.readout[nets.done]
    kappa = kur(30.0).stimuli[0].marginal.excess_kurtosis() + 3
    turned = kappa * readout**2 > 3  # the printed term, -(kappa s^4 - 3 s^2), with s the second-layer weight
    apart = float(readout[inside].mean() - readout[~inside].mean()) if inside.any() and not inside.all() else 0.0
    return Claim(
        sentence="Not all fields are localized because a second-layer weight changes the variance in the cubic term.",
        source="seed 004, section 4.4 and lemma B.1",
        reported="no measurement",
        measured=f"second-layer weights from {readout.min():.3f} to {readout.max():.3f}; at that of "
        f"{int(turned[~inside].sum())} of {int((~inside).sum())} units that are not localized, and of "
        f"{int(turned[inside].sum())} of {int(inside.sum())} that are, the printed term has changed its sign; means of "
        f"the two groups differ by {apart:+.3f}, with a standard deviation of {readout.std():.3f}",
        rule="the printed cubic term, with the second-layer weight as a factor on the pixels, has changed its sign for "
        "more than half of the units that are not localized, and for less than half of those that are",
        basis=f"{readout.size} units of {int(nets.done.sum())} networks, kurtosis to the first power (erratum B-02)",
        verdict=decide(_most(turned[~inside]) and not _most(turned[inside])),
        expected="does not hold",
        reason="With the right dependence on the variance the sign is that of minus the excess kurtosis for every "
        "second-layer weight (erratum B-04).",
    )


def _most(which: np.ndarray) -> bool:
    return which.size > 0 and bool(which.mean() > 0.5)
