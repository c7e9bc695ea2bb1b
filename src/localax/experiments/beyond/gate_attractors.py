"""Steady states on Ising rings whose gate needs several pixels, and which of them the exact flow finds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ... import theory
from ..._progress import Update
from ...analysis import align, distance, ipr
from ...outcome import Claim, Figure, Heatmap, Lines, Number, Rule, Table, as_measured, by_theory, finite
from ...spec import Setting
from ...stimuli import Task, hypercube_states
from ...theory.steady import GateAttractor
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.neuron import authors_start, neuron
from ..toolkit.seeds import seeds_from
from ..toolkit.sources import DERIVED
from ..toolkit.tasks import SIZE, ising
from ..toolkit.unit_kinds import share

STRONG, OPPOSED, SWAPPED = (0.3, 0.9), (-0.3, 0.9), (0.7, 0.3)
"""Couplings where w* is none of the steady states, where a gate of five pixels is one, and with the labels swapped."""
WINDOWS = (1, 3, 5, 7, 9, 11, 13, 15)
SMALL = 5
"""Pixels of the window whose gates are all tried."""
ROUNDS = 3
"""Of w <- 2 (S0 + S1)^-1 f(w), which take the smoothing of the flow's series out of its end."""
SMOOTHED = 3e-4
"""Error allowed to f there."""
PLANE = (-1.2, 1.2, 0.1, 1.5)
"""The couplings of the diagram: J0 from and to, J1 from and to. Turning every second spin turns both signs."""
ARRIVED = 0.02
"""Relative distance up to which an end of the flow is the field of a gate, half of that between two fields or less."""

LADDER = Rule(
    "where w* is further than {far:.0%} from the flow's end, the field of a gate of five pixels is nearer than "
    "{near:.0%} and that of eleven nearer than {close:.1%}; in part if that of five is nearer than half of w*",
    lambda n, t: n.one > t.far and n.five < t.near and n.eleven < t.close,
    partly=lambda n, _: n.five < n.one / 2,
    thresholds={"far": 0.1, "near": 0.01, "close": 0.001},
    holds={"one": 0.14, "five": 0.008, "eleven": 0.0003},
    part={"one": 0.14, "five": 0.03, "eleven": 0.01},
    fails={"one": 0.14, "five": 0.12, "eleven": 0.1},
)
EXACT = Rule(
    "one of the gates of five pixels has a positive margin over all states, no single pixel has, and every flow ends "
    "within {error:g} of its field in every weight",
    lambda n, t: n.margin > 0 > n.pixel_margin and n.gap < t.error,
    thresholds={"error": 1e-3},
    holds={"margin": 0.01, "pixel_margin": -0.16, "gap": 1e-4},
    fails={"margin": 0.01, "pixel_margin": -0.16, "gap": 0.02},
)
LOWEST = Rule(
    "on every task at least {most:.0%} of the starts end at the field of the lowest loss; in part if so on one task",
    lambda n, t: n.least >= t.most,
    partly=lambda n, t: n.largest >= t.most,
    thresholds={"most": 0.9},
    holds={"least": 1.0, "largest": 1.0},
    part={"least": 0.5, "largest": 1.0},
    fails={"least": 0.2, "largest": 0.5},
)
DIAGRAM = Rule(
    "at every pair of couplings on the grid some gate of at most five pixels is exact; in part if so at some pair "
    "where no single pixel is",
    lambda n, _: n.none == 0,
    partly=lambda n, _: n.several > 0,
    holds={"none": 0.0, "several": 0.2},
    part={"none": 0.2, "several": 0.2},
    fails={"none": 0.4, "several": 0.0},
)


