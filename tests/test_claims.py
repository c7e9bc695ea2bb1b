"""Every rule decides as its examples say, every claim is decided by a rule, and quick presets give what is expected."""

import ast
import dataclasses
import importlib
import inspect
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import localax as lx
from helpers import quick_outcome
from localax import experiments
from localax._errors import SettingError
from localax.experiments.toolkit.together import together
from localax.experiments.toolkit.train import train
from localax.outcome import Histogram, Lines, Number, Outcome, Rule, Scatter, Table, as_measured
from localax.spec import listing, settings_of

CHAPTERS = [name for members in experiments.CHAPTERS.values() for name in members]
ROOT = Path(experiments.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
MODULES = {name: importlib.import_module(kind.__module__) for name, kind in experiments.ALL.items()}
TOOLKIT = {
    f"toolkit.{path.stem}": importlib.import_module(f"localax.experiments.toolkit.{path.stem}")
    for path in sorted((ROOT / "toolkit").glob("[!_]*.py"))
}
RULES = {
    f"{name}.{attribute}": rule
    for name, module in {**MODULES, **TOOLKIT}.items()
    for attribute, rule in vars(module).items()
    if isinstance(rule, Rule)
}


# Rules ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
def test_a_rule_holds_and_fails_where_it_must(name):
    rule = RULES[name]
    assert rule.decide(rule.holds) == "holds"
    assert rule.decide(rule.fails) == "does not hold"
    assert (rule.partly is None) == (rule.part is None), "a rule that knows a part shows one"
    if rule.part is not None:
        assert rule.decide(rule.part) == "holds in part"
    assert set(rule.holds) == set(rule.fails) == set(rule.part or rule.fails)
    for missing in rule.holds:
        assert rule.decide({**rule.holds, missing: None}) == "not testable here"


@pytest.mark.parametrize("name", experiments.ALL)
def test_every_claim_of_an_experiment_is_decided_by_a_rule_of_its_file(name):
    """No claim is made by hand, and no rule is made where the examples above would not find it."""
    tree = ast.parse(Path(MODULES[name].__file__).read_text())
    calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert "Claim" not in calls
    own = [key for key in RULES if key.startswith(f"{name}.")]
    top = [node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Rule(")]
    assert calls.count("Rule") == len(top) == len(own) - len(_shared(MODULES[name], tree))


def _shared(module, tree) -> list[str]:
    """Rules that a file imports from the toolkit."""
    names = [alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    return [name for name in names if isinstance(getattr(module, name, None), Rule)]


def test_a_claim_carries_its_numbers_and_the_verdict_at_half_and_twice():
    rule = Rule(
        "at least {least:g} of {what}",
        lambda n, t: n.share >= t.least,
        partly=lambda n, t: n.share >= t.least / 2,
        thresholds={"least": 0.4},
        holds={"share": 0.5},
        part={"share": 0.3},
        fails={"share": 0.1},
    )
    options = {"source": "s", "reported": "r", "basis": "b", "expected": as_measured("holds")}
    reasons = {"holds": "it does", "does not hold": "it does not"}
    claim = rule.claim(
        "It is so.", numbers=[Number("share", np.float64(0.6), 0.01, "units")], said="{share:.0%}", reasons=reasons,
        words={"what": "them"}, **options,
    )  # fmt: skip
    assert (claim.verdict, claim.said, claim.rule, claim.reason) == ("holds", "60%", "at least 0.4 of them", "it does")
    assert dataclasses.asdict(claim.measured[0]) == {
        "name": "share", "value": 0.6, "standard_error": 0.01, "unit": "units",
    }  # fmt: skip
    (threshold,) = claim.thresholds
    assert (threshold.value, threshold.at_half, threshold.at_twice) == (0.4, "holds", "holds in part")
    missing = rule.claim("x", numbers=[Number("share", None)], said="{share:.0%}", words={"what": ""}, **options)
    assert (missing.verdict, missing.said, missing.reason) == ("not testable here", "no data", "")


# Experiments as classes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", experiments.ALL)
def test_an_experiment_lists_its_settings_and_has_two_presets(name):
    kind = experiments.ALL[name]
    shown = listing(kind)
    fields = [field.name for field in dataclasses.fields(kind)]
    assert [row["name"] for row in shown["settings"]] == fields == list(settings_of(kind))
    assert shown["meaning"].endswith((".", "?"))
    assert all("default" in row for row in shown["settings"])
    assert isinstance(kind.quick(), kind)
    assert isinstance(kind.paper(), kind)
    assert kind.cost > 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        kind.quick().unknown = 1
    with pytest.raises(SettingError, match=f"no setting of {name} called"):
        kind.quick().changed({"unicorns": 3})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_experiment_imports_another_and_nothing_is_built_at_import(path):
    tree = ast.parse(path.read_text())
    if path.parent.name in experiments.CHAPTERS and path.name != "__init__.py":
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                raise AssertionError(f"{path.name}:{node.lineno} imports its neighbour {node.module}")
            if isinstance(node, ast.ImportFrom) and node.level == 2:
                assert node.module == "experiment" or node.module.startswith("toolkit."), ast.unparse(node)
    harmless = {"Rule", "Setting", "slice", "frozenset", "MappingProxyType", "TypeVar", "tuple", "range", "dict"}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for call in (part for part in ast.walk(node.value) if isinstance(part, ast.Call)):
                inside_a_rule = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "Rule"
                known = ast.unparse(call.func).rpartition(".")[2] in {*harmless, "sqrt", "float", "values", "items"}
                assert known or inside_a_rule, f"{path.name}:{call.lineno} builds {ast.unparse(call.func)}"


# The quick preset -----------------------------------------------------------------------------------------------------


def numbers(panel) -> list[np.ndarray]:
    """The arrays that a panel shows."""
    match panel:
        case Lines():
            return [panel.x, *panel.curves.values(), *panel.points.values()]
        case Scatter():
            return [part for group in panel.groups.values() for part in group if part is not None]
        case Histogram():
            return [panel.density]
        case Table():
            return [np.zeros(len(panel.rows))]
        case _:
            return [panel.values]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CHAPTERS)
def test_every_claim_has_its_expected_verdict(name):
    outcome = quick_outcome(name)
    missed = [f"{c.sentence} {c.verdict}, expected {c.expected}: {c.said}" for c in outcome.claims if not c.as_expected]
    assert outcome.claims
    assert missed == []
    for claim in outcome.claims:
        assert all((claim.sentence, claim.source, claim.said, claim.rule, claim.basis, claim.measured))
        assert "seed 00" not in " ".join((claim.source, claim.said, claim.rule, claim.reason, outcome.text))
        assert claim.expected.because
    assert len(outcome.text) > 200
    panels = [panel for figure in outcome.figures for row in figure.rows for panel in row]
    assert all(array.size and np.any(np.isfinite(array)) for panel in panels for array in numbers(panel))
    assert Outcome.from_bytes(outcome.to_bytes()).to_bytes() == outcome.to_bytes()


# The toolkit ----------------------------------------------------------------------------------------------------------


def test_parts_of_an_experiment_keep_order_flags_and_progress():
    told = []

    def work(part, tell):
        tell(0.5)
        tell(1.0)
        return part, jnp.zeros(1, float).dtype

    for x64, expected in ((True, np.float64), (False, np.float32)):
        with jax.enable_x64(x64):
            assert together(work, "abc", told.append) == [(part, expected) for part in "abc"]
    assert told[:6] == sorted(told[:6])
    assert told[5] == 1.0


def test_a_part_that_fails_ends_the_others():
    reports = []

    def work(part, tell):
        if part == "bad":
            raise RuntimeError("on purpose")
        while True:
            tell(0.5)
            time.sleep(0.01)

    with pytest.raises(RuntimeError, match="on purpose"):
        together(work, ["endless", "bad"], reports.append)


def test_an_interrupted_training_ends_its_experiment():
    def interrupted(*_):
        raise KeyboardInterrupt

    task = lx.Task([lx.stimuli.NLGP(24, 1, 3), lx.stimuli.NLGP(24, 3, 3)], [0, 1])
    settings = {"steps": 50, "batch": 4, "rate": 0.1, "save_every": 1}
    assert train(task, lx.networks.SingleReLU(), **settings).done
    with pytest.raises(KeyboardInterrupt):
        train(task, lx.networks.SingleReLU(), watch=interrupted, **settings)


def test_the_base_of_experiments_is_abstract():
    assert inspect.isabstract(experiments.AbstractExperiment)
    assert inspect.isabstract(experiments.AbstractMeasured)
