"""Elliptical data do not localize: trained fields, the waves fitted to them, and the population flow (figure 4)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .. import theory
from .._record import Claim, Fields, Figure, Lines, Outcome, Panel, Table, decide
from .._trajectory import Trajectory
from ..analysis import fit_sinusoid, ipr
from ..networks import Authors
from ..stimuli import AbstractRadial, Elliptical, RadialStudentT, Shell, Surface, Task
from ..training import train
from ._neuron import NEURON, authors_start
from ._seeds import seed_from
from ._tasks import SIZE, WIDE, binary

ROUGH = 0.15
"""Relative error up to which a field counts as a sinusoid: half as much again as the largest that is reported."""


@dataclass(frozen=True)
class Law:
    """An elliptical law with the settings of its run: the authors' seed, scale of the start, rate, batch and steps."""

    name: str
    radial: AbstractRadial
    reported: float
    seed: int
    scale: float
    rate: float
    batch: int
    steps: int


LAWS = (
    Law("Student t, df 3", RadialStudentT(3.0), 0.0977, seed=0, scale=1.0, rate=0.01, batch=1000, steps=10_000),
    Law("surface", Surface(), 0.0375, seed=0, scale=1e-3, rate=0.05, batch=10_000, steps=5000),
    Law("shell", Shell(), 0.0414, seed=42, scale=1e-3, rate=0.05, batch=10_000, steps=5000),
)


@dataclass(frozen=True)
class Settings:
    """Steps, and runs with their own start and data, for each of the three laws."""

    steps: tuple[int, ...] = (2400, 600, 600)
    runs: tuple[int, ...] = (2, 1, 1)


PRESETS = {"quick": Settings(), "paper": Settings(steps=tuple(law.steps for law in LAWS), runs=(4, 1, 1))}


