"""Pictures and marked texts for people to look at: side by side, numbers as colours, changed words marked by a
colour, a line and a sign.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from assay.tasks.reporting.markup import Markup, figure, tag
from assay.tasks.reporting.numerals import plural
from assay.tasks.reporting.parts import Gallery, Mark, MarkedText, MarkedTexts, Picture, Stretch, Strip, Tone

Rgb = npt.NDArray[np.float32]  # [3, h, w], each value in [0, 1]

# Cividis (Nuñez, Anderton and Renslow 2018): rises evenly in lightness, and looks the same with any colour vision.
_HEAT = ("00224e", "123570", "3b496c", "575d6d", "707173", "8a8678", "a59c74", "c3b369", "e1cc55", "fee838")
# Blue to orange over near-white, alike in lightness on both sides (after Crameri's vik and ColorBrewer's PuOr).
_SIGNED = ("08306b", "2166ac", "4393c3", "92c5de", "d1e5f0", "f7f7f7", "fddbb0", "f4a85c", "d9731a", "a34808", "652b00")


def heat(values: npt.ArrayLike, low: float, high: float) -> Rgb:
    """Colours of values [h, w] from dark (`low`) to light (`high`); what lies beyond gets the end's colour.

    >>> (255 * heat([[0.0, 1.0]], 0, 1)[:, 0, 0]).round().tolist()
    [0.0, 34.0, 78.0]
    """
    return _coloured(values, low, high, _HEAT)


def signed(values: npt.ArrayLike, reach: float) -> Rgb:
    """Colours of values [h, w] from blue (−`reach`) over white (0) to orange (`reach`).

    >>> (255 * signed([[0.0]], 1)[:, 0, 0]).round().tolist()
    [247.0, 247.0, 247.0]
    """
    return _coloured(values, -reach, reach, _SIGNED)


def _coloured(values: npt.ArrayLike, low: float, high: float, anchors: tuple[str, ...]) -> Rgb:
    scaled = (np.asarray(values, np.float64) - low) / (high - low if high > low else 1.0)
    shares = np.clip(np.nan_to_num(scaled), 0.0, 1.0)
    colours = np.array([[int(colour[at : at + 2], 16) for at in (0, 2, 4)] for colour in anchors]) / 255
    places = np.linspace(0, 1, len(anchors))
    return np.stack([np.interp(shares, places, colours[:, channel]) for channel in range(3)]).astype(np.float32)


BEFORE: Tone = "neutral"
AFTER: Tone = "bad"
"""How the changed words of either line are marked."""

MASK = "\u25a0\u25a0\u25a0\u25a0"
_GAP, _KEPT = 200, 80  # of characters between marked words: longer gaps are cut to so many on either side

_CHANGED = 0.6  # how strongly

Change = tuple[int, int, str]
"""Characters of the original, from and to, and what stands there now."""
Span = tuple[int, int, Tone, float]
"""Characters from and to, how they are marked, and how strongly, from 0 to 1."""


def changed_lines(
    text: str, changes: Sequence[Change], *, whole_words: bool = True
) -> tuple[list[Stretch], list[Stretch]]:
    """The original and the changed text, the changes marked; by default every word that one touches is marked whole.

    >>> before, after = changed_lines("a good film", [(3, 4, "")])
    >>> [word.text for word in after if word.tone], [word.text for word in before if word.tone]
    (['god'], ['good'])
    """
    after, spans_before, spans_after, end, changes = "", [], [], 0, sorted(changes)
    for start, stop, new in changes:
        after += text[end:start]
        spans_before.append((start, stop))
        spans_after.append((len(after), len(after) + len(new)))
        after, end = after + new, stop
    after += text[end:]
    if whole_words:
        spans_before = _whole_words(text, spans_before, [new for _, _, new in changes])
        spans_after = _whole_words(after, spans_after, [text[start:stop] for start, stop, _ in changes])
    before = marked(text, [(*span, BEFORE, _CHANGED) for span in spans_before])
    return before, marked(after, [(*span, AFTER, _CHANGED) for span in spans_after])


def masked_lines(changes: int) -> tuple[list[Stretch], list[Stretch]]:
    """As `changed_lines`, without a word of either text: a mark for every change."""
    return masked([(BEFORE, _CHANGED)] * changes), masked([(AFTER, _CHANGED)] * changes)


def masked(marks: Iterable[tuple[Tone, float]]) -> list[Stretch]:
    """Marks without the words, all of one length, a blank between them."""
    return [piece for tone, weight in marks for piece in (Stretch(MASK, tone, weight), Stretch(" "))]


def marked(text: str, spans: Iterable[Span]) -> list[Stretch]:
    """The text in pieces, the spans marked; long stretches without a mark are cut."""
    end, stretches = 0, list[Stretch]()
    for start, stop, tone, weight in spans:
        stretches += [Stretch(shortened_gap(text[end:start], first=end == 0)), Stretch(text[start:stop], tone, weight)]
        end = stop
    return [*stretches, Stretch(shortened_gap(text[end:], first=end == 0, last=True))]


def _whole_words(text: str, spans: Sequence[tuple[int, int]], counterparts: Sequence[str]) -> list[tuple[int, int]]:
    """The spans, each as wide as the words (by blanks) that it touches; those that then meet are one. Where whole words
    were put in or removed (`counterparts`: the other text's side of each change), their neighbours are not touched.

    >>> before, after = changed_lines("acid ( hives )", [(0, 5, ""), (7, 12, "nettle rash"), (13, 13, "and ")])
    >>> [word.text for word in before if word.tone], [word.text for word in after if word.tone]
    (['acid', 'hives'], ['nettle rash', 'and'])
    """
    widened: list[tuple[int, int]] = []
    for (start, stop), counterpart in zip(spans, counterparts, strict=True):
        inside, words = text[start:stop], counterpart.strip()
        if words and words != counterpart and not inside:
            continue
        if inside.strip():
            start, stop = stop - len(inside.lstrip()), start + len(inside.rstrip())
        while start > 0 and not text[start - 1].isspace():
            start -= 1
        while stop < len(text) and not text[stop].isspace():
            stop += 1
        if widened and start <= widened[-1][1]:
            widened[-1] = (widened[-1][0], max(stop, widened[-1][1]))
        elif stop > start:
            widened.append((start, stop))
    return widened


def shortened_gap(between: str, *, first: bool = False, last: bool = False) -> str:
    """A stretch without marks, shortened in its middle, or on the side where the text begins or ends.

    >>> len(shortened_gap("x" * 1000)) < 200
    True
    """
    if len(between) <= _GAP:
        return between
    if first:
        return "… " + between[-_KEPT:] if not last else between[:_GAP] + " …"
    return between[:_KEPT] + (" …" if last else " … " + between[-_KEPT:])


SIGNS = {"good": "✓", "bad": "✗", "neutral": ""}
SPOKEN = {"good": "right", "bad": "wrong"}
_SMALL = 112  # pixels: below, an image is drawn enlarged and without smoothing


def gallery_figure(gallery: Gallery) -> Markup:
    """All strips of a gallery under its title; they stand beside each other where the page is wide."""
    if not gallery.strips:
        return figure(gallery.title, gallery.note, tag("p", "No pictures.", class_="empty"))
    single = all(len(strip.pictures) == 1 for strip in gallery.strips)
    how = "gallery stacked" if gallery.stacked else "gallery single" if single else "gallery"
    strips = tag("div", *map(_strip, gallery.strips), class_=how)
    count = plural(len(gallery.strips), "strip") if gallery.collapsed else ""
    return figure(gallery.title, gallery.note, strips, folded=count)


def png_size(png: bytes) -> tuple[int, int]:
    """Width and height as the header of a PNG says them.

    >>> png_size(bytes(16) + (3).to_bytes(4, "big") + (2).to_bytes(4, "big"))
    (3, 2)
    """
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def png_image(png: bytes, alt: str, class_: str | None, decoding: str | None = None) -> Markup:
    """A picture that stands inside the page, as large as it is."""
    width, height = png_size(png)
    source = "data:image/png;base64," + b64encode(png).decode()
    return tag("img", src=source, alt=alt, width=width, height=height, decoding=decoding, class_=class_)


def _strip(strip: Strip) -> Markup:
    pictures = tag("div", *map(_picture, strip.pictures), class_="pictures")
    return tag("div", tag("h4", strip.title), pictures, class_="strip", role="group", aria_label=strip.title)


def _picture(picture: Picture) -> Markup:
    enlarged = "enlarged" if png_size(picture.png)[0] < _SMALL else None
    image = png_image(picture.png, picture.alt, enlarged, decoding="async")
    return tag(
        "div", image, tag("p", picture.name, class_="name"), *map(_picture_caption, picture.said), class_="picture"
    )


def _picture_caption(mark: Mark) -> Markup:
    sign = None
    if mark.tone != "neutral":
        sign = tag("span", SIGNS[mark.tone], class_="sign", role="img", aria_label=SPOKEN[mark.tone])
    below = tag("span", mark.below, class_="below") if mark.below else None
    return tag("p", sign, tag("span", mark.text), below, class_=f"said {mark.tone}")


_STEPS = 5


def marked_figure(block: MarkedTexts) -> Markup:
    """All texts under a title, after what their marks mean."""
    legend = [
        tag("li", tag("mark", "word", _sign(tone, ""), class_=f"{tone} w3"), " ", meaning)
        for tone, meaning in block.legend.items()
    ]
    if not block.texts:
        return figure(block.title, block.note, tag("p", "No texts.", class_="empty"))
    texts = [_text(text, {str(tone): meaning for tone, meaning in block.legend.items()}) for text in block.texts]
    key = tag("ul", *legend, class_="legend") if legend else None
    return figure(block.title, block.note, key, tag("div", *texts, class_="texts"))


def step(weight: float) -> int:
    """How strongly a word is coloured, from 1 to 5.

    >>> [step(weight) for weight in (0.0, 0.2, 0.21, 1.0)]
    [1, 1, 2, 5]
    """
    return min(_STEPS, max(1, math.ceil(weight * _STEPS)))


def _text(text: MarkedText, legend: dict[str, str]) -> Markup:
    lines = [
        tag("p", *(_stretch(stretch, legend) for stretch in line), class_="words", dir="auto")
        for line in (text.stretches, text.below)
        if line
    ]
    captions = [tag("p", mark.text, class_=f"said {mark.tone}") for mark in text.said]
    return tag("div", tag("h4", text.title), *lines, *captions, class_="text", role="group")


def _stretch(stretch: Stretch, legend: dict[str, str]) -> Markup | str:
    if stretch.tone is None:
        return stretch.text
    sign = _sign(stretch.tone, legend.get(stretch.tone, ""))
    return tag("mark", stretch.text, sign, class_=f"{stretch.tone} w{step(stretch.weight)}")


def _sign(tone: str, label: str) -> Markup | None:
    if not SIGNS[tone]:
        return None
    role, hidden = ("img", None) if label else (None, "true")
    return tag("sup", SIGNS[tone], role=role, aria_label=label or None, aria_hidden=hidden)
