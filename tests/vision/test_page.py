"""The example of docs/images.md that wants timm and torchvision runs as it stands."""

from __future__ import annotations

from pathlib import Path

from markdown_pages import ROOT, blocks
from page_examples import perform, save_and_run

PAGE = ROOT / "docs" / "images.md"


def test_networks_of_two_libraries_are_trained_and_attacked(tmp_path: Path) -> None:
    page = blocks(PAGE)
    save_and_run(tmp_path, [block for block in page if block.name == "make_images.py"], ["make_images.py"])
    (text,) = [block.text for block in page if block.name == "library.yaml"]
    _, findings = perform(tmp_path, "from-libraries", text)
    clean = {one.subject: one.value for one in findings if one.metric == "subject.accuracy" and not one.group}
    assert set(clean) == {"timm", "torchvision"}
    assert clean["timm"] is not None
    assert clean["timm"] > 0.9
    assert {one.subject for one in findings if one.metric == "attack.accuracy"} == {"timm", "torchvision"}
