"""When the flat field gives way: the predicted threshold in gain and k, training on both sides of it, and what follows.

The effective flow is linearised at the flat field: a threshold in closed form. Training near the flat field shows how
fast its perturbations really grow. Steady states followed from the localized side show how they join.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import theory
from .._progress import Update
from .._record import Claim, Figure, Lines, Outcome, Scatter, decide
from ..networks import Given
from ..stimuli import Task
from ._neuron import NEURON
from ._seeds import seed_from
from ._tasks import NARROW, SIZE, WIDE, kur, nlgp
from ._train import train
from ._words import listed

PAIRS = (WIDE, (1.0, 2.0), NARROW)
FIXED_GAIN = 0.25
"""At which the lengthscale is followed."""
LINEAR = 0.02
"""Share of power off the flat field up to which a perturbation counts as small: what is neglected is of this order."""


@dataclass(frozen=True)
class Settings:
    """Gains and k on both sides of the threshold, the training from a perturbed flat field, and the branches."""

    gains: tuple[float, ...] = (0.05, 0.4)
    ks: tuple[float, ...] = (5.0, 8.0)
    wave: float = 0.01
    """Share of power of the slowest wave at the start."""
    seeds: int = 12
    steps: int = 400
    batch: int = 1_024
    rate: float = 0.05
    save_every: int = 10
    points: int = 8


PRESETS = {
    "quick": Settings(),
    "paper": Settings((0.15, 0.2, 0.25, 0.3, 0.4), (5.3, 5.6, 5.8, 6.0, 6.5), seeds=16, steps=600, points=25),
}


def run(settings: Settings, key: Any, progress: Update) -> Outcome:
    """Thresholds, training around them, and the branches that leave the flat one."""
    seed = seed_from(key)
    thresholds = [(theory.critical_gain(*pair, SIZE), theory.critical_k(*pair, SIZE)) for pair in PAIRS]
    families = {
        "NLGP": (np.array(settings.gains), [nlgp(gain) for gain in settings.gains], thresholds[0][0]),
        "Kur": (np.array(settings.ks), [kur(k) for k in settings.ks], thresholds[0][1]),
    }
    trained = {}
    for i, (name, (_, tasks, _)) in enumerate(families.items()):
        trained[name] = _train(tasks, settings, seed)
        progress((i + 1) / 4)
    branches = _branches(settings)
    return Outcome(
        title="The threshold of localization",
        text=_text(thresholds, families, trained, settings),
        figures=(_thresholds_figure(families, trained), _bifurcations(branches)),
        claims=(_sign_claim(thresholds), _training_claim(families, trained, settings), _onset_claim(branches)),
    )


# Training from the flat field -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """Networks that start near the flat field, one row a setting."""

    rate: np.ndarray
    """Growth rate of the slowest wave while perturbations are small, and its standard error over networks."""
    error: np.ndarray
    share: np.ndarray
    """Share of the final field's power that is not flat, (setting, seed)."""


def _train(tasks: list[Task], settings: Settings, seed: int) -> Trained:
    turns = np.arange(SIZE) / SIZE + np.random.default_rng(seed).uniform(size=(settings.seeds, 1, 1))
    wave = np.sqrt(2 * settings.wave / (1 - settings.wave)) * np.cos(2 * np.pi * turns)
    starts = [Given(theory.flat_height(task) * (1 + wave)) for task in tasks]
    run = train(
        tasks, NEURON, steps=settings.steps, batch=settings.batch, rate=settings.rate, seeds=settings.seeds,
        init=starts, data_seed=seed, estimator="orbit", stream="independent", save_every=settings.save_every,
    )  # fmt: skip
    waves = np.fft.fft(run.weights[..., 0, :])
    power = np.abs(waves) ** 2
    share = 1 - power[..., 0] / power.sum(-1)
    interval = settings.save_every * settings.rate
    found = [_growth_rate(wave, small, interval) for wave, small in zip(waves[..., 1], share < LINEAR, strict=True)]
    rate, error = (np.array(column) for column in zip(*found, strict=True))
    return Trained(rate, error, share[..., -1])


def _growth_rate(wave: np.ndarray, small: np.ndarray, interval: float) -> tuple[float, float]:
    """The rate r in wave(t + interval) = exp(r interval) wave(t) + noise, by least squares over all networks.

    Noise moves the mean of log wave(t), but not this regression, as it has mean 0 wherever the wave is. The standard
    error is the jackknife's over networks.
    """
    before, after = wave[:, :-1], wave[:, 1:]
    common = np.sum(np.real(before.conj() * after) * small[:, :-1], axis=1)
    square = np.sum(np.abs(before) ** 2 * small[:, :-1], axis=1)
    without = np.log((common.sum() - common) / (square.sum() - square)) / interval
    error = np.sqrt((len(without) - 1) * without.var())
    return float(np.log(common.sum() / square.sum()) / interval), float(error)


