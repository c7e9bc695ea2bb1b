"""Probability dominance: which field makes the long lengthscale drive it harder than the short one most often?"""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .._progress import Update
from .._record import Claim, Fields, Figure, Outcome, Points, Scatter, Table, decide
from ..stimuli import Gaussian, Task
from ..theory import (
    DominanceRow,
    ascend_dominance,
    compare_dominance,
    difference_of_means,
    gabor_candidates,
)
from ._seeds import seed_from
from ._single_neurons import centred, final_fields
from ._tasks import SIZE, WIDE, binary, nlgp

GAINS = {"Gaussian": 0.01, "gain 100": 100.0}
LOCAL = ("bump(1)", "bump(2)", "gabor(1, 16)", "one pixel's gate")
"""Localized fields; the Gabor is a bump with weak flanks of the other sign."""
CLOSE = 0.001
"""Of a probability in closed form: a trained field keeps some noise, which costs it less than this."""


@dataclass(frozen=True)
class Settings:
    """Samples for probabilities, training of the neurons to compare, length of the ascent on the objective itself."""

    samples: int = 30_000
    seeds: int = 2
    steps: int = 3000
    batch: int = 128
    ascent: int = 400


PRESETS = {"quick": Settings(), "paper": Settings(samples=400_000, seeds=5, batch=256, ascent=3000)}

Rows = dict[str, DominanceRow]


def run(settings: Settings, key: Any, progress: Update) -> Outcome:
    """Candidates, trained neurons and optimised fields, at one place and averaged over places."""
    learned = final_fields(
        [nlgp(gain) for gain in GAINS.values()], jax.random.fold_in(key, 0), seeds=settings.seeds,
        steps=settings.steps, batch=settings.batch, rate=0.1,
    )  # fmt: skip
    progress(0.3)
    fields, tables = {}, {}
    for i, (name, task) in enumerate(dominance_tasks().items()):
        part = jax.random.fold_in(key, i + 1)
        fields[name] = _candidates(task, learned[i], settings, part)
        rows = compare_dominance(task, fields[name], samples=settings.samples, seed=seed_from(part))
        tables[name] = {row.name: row for row in rows}
        progress(0.3 + 0.35 * (i + 1))
    return Outcome(
        title="Probability dominance",
        text=_text(tables, settings),
        figures=(_figure(tables, fields), _table(tables)),
        claims=(
            _equivalence_claim(tables, settings),
            _constant_claim(tables["Gaussian"], settings),
            _gabor_claim(tables, settings),
            _learned_claim(tables, settings),
        ),
    )


def dominance_tasks() -> dict[str, Task]:
    return {"Gaussian": binary(*(Gaussian(SIZE, xi) for xi in WIDE)), "gain 100": nlgp(GAINS["gain 100"])}


