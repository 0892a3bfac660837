"""Chance as stages: how often a subject's answers change though nothing does, and how much oftener under an attack, a
corruption, or with the question put otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from assay.data.arrays import Codes
from assay.data.schemas import AdversarialImages, AttackedTexts, Findings, FrameFlips, Predictions, Samples
from assay.infra.stages.partitions import collect, map_partitions
from assay.infra.stages.stage import say, stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.attacks.chance.flips import (
    MORE,
    attacked_as_samples,
    attacked_images_as_samples,
    chance_finding,
    changed_shares,
    corruptions_above_chance,
    findings_above_chance,
    self_agreement,
    variant_findings,
)
from assay.tasks.attacks.settings import Norm
from assay.tasks.attacks.texts.noise import NOISE, ORIGINAL, SEVERITY
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.groups import groups_of, groups_of_ids
from assay.tasks.subjects.predictions import require_same_samples


@stage(version=1, title="attacked texts again")
def take_attacked_texts(attacked: Artifact[AttackedTexts], text: str) -> Artifact[Samples]:
    """The attacked texts as samples, to be asked about once more."""
    texts = map_partitions(attacked_as_samples, attacked, into=Samples, text=text)
    say(f"{texts.rows} attacked texts")
    return texts


@stage(version=1, title="attacked images again")
def take_attacked_images(images: Artifact[AdversarialImages], norm: Norm) -> Artifact[Samples]:
    """The attacked images as samples, to be asked about once more."""
    samples = map_partitions(attacked_images_as_samples, images, into=Samples, norm=norm)
    say(f"{samples.rows} attacked images")
    return samples


@stage(version=4, title="noise floor")
def measure_chance(
    clean: Artifact[Predictions], again: Sequence[Artifact[Predictions]], samples: Artifact[Samples], name: str
) -> Artifact[Findings]:
    """How often a subject's answers change when it is asked again about the same texts."""
    first, *others = _answered([clean, *again], samples, name)
    floor = chance_finding(first, others, groups_of(samples), name)
    say(f"{name} · {floor.value or 0:.1%} of the answers change by themselves, asked {len(again) + 1} times")
    findings = [floor, self_agreement(first, others[0], groups_of(samples), name)]
    return write_table(findings_table(findings), into=Findings)


@stage(version=3, title="above the noise floor")
def measure_above_chance(
    asked: Artifact[Samples],
    fresh: Sequence[Artifact[Predictions]],
    clean: Artifact[Predictions],
    again: Sequence[Artifact[Predictions]],
    samples: Artifact[Samples],
    called: str,
    subject: str,
    significance: float,
) -> Artifact[Findings]:
    """How much oftener answers change under an attack than by themselves."""
    rows, about = collect(asked, ["id", ORIGINAL, NOISE, SEVERITY]), Finding("", of=called, subject=subject)
    first, *others = _answered([clean, *again], samples, subject)
    ids, answers = collect(samples, ["id"])["id"].to_pylist(), _answered(fresh, asked, subject)
    findings = [*findings_above_chance(rows, answers, (first, others), ids, groups_of(samples), about, significance)]
    say(f"{called} on {subject} · {sum(each.verdict == MORE for each in findings)} of {len(findings)} more than chance")
    return write_table(findings_table(findings), into=Findings)


@stage(version=2, title="corruptions above the noise floor")
def measure_corruptions_above_chance(
    flips: Artifact[FrameFlips],
    clean: Artifact[Predictions],
    again: Sequence[Artifact[Predictions]],
    samples: Artifact[Samples],
    subject: str,
    significance: float,
) -> Artifact[Findings]:
    """How much oftener answers change from frame to frame of corruptions than by themselves."""
    first, *others = _answered([clean, *again], samples, subject)
    rows = collect(flips, ["id", "subject", "perturbation", "flips", "comparisons"])
    own, floor = rows.filter(pc.equal(rows["subject"], subject)), changed_shares(first, others)
    ids, about = collect(samples, ["id"])["id"], Finding("", subject=subject)
    findings = list(corruptions_above_chance(own, ids, floor, groups_of(samples), about, significance))
    say(f"{subject} · {sum(each.verdict == MORE for each in findings[1:])} of {len(findings) - 1} more than chance")
    return write_table(findings_table(findings), into=Findings)


@stage(version=3, title="question put otherwise")
def measure_variants(
    texts: Artifact[Samples],
    varied: Sequence[Artifact[Predictions]],
    clean: Artifact[Predictions],
    again: Sequence[Artifact[Predictions]],
    samples: Artifact[Samples],
    called: str,
    subject: str,
    significance: float,
) -> Artifact[Findings]:
    """How far answers about these texts depend on how the question is put: those to each variant of it are `varied`."""
    ids, asked = (collect(table, ["id"])["id"].to_pylist() for table in (samples, texts))
    at, groups = np.flatnonzero(np.isin(ids, asked)), groups_of_ids(samples, asked)
    first, *others = (answers[at] for answers in _answered([clean, *again], samples, subject))
    about, answers = Finding("", of=called, subject=subject), _answered(varied, texts, subject)
    findings = list(variant_findings(first, others, answers, groups, about, significance))
    say(f"{called} on {subject} · {findings[0].value or 0:.1%} of the answers depend on it, {len(varied)} variants")
    return write_table(findings_table(findings), into=Findings)


def _answered(times: Sequence[Artifact[Predictions]], samples: Artifact[Samples], name: str) -> list[Codes]:
    """The answers of each time that the subject was asked about these samples, in their order."""
    asked, answers = collect(samples, ["id"]), [collect(time, ["id", "predicted"]) for time in times]
    for each in answers:
        require_same_samples(each, asked, name)
    return [np.asarray(each["predicted"].to_numpy(), dtype=np.int64) for each in answers]
