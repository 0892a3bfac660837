"""What is read first of a run: its lines of verdict, and the numbers that are followed over the nights."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.reporting.following import Headline, followed_by
from assay.tasks.reporting.headline import headline
from assay.tasks.reporting.parts import Verdict
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.statistics.gates import GateResult


def verdicts_of(findings: FindingIndex, gates: Sequence[GateResult]) -> tuple[Verdict, ...]:
    """What a person reads first, in the terminal and at the head of the page."""
    from assay.tasks.attacks.page import verdict as of_the_attacks
    from assay.tasks.attacks.terms.page import verdict as of_the_terms
    from assay.tasks.attacks.words.page import verdict as of_text_attacks
    from assay.tasks.corruptions.page import verdict as of_the_corruptions
    from assay.tasks.defenses.page import verdict as of_the_defences
    from assay.tasks.defenses.text_page import verdict as of_attacked_copies
    from assay.tasks.ordering.page import verdict as of_the_order
    from assay.tasks.overfitting.page import verdict as of_the_score
    from assay.tasks.reporting.gates import verdict as of_the_gates
    from assay.tasks.subjects.clean_page import verdict as of_clean_samples
    from assay.tasks.subjects.page import verdict as of_the_subjects
    from assay.tasks.trust.page import verdict as of_the_oracle

    return headline(
        findings,
        of_the_order,
        of_the_subjects,
        of_clean_samples,
        of_the_attacks,
        of_the_corruptions,
        of_the_defences,
        of_the_oracle,
        of_the_terms,
        of_text_attacks,
        of_attacked_copies,
        of_the_score,
        lambda _findings: of_the_gates(gates),
    )


def followed_in(findings: FindingIndex) -> tuple[Headline, ...]:
    """What each room follows over the nights, in the order of a reader's interest."""
    from assay.tasks.attacks.followed import followed as of_attacks
    from assay.tasks.attacks.terms.followed import followed as of_terms
    from assay.tasks.attacks.words.followed import followed as of_words
    from assay.tasks.corruptions.followed import followed as of_corruptions
    from assay.tasks.defenses.followed import followed as of_defences
    from assay.tasks.labeling.followed import followed as of_labelling
    from assay.tasks.ordering.followed import followed as of_the_order
    from assay.tasks.overfitting.followed import followed as of_overfitting
    from assay.tasks.pruning.followed import followed as of_pruning
    from assay.tasks.subjects.followed import followed as of_subjects
    from assay.tasks.trust.followed import followed as of_trust

    return followed_by(
        findings,
        of_the_order,
        of_subjects,
        of_attacks,
        of_defences,
        of_corruptions,
        of_words,
        of_terms,
        of_trust,
        of_overfitting,
        of_labelling,
        of_pruning,
    )
