"""The word attacks as stages: every text attacked where it lies, then the findings."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from assay.data.classes import class_names
from assay.data.schemas import Classes, Findings, Samples, SubjectFiles
from assay.data.text_schemas import WordVectors
from assay.data.word_schemas import AttackedTexts, CosineLimits, WordSwaps
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect, map_partitions, read_files
from assay.infra.seeds import Seeds
from assay.infra.stage import say, stage, write_table
from assay.tasks.attacks.text_table import TEXT_ATTACKS
from assay.tasks.attacks.words.attacking import AttackKit, attack_rows
from assay.tasks.attacks.words.measures import comparison_findings, limits_in, limits_said, summary, word_findings
from assay.tasks.attacks.words.parts_of_speech import parts_of_speech
from assay.tasks.attacks.words.resolved import ResolvedWordAttack
from assay.tasks.attacks.words.space_findings import space_findings
from assay.tasks.attacks.words.swapping import content_words
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.classification import Groups
from assay.tasks.statistics.findings import findings_table
from assay.tasks.statistics.grouped_samples import groups_by_id
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.rows import texts_of

ROWS = 16  # texts of a partition: few, so that the bar moves and all workers have something to do
_LOOKED_UP = 500  # words of which some dictionary should know half


@stage(version=4, title="word attack", gpu=True)
def attack_words(
    samples: Artifact[Samples],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    attack: ResolvedWordAttack,
    swaps: Artifact[WordSwaps],
    vectors: Artifact[WordVectors],
    limits: Artifact[CosineLimits],
) -> Artifact[AttackedTexts]:
    """Every text attacked by itself: nothing is drawn, so the same texts come out of any cut and any workers."""
    names = class_names(collect(classes, None))
    kit = AttackKit(
        "\0".join([files.digest, subject.fingerprint, attack.fingerprint, swaps.digest, vectors.digest, limits.digest]),
        subject,
        read_files(files),
        len(names),
        attack,
        collect(swaps, None),
        collect(vectors, None),
        collect(limits, None),
    )
    attacked: Artifact[AttackedTexts] = map_partitions(attack_rows, samples, into=AttackedTexts, rows=ROWS, kit=kit)
    columns = collect(attacked, ["status", "reason", "ranking", "refused"])
    sentence = f"{TEXT_ATTACKS.of(attack.settings).word} · {summary(columns)}"
    refused = sum(count or 0 for count in columns["refused"].to_pylist())
    sentence += f" · {plural(refused, 'replacement')} refused as opposites" if refused else ""
    if attack.settings.ranking != "deletion" and "deletion" in columns["ranking"].unique().to_pylist():
        sentence += " · the subject has no gradients, so words are ranked by deletion"
    say(sentence + _unknown_words(samples, subject, attack))
    return attacked


@stage(version=7, title="word findings")
def measure_words(
    attacked: Artifact[AttackedTexts],
    name: str,
    subject: str,
    limits: Artifact[CosineLimits],
    samples: Artifact[Samples],
    classes: Artifact[Classes],
) -> Artifact[Findings]:
    """The findings on one attack (`name`) on one subject, and on the vectors that it took its words from.

    Intervals count the groups of the `samples`, if any.
    """
    table, spaces = collect(attacked, None), collect(limits, None)
    say(f"{name} on {subject} · {summary(table)}")
    names = class_names(collect(classes, None))
    measured = word_findings(table, name, subject, names, _groups(table, samples))
    return write_table(findings_table([*measured, *space_findings(spaces, name, subject)]), into=Findings)


@stage(version=6, title="word attacks compared")
def compare_words(
    first: Artifact[AttackedTexts],
    second: Artifact[AttackedTexts],
    first_name: str,
    second_name: str,
    subject: str,
    significance: float,
    samples: Artifact[Samples],
) -> Artifact[Findings]:
    """Two attacks on the same texts: McNemar's test of success, Wilcoxon's of the words changed where both succeed."""
    generator = Seeds(0, "word attacks compared").generator(f"{subject}/{first_name}/{second_name}")
    first_table, second_table = collect(first, None), collect(second, None)
    findings = comparison_findings(
        first_table,
        second_table,
        f"{first_name} - {second_name}",
        subject,
        generator,
        significance,
        _groups(first_table, samples),
    )
    difference = next(one for one in findings if one.metric == "attack.success_difference")
    value = "not measured"
    if difference.value is not None:
        value = f"{100 * difference.value:+.1f} points of success, p = {difference.p_value:.3g}"
    limits = [limits_said(limits_in(collect(one, ["providers", "limits"]))) for one in (first, second)]
    if all(limits):
        value += f" · replacements at cosine ≥ {limits[0]} against {limits[1]}"
    say(f"{first_name} against {second_name} on {subject} · {value}")
    return write_table(findings_table(findings), into=Findings)


def _groups(attacked: pa.Table, samples: Artifact[Samples]) -> Groups:
    """The group of every attacked text, where the samples stand in some."""
    of_id = groups_by_id(samples)
    return None if of_id is None else np.array([of_id[one] for one in attacked["id"].to_pylist()])


def _unknown_words(samples: Artifact[Samples], subject: ResolvedSubject, attack: ResolvedWordAttack) -> str:
    """A warning where the dictionary of parts of speech is not one of the texts' language."""
    if not attack.settings.part_of_speech:
        return ""
    column = subject.settings.text
    words = content_words(texts_of(collect(samples, ["id", column]), column))
    asked = words[:: max(1, len(words) // _LOOKED_UP)]
    known = sum(bool(parts_of_speech(word)) for word in asked)
    if 2 * known >= len(asked):
        return ""
    return (
        f" · the English dictionary of parts of speech knows {known} of {len(asked)} words, and no other word is "
        "replaced: set part_of_speech: false"
    )
