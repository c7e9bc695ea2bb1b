"""The amplifier phi of Eq. 6: where it lies above its tangent at 0 and where below, and what Lemma B.1 says of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from ... import theory
from ..._progress import Update
from ...outcome import Claim, Figure, Lines, Number, Rule, Table, by_theory
from ...spec import Setting
from ...stimuli import AbstractMarginal, Affine, Algebraic, Bernoulli, Erf, Ising, Normal, Weighted
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.expansions import SLOPE, amplifier_panel
from ..toolkit.sources import PAPER
from ..toolkit.words import listed, or_infinite

BOTH_WAYS = 5.0
"""The exponent whose amplifier figure 3 shows."""
SMALL = 0.01
"""An argument near 0."""
RING, COUPLING = 12, 0.7
"""An Ising ring whose states can all be listed."""
ROUNDING = 1e-9
"""What is not told from 0."""
FIELDS = 20
"""Random fields on it."""
HALF_EMPTY = "0, or +-sqrt 2, half each"
"""A law of ours with negative excess kurtosis that is pulled less than a Gaussian pixel where it dominates."""

NEAR = Rule(
    "at a = {small:g} every amplifier is within {near:.0%} of sqrt(2/pi) a",
    lambda n, t: n.worst < t.near,
    thresholds={"near": 0.01},
    holds={"worst": 0.001},
    fails={"worst": 0.2},
)
LEMMA = Rule(
    "for every law with a fourth moment the third derivative of Eq. 6 at 0 is as printed, to {exact:g} of the largest "
    "term; in part: it is with the kurtosis to the first power in place of the fourth",
    lambda n, t: n.printed < t.exact,
    partly=lambda n, t: n.first_power < t.exact,
    thresholds={"exact": 1e-6},
    holds={"printed": 1e-9, "first_power": 1e-9},
    part={"printed": 30.0, "first_power": 1e-9},
    fails={"printed": 30.0, "first_power": 0.1},
)
SIGN = Rule(
    "phi lies above its tangent on all of (0, 1) for every law of negative excess kurtosis, and below it for every law "
    "of positive; in part: it bends so at 0",
    lambda n, _: n.above == n.negative and n.below == n.positive,
    partly=lambda n, _: n.bent == n.negative + n.positive,
    holds={"negative": 12, "above": 12, "positive": 5, "below": 5, "bent": 17},
    part={"negative": 12, "above": 12, "positive": 5, "below": 1, "bent": 17},
    fails={"negative": 12, "above": 9, "positive": 5, "below": 1, "bent": 14},
)
BOTH = Rule(
    "phi lies below its tangent for small a and above it for larger",
    lambda n, _: 0 < n.crossing < 1 and n.below < 0 < n.above,
    holds={"crossing": 0.7, "below": -0.004, "above": 0.02},
    fails={"crossing": 1.0, "below": -0.004, "above": 0.0},
)
VARIANCE = Rule(
    "with data of half and of twice the standard deviation Eq. 6 is defined for every field, and its error of f(w), "
    "where it is defined, is at most {worse:g} times what it is at variance 1",
    lambda n, t: n.undefined == 0 and n.worst <= t.worse * n.one,
    thresholds={"worse": 1.1},
    holds={"one": 0.3, "worst": 0.31, "undefined": 0},
    fails={"one": 0.3, "worst": 0.8, "undefined": 7},
)


@dataclass(frozen=True)
class Amplifiers(AbstractExperiment):
    """Does the sign of the excess kurtosis tell where the amplifier is super-linear and where it is sub-linear?"""

    name: ClassVar[str] = "amplifiers"
    title: ClassVar[str] = "Super- and sub-linear amplifiers"
    cost: ClassVar[float] = 8.0

    gains: Annotated[tuple[float, ...], Setting("gains of NLGP", gt=0, many=(1, None))] = (
        0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0,
    )  # fmt: skip
    exponents: Annotated[tuple[float, ...], Setting("exponents of Kur", gt=2, many=(1, None))] = (
        4.1, 4.5, 5.0, 5.5, 5.8, 6.0, 7.0, 8.0, 10.0, 30.0, 50.0,
    )  # fmt: skip

    def measure(self, key: Any, progress: Update) -> "Measured":
        """The amplifiers of the paper's families, and Eq. 6 on data of other variances."""
        found = tuple(_described(name, law) for name, law in self.laws().items())
        progress(0.7)
        ends = tuple(_where(function, 4.01, 8.0) for function in (_limit_gap, _excess))
        errors = _scaled_errors(np.asarray(jax.random.normal(key, (FIELDS, RING))))
        return Measured(self, found, _third_derivatives([law.law for law in found]), ends, errors)

    def laws(self) -> dict[str, AbstractMarginal]:
        """The laws of a pixel in the paper's families, by name, and two that are not theirs."""
        return {
            "Ising": Bernoulli(),
            **{f"NLGP({gain:g})": Erf(gain) for gain in self.gains},
            "Gaussian": Normal(),
            **{f"Kur({k:g})": Algebraic(k) for k in self.exponents},
            HALF_EMPTY: Weighted(np.sqrt(2) * np.array([-1.0, 0.0, 0.0, 1.0])),
        }