@dataclass(frozen=True)
class Case:
    """One law: training, population flow, and the closed form of where that ends."""

    law: Law
    task: Task
    trained: Trajectory
    flow: Trajectory
    height: float

    @property
    def last(self) -> np.ndarray:
        """The trained field of the authors' seed."""
        return np.asarray(self.trained.final[0, 0], float)

    def errors(self, *, offset: bool = True) -> np.ndarray:
        """Relative error of the best wave, (run, time) without the start."""
        return np.asarray(fit_sinusoid(self.trained.weights[:, 1:, 0], offset=offset).error)

    @property
    def late(self) -> np.ndarray:
        """Errors of all runs in the second half of training."""
        errors = self.errors()
        return errors[:, errors.shape[1] // 2 :].ravel()


def run(settings: Settings, key: Any, progress: Callable[[float], None]) -> Outcome:
    """Train on each law as the paper's notebook does, and follow the population flow from the same weights."""
    cases = []
    for i, law in enumerate(LAWS):
        cases.append(_case(law, settings.steps[i], settings.runs[i], seed_from(jax.random.fold_in(key, i))))
        progress((i + 1) / len(LAWS))
    basis = "; ".join(
        f"{c.law.name}: {runs} run{'s' * (runs > 1)} of {steps} steps at rate {c.law.rate:g}, batch {c.law.batch:,}"
        for c, runs, steps in zip(cases, settings.runs, settings.steps, strict=True)
    )
    claims = (
        _sinusoid_claim(cases, basis),
        *(_error_claim(case, basis) for case in cases),
        _period_claim(cases[0], basis),
        _constant_claim(cases[1], basis),
    )
    return Outcome("Elliptical data", _text(cases, basis), (_figure(cases), _table(cases)), claims)


def _case(law: Law, steps: int, runs: int, data: int) -> Case:
    task = binary(*(Elliptical(SIZE, lengthscale, law.radial) for lengthscale in WIDE))
    trained = train(
        task,
        NEURON,
        steps=steps,
        batch=law.batch,
        rate=law.rate,
        seeds=list(range(law.seed, law.seed + runs)),
        data_seed=data,
        init=Authors(law.scale),
        stream="independent",
        save_every=steps // 40,
        record=(),
        progress=False,
    )
    flow = theory.exact_flow(task, NEURON, authors_start([law.seed], scale=law.scale), times=trained.time)
    height = float(theory.mode_fixed_points(task).amplitude[0] / np.sqrt(SIZE))
    return Case(law, task, trained, flow, height)


# Figures --------------------------------------------------------------------------------------------------------------


def _figure(cases: list[Case]) -> Figure:
    rows = tuple(
        (_evolution(c.trained, "training"), _evolution(c.flow, "population flow"), _end(c), _over_time(c))
        for c in cases
    )
    caption = (
        "From left: the field during training with plain batches; the same on the population loss; the last fields "
        "with the best wave of at least one cycle plus a constant; the relative error of that wave over time."
    )
    return Figure("Three elliptical laws", rows, tuple(c.law.name for c in cases), caption)


def _evolution(path: Trajectory, title: str) -> Panel:
    moments = np.unique(np.geomspace(2, len(path.time) - 1, 4).astype(int))
    labels = tuple(f"t = {path.time[m]:g}" for m in moments)
    return Fields(title, path.weights[0, moments, 0], labels)


def _end(case: Case) -> Panel:
    curves = {
        "training": case.last,
        "fitted wave": np.asarray(fit_sinusoid(case.last).field),
        "population flow": case.flow.final[0, 0],
    }
    title = f"at t = {case.trained.time[-1]:g}"
    return Lines(title, np.arange(SIZE, dtype=float), curves, xlabel="pixel", ylabel="weight")


def _over_time(case: Case) -> Panel:
    errors = case.errors()
    curves = {f"run {i + 1}": run for i, run in enumerate(errors)}
    curves["reported"] = np.full(errors.shape[1], case.law.reported)
    return Lines("error of the wave", case.trained.time[1:], curves, xlabel="time (steps x rate)", logy=True)


def _table(cases: list[Case]) -> Figure:
    columns = (
        "law", "error reported", "with constant", "pure mode", "late errors, 5% to 95%", "mean weight",
        "population flow", "closed form", "IPR",
    )  # fmt: skip
    rows = tuple(
        (
            c.law.name, _percent(c.law.reported), _percent(c.errors()[0, -1]), _percent(c.errors(offset=False)[0, -1]),
            " to ".join(map(_percent, np.quantile(c.late, (0.05, 0.95)))), f"{c.last.mean():+.4f}",
            f"{c.flow.final.mean():+.4f}", f"{c.height:.4f}", f"{float(ipr(c.last)):.3f}",
        )
        for c in cases
    )  # fmt: skip
    return Figure("Errors and heights", ((Table("", columns, rows),),))


def _percent(value: Any) -> str:
    return f"{100 * value:.2f}%"


# Claims ---------------------------------------------------------------------------------------------------------------


def _text(cases: list[Case], basis: str) -> str:
    heavy, surface, shell = cases
    points = theory.mode_fixed_points(heavy.task)
    return (
        f"Figure 4 trains one neuron on three elliptical laws and fits sinusoids to the ends. On the population loss "
        f"all three end constant, at {heavy.height:.4f}, {surface.height:.4f} and {shell.height:.4f} in closed form. "
        f"Training in batches leaves errors of {_percent(surface.errors()[0, -1])} (surface) and "
        f"{_percent(shell.errors()[0, -1])} (shell) about the best wave, where {_percent(surface.law.reported)} and "
        f"{_percent(shell.law.reported)} are reported: the noise of training. On the Student t the gradient of a batch "
        f"has infinite variance: in the second half of training the error is {_percent(np.median(heavy.late))} in the "
        f"median, {_percent(heavy.late.min())} at best, and {_percent(heavy.law.reported)} is reported. The sinusoid "
        f"of period 1 that figure 4 shows there is a fixed point that grows away at rate {points.growth[1].max():.4f} "
        f"(erratum B-09). Rests on: {basis}."
    )


def _sinusoid_claim(cases: list[Case], basis: str) -> Claim:
    median = {c.law.name: float(np.median(c.late)) for c in cases}
    local = {c.law.name: float(ipr(c.last)) for c in cases}
    good = [value < ROUGH for value in median.values()]
    return Claim(
        sentence="In all three cases the learned field is a sinusoid, and not localized.",
        source="seed 004, figure 4 and proposition 3.3",
        reported=f"relative errors {', '.join(_percent(c.law.reported) for c in cases)}",
        measured=f"median error in the second half of training: {_listed(median, _percent)}; IPR at the end: "
        f"{_listed(local, '{:.3f}'.format)}",
        rule=f"median error below {_percent(ROUGH)} for all three; in part: for two",
        basis=basis,
        verdict=decide(all(good), sum(good) == 2),
        expected="holds in part",
        reason="On the Student t the noise of a batch has infinite variance; the population flow does end on a wave, "
        "the constant.",
    )


def _listed(values: dict[str, float], form: Callable[[float], str]) -> str:
    return ", ".join(f"{name} {form(value)}" for name, value in values.items())


def _error_claim(case: Case, basis: str) -> Claim:
    low, high = np.quantile(case.late, (0.05, 0.95))
    heavy = isinstance(case.law.radial, RadialStudentT)
    whole = case.trained.settings["reached"] >= case.law.steps
    expected = "does not hold" if heavy else "holds"
    return Claim(
        sentence=f"The fitted sinusoid leaves {_percent(case.law.reported)} of the field, {case.law.name}.",
        source="seed 004, figure 4",
        reported=_percent(case.law.reported),
        measured=f"{_percent(case.errors()[0, -1])} at the end; {_percent(low)} to {_percent(high)} (5% to 95%) in the "
        f"second half of training; pure mode {_percent(case.errors(offset=False)[0, -1])}; population flow "
        f"{_percent(float(fit_sinusoid(case.flow.final[0, 0]).error))}",
        rule=f"the reported error lies between the 5% and 95% quantiles of the second half of training; not testable "
        f"on fewer than the notebook's {case.law.steps:,} steps",
        basis=basis,
        verdict=decide(low <= case.law.reported <= high) if whole else "not testable here",
        expected=expected if whole else "not testable here",
        reason="Single large samples throw the field about: the reported value is a favourable moment."
        if heavy
        else "",
    )


def _period_claim(case: Case, basis: str) -> Claim:
    points = theory.mode_fixed_points(case.task)
    winner = theory.winning_mode(case.task)
    power = np.abs(np.fft.rfft(case.flow.final[0, 0])) ** 2
    return Claim(
        sentence="On the Student t training ends on a sinusoid of period 1 about zero.",
        source="seed 004, section 4.3",
        reported="a sinusoid with period 1 and intercept at zero, as proposition 3.3 predicts",
        measured=f"that wave has {points.unstable[1]} growing direction(s), the fastest at rate "
        f"{points.growth[1].max():.4f}; the stable wave has frequency {winner}; the population flow has "
        f"{_percent(power[1] / power.sum())} of its squared transform there at t = {case.flow.time[-1]:g}",
        rule="the wave of frequency 1 is a stable fixed point of the population flow",
        basis=f"closed form; {basis.split(';')[0]}",
        verdict=decide(points.unstable[1] == 0),
        expected="does not hold",
        reason="Proposition 3.3 leaves out stability (erratum B-09): here only the constant is stable.",
    )


def _constant_claim(case: Case, basis: str) -> Claim:
    mean, end = case.last.mean(), case.flow.final.mean()
    return Claim(
        sentence="On the surface of an ellipse the learned field is nearly constant at -0.04.",
        source="seed 004, section 4.3",
        reported="near-constant at -0.04",
        measured=f"mean {mean:.4f} after training, {end:.4f} by the population flow, {case.height:.4f} in closed form",
        rule="mean after training within 0.005 of -0.04, the last digit given, and within 5% of the closed form",
        basis=basis,
        verdict=decide(abs(mean + 0.04) < 0.005 and abs(abs(mean) / case.height - 1) < 0.05),
        expected="holds",
        reason="The closed form needs C/2 in Eq. 11 (erratum B-06).",
    )
