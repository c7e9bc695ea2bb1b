"""The stimulus gallery: every stimulus at a short and a long lengthscale, as in the paper's figure 2."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np

from .. import stimuli
from .._progress import Update
from ..outcome import Claim, Figure, Panel, Table
from ..spec import Setting
from ..stimuli import AbstractStimulus
from .experiment import AbstractExperiment, AbstractMeasured
from .toolkit.samples import centred_claim, mean_gap, pair_row
from .toolkit.words import or_infinite


@dataclass(frozen=True)
class Stimuli(AbstractExperiment):
    """Every stimulus of the package: samples, covariance and marginal, exact beside sampled."""

    name: ClassVar[str] = "stimuli"
    title: ClassVar[str] = "The stimuli"
    cost: ClassVar[float] = 5.0

    size: Annotated[int, Setting("pixels of each ring", kind=int, ge=20, le=2000)] = 100
    samples: Annotated[int, Setting("samples behind each statistic", kind=int, ge=100, le=1_000_000)] = 10_000

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Sample every stimulus and set the samples beside what each says of itself."""
        rows, table, gaps = [], [], []
        for i, (kind, pair) in enumerate(stimuli.EXAMPLES.items()):
            short, long = pair(self.size)
            keys = jax.random.split(jax.random.fold_in(key, i))
            draws = [np.asarray(s.sample(k, self.samples)) for s, k in zip((short, long), keys, strict=True)]
            rows.append(pair_row(short, long, *draws))
            table.append(_statistics(kind.__name__, long, draws[1]))
            gaps += [mean_gap(s, x) for s, x in zip((short, long), draws, strict=True)]
            progress((i + 1) / len(stimuli.ALL))
        return Measured(self, tuple(rows), tuple(table), tuple(gaps))


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """A row of panels and of statistics for each stimulus, and how far its mean is off."""

    experiment: Stimuli
    rows: tuple[tuple[Panel, ...], ...]
    table: tuple[tuple[Any, ...], ...]
    gaps: tuple[float, ...]

    def claims(self) -> tuple[Claim, ...]:
        return (centred_claim(self.experiment.samples, self.gaps),)

    def figures(self) -> tuple[Figure, ...]:
        names = tuple(kind.__name__ for kind in stimuli.ALL)
        columns = ("stimulus (long)", "variance", "sampled", "excess kurtosis", "sampled", "known")
        table = Table("", columns, self.table)
        return (
            Figure("Stimuli: samples, covariance and marginal", self.rows, names),
            Figure("What they say of themselves, and what samples say", ((table,),)),
        )

    def text(self) -> str:
        return (
            "Every stimulus of the package at a short and a long lengthscale: a sample of each, the covariance with "
            "pixel 0, and the law of one pixel with its excess kurtosis. Curves and outlines are exact; bars and dots "
            "are sampled."
        )


def _statistics(name: str, stimulus: AbstractStimulus, x: np.ndarray) -> tuple[Any, ...]:
    law = stimulus.marginal
    centred = x - x.mean()
    sampled = float(np.mean(centred**4) / np.mean(centred**2) ** 2 - 3)
    origin = "exact" if np.isinf(law.draws()) else f"from {int(law.draws())} draws"
    return (
        name,
        f"{law.variance():.4f}",
        f"{float(x.var()):.4f}",
        or_infinite(law.excess_kurtosis()),
        f"{sampled:.3f}",
        origin,
    )
