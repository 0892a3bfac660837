"""Training samples beside attacked copies of themselves: which rows are copies, and what the copies are called."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import RunError
from assay.infra.partition_work import Tallied
from assay.infra.seeds import Seeds
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
    changed = pa.array([False] * original.num_rows, pa.bool_())
    for name in original.column_names:
        changed = pc.or_(changed, _differs(original[name].combine_chunks(), copy[name].combine_chunks()))
    copies = (original if unchanged else copy).filter(changed)
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
    column = pa.array(written, samples.schema.field(text).type)
    table = samples.set_column(samples.schema.get_field_index(text), samples.schema.field(text), column)
    return Tallied(table, {"changed": sum(after != before for (_, before), after in zip(pairs, written, strict=True))})


def _differs(before: pa.Array, after: pa.Array) -> pa.Array:
    """Row by row whether two columns differ; two nulls do not."""
    if pa.types.is_nested(before.type) or before.type != after.type:
        pairs = zip(before.to_pylist(), after.to_pylist(), strict=True)
        return pa.array([one != other for one, other in pairs], pa.bool_())
    unequal = pc.fill_null(pc.not_equal(before, after), False)
    return pc.or_(unequal, pc.xor(before.is_null(), after.is_null()))
