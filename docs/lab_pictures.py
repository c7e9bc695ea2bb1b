"""The pictures of the lab in these pages: ``python docs/lab_pictures.py``, beside Debian's chromium; a minute."""

import contextlib
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

PICTURES = Path(__file__).with_name("pictures")
PORT = 8272
RUN = "#settings.steps=1500&settings.seeds=4"
PATIENCE = 120_000


def done(page: Page) -> None:
    expect(page.locator(".status")).to_contain_text("Done", timeout=PATIENCE)
    expect(page.locator("#train-view .legend").first).to_contain_text("localization", timeout=PATIENCE)


def pictures(page: Page, address: str) -> None:
    """Three states of the page."""
    page.goto(f"{address}#tab=stimulus")
    expect(page.locator(".more li").first).to_be_visible(timeout=PATIENCE)
    page.screenshot(path=PICTURES / "lab_stimulus.png")
    page.goto("about:blank")
    page.goto(address + RUN)
    start = page.get_by_role("button", name="Start", exact=True)
    start.click()
    done(page)
    page.screenshot(path=PICTURES / "lab_train.png")
    page.get_by_role("button", name="Pin this run").click()
    page.get_by_label("gain", exact=True).fill("0.2")
    start.click()
    expect(page.locator(".status")).not_to_contain_text("Done")  # of the first
    done(page)
    page.get_by_role("tab", name="Compare (1)").click()
    expect(page.locator("#compare-view .card")).to_have_count(2)
    page.screenshot(path=PICTURES / "lab_compare.png")


def main() -> None:
    """Serve a lab for as long as its pictures take."""
    address = f"http://127.0.0.1:{PORT}/"
    with tempfile.TemporaryDirectory() as store, sync_playwright() as browsers:
        words = ["-m", "localax", "lab", "--port", str(PORT), "--no-browser", "--store", store]
        server = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
        try:
            for _ in range(300):
                with contextlib.suppress(OSError), urllib.request.urlopen(address):
                    break
                time.sleep(0.2)
            browser = browsers.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            pictures(browser.new_page(viewport={"width": 1280, "height": 800}), address)
        finally:
            server.terminate()
            server.wait(20)


if __name__ == "__main__":
    main()
