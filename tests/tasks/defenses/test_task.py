"""Defended subjects as stages: they load like any subject, resume to the bit, and are compared with their original."""

from __future__ import annotations

import json

import pytest
import torch
from tiny_subjects import tiny_classes, tiny_samples

from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, read_files
from assay.infra.stages.trainings import Checkpoints
from assay.tasks.attacks.pgd import PGD
from assay.tasks.attacks.task import attack_subject
from assay.tasks.defenses.settings import TRADES, MAAdvT, MPAdvT, Standard
from assay.tasks.defenses.task import defend_subject, measure_defences
from assay.tasks.statistics.findings import findings_from
from assay.tasks.subjects.images.model import load_image_model
from assay.tasks.subjects.images.task import predict_images, train_network
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Subject, Training

torch.set_num_threads(1)
SUBJECT = ResolvedSubject(
    Subject(name="tiny", network="small-cnn", width=0.25, train=Training(epochs=3, batch_size=16))
)
DEFENCES = [
    one.variants(0.05)[0] for one in (Standard(steps=2), MPAdvT(steps=(1, 2)), MAAdvT(steps=2), MAAdvT(start="scratch"))
]


def defended(defense, cuts=(40, 20), subject=SUBJECT, *, multilabel=False):
    samples, classes = tiny_samples(list(cuts), multilabel), tiny_classes()
    files = train_network(samples, classes, subject).files
    return defend_subject(samples, classes, files, subject, defense, f"tiny+{defense.called}")


class EndedError(Exception):
    """The process that trained is gone."""


def end_after(monkeypatch, step: int) -> None:
    """The next training ends right after it has saved that epoch."""
    keep = Checkpoints.save

    def save(self, at, total, files):
        keep(self, at, total, files)
        if at == step:
            monkeypatch.setattr(Checkpoints, "save", keep)
            raise EndedError

    monkeypatch.setattr(Checkpoints, "save", save)


def test_what_stops_at_its_best_epoch_says_so(run):
    (variant,) = TRADES(steps=1, stop="best", train=Training(epochs=2, batch_size=16)).variants(0.05)
    made = defended(variant)
    assert set(read_files(made.files)) == {"card.json", "model.safetensors"}
    assert json.loads(read_files(made.files)["card.json"])["defence"]["stop"] == ["best"]


@pytest.mark.slow
@pytest.mark.parametrize("defense", DEFENCES, ids=["standard", "mpadvt", "maadvt", "scratch"])
def test_a_training_that_was_ended_goes_on_to_the_same_bits(make_run, monkeypatch, tmp_path, defense):
    with make_run(store=str(tmp_path / "undisturbed")):
        whole = defended(defense)
    with make_run(retries=0):
        samples, classes = tiny_samples([40, 20]), tiny_classes()
        files = train_network(samples, classes, SUBJECT).files
        end_after(monkeypatch, 2)
        with pytest.raises(Exception, match="EndedError"):
            defend_subject(samples, classes, files, SUBJECT, defense, f"tiny+{defense.called}")
    steps = []
    latest = Checkpoints.latest
    monkeypatch.setattr(Checkpoints, "latest", lambda self: steps.append((found := latest(self)) and found[0]) or found)
    with make_run():
        resumed = defended(defense)
    assert steps == [2]
    assert (resumed.files.digest, resumed.curve.digest) == (whole.files.digest, whole.curve.digest)


def test_a_defended_model_is_the_same_however_samples_are_cut_and_says_how_it_was_made(make_run):
    digests = set()
    for cuts in ((60,), (7, 0, 53)):
        with make_run(fresh=True):
            made = defended(DEFENCES[2], cuts)
            digests.add(made.files.digest)
            contents = read_files(made.files)
            curve = collect(made.curve, None)
    assert len(digests) == 1
    card = json.loads(contents["card.json"])
    assert card["defends"] == "tiny"
    assert card["defence"]["defense"] == "maadvt"
    assert (card["defence"]["eps"], card["defence"]["lambda"], card["defence"]["start"]) == ([0.05], [6.0], ["subject"])
    assert card["train"]["epochs"] == 3
    assert curve["epoch"].to_pylist() == [1, 2, 3]
    assert curve["validation_accuracy"].null_count == 0
    assert load_image_model(SUBJECT, contents).classes == 3


def test_from_scratch_and_from_the_subject_are_two_models(run):
    made = {
        start: read_files(defended(Standard(steps=1, start=start, train=Training(epochs=1)).variants(0.05)[0]).files)
        for start in ("subject", "scratch")
    }
    assert made["subject"]["model.safetensors"] != made["scratch"]["model.safetensors"]
    assert json.loads(made["scratch"]["card.json"])["mean"] == json.loads(made["subject"]["card.json"])["mean"]


def test_a_defence_may_have_a_training_of_its_own(run):
    own = Standard(steps=1, train=Training(epochs=2, batch_size=20, validation=0.2)).variants(0.05)[0]
    made = defended(own)
    assert collect(made.curve, None).num_rows == 2
    assert json.loads(read_files(made.files)["card.json"])["train"]["batch_size"] == 20


@pytest.mark.parametrize("defense", DEFENCES[:2], ids=["standard", "mpadvt"])
def test_images_with_several_labels_can_be_defended(run, defense):
    card = json.loads(read_files(defended(defense, multilabel=True).files)["card.json"])
    assert card["multilabel"]


def test_maadvt_is_refused_where_images_bear_several_labels(run):
    with pytest.raises(InputError, match=r"exclude each other .* tiny answers with several labels .*`mpadvt`"):
        defended(DEFENCES[2], multilabel=True)


@pytest.mark.slow
@pytest.mark.parametrize("multilabel", [False, True])
def test_defences_are_measured_against_their_original(make_run, multilabel):
    found = []
    for cuts in ([60], [20, 40]):
        with make_run(fresh=True):
            samples, classes = tiny_samples(cuts, multilabel), tiny_classes()
            original = train_network(samples, classes, SUBJECT).files
            attack = PGD(eps=(0.05,), steps=3, keep=0)
            models = {"none": original, "standard": defended(DEFENCES[0], cuts, multilabel=multilabel).files}
            measured = measure_defences(
                {name: predict_images(samples, classes, files, SUBJECT) for name, files in models.items()},
                {
                    name: [attack_subject(samples, classes, files, SUBJECT, attack, name).attacked]
                    for name, files in models.items()
                },
                samples,
                classes,
                "tiny",
                "eps=0.05",
                0.01,
            )
            found.append(findings_from(collect(measured, None)))
    assert found[0] == found[1]
    places = [(one.metric, one.of, one.group) for one in found[0]]
    for of in ("none", "standard"):
        for group in ("clean", "eps=0.05"):
            for metric in ("accuracy", "balanced_accuracy", "worst_recall"):
                assert (f"defense.{metric}", of, group) in places
    compared = ("defense.gain", "defense.mcnemar_p")
    assert [place for place in places if place[0] in compared] == [
        ("defense.gain", "standard", "clean"),
        ("defense.mcnemar_p", "standard", "clean"),
        ("defense.gain", "standard", "eps=0.05, pgd"),
        ("defense.mcnemar_p", "standard", "eps=0.05, pgd"),
    ]
    assert {one.subject for one in found[0]} == {"tiny"}
    assert all(one.n == 60 for one in found[0] if one.metric in ("defense.accuracy", *compared))
