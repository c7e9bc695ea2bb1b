"""Orientation and phase: are fields in two dimensions more than blobs?

The paper's last section says that its networks show neither orientation nor phase selectivity, which simple cells have
and the centre-surround fields of the retina have not. As physiologists do, a field is shown gratings of every
orientation and frequency at its best phase: it prefers an orientation where the best grating, turned by a right angle,
is answered half as strongly or less. Its own phase is even for a blob, with a surround or without, and odd for an edge:
the part of w^2 that changes sign when the field is turned by half a circle about its centre.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np

from ..._errors import setting_error
from ..._progress import Update
from ...analysis import centre, localized, peak
from ...networks import SoftCommittee, Xavier
from ...outcome import Claim, Fields, Figure, Lines, Number, Points, Rule, Scatter, Table, as_measured
from ...spec import Setting
from ...stimuli import NLGP, CentreSurround, Filtered, NaturalPatches, Task
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.ica import unmixed
from ..toolkit.neuron import orbit
from ..toolkit.populations import share
from ..toolkit.presets import by_preset
from ..toolkit.seeds import seed_from, seeds_from
from ..toolkit.sources import PAPER
from ..toolkit.tasks import binary
from ..toolkit.train import train

GAIN = 100.0
"""Behind the paper's figure 1."""
POINT = 0.1
"""A centre so narrow that a filter with no surround is one pixel."""
SURROUND = 3.0
ANGLES = 24
"""Orientations of gratings, from 0 to a half turn."""
HALF = 0.5
"""Share of the best answer that is left a right angle away, from which down a field prefers an orientation."""
ODD = 0.25
"""Share of w^2 in the odd part from which a field has a phase of its own: 30 degrees from that of a blob."""
COMMITTEE, BEHIND, UNMIXED = "committee", "behind a filter", "ICA of photographs"
SHOWN = 16
"""So many fields are drawn at most."""

NEITHER = Rule(
    "of the localized units at most {few:.0%} prefer an orientation and at most {few:.0%} have a phase of their own; "
    "in part: one of the two",
    lambda n, t: max(n.oriented, n.phased) <= t.few,
    partly=lambda n, t: min(n.oriented, n.phased) <= t.few,
    thresholds={"few": 0.1},
    holds={"oriented": 0.0, "phased": 0.05},
    part={"oriented": 0.0, "phased": 0.6},
    fails={"oriented": 0.4, "phased": 0.6},
)
FEATURES = Rule(
    "of the localized filters at least {half:.0%} prefer an orientation and at least {half:.0%} have a phase of their "
    "own; in part: one of the two",
    lambda n, t: min(n.oriented, n.phased) >= t.half,
    partly=lambda n, t: max(n.oriented, n.phased) >= t.half,
    thresholds={"half": 0.5},
    holds={"oriented": 0.8, "phased": 0.95},
    part={"oriented": 0.2, "phased": 0.95},
    fails={"oriented": 0.0, "phased": 0.1},
)


