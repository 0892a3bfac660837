"""Pictures of a report's head hold what they were drawn by, so that those of an earlier head are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from pictures import IMAGES, PICTURES, STAMP, fingerprint, stale
from PIL import Image
from PIL.PngImagePlugin import PngInfo


def put(folder: Path, name: str, stamp: str) -> None:
    text = PngInfo()
    text.add_text(STAMP, stamp)
    Image.new("L", (2, 2)).save(folder / f"{name}.png", pnginfo=text)


def test_a_picture_that_other_files_drew_is_named(tmp_path: Path) -> None:
    for name in PICTURES:
        put(tmp_path, name, fingerprint())
    assert stale(tmp_path) == []
    put(tmp_path, "tour", "0123")
    Image.new("L", (2, 2)).save(tmp_path / "report.png")
    assert stale(tmp_path) == ["report.png", "tour.png"]


@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_of_the_documents_hold_a_fingerprint(name: str) -> None:
    assert len(Image.open(IMAGES / f"{name}.png").info.get(STAMP, "")) == len(fingerprint())
