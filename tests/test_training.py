"""``lx.train``: the same steps as a plain numpy loop, whatever is swept, shared, recorded, cut into calls or continued.

Most tests use one task, network, batch and number of seeds, because a program is compiled once per shape.
"""

import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import localax as lx
from localax._errors import SettingError
from localax.networks import (
    ACTIVATIONS,
    Authors,
    Autoencoder,
    GatedLinear,
    Given,
    Parameters,
    SingleReLU,
    SoftCommittee,
    TwoLayer,
    Xavier,
    seed_keys,
)
from localax.stimuli import NLGP, CentreSurround, Empirical, Filtered, Gaussian, GaussianClone, SinglePulse
from localax.training import LOSSES, Orbit, Plain, SaveAt, Snapshot, Stream, resume
from localax.training._arguments import truth
from localax.training._keys import probe_key, readout_keys, stream_keys
from localax.training._stream import Batches

N, SEEDS, STEPS, BATCH = 12, 3, 60, 20
BASE = {"steps": STEPS, "batch": BATCH, "rate": 0.05, "seeds": SEEDS}
TASK = lx.Task([NLGP(N, 1, 2), NLGP(N, 2, 2)], [0, 1])
START = Xavier(0.5)
ROUNDING = {"rtol": 1e-4, "atol": 2e-6}
"""Two float32 programs for one run of 60 steps: each step rounds by 6e-8, and nothing here is chaotic."""


def run(task=TASK, network=None, *, save_every=None, saveat=None, **changes):
    saveat = saveat or SaveAt(save_every, probe=200)
    options = {**BASE, "init": START, "saveat": saveat, "progress": False, **changes}
    return lx.train(task, network or SingleReLU(), **options)


@pytest.fixture(scope="module")
def plain():
    return run(save_every=1)


@functools.partial(jax.jit, static_argnums=(1, 2))
def batches(key, stratified, common):
    """All batches of a run: the stream's key and the step name a batch."""

    def sample(step):
        return TASK.sample(jax.random.fold_in(key, step), BATCH, stratified=stratified, common=common)

    return jax.lax.map(sample, jnp.arange(STEPS))


def by_numpy(w, steps, *, rate=0.05, key=None, stratified=True, common=False, first=0):
    """SGD on (relu(w.x) - y)^2, in float64, from a step on."""
    w = np.array(w, float)
    data = (np.asarray(part, float) for part in batches(jax.random.key(0) if key is None else key, stratified, common))
    for x, y in list(zip(*data, strict=True))[first : first + steps]:
        h = x @ w
        w -= rate * np.mean((2 * (np.maximum(h, 0) - y) * (h > 0))[:, None] * x, axis=0)
    return w


# Steps ----------------------------------------------------------------------------------------------------------------


def test_every_seed_takes_the_steps_of_a_plain_loop(plain):
    assert plain.weights.shape == (SEEDS, STEPS + 1, 1, N)
    assert plain.status == ("done",) * SEEDS
    for seed in range(SEEDS):
        np.testing.assert_array_equal(plain.weights[seed, 0], START.weights(seed_keys([seed]), 1, (N,), jnp.float32)[0])
        for step in (1, 7, STEPS):
            np.testing.assert_allclose(
                plain.weights[seed, step, 0], by_numpy(plain.weights[seed, 0, 0], step), **ROUNDING
            )


@pytest.mark.slow
def test_classes_drawn_at_random(plain):
    iid = run(stream=Stream(stratified=False))
    truth = by_numpy(plain.weights[0, 0, 0], STEPS, stratified=False)
    np.testing.assert_allclose(iid.final[0, 0], truth, **ROUNDING)


@pytest.mark.slow
def test_classes_made_from_the_same_random_numbers(plain):
    common = run(stream=Stream(common=True))
    truth = by_numpy(plain.weights[0, 0, 0], STEPS, common=True)
    np.testing.assert_allclose(common.final[0, 0], truth, **ROUNDING)
    assert np.abs(common.final - plain.final).max() > 1e-3


def test_a_seed_alone_sees_the_data_it_sees_among_many(plain):
    alone, elsewhere = run(seeds=[2]), run(seeds=[2], data_seed=1)
    np.testing.assert_allclose(alone.final[0], plain.final[2], **ROUNDING)
    assert np.abs(elsewhere.final - alone.final).max() > 1e-3  # other data would show


@pytest.mark.slow
def test_independent_streams_belong_to_the_seed():
    three, alone = run(stream="independent"), run(stream="independent", seeds=[2])
    np.testing.assert_allclose(alone.final[0], three.final[2], **ROUNDING)
    for seed, key in enumerate(stream_keys(0, "independent", np.arange(3))):
        np.testing.assert_allclose(
            three.final[seed, 0], by_numpy(three.weights[seed, 0, 0], STEPS, key=key), **ROUNDING
        )


