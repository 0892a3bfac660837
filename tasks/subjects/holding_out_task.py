"""The stage that sets samples apart, images and texts alike: those that may train, and those that are audited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from assay.data.schemas import Samples
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.partitions import collect, map_partitions, reduce_partitions
from assay.infra.runs import current_run
from assay.infra.stage import say, stage
from assay.tasks.statistics.groups import GROUP
from assay.tasks.subjects.grouping_steps import Parted, groups_on_both_sides, parting, shared_by_pairs
from assay.tasks.subjects.holding_out import (
    Side,
    columns_of,
    content_columns,
    content_marks,
    first_audited,
    marks_among,
    require_splits,
    rows_as_they_are,
    rows_on_side,
    seated,
    splits_in,
)
from assay.tasks.subjects.settings import Evaluation

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
    columns = reduce_partitions(columns_of, samples)["columns"]
    content = content_columns(columns, texts)
    parted = Parted(content) if by_column else parting(samples, settings, columns, content)
    rule: dict[str, Any] = {
        "settings": settings,
        "by_column": by_column,
        "content": parted.content,
        "texts": parted.texts,
    }

    def side(which: Side, only: frozenset[str] | None = None) -> Artifact[Samples]:
        chosen: Artifact[Samples] = map_partitions(
            rows_on_side, samples, into=Samples, name=f"{which}_rows", side=which, only=only, **rule
        )
        if chosen.rows == 0:
            raise InputError(
                f"No sample is left for {which} out of {samples.rows}: look at `evaluation`, or bring more samples."
            )
        dense: Artifact[Samples] = map_partitions(rows_as_they_are, chosen, into=Samples, name=which, rows=ROWS)
        return dense

    only = None
    if settings.limit is not None:
        audited = reduce_partitions(first_audited, samples, limit=settings.limit, **rule)
        sizes, first = ({int(code): one for code, one in audited[name].items()} for name in ("sizes", "first"))
        only = seated(sizes, {code: one.values for code, one in first.items()}, settings.limit)
    held = HeldOut(side("training"), side("evaluation", only))
    how = f"split {settings.split}" if by_column else f"{settings.holdout:.0%} by hash"
    shared = _copies(held, content) + (groups_on_both_sides(*held) if by_column and GROUP in columns else "")
    say(f"{held.evaluation.rows} audited ({how}), {held.training.rows} may train{parted.note}{shared}")
    return held


def _copies(held: HeldOut, content: tuple[str, ...]) -> str:
    """How many audited samples hold what a training sample holds too, as the end of a line; empty where none does."""
    copies = copies_among(held.evaluation, [held.training], content)
    if not copies:
        return shared_by_pairs(held.training, held.evaluation, content)
    what = "are also" if copies > 1 else "is also"
    sentence = f"{copies} of the audited samples {what} among those that train, under another id"
    current_run().notice(f"{sentence}: what is measured on them is no measure of new samples. Mend the split.")
    return f" · {sentence}"


def copies_among(looked_at: Artifact[Samples], others: Sequence[Artifact[Samples]], content: tuple[str, ...]) -> int:
    """How many samples hold what one of the others holds; of those nothing comes here but which were found."""
    marked = map_partitions(content_marks, looked_at, into=Samples, name="content", content=content)
    marks, times = np.unique(collect(marked, ["content"])["content"].to_numpy(), return_counts=True)
    found = [reduce_partitions(marks_among, other, content=content, marks=marks).places for other in others]
    return int(times[np.unique(np.concatenate(found))].sum())
