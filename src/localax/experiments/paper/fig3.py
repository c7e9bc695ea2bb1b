"""Figure 3: one neuron on Ising, NLGP(0.01) and Kur(5): marginal, amplifier, trained and integrated fields."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ... import theory
from ..._progress import Update
from ...analysis import concentration, gathered, ipr, localized, peak
from ...outcome import Claim, Figure, Lines, Number, Panel, Rule, Table, as_measured, by_theory
from ...spec import Setting
from ...stimuli import AbstractStimulus, Task
from ...trajectory import Trajectory
from ..experiment import AbstractExperiment, AbstractMeasured
from ..toolkit.expansions import Curve, amplifier_panel, at, crossing, figure_code, full, taylor
from ..toolkit.gated_input import covariance_image
from ..toolkit.neuron import apart, authors_start, evolution, orbit, trained_as_authors, worth
from ..toolkit.populations import share
from ..toolkit.samples import marginal
from ..toolkit.seeds import seed_from
from ..toolkit.sources import PAPER
from ..toolkit.tasks import SIZE, ising, kur, nlgp
from ..toolkit.window_flows import window_flow
from ..toolkit.words import listed

BATCHES = {"the Ising run of its script": 100, "of its notebook": 500, "the others": 10_000}
"""Samples a step in the authors' code for the figure; the paper states none."""
EULER = 1000
"""Steps of the script's integration, of size 0.05."""
INTEGRATED = {"eq5": "Eq. 5", "taylor": "Eq. 5, Taylor", "code": "figure's code"}
"""The integrations, as numbers and as panels name them."""
WAYS = {"training": "training", **INTEGRATED}
LAW = 10_000
"""Samples behind the law of a pixel that is shown."""

PEAK = Rule(
    "training has its peak at {pixel:g}, and so has the figure's integration for more than {most:.0%} of the "
    "covariances that it could have estimated; in part: within {near:g} pixel for as many",
    lambda n, t: n.training == t.pixel and n.same > t.most,
    partly=lambda n, t: n.training == t.pixel and n.beside > t.most,
    thresholds={"pixel": 6.0, "near": 1.0, "most": 0.5},  # section 4.2 has the peak at 6
    holds={"training": 6, "same": 0.8, "beside": 1.0},
    part={"training": 6, "same": 0.4, "beside": 0.9},
    fails={"training": 6, "same": 0.1, "beside": 0.3},
)
TRAINED = Rule(
    "the trained field is localized, and its largest weight is larger than all others together; in part: the former",
    lambda n, _: n.localized and n.margin > 0,
    partly=lambda n, _: n.localized,
    holds={"localized": True, "margin": 0.13},
    part={"localized": True, "margin": -0.2},
    fails={"localized": False, "margin": -0.2},
)
HEIGHT = Rule(
    "within {near:g} of {height:g}, the precision of the reading",
    lambda n, t: abs(n.trained - t.height) < t.near,
    thresholds={"height": 0.41, "near": 0.01},
    holds={"trained": 0.412},
    fails={"trained": 0.25},
)
LESS_PEAKED = Rule(
    "both the height and the IPR of Eq. 5 are below {clear:.0%} of those of training; in part: one of them",
    lambda n, t: max(n.height, n.ipr) < t.clear,
    partly=lambda n, t: min(n.height, n.ipr) < t.clear,
    thresholds={"clear": 0.9},
    holds={"height": 0.6, "ipr": 0.4},
    part={"height": 1.1, "ipr": 0.4},
    fails={"height": 1.1, "ipr": 0.95},
)
SIMILAR = Rule(
    "the field is localized, its height within {similar:.0%} of training's and its peak within {near:g} pixel; in "
    "part: all but the height",
    lambda n, t: n.localized and n.distance <= t.near and abs(n.taylor - 1) < t.similar,
    partly=lambda n, t: n.localized and n.distance <= t.near,
    thresholds={"similar": 0.2, "near": 1.0},  # a fifth: the figure's two peaks differ by 5%, its flat rows by 100%
    holds={"localized": True, "distance": 0, "taylor": 1.05},
    part={"localized": True, "distance": 1, "taylor": 0.4},
    fails={"localized": True, "distance": 8, "taylor": 0.9},
)
FLAT = Rule(
    "neither of the two trained fields is localized",
    lambda n, _: n.localized == 0,
    holds={"localized": 0},
    fails={"localized": 1},
)
NEGATIVE = Rule(
    "integrating Eq. 5 with its expansion gives a mean at least {beyond:.0%} beyond training's, in both",
    lambda n, t: min(n.nlgp_taylor, n.kur_taylor) > 1 + t.beyond,
    thresholds={"beyond": 0.1},  # half of what still looks alike
    holds={"nlgp_taylor": 1.6, "kur_taylor": 1.5},
    fails={"nlgp_taylor": 1.02, "kur_taylor": 0.98},
)
EIGHT = Rule(
    "the end w of Eq. 5 solves Eq. 8 up to {left:.0%} of its first term; in part: not w but 2w does",
    lambda n, t: n.once < t.left,
    partly=lambda n, t: n.twice < t.left,
    thresholds={"left": 0.01},
    holds={"once": 1e-4, "twice": 0.5},
    part={"once": 0.5, "twice": 1e-4},
    fails={"once": 0.5, "twice": 0.3},
)


