"""What a person should look at goes to Label Studio, and the answers come back as the gold of the next night."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from comments_night import PIPELINES, N, answered, comments_in, tasks_in
from direct_nights import Heard, latest, perform_night
from PIL import Image

from assay.flows.configuration.loading import load_project
from assay.flows.export.lake import export_to_lake
from assay.flows.export.samples_to_review import export_for_labelling
from assay.flows.report.records import ingested, labelled_by, parts_of, read_table, samples_of_run
from assay.flows.starting.first_look import read_samples as samples_of_source
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import findings_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return comments_in(tmp_path)


def a_night(folder: Path, heard: Heard | None = None) -> tuple[Store, RunRecord]:
    perform_night(folder, "night", heard=heard)
    store, record = latest(folder, "night")
    assert record.failures == []
    return store, record


@pytest.mark.slow
def test_the_answers_to_one_night_are_the_gold_of_the_next(folder: Path) -> None:
    store, record = a_night(folder)
    truth = dict(pd.read_csv(folder / "truth.csv")[["comment", "answer"]].to_numpy().tolist())
    export_for_labelling(store, record, 30, folder / "ask", text="text")
    tasks = tasks_in(folder / "ask")
    ids = [task["data"]["sample"] for task in tasks]
    assert len(set(ids)) == 30

    before = {row["id"]: row["gold"] for row in read_table(store, samples_of_run(record)).to_pylist()}
    with_gold = [one for one in ids if before[one] is not None]
    against, tied, skipped, nobody = with_gold[0], ids[-1], ids[-2], ids[-3]
    other = {"ham": "spam", "spam": "ham"}
    said: dict[str, list[str | None]] = {one: [truth[one], truth[one]] for one in ids}
    said |= {against: [other[truth[against]]], tied: ["ham", "spam"], skipped: [None], nobody: []}
    more = [{"data": {"sample": "gone"}, "predictions": []}]
    content = json.dumps(answered([*tasks, *more], said | {"gone": ["ham"]}))
    (folder / "answers.json").write_text(content)
    (folder / "pipelines.yaml").write_text(PIPELINES % ", gold: answers.json")

    heard = Heard()
    store, again = a_night(folder, heard)
    codes = {"ham": 0, "spam": 1}
    after = {row["id"]: row["gold"] for row in read_table(store, samples_of_run(again)).to_pylist()}
    untouched = {*after} - {*ids} | {tied, skipped, nobody}
    assert {one: after[one] for one in untouched} == {one: before[one] for one in untouched}
    people = {one: codes[truth[one]] for one in ids if one not in untouched} | {against: codes[other[truth[against]]]}
    assert {one: after[one] for one in people} == people

    [line] = [one for one in heard.stages if one.startswith("answers:")]
    assert line.startswith("answers: 27 samples have people's gold (")
    assert all(part in line for part in ("1 against gold", "1 tied", "1 skipped", "1 unanswered"))
    assert any(
        "1 of the 31 samples that answers.json (gold) speaks of are not among tonight's" in one for one in heard.notices
    )

    seen = samples_of_source(load_project(folder / "pipelines.yaml").pipeline("night").source, folder).samples
    assert dict(zip(seen["id"].to_pylist(), seen["gold"].to_pylist(), strict=True)) == after  # as rules are tried on

    # The findings of curation stand on the answers: so many samples more have gold.
    new = sum(before[one] is None for one in people)
    measured = [{one.metric: one for one in findings_of(store, which)} for which in (record, again)]
    n_before, n_after = (found["ordering.accuracy"].n for found in measured)
    assert (n_before, n_after) == (N // 3, N // 3 + new)
    found = measured[1]
    assert (found["answers.given"].value, found["answers.given"].n) == (27 / 30, 30)
    held = len(with_gold) - sum(one in with_gold for one in (tied, skipped, nobody))
    assert (found["answers.overruled"].value, found["answers.overruled"].n) == (1 / held, held)
    page = folder / "store" / "reports" / again.id / "index.html"
    shown = page.read_text() if page.exists() else Path(str(again.report)).read_text()
    assert "People&#x27;s answers" in shown or "People's answers" in shown
    assert "27 samples of 30 that people were asked about have their answer as gold" in shown.replace("&#x27;", "'")

    # The content is in the key: one more answer, and gold is another.
    (folder / "answers.json").write_text(json.dumps(answered([*tasks, *more], said | {nobody: [truth[nobody]]})))
    store, third = a_night(folder)
    assert {row["id"]: row["gold"] for row in read_table(store, samples_of_run(third)).to_pylist()}[nobody] == codes[
        truth[nobody]
    ]


@pytest.mark.parametrize("by", ["bound", "entropy"])
def test_tasks_are_hardest_first_with_the_weak_label_and_without_gold(folder: Path, by: str) -> None:
    config = folder / "pipelines.yaml"
    config.write_text(config.read_text().replace("ordering: {", f"ordering: {{by: {by}, "))
    store, record = a_night(folder)
    said = export_for_labelling(store, record, N, folder / "ask", without_gold=True, text="text")
    tasks = tasks_in(folder / "ask")
    gold = {row["id"]: row["gold"] for row in read_table(store, samples_of_run(record)).to_pylist()}
    assert len(tasks) == sum(one is None for one in gold.values()) == 80
    assert all(gold[task["data"]["sample"]] is None for task in tasks)
    ours = labelled_by(store, record)["majority"]
    assert ours.intervals is not None
    lower = {row["id"]: row["lower"] for part in parts_of(store, ours.intervals) for row in part.to_pylist()}
    bounds = [lower[task["data"]["sample"]] for task in tasks]
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1]

    weak = {row["id"]: row for row in read_table(store, ours.labels).to_pylist()}
    assert {one["undecided"] for one in weak.values()} == {True, False}
    for task in tasks:
        mine = weak[task["data"]["sample"]]
        if mine["undecided"]:
            assert task["predictions"] == []
            continue
        [prediction] = task["predictions"]
        assert prediction["result"][0]["value"] == {"choices": [("ham", "spam")[mine["label"]]]}
        assert prediction["score"] == mine["confidence"]
        assert prediction["model_version"] == f"majority {record.id}"
    decided = sum(not weak[task["data"]["sample"]]["undecided"] for task in tasks)
    assert said.startswith(f"{folder / 'ask'}: 80 tasks, {decided} with a weak label, hardest by theta_l")
    assert not any("answer" in task["data"] or "gold" in task["data"] for task in tasks)

    interface = ElementTree.parse(folder / "ask" / "labeling.xml").getroot()
    assert [one.get("value") for one in interface.iter("Choice")] == ["ham", "spam"]
    assert interface.find("Text").attrib == {"name": "shown", "value": "$text"}  # type: ignore[union-attr]
    assert interface.find("Choices").get("toName") == "shown"  # type: ignore[union-attr]
    assert all(task["data"]["text"].startswith("nice video") for task in tasks)


def test_rows_are_shown_as_tables_and_what_is_asked_for_and_not_there_is_named(folder: Path) -> None:
    store, record = a_night(folder)
    export_for_labelling(store, record, 2, folder / "ask")
    assert [list(task["data"]["row"]) for task in tasks_in(folder / "ask")] == [["text"], ["text"]]
    assert "<Table" in (folder / "ask" / "labeling.xml").read_text()
    for asked, sentence in [
        ({"by": "eps"}, r"does not say how hard samples are by eps; it has theta_l\."),
        ({"labeler": "snorkle"}, r"has no labeler 'snorkle'; known here: majority"),
        ({"text": "txt"}, r"no text in a column 'txt'; columns with text are id, text"),
    ]:
        with pytest.raises(InputError, match=sentence):
            export_for_labelling(store, record, 2, folder / "other", **asked)
    record.settings["source"]["masked"] = True
    with pytest.raises(InputError, match="are masked, so nobody could read a task"):
        export_for_labelling(store, record, 2, folder / "other", text="text")
    assert not (folder / "other").exists()


@pytest.mark.parametrize(
    ("content", "more", "sentence"),
    [
        (None, "answers.json", r"There is no file answers\.json \(gold\)"),
        ([{"data": {"text": "a"}, "annotations": []}], "answers.json", r"Task 1 of answers\.json has no 'sample'"),
        (
            [("c001", "eggs")],
            "answers.json",
            r"says 'eggs' of the sample 'c001', which is none of the classes ham, spam",
        ),
        (
            [("c001", "ham")],
            "{label_studio: answers.json, question: verdict}",
            r"Nobody answers 'verdict' in answers\.json, only label",
        ),
    ],
)
def test_answers_that_cannot_be_used_are_one_sentence(folder: Path, content: Any, more: str, sentence: str) -> None:
    if content is not None:
        rows = [
            one if isinstance(one, dict) else answered([{"data": {"sample": one[0]}}], {one[0]: [one[1]]})[0]
            for one in content
        ]
        (folder / "answers.json").write_text(json.dumps(rows))
    (folder / "pipelines.yaml").write_text(PIPELINES % f", gold: {more}")
    pipeline = load_project(folder / "pipelines.yaml").pipeline("night")
    [missing] = pipeline.missing_things(folder)
    assert re.search(sentence, str(missing.error))
    assert missing.where[:2] == ("source", "gold")


def test_pictures_are_inside_the_task_or_files_that_label_studio_serves(tmp_path: Path) -> None:
    (tmp_path / "scans").mkdir()
    for at in range(40):
        place = tmp_path / "scans" / ("dark" if at % 2 else "light")
        place.mkdir(exist_ok=True)
        Image.fromarray(np.full((6, 5), 20 + 5 * at if at % 2 else 250 - at, np.uint8)).save(place / f"{at}.png")
    (tmp_path / "pipelines.yaml").write_text(
        """