@dataclass(frozen=True)
class Amplified:
    """A law of a pixel and its amplifier: where it crosses its tangent, the area above that, phi(0.01)."""

    name: str
    law: AbstractMarginal
    excess: float
    crossing: float | None
    index: float
    small: float

    @property
    def above(self) -> bool:
        return self.crossing is None and self.index > 0

    @property
    def below(self) -> bool:
        return self.crossing is None and self.index < 0

    @property
    def side(self) -> str:
        """In words, where the amplifier is."""
        if self.crossing is not None:
            order = "below, then above" if self.excess > 0 else "above, then below"
            return f"{order} from a = {self.crossing:.3f}"
        return "above" if self.above else "below" if self.below else "on it"


def _amplifier(law: AbstractMarginal) -> Callable[[Any], np.ndarray]:
    """phi of a law of variance 1, by numpy: each law would be a program of its own."""
    pixel = theory.amplifier(law).law
    return lambda a: pixel.amplify(np.atleast_1d(a) / np.sqrt(1 - np.atleast_1d(a) ** 2))[0]


def _described(name: str, law: AbstractMarginal) -> Amplified:
    phi = _amplifier(law)
    return Amplified(name, law, law.excess_kurtosis(), _crossing(phi), _index(phi), float(phi(SMALL)[0]))


def _index(phi: Callable[[Any], np.ndarray]) -> float:
    """The area between phi and its tangent over (0, 1), as a share of that under the tangent; 0 below rounding."""
    q, weight = np.polynomial.legendre.leggauss(60)
    angle = np.pi / 4 * (q + 1)  # a = sin(angle) is gentle where phi is steep
    area = np.pi / 4 * np.sum(weight * np.cos(angle) * phi(np.sin(angle)))
    index = float(area / (SLOPE / 2) - 1)
    return index if abs(index) > ROUNDING else 0.0


def _crossing(phi: Callable[[Any], np.ndarray]) -> float | None:
    """The least a in (0, 1) at which phi crosses its tangent; None where it stays on one side."""

    def apart(a: Any) -> np.ndarray:
        return phi(a) / np.atleast_1d(a) - SLOPE

    a = np.sin(np.pi / 2 * np.linspace(0.01, 0.999, 200))
    signs = np.where(np.abs(apart(a)) < ROUNDING, 0, np.sign(apart(a)))
    a, signs = a[signs != 0], signs[signs != 0]
    turns = np.flatnonzero(np.diff(signs))
    if not turns.size:
        return None
    return _where(lambda x: float(apart(x)[0]), float(a[turns[0]]), float(a[turns[0] + 1]))


def _limit_gap(k: float) -> float:
    """How far phi of Kur(k) ends above its tangent: E|X| - sqrt(2/pi)."""
    return Algebraic(k).standard_moment(1) - float(SLOPE)


def _excess(k: float) -> float:
    return Algebraic(k).excess_kurtosis()


def _where(function: Any, low: float, high: float) -> float:
    return float(np.asarray(scipy.optimize.brentq(function, low, high, xtol=1e-9)))


