"""A network's earlier selves: kept on the way whatever interrupts it, asked once more, and a measure of hardness."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from bright_thirds import Memory
from small_texts import TEXTS
from torch.nn import functional

from assay.data.images import image_columns, pixels_of
from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.tasks.hardness.task import dynamics_rows, mean_doubt
from assay.tasks.subjects.images.task import learn_images
from assay.tasks.subjects.resolved import resolve_subject
from assay.tasks.subjects.settings import Subject, Training
from assay.tasks.subjects.texts.task import learn_texts
from assay.tasks.subjects.trained import earlier_selves

SEEDS = Seeds(0, "train")
CLASSES = ("top", "middle", "bottom")


def images(n: int = 90) -> pa.Table:
    """Images whose class is the third that is bright; in the last third of them the brightness is faint."""
    generator = np.random.default_rng(0)
    gold = generator.integers(0, 3, n)
    pixels = generator.integers(0, 100, (n, 16, 16)).astype(np.uint8)
    for row, code in enumerate(gold):
        pixels[row, 5 * code : 5 * code + 5] += 25 if row >= 2 * n // 3 else 150
    return pa.table(
        {
            "id": [f"s{row:02d}" for row in range(n)],
            "gold": pa.array(gold, pa.int16()),
            **image_columns(pixels[:, None].astype(np.float32) / 255),
        }
    )


def subject(**train):
    settings = {"network": "small-cnn", "train": Training(**{"epochs": 6, "validation": 0, **train})}
    return resolve_subject(Subject(name="net", **settings), Path())


def learned(one, memory):
    files, _ = learn_images(images(), checkpoints=memory, subject=one, classes=CLASSES, seeds=SEEDS)
    return files


def test_weights_on_the_way_are_those_of_the_checkpoints():
    memory = Memory()
    files = learned(subject(snapshots=2), memory)
    kept = {name: content for name, content in files.items() if name.startswith("epoch-")}
    at = {step: saved["network.safetensors"] for step, saved in memory.saved}
    assert kept == {"epoch-00002": at[2], "epoch-00004": at[4]}
    assert learned(subject(), Memory()) | kept == files | {"card.json": learned(subject(), Memory())["card.json"]}


@pytest.mark.parametrize("end_after", [1, 2, 3, 5])
def test_an_interruption_loses_none_of_them(end_after):
    memory = Memory(end_after)
    with pytest.raises(KeyboardInterrupt):
        learned(subject(snapshots=2), memory)
    assert learned(subject(snapshots=2), memory) == learned(subject(snapshots=2), Memory())


def test_nothing_is_kept_unasked():
    assert sorted(learned(subject(), Memory())) == ["card.json", "model.safetensors"]
    assert "snapshots" not in json.loads(learned(subject(), Memory())["card.json"])["train"]


def test_lateness_is_the_mean_doubt_of_the_earlier_selves():
    one = subject(snapshots=2)
    files = learned(one, Memory())
    rows = dynamics_rows(images(), subject=one, files=files, classes=CLASSES)
    from assay.tasks.subjects.images.model import load_image_model

    pixels = torch.from_numpy(pixels_of(images()))
    with torch.inference_mode():
        said = [
            functional.softmax(load_image_model(one, each).logits(pixels).double(), dim=1)
            for each in [*earlier_selves(files), files]
        ]
    answer = said[-1].argmax(dim=1)
    expected = 1 - torch.stack(said).mean(dim=0)[torch.arange(90), answer]
    assert rows["value"].to_numpy() == pytest.approx(expected.numpy(), abs=1e-5)
    assert rows["measure"].to_pylist() == ["dynamics"] * 90


def test_what_is_faint_is_learned_late():
    one = subject(snapshots=3, epochs=12, batch_size=16, learning_rate=0.01)
    values = dynamics_rows(images(), subject=one, files=learned(one, Memory()), classes=CLASSES)["value"].to_numpy()
    assert np.median(values[60:]) > 1.5 * np.median(values[:60])


def test_of_several_labels_the_one_that_was_least_sure_speaks():
    probabilities = np.array([[[0.9, 0.6]], [[0.9, 0.2]]])
    assert mean_doubt(probabilities, several=True) == pytest.approx(
        [0.4]
    )  # the second: said no in the end, 0.4 and 0.8


def test_texts_have_them_too():
    samples = pa.table(
        {
            "id": [f"t{row}" for row in range(len(TEXTS))],
            "gold": pa.array([row % 2 for row in range(len(TEXTS))], pa.int16()),
            "text": list(TEXTS),
        }
    )
    train = Training(epochs=3, batch_size=4, snapshots=2, validation=0)
    one = resolve_subject(Subject(name="bert", classifier="small-bert", train=train), Path())
    files, _ = learn_texts(samples, checkpoints=Memory(), subject=one, classes=("a", "b"), seeds=SEEDS)
    assert len(earlier_selves(files)) == 2
    rows = dynamics_rows(samples, subject=one, files=files, classes=("a", "b"))
    assert rows.num_rows == len(TEXTS)
    assert len(set(rows["value"].to_pylist())) > 1


def test_only_what_learns_by_epochs_and_answers_with_a_class_has_any():
    with pytest.raises(ValueError, match=r"`snapshots`, which are kept of a network or a classifier"):
        Subject(name="tags", tagger="small-tagger", train=Training(snapshots=2))


def test_a_faulty_snapshot_is_no_subject():
    one = subject(snapshots=2)
    files = learned(one, Memory()) | {"epoch-00002": b"damaged"}
    with pytest.raises(InputError):
        dynamics_rows(images(), subject=one, files=files, classes=CLASSES)
