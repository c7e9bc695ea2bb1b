"""Where training starts: initial first-layer weights, one draw per seed.

An initialiser turns seeds into weights of shape (seed, unit, *pixels). Where a scale is a list, each of its values
is a setting of its own and :meth:`AbstractInitialiser.each` takes them apart.
"""

import abc
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._math import ring_distance
from .._settings import Setting, finite_array, validated, wrong
from .._types import Array, Float, Int, Leaf

SeedWeights = Float[Array, "seeds units *pixels"]
SCALE = Setting("factor on the variance of the weights", gt=0, typical=(1e-3, 1), sweep=True)


class AbstractInitialiser(eqx.Module):
    """Seeds to weights."""

    @abc.abstractmethod
    def weights(self, seeds: Int[np.ndarray, " seeds"], units: int, shape: tuple[int, ...], dtype: Any) -> SeedWeights:
        """Initial weights, one set per seed."""

    def each(self) -> "list[AbstractInitialiser] | None":
        """One initialiser per value of a swept setting; None where nothing is swept."""
        scale = getattr(self, "scale", None)
        if scale is None or scale.ndim == 0:
            return None
        return [eqx.tree_at(lambda init: init.scale, self, np.asarray(value)) for value in scale]


def _each(seeds, draw) -> SeedWeights:
    return jax.vmap(lambda seed: draw(jax.random.key(seed)))(jnp.asarray(seeds))


def _glorot(key, units: int, shape: tuple[int, ...], dtype) -> Float[Array, "units *pixels"]:
    return jax.nn.initializers.glorot_normal()(key, (units, int(np.prod(shape))), dtype).reshape(units, *shape)


class Xavier(AbstractInitialiser):
    """Xavier normal (truncated at two standard deviations), its variance multiplied by a scale."""

    scale: Annotated[Leaf, SCALE]

    def __init__(self, scale=1e-3):
        (self.scale,) = validated(Xavier, scale=scale)

    def weights(self, seeds, units, shape, dtype):
        return jnp.sqrt(jnp.asarray(self.scale, dtype)) * _each(seeds, lambda key: _glorot(key, units, shape, dtype))


class Authors(AbstractInitialiser):
    """The paper's own starting weights, seed by seed; ``x64=False`` gives those of their older runs."""

    scale: Annotated[Leaf, SCALE]
    x64: Annotated[bool, Setting("whether the authors' run had float64 switched on", kind=bool)] = eqx.field(
        static=True
    )

    def __init__(self, scale=1e-3, x64: bool = True):
        self.scale, self.x64 = validated(Authors, scale=scale, x64=x64)

    def weights(self, seeds, units, shape, dtype):
        # Their generator is an older form of JAX's, and draws other numbers with float64 on.
        with jax.threefry_partitionable(False), jax.enable_x64(self.x64):
            precision = jnp.float64 if self.x64 else jnp.float32
            draws = [
                _glorot(jax.random.split(jax.random.PRNGKey(int(s)), 4)[1], units, shape, precision) for s in seeds
            ]
            start = np.sqrt(float(self.scale)) * np.stack([np.asarray(draw) for draw in draws])
        return jnp.asarray(start, dtype)


class Isotropic(AbstractInitialiser):
    """Independent normal weights of a given standard deviation."""

    std: Annotated[Leaf, Setting("standard deviation of a weight", gt=0, typical=(1e-3, 1))]

    def __init__(self, std: Any = 0.01):
        (self.std,) = validated(Isotropic, std=std)

    def weights(self, seeds, units, shape, dtype):
        return jnp.asarray(self.std, dtype) * _each(seeds, lambda key: jax.random.normal(key, (units, *shape), dtype))


class PositiveShifted(AbstractInitialiser):
    """Isotropic normal weights plus a positive constant: every unit starts tuned to low frequencies."""

    std: Annotated[Leaf, Setting("standard deviation of a weight", gt=0, typical=(1e-3, 1))]
    shift: Annotated[Leaf, Setting("constant added to every weight", gt=0, typical=(1e-3, 1))]

    def __init__(self, std=0.01, shift=0.01):
        self.std, self.shift = validated(PositiveShifted, std=std, shift=shift)

    def weights(self, seeds, units, shape, dtype):
        return Isotropic(np.asarray(self.std)).weights(seeds, units, shape, dtype) + jnp.asarray(self.shift, dtype)


