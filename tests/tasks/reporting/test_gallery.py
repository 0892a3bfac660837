"""Pictures beside each other: inside the page, in their own size, with a sign and a word where they are judged."""

import numpy as np
import pytest

from assay.data.images import png
from assay.tasks.reporting.gallery import gallery_figure, png_size
from assay.tasks.reporting.parts import (
    Gallery,
    Mark,
    NamedSample,
    Part,
    Picture,
    SampleList,
    Strip,
    samples_named,
    with_looks,
)


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


def test_the_votes_on_a_sample_stand_below_its_picture_and_on_a_pair_below_both():
    looks = {name: NamedSample(name, votes=f"border says {label}") for name, label in (("a", "benign"), ("b", "odd"))}
    pictures = [Picture(b"", name, name, sample=name) for name in "ab"]
    texts = SampleList("Texts", [NamedSample("a ~ b", text="x", pair=("a", "b"))])
    part = Part("Near duplicates", "", [Gallery("Pictures", [Strip("alike", pictures)]), texts])
    assert {*samples_named(part)} - {""} == {"a", "b"}
    gallery, pair = with_looks(part, looks).blocks
    assert [picture.said[0].text for picture in gallery.strips[0].pictures] == ["border says benign", "border says odd"]
    assert pair.samples[0].votes == "a: border says benign\nb: border says odd"
