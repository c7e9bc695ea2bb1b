"""``lx.train``: the same steps as a plain numpy loop, whatever is swept, shared, recorded, cut into calls or continued.

Most tests use one task, network, batch and number of seeds, because a program is compiled once per shape.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import localax as lx
from localax.networks import Authors, GatedLinear, SingleReLU, TwoLayer, Xavier
from localax.stimuli import NLGP, Empirical, Gaussian, GaussianClone, SinglePulse
from localax.training import Logarithmic
from localax.training._stream import Stream

N, SEEDS, STEPS, BATCH = 12, 3, 60, 20
BASE = {"steps": STEPS, "batch": BATCH, "rate": 0.05, "seeds": SEEDS, "probe": 200, "progress": False}
TASK = lx.Task([NLGP(N, 1, 2), NLGP(N, 2, 2)], [0, 1])
START = Xavier(0.5)
ROUNDING = {"rtol": 1e-4, "atol": 2e-6}
"""Two float32 programs for one run of 60 steps: each step rounds by 6e-8, and nothing here is chaotic."""


def run(task=TASK, network=None, **changes):
    return lx.train(task, network or SingleReLU(), **{**BASE, "init": START, **changes})


@pytest.fixture(scope="module")
def plain():
    return run(save_every=1)


@functools.partial(jax.jit, static_argnums=1)
def batches(key, stratified):
    """All batches of a run: the stream's key and the step name a batch."""
    sample = lambda step: TASK.sample(jax.random.fold_in(key, step), BATCH, stratified=stratified)  # noqa: E731
    return jax.lax.map(sample, jnp.arange(STEPS))


def by_numpy(w, steps, *, rate=0.05, key=None, stratified=True):
    """SGD on (relu(w.x) - y)^2, in float64."""
    w = np.array(w, float)
    data = (np.asarray(part, float) for part in batches(jax.random.key(0) if key is None else key, stratified))
    for x, y in list(zip(*data, strict=True))[:steps]:
        h = x @ w
        w -= rate * np.mean((2 * (np.maximum(h, 0) - y) * (h > 0))[:, None] * x, axis=0)
    return w


# Steps ----------------------------------------------------------------------------------------------------------------


def test_every_seed_takes_the_steps_of_a_plain_loop(plain):
    assert plain.weights.shape == (SEEDS, STEPS + 1, 1, N)
    assert plain.status == ("done",) * SEEDS
    for seed in range(SEEDS):
        np.testing.assert_array_equal(plain.weights[seed, 0], START.weights(np.array([seed]), 1, (N,), jnp.float32)[0])
        for step in (1, 7, STEPS):
            np.testing.assert_allclose(
                plain.weights[seed, step, 0], by_numpy(plain.weights[seed, 0, 0], step), **ROUNDING
            )


@pytest.mark.slow
def test_classes_drawn_at_random(plain):
    iid = run(stratified=False)
    truth = by_numpy(plain.weights[0, 0, 0], STEPS, stratified=False)
    np.testing.assert_allclose(iid.final[0, 0], truth, **ROUNDING)


def test_a_seed_alone_sees_the_data_it_sees_among_many(plain):
    alone, elsewhere = run(seeds=[2]), run(seeds=[2], data_seed=1)
    np.testing.assert_allclose(alone.final[0], plain.final[2], **ROUNDING)
    assert np.abs(elsewhere.final - alone.final).max() > 1e-3  # other data would show


def test_independent_streams_belong_to_the_seed():
    three, alone = run(stream="independent"), run(stream="independent", seeds=[2])
    np.testing.assert_allclose(alone.final[0], three.final[2], **ROUNDING)
    keys = [jax.random.fold_in(jax.random.fold_in(jax.random.key(0), 1), seed) for seed in range(3)]
    for seed, key in enumerate(keys):
        np.testing.assert_allclose(
            three.final[seed, 0], by_numpy(three.weights[seed, 0, 0], STEPS, key=key), **ROUNDING
        )


@pytest.mark.slow
def test_a_number_of_streams_is_shared_out_in_order():
    one = START.weights(np.array([0]), 1, (N,), jnp.float32)[0]
    two = run(seeds=4, stream=2, init=np.asarray(one)).final
    np.testing.assert_allclose(two[[0, 2]], two[[1, 3]], **ROUNDING)  # equal starts and data
    for stream in range(2):
        truth = by_numpy(one[0], STEPS, key=jax.random.fold_in(jax.random.key(0), stream))
        np.testing.assert_allclose(two[2 * stream, 0], truth, **ROUNDING)


@pytest.mark.slow
def test_any_optimiser_of_optax(plain):
    adam = run(optimiser=optax.adam, steps=1)
    step = adam.weights[:, 1] - adam.weights[:, 0]
    np.testing.assert_allclose(np.abs(step), 0.05, rtol=1e-3)  # Adam's first step is the rate in every coordinate
    np.testing.assert_array_equal(np.sign(step), np.sign(plain.weights[:, 1] - plain.weights[:, 0]))


