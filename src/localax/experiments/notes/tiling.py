"""Weight sharing and tiling in sigmoid networks as they grow, and the convolution that the notes reduce them to."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy

from ..._progress import Update
from ...analysis import distance, localized, tiling
from ...networks import SoftCommittee, Xavier
from ...outcome import Claim, Fields, Figure, Points, Rule, Scatter, Table, as_measured, by_theory
from ...spec import Setting
from ...theory.sigmoid import Population, convolutional_output
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.populations import largest, mean, some
from ..toolkit.seeds import seed_from, seeds_from
from ..toolkit.sigmoid_units import best_accuracy, responses, signed
from ..toolkit.single_neurons import centred
from ..toolkit.sources import BEHAVIOUR
from ..toolkit.tasks import SIZE
from ..toolkit.train import train
from ..toolkit.words import listed

SEEN = 0.25
"""Share of the mean energy from which a pixel is seen by a population."""

SAME_BIAS = Rule(
    "at most {same:g} in every population of every network",
    lambda n, t: n.spread <= t.same,
    thresholds={"same": 0.1},
    holds={"spread": 0.04},
    fails={"spread": 0.3},
)
SAME_FIELD = Rule(
    "at most {same:g} in both populations of every network; in part: for negative biases",
    lambda n, t: max(n.negative, n.positive) <= t.same,
    partly=lambda n, t: n.negative <= t.same,
    thresholds={"same": 0.25},  # a cosine of 0.97, where unrelated fields are at 1.4
    holds={"negative": 0.1, "positive": 0.2},
    part={"negative": 0.1, "positive": 0.8},
    fails={"negative": 0.6, "positive": 0.8},
)
TILED = Rule(
    "at the largest size {covered:.0%} of the pixels are seen ({seen:g} of the mean energy or more) and the peaks lie "
    "more evenly than {even:.0%} of random ones, on average over networks; in part: the first",
    lambda n, t: n.seen_large >= t.covered and n.rank >= t.even,
    partly=lambda n, t: n.seen_large >= t.covered,
    # Gaps of a pixel or two between fields do not count; what chance alone does once in twenty times.
    thresholds={"covered": 0.75, "even": 0.95},
    holds={"seen_small": 0.5, "seen_large": 0.95, "rank": 0.98},
    part={"seen_small": 0.5, "seen_large": 0.95, "rank": 0.6},
    fails={"seen_small": 0.4, "seen_large": 0.5, "rank": 0.6},
)
CONVOLUTION = Rule(
    "at the largest size a correlation of at least {alike:g}, more than at the smallest, and an accuracy within "
    "{small:g}; in part: a correlation that is larger at the largest size than at the smallest",
    lambda n, t: n.most >= t.alike and n.most > n.fewest and abs(n.lost) <= t.small,
    partly=lambda n, _: n.most > n.fewest,
    # Four fifths of the variance; what a sample of some thousands can tell.
    thresholds={"alike": 0.9, "small": 0.02},
    holds={"fewest": 0.85, "most": 0.97, "lost": 0.005},
    part={"fewest": 0.6, "most": 0.8, "lost": 0.05},
    fails={"fewest": 0.8, "most": 0.7, "lost": 0.05},
)
FOLDED = Rule(
    "at most {small:g} as printed; in part: at most {small:g} when mended",
    lambda n, t: n.printed <= t.small,
    partly=lambda n, t: n.mended <= t.small,
    thresholds={"small": 0.02},  # a hundredth of the range of outputs, -1 to 1
    holds={"printed": 0.01, "mended": 0.005},
    part={"printed": 0.5, "mended": 0.005},
    fails={"printed": 0.5, "mended": 0.1},
)


@dataclass(frozen=True)
class Tiling(AbstractExperiment):
    """Do the fields of sigmoid networks share weights and tile the ring as networks grow, so that they convolve?"""

    name: ClassVar[str] = "tiling"
    title: ClassVar[str] = "Tiling, and the convolution it amounts to"
    cost: ClassVar[float] = 18.0

    gain: Annotated[float, Setting("gain of NLGP", gt=0)] = 3.0
    units: Annotated[tuple[int, ...], Setting("hidden units", kind=int, ge=2, many=(2, None), rising=True)] = (10, 40)
    seeds: Annotated[int, Setting("networks of each size, each with data of its own", kind=int, ge=2)] = 4
    steps: Annotated[int, Setting("steps of training", kind=int, ge=1)] = 400
    rate: Annotated[float, Setting("learning rate, per unit", gt=0)] = 0.5
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2, even=True)] = 32
    samples: Annotated[int, Setting("samples that judge the networks", kind=int, ge=100, even=True)] = 3000
    random: Annotated[int, Setting("populations with random peaks to compare the tiling with", kind=int, ge=20)] = 500

    @classmethod
    def paper(cls) -> "Tiling":
        return cls(units=(10, 20, 40, 80), seeds=4, steps=1000, samples=10000)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Networks of every size, their populations, and the models they reduce to."""
        task, rng = signed(self.gain), np.random.default_rng(seed_from(key))
        x, y = (np.asarray(part, float) for part in task.sample(key, self.samples))
        networks = []
        for i, units in enumerate(self.units):
            trajectory = train(
                task, SoftCommittee(units, "erf", bias=True), steps=self.steps, batch=self.batch,
                rate=self.rate * units, seeds=seeds_from(key, self.seeds), data_seed=seed_from(key), init=Xavier(0.1),
                estimator="orbit", stream="independent", save_every=self.steps,
            )  # fmt: skip
            final = zip(trajectory.final, np.asarray(trajectory.biases)[:, -1], strict=True)
            networks += [self._network(np.asarray(w, float), np.asarray(b, float), x, y, rng) for w, b in final]
            progress((i + 1) / len(self.units))
        return Measured(self, tuple(networks))

    def _network(self, w: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, rng: Any) -> "Network":
        negative, positive = (self._group(w, b, where, rng) for where in (b < 0, b > 0))
        populations = [Population(_typical(g), g.bias) for g in (negative, positive) if len(g.biases)]
        outputs = {
            "network": responses(x, w, b).mean(1),
            "Eq. 3": responses(x, w, np.where(b < 0, negative.bias, positive.bias)).mean(1),
            "Eq. 4": convolutional_output(x, populations),
            "Eq. 5, mended": convolutional_output(x, populations, folded=True),
            "Eq. 5, printed": _printed(x, populations),
        }
        told = {name: best_accuracy(output, y > 0) for name, output in outputs.items()}
        return Network(len(b), negative, positive, outputs, told)

    def _group(self, w: np.ndarray, b: np.ndarray, where: np.ndarray, rng: Any) -> "Group":
        """Measured on all units with a mask: populations differ in size, and every shape would compile anew."""
        aligned = centred(w)
        peaks = np.eye(SIZE)[rng.integers(0, SIZE, (self.random, len(w)))]
        if not where.any():
            return Group(w[where], aligned[where], b[where], np.nan, np.nan, np.nan)
        unlike = distance(w, aligned[where].mean(0)[None]) / np.linalg.norm(w, axis=1)
        rank = np.mean(tiling(peaks, where=where) < float(tiling(w, where=where)))
        kind = float(localized(w)[where].mean())
        return Group(w[where], aligned[where], b[where], float(np.median(unlike[where])), float(rank), kind)


