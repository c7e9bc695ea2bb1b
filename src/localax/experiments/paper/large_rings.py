"""Does the sign of the excess kurtosis decide? At the sizes of the figures, on large rings, and on large tori.

Claim 3.2 is stated for sufficiently large N. In the effective flow the flat field's threshold is known in closed form
at any size, so the claim can be judged where it is made: in the limit, in one and in two dimensions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np

from ... import theory
from ..._errors import SettingError
from ..._progress import Update
from ...analysis import concentration, localized
from ...outcome import Claim, Fields, Figure, Number, Rule, Scatter, by_theory
from ...spec import Setting
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.seeds import seed_from
from ..toolkit.sources import PAPER
from ..toolkit.tasks import NARROW, SIZE, WIDE, kur, nlgp, pixel_excess
from ..toolkit.words import listed

PAIRS = (WIDE, (1.0, 2.0), NARROW)
LARGEST = 3
"""Sizes over which a limit is judged, the largest ones."""
GAINS = (1e-3, 100.0)
"""Between which a law of NLGP with a given kurtosis is sought."""

SIGN = Rule(
    "the thresholds of both families lie at excess kurtosis 0 within {near:g}",
    lambda n, t: n.farthest < t.near,
    thresholds={"near": 0.01},
    holds={"farthest": 0.004},
    fails={"farthest": 0.1},
)
RING = Rule(
    "in both families the excess kurtosis of the threshold comes to within {near:g} of 0 at the largest size, and over "
    f"the {LARGEST} largest it falls at least by the factor {{fall:g}} for every fourfold number of pixels",
    lambda n, t: n.last < t.near and n.slowest <= t.fall,
    thresholds={"near": 0.05, "fall": 0.5},
    holds={"last": 0.01, "slowest": 0.4},
    fails={"last": 0.8, "slowest": 0.98},
)
TORUS = Rule(
    "in both families the excess kurtosis of the threshold comes to within {near:g} of 0 at the largest size, and over "
    f"the {LARGEST} largest it falls at least by the factor {{fall:g}} for every fourfold number of pixels; in part: "
    "it does not, but the effective flow ends localized from every start with {share:.0%} of the threshold's excess "
    "kurtosis, where the flat field is stable",
    lambda n, t: n.last < t.near and n.slowest <= t.fall,
    partly=lambda n, _: n.localized >= 1,
    thresholds={"near": 0.05, "fall": 0.5},
    holds={"last": 0.01, "slowest": 0.4, "localized": 0.0},
    part={"last": 0.8, "slowest": 0.98, "localized": 1.0},
    fails={"last": 0.8, "slowest": 0.98, "localized": 0.4},
)


@dataclass(frozen=True)
class LargeRings(AbstractExperiment):
    """For sufficiently large N, does the sign of the excess kurtosis decide whether a field localizes?"""

    name: ClassVar[str] = "large_rings"
    title: ClassVar[str] = "The sign of the kurtosis on large rings and tori"
    cost: ClassVar[float] = 15.0

    sizes: Annotated[tuple[int, ...], Setting("pixels of the rings", kind=int, ge=32, le=10**6, many=(1, None))] = (
        40, 100, 400, 1600, 6400,
    )  # fmt: skip
    sides: Annotated[tuple[int, ...], Setting("sides of the tori", kind=int, ge=24, le=1000, many=(1, None))] = (
        30, 60, 120,
    )  # fmt: skip
    integrated: Annotated[int, Setting("side of the torus on which the flow is integrated", kind=int, ge=24)] = 30
    shares: Annotated[
        tuple[float, ...],
        Setting("excess kurtoses of the flow, as shares of the threshold's there", gt=0, lt=1, many=(1, None)),
    ] = (0.5, 0.95)
    starts: Annotated[int, Setting("random starts of the flow, beside a bump", kind=int, ge=1, le=100)] = 2
    time: Annotated[float, Setting("until when the flow runs", gt=0)] = 200.0

    @classmethod
    def paper(cls) -> "LargeRings":
        sizes, sides = (40, 100, 400, 1600, 6400, 25_600), (30, 60, 120, 240)
        return cls(sizes=sizes, sides=sides, integrated=60, starts=4, time=600.0)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Thresholds of all sizes in closed form; the flow on a torus, from a bump and from random fields."""
        figures = tuple(At.found(SIZE, pair) for pair in PAIRS)
        rings = tuple(At.found(size, WIDE) for size in sorted(self.sizes))
        progress(0.4)
        tori = tuple(At.found((side, side), WIDE) for side in sorted(self.sides))
        progress(0.6)
        shape = (self.integrated, self.integrated)
        threshold = pixel_excess(nlgp(theory.critical_gain(*WIDE, shape), WIDE, shape))
        flows = tuple(self._flow(share, threshold, seed_from(key)) for share in sorted(self.shares))
        return Measured(self, figures, rings, tori, flows)

    def _flow(self, share: float, threshold: float, seed: int) -> "Flow":
        shape = (self.integrated, self.integrated)
        task = nlgp(_gain_of(share * threshold), WIDE, shape)
        # About the paper's scale of starts, far smaller than any steady state.
        random = np.random.default_rng(seed).normal(size=(self.starts, *shape)) * np.sqrt(1e-3 / math.prod(shape))
        starts = np.concatenate([_bump(self.integrated)[None], random])
        ends = theory.effective_flow(task, starts, times=[0.0, self.time]).final.reshape(-1, *shape)
        return Flow(share, pixel_excess(task), theory.steady.flat_is_unstable(task), ends)