@pytest.mark.slow
def test_a_number_of_streams_is_shared_out_in_order():
    one = START.weights(seed_keys([0]), 1, (N,), jnp.float32)[0]
    two = run(seeds=4, stream=2, init=np.asarray(one)).final
    np.testing.assert_allclose(two[[0, 2]], two[[1, 3]], **ROUNDING)  # equal starts and data
    for stream in range(2):
        truth = by_numpy(one[0], STEPS, key=jax.random.fold_in(jax.random.key(0), stream))
        np.testing.assert_allclose(two[2 * stream, 0], truth, **ROUNDING)


def test_no_two_keys_of_a_run_are_the_same():
    seeds = np.arange(30)
    base = jax.random.key(3)  # seed 3 of the weights is seed 3 of the data
    steps = jax.vmap(lambda step: jax.random.fold_in(base, step))(np.arange(2000))
    streams = [stream_keys(3, stream, seeds) for stream in ("independent", 30)]
    starts = jax.vmap(jax.random.key)(seeds)  # among them that of the shared stream
    kinds = [starts, readout_keys(seeds), probe_key(3)[None], streams[0], steps]
    every = np.concatenate([jax.random.key_data(keys) for keys in kinds])
    assert len(np.unique(every, axis=0)) == len(every)
    assert np.array_equal(*(jax.random.key_data(keys) for keys in (streams[1], steps[:30])))  # never both in one run


@pytest.mark.slow
def test_any_optimiser_of_optax(plain):
    adam = run(optimiser=optax.adam, steps=1)
    step = adam.weights[:, 1] - adam.weights[:, 0]
    np.testing.assert_allclose(np.abs(step), 0.05, rtol=1e-3)  # Adam's first step is the rate in every coordinate
    np.testing.assert_array_equal(np.sign(step), np.sign(plain.weights[:, 1] - plain.weights[:, 0]))


# Fixed data sets ------------------------------------------------------------------------------------------------------


IDS = lx.Task([Empirical(np.tile(np.arange(n, dtype=np.float32)[:, None], N)) for n in (10, 7)], [0, 1])
"""Two data sets of 10 and 7 rows that say their numbers."""


STREAM = Batches(6, Stream(), jnp.float32)


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


@pytest.mark.slow
def test_training_on_a_data_set_goes_on_where_it_stopped():
    x = np.random.default_rng(0).normal(size=(2, 35, N)).astype(np.float32)
    task = lx.Task([Empirical(x[0]), Empirical(x[1])], [0, 1])  # 3 batches an epoch
    whole, half = run(task, steps=8), run(task, steps=4)
    assert np.array_equal(resume(half, task, SingleReLU(), steps=4, progress=False).final, whole.final)


@pytest.mark.slow
def test_a_filtered_data_set_is_read_in_epochs_too():
    data = Filtered(Empirical(np.random.default_rng(0).normal(size=(10, N))), CentreSurround())
    task = lx.Task([data, NLGP(N, 2, 2)], [0, 1])
    problem = lx.training.plan(task, SingleReLU(), steps=1, batch=6, rate=0.1).problem
    stream, key, read = problem.batches, problem.keys[0], []
    order = stream.start(problem.task, key, 0)
    for step in range(3):
        x, _, order = stream.next(problem.task, order, key, jnp.int32(step))
        read += np.argmin(np.abs(np.asarray(x[:3])[:, None] - data.dataset()).sum(-1), -1).tolist()
    assert len(set(read)) == 9  # of the 10 samples, each once


# Sweeps ---------------------------------------------------------------------------------------------------------------

TASKS = [TASK, lx.Task([NLGP(N, 0.5, 1), NLGP(N, 1.5, 5)], [-1, 1])]
RATES, SCALES = np.array([0.05, 0.1]), [0.5, 0.1]


@pytest.fixture(scope="module")
def alone():
    """Each setting of the sweep by itself."""
    each = zip(TASKS, RATES, SCALES, strict=True)
    return [run(task, rate=float(rate), init=Xavier(scale), save_every=20) for task, rate, scale in each]


def test_tasks_rates_and_scales_are_swept_together(alone):
    swept = run(TASKS, rate=RATES, init=Xavier(SCALES), sweep="zip", save_every=20)
    assert swept.weights.shape == (2, SEEDS, 4, 1, N)
    assert swept.loss.shape == (2, SEEDS, 4)
    assert np.array_equal(swept.time, np.outer(RATES, [0, 20, 40, 60]))
    assert swept.status == ("done",) * 2 * SEEDS
    for place, one in enumerate(alone):
        np.testing.assert_allclose(swept.weights[place], one.weights, **ROUNDING)
        np.testing.assert_allclose(swept.loss[place], one.loss, rtol=1e-4)  # of 200 probes each


