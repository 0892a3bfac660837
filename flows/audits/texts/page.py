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
    if any(audit.challenged.attacked.values()):
        yield page(findings, list(_shown(audit, classes, masked)))
    if audit.challenged.defended:
        yield copies_page(findings)


def _shown(audit: WordAudit, classes: Sequence[str], masked: bool) -> Iterator[AttackedTexts]:
    """Word attacks with their examples and what carries them, then noise with its examples; originals only."""
    attacks = [
        (subject, name, attack)
        for subject, by_attack in audit.challenged.attacked.items()
        if subject not in audit.challenged.copies
        for name, attack in by_attack.items()
    ]
    for subject, name, attack in attacks:
        if attack.attacked is not None:
            table = None if attack.shown is None else collect(attack.shown, None)
            yield AttackedTexts(subject, name, classes, table, collect(attack.attacked, _CARRIERS), masked)
    for subject, name, attack in attacks:
        if attack.noisy is not None and attack.shown is not None:
            yield AttackedTexts(subject, name, classes, collect(attack.shown, None), None, masked)