@dataclass(frozen=True)
class Orientation(AbstractExperiment):
    """Do fields of committees in two dimensions prefer orientations or phases, as those of simple cells do?"""

    name: ClassVar[str] = "orientation"
    title: ClassVar[str] = "Orientation and phase in two dimensions"
    cost: ClassVar[float] = 18.0

    side: Annotated[int, Setting("pixels of each side of the torus", kind=int, ge=6, le=200)] = 14
    lengthscales: Annotated[tuple[float, ...], Setting("short and long lengthscale", gt=0, many=(2, 2))] = (1.0, 2.0)
    units: Annotated[int, Setting("units of the committee", kind=int, ge=2)] = 20
    rate: Annotated[float, Setting("learning rate", gt=0)] = 3.0
    steps: Annotated[int, Setting("steps of training", kind=int, ge=1)] = 1200
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 10
    patch: Annotated[int, Setting("side of the photographs' patches", kind=int, ge=6, le=64)] = 10
    patches: Annotated[int, Setting("patches that are unmixed", kind=int, ge=200)] = 10_000
    iterations: Annotated[int, Setting("iterations of ICA at most", kind=int, ge=1)] = 100

    @classmethod
    def paper(cls) -> "Orientation":
        return cls(side=24, steps=5000, patch=12, patches=30_000, iterations=200)

    def check(self) -> None:
        if self.patches < 2 * self.patch**2:
            least = f"at least {2 * self.patch**2}, twice the pixels of a patch"
            raise setting_error(type(self), "patches", self.patches, least)
        self.tasks()  # a lengthscale too long for the torus is refused by the stimulus itself

    def tasks(self) -> list[Task]:
        """The data of figure 1, as they are and behind a filter; both are filtered, the first by one pixel."""
        kernels = (CentreSurround(POINT, SURROUND, 0), CentreSurround(1.0, SURROUND, 1.0))
        laws = [NLGP((self.side, self.side), lengthscale, GAIN) for lengthscale in self.lengthscales]
        return [binary(*(Filtered(law, kernel) for law in laws)) for kernel in kernels]

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Two committees in one call, and independent components of photographs beside them."""
        run = train(
            self.tasks(), SoftCommittee(self.units), steps=self.steps, batch=self.batch, rate=self.rate,
            estimator="orbit", init=Xavier(0.01), seeds=seeds_from(key, 1), data_seed=seed_from(key),
            save_every=self.steps,
        )  # fmt: skip
        progress(0.7)
        law = NaturalPatches((self.patch, self.patch), "whitened")
        x = np.asarray(law.sample(jax.random.fold_in(key, 1), self.patches), float)
        filters = unmixed(x - x.mean(0), self.patch**2, self.iterations).filters
        fields = {COMMITTEE: run.final[0, 0], BEHIND: run.final[1, 0], UNMIXED: filters}
        return Measured(self, {name: tuned(np.asarray(w, float)) for name, w in fields.items()})


def tuned(fields: np.ndarray) -> "Tuning":
    """Answers of fields (field, row, column) to gratings of contrast 1, each at its best phase.

    Fields are laid out about their peaks; frequencies go from one cycle a side to half a cycle a pixel.
    """
    side = fields.shape[-1]
    frequencies = np.arange(1.0, side / 2 + 0.25, 0.5) / side
    angles = np.pi * np.arange(ANGLES) / ANGLES
    middle = [side // 2 - np.array(np.unravel_index(place, (side, side))) for place in peak(fields, ndim=2)]
    centred = np.stack([np.roll(w, shift, (0, 1)) for w, shift in zip(fields, middle, strict=True)])
    rows, columns = np.indices((side, side)) - side // 2
    along = np.cos(angles)[:, None, None] * rows + np.sin(angles)[:, None, None] * columns
    waves = np.exp(-2j * np.pi * frequencies[:, None, None, None] * along)
    answers = np.abs(np.einsum("kayx,fyx->fka", waves, centred))
    return Tuning(centred, np.abs(fields.sum((1, 2))), answers)


@dataclass(frozen=True)
class Tuning:
    """Fields about their peaks, their answers to a uniform light (field) and to gratings (field, frequency, angle)."""

    fields: np.ndarray
    uniform: np.ndarray
    answers: np.ndarray

    @property
    def local(self) -> np.ndarray:
        return localized(self.fields, ndim=2)

    @property
    def best(self) -> np.ndarray:
        """The answer to the best grating."""
        return self.answers.max((1, 2))

    @property
    def preference(self) -> np.ndarray:
        """Best grating over uniform light: beyond 1 there are subfields of both signs, as a surround."""
        return self.best / np.maximum(self.uniform, np.finfo(float).tiny)

    @property
    def curves(self) -> np.ndarray:
        """Answers by orientation at the frequency of the best grating, over the best, (field, angle)."""
        frequency = self.answers.max(2).argmax(1)
        return self.answers[np.arange(len(frequency)), frequency] / self.best[:, None]

    @property
    def crossed(self) -> np.ndarray:
        """The answer a right angle from the best grating, over the best."""
        turned = (self.curves.argmax(1) + ANGLES // 2) % ANGLES
        return self.curves[np.arange(len(turned)), turned]

    @property
    def oriented(self) -> np.ndarray:
        return self.crossed <= HALF

    @property
    def odd(self) -> np.ndarray:
        """Share of w^2 in the part that changes sign when a field is turned by half a circle about its centre."""
        doubled = np.rint(2 * centre(self.fields, ndim=2)).astype(int)  # the centre lies on half pixels
        side = self.fields.shape[-1]
        where = [np.ix_((a - np.arange(side)) % side, (b - np.arange(side)) % side) for a, b in doubled]
        turned = np.stack([w[pixels] for w, pixels in zip(self.fields, where, strict=True)])
        return (1 - np.sum(self.fields * turned, (1, 2)) / np.sum(self.fields**2, (1, 2))) / 2

    @property
    def phased(self) -> np.ndarray:
        return self.odd >= ODD

    @property
    def ringed(self) -> np.ndarray:
        """Which fields answer a grating more than a uniform light."""
        return self.preference > 1

    @property
    def lesser(self) -> np.ndarray:
        """Share of w^2 in the weights of the lesser sign."""
        parts = [np.sum(np.maximum(sign * self.fields, 0) ** 2, (1, 2)) for sign in (1, -1)]
        return np.minimum(*parts) / np.add(*parts)

    def numbers(self) -> list[Number]:
        """Shares of the localized fields that are oriented, have a phase or subfields, and of those localized."""
        local = self.local
        return [
            share("oriented", self.oriented[local]),
            share("phased", self.phased[local]),
            share("ringed", self.ringed[local]),
            share("localized", local),
        ]


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """How the fields of the committee, of the one behind a filter, and of ICA answer gratings."""

    experiment: Orientation
    tunings: Mapping[str, Tuning]

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._neither(), self._features()

    def _neither(self) -> Claim:
        it, found = self.experiment, self.tunings[COMMITTEE]
        return NEITHER.claim(
            "We do not observe orientation nor phase selectivity.",
            source=f"{PAPER}, section 5",
            reported="not observed",
            numbers=found.numbers(),
            said="{localized:.0%} of the units are localized; of these {oriented:.0%} prefer an orientation and "
            "{phased:.0%} have a phase of their own (median answer a right angle away "
            f"{np.median(found.crossed):.2f} of the best, median odd part {np.median(found.odd):.2f}); "
            "{ringed:.0%} answer a grating more than a uniform light, as a field with a surround does",
            basis=f"one network of {it.units} units on {it.side} x {it.side} pixels, {it.steps:,} steps of "
            f"{orbit(it.batch)}",
            expected=by_preset(
                self.experiment,
                quick="holds",
                paper="holds in part",
                why="the quick one has a smaller torus and a quarter of the steps",
            ),
        )

    def _features(self) -> Claim:
        it, found = self.experiment, self.tunings[UNMIXED]
        return FEATURES.claim(
            "Unsupervised learning that optimizes independence replicates features of the localized receptive fields "
            "of simple cells, such as their orientation.",
            source=f"{PAPER}, abstract and section 1",
            reported="cited",
            numbers=found.numbers(),
            said="{localized:.0%} of FastICA's filters are localized; of these {oriented:.0%} prefer an orientation "
            "and {phased:.0%} have a phase of their own",
            basis=f"{it.patch**2} components of {it.patches:,} whitened patches of {it.patch} x {it.patch} pixels",
            expected=as_measured("holds"),
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        rows = tuple(self._row(name) for name in self.tunings)
        caption = "Fields about their peaks, the most oriented first; each scaled to its own largest value."
        return Figure(
            "Fields and gratings", rows, labels=("committee", "filtered", "ICA"), caption=caption
        ), self._table()

    def _row(self, name: str) -> tuple[Fields, Lines, Scatter]:
        found = self.tunings[name]
        order = np.argsort(found.crossed)
        angle = 180 * np.arange(ANGLES) / ANGLES
        curves = {f"{i}": np.roll(found.curves[i], ANGLES // 2 - found.curves[i].argmax()) for i in order[:SHOWN]}
        points: dict[str, Points] = {
            kind: (found.odd[which], found.crossed[which], None)
            for kind, which in (("localized", found.local), ("others", ~found.local))
            if which.any()
        }
        return (
            Fields(name, found.fields[order[:SHOWN]]),
            Lines("answer by orientation", angle - 90, curves, xlabel="degrees from the best", ylabel="over the best"),
            Scatter(
                "phase and orientation", points, "odd part of the field", "answer, turned by 90 degrees",
                marks={"phase": ODD},
            ),
        )  # fmt: skip

    def _table(self) -> Figure:
        rows = []
        for name, found in self.tunings.items():
            local = found.local
            kinds = (local, local & found.oriented, local & found.phased, local & found.ringed)
            counts = (int(which.sum()) for which in kinds)
            medians = (np.median(values) for values in (found.crossed, found.odd, found.preference, found.lesser))
            rows.append((name, len(local), *counts, *(f"{m:.2f}" for m in medians)))
        columns = ("fields of", "fields", "localized", "of these oriented", "with a phase", "with subfields",
                   "a right angle away", "odd part", "grating over light", "w^2 of the lesser sign")  # fmt: skip
        return Figure("Preferences in numbers", ((Table("", columns, tuple(rows)),),))

    def text(self) -> str:
        it = self.experiment
        told = {name: _told(found) for name, found in self.tunings.items()}
        return (
            "Simple cells of the visual cortex prefer gratings of an orientation and a phase; the paper says that the "
            "fields of its networks do not. Every field is shown gratings of all orientations, from one cycle a side "
            "to half a cycle a pixel, at their best phase, and a uniform light of the same contrast. It prefers an "
            f"orientation if the best grating turned by a right angle is answered at most {HALF:.0%} as strongly. It "
            f"has a phase of its own if at least {ODD:.0%} of w^2 change sign when it is turned by half a circle, as "
            "an edge does and a blob does not, and subfields if some grating beats the light. Of the committee on "
            f"NLGP({GAIN:g}), {told[COMMITTEE]}. FastICA on whitened photographs shows that gratings can tell: "
            f"{told[UNMIXED]}. An extension: behind a filter of centre 1 and surround {SURROUND:g} pixels, which the "
            f"paper says to give subfields, {told[BEHIND]}. One network of {it.units} units each, on {it.side} x "
            f"{it.side} pixels; {it.patches:,} patches of {it.patch} x {it.patch}."
        )


def _told(found: Tuning) -> str:
    """Counts in words."""
    local = found.local
    oriented, phased, ringed = (int((local & which).sum()) for which in (found.oriented, found.phased, found.ringed))
    return (
        f"{int(local.sum())} of {len(local)} fields are localized; of these {oriented} prefer an orientation, {phased} "
        f"have a phase and {ringed} subfields"
    )
