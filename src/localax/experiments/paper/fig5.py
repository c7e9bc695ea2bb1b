"""Figure 5: localization against excess kurtosis for NLGP(g) and Kur(k), with the threshold that theory predicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np

from ... import theory
from ..._errors import setting_error
from ..._progress import Update
from ...analysis import ipr
from ...networks import Authors
from ...outcome import Claim, Figure, Lines, Number, Rule, Scatter, Table, as_measured, by_theory
from ...spec import Setting
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.checks import even, shared_out
from ..toolkit.neuron import neuron
from ..toolkit.seeds import seed_from
from ..toolkit.sources import PAPER
from ..toolkit.tasks import NARROW, SIZE, WIDE, kur, nlgp
from ..toolkit.together import together
from ..toolkit.train import train

CLEARLY = -1.0
"""Sufficiently negative: half-way from a Gaussian to the hypercube."""
FAMILIES = {"NLGP(g)": nlgp, "Kur(k)": kur}

ENDS = Rule(
    "every setting below excess {clearly:g} above {high:g}, every positive one below {low:g}",
    lambda n, t: n.least > t.high and n.largest < t.low,
    thresholds={"high": 0.8, "low": 0.1},  # IPR close to 1; IPR nearly 0, four times that of a flat field
    holds={"least": 0.95, "largest": 0.03},
    fails={"least": 0.95, "largest": 0.2},
)
SIGN = Rule(
    "every negative setting above {high:g}, every positive one below {low:g}; in part: one of the two",
    lambda n, t: n.least > t.high and n.largest < t.low,
    partly=lambda n, t: n.least > t.high or n.largest < t.low,
    thresholds={"high": 0.8, "low": 0.1},
    holds={"least": 0.9, "largest": 0.03},
    part={"least": 0.3, "largest": 0.03},
    fails={"least": 0.3, "largest": 0.2},
)
COLLAPSE = Rule(
    "families within {near:g} of each other at every negative excess kurtosis of Kur, at {pair}",
    lambda n, t: n.apart < t.near,
    thresholds={"near": 0.1},
    holds={"apart": 0.05},
    fails={"apart": 0.4},
)
SPREAD = Rule(
    "standard deviation below {steady:g} at every setting; in part: where the excess is below {clearly:g} or positive",
    lambda n, t: n.overall < t.steady,
    partly=lambda n, t: n.clear < t.steady,
    thresholds={"steady": 0.05},  # hardly visible on an axis from 0 to 1
    holds={"overall": 0.02, "clear": 0.01},
    part={"overall": 0.2, "clear": 0.01},
    fails={"overall": 0.2, "clear": 0.1},
)


@dataclass(frozen=True)
class Figure5(AbstractExperiment):
    """IPR of a trained ReLU neuron against the excess kurtosis of its data, for two families of data."""

    name: ClassVar[str] = "fig5"
    title: ClassVar[str] = "Figure 5: IPR against excess kurtosis"
    cost: ClassVar[float] = 25.0

    lengthscales: Annotated[tuple[float, ...], Setting("short and long lengthscale", gt=0, many=(2, 2))] = NARROW
    beside: Annotated[tuple[float, ...], Setting("lengthscales to compare with", gt=0, many=(2, 2))] = WIDE
    gains: Annotated[tuple[float, ...], Setting("gains of NLGP", gt=0, many=(2, None))] = (
        0.01,
        0.1,
        0.3,
        0.5,
        1.0,
        100.0,
    )
    exponents: Annotated[tuple[float, ...], Setting("exponents of Kur", gt=4, many=(2, None))] = (
        5.0,
        6.0,
        7.0,
        10.0,
        30.0,
    )
    seeds: Annotated[int, Setting("initialisations", kind=int, ge=2)] = 4
    streams: Annotated[int, Setting("streams of data that they share out", kind=int, ge=1)] = 2
    steps: Annotated[int, Setting("steps of training", kind=int, ge=20)] = 5000
    rate: Annotated[float, Setting("learning rate", gt=0)] = 0.05
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2)] = 64
    records: Annotated[int, Setting("moments recorded", kind=int, ge=1)] = 20

    @classmethod
    def paper(cls) -> "Figure5":
        gains = (0.01, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0, 100.0)
        exponents = (4.75, 5.0, 5.5, 6.0, 7.0, 8.0, 10.0, 30.0)
        return cls(gains=gains, exponents=exponents, seeds=30, streams=3, steps=8000)

    def check(self) -> None:
        even(self, "batch")
        shared_out(self, self.streams)
        if self.records > self.steps:
            raise setting_error(Figure5, "records", self.records, f"at most steps ({self.steps})")

    @property
    def pairs(self) -> tuple[tuple[float, ...], ...]:
        return self.lengthscales, self.beside

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Both families, both pairs of lengthscales, all initialisations; one compiled call for each family."""
        parts = tuple(zip(FAMILIES, (self.gains, self.exponents), (0, 1), strict=True))

        def one(part: tuple[str, tuple[float, ...], int], progress: Update) -> Sweep:
            family, values, i = part
            return self._sweep(family, values, seed_from(jax.random.fold_in(key, i)), progress)

        return Measured(self, dict(zip(FAMILIES, together(one, parts, progress), strict=True)))

    def _sweep(self, family: str, values: Sequence[float], seed: int, progress: Update) -> "Sweep":
        make = FAMILIES[family]
        trained = train(
            [make(value, pair) for pair in self.pairs for value in values], neuron(), steps=self.steps,
            batch=self.batch, rate=self.rate, seeds=self.seeds, data_seed=seed, init=Authors(), estimator="orbit",
            stream=self.streams, save_every=self.steps // self.records,
            watch=lambda step, _: progress(step / self.steps),
        )  # fmt: skip
        local = ipr(trained.weights[..., 0, :])
        critical = theory.critical_gain if make is nlgp else theory.critical_k
        return Sweep(
            settings=tuple(values),
            excess=np.array([_excess(family, value) for value in values]),
            ipr=local.reshape(len(self.pairs), len(values), *local.shape[1:]),
            time=trained.time,
            thresholds=tuple(_excess(family, critical(short, long, SIZE)) for short, long in self.pairs),
        )


