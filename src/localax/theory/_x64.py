"""The theory works in float64, and says so."""

import jax


def require_x64() -> None:
    """Refuse to compute in float32."""
    if not jax.config.read("jax_enable_x64"):
        raise ValueError("theory needs float64: call lx.enable_x64() before the first array is made")
