"""What the gain of a stimulus changes and what it does not: zero crossings, correlations, a pixel's law, fields."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax.numpy as jnp
import numpy as np
import scipy

from ..._progress import Update
from ...analysis import ipr, localized
from ...outcome import Claim, Fields, Figure, Lines, Number, Points, Rule, Scatter, Table, by_theory, finite
from ...spec import Setting
from ...stimuli import NLGP, sign_changes
from ...theory import critical_gain
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.checks import STREAMS, shared_out
from ..toolkit.sigmoid_units import best_accuracy
from ..toolkit.single_neurons import final_fields
from ..toolkit.sources import BEHAVIOUR
from ..toolkit.tasks import SIZE, WIDE, nlgp

INVARIANT = Rule(
    "no pixel of the same latent fields changes its sign between gains",
    lambda n, _: n.changed == 0,
    holds={"changed": 0},
    fails={"changed": 12},
)
COUNTED = Rule(
    "both within {sure:g} standard errors of the exact mean, and fewer crossings for the longer lengthscale",
    lambda n, t: n.apart < t.sure and n.exact_long < n.exact_short,
    thresholds={"sure": 5.0},
    holds={"apart": 1.2, "exact_short": 18.0, "exact_long": 9.0},
    fails={"apart": 1.2, "exact_short": 9.0, "exact_long": 9.0},
)
CORRELATED = Rule(
    "changes by more than {visible:g} for both lengthscales, what a picture of the correlations would show",
    lambda n, t: min(abs(n.short_high - n.short_low), abs(n.long_high - n.long_low)) > t.visible,
    thresholds={"visible": 0.01},
    holds={"short_low": 0.37, "short_high": 0.24, "long_low": 0.78, "long_high": 0.57},
    fails={"short_low": 0.37, "short_high": 0.24, "long_low": 0.78, "long_high": 0.779},
)
NON_GAUSSIAN = Rule(
    "the largest distance between the distribution functions of a pixel and of a Gaussian rises from each gain to the "
    "next, from less than {near:g}",
    lambda n, t: n.rise > 0 and n.least < t.near,
    thresholds={"near": 0.01},  # as far apart as a picture of two curves would show
    holds={"rise": 0.02, "least": 1e-5},
    fails={"rise": -0.01, "least": 1e-5},
)
TAILS = Rule(
    "at every gain more of a pixel's law lies beyond {far:g} standard deviations than of a Gaussian's (in part: at "
    "some gain)",
    lambda n, _: n.heavier == n.gains,
    partly=lambda n, _: n.heavier > 0,
    holds={"heavier": 5, "gains": 5},
    part={"heavier": 2, "gains": 5},
    fails={"heavier": 0, "gains": 5},
)
FAR = 3.0
"""Standard deviations from which on a law has tails."""


@dataclass(frozen=True)
class ZeroCrossings(AbstractExperiment):
    """What does the gain of a stimulus change: its zero crossings, its correlations, the tails of a pixel's law?"""

    name: ClassVar[str] = "zero_crossings"
    title: ClassVar[str] = "Zero crossings"
    cost: ClassVar[float] = 9.0

    pixels: Annotated[int, Setting("pixels of the ring on which crossings are counted", kind=int, ge=12)] = 400
    lengthscales: Annotated[
        tuple[float, ...], Setting("short and long lengthscale on that ring", ge=1, many=(2, 2), rising=True)
    ] = (10.0, 20.0)  # fmt: skip
    gains: Annotated[tuple[float, ...], Setting("gains", ge=1e-4, le=1e4, many=(2, None), rising=True)] = (
        0.01,
        0.3,
        1.0,
        3.0,
        100.0,
    )
    samples: Annotated[int, Setting("samples a class", kind=int, ge=10)] = 2000
    seeds: Annotated[int, Setting("neurons a gain", kind=int, ge=2)] = 4
    steps: Annotated[int, Setting("steps of training", kind=int, ge=1)] = 1000
    rate: Annotated[float, Setting("learning rate", gt=0)] = 0.1
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 48

    @classmethod
    def paper(cls) -> "ZeroCrossings":
        return cls(gains=(0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0), samples=5000, seeds=12, steps=4000, rate=0.05)

    def check(self) -> None:
        shared_out(self)
        NLGP(self.pixels, self.lengthscales[1], self.gains[0])  # refuses a lengthscale too long for the ring

    @property
    def apart(self) -> int:
        """The distance, in pixels, at which correlations are compared: the shorter lengthscale."""
        return int(self.lengthscales[0])

    def measure(self, key: Any, progress: Update) -> "Measured":
        """The same latent fields at every gain, and a pixel's law; then neurons that learn from such stimuli."""
        short, long = (self._counts(lengthscale, key) for lengthscale in self.lengthscales)
        progress(0.3)
        fields = final_fields(
            [nlgp(gain) for gain in self.gains], key, seeds=self.seeds, steps=self.steps, batch=self.batch,
            rate=self.rate, stream=STREAMS,
        )  # fmt: skip
        return Measured(self, short, long, self._laws(), fields, critical_gain(*WIDE, SIZE))

    def _laws(self) -> "Laws":
        """The law of a pixel, of mean 0 and variance 1, which depends on the gain alone."""
        marginals = [NLGP(self.pixels, self.lengthscales[0], gain).marginal for gain in self.gains]
        x = np.linspace(-5, 5, 4001)
        gaps = [float(np.abs(law.cdf(x) - scipy.special.ndtr(x)).max()) for law in marginals]
        tails = [float(2 * law.cdf(np.array([-FAR]))[0]) for law in marginals]
        return Laws(np.array(gaps), np.array(tails), np.array([law.excess_kurtosis() for law in marginals]))

    def _counts(self, lengthscale: float, key: Any) -> "Counts":
        """One key for every gain, and so one latent field."""
        stimuli = [NLGP(self.pixels, lengthscale, gain) for gain in self.gains]
        x = np.stack([np.asarray(stimulus.sample(key, self.samples)) for stimulus in stimuli])
        crossings = np.stack([np.rint(np.asarray(sign_changes(jnp.asarray(part))) * self.pixels) for part in x])
        nearest = float(np.asarray(stimuli[0].latent.row)[1])
        return Counts(
            lengthscale,
            x[:, 0],
            crossings,
            self.pixels * np.arccos(nearest) / np.pi,
            np.array([stimulus.covariance()[self.apart] for stimulus in stimuli]),
            int(np.sum((x >= 0) != (x[:1] >= 0))),
        )


