"""The stages that set samples apart: those that may train, those that are audited, and those that teach weak
labels.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import Classes, Findings, Samples, WeakLabels, class_names
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, columns_in, first_rows, map_partitions, reduce_partitions
from assay.infra.stages.runs import current_run
from assay.infra.stages.stage import say, stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.reporting.numerals import integer, plural
from assay.tasks.statistics.findings import findings_table
from assay.tasks.statistics.groups import GROUP
from assay.tasks.statistics.proportions import share
from assay.tasks.subjects.holding_out import (
    DOCUMENT,
    Rule,
    Side,
    are_words,
    choose_groups,
    content_columns,
    content_marks,
    first_audited,
    in_documents,
    marks_among,
    names_in,
    require_splits,
    rows_as_they_are,
    rows_on_side,
    seated,
    shared_texts,
    splits_in,
    text_marks,
)
from assay.tasks.subjects.settings import Evaluation

Codes = npt.NDArray[np.int16]
NONE = -1


def weak_codes(ids: pa.ChunkedArray, labels: pa.Table) -> Codes:
    """The weak label of each sample, −1 where it has none or the votes were undecided.

    >>> labels = pa.table({"id": ["a", "b"], "label": pa.array([1, 0], pa.int16()), "undecided": [False, True]})
    >>> weak_codes(pa.chunked_array([["b", "c", "a"]]), labels).tolist()
    [-1, -1, 1]
    """
    decided = labels.filter(pc.invert(labels["undecided"]))
    places = pc.index_in(ids, value_set=decided["id"].combine_chunks())
    return np.asarray(pc.fill_null(decided["label"].take(places), NONE).to_numpy().astype(np.int16))


def weakly_labelled_rows(samples: pa.Table, codes: Codes) -> pa.Table:
    """The samples of a partition that have a decided weak label, which stands where gold stood."""
    at = samples.column_names.index("gold")
    return samples.set_column(at, pa.field("gold", pa.int16()), pa.array(codes)).filter(pa.array(codes != NONE))


def holdout_units(
    samples: Artifact[Samples], settings: Evaluation, columns: Collection[str], content: tuple[str, ...]
) -> tuple[Rule, str]:
    """What is held out together, and that in words; where nobody knows what belongs together, a notice says so."""
    if GROUP in columns:
        groups = reduce_partitions(names_in, samples, column=GROUP)["names"]
        return Rule(settings, False, (GROUP,)), f" · {plural(len(groups), 'group')} held together"
    if content == ("image",) or not content:
        return Rule(settings, False, content), ""
    if DOCUMENT in columns and DOCUMENT not in content:
        documents = reduce_partitions(names_in, samples, column=DOCUMENT)["names"]
        if in_documents(documents, samples.rows):
            return Rule(settings, False, (DOCUMENT,)), f" · {integer(len(documents))} documents held together"
    if are_words(first_rows(samples, 1), content):
        current_run().notice(
            "No column `document` says which text a sentence is of, so sentences are held out one by one: those of one "
            "text can stand on both sides, and scores come out higher than on new texts. Give a split column, or "
            "`document`."
        )
        return Rule(settings, False, content), " · sentences held out one by one, documents are not known"
    if len(content) == 1:
        return Rule(settings, False, content), ""
    chosen = choose_groups(_marks(samples, content, "texts"), settings.holdout)
    if chosen.texts is None:
        parted = f" · {integer(chosen.largest)} samples hang together by their texts, and were parted"
        return Rule(settings, False, content), parted
    return Rule(settings, False, content, chosen.texts), f" · in {integer(chosen.groups)} groups that share no text"


def shared_by_pairs(training: Artifact[Samples], evaluation: Artifact[Samples], content: tuple[str, ...]) -> str:
    """How many audited pairs share a sentence with a pair that trains, as the end of a line; empty where none does."""
    if len(content) < 2 or are_words(first_rows(evaluation, 1), content):
        return ""
    shared = shared_texts(*(_marks(side, content, name) for side, name in ((training, "train"), (evaluation, "test"))))
    if not shared:
        return ""
    sentence = f"{integer(shared)} of the {integer(evaluation.rows)} audited samples share a text with one that trains"
    return noticed(sentence, "what is measured on them is no measure of new texts.")


def noticed(sentence: str, advice: str) -> str:
    """The sentence as the end of a stage's line; with the advice it is a notice of the run, too."""
    current_run().notice(f"{sentence}: {advice}")
    return f" · {sentence}"


def groups_on_both_sides(training: Artifact[Samples], evaluation: Artifact[Samples]) -> str:
    """How many groups the split column parts, as the end of a line; empty where it parts none."""
    sides = [reduce_partitions(names_in, side, column=GROUP)["names"] for side in (training, evaluation)]
    parted = len(sides[0] & sides[1])
    if not parted:
        return ""
    sentence = f"{plural(parted, 'group')} of `source.group` stand on both sides of the split"
    return noticed(sentence, "what is measured there is no measure of new ones. Mend the split, or leave it out.")


def _marks(samples: Artifact[Samples], content: tuple[str, ...], name: str) -> pa.ChunkedArray:
    marks = map_partitions(text_marks, samples, into=Samples, name=f"marks_{name}", content=content)
    return collect(marks, ["texts"])["texts"]


ROWS = 128  # of a partition that networks work on: small, since each image is worked on for long


