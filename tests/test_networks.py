"""Networks against plain loops over samples and units; initialisers against their laws, or their authors' own draws."""

import math
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import localax as lx
from helpers import RARE, assert_within
from localax._errors import SettingError
from localax.networks import ACTIVATIONS, Parameters, respond, seed_keys

nets = lx.networks
ROUNDING = 2e-5
"""float32 sums of at most 12 products of numbers of order 1, through functions of slope at most 1."""

SIGMA = {
    "relu": lambda h: max(h, 0.0),
    "erf": lambda h: math.erf(h / math.sqrt(2)),
    "sigmoid": lambda h: 1 / (1 + math.exp(-h)),
    "tanh": math.tanh,
    "identity": lambda h: h,
}


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def inner(w, x):
    """<w, x> pixel by pixel, in float64."""
    return sum(float(w[p]) * float(x[p]) for p in np.ndindex(w.shape))


def hidden(parameters, x, sigma, bias=None):
    """The hidden layer for one sample, unit by unit."""
    biases = np.zeros(len(parameters.weights)) if bias is None else np.broadcast_to(bias, len(parameters.weights))
    return [
        sigma(inner(np.asarray(w), x) + float(b)) for w, b in zip(parameters.weights, np.asarray(biases), strict=True)
    ]


def assert_outputs(network, parameters, x, expected):
    """The network's output for every sample, outputs leading."""
    truth = np.array([expected(sample) for sample in x], float)
    np.testing.assert_allclose(network(parameters, jnp.asarray(x)), np.moveaxis(truth, 0, -1), atol=ROUNDING)


# Outputs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(7,), (3, 4)])
def test_a_single_relu_is_a_rectified_inner_product(shape):
    x = normal(0, 5, *shape)
    parameters = nets.SingleReLU().parameters(jnp.asarray(normal(1, 1, *shape)), jax.random.key(0))
    assert [leaf.shape for leaf in jax.tree.leaves(parameters)] == [(1, *shape)]  # and nothing else is trained
    assert_outputs(nets.SingleReLU(), parameters, x, lambda s: max(inner(np.asarray(parameters.weights[0]), s), 0))


def test_every_activation_has_a_reference_here():
    assert set(SIGMA) == set(ACTIVATIONS)


@pytest.mark.parametrize("name", SIGMA)
def test_a_committee_is_the_mean_of_its_units(name):
    network, x, biases = nets.SoftCommittee(3, name, True), normal(0, 4, 7), normal(2, 3)
    start = network.parameters(jnp.asarray(normal(1, 3, 7)), jax.random.key(0))
    assert np.array_equal(start.biases, np.zeros(3))
    parameters = Parameters(start.weights, jnp.asarray(biases))
    assert_outputs(network, parameters, x, lambda s: np.mean(hidden(parameters, s, SIGMA[name], biases)))


@pytest.mark.parametrize("offset", [0.0, 0.7, -2])
@pytest.mark.parametrize("bias", [False, True])
def test_an_offset_is_added_to_every_preactivation_and_not_trained(bias, offset):
    network, x = nets.SoftCommittee(3, "tanh", bias, offset), normal(0, 4, 2, 3)
    start = network.parameters(jnp.asarray(normal(1, 3, 2, 3)), jax.random.key(0))
    assert (start.biases is not None) == bias
    biases = normal(2, 3) if bias else None
    parameters = Parameters(start.weights, None if biases is None else jnp.asarray(biases))
    added = offset + (np.zeros(3) if biases is None else biases)
    assert_outputs(network, parameters, x, lambda s: np.mean(hidden(parameters, s, math.tanh, added)))


def test_a_function_that_has_a_name_is_kept_by_it():
    for cls in (nets.SoftCommittee, nets.TwoLayer, nets.Autoencoder):
        assert [cls(2, function).activation for function in ACTIVATIONS.values()] == list(ACTIVATIONS)


