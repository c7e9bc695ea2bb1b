"""The command line, as a person types it, with its exit codes and its one-line errors.

Most commands run in this process, where JAX is loaded already; two start a process of their own.
"""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray

import localax as lx
from localax import cli, networks, runner, stimuli
from localax.outcome import Claim, Outcome, as_measured
from localax.store import Store


def localax(*words: str, folder: Path | None = None) -> subprocess.CompletedProcess:
    """What a command prints, and its exit code."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "argv", ["localax", *words])
        patch.setattr(cli, "fast", lambda: None)
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
    code = "import os, localax.cli as c; c.fast(); print(os.environ['NPROC'])"
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
    assert "did you mean stimuli?" in said(localax("list", "stimulli"))


@pytest.mark.slow
def test_stimuli_writes_a_page_and_is_loaded_the_second_time(tmp_path):
    words = ("stimuli", "--size", "40", "--samples", "500", "--json")
    done = localax(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (tmp_path / answer["page"]).read_text().startswith("<!doctype html>")
    figures = (tmp_path / answer["page"]).parent / "figures"
    assert (figures / "stimuli-1.png").read_bytes().startswith(b"\x89PNG")
    assert answer["claims"][0]["verdict"] == "holds"
    again = localax(*words, folder=tmp_path)
    assert "1 of 1" in done.stderr
    assert "1 of 1" not in again.stderr
    assert json.loads(again.stdout) == answer


@pytest.mark.slow
def test_reproduce_writes_a_report_and_a_part_of_it_updates_it(tmp_path):
    first = localax("reproduce", "fig2", "--json", folder=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "1 of 1: fig2" in first.stderr
    answer = json.loads(first.stdout)
    page = tmp_path / answer["page"]
    claims = tmp_path / "localax-report" / "claims.json"
    assert json.loads(claims.read_text()) == answer["claims"]
    drawn = {path.name: path.stat().st_mtime_ns for path in page.parent.glob("figures/*.svg")}
    again = localax("reproduce", "kurtosis", folder=tmp_path)
    assert again.returncode == 0
    assert "1 of 1: kurtosis" in again.stderr
    assert "fig2" not in again.stdout  # only what was asked for is printed
    shown = {claim["experiment"] for claim in json.loads(claims.read_text())}
    assert shown == {"fig2", "kurtosis"}  # and the report has both
    assert all(f'<section class="experiment" id="{name}">' in page.read_text() for name in shown)
    assert all(path.stat().st_mtime_ns == drawn[path.name] for path in page.parent.glob("figures/fig2*.svg"))
    assert {"fig2", "kurtosis"} <= set(localax("runs", folder=tmp_path).stdout.split())


@pytest.mark.parametrize(
    ("expected", "failed", "code"), [("holds", {}, 0), ("does not hold", {}, 1), ("holds", {"fig2": "Why"}, 3)]
)
def test_reproduce_exits_by_its_claims_and_failures(expected, failed, code, tmp_path, monkeypatch):
    claim = Claim("s", "paper", "1", (), "2", "rule", (), "basis", "holds", as_measured(expected))
    outcome = Outcome("Title", "Text.", (), (claim,), "kurtosis", "paper")

    def results(units, *_, **__):
        return runner.Results(tuple(units), frozenset(), {u.name: failed[u.title] for u in units if u.title in failed})

    monkeypatch.setattr(runner, "run_with_board", results)
    monkeypatch.setattr(runner, "load_outcome", lambda *_: outcome)
    done = localax("reproduce", "fig2", folder=tmp_path)
    assert done.returncode == code
    assert "holds" in done.stdout
    assert ("fig2 failed: Why" in done.stderr) == bool(failed)


def test_settings_of_an_experiment_are_checked_before_anything_runs(tmp_path):
    for words, message in (
        (("--set", "seeds=0"), "Figure5: seeds must be a whole number >= 2, got 0"),
        (("--set", "seedz=3"), "no setting of fig5 called 'seedz'; did you mean seeds?"),
        (("--preset", "qick"), "no preset called 'qick'; did you mean quick?"),
        (("fig55",), "no experiment called 'fig55'; did you mean fig5"),
    ):
        assert message in said(localax("reproduce", "fig5", *words, folder=tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_mistake_of_ours_is_told_in_one_line_and_shown_with_debug(monkeypatch, tmp_path):
    def broken(*_, **__):
        raise RuntimeError("on\npurpose")

    monkeypatch.setattr(runner, "experiment_units", broken)
    done = localax("reproduce", folder=tmp_path)
    assert done.returncode == 3
    assert done.stderr == (
        "localax: a mistake of ours, sorry: RuntimeError: on purpose (see it all with: localax --debug ...)\n"
    )
    assert "Traceback" in localax("--debug", "reproduce", folder=tmp_path).stderr
    monkeypatch.setattr(runner, "experiment_units", lambda *_: int("x"))
    assert localax("reproduce", folder=tmp_path).returncode == 3  # a ValueError of ours is no wrong input


RUN = ("train", "--stimulus", "ising", "--steps", "40", "--batch", "100", "--seeds", "2", "--size", "12")


@pytest.mark.slow
def test_train_keeps_a_run_and_loads_it_the_second_time(tmp_path):
    first = localax(*RUN, "--json", folder=tmp_path)
    assert first.returncode == 0, first.stderr
    answer = json.loads(first.stdout)
    assert answer["status"] == ["done", "done"]
    assert len(answer["ipr"]) == 2
    assert not answer["loaded"]
    assert Path(answer["picture"]).read_bytes().startswith(b"\x89PNG")
    assert {"run", "loaded", "status", "loss", "ipr", "peak", "kind"} <= set(answer)
    again = json.loads(localax(*RUN, "--json", folder=tmp_path).stdout)
    assert again["loaded"]
    assert {**again, "loaded": False} == answer
    (stored,) = json.loads(localax("runs", "--json", folder=tmp_path).stdout)["runs"]
    assert stored["name"] == answer["run"]
    assert not list((tmp_path / "localax-results").glob("**/scratch"))


@pytest.mark.slow
def test_train_reads_a_file_and_flags_override_it(tmp_path):
    (tmp_path / "run.toml").write_text(
        'steps = 30\nbatch = 50\ninit = "xavier"\n'
        '[stimulus]\nkind = "NLGP"\nsize = 10\nlengthscale = [0.5, 1]\ngain = 2\n'
        '[network]\nkind = "SoftCommittee"\nunits = 3\nactivation = "erf"\nbias = true\n'
    )
    done = localax("train", "run.toml", "--units", "2", "--set", "init.scale=0.1", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["ipr"]) == 2
    run = json.loads(localax("runs", "--json", folder=tmp_path).stdout)["runs"][0]["identity"]["settings"]
    assert run["init"] == {"kind": "Xavier", "scale": 0.1}
    assert (run["steps"], run["network"]["units"], run["task"]["stimuli"][0]["gain"]) == (30, 2, 2.0)


@pytest.mark.slow
def test_a_name_in_a_file_stands_for_an_object(tmp_path):
    (tmp_path / "run.toml").write_text('stimulus = "nlgp"\nnetwork = "single"\nsteps = 5\nbatch = 10\n')
    done = localax("train", "run.toml", "--size", "24", "--lengthscale", "1,2", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_rows_are_called_by_setting_seed_and_unit(tmp_path):
    words = ("--rate", "0.1,0.2", "--seeds", "7,9", "--network", "committee", "--units", "2")
    done = localax(*RUN[:-4], "--size", "12", *words, folder=tmp_path)
    rows = [line.split()[:3] for line in done.stdout.splitlines()[1:9]]
    assert done.stdout.splitlines()[0].split()[:3] == ["rate", "seed", "unit"]
    assert rows == [[rate, str(s), str(u)] for rate in ("0.1", "0.2") for s in (7, 9) for u in (0, 1)]


@pytest.mark.filterwarnings("ignore:rate .* is near")
def test_a_diverged_run_is_told_by_the_exit_code(tmp_path):
    with pytest.warns(RuntimeWarning, match="diverged"):
        done = localax(*RUN, "--rate", "1e6", "--json", folder=tmp_path)
    assert done.returncode == 1
    assert all("diverged" in status for status in json.loads(done.stdout)["status"])


@pytest.mark.slow
def test_ctrl_c_leaves_a_run_that_the_same_command_finishes(tmp_path):
    # Its own handler: a shell's background processes ignore the signal.
    words = [
        "train",
        "--stimulus",
        "ising",
        "--size",
        "12",
        "--steps",
        "2000000",
        "--batch",
        "100",
        "--save-every",
        "50000",
    ]
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"from localax import cli; sys.argv = ['localax', *{words!r}]; cli.main()"
    )
    process = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    scratch = tmp_path / "localax-results"
    deadline = time.monotonic() + 120
    while not list(scratch.glob("*/scratch/request.json")) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "interrupted; what was finished is kept, and the same command goes on from there" in told
    listing = json.loads(localax("runs", "--json", folder=tmp_path).stdout)
    assert listing["runs"] == []
    assert listing["unfinished"][0]["request"]["steps"] == 2_000_000
    assert "unfinished: interrupted" in localax("runs", folder=tmp_path).stderr
    assert localax("runs", "rm", listing["unfinished"][0]["name"], folder=tmp_path).returncode == 0
    assert json.loads(localax("runs", "--json", folder=tmp_path).stdout) == {"runs": [], "unfinished": []}


def test_stored_runs_can_be_shown_loaded_and_removed(tmp_path):
    name = json.loads(localax(*RUN, "--json", folder=tmp_path).stdout)["run"]
    shown = localax("runs", "show", name[:6], folder=tmp_path).stdout
    assert "SingleReLU on Ising" in shown
    assert "kept in" not in shown
    assert json.loads(localax("runs", "show", name, "--json", folder=tmp_path).stdout)["name"] == name
    assert localax("runs", "load", name, "--out", "run.npz", folder=tmp_path).returncode == 0
    assert localax("runs", "load", name, "--out", "run.nc", folder=tmp_path).returncode == 0
    loaded = lx.load(tmp_path / "run.npz")
    assert loaded.n_seeds == 2
    with xarray.open_dataset(tmp_path / "run.nc") as data:
        np.testing.assert_array_equal(data["weights"], loaded.weights)
    assert "ends in .npz, .nc or .csv" in said(localax("runs", "load", name, "--out", "run.txt", folder=tmp_path))
    assert "one run goes into one file, got 2" in said(
        localax("runs", "load", name, name, "--out", "2.nc", folder=tmp_path)
    )
    assert "no run called" in said(localax("runs", "show", "0" * 16, folder=tmp_path))
    for action in ("show", "rm"):  # nothing is done with one before all are known
        assert "no run called" in said(localax("runs", action, name, "0" * 16, folder=tmp_path))
    (fields,) = (tmp_path / "localax-results" / name).glob("*.npz")
    data = fields.read_bytes()
    fields.write_bytes(data[:1000] + bytes([data[1000] ^ 1]) + data[1001:])
    assert "altered since it was saved" in said(localax("runs", "show", name, folder=tmp_path))
    assert f"removed {name}" in localax("runs", "rm", name, folder=tmp_path).stdout
    assert "no runs stored" in localax("runs", folder=tmp_path).stdout


def test_prune_removes_what_can_never_be_used_again(tmp_path):
    name = json.loads(localax(*RUN, "--json", folder=tmp_path).stdout)["run"]
    store = Store(tmp_path / "localax-results")
    run = store.find(name)
    old = store.save({**run.identity, "code": "older"}, {"trajectory.npz": b""}).name
    assert localax("runs", "prune", "--dry-run", folder=tmp_path).stdout.split()[0] == old
    assert len(store.runs()) == 2
    localax("runs", "prune", folder=tmp_path)
    assert [left.name for left in store.runs()] == [name]
    localax("runs", "prune", "--days", "0", folder=tmp_path)
    assert store.runs() == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--gian", "3"), "no setting called '--gian'; did you mean --gain"),
        (("--gain", "-3"), "gain must be a finite number >= 1e-30 and <= 1e+30, got -3"),
        (("--stimulus", "unicorn"), "no stimulus called 'unicorn'; choose one of Ising, NLGP"),
        (("--stimulus", "insing"), "did you mean Ising"),
        (("--network", "singelrelu"), "no network called 'singelrelu'; did you mean SingleReLU?"),
        (("--network", "gated"), "network GatedLinear needs gates, which no settings file or flag can hold"),
        (("--stimulus", "empirical"), "Empirical: samples must be a file of samples of your own"),
        (("--size", "1000000000"), "what the memory of this machine holds"),
        (("--rate", "fast"), "rate"),
        (("--batch", "33"), "batch of 33 cannot be split"),
        (("--lengthscale", "1,2,3", "--gain", "1,2"), "one value per class"),
        (("--gain",), "expected --name value"),
        (("--set", "steps"), "--set takes name=value"),
        (("nowhere.toml",), "No such file or directory: nowhere.toml"),
        (("--estimator", "magic"), "plain, antithetic, orbit"),
    ],
)
def test_wrong_words_are_refused_in_one_line(words, expected, tmp_path):
    assert expected in said(localax("train", *words, folder=tmp_path))
    assert not (tmp_path / "localax-results").exists() or not list((tmp_path / "localax-results").iterdir())


def test_a_broken_settings_file_is_named(tmp_path):
    (tmp_path / "run.toml").write_text("steps = = 3")
    assert "run.toml is no TOML" in said(localax("train", "run.toml", folder=tmp_path))


def test_an_unknown_benchmark_is_refused():
    assert "predict, reproduce, start, stimuli, sweeps, theory, train" in said(localax("bench", "nothing"))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("reproduc",), "no such command 'reproduc'. Did you mean 'reproduce'? (see: localax --help)"),
        (("reproduce", "--sumary", "x"), "--summary) (see: localax reproduce --help)"),
        (("sweep",), "missing argument 'FILE.toml' (see: localax sweep --help)"),
        (("stimuli", "--size", "3"), "greater than or equal to 20"),
    ],
)
def test_words_that_no_command_knows_are_refused_in_one_line(words, expected):
    assert expected in said(localax(*words))


def test_no_words_at_all_show_the_commands():
    assert "Usage: localax" in " ".join(localax().stdout.split())


def test_cite_agrees_with_the_file_that_repositories_read():
    file = (Path(lx.__file__).parents[2] / "CITATION.cff").read_text()
    both = json.loads(localax("cite", "--json").stdout)
    assert all(entry in localax("cite").stdout for entry in both.values())
    assert f"version: {lx.__version__}\n" in file
    assert f"version = {{{lx.__version__}}}" in both["software"]
    named = re.findall(r'(?:title|name|family-names|given-names|volume|year): "?([^"\n]+)"?', file)
    assert len(named) == 12
    assert [word for word in named if word not in both["paper"] + both["software"]] == []


def test_doctor_finds_what_works_and_what_does_not(tmp_path, monkeypatch):
    monkeypatch.setenv("NPROC", "1")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "cache"))
    done = localax("doctor", "--json", "--store", str(tmp_path / "store"))
    found = {row["name"]: row for row in json.loads(done.stdout)}
    assert done.returncode == 0
    assert lx.__version__ in found["versions"]["said"]
    assert found["store"]["said"].endswith("0 results")
    assert not (tmp_path / "store").exists()  # it looks, and leaves nothing
    (tmp_path / "cache").write_text("a file in its place")
    done = localax("doctor", folder=tmp_path)
    assert done.returncode == 1
    assert "TROUBLE cache" in done.stdout


# Bad places -----------------------------------------------------------------------------------------------------------


def alone(words: str, **environment: str) -> tuple[int, str]:
    """A command in a shell, as a process of its own: its exit code, and what the terminal is told."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = f"set -o pipefail; {sys.executable} -m localax {words}"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=inherited | environment, timeout=120, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.slow
