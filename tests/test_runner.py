"""Run or load: what is stored is not run again; failures, dead processes and Ctrl-C lose nothing that is finished."""

import ast
import dataclasses
import functools
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import localax as lx
from localax import experiments, runner
from localax._disk import pack, unpack
from localax._errors import SettingError
from localax.outcome import (
    Claim,
    Diagram,
    Fields,
    Figure,
    Heatmap,
    Histogram,
    Lines,
    Number,
    Outcome,
    Scatter,
    as_measured,
)
from localax.runner import Processes, ThisProcess, _sources
from localax.spec import description
from localax.stimuli import NLGP, Affine, Copula, Exponential, GaussianClone, Uniform, Window
from localax.store import Store

PLANTED = """
import os, sys, time
from dataclasses import dataclass
from typing import Annotated, ClassVar
import numpy as np
from localax import experiments
from localax.experiments import AbstractExperiment, AbstractMeasured
from localax.outcome import Figure, Lines
from localax.spec import Setting

@dataclass(frozen=True)
class Measured(AbstractMeasured):
    x: np.ndarray
    def claims(self): return ()
    def figures(self): return (Figure("f", ((Lines("l", self.x, {"x": self.x}),),)),)
    def text(self): return "Text."

@dataclass(frozen=True)
class Planted(AbstractExperiment):
    title: ClassVar[str] = "Planted"
    cost: ClassVar[float] = 1.0
    size: Annotated[int, Setting("points", kind=int, ge=1)] = 3
    def measure(self, key, progress):
        progress(0.5)
        ACTS[self.name]()
        return Measured(np.arange(float(self.size)))

def fail():
    raise RuntimeError("on purpose")

def threads():
    raise RuntimeError("threads " + os.environ["NPROC"])

def say(text):  # to whoever listens: the worker has put its standard output elsewhere
    for fd in range(3, 64):
        try:
            if "pipe" in os.readlink(f"/proc/self/fd/{fd}"):
                os.write(fd, text)
        except OSError:
            pass

def cut_off():
    say(b'{"fraction": 0.')
    os._exit(0)

def gibberish():
    say(b'no message\\n')
    time.sleep(60)

ACTS = {"good": lambda: None, "other": lambda: None, "third": lambda: None, "bad": fail, "dead": lambda: os._exit(7),
        "dead2": lambda: os._exit(8), "slow": lambda: time.sleep(60), "threads": threads, "cut": cut_off,
        "gibberish": gibberish}
for name in ACTS:
    kind = type(name, (Planted,), {"name": name, "__module__": "localax.experiments.experiment"})
    experiments.ALL[name] = dataclass(frozen=True)(kind)
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
    yield Store(tmp_path / "store")
    experiments.ALL.clear()
    experiments.ALL.update(before)


def run(names, store, workers=2, **options):
    """What came of some experiments: titles of those stored, and what failed by title."""
    units = runner.experiment_units(names)
    results = runner.run_or_load(units, store, Processes(workers), **options)
    titles = {unit.name: unit.title for unit in units}
    return [unit.title for unit in results.stored], {titles[name]: why for name, why in results.failed.items()}


@pytest.mark.slow
def test_what_is_stored_is_loaded(planted):
    first = runner.reproduce(["good", "other"], store=planted.root, progress=False, workers=1)
    made = {entry.name: entry.created for entry in planted.runs()}
    second = runner.reproduce(["other", "good"], store=planted.root, progress=False)
    assert [o.name for o in first] == [o.name for o in second] == ["good", "other"]
    assert [o.to_bytes() for o in first] == [o.to_bytes() for o in second]
    assert {entry.name: entry.created for entry in planted.runs()} == made
    runner.reproduce(["good"], store=planted.root, progress=False, fresh=True, workers=1)
    assert sum(entry.created != made[entry.name] for entry in planted.runs()) == 1


# Identity -------------------------------------------------------------------------------------------------------------


def test_an_identity_holds_settings_code_libraries_and_device(planted):
    del planted
    kind = experiments.ALL["good"]
    here = runner.experiment_unit(kind()).identity
    assert here["settings"] == {"kind": here["settings"]["kind"], "size": 3}
    assert set(here["libraries"]) >= {"jax", "jaxlib", "numpy", "optax", "equinox", "scipy"}
    assert here["backend"] == "cpu"
    assert here["device"]
    for other in (runner.experiment_unit(kind(size=4)), runner.experiment_unit(kind(), seed=1)):
        assert other.identity != here
    assert runner.experiment_unit(kind(size=3)).identity == here


def parsed_imports(node: ast.AST) -> list[str]:
    """Every import in parsed code but those for type checkers alone."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        return []
    own = [ast.dump(node)] if isinstance(node, ast.Import | ast.ImportFrom) else []
    return own + [found for child in ast.iter_child_nodes(node) for found in parsed_imports(child)]


