"""Runs that are cut into calls, continued, interrupted, killed, or that diverge: the numbers stay what they are."""

import os
import signal
import subprocess
import sys
import time
import warnings

import jax
import numpy as np
import pytest

import localax as lx
from localax.networks import SingleReLU, SoftCommittee, Xavier
from localax.stimuli import NLGP, Kur
from localax.training import _train

# As in test_training.py, so that both files use the same compiled programs.
N, SEEDS, STEPS = 12, 3, 60
BASE = {"steps": STEPS, "batch": 20, "rate": 0.05, "seeds": SEEDS, "probe": 200, "progress": False}
TASK = lx.Task([NLGP(N, 1, 2), NLGP(N, 2, 2)], [0, 1])
ROUNDING = {"rtol": 1e-4, "atol": 2e-6}
"""Two float32 programs for one run of 60 steps: each step rounds by 6e-8, and nothing here is chaotic."""


def run(task=TASK, network=None, **changes):
    return lx.train(task, network or SingleReLU(), **{**BASE, "init": Xavier(0.5), **changes})


@pytest.fixture(scope="module")
def plain():
    return run(save_every=1)


# Calls ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [1e-9, 1e9])
def test_cutting_a_run_into_calls_changes_no_bit(plain, seconds, monkeypatch):
    monkeypatch.setattr(_train, "CALL", seconds)
    calls, advance = [], _train.advance
    monkeypatch.setattr(_train, "advance", lambda *args: calls.append(1) or advance(*args))
    some = run(save_every=7)
    assert np.array_equal(some.weights, plain.weights[:, [*range(0, 60, 7), 60]])
    assert (len(calls) >= STEPS) if seconds < 1 else (len(calls) < 12)


def compilations(f):
    """How many programs XLA compiles during a call."""
    found = []
    listener = lambda name, *_, **__: found.append(name) if "backend_compile" in name else None  # noqa: E731
    jax.monitoring.register_event_duration_secs_listener(listener)
    try:
        f()
    finally:
        jax.monitoring.unregister_event_duration_listener(listener)
    return len(found)


def test_a_repeated_call_compiles_nothing(plain):
    del plain  # made before
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


# Divergence -----------------------------------------------------------------------------------------------------------


def test_divergence_stops_one_setting_and_warns_once():
    with pytest.warns(RuntimeWarning) as caught:
        swept = run(rate=[0.05, 1e3], save_every=1)
    died = [int(status.removeprefix("diverged at step ")) for status in swept.status[SEEDS:]]
    assert swept.status[:SEEDS] == ("done",) * SEEDS
    assert len(caught) == 1
    line = str(caught[0].message)
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
        bounded = run(bound=bound * (1 + 1e-4), save_every=1)
    assert len(caught) == 1
    died = [None if s == "done" else int(s.split()[-1]) for s in bounded.status]
    over = norms > bound * (1 + 1e-4)
    assert died == [int(np.argmax(o)) + 1 if o.any() else None for o in over]
    assert sorted(d is None for d in died) == [False, True, True]


# Going on -------------------------------------------------------------------------------------------------------------


def test_continuing_gives_the_bits_of_one_long_run(plain):
    half = run(steps=37, save_every=1)
    rest = run(steps=23, save_every=1, init=half)
    assert np.array_equal(rest.weights, plain.weights[:, 37:])
    np.testing.assert_allclose(rest.time, plain.time[37:], rtol=1e-12)


def test_watch_sees_the_latest_records(plain):
    seen = {}
    run(save_every=20, watch=seen.setdefault)
    assert 60 in seen
    for step, rows in seen.items():
        assert np.array_equal(rows["parameters"].weights, plain.weights[:, step])


# Checkpoints ----------------------------------------------------------------------------------------------------------


def interrupted(at):
    """A progress bar behind which somebody presses Ctrl-C once a share of the run is done."""

    class Bar:
        def __enter__(self):
            return self.update

        def __exit__(self, *_):
            return False

        def update(self, fraction):
            if fraction >= at:
                raise KeyboardInterrupt

    return lambda *_, **__: Bar()


