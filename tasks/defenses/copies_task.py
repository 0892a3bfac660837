"""Adversarial training of texts as stages: attacked copies stand beside the samples that they were made from."""

from __future__ import annotations

from assay.data.schemas import Samples
from assay.infra.artifacts import Artifact
from assay.infra.partitions import map_partitions, reduce_partitions, tally_of
from assay.infra.stage import say, stage
from assay.tasks.defenses.copies import SUFFIX, ids_ending, joined_rows


@stage(version=1, title="copies")
def join_samples(original: Artifact[Samples], copy: Artifact[Samples]) -> Artifact[Samples]:
    """The samples and their attacked copies, to learn from both.

    `copy` holds the same samples in the same order with the same columns, attacked where an attack was made; a row that
    is like its original is left out. Copies get an id of their own (`…+copy`) and name their original in the column
    `copied_from`, which is null for originals.
    """
    suffix = SUFFIX
    while reduce_partitions(ids_ending, original, suffix=suffix).get("taken", 0):
        suffix += "+"
    joined: Artifact[Samples] = map_partitions(joined_rows, original, copy, into=Samples, suffix=suffix)
    copies = tally_of(joined).get("copies", 0)
    alike = original.rows - copies
    say(f"{original.rows} samples and {copies} copies" + (f" · {alike} are without one" if alike else ""))
    return joined
