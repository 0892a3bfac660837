"""Word pools are Eq. 2: mean importance over the explanations that hold the word."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.tasks.trust.keywords import spoken_for, word_pools


def explanations(*rows):
    names = "gold", "predicted", "words", "importance"
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])


def test_importance_is_the_mean_over_the_explanations_that_hold_the_word():
    table = explanations(
        (1, 1, ["good", "film"], [0.8, 0.1]), (1, 1, ["good"], [0.4]), (1, 1, ["plot"], [0.3]), (0, 0, ["film"], [0.7])
    )
    negative, positive = word_pools(table, classes=2)
    assert dict(zip(positive.words, positive.importance.tolist(), strict=True)) == {
        "film": 0.1,
        "good": (0.8 + 0.4) / 2,
        "plot": 0.3,
    }
    assert positive.explanations.tolist() == [1, 2, 1]
    assert negative.words == ("film",)


def test_wrong_predictions_and_words_against_the_prediction_stay_out():
    table = explanations((0, 1, ["good"], [0.9]), (1, 1, ["bad", "fine"], [-0.5, 0.2]), (None, 1, ["odd"], [1.0]))
    assert word_pools(table, classes=2)[1].words == ("fine",)


def test_a_class_without_explanations_has_an_empty_pool():
    found = word_pools(explanations((0, 0, ["bad"], [0.5])), classes=3)
    assert [one.words for one in found] == [("bad",), (), ()]
    assert found[2].importance.shape == (0,)


def test_spellings_of_one_word_are_one_word():
    assert spoken_for({"words": ["GOOD", "Good", "don’t"], "importance": [0.25, 0.5, 0.1]}) == {
        "good": 0.75,
        "don't": 0.1,
    }


def test_lemmas_are_one_word_where_asked_for():
    row = {"words": ["films", "film"], "importance": [0.25, 0.5]}
    assert spoken_for(row, lemmatise=True) == {"film": 0.75}
    assert spoken_for(row) == {"films": 0.25, "film": 0.5}


ROWS = st.lists(
    st.tuples(
        st.integers(0, 1), st.integers(0, 1), st.dictionaries(st.sampled_from("abcde"), st.floats(-1, 1), max_size=4)
    ),
    max_size=8,
)


@settings(max_examples=40)
@given(ROWS, st.randoms(use_true_random=False))
def test_pools_do_not_depend_on_the_order_of_explanations(rows, random):
    table = [(gold, said, list(words), list(words.values())) for gold, said, words in rows]
    shuffled = random.sample(table, len(table))
    sure = (0, 0, ["x"], [0.5])  # so that no table is empty
    first, second = (word_pools(explanations(*some), classes=2) for some in ([sure, *table], [*shuffled, sure]))
    for one, other in zip(first, second, strict=True):
        assert one.words == other.words
        assert one.importance.tolist() == other.importance.tolist()
