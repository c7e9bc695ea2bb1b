"""Classes, labels and proportions of a task, and the regression target."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from helpers import assert_within, matrix
from localax.stimuli import NLGP, Gaussian, Ising, SinglePulse, Task, sign_changes

KEY = jax.random.key(11)
RINGS = [Ising(6, 0.0), Ising(6, 50.0), Ising(6, -50.0)]  # told apart by a glance: random, aligned, alternating


def kinds(x: np.ndarray) -> np.ndarray:
    changes = np.mean(x != np.roll(x, 1, axis=1), axis=1)
    return np.where(changes == 0, 1, np.where(changes == 1, 2, 0))


def test_a_stratified_batch_keeps_proportions_exactly():
    task = Task(RINGS, [-1.5, 0.5, 2.0], [0.2, 0.3, 0.5])
    assert task.counts(1000) == (200, 300, 500)
    x, y = task.sample(KEY, 1000)
    assert x.shape == (1000, 6)
    np.testing.assert_array_equal(y, np.repeat(np.float32([-1.5, 0.5, 2.0]), [200, 300, 500]))
    found = kinds(np.asarray(x))
    assert np.all(found[200:500] == 1)
    assert np.all(found[500:] == 2)
    assert np.mean(found[:200] == 0) > 0.8  # 4 of 64 random rings look like the others


def test_an_iid_batch_has_proportions_on_average():
    task = Task(RINGS[1:], [0, 1], [0.3, 0.7])
    x, y = task.sample(KEY, 20_000, stratified=False)
    np.testing.assert_array_equal(y, kinds(np.asarray(x)) - 1)  # every label goes with its own sample
    assert_within(y, 0.7)
    assert np.mean(np.diff(np.asarray(y)) != 0) > 0.2  # shuffled: not class after class


def test_equal_shares_unless_told_otherwise():
    assert Task(RINGS, [0, 1, 2]).proportions == (1 / 3, 1 / 3, 1 / 3)
    assert Task(RINGS, [0, 1, 2]).counts(99) == (33, 33, 33)


def test_classes_do_not_share_their_noise():
    x, _ = Task([Gaussian(6, 0.5)] * 2, [0, 1]).sample(KEY, 2000)
    x = np.asarray(x)
    assert_within(x[:1000] * x[1000:], 0.0)


def whitened(stimulus: Gaussian, x: np.ndarray) -> np.ndarray:
    """The noise behind samples of a Gaussian ring, by the symmetric root of its covariance."""
    values, vectors = np.linalg.eigh(matrix(stimulus.covariance()))
    return x @ (vectors / np.sqrt(values)) @ vectors.T


@pytest.mark.parametrize("proportions", [None, [0.25, 0.75]])
@pytest.mark.parametrize("stratified", [True, False])
def test_classes_share_their_noise_where_asked(proportions, stratified):
    classes = [Gaussian(6, 0.5), Gaussian(6, 0.7)]
    x, y = map(np.asarray, Task(classes, [0, 1], proportions).sample(KEY, 40, common=True, stratified=stratified))
    noise = np.where(y[:, None] == 0, *(whitened(stimulus, x) for stimulus in classes))
    if stratified:
        short, long = noise[y == 0], noise[y == 1]
        np.testing.assert_allclose(short, long[: len(short)], atol=1e-5)  # float32, times the condition of the root
        assert np.unique(long[:, 0]).size == len(long)
    else:
        first, _ = Task(classes[:1] * 2, [0, 1], proportions).sample(KEY, 40, common=True, stratified=False)
        np.testing.assert_allclose(noise, whitened(classes[0], np.asarray(first)), atol=1e-5)


def test_what_is_shared_changes_no_class():
    task = Task([Gaussian(6, 0.5), Gaussian(6, 0.7)], [0, 1])
    x = np.asarray(task.sample(KEY, 8000, common=True)[0]).reshape(2, 4000, 6)
    for stimulus, own in zip(task.stimuli, x, strict=True):
        assert_within(own[:, :1] * own, stimulus.covariance())


def test_labels_by_a_function():
    task = Task([NLGP(8, 1, 3), NLGP(8, 1.3, 3)], sign_changes)
    for stratified in (True, False):
        x, y = task.sample(KEY, 64, stratified=stratified)
        np.testing.assert_allclose(y, counted_sign_changes(np.asarray(x)), atol=1e-6)


def counted_sign_changes(x: np.ndarray) -> np.ndarray:
    n, pixels = x.shape
    out = np.zeros(n)
    for sample in range(n):
        for i in range(pixels):
            out[sample] += (x[sample, i] >= 0) != (x[sample, (i + 1) % pixels] >= 0)
    return out / pixels


def test_sign_changes_by_a_loop():
    x = np.random.default_rng(0).normal(size=(30, 7)).astype(np.float32)
    x[0] = 0
    np.testing.assert_allclose(sign_changes(jnp.asarray(x)), counted_sign_changes(x), atol=1e-6)
    image = np.random.default_rng(1).normal(size=(3, 4, 5)).astype(np.float32)  # a torus: along its rows
    by_rows = [np.mean([counted_sign_changes(row[None])[0] for row in sample]) for sample in image]
    np.testing.assert_allclose(sign_changes(jnp.asarray(image)), by_rows, atol=1e-6)


def test_sign_changes_of_a_gaussian_ring():
    """P(neighbours differ) = arccos(r)/pi."""
    stimulus = Gaussian(20, 1.5)
    expected = np.arccos(np.exp(-1 / 1.5**2)) / np.pi
    assert_within(sign_changes(stimulus.sample(KEY, 4000)), expected)


def test_symmetries_of_a_task():
    even, odd = SinglePulse(8, 2, 3), SinglePulse(8, 2, 3, (0, 1))
    assert Task([even, even], [0, 1]).sign_symmetric
    assert not Task([even, odd], [0, 1]).sign_symmetric
    assert Task([even, odd], [0, 1]).shift_invariant
    assert Task([even, odd], [0, 1]).shape == (8,)


def test_under_jit_and_with_many_keys():
    task = Task(RINGS[:2], [0, 1])
    keys = jax.random.split(KEY, 3)
    together, _ = jax.jit(jax.vmap(lambda key: task.sample(key, 10)))(keys)
    np.testing.assert_array_equal(together[1], task.sample(keys[1], 10)[0])


@pytest.mark.usefixtures("x64")
def test_in_float64():
    x, y = Task([Gaussian(8, 0.5), Gaussian(8, 0.9)], [0, 1]).sample(KEY, 10, dtype=jnp.float64)
    assert x.dtype == y.dtype == np.float64


@pytest.mark.parametrize("n", [3, 1, 7])
def test_a_batch_that_cannot_be_split(n):
    with pytest.raises(ValueError, match=rf"stratified batch of {n} cannot be split in proportions 0.5, 0.5; choose"):
        Task(RINGS[:2], [0, 1]).sample(KEY, n)
    x, _ = Task(RINGS[:2], [0, 1]).sample(KEY, n, stratified=False)
    assert len(x) == n
