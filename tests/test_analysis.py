"""Measures of fields against closed forms, loops in numpy, and scipy's optimisers."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import optimize, stats

import localax.analysis as la
from localax import SettingError, Trajectory
from localax.analysis import Kind

N = 32
TORUS = (12, 10)
SHAPES = {1: (N,), 2: TORUS}
LEADS = {1: (1, 2, 3), 2: (3, 1, 2, 1)}
"""Axes of a trajectory before its pixels, ([sweep], seed, time, unit), for six fields."""
RNG = np.random.default_rng

SCALARS = (la.concentration, la.gathered, la.ipr, la.entropy, la.width, la.uncertainty)
MEASURES = (*SCALARS, la.peak, la.peak_sign, la.centre, la.spectrum, la.dominant_frequency, la.classify)
SEARCHES = (la.fit_gabor, la.fit_bump)
SLOW = pytest.mark.slow
RING_AND_TORUS = [1, pytest.param(2, marks=SLOW)]
"""Values of ``ndim`` where every measure is compiled for each, and what is tested is what they share."""
FITS = (la.fit_sinusoid, functools.partial(la.fit_sinusoid, offset=False), *SEARCHES)
PLAIN = (*MEASURES, *FITS[:2])


@pytest.fixture(autouse=True)
def _x64():
    """References are float64; the tests of float32 make their own arrays."""
    with jax.enable_x64(True):
        yield


def name(function):
    inner = getattr(function, "func", function)
    return f"{inner.__name__}{getattr(function, 'keywords', None) or ''}"


@functools.cache
def compiled(function, **options):
    """Hypothesis calls the same shapes again and again."""
    return jax.jit(functools.partial(function, **options))


def ring_offset(x, n):
    return (np.asarray(x) + n / 2) % n - n / 2


def bump(centre, s, n=N):
    return np.exp(-(ring_offset(np.arange(n) - centre, n) ** 2) / (2 * s**2))


def gabor(centre, s, cycles, phase, offset=0.0, amplitude=1.0, n=N):
    d = ring_offset(np.arange(n) - centre, n)
    return amplitude * np.exp(-(d**2) / (2 * s**2)) * np.cos(2 * np.pi * cycles * d / n + phase) + offset


def gabor_2d(centre, widths, orientation, cycles, phase, offset=0.0, amplitude=1.0, shape=TORUS):
    """``cycles``: a pixel."""
    rows, columns = (ring_offset(i - c, n) for i, c, n in zip(np.indices(shape), centre, shape, strict=True))
    along = np.cos(orientation) * rows + np.sin(orientation) * columns
    across = np.cos(orientation) * columns - np.sin(orientation) * rows
    envelope = np.exp(-(along**2) / (2 * widths[0] ** 2) - across**2 / (2 * widths[1] ** 2))
    return amplitude * envelope * np.cos(2 * np.pi * cycles * along + phase) + offset


def wave(cycles, phase=0.0, shape=(N,)):
    angle = sum(2 * np.pi * k * x / n for k, x, n in zip(cycles, np.indices(shape), shape, strict=True))
    return np.cos(angle + phase)


def ising_steady_state(j0, j1, n=N, at=6):
    """w* = (S0 + S1)^-1 S1 e_i (C5), from the covariance (t^d + t^(n-d)) / (1 + t^n) of an Ising ring."""
    d = np.abs(np.arange(n)[:, None] - np.arange(n))
    s0, s1 = ((t**d + t ** (n - d)) / (1 + t**n) for t in np.tanh([j0, j1]))
    return np.linalg.solve(s0 + s1, s1[:, at])


# Every function ---------------------------------------------------------------------------------------------------


def batch(ndim):
    """Three fields that are undefined and three that are not."""
    w = RNG(0).normal(size=(2, 3, *SHAPES[ndim]))
    w[0] = 0
    w[0, 1].flat[3] = np.nan
    w[0, 2].flat[3] = np.inf
    return w


def stacked(ndim):
    """The same with as many leading axes as a trajectory has; one shape, so that tests share what is compiled."""
    return batch(ndim).reshape(*LEADS[ndim], *SHAPES[ndim])


def assert_same(ones, others, lead):
    """Rounding differs by the width of the batch, and a descent amplifies it: the cost is flat at its end."""
    for a, b in zip(jax.tree.leaves(ones), jax.tree.leaves(others), strict=True):
        np.testing.assert_allclose(a, np.reshape(b, (6, *np.shape(b)[lead:])), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ndim", RING_AND_TORUS)
@pytest.mark.parametrize("function", [*PLAIN, *(pytest.param(f, marks=SLOW) for f in SEARCHES)], ids=name)
def test_leading_axes_agree_with_one_field_at_a_time(function, ndim):
    alone = [function(x, ndim=ndim) for x in batch(ndim).reshape(6, *SHAPES[ndim])]
    alone = jax.tree.map(lambda *leaves: np.stack(leaves), *alone)
    assert_same(alone, function(stacked(ndim), ndim=ndim), len(LEADS[ndim]))


@pytest.mark.parametrize(
    ("functions", "ndim"),
    [(PLAIN, 1), *(pytest.param(*case, marks=SLOW) for case in ((PLAIN, 2), *(((f,), 1) for f in SEARCHES)))],
    ids=lambda value: str(value) if isinstance(value, int) else " ".join(map(name, value[-1:])),
)
def test_jit_and_vmap_agree_with_leading_axes(functions, ndim):
    """Many measures in one program; that of a search on a torus takes seconds to compile."""
    lead = len(LEADS[ndim])
    mapped = jax.jit(jax.vmap(jax.vmap(lambda w: [function(w, ndim=ndim) for function in functions])))(batch(ndim))
    for function, got in zip(functions, mapped, strict=True):
        expected = jax.tree.map(lambda x: np.reshape(x, (6, *x.shape[lead:])), function(stacked(ndim), ndim=ndim))
        assert_same(expected, got, 2)


@pytest.mark.parametrize("ndim", RING_AND_TORUS)
@pytest.mark.parametrize("function", [*MEASURES, *FITS], ids=name)
def test_undefined_fields_give_nan_and_minus_one(function, ndim):
    lead = len(LEADS[ndim])
    result = jax.tree.map(lambda x: x.reshape(2, 3, *x.shape[lead:]), function(stacked(ndim), ndim=ndim))
    if function is la.spectrum:
        assert np.all(result[0, 0] == 0)
        result = result[:, 1:]
    for leaf in jax.tree.leaves(result):
        undefined = np.isnan(leaf) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf == -1
        assert np.all(undefined[0])
        # On a torus -1 is also the first number of a frequency such as (-1, 2).
        assert not np.all(undefined[1])


@pytest.mark.slow
@pytest.mark.parametrize("ndim", RING_AND_TORUS)
@pytest.mark.parametrize("function", [*MEASURES, *FITS], ids=name)
def test_float32_stays_float32_and_agrees_with_float64(function, ndim):
    packet = gabor(5.3, 3.0, 4.2, 0.4) if ndim == 1 else gabor_2d((3.2, 4.1), (1.6, 2.1), 0.6, 0.21, 0.4)
    # The square of 1e-25 is no float32.
    w = packet * (1 if function is la.spectrum else 1e-25)
    kept = [jax.eval_shape(functools.partial(function, ndim=ndim), x) for x in (np.float32(w), w)]
    for a, b in zip(*map(jax.tree.leaves, kept), strict=True):
        assert a.dtype == (jnp.float32 if b.dtype == jnp.float64 else b.dtype)
    if function in SEARCHES and ndim == 2:  # seconds of compilation
        return
    single, double = function(np.float32(w), ndim=ndim), function(w, ndim=ndim)
    if function in FITS:
        single, double = single.error, double.error
    np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-3 if function in SEARCHES else 1e-4)


def test_other_results_are_float32_too():
    w = np.float32(RNG(20).normal(size=(3, 4, N)))
    for result in (la.tiling(w), la.spacing(w), la.align(w, w[0]), la.gate_agreement(w), la.excess_kurtosis(w)):
        floats = [leaf for leaf in jax.tree.leaves(result) if jnp.issubdtype(leaf.dtype, jnp.floating)]
        assert {leaf.dtype for leaf in floats} == {jnp.dtype(jnp.float32)}


@pytest.mark.parametrize("function", [*MEASURES, *FITS], ids=name)
def test_wrong_shapes_raise_one_line(function):
    for w, ndim, words in [
        (np.zeros((3, 0)), 1, "pixel axes"),
        (np.zeros(5), 2, "pixel axes"),
        (np.zeros(()), 1, "pixel axes"),
        (np.zeros(5), 3, "ndim"),
        (np.zeros(5, complex), 1, "real"),
    ]:
        with pytest.raises(ValueError, match=words) as caught:
            function(w, ndim=ndim)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("ndim", RING_AND_TORUS)
@pytest.mark.parametrize("function", PLAIN, ids=name)
def test_a_trajectory_knows_its_pixels(function, ndim):
    """Its measures are those of its weights, in numpy."""
    lead = LEADS[ndim]
    run = Trajectory(np.arange(2.0), RNG(21).normal(size=(*lead, *SHAPES[ndim])), pixel_ndim=ndim)
    measured, expected = (jax.tree.leaves(result) for result in (function(run), function(run.weights, ndim=ndim)))
    for a, b in zip(measured, expected, strict=True):
        assert type(a) is np.ndarray
        assert a.shape[: len(lead)] == lead
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("function", PLAIN, ids=name)
def test_numbers_are_numpy_outside_of_jit_and_traced_inside(function):
    w = RNG(22).normal(size=(*LEADS[1], N))
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(function(w)))
    assert all(isinstance(leaf, np.generic | np.ndarray) for leaf in jax.tree.leaves(function(w[0, 0, 0].tolist())))
    traced = []
    jax.eval_shape(jax.vmap(lambda x: traced.extend(jax.tree.leaves(function(x)))), w)
    assert traced
    assert all(isinstance(leaf, jax.core.Tracer) for leaf in traced)


def test_the_slope_of_a_measure_by_differences():
    w, step = RNG(23).normal(size=N), 1e-6
    slopes = [(la.ipr(w + step * e) - la.ipr(w - step * e)) / (2 * step) for e in np.eye(N)]
    np.testing.assert_allclose(jax.grad(la.ipr)(w), slopes, atol=1e-8)  # rounding over the step: 1e-10


@pytest.mark.slow
def test_trajectories_with_other_pixels_than_said_are_refused():
    ring, torus = (Trajectory(np.arange(2.0), RNG(24).normal(size=(3, 2, 4, *SHAPES[n])), pixel_ndim=n) for n in (1, 2))
    for call, words in [
        (lambda: la.ipr(torus, ndim=1), "ipr: ndim must be 2, which the trajectory knows by itself"),
        (lambda: la.ipr(ring, ndim=2), "ipr: ndim must be 1, which"),
        (lambda: la.distance(ring, torus), "distance: trajectories on a ring and on a torus"),
        (lambda: la.gate_agreement(ring), "gate_agreement: takes numbers such as preactivations"),
        (lambda: la.ica(ring, 2), "samples must be"),
    ]:
        with pytest.raises(SettingError, match=f"^{words}[^\n]*$"):
            call()
    assert la.ipr(torus, ndim=2).shape == la.ipr(ring).shape == (3, 2, 4)
    np.testing.assert_allclose(la.distance(torus, torus.final[:, None]).shape, (3, 2, 4))


@pytest.mark.parametrize(
    "given_", ["abc", None, [[1, 2], [3]], object(), np.array(["a"])], ids=lambda x: type(x).__name__
)
def test_what_is_no_field_is_refused_in_one_line_without_jargon(given_):
    with pytest.raises(SettingError, match=r"^ipr: takes a Trajectory or an array of numbers, got \w+$"):
        la.ipr(given_)


@pytest.mark.slow
@pytest.mark.parametrize("ndim", [1, 2])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_shift_and_sign_change_nothing(ndim, data):
    shape = SHAPES[ndim]
    w = data.draw(hnp.arrays(float, shape, elements=st.floats(-1, 1, width=32)))
    assume(np.abs(w).max() > 1e-3)
    shift = tuple(data.draw(st.integers(0, n)) for n in shape)
    v = -np.roll(w, shift, tuple(range(ndim)))
    with jax.enable_x64(True):
        for function in (*SCALARS, la.spectrum):
            values = [function(x, ndim=ndim) for x in (v, w)]
            np.testing.assert_allclose(*values, atol=1e-6, err_msg=name(function))
        for offset in (True, False):
            errors = [la.fit_sinusoid(x, ndim=ndim, offset=offset).error for x in (v, w)]
            np.testing.assert_allclose(*errors, atol=1e-6)
        np.testing.assert_allclose(la.distance(w, v, ndim=ndim), 0, atol=1e-12)


@pytest.mark.parametrize("ndim", [1, 2])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_peaks_move_with_the_field(ndim, data):
    shape = {1: (11,), 2: (4, 6)}[ndim]
    size = int(np.prod(shape))
    w = np.array(data.draw(st.permutations(range(1, size + 1))), float).reshape(shape)
    w *= data.draw(hnp.arrays(int, shape, elements=st.sampled_from([-1, 1])))
    shift = tuple(data.draw(st.integers(0, n)) for n in shape)
    v = -np.roll(w, shift, tuple(range(ndim)))
    at, moved = (np.unravel_index(int(compiled(la.peak, ndim=ndim)(x)), shape) for x in (w, v))
    assert abs(w[at]) == size
    np.testing.assert_array_equal(np.add(at, shift) % shape, moved)
    assert compiled(la.peak_sign, ndim=ndim)(v) == -np.sign(w[at])


# Localization -----------------------------------------------------------------------------------------------------


def test_closed_forms_of_ipr_and_entropy():
    flat, pixel = np.ones(N), np.eye(N)[4]
    np.testing.assert_allclose(la.ipr(np.stack([flat, pixel, wave([3])])), [1 / N, 1, 1.5 / N])
    np.testing.assert_allclose(la.entropy(np.stack([flat, pixel])), [np.log(N), 0], atol=1e-12)
    # A sum of cos^2 log cos^2 over a fine period has the mean (1 - 2 log 2) / 2.
    fine = np.cos(2 * np.pi * (np.arange(4000) + 0.3) / 4000)
    np.testing.assert_allclose(la.entropy(fine), np.log(4000) - 1 + np.log(2), rtol=1e-5)
    np.testing.assert_allclose(la.ipr(ising_steady_state(0.3, 0.7, n=40)), 0.85370, atol=5e-6)  # C5
    assert la.ipr(np.arange(4)) == pytest.approx((1 + 16 + 81) / (1 + 4 + 9) ** 2)  # whole numbers are fields too


@given(hnp.arrays(float, 9, elements=st.floats(-1, 1, width=32)).filter(lambda w: np.abs(w).max() > 1e-3))
@settings(max_examples=30, deadline=None)
def test_entropies_are_ordered(w):
    with jax.enable_x64(True):
        renyi, shannon = -np.log(compiled(la.ipr)(w)), compiled(la.entropy)(w)
        assert renyi - 1e-9 <= shannon <= np.log(9) + 1e-9


def test_peak_counts_row_by_row_and_takes_the_first():
    w = np.zeros(TORUS)
    w[7, 3] = -2.0
    w[9, 1] = 2.0
    assert la.peak(w, ndim=2) == 7 * TORUS[1] + 3
    assert la.peak_sign(w, ndim=2) == -1


def frechet(p, steps=100):
    """Least root mean square distance of a law on a ring from any point of a fine grid, and that point."""
    n = len(p)
    spread = [np.sum(p * ring_offset(np.arange(n) - c, n) ** 2) for c in np.arange(n * steps) / steps]
    return np.argmin(spread) / steps, np.sqrt(np.min(spread))


@pytest.mark.parametrize("seed", range(4))
def test_centre_and_width_against_a_scan(seed):
    w = RNG(seed).normal(size=N) * (bump(29.7, 4.0) + 0.1 * seed)
    centre, width = frechet(w**2 / np.sum(w**2))
    # The scan stops within 1/200 of the best point, where the variance is off by at most its square.
    np.testing.assert_allclose(la.width(w), width, atol=(1 / 200) ** 2 / width)
    assert abs(ring_offset(la.centre(w) - centre, N)) < 1 / 100
    torus = RNG(seed).normal(size=TORUS)
    p = torus**2 / np.sum(torus**2)
    (row, high), (column, wide) = frechet(p.sum(1)), frechet(p.sum(0))
    np.testing.assert_allclose(la.width(torus, ndim=2), np.sqrt((high**2 + wide**2) / 2), atol=1e-4)
    assert np.all(np.abs(ring_offset(la.centre(torus, ndim=2) - np.array([row, column]), np.array(TORUS))) < 1 / 100)


def test_closed_forms_of_width():
    np.testing.assert_allclose(la.width(bump(7.3, 2.0)), 2 / np.sqrt(2), rtol=1e-9)
    np.testing.assert_allclose(la.width(np.ones(N)), np.sqrt(N**2 / 12 - 1 / 12), rtol=1e-9)
    np.testing.assert_allclose(la.width(np.eye(N)), 0, atol=1e-7)
    assert np.all(la.width(np.eye(N, dtype=np.float32)) == 0)


# Spectrum ---------------------------------------------------------------------------------------------------------


def modes(shape):
    """One frequency of each pair of mirror images, with the normalised cosine and sine that exist for it."""
    seen = set()
    for k in itertools.product(*(range(n) for n in shape)):
        mirror = tuple((-i) % n for i, n in zip(k, shape, strict=True))
        if mirror in seen:
            continue
        seen.add(k)
        pair = [wave(k, phase, shape) for phase in (0, -np.pi / 2)]
        yield k, [m / np.linalg.norm(m) for m in pair if np.linalg.norm(m) > 1e-6]


@pytest.mark.parametrize("shape", [(9,), (10,), (1,), (2,), (4, 6), (5, 4), (4, 5), (3, 3), (1, 4), (2, 1)])
def test_spectrum_is_the_power_in_each_real_mode(shape):
    ndim, w = len(shape), RNG(1).normal(size=shape)
    power = np.asarray(la.spectrum(w, ndim=ndim))
    assert power.shape == (*shape[:-1], shape[-1] // 2 + 1)
    np.testing.assert_allclose(power.sum(), np.sum(w**2))
    for k, pair in modes(shape):
        expected = sum(np.sum(w * m) ** 2 for m in pair)
        places = {k, tuple((-i) % n for i, n in zip(k, shape, strict=True))}
        np.testing.assert_allclose(sum(power[p] for p in places if p[-1] <= shape[-1] // 2), expected, atol=1e-12)
        assert sum(power[p] > 1e-12 for p in places if p[-1] <= shape[-1] // 2) == 1


@pytest.mark.parametrize(("shape", "cycles", "found"), [
    ((N,), (0,), 0), ((N,), (5,), 5), ((N,), (16,), 16), ((9,), (7,), 2),
    (TORUS, (0, 0), (0, 0)), (TORUS, (2, 3), (2, 3)), (TORUS, (-2, 3), (-2, 3)), (TORUS, (2, -3), (-2, 3)),
    (TORUS, (-4, 0), (4, 0)), (TORUS, (6, 5), (6, 5)), (TORUS, (-3, 5), (3, 5)),
])  # fmt: skip
def test_dominant_frequency_of_a_wave(shape, cycles, found):
    w = wave(cycles, 0.4, shape) + 0.1 * RNG(2).normal(size=shape)
    np.testing.assert_array_equal(la.dominant_frequency(w, ndim=len(shape)), found)


def test_dominant_frequency_can_leave_the_constant_out():
    w = 3 + np.stack([wave([4]), wave([11])])
    np.testing.assert_array_equal(la.dominant_frequency(w), [0, 0])
    np.testing.assert_array_equal(la.dominant_frequency(w, constant=False), [4, 11])


@pytest.mark.parametrize("s", [1.2, 2.0, 4.0])
def test_uncertainty_of_bumps_and_packets(s):
    # Beyond s = 4 the bump feels that the ring of 32 is closed, below s = 1.2 that it has pixels.
    np.testing.assert_allclose(la.uncertainty(bump(7.3, s)), 0.5, rtol=1e-5)
    round_bump = np.outer(bump(5.1, s, 30), bump(11.8, s, 32))
    np.testing.assert_allclose(la.uncertainty(round_bump, ndim=2), 0.5, rtol=1e-5)
    long_bump = np.outer(bump(5.1, 1.5, 30), bump(11.8, 3.0, 32))
    np.testing.assert_allclose(la.uncertainty(long_bump, ndim=2), (1.5**2 + 3**2) / (4 * 1.5 * 3), rtol=1e-5)


def test_uncertainty_of_a_wave_packet_and_of_the_extremes():
    s, cycles = 3.0, 8
    kappa = 2 * np.pi * cycles / N
    # The two halves of the spectrum overlap by exp(-(kappa s)^2), which is 2e-10.
    np.testing.assert_allclose(
        la.uncertainty(gabor(9.4, s, cycles, 0.3)), np.sqrt(kappa**2 * s**2 / 2 + 0.25), rtol=1e-6
    )
    np.testing.assert_allclose(la.uncertainty(np.stack([np.ones(N), np.eye(N)[3]])), 0, atol=1e-6)


def test_uncertainty_of_fields_trained_to_the_ising_steady_state():
    """sigma_k of delta + exponential, from the derivative of the band-limited interpolation."""
    w = ising_steady_state(0.3, 0.7, n=40)
    k = np.fft.fftfreq(40) * 2 * np.pi
    slope = np.fft.ifft(1j * k * np.where(np.abs(k) > 3.14, 0, 1) * np.fft.fft(w)).real
    nyquist = np.sum(w * (-1.0) ** np.arange(40)) ** 2 / 40 * np.pi**2
    sigma_k = np.sqrt((np.sum(slope**2) + nyquist) / np.sum(w**2))
    sigma_x = np.sqrt(np.sum(w**2 * ring_offset(np.arange(40) - 6, 40) ** 2) / np.sum(w**2))
    np.testing.assert_allclose(la.uncertainty(w), sigma_x * sigma_k, rtol=1e-9)


# Fits -------------------------------------------------------------------------------------------------------------


def best_sinusoid(w, offset):
    """By linear least squares at every frequency."""
    best = (np.inf, None, None)
    for k, pair in modes(w.shape):
        if offset and not any(k):
            continue
        design = np.stack([m.ravel() for m in pair] + [np.ones(w.size)] * offset, axis=-1)
        nearest = design @ np.linalg.lstsq(design, w.ravel())[0]
        best = min(best, (np.linalg.norm(w.ravel() - nearest) / np.linalg.norm(w), k, tuple(nearest)))
    return best[0], best[1], np.reshape(best[2], w.shape)


@pytest.mark.slow
@pytest.mark.parametrize("mean", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("shape", [(9,), (10,), (4, 6), (5, 5)])
def test_sinusoid_is_the_best_of_all_frequencies(shape, offset, mean):
    w = RNG(3).normal(size=shape) + mean
    found = la.fit_sinusoid(w, ndim=len(shape), offset=offset)
    error, k, nearest = best_sinusoid(w, offset)
    np.testing.assert_allclose(found.error, error, rtol=1e-9)
    np.testing.assert_allclose(found.field, nearest, atol=1e-9)
    frequency = np.atleast_1d(found.frequency)
    assert tuple(frequency % shape) in {k, tuple(-np.array(k) % shape)}
    formula = found.offset + found.amplitude * wave(frequency, float(found.phase), shape)
    np.testing.assert_allclose(formula, nearest, atol=1e-9)
    assert found.amplitude >= 0
    assert offset or found.offset == 0


def test_sinusoid_with_and_without_offset_differ_by_the_other_part():
    """A flat field with a small wave: "pure constant" misses the wave, "mode + offset" nothing."""
    w = -0.041 + 0.003 * wave([1], 0.7)
    with_offset, pure = la.fit_sinusoid(w), la.fit_sinusoid(w, offset=False)
    np.testing.assert_allclose(with_offset.error, 0, atol=1e-12)
    np.testing.assert_allclose([with_offset.offset, with_offset.amplitude, with_offset.phase], [-0.041, 0.003, 0.7])
    np.testing.assert_allclose(pure.error, 0.003 / np.sqrt(2) / np.sqrt(0.041**2 + 0.003**2 / 2))
    np.testing.assert_allclose([pure.frequency, pure.amplitude, abs(pure.phase)], [0, 0.041, np.pi])


@pytest.mark.parametrize(("centre", "s", "cycles", "phase", "offset"), [
    (5.3, 2.0, 4.2, 0.4, 0.1), (30.9, 1.3, 7.0, -1.5, 0.0), (12.0, 4.0, 3.1, 2.5, -0.2), (20.4, 1.0, 0.0, 0.0, 0.3),
    (3.0, 6.0, 9.5, 1.0, 0.0),
])  # fmt: skip
def test_gabor_on_the_ring_is_recovered(centre, s, cycles, phase, offset):
    w = gabor(centre, s, cycles, phase, offset, amplitude=1.7)
    found = la.fit_gabor(w)
    assert found.error < 1e-5  # 60 steps end at rounding or within this of it
    np.testing.assert_allclose(found.r2, 1, atol=1e-8)
    parameters = [found.amplitude, found.centre, found.width, found.frequency, found.offset]
    np.testing.assert_allclose(parameters, [1.7, centre, s, cycles, offset], atol=1e-3)
    np.testing.assert_allclose(np.cos(found.phase - phase), 1, atol=1e-5)
    np.testing.assert_allclose(found.field, w, atol=3e-5)


@pytest.mark.parametrize(("centre", "widths", "orientation", "cycles", "phase", "offset"), [
    ((5.2, 7.7), (1.5, 2.2), 0.7, 0.2, 0.5, 0.1), ((0.2, 9.7), (1.5, 1.2), 2.2, 0.15, 1.5, -0.1),
    ((3.0, 3.0), (1.0, 1.8), 0.6, 0.0, 0.0, 0.0),
])  # fmt: skip
def test_gabor_on_the_torus_is_recovered(centre, widths, orientation, cycles, phase, offset):
    w = gabor_2d(centre, widths, orientation, cycles, phase, offset, amplitude=1.7)
    found = la.fit_gabor(w, ndim=2)
    assert found.error < 1e-4
    np.testing.assert_allclose([found.amplitude, found.offset], [1.7, offset], atol=1e-3)
    np.testing.assert_allclose(found.centre, centre, atol=1e-3)
    if cycles:
        direction = cycles * np.array([np.cos(orientation), np.sin(orientation)])
        np.testing.assert_allclose(found.frequency, direction * TORUS, atol=1e-2)
        np.testing.assert_allclose(found.width, widths, atol=1e-2)
    else:
        # Without a wave, along and across may change places.
        np.testing.assert_allclose(np.sort(found.width), np.sort(widths), atol=1e-2)
    np.testing.assert_allclose(found.field, w, atol=1e-3)


def scipy_gabor_error(w):
    """The best of scipy's Levenberg-Marquardt from a grid of starts."""
    n = len(w)

    def residual(p):
        d = ring_offset(np.arange(n) - p[0], n)
        envelope, angle = np.exp(-(d**2) / (2 * np.exp(2 * np.clip(p[1], -1.6, 6)))), 2 * np.pi * p[2] * d / n
        return envelope * (p[3] * np.cos(angle) - p[4] * np.sin(angle)) + p[5] - w

    starts = itertools.product(range(0, n, 6), np.log([1.5, 4.0]), [0.0, 1.0, 3.0, 6.0])
    ends = [optimize.least_squares(residual, [*s, 1.0, 0.0, 0.0], method="lm", max_nfev=400) for s in starts]
    return np.sqrt(2 * min(e.cost for e in ends)) / np.linalg.norm(w)


