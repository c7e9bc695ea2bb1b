"""Why one pixel decides on the hypercube: f(w) of bumps, the separation point in training, and the gate's expansion."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np

from ..._progress import Update
from ...networks import SoftCommittee, Xavier
from ...outcome import Claim, Figure, Lines, Number, Rule, Table, as_measured, by_theory
from ...spec import Setting
from ...stimuli import Ising
from ...theory import mean_gated_input
from ...theory.hypercube import bump_input, relaxed_margin, separation, walsh_input
from ...training import SaveAt
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.seeds import seed_from, seeds_from
from ..toolkit.sources import SINGLE
from ..toolkit.tasks import NARROW, SIZE, WIDE, nlgp
from ..toolkit.train import train

SPINS = 12
"""Few enough to sum over all states."""
TASKS = {"lengthscales 0.3, 0.7": NARROW, "lengthscales 1, 2": (1.0, 2.0), "lengthscales 1, 3": WIDE}
LIKELY = 0.9
"""The probability that a subset of the hypercube must have to count as likely."""
Heights = dict[str, tuple[tuple[int, ...], tuple[float, ...]]]
BUMPS: Heights = {
    "e_i": ((4,), (1.0,)),
    "e_i + e_j": ((4, 6), (1.0, 1.0)),
    "1.5 e_i + e_j": ((4, 6), (1.5, 1.0)),
    "1.5 e_i - e_j": ((4, 6), (1.5, -1.0)),
}
"""One bump and two: pixels and heights."""
DOMINANT, MAJORITY = "3 e_i + 1.5 e_j + e_k", "2 e_i + 1.5 e_j + e_k"
THREE: Heights = {DOMINANT: ((0, 3, 7), (3.0, 1.5, 1.0)), MAJORITY: ((0, 3, 7), (2.0, 1.5, 1.0))}
"""Three bumps: the first outweighs the other two together, and does not."""
DECAYS = {"decaying": 0.45, "dominant": 0.3}
"""Fields that fall by such a factor a pixel; at 0.3 the peak outweighs all the rest."""
GAIN = 100.0
"""Nearly binary data, on which a ReLU neuron can still be trained."""
SMALLEST, LARGEST = 23, 40
"""Rings on which the longest lengthscale is a covariance, and on which delta is exact."""
CLOSE = 0.01
"""Of 1, the largest entry of S and of a first-degree coefficient: what the notes would call "approximately"."""
EXACT = 1e-12
"""Of two sums over all states in double precision: far above rounding, far below any term left out."""

PRINTED = Rule(
    "every entry within {exact:g} of the sum over all states (in part: up to a factor in front)",
    lambda n, t: n.printed < t.exact,
    partly=lambda n, t: n.scaled < t.exact,
    thresholds={"exact": EXACT},
    holds={"printed": 1e-15, "scaled": 1e-15},
    part={"printed": 0.5, "scaled": 1e-15},
    fails={"printed": 0.5, "scaled": 0.1},
)
THIRD = Rule(
    "every entry within {close:g} of S e_i/2 for both heights (in part: where a > b + 1)",
    lambda n, t: max(n.dominant, n.majority) < t.close,
    partly=lambda n, t: n.dominant < t.close,
    thresholds={"close": CLOSE},
    holds={"dominant": 1e-15, "majority": 0.005},
    part={"dominant": 1e-15, "majority": 0.1},
    fails={"dominant": 0.05, "majority": 0.1},
)
SMALL = Rule(
    "fewer than {half:g} of the weights decide at the end of every run, for all pairs of lengthscales (in part: for "
    "some)",
    lambda n, t: n.most < t.half * n.size,
    partly=lambda n, t: n.least < t.half * n.size,
    thresholds={"half": 0.5},
    holds={"most": 4, "least": 1, "size": 30},
    part={"most": 30, "least": 1, "size": 30},
    fails={"most": 30, "least": 18, "size": 30},
)
FEWER = Rule(
    "on {likely:.0%} of the data fewer than {half:g} of the weights decide at the end of every run, and nowhere more "
    "than on the whole hypercube",
    lambda n, t: n.most < t.half * n.size and n.beyond <= 0,
    thresholds={"half": 0.5},
    holds={"most": 6, "beyond": 0, "size": 30},
    fails={"most": 6, "beyond": 3, "size": 30},
)
DIVIDE = Rule(
    "within {close:g} of 1 and of 0 at the end of every run, for all lengthscales (in part: for some)",
    lambda n, t: n.largest < t.close,
    partly=lambda n, t: n.least < t.close,
    thresholds={"close": CLOSE},
    holds={"largest": 0.005, "least": 1e-9},
    part={"largest": 0.3, "least": 1e-9},
    fails={"largest": 0.3, "least": 0.1},
)
FIRST = Rule(
    "less than {close:g} for each of three fields (in part: for the one with a dominant weight)",
    lambda n, t: max(n.noise, n.decaying, n.dominant) < t.close,
    partly=lambda n, t: n.dominant < t.close,
    thresholds={"close": CLOSE},
    holds={"noise": 0.005, "decaying": 0.002, "dominant": 1e-16},
    part={"noise": 0.2, "decaying": 0.4, "dominant": 1e-16},
    fails={"noise": 0.2, "decaying": 0.4, "dominant": 0.04},
)
BOUND = Rule(
    "the bound is positive wherever delta is above {exact:g} (in part: it is delta, within {exact:g}, where one weight "
    "outweighs the others, and there are such records)",
    lambda n, _: n.missed == 0,
    partly=lambda n, t: n.records > 0 and n.off < t.exact,
    thresholds={"exact": EXACT},
    holds={"missed": 0, "records": 40, "off": 1e-16},
    part={"missed": 30, "records": 40, "off": 1e-16},
    fails={"missed": 30, "records": 40, "off": 0.1},
)


@dataclass(frozen=True)
class Hypercube(AbstractExperiment):
    """How many weights decide the gate of a neuron on the hypercube, and what does f(w) then look like?"""

    name: ClassVar[str] = "hypercube"
    title: ClassVar[str] = "Signals on the hypercube"
    cost: ClassVar[float] = 11.0

    size: Annotated[int, Setting("pixels of the ring", kind=int, ge=SMALLEST, le=LARGEST)] = 30
    seeds: Annotated[int, Setting("neurons a task", kind=int, ge=1)] = 2
    steps: Annotated[int, Setting("steps of training", kind=int, ge=1)] = 2000
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 64
    records: Annotated[int, Setting("moments recorded", kind=int, ge=2)] = 18
    samples: Annotated[int, Setting("samples for what is likely", kind=int, ge=100)] = 1500

    @classmethod
    def paper(cls) -> "Hypercube":
        return cls(size=34, seeds=3, steps=6000, batch=256, records=24, samples=4000)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Bumps state by state, then neurons in training, then the expansion of their gates."""
        bumps = {name: _bump(*bump) for name, bump in (BUMPS | THREE).items()}
        courses = self._courses(key)
        progress(0.9)
        return Measured(self, bumps, courses, _expansions(key))

    def _courses(self, key: Any) -> dict[str, "Course"]:
        tasks = [nlgp(GAIN, lengthscales, self.size) for lengthscales in TASKS.values()]
        run = train(
            tasks, SoftCommittee(1), steps=self.steps, batch=self.batch, rate=0.05, seeds=seeds_from(key, self.seeds),
            data_seed=seed_from(key), init=Xavier(1e-3), estimator="orbit",
            saveat=SaveAt(logarithmic=self.records, record=()),
        )  # fmt: skip
        fields = run.weights[:, :, :, 0].astype(float)
        uniform = 2 * mean_gated_input(Ising(self.size, 0.0), fields.reshape(-1, self.size)).value
        chow = np.sort(np.abs(uniform.reshape(fields.shape)), axis=-1)[..., ::-1]
        found = {}
        for i, (name, task) in enumerate(zip(TASKS, tasks, strict=True)):
            x = np.sign(np.asarray(task.stimuli[1].sample(jax.random.fold_in(key, i), self.samples)))
            found[name] = Course(run.time, first=chow[i, ..., 0], second=chow[i, ..., 1], **_margins(fields[i], x))
        return found


