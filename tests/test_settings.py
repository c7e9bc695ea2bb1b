"""Settings are stated once, in annotations: the checks, the lists and the pydantic models all follow from them."""

from typing import Annotated

import equinox as eqx
import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import recipes
from localax._settings import (
    SIZE,
    Setting,
    Size,
    checked_count,
    checked_size,
    described,
    finite_array,
    instance,
    settings_model,
    settings_of,
    validated,
    wrong,
)
from localax.stimuli import (
    ALL,
    COVARIANCES,
    MARGINALS,
    RADIALS,
    CentreSurround,
    Copula,
    Elliptical,
    Gaussian,
    Kur,
    Shell,
)

CLASSES = (*ALL, *COVARIANCES, *MARGINALS, *RADIALS, CentreSurround)


class Toy(eqx.Module):
    """A class with one setting of each kind.

    And more to say about it.
    """

    size: Annotated[Size, SIZE] = eqx.field(static=True)
    rate: Annotated[np.ndarray, Setting("how fast", gt=0, le=2, typical=(0.1, 1))]
    steps: Annotated[np.ndarray, Setting("how often", kind=int, ge=1, lt=10)]
    loud: Annotated[bool, Setting("whether it prints", kind=bool)] = eqx.field(static=True)
    mode: Annotated[str, Setting("which way", kind=str, choices=("up", "down"))] = eqx.field(static=True)
    hidden: int = eqx.field(static=True)

    def __init__(self, size, rate, steps=3, loud=False, mode="up"):
        checked = validated(Toy, size=size, rate=rate, steps=steps, loud=loud, mode=mode)
        self.size, self.rate, self.steps, self.loud, self.mode = checked
        self.hidden = 1


def test_ranges_in_words():
    ranges = {name: setting.range for name, setting in settings_of(Toy).items()}
    assert ranges == {
        "size": "a whole number >= 2 (ring) or two of them (torus)",
        "rate": "a finite number > 0 and <= 2",
        "steps": "a whole number >= 1 and < 10",
        "loud": "true or false",
        "mode": "one of 'up', 'down'",
    }
    assert Setting("nested", options=lambda: RADIALS).range == "one of RadialStudentT, Surface, Shell"


def test_values_come_back_checked():
    toy = Toy((4, 5), 1, 9, True, "down")
    assert toy.size == (4, 5)
    assert toy.rate.dtype == np.float64
    assert toy.rate == 1
    assert toy.steps.dtype == np.int32
    assert toy.loud is True
    assert Toy(np.int64(4), np.float32(0.5)).size == 4
    assert type(Toy(np.int64(4), 1).size) is int


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        ((1, 1), "size", "1"), ((True, 1), "size", "True"), ((4.0, 1), "size", "4.0"),
        (((4, 1), 1), "size", r"\(4, 1\)"), (((4, 4, 4), 1), "size", r"\(4, 4, 4\)"),
        ((4, 0), "rate", "0"), ((4, 2.1), "rate", "2.1"),
        ((4, float("nan")), "rate", "nan"), ((4, float("inf")), "rate", "inf"), ((4, "1"), "rate", "'1'"),
        ((4, True), "rate", "True"), ((4, None), "rate", "None"), ((4, [1, 2]), "rate", r"\[1, 2\]"),
        ((4, [[1], [1, 2]]), "rate", r"\[\[1\], \[1, 2\]\]"), ((4, 1j), "rate", "1j"),
        ((4, 1, 0), "steps", "0"), ((4, 1, 10), "steps", "10"), ((4, 1, 2.5), "steps", "2.5"),
        ((4, 1, 2.0), "steps", "2.0"), ((4, 1, 1, 1), "loud", "1"), ((4, 1, 1, False, "left"), "mode", "'left'"),
        ((4, 1, 1, False, 0), "mode", "0"),
    ],
)  # fmt: skip
def test_complaints_name_argument_value_and_range(arguments, name, value):
    with pytest.raises(ValueError, match=rf"^Toy: {name} must be .+, got {value}$") as caught:
        Toy(*arguments)
    assert settings_of(Toy)[name].range in str(caught.value)


def test_complaints_stay_one_short_line():
    message = str(wrong("Here", "x", np.zeros((50, 50)), "small"))
    assert "\n" not in message
    assert len(message) < 120
    assert message.startswith("Here: x must be small, got array(")


