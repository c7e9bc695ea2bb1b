"""The documents whose claims are tested, by the names that claims call them by."""

SOURCES = {
    "the paper": "Nonlinear dynamics of localization in neural receptive fields (Lufkin, Saxe and Grant, NeurIPS 2024)",
    "the network notes": (
        "working notes on ReLU, sigmoid and gated linear networks, 74 numbered equations; open with “The Problem”"
    ),
    "the older notes": "an earlier form of the network notes, 147 numbered equations",
    "the behaviour notes": (
        "working notes on what the first layer does: tiling, probability dominance, the loss at the start, 34 numbered "
        "equations; open with “Setting”"
    ),
    "the neuron notes": (
        "working notes on a single ReLU neuron: f(w), the hypercube, the phases of learning, 22 numbered equations"
    ),
    "this laboratory": "derivations of Localax itself, in docs/derivations, tried here for the first time",
}
"""Each document and what it is."""

CHAPTERS = {"paper": "The paper", "notes": "The working notes", "beyond": "Beyond the sources"}
"""The chapters of a report and their titles."""