def growth(tasks: Sequence[Task]) -> np.ndarray:
    """The growth rate of the slowest wave that the effective flow predicts at the flat field, one per task."""
    return np.array([theory.flat_growth_rates(task)[1] for task in tasks])


def _thresholds_figure(families: dict, trained: dict[str, Trained]) -> Figure:
    rows = []
    for name, (values, tasks, critical) in families.items():
        label = "gain" if name == "NLGP" else "k"
        marks = {f"threshold {critical:.3f}": critical}
        seen = trained[name]
        rates = Scatter(
            f"{name}: growth of the slowest wave",
            {"predicted": (values, growth(tasks), None), "trained": (values, seen.rate, seen.error)},
            xlabel=label,
            ylabel="rate at the flat field",
            marks=marks,
        )
        after = Scatter(
            f"{name}: after training",
            {"trained networks": (values, seen.share.mean(1), seen.share.std(1))},
            xlabel=label,
            ylabel="share of power not flat",
            logy=True,
            marks=marks,
        )
        rows.append((rates, after))
    return Figure("Growth at the flat field, predicted and trained", tuple(rows), tuple(families))


# Steady states --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Continued:
    """The localized steady states along one setting, from far to the flat branch."""

    name: str
    branch: theory.Branch
    critical: float

    def flat_is_stable(self, value: float) -> bool:
        """Flat fields are stable on the far side of the threshold, to which the branch leads."""
        return bool((value - self.critical) * (self.branch.value[-1] - self.critical) > 0)


def _branches(settings: Settings) -> list[Continued]:
    gain, k = theory.critical_gain(*WIDE, SIZE), theory.critical_k(*WIDE, SIZE)
    length = theory.critical_value(_longer, 2.0, 4.5)
    lines = {
        "gain of NLGP": (nlgp, 3.0, gain),
        "k of Kur": (kur, 12.0, k),
        f"long lengthscale, gain {FIXED_GAIN:g}": (_longer, 1.4, length),
    }
    return [
        Continued(name, theory.continue_branch(tasks, _towards(far, critical, settings.points), _bump()), critical)
        for name, (tasks, far, critical) in lines.items()
    ]


def _towards(far: float, critical: float, points: int) -> np.ndarray:
    """From far off up to the threshold, denser there as a square root wants it, and one point beyond."""
    shares = np.append(np.linspace(1, 0.05, points - 1) ** 2, -0.02)
    return critical + (far - critical) * shares


def _longer(lengthscale: float) -> Task:
    return nlgp(FIXED_GAIN, (1.0, lengthscale))


def _bump() -> np.ndarray:
    distance = np.minimum(np.arange(SIZE), SIZE - np.arange(SIZE))
    return 0.3 * np.exp(-(distance**2) / 8.0)


def _bifurcations(branches: list[Continued]) -> Figure:
    return Figure("Bifurcation diagrams of the effective flow", tuple((_diagram(b), _profiles(b)) for b in branches))


def _diagram(line: Continued) -> Lines:
    value, flat = line.branch.value, np.full(len(line.branch.value), 1 / SIZE)
    order = np.argsort(value)
    holds = np.array([line.flat_is_stable(one) for one in value[order]])
    return Lines(
        "steady states",
        value[order],
        {
            "followed from afar": line.branch.ipr[order],
            "flat, stable": np.where(holds, flat, np.nan),
            "flat, unstable": np.where(holds, np.nan, flat),
        },
        xlabel=line.name,
        ylabel="IPR",
        logx=bool(value.max() > 5 * value.min()),
        marks={f"threshold {line.critical:.3f}": line.critical},
    )


