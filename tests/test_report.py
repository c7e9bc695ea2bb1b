"""The report draws what it is given: every panel, the same bytes on repeat, and a page that asks for nothing."""

import base64
import contextlib
import hashlib
import html
import json
import re
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from localax import experiments, report, stimuli
from localax._errors import SettingError
from localax.experiments.toolkit.samples import centred_claim
from localax.outcome import (
    SOURCES,
    Claim,
    Fields,
    Figure,
    Heatmap,
    Histogram,
    Lines,
    Number,
    Outcome,
    Scatter,
    Table,
    Threshold,
    as_measured,
    by_theory,
)
from localax.report import _publish, figure, page, picture, publish
from localax.report._formulas import with_formulas

TOP = Path(__file__).parents[1]
TEMPLATES = Path(report.__file__).with_name("templates")
RING = np.linspace(0, 1, 20)
PANELS = (
    Lines("lines", RING, {"a": RING, "b": RING**2}, {"a": RING}, xlabel="x", logy=True),
    Fields("curves", np.stack([RING, -RING]), ("early", "late")),
    Fields("images", np.arange(75.0).reshape(3, 5, 5)),
    Heatmap("heat", np.outer(RING, RING)),
    Histogram("bars", np.linspace(0, 1, 6), np.ones(5), np.full(5, 0.9)),
    Scatter("points", {"a": (RING, RING, None), "b": (RING, RING**2, RING / 10)}, logx=True),
)
CLAIM = Claim(
    "A < B & C", "here", "1", (Number("n", 2.0, 0.1, "pixels"),), "2", "equal",
    (Threshold("t", 3.0, "holds", "holds"),), "3 seeds", "does not hold",
    by_theory("does not hold", "a formula"), "because",
)  # fmt: skip


def outcome(**changes) -> Outcome:
    figures = (Figure("all", (PANELS[:3], PANELS[3:])), Figure("table", ((Table("", ("x", "y"), ((1, "<b>"),)),),)))
    return replace(Outcome("Title", "Text.", figures, (CLAIM,), "name", "paper", {"size": 3}), **changes)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_every_panel_draws_its_title(panel):
    axes = figure(Figure("", ((panel,),))).axes
    assert axes[0].get_title(loc="left") == panel.title
    assert axes[0].has_data()


