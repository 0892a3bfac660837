"""Labelling functions are shown what subjects see: pictures and texts, in batches."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from assay.data.images import image_columns
from assay.infra.errors import InputError
from assay.tasks.labeling.rules import (
    ABSTAIN,
    ColumnRule,
    InBatches,
    Rulebook,
    picture_rule,
    pictures,
    pixels,
    says,
    text_rule,
)
from assay.tasks.labeling.voting import apply_rules

CLASSES = ("light", "dark")


def images(count: int, size: int = 8) -> pa.Table:
    levels = np.repeat(np.arange(count, dtype=np.uint8)[:, None], 3 * size * size, axis=1).reshape(-1, 3, size, size)
    return pa.table({"id": [f"i{row:03}" for row in range(count)], "gold": [0] * count, **image_columns(levels)})


def votes(rule: ColumnRule, table: pa.Table) -> list[int]:
    return apply_rules(table, Rulebook("book", CLASSES, [rule]))[0].column(1).to_pylist()


def test_a_picture_rule_gets_pixels_between_0_and_1_a_batch_at_a_time() -> None:
    seen: list[tuple[tuple[int, ...], np.dtype, float]] = []

    @picture_rule
    def dark(batch: np.ndarray) -> object:
        seen.append((batch.shape, batch.dtype, float(batch.max())))
        return np.where(batch.mean(axis=(1, 2, 3)) < 100 / 255, 1, 0)

    assert votes(dark, images(200)) == [1] * 100 + [0] * 100
    assert seen == [
        ((128, 3, 8, 8), np.float32, pytest.approx(127 / 255)),
        ((72, 3, 8, 8), np.float32, pytest.approx(199 / 255)),
    ]


def test_rules_that_share_a_frame_share_one_decoding() -> None:
    made: list[int] = []

    def decode(table: pa.Table) -> np.ndarray:
        made.append(table.num_rows)
        return pixels(table)

    frame = InBatches(decode, rows=3)
    rules = [ColumnRule(name, lambda batch: np.zeros(len(batch), int), frame) for name in ("a", "b")]
    apply_rules(images(7), Rulebook("book", CLASSES, rules))
    assert made == [3, 3, 1]


def test_a_picture_that_a_rule_cannot_measure_is_counted_and_the_others_keep_their_vote() -> None:
    def fussy(batch: np.ndarray) -> object:
        if (batch == 5 / np.float32(255)).any():
            raise ValueError("no lesion")
        return np.ones(len(batch), int)

    table, faults = apply_rules(images(9), Rulebook("book", CLASSES, [ColumnRule("fussy", fussy, pictures)]))
    assert table.column(1).to_pylist() == [1] * 5 + [ABSTAIN] + [1] * 3
    assert (faults["fussy"].count, faults["fussy"].sample) == (1, "i005")


def test_samples_without_pictures_or_of_several_sizes_are_refused_by_name() -> None:
    rule = ColumnRule("looks", lambda batch: np.zeros(len(batch), int), pictures)
    with pytest.raises(InputError, match=r"function looks cannot be shown the samples: .* no images .* id, text"):
        votes(rule, pa.table({"id": ["a"], "text": ["b"]}))
    with pytest.raises(InputError, match=r"Sample 'i000' is an image of 3×4×4 .* and sample 'i000' one of 3×8×8"):
        votes(rule, pa.concat_tables([images(1), images(1, 4)]))


def test_a_text_rule_gets_the_texts_and_none_where_one_is_missing() -> None:
    @text_rule
    def shouts(texts: list[str | None]) -> object:
        return [1 if text is not None and text.isupper() else ABSTAIN for text in texts]

    table = pa.table({"id": ["a", "b", "c"], "text": ["HEY", "hey", None]})
    assert votes(shouts, table) == [1, -1, -1]
    with pytest.raises(InputError, match="no column 'text' to read"):
        votes(shouts, table.rename_columns(["id", "body"]))


def test_a_pattern_speaks_for_a_class_unless_another_is_there_too() -> None:
    rule = says("praises", r"\bgood\b", 1, unless=r"\bnot good\b", column="body")
    table = pa.table({"id": list("abcd"), "body": ["GOOD", "not good", "goodness", None]})
    assert votes(rule, table) == [1, -1, -1, -1]
