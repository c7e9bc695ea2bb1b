"""Experiments: one module per figure or question. They return data; drawing, storing and printing are for others."""

from types import ModuleType

from . import _gallery

ALL: dict[str, ModuleType] = {"stimuli": _gallery}
"""Every experiment by name; each module has ``Settings``, ``PRESETS`` and ``run``."""

__all__ = ["ALL"]