@dataclass(frozen=True)
class Figure3(AbstractExperiment):
    """Does Eq. 5, and its third-order expansion, lead to the field that training finds?"""

    name: ClassVar[str] = "fig3"
    title: ClassVar[str] = "Figure 3: the amplifier and what it does"
    cost: ClassVar[float] = 20.0

    steps: Annotated[int, Setting("steps of training", kind=int, ge=20)] = 2000
    rate: Annotated[float, Setting("learning rate", gt=0)] = 0.05
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2)] = 64
    samples: Annotated[int, Setting("samples behind a pair of estimated covariances", kind=int, ge=100)] = 100_000
    draws: Annotated[int, Setting("pairs of estimated covariances", kind=int, ge=1)] = 20

    @classmethod
    def paper(cls) -> "Figure3":
        return cls(batch=512, draws=200)

    def measure(self, key: Any, progress: Update) -> "Measured":
        """Train and integrate on the three kinds of data; on Ising data from estimated covariances too."""
        rows = []
        spins, seed = ising(), 42
        for i, (name, task, start) in enumerate(
            (("Ising", spins, seed), ("NLGP(0.01)", nlgp(0.01), 0), ("Kur(5)", kur(5.0), 0))
        ):
            rows.append(self._row(name, task, start, jax.random.fold_in(key, i)))
            progress((i + 1) / 4)
        estimated = self._estimated_peaks(spins, seed, jax.random.fold_in(key, len(rows)))
        return Measured(self, tuple(rows), estimated, theory.localized_attractor(spins))

    def _row(self, name: str, task: Task, seed: int, key: Any) -> "Row":
        trained = trained_as_authors(
            task, steps=self.steps, batch=self.batch, rate=self.rate, seeds=[seed], data_seed=seed_from(key),
            estimator="orbit", save_every=self.steps // 20,
        )  # fmt: skip
        long = task.stimuli[1]
        amplifiers = (full(long), taylor(long), figure_code(long))
        start = authors_start([seed])
        flows = (theory.effective_flow(task, start, times=trained.time, amplifier=phi) for phi in amplifiers)
        integrated = dict(zip(INTEGRATED, flows, strict=True))
        windows = window_flow(task, start, trained.time)
        law = marginal(long, np.asarray(long.sample(jax.random.fold_in(key, 1), LAW)))
        return Row(
            name, seed, long.marginal.excess_kurtosis(), law, amplifier_panel(theory.amplifier(long)),
            crossing(amplifiers[0]),
            trained, integrated, windows,
            _left_of_eq8(task, amplifiers[0], np.asarray(integrated["eq5"].final[0, 0], float)),
        )  # fmt: skip

    def _estimated_peaks(self, task: Task, seed: int, key: Any) -> np.ndarray:
        """Peaks of the code's integration, by its own Euler steps and with covariances from samples of both classes."""
        keys, count = jax.random.split(key, (len(task.stimuli), self.draws)), self.samples // len(task.stimuli)
        short, long = (
            np.stack([_estimated(s, k, count) for k in each]) for s, each in zip(task.stimuli, keys, strict=True)
        )
        phi = figure_code(task.stimuli[1])

        def step(_, w):
            image = jnp.einsum("dij,dj->di", long, w)
            shrink = image + jnp.einsum("dij,dj->di", short, w)
            pull = phi(image / jnp.sqrt(jnp.sum(w * image, 1, keepdims=True)))
            return w + self.rate / 2 * (pull - shrink)

        start = jnp.repeat(jnp.asarray(authors_start([seed])), self.draws, 0)
        ends = jax.jit(lambda w: jax.lax.fori_loop(0, EULER, step, w))(start)
        return np.sort(peak(ends))


