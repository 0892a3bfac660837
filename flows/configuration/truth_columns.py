"""Where taggers and scorers find what is true: in the columns that the source names, unless they name others."""

from __future__ import annotations

from assay.tasks.ingest.settings import Source
from assay.tasks.subjects.settings import Subject


def with_truth(subject: Subject, source: Source) -> Subject:
    """The subject, reading the source's `tokens` and `tags`, or its `score`, where it leaves them open.

    >>> scorer = Subject(scorer="mine.py:score", pair=("first", "second"))
    >>> with_truth(scorer, Source(csv=["pairs.csv"], score="similarity")).score
    'similarity'
    """
    named: dict[str, str] = {}
    if subject.scorer is not None and source.score is not None:
        named = {"score": source.score}
    if subject.tagger is not None and source.tags is not None:
        named = {"tokens": source.tokens, "tags": source.tags}
    return subject.model_copy(update={name: one for name, one in named.items() if name not in subject.model_fields_set})
