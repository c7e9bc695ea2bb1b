"""Summaries of outcomes: what is kept, what counts as a difference, and that the one in docs/ is of this code."""

import dataclasses
import importlib.util
import json
import math
import re
from pathlib import Path

import pytest

from helpers import quick_outcome
from localax import experiments, runner
from localax._errors import SettingError
from localax.outcome import Claim, Number, Outcome, as_measured, differences, read_summary, summary, write_summary
from test_cli import localax, said

DOCS = Path(__file__).parents[1] / "docs"
PRESET = re.compile(r"\b(quick|paper) preset\b")
"""How a claim says that what is expected of it hangs on the preset; "presets" are both."""
CLAIM = Claim(
    "It is so.", "the paper, figure 1", "1", (Number("share", 0.5, 0.03, "units"), Number("exact", 2.0)), "50%", "rule",
    (), "basis", "holds", as_measured("holds"), "because",
)  # fmt: skip
OUTCOME = Outcome("Title", "Text.", (), (CLAIM,), "kurtosis", "paper", versions={"jax": "1"})


def of(*claims, name="kurtosis"):
    return summary([dataclasses.replace(OUTCOME, claims=claims, name=name)], preset="quick", date="2026-01-01")


def changed(**parts):
    return dataclasses.replace(CLAIM, **parts)


def test_a_summary_comes_back_from_its_file(tmp_path):
    infinite = changed(measured=(Number("share", math.inf, 0.1),))
    write_summary(tmp_path / "s.json", of(infinite))
    found = read_summary(tmp_path / "s.json")
    assert found == of(infinite)
    assert found["versions"] == {"jax": "1"}
    assert found["date"] == "2026-01-01"
    (claim,) = found["experiments"][0]["claims"]
    assert claim["measured"] == [{"name": "share", "value": None, "standard_error": 0.1, "unit": ""}]
    for other in ('{"experiments": [{}]}', "[" * 100_000):
        (tmp_path / "other.json").write_text(other)
        with pytest.raises(SettingError, match="is no summary"):
            read_summary(tmp_path / "other.json")


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        (CLAIM, None),
        (changed(said="51%", reason="other words"), None),
        (
            changed(measured=(Number("share", 0.65, 0.04), Number("exact", 3.0))),
            None,
        ),  # 3 joint errors
        (changed(measured=(Number("share", 0.75, 0.04),)), "share 0.75, before 0.5: 5.0 standard errors"),
        (changed(verdict="holds in part"), "holds in part, before: holds"),
        (changed(sentence="It is not."), "not in the summary before: It is not."),
    ],
)
def test_what_counts_as_a_difference(claim, line):
    found = differences(of(claim), of(CLAIM))
    assert (found == []) if line is None else any(line in one for one in found)


def test_experiments_that_were_not_asked_for_are_not_missed():
    both = {**of(CLAIM), "experiments": of(CLAIM)["experiments"] + of(CLAIM, name="fig2")["experiments"]}
    assert differences(of(CLAIM), both) == []
    assert len(differences(both, of(CLAIM))) == 1


def test_reproduce_writes_a_summary_and_checks_against_it(tmp_path, monkeypatch):
    outcome = [OUTCOME]
    monkeypatch.setattr(runner, "run_with_board", lambda units, *_, **__: runner.Results(tuple(units), frozenset(), {}))
    monkeypatch.setattr(runner, "load_outcome", lambda *_: outcome[0])
    assert localax("reproduce", "kurtosis", "--summary", "s.json", folder=tmp_path).returncode == 0
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    same = localax("reproduce", "kurtosis", "--check", "s.json", folder=tmp_path)
    assert (same.returncode, same.stdout) == (0, "1 claims compared with s.json: no differences\n")
    outcome[0] = dataclasses.replace(OUTCOME, claims=(changed(verdict="does not hold"),))
    other = localax("reproduce", "kurtosis", "--check", "s.json", "--json", folder=tmp_path)
    assert other.returncode == 1
    assert json.loads(other.stdout)["differences"] == ["kurtosis: does not hold, before: holds (It is so.)"]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before  # a check writes nothing


def test_what_cannot_be_checked_is_said_before_anything_runs(tmp_path):
    write_summary(tmp_path / "s.json", of(CLAIM))
    for words, message in (
        (("--check", "s.json", "--preset", "paper"), "must be of the preset paper; this file is of quick"),
        (("--check", "s.json", "--summary", "t.json"), "one at a time"),
        (("--check", "s.json", "--set", "repeats=3"), "no --set"),
        (("--check", "none.json"), "none.json"),
    ):
        assert message in said(localax("reproduce", "kurtosis", *words, folder=tmp_path))


# The summary in docs/ -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for members in experiments.CHAPTERS.values() for name in members])
def test_quick_and_paper_verdicts_agree_or_the_claim_says_why_not(name):
    """Sentences may name sizes, so claims are compared in their order."""
    (kept,) = [experiment for experiment in _kept()["experiments"] if experiment["name"] == name]
    claims = quick_outcome(name).claims
    assert len(kept["claims"]) == len(claims), "run `make findings`"
    for claim, paper in zip(claims, kept["claims"], strict=True):
        assert claim.verdict == paper["verdict"] or PRESET.search(claim.expected.because), (
            f"{claim.sentence} quick: {claim.verdict}; paper: {paper['verdict']}"
        )


def _kept():
    return read_summary(DOCS / "paper_preset.json")


def test_the_page_of_findings_is_made_from_the_summary():
    spec = importlib.util.spec_from_file_location("findings", DOCS / "findings.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert (DOCS / "findings.md").read_text() == made.page(_kept()), "run `make findings`"
    assert _kept()["preset"] == "paper"
