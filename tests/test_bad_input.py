"""Wrong input gives one line that names the argument, its value and what would be right.

Run in a process of its own, because that is what a user meets: under pytest the shape checks would speak first.
"""

import json
import subprocess
import sys

import pytest

SIZE = "a whole number >= 2"
SAMPLES = "finite numbers of shape (n, pixels) or (n, height, width)"
CASES: dict[str, tuple[str, str, str]] = {
    # code: (argument, its value as shown, what would be right)
    "Gaussian(1, 1)": ("size", "1", SIZE),
    "Gaussian(0, 1)": ("size", "0", SIZE),
    "Gaussian(-5, 1)": ("size", "-5", SIZE),
    "Gaussian(True, 1)": ("size", "True", SIZE),
    "Gaussian(40.0, 1)": ("size", "40.0", SIZE),
    "Gaussian('40', 1)": ("size", "'40'", SIZE),
    "Gaussian(None, 1)": ("size", "None", SIZE),
    "NLGP((4, 1), 1, 1)": ("size", "(4, 1)", SIZE),
    "Kur((4, 4, 4), 1, 5)": ("size", "(4, 4, 4)", SIZE),
    "Ising(1, 1)": ("size", "1", SIZE),
    "Ising((4, 4), 1)": ("size", "(4, 4)", "a whole number"),
    "SinglePulse((4, 4), 1, 2)": ("size", "(4, 4)", "a ring"),
    "BlockPulse(True, 1)": ("size", "True", SIZE),
    "Elliptical(1, 1, Shell())": ("size", "1", SIZE),
    "Copula(1, Exponential(1), Uniform())": ("size", "1", SIZE),
    "NaturalPatches(401)": ("size", "401", "at most 400"),
    "Gaussian(40, 0)": ("lengthscale", "0", "> 0"),
    "Gaussian(40, -1.5)": ("lengthscale", "-1.5", "> 0"),
    "Gaussian(40, nan)": ("lengthscale", "nan", "a finite number > 0"),
    "NLGP(40, inf, 1)": ("lengthscale", "inf", "a finite number > 0"),
    "Kur(40, '1', 5)": ("lengthscale", "'1'", "> 0"),
    "Elliptical(40, None, Shell())": ("lengthscale", "None", "> 0"),
    "Gaussian(40, [1, 2])": ("lengthscale", "[1, 2]", "> 0"),
    "Gaussian(40, [[1], [1, 2]])": ("lengthscale", "[[1], [1, 2]]", "> 0"),
    "SquaredExponential(0)": ("lengthscale", "0", "> 0"),
    "PeriodicSquaredExponential(nan)": ("lengthscale", "nan", "> 0"),
    "Exponential(-1)": ("lengthscale", "-1", "> 0"),
    "CosineModulated(1, 1)": ("period", "1", ">= 2"),
    "NLGP(40, 1, 0)": ("gain", "0", ">= 1e-30"),
    "Erf(nan)": ("gain", "nan", ">= 1e-30"),
    "Erf(1e-170)": ("gain", "1e-170", ">= 1e-30"),
    "Erf(1e160)": ("gain", "1e+160", "<= 1e+30"),
    "Kur(40, 1, 1e300)": ("k", "1e+300", "<= 1e+12"),
    "RadialStudentT(1e17)": ("df", "1e+17", "<= 1e+12"),
    "Kur(40, 1, 2)": ("k", "2", "> 2"),
    "Kur(40, 1, 1.5)": ("k", "1.5", "> 2"),
    "Algebraic(2)": ("k", "2", "> 2"),
    "StudentT(2)": ("df", "2", "> 2"),
    "RadialStudentT(2)": ("df", "2", "> 2"),
    "RadialStudentT(nan)": ("df", "nan", "> 2"),
    "GeneralizedNormal(0)": ("shape", "0", ">= 0.25"),
    "Ising(40, nan)": ("coupling", "nan", ">= -100 and <= 100"),
    "Ising(40, 1e9)": ("coupling", "1000000000.0", "<= 100"),
    "SinglePulse(40, 0, 3)": ("shortest", "0", ">= 1"),
    "SinglePulse(40, 2.5, 3)": ("shortest", "2.5", "a whole number"),
    "SinglePulse(40, 4, 3)": ("longest", "3", "at least shortest (4)"),
    "SinglePulse(40, 4, 40)": ("longest", "40", "below size (40)"),
    "SinglePulse(40, 4, 5, (0, 2))": ("values", "(0, 2)", "one of (-1, 1), (0, 1)"),
    "SinglePulse(40, 4, 5, complement=1)": ("complement", "1", "true or false"),
    "BlockPulse(40, 41)": ("length", "41", "from 1 to size (40)"),
    "NaturalPatches(8, 'grey')": ("treatment", "'grey'", "one of 'raw'"),
    "CentreSurround(0)": ("centre", "0", ">= 1e-06"),
    "CentreSurround(1e-200)": ("centre", "1e-200", ">= 1e-06"),
    "Copula(40, Exponential, Uniform())": ("covariance", "Exponential", "a covariance"),
    "Copula(40, 'exponential', Uniform())": ("covariance", "'exponential'", "a covariance"),
    "Copula(40, Exponential(1), Uniform)": ("marginal", "Uniform", "a marginal"),
    "Copula(40, Exponential(1), Ising(40, 1).sample)": ("marginal", "BoundMethod", "a marginal"),
    "Elliptical(40, 1, 'shell')": ("radial", "'shell'", "a radial law"),
    "Elliptical(40, 1, Shell)": ("radial", "Shell", "a radial law"),
    "GaussianClone(3)": ("stimulus", "3", "a stimulus"),
    "GaussianClone(Empirical(np.ones((5, 4))))": ("stimulus", "Empirical", "varies"),
    "GaussianClone(np.zeros((9, 8)))": ("stimulus", "an array of shape (9, 8)", "lx.stimuli.Empirical(samples)"),
    "Affine(ising, 0)": ("scale", "0", "a finite number other than 0"),
    "Affine(ising, inf)": ("scale", "inf", "a finite number"),
    "Affine(ising, 1, nan)": ("offset", "nan", "a finite number"),
    "Affine(ising, 1e-50)": ("scale", "1e-50", "from 1e-15 to 1e+15 in size"),
    "Affine(ising, 1, 1e8)": ("offset", "100000000.0", "at most 100000 standard deviations (1)"),
    "RandomScale(ising, -1)": ("spread", "-1", "a finite number >= 0"),
    "Affine('ising')": ("stimulus", "'ising'", "a stimulus"),
    "Affine(np.zeros((9, 8)), 2)": ("stimulus", "an array of shape (9, 8)", "lx.stimuli.Empirical(samples)"),
    "Window(np.zeros((9, 8)), 2)": ("stimulus", "an array of shape (9, 8)", "lx.stimuli.Empirical(samples)"),
    "Window(ising, 1)": ("size", "1", SIZE),
    "Window(ising, 9)": ("size", "9", "no larger than the stimulus, 8"),
    "Window(ising, (2, 3))": ("size", "(2, 3)", "no larger than the stimulus, 8"),
    "Window(Gaussian((6, 6), 1), 3)": ("size", "3", "no larger than the stimulus, (6, 6)"),
    "check_stimulus(np.zeros((9, 8)))": ("stimulus", "an array of shape (9, 8)", "lx.stimuli.Empirical(samples)"),
    "theory.mean_gated_input(np.zeros((9, 8)), np.ones(8))": (
        "stimulus",
        "an array of shape (9, 8)",
        "lx.stimuli.Empirical(samples)",
    ),
    "Filtered('ising', [1])": ("stimulus", "'ising'", "a stimulus"),
    "Filtered(Ising(8, 1), 'x')": ("kernel", "'x'", "finite numbers"),
    "Filtered(Ising(8, 1), [[1], [1, 2]])": ("kernel", "[[1], [1, 2]]", "finite numbers"),
    "Filtered(Ising(8, 1), [nan])": ("kernel", "[nan]", "finite numbers"),
    "Filtered(Ising(8, 1), [1e200])": ("kernel", "[1e+200]", "finite numbers up to 1e15"),
    "Filtered(Ising(8, 1), [0.0])": ("kernel", "[0.0]", "leaves some"),
    "Filtered(Ising(8, 1), [])": ("kernel", "[]", "leaves some"),
    "Filtered(Ising(8, 1), [[1, 2]])": ("kernel", "array([[1., 2.]])", "no larger than the stimulus"),
    "Filtered(Ising(4, 1), [1, 2, 3, 4, 5])": ("kernel", "array([1., 2.", "no larger than the stimulus"),
    "Circulant([])": ("vector", "[]", "one per pixel"),
    "Circulant([[1], [1, 2]])": ("vector", "[[1], [1, 2]]", "one per pixel"),
    "Circulant([1, nan])": ("vector", "[1, nan]", "finite"),
    "Circulant([2.0, 1.0])": ("vector[0]", "2.0", "divide the vector"),
    "Circulant([1, 0.5, 0.2])": ("vector", "array([1. , 0.5, 0.2])", "at distance d and -d"),
    "Quantile(3)": ("lower", "3", "a function"),
    "Quantile(lambda p: p, 3)": ("upper", "3", "a function"),
    "Quantile(lambda p: -p)": ("lower", "<function", "increasing"),
    "Quantile(lambda p: -p**-0.5)": ("lower", "<function", "variance"),
    "Radial(3)": ("tail", "3", "a function"),
    "Radial(lambda q: q**-0.5)": ("tail", "<function", "finite, positive mean"),
    "Empirical([])": ("samples", "float64 array of shape (0,)", SAMPLES),
    "Empirical(np.zeros((0, 4)))": ("samples", "shape (0, 4)", SAMPLES),
    "Empirical([[1, 2], [1]])": ("samples", "[[1, 2], [1]]", SAMPLES),
    "Empirical(np.array([[1, None]], object))": ("samples", "object array of shape (1, 2)", SAMPLES),
    "Empirical([['a', 'b']])": ("samples", "array of shape (1, 2)", SAMPLES),
    "Empirical([[1.0, nan]])": ("samples", "not finite at [0, 1]", SAMPLES),
    "Empirical([[inf, 1.0]])": ("samples", "not finite at [0, 0]", SAMPLES),
    "Empirical([[1e300, 1.0]])": ("samples", "not finite at [0, 0]", SAMPLES),
    "Empirical([[1e20, 1.0]])": ("samples", "numbers up to 1e+20", "divide them by their deviation"),
    "Empirical([[1j, 1.0]])": ("samples", "complex128", SAMPLES),
    "Empirical([1.0, 2.0])": ("samples", "shape (2,)", SAMPLES),
    "Empirical(np.zeros((2, 2, 2, 2)))": ("samples", "shape (2, 2, 2, 2)", SAMPLES),
    "Empirical(np.zeros((5, 1)))": ("size", "(1,)", SIZE),
    "ising.sample(key, 0)": ("n", "0", ">= 1"),
    "ising.sample(key, -3)": ("n", "-3", ">= 1"),
    "ising.sample(key, True)": ("n", "True", ">= 1"),
    "ising.sample(key, 2.0)": ("n", "2.0", ">= 1"),
    "ising.sample(key, 2, dtype=int)": ("dtype", "<class 'int'>", "float32 or float64"),
    "ising.sample(key, 2, dtype='float16')": ("dtype", "'float16'", "float32 or float64"),
    "ising.sample(key, 2, dtype='real')": ("dtype", "'real'", "float32 or float64"),
    "ising.sample(key, 2, dtype=None)": ("dtype", "None", "float32 or float64"),
    "ising.sample(0, 10)": ("key", "0", "a JAX key such as jax.random.key(0)"),
    "ising.sample(np.zeros(2), 10)": ("key", "array([0., 0.])", "a JAX key such as jax.random.key(0)"),
    "ising.sample(jax.random.split(key), 10)": ("key", "Array((2,)", "a JAX key such as jax.random.key(0)"),
    "ising.sample(key, 10**12)": ("n", "1000000000000", "what the memory of this machine holds"),
    "Task(pair, [0, 1]).sample(0, 10)": ("key", "0", "a JAX key such as jax.random.key(0)"),
    "Task(pair, [0, 1, 2])": ("labels", "[0, 1, 2]", "2 finite numbers"),
    "Task(pair, [0])": ("labels", "[0]", "2 finite numbers"),
    "Task(pair, 0)": ("labels", "0", "2 finite numbers"),
    "Task(pair, [0, 'a'])": ("labels", "[0, 'a']", "2 finite numbers"),
    "Task(pair, [0, nan])": ("labels", "[0, nan]", "2 finite numbers"),
    "Task(pair, [[1], [1, 2]])": ("labels", "[[1], [1, 2]]", "2 finite numbers"),
    "Task(pair, lambda x: x).sample(key, 4)": ("labels", "(4, 8)", "one number per sample"),
    "Task(pair[0], [0])": ("stimuli", "Ising", "a list of stimuli"),
    "Task(None, [0])": ("stimuli", "None", "a list of stimuli"),
    "Task(np.zeros((9, 8)), [0])": ("stimuli", "an array of shape (9, 8)", "lx.stimuli.Empirical(samples)"),
    "Task([ising, np.zeros((9, 8))], [0, 1])": ("stimuli", "an array of shape (9, 8)", "lx.stimuli.Empirical(samples)"),
    "Task([], [])": ("stimuli", "[]", "at least one"),
    "Task(['a', 'b'], [0, 1])": ("stimuli", "['a', 'b']", "a list of stimuli"),
    "Task([Ising(4, 1), Ising(5, 1)], [0, 1])": ("stimuli", "[(4,), (5,)]", "of one shape"),
    "Task(pair, [0, 1], [0.5, 0.6])": ("proportions", "[0.5, 0.6]", "sum to 1"),
    "Task(pair, [0, 1], [1.5, -0.5])": ("proportions", "[1.5, -0.5]", "positive"),
    "Task(pair, [0, 1], [1])": ("proportions", "[1]", "2 positive numbers"),
    "Task(pair, [0, 1], [nan, 1])": ("proportions", "[nan, 1]", "2 positive numbers"),
    "Task(pair, [0, 1]).sample(key, 0)": ("n", "0", ">= 1"),
    "Task(pair, [0, 1]).sample(key, 4.0)": ("n", "4.0", ">= 1"),
    "Task(pair, [0, 1]).sample(key, 0, stratified=False)": ("n", "0", ">= 1"),
    "Task(pair, [0, 1]).sample(key, 3)": ("batch", "3", "choose another batch, or stratified=False"),
    "check_stimulus(3)": ("stimulus", "3", "a stimulus"),
    "check_stimulus(ising, n=0)": ("n", "0", ">= 100"),
    "weak_dependence(ising, n=0)": ("n", "0", ">= 1"),
    "weak_dependence(ising, n=10)": ("samples", "10", "at least 250"),
    "translation_invariance([[1, 2], [1]])": ("samples", "[[1, 2], [1]]", SAMPLES),
    "sign_symmetry([[1.0, nan]])": ("samples", "not finite at [0, 1]", SAMPLES),
    "conditional_mean('abc')": ("samples", "array of shape ()", SAMPLES),
    "conditional_mean(Empirical(np.ones((300, 4))))": ("values", "a constant", "numbers that vary"),
    "constant.marginal.excess_kurtosis()": ("values", "a constant", "values that vary"),
    "theory.amplifier(constant)": ("marginal", "a constant", "a positive variance"),
    "theory.effective_flow(Task([constant], [1]), np.ones(4), times=[1])": (
        "task",
        "a constant Empirical",
        "classes that vary",
    ),
    "theory.effective_flow(Task(pair, [0, 1]), np.ones(8), times=[1e12])": ("times", "1000000000000.0", "at most"),
    "theory.exact_flow(Task(pair, [0, 1]), relu, np.ones(8), times=[1e12])": ("times", "1000000000000.0", "at most"),
    "theory.critical_gain(3, 1, 40)": ("short, long", "(3, 1)", "the first, that of label 0, shorter"),
    "theory.critical_k(3, 1, 40)": ("low, high", "(4.5, 30.0)", "it is unstable at both"),
    "analysis.compare(ising, ising)": ("a", "Ising(size=8, coupling=1)", "a Trajectory"),
    "latent_covariance(Uniform(), [1, 1.5])": ("correlation", "1.5", "between -1 and 1"),
}

SCRIPT = """
import json, sys, warnings
warnings.simplefilter("error")
import jax, numpy as np
from localax import analysis, theory
from localax.networks import SingleReLU
from localax.stimuli import *
nan, inf, key = float("nan"), float("inf"), jax.random.key(0)
ising, pair, relu, constant = Ising(8, 1), [Ising(8, 0.3), Ising(8, 1.2)], SingleReLU(), Empirical(np.ones((300, 4)))
answers = {}
for code in json.load(sys.stdin):
    try:
        eval(code)
        answers[code] = ("nothing", "")
    except Exception as error:
        answers[code] = (type(error).__name__, str(error))
json.dump(answers, sys.stdout)
"""


@pytest.fixture(scope="module")
def answers() -> dict[str, list[str]]:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], input=json.dumps(list(CASES)), capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout)


@pytest.mark.parametrize("code", CASES)
def test_one_line_says_what_is_wrong(code, answers):
    kind, message = answers[code]
    assert kind == "SettingError", message
    assert "\n" not in message
    assert len(message) < 250
    argument, value, expected = CASES[code]
    for part in (argument, value, expected):
        assert part in message, message
