"""A unit: a piece of work that can be named, run anywhere and kept. Everything that takes long is one.

    settings ──► Unit (identity) ──► executor ──► store ──► whoever asked

Its identity is taken once, from the built objects and before anything runs; its request, plain JSON, lets another
process build the same unit again. Results travel through the store alone.
"""

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from .._disk import libraries
from .._progress import Update
from ..store import Store, identity_hash
from ._sources import code_version


@dataclass(frozen=True)
class Files:
    """What a unit leaves in the store: files by name, and the status of its trajectory if it has one."""

    files: Mapping[str, bytes]
    status: tuple[str, ...] = ()


class AbstractUnit(abc.ABC):
    """A piece of work. A new kind is one class in ``KINDS``."""

    kind: ClassVar[str]
    identity: dict[str, Any]
    """All that decides the result; taken when the unit is made."""

    @property
    @abc.abstractmethod
    def title(self) -> str:
        """What it is, in a few words."""

    @property
    @abc.abstractmethod
    def cost(self) -> float:
        """About how long it takes, in any unit that others of its kind share: the longest begin first."""

    @abc.abstractmethod
    def request(self) -> dict[str, Any]:
        """Plain JSON from which `from_request` makes this unit in another process."""

    @classmethod
    @abc.abstractmethod
    def from_request(cls, request: Mapping[str, Any]) -> "AbstractUnit":
        """The unit that a **request** asks for."""

    @abc.abstractmethod
    def run(self, progress: Update, scratch: Callable[[], Path]) -> Files:
        """Do the work. ``scratch()`` is a folder that survives an interruption, for whoever needs one.

        **progress**: to be called with the fraction that is done. An interrupted unit raises KeyboardInterrupt: nothing
        half-done is ever stored as a result.
        """

    @cached_property
    def name(self) -> str:
        """The name of its result in a store."""
        return identity_hash(self.identity)


def surroundings(module: str) -> dict[str, Any]:
    """What beside its settings decides a result: the code it rests on, the libraries, the device."""
    import jax

    device = jax.devices()[0]
    where = {"backend": jax.default_backend(), "device": device.device_kind}
    return {"code": code_version(module), "libraries": libraries(), **where}


def perform(unit: AbstractUnit, store: Store, progress: Update, *, replace: bool = False) -> Path:
    """Run a unit here and store its result; gives the folder."""
    done = unit.run(progress, lambda: store.scratch(unit.identity, unit.request()))
    return store.save(unit.identity, done.files, kind=unit.kind, title=unit.title, status=done.status, replace=replace)