def _third_derivatives(laws: Sequence[AbstractMarginal]) -> np.ndarray:
    """phi'''(0) of Eq. 6 as printed, by automatic differentiation of its sum over the nodes of every law."""
    nodes = [law.nodes() for law in laws]
    longest = max(values.size for values, _ in nodes)
    padded = [np.stack([np.pad(part, (0, longest - part.size)) for part in pair]) for pair in nodes]
    third = jax.vmap(jax.grad(jax.grad(jax.grad(_printed))), (None, 0))
    return np.asarray(third(0.0, jnp.asarray(padded)))


def _printed(a: Any, nodes: Any) -> Any:
    """Eq. 6 of a law of values and weights."""
    values, weights = nodes
    return jnp.sum(weights * values * jax.scipy.special.erf(values * a / jnp.sqrt(2 * (1 - a**2))))


# Other variances ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scaled:
    """Relative errors of f(w) by scale of the data: Eq. 6 as printed, and put right; and fields without the former."""

    printed: dict[float, float | None]
    corrected: dict[float, float]
    undefined: dict[float, int]


def _scaled_errors(fields: np.ndarray) -> Scaled:
    """Eq. 6 against the exact mean gated input of an Ising ring times a scale."""
    printed, corrected, undefined = {}, {}, {}
    for scale in (0.5, 1.0, 2.0):
        stimulus = Affine(Ising(RING, COUPLING), scale)
        exact = theory.mean_gated_input(stimulus, fields).value
        right = theory.mean_gated_input(stimulus, fields, method="effective").value
        literal = _literal(stimulus.covariance_matrix(), fields, scale)
        defined = np.isfinite(literal).all(1)
        printed[scale] = _error(literal[defined], exact[defined]) if defined.any() else None
        corrected[scale], undefined[scale] = _error(right, exact), int(np.sum(~defined))
    return Scaled(printed, corrected, undefined)


def _literal(covariance: np.ndarray, fields: np.ndarray, scale: float) -> np.ndarray:
    """phi/2 with phi as printed in Eq. 6, of pixels that are +-scale; NaN where its argument is not in (-1, 1)."""
    image = fields @ covariance
    a = image / np.sqrt(np.sum(image * fields, axis=1, keepdims=True))
    inside = np.where(np.abs(a) < 1, a, np.nan)
    return scale * scipy.special.erf(scale * inside / np.sqrt(2 * (1 - inside**2))) / 2


def _error(found: np.ndarray, exact: np.ndarray) -> float:
    """Root mean square over fields of the relative l2 distance."""
    relative = np.linalg.norm(found - exact, axis=1) / np.linalg.norm(exact, axis=1)
    return float(np.sqrt(np.mean(relative**2)))