def _profiles(line: Continued) -> Lines:
    chosen = (0, len(line.branch.value) // 2, len(line.branch.value) - 1)
    centred = {f"{line.branch.value[i]:.3g}": np.roll(line.branch.field[i], SIZE // 2) for i in chosen}
    return Lines("fields along the branch", np.arange(SIZE) - SIZE / 2, centred, xlabel="distance from the peak")


# Words ----------------------------------------------------------------------------------------------------------------


def _text(
    thresholds: list[tuple[float, float]], families: dict, trained: dict[str, Trained], settings: Settings
) -> str:
    gain, k = thresholds[0]
    nlgps, kurs = (listed(trained[family].share.mean(1), ".3f") for family in ("NLGP", "Kur"))
    return (
        "The paper says that no explicit threshold can be had. The effective flow has one: linearised at the flat "
        "field, a wave grows if the elasticity of the amplifier, a phi'(a)/phi(a), exceeds a ratio of eigenvalues. For "
        f"lengthscales {PAIRS[0]} on {SIZE} pixels that is at gain {gain:.3f} for NLGP, where the excess kurtosis is "
        f"{_excess(nlgp(gain)):+.3f}, and at k = {k:.3f} for Kur, where it is {_excess(kur(k)):+.3f}. Networks trained "
        f"from a flat field with {settings.wave:.0%} of its power in the slowest wave show how fast that wave grows or "
        f"decays while it is small; the share of power that is not flat ends at {nlgps} (NLGP) and {kurs} (Kur) "
        f"from the lowest to the highest setting. {_offset(families, trained)} "
        "Followed down from strong non-Gaussianity the localized state widens and joins the flat one."
    )


def _excess(task: Task) -> float:
    return task.stimuli[1].marginal.excess_kurtosis()


def _offset(families: dict, trained: dict[str, Trained]) -> str:
    apart = np.concatenate([trained[name].rate - growth(tasks) for name, (_, tasks, _) in families.items()])
    error = np.sqrt(np.mean(np.concatenate([seen.error**2 for seen in trained.values()])) / len(apart))
    return (
        f"On average the rates lie {apart.mean():+.3f} +- {error:.3f} off the predicted ones, which is how far the "
        "effective flow can be trusted this near to the threshold."
    )


def _sign_claim(thresholds: list[tuple[float, float]]) -> Claim:
    pairs = [(_excess(nlgp(gain)), _excess(kur(k))) for gain, k in thresholds]
    listed = "; ".join(
        f"lengthscales {pair}: gain {gain:.3f} (excess {a:+.3f}), k {k:.3f} (excess {b:+.3f})"
        for pair, (gain, k), (a, b) in zip(PAIRS, thresholds, pairs, strict=True)
    )
    return Claim(
        sentence="The sign of the excess kurtosis decides whether the field localizes.",
        source="seed 004, appendix B.1",
        reported="to a first approximation, the sign of the excess kurtosis decides between the two",
        measured=listed,
        rule="the thresholds of both families lie at excess kurtosis 0 within 0.01",
        basis="closed form, no samples",
        verdict=decide(all(abs(excess) < 0.01 for pair in pairs for excess in pair)),
        expected="does not hold",
        reason="At finite N the elasticity is taken at a0 > 0, where more than the fourth moment counts, and a wave "
        "must also outgrow the difference of the covariances (erratum B-10). The sign is a good first guess.",
    )


def _training_claim(families: dict, trained: dict[str, Trained], settings: Settings) -> Claim:
    parts, right, known = [], [], []
    for name, (values, tasks, _) in families.items():
        predicted, seen = growth(tasks), trained[name]
        clear = np.abs(seen.rate) > 2 * seen.error
        right.append(np.all(seen.rate[clear] * predicted[clear] > 0))
        known.append(np.any(clear & (predicted > 0)) and np.any(clear & (predicted < 0)))
        rows = zip(values, seen.rate, seen.error, predicted, strict=True)
        parts.append(f"{name} " + ", ".join(f"{v:g}: {r:+.3f} +- {e:.3f} ({p:+.3f})" for v, r, e, p in rows))
    return Claim(
        sentence="Perturbations of the flat field grow on one side of the predicted threshold and not on the other.",
        source="seed 004, section 3.2 (an explicit condition is called impossible)",
        reported="no threshold given",
        measured=f"growth rate of the slowest wave (predicted): {'; '.join(parts)}",
        rule="in both families every rate more than 2 standard errors from zero has the predicted sign, and there are "
        "such rates on both sides; in part: in one family",
        basis=f"{settings.seeds} networks a setting, each with data of its own, {settings.steps} steps, each the orbit "
        f"of {settings.batch} samples, as long as the power off the flat field is below {LINEAR:.0%}",
        verdict=decide(all(right) and all(known), any(r and k for r, k in zip(right, known, strict=True))),
        expected="holds",
    )


def _onset_claim(branches: list[Continued]) -> Claim:
    joins = [_ipr_at_threshold(line) * SIZE for line in branches]
    stable = all(line.branch.stable.all() for line in branches)
    falls = all(np.all(np.diff(line.branch.ipr) < 1e-6) for line in branches)
    listed = "; ".join(
        f"{line.name}: from {line.branch.ipr[0] * SIZE:.1f} to {join:.2f}"
        for line, join in zip(branches, joins, strict=True)
    )
    return Claim(
        sentence="Beyond the threshold a localized steady state leaves the flat one continuously.",
        source="seed 004, appendix B.2 (steady states are called unsolvable)",
        reported="not given",
        measured=f"IPR in units of the flat field's, from the far end to the threshold: {listed}",
        rule="along gain, k and lengthscale the branch is stable, falls all the way, and has at most 1.5 times the "
        "flat field's IPR, which is that of a single wave on a flat field, where it meets the threshold; in part: it "
        "is stable",
        basis=f"{sum(len(line.branch.value) for line in branches)} steady states by root finding, no samples",
        verdict=decide(stable and falls and max(joins) < 1.5, stable),
        expected="holds",
    )


def _ipr_at_threshold(line: Continued) -> float:
    """At the last point before it, a four-hundredth of the way."""
    return float(line.branch.ipr[-2])
