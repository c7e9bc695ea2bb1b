"""A sample in place of a law, where no windows are good."""

from typing import Any

import equinox as eqx

from ...spec import checked_count
from ...stimuli import AbstractStimulus, checked_stimulus
from .._float64 import in_float64
from ._model import AbstractGateModel
from ._reference import HALVES, OrbitMean, orbit_mean, representatives


class Orbits(AbstractGateModel):
    """A sample in place of a **stimulus**: **samples** draws, with all shifts and both signs where the law has these.

    Of Gaussian copulas Sobol's points, of data of one's own the data themselves, of other laws draws with **seed**. Its
    f is what a network trained on just these samples would follow; it has no closure error, and the noise of a sample.
    """

    stimulus: AbstractStimulus
    samples: int = eqx.field(static=True)
    seed: int = eqx.field(static=True)
    closure: OrbitMean

    @in_float64
    def __init__(self, stimulus: AbstractStimulus, samples: int = 4096, seed: int = 0):
        self.stimulus, self.samples = checked_stimulus(Orbits, stimulus), checked_count(Orbits, samples, HALVES)
        self.seed = seed
        self.closure = orbit_mean(stimulus, representatives(stimulus, self.samples, seed))

    def described(self) -> dict[str, Any]:
        return {"kind": "Orbits", "samples": self.samples, "seed": self.seed}