# Fixed data sets ------------------------------------------------------------------------------------------------------


IDS = lx.Task([Empirical(np.tile(np.arange(n, dtype=np.float32)[:, None], N)) for n in (10, 7)], [0, 1])
"""Two data sets of 10 and 7 rows that say their numbers."""


STREAM = Stream(6, True, jnp.float32)


@jax.jit
def twelve_batches(key, order, first):
    """What a stream with 3 of each class in a batch reads from a step on."""

    def step_of(order, step):
        x, classes, order = STREAM.next(IDS, order, key, step)
        return order, (x, classes)

    return jax.lax.scan(step_of, order, first + jnp.arange(12))[1]


def rows_read(first=0):
    key = jax.random.key(3)
    x, classes = twelve_batches(key, STREAM.start(IDS, key, first), first)
    assert np.array_equal(classes, [[0, 0, 0, 1, 1, 1]] * 12)
    return np.asarray(x)[:, :, 0].astype(int)


def test_a_data_set_is_read_in_shuffled_epochs():
    rows = rows_read()
    epochs = {0: rows[:, :3].reshape(4, 9), 1: rows[:, 3:].reshape(6, 6)}  # 3 batches of 10 rows, 2 of 7
    for which, size in ((0, 10), (1, 7)):
        for epoch in epochs[which]:
            assert len(set(epoch)) == len(epoch)  # every row once, the last incomplete batch left out
            assert set(epoch) <= set(range(size))
        assert len({tuple(epoch) for epoch in epochs[which]}) == len(epochs[which])  # a new order every time
        assert len({(set(range(size)) - set(epoch)).pop() for epoch in epochs[which]}) > 1  # not always the same rest


@pytest.mark.parametrize("first", [1, 3, 5])
def test_a_data_set_is_taken_up_in_the_middle_of_an_epoch(first):
    assert np.array_equal(rows_read(first)[: 12 - first], rows_read()[first:])


def test_training_on_a_data_set_goes_on_where_it_stopped():
    x = np.random.default_rng(0).normal(size=(2, 35, N)).astype(np.float32)
    task = lx.Task([Empirical(x[0]), Empirical(x[1])], [0, 1])  # 3 batches an epoch
    whole, half = run(task, steps=8), run(task, steps=4)
    assert np.array_equal(run(task, steps=4, init=half).final, whole.final)


# Sweeps ---------------------------------------------------------------------------------------------------------------

TASKS = [TASK, lx.Task([NLGP(N, 0.5, 1), NLGP(N, 1.5, 5)], [-1, 1])]
RATES, SCALES = np.array([0.05, 0.1]), [0.5, 0.1]


@pytest.fixture(scope="module")
def alone():
    """Each setting of the sweep by itself."""
    each = zip(TASKS, RATES, SCALES, strict=True)
    return [run(task, rate=float(rate), init=Xavier(scale), save_every=20) for task, rate, scale in each]


def test_tasks_rates_and_scales_are_swept_together(alone):
    swept = run(TASKS, rate=RATES, init=Xavier(SCALES), save_every=20)
    assert swept.weights.shape == (2, SEEDS, 4, 1, N)
    assert swept.loss.shape == (2, SEEDS, 4)
    np.testing.assert_allclose(swept.time, np.outer(RATES, [0, 20, 40, 60]), rtol=1e-7)  # the rate is a float32
    assert swept.status == ("done",) * 2 * SEEDS
    for setting, one in enumerate(alone):
        np.testing.assert_allclose(swept.weights[setting], one.weights, **ROUNDING)
        np.testing.assert_allclose(swept.loss[setting], one.loss, rtol=1e-4)  # of 200 probes each


def test_continuing_a_sweep(alone):
    swept = [TASKS, {"rate": RATES, "save_every": 20}]
    half = run(swept[0], init=Xavier(SCALES), steps=40, **swept[1])
    rest = run(swept[0], init=half, steps=20, **swept[1])
    for setting, one in enumerate(alone):
        np.testing.assert_allclose(rest.final[setting], one.final, **ROUNDING)
        np.testing.assert_allclose(rest.time[setting], one.time[2:], rtol=1e-7)


def test_one_swept_setting_leaves_the_others_as_they_are(plain):
    rates, inits = run(rate=RATES), run(init=[START, Authors(0.5)])
    for swept in (rates, inits):
        np.testing.assert_allclose(swept.final[0], plain.final, **ROUNDING)
    np.testing.assert_allclose(rates.final[1, 0, 0], by_numpy(plain.weights[0, 0, 0], STEPS, rate=0.1), **ROUNDING)
    np.testing.assert_array_equal(inits.weights[1, :, 0], Authors(0.5).weights(np.arange(3), 1, (N,), jnp.float32))


