"""Image subjects from samples to findings: trained by us or brought along, the same however they were interrupted."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import torch
from safetensors.torch import save_file
from subject_workload import Rows, digits_all_called, digits_rows, findings_rows

from assay.data.schemas import Classes, Samples
from assay.infra.engines.opening import open_engine
from assay.infra.errors import InputError
from assay.infra.settings import Compute
from assay.infra.stages.partitions import collect, map_pieces, read_files
from assay.infra.stages.runs import Run
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress
from assay.tasks.statistics.findings import Finding, findings_from
from assay.tasks.subjects.images.model import load_image_model
from assay.tasks.subjects.images.task import measure_images, predict_images, train_network
from assay.tasks.subjects.networks.building import build_network
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.settings import Evaluation, Subject, Training
from assay.tasks.subjects.task import HeldOut, hold_out
from assay.tasks.subjects.trained import TrainedSubject, weights_of

DIGITS = [str(digit) for digit in range(10)]
FINDINGS = ["mass", "nodule", "effusion"]


@stage(version=1)
def given_digits(ends: list[int]) -> Artifact[Samples]:
    return map_pieces(digits_rows, [Rows(a, b) for a, b in zip([0, *ends], ends, strict=False)], into=Samples)


@stage(version=1)
def given_findings(n: int) -> Artifact[Samples]:
    return map_pieces(findings_rows, [Rows(0, n // 3), Rows(n // 3, n)], into=Samples)


@stage(version=1)
def given_classes(names: list[str]) -> Artifact[Classes]:
    table = pa.table({"code": range(len(names)), "name": names}, schema=Classes.schema)
    return write_table(table, into=Classes)


def subject(beside: Path | None = None, **settings: object) -> ResolvedSubject:
    return resolve_subject(Subject(**{"name": "plain", "network": "small-cnn", **settings}), beside or Path())


def measured(held: HeldOut, classes: Artifact[Classes], one: ResolvedSubject) -> tuple[TrainedSubject, list[Finding]]:
    trained = train_network(held.training, classes, one)
    predictions = predict_images(held.evaluation, classes, trained.files, one)
    findings = measure_images(predictions, held.evaluation, classes, one.settings.name)
    return trained, findings_from(collect(findings, None))


def value(findings: list[Finding], metric: str, group: str = "") -> Finding:
    (found,) = [one for one in findings if (one.metric, one.group) == (metric, group)]
    return found


@pytest.mark.slow
def test_a_small_network_reads_96_of_100_digits_after_15_epochs(run):
    held, classes = hold_out(given_digits([1797]), Evaluation()), given_classes(DIGITS)
    trained, findings = measured(held, classes, subject(train=Training(epochs=15)))
    accuracy = value(findings, "subject.accuracy")
    assert (accuracy.n, accuracy.of) == (450, "clean")
    assert accuracy.value >= 0.96
    assert accuracy.low < accuracy.value < accuracy.high
    assert value(findings, "subject.auc").value > 0.99
    assert value(findings, "subject.degenerate").verdict == "varied"
    assert {one.group for one in findings if one.metric == "subject.recall"} == set(DIGITS)
    assert collect(trained.curve, ["epoch"])["epoch"].to_pylist() == list(range(1, 16))
    assert run.record.stages[-1].summary.startswith("plain · 9")


def test_neither_the_cut_of_the_samples_nor_the_run_changes_the_weights(make_run):
    digests = []
    for ends in ([1797], [3, 700, 1797]):
        with make_run(fresh=True):
            held, classes = hold_out(given_digits(ends), Evaluation(limit=100)), given_classes(DIGITS)
            one = subject(train=Training(epochs=1))
            trained = train_network(held.training, classes, one)
            predictions = predict_images(held.evaluation, classes, trained.files, one)
            digests.append((trained.files.digest, trained.curve.digest, predictions.digest))
    assert digests[0] == digests[1]


def test_another_seed_is_another_network_and_another_name_is_not(make_run):
    def files(seed: int, name: str) -> str:
        with make_run(seed=seed):
            held = hold_out(given_digits([400]), Evaluation())
            one = subject(name=name, train=Training(epochs=1))
            return train_network(held.training, given_classes(DIGITS), one).files.digest

    assert files(0, "plain") == files(0, "renamed") != files(1, "plain")


def test_images_with_several_labels_are_learned_and_measured_per_label(run):
    held, classes = hold_out(given_findings(320), Evaluation()), given_classes(FINDINGS)
    one = subject(train=Training(epochs=12, batch_size=16, learning_rate=0.01))
    trained = train_network(held.training, classes, one)
    predictions = predict_images(held.evaluation, classes, trained.files, one)
    assert set(collect(predictions, ["predicted"])["predicted"].to_pylist()) == {-1}
    findings = findings_from(collect(measure_images(predictions, held.evaluation, classes, "plain"), None))
    assert value(findings, "subject.accuracy").value > 0.9
    assert value(findings, "subject.accuracy").n == held.evaluation.rows
    assert value(findings, "subject.recall", "nodule").n < held.evaluation.rows
    assert load_image_model(one, read_files(trained.files)).multilabel


def test_a_constant_subject_is_called_degenerate(run, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import torch\n\nclass Constant(torch.nn.Module):\n"
        "    def __init__(self, classes):\n        super().__init__()\n"
        "        self.bias = torch.nn.Parameter(torch.arange(classes, dtype=torch.float32))\n"
        "    def forward(self, images):\n        return self.bias.expand(len(images), -1)\n"
    )
    weights(tmp_path, {"bias": torch.arange(10.0)})
    held, classes = hold_out(given_digits([1797]), Evaluation(limit=50)), given_classes(DIGITS)
    one = subject(tmp_path, network="mine.py:Constant", weights="mine.safetensors")
    trained, findings = measured(held, classes, one)
    assert value(findings, "subject.degenerate").verdict == "degenerate: every sample is called 9"
    assert trained.curve.rows == 0
    assert run.record.stages[-3].summary == (
        "mine.py:Constant, with the weights it came with · pixels as they are, from 0 to 1 (no mean or std given)"
    )


def weights(folder: Path, tensors: dict[str, torch.Tensor]) -> None:
    from safetensors.torch import save_file

    save_file(tensors, folder / "mine.safetensors")


def test_named_networks_take_weights_that_were_made_elsewhere(run, tmp_path):
    network = build_network("small-cnn", classes=10, channels=1, size=32, seed=11)
    (tmp_path / "mine.safetensors").write_bytes(weights_of(network))
    held, classes = hold_out(given_digits([300]), Evaluation(limit=20)), given_classes(DIGITS)
    one = subject(tmp_path, weights="mine.safetensors", mean=(0.5,), std=(0.5,))
    model = load_image_model(one, read_files(train_network(held.training, classes, one).files))
    images = torch.rand(2, 1, 32, 32)
    torch.testing.assert_close(model.logits(images), network.eval()((images - 0.5) / 0.5))


LINEAR = "nn.Sequential(nn.Flatten(), nn.Linear(1024, 10))"


def own_weights(folder: Path, **options: object) -> tuple[ResolvedSubject, torch.nn.Module]:
    """A linear model of the user's, and the module itself as it was saved."""
    own(folder, LINEAR)
    torch.manual_seed(3)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(1024, 10))
    save_file(network.state_dict(), folder / "mine.safetensors")
    return subject(folder, network="mine.py:build", weights="mine.safetensors", **options), network


