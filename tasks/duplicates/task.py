"""Near duplicates as a stage: keys are counted where they lie, and only samples that share one are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import Findings, NearCandidates, NearDuplicates, NearKeys, Samples
from assay.infra.stages.partitions import collect, columns_in, first_rows, map_partitions, reduce_partitions
from assay.infra.stages.stage import say, stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.duplicates.near import Duplicates, count_keys, duplicate_findings, keys_in, near_candidates, near_pairs
from assay.tasks.statistics.findings import findings_table
from assay.tasks.statistics.groups import GROUP
from assay.tasks.subjects.holding_out import DOCUMENT, SPLIT, content_columns

KEYS_AT_ONCE = 1 << 22
"""So many keys are counted at a time, in as many rounds as it takes: memory does not grow with the samples."""


class Measured(NamedTuple):
    """The findings, and the pairs that they rest on."""

    findings: Artifact[Findings]
    pairs: Artifact[NearDuplicates]


@stage(version=1, title="near duplicates")
def find_duplicates(parts: Mapping[str, Artifact[Samples]], texts: Sequence[str], settings: Duplicates) -> Measured:
    """The samples that are nearly another: within each part, and, of those set apart, between them."""
    names = columns_in(next(iter(parts.values())))
    besides = ("id", "gold", "labels", GROUP, DOCUMENT, SPLIT)
    content = content_columns(names, texts) or tuple(name for name in names if name not in besides)
    keys: dict[str, Artifact[NearKeys]] = {}
    for part, samples in parts.items():
        keys[part] = map_partitions(keys_in, samples, into=NearKeys, name=part, content=content, digits=settings.digits)
    rows = {part: samples.rows for part, samples in parts.items()}
    of_each = max(map(len, first_rows(next(iter(keys.values())), 1)["keys"].to_pylist()), default=1)
    rounds = max(1, -(-sum(rows.values()) * of_each // KEYS_AT_ONCE))
    shared = np.sort(np.concatenate([_shared(keys, at, rounds) for at in range(rounds)]))
    compared: dict[str, Any] = {"shared": shared, "content": content}
    candidates = []
    for part, samples in parts.items():
        near = map_partitions(
            near_candidates, samples, keys[part], into=NearCandidates, name=f"near_{part}", **compared
        )
        candidates.append(collect(near, None).append_column("part", pa.repeat(part, near.rows)))
    pairs = near_pairs(pa.concat_tables(candidates), settings, content == ("image",))
    findings = duplicate_findings(pairs, rows)
    leaked = f", {findings[1].value:.1%} of the audited nearly in the training" if findings[1:] else ""
    say(f"{pairs.num_rows} pairs · {findings[0].value or 0:.1%} of the samples have a near duplicate{leaked}")
    return Measured(write_table(findings_table(findings), into=Findings), write_table(pairs, into=NearDuplicates))


def _shared(keys: Mapping[str, Artifact[NearKeys]], part: int, parts: int) -> npt.NDArray[np.int64]:
    """The keys of one round that several samples have."""
    counted = [reduce_partitions(count_keys, artifact, part=part, parts=parts) for artifact in keys.values()]
    whole = sum(counted[1:], start=counted[0])
    return np.asarray(whole.places[whole.values > 1])
