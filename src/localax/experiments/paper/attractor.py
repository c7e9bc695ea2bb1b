"""The exact localized steady state w* = (S0 + S1)^-1 S1 e_i on two-valued pixels, against flow and training."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Annotated, Any, ClassVar

import numpy as np

from ... import theory
from ..._progress import Update
from ...analysis import align, distance
from ...outcome import Claim, Figure, Lines, Number, Rule, Table, by_theory, finite
from ...spec import Setting
from ...stimuli import Bernoulli, Copula, SquaredExponential, Task
from ...theory.steady import LocalizedAttractor
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.neuron import authors_start, neuron, orbit, trained_as_authors
from ..toolkit.populations import Population, largest, least, mean
from ..toolkit.seeds import seed_from
from ..toolkit.sources import PAPER, SINGLE
from ..toolkit.tasks import NARROW, SIZE, WIDE, binary, ising
from ..toolkit.unit_kinds import share
from ..toolkit.words import listed

COUPLINGS = {"Ising (.3, .7)": (0.3, 0.7), "Ising (.3, .9)": (0.3, 0.9)}
HARD = {"NLGP (.3, .7)": NARROW, "NLGP (.5, 1)": (0.5, 1.0), "NLGP (1, 2)": (1.0, 2.0), "NLGP (1, 3)": WIDE}
"""Lengthscales of NLGP at infinite gain, whose pixels are signs."""
LATE = 0.25
"""The last part of a run on plain batches, over which its field is averaged: their noise is larger than an orbit's."""
SHOWN = slice(10, 31)
"""The pixels that the figure shows, around the peak."""

EXPLICIT = Rule(
    "every flow ends within {error:g} of w* in every weight, the error that is allowed to its gradient",
    lambda n, t: n.gap < t.error,
    thresholds={"error": 1e-3},
    holds={"gap": 2e-5},
    fails={"gap": 0.02},
)
INSIDE = Rule(
    "every start nearer than {half:g} of the least distance between the w* of two tasks, {between:.1%}, so that each "
    "task ends at its own, for every task that meets the condition; in part if so for one",
    lambda n, t: n.worst < t.half * n.between,
    partly=lambda n, t: n.best < t.half * n.between,
    thresholds={"half": 0.5},
    holds={"worst": 0.03, "best": 0.01, "between": 0.1},
    part={"worst": 0.08, "best": 0.01, "between": 0.1},
    fails={"worst": 0.3, "best": 0.2, "between": 0.1},
)
PLAIN = Rule(
    "every start is localized, and its mean over the last {late:.0%} of the run nearer to w* than {half:g} of the "
    "least distance between the w* of two tasks, {between:.1%}",
    lambda n, t: n.localized >= 1 and n.worst < t.half * n.between,
    thresholds={"half": 0.5},
    holds={"localized": 1.0, "worst": 0.02, "between": 0.1},
    fails={"localized": 1.0, "worst": 0.2, "between": 0.1},
)
OUTSIDE = Rule(
    "on every task that fails the condition all starts are localized, and further from w* than any on a task that "
    "meets it; in part if so on one",
    lambda n, _: n.least > n.noise and n.localized >= 1,
    partly=lambda n, _: n.localized_task > n.noise,
    holds={"least": 0.1, "localized": 1.0, "localized_task": 0.3, "noise": 0.03},
    part={"least": 0.02, "localized": 1.0, "localized_task": 0.3, "noise": 0.03},
    fails={"least": 0.1, "localized": 0.4, "localized_task": 0.0, "noise": 0.03},
)


