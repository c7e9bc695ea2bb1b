"""Run one experiment, and stamp its outcome with what made it."""

import dataclasses
import time
from typing import Any

import jax

from .._disk import libraries
from .._progress import Update
from .._record import Outcome
from ._chapters import ALL, CHAPTERS


def perform(name: str, settings: Any = "quick", *, seed: int = 0, progress: Update = lambda _: None) -> Outcome:
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