def _gain_of(excess: float) -> float:
    """The gain at which NLGP has an excess kurtosis, which falls as the gain rises."""
    low, high = GAINS
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if pixel_excess(nlgp(middle)) > excess else (low, middle)
    return low


def _bump(side: int) -> np.ndarray:
    """A bump about as wide as the long lengthscale."""
    square = np.minimum(np.arange(side), side - np.arange(side)) ** 2
    return 0.15 * np.exp(-(square[:, None] + square) / 12)


def _closed_limit(pair: Sequence[float], dimensions: int) -> float:
    """Of L^(2 - d) times the threshold's excess kurtosis on a torus of side L, for Gaussian covariances."""
    short, long = pair[0] ** dimensions, pair[1] ** dimensions
    return -3 * math.pi ** (2 - dimensions / 2) * short * (pair[1] ** 2 - pair[0] ** 2) / (long * (short + long))


# What was measured ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class At:
    """Where the flat field gives way on one ring or torus; NaN where it never does within a family."""

    size: int | tuple[int, int]
    pair: tuple[float, float]
    gain: float
    gain_excess: float
    expanded: float
    """The excess kurtosis of NLGP's threshold, expanded for many pixels."""
    k: float
    k_excess: float

    @classmethod
    def found(cls, size: int | tuple[int, int], pair: tuple[float, float]) -> "At":
        gain = _critical(theory.critical_gain, pair, size)
        k = _critical(theory.critical_k, pair, size)
        at_gain = nlgp(gain, pair, size) if np.isfinite(gain) else None
        return cls(
            size, pair,
            gain, pixel_excess(at_gain) if at_gain else np.nan,
            theory.steady.critical_excess_kurtosis(at_gain) if at_gain else np.nan,
            k, pixel_excess(kur(k, pair, size)) if np.isfinite(k) else np.nan,
        )  # fmt: skip

    @property
    def pixels(self) -> int:
        return int(np.prod(self.size))

    @property
    def excess(self) -> np.ndarray:
        """Of both families."""
        return np.array([self.gain_excess, self.k_excess])

    @property
    def shown(self) -> str:
        return f"{self.gain_excess:+.4g} (NLGP, gain {self.gain:.3g}), {self.k_excess:+.4g} (Kur, k {self.k:.4g})"

    @property
    def place(self) -> str:
        return f"{self.pixels:,} pixels" if isinstance(self.size, int) else f"{self.size[0]} x {self.size[1]} pixels"


def _critical(search: Any, pair: tuple[float, float], size: int | tuple[int, int]) -> float:
    try:
        return search(*pair, size)
    except SettingError:  # the flat field is stable, or unstable, throughout the family
        return np.nan


@dataclass(frozen=True)
class Flow:
    """Where the effective flow ends on a torus, from a bump (the first) and from random starts."""

    share: float
    excess: float
    flat_is_unstable: bool
    ends: np.ndarray

    @property
    def localized(self) -> float:
        """Share of the starts that end localized."""
        return float(np.mean(localized(self.ends, ndim=2)))

    @property
    def shown(self) -> str:
        peaks = np.asarray(concentration(self.ends, ndim=2))
        flat = "unstable" if self.flat_is_unstable else "stable"
        return (
            f"at excess {self.excess:+.3f} (flat field {flat}) {self.localized:.0%} of {len(self.ends)} starts end "
            f"localized, N IPR {peaks.min():.3g} to {peaks.max():.3g}"
        )


