"""The number of zero crossings of a stimulus does not depend on the gain; the fields that are learned do."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from .._progress import Update
from .._record import Claim, Fields, Figure, Lines, Outcome, Points, Scatter, Table, decide
from ..analysis import ipr
from ..stimuli import NLGP, sign_changes
from ..theory import critical_gain
from ._sigmoid_units import best_accuracy
from ._single_neurons import final_fields
from ._tasks import SIZE, WIDE, nlgp


@dataclass(frozen=True)
class Settings:
    """The notes' ring and lengthscales, the gains, the samples; and how single neurons are trained beside them."""

    pixels: int = 400
    lengthscales: tuple[float, float] = (10.0, 20.0)
    gains: tuple[float, ...] = (0.01, 0.3, 1.0, 3.0, 100.0)
    samples: int = 2000
    seeds: int = 4
    steps: int = 1000
    rate: float = 0.1
    batch: int = 48


PRESETS = {
    "quick": Settings(),
    "paper": Settings(gains=(0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0), samples=5000, seeds=12, steps=4000, rate=0.05),
}


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


def run(settings: Settings, key: Any, progress: Update) -> Outcome:
    """The same latent fields at every gain; then neurons that learn from such stimuli."""
    classes = [_counts(settings, lengthscale, key) for lengthscale in settings.lengthscales]
    progress(0.3)
    fields = final_fields(
        [nlgp(gain) for gain in settings.gains], key, seeds=settings.seeds, steps=settings.steps,
        batch=settings.batch, rate=settings.rate, stream=2,
    )  # fmt: skip
    threshold = critical_gain(*WIDE, SIZE)
    told = _told(classes)
    local = np.asarray(ipr(fields)).mean(1)
    return Outcome(
        title="Zero crossings",
        text=_text(settings, classes, local, threshold, told),
        figures=(_figure(settings, classes, fields, local, threshold), _table(settings, classes, local)),
        claims=(
            _invariant_claim(settings, classes),
            _lengthscale_claim(settings, classes),
            _correlation_claim(settings, classes),
            _fields_claim(settings, local, threshold),
        ),
    )


def _counts(settings: Settings, lengthscale: float, key: Any) -> Counts:
    """One key for every gain, and so one latent field."""
    stimuli = [NLGP(settings.pixels, lengthscale, gain) for gain in settings.gains]
    x = np.stack([np.asarray(stimulus.sample(key, settings.samples)) for stimulus in stimuli])
    crossings = np.stack([np.rint(np.asarray(sign_changes(jnp.asarray(part))) * settings.pixels) for part in x])
    nearest = float(np.asarray(stimuli[0].latent.row)[1])
    return Counts(
        lengthscale,
        x[:, 0],
        crossings,
        settings.pixels * np.arccos(nearest) / np.pi,
        np.array([stimulus.covariance()[_apart(settings)] for stimulus in stimuli]),
        int(np.sum((x >= 0) != (x[:1] >= 0))),
    )


def _apart(settings: Settings) -> int:
    """The distance, in pixels, at which correlations are compared: the shorter lengthscale."""
    return int(settings.lengthscales[0])


def _told(classes: list[Counts]) -> np.ndarray:
    """Accuracy of a threshold on the number of crossings, by gain."""
    short, long = classes
    label = np.repeat([False, True], short.crossings.shape[1])
    return np.array(
        [best_accuracy(-np.concatenate(pair), label) for pair in zip(short.crossings, long.crossings, strict=True)]
    )


# Pictures and words ---------------------------------------------------------------------------------------------------


def _figure(
    settings: Settings, classes: list[Counts], fields: np.ndarray, local: np.ndarray, threshold: float
) -> Figure:
    gains = np.array(settings.gains)
    first, last = classes[1].samples[0], classes[1].samples[-1]
    pixel = np.arange(settings.pixels)
    sample = {f"gain {gains[0]:g}": first, f"gain {gains[-1]:g}": last}
    counted: dict[str, Points] = {f"lengthscale {c.lengthscale:g}": (gains, c.crossings.mean(1), None) for c in classes}
    pairs: dict[str, Points] = {f"lengthscale {c.lengthscale:g}": (gains, c.correlation, None) for c in classes}
    return Figure(
        "What the gain changes and what it does not",
        (
            (
                Lines(f"one sample, lengthscale {classes[1].lengthscale:g}", pixel, sample, xlabel="pixel"),
                Scatter("mean number of zero crossings", counted, "gain", logx=True, joined=True),
                Scatter(f"correlation {_apart(settings)} pixels apart", pairs, "gain", logx=True, joined=True),
            ),
            (
                Fields(f"neurons at gain {gains[0]:g}", fields[0][:3]),
                Fields(f"neurons at gain {gains[-1]:g}", fields[-1][:3]),
                Scatter(
                    "localization of the neurons",
                    {"mean IPR": (gains, local, None)},
                    "gain",
                    "IPR",
                    logx=True,
                    joined=True,
                    marks={f"flat unstable from {threshold:.2f}": threshold},
                ),
            ),
        ),
    )


def _table(settings: Settings, classes: list[Counts], local: np.ndarray) -> Figure:
    short, long = classes
    rows = tuple(
        (f"{gain:g}", *(f"{c.crossings[i].mean():.3f}" for c in (short, long)),
         *(f"{c.correlation[i]:.3f}" for c in (short, long)), f"{local[i]:.3f}")
        for i, gain in enumerate(settings.gains)
    )  # fmt: skip
    columns = (
        "gain",
        "crossings, short",
        "crossings, long",
        "correlation, short",
        "correlation, long",
        "IPR of neurons",
    )
    return Figure("By gain", ((Table("", columns, rows),),))


