"""Trust as a kind of audit: is a prediction right for the right reasons?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.flows.audits.challenge_clashes import needs_subject
from assay.flows.kind import (
    AuditKind,
    AuditRequest,
    Clash,
    Key,
    Late,
    Measured,
    MissingThing,
    NamedColumn,
    Written,
    as_dict,
    as_list,
    each_subject,
    missing_if_fails,
    name_of,
)
from assay.tasks.trust.settings import METRICS, Trust

FLOW, PAGE = Late("assay.flows.audits.trust_flow"), Late("assay.tasks.trust.page")


def asked(pipeline: AuditRequest) -> bool:
    """Whether there is a text subject to ask about."""
    return pipeline.asked(Trust) is not None and any(subject.classifier is not None for subject in pipeline.subjects)


def clashes(pipeline: Written) -> Iterator[Clash]:
    """The oracle is asked about texts."""
    from assay.tasks.trust.explainers.table import EXPLAINERS

    yield from needs_subject(pipeline, "trust", "classifier", "texts")
    inside = [choice.word for choice in EXPLAINERS if choice.looks_inside]
    closed = [name_of(subject) for _, subject in each_subject(pipeline) if ":" in str(subject.get("classifier") or "")]
    for position, explainer in enumerate(as_list(as_dict(pipeline.get("trust")).get("explainers"))):
        if explainer in inside and closed:
            why = f"looks inside a network, and {closed[0]} is a function that only answers; use lime or omission"
            yield Clash(("trust", "explainers", position), why)


def columns(pipeline: AuditRequest) -> Iterator[NamedColumn]:
    """The column of people's rationales."""
    trust = pipeline.asked(Trust)
    if trust is not None and trust.rationales is not None:
        yield ("trust", "rationales"), trust.rationales, "the trust oracle reads"


def missing(pipeline: AuditRequest, folder: Path) -> Iterator[MissingThing]:
    """Word vectors, synonyms and verdicts."""
    trust = pipeline.asked(Trust)
    if trust is None:
        return
    from functools import partial

    from assay.tasks.language.embeddings.ensemble import NAMES
    from assay.tasks.language.synonyms import OPEN_WORDNET, WORDNET
    from assay.tasks.trust.resolved import COUNTERFACTUAL, require_named

    known = {"providers": NAMES, "synonyms": (WORDNET, OPEN_WORDNET), "truth": (COUNTERFACTUAL,)}
    yield from missing_if_fails(("trust",), known, partial(require_named, trust, folder))


TRUST = AuditKind(
    "trust",
    asked,
    FLOW.ask_oracle,
    keys=(Key("trust", Trust, "{explainers: [lime], top_words: 10}"),),
    stands_on=("data", "subjects"),
    measures=(Measured("trust", METRICS, ("trust",)),),
    clashes=clashes,
    columns=columns,
    missing=missing,
    afterwards=FLOW.time_spent,
    hardness=FLOW.untrusted,
    page=FLOW.show_trust_page,
    followed=PAGE.followed,
)