@pytest.mark.parametrize("seed", [0, 1])
def test_gabor_fit_is_as_good_as_that_of_scipy(seed):
    rng = RNG(seed)
    w = gabor(rng.uniform(0, N), 2.5, rng.uniform(0, 6), rng.uniform(0, 6)) + 0.1 * rng.normal(size=N)
    assert la.fit_gabor(w).error <= scipy_gabor_error(w) * 1.001  # the part below which fits count as equal


@pytest.mark.slow
def test_gabor_fits_of_other_shapes():
    w = ising_steady_state(0.3, 0.7, n=40)
    found = la.fit_gabor(w)
    np.testing.assert_allclose(found.error, 0.117, atol=5e-4)  # as an independent fit found
    np.testing.assert_allclose(found.error, np.linalg.norm(w - found.field) / np.linalg.norm(w), rtol=1e-9)
    np.testing.assert_allclose(found.r2, 1 - np.sum((w - found.field) ** 2) / np.sum((w - w.mean()) ** 2), rtol=1e-9)
    assert found.frequency == 0
    moved = la.fit_gabor(-np.roll(w, 29))
    np.testing.assert_allclose([moved.error, moved.centre], [found.error, (found.centre + 29) % 40], atol=1e-5)
    wide = la.fit_gabor(wave([3], 0.8))  # a pure sinusoid is a Gabor of endless width
    assert wide.error < 1e-3
    np.testing.assert_allclose(wide.frequency, 3, atol=1e-2)
    assert jnp.isnan(la.fit_gabor(np.ones(N)).r2)