@dataclass(frozen=True)
class GateAttractors(AbstractExperiment):
    """Where does a neuron end on Ising spins when no single pixel can decide its gate?"""

    name: ClassVar[str] = "gate_attractors"
    title: ClassVar[str] = "Steady states behind gates of several pixels"
    cost: ClassVar[float] = 20.0

    starts: Annotated[int, Setting("initialisations of the exact flow on each task", kind=int, ge=1, le=200)] = 16
    time: Annotated[float, Setting("when the exact flow ends", gt=0, le=1000)] = 100.0
    tolerance: Annotated[float, Setting("error allowed to the flow's gradient", gt=0, le=0.1)] = 4e-3
    points: Annotated[int, Setting("couplings along each side of the diagram", kind=int, ge=2, le=100)] = 5

    @classmethod
    def paper(cls) -> "GateAttractors":
        return cls(starts=48, tolerance=1e-3, points=15)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """The exact flow on three tasks, all gates of five pixels there and on a grid, larger windows on the first."""
        starts = authors_start(seeds_from(key, self.starts))
        tasks = []
        for couplings in (STRONG, OPPOSED, SWAPPED):
            tasks.append(self._followed(couplings, starts))
            progress(0.25 * len(tasks))
        ends = _ladder(ising(couplings=STRONG), tasks[0].ends[0])
        diagram = _diagram(self.points)
        return Measured(self, tuple(tasks), *ends, diagram)

    def _followed(self, couplings: tuple[float, float], starts: np.ndarray) -> "Followed":
        task = ising(couplings=couplings)
        path = theory.exact_flow(
            task, neuron(), starts, times=[self.time], rtol=1e-4, atol=1e-6, tolerance=self.tolerance
        )
        return Followed(couplings, theory.steady.gate_attractors(task, SMALL), path.final[:, 0])


def _ladder(task: Task, end: np.ndarray) -> tuple[np.ndarray, tuple[GateAttractor, ...], np.ndarray]:
    """The flow's end without the smoothing of its series, the fields of larger and larger windows, and their doubts."""
    short, long = task.stimuli
    total = short.covariance_matrix() + long.covariance_matrix()
    for _ in range(ROUNDS):
        end = np.linalg.solve(total, 2 * theory.mean_gated_input(long, end, tolerance=SMOOTHED).value)
    end = end * np.sign(end[np.argmax(np.abs(end))])
    found = tuple(theory.steady.settled_gate(task, end, m) for m in WINDOWS)
    doubts = np.array([theory.steady.gate_doubt(task, one) for one in found])
    return end, found, doubts


def _diagram(points: int) -> "Diagram":
    """What the exact gates of at most five pixels need, at every pair of couplings."""
    low0, high0, low1, high1 = PLANE
    shorts, longs = np.linspace(low0, high0, points), np.linspace(low1, high1, points)
    needed, count, pixel = (np.zeros((points, points)) for _ in range(3))
    for row, j1 in enumerate(longs):
        for column, j0 in enumerate(shorts):
            exact = [a for a in theory.steady.gate_attractors(ising(couplings=(j0, j1)), SMALL) if a.exact]
            count[row, column] = len(exact)
            needed[row, column] = _needed(exact[0]) if exact else 0
            pixel[row, column] = any(_needed(a) == 1 for a in exact)
    return Diagram(needed, count, pixel)


def _needed(attractor: GateAttractor) -> int:
    """How many pixels the gate looks at: those with which its sign is correlated over all states alike."""
    return int(np.sum(np.abs(attractor.gate @ hypercube_states(attractor.pixels)) > 0))


@dataclass(frozen=True)
class Diagram:
    """Over J1 (row) and J0 (column): pixels that the exact gate of lowest loss ``needed`` (0: there is none), how many
    exact gates there are, and whether a single ``pixel`` is one of them."""

    needed: np.ndarray
    count: np.ndarray
    pixel: np.ndarray


@dataclass(frozen=True)
class Followed:
    """A task, its consistent gates of five pixels, the lowest loss first, and where the flow ended."""

    couplings: tuple[float, float]
    gates: tuple[GateAttractor, ...]
    ends: np.ndarray

    @property
    def name(self) -> str:
        return f"({self.couplings[0]:g}, {self.couplings[1]:g})"

    @property
    def reached(self) -> np.ndarray:
        """Which gate every start ended at, -1 for none of them."""
        apart = np.stack([_apart(gate.field, self.ends) for gate in self.gates])
        return np.where(apart.min(0) < ARRIVED, apart.argmin(0), -1)

    @property
    def at_best(self) -> np.ndarray:
        return self.reached == 0

    @property
    def gap(self) -> float:
        """The largest difference of a weight from the field of the lowest loss, over all starts."""
        wanted = self.gates[0].field
        return float(np.abs(align(wanted, self.ends).field - wanted).max())

    @property
    def shown(self) -> str:
        """The basins in words."""
        reached = self.reached
        parts = [
            f"{np.mean(reached == i):.0%} at a gate of {_needed(self.gates[i])} (loss {self.gates[i].loss:.4f}, IPR "
            f"{self.gates[i].ipr:.3f})"
            for i in np.unique(reached[reached >= 0])
        ]
        if np.any(reached < 0):
            parts.append(
                f"{np.mean(reached < 0):.0%} at none of five pixels, IPR {ipr(self.ends[reached < 0]).mean():.3f}"
            )
        return f"{self.name}: {', '.join(parts)}"


