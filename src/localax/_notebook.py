"""One-liners for a notebook: look at anything, or list what is stored."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._disk import StrPath, write_atomically
from ._errors import SettingError, setting_error
from .outcome import Fields, Figure, Outcome
from .trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from .stimuli import AbstractStimulus
    from .store import Runs

FORMS = ("png", "svg", "pdf")
SAMPLES = 2000
"""Samples behind the plot of a stimulus, or as many as have ``PIXELS`` together."""
PIXELS = 4_000_000


class Plot:
    """A figure that a notebook shows by itself and a script saves: ``lx.plot(run).save("run.png")``."""

    def __init__(self, record: Figure):
        self.record = record
        """What is drawn, as data."""

    def __repr__(self) -> str:
        return f"Plot of {self.record!r}; .save('name.png') writes it"

    def _repr_png_(self) -> bytes:
        from .report import picture

        return picture(self.record, "png")

    def save(self, path: StrPath) -> Path:
        """Write the picture to **path**: .png, .svg or .pdf."""
        from .report import picture

        form = Path(path).suffix.lstrip(".").lower()
        if form not in FORMS:
            raise setting_error("plot", "the name of a picture", str(path), f"one that ends in .{', .'.join(FORMS)}")
        return write_atomically(path, picture(self.record, form))

    @property
    def canvas(self) -> "Canvas":
        """The matplotlib figure, to change it."""
        from .report import figure

        return figure(self.record)


def plot(what: Any) -> Plot:
    """A picture of what it is given, in a notebook or for a file.

    **what**: a trajectory or sweep, a prediction, comparison, task, stimulus, amplifier, outcome or figure; one
    field, or several: (field, pixel) or (field, row, column).
    """
    figure = _data(what) or _fields(what) or _science(what)
    if figure is None:
        kinds = "a Trajectory, Comparison, Task, Outcome or Figure, a stimulus, an amplifier, or an array of fields"
        raise SettingError(f"plot: takes {kinds}, got {type(what).__name__}")
    return Plot(figure)


def _data(what: Any) -> Figure | None:
    from .analysis import Comparison, evolution
    from .prediction import Prediction

    if isinstance(what, Figure):
        return what
    if isinstance(what, Outcome):
        rows = [row for figure in what.figures for row in figure.rows]
        labels = [label for f in what.figures for label in (*f.labels, *[""] * (len(f.rows) - len(f.labels)))]
        return Figure(what.title, tuple(rows), tuple(labels))
    if isinstance(what, Trajectory):
        return evolution(what)
    return what.figure() if isinstance(what, Comparison | Prediction) else None


def _fields(what: Any) -> Figure | None:
    try:
        values = np.asarray(what)
    except ValueError:  # lists of unequal lengths
        return None
    if values.dtype.kind not in "iuf" or values.ndim not in (1, 2, 3) or 0 in values.shape:
        return None
    return Figure("", ((Fields("receptive fields", np.atleast_2d(values)),),))


def _science(what: Any) -> Figure | None:
    from .experiments.toolkit.expansions import amplifier_panel
    from .stimuli import AbstractStimulus, Task
    from .theory import Amplifier

    if isinstance(what, Amplifier):
        return Figure("Amplifier", ((amplifier_panel(what),),))
    if isinstance(what, AbstractStimulus):
        return Figure(repr(what), (_law(what),))
    if isinstance(what, Task):
        classes = tuple(f"class {i}" for i in range(len(what.stimuli)))
        return Figure(repr(what), tuple(_law(stimulus) for stimulus in what.stimuli), classes)
    return None


def _law(stimulus: "AbstractStimulus") -> tuple[Any, ...]:
    import jax

    from .experiments.toolkit.samples import row

    count = max(1, min(SAMPLES, PIXELS // int(np.prod(stimulus.shape))))
    return row({"a sample": (stimulus, np.asarray(stimulus.sample(jax.random.key(0), count)))})


def runs(root: StrPath | None = None) -> "Runs":
    """What is stored, newest last; **root** is the store's folder, by default that of ``Store``."""
    from .store import Store

    return Store(root).runs()