def test_helpers_of_constructors():
    np.testing.assert_array_equal(finite_array("A", "x", [1, 2], "numbers"), [1, 2])
    for bad in ([1, np.nan], ["a"], [[1], [1, 2]], [None], [True]):
        with pytest.raises(ValueError, match=r"^A: x must be numbers, got "):
            finite_array("A", "x", bad, "numbers")
    assert instance("A", "x", 3, int, "an int") == 3
    with pytest.raises(ValueError, match=r"^A: x must be an int, got 'b'$"):
        instance("A", "x", "b", int, "an int")
    assert checked_size("A", [3, 4]) == (3, 4)
    assert checked_count("A", np.int32(5)) == 5
    for bad in (0, True, 2.0, "3", None):
        with pytest.raises(ValueError, match=r"^A: n must be a whole number >= 1, got "):
            checked_count("A", bad)


# The lists that the command line prints -------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_every_class_can_be_listed(cls):
    shown = described(cls)
    assert shown["name"] == cls.__name__
    assert shown["meaning"].endswith((".", ":")) or len(shown["meaning"]) > 10
    for row in shown["settings"]:
        assert row["meaning"]
        assert row["range"]


def test_a_copula_shows_both_of_its_parts():
    assert list(settings_of(Copula)) == ["size", "covariance", "marginal"]
    assert described(Toy)["settings"][2] == {
        "name": "steps", "meaning": "how often", "range": "a whole number >= 1 and < 10", "default": 3,
    }  # fmt: skip
    assert described(Toy)["meaning"] == "A class with one setting of each kind."


# Settings files -------------------------------------------------------------------------------------------------------


def test_a_model_takes_what_the_constructor_takes():
    model = settings_model(Elliptical)
    settings = model(size=(4, 5), lengthscale=1, radial={"kind": "RadialStudentT", "df": 3})
    assert settings.model_dump() == {
        "kind": "Elliptical", "size": (4, 5), "lengthscale": 1.0, "radial": {"kind": "RadialStudentT", "df": 3.0},
    }  # fmt: skip
    assert model(size=4, lengthscale=1, radial={"kind": "Shell"}).radial.kind == "Shell"
    with pytest.raises(pydantic.ValidationError):
        settings.size = 3
    assert isinstance(Elliptical(4, 0.5, Shell()), Elliptical)
    assert settings_model(Copula).model_fields["covariance"].description == "correlation of the Gaussian field"


@pytest.mark.parametrize(
    "bad", [{"size": 1}, {"size": True}, {"size": 4.5}, {"size": (4, 1)}, {"rate": 0}, {"rate": 2.1}, {"rate": "1"},
            {"rate": float("nan")}, {"rate": float("inf")}, {"steps": 2.5}, {"steps": 10}, {"mode": "left"},
            {"loud": 1}, {"colour": "red"}, {"kind": "Kur"}]
)  # fmt: skip
def test_a_model_refuses_what_the_constructor_refuses(bad):
    good = {"size": 4, "rate": 1.0}
    assert settings_model(Toy)(**good).model_dump() == {
        "kind": "Toy", "size": 4, "rate": 1.0, "steps": 3, "loud": False, "mode": "up",
    }  # fmt: skip
    with pytest.raises(pydantic.ValidationError):
        settings_model(Toy)(**(good | bad))


@pytest.mark.parametrize("cls", [Gaussian, Kur, *COVARIANCES, *MARGINALS, *RADIALS], ids=lambda c: c.__name__)
@given(data=st.data())
def test_models_and_constructors_agree(cls, data):
    """Numbers around every limit: both take them or both refuse."""
    values = {}
    for name, setting in settings_of(cls).items():
        if setting.kind == "size":
            values[name] = 4000  # so that no lengthscale wraps the ring
            continue
        limits = [limit for limit in (setting.gt, setting.ge, setting.lt, setting.le) if limit is not None]
        near = [limit + step for limit in limits for step in (-1e-6, 1e-6)]
        values[name] = data.draw(st.sampled_from([*limits, *near, 2.75, float("nan"), float("inf")]))

    def accepted(make):
        try:
            make(**values)
        except (ValueError, pydantic.ValidationError):
            return False
        return True

    assert accepted(settings_model(cls)) == accepted(cls)


@pytest.mark.parametrize("cls", [c for c in CLASSES if settings_of(c)], ids=lambda c: c.__name__)
def test_every_number_says_what_is_typical(cls):
    for name, setting in settings_of(cls).items():
        if setting.kind in (float, int) and not setting.options and not setting.choices:
            low, high = setting.typical
            assert low < high, name
    assert recipes(cls) is not None
