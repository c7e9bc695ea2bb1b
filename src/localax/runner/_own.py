"""Data of one's own in words: where settings name a file of samples, its classes stand for the stimuli."""

import contextlib
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from .._errors import refuse_unknown, setting_error
from ..prediction import read_stimuli
from ..spec import Setting, settings_of
from ..stimuli import AbstractStimulus, Empirical


@dataclass(frozen=True)
class OwnData:
    """What words can say of an :class:`~localax.stimuli.Empirical`: files with the arrays that it takes."""

    samples: Annotated[str, Setting("a file of samples, or a folder of images", kind="file")]
    classes: Annotated[
        str, Setting("a file with one of two values for every sample; without, pixels are shuffled", kind="file")
    ] = ""


def in_words(cls: type) -> type:
    """The class whose settings words can give in place of those of ``cls``."""
    return OwnData if cls is Empirical else cls


def with_data(given: Any) -> Any:
    """Settings of a stimulus, those inside it too, with a list of stimuli, one per class, in place of files."""
    if not isinstance(given, Mapping):
        return given
    if given["kind"] != Empirical.__name__:
        return {name: with_data(value) if name == "stimulus" else value for name, value in given.items()}
    for name in given.keys() - {"kind"}:
        refuse_unknown("setting of stimulus Empirical", name, settings_of(OwnData))
    if not given.get("samples"):
        raise setting_error(Empirical, "samples", None, "a file of samples of your own, or a folder of images")
    files = [str(given[name]) for name in settings_of(OwnData) if given.get(name)]
    return list(_read(*((file, _state(file)) for file in files)))


def _state(file: str) -> tuple[float, int]:
    with contextlib.suppress(OSError, ValueError):  # who reads it says what is wrong with it
        found = Path(file).stat()
        return found.st_mtime, found.st_size
    return 0.0, 0


@functools.lru_cache(maxsize=2)
def _read(*files: tuple[str, tuple[float, int]]) -> tuple[AbstractStimulus, ...]:
    """Kept, as a picture, a run and its theory ask one after the other."""
    return read_stimuli(*(name for name, _ in files))
