"""Embedded data sets: every name builds a table, and its fingerprint follows the source that makes it."""

import json

import pyarrow as pa
import pytest

from assay.data.samples.registry import EMBEDDED, EmbeddedSample, embedded, made_of
from assay.infra.errors import InputError


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EMBEDDED))
def test_every_embedded_sample_has_unique_ids_gold_and_named_classes(name: str) -> None:
    table = embedded(name).build()
    assert table.column_names[:2] == ["id", "gold"]
    assert table.schema.field("gold").type == pa.int16()
    assert len(set(table.column("id").to_pylist())) == table.num_rows
    classes = json.loads(table.schema.metadata[b"classes"])
    if "labels" in table.column_names:
        assert {len(labels) for labels in table.column("labels").to_pylist()} == {len(classes)}
    elif not classes:  # what is true of these is tags, or a score
        assert table.column("gold").null_count == table.num_rows
        assert {"tags", "score"} & set(table.column_names)
    else:
        assert set(table.column("gold").to_pylist()) <= set(range(len(classes)))


def test_a_sample_is_made_of_the_modules_that_it_imports() -> None:
    assert made_of("assay.data.samples.alarms") == (
        "assay.data.samples.alarms",
        "assay.data.samples.alarms_monitor",
        "assay.data.samples.alarms_physiology",
        "assay.data.samples.wording",
    )


def test_other_arguments_are_another_sample() -> None:
    fingerprints = {
        EmbeddedSample("s", "assay.data.samples.alarms:alarms", {"kind": "spo2-low", "seed": seed}).fingerprint
        for seed in (0, 1)
    }
    assert len(fingerprints) == 2
    assert len({sample.fingerprint for sample in EMBEDDED.values()}) == len(EMBEDDED)


def test_a_name_nothing_is_close_to_lists_what_there_is() -> None:
    with pytest.raises(InputError, match="known here: sample/breast-cancer"):
        embedded("qqqq")
