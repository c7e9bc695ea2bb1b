"""The report in a real browser: every figure is seen, nothing is asked of any network, downloads are whole."""

import shutil

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from localax import experiments, report
from localax._record import Claim, Fields, Figure, Heatmap, Histogram, Lines, Outcome, Scatter, Table

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium, which make test installs"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
RING = np.linspace(0, 1, 20)


def outcome(name: str, chapter: str) -> Outcome:
    rows = (
        (Lines("l", RING, {"a": RING, "b": -RING}, marks={"here": 0.5}), Fields("f", np.ones((4, 5, 5)))),
        (Heatmap("h", np.outer(RING, RING)), Scatter("s", {"g": (RING, RING, RING / 9)}, joined=True)),
        (Histogram("d", RING, RING[1:], exact=RING[1:]),),
    )
    claims = tuple(
        Claim(f"Claim {verdict}.", "seed", "1", "2", "rule", "basis", verdict, "holds", "why")
        for verdict in ("holds", "holds in part", "does not hold", "not testable here")
    )
    table = Figure("Numbers", ((Table("", ("x", "y"), ((1, 2.5), (2, "text"))),),))
    return Outcome(f"Title of {name}", "Text. " * 20, (Figure("A figure", rows), table), claims, name, chapter)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The report in a headless browser, with all that it said and asked for."""
    folder = tmp_path_factory.mktemp("report")
    outcomes = [outcome("one", "paper"), experiments.perform("fig2"), outcome("two", "notes")]
    path = report.publish(outcomes, folder, "A report", intro="Intro.", workers=2)
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1200, "height": 900}, accept_downloads=True)
        tab.said, tab.asked = [], []  # pyright: ignore[reportAttributeAccessIssue]
        tab.on("console", lambda message: tab.said.append(message.text))
        tab.on("pageerror", lambda error: tab.said.append(str(error)))
        tab.on("request", lambda request: tab.asked.append(request.url))
        tab.goto(path.as_uri())
        yield tab, folder, path
        browser.close()


def test_every_figure_is_seen(page):
    tab, _, _ = page
    pictures = tab.locator("figure svg[role=img]")
    assert pictures.count() == 3
    for i in range(pictures.count()):
        box = pictures.nth(i).bounding_box()
        assert box["width"] > 300
        assert box["height"] > 200
        assert pictures.nth(i).is_visible()
    assert tab.locator("figure table").count() == 2


def test_nothing_is_asked_and_nothing_goes_wrong(page):
    tab, _, path = page
    assert [url for url in tab.asked if not url.startswith("data:")] == [path.as_uri()]
    assert tab.said == []


def test_nothing_sticks_out_of_a_narrow_window(page):
    tab, _, _ = page
    tab.set_viewport_size({"width": 700, "height": 900})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 700
    tab.set_viewport_size({"width": 1200, "height": 900})


def test_claims_lead_to_their_experiment(page):
    tab, _, _ = page
    assert tab.locator("table.claims").last.locator("tbody tr").count() == 4
    assert "✗ does not hold" in tab.locator("table.claims").first.inner_text()
    assert "expected: holds" in tab.locator("table.claims").first.inner_text()
    tab.locator('table.claims a[href="#two"]').first.click()
    assert tab.url.endswith("#two")
    assert tab.locator("#two").inner_text() == "Title of two"


def test_downloads_are_the_files_of_the_folder(page):
    tab, folder, _ = page
    for form in ("svg", "pdf", "png", "csv", "npz"):
        with tab.expect_download() as waiting:
            tab.locator(f'a[download="one-1.{form}"]').click()
        with open(waiting.value.path(), "rb") as file:  # noqa: PTH123 (a path of the browser's own)
            assert file.read() == (folder / "figures" / f"one-1.{form}").read_bytes()
    with np.load(folder / "figures" / "one-1.npz") as arrays:
        np.testing.assert_array_equal(arrays["00 l a y"], RING)
    assert (folder / "figures" / "one-2.csv").read_text().splitlines() == ["x,y", "1,2.5", "2,text"]