@pytest.mark.slow
def test_imports_are_found_without_parsing_all():
    for module, source in _sources.SOURCES.items():
        found = [ast.dump(node) for node in _sources._statements(source.decode())]
        assert sorted(found) == sorted(parsed_imports(ast.parse(source))), module
    assert sum(len(_sources._statements(source.decode())) for source in _sources.SOURCES.values()) > 500


def test_the_code_of_an_experiment_is_what_it_imports(monkeypatch):
    fig5, fig6 = (experiments.ALL[name].__module__ for name in ("fig5", "fig6"))

    def versions(changed):
        sources = {**_sources.SOURCES, changed: _sources.SOURCES[changed] + b"\n# a word"}
        with monkeypatch.context() as patch:
            patch.setattr(_sources, "SOURCES", sources)
            return [_sources.code_version.__wrapped__(module) for module in (fig5, fig6)]

    before = [_sources.code_version(module) for module in (fig5, fig6)]
    assert [a != b for a, b in zip(before, versions(fig5), strict=True)] == [True, False]
    for shared in ("localax.stimuli._copula", "localax.networks._committee", "localax.training._loop"):
        assert [a != b for a, b in zip(before, versions(shared), strict=True)] == [True, True]
    for apart in ("localax.cli", "localax.report._draw", "localax.runner._processes", "localax.store._store"):
        assert versions(apart) == before


def test_a_run_spelt_differently_is_one_run():
    settings = {"steps": 20, "batch": 20, "stimulus": {"kind": "nlgp", "size": 8, "lengthscale": [0.5, 1], "gain": 3}}
    same = [
        settings,
        {**settings, "stimulus": {**settings["stimulus"], "kind": "NLGP", "gain": 3.0}},
        {**settings, "network": "singlerelu", "seeds": [0], "init": {"kind": "Xavier", "scale": 1e-3}, "rate": 0.05},
    ]
    names = [runner.training_unit(runner.training_settings(one)).name for one in same]
    assert len(set(names)) == 1
    for change in ({"seeds": 2}, {"rate": 0.06}, {"estimator": "orbit"}, {"loss": "l1"}, {"save_every": 5}):
        assert runner.training_unit(runner.training_settings({**settings, **change})).name != names[0]


@pytest.mark.slow
def test_a_worker_refuses_what_it_would_name_differently(planted, monkeypatch):
    """The sources were edited after the caller had read them: nothing may be stored under the old name."""
    monkeypatch.setattr("localax.runner._unit.code_version", lambda _: "as it was")
    stored, failed = run(["good"], planted)
    assert stored == []
    assert failed["good"].startswith("the sources changed since this was asked for; ask again (settings {")
    assert planted.runs() == []


# Faults ---------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_failures_and_dead_processes_lose_nothing_else(planted, monkeypatch):
    """Workers that die, in four ways, are replaced; a unit that raises leaves its worker be. Each has one thread."""
    monkeypatch.setattr("localax.runner._executors.TRIES", 1)
    ends = {"dead": "code 7", "dead2": "code 8", "cut": "code 0", "gibberish": "code -9 after saying 'no message"}
    stored, failed = run([*ends, "bad", "threads", "good", "other", "third"], planted)
    assert stored == ["good", "other", "third"]
    assert set(failed) == {*ends, "bad", "threads"}
    for name, end in ends.items():
        assert failed[name].startswith(f"its process ended with {end}")
    assert "RuntimeError: on purpose (1 tries; settings {" in failed["bad"]
    assert "RuntimeError: threads 1 " in failed["threads"]


@pytest.mark.slow
def test_what_failed_three_times_is_told_with_its_settings(planted):
    told = (
        r'bad failed \(RuntimeError: on purpose \(3 tries; settings {"experiment":"bad",.*}\)\); the other 1 are stored'
    )
    with pytest.raises(RuntimeError, match=told):
        lx.reproduce(["bad", "good"], store=planted.root, progress=False, workers=1)