@pytest.mark.parametrize(("j0", "j1"), [(0.3, 0.7), (0.1, 0.5)])
def test_bump_is_the_steady_state_of_ising_rings(j0, j1):
    """C5 gives all parameters in closed form for an endless ring; 32 pixels lack tanh((J0 + J1)/2)^16, 4e-6."""
    found = la.fit_bump(ising_steady_state(j0, j1, at=13))
    amplitude = np.tanh(j1 - j0) / (2 * np.sinh(j0 + j1))
    top = np.cosh((3 * j0 - j1) / 2) / (2 * np.cosh((j0 + j1) / 2) * np.cosh(j1 - j0))
    assert found.error < 1e-5
    assert found.pixel == 13
    expected = [top - amplitude, amplitude, 13, -1 / np.log(np.tanh((j0 + j1) / 2)), 0]
    parameters = [found.delta, found.amplitude, found.centre, found.length, found.offset]
    np.testing.assert_allclose(parameters, expected, atol=1e-5)
    assert found.error < la.fit_gabor(ising_steady_state(j0, j1, at=13)).error


def test_bump_on_the_torus_and_on_a_gaussian():
    rows, columns = (ring_offset(i - c, n) for i, c, n in zip(np.indices(TORUS), (4.3, 8.2), TORUS, strict=True))
    w = 0.1 - 0.8 * np.exp(-np.hypot(rows / 1.5, columns / 2.2))
    w[4, 8] -= 0.7
    found = la.fit_bump(w, ndim=2)
    assert found.error < 1e-4
    assert found.pixel == 4 * TORUS[1] + 8
    np.testing.assert_allclose([found.delta, found.amplitude, found.offset], [-0.7, -0.8, 0.1], atol=1e-3)
    np.testing.assert_allclose(np.stack([found.centre, found.length]), [(4.3, 8.2), (1.5, 2.2)], atol=1e-3)
    assert la.fit_gabor(bump(9.6, 3.0)).error < 1e-6 < 0.02 < la.fit_bump(bump(9.6, 3.0)).error


