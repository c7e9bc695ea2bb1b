"""Presets: for each figure of the paper and each experiment a run that shows what it is about, at the lab's size."""

from typing import Any

from .. import experiments
from ..spec import Number
from ._forms import DEFAULTS

Settings = dict[str, Any]


def _stimulus(kind: str, lengthscale: tuple[Number, Number] | None = (1, 3), size: Any = 40, **more: Any) -> Settings:
    scales = {} if lengthscale is None else {"lengthscale": list(lengthscale)}
    return {"stimulus": {"kind": kind, "size": size, **scales, **more}}


def _nlgp(gain: Number = 3, lengthscale: tuple[Number, Number] = (1, 3), size: Any = 40) -> Settings:
    return _stimulus("NLGP", lengthscale, size, gain=gain)


def _kur(k: Number, lengthscale: tuple[Number, Number] = (1, 3)) -> Settings:
    return _stimulus("Kur", lengthscale, k=k)


def _committee(units: int, activation: str = "relu", bias: bool = False) -> Settings:
    return {"network": {"kind": "SoftCommittee", "units": units, "activation": activation, "bias": bias}}


def _two_layers(units: int, activation: str) -> Settings:
    return {"network": {"kind": "TwoLayer", "units": units, "activation": activation}}


def _around(stimulus: Settings, kind: str, **more: Any) -> Settings:
    """A stimulus made from another one."""
    return {"stimulus": {"kind": kind, "stimulus": stimulus["stimulus"], **more}}


GAUSSIAN = _stimulus("Gaussian")
ISING = _stimulus("Ising", None, coupling=[0.3, 0.7])
ORBIT = {"estimator": "orbit", "batch": 64}
SIGMOID = {**_committee(10, "sigmoid", bias=True), "rate": 20, "steps": 2000, "seeds": 1}
TORUS = {**_nlgp(100, (1, 2), [16, 16]), **_committee(10), "rate": 1, "steps": 1500, "batch": 500, "seeds": 1}
PULSES = _stimulus("SinglePulse", None, shortest=[3, 9], longest=[4, 10])

SETTINGS: dict[str, Settings] = {
    "stimuli": _nlgp(),
    "fig1": TORUS,
    "baselines": TORUS,
    "orientation": {**TORUS, **_nlgp(100, (1, 2), [14, 14])},
    "fig2": _stimulus("Kur", (1, 5), 100, k=5),
    "fig3": _nlgp(100),
    "fig4": {**_stimulus("Elliptical", radial={"kind": "Shell"}), "steps": 8000},
    "fig5": {**_nlgp(1.67, (0.3, 0.7)), "rate": 0.1},
    "fig6": {**SIGMOID, **_nlgp()},
    "fig7": {**_kur(4.5), **_two_layers(10, "relu"), "rate": 0.5, "seeds": 1},
    "fig8": {**_nlgp(100), "steps": 2000},
    "lemma": _nlgp(),
    "ising_nlgp": ISING,
    "attractor": ISING,
    "threshold": {**_nlgp(0.24), "steps": 8000},
    "large_rings": {**_stimulus("Kur", (1, 3), 200, k=6), "seeds": 2},
    "onset": {**_nlgp(0.3), "steps": 8000},
    "peaks": {**_nlgp(100, size=200), "seeds": 2},
    "kurtosis": _kur(5.9),
    "gaussian_clone": {**_around(_nlgp(100), "GaussianClone"), "steps": 8000},
    "assumptions": _stimulus("Elliptical", radial={"kind": "RadialStudentT", "df": 5}),
    "amplifiers": _kur(7),
    "elliptical": {**_stimulus("Elliptical", radial={"kind": "Surface"}), **ORBIT},
    "interactions": {**_nlgp(100), **_committee(5), "rate": 0.1},
    "single_neuron_gaussian": {**GAUSSIAN, "steps": 10_000},
    "gaussian_committee": {**GAUSSIAN, **_committee(3)},
    "sign_flipping": {**_nlgp(100, (1, 2)), **_committee(12), "rate": 0.3, "seeds": 1},
    "neural_race": {**_nlgp(100), **_committee(8)},
    "localized_gate": _nlgp(100, (0.3, 0.7)),
    "redundant_gates": {**_nlgp(), **_committee(2)},
    "exclusive_gates": {**_nlgp(), **_committee(3)},
    "gabor_hypothesis": {**_nlgp(0.5), **_committee(6)},
    "erf_units": {**GAUSSIAN, **_committee(6, "erf", bias=True), "rate": 0.3, "seeds": 2},
    "bias_populations": {**SIGMOID, **_committee(16, "sigmoid", bias=True)},
    "tiling": {**SIGMOID, **_committee(16, "erf", bias=True), "rate": 0.5},
    "probability_dominance": _nlgp(100),
    "shape_then_scale": {**SIGMOID, **_committee(16, "sigmoid", bias=True)},
    "zero_crossings": {**_nlgp(1, (10, 20), 400), "seeds": 1},
    "gate_search": {**_nlgp(100), **_committee(4)},
    "filtered_stimuli": _around(_nlgp(100), "Filtered", kernel={"kind": "CentreSurround"}),
    "starting_loss": {**_nlgp(), **_committee(16, "sigmoid")},
    "hypercube": _stimulus("Ising", None, 30, coupling=[0.3, 0.9]),
    "gradient_phases": _nlgp(100),
    "lengthscale_order": _nlgp(100, (3, 1)),
    "single_pulse": {**PULSES, **_committee(10), "rate": 0.5, "seeds": 1},
    "losses": {**_nlgp(), "loss": "l1"},
    "natural_images": {**_stimulus("NaturalPatches", None, [8, 8], treatment=["whitened", "raw"]), "rate": 0.01},
    "objective": _around(_nlgp(100), "RandomScale", spread=0.7),
    "windows": {**_nlgp(), "rate": 0.1, "steps": 2000},
    "exact_threshold": {**_nlgp(0.215), "steps": 8000},
    "fold": {**_kur(5.81, (0.3, 0.7)), "rate": 0.2},
    "gate_attractors": _stimulus("Ising", None, coupling=[0.3, 0.9]),
    "crowds": {**_kur(4.5), **_committee(16)},
    "heavy_tails": _stimulus("Elliptical", radial={"kind": "RadialStudentT", "df": 3}),
}
"""What each experiment's run differs in from the defaults."""


def preset_settings(name: str) -> Settings:
    """The settings of the run that goes with an experiment; the lab's own where it has none."""
    return {**DEFAULTS, **SETTINGS.get(name, {})}


def presets(claims: dict[str, list[dict[str, Any]]], stored: set[str]) -> list[dict[str, Any]]:
    """All presets in the order of the report, with the **claims** of each experiment and whether it is **stored**."""
    return [
        {
            "name": name,
            "title": kind.title,
            "chapter": experiments.chapter_of(name) or "lab",
            "question": (kind.__doc__ or "").strip().splitlines()[0],
            "settings": preset_settings(name),
            "claims": claims.get(name, []),
            "stored": name in stored,
        }
        for name, kind in experiments.ALL.items()
    ]
