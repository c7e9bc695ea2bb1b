"""One neuron on Ising, NLGP(0.01) and Kur(5): marginal, amplifier, trained and integrated fields (figure 3)."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import theory
from .._progress import Update
from .._record import Claim, Figure, Lines, Outcome, Panel, Table, decide
from .._trajectory import Trajectory
from ..analysis import ipr, peak
from ..stimuli import AbstractStimulus, Task
from ._expansions import SLOPE, figure_code, taylor
from ._neuron import authors_start, evolution, orbit, trained_as_authors, worth
from ._seeds import seed_from
from ._tasks import SIZE, ising, kur, nlgp

PIXEL, HEIGHT = 6, 0.41
"""Where figure 3 has its peak on Ising data, and how high the trained one is."""
BATCHES = {"the code's Ising run": 100, "the notebook's": 500, "the others": 10_000}
"""Samples a step behind the figure."""
SIMILAR = 0.2
"""Heights within a fifth of one another look alike in the figure: its two peaks differ by 5%, its flat rows by 100%."""
RULES = ("Eq. 5", "Eq. 5, Taylor", "figure's code")


@dataclass(frozen=True)
class Settings:
    """Steps, rate and orbit batch of training; samples behind a covariance that is estimated, and how many such."""

    steps: int = 2000
    rate: float = 0.05
    batch: int = 128
    samples: int = 100_000
    draws: int = 6


PRESETS = {"quick": Settings(), "paper": Settings(batch=512, draws=20)}


@dataclass(frozen=True)
class Row:
    """One kind of data: the task, the seed the paper shows, the trained fields and the integrated ones."""

    name: str
    task: Task
    seed: int
    trained: Trajectory
    integrated: dict[str, Trajectory]

    @property
    def stimulus(self) -> AbstractStimulus:
        return self.task.stimuli[1]

    @property
    def ends(self) -> dict[str, np.ndarray]:
        """The last field of training and of every integration."""
        both = {"training": self.trained, **self.integrated}
        return {name: np.asarray(path.final[0, 0], float) for name, path in both.items()}


def run(settings: Settings, key: Any, progress: Update) -> Outcome:
    """Train and integrate on the three kinds of data; on Ising data from estimated covariances too."""
    rows = []
    for i, (name, task, seed) in enumerate(
        (("Ising", ising(), 42), ("NLGP(0.01)", nlgp(0.01), 0), ("Kur(5)", kur(5.0), 0))
    ):
        rows.append(_row(name, task, seed, settings, seed_from(jax.random.fold_in(key, i))))
        progress((i + 1) / 4)
    spins = rows[0]
    estimated = _peaks_of_estimated_covariances(spins, settings, jax.random.fold_in(key, len(rows)))
    basis = (
        f"one initialisation (the authors' seed {spins.seed} for Ising, {rows[1].seed} else), {settings.steps} steps "
        f"at rate {settings.rate:g}, each step {orbit(settings.batch)}"
    )
    claims = (
        _peak_claim(spins, estimated, basis, settings),
        _height_claim(spins, basis),
        _similar_claim(spins, basis),
        _flat_claim(rows[1:], basis),
        _negative_claim(rows[1:], basis),
    )
    return Outcome(
        "Figure 3: the amplifier and what it does", _text(rows, basis, settings), (_figure(rows), _table(rows)), claims
    )


def _row(name: str, task: Task, seed: int, settings: Settings, data: int) -> Row:
    trained = trained_as_authors(
        task, steps=settings.steps, batch=settings.batch, rate=settings.rate, seeds=[seed], data_seed=data,
        estimator="orbit", save_every=settings.steps // 20,
    )  # fmt: skip
    amplifiers = (None, taylor(task.stimuli[1]), figure_code(task.stimuli[1]))
    start = authors_start([seed])
    flows = (theory.effective_flow(task, start, times=trained.time, amplifier=phi) for phi in amplifiers)
    return Row(name, task, seed, trained, dict(zip(RULES, flows, strict=True)))


def _peaks_of_estimated_covariances(row: Row, settings: Settings, key: Any) -> np.ndarray:
    """Peaks of the code's integration by its own Euler steps, with covariances from samples as the code has them."""
    keys = jax.random.split(key, (len(row.task.stimuli), settings.draws))
    short, long = (
        np.stack([_estimated(s, k, settings.samples) for k in each])
        for s, each in zip(row.task.stimuli, keys, strict=True)
    )
    phi = figure_code(row.stimulus)

    def step(_, w):
        image = jnp.einsum("dij,dj->di", long, w)
        shrink = image + jnp.einsum("dij,dj->di", short, w)
        pull = phi(image / jnp.sqrt(jnp.sum(w * image, 1, keepdims=True)))
        return w + settings.rate / 2 * (pull - shrink)

    start = jnp.repeat(jnp.asarray(authors_start([row.seed])), settings.draws, 0)
    ends = jax.jit(lambda w: jax.lax.fori_loop(0, settings.steps, step, w))(start)
    return np.sort(np.asarray(peak(ends)))


