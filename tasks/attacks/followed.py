"""What attacks on images follow over the nights: what the strongest leaves right of each subject."""

from __future__ import annotations

from collections.abc import Iterator

from assay.tasks.attacks.page_findings import AttackFindings, eps_text, eps_value
from assay.tasks.reporting.following import Headline, headline_of, sliced
from assay.tasks.statistics.findings import FindingIndex


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject the lowest accuracy at the ε that tells most; at every other ε too, but only to be looked back on.

    Which ε tells most may be another tomorrow; its trend then has its past.
    """
    attack_findings = AttackFindings(findings)
    telling = attack_findings.at_common()
    for subject in attack_findings.subjects:
        for group in attack_findings.grid(subject):
            if eps_value(group) > 0:
                name = sliced("Accuracy under the strongest attack", subject, f"ε = {eps_text(group)}")
                spare = subject not in telling or group != telling[subject].group
                yield from headline_of(name, attack_findings.lowest(subject, group), spare=spare)
