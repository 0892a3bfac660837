"""What may take a word's place: near words of the vocabulary, or what the oracle's pools hold, as section 4 has it."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_spaces import at, space

from assay.data.schemas import Keywords, WordVectors
from assay.infra.errors import InputError
from assay.tasks.attacks.texts.settings import Guided
from assay.tasks.attacks.texts.swaps import (
    Learner,
    Words,
    compared_rows,
    content_words,
    embed_piece,
    guided_rows,
    listed_rows,
    near_enough,
    neighbour_rows,
    pools_in,
    read_lists,
    sentence_piece,
    synonym_cosine,
)
from assay.tasks.language.embeddings.ensemble import resolve_providers
from assay.tasks.language.embeddings.provider import TableProvider
from assay.tasks.language.relatedness import Vocabulary

# Positive words lie at 0°, negative ones at 90°, weekdays at 180°.
VECTORS = {
    "good": at(0),
    "fine": at(8),
    "great": at(4),
    "lovely": at(12),
    "bad": at(90),
    "poor": at(94),
    "monday": at(180),
    "friday": at(184),
    "sunday": at(176),
    "unheard": None,
}
# class 0 is negative, class 1 is positive; weekdays are no keyword of either
POOLS = {
    0: {"bad": (0.9, True), "poor": (0.2, True), "monday": (0.8, False), "sunday": (0.3, False)},
    1: {"good": (0.9, True), "fine": (0.1, True), "great": (0.5, True), "friday": (0.7, False), "monday": (0.1, False)},
}
SPACE = space("toy", VECTORS, theta=0.9)


def keywords(pools=POOLS) -> pa.Table:
    rows = [
        {
            "provider": "toy",
            "explainer": "gradient",
            "code": code,
            "word": word,
            "importance": importance,
            "explanations": 1,
            "cluster": 0,
            "relatedness": None,
            "elected": keyword,
            "keyword": keyword,
        }
        for code, pool in pools.items()
        for word, (importance, keyword) in pool.items()
    ]
    return pa.Table.from_pylist(rows, schema=Keywords.schema)


def guided(asked, **options):
    options = {"candidates": 20, "similar": 100, "part_of_speech": False} | options
    found = guided_rows(asked, pools_in(keywords(), 2), [SPACE], Guided(**options))
    return {(row["code"], row["word"]): row for row in found}


def test_a_related_word_gives_way_to_a_weak_keyword_of_its_class():
    row = guided(["lovely"])[1, "lovely"]
    assert row["related"] is True
    assert row["candidates"] == ["fine", "great", "good"]  # by importance, the lowest first
    assert row["importance"] == [0.1, 0.5, 0.9]


def test_another_word_gives_way_to_a_strong_word_of_another_class_that_is_a_keyword_of_none():
    row = guided(["friday"])[1, "friday"]
    assert row["related"] is False
    assert row["candidates"] == ["monday", "sunday"]  # of the pool of class 0, the highest importance first
    assert row["importance"] == [0.8, 0.3]


def test_a_keyword_of_any_class_is_never_injected():
    injected = {word for row in guided(sorted(VECTORS)).values() if not row["related"] for word in row["candidates"]}
    assert injected == {"monday", "sunday", "friday"}


def test_no_word_replaces_itself():
    assert all(row["word"] not in row["candidates"] for row in guided(sorted(VECTORS)).values())


def test_only_so_many_similar_words_are_ordered_by_importance():
    near = guided(["lovely"], similar=2)[1, "lovely"]
    assert near["candidates"] == ["fine", "great"]  # good is the third nearest
    assert guided(["lovely"], candidates=1)[1, "lovely"]["candidates"] == ["fine"]


def test_a_least_cosine_overrules_the_thresholds_of_the_providers():
    assert guided(["lovely"], min_cosine=0.999) == {}
    assert (0, "lovely") not in guided(["lovely"])
    assert guided(["lovely"], min_cosine=-1.0)[0, "lovely"]["candidates"] == ["poor", "bad"]


def test_most_voters_decide_what_is_similar_and_who_does_not_know_a_word_has_no_vote():
    blind = space("blind", {"lovely": None, **{word: at(0) for word in POOLS[1]}}, theta=0.9)
    against = space("against", {**{word: at(0) for word in POOLS[1]}, "lovely": at(90)}, theta=0.9)
    pools = pools_in(keywords(), 2)

    def found(*voters):
        rows = guided_rows(["lovely"], pools, voters, Guided(candidates=9, similar=9, part_of_speech=False))
        return {row["code"] for row in rows if row["related"]}

    assert found(SPACE, blind) == {1}
    assert found(SPACE, against, against) == set()


def test_a_word_that_no_provider_knows_has_no_replacement():
    assert guided(["unheard", "unknown"]) == {}


def test_a2t_takes_the_nearest_words_that_are_near_enough():
    words = [word for word in VECTORS if VECTORS[word] is not None]
    provider = TableProvider("toy", words, np.array([VECTORS[word] for word in words], dtype=np.float32))
    rows = neighbour_rows(["good", "nowhere"], Vocabulary.of(provider, words), provider, 2, 0.9)
    assert [(row["word"], row["candidates"]) for row in rows] == [("good", ["great", "fine"])]
    assert rows[0]["cosines"] == pytest.approx([np.cos(np.radians(4)), np.cos(np.radians(8))], abs=1e-6)


@given(least=st.floats(-1, 1), seed=st.integers(0, 50), count=st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_cutting_a_search_finds_what_a_narrower_search_does(least, seed, count):
    words = [f"w{place}" for place in range(30)]
    vectors = np.random.default_rng(seed).integers(-2, 3, (30, 2)).astype(np.float32)  # many equal cosines
    provider = TableProvider("toy", words, vectors)
    wide, narrow = (
        neighbour_rows(words[:8], Vocabulary.of(provider, words), provider, count, limit) for limit in (-1.0, least)
    )
    cut = near_enough(wide, least)
    for row in [*cut, *narrow]:
        assert all(np.isnan(row.pop("importance")))
    assert cut == narrow  # the same words and the same bits


def test_half_of_the_synonyms_are_close_enough():
    provider = TableProvider("toy", list("abcd"), np.array([at(0), at(10), at(20), at(60)], dtype=np.float32))
    pairs = [("a", "b"), ("a", "c"), ("a", "d"), ("a", "nowhere")]
    assert synonym_cosine(provider, pairs) == pytest.approx(np.cos(np.radians(20)), abs=1e-6)
    assert np.isnan(synonym_cosine(provider, [("x", "y")]))


def test_neighbour_lists_are_read_packed_or_not_and_keep_their_order():
    lists = {"Film": ["movie", "picture", "the", "motion picture", "not"], "dull": []}
    for name, content in (
        ("a.json", json.dumps(lists).encode()),
        ("a.json.gz", gzip.compress(json.dumps(lists).encode())),
    ):
        rows = listed_rows(["film", "dull", "other"], read_lists(name, content), 5)
        assert [(row["word"], row["candidates"]) for row in rows] == [("film", ["movie", "picture"])]
        assert np.isnan(rows[0]["cosines"]).all()


@pytest.mark.parametrize("content", [b"no json", b"[1, 2]", b'{"film": "movie"}', b'{"film": [1]}'])
def test_what_is_no_list_of_neighbours_is_refused_by_name(content):
    with pytest.raises(InputError, match=r"mine\.json"):
        read_lists("mine.json", content)


def test_stop_words_and_negations_are_neither_changed_nor_put_in():
    assert content_words(["It is NOT the film, don't!", "Never"]) == ["film"]
    pools = pools_in(keywords({0: {"the": (1.0, False), "never": (1.0, False), "film": (1.0, False)}}), 1)
    assert pools.words == ("film",)


def test_vectors_that_compare_sentences_are_the_same_learnt_beside_those_of_providers_and_alone() -> None:
    texts = ["a good film on monday", "a poor film on friday"] * 20
    wanted = ("film", "good", "poor")
    asked = {
        "texts": texts,
        "words": wanted,
        "providers": resolve_providers(["fasttext"]),
        "load": object,
        "seed": 1,
        "compared": Words((*wanted, "friday", "monday")),
        "sentence_seed": 2,
    }
    learnt = [embed_piece(Learner(provider), **asked).cast(WordVectors.schema) for provider in (None, 0)]
    compared = compared_rows(pa.concat_tables(learnt), words=wanted).cast(WordVectors.schema)
    assert compared.equals(sentence_piece(Words(wanted), texts=texts, seed=2))
    assert not compared.equals(sentence_piece(Words(wanted), texts=texts, seed=1))
