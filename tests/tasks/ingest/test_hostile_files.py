"""Files that are made to hang, to crash or to fill the memory of whoever reads them get a sentence that names them."""

from __future__ import annotations

import gzip
import json
import sqlite3
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.infra.errors import InputError
from assay.tasks.ingest import parquet
from assay.tasks.ingest.dicom import open_dicom
from assay.tasks.ingest.image_pixels import UnfitError
from assay.tasks.ingest.label_studio import MOST_PEOPLE
from assay.tasks.ingest.nifti import open_nifti
from assay.tasks.ingest.settings import Scan

Made = dict[str, Any]


def lines(folder: Path, line: bytes) -> Made:
    (folder / "data.jsonl").write_bytes(line + b"\n" + line + b"\n")
    return {"jsonl": "data.jsonl"}


def answers(folder: Path, value: Any = "a", kind: str = "choices", number: Any = 1, shown: Any = "text") -> Made:
    result = {"type": kind, "from_name": "label", "value": {kind: value}}
    task = {"id": number, "data": {"text": shown}, "annotations": [{"completed_by": 1, "result": [result]}]}
    (folder / "answers.json").write_text(json.dumps([task] * 2))
    return {"label_studio": "answers.json"}


def database(folder: Path, query: str, **more: Any) -> Made:
    with sqlite3.connect(folder / "data.db") as made:
        made.execute('create table t (id, "")')
        made.execute("insert into t values (1, 2)")
    return {"sql": "sqlite:///data.db", "query": query, "id": "id", **more}


ENDLESS = "with recursive n(id) as (select 1 union all select id + 1 from n) select id from n"


def volume(folder: Path, at: int, content: bytes, more: int = 0, name: str = "v.nii.gz") -> Made:
    import nibabel

    whole = bytearray(nibabel.Nifti1Image(np.zeros((4, 4, 4), np.int16), np.eye(4)).to_bytes())
    whole[at : at + len(content)] = content
    with gzip.open(folder / name, "wb", 1) as packed:
        packed.write(whole)
        for _ in range(more):
            packed.write(bytes(1 << 20))
    return {"nifti": name}


def scan(folder: Path, **tags: Any) -> Made:
    import io

    from pydicom import dcmwrite
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian, SecondaryCaptureImageStorage, generate_uid

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = SecondaryCaptureImageStorage, generate_uid()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    made = FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
    plain = {"Rows": 4, "Columns": 4, "SamplesPerPixel": 1, "PhotometricInterpretation": "MONOCHROME2"}
    bits = {"BitsAllocated": 8, "BitsStored": 8, "HighBit": 7, "PixelRepresentation": 0}
    for tag, value in (plain | bits | tags).items():
        setattr(made, tag, value)
    made.PixelData = bytes(16)
    sink = io.BytesIO()
    dcmwrite(sink, made)
    (folder / "scan.dcm").write_bytes(sink.getvalue())
    return {"dicom": "scan.dcm"}


