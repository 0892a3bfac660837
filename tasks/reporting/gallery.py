"""Pictures side by side: what was, what was done to it, what came out."""

from __future__ import annotations

from base64 import b64encode

from assay.tasks.reporting.markup import Markup, tag
from assay.tasks.reporting.numerals import plural
from assay.tasks.reporting.parts import Gallery, Mark, Picture, Strip

SIGNS = {"good": "✓", "bad": "✗", "neutral": ""}
SPOKEN = {"good": "right", "bad": "wrong"}
_SMALL = 112  # pixels: below, an image is drawn enlarged and without smoothing


def gallery_figure(gallery: Gallery) -> Markup:
    """All strips of a gallery under its title; they stand beside each other where the page is wide."""
    note = tag("p", gallery.note, class_="note") if gallery.note else None
    head = tag("figcaption", tag("h3", gallery.title), note)
    if not gallery.strips:
        return tag("figure", head, tag("p", "No pictures.", class_="empty"))
    single = all(len(strip.pictures) == 1 for strip in gallery.strips)
    how = "gallery stacked" if gallery.stacked else "gallery single" if single else "gallery"
    strips = tag("div", *map(_strip, gallery.strips), class_=how)
    if not gallery.collapsed:
        return tag("figure", head, strips)
    count = tag("span", plural(len(gallery.strips), "strip"), class_="count")
    return tag("details", tag("summary", gallery.title, " ", count), note, strips, class_="fold")


def png_size(png: bytes) -> tuple[int, int]:
    """Width and height as the header of a PNG says them.

    >>> png_size(bytes(16) + (3).to_bytes(4, "big") + (2).to_bytes(4, "big"))
    (3, 2)
    """
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def _strip(strip: Strip) -> Markup:
    pictures = tag("div", *map(_picture, strip.pictures), class_="pictures")
    return tag("div", tag("h4", strip.title), pictures, class_="strip", role="group", aria_label=strip.title)


def _picture(picture: Picture) -> Markup:
    width, height = png_size(picture.png)
    source = "data:image/png;base64," + b64encode(picture.png).decode()
    image = tag(
        "img",
        src=source,
        alt=picture.alt,
        width=width,
        height=height,
        decoding="async",
        class_="enlarged" if width < _SMALL else None,
    )
    return tag("div", image, tag("p", picture.name, class_="name"), *map(_caption, picture.said), class_="picture")


def _caption(mark: Mark) -> Markup:
    sign = None
    if mark.tone != "neutral":
        sign = tag("span", SIGNS[mark.tone], class_="sign", role="img", aria_label=SPOKEN[mark.tone])
    below = tag("span", mark.below, class_="below") if mark.below else None
    return tag("p", sign, tag("span", mark.text), below, class_=f"said {mark.tone}")
