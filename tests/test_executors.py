"""Executors: the same bits wherever units run; what is killed, full or lost costs nothing that is finished."""

import contextlib
import importlib.util
import resource
import signal
import socket
import threading
import time
from dataclasses import dataclass
from types import SimpleNamespace

import psutil
import pytest
import typer

from localax import cli, runner
from localax._commands._troubles import tell_failures
from localax._errors import SettingError
from localax.runner import Dask, Processes, ThisProcess, _cluster, _dask, _executors
from localax.store import Store
from slurm.slurm import NoSlurm, slurm
from soak import processes
from soak import units as soak_units


@pytest.fixture(scope="module")
def units():
    return soak_units.small_units()


@pytest.fixture(scope="module")
def truth(units, tmp_path_factory):
    """What comes out where nothing happens."""
    store = Store(tmp_path_factory.mktemp("truth"))
    assert ThisProcess().run(units, store, lambda *_: None) == {}
    return soak_units.digests(store, units)


@pytest.fixture(scope="module")
def cluster():
    """A Dask cluster of two workers: its address and its processes."""
    before = {one.pid for one in processes.family(psutil.Process().pid)}
    with _dask._started({"kind": "local", "workers": 2}) as address:
        (process,) = [one for one in psutil.Process().children() if one.pid not in before]
        yield SimpleNamespace(address=address, pid=process.pid)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


# The same everywhere --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_executor_gives_the_same_bits_and_leaves_no_worker(units, truth, cluster, tmp_path):
    seen = []
    for name, executor in {"processes": Processes(2), "dask": Dask(cluster.address)}.items():
        store = Store(tmp_path / name)
        assert executor.run(units, store, lambda unit, f: seen.append((unit.name, f))) == {}
        assert soak_units.digests(store, units) == truth
    processes.until(lambda: not processes.localax_workers(processes.family(psutil.Process().pid)))
    assert sorted(name for name, f in seen if f == 1) == sorted(2 * [unit.name for unit in units])
    assert all(0 <= f <= _executors.ALMOST or f == 1 for _, f in seen)


