"""Taggers as an audit sees them: sentences as words in, a tag for every word out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from assay.data.biomedical_schemas import Tagged
from assay.infra.partitions import Tallied
from assay.tasks.subjects.built_from import BuiltFrom
from assay.tasks.subjects.sequences.rows import sentences_of

if TYPE_CHECKING:
    from assay.tasks.subjects.resolved import ResolvedSubject


@dataclass(frozen=True)
class Tagging:
    """A tag per word, the probability of each, and whether the sentence was longer than the tagger reads."""

    tags: list[str]
    confidence: list[float]
    cut: bool = False


class Tagger(Protocol):
    """Any tagger."""

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[Tagging]:
        """The tags of every sentence; a sentence's do not depend on the others."""
        ...


def load_tagger(subject: ResolvedSubject, files: dict[str, bytes], device: str | None = None) -> Tagger:
    """The tagger in a subject's files, on the device (a GPU where there is one); each process builds it once."""
    return _loaded(BuiltFrom.of(subject, files), device)


def tag_table(samples: pa.Table, *, subject: ResolvedSubject, files: dict[str, bytes]) -> Tallied:
    """`Tagged` for a partition of the samples, and how many sentences were longer than the tagger reads (`cut`)."""
    sentences = sentences_of(samples, subject.settings)
    found = load_tagger(subject, files).tag(sentences.tokens)
    rows = [
        sentences.ids, sentences.tokens, sentences.tags, [one.tags for one in found], [one.confidence for one in found]
    ]  # fmt: skip
    columns = [pa.array(values, field.type) for values, field in zip(rows, Tagged.schema, strict=True)]
    return Tallied(pa.table(columns, schema=Tagged.schema), {"cut": sum(one.cut for one in found)})


@lru_cache(maxsize=2)
def _loaded(source: BuiltFrom, device: str | None) -> Tagger:
    if json.loads(source.files["card.json"])["kind"] == "own":
        from assay.tasks.subjects.sequences.own import OwnTagger

        assert source.subject.code is not None
        return OwnTagger(source.subject.code, source.subject.masked)
    from assay.tasks.subjects.sequences.tag_network import tagger_from_files

    return tagger_from_files(source.files, device)