def test_continuing_a_sweep(alone):
    half = run(TASKS, init=Xavier(SCALES), rate=RATES, sweep="zip", save_every=20, steps=40)
    rest = resume(half, TASKS, SingleReLU(), steps=20, save_every=20, progress=False)
    assert {name: values.tolist() for name, values in rest.swept.items()} == {
        name: values.tolist() for name, values in half.swept.items()
    }
    for place, one in enumerate(alone):
        np.testing.assert_allclose(rest.final[place], one.final, **ROUNDING)
        np.testing.assert_allclose(rest.time[place], one.time[2:], rtol=1e-15)  # one addition of float64


def test_a_sweep_has_one_clock_unless_the_rate_is_swept():
    steps = np.array([0, 20, 40, 60])
    for changes in ({"task": TASKS}, {"task": TASKS, "rate": [0.05, 0.05], "sweep": "zip"}, {"init": Xavier(SCALES)}):
        swept = run(**changes, save_every=20)
        assert swept.n_swept == 2
        assert np.array_equal(swept.time, 0.05 * steps)
    assert run(rate=RATES, save_every=20).time.shape == (2, 4)


def test_the_clock_goes_on_at_another_rate():
    first = run(steps=40, save_every=20)
    slower = resume(first, TASK, SingleReLU(), steps=20, save_every=10, rate=0.01, progress=False)
    np.testing.assert_allclose(slower.time, [2.0, 2.1, 2.2], rtol=1e-15)
    truth = [by_numpy(first.final[0, 0], 20, rate=0.01, first=40)]
    np.testing.assert_allclose(slower.final[0], truth, **ROUNDING)  # and so do the data
    rates = resume(first, TASK, SingleReLU(), steps=20, save_every=10, rate=[0.01, 0.1], progress=False)
    np.testing.assert_allclose(rates.time, [[2.0, 2.1, 2.2], [2.0, 3.0, 4.0]], rtol=1e-15)
    again = resume(rates, TASK, SingleReLU(), steps=20, save_every=10, rate=0.5, progress=False)
    np.testing.assert_allclose(again.time, [[2.2, 7.2, 12.2], [4.0, 9.0, 14.0]], rtol=1e-15)


@pytest.mark.slow
def test_every_part_of_a_network_goes_on_at_several_rates(recorded):
    first = recorded(steps=20)
    rest = more(first, rate=RATES)
    for name in ("weights", "biases", "readout"):
        start, end = getattr(rest, name)[:, :, 0], getattr(first, name)[:, -1]
        assert np.array_equal(start, np.stack([end, end]))


def test_a_list_of_arrays_is_one_start_for_each_setting():
    one, two = np.random.default_rng(0).normal(size=(2, 1, N)).astype(np.float32)
    for listed in ([one, two], (one, jnp.asarray(two)), [one, Given(two)]):
        swept = run(init=listed, steps=1)
        assert swept.n_swept == 2
        for setting, start in enumerate((one, two)):
            assert np.array_equal(swept.weights[setting, :, 0], np.stack([start] * SEEDS))
    numbers = run(init=one.tolist(), steps=1)
    assert numbers.n_swept is None
    assert np.array_equal(numbers.weights[:, 0], np.stack([one] * SEEDS))


def test_one_swept_setting_leaves_the_others_as_they_are(plain):
    rates, inits = run(rate=RATES), run(init=[START, Authors(0.5)])
    for swept in (rates, inits):
        np.testing.assert_allclose(swept.final[0], plain.final, **ROUNDING)
    np.testing.assert_allclose(rates.final[1, 0, 0], by_numpy(plain.weights[0, 0, 0], STEPS, rate=0.1), **ROUNDING)
    np.testing.assert_array_equal(
        inits.weights[1, :, 0], Authors(0.5).weights(seed_keys(range(3)), 1, (N,), jnp.float32)
    )


@pytest.mark.parametrize("changes", [{"rate": [0.05]}, {"init": [START]}, {"task": [TASK]}, {"init": Xavier([0.5])}])
def test_a_list_of_one_is_an_axis_of_one(changes, plain):
    swept = run(**changes)
    assert swept.n_swept == 1
    np.testing.assert_allclose(swept.final[0], plain.final, **ROUNDING)


