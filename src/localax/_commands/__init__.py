"""What can be typed after ``localax``, a file for each command. JAX is imported inside commands only."""

from ._about import cite, doctor
from ._bench import bench
from ._lab import lab
from ._listing import list_
from ._predict import predict
from ._reproduce import reproduce, stimuli
from ._runs import runs
from ._sweep import plot, sweep
from ._train import train
from ._troubles import DEBUG

__all__ = [
    "DEBUG",
    "bench",
    "cite",
    "doctor",
    "lab",
    "list_",
    "plot",
    "predict",
    "reproduce",
    "runs",
    "stimuli",
    "sweep",
    "train",
]
