"""Opposites are known by a list, by prefixes and by endings; what only stands close is none."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.tasks.language.synonyms import list_of_opposites, reverses, wordnet_opposites

LISTED = [line.split("\t") for line in list_of_opposites().splitlines() if not line.startswith(("#", "axis"))]


@pytest.mark.parametrize(
    "pair",
    [
        ("horrible", "fantastic"),
        ("displeased", "enthralled"),
        ("captivated", "bored"),
        ("repelled", "rewarded"),
        ("Dreadfully", "splendidly"),
        ("crudely", "tastefully"),
        ("crudely", "expertly"),
        ("phenomenal", "unbearable"),
        ("bad", "good"),
        ("worse", "better"),
        ("stale", "fresh"),
        ("hates", "loved"),
        ("ugliness", "beauty"),
        ("happy", "unhappy"),
        ("liked", "disliked"),
        ("careful", "careless"),
        ("legal", "illegally"),
        ("boring", "unforgettable"),
        ("praised", "uninspired"),
        ("won", "lost"),
        ("hottest", "coldest"),
    ],
)
def test_opposites_are_refused_both_ways(pair):
    assert reverses(*pair)
    assert reverses(*reversed(pair))


@pytest.mark.parametrize(
    "pair",
    [
        ("bad", "awful"),
        ("great", "excellent"),
        ("noodles", "pasta"),
        ("watched", "seen"),
        ("press", "impress"),
        ("discover", "cover"),
        ("valuable", "invaluable"),
        ("film", "movie"),
        ("annoyed", "infuriated"),
        ("xyzzing", "unplugh"),
        ("", "un"),
        ("moved", "awful"),
    ],
)
def test_what_only_stands_close_is_no_opposite(pair):
    assert not reverses(*pair)


@given(st.sampled_from(LISTED), st.data())
def test_words_of_one_side_are_no_opposites_by_the_list(line, data):
    first, second = (data.draw(st.sampled_from(line[2].split())) for _ in range(2))
    assert not reverses(first, second)


def test_evaluations_are_known_by_the_hundred():
    for side in "+-":
        words = {word for axis, pole, some in LISTED if (axis, pole) == ("evaluation", side) for word in some.split()}
        assert len(words) >= 300


def test_wordnet_is_asked_only_where_it_is_installed(monkeypatch):
    class Nowhere:
        def all_synsets(self):
            raise LookupError("Resource wordnet not found")

    corpus = ModuleType("nltk.corpus")
    monkeypatch.setitem(sys.modules, "nltk.corpus", corpus)
    wordnet_opposites.cache_clear()
    corpus.wordnet = Nowhere()
    with pytest.raises(InputError, match="WordNet is not installed here"):
        wordnet_opposites()
    good, evil = (SimpleNamespace(name=lambda named=named: named, antonyms=list) for named in ("good", "evil"))
    good.antonyms = lambda: [evil]
    corpus.wordnet = SimpleNamespace(all_synsets=lambda: [SimpleNamespace(lemmas=lambda: [good, evil])])
    assert wordnet_opposites() == {("good", "evil"), ("evil", "good")}
    wordnet_opposites.cache_clear()
