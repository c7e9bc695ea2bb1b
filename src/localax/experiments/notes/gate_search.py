"""The search for the best gates: the least limiting loss among halfspaces, and what its precision is like."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
import scipy

from ..._progress import Update
from ...networks import GatedLinear
from ...outcome import Claim, Fields, Figure, Lines, Number, Points, Rule, Scatter, Table, as_measured, finite
from ...spec import Setting
from ...stimuli import Task
from ...theory.gates import GatedMoments, gated_moments
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.sources import NETWORKS, OLDER
from ..toolkit.tasks import ising

SIZE = 12
"""Few enough spins to sum over all states: every loss here is exact."""
TEMPERATURES = (0.3, 0.03)
"""Of the soft gates that the search goes down by, first and last, for gates of norm 1."""

TILING = Rule(
    "no gates found by the search or at random end below the best tiling structure",
    lambda n, _: n.tiled <= n.other,
    holds={"tiled": 0.2, "other": 0.21},
    fails={"tiled": 0.21, "other": 0.2},
)
DIAGONAL = Rule(
    "the best gates are more diagonal than every random structure (in part: the loss falls with the share, rank "
    "correlation below 0 by {sure:g} standard errors)",
    lambda n, _: n.above == 1,
    partly=lambda n, t: n.rank < -t.sure * n.error,
    thresholds={"sure": 3.0},
    holds={"above": 1.0, "rank": -0.6, "error": 0.1},
    part={"above": 0.8, "rank": -0.6, "error": 0.1},
    fails={"above": 0.8, "rank": -0.2, "error": 0.1},
)
NORM = Rule(
    "the structure of least norm has the least loss (in part: the loss grows with the norm over random structures, "
    "rank correlation above 0 by {sure:g} standard errors)",
    lambda n, _: n.slowest <= n.best,
    partly=lambda n, t: n.rank > t.sure * n.error,
    thresholds={"sure": 3.0},
    holds={"slowest": 0.2, "best": 0.2, "rank": 0.6, "error": 0.1},
    part={"slowest": 0.22, "best": 0.2, "rank": 0.6, "error": 0.1},
    fails={"slowest": 0.22, "best": 0.2, "rank": 0.1, "error": 0.1},
)
DRAWN = Rule(
    "with the common weights one structure keeps at least {half:.0%} of what it could learn alone, for every number of "
    "structures drawn from (in part: for some, of more than one)",
    lambda n, t: n.least >= t.half,
    partly=lambda n, t: n.most >= t.half,
    thresholds={"half": 0.5},  # from there on its own drive counts more than all others' together
    holds={"least": 0.6, "most": 0.9},
    part={"least": 0.2, "most": 0.9},
    fails={"least": 0.2, "most": 0.4},
)


@dataclass(frozen=True)
class GateSearch(AbstractExperiment):
    """Which gates have the least limiting loss, and do they tile the space and make the precision matrix diagonal?"""

    name: ClassVar[str] = "gate_search"
    title: ClassVar[str] = "The search for gates"
    cost: ClassVar[float] = 9.0

    units: Annotated[int, Setting("gates of a structure", kind=int, ge=2, le=SIZE)] = 4
    starts: Annotated[int, Setting("starts of the search", kind=int, ge=1)] = 3
    steps: Annotated[int, Setting("steps of the search", kind=int, ge=1)] = 150
    random: Annotated[int, Setting("random structures to compare with", kind=int, ge=4)] = 60

    @classmethod
    def paper(cls) -> "GateSearch":
        return cls(starts=12, steps=600, random=300)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Random structures, named ones, and the best that a search among halfspaces finds."""
        task = ising(SIZE, (0.3, 0.7))
        drawn = np.asarray(jax.random.normal(jax.random.fold_in(key, 0), (self.random, self.units, SIZE)))
        moments = [_moments(task, gates) for gates in drawn]
        progress(0.3)
        start = jax.random.normal(jax.random.fold_in(key, 1), (self.starts, self.units, SIZE))
        found, descent = search(task, start, self.steps)
        progress(0.9)
        return Measured(
            self,
            random=tuple(_structure(gates, one) for gates, one in zip(drawn, moments, strict=True)),
            named=_named(task, self.units, drawn[0]),
            searched=tuple(_structure(gates, _moments(task, gates)) for gates in found),
            descent=descent,
            mixed=_mixed(moments),
            nothing=moments[0].label_square,
        )


