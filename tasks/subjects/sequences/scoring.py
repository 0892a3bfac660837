"""Scorers as an audit sees them: pairs of sentences in, how similar they are out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.biomedical_schemas import Scored
from assay.infra.errors import InputError
from assay.infra.partitions import Tallied
from assay.tasks.subjects.built_from import BuiltFrom
from assay.tasks.subjects.sequences.rows import pairs_of

if TYPE_CHECKING:
    from assay.tasks.subjects.resolved import ResolvedSubject

Pair = tuple[str, str]


class Scorer(Protocol):
    """Any scorer of sentence pairs."""

    def score(self, pairs: Sequence[Pair]) -> npt.NDArray[np.float64]:
        """How similar the sentences of each pair are, [n]; a pair's score does not depend on the others."""
        ...

    def count_cut(self, pairs: Sequence[Pair]) -> int:
        """How many pairs are longer than the scorer reads."""
        ...


def load_scorer(subject: ResolvedSubject, files: dict[str, bytes], device: str | None = None) -> Scorer:
    """The scorer in a subject's files, on the device (a GPU where there is one); each process builds it once."""
    return _loaded(BuiltFrom.of(subject, files), device)


def score_table(samples: pa.Table, *, subject: ResolvedSubject, files: dict[str, bytes]) -> Tallied:
    """`Scored` for a partition of the samples, and how many pairs were longer than the scorer reads (`cut`)."""
    pairs = pairs_of(samples, subject.settings)
    asked = list(zip(pairs.first, pairs.second, strict=True))
    scorer = load_scorer(subject, files)
    found = scorer.score(asked)
    wrong = np.flatnonzero(~np.isfinite(found))
    if len(wrong):
        raise InputError(f"The scorer gives no finite number for sample {pairs.ids[int(wrong[0])]!r}.")
    columns = [pa.array(pairs.ids, pa.string()), pa.array(pairs.scores, pa.float64()), pa.array(found)]
    return Tallied(pa.table(columns, schema=Scored.schema), {"cut": scorer.count_cut(asked)})


@lru_cache(maxsize=2)
def _loaded(source: BuiltFrom, device: str | None) -> Scorer:
    if json.loads(source.files["card.json"])["kind"] == "own":
        from assay.tasks.subjects.sequences.own import OwnScorer

        assert source.subject.code is not None
        return OwnScorer(source.subject.code, source.subject.masked)
    from assay.tasks.subjects.sequences.score_network import scorer_from_files

    return scorer_from_files(source.files, device)
