"""Runs that are cut into calls, continued, interrupted, killed, or that diverge: the numbers stay what they are."""

import functools
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import localax as lx
from localax._disk import pack, unpack
from localax._errors import SettingError
from localax.networks import SingleReLU, SoftCommittee, Xavier
from localax.stimuli import NLGP, Kur
from localax.training import Checkpoint, _checkpoint, _train

# As in test_training.py, so that both files use the same compiled programs.
N, SEEDS, STEPS = 12, 3, 60
BASE = {"steps": STEPS, "batch": 20, "rate": 0.05, "seeds": SEEDS, "progress": False}
TASK = lx.Task([NLGP(N, 1, 2), NLGP(N, 2, 2)], [0, 1])
ROUNDING = {"rtol": 1e-4, "atol": 2e-6}
"""Two float32 programs for one run of 60 steps: each step rounds by 6e-8, and nothing here is chaotic."""


def run(task=TASK, network=None, *, save_every=None, record=("loss",), **changes):
    saveat = lx.SaveAt(save_every, record=record, probe=200)
    return lx.train(task, network or SingleReLU(), **{**BASE, "init": Xavier(0.5), "saveat": saveat, **changes})


@pytest.fixture(scope="module")
def plain():
    return run(save_every=1)


# Calls ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [1e-9, 1e9])
def test_cutting_a_run_into_calls_changes_no_bit(plain, seconds, monkeypatch):
    calls, advance = [], _train.advance
    monkeypatch.setattr(_train, "advance", lambda *args: calls.append(1) or advance(*args))
    some = run(save_every=7, pace=seconds)
    assert np.array_equal(some.weights, plain.weights[:, [*range(0, 60, 7), 60]])
    assert (len(calls) >= STEPS) if seconds < 1 else (len(calls) < 12)


def compilations(f):
    """How many programs XLA compiles during a call."""
    found = []

    def listener(name, *_, **__):
        return found.append(name) if "backend_compile" in name else None

    jax.monitoring.register_event_duration_secs_listener(listener)
    try:
        f()
    finally:
        jax.monitoring.unregister_event_duration_listener(listener)
    return len(found)


def test_a_repeated_call_compiles_nothing():
    run()
    assert compilations(lambda: jax.jit(lambda x: x + 41)(1.0)) > 0  # the counter counts
    assert compilations(run) == 0
    other = lx.Task([NLGP(N, 0.7, 9), NLGP(N, 1.9, 0.3)], [-1, 2])
    assert compilations(lambda: run(other, steps=33, rate=0.01, seeds=[5, 8, 2], data_seed=4)) == 0


@pytest.mark.slow
def test_one_compilation_serves_every_k():
    tasks = [lx.Task([Kur(N, 1, k), Kur(N, 2, k)], [0, 1]) for k in (3, 7.5)]
    first, second = (compilations(lambda task=task: run(task)) for task in tasks)
    assert first > 0
    assert second == 0


def test_a_committee_and_its_biases_are_compiled_once_per_shape():
    network = SoftCommittee(2, "erf", True)
    assert compilations(lambda: run(network=network)) > 0
    assert compilations(lambda: run(network=SoftCommittee(2, "erf", True), steps=5)) == 0


@pytest.mark.slow
def test_a_run_compiles_few_programs():
    """Two of keys, weights, parameters, probe, start and the loop; a product or a cast apart would be one more."""
    task = lx.Task([NLGP(N + 1, 1, 5), NLGP(N + 1, 2, 5)], [0, 1])
    assert 0 < compilations(lambda: run(task)) <= 7


def test_an_estimate_compiles_what_the_run_uses():
    network = SoftCommittee(3, "tanh")
    plan = lx.training.plan(TASK, network, **{k: v for k, v in BASE.items() if k != "progress"})
    assert compilations(lambda: lx.training.estimate(plan)) > 0

    def run_of():
        return lx.training.run(plan, progress=False)

    assert compilations(run_of) == 0


@pytest.mark.slow
def test_an_estimate_is_near_what_the_run_takes():
    plan = lx.training.plan(TASK, SingleReLU(), steps=40_000, batch=200, rate=0.01, save_every=1000)
    cost = lx.training.estimate(plan)
    began = time.monotonic()
    made = lx.training.run(plan, progress=False)
    assert 1 / 4 < cost.seconds / (time.monotonic() - began) < 4  # two cores are shared
    assert cost.bytes >= made.weights.nbytes + made.loss.nbytes


