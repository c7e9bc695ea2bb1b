"""Does the prediction hold on natural photographs? Raw, whitened and centre-surround filtered patches, beside FastICA.

The two classes are the same photographs at two resolutions: patches as they are, and patches of the photograph at half
its size, whose correlations reach half as many pixels. Natural pixels have heavy tails, so the signs of the whitened
patches stand for the other side.
"""

from dataclasses import dataclass
from typing import Any, Literal

import jax
import numpy as np

from .._progress import Update
from .._record import Claim, Fields, Figure, Outcome, Table, decide
from ..analysis import ica, ipr
from ..networks import Xavier
from ..stimuli import Empirical, GaussianClone, NaturalPatches, Task
from ._neuron import NEURON
from ._seeds import seed_from
from ._tasks import binary
from ._train import train
from ._unit_kinds import CONCENTRATED

SOURCES: dict[str, Literal["raw", "whitened", "centre-surround"]] = {
    "raw": "raw",
    "whitened": "whitened",
    "centre-surround": "centre-surround",
    "signs of whitened": "whitened",
}
TREATMENTS = tuple(SOURCES)
CLEARLY = 2.0
"""How many times more local than another a field must be to be told from it: starts differ by less."""
UNMIXED = 3
"""Raw, whitened and filtered patches are unmixed too; signs are there to test the theory of supervised fields."""
SHOWN = 9
"""So many starts are drawn at most."""


@dataclass(frozen=True)
class Settings:
    """Side of a patch, patches a class, and the training of one ReLU neuron from several starts."""

    side: int = 8
    patches: int = 20_000
    seeds: int = 8
    steps: int = 4_000
    batch: int = 500
    rate: float = 0.02
    components: int = 64
    ica_patches: int = 10_000


PRESETS = {
    "quick": Settings(),
    "paper": Settings(
        side=12, patches=100_000, seeds=30, steps=10_000, batch=1_000, components=144, ica_patches=50_000
    ),
}


def run(settings: Settings, key: Any, progress: Update) -> Outcome:
    """Train on each treatment and on its Gaussian clone, and set FastICA's filters beside the fields."""
    tasks = [_task(treatment, settings, jax.random.fold_in(key, i)) for i, treatment in enumerate(TREATMENTS)]
    clones = [binary(*(GaussianClone(stimulus) for stimulus in task.stimuli)) for task in tasks]
    progress(0.2)
    seed = seed_from(key)
    fields, controls = _trained(tasks, settings, seed), _trained(clones, settings, seed)
    progress(0.8)
    rows = [
        Row(name, float(task.stimuli[1].marginal.excess_kurtosis()), _median_ipr(f), _median_ipr(c))
        for name, task, f, c in zip(TREATMENTS, tasks, fields, controls, strict=True)
    ]
    filters = {
        name: _components(task.stimuli[1], settings, seed % 2**31)
        for name, task in zip(TREATMENTS[:UNMIXED], tasks, strict=False)
    }
    independent = {name: _median_ipr(found) for name, found in filters.items()}
    return Outcome(
        title="Natural photographs",
        text=_text(rows, independent, settings),
        figures=(_figure(fields, controls, filters), _table(rows, independent)),
        claims=(_criterion_claim(rows, settings), _ica_claim(rows[1], independent["whitened"], settings)),
    )


def _task(treatment: str, settings: Settings, key: Any) -> Task:
    """Patches at half and at full resolution, of both polarities, without their mean and with variance 1."""
    side = settings.side
    cut, flip = jax.random.split(key)
    photographs = NaturalPatches((2 * side, 2 * side), SOURCES[treatment])
    large = np.asarray(photographs.sample(cut, settings.patches), float)
    large *= np.asarray(jax.random.rademacher(flip, (settings.patches, 1, 1)), float)
    halved, whole = large.reshape(-1, side, 2, side, 2).mean((2, 4)), large[:, :side, :side]
    if treatment.startswith("signs"):
        halved, whole = np.sign(halved), np.sign(whole)
    return binary(Empirical(_standard(halved)), Empirical(_standard(whole)))


def _standard(patches: np.ndarray) -> np.ndarray:
    centred = patches - patches.mean(0)
    return centred / centred.std()


def _components(patches: Any, settings: Settings, seed: int) -> np.ndarray:
    some = np.asarray(patches.samples[: settings.ica_patches], float)
    return ica(some, settings.components, seed=seed, steps=400, tolerance=1e-3)


def _trained(tasks: list[Task], settings: Settings, seed: int) -> np.ndarray:
    """Final fields, (treatment, seed, row, column)."""
    run = train(
        tasks, NEURON, steps=settings.steps, batch=settings.batch, rate=settings.rate, seeds=settings.seeds,
        init=Xavier(1e-3), data_seed=seed, save_every=settings.steps,
    )  # fmt: skip
    return run.final[:, :, 0]


def _median_ipr(fields: np.ndarray) -> float:
    """In units of a flat field's."""
    return float(np.median(np.asarray(ipr(fields, ndim=2))) * fields[0].size)


