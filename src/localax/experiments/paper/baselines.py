"""Other ways to learn filters, from the same data: which of them are said to be localized, and which are.

The paper's first section sets principal components, autoencoders and restricted Boltzmann machines, whose weights span
the whole input, against sparse coding and ICA, which find localized filters in naturalistic data. Here all five learn
from whitened photographs, from the paper's own idealized data and from their Gaussian clone, without labels.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import numpy as np
from scipy.special import expit

from ..._errors import setting_error
from ..._progress import Update
from ...analysis import concentration, localized
from ...outcome import Claim, Expected, Fields, Figure, Number, Rule, Table, as_measured, by_theory
from ...spec import Setting
from ...stimuli import NLGP, GaussianClone, Ising, NaturalPatches
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.ica import unmixed
from ..toolkit.populations import share
from ..toolkit.presets import by_preset
from ..toolkit.seeds import seed_from
from ..toolkit.sources import PAPER
from ..toolkit.tasks import SIZE

PHOTOGRAPHS, SPINS, SATURATED, CLONE = "photographs", "Ising", "NLGP", "Gaussian clone"
DATA = (PHOTOGRAPHS, SATURATED, SPINS, CLONE)
NAMES = ("photographs", "nlgp", "ising", "clone")
"""The same, as the numbers of a claim are called."""
PRINCIPAL, AUTOENCODER, BOLTZMANN, SPARSE, INDEPENDENT = (
    "principal components", "autoencoder", "Boltzmann machine", "sparse coding", "ICA"
)  # fmt: skip
COUPLING, GAIN, LENGTHSCALE = 0.7, 100.0, 3.0
"""The long class of the paper's Ising and NLGP tasks."""
PENALTY = 1.0
"""Of sparse coding, on coefficients of filters of norm 1; pixels have variance 1."""
BINARY = 0.05
"""Mean distance of pixels from -1 and 1 up to which they count as binary."""
CURVES, IMAGES = 3, 9
"""So many filters are drawn of a ring and of patches."""

SPANS = Rule(
    "at most {few:.0%} of the filters are localized on photographs, NLGP and Ising data alike; in part: on photographs",
    lambda n, t: max(n.photographs, n.nlgp, n.ising) <= t.few,
    partly=lambda n, t: n.photographs <= t.few,
    thresholds={"few": 0.1},
    holds={"photographs": 0.02, "nlgp": 0.0, "ising": 0.05},
    part={"photographs": 0.02, "nlgp": 0.0, "ising": 0.8},
    fails={"photographs": 0.6, "nlgp": 0.0, "ising": 0.0},
)
LEARNS = Rule(
    "at least {half:.0%} of the filters are localized on photographs; in part: {some:.0%} of them, or {half:.0%} on "
    "NLGP or Ising data",
    lambda n, t: n.photographs >= t.half,
    partly=lambda n, t: n.photographs >= t.some or max(n.nlgp, n.ising) >= t.half,
    thresholds={"half": 0.5, "some": 0.1},
    holds={"photographs": 0.9, "nlgp": 0.9, "ising": 0.9},
    part={"photographs": 0.3, "nlgp": 0.0, "ising": 0.0},
    fails={"photographs": 0.02, "nlgp": 0.1, "ising": 0.0},
)
INDUCES = Rule(
    "at least {half:.0%} of the filters are localized on Ising data; in part: {some:.0%}",
    lambda n, t: n.ising >= t.half,
    partly=lambda n, t: n.ising >= t.some,
    thresholds={"half": 0.5, "some": 0.1},
    holds={"ising": 0.9},
    part={"ising": 0.3},
    fails={"ising": 0.0},
)


