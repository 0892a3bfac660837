"""The parts of the report about attacked texts: what the attacks made is collected and handed to its rooms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.flows.audits.texts.flow import WordAudit
from assay.infra.partitions import collect
from assay.tasks.attacks.words.page import page
from assay.tasks.attacks.words.page_findings import AttackedTexts
from assay.tasks.defenses.text_page import page as copies_page
from assay.tasks.reporting.parts import Part
from assay.tasks.statistics.findings import FindingIndex

_CARRIERS = ["status", "originals", "replacements"]


def word_parts(audit: WordAudit, classes: Sequence[str], masked: bool, findings: FindingIndex) -> Iterator[Part]:
    """The part about attacks on texts, where one came through, and the one about attacked copies."""
    if audit.attacked or audit.noised:
        yield page(findings, list(_shown(audit, classes, masked)))
    if audit.models:
        yield copies_page(findings)


def _shown(audit: WordAudit, classes: Sequence[str], masked: bool) -> Iterator[AttackedTexts]:
    """Word attacks with their examples and what carries them, and noise with its examples; originals only."""
    for subject, by_attack in audit.attacked.items():
        for attack, attacked in by_attack.items() if subject not in audit.names else ():
            examples = audit.shown.get(subject, {}).get(attack)
            table = None if examples is None else collect(examples, None)
            yield AttackedTexts(subject, attack, classes, table, collect(attacked, _CARRIERS), masked)
    for subject, by_noise in audit.noised.items():
        for attack in by_noise:
            examples = audit.shown.get(subject, {}).get(attack)
            if examples is not None:
                yield AttackedTexts(subject, attack, classes, collect(examples, None), None, masked)
