"""Experiments: one class per figure or question. They return data; drawing, storing and printing are for others.

An experiment's fields are its settings; ``measure`` gives numbers, and the numbers give claims, figures and text. The
chapters are tuples of classes; what experiments share is in ``toolkit``, and no experiment imports another.
"""

from .._errors import refuse_unknown
from .beyond import BEYOND
from .experiment import AbstractExperiment, AbstractMeasured
from .gallery import Stimuli
from .notes import NOTES
from .paper import PAPER

CHAPTERS: dict[str, dict[str, type[AbstractExperiment]]] = {
    "paper": {kind.name: kind for kind in PAPER},
    "notes": {kind.name: kind for kind in NOTES},
    "beyond": {kind.name: kind for kind in BEYOND},
}
"""Every chapter of the report, its experiments by name and in their order."""

ALL: dict[str, type[AbstractExperiment]] = {
    Stimuli.name: Stimuli,
    **{name: kind for members in CHAPTERS.values() for name, kind in members.items()},
}


def named(name: str) -> type[AbstractExperiment]:
    """An experiment by its **name**, such as "fig5"."""
    refuse_unknown("experiment", name, ALL)
    return ALL[name]


def chapter_of(name: str) -> str:
    """The chapter of the experiment called **name**; empty for the gallery."""
    return next((chapter for chapter, members in CHAPTERS.items() if name in members), "")


__all__ = [
    "ALL",
    "BEYOND",
    "CHAPTERS",
    "NOTES",
    "PAPER",
    "AbstractExperiment",
    "AbstractMeasured",
    "Stimuli",
    "chapter_of",
    "named",
]
