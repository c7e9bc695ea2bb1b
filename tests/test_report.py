"""The report draws what it is given: every panel, the same bytes on repeat, and a page that asks for nothing."""

import json
import re
from dataclasses import replace

import jax
import numpy as np
import pytest

from localax import experiments, report
from localax._record import Claim, Fields, Figure, Heatmap, Histogram, Lines, Outcome, Scatter, Table
from localax.report import figure, page, picture

RING = np.linspace(0, 1, 20)
PANELS = (
    Lines("lines", RING, {"a": RING, "b": RING**2}, {"a": RING}, xlabel="x", logy=True),
    Fields("curves", np.stack([RING, -RING]), ("early", "late")),
    Fields("images", np.arange(75.0).reshape(3, 5, 5)),
    Heatmap("heat", np.outer(RING, RING)),
    Histogram("bars", np.linspace(0, 1, 6), np.ones(5), np.full(5, 0.9)),
    Scatter("points", {"a": (RING, RING, None), "b": (RING, RING**2, RING / 10)}, logx=True),
)
CLAIM = Claim("A < B & C", "here", "1", "2", "equal", "3 seeds", "does not hold", "does not hold")


def outcome(**changes) -> Outcome:
    figures = (Figure("all", (PANELS[:3], PANELS[3:])), Figure("table", ((Table("", ("x", "y"), ((1, "<b>"),)),),)))
    return replace(Outcome("Title", "Text.", figures, (CLAIM,), "name", "paper", {"size": 3}), **changes)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_every_panel_draws_its_title(panel):
    axes = figure(Figure("", ((panel,),))).axes
    assert axes[0].get_title() == panel.title
    assert axes[0].has_data()


@pytest.mark.parametrize(("form", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_pictures_are_the_same_bytes_on_repeat(form, start):
    record = Figure("", (PANELS,))
    first, second = picture(record, form), picture(record, form)
    assert first.startswith(start)
    assert first == second


@pytest.mark.parametrize(
    ("panel", "expected"),
    [
        (Fields("images", np.random.default_rng(0).normal(size=(4, 5, 5))), "a row"),
        (Lines("curves", np.arange(3.0), {"a": np.ones(3)}, ylabel="height"), "a row\nheight"),
    ],
)
def test_a_row_keeps_its_label(panel, expected):
    first = figure(Figure("f", ((panel,),), ("a row",))).axes[0]
    assert first.get_ylabel() == expected
    assert first.axison  # else no label is drawn


def test_a_table_is_no_drawing():
    with pytest.raises(TypeError, match="no way to draw a Table"):
        figure(outcome().figures[1])


def test_the_page_stands_alone():
    text = page([outcome(), outcome(name="other")], "A title")
    assert re.search(r'(src|href)="(?!#|data:)', text) is None
    assert "<script" not in text
    assert re.search(r"@import|url\((?!#)", text) is None
    assert "A &lt; B &amp; C" in text
    assert "&lt;b&gt;" in text


def test_ids_of_two_figures_do_not_clash():
    text = page([outcome(), outcome(name="other")], "A title")
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    used = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text))
    assert used <= set(ids)


def test_claims_as_json():
    (row,) = json.loads(report.claims_json([outcome()]))
    assert row["experiment"] == "name"
    assert row["verdict"] == "does not hold"
    assert CLAIM.as_expected
    assert not replace(CLAIM, expected="holds").as_expected


@pytest.mark.slow
def test_the_gallery_shows_every_stimulus_and_its_claim_can_fail():
    from localax import stimuli
    from localax.experiments import _gallery

    gallery = experiments.ALL["stimuli"]
    done = []
    result = gallery.run(gallery.Settings(size=40, samples=400), jax.random.key(0), done.append)
    assert result.figures[0].labels == tuple(kind.__name__ for kind in stimuli.ALL)
    assert all(len(row) == 4 for row in result.figures[0].rows)
    assert done[-1] == 1.0
    assert result.claims[0].verdict == "holds"
    assert _gallery.centred_claim(400, [0.1, 7.0]).verdict == "does not hold"
    histogram = result.figures[0].rows[0][3]
    width = np.diff(histogram.edges)
    assert np.sum(histogram.exact * width) == pytest.approx(1)  # Ising: all of its mass lies in the picture
