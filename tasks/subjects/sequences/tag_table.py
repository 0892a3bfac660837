"""The tagger in a subject's files, and what it says of a table of samples."""

from __future__ import annotations

import json
from functools import lru_cache

import pyarrow as pa

from assay.data.biomedical_schemas import Tagged
from assay.infra.partitions import Tallied
from assay.tasks.subjects.built_from import BuiltFrom
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.sequences.rows import sentences_of
from assay.tasks.subjects.sequences.tagging import Tagger


def load_tagger(subject: ResolvedSubject, files: dict[str, bytes], device: str | None = None) -> Tagger:
    """The tagger in a subject's files, on the device (a GPU where there is one); each process builds it once."""
    return _build(BuiltFrom.of(subject, files), device)


def tag_table(samples: pa.Table, *, subject: ResolvedSubject, files: dict[str, bytes]) -> Tallied:
    """`Tagged` for a partition of the samples, and how many sentences were longer than the tagger reads (`cut`)."""
    sentences = sentences_of(samples, subject.settings)
    taggings = load_tagger(subject, files).tag(sentences.tokens)
    rows = [
        sentences.ids,
        sentences.tokens,
        sentences.tags,
        [tagging.tags for tagging in taggings],
        [tagging.confidence for tagging in taggings],
    ]
    columns = [pa.array(values, field.type) for values, field in zip(rows, Tagged.schema, strict=True)]
    return Tallied(pa.table(columns, schema=Tagged.schema), {"cut": sum(tagging.cut for tagging in taggings)})


@lru_cache(maxsize=2)
def _build(source: BuiltFrom, device: str | None) -> Tagger:
    if json.loads(source.files["card.json"])["kind"] == "own":
        from assay.tasks.subjects.sequences.own import OwnTagger

        assert source.subject.code is not None
        return OwnTagger(source.subject.code, source.subject.masked)
    from assay.tasks.subjects.sequences.tag_network import tagger_from_files

    return tagger_from_files(source.files, device)
