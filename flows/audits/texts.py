"""Attacks on whole texts, and training on attacked copies, as a kind of audit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from assay.flows.audits.challenge_clashes import attack_choice, attack_kind, attack_name
from assay.flows.kind import AuditKind, Clash, Ground, as_dict, as_list, each_subject, name_of
from assay.flows.yaml_document import Value, suggestion
from assay.tasks.attacks.choice import TextAttackChoice
from assay.tasks.defenses.settings import MIXED
from assay.tasks.subjects.kinds import kind_called

if TYPE_CHECKING:
    from assay.data.schemas import SampleHardness
    from assay.flows.audits.texts_flow import WordAudit
    from assay.flows.kind import MissingThing, Outcomes, Tables
    from assay.flows.pipeline import Pipeline
    from assay.infra.storage.artifacts import Artifact
    from assay.tasks.reporting.parts import Part, Verdict
    from assay.tasks.reporting.report import Headline
    from assay.tasks.statistics.between_runs import Sampled
    from assay.tasks.statistics.findings import FindingIndex


def text_clashes(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """A guided attack needs the oracle that guides it; attacked copies need a classifier that learns from them."""
    attacks = [as_dict(attack) for attack in as_list(pipeline.get("attacks"))]
    texts = {attack_name(attack) for attack in attacks if attack_kind(pipeline, attack) == "texts"}
    trust = pipeline.get("trust")
    for position, attack in enumerate(attacks):
        if attack.get("attack") != "guided":
            continue
        if trust is None:
            yield Clash(
                ("attacks", position),
                "guided goes by the trust oracle's word pools, and the pipeline has no trust: "
                "add trust, as in trust: {explainers: [lime]}, or use a2t",
            )
            continue
        explainer = attack.get("explainer")
        asked = [one for one in as_list(as_dict(trust).get("explainers")) if isinstance(one, str)] or ["lime"]
        if isinstance(explainer, str) and explainer not in asked:
            yield Clash(
                ("attacks", position, "explainer"), f"is not among trust.explainers; {suggestion(explainer, asked)}"
            )
    yield from _unequal_limits(pipeline, attacks)
    for position, written in enumerate(as_list(pipeline.get("defenses"))):
        defense = as_dict(written)
        learns = kind_called("classifier").learns
        readers = [one for _, one in each_subject(pipeline) if isinstance(one.get("classifier"), str)]
        if defense.get("attack") not in (*texts, MIXED):
            continue
        if readers and not any(learns(str(one["classifier"]), one.get("train")) for one in readers):
            names, comes = " and ".join(map(name_of, readers)), "comes" if len(readers) == 1 else "come"
            yield Clash(
                ("defenses", position),
                f"{names} {comes} as {'it is' if len(readers) == 1 else 'they are'} and "
                f"learn{'s' if len(readers) == 1 else ''} from no attacked copies: give it train, audit a classifier "
                "that Assay trains, or leave the defence out",
            )


def _unequal_limits(pipeline: dict[str, Value], attacks: list[dict[str, Value]]) -> Iterator[Clash]:
    """Word attacks stand beside each other on the same texts, so all attack as many."""
    choices = [attack_choice(pipeline, attack) for attack in attacks]
    swapping = [at for at, one in enumerate(choices) if isinstance(one, TextAttackChoice) and one.swaps_words]
    limits = {position: attacks[position].get("texts") for position in swapping}
    guided = any(attacks[position].get("attack") == "guided" for position in limits)
    first = next(iter(limits.values()), None)
    for position, limit in limits.items():
        if guided and limit != first:
            written = "all texts" if first is None else f"{first} texts"
            yield Clash(
                ("attacks", position, *(("texts",) if limit is not None else ())),
                f"another word attack is on {written}, and they are compared on the same ones: set texts alike",
            )


def attack(ground: Ground) -> WordAudit:
    """Attack texts, teach classifiers attacked copies, attack again."""
    from assay.flows.audits.texts_flow import attack_texts

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
    from assay.data.schemas import class_names
    from assay.flows.audits.data import Data
    from assay.flows.audits.texts_flow import word_parts
    from assay.infra.stages.partitions import collect

    classes = class_names(collect(ground.of(Data).classes, None))
    yield from word_parts(audit, classes, ground.pipeline.masked, findings)


def verdict(findings: FindingIndex) -> Iterator[Verdict]:
    """How few words make a classifier wrong, and what attacked copies teach it."""
    from assay.tasks.attacks.texts.page import verdict as of_text_attacks
    from assay.tasks.defenses.text_page import verdict as of_attacked_copies

    yield from (*of_text_attacks(findings), *of_attacked_copies(findings))


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """How often attacks on texts succeed."""
    from assay.tasks.attacks.texts.page import followed as of_words

    yield from of_words(findings)


def missing(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    """Encoders, word vectors, and lists of words that attacks name."""
    from assay.flows.kind import missing_if_fails
    from assay.tasks.attacks.texts.resolved import COUNTERFITTED, MINILM, WORD_VECTORS, resolve_word_attack
    from assay.tasks.attacks.texts.settings import WordAttack
    from assay.tasks.language.embeddings.ensemble import NAMES

    known = {"encoder": (MINILM, WORD_VECTORS), "vectors": (*NAMES, COUNTERFITTED)}
    for position, settings in enumerate(pipeline.attacks):
        if isinstance(settings, WordAttack):
            yield from missing_if_fails(("attacks", position), known, partial(resolve_word_attack, settings, folder))


def outcomes(ground: Ground, result: WordAudit) -> Iterator[Outcomes]:
    """Where what single samples add to its findings lies."""
    from assay.flows.audits.texts_flow import outcomes_of_texts as declared

    yield from declared(ground, result)


def sampled(outcomes: Outcomes, tables: Tables, of: str, group: str) -> Sampled | None:
    """What single samples add to one of its findings."""
    from assay.flows.audits.texts_flow import sampled as read

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