@pytest.mark.slow
def test_where_no_process_can_be_started_the_others_go_on(planted, monkeypatch):
    start, left = subprocess.Popen, [1]

    def only_one(*arguments, **options):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(11, "no more processes")
        return start(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", only_one)
    assert run(["good", "other"], planted)[0] == ["good", "other"]
    stored, failed = run(["third"], planted)
    assert stored == []
    assert failed["third"].startswith("no process could be started: [Errno 11] no more processes (3 tries; ")


@pytest.mark.slow
def test_progress_ends_at_one_only_when_stored(planted):
    (unit,) = runner.experiment_units(["good"])
    for executor in (Processes(1), ThisProcess()):
        seen = []
        tell = functools.partial(lambda seen, u, f: seen.append((u.title, f)), seen)
        assert executor.run([unit], planted, tell, replace=True) == {}
        assert seen == [("good", 0.5), ("good", 1.0)]


def test_this_process_raises_what_a_user_can_mend_and_reports_the_rest(planted, monkeypatch):
    (unit,) = runner.experiment_units(["bad"])
    assert "on purpose" in ThisProcess().run([unit], planted, lambda *_: None)[unit.name]

    def refuse(*_, **__):
        raise SettingError("give another number")

    monkeypatch.setattr(type(unit), "run", refuse)
    with pytest.raises(SettingError, match="another number"):
        ThisProcess().run([unit], planted, lambda *_: None)


@pytest.mark.slow
def test_a_worker_whose_caller_is_gone_ends_quietly(planted):
    del planted
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-m", "localax.runner"], text=True, **pipes) as process:
        process.stdout.close()
        _, said = process.communicate('{"kind": "experiment"}\n{}\n', timeout=120)
    assert process.returncode in (0, 130)  # it sees that nobody listens, or that nobody asks any more
    assert said == ""


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_leaves_no_process(planted):
    # Its own handler: a shell's background processes ignore the signal.
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import planted_experiments\nfrom localax import runner\n"
        f"runner.reproduce(['good', 'slow'], store={str(planted.root)!r}, workers=2)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not planted.runs() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in said
    assert [entry.title for entry in planted.runs()] == ["good"]
    left = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False)
    assert left.stdout == ""


# Names ----------------------------------------------------------------------------------------------------------------


def titles(names, preset="quick"):
    return [unit.title for unit in runner.experiment_units(names, preset)]


def test_names_and_chapters():
    paper, notes, beyond = (list(members) for members in experiments.CHAPTERS.values())
    assert titles(None) == paper
    assert titles("notes") == notes
    assert titles(["all", "kurtosis"]) == [*paper, *notes, *beyond]
    assert titles(["kurtosis", "fig2"]) == ["fig2", "kurtosis"]
    with pytest.raises(SettingError, match=r"no experiment called 'fig99'; did you mean fig"):
        titles("fig99")
    with pytest.raises(SettingError, match="no preset called 'pappr'; did you mean paper"):
        titles("fig2", "pappr")


NESTED = """
[stimulus]
kind = "window"
size = 12
[stimulus.stimulus]
kind = "affine"
scale = [2, 4]
stimulus = {kind = "copula", size = 30, marginal = "uniform", covariance = {kind = "exponential", lengthscale = [1, 3]}}
"""


def test_stimuli_made_from_others_are_read_from_a_file(tmp_path):
    file = tmp_path / "nested.toml"
    file.write_text(NESTED)
    task = runner.typed_training(file, {}, [], ["stimulus.stimulus.offset=0.5"]).arguments()["task"]
    expected = [
        Window(Affine(Copula(30, Exponential(lengthscale), Uniform()), scale, 0.5), 12)
        for lengthscale, scale in ((1, 2), (3, 4))
    ]
    assert [description(stimulus) for stimulus in task.stimuli] == [description(stimulus) for stimulus in expected]
    (short, _) = runner.typed_training(None, {"stimulus": "clone"}, [], []).arguments()["task"].stimuli
    assert description(short) == description(GaussianClone(NLGP(40, 1, 3)))  # of the paper's task
    with pytest.raises(SettingError, match=r"stimulus: stimulus\.lengthscale, scale must have one value per class"):
        runner.typed_training(None, {"stimulus": "affine"}, ["--scale", "1,2,3"], []).arguments()