def test_any_function_is_an_activation():
    network, x = nets.SoftCommittee(2, lambda h: h**3), normal(0, 4, 5)
    parameters = network.parameters(jnp.asarray(normal(1, 2, 5)), jax.random.key(0))
    truth = [np.mean(hidden(parameters, s, lambda h: h**3)) for s in x]
    np.testing.assert_allclose(network(parameters, jnp.asarray(x)), truth, rtol=1e-4, atol=ROUNDING)  # slope 3 h^2


@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("bias", [False, True])
def test_a_two_layer_network_is_v_h_plus_c_over_k(classes, bias):
    network, x, many = nets.TwoLayer(4, "erf", bias, classes), normal(0, 5, 6), (classes,) * (classes > 1)
    start = network.parameters(jnp.asarray(normal(1, 4, 6)), jax.random.key(0))
    assert start.readout.shape == (4, *many)
    assert np.array_equal(start.constant, np.zeros(many))
    assert (start.biases is not None) == bias
    biases, readout, constant = normal(2, 4) if bias else None, normal(3, 4, *many), normal(4, *many)
    trained = (None if b is None else jnp.asarray(b) for b in (biases, readout, constant))
    parameters = Parameters(start.weights, *trained)

    def output(sample):
        h = hidden(parameters, sample, SIGMA["erf"], biases)
        return sum(h[k] * readout[k].astype(float) for k in range(4)) / 4 + constant / 4

    assert_outputs(network, parameters, x, output)


def test_the_second_layer_starts_at_one_plus_noise():
    readouts = [
        nets.TwoLayer(50, noise=0.2).parameters(jnp.zeros((50, 3)), jax.random.key(seed)).readout for seed in range(20)
    ]
    assert stats.kstest(np.ravel(readouts), stats.norm(1, 0.2).cdf).pvalue > RARE
    exact = nets.TwoLayer(5, noise=0).parameters(jnp.zeros((5, 3)), jax.random.key(0)).readout
    assert np.array_equal(exact, np.ones(5))


@pytest.mark.parametrize("rule", ["halfspace", "winner"])
@pytest.mark.parametrize("shape", [(6,), (2, 3)])
def test_a_gated_unit_is_linear_where_its_gate_is_open(rule, shape):
    gates, x = normal(5, 4, *shape), normal(0, 9, *shape)
    network = nets.GatedLinear(gates, rule)
    parameters = network.parameters(jnp.asarray(normal(1, 4, *shape)), jax.random.key(0))

    def output(sample):
        gate, linear = [inner(g, sample) for g in gates], [inner(np.asarray(w), sample) for w in parameters.weights]
        is_open = [g >= 0 if rule == "halfspace" else g == max(gate) for g in gate]
        return sum(v for v, o in zip(linear, is_open, strict=True) if o) / 4

    assert network.units == 4
    assert_outputs(network, parameters, x, output)


def test_a_gate_is_open_at_zero():
    network, x = nets.GatedLinear([[1.0, -1.0], [0.0, 0.0]]), np.array([[3.0, 3.0]], np.float32)
    parameters = network.parameters(jnp.asarray([[1.0, 2.0], [10.0, 0.0]]), jax.random.key(0))
    assert np.array_equal(network(parameters, jnp.asarray(x)), [(9 + 30) / 2])


@pytest.mark.parametrize("shape", [(6,), (2, 3)])
def test_an_autoencoder_gives_back_pixels_and_counts_its_activity(shape):
    network, x = nets.Autoencoder(4, "tanh", True, sparsity=0.3), normal(0, 5, *shape)
    start = network.parameters(jnp.asarray(normal(1, 4, *shape)), jax.random.key(3))
    parameters = Parameters(start.weights, jnp.asarray(normal(2, 4)), start.readout)

    def output(sample):
        h = hidden(parameters, sample, math.tanh, parameters.biases)
        return [sum(h[k] * float(start.readout[k, pixel]) for k in range(4)) for pixel in range(6)]

    assert network.reconstructs
    assert_outputs(network, parameters, x, output)
    activity = np.mean(np.abs([hidden(parameters, s, math.tanh, parameters.biases) for s in x]))
    penalty = network.penalty(parameters, respond(parameters.weights, jnp.asarray(x)))
    np.testing.assert_allclose(penalty, 0.3 * activity, rtol=1e-5)  # float32 mean of 20 numbers