@dataclass(frozen=True)
class Counts:
    """One class: crossings of every sample, (gain, sample), their exact mean, and a correlation by gain."""

    lengthscale: float
    samples: np.ndarray
    crossings: np.ndarray
    exact: float
    correlation: np.ndarray
    changed: int
    """Pixels whose sign differs between two gains, over all samples."""

    @property
    def mean(self) -> float:
        """At the least gain."""
        return float(self.crossings[0].mean())

    @property
    def error(self) -> float:
        return float(self.crossings[0].std() / np.sqrt(self.crossings.shape[1]))

    @property
    def apart(self) -> float:
        """Distance of the mean from the exact one in standard errors; NaN where no two samples differ."""
        return abs(self.mean - self.exact) / (self.error or np.nan)


@dataclass(frozen=True)
class Laws:
    """The law of a pixel by gain: the largest distance of its distribution function from a Gaussian's, its share beyond
    FAR standard deviations, and its excess kurtosis."""

    gap: np.ndarray
    tail: np.ndarray
    kurtosis: np.ndarray


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Crossings of both classes, a pixel's law, the fields of neurons (gain, seed, pixel), and where theory has the
    flat one end."""

    experiment: ZeroCrossings
    short: Counts
    long: Counts
    laws: Laws
    fields: np.ndarray
    threshold: float
    """The gain from which the flat field is unstable."""

    # Numbers ---------------------------------------------------------------------------------------------------------

    @property
    def classes(self) -> tuple[Counts, Counts]:
        return self.short, self.long

    @property
    def ipr(self) -> np.ndarray:
        """Mean over neurons, by gain."""
        return ipr(self.fields).mean(1)

    @property
    def changed(self) -> int:
        return self.short.changed + self.long.changed

    def told(self) -> np.ndarray:
        """Accuracy of a threshold on the number of crossings, by gain."""
        label = np.repeat([False, True], self.experiment.samples)
        pairs = zip(self.short.crossings, self.long.crossings, strict=True)
        return np.array([best_accuracy(-np.concatenate(pair), label) for pair in pairs])

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._invariant(), self._counted(), self._correlated(), self._non_gaussian(), self._tails()

    def _basis(self) -> str:
        it = self.experiment
        return f"{it.samples} samples of {it.pixels} pixels a class at each of {len(it.gains)} gains"

    def _ends(self) -> tuple[str, str]:
        gains = self.experiment.gains
        return f"{gains[0]:g}", f"{gains[-1]:g}"

    def _invariant(self) -> Claim:
        low, high = self._ends()
        return INVARIANT.claim(
            "The number of zero crossings is invariant to the gain.",
            source=f"{BEHAVIOUR}, section 1, footnote 1",
            reported="invariant",
            numbers=[Number("changed", self.changed, unit="pixels")],
            said=f"{{changed}} pixels of the same latent fields change their sign between gains {low} and {high}",
            basis=self._basis(),
            expected=by_theory("holds", "erf(g z) has the sign of z"),
        )

    def _counted(self) -> Claim:
        short, long = self.classes
        return COUNTED.claim(
            "The lengthscale controls the number of times a stimulus crosses zero.",
            source=f"{BEHAVIOUR}, section 1, footnote 1 and figure 1",
            reported="certainly controls",
            numbers=[
                Number("short", short.mean, short.error, "crossings"),
                Number("long", long.mean, long.error, "crossings"),
                Number("exact_short", short.exact, unit="crossings"),
                Number("exact_long", long.exact, unit="crossings"),
                Number("apart", finite(max(short.apart, long.apart)), unit="standard errors"),
            ],
            said="mean count {short:.2f} +- {short.standard_error:.2f} and {long:.2f} +- {long.standard_error:.2f}; "
            "exact N arccos(r)/pi = {exact_short:.2f} and {exact_long:.2f}; at most {apart:.1f} standard errors apart",
            basis=self._basis(),
            expected=by_theory("holds", "the mean count N arccos(r)/pi, with r the correlation of neighbours"),
        )

    def _correlated(self) -> Claim:
        ends = {"low": 0, "high": -1}
        numbers = [
            Number(f"{name}_{end}", one.correlation[i])
            for name, one in (("short", self.short), ("long", self.long))
            for end, i in ends.items()
        ]
        return CORRELATED.claim(
            "The correlation between two points is not invariant to the gain.",
            source=f"{BEHAVIOUR}, section 1, footnote 1",
            reported="not invariant",
            numbers=numbers,
            said=f"{self.experiment.apart} pixels apart, lowest and highest gain: {{short_low:.4f}} and "
            f"{{short_high:.4f}} (lengthscale {self.short.lengthscale:g}); {{long_low:.4f}} and {{long_high:.4f}} "
            f"(lengthscale {self.long.lengthscale:g})",
            basis="exact: the arcsin law",
            expected=by_theory("holds", "the arcsin law"),
        )

    def _non_gaussian(self) -> Claim:
        gap, (low, high) = self.laws.gap, self._ends()
        return NON_GAUSSIAN.claim(
            "As the gain goes to 0 the data become Gaussian, and as it grows increasingly non-Gaussian.",
            source=f"{BEHAVIOUR}, section 1",
            reported="increasingly non-Gaussian",
            numbers=[Number("rise", np.diff(gap).min()), Number("least", gap[0]), Number("largest", gap[-1])],
            said=f"distribution function of a pixel: {{least:.1g}} from a Gaussian's at gain {low}, {{largest:.3f}} at "
            f"{high}; it rises by at least {{rise:.1g}} from one gain to the next",
            basis=f"closed form at {len(gap)} gains",
            expected=by_theory("holds", "erf(g z) is nearly linear at small gain and a sign at large gain"),
        )

    def _tails(self) -> Claim:
        gaussian, found, (low, high) = 2 * scipy.special.ndtr(-FAR), self.laws, self._ends()
        return TAILS.claim(
            "Increasingly non-Gaussian means super-Gaussian tails, kind of, if it is what Ingrosso and Goldt did.",
            source=f"{BEHAVIOUR}, section 1, footnote 2",
            reported="super-Gaussian tails, kind of",
            numbers=[
                Number("heavier", int(np.sum(found.tail > gaussian)), unit="gains"),
                Number("gains", len(found.tail), unit="gains"),
                Number("low", found.tail[0]),
                Number("high", found.tail[-1]),
                Number("kurtosis_low", found.kurtosis[0]),
                Number("kurtosis_high", found.kurtosis[-1]),
            ],
            said=f"share of a pixel's law beyond {FAR:g} standard deviations: {{low:.6f}} at gain {low}, {{high:.6f}} "
            f"at {high}, of a Gaussian's {gaussian:.6f}; heavier at {{heavier}} of {{gains}} gains; excess kurtosis "
            "{kurtosis_low:.4f} and {kurtosis_high:.4f}",
            basis=f"closed form at {len(found.tail)} gains",
            expected=by_theory("does not hold", "erf(g z) is bounded, and concave for positive z (erratum B-42)"),
            reasons={
                "does not hold": "erf(g z) bends large values down: the tails are lighter than a Gaussian's, and end "
                "at 1/Z(g) (erratum B-42)."
            },
            words={"far": FAR},
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        title = "What the gain changes and what it does not"
        return Figure(title, (self._stimuli(), self._neurons())), self._table()

    def _stimuli(self) -> tuple[Lines, Scatter, Scatter]:
        it, gains, (low, high) = self.experiment, np.array(self.experiment.gains), self._ends()
        sample = {f"gain {low}": self.long.samples[0], f"gain {high}": self.long.samples[-1]}
        counted: dict[str, Points] = {
            f"lengthscale {c.lengthscale:g}": (gains, c.crossings.mean(1), None) for c in self.classes
        }
        pairs: dict[str, Points] = {
            f"lengthscale {c.lengthscale:g}": (gains, c.correlation, None) for c in self.classes
        }
        title = f"one sample, lengthscale {self.long.lengthscale:g}"
        return (
            Lines(title, np.arange(it.pixels), sample, xlabel="pixel"),
            Scatter("mean number of zero crossings", counted, "gain", logx=True, joined=True),
            Scatter(f"correlation {it.apart} pixels apart", pairs, "gain", logx=True, joined=True),
        )

    def _neurons(self) -> tuple[Fields, Fields, Scatter]:
        low, high = self._ends()
        groups: dict[str, Points] = {"mean IPR": (np.array(self.experiment.gains), self.ipr, None)}
        marks = {f"flat unstable from {self.threshold:.2f}": self.threshold}
        return (
            Fields(f"neurons at gain {low}", self.fields[0][:3]),
            Fields(f"neurons at gain {high}", self.fields[-1][:3]),
            Scatter("localization of the neurons", groups, "gain", "IPR", logx=True, joined=True, marks=marks),
        )

    def _table(self) -> Figure:
        rows = tuple(
            (f"{gain:g}", *(f"{c.crossings[i].mean():.3f}" for c in self.classes),
             *(f"{c.correlation[i]:.3f}" for c in self.classes), f"{self.ipr[i]:.3f}")
            for i, gain in enumerate(self.experiment.gains)
        )  # fmt: skip
        counts = ("crossings, short", "crossings, long", "correlation, short", "correlation, long")
        return Figure("By gain", ((Table("", ("gain", *counts, "IPR of neurons"), rows),),))

    def text(self) -> str:
        it, (short, long), told = self.experiment, self.classes, self.told()
        spread = f"{told.min():.3f}" if np.ptp(told) == 0 else f"{told.min():.3f} to {told.max():.3f}"
        return (
            "The notes call the number of zero crossings of a stimulus its frequency and remark that the gain does not "
            "change it. That must be so, since erf(g z) has the sign of z: of the same latent fields at "
            f"{len(it.gains)} gains {self.changed} pixels change their sign. The mean count is N arccos(r)/pi with r "
            f"the correlation of neighbours in the latent field: {short.exact:.2f} and {long.exact:.2f} for "
            f"lengthscales {short.lengthscale:g} and {long.lengthscale:g} on {it.pixels} pixels ({short.mean:.2f} and "
            f"{long.mean:.2f} in samples), and over the gains a threshold on it tells {spread} of the samples apart. "
            f"What the gain does change is the correlation of two points, from {long.correlation[0]:.3f} to "
            f"{long.correlation[-1]:.3f} {it.apart} pixels apart, and the law of a pixel, whose excess kurtosis goes "
            f"from {self.laws.kurtosis[0]:.4f} to {self.laws.kurtosis[-1]:.4f}. {self._extension()} {it.samples} "
            f"samples a class; {it.seeds} neurons a gain on {SIZE} pixels, lengthscales {WIDE[0]:g} and {WIDE[1]:g}."
        )

    def _extension(self) -> str:
        """What neurons learn from stimuli that have the same crossings, which the notes do not speak of."""
        local, mean = localized(self.fields).sum(1), self.ipr
        low, high = self._ends()
        return (
            "Whether that definition is useful, as the notes think it might be, depends on the use. An extension: of "
            f"{self.experiment.seeds} neurons that learn from such stimuli {local[0]} are localized at gain {low} and "
            f"{local[-1]} at gain {high}, with a mean IPR of {mean[0]:.3f} and {mean[-1]:.3f}, "
            f"{mean.max() / mean.min():.1f} times as much at one gain as at another with the same crossings (by theory "
            f"the flat field gives way at gain {self.threshold:.3f})."
        )