def test_a_users_model_is_given_pixels_from_0_to_1_and_answers_as_it_does_at_home(run, tmp_path):
    held, classes = hold_out(given_digits([300]), Evaluation()), given_classes(DIGITS)
    one, network = own_weights(tmp_path)
    files = read_files(train_network(held.training, classes, one).files)
    card = json.loads(files["card.json"])
    assert (card["mean"], card["std"], card["training_samples"]) == ([0.0], [1.0], 0)
    assert card["normalisation"] == "pixels as they are, from 0 to 1 (no mean or std given)"
    images = torch.rand(5, 1, 32, 32)
    assert torch.equal(load_image_model(one, files).logits(images), network(images))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mean": (0.5,), "std": (0.25,)}, "as given"),
        ({"mean": (0.5,)}, "no std given, so 1 per channel"),
        ({"std": (0.5,)}, "no mean given, so 0 per channel"),
    ],
)
def test_the_card_says_where_the_normalisation_of_a_users_model_comes_from(run, tmp_path, options, said):
    held, classes = hold_out(given_digits([300]), Evaluation()), given_classes(DIGITS)
    one, _ = own_weights(tmp_path, **options)
    assert (
        json.loads(read_files(train_network(held.training, classes, one).files)["card.json"])["normalisation"] == said
    )
    line = run.record.stages[-1].summary
    assert line.endswith("it came with" if said == "as given" else said)


