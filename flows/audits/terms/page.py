"""The page about taggers and scorers: a few of what they read and said is collected and handed to its room."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from assay.data.schemas import Samples
from assay.flows.audits.kind import Ground
from assay.flows.audits.subjects.flow import Examination, Examined
from assay.flows.audits.terms.flow import ORIGINAL, SetsAsked, TermAudit, attacked_columns
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect, collect_rows
from assay.tasks.attacks.terms.estimates import Stage
from assay.tasks.attacks.terms.measuring_task import column_of_units
from assay.tasks.attacks.terms.page import page
from assay.tasks.attacks.terms.page_examples import PairExample, TaggedExample, pairs_block, tagged_blocks
from assay.tasks.attacks.terms.settings import AnyTermAttack
from assay.tasks.attacks.terms.showing import most_moved, most_telling
from assay.tasks.reporting.parts import Block, Part
from assay.tasks.reporting.sentences import counted_by
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.statistics.grouped_samples import count_groups
from assay.tasks.subjects.clean_page import learning
from assay.tasks.subjects.grouping import DOCUMENT

Examples = Callable[[Sequence[AnyTermAttack], Examination, Examined, SetsAsked], list[Block]]


def term_parts(ground: Ground, audit: TermAudit, findings: FindingIndex) -> Iterator[Part]:
    """The parts about taggers and about scorers, where there are any; no sentence is in them where texts are masked."""
    examination, measures = ground.of(Examination), audit.challenged.measures
    stages: tuple[tuple[Stage, str, Examples], ...] = (("ner", "tagger", _tagged), ("sts", "scorer", _pairs))
    for stage, way, examples in stages:
        subjects = [one for one in examination.of(way) if one.name in measures]
        blocks = [
            block
            for subject in (subjects if not ground.pipeline.masked else ())
            for block in examples(ground.pipeline.term_attacks, examination, subject, measures[subject.name].sets)
        ]
        if subjects:
            counted = _counted(examination.evaluation, tagged=stage == "ner")
            yield page(findings, stage, [*blocks, *_learning(subjects)], counted)


def _counted(samples: Artifact[Samples], *, tagged: bool) -> str:
    """What intervals count, in a sentence; empty where it is samples."""
    column = column_of_units(samples, tagged=tagged)
    units = None if column is None else count_groups(samples, column)
    return "" if units is None else counted_by(units, "document" if column == DOCUMENT else "group")


def _learning(subjects: Sequence[Examined]) -> list[Block]:
    """How those learned that were trained here."""
    curves = {subject.name: collect(subject.curve, None) for subject in subjects}
    learned = {name: curve for name, curve in curves.items() if curve.num_rows > 1}
    return [learning(learned)] if learned else []


def _tagged(
    attacks: Sequence[AnyTermAttack], examination: Examination, subject: Examined, sets: SetsAsked
) -> list[Block]:
    """Sentences in which an attack hides entities that the tagger had found."""
    blocks: list[Block] = []
    for attack in attacks:
        key = f"{attack.called}|{attack.each()[0].group}"
        if key in sets and attack.examples:
            blocks += tagged_blocks(subject.name, _tagged_examples(examination, subject, sets, attack, key))
    return blocks


def _tagged_examples(
    examination: Examination, subject: Examined, sets: SetsAsked, attack: AnyTermAttack, key: str
) -> list[TaggedExample]:
    matches = [collect(one.matches, ["id", "gold_hits"]) for one in (sets[ORIGINAL], sets[key]) if one.matches]
    lost = most_telling(matches[0], matches[1], attack.examples)
    before, after = (_by_id(collect_rows(sets[one].answers, lost).to_pylist()) for one in (ORIGINAL, key))
    samples, perturbed = _by_id(collect_rows(examination.evaluation, lost).to_pylist()), sets[key].perturbed
    changes: list[dict[str, Any]] = [] if perturbed is None else collect_rows(perturbed.changes, lost).to_pylist()
    words = attacked_columns(subject.resolved, attack).words
    return [
        TaggedExample(
            attack.called,
            sample,
            samples[sample][words],
            after[sample]["tokens"],
            after[sample]["gold"],
            before[sample]["predicted"],
            after[sample]["predicted"],
            [one for one in changes if one["id"] == sample],
        )
        for sample in lost
    ]


def _pairs(
    attacks: Sequence[AnyTermAttack], examination: Examination, subject: Examined, sets: SetsAsked
) -> list[Block]:
    """Pairs whose score an attack moved most."""
    examples, pair = list[PairExample](), subject.resolved.settings.pair
    for attack in attacks:
        key, words = f"{attack.called}|{attack.each()[0].group}", attacked_columns(subject.resolved, attack).words
        perturbed = sets[key].perturbed if key in sets else None
        if perturbed is None or attack.examples == 0:
            continue
        scores = [collect(sets[one].answers, ["id", "gold", "predicted"]) for one in (ORIGINAL, key)]
        moved = most_moved(scores[0], scores[1], attack.examples)
        before, after = (_by_id(one.to_pylist()) for one in scores)
        samples = _by_id(collect_rows(examination.evaluation, moved).to_pylist())
        attacked = _by_id(collect_rows(perturbed.samples, moved).to_pylist())
        other = pair[1 if attack.sentence == "first" else 0]
        examples += [
            PairExample(
                attack.called,
                sample,
                samples[sample][words],
                attacked[sample][words],
                samples[sample][other],
                before[sample]["gold"],
                before[sample]["predicted"],
                after[sample]["predicted"],
            )
            for sample in moved
        ]
    return pairs_block(subject.name, examples)


def _by_id(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in rows}
