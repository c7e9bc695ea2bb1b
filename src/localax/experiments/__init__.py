"""Experiments: one module per figure or question. They return data; drawing, storing and printing are for others.

A module has ``Settings`` (a frozen dataclass), ``PRESETS`` (``quick`` and ``paper``) and
``run(settings, key, progress) -> Outcome``; its first line says what it is about.
"""

from ._chapters import ALL, CHAPTERS, NOTES, PAPER
from ._perform import perform

__all__ = ["ALL", "CHAPTERS", "NOTES", "PAPER", "perform"]
