"""What a network is asked to tell apart: classes of stimuli, their labels and how often each comes."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._errors import SettingError, setting_error
from .._text import brief, call, table
from .._types import Float, Int, Key, Leaf, Samples
from ..spec import Number, checked_count, finite_array
from ._base import WRAP, AbstractStimulus, checked_key

Shares = Sequence[Number] | np.ndarray
Labels = Shares | Callable


class Task(eqx.Module):
    """Classes, labels and proportions.

    ``stimuli`` are of one shape, one per class. ``labels`` are numbers, one per class, or a function of x that gives
    one number per sample (a regression). ``proportions`` default to equal shares.
    """

    stimuli: tuple[AbstractStimulus, ...]
    labels: Leaf | None
    target: Callable | None = eqx.field(static=True)
    proportions: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, stimuli: Sequence[AbstractStimulus], labels: Labels, proportions: Shares | None = None):
        self.stimuli = _checked_stimuli(stimuli)
        self.target = labels if callable(labels) else None
        self.labels = None if callable(labels) else _checked_labels(labels, len(self.stimuli))
        self.proportions = _checked_proportions(proportions, len(self.stimuli))

    def __repr__(self) -> str:
        given = {"stimuli": list(self.stimuli), "labels": self.labels if self.target is None else self.target}
        equal = len(set(self.proportions)) == 1
        return call("Task", given if equal else given | {"proportions": list(self.proportions)})

    def _repr_html_(self) -> str:
        labels = [brief(self.target)] * len(self.stimuli) if self.labels is None else map(brief, self.labels)
        rows = zip(map(brief, self.stimuli), labels, map(brief, self.proportions), strict=True)
        return table(rows, ("stimulus", "label", "share"), f"Task: {len(self.stimuli)} classes")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.stimuli[0].shape

    @property
    def shift_invariant(self) -> bool:
        return all(stimulus.shift_invariant for stimulus in self.stimuli)

    @property
    def sign_symmetric(self) -> bool:
        return all(stimulus.sign_symmetric for stimulus in self.stimuli)

    def counts(self, n: int) -> tuple[int, ...]:
        """How many of ``n`` samples each class gets when proportions are kept exactly."""
        shares = np.array(self.proportions) * n
        counts = np.rint(shares).astype(int)
        if np.any(np.abs(shares - counts) > 1e-6) or counts.min() < 1:
            wanted = ", ".join(f"{share:g}" for share in self.proportions)
            raise SettingError(
                f"Task: a stratified batch of {n} cannot be split in proportions {wanted}; "
                "choose another batch, or stratified=False"
            )
        return tuple(int(count) for count in counts)

    def sample(
        self, key: Key, n: int, *, stratified: bool = True, common: bool = False, dtype: Any = jnp.float32
    ) -> tuple[Samples, Float[jax.Array, " n"]]:
        """``n`` samples from one ``key``, in the given ``dtype``, with their labels.

        Class after class if ``stratified``, else each of a class drawn at random. With ``common`` the same random
        numbers serve every class, so that the i-th samples of two classes differ in their law alone.
        """
        x, classes = self.draw(key, n, stratified, dtype, common)
        return x, self.label(x, classes)

    def draw(
        self, key: Key, n: int, stratified: bool, dtype: Any, common: bool = False
    ) -> tuple[Samples, Int[jax.Array, " n"]]:
        """``n`` samples with their classes; ``key``, ``stratified``, ``dtype`` and ``common`` as in :meth:`sample`.

        A random class per sample costs one full batch of every class.
        """
        checked_count("Task", n)
        checked_key("Task", key)
        *keys, last = jax.random.split(key, len(self.stimuli) + 1)
        keys = keys[:1] * len(keys) if common else keys
        if stratified:
            counts = self.counts(n)
            drawn = (max(counts),) * len(counts) if common else counts  # of one key, numbers depend on how many
            draws = [
                s.sample(k, d, dtype=dtype)[:c] for s, k, d, c in zip(self.stimuli, keys, drawn, counts, strict=True)
            ]
            return jnp.concatenate(draws), self.classes(n)
        edges = jnp.asarray(np.cumsum(self.proportions)[:-1], jnp.float32)
        classes = jnp.searchsorted(edges, jax.random.uniform(last, (n,), jnp.float32), side="right")
        draws = jnp.stack([s.sample(k, n, dtype=dtype) for s, k in zip(self.stimuli, keys, strict=True)])
        return draws[classes, jnp.arange(n)], classes.astype(jnp.int32)

    def classes(self, n: int) -> Int[jax.Array, " n"]:
        """The classes of a stratified batch of ``n``, in order."""
        counts = self.counts(n)
        return jnp.asarray(np.repeat(np.arange(len(counts), dtype=np.int32), counts))

    def label(self, x: Samples, classes: Any) -> Float[jax.Array, " n"]:
        """The labels of samples ``x`` whose ``classes`` are known."""
        if self.target is not None:
            labels = jnp.asarray(self.target(x), x.dtype)
            if labels.shape != x.shape[:1]:
                raise setting_error(
                    "Task", "labels", labels.shape, f"a function that gives one number per sample, {x.shape[:1]}"
                )
            return labels
        return jnp.asarray(self.labels, x.dtype)[classes]


def _checked_stimuli(stimuli: Any) -> tuple[AbstractStimulus, ...]:
    if not isinstance(stimuli, Sequence) or not all(isinstance(s, AbstractStimulus) for s in stimuli):
        items = (stimuli, *(stimuli if isinstance(stimuli, Sequence) else ()))
        arrays = [np.shape(item) for item in items if hasattr(item, "dtype")]
        given = f"an array of shape {arrays[0]}" if arrays else stimuli
        raise setting_error("Task", "stimuli", given, f"a list of stimuli, one per class{WRAP if arrays else ''}")
    if not stimuli:
        raise setting_error("Task", "stimuli", stimuli, "at least one stimulus")
    shapes = {s.shape for s in stimuli}
    if len(shapes) > 1:
        raise setting_error("Task", "stimuli", sorted(shapes), "of one shape")
    return tuple(stimuli)


def _checked_labels(labels: Any, classes: int) -> np.ndarray:
    expected = f"{classes} finite numbers, one per class"
    array = finite_array("Task", "labels", labels, expected)
    if array.shape != (classes,):
        raise setting_error("Task", "labels", labels, expected)
    return array.astype(float)


def _checked_proportions(proportions: Any, classes: int) -> tuple[float, ...]:
    if proportions is None:
        return (1 / classes,) * classes
    expected = f"{classes} positive numbers that sum to 1"
    array = finite_array("Task", "proportions", proportions, expected)
    if array.shape != (classes,) or not np.all(array > 0) or abs(array.sum() - 1) > 1e-9:
        raise setting_error("Task", "proportions", proportions, expected)
    return tuple(float(share) for share in array)


def sign_changes(x: Samples) -> Float[jax.Array, " n"]:
    """The fraction of neighbours in each sample of ``x`` that differ in sign: it grows as the lengthscale shrinks."""
    up = x >= 0
    return jnp.mean(up != jnp.roll(up, 1, axis=-1), axis=tuple(range(1, x.ndim)), dtype=x.dtype)
