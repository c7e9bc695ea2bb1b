"""Will the field localize, and where? Eq. 5, and Gaussian equivalence, against training, and what noise allows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar

import jax
import numpy as np

from ... import theory
from ..._errors import setting_error
from ..._progress import Update
from ...analysis import localized, peak
from ...outcome import Claim, Expected, Fields, Figure, Number, Rule, Scatter, Table, as_measured, by_theory
from ...spec import Setting
from ...stimuli import Task
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.expansions import figure_code, full, linear, taylor
from ..toolkit.figure8 import PIXELS, SHARP
from ..toolkit.neuron import apart, authors_start, neuron, trained_as_authors
from ..toolkit.populations import share
from ..toolkit.seeds import seeds_from
from ..toolkit.sources import PAPER
from ..toolkit.tasks import NARROW, SIZE, ising, nlgp
from ..toolkit.window_flows import window_flow
from ..toolkit.words import listed

REPORTED, OF = 26, 28
ENOUGH = REPORTED - 2 * float(np.sqrt(REPORTED * (OF - REPORTED) / OF))
"""What is reported less two binomial standard deviations."""
FAR = SIZE / 8
"""A miss by fewer pixels is a near one: half the mean distance of two pixels chosen at random."""
STARTS = f"the authors' {OF} initialisations"
NOTEBOOK, FITTING = 500, 10_000
"""Batches, by the authors' code: of figure 3's Ising run, and of its runs on other data. The paper states none."""
FULL, LINEAR = "Eq. 5", "linear phi"
"""The preactivation Gaussian given one pixel, and Gaussian as such."""
LATE = 1000.0
"""The time that stands for the end of a flow."""

MATCH = Rule(
    "Eq. 5 right in more than {enough:.1f}, two binomial deviations below {reported}, in the mean over data seeds, and "
    "no more than half of its misses nearer than {far:g} pixels, half of what chance gives; in part: the former alone",
    lambda n, t: n.matches > t.enough and 2 * n.close <= n.misses,
    partly=lambda n, t: n.matches > t.enough,
    thresholds={"enough": ENOUGH},
    holds={"matches": 28.0, "misses": 0, "close": 0},  # without misses there is none to be near
    part={"matches": 26.0, "misses": 4, "close": 3},
    fails={"matches": 12.0, "misses": 32, "close": 3},
)
NOISELESS = Rule(
    "more than {enough:.1f} exact; in part: more than that within one pixel",
    lambda n, t: n.exact > t.enough,
    partly=lambda n, t: n.near > t.enough,
    thresholds={"enough": ENOUGH},
    holds={"exact": 26, "near": 28},
    part={"exact": 16, "near": 26},
    fails={"exact": 10, "near": 18},
)
LOCALIZES = Rule(
    "on both kinds of data every integration ends localized; in part: more than {most:.0%} on both",
    lambda n, _: min(n.spins, n.fields) == 1,
    partly=lambda n, t: min(n.spins, n.fields) > t.most,
    thresholds={"most": 0.5},
    holds={"spins": 1.0, "fields": 1.0},
    part={"spins": 1.0, "fields": 0.8},
    fails={"spins": 1.0, "fields": 0.2},
)
CAPTURES = Rule(
    "on both kinds of data more than {most:.0%} of the trained fields and of those of Eq. 5 are localized, and less "
    "than {few:.0%} of those of the linear amplifier; in part: on one kind",
    lambda n, t: _captured(n, t, "spins") and _captured(n, t, "fields"),
    partly=lambda n, t: _captured(n, t, "spins") or _captured(n, t, "fields"),
    thresholds={"most": 0.9, "few": 0.1},
    holds={
        "spins_training": 1.0, "spins_given": 1.0, "spins_plain": 0.0,
        "fields_training": 1.0, "fields_given": 0.95, "fields_plain": 0.05,
    },
    part={
        "spins_training": 1.0, "spins_given": 0.5, "spins_plain": 0.0,
        "fields_training": 1.0, "fields_given": 0.95, "fields_plain": 0.05,
    },
    fails={
        "spins_training": 1.0, "spins_given": 0.5, "spins_plain": 0.0,
        "fields_training": 1.0, "fields_given": 0.95, "fields_plain": 0.95,
    },
)  # fmt: skip


def _captured(n: Any, t: Any, data: str) -> bool:
    """Whether conditioning on a pixel tells that fields localize, and Gaussian equivalence does not."""
    training, given, plain = (getattr(n, f"{data}_{way}") for way in ("training", "given", "plain"))
    return min(training, given) > t.most and plain < t.few


@dataclass(frozen=True)
class Peaks(AbstractExperiment):
    """Does Eq. 5 find whether and where training localizes, and what does the noise of a batch allow?"""

    name: ClassVar[str] = "peaks"
    title: ClassVar[str] = "Predicting where the field localizes"
    cost: ClassVar[float] = 25.0

    spins: Annotated[tuple[int, ...], Setting("batches, Ising", kind=int, ge=2, le=100_000, many=(1, 20))] = (NOTEBOOK,)
    spin_runs: Annotated[tuple[int, ...], Setting("data seeds for each", kind=int, ge=2, le=100, many=(1, 20))] = (3,)
    fields: Annotated[tuple[int, ...], Setting("batches, NLGP", kind=int, ge=2, le=100_000, many=(1, 20))] = (FITTING,)
    field_runs: Annotated[tuple[int, ...], Setting("data seeds for each", kind=int, ge=2, le=100, many=(1, 20))] = (2,)
    steps: Annotated[int, Setting("steps of training", kind=int, ge=20)] = 600
    rate: Annotated[float, Setting("learning rate", gt=0, le=1)] = 0.05
    gain: Annotated[float, Setting("gain of NLGP", gt=0)] = SHARP

    @classmethod
    def paper(cls) -> "Peaks":
        return cls(
            spins=(100, NOTEBOOK, 2000, FITTING), spin_runs=(3, 4, 3, 2),
            fields=(NOTEBOOK, 2000, FITTING), field_runs=(3, 3, 3), steps=2000,
        )  # fmt: skip

    def check(self) -> None:
        for name, batches, runs in (("spin", self.spins, self.spin_runs), ("field", self.fields, self.field_runs)):
            if len(set(batches)) < len(batches):
                raise setting_error(type(self), f"{name}s", batches, "different from each other")
            if len(runs) != len(batches):
                raise setting_error(type(self), f"{name}_runs", runs, f"as many as the {len(batches)} of {name}s")

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Predict and train from the authors' 28 initialisations, on Ising and on NLGP data."""
        keys, spins = jax.random.split(key), ising()
        end = self.steps * self.rate
        exact = theory.exact_flow(spins, neuron(), authors_start(range(OF)), times=[end], rtol=1e-4, atol=1e-6)
        progress(0.1)
        plan = dict(zip(self.spins, self.spin_runs, strict=True))
        first = self._case("Ising", spins, plan, keys[0], {"exact flow": exact.final})
        progress(0.5)
        plan = dict(zip(self.fields, self.field_runs, strict=True))
        second = self._case(f"NLGP({self.gain:g})", nlgp(self.gain, NARROW), plan, keys[1], {})
        return Measured(self, first, second)

    def _case(
        self, name: str, task: Task, plan: Mapping[int, int], key: Any, known: Mapping[str, np.ndarray]
    ) -> "Case":
        flows = self._integrated(task)
        trained, local, last = {}, {}, flows[FULL][:, 0]
        for i, (batch, repeats) in enumerate(plan.items()):
            runs = [self._trained(task, batch, int(s)) for s in seeds_from(jax.random.fold_in(key, i), repeats)]
            trained[batch], last = np.stack([_peaks(w) for w in runs]), runs[0][:, 0]
            local[batch] = np.stack([localized(w[:, 0]) for w in runs])
        windows = window_flow(task, authors_start(range(OF)), [self.steps * self.rate]).final
        ends = {**{rule: w[:, :1] for rule, w in flows.items()}, "windows": windows, **known}
        return Case(
            name, {rule: _peaks(w) for rule, w in ends.items()}, trained, (last, flows[FULL][:, 0]), local,
            {rule: np.stack([localized(w[:, i]) for i in range(2)], axis=1) for rule, w in flows.items()},
        )  # fmt: skip

    def _integrated(self, task: Task) -> dict[str, np.ndarray]:
        """Where Eq. 5 is when training ends, and late, by its version of the amplifier: (start, time, pixel)."""
        law, start = task.stimuli[1], authors_start(range(OF))
        amplifiers = {
            FULL: full(law),
            "Eq. 5, Taylor": taylor(law),
            "figure's code": figure_code(law),
            LINEAR: linear(),
        }
        end = self.steps * self.rate
        times = [end, max(LATE, 2 * end)]
        return {
            rule: theory.effective_flow(task, start, times=times, amplifier=phi).weights[:, :, 0]
            for rule, phi in amplifiers.items()
        }

    def _trained(self, task: Task, batch: int, seed: int) -> np.ndarray:
        run = trained_as_authors(
            task, steps=self.steps, batch=batch, rate=self.rate, seeds=OF, data_seed=seed, save_every=self.steps
        )
        return np.asarray(run.final, float)


