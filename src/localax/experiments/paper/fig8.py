"""Figure 8: when the effective flow breaks down: trained and integrated fields over time, and its assumption."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ... import theory
from ..._errors import setting_error
from ..._progress import Update
from ...analysis import ipr, localized, peak
from ...outcome import Claim, Figure, Lines, Number, Panel, Rule, Table, as_measured, by_theory, finite
from ...spec import Setting
from ...stimuli import Task
from ...trajectory import Trajectory
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.figure8 import PIXELS, SHARP
from ..toolkit.neuron import apart, authors_start, orbit, trained_as_authors
from ..toolkit.seeds import seed_from
from ..toolkit.sources import PAPER
from ..toolkit.tasks import NARROW, nlgp
from ..toolkit.words import listed

GAINS = (SHARP, 0.01)
MOMENTS = (20.0, 30.0, 50.0)
"""Before the flow breaks down, just after, and at the end: the times of the figure's snapshots."""
PIXEL = 21
"""Where the first row of figure 8 has its peak, read off the figure."""
PARTED = 0.1
"""IPRs that differ by more have parted: up to here the figure zooms in, on the onset of localization."""
DECIDES = 0.5
"""The share of the preactivation's variance from which one pixel decides more than all others together."""


def _both_at_one_gain(n: Any, t: Any) -> bool:
    """Whether the assumption fails and the IPRs part, in every start at the one gain and in none at the other."""
    both = n.sharp_share > t.decides and n.sharp_apart > t.parted
    return both and n.gauss_share <= t.decides and n.gauss_apart <= t.parted


LOCALIZE = Rule(
    "every initialisation localized at the end; in part: more than {most:.0%} of them",
    lambda n, _: n.share >= 1,
    partly=lambda n, t: n.share > t.most,
    thresholds={"most": 0.5},
    holds={"share": 1.0},
    part={"share": 0.75},
    fails={"share": 0.25},
)
BREAKDOWN = Rule(
    "in every initialisation the IPRs differ by less than {close:g} until training's field is localized, and by more "
    "than {parted:g} at some time after",
    lambda n, t: n.before < t.close and n.after > t.parted,
    thresholds={"close": PARTED / 2, "parted": PARTED},
    holds={"before": 0.01, "after": 0.6},
    fails={"before": 0.01, "after": 0.05},
)
ASSUMPTION = Rule(
    "at gain {sharp:g}, in every initialisation, one pixel explains more than {decides:g} of the variance of the "
    "preactivation no later than the IPRs differ by more than {parted:g}; at gain {gauss:g} neither happens; in part: "
    "both happen at the one gain, in whatever order, and neither at the other",
    lambda n, t: _both_at_one_gain(n, t) and n.share_then > t.decides,
    partly=_both_at_one_gain,
    thresholds={"decides": DECIDES, "parted": PARTED},
    holds={"share_then": 0.6, "sharp_share": 0.9, "sharp_apart": 0.5, "gauss_share": 0.2, "gauss_apart": 0.01},
    part={"share_then": 0.4, "sharp_share": 0.9, "sharp_apart": 0.5, "gauss_share": 0.2, "gauss_apart": 0.01},
    fails={"share_then": 0.6, "sharp_share": 0.9, "sharp_apart": 0.5, "gauss_share": 0.2, "gauss_apart": 0.3},
)
THROUGHOUT = Rule(
    "no field localized at any recorded time, and the relative distance always below {apart:g}, so that Eq. 5 has "
    "{kept:.0%} of the square of the field",
    lambda n, t: n.share == 0 and n.relative < t.apart,
    thresholds={"apart": 0.25},
    holds={"share": 0.0, "relative": 0.1},
    fails={"share": 0.0, "relative": 0.6},
)
FIRST_PEAK = Rule(
    "both within {near:g} pixel of {pixel}, the precision of the reading",
    lambda n, t: n.off <= t.near,
    thresholds={"near": 1.0},
    holds={"off": 0},
    fails={"off": 9},
)