def test_the_decoder_starts_as_large_as_the_encoder():
    starts = [nets.Autoencoder(30).parameters(jnp.full((30, 40), 0.25), jax.random.key(s)).readout for s in range(3)]
    assert stats.kstest(np.ravel(starts), stats.norm(0, 0.25).cdf).pvalue > RARE


def test_every_network_is_in_the_list():
    assert set(nets.ALL) == {nets.SingleReLU, nets.SoftCommittee, nets.TwoLayer, nets.GatedLinear, nets.Autoencoder}


# Initialisers ---------------------------------------------------------------------------------------------------------


def starts(init, seeds=(0, 1, 2), units=2, shape=(8,), dtype=jnp.float32):
    weights = init.weights(seed_keys(seeds), units, shape, dtype)
    assert weights.shape == (len(seeds), units, *shape)
    assert weights.dtype == dtype
    return np.asarray(weights)


@pytest.mark.parametrize("shape", [(40,), (5, 8)])
def test_xavier_is_a_normal_cut_at_two_sigma_with_a_scaled_variance(shape):
    weights = starts(nets.Xavier(0.01), np.arange(200), 10, shape).ravel().astype(float)
    variance = 0.01 * 2 / (10 + 40)  # Glorot: 2/(fan in + fan out), whatever the axes of the pixels
    sigma = math.sqrt(variance / stats.truncnorm(-2, 2).var())  # of the normal before it is cut
    assert np.abs(weights).max() <= 2 * sigma * (1 + 1e-6)  # rounding of float32
    assert stats.kstest(weights, stats.truncnorm(-2, 2, scale=sigma).cdf).pvalue > RARE
    assert_within(weights**2, variance, rounding=0)


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize(("authors_x64", "shape"), [(True, (40,)), (False, (40,)), (True, (4, 10))])
def test_the_authors_own_weights(flag, authors_x64, shape):
    with jax.enable_x64(flag):
        ours = starts(nets.Authors(0.001, x64=authors_x64), (0, 42), 3, shape)
    with jax.threefry_partitionable(False), jax.enable_x64(authors_x64):
        for seed, weights in zip((0, 42), ours, strict=True):
            model_key = jax.random.split(jax.random.PRNGKey(seed), 4)[1]
            precision = jnp.float64 if authors_x64 else jnp.float32
            draw = np.asarray(jax.nn.initializers.glorot_normal()(model_key, (3, 40), precision))
            np.testing.assert_array_equal(weights, (np.sqrt(0.001) * draw).astype(np.float32).reshape(3, *shape))


def test_the_authors_weights_differ_with_their_float_type():
    assert not np.allclose(starts(nets.Authors(1)), starts(nets.Authors(1, x64=False)))
    assert not np.allclose(starts(nets.Authors(1)), starts(nets.Xavier(1)))


def test_isotropic_and_positive_shifted_are_normal():
    isotropic, shifted = nets.Isotropic(0.3), nets.PositiveShifted(0.3, 0.2)
    weights = starts(isotropic, np.arange(100), 5, (4, 5))  # one compilation for both
    assert stats.kstest(weights.ravel(), stats.norm(0, 0.3).cdf).pvalue > RARE
    assert stats.kstest(starts(shifted, np.arange(100), 5, (4, 5)).ravel(), stats.norm(0.2, 0.3).cdf).pvalue > RARE