@dataclass(frozen=True)
class Group:
    """One population of one network: its fields, moved and signed so that their peaks agree, and its biases."""

    fields: np.ndarray
    aligned: np.ndarray
    biases: np.ndarray
    unlike: float
    """Median distance of a field from the nearest shift and sign of the mean field, over the field's norm."""
    rank: float
    """Share of random populations of as many units that tile worse."""
    local: float
    """Share of localized fields."""

    @property
    def covered(self) -> float:
        """Share of pixels that the population sees."""
        energy = np.sum(self.fields**2, axis=0)
        return float(np.mean(energy >= SEEN * energy.mean())) if len(self.fields) else 0.0

    @property
    def bias(self) -> float:
        return float(self.biases.mean()) if len(self.biases) else 0.0

    @property
    def bias_spread(self) -> float:
        return float(self.biases.std() / abs(self.bias)) if len(self.biases) else np.nan


@dataclass(frozen=True)
class Network:
    """A trained network: its populations, and its output with those of the reduced models, (sample) by model."""

    units: int
    negative: Group
    positive: Group
    outputs: dict[str, np.ndarray]
    accuracy: dict[str, float]

    @property
    def bias_spread(self) -> float:
        """The larger of its populations'."""
        return float(np.maximum(self.negative.bias_spread, self.positive.bias_spread))

    @property
    def lost(self) -> float:
        """Accuracy that the convolution lacks."""
        return self.accuracy["network"] - self.accuracy["Eq. 4"]

    def agreement(self, model: str = "Eq. 4") -> float:
        return float(np.corrcoef(self.outputs[model], self.outputs["network"])[0, 1])

    def gap(self, model: str) -> float:
        """Root mean square distance of a short form from Eq. 4."""
        return float(np.sqrt(np.mean((self.outputs[model] - self.outputs["Eq. 4"]) ** 2)))


