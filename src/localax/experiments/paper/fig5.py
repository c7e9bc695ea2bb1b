"""Figure 5: localization against excess kurtosis for NLGP(g) and Kur(k), with the threshold that theory predicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np

from ... import theory
from ..._errors import setting_error
from ..._progress import Update
from ...analysis import ipr
from ...networks import Authors
from ...outcome import Claim, Figure, Lines, Number, Rule, Scatter, Table, as_measured
from ...spec import Setting
from ...stimuli import Task
from ...training import SaveAt
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.neuron import authors_start, neuron, worth
from ..toolkit.populations import mean
from ..toolkit.presets import by_preset
from ..toolkit.seeds import seed_from
from ..toolkit.sources import PAPER
from ..toolkit.tasks import NARROW, SIZE, WIDE, kur, nlgp, pixel_excess
from ..toolkit.together import together
from ..toolkit.train import train
from ..toolkit.window_flows import window_flow

FAMILIES = {"NLGP(g)": nlgp, "Kur(k)": kur}
WORDS = {"NLGP(g)": "nlgp", "Kur(k)": "kur"}
"""The families in short, as numbers have them."""
FOLLOWED = 2
"""Initialisations that the window flow starts from."""
HIGH = 0.8
"""An IPR close to 1."""
EARLY = 100.0
"""When the authors' first sweep ends; their last one, at the same rate of 0.1, has ten times as many steps."""
ALONE = {"NLGP(g)": 1.0, "Kur(k)": 10.0}
"""Near these settings plain batches are tried too."""
SAMPLE = 10_000
"""Samples of a pixel from which the authors take the kurtosis of a law."""
REPEATS = 100
NEAR = (-0.7, -1.0)
"""Excess kurtoses near which the way to the end is shown."""
SHOWN = 1.5
"""Excess kurtosis up to which figures show: beyond, there is nothing but low values."""

ENOUGH = Rule(
    "the most negative setting of either family has an IPR above {high:g}",
    lambda n, t: min(n.nlgp, n.kur) > t.high,
    thresholds={"high": HIGH},
    holds={"nlgp": 0.95, "kur": 0.9},
    fails={"nlgp": 0.55, "kur": 0.2},
)
NEGATIVE = Rule(
    f"the IPR is above {HIGH:g} over {{all:.0%}} of the range of negative excess kurtosis that a family has, for both; "
    "in part: over {most:.0%}",
    lambda n, t: min(n.nlgp, n.kur) >= t.all,
    partly=lambda n, t: min(n.nlgp, n.kur) >= t.most,
    thresholds={"all": 0.9, "most": 0.5},
    holds={"nlgp": 0.95, "kur": 0.92},
    part={"nlgp": 0.95, "kur": 0.6},
    fails={"nlgp": 0.95, "kur": 0.3},
)
POSITIVE = Rule(
    "every setting of positive excess kurtosis has an IPR below {low:g}",
    lambda n, t: n.largest < t.low,
    thresholds={"low": 0.1},  # four times that of a flat field
    holds={"largest": 0.05},
    fails={"largest": 0.3},
)
COLLAPSE = Rule(
    "families within {near:g} of each other at every negative excess kurtosis of Kur, at both ends; in part: at one",
    lambda n, t: max(n.early, n.late) < t.near,
    partly=lambda n, t: min(n.early, n.late) < t.near,
    thresholds={"near": 0.1},
    holds={"early": 0.05, "late": 0.04},
    part={"early": 0.3, "late": 0.04},
    fails={"early": 0.3, "late": 0.4},
)
SPREAD = Rule(
    "standard deviation over initialisations below {steady:g} at every setting, at both ends; in part: at one",
    lambda n, t: max(n.early, n.late) < t.steady,
    partly=lambda n, t: min(n.early, n.late) < t.steady,
    thresholds={"steady": 0.05},  # hardly visible on an axis from 0 to 1
    holds={"early": 0.03, "late": 0.02},
    part={"early": 0.2, "late": 0.02},
    fails={"early": 0.2, "late": 0.1},
)


