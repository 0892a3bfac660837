"""The text data sets of the catalogue as samples; of hateful and private ones only counts are ever compared."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from assay.data.catalog import located
from assay.data.text_loaders import ag_news, cams, emotion, hatexplain, rt_polarity
from assay.infra.errors import InputError


def pack(path: Path, content: bytes) -> None:
    path.write_bytes(gzip.compress(content))


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("name", "splits", "golds"),
    [
        ("rt-polarity", {"train": 8530, "valid": 1066, "test": 1066}, {0: 5331, 1: 5331}),
        ("ag-news", {"train": 5000, "test": 7600}, {0: 3159, 1: 3157, 2: 3181, 3: 3103}),
        (
            "emotion",
            {"train": 16000, "valid": 2000, "test": 2000},
            {0: 5797, 1: 6761, 2: 1641, 3: 2709, 4: 2373, 5: 719},
        ),
        ("hatexplain", {"valid": 1922, "test": 1924}, {0: 1187, 1: 1563, 2: 1096}),
        ("cams", {"train": 4613, "test": 370}, {0: 627, 1: 347, 2: 631, 3: 624, 4: 1340, 5: 1411, None: 3}),
    ],
)
def test_a_data_set_of_the_mirror_is_whole(name: str, splits: dict, golds: dict) -> None:
    table = located(name).load()
    assert Counter(table["split"].to_pylist()) == splits
    assert Counter(table["gold"].to_pylist()) == golds
    assert len(set(table["id"].to_pylist())) == table.num_rows
    assert all(text.strip() for text in table["text"].to_pylist())
    assert len(json.loads(table.schema.metadata[b"classes"])) == len(golds.keys() - {None})


@pytest.mark.mirror
def test_the_rationales_of_the_mirror_lie_in_their_texts() -> None:
    posts = located("hatexplain").load().to_pylist()
    marked = [post for post in posts if post["rationale"]]
    assert len(marked) == 2282
    assert all(post["gold"] in (0, 2) for post in marked if post["gold"] is not None)
    for post in marked:
        for span in post["rationale"]:
            assert post["text"][span["start"] : span["end"]].split() == [post["text"][span["start"] : span["end"]]]
    phrased = [post for post in located("cams").load().to_pylist() if post["rationale"]]
    assert len(phrased) == 4351


def test_snippets_are_split_in_the_order_of_their_files(tmp_path) -> None:
    for name in ("neg", "pos"):
        lines = [f"a {name} caf\xe9 film , number {number}" for number in range(4800)]
        pack(tmp_path / f"rt-polarity.{name}.gz", "\n".join(lines).encode("latin-1"))
    rows = rt_polarity(tmp_path).to_pylist()
    assert rows[4799] == {"id": "neg-4800", "gold": 0, "text": "a neg café film , number 4799", "split": "test"}
    assert Counter(row["split"] for row in rows) == {"train": 8530, "valid": 1066, "test": 4}


def test_news_have_title_and_text_and_a_strange_topic_is_named_by_row(tmp_path) -> None:
    pack(tmp_path / "train_sample_title_desc.csv.gz", b'label,text\n2,"Cup, won. They won"\n')
    pack(tmp_path / "test.csv.gz", b'"4","New chip","It is fast"\n')
    rows = ag_news(tmp_path).to_pylist()
    assert [(row["id"], row["gold"], row["text"]) for row in rows] == [
        ("train-0001", 1, "Cup, won. They won"),
        ("test-0001", 3, "New chip It is fast"),
    ]
    pack(tmp_path / "test.csv.gz", b'"4","a","b"\n"12","c","d"\n')
    with pytest.raises(InputError, match=r"test.csv.gz row 2 has a label that is none of 1, 2, 3, 4"):
        ag_news(tmp_path)
    pack(tmp_path / "test.csv.gz", b'"4","a"\n')
    with pytest.raises(InputError, match="row 1 has 2 columns, expected 3"):
        ag_news(tmp_path)


def test_tweets_are_cut_at_their_last_semicolon(tmp_path) -> None:
    for name in ("train", "val", "test"):
        pack(tmp_path / f"{name}.txt.gz", b"text;label_name\ni feel; so well;joy\n")
    assert [(row["text"], row["gold"]) for row in emotion(tmp_path).to_pylist()] == [("i feel; so well", 1)] * 3


def post(labels: list[str], masks: list[list[int]]) -> dict:
    annotators = [{"label": label, "annotator_id": 1, "target": []} for label in labels]
    return {"post_id": "p", "annotators": annotators, "rationales": masks, "post_tokens": ["one", "two", "three"]}


def test_a_tone_is_that_of_the_majority_and_words_those_that_half_marked(tmp_path) -> None:
    posts = {
        "a": post(["offensive", "normal", "offensive"], [[1, 0, 0], [0, 0, 1]]),
        "b": post(["offensive", "normal", "hatespeech"], [[1, 1, 0], [1, 0, 0], [0, 0, 1]]),
        "c": post(["normal"] * 3, []),
    }
    for name in ("val", "test"):
        pack(tmp_path / f"hatexplain_{name}.json.gz", json.dumps(posts if name == "val" else {}).encode())
    first, second, third = hatexplain(tmp_path).to_pylist()
    assert (first["gold"], second["gold"], third["gold"]) == (2, None, 1)
    assert first["rationale"] == [{"start": 0, "end": 3}, {"start": 8, "end": 13}]
    assert second["rationale"] == [{"start": 0, "end": 3}]
    assert third["rationale"] == []


def test_a_post_that_is_not_understood_is_never_quoted(tmp_path) -> None:
    pack(tmp_path / "hatexplain_val.json.gz", b'{"a": {"post_tokens": ["secret"], "rationales": []}}')
    with pytest.raises(InputError, match="is not the HateXplain that is expected here") as caught:
        hatexplain(tmp_path)
    assert "secret" not in str(caught.value)


def test_causes_have_phrases_both_encodings_and_no_tested_text_in_training(tmp_path) -> None:
    pack(tmp_path / "IntentSDCNL_Training.csv.gz", b'selftext,A,I\nno job,2,"no job, at all"\nthe same,1,\n,3,x\nx,,\n')
    pack(tmp_path / "added_CAMS_data.csv.gz", b"selftext,cause,inference\nit\x92s caf\xe9 \x81,4,\n")
    pack(tmp_path / "IntentSDCNL_Testing.csv.gz", b"selftext,A,I\nthe same,1,same\n")
    rows = cams(tmp_path).to_pylist()
    assert [(row["text"], row["gold"], row["split"], row["rationale"]) for row in rows] == [
        ("no job", 2, "train", ["no job", "at all"]),
        ("x", None, "train", []),
        ("it\u2019s café \x81", 4, "train", []),
        ("the same", 1, "test", ["same"]),
    ]


def test_a_file_that_is_missing_or_broken_is_named(tmp_path) -> None:
    with pytest.raises(InputError, match=r"rt-polarity.neg.gz is missing"):
        rt_polarity(tmp_path)
    (tmp_path / "rt-polarity.neg.gz").write_bytes(b"\x1f\x8bbroken")
    with pytest.raises(InputError, match=r"rt-polarity.neg.gz cannot be unpacked"):
        rt_polarity(tmp_path)