def lake(folder: Path, change: Callable[[dict[str, Any]], str | None]) -> Made:
    from deltalake import write_deltalake

    write_deltalake(folder / "lake", pa.table({"id": ["a"], "label": ["x"]}))
    log = next((folder / "lake" / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    more = [text for action in actions if "add" in action and (text := change(action["add"]))]
    log.write_text("\n".join([*map(json.dumps, actions), *more]))
    return {"parquet": "lake", "id": "id"}


DEEP = 100_000
VECTOR = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "sizeInBytes": 4, "cardinality": 1}

HOSTILE: dict[str, tuple[Callable[[Path], Made], str]] = {
    **{
        f"lines that are {line.decode()}": (lambda folder, line=line: lines(folder, line), "data.jsonl has no line")
        for line in (b"1", b"null", b'"x"')
    },
    **{
        f"lines that are {line.decode()}": (lambda folder, line=line: lines(folder, line), "one object a line")
        for line in (b"[1]", b"[]")
    },
    "a choice that is a number": (lambda folder: answers(folder, [3]), "answers.json has an annotation in task 1"),
    "a choice in a choice": (lambda folder: answers(folder, [["a"]]), "answers.json has an annotation in task 1"),
    "a rating that is a word": (lambda folder: answers(folder, "good", "rating"), "an annotation in task 1"),
    "a number beyond int64": (lambda folder: answers(folder, number=2**70), "answers.json cannot be read .*Overflow"),
    "an infinite number": (lambda folder: answers(folder, number=float("inf")), "an annotation in task 1"),
    "a text of half a letter": (lambda folder: answers(folder, shown="\ud800"), "answers.json cannot be read"),
    "much beyond int64 shown": (lambda folder: answers(folder, shown=2**70), "answers.json cannot be read"),
    "a column without a name": (lambda folder: database(folder, "select * from t"), "data.db gives a column without"),
    "a query without an end": (
        lambda folder: database(folder, ENDLESS, query_timeout=0.3),
        "data.db .sql. took more than 0.3 s: .*query_timeout",
    ),
    "a cell of zeros": (
        lambda folder: database(folder, "select id, zeroblob(900000000) as x from t"),
        "data.db .sql. does not answer the query: .*too big",
    ),
    "a log nested deep": (
        lambda folder: lake(folder, lambda _: '{"txn":' * DEEP + "1" + "}" * DEEP),
        r"0\.json, line \d, values nested more than 32 deep",
    ),
    "statistics nested deep": (
        lambda folder: lake(folder, lambda added: added.update(stats="[" * DEEP + "]" * DEEP)),
        "statistics nested more than 32 deep",
    ),
    "a deletion vector that no protocol declares": (
        lambda folder: lake(folder, lambda added: added.update(deletionVector=VECTOR)),
        "deletion vectors, so rows that were deleted stand in its files",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_hostile_gets_its_sentence(read: Any, tmp_path: Path, name: str) -> None:
    make, sentence = HOSTILE[name]
    made, began = make(tmp_path), time.process_time()
    with pytest.raises(InputError, match=sentence) as refused:
        read(classes=["a", "b"], **made)
    assert len(str(refused.value)) < 500
    assert time.process_time() - began < 10


REJECTED: dict[str, tuple[Callable[[Path], Made], str]] = {
    "an affine of zeros": (lambda folder: volume(folder, 280, bytes(48)), "no whole NIfTI volume"),
    "a volume that claims much": (
        lambda folder: volume(folder, 40, struct.pack("<4h", 3, 2000, 2000, 2000)),
        "more than 2048 MiB|more values than are read",
    ),
    "frames that are not there": (lambda folder: scan(folder, NumberOfFrames=2**31 - 1), "claims 2,147,483,647 frames"),
    "fewer frames than one": (lambda folder: scan(folder, NumberOfFrames=-1), "claims -1 frames"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_a_scan_that_claims_what_it_has_not_is_rejected(tmp_path: Path, name: str) -> None:
    make, reason = REJECTED[name]
    ((word, file), *_) = make(tmp_path).items()
    reader = {"nifti": open_nifti, "dicom": open_dicom}[word]
    with pytest.raises(UnfitError, match=reason):
        reader((tmp_path / file).read_bytes(), file, Scan(), True)


def test_what_follows_the_values_of_a_volume_is_not_unpacked(read: Any, tmp_path: Path) -> None:
    began = time.process_time()
    assert read(classes=["a", "b"], **volume(tmp_path, 0, b"", more=300)).samples.num_rows == 4
    assert time.process_time() - began < 5


def test_many_people_are_read_in_time_and_have_no_columns_of_their_own(read: Any, tmp_path: Path) -> None:
    tasks = [
        {
            "data": {"text": "t"},
            "annotations": [
                {
                    "completed_by": person,
                    "result": [{"type": "choices", "from_name": "q", "value": {"choices": ["ab"[at % 2]]}}],
                }
                for person in range(at % 2, 2000, 2)
            ],
        }
        for at in range(20)
    ]
    (tmp_path / "answers.json").write_text(json.dumps(tasks))
    began = time.process_time()
    samples = read(label_studio="answers.json", label="q").samples
    assert time.process_time() - began < 10
    assert samples.column_names == ["id", "gold", "text"]
    assert MOST_PEOPLE < 2000


@pytest.mark.parametrize("nested", [False, True])
def test_a_small_parquet_file_that_unpacks_to_much_is_refused_on_the_way(
    read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nested: bool
) -> None:
    monkeypatch.setattr(parquet, "MOST_BYTES", 8 << 20)
    monkeypatch.setattr(parquet, "_MOST_IN_BATCH", 1 << 20)
    n = 400
    word = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array(["x" * 200_000]))
    column = pa.ListArray.from_arrays(pa.array(np.arange(n + 1), pa.int32()), word) if nested else word
    pq.write_table(pa.table({"id": range(n), "x": column}), tmp_path / "data.parquet", compression="zstd")
    assert (tmp_path / "data.parquet").stat().st_size < 50_000
    before = pa.total_allocated_bytes()
    with pytest.raises(InputError, match=r"data\.parquet unpacks rows 1 to 4. to more than"):
        read(parquet="data.parquet", id="id", classes=["a", "b"])
    assert pa.total_allocated_bytes() - before < 16 << 20


@pytest.mark.parametrize("fixed", [False, True])
def test_nulls_by_the_million_are_counted_before_they_are_made(
    read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fixed: bool
) -> None:
    monkeypatch.setattr(parquet, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(parquet, "_MOST_IN_BATCH", 1 << 18)
    nulls = (
        pa.nulls(400, pa.list_(pa.float64(), 1000))
        if fixed
        else pa.array([[None] * 1000] * 400, pa.list_(pa.float64()))
    )
    assert pa.types.is_nested(nulls.type)
    pq.write_table(pa.table({"id": range(400), "x": nulls}), tmp_path / "data.parquet", compression="zstd")
    with pytest.raises(InputError, match=r"data\.parquet unpacks rows 1 to 1\d\d to more than"):
        read(parquet="data.parquet", id="id", classes=["a", "b"])