@pytest.mark.slow
@pytest.mark.parametrize(("form", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_pictures_are_the_same_bytes_on_repeat(form, start):
    record = Figure("", (PANELS,))
    first, second = picture(record, form), picture(record, form)
    assert first.startswith(start)
    assert first == second


@pytest.mark.parametrize("panel", [PANELS[2], replace(PANELS[0], ylabel="height")], ids=["images", "curves"])
def test_a_row_keeps_its_label_beside_the_panel_s_own(panel):
    canvas = figure(Figure("f", ((panel,),), ("a row",)))
    canvas.draw_without_rendering()
    (first,) = canvas.axes
    (label,) = (text for text in first.texts if text.get_text() == "a row")
    assert first.get_ylabel() == getattr(panel, "ylabel", "")
    assert label.get_window_extent().x0 >= 0
    assert label.get_window_extent().x1 <= first.yaxis.label.get_window_extent().x0  # covers no word, leaves no picture


def names_of_keys(axes) -> list[list[str]]:
    return [[text.get_text() for text in key.get_texts()] if (key := ax.get_legend()) else [] for ax in axes]


@pytest.mark.slow
@pytest.mark.parametrize("panels", [PANELS[:1], PANELS[:3], (*PANELS[:2], *PANELS[4:])], ids=len)
def test_keys_lie_below_their_panels_and_cover_nothing(panels):
    canvas = figure(Figure("", (panels, panels)))
    canvas.draw_without_rendering()
    keyed = [ax for ax in canvas.axes if ax.get_legend()]
    assert keyed
    for ax in keyed:
        key = ax.get_legend().get_window_extent()
        assert key.y1 <= ax.xaxis.get_tightbbox().y0 + 1  # a pixel of rounding
        assert key.y0 >= 0
        assert ax.bbox.height > 0.4 * canvas.dpi  # and the panel has kept its room
        others = [other.get_tightbbox() for other in canvas.axes if other is not ax]
        assert not any(key.x0 < box.x1 and box.x0 < key.x1 and key.y0 < box.y1 and box.y0 < key.y1 for box in others)


def test_a_key_says_what_curves_and_points_stand_for_and_is_not_repeated():
    both = replace(PANELS[0], kinds=("exact", "sampled"))
    other = Lines("other", RING, {"c": RING, "d": RING})
    assert names_of_keys(figure(Figure("", ((both, both, other),))).axes) == [
        ["a", "b", "exact", "sampled"],
        [],
        ["c", "d"],
    ]
    assert names_of_keys(figure(Figure("", ((PANELS[4],),))).axes) == [["sampled", "exact"]]


def test_a_law_of_a_few_values_is_drawn_as_bars():
    edges = np.linspace(-1.025, 1.025, 42)  # bins of 0.05 about -1, -0.95, ..., 1
    spins = np.zeros(41)
    spins[[0, -1]] = 0.25 / 0.05, 0.75 / 0.05
    (ax,) = figure(Figure("", ((Histogram("spins", edges, spins, spins[::-1]),),))).axes
    bars = [(bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in ax.patches]
    np.testing.assert_allclose(bars, [(-1, 0.25), (1, 0.75), (-1, 0.75), (1, 0.25)], atol=1e-12)
    assert all(bar.get_width() > 0.2 for bar in ax.patches)  # bars, not needles
    smooth = np.exp(-8 * edges[1:] ** 2)
    (ax,) = figure(Figure("", ((Histogram("smooth", edges, smooth, smooth),),))).axes
    assert [type(patch).__name__ for patch in ax.patches] == ["StepPatch", "StepPatch"]


def test_a_table_alone_is_no_drawing():
    with pytest.raises(SettingError, match="it has tables alone"):
        figure(outcome().figures[1])


def test_a_figure_of_curves_and_a_table_draws_the_curves(tmp_path):
    table = Table("t", ("x",), ((1,),))
    mixed = Figure("both", ((PANELS[0], table), (table,), (PANELS[1],)), ("first", "second", "third"))
    axes = figure(mixed).axes
    assert [ax.get_title(loc="left") for ax in axes] == ["lines", "curves"]
    assert [ax.texts[0].get_text() for ax in axes] == ["first", "third"]
    assert picture(mixed, "png").startswith(b"\x89PNG")
    text = publish([outcome(figures=(mixed,))], tmp_path, "T").read_text()
    assert text.count("<caption>t</caption>") == 2


@pytest.mark.parametrize(
    "panel",
    [
        Heatmap("empty", np.zeros((0, 3))), Histogram("none", np.full(3, np.nan), np.ones(2)),
        Scatter("below", {"a": (RING, RING, RING - 1)}),
    ],
    ids=lambda panel: panel.title,
)  # fmt: skip
def test_numbers_that_no_axes_can_hold_are_refused_in_one_line(panel):
    with pytest.raises(SettingError, match="'odd' cannot be drawn: ") as refusal:
        picture(Figure("odd", ((panel,),)), "svg")
    assert "\n" not in str(refusal.value)


def test_points_without_a_curve_are_drawn():
    (ax,) = figure(Figure("", ((Lines("l", RING, {"a": RING}, {"a": RING, "alone": RING**2}),),))).axes
    assert len(ax.lines) == 3
    assert "alone" in ax.get_legend_handles_labels()[1]


@pytest.mark.parametrize(("title", "drawn"), [("$x^2$", "$x^2$"), ("5 $", r"5 \$"), (r"$\x{$", r"\$\x{\$")])
def test_dollars_that_are_no_formula_are_drawn_as_dollars(title, drawn):
    record = Figure("", ((replace(PANELS[0], title=title),),))
    assert figure(record).axes[0].get_title(loc="left") == drawn
    assert picture(record, "svg")


@pytest.mark.slow
def test_a_figure_is_drawn_once(tmp_path):
    first = publish([outcome()], tmp_path, "T").read_bytes()
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "figures").iterdir()}
    assert publish([outcome()], tmp_path, "T").read_bytes() == first
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "figures").iterdir()} == times
    changed = outcome(figures=(replace(outcome().figures[0], caption="new"), outcome().figures[1]))
    publish([changed], tmp_path, "T")
    redrawn = {path.name for path in times if path.stat().st_mtime_ns != times[path]}
    assert {name.removeprefix(".").split(".")[0] for name in redrawn} == {"name-1"}
    (tmp_path / "figures" / "name-1.png").unlink()
    publish([changed], tmp_path, "T")
    assert (tmp_path / "figures" / "name-1.png").exists()


def test_a_picture_that_another_program_has_written_is_drawn_anew(tmp_path):
    first = publish([outcome()], tmp_path, "T").read_bytes()
    svg = tmp_path / "figures" / "name-1.svg"
    svg.write_bytes(svg.read_bytes().replace(b'pt"', b'"'))
    assert publish([outcome()], tmp_path, "T").read_bytes() == first


