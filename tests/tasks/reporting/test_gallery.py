"""Pictures beside each other: inside the page, in their own size, with a sign and a word where they are judged."""

import numpy as np
import pytest

from assay.data.images import png
from assay.tasks.reporting.gallery import gallery_figure, png_size
from assay.tasks.reporting.parts import Gallery, Mark, Picture, Strip


def picture(width, height=None, said=()):
    return Picture(png(np.zeros((3, height or width, width), np.float32)), "original", "a black square", said)


def test_the_size_of_a_picture_is_read_from_its_header():
    assert png_size(picture(40, 25).png) == (40, 25)


@pytest.mark.parametrize(("width", "enlarged"), [(8, True), (64, True), (224, False)])
def test_small_images_are_enlarged_without_smoothing(parsed, width, enlarged):
    page = parsed(gallery_figure(Gallery("g", [Strip("s", [picture(width)])])))
    (image,) = [attributes for name, attributes in page.elements if name == "img"]
    assert (image["width"], image["height"], image["alt"]) == (str(width), str(width), "a black square")
    assert (image.get("class") == "enlarged") is enlarged


def test_a_judgement_does_not_hang_on_colour_alone(parsed):
    said = [Mark("benign · 98 %", "good"), Mark("malignant · 60 %", "bad", "n = 1"), Mark("at most 4 levels")]
    page = parsed(gallery_figure(Gallery("g", [Strip("s", [picture(8, said=said)])])))
    assert "✓" in page.words
    assert "✗" in page.words
    spoken = [attributes["aria-label"] for _, attributes in page.elements if attributes.get("role") == "img"]
    assert spoken == ["right", "wrong"]


def test_each_strip_is_a_group_with_a_name(parsed):
    page = parsed(gallery_figure(Gallery("g", [Strip("first", [picture(8)]), Strip("second", [picture(8)])], "note")))
    named = [attributes["aria-label"] for _, attributes in page.elements if attributes.get("role") == "group"]
    assert named == ["first", "second"]
    assert page.mistakes == []


def test_a_gallery_without_pictures_says_so(parsed):
    assert "No pictures." in parsed(gallery_figure(Gallery("g", []))).words


def test_a_folded_gallery_says_what_is_in_it_and_how_much(parsed):
    page = parsed(gallery_figure(Gallery("gap", [Strip("a", [picture(8)]), Strip("b", [picture(8)])], "note", True)))
    assert [name for name, _ in page.elements if name in ("details", "summary")] == ["details", "summary"]
    assert "gap" in page.words
    assert "2 strips" in page.words
    assert page.mistakes == []