def test_what_cannot_be_printed_is_told_in_one_line():
    if Path("/dev/full").exists():
        assert alone("cite >/dev/full") == (2, "localax: [Errno 28] No space left on device\n")
    assert alone("cite | true") in ((0, ""), (1, ""))  # nobody listens, or did just long enough


@pytest.mark.slow
def test_a_backend_that_is_not_there_is_told_in_one_line(tmp_path):
    code, told = alone(f"stimuli --store {tmp_path} --out {tmp_path}", JAX_PLATFORMS="cuda")
    assert (code, told.count("\n")) == (2, 1)
    assert "JAX cannot begin on cuda, as JAX_PLATFORMS asks" in told


def test_doctor_goes_on_where_it_cannot_look(monkeypatch):
    monkeypatch.setattr("localax._commands._about._browser", lambda: 1 / 0)
    monkeypatch.setattr("localax._commands._about.no_backend", lambda: "JAX cannot begin")
    done = localax("doctor")
    assert done.returncode == 1
    assert "TROUBLE browser       ZeroDivisionError" in done.stdout
    assert "TROUBLE JAX           JAX cannot begin" in done.stdout
    assert "SLURM" in done.stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("runs", "--store", "~nobody-of-this-name/x"), "no home is known here"),
        (("reproduce", "fig5", "--summary", "/dev/null"), "--summary must be a file to write"),
        (("reproduce", "fig5", "--check", "empty.json"), "empty.json: is no summary"),
        (("stimuli", "--seed", str(2**63)), "2147483647"),
        (("train", "--set", f"stimulus{'.a' * 1200}=1"), "leads through more than 64 tables"),
        (("train", "deep.toml"), "tables inside of tables more than 64 deep"),
        (("train", "--steps", "2000000000", "--save_every", "1"), "at 2000000002 records"),
    ],
)
def test_places_and_settings_that_nobody_means(words, complaint, tmp_path):
    (tmp_path / "empty.json").write_text('{"experiments": []}')
    (tmp_path / "deep.toml").write_text(f"stimulus{'.a' * 1200} = 1")
    assert complaint in said(localax(*words, folder=tmp_path))


def test_a_summary_that_cannot_be_written_is_told_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    assert "Not a directory" in said(localax("reproduce", "fig5", "--summary", "file/s.json", folder=tmp_path))


def test_a_run_that_cannot_be_drawn_is_shown(tmp_path, monkeypatch):
    name = json.loads(localax(*RUN, "--json", folder=tmp_path).stdout)["run"]
    for drawn in (tmp_path / "localax-results" / name).glob("*.png"):
        drawn.unlink()

    def refuse(*_):
        raise PermissionError(13, "Permission denied", "there")

    monkeypatch.setattr("localax._disk.write_atomically", refuse)
    done = localax("runs", "show", name, folder=tmp_path)
    assert done.returncode == 0
    assert "picture not drawn: Permission denied" in done.stdout