def _peaks(w: np.ndarray) -> np.ndarray:
    return peak(w[:, 0])


def _second(fields: np.ndarray) -> np.ndarray:
    """The second largest weight over the largest, by field."""
    ordered = np.sort(np.abs(fields), axis=-1)
    return ordered[..., -2] / ordered[..., -1]


@dataclass(frozen=True)
class Case:
    """One kind of data: predicted peaks by name, and trained ones by batch size, (data seed, initialisation)."""

    name: str
    predicted: dict[str, np.ndarray]
    trained: dict[int, np.ndarray]
    examples: tuple[np.ndarray, np.ndarray]
    """Trained and integrated fields of every initialisation, at the last batch."""
    local: dict[int, np.ndarray]
    """Which trained fields are localized, by batch size, (data seed, initialisation)."""
    told: dict[str, np.ndarray]
    """Which integrated fields are, by amplifier, (initialisation, time): when training ends, and late."""

    def batch(self, wanted: int) -> int:
        """The batch wanted, or the last one where it was not run."""
        return wanted if wanted in self.trained else list(self.trained)[-1]

    def matches(self, rule: str, batch: int, within: int = 0) -> np.ndarray:
        """Per data seed, in how many initialisations the rule is right, or no more than some pixels off."""
        return np.sum(apart(self.predicted[rule], self.trained[batch]) <= within, axis=-1)

    def misses(self, rule: str, batch: int) -> np.ndarray:
        """How far off the rule is where it is wrong, in pixels."""
        off = apart(self.predicted[rule], self.trained[batch])
        return off[off > 0]

    def ceiling(self, batch: int) -> tuple[float, float]:
        """Matches between two runs that differ in their data alone, and the most that any prediction can expect.

        If pixel i is chosen with probability p_i, two runs agree with probability sum p^2, a prediction is right with
        at most max p, and max p <= sqrt(sum p^2).
        """
        runs = self.trained[batch]
        agreement = float(np.mean([np.mean(a == b) for a, b in combinations(runs, 2)]))
        return OF * agreement, OF * float(np.sqrt(agreement))

    def numbers(self, batch: int) -> list[Number]:
        """How often Eq. 5 is right, how many of its misses are near ones, and what noise allows."""
        right, misses = self.predicted[FULL] == self.trained[batch], self.misses(FULL, batch)
        between, ceiling = self.ceiling(batch)
        error = np.sqrt(right.var(0, ddof=1).sum() / len(right))  # over data, from these very initialisations
        return [
            Number("matches", right.sum(1).mean(), error, unit=f"of {OF}"),
            Number("misses", misses.size),
            Number("close", int(np.sum(misses < FAR))),
            Number("between", between, unit=f"of {OF}"),
            Number("ceiling", ceiling, unit=f"of {OF}"),
        ]

    def shares(self, prefix: str, batch: int) -> list[Number]:
        """How many fields are localized when training ends: trained ones, of Eq. 5, of Gaussian equivalence."""
        which = {"training": self.local[batch], "given": self.told[FULL][:, 0], "plain": self.told[LINEAR][:, 0]}
        return [share(f"{prefix}_{way}", values.ravel()) for way, values in which.items()]


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Peaks on Ising and on NLGP data."""

    experiment: Peaks
    spins: Case
    fields: Case

    # Claims -----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        by_noise = by_theory("does not hold", "the ceiling that two runs from the same weights set for any prediction")
        return (
            self._match(self.spins, NOTEBOOK, by_noise),
            self._noiseless(),
            self._match(self.fields, FITTING, as_measured("holds")),
            self._localizes(),
            self._captures(),
        )

    def _basis(self) -> str:
        return f"{STARTS}, {self.experiment.steps} steps at rate {self.experiment.rate:g}, plain batches"

    def _match(self, case: Case, wanted: int, expected: Expected) -> Claim:
        batch = case.batch(wanted)
        shown = "; ".join(f"{rule}: {listed(case.matches(rule, batch))}" for rule in case.predicted)
        noise = "The noise of the batch chooses the pixel; the ceiling it sets is below the report for any prediction."
        inferred = "That these data are behind the report is inferred from the numbers; the paper names Ising data."
        return MATCH.claim(
            f"The peaks of integrated and trained fields match exactly in {REPORTED} of {OF} initialisations, and "
            f"differ substantially in the others; {case.name}, batch {batch:,}.",
            source=f"{PAPER}, section 4.2",
            reported=f"{REPORTED} of {OF}, for Ising; where they differ, substantially",
            numbers=case.numbers(batch),
            said=f"{shown}; Eq. 5 in the mean {{matches:.1f}}; between two runs {{between:.1f}}, ceiling "
            f"{{ceiling:.1f}}; of {{misses}} misses of Eq. 5 {{close}} are nearer than {FAR:g} pixels",
            basis=f"{self._basis()}, {len(case.trained[batch])} data seeds",
            expected=expected,
            words={"reported": REPORTED, "far": FAR},
            reasons={
                "does not hold": noise if case.ceiling(batch)[1] < ENOUGH else "",
                "holds": inferred if case is self.fields else "",
            },
        )

    def _noiseless(self) -> Claim:
        second = np.median(_second(self.spins.examples[1]))
        off, short = (
            apart(self.spins.predicted[rule], self.spins.predicted["exact flow"]) for rule in (FULL, "Eq. 5, Taylor")
        )
        return NOISELESS.claim(
            "Without noise, Eq. 5 finds the pixel on which the Ising field localizes.",
            source=f"{PAPER}, section 4.2",
            reported=f"{REPORTED} of {OF}, with noise",
            numbers=[
                Number("exact", int(np.sum(off == 0)), unit=f"of {OF}"),
                Number("near", int(np.sum(off <= 1)), unit=f"of {OF}"),
            ],
            said=f"against the exact flow {{exact}} of {OF}, within one pixel {{near}}; expanded to third order "
            f"{np.sum(short == 0)} and {np.sum(short <= 1)}",
            basis=f"{STARTS}, no samples",
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": f"The second largest weight of the integrated field is {second:.0%} of the largest in "
                "the median, so that little decides between neighbours."
            },
        )

    def _localizes(self) -> Claim:
        late = {name: case.told[FULL][:, 1] for name, case in (("spins", self.spins), ("fields", self.fields))}
        return LOCALIZES.claim(
            "Integrating Eq. 5 numerically yields localized weights as t grows.",
            source=f"{PAPER}, section 3.1",
            reported="stated; shown in figure 3 for one initialisation",
            numbers=[share(name, which) for name, which in late.items()],
            said=f"localized at t = {LATE:g}: {{spins:.0%}} on {self.spins.name} data, {{fields:.0%}} on "
            f"{self.fields.name}",
            basis=f"{STARTS}, no samples",
            expected=as_measured("holds"),
        )

    def _captures(self) -> Claim:
        cases = {"spins": (self.spins, self.spins.batch(NOTEBOOK)), "fields": (self.fields, self.fields.batch(FITTING))}
        said = "; ".join(
            f"{case.name}: {{{key}_training:.0%}} by training, {{{key}_given:.0%}} by Eq. 5, {{{key}_plain:.0%}} by "
            f"the linear amplifier, which has the trained pixel in {listed(case.matches(LINEAR, batch))} of {OF} where "
            f"Eq. 5 has it in {listed(case.matches(FULL, batch))}"
            for key, (case, batch) in cases.items()
        )
        return CAPTURES.claim(
            "Gaussian equivalence, by which the preactivation itself is Gaussian, does not capture that fields "
            "localize; to take it as Gaussian given one pixel does.",
            source=f"{PAPER}, section 5 and appendix B.3",
            reported="argued, not measured",
            numbers=[number for key, (case, batch) in cases.items() for number in case.shares(key, batch)],
            said=f"localized at t = {self.experiment.steps * self.experiment.rate:g}: {said}",
            basis=f"{self._basis()}, {len(self.spins.local[cases['spins'][1]])} and "
            f"{len(self.fields.local[cases['fields'][1]])} data seeds",
            expected=by_theory("holds", "a linear amplifier makes the flow that of Gaussian data (Proposition 3.3)"),
        )

    # Figures and text -------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        rows = [(_pixels(self.spins, NOTEBOOK), _pixels(self.fields, FITTING)), _examples(self.fields)]
        caption = (
            "Above: the pixel of the trained peak against the predicted one; matches lie on the diagonal. Below it: "
            "trained and integrated fields, scaled to their peaks, where they agree best and worst."
        )
        if min(len(self.spins.trained), len(self.fields.trained)) > 1:
            rows.append((_counts(self.spins), _counts(self.fields)))
            caption += (
                " At the bottom: matches by batch size, those between two runs that differ in their data alone, and "
                "the ceiling that these set for any prediction."
            )
        return Figure("Predicted and trained peaks", tuple(rows), caption=caption), self._table()

    def _table(self) -> Figure:
        columns = ("data", "batch", "prediction", "exact matches by data seed", "within 1 pixel", "ceiling")
        rows = tuple(
            (case.name, f"{batch:,}", rule, listed(case.matches(rule, batch)), listed(case.matches(rule, batch, 1)),
             f"{case.ceiling(batch)[1]:.1f}")
            for case in (self.spins, self.fields)
            for batch in case.trained
            for rule in case.predicted
        )  # fmt: skip
        return Figure(f"Matches of {OF}", ((Table("", columns, rows),),))

    def text(self) -> str:
        first, second = self.spins, self.fields
        stated, fitting = first.batch(NOTEBOOK), second.batch(FITTING)
        matches, _, _, between, ceiling = first.numbers(stated)
        _, misses, close, *_ = second.numbers(fitting)
        still = int(np.sum(first.predicted[FULL] == first.predicted["exact flow"]))
        origin = "the gain and " if self.experiment.gain == SHARP else ""
        return (
            f"Section 4.2 reports that integrating Eq. 5 finds the pixel on which training localizes in {REPORTED} of "
            f"{OF} initialisations, on Ising data. There, at batches of {stated:,}, two runs from the same weights "
            f"agree in {between:.1f} of {OF}, so that no prediction can expect more than {ceiling:.1f}; Eq. 5 has "
            f"{matches:.1f}, the exact flow itself {first.matches('exact flow', stated).mean():.1f}. Against the exact "
            f"flow, without noise, Eq. 5 is right in {still}. Eq. 5 on {second.name} at lengthscales ({NARROW[0]:g}, "
            f"{NARROW[1]:g}) and batches of {fitting:,} has {listed(second.matches(FULL, fitting))} of {OF} over "
            f"data seeds; of its {misses} misses {close} are nearer than {FAR:g} pixels. The linear amplifier, by "
            f"which {second.told[LINEAR][:, 1].mean():.0%} of the fields end localized, has the pixel of training in "
            f"{listed(second.matches(LINEAR, fitting))}. These data have {origin}the lengthscales of figure 8, which "
            f"the section cites for its misses, on {SIZE} pixels as in figure 3 where figure 8 has {PIXELS}. "
            f"Measured with {self._basis()}; the ceilings rest on {len(first.trained[stated])} and "
            f"{len(second.trained[fitting])} data seeds."
        )


def _pixels(case: Case, wanted: int) -> Scatter:
    batch = case.batch(wanted)
    predicted = case.predicted[FULL].astype(float)
    groups = {f"stream {i}": (predicted, run.astype(float), None) for i, run in enumerate(case.trained[batch][:3])}
    title = f"{case.name}, batch {batch:,}"
    return Scatter(title, groups, xlabel="peak predicted by Eq. 5", ylabel="peak after training")


def _counts(case: Case) -> Scatter:
    def over_batches(values: Sequence[float]) -> tuple[np.ndarray, np.ndarray, None]:
        return np.array(list(case.trained), float), np.array(values, float), None

    groups = {rule: over_batches([case.matches(rule, b).mean() for b in case.trained]) for rule in case.predicted}
    for i, name in enumerate(("between two runs", "ceiling")):
        groups[name] = over_batches([case.ceiling(b)[i] for b in case.trained])
    return Scatter(case.name, groups, xlabel="batch size", ylabel=f"matches of {OF}", logx=True, joined=True)


def _examples(case: Case) -> tuple[Fields, Fields]:
    """Fields of the initialisations where the peaks are nearest and farthest, scaled to their peaks."""
    trained, integrated = (w / np.abs(w).max(1, keepdims=True) for w in case.examples)
    gaps = apart(*(peak(w) for w in (trained, integrated)))

    def one(i: int) -> Fields:
        pair = np.stack([integrated[i], trained[i]])
        return Fields(f"{case.name}, seed {i}: {gaps[i]} pixels apart", pair, ("Eq. 5", "training"))

    return one(int(gaps.argmin())), one(int(gaps.argmax()))