def patterns(weights):
    """Every unit's field, rolled so that its largest weight is at pixel 0, and where that was."""
    flat = weights.reshape(-1, *weights.shape[2:])
    places = [np.unravel_index(np.argmax(w), w.shape) for w in flat]
    rolled = [np.roll(w, [-i for i in p], range(w.ndim)) for w, p in zip(flat, places, strict=True)]
    return np.array(rolled), [int(np.ravel_multi_index(p, weights.shape[2:])) for p in places]


def signed_distances(side):
    return [d if d <= side // 2 else d - side for d in range(side)]


PATTERNS = [
    (nets.Basis(0.5), lambda *d: 0.5 * all(i == 0 for i in d)),
    (nets.SmallBump(0.5), lambda *d: 0.5 * math.prod({0: 1.0, 1: 0.5}.get(abs(i), 0.0) for i in d)),
    (
        nets.Gabor(1.5, 4.0, 0.5),
        lambda *d: 0.5 * math.exp(-sum(i * i for i in d) / 4.5) * math.cos(2 * math.pi * d[-1] / 4),
    ),
]


@pytest.mark.parametrize(("init", "value"), PATTERNS, ids=[type(init).__name__ for init, _ in PATTERNS])
@pytest.mark.parametrize("shape", [(12,), (6, 7)])
def test_patterns_are_what_they_say_and_evenly_spaced(init, value, shape):
    weights = starts(init, range(8), 3, shape)
    rolled, places = patterns(weights)
    for pixel in np.ndindex(shape):
        d = [signed_distances(side)[i] for i, side in zip(pixel, shape, strict=True)]
        np.testing.assert_allclose(rolled[(slice(None), *pixel)], value(*d), atol=1e-7)  # float32 of 0.5
    pixels = math.prod(shape)
    for offset, *others in np.reshape(places, (8, 3)):
        assert [(o - offset) % pixels for o in others] == [pixels // 3, 2 * pixels // 3]
    assert len({p[0] for p in np.reshape(places, (8, 3))}) > 3  # the seed moves the pattern


def test_given_weights_are_taken_for_every_seed_or_seed_by_seed():
    one, each = normal(0, 2, 8), normal(1, 3, 2, 8)
    assert np.array_equal(starts(nets.Given(one)), np.stack([one] * 3))
    assert np.array_equal(starts(nets.Given(each)), each)
    with pytest.raises(ValueError, match=r"init must be of shape \(2, 8\) or \(3, 2, 8\), got .*\(2, 7\)"):
        starts(nets.Given(one[:, :7]))


@pytest.mark.parametrize("shape", [(8,), (2, 3)])
def test_a_single_unit_may_be_given_without_its_axis(shape):
    one, each = normal(0, *shape), normal(1, 3, *shape)
    assert np.array_equal(starts(nets.Given(one), units=1, shape=shape), np.stack([one[None]] * 3))
    assert np.array_equal(starts(nets.Given(each), units=1, shape=shape), each[:, None])


@pytest.mark.parametrize("cls", nets.INITIALISERS, ids=lambda cls: cls.__name__)
def test_where_a_seed_starts_does_not_depend_on_the_others(cls):
    together, others = starts(cls(), (7, 3, 5)), starts(cls(), (9, 8, 7))
    np.testing.assert_array_equal(together[0], others[2])
    assert len(np.unique(np.concatenate([together, others]).reshape(6, -1), axis=0)) >= 3  # 8 places for a pattern


@pytest.mark.parametrize("cls", [nets.Xavier, nets.Authors])
def test_a_list_of_scales_is_one_initialiser_per_scale(cls):
    many = cls([0.01, 0.04])
    small, large = (starts(init) for init in many.each())
    np.testing.assert_array_equal(small, starts(cls(0.01)))
    np.testing.assert_allclose(large, 2 * small, rtol=1e-6)  # the variance is scaled; one float32 product
    assert cls(0.01).each() is None


# Bad settings ---------------------------------------------------------------------------------------------------------

NAN = float("nan")
BAD = [
    (lambda: nets.SoftCommittee(0), "SoftCommittee: units must be a whole number >= 1, got 0"),
    (lambda: nets.SoftCommittee(True), "SoftCommittee: units must be a whole number >= 1, got True"),
    (lambda: nets.SoftCommittee(2**32 + 3), "units must be a whole number >= 1, below 2^31, got 4294967299"),
    (lambda: nets.SoftCommittee(2, "relu", offset=NAN), "SoftCommittee: offset must be a finite number, got nan"),
    (lambda: nets.TwoLayer(2, classes=0), "TwoLayer: classes must be a whole number >= 1, got 0"),
    (lambda: nets.TwoLayer(2, noise=-0.1), "TwoLayer: noise must be a finite number >= 0, got -0.1"),
    (lambda: nets.Autoencoder(2, sparsity=-0.1), "Autoencoder: sparsity must be a finite number >= 0, got -0.1"),
    (lambda: nets.GatedLinear([1.0, 2.0]), "GatedLinear: gates must be finite numbers of shape (units, pixels)"),
    (lambda: nets.GatedLinear([[1.0, NAN]]), "GatedLinear: gates must be finite numbers of shape (units, pixels)"),
    (lambda: nets.GatedLinear([[1.0], [1.0, 2.0]]), "GatedLinear: gates must be finite numbers of shape"),
    (lambda: nets.GatedLinear(np.ones((2, 3)), "soft"), "GatedLinear: rule must be one of halfspace, winner"),
    (lambda: nets.Xavier(0), "Xavier: scale must be a finite number > 0"),
    (lambda: nets.Xavier([0.1, -0.1]), "Xavier: scale must be a finite number > 0"),
    (lambda: nets.Xavier([]), "Xavier: scale must be a finite number > 0"),
    (lambda: nets.Xavier([[0.1]]), "Xavier: scale must be a finite number > 0"),
    (lambda: nets.Authors("big"), "Authors: scale must be a finite number > 0"),
    (lambda: nets.Isotropic([0.1, 0.2]), "Isotropic: std must be a finite number > 0"),
    (lambda: nets.PositiveShifted(0.1, -1), "PositiveShifted: shift must be a finite number > 0, got -1"),
    (lambda: nets.Basis(-1), "Basis: scale must be a finite number > 0, got -1"),
    (lambda: nets.Gabor(period=1), "Gabor: period must be a finite number >= 2, got 1"),
    (lambda: nets.Given("abc"), "Given: values must be finite numbers"),
    (lambda: nets.Given([[1.0], [1.0, 2.0]]), "Given: values must be finite numbers"),
]


@pytest.mark.parametrize(("make", "line"), BAD, ids=[line[:45] for _, line in BAD])
def test_a_bad_setting_gives_one_clear_line(make, line):
    with pytest.raises(ValueError, match="must be") as caught:
        make()
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("cls", [nets.SoftCommittee, nets.TwoLayer, nets.Autoencoder])
def test_an_unknown_activation_is_refused_with_the_nearest(cls):
    with pytest.raises(SettingError, match=r"no activation called 'sigmoit'; did you mean sigmoid\?"):
        cls(2, "sigmoit")
    with pytest.raises(SettingError, match="choose one of relu, erf, sigmoid, tanh, identity"):
        cls(2, "xyz")


def test_a_bias_is_true_or_false():
    """In a process of its own, because pytest checks types before a constructor sees them."""
    code = """
from localax.networks import Autoencoder, SoftCommittee, TwoLayer
for cls in (SoftCommittee, TwoLayer, Autoencoder):
    for bias in (1, 0.7, "yes"):
        try:
            cls(2, "relu", bias)
        except ValueError as error:
            print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    names = [name for name in ("SoftCommittee", "TwoLayer", "Autoencoder") for _ in range(3)]
    values = ["1", "0.7", "'yes'"] * 3
    assert said == [f"{n}: bias must be true or false, got {v}" for n, v in zip(names, values, strict=True)]