# What is measured -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bump:
    """f(w) at the largest bump, and the largest distances of f(w) from the closed form, from the printed form, from
    half of it and from its best multiple."""

    at_pixel: float
    closed: float
    printed: float
    halved: float
    scaled: float
    factor: float


@dataclass(frozen=True)
class Course:
    """One task in training, all (seed, time): how many weights decide the gate on the whole hypercube and on a likely
    part of it, delta for these weights, the least |<w,x>| of all states and its relaxed bound, and the largest two
    first-degree coefficients of the gate. Deltas and bounds are in units of the largest weight."""

    time: np.ndarray
    everywhere: np.ndarray
    likely: np.ndarray
    delta: np.ndarray
    likely_delta: np.ndarray
    least: np.ndarray
    relaxed: np.ndarray
    first: np.ndarray
    second: np.ndarray

    @property
    def undivided(self) -> float:
        """Largest distance of the two coefficients from 1 and from 0 at the end."""
        return float(np.maximum(1 - self.first, self.second)[:, -1].max())


def _bump(pixels: tuple[int, ...], heights: tuple[float, ...]) -> Bump:
    spins, w = Ising(SPINS, 0.7), np.zeros(SPINS)
    w[list(pixels)] = heights
    states = walsh_input(spins, w, degree=SPINS)  # the full expansion: a sum over all states, ties half open
    kept = [p for p, h in zip(pixels, heights, strict=True) if abs(h) == max(heights)]
    printed = spins.covariance_matrix()[kept].sum(0)
    factor = float(states @ printed / (printed @ printed))
    forms = (bump_input(spins, pixels, heights), printed, printed / 2, factor * printed)
    closed, wrong, halved, scaled = (float(np.abs(form - states).max()) for form in forms)
    return Bump(float(states[pixels[0]]), closed, wrong, halved, scaled, factor)


