"""Lexicons: what counts as the same name, what is no synonym, and which files are refused with their line.

And: the lexicon out of DOID, DrugBank and MeSH: a synonym is another name of the same concept, and nothing
wider.
"""

from __future__ import annotations

import gzip
import itertools
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.tasks.language.lexicons import (
    CATALOGUE,
    CHEMICAL,
    DISEASE,
    Lexicon,
    Name,
    atoms_of,
    catalogue_lexicon,
    lexicon_in,
    parse_lexicon,
    read_lexicon,
    shipped_lexicon,
)

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


DOID = """doid\tname\texact_synonyms\tother_synonyms\tmesh_xrefs\tseen_in
DOID:1\tcancer\tmalignant neoplasm|primary cancer\tneoplasm\tD009369\tHEAD
DOID:2\tWilson disease\tHLD|WND\t\t\tHEAD
"""


DRUGBANK = """drugbank_id\tname\tcas\tunii\tsynonyms
DB1\tMethadone\t\t\tMetadona|Methadon hydrochloride|Amidone|Phenadone, crude|Méthadone
DB2\tLithium\t\t\tLI|LTH|Lithium carbonate
"""


MESH = """kind\tmesh_id\tterm
disease\tD009369\tcancer
disease\tD009369\tbenign neoplasm
disease\tD003643\tdeath
disease\tD003643\tnear-death experience
disease\tD003643\tdeaths
disease\tD003643\tcardiac arrest, fatal
disease\tD014839\tvomiting
disease\tD014839\temesis
disease\tD020\twilson disease
disease\tD020\tcopper storage disease
chemical\tD008691\tdolophine
chemical\tD008691\tamidone
chemical\tD000900\tcalcimycin
chemical\tD000900\tacme brand of calcimycin
chemical\tD000900\ta-23187 antibiotic
"""


@pytest.fixture
def lexicon(tmp_path):
    for name, text in (("doid_terms", DOID), ("drugbank_vocabulary", DRUGBANK), ("mesh_terms", MESH)):
        (tmp_path / f"{name}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    return lexicon_in(tmp_path)


def others(lexicon, text):
    return {name for one in lexicon.names_of(text) for name in lexicon.synonyms(one.concept, text)}


def test_diseases_have_the_exact_synonyms_of_doid_in_its_case_and_no_other(lexicon):
    assert others(lexicon, "cancer") == {"malignant neoplasm"}  # nor a kind of cancer, nor what MeSH has beside it
    assert others(lexicon, "Wilson disease") == {"HLD", "WND"}
    assert lexicon.names_of("hld") == ()


def test_drugs_have_the_names_of_drugbank_in_english_and_no_salts(lexicon):
    assert others(lexicon, "methadone") == {"amidone"}
    assert others(lexicon, "lithium") == {"LTH"}
    assert lexicon.names_of("LI") == ()  # a symbol that may be anything


def test_mesh_speaks_only_for_what_the_others_do_not_know(lexicon):
    assert others(lexicon, "emesis") == {"vomiting"}
    assert others(lexicon, "death") == set()  # its other names are wider, narrower, index forms or plurals
    assert others(lexicon, "calcimycin") == {"a-23187 antibiotic"}
    assert lexicon.names_of("acme brand of calcimycin") == ()
    for covered in ("copper storage disease", "dolophine"):
        assert others(lexicon, covered) == set()


def test_what_is_no_synonym_is_still_found_as_a_term(lexicon):
    words = ["benign", "neoplasm", "lithium", "carbonate", "deaths", "dolophine"]
    kinds = [(1 + last - first, kind) for first, last, kind in lexicon.terms_in(words)]
    assert kinds == [(3, DISEASE), (3, CHEMICAL), (2, DISEASE), (2, CHEMICAL)]


def test_a_list_that_cannot_be_read_is_refused_by_name(tmp_path):
    with pytest.raises(InputError, match=r"doid_terms.*assay data get disease-chemical-synonyms"):
        lexicon_in(tmp_path)


@pytest.fixture(scope="module")
def exact():
    """The diseases of DOID by their names and exact synonyms."""
    from assay.data.catalog import located

    found = defaultdict(set)
    lines = gzip.decompress((located(CATALOGUE).folder / "doid_terms.tsv.gz").read_bytes()).decode().splitlines()
    for line in lines[1:]:
        doid, name, synonyms = line.split("\t")[:3]
        for one in (name, *synonyms.split("|")):
            found[atoms_of(one)].add(doid)
    return found


@pytest.mark.mirror
def test_the_shipped_lexicon_calls_no_two_diseases_of_doid_the_same(exact):
    groups = defaultdict(list)
    for one in shipped_lexicon().names:
        groups[one.concept].append(atoms_of(one.text))
    known = [[exact[atoms] for atoms in names if atoms in exact] for names in groups.values()]
    assert sum(map(len, known)) > 100
    assert all(one & other for sets in known for one, other in itertools.combinations(sets, 2))


@pytest.mark.slow
@pytest.mark.mirror
def test_the_catalogue_lexicon_gives_no_disease_the_name_of_another(exact):
    lexicon, given = catalogue_lexicon(), 0
    for one in lexicon.names:
        mine = exact.get(atoms_of(one.text))
        for name in lexicon.synonyms(one.concept, one.text) if mine and one.kind == DISEASE else ():
            theirs = exact.get(atoms_of(name))
            given += theirs is not None
            assert theirs is None or mine & theirs, (one.text, name)
    assert given > 5000
    assert not any("brand of" in one.text.casefold() for one in lexicon.names)
    assert lexicon.synonyms("D003643", "death") == []
    assert "benign neoplasm" not in lexicon.synonyms("DOID:162", "cancer")
