"""The lexicon out of DOID, DrugBank and MeSH: a synonym is another name of the same concept, and nothing wider."""

from __future__ import annotations

import gzip
import itertools
from collections import defaultdict

import pytest

from assay.infra.errors import InputError
from assay.tasks.language.lexicons import (
    CATALOGUE,
    CHEMICAL,
    DISEASE,
    atoms_of,
    catalogue_lexicon,
    lexicon_in,
    shipped_lexicon,
)

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