@dataclass(frozen=True)
class Attractor(AbstractExperiment):
    """Do flow and training end at the steady state that is known exactly where the pixels have two values?"""

    name: ClassVar[str] = "attractor"
    title: ClassVar[str] = "The exact localized steady state"
    cost: ClassVar[float] = 25.0

    seeds: Annotated[int, Setting("initialisations, each with data of its own", kind=int, ge=1, le=1000)] = 4
    steps: Annotated[int, Setting("steps of training", kind=int, ge=20)] = 2_000
    rate: Annotated[float, Setting("learning rate", gt=0, le=1)] = 0.05
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, le=100_000, even=True)] = 128
    plain_batch: Annotated[
        int, Setting("samples of a plain batch; the paper's notebook has 500", kind=int, ge=2, le=100_000, even=True)
    ] = 500
    flow_seeds: Annotated[int, Setting("initialisations of the exact flow", kind=int, ge=1, le=1000)] = 6
    flow_time: Annotated[float, Setting("when the exact flow ends", gt=0, le=1000)] = 100.0

    @classmethod
    def paper(cls) -> "Attractor":
        return cls(seeds=12, steps=6_000, batch=256, flow_seeds=28)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """The steady state by formula, by the exact flow and by training, where its condition holds and where not."""
        seed = seed_from(key)
        flow_gap, miss = self._flow_gap(), _miss_of_effective_flow()
        progress(0.4)
        cases = self._trained({name: ising(couplings=pair) for name, pair in COUPLINGS.items()}, seed)
        progress(0.6)
        cases += self._trained({name: _signs(pair) for name, pair in HARD.items()}, seed)
        progress(0.8)
        return Measured(self, flow_gap, miss, tuple(cases), self._plain(seed))

    def _flow_gap(self) -> float:
        """Largest distance of a weight from w* at the end of the exact flow."""
        starts = authors_start(range(self.flow_seeds))
        path = theory.exact_flow(ising(), neuron(), starts, times=[0.0, self.flow_time])
        wanted = theory.localized_attractor(ising()).field
        return float(np.abs(align(wanted, path.final[:, 0]).field - wanted).max())

    def _trained(self, tasks: Mapping[str, Task], seed: int) -> "list[Case]":
        finals = trained_as_authors(
            list(tasks.values()), steps=self.steps, batch=self.batch, rate=self.rate, seeds=self.seeds,
            data_seed=seed, estimator="orbit", stream="independent", save_every=self.steps,
        ).final[:, :, 0]  # fmt: skip
        ends = [(name, theory.localized_attractor(task)) for name, task in tasks.items()]
        return [Case(name, end, align(end.field, w).field) for (name, end), w in zip(ends, finals, strict=True)]

    def _plain(self, seed: int) -> "Case":
        """Ising spins with plain batches: the mean field of the last part of every run."""
        run = trained_as_authors(
            ising(), steps=self.steps, batch=self.plain_batch, rate=self.rate, seeds=self.seeds, data_seed=seed,
            stream="independent", save_every=max(self.steps // 200, 1),
        )  # fmt: skip
        end = theory.localized_attractor(ising())
        late = run.weights[:, run.time >= (1 - LATE) * run.time[-1], 0].mean(1)
        return Case("plain", end, align(end.field, late).field)


def _signs(lengthscales: tuple[float, float]) -> Task:
    """NLGP at infinite gain: the signs of a Gaussian field."""
    return binary(*(Copula(SIZE, SquaredExponential(length), Bernoulli()) for length in lengthscales))


def _miss_of_effective_flow() -> float:
    """Relative error of phi/2 at w* on Ising spins, where f(w*) is S1 e_i/2: the residual of Eq. 5 at w*."""
    task = ising()
    long, end = task.stimuli[1], theory.localized_attractor(task).field
    return float(theory.flows.effective_gradient_error(long, end[None], exact=long.covariance()[None] / 2).relative[0])


@dataclass(frozen=True)
class Case(Population):
    """A task, its predicted steady state, and the fields that training ends with, moved onto it."""

    name: str
    end: LocalizedAttractor
    fields: np.ndarray

    @property
    def gaps(self) -> np.ndarray:
        """Relative distance of every field from w*, up to shift and sign."""
        return distance(self.fields, self.end.field) / np.linalg.norm(self.end.field)

    @property
    def shown(self) -> str:
        return f"{np.median(self.gaps):.1%} ({self.gaps.min():.1%} to {self.gaps.max():.1%})"


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Where flow and training end, beside the formula."""

    experiment: Attractor
    flow_gap: float
    """Largest distance of a weight from w* at the end of the exact flow."""
    miss: float
    """Relative error of Eq. 5's gradient at w*."""
    cases: tuple[Case, ...]
    plain: Case
    """Ising spins again, with plain batches."""

    # Numbers ----------------------------------------------------------------------------------------------------------

    @property
    def inside(self) -> list[Case]:
        """The tasks whose w* meets its condition."""
        return [case for case in self.cases if case.end.dominates]

    @property
    def outside(self) -> list[Case]:
        return [case for case in self.cases if not case.end.dominates]

    def between(self) -> float:
        """The least relative distance between the steady states of two tasks."""
        pairs = permutations((case.end.field for case in self.cases), 2)
        return min(float(distance(a, b)) / float(np.linalg.norm(a)) for a, b in pairs)

    def localized_task(self) -> float:
        """Of the tasks that fail the condition and are localized from every start, the furthest from w*; 0 if none."""
        return max((case.gaps.min() for case in self.outside if case.local.all()), default=0.0)

    # Claims -----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._flow(), self._where_it_dominates(), self._with_plain_batches(), self._where_not()

    def _basis(self, step: str = "") -> str:
        it = self.experiment
        each = f"{it.seeds} initialisations, each on a stream of its own"
        return f"{each}, {it.steps:,} steps of {step or orbit(it.batch)}"

    def _flow(self) -> Claim:
        it = self.experiment
        return EXPLICIT.claim(
            "The true flow, which Eq. 5 approximates, has explicit localized steady states on two-valued pixels.",
            source=f"{PAPER}, appendix B.2, of Eq. 5; open in {SINGLE}",
            reported="'it may not be possible to solve the steady states of Eq. 5 exactly'",
            numbers=[Number("gap", finite(self.flow_gap)), Number("miss", finite(self.miss))],
            said="the exact flow on Ising spins ends within {gap:.1e} of w* = (S0 + S1)^-1 S1 e_i in every weight; the "
            "gradient of Eq. 5 is off by {miss:.0%} at w*",
            basis=f"{it.flow_seeds} of the paper's starts to t = {it.flow_time:g}, no samples",
            expected=by_theory("holds", "where one weight dominates the flow is linear: w* = (S0 + S1)^-1 S1 e_i"),
            reasons={"holds": "The paper's remark is about Eq. 5 itself: w* is a steady state of the true flow only."},
        )

    def _where_it_dominates(self) -> Claim:
        furthest = [case.gaps.max() for case in self.inside]
        between = self.between()
        return INSIDE.claim(
            "Where its peak outweighs all other weights together, w* is where training ends.",
            source=f"{SINGLE}, section 3 (fields that dominate on the hypercube)",
            reported="f(e_i) known, the steady state open",
            numbers=[
                largest("worst", furthest),
                least("best", furthest),
                Number("between", between),
            ],
            said=f"distance from w*, median and range: {_distances(self.inside)}; at most {{worst:.1%}}",
            basis=self._basis(),
            expected=by_theory("holds", "w* is a stable steady state of the exact flow where it dominates"),
            words={"between": between},
        )

    def _with_plain_batches(self) -> Claim:
        between, spins = self.between(), self.cases[0]
        return PLAIN.claim(
            "That training ends at w* does not rest on averaging over all shifts and signs: on Ising spins it does so "
            "with plain batches too.",
            source=f"{PAPER}, section 4, trains on plain batches; an extension of ours",
            reported="plain batches throughout",
            numbers=[
                Number("worst", finite(self.plain.gaps.max())),
                share("localized", self.plain.local, "of the starts"),
                Number("between", between),
                mean("ipr", self.plain.ipr),
                mean("orbit_ipr", spins.ipr),
            ],
            said=f"{{localized:.0%}} localized, {self.plain.shown} from w*, at most {{worst:.1%}}; mean IPR "
            f"{{ipr:.3f}}, with orbits {{orbit_ipr:.3f}}, of w* {self.plain.end.ipr:.3f}",
            basis=self._basis(f"{self.experiment.plain_batch:,} plain samples"),
            expected=by_theory("holds", "both estimate the same gradient without bias, and w* is stable"),
            words={"between": between, "late": LATE},
        )

    def _where_not(self) -> Claim:
        nearest = [case.gaps.min() for case in self.outside]
        noise = [case.gaps.max() for case in self.inside]
        shown = (
            f"{c.name}: {c.shown} away, IPR {c.ipr.mean():.3f} against {c.end.ipr:.3f}, {c.local.mean():.0%} localized"
            for c in self.outside
        )
        return OUTSIDE.claim(
            "Outside its condition the formula no longer describes the field, which is localized all the same.",
            source=f"{SINGLE}, section 3 (the strong condition)",
            reported="open",
            numbers=[
                least("least", nearest),
                largest("noise", noise),
                least("localized", [c.local.mean() for c in self.outside]),
                Number("localized_task", self.localized_task()),
            ],
            said=f"{'; '.join(shown)}; at most {{noise:.1%}} away where the condition is met",
            basis=self._basis(),
            expected=by_theory("holds", "w* is no steady state where its peak does not dominate"),
        )

    # Figures and text -------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        panels = tuple(_profile(case) for case in self.cases)
        fields = Figure("Fields inside and outside the condition", (panels[:3], panels[3:]))
        columns = ("task", "peak less others", "IPR of w*", "IPR trained", "spread", "distance from w*", "loss at w*")
        table = Table("", columns, tuple(_row(case) for case in self.cases))
        return fields, Figure("The condition, and what training gives", ((table,),))

    def text(self) -> str:
        it, inside, outside = self.experiment, self.inside, self.outside
        return (
            "The paper leaves the steady states of Eq. 5 unsolved, and so those of localization. Of the flow that "
            "Eq. 5 approximates they are known on pixels of two values: where one weight outweighs all others "
            "together, the gate of the neuron is the sign of that pixel, the flow is linear, and it ends at w* = (S0 + "
            f"S1)^-1 S1 e_i. The exact flow on Ising spins ends within {self.flow_gap:.0e} of it from all of "
            f"{it.flow_seeds} starts; the gradient of Eq. 5 is off by {self.miss:.0%} there. Trained networks end at a "
            "distance of "
            f"{_distances(inside)} from w* on the {len(inside)} tasks that meet the condition, and of "
            f"{_distances(outside)} on the {len(outside)} that do not, where their IPR is "
            f"{listed((c.ipr.mean() for c in outside), '.3f')} (medians and ranges of {it.seeds} initialisations a "
            f"task). {it.steps:,} steps of {orbit(it.batch)}; with plain batches of {it.plain_batch:,} Ising spins "
            f"lead to fields that are {self.plain.shown} from w*."
        )


def _distances(cases: Iterable[Case]) -> str:
    return ", ".join(f"{case.name} {case.shown}" for case in cases)


def _profile(case: Case) -> Lines:
    """The steady state and the median field, around the peak."""
    curves = {
        name: np.roll(field, SIZE // 2)[SHOWN]
        for name, field in {"w*": case.end.field, "trained": np.median(case.fields, 0)}.items()
    }
    around = (np.arange(SIZE) - SIZE / 2)[SHOWN]
    state = "inside" if case.end.dominates else "outside"
    return Lines(f"{case.name}, {state}", around, curves, xlabel="distance from the peak")


def _row(case: Case) -> tuple[str, ...]:
    end, trained = case.end, case.ipr
    numbers = (f"{value:.4f}" for value in (end.ipr, trained.mean(), trained.std()))
    return (case.name, f"{end.margin:.3f}", *numbers, case.shown, f"{end.loss:.4f}")
