"""The lab in a real browser: what a person does there, and what the page says when something goes wrong."""

import contextlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from lab import ELSEWHERE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium, which make system installs"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
SMALL = (
    "#settings.stimulus.kind=Ising&settings.stimulus.size=20&settings.stimulus.coupling=[0.3,0.7]"
    "&settings.seeds=2&settings.batch=64"
)
"""A task that trains in a moment: what is left out keeps its default."""
WIDE, TABLETS = (1280, 800), ((1024, 768), (768, 1024))
PATIENCE = 60_000
"""Milliseconds: a first run compiles, on a machine that may be busy."""


class Lab:
    """A server of its own process in a folder of its own; it can be stopped and started again at the same address."""

    def __init__(self, folder: Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder, self.address = folder, f"http://127.0.0.1:{self.port}/"
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "localax", "lab", "--port", str(self.port), "--no-browser"]
        self.process = subprocess.Popen(
            command, cwd=self.folder, env=ELSEWHERE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(300):
            with contextlib.suppress(OSError), urllib.request.urlopen(self.address):
                return
            time.sleep(0.2)
        self.stop()
        raise TimeoutError("the lab did not start")

    def stop(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)


@pytest.fixture
def lab(server):
    """The server that all tests of the lab share."""
    return SimpleNamespace(address=str(server.base_url))


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as browsers:
        yield browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.fixture
def page(browser, lab):
    """A fresh tab; what it says on the console or asks of others is a fault, but for a refusal that is meant."""
    context = browser.new_context(viewport=dict(zip(("width", "height"), WIDE, strict=True)))
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    made = context.new_page()
    made.set_default_timeout(PATIENCE)
    made.said, made.refused, asked = [], False, []
    made.on("console", lambda message: made.said.append(message.text))
    made.on("pageerror", lambda error: made.said.append(str(error)))
    made.on("request", lambda request: asked.append(request.url))
    yield made
    context.close()
    pardoned = [line for line in made.said if made.refused and "status of 4" in line]  # the browser's word on a refusal
    assert made.said == pardoned
    assert [url for url in asked if not url.startswith((lab.address, "blob:", "data:"))] == []


def opened(page, lab, settings: str = SMALL) -> None:
    page.goto(lab.address + settings)
    expect(page.locator("#version")).to_contain_text("version", timeout=PATIENCE)


def started(page, steps: int = 200) -> None:
    page.get_by_label("steps", exact=True).fill(str(steps))
    page.get_by_role("button", name="Start", exact=True).click()


def canvas(page) -> bytes:
    return page.get_by_label("Receptive field").screenshot()


def finished(page) -> None:
    expect(page.locator(".status")).to_contain_text("Done", timeout=PATIENCE)


def test_a_run_is_seen_read_replayed_and_reopened(page, lab):
    opened(page, lab)
    welcome = page.get_by_text("A network learns to tell two kinds of pictures apart")
    expect(welcome).to_be_visible()
    page.evaluate(LOOK_ON)
    started(page)
    expect(welcome).to_be_hidden()
    finished(page)
    assert page.evaluate("window.seen.size") >= 3  # it was empty, it changed, and it ended otherwise
    for name in ("Predicted", "Happened", "Why"):
        sentence = page.locator(f".reading dt:text-is('{name}') + dd")
        expect(sentence).to_have_text(re.compile(r"\.$"), timeout=PATIENCE)  # not a word that it comes
    expect(page.locator("#train-view .legend").first).to_contain_text(re.compile("flow", re.IGNORECASE))
    last = canvas(page)
    page.get_by_label("Replay").fill("0")
    expect(page.locator(".replay output")).to_have_text("time 0, step 0")
    beginning = canvas(page)
    assert beginning != last
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator(".replay output")).to_have_text("time 0, step 0", timeout=PATIENCE)
    assert other.get_by_label("steps", exact=True).input_value() == "200"
    assert canvas(other) == beginning
    other.close()


LOOK_ON = """() => {
  window.seen = new Set();
  const canvas = document.querySelector('canvas[aria-label="Receptive field"]');
  const look = () => { window.seen.add(canvas.toDataURL()); requestAnimationFrame(look); };
  look();
}"""
"""Keeps every picture that the canvas shows: a small run is over sooner than one can ask twice."""


