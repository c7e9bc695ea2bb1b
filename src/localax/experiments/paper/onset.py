"""How a localized steady state meets the flat one: continuously, or at a fold with both of them stable.

Steady states of the effective flow are followed by root finding, from far off towards the flat field's threshold. Where
a local state lives on beyond it, the unstable state between the two is followed from the other side.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from ... import theory
from ..._errors import SettingError
from ..._progress import Update
from ...outcome import Claim, Figure, Lines, Number, Rule, Scatter, as_measured
from ...spec import Setting
from ...stimuli import Task
from ...theory.steady import Branch
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.sources import PAPER
from ..toolkit.tasks import NARROW, SIZE, WIDE, kur, nlgp

FIXED_GAIN = 0.25
"""At which the lengthscale is followed."""
LOCAL = 1.01
"""IPR in units of the flat field's above which a steady state is another than the flat one."""
STEP = 5e-4
"""Of the threshold's value: how far a state must live on beyond it to count as one that does."""
MOST = 100
"""Such steps, at most."""
FINER = 5
"""By how much the steps become shorter where a branch has ended, to find its end."""
RIPPLE = 0.1
"""Height of the wave, in units of the flat field's, from which the state between flat and local is sought."""

ONSET = Rule(
    "along every line, the last stable local state has less than {join:g} times the flat field's IPR, that of a single "
    "wave on a flat field, and none is stable beyond the flat field's threshold; in part: so along one line at least",
    lambda n, t: n.highest < t.join and n.window <= 0,
    partly=lambda n, t: n.lowest < t.join,
    thresholds={"join": 1.5},
    holds={"lowest": 1.05, "highest": 1.2, "window": 0.0},
    part={"lowest": 1.05, "highest": 2.1, "window": 0.002},
    fails={"lowest": 1.9, "highest": 2.1, "window": 0.002},
)


@dataclass(frozen=True)
class Onset(AbstractExperiment):
    """Does the localized field grow out of the flat one, or does it appear at once?"""

    name: ClassVar[str] = "onset"
    title: ClassVar[str] = "How localization begins"
    cost: ClassVar[float] = 20.0

    points: Annotated[int, Setting("steady states along a branch", kind=int, ge=6, le=1000)] = 8

    @classmethod
    def paper(cls) -> "Onset":
        return cls(points=25)

    def measure(self, key: Any, progress: Update) -> "Measured":  # noqa: ARG002 (nothing is random)
        """Branches along gain, k and lengthscale; no samples."""
        lines = _lines()
        found = []
        for i, line in enumerate(lines):
            found.append(line.followed(self.points))
            progress((i + 1) / len(lines))
        return Measured(self, tuple(found))


# Steady states --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A setting along which steady states are followed, from ``far`` to the flat field's threshold and beyond."""

    name: str
    tasks: Callable[[float], Task]
    far: float
    critical: float
    width: float
    """Of the bump near which the first state is sought."""

    def followed(self, points: int) -> "Followed":
        shares = np.linspace(1, 0.05, points) ** 2  # denser where a square root begins
        branch = theory.steady.continue_branch(
            self.tasks, self.critical + (self.far - self.critical) * shares, _bump(self.width)
        )
        beyond = self._beyond(branch)
        between = self._between(beyond[-1][0], points) if beyond else np.zeros((0, 2))
        return Followed(self.name, self.critical, branch, np.array(beyond).reshape(-1, 2), between)

    def _beyond(self, branch: Branch) -> list[tuple[float, float]]:
        """(setting, IPR) of the stable local states beyond the threshold, up to where they end."""
        step = STEP * self.critical * np.sign(self.critical - self.far)
        value, field = self.critical, branch.field[-1]
        found: list[tuple[float, float]] = []
        for length in (step, step / FINER):
            while len(found) < MOST and (state := self._local_state(value + length, field)) is not None:
                value, field = value + length, state.field
                found.append((value, state.ipr))
            if not found:
                break
        return found

    def _local_state(self, value: float, guess: np.ndarray) -> theory.steady.SteadyState | None:
        try:
            state = theory.steady.steady_state(self.tasks(value), guess)
        except SettingError:  # no root near the guess: the branch has ended
            return None
        return state if state.stable and state.ipr * SIZE > LOCAL else None

    def _between(self, end: float, points: int) -> np.ndarray:
        """(setting, IPR) of the unstable states from the flat field's threshold to the end of the local branch."""
        values = self.critical + (end - self.critical) * np.linspace(0.2, 1, points) ** 2
        flat = theory.steady.flat_height(self.tasks(self.critical))
        wave = flat * (1 + RIPPLE * np.cos(2 * np.pi * np.arange(SIZE) / SIZE))
        branch = theory.steady.continue_branch(self.tasks, values, wave)
        kept = ~branch.stable & (branch.ipr * SIZE > LOCAL)
        return np.stack([branch.value[kept], branch.ipr[kept]], axis=-1)


