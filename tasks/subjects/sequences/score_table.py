"""The scorer in a subject's files, and what it says of a table of samples."""

from __future__ import annotations

import json
from functools import lru_cache

import numpy as np
import pyarrow as pa

from assay.data.biomedical_schemas import Scored
from assay.infra.errors import InputError
from assay.infra.partitions import Tallied
from assay.tasks.subjects.built_from import BuiltFrom
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.sequences.rows import pairs_of
from assay.tasks.subjects.sequences.scoring import Scorer


def load_scorer(subject: ResolvedSubject, files: dict[str, bytes], device: str | None = None) -> Scorer:
    """The scorer in a subject's files, on the device (a GPU where there is one); each process builds it once."""
    return _build(BuiltFrom.of(subject, files), device)


def score_table(samples: pa.Table, *, subject: ResolvedSubject, files: dict[str, bytes]) -> Tallied:
    """`Scored` for a partition of the samples, and how many pairs were longer than the scorer reads (`cut`)."""
    pairs = pairs_of(samples, subject.settings)
    asked = list(zip(pairs.first, pairs.second, strict=True))
    scorer = load_scorer(subject, files)
    scores = scorer.score(asked)
    wrong = np.flatnonzero(~np.isfinite(scores))
    if len(wrong):
        raise InputError(f"The scorer gives no finite number for sample {pairs.ids[int(wrong[0])]!r}.")
    columns = [pa.array(pairs.ids, pa.string()), pa.array(pairs.scores, pa.float64()), pa.array(scores)]
    return Tallied(pa.table(columns, schema=Scored.schema), {"cut": scorer.count_cut(asked)})


@lru_cache(maxsize=2)
def _build(source: BuiltFrom, device: str | None) -> Scorer:
    if json.loads(source.files["card.json"])["kind"] == "own":
        from assay.tasks.subjects.sequences.own import OwnScorer

        assert source.subject.code is not None
        return OwnScorer(source.subject.code, source.subject.masked)
    from assay.tasks.subjects.sequences.score_network import scorer_from_files

    return scorer_from_files(source.files, device)
