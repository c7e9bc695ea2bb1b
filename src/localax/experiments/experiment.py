"""What an experiment is: settings, a measurement, and what is said of it.

*Measuring*, *deciding* and *wording* are three steps. `measure` trains and computes and gives a `Measured` that holds
numbers alone; its claims, figures and text are made from those numbers, so each can be tried without training.
"""

import abc
import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax

from .._disk import libraries
from .._errors import refuse_unknown
from .._progress import Update
from ..outcome import Claim, Figure, Outcome
from ..spec import listing, plain_settings, settings_of


class AbstractMeasured(abc.ABC):
    """The numbers of an experiment, and what they say."""

    @abc.abstractmethod
    def claims(self) -> tuple[Claim, ...]:
        """Every claim, decided."""

    @abc.abstractmethod
    def figures(self) -> tuple[Figure, ...]:
        """Every figure, as data."""

    @abc.abstractmethod
    def text(self) -> str:
        """What was asked, what was found and how sure that is, in plain words, filled from the numbers."""


@dataclass(frozen=True)
class AbstractExperiment(abc.ABC):
    """One figure or question, asked in its docstring. Its fields are its settings, checked as those of any other class.

    A new experiment is one such class in a file of its own, added to the tuple of its chapter.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    cost: ClassVar[float]
    """About how many seconds its quick preset takes: the longest begin first."""

    def __post_init__(self) -> None:
        for name, value in plain_settings(type(self), dataclasses.asdict(self)).items():
            object.__setattr__(self, name, value)
        self.check()

    def check(self) -> None:  # noqa: B027 (most settings go together whatever they are)
        """Refuse settings that do not go together, with a SettingError; called before anything runs."""

    @classmethod
    def quick(cls) -> "AbstractExperiment":
        """The preset that takes seconds."""
        return cls()

    @classmethod
    def paper(cls) -> "AbstractExperiment":
        """The preset with the paper's own sizes; the quick one where there is no difference."""
        return cls()

    @classmethod
    def preset(cls, name: str) -> "AbstractExperiment":
        """A preset by its **name**: "quick" or "paper"."""
        presets = {"quick": cls.quick, "paper": cls.paper}
        refuse_unknown("preset", name, presets)
        return presets[name]()

    def changed(self, settings: Mapping[str, Any]) -> "AbstractExperiment":
        """The same experiment with other **settings**, by name."""
        known = settings_of(type(self))
        for name in settings:
            refuse_unknown(f"setting of {self.name}", name, known)
        return dataclasses.replace(self, **plain_settings(type(self), {**dataclasses.asdict(self), **settings}))

    @abc.abstractmethod
    def measure(self, key: Any, progress: Update) -> AbstractMeasured:
        """Train, compute, and give the numbers.

        **key**: what all that is random is drawn with. **progress**: to be called with the fraction that is done.
        """

    def perform(self, *, seed: int = 0, progress: Update = lambda _: None, chapter: str = "") -> Outcome:
        """Measure, decide and put into words.

        **seed**: of the key that is measured with. **progress**: called with the fraction that is done. **chapter**: of
        the report, noted in the outcome. An experiment does arithmetic of its own beside what theory and training do,
        and does it in float64.
        """
        began = time.perf_counter()
        with jax.enable_x64(True):
            measured = self.measure(jax.random.key(seed), progress)
            text, figures, claims = measured.text(), measured.figures(), measured.claims()
        if self not in (self.quick(), self.paper()):  # what is expected was found with the presets
            claims = tuple(dataclasses.replace(claim, expected=None) for claim in claims)
        settings = {**dataclasses.asdict(self), "seed": seed}
        spent = time.perf_counter() - began
        return Outcome(
            self.title, text, figures, claims, self.name, chapter, settings, spent, libraries(),
            question=listing(type(self))["meaning"], origin=self.origin(),
        )  # fmt: skip

    @classmethod
    def origin(cls) -> str:
        """The file that the experiment is written in, or its module where that is not one of ours."""
        ours = cls.__module__.startswith(f"{__package__}.")
        return f"src/{cls.__module__.replace('.', '/')}.py" if ours else cls.__module__
