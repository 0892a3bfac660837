"""What is known about trust without asking the oracle: by deleting words and asking again, and by human rationales."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from assay.tasks.language.rationales import Span
from assay.tasks.trust.verdicts import Truth

LEAST_PRECISION = 0.5


def truth_by_deletion(predicted: int, without_reasons: int, without_shortcuts: int) -> Truth | None:
    """Why a prediction was made, by what flips it: its valid reasons (trustworthy), or its shortcuts (untrustworthy).

    Where deleting either flips it, or neither does, nothing is known.

    >>> truth_by_deletion(1, 1, 0), truth_by_deletion(1, 0, 1), truth_by_deletion(1, 0, 0)
    ('untrustworthy', 'trustworthy', None)
    """
    by_reasons, by_shortcuts = without_reasons != predicted, without_shortcuts != predicted
    if by_reasons == by_shortcuts:
        return None
    return "trustworthy" if by_reasons else "untrustworthy"


def without_spans(text: str, spans: Iterable[Span]) -> str:
    """The text with these characters deleted and everything else as it was, bit for bit; spans may overlap.

    >>> without_spans("not  bad, not good", [Span(10, 13), Span(0, 3)])
    '  bad,  good'
    """
    merged = sorted(spans)
    ends = [0]
    for span in merged:
        ends.append(max(ends[-1], span.end))
    gaps = [(end, max(end, span.start)) for end, span in zip(ends, merged, strict=False)]
    return "".join(text[start:end] for start, end in gaps) + text[ends[-1] :]


def explanation_precision(explanation: Collection[str], rationale: Collection[str]) -> float | None:
    """|E ∩ G| / |E|: the share of the explanation's words that people point to as well; None without words.

    >>> explanation_precision(["good", "film"], ["good", "fun"])
    0.5
    """
    words = set(explanation)
    return len(words & set(rationale)) / len(words) if words else None


def truth_by_rationale(explanation: Collection[str], rationale: Collection[str]) -> Truth | None:
    """Trustworthy iff at least half of the explanation's words are in the human rationale; None where one is empty."""
    precision = explanation_precision(explanation, rationale)
    if precision is None or not rationale:
        return None
    return "trustworthy" if precision >= LEAST_PRECISION else "untrustworthy"