# Divergence -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_divergence_stops_one_setting_and_warns_once():
    with pytest.warns(RuntimeWarning) as caught:
        swept = run(rate=[0.05, 1e3], save_every=1)
    died = [int(status.removeprefix("diverged at step ")) for status in swept.status[SEEDS:]]
    assert swept.status[:SEEDS] == ("done",) * SEEDS
    assert len(caught) == 2
    assert "rate 1000 is near or above" in str(caught[0].message)
    line = str(caught[1].message)
    assert f"3 of 6 networks diverged, the first at step {min(died)}, with rate 1000;" in line
    np.testing.assert_allclose(swept.final[0], run().final, **ROUNDING)
    for seed, step in enumerate(died):
        w = swept.weights[1, seed, :, 0]
        assert np.isfinite(w).all()
        assert np.array_equal(w[step - 1 :], np.broadcast_to(w[step - 1], w[step - 1 :].shape))
        assert step == 1 or not np.array_equal(w[step - 1], w[step - 2])
        x, y = TASK.sample(jax.random.fold_in(jax.random.key(0), step - 1), 20)
        h = np.asarray(x, float) @ w[step - 1]
        slope = np.mean((2 * (np.maximum(h, 0) - y) * (h > 0))[:, None] * x, axis=0)
        assert np.linalg.norm(w[step - 1] - 1e3 * slope) > 1e6  # the step that was not taken


@pytest.mark.filterwarnings("ignore:rate 1000 is near")
def test_a_run_of_which_nothing_is_left_ends_with_its_last_finite_state():
    with pytest.warns(RuntimeWarning, match="3 of 3"):
        gone = run(rate=1e3, steps=5000, save_every=5000)
    with pytest.warns(RuntimeWarning, match="3 of 3"):
        watched = run(rate=1e3, steps=60, save_every=1)
    assert np.array_equal(gone.final, watched.final)
    assert not np.array_equal(gone.final, gone.weights[:, 0])
    assert len(gone.time) == 2
    assert gone.time[-1] < 60 * 1e3


@pytest.mark.slow
def test_a_bound_of_ones_own(plain):
    norms = np.linalg.norm(plain.weights[:, 1:, 0], axis=-1)
    bound = float(np.sort(norms.max(1))[1])  # passed by one seed, met by one, kept by one
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bounded = run(divergence=bound * (1 + 1e-4), save_every=1)
    assert len(caught) == 1
    died = [None if s == "done" else int(s.split()[-1]) for s in bounded.status]
    over = norms > bound * (1 + 1e-4)
    assert died == [int(np.argmax(o)) + 1 if o.any() else None for o in over]
    assert sorted(d is None for d in died) == [False, True, True]


# Going on -------------------------------------------------------------------------------------------------------------


def test_continuing_gives_the_bits_of_one_long_run(plain):
    half = run(steps=37, save_every=1)
    rest = lx.resume(half, TASK, SingleReLU(), steps=23, save_every=1, progress=False)
    assert np.array_equal(rest.weights, plain.weights[:, 37:])
    np.testing.assert_allclose(rest.time, plain.time[37:], rtol=1e-15)  # one addition of float64


def test_watch_sees_the_latest_records(plain):
    seen = {}
    run(save_every=20, watch=seen.setdefault)
    assert 60 in seen
    for step, rows in seen.items():
        assert np.array_equal(rows["parameters"].weights, plain.weights[:, step])


# Checkpoints ----------------------------------------------------------------------------------------------------------


def interrupted(at):
    """Somebody presses Ctrl-C once a share of the run is done."""

    def update(fraction):
        if fraction >= at:
            raise KeyboardInterrupt

    return update


def test_an_interrupted_run_gives_what_is_done_and_can_go_on(plain):
    part = run(save_every=50, progress=interrupted(0.5))
    reached = int(part.status[0].removeprefix("interrupted at step "))
    assert 30 <= reached < 60
    assert part.status == (f"interrupted at step {reached}",) * SEEDS
    assert np.array_equal(part.final, plain.weights[:, reached])
    rest = lx.resume(part, TASK, SingleReLU(), steps=60 - reached, progress=False)
    assert np.array_equal(rest.final, plain.final)
    np.testing.assert_allclose(rest.time[-1], plain.time[-1], rtol=1e-15)  # one addition of float64


def test_ctrl_c_ends_a_run_between_two_calls(plain):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        part = run(save_every=50, progress=lambda fraction: fraction >= 0.5 and signal.raise_signal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)
    reached = int(part.status[0].removeprefix("interrupted at step "))
    assert 30 <= reached < 60
    assert np.array_equal(part.final, plain.weights[:, reached])


def begun(path, **changes):
    """The checkpoint of a run that somebody stopped on its way."""
    part = run(**{"save_every": 7, "checkpoint": path, "progress": interrupted(0.4), **changes})
    assert part.status[0].startswith("interrupted")
    return path


