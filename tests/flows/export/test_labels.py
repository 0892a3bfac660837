"""A few samples are drawn for people to label, and what they say is what a run is right on, with its interval."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from comments_night import answered, comments_in, tasks_in
from direct_nights import Heard, latest, perform_night

from assay.flows.audits.people import read_draw
from assay.flows.export.labels import draw_to_label, take_labels
from assay.flows.export.samples_to_review import export_for_labelling
from assay.flows.report.records import labelled_by, read_table
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import FindingIndex, findings_of

BUDGET = 40


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Store, RunRecord]:
    """The folder of a night, and the night, of which 40 samples are drawn into `ask`."""
    folder = comments_in(tmp_path_factory.mktemp("labels"))
    perform_night(folder, "night")
    store, record = latest(folder, "night")
    said = draw_to_label(store, record, BUDGET, folder / "ask", text="text")
    assert "drawn for majority" in said
    return folder, store, record


def truth_of(folder: Path) -> dict[str, str]:
    return dict(pd.read_csv(folder / "truth.csv")[["comment", "answer"]].to_numpy().tolist())


def rows_in(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def write_rows(file: Path, rows: list[dict[str, str]]) -> Path:
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return file


def filled(folder: Path) -> list[dict[str, str]]:
    truth = truth_of(folder)
    return [row | {"label": truth[row["sample"]]} for row in rows_in(folder / "ask" / "answers.csv")]


def test_the_chance_to_be_drawn_is_kept_and_nothing_leads_people(drawn: tuple[Path, Store, RunRecord]) -> None:
    folder, store, record = drawn
    rows, tasks = rows_in(folder / "ask" / "answers.csv"), tasks_in(folder / "ask")
    population = read_draw(store, "night", rows[0]["draw"]).to_pandas()
    assert population["probability"].sum() == pytest.approx(BUDGET)
    assert population["probability"].min() > 0
    assert set(population.loc[population["drawn"], "id"]) == {row["sample"] for row in rows}
    assert [row["sample"] for row in rows] == [task["data"]["sample"] for task in tasks]
    assert all(task["predictions"] == [] and "hardness" not in task["data"] for task in tasks)
    assert set(rows[0]) == {"draw", "sample", "label", "place", "text"}
    draw_to_label(store, record, BUDGET, folder / "again", text="text")
    assert rows_in(folder / "again" / "answers.csv") == rows


def test_answers_are_in_the_report_of_the_next_night(drawn: tuple[Path, Store, RunRecord]) -> None:
    folder, store, record = drawn
    answers = filled(folder)
    answers[0]["label"] = "?"
    said = take_labels(store, record, write_rows(folder / "mine.csv", answers))
    assert re.search(r"The labels of majority are right on \d+.% \[\d+, \d+\] by 3\d labels", said)
    heard = Heard()
    perform_night(folder, "night", heard=heard)
    store, again = latest(folder, "night")
    findings = FindingIndex(findings_of(store, again))
    labels = read_table(store, labelled_by(store, again)["majority"].labels).to_pylist()
    truth, names = truth_of(folder), ("ham", "spam")
    right = [names[row["label"]] == truth[row["id"]] for row in labels if not row["undecided"]]
    for of in ("ppi++", "classical"):
        share = findings.get("people.accuracy", of=of, group="majority")
        assert share is not None
        assert share.value is not None
        assert share.low is not None
        assert share.high is not None
        # What is drawn hangs on the run's name, so that one interval in twenty misses the truth; none by its width.
        assert share.high - share.low < 0.35
        assert abs(share.value - sum(right) / len(right)) < 0.25  # other samples are drawn every time
    assert findings.get("people.recall", of="ppi++", group="majority, spam") is not None
    page = store.folder.read(f"reports/{again.id}/index.html").decode()
    assert "What people said of 40 samples" in page
    assert "Left out: 1 sample whose class people could not tell." in page


def test_label_studio_and_csv_say_the_same(drawn: tuple[Path, Store, RunRecord]) -> None:
    folder, store, record = drawn
    answers = filled(folder)
    answers[0]["label"] = answers[1]["label"] = "?"
    by_csv = take_labels(store, record, write_rows(folder / "mine.csv", answers))
    said: dict[str, list[str | None]] = {row["sample"]: [row["label"]] for row in answers}
    said |= {answers[0]["sample"]: [None], answers[1]["sample"]: ["ham", "spam"]}
    (folder / "mine.json").write_text(json.dumps(answered(tasks_in(folder / "ask"), said)))
    assert take_labels(store, record, folder / "mine.json") == by_csv


def without_label(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [row | {"label": "" if at == 3 else row["label"]} for at, row in enumerate(rows)]


def of_another(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [row | {"draw": "2026-01-01-0200-aaaa-123456"} for row in rows]


Change = Callable[[list[dict[str, str]]], list[dict[str, str]]]
WRONG: dict[str, tuple[Change, str]] = {
    "incomplete": (without_label, r"mine\.csv, line 5: the sample 'c\d+' has no answer yet"),
    "a row is gone": (lambda rows: rows[1:], r"mine\.csv has no row of 1 drawn sample, 'c\d+' the first"),
    "unknown": (lambda rows: [*rows, rows[0] | {"sample": "c999"}], "line 42: the sample 'c999' was not drawn"),
    "twice": (
        lambda rows: [*rows, rows[0] | {"label": "ham" if rows[0]["label"] == "spam" else "spam"}],
        r"line 42: the sample 'c\d+' is '\w+', and at line 2 it is '\w+'",
    ),
    "no class": (
        lambda rows: [rows[0] | {"label": "egg"}, *rows[1:]],
        "line 2: 'egg' is none of the classes ham, spam",
    ),
    "another draw": (of_another, r"night has no draw '2026-01-01-0200-aaaa-123456'; it has \S+"),
    "two draws": (lambda rows: [*rows[:-1], rows[-1] | {"draw": "other"}], "line 41: is of the draw 'other'"),
    "no column": (lambda rows: [{"sample": "c1", "label": "ham"}], "line 1: there is no column 'draw'"),
}


def test_answers_that_would_estimate_something_else_are_refused(drawn: tuple[Path, Store, RunRecord]) -> None:
    folder, store, record = drawn
    kept = {file: file.read_bytes() for file in folder.rglob("drawn/**/*.json")}
    for name, (change, sentence) in WRONG.items():
        file = write_rows(folder / "mine.csv", change(filled(folder)))
        with pytest.raises(InputError, match=sentence):
            take_labels(store, record, file)
        assert {file: file.read_bytes() for file in folder.rglob("drawn/**/*.json")} == kept, name


def test_only_samples_without_gold_are_drawn_where_asked(drawn: tuple[Path, Store, RunRecord]) -> None:
    folder, store, record = drawn
    draw_to_label(store, record, 200, folder / "rest", text="text", without_gold=True)
    ids = [row["sample"] for row in rows_in(folder / "rest" / "answers.csv")]
    labels = read_table(store, labelled_by(store, record)["majority"].labels).to_pylist()
    assert set(ids) == {row["id"] for row in labels if not row["undecided"] and int(row["id"][1:]) % 3}
    with pytest.raises(InputError, match="nobody called 'majorty' says classes; did you mean majority"):
        draw_to_label(store, record, 20, folder / "no", of="majorty")


def test_the_hardest_say_that_they_are_no_fair_draw(drawn: tuple[Path, Store, RunRecord]) -> None:
    folder, store, record = drawn
    export_for_labelling(store, record, 10, folder / "hard", text="text")
    assert "The hardest are no fair draw" in (folder / "hard" / "README.md").read_text()
