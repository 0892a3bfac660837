"""Attacks on whole texts, and training on attacked copies, as a kind of audit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from assay.flows.audits.challenge_clashes import attack_choice, attack_kind, attack_name
from assay.flows.kind import (
    AuditKind,
    AuditRequest,
    Clash,
    Late,
    MissingThing,
    Written,
    as_dict,
    as_list,
    each_subject,
    missing_if_fails,
    name_of,
)
from assay.flows.yaml_document import Value, suggestion
from assay.tasks.attacks.choice import TextAttackChoice
from assay.tasks.attacks.table import AnyTextAttack
from assay.tasks.defenses.settings import MIXED
from assay.tasks.subjects.kinds import kind_called

FLOW = Late("assay.flows.audits.texts_flow")


def text_clashes(pipeline: Written) -> Iterator[Clash]:
    """A guided attack needs the oracle that guides it; attacked copies need a classifier that learns from them."""
    attacks = [as_dict(attack) for attack in as_list(pipeline.get("attacks"))]
    texts = {attack_name(attack) for attack in attacks if attack_kind(pipeline, attack) == "texts"}
    choices = {attack_name(attack): attack_choice(pipeline, attack) for attack in attacks}
    turned = {name for name, choice in choices.items() if isinstance(choice, TextAttackChoice) and choice.must_change}
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
        asked = [each for each in as_list(as_dict(trust).get("explainers")) if isinstance(each, str)] or ["lime"]
        if isinstance(explainer, str) and explainer not in asked:
            why = f"is not among trust.explainers; {suggestion(explainer, asked)}"
            yield Clash(("attacks", position, "explainer"), why)
    yield from _unequal_limits(pipeline, attacks)
    for position, written in enumerate(as_list(pipeline.get("defenses"))):
        defense = as_dict(written)
        learns = kind_called("classifier").learns
        if defense.get("attack") in turned:
            why = f"{defense['attack']} makes texts say the opposite, which their labels do not: name another attack"
            yield Clash(("defenses", position, "attack"), why)
            continue
        readers = [subject for _, subject in each_subject(pipeline) if isinstance(subject.get("classifier"), str)]
        if defense.get("attack") not in (*texts, MIXED):
            continue
        if readers and not any(learns(str(subject["classifier"]), subject.get("train")) for subject in readers):
            names, comes = " and ".join(map(name_of, readers)), "comes" if len(readers) == 1 else "come"
            yield Clash(
                ("defenses", position),
                f"{names} {comes} as {'it is' if len(readers) == 1 else 'they are'} and "
                f"learn{'s' if len(readers) == 1 else ''} from no attacked copies: give it train, audit a classifier "
                "that Assay trains, or leave the defence out",
            )


def _unequal_limits(pipeline: Written, attacks: list[dict[str, Value]]) -> Iterator[Clash]:
    """Word attacks stand beside each other on the same texts, so all attack as many."""
    choices = [attack_choice(pipeline, attack) for attack in attacks]
    swapping = [at for at, choice in enumerate(choices) if isinstance(choice, TextAttackChoice) and choice.swaps_words]
    limits = {position: attacks[position].get("texts") for position in swapping}
    guided = any(attacks[position].get("attack") == "guided" for position in limits)
    first = next(iter(limits.values()), None)
    for position, limit in limits.items():
        if guided and limit != first:
            written = "all texts" if first is None else f"{first} texts"
            why = f"another word attack is on {written}, and they are compared on the same ones: set texts alike"
            yield Clash(("attacks", position, *(("texts",) if limit is not None else ())), why)


def asked(pipeline: AuditRequest) -> bool:
    """Whether there is an attack on texts, and a classifier that reads them."""
    return any(isinstance(attack, AnyTextAttack) for attack in pipeline.attacks) and any(
        subject.classifier is not None for subject in pipeline.subjects
    )


def missing(pipeline: AuditRequest, folder: Path) -> Iterator[MissingThing]:
    """Encoders, word vectors, and lists of words that attacks name."""
    from assay.tasks.attacks.texts.resolved import COUNTERFITTED, MINILM, WORD_VECTORS, resolve_word_attack
    from assay.tasks.attacks.texts.settings import WordAttack
    from assay.tasks.language.embeddings.ensemble import NAMES
    from assay.tasks.language.synonyms import OPEN_WORDNET, WORDNET

    lists = COUNTERFITTED, OPEN_WORDNET, WORDNET
    known = {"encoder": (MINILM, WORD_VECTORS), "vectors": (*NAMES, *lists)}
    for position, settings in enumerate(pipeline.attacks):
        if isinstance(settings, WordAttack):
            yield from missing_if_fails(("attacks", position), known, partial(resolve_word_attack, settings, folder))


TEXTS = AuditKind(
    "texts",
    asked,
    FLOW.attack_texts,
    stands_on=("data", "subjects", "trust"),
    asks_later=("trust",),
    clashes=text_clashes,
    missing=missing,
    hardness=FLOW.fewest_words,
    page=FLOW.show_texts,
    followed=Late("assay.tasks.attacks.texts.page").followed,
    outcomes=FLOW.outcomes_of_texts,
    sampled=FLOW.sampled,
)
