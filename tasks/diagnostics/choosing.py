"""Which samples are looked at: evenly over the classes, and those that fell to an attack before those that did not."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.diagnostics.looking import Truth
from assay.tasks.subjects.holding_out import draw_evenly
from assay.tasks.subjects.images.lessons import LABELS


def truths_of(samples: pa.Table) -> dict[str, Truth]:
    """What is true of every sample, by its id."""
    ids = samples["id"].to_pylist()
    if LABELS in samples.column_names:
        rows = samples[LABELS].to_pylist()
        unknown = [-1] * max((len(row) for row in rows if row is not None), default=0)
        return {
            one: Truth(labels=tuple(-1 if label is None else int(label) for label in row or unknown))
            for one, row in zip(ids, rows, strict=True)
        }
    gold = samples["gold"].to_pylist()
    return {one: Truth(-1 if code is None else int(code)) for one, code in zip(ids, gold, strict=True)}


def draw_samples(truths: dict[str, Truth], limit: int) -> frozenset[str]:
    """At most so many ids, as evenly over the classes as there are samples."""
    return draw_evenly(truths, (truth.code for truth in truths.values()), limit)


def draw_images(truths: dict[str, Truth], attacked: pa.Table | None, eps: float, limit: int) -> frozenset[str]:
    """At most so many ids to look into; where enough of them fell, only of those that were right and then fell."""
    if attacked is None:
        return draw_samples(truths, limit)
    rows = attacked.filter(pc.equal(attacked["eps"], eps))
    fell = {one for one, success in zip(rows["id"].to_pylist(), rows["success"].to_pylist(), strict=True) if success}
    wrong = _wrong_before(rows)
    telling = {one: truth for one, truth in truths.items() if one in fell - wrong}
    chosen = draw_samples(telling, limit)
    others = {one: truth for one, truth in truths.items() if one not in chosen}
    return chosen | draw_samples(others, limit - len(chosen))


def only(samples: pa.Table, *, ids: frozenset[str]) -> pa.Table:
    """The rows of a partition that are among the ids."""
    return samples.filter(pc.is_in(samples["id"], value_set=pa.array(sorted(ids), pa.string())))


def known_columns(columns: frozenset[str]) -> Sequence[str]:
    """The columns that say what is true of samples."""
    return ["id", "gold", *([LABELS] if LABELS in columns else [])]


def _wrong_before(rows: pa.Table) -> set[str]:
    """Samples of one class that the subject got wrong when they were clean."""
    answers = zip(*(rows[name].to_pylist() for name in ("id", "gold", "clean")), strict=True)
    return {sample for sample, gold, clean in answers if gold is not None and clean >= 0 and gold != clean}
