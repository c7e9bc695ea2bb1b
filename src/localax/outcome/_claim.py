"""A claim: a sentence of a source, the numbers measured, and the verdict that a stated rule gives on them.

A `Rule` decides by named numbers and named thresholds alone. It carries numbers at which it must hold, must fail and,
where it knows a part, must hold in part, so that every rule can be shown to decide before anything is trained.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace
from typing import Any, Literal

Verdict = Literal["holds", "holds in part", "does not hold", "not testable here"]


@dataclass(frozen=True)
class Number:
    """A measured number.

    ``name``: what rules and sentences call it. ``value``: None where there were no data to measure it on.
    ``standard_error``: of the value, None where it is exact or not known. ``unit``: in words, empty for a pure number.
    """

    name: str
    value: float | int | bool | None
    standard_error: float | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        for part in ("value", "standard_error"):  # numpy's numbers become Python's
            item = getattr(self, part)
            object.__setattr__(self, part, item.item() if hasattr(item, "item") else item)

    def __format__(self, form: str) -> str:
        return "no data" if self.value is None else format(self.value, form)


@dataclass(frozen=True)
class Expected:
    """The ``verdict`` to expect.

    ``by``: whether theory leads to it or it was measured before. ``because``: the formula or check, or the run.
    """

    verdict: Verdict
    by: Literal["theory", "measured before"]
    because: str


def by_theory(verdict: Verdict, because: str) -> Expected:
    """A **verdict** that a formula or an independent check leads to; **because** names it."""
    return Expected(verdict, "theory", because)


def as_measured(verdict: Verdict, because: str = "quick and paper presets of version 0.2") -> Expected:
    """A **verdict** that no theory gives, known from an earlier run; **because** names it."""
    return Expected(verdict, "measured before", because)


@dataclass(frozen=True)
class Threshold:
    """A number that a rule compares with, by ``name`` and ``value``.

    ``at_half``, ``at_twice``: the verdict where it is half or twice as large.
    """

    name: str
    value: float
    at_half: Verdict
    at_twice: Verdict


@dataclass(frozen=True)
class Claim:
    """A sentence of a source, what it reports, what was measured, and the verdict that a rule gives."""

    sentence: str
    """The claim itself, in the words of its source."""
    source: str
    """The document, by its name in ``SOURCES``, and the place in it."""
    reported: str
    """What the source shows for it."""
    measured: tuple[Number, ...]
    """The numbers that the verdict rests on."""
    said: str
    """The numbers in a sentence, made from them."""
    rule: str
    """How they decide, in words."""
    thresholds: tuple[Threshold, ...]
    """What they are compared with."""
    basis: str
    """How many seeds and samples the measurement rests on."""
    verdict: Verdict
    """What the rule gives on them."""
    expected: Expected | None
    """None where nothing is promised, as with settings of one's own."""
    reason: str = ""
    """Why the verdict is what it is, where that is known."""

    @property
    def as_expected(self) -> bool:
        return self.expected is None or self.verdict == self.expected.verdict


Test = Callable[[Any, Any], Any]
"""From numbers and thresholds, both by name (``n.ipr >= t.least``), to whether it is so."""

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Rule:
    """How numbers decide on a sentence.

    **words** say it, with thresholds in braces (``"IPR at least {least:g}"``). **fully** and **partly** are functions
    of numbers and thresholds. **holds**, **fails** and, with a ``partly``, **part** are examples: numbers that must
    give these verdicts. **thresholds** are the numbers compared with, by name.
    """

    words: str
    fully: Test
    holds: Mapping[str, Any]
    fails: Mapping[str, Any]
    partly: Test | None = None
    part: Mapping[str, Any] | None = None
    thresholds: Mapping[str, float | int] = field(default_factory=dict)

    def decide(self, numbers: Mapping[str, Any], thresholds: Mapping[str, float | int] = NOTHING) -> Verdict:
        """The verdict on **numbers**, values by name; "not testable here" where one of them is None.

        **thresholds**: others than the rule's own, by name.
        """
        if any(value is None for value in numbers.values()):
            return "not testable here"
        n, t = SimpleNamespace(**numbers), SimpleNamespace(**{**self.thresholds, **thresholds})
        if self.fully(n, t):
            return "holds"
        return "holds in part" if self.partly is not None and self.partly(n, t) else "does not hold"

    def claim(
        self,
        sentence: str,
        *,
        source: str,
        reported: str,
        numbers: Sequence[Number],
        said: str,
        basis: str,
        expected: Expected,
        reasons: Mapping[Any, str] = NOTHING,
        words: Mapping[str, Any] = NOTHING,
    ) -> Claim:
        """The claim that this rule makes of measured **numbers**.

        **sentence**: the claim in the words of its source. **source**: the document and place. **reported**: what it
        shows for it. **basis**: how many seeds and samples were measured. **expected**: the verdict to expect.
        **said**: a sentence with the numbers' names in braces (``"median {ipr:.2f}"``). **reasons**: why, by the
        verdict that each explains; only that of the verdict reached is kept. **words**: what else the rule's own words
        need.
        """
        values = {number.name: number.value for number in numbers}
        verdict = self.decide(values)

        def at(name: str, factor: float | int) -> Verdict:
            return self.decide(values, {name: factor * self.thresholds[name]})

        return Claim(
            sentence=sentence,
            source=source,
            reported=reported,
            measured=tuple(numbers),
            said=said.format(**{number.name: number for number in numbers}),
            rule=self.words.format(**self.thresholds, **words),
            thresholds=tuple(Threshold(n, float(v), at(n, 0.5), at(n, 2.0)) for n, v in self.thresholds.items()),
            basis=basis,
            verdict=verdict,
            expected=expected,
            reason=reasons.get(verdict, ""),
        )


def finite(value: Any) -> float | None:
    """The **value** as a number, or None where it is not finite: what a mean over nothing gives."""
    return float(value) if math.isfinite(value) else None