def test_figures_are_drawn_here_where_a_process_that_draws_is_killed(monkeypatch):
    @contextlib.contextmanager
    def killed(_):
        def mapping(act, figures):
            yield act(next(iter(figures)))
            raise BrokenProcessPool

        yield mapping

    monkeypatch.setattr(_publish, "_mapping", killed)
    monkeypatch.setattr(_publish, "as_files", lambda figure: {"csv": figure.title.encode()})
    figures = {name: Figure(name, ()) for name in ("a", "b", "c")}
    assert dict(_publish._each_drawn(figures, 2)) == {name: {"csv": name.encode()} for name in figures}


def test_what_is_expected_and_why_stand_beside_a_claim():
    text = page([outcome()], "A title")
    assert "does not hold, by theory: a formula" in text
    assert "because" in text
    assert "expected: " not in text
    assert "expected: holds" in page([outcome(claims=(replace(CLAIM, expected=as_measured("holds")),))], "T")


def test_the_page_tells_its_sources_and_thresholds():
    text = page([outcome()], "A title")
    assert all(name in text for name in SOURCES)
    rows = re.findall(r"<td>t</td><td class=.number.>3</td><td>holds</td><td>does not hold</td><td>holds</td>", text)
    assert len(rows) == 1


# The page -------------------------------------------------------------------------------------------------------------


