"""The normal form at the flat field's threshold, against projections of the flow and steady states by root finding."""

import numpy as np
import pytest
from numpy.polynomial import Chebyshev

from localax.stimuli import NLGP, Gaussian, Ising, Kur, Task
from localax.theory import amplifier, critical_gain, critical_k, flat_growth_rates
from localax.theory._pixel_law import pixel_law
from localax.theory.flows import effective_field
from localax.theory.steady import flat_height, normal_form, steady_state
from localax.theory.steady._normal_form import _derivatives

pytestmark = pytest.mark.usefixtures("x64")


def nlgp(gain, size=40):
    return Task([NLGP(size, 1, gain), NLGP(size, 3, gain)], [0, 1])


def kur(k, short=0.3, long=0.7):
    return Task([Kur(40, short, k), Kur(40, long, k)], [0, 1])


@pytest.mark.parametrize("stimulus", [Ising(40, 0.7), Gaussian(40, 3), NLGP(40, 3, 0.4)])
def test_derivatives_of_phi(stimulus):
    """phi itself on Chebyshev's points about a, and the derivatives of the polynomial through them."""
    law, a = pixel_law(stimulus.marginal), 0.3
    phi = Chebyshev.interpolate(lambda r: law.amplify(r / np.sqrt(1 - r**2))[0], 24, domain=[0.1, 0.5])
    wanted = [a**n * phi.deriv(n)(a) for n in range(4)]
    np.testing.assert_allclose(_derivatives(stimulus, a), wanted, atol=1e-9)


def projected(task, form, amplitude):
    """dA/dt, and what is left of the slaved modes, at a field with them in it."""
    size = task.shape[0]
    x = 2 * np.pi * form.mode * np.arange(size) / size
    square = amplitude**2
    w = 1 + form.mean * square + amplitude * np.cos(x) + form.harmonic * square * np.cos(2 * x)
    flow = np.asarray(effective_field(task)(form.height * w)) / form.height
    return 2 * flow @ np.cos(x) / size, flow.mean(), 2 * flow @ np.cos(2 * x) / size


def test_cubic_coefficient_by_projection():
    """Three classes, two of them with labels: (dA/dt)/A - rate over A^2 has the limit "cubic", with an error of A^2."""
    task = Task([NLGP(40, 1, 0.4), NLGP(40, 3, 0.3), Ising(40, 0.4)], [0, 1, 0.5], [0.5, 0.3, 0.2])
    mode = 2
    form = normal_form(task, mode)
    assert form.height == pytest.approx(flat_height(task), rel=1e-8)
    assert form.rate == pytest.approx(flat_growth_rates(task)[mode], abs=1e-12)
    at = {a: (projected(task, form, a)[0] / a - form.rate) / a**2 for a in (0.02, 0.04)}
    limit = (4 * at[0.02] - at[0.04]) / 3
    # phi in the flow is interpolated to 1e-9, which A^3 = 8e-6 divides.
    assert form.cubic == pytest.approx(limit, rel=2e-3, abs=2e-4)
    _, mean, harmonic = projected(task, form, 0.02)
    assert abs(mean) < 1e-6
    assert abs(harmonic) < 1e-6


@pytest.mark.slow
def test_square_root_law_where_continuous():
    """Relative amplitude of the steady wave just beyond the threshold; the next order is a relative A^2 = .0025."""
    gain = critical_gain(1, 3, 40, low=0.2, high=0.25)
    task = nlgp(gain * 1.001)
    form = normal_form(task)
    assert form.continuous
    wave = np.cos(2 * np.pi * np.arange(40) / 40)
    state = steady_state(task, form.height * (1 + form.amplitude * wave))
    assert state.stable
    assert 2 * state.field @ wave / 40 / form.height == pytest.approx(form.amplitude, rel=0.005)
    assert np.isnan(normal_form(nlgp(gain * 0.999)).amplitude)


def test_unstable_wave_where_not():
    """Kur at (.3, .7): the wave is there where the flat field is stable, and is itself unstable."""
    k = critical_k(0.3, 0.7, 40, low=5.8, high=5.84)
    task = kur(k * 0.9999)
    form = normal_form(task)
    assert not form.continuous
    assert form.rate < 0
    wave = np.cos(2 * np.pi * np.arange(40) / 40)
    state = steady_state(task, form.height * (1 + form.amplitude * wave))
    assert state.unstable == 1
    assert 2 * state.field @ wave / 40 / form.height == pytest.approx(form.amplitude, rel=0.01)


def test_large_rings_of_light_tailed_laws_are_continuous():
    """cubic/(E - 1) tends to -sum p l_0/2 there: -1/2 of the damping, as every power but the third of phi is small."""
    size = 1600
    task = nlgp(critical_gain(1, 3, size, low=0.02, high=0.05), size)
    form = normal_form(task)
    long = task.stimuli[1]
    a = float(np.sqrt(long.covariance().sum() / size))
    damping = sum(s.covariance().sum() for s in task.stimuli) / 2
    assert form.cubic / (float(amplifier(long).elasticity(a)) - 1) / damping == pytest.approx(-0.5, rel=0.03)


def test_bad_input():
    with pytest.raises(ValueError, match=r"^normal_form: mode must be from 1 to 19, and not a third or a quarter"):
        normal_form(nlgp(0.3), 10)
    with pytest.raises(ValueError, match=r"^normal_form: task must be a Task on a ring"):
        normal_form(Task([NLGP((6, 6), 0.3, 0.3), NLGP((6, 6), 0.7, 0.3)], [0, 1]))
    with pytest.raises(ValueError, match=r"^normal_form: task must be of labels under which a flat field can rest"):
        normal_form(Task([NLGP(40, 1, 0.3), NLGP(40, 3, 0.3)], [0, -1]))
