"""Attacks on the terms of tagged sentences and of pairs, and training on attacked copies, as a kind of audit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from assay.flows import kind
from assay.flows.audits.challenge_clashes import attack_kind, attack_name
from assay.flows.yaml_document import Value
from assay.tasks.defenses.settings import MIXED
from assay.tasks.statistics.metrics import metrics_of
from assay.tasks.subjects.settings import KNOWN

TAKEN = ("clean", MIXED)
"""What findings call the original samples, and defences a copy by all attacks."""
IMAGES_ONLY = ("loss", "augment")
"""Options of a training that taggers and scorers have no use for."""

FLOW, PAGE = kind.Late("assay.flows.audits.terms_flow"), kind.Late("assay.tasks.attacks.terms.page")


def term_clashes(pipeline: kind.Written) -> Iterator[kind.Clash]:
    """Names that findings need for themselves, copies that nobody can learn from, options without effect."""
    yield from _names(pipeline)
    yield from _copies(pipeline)
    for where, subject in kind.each_subject(pipeline):
        if _known(subject) is None:
            continue
        for option in IMAGES_ONLY:
            if option in kind.as_dict(subject.get("train")):
                why = "is for images, and changes nothing about taggers and scorers: remove it"
                yield kind.Clash((*where, "train", option), why)


def _names(pipeline: kind.Written) -> Iterator[kind.Clash]:
    """Findings tell test sets apart as `attack|severity`, and defended models as `subject+defence`."""
    for position, attack in enumerate(kind.as_list(pipeline.get("attacks"))):
        name = kind.as_dict(attack).get("name")
        if (
            attack_kind(pipeline, attack) != "terms"
            or not isinstance(name, str)
            or (name not in TAKEN and "|" not in name)
        ):
            continue
        why = "has a |, which parts an attack from its severity" if "|" in name else "is taken for something else"
        yield kind.Clash(
            ("attacks", position, "name"), f"{name} {why} where findings are told apart: choose another name"
        )
    subjects = [kind.name_of(subject) for _, subject in kind.each_subject(pipeline)]
    for where, subject in kind.each_subject(pipeline) if pipeline.get("defenses") else ():
        other = next((known for known in subjects if kind.name_of(subject).startswith(f"{known}+")), None)
        if other is not None:
            yield kind.Clash((*where, "name"), f"is how {other} is called with a defence: choose a name without its +")


def _copies(pipeline: kind.Written) -> Iterator[kind.Clash]:
    """Copies with attacked terms need a tagger or a scorer that learns from them, and one sentence of a pair."""
    attacks = [kind.as_dict(attack) for attack in kind.as_list(pipeline.get("attacks"))]
    terms = {attack_name(attack): attack for attack in attacks if attack_kind(pipeline, attack) == "terms"}
    readers = [subject for _, subject in kind.each_subject(pipeline) if _known(subject) is not None]
    for position, written in enumerate(kind.as_list(pipeline.get("defenses"))):
        meant = str(kind.as_dict(written).get("attack"))
        if not terms or meant not in (*terms, MIXED):
            continue
        for subject in readers:
            named = str(subject.get("tagger") or subject.get("scorer"))
            if named not in (_known(subject) or ()) and (":" in named or subject.get("train") is None):
                yield kind.Clash(
                    ("defenses", position),
                    f"{kind.name_of(subject)} comes as it is and learns from no attacked copies: "
                    + ("leave the defence out" if ":" in named else "give it train, or leave the defence out"),
                )
        sentences = {str(options.get("sentence", "first")) for options in terms.values()}
        if meant == MIXED and len(sentences) > 1 and any(subject.get("scorer") is not None for subject in readers):
            yield kind.Clash(
                ("defenses", position),
                "mixed would mix attacks on both sentences of a pair: give the attacks one "
                "sentence, or name one attack",
            )


def _known(subject: dict[str, Value]) -> tuple[str, ...] | None:
    """The taggers, or scorers, that Assay trains in any case; None for a subject that is neither."""
    return next((KNOWN[kind] for kind in ("tagger", "scorer") if subject.get(kind) is not None), None)


_KEYS = ("attacks", "subject", "subjects")


def asked(pipeline: kind.AuditRequest) -> bool:
    """Whether a subject tags words or scores pairs."""
    return any(subject.tagger is not None or subject.scorer is not None for subject in pipeline.subjects)


def missing(pipeline: kind.AuditRequest, folder: Path) -> Iterator[kind.MissingThing]:
    """Lexicons of terms and of synonyms."""
    from assay.tasks.attacks.terms.perturbing import require_attack
    from assay.tasks.attacks.terms.settings import TermAttack
    from assay.tasks.language.lexicons import CATALOGUE

    known = {"terms": ("gold", "lexicon", CATALOGUE), "synonyms": (CATALOGUE,)}
    for position, settings in enumerate(pipeline.attacks):
        if isinstance(settings, TermAttack):
            yield from kind.missing_if_fails(("attacks", position), known, partial(require_attack, settings, folder))


TERMS = kind.AuditKind(
    "terms",
    asked,
    FLOW.audit_terms,
    stands_on=("subjects",),
    measures=tuple(kind.Measured(stage, metrics_of(stage), _KEYS) for stage in ("ner", "sts")),
    clashes=term_clashes,
    missing=missing,
    page=FLOW.term_parts,
    followed=PAGE.followed,
    outcomes=FLOW.outcomes_of_terms,
    sampled=FLOW.sampled,
)
