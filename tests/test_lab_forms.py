"""The lab's forms, limits and lines: what is offered, what is refused, and how Python and a command say it."""

import json
import shlex
from typing import Annotated

import equinox as eqx
import numpy as np
import pytest

import localax as lx
from lab import NLGP
from localax import experiments, runner, stimuli
from localax._errors import SettingError
from localax.spec import Setting, description
from localax.web._export import command_line, python_lines
from localax.web._forms import forms, kinds
from localax.web._limits import lab_settings
from localax.web._numbers import listed, packed, unpacked
from localax.web._presets import SETTINGS, preset_settings


def test_every_ready_form_builds_what_it_offers():
    offered = forms()
    assert [kind["kind"] for kind in offered["stimuli"]] == [cls.__name__ for cls in stimuli.ALL]
    for kind in offered["stimuli"]:
        settings = {"kind": kind["kind"], **{field["name"]: field["default"] for field in kind["fields"]}}
        if any(field["type"] == "file" for field in kind["fields"]):
            with pytest.raises(SettingError, match="samples must be a file"):
                runner.task_of(settings, None, None)
        elif kind["ready"]:
            classes = runner.task_of(settings, None, None).stimuli
            assert not eqx.tree_equal(*classes), f"the classes of {kind['kind']} are the same"
        else:
            assert "arrays" in kind["note"]
    json.dumps(offered, allow_nan=False)


def test_a_class_of_ones_own_gets_a_form_by_its_annotations():
    class Mine(eqx.Module):
        """A law of one's own."""

        depth: Annotated[float, Setting("how deep", gt=0, le=9, typical=(1, 2))]
        shade: Annotated[str, Setting("how dark", kind=str, choices=("dim", "dark"))] = "dim"

    (kind,) = kinds([Mine])
    depth, shade = kind["fields"]
    assert (kind["kind"], kind["meaning"], kind["ready"]) == ("Mine", "A law of one's own.", True)
    assert (depth["type"], depth["min"], depth["max"], depth["highest"]) == ("number", 1, 2, 9)
    assert (shade["type"], shade["choices"], shade["default"]) == ("choice", ["dim", "dark"], "dim")


def test_packed_arrays_come_back():
    array = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    assert np.array_equal(unpacked(packed(array)), array)
    assert listed([1.23456789, np.nan, [np.inf, 2]], 3) == [1.23, None, [None, 2]]


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"steps": 0}, "steps"), ({"steps": 10**7}, "steps"), ({"seeds": [0, 1]}, "seeds"), ({"rate": -1}, "rate"),
        ({"rate": None}, "rate"), ({"batch": 10**6}, "batch"), ({"stimulus": {**NLGP, "size": 5000}}, "pixels"),
        ({"stimulus": {**NLGP, "gain": "high"}}, "gain"), ({"network": {"kind": "TwoLayer", "units": 65}}, "units"),
        ({"stimulus": {**NLGP, "lengthscale": [1] * 9}}, "classes"), ({"save_every": [1, 2]}, "save_every"),
        ({"stimulus": "Empirical"}, "samples"), ({"stimulus": {"kind": "Empirical", "sample": "x"}}, "sample"),
        ({"network": "nothing"}, "network"), ({"wrong": 1}, "wrong"),
        ({"steps": 5000, "save_every": 1}, "records"), ({"probe": 10**6}, "probe"), ([], "settings"),
    ],
)  # fmt: skip
def test_settings_that_are_wrong_or_too_large_are_refused_in_one_line(settings, word):
    with pytest.raises(SettingError, match=word) as refused:
        lab_settings(settings)
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_every_experiment_has_a_preset_whose_lines_make_it():
    """Python and command line, read back, build the very objects that the lab builds; rates are stable ones."""
    assert set(SETTINGS) == set(experiments.ALL)
    for name in experiments.ALL:
        settings = lab_settings(preset_settings(name))
        made = settings.arguments()
        stable = lx.training.stable_rate(made["task"], made["network"])
        assert stable is None or settings.rate < 0.8 * stable, name
        places = {}
        exec(python_lines(settings).partition("run = lx.train(")[0], places)
        for part in ("task", "network", "init", "saveat", "stream"):
            assert description(places[part]) == description(made[part]), f"{name}: {part}"
        flags = shlex.split(command_line(settings).split("train ", 1)[1])
        typed = list(zip(flags[::2], flags[1::2], strict=True))
        kinds_ = {flag[2:]: value for flag, value in typed if flag != "--set"}
        again = runner.typed_training(None, kinds_, [], [value for flag, value in typed if flag == "--set"])
        assert description(again.arguments()) == description(made), name


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    from localax._commands import _lab

    monkeypatch.setattr(_lab, "NEEDED", ("fastapi", "no_such_package"))
    with pytest.raises(SettingError, match=r"no_such_package.*pip install 'localax\[lab\]'"):
        _lab.lab()