def test_a_moved_slider_changes_the_stimulus_at_once(page, lab):
    opened(page, lab, "#tab=stimulus&settings.stimulus.kind=NLGP&settings.stimulus.size=40")
    kurtosis = page.locator("#stimulus-view .facts dd")
    expect(kurtosis).not_to_be_empty(timeout=PATIENCE)
    before, needle = kurtosis.inner_text(), page.locator(".meter").evaluate("m => m.style.getPropertyValue('--at')")
    gain = page.get_by_label("gain, slider")
    with page.expect_response("**/api/stimulus"):
        gain.fill("200")
    expect(kurtosis).not_to_have_text(before)
    expect(page.locator(".meter")).not_to_have_css("--at", needle)
    took = page.evaluate(MEASURED)
    assert max(took) < 5000  # each of them reached the picture
    assert "gain=" in page.url


MEASURED = """async () => {
  const slider = document.querySelector('input[aria-label="gain, slider"]');
  const meter = document.querySelector('.meter');
  const shown = () => meter.style.getPropertyValue('--at');
  const took = [];
  for (let at = 300; at < 800; at += 50) {
    const before = shown(), start = performance.now();
    slider.value = at;
    slider.dispatchEvent(new Event('input'));
    while (shown() === before && performance.now() - start < 5000) await new Promise(requestAnimationFrame);
    took.push(performance.now() - start);
  }
  return took;
}"""
"""Milliseconds from a slider to its picture, ten times over."""


def test_runs_can_be_paused_given_another_rate_stopped_and_compared(page, lab):
    opened(page, lab)
    started(page, 200_000)
    pause = page.get_by_role("button", name="Pause", exact=True)
    expect(pause).to_be_enabled(timeout=PATIENCE)
    expect(page.get_by_label("Replay")).to_be_enabled(timeout=PATIENCE)
    pause.click()
    expect(page.locator(".status")).to_contain_text("Paused")
    still = canvas(page)
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".status")).to_contain_text("Running")
    page.get_by_label("rate", exact=True).fill("0.01")
    expect(page.locator(".status")).to_contain_text("Rate 0.01")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".status")).to_contain_text("Stopped")
    assert canvas(page) != still
    page.get_by_role("button", name="Pin this run").click()
    started(page)
    finished(page)
    page.get_by_role("tab", name="Compare (1)").click()
    expect(page.locator("#compare-view .card")).to_have_count(2)
    expect(page.get_by_role("row", name=re.compile("^rate"))).to_contain_text("0.01")
    expect(page.locator("#compare-view .legend").first).to_contain_text("AB")


def test_what_is_taken_away_gives_the_same_bits(page, lab, tmp_path):
    opened(page, lab)
    started(page)
    finished(page)
    page.get_by_role("tab", name="Take away").click()
    with page.expect_download() as run:
        page.get_by_role("link", name="Download run.npz").click()
    run.value.save_as(tmp_path / "lab.npz")
    with page.expect_download() as picture:
        page.get_by_role("button", name="Field as SVG").click()
    assert b"<svg" in Path(picture.value.path()).read_bytes()[:200]
    with page.expect_download() as loss:
        page.get_by_role("button", name="Loss as PNG").click()
    assert Path(loss.value.path()).read_bytes().startswith(b"\x89PNG")
    page.get_by_role("button", name="Copy: Python lines").click()
    lines = page.evaluate("navigator.clipboard.readText()")
    (tmp_path / "again.py").write_text(lines + '\nrun.save("again.npz")\n')
    subprocess.run([sys.executable, "again.py"], cwd=tmp_path, env=ELSEWHERE, check=True, timeout=300)
    with np.load(tmp_path / "lab.npz") as lab_run, np.load(tmp_path / "again.npz") as again:
        for name in ("weights", "loss", "time"):
            np.testing.assert_array_equal(lab_run[name], again[name])
    expect(page.locator("#take-view pre").nth(1)).to_contain_text("localax train")


def test_two_tabs_train_each_its_own(page, lab):
    opened(page, lab)
    other = page.context.new_page()
    opened(other, lab)
    started(page)
    started(other, 300)
    finished(page)
    finished(other)
    assert "of 200." in page.locator(".status").inner_text()
    assert "of 300." in other.locator(".status").inner_text()


def test_own_data_gets_a_prediction_and_rubbish_a_line(page, lab, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "spikes.npy", np.sign(rng.normal(size=(600, 12))).astype(np.float32))
    (tmp_path / "rubbish.npy").write_bytes(b"\x93NUMPY not an array at all")
    opened(page, lab, "#tab=own")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#own-view > .problem")).to_contain_text("Choose a file")
    page.get_by_label("Samples: drop").set_input_files(tmp_path / "rubbish.npy")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#own-view > .problem")).to_contain_text("cannot be read", timeout=PATIENCE)
    page.refused = True
    page.get_by_label("Samples: drop").set_input_files(tmp_path / "spikes.npy")
    page.get_by_role("button", name="Predict").click()
    expect(page.get_by_role("heading", name="Prediction")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("#own-view > .problem")).to_be_empty()


