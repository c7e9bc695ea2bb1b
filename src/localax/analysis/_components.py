"""Independent component analysis, the classical road to local filters, as a comparison (Figure 6)."""

from typing import Literal

import numpy as np

from .._errors import SettingError
from .._types import Float
from ._pixels import Field


def ica(
    samples: Field,
    components: int,
    *,
    seed: int = 0,
    algorithm: Literal["parallel", "deflation"] = "parallel",
    steps: int = 200,
    tolerance: float = 1e-4,
) -> Float[np.ndarray, "components *pixels"]:
    """Filters of scikit-learn's FastICA on ``samples`` (n, *pixels): what a unit would weigh the pixels with.

    **components**: how many filters, at most the number of pixels and of samples. **seed**: of the start.
    **algorithm**: all filters at once ("parallel") or one after the other ("deflation"). **steps**: how many it may
    take; scikit-learn warns where they were not enough to change the filters by less than **tolerance**.

    A comparison, by numpy: it does not go through jit. Filters have unit norm; their sign and order carry no meaning.
    """
    from sklearn.decomposition import FastICA  # takes a second, and nothing else here needs it

    x = np.asarray(samples)
    if x.ndim < 2 or 0 in x.shape:
        raise SettingError(f"samples must be (n, *pixels) and not empty, not of shape {x.shape}")
    if not 1 <= components <= min(len(x), x[0].size):
        raise SettingError(f"components must be 1 to {min(len(x), x[0].size)}, not {components}")
    if not np.isfinite(x).all():
        raise SettingError("samples must be finite")
    model = FastICA(
        components,
        algorithm=algorithm,
        whiten="unit-variance",
        max_iter=steps,
        tol=tolerance,
        random_state=seed,
    )
    filters = model.fit(x.reshape(len(x), -1)).components_
    return (filters / np.linalg.norm(filters, axis=1, keepdims=True)).reshape(components, *x.shape[1:])
