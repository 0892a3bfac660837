"""Noisy texts as samples: every text with every kind of noise at every severity, or one noisy copy of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.partition_work import Tallied
from assay.infra.seeds import Seeds
from assay.tasks.attacks.noise.noising import with_noise
from assay.tasks.attacks.noise.settings import NoiseKind
from assay.tasks.subjects.texts.rows import texts_of

T = TypeVar("T")

ORIGINAL, NOISE, SEVERITY = "noise_of", "noise_kind", "noise_severity"
STARTS, ENDS, NEWS = "noise_starts", "noise_ends", "noise_news"
"""The columns of noisy samples: whose text it was, which noise, how much, and every change that it made: which
characters of the original became which."""


@dataclass(frozen=True)
class Condition:
    """One kind of noise at one severity."""

    kind: NoiseKind
    severity: int

    @property
    def group(self) -> str:
        """What findings call it."""
        return group_of(self.kind, self.severity)


def group_of(kind: str, severity: int) -> str:
    """The group of findings about one kind of noise at one severity.

    >>> group_of("typos", 3)
    'typos, severity=3'
    """
    return f"{kind}, severity={severity}"


def noisy_rows(
    samples: pa.Table, *, text: str, kinds: Sequence[NoiseKind], severities: Sequence[int], seeds: Seeds
) -> Tallied:
    """For every sample a row per kind of noise and severity, with an id of its own; a text that nothing could change
    is there as it was, with no changes, and is tallied as `unchanged`."""
    ids, golds, texts = samples["id"].to_pylist(), samples["gold"].to_pylist(), texts_of(samples, text)
    rows = [
        {
            "id": f"{sample}+{kind}-{severity}",
            "gold": gold,
            text: noisy.text,
            ORIGINAL: sample,
            NOISE: kind,
            SEVERITY: severity,
            STARTS: [edit.start for edit in noisy.edits],
            ENDS: [edit.end for edit in noisy.edits],
            NEWS: [edit.new for edit in noisy.edits],
        }
        for sample, gold, written in zip(ids, golds, texts, strict=True)
        for kind in kinds
        for severity, noisy in zip(
            severities, with_noise(written, kind, severities, seeds.generator(f"{sample}\0{kind}")), strict=True
        )
    ]
    columns: list[tuple[str, pa.DataType]] = [
        ("id", pa.string()),
        ("gold", pa.int16()),
        (text, pa.string()),
        (ORIGINAL, pa.string()),
        (NOISE, pa.string()),
        (SEVERITY, pa.int16()),
        (STARTS, pa.list_(pa.int32())),
        (ENDS, pa.list_(pa.int32())),
        (NEWS, pa.list_(pa.string())),
    ]
    unchanged = sum(not row[NEWS] for row in rows)
    return Tallied(pa.Table.from_pylist(rows, schema=pa.schema(columns)), {"unchanged": unchanged})


def noisy_copies(
    samples: pa.Table, *, text: str, kinds: Sequence[NoiseKind], severities: Sequence[int], seeds: Seeds
) -> Tallied:
    """The samples with one kind of noise at one severity in each, drawn per sample; all other columns as they were."""
    noisy = []
    for sample, written in zip(samples["id"].to_pylist(), texts_of(samples, text), strict=True):
        generator = seeds.generator(sample)
        kind, severity = _one_of(kinds, generator), _one_of(severities, generator)
        noisy.append(with_noise(written, kind, [severity], generator)[0])
    place = samples.schema.get_field_index(text)
    column = pa.array([version.text for version in noisy], samples.schema.field(text).type)
    copies = samples.set_column(place, samples.schema.field(text), column)
    return Tallied(copies, {"unchanged": sum(not version.edits for version in noisy)})


def conditions_of(noisy: pa.Table) -> list[Condition]:
    """The kinds and severities that a table of noisy samples holds, in its order."""
    pairs = zip(noisy[NOISE].to_pylist(), noisy[SEVERITY].to_pylist(), strict=True)
    return [Condition(kind, severity) for kind, severity in dict.fromkeys(pairs)]


def rows_under(noisy: pa.Table, condition: Condition) -> pa.Array:
    """Which rows of the table are of this noise at this severity."""
    same_kind = pc.equal(noisy[NOISE], condition.kind)
    return pc.and_(same_kind, pc.equal(noisy[SEVERITY], condition.severity)).combine_chunks()


def _one_of(values: Sequence[T], generator: np.random.Generator) -> T:
    return values[int(generator.integers(len(values)))]