def _last(sizes: Sequence[At]) -> float | None:
    """The larger of both families' distances from 0 at the largest size."""
    farthest = np.max(np.abs(sizes[-1].excess))
    return float(farthest) if np.isfinite(farthest) and len(sizes) >= LARGEST else None


def _slowest_fall(sizes: Sequence[At]) -> float | None:
    """By which factor the distance from 0 changes with four times the pixels: the largest over families and steps."""
    steps = list(pairwise(sizes[-LARGEST:]))
    if len(sizes) < LARGEST:
        return None
    falls = [np.abs(b.excess / a.excess) ** (math.log(4) / math.log(b.pixels / a.pixels)) for a, b in steps]
    slowest = np.max(falls)
    return float(slowest) if np.isfinite(slowest) else None


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Thresholds at the figures' size, on rings and on tori, and ends of the flow on a torus."""

    experiment: LargeRings
    figures_size: tuple[At, ...]
    rings: tuple[At, ...]
    tori: tuple[At, ...]
    flows: tuple[Flow, ...]

    # Claims -----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._small_ring(), self._large_rings(), self._small_torus(), self._large_tori()

    def _small_ring(self) -> Claim:
        rows = "; ".join(f"lengthscales ({at.pair[0]:g}, {at.pair[1]:g}): {at.shown}" for at in self.figures_size)
        return self._sign(
            self.figures_size,
            f"On a ring of {SIZE} pixels, the size of the figures, the sign of the excess kurtosis decides whether the "
            "field localizes.",
            f"{rows}; at most {{farthest:.3f}} from 0",
            "At finite N more than the fourth moment counts, and a wave must also outgrow the difference of the "
            "covariances (erratum B-10). Claim 3.2 is stated for sufficiently large N, and is judged there by itself.",
        )

    def _small_torus(self) -> Claim:
        smallest = self.tori[0]
        return self._sign(
            (smallest,),
            f"On a torus of {smallest.place}, the sign of the excess kurtosis decides whether the field localizes.",
            f"lengthscales ({smallest.pair[0]:g}, {smallest.pair[1]:g}): {smallest.shown}; at most {{farthest:.3f}} "
            "from 0",
            "A pixel is a smaller part of the field's input than on a ring, and so is what its kurtosis adds.",
        )

    def _sign(self, places: Sequence[At], sentence: str, said: str, reason: str) -> Claim:
        farthest = max(np.max(np.abs(at.excess)) for at in places)
        return SIGN.claim(
            sentence,
            source=f"{PAPER}, section 4.2 and appendix B.1",
            reported="to a first approximation, the sign of the excess kurtosis indicates whether the field localizes",
            numbers=[Number("farthest", float(farthest) if np.isfinite(farthest) else None)],
            said=f"the flat field of Eq. 5 gives way at excess kurtosis: {said}",
            basis="closed form, no samples",
            expected=by_theory("does not hold", "the growth rates of waves at the flat field (erratum B-10)"),
            reasons={"does not hold": reason},
        )

    def _large_rings(self) -> Claim:
        last = self.rings[-1]
        return RING.claim(
            "For sufficiently large N, on a ring, negative excess kurtosis leads to localized fields and positive "
            "does not.",
            source=f"{PAPER}, claim 3.2 and appendix B.1",
            reported="for sufficiently large N, sufficiently negative or positive; to a first approximation, the sign",
            numbers=[Number("last", _last(self.rings)), Number("slowest", _slowest_fall(self.rings))],
            said=f"the flat field of Eq. 5 gives way at excess kurtosis {_series(self.rings)}; for fourfold N the "
            "distance from 0 is multiplied by at most {slowest:.2f}; N times that of NLGP is "
            f"{last.pixels * last.gain_excess:.3f} at the largest, in the limit {_closed_limit(WIDE, 1):.3f}",
            basis="closed form, no samples; Eq. 5's threshold, not that of training",
            expected=by_theory("holds", "the elasticity of the amplifier at small a: the threshold falls like 1/N"),
            reasons={"holds": "Where a single pixel counts little, its fourth moment alone is left of its law, and the "
                     "difference of the covariances falls faster with N than what the fourth moment adds."},
        )  # fmt: skip

    def _large_tori(self) -> Claim:
        weakest = self.flows[0]
        return TORUS.claim(
            "For sufficiently large N, on a torus, negative excess kurtosis leads to localized fields and positive "
            "does not.",
            source=f"{PAPER}, claim 3.2 and appendix B.1",
            reported="for sufficiently large N, sufficiently negative or positive; to a first approximation, the sign",
            numbers=[
                Number("last", _last(self.tori)),
                Number("slowest", _slowest_fall(self.tori)),
                Number("localized", weakest.localized, unit="share of starts"),
            ],
            said=f"the flat field of Eq. 5 gives way at excess kurtosis {_series(self.tori)}; for fourfold N the "
            "distance from 0 is multiplied by at most {slowest:.2f}; the limit for Gaussian covariances is "
            f"{_closed_limit(WIDE, 2):.3f}; the flow of Eq. 5 on {self.experiment.integrated} x "
            f"{self.experiment.integrated} pixels: {'; '.join(flow.shown for flow in self.flows)}",
            basis=f"thresholds in closed form; the flow from a bump and {self.experiment.starts} random starts until "
            f"t = {self.experiment.time:g}",
            expected=by_theory("does not hold", "the elasticity of the amplifier at small a: a limit that is not 0"),
            reasons={
                "does not hold": "In two dimensions what the fourth moment adds and what the difference of the "
                "covariances takes away fall alike with the size, so that their balance stays at a negative kurtosis. "
                "The claim's own word, sufficiently negative, leaves room for that; the sign alone does not decide."
            },
            words={"share": weakest.share},
        )

    # Figures and text -------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        side = self.experiment.integrated
        ends = tuple((_ends(flow),) for flow in self.flows)
        return (
            Figure("Where the flat field gives way", ((_distances(self.rings, self.tori), _scaled(self.rings)),)),
            Figure(f"Where the effective flow ends on {side} x {side} pixels", ends),
        )

    def text(self) -> str:
        ring, torus = self.rings[-1], self.tori[-1]
        return (
            "Claim 3.2 speaks of sufficiently large N, and of sufficiently negative and sufficiently positive excess "
            "kurtosis; appendix B.1 reads it as the sign. The flat field of the effective flow gives way where the "
            "elasticity of its amplifier exceeds a ratio of eigenvalues, at any size and in any dimension. At "
            f"lengthscales ({WIDE[0]:g}, {WIDE[1]:g}) the excess kurtosis there is {_series(self.rings)} on rings, and "
            f"{_series(self.tori)} on tori. On the largest ring, {ring.place}, an expansion for many pixels, "
            f"$-3(r_1 - r_0)/((1 + r_0) a^2)$, gives {ring.expanded:+.4g} for NLGP, and on the largest torus, "
            f"{torus.place}, {torus.expanded:+.4g}. It needs a sixth moment, which Kur lacks where its excess kurtosis "
            f"is 0. The flow was also integrated from a bump and from random fields: "
            f"{'; '.join(f.shown for f in self.flows)}. "
            "All of this is about Eq. 5; training has thresholds of its own."
        )