@dataclass(frozen=True)
class Row:
    """A treatment: the kurtosis of its pixels, and how local the fields are on it and on its Gaussian clone."""

    name: str
    excess: float
    ipr: float
    clone: float

    @property
    def localized(self) -> bool:
        return self.ipr >= CONCENTRATED > self.clone

    @property
    def foretold(self) -> bool:
        return self.localized == (self.excess < 0)


def _figure(fields: np.ndarray, controls: np.ndarray, filters: dict[str, np.ndarray]) -> Figure:
    panels = tuple(
        (
            Fields(f"{name}: trained", fields[i][:SHOWN]),
            Fields(f"{name}: Gaussian clone", controls[i][:SHOWN]),
            *((Fields(f"{name}: FastICA", filters[name][:SHOWN]),) if name in filters else ()),
        )
        for i, name in enumerate(TREATMENTS)
    )
    return Figure(
        f"Fields of one neuron from {min(SHOWN, fields.shape[1])} starts, and independent components",
        panels,
        TREATMENTS,
    )


def _table(rows: list[Row], independent: dict[str, float]) -> Figure:
    columns = (
        "patches",
        "excess kurtosis",
        "IPR, trained",
        "IPR, Gaussian clone",
        "IPR, FastICA",
        "localized",
        "as the sign foretells",
    )
    cells = tuple(
        (
            row.name,
            f"{row.excess:+.2f}",
            f"{row.ipr:.2f}",
            f"{row.clone:.2f}",
            f"{independent[row.name]:.2f}" if row.name in independent else "",
            _word(row.localized),
            _word(row.foretold),
        )
        for row in rows
    )
    return Figure(
        "Localization in units of a flat field's IPR",
        ((Table("", columns, cells),),),
    )


def _word(value: bool) -> str:
    return "yes" if value else "no"


def _text(rows: list[Row], independent: dict[str, float], settings: Settings) -> str:
    parts = "; ".join(
        f"{row.name}: excess kurtosis {row.excess:+.2f}, {row.ipr:.1f} times a flat field's IPR, {row.clone:.1f} on a "
        "Gaussian of the same covariance"
        for row in rows
    )
    right = [row.name for row in rows if row.foretold]
    unmixed = ", ".join(f"{value:.1f} ({name})" for name, value in independent.items())
    return (
        "The theory is made for idealized stimuli, and the paper leaves natural ones for later: would the sign of "
        "the excess kurtosis foretell there too whether fields localize? Here one ReLU neuron learns to tell "
        f"photographs at full resolution from the same at half, on patches of {settings.side} x {settings.side} "
        f"pixels from those that ship with scikit-image and scikit-learn, each in both polarities. {parts}. A field "
        f"counts as localized from {CONCENTRATED:g} on, if those on the Gaussian stay below: the sign is right for "
        f"{len(right)} of {len(rows)} treatments ({', '.join(right) or 'none'}). FastICA gives filters of "
        f"{unmixed} times a flat field's IPR. {settings.seeds} starts, {settings.patches:,} "
        "patches a class: the photographs are few, neither stationary nor independent, so this says what happens on "
        "them and no more. Larger patches, many units and more photographs are missing."
    )


def _criterion_claim(rows: list[Row], settings: Settings) -> Claim:
    right = [row.foretold for row in rows]
    return Claim(
        sentence="On natural patches too, fields localize exactly where the excess kurtosis is negative.",
        source="seed 004, section 5",
        reported="left for later work",
        measured=", ".join(
            f"{row.name}: excess {row.excess:+.2f}, IPR {row.ipr:.1f} (Gaussian clone {row.clone:.1f})" for row in rows
        ),
        rule=f"the median IPR, in units of a flat field's, reaches {CONCENTRATED:g} (white noise: 3) on the patches "
        "and not on their Gaussian clone if the excess kurtosis is negative, and not otherwise; in part: in all "
        "treatments but one",
        basis=f"{settings.seeds} starts a treatment, {settings.patches:,} patches a class, {settings.steps} steps",
        verdict=decide(all(right), sum(right) == len(right) - 1),
        expected="holds",
    )


def _ica_claim(whitened: Row, independent: float, settings: Settings) -> Claim:
    return Claim(
        sentence="Independent components of whitened patches are localized where the supervised fields are not.",
        source="seed 004, sections 1 and 4.4",
        reported="sparse coding and ICA give localized fields",
        measured=f"FastICA {independent:.1f}, the trained neuron {whitened.ipr:.1f} times a flat field's IPR",
        rule=f"FastICA's median IPR is more than {CONCENTRATED:g} times a flat field's (white noise: 3) and more "
        f"than {CLEARLY:g} times the trained neuron's; in part: more than the trained neuron's",
        basis=f"{settings.components} components of {settings.ica_patches:,} whitened patches, {settings.seeds} starts",
        verdict=decide(independent > CONCENTRATED and independent > CLEARLY * whitened.ipr, independent > whitened.ipr),
        expected="holds in part",
        reason="The components lie under an envelope that fills about half of so small a patch.",
    )
