"""What taggers and scorers gain by training on attacked copies: over the subject as it was, and over a control that
learned from unchanged copies of the same samples, with as many steps.

Both models are resampled together, sentence by sentence (pair by pair), or group by group.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from assay.infra.seeds import Seeds
from assay.tasks.attacks.terms.estimates import CLEAN, Estimate, Key, control_findings, gain_findings
from assay.tasks.attacks.terms.judging import Tables, Tested, aligned, estimated, tested_by
from assay.tasks.attacks.terms.matching import counts_of
from assay.tasks.statistics.classification import Groups
from assay.tasks.statistics.correlation import resamples_of
from assay.tasks.statistics.entities import by_group, resampled
from assay.tasks.statistics.findings import Finding


def trained_tagger_findings(
    before: Tables, after: Tables, subject: str, trained_on: Collection[str], seeds: Seeds, groups: Groups = None
) -> list[Finding]:
    """`ner.gain`, `ner.recovered` and `ner.cost` of a tagger that was trained on attacked copies, wherever both were
    tested."""
    first, second = _tested_together(before, after, seeds.generator(f"{subject}/gain"), groups)
    clean = first[CLEAN, ""].f1
    return [
        one
        for key, result in second.items()
        for one in gain_findings("ner", key, subject, clean, first[key].f1, result.f1, result.there, "F1", trained_on)
    ]


def controlled_tagger_findings(
    control: Tables, after: Tables, subject: str, trained_on: Collection[str], seeds: Seeds, groups: Groups = None
) -> list[Finding]:
    """`ner.gain_over_control` of a tagger that was trained on attacked copies, wherever both were tested."""
    first, second = _tested_together(control, after, seeds.generator(f"{subject}/control"), groups)
    return [
        one
        for key, result in second.items()
        for one in control_findings("ner", key, subject, first[key].f1, result.f1, result.there, "F1", trained_on)
    ]


def _tested_together(
    before: Tables, after: Tables, generator: np.random.Generator, groups: Groups
) -> tuple[dict[Key, Tested], dict[Key, Tested]]:
    """Two taggers on the sets of sentences that both were tested on, resampled together."""
    shared = [key for key in after if key in before]
    counts = [by_group(counts_of(tables[key]), groups) for tables in (before, after) for key in shared]
    tested = [tested_by(one, sums) for one, sums in zip(counts, resampled(counts, generator), strict=True)]
    return dict(zip(shared, tested, strict=False)), dict(zip(shared, tested[len(shared) :], strict=True))


def trained_scorer_findings(
    before: Tables, after: Tables, subject: str, trained_on: Collection[str], seeds: Seeds, groups: Groups = None
) -> list[Finding]:
    """`sts.gain`, `sts.recovered` and `sts.cost` of a scorer that was trained on attacked copies."""
    n, first, second = _scored_together(before, after, seeds.generator(f"{subject}/gain"), groups)
    clean = first[CLEAN, ""]
    return [
        one
        for key, result in second.items()
        for one in gain_findings("sts", key, subject, clean, first[key], result, n, "r", trained_on)
    ]


def controlled_scorer_findings(
    control: Tables, after: Tables, subject: str, trained_on: Collection[str], seeds: Seeds, groups: Groups = None
) -> list[Finding]:
    """`sts.gain_over_control` of a scorer that was trained on attacked copies."""
    n, first, second = _scored_together(control, after, seeds.generator(f"{subject}/control"), groups)
    return [
        one
        for key, result in second.items()
        for one in control_findings("sts", key, subject, first[key], result, n, "r", trained_on)
    ]


def _scored_together(
    before: Tables, after: Tables, generator: np.random.Generator, groups: Groups
) -> tuple[int, dict[Key, Estimate], dict[Key, Estimate]]:
    """How many pairs have a score, and Pearson's r of two scorers on the sets that both were tested on."""
    shared = [key for key in after if key in before]
    together = {("before", *key): before[key] for key in shared} | {("after", *key): after[key] for key in shared}
    gold, predicted, known = aligned(together, groups)
    times = resamples_of(len(gold), generator, groups=known)
    tested = {key: estimated("pearson", gold, scores, times) for key, scores in predicted.items()}
    first, second = ({key: tested[when, *key] for key in shared} for when in ("before", "after"))
    return len(gold), first, second
