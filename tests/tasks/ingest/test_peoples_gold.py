"""What people answered is gold: whose answer counts, what stays as it was, and in every cut the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.flows.configuration.loading import load_project
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.infra.stages.runs import Run
from assay.tasks.ingest.label_studio import find_answers
from assay.tasks.ingest.settings import PeoplesGold, Source
from assay.tasks.ingest.sources import resolve
from assay.tasks.ingest.task import Settled, ingest, settle_gold
from assay.tasks.statistics.findings import findings_from

GOLD = ["ham", "spam", "", "ham", "spam", "", "ham", "spam", "", ""]


def said(person: int | None, word: str | None, **more: Any) -> dict[str, Any]:
    """One annotation; without a word the task was skipped."""
    result = [{"type": "choices", "from_name": "label", "to_name": "shown", "value": {"choices": [word]}}]
    return {"completed_by": person, "was_cancelled": word is None, "result": result if word else []} | more


def export(place: Path, answers: dict[str, list[dict[str, Any]]]) -> None:
    tasks = [
        {"id": at, "data": {"sample": one}, "annotations": given} for at, (one, given) in enumerate(answers.items())
    ]
    place.write_text(json.dumps(tasks))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [f"s{at},{name},g{at // 2}" for at, name in enumerate(GOLD)]
    (tmp_path / "rows.csv").write_text("\n".join(["name,label,site", *lines]) + "\n")
    return tmp_path


def settle(folder: Path, gold: object, **more: Any) -> Settled:
    source = Source.model_validate({"csv": "rows.csv", "id": "name", "label": "label", "gold": gold} | more)
    resolved = resolve(source, folder)
    assert resolved.settings.gold is None  # ingest is the same whatever people say
    entered = ingest(resolved, resolved.settings)
    assert source.gold is not None
    return settle_gold(entered.samples, entered.classes, find_answers(source.gold, folder))


def gold_in(settled: Settled) -> dict[str, int | None]:
    return {row["id"]: row["gold"] for row in collect(settled.samples, ["id", "gold"]).to_pylist()}


@pytest.mark.usefixtures("run")
def test_the_last_answer_of_each_person_counts_and_a_ground_truth_alone(folder: Path) -> None:
    export(
        folder / "monday.json",
        {
            "s2": [said(1, "ham"), said(2, "ham")],
            "s5": [said(1, "ham"), said(2, "spam"), said(3, "spam", ground_truth=False)],
            "s8": [said(1, "ham"), said(2, "ham"), said(3, "spam", ground_truth=True)],
            "s9": [said(None, "ham"), said(None, "ham"), said(None, "spam")],
        },
    )
    # The same project again: nobody counts twice, and person 1 has thought better of s5.
    export(folder / "tuesday.json", {"s2": [said(1, "ham"), said(2, "spam")], "s5": [said(1, "spam"), said(2, "spam")]})
    settled = settle(folder, ["monday.json", "tuesday.json"])
    rows = {row["id"]: row for row in collect(settled.answers, None).to_pylist()}
    assert (rows["s2"]["outcome"], rows["s2"]["people"]) == ("tied", 2)
    assert (rows["s5"]["answer"], rows["s5"]["people"], rows["s5"]["agreeing"]) == (1, 3, 3)
    assert (rows["s8"]["answer"], rows["s8"]["people"]) == (1, 1)
    assert (rows["s9"]["answer"], rows["s9"]["people"], rows["s9"]["agreeing"]) == (0, 3, 2)
    assert gold_in(settled) | {"s2": None, "s5": 1, "s8": 1, "s9": 0} == gold_in(settled)


@pytest.mark.usefixtures("run")
def test_gold_stays_where_people_say_nothing_clear(folder: Path) -> None:
    answers = {
        "s0": [said(1, "spam")],
        "s1": [said(1, "spam"), said(2, "spam")],
        "s3": [said(1, "ham"), said(2, "spam")],
        "s4": [said(1, None)],
        "s6": [],
        "s2": [said(1, "spam"), said(2, None)],
    }
    export(folder / "answers.json", answers)
    settled = settle(folder, "answers.json")
    assert gold_in(settled) == {f"s{at}": code for at, code in enumerate([1, 1, 1, 0, 1, None, 0, 1, None, None])}
    rows = {row["id"]: row["outcome"] for row in collect(settled.answers, None).to_pylist()}
    expected = ["overruled", "confirmed", "new", "tied", "skipped", "unanswered"]
    assert [rows[name] for name in ("s0", "s1", "s2", "s3", "s4", "s6")] == expected
    found = {one.metric: one for one in findings_from(collect(settled.findings, None))}
    assert (found["answers.given"].value, found["answers.given"].n) == (0.5, 6)
    assert (found["answers.overruled"].value, found["answers.overruled"].n) == (0.5, 2)
    assert (found["answers.unanimous"].value, found["answers.unanimous"].n) == (0.5, 2)


@pytest.mark.usefixtures("run")
def test_intervals_of_answers_count_groups(folder: Path) -> None:
    export(folder / "answers.json", {f"s{at}": [said(1, "spam" if at < 4 else "ham")] for at in range(8)})
    apart = {one.metric: one for one in findings_from(collect(settle(folder, "answers.json").findings, None))}
    together = settle(folder, "answers.json", group="site")
    grouped = {one.metric: one for one in findings_from(collect(together.findings, None))}
    one, other = apart["answers.overruled"], grouped["answers.overruled"]
    assert (one.value, one.n) == (other.value, other.n)
    assert (one.low, one.high) != (other.low, other.high)
    assert None not in collect(together.answers, ["cluster"])["cluster"].to_pylist()


def test_the_cut_changes_nothing_and_the_content_is_in_the_key(folder: Path, make_run: Callable[..., Run]) -> None:
    digests, keys = set(), []
    for store, partitions, more in (("a", 1, "ham"), ("b", 4, "ham"), ("c", 1, "spam")):
        export(folder / "answers.json", {f"s{at}": [said(1, more)] for at in range(3)})
        with make_run(store=str(folder / store), partitions=partitions) as run:
            settled = settle(folder, "answers.json")
        digests.add((settled.samples.digest, settled.answers.digest))
        keys.append(run.record.stages[-1].key)
    assert len(digests) == 2
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.usefixtures("run")
def test_gold_that_is_hidden_by_its_part_is_seen_where_people_gave_it(folder: Path) -> None:
    export(folder / "answers.json", {"s0": [said(1, "spam")]})
    gold = gold_in(settle(folder, "answers.json", split="site", gold_in=["g4"]))
    assert gold == {f"s{at}": 1 if at == 0 else None for at in range(10)}


@pytest.mark.parametrize(
    ("answers", "gold", "sentence"),
    [
        ({"s0": [said(1, "eggs")]}, "a.json", "a.json says 'eggs' of the sample 's0', which is none of the classes"),
        (
            {
                "s0": [
                    {
                        "completed_by": 1,
                        "result": [{**said(1, "ham")["result"][0], "value": {"choices": ["ham", "spam"]}}],
                    }
                ]
            },
            "a.json",
            "Somebody chose 2 classes for the sample 's0', and gold is one class",
        ),
        ({" ": [said(1, "ham")]}, "a.json", "Task 1 of a.json has no 'sample'"),
        (
            {"s0": [said(1, "ham")]},
            {"label_studio": "a.json", "question": "verdict"},
            "Nobody answers 'verdict' in a.json, only label",
        ),
    ],
)
@pytest.mark.usefixtures("run")
def test_what_cannot_be_gold_is_one_sentence(folder: Path, answers: Any, gold: Any, sentence: str) -> None:
    export(folder / "a.json", answers)
    with pytest.raises(InputError, match=sentence) as caught:
        settle(folder, gold)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("run")
def test_samples_with_several_labels_have_no_such_gold(folder: Path) -> None:
    (folder / "rows.csv").write_text("name,cough,fever\ns0,1,0\ns1,0,1\n")
    export(folder / "a.json", {"s0": [said(1, "cough")]})
    with pytest.raises(ValueError, match="gold is one class a sample, and with labels samples have another truth"):
        Source.model_validate({"csv": "rows.csv", "labels": ["cough", "fever"], "gold": "a.json"})
    resolved = resolve(Source(csv=("rows.csv",), id="name", labels=("cough", "fever")), folder)
    entered = ingest(resolved, resolved.settings)
    with pytest.raises(InputError, match="these samples have several, or another truth; leave"):
        settle_gold(entered.samples, entered.classes, find_answers(PeoplesGold(label_studio=("a.json",)), folder))


def test_gates_on_answers_need_answers(tmp_path: Path) -> None:
    text = """
pipelines:
  night:
    source: {csv: rows.csv, label: label%s}
    gates: [{finding: answers.overruled, at_most: 0.2}]
"""
    (tmp_path / "pipelines.yaml").write_text(text % "")
    with pytest.raises(InputError, match=r"nothing will measure it: name people's answers under source\.gold"):
        load_project(tmp_path / "pipelines.yaml")
    (tmp_path / "pipelines.yaml").write_text(text % ", gold: [a.json, b.json]")
    gold = load_project(tmp_path / "pipelines.yaml").pipeline("night").source.gold
    assert gold == PeoplesGold(label_studio=("a.json", "b.json"))


def test_settings_without_peoples_gold_are_as_they_were() -> None:
    assert "gold" not in Source(csv=("rows.csv",)).model_dump(mode="json")
