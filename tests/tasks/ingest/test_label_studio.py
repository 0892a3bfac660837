"""An export of Label Studio: what people chose, marked and rated, and what was shown to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import resolve
from assay.tasks.ingest.task import ingest


def result(kind: str, name: str, value: Any) -> dict[str, Any]:
    """One answer, as Label Studio writes it."""
    return {"id": "x1", "from_name": name, "to_name": "shown", "type": kind, "origin": "manual", "value": value}


def annotation(person: int, *results: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": person,
        "completed_by": person,
        "was_cancelled": False,
        "ground_truth": False,
        "result": list(results),
    } | more


def chose(person: int, word: str, **more: Any) -> dict[str, Any]:
    return annotation(person, result("choices", "verdict", {"choices": [word]}), **more)


def export(place: Path, tasks: list[tuple[dict[str, Any], list[dict[str, Any]]]]) -> Path:
    found = [
        {"id": 100 + at, "data": data, "annotations": given, "predictions": []}
        for at, (data, given) in enumerate(tasks)
    ]
    place.write_text(json.dumps(found))
    return place


def test_the_class_is_what_most_people_chose(read: Any, tmp_path: Path) -> None:
    export(
        tmp_path / "a.json",
        [
            ({"text": "one"}, [chose(1, "ham"), chose(2, "ham"), chose(3, "spam")]),
            ({"text": "two"}, [chose(1, "ham"), chose(2, "spam")]),
            ({"text": "three"}, [chose(1, "ham"), chose(2, "ham"), chose(3, "spam", ground_truth=True)]),
            ({"text": "four"}, [chose(1, "spam"), chose(2, "ham", was_cancelled=True)]),
            ({"text": "five"}, []),
        ],
    )
    found = read(label_studio="a.json", label="verdict")
    assert found.classes == ("ham", "spam")
    assert found.samples["gold"].to_pylist() == [0, None, 1, 1, None]
    assert found.samples["id"].to_pylist() == ["100", "101", "102", "103", "104"]
    assert found.samples["text"].to_pylist() == ["one", "two", "three", "four", "five"]
    assert found.samples["verdict_by_2"].to_pylist() == ["ham", "spam", None, None, None]


@pytest.mark.parametrize("partitions", [1, 4])
def test_exports_of_other_people_come_in_together(make_run: Any, tmp_path: Path, partitions: int) -> None:
    export(tmp_path / "a.json", [({"text": f"a{at}"}, [chose(1, "ham"), chose(2, "spam")]) for at in range(5)])
    alone = [({"text": f"b{at}", "from": "mail"}, [chose(3, ("ham", "spam")[at % 2])]) for at in range(6)]
    export(tmp_path / "b.json", alone)
    tasks = json.loads((tmp_path / "b.json").read_text())
    (tmp_path / "b.json").write_text(json.dumps([task | {"id": task["id"] + 100} for task in tasks]))
    with make_run(store=str(tmp_path / "store"), partitions=partitions):
        resolved = resolve(Source(label_studio=("a.json", "b.json"), label="verdict"), tmp_path)
        samples = collect(ingest(resolved, resolved.settings).samples, None)
    assert samples["gold"].to_pylist() == [None] * 5 + [0, 1, 0, 1, 0, 1]
    assert samples["text"].to_pylist() == [f"a{at}" for at in range(5)] + [f"b{at}" for at in range(6)]
    assert samples["verdict_by_1"].to_pylist() == ["ham"] * 5 + [None] * 6
    assert samples["verdict_by_3"].to_pylist() == [None] * 5 + ["ham", "spam"] * 3
    assert samples["from"].to_pylist() == [None] * 5 + ["mail"] * 6


@pytest.mark.parametrize("partitions", [1, 4])
def test_tasks_come_in_through_the_stage_in_any_cut(make_run: Any, tmp_path: Path, partitions: int) -> None:
    export(tmp_path / "a.json", [({"text": f"t{at}"}, [chose(1, ("ham", "spam")[at % 2])]) for at in range(30)])
    with make_run(store=str(tmp_path / f"store{partitions}"), partitions=partitions):
        resolved = resolve(Source(label_studio=("a.json",), label="verdict"), tmp_path)
        samples = collect(ingest(resolved, resolved.settings).samples, None)
    assert samples["gold"].to_pylist() == [0, 1] * 15
    assert samples["text"].to_pylist() == [f"t{at}" for at in range(30)]


def test_spans_are_tags_of_words(read: Any, tmp_path: Path) -> None:
    text = "No lung cancer, but (mild) asthma."
    spans = [
        result("labels", "entity", {"start": 3, "end": 14, "text": "lung cancer", "labels": ["Disease"]}),
        result("labels", "entity", {"start": 27, "end": 33, "text": "asthma", "labels": ["Disease"]}),
    ]
    export(
        tmp_path / "a.json",
        [({"title": "No", "note": text}, [annotation(1, *spans)]), ({"title": "No", "note": "Well."}, [annotation(1)])],
    )
    found = read(label_studio="a.json", tags="entity").samples
    assert found["tokens"].to_pylist()[0] == ["No", "lung", "cancer", ",", "but", "(", "mild", ")", "asthma", "."]
    assert found["entity"].to_pylist() == [
        ["O", "B-Disease", "I-Disease", "O", "O", "O", "O", "O", "B-Disease", "O"],
        ["O", "O"],
    ]


def test_a_span_behind_an_emoji_is_where_its_words_are(read: Any, tmp_path: Path) -> None:
    text, span = (
        "😀😀 No asthma, good.",
        {"start": 8, "end": 14, "text": "asthma", "labels": ["Disease"]},
    )  # as JavaScript
    export(tmp_path / "a.json", [({"note": text}, [annotation(1, result("labels", "entity", span))])])
    found = read(label_studio="a.json", tags="entity").samples
    tagged = dict(zip(found["tokens"].to_pylist()[0], found["entity"].to_pylist()[0], strict=True))
    assert tagged == {"😀": "O", "No": "O", "asthma": "B-Disease", ",": "O", "good": "O", ".": "O"}


def test_ratings_are_scores_and_several_choices_are_labels(read: Any, tmp_path: Path) -> None:
    many = [[], ["a"], ["a", "b"]]
    tasks = []
    for at, chosen in enumerate(many):
        first = annotation(
            1,
            result("rating", "stars", {"rating": at}),
            *([result("choices", "topics", {"choices": chosen})] if chosen else []),
        )
        tasks.append(({"text": "t"}, [first, annotation(2, result("rating", "stars", {"rating": at + 1}))]))
    export(tmp_path / "a.json", tasks)
    assert read(label_studio="a.json", score="stars").samples["stars"].to_pylist() == [0.5, 1.5, 2.5]
    found = read(label_studio="a.json", labels="topics")
    assert found.classes == ("a", "b")
    assert found.samples["labels"].to_pylist() == [[-1, -1], [1, 0], [1, 1]]


def test_images_are_found_beside_the_export(read: Any, tmp_path: Path) -> None:
    (tmp_path / "scans").mkdir()
    for at in range(4):
        Image.fromarray(np.full((6, 5), at * 50, np.uint8)).save(tmp_path / "scans" / f"{at}.png")
    tasks = [({"image": f"/data/local-files/?d=scans/{at}.png"}, [chose(1, "ab"[at % 2])]) for at in range(4)]
    export(tmp_path / "a.json", tasks)
    found = read(label_studio="a.json", label="verdict", image="image").samples
    assert [row[0] for row in found["image"].to_pylist()] == [0, 50, 100, 150]


@pytest.mark.parametrize(
    ("content", "more", "sentence"),
    [
        ("{", {}, r"a\.json is no JSON \(.*\); export the project again, as JSON\."),
        ('{"id": 1}', {}, r"a\.json has no list of tasks"),
        ('[{"id": 1, "text": "a", "verdict": "ham"}]', {}, "has no `data` and `annotations` in task 1"),
        (
            '[{"id": 1, "data": {}, "annotations": [{"result": [{"type": "choices"}]}]}]',
            {},
            "has an annotation in task 1 that is not as Label Studio writes it",
        ),
        ("", {"label": "veredict"}, r"has no column 'veredict', which `label` names; .* Did you mean verdict\?"),
    ],
)
def test_what_is_no_export_is_one_sentence(read: Any, tmp_path: Path, content: str, more: Any, sentence: str) -> None:
    export(tmp_path / "a.json", [({"text": "one"}, [chose(1, "ham")])])
    if content:
        (tmp_path / "a.json").write_text(content)
    with pytest.raises(InputError, match=sentence) as caught:
        read(label_studio="a.json", **({"label": "verdict"} | more))
    assert "\n" not in str(caught.value)


def test_the_last_answer_of_each_person_counts_and_nobody_counts_twice(read: Any, tmp_path: Path) -> None:
    again = [chose(1, "spam"), chose(2, "ham"), chose(1, "ham")]
    nobodys = [annotation(0, result("choices", "verdict", {"choices": [word]}), completed_by=None) for word in "aab"]
    loud = [chose(1, "spam"), chose(1, "spam"), chose(2, "ham"), chose(3, "ham")]
    export(tmp_path / "a.json", [({"text": "t"}, given) for given in (again, nobodys, loud)])
    found = read(label_studio="a.json", label="verdict", classes=("ham", "spam", "a", "b")).samples
    assert found["gold"].to_pylist() == [0, 2, 0]
    assert found["verdict_by_1"].to_pylist() == ["ham", None, "spam"]


def test_of_several_people_count_the_spans_and_choices_that_most_gave(read: Any, tmp_path: Path) -> None:
    def marked(person: int, *words: str) -> dict[str, Any]:
        places = [(text.index(word), word) for word in words]
        spans = [{"start": at, "end": at + len(word), "text": word, "labels": ["Drug"]} for at, word in places]
        chosen = [result("choices", "topics", {"choices": list(words)})] if words else []
        return annotation(person, *(result("labels", "entity", span) for span in spans), *chosen)

    text = "aspirin or ibuprofen lysine"
    both, one = ("aspirin", "ibuprofen lysine"), ("aspirin",)
    three, even = [marked(1, *one), marked(2, *both), marked(3, *both)], [marked(1, *one), marked(2, *both)]
    export(tmp_path / "a.json", [({"text": text}, given) for given in (three, even, [marked(1), marked(2)])])
    found = read(label_studio="a.json", tags="entity").samples["entity"].to_pylist()
    assert found == [["B-Drug", "O", "B-Drug", "I-Drug"], None, ["O"] * 4]
    labels = read(label_studio="a.json", labels="topics", features=("text",))
    assert labels.classes == ("aspirin", "ibuprofen lysine")
    assert labels.samples["labels"].to_pylist() == [[1, 1], [-1, -1], [-1, -1]]


def test_spans_named_as_the_class_are_refused_with_what_to_write(read: Any, tmp_path: Path) -> None:
    span = result("labels", "entity", {"start": 0, "end": 1, "text": "t", "labels": ["Drug"]})
    export(tmp_path / "a.json", [({"text": "t"}, [annotation(1, span)])])
    with pytest.raises(InputError, match=r"in label column 'entity'.* \(or see `tags`\)"):
        read(label_studio="a.json", label="entity")
