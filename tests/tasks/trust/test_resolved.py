"""The oracle's options are found before anything runs, and what is wrong with them is said."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import trust_case
from pydantic import ValidationError

from assay.infra.errors import InputError
from assay.tasks.language.synonyms import synonym_pairs
from assay.tasks.subjects.resolved import resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.trust.oracle import class_words
from assay.tasks.trust.resolved import resolve_trust
from assay.tasks.trust.settings import Trust


@pytest.fixture
def subject(tmp_path):
    trust_case.write_code(tmp_path)
    return resolve_subject(Subject(classifier="mine.py:classify"), tmp_path)


def test_left_out_the_providers_are_an_odd_number_that_works_here(subject, tmp_path):
    found = resolve_trust(Trust(), subject, tmp_path)
    names = [one.name for one in found.providers.providers]
    assert len(names) % 2 == 1
    assert "subject" not in names  # a function has no tokens to look into
    assert found.synonyms.pairs == tuple(synonym_pairs(None))
    assert found.verdicts is None


def test_files_beside_the_pipelines_are_read_and_hashed(subject, tmp_path):
    (tmp_path / "pairs.tsv").write_text("good\tfine\nbad\tpoor\n")
    (tmp_path / "people.csv").write_text("sample,annotator,verdict\n1,2,trustworthy\n")
    settings = Trust(providers=("words.py:vectors",), synonyms="pairs.tsv", truth="people.csv")
    found = resolve_trust(settings, subject, tmp_path)
    assert found.synonyms.pairs == (("bad", "poor"), ("fine", "good"))
    assert found.verdicts is not None
    assert found.verdicts.table().to_pylist() == [{"sample": "1", "annotator": "2", "verdict": "trustworthy"}]
    before = found.verdicts.fingerprint, found.synonyms.fingerprint
    (tmp_path / "people.csv").write_text("sample,annotator,verdict\n1,2,untrustworthy\n")
    again = resolve_trust(settings, subject, tmp_path)
    assert again.verdicts is not None
    assert (again.verdicts.fingerprint == before[0], again.synonyms.fingerprint == before[1]) == (False, True)


def test_verdicts_may_be_parquet(subject, tmp_path):
    table = pa.table({"sample": ["a"], "annotator": ["1"], "guess": ["pos"], "confidence": [5]})
    pq.write_table(table, tmp_path / "people.parquet")
    found = resolve_trust(Trust(truth="people.parquet"), subject, tmp_path).verdicts
    assert found is not None
    assert found.table().equals(table)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"truth": "nowhere.csv"}, "There is no file"),
        ({"truth": "people.txt"}, "neither `counterfactual` nor a table of verdicts"),
        ({"synonyms": "nowhere.tsv"}, "nowhere.tsv"),
        ({"providers": ("fasttext", "ppmi")}, "cannot always reach a majority"),
        ({"providers": ("words",)}, "There is no word embedding 'words'"),
    ],
)
def test_what_is_not_there_is_said_before_anything_runs(subject, tmp_path, options, said):
    with pytest.raises(InputError) as fault:
        resolve_trust(Trust(**options), subject, tmp_path)
    assert said in str(fault.value)


def test_a_broken_table_of_verdicts_is_named(subject, tmp_path):
    (tmp_path / "people.parquet").write_bytes(b"PAR1 but not really")
    found = resolve_trust(Trust(truth="people.parquet"), subject, tmp_path).verdicts
    assert found is not None
    with pytest.raises(InputError, match=r"The verdicts people\.parquet cannot be read as a table"):
        found.table()


def test_two_sources_of_truth_are_refused():
    with pytest.raises(ValidationError, match="both say where the true labels come from"):
        Trust(truth="counterfactual", rationales="rationale")
    with pytest.raises(ValidationError, match="lime stands twice"):
        Trust(explainers=("lime", "lime"))


def test_only_what_matters_reaches_a_stage():
    one, other = Trust(samples=100, theta_dist=0.2), Trust(samples=200, confidence=0.8)
    assert one.naming == other.naming
    assert one.asking.theta_dist == 0.2
    assert "samples" not in type(one.asking).model_fields


def test_a_class_is_named_by_its_name_its_code_or_what_is_given():
    assert class_words(["Sci/Tech", "bad"], {}) == [("sci", "tech"), ("bad",)]
    assert class_words(["0", "1"], {"0": "Very Bad", "1": "good"}) == [("very", "bad"), ("good",)]
    with pytest.raises(InputError, match=r"no word in its name; say what it is about in `trust\.class_names`"):
        class_words(["...", "b"], {})
