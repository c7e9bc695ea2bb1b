"""Where training starts: initial first-layer weights, one draw per seed.

An initialiser turns keys, one per seed, into weights of shape (seed, unit, *pixels). Where a scale is a
list, each of its values is a setting of its own and :meth:`AbstractInitialiser.each` takes them apart.
"""

import abc
import functools
import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._errors import setting_error
from .._math import ring_distance
from .._text import readable
from .._types import Array, Float, Int, Leaf
from ..spec import Setting, finite_array, validated

SeedWeights = Float[Array, "seeds units *pixels"]
SCALE = Setting("factor on the variance of the weights", gt=0, typical=(1e-3, 1), sweep=True)


def seed_keys(seeds: Int[np.ndarray, " seeds"] | Sequence[int]) -> Array:
    """The keys that **seeds**, whole numbers, stand for, one each: what an initialiser takes."""
    return _keys(np.asarray(seeds, np.int32))


_keys = jax.jit(jax.vmap(jax.random.key))


class AbstractInitialiser(eqx.Module):
    """Keys to weights."""

    __repr__ = readable

    @abc.abstractmethod
    def weights(self, keys: Array, units: int, shape: tuple[int, ...], dtype: Any) -> SeedWeights:
        """Initial weights, (seed, unit, *pixels).

        **keys**: an array of them, one per seed. **units**: how many hidden units. **shape**: of the input's pixels.
        **dtype**: of the weights.
        """

    def first_biases(self, keys: Array, units: int, dtype: Any) -> Float[Array, "seeds units"] | None:
        """Initial biases, (seed, unit); None leaves them to the network, which starts them at 0.

        **keys**, **units**, **dtype**: as :meth:`weights` takes them.
        """
        del keys, units, dtype
        return None

    def each(self) -> "list[AbstractInitialiser] | None":
        """One initialiser per value of a swept setting; None where nothing is swept."""
        scale = getattr(self, "scale", None)
        if scale is None or scale.ndim == 0:
            return None
        return [eqx.tree_at(lambda init: init.scale, self, np.asarray(value)) for value in scale]


@functools.partial(jax.jit, static_argnums=(0, 2, 3))
def _each(draw: Callable, keys: Array, shape: tuple[int, ...], dtype: Any) -> SeedWeights:
    """A draw per key, all in one small program."""
    return jax.vmap(lambda key: draw(key, shape=shape, dtype=dtype))(keys)


_truncated_normal = functools.partial(jax.random.truncated_normal, lower=-2, upper=2)
TRUNCATED = 0.87962566103423978
"""The standard deviation of a normal truncated at two of its own."""


def _glorot(key, units: int, shape: tuple[int, ...], dtype) -> Float[Array, "units *pixels"]:
    return jax.nn.initializers.glorot_normal()(key, (units, int(np.prod(shape))), dtype).reshape(units, *shape)


class Xavier(AbstractInitialiser):
    """Xavier normal (truncated at two standard deviations), its variance multiplied by a scale."""

    scale: Annotated[Leaf, SCALE]

    def __init__(self, scale=1e-3):
        (self.scale,) = validated(Xavier, scale=scale)

    def weights(self, keys, units, shape, dtype):
        draws = np.asarray(_each(_truncated_normal, keys, (units, *shape), dtype))
        # By numpy: JAX would compile a program for each of these.
        scale, variance = (np.asarray(value, dtype) for value in (self.scale, 2 / (units + math.prod(shape))))
        return jax.device_put(np.sqrt(scale) * (draws * (np.sqrt(variance) / np.asarray(TRUNCATED, dtype))))


class Authors(AbstractInitialiser):
    """The paper's own starting weights, seed by seed; ``x64=False`` gives those of their older runs."""

    scale: Annotated[Leaf, SCALE]
    x64: Annotated[bool, Setting("whether the authors' run had float64 switched on", kind=bool)] = eqx.field(
        static=True
    )

    def __init__(self, scale=1e-3, x64: bool = True):
        self.scale, self.x64 = validated(Authors, scale=scale, x64=x64)

    def weights(self, keys, units, shape, dtype):
        # Their generator is an older form of JAX's, and draws other numbers with float64 on.
        with jax.threefry_partitionable(False), jax.enable_x64(self.x64):
            precision = jnp.float64 if self.x64 else jnp.float32
            old = jax.random.key_data(keys)  # theirs are of the old kind
            draws = [_glorot(jax.random.split(key, 4)[1], units, shape, precision) for key in old]
            start = np.sqrt(float(self.scale)) * np.stack([np.asarray(draw) for draw in draws])
        return jnp.asarray(start, dtype)


class Isotropic(AbstractInitialiser):
    """Independent normal weights of a given standard deviation."""

    std: Annotated[Leaf, Setting("standard deviation of a weight", gt=0, typical=(1e-3, 1))]

    def __init__(self, std: Any = 0.01):
        (self.std,) = validated(Isotropic, std=std)

    def weights(self, keys, units, shape, dtype):
        draws = np.asarray(_each(jax.random.normal, keys, (units, *shape), dtype))
        return jax.device_put(np.asarray(self.std, dtype) * draws)


