"""All that the page offers, as data: forms, words, presets and limits. No list of it is kept anywhere else."""

import functools
from typing import Any

from .. import __version__
from .._system import cores
from ..store import Store
from ._forms import forms
from ._glossary import glossary
from ._limits import LIMITS
from ._presets import presets
from ._reports import known_claims, stored_outcomes


def catalogue(store: Store) -> dict[str, Any]:
    """What the page is made from; the verdicts of its presets are those of the **store**, or kept with this package."""
    outcomes = stored_outcomes(store, "quick")
    return {**_fixed(), "store": str(store.root), "presets": presets(known_claims(outcomes), set(outcomes))}


@functools.cache
def _fixed() -> dict[str, Any]:
    return {"version": __version__, "cores": cores(), "limits": LIMITS, "glossary": glossary(), **forms()}