def _places(key, units: int, shape: tuple[int, ...]) -> Int[Array, " units"]:
    """Evenly spaced pixels (flattened), the whole pattern at a random offset."""
    pixels = int(np.prod(shape))
    offset = jax.random.randint(key, (), 0, pixels, jnp.int32)
    return (offset + jnp.asarray(np.arange(units) * pixels // units, jnp.int32)) % pixels


class _Pattern(eqx.Module):
    """A pattern about pixel 0, moved to evenly spaced places."""

    row: Float[np.ndarray, "*pixels"]

    def weights(self, seeds, units: int, scale, dtype) -> SeedWeights:
        shape = self.row.shape
        row = jnp.asarray(self.row, dtype)

        def moved(place):
            return jnp.roll(row, jnp.stack(jnp.unravel_index(place, shape)), axis=tuple(range(len(shape))))

        return jnp.asarray(scale, dtype) * _each(seeds, lambda key: jax.vmap(moved)(_places(key, units, shape)))


AMPLITUDE = Setting("largest weight", gt=0, typical=(1e-3, 1))


class Basis(AbstractInitialiser):
    """Each unit looks at one pixel; the pixels are evenly spaced, at an offset drawn by the seed."""

    scale: Annotated[Leaf, AMPLITUDE]

    def __init__(self, scale=0.01):
        (self.scale,) = validated(Basis, scale=scale)

    def weights(self, seeds, units, shape, dtype):
        row = np.zeros(shape)
        row.flat[0] = 1
        return _Pattern(row).weights(seeds, units, self.scale, dtype)


class SmallBump(AbstractInitialiser):
    """Each unit looks at three pixels with weights (1, 2, 1)/2; on a torus, at their product."""

    scale: Annotated[Leaf, AMPLITUDE]

    def __init__(self, scale=0.01):
        (self.scale,) = validated(SmallBump, scale=scale)

    def weights(self, seeds, units, shape, dtype):
        factors = [np.select([ring_distance(n) == 0, ring_distance(n) == 1], [1.0, 0.5], 0.0) for n in shape]
        row = factors[0] if len(shape) == 1 else np.multiply.outer(*factors)
        return _Pattern(row).weights(seeds, units, self.scale, dtype)


class Gabor(AbstractInitialiser):
    """Each unit is a Gaussian window times a cosine, of the same width and period, evenly placed."""

    width: Annotated[Leaf, Setting("standard deviation of the window in pixels", gt=0, typical=(1, 10))]
    period: Annotated[Leaf, Setting("pixels per cycle, along the last axis", ge=2, typical=(2, 20))]
    scale: Annotated[Leaf, AMPLITUDE]

    def __init__(self, width=3.0, period=8.0, scale=0.01):
        self.width, self.period, self.scale = validated(Gabor, width=width, period=period, scale=scale)

    def weights(self, seeds, units, shape, dtype):
        distances = np.ix_(*(ring_distance(n) for n in shape))
        window = np.exp(-sum(d**2 for d in distances) / (2 * self.width**2))
        row = np.asarray(window * np.cos(2 * np.pi * distances[-1] / self.period))
        return _Pattern(row).weights(seeds, units, self.scale, dtype)


class Given(AbstractInitialiser):
    """Weights from outside: (unit, *pixels) for every seed alike, or (seed, unit, *pixels)."""

    values: Leaf

    def __init__(self, values: Any):
        self.values = finite_array(Given, "values", values, "finite numbers")

    def weights(self, seeds, units, shape, dtype):
        expected = (len(seeds), units, *shape)
        if self.values.shape == expected[1:]:
            return jnp.broadcast_to(jnp.asarray(self.values, dtype), expected)
        if self.values.shape != expected:
            raise wrong(
                "train", "init", f"an array of shape {self.values.shape}", f"of shape {expected[1:]} or {expected}"
            )
        return jnp.asarray(self.values, dtype)


INITIALISERS = (Xavier, Authors, Isotropic, PositiveShifted, Basis, SmallBump, Gabor)