def test_an_interrupted_run_gives_what_is_done_and_can_go_on(plain, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(_train, "progress_bar", interrupted(0.5))
        part = run(save_every=50)
    reached = int(part.status[0].removeprefix("interrupted at step "))
    assert 30 <= reached < 60
    assert part.status == (f"interrupted at step {reached}",) * SEEDS
    assert np.array_equal(part.final, plain.weights[:, reached])
    rest = run(steps=60 - reached, init=part)
    assert np.array_equal(rest.final, plain.final)
    np.testing.assert_allclose(rest.time[-1], plain.time[-1], rtol=1e-12)


@pytest.fixture
def halfway(tmp_path, monkeypatch):
    """The checkpoint of a run that somebody stopped on its way."""
    path = tmp_path / "run.ckpt"
    with monkeypatch.context() as patch:
        patch.setattr(_train, "progress_bar", interrupted(0.4))
        part = run(save_every=7, checkpoint=path)
    assert part.status[0].startswith("interrupted")
    return path


def test_a_checkpoint_resumes_to_the_same_bits(plain, halfway):
    whole = run(save_every=7, checkpoint=halfway)
    assert np.array_equal(whole.weights, plain.weights[:, [*range(0, 60, 7), 60]])
    assert whole.status == ("done",) * SEEDS
    calls = []
    again = run(save_every=7, checkpoint=halfway, watch=lambda *_: calls.append(1))
    assert not calls  # nothing is left to do
    assert np.array_equal(again.weights, whole.weights)
    assert np.array_equal(again.loss, whole.loss)


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
        ({"estimator": "orbit"}, "its estimator is plain, this run's orbit"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(halfway, changes, said):
    with pytest.raises(ValueError, match="is of another run") as caught:
        run(**{"save_every": 7, "checkpoint": halfway, **changes})
    assert f"checkpoint {halfway}" in str(caught.value)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_float64_switched_on_is_another_run(halfway, x64):
    del x64
    with pytest.raises(ValueError, match="its x64 is False, this run's True"):
        run(save_every=7, checkpoint=halfway)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_truncated_checkpoint_is_refused_by_name(halfway, share):
    data = halfway.read_bytes()
    halfway.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ValueError, match="cut short") as caught:
        run(save_every=7, checkpoint=halfway)
    assert str(halfway) in str(caught.value)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_an_altered_checkpoint_is_refused_by_name(halfway, share):
    data = bytearray(halfway.read_bytes())
    data[int(share * len(data))] ^= 1
    halfway.write_bytes(bytes(data))
    with pytest.raises(ValueError, match="altered") as caught:
        run(save_every=7, checkpoint=halfway)
    assert str(halfway) in str(caught.value)


# Processes ------------------------------------------------------------------------------------------------------------

SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell inherits "ignore"
import localax as lx
from localax.training import _train

_train.CALL = 0.02  # many calls, and so many moments to be killed at
folder, checkpoint = sys.argv[1], sys.argv[2]
task = lx.Task([lx.stimuli.NLGP(12, 1, 2), lx.stimuli.NLGP(12, 2, 2)], [0, 1])
run = lx.train(
    task, lx.networks.TwoLayer(3, "tanh"), steps=STEPS, batch=200, rate=0.01, seeds=2, save_every=997, probe=200,
    record=("loss", "gates"), progress=False, checkpoint=None if checkpoint == "none" else checkpoint,
    checkpoint_every=0,
)
run.save(f"{folder}/{'whole' if checkpoint == 'none' else 'resumed'}.npz")
print(run.status[0])
"""


def started(tmp_path, checkpoint, steps):
    """A training run in a process of its own; compiled programs are kept, so that a restart is quick."""
    cache = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    script = SCRIPT.replace("STEPS", str(steps))
    return subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path), str(checkpoint)],
        env={**os.environ, "NPROC": "1", **cache},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out.strip()


def changed(path, before, process):
    """Wait until a run has written a checkpoint, or has ended."""
    while process.poll() is None and (not path.exists() or path.stat().st_mtime_ns == before):
        time.sleep(0.005)
    return process.poll() is None


@pytest.mark.slow
def test_a_run_killed_twenty_times_ends_with_the_same_bits(tmp_path):
    steps = 60_000
    assert finished(started(tmp_path, "none", steps)) == "done"
    random, path, kills = np.random.default_rng(0), tmp_path / "run.ckpt", 0
    while kills < 20:
        process = started(tmp_path, path, steps)
        if kills % 4 == 3:  # at any moment, mostly while it starts
            time.sleep(random.uniform(0, 1.5))
        else:  # while it trains and writes
            before = path.stat().st_mtime_ns if path.exists() else 0
            assert changed(path, before, process), "the run ended before it was killed 20 times: make it longer"
            time.sleep(random.uniform(0, 0.05))
        assert process.poll() is None, "the run ended before it was killed 20 times: make it longer"
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += 1
    assert finished(started(tmp_path, path, steps)) == "done"
    one, other = (lx._trajectory.load(tmp_path / f"{name}.npz") for name in ("whole", "resumed"))
    assert one.to_bytes() == other.to_bytes()
    assert not [p for p in tmp_path.iterdir() if p.suffix not in (".npz", ".ckpt", ".tmp", "")]


@pytest.mark.slow
def test_ctrl_c_gives_back_what_is_done(tmp_path):
    path = tmp_path / "run.ckpt"
    process = started(tmp_path, path, 10**8)
    assert changed(path, 0, process)
    process.send_signal(signal.SIGINT)
    status = finished(process)
    reached = int(status.removeprefix("interrupted at step "))
    part = lx._trajectory.load(tmp_path / "resumed.npz")
    np.testing.assert_allclose(part.time[-1], 0.01 * reached, rtol=1e-7)  # the rate is a float32
    assert np.isfinite(part.final).all()
