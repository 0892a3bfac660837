"""A few rows of much are read without the rest."""

import numpy as np
import pyarrow as pa
import pytest
from subject_workload import Rows, rows_without_split

from assay.data.schemas import Samples
from assay.infra.errors import RunError
from assay.infra.stages.partitions import collect, collect_rows, first_rows, map_pieces
from assay.infra.stages.stage import stage
from assay.infra.storage import parquet
from assay.infra.storage.artifacts import Artifact


@stage(version=1)
def given_samples(ends: list[int]) -> Artifact[Samples]:
    pieces = [Rows(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    return map_pieces(rows_without_split, pieces, into=Samples)


@pytest.mark.parametrize("wanted", [{"sample-7", "sample-41", "sample-0"}, {"not there"}, set()])
def test_the_rows_of_some_ids_come_in_sample_order_with_all_columns(run, wanted):
    samples = given_samples([10, 11, 50])
    found, whole = collect_rows(samples, wanted), collect(samples, None)
    mask = [sample in wanted for sample in whole["id"].to_pylist()]
    assert found.equals(whole.filter(pa.array(mask)))


def test_row_groups_without_a_wanted_row_are_not_read(run, monkeypatch):
    monkeypatch.setattr(parquet, "_ROW_GROUP_BYTES", 400)
    samples = given_samples([200])
    columns = []
    plainly = parquet.pq.ParquetFile.read_row_group

    def reading(file, group, columns_=None, **options):
        columns.append(options.get("columns"))
        return plainly(file, group, **options)

    monkeypatch.setattr(parquet.pq.ParquetFile, "read_row_group", reading)
    assert collect_rows(samples, {"sample-3", "sample-4"})["id"].to_pylist() == ["sample-3", "sample-4"]
    assert len(columns) > 10
    assert columns.count(None) == 1


@pytest.mark.parametrize("rows", [1, 10, 11, 12, 500])
def test_the_first_rows_leave_later_partitions_alone(run, rows, monkeypatch):
    from assay.infra.stages import partitions

    samples = given_samples([10, 11, 50])
    whole = collect(samples, None)
    read = []
    plainly = partitions.read_part
    monkeypatch.setattr(partitions, "read_part", lambda folder, part, *more: read.append(part) or plainly(folder, part))
    assert first_rows(samples, rows).equals(whole.slice(0, rows))
    assert len(read) == int(np.searchsorted([10, 11, 50], min(rows, 50))) + 1


def test_a_damaged_file_is_named(run):
    samples = given_samples([50])
    (file,) = [name for name in run.store.folder.sizes("stages") if name.endswith(".parquet")]
    run.store.folder.write(file, b"PAR1 nothing PAR1")
    with pytest.raises(RunError, match=r"is damaged or gone .*delete it and run again"):
        collect_rows(samples, {"sample-1"})