def _text(settings: Settings, classes: list[Counts], local: np.ndarray, threshold: float, told: np.ndarray) -> str:
    short, long = classes
    changed = sum(c.changed for c in classes)
    spread = f"{told.min():.3f}" if np.ptp(told) == 0 else f"{told.min():.3f} to {told.max():.3f}"
    return (
        "The notes call the number of zero crossings of a stimulus its frequency and remark that the gain does not "
        "change it. That must be so, since erf(g z) has the sign of z: of the same latent fields at "
        f"{len(settings.gains)} gains {changed} pixels change their sign. The mean count is N arccos(r)/pi with r "
        f"the correlation of neighbours in the latent field: {short.exact:.2f} and {long.exact:.2f} for lengthscales "
        f"{short.lengthscale:g} and {long.lengthscale:g} on {settings.pixels} pixels "
        f"({short.crossings[0].mean():.2f} and {long.crossings[0].mean():.2f} in samples), and a threshold on it "
        f"tells {spread} of the samples apart, whatever the gain. The correlation of two points goes from "
        f"{long.correlation[0]:.3f} to {long.correlation[-1]:.3f} {_apart(settings)} pixels apart. What the task "
        f"asks for in terms of frequency is the same at every gain; a neuron's IPR goes from {local[0]:.3f} to "
        f"{local[-1]:.3f}, and by theory the flat field gives way at gain {threshold:.3f}: crossings see signs "
        f"alone, and localization depends on the law of the amplitudes. {settings.samples} samples a class; "
        f"{settings.seeds} neurons a gain on {SIZE} pixels, lengthscales {WIDE[0]:g} and {WIDE[1]:g}."
    )


# Claims ---------------------------------------------------------------------------------------------------------------


def _basis(settings: Settings) -> str:
    return f"{settings.samples} samples of {settings.pixels} pixels a class at each of {len(settings.gains)} gains"


def _invariant_claim(settings: Settings, classes: list[Counts]) -> Claim:
    changed = sum(c.changed for c in classes)
    return Claim(
        sentence="The number of zero crossings is invariant to the gain.",
        source="seed 002, section 1, footnote 1",
        reported="invariant",
        measured=f"{changed} pixels of the same latent fields change their sign between gains {settings.gains[0]:g} "
        f"and {settings.gains[-1]:g}",
        rule="none does",
        basis=_basis(settings),
        verdict=decide(changed == 0),
        expected="holds",
    )


def _lengthscale_claim(settings: Settings, classes: list[Counts]) -> Claim:
    short, long = classes
    errors = [float(c.crossings[0].std() / np.sqrt(settings.samples)) for c in classes]
    apart = [abs(c.crossings[0].mean() - c.exact) / e for c, e in zip(classes, errors, strict=True)]
    return Claim(
        sentence="The lengthscale controls the number of times a stimulus crosses zero.",
        source="seed 002, section 1, footnote 1 and figure 1",
        reported="certainly controls",
        measured=f"mean count {short.crossings[0].mean():.2f} +- {errors[0]:.2f} and {long.crossings[0].mean():.2f} "
        f"+- {errors[1]:.2f}; exact N arccos(r)/pi = {short.exact:.2f} and {long.exact:.2f}",
        rule="both within 5 standard errors of the exact mean, and fewer crossings for the longer lengthscale",
        basis=_basis(settings),
        verdict=decide(max(apart) < 5 and long.exact < short.exact),
        expected="holds",
    )


def _correlation_claim(settings: Settings, classes: list[Counts]) -> Claim:
    ranges = [(float(c.correlation[0]), float(c.correlation[-1])) for c in classes]
    return Claim(
        sentence="The correlation between two points is not invariant to the gain.",
        source="seed 002, section 1, footnote 1",
        reported="not invariant",
        measured=f"{_apart(settings)} pixels apart, lowest and highest gain: "
        + "; ".join(
            f"{a:.4f} and {b:.4f} (lengthscale {c.lengthscale:g})" for c, (a, b) in zip(classes, ranges, strict=True)
        ),
        rule="changes by more than .01 for both lengthscales, what a picture of the correlations would show",
        basis="exact: the arcsin law",
        verdict=decide(all(abs(a - b) > 0.01 for a, b in ranges)),
        expected="holds",
    )


def _fields_claim(settings: Settings, local: np.ndarray, threshold: float) -> Claim:
    return Claim(
        sentence="Frequency in this sense is a useful one: it decides what the fields look like (our reading).",
        source="seed 002, section 1, footnote 1: 'this might actually be a useful definition'",
        reported="might be useful",
        measured=f"the same law of crossings at every gain, but a mean IPR of {local[0]:.3f} at gain "
        f"{settings.gains[0]:g} and {local[-1]:.3f} at {settings.gains[-1]:g}; the flat field is unstable from gain "
        f"{threshold:.3f} on",
        rule="the mean IPR changes by less than a factor of 2 over the gains, that between a flat field and a bump of "
        "half the ring",
        basis=f"{settings.seeds} neurons a gain, {settings.steps} steps; the threshold by theory",
        verdict=decide(local.max() < 2 * local.min()),
        expected="does not hold",
        reason="Crossings see signs alone; what localizes a field is the law of the amplitudes.",
    )
