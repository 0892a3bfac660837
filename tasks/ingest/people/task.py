"""People's gold as a stage: their answers are read once, and settled where the samples lie."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from assay.data.answer_schemas import PeoplesAnswers
from assay.data.classes import class_names
from assay.data.schemas import Classes, Findings, Samples
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.partitions import collect, columns_in, map_partitions
from assay.infra.runs import current_run
from assay.infra.stage import say, stage, write_table
from assay.tasks.ingest.people.answers import CONFIRMED, NEW, OVERRULED, SKIPPED, TIED, UNANSWERED, require_classes
from assay.tasks.ingest.people.files import AnswerFiles
from assay.tasks.ingest.people.settling import answer_findings, settled_samples
from assay.tasks.statistics.findings import findings_table

_IN_WORDS = {
    NEW: "new",
    CONFIRMED: "as gold was",
    OVERRULED: "against gold",
    TIED: "tied",
    SKIPPED: "skipped",
    UNANSWERED: "unanswered",
}


class Settled(NamedTuple):
    """The samples with people's gold in them, what people said of each that they were asked about, and the findings."""

    samples: Artifact[Samples]
    answers: Artifact[PeoplesAnswers]
    findings: Artifact[Findings]


@stage(version=1, title="answers")
def settle_gold(samples: Artifact[Samples], classes: Artifact[Classes], answers: AnswerFiles) -> Settled:
    """The samples whose gold is what people answered, where they did."""
    names = class_names(collect(classes, None))
    if not names or "labels" in columns_in(samples):
        raise InputError(
            f"{answers.label} (gold) gives one class a sample, and these samples have several, or another truth; leave "
            "source.gold out."
        )
    said = answers.read()
    require_classes(said, names, answers.label)
    settled, kept = map_partitions(
        settled_samples, samples, into=(Samples, PeoplesAnswers), judged=said, classes=tuple(names)
    )
    table = collect(kept, None)
    counts = Counter(table["outcome"].to_pylist())
    elsewhere = len(said) - table.num_rows
    if elsewhere:
        current_run().notice(
            f"{elsewhere} of the {len(said)} samples that {answers.label} (gold) speaks of are not among tonight's; "
            "an answer finds its sample by its id."
        )
    given = sum(counts[one] for one in (NEW, CONFIRMED, OVERRULED))
    counted = ", ".join(f"{counts[one]} {words}" for one, words in _IN_WORDS.items() if counts[one])
    say(f"{given} samples have people's gold{f' ({counted})' if counted else ''}")
    return Settled(settled, kept, write_table(findings_table(answer_findings(table)), into=Findings))
