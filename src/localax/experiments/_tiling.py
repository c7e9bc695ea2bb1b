"""Weight sharing and tiling in sigmoid networks as they grow, and the convolution that the notes reduce them to."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from .._progress import Update
from .._record import Claim, Fields, Figure, Outcome, Points, Scatter, Table, decide
from ..analysis import distance, tiling
from ..networks import SoftCommittee, Xavier
from ..theory import Population, convolutional_output, population_output
from ._seeds import seed_from, seeds_from
from ._sigmoid_units import best_accuracy, responses, signed
from ._single_neurons import centred
from ._tasks import SIZE
from ._train import train

SAME_BIAS = 0.1
"""Spread of biases over their mean that still counts as one bias: a tenth."""
SAME_FIELD = 0.25
"""Distance over norm up to which two fields are one: a cosine of 0.97, where unrelated fields are at 1.4."""
SEEN = 0.25
"""Share of the mean energy from which a pixel is seen by a population."""
COVERED = 0.75
"""Share of pixels from which a population covers the ring: gaps of a pixel or two between fields do not count."""
EVEN = 0.95
"""Share of random populations that a tiling has to beat: what chance alone does once in twenty times."""
ALIKE = 0.9
"""Correlation from which one output stands for another: four fifths of its variance."""
SMALL = 0.02
"""A hundredth of the range of outputs, -1 to 1; of accuracy, what a sample of some thousands can tell."""


@dataclass(frozen=True)
class Settings:
    """Numbers of hidden units, and how their networks are trained; the rate is per unit."""

    gain: float = 3.0
    units: tuple[int, ...] = (10, 40)
    seeds: int = 4
    steps: int = 400
    rate: float = 0.5
    batch: int = 32
    samples: int = 3000
    random: int = 500
    """Populations with peaks drawn at random, to compare the tiling with."""


PRESETS = {"quick": Settings(), "paper": Settings(units=(10, 20, 40, 80), seeds=4, steps=1000, samples=10000)}


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

    @property
    def covered(self) -> float:
        """Share of pixels that the population sees."""
        energy = np.sum(self.fields**2, axis=0)
        return float(np.mean(energy >= SEEN * energy.mean()))

    @property
    def bias_spread(self) -> float:
        return float(self.biases.std() / abs(self.biases.mean()))


@dataclass(frozen=True)
class Network:
    """A trained network: its populations, and its output with those of the reduced models, (model, sample)."""

    units: int
    negative: Group
    positive: Group
    outputs: dict[str, np.ndarray]
    accuracy: dict[str, float]

    def agreement(self, model: str) -> float:
        return float(np.corrcoef(self.outputs[model], self.outputs["network"])[0, 1])


def run(settings: Settings, key: Any, progress: Update) -> Outcome:
    """Networks of every size, their populations, and the models they reduce to."""
    task, rng = signed(settings.gain), np.random.default_rng(seed_from(key))
    x, y = (np.asarray(part, float) for part in task.sample(key, settings.samples))
    networks = []
    for i, units in enumerate(settings.units):
        trajectory = train(
            task, SoftCommittee(units, "erf", bias=True), steps=settings.steps, batch=settings.batch,
            rate=settings.rate * units, seeds=seeds_from(key, settings.seeds), data_seed=seed_from(key),
            init=Xavier(0.1), estimator="orbit", stream=2, save_every=settings.steps,
        )  # fmt: skip
        final = zip(trajectory.final, np.asarray(trajectory.biases)[:, -1], strict=True)
        networks += [_network(np.asarray(w, float), np.asarray(b, float), x, y, settings, rng) for w, b in final]
        progress((i + 1) / len(settings.units))
    return Outcome(
        title="Tiling, and the convolution it amounts to",
        text=_text(settings, networks),
        figures=(_figure(settings, networks), _table(settings, networks)),
        claims=(
            _biases_claim(settings, networks),
            _sharing_claim(settings, networks),
            _tiling_claim(settings, networks),
            _convolution_claim(settings, networks),
            _folding_claim(settings, networks),
        ),
    )


def _network(w: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, settings: Settings, rng: Any) -> Network:
    negative, positive = (_group(w, b, where, settings, rng) for where in (b < 0, b > 0))
    groups = (negative, positive)
    populations = [Population(_typical(group), float(group.biases.mean())) for group in groups]
    whole = [(group.fields, float(group.biases.mean())) for group in groups]
    outputs: dict[str, np.ndarray] = {
        "network": responses(x, w, b).mean(1),
        "Eq. 3": population_output(x, *whole),
        "Eq. 4": convolutional_output(x, populations),
        "Eq. 5, mended": convolutional_output(x, populations, folded=True),
        "Eq. 5, printed": _printed(x, populations),
    }
    told = {name: best_accuracy(output, y > 0) for name, output in outputs.items()}
    return Network(len(b), negative, positive, outputs, told)


def _group(w: np.ndarray, b: np.ndarray, where: np.ndarray, settings: Settings, rng: Any) -> Group:
    """Measured on all units with a mask: populations differ in size, and every shape would compile anew."""
    aligned = centred(w)
    unlike = np.asarray(distance(w, aligned[where].mean(0)[None])) / np.linalg.norm(w, axis=1)
    peaks = np.eye(SIZE)[rng.integers(0, SIZE, (settings.random, len(w)))]
    rank = np.mean(np.asarray(tiling(peaks, where=where)) < float(tiling(w, where=where)))
    return Group(w[where], aligned[where], b[where], float(np.median(unlike[where])), float(rank))


def _typical(group: Group) -> np.ndarray:
    """The field of the population that is nearest to the mean: a mean of waves would cancel."""
    return group.aligned[np.argmin(np.linalg.norm(group.aligned - group.aligned.mean(0), axis=1))]


def _printed(x: np.ndarray, populations: list[Population]) -> np.ndarray:
    """Eq. 5 as it stands: half the sum over populations of the mean of s(|c| + b)."""
    waves = np.fft.rfft(x)
    parts = []
    for one in populations:
        local = np.fft.irfft(waves * np.conj(np.fft.rfft(one.field)), n=SIZE)
        parts.append(special.erf((np.abs(local) + one.bias) / np.sqrt(2)).mean(1))
    return np.mean(parts, axis=0)


def _largest(settings: Settings, networks: list[Network]) -> list[Network]:
    return [n for n in networks if n.units == settings.units[-1]]


def _gap(network: Network, model: str) -> float:
    """Root mean square distance of a short form from Eq. 4."""
    return float(np.sqrt(np.mean((network.outputs[model] - network.outputs["Eq. 4"]) ** 2)))


# Pictures and words ---------------------------------------------------------------------------------------------------


def _figure(settings: Settings, networks: list[Network]) -> Figure:
    last = _largest(settings, networks)[0]
    sizes = np.array(settings.units, float)
    mean = lambda f: np.array([np.mean([f(n) for n in networks if n.units == k]) for k in settings.units])  # noqa: E731
    accuracy: dict[str, Points] = {
        name: (sizes, mean(lambda n, m=name: n.accuracy[m]), None) for name in ("network", "Eq. 4")
    }
    shown = last.outputs["network"][:: max(settings.samples // 400, 1)]
    rows = (
        (
            Fields(f"{last.units} units: negative bias", last.negative.fields[:8]),
            Fields("moved to one place", last.negative.aligned),
            Fields("positive bias, moved to one place", last.positive.aligned[:6]),
        ),
        (
            Scatter("accuracy", accuracy, "hidden units", logx=True, joined=True),
            Scatter(
                "agreement with the convolution",
                {"correlation": (sizes, mean(lambda n: n.agreement("Eq. 4")), None)},
                "hidden units",
                "correlation of outputs",
                logx=True,
                joined=True,
            ),
            Scatter(
                f"outputs, {last.units} units",
                {
                    name: (shown, last.outputs[name][:: max(settings.samples // 400, 1)], None)
                    for name in ("Eq. 4", "Eq. 5, printed")
                },
                "network",
                "reduced model",
            ),
        ),
    )
    return Figure("From a network to a convolution", rows)


def _table(settings: Settings, networks: list[Network]) -> Figure:
    rows = tuple(
        (n.units, len(n.negative.biases), f"{n.negative.unlike:.2f}", f"{n.positive.unlike:.2f}",
         f"{n.negative.covered:.2f}", f"{n.negative.rank:.2f}",
         *(f"{n.accuracy[model]:.3f}" for model in ("network", "Eq. 3", "Eq. 4")))
        for n in networks
    )  # fmt: skip
    columns = ("units", "negative", "unlike, negative", "unlike, positive", "covered", "evenness rank",
               "accuracy, network", "Eq. 3", "Eq. 4")  # fmt: skip
    return Figure(f"Every network; ranks among {settings.random} random populations", ((Table("", columns, rows),),))


def _text(settings: Settings, networks: list[Network]) -> str:
    large = _largest(settings, networks)
    mean = lambda f: float(np.mean([f(n) for n in large]))  # noqa: E731
    alike = {side: mean(lambda n, s=side: getattr(n, s).unlike) for side in ("negative", "positive")}
    words = {side: "one field" if d <= SAME_FIELD else "not one field" for side, d in alike.items()}
    return (
        "The notes reduce a sigmoid network to two populations that share a bias (Eq. 3), then to a field that tiles "
        "the ring with both signs, a convolution (Eq. 4), then to a short form (Eq. 5). In networks of "
        f"{settings.units[-1]} units the biases of a population have a spread of "
        f"{mean(lambda n: max(n.negative.bias_spread, n.positive.bias_spread)):.1%} of their mean. Up to place and "
        f"sign the localized fields are {words['negative']} (median distance {alike['negative']:.2f} of their norm) "
        f"and the oscillatory ones {words['positive']} ({alike['positive']:.2f}). The localized ones see "
        f"{mean(lambda n: n.negative.covered):.0%} of the ring, and their peaks lie more evenly than "
        f"{mean(lambda n: n.negative.rank):.0%} of random ones. The convolution of one field from each population "
        f"gives {mean(lambda n: n.accuracy['Eq. 4']):.3f} of the samples the right class, the network "
        f"{mean(lambda n: n.accuracy['network']):.3f}; their outputs correlate by "
        f"{mean(lambda n: n.agreement('Eq. 4')):.3f}. Eq. 5 as printed drops a constant and mixes up the populations "
        f"(distance from Eq. 4 {mean(lambda n: _gap(n, 'Eq. 5, printed')):.2f}); mended it is within "
        f"{mean(lambda n: _gap(n, 'Eq. 5, mended')):.4f} of it. Means over {settings.seeds} networks of each size, "
        f"NLGP({settings.gain:g}), {settings.steps} steps, {settings.samples} samples."
    )


# Claims ---------------------------------------------------------------------------------------------------------------


def _basis(settings: Settings) -> str:
    sizes = ", ".join(map(str, settings.units))
    return f"{settings.seeds} networks of {sizes} units each, {settings.steps} steps, {settings.samples} samples"


def _biases_claim(settings: Settings, networks: list[Network]) -> Claim:
    spread = max(max(n.negative.bias_spread, n.positive.bias_spread) for n in networks)
    return Claim(
        sentence="The biases within each population are all approximately the same.",
        source="seed 002, section 2, Eq. 3",
        reported="approximately the same",
        measured=f"standard deviation over mean of a population's biases: at most {spread:.3f}",
        rule=f"at most {SAME_BIAS} in every population of every network",
        basis=_basis(settings),
        verdict=decide(spread <= SAME_BIAS),
        expected="holds",
    )


def _sharing_claim(settings: Settings, networks: list[Network]) -> Claim:
    negative, positive = (max(getattr(n, side).unlike for n in networks) for side in ("negative", "positive"))
    return Claim(
        sentence="Within each population the fields differ only in where they are centred and in their sign.",
        source="seed 002, section 2, Tiling",
        reported="for long-range neurons, at least",
        measured=f"largest median distance of a field from the mean field, over its norm: {negative:.2f} (negative "
        f"bias), {positive:.2f} (positive)",
        rule=f"at most {SAME_FIELD} in both populations of every network; in part: for negative biases",
        basis=_basis(settings),
        verdict=decide(max(negative, positive) <= SAME_FIELD, negative <= SAME_FIELD),
        expected="holds in part",
        reason="Oscillatory fields share their band of frequencies and their bias, not their envelope and phase.",
    )


def _tiling_claim(settings: Settings, networks: list[Network]) -> Claim:
    small, large = ([n for n in networks if n.units == k] for k in (settings.units[0], settings.units[-1]))
    before, covered = (float(np.mean([n.negative.covered for n in some])) for some in (small, large))
    rank = float(np.mean([n.negative.rank for n in large]))
    return Claim(
        sentence="The fields of a population tile the input space.",
        source="seed 002, section 2, Tiling",
        reported="tile the input space",
        measured=f"negative biases: {before:.0%} of the pixels seen at {small[0].units} units, {covered:.0%} at "
        f"{large[0].units}, where the peaks lie more evenly than {rank:.0%} of random ones",
        rule=f"at the largest size {COVERED:.0%} of the pixels are seen ({SEEN:g} of the mean energy or more) and the "
        f"peaks lie more evenly than {EVEN:.0%} of random ones, on average over networks; in part: the first",
        basis=f"{_basis(settings)}; {settings.random} random populations of as many units",
        verdict=decide(covered >= COVERED and rank >= EVEN, covered >= COVERED),
        expected="holds in part",
        reason="The ring is covered because there are many units; they keep apart hardly more than chance would have "
        "it.",
    )


def _convolution_claim(settings: Settings, networks: list[Network]) -> Claim:
    by_size = {k: [n for n in networks if n.units == k] for k in settings.units}
    agreement = {k: float(np.mean([n.agreement("Eq. 4") for n in some])) for k, some in by_size.items()}
    last = by_size[settings.units[-1]]
    gap = float(np.mean([n.accuracy["network"] - n.accuracy["Eq. 4"] for n in last]))
    grows = agreement[settings.units[-1]] > agreement[settings.units[0]]
    return Claim(
        sentence="As the number of hidden units grows, the network effectively implements a convolution.",
        source="seed 002, section 2, Eq. 4",
        reported="for K very large",
        measured=f"correlation of the outputs: {', '.join(f'{v:.3f} ({k} units)' for k, v in agreement.items())}; "
        f"accuracy of the convolution lower by {gap:.3f}",
        rule=f"at the largest size a correlation of at least {ALIKE}, more than at the smallest, and an accuracy "
        f"within {SMALL}; in part: a correlation that is larger at the largest size than at the smallest",
        basis=_basis(settings),
        verdict=decide(agreement[settings.units[-1]] >= ALIKE and grows and abs(gap) <= SMALL, grows),
        expected="holds",
    )


def _folding_claim(settings: Settings, networks: list[Network]) -> Claim:
    large = _largest(settings, networks)
    printed, mended = (max(_gap(n, model) for n in large) for model in ("Eq. 5, printed", "Eq. 5, mended"))
    return Claim(
        sentence="Where one of two opposite responses is significant the other is not, which turns Eq. 4 into Eq. 5.",
        source="seed 002, Eqs. 4 and 5",
        reported="1/2 sum of the integrals of s(|c| + b)",
        measured=f"distance from Eq. 4, root mean square: {printed:.3f} as printed, {mended:.4f} with [s(|c| + b) - "
        f"1]/2 for negative biases and [1 - s(|c| - b)]/2 for positive ones",
        rule=f"at most {SMALL} as printed; in part: at most {SMALL} when mended",
        basis=_basis(settings),
        verdict=decide(printed <= SMALL, mended <= SMALL),
        expected="holds in part",
        reason="The saturated response is a constant, not nothing, for units whose range is -1 to 1 (erratum B-33).",
    )
