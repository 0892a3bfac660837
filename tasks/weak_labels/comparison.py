"""Labelers beside each other: how often two say the same, and which is right oftener where there is gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.paired import compared_shares
from assay.tasks.statistics.proportions import share

Integers = npt.NDArray[np.int64]


def count_comparison(samples: pa.Table, *labels: pa.Table) -> dict[str, object]:
    """Of every two labelers, how many samples both decide and how many alike; of the samples with gold that all of them
    decide, how many there are and on how many two are right. [labelers, labelers]

    >>> gold = pa.table({"gold": [0, 1, None]})
    >>> sure = pa.table({"label": [0, 1, 1], "undecided": [False] * 3})
    >>> wavering = pa.table({"label": [1, 1, 0], "undecided": [False, False, True]})
    >>> counted = count_comparison(gold, sure, wavering)
    >>> counted["both"].tolist(), counted["alike"].tolist(), counted["right"].tolist(), counted["known"]
    ([[3, 2], [2, 2]], [[3, 1], [1, 2]], [[2, 1], [1, 1]], 2)
    """
    label = np.stack([table["label"].to_numpy() for table in labels])
    decided = ~np.stack([table["undecided"].to_numpy(zero_copy_only=False) for table in labels])
    gold = pc.fill_null(samples["gold"], -1).to_numpy()
    known = decided.all(axis=0) & (gold >= 0)
    right = ((label == gold) & known).astype(np.int64)
    both = decided.astype(np.int64)
    alike = np.stack([((label == row) & decided & sure).sum(axis=1) for row, sure in zip(label, decided, strict=True)])
    return {"both": both @ both.T, "alike": alike, "right": right @ right.T, "known": int(known.sum())}


def comparison_findings(counted: Mapping[str, Integers], labelers: Sequence[str]) -> list[Finding]:
    """How often two labelers agree; how often each is right; and how much oftener than the first, paired."""
    both, alike, right, known = (counted[name] for name in ("both", "alike", "right", "known"))
    findings = [
        share("weak_labels.agreement", int(alike[a, b]), int(both[a, b]), of=labelers[a], group=labelers[b])
        for a, b in combinations(range(len(labelers)), 2)
    ]
    if not known:
        return findings
    for at, labeler in enumerate(labelers):
        findings.append(share("weak_labels.accuracy", int(right[at, at]), int(known), group=labeler))
        if at:
            shared, ours, first = right[at, 0], right[at, at], right[0, 0]
            cells = [shared, ours - shared, first - shared, known - ours - first + shared]
            gain, p_value = compared_shares(np.repeat([1, 1, 0, 0], cells), np.repeat([1, 0, 1, 0], cells))
            about = Finding("weak_labels.gain", labeler, labelers[0], n=int(known), p_value=p_value, unit="share")
            verdict = "better" if gain.low > 0 else "worse" if gain.high < 0 else "not shown"
            findings.append(replace(about, value=gain.value, low=gain.low, high=gain.high, verdict=verdict))
    return findings