class HeldOut(NamedTuple):
    """The samples that may train, and those that are audited; none is in both."""

    training: Artifact[Samples]
    evaluation: Artifact[Samples]


@stage(version=2, title="hold out")
def hold_out(samples: Artifact[Samples], settings: Evaluation, texts: Sequence[str] = ("text",)) -> HeldOut:
    """The samples apart, by their column `split` or else by a hash of what they hold, in partitions of few rows.

    What they hold is the image, or else the columns of `texts`: copies under several ids are on one side, and so are
    samples that share one of several texts, a document, or the group of `source.group`. A split column is obeyed, and
    if it parts copies or groups, the stage says how many.
    """
    by_column = require_splits(reduce_partitions(splits_in, samples, settings=settings)["splits"], settings)
    columns = frozenset(columns_in(samples))
    content = content_columns(columns, texts)
    plain = Rule(settings, True, content), ""
    rule, note = plain if by_column else holdout_units(samples, settings, columns, content)

    def side(which: Side, only: frozenset[str] | None = None) -> Artifact[Samples]:
        chosen = map_partitions(
            rows_on_side, samples, into=Samples, name=f"{which}_rows", side=which, only=only, rule=rule
        )
        if chosen.rows == 0:
            raise InputError(
                f"No sample is left for {which} out of {samples.rows}: look at `evaluation`, or bring more samples."
            )
        return map_partitions(rows_as_they_are, chosen, into=Samples, name=which, rows=ROWS)

    only = None
    if settings.limit is not None:
        audited = reduce_partitions(first_audited, samples, limit=settings.limit, rule=rule)
        sizes, first = ({int(code): counted for code, counted in audited[name].items()} for name in ("sizes", "first"))
        only = seated(sizes, {code: smallest.values for code, smallest in first.items()}, settings.limit)
    held = HeldOut(side("training"), side("evaluation", only))
    named = f"split {settings.split}" if settings.since is None else f"{settings.column} from {settings.since} on"
    how = named if by_column else f"{settings.holdout:.0%} by hash"
    shared = _copies(held, content) + (groups_on_both_sides(*held) if by_column and GROUP in columns else "")
    say(f"{held.evaluation.rows} audited ({how}), {held.training.rows} may train{note}{shared}")
    return held


def _copies(held: HeldOut, content: tuple[str, ...]) -> str:
    """How many audited samples hold what a training sample holds too, as the end of a line; empty where none does."""
    copies = copies_among(held.evaluation, [held.training], content)
    if not copies:
        return shared_by_pairs(held.training, held.evaluation, content)
    what = "are also" if copies > 1 else "is also"
    sentence = f"{copies} of the audited samples {what} among those that train, under another id"
    return noticed(sentence, "what is measured on them is no measure of new samples. Mend the split.")


def copies_among(looked_at: Artifact[Samples], others: Sequence[Artifact[Samples]], content: tuple[str, ...]) -> int:
    """How many samples hold what one of the others holds; of those nothing comes here but which were found."""
    marked = map_partitions(content_marks, looked_at, into=Samples, name="content", content=content)
    marks, times = np.unique(collect(marked, ["content"])["content"].to_numpy(), return_counts=True)
    shared = [reduce_partitions(marks_among, other, content=content, marks=marks).places for other in others]
    return int(times[np.unique(np.concatenate(shared))].sum())


@stage(version=1, title="weak lessons")
def take_weak_lessons(
    training: Artifact[Samples], labels: Artifact[WeakLabels], classes: Artifact[Classes]
) -> Artifact[Samples]:
    """The training samples that have a decided weak label, with it in the place of gold."""
    codes = weak_codes(collect(training, ["id"])["id"], collect(labels, ["id", "label", "undecided"]))
    names, known = class_names(collect(classes, None)), np.unique(codes[codes != NONE])
    if len(known) < 2:
        lack = f"all say {names[known[0]]!r}" if len(known) else "none is decided"
        raise InputError(
            f"A subject is to learn from the weak labels of {training.rows} training samples, and {lack}: a classifier "
            "needs two classes at least. Write rules for the others, or set `train_on: gold`."
        )
    rows = map_partitions(weakly_labelled_rows, training, into=Samples, name="taught_rows", aligned={"codes": codes})
    taught = map_partitions(rows_as_they_are, rows, into=Samples, rows=ROWS)
    say(f"{taught.rows} of {training.rows} training samples have a decided label")
    return taught


@stage(version=1, title="lessons")
def measure_weak_lessons(training: Artifact[Samples], labels: Artifact[WeakLabels], name: str) -> Artifact[Findings]:
    """How many training samples a subject learns from, and how many of its lessons gold confirms."""
    known = collect(training, ["id", "gold"])
    gold = pc.fill_null(known["gold"], NONE).to_numpy().astype(np.int16)
    codes = weak_codes(known["id"], collect(labels, ["id", "label", "undecided"]))
    teaches = codes != NONE
    judged, right = int((teaches & (gold != NONE)).sum()), int((teaches & (gold == codes)).sum())
    taught = share("subject.taught", int(teaches.sum()), len(codes), of="weak", subject=name)
    rightly = share("subject.lessons_right", right, judged, of="weak", subject=name)
    confirmed = f", {right} of {judged} rightly by gold" if judged else ""
    say(f"{name} · taught by {int(teaches.sum())} of {len(codes)} samples{confirmed}")
    return write_table(findings_table([taught, rightly]), into=Findings)
