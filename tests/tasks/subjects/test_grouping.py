"""What belongs together is held out together: pairs that share a sentence, and sentences of one document."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.data.schemas import Samples
from assay.infra.stages.partitions import collect, map_pieces
from assay.infra.stages.stage import stage
from assay.infra.storage.artifacts import Artifact
from assay.tasks.subjects.holding_out import choose_groups, shared_texts, text_marks
from assay.tasks.subjects.settings import Evaluation
from assay.tasks.subjects.task import hold_out

N = 300
WORDS = pa.list_(pa.string())


@dataclass(frozen=True)
class Piece:
    """Some samples of a kind, from one number to another."""

    kind: str
    first: int
    last: int


def rows(piece: Piece) -> pa.Table:
    numbers = range(piece.first, piece.last)
    table = {"id": pa.array([f"s{at}" for at in numbers], pa.string()), "gold": pa.nulls(len(numbers), pa.int16())}
    if piece.kind == "hub":
        table |= {
            "first": pa.array(["the same question"] * len(numbers)),
            "second": pa.array([f"b{n}" for n in numbers]),
        }
    elif piece.kind in ("pairs", "split pairs"):  # chains of three: 0-1, 1-2, 2-3; the next one begins with 4
        table |= {
            "first": pa.array([f"t{at + at // 3}" for at in numbers], pa.string()),
            "second": pa.array([f"t{at + at // 3 + 1}" for at in numbers], pa.string()),
        }
        if piece.kind == "split pairs":
            table["split"] = pa.array([("train", "test")[at % 2] for at in numbers], pa.string())
    else:
        table["tokens"] = pa.array([[f"w{at}", "."] for at in numbers], WORDS)
        if piece.kind == "documents":
            table["document"] = pa.array([f"d{at // 6}" for at in numbers], pa.string())
    return pa.table(table)


@stage(version=1)
def given_samples(kind: str, cuts: list[int]) -> Artifact[Samples]:
    return map_pieces(rows, [Piece(kind, first, last) for first, last in pairwise(cuts)], into=Samples)


def held_texts(held, *columns: str) -> list[set[str]]:
    tables = [collect(side, list(columns)) for side in held]
    return [{text for name in columns for text in table[name].to_pylist()} for table in tables]


def test_pairs_that_hang_together_stay_together_in_any_cut(run):
    options = Evaluation(holdout=0.5)
    one, many = (
        hold_out(given_samples("pairs", cuts), options, ("first", "second")) for cuts in ([0, N], [0, 1, 77, N])
    )
    assert (one.training.digest, one.evaluation.digest) == (many.training.digest, many.evaluation.digest)
    training, audited = held_texts(one, "first", "second")
    assert not training & audited
    assert one.training.rows + one.evaluation.rows == N
    assert 0.3 * N < one.evaluation.rows < 0.7 * N
    assert "in 100 groups that share no text" in run.record.stages[-1].summary


def test_pairs_that_all_hang_together_are_parted_and_counted(run):
    said: list[str] = []
    run.progress.notice = said.append
    held = hold_out(given_samples("hub", [0, N]), Evaluation(), ("first", "second"))
    assert 0 < held.evaluation.rows < N / 2
    assert f"{N} samples hang together by their texts, and were parted" in run.record.stages[-1].summary
    count = held.evaluation.rows
    assert said[0].startswith(f"{count} of the {count} audited samples share a text with one that trains")


def test_a_split_column_that_parts_pairs_with_a_common_sentence_is_told_of(run):
    held = hold_out(given_samples("split pairs", [0, N]), Evaluation(), ("first", "second"))
    training, audited = (collect(side, ["first", "second"]).to_pylist() for side in held)
    known = {text for pair in training for text in pair.values()}
    shared = sum(not known.isdisjoint(pair.values()) for pair in audited)
    assert f"{shared} of the {N // 2} audited samples share a text" in run.record.stages[-1].summary
    assert shared > 100


def test_a_document_is_audited_whole_and_where_none_is_known_it_is_said(run):
    said: list[str] = []
    run.progress.notice = said.append
    training, audited = held_texts(
        hold_out(given_samples("documents", [0, 7, N]), Evaluation(), ("tokens",)), "document"
    )
    assert not training & audited
    assert len(training | audited) == N // 6
    assert "50 documents held together" in run.record.stages[-1].summary
    assert not said
    hold_out(given_samples("sentences", [0, N]), Evaluation(), ("tokens",))
    assert said[0].startswith("No column `document` says which text a sentence is of")


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(0, 30), max_size=3), min_size=1, max_size=20), st.floats(0.1, 0.9))
def test_groups_are_what_walking_from_text_to_text_finds(texts, share):
    marks = pa.chunked_array([pa.array(texts, pa.list_(pa.uint64()))])
    chosen = choose_groups(marks, share)
    groups: list[set[int]] = []
    for row in texts:
        touched = [group for group in groups if group & set(row)]
        groups = [group for group in groups if not group & set(row)] + ([set(row).union(*touched)] if row else [])
    assert chosen.groups == len(groups)
    assert chosen.largest == max((sum(bool(group & set(row)) for row in texts) for group in groups), default=0)
    if chosen.texts is not None:
        assert all(len(group & set(chosen.texts.tolist())) in (0, len(group)) for group in groups)


def test_a_missing_text_links_nothing():
    table = pa.table({"id": ["a", "b"], "gold": [None, None], "first": ["x", "y"], "second": pa.nulls(2, pa.string())})
    marks = text_marks(table, content=("first", "second"))["texts"]
    assert choose_groups(marks, 0.5).groups == 2
    assert shared_texts(marks.slice(0, 1), marks.slice(1, 1)) == 0
    assert np.all([len(row) == 1 for row in marks.to_pylist()])


@pytest.mark.parametrize("kind", ["pairs", "documents"])
def test_a_limit_draws_from_what_is_audited(run, kind):
    texts = ("first", "second") if kind == "pairs" else ("tokens",)
    samples = given_samples(kind, [0, N])
    whole, few = (hold_out(samples, Evaluation(holdout=0.4, limit=limit), texts) for limit in (None, 20))
    assert few.evaluation.rows == 20
    assert few.training.digest == whole.training.digest
