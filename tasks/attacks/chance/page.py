"""Chance in sentences: what changes by itself, and what attacks and other prompts change beyond that."""

from __future__ import annotations

from collections.abc import Iterator

from assay.tasks.attacks.chance.flips import MORE
from assay.tasks.reporting.estimates import share_text
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.findings import Finding, FindingIndex


def beyond_chance(findings: FindingIndex, about: Finding) -> str:
    """How much oftener answers change so than by themselves, where a service was asked again; else nothing."""
    above = findings.get("attack.above_chance", about.subject, about.of, about.group)
    if above is None:
        return ""
    verdict = above.verdict.replace("no more", "not shown to be more")
    return f"; beyond what {about.subject} changes by itself {share_text(above)}: {verdict}"


def by_chance(findings: FindingIndex) -> Iterator[str]:
    """Of services that were asked again: how often answers change by themselves, and which attacks change more."""
    for floor in findings.select("attack.flips_by_chance"):
        above = findings.select("attack.above_chance", subject=floor.subject)
        more = [each for each in above if each.verdict == MORE]
        named = ", ".join(f"{each.of}{_on(each.group)} {share_text(each)}" for each in more)
        beyond = (
            f" Beyond that, attacks change: {named}." if named else " No attack is shown to change more." * bool(above)
        )
        corrupted = findings.get("corruption.above_chance", floor.subject, "mean", "all")
        if corrupted is not None:
            beyond += f" From frame to frame of corruptions {share_text(corrupted)} more: {corrupted.verdict}."
        yield (
            f"Asked again about the same {plural(floor.n or 0, 'sample')}, {floor.subject} changes "
            f"{share_text(floor)} of its answers.{beyond.replace('no more', 'not shown to be more')}"
        )


def _on(group: str) -> str:
    """The group of an attack in brackets.

    >>> _on("typos, severity=3"), _on("")
    (' (typos at severity 3)', '')
    """
    return f" ({group.replace(', severity=', ' at severity ')})" if group else ""


def put_otherwise(findings: FindingIndex) -> Iterator[str]:
    """Of questions that were put otherwise: how many answers depend on it, and whether that is more than chance."""
    for depends in findings.select("attack.depends"):
        yield (
            f"How the question is put ({depends.of}) decides {share_text(depends)} of the answers of {depends.subject} "
            f"to {plural(depends.n or 0, 'text')}{beyond_chance(findings, depends)}."
        )