def _estimated(stimulus: AbstractStimulus, key: Any, samples: int) -> np.ndarray:
    x = stimulus.sample(key, samples)
    return np.asarray(x.T @ x / samples, float)


# Figures --------------------------------------------------------------------------------------------------------------


def _figure(rows: list[Row]) -> Figure:
    panels = tuple(
        (
            _marginal(r),
            _amplifier(r),
            *(evolution(f"{r.name}: {name}", path) for name, path in (("training", r.trained), _first(r))),
            _ends(r),
        )
        for r in rows
    )
    caption = (
        "From left: law of a pixel with its kurtosis; the amplifier with its tangent at 0 and its third-order "
        "expansion; the field during training; the same by Eq. 5; the last fields, with the integration of the "
        "figure's code beside the right one."
    )
    return Figure("Marginal, amplifier and receptive field", panels, tuple(r.name for r in rows), caption)


def _first(row: Row) -> tuple[str, Trajectory]:
    return next(iter(row.integrated.items()))


def _marginal(row: Row) -> Panel:
    law = row.stimulus.marginal
    edges = np.linspace(-3.05, 3.05, 62)
    middles, density = (edges[1:] + edges[:-1]) / 2, np.diff(law.cdf(edges)) / np.diff(edges)
    title = f"law of a pixel, kurtosis {law.excess_kurtosis() + 3:.4g}"
    return Lines(title, middles, {"exact": density}, xlabel="pixel value", ylabel="density")


def _amplifier(row: Row) -> Panel:
    phi = theory.amplifier(row.stimulus)
    a = np.linspace(0, 0.95, 60)
    curves = {"phi": np.asarray(phi(a)), "tangent": SLOPE * a, "Taylor, order 3": np.asarray(phi.taylor(3)(a))}
    return Lines("amplifier", a, curves, xlabel="a", ylabel="phi(a)")


def _ends(row: Row) -> Panel:
    time = row.trained.time[-1]
    return Lines(f"at t = {time:g}", np.arange(SIZE, dtype=float), row.ends, xlabel="pixel", ylabel="weight")


def _table(rows: list[Row]) -> Figure:
    columns = ("data", "how", "peak at", "height", "mean", "IPR")
    lines = tuple((row.name, name, *_described(w)) for row in rows for name, w in row.ends.items())
    return Figure("The last fields in numbers", ((Table("", columns, lines),),))


def _described(w: np.ndarray) -> tuple[Any, ...]:
    return int(peak(w)), f"{np.abs(w).max():.3f}", f"{w.mean():.4f}", f"{float(ipr(w)):.3f}"


# Claims ---------------------------------------------------------------------------------------------------------------


def _text(rows: list[Row], basis: str, settings: Settings) -> str:
    spins, gauss = rows[0].ends, rows[1].ends
    heights = ", ".join(f"{np.abs(spins[rule]).max():.3f} ({rule})" for rule in RULES)
    means = ", ".join(f"{gauss[name].mean():.4f} ({name})" for name in ("training", *RULES))
    flat = ", ".join(f"{float(ipr(row.ends['training'])):.4f} ({row.name})" for row in rows[1:])
    printed = ", ".join(f"{batch:,} ({name})" for name, batch in BATCHES.items())
    return (
        f"Figure 3 sets trained fields beside the integration of Eq. 5, for a law that is strongly super-linear under "
        f"the amplifier (Ising), a Gaussian and a sub-linear one. On Ising data the field has its peak at pixel "
        f"{int(peak(spins['training']))} with height {np.abs(spins['training']).max():.3f}; the integrations end at "
        f"{heights}. On the other two the IPR is {flat}, where a flat field has {1 / SIZE:g}; on the Gaussian the mean "
        f"weight ends at {means}. The figure's code integrates phi where Eq. 5 has phi/2, and leaves out sqrt(2/pi) in "
        f"the cubic term (erratum B-05). The factor 2 doubles every field; twice the height of the third-order "
        f"expansion is {2 * np.abs(spins[RULES[1]]).max():.3f}, and the larger cubic term makes the rest of the "
        f"{np.abs(spins[RULES[2]]).max():.3f} that the code gives. Covariances and kurtoses are exact. Rests on "
        f"{basis}. Such a step is as noisy as {worth(settings.batch)}; it stands in for the figure's batches, "
        f"{printed}, and so is far quieter than the printed Ising runs, in which the noise may choose another pixel."
    )


