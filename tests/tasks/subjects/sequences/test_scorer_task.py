"""Scorers from pairs to scores: trained here, brought as a folder or a function, or refused in words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from small_sentences import given_rows, pair_table, save_tiny_tagger

from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, read_files
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.sequences.task import load_scorer, predict_scores, score_table, train_scorer
from assay.tasks.subjects.settings import Subject

WHOLE = [(0, 36)]
CUT = [(0, 5), (5, 6), (6, 36)]
FUNCTION = """
def same(pairs):
    return [4.0 * (first.split()[-1] == second.split()[-1]) for first, second in pairs]

def nan(pairs):
    return [float("nan")] * len(pairs)
"""


def resolved(folder: Path, scorer: str, **settings: object) -> ResolvedSubject:
    return resolve_subject(Subject(name="it", scorer=scorer, **settings), folder)


def scored(subject: ResolvedSubject, cuts: list[tuple[int, int]] = WHOLE) -> pa.Table:
    files = train_scorer(given_rows("pairs", WHOLE), None, subject).files
    return collect(predict_scores(given_rows("pairs", cuts), files, subject), None)


def test_a_small_scorer_learns_and_scores_the_same_in_any_cut(run) -> None:
    subject = resolved(Path(), "small-scorer", train={"epochs": 10, "batch_size": 12})
    whole, cut = scored(subject), scored(subject, CUT)
    assert whole.equals(cut)
    said, gold = whole["predicted"].to_numpy(), whole["gold"].to_numpy()
    assert np.corrcoef(said, gold)[0, 1] > 0.8
    assert said.min() >= 0
    assert said.max() <= 4


def test_a_pair_alone_is_scored_as_among_others(run, tmp_path) -> None:
    save_tiny_tagger(tmp_path / "bert", ["LABEL_0"], kind="score")
    subject = resolved(tmp_path, "bert")
    files = read_files(train_scorer(given_rows("pairs", WHOLE), None, subject).files)
    scorer = load_scorer(subject, files)
    pairs = list(zip(pair_table()["first"].to_pylist(), pair_table()["second"].to_pylist(), strict=True))
    pairs += [("", ""), ("gout " * 600, "aspirin"), ("aspirin", "")]
    together = scorer.score(pairs)
    assert together.tolist() == [float(scorer.score([pair])[0]) for pair in pairs]
    assert len(set(together.tolist())) > 30
    assert scorer.count_cut(pairs) == 1


def test_a_folder_can_be_trained_further_and_stays_in_the_range_of_the_scores(run, tmp_path) -> None:
    save_tiny_tagger(tmp_path / "bert", ["a", "b", "c"], kind="score")
    subject = resolved(tmp_path, "bert", train={"epochs": 1, "batch_size": 12})
    found = scored(subject)["predicted"].to_numpy()
    assert found.min() >= 0
    assert found.max() <= 4
    with pytest.raises(InputError, match="gives 3 numbers per pair, and a score is one"):
        scored(resolved(tmp_path, "bert"))


@pytest.mark.parametrize("since", [True, False], ids=["new-name", "old-name"])
def test_a_model_that_says_it_ends_in_a_sigmoid_is_read_so(run, tmp_path, since) -> None:
    folder = save_tiny_tagger(tmp_path / "bert", ["LABEL_0"], kind="score")
    plain = scored(resolved(tmp_path, "bert"))["predicted"].to_numpy()
    config = json.loads((folder / "config.json").read_text())
    name = "torch.nn.modules.activation.Sigmoid"
    known = (
        {"sentence_transformers": {"activation_fn": name}} if since else {"sbert_ce_default_activation_function": name}
    )
    config |= known
    (folder / "config.json").write_text(json.dumps(config))
    shares = scored(resolved(tmp_path, "bert"))["predicted"].to_numpy()
    assert shares == pytest.approx(1 / (1 + np.exp(-plain)))


def test_a_function_of_the_user_scores(run, tmp_path) -> None:
    (tmp_path / "mine.py").write_text(FUNCTION)
    found = scored(resolved(tmp_path, "mine.py:same"), CUT)
    assert found["predicted"].to_pylist() == found["gold"].to_pylist()
    with pytest.raises(InputError, match="expected a finite number per pair"):
        scored(resolved(tmp_path, "mine.py:nan"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"second": ["b"], "score": ["high"]}, "The column 'score' holds string, and a score is a number"),
        ({"second": ["b"], "score": [float("inf")]}, "Sample 'x' has the score inf, expected a finite number"),
        ({"second": pa.array([None], pa.string())}, "Sample 'x' has no text in the column 'second'"),
        ({"other": ["b"]}, "The samples have no column 'second' for the scorer to read"),
        ({"second": [1]}, "The column 'second' holds int64, and a scorer reads text"),
    ],
)
def test_samples_that_are_no_pairs_are_named(change, said) -> None:
    with pytest.raises(InputError, match=said):
        score_table(
            pa.table({"id": ["x"], "first": ["a"], **change}), subject=resolved(Path(), "small-scorer"), files={}
        )


def test_pairs_of_one_score_teach_nothing(run) -> None:
    subject = resolved(Path(), "small-scorer", train={"epochs": 1})
    with pytest.raises(InputError, match=r"The training pairs know the score 0 only \('score'\)"):
        train_scorer(given_rows("pairs", [(1, 5)]), None, subject)


def test_a_subject_that_comes_as_it_is_is_not_trained() -> None:
    with pytest.raises(ValueError, match="has `train`, but its scorer comes as it is: leave it out"):
        Subject(scorer="mine.py:same", train={"epochs": 1})