@dataclass(frozen=True)
class Figure5(AbstractExperiment):
    """IPR of a trained ReLU neuron against the excess kurtosis of its data, for two families of data."""

    name: ClassVar[str] = "fig5"
    title: ClassVar[str] = "Figure 5: IPR against excess kurtosis"
    cost: ClassVar[float] = 20.0

    lengthscales: Annotated[tuple[float, ...], Setting("short and long lengthscale", gt=0, many=(2, 2))] = NARROW
    gains: Annotated[tuple[float, ...], Setting("gains of NLGP", gt=0, many=(2, None))] = (
        0.0774,
        0.464,
        0.774,
        1.67,
        100.0,
    )
    exponents: Annotated[tuple[float, ...], Setting("exponents of Kur", gt=4, many=(2, None))] = (
        4.5,
        6.1,
        7.7,
        10.0,
        50.0,
    )
    beside: Annotated[tuple[float, ...], Setting("lengthscales to compare with", gt=0, many=(2, 2))] = WIDE
    beside_gains: Annotated[tuple[float, ...], Setting("gains of NLGP there", gt=0, many=(1, None))] = (100.0,)
    beside_exponents: Annotated[tuple[float, ...], Setting("exponents of Kur there", gt=4, many=(1, None))] = (50.0,)
    seeds: Annotated[int, Setting("initialisations, each with data of its own", kind=int, ge=2)] = 3
    steps: Annotated[int, Setting("steps of training", kind=int, ge=20)] = 2000
    rate: Annotated[float, Setting("learning rate", gt=0)] = 0.1
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 100
    records: Annotated[int, Setting("moments recorded", kind=int, ge=1)] = 20
    plain_seeds: Annotated[int, Setting("initialisations on plain batches, as a check; 0: none", kind=int, ge=0)] = 0
    plain_batch: Annotated[int, Setting("samples of a plain batch", kind=int, ge=2, even=True)] = 2000
    plain_steps: Annotated[int, Setting("steps on plain batches", kind=int, ge=1)] = 2500

    @classmethod
    def paper(cls) -> "Figure5":
        """The gains and exponents of the authors' two sweeps, and the length of their last one."""
        gains = (0.01, 0.0278, 0.0774, 0.215, 0.278, 0.464, 0.599, 0.774, 1.29, 1.67, 4.64, 12.9, 35.9, 100.0)
        exponents = (4.1, 4.3, 4.5, 4.74, 5.0, 5.4, 6.1, 7.7, 10.0, 50.0)
        return cls(
            gains=gains, exponents=exponents, beside_gains=(0.774, 100.0), beside_exponents=(10.0, 50.0), seeds=8,
            steps=10_000, plain_seeds=4,
        )  # fmt: skip

    def check(self) -> None:
        if self.plain_seeds == 1:
            raise setting_error(Figure5, "plain_seeds", 1, "0, or 2 and more: one alone has no spread")
        for name in ("records", "plain_steps") if self.plain_seeds else ("records",):
            if getattr(self, name) > self.steps:
                raise setting_error(Figure5, name, getattr(self, name), f"at most steps ({self.steps})")

    @property
    def early(self) -> int:
        """Steps to the authors' first end."""
        return round(EARLY / self.rate)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Both families side by side, one compiled call each; then the check on plain batches, and sampled kurtoses."""
        settings = (self.gains, self.beside_gains), (self.exponents, self.beside_exponents)
        parts = tuple(zip(FAMILIES, settings, (0, 1), strict=True))

        def one(part: tuple[str, tuple[Sequence[float], Sequence[float]], int], progress: Update) -> Sweep:
            family, values, i = part
            return self._sweep(family, *values, seed_from(jax.random.fold_in(key, i)), progress)

        sweeps = dict(zip(FAMILIES, together(one, parts, progress), strict=True))
        rng = np.random.default_rng(seed_from(jax.random.fold_in(key, 2)))
        sampled = np.array([[_sampled(k, rng) for _ in range(REPEATS)] for k in self.exponents])
        checked = FAMILIES if self.plain_seeds else ()
        plain = {name: self._plain(name, sweeps[name], seed_from(jax.random.fold_in(key, 3))) for name in checked}
        return Measured(self, sweeps, sampled, plain)

    def _sweep(self, family: str, values: Any, beside: Any, seed: int, progress: Update) -> "Sweep":
        make = FAMILIES[family]
        tasks = [make(v, self.lengthscales) for v in values] + [make(v, self.beside) for v in beside]
        stops = np.linspace(0, self.steps, self.records + 1).astype(int).tolist()
        trained = train(
            tasks, neuron(), steps=self.steps, batch=self.batch, rate=self.rate, seeds=self.seeds, data_seed=seed,
            init=Authors(), estimator="orbit", stream="independent",
            saveat=SaveAt(steps=[*stops, *(min(n, self.steps) for n in (self.early, self.plain_steps))], record=()),
            watch=lambda step, _: progress(step / self.steps),
        )  # fmt: skip
        local = np.asarray(ipr(trained.weights[..., 0, :]), float)
        critical = theory.critical_gain if make is nlgp else theory.critical_k
        short, long = self.lengthscales
        return Sweep(
            here=Curve(family, tuple(values), local[: len(values)]),
            there=Curve(family, tuple(beside), local[len(values) :]),
            time=trained.time,
            threshold=pixel_excess(make(critical(short, long, SIZE))),
            predicted=np.array([self._predicted(task) for task in tasks[: len(values)]]),
        )

    def _predicted(self, task: Task) -> np.ndarray:
        """The mean IPR of the window flow at the authors' first end, and at the last."""
        last = self.steps * self.rate
        path = window_flow(task, authors_start(range(FOLLOWED)), [min(EARLY, last / 2), last])
        return ipr(path.weights[:, :, 0]).mean(0)

    def _plain(self, family: str, sweep: "Sweep", seed: int) -> tuple[float, np.ndarray]:
        """The setting nearest to the one that stands for its family, and where plain batches lead from there."""
        value = min(sweep.here.settings, key=lambda v: abs(np.log(v / ALONE[family])))
        trained = train(
            FAMILIES[family](value, self.lengthscales), neuron(), steps=self.plain_steps, batch=self.plain_batch,
            rate=self.rate, seeds=self.plain_seeds, data_seed=seed, init=Authors(), estimator="plain",
            stream="independent", save_every=self.plain_steps,
        )  # fmt: skip
        return value, np.asarray(ipr(trained.final[:, 0]), float)


