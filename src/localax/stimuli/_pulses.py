"""Pulses: binary patterns whose lengthscale is the length of a run of equal pixels."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._errors import setting_error
from .._types import Key, Leaf, Row, Samples
from ..spec import Setting, validated
from ._base import AbstractStimulus
from ._marginals import TwoPoint
from ._normal_maps import Bernoulli
from ._support import STATES, Support, even_support, hypercube_states

RING = Setting("pixels of the ring", kind="size")


def _overlap(lengths: np.ndarray, size: int) -> Row:
    """Pairs of pixels at distance d that lie in one run together, summed over the runs' lengths."""
    d = np.arange(size)[:, None]
    return (np.maximum(lengths - d, 0) + np.maximum(lengths - (size - d), 0) * (d > 0)).sum(1).astype(float)


def _ring(cls: type, size) -> int:
    if not isinstance(size, int):
        raise setting_error(cls, "size", size, "a whole number >= 2 (a ring)")
    return size


class SinglePulse(AbstractStimulus):
    """One run of pixels at the upper value on a ring at the lower one, start and length uniform.

    With ``complement`` the two values change places by a fair coin, one for each sample; the authors' runs toss one
    for a whole batch, whose samples are then not independent. Pixels are 0 and 1, or -1 and 1: the variance is that
    of these values, not 1.
    """

    size: Annotated[int, RING] = eqx.field(static=True)
    shortest: Annotated[Leaf, Setting("least length of the pulse in pixels", kind=int, ge=1, typical=(2, 4))]
    longest: Annotated[Leaf, Setting("greatest length of the pulse in pixels", kind=int, ge=1, typical=(8, 10))]
    values: Annotated[tuple[int, int], Setting("the two values of a pixel", kind=tuple, choices=((-1, 1), (0, 1)))] = (
        eqx.field(static=True)
    )
    complement: Annotated[bool, Setting("whether the values change places half the time", kind=bool)] = eqx.field(
        static=True
    )

    def __init__(self, size: int, shortest, longest, values: tuple[int, int] = (-1, 1), complement: bool = True):
        checked = validated(
            SinglePulse, size=size, shortest=shortest, longest=longest, values=values, complement=complement
        )
        self.size, self.shortest, self.longest, self.values, self.complement = checked
        _ring(SinglePulse, self.size)
        if not self.shortest <= self.longest < self.size:
            raise setting_error(
                SinglePulse, "longest", longest, f"at least shortest ({shortest}) and below size ({size})"
            )

    def draw(self, key: Key, n: int, dtype) -> Samples:
        start_key, length_key, complement_key = jax.random.split(key, 3)
        start = jax.random.randint(start_key, (n, 1), 0, self.size, jnp.int32)
        length = jax.random.randint(length_key, (n, 1), self.shortest, jnp.asarray(self.longest) + 1, jnp.int32)
        inside = (jnp.arange(self.size, dtype=jnp.int32) - start) % self.size < length
        if self.complement:
            inside ^= jax.random.uniform(complement_key, (n, 1), jnp.float32) < 0.5
        low, high = self.values
        return jnp.where(inside, jnp.asarray(high, dtype), jnp.asarray(low, dtype))

    def _lengths(self) -> np.ndarray:
        return np.arange(int(self.shortest), int(self.longest) + 1)

    def covariance(self) -> Row:
        lengths = self._lengths()
        share = lengths.mean() / self.size
        both = _overlap(lengths, self.size) / (self.size * len(lengths))
        # A complement keeps "equal or not", and makes the mean 1/2 whatever the pulse.
        product = (0.5 - share + both) - 0.25 if self.complement else both - share**2
        return float(self.values[1] - self.values[0]) ** 2 * product

    @property
    def marginal(self) -> TwoPoint:
        share = 0.5 if self.complement else self._lengths().mean() / self.size
        return TwoPoint(np.array(self.values[0], float), np.array(self.values[1], float), np.array(share))

    @property
    def sign_symmetric(self) -> bool:
        return self.complement and self.values == (-1, 1)

    def support(self) -> Support:
        n, (low, high) = self.size, self.values
        inside = np.stack([(np.arange(n) - start) % n < length for length in self._lengths() for start in range(n)])
        inside = np.concatenate([inside, ~inside]) if self.complement else inside
        return even_support(np.where(inside, float(high), float(low)))


class BlockPulse(AbstractStimulus):
    """A ring cut at a random place into blocks of one length, each block +1 or -1 by its own fair coin.

    Where the length does not divide the ring, the last block is shorter.
    """

    size: Annotated[int, RING] = eqx.field(static=True)
    length: Annotated[Leaf, Setting("length of a block in pixels", kind=int, ge=1, typical=(2, 10))]

    def __init__(self, size: int, length):
        self.size, self.length = validated(BlockPulse, size=size, length=length)
        if self.length > _ring(BlockPulse, self.size):
            raise setting_error(BlockPulse, "length", length, f"a whole number from 1 to size ({size})")

    def draw(self, key: Key, n: int, dtype) -> Samples:
        offset_key, sign_key = jax.random.split(key)
        offset = jax.random.randint(offset_key, (n, 1), 0, self.size, jnp.int32)
        high = jax.random.uniform(sign_key, (n, self.size), jnp.float32) < 0.5
        block = (jnp.arange(self.size, dtype=jnp.int32) + offset) % self.size // jnp.asarray(self.length, jnp.int32)
        return jnp.where(jnp.take_along_axis(high, block, axis=1), jnp.ones((), dtype), -jnp.ones((), dtype))

    def covariance(self) -> Row:
        blocks, rest = divmod(self.size, int(self.length))
        return _overlap(np.array([int(self.length)] * blocks + [rest] * (rest > 0)), self.size) / self.size

    @property
    def marginal(self) -> Bernoulli:
        return Bernoulli()

    def support(self) -> Support | None:
        n, blocks = self.size, -(-self.size // int(self.length))
        if n * 2**blocks > STATES:
            return None
        which = (np.arange(n) + np.arange(n)[:, None]) % n // int(self.length)
        return even_support(hypercube_states(blocks)[:, which].reshape(-1, n))
