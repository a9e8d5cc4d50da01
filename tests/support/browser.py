"""A headless browser for pages, one for all tests; they are skipped where there is none."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.wants import skip_for_want_of

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
)

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser that notes every request, and saves downloads in the folder `downloads`."""
    webdriver = pytest.importorskip("selenium.webdriver")
    if CHROMIUM is None or DRIVER is None:
        skip_for_want_of("chromium and chromedriver: make system-browser")
    profile = tmp_path_factory.mktemp("profile")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def resize(driver: Any, size: str) -> None:
    """Give the page the width of a desktop or a phone, whatever the least width of a window."""
    width, height = SIZES[size]
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def save_downloads_to(driver: Any, folder: Path) -> None:
    """Put what pages save into a folder, without asking."""
    words = {"behavior": "allow", "downloadPath": str(folder)}
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", words)


def addresses(driver: Any) -> set[str]:
    """Addresses that pages asked for since the last call, but for files that they make themselves.

    What the policy of a page holds back is not among them.
    """
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = {}
    for message in messages:
        words = message["params"]
        if message["method"] == "Network.requestWillBeSent":
            asked[words["requestId"]] = words["request"]["url"]
        elif message["method"] == "Network.loadingFailed" and words.get("blockedReason") == "csp":
            del asked[words["requestId"]]
    return {address for address in asked.values() if not address.startswith("blob:")}