@dataclass(frozen=True)
class Figure8(AbstractExperiment):
    """A trained field beside the integration of Eq. 5 from the same weights: until when do they agree?"""

    name: ClassVar[str] = "fig8"
    title: ClassVar[str] = "Figure 8: when the effective flow breaks down"
    cost: ClassVar[float] = 20.0

    seeds: Annotated[int, Setting("the authors' initialisations, from their seed 0 on", kind=int, ge=1, le=1000)] = 2
    steps: Annotated[int, Setting("steps of training", kind=int, ge=20)] = 1000
    rate: Annotated[float, Setting("learning rate", gt=0, le=1)] = 0.05
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, le=100_000)] = 300
    records: Annotated[int, Setting("moments recorded, at most one a step", kind=int, ge=2)] = 50

    @classmethod
    def paper(cls) -> "Figure8":
        """The figure ends with its last snapshot; the longer run lets slow initialisations finish."""
        return cls(seeds=4, steps=2000, batch=1000, records=100)

    def check(self) -> None:
        if self.records > self.steps:
            raise setting_error(type(self), "records", self.records, f"at most the {self.steps} steps")

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Both gains from the same weights in one run; then Eq. 5 at the recorded times."""
        tasks = [nlgp(gain, NARROW, PIXELS) for gain in GAINS]
        trained = trained_as_authors(
            tasks, steps=self.steps, batch=self.batch, rate=self.rate, seeds=self.seeds, data_seed=seed_from(key),
            estimator="orbit", stream="independent", save_every=self.steps // self.records,
        )  # fmt: skip
        progress(0.7)
        sharp, gauss = (_case(i, gain, task, trained) for i, (gain, task) in enumerate(zip(GAINS, tasks, strict=True)))
        return Measured(self, sharp, gauss)


def _case(index: int, gain: float, task: Task, trained: Trajectory) -> "Case":
    time, weights = trained.time, np.asarray(trained.weights[index, :, :, 0], float)
    start = authors_start(range(len(weights)), PIXELS)
    flow = theory.effective_flow(task, start, times=time).weights[:, :, 0]
    ours, its = (theory.flows.lindeberg(w, task.stimuli[1]) for w in (weights, flow))
    return Case(gain, time, weights, flow, {"training": ours.share, "Eq. 5": its.share}, ours.truncated)


@dataclass(frozen=True)
class Case:
    """One gain: fields (seed, time, pixel) by training and by Eq. 5, and how much one pixel decides in either."""

    gain: float
    time: np.ndarray
    trained: np.ndarray
    integrated: np.ndarray
    shares: Mapping[str, np.ndarray]
    large: np.ndarray
    """Lindeberg's own ratio along training: the part of the variance that comes in large single terms."""

    @property
    def fields(self) -> dict[str, np.ndarray]:
        return {"training": self.trained, "Eq. 5": self.integrated}

    @property
    def iprs(self) -> dict[str, np.ndarray]:
        return {name: ipr(w) for name, w in self.fields.items()}

    @property
    def gap(self) -> np.ndarray:
        """Difference of the IPRs of training and of Eq. 5, (seed, time)."""
        trained, integrated = self.iprs.values()
        return np.abs(trained - integrated)

    @property
    def peaks(self) -> dict[str, np.ndarray]:
        """Peaks at the end, by seed."""
        return {name: peak(w[:, -1]) for name, w in self.fields.items()}

    @property
    def distance(self) -> np.ndarray:
        return np.linalg.norm(self.trained - self.integrated, axis=-1)

    @property
    def relative(self) -> np.ndarray:
        return self.distance / np.linalg.norm(self.trained, axis=-1)

    @property
    def shown(self) -> np.ndarray:
        """Which records are the figure's snapshots, as far as the run goes."""
        return np.unique([np.argmin(np.abs(self.time - moment)) for moment in MOMENTS])

    @property
    def times(self) -> str:
        return listed(self.time[self.shown], "g")

    def series(self, values: np.ndarray) -> str:
        """Seed 0 at the times of the snapshots."""
        return listed(values[0, self.shown], ".3f")

    def first(self, beyond: np.ndarray) -> str:
        """The recorded time at which something is first true, by seed."""
        return ", ".join(f"{self.time[b.argmax()]:g}" if b.any() else "never" for b in beyond)

    @property
    def share_then(self) -> np.ndarray:
        """The largest share of one pixel up to when the IPRs part, by seed; up to the end where they do not."""
        parted = self.gap > PARTED
        last = np.where(parted.any(1), parted.argmax(1), -1)
        return np.maximum.accumulate(self.shares["training"], 1)[np.arange(len(last)), last]


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Training and Eq. 5 on sharp and on nearly Gaussian data."""

    experiment: Figure8
    sharp: Case
    gauss: Case

    # Claims -----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._localize(), self._breakdown(), self._assumption(), self._throughout(), self._peak()

    def _basis(self) -> str:
        it = self.experiment
        return (
            f"{it.seeds} of the authors' initialisations with data of their own, {it.steps} steps at rate "
            f"{it.rate:g}, each step {orbit(it.batch)}"
        )

    def _localize(self) -> Claim:
        case, iprs = self.sharp, self.sharp.iprs["training"]
        last = case.shown[-1]
        return LOCALIZE.claim(
            f"On NLGP({case.gain:g}) the weights always localize.",
            source=f"{PAPER}, figure 8",
            reported=f"in four of four initialisations by t = {MOMENTS[-1]:g}",
            numbers=[
                Number("share", localized(case.trained[:, -1]).mean()),
                Number("least", finite(iprs[:, -1].min())),
            ],
            said=f"{{share:.0%}} localized at t = {case.time[-1]:g}, the least IPR {{least:.3f}}; IPR at t = "
            f"{case.time[last]:g}: {listed(iprs[:, last], '.3f')}; at the end: {listed(iprs[:, -1], '.3f')}",
            basis=self._basis(),
            expected=as_measured("holds"),
        )

    def _breakdown(self) -> Claim:
        case, gap = self.sharp, self.sharp.gap
        early = ~np.logical_or.accumulate(localized(case.trained), 1)
        before, after = np.where(early, gap, 0).max(1), np.where(early, 0, gap).max(1)
        return BREAKDOWN.claim(
            "Eq. 5 follows training until the field localizes, and breaks down then.",
            source=f"{PAPER}, figure 8",
            reported=f"shown for four initialisations; the first at t = {listed(MOMENTS, 'g')}",
            numbers=[Number("before", finite(before.max())), Number("after", finite(after.min()))],
            said=f"largest difference of the IPRs before training's field is localized: {listed(before, '.3f')}; "
            f"afterwards: {listed(after, '.3f')}; l2 distance of seed 0 at t = {case.times}: "
            f"{case.series(case.distance)}",
            basis=self._basis(),
            expected=as_measured("holds"),
        )

    def _assumption(self) -> Claim:
        sharp, gauss, then = self.sharp, self.gauss, self.sharp.share_then
        moments = [
            f"time of a share of one pixel above {DECIDES:g}: {case.first(case.shares['training'] > DECIDES)}, of IPRs "
            f"more than {PARTED:g} apart: {case.first(case.gap > PARTED)}"
            for case in (sharp, gauss)
        ]
        return ASSUMPTION.claim(
            "Eq. 5 breaks down once localization has violated assumption A3, and only then.",
            source=f"{PAPER}, figure 8 and appendix D.1",
            reported="argued, not measured",
            numbers=[
                Number("share_then", finite(then.min())),
                Number("sharp_share", finite(sharp.shares["training"].max(1).min())),
                Number("sharp_apart", finite(sharp.gap.max(1).min())),
                Number("gauss_share", finite(gauss.shares["training"].max())),
                Number("gauss_apart", finite(gauss.gap.max())),
            ],
            said=f"gain {sharp.gain:g}: {moments[0]}, with a share of {listed(then, '.3f')} by then, at least "
            f"{{share_then:.3f}}; gain {gauss.gain:g}: {moments[1]}, with a share of at most {{gauss_share:.3f}}",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            words={"sharp": sharp.gain, "gauss": gauss.gain},
            reasons={
                "holds in part": "In some initialisations Eq. 5 parts from training while one pixel still explains "
                "less than half: the assumption asks for a share that vanishes as N grows, not for one below a half."
            },
        )

    def _throughout(self) -> Claim:
        case = self.gauss
        trained, integrated = (values.max() for values in case.iprs.values())
        return THROUGHOUT.claim(
            f"On NLGP({case.gain:g}) the weights do not localize and Eq. 5 holds throughout training.",
            source=f"{PAPER}, figure 8, bottom",
            reported="holds throughout",
            numbers=[
                Number("share", localized(case.trained).mean()),
                Number("relative", finite(case.relative.max())),
                Number("trained", finite(trained)),
                Number("integrated", finite(integrated)),
            ],
            said="{share:.0%} of all recorded fields localized; IPR at most {trained:.3f} by training and "
            "{integrated:.3f} by Eq. 5; relative l2 distance at most {relative:.3f}, of seed 0 "
            f"{case.series(case.relative)} at t = {case.times}",
            basis=self._basis(),
            expected=by_theory("holds", "Eq. 5 is exact for Gaussian data, and ends at a wave (Proposition 3.3)"),
            words={"kept": 1 - THROUGHOUT.thresholds["apart"] ** 2},
            reasons={"holds": "Eq. 5 is exact for Gaussian data; what distance there is comes from the samples."},
        )

    def _peak(self) -> Claim:
        trained, integrated = self.sharp.peaks.values()
        between = apart(trained, integrated, size=PIXELS)
        off = int(apart(np.array([trained[0], integrated[0]]), np.array(PIXEL), size=PIXELS).max())
        return FIRST_PEAK.claim(
            f"The first initialisation localizes at pixel {PIXEL}, and Eq. 5 has its peak there.",
            source=f"{PAPER}, figure 8, first row",
            reported=f"{PIXEL}, read off the figure",
            numbers=[
                Number("off", off, unit="pixels"),
                Number("trained", trained[0]),
                Number("integrated", integrated[0]),
            ],
            said=f"training {{trained}}, Eq. 5 {{integrated}}: at most {{off}} off; of {len(between)} initialisations "
            f"{np.sum(between <= 1)} agree within one pixel (distances {listed(between)})",
            basis=f"the authors' seed 0; {self._basis()}",
            expected=as_measured("holds"),
            words={"pixel": PIXEL},
        )

    # Figures and text -------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        cases = (self.sharp, self.gauss)
        rows = tuple(row for case in cases for row in (_courses(case), _snapshots(case)))
        labels = tuple(f"NLGP({case.gain:g})" for case in cases for _ in range(2))
        caption = (
            "The authors' seed 0. For each gain, above: IPR, distance of the two fields, the largest share of the "
            "variance of the preactivation that one pixel explains, and Lindeberg's ratio, the part of the variance "
            "that comes in large single terms; the flow assumes both to be small. Below: both fields at the times of "
            "the figure's snapshots."
        )
        return self._headline(), Figure("Training against the effective flow", rows, labels, caption), self._table()

    def _headline(self) -> Figure:
        """How local the field becomes, by theory and by training: one panel for the first screen."""
        cases = {f"NLGP({case.gain:g})": case for case in (self.sharp, self.gauss)}
        iprs = {way: {name: case.iprs[way][0] for name, case in cases.items()} for way in ("Eq. 5", "training")}
        panel = Lines(
            "theory against training", self.sharp.time, *iprs.values(), xlabel="time (steps x rate)", ylabel="IPR",
            kinds=tuple(iprs),
        )  # fmt: skip
        sharp, gauss = (case.gap[0] for case in cases.values())
        close = BREAKDOWN.thresholds["close"]
        parted = sharp > close
        until = f"until t = {self.sharp.time[parted.argmax()]:g}" if parted.any() else "throughout"
        ends = " and ".join(f"{next(iter(curves.values()))[-1]:.2f}" for curves in iprs.values())
        said = (
            f"Theory (Eq. 5) against training: on saturated pixels their IPRs agree to {close:g} {until} and end at "
            f"{ends}; on nearly Gaussian pixels they agree to {gauss.max():.3f} throughout."
        )
        return Figure("Theory against training", ((panel,),), headline=said, place=3)

    def _table(self) -> Figure:
        columns = (
            "gain", "seed", "time", "IPR, training", "IPR, Eq. 5", "l2 distance", "relative", "share", "ratio", "peaks",
        )  # fmt: skip
        rows = tuple(row for case in (self.sharp, self.gauss) for row in _rows(case))
        return Figure("At the times of the snapshots", ((Table("", columns, rows),),))

    def text(self) -> str:
        sharp, gauss = self.sharp, self.gauss
        trained, integrated = sharp.peaks.values()
        then = int(peak(sharp.integrated[0, sharp.shown[0]]))
        return (
            f"Figure 8 follows a trained field and the integration of Eq. 5 from the same weights, on {PIXELS} pixels "
            f"at lengthscales ({NARROW[0]:g}, {NARROW[1]:g}). At gain {sharp.gain:g} and t = {sharp.times} the IPR of "
            f"seed 0 is {sharp.series(sharp.iprs['training'])} by training and {sharp.series(sharp.iprs['Eq. 5'])} by "
            f"Eq. 5; the time when they differ by more than {PARTED:g} is, by initialisation, "
            f"{sharp.first(sharp.gap > PARTED)}. The flow assumes that no pixel decides the preactivation; the largest "
            f"share of one pixel goes {sharp.series(sharp.shares['training'])}, Lindeberg's ratio "
            f"{sharp.series(sharp.large)}. At gain {gauss.gain:g} the share is "
            f"{gauss.series(gauss.shares['training'])}, the IPR {gauss.series(gauss.iprs['training'])}, and the "
            f"relative distance of the two fields at most {gauss.relative.max():.3f}: the noise of training, where "
            f"Eq. 5 is exact. At gain {sharp.gain:g} seed 0 of the authors peaks at {trained[0]}, where the figure's "
            f"first row has {PIXEL}; Eq. 5 has {then} at t = {sharp.time[sharp.shown[0]]:g} and {integrated[0]} at the "
            f"end. Peaks of all initialisations by training: {listed(trained)}; by Eq. 5: {listed(integrated)}; the "
            f"figure has one miss in four. The figure ends at t = {MOMENTS[-1]:g}, these runs at t = "
            f"{sharp.time[-1]:g}. Rests on {self._basis()}, in place of batches of a size that the paper does not "
            "state."
        )


def _courses(case: Case) -> tuple[Panel, ...]:
    curves = {
        "IPR": {name: values[0] for name, values in case.iprs.items()},
        "l2 distance": {
            "training to Eq. 5": case.distance[0],
            "norm of training": np.linalg.norm(case.trained[0], axis=-1),
        },
        "assumption A3": {f"share of one pixel, {name}": values[0] for name, values in case.shares.items()}
        | {"Lindeberg's ratio, training": case.large[0]},
    }
    return tuple(Lines(title, case.time, shown, xlabel="time (steps x rate)") for title, shown in curves.items())


def _snapshots(case: Case) -> tuple[Panel, ...]:
    pixels = np.arange(PIXELS, dtype=float)
    return tuple(
        Lines(f"t = {case.time[i]:g}", pixels, {name: w[0, i] for name, w in case.fields.items()}, xlabel="pixel")
        for i in case.shown
    )


def _rows(case: Case) -> list[tuple[Any, ...]]:
    columns = (*case.iprs.values(), case.distance, case.relative, case.shares["training"], case.large)
    return [
        (
            f"{case.gain:g}", seed, f"{case.time[i]:g}", *(f"{values[seed, i]:.3f}" for values in columns),
            listed(int(peak(w[seed, i])) for w in case.fields.values()),
        )
        for seed in range(len(case.trained))
        for i in case.shown
    ]  # fmt: skip