# Alignment --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(9,), (10,), (4, 6)])
def test_distance_against_all_shifts_and_signs(shape):
    w, v = RNG(4).normal(size=(2, *shape))
    ndim, axes = len(shape), tuple(range(len(shape)))
    moves = {
        (shift, sign): np.linalg.norm(w - sign * np.roll(v, shift, axes))
        for shift in itertools.product(*map(range, shape))
        for sign in (1, -1)
    }
    best = min(moves, key=moves.__getitem__)
    found = la.align(w, v, ndim=ndim)
    assert (tuple(np.atleast_1d(found.shift)), found.sign) == best
    np.testing.assert_allclose([found.distance, la.distance(v, w, ndim=ndim)], moves[best])
    np.testing.assert_allclose(found.field, best[1] * np.roll(v, best[0], axes))


def test_distance_keeps_its_digits_and_its_edges():
    w = np.float32(RNG(5).normal(size=N))
    near = -np.roll(w, 5) * np.float32(1 + 1e-5)
    np.testing.assert_allclose(la.distance(w, near), 1e-5 * np.linalg.norm(w), rtol=0.05)
    np.testing.assert_allclose(la.distance(np.zeros(N), w), np.linalg.norm(w), rtol=1e-6)
    assert la.align(w, np.zeros(N)).sign == 1
    assert np.isnan(la.distance(w, np.full(N, np.nan)))
    assert la.align(1e-30 * w, 1e-30 * near).shift == la.align(w, near).shift == N - 5


