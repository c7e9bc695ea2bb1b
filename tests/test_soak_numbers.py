"""Comparisons of numbers, as ``make soak`` makes them, can miss; what they are is told in tests/soak/numbers."""

import pytest

from soak.numbers.rows import Case, Row, apart, chosen, run


def test_a_miss_is_told():
    cases = [
        Case("right", lambda: 0.5),
        Case("wrong", lambda: 1.5),
        Case("nothing", lambda: float("nan")),
        Case("broken", lambda: 1 / 0),
    ]
    line, missed = run(Row("row", lambda: cases), cases)
    assert "4 cases" in line
    assert [text.split(": ")[1] for text in missed] == ["wrong", "nothing", "broken"]


def test_shares_take_each_case_once():
    rows = [Row(str(size), lambda size=size: [Case(str(i), lambda: 0.0) for i in range(size)]) for size in (3, 70, 1)]
    assert sum(len(cases) for _, cases in chosen(rows, 1.0)) == 74
    assert sum(len(cases) for _, cases in chosen(rows, 0.1)) == 7


def test_errors_are_in_units_of_their_tolerance():
    assert apart([1.0, float("inf")], [1.5, float("inf")], 0.1) == pytest.approx(0.5 / 0.15)
