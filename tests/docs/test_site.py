"""The documents as a site: what is written for a repository reads well there, and nothing of it wants a network."""

from __future__ import annotations

import http.server
import re
import runpy
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from quiet_browser import QUIET, browser_here
from repository import ROOT

HOUSE = runpy.run_path(str(ROOT / "docs" / "site" / "house.py"))
PINNED = re.compile(r"^([\w.-]+)==(\S+)$", re.MULTILINE)


def read(name: str, text: str) -> str:
    """The text of a page as the site has it."""
    return str(HOUSE["on_page_markdown"](text, page=SimpleNamespace(file=SimpleNamespace(src_uri=name))))


@pytest.mark.parametrize(
    ("page", "link", "there"),
    [
        ("concepts.md", "../CONTRIBUTING.md", "CONTRIBUTING.md"),
        ("concepts.md", "trust.md#what-to-set", "trust.md#what-to-set"),
        ("tutorials/table.md", "../limits.md", "../limits.md"),
        ("CONTRIBUTING.md", "docs/images.md", "images.md"),
        ("clusters.md", "../infra/compose.yaml", "infra/compose.yaml"),
        ("hardness.md", "https://arxiv.org/abs/2009.10795", "https://arxiv.org/abs/2009.10795"),
        ("trust.md", "nowhere.md", "nowhere.md"),
    ],
)
def test_a_link_leads_to_the_same_page_in_the_site(page: str, link: str, there: str) -> None:
    assert read(page, f"see [this]({link}).") == f"see [this]({there})."


def test_a_file_name_becomes_a_title_and_a_diagram_a_table() -> None:
    assert read("tour.md", "```python make_data.py\nx\n```\n") == '```python title="make_data.py"\nx\n```\n'
    diagram = "```mermaid\nflowchart LR\n    data --> rules\n    model --> rules\n```"
    assert read("tour.md", diagram).splitlines()[2:] == ["| rules | data, model |"]


def test_what_the_site_is_made_with_is_pinned_and_in_the_extra() -> None:
    pinned = dict(PINNED.findall((ROOT / "docs" / "site" / "requirements.lock").read_text(encoding="utf-8")))
    extra = re.search(r'^site = \["mkdocs-material>=(\d+\.\d+),<(\d+)"\]$', (ROOT / "pyproject.toml").read_text(), re.M)
    assert extra is not None
    least, below = (tuple(map(int, one.split("."))) for one in extra.groups())
    assert least <= tuple(map(int, pinned["mkdocs-material"].split(".")[:2])) < below
    ours = dict(PINNED.findall((ROOT / "requirements.lock").read_text(encoding="utf-8")))
    assert "mkdocs" not in ours
    assert "mkdocs-material" not in ours


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make site` makes; a dead link would have failed it."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(["make", "-s", "site", f"SITE_DIR={folder}"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(params=["file", "http"])
def address(request: pytest.FixtureRequest, site: Path) -> Iterator[str]:
    """Where the site is read: from the disk, or from a server that knows nothing but files."""
    if request.param == "file":
        yield site.as_uri()
        return
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.slow
def test_pages_are_searched_and_nothing_is_fetched_from_elsewhere(address: str, site: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_here(), args=list(QUIET))
        page = browser.new_page(viewport={"width": 400, "height": 800})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for name in sorted(one.relative_to(site).as_posix() for one in site.rglob("*.html") if one.stem != "404"):
            page.goto(f"{address}/{name}")
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{name} is wider than a telephone"
        page.goto(f"{address}/index.html")
        page.locator("label[for=__search]").first.click()
        page.keyboard.type("Clopper")
        page.get_by_role("heading", name="Naturally adversarial data sets").wait_for()
        browser.close()
    assert [url for url in asked if not url.startswith((address, "data:", "blob:", "about:"))] == []