def test_distance_broadcasts_and_refuses():
    w = RNG(6).normal(size=(3, 1, N))
    v = RNG(7).normal(size=(2, N))
    expected = [[la.distance(a, b) for b in v] for a in w[:, 0]]
    np.testing.assert_allclose(la.distance(w, v), expected)
    np.testing.assert_allclose(jax.jit(la.distance)(w, v), expected)
    with pytest.raises(ValueError, match="pixels cannot be aligned"):
        la.distance(w, v[:, 1:])
    with pytest.raises(ValueError, match="do not broadcast"):
        la.distance(np.ones((3, N)), v)


# Populations ------------------------------------------------------------------------------------------------------


def units_with_peaks(*pixels, shape=(N,)):
    w = np.full((len(pixels), *shape), 0.01)
    for unit, pixel in zip(w, pixels, strict=True):
        unit[pixel] = (-1.0) ** len(unit)
    return w


@pytest.mark.parametrize("peaks", [range(0, N, 4), range(N), [3], [3, 3, 3, 3], [0, 1, 5, 20], [31, 2, 30, 9, 9]])
def test_tiling_of_a_ring_from_its_gaps(peaks):
    # From a point of a gap g the mean squared distance to the nearer end is g^2 / 12.
    gaps = np.diff(np.sort([*peaks, min(peaks) + N]))
    even = N / len(peaks)
    expected = np.sqrt(even**2 / np.sum(gaps**3 / N))
    np.testing.assert_allclose(la.tiling(units_with_peaks(*peaks)), expected)


