"""Settings are stated once, in annotations: checks, lists and objects from files follow; objects are told apart."""

import dataclasses
import functools
import re
from pathlib import Path
from typing import Annotated

import equinox as eqx
import numpy as np
import pytest

from helpers import recipes
from localax import _system
from localax._disk import canonical
from localax._errors import SettingError, setting_error, unknown
from localax.spec import (
    SIZE,
    Setting,
    Size,
    built,
    checked_count,
    checked_size,
    chosen,
    description,
    finite_array,
    flag_pairs,
    instance,
    listing,
    plain_settings,
    put,
    read_toml,
    set_pairs,
    settings_of,
    typed_value,
    validated,
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
    RadialStudentT,
    Shell,
    Task,
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


@dataclasses.dataclass(frozen=True)
class Listed:
    """Settings as experiments have them."""

    batch: Annotated[int, Setting("samples", kind=int, ge=2, even=True)] = 4
    gains: Annotated[tuple[float, ...], Setting("gains", gt=0, many=(1, None), rising=True)] = (1.0, 2.0)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({}, None),
        ({"batch": 6, "gains": [3.0]}, None),
        ({"batch": 5}, "batch must be a whole number >= 2 and even, got 5"),
        ({"gains": (1.0, 1.0)}, "gains must be 1 or more values, rising, each a finite number > 0, got (1.0, 1.0)"),
        ({"gains": (2.0, 3.0, 1.0)}, "gains must be 1 or more values, rising, each"),
        ({"gains": (0.0, 1.0)}, "gains must be a finite number > 0, got 0.0"),
    ],
)
def test_numbers_may_have_to_be_even_and_lists_to_rise(changes, complaint):
    values = {**dataclasses.asdict(Listed()), **changes}
    if complaint is None:
        assert plain_settings(Listed, values) == {
            name: tuple(v) if name == "gains" else v for name, v in values.items()
        }
    else:
        with pytest.raises(SettingError, match=re.escape(complaint)):
            plain_settings(Listed, values)


def test_complaints_stay_one_short_line():
    message = str(setting_error("Here", "x", np.zeros((50, 50)), "small"))
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
    shown = listing(cls)
    assert shown["name"] == cls.__name__
    assert shown["meaning"].endswith((".", ":")) or len(shown["meaning"]) > 10
    for row in shown["settings"]:
        assert row["meaning"]
        assert row["range"]


def test_a_copula_shows_both_of_its_parts():
    assert list(settings_of(Copula)) == ["size", "covariance", "marginal"]
    assert listing(Toy)["settings"][2] == {
        "name": "steps", "meaning": "how often", "range": "a whole number >= 1 and < 10", "default": 3,
    }  # fmt: skip
    assert listing(Toy)["meaning"] == "A class with one setting of each kind."


# Settings files -------------------------------------------------------------------------------------------------------


def test_an_object_is_built_from_its_kind_and_settings():
    built_one = built(ALL, "stimulus", {"kind": "elliptical", "size": [6, 5], "lengthscale": 0.5,
                                        "radial": {"kind": "RadialStudentT", "df": 3}})  # fmt: skip
    assert description(built_one) == description(Elliptical((6, 5), 0.5, RadialStudentT(3)))
    assert description(built(RADIALS, "radial", "shell")) == description(Shell())
    assert chosen(ALL, "stimulus", "nlg").__name__ == "NLGP"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("unicorn", "no stimulus called 'unicorn'"),
        ("kurr", "no stimulus called 'kurr'; did you mean Kur?"),
        ("pulse", "stimulus must be one of SinglePulse, BlockPulse"),
        ({"kind": "Kur", "size": 8}, "stimulus Kur also needs lengthscale, k"),
        ({"kind": "Kur", "size": 8, "lengthscale": 1, "K": 3}, "no setting of stimulus Kur called 'K'"),
        ("empirical", "stimulus Empirical needs samples, which no settings file or flag can hold; build it in Python"),
        ({}, "no stimulus called ''"),
    ],
)
def test_what_cannot_be_built_is_told_in_one_line(settings, message):
    with pytest.raises(SettingError, match=f"^(settings: )?{re.escape(message)}"):
        built(ALL, "stimulus", settings)


