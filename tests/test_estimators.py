"""Gradient estimators: unbiased for every network and loss, and the orbit equal to every shift and sign written out."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import localax as lx
from helpers import SIGMAS
from localax.experiments.toolkit import tasks as experiment_tasks
from localax.experiments.toolkit.neuron import WORTH
from localax.training import ESTIMATORS, LOSSES, Antithetic, Orbit, train
from localax.training._estimators import CIRCULANT, Batch, all_shifts, chosen_estimator, shifted
from localax.training._loop import _retarget, target

nets, stimuli = lx.networks, lx.stimuli
N = 8
QUICK_JIT = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
"""Compilation is most of the time here."""

TASK = lx.Task([stimuli.NLGP(N, 0.7, 2), stimuli.NLGP(N, 1.3, 2)], [0, 1])


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def log_cosh(prediction, goal):
    return jnp.log(jnp.cosh(prediction - goal))


def networks(shape):
    return {
        "single": nets.SingleReLU(),
        "committee": nets.SoftCommittee(3, "erf", True),
        "fixed bias": nets.SoftCommittee(2, "relu", offset=0.3),
        "two layers": nets.TwoLayer(3, "sigmoid"),
        "two outputs": nets.TwoLayer(3, "tanh", classes=2),
        "gated": nets.GatedLinear(normal(7, 2, *shape)),
        "winner": nets.GatedLinear(normal(7, 3, *shape), "winner"),
        "autoencoder": nets.Autoencoder(3, "tanh", True, sparsity=0.2),
    }


NETWORKS = networks((N,))
CRITERIA = {**LOSSES, "custom": log_cosh}


def criteria(network):
    return {name: f for name, f in CRITERIA.items() if name != "cross-entropy" or network.outputs > 1}


def somewhere(network, shape, dtype=jnp.float32):
    """Parameters in general position: nothing zero, nothing equal."""
    start = network.parameters(jnp.asarray(normal(1, network.units, *shape), dtype), jax.random.key(0))
    leaves, form = jax.tree.flatten(start)
    return jax.tree.unflatten(
        form, [jnp.asarray(leaf + 0.4 * normal(i, *leaf.shape), dtype) for i, leaf in enumerate(leaves)]
    )


def written_out(network, name, parameters, x, goal):
    """The plain loss from its definition: mean over samples (and outputs) of the error, and what sparsity adds."""
    prediction = network(parameters, x)
    error = {
        "mse": lambda: jnp.square(prediction - goal),
        "l1": lambda: jnp.where(prediction > goal, prediction - goal, goal - prediction),
        "cross-entropy": lambda: (
            jnp.log(jnp.exp(prediction).sum(0)) - jnp.take_along_axis(prediction, jnp.argmax(goal, 0)[None], 0)[0]
        ),
        "custom": lambda: log_cosh(prediction, goal),
    }[name]()
    loss = error.sum() / error.size
    if network.reconstructs:
        flat = x.reshape(x.shape[0], -1) @ parameters.weights.reshape(network.units, -1).T + parameters.biases
        loss += 0.2 * jnp.abs(jnp.tanh(flat)).sum() / flat.size
    return loss


def goal_of(network, task, x, classes):
    """What the network should say, by numpy."""
    if network.reconstructs:
        return x.reshape(len(x), -1).T
    if network.outputs > 1:
        return np.eye(network.outputs)[:, classes]
    return np.asarray(task.target(jnp.asarray(x))) if task.target else np.asarray(task.labels)[classes]


# In expectation -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    """Two independent sets of stratified batches: 1000 of 40 samples for the estimators, 128 of 2048 for the truth."""

    def batches(seed, count, size):
        draws = [s.sample(jax.random.key(seed + i), count * size // 2) for i, s in enumerate(TASK.stimuli)]
        x = np.concatenate([np.asarray(d).reshape(count, size // 2, N) for d in draws], axis=1)
        return x, np.repeat([0, 1], size // 2)

    return batches(0, 1000, 40), batches(10, 128, 2048)


def means_and_errors(gradients):
    """Every entry of every gradient: its mean over batches and the standard error of that mean."""
    flat = np.concatenate(
        [np.asarray(leaf, float).reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(gradients)], 1
    )
    return flat.mean(0), flat.std(0, ddof=1) / np.sqrt(len(flat))


SLOW = ("fixed bias", "two layers", "winner", "autoencoder")
"""Compilation takes a while."""
KINDS = [pytest.param(kind, marks=[pytest.mark.slow] * (kind in SLOW)) for kind in NETWORKS]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_every_estimator_has_the_gradient_of_the_plain_loss(kind, data):
    network = NETWORKS[kind]
    parameters = somewhere(network, (N,))
    (small, small_classes), (large, large_classes) = data
    estimators = {name: chosen_estimator(name, TASK) for name in ESTIMATORS}

    def estimated(estimator, criterion):
        def loss(p, x):
            goal = target(network, TASK, x, jnp.asarray(small_classes))
            return estimator.loss(network, criterion, p, Batch(x, goal, _retarget(network, TASK)))

        return jax.vmap(jax.grad(loss), (None, 0))

    def plain(name):
        def loss(p, x):
            goal = x.T if network.reconstructs else jnp.asarray(goal_of(network, TASK, large[0], large_classes))
            return written_out(network, name, p, x, goal)

        return lambda p, many: jax.lax.map(lambda x: jax.grad(loss)(p, x), many)

    @QUICK_JIT  # one compilation for all losses and estimators
    def gradients(p, small, large):
        rows = {(l, e): estimated(estimators[e], f)(p, small) for l, f in criteria(network).items() for e in estimators}
        return rows, {l: plain(l)(p, large) for l in criteria(network)}

    rows, truths = gradients(parameters, jnp.asarray(small), jnp.asarray(large))
    for (loss, name), gradient in rows.items():
        mean, error = means_and_errors(gradient)
        truth, truth_error = means_and_errors(truths[loss])
        tolerance = SIGMAS * np.hypot(error, truth_error) + 1e-6  # float32 rounding of gradients of order 1
        assert np.all(np.abs(mean - truth) <= tolerance), (loss, name)
        assert np.max(np.abs(truth) / tolerance) > 5, (loss, name)  # a factor of 1.2 would show


# Exactly --------------------------------------------------------------------------------------------------------------


def asymmetric(x):
    """A label that a shift or a sign changes."""
    return x[:, 0] ** 3 + x[:, 2]


def views_of(x, signs):
    """Every shift and sign of every sample, one by one."""
    return [sign * np.roll(x, shift, range(1, x.ndim)) for sign in signs for shift in np.ndindex(x.shape[1:])]


def task_of(shape, labels=(0.0, 1.0)):
    size = shape[0] if len(shape) == 1 else shape
    return lx.Task([stimuli.NLGP(size, 0.4, 2), stimuli.NLGP(size, 0.6, 2)], labels)


def assert_is_the_orbit(network, task, name, signs, estimator="orbit"):
    """To rounding in float64: sums of at most 10^4 terms of order 1."""
    shape = task.shape
    x, classes, parameters = normal(3, 4, *shape), np.array([0, 0, 1, 1]), somewhere(network, shape, jnp.float64)
    estimator = chosen_estimator(estimator, task)
    assert estimator.signs == signs
    goal = target(network, task, jnp.asarray(x), jnp.asarray(classes))
    batch = Batch(jnp.asarray(x), goal, _retarget(network, task))
    views = views_of(x, signs)
    goals = [goal_of(network, task, view, classes) for view in views]

    @QUICK_JIT
    def both(p, batch, x, goal):
        truth = jax.value_and_grad(lambda p: written_out(network, name, p, x, goal))(p)
        return jax.value_and_grad(lambda p: estimator.loss(network, CRITERIA[name], p, batch))(p), truth

    ours, truth = both(parameters, batch, np.concatenate(views), np.concatenate(goals, -1))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12), ours, truth)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(7,), (3, 4), pytest.param((8,), marks=pytest.mark.slow)])
@pytest.mark.usefixtures("x64")
def test_the_orbit_is_every_shift_and_both_signs(kind, shape):
    network = networks(shape)[kind]
    name = "cross-entropy" if kind == "two outputs" else "mse"
    assert_is_the_orbit(network, task_of(shape), name, (1, -1))


@pytest.mark.parametrize("pixels", [CIRCULANT + 1, pytest.param(CIRCULANT + 2, marks=pytest.mark.slow)])
@pytest.mark.usefixtures("x64")
def test_the_orbit_of_a_long_ring_goes_through_the_fft(pixels):
    assert_is_the_orbit(nets.SoftCommittee(2, "tanh", True), task_of((pixels,)), "l1", (1, -1))


@pytest.mark.parametrize("labels", [stimuli.sign_changes, asymmetric])
@pytest.mark.parametrize("kind", ["committee", pytest.param("two layers", marks=pytest.mark.slow)])
@pytest.mark.usefixtures("x64")
def test_labels_that_are_functions_move_with_x(labels, kind):
    assert_is_the_orbit(NETWORKS[kind], task_of((N,), labels), "mse", (1, -1))


@pytest.mark.parametrize("kind", ["single", "autoencoder"])
@pytest.mark.usefixtures("x64")
def test_the_orbit_of_stimuli_without_sign_symmetry_is_shifts_alone(kind):
    pulses = [stimuli.SinglePulse(N, length, length + 1, (0, 1), complement=False) for length in (1, 3)]
    assert_is_the_orbit(NETWORKS[kind], lx.Task(pulses, [0, 1]), "mse", (1,))


@pytest.mark.parametrize("kind", ["single", "autoencoder"])
@pytest.mark.usefixtures("x64")
def test_the_signs_of_an_orbit_are_those_asked_for(kind):
    assert_is_the_orbit(NETWORKS[kind], task_of((N,)), "mse", (1,), Orbit(signs=(1,)))


def with_a_place():
    """Data that no shift leaves alone and that have a sign."""
    return stimuli.Empirical(1 + normal(0, 500, N) * np.linspace(0.5, 2, N))


@pytest.mark.parametrize("signs", [(1, -1), (1,)])
@pytest.mark.usefixtures("x64")
def test_who_insists_gets_the_orbit_of_any_stimulus(signs):
    task = lx.Task([with_a_place(), with_a_place()], [0, 1])
    assert_is_the_orbit(NETWORKS["single"], task, "mse", signs, Orbit(signs, insist=True))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:rate .* is near or above")
def test_insisting_lets_a_run_use_a_symmetry_that_is_not_claimed():
    task, settings = lx.Task([with_a_place()], [1]), {"steps": 3, "batch": 10, "rate": 0.1, "progress": False}
    runs = [
        lx.train(
            task,
            nets.SingleReLU(),
            estimator=estimator,
            init=0.1 * np.ones((1, N)),
            saveat=lx.SaveAt(record=()),
            **settings,
        )
        for estimator in (Orbit(insist=True), Antithetic(insist=True), "plain")
    ]
    orbit, antithetic, plain = (run.final[0, 0] for run in runs)
    np.testing.assert_allclose(orbit, orbit[0], rtol=1e-5)  # a flat start stays flat on an orbit; float32
    assert np.ptp(antithetic) > 1e-3
    assert np.abs(antithetic - plain).max() > 1e-3
    assert [run.settings["estimator"].get("insist") for run in runs] == [True, True, None]


@pytest.mark.parametrize("signs", [(), (2,), (1, 1), (-1,), (1, -1, 1)])
def test_signs_that_make_no_orbit_are_refused(signs):
    with pytest.raises(ValueError, match=r"Orbit: signs must be \(1,\) or \(1, -1\), got"):
        Orbit(signs)


@pytest.mark.usefixtures("x64")
def test_antithetic_is_x_and_minus_x_with_labels_that_follow():
    network, task, x = NETWORKS["committee"], task_of((N,), asymmetric), normal(3, 6, N)
    parameters = somewhere(network, (N,), jnp.float64)
    goal = target(network, task, jnp.asarray(x), jnp.zeros(6, int))
    batch = Batch(jnp.asarray(x), goal, _retarget(network, task))
    ours = chosen_estimator("antithetic", task).loss(network, LOSSES["mse"], parameters, batch)
    both = np.concatenate([x, -x])
    truth = written_out(network, "mse", parameters, jnp.asarray(both), jnp.asarray(asymmetric(both)))
    np.testing.assert_allclose(ours, truth, rtol=1e-12)


@pytest.mark.parametrize("shape", [(6,), (CIRCULANT + 3,), (2, 3)])
@pytest.mark.usefixtures("x64")
def test_responses_to_all_shifts(shape):
    filters, x = normal(0, 2, *shape), normal(1, 3, *shape)
    rolled = [np.roll(x, shift, range(1, x.ndim)) for shift in np.ndindex(shape)]
    truth = np.einsum("fp,snp->fsn", filters.reshape(2, -1), np.reshape(rolled, (len(rolled), 3, -1)))
    ours = np.asarray(all_shifts(jnp.asarray(filters), jnp.asarray(x)))
    # Which shift comes at which place is the estimator's own affair: it averages over them.
    np.testing.assert_allclose(np.sort(ours, 1), np.sort(truth, 1), atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 7, 12, 40])
@pytest.mark.usefixtures("x64")
def test_shifts_and_their_derivative(n):
    filters, weights = normal(0, 3, n), normal(1, 3, n, n)
    truth = np.stack([np.roll(filters, shift, axis=-1) for shift in range(n)], axis=1)
    ours, pulled = jax.vjp(shifted, jnp.asarray(filters))
    np.testing.assert_array_equal(ours, truth)
    back = sum(np.roll(weights[:, shift], -shift, axis=-1) for shift in range(n))
    np.testing.assert_allclose(pulled(jnp.asarray(weights))[0], back, atol=1e-13)  # sums of n numbers, in another order


@pytest.mark.parametrize(
    ("network", "shape"),
    [(nets.SoftCommittee(2), (9,)), pytest.param(nets.SingleReLU(), (4, 3), marks=pytest.mark.slow)],
)
@pytest.mark.usefixtures("x64")
def test_orbit_training_commutes_with_shifts_and_signs(network, shape):
    w = 0.3 * normal(0, network.units, *shape)
    shift, axes = (3, 1)[: len(shape)], tuple(range(1, len(shape) + 1))
    starts = np.stack([w, np.roll(w, shift, axes), -w])
    settings = {"steps": 40, "batch": 8, "rate": 0.2, "seeds": 3, "dtype": jnp.float64, "progress": False}
    run = lx.train(task_of(shape), network, init=starts, estimator="orbit", **settings)
    assert run.weights.dtype == np.float64
    one, moved, flipped = run.final
    assert np.abs(one - w).max() > 0.05  # it went somewhere
    np.testing.assert_allclose(moved, np.roll(one, shift, axes), atol=1e-12)  # float64, 40 steps
    np.testing.assert_allclose(flipped, -one, atol=1e-12)


# Refusals -------------------------------------------------------------------------------------------------------------


def refused(estimator, *parts):
    with pytest.raises(ValueError, match="violation measured here") as caught:
        lx.train(lx.Task(parts, range(len(parts))), nets.SingleReLU(), steps=1, batch=20, rate=0.1, estimator=estimator)
    line = str(caught.value)
    assert "\n" not in line
    assert "estimator='plain', or lx.training." in line
    assert line.endswith("(insist=True)")
    number = re.search(r"violation measured here is (\S+) \+- (\S+) ", line)
    return line, float(number[1]), float(number[2])


def test_orbit_is_refused_on_data_that_have_a_place():
    x = normal(0, 500, N) * np.linspace(0.5, 2, N)
    for stimulus in (stimuli.Empirical(x), stimuli.NaturalPatches(N)):
        line, value, error = refused("orbit", stimulus)
        check = stimuli.translation_invariance(stimulus)
        assert "translation invariant" in line
        assert value == float(f"{check.value:.3g}")
        assert value > SIGMAS * error  # these data do break the symmetry


def test_one_class_without_the_symmetry_is_enough_to_refuse():
    empirical = stimuli.Empirical(normal(0, 500, N) * np.linspace(0.5, 2, N))
    assert "orbit" in refused("orbit", stimuli.NLGP(N, 1, 2), empirical)[0]
    assert "orbit" in refused(Orbit(), stimuli.NLGP(N, 1, 2), empirical)[0]


def test_antithetic_is_refused_on_stimuli_with_a_sign():
    pulse = stimuli.SinglePulse(N, 1, 2, (0, 1), complement=False)
    line, value, error = refused("antithetic", stimuli.NLGP(N, 1, 2), pulse)
    assert "sign-symmetric" in line
    assert value == float(f"{stimuli.sign_symmetry(pulse).value:.3g}")
    assert value > SIGMAS * error


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:rate .* is near or above")  # one step of rate 1 shows the gradient
@pytest.mark.parametrize("task", [experiment_tasks.nlgp(0.01), experiment_tasks.ising()], ids=["nlgp", "ising"])
def test_an_orbit_is_worth_as_many_plain_samples_as_the_report_says(task):
    """The variance of one step's gradient over 1,000 networks."""
    distance = np.abs((np.arange(40) + 20) % 40 - 20)
    fields = {"start": 0.01 * normal(0, 40), "flat": np.full(40, 0.04), "localized": 0.4 * np.exp(-distance / 1.5)}
    for field in fields.values():
        start = np.broadcast_to(field, (1000, 1, 40)).astype(np.float32)
        ends = [
            train(task, nets.SingleReLU(), steps=1, batch=16, rate=1.0, seeds=1000, init=start, estimator=estimator,
                  stream="independent", saveat=lx.SaveAt(record=()), progress=False).final
            for estimator in ("plain", "orbit")
        ]  # fmt: skip
        plain, orbit = (float(np.sum(np.var(end, axis=0))) for end in ends)
        assert WORTH[0] < plain / orbit < WORTH[1]