def _candidates(task: Task, learned: np.ndarray, settings: Settings, key: Any) -> dict[str, np.ndarray]:
    """Fields to compare, by name; the optimised ones start at random and at what a neuron has learned."""
    gabors = gabor_candidates((SIZE,), widths=(1.0, 2.0), periods=(np.inf, 16.0, 8.0))
    starts = np.concatenate([np.asarray(jax.random.normal(key, (1, SIZE))), learned[:1]])
    climbed = ascend_dominance(task, starts, steps=settings.ascent, batch=1000, rate=0.005, seed=seed_from(key))
    low, high = (s.covariance_matrix() for s in task.stimuli)
    return {
        "constant": np.ones(SIZE),
        **gabors,
        "one pixel's gate": np.linalg.solve(low + high, high[:, SIZE // 2]),
        **{f"learned {i + 1}": field for i, field in enumerate(learned)},
        **{f"optimised from {n}": f for n, f in zip(("noise", "learned"), climbed.final[:, 0], strict=True)},
    }


def _best(rows: Rows, names: Any = None) -> DominanceRow:
    return max((rows[name] for name in names or rows), key=lambda row: row.pointwise)


def _mean_learned(rows: Rows) -> tuple[float, float]:
    """Dominance at one place of the trained neurons, mean and standard error of a single one."""
    found = [row for name, row in rows.items() if name.startswith("learned")]
    return float(np.mean([row.pointwise for row in found])), max(row.pointwise_error for row in found)


def _missing(rows: Rows) -> tuple[float, float]:
    """How far the trained neurons are below the best of all fields, and what would be noise."""
    own, error = _mean_learned(rows)
    best = _best(rows)
    noise = np.hypot(error, best.pointwise_error)
    return best.pointwise - own, float(5 * noise if noise > 0 else CLOSE)


def _text(tables: dict[str, Rows], settings: Settings) -> str:
    sharp, smooth = tables["gain 100"], tables["Gaussian"]
    waves, flat = sharp["gabor(2, 8)"].pointwise, sharp["constant"].pointwise
    found = [name for name, rows in tables.items() if _missing(rows)[0] < _missing(rows)[1]]
    prefers = "prefers" if smooth["bump(2)"].averaged > smooth["constant"].averaged else "does not prefer"
    return (
        "Seed 002 proposes that a unit looks for the field w that maximises P(|<w,X1>| > |<w,X0>|) (Eq. 9), notes "
        "that the difference of variances asks for the constant, and wants to know whether Gabors are better. At "
        f"gain {GAINS['gain 100']:g} a narrow bump reaches {sharp['bump(1)'].pointwise:.3f}, with weak flanks "
        f"{sharp['gabor(1, 16)'].pointwise:.3f}, the field behind one pixel's gate "
        f"{sharp[LOCAL[3]].pointwise:.3f} and a trained ReLU neuron {_mean_learned(sharp)[0]:.3f}, the constant "
        f"{sharp['constant'].pointwise:.3f} (standard errors {sharp['constant'].pointwise_error:.3f}, "
        f"{settings.samples:,} pairs). A Gabor that oscillates within its window (width 2, period 8) is "
        f"{'better' if waves > flat else 'no better'} than the constant ({waves:.3f}). On Gaussian data, in closed "
        f"form, the constant has {smooth['constant'].pointwise:.4f}, the best of all fields "
        f"{_best(smooth).pointwise:.4f} and a trained neuron {_mean_learned(smooth)[0]:.4f}. Ascent on Eq. 9 itself "
        f"from noise ends at {sharp['optimised from noise'].pointwise:.3f} at the high gain, with a field of IPR "
        f"{sharp['optimised from noise'].ipr:.2f}. Training finds the field of largest dominance, as far as it can be "
        f"told, on {len(found)} of {len(tables)} data ({', '.join(found) or 'none'}). Eq. 6, the average over places "
        f"from which Eq. 9 is said to follow, {prefers} a localized field on Gaussian data "
        f"({smooth['bump(2)'].averaged:.2f} against {smooth['constant'].averaged:.2f} for the constant). Only named "
        "candidates and two ascents were compared, not all fields."
    )


# Figures -------------------------------------------------------------------------------------------------------------


def _figure(tables: dict[str, Rows], fields: dict[str, dict[str, np.ndarray]]) -> Figure:
    rows = []
    for name, table in tables.items():
        shown = ("constant", "bump(1)", "gabor(2, 8)", "one pixel's gate", "learned 1", "optimised from noise")
        groups: dict[str, Points] = {
            n: (np.array([table[n].pointwise]), np.array([table[n].averaged]), np.array([table[n].averaged_error]))
            for n in shown
        }
        scatter = Scatter(f"{name}: two objectives", groups, xlabel="at one place (Eq. 9)", ylabel="averaged (Eq. 6)")
        curves = centred(np.stack([fields[name][n] / np.linalg.norm(fields[name][n]) for n in shown[4:]]))
        rows.append((scatter, Fields(f"{name}: fields", curves, ("learned", "optimised"))))
    return Figure("Probability dominance of fields", tuple(rows))


def _table(tables: dict[str, Rows]) -> Figure:
    rows = tuple(
        (name, row.name, f"{row.pointwise:.4f} +- {row.pointwise_error:.4f}",
         f"{row.averaged:.4f} +- {row.averaged_error:.4f}", f"{row.ipr:.3f}")
        for name, table in tables.items()
        for row in table.values()
    )  # fmt: skip
    columns = ("data", "field", "at one place (Eq. 9)", "averaged over places (Eq. 6)", "IPR")
    return Figure("Dominance, highest at one place first", ((Table("", columns, rows),),))


# Claims --------------------------------------------------------------------------------------------------------------


def _equivalence_claim(tables: dict[str, Rows], settings: Settings) -> Claim:
    rows = tables["Gaussian"]
    flat, bump = rows["constant"], rows["bump(2)"]
    return Claim(
        sentence="Maximising the chance that averages over places differ (Eq. 6) is maximising it at one place (Eq. "
        "9).",
        source="seed 002, Eqs. 6 to 9",
        reported="we can (I think) rewrite this",
        measured=f"Gaussian data, constant and bump of width 2: at one place {flat.pointwise:.3f} and "
        f"{bump.pointwise:.3f}, averaged {flat.averaged:.3f} and {bump.averaged:.3f} (+- {bump.averaged_error:.3f})",
        rule="both objectives order the two fields alike",
        basis=f"closed form at one place; {settings.samples:,} pairs of samples for averages",
        verdict=decide((flat.pointwise > bump.pointwise) == (flat.averaged > bump.averaged)),
        expected="does not hold",
        reason="An average over places is less variable for a localized field: it has many places to average over "
        "(erratum B-18b).",
    )


def _constant_claim(rows: Rows, settings: Settings) -> Claim:
    eigenvector = difference_of_means(dominance_tasks()["Gaussian"])[1]
    spread = float(np.ptp(eigenvector) / np.abs(eigenvector).max())
    best = _best(rows)
    return Claim(
        sentence="The leading eigenvector of K1 - K0 is the constant, and on Gaussian data it has the largest "
        "dominance.",
        source="seed 002, 'Difference in means' and 'Gaussian data'",
        reported="the constant function; the integral is left standing",
        measured=f"eigenvector constant within {spread:.0e}; dominance (2/pi) atan(s1/s0) = "
        f"{rows['constant'].pointwise:.4f}, the best of {len(rows)} fields {best.pointwise:.4f} ({best.name})",
        rule="the eigenvector varies by less than 1e-6, and no other field is above the constant by more than 1e-9",
        basis=f"closed form; fields optimised in {settings.ascent} steps among them",
        verdict=decide(spread < 1e-6 and best.pointwise < rows["constant"].pointwise + 1e-9),
        expected="holds",
    )


def _gabor_claim(tables: dict[str, Rows], settings: Settings) -> Claim:
    gaps = {}
    for name, rows in tables.items():
        best, flat = _best(rows, LOCAL[:3]), rows["constant"]
        gaps[name] = (best, best.pointwise - flat.pointwise, np.hypot(best.pointwise_error, flat.pointwise_error))
    better = [gap > 5 * error for _, gap, error in gaps.values()]
    return Claim(
        sentence="Gabor-like fields have a larger dominance than the constant.",
        source="seed 002, end of section 2",
        reported="to be tested",
        measured="; ".join(f"{n}: {b.name} {gap:+.4f} +- {error:.4f}" for n, (b, gap, error) in gaps.items()),
        rule="the best of three localized Gabors beats the constant by 5 standard errors on both data (in part: at "
        "gain 100)",
        basis=f"{settings.samples:,} pairs of samples at gain 100, closed form for Gaussian data",
        verdict=decide(all(better), better[1]),
        expected="holds in part",
        reason="Only where pixels are far from Gaussian; and the better ones are bumps rather than oscillations.",
    )


def _learned_claim(tables: dict[str, Rows], settings: Settings) -> Claim:
    found = {name: _missing(rows) for name, rows in tables.items()}
    return Claim(
        sentence="Training finds the field of largest dominance at one place.",
        source="seed 002, Eq. 9",
        reported="the optimization problem the model is solving",
        measured="; ".join(
            f"{name}: learned {_mean_learned(tables[name])[0]:.4f}, best of all {_best(tables[name]).pointwise:.4f} "
            f"({_best(tables[name]).name}), noise up to {noise:.4f}"
            for name, (_, noise) in found.items()
        ),
        rule="no field, optimised ones included, is above the trained neurons by 5 standard errors, or by "
        f"{CLOSE} where probabilities are exact",
        basis=f"{settings.seeds} trained neurons on each data, {settings.samples:,} pairs of samples at gain 100",
        verdict=decide(all(gap < noise for gap, noise in found.values())),
        expected="holds",
    )
