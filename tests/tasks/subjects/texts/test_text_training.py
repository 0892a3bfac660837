"""A text classifier learns the same whatever interrupts it, and from the texts alone."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import torch

from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.stages.trainings import Checkpoints
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Subject, Training
from assay.tasks.subjects.texts.network import text_exercise
from assay.tasks.subjects.texts.rows import load_text_model, texts_of
from assay.tasks.subjects.texts.task import learn_texts
from assay.tasks.subjects.token_networks.epochs import learn as train
from assay.tasks.subjects.token_networks.hugging_face import learn_vocabulary

GOOD, BAD = ["good film", "a fine cast", "lovely plot", "fine sound"], ["bad film", "a dull cast", "poor plot", "dull!"]


def samples(copies: int = 6) -> pa.Table:
    texts = [f"{text} in part {copy}" for copy in range(copies) for text in GOOD + BAD]
    gold = [1, 1, 1, 1, 0, 0, 0, 0] * copies
    ids = [f"t{place:03d}" for place in range(len(texts))]
    return pa.table({"id": ids, "gold": pa.array(gold, pa.int16()), "text": texts})


def subject(**train: object) -> ResolvedSubject:
    options = Training(**{"epochs": 3, "batch_size": 8, "validation": 0.2, **train})
    return ResolvedSubject(Subject(classifier="small-bert", train=options))


def learn(table: pa.Table, place: object, **train: object) -> tuple[dict[str, bytes], pa.Table]:
    return learn_texts(
        table,
        checkpoints=Checkpoints(str(place), "marks/training"),
        subject=subject(**train),
        classes=["negative", "positive"],
        seeds=Seeds(7, "train"),
    )


class InterruptionError(Exception):
    pass


def test_a_training_goes_on_from_any_epoch_bit_for_bit(tmp_path, monkeypatch) -> None:
    files, curve = learn(samples(), tmp_path / "whole")
    save = Checkpoints.save

    def save_and_break(self: Checkpoints, step: int, total: int, kept: dict[str, bytes]) -> None:
        save(self, step, total, kept)
        if step < total:
            raise InterruptionError

    monkeypatch.setattr(Checkpoints, "save", save_and_break)
    for _ in range(2):
        with pytest.raises(InterruptionError):
            learn(samples(), tmp_path / "broken")
    resumed, its_curve = learn(samples(), tmp_path / "broken")
    assert resumed == files
    assert its_curve.equals(curve)
    assert curve["epoch"].to_pylist() == [1, 2, 3]


def test_no_order_of_samples_shows_in_what_is_learnt(tmp_path) -> None:
    table = samples()
    order = np.random.default_rng(0).permutation(table.num_rows)
    assert learn(table, tmp_path / "a")[0] == learn(table.take(pa.array(order)), tmp_path / "b")[0]


def test_another_seed_is_another_network(tmp_path) -> None:
    first = learn(samples(), tmp_path / "a")[0]
    other = learn_texts(
        samples(),
        checkpoints=Checkpoints(str(tmp_path / "b"), "m"),
        subject=subject(),
        classes=["negative", "positive"],
        seeds=Seeds(8, "train"),
    )[0]
    assert first["model.safetensors"] != other["model.safetensors"]
    assert first["tokenizer.json"] == other["tokenizer.json"]


def test_what_is_learnt_tells_good_from_bad_and_its_card_says_how(tmp_path) -> None:
    files, curve = learn(samples(20), tmp_path, epochs=12, learning_rate=3e-3)
    model = load_text_model(subject(), files, 2)
    said = model.probabilities(["a lovely film", "a dull film"])
    assert said[0, 1] > 0.8 > 0.2 > said[1, 1]
    card = json.loads(files["card.json"])
    assert (card["kind"], card["limit"], card["training_samples"]) == ("small-bert", 512, 160)
    assert curve["train_accuracy"].to_pylist()[-1] > 0.95


def test_the_files_open_in_transformers_with_the_same_answers(tmp_path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    files, _ = learn(samples(), tmp_path)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    network = AutoModelForSequenceClassification.from_pretrained(tmp_path, local_files_only=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path, local_files_only=True)
    with torch.inference_mode():
        theirs = torch.softmax(network(**tokenizer("A dull film", return_tensors="pt")).logits, dim=-1)[0].numpy()
    ours = load_text_model(subject(), files, 2).probabilities(["A dull film"])[0]
    assert np.allclose(ours, theirs, atol=1e-6)


def test_a_vocabulary_is_the_same_in_every_process() -> None:
    code = (
        "import hashlib; from assay.tasks.subjects.token_networks.hugging_face import learn_vocabulary;"
        "words = ['w%02d x%d yz' % (i, i * i) for i in range(300)];"
        "print(hashlib.sha256(learn_vocabulary(words).encode()).hexdigest())"
    )
    found = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout for _ in range(3)}
    assert len(found) == 1
    assert len(found.pop().strip()) == 64
    assert json.loads(learn_vocabulary(["a b"]))["model"]["type"] == "WordPiece"


def test_labels_of_one_class_teach_nothing(tmp_path) -> None:
    table = samples().set_column(1, "gold", pa.array([1] * 48, pa.int16()))
    with pytest.raises(InputError, match="know the class 'positive' only"):
        learn(table, tmp_path)


def test_texts_without_a_label_are_left_out(tmp_path) -> None:
    table = samples()
    unlabelled = table.set_column(1, "gold", pa.nulls(48, pa.int16())).slice(0, 8)
    renamed = unlabelled.set_column(0, "id", pa.array([f"u{place}" for place in range(8)]))
    assert learn(pa.concat_tables([renamed, table]), tmp_path / "a")[0] == learn(table, tmp_path / "b")[0]


class Torn(torch.nn.Module):
    """A network whose answers are no numbers any more."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((1,), float("nan")))

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> SimpleNamespace:
        return SimpleNamespace(logits=self.weight * torch.ones((len(input_ids), 2)))


def test_a_training_that_comes_apart_says_so_and_saves_nothing(tmp_path) -> None:
    ids = [np.array([1, 2], dtype=np.int64)] * 4
    torn = Torn()
    exercise, options = text_exercise(torn, ids, np.array([0, 1, 0, 1]), pad=0), Training(validation=0)
    left = Checkpoints(str(tmp_path), "m")
    with pytest.raises(InputError, match=r"came apart in epoch 1: its loss is nan. Lower `train.learning_rate`"):
        train(torn, exercise, "abcd", options, seeds=Seeds(0, "train"), checkpoints=left)
    assert left.latest() is None


def test_a_sample_without_a_text_is_named() -> None:
    table = pa.table({"id": ["a", "b"], "text": ["x", None], "n": [1, 2]})
    with pytest.raises(InputError, match=r"Sample 'b' has no text in the column 'text'"):
        texts_of(table, "text")
    with pytest.raises(InputError, match=r"no column 'body'.*id, text, n"):
        texts_of(table, "body")
    with pytest.raises(InputError, match="holds int64"):
        texts_of(table, "n")