def _typical(group: Group) -> np.ndarray:
    """The field of the population that is nearest to the mean: a mean of waves would cancel."""
    return group.aligned[np.argmin(np.linalg.norm(group.aligned - group.aligned.mean(0), axis=1))]


def _printed(x: np.ndarray, populations: list[Population]) -> np.ndarray:
    """Eq. 5 as it stands: half the sum over populations of the mean of s(|c| + b)."""
    waves = np.fft.rfft(x)
    parts = []
    for one in populations:
        places = np.fft.irfft(waves * np.conj(np.fft.rfft(one.field)), n=SIZE)
        parts.append(scipy.special.erf((np.abs(places) + one.bias) / np.sqrt(2)).mean(1))
    return np.mean(parts, axis=0)


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """Every network of every size."""

    experiment: Tiling
    networks: tuple[Network, ...]

    def of(self, units: int, measure: Callable[[Network], float]) -> list[float]:
        """A number of every network of one size."""
        return [measure(network) for network in self.networks if network.units == units]

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return self._biases(), self._sharing(), self._tiled(), self._convolution(), self._folded()

    def _basis(self) -> str:
        it = self.experiment
        sizes = f"{it.seeds} networks of {listed(it.units)} units each, every one on a stream of its own"
        return f"{sizes}, {it.steps} steps, {it.samples} samples"

    def _biases(self) -> Claim:
        return SAME_BIAS.claim(
            "The biases within each population are all approximately the same.",
            source=f"{BEHAVIOUR}, section 2, Eq. 3",
            reported="approximately the same",
            numbers=[largest("spread", [n.bias_spread for n in self.networks])],
            said="standard deviation over mean of a population's biases: at most {spread:.3f}",
            basis=self._basis(),
            expected=as_measured("holds"),
        )

    def _sharing(self) -> Claim:
        return SAME_FIELD.claim(
            "Within each population the fields differ only in where they are centred and in their sign.",
            source=f"{BEHAVIOUR}, section 2, Tiling",
            reported="for long-range neurons, at least",
            numbers=(
                largest("negative", [n.negative.unlike for n in self.networks]),
                largest("positive", [n.positive.unlike for n in self.networks]),
            ),
            said="largest median distance of a field from the mean field, over its norm: {negative:.2f} (negative "
            "bias), {positive:.2f} (positive)",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "Fields of positive bias share their band of frequencies and their bias, not their "
                "envelope and phase."
            },
        )

    def _tiled(self) -> Claim:
        small, large = self.experiment.units[0], self.experiment.units[-1]
        return TILED.claim(
            "The fields of a population tile the input space.",
            source=f"{BEHAVIOUR}, section 2, Tiling",
            reported="tile the input space",
            numbers=(
                mean("seen_small", self.of(small, lambda n: n.negative.covered)),
                mean("seen_large", self.of(large, lambda n: n.negative.covered)),
                mean("rank", self.of(large, lambda n: n.negative.rank)),
            ),
            said=f"negative biases: {{seen_small:.0%}} of the pixels seen at {small} units, {{seen_large:.0%}} at "
            f"{large}, where the peaks lie more evenly than {{rank:.0%}} of random ones",
            basis=f"{self._basis()}; {self.experiment.random} random populations of as many units",
            expected=as_measured("holds in part"),
            words={"seen": SEEN},
            reasons={
                "holds in part": "The ring is covered because there are many units; they keep apart less than a tiling "
                "would have it."
            },
        )

    def _convolution(self) -> Claim:
        sizes = self.experiment.units
        shown = (f"{np.mean(self.of(k, Network.agreement)):.3f} ({k} units)" for k in sizes)
        return CONVOLUTION.claim(
            "As the number of hidden units grows, the network effectively implements a convolution.",
            source=f"{BEHAVIOUR}, section 2, Eq. 4",
            reported="for K very large",
            numbers=(
                mean("fewest", self.of(sizes[0], Network.agreement)),
                mean("most", self.of(sizes[-1], Network.agreement)),
                mean("lost", self.of(sizes[-1], lambda n: n.lost)),
            ),
            said=f"correlation of the outputs: {', '.join(shown)}; accuracy of the convolution lower by {{lost:.3f}}",
            basis=self._basis(),
            expected=as_measured("holds"),
        )

    def _folded(self) -> Claim:
        last = self.experiment.units[-1]
        return FOLDED.claim(
            "Where one of two opposite responses is significant the other is not, which turns Eq. 4 into Eq. 5.",
            source=f"{BEHAVIOUR}, Eqs. 4 and 5",
            reported="1/2 sum of the integrals of s(|c| + b)",
            numbers=(
                largest("printed", self.of(last, lambda n: n.gap("Eq. 5, printed"))),
                largest("mended", self.of(last, lambda n: n.gap("Eq. 5, mended"))),
            ),
            said="distance from Eq. 4, root mean square: {printed:.3f} as printed, {mended:.4f} with [s(|c| + b) - "
            "1]/2 for negative biases and [1 - s(|c| - b)]/2 for positive ones",
            basis=self._basis(),
            expected=by_theory("holds in part", "erratum B-33: a saturated erf unit answers -1 or 1, not 0"),
            reasons={
                "holds in part": "The saturated response is a constant, not nothing, for units whose range is -1 to 1 "
                "(erratum B-33)."
            },
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        last = next(n for n in self.networks if n.units == self.experiment.units[-1])
        fields = (
            Fields(f"{last.units} units: negative bias", some(last.negative.fields, 8)),
            Fields("moved to one place", some(last.negative.aligned)),
            Fields("positive bias, moved to one place", some(last.positive.aligned, 6)),
        )
        told = {name: self._by_size(lambda n, model=name: n.accuracy[model]) for name in ("network", "Eq. 4")}
        alike = {"correlation": self._by_size(Network.agreement)}
        sizes = (
            Scatter("accuracy", told, "hidden units", logx=True, joined=True),
            Scatter("agreement with the convolution", alike, "hidden units", "correlation", logx=True, joined=True),
        )
        rows = (fields, (*sizes, self._outputs(last)))
        return Figure("From a network to a convolution", rows), self._table()

    def _by_size(self, measure: Callable[[Network], float]) -> Points:
        sizes = self.experiment.units
        return np.array(sizes, float), np.array([np.mean(self.of(k, measure)) for k in sizes]), None

    def _outputs(self, network: Network) -> Scatter:
        few = slice(None, None, max(self.experiment.samples // 400, 1))
        given = network.outputs["network"][few]
        groups: dict[str, Points] = {
            name: (given, network.outputs[name][few], None) for name in ("Eq. 4", "Eq. 5, printed")
        }
        return Scatter(f"outputs, {network.units} units", groups, "network", "reduced model")

    def _table(self) -> Figure:
        rows = tuple(
            (n.units, len(n.negative.biases), f"{n.negative.unlike:.2f}", f"{n.positive.unlike:.2f}",
             f"{n.negative.covered:.2f}", f"{n.negative.rank:.2f}",
             *(f"{n.accuracy[model]:.3f}" for model in ("network", "Eq. 3", "Eq. 4")))
            for n in self.networks
        )  # fmt: skip
        columns = ("units", "negative", "unlike, negative", "unlike, positive", "covered", "evenness rank",
                   "accuracy, network", "Eq. 3", "Eq. 4")  # fmt: skip
        title = f"Every network; ranks among {self.experiment.random} random populations"
        return Figure(title, ((Table("", columns, rows),),))

    def text(self) -> str:
        it = self.experiment

        def average(f: Callable[..., Any]) -> float:
            return float(np.mean(self.of(it.units[-1], f)))

        def side(name: str) -> str:
            unlike, kind = (
                average(lambda n, part=part: getattr(getattr(n, name), part)) for part in ("unlike", "local")
            )
            word = "one field" if unlike <= SAME_FIELD.thresholds["same"] else "not one field"
            return f"of {name} bias ({kind:.0%} localized) {word} (median distance {unlike:.2f} of their norm)"

        return (
            "The notes reduce a sigmoid network to two populations that share a bias (Eq. 3), then to a field that "
            "tiles the ring with both signs, a convolution (Eq. 4), then to a short form (Eq. 5). In networks of "
            f"{it.units[-1]} units the biases of a population have a spread of "
            f"{average(lambda n: n.bias_spread):.1%} of their mean. Up to place and sign the fields are, "
            f"{side('negative')} and {side('positive')}. The former see {average(lambda n: n.negative.covered):.0%} of "
            f"the ring, and their peaks lie more evenly than {average(lambda n: n.negative.rank):.0%} of random ones. "
            f"The convolution of one field from each population tells {average(lambda n: n.accuracy['Eq. 4']):.3f} of "
            f"the samples right, the network {average(lambda n: n.accuracy['network']):.3f}; their outputs correlate "
            f"by {average(Network.agreement):.3f}. Eq. 5 is {average(lambda n: n.gap('Eq. 5, printed')):.2f} from Eq. "
            f"4 as printed, which drops a constant and mixes up the populations, and "
            f"{average(lambda n: n.gap('Eq. 5, mended')):.4f} when mended. Means over networks, NLGP({it.gain:g}); "
            f"{self._basis()}."
        )