@dataclass(frozen=True)
class Baselines(AbstractExperiment):
    """Which of the usual ways to learn filters without labels give localized ones, on photographs and on our data?"""

    name: ClassVar[str] = "baselines"
    title: ClassVar[str] = "Other ways to learn filters"
    cost: ClassVar[float] = 18.0

    side: Annotated[int, Setting("side of a patch of the photographs", kind=int, ge=4, le=64)] = 10
    samples: Annotated[int, Setting("samples of each kind of data", kind=int, ge=500)] = 8000
    coded: Annotated[int, Setting("samples that sparse coding sees, in turn", kind=int, ge=100)] = 4000
    iterations: Annotated[int, Setting("iterations of ICA at most", kind=int, ge=1)] = 100
    epochs: Annotated[int, Setting("passes of the Boltzmann machine over the samples", kind=int, ge=1)] = 40
    machine_rate: Annotated[float, Setting("its learning rate with binary pixels", gt=0)] = 0.05
    gaussian_rate: Annotated[float, Setting("its learning rate with others", gt=0)] = 0.01
    passes: Annotated[int, Setting("passes of the autoencoder over the samples", kind=int, ge=1)] = 10
    rate: Annotated[float, Setting("its learning rate, by Adam", gt=0)] = 0.003
    batch: Annotated[int, Setting("samples a step of all that learn by steps", kind=int, ge=2)] = 64

    @classmethod
    def paper(cls) -> "Baselines":
        return cls(side=12, samples=40_000, coded=12_000, iterations=200, epochs=60, passes=30)

    def check(self) -> None:
        for name in ("coded", "batch"):
            if getattr(self, name) > self.samples:
                raise setting_error(type(self), name, getattr(self, name), f"at most samples, {self.samples}")
        pixels = max(self.side**2, SIZE)
        if self.samples < 2 * pixels:
            raise setting_error(type(self), "samples", self.samples, f"at least {2 * pixels}, twice the pixels")

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Every method on every kind of data."""
        data = {name: self._drawn(law, jax.random.fold_in(key, i)) for i, (name, law) in enumerate(self._laws())}
        seed, found = seed_from(key), {}
        for i, (name, x) in enumerate(data.items()):
            found[PRINCIPAL, name] = _principal(x)
            found[AUTOENCODER, name] = self._autoencoder(x, seed)
            found[BOLTZMANN, name] = self._boltzmann(x, seed)
            found[SPARSE, name] = self._sparse(x, seed)
            found[INDEPENDENT, name] = unmixed(x, x[0].size, self.iterations).filters
            progress((i + 1) / len(data))
        kurtoses = {name: float(np.mean((x / x.std()) ** 4)) - 3 for name, x in data.items()}
        return Measured(self, found, kurtoses)

    def _laws(self) -> list[tuple[str, Any]]:
        saturated = NLGP(SIZE, LENGTHSCALE, GAIN)
        photographs = NaturalPatches((self.side, self.side), "whitened")
        return list(zip(DATA, (photographs, saturated, Ising(SIZE, COUPLING), GaussianClone(saturated)), strict=True))

    def _drawn(self, law: Any, key: Any) -> np.ndarray:
        """Samples without their mean and with a mean variance of 1."""
        x = np.asarray(law.sample(key, self.samples), float)
        x -= x.mean(0)
        return x / x.std()

    def _autoencoder(self, x: np.ndarray, seed: int) -> np.ndarray:
        """The encoder of logistic units, half as many as pixels, with a linear decoder and nothing to hold it back."""
        from sklearn.neural_network import MLPRegressor

        flat = x.reshape(len(x), -1)
        options: dict[str, Any] = {"hidden_layer_sizes": (flat.shape[1] // 2,), "batch_size": self.batch}
        learner = MLPRegressor(
            activation="logistic", alpha=0.0, learning_rate_init=self.rate, max_iter=self.passes, random_state=seed,
            **options,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*Maximum iterations")
            return learner.fit(flat, flat).coefs_[0].T.reshape(-1, *x.shape[1:])

    def _boltzmann(self, x: np.ndarray, seed: int) -> np.ndarray:
        """Weights of a machine with half as many hidden units as pixels.

        Of pixels that are -1 or 1 it is scikit-learn's machine of binary units. That one learns nothing from others,
        squeezed between 0 and 1: all its units end alike, since what it makes up has the variance of bits. These have
        a machine of Gaussian visible units.
        """
        from sklearn.neural_network import BernoulliRBM

        flat = x.reshape(len(x), -1)
        if np.abs(np.abs(flat) - 1).mean() > BINARY:
            return self._gaussian_machine(flat, seed).reshape(-1, *x.shape[1:])
        machine = BernoulliRBM(
            flat.shape[1] // 2, learning_rate=self.machine_rate, batch_size=self.batch, n_iter=self.epochs,
            random_state=seed,
        )  # fmt: skip
        return machine.fit(flat > 0).components_.reshape(-1, *x.shape[1:])

    def _gaussian_machine(self, x: np.ndarray, seed: int) -> np.ndarray:
        """Contrastive divergence in one step, with binary hidden and Gaussian visible units of variance 1."""
        random = np.random.default_rng(seed)
        weights = 0.01 * random.normal(size=(x.shape[1] // 2, x.shape[1]))
        hidden, visible = np.zeros(len(weights)), np.zeros(x.shape[1])
        for _ in range(self.epochs):
            order = random.permutation(len(x))
            for first in range(0, len(x) - self.batch + 1, self.batch):
                v = x[order[first : first + self.batch]]
                h = expit(v @ weights.T + hidden)
                dream = (random.random(h.shape) < h) @ weights + visible + random.normal(size=v.shape)
                after = expit(dream @ weights.T + hidden)
                step = self.gaussian_rate / self.batch
                weights += step * (h.T @ v - after.T @ dream)
                hidden += step * (h - after).sum(0)
                visible += step * (v - dream).sum(0)
        return weights

    def _sparse(self, x: np.ndarray, seed: int) -> np.ndarray:
        """A dictionary of scikit-learn's, as many filters as pixels, from random ones: its own start is of waves."""
        from sklearn.decomposition import MiniBatchDictionaryLearning

        flat = x.reshape(len(x), -1)[: self.coded]
        start = np.random.default_rng(seed).normal(size=(flat.shape[1], flat.shape[1]))
        options: dict[str, Any] = {"alpha": PENALTY, "max_iter": 1, "fit_algorithm": "cd", "random_state": seed}
        learner = MiniBatchDictionaryLearning(
            len(start), batch_size=self.batch, dict_init=start / np.linalg.norm(start, axis=1, keepdims=True), **options
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*did not converge")
            return learner.fit(flat).components_.reshape(-1, *x.shape[1:])


def _principal(x: np.ndarray) -> np.ndarray:
    """The first half of the principal components."""
    flat = x.reshape(len(x), -1)
    _, vectors = np.linalg.eigh(flat.T @ flat)
    return vectors.T[::-1][: flat.shape[1] // 2].reshape(-1, *x.shape[1:])


def local(filters: np.ndarray) -> np.ndarray:
    """Which of the filters (filter, *pixels) are localized."""
    return localized(filters, ndim=filters.ndim - 1)


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Filters (filter, *pixels) by method and data, and the excess kurtosis of the data's pixels."""

    experiment: Baselines
    filters: Mapping[tuple[str, str], np.ndarray]
    kurtoses: Mapping[str, float]

    # Numbers ---------------------------------------------------------------------------------------------------------

    def shares(self, method: str) -> list[Number]:
        """Of localized filters on each kind of data; those that ended at 0 everywhere are none."""
        return [share(name, local(self.filters[method, data])) for name, data in zip(NAMES, DATA, strict=True)]

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return (
            self._spans(PRINCIPAL, "Principal component analysis tends to fit weights that span the entire input.",
                        by_theory("holds", "the components of shift-invariant data are waves")),
            self._spans(AUTOENCODER, "Unregularized autoencoders fit weights that span the entire input.",
                        as_measured("holds")),
            self._spans(BOLTZMANN, "Restricted Boltzmann machines fit weights that span the entire input.",
                        as_measured("holds in part")),
            self._learns(SPARSE, "Sparse coding can learn localized receptive fields from naturalistic stimuli.",
                         as_measured("holds in part")),
            self._learns(INDEPENDENT, "ICA can learn localized receptive fields from naturalistic stimuli.",
                         by_preset(self.experiment, quick="holds in part", paper="holds",
                                   why="the quick one has smaller patches, and fewer of them")),
            self._induces(),
        )  # fmt: skip

    def _basis(self, method: str) -> str:
        it = self.experiment
        how = {
            PRINCIPAL: "the first half of the components",
            AUTOENCODER: f"logistic units, half as many as pixels, at most {it.passes} passes",
            BOLTZMANN: f"half as many units as pixels, {it.epochs} passes",
            SPARSE: f"as many filters as pixels, penalty {PENALTY:g}, {it.coded:,} samples once",
            INDEPENDENT: f"as many filters as pixels, at most {it.iterations} iterations",
        }[method]
        return f"{it.samples:,} patches of {it.side} x {it.side}, as many rings of {SIZE}; one fit each: {how}"

    def _said(self) -> str:
        return (
            "localized filters: {photographs:.0%} on photographs, {nlgp:.0%} on NLGP, {ising:.0%} on Ising data; "
            "{clone:.0%} on a Gaussian with NLGP's covariance"
        )

    def _spans(self, method: str, sentence: str, expected: Expected) -> Claim:
        return SPANS.claim(
            sentence,
            source=f"{PAPER}, section 1",
            reported="cited",
            numbers=self.shares(method),
            said=self._said(),
            basis=self._basis(method),
            expected=expected,
        )

    def _learns(self, method: str, sentence: str, expected: Expected) -> Claim:
        return LEARNS.claim(
            sentence,
            source=f"{PAPER}, section 1",
            reported="cited, among the most notable",
            numbers=self.shares(method),
            said=self._said(),
            basis=self._basis(method),
            expected=expected,
        )

    def _induces(self) -> Claim:
        return INDUCES.claim(
            "Ising data induce localization in restricted Boltzmann machines.",
            source=f"{PAPER}, section 3.2",
            reported="an observation of others, which the paper's own corroborates",
            numbers=self.shares(BOLTZMANN),
            said=self._said(),
            basis=self._basis(BOLTZMANN),
            expected=as_measured("holds"),
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    @property
    def _methods(self) -> tuple[str, ...]:
        return PRINCIPAL, AUTOENCODER, BOLTZMANN, SPARSE, INDEPENDENT

    def figures(self) -> tuple[Figure, ...]:
        rows = tuple(tuple(self._panel(method, data) for data in DATA) for method in self._methods)
        caption = "The most localized filters of each kind, every one scaled to norm 1 or, of patches, to its largest."
        columns = ("filters of", *DATA)
        table = tuple((method, *(self._cell(method, data) for data in DATA)) for method in self._methods)
        title = "Share of localized filters, and median n IPR"
        return (
            Figure("Filters of five methods on four kinds of data", rows, labels=self._methods, caption=caption),
            Figure(title, ((Table("", columns, table),),)),
        )

    def _panel(self, method: str, data: str) -> Fields:
        """Those of largest n IPR, which show best whether there is anything local."""
        w = self.filters[method, data]
        order = np.argsort(-np.nan_to_num(concentration(w, ndim=w.ndim - 1)))[: IMAGES if w.ndim == 3 else CURVES]
        norms = np.linalg.norm(w[order].reshape(len(order), -1), axis=1).reshape(-1, *[1] * (w.ndim - 1))
        return Fields(data, w[order] / np.maximum(norms, np.finfo(float).tiny))

    def _cell(self, method: str, data: str) -> str:
        w = self.filters[method, data]
        return f"{local(w).mean():.0%}, {np.nanmedian(concentration(w, ndim=w.ndim - 1)):.1f}"

    def text(self) -> str:
        it = self.experiment
        parts = "; ".join(
            f"{method} {', '.join(f'{number:.0%}' for number in self.shares(method))}" for method in self._methods
        )
        excess = ", ".join(f"{value:+.1f} ({name})" for name, value in self.kurtoses.items())
        return (
            "The paper's first section says which artificial systems learn localized filters: principal components, "
            "unregularized autoencoders and restricted Boltzmann machines do not, sparse coding and ICA do. Its third "
            "section cites Boltzmann machines that do, on Ising data. Here all five see the same samples without "
            f"labels, and one rule says what is localized. Shares of localized filters on {', '.join(DATA)}: {parts}. "
            f"The pixels have an excess kurtosis of {excess}. The photographs are those that ship with scikit-image "
            f"and scikit-learn, whitened, in {it.side} x {it.side} patches; the rings have {SIZE} pixels and the laws "
            "of the paper's long class. The methods are scikit-learn's, but for a Boltzmann machine of Gaussian "
            "visible units where pixels are not -1 or 1. One fit of each, with settings that were not tuned: other "
            "numbers of units, penalties and rates may give other shares."
        )
