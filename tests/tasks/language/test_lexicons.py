"""What comes with Assay: stop words without content, synonym pairs, lemmas."""

import pytest

from assay.data.catalog import located
from assay.infra.errors import InputError
from assay.tasks.language.lemmas import lemma
from assay.tasks.language.stop_words import is_negation, is_stop_word, negations, stop_words
from assay.tasks.language.synonyms import OPEN_WORDNET, open_wordnet_members, synonym_pairs
from assay.tasks.language.words import normalised, words_of


def test_stop_words_are_in_compared_form_and_no_negations():
    assert all(normalised(word) == word for word in stop_words() | negations())
    assert not stop_words() & negations()
    assert 150 < len(stop_words()) < 300


@pytest.mark.parametrize(
    "word", ["fire", "cry", "bill", "sincere", "interest", "system", "thin", "describe", "computer"]
)
def test_content_words_that_other_lists_have_are_no_stop_words(word):
    assert not is_stop_word(word)


@pytest.mark.parametrize("word", ["THE", "I", "You’ve", "it's", "WHO'LL", "She", "e.g"])
def test_case_and_contraction_do_not_hide_a_stop_word(word):
    assert is_stop_word(word)


def test_negations_are_found_in_any_spelling():
    assert all(map(is_negation, ["Not", "can't", "CAN’T", "never", "dont", "cannot"]))
    assert not any(map(is_negation, ["knot", "cant\u00e9", "ant"]))


def test_shipped_synonyms_are_single_words_each_pair_once():
    pairs = synonym_pairs()
    assert len(pairs) >= 700
    assert pairs == sorted(set(pairs))
    assert all(a < b and len(words_of(a)) == len(words_of(b)) == 1 for a, b in pairs)


def test_pairs_of_a_file_replace_the_list(tmp_path):
    file = tmp_path / "pairs.tsv"
    file.write_text("\ufeff# mine\nword\tsynonym\n\nFilm\tMovie\tnoun\nmovie\tfilm\nsame\tsame\n", encoding="utf-8")
    assert synonym_pairs(file) == [("film", "movie")]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"good\n", r"line 1: 'good' is no pair"),
        (b"a\tb\nvery good\tgreat\n", r"line 2: 'very good\\tgreat' is no pair"),
        (b"# nothing\n", "has no synonym pairs"),
        (b"\xff\xfe\x00", "cannot be read as UTF-8"),
    ],
)
def test_a_file_that_holds_no_pairs_is_refused_by_line(tmp_path, content, said):
    file = tmp_path / "pairs.tsv"
    file.write_bytes(content)
    with pytest.raises(InputError, match=said):
        synonym_pairs(file)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        synonym_pairs(tmp_path / "nowhere.tsv")


def test_a_missing_wordnet_is_missed_in_words(monkeypatch):
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    with pytest.raises(InputError, match=r"nltk\.downloader wordnet.*open-english-wordnet"):
        synonym_pairs("wordnet")


def test_nltks_wordnet_gives_pairs_of_single_words_that_are_no_spellings_of_one_another(monkeypatch):
    import nltk.corpus

    class Synset:
        def __init__(self, *words):
            self.words = words

        def lemma_names(self):
            return list(self.words)

    class WordNet:
        def all_synsets(self):
            return [Synset("film", "movie", "motion_picture", "Film"), Synset("great", "greatly"), Synset("one")]

    monkeypatch.setattr(nltk.corpus, "wordnet", WordNet())
    assert synonym_pairs("wordnet") == [("film", "movie")]


@pytest.mark.mirror
def test_open_wordnet_gives_as_many_pairs_as_the_paper_has():
    pairs = synonym_pairs(OPEN_WORDNET)
    assert len(pairs) == 32_000
    assert pairs == sorted(pairs) == synonym_pairs(OPEN_WORDNET)
    assert len(open_wordnet_members(located(OPEN_WORDNET).folder)) == 107_525


LEMMAS = {
    "movies": "movie", "films": "film", "hated": "hate", "was": "be", "does": "do", "found": "find", "left": "left",
    "boring": "boring", "amazing": "amazing", "acting": "acting", "geese": "goose", "us": "us", "can't": "can't",
    "": "", "naïve": "naïve", "中": "中",
}  # fmt: skip


@pytest.mark.parametrize(("word", "expected"), LEMMAS.items())
def test_a_lemma_is_the_dictionarys_and_other_words_stay(word, expected):
    assert lemma(word) == expected


def test_a_lemma_is_its_own_lemma():
    words = sorted(stop_words()) + [word for pair in synonym_pairs() for word in pair]
    assert all(lemma(lemma(word)) == lemma(word) for word in words)