def test_a_mistake_inside_a_constructor_is_not_taken_for_a_missing_setting():
    class Broken(eqx.Module):
        size: Annotated[Size, SIZE] = eqx.field(static=True)

        def __init__(self, size):
            self.size = size + "pixels"

    with pytest.raises(TypeError, match="unsupported operand"):
        built((Broken,), "stimulus", {"kind": "Broken", "size": 3})


def test_typed_words():
    assert flag_pairs(["--a", "1", "--b-c=x", "--d", "1,2.5"]) == [("a", 1), ("b_c", "x"), ("d", [1, 2.5])]
    assert set_pairs(["a.b=true", "c=,1"]) == [(("a", "b"), True), (("c",), [1])]
    assert [typed_value(t) for t in ("3", "3.0", "1e-3", "False", "nlgp")] == [3, 3.0, 1e-3, False, "nlgp"]
    settings = {"stimulus": "nlgp"}
    put(settings, ("stimulus", "gain"), 3)
    put(settings, ("init", "scale"), 0.1)
    assert settings == {"stimulus": {"kind": "nlgp", "gain": 3}, "init": {"scale": 0.1}}
    with pytest.raises(SettingError, match="goes through gain, which has a single value"):
        put(settings, ("stimulus", "gain", "x"), 1)
    for bad in (["--a"], ["a", "1"]):
        with pytest.raises(SettingError, match="expected --name value"):
            flag_pairs(bad)
    with pytest.raises(SettingError, match="--set takes name=value"):
        set_pairs(["a"])


def test_a_file_that_is_no_toml_is_named(tmp_path):
    endless = (b"steps = " + b"9" * 5000, b"steps = " + b"[" * 3000)
    for i, data in enumerate((b"steps = = 3", *endless)):
        (tmp_path / f"{i}.toml").write_bytes(data)
        with pytest.raises(SettingError, match=rf"{i}\.toml is no TOML"):
            read_toml(tmp_path / f"{i}.toml")


def test_a_file_that_is_no_text_or_never_ends_is_named(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"a = 1\xff")
    with pytest.raises(SettingError, match=r"a\.toml must be text in UTF-8, and is not from byte 5 on"):
        read_toml(tmp_path / "a.toml")
    with (tmp_path / "a.toml").open("wb") as file:
        file.truncate(2**34)
    for endless in (tmp_path / "a.toml", Path("/dev/zero")):
        if endless.exists():
            with pytest.raises(SettingError, match=rf"{endless} must hold at most 16 MB of text"):
                read_toml(endless)


def test_a_complaint_is_one_line_whatever_was_given():
    deep = []
    for _ in range(5000):
        deep = [deep]
    for value in ("a\nb", "\x1b[31m", "x" * 10_000, 10**5000, deep):
        for error in (setting_error("a", "b", value, "c"), unknown("preset", value, ["quick"])):
            assert str(error).isprintable()
            assert len(str(error)) < 300
    assert len(str(SettingError("x" * 10_000))) <= 800


def test_the_nearest_names_are_offered():
    assert str(unknown("preset", "quik", ["quick", "paper"])) == "no preset called 'quik'; did you mean quick?"
    assert str(unknown("preset", "PAPER", ["quick", "paper"])).endswith("did you mean paper?")
    assert str(unknown("preset", "x", ["quick", "paper"])).endswith("choose one of quick, paper")


# Limits of the machine ------------------------------------------------------------------------------------------------


def test_whole_numbers_do_not_wrap():
    class Counted(eqx.Module):
        units: Annotated[int, Setting("units", kind=int, ge=1)]

    for value in (2**31, 2**32 + 3, 2**62):
        with pytest.raises(SettingError, match=r"^Counted: units must be a whole number >= 1, below 2\^31, got"):
            validated(Counted, units=value)
    assert validated(Counted, units=2**31 - 1)[0] == 2**31 - 1