def _estimated(stimulus: AbstractStimulus, key: Any, samples: int) -> np.ndarray:
    x = stimulus.sample(key, samples)
    return np.asarray(x.T @ x / samples, float)


def _left_of_eq8(task: Task, amplifier: Curve, w: np.ndarray) -> tuple[float, float]:
    """What is left of Eq. 8, phi - (S0 + S1) w/2, relative to phi, at w and at 2w, where phi is the same."""
    (low, _), (image, norm) = (covariance_image(law, w) for law in task.stimuli)
    phi, shrink = at(amplifier, image / norm), low + image
    once, twice = (float(np.linalg.norm(phi - part) / np.linalg.norm(phi)) for part in (shrink / 2, shrink))
    return once, twice


@dataclass(frozen=True)
class Row:
    """One kind of data: the seed the paper shows, the law of a pixel, the trained fields and the integrated ones."""

    name: str
    seed: int
    excess: float
    marginal: Panel
    amplifier: Panel
    crossing: float | None
    """Where the amplifier crosses its tangent, if it does."""
    trained: Trajectory
    integrated: dict[str, Trajectory]
    windows: Trajectory
    """By the window flow, which the paper does not have."""
    eq8: tuple[float, float]
    """What Eq. 8 leaves of its first term at the end of Eq. 5, and at twice that."""

    @property
    def ends(self) -> dict[str, np.ndarray]:
        """The last field of training and of every integration."""
        both = {"training": self.trained, **self.integrated}
        return {way: np.asarray(path.final[0, 0], float) for way, path in both.items()}

    @property
    def heights(self) -> dict[str, float]:
        return {way: float(np.abs(w).max()) for way, w in self.ends.items()}

    @property
    def means(self) -> dict[str, float]:
        return {way: float(w.mean()) for way, w in self.ends.items()}

    @property
    def peaks(self) -> dict[str, int]:
        return {way: int(peak(w)) for way, w in self.ends.items()}

    @property
    def amplifies(self) -> str:
        """Where the amplifier is super- and where sub-linear, from its curvature at 0 and its crossing."""
        sides = ("below", "above") if self.excess > 0 else ("above", "below")
        if self.crossing is None:
            return f"stays {sides[0]} its tangent"
        return f"is {sides[0]} its tangent up to {self.crossing:.2f} and {sides[1]} it beyond"

    def over_training(self, values: dict[str, float]) -> dict[str, float]:
        """What the integrations have, relative to training."""
        return {way: values[way] / values["training"] for way in INTEGRATED}


def _said(form: str = "", prefix: str = "", ways: dict[str, str] = INTEGRATED) -> str:
    """A template that lists the number of every way, with its name."""
    return ", ".join(f"{{{prefix}{way}{form and ':' + form}}} ({name})" for way, name in ways.items())