def test_sweeps_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"equally long, got 2 of task, 3 of rate"):
        run(TASKS, rate=[0.1, 0.2, 0.3], sweep="zip")
    with pytest.raises(ValueError, match=r"sweep must be 'zip' \(taken together\) or 'product'"):
        run(TASKS, rate=RATES)
    with pytest.raises(ValueError, match="no sweep called 'grid'; choose one of zip, product"):
        run(TASKS, sweep="grid")
    with pytest.raises(ValueError, match="same kinds of stimuli"):
        run([TASK, lx.Task([Gaussian(N, 1), Gaussian(N, 2)], [0, 1])])
    with pytest.raises(ValueError, match="same kinds of stimuli"):
        run([TASK, lx.Task([NLGP(8, 1, 2), NLGP(8, 1.5, 2)], [0, 1])])
    pulses = [SinglePulse(N, length, length, complement=False) for length in (6, 2)]  # mean 0, and not
    tasks = [lx.Task([GaussianClone(pulse)], [1]) for pulse in pulses]
    with pytest.raises(ValueError, match="same symmetries"):
        run(tasks, estimator="orbit")


@pytest.mark.slow
def test_a_sweep_knows_its_values_by_name():
    gains = [lx.Task([NLGP(N, 1, gain), NLGP(N, 2, gain)], [0, 1]) for gain in (1, 2)]
    lengths = [lx.Task([NLGP(N, 1, 2), NLGP(N, long, 2)], [0, 1]) for long in (1.5, 2)]
    assert {n: v.tolist() for n, v in run(gains, steps=1).swept.items()} == {"gain": [1, 2]}
    assert {n: v.tolist() for n, v in run(lengths, steps=1).swept.items()} == {"lengthscale_1": [1.5, 2]}
    both = run(gains, rate=RATES, sweep="zip", steps=1)
    assert {n: v.tolist() for n, v in both.swept.items()} == {"gain": [1, 2], "rate": [0.05, 0.1]}
    assert {n: v.tolist() for n, v in run(init=Xavier(SCALES), steps=1).swept.items()} == {"scale": SCALES}
    data = [lx.Task([Empirical(np.full((20, N), v)), Empirical(np.eye(20, N))], [0, 1]) for v in (1.0, 2.0)]
    assert {n: v.tolist() for n, v in run(data, steps=1, rate=1e-3).swept.items()} == {"task": [0, 1]}


@pytest.mark.slow
def test_a_product_is_every_combination_with_axes_of_its_own():
    gains = [lx.Task([NLGP(N, 1, gain), NLGP(N, 2, gain)], [0, 1]) for gain in (1, 2, 3)]
    every = run(gains, rate=RATES, sweep="product", save_every=20)
    assert every.n_swept == 6
    for gain, task in zip((1, 2, 3), gains, strict=True):
        for rate in RATES:
            one = every.select(gain=gain, rate=rate)
            np.testing.assert_allclose(one.final, run(task, rate=float(rate)).final, **ROUNDING)
    assert every.select(gain=2).swept["rate"].tolist() == RATES.tolist()
    data = every.to_xarray()
    assert data.weights.dims == ("gain", "rate", "seed", "time", "unit", "pixel")
    assert np.array_equal(data.weights.sel(gain=3, rate=0.1), every.select(gain=3, rate=0.1).weights)
    assert data.time.values.tolist() == [0, 20, 40, 60]  # steps
    np.testing.assert_allclose(data.clock.sel(gain=1, rate=0.1), [0, 2, 4, 6])


def test_several_data_seeds_from_one_start():
    start = np.random.default_rng(0).normal(size=N)
    runs = run(init=start, stream="independent", seeds=[0, 5])
    for seed, key in enumerate(stream_keys(0, "independent", np.array([0, 5]))):
        np.testing.assert_allclose(runs.final[seed, 0], by_numpy(np.float32(start), STEPS, key=key), **ROUNDING)


def test_biases_can_be_given():
    network, biases = SoftCommittee(2, "erf", True), np.array([0.3, -0.2])
    begun = run(network=network, init=Given(np.ones((2, N)), biases), steps=1)
    assert np.array_equal(begun.biases[:, 0], np.tile(biases.astype(np.float32), (SEEDS, 1)))


def test_a_truth_value_is_no_number():
    with pytest.raises(SettingError, match="train: stratified must be true or false, got 1"):
        truth("stratified", 1)


