"""Run or load: what is stored is not run again; failures, dead processes and Ctrl-C lose nothing that is finished."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import localax as lx
from localax import experiments, runner
from localax._record import Claim, Figure, Lines, Outcome
from localax.runner import _workers
from localax.runner.__main__ import resident
from localax.store import Store

PLANTED = """
import os, time
from dataclasses import dataclass
from types import SimpleNamespace
import numpy as np
from localax import experiments
from localax._record import Figure, Lines, Outcome

@dataclass(frozen=True)
class Settings:
    size: int = 3

def planted(act):
    def run(settings, key, progress):
        progress(0.5)
        act()
        x = np.arange(float(settings.size))
        return Outcome("Planted", "Text.", (Figure("f", ((Lines("l", x, {"x": x}),),)),))
    return SimpleNamespace(Settings=Settings, PRESETS={"quick": Settings()}, run=run)

def fail():
    raise RuntimeError("on purpose")

def nothing():
    pass

def threads():
    raise RuntimeError("threads " + os.environ["NPROC"])

acts = {"good": nothing, "other": nothing, "bad": fail, "dead": lambda: os._exit(7), "slow": lambda: time.sleep(60),
        "threads": threads}
for name, act in acts.items():
    experiments.ALL[name] = planted(act)
"""
"""Experiments for workers to meet, put in place as a worker starts."""


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A few small experiments, known here and in every worker."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import sys\nif any(a.endswith('localax.runner') for a in sys.orig_argv):\n    import planted_experiments\n"
    )
    (folder / "planted_experiments.py").write_text(PLANTED)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
    before = dict(experiments.ALL)
    exec(compile(PLANTED, "planted", "exec"), {"__name__": "planted"})
    yield tmp_path / "store"
    experiments.ALL.clear()
    experiments.ALL.update(before)


def test_what_is_stored_is_loaded(planted):
    first = runner.reproduce(["good", "other"], store=planted, progress=False)
    runs = {run.name: run.created for run in Store(planted).list()}
    second = runner.reproduce(["other", "good"], store=planted, progress=False)
    assert [o.name for o in first] == [o.name for o in second] == ["good", "other"]
    assert [o.to_bytes() for o in first] == [o.to_bytes() for o in second]
    assert {run.name: run.created for run in Store(planted).list()} == runs
    runner.reproduce(["good"], store=planted, progress=False, fresh=True)
    assert sum(created != runs[run] for run, created in ((r.name, r.created) for r in Store(planted).list())) == 1


def test_other_code_or_settings_are_another_outcome(monkeypatch):
    here = runner.identity("kurtosis", "quick")
    assert runner.identity("kurtosis", "paper") != here
    monkeypatch.setattr("localax.runner._reproduce.code_version", lambda _: "changed")
    assert runner.identity("kurtosis", "quick") != here


def test_a_failure_and_a_dead_process_lose_nothing_else(planted):
    outcomes, failed = runner.run_or_load(["bad", "dead", "good", "other"], store=planted, workers=2, progress=False)
    assert [o.name for o in outcomes] == ["good", "other"]
    assert "on purpose" in failed["bad"]
    assert failed["dead"] == "its process ended with code 7"
    with pytest.raises(RuntimeError, match=r"bad failed \(RuntimeError: on purpose\); the other 1 are stored"):
        lx.reproduce(["bad", "good"], store=planted, progress=False)


def test_more_deaths_than_workers_are_told(planted):
    outcomes, failed = runner.run_or_load(["dead", "slow"], store=planted, workers=1, progress=False)
    assert outcomes == []
    assert failed == {"dead": "its process ended with code 7", "slow": "no process was left to run it"}


def test_progress_ends_at_one_only_when_stored(planted):
    seen = []
    assert _workers.work(["good"], "quick", planted, 1, lambda name, fraction: seen.append((name, fraction))) == {}
    assert seen == [("good", 0.5), ("good", 1.0)]


@pytest.mark.parametrize(("workers", "others"), [(1, []), (2, ["good"])])
def test_workers_share_the_cores_out(planted, workers, others):
    said = _workers.work(["threads", *others], "quick", planted, workers, lambda *_: None)["threads"]
    assert said.splitlines()[-1] == f"RuntimeError: threads {max(1, _workers.cores() // workers)}"


def test_a_worker_whose_caller_is_gone_ends_quietly(planted):
    command = [sys.executable, "-m", "localax.runner", "quick", str(planted)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, **pipes) as process:
        process.stdout.close()
        _, said = process.communicate("good\nother\n", timeout=120)
    assert (process.returncode, said) == (0, "")


def test_a_worker_knows_how_much_it_takes():
    before = resident()
    block = np.ones(25_000_000)
    assert resident() - before == pytest.approx(block.nbytes / 1e9, rel=0.1)  # beside what else comes and goes


def test_ctrl_c_keeps_what_is_finished_and_leaves_no_process(planted):
    # Its own handler: a shell's background processes ignore the signal.
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import planted_experiments\nfrom localax import runner\n"
        f"runner.reproduce(['good', 'slow'], store={str(planted)!r}, workers=2)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not Store(planted).list() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in said
    assert [run.settings["experiment"] for run in Store(planted).list()] == ["good"]
    left = subprocess.run(
        ["pgrep", "-f", f"localax.runner quick {planted}"], capture_output=True, text=True, check=False
    )
    assert left.stdout == ""


def test_names_and_chapters():
    assert runner.chosen(None) == list(experiments.PAPER)
    assert runner.chosen("notes") == list(experiments.NOTES)
    assert runner.chosen(["all", "kurtosis"]) == [*experiments.PAPER, *experiments.NOTES]
    assert runner.chosen(["kurtosis", "fig2"]) == ["fig2", "kurtosis"]
    with pytest.raises(ValueError, match="no experiment called 'fig99'; choose paper, notes, all, stimuli"):
        runner.chosen("fig99")
    with pytest.raises(ValueError, match="no preset called 'big'"):
        runner.identity("fig2", "big")


def test_an_outcome_survives_its_file():
    x = np.array([1.0, np.nan])
    claim = Claim("s", "here", "1", "2", "r", "b", "holds", "holds")
    outcome = Outcome(
        "T", "t", (Figure("f", ((Lines("l", x, {"b": x, "a": -x}),),)),), (claim,), settings={"s": (1, 2)}
    )
    again = Outcome.from_bytes(outcome.to_bytes())
    assert list(again.figures[0].rows[0][0].curves) == ["b", "a"]
    np.testing.assert_array_equal(again.figures[0].rows[0][0].x, x)
    assert again.claims == outcome.claims
    assert again.settings == {"s": (1, 2)}
    data = bytearray(outcome.to_bytes())
    data[len(data) // 2] ^= 1
    with pytest.raises(ValueError, match="altered"):
        Outcome.from_bytes(bytes(data))