class PositiveShifted(AbstractInitialiser):
    """Isotropic normal weights plus a positive constant: every unit starts tuned to low frequencies."""

    std: Annotated[Leaf, Setting("standard deviation of a weight", gt=0, typical=(1e-3, 1))]
    shift: Annotated[Leaf, Setting("constant added to every weight", gt=0, typical=(1e-3, 1))]

    def __init__(self, std=0.01, shift=0.01):
        self.std, self.shift = validated(PositiveShifted, std=std, shift=shift)

    def weights(self, keys, units, shape, dtype):
        drawn = np.asarray(Isotropic(np.asarray(self.std)).weights(keys, units, shape, dtype))
        return jax.device_put(drawn + np.asarray(self.shift, dtype))


def _places(key, units: int, shape: tuple[int, ...]) -> Int[Array, " units"]:
    """Evenly spaced pixels (flattened), the whole pattern at a random offset."""
    pixels = int(np.prod(shape))
    offset = jax.random.randint(key, (), 0, pixels, jnp.int32)
    return (offset + jnp.asarray(np.arange(units) * pixels // units, jnp.int32)) % pixels


class _Pattern(eqx.Module):
    """A pattern about pixel 0, moved to evenly spaced places."""

    row: Float[np.ndarray, "*pixels"]

    @eqx.filter_jit
    def weights(self, keys, units: int, scale, dtype) -> SeedWeights:
        shape = self.row.shape
        row = jnp.asarray(self.row, dtype)

        def moved(place):
            return jnp.roll(row, jnp.stack(jnp.unravel_index(place, shape)), axis=tuple(range(len(shape))))

        places = jax.vmap(lambda key: _places(key, units, shape))(keys)
        return jnp.asarray(scale, dtype) * jax.vmap(jax.vmap(moved))(places)


AMPLITUDE = Setting("largest weight", gt=0, typical=(1e-3, 1))


class Basis(AbstractInitialiser):
    """Each unit looks at one pixel; the pixels are evenly spaced, at an offset drawn by the seed."""

    scale: Annotated[Leaf, AMPLITUDE]

    def __init__(self, scale=0.01):
        (self.scale,) = validated(Basis, scale=scale)

    def weights(self, keys, units, shape, dtype):
        row = np.zeros(shape)
        row.flat[0] = 1
        return _Pattern(row).weights(keys, units, self.scale, dtype)


class SmallBump(AbstractInitialiser):
    """Each unit looks at three pixels with weights (1, 2, 1)/2; on a torus, at their product."""

    scale: Annotated[Leaf, AMPLITUDE]

    def __init__(self, scale=0.01):
        (self.scale,) = validated(SmallBump, scale=scale)

    def weights(self, keys, units, shape, dtype):
        factors = [np.select([ring_distance(n) == 0, ring_distance(n) == 1], [1.0, 0.5], 0.0) for n in shape]
        row = factors[0] if len(shape) == 1 else np.multiply.outer(*factors)
        return _Pattern(row).weights(keys, units, self.scale, dtype)


class Gabor(AbstractInitialiser):
    """Each unit is a Gaussian window times a cosine, of the same width and period, evenly placed."""

    width: Annotated[Leaf, Setting("standard deviation of the window in pixels", ge=1e-6, le=1e6, typical=(1, 10))]
    period: Annotated[Leaf, Setting("pixels per cycle, along the last axis", ge=2, typical=(2, 20))]
    scale: Annotated[Leaf, AMPLITUDE]

    def __init__(self, width=3.0, period=8.0, scale=0.01):
        self.width, self.period, self.scale = validated(Gabor, width=width, period=period, scale=scale)

    def weights(self, keys, units, shape, dtype):
        distances = np.ix_(*(ring_distance(n) for n in shape))
        window = np.exp(-sum(d**2 for d in distances) / (2 * self.width**2))
        row = np.asarray(window * np.cos(2 * np.pi * distances[-1] / self.period))
        return _Pattern(row).weights(keys, units, self.scale, dtype)


class Given(AbstractInitialiser):
    """Weights from outside.

    **values**: (seed, unit, *pixels), or (unit, *pixels) for every seed alike; for a single unit its axis may be left
    out. **biases**: (seed, unit), or (unit) for every seed alike; None leaves them to the network.
    """

    values: Leaf
    biases: Leaf | None

    def __init__(self, values: Any, biases: Any = None):
        self.values = finite_array(Given, "values", values, "finite numbers").astype(float)
        given = biases is not None
        self.biases = finite_array(Given, "biases", biases, "finite numbers") if given else None

    def weights(self, keys, units, shape, dtype):
        return _for_seeds("weights", self.values, (len(keys), units, *shape), dtype)

    def first_biases(self, keys, units, dtype):
        if self.biases is None:
            return None
        return _for_seeds("biases", self.biases, (len(keys), units), dtype)


def _for_seeds(name: str, values: Leaf, full: tuple[int, ...], dtype: Any) -> Float[Array, "seeds units ..."]:
    """An array with its axes of seeds and units, whichever of them were left out."""
    seeds, units, *shape = full
    forms = [full[1:], full] + ([tuple(shape), (seeds, *shape)] if units == 1 else [])
    if values.shape not in forms:
        expected = " or ".join(map(str, forms))
        raise setting_error("train", "init", f"{name} of shape {values.shape}", f"of shape {expected}")
    return jnp.broadcast_to(jnp.asarray(values, dtype).reshape(-1, *full[1:]), full)


INITIALISERS = (Xavier, Authors, Isotropic, PositiveShifted, Basis, SmallBump, Gabor)