def _peak_claim(row: Row, estimated: np.ndarray, basis: str, settings: Settings) -> Claim:
    at = {name: int(peak(w)) for name, w in row.ends.items()}
    trained = at["training"] == PIXEL
    off = max(abs(at[rule] - PIXEL) for rule in RULES)
    return Claim(
        sentence=f"On Ising data the integrated field has its peak exactly where the trained one has it, at {PIXEL}.",
        source="seed 004, section 4.2 and figure 3",
        reported=f"both at {PIXEL}",
        measured=f"{', '.join(f'{pixel} ({name})' for name, pixel in at.items())}; the code with estimated "
        f"covariances: {', '.join(map(str, estimated))}",
        rule=f"training and every integration at {PIXEL}; in part: integrations within 1 pixel",
        basis=f"{basis}; covariances exact, and {settings.draws} pairs from {settings.samples:,} samples each",
        verdict=decide(trained and off == 0, trained and off <= 1),
        expected="holds in part",
        reason="The integrated field is two pixels wide, with weights that hardly differ; covariances estimated from "
        "samples, as the figure's code has them, move its peak.",
    )


def _height_claim(row: Row, basis: str) -> Claim:
    end = theory.localized_attractor(row.task)
    heights = [float(np.abs(w).max()) for w in (row.ends["training"], end.field)]
    return Claim(
        sentence="On Ising data the trained field is localized.",
        source="seed 004, figure 3",
        reported=f"height {HEIGHT:g}, read off the figure",
        measured="height {:.4f} (training), {:.4f} (closed form of the exact steady state)".format(*heights)
        + f"; IPR {float(ipr(row.ends['training'])):.3f}, closed form {end.ipr:.3f}",
        rule=f"both heights within 0.01 of {HEIGHT:g}, the precision of the reading, and dominated by one weight",
        basis=basis,
        verdict=decide(max(abs(h - HEIGHT) for h in heights) < 0.01 and end.dominates),
        expected="holds",
    )


def _similar_claim(row: Row, basis: str) -> Claim:
    trained, right = (row.ends[name] for name in ("training", "Eq. 5, Taylor"))
    ratio = {rule: float(np.abs(row.ends[rule]).max() / np.abs(trained).max()) for rule in RULES}
    near = abs(int(peak(right)) - int(peak(trained))) <= 1
    return Claim(
        sentence="Eq. 5 with a third-order expansion yields a localized field similar to the trained one.",
        source="seed 004, section 4.1 and figure 3",
        reported="similar; height 0.43 in the figure",
        measured=f"height over that of training: {', '.join(f'{r:.2f} ({name})' for name, r in ratio.items())}; IPR "
        f"{', '.join(f'{float(ipr(w)):.3f} ({name})' for name, w in row.ends.items())}",
        rule=f"height within {SIMILAR:.0%} of training's and peak within 1 pixel; in part: the peak alone",
        basis=basis,
        verdict=decide(near and abs(ratio["Eq. 5, Taylor"] - 1) < SIMILAR, near),
        expected="holds in part",
        reason="The flow is built for fields that no pixel dominates; the right height in the figure comes from a "
        "factor 2 and a cubic term without sqrt(2/pi) in its code (erratum B-05).",
    )


def _flat_claim(rows: list[Row], basis: str) -> Claim:
    level = 2 / SIZE
    found = {row.name: float(ipr(row.ends["training"])) for row in rows}
    excess = ", ".join(f"{row.name} {row.stimulus.marginal.excess_kurtosis():+.4f}" for row in rows)
    return Claim(
        sentence="On NLGP(0.01) and Kur(5) data the field does not localize.",
        source="seed 004, section 4.1 and figure 3",
        reported="oscillatory weights, because of positive excess kurtosis",
        measured=f"IPR {', '.join(f'{name} {value:.4f}' for name, value in found.items())}; excess kurtosis {excess}",
        rule=f"both IPRs below {level:g}, twice that of a flat field",
        basis=basis,
        verdict=decide(max(found.values()) < level),
        expected="holds",
        reason="For NLGP(0.01) not because of positive kurtosis: its excess is slightly negative.",
    )


def _negative_claim(rows: list[Row], basis: str) -> Claim:
    ratios = {row.name: {rule: row.ends[rule].mean() / row.ends["training"].mean() for rule in RULES} for row in rows}
    shown = "; ".join(f"{n}: " + ", ".join(f"{v:.3f} ({rule})" for rule, v in r.items()) for n, r in ratios.items())
    return Claim(
        sentence="Eq. 5 ends more negative than training, because it holds early in training only.",
        source="seed 004, section 4.1",
        reported="more negative in both flat rows",
        measured=f"mean over that of training: {shown}",
        rule=f"integrating Eq. 5 with its expansion gives a mean at least {SIMILAR / 2:.0%} beyond training's, in both",
        basis=basis,
        verdict=decide(all(r["Eq. 5, Taylor"] > 1 + SIMILAR / 2 for r in ratios.values())),
        expected="does not hold",
        reason="Eq. 5 gives the trained value; the figure's code has a factor 2 too much (erratum B-05).",
    )