def test_going_on_is_refused_for_another_run():
    half = run(steps=30)
    for task, network, line in (
        (TASKS[1], SingleReLU(), "resume: this would be another run: its task is"),
        (TASK, SoftCommittee(1), "resume: this would be another run: its network is"),
    ):
        with pytest.raises(SettingError, match=line):
            resume(half, task, network, steps=1, progress=False)
    moving = run(steps=3, optimiser=optax.adam)
    with pytest.raises(SettingError, match="memory of its own; train with a checkpoint"):
        resume(moving, TASK, SingleReLU(), steps=1)
    own = run(steps=3, loss=lambda p, t: (p - t) ** 2)
    with pytest.raises(SettingError, match="loss was a function of your own; give it again"):
        resume(own, TASK, SingleReLU(), steps=1)
    flow = lx.Trajectory(np.arange(2.0), np.ones((1, 2, 1, N)))
    with pytest.raises(SettingError, match="only a run that train made can go on"):
        resume(flow, TASK, SingleReLU(), steps=1)
    with pytest.raises(SettingError, match=r"to go on with a run use lx\.resume"):
        run(init=half)


# Rates ----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("network", [SingleReLU(), SoftCommittee(3)])
def test_a_stable_rate_is_where_gradient_descent_stops_settling(network):
    """The Hessian of the exact loss on a sign-symmetric sample, by automatic differentiation, at a field like any."""
    x, y = TASK.sample(jax.random.key(1), 4000)
    x, y = jnp.concatenate([x, -x]), jnp.concatenate([y, y])
    moments = x.T @ x / len(x)
    field = jnp.linalg.eigh(moments)[1][:, -1]
    weights = jnp.tile(field, (network.units, 1))  # units alike are the stiffest direction

    def loss(w):
        return jnp.mean((network(Parameters(w), x) - y) ** 2)

    hessian = jax.hessian(loss)(weights).reshape(weights.size, -1)
    measured = 2 / jnp.linalg.eigvalsh(hessian)[-1]
    scaled = lx.training.stable_rate(TASK, network) * exact_top(TASK) / jnp.linalg.eigvalsh(moments)[-1]
    np.testing.assert_allclose(scaled, measured, rtol=1e-4)


def exact_top(task):
    return np.linalg.eigvalsh(sum(s.covariance_matrix() for s in task.stimuli) / 2)[-1]


def test_stable_rates_of_data_of_ones_own_and_of_what_has_none():
    rng = np.random.default_rng(0)
    data = Empirical(rng.normal(size=(500, N)) + 1)
    stable = lx.training.stable_rate(lx.Task([data], [1]), SingleReLU())
    x = data.dataset()
    np.testing.assert_allclose(stable, 1 / np.linalg.eigvalsh(x.T @ x / len(x))[-1], rtol=1e-6)  # half: not symmetric
    assert lx.training.stable_rate(TASK, TwoLayer(3)) is None


def test_a_rate_near_the_stable_one_is_warned_of_and_a_default_is_a_tenth():
    stable = 2 / exact_top(TASK)
    np.testing.assert_allclose(lx.training.stable_rate(TASK, SingleReLU()), stable, rtol=1e-12)
    with pytest.warns(RuntimeWarning, match="near or above") as caught:
        run(rate=0.85 * stable, steps=1)
    assert f"{0.1 * stable:.2g} is a good start" in str(caught[0].message)
    with pytest.raises(SettingError, match="must be 'zip'"):  # what is refused is not warned of as well
        run(rate=[stable, 2 * stable], init=[Authors(1.0), Authors(2.0)], steps=1)
    assert run(rate=None, steps=1).settings["rate"] == float(f"{0.1 * stable:.2g}")


# Records --------------------------------------------------------------------------------------------------------------


def test_the_first_and_the_last_step_are_always_recorded(plain):
    for save_every, steps in ((25, [0, 25, 50, 60]), (1000, [0, 60]), (None, range(61)), (60, [0, 60])):
        some = run(save_every=save_every)
        assert np.array_equal(some.time, 0.05 * np.array(steps))
        assert np.array_equal(some.weights, plain.weights[:, list(steps)])  # what is kept changes nothing


def test_logarithmic_records_grow_by_a_factor(plain):
    steps = [0, 1, 2, 5, 12, 26, 60]
    assert steps[1:] == [round(60 ** (i / 5)) for i in range(6)]
    assert np.array_equal(run(saveat=SaveAt(logarithmic=6)).weights, plain.weights[:, steps])


def test_records_at_steps_of_ones_own(plain):
    some = run(saveat=SaveAt(steps=[30, 7]))
    assert np.array_equal(some.weights, plain.weights[:, [0, 7, 30, STEPS]])
    assert some.loss is not None
    assert run(saveat=SaveAt(steps=np.array([5]), record=())).loss is None


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


EVERYTHING = SaveAt(20, record=RECORDS, probe=200)
SIGNED = lx.Task([NLGP(N, 1, 2), NLGP(N, 2, 2)], [-1, 1])


@pytest.fixture(scope="module")
def recorded():
    """A network with biases, a second layer and a constant, and everything there is to record."""
    return lambda **changes: run(SIGNED, TwoLayer(4, "erf"), saveat=EVERYTHING, **changes)