def _apart(target: np.ndarray, fields: np.ndarray) -> np.ndarray:
    """Relative distance up to shift, sign and mirror image."""
    ways = [distance(align(target, turned).field, target) for turned in (fields, fields[:, ::-1])]
    return np.minimum(*ways) / np.linalg.norm(target)


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Gates, flows and the diagram.

    ``end``: the flow's end at strong coupling. ``windows``: the gates of larger and larger windows there; ``doubts``
    (window, 2): bounds of the probability that the field's sign is another than its gate's.
    """

    experiment: GateAttractors
    tasks: tuple[Followed, ...]
    end: np.ndarray
    windows: tuple[GateAttractor, ...]
    doubts: np.ndarray
    diagram: Diagram

    @property
    def misses(self) -> np.ndarray:
        """Relative distance of every window's field from the flow's end."""
        return np.array([float(_apart(one.field, self.end[None])[0]) for one in self.windows])

    def _basis(self) -> str:
        it = self.experiment
        return f"{it.starts} of the paper's starts a task to t = {it.time:g} on {SIZE} spins, no samples"

    # Claims -----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._ladder(), self._exact(), self._lowest(), self._diagram()

    def _ladder(self) -> Claim:
        miss = dict(zip(WINDOWS, self.misses, strict=True))
        return LADDER.claim(
            "Where a pixel no longer decides, the steady state is that of a gate of a few pixels more.",
            source=f"{DERIVED}, gate_attractors",
            reported="the loss behind the best gate falls with every pixel that it may look at",
            numbers=[
                Number("one", finite(miss[1])),
                Number("five", finite(miss[5])),
                Number("eleven", finite(miss[11])),
            ],
            said=f"J = {self.tasks[0].name}: w* is {{one:.1%}} from the flow's end, the field behind the best gate of "
            f"five pixels {{five:.2%}}, of eleven {{eleven:.3%}}; IPR {self.windows[0].ipr:.4f}, "
            f"{self.windows[2].ipr:.4f}, {self.windows[5].ipr:.4f} and {float(ipr(self.end)):.4f} at the end",
            basis=self._basis(),
            expected=by_theory(
                "holds", "a gate of the window is wrong only on states in which the pixels outside agree"
            ),
        )

    def _exact(self) -> Claim:
        best = self.tasks[1]
        (pixel,) = theory.steady.gate_attractors(ising(couplings=best.couplings), 1)
        return EXACT.claim(
            "Gates of several pixels are exact steady states too, and stable ones, where no single pixel is.",
            source=f"{DERIVED}, gate_attractors",
            reported="stable if and only if the margin over all states is positive",
            numbers=[
                Number("margin", best.gates[0].margin),
                Number("pixel_margin", pixel.margin),
                Number("gap", finite(best.gap)),
            ],
            said=f"J = {best.name}: margin {{margin:.4f}} for a gate of {_needed(best.gates[0])} pixels, "
            "{pixel_margin:.3f} for one; all flows end within {gap:.1e} of its field",
            basis=self._basis(),
            expected=by_theory("holds", "inside of the gate's cell the flow is linear"),
        )

    def _lowest(self) -> Claim:
        shares = [share(f"share{i}", task.at_best, "of the starts") for i, task in enumerate(self.tasks)]
        ordered = sorted(shares, key=lambda number: number.value or 0)
        return LOWEST.claim(
            "From small random weights the flow finds the field with the lowest loss.",
            source=f"{DERIVED}, gate_attractors",
            reported="not derived: every exact gate has a basin of its own",
            numbers=[
                Number("least", ordered[0].value, ordered[0].standard_error, "of the starts"),
                Number("largest", ordered[-1].value, ordered[-1].standard_error, "of the starts"),
            ],
            said="; ".join(task.shown for task in self.tasks),
            basis=self._basis(),
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "With the labels swapped many other gates are exact too. The flows that are elsewhere "
                "at the end are spread over many pixels; whether they rest there or still move was not decided."
            },
        )

    def _diagram(self) -> Claim:
        found = self.diagram
        several = np.mean((found.needed > 0) & (found.pixel == 0))
        better = np.mean((found.needed > 1) & (found.pixel > 0))
        return DIAGRAM.claim(
            "Whatever the couplings, some gate of at most five pixels is a steady state.",
            source=f"{DERIVED}, gate_attractors",
            reported="not derived",
            numbers=[
                Number("none", float(np.mean(found.needed == 0)), unit="of the grid"),
                Number("several", float(several), unit="of the grid"),
            ],
            said=f"a single pixel is exact at {np.mean(found.pixel):.0%} of the grid, a gate of more pixels alone at "
            f"{{several:.0%}}, none at {{none:.0%}}; at {better:.0%} a pixel is exact and a larger gate has less loss",
            basis=f"{found.needed.size} pairs of couplings, all 1,882 threshold gates of five pixels each, no samples",
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "Where class 1 is strongly coupled and class 0 is not, the field is wide, its skirts "
                "outweigh its smaller weights, and its gate needs more pixels."
            },
        )

    # Figures and text -------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        extent = PLANE
        maps = (
            Heatmap("pixels of the best exact gate", self.diagram.needed, "J0", "J1", extent),
            Heatmap("log10(1 + number of exact gates)", np.log10(1 + self.diagram.count), "J0",
                    "J1", extent),
        )  # fmt: skip
        windows = Lines(
            f"distance from the flow's end, J = {self.tasks[0].name}", np.array(WINDOWS, float),
            {"field": self.misses, "chance of another sign, at most": self.doubts[:, 1]},
            xlabel="pixels of the window", logy=True,
        )  # fmt: skip
        fields = tuple(_profiles(task) for task in self.tasks)
        return (
            Figure(
                "Which gates of at most five pixels are steady states",
                (maps,),
                caption="Left: pixels that the exact gate of the lowest loss looks at, 0 where none is exact.",
            ),
            Figure("Larger windows, and fields of the lowest loss", ((windows, *fields[:1]), fields[1:])),
            Figure("Where the exact flow ends", ((_basins(self.tasks),),)),
        )

    def text(self) -> str:
        strong, opposed, _ = self.tasks
        return (
            "On spins the flow depends on the field through its gate alone. A gate of a few pixels has a field in "
            "closed form, and where that field has the same gate on every state of the ring it is a stable steady "
            f"state. At J = {strong.name} no gate of five pixels is exact; w* is {self.misses[0]:.1%} from the "
            f"flow's end, the fields behind the best gates of {WINDOWS[2]}, {WINDOWS[5]} and {WINDOWS[-1]} pixels "
            f"{self.misses[2]:.2%}, {self.misses[5]:.3%} and {self.misses[-1]:.3%}. At J = {opposed.name} a gate of "
            f"{_needed(opposed.gates[0])} pixels is exact (margin {opposed.gates[0].margin:.4f}), with IPR "
            f"{opposed.gates[0].ipr:.4f}. Where "
            f"{self.experiment.starts} flows end: {'; '.join(task.shown for task in self.tasks)}. On the grid of "
            f"couplings a single pixel is exact at {np.mean(self.diagram.pixel):.0%}, no gate of five pixels at "
            f"{np.mean(self.diagram.needed == 0):.0%}."
        )


def _profiles(task: Followed) -> Lines:
    """The field of the lowest loss and the first end of the flow, around the peak."""
    best, end = task.gates[0], align(task.gates[0].field, task.ends[:1]).field[0]
    about, middle = SIZE // 2, slice(SIZE // 2 - 8, SIZE // 2 + 9)
    curves = {"lowest loss": np.roll(best.field, about)[middle], "a flow's end": np.roll(end, about)[middle]}
    return Lines(f"J = {task.name}", np.arange(-8.0, 9.0), curves, xlabel="pixel")


def _basins(tasks: Sequence[Followed]) -> Table:
    columns = ("couplings", "pixels", "exact", "margin", "loss", "IPR", "share of starts")
    rows = [
        (task.name, _needed(gate), gate.exact, f"{gate.margin:.4f}", f"{gate.loss:.5f}", f"{gate.ipr:.4f}",
         f"{np.mean(task.reached == i):.0%}")
        for task in tasks
        for i, gate in enumerate(task.gates[:4])
    ]  # fmt: skip
    return Table("", columns, tuple(rows))
