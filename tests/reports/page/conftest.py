"""Real Chromium, and the page of a small real sweep with films."""

import os
import shutil
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def chromium():
    """A running browser; tests skip where none is installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: `make setup`")
    path = os.environ.get("BRITTLESTAR_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no Chromium is installed: `scripts/install_system.sh`")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page that is open in the browser, and what the browser reported about it."""

    def __init__(self, chromium, path: Path, **options) -> None:
        self.tab = chromium.new_page(**({"viewport": {"width": 1200, "height": 900}} | options))
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.tab.on(
            "console", lambda line: self.errors.append(line.text) if line.type in ("error", "warning") else None
        )
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.goto(path.as_uri())
        for _ in range(500):
            if self.tab.evaluate("window.pageReady"):
                return
            self.tab.wait_for_timeout(20)
        raise AssertionError(f"the page is not ready: {self.errors}")

    def close(self) -> None:
        self.tab.close()


@pytest.fixture(scope="module")
def open_page(chromium):
    """A function that opens a page until the module ends."""
    visits = []

    def open_one(path: Path, **options) -> Visit:
        visits.append(Visit(chromium, path, **options))
        return visits[-1]

    yield open_one
    for visit in visits:
        visit.close()
