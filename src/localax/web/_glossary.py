"""What the words and numbers on the page mean, with their equations."""

from typing import Any

from ..report import with_formulas

TERMS: dict[str, tuple[str, str, str]] = {
    "receptive_field": ("Receptive field", "the weights of one unit, a number for each pixel", r"w \in \mathbb{R}^N"),
    "ipr": (
        "IPR", "inverse participation ratio: 1 if one pixel has all the weight, 1/N if all have the same",
        r"\operatorname{IPR}(w) = \frac{\sum_i w_i^4}{\left(\sum_i w_i^2\right)^2}",
    ),
    "loss": ("Loss", "mean squared error on samples kept aside", r"L = \operatorname{E}\left(\hat{y} - y\right)^2"),
    "accuracy": ("Accuracy", "share of samples kept aside whose class is told right", ""),
    "peak": ("Peak", "the pixel with the largest weight", r"\arg\max_i |w_i|"),
    "time": ("Time", "steps times rate: training and theory share this axis", r"t = \eta \cdot \text{steps}"),
    "step": ("Step", "one batch, one change of the weights", r"w \leftarrow w - \eta \nabla L"),
    "rate": ("Rate", "how far one step goes along the gradient", r"\eta"),
    "batch": ("Batch", "samples behind one step", ""),
    "seeds": ("Seeds", "networks that start from different weights and see the same data", ""),
    "size": ("Size", "pixels of the ring, or height and width of the torus", "N"),
    "lengthscale": (
        "Lengthscale", "distance over which pixels are alike; the two classes differ in it",
        r"\Sigma_{ij} = e^{-(i-j)^2/\xi^2}",
    ),
    "gain": ("Gain", "how hard pixels are driven towards two values", r"x = \operatorname{erf}(g z)/Z(g)"),
    "coupling": ("Coupling", "how strongly neighbouring spins agree", r"p(x) \propto e^{J \sum_i x_i x_{i+1}}"),
"covariance": (
        "Covariance", "how much a pixel varies together with pixel 0", r"\Sigma_{0i} = \operatorname{E}[X_0 X_i]",
    ),
    "marginal": ("Marginal", "the law of a single pixel", r"p(X_0 = x)"),
    "excess_kurtosis": (
        "Excess kurtosis", "weight of the tails of a pixel: 0 for a Gaussian, -2 for two values",
        r"\kappa - 3 = \frac{\operatorname{E}X^4}{\left(\operatorname{E}X^2\right)^2} - 3",
    ),
    "amplifier": (
        "Amplifier", "the pull on a pixel whose correlation with the neuron's input is a; a line for a Gaussian",
        r"\varphi(a) = \operatorname{E}\left[\operatorname{erf}\left(\frac{a x}{\sqrt{2(1-a^2)}}\right) x\right]",
    ),
    "threshold": (
        "Threshold", "where the flat field stops being stable: waves grow on one side of it and decay on the other",
        r"\frac{a \varphi'(a)}{\varphi(a)} = \min_k \frac{1 + r_k}{1 + r_0}",
    ),
    "effective_flow": (
        "Effective flow", "the paper's Eq. 5: training while no single pixel decides",
        r"\frac{dw}{dt} = \frac{1}{2} \varphi\left(\frac{\Sigma_1 w}{\sqrt{w^\top \Sigma_1 w}}\right)"
        r" - \frac{1}{2}\left(\Sigma_0 + \Sigma_1\right) w",
    ),
    "window_flow": (
        "Flow through localization", "windows of pixels treated exactly, the rest as a Gaussian",
        r"\frac{dw}{dt} = \sum_c p_c \left[2 y_c \nabla \operatorname{E}_c [s]_+ "
        r"- \nabla \operatorname{E}_c [s]_+^2\right]",
    ),
    "exact_flow": (
        "Exact flow", "gradient flow on the loss over all samples, where that has a closed form",
        r"\frac{dw}{dt} = -\nabla_w \operatorname{E}\left(\hat{y} - y\right)^2",
    ),
    "geary": (
        "Geary's ratio C", "mean over standard deviation of |s| where y = 1: 0.798 for a Gaussian, 1 for two values",
        r"C = \frac{\operatorname{E}_1 |w^\top x|}{\sqrt{w^\top \Sigma_1 w}}",
    ),
    "ratio": (
        "Ratio r", "variance of the neuron's input where y = 0 over that where y = 1",
        r"r = \frac{w^\top \Sigma_0 w}{w^\top \Sigma_1 w}",
    ),
    "objective": (
        "Objective J", "what a ReLU neuron maximises: the loss at the best height is 1/2 - J²/4",
        r"J = \frac{C}{\sqrt{1 + r}}",
    ),
    "localized": (
        "Localized", "concentrated (N IPR at least 4) and gathered (0.6 of w² in one quarter of the ring)",
        r"N \operatorname{IPR} \ge 4",
    ),
    "verdict": ("Verdict", "what a rule, stated before, says of a claim and the numbers that were measured", ""),
}  # fmt: skip
"""For each key of the page: its name, its meaning and its equation in TeX, empty where there is none."""


def glossary() -> dict[str, dict[str, Any]]:
    """Every term with its equation as MathML."""
    return {
        key: {"name": name, "meaning": meaning, "mathml": str(with_formulas(f"$${tex}$$")) if tex else None}
        for key, (name, meaning, tex) in TERMS.items()
    }
