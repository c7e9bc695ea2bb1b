"""The command line, as a person types it, with its exit codes and its one-line errors.

Most commands run in this process, where JAX is loaded already; two start a process of their own.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from localax import cli, networks, stimuli


def localax(*words: str, folder: Path | None = None) -> subprocess.CompletedProcess:
    """What a command prints, and its exit code."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "argv", ["localax", *words])
        patch.setattr(cli, "_set_flags", lambda: None)
        if folder is not None:
            patch.chdir(folder)
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def said(done: subprocess.CompletedProcess) -> str:
    """The one line of a refusal."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("localax: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_help_and_version_load_no_jax():
    code = "import sys, localax.cli as c; c.app(['--help'], standalone_mode=False); assert 'jax' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
    assert localax("--version").stdout.startswith("localax ")


def test_a_process_of_its_own_gets_one_thread_unless_told_otherwise():
    code = "import os, localax.cli as c; c._set_flags(); print(os.environ['NPROC'])"
    bare = {name: value for name, value in os.environ.items() if name != "NPROC"}
    for environment, expected in ((bare, "1"), ({**bare, "NPROC": "2"}, "2")):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
        assert done.stdout.strip() == expected


def test_the_module_runs_as_a_program(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "localax", "runs"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0
    assert "localax train" in done.stdout


def test_list_shows_every_member_with_its_settings():
    shelves = json.loads(localax("list", "--json").stdout)
    assert [row["name"] for row in shelves["stimuli"]] == [cls.__name__ for cls in stimuli.ALL]
    assert [row["name"] for row in shelves["networks"]] == [cls.__name__ for cls in networks.ALL]
    nlgp = next(row for row in shelves["stimuli"] if row["name"] == "NLGP")
    assert [setting["name"] for setting in nlgp["settings"]] == ["size", "lengthscale", "gain"]
    assert "> 0" in nlgp["settings"][1]["range"]
    assert "unicorns" in said(localax("list", "unicorns"))


@pytest.mark.slow
def test_stimuli_writes_a_page_and_a_picture(tmp_path):
    done = localax("stimuli", "--size", "40", "--samples", "500", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (tmp_path / answer["page"]).read_text().startswith("<!doctype html>")
    figures = (tmp_path / answer["page"]).parent / "figures"
    assert (figures / "stimuli-1.png").read_bytes().startswith(b"\x89PNG")
    assert answer["claims"][0]["verdict"] == "holds"


@pytest.mark.slow
def test_reproduce_writes_a_report_and_loads_it_the_second_time(tmp_path):
    first = localax("reproduce", "fig2", "--json", folder=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "1 of 1: fig2" in first.stderr
    answer = json.loads(first.stdout)
    page = (tmp_path / answer["page"]).read_text()
    assert json.loads((tmp_path / "localax-report" / "claims.json").read_text()) == answer["claims"]
    again = localax("reproduce", "fig2", folder=tmp_path)
    assert again.returncode == 0
    assert "1 of 1" not in again.stderr
    assert "holds" in again.stdout
    assert (tmp_path / answer["page"]).read_text() == page
    assert "fig2" in localax("runs", folder=tmp_path).stdout


@pytest.mark.parametrize(
    ("expected", "failed", "code"), [("holds", {}, 0), ("does not hold", {}, 1), ("holds", {"fig3": "Why"}, 1)]
)
def test_reproduce_exits_by_its_claims_and_failures(expected, failed, code, tmp_path, monkeypatch):
    from localax import runner
    from localax._record import Claim, Outcome

    claim = Claim("s", "seed", "1", "2", "rule", "basis", "holds", expected)
    answer = [Outcome("Title", "Text.", (), (claim,), "fig2", "paper")], failed
    monkeypatch.setattr(runner, "run_or_load", lambda *_, **__: answer)
    done = localax("reproduce", "fig2", folder=tmp_path)
    assert done.returncode == code
    assert "holds" in done.stdout
    assert ("fig3 failed" in done.stderr) == bool(failed)


RUN = ("train", "--stimulus", "ising", "--steps", "40", "--batch", "100", "--seeds", "2", "--size", "12")


def test_train_keeps_a_run_and_loads_it_the_second_time(tmp_path):
    first = localax(*RUN, "--json", folder=tmp_path)
    assert first.returncode == 0, first.stderr
    answer = json.loads(first.stdout)
    assert answer["status"] == ["done", "done"]
    assert len(answer["ipr"]) == 2
    assert not answer["loaded"]
    assert Path(answer["picture"]).read_bytes().startswith(b"\x89PNG")
    again = json.loads(localax(*RUN, "--json", folder=tmp_path).stdout)
    assert again["loaded"]
    assert {**again, "loaded": False} == answer
    (stored,) = json.loads(localax("runs", "--json", folder=tmp_path).stdout)["runs"]
    assert stored["name"] == answer["run"]
    assert not [path for path in (tmp_path / "localax-results").iterdir() if "checkpoint" in path.name]


@pytest.mark.slow
def test_train_reads_a_file_and_flags_override_it(tmp_path):
    (tmp_path / "run.toml").write_text(
        'steps = 30\nbatch = 50\n[stimulus]\nkind = "NLGP"\nsize = 10\nlengthscale = [0.5, 1]\ngain = 2\n'
        '[network]\nkind = "SoftCommittee"\nunits = 3\nactivation = "erf"\nbias = true\n'
    )
    done = localax("train", "run.toml", "--units", "2", "--set", "init.scale=0.1", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["ipr"]) == 2
    spec = json.loads(localax("runs", "--json", folder=tmp_path).stdout)["runs"][0]["settings"]["spec"]
    assert spec["init"] == {"kind": "Xavier", "scale": 0.1}
    assert (spec["steps"], spec["network"]["units"], spec["stimulus"]["gain"]) == (30, 2, 2)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--gian", "3"), "no setting --gian; this run has size, lengthscale, gain"),
        (("--gain", "-3"), "gain must be a finite number > 0, got -3"),
        (("--stimulus", "unicorn"), "stimulus must be one of Ising, NLGP"),
        (("--network", "relu9"), "network must be one of SingleReLU"),
        (("--rate", "fast"), "rate"),
        (("--batch", "33"), "batch of 33 cannot be split"),
        (("--lengthscale", "1,2,3", "--gain", "1,2"), "one value per class"),
        (("--gain",), "expected --name value"),
        (("--set", "steps"), "--set takes name=value"),
        (("nowhere.toml",), "No such file or directory: nowhere.toml"),
        (("--estimator", "magic"), "estimator must be one of plain, antithetic, orbit"),
    ],
)
def test_wrong_words_are_refused_in_one_line(words, expected, tmp_path):
    assert expected in said(localax("train", *words, folder=tmp_path))
    assert not (tmp_path / "localax-results").exists() or not list((tmp_path / "localax-results").iterdir())


def test_a_broken_settings_file_is_named(tmp_path):
    (tmp_path / "run.toml").write_text("steps = = 3")
    assert "run.toml is no TOML" in said(localax("train", "run.toml", folder=tmp_path))


def test_an_unknown_benchmark_is_refused():
    assert "reproduce, stimuli, theory, train" in said(localax("bench", "nothing"))
