"""Objects in words: what is printed can be read, even by Python, and tables escape everything."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import localax as lx
from helpers import drawn
from localax import _text, networks, stimuli
from localax.analysis import Comparison
from localax.outcome import Figure, Outcome, Rule, by_theory
from localax.spec import description
from localax.store import Run, Runs

HOSTILE = "<script>alert('x')</script> & <b>\""
READABLE = [
    *(cls for cls in stimuli.ALL if cls is not stimuli.Empirical),  # whose samples are too many to print
    *stimuli.MARGINALS,
    *stimuli.COVARIANCES,
    *stimuli.RADIALS,
    *(cls for cls in networks.ALL if cls is not networks.GatedLinear),  # whose gates are an array
    *networks.INITIALISERS,
]


@pytest.mark.slow
@pytest.mark.parametrize("cls", READABLE, ids=lambda cls: cls.__name__)
@given(st.data())
def test_python_reads_what_an_object_prints(cls, data):
    it = drawn(data, cls)
    assert "\n" not in repr(it)
    again = eval(repr(it), vars(stimuli) | vars(networks))
    assert description(again) == description(it)


def test_python_reads_a_task():
    short, long = (stimuli.NLGP(40, xi, 3) for xi in (1, 3))
    task = lx.Task([short, long], [0, 1], [0.25, 0.75])
    assert repr(lx.Task([short, long], [0, 1])) == f"Task(stimuli=[{short!r}, {long!r}], labels=[0, 1])"
    again = eval(repr(task), vars(stimuli))
    assert description(again) == description(task)
    assert repr(lx.Task([short], stimuli.sign_changes)).endswith("labels=sign_changes)")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"),
        (0.1, "0.1"),
        (1e-30, "1e-30"),
        (np.float32(0.1), "0.1"),
        (np.array(3.0), "3"),
        (np.array([0.5, 1, 2]), "[0.5, 1, 2]"),
        (np.zeros(9), "<9 numbers>"),
        (np.zeros((2, 3)), "<2 x 3 numbers>"),
        ((1, 2.0, "a"), "(1, 2, 'a')"),
        (list(range(20)), "[0, 1, 2, ..., 19]"),
        ({"kind": "NLGP", "size": 4, "gain": 3.0}, "NLGP(size=4, gain=3)"),
        (stimuli.NLGP, "NLGP"),
        (stimuli.sign_changes, "sign_changes"),
    ],
)
def test_values_in_a_line(value, text):
    assert _text.brief(value) == text


def test_traced_objects_can_be_printed():
    seen = []
    jax.jit(lambda it: seen.append(repr(it)))(stimuli.NLGP(40, 1, 3))
    assert seen == ["NLGP(size=40, lengthscale=<float32>, gain=<float32>)"]


def test_anothers_long_text_is_cut():
    class Long:
        def __repr__(self):
            return "many\nwords " * 1000

    assert len(_text.brief(Long())) == 500
    assert _text.brief(Long()).startswith("many words many")


def test_an_amplifier_is_a_line():
    phi = lx.theory.amplifier(stimuli.NLGP(40, 1, 3))
    assert repr(phi) == "Amplifier(form=Sum, scale=1, limit=0.9578, excess_kurtosis=-1.834)"
    assert "nowhere" in phi._repr_html_()


def trajectory(**settings):
    return lx.Trajectory(np.arange(3.0), np.ones((2, 3, 1, 8)), settings=settings)


def test_a_trajectory_is_a_line_and_its_settings_unfold():
    it = trajectory(rate=0.5, task={"kind": "Ising", "size": 8})
    assert repr(it) == "Trajectory(2 seeds, 3 times from 0 to 2, 1 units, 8 pixels: 2 done)"
    assert "Ising(size=8)" in it._repr_html_().split("<details>")[1]
    assert "<details>" not in trajectory()._repr_html_()


def outcome(sentence="it is so"):
    rule = Rule("{least}", lambda n, t: n.x > t.least, holds={"x": 2}, fails={"x": 0}, thresholds={"least": 1})
    claim = rule.claim(
        sentence, source="", reported="", numbers=[lx.outcome.Number("x", 2)], said="x is {x}", basis="",
        expected=by_theory("holds", ""),
    )  # fmt: skip
    return Outcome(sentence, "", (Figure(sentence, ()),), (claim, claim), name="name")


def test_an_outcome_is_a_line_or_a_line_a_claim():
    assert repr(outcome()) == "Outcome('name': 2 holds; 1 figures)"
    assert str(outcome()).splitlines() == ["it is so", *["holds: it is so x is 2"] * 2]


def hostile_objects():
    run = Run("a", HOSTILE, HOSTILE, HOSTILE, {}, 1, (), {}, {})
    flat = np.zeros((1, 2))
    yield trajectory(**{HOSTILE: HOSTILE, "task": {"kind": HOSTILE}})
    yield outcome(HOSTILE)
    yield Runs([run])
    yield Comparison(flat, flat, (flat, flat), flat, 1, (HOSTILE,))
    yield lx.Task([stimuli.NLGP(8, 1, 1)], hostile)


def hostile(x):
    return x[:, 0]


hostile.__qualname__ = HOSTILE


@pytest.mark.parametrize("it", list(hostile_objects()), ids=lambda it: type(it).__name__)
def test_tables_escape_everything(it):
    page = it._repr_html_()
    assert "script" in page
    assert "<script" not in page
    assert "<b>" not in page
