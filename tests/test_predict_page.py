"""The page on a prediction in a real browser, from disk: the answer is seen, and nothing foreign runs or is asked."""

import shutil

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from test_cli import localax
from test_predict import drawn

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium, which make system installs"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
EVIL = "<img src=x onerror='window.evil = 1'> $x^2$.npy"
WIDE, PHONE = 1400, 390


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page on data whose file has a name that would be code if it were not escaped."""
    folder = tmp_path_factory.mktemp("predicted")
    one, zero = drawn("nlgp")
    np.save(folder / EVIL, one)
    np.save(folder / "zero.npy", zero)
    done = localax("predict", EVIL, "--contrast", "zero.npy", "--report", "out", folder=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("report out/index.html\n")
    return folder / "out" / "index.html"


@pytest.fixture
def tab(page):
    with sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        made = browser.new_page(viewport={"width": WIDE, "height": 900})
        made.said, made.asked = [], []
        made.on("console", lambda message: made.said.append(message.text))
        made.on("pageerror", lambda error: made.said.append(str(error)))
        made.on("request", lambda request: made.asked.append(request.url))
        made.goto(page.as_uri())
        yield made
        browser.close()


def test_the_answer_is_on_the_first_screen(tab):
    assert tab.locator("h1").inner_text() == f"{EVIL}: localizes"
    assert "becomes local" in tab.locator(".lead").inner_text()
    assert "localizes (probability 1.00" in tab.locator("dl").inner_text()
    picture = tab.locator("img")
    assert picture.count() == 1
    assert picture.evaluate("image => image.complete && image.naturalWidth > 400")
    box = picture.bounding_box()
    assert box["y"] + box["height"] < 900


def test_all_reasons_and_assumptions_are_there(tab):
    reasons = tab.locator("li").all_inner_texts()
    assert any("maximises J" in reason for reason in reasons)
    assert any("amplifier" in reason for reason in reasons)
    rows = tab.locator("tbody tr").all_inner_texts()
    assert len(rows) == 10
    assert rows[0].startswith("S1 weak dependence")


def test_nothing_is_asked_and_nothing_foreign_runs(tab, page):
    assert {url for url in tab.asked if not url.startswith("data:")} == {page.as_uri()}
    assert tab.said == []  # a breach of the page's own policy would be told here
    assert tab.evaluate("window.evil") is None
    assert tab.locator("script, math").count() == 0


def test_nothing_sticks_out_on_a_phone(tab):
    tab.set_viewport_size({"width": PHONE, "height": 900})
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE


def test_every_link_leads_to_a_file(tab, page):
    links = {link.get_attribute("href") for link in tab.locator("a").all()}
    assert links == {path.name for path in page.parent.iterdir()} - {"index.html"}
