"""Taggers from sentences to tags: trained here, brought as a folder or a function, or refused in words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from small_sentences import given_rows, save_tiny_tagger, sentence_table

from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partitions import collect, read_files
from assay.infra.stages.trainings import Checkpoints
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.sequences.tagger import learn_tags
from assay.tasks.subjects.sequences.task import load_tagger, predict_tags, tag_table, train_tagger
from assay.tasks.subjects.settings import Subject

WHOLE = [(0, 144)]
CUT = [(0, 5), (5, 6), (6, 144)]
NAMES = ["O", "B-Chemical", "I-Chemical", "B-Disease", "I-Disease"]
FUNCTION = """
def look_up(sentences):
    return [["B-Chemical" if word in ("aspirin", "codeine") else "O" for word in words] for words in sentences]

def short(sentences):
    return [["O"] for words in sentences]

def wrong(sentences):
    return [["Disease"] * len(words) for words in sentences]
"""


def resolved(folder: Path, tagger: str, **settings: object) -> ResolvedSubject:
    return resolve_subject(Subject(name="it", tagger=tagger, **settings), folder)


def learn(place: Path, table: pa.Table | None = None, epochs: int = 2) -> tuple[dict[str, bytes], pa.Table]:
    subject = resolved(place, "small-tagger", train={"epochs": epochs, "validation": 0.1})
    table = sentence_table().slice(0, 48) if table is None else table
    return learn_tags(
        table, checkpoints=Checkpoints(str(place), "marks/training"), subject=subject, seeds=Seeds(3, "train")
    )


def right(tagged: pa.Table) -> float:
    pairs = [
        (gold, said)
        for golds, saids in zip(tagged["gold"].to_pylist(), tagged["predicted"].to_pylist(), strict=True)
        for gold, said in zip(golds, saids, strict=True)
        if gold != "O"
    ]
    return sum(gold == said for gold, said in pairs) / len(pairs)


def test_a_small_tagger_learns_and_tags_the_same_in_any_cut(run) -> None:
    subject = resolved(Path(), "small-tagger", train={"epochs": 4})
    samples = given_rows("sentences", WHOLE)
    trained = train_tagger(samples, None, subject)
    tagged = predict_tags(samples, trained.files, subject)
    assert tagged.digest == predict_tags(given_rows("sentences", CUT), trained.files, subject).digest
    assert right(collect(tagged, None)) > 0.9
    assert collect(trained.curve, None)["train_accuracy"].to_pylist()[-1] > 0.9
    card = json.loads(read_files(trained.files)["card.json"])
    assert (card["outputs"], card["training_samples"], card["train"]["epochs"]) == (NAMES, 144, 4)


def test_a_training_goes_on_from_any_epoch_bit_for_bit(tmp_path, monkeypatch) -> None:
    class InterruptionError(Exception):
        pass

    files, curve = learn(tmp_path / "whole")
    save = Checkpoints.save

    def save_and_break(self: Checkpoints, step: int, total: int, kept: dict[str, bytes]) -> None:
        save(self, step, total, kept)
        if step < total:
            raise InterruptionError

    monkeypatch.setattr(Checkpoints, "save", save_and_break)
    with pytest.raises(InterruptionError):
        learn(tmp_path / "broken")
    resumed, its_curve = learn(tmp_path / "broken")
    assert resumed == files
    assert its_curve.equals(curve)


def test_no_order_of_sentences_shows_in_what_is_learnt(tmp_path) -> None:
    table = sentence_table().slice(0, 48)
    shuffled = table.take(pa.array(np.random.default_rng(0).permutation(48)))
    assert learn(tmp_path / "a", epochs=1)[0] == learn(tmp_path / "b", shuffled, epochs=1)[0]


def test_a_sentence_alone_is_tagged_as_among_others(tmp_path) -> None:
    folder = save_tiny_tagger(tmp_path / "bert", NAMES)
    subject = resolved(tmp_path, folder.name)
    from assay.tasks.subjects.sequences.rows import card_file
    from assay.tasks.subjects.sequences.tagger import given_tagger

    files, about = given_tagger(subject.source, NAMES)
    tagger = load_tagger(subject, files | card_file(subject, files, about))
    sentences = [*sentence_table()["tokens"].to_pylist()[:40], [], ["gout"] * 600, ["\x00", "gout"]]
    together = tagger.tag(sentences)
    assert together == [tagger.tag([words])[0] for words in sentences]
    assert len({tag for one in together for tag in one.tags}) > 1  # it does say different things
    assert [one.cut for one in together] == [False] * 41 + [True, False]
    assert together[-2].tags[511:] == ["O"] * 89
    assert (together[-2].confidence[510], together[-1].confidence[0]) == (0.0, 0.0)


def test_a_folder_is_taken_as_it_is_and_its_labels_are_read_as_the_samples_tags(run, tmp_path) -> None:
    save_tiny_tagger(tmp_path / "bert", ["O", "S-DISEASE", "E-disease", "B-Gene", "Chemical"])
    subject = resolved(tmp_path, "bert")
    samples = given_rows("sentences", WHOLE)
    trained = train_tagger(samples, None, subject)
    assert trained.curve.rows == 0
    card = json.loads(read_files(trained.files)["card.json"])
    assert card["outputs"] == ["O", "B-Disease", "I-Disease", "O", "I-Chemical"]
    assert card["strangers"] == ["B-Gene"]
    tagged = collect(predict_tags(samples, trained.files, subject), None)
    assert {tag for tags in tagged["predicted"].to_pylist() for tag in tags} <= {*NAMES}
    assert all(0.3 < share <= 1 for shares in tagged["confidence"].to_pylist() for share in shares)


def test_a_tagger_of_other_things_is_refused_by_name(run, tmp_path) -> None:
    save_tiny_tagger(tmp_path / "bert", ["O", "B-Gene"])
    with pytest.raises(InputError, match=r"tags O, B-Gene, and the samples Chemical, Disease: they have no type"):
        train_tagger(given_rows("sentences", WHOLE), None, resolved(tmp_path, "bert"))


def test_a_folder_can_be_trained_further_on_other_tags(run, tmp_path) -> None:
    save_tiny_tagger(tmp_path / "bert", ["O", "B-Gene"])
    subject = resolved(tmp_path, "bert", train={"epochs": 1})
    files = read_files(train_tagger(given_rows("sentences", [(0, 24)]), None, subject).files)
    assert json.loads(files["card.json"])["outputs"] == NAMES
    assert json.loads(files["card.json"])["train"]["learning_rate"] == 5e-5


def test_a_function_of_the_user_tags(run, tmp_path) -> None:
    (tmp_path / "mine.py").write_text(FUNCTION)
    samples = given_rows("sentences", CUT)

    def tagged(function: str) -> pa.Table:
        subject = resolved(tmp_path, f"mine.py:{function}")
        return collect(predict_tags(samples, train_tagger(samples, None, subject).files, subject), None)

    found = tagged("look_up")
    assert found["predicted"].to_pylist()[0] == ["O"] * 5 + ["B-Chemical", "O"] or "aspirin" not in found["tokens"][0]
    assert {tag for tags in found["predicted"].to_pylist() for tag in tags} == {"O", "B-Chemical"}
    with pytest.raises(InputError, match="expected per sentence a list of one tag per word"):
        tagged("short")
    with pytest.raises(InputError, match="returned the tag 'Disease', expected O, B-TYPE or I-TYPE"):
        tagged("wrong")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tokens": [["a"]], "tags": [["O", "O"]]}, "Sample 'x' has 1 words .tokens. and 2 tags"),
        ({"tokens": [["a"]], "tags": [["Disease"]]}, "Sample 'x' has the tag 'Disease', expected O, B-TYPE or I-TYPE"),
        (
            {"tokens": pa.array([None], pa.list_(pa.string())), "tags": [["O"]]},
            "Sample 'x' has a missing value in 'tokens'",
        ),
        ({"words": [["a"]]}, "The samples have no column 'tokens' for the tagger to read: their columns are id, words"),
        ({"tokens": ["a b"]}, "The column 'tokens' holds string, and a tagger's tokens are a list of texts"),
    ],
)
def test_samples_that_are_no_tagged_sentences_are_named(change, said) -> None:
    table = pa.table({"id": ["x"], **change})
    with pytest.raises(InputError, match=said):
        tag_table(table, subject=resolved(Path(), "small-tagger"), files={})


def test_sentences_without_an_entity_teach_nothing(tmp_path) -> None:
    table = pa.table({"id": ["x"], "tokens": [["a"]], "tags": [["O"]]})
    with pytest.raises(InputError, match="None of the 1 training sentences has an entity in 'tags'"):
        learn(tmp_path, table)


def test_what_a_tagger_is_trained_with_is_in_its_fingerprint_and_its_name_is_not() -> None:
    plain = resolve_subject(Subject(tagger="small-tagger"), Path())
    renamed = resolve_subject(Subject(name="other", tagger="small-tagger"), Path())
    longer = resolve_subject(Subject(tagger="small-tagger", train={"epochs": 99}), Path())
    standing = resolve_subject(Subject(tagger="small-tagger", train={"learning_rate": 3e-3}), Path())
    spelt_out = resolve_subject(Subject(tagger="small-tagger", train={"learning_rate": 1e-3}), Path())
    assert plain.fingerprint == renamed.fingerprint == standing.fingerprint
    assert len({plain.fingerprint, longer.fingerprint, spelt_out.fingerprint}) == 3
