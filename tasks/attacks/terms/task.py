"""Attacks on terms as stages: sentences are attacked once for all subjects, entities are matched where they lie,
and taggers and scorers are measured and compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from assay.data.schemas import EntityMatches, Findings, Samples, Scored, Tagged, TermChanges
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, map_partitions, reduce_partitions, tally_of
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.attacks.table import TERM_ATTACKS
from assay.tasks.attacks.terms.changes import CHANGED
from assay.tasks.attacks.terms.measures import (
    CLEAN,
    HELPS,
    LOWER,
    TOO_FEW,
    Key,
    Stage,
    cut_finding,
    keys_of,
    known_entities,
    match_rows,
    scorer_findings,
    tagger_findings,
    trained_findings,
)
from assay.tasks.attacks.terms.perturbing import ResolvedAttack, SentenceColumns, attacked_rows
from assay.tasks.statistics.classification import Groups
from assay.tasks.statistics.findings import Finding, FindingIndex, findings_table
from assay.tasks.statistics.groups import GROUP, group_sizes, groups_of_ids
from assay.tasks.statistics.settings import Statistics
from assay.tasks.subjects.holding_out import DOCUMENT, in_documents


class Perturbed(NamedTuple):
    """The attacked samples, in the order and with the columns of the originals, and what became of every term."""

    samples: Artifact[Samples]
    changes: Artifact[TermChanges]


@stage(version=2, title="terms", draws=True)
def perturb_terms(
    samples: Artifact[Samples], attacks: Sequence[ResolvedAttack], sentences: SentenceColumns, reach: float = 1.0
) -> Perturbed:
    """The samples under an attack; of several, each sample draws one. `reach` is the share that is attacked at all."""
    perturbed = Perturbed(
        *map_partitions(
            attacked_rows,
            samples,
            into=(Samples, TermChanges),
            attacks=list(attacks),
            sentences=sentences,
            seeds=stage_seeds(),
            reach=reach,
        )
    )
    counted = tally_of(perturbed.samples) or tally_of(perturbed.changes)
    outcomes, untagged = counted.get("outcomes", {}), counted.get("untagged", 0)
    if untagged and untagged == samples.rows:
        raise InputError(
            f"None of the {untagged} sentences has tags in {sentences.tags!r}, so that nobody can say what an attack "
            "does to them; bring tagged sentences, or name their column with the subject's `tags`."
        )
    named = " or ".join(dict.fromkeys(TERM_ATTACKS.of(attack.settings).word for attack in attacks))
    changed = f"{outcomes.get(CHANGED, 0)} of {counted.get('terms', 0)} terms changed"
    rest = [f"{outcome} {count}" for outcome, count in sorted(outcomes.items()) if outcome != CHANGED]
    rest += [f"{untagged} sentences without tags stay"] if untagged else []
    say(" · ".join([f"{named}, {attacks[0].settings.group}: {changed}", *rest]))
    return perturbed


@stage(version=1, title="entities")
def match_entities(
    tagged: Artifact[Tagged],
    original: Artifact[Samples],
    training: Artifact[Samples] | None,
    sentences: SentenceColumns,
) -> Artifact[EntityMatches]:
    """Per sentence, which of its entities were found; `original` are the same sentences before any attack.

    `training` is what the tagger learned from; None where it came trained, and nobody knows what it has seen.
    """
    assert sentences.tags is not None
    known: frozenset[str] | None = None
    if training is not None:
        forms = reduce_partitions(known_entities, training, tokens=sentences.words, tags=sentences.tags)
        known = forms.get("forms") or frozenset()
    matches = map_partitions(
        match_rows, tagged, original, into=EntityMatches, tokens=sentences.words, tags=sentences.tags, known=known
    )
    cut = tally_of(matches).get("cut", 0)
    say(f"{matches.rows} sentences" + (f" · {cut} longer than it reads, and cut" if cut else ""))
    return matches


@stage(version=6, title="ner", draws=True)
def measure_tagger(
    matches: Mapping[str, Artifact[EntityMatches]], subject: str, statistics: Statistics, samples: Artifact[Samples]
) -> Artifact[Findings]:
    """The findings about one tagger; `matches` are called `clean|` and `attack|severity`. What is resampled are the
    documents of the `samples`, or what else their source says is independent."""
    tables = _tables(matches)
    groups = _groups(tables, samples, tagged=True)
    findings = tagger_findings(tables, subject, statistics.significance, stage_seeds(), groups)
    return _measured("ner", findings, matches, subject)


@stage(version=4, title="ner gains", draws=True)
def compare_taggers(
    before: Mapping[str, Artifact[EntityMatches]],
    after: Mapping[str, Artifact[EntityMatches]],
    subject: str,
    trained_on: Sequence[str],
    samples: Artifact[Samples],
    control: Mapping[str, Artifact[EntityMatches]] | None = None,
) -> Artifact[Findings]:
    """What a tagger gained by training on attacked copies, on every set that both were tested on; over the subject as
    it was, and over the `control` that learned from unchanged copies."""
    return _compared("ner", before, after, subject, trained_on, samples, control)


@stage(version=4, title="sts", draws=True)
def measure_scorer(
    scored: Mapping[str, Artifact[Scored]], subject: str, samples: Artifact[Samples]
) -> Artifact[Findings]:
    """The findings about one scorer of pairs; `scored` are called `clean|` and `attack|severity`."""
    tables = _tables(scored)
    return _measured("sts", scorer_findings(tables, subject, stage_seeds(), _groups(tables, samples)), scored, subject)


@stage(version=4, title="sts gains", draws=True)
def compare_scorers(
    before: Mapping[str, Artifact[Scored]],
    after: Mapping[str, Artifact[Scored]],
    subject: str,
    trained_on: Sequence[str],
    samples: Artifact[Samples],
    control: Mapping[str, Artifact[Scored]] | None = None,
) -> Artifact[Findings]:
    """What a scorer gained by training on attacked copies, on every set that both were tested on; over the subject as
    it was, and over the `control` that learned from unchanged copies."""
    return _compared("sts", before, after, subject, trained_on, samples, control)


Named = Mapping[str, Artifact[Any]]
"""What was matched of a tagger, or said by a scorer, by `attack|severity`."""


def _measured(stage: Stage, findings: list[Finding], named: Named, subject: str) -> Artifact[Findings]:
    """The findings with how many samples of every set were longer than the subject reads."""
    findings += [
        cut_finding(stage, key, subject, artifact.rows, **tally_of(artifact))
        for key, artifact in zip(keys_of(list(named)), named.values(), strict=True)
    ]
    say(_drops(stage, subject, findings))
    return write_table(findings_table(findings), into=Findings)


def _compared(
    stage: Stage,
    before: Named,
    after: Named,
    subject: str,
    trained_on: Sequence[str],
    samples: Artifact[Samples],
    control: Named | None,
) -> Artifact[Findings]:
    first, second = _tables(before), _tables(after)
    groups = _groups(second, samples, tagged=stage == "ner")
    beside = None if control is None else _tables(control)
    findings = trained_findings(stage, first, second, subject, trained_on, stage_seeds(), groups, beside)
    index = FindingIndex(findings)
    gains, beyond = (
        [gain.verdict == HELPS for gain in index.select(f"{stage}.{name}") if gain.of != CLEAN]
        for name in ("gain", "gain_over_control")
    )
    sentence = f"{subject} · helps on {sum(gains)} of {len(gains)} attacked sets"
    say(f"{sentence} · beyond its control on {sum(beyond)} of {len(beyond)}" if beyond else sentence)
    return write_table(findings_table(findings), into=Findings)


def _tables(named: Named) -> dict[Key, pa.Table]:
    return dict(zip(keys_of(list(named)), (collect(artifact, None) for artifact in named.values()), strict=True))


def column_of_units(samples: Artifact[Samples], *, tagged: bool) -> str | None:
    """The column of what is independent: that of `source.group`; of tagged sentences, where there is none, their
    documents, if these are several of several sentences. None where samples are independent."""
    if group_sizes(samples) is not None:
        return GROUP
    documents = group_sizes(samples, DOCUMENT) if tagged else None
    return None if documents is None or not in_documents(range(len(documents)), samples.rows) else DOCUMENT


def _groups(tables: Mapping[Key, pa.Table], samples: Artifact[Samples], *, tagged: bool = False) -> Groups:
    """What each sample belongs to, in the order of the tables."""
    column = column_of_units(samples, tagged=tagged)
    return None if column is None else groups_of_ids(samples, next(iter(tables.values()))["id"].to_pylist(), column)


def _drops(stage: Stage, subject: str, findings: list[Finding]) -> str:
    value, unit, what = ("ner.f1", "F1", "sentences") if stage == "ner" else ("sts.pearson", "r", "pairs")
    index = FindingIndex(findings)
    clean = index.get(value, subject, CLEAN)
    drops = index.select(f"{stage}.drop")
    lower = sum(drop.verdict == LOWER for drop in drops)
    collapsed = sum(score.of != CLEAN and score.degenerate for score in index.select(value))
    shown = "not measured" if clean is None else f"{unit} {clean.value:.3f}"
    fallen = f", collapsed on {collapsed}" if collapsed else ""
    few = bool(drops) and all(drop.verdict == TOO_FEW for drop in drops)
    outcome = f"too few {what} to tell a drop" if few else f"lower on {lower} of {len(drops)} attacked sets"
    return f"{subject} · {shown}" + (f" · {outcome}{fallen}" if drops else "")