def connections(process: psutil.Process) -> list:
    """What a process is connected to; nothing if it has ended since it was seen."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.net_connections()
    return []


def test_a_cluster_whose_worker_is_killed_as_it_begins_is_begun_again(monkeypatch):
    begun = []

    def begin(**_):
        begun.append(len(begun))
        if len(begun) < 3:
            raise RuntimeError("Nanny failed to start.")
        return "a cluster"

    monkeypatch.setattr("distributed.LocalCluster", begin)
    assert _cluster.local(2) == "a cluster"
    begun.clear()
    with pytest.raises(RuntimeError):
        _cluster.local(2, tries=2)
    assert begun == [0, 1]


def test_a_cluster_of_our_own_listens_on_loopback_alone(cluster):
    found = processes.family(cluster.pid)
    processes.until(lambda: len(processes.dask_workers(processes.family(cluster.pid))) == 2)
    listening = [one for process in found for one in connections(process) if one.status == psutil.CONN_LISTEN]
    assert len(listening) >= 4  # scheduler, its page, two workers
    assert {one.laddr.ip for one in listening} == {"127.0.0.1"}


# What is killed -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("victims", [processes.dask_workers, processes.localax_workers])
def test_a_killed_worker_is_replaced_and_its_unit_done_by_another(victims, cluster, units, truth, store):
    killed = []

    def watch(_, fraction):
        if fraction == 1 and not killed:
            killed.extend(victims(processes.family(cluster.pid))[:1])
            processes.kill(killed)

    assert Dask(cluster.address).run(units, store, watch) == {}
    assert len(killed) == 1
    assert soak_units.digests(store, units) == truth


@pytest.mark.slow
def test_what_is_finished_outlives_ctrl_c(units, truth, store):
    with soak_units.client(store, workers=1) as process:
        processes.until(lambda: soak_units.stored(store, units) or process.poll() is not None)
        before, kept = processes.family(process.pid), soak_units.stored(store, units)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=processes.PATIENCE)
    assert "KeyboardInterrupt" in said
    processes.until(lambda: processes.gone(before))
    results = runner.run_or_load(units, store, ThisProcess())
    assert results.loaded >= kept
    assert kept
    assert soak_units.digests(store, units) == truth


@pytest.mark.slow
def test_a_lost_scheduler_is_told_in_one_line(units, store):
    with _dask._started({"kind": "local", "workers": 0}) as address:
        (helper,) = [
            one
            for one in psutil.Process().children()
            if "_cluster.py" in " ".join(one.cmdline()) and '"workers": 0' in one.cmdline()[-1]
        ]
        threading.Timer(2.0, helper.kill).start()
        with pytest.raises(
            ConnectionError, match=rf"the Dask scheduler at {address} was lost; what was finished is kept"
        ):
            Dask(address).run(units, store, lambda *_: None)


@pytest.mark.slow
def test_a_full_disk_keeps_what_is_finished_and_begins_nothing_more(units, truth, store):
    ThisProcess().run(units[:2], store, lambda *_: None)
    _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # bytes of a file; a result has more
    try:
        failed = runner.run_or_load(units, store, Processes(1)).failed
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert set(failed) == {unit.name for unit in units[2:]}
    first, *rest = failed.values()
    assert "OSError: [Errno 27] File too large (settings {" in first
    assert all(text == "not begun, as nothing can be stored: OSError: [Errno 27] File too large" for text in rest)
    results = runner.run_or_load(units, store, ThisProcess())
    assert results.loaded == {unit.name for unit in units[:2]}
    assert soak_units.digests(store, units) == truth


# What is done about failures ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fake(runner.AbstractUnit):
    identity: dict
    kind = "fake"
    name = title = property(lambda self: f"unit {self.identity['i']}")
    cost = property(lambda self: -float(self.identity["i"]))

    def request(self):
        return self.identity

    @classmethod
    def from_request(cls, request):
        return cls(dict(request))

    def run(self, progress, scratch):
        raise NotImplementedError


def settled(*answers, count=2):
    """What becomes of the first of some units that gets these answers, one by one."""
    seen = []
    units = [Fake({"i": i}) for i in range(count)]
    work = _executors.Work(units, lambda unit, f: seen.append((unit.name, f)))
    assert work.next() is units[0]
    for answer in answers:
        work.settle(units[0], answer)
    return [unit.name for unit in work.waiting], work.failed, seen


ERROR = {"error": "Traceback\nE: no", "why": "again"}


def test_a_unit_is_tried_three_times_after_the_others_and_reported_with_its_settings():
    assert settled({"done": True}) == (["unit 1"], {}, [("unit 0", 1.0)])
    assert settled(ERROR) == (["unit 1", "unit 0"], {}, [])
    waiting, failed, seen = settled(ERROR, ERROR, ERROR)
    assert waiting == ["unit 1", "unit 0", "unit 0"]  # once for each of two failures: nobody took them here
    assert failed == {"unit 0": 'Traceback\nE: no (3 tries; settings {"i":0})'}
    assert seen == [("unit 0", 1.0)]
    assert settled({"error": "its Dask worker died", "times": 4})[1] == {
        "unit 0": 'its Dask worker died (4 tries; settings {"i":0})'
    }


def test_the_longest_begin_first():
    units = [Fake({"i": i}) for i in (2, 0, 1)]
    work = _executors.Work(units, lambda *_: None)
    assert [work.next().cost for _ in units] == [0, -1, -2]
    assert work.next() is None


def test_what_can_be_mended_is_not_tried_again():
    assert settled({**ERROR, "why": "mend"})[:2] == (["unit 1"], {"unit 0": 'Traceback\nE: no (settings {"i":0})'})
    waiting, failed, seen = settled({**ERROR, "why": "full"}, count=3)
    assert waiting == []
    assert failed["unit 2"] == "not begun, as nothing can be stored: E: no"
    assert len(seen) == 3


@pytest.mark.parametrize(("why", "code"), [("mend", 2), ("full", 2), ("again", 3)])
def test_a_full_disk_is_no_mistake_of_ours(why, code, capsys):
    _, failed, _ = settled(*3 * [{**ERROR, "why": why}] if why == "again" else [{**ERROR, "why": why}])
    with pytest.raises(typer.Exit) as end:
        tell_failures({name: name for name in failed}, failed)
    assert end.value.exit_code == code
    assert "Traceback" not in capsys.readouterr().err


def test_what_went_wrong_is_told_apart():
    errors = [
        (SettingError("x"), "mend"),
        (OSError(28, "x"), "full"),
        (OSError(5, "x"), "again"),
        (ValueError("x"), "again"),
    ]
    for error, why in errors:
        assert _executors.trouble(error)["why"] == why
        assert _executors.trouble(error)["error"].splitlines()[-1].endswith("x")


# Words ----------------------------------------------------------------------------------------------------------------


def test_where_to_run_in_a_word():
    assert isinstance(runner.executor_of("processes"), Processes)
    assert runner.executor_of("processes", {"workers": 3}).workers == 3
    assert runner.executor_of("dask", {"workers": 3}).asked == {"kind": "local", "workers": 3}
    assert runner.executor_of("dask://node-1:8786").address == "tcp://node-1:8786"
    asked = runner.executor_of("slurm", {"jobs": 4, "queue": "long"}).asked
    assert (asked["kind"], asked["jobs"], asked["queue"], "account" in asked) == ("slurm", 4, "long", False)


@pytest.mark.parametrize(
    ("on", "options", "message"),
    [
        ("desk", {}, "no place to run on called 'desk'; did you mean dask"),
        ("dask://host", {}, "the scheduler must be given as dask://HOST:PORT, got 'dask://host'"),
        ("dask://host:99999", {}, "must be given as dask://HOST:PORT"),
        ("dask://host:1", {"workers": 2}, "takes no options, got workers"),
        ("processes", {"workers": 0}, "processes: workers: input should be greater than 0, got 0"),
        ("slurm", {"wall_time": "1"}, "no option of slurm called 'wall_time'; did you mean walltime"),
        ("slurm", {"cores": "two"}, "slurm: cores: input should be a valid integer, got 'two'"),
    ],
)
def test_bad_words(on, options, message):
    with pytest.raises(SettingError, match=message):
        runner.executor_of(on, options)


@pytest.mark.parametrize("on", ["dask", "dask://127.0.0.1:1", "slurm"])
def test_without_the_extra_one_line_says_so(on, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "distributed" else found(name))
    with pytest.raises(
        SettingError, match=r"needs distributed, which is not installed: pip install 'localax\[cluster\]'"
    ):
        runner.executor_of(on)


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_given_up_in_time(monkeypatch, units, store):
    import distributed  # noqa: F401 (its import takes a second or more, and is not what is timed)

    monkeypatch.setattr(_dask, "ANSWER", 1.0)  # ten for users
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        began = time.monotonic()
        with pytest.raises(SettingError, match=rf"^no Dask scheduler answers at tcp://127.0.0.1:{port} within 1 s$"):
            runner.executor_of(f"dask://127.0.0.1:{port}").run(units, store, lambda *_: None)
        assert 1.0 <= time.monotonic() - began < 6.0  # of which five are for a busy machine
    with pytest.raises(SettingError, match="no Dask scheduler answers"):  # nobody there at all
        runner.executor_of(f"dask://127.0.0.1:{port}").run(units, store, lambda *_: None)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--on", "desk"], "no place to run on called 'desk'; did you mean dask?"),
        (["--on", "slurm", "--cluster", "FILE"], "no option of slurm called 'core'; did you mean cores?"),
    ],
)
def test_a_bad_place_ends_the_command_before_anything_runs(words, said, monkeypatch, capsys, tmp_path):
    file = tmp_path / "cluster.toml"
    file.write_text("[slurm]\ncore = 2\n")
    monkeypatch.setattr("sys.argv", ["localax", "reproduce", *(str(file) if w == "FILE" else w for w in words)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert (end.value.code, capsys.readouterr().err) == (2, f"localax: {said}\n")


# SLURM ----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.slurm
def test_units_on_a_real_slurm(units, truth, store, tmp_path, monkeypatch):
    options = {"interface": "lo", "memory": "500MB", "walltime": "00:10:00", "log_directory": str(tmp_path)}
    try:
        running = slurm()
        environment = running.__enter__()
    except NoSlurm as reason:
        pytest.skip(f"no SLURM: {reason}")
    try:
        monkeypatch.setenv("SLURM_CONF", environment["SLURM_CONF"])
        with pytest.raises(SettingError, match=r"the slurm cluster cannot be started: .*invalid partition"):
            runner.executor_of("slurm", {**options, "queue": "nowhere"}).run(units, store, lambda *_: None)
        executor = runner.executor_of("slurm", {**options, "local_directory": str(tmp_path)})
        assert runner.run_or_load(units, store, executor).failed == {}
    finally:
        running.__exit__(None, None, None)
    assert soak_units.digests(store, units) == truth
    assert list(tmp_path.glob("*.out"))  # a job of SLURM did it