@dataclass(frozen=True)
class Structure:
    """One structure of gates: its limiting loss, the norm of its A, and the share of the precision matrix A^-1, in
    squares, within the blocks of single units, which is 1 where that is diagonal."""

    gates: np.ndarray
    loss: float
    norm: float
    diagonal: float


def _moments(task: Task, gates: np.ndarray, rule: str = "halfspace") -> GatedMoments:
    return gated_moments(task, GatedLinear(gates, rule), method="exact")


def _structure(gates: np.ndarray, moments: GatedMoments) -> Structure:
    units = len(gates)
    squares = np.linalg.pinv(moments.a, rcond=1e-9).reshape(units, SIZE, units, SIZE) ** 2
    diagonal = float(np.einsum("kikj->", squares) / squares.sum())
    return Structure(gates, moments.limiting_loss(), float(np.linalg.norm(moments.a)), diagonal)


def _named(task: Task, units: int, noise: np.ndarray) -> dict[str, Structure]:
    """Single pixels that tile the ring, pairs of opposite signs, and both with exclusive gates.

    Exclusive gates on spins need a little noise to decide between equal pixels.
    """
    tiled = np.eye(SIZE)[np.arange(units) * SIZE // units]
    half = np.eye(SIZE)[np.arange(units // 2) * SIZE // (units // 2)]
    pairs = np.concatenate([half, -half])
    kinds = {
        "tiled pixels": (tiled, "halfspace"),
        "pairs of pixels": (pairs, "halfspace"),
        "tiled, exclusive": (tiled + 1e-3 * noise, "winner"),
        "pairs, exclusive": (pairs + 1e-3 * noise[: len(pairs)], "winner"),
    }
    return {name: _structure(gates, _moments(task, gates, rule)) for name, (gates, rule) in kinds.items()}


def search(task: Task, start: jax.Array, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Gates of least limiting loss from given starts (start, unit, pixel), and the soft loss at every step.

    A halfspace has no slope, so the gate is sigmoid(<v,x>/temperature) with |v| = 1 while the temperature falls; Adam
    follows the derivative of Eq. 65, exact over all states.
    """
    short, long = (stimulus.support() for stimulus in task.stimuli)
    assert short is not None
    assert long is not None
    states, p0, p1 = (jnp.asarray(a) for a in (short.states, short.probabilities, long.probabilities))

    def loss(gates: jax.Array, temperature: jax.Array) -> jax.Array:
        unit = gates / jnp.linalg.norm(gates, axis=1, keepdims=True)
        is_open = jax.nn.sigmoid(states @ unit.T / temperature)
        gated = (is_open[:, :, None] * states[:, None, :]).reshape(len(states), -1)
        a, b = (gated * ((p0 + p1) / 2)[:, None]).T @ gated, p1 @ gated / 2
        return 0.5 - b @ jnp.linalg.solve(a + 1e-6 * jnp.eye(len(b)), b)

    optimiser = optax.adam(0.03)

    def step(carry, temperature):
        gates, state = carry
        value, slope = jax.vmap(jax.value_and_grad(loss), (0, None))(gates, temperature)
        update, state = optimiser.update(slope, state)
        moved = jnp.asarray(optax.apply_updates(gates, update))
        return (moved / jnp.linalg.norm(moved, axis=-1, keepdims=True), state), value

    first = start / jnp.linalg.norm(start, axis=-1, keepdims=True)
    cooling = jnp.geomspace(*TEMPERATURES, steps)
    (gates, _), losses = jax.jit(lambda: jax.lax.scan(step, (first, optimiser.init(first)), cooling))()
    return np.asarray(gates), np.asarray(losses).T


@dataclass(frozen=True)
class Mixed:
    """Gates drawn anew for every input (Eq. 91 of the older notes) from the first ``counts`` structures: the limiting
    loss, and how much of what it could learn alone the best served of them still gets from the common weights."""

    counts: np.ndarray
    losses: np.ndarray
    kept: np.ndarray


def _mixed(moments: list[GatedMoments]) -> Mixed:
    counts = 2 ** np.arange(int(np.log2(len(moments))) + 1)
    losses, kept = zip(*(_drawn(moments[:count]) for count in counts), strict=True)
    return Mixed(counts, np.array(losses), np.array(kept))


def _drawn(alone: list[GatedMoments]) -> tuple[float, float]:
    a, b = (np.mean([getattr(one, name) for one in alone], axis=0) for name in ("a", "b"))
    together = GatedMoments(a, b, alone[0].label_square, alone[0].units, False)
    common, nothing = together.limit(), together.label_square
    kept = [(nothing - one.loss(common)) / (nothing - one.limiting_loss()) for one in alone]
    return together.limiting_loss(), max(kept)


def _best(structures: Iterable[Structure]) -> Structure:
    return min(structures, key=lambda one: one.loss)


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Structures of gates with their exact losses, the course of the search, and gates drawn anew for every input."""

    experiment: GateSearch
    random: tuple[Structure, ...]
    named: dict[str, Structure]
    searched: tuple[Structure, ...]
    descent: np.ndarray
    mixed: Mixed
    nothing: float
    """The loss of a network that has learned nothing."""

    # Numbers ---------------------------------------------------------------------------------------------------------

    @property
    def best(self) -> Structure:
        return _best(self.searched)

    def above(self) -> float:
        """Share of random structures that are less diagonal than the best gates."""
        return float(np.mean([self.best.diagonal > one.diagonal for one in self.random]))

    def rank(self, quantity: str) -> tuple[Number, Number]:
        """Rank correlation of a quantity with the loss over random structures, and its standard error if there were
        none."""
        values, losses = ([getattr(one, name) for one in self.random] for name in (quantity, "loss"))
        rank = finite(np.corrcoef(*map(scipy.stats.rankdata, (values, losses)))[0, 1])
        error = 1 / np.sqrt(len(self.random) - 1)
        return Number("rank", rank, error), Number("error", error)

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._tiling(), self._diagonal(), self._norm(), self._drawn()

    def _basis(self) -> str:
        it = self.experiment
        return (
            f"all states of {SIZE} spins, {it.units} gates, {it.starts} starts of the search, {it.random} random "
            "structures; losses are exact"
        )

    def _tiling(self) -> Claim:
        shown = ", ".join(f"{name} {structure.loss:.4f}" for name, structure in self.named.items())
        return TILING.claim(
            "Gates that tile the space without overlap are the best.",
            source=f"{OLDER}, section 4.4.2",
            reported="I think?",
            numbers=[
                Number("tiled", _best(self.named.values()).loss),
                Number("other", _best((self.best, *self.random)).loss),
            ],
            said=f"limiting loss of the best gates found {{other:.4f}}, of the best tiling {{tiled:.4f}}: {shown}",
            basis=self._basis(),
            expected=as_measured("does not hold"),
            reasons={"does not hold": "Overlapping gates divide the data into more pieces than there are gates."},
        )

    def _diagonal(self) -> Claim:
        return DIAGONAL.claim(
            "The best precision matrix is maximally diagonal.",
            source=f"{OLDER}, section 4.4.2",
            reported="no clue if this is actually true",
            numbers=[Number("share", self.best.diagonal), Number("above", self.above()), *self.rank("diagonal")],
            said="share within units {share:.3f} for the best gates, more than {above:.0%} of random ones; rank "
            "correlation of share and loss over random gates {rank:+.2f} +- {error:.2f}",
            basis=self._basis(),
            expected=as_measured("does not hold"),
        )

    def _norm(self) -> Claim:
        everyone = (*self.random, *self.named.values(), self.best)
        least, winner = min(everyone, key=lambda one: one.norm), _best(everyone)
        return NORM.claim(
            "A gating structure that minimises the norm of A wins.",
            source=f"{OLDER}, section 4.4, after Eq. 91",
            reported="intuitively, it will shrink the slowest",
            numbers=[
                Number("slowest", least.loss),
                Number("slowest_norm", least.norm),
                Number("best", winner.loss),
                Number("best_norm", winner.norm),
                *self.rank("norm"),
            ],
            said="of all structures here the least norm ({slowest_norm:.2f}) ends at {slowest:.4f}, the best (norm "
            "{best_norm:.2f}) at {best:.4f}; rank correlation of norm and loss over random structures {rank:+.2f} +- "
            "{error:.2f}",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "Gates that overlap little make A small and divide the data well, but the norm does "
                "not see the labels."
            },
        )

    def _drawn(self) -> Claim:
        mixed, count = self.mixed, int(self.mixed.counts[-1])
        alone = float(np.mean([one.loss for one in self.random[:count]]))
        shares = ", ".join(f"of {c}: {k:.0%}" for c, k in zip(mixed.counts[1:], mixed.kept[1:], strict=True))
        return DRAWN.claim(
            "A network whose gates are drawn from a finite set at every input has a structure that wins.",
            source=f"{OLDER}, section 4.4, Eq. 91",
            reported="can we read off the winning gating structure?",
            numbers=[
                Number("loss", mixed.losses[-1]),
                Number("alone", alone),
                Number("least", mixed.kept[1:].min()),
                Number("most", mixed.kept[1:].max()),
            ],
            said=f"drawn from {count} structures the limiting loss is {{loss:.3f}} (on average {{alone:.3f}} behind "
            f"one of them alone); the best served keeps, of what it could learn alone, {{least:.0%}} to {{most:.0%}} "
            f"({shares})",
            basis=f"all states of {SIZE} spins, {count} random structures",
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "Of few structures one is served well. But one set of weights must serve them all: "
                "gates v and -v ask for opposite weights, and the more there are, the more their drives average out."
            },
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        above = (self._scatter(), Fields("the best gates", self.best.gates))
        return Figure("Gates of least limiting loss", (above, (self._steps(), self._mixture()))), self._table()

    def _scatter(self) -> Scatter:
        def points(structures: Sequence[Structure]) -> Points:
            return np.array([s.diagonal for s in structures]), np.array([s.loss for s in structures]), None

        groups = {"random": points(self.random), "searched": points(self.searched)}
        groups |= {name: points([structure]) for name, structure in self.named.items() if name != "tiled, exclusive"}
        return Scatter("loss and precision", groups, xlabel="precision within units", ylabel="limiting loss")

    def _steps(self) -> Lines:
        curves = {f"start {i}": row for i, row in enumerate(self.descent[:3])}
        steps = np.arange(self.descent.shape[1])
        return Lines("the search, soft gates", steps, curves, xlabel="step", ylabel="loss")

    def _mixture(self) -> Lines:
        counts = self.mixed.counts.astype(float)
        curves = {"limiting loss": self.mixed.losses, "nothing learned": np.full(len(counts), self.nothing)}
        return Lines("gates drawn anew for every input", counts, curves, xlabel="number of structures", logx=True)

    def _table(self) -> Figure:
        worst = max(self.random, key=lambda one: one.loss)
        shown = {"best searched": self.best, **self.named, "best random": _best(self.random), "worst random": worst}
        rows = tuple((name, f"{s.loss:.4f}", f"{s.diagonal:.3f}", f"{s.norm:.3f}") for name, s in shown.items())
        columns = ("gates", "limiting loss", "precision within units", "norm of A")
        return Figure("Structures of gates", ((Table("", columns, rows),),))

    def text(self) -> str:
        it, best, mixed = self.experiment, self.best, self.mixed
        losses, ends = (np.array([one.loss for one in group]) for group in (self.random, self.searched))
        pairs, tiled = self.named["pairs of pixels"], self.named["tiled pixels"]
        return (
            f"Which gates minimise the limiting loss, ask {NETWORKS} (Eq. 65); {OLDER} guess that they make the "
            f"precision matrix as diagonal as possible and tile the space. A local search among structures of "
            f"{it.units} halfspaces on rings of {SIZE} spins (all averages exact) ends between {ends.min():.4f} and "
            f"{ends.max():.4f} from {it.starts} starts, so that the least loss is at most {best.loss:.4f}: below "
            f"{np.mean(losses > best.loss):.0%} of {it.random} random structures ({losses.min():.4f} to "
            f"{losses.max():.4f}); pairs of pixels reach {pairs.loss:.4f} and tiled pixels {tiled.loss:.4f}. Its "
            f"precision matrix is more diagonal than that of {self.above():.0%} of random ones ({best.diagonal:.2f} of "
            f"it within units; random {np.mean([one.diagonal for one in self.random]):.2f} on average, tiled pixels "
            f"{tiled.diagonal:.2f}). If gates are drawn anew for every input, as in Eq. 91 of {OLDER}, from "
            f"{mixed.counts[-1]} structures, the limiting loss is {mixed.losses[-1]:.3f}, where nothing learned is "
            f"{self.nothing:g}, and the best served structure keeps {mixed.kept[-1]:.0%} of what it could learn alone. "
            f"Missing are larger rings, more than {it.units} gates, gates other than halfspaces, and a search that "
            "could not miss the least loss."
        )