def test_a_network_that_we_train_is_normalised_by_what_it_learns_from(run):
    held, classes = hold_out(given_digits([300]), Evaluation()), given_classes(DIGITS)
    trained = train_network(held.training, classes, subject(train=Training(epochs=1)))
    card = json.loads(read_files(trained.files)["card.json"])
    assert card["mean"] != [0.0]
    assert card["normalisation"] == "mean and std measured on the training images"


@stage(version=1)
def digits_of_class(gold: int | None) -> Artifact[Samples]:
    return map_pieces(digits_all_called, [Rows(0, 100), Rows(100, 200)], into=Samples, gold=gold)


@pytest.mark.parametrize("gold", [None, 4])
def test_a_users_model_can_be_audited_where_nobody_knows_the_classes_or_all_are_one(run, tmp_path, gold):
    held, classes = hold_out(digits_of_class(gold), Evaluation()), given_classes(DIGITS)
    _, findings = measured(held, classes, own_weights(tmp_path)[0])
    accuracy = value(findings, "subject.accuracy")
    assert (accuracy.n, accuracy.value is None) == ((0, True) if gold is None else (held.evaluation.rows, False))
    with pytest.raises(InputError, match=r"no training sample has a known class|training samples are 4"):
        train_network(held.training, classes, subject(train=Training(epochs=1)))


def test_a_users_model_is_looked_at_with_a_few_images_and_not_with_the_training_split(run, tmp_path, monkeypatch):
    from assay.tasks.subjects.images import task as image_task

    seen = []
    plainly = image_task.images_of
    monkeypatch.setattr(image_task, "images_of", lambda table, names: seen.append(table) or plainly(table, names))
    held, classes = hold_out(given_digits([1797]), Evaluation()), given_classes(DIGITS)
    train_network(held.training, classes, own_weights(tmp_path)[0])
    assert [table.num_rows for table in seen] == [image_task.PROBED]


def own(folder: Path, returned: str, arguments: str = "") -> ResolvedSubject:
    (folder / "mine.py").write_text(
        f"import torch\nfrom torch import nn\n\ndef build({arguments}):\n    return {returned}\n"
    )
    return subject(folder, network="mine.py:build", train=Training(epochs=1))


@pytest.mark.parametrize(
    ("returned", "arguments", "said"),
    [
        ("nn.Sequential(nn.Flatten(), nn.Linear(1024, 7))", "", r"plain gives \[2, 7\] for 2 images, expected \[2, 10"),
        ("nn.Flatten(0)", "", r"plain gives \[2048\] for 2 images"),
        ("nn.Linear(3, 10)", "", "plain raised RuntimeError on images of 1×32×32: mat1 and mat2"),
        ("[1, 2]", "", '"mine.py:build" built a list, expected a torch.nn.Module'),
        ("nn.Linear(1, 1)", "depth", 'The network "mine.py:build" asks for depth; Assay can give classes, channels'),
        ("1 / 0", "", r'"mine.py:build" raised ZeroDivisionError: division by zero \(line 5\)'),
    ],
)
def test_an_own_network_that_does_not_fit_is_refused_in_words(run, tmp_path, returned, arguments, said):
    held = hold_out(given_digits([300]), Evaluation())
    with pytest.raises(InputError, match=said):
        train_network(held.training, given_classes(DIGITS), own(tmp_path, returned, arguments))


def test_an_own_network_gets_what_it_asks_for_and_a_softmax_at_its_end_is_noticed(run, tmp_path):
    returned = "nn.Sequential(nn.Flatten(), nn.Linear(channels * size**2, classes), nn.Softmax(dim=1))"
    one = own(tmp_path, returned, "classes, channels, size, hidden=3")
    held, classes = hold_out(given_digits([600]), Evaluation()), given_classes(DIGITS)
    trained, findings = measured(held, classes, one)
    model = load_image_model(one, read_files(trained.files))
    assert model.softmaxed
    assert value(findings, "subject.accuracy").value > 0.3  # it learned, from the logarithm of what it gives
    images = torch.rand(3, 1, 32, 32)
    assert torch.equal(model.probabilities(images), model.logits(images))