def _margins(fields: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """What a Course says of the margins of fields (seed, time, pixel), each (seed, time)."""
    names = ("everywhere", "likely", "delta", "likely_delta", "least", "relaxed")
    rows = []
    for w in fields.reshape(-1, fields.shape[-1]):
        parts, (count, delta), top = separation(w), likely_separation(w, x), np.abs(w).max()
        least = parts.margin - parts.rest  # the tail can always oppose the head
        rows.append((parts.count, count, parts.margin / top, delta / top, least / top, relaxed_margin(w) / top))
    return dict(zip(names, np.array(rows).T.reshape(-1, *fields.shape[:2]), strict=True))


def likely_separation(w: np.ndarray, x: np.ndarray) -> tuple[int, float]:
    """The least k for which a subset of the samples of share LIKELY has all sums of the k largest weights above all
    sums of the rest, and delta there: the subset has |head| > t >= |tail|, at the best t."""
    order = np.argsort(-np.abs(w))
    heads = np.cumsum(x[:, order] * w[order], axis=1)
    tails = np.abs(heads[:, -1:] - heads)
    levels = np.quantile(tails, np.linspace(LIKELY, 1, 12), axis=0)
    inside = (np.abs(heads) > levels[:, None]) & (tails <= levels[:, None])
    share = inside.mean(1)
    k = int(np.argmax(share.max(0) >= LIKELY))
    subset = inside[np.argmax(share[:, k]), :, k]
    return k + 1, float(np.abs(heads[subset, k]).min())


def _expansions(key: Any) -> dict[str, np.ndarray]:
    """Relative error of f(w) with the gate's expansion cut after each odd degree: noise, and fields that decay."""
    spins, distance = Ising(SPINS, 0.7), np.minimum(np.arange(SPINS), SPINS - np.arange(SPINS))
    noise = np.asarray(jax.random.normal(jax.random.fold_in(key, 9), (SPINS,)))
    errors = {}
    for name, w in {"noise": noise, **{name: base**distance for name, base in DECAYS.items()}}.items():
        *cut, f = (walsh_input(spins, w, degree=degree) for degree in (*range(1, SPINS, 2), SPINS))
        errors[name] = np.array([np.linalg.norm(c - f) / np.linalg.norm(f) for c in cut])
    return errors


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Bumps by name, a course for every task, and the errors of cut expansions by field."""

    experiment: Hypercube
    bumps: dict[str, Bump]
    courses: dict[str, Course]
    walsh: dict[str, np.ndarray]

    # Numbers ---------------------------------------------------------------------------------------------------------

    def worst(self, quantity: str) -> float:
        """The largest error of a form for one and two bumps."""
        return max(getattr(self.bumps[name], quantity) for name in BUMPS)

    def ends(self, quantity: str) -> list[float]:
        """The largest value over neurons at the end, for every task."""
        return [float(getattr(c, quantity)[:, -1].max()) for c in self.courses.values()]

    def between(self) -> int:
        """Records in which more than one weight and fewer than all decide on the whole hypercube."""
        size = self.experiment.size
        return sum(int(np.sum((c.everywhere > 1) & (c.everywhere < size))) for c in self.courses.values())

    def _never(self) -> str:
        """At which tasks no weight outweighs all others together at any record, as a sentence after others."""
        never = [name for name, c in self.courses.items() if c.everywhere.min() > 1]
        return f" At {', '.join(never)} no weight ever outweighs all others." if never else ""

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return (
            self._printed(),
            self._third(),
            self._small(),
            self._fewer(),
            self._divide(),
            self._first(),
            self._bound(),
        )

    def _basis(self) -> str:
        it = self.experiment
        data = f"{len(TASKS)} tasks, gain {GAIN:g}, {it.size} pixels"
        return f"{it.seeds} neurons on each of {data}, orbit gradients"

    def _each(self, say: Callable[[Course], str]) -> str:
        """The same of every task."""
        return "; ".join(f"{name}: {say(course)}" for name, course in self.courses.items())

    def _printed(self) -> Claim:
        factors = ", ".join(f"{self.bumps[name].factor:.4g}" for name in BUMPS)
        return PRINTED.claim(
            "f(e_i) = S e_i, f(e_i + e_j) = S(e_i + e_j), f(a e_i +- e_j) = S e_i for a > 1.",
            source=f"{SINGLE}, Eqs. 8 to 11",
            reported="S e_i, S(e_i + e_j), S e_i, S e_i",
            numbers=[Number("printed", self.worst("printed")), Number("scaled", self.worst("scaled"))],
            said=f"printed forms off by up to {{printed:.3f}}, by {{scaled:.0e}} if multiplied by {factors}",
            basis=f"all states of {SPINS} spins",
            expected=by_theory("holds in part", "the gate is open for half of the data (erratum B-23)"),
            reasons={
                "holds in part": "The gate is open for half of the data, and tied for half of it where two bumps are "
                "equal (erratum B-23)."
            },
        )

    def _third(self) -> Claim:
        dominant, majority = self.bumps[DOMINANT], self.bumps[MAJORITY]
        return THIRD.claim(
            "For three bumps a > b > 1 f(w) is about S e_i, up to the factor 1/2.",
            source=f"{SINGLE}, Eq. 12",
            reported="f(w) = S e_i approximately, for all a > b > 1",
            numbers=[Number("dominant", dominant.halved), Number("majority", majority.halved)],
            said=f"{DOMINANT}: {dominant.at_pixel:.3f} at pixel i, entries up to {{dominant:.1e}} from S e_i/2; "
            f"{MAJORITY}: {majority.at_pixel:.3f} at pixel i, entries up to {{majority:.1e}} from S e_i/2",
            basis=f"all states of {SPINS} spins",
            expected=by_theory("holds in part", "with a < b + 1 the gate is a majority (erratum B-23)"),
            reasons={"holds in part": "With a < b + 1 the gate is the majority of the three pixels (erratum B-23)."},
        )

    def _small(self) -> Claim:
        size, counts = self.experiment.size, self.ends("everywhere")
        ends = self._each(lambda c: f"k = {', '.join(f'{k:.0f}' for k in c.everywhere[:, -1])} at the end")
        return SMALL.claim(
            "The separation point k becomes small in training, so that most weights are treated as if they were zero.",
            source=f"{SINGLE}, section 3",
            reported="a hope",
            numbers=[
                Number("most", max(counts), unit="weights"),
                Number("least", min(counts), unit="weights"),
                Number("size", size, unit="weights"),
            ],
            said=f"{ends}; {self.between()} records with k between 1 and {{size}}",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "Fields have tails: unless the peak outweighs the whole tail, some state of the "
                f"hypercube is decided by the least weight.{self._never()}"
            },
        )

    def _fewer(self) -> Claim:
        few, all_ = self.ends("likely"), self.ends("everywhere")
        start = max(c.likely[:, 0].max() for c in self.courses.values())
        ends = self._each(
            lambda c: (
                f"{c.likely[:, -1].max():.0f} instead of {c.everywhere[:, -1].max():.0f} at the end, delta "
                f"{c.likely_delta[:, -1].min():.2g} instead of {c.delta[:, -1].min():.2g} of the largest weight"
            )
        )
        return FEWER.claim(
            "On a subset of the hypercube of high probability fewer weights decide than on all of it.",
            source=f"{SINGLE}, after Eq. 13",
            reported="in practice, we can do better",
            numbers=[
                Number("most", max(few), unit="weights"),
                Number("beyond", max(a - b for a, b in zip(few, all_, strict=True)), unit="weights"),
                Number("size", self.experiment.size, unit="weights"),
            ],
            said=f"{ends}; at most {start:.0f} of {{size}} at the start",
            basis=f"{self._basis()}; {self.experiment.samples:,} samples of the long class",
            expected=as_measured("holds"),
            words={"likely": LIKELY},
        )

    def _divide(self) -> Claim:
        apart = [c.undivided for c in self.courses.values()]
        start = float(np.mean([c.first[:, 0].mean() for c in self.courses.values()]))
        ends = self._each(lambda c: f"{c.first[:, -1].min():.3f}, {c.second[:, -1].max():.3f}")
        return DIVIDE.claim(
            "g_j is either 1(x_j = sign w_j) or constant: there is a clear divide, and nothing falls in between.",
            source=f"{SINGLE}, after Eq. 20",
            reported="hopefully",
            numbers=[Number("largest", max(apart)), Number("least", min(apart)), Number("start", start)],
            said="largest and second coefficient E[sign(<w,x>) x_j] (1 and 0 in the two limits) at the end: "
            f"{ends}; {{start:.2f}} at the start",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "The divide opens when one weight outweighs the others; before that coefficients lie "
                f"in between.{self._never()}"
            },
        )

    def _first(self) -> Claim:
        return FIRST.claim(
            "f(w) is the sum over j of E[g_j(X) X], up to a factor.",
            source=f"{SINGLE}, Eq. 20",
            reported="an equality",
            numbers=[Number(name, error[0]) for name, error in self.walsh.items()],
            said="relative error of the best reading, the first degree of the Walsh expansion: {noise:.2g} (noise), "
            + ", ".join(f"{{{name}:.2g}} ({base:g}^distance)" for name, base in DECAYS.items()),
            basis=f"all states of {SPINS} spins, one random field",
            expected=by_theory("holds in part", "a sum in place of a product is the first degree (erratum B-25)"),
            reasons={
                "holds in part": "The product over pixels in Eq. 19 became a sum, which keeps the first degree alone "
                "(erratum B-25)."
            },
        )

    def _bound(self) -> Claim:
        count, least, bound = (
            np.concatenate([getattr(c, name).ravel() for c in self.courses.values()])
            for name in ("everywhere", "least", "relaxed")
        )
        one, open_ = count == 1, least > EXACT
        before = f"{bound[~one].max():.1e}, where delta is up to {least[~one].max():.1e}" if not one.all() else "none"
        return BOUND.claim(
            "A semidefinite relaxation bounds delta from below.",
            source=f"{SINGLE}, 'SDP'",
            reported="a rather loose bound",
            numbers=[
                Number("missed", int(np.sum(bound[open_] <= 0)) if open_.any() else None, unit="records"),
                Number("records", one.sum()),
                Number("off", np.abs(bound - least)[one].max(initial=0.0)),
            ],
            said=f"in units of the largest weight, largest bound in {np.sum(~one)} records without a weight that "
            f"outweighs the others: {before}; in {{records}} with one: within {{off:.0e}} of delta; the bound is 0 in "
            f"{{missed}} records where delta is not",
            basis=f"{self._basis()}; delta of all weights, exact",
            expected=by_theory("holds in part", "the relaxed minimum is max(0, 2 max|w| - sum|w|)"),
            reasons={
                "holds in part": "The relaxed minimum is max(0, 2 max|w| - sum|w|): tight where one weight outweighs "
                "the others, and 0, which says nothing, elsewhere."
            },
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        rows = tuple(_row(name, course) for name, course in self.courses.items())
        return Figure("Weights that count on the hypercube", (*rows, (self._cut(),))), self._table()

    def _cut(self) -> Lines:
        degrees = np.arange(1, SPINS, 2).astype(float)
        labels = {"noise": "noise", "decaying": f"{DECAYS['decaying']:g}^distance"}
        shown = {label: np.maximum(self.walsh[name], 1e-17) for name, label in labels.items()}
        return Lines("f(w), the gate cut after a degree", degrees, shown, xlabel="degree", ylabel="relative error")

    def _table(self) -> Figure:
        rows = tuple(
            (name, f"{b.at_pixel:.4f}", f"{b.closed:.1e}", f"{b.printed:.4f}", f"{b.factor:.4f}", f"{b.scaled:.1e}")
            for name, b in self.bumps.items()
        )
        columns = ("w", "f at pixel i", "error of the closed form", "error as printed", "best factor", "error with it")
        title = f"f(w) of bumps on {SPINS} spins, against the sum over all states"
        return Figure(title, ((Table("", columns, rows),),))

    def text(self) -> str:
        it, between = self.experiment, self.between()
        ends = self._each(
            lambda c: (
                f"{c.everywhere[:, -1].max():.0f} everywhere and {c.likely[:, -1].max():.0f} on {LIKELY:.0%} of the "
                f"data, where delta is {c.likely_delta[:, -1].min():.2f} of the largest weight"
            )
        )
        return (
            f"On the hypercube small weights do not count, argue {SINGLE}, and ask how small the number k of weights "
            "that decide the gate becomes, how large delta (Eq. 13) is on a subset of high probability, and how the "
            "gate's expansion into g_j behaves. As printed, their values of f for one and two bumps are off by up to "
            f"{self.worst('printed'):.2f}, with the best factors in front by {self.worst('scaled'):.0e}; that for "
            f"three bumps, with a factor 1/2, by {self.bumps[DOMINANT].halved:.0e} where the first outweighs the other "
            f"two and by {self.bumps[MAJORITY].halved:.2f} where it does not. In training ({it.seeds} neurons a task, "
            f"gain {GAIN:g}) k is 1 where one weight outweighs all others and {it.size} elsewhere, with "
            f"{f'{between} records' if between else 'nothing'} between; at the end it is {ends}.{self._never()} "
            "Eq. 20, a sum in place of a product, is the first degree of the gate's Walsh expansion: "
            f"{self.walsh['noise'][0]:.0%} off for noise, {self.walsh['dominant'][0]:.0e} off where a weight "
            f"dominates. Rings have {it.size} pixels instead of {SIZE}, since delta is exact only by going through all "
            f"states of both halves of the ring, and likely states are judged by {it.samples:,} samples."
        )


def _row(name: str, c: Course) -> tuple[Lines, ...]:
    """What decides the gate of the first neuron over time, delta, and the gate's coefficients."""
    names = ("everywhere", f"on {LIKELY:.0%} of the data")
    counts = dict(zip(names, (c.everywhere[0, 1:], c.likely[0, 1:]), strict=True))
    deltas = dict(zip(names, (np.maximum(d[0, 1:], 1e-12) for d in (c.delta, c.likely_delta)), strict=True))
    gate = {"largest": c.first[0, 1:], "second": c.second[0, 1:]}
    return (
        Lines(f"{name}: weights that decide", c.time[1:], counts, xlabel="time", ylabel="k", logx=True),
        Lines("delta / largest weight", c.time[1:], deltas, xlabel="time", logx=True, logy=True),
        Lines("first-degree coefficients of the gate", c.time[1:], gate, xlabel="time", logx=True),
    )