def test_settings_are_changed_and_checked_before_anything_runs():
    (unit,) = runner.experiment_units(["fig5"], "quick", {"seeds": 10, "lengthscales": [1, 2]})
    assert (unit.experiment.seeds, unit.experiment.lengthscales) == (10, (1.0, 2.0))
    assert dataclasses.replace(unit.experiment, seeds=10) == unit.experiment
    for change, message in (
        ({"seeds": 0}, "Figure5: seeds must be a whole number >= 2, got 0"),
        ({"seed": 3}, "no setting of fig5 called 'seed'; did you mean seeds"),
        ({"lengthscales": 3}, "lengthscales must be 2 values, each a finite number > 0, got 3"),
    ):
        with pytest.raises(SettingError, match=message):
            runner.experiment_units(["fig5"], "quick", change)


def test_stale_results_are_those_that_would_be_made_anew(planted):
    runner.run_or_load(runner.experiment_units(["good", "other"]), planted, ThisProcess())
    assert runner.stale(planted) == []
    unit = runner.experiment_units(["third"])[0]
    planted.save({**unit.identity, "code": "older"}, {"outcome.npz": b""}, kind="experiment")
    assert [entry.identity["experiment"] for entry in runner.stale(planted)] == ["third"]
    for strange in ({"kind": "sweep"}, {"what": ["train"]}, {"experiment": {}}):
        planted.save(strange, {"outcome.npz": b""}, kind="sweep" if "what" in str(strange) else "experiment")
    planted.save({"a": 1}, {"outcome.npz": b""}, kind="sweep")
    assert len(runner.stale(planted)) == 5


# The file of an outcome -----------------------------------------------------------------------------------------------


def test_an_outcome_survives_its_file():
    x = np.array([1.0, np.nan])
    claim = Claim("s", "here", "1", (Number("n", 2.0),), "2", "r", (), "b", "holds", as_measured("holds"))
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
    with pytest.raises(SettingError, match="altered"):
        Outcome.from_bytes(bytes(data))


@pytest.mark.parametrize(
    "panel",
    [
        lambda x: Lines("l", x, {"a": x[:1]}), lambda x: Fields("f", x[None], ("one", "two")),
        lambda x: Heatmap("h", x), lambda x: Diagram("d", x, x, np.eye(3)), lambda x: Histogram("h", x, x),
        lambda x: Scatter("s", {"a": (x, x[:1], x)}), lambda x: Diagram("d", x[:, None], x, np.eye(2)),
        lambda x: Diagram("d", x, x[:, None], np.eye(2)), lambda x: Diagram("d", x, np.eye(2), np.zeros((2, 2, 2))),
        lambda x: Histogram("h", np.zeros((1, 3)), x),
    ],
)  # fmt: skip
def test_arrays_of_a_panel_that_do_not_belong_together_are_refused(panel):
    with pytest.raises(SettingError, match="its arrays must be of one size"):
        panel(np.arange(2.0))


def test_an_outcome_that_somebody_made_up_is_refused():
    whole = Outcome("T", "t", (Figure("f", ((Fields("p", np.eye(2)),),)),), name="x").to_bytes()
    arrays, meta = unpack(whole, kind="outcome")
    parts = meta["outcome"]["fields"]
    for name, value in (("title", 3), ("claims", ["holds"]), ("figures", [meta["outcome"]]), ("seconds", "long")):
        made_up = {"outcome": {"kind": "Outcome", "fields": {**parts, name: value}}}
        with pytest.raises(SettingError, match="does not hold an outcome"):
            Outcome.from_bytes(pack(arrays, made_up, kind="outcome"))
    with pytest.raises(SettingError, match="does not hold an outcome"):
        Outcome.from_bytes(pack({"a0": np.array([["x"]])}, meta, kind="outcome"))


@pytest.mark.parametrize("name", ["../../x", "a/b", "<b>", 'x" onload="', "a b", "x" * 61])
def test_an_outcome_has_a_name_that_can_name_files_and_parts_of_a_page(name):
    with pytest.raises(SettingError, match="Outcome: name must be"):
        Outcome("T", "t", (), name=name)