@pytest.mark.parametrize(("last", "noticed"), [("Sigmoid", True), ("Identity", False)])
def test_logits_of_labels_that_happen_to_lie_within_0_and_1_are_not_taken_for_probabilities(
    run, tmp_path, last, noticed
):
    linear = {"1.weight": torch.full((3, 256), 1e-5), "1.bias": torch.tensor([0.2, 0.5, 0.7])}
    save_file(linear, tmp_path / "mine.safetensors")
    returned = f"nn.Sequential(nn.Flatten(), nn.Linear(256, 3), nn.{last}())"
    own(tmp_path, returned, "")
    one = subject(tmp_path, network="mine.py:build", weights="mine.safetensors")
    held = hold_out(given_findings(120), Evaluation())
    trained = train_network(held.training, given_classes(FINDINGS), one)
    assert load_image_model(one, read_files(trained.files)).softmaxed is noticed


def test_weights_that_make_nan_are_refused_with_the_sample(run, tmp_path):
    network = build_network("small-cnn", classes=10, channels=1, size=32)
    with torch.no_grad():
        network.head.bias[4] = torch.nan
    (tmp_path / "mine.safetensors").write_bytes(weights_of(network))
    held = hold_out(given_digits([300]), Evaluation())
    with pytest.raises(InputError, match=r"The subject plain returned \[.*nan.*\] for sample 'digit-0"):
        train_network(held.training, given_classes(DIGITS), subject(tmp_path, weights="mine.safetensors"))


def test_normalisation_that_does_not_fit_the_channels_is_refused(run):
    held, classes = hold_out(given_digits([300]), Evaluation()), given_classes(DIGITS)
    with pytest.raises(InputError, match="`mean` of the subject plain has 3 values, and its images have 1 channel:"):
        train_network(held.training, classes, subject(train=Training(epochs=1), mean=(0.5, 0.5, 0.5)))


def test_a_network_of_other_classes_is_refused(run):
    held = hold_out(given_digits([300]), Evaluation())
    one = subject(train=Training(epochs=1))
    trained = train_network(held.training, given_classes(DIGITS), one)
    with pytest.raises(InputError, match="The network of plain knows 10 classes, and the pipeline has 11"):
        predict_images(held.evaluation, given_classes([*DIGITS, "other"]), trained.files, one)


def test_images_of_another_shape_than_the_network_learned_from_are_refused_by_name(run):
    classes = given_classes(FINDINGS)
    one = subject(train=Training(epochs=1))
    small = hold_out(given_findings(60), Evaluation())
    trained = train_network(small.training, classes, one)
    large = hold_out(given_digits([300]), Evaluation(limit=10))
    with pytest.raises(InputError, match=r"Sample 'digit-0.*' is an image of 1×32×32 .* plain was made for 1×16×16"):
        predict_images(large.evaluation, classes, trained.files, one)


DYING = """
import os, pathlib, signal, torch
from assay.tasks.subjects.networks.convolutional import SmallCNN

class Dying(SmallCNN):
    '''Kills its process in the epoch after the first checkpoint, once.'''

    def __init__(self, classes, channels, size):
        super().__init__(classes=classes, channels=channels, size=size, width=1.0)

    def forward(self, images):
        marker = pathlib.Path({marker!r})
        saved = list(pathlib.Path({store!r}).glob("stages/train_network/*/marks/training/step-*.json"))
        if self.training and saved and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().forward(images)
"""


@pytest.mark.slow
@pytest.mark.xdist_group("dask")
def test_a_worker_killed_after_a_checkpoint_changes_no_bit_of_the_weights(tmp_path, make_run: Callable[..., Run]):
    stores = tmp_path / "killed", tmp_path / "undisturbed"
    marker = tmp_path / "marker"
    (tmp_path / "mine.py").write_text(DYING.format(marker=str(marker), store=str(stores[0])))
    one = subject(tmp_path, network="mine.py:Dying", train=Training(epochs=4))
    settings = Compute(workers=1, gpu_workers=0)

    def weights_and_curve() -> tuple[str, str]:
        held = hold_out(given_digits([300]), Evaluation())
        trained = train_network(held.training, given_classes(DIGITS), one)
        return trained.files.digest, trained.curve.digest

    opened = Store(str(stores[0])).open()
    with Run("test", opened, lambda: open_engine(settings), Progress(), compute=settings):
        killed = weights_and_curve()
    assert marker.exists()
    with make_run(store=str(stores[1])):
        assert weights_and_curve() == killed