def _lines() -> list[Line]:
    gains = {pair: theory.critical_gain(*pair, SIZE) for pair in (WIDE, NARROW)}
    ks = {pair: theory.critical_k(*pair, SIZE) for pair in (WIDE, NARROW)}
    wide, narrow = (f"({short:g}, {long:g})" for short, long in (WIDE, NARROW))
    # Far off is where the field is a bump of its own; at short lengthscales that is nearer, and the bump narrower.
    return [
        Line(f"gain of NLGP, {wide}", nlgp, 3.0, gains[WIDE], 3.0),
        Line(f"gain of NLGP, {narrow}", partial(nlgp, lengthscales=NARROW), 1.0, gains[NARROW], 1.0),
        Line(f"k of Kur, {wide}", kur, 12.0, ks[WIDE], 3.0),
        Line(f"k of Kur, {narrow}", partial(kur, lengthscales=NARROW), 12.0, ks[NARROW], 1.0),
        Line(f"long lengthscale, gain {FIXED_GAIN:g}", _longer, 1.4,
             theory.steady.critical_value(_longer, 2.0, 4.5), 3.0),
    ]  # fmt: skip


def _longer(lengthscale: float) -> Task:
    return nlgp(FIXED_GAIN, (1.0, lengthscale))


def _bump(width: float) -> np.ndarray:
    distance = np.minimum(np.arange(SIZE), SIZE - np.arange(SIZE))
    return 0.3 * np.exp(-((distance / width) ** 2))