def more(trajectory, **changes):
    return resume(trajectory, SIGNED, TwoLayer(4, "erf"), steps=20, saveat=EVERYTHING, progress=False, **changes)


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
    same = np.mean((h[:, 1:] >= 0) == (h[:, :-1] >= 0), -1)
    np.testing.assert_allclose(it.records["kept"][:, 0], 1)
    np.testing.assert_allclose(it.records["kept"][:, 1:], same, atol=1e-6)  # float32 of n/200
    assert np.any(same < 1)
    np.testing.assert_allclose(it.records["squares"], np.sum(it.weights.astype(float) ** 2, -1), rtol=1e-5)
    assert np.array_equal(it.records["squares before"][:, 1:], it.records["squares"][:, :-1])


def test_a_gate_that_comes_to_zero_stays_open():
    x = jnp.asarray([[1.0, -1.0], [2.0, -1.0], [-1.0, -1.0]])
    now, before = (Parameters(jnp.asarray([w])) for w in ([1.0, 1.0], [1.0, 0.5]))  # <w, x>: 0, 1, -2; 0.5, 1.5, -1.5
    snapshot = Snapshot(SingleReLU(), now, before, x, jnp.zeros(3), jnp.zeros(3, int), None, LOSSES["mse"])
    assert np.array_equal(lx.training.RECORDS["gates"](snapshot), [1.0])


def test_every_part_of_a_network_goes_on(recorded):
    whole, half = recorded(steps=60), recorded(steps=40)
    rest = more(half)
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
    ({"saveat": {"probe": 0}}, "probe must be a whole number >= 1"),
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
    ({"seeds": 0}, "seeds must be from 1 to"),
    ({"seeds": 10**12}, "what the memory of this machine holds, got 1000000000000"),
    ({"data_seed": -1}, "data_seed must be a whole number >= 0"),
    ({"data_seed": True}, "data_seed must be a whole number >= 0"),
    ({"data_seed": 2**40}, "data_seed must be a whole number >= 0 and < 2^31"),
    ({"init": "xavir"}, "no init called 'xavir'; did you mean Xavier?"),
    ({"init": np.ones((2, N))}, "(1, 12) or (3, 1, 12) or (12,) or (3, 12), got 'weights of shape (2, 12)'"),
    ({"init": [Xavier([0.1, 0.2]), Xavier()]}, "init must be one start per setting"),
    ({"init": ["authors", "best"]}, "no init called 'best'; choose one of Xavier, Authors"),
    ({"init": Given(np.ones((1, N)), biases=[1.0])}, "init must be weights alone for a network without trained biases"),
    ({"init": np.full((1, N), NAN)}, "values must be finite numbers"),
    ({"save_every": 0}, "save_every must be a whole number >= 1"),
    ({"save_every": True}, "save_every must be a whole number >= 1"),
    ({"save_every": 5, "saveat": {"every": 5}}, "save_every must be left out where saveat says when, got 5"),
    ({"saveat": {"every": 5, "steps": [1]}}, "must be one of the three, or none"),
    ({"saveat": {"steps": [1, STEPS + 1]}}, "steps must be at most the 60 steps of the run, got 61"),
    ({"saveat": {"steps": [-1]}}, "steps must be whole numbers >= 0"),
    ({"saveat": {"logarithmic": 1}}, "logarithmic must be a whole number >= 2"),
    ({"saveat": 5, "save_every": None}, "saveat must be a SaveAt, e.g. lx.SaveAt(steps=[10, 100]), got 5"),
    ({"optimiser": "adan"}, "no optimiser called 'adan'; did you mean adam?"),
    ({"optimiser": 3}, "optimiser must be a name or a function of the rate, such as optax.adam, got 3"),
    ({"batch": 2 * 10**9}, "train: this needs about 194 GB and the machine has"),
    ({"network": TwoLayer(2), "rate": None}, "rate must be given: no stable rate is known for a TwoLayer, got None"),
    ({"estimator": "best"}, "no estimator called 'best'; choose one of plain, antithetic, orbit"),
    ({"estimator": "orbits"}, "no estimator called 'orbits'; did you mean orbit?"),
    ({"estimator": Orbit}, "estimator must be a name or an estimator object"),
    ({"loss": "huber"}, "no loss called 'huber'; choose one of mse, cross-entropy, l1"),
    ({"loss": "cross_entropy"}, "no loss called 'cross_entropy'; did you mean cross-entropy?"),
    ({"loss": 2}, "loss must be a name or a function of (prediction, target), got 2"),
    ({"loss": "cross-entropy"}, "loss must be used with a network of two or more outputs"),
    ({"saveat": {"record": ("ipr",)}}, "no record called 'ipr'; choose one of loss, accuracy, gates"),
    ({"saveat": {"record": ("acuracy",)}}, "no record called 'acuracy'; did you mean accuracy?"),
    (
        {"saveat": {"record": ("loss", "accuracy")}, "network": Autoencoder(2)},
        "record must be used with a network that tells classes, not an autoencoder, got 'accuracy'",
    ),
    (
        {"saveat": {"record": ("accuracy",)}, "task": lx.Task(TASK.stimuli, lambda x: x[:, 0])},
        "record must be used with labels that are numbers, one per class, got 'accuracy'",
    ),
    (
        {"saveat": {"record": {"time": squares}}},
        "record must be called something else than biases, clock, column",
    ),
    ({"saveat": {"record": {"a/b": squares}}}, "'a/b' must be named by 1 to 100 letters"),
    ({"stream": "own"}, "stream must be 'shared', 'independent' or a number that divides the 3 seeds"),
    ({"stream": 2}, "stream must be 'shared', 'independent' or a number that divides the 3 seeds"),
    ({"divergence": -1}, "divergence must be a finite number > 0"),
    ({"divergence": NAN}, "divergence must be a finite number > 0"),
    ({"dtype": jnp.int32}, "dtype must be float32 or float64"),
    ({"dtype": "number"}, "dtype must be float32 or float64, got 'number'"),
    ({"task": NLGP(N, 1, 2)}, "task must be a Task, got a stimulus; wrap it in lx.Task([short, long], labels=[0, 1])"),
    ({"task": [NLGP(N, 1, 2)] * 2}, "wrap it in lx.Task([short, long], labels=[0, 1])"),
    ({"task": np.ones((3, N))}, "task must be a Task or a list of Tasks"),
    ({"network": GatedLinear(np.ones((2, 5)))}, "gates must be of the weights' shape (2, 12), got (2, 5)"),
    (
        {"network": TwoLayer(2, classes=2), "task": lx.Task([NLGP(N, 1, 2)] * 3, [0, 1, 2]), "batch": 21},
        "per class (3)",
    ),
]


