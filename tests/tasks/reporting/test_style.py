"""Colours stand out from the paper, in the light and in the dark (WCAG 2.1: 4.5 for text, 3 for lines)."""

import re
from importlib.resources import files

import pytest

STYLE = files("assay.tasks.reporting").joinpath("report.css").read_text(encoding="utf-8")
LIGHT, DARK = re.findall(r":root \{(.*?)\n *\}", STYLE, flags=re.S)[:2]


def colours(block):
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))


def luminance(colour):
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("block", [LIGHT, DARK], ids=["light", "dark"])
def test_text_stands_out_from_its_ground(block):
    of = colours(block)
    for name in ("ink", "soft", "link", "good", "bad", *(f"t{i}" for i in range(1, 9))):
        assert contrast(of[name], of["paper"]) >= 4.5, name
    for name, ground in (("good", "good-wash"), ("bad", "bad-wash"), ("soft", "note-wash"), ("ink", "wash")):
        assert contrast(of[name], of[ground]) >= 4.5, name


@pytest.mark.parametrize("block", [LIGHT, DARK], ids=["light", "dark"])
def test_lines_stand_out_from_the_paper_and_no_two_are_the_same(block):
    of = colours(block)
    lines = [of[f"c{i}"] for i in range(1, 9)]
    assert min(contrast(line, of["paper"]) for line in lines) >= 3
    assert len(set(lines)) == 8


def test_every_colour_of_the_light_page_has_a_dark_one():
    assert set(colours(LIGHT)) == set(colours(DARK))


def test_every_variable_is_declared():
    declared = set(re.findall(r"--([\w-]+):", STYLE))
    assert set(re.findall(r"var\(--([\w-]+)\)", STYLE)) <= declared