@pytest.fixture
def halfway(tmp_path):
    return begun(tmp_path / "run.ckpt")


def test_a_checkpoint_resumes_to_the_same_bits(plain, halfway):
    whole = run(save_every=7, checkpoint=halfway)
    assert np.array_equal(whole.weights, plain.weights[:, [*range(0, 60, 7), 60]])
    assert whole.status == ("done",) * SEEDS
    calls = []
    again = run(save_every=7, checkpoint=halfway, watch=lambda *_: calls.append(1))
    assert not calls  # nothing is left to do
    assert again.to_bytes() == whole.to_bytes()


def test_a_checkpoint_tells_the_step_it_has_reached(halfway, tmp_path):
    step = lx.training.reached(halfway)
    assert 24 <= step < 60
    assert lx.training.reached(tmp_path / "none") is None
    run(save_every=7, checkpoint=halfway)
    assert lx.training.reached(halfway) == 60


def traced(path, stop):
    """A run in which Ctrl-C arrives at the given line of the loop and of what it calls; how many lines it has."""
    files, count, outside = (_train.__file__, _checkpoint.__file__), 0, sys.gettrace()

    def trace(frame, event, _):
        nonlocal count
        if frame.f_code.co_filename not in files or frame.f_code.co_name not in ("_loop", "_call", "write"):
            return None
        count += event == "line"
        if count == stop:
            sys.settrace(outside)
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        made = run(save_every=7, checkpoint=Checkpoint(path, every=0))
    finally:
        sys.settrace(outside)
    return made, count


@pytest.mark.slow
def test_ctrl_c_at_any_line_loses_nothing(plain, tmp_path, monkeypatch):
    monkeypatch.setattr(_train, "_next_reach", lambda reach, *_: 2 * reach)  # the same calls every time
    whole, lines = traced(tmp_path / "whole", -1)
    assert lines > 100
    for stop in range(1, lines, 7):
        path = tmp_path / str(stop)
        try:
            part, _ = traced(path, stop)
            reached = int(part.settings["reached"])
            assert np.array_equal(part.final, plain.weights[:, reached]), f"line {stop}"
        except KeyboardInterrupt:
            pass  # before the first record, or while the last state was written
        assert np.array_equal(run(save_every=7, checkpoint=path).weights, whole.weights), f"line {stop}"


def test_bytes_written_grow_with_the_length_of_a_run(tmp_path, monkeypatch):
    monkeypatch.setattr(_train, "_next_reach", lambda *_: 4)  # a checkpoint every 4 steps
    sizes, pack = [], _checkpoint.pack

    def packed(*args, **kind):
        return sizes.append(len(data := pack(*args, **kind))) or data

    monkeypatch.setattr(_checkpoint, "pack", packed)

    def written(steps):
        sizes.clear()
        run(steps=steps, save_every=1, checkpoint=Checkpoint(tmp_path / str(steps), every=0))
        return sum(sizes), len(sizes)

    (short, few), (long, many) = written(100), written(400)
    assert 3.8 < many / few < 4.2
    assert 3.8 < long / short < 4.2  # writing all records each time would give about 10


def test_a_chunk_that_a_crash_left_behind_does_not_count(plain, halfway, tmp_path):
    run(save_every=7, checkpoint=Checkpoint(tmp_path / "whole", every=0))
    shutil.copy(sorted((tmp_path / "whole").glob("records-*"))[-1], halfway)  # which no state names
    whole = run(save_every=7, checkpoint=halfway)
    assert np.array_equal(whole.weights, plain.weights[:, [*range(0, 60, 7), 60]])
    (halfway / "state.npz").unlink()  # as if killed before the first state
    assert np.array_equal(run(save_every=7, checkpoint=halfway).weights, whole.weights)


def test_two_processes_that_do_one_run_do_not_mix_their_records(plain, halfway, tmp_path, monkeypatch):
    monkeypatch.setattr(_train, "_next_reach", lambda *_: 11)  # of another pace, and so with other chunks
    other = begun(tmp_path / "other", checkpoint=Checkpoint(tmp_path / "other", every=0))
    for file in other.glob("records-*"):
        shutil.copy(file, halfway)
    whole = run(save_every=7, checkpoint=halfway)
    assert np.array_equal(whole.weights, plain.weights[:, [*range(0, 60, 7), 60]])


