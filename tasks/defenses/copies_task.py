"""Adversarial training of texts as stages: attacked copies stand beside the samples that they were made from."""

from __future__ import annotations

from collections.abc import Sequence

from assay.data.schemas import Samples
from assay.data.word_schemas import AttackedTexts
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect, map_partitions, reduce_partitions, tally_of
from assay.infra.stage import say, stage, stage_seeds
from assay.tasks.defenses.copies import SUFFIX, ids_ending, joined_rows, rows_drawn, rows_with_texts


@stage(version=1, title="draw", draws=True)
def draw_samples(samples: Artifact[Samples], share: float, part: int = 0, parts: int = 1) -> Artifact[Samples]:
    """The training samples that one attack makes copies of: a share of all, spread over `parts` attacks by lot."""
    drawn: Artifact[Samples] = map_partitions(
        rows_drawn, samples, into=Samples, share=share, part=part, parts=parts, seeds=stage_seeds()
    )
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
    tables = [(one, "attacked_text") for one in attacked] + [(one, text) for one in noisy]
    for table, column in tables:
        rows = collect(table, ["id", column])
        changed |= dict(zip(rows["id"].to_pylist(), rows[column].to_pylist(), strict=True))
    copies: Artifact[Samples] = map_partitions(rows_with_texts, samples, into=Samples, text=text, changed=changed)
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
    joined: Artifact[Samples] = map_partitions(
        joined_rows, original, copy, into=Samples, suffix=suffix, unchanged=unchanged
    )
    copies = tally_of(joined).get("copies", 0)
    alike = original.rows - copies
    how = " unchanged" if unchanged else ""
    say(f"{original.rows} samples and {copies}{how} copies" + (f" · {alike} are without one" if alike else ""))
    return joined