def test_tiling_extremes_of_a_ring():
    assert la.tiling(units_with_peaks(*range(1, N, 8))) == pytest.approx(1)
    assert la.tiling(units_with_peaks(5, 5, 5, 5)) == pytest.approx(1 / 4)


def test_tiling_of_a_torus():
    side = 12
    grid = list(itertools.product(range(0, side, 4), range(0, side, 4)))
    square = la.tiling(units_with_peaks(*grid, shape=(side, side)), ndim=2)
    np.testing.assert_allclose(square, np.sqrt(5 / (18 * np.sqrt(3)) / (1 / 6)))  # a hexagon against a square
    peaks = RNG(8).integers(0, TORUS, size=(6, 2))
    points = RNG(9).uniform(0, TORUS, size=(200_000, 2))
    nearest = np.min([np.sum(ring_offset(points - p, np.array(TORUS)) ** 2, axis=1) for p in peaks], axis=0)
    expected = np.sqrt(5 / (18 * np.sqrt(3)) * np.prod(TORUS) / 6 / nearest.mean())
    spread = nearest.std() / nearest.mean() / np.sqrt(len(points)) / 2
    # 6 standard errors, and the half pixels that borders cut: up to .6% in 20 draws against a fine grid.
    np.testing.assert_allclose(
        la.tiling(units_with_peaks(*map(tuple, peaks), shape=TORUS), ndim=2), expected, rtol=6 * spread + 6e-3
    )


@pytest.mark.parametrize("ndim", [1, 2])
def test_spacing_against_a_loop(ndim):
    shape = SHAPES[ndim]
    peaks = [tuple(p) for p in RNG(10).integers(0, shape, size=(7, ndim))]
    expected = [
        min(np.linalg.norm(ring_offset(np.subtract(p, q), np.array(shape))) for j, q in enumerate(peaks) if i != j)
        for i, p in enumerate(peaks)
    ]
    np.testing.assert_allclose(la.spacing(units_with_peaks(*peaks, shape=shape), ndim=ndim), expected)


