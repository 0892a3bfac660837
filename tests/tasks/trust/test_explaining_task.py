"""The stage that explains: who is explained, by what draws, whatever the cut, the order or the workers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pytest

from assay.data.schemas import Classes, Explanations, Predictions, Samples, SubjectFiles
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, map_pieces
from assay.infra.stages.stage import stage, write_files, write_table
from assay.infra.storage.artifacts import Artifact
from assay.infra.user_code.references import refer_to_code
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Subject
from assay.tasks.trust.explainers.table import Explaining
from assay.tasks.trust.task import explain_predictions

CLASSIFIER = '''
"""Good is good, bad is bad; a text with NUL breaks it."""

def classify(texts):
    found = []
    for text in texts:
        p = 0.5 + 0.3 * ("good" in text) - 0.2 * ("bad" in text) + 0.05 * ("fine" in text)
        p = float("nan") if "broken" in text and "good" not in text else p
        found.append([1 - p, p])
    return found
'''
N = 40
TEXTS = [("good" if i % 4 else "bad") + f" number {i} and a fine day" for i in range(N)]
SAID = [1 if i % 4 else 0 for i in range(N)]
GOLD = [SAID[i] if i % 5 else 1 - SAID[i] for i in range(N)]
QUICK = Explaining(samples=60, top_words=3)


@dataclass(frozen=True)
class Rows:
    ids: tuple[int, ...]
    kind: str
    column: str = "text"
    text: str | None = ""


def rows(piece: Rows) -> pa.Table:
    ids = [f"text-{i:02d}" for i in piece.ids]
    if piece.kind == "predictions":
        shares = [[0.3, 0.7] if SAID[i] else [0.9, 0.1] for i in piece.ids]
        return pa.table([ids, [SAID[i] for i in piece.ids], shares], schema=Predictions.schema)
    texts = [TEXTS[i] if piece.text == "" else piece.text for i in piece.ids]
    gold = pa.array([GOLD[i] for i in piece.ids], pa.int16())
    return pa.table({"id": ids, "gold": gold, piece.column: pa.array(texts, pa.string())})


@stage(version=1)
def put(order: list[int], cuts: list[int], kind: str, column: str = "text", text: str | None = "") -> Artifact[Samples]:
    pieces = [Rows(tuple(order[start:end]), kind, column, text) for start, end in pairwise(cuts)]
    return map_pieces(rows, pieces, into=Predictions if kind == "predictions" else Samples)


@stage(version=1)
def put_classes() -> Artifact[Classes]:
    return write_table(pa.table({"code": [0, 1], "name": ["bad", "good"]}, schema=Classes.schema), into=Classes)


@stage(version=1)
def put_files(fingerprint: str) -> Artifact[SubjectFiles]:
    card = {"kind": "own", "fingerprint": fingerprint}
    return write_files({"card.json": json.dumps(card).encode()}, into=SubjectFiles)


@pytest.fixture
def explained(tmp_path):
    (tmp_path / "mine.py").write_text(CLASSIFIER)
    code = refer_to_code("mine.py:classify", tmp_path)
    subject = ResolvedSubject(Subject(classifier="mine.py:classify"), code)

    def call(order=None, cuts=(0, N), settings=QUICK, column="text", text="", **more):
        order = list(range(N)) if order is None else order
        samples = put(order, list(cuts), "samples", column, text)
        predictions = put(order, list(cuts), "predictions")
        files = put_files(code.fingerprint)
        return explain_predictions(samples, predictions, put_classes(), files, subject, settings, **more)

    return call


def read(artifact) -> dict[str, dict]:
    return {row["id"]: row for row in collect(artifact, None).to_pylist()}


def test_correct_predictions_are_explained_and_wrong_ones_are_not(run, explained):
    found = read(explained())
    assert set(found) == {f"text-{i:02d}" for i in range(N) if GOLD[i] == SAID[i]}
    row = found["text-01"]
    assert (row["explainer"], row["gold"], row["predicted"], row["confidence"]) == ("lime", 1, 1, 0.7)
    assert row["words"][0] == "good"
    assert (row["starts"][0], row["ends"][0]) == (0, 4)
    assert row["importance"][0] == pytest.approx(0.3, abs=0.06)
    assert (len(row["words"]), row["text_words"], row["read_words"]) == (3, 7, 7)
    assert found["text-04"]["words"][0] == "bad"
    assert found["text-04"]["importance"][0] > 0
    assert len(read(explained(correct=False))) == N


def test_neither_the_cut_nor_the_order_of_samples_changes_an_explanation(make_run, tmp_path, explained):
    with make_run(store=str(tmp_path / "one")):
        whole = explained()
        expected = read(whole)
    with make_run(store=str(tmp_path / "two")):
        again = explained(cuts=[0, 1, 2, 21, 37, N])
        assert again.digest == whole.digest
    with make_run(store=str(tmp_path / "three")):
        assert read(explained(order=list(reversed(range(N))), cuts=[0, 11, N])) == expected
    with make_run(store=str(tmp_path / "four"), seed=1):
        other = read(explained())
        assert [row["importance"] for row in other.values()] != [row["importance"] for row in expected.values()]


@pytest.mark.slow
def test_workers_give_the_same_digests_as_this_process(make_run, tmp_path, explained):
    with make_run(store=str(tmp_path / "here")):
        here = explained(correct=False)
    with make_run(store=str(tmp_path / "there")):
        explained(settings=Explaining(explainer="omission"))  # workers cannot import what makes the inputs
    with make_run(store=str(tmp_path / "there"), engine="local", workers=2):
        there = explained(correct=False)
    assert here.partitions == there.partitions == 3
    assert here.digest == there.digest


def test_a_limit_is_drawn_evenly_over_the_classes_and_a_repeat_draws_others(run, explained):
    found = read(explained(limit=10))
    assert sorted(row["predicted"] for row in found.values()) == [0] * 5 + [1] * 5
    assert all(GOLD[int(name[5:])] == SAID[int(name[5:])] for name in found)
    assert read(explained(limit=10, cuts=[0, 3, N])) == found
    assert set(read(explained(limit=10, repeat=1))) != set(found)
    again = read(explained(repeat=1))
    assert any(again[name]["importance"] != row["importance"] for name, row in found.items())


def test_the_line_says_how_many_and_what_was_not_read(run, explained):
    explained(limit=10, settings=Explaining(explainer="omission", top_words=4))
    assert run.record.stages[-1].summary == "omission · 10 correct predictions, 4 words each"
    explained(text="?!", limit=4)
    assert run.record.stages[-1].summary == "lime · 4 correct predictions, 3 words each · 4 texts without words"


def test_where_nothing_is_correct_there_is_an_empty_table(run, explained):
    wrong = [i for i in range(N) if GOLD[i] != SAID[i]]
    found = explained(order=wrong, cuts=[0, len(wrong)])
    assert (found.rows, collect(found, None).schema.names[:9]) == (0, Explanations.schema.names)
    assert run.record.stages[-1].summary == f"lime · nothing to explain among {len(wrong)} predictions"


def test_what_cannot_be_explained_is_refused_by_name(run, explained):
    with pytest.raises(InputError, match=r"no column 'text' .* their columns are id, gold, words"):
        explained(column="words")
    with pytest.raises(InputError, match="Sample 'text-01' has no text in the column 'text'"):
        explained(text=None)
    with pytest.raises(InputError, match=r"nan.* when words are dropped from the text of sample 'text-01'"):
        explained(text="good broken", order=[1, 2], cuts=[0, 2])
    with pytest.raises(InputError, match="`gradient` needs to see inside the subject"):
        explained(settings=Explaining(explainer="gradient"))
