"""The search for the best gates: the least limiting loss over all halfspaces, and what its precision is like."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from scipy.stats import rankdata

from .._record import Claim, Fields, Figure, Lines, Outcome, Scatter, Table, decide
from ..networks import GatedLinear
from ..theory import GatedMoments, gated_moments
from ._tasks import ising

SIZE = 12
"""Few enough spins to sum over all states: every loss here is exact."""
COUPLINGS = (0.3, 0.7)
TEMPERATURES = (0.3, 0.03)
"""Of the soft gates that the search goes down by, first and last, for gates of norm 1."""
TOLERANCE = 0.003
Groups = dict[str, tuple[np.ndarray, np.ndarray, np.ndarray | None]]


@dataclass(frozen=True)
class Settings:
    """Units, starts and steps of the search, and how many random gate structures to compare with."""

    units: int = 4
    starts: int = 3
    steps: int = 150
    random: int = 60


PRESETS = {"quick": Settings(), "paper": Settings(starts=12, steps=600, random=300)}


@dataclass(frozen=True)
class Structure:
    """One structure of gates and its exact moments."""

    gates: np.ndarray
    moments: GatedMoments

    @property
    def loss(self) -> float:
        return self.moments.limiting_loss()

    @property
    def norm(self) -> float:
        return float(np.linalg.norm(self.moments.a))

    @property
    def diagonal(self) -> float:
        """Share of the precision matrix A^-1, in squares, within the blocks of single units: 1 where it is diagonal."""
        units = len(self.gates)
        squares = np.linalg.pinv(self.moments.a, rcond=1e-9).reshape(units, SIZE, units, SIZE) ** 2
        return float(np.einsum("kikj->", squares) / squares.sum())


def run(settings: Settings, key: Any, progress: Callable[[float], None]) -> Outcome:
    """Random structures, named ones, and the best that a search over all halfspaces finds."""
    drawn = np.asarray(jax.random.normal(jax.random.fold_in(key, 0), (settings.random, settings.units, SIZE)))
    random = [_structure(gates) for gates in drawn]
    progress(0.3)
    start = jax.random.normal(jax.random.fold_in(key, 1), (settings.starts, settings.units, SIZE))
    found, descent = search(start, settings.steps)
    searched = [_structure(gates) for gates in found]
    progress(0.9)
    named = _named(settings.units, drawn[0])
    best = min(searched, key=lambda one: one.loss)
    mixed = _mixed(random)
    return Outcome(
        title="The search for gates",
        text=_text(random, named, best, mixed, settings),
        figures=(_figure(random, named, searched, descent, mixed), _table(random, named, searched)),
        claims=(
            _tiling_claim(named, best, settings),
            _diagonal_claim(random, best, settings),
            _norm_claim(random, named, best, settings),
            _random_claim(random, mixed),
        ),
    )


def _structure(gates: np.ndarray, rule: str = "halfspace") -> Structure:
    return Structure(gates, gated_moments(ising(SIZE, COUPLINGS), GatedLinear(gates, rule), method="exact"))


def _named(units: int, noise: np.ndarray) -> dict[str, Structure]:
    """Single pixels that tile the ring, pairs of opposite signs, and both with exclusive gates.

    Exclusive gates on spins need a little noise to decide between equal pixels.
    """
    tiled = np.eye(SIZE)[np.arange(units) * SIZE // units]
    half = np.eye(SIZE)[np.arange(units // 2) * SIZE // (units // 2)]
    pairs = np.concatenate([half, -half])
    return {
        "tiled pixels": _structure(tiled),
        "pairs of pixels": _structure(pairs),
        "tiled, exclusive": _structure(tiled + 1e-3 * noise, "winner"),
        "pairs, exclusive": _structure(pairs + 1e-3 * noise[: len(pairs)], "winner"),
    }


# The search ----------------------------------------------------------------------------------------------------------


def search(start: jax.Array, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Gates of least limiting loss from given starts (start, unit, pixel), and the soft loss at every step.

    A halfspace has no slope, so the gate is sigmoid(<v,x>/temperature) with |v| = 1 while the temperature falls; Adam
    follows the derivative of Eq. 65, exact over all states.
    """
    states, (p0, p1) = _states(), (jnp.asarray(_chances(coupling)) for coupling in COUPLINGS)

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