@pytest.mark.parametrize("function", [la.tiling, la.spacing])
def test_units_can_be_left_out(function):
    w = units_with_peaks(0, 8, 11, 16, 24)
    w[2] = 0
    kept = np.delete(w, 2, axis=0)
    some = np.array([True, True, False, True, False])
    np.testing.assert_allclose(np.delete(np.broadcast_to(function(w), 5), 2), np.broadcast_to(function(kept), 4))
    masked = np.broadcast_to(function(w, where=some), 5)[some]
    np.testing.assert_allclose(masked, np.broadcast_to(function(w[some]), 3))
    np.testing.assert_allclose(jax.jit(lambda m: function(w, where=m))(some), function(w, where=some))
    assert np.all(np.isnan(function(w, where=np.zeros(5, bool))))
    stack = np.stack([w, w[::-1]])
    np.testing.assert_allclose(function(stack)[1], function(w[::-1]))
    for bad, words in [(lambda: function(w[0]), "axis of units"), (lambda: function(w, where=some[:3]), "where")]:
        with pytest.raises(ValueError, match=words):
            bad()


def test_a_unit_alone_has_no_neighbour():
    assert np.all(np.isnan(la.spacing(units_with_peaks(4))))
    assert la.tiling(units_with_peaks(4)) == pytest.approx(1)


KINDS = [
    (np.eye(40)[3], Kind.LOCALIZED),
    (bump(7.3, 1.5, 40), Kind.LOCALIZED),
    (bump(7.3, 3.9, 40), Kind.LOCALIZED),  # as wide as what NLGP(.5) gives, IPR .10
    (-ising_steady_state(0.3, 0.7, n=40), Kind.LOCALIZED),
    (ising_steady_state(0.7, 0.3, n=40), Kind.LOCALIZED),  # a centre and a surround
    (bump(7.3, 9.0, 40), Kind.OSCILLATORY),
    (np.ones(40), Kind.OSCILLATORY),
    (wave([1], 0.2, (40,)), Kind.OSCILLATORY),
    (0.5 + wave([12], 0.2, (40,)), Kind.OSCILLATORY),
    (wave([12], 0.2, (40,)) * (1 + 0.5 * wave([1], 1.0, (40,))), Kind.OSCILLATORY),
    (gabor(20.2, 2.8, 8.0, 0.5, n=40), Kind.LOCALIZED),
    (np.eye(40)[3] + np.eye(40)[17] + np.eye(40)[30], Kind.MIXED),  # speckle: few pixels, far apart
    (wave([3], 0.2, (40,)) + wave([8], 0.9, (40,)) + wave([12], 0.9, (40,)), Kind.MIXED),
    (np.zeros(40), Kind.UNDEFINED),
    (np.full(40, np.nan), Kind.UNDEFINED),
]


@pytest.mark.parametrize(("w", "kind"), KINDS)
def test_kinds_on_a_ring(w, kind):
    for shift in (0, 13):
        assert Kind(int(la.classify(np.roll(-w, shift)))) is kind


def test_kinds_on_a_torus():
    side = (16, 16)
    examples = [
        gabor_2d((3.2, 9.9), (1.5, 1.5), 0, 0, 0, shape=side),
        wave((2, -3), 0.2, side),
        np.ones(side),
        gabor_2d((3.2, 9.9), (2.5, 2.5), 0.6, 0.25, 0.5, shape=side),
        RNG(11).normal(size=side),
    ]
    expected = [Kind.LOCALIZED, Kind.OSCILLATORY, Kind.OSCILLATORY, Kind.LOCALIZED, Kind.MIXED]
    np.testing.assert_array_equal(la.classify(np.stack(examples), ndim=2), expected)


def test_a_bump_is_localized_up_to_the_width_at_which_it_is_no_longer_concentrated():
    limit = 40 / np.sqrt(2 * np.pi) / 4  # n IPR of a bump of width s is n/(sqrt(2 pi) s)
    assert la.localized(bump(7.3, 0.99 * limit, 40))
    assert not la.localized(bump(7.3, 1.01 * limit, 40))


def test_alike_bumps_are_alike_whatever_their_dominant_frequency():
    """One pixel with a little noise has a flat spectrum, so that its dominant frequency is chance."""
    noisy = np.eye(40)[3] + 0.01 * RNG(5).normal(size=(200, 40))
    assert np.ptp(la.dominant_frequency(noisy)) > 3
    assert np.all(la.classify(noisy) == Kind.LOCALIZED)


def test_random_fields_are_rarely_localized():
    """3 +- 0.8 is n IPR of noise at 40 pixels; those beyond 4 are speckle, not gathered in one place."""
    noise = RNG(12).normal(size=(20_000, 40))
    count = la.concentration(noise)
    assert np.mean(count) == pytest.approx(2.86, abs=0.05)  # 3 n/(n + 2), exactly
    assert np.std(count) == pytest.approx(0.7, abs=0.1)
    assert np.mean(la.localized(noise)) < 0.01 < np.mean(count >= 4)


@pytest.mark.parametrize("n", [8, 10, 39, 40])
def test_the_best_quarter_by_plain_sums(n):
    w = RNG(n).normal(size=n)
    p = w**2 / np.sum(w**2)
    whole, part = divmod(n, 4)
    twice = np.r_[p, p]
    sums = [twice[i : i + whole].sum() + part / 4 * twice[i + whole] for i in range(n)]
    np.testing.assert_allclose(la.gathered(w), max(sums), rtol=1e-5)


def test_the_best_quarter_of_a_torus_by_plain_sums():
    w = RNG(3).normal(size=(6, 8))
    p = np.tile(w**2 / np.sum(w**2), (2, 2))
    sums = [p[i : i + 3, j : j + 4].sum() for i in range(6) for j in range(8)]
    np.testing.assert_allclose(la.gathered(w, ndim=2), max(sums), rtol=1e-5)


