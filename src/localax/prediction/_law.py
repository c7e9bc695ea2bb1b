"""The law behind the data is another question than the data: what would more samples of it give?"""

from dataclasses import dataclass, replace

import numpy as np

from ._classes import Classes, Rows
from ._ends import VERDICTS, Ends, Flows, Settings, ends

SHARES = (0.25, 0.5)
"""Parts of the data that the flow is followed on, beside all of them."""
GROWS = 1.1
"""Factor on n IPR, from half of the samples to all, from which more of them are said to localize further."""
COPIES = 4
"""How often every sample comes, each time shifted by chance, where shifts are as good as the data."""
MOST = 2**25
"""Numbers that both classes have at most when copied."""


@dataclass(frozen=True)
class Law:
    """What the law behind the data would give.

    ``verdict``: as for data. ``samples``, ``probability``, ``concentration``: of the learning curve, at a quarter, half
    and all of the data. ``grows``: whether more samples would localize further. ``shifted``: the probability with
    shifts of every sample added; None where data are not periodic and stationary, or localize without.
    """

    verdict: str
    samples: tuple[int, ...]
    probability: tuple[float, ...]
    concentration: tuple[float, ...]
    grows: bool
    shifted: float | None

    @property
    def said(self) -> str:
        return "more samples would localize it further" if self.grows else "saturated"


def law(flows: Flows, last: Ends, periodic: bool, symmetric: bool) -> Law:
    """The learning curve, and the flow with shifts added where they are as good as the data."""
    curve = [*(flows.ends(share) for share in SHARES), last]
    medians = [float(np.median(one.concentration)) for one in curve]
    useful = periodic and last.verdict != VERDICTS[0]  # what is local already stays so
    copies = min(COPIES, MOST // (flows.classes.one.size + flows.classes.zero.size)) if useful else 0
    shifted = _shifted(flows.classes, flows.settings, copies, symmetric) if copies > 1 else None
    further = medians if shifted is None else [*medians, float(np.median(shifted.concentration))]
    grows = further[-1] > GROWS * further[-2] and medians[-1] >= medians[0]
    return Law(
        _verdict(last, shifted, grows),
        tuple(one.samples for one in curve),
        tuple(one.probability for one in curve),
        tuple(medians),
        grows,
        None if shifted is None else shifted.probability,
    )


def _verdict(last: Ends, shifted: Ends | None, grows: bool) -> str:
    """That of the richest data; what grows but is not there yet is undecided."""
    richest = (last if shifted is None else shifted).verdict
    return VERDICTS[2] if grows and richest == VERDICTS[1] else richest


def _shifted(classes: Classes, settings: Settings, copies: int, symmetric: bool) -> Ends:
    rng = np.random.default_rng([settings.seed, 3])
    one, zero = (_copied(x, classes.shape, copies, symmetric, rng) for x in (classes.one, classes.zero))
    return ends(replace(classes, one=one, zero=zero), settings)


def _copied(x: Rows, shape: tuple[int, ...], copies: int, symmetric: bool, rng: np.random.Generator) -> Rows:
    """Every sample so many times, each at another place, and with either sign where signs do not matter."""
    out = np.concatenate([_moved(x, shape, rng) for _ in range(copies)])
    return out * rng.choice(np.array([-1, 1], np.float32), size=(len(out), 1)) if symmetric else out


def _moved(x: Rows, shape: tuple[int, ...], rng: np.random.Generator) -> Rows:
    """Every sample rolled by a place of its own."""
    grid = np.indices(shape)
    by = [rng.integers(side, size=(len(x), *[1] * len(shape))) for side in shape]
    places = [(axis + move) % side for axis, move, side in zip(grid, by, shape, strict=True)]
    flat = np.ravel_multi_index(places, shape).reshape(len(x), -1)
    return np.take_along_axis(x, flat, axis=1)
