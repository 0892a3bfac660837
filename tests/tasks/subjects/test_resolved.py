from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from pydantic import ValidationError

from assay.infra.errors import InputError
from assay.tasks.subjects.resolved import resolve_subject
from assay.tasks.subjects.settings import Subject, Training

MODEL = "from words import K\n\ndef f(table):\n    return [[K, 1 - K]] * len(table)\n"


def fingerprint(folder: Path, **settings: object) -> str:
    return resolve_subject(Subject.model_validate(settings), folder).fingerprint


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MODEL)
    (tmp_path / "words.py").write_text("K = 0.3\n")
    (tmp_path / "unrelated.py").write_text("X = 1\n")
    return tmp_path


def test_renaming_a_subject_computes_nothing_again(folder: Path) -> None:
    assert fingerprint(folder, model="logistic", name="a") == fingerprint(folder, model="logistic", name="b")
    assert fingerprint(folder, model="mine.py:f", name="a") == fingerprint(folder, model="mine.py:f", name="b")


def test_an_edited_model_or_an_edited_import_of_it_is_another_subject(folder: Path) -> None:
    before = fingerprint(folder, model="mine.py:f")
    (folder / "unrelated.py").write_text("X = 2\n")
    assert fingerprint(folder, model="mine.py:f") == before
    (folder / "words.py").write_text("K = 0.4\n")
    edited = fingerprint(folder, model="mine.py:f")
    (folder / "mine.py").write_text(MODEL + "# more\n")
    assert len({before, edited, fingerprint(folder, model="mine.py:f")}) == 3


def test_what_matters_to_a_trained_model_is_in_its_fingerprint(folder: Path) -> None:
    variants = [{}, {"folds": 4}, {"train_on": "weak"}, {"features": ["x"]}, {"features": ["x", "y"]}]
    assert len({fingerprint(folder, model="logistic", **variant) for variant in variants}) == 5
    assert fingerprint(folder, model="mine.py:f", folds=4) == fingerprint(folder, model="mine.py:f", folds=5)


def test_what_matters_to_a_network_is_in_its_fingerprint(folder: Path) -> None:
    variants: list[dict[str, object]] = [
        {},
        {"width": 0.5},
        {"mean": [0.5]},
        {"std": [0.5]},
        {"train": {"epochs": 2}},
        {"network": "resnet50"},
    ]
    plain = {"network": "small-cnn", "train": {}}
    assert len({fingerprint(folder, **{**plain, **variant}) for variant in variants}) == len(variants)
    assert fingerprint(folder, **plain, name="a") == fingerprint(folder, **plain, name="b")


def test_other_weights_are_another_subject(folder: Path) -> None:
    found = []
    for content in (b"one", b"other"):
        (folder / "w.safetensors").write_bytes(content)
        found.append(fingerprint(folder, network="vgg19", weights="w.safetensors"))
    assert found[0] != found[1]


def test_a_network_of_ones_own_that_is_not_there_is_refused_before_anything_runs(folder: Path) -> None:
    with pytest.raises(InputError, match=r"names an object that is not there; did you mean f\?"):
        resolve_subject(Subject(network="mine.py:ff", train=Training()), folder)


def test_a_subject_travels_to_workers_that_have_no_copy_of_the_file(folder: Path) -> None:
    sent = pickle.dumps(resolve_subject(Subject(model="mine.py:f"), folder))
    for file in folder.glob("*.py"):
        file.unlink()
    found = pickle.loads(sent)
    assert found.code.load()(range(2)) == [[0.3, 0.7]] * 2


def test_a_model_by_module_name_is_found_and_fingerprinted() -> None:
    found = resolve_subject(Subject(model="json:loads"), Path())
    assert found.kind == "own"
    assert "json.decoder" in dict(found.code.sources if found.code else ())


@pytest.mark.parametrize(
    ("written", "said"),
    [("nosuch.py:f", "There is no file"), ("nosuchmodule:f", "There is no module"), ("mine.py:", "names no object")],
)
def test_a_model_that_is_not_there_is_refused(folder: Path, written: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        resolve_subject(Subject(model=written), folder)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "needs exactly one of `model`"),
        ({"model": "logistic", "predictions": "said"}, "has model and predictions"),
        ({"model": "logistic", "weights": "w.safetensors"}, "no Torch module to load them into"),
        ({"network": "resnet18", "train": {}}, "there is no such network; did you mean resnet1"),
        ({"network": "vgg19"}, "needs either `train` .* or `weights`"),
        ({"network": "vgg19", "train": {}, "weights": "w.safetensors"}, "and not both"),
        ({"model": "logistics"}, "there is no such model; did you mean logistic"),
        ({"model": "logistic", "features": ["a", "b", "a"]}, "feature 'a' more than once"),
        ({"model": "logistic", "folds": 1}, "greater than or equal to 2"),
        ({"model": "logistic", "train_on": "silver"}, "'gold' or 'weak'"),
        ({"model": "model.py:ask", "trusted": ["a.B"]}, "has `trusted`, which is about a skops file"),
        ({"model": "https://host/predict", "trusted": ["a.B"]}, "`trusted`, which says nothing about https://host"),
        ({"model": "logistic", "train": {}}, "train\n.*says nothing about `model`, only about `network`"),
        ({"classifier": "small-bert", "pair": ("a", "b")}, "pair\n.*only about `scorer`; leave it out"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Subject.model_validate(settings)


def test_a_subject_that_was_written_out_whole_is_read_again() -> None:
    whole = Subject(tagger="small-tagger", tokens="words")
    assert Subject.model_validate(whole.model_dump(exclude_none=False)) == whole