def test_a_size_that_no_memory_holds_is_refused(monkeypatch):
    for size in (10**9, (10**5, 10**5)):
        with pytest.raises(SettingError, match="what the memory of this machine holds"):
            checked_size("A", size)
    monkeypatch.setattr("localax.spec._setting.memory", lambda: 100 * 64)
    assert checked_size("A", (8, 8)) == (8, 8)
    with pytest.raises(SettingError, match="at most 64 pixels"):
        checked_size("A", 65)
    assert _system.memory() > 2**28


# Descriptions ---------------------------------------------------------------------------------------------------------


def scaled(factor):
    return lambda x: factor * x


class Forgetful(eqx.Module):
    """Does not keep what its constructor took."""

    square: float

    def __init__(self, side):
        self.square = side**2


class Stateful:
    def __init__(self, value):
        self.value = value

    def __call__(self, x):
        return self.value * x


FACTOR = 2
DIFFERENT = {
    "lambdas": (lambda x: x + 1, lambda x: x + 2),
    "names inside lambdas": (lambda x: 2 * np.sin(x), lambda x: 2 * np.cos(x)),
    "closures": (scaled(2), scaled(3)),
    "defaults": (lambda x, a=1: a * x, lambda x, a=2: a * x),
    "partials": (functools.partial(pow, 2), functools.partial(pow, 3)),
    "keywords of partials": (functools.partial(int, base=2), functools.partial(int, base=3)),
    "what a constructor did not keep": (Forgetful(2.0), Forgetful(3.0)),
    "objects with a state": (Stateful(1), Stateful(2)),
    "methods": (Stateful(1).__call__, Stateful(2).__call__),
    "lambdas inside lambdas": (lambda x: sorted(x, key=lambda y: y + 1), lambda x: sorted(x, key=lambda y: y + 2)),
    "small arrays": (np.zeros(3), np.ones(3)),
    "large arrays": (np.zeros(300), np.r_[np.zeros(299), 1]),
    "settings": (Gaussian(8, 1), Gaussian(8, 1.5)),
    "labels that are functions": tuple(Task([Gaussian(8, 1)], label) for label in (scaled(2), scaled(3))),
    "types of numbers": (1, 1.0),
    "library functions": (np.sin, np.cos),
}
ALIKE = {
    "the same lambda twice": tuple((lambda x: x + 1) for _ in range(2)),
    "the same closure": (scaled(2), scaled(2)),
    "an integer and a float where a number is meant": (Gaussian(8, 1), Gaussian(8, 1.0)),
    "numpy and Python": (Kur(8, np.float64(1), np.int64(5)), Kur(8, 1, 5)),
    "partials": (functools.partial(pow, 2), functools.partial(pow, 2)),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_other_objects_have_another_description(name):
    one, other = map(description, DIFFERENT[name])
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize("name", ALIKE)
def test_equal_objects_have_one_description(name):
    one, other = map(description, ALIKE[name])
    assert canonical(one) == canonical(other)


def test_a_changed_global_changes_the_description(monkeypatch):
    def function(x):
        return FACTOR * x

    before = canonical(description(function))
    monkeypatch.setitem(globals(), "FACTOR", 3)
    assert canonical(description(function)) != before


def test_functions_of_libraries_are_known_by_name():
    assert description(np.sin) == "numpy.sin"
    assert description(canonical) == "localax._disk.canonical"
    assert description(Gaussian(8, 1)) == {"kind": "Gaussian", "size": 8, "lengthscale": 1.0}


def test_a_class_from_outside_is_described_with_its_code():
    classes = [eqx.Module.__class__(name, (eqx.Module,), {"f": f}) for name, f in
               (("Own", lambda _: 1), ("Own", lambda _: 2))]  # fmt: skip
    one, other = (canonical(description(cls())) for cls in classes)
    assert one != other


def test_a_function_that_calls_itself_has_a_description():
    def down(n):
        return down(n - 1) if n else 0

    assert canonical(description(down))


@pytest.mark.parametrize("cls", [c for c in CLASSES if settings_of(c)], ids=lambda c: c.__name__)
def test_every_number_says_what_is_typical(cls):
    for name, setting in settings_of(cls).items():
        if setting.kind in (float, int) and not setting.options and not setting.choices:
            low, high = setting.typical
            assert low < high, name
    assert recipes(cls) is not None