pipelines:
  night:
    source: {images: scans}
    labeling:
      classes: [dark, light]
      rules: [{name: bright, when: {picture: brightness, above: 0.7}, vote: light},
              {name: dim, when: {picture: brightness, below: 0.5}, vote: dark},
              {name: very, when: {picture: brightness, above: 0.9}, vote: light}]
    weak_labels: {labelers: [majority]}
    ordering: {datasets: 3}
"""
    )
    store, record = a_night(tmp_path)
    export_for_labelling(store, record, 3, tmp_path / "inside")
    export_for_labelling(store, record, 3, tmp_path / "served", files=True)
    for one, other in zip(tasks_in(tmp_path / "inside"), tasks_in(tmp_path / "served"), strict=True):
        head, _, content = one["data"]["image"].partition(",")
        assert head == "data:image/png;base64"
        inside = np.asarray(Image.open(io.BytesIO(base64.b64decode(content))))
        assert np.array_equal(inside, np.asarray(Image.open(tmp_path / "scans" / one["data"]["sample"])))
        url = other["data"]["image"]
        assert url.startswith("/data/local-files/?d=served/pictures/")
        served = np.asarray(Image.open(tmp_path / url.partition("?d=")[2]))
        assert np.array_equal(inside, served)
    assert "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT" in (tmp_path / "served" / "README.md").read_text()
    assert ingested(record)["samples"].rows == 40
    export_to_lake(store, record, str(tmp_path / "lake"))
    labels = pq.read_table(tmp_path / "lake" / "weak_labels")
    assert labels["path"].to_pylist() == labels["id"].to_pylist()
    assert (tmp_path / "scans" / labels["path"][0].as_py()).is_file()
