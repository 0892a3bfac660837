"""Lexicons: what counts as the same name, what is no synonym, and which files are refused with their line."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.tasks.language.lexicons import Lexicon, Name, parse_lexicon, read_lexicon

LEXICON = Lexicon(
    (
        Name("all", "Disease", "ALL"),
        Name("all", "Disease", "acute lymphoblastic leukaemia"),
        Name("all", "Disease", "Acute Lymphoblastic Leukaemia"),
        Name("nsaid", "Chemical", "non-steroidal drug"),
        Name("ca", "Disease", "CA"),
        Name("ca", "Disease", "carcinoma"),
        Name("calcium", "Chemical", "CA"),
    )
)


def found(*words):
    return [(first, last) for first, last, _ in LEXICON.terms_in(words)]


def test_names_are_found_however_the_words_are_cut():
    assert found("a", "Non-Steroidal", "drug") == [(1, 3)]
    assert found("a", "non", "-", "steroidal", "drug") == [(1, 5)]
    assert found("non-steroidal-drug") == [(0, 1)]
    assert found("pre-non-steroidal", "drug") == []  # a name does not begin within a word


def test_abbreviations_keep_their_capitals():
    assert found("ALL", "of", "all", "All") == [(0, 1)]
    drug = Lexicon((Name("s", "Chemical", "SAMe"),))
    assert [first for first, _, _ in drug.terms_in(["the", "same", "SAMe", "Same"])] == [2]
    assert found("Acute", "lymphoblastic", "LEUKAEMIA") == [(0, 3)]


def test_a_synonym_is_another_name_that_no_other_concept_has():
    assert LEXICON.synonyms("all", "acute lymphoblastic leukaemia") == ["ALL"]
    assert LEXICON.synonyms("ca", "carcinoma") == []  # CA is calcium as well
    assert {one.concept for one in LEXICON.names_of("CA")} == {"ca", "calcium"}


@settings(max_examples=80)
@given(
    st.lists(
        st.sampled_from(["acute", "lymphoblastic", "leukaemia", "ALL", "-", "non", "drug", "steroidal"]), max_size=12
    )
)
def test_terms_do_not_overlap_and_are_names(words):
    terms = found(*words)
    assert all(last <= first for (_, last), (first, _) in itertools.pairwise(terms))
    assert all(LEXICON.names_of(" ".join(words[first:last])) for first, last in terms)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: expected the header"),
        ("a\tb\n", "line 1: expected the header"),
        ("concept\ttype\tname\nc\tDisease\n", "line 2"),
        ("concept\ttype\tname\nc\tDisease\tflu\nc\tDisease\t--\n", "line 3"),
        ("concept\ttype\tname\n\n", "has no names"),
    ],
)
def test_a_lexicon_that_is_none_is_refused_with_its_line(text, said):
    with pytest.raises(InputError, match=said):
        parse_lexicon(text, "mine.tsv")


def test_a_lexicon_that_cannot_be_read_is_refused_by_name(tmp_path):
    (tmp_path / "latin.tsv").write_bytes("concept\ttype\tname\nc\tDisease\tMénière".encode("latin-1"))
    for name in ("latin.tsv", "missing.tsv"):
        with pytest.raises(InputError, match=name):
            read_lexicon(tmp_path / name)


def test_the_plural_of_a_name_is_no_synonym_of_it():
    names = ("seizure", "seizures", "convulsion", "necrosis", "necroses", "neuropathy", "neuropathies", "abscess")
    lexicon = Lexicon(tuple(Name("c", "Disease", name) for name in names))
    assert {"seizure", "seizures"}.isdisjoint(lexicon.synonyms("c", "seizures"))
    assert {"necrosis", "necroses"}.isdisjoint(lexicon.synonyms("c", "Necrosis"))
    assert {"neuropathy", "neuropathies"}.isdisjoint(lexicon.synonyms("c", "neuropathies"))
    assert "convulsion" in lexicon.synonyms("c", "seizures")