def test_the_best_quarter_of_known_fields():
    assert la.gathered(np.ones(40)) == pytest.approx(0.25, rel=1e-5)
    expected = 1 / 4 + 1 / (2 * np.pi)  # the integral of cos^2 over a quarter about its top
    assert la.gathered(wave([1], 0.0, (4000,))) == pytest.approx(expected, rel=1e-3)
    assert np.isnan(la.gathered(np.zeros(40)))
    assert not la.localized(np.zeros(40))


# Gates ------------------------------------------------------------------------------------------------------------


def test_gate_agreement_against_loops():
    rng = RNG(13)
    weights, biases = rng.normal(size=(2, 4, 3, *TORUS)), rng.normal(size=(2, 4, 3))
    samples = rng.normal(size=(25, *TORUS))
    h = la.preactivations(weights, samples, biases, ndim=2)
    gates = np.zeros((2, 4, 3, 25), bool)
    for i in np.ndindex(2, 4, 3, 25):
        gates[i] = np.sum(weights[i[:3]] * samples[i[3]]) + biases[i[:3]] >= 0
    p = [[[np.mean(gates[s, t, k] == gates[s, t + 1, k]) for k in range(3)] for t in range(3)] for s in range(2)]
    unif = [[np.mean([len(set(gates[s, :, k, x])) == 1 for x in range(25)]) for k in range(3)] for s in range(2)]
    for given_gates in (h, gates):
        np.testing.assert_allclose(la.gate_agreement(given_gates), p)
        np.testing.assert_allclose(la.uniform_gate_agreement(given_gates), unif)
    np.testing.assert_allclose(jax.jit(la.gate_agreement)(h), p)
    np.testing.assert_allclose(jax.vmap(la.uniform_gate_agreement)(h), unif)
    broken = np.array(h)
    broken[1, 2, 0, 3] = np.nan
    expected = np.array(p)
    expected[1, 1:3, 0] = np.nan
    np.testing.assert_allclose(la.gate_agreement(broken), expected)
    assert np.isnan(la.uniform_gate_agreement(broken)[1, 0])
    np.testing.assert_allclose(la.uniform_gate_agreement(broken)[0], unif[0])


def test_a_trajectory_brings_its_biases():
    rng = RNG(25)
    biases = rng.normal(size=(2, 4, 3))
    run = Trajectory(np.arange(4.0), rng.normal(size=(2, 4, 3, *TORUS)), biases=biases, pixel_ndim=2)
    x = rng.normal(size=(5, *TORUS))
    for given_, expected in [(None, biases), (0 * biases, 0 * biases)]:
        h = np.einsum("stuij,xij->stux", run.weights, x) + expected[..., None]
        np.testing.assert_allclose(la.preactivations(run, x, given_), h)


def test_gate_agreement_of_gaussian_data_is_the_angle_between_weights():
    angle, count = 0.4, 20_000
    w = np.zeros((2, 1, N))
    w[0, 0, 2], w[1, 0, 2], w[1, 0, 9] = 1.0, 3 * np.cos(angle), 3 * np.sin(angle)
    h = la.preactivations(w, RNG(14).normal(size=(count, N)))
    p = 1 - angle / np.pi
    tolerance = 6 * np.sqrt(p * (1 - p) / count)
    np.testing.assert_allclose(la.gate_agreement(h), [[p]], atol=tolerance)
    np.testing.assert_allclose(la.uniform_gate_agreement(h), la.gate_agreement(h)[0])
    assert la.gate_agreement(np.zeros((2, 1, 5))).item() == 1  # g = 1(h >= 0): zero is open


def test_gates_refuse_wrong_shapes():
    w, x = np.ones((4, 3, N)), np.ones((5, N))
    for call, words in [
        (lambda: la.preactivations(w, x[:, 1:]), "no batch"),
        (lambda: la.preactivations(w, x[0]), "no batch"),
        (lambda: la.preactivations(w, x, np.ones(4)), "biases"),
        (lambda: la.gate_agreement(np.ones((3, 5))), "time, units, samples"),
        (lambda: la.uniform_gate_agreement(np.ones((3, 1, 0))), "time, units, samples"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


def test_excess_kurtosis_against_scipy():
    h = RNG(15).standard_t(5, size=(3, 4, 500)) * 1e-3 + 2
    np.testing.assert_allclose(la.excess_kurtosis(h), stats.kurtosis(h, axis=-1), rtol=1e-9)
    np.testing.assert_allclose(la.excess_kurtosis(np.array([1.0, -1.0, 1.0, -1.0])), -2)
    np.testing.assert_allclose(jax.vmap(jax.jit(la.excess_kurtosis))(h), stats.kurtosis(h, axis=-1), rtol=1e-9)
    assert np.isnan(la.excess_kurtosis(np.ones(7)))


# Components -------------------------------------------------------------------------------------------------------


def test_ica_unmixes_independent_sources():
    rng = RNG(16)
    sources = rng.uniform(-1, 1, size=(4000, 6))
    mixing = rng.normal(size=(6, 6))
    filters = la.ica((sources @ mixing.T).reshape(4000, 2, 3), 6, seed=1)
    assert filters.shape == (6, 2, 3)
    np.testing.assert_allclose(np.linalg.norm(filters.reshape(6, -1), axis=1), 1)
    gains = np.abs(filters.reshape(6, -1) @ mixing)
    # Each filter passes one source, each source another one; the rest leaks as 1/sqrt(samples), a few percent.
    assert sorted(gains.argmax(axis=1)) == list(range(6))
    assert np.all(np.sort(gains, axis=1)[:, -2] < 0.1 * gains.max(axis=1))
    np.testing.assert_array_equal(filters, la.ica((sources @ mixing.T).reshape(4000, 2, 3), 6, seed=1))


def test_ica_refuses_what_it_cannot_do():
    for samples, components, words in [
        (np.ones((5, 4)), 5, "1 to 4"),
        (np.ones((5, 4)), 0, "1 to 4"),
        (np.ones(5), 1, "n, \\*pixels"),
        (np.full((5, 4), np.nan), 2, "finite"),
    ]:
        with pytest.raises(ValueError, match=words):
            la.ica(samples, components)
