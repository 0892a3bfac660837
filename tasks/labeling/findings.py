"""What the labelling stage measured, as findings: of the rulebook as a whole, and of each labelling function."""

from __future__ import annotations

from assay.tasks.labeling.summary import LabelingCounts
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import share


def labeling_findings(counts: LabelingCounts, faults: int = 0) -> list[Finding]:
    """How much of the data the rulebook labels, with Wilson intervals; `of` names a function where it is about one.

    `labeling.coverage` is the share of samples with a vote, `labeling.overlaps` with several, `labeling.conflicts`
    with votes for different classes, `labeling.faults` the share of answers that failed; `labeling.accuracy` the
    share of a function's votes that match gold. All are about the rulebook where `of` is empty.
    """
    n, m = counts.samples, len(counts.functions)
    cast = counts.votes.sum(axis=1)
    gold_votes, gold_hits = counts.gold_votes.tolist(), counts.gold_hits.tolist()
    findings = [
        Finding("labeling.functions", value=m, n=m),
        share("labeling.coverage", counts.covered, n),
        share("labeling.overlaps", counts.overlapped, n),
        share("labeling.conflicts", counts.conflicted, n),
        share("labeling.faults", faults, n * m),
    ]
    for place, name in enumerate(counts.functions):
        findings.append(share("labeling.coverage", int(cast[place]), n, of=name))
        if gold_votes[place]:
            findings.append(share("labeling.accuracy", gold_hits[place], gold_votes[place], of=name))
    return findings