def _sampled(k: float, rng: np.random.Generator) -> float:
    """The excess kurtosis of a sample of Kur(k), as the authors take it: |x| = u (1 - u^k)^(-1/k) of a uniform u."""
    u = rng.random(SAMPLE)
    square = (u / (-np.expm1(k * np.log(u))) ** (1 / k)) ** 2
    return float(np.mean(square**2) / np.mean(square) ** 2 - 3)


@dataclass(frozen=True)
class Curve:
    """IPR of one family, (setting, seed, time)."""

    family: str
    settings: tuple[float, ...]
    ipr: np.ndarray

    @property
    def excess(self) -> np.ndarray:
        """The exact excess kurtosis of every setting."""
        return np.array([pixel_excess(FAMILIES[self.family](value)) for value in self.settings])

    def passes(self, at: int) -> np.ndarray:
        """Up to which excess kurtosis each seed has an IPR above 0.8, counted from the most negative setting.

        Linear between settings; that of the most negative setting where not even that one is above.
        """
        order = np.argsort(self.excess)
        return np.array([_passes(self.excess[order], curve) for curve in self.ipr[order, :, at].T])

    def reach(self, at: int) -> np.ndarray:
        """The share of the negative range, from the most negative setting to 0, with an IPR above 0.8, by seed."""
        low = self.excess.min()
        return np.clip((self.passes(at) - low) / -low, 0, 1) if low < 0 else np.array([])


def _passes(x: np.ndarray, y: np.ndarray) -> float:
    below = np.flatnonzero(y <= HIGH)
    if not below.size:
        return float(x[-1])
    i = below[0]
    return float(x[0] if i == 0 else np.interp(-HIGH, -y[i - 1 : i + 1], x[i - 1 : i + 1]))