def _excess(family: str, value: float) -> float:
    return FAMILIES[family](value).stimuli[0].marginal.excess_kurtosis()


@dataclass(frozen=True)
class Sweep:
    """One family at both pairs of lengthscales: IPR (pair, setting, seed, time) against exact excess kurtosis."""

    settings: tuple[float, ...]
    excess: np.ndarray
    ipr: np.ndarray
    time: np.ndarray
    thresholds: tuple[float, ...]
    """Excess kurtosis at which the flat field gives way, by pair."""

    @property
    def mean(self) -> np.ndarray:
        return self.ipr[..., -1].mean(2)

    @property
    def spread(self) -> np.ndarray:
        return self.ipr[..., -1].std(2, ddof=1)


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """IPR of both families over time."""

    experiment: Figure5
    sweeps: dict[str, Sweep]

    # Numbers ---------------------------------------------------------------------------------------------------------

    def extremes(self, pair: int, negative: float = CLEARLY) -> tuple[Number, Number]:
        """The least IPR of the settings with an excess below ``negative`` and the largest of the positive ones."""
        low = [m for s in self.sweeps.values() for m in s.mean[pair][s.excess < negative]]
        high = [m for s in self.sweeps.values() for m in s.mean[pair][s.excess > 0]]
        return Number("least", min(low, default=None)), Number("largest", max(high, default=None))

    def gap(self, pair: int) -> tuple[Number, Number]:
        """The largest difference of IPR between the families at equal kurtosis, and that kurtosis.

        NLGP's curve is interpolated at the kurtoses of Kur that are negative: positive ones it cannot have.
        """
        erf, algebraic = self.sweeps["NLGP(g)"], self.sweeps["Kur(k)"]
        shared = algebraic.excess < 0
        if not shared.any():
            return Number("apart", None), Number("at", None)
        order = np.argsort(erf.excess)
        between = np.interp(algebraic.excess[shared], erf.excess[order], erf.mean[pair][order])
        apart = np.abs(algebraic.mean[pair][shared] - between)
        return Number("apart", float(apart.max())), Number("at", float(algebraic.excess[shared][apart.argmax()]))

    def spreads(self) -> tuple[Number, Number]:
        """The largest standard deviation over seeds, over all settings and over those away from the threshold."""
        clear = [s.spread[:, (s.excess < CLEARLY) | (s.excess > 0)] for s in self.sweeps.values()]
        values = np.concatenate([c.ravel() for c in clear])
        overall = max(s.spread.max() for s in self.sweeps.values())
        return Number("overall", float(overall)), Number("clear", float(values.max()) if values.size else None)

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._ends(0), self._ends(1), self._sign(), self._collapse(), self._spread()

    def _basis(self) -> str:
        it = self.experiment
        return (
            f"{it.seeds} initialisations on {it.streams} streams of data, {it.steps} steps at rate {it.rate:g}, each "
            f"step the orbit of {it.batch} samples"
        )

    def _named(self, pair: int) -> str:
        return "({:g}, {:g})".format(*self.experiment.pairs[pair])

    def _ends(self, pair: int) -> Claim:
        wide = self.experiment.pairs[pair] == WIDE
        return ENDS.claim(
            f"Sufficiently negative excess kurtosis gives an IPR close to 1, positive an IPR nearly zero; lengthscales "
            f"{self._named(pair)}.",
            source=f"{PAPER}, claim 3.2 and figure 5",
            reported="close to 1.0 and nearly zero; neither lengthscales nor what is sufficient are stated",
            numbers=self.extremes(pair),
            said=f"least IPR below excess {CLEARLY:g}: {{least:.3f}}; largest at positive excess: {{largest:.3f}}",
            basis=self._basis(),
            expected=as_measured("does not hold" if wide else "holds"),
            words={"clearly": CLEARLY},
            reasons={
                "does not hold": "At these lengthscales even data on the hypercube localize to a wide bump: the IPR of "
                "the steady state is set by the covariances, not by the kurtosis alone."
            },
        )

    def _sign(self) -> Claim:
        erf, algebraic = (s.thresholds for s in self.sweeps.values())
        return SIGN.claim(
            f"Negative excess kurtosis gives an IPR close to 1, positive an IPR nearly zero; lengthscales "
            f"{self._named(0)}.",
            source=f"{PAPER}, section 4.1 and figure 5",
            reported="close to the maximum of 1.0 wherever negative, near zero wherever positive",
            numbers=self.extremes(0, 0.0),
            said="least IPR at negative excess: {least:.3f}; largest at positive: {largest:.3f}; predicted to give way "
            f"at {erf[0]:.3f} (NLGP) and {algebraic[0]:+.3f} (Kur)",
            basis=self._basis(),
            expected=by_theory("holds in part", "the flat field's growth rates (erratum B-10)"),
            reasons={
                "holds in part": "The sign is neither necessary nor sufficient (erratum B-10): the elasticity of the "
                "amplifier has to exceed a ratio that the covariances set, and beyond that the field grows gradually."
            },
        )

    def _collapse(self) -> Claim:
        apart, at = self.gap(0)
        other, other_at = self.gap(1)
        return COLLAPSE.claim(
            "The trend of IPR against excess kurtosis is very similar between NLGP(g) and Kur(k).",
            source=f"{PAPER}, section 4.1 and figure 5",
            reported="one curve, by eye",
            numbers=(apart, at),
            said=f"{self._named(0)}: largest difference {{apart:.3f}}, at excess {{at:.2f}}; {self._named(1)}: largest "
            f"difference {other:.3f}, at excess {other_at:.2f}",
            basis=f"{self._basis()}; NLGP interpolated between its settings",
            expected=as_measured("does not hold"),
            words={"pair": self._named(0)},
            reasons={
                "does not hold": "The kurtosis is the curvature of the amplifier at zero; the growth of a localized "
                "field depends on the amplifier at large arguments, where the families differ."
            },
        )

    def _spread(self) -> Claim:
        whole = self.experiment.steps >= Figure5.paper().steps
        return SPREAD.claim(
            "The IPR is extremely consistent across random initialisations.",
            source=f"{PAPER}, section 4.1 and figure 5",
            reported="error bars small, may not be visible",
            numbers=self.spreads(),
            said=f"largest standard deviation {{clear:.3f}} away from the threshold (excess below {CLEARLY:g} or "
            "positive), {overall:.3f} over all settings",
            basis=self._basis(),
            expected=as_measured("holds" if whole else "holds in part"),
            words={"clearly": CLEARLY},
            reasons={
                "holds in part": "Near the threshold initialisations are still on their way, some further than others, "
                "when this preset ends."
            },
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        pairs = range(len(self.experiment.pairs))
        above = tuple(self._against_kurtosis(pair) for pair in pairs)
        below = tuple(self._over_time(pair) for pair in pairs)
        caption = (
            "Mean and standard deviation over initialisations. Vertical lines: the excess kurtosis at which the flat "
            "field loses its stability under the effective flow. Below: how settings near -0.5 and -1 get there."
        )
        return Figure("IPR against exact excess kurtosis", (above, below), caption=caption), self._table()

    def _against_kurtosis(self, pair: int) -> Scatter:
        return Scatter(
            f"lengthscales {self._named(pair)}",
            {name: (s.excess, s.mean[pair], s.spread[pair]) for name, s in self.sweeps.items()},
            xlabel="excess kurtosis of a pixel",
            ylabel="IPR at the end",
            joined=True,
            marks={f"predicted, {name}": s.thresholds[pair] for name, s in self.sweeps.items()},
        )

    def _over_time(self, pair: int) -> Lines:
        curves = {}
        for near in (-0.5, CLEARLY):
            for name, sweep in self.sweeps.items():
                i = int(np.argmin(np.abs(sweep.excess - near)))
                curves[f"{name[:-3]}({sweep.settings[i]:g}): {sweep.excess[i]:.2f}"] = sweep.ipr[pair, i].mean(0)
        time = next(iter(self.sweeps.values())).time
        title = f"the way there, {self._named(pair)}"
        return Lines(title, time, curves, xlabel="time (steps x rate)", ylabel="mean IPR")

    def _table(self) -> Figure:
        pairs = range(len(self.experiment.pairs))
        columns = ("family", "setting", "excess kurtosis", *(f"IPR at {self._named(pair)}" for pair in pairs))
        rows = []
        for name, s in self.sweeps.items():
            for i, value in enumerate(s.settings):
                cells = (f"{m:.3f} +- {d:.3f}" for m, d in zip(s.mean[:, i], s.spread[:, i], strict=True))
                rows.append((name, f"{value:g}", f"{s.excess[i]:.4f}", *cells))
        return Figure("Every setting: mean and standard deviation", ((Table("", columns, tuple(rows)),),))

    def text(self) -> str:
        (low, _), (wide, _) = self.extremes(0), self.extremes(1)
        gap, at = self.gap(0)
        erf, algebraic = (s.thresholds for s in self.sweeps.values())
        here, there = self._named(0), self._named(1)
        return (
            f"The paper plots the IPR of a trained ReLU neuron against the excess kurtosis of its data and reads off "
            f"that negative values localize, positive ones do not, and that two families of data fall on one curve; it "
            f"does not say at which lengthscales. At {here} the least IPR of all settings below {CLEARLY:g} is "
            f"{low:.2f}; at {there}, the lengthscales of most other figures, it is {wide:.2f}. The largest difference "
            f"of the two families at equal kurtosis is {gap:.2f}, at excess {at:.2f}. Linearised at the flat field the "
            f"effective flow puts the threshold, for {there} and {here}, at {erf[1]:.3f} and {erf[0]:.3f} for NLGP and "
            f"at {algebraic[1]:+.3f} and {algebraic[0]:+.3f} for Kur. Kurtosis is exact. Measured with {self._basis()}."
        )