UNTYPED = inspect.unwrap(lx.training.plan)
"""Without the types that pytest has checked, as those who pass the wrong thing meet it."""


def planned(**settings):
    """A plan whose objects are given as their settings."""
    make = {"saveat": SaveAt, "stream": Stream}
    made = {n: make[n](**v) if n in make and isinstance(v, dict) else v for n, v in settings.items()}
    return UNTYPED(**made)


@pytest.mark.parametrize(("changes", "line"), BAD, ids=[f"{next(iter(c))} {i}" for i, (c, _) in enumerate(BAD)])
def test_a_bad_setting_gives_one_clear_line(changes, line):
    with pytest.raises(SettingError) as caught:
        planned(**{"task": TASK, "network": SingleReLU(), **BASE, "init": START, **changes})
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_float32_stays_float32_under_x64(plain, x64):
    del x64
    with_x64 = run()
    assert with_x64.weights.dtype == np.float32
    np.testing.assert_allclose(with_x64.final, plain.final, **ROUNDING)  # the samplers give the same bits


@pytest.mark.slow
def test_float64_is_switched_on_for_a_run_that_asks_for_it():
    half, whole = (run(steps=steps, dtype=jnp.float64, save_every=steps) for steps in (30, 60))
    assert not jax.config.read("jax_enable_x64")
    assert whole.weights.dtype == whole.loss.dtype == np.float64
    assert whole.settings["x64"] is True
    start, key = whole.weights[0, 0, 0], jax.random.key(0)
    assert np.any(start != start.astype(np.float32))
    assert np.array_equal(resume(half, TASK, SingleReLU(), steps=30, progress=False).final, whole.final)
    again = lx.Task([NLGP(N, 1, 2), NLGP(N, 2, 2)], [0, 1])
    with jax.enable_x64(True):
        draws = [again.sample(jax.random.fold_in(key, step), BATCH, dtype=jnp.float64) for step in range(3)]
    w = start.copy()
    for x, y in ((np.asarray(x), np.asarray(y)) for x, y in draws):
        h = x @ w
        w -= 0.05 * np.mean((2 * (np.maximum(h, 0) - y) * (h > 0))[:, None] * x, axis=0)
    np.testing.assert_allclose(run(steps=3, dtype=jnp.float64).final[0, 0], w, rtol=1e-13)  # sums of 20 in float64


# Plans ----------------------------------------------------------------------------------------------------------------


def settings_of(task=TASK, network=None, **changes):
    options = {"steps": STEPS, "batch": BATCH, "rate": 0.05, **changes}
    return lx.training.plan(task, network or SingleReLU(), **options).settings


