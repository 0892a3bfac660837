"""Attacks on whole texts, and training on attacked copies, as a kind of audit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from assay.flows.audits.kind import AuditKind, Ground
from assay.flows.audits.texts.clashes import text_clashes

if TYPE_CHECKING:
    from assay.data.hardness_schemas import SampleHardness
    from assay.flows.audits.outcomes import Outcomes, Tables
    from assay.flows.audits.texts.flow import WordAudit
    from assay.flows.configuration.named_things import MissingThing
    from assay.flows.pipeline import Pipeline
    from assay.infra.artifacts import Artifact
    from assay.tasks.reporting.following import Headline
    from assay.tasks.reporting.parts import Part, Verdict
    from assay.tasks.statistics.findings import FindingIndex
    from assay.tasks.statistics.sampled import Sampled


def attack(ground: Ground) -> WordAudit:
    """Attack texts, teach classifiers attacked copies, attack again."""
    from assay.flows.audits.texts.flow import attack_texts

    return attack_texts(ground)


def asked(pipeline: Pipeline) -> bool:
    """Whether there is an attack on texts, and a classifier that reads them."""
    return bool(pipeline.text_attacks) and any(one.classifier is not None for one in pipeline.subjects)


def fewest_words(ground: Ground, audit: WordAudit) -> Iterator[Artifact[SampleHardness]]:
    """The fewest words whose replacement turns the answer, of the classifiers themselves, not of defended copies."""
    from assay.tasks.hardness.task import find_hardness

    for subject in ground.pipeline.subjects:
        for attack in audit.challenged.attacked.get(subject.name, {}).values():
            if attack.attacked is not None:
                yield find_hardness(attack.attacked, "words", subject.name)


def page(ground: Ground, audit: WordAudit, findings: FindingIndex) -> Iterator[Part]:
    """What attacks did to texts, and what attacked copies taught."""
    from assay.data.classes import class_names
    from assay.flows.audits.data import Data
    from assay.flows.audits.texts.page import word_parts
    from assay.infra.partitions import collect

    classes = class_names(collect(ground.of(Data).classes, None))
    yield from word_parts(audit, classes, ground.pipeline.masked, findings)


def verdict(findings: FindingIndex) -> Iterator[Verdict]:
    """How few words make a classifier wrong, and what attacked copies teach it."""
    from assay.tasks.attacks.words.page import verdict as of_text_attacks
    from assay.tasks.defenses.text_page import verdict as of_attacked_copies

    yield from (*of_text_attacks(findings), *of_attacked_copies(findings))


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """How often attacks on texts succeed."""
    from assay.tasks.attacks.words.followed import followed as of_words

    yield from of_words(findings)


def missing(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    """Encoders, word vectors, and lists of words that attacks name."""
    from assay.flows.configuration.named_things import tried
    from assay.tasks.attacks.words.resolved import COUNTERFITTED, MINILM, WORD_VECTORS, resolve_word_attack
    from assay.tasks.attacks.words.settings import WordAttack
    from assay.tasks.language.embeddings.ensemble import NAMES

    known = {"encoder": (MINILM, WORD_VECTORS), "vectors": (*NAMES, COUNTERFITTED)}
    for position, settings in enumerate(pipeline.attacks):
        if isinstance(settings, WordAttack):
            yield from tried(("attacks", position), known, partial(resolve_word_attack, settings, folder))


def outcomes(ground: Ground, result: WordAudit) -> Iterator[Outcomes]:
    """Where what single samples add to its findings lies."""
    from assay.flows.audits.texts.outcomes import outcomes as declared

    yield from declared(ground, result)


def sampled(outcomes: Outcomes, tables: Tables, of: str, group: str) -> Sampled | None:
    """What single samples add to one of its findings."""
    from assay.flows.audits.texts.outcomes import sampled as read

    return read(outcomes, tables, of, group)


TEXTS = AuditKind(
    "texts",
    asked,
    attack,
    stands_on=("data", "subjects", "trust"),
    clashes=text_clashes,
    missing=missing,
    hardness=fewest_words,
    page=page,
    verdict=verdict,
    followed=followed,
    outcomes=outcomes,
    sampled=sampled,
)