class Parts(HTMLParser):
    """Every element of a page, as (tag, attributes), and the text of its scripts."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.cdata_elem == "script":
            self.scripts[-1] += data

    def values(self, name: str) -> list[str]:
        return [attributes[name] or "" for _, attributes in self.elements if name in attributes]


def written(outcomes, about="A title", files=None) -> Parts:
    return Parts(page(outcomes, about, files=files or {}))


@pytest.mark.slow
def test_the_page_stands_alone():
    parts = written([outcome(), outcome(name="other")])
    assert all(re.match("#|data:", address) for address in parts.values("href") + parts.values("src"))
    assert re.search(r"@import|url\(|fetch|XMLHttp", page([outcome()], "T")) is None
    ids = parts.values("id")
    assert len(ids) == len(set(ids))
    targets = {address[1:] for address in parts.values("href") if address.startswith("#") and "=" not in address}
    assert targets <= set(ids)


@pytest.mark.slow
def test_a_page_trusts_only_its_own_script_and_style():
    parts = written([outcome()])
    allowed = f"style-src {trusted('page.css')}; script-src {trusted('filter.js')}"
    assert policy(parts) == f"default-src 'none'; img-src data:; {allowed}; base-uri 'none'; form-action 'none'"
    assert parts.scripts == [(TEMPLATES / "filter.js").read_text()]


def test_a_sheet_trusts_its_own_style_and_no_script():
    content = report.Sheet("T", "Lead.", "Method.", Figure("", (PANELS[:1],)), [("fact", EVIL)], files=[EVIL])
    parts = Parts(report.sheet(content))
    allowed = f"style-src {trusted('page.css')}"
    assert policy(parts) == f"default-src 'none'; img-src data:; {allowed}; base-uri 'none'; form-action 'none'"
    assert parts.scripts == []


def policy(parts: Parts) -> str:
    """What the browser is told to allow, before anything else is loaded."""
    assert parts.elements[3][0] == "meta"  # after html, head and the letters it is written in
    assert parts.elements[3][1]["http-equiv"] == "Content-Security-Policy"
    return parts.elements[3][1]["content"]


def trusted(name: str) -> str:
    digest = hashlib.sha256((TEMPLATES / name).read_bytes()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


EVIL = (
    "<script>evil()</script>\"'><img src=x onerror=evil()> $x$ $<script>evil()</script>$ "
    "$\\text{<script>evil()</script>}$ "
    "$\\href{javascript:evil()}{x}$ $\\text{<![CDATA[><img src=x onerror=evil()>]]>}$ $$\\style{x}{y}$$ ../../evil"
)


def test_nothing_unescaped_reaches_the_page(tmp_path):
    claim = replace(
        CLAIM, sentence=EVIL, source=EVIL, reported=EVIL, said=EVIL, rule=EVIL, basis=EVIL, reason=EVIL,
        thresholds=(Threshold(EVIL, 1.0, "holds", "holds"),), expected=by_theory("holds", EVIL),
    )  # fmt: skip
    bad = "<b onx='evil'>$\\x{$"  # a picture has no room for more
    panel = Lines(bad, RING, {bad: RING, "b": RING}, xlabel=bad, ylabel=bad, marks={bad: 0.5}, kinds=(bad, bad))
    table = Table(EVIL, (EVIL,), ((EVIL,),))
    figures = (Figure(EVIL, ((panel, table),), (bad,), EVIL), Figure(EVIL, ((PANELS[2],),), headline=EVIL))
    evil = Outcome(EVIL, EVIL, figures, (claim,), "name", EVIL, {EVIL: EVIL}, 1.0, {EVIL: EVIL}, EVIL, EVIL)
    about = report.About(EVIL, EVIL, EVIL, ((EVIL, EVIL),))
    parts = Parts(publish([evil, outcome(name="two")], tmp_path, about).read_text())
    assert parts.scripts == [(TEMPLATES / "filter.js").read_text()]
    assert [a["src"][:22] for tag, a in parts.elements if tag == "img"] == ["data:image/svg+xml;bas"] * 3  # ours alone
    known = {"href", "src", "class", "id", "content", "name", "value", "alt", "title", "data-source", "data-verdict"}
    for tag, attributes in parts.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag
        assert tag not in ("iframe", "object", "embed", "base", "svg")
        assert all("evil" not in (value or "") for name, value in attributes.items() if name not in known), tag
    assert not any("evil" in address for address in parts.values("href") + parts.values("src") + parts.values("id"))
    assert f"{EVIL}: {bad}" in parts.values("alt")  # whole, and only words


@pytest.mark.parametrize("name", ["../x", "a/b", "a b", "<b>", "x.svg", "$x$"])
def test_a_name_that_is_no_file_name_is_refused(name):
    with pytest.raises(SettingError, match="letters, digits"):
        outcome(name=name)


@pytest.mark.slow
def test_each_picture_is_there_once_and_files_are_linked(tmp_path):
    text = publish([outcome(), outcome(name="other")], tmp_path, "T").read_text()
    parts = Parts(text)
    pictures = [attributes for tag, attributes in parts.elements if tag == "img"]
    assert len(pictures) == 2
    for name, attributes in zip(("name-1", "other-1"), pictures, strict=True):
        svg = (tmp_path / "figures" / f"{name}.svg").read_bytes()
        assert base64.b64decode(attributes["src"].partition(",")[2]) == svg
        assert attributes["alt"] == "all: lines, curves, images, heat, bars, points"
    assert text.count(";base64,") == 2
    linked = {address for address in parts.values("href") if address.startswith("figures/")}
    assert linked == {f"figures/{path.name}" for path in (tmp_path / "figures").glob("[!.]*")}
    assert {path.rpartition(".")[2] for path in linked} == {"svg", "pdf", "png", "csv", "npz"}


def test_a_heavy_report_is_hardly_larger_than_its_pictures():
    svg = b'<svg width="300pt" height="200pt">' + b" " * 150_000 + b"</svg>"
    heavy = {"svg": svg, "pdf": b"x" * 10**6, "png": b"x" * 10**6, "csv": b"x" * 10**6, "npz": b"x" * 10**6}
    outcomes = [outcome(name=f"e{i}", claims=(CLAIM,) * 6) for i in range(30)]
    text = page(outcomes, "T", files={f"e{i}-1": heavy for i in range(30)})
    assert len(text) < 4 / 3 * 30 * len(svg) + 10**6  # base64, and words
    assert len(text) < 8e6


@pytest.mark.slow
def test_what_held_beyond_the_sources_is_told_once_on_the_first_page():
    held, failed = (replace(CLAIM, sentence=f"<b>{v}</b>.", verdict=v) for v in ("holds", "does not hold"))
    new = outcome(name="new", chapter="beyond", claims=(failed, held, replace(held, sentence="Another.")))
    lost = outcome(name="lost", chapter="beyond", claims=(failed,))
    news = page([outcome(), new, lost], "T").partition('<section id="news">')[2].partition("</section>")[0]
    assert news.count("<li>") == 1
    assert "&lt;b&gt;holds&lt;/b&gt;." in news
    assert 'href="#new"' in news
    assert '<section id="news">' not in page([outcome(), lost], "T")


@pytest.mark.slow
def test_headlines_come_first_in_their_places():
    second, first = (
        Figure(name, ((PANELS[0],),), headline=f"The {name}.", place=place)
        for name, place in (("later", 2), ("sooner", 1))
    )
    text = page([outcome(figures=(second, *outcome().figures)), outcome(name="other", figures=(first,))], "T")
    head, _, rest = text.partition("</header>")
    assert 0 < head.index("The sooner.") < head.index("The later.")
    assert 'href="#other"' in head
    assert "The sooner." not in rest
    assert head.count("<img") == 2
    assert rest.count("<img") == 1
    assert '<div class="headlines">' not in page([outcome()], "T")


def test_the_page_counts_verdicts_and_names_the_file_that_makes_a_claim():
    other = replace(CLAIM, verdict="holds")
    text = page([outcome(claims=(CLAIM, CLAIM, other), origin="src/localax/x.py", question="What is it?")], "T")
    head = re.sub("<[^>]*>", " ", text[text.index("<header>") : text.index("</header>")])
    assert re.findall(r"(\d+)\s+\W?\s*(claims|holds|does not hold|other than expected)", head) == [
        ("3", "claims"), ("1", "holds"), ("2", "does not hold"), ("1", "other than expected"),
    ]  # fmt: skip
    assert "<code>src/localax/x.py</code>" in text
    assert "What is it?" in text
    assert json.loads(report.claims_json([outcome(origin="src/localax/x.py")]))[0]["origin"] == "src/localax/x.py"


def test_an_experiment_tells_its_question_and_its_file():
    kind = experiments.named("fig5")
    assert kind.origin() == "src/localax/experiments/paper/fig5.py"
    assert (TOP / kind.origin()).exists()
    mine = type("Mine", (kind,), {"__module__": "mine"})
    assert mine.origin() == "mine"


def test_columns_of_numbers_are_aligned():
    rows = ((1, "2.5 +- 0.1", "-1e-05", "12%", "a"), (20, "infinite", "1,000", "3%", 4))
    text = page([outcome(figures=(Figure("t", ((Table("", tuple("vwxyz"), rows),),)),))], "T")
    table = text[text.index("<table>") : text.index("</table>")]
    assert re.findall(r'<th class="number">(.)', table) == ["v", "w", "x", "y"]
    assert len(re.findall(r'<td class="number">', table)) == 8
    assert "2.5 ± 0.1" in table


# Formulas -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("$x^2$", "<msup><mi>x</mi><mn>2</mn></msup>"),
        (r"a $\frac{1}{N}$ b", "<mfrac><mrow><mn>1</mn></mrow><mrow><mi>N</mi></mrow></mfrac>"),
        (r"$$\sqrt{2}$$", "<msqrt><mrow><mn>2</mn></mrow></msqrt>"),
    ],
)
def test_what_is_between_dollars_becomes_mathml(text, inside):
    made = with_formulas(text)
    assert inside in made
    assert ('display="block"' in made) == ("$$" in text)
    assert "$" not in made


@pytest.mark.parametrize(
    "text", ["5 $ and no more", "$", "$$", r"$\begin{x}$", r"$\href{x}{y}$", r"$\text{<b>}$", "$&lt;$"]
)
def test_what_is_no_formula_stays_as_it_is(text):
    assert with_formulas(text) == html.escape(text)


def test_the_question_has_its_formulas():
    about = report.about_the_claims("quick")
    text = page([outcome()], about)
    written_out = [len(re.findall(r"\$\$?[^$]+\$\$?", paragraph)) for _, paragraph in about.question]
    assert text.count("<math") == sum(written_out)
    assert "$" not in re.sub("<script>.*</script>", "", text, flags=re.S)
    assert "“quick”" in text


def test_claims_as_json():
    (row,) = json.loads(report.claims_json([outcome()]))
    assert row["experiment"] == "name"
    assert row["verdict"] == "does not hold"
    assert row["measured"] == [{"name": "n", "value": 2.0, "standard_error": 0.1, "unit": "pixels"}]
    assert row["expected"] == {"verdict": "does not hold", "by": "theory", "because": "a formula"}
    assert CLAIM.as_expected
    assert not replace(CLAIM, expected=as_measured("holds")).as_expected
    assert replace(CLAIM, expected=None).as_expected


@pytest.mark.slow
def test_the_gallery_shows_every_stimulus_and_its_claim_can_fail():
    done = []  # with the settings of a test of the command, and so with what it compiled
    result = experiments.named("stimuli")(size=40, samples=500).perform(progress=done.append)
    assert result.figures[0].labels == tuple(kind.__name__ for kind in stimuli.ALL)
    assert all(len(row) == 4 for row in result.figures[0].rows)
    assert done[-1] == 1.0
    assert result.claims[0].verdict == "holds"
    assert centred_claim(500, [0.1, 7.0]).verdict == "does not hold"
    assert centred_claim(500, []).verdict == "not testable here"
    histogram = result.figures[0].rows[0][3]
    width = np.diff(histogram.edges)
    assert np.sum(histogram.exact * width) == pytest.approx(1)  # Ising: all of its mass lies in the picture