def test_a_file_of_ones_own_is_looked_at_trained_on_and_missed_when_gone(page, lab, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "mine.npy", np.repeat(np.sign(rng.normal(size=(600, 6))), 2, axis=1).astype(np.float32))
    opened(page, lab, "#tab=stimulus&settings.stimulus.kind=Empirical&settings.steps=200&settings.seeds=2")
    expect(page.locator("#stimulus-view > .problem")).to_contain_text("samples must be a file", timeout=PATIENCE)
    page.get_by_label("samples", exact=True).focus()
    page.keyboard.press("Enter")  # a file is dropped at one place alone
    expect(page.get_by_role("tab", name="Own data")).to_have_attribute("aria-selected", "true")
    page.get_by_label("Samples: drop").set_input_files(tmp_path / "mine.npy")
    page.get_by_role("button", name="Use as stimulus").click()
    expect(page.locator("#stimulus-view .facts dd")).to_contain_text("your data", timeout=PATIENCE)
    expect(page.get_by_label("samples", exact=True)).to_have_text("mine.npy")
    assert not Axe().run(page).response["violations"]
    page.get_by_role("button", name="Start", exact=True).click()
    finished(page)
    page.get_by_role("tab", name="Take away").click()
    expect(page.locator("#take-view pre").first).to_contain_text("read_stimuli('mine.npy')")
    gone = re.sub(r"samples=[0-9a-f]{16}", "samples=0123456789abcdef", page.url).replace("tab=take", "tab=stimulus")
    page.goto("about:blank")
    page.goto(gone)
    expect(page.locator("#stimulus-view > .problem")).to_contain_text(
        "mine.npy is no longer on the server: drop it again"
    )
    page.refused = True


def test_a_wrong_setting_is_told_beside_the_button(page, lab):
    opened(page, lab)
    page.get_by_label("rate", exact=True).fill("-1")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator("#bench .problem")).to_contain_text("rate")
    page.refused = True


def test_the_keyboard_alone_is_enough(page, lab):
    opened(page, lab)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the panel")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("tab", name="Train")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="Stimulus")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.get_by_label("Replay")).to_be_enabled(timeout=PATIENCE)
    page.get_by_role("button", name="Loss").focus()  # a quantity tells its meaning and its equation
    expect(page.get_by_role("tooltip").locator("math")).to_be_visible()
    assert page.evaluate("document.activeElement.getAttribute('aria-describedby')") == "hint"
    page.keyboard.press("Escape")
    expect(page.get_by_role("tooltip")).to_be_hidden()
    page.get_by_label("Replay").focus()
    page.keyboard.press("Home")
    expect(page.locator(".replay output")).to_have_text("time 0, step 0")


def test_the_report_is_filtered_and_shows_numbers(page, lab):
    opened(page, lab, "#tab=report")
    count = page.locator(".filters output")
    expect(count).to_contain_text("experiments", timeout=PATIENCE)
    page.get_by_label("Words").fill("no claim has this")
    expect(count).to_contain_text("0 of")
    assert "report.words" in page.url


RULES = {"light": None, "dark": {"runOnly": ["color-contrast"]}}
"""What axe looks at: all that there is, and once more what depends on colours."""


@pytest.mark.parametrize("scheme", RULES)
def test_axe_finds_nothing_and_nothing_sticks_out(page, lab, scheme):
    page.emulate_media(color_scheme=scheme)
    opened(page, lab)
    for tab in page.get_by_role("tab").all():
        tab.click()
        page.wait_for_load_state("networkidle") if tab.inner_text() in ("Stimulus", "Report") else None
        found = Axe().run(page, options=RULES[scheme]).response["violations"]
        assert not [(one["id"], one["nodes"][0]["html"]) for one in found], tab.inner_text()
        for width, height in (WIDE, *TABLETS):
            page.set_viewport_size({"width": width, "height": height})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, tab.inner_text()


def test_a_server_that_goes_away_is_missed_and_found_again(browser, tmp_path):
    lab = Lab(tmp_path)
    lab.start()
    page = browser.new_page()
    opened(page, lab)
    started(page, 200_000)
    expect(page.get_by_label("Replay")).to_be_enabled(timeout=PATIENCE)
    lab.stop()
    gone = page.get_by_text("The server does not answer. This page looks for it")
    expect(gone).to_be_visible(timeout=PATIENCE)
    lab.start()
    expect(gone).to_be_hidden(timeout=PATIENCE)
    expect(page.locator(".status")).to_contain_text("Press Start to make it again", timeout=PATIENCE)
    started(page)
    finished(page)
    page.close()
    lab.stop()