# What was measured ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Amplifiers, their third derivatives at 0, the ends of the range of k that is both, and errors by scale."""

    experiment: Amplifiers
    laws: tuple[Amplified, ...]
    third: np.ndarray
    ends: tuple[float, ...]
    scaled: Scaled

    @property
    def families(self) -> list[Amplified]:
        """The paper's laws."""
        return [law for law in self.laws if law.name != HALF_EMPTY]

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._near(), self._lemma(), self._sign(), self._both(), self._variance()

    def _near(self) -> Claim:
        off = {law.name: abs(law.small / (SLOPE * SMALL) - 1) for law in self.laws}
        worst = max(off, key=lambda name: off[name])
        return NEAR.claim(
            "Near 0 every amplifier is sqrt(2/pi) a, whatever the marginal.",
            source=f"{PAPER}, section 3.2 and lemma B.1",
            reported="phi'(0) = sqrt(2/pi) at variance 1",
            numbers=[Number("worst", off[worst])],
            said=f"largest relative deviation at a = {SMALL:g}: {{worst:.4f}} ({worst})",
            basis=f"quadrature, no samples; {len(self.laws)} laws",
            expected=by_theory("holds", "lemma B.1"),
            words={"small": SMALL},
        )

    def _moments(self) -> list[tuple[Amplified, float]]:
        """The laws that have a fourth moment, with their third derivative."""
        pairs = zip(self.laws, self.third, strict=True)
        return [(law, float(third)) for law, third in pairs if np.isfinite(law.excess)]

    def _lemma(self) -> Claim:
        rows = [(3 + law.excess, third) for law, third in self._moments()]
        off = {power: max(abs(third + SLOPE * (k**power - 3)) / max(k, 3) for k, third in rows) for power in (4, 1)}
        name, third = max(((law.name, t) for law, t in self._moments()), key=lambda row: abs(row[1]))
        return LEMMA.claim(
            "At variance 1 the third derivative of phi at 0 is -sqrt(2/pi) (kappa^4 - 3).",
            source=f"{PAPER}, lemma B.1 and appendix C.3",
            reported="kappa^4 sigma^4 - 3 sigma^2",
            numbers=[Number("printed", off[4]), Number("first_power", off[1])],
            said="distance from the derivative, in units of the larger of kappa and 3: {printed:.3g} as printed, "
            f"{{first_power:.0e}} with kappa to the first power; {name} has {third:.3f}",
            basis=f"automatic differentiation of Eq. 6, no samples; {len(rows)} laws with a fourth moment",
            expected=by_theory("holds in part", "automatic differentiation (erratum B-02)"),
            reasons={"holds in part": "A misprint: with kappa in place of kappa^4 it is exact (erratum B-02)."},
        )

    def _sign(self) -> Claim:
        by_sign = {sign: [law for law in self.families if law.excess * sign > 0] for sign in (-1, 1)}
        bent = sum(law.excess * third < 0 for law, third in self._moments() if law in by_sign[-1] + by_sign[1])
        known = {law.name for law, _ in self._moments()}
        negative, positive = ([law for law in by_sign[sign] if law.name in known] for sign in (-1, 1))
        crossed = [f"{law.name} {law.side}" for law in negative + positive if law.crossing is not None]
        return SIGN.claim(
            "Negative excess kurtosis makes the amplifier super-linear, positive excess kurtosis sub-linear.",
            source=f"{PAPER}, section 3.2; appendix B.1 has the signs the other way round in a misprint (erratum B-03)",
            reported="by expansion to third order",
            numbers=[
                Number("negative", len(negative) or None, unit="laws"),
                Number("above", sum(law.above for law in negative), unit="laws"),
                Number("positive", len(positive) or None, unit="laws"),
                Number("below", sum(law.below for law in positive), unit="laws"),
                Number("bent", int(bent), unit="laws"),
            ],
            said="above the tangent throughout: {above} of {negative} laws of negative excess kurtosis; below it "
            "throughout: {below} of {positive} of positive; at 0 the sign is right for {bent}. On both sides: "
            + (listed(crossed) or "none"),
            basis=f"quadrature, no samples; {len(negative) + len(positive)} laws of the families of figure 5",
            expected=by_theory("holds in part", "phi'''(0) = sqrt(2/pi) (3 - kappa), and phi(1) = E|X|"),
            reasons={
                "holds in part": "Near 0 the kurtosis decides; at the other end phi is E|X|, which heavy tails may "
                f"leave above sqrt(2/pi). Kur(k) is on both sides of its tangent for k from {self.ends[0]:.3f} to "
                f"{self.ends[1]:.3f}, up to excess kurtosis {_excess(self.ends[0]):+.1f}."
            },
        )

    def _both(self) -> Claim:
        law = _described(f"Kur({BOTH_WAYS:g})", Algebraic(BOTH_WAYS))
        a = np.linspace(0.01, 0.999, 400)
        apart = _amplifier(law.law)(a) - SLOPE * a
        crossing = 1.0 if law.crossing is None else law.crossing
        return BOTH.claim(
            f"An amplifier can be both over its domain, as that of {law.name} is.",
            source=f"{PAPER}, section 3.2 and figure 3 (bottom row)",
            reported="a black line on both sides of the tangent",
            numbers=[
                Number("crossing", crossing),
                Number("below", apart[a < crossing].min(initial=0.0)),
                Number("above", apart[a > crossing].max(initial=0.0)),
                Number("index", law.index),
            ],
            said="crosses its tangent at a = {crossing:.3f}, {below:+.4f} from it at most before and {above:+.4f} "
            "after; the area above, less that below, is {index:+.2%} of that under the tangent",
            basis="quadrature, no samples",
            expected=by_theory("holds", "excess kurtosis above 0 and E|X| above sqrt(2/pi)"),
        )

    def _variance(self) -> Claim:
        errors = self.scaled
        corrected = listed(errors.corrected.values(), ".3f")
        return VARIANCE.claim(
            "Eq. 6 and lemma B.1 hold for data of any variance.",
            source=f"{PAPER}, section 3.1 and lemma B.1",
            reported="stated with sigma^2",
            numbers=[
                Number("one", errors.printed[1.0]),
                Number("worst", max(error for error in errors.printed.values() if error is not None)),
                Number("undefined", sum(errors.undefined.values()), unit="fields"),
            ],
            said="relative error of f(w) by Eq. 6 as printed: {one:.3f} at standard deviation 1, up to {worst:.3f} at "
            f"1/2 and 2; its argument leaves (-1, 1) in {{undefined}} of {3 * FIELDS} cases, where it gives nothing. "
            f"Put right: {corrected} at {listed(errors.corrected, 'g')}",
            basis=f"exact on an Ising ring of {RING} spins, {FIELDS} random fields",
            expected=by_theory("does not hold", "f(w) of data times s is s times f(w) (erratum B-04)"),
            reasons={
                "does not hold": "A1 and A2 as printed are right for variance 1 alone. Put right, phi''' at 0 has the "
                "sign of minus the excess kurtosis whatever the variance (erratum B-04)."
            },
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        return self._curves(), self._over_k(), self._table()

    def _curves(self) -> Figure:
        a = np.linspace(0.005, 0.995, 120)
        drawn = ("Ising", "NLGP(1)", "Gaussian", "Kur(30)", "Kur(5)", "Kur(4.5)", "Kur(4.1)", HALF_EMPTY)
        laws = {law.name: law.law for law in self.laws if law.name in drawn}
        apart = {name: _amplifier(law)(a) - SLOPE * a for name, law in laws.items()}
        curves = Lines("above and below the tangent", a, apart, xlabel="a", ylabel="phi(a) - sqrt(2/pi) a")
        both = amplifier_panel(theory.amplifier(Algebraic(BOTH_WAYS)))
        caption = f"Right: Kur({BOTH_WAYS:g}), whose expansion to third order stays below the tangent."
        return Figure("Amplifiers about their common tangent", ((curves, both),), caption=caption)

    def _over_k(self) -> Figure:
        k = np.linspace(4.02, 8, 50)
        index = {"area above the tangent": np.array([_index(_amplifier(Algebraic(one))) for one in k])}
        marks = {f"both from {self.ends[0]:.3f}": self.ends[0], f"to {self.ends[1]:.3f}": self.ends[1]}
        left = Lines("area above the tangent", k, index, xlabel="k", ylabel="share of that under it", marks=marks)
        both = np.linspace(self.ends[0], self.ends[1], 27)[1:-1]
        crossings = np.array([_crossing(_amplifier(Algebraic(one))) for one in both], float)
        right = Lines("where it crosses its tangent", both, {"crossing": crossings}, xlabel="k", ylabel="a")
        return Figure("Where the amplifier of Kur(k) turns", ((left, right),))

    def _table(self) -> Figure:
        rows = tuple(
            (law.name, or_infinite(law.excess), f"{third:.4f}" if np.isfinite(law.excess) else "", law.side,
             f"{law.index:+.2%}") for law, third in zip(self.laws, self.third, strict=True)
        )  # fmt: skip
        columns = ("law", "excess kurtosis", "phi'''(0)", "above or below the tangent", "area")
        caption = "Area between phi and its tangent over (0, 1), as a share of that under the tangent."
        return Figure("Amplifiers", ((Table("", columns, rows),),), caption=caption)

    def text(self) -> str:
        own = next(law for law in self.laws if law.name == HALF_EMPTY)
        return (
            "The amplifier phi turns the correlation of a pixel with the neuron into a pull on its weight; the paper "
            "reads off its bend whether fields localize. All amplifiers share one tangent at 0, and the excess "
            "kurtosis is the bend there. It does not settle the rest of the curve, which ends at E|X|: Kur(k) lies on "
            f"both sides of its tangent for k between {self.ends[0]:.3f}, where E|X| passes sqrt(2/pi), and "
            f"{self.ends[1]:.3f}, where the excess kurtosis passes 0. A law of ours shows the other way round: a pixel "
            f"that is {own.name}, has excess kurtosis {own.excess:+.1f}, and its amplifier is {own.side}. Lemma B.1 "
            f"prints kappa to the fourth power where the first is right, and Eq. 6 is right at variance 1 alone. "
            "Everything here is quadrature and enumeration."
        )
