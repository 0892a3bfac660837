"""What attacks on terms name is looked for before anything is trained, and `assay check` says what is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.flows.check import named_things
from assay.flows.configuration.loading import Project, load_project
from assay.flows.forecast.plan import check_inputs
from assay.infra.errors import InputError

HEAD = "pipelines:\n  p:\n    source: {dataset: sample/abstracts}\n    subject: {tagger: small-tagger}\n    attacks: "


def project(folder: Path, attacks: str) -> Project:
    (folder / "pipelines.yaml").write_text(HEAD + attacks + "\n")
    return load_project(folder / "pipelines.yaml")


@pytest.mark.parametrize(
    ("attack", "said"),
    [
        ("{synonymy: {synonyms: nope.tsv}}", "nope.tsv"),
        ("{swap: {terms: nope.tsv}}", "nope.tsv"),
        ("{swap: {terms: 'spacy:none_such'}}", "none_such"),
    ],
)
def test_a_run_is_refused_at_once_and_check_complains(tmp_path, attack, said):
    made = project(tmp_path, f"[keyboard, {attack}]")
    with pytest.raises(InputError, match=said):
        check_inputs(made, made.pipeline("p"))
    notes, wrong = named_things(made)
    assert notes == []
    (complaint,) = wrong
    assert re.match(r".*pipelines.yaml:5: attacks\.1\.(synonyms|terms): ", complaint)
    assert said in complaint


def test_names_that_are_only_to_be_got_are_a_note_and_stop_a_run(tmp_path, monkeypatch):
    monkeypatch.delenv("ASSAY_MIRROR", raising=False)
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    made = project(tmp_path, "[{synonymy: {synonyms: disease-chemical-synonyms}}]")
    with pytest.raises(InputError, match="disease-chemical-synonyms is not here"):
        check_inputs(made, made.pipeline("p"))
    (note,), wrong = named_things(made)
    assert "Put doid_terms.tsv.gz" in note  # no address has it
    assert wrong == []


def test_clashes_are_refused_with_their_line(tmp_path):
    with pytest.raises(InputError, match=r"pipelines.yaml:5: .*attacks\.0.*choose another name"):
        project(tmp_path, "[{swap: {name: clean}}]")
