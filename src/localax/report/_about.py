"""What a report says of itself: its title, its first paragraph, and the question with its formulas."""

from dataclasses import dataclass


@dataclass(frozen=True)
class About:
    """The words of a report, all of which may have formulas in dollars.

    ``title``: of the page. ``lead``: what it is about. ``method``: how it was made. ``question``: headings with their
    paragraphs.
    """

    title: str
    lead: str = ""
    method: str = ""
    question: tuple[tuple[str, str], ...] = ()


def about_the_claims(preset: str) -> About:
    """The words of the report on the paper and its notes, run with the **preset** of this name."""
    return About(
        "Local receptive fields: the claims, one by one",
        "A single ReLU neuron that learns to tell long from short correlation lengths grows a localized receptive "
        "field if its pixels are clearly less heavy-tailed than a Gaussian, and a flat or oscillating one otherwise. "
        "That is a rule for one neuron: units that share a task interact, and ten of them can do the opposite "
        "(figure 7).",
        "A paper and its working notes say when and why fields become local. Here their figures and claims are run "
        f"with the preset “{preset}”, and so is what goes beyond them: each claim is measured, and a stated rule "
        "decides. Where a source is misprinted, the printed and the right setting stand side by side.",
        QUESTION,
    )


QUESTION = (
    (
        "The task",
        r"Inputs $x$ are $N$ pixels on a ring, drawn from one of two laws: neighbours are alike over a short distance "
        r"($y = 0$, covariance $\Sigma_0$) or over a long one ($y = 1$, covariance $\Sigma_1$). Which one was it?",
    ),
    (
        "The neuron",
        r"$$\hat{y} = \max\left(0,\; w^\top x\right)$$ learns by gradient descent on the mean of $(\hat{y} - y)^2$. "
        r"Its weights $w$ are its receptive field. Nothing asks them to be sparse or local.",
    ),
    (
        "The theory",
        r"While no single pixel decides, the field follows the paper’s Eq. 5, $$\frac{dw}{dt} = \frac{1}{2}\, "
        r"\varphi(a) - \frac{1}{2}\left(\Sigma_0 + \Sigma_1\right) w, \quad a = \frac{\Sigma_1 w}"
        r"{\sqrt{w^\top \Sigma_1 w}}$$ where the amplifier $\varphi$ depends on the law of one pixel alone. For "
        r"Gaussian pixels it is a straight line, $\varphi(a) = \sqrt{2/\pi}\; a$.",
    ),
    (
        "The objective",
        r"The height of a field can be chosen after its direction. What is left of the loss is exactly $$\frac{1}{2} - "
        r"\frac{J^2}{4}, \quad J = \frac{C}{\sqrt{1 + r}}$$ with Geary’s ratio $C$, the mean of $|w^\top x|$ over its "
        r"standard deviation where $y = 1$, and the ratio $r$ of the variances of $w^\top x$ for the two laws.",
    ),
    (
        "The measure",
        r"How local a field is, is told by its inverse participation ratio, $$\operatorname{IPR}(w) = "
        r"\frac{\sum_i w_i^4}{\left(\sum_i w_i^2\right)^2}$$ It is 1 if one pixel has all the weight, and $1/N$ if all "
        r"have the same.",
    ),
)
"""What is asked, with the formulas that the claims speak of."""
