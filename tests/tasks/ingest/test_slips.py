"""What is odd about data and still comes in is said at the head; what nobody can have meant is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from assay.infra.errors import InputError
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import first_look, resolve
from assay.tasks.ingest.task import Ingested, ingest
from assay.tasks.labeling.task import summarize_labeling, take_votes


def take_in(folder: Path, **settings: object) -> Ingested:
    source = resolve(Source.model_validate(settings), folder)
    return ingest(source, source.settings)


def lines(folder: Path, numbers: list[object], labels: list[str]) -> None:
    rows = "".join(f"s{at},{number},{label}\n" for at, (number, label) in enumerate(zip(numbers, labels, strict=True)))
    (folder / "a.csv").write_text(f"id,x,label\n{rows}")


def test_a_class_of_one_sample_and_words_among_numbers_are_said(run: Any, tmp_path: Path) -> None:
    lines(tmp_path, [*range(38), "1o", 7], ["a", "b"] * 19 + ["=1+1", "a"])
    take_in(tmp_path, csv="a.csv", id="id", label="label")
    said = " ".join(run.record.notices)
    assert "Classes of a.csv that one sample has, no other: '=1+1'. A slip?" in said
    assert "Read as text, since some of their first cells are no numbers (1,5 is none, 1.5 is): 'x' of a.csv" in said


def test_numbers_with_a_decimal_comma_are_said_to_be_read_as_text(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id;x;label\n" + "".join(f"s{at};{at},5;{'ab'[at % 2]}\n" for at in range(40)))
    take_in(tmp_path, csv="a.csv", delimiter=";", id="id", label="label")
    assert "no numbers (1,5 is none, 1.5 is): 'x' of a.csv" in " ".join(run.record.notices)


def test_texts_and_plain_numbers_are_no_slips(run: Any, tmp_path: Path) -> None:
    lines(tmp_path, [f"{at} mg" if at % 5 == 0 else at for at in range(40)], ["a", "b"] * 20)
    take_in(tmp_path, csv="a.csv", id="id", label="label")
    assert run.record.notices == []


def test_the_form_of_images_is_said_and_a_shape_for_files_refused(run: Any, tmp_path: Path) -> None:
    for kind in "ab":
        (tmp_path / "scans" / kind).mkdir(parents=True)
        for at in range(3):
            Image.fromarray(np.full((4, 6, 3), at, np.uint8)).save(tmp_path / "scans" / kind / f"{at}.png")
    take_in(tmp_path, images="scans")
    assert run.record.stages[-1].summary == "6 samples, 0 rejected · 6 x 4 pixels, 3 channels"
    with pytest.raises(InputError, match=r"`pixels\.shape` is about lists of numbers"):
        take_in(tmp_path, images="scans", pixels={"shape": [4, 6]})


def test_nested_numbers_of_another_extent_than_the_shape_are_refused(run: Any, tmp_path: Path) -> None:
    rows = [json.dumps({"id": str(at), "image": [[0, 255], [7, at]], "label": "ab"[at % 2]}) for at in range(6)]
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    with pytest.raises(InputError, match="the array is 2 x 2 where `shape` is 4 x 4"):
        take_in(tmp_path, jsonl="a.jsonl", id="id", label="label", image="image", pixels={"shape": [4, 4]})


@pytest.mark.parametrize("role", ["split", "group"])
def test_what_parts_the_samples_is_no_list(tmp_path: Path, role: str) -> None:
    table = {"id": ["a", "b"], "label": ["x", "y"], "part": pa.array([{"a": 1}, {"a": 2}])}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    found = resolve(Source.model_validate({"parquet": "a.parquet", "id": "id", role: "part"}), tmp_path)
    with pytest.raises(InputError, match=f"`{role}` parts the samples by its values"):
        first_look(found, None)
    plain = resolve(Source.model_validate({"parquet": "a.parquet", "id": "id"}), tmp_path)
    with pytest.raises(InputError, match=r"`evaluation\.column` parts the samples"):
        first_look(plain, "part")


def test_scores_beyond_what_floats_count_exactly_come_in(run: Any, tmp_path: Path) -> None:
    scores = pa.array([2**64 - 1, 2**53 + 1, 3], pa.uint64())
    pq.write_table(pa.table({"id": ["a", "b", "c"], "score": scores}), tmp_path / "a.parquet")
    assert take_in(tmp_path, parquet="a.parquet", id="id", score="score").samples.rows == 3


def test_functions_that_never_vote_are_refused(run: Any, tmp_path: Path) -> None:
    votes = pa.table({"id": ["a", "b"], "f": [-1, -1], "g": [-1, -1], "label": ["x", "y"]})
    pq.write_table(votes, tmp_path / "votes.parquet")
    entered = take_in(tmp_path, votes="votes.parquet", id="id", label="label", classes=["x", "y"])
    with pytest.raises(InputError, match=r"2 labelling functions \(f, g\) abstain on all 2 samples"):
        summarize_labeling(take_votes(entered.samples), entered.samples, entered.classes)


@pytest.mark.parametrize("line", ["null", "1", "[]"])
def test_a_line_that_is_no_object_is_rejected_wherever_it_stands(run: Any, tmp_path: Path, line: str) -> None:
    rows = [json.dumps({"id": f"s{at}", "x": at, "label": "ab"[at % 2]}) for at in range(40)]
    (tmp_path / "a.jsonl").write_text("\n".join([line, *rows]))  # Arrow's parser crashes on a first line `null`
    entered = take_in(tmp_path, jsonl="a.jsonl", id="id", label="label")
    assert (entered.samples.rows, entered.rejects.rows) == (40, 1)
