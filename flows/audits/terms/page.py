"""The page about taggers and scorers: a few of what they read and said is collected and handed to its room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from assay.flows.audits.subjects.flow import Examination
from assay.flows.audits.terms.flow import ORIGINAL, TermAudit, Tested, attacked_columns
from assay.flows.pipeline import Pipeline
from assay.infra.partitions import collect, collect_rows
from assay.tasks.attacks.terms.page import page
from assay.tasks.attacks.terms.page_examples import PairExample, TaggedExample, pairs_block, tagged_blocks
from assay.tasks.attacks.terms.rows import SentenceColumns
from assay.tasks.attacks.terms.settings import AnyTermAttack
from assay.tasks.attacks.terms.showing import most_moved, most_telling
from assay.tasks.reporting.parts import Block, Part
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.subjects.clean_page import learning


def term_parts(
    pipeline: Pipeline, audit: TermAudit, examination: Examination, findings: FindingIndex
) -> Iterator[Part]:
    """The parts about taggers and about scorers, where there are any; no sentence is in them where texts are masked."""
    taggers = [one.name for one in examination.of("tagger") if one.name in audit.tested]
    scorers = [one.name for one in examination.of("scorer") if one.name in audit.tested]
    may_show = not pipeline.masked
    if taggers:
        shown = [block for name in taggers for block in _tagged(pipeline, audit, examination, name)] if may_show else []
        yield page(findings, "ner", [*shown, *_learning(examination, taggers)])
    if scorers:
        shown = [block for name in scorers for block in _pairs(pipeline, audit, examination, name)] if may_show else []
        yield page(findings, "sts", [*shown, *_learning(examination, scorers)])


def _learning(examination: Examination, names: Sequence[str]) -> list[Block]:
    """How those learned that were trained here."""
    curves = {name: collect(examination.subjects[name].curve, None) for name in names}
    learned = {name: curve for name, curve in curves.items() if curve.num_rows > 1}
    return [learning(learned)] if learned else []


def _tagged(pipeline: Pipeline, audit: TermAudit, examination: Examination, name: str) -> list[Block]:
    """Sentences in which an attack hides entities that the tagger had found."""
    model = audit.tested[name]
    blocks: list[Block] = []
    for attack in pipeline.term_attacks:
        key, columns = f"{attack.called}|{attack.each()[0].group}", attacked_columns(model.resolved, attack)
        if key not in model.answers or attack.examples == 0:
            continue
        lost = most_telling(
            collect(model.matches[ORIGINAL], ["id", "gold_hits"]), collect(model.matches[key], ["id", "gold_hits"]),
            attack.examples,
        )  # fmt: skip
        blocks += tagged_blocks(name, _tagged_examples(audit, examination, model, attack, columns, key, lost))
    return blocks


def _tagged_examples(
    audit: TermAudit, examination: Examination, model: Tested, attack: AnyTermAttack, columns: SentenceColumns,
    key: str, lost: Sequence[str],
) -> list[TaggedExample]:  # fmt: skip
    before, after = (_by_id(collect_rows(model.answers[one], lost).to_pylist()) for one in (ORIGINAL, key))
    samples = _by_id(collect_rows(examination.evaluation, lost).to_pylist())
    changes = collect_rows(audit.perturbed[columns][key].changes, lost).to_pylist()
    return [
        TaggedExample(
            attack.called, sample, samples[sample][columns.words], after[sample]["tokens"], after[sample]["gold"],
            before[sample]["predicted"], after[sample]["predicted"], [one for one in changes if one["id"] == sample],
        )
        for sample in lost
    ]  # fmt: skip


def _pairs(pipeline: Pipeline, audit: TermAudit, examination: Examination, name: str) -> list[Block]:
    """Pairs whose score an attack moved most."""
    model, made = audit.tested[name], list[PairExample]()
    settings = model.resolved.settings
    for attack in pipeline.term_attacks:
        key, columns = f"{attack.called}|{attack.each()[0].group}", attacked_columns(model.resolved, attack)
        if key not in model.answers or attack.examples == 0:
            continue
        said = [collect(model.answers[one], ["id", "gold", "predicted"]) for one in (ORIGINAL, key)]
        moved = most_moved(said[0], said[1], attack.examples)
        before, after = (_by_id(one.to_pylist()) for one in said)
        samples = _by_id(collect_rows(examination.evaluation, moved).to_pylist())
        attacked = _by_id(collect_rows(audit.perturbed[columns][key].samples, moved).to_pylist())
        other = settings.pair[1 if attack.sentence == "first" else 0]
        made += [
            PairExample(
                attack.called, sample, samples[sample][columns.words], attacked[sample][columns.words],
                samples[sample][other], before[sample]["gold"], before[sample]["predicted"], after[sample]["predicted"],
            )
            for sample in moved
        ]  # fmt: skip
    return pairs_block(name, made)


def _by_id(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in rows}
