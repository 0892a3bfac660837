"""Who finds the terms: gold tags, lexicons and files of them, and spaCy where it is installed."""

import gzip
from importlib.util import find_spec

import pytest

from assay.infra.errors import InputError
from assay.tasks.attacks.terms.changes import GoldFinder, LexiconFinder, Span, outermost, spacy_finder
from assay.tasks.attacks.terms.perturbing import require_attack, resolve_attack
from assay.tasks.attacks.terms.synonymy import Synonymy
from assay.tasks.attacks.terms.typos import Keyboard, Swap
from assay.tasks.language.lexicons import Lexicon, Name, shipped_lexicon


def test_gold_terms_are_the_entities_and_none_where_nobody_tagged():
    assert GoldFinder().find(["fever"], ["B-Disease"]) == [Span(0, 1, "Disease")]
    assert GoldFinder().find(["fever"], None) == []


def test_what_an_attack_names_must_be_there(tmp_path, monkeypatch):
    for attack in (Swap(), Swap(terms="lexicon"), Synonymy()):
        require_attack(attack, tmp_path)
    monkeypatch.delenv("ASSAY_MIRROR", raising=False)
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    for attack, said in (
        (Swap(terms="nope.tsv"), "nope.tsv"),
        (Synonymy(synonyms="nope.tsv"), "nope.tsv"),
        (Synonymy(synonyms="disease-chemical-synonyms"), "Put doid_terms.tsv.gz .* or set ASSAY_MIRROR"),
        (Keyboard(terms="spacy:none_such"), "spacy|spaCy"),
    ):
        with pytest.raises(InputError, match=said):
            require_attack(attack, tmp_path)


def test_the_longest_name_wins_in_whatever_case():
    lexicon = Lexicon((Name("a", "Disease", "heart failure"), Name("b", "Disease", "Congestive Heart Failure")))
    found = LexiconFinder(lexicon).find(["CONGESTIVE", "heart", "failure", "and", "heart", "Failure"], None)
    assert found == [Span(0, 3, "Disease"), Span(4, 6, "Disease")]


def test_of_overlapping_spans_the_outermost_stays():
    assert outermost([Span(2, 3), Span(0, 4), Span(3, 6), Span(6, 8)]) == [Span(0, 4), Span(6, 8)]
    assert outermost([Span(0, 2), Span(1, 3)]) == [Span(0, 2)]


def test_a_lexicon_file_finds_terms_and_gives_their_synonyms(tmp_path):
    lines = "concept\ttype\tname\nc\tDisease\tague\nc\tDisease\tmalarial fever\n"
    (tmp_path / "mine.tsv.gz").write_bytes(gzip.compress(lines.encode()))
    means = resolve_attack(Synonymy(terms="mine.tsv.gz"), tmp_path).means
    assert means.finder.find(["the", "Ague"], None) == [Span(1, 2, "Disease")]
    assert means.lexicon is not None
    assert means.lexicon.synonyms("c", "Ague") == ["malarial fever"]


def test_the_key_of_an_attack_follows_its_lexicon_and_not_its_name(tmp_path):
    plain, named = resolve_attack(Swap(), tmp_path), resolve_attack(Swap(name="mine", examples=9), tmp_path)
    assert plain.fingerprint == named.fingerprint != resolve_attack(Swap(terms="lexicon"), tmp_path).fingerprint
    (tmp_path / "a.tsv").write_text("concept\ttype\tname\nc\tDisease\tague\n")
    before = resolve_attack(Swap(terms="a.tsv"), tmp_path).fingerprint
    (tmp_path / "a.tsv").write_text("concept\ttype\tname\nc\tDisease\tfever\n")
    assert resolve_attack(Swap(terms="a.tsv"), tmp_path).fingerprint != before


@pytest.mark.skipif(find_spec("spacy") is not None, reason="spaCy is installed, so that nothing is missing")
def test_without_spacy_the_error_says_what_to_install():
    with pytest.raises(InputError, match="pip install spacy"):
        spacy_finder("en_ner_bc5cdr_md")


def test_the_shipped_lexicon_has_synonyms_for_most_of_its_concepts():
    lexicon = shipped_lexicon()
    concepts = {one.concept: one.text for one in reversed(lexicon.names)}
    with_synonyms = [concept for concept, text in concepts.items() if lexicon.synonyms(concept, text)]
    assert len(with_synonyms) > 0.9 * len(concepts) > 90
    assert {one.kind for one in lexicon.names} == {"Disease", "Chemical"}