def test_a_checkpoint_of_an_older_format_is_refused_in_one_line(halfway):
    arrays, meta = unpack(halfway / "state.npz", kind=_checkpoint.KIND, version=_checkpoint.VERSION)
    (halfway / "state.npz").write_bytes(pack(arrays, meta, kind=_checkpoint.KIND, version=1))
    assert "format 1 of 'localax training checkpoint' is not known to this Localax, which reads 2" in refused(halfway)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rate": 0.1}, "its rate is 0.05, this run's 0.1"),
        ({"seeds": [0, 1, 3]}, "its seeds is [0, 1, 2], this run's [0, 1, 3]"),
        ({"steps": 61}, "its steps is 60, this run's 61"),
        ({"data_seed": 1}, "its data_seed is 0, this run's 1"),
        (
            {"init": Xavier(0.4)},
            "its init is {'kind': 'Xavier', 'scale': 0.5}, this run's {'kind': 'Xavier', 'scale': 0.4}",
        ),
        ({"task": lx.Task(TASK.stimuli, [0, 2])}, "its task is "),
        ({"estimator": "antithetic"}, "its estimator is {'kind': 'Plain'}, this run's {'kind': 'Antithetic'"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(halfway, changes, said):
    with pytest.raises(SettingError, match="is of another run") as caught:
        run(**{"save_every": 7, "checkpoint": halfway, **changes})
    assert f"checkpoint {halfway}" in str(caught.value)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def power(n):
    return lambda prediction, target: jnp.abs(prediction - target) ** n


def bent(slope):
    return lambda h: jnp.where(h > 0, h, slope * h)


def moment(s, order):
    return jnp.mean(s.parameters.weights**order)


WITHOUT_NAMES = {
    "loss, a lambda": [{"loss": lambda p, t: (p - t) ** 2}, {"loss": lambda p, t: (p - t) ** 4}],
    "loss, a closure": [{"loss": power(2)}, {"loss": power(4)}],
    "record, a lambda": [{"record": {"m": lambda s: s.x[0, 0]}}, {"record": {"m": lambda s: s.x[0, 1]}}],
    "record, a partial": [{"record": {"m": functools.partial(moment, order=order)}} for order in (2, 4)],
    "optimiser, a lambda": [{"optimiser": lambda r: optax.sgd(r, 0.5)}, {"optimiser": lambda r: optax.sgd(r, 0.9)}],
    "optimiser, a partial": [{"optimiser": functools.partial(optax.sgd, momentum=m)} for m in (0.5, 0.9)],
    "activation, a closure": [{"network": SoftCommittee(2, bent(slope))} for slope in (0.1, 0.2)],
    "labels, a lambda": [
        {"task": lx.Task(TASK.stimuli, lambda x: x[:, 0])},
        {"task": lx.Task(TASK.stimuli, lambda x: x[:, 1])},
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WITHOUT_NAMES)
def test_functions_without_a_name_are_told_apart(kind, tmp_path):
    one, other = WITHOUT_NAMES[kind]
    path = begun(tmp_path / "run.ckpt", **one)
    with pytest.raises(SettingError, match="is of another run"):
        run(save_every=7, checkpoint=path, **other)


def test_the_same_lambda_written_twice_is_the_same_run(tmp_path):
    one, other = ({"loss": power(2), "record": {"m": functools.partial(moment, order=2)}} for _ in range(2))
    assert one["loss"] is not other["loss"]
    path = begun(tmp_path / "run.ckpt", **one)
    assert run(save_every=7, checkpoint=path, **other).to_bytes() == run(save_every=7, **one).to_bytes()


def test_float64_switched_on_is_another_run(halfway, x64):
    del x64
    with pytest.raises(SettingError, match="its x64 is False, this run's True"):
        run(save_every=7, checkpoint=halfway)


def records(folder):
    """The first chunk of records."""
    return next(folder.glob("records-0-*.npz"))


FILES = pytest.mark.parametrize("which", [lambda folder: folder / "state.npz", records])


@FILES
@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_truncated_checkpoint_is_refused_by_name(halfway, which, share):
    file = which(halfway)
    file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])
    with pytest.raises(SettingError, match="cut short") as caught:
        run(save_every=7, checkpoint=halfway)
    assert str(file) in str(caught.value)


@FILES
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_an_altered_checkpoint_is_refused_by_name(halfway, which, share):
    file = which(halfway)
    data = bytearray(file.read_bytes())
    data[int(share * len(data))] ^= 1
    file.write_bytes(bytes(data))
    with pytest.raises(SettingError, match="altered") as caught:
        run(save_every=7, checkpoint=halfway)
    assert str(file) in str(caught.value)


