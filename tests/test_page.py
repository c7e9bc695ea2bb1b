"""The report in a real browser, from disk: all of it is seen, filters work, nothing is asked of any network."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from localax import experiments, report
from localax.outcome import Claim, Fields, Figure, Heatmap, Histogram, Lines, Outcome, Scatter, Table, as_measured

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium, which make system installs"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
RING = np.linspace(0, 1, 20)
WIDE, TABLET, PHONE = 1400, 800, 390
EVIL = (
    "<script>window.evil = 1</script><img src=x onerror='window.evil = 1'> $\\text{<script>window.evil = 1</script>}$"
)


def outcome(name: str, chapter: str, source: str) -> Outcome:
    rows = (
        (Lines("l", RING, {"a": RING, "b": -RING}, marks={"here": 0.5}), Fields("f", np.ones((4, 5, 5)))),
        (Heatmap("h", np.outer(RING, RING)), Scatter("s", {"g": (RING, RING, RING / 9)}, joined=True)),
        (Histogram("d", RING, RING[1:], exact=RING[1:]),),
    )
    claims = tuple(
        Claim(
            f"Claim {verdict}.", f"{source}, 1", "1", (), "2", "rule", (), "basis", verdict, as_measured("holds"), "why"
        )
        for verdict in ("holds", "holds in part", "does not hold", "not testable here")
    )
    columns = tuple(f"a long heading {i}" for i in range(12))
    table = Figure("Numbers", ((Table("", columns, (tuple(range(12)), ("text", *range(11)))),),))
    headline = Figure("First", ((Fields("one", RING[None]),),), headline=f"What {name} finds, {EVIL}.")
    figures = (Figure("A figure", rows), table, headline)
    return Outcome(f"Title of {name} {EVIL}", "Text. " * 20, figures, claims, name, chapter, origin="src/x.py")


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as browsers:
        yield browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("report")
    fig2 = replace(experiments.named("fig2")(samples=500).perform(), chapter="paper")
    outcomes = [outcome("one", "paper", "the paper"), fig2, outcome("two", "notes", "the neuron notes")]
    report.publish(outcomes, place, report.about_the_claims("quick"), workers=2)
    return place


@pytest.fixture
def tab(browser, folder):
    """The report, freshly opened, with all that it said and asked for."""
    made = browser.new_page(viewport={"width": WIDE, "height": 900})
    made.said, made.asked = [], []
    made.on("console", lambda message: made.said.append(message.text))
    made.on("pageerror", lambda error: made.said.append(str(error)))
    made.on("request", lambda request: made.asked.append(request.url))
    made.goto(address(folder))
    yield made
    made.close()


def address(folder, fragment: str = "") -> str:
    return (folder / "report.html").as_uri() + fragment


def seen_claims(tab) -> list[str]:
    return [claim.get_attribute("id") for claim in tab.locator(".claim").all() if claim.is_visible()]


def test_every_figure_is_seen(tab):
    pictures = tab.locator("img")
    assert pictures.count() == 5
    for picture in pictures.all():
        picture.scroll_into_view_if_needed()
        assert picture.evaluate("image => image.complete && image.naturalWidth > 100")
        assert picture.bounding_box()["width"] > 200
        assert picture.get_attribute("alt")
    assert tab.locator("figure table").count() == 2


def test_nothing_is_asked_and_nothing_foreign_runs(tab, folder):
    tab.get_by_label("Words").fill("claim")
    assert {url for url in tab.asked if not url.startswith("data:")} == {address(folder)}
    assert tab.said == []  # a breach of the page's own policy would be told here
    assert tab.evaluate("window.evil") is None
    assert tab.locator("script").count() == 1


@pytest.mark.parametrize("width", [WIDE, TABLET, PHONE])
def test_nothing_sticks_out(tab, width):
    tab.set_viewport_size({"width": width, "height": 900})
    tab.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    scrolls = tab.locator("#one .scroll").first.evaluate("e => e.scrollWidth > e.clientWidth")
    assert scrolls or width > PHONE  # a wide table, by itself


def test_claims_are_beside_their_picture_or_below_it(tab):
    def boxes():
        return [tab.locator(f"#one {part}").first.bounding_box() for part in (".pictures img", ".claim")]

    picture, claim = boxes()
    assert claim["x"] > picture["x"] + picture["width"] - 1
    assert abs(claim["y"] - picture["y"]) < 100
    tab.set_viewport_size({"width": PHONE, "height": 900})
    picture, claim = boxes()
    assert claim["y"] > picture["y"] + picture["height"] - 1
    assert claim["x"] < 40


def test_the_first_screen_has_the_counts_and_the_headlines(tab):
    for part in ("h1", ".counts", ".headlines figure >> nth=0", ".headlines figure >> nth=1"):
        box = tab.locator(part).first.bounding_box()
        assert box["y"] + box["height"] <= 900, part
    tab.locator('.headlines a[href="#two"]').click()
    assert tab.url.endswith("#two")
    assert 0 <= tab.locator("#two h3").bounding_box()["y"] < 200


def test_formulas_are_drawn_as_formulas(tab):
    fraction = tab.locator("#question mfrac").first.bounding_box()
    line = tab.locator("#question mi").first.bounding_box()
    assert fraction["height"] > 1.6 * line["height"]
    assert "$" not in tab.locator("#question").inner_text()


# Filters --------------------------------------------------------------------------------------------------------------


def test_filters_by_verdict_source_and_words_and_the_count_follows(tab):
    count = tab.locator("#filters output")
    everything = len(seen_claims(tab))
    assert everything == 11
    assert count.inner_text() == "11 claims"
    tab.get_by_label("does not hold").check()
    assert seen_claims(tab) == ["one-claim-3", "two-claim-3"]
    assert count.inner_text() == "2 of 11 claims"
    assert not tab.locator("#fig2").is_visible()
    assert tab.locator(".signs a:visible").all_inner_texts() == ["✗"]  # the paper's overview; the notes are one section
    tab.get_by_label("holds in part").check()
    assert len(seen_claims(tab)) == 4
    tab.get_by_label("Source").select_option("the neuron notes")
    assert seen_claims(tab) == ["two-claim-2", "two-claim-3"]
    assert tab.locator(".chapter:visible").count() == 1
    tab.get_by_label("Words").press_sequentially(
        "PART title"
    )  # typed key by key; all of the words, in any order, from the claim or its experiment
    assert seen_claims(tab) == ["two-claim-2"]
    assert tab.get_by_label("Words").input_value() == "PART title"
    tab.get_by_role("button", name="Show all").click()
    assert len(seen_claims(tab)) == everything
    assert not tab.get_by_role("button", name="Show all").is_visible()
    tab.get_by_label("Words").fill("nothing has this")
    assert count.inner_text() == "0 of 11 claims"


def test_a_filtered_view_can_be_linked(tab, browser, folder):
    tab.get_by_label("not testable here").check()
    tab.get_by_label("Words").fill("claim & <b>")
    tab.get_by_label("Words").fill("neuron")
    assert seen_claims(tab) == ["two-claim-4"]
    other = browser.new_page()
    other.goto(tab.url)
    assert seen_claims(other) == ["two-claim-4"]
    assert other.get_by_label("Words").input_value() == "neuron"
    assert other.get_by_label("not testable here").is_checked()
    other.goto(address(folder, "#verdict=holds&source=the+paper&words=one"))
    assert seen_claims(other) == ["one-claim-1"]
    other.locator(".headlines a[href='#two']").click()  # a place that is filtered away comes back
    assert other.locator("#two").is_visible()
    assert len(seen_claims(other)) == 11
    assert other.url.endswith("#two")
    other.go_back()
    assert seen_claims(other) == ["one-claim-1"]
    other.close()


def test_a_count_leads_to_its_claims(tab):
    tab.locator(".counts a.does-not-hold").click()
    tab.wait_for_function("document.querySelector('output').textContent === '2 of 11 claims'")
    assert seen_claims(tab) == ["one-claim-3", "two-claim-3"]
    assert tab.locator("#filters").bounding_box()["y"] < 100  # and they are in sight


def test_the_page_can_be_read_without_a_script(browser, folder):
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(address(folder))
    assert len(seen_claims(plain)) == 11
    assert not plain.locator("#filters").is_visible()
    context.close()


def test_print_has_no_filters_and_breaks_no_claim(tab, tmp_path):
    assert tab.locator("#filters").is_visible()
    tab.emulate_media(media="print")
    assert not tab.locator("#filters").is_visible()
    assert tab.locator(".claim").first.evaluate("e => getComputedStyle(e).breakInside") == "avoid"
    tab.pdf(path=tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().count(b"/Type /Page\n") > 2


# Files ----------------------------------------------------------------------------------------------------------------


def test_every_link_to_a_file_leads_to_one(tab, folder):
    links = {link.get_attribute("href") for link in tab.locator('a[href^="figures/"]').all()}
    assert {f"figures/one-1.{form}" for form in ("svg", "pdf", "png", "csv", "npz")} <= links
    assert links == {f"figures/{path.name}" for path in (folder / "figures").glob("[!.]*")}
    with np.load(folder / "figures" / "one-1.npz") as arrays:
        np.testing.assert_array_equal(arrays["00 l a y"], RING)
    assert (folder / "figures" / "one-2.csv").read_text().splitlines()[1] == "0,1,2,3,4,5,6,7,8,9,10,11"
    tab.locator("#one .pictures img").click()  # a picture opens by itself, to be looked at closely
    tab.wait_for_url("**/figures/one-1.svg")
