"""Figure 8: when the effective flow breaks down: trained and integrated fields over time, and its assumption.

Where one pixel of +-1 has the share s of the variance of <w,X> and the others are many and independent of it, Eq. 5 is
right for that pixel and gives every other one too much: f is phi/2 times exp(-s/(2 - 2s))/sqrt(1 - s). With s the error
of the gradient grows up to 27% at s = 0.84, and then falls again, as there is less and less of the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np
import scipy

from ... import theory
from ..._errors import setting_error
from ..._progress import Update
from ...analysis import ipr, localized, peak
from ...outcome import Claim, Figure, Lines, Number, Panel, Rule, Scatter, Table, as_measured, by_theory, finite
from ...spec import Setting
from ...stimuli import AbstractStimulus, Task
from ...trajectory import Trajectory
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.figure8 import PIXELS, SHARP
from ..toolkit.gated_input import sampled_input
from ..toolkit.neuron import apart, authors_start, orbit, trained_as_authors
from ..toolkit.seeds import seed_from
from ..toolkit.sources import PAPER
from ..toolkit.tasks import NARROW, nlgp
from ..toolkit.window_flows import window_flow
from ..toolkit.words import listed

GAINS = (SHARP, 0.01)
MOMENTS = (20.0, 30.0, 50.0)
"""Before the flow breaks down, just after, and at the end: the times of the figure's snapshots."""
PIXEL, RIVALS = 21, (30, 37, 90)
"""Where appendix D.1 sees the main peak of the first row, and the competing peaks of Eq. 5."""
PARTED = 0.1
"""IPRs that differ by more have parted: up to here the figure zooms in, on the onset of localization."""
LEAST = 1e-3
"""An error below is not told from none."""
AXIS = 0.03
"""The last mark on the axis of distance in the second row, by the authors' script; marks are 0.01 apart."""


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
    "at gain {sharp:g}, in every initialisation, the error of phi/2 at the trained fields has a rank correlation above "
    "{follows:g} with the largest share of one pixel in the variance of <w,X>, and is more than {times:g} times as "
    "large in the third of the moments with the largest share as in the third with the smallest, and as at fields that "
    "did not localize at the same moments; in part: the same until the IPRs are farthest apart",
    lambda n, t: n.follows > t.follows and n.times > t.times,
    partly=lambda n, t: n.parting_follows > t.follows and n.parting_times > t.times,
    thresholds={"follows": 0.5, "times": 2.0},
    holds={"follows": 0.8, "times": 8.0, "parting_follows": 0.9, "parting_times": 8.0},
    part={"follows": 0.3, "times": 1.2, "parting_follows": 0.9, "parting_times": 8.0},
    fails={"follows": 0.3, "times": 1.2, "parting_follows": 0.9, "parting_times": 1.5},
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
COMPETE = Rule(
    "each of {rivals} has one of the three largest competing peaks of Eq. 5 within {near:g} pixels, as they are given "
    "by eye; in part: two of them",
    lambda n, t: max(n.first, n.second, n.third) <= t.near,
    partly=lambda n, t: sorted((n.first, n.second, n.third))[1] <= t.near,
    thresholds={"near": 2.0},
    holds={"first": 1, "second": 0, "third": 2},
    part={"first": 9, "second": 0, "third": 2},
    fails={"first": 9, "second": 7, "third": 2},
)
DOMINATES = Rule(
    "at the second and at the last of the snapshots Eq. 5 has less than training at the main peak and more at its "
    "competing ones; in part: at the last",
    lambda n, _: max(n.main_then, n.main_last) < 1 < min(n.rivals_then, n.rivals_last),
    partly=lambda n, _: n.main_last < 1 < n.rivals_last,
    holds={"main_then": 0.9, "main_last": 0.6, "rivals_then": 1.1, "rivals_last": 9.0},
    part={"main_then": 1.01, "main_last": 0.6, "rivals_then": 1.1, "rivals_last": 9.0},
    fails={"main_then": 1.01, "main_last": 1.2, "rivals_then": 1.1, "rivals_last": 0.9},
)
DISTANCE = Rule(
    "in the second initialisation, up to the figure's end, the l2 distance comes to within {step:g} of {axis:g}, the "
    "end of the axis there; in part: not it but the root mean square over pixels does",
    lambda n, t: abs(n.l2 - t.axis) <= t.step,
    partly=lambda n, t: abs(n.rms - t.axis) <= t.step,
    thresholds={"axis": AXIS, "step": 0.01},
    holds={"l2": 0.028, "rms": 0.0028},
    part={"l2": 0.28, "rms": 0.028},
    fails={"l2": 0.9, "rms": 0.09},
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
    moments: Annotated[int, Setting("moments at which Eq. 5 is put to the test", kind=int, ge=6)] = 25
    samples: Annotated[int, Setting("samples behind a true gradient", kind=int, ge=200)] = 4000

    @classmethod
    def paper(cls) -> "Figure8":
        """The figure ends with its last snapshot; the longer run lets slow initialisations finish."""
        return cls(seeds=4, steps=2000, batch=1000, records=100, moments=50, samples=10_000)

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
        progress(0.6)
        sharp, gauss = (_case(i, gain, task, trained) for i, (gain, task) in enumerate(zip(GAINS, tasks, strict=True)))
        progress(0.7)
        picked = np.unique(np.linspace(0, len(trained.time) - 1, self.moments).astype(int))
        laws = [task.stimuli[1] for task in tasks]
        squares = [
            [
                _squared_error(law, case.trained[:, picked], self.samples, jax.random.fold_in(key, i))
                for case in (sharp, gauss)
            ]
            for i, law in enumerate(laws)
        ]
        return Measured(self, sharp, gauss, picked, np.array(squares))


def _case(index: int, gain: float, task: Task, trained: Trajectory) -> "Case":
    time, weights = trained.time, np.asarray(trained.weights[index, :, :, 0], float)
    start = authors_start(range(len(weights)), PIXELS)
    flow = theory.effective_flow(task, start, times=time).weights[:, :, 0]
    windows = window_flow(task, start, time).weights[:, :, 0]
    ours, its = (theory.flows.lindeberg(w, task.stimuli[1]) for w in (weights, flow))
    return Case(gain, time, weights, flow, windows, {"training": ours.share, "Eq. 5": its.share}, ours.truncated)


def _squared_error(law: AbstractStimulus, fields: np.ndarray, samples: int, key: Any) -> np.ndarray:
    """Of phi/2 against f, relative, at fields (seed, moment, pixel)."""
    flat = fields.reshape(-1, PIXELS)
    found = sampled_input(law, flat, samples, key).squared_error(theory.flows.effective_input(law, flat))
    return found.each.reshape(fields.shape[:-1])


@dataclass(frozen=True)
class Case:
    """One gain: fields (seed, time, pixel) by training and by Eq. 5, and how much one pixel decides in either."""

    gain: float
    time: np.ndarray
    trained: np.ndarray
    integrated: np.ndarray
    windows: np.ndarray
    """By the window flow, which the paper does not have."""
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

    def snapshot(self, moment: int) -> dict[str, np.ndarray]:
        """The fields of seed 0, by all that is there."""
        return {name: w[0, moment] for name, w in {**self.fields, "windows": self.windows}.items()}

    @property
    def times(self) -> str:
        return listed(self.time[self.shown], "g")

    def series(self, values: np.ndarray) -> str:
        """Seed 0 at the times of the snapshots."""
        return listed(values[0, self.shown], ".3f")

    def first(self, beyond: np.ndarray) -> str:
        """The recorded time at which something is first true, by seed."""
        return ", ".join(f"{self.time[b.argmax()]:g}" if b.any() else "never" for b in beyond)

    def rivals(self, moment: int) -> np.ndarray:
        """The three highest peaks of seed 0 by Eq. 5, on either side, besides the highest."""
        height = np.abs(self.integrated[0, moment])
        peaks = np.flatnonzero((height > np.roll(height, 1)) & (height >= np.roll(height, -1)))
        return peaks[np.argsort(-height[peaks])][1:4]


@dataclass(frozen=True)
class AgainstShare:
    """Along one run, the largest share of one pixel and the squared error of phi/2 (moment): at its own fields, and at
    those of the run that does not localize, for the same law."""

    share: np.ndarray
    own: np.ndarray
    elsewhere: np.ndarray

    def until(self, count: int) -> "AgainstShare":
        return AgainstShare(self.share[:count], self.own[:count], self.elsewhere[:count])

    @property
    def follows(self) -> float | None:
        """Rank correlation of the error with the share."""
        return finite(scipy.stats.spearmanr(self.own, self.share).statistic) if len(self.own) > 2 else None

    @property
    def thirds(self) -> np.ndarray | None:
        """The error at the largest shares and at the smallest, and elsewhere at the moments of the largest."""
        few = len(self.share) // 3
        if not few:
            return None
        order = np.argsort(self.share)
        squares = self.own[order[-few:]], self.own[order[:few]], self.elsewhere[order[-few:]]
        return _root(np.array([part.mean() for part in squares]))

    @property
    def times(self) -> float | None:
        """How many times the error at the largest shares is that at the smallest or elsewhere."""
        return None if self.thirds is None else float(self.thirds[0] / max(*self.thirds[1:], LEAST))

    @property
    def course(self) -> str:
        """Where the error is largest, and where it ends."""
        worst = self.own.argmax()
        return (
            f"largest {_root(self.own[worst]):.3f} at a share of {self.share[worst]:.2f}, {_root(self.own[-1]):.3f} at "
            f"{self.share[-1]:.2f} in the end"
        )

    def __str__(self) -> str:
        if self.thirds is None or self.follows is None:
            return "no data"
        large, small, elsewhere = self.thirds
        return (
            f"rank correlation {self.follows:.2f}, error {large:.3f} at the largest shares, {small:.3f} at the "
            f"smallest, {elsewhere:.3f} where nothing localized"
        )


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Training and Eq. 5 on sharp and on nearly Gaussian data."""

    experiment: Figure8
    sharp: Case
    gauss: Case
    picked: np.ndarray
    """Which of the recorded moments Eq. 5 is put to the test at."""
    squares: np.ndarray
    """Relative squared errors of phi/2 against f: (law, fields, seed, moment), laws and fields sharp, then Gaussian."""

    # Numbers ----------------------------------------------------------------------------------------------------------

    @property
    def share(self) -> np.ndarray:
        """The largest share of one pixel in trained fields at gain 100, (seed, moment)."""
        return self.sharp.shares["training"][:, self.picked]

    def against_share(self) -> "list[AgainstShare]":
        """How the error goes with the share, by seed, over all moments."""
        own, elsewhere = self.squares[0]
        return [AgainstShare(*found) for found in zip(self.share, own, elsewhere, strict=True)]

    def while_parting(self) -> "list[AgainstShare]":
        """The same until the IPRs of training and of Eq. 5 are farthest apart."""
        last = self.sharp.gap[:, self.picked].argmax(1) + 1
        return [found.until(count) for found, count in zip(self.against_share(), last, strict=True)]

    @property
    def snapshots(self) -> tuple[int, int] | None:
        """The second and the last snapshot of the figure, where the run has both."""
        time = self.sharp.time
        found = [int(np.argmin(np.abs(time - moment))) for moment in MOMENTS[1:]]
        near = np.all(np.abs(time[found] - MOMENTS[1:]) <= 1)
        return (found[0], found[1]) if near else None

    # Claims -----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return (
            self._localize(), self._breakdown(), self._assumption(), self._throughout(), self._peak(), self._compete(),
            self._dominates(), self._distance(),
        )  # fmt: skip

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
        throughout, parting = self.against_share(), self.while_parting()
        return ASSUMPTION.claim(
            "Training parts from Eq. 5 because localization violates assumption A3, that no pixel dominates.",
            source=f"{PAPER}, figure 8 and appendix D.1",
            reported="argued, not measured",
            numbers=[
                _least("follows", [found.follows for found in throughout]),
                _least("times", [found.times for found in throughout]),
                _least("parting_follows", [found.follows for found in parting]),
                _least("parting_times", [found.times for found in parting]),
            ],
            said="by initialisation, until the IPRs are farthest apart: "
            f"{'; '.join(map(str, parting))}; over the whole run: {'; '.join(map(str, throughout))}; "
            + "; ".join(found.course for found in throughout),
            basis=f"{self._basis()}; {len(self.picked)} moments, true gradients from {orbit(self.experiment.samples)}",
            expected=as_measured("holds in part"),
            words={"sharp": self.sharp.gain},
            reasons={
                "holds in part": "The error is largest while one pixel takes over, and falls again when it is nearly "
                "all there is: for that pixel itself Eq. 5 is right, since it conditions on it."
            },
        )

    def _throughout(self) -> Claim:
        case = self.gauss
        trained, integrated = (values.max() for values in case.iprs.values())
        at_local = float(_root(self.squares[1, 0, :, -1].mean()))
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
            f"{case.series(case.relative)} at t = {case.times}; at the last fields of gain {self.sharp.gain:g}, where "
            f"one pixel has a share of at least {self.share[:, -1].min():.2f}, the error of Eq. 5 for this law is "
            f"{at_local:.3f}",
            basis=self._basis(),
            expected=by_theory("holds", "Eq. 5 is exact for Gaussian data, and ends at a wave (Proposition 3.3)"),
            words={"kept": 1 - THROUGHOUT.thresholds["apart"] ** 2},
            reasons={
                "holds": "Eq. 5 is exact for Gaussian data, localized field or not, so that assumption A3 is not what "
                "it needs here; what distance there is comes from the samples of training."
            },
        )

    def _peak(self) -> Claim:
        trained, integrated = self.sharp.peaks.values()
        between = apart(trained, integrated, size=PIXELS)
        off = int(apart(np.array([trained[0], integrated[0]]), np.array(PIXEL), size=PIXELS).max())
        return FIRST_PEAK.claim(
            f"The first initialisation localizes at pixel {PIXEL}, and Eq. 5 has its peak there.",
            source=f"{PAPER}, figure 8, first row, and appendix D.1",
            reported=f"around {PIXEL}, by the appendix",
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

    def _compete(self) -> Claim:
        then = self.snapshots
        found = None if then is None else self.sharp.rivals(then[0])
        off = [None] * 3 if found is None else [int(apart(found, np.array(at), size=PIXELS).min()) for at in RIVALS]
        names = ("first", "second", "third")
        return COMPETE.claim(
            f"At t = {MOMENTS[1]:g} the competing peaks of Eq. 5 in the first row are at {listed(RIVALS)}.",
            source=f"{PAPER}, appendix D.1",
            reported=listed(RIVALS),
            numbers=[Number(name, value, unit="pixels") for name, value in zip(names, off, strict=True)],
            said=f"its highest peaks but the main one: {'no data' if found is None else listed(found)}; distances from "
            "those printed: {first}, {second}, {third}",
            basis="the authors' seed 0, no samples",
            expected=as_measured("holds"),
            words={"rivals": listed(RIVALS)},
        )

    def _dominates(self) -> Claim:
        then = self.snapshots
        values = {} if then is None else self._over_training(*then)
        names = ("main_then", "rivals_then", "main_last", "rivals_last")
        return DOMINATES.claim(
            "Eq. 5 underestimates how much the main peak dominates and overestimates the competing peaks.",
            source=f"{PAPER}, appendix D.1",
            reported=f"said of the first row from t = {MOMENTS[1]:g} on",
            numbers=[Number(name, values.get(name)) for name in names],
            said=f"|w| of Eq. 5 over that of training at t = {MOMENTS[1]:g}: {{main_then:.3f}} at the main peak, "
            f"{{rivals_then:.3f}} at the competing ones; at t = {MOMENTS[2]:g}: {{main_last:.3f}} and "
            "{rivals_last:.3f}",
            basis=f"the authors' seed 0; {self._basis()}",
            expected=as_measured("holds"),
        )

    def _over_training(self, then: int, last: int) -> dict[str, float]:
        """Weights of seed 0 by Eq. 5 over those by training: at the main peak, and the mean at the competing ones."""
        case = self.sharp
        trained, integrated = (np.abs(w[0]) for w in case.fields.values())
        main, rivals = case.peaks["training"][0], case.rivals(then)
        return {
            f"{what}_{name}": float(integrated[at, pixels].mean() / trained[at, pixels].mean())
            for name, at in (("then", then), ("last", last))
            for what, pixels in (("main", [main]), ("rivals", rivals))
        }

    def _distance(self) -> Claim:
        case = self.sharp
        shown = case.time <= MOMENTS[-1]
        largest = case.distance[1, shown].max() if len(case.trained) > 1 else None
        return DISTANCE.claim(
            "What figure 8 plots is the l2 distance of the trained and the integrated fields.",
            source=f"{PAPER}, figure 8, caption",
            reported=f"an axis up to {AXIS:g} in the second row, by the authors' script",
            numbers=[Number("l2", largest), Number("rms", None if largest is None else largest / np.sqrt(PIXELS))],
            said=f"largest up to t = {MOMENTS[-1]:g}: l2 distance {{l2:.3f}}, root mean square over pixels {{rms:.4f}}",
            basis=f"the authors' seed 1; {self._basis()}",
            expected=by_theory("holds in part", "the authors' script takes the root mean square"),
            reasons={
                "holds in part": f"The script takes the root mean square over {PIXELS} pixels, a "
                f"{1 / np.sqrt(PIXELS):g} of the l2 distance."
            },
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
        course = Figure("Training against the effective flow", rows, labels, caption)
        return self._headline(), course, self._errors(), self._table()

    def _errors(self) -> Figure:
        """How the error of Eq. 5 goes with the share of one pixel, and over time."""
        own, elsewhere = (_root(squares) for squares in self.squares[0])
        order = np.argsort(self.share, axis=1)
        groups = {
            f"seed {i}": (share[at], error[at], None)
            for i, (share, error, at) in enumerate(zip(self.share, own, order, strict=True))
        }
        over = Scatter(
            "against A3", groups, "largest share of one pixel", "relative error of Eq. 5's gradient", joined=True
        )
        curves = {f"fields of gain {self.sharp.gain:g}": own[0], f"fields of gain {self.gauss.gain:g}": elsewhere[0]}
        time = Lines(
            "over time, seed 0", self.sharp.time[self.picked], curves, xlabel="time (steps x rate)",
            ylabel="relative error of Eq. 5's gradient",
        )  # fmt: skip
        caption = (
            f"phi/2 against f for the law of gain {self.sharp.gain:g}: left, at the fields that training goes through, "
            "right, also at those of the other gain, which do not localize, at the same times."
        )
        return Figure("The error of Eq. 5 and the share of one pixel", ((over, time),), caption=caption)

    def _headline(self) -> Figure:
        """How local the field becomes, by theory and by training: one panel for the first screen."""
        cases = {f"NLGP({case.gain:g})": case for case in (self.sharp, self.gauss)}
        iprs = {way: {name: case.iprs[way][0] for name, case in cases.items()} for way in ("Eq. 5", "training")}
        curves = {name: ipr(case.windows[0]) for name, case in cases.items()}
        curves |= {f"{name}, Eq. 5": values for name, values in iprs["Eq. 5"].items()}
        panel = Lines(
            "theory against training", self.sharp.time, curves, iprs["training"], xlabel="time (steps x rate)",
            ylabel="IPR", kinds=("window flow", "training"),
        )  # fmt: skip
        sharp, gauss = (case.gap[0] for case in cases.values())
        close = BREAKDOWN.thresholds["close"]
        parted = sharp > close
        until = f"until t = {self.sharp.time[parted.argmax()]:g}" if parted.any() else "throughout"
        ends = " and ".join(f"{next(iter(curves.values()))[-1]:.2f}" for curves in iprs.values())
        said = (
            f"Theory (Eq. 5) against training: on saturated pixels their IPRs agree to {close:g} {until} and end at "
            f"{ends}, where the window flow ends at {ipr(self.sharp.windows[0, -1]):.2f}; on nearly Gaussian pixels "
            f"theory and training agree to {gauss.max():.3f} throughout."
        )
        return Figure("Theory against training", ((panel,),), headline=said, place=3)

    def _table(self) -> Figure:
        columns = (
            "gain", "seed", "time", "IPR, training", "IPR, Eq. 5", "l2 distance", "root mean square", "relative",
            "share", "ratio", "peaks",
        )  # fmt: skip
        rows = tuple(row for case in (self.sharp, self.gauss) for row in _rows(case))
        return Figure("At the times of the snapshots", ((Table("", columns, rows),),))

    def text(self) -> str:
        sharp, gauss = self.sharp, self.gauss
        trained, integrated = sharp.peaks.values()
        then = int(peak(sharp.integrated[0, sharp.shown[0]]))
        worst, last = _root(self.squares[0, 0].max(1)), _root(self.squares[0, 0, :, -1])
        return (
            f"Figure 8 follows a trained field and the integration of Eq. 5 from the same weights, on {PIXELS} pixels "
            f"at lengthscales ({NARROW[0]:g}, {NARROW[1]:g}). At gain {sharp.gain:g} and t = {sharp.times} the IPR of "
            f"seed 0 is {sharp.series(sharp.iprs['training'])} by training and {sharp.series(sharp.iprs['Eq. 5'])} by "
            f"Eq. 5; the time when they differ by more than {PARTED:g} is, by initialisation, "
            f"{sharp.first(sharp.gap > PARTED)}. The flow assumes that no pixel decides the preactivation; the largest "
            f"share of one pixel goes {sharp.series(sharp.shares['training'])}, Lindeberg's ratio "
            f"{sharp.series(sharp.large)}, and the error of the gradient rises to {listed(worst, '.3f')}, by "
            f"initialisation, and ends at {listed(last, '.3f')}. At gain {gauss.gain:g} the share is "
            f"{gauss.series(gauss.shares['training'])}, the IPR {gauss.series(gauss.iprs['training'])}, and the "
            f"relative distance of the two fields at most {gauss.relative.max():.3f}: the noise of training, where "
            f"Eq. 5 is exact. At gain {sharp.gain:g} seed 0 of the authors peaks at {trained[0]}, where the figure's "
            f"first row has {PIXEL} by its text; Eq. 5 has {then} at t = {sharp.time[sharp.shown[0]]:g} and "
            f"{integrated[0]} at the end. Peaks of all initialisations by training: {listed(trained)}; by Eq. 5: "
            f"{listed(integrated)}; the figure has one miss in four. The figure ends at t = {MOMENTS[-1]:g}, these "
            f"runs at t = {sharp.time[-1]:g}. Rests on {self._basis()}, in place of batches of a size that the paper "
            "does not state. The authors' script for this figure integrates Eq. 5 with its right factor, unlike that "
            "for figure 3 (erratum B-05)."
        )


def _root(squares: np.ndarray) -> np.ndarray:
    """Of squares that are right in the mean, and may come out below 0."""
    return np.sqrt(np.maximum(squares, 0))


def _least(name: str, values: list[float | None]) -> Number:
    """The least over initialisations, with their standard deviation where there are several."""
    known = np.array([value for value in values if value is not None])
    if len(known) < len(values):
        return Number(name, None)
    return Number(name, known.min(), finite(known.std(ddof=1)) if len(known) > 1 else None)


def _courses(case: Case) -> tuple[Panel, ...]:
    curves = {
        "IPR": {**{name: values[0] for name, values in case.iprs.items()}, "windows": ipr(case.windows[0])},
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
    return tuple(Lines(f"t = {case.time[i]:g}", pixels, case.snapshot(i), xlabel="pixel") for i in case.shown)


def _rows(case: Case) -> list[tuple[Any, ...]]:
    distances = case.distance, case.distance / np.sqrt(PIXELS), case.relative
    columns = (*case.iprs.values(), *distances, case.shares["training"], case.large)
    return [
        (
            f"{case.gain:g}", seed, f"{case.time[i]:g}", *(f"{values[seed, i]:.3f}" for values in columns),
            listed(int(peak(w[seed, i])) for w in case.fields.values()),
        )
        for seed in range(len(case.trained))
        for i in case.shown
    ]  # fmt: skip
