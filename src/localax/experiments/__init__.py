"""Experiments: one module per figure or question. They return data; drawing, storing and printing are for others.

A module has ``Settings`` (a frozen dataclass), ``PRESETS`` (``quick`` and ``paper``) and
``run(settings, key, progress) -> Outcome``; its first line says what it is about.
"""

import dataclasses
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax

from .._disk import libraries
from .._record import Outcome
from . import (
    _attractor,
    _bias_populations,
    _exclusive_gates,
    _fig1,
    _fig2,
    _fig3,
    _fig4,
    _fig5,
    _fig6,
    _fig7,
    _fig8,
    _filtered_stimuli,
    _gabor_hypothesis,
    _gallery,
    _gate_search,
    _gaussian_clone,
    _gradient_phases,
    _hypercube,
    _ising_nlgp,
    _kurtosis,
    _lemma,
    _lengthscale_order,
    _localized_gate,
    _losses,
    _natural_images,
    _neural_race,
    _peaks,
    _probability_dominance,
    _redundant_gates,
    _shape_then_scale,
    _sign_flipping,
    _single_neuron_gaussian,
    _single_pulse,
    _starting_loss,
    _threshold,
    _tiling,
    _zero_crossings,
)

PAPER: dict[str, ModuleType] = {
    "fig1": _fig1,
    "fig2": _fig2,
    "fig3": _fig3,
    "fig4": _fig4,
    "fig5": _fig5,
    "fig6": _fig6,
    "fig7": _fig7,
    "fig8": _fig8,
    "lemma": _lemma,
    "ising_nlgp": _ising_nlgp,
    "attractor": _attractor,
    "threshold": _threshold,
    "peaks": _peaks,
    "kurtosis": _kurtosis,
    "gaussian_clone": _gaussian_clone,
}
"""The paper's figures and claims, in their order."""

NOTES: dict[str, ModuleType] = {
    "single_neuron_gaussian": _single_neuron_gaussian,
    "sign_flipping": _sign_flipping,
    "neural_race": _neural_race,
    "localized_gate": _localized_gate,
    "redundant_gates": _redundant_gates,
    "exclusive_gates": _exclusive_gates,
    "gabor_hypothesis": _gabor_hypothesis,
    "bias_populations": _bias_populations,
    "tiling": _tiling,
    "probability_dominance": _probability_dominance,
    "shape_then_scale": _shape_then_scale,
    "zero_crossings": _zero_crossings,
    "gate_search": _gate_search,
    "filtered_stimuli": _filtered_stimuli,
    "starting_loss": _starting_loss,
    "hypercube": _hypercube,
    "gradient_phases": _gradient_phases,
    "lengthscale_order": _lengthscale_order,
    "single_pulse": _single_pulse,
    "losses": _losses,
    "natural_images": _natural_images,
}
"""What the working notes ask, in their order."""

CHAPTERS = {"paper": PAPER, "notes": NOTES}
ALL: dict[str, ModuleType] = {"stimuli": _gallery, **PAPER, **NOTES}

__all__ = ["ALL", "CHAPTERS", "NOTES", "PAPER", "perform"]


def perform(
    name: str, settings: Any = "quick", *, seed: int = 0, progress: Callable[[float], None] = lambda _: None
) -> Outcome:
    """Run one experiment, by its name, with a preset or its own settings.

    Theory runs in float64 and training in float32 whatever the flags are, so an experiment has x64 on while it runs.
    """
    if name not in ALL:
        raise ValueError(f"no experiment called {name!r}; choose one of {', '.join(ALL)}")
    module = ALL[name]
    if isinstance(settings, str) and settings not in module.PRESETS:
        raise ValueError(f"no preset called {settings!r}; choose one of {', '.join(module.PRESETS)}")
    chosen = module.PRESETS[settings] if isinstance(settings, str) else settings
    began = time.perf_counter()
    with jax.enable_x64(True):
        outcome = module.run(chosen, jax.random.key(seed), progress)
    return dataclasses.replace(
        outcome,
        name=name,
        chapter=next((chapter for chapter, members in CHAPTERS.items() if name in members), ""),
        settings={**dataclasses.asdict(chosen), "seed": seed},
        seconds=time.perf_counter() - began,
        versions=libraries(),
    )
