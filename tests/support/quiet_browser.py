"""Chromium as installed here, told to ask the network for nothing of its own."""

from __future__ import annotations

import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def browser_here() -> str:
    """Where the first of the known browsers lies; a test that needs one fails where none is installed."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.fail("The report is tested in Chromium, and there is none: install it (apt-get install chromium).")
    return found