SPELT = {
    "a number of seeds": ({"seeds": 3}, {"seeds": [0, 1, 2]}),
    "a numpy integer": ({"seeds": np.arange(2)}, {"seeds": (0, 1), "steps": np.int64(STEPS)}),
    "gain": ({}, {"task": lx.Task((NLGP(N, 1.0, 2.0), NLGP(N, 2, 2)), [0.0, 1.0], (0.5, 0.5))}),
    "rate": ({"rate": 1e-1}, {"rate": 0.1}),
    "rates": ({"rate": [0.1, 0.2]}, {"rate": np.array([0.1, 0.2])}),
    "spacing": ({}, {"save_every": 1}),
    "saveat": ({"save_every": 7}, {"saveat": SaveAt(7)}),
    "steps": ({"saveat": SaveAt(steps=[5, 3])}, {"saveat": SaveAt(steps=np.array([3, 5]))}),
    "optimiser": ({"optimiser": "sgd"}, {"optimiser": optax.sgd}),
    "stream as an object": ({"stream": "independent"}, {"stream": Stream("independent")}),
    "spacing beyond the end": ({"save_every": 1000}, {"save_every": STEPS}),
    "estimator": ({"estimator": "orbit"}, {"estimator": Orbit(signs=(1, -1))}),
    "insisting on what is there": ({"estimator": "orbit"}, {"estimator": Orbit(insist=True)}),
    "plain": ({}, {"estimator": Plain()}),
    "loss": ({}, {"loss": LOSSES["mse"]}),
    "record": ({"saveat": SaveAt(record="loss")}, {"saveat": SaveAt(record={"loss": lx.training.RECORDS["loss"]})}),
    "probe that nobody looks at": ({"saveat": SaveAt(record=(), probe=10)}, {"saveat": SaveAt(record=[])}),
    "start": ({}, {"init": Xavier(1e-3)}),
    "authors": ({"init": "authors"}, {"init": Authors()}),
    "swept start": ({"init": Xavier([1, 2])}, {"init": [Xavier(1), Xavier(2.0)]}),
    "given start": ({"init": [[1] * N]}, {"init": np.ones((1, N), np.float32)}),
    "stream": ({}, {"stream": 1}),
    "bound": ({}, {"divergence": lx.training.Divergence(10**6)}),
    "dtype": ({}, {"dtype": "float32"}),
    "activation": ({"network": SoftCommittee(2, "erf")}, {"network": SoftCommittee(2, ACTIVATIONS["erf"], False, 0)}),
}


@pytest.mark.parametrize("kind", SPELT)
def test_equal_runs_have_equal_settings_however_they_are_spelt(kind):
    one, other = (settings_of(**changes) for changes in SPELT[kind])
    assert one == other


OTHER = {
    "axis of one": ({}, {"task": [TASK]}),
    "axis of one rate": ({}, {"rate": [0.05]}),
    "labels": ({"task": lx.Task(TASK.stimuli, lambda x: x[:, 0])}, {"task": lx.Task(TASK.stimuli, lambda x: x[:, 1])}),
    "signs": ({"estimator": "orbit"}, {"estimator": Orbit((1,))}),
    "start": ({"init": np.ones((1, N))}, {"init": 2 * np.ones((1, N))}),
    "offset": ({"network": SoftCommittee(2)}, {"network": SoftCommittee(2, offset=0.1)}),
    "probe": ({}, {"saveat": SaveAt(probe=100)}),
    "common": ({}, {"stream": Stream(common=True)}),
}


@pytest.mark.parametrize("kind", OTHER)
def test_other_runs_have_other_settings(kind):
    one, other = (settings_of(**changes) for changes in OTHER[kind])
    assert one != other


def test_settings_are_known_before_the_run_and_kept_by_its_trajectory():
    plan = lx.training.plan(TASK, SingleReLU(), **BASE, init=START)
    made = lx.training.run(plan, progress=False)
    assert made.settings == {**plan.settings, "reached": STEPS}
    assert np.array_equal(made.final, run().final)
    assert plan.count == SEEDS
    assert {name: plan.settings[name] for name in ("x64", "backend", "device")} == lx.training.numeric_flags()
    assert lx.training.numeric_flags()["device"] == jax.devices()[0].device_kind


def test_progress_may_be_a_function_of_the_fraction_done():
    fractions = []
    run(progress=fractions.append)
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
    assert 0 < fractions[0] < 1


def test_a_setting_that_train_does_not_have_is_no_setting_of_a_plan():
    with pytest.raises(TypeError, match="batches"):
        lx.training.plan(TASK, SingleReLU(), steps=1, batch=2, batches=2, rate=0.1)
