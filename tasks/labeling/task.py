"""Labelling as stages: rules vote on every partition, votes that came as a table are taken, and both are summed up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from assay.data.schemas import Classes, Findings, LabelingTable, Samples, Votes, class_names
from assay.infra.errors import InputError, first_named
from assay.infra.stages.exact import Least
from assay.infra.stages.partitions import Reuse, Tallied, collect, map_partitions, reduce_partitions, tally_of
from assay.infra.stages.stage import say, stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.labeling.rulebook_source import RulebookReference, WrittenRulebook, class_codes, recode
from assay.tasks.labeling.settings import Labeling
from assay.tasks.labeling.summary import LabelingCounts, count_votes, labeling_counts, labeling_findings, labeling_table
from assay.tasks.labeling.voting import apply_rules
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.findings import findings_table
from assay.tasks.statistics.vote_counts import functions_of

AnyRulebook = RulebookReference | WrittenRulebook
_NAMED = 3  # functions in a line of the terminal


class LabelingSummary(NamedTuple):
    """What labelling came to: one row per function, and the findings."""

    table: Artifact[LabelingTable]
    findings: Artifact[Findings]


@stage(version=2, title="label")
def apply_labeling_functions(
    samples: Artifact[Samples], rulebook: AnyRulebook, classes: Artifact[Classes], settings: Labeling
) -> Artifact[Votes]:
    """The votes of every labelling function on every sample, in the pipeline's class codes."""
    book = rulebook.load()
    codes = class_codes(book.name, book.classes, class_names(collect(classes, None)))
    patience = faults_allowed(settings.fault_limit, samples.rows)
    reuse = Reuse(bounds=frozenset({"patience"}))  # what was voted before is held against the limit below
    votes = map_partitions(vote_on, samples, into=Votes, reuse=reuse, rulebook=rulebook, codes=codes, patience=patience)
    faults = faults_of(votes)
    _check_faults(faults, samples.rows, settings.fault_limit)
    failed = f" · {sum(count for count, _ in faults.values())} faults in {', '.join(sorted(faults))}" if faults else ""
    say(f"{len(book.rules)} rules voted on {votes.rows} samples{failed}")
    return votes


@stage(version=1, title="take votes")
def take_votes(samples: Artifact[Samples]) -> Artifact[Votes]:
    """The votes that came with the samples: every int8 column, in the order of the source."""
    votes = map_partitions(votes_in, samples, into=Votes, reuse=Reuse())
    say(f"{len(tally_of(votes)['functions'].value)} columns of votes on {votes.rows} samples")
    return votes


@stage(version=1, title="rules")
def summarize_labeling(
    votes: Artifact[Votes], samples: Artifact[Samples], classes: Artifact[Classes]
) -> LabelingSummary:
    """The table of labelling functions and the findings, from counts that add up over partitions."""
    names = class_names(collect(classes, None))
    merged = reduce_partitions(count_partition, votes, samples, reuse=Reuse(), classes=len(names))
    counts = labeling_counts(merged.pop("functions").value, merged)
    if counts.samples and not counts.covered:
        raise InputError(
            f"{plural(len(counts.functions), 'labelling function')} ({', '.join(counts.functions[:5])}) abstain on all "
            f"{counts.samples} samples, so nothing can be labelled: do they look at the right columns, and is -1 meant?"
        )
    faults = faults_of(votes)
    say(_in_words(counts))
    table = write_table(labeling_table(counts, names, faults), into=LabelingTable)
    findings = labeling_findings(counts, sum(count for count, _ in faults.values()))
    return LabelingSummary(table, write_table(findings_table(findings), into=Findings))


def vote_on(samples: pa.Table, rulebook: AnyRulebook, codes: tuple[int, ...], patience: int) -> Tallied:
    """One partition's votes, with the faults of the rules that raised as a tally."""
    book = rulebook.load()
    with rulebook.at_work():
        votes, faults = apply_rules(samples, book, patience)
    tally: dict[str, object] = {
        "faults": {name: fault.count for name, fault in faults.items()},
        "examples": {name: Least((fault.sample, fault.message)) for name, fault in faults.items()},
    }
    return Tallied(recode(votes, codes), tally)


def votes_in(samples: pa.Table) -> Tallied:
    """One partition's votes where the samples are a table of votes, with the functions' names as a tally."""
    columns = [field.name for field in samples.schema if field.type == pa.int8()]
    if not columns:
        raise InputError(
            f"The source holds no column of votes; its columns are {', '.join(samples.column_names)}. Votes are whole "
            "numbers: a class, or -1 to abstain."
        )
    return Tallied(samples.select(["id", *columns]), {"functions": Least(tuple(columns))})


def count_partition(votes: pa.Table, samples: pa.Table, classes: int) -> dict[str, object]:
    """One partition's counts for the table of labelling functions, and the functions' names."""
    return {"functions": Least(functions_of(votes)), **count_votes(votes, samples.column("gold"), classes)}


def faults_of(votes: Artifact[Votes]) -> dict[str, tuple[int, str]]:
    """Per function that raised: on how many samples, and what it said on the one with the smallest id."""
    tally: Mapping[str, Mapping[str, Any]] = tally_of(votes) or {}
    counts, examples = tally.get("faults", {}), tally.get("examples", {})
    return {name: (count, "sample {}: {}".format(*examples[name].value)) for name, count in counts.items() if count > 0}


def faults_allowed(limit: float, samples: int) -> int:
    """On how many samples a labelling function may raise; a limit of 29 % of 100 is 29, whatever floats make of it.

    >>> faults_allowed(0.29, 100), faults_allowed(0.01, 569)
    (29, 5)
    """
    return math.floor(limit * samples + 1e-9)


def _check_faults(faults: Mapping[str, tuple[int, str]], samples: int, limit: float) -> None:
    worst = max(faults, key=lambda name: (faults[name][0], name), default=None)
    if worst is None or faults[worst][0] <= faults_allowed(limit, samples):
        return
    count, example = faults[worst]
    raise InputError(
        f"The labelling function {worst} raised on {count} of {samples} samples, more than the fault limit of "
        f"{limit:.1%}; on {example}. Mend the rule, or raise labeling.fault_limit."
    )


def _in_words(counts: LabelingCounts) -> str:
    n = max(counts.samples, 1)
    covered, conflicted = counts.covered / n, counts.conflicted / n
    cast = counts.votes.sum(axis=1).tolist()
    silent = [name for name, votes in zip(counts.functions, cast, strict=True) if not votes]
    votes = "votes" if len(silent) == 1 else "vote"
    never = f" · {len(silent)} never {votes} ({first_named(silent, _NAMED)})" if silent else ""
    return f"{len(counts.functions)} rules · coverage {covered:.0%} · conflicts {conflicted:.0%}{never}"
