import os
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer

from assay.data.samples.registry import embedded
from assay.tasks.labeling.rulebook_source import refer_to_rulebook
from assay.tasks.labeling.voting import apply_rules
from assay.tasks.statistics.vote_counts import vote_matrix

BENIGN, MALIGNANT = 1, 0


def patients():
    data = load_breast_cancer()
    ids = [f"p{row:03}" for row in range(len(data.data))]
    return data, pa.table({"id": ids} | dict(zip(data.feature_names, data.data.T, strict=True)))


def test_breast_cancer_limits_part_the_patients_at_the_tertiles():
    data, table = patients()
    votes, faults = apply_rules(table, refer_to_rulebook("breast-cancer").load())
    low, high = np.quantile(data.data, [0.33, 0.67], axis=0)
    expected = np.where(data.data < low, BENIGN, np.where(data.data > high, MALIGNANT, -1))
    np.testing.assert_array_equal(vote_matrix(votes), expected)
    assert (votes.column_names[1:], faults) == (list(data.feature_names), {})


def test_breast_cancer_rules_give_the_golden_panel_of_seven():
    _, table = patients()
    votes, _ = apply_rules(table, refer_to_rulebook("breast-cancer").load())
    names, matrix = votes.column_names[1:], vote_matrix(votes)
    correlation = np.corrcoef(np.select([matrix == 0, matrix == 1], [-1, 1], 0).T)
    graph = nx.Graph()
    graph.add_nodes_from(names)
    graph.add_edges_from((names[i], names[j]) for i, j in combinations(range(30), 2) if abs(correlation[i, j]) > 0.5)
    cliques = list(nx.find_cliques(graph))
    coverage = dict(zip(names, (matrix >= 0).mean(axis=0), strict=True))
    kept = set(names)
    for name in sorted(names, key=lambda name: (-sum(name in clique for clique in cliques), -coverage[name], name)):
        if name in kept:
            kept -= set(graph[name])
    assert kept == {
        "mean texture",
        "mean concave points",
        "mean symmetry",
        "texture error",
        "smoothness error",
        "symmetry error",
        "worst fractal dimension",
    }


def test_spam_rules_say_what_a_reader_expects():
    texts = {
        "check_out": "Check this out",
        "subscribe": "sub 4 sub",
        "link": "www.example.org",
        "please": "Plz like",
        "my_own": "my new channel",
        "asks_for_clicks": "Thumbs up if you agree",
        "money": "free gift",
        "long": "x" * 161,
        "short": "first",
        "the_music": "what a song",
        "likes_it": "I love her",
    }
    table = pa.table({"id": list(texts), "text": list(texts.values())})
    votes, faults = apply_rules(table, refer_to_rulebook("youtube-spam").load())
    assert votes.column_names[1:] == list(texts)
    for row, name in enumerate(texts):
        assert votes.column(name)[row].as_py() == (0 if name in ("short", "the_music", "likes_it") else 1), name
    assert faults == {}


def test_spam_rules_abstain_on_a_missing_comment():
    table = pa.table({"id": ["a"], "text": pa.array([None], pa.string())})
    votes, faults = apply_rules(table, refer_to_rulebook("youtube-spam").load())
    assert (vote_matrix(votes) == -1).all()
    assert faults == {}


@pytest.mark.mirror
def test_spam_rules_are_better_than_chance_on_the_real_comments():
    mirror = os.environ.get("ASSAY_MIRROR")
    if not mirror:
        pytest.skip("ASSAY_MIRROR is not set")
    files = sorted((Path(mirror) / "youtube_spam").glob("*.csv"))
    comments = pd.concat([pd.read_csv(file) for file in files], ignore_index=True)
    table = pa.table({"id": comments.index.astype(str), "text": comments["CONTENT"]})
    votes, faults = apply_rules(table, refer_to_rulebook("youtube-spam").load())
    gold = comments["CLASS"].to_numpy()
    for name in votes.column_names[1:]:
        vote = votes.column(name).to_numpy()
        assert (vote >= 0).sum() >= 100, name
        assert (vote == gold)[vote >= 0].mean() > 0.6, name
    assert faults == {}


def votes_on(data_set: str, rulebook: str, rows: int):
    """The votes on the first samples of an embedded data set, their names, and the gold classes."""
    table = embedded(data_set).build().slice(0, rows)
    votes, faults = apply_rules(table, refer_to_rulebook(rulebook).load())
    assert faults == {}
    return vote_matrix(votes), votes.column_names[1:], table["gold"].to_numpy()


@pytest.mark.slow
def test_lesion_rules_are_better_than_chance_and_wrong_at_times_and_in_conflict():
    votes, names, gold = votes_on("sample/lesions-small", "lesions", 600)
    assert len(names) == 9
    for place, name in enumerate(names):
        vote = votes[:, place]
        hits = [(gold == code)[vote == code].mean() for code in (0, 1) if (vote == code).any()]
        base = [(gold == code).mean() for code in (0, 1) if (vote == code).any()]
        assert all(hit > share + 0.02 for hit, share in zip(hits, base, strict=True)), name
        assert (vote == gold)[vote >= 0].mean() < 0.99, name
    assert (votes >= 0).any(axis=1).mean() > 0.95
    assert 0.2 < ((votes == 0).any(axis=1) & (votes == 1).any(axis=1)).mean() < 0.6


def test_review_rules_are_better_than_chance_and_leave_reviews_without_a_vote():
    votes, names, gold = votes_on("sample/reviews", "reviews", 2500)
    for place, name in enumerate(names):
        vote = votes[:, place]
        assert (vote >= 0).sum() >= 80, name
        assert 0.6 < (vote == gold)[vote >= 0].mean() < 0.97, name
    assert 0.6 < (votes >= 0).any(axis=1).mean() < 0.9


@pytest.mark.slow
def test_a_lesion_is_measured_alike_in_every_batch():
    table = embedded("sample/lesions-small").build().slice(0, 20)
    book = refer_to_rulebook("lesions").load()
    together = vote_matrix(apply_rules(table, book)[0])
    alone = np.concatenate([vote_matrix(apply_rules(table.slice(row, 1), book)[0]) for row in range(20)])
    np.testing.assert_array_equal(together, alone)
