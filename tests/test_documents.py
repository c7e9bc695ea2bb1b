"""Code in documents runs, and prints what is written below it.

A block of Python may be followed by one of ``text``, which holds what it prints; what the page leaves out for brevity
stands in a comment that says ``invisible-code-block``. Tutorials run when the pages are built.
"""

import contextlib
import io
import re
from pathlib import Path

import pytest
from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser

ROOT = Path(__file__).parents[1]
FOLDERS = ("docs", "docs/derivations", "docs/tutorials")
PAGES = [ROOT / "README.md", *(page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md")))]
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class Run:
    """Runs a block and keeps what it prints."""

    def __init__(self):
        self.python = PythonEvaluator()

    def __call__(self, example: Example) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.python(example)
        example.namespace["_printed"] = out.getvalue()


def compare(example: Example) -> None:
    """What the block above printed is what is written here."""
    printed = example.namespace.pop("_printed")
    assert agrees(str(example.parsed), printed), f"it prints\n{printed}"


def agrees(written: str, printed: str) -> bool:
    """The same words, and numbers as near as their last digit says."""
    texts, numbers = zip(*((NUMBER.split(t), NUMBER.findall(t)) for t in (written, printed)), strict=True)
    words = [[" ".join(piece.split()) for piece in pieces] for pieces in texts]
    near = (abs(float(a) - float(b)) <= 1.001 * last_digit(a) for a, b in zip(*numbers, strict=True))
    return words[0] == words[1] and all(near)


def last_digit(number: str) -> float:
    """What a one in its last place is worth; nothing for a whole number, which is meant as it stands."""
    mantissa, _, power = number.partition("e")
    places = len(mantissa.partition(".")[2])
    return 10.0 ** (int(power or 0) - places) if places or power else 0.0


def blocks() -> Sybil:
    return Sybil(parsers=[CodeBlockParser("python", Run()), CodeBlockParser("text", compare)])


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python" in page.read_text()], ids=lambda page: page.stem
)
def test_code_of_a_page_runs_and_prints_what_is_written(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for example in blocks().parse(page).examples():
        example.evaluate()


@pytest.mark.parametrize(
    ("written", "printed", "same"),
    [
        ("IPR 0.85\n", "IPR   0.853", True),
        ("IPR 0.85", "IPR 0.87", False),
        ("3 fields", "4 fields", False),
        ("holds", "does not hold", False),
        ("1e-3 apart", "1.2e-3 apart", True),
        ("1 2", "1 2 3", False),
    ],
)
def test_numbers_agree_to_their_last_digit_and_words_to_the_letter(written, printed, same):
    assert agrees(written, printed) == same


@pytest.mark.slow
def test_the_stimulus_of_the_tutorial_passes_the_battery():
    """A tutorial that runs when the pages are built may still show a check that fails."""
    text = (ROOT / "docs" / "tutorials" / "own_stimulus.md").read_text()
    namespace: dict = {"__name__": "tutorial"}
    cell = text.split("```{code-cell} python\n")[1].split("```")[0]
    exec(cell.replace("lx.fast()\n", "").replace("print(", "report = ("), namespace)
    assert namespace["report"].ok, namespace["report"]


def test_a_page_that_says_what_its_code_does_not_print_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    with pytest.raises(Exception, match=r"it prints\s+2"):
        [example.evaluate() for example in blocks().parse(page).examples()]
