"""Texts with marked words: a colour, a line under the word and a sign, so that nobody needs to see the colour."""

from __future__ import annotations

import math

from assay.tasks.reporting.markup import Markup, tag
from assay.tasks.reporting.parts import Mark, MarkedText, MarkedTexts, Stretch

SIGNS = {"good": "✓", "bad": "✗", "neutral": ""}
_STEPS = 5


def marked_figure(block: MarkedTexts) -> Markup:
    """All texts under a title, after what their marks mean."""
    legend = [
        tag("li", tag("mark", "word", _sign(tone, ""), class_=f"{tone} w3"), " ", meaning)
        for tone, meaning in block.legend.items()
    ]
    head = tag(
        "figcaption",
        tag("h3", block.title),
        tag("p", block.note, class_="note") if block.note else None,
        tag("ul", *legend, class_="legend") if legend else None,
    )
    if not block.texts:
        return tag("figure", head, tag("p", "No texts.", class_="empty"))
    texts = [_text(one, {str(tone): meaning for tone, meaning in block.legend.items()}) for one in block.texts]
    return tag("figure", head, tag("div", *texts, class_="texts"))


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
    return tag("div", tag("h4", text.title), *lines, *map(_caption, text.said), class_="text", role="group")


def _stretch(stretch: Stretch, legend: dict[str, str]) -> Markup | str:
    if stretch.tone is None:
        return stretch.text
    sign = _sign(stretch.tone, legend.get(stretch.tone, ""))
    return tag("mark", stretch.text, sign, class_=f"{stretch.tone} w{step(stretch.weight)}")


def _sign(tone: str, label: str) -> Markup | None:
    if not SIGNS[tone]:
        return None
    return tag(
        "sup",
        SIGNS[tone],
        role="img" if label else None,
        aria_label=label or None,
        aria_hidden=None if label else "true",
    )


def _caption(mark: Mark) -> Markup:
    return tag("p", mark.text, class_=f"said {mark.tone}")