@dataclass(frozen=True)
class Sweep:
    """One family at the lengthscales of the sweep (here) and at others (there), and where theory sees it give way."""

    here: Curve
    there: Curve
    time: np.ndarray
    threshold: float
    """Excess kurtosis at which the flat field gives way under the effective flow."""
    predicted: np.ndarray
    """IPR by the window flow, without training, at the authors' first end and at the last: (setting, end)."""


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """IPR of both families over time, sampled kurtoses of Kur (setting, sample), and IPRs on plain batches."""

    experiment: Figure5
    sweeps: dict[str, Sweep]
    sampled: np.ndarray
    plain: Mapping[str, Any]

    # Numbers ---------------------------------------------------------------------------------------------------------

    @property
    def early(self) -> int | None:
        """Where in time the authors' first end is, if the run is as long as that."""
        return None if self.experiment.early > self.experiment.steps else self._record(self.experiment.early)

    def _record(self, step: int) -> int:
        return int(np.argmin(np.abs(self.sweeps["NLGP(g)"].time - step * self.experiment.rate)))

    @property
    def ends(self) -> tuple[tuple[str, int | None], ...]:
        """The two ends by name: the authors' first, and that of the run."""
        return ("early", self.early), ("late", -1)

    @property
    def last(self) -> float:
        return float(self.sweeps["NLGP(g)"].time[-1])

    def most_negative(self) -> list[Number]:
        """IPR of the most negative setting of each family, at the end."""
        found = []
        for name, sweep in self.sweeps.items():
            lowest = int(np.argmin(sweep.here.excess))
            found.append(mean(WORDS[name], sweep.here.ipr[lowest, :, -1] if sweep.here.excess[lowest] < 0 else []))
        return found

    def reach(self, at: int | None, ending: str = "") -> list[Number]:
        """The share of each family's negative range over which the IPR is close to 1."""
        return [mean(WORDS[n] + ending, [] if at is None else s.here.reach(at)) for n, s in self.sweeps.items()]

    def passes(self, at: int | None) -> list[str]:
        """The excess kurtosis up to which the IPR of each family is close to 1, in words."""
        return [_where_it_passes(sweep.here, at) for sweep in self.sweeps.values()]

    def positive(self) -> Number:
        """The largest mean IPR of a setting of positive excess kurtosis, at either end."""
        means = [
            mean("largest", values[:, at])
            for sweep in self.sweeps.values()
            for values in sweep.here.ipr[sweep.here.excess > 0]
            for _, at in self.ends
            if at is not None
        ]
        return max(means, key=lambda number: number.value or 0.0, default=Number("largest", None))

    def gap(self, name: str, at: int | None) -> tuple[Number, float | None]:
        """The largest difference of mean IPR between the families at equal kurtosis, and that kurtosis.

        NLGP's curve is interpolated at the kurtoses of Kur that are negative: positive ones it cannot have.
        """
        erf, algebraic = (sweep.here for sweep in self.sweeps.values())
        shared = np.flatnonzero(algebraic.excess < 0)
        if at is None or not shared.size:
            return Number(name, None), None
        order = np.argsort(erf.excess)
        there = algebraic.excess[shared]
        curves = [np.interp(there, erf.excess[order], seed) for seed in erf.ipr[order, :, at].T]
        other = algebraic.ipr[shared, :, at]
        apart = other.mean(1) - np.mean(curves, 0)
        worst = int(np.abs(apart).argmax())
        error = np.sqrt((np.var(curves, 0, ddof=1) + other.var(1, ddof=1))[worst] / self.experiment.seeds)
        return Number(name, float(abs(apart[worst])), float(error)), float(there[worst])

    def spread(self, name: str, at: int | None) -> tuple[Number, str]:
        """The largest standard deviation over seeds; which setting has it, and how many exceed what is steady."""
        if at is None:
            return Number(name, None), "no data"
        found = sorted(
            (float(values[:, at].std(ddof=1)), f"{family[:-3]}({setting:g}), of mean {values[:, at].mean():.2f}")
            for family, sweep in self.sweeps.items()
            for setting, values in zip(sweep.here.settings, sweep.here.ipr, strict=True)
        )
        largest, where = found[-1]
        above = sum(deviation >= SPREAD.thresholds["steady"] for deviation, _ in found)
        error = largest / np.sqrt(2 * (self.experiment.seeds - 1))
        return Number(name, largest, error), f"at {where}; {above} of {len(found)} settings are not below"

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._enough(), self._negative(), self._positive(), self._collapse(), self._spread()

    def _basis(self) -> str:
        it = self.experiment
        return (
            f"{it.seeds} initialisations, each with data of its own, {it.steps:,} steps at rate {it.rate:g}, each step "
            f"the orbit of {it.batch} samples, about as noisy as {worth(it.batch)}; lengthscales {self._named()}"
        )

    def _named(self, lengthscales: Sequence[float] | None = None) -> str:
        return "({:g}, {:g})".format(*(lengthscales or self.experiment.lengthscales))

    @property
    def _where(self) -> str:
        return f"does not say at which lengthscales; the authors' sweep has {self._named(NARROW)}"

    def _enough(self) -> Claim:
        return ENOUGH.claim(
            "Sufficiently negative excess kurtosis gives an IPR close to 1.",
            source=f"{PAPER}, claim 3.2 and figure 5",
            reported=f"localized; the paper {self._where}",
            numbers=self.most_negative(),
            said=f"IPR of the most negative setting at t = {self.last:g}: {{nlgp:.3f}} (NLGP), {{kur:.3f}} (Kur)",
            basis=self._basis(),
            expected=as_measured("holds"),
        )

    def _negative(self) -> Claim:
        late, early = self.passes(-1), self.passes(self.early)
        there = ", ".join(f"{s.threshold:+.3f} ({n[:-3]})" for n, s in self.sweeps.items())
        return NEGATIVE.claim(
            "Where the excess kurtosis is negative, the IPR is close to its maximum of 1.",
            source=f"{PAPER}, section 4.1 and figure 5",
            reported="close to its maximum of 1.0",
            numbers=self.reach(-1),
            said=f"share of the negative range with an IPR above {HIGH:g} at t = {self.last:g}: {{nlgp:.0%}} (NLGP), "
            f"{{kur:.0%}} (Kur), as the IPR passes {HIGH:g} {late[0]} (NLGP) and {late[1]} (Kur); at t = {EARLY:g} "
            f"{early[0]} and {early[1]}. The flat field gives way at {there}",
            basis=f"{self._basis()}; linear between settings",
            expected=as_measured("does not hold"),
            reasons={
                "does not hold": "The elasticity of the amplifier has to exceed a ratio that the covariances set "
                "(erratum B-10), and beyond that the IPR grows gradually."
            },
        )

    def _positive(self) -> Claim:
        return POSITIVE.claim(
            "Where the excess kurtosis is positive, the IPR is nearly zero.",
            source=f"{PAPER}, section 4.1 and figure 5",
            reported="nearly zero",
            numbers=[self.positive()],
            said=f"largest IPR at a positive excess, at t = {EARLY:g} or {self.last:g}: {{largest:.3f}}; a flat field "
            f"has {1 / SIZE:g}",
            basis=self._basis(),
            expected=as_measured("holds"),
        )

    def _collapse(self) -> Claim:
        (early, early_at), (late, late_at) = (self.gap(name, at) for name, at in self.ends)
        return COLLAPSE.claim(
            "The trend of IPR against excess kurtosis is very similar between NLGP(g) and Kur(k).",
            source=f"{PAPER}, section 4.1 and figure 5",
            reported="one curve, by eye",
            numbers=(early, late),
            said=f"largest difference at equal kurtosis: {{early:.3f}} at t = {EARLY:g}{_at(early_at)}, {{late:.3f}} "
            f"at t = {self.last:g}{_at(late_at)}",
            basis=f"{self._basis()}; NLGP interpolated between its settings",
            expected=as_measured("does not hold"),
            reasons={
                "does not hold": "The kurtosis is the curvature of the amplifier at zero; the growth of a localized "
                "field depends on the amplifier at large arguments, where the families differ."
            },
        )

    def _spread(self) -> Claim:
        (early, first), (late, last) = (self.spread(name, at) for name, at in self.ends)
        return SPREAD.claim(
            "The IPR is extremely consistent across random initialisations.",
            source=f"{PAPER}, section 4.1 and figure 5",
            reported="error bars small, may not be visible; of 30 initialisations",
            numbers=(early, late),
            said=f"largest standard deviation {{early:.3f}} at t = {EARLY:g}, where the authors' first sweep ends "
            f"({first}), {{late:.3f}} at t = {self.last:g} ({last})",
            basis=self._basis(),
            expected=by_preset(
                self.experiment,
                quick="holds in part",
                paper="does not hold",
                why="at the end the largest spread is at a gain that the quick one leaves out",
            ),
            reasons=dict.fromkeys(
                ("holds in part", "does not hold"),
                "Initialisations leave the flat field one after the other, so that some are localized when others are "
                "not yet.",
            ),
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        ends = [(f"at t = {EARLY:g}", self.early), (f"at t = {self.last:g}", -1)]
        above = tuple(self._against_kurtosis(title, at) for title, at in ends if at is not None)
        hidden = sum(int((s.here.excess > SHOWN).sum()) for s in self.sweeps.values())
        caption = (
            f"Mean and standard deviation over initialisations, lengthscales {self._named()}; beside them the window "
            f"flow from {FOLLOWED} of them, which the paper does not have, without training. Vertical lines: the "
            "excess kurtosis at which the flat field loses its stability under the effective flow. Below: how settings "
            f"near {NEAR[0]:g} and {NEAR[1]:g} get there, and settings at {self._named(self.experiment.beside)}. "
            f"Settings beyond an excess of {SHOWN:g} ({hidden}) are in the table."
        )
        first = Figure("IPR against exact excess kurtosis", (above, (self._over_time(), self._beside())), (), caption)
        return (first, self._table(), self._kurtoses(), *self._plain_table())

    def _against_kurtosis(self, title: str, at: int) -> Scatter:
        groups = {}
        for name, sweep in self.sweeps.items():
            shown = sweep.here.excess <= SHOWN
            values = sweep.here.ipr[shown, :, at]
            groups[name] = (sweep.here.excess[shown], values.mean(1), values.std(1, ddof=1))
            groups[f"{name}, windows"] = (sweep.here.excess[shown], sweep.predicted[shown, -1 if at == -1 else 0], None)
        return Scatter(
            title,
            groups,
            xlabel="excess kurtosis of a pixel",
            ylabel="IPR",
            joined=True,
            marks={f"predicted, {name}": s.threshold for name, s in self.sweeps.items()},
        )

    def _beside(self) -> Scatter:
        groups = {
            name: (s.there.excess, s.there.ipr[..., -1].mean(1), s.there.ipr[..., -1].std(1, ddof=1))
            for name, s in self.sweeps.items()
        }
        title = f"lengthscales {self._named(self.experiment.beside)}, at t = {self.last:g}"
        return Scatter(title, groups, xlabel="excess kurtosis of a pixel", ylabel="IPR", joined=True)

    def _over_time(self) -> Lines:
        curves = {}
        for near in NEAR:
            for name, sweep in self.sweeps.items():
                i = int(np.argmin(np.abs(sweep.here.excess - near)))
                label = f"{name[:-3]}({sweep.here.settings[i]:g}): {sweep.here.excess[i]:.2f}"
                curves[label] = sweep.here.ipr[i].mean(0)
        time = next(iter(self.sweeps.values())).time
        return Lines("the way there", time, curves, xlabel="time (steps x rate)", ylabel="mean IPR")

    def _table(self) -> Figure:
        columns = ("family", "setting", "lengthscales", "excess kurtosis", f"IPR at t = {EARLY:g}", "sd",
                   f"IPR at t = {self.last:g}", "sd")  # fmt: skip
        rows = []
        for name, sweep in self.sweeps.items():
            for curve, where in ((sweep.here, self._named()), (sweep.there, self._named(self.experiment.beside))):
                for value, excess, values in zip(curve.settings, curve.excess, curve.ipr, strict=True):
                    first = ("", "") if self.early is None else _moments(values[:, self.early])
                    rows.append((name, value, where, round(float(excess), 4), *first, *_moments(values[:, -1])))
        return Figure(
            "Every setting: mean and standard deviation over initialisations", ((Table("", columns, tuple(rows)),),)
        )

    def _kurtoses(self) -> Figure:
        exact = self.sweeps["Kur(k)"].here
        columns = ("k", "exact", "samples, median", "samples, 5%", "samples, 95%")
        rows = tuple(
            (k, round(float(e), 3), *(round(float(np.quantile(drawn, q)), 3) for q in (0.5, 0.05, 0.95)))
            for k, e, drawn in zip(exact.settings, exact.excess, self.sampled, strict=True)
        )
        title = f"Excess kurtosis of Kur(k), and what {SAMPLE:,} samples say of it"
        return Figure(title, ((Table("", columns, rows),),))

    def _plain_rows(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Settings by name, with IPRs of orbit and of plain batches after as many steps."""
        at = self._record(self.experiment.plain_steps)
        return [
            (f"{name[:-3]}({value:g})", sweep.here.ipr[sweep.here.settings.index(value), :, at], plain)
            for (name, sweep), (value, plain) in zip(self.sweeps.items(), self.plain.values(), strict=False)
        ]

    def _plain_table(self) -> tuple[Figure, ...]:
        it = self.experiment
        columns = ("setting", f"orbits of {it.batch}", "sd", f"plain, {it.plain_batch:,}", "sd", "difference", "error")
        rows = tuple(
            (name, *_moments(a), *_moments(b), round(float(b.mean() - a.mean()), 4), round(_joint(a, b), 4))
            for name, a, b in self._plain_rows()
        )
        title = f"IPR with orbits and with plain batches, at t = {it.plain_steps * it.rate:g}"
        return (Figure(title, ((Table("", columns, rows),),)),) if rows else ()

    def text(self) -> str:
        here, there = self._named(), self._named(self.experiment.beside)
        erf, algebraic = self.passes(-1)
        (gap, at) = self.gap("late", -1)
        narrow, wide = (
            " and ".join(f"{_lowest(getattr(s, place)):.2f} ({n[:-3]})" for n, s in self.sweeps.items())
            for place in ("here", "there")
        )
        thresholds = " and ".join(f"{s.threshold:+.3f} for {n[:-3]}" for n, s in self.sweeps.items())
        return (
            f"The paper plots the IPR of a trained ReLU neuron against the excess kurtosis of its data and reads off "
            f"that negative values localize, positive ones do not, and that two families of data fall on one curve. It "
            f"{self._where}. At {here} the IPR passes {HIGH:g} {erf} for NLGP and "
            f"{algebraic} for Kur, at t = {self.last:g}; the two families differ by up to {gap:.2f} at equal "
            f"kurtosis{_at(at)}. Linearised at the flat field the effective flow puts the threshold at {thresholds}. "
            f"The most negative settings reach an IPR of {narrow}; as an extension, at {there}, the lengthscales of "
            f"most other figures, they reach {wide}. {self._samples_text()} "
            f"{self._plain_text()} Measured with {self._basis()}."
        )

    def _samples_text(self) -> str:
        exact, medians = self.sweeps["Kur(k)"].here, np.median(self.sampled, axis=1)
        off = np.abs(medians - exact.excess)
        worst, wrong = int(off.argmax()), [k for k, d in zip(exact.settings, off, strict=True) if d > 0.1]
        which = f"up to k = {max(wrong):g}" if wrong else "at no k"
        return (
            f"Kurtosis is exact here. The authors take it from {SAMPLE:,} samples, whose median differs from the exact "
            f"one by more than 0.1 {which}, and most at k = {exact.settings[worst]:g}: {medians[worst]:.2f} where "
            f"{exact.excess[worst]:.2f} is exact, because single samples in the heavy tails carry the fourth moment."
        )

    def _plain_text(self) -> str:
        rows = self._plain_rows()
        if not rows:
            return "Plain batches are tried in the paper preset."
        said = ", ".join(
            f"{b.mean():.3f} where orbits give {a.mean():.3f} at {name} (error of the difference {_joint(a, b):.3f})"
            for name, a, b in rows
        )
        it = self.experiment
        return f"Plain batches of {it.plain_batch:,} give an IPR at t = {it.plain_steps * it.rate:g} of {said}."


def _lowest(curve: Curve) -> float:
    """The mean IPR at the end of the setting of most negative kurtosis."""
    return float(curve.ipr[np.argmin(curve.excess), :, -1].mean())


def _where_it_passes(curve: Curve, at: int | None) -> str:
    if at is None or not curve.reach(at).size:
        return "no data"
    found = mean("", curve.passes(at))
    spread = "" if found.standard_error is None else f" +- {found.standard_error:.2f}"
    return f"at an excess of {found:.2f}{spread}" if curve.reach(at).any() else "nowhere"


def _at(excess: float | None) -> str:
    return "" if excess is None else f" (excess {excess:.2f})"


def _moments(values: np.ndarray) -> tuple[float, float]:
    return round(float(values.mean()), 4), round(float(values.std(ddof=1)), 4)


def _joint(a: np.ndarray, b: np.ndarray) -> float:
    """The standard error of the difference of two means."""
    return float(np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)))
