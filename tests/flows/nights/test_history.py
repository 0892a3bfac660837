"""The history of all nights: one data set that others can read, and trends in the terminal."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow.dataset as ds
import pytest
from nights_on_record import night

from assay.flows.cli import answer
from assay.flows.nights.history import append_to_history, read_history, rebuild_history
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import clean


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.chdir(tmp_path)
    Path("pipelines.yaml").write_text("pipelines: {digits: {source: {dataset: sample/digits}}}\n")
    return Store(str(tmp_path / "artifacts")).open()


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert answer(list(arguments)) == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.err


def test_pandas_reads_all_nights_in_one_line(store: Store) -> None:
    for number in range(3):
        append_to_history(store, night(store, number, accuracy=0.9 - number / 10))
    append_to_history(store, night(store, 15, "reviews", status="broken", accuracy=None))
    frame = pd.read_parquet(f"{store.url}/history")
    assert set(frame["pipeline"]) == {"digits", "reviews"}
    assert set(frame["month"]) == {"2026-11", "2026-12"}
    accuracy = frame[(frame.pipeline == "digits") & (frame.metric == "subject.accuracy")].sort_values("started")
    assert accuracy["value"].tolist() == pytest.approx([0.9, 0.8, 0.7])
    assert accuracy["low"].tolist() == pytest.approx([0.88, 0.78, 0.68])
    [ended] = frame[frame.pipeline == "reviews"].to_dict("records")
    assert (ended["metric"], ended["value"], ended["verdict"]) == ("run.seconds", 60.0, "broken")


def test_what_is_being_written_is_no_part_of_it(store: Store) -> None:
    record = night(store, 0)
    append_to_history(store, record)
    place = next(Path(store.url).glob("history/*/*/*.parquet"))
    with store.folder.writing(str(place.relative_to(store.url))) as sink:
        sink.write(b"PAR1 half a fil")
        assert ds.dataset(f"{store.url}/history", partitioning="hive").count_rows() == 5
        assert read_history(store, "digits").num_rows == 5
        sink.seek(0)
        sink.truncate()
        sink.write(place.read_bytes())


def test_a_run_that_is_written_twice_stands_there_once(store: Store) -> None:
    record = night(store, 0)
    append_to_history(store, record)
    append_to_history(store, record)
    assert read_history(store, "digits").num_rows == 5


def test_rebuilding_gives_what_was_appended_and_keeps_what_was_cleaned_away(store: Store) -> None:
    for number in range(4):
        append_to_history(store, night(store, number))
    before = read_history(store, "digits")
    clean(store, keep=1)
    assert len(store.runs()) == 1
    assert read_history(store, "digits").equals(before)
    for file in Path(store.url).glob(f"history/*/*/{store.runs()[0].id}.parquet"):
        file.unlink()
    assert rebuild_history(store) == (1, 3, [])
    assert read_history(store, "digits").equals(before)


def test_a_damaged_run_is_named_and_the_others_are_rebuilt(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    broken, _ = night(store, 0), night(store, 1)
    (Path(store.url) / "runs" / broken.id / "findings.parquet").write_bytes(b"PAR1")
    assert f"The findings of run {broken.id} are damaged" in said(capsys, "store", "rebuild", code=2)
    assert set(read_history(store, "digits")["run"].to_pylist()) == {store.runs()[1].id}


def test_the_trend_is_drawn_with_intervals(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    for number, status in enumerate(("done", "gate failed", "broken", "done")):
        append_to_history(
            store, night(store, number, status=status, accuracy=None if status == "broken" else 0.9 - number / 10)
        )
    drawn = said(capsys, "history", "digits", "subject.accuracy")
    assert "4 nights, 2026-11-20 02:00 to 2026-11-23 02:00 UTC" in drawn
    assert "✓✗!✓" in drawn
    rows = [line for line in drawn.splitlines() if line.startswith("2026-")]
    assert [row.count("●") for row in rows] == [1, 1, 0, 1]
    assert "0.8 [0.78, 0.82] n=500" in rows[1]
    several = said(capsys, "history", "digits", "attack.success_rate")
    assert "plain · pgd · eps=0.1" in several
    assert "plain · gap · eps=0.1" in several
    assert "▁▃·█" in several
    one = said(capsys, "history", "digits", "attack.success_rate", "--of", "pgd", "--last", "1")
    assert len([line for line in one.splitlines() if line.startswith("2026-")]) == 1


def test_followed_numbers_are_drawn_where_no_finding_is_named(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    append_to_history(store, night(store, 0))
    assert "Rules kept  7 n=30" in said(capsys, "history", "digits")


def test_trials_are_counted_and_not_drawn(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    append_to_history(store, night(store, 0))
    append_to_history(store, night(store, 1, overrides=["attacks.0.steps"]))
    drawn = said(capsys, "history", "digits", "subject.accuracy")
    assert "1 night," in drawn
    assert "1 trial (--set) not drawn" in drawn
    assert "attacks.0.steps" in said(capsys, "history", "digits", "--csv")


def test_csv_holds_every_row(store: Store, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for number in range(3):
        append_to_history(store, night(store, number))
    text = said(capsys, "history", "digits", "subject.accuracy", "--csv", "--last", "1")
    Path("all.csv").write_text(text)
    assert pd.read_csv("all.csv")["value"].tolist() == [0.9, 0.9, 0.9]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("digts",), 'no pipeline "digts"'),
        (("digts",), "did you mean digits?"),
        (("digits", "subject.acuracy"), "did you mean subject.accuracy?"),
        (("digits", "attack.success_rate", "--of", "pdg"), "did you mean pgd?"),
    ],
)
def test_wrong_names_are_one_sentence(
    store: Store, arguments: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    append_to_history(store, night(store, 0))
    complaint = said(capsys, "history", *arguments, code=2)
    assert expected in complaint
    assert len(complaint.splitlines()) == 1


def test_a_store_without_history_says_how_to_make_it(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert "assay store rebuild" in said(capsys, "history", "digits", code=2)


def test_duckdb_reads_all_nights_in_the_line_of_the_documents(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    from markdown_pages import ROOT

    for number in range(3):
        append_to_history(store, night(store, number, accuracy=0.9 - number / 10))
    append_to_history(store, night(store, 15, "reviews", status="broken", accuracy=None))
    page = (ROOT / "docs" / "nightly.md").read_text(encoding="utf-8")
    [line] = [one for one in page.splitlines() if one.startswith("duckdb.sql(")]
    [pandas_line] = [one for one in page.splitlines() if one.startswith("pandas.read_parquet(")]
    relation = eval(line, {"duckdb": duckdb})  # the project's own document
    frame = eval(pandas_line, {"pandas": pd})
    assert sorted(relation.columns) == sorted(frame.columns)
    asked = (
        "select run, value, month from nights where pipeline = 'digits' and metric = 'subject.accuracy' order by run"
    )
    rows = relation.query("nights", asked).fetchall()
    assert [row[1] for row in rows] == pytest.approx([0.9, 0.8, 0.7])
    assert {str(row[2]) for row in rows} == {"2026-11"}
    assert len(relation.fetchall()) == len(frame)
