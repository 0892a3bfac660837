"""The stage that follows a subject of images or texts along the order, under everything that was done to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow.compute as pc
from pyarrow import ChunkedArray

from assay.data.schemas import (
    Attacked,
    AttackedTexts,
    Clusters,
    CuratedSets,
    Findings,
    FrameFlips,
    Intervals,
    OrderedAnswers,
    Predictions,
    Samples,
)
from assay.infra.stages.partitions import collect
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.subjects.along.findings import (
    CLEAN,
    GAIN_TREND,
    OrderedSamples,
    along_findings,
    answered,
    attacked,
    clean,
    corrupted,
    gain_findings,
    noisy,
    ordered_samples,
    reworded,
)


class Followed(NamedTuple):
    """What was measured of one model along the order, and the answers that it rests on."""

    measured: Artifact[Findings]
    answers: Artifact[OrderedAnswers]


def audited_in_order(
    curated: Artifact[CuratedSets], intervals: Artifact[Intervals], clusters: Artifact[Clusters], audited: ChunkedArray
) -> OrderedSamples:
    """The samples of an order that are audited, easiest first, from where they lie."""
    order = collect(curated, ["id", "rank", "dataset", "lower", "label", "gold"])
    decided, alike = collect(intervals, ["id", "undecided"]), collect(clusters, ["id", "cluster", "pattern"])
    return ordered_samples(order, decided, alike, audited)


@stage(version=7, title="along", draws=True)
def follow_subject(
    curated: Artifact[CuratedSets],
    intervals: Artifact[Intervals],
    clusters: Artifact[Clusters],
    predictions: Artifact[Predictions],
    images: Mapping[str, Artifact[Attacked]],
    texts: Mapping[str, Artifact[AttackedTexts]],
    noises: Mapping[str, Artifact[Samples]],
    noise_answers: Mapping[str, Artifact[Predictions]],
    noise_columns: Sequence[str],
    flips: Artifact[FrameFlips] | None,
    name: str,
    datasets: int,
    undecided: str,
    significance: float,
    copy: bool,
) -> Followed:
    """How right one model is along D1…DN on the audited samples: as they are, attacked, noisy and corrupted."""
    answers = collect(predictions, ["id", "predicted"])
    ordered = audited_in_order(curated, intervals, clusters, answers["id"])
    circumstances = list(clean(ordered, answers))
    for attack, records in images.items():
        circumstances += attacked(ordered, attack, collect(records, ["id", "eps", "attacked"]))
    for attack, changed in texts.items():
        circumstances.append(reworded(ordered, attack, collect(changed, ["id", "attacked"])))
    for attack, variants in noises.items():
        predicted = collect(noise_answers[attack], ["id", "predicted"])
        circumstances += noisy(ordered, attack, predicted, collect(variants, ["id", *noise_columns]), noise_columns)
    if flips is not None:
        frames = collect(flips, ["id", "subject", "severity", "correct", "judged"])
        circumstances += corrupted(ordered, frames.filter(pc.equal(frames["subject"], name)))
    findings = along_findings(
        ordered,
        circumstances,
        subject=name,
        datasets=datasets,
        significance=significance,
        concluded=not copy,
        only_decided=undecided == "apart",
        seeds=stage_seeds(),
    )
    say(_summary(findings, ordered, name))
    kept = answered(ordered, circumstances)
    return Followed(write_table(findings_table(findings), into=Findings), write_table(kept, into=OrderedAnswers))


@stage(version=5, title="gain along", draws=True)
def compare_along(
    original: Artifact[OrderedAnswers],
    defended: Artifact[OrderedAnswers],
    name: str,
    undecided: str,
    significance: float,
) -> Artifact[Findings]:
    """Whether a defence helps where samples are naturally hard: what the copy of that name gains on every stratum."""
    before, after = (collect(answers, None) for answers in (original, defended))
    apart = undecided == "apart"
    findings = gain_findings(
        before, after, copy=name, significance=significance, only_decided=apart, seeds=stage_seeds()
    )
    trends = [finding for finding in findings if finding.metric == GAIN_TREND and finding.value is not None]
    differing = sum(trend.p_value is not None and trend.p_value <= significance for trend in trends)
    say(f"{name} · gains differ along the order in {differing} of {len(trends)} circumstances" if trends else name)
    return write_table(findings_table(findings), into=Findings)


def _summary(findings: Sequence[Finding], ordered: OrderedSamples, name: str) -> str:
    there = [each for each in findings if each.of == CLEAN and each.value is not None]
    strata = [each for each in there if each.slice.stratum is not None]
    if not strata:
        return f"{name} · {len(ordered.ids)} audited samples, no gold labels to measure by"
    ends = f"{strata[0].value:.0%} right on the first stratum, {strata[-1].value:.0%} on the last"
    return f"{name} · {len(ordered.ids)} audited samples · {ends}"