def _states() -> jax.Array:
    return jnp.asarray(1.0 - 2.0 * ((np.arange(2**SIZE)[:, None] >> np.arange(SIZE)) & 1))


def _chances(coupling: float) -> np.ndarray:
    x = np.asarray(_states())
    weights = np.exp(coupling * np.sum(x * np.roll(x, 1, axis=1), axis=1))
    return weights / weights.sum()


def _mixed(random: list[Structure]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of structures that are drawn from anew for every input (Eq. 91 of seed 001), and the limiting loss."""
    counts = 2 ** np.arange(int(np.log2(len(random))) + 1)
    losses = []
    for count in counts:
        a, b = (np.mean([getattr(s.moments, name) for s in random[:count]], axis=0) for name in ("a", "b"))
        losses.append(GatedMoments(a, b, random[0].moments.label_square, len(random[0].gates), False).limiting_loss())
    return counts, np.array(losses)


def _text(
    random: list[Structure], named: dict[str, Structure], best: Structure, mixed: tuple, settings: Settings
) -> str:
    losses = np.array([one.loss for one in random])
    return (
        f"Seed 000 asks which gates minimise the limiting loss (Eq. 65), and seed 001 guesses that they make the "
        "precision matrix as diagonal as possible and tile the space. A search over all structures of "
        f"{settings.units} halfspaces on rings of {SIZE} spins ({settings.starts} starts, all averages exact) ends "
        f"at {best.loss:.4f}, below {np.mean(losses > best.loss):.0%} of {settings.random} random structures "
        f"({losses.min():.4f} to {losses.max():.4f}), pairs of pixels ({named['pairs of pixels'].loss:.4f}) and "
        f"tiled pixels ({named['tiled pixels'].loss:.4f}). Its precision matrix is not "
        f"more diagonal than others ({best.diagonal:.2f} of it within units; random "
        f"{np.mean([one.diagonal for one in random]):.2f}, tiled pixels {named['tiled pixels'].diagonal:.2f}): gates "
        "that share the data know more together than gates that divide it. If gates are drawn anew for every input, "
        f"as in Eq. 91 of seed 001, little can be learned: with {mixed[0][-1]} structures the limiting loss is "
        f"{mixed[1][-1]:.3f}, where nothing learned is 0.5."
    )


# Figures -------------------------------------------------------------------------------------------------------------


def _figure(random: list, named: dict, searched: list, descent: np.ndarray, mixed: tuple) -> Figure:
    def points(structures: Any) -> tuple[np.ndarray, np.ndarray, None]:
        return np.array([s.diagonal for s in structures]), np.array([s.loss for s in structures]), None

    groups: Groups = {"random": points(random), "searched": points(searched)}
    groups |= {name: points([structure]) for name, structure in named.items() if name != "tiled, exclusive"}
    scatter = Scatter("loss and precision", groups, xlabel="precision within units", ylabel="limiting loss")
    best = min(searched, key=lambda one: one.loss)
    curves = {f"start {i + 1}": row for i, row in enumerate(descent[:3])}
    steps = Lines("the search, soft gates", np.arange(descent.shape[1]), curves, xlabel="step", ylabel="loss")
    counts, losses = mixed
    drawn = Lines(
        "gates drawn anew for every input",
        counts.astype(float),
        {"limiting loss": losses, "nothing learned": np.full(len(losses), 0.5)},
        xlabel="number of structures",
        logx=True,
    )
    return Figure("Gates of least limiting loss", ((scatter, Fields("the best gates", best.gates)), (steps, drawn)))


def _table(random: list[Structure], named: dict[str, Structure], searched: list[Structure]) -> Figure:
    shown = {"best searched": min(searched, key=lambda one: one.loss), **named}
    shown |= {
        "best random": min(random, key=lambda one: one.loss),
        "worst random": max(random, key=lambda one: one.loss),
    }
    rows = tuple((name, f"{s.loss:.4f}", f"{s.diagonal:.3f}", f"{s.norm:.3f}") for name, s in shown.items())
    columns = ("gates", "limiting loss", "precision within units", "norm of A")
    return Figure("Structures of gates", ((Table("", columns, rows),),))


# Claims --------------------------------------------------------------------------------------------------------------


def _tiling_claim(named: dict[str, Structure], best: Structure, settings: Settings) -> Claim:
    return Claim(
        sentence="Gates that tile the space without overlap are the best.",
        source="seed 001, section 4.4.2",
        reported="I think?",
        measured=f"limiting loss of the best gates found {best.loss:.4f}; "
        + ", ".join(f"{name} {structure.loss:.4f}" for name, structure in named.items()),
        rule=f"one of the tiling structures is within {TOLERANCE} of the best found",
        basis=f"all states of {SIZE} spins, {settings.units} gates, {settings.starts} starts of the search",
        verdict=decide(min(s.loss for s in named.values()) < best.loss + TOLERANCE),
        expected="does not hold",
        reason="Overlapping gates divide the data into more pieces than there are gates.",
    )


def _diagonal_claim(random: list[Structure], best: Structure, settings: Settings) -> Claim:
    shares, losses = (np.array([getattr(s, name) for s in random]) for name in ("diagonal", "loss"))
    rank = _rank_correlation(shares, losses)
    above = float(np.mean(best.diagonal > shares))
    return Claim(
        sentence="The best precision matrix is maximally diagonal.",
        source="seed 001, section 4.4.2",
        reported="no clue if this is actually true",
        measured=f"share within units {best.diagonal:.3f} for the best gates, more than {above:.0%} of random ones; "
        f"rank correlation of share and loss over random gates {rank:+.2f}",
        rule="more diagonal than 95% of random structures (in part: the loss falls with the share, rank correlation "
        "< -0.5)",
        basis=f"all states of {SIZE} spins, {settings.random} random structures, {settings.starts} starts of the "
        "search",
        verdict=decide(above >= 0.95, rank < -0.5),
        expected="does not hold",
    )


def _norm_claim(random: list[Structure], named: dict[str, Structure], best: Structure, settings: Settings) -> Claim:
    norms, losses = (np.array([getattr(s, name) for s in random]) for name in ("norm", "loss"))
    rank, least = _rank_correlation(norms, losses), min([*random, *named.values(), best], key=lambda one: one.norm)
    return Claim(
        sentence="A gating structure that minimises the norm of A wins.",
        source="seed 001, section 4.4, after Eq. 91",
        reported="intuitively, it will shrink the slowest",
        measured=f"of all structures here the least norm ({least.norm:.2f}) ends at {least.loss:.4f}, the best (norm "
        f"{best.norm:.2f}) at {best.loss:.4f}; rank correlation of norm and loss over random structures {rank:+.2f}",
        rule=f"the structure of least norm is within {TOLERANCE} of the best (in part: rank correlation above 0.2)",
        basis=f"all states of {SIZE} spins, {settings.random} random structures of {settings.units} gates",
        verdict=decide(least.loss < best.loss + TOLERANCE, rank > 0.2),
        expected="holds in part",
        reason="Gates that overlap little make A small and divide the data well, but the norm does not see the labels.",
    )


def _rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def _random_claim(random: list[Structure], mixed: tuple[np.ndarray, np.ndarray]) -> Claim:
    counts, losses = mixed
    alone = float(np.mean([s.loss for s in random]))
    return Claim(
        sentence="A network whose gates are drawn from a finite set at every input has a structure that wins.",
        source="seed 001, Eq. 91",
        reported="let us assume we are sampling uniformly from a finite set of G gates",
        measured=f"limiting loss {alone:.3f} behind one structure, on average, {losses[-1]:.3f} when drawn from "
        f"{counts[-1]}",
        rule="the loss when drawing is below the mean of single structures",
        basis=f"all states of {SIZE} spins, {len(random)} random structures",
        verdict=decide(losses[-1] < alone),
        expected="does not hold",
        reason="One set of weights must serve all structures: gates v and -v ask for opposite weights, and their "
        "drives average out.",
    )
