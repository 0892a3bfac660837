"""Adversarial training of texts as stages: attacked copies stand beside the samples that they were made from, and every
defended subject is held against its original, clean and under every attack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import AttackedTexts, Classes, Findings, Predictions, Samples, class_names
from assay.infra.errors import RunError
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partition_work import Tallied
from assay.infra.stages.partitions import collect, map_partitions, reduce_partitions, tally_of
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.attacks.texts.noise import (
    EVERY_KIND,
    NEWS,
    NOISE,
    ORIGINAL,
    SEVERITY,
    Answered,
    answers_under_noise,
    group_of,
)
from assay.tasks.defenses.comparison import (
    CLEAN,
    NONE,
    Answers,
    accuracy_findings,
    answers_to_texts,
    attacked_texts,
    class_gain_findings,
    gain_findings,
)
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.groups import groups_by_id
from assay.tasks.statistics.metrics import control_of
from assay.tasks.subjects.holding_out import with_values
from assay.tasks.subjects.predictions import codes_known
from assay.tasks.subjects.texts.rows import COPIED_FROM

SUFFIX = "+copy"


def ids_ending(samples: pa.Table, *, suffix: str) -> dict[str, int]:
    """How many ids of a partition end in `suffix`.

    >>> ids_ending(pa.table({"id": ["a", "a+copy"]}), suffix="+copy")
    {'taken': 1}
    """
    return {"taken": pc.sum(pc.ends_with(samples["id"], suffix)).as_py() or 0}


def joined_rows(original: pa.Table, copy: pa.Table, *, suffix: str, unchanged: bool = False) -> Tallied:
    """The originals of a partition and, after them, those copies that differ from their original in any column.

    A copy that is like its original (nobody attacked it, or no attack on it changed anything) would only count that
    sample twice: it is left out. `unchanged` puts each of those that stay back to what its original is: as many rows
    with the same ids in the same order, and nothing of the attack.

    >>> text = pa.table({"id": ["a", "b"], "text": ["good", "bad"]})
    >>> joined = joined_rows(text, text.set_column(1, "text", [["gpod", "bad"]]), suffix="+copy").result
    >>> joined["id"].to_pylist(), joined["text"].to_pylist(), joined["copied_from"].to_pylist()
    (['a', 'b', 'a+copy'], ['good', 'bad', 'gpod'], [None, None, 'a'])
    >>> again = joined_rows(text, text.set_column(1, "text", [["gpod", "bad"]]), suffix="+copy", unchanged=True).result
    >>> again["id"].to_pylist(), again["text"].to_pylist()
    (['a', 'b', 'a+copy'], ['good', 'bad', 'good'])
    """
    if original.column_names != copy.column_names or not original["id"].equals(copy["id"]):
        raise RunError(
            "Copies must be of the same samples in the same order, with the same columns as the originals: "
            f"{', '.join(original.column_names)} and {', '.join(copy.column_names)}."
        )
    pairs = zip(original.to_pylist(), copy.to_pylist(), strict=True)
    copies = (original if unchanged else copy).filter(pa.array([own != other for own, other in pairs], pa.bool_()))
    sources = copies["id"].cast(pa.string())
    called = pc.binary_join_element_wise(sources, suffix, "")
    named = copies.set_column(copies.schema.get_field_index("id"), "id", called)
    originals = original.append_column(COPIED_FROM, pa.nulls(original.num_rows, pa.string()))
    joined = pa.concat_tables([originals, named.append_column(COPIED_FROM, sources).cast(originals.schema)])
    return Tallied(joined, {"copies": copies.num_rows})


def rows_drawn(samples: pa.Table, *, share: float, part: int, parts: int, seeds: Seeds) -> pa.Table:
    """The rows that get an attacked copy: a `share` of all, and of those the ones that draw the `part` of `parts`.

    Every sample draws for itself: a larger share has all samples of a smaller one, and no sample is in two parts.
    """
    kept = []
    for sample in samples["id"].to_pylist():
        generator = seeds.generator(sample)
        kept.append(bool(generator.random() < share) and int(generator.integers(parts)) == part)
    return samples.filter(pa.array(kept, pa.bool_()))


def rows_with_texts(samples: pa.Table, *, text: str, changed: Mapping[str, str]) -> Tallied:
    """The samples with the texts of `changed` (by id) in place of their own, all others as they are, and how many are
    another text by that (`changed`).

    >>> samples = pa.table({"id": ["a", "b"], "text": ["good", "bad"]})
    >>> rewritten = rows_with_texts(samples, text="text", changed={"a": "gpod", "b": "bad"})
    >>> rewritten.result["text"].to_pylist(), rewritten.tally
    (['gpod', 'bad'], {'changed': 1})
    """
    pairs = list(zip(samples["id"].to_pylist(), samples[text].to_pylist(), strict=True))
    written = [changed.get(sample, before) for sample, before in pairs]
    others = sum(after != before for (_, before), after in zip(pairs, written, strict=True))
    return Tallied(with_values(samples, text, written), {"changed": others})


@stage(version=1, title="draw", draws=True)
def draw_samples(samples: Artifact[Samples], share: float, part: int = 0, parts: int = 1) -> Artifact[Samples]:
    """The training samples that one attack makes copies of: a share of all, spread over `parts` attacks by lot."""
    drawn = map_partitions(rows_drawn, samples, into=Samples, share=share, part=part, parts=parts, seeds=stage_seeds())
    say(f"{drawn.rows} of {samples.rows} samples")
    return drawn


@stage(version=1, title="copies")
def put_texts(
    samples: Artifact[Samples],
    text: str,
    attacked: Sequence[Artifact[AttackedTexts]] = (),
    noisy: Sequence[Artifact[Samples]] = (),
) -> Artifact[Samples]:
    """The samples with their attacked texts in place of their own; those that no attack changed stay as they are."""
    changed: dict[str, str] = {}
    tables = [(table, "attacked_text") for table in attacked] + [(table, text) for table in noisy]
    for table, column in tables:
        rows = collect(table, ["id", column])
        changed |= dict(zip(rows["id"].to_pylist(), rows[column].to_pylist(), strict=True))
    copies = map_partitions(rows_with_texts, samples, into=Samples, text=text, changed=changed)
    say(f"{tally_of(copies).get('changed', 0)} of {samples.rows} texts were changed by an attack")
    return copies


@stage(version=1, title="copies")
def join_samples(original: Artifact[Samples], copy: Artifact[Samples], unchanged: bool = False) -> Artifact[Samples]:
    """The samples and their attacked copies, to learn from both.

    `copy` holds the same samples in the same order with the same columns, attacked where an attack was made; a row that
    is like its original is left out. Copies get an id of their own (`…+copy`) and name their original in the column
    `copied_from`, which is null for originals. With `unchanged` the copies are what their originals are: what a control
    learns from, with as many samples and as many steps.
    """
    suffix = SUFFIX
    while reduce_partitions(ids_ending, original, suffix=suffix).get("taken", 0):
        suffix += "+"
    joined = map_partitions(joined_rows, original, copy, into=Samples, suffix=suffix, unchanged=unchanged)
    copies = tally_of(joined).get("copies", 0)
    alike = original.rows - copies
    how = " unchanged" if unchanged else ""
    say(f"{original.rows} samples and {copies}{how} copies" + (f" · {alike} are without one" if alike else ""))
    return joined


Noised = Mapping[str, Artifact[Predictions]]


@stage(version=8, title="defences")
def measure_text_defences(
    predictions: Mapping[str, Artifact[Predictions]],
    attacked: Mapping[str, Mapping[str, Artifact[AttackedTexts]]],
    noisy: Mapping[str, Artifact[Samples]],
    said: Mapping[str, Noised],
    samples: Artifact[Samples],
    classes: Artifact[Classes],
    name: str,
    significance: float,
    controlled: Mapping[str, Sequence[str]] | None = None,
    margin: float = 0.05,
) -> Artifact[Findings]:
    """The findings on one subject's defences: `defense.accuracy`, `defense.gain`, `defense.mcnemar_p`, and over a
    control `defense.gain_over_control`, `defense.control_mcnemar_p`.

    `predictions`, `attacked` (by attack) and `said` (of the `noisy` texts, by attack) go by the name of the defence,
    those of the undefended subject by `none`; `controlled` are the defences that have a control, with the attacks that
    made their copies.
    """
    names = class_names(collect(classes, None))
    known = collect(samples, ["id", "gold"])
    of_id = groups_by_id(samples)
    truth = dict(zip(known["id"].to_pylist(), codes_known(known, names).tolist(), strict=True))

    def answers_of(model: str) -> list[Answers]:
        clean = collect(predictions[model], ["id", "predicted"])
        said_clean = clean["predicted"].to_numpy().astype(np.int64)
        trials = [answers_to_texts(CLEAN, clean["id"].to_pylist(), said_clean, truth)]
        for called, table in attacked.get(model, {}).items():
            trials.append(attacked_texts(called, collect(table, ["id", "predicted", "attacked"]), truth))
        for called, predicted in said.get(model, {}).items():
            rows = collect(noisy[called], ["id", ORIGINAL, NOISE, SEVERITY, NEWS])
            said_noisy = answers_under_noise(rows, collect(predicted, ["id", "predicted"]), known)
            trials += _at_the_highest_severity(called, said_noisy, truth)
        return [given.grouped(of_id) for given in trials]

    answers = {model: answers_of(model) for model in predictions}
    findings = [
        finding for model in answers for finding in accuracy_findings(answers[model], model, name, names, "texts")
    ]
    attacks = {defence: made for defence, made in (controlled or {}).items() if defence in answers}
    controls = {control_of(defence) for defence in attacks}
    trials = {model: {trial.group: trial for trial in given} for model, given in answers.items()}
    for defence, after in trials.items():
        if defence == NONE:
            continue
        before, about = trials[NONE], Finding("defense.gain", of=defence, subject=name)
        # A control is there to be compared with: nothing is concluded of it.
        findings += gain_findings(before, after, about, () if defence in controls else after, significance)
        if defence not in controls:
            findings += class_gain_findings(before, after, defence, name, names, significance, margin)
        if defence in attacks and control_of(defence) in trials:
            own = [group for group, given in after.items() if given.attack in attacks[defence]]
            over = replace(about, metric="defense.gain_over_control")
            test = "defense.control_mcnemar_p"
            findings += gain_findings(trials[control_of(defence)], after, over, own, significance, test)
    say(f"{name} · {_concluded(findings)}")
    return write_table(findings_table(findings), into=Findings)


def _at_the_highest_severity(called: str, answers: Sequence[Answered], truth: Mapping[str, int]) -> Iterator[Answers]:
    """The answers to every kind of noise at the highest severity, and wrong where any kind made them wrong."""
    last = max(answer.condition.severity for answer in answers)
    ids, highest = list(truth), [answer for answer in answers if answer.condition.severity == last]
    for answer in highest:
        yield answers_to_texts(answer.condition.group, ids, answer.predicted, truth, attack=called)
    if len(highest) > 1:
        worst, right = highest[0].predicted, np.array(list(truth.values()))
        for answer in reversed(highest):  # so that of several wrong answers the first stands
            worst = np.where(answer.predicted != right, answer.predicted, worst)
        yield answers_to_texts(group_of(EVERY_KIND, last), ids, worst, truth, attack=called, given=False)


def _concluded(findings: Sequence[Finding]) -> str:
    """What was concluded of each defence, in a line; the run corrects its tests together afterwards."""
    over = {"defense.mcnemar_p": "", "defense.control_mcnemar_p": " beside its control"}
    tests = [finding for finding in findings if finding.metric in over and finding.group != CLEAN]
    conclusions = [f"{test.of} {test.verdict} on {test.group}{over[test.metric]}" for test in tests]
    return f"before Holm: {'; '.join(conclusions)}" if conclusions else "no attack to withstand"
