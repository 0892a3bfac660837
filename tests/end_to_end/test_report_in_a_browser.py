"""The report as a reader opens it: from disk, in a real browser, with scripts and without, and without a network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import axe_playwright_python
import pytest
from command_line import Command
from playwright.sync_api import Browser, Page, sync_playwright
from quiet_browser import QUIET, browser_here

pytestmark = pytest.mark.xdist_group("first-audit")


@dataclass
class Heard:
    """What the browser complained of, and what it asked for."""

    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def listen(self, page: Page) -> None:
        page.on("console", lambda message: self.complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    @property
    def beyond_this_disk(self) -> list[str]:
        return [url for url in self.requests if not url.startswith(("file:", "data:"))]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser_here(), args=list(QUIET))
        yield chromium
        chromium.close()


def opened(browser: Browser, file: str, *, scripts: bool) -> tuple[Page, Heard]:
    page, heard = browser.new_context(java_script_enabled=scripts).new_page(), Heard()
    heard.listen(page)
    page.goto(Path(file).as_uri(), wait_until="load")
    return page, heard


@pytest.fixture(params=[True, False], ids=["with scripts", "without scripts"])
def page_and_heard(request: pytest.FixtureRequest, browser: Browser, newcomer: Command) -> Iterator[tuple[Page, Heard]]:
    page, heard = opened(browser, newcomer.answer["report"], scripts=request.param)
    yield page, heard
    page.context.close()


def test_it_opens_without_a_complaint_and_asks_nobody(page_and_heard: tuple[Page, Heard], newcomer: Command) -> None:
    page, heard = page_and_heard
    assert "breast-cancer" in page.title()
    assert heard.complaints == []
    assert heard.requests
    assert heard.beyond_this_disk == []


def test_the_verdict_is_the_first_thing_to_be_seen(page_and_heard: tuple[Page, Heard]) -> None:
    page, _ = page_and_heard
    verdict = page.get_by_text("The rules' labels get worse along the order").first
    assert verdict.is_visible()
    box = verdict.bounding_box()
    assert box is not None
    assert box["y"] < 720  # on the first screen


def test_every_part_has_something_to_see(page_and_heard: tuple[Page, Heard]) -> None:
    page, _ = page_and_heard
    assert page.locator("svg").first.is_visible()
    assert page.locator("table").count() >= 3


SORTED = "table.sortable:has(tbody tr:nth-child(3))"


def column(page: Page, position: int) -> list[str]:
    """The cells of one column of the first table of several rows."""
    rows = page.locator(SORTED).first.locator("tbody tr")
    return rows.locator(f"td:nth-child({position}), th:nth-child({position})").all_inner_texts()


def test_a_click_on_a_heading_sorts_the_table(browser: Browser, newcomer: Command) -> None:
    page, heard = opened(browser, newcomer.answer["report"], scripts=True)
    page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    table = page.locator(SORTED).first
    heading = table.locator("thead th").first
    button = heading.locator("button")
    before = column(page, 1)
    button.click()
    assert heading.get_attribute("aria-sort") == "ascending"
    upwards = column(page, 1)
    button.click()
    assert heading.get_attribute("aria-sort") == "descending"
    downwards = column(page, 1)
    assert sorted(upwards) == sorted(downwards) == sorted(before)
    assert upwards != downwards
    assert heard.complaints == []
    page.context.close()


def test_a_part_leads_to_its_own_findings(browser: Browser, newcomer: Command) -> None:
    page, heard = opened(browser, newcomer.answer["report"], scripts=True)
    page.locator("#ordering a.own").click()
    metrics = page.locator("#findings tbody tr td:first-child").all_inner_texts()
    assert metrics
    assert all(metric.startswith("ordering.") for metric in metrics)
    assert page.locator("#findings input").input_value() == "ordering."
    assert heard.complaints == []
    page.context.close()


AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("which", [pytest.param("as it opens", marks=pytest.mark.slow), "unfolded", "all nights"])
def test_axe_finds_nothing_serious(
    browser: Browser, newcomer: Command, which: str, scheme: Literal["light", "dark"]
) -> None:
    report = Path(newcomer.answer["report"])
    page = browser.new_context(color_scheme=scheme).new_page()
    page.goto((report.parents[1] / "index.html" if which == "all nights" else report).as_uri(), wait_until="load")
    if which == "unfolded":
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    broken = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)")
    page.context.close()
    assert [(rule["id"], rule["help"]) for rule in broken if rule["impact"] in ("serious", "critical")] == []


def test_the_index_leads_to_the_report(browser: Browser, newcomer: Command) -> None:
    report = Path(newcomer.answer["report"])
    page, heard = opened(browser, str(report.parents[1] / "index.html"), scripts=False)
    page.locator(f'a[href*="{newcomer.answer["run"]}"]').first.click()
    page.wait_for_url(report.as_uri() + "*")
    assert "breast-cancer" in page.title()
    assert heard.complaints == []
    assert heard.beyond_this_disk == []
    page.context.close()
