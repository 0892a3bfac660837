"""A first look: what data is, what its columns mean, and what cannot be known."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_data import comments, patients, scans
from PIL import Image

from assay.flows.starting.column_roles import Answers, Question, Roles, settle
from assay.flows.starting.first_look import Address, address_of, column_of, first_look, read_samples
from assay.flows.starting.proposal import source_settings
from assay.infra.errors import InputError
from assay.tasks.ingest.settings import Source


def roles_of(folder: Path, data: str, answers: Answers | None = None) -> Roles:
    settled = settle(first_look(address_of(data, folder), folder), answers or Answers())
    assert isinstance(settled, Roles), settled
    return settled


def test_addresses_are_known_by_name_and_by_what_is_there(tmp_path: Path) -> None:
    scans(tmp_path, each=3)
    (tmp_path / "days" / "old").mkdir(parents=True)
    for name in ("days/1.csv", "days/old/2.csv"):
        (tmp_path / name).write_text("a;b\n1;2\n")
    assert address_of("scans", tmp_path) == Address("images", "scans")
    assert address_of("days", tmp_path) == Address("csv", "days/**/*.csv", ";")
    assert first_look(address_of("days", tmp_path), tmp_path).rows == 2
    assert address_of("s3://bucket/day/*.parquet", tmp_path) == Address("parquet", "s3://bucket/day/*.parquet")
    (tmp_path / "days" / "3.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match=r"tables of several kinds \(\.csv, \.jsonl\): say which with a pattern"):
        address_of("days", tmp_path)


def test_columns_are_taken_for_what_they_are(tmp_path: Path) -> None:
    patients(tmp_path)
    found = roles_of(tmp_path, "patients.csv")
    assert (found.kind, found.label, found.id, found.group) == ("table", "diagnosis", "patient_id", "site")
    assert (found.numbers, found.words, found.suspects) == (("temperature", "height"), ("cough",), ("row",))
    said = roles_of(tmp_path, "patients.csv", Answers(label="cough", id="-", group="-"))
    assert (said.label, said.id, said.group) == ("cough", None, None)
    comments(tmp_path)
    texts = roles_of(tmp_path, "comments.jsonl")
    assert (texts.kind, texts.text, texts.label, texts.id) == ("texts", "text", "verdict", "comment")


def test_numbers_can_be_parted_where_most_are_the_largest() -> None:
    halves = [column_of(pa.chunked_array([values]), "x").half for values in ([0.5, 1.5, 1.5], [1, 2, 3], [4, 4], [0.0])]
    assert halves == [0.5, 2, 0, 0]


def test_rows_that_do_not_fit_are_told_before_columns_are_asked_for(tmp_path: Path) -> None:
    rows = [
        f'{{"id": {at}, "text": {at if at % 9 == 0 else chr(34) + "good" + chr(34)}, "kind": "ab"}}' for at in range(60)
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows) + "\n")
    with pytest.raises(InputError, match=r"53 of 60 rows of rows.jsonl do not fit, the first in rows.jsonl row 2"):
        roles_of(tmp_path, "rows.jsonl")


def test_a_column_with_infinite_cells_is_left_out(tmp_path: Path) -> None:
    at = np.arange(60) / 7
    rows = pd.DataFrame({"x": at, "ratio": np.where(at > 8, np.inf, at), "label": ["a", "b"] * 30})
    rows.to_parquet(tmp_path / "rows.parquet")
    assert roles_of(tmp_path, "rows.parquet").numbers == ("x",)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.csv")
    with pytest.raises(InputError, match="is a named pipe, and only ordinary files are read"):
        roles_of(tmp_path, "rows.csv")


def test_half_floats_and_dates_of_parquet_are_numbers_and_dates(tmp_path: Path) -> None:
    at = np.arange(60)
    rows = pd.DataFrame({"x": np.float16(at / 7), "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(at, "D")})
    table = pa.Table.from_pandas(rows.assign(label=["a", "b"] * 30))
    pq.write_table(table.set_column(1, "day", table["day"].cast(pa.date32())), tmp_path / "rows.parquet")
    found = roles_of(tmp_path, "rows.parquet")
    assert (found.label, found.numbers, found.day) == ("label", ("x",), "day")


@pytest.mark.parametrize(("name", "is_id"), [("person", True), ("Patient", True), ("weight", False)])
def test_what_has_a_sample_each_names_it_and_what_is_measured_of_it_does_not(
    tmp_path: Path, name: str, is_id: bool
) -> None:
    rows = {name: np.arange(400) * 37 % 1009, "label": ["a", "b"] * 200, "x": np.arange(400) / 7}
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    found = roles_of(tmp_path, "rows.csv")
    assert (found.id == name, name in found.numbers, found.suspects) == (is_id, not is_id, ())


def test_two_columns_that_may_be_the_label_are_a_question(tmp_path: Path) -> None:
    rows = {"first_label": ["a", "b"] * 20, "second_label": ["a", "a", "b", "b"] * 10, "x": np.arange(40) / 7}
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    settled = settle(first_look(address_of("rows.csv", tmp_path), tmp_path), Answers())
    assert settled == Question("label", "Which column says what a sample is", ("first_label", "second_label"))


def test_parts_are_known_by_their_names(tmp_path: Path) -> None:
    rows = {"split": ["train", "dev"] * 20, "label": ["a", "a", "b", "b"] * 10, "x": np.arange(40) / 7}
    pd.DataFrame(rows).to_parquet(tmp_path / "rows.parquet")
    assert roles_of(tmp_path, "rows.parquet").split == "split"


def test_columns_whose_names_mean_something_inside_are_left_out(tmp_path: Path) -> None:
    rows = {"id": [1, 1] * 20, "label": ["a", "a", "b", "b"] * 10, "x": np.arange(40) / 7, "bits": [[1]] * 40}
    pd.DataFrame(rows).to_parquet(tmp_path / "rows.parquet")
    seen = first_look(address_of("rows.parquet", tmp_path), tmp_path)
    settled = settle(seen, Answers())
    assert isinstance(settled, Roles)
    settings = source_settings(seen, settled)
    assert (settings["features"], seen.others) == (["x"], ("bits",))
    strict = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
    assert read_samples(Source.model_validate(strict), tmp_path).samples.column_names == ["id", "gold", "x"]


def test_pictures_of_several_sizes_and_kinds_are_brought_to_one(tmp_path: Path) -> None:
    scans(tmp_path, each=4)
    Image.fromarray(np.zeros((300, 200), np.uint8)).save(tmp_path / "scans" / "ill" / "grey.png")
    seen = first_look(address_of("scans", tmp_path), tmp_path)
    settled = settle(seen, Answers())
    assert isinstance(settled, Roles)
    assert source_settings(seen, settled) == {"images": "scans", "pixels": {"size": 64, "channels": 3}}


def test_of_much_data_a_part_is_drawn_from_everywhere(tmp_path: Path) -> None:
    sorted_rows = pd.DataFrame({"name": [f"r{at}" for at in range(50_000)], "label": ["a"] * 25_000 + ["b"] * 25_000})
    sorted_rows.to_csv(tmp_path / "rows.csv", index=False)
    seen = read_samples(Source(csv=("rows.csv",), id="name", label="label"), tmp_path)
    assert (seen.rows, seen.classes) == (50_000, ("a", "b"))
    assert abs(seen.samples.num_rows - 20_000) < 2_000  # whole blocks of the file
    counts = np.bincount(seen.samples["gold"].to_numpy())
    assert min(counts) > 7_000
    again = read_samples(Source(csv=("rows.csv",), id="name", label="label"), tmp_path)
    assert again.samples.equals(seen.samples)