def _series(places: Sequence[At]) -> str:
    families = {"NLGP": [at.gain_excess for at in places], "Kur": [at.k_excess for at in places]}
    shown = ", ".join(f"{listed(values, '+.4g')} ({name})" for name, values in families.items())
    return f"{shown} at {listed((at.pixels for at in places), ',')} pixels"


def _distances(rings: Sequence[At], tori: Sequence[At]) -> Scatter:
    groups = {}
    for kind, places in (("ring", rings), ("torus", tori)):
        pixels = np.array([at.pixels for at in places], float)
        for name, excess in zip(("NLGP", "Kur"), np.array([at.excess for at in places]).T, strict=True):
            groups[f"{name}, {kind}"] = (pixels, excess, None)
    return Scatter(
        "excess kurtosis at the threshold", groups, xlabel="pixels", ylabel="excess kurtosis", logx=True, joined=True
    )


def _scaled(rings: Sequence[At]) -> Scatter:
    pixels = np.array([at.pixels for at in rings], float)
    limit = np.full(len(pixels), _closed_limit(WIDE, 1))
    groups = {"NLGP": (pixels, pixels * [at.gain_excess for at in rings], None),
              "expanded for many pixels": (pixels, pixels * [at.expanded for at in rings], None),
              "closed limit": (pixels, limit, None)}  # fmt: skip
    return Scatter("rings: N times it", groups, xlabel="pixels", ylabel="N x excess kurtosis", logx=True, joined=True)


def _ends(flow: Flow) -> Fields:
    labels = ("from a bump", *("from a random field" for _ in flow.ends[1:]))
    return Fields(f"excess kurtosis {flow.excess:+.3f}", flow.ends, labels)
