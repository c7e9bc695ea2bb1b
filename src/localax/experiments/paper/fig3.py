"""Figure 3: one neuron on Ising, NLGP(0.01) and Kur(5): marginal, amplifier, trained and integrated fields."""

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
from ..toolkit.expansions import amplifier_panel, figure_code, taylor
from ..toolkit.neuron import apart, authors_start, evolution, orbit, trained_as_authors, worth
from ..toolkit.samples import marginal
from ..toolkit.seeds import seed_from
from ..toolkit.sources import PAPER
from ..toolkit.tasks import SIZE, ising, kur, nlgp
from ..toolkit.words import listed

BATCHES = {"the code's Ising run": 100, "the notebook's": 500, "the others": 10_000}
"""Samples a step behind the figure."""
INTEGRATED = {"eq5": "Eq. 5", "taylor": "Eq. 5, Taylor", "code": "figure's code"}
"""The integrations, as numbers and as panels name them."""
WAYS = {"training": "training", **INTEGRATED}
LAW = 10_000
"""Samples behind the law of a pixel that is shown."""

PEAK = Rule(
    "training and every integration at {pixel:g}; in part: integrations within {near:g} pixel",
    lambda n, t: n.training == n.eq5 == n.taylor == n.code == t.pixel,
    partly=lambda n, t: n.training == t.pixel and max(abs(p - t.pixel) for p in (n.eq5, n.taylor, n.code)) <= t.near,
    thresholds={"pixel": 6.0, "near": 1.0},  # where figure 3 has its peak
    holds={"training": 6, "eq5": 6, "taylor": 6, "code": 6},
    part={"training": 6, "eq5": 5, "taylor": 5, "code": 7},
    fails={"training": 6, "eq5": 5, "taylor": 9, "code": 6},
)
HEIGHT = Rule(
    "the trained field is localized, its height and that of the closed form within {near:g} of {height:g}, the "
    "precision of the reading, and the latter dominated by one weight",
    lambda n, t: n.localized and max(abs(n.trained - t.height), abs(n.closed - t.height)) < t.near and n.margin > 0,
    thresholds={"height": 0.41, "near": 0.01},  # as high as the trained field of the figure
    holds={"localized": True, "trained": 0.411, "closed": 0.412, "margin": 0.2},
    fails={"localized": True, "trained": 0.25, "closed": 0.412, "margin": 0.2},
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


@dataclass(frozen=True)
class Figure3(AbstractExperiment):
    """Does Eq. 5, and its third-order expansion, lead to the field that training finds?"""

    name: ClassVar[str] = "fig3"
    title: ClassVar[str] = "Figure 3: the amplifier and what it does"
    cost: ClassVar[float] = 15.0

    steps: Annotated[int, Setting("steps of training", kind=int, ge=20)] = 2000
    rate: Annotated[float, Setting("learning rate", gt=0)] = 0.05
    batch: Annotated[int, Setting("samples a step, each with its orbit", kind=int, ge=2)] = 128
    samples: Annotated[int, Setting("samples behind an estimated covariance", kind=int, ge=100)] = 100_000
    draws: Annotated[int, Setting("pairs of estimated covariances", kind=int, ge=1)] = 6

    @classmethod
    def paper(cls) -> "Figure3":
        return cls(batch=512, draws=20)

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
        amplifiers = (None, taylor(long), figure_code(long))
        start = authors_start([seed])
        flows = (theory.effective_flow(task, start, times=trained.time, amplifier=phi) for phi in amplifiers)
        integrated = dict(zip(INTEGRATED, flows, strict=True))
        law = marginal(long, np.asarray(long.sample(jax.random.fold_in(key, 1), LAW)))
        panels = law, amplifier_panel(theory.amplifier(long))
        return Row(name, seed, long.marginal.excess_kurtosis(), *panels, trained, integrated)

    def _estimated_peaks(self, task: Task, seed: int, key: Any) -> np.ndarray:
        """Peaks of the code's integration, by its own Euler steps and with covariances from samples."""
        keys = jax.random.split(key, (len(task.stimuli), self.draws))
        short, long = (
            np.stack([_estimated(s, k, self.samples) for k in each]) for s, each in zip(task.stimuli, keys, strict=True)
        )
        phi = figure_code(task.stimuli[1])

        def step(_, w):
            image = jnp.einsum("dij,dj->di", long, w)
            shrink = image + jnp.einsum("dij,dj->di", short, w)
            pull = phi(image / jnp.sqrt(jnp.sum(w * image, 1, keepdims=True)))
            return w + self.rate / 2 * (pull - shrink)

        start = jnp.repeat(jnp.asarray(authors_start([seed])), self.draws, 0)
        ends = jax.jit(lambda w: jax.lax.fori_loop(0, self.steps, step, w))(start)
        return np.sort(peak(ends))


def _estimated(stimulus: AbstractStimulus, key: Any, samples: int) -> np.ndarray:
    x = stimulus.sample(key, samples)
    return np.asarray(x.T @ x / samples, float)


@dataclass(frozen=True)
class Row:
    """One kind of data: the seed the paper shows, the law of a pixel, the trained fields and the integrated ones."""

    name: str
    seed: int
    excess: float
    marginal: Panel
    amplifier: Panel
    trained: Trajectory
    integrated: dict[str, Trajectory]

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
        return self._peak(), self._height(), self._similar(), self._flat(), self._negative()

    def _basis(self) -> str:
        it = self.experiment
        return (
            f"one initialisation (the authors' seed {self.rows[0].seed} for Ising, {self.rows[1].seed} else), "
            f"{it.steps} steps at rate {it.rate:g}, each step {orbit(it.batch)}"
        )

    def _peak(self) -> Claim:
        it = self.experiment
        return PEAK.claim(
            "On Ising data the integrated field has its peak exactly where the trained one has it, at 6.",
            source=f"{PAPER}, section 4.2 and figure 3",
            reported="both at 6",
            numbers=[Number(way, at, unit="pixel") for way, at in self.rows[0].peaks.items()],
            said=f"{_said(ways=WAYS)}; the code with estimated covariances: {listed(self.estimated)}",
            basis=f"{self._basis()}; covariances exact, and {it.draws} pairs from {it.samples:,} samples each",
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "The integrated field is two pixels wide, with weights that hardly differ; "
                "covariances estimated from samples, as the figure's code has them, move its peak."
            },
        )

    def _height(self) -> Claim:
        end, closed = self.rows[0].ends["training"], self.closed
        numbers = [
            Number("localized", bool(localized(end))),
            Number("trained", self.rows[0].heights["training"]),
            Number("closed", float(np.abs(closed.field).max())),
            Number("margin", closed.margin),
            Number("concentration", float(concentration(end))),
            Number("gathered", float(gathered(end))),
        ]
        return HEIGHT.claim(
            "On Ising data the trained field is localized.",
            source=f"{PAPER}, figure 3",
            reported="height 0.41, read off the figure",
            numbers=numbers,
            said="height {trained:.4f} (training), {closed:.4f} (closed form of the exact steady state, whose peak "
            "outweighs the rest by {margin:.3f}); n IPR of the trained field {concentration:.1f}, {gathered:.0%} of "
            "its "
            f"energy in a quarter of the ring; IPR {float(ipr(end)):.3f}, closed form {closed.ipr:.3f}",
            basis=self._basis(),
            expected=by_theory("holds", "closed form of the localized steady state, (S0 + S1)^-1 S1 e_i"),
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
            reported="similar; height 0.43 in the figure",
            numbers=numbers,
            said=f"height over that of training: {_said('.2f')}; peaks {{distance}} apart; IPR {iprs}",
            basis=self._basis(),
            expected=as_measured("holds in part"),
            reasons={
                "holds in part": "The flow is built for fields that no pixel dominates; the right height in the figure "
                "comes from a factor 2 and a cubic term without sqrt(2/pi) in its code (erratum B-05)."
            },
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
            expected=by_theory("holds", "flat field stable: gain below 0.229, k below 5.82, both critical"),
            reasons={"holds": "For NLGP(0.01) not because of positive kurtosis: its excess is slightly negative."},
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
                "does not hold": "Eq. 5 gives the trained value; the figure's code has a factor 2 too much (erratum "
                "B-05)."
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
            "The field during training; the same by Eq. 5; the last fields, with the integration of the figure's code "
            "beside the right one."
        )
        panels = tuple(
            (evolution("training", row.trained), evolution(INTEGRATED["eq5"], row.integrated["eq5"]), _ends(row))
            for row in self.rows
        )
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
        printed = ", ".join(f"{batch:,} ({name})" for name, batch in BATCHES.items())
        return (
            f"Figure 3 sets trained fields beside the integration of Eq. 5, for three laws with excess kurtosis "
            f"{excess}. On Ising data the field has its peak at pixel {spins.peaks['training']} with height "
            f"{spins.heights['training']:.3f}; the integrations end at {heights}. On the other two the IPR is {flat}, "
            f"where a flat field has {1 / SIZE:g}; on {gauss.name} the mean weight ends at {means}. The figure's code "
            f"integrates phi where Eq. 5 has phi/2, and leaves out sqrt(2/pi) in the cubic term (erratum B-05). The "
            f"factor 2 doubles every field; twice the height of the third-order expansion is "
            f"{2 * spins.heights['taylor']:.3f}, and the code, whose cubic term is larger, gives "
            f"{spins.heights['code']:.3f}. Covariances and kurtoses are exact. Rests on {self._basis()}. Such a step "
            f"is as noisy as {worth(self.experiment.batch)}; it stands in for the figure's batches, {printed}. The "
            f"noise of a small batch may choose another pixel."
        )


def _ends(row: Row) -> Panel:
    curves = {WAYS[way]: w for way, w in row.ends.items()}
    pixels = np.arange(SIZE, dtype=float)
    return Lines(f"at t = {row.trained.time[-1]:g}", pixels, curves, xlabel="pixel", ylabel="weight")


def _described(w: np.ndarray) -> tuple[Any, ...]:
    return int(peak(w)), f"{np.abs(w).max():.3f}", f"{w.mean():.4f}", f"{float(ipr(w)):.3f}"
