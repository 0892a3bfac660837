"""How samples without a split column are told apart: by document, by groups of pairs, or one by one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa

from assay.data.schemas import Samples
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect, first_rows, map_partitions, reduce_partitions
from assay.infra.runs import current_run
from assay.tasks.reporting.numerals import integer, plural
from assay.tasks.statistics.groups import GROUP
from assay.tasks.subjects.grouping import (
    DOCUMENT,
    Marks,
    are_words,
    choose_groups,
    documents_in,
    groups_in,
    in_documents,
    shared_texts,
    text_marks,
)
from assay.tasks.subjects.settings import Evaluation


@dataclass(frozen=True)
class Parted:
    """The columns by whose hash samples are told apart, the audited texts where groups were drawn, and the words."""

    content: tuple[str, ...]
    texts: Marks | None = None
    note: str = ""


def parting(
    samples: Artifact[Samples], settings: Evaluation, columns: Collection[str], content: tuple[str, ...]
) -> Parted:
    """What is held out together; where nobody knows what belongs together, a notice says so."""
    if GROUP in columns:
        groups = reduce_partitions(groups_in, samples)["groups"]
        return Parted((GROUP,), note=f" · {plural(len(groups), 'group')} held together")
    if content == ("image",) or not content:
        return Parted(content)
    if DOCUMENT in columns and DOCUMENT not in content:
        merged = reduce_partitions(documents_in, samples)
        if in_documents(merged["documents"], samples.rows):
            return Parted((DOCUMENT,), note=f" · {integer(len(merged['documents']))} documents held together")
    if are_words(first_rows(samples, 1), content):
        current_run().notice(
            "No column `document` says which text a sentence is of, so sentences are held out one by one: those of one "
            "text can stand on both sides, and scores come out higher than on new texts. Give a split column, or "
            "`document`."
        )
        return Parted(content, note=" · sentences held out one by one, documents are not known")
    return _paired(samples, settings, content) if len(content) > 1 else Parted(content)


def shared_by_pairs(training: Artifact[Samples], evaluation: Artifact[Samples], content: tuple[str, ...]) -> str:
    """How many audited pairs share a sentence with a pair that trains, as the end of a line; empty where none does."""
    if len(content) < 2 or are_words(first_rows(evaluation, 1), content):
        return ""
    shared = shared_texts(*(_marks(side, content, name) for side, name in ((training, "train"), (evaluation, "test"))))
    if not shared:
        return ""
    sentence = f"{integer(shared)} of the {integer(evaluation.rows)} audited samples share a text with one that trains"
    current_run().notice(f"{sentence}: what is measured on them is no measure of new texts.")
    return f" · {sentence}"


def groups_on_both_sides(training: Artifact[Samples], evaluation: Artifact[Samples]) -> str:
    """How many groups the split column parts, as the end of a line; empty where it parts none."""
    sides = [reduce_partitions(groups_in, side)["groups"] for side in (training, evaluation)]
    parted = len(sides[0] & sides[1])
    if not parted:
        return ""
    sentence = f"{plural(parted, 'group')} of `source.group` stand on both sides of the split"
    current_run().notice(
        f"{sentence}: what is measured there is no measure of new ones. Mend the split, or leave it out."
    )
    return f" · {sentence}"


def _paired(samples: Artifact[Samples], settings: Evaluation, content: tuple[str, ...]) -> Parted:
    chosen = choose_groups(_marks(samples, content, "texts"), settings.holdout)
    if chosen.texts is not None:
        return Parted(content, chosen.texts, f" · in {integer(chosen.groups)} groups that share no text")
    return Parted(content, note=f" · {integer(chosen.largest)} samples hang together by their texts, and were parted")


def _marks(samples: Artifact[Samples], content: tuple[str, ...], name: str) -> pa.ChunkedArray:
    marks = map_partitions(text_marks, samples, into=Samples, name=f"marks_{name}", content=content)
    return collect(marks, ["texts"])["texts"]