@dataclass(frozen=True)
class Measured(AbstractMeasured):
    """A row for each kind of data; for Ising data the peaks of estimated covariances, and the closed form."""

    experiment: Figure3
    rows: tuple[Row, ...]
    estimated: np.ndarray
    closed: theory.steady.LocalizedAttractor

    # Claims ----------------------------------------------------------------------------------------------------------

    def claims(self) -> tuple[Claim, ...]:
        return (
            self._trained(), self._height(), self._peak(), self._similar(), self._less_peaked(), self._flat(),
            self._negative(), self._eight(),
        )  # fmt: skip

    def _basis(self) -> str:
        it = self.experiment
        return (
            f"one initialisation (the authors' seed {self.rows[0].seed} for Ising, {self.rows[1].seed} else), "
            f"{it.steps} steps at rate {it.rate:g}, each step {orbit(it.batch)}"
        )

    def _trained(self) -> Claim:
        end, closed = self.rows[0].ends["training"], self.closed
        numbers = [
            Number("localized", bool(localized(end))),
            Number("margin", 2 * np.abs(end).max() - np.abs(end).sum()),
            Number("concentration", float(concentration(end))),
            Number("gathered", float(gathered(end))),
        ]
        return TRAINED.claim(
            "On Ising data the trained field is localized.",
            source=f"{PAPER}, section 4.1 and figure 3",
            reported="shown",
            numbers=numbers,
            said="n IPR {concentration:.1f}, {gathered:.0%} of the energy in a quarter of the ring; the largest weight "
            f"less all others together: {{margin:+.3f}}, {closed.margin:+.3f} in the closed form of the steady state",
            basis=self._basis(),
            expected=by_theory("holds", "closed form of the localized steady state, (S0 + S1)^-1 S1 e_i"),
        )

    def _height(self) -> Claim:
        end, closed = self.rows[0].ends["training"], self.closed
        return HEIGHT.claim(
            "On Ising data the trained field is 0.41 high.",
            source=f"{PAPER}, figure 3, third panel of the first row",
            reported=f"{HEIGHT.thresholds['height']:g}, read off that panel",
            numbers=[
                Number("trained", self.rows[0].heights["training"]),
                Number("closed", float(np.abs(closed.field).max())),
            ],
            said="height {trained:.4f}, {closed:.4f} in the closed form of the steady state; IPR "
            f"{float(ipr(end)):.3f}, {closed.ipr:.3f} in the closed form",
            basis=self._basis(),
            expected=by_theory("holds", "closed form of the localized steady state, (S0 + S1)^-1 S1 e_i"),
        )

    def _peak(self) -> Claim:
        it, at = self.experiment, self.rows[0].peaks
        off = apart(self.estimated, np.array(at["training"]))
        weights = np.sort(np.abs(self.rows[0].ends["code"]))
        places, counts = np.unique(self.estimated, return_counts=True)
        drawn = listed(f"{place} ({count})" for place, count in zip(places, counts, strict=True))
        return PEAK.claim(
            "On Ising data the integrated field has its peak exactly where the trained one has it, at 6.",
            source=f"{PAPER}, section 4.2 and figure 3",
            reported="both at 6",
            numbers=[
                *(Number(way, place, unit="pixel") for way, place in at.items()),
                share("same", off == 0),
                share("beside", off <= PEAK.thresholds["near"]),
            ],
            said=f"training {{training}}; the figure's integration, with covariances from samples, there for "
            f"{{same:.0%}} of them and within a pixel for {{beside:.0%}} (peaks and how often: {drawn}); with exact "
            f"covariances {_said()}",
            basis=f"{self._basis()}; {it.draws} pairs of covariances from {it.samples:,} samples each, as in the "
            "figure's script",
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": f"The second largest weight of the integrated field is "
                f"{weights[-2] / weights[-1]:.0%} of the largest, so that estimated covariances move its peak."
            },
        )

    def _similar(self) -> Claim:
        row = self.rows[0]
        at = row.peaks
        numbers = [
            Number("localized", bool(localized(row.ends["taylor"]))),
            Number("distance", int(apart(np.array([at["taylor"]]), np.array([at["training"]]))[0]), unit="pixels"),
            *(Number(way, ratio) for way, ratio in row.over_training(row.heights).items()),
        ]
        iprs = ", ".join(f"{float(ipr(w)):.3f} ({WAYS[way]})" for way, w in row.ends.items())
        return SIMILAR.claim(
            "Eq. 5 with a third-order expansion yields a localized field similar to the trained one.",
            source=f"{PAPER}, section 4.1 and figure 3",
            reported="similar; height 0.43, read off the last panel of the first row",
            numbers=numbers,
            said=f"height over that of training: {_said('.2f')}; peaks {{distance}} apart; IPR {iprs}",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "The flow is built for fields that no pixel dominates; the figure's height comes from "
                "a factor 2 and a cubic term without sqrt(2/pi) in its code (erratum B-05)."
            },
        )

    def _less_peaked(self) -> Claim:
        row = self.rows[0]
        iprs = {way: float(ipr(w)) for way, w in row.ends.items()}
        heights, ratios = row.over_training(row.heights), row.over_training(iprs)
        others = ", ".join(
            f"{heights[way]:.2f} and {ratios[way]:.2f} ({INTEGRATED[way]})" for way in INTEGRATED if way != "eq5"
        )
        return LESS_PEAKED.claim(
            "The localized bump of Eq. 5 is less peaked than the trained one.",
            source=f"{PAPER}, section 3.1",
            reported="the primary difference observed",
            numbers=[Number("height", heights["eq5"]), Number("ipr", ratios["eq5"])],
            said=f"over training, on Ising data: height {{height:.2f}}, IPR {{ipr:.2f}}; other integrations {others}",
            basis=self._basis(),
            expected=by_theory(
                "holds",
                "next to a pixel with share s of the variance, f is phi/2 times exp(-s/(2 - 2s))/sqrt(1 - s) < 1",
            ),
        )

    def _flat(self) -> Claim:
        rows = self.rows[1:]
        iprs = {name: float(ipr(row.ends["training"])) for name, row in zip(("nlgp", "kur"), rows, strict=True)}
        return FLAT.claim(
            "On NLGP(0.01) and Kur(5) data the field does not localize.",
            source=f"{PAPER}, section 4.1 and figure 3",
            reported="oscillatory weights, because of positive excess kurtosis",
            numbers=[
                Number("localized", sum(bool(localized(row.ends["training"])) for row in rows), unit="fields"),
                *(Number(name, value) for name, value in iprs.items()),
            ],
            said="localized: {localized} of 2; IPR NLGP(0.01) {nlgp:.4f}, Kur(5) {kur:.4f}, where a flat field has "
            f"{1 / SIZE:g}; excess kurtosis {', '.join(f'{row.name} {row.excess:+.4f}' for row in rows)}",
            basis=self._basis(),
            expected=by_theory("holds", "gain and k are below the critical ones, where the flat field is stable"),
            reasons={"holds": _negative_excess(rows)},
        )

    def _negative(self) -> Claim:
        ratios = {name: row.over_training(row.means) for name, row in zip(("nlgp", "kur"), self.rows[1:], strict=True)}
        said = zip(self.rows[1:], ratios, strict=True)
        return NEGATIVE.claim(
            "Eq. 5 ends more negative than training, because it holds early in training only.",
            source=f"{PAPER}, section 4.1",
            reported="more negative in both flat rows",
            numbers=[Number(f"{name}_{way}", value) for name, r in ratios.items() for way, value in r.items()],
            said="mean over that of training: "
            + "; ".join(f"{row.name}: {_said('.3f', prefix=name + '_')}" for row, name in said),
            basis=self._basis(),
            expected=by_theory("does not hold", "on Gaussian data Eq. 5 is the exact flow; erratum B-05"),
            reasons={
                "does not hold": f"Eq. 5 gives {ratios['nlgp']['eq5']:.2f} and {ratios['kur']['eq5']:.2f} times the "
                f"trained value; the figure's code, with a factor 2 too much, {ratios['nlgp']['code']:.2f} and "
                f"{ratios['kur']['code']:.2f} times (erratum B-05)."
            },
        )

    def _eight(self) -> Claim:
        row = self.rows[0]
        once, twice = row.eq8
        return EIGHT.claim(
            "The steady state of Eq. 5 is a solution of Eq. 8, phi - (S0 + S1) w/2 = 0.",
            source=f"{PAPER}, appendix B.2",
            reported="stated",
            numbers=[Number("once", once), Number("twice", twice)],
            said=f"left of phi at the end of Eq. 5 on Ising data, t = {row.trained.time[-1]:g}: {{once:.4f}}, at twice "
            "that field {twice:.1e}",
            basis=f"the authors' seed {row.seed}, no samples",
            expected=by_theory("holds in part", "erratum B-05: Eq. 5 ends where phi = (S0 + S1) w"),
            reasons={
                "holds in part": "Eq. 8 has a factor 2 too much. As phi does not depend on the scale of w, its "
                "solutions have the right shape and twice the height."
            },
        )

    # Figures and text ------------------------------------------------------------------------------------------------

    def figures(self) -> tuple[Figure, ...]:
        return self._laws(), self._fields(), self._table()

    def _laws(self) -> Figure:
        caption = "The law of a pixel, and the amplifier with its tangent at 0 and its third-order expansion."
        panels = tuple((row.marginal, row.amplifier) for row in self.rows)
        return Figure("Marginal and amplifier", panels, tuple(row.name for row in self.rows), caption)

    def _fields(self) -> Figure:
        caption = (
            "The field during training; the same by Eq. 5 and by the window flow, which the paper does not have; the "
            "last fields, with the integration of the figure's code beside the right one."
        )
        panels = tuple(
            (
                evolution("training", row.trained), evolution(INTEGRATED["eq5"], row.integrated["eq5"]),
                evolution("windows", row.windows), _ends(row),
            )
            for row in self.rows
        )  # fmt: skip
        return Figure("Receptive field", panels, tuple(row.name for row in self.rows), caption)

    def _table(self) -> Figure:
        columns = ("data", "how", "peak at", "height", "mean", "IPR")
        lines = tuple((row.name, WAYS[way], *_described(w)) for row in self.rows for way, w in row.ends.items())
        return Figure("The last fields in numbers", ((Table("", columns, lines),),))

    def text(self) -> str:
        spins, gauss, _ = self.rows
        excess = ", ".join(f"{row.excess:+.2f} ({row.name})" for row in self.rows)
        heights = ", ".join(f"{spins.heights[way]:.3f} ({name})" for way, name in INTEGRATED.items())
        means = ", ".join(f"{gauss.means[way]:.4f} ({name})" for way, name in WAYS.items())
        flat = ", ".join(f"{float(ipr(row.ends['training'])):.4f} ({row.name})" for row in self.rows[1:])
        shapes = "; ".join(f"that of {row.name} {row.amplifies}" for row in self.rows)
        printed = ", ".join(f"{batch:,} ({name})" for name, batch in BATCHES.items())
        return (
            f"Figure 3 sets trained fields beside the integration of Eq. 5, for three laws with excess kurtosis "
            f"{excess}. Their amplifiers: {shapes}. On Ising data the field has its peak at pixel "
            f"{spins.peaks['training']} with height {spins.heights['training']:.3f}; the integrations end at "
            f"{heights}. On the other two the IPR is {flat}, "
            f"where a flat field has {1 / SIZE:g}; on {gauss.name} the mean weight ends at {means}. The figure's code "
            f"integrates phi where Eq. 5 has phi/2, and leaves out sqrt(2/pi) in the cubic term (erratum B-05). The "
            f"factor 2 doubles every field; twice the height of the third-order expansion is "
            f"{2 * spins.heights['taylor']:.3f}, and the code, whose cubic term is larger, gives "
            f"{spins.heights['code']:.3f}. Eq. 8 of the appendix has the same factor: at the end of Eq. 5 it leaves "
            f"{spins.eq8[0]:.2f} of phi. Covariances and kurtoses are exact but where it is said. Rests on "
            f"{self._basis()}. Such a step is as noisy as {worth(self.experiment.batch)}; it stands in for the batches "
            f"of the authors' code, {printed}."
        )


def _negative_excess(rows: Sequence[Row]) -> str:
    """Which rows cannot owe it to a positive excess kurtosis, as section 4.1 says of both."""
    names = [row for row in rows if row.excess < 0]
    shown = listed(f"{row.name} ({row.excess:+.4f})" for row in names)
    return f"Not because of a positive excess kurtosis on {shown}, where it is negative." if names else ""


def _ends(row: Row) -> Panel:
    curves = {WAYS[way]: w for way, w in row.ends.items()} | {"windows": row.windows.final[0, 0]}
    pixels = np.arange(SIZE, dtype=float)
    return Lines(f"at t = {row.trained.time[-1]:g}", pixels, curves, xlabel="pixel", ylabel="weight")


def _described(w: np.ndarray) -> tuple[Any, ...]:
    return int(peak(w)), f"{np.abs(w).max():.3f}", f"{w.mean():.4f}", f"{float(ipr(w)):.3f}"