# What was measured ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Followed:
    """The steady states along one line.

    ``branch``: local states from afar to the threshold. ``beyond`` (point, 2), settings and IPRs: stable local ones
    where the flat field is stable too. ``between`` (point, 2): unstable ones between those and the flat field.
    """

    name: str
    critical: float
    branch: Branch
    beyond: np.ndarray
    between: np.ndarray

    @property
    def relative(self) -> np.ndarray:
        """IPR along the branch in units of the flat field's."""
        return self.branch.ipr * SIZE

    @property
    def last(self) -> float:
        """The same of the last stable local state, before or beyond the threshold."""
        return float(self.beyond[-1, 1] * SIZE if len(self.beyond) else self.relative[self.branch.stable][-1])

    @property
    def window(self) -> float:
        """How far beyond the threshold a local state is stable, as a share of the threshold's value."""
        return float(abs(self.beyond[-1, 0] / self.critical - 1)) if len(self.beyond) else 0.0

    @property
    def shown(self) -> str:
        """Both ends in words."""
        ends = f"{self.name}: from {self.relative[0]:.1f} to {self.last:.2f}"
        return f"{ends}, with both stable from {self.beyond[-1, 0]:.3f} to {self.critical:.3f}" if self.window else ends


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Steady states along every line."""

    experiment: Onset
    lines: tuple[Followed, ...]

    # Claims -----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return (self._onset(),)

    def _onset(self) -> Claim:
        ends = [line.last for line in self.lines if line.branch.stable.any()]
        return ONSET.claim(
            "Beyond the threshold a localized steady state leaves the flat one continuously.",
            source=f"{PAPER}, appendix B.2 (steady states are called unsolvable)",
            reported="not given",
            numbers=[
                Number("lowest", min(ends) if len(ends) == len(self.lines) else None),
                Number("highest", max(ends) if len(ends) == len(self.lines) else None),
                Number("window", max(line.window for line in self.lines), unit="of the threshold's value"),
            ],
            said="IPR in units of the flat field's, from the far end to the last stable local state: "
            f"{'; '.join(line.shown for line in self.lines)}; the last ones have {{lowest:.2f}} to {{highest:.2f}}, "
            "and both are stable over at most {window:.2%} of the threshold's value",
            basis=f"{self._states} steady states of Eq. 5 on {SIZE} pixels by root finding, no samples; windows of "
            f"less than {STEP:.2%} are not seen",
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "A branch that turns back at a fold leaves a window in which the start decides "
                "between flat and local, and the field jumps at either end of it."
            },
        )

    @property
    def _states(self) -> int:
        return sum(len(line.branch.value) + len(line.beyond) + len(line.between) for line in self.lines)

    # Figures and text -------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        rows = tuple((_diagram(line), _profiles(line)) for line in self.lines)
        folds = tuple(_fold(line) for line in self.lines if line.window)
        diagrams = Figure("Bifurcation diagrams of the effective flow", rows)
        return (diagrams, Figure("Where flat and local fields are both stable", (folds,))) if folds else (diagrams,)

    def text(self) -> str:
        smooth = [line for line in self.lines if not line.window]
        return (
            "Appendix B.2 leaves the steady states of Eq. 5 open. Root finding gives them, stable or not, and follows "
            "them along a setting, here from strongly non-Gaussian data or a short lengthscale towards the flat "
            f"field's threshold. Along {len(smooth)} of {len(self.lines)} lines no local state is stable beyond the "
            "threshold. In units of the flat field's IPR the local states go, from the far end to the last stable one: "
            f"{'; '.join(line.shown for line in self.lines)}.{self._folds()}"
        )

    def _folds(self) -> str:
        folds = [line for line in self.lines if line.window]
        return "".join(
            f" Along {line.name} the branch ends at a fold at {line.beyond[-1, 0]:.4f}, {line.window:.2%} beyond the "
            f"threshold; {len(line.between)} unstable states, with {line.between[:, 1].min() * SIZE:.2f} to "
            f"{line.between[:, 1].max() * SIZE:.2f} times the flat field's IPR, join it to the flat field."
            for line in folds
            if len(line.between)
        )


def _diagram(line: Followed) -> Scatter:
    value = np.sort(line.branch.value)
    return Scatter(
        "steady states",
        {
            "local": (line.branch.value, line.branch.ipr, None),
            "flat, unstable": (value, np.full(len(value), 1 / SIZE), None),
        },
        xlabel=line.name,
        ylabel="IPR",
        logx=bool(value.max() > 5 * value.min()),
        joined=True,
        marks={f"threshold {line.critical:.3f}": line.critical},
    )


def _fold(line: Followed) -> Scatter:
    """The window itself, with as much of the branch before it."""
    edge = line.beyond[-1, 0]
    sides = {"flat, stable": edge, "flat, unstable": 2 * line.critical - edge}
    near = np.abs(line.branch.value - line.critical) <= 2 * abs(edge - line.critical)
    before = np.stack([line.branch.value[near], line.branch.ipr[near]], axis=-1)
    local = np.concatenate([before, line.beyond])
    groups = {"local, stable": (local[:, 0], local[:, 1], None)}
    if len(line.between):
        groups["between, unstable"] = (line.between[:, 0], line.between[:, 1], None)
    for name, end in sides.items():
        groups[name] = (np.array([line.critical, end]), np.full(2, 1 / SIZE), None)
    return Scatter(
        "the window", groups, xlabel=line.name, ylabel="IPR", joined=True,
        marks={f"threshold {line.critical:.4f}": line.critical, f"fold {edge:.4f}": edge},
    )  # fmt: skip


def _profiles(line: Followed) -> Lines:
    value, field = line.branch.value, line.branch.field
    centred = {f"{value[i]:.3g}": np.roll(field[i], SIZE // 2) for i in (0, len(value) // 2, len(value) - 1)}
    return Lines("fields along the branch", np.arange(SIZE) - SIZE / 2, centred, xlabel="distance from the peak")