@pytest.mark.parametrize("changes", [{"rate": [0.05]}, {"init": [START]}, {"task": [TASK]}, {"init": Xavier([0.5])}])
def test_a_list_of_one_is_an_axis_of_one(changes, plain):
    swept = run(**changes)
    assert swept.n_settings == 1
    np.testing.assert_allclose(swept.final[0], plain.final, **ROUNDING)


def test_sweeps_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="equally many, got 2 tasks, 3 rates, 1 inits"):
        run(TASKS, rate=[0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="same kinds of stimuli"):
        run([TASK, lx.Task([Gaussian(N, 1), Gaussian(N, 2)], [0, 1])])
    with pytest.raises(ValueError, match="same kinds of stimuli"):
        run([TASK, lx.Task([NLGP(8, 1, 2), NLGP(8, 1.5, 2)], [0, 1])])
    pulses = [SinglePulse(N, length, length, complement=False) for length in (6, 2)]  # mean 0, and not
    tasks = [lx.Task([GaussianClone(pulse)], [1]) for pulse in pulses]
    with pytest.raises(ValueError, match="same symmetries"):
        run(tasks, estimator="orbit")


# Records --------------------------------------------------------------------------------------------------------------


def test_the_first_and_the_last_step_are_always_recorded(plain):
    for save_every, steps in ((25, [0, 25, 50, 60]), (1000, [0, 60]), (None, range(61)), (60, [0, 60])):
        some = run(save_every=save_every)
        np.testing.assert_allclose(some.time, 0.05 * np.array(steps), rtol=1e-7)  # the rate is a float32
        assert np.array_equal(some.weights, plain.weights[:, list(steps)])  # what is kept changes nothing


def test_logarithmic_records_grow_by_a_factor(plain):
    steps = [0, 1, 2, 5, 12, 26, 60]
    assert steps[1:] == [round(60 ** (i / 5)) for i in range(6)]
    assert np.array_equal(run(save_every=Logarithmic(6)).weights, plain.weights[:, steps])


def squares(snapshot):
    return {"now": jnp.sum(snapshot.parameters.weights**2, -1), "before": jnp.sum(snapshot.previous.weights**2, -1)}


RECORDS = {
    "loss": "loss",
    "told": "accuracy",
    "kept": "gates",
    "squares": lambda s: squares(s)["now"],
    "squares before": lambda s: squares(s)["before"],
    "x": lambda s: s.x,
    "goal": lambda s: s.target,
    "classes": lambda s: s.classes,
}


@pytest.fixture(scope="module")
def recorded():
    """A network with biases, a second layer and a constant, and everything there is to record."""
    task = lx.Task([NLGP(N, 1, 2), NLGP(N, 2, 2)], [-1, 1])
    return lambda **changes: run(task, TwoLayer(4, "erf"), record=RECORDS, save_every=20, **changes)


def test_records_are_what_numpy_finds(recorded):
    from scipy.special import erf

    it = recorded()
    x, goal, classes = (it.records[name] for name in ("x", "goal", "classes"))
    assert np.array_equal(x, np.broadcast_to(x[:1, :1], x.shape))  # one probe batch for all
    assert x.shape == (SEEDS, 4, 200, N)
    assert np.array_equal(goal, np.where(classes == 1, 1, -1))
    h = np.einsum("stkp,stnp->stkn", it.weights.astype(float), x)
    hidden = erf((h + it.biases[..., None]) / np.sqrt(2))
    output = (np.einsum("stk,stkn->stn", it.readout, hidden) + it.records["constant"][..., None]) / 4
    np.testing.assert_allclose(it.loss, np.mean((output - goal) ** 2, -1), rtol=1e-5)  # float32 mean of 200
    right = np.mean((output > 0) == (classes == 1), -1)
    np.testing.assert_allclose(it.records["told"], right, atol=1e-6)  # float32 of n/200
    same = np.mean((h[:, 1:] > 0) == (h[:, :-1] > 0), -1)
    np.testing.assert_allclose(it.records["kept"][:, 0], 1)
    np.testing.assert_allclose(it.records["kept"][:, 1:], same, atol=1e-6)  # float32 of n/200
    assert np.any(same < 1)
    np.testing.assert_allclose(it.records["squares"], np.sum(it.weights.astype(float) ** 2, -1), rtol=1e-5)
    assert np.array_equal(it.records["squares before"][:, 1:], it.records["squares"][:, :-1])


def test_every_part_of_a_network_goes_on(recorded):
    whole, half = recorded(steps=60), recorded(steps=40)
    rest = recorded(steps=20, init=half)
    for a, b in ((whole.weights, rest.weights), (whole.biases, rest.biases), (whole.readout, rest.readout)):
        assert np.array_equal(a[:, 2:], b)
    assert np.array_equal(whole.records["constant"][:, 2:], rest.records["constant"])
    assert np.all(np.diff([whole.biases[0, i, 0] for i in range(4)]) != 0)  # they are trained


def test_nothing_but_records_is_kept():
    sizes = []
    run(steps=20_000, save_every=10_000, watch=lambda *_: sizes.append(sum(a.nbytes for a in jax.live_arrays())))
    assert len(sizes) == 2
    assert sizes[1] <= sizes[0] + 1000  # 20,000 steps of 20 samples would be 19 MB


# Bad settings ---------------------------------------------------------------------------------------------------------

NAN = float("nan")
BAD = [
    ({"steps": 0}, "steps must be a whole number >= 1"),
    ({"steps": True}, "steps must be a whole number >= 1"),
    ({"batch": 0}, "batch must be a whole number >= 1"),
    ({"batch": 7}, "a stratified batch of 7 cannot be split in proportions 0.5, 0.5; choose another batch, or strat"),
    ({"probe": 0}, "probe must be a whole number >= 1"),
    ({"rate": -0.1}, "rate must be a finite number > 0"),
    ({"rate": NAN}, "rate must be a finite number > 0"),
    ({"rate": 0}, "rate must be a finite number > 0"),
    ({"rate": [0.1, -0.1]}, "rate must be a finite number > 0"),
    ({"rate": np.ones((2, 2))}, "rate must be a finite number > 0"),
    ({"seeds": [1, 1]}, "seeds must be different from each other, got [1, 1]"),
    ({"seeds": True}, "seeds must be whole numbers from 0 to 2^31 - 1"),
    ({"seeds": [True, False]}, "seeds must be whole numbers from 0 to 2^31 - 1"),
    ({"seeds": [-1]}, "seeds must be whole numbers from 0 to 2^31 - 1"),
    ({"seeds": []}, "seeds must be whole numbers from 0 to 2^31 - 1"),
    ({"seeds": 0}, "seeds must be whole numbers from 0 to 2^31 - 1"),
    ({"data_seed": -1}, "data_seed must be a whole number >= 0"),
    ({"data_seed": True}, "data_seed must be a whole number >= 0"),
    ({"data_seed": 2**40}, "data_seed must be a whole number >= 0 and < 2^31"),
    ({"init": "xavier"}, "init must be an initialiser, 'authors', an array or a Trajectory, got 'xavier'"),
    ({"init": np.ones((2, N))}, "init must be of shape (1, 12) or (3, 1, 12), got 'an array of shape (2, 12)'"),
    ({"init": np.full((1, N), NAN)}, "values must be finite numbers"),
    ({"save_every": 0}, "save_every must be a whole number of steps >= 1 or Logarithmic"),
    ({"save_every": True}, "save_every must be a whole number of steps >= 1 or Logarithmic"),
    ({"estimator": "best"}, "estimator must be one of plain, antithetic, orbit"),
    ({"loss": "huber"}, "loss must be one of mse, cross-entropy, l1"),
    ({"loss": "cross-entropy"}, "loss must be used with a network of two or more outputs"),
    ({"record": ("ipr",)}, "record must be one of loss, accuracy, gates"),
    ({"record": {"time": squares}}, "record must be called something else than biases, column, constant"),
    ({"record": {"a/b": squares}}, "'a/b' must be named by 1 to 100 letters"),
    ({"stream": "own"}, "stream must be 'shared', 'independent' or a number that divides the 3 seeds"),
    ({"stream": 2}, "stream must be 'shared', 'independent' or a number that divides the 3 seeds"),
    ({"bound": -1}, "bound must be a finite number > 0"),
    ({"bound": NAN}, "bound must be a finite number > 0"),
    ({"dtype": jnp.int32}, "dtype must be float32 or float64"),
    ({"dtype": jnp.float64}, "float64 needs lx.enable_x64()"),
    ({"network": GatedLinear(np.ones((2, 5)))}, "gates must be of the weights' shape (2, 12), got (2, 5)"),
    (
        {"network": TwoLayer(2, classes=2), "task": lx.Task([NLGP(N, 1, 2)] * 3, [0, 1, 2]), "batch": 21},
        "per class (3)",
    ),
]


@pytest.mark.parametrize(("changes", "line"), BAD, ids=[f"{next(iter(c))} {i}" for i, (c, _) in enumerate(BAD)])
def test_a_bad_setting_gives_one_clear_line(changes, line):
    with pytest.raises(ValueError, match=r".") as caught:
        run(**changes)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_float32_stays_float32_under_x64(plain, x64):
    del x64
    with_x64 = run()
    assert with_x64.weights.dtype == np.float32
    np.testing.assert_allclose(with_x64.final, plain.final, **ROUNDING)  # the samplers give the same bits