def refused(path):
    with pytest.raises(SettingError) as caught:
        run(save_every=7, checkpoint=path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_records_that_are_missing_or_of_another_run_are_refused_by_name(halfway, tmp_path):
    other = begun(tmp_path / "other", rate=0.1)
    file = records(halfway)
    shutil.copy(records(other), file)
    assert f"{file}: of another run" in refused(halfway)
    file.unlink()
    assert f"{file}: missing" in refused(halfway)


def test_what_is_no_checkpoint_is_left_alone(halfway, tmp_path):
    shutil.copy(records(halfway), halfway / "state.npz")
    assert f"{halfway / 'state.npz'}: must hold a file of kind" in refused(halfway)
    for path in (tmp_path / "file", tmp_path / "folder" / "notes.txt"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
        place = path if path.name == "file" else path.parent
        assert f"checkpoint {place} must be a new folder or one that train made" in refused(place)
        assert path.read_text() == "mine"


# Processes ------------------------------------------------------------------------------------------------------------

SCRIPT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell inherits "ignore"
import localax as lx
import localax.networks, localax.stimuli
from localax.training import Checkpoint, SaveAt


def run(name, steps, folder):
    task = lx.Task([lx.stimuli.NLGP(12, 1, 2), lx.stimuli.NLGP(12, 2, 2)], [0, 1])
    checkpoint = Checkpoint(f"{folder}/run.ckpt", every=0) if name == "resumed" else None
    saveat = SaveAt(997, probe=200, record=("loss", "gates"))
    done = lx.train(
        task, lx.networks.TwoLayer(3, "tanh"), steps=int(steps), batch=200, rate=0.01, seeds=2, progress=False,
        saveat=saveat, checkpoint=checkpoint, pace=0.02,  # many calls, and so many moments to be killed at
    )
    done.save(f"{folder}/{name}.npz")
    print(done.status[0], flush=True)


for line in sys.stdin:
    child = os.fork()
    if not child:
        run(*line.split())
        os._exit(0)
    print(child, flush=True)
    print("exit", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Runs:
    """Training runs, each in a process of its own, forked from one that has imported everything and computed nothing.

    Compiled programs are kept on disk, so that a restart is quick.
    """

    def __init__(self, folder, steps):
        self.folder, self.steps, self.state = folder, steps, folder / "run.ckpt" / "state.npz"
        cache = {"JAX_COMPILATION_CACHE_DIR": folder / "cache", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": 0}
        self.parent = subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "NPROC": "1", **{name: str(value) for name, value in cache.items()}},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.parent.communicate(timeout=60)

    def said(self):
        return self.parent.stdout.readline().strip()

    def start(self, name):
        self.before = self.written()
        print(name, self.steps, self.folder, file=self.parent.stdin, flush=True)
        self.child = int(self.said())

    def finished(self):
        status = self.said()
        assert self.said() == "exit 0"
        return status

    def written(self):
        return self.state.stat().st_mtime_ns if self.state.exists() else 0

    def wait_for_a_checkpoint(self):
        deadline = time.monotonic() + 60
        while self.written() == self.before:
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def kill(self):
        os.kill(self.child, signal.SIGKILL)
        assert self.said() == "exit -9", "the run ended before it was killed: make it longer"


@pytest.mark.slow
def test_a_run_killed_five_times_ends_with_the_same_bits(tmp_path):
    """Whole commands are killed at twenty moments by ``make soak``."""
    random = np.random.default_rng(0)
    with Runs(tmp_path, 20_000) as runs:
        runs.start("whole")
        assert runs.finished() == "done"
        for kills in range(5):
            runs.start("resumed")
            if kills % 4 == 3:  # at any moment, mostly while it starts
                time.sleep(random.uniform(0, 1.5))
            else:  # while it trains and writes
                runs.wait_for_a_checkpoint()
                time.sleep(random.uniform(0, 0.05))
            runs.kill()
        runs.start("resumed")
        assert runs.finished() == "done"
    one, other = (lx.load(tmp_path / f"{name}.npz") for name in ("whole", "resumed"))
    assert one.to_bytes() == other.to_bytes()
    assert {p.name for p in tmp_path.iterdir()} == {"cache", "whole.npz", "resumed.npz", "run.ckpt"}


@pytest.mark.slow
def test_ctrl_c_gives_back_what_is_done(tmp_path):
    with Runs(tmp_path, 10**8) as runs:
        runs.start("resumed")
        runs.wait_for_a_checkpoint()
        os.kill(runs.child, signal.SIGINT)
        reached = int(runs.finished().removeprefix("interrupted at step "))
    part = lx.load(tmp_path / "resumed.npz")
    assert part.time[-1] == 0.01 * reached
    assert np.isfinite(part.final).all()
