"""What is expected where a verdict hangs on the preset."""

from ...outcome import Expected, Verdict, as_measured
from ..experiment import AbstractExperiment


def by_preset(experiment: AbstractExperiment, *, quick: Verdict, paper: Verdict, why: str) -> Expected:
    """The verdict that was measured with this experiment's preset, and **why** the other preset gives another."""
    if experiment == type(experiment).paper():
        return as_measured(paper, f"paper preset of version 0.2; {why}")
    return as_measured(quick, f"quick preset of version 0.2; {why}")
