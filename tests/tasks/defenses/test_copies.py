"""Attacked copies stand beside their originals: under ids of their own, and only where something was changed."""

from dataclasses import dataclass

import pyarrow as pa
import pytest

from assay.data.schemas import Samples
from assay.infra.errors import RunError
from assay.infra.stages.partitions import collect, map_pieces
from assay.infra.stages.stage import stage
from assay.infra.storage.artifacts import Artifact
from assay.tasks.defenses.text_task import join_samples, joined_rows

TEXTS = ["good", "bad", "fair", "fine", "poor"]
ATTACKED = ["gpod", "bad", "fiar", "fine", "pooor"]


def samples_of(ids: list[str], texts: list[str]) -> pa.Table:
    tags = [[text, "O"] for text in TEXTS[: len(ids)]]
    return pa.table({"id": ids, "gold": pa.array([0] * len(ids), pa.int16()), "text": texts, "tags": tags})


@dataclass(frozen=True)
class Piece:
    """A partition: ids and texts."""

    ids: list[str]
    texts: list[str]


def rows_of(piece: Piece) -> pa.Table:
    tags = pa.array([["O"]] * len(piece.ids), pa.list_(pa.string()))
    gold = pa.array([0] * len(piece.ids), pa.int16())
    return pa.table({"id": pa.array(piece.ids, pa.string()), "gold": gold, "text": piece.texts, "tags": tags})


@stage(version=1)
def given(ids: list[str], texts: list[str], sizes: list[int]) -> Artifact[Samples]:
    ends = [sum(sizes[: place + 1]) for place in range(len(sizes))]
    pieces = [Piece(ids[end - size : end], texts[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
    return map_pieces(rows_of, pieces, into=Samples)


def joined(ids: list[str], sizes: list[int], copy_sizes: list[int]) -> list[dict[str, object]]:
    made = join_samples(given(ids, TEXTS, sizes), given(ids, ATTACKED, copy_sizes))
    return collect(made, None).sort_by("id").to_pylist()


def test_only_changed_samples_get_a_copy_and_it_names_its_original(run):
    rows = joined(list("abcde"), [5], [5])
    assert [row["id"] for row in rows] == ["a", "a+copy", "b", "c", "c+copy", "d", "e", "e+copy"]
    copies = {row["id"]: (row["text"], row["copied_from"], row["gold"]) for row in rows if row["copied_from"]}
    assert copies == {"a+copy": ("gpod", "a", 0), "c+copy": ("fiar", "c", 0), "e+copy": ("pooor", "e", 0)}


def test_a_control_has_as_many_rows_of_the_same_ids_and_nothing_of_the_attack(run):
    attacked = given(list("abcde"), ATTACKED, [3, 2])
    both = [join_samples(given(list("abcde"), TEXTS, [5]), attacked, unchanged=one) for one in (False, True)]
    first, control = (collect(one, None).to_pylist() for one in both)
    assert [row["id"] for row in control] == [row["id"] for row in first]
    originals = {row["id"]: row for row in control if row["copied_from"] is None}
    copies = [row for row in control if row["copied_from"] is not None]
    assert len(copies) == 3
    for row in copies:
        assert row == originals[row["copied_from"]] | {key: row[key] for key in ("id", "copied_from")}


def test_a_sample_that_is_named_like_a_copy_keeps_its_name_to_itself(run):
    rows = joined(["a", "a+copy", "a+copy+", "d", "e"], [5], [5])
    ids = [row["id"] for row in rows]
    assert len(set(ids)) == len(ids) == 8
    assert {row["copied_from"] for row in rows if row["id"].endswith("+copy++")} == {"a", "a+copy+", "e"}


def test_the_join_is_the_same_however_both_sides_are_cut(run):
    whole = joined(list("abcde"), [5], [5])
    assert joined(list("abcde"), [2, 0, 3], [2, 0, 3]) == whole
    assert joined(list("abcde"), [2, 3], [4, 1]) == whole


def test_a_changed_label_list_makes_a_copy_too():
    before = samples_of(["a", "b"], ["x y", "x y"])
    after = before.set_column(3, "tags", [[["B", "I", "O"], ["bad", "O"]]])
    made = joined_rows(before, after, suffix="+copy").result
    assert made["copied_from"].to_pylist() == [None, None, "a"]


def test_copies_of_other_samples_are_refused():
    before = samples_of(["a", "b"], ["x", "y"])
    with pytest.raises(RunError, match="same samples in the same order"):
        joined_rows(before, samples_of(["b", "a"], ["x", "y"]), suffix="+copy")
