"""A text and what became of it, as two lines whose changed words are marked."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.reporting.parts import Stretch, Tone

BEFORE: Tone = "neutral"
AFTER: Tone = "bad"
"""How the changed words of either line are marked."""

MASK = "\u25a0\u25a0\u25a0\u25a0"
_GAP, _KEPT = 200, 80  # of characters between marked words: longer gaps are cut to so many on either side

Change = tuple[int, int, str]
"""Characters of the original, from and to, and what stands there now."""


def changed_lines(
    text: str, changes: Sequence[Change], *, whole_words: bool = True
) -> tuple[list[Stretch], list[Stretch]]:
    """The original and the changed text, the changes marked; by default every word that one touches is marked whole.

    >>> before, after = changed_lines("a good film", [(3, 4, "")])
    >>> [one.text for one in after if one.tone], [one.text for one in before if one.tone]
    (['god'], ['good'])
    """
    after, spans_before, spans_after, end = "", [], [], 0
    for start, stop, new in sorted(changes):
        after += text[end:start]
        spans_before.append((start, stop))
        spans_after.append((len(after), len(after) + len(new)))
        after, end = after + new, stop
    after += text[end:]
    if whole_words:
        spans_before, spans_after = _whole_words(text, spans_before), _whole_words(after, spans_after)
    return marked(text, spans_before, BEFORE), marked(after, spans_after, AFTER)


def masked_lines(changes: int) -> tuple[list[Stretch], list[Stretch]]:
    """As `changed_lines`, without a word of either text: a mark for every change."""
    before, after = (
        [piece for _ in range(changes) for piece in (Stretch(MASK, tone, 0.6), Stretch(" "))]
        for tone in (BEFORE, AFTER)
    )
    return before, after


def marked(text: str, spans: Sequence[tuple[int, int]], tone: Tone) -> list[Stretch]:
    """The text in pieces, the spans marked; long stretches without a mark are cut."""
    end, stretches = 0, list[Stretch]()
    for start, stop in spans:
        stretches += [Stretch(shortened_gap(text[end:start], first=end == 0)), Stretch(text[start:stop], tone, 0.6)]
        end = stop
    return [*stretches, Stretch(shortened_gap(text[end:], first=end == 0, last=True))]


def _whole_words(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans, each as wide as the words (by blanks) that it touches; those that then meet are one."""
    widened: list[tuple[int, int]] = []
    for start, stop in spans:
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
