"""Shifted windows: what a subject sees is moved and never padded, and a copy fitted to the test set is found."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch
from window_workload import SIDE, Piece, noise

from assay.data.images import pixels_of
from assay.data.schemas import Classes, Samples, ShiftedWindows
from assay.infra.errors import InputError, RunError
from assay.infra.stages.partitions import collect, map_pieces, read_files
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ingest.image_pixels import shaped
from assay.tasks.ingest.settings import Pixels
from assay.tasks.overfitting.independence import Record, pairwise_test, records_from
from assay.tasks.overfitting.page import window_blocks
from assay.tasks.overfitting.settings import Dishonest, Overfitting, Translations
from assay.tasks.overfitting.task import fresh_samples, measure_windows, shift_windows, train_again, train_dishonestly
from assay.tasks.overfitting.verdicts import judge
from assay.tasks.overfitting.windows import (
    learned_rows,
    require_margin,
    shift_partition,
    window_findings,
    window_look,
    window_records,
    window_shifts_from,
)
from assay.tasks.reporting.parts import LinePlot
from assay.tasks.statistics.findings import FindingIndex, findings_from
from assay.tasks.subjects.holding_out import drawn
from assay.tasks.subjects.images.dataset import labelled_images
from assay.tasks.subjects.images.model import load_image_model
from assay.tasks.subjects.images.task import predict_images, train_network
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Evaluation, Subject, Training

torch.set_num_threads(1)


CROP, EPS = 8, 1


TRAIN = Training(epochs=6, batch_size=32, augment=("window",), validation=0)


SUBJECT = ResolvedSubject(Subject(name="tiny", network="small-cnn", width=0.5, crop=CROP, train=TRAIN))


BOTH = ("strongest", "random")


@stage(version=1)
def noisy(ends: list[int], start: int = 0, unlabelled: int = 0, several: bool = False) -> Artifact[Samples]:
    starts = [start, *ends]
    pieces = [Piece(a, b, unlabelled, several) for a, b in zip(starts, ends, strict=False)]
    return map_pieces(noise, pieces, into=Samples)


@stage(version=1)
def three_classes() -> Artifact[Classes]:
    return write_table(pa.table({"code": range(3), "name": list("abc")}, schema=Classes.schema), into=Classes)


def shifted(ends=(40,), files=None, subject=SUBJECT, eps=EPS, **given) -> Artifact[ShiftedWindows]:
    classes = three_classes()
    files = files or train_network(noisy([1060], 1000), classes, SUBJECT).files
    return shift_windows(noisy(list(ends), **given), classes, files, subject, eps, BOTH)


def test_shifts_are_the_same_however_samples_are_cut(make_run):
    digests = set()
    for ends in ((40,), (7, 7, 33, 40)):
        with make_run(fresh=True):
            digests.add(shifted(ends).digest)
    assert len(digests) == 1


@pytest.mark.slow
def test_two_worker_processes_shift_like_this_one(make_run):
    digests = set()
    for compute in ({"engine": "serial"}, {"engine": "local", "workers": 2}):
        with make_run(fresh=True, **compute):
            digests.add(shifted((7, 33, 40)).digest)
    assert len(digests) == 1


def test_a_copy_fitted_to_the_test_set_is_found_and_the_subject_is_not(run):
    """On noise with drawn classes nobody can be better than chance but by knowing the pixels."""
    classes, samples = three_classes(), noisy([250])
    files = train_network(noisy([1060], 1000), classes, SUBJECT).files
    copy = train_dishonestly(samples, classes, files, SUBJECT, Dishonest(epochs=40, learning_rate=0.01)).files
    again = train_again(noisy([1060], 1000), classes, SUBJECT, 1).files
    assert read_files(again) != read_files(files)
    tested = [shift_windows(samples, classes, one, SUBJECT, EPS, BOTH) for one in (files, again)]
    dishonest = shift_windows(samples, classes, copy, SUBJECT, EPS, BOTH)
    made = measure_windows({"test": tested, "dishonest": [dishonest]}, "tiny", BOTH, "paper", 0.05)
    records = {(one.role, one.generator): one for one in records_from(collect(made.tests, None))}
    assert records["test", "strongest"].models == 2
    assert records["test", "strongest"].tested.p > 0.5
    assert records["dishonest", "strongest"].tested.p < 1e-4
    assert records["dishonest", "strongest"].tested.mean > 0.1
    assert (records["test", "strongest"].tested.span, records["test", "random"].tested.span) == (1.5, 2.0)
    findings = findings_from(collect(made.findings, None))
    by_offset = {(one.of, one.group): one.value for one in findings if one.metric == "overfitting.error_by_offset"}
    assert by_offset["dishonest", "offset=1"] - by_offset["dishonest", "offset=0"] > 0.2
    assert {one.group for one in findings if one.metric == "overfitting.seed_p_value"} == {"seed=0", "seed=1"}
    passes = {one.of: one.value for one in findings if one.metric == "overfitting.passes"}
    assert 9 <= passes["test"] <= 25
    plots = [block for block in window_blocks(FindingIndex(findings)) if isinstance(block, LinePlot)]
    assert [plot.title for plot in plots] == ["How wrong tiny is when its window moves"]
    assert [series.name for series in plots[0].series] == ["test set", "copy fitted to the test set"]


def test_a_window_moves_within_the_image_and_nothing_is_padded(run):
    files = read_files(train_network(noisy([1060], 1000), three_classes(), SUBJECT).files)
    model, pixels = load_image_model(SUBJECT, files), pixels_of(noise(Piece(0, 12)))
    truth = np.zeros(12, np.int64)
    look, moved = window_look(model, pixels, truth, CROP), np.roll(pixels, (1, -3), axis=(2, 3))  # one down, three left
    everybody = np.arange(12)
    found = look(everybody, np.full(12, 1), np.full(12, -3))
    expected = window_look(model, moved, truth, CROP)(everybody, np.zeros(12, int), np.zeros(12, int))
    assert [one.tolist() for one in found] == [one.tolist() for one in expected]
    assert found[0].tolist() != look(everybody, np.zeros(12, int), np.zeros(12, int))[0].tolist()


def test_where_it_is_the_subject_is_wrong_as_often_as_it_predicts_wrongly(run):
    classes, samples = three_classes(), noisy([40])
    files = train_network(noisy([1060], 1000), classes, SUBJECT).files
    said = collect(predict_images(samples, classes, files, SUBJECT), None)["predicted"].to_pylist()
    gold = collect(samples, ["gold"])["gold"].to_pylist()
    shifted = window_shifts_from(collect(shift_windows(samples, classes, files, SUBJECT, EPS, BOTH), None), BOTH)
    assert shifted.wrong.tolist() == [one != two for one, two in zip(said, gold, strict=True)]
    assert shifted.wrong_at[:, 4].tolist() == shifted.wrong.tolist()


def test_what_lies_in_the_margin_changes_no_prediction(run):
    files = read_files(train_network(noisy([1060], 1000), three_classes(), SUBJECT).files)
    model, pixels = load_image_model(SUBJECT, files), pixels_of(noise(Piece(0, 20)))
    other = 1 - pixels
    other[:, :, 4:12, 4:12] = pixels[:, :, 4:12, 4:12]
    assert np.array_equal(model.predict(pixels), model.predict(other))
    assert np.array_equal(model.predict(pixels), model.predict(pixels[:, :, 4:12, 4:12]))


def test_samples_of_unknown_class_are_left_out(run):
    assert collect(shifted(unlabelled=10), None).num_rows == 2 * 30


def test_a_subject_that_sees_whole_images_is_refused_since_it_would_have_to_pad(run):
    padding = ResolvedSubject(Subject(name="whole", network="small-cnn", width=0.5, train=Training(epochs=1)))
    files = train_network(noisy([1060], 1000), three_classes(), padding).files
    with pytest.raises(InputError, match=r"whole sees whole images, .* padding them: give the subject a `crop`"):
        shifted(files=files, subject=padding)


@pytest.mark.parametrize(
    ("size", "crop", "eps", "said"),
    [
        ((16, 16), 8, 2, r"need images of 20×20 .* 8×8 that s sees .* have 16×16: use eps: 1, a `crop` of at most 4"),
        ((32, 40), 28, 1, r"need images of 34×34 .* have 32×40: use a `crop` of at most 26, or let the source keep"),
        ((8, 8), 6, 2, r"need images of 18×18 .* have 8×8: let the source keep a `margin`"),
    ],
)
def test_images_too_small_for_the_shifts_are_refused_with_what_would_do(size, crop, eps, said):
    with pytest.raises(InputError, match=said):
        require_margin(*size, crop, eps, "s")


def test_a_crop_of_224_out_of_256_keeps_the_margin_of_16_pixels_that_five_pixels_of_shift_need():
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 256, (3, 300, 420), np.uint8)
    wide = shaped(picture, Pixels(resize=256, crop=224, margin=16))
    alone = shaped(picture, Pixels(resize=256, crop=224))
    assert wide.shape == (3, 256, 256)
    assert np.array_equal(wide[:, 16:240, 16:240], alone)
    assert require_margin(256, 256, 224, 5, "s") == 224
    with pytest.raises(InputError, match="use eps: 5"):
        require_margin(256, 256, 224, 6, "s")


def test_images_with_several_labels_are_refused(run):
    with pytest.raises(InputError, match=r"tiny sees bear several labels: leave `overfitting\.translations` out"):
        shifted(several=True)


def test_a_crop_larger_than_the_images_is_refused(run):
    large = ResolvedSubject(Subject(name="large", network="small-cnn", crop=SIDE + 1, train=Training(epochs=1)))
    with pytest.raises(InputError, match="`crop` of the subject large is 17, and its images have 16×16 pixels"):
        train_network(noisy([1060], 1000), three_classes(), large)


def test_fresh_samples_are_neither_trained_on_nor_audited(run):
    made = collect(fresh_samples(noisy([30]), [noisy([60], 30)], Evaluation(), "fresh"), None)
    assert set(made["split"].to_pylist()) == {"fresh"}
    assert made.num_rows == 10
    with pytest.raises(InputError, match="later` is no value of the column 'split'; known here: fresh"):
        fresh_samples(noisy([30]), [noisy([60], 30)], Evaluation(), "later")


def row(name: str, wrong: bool, adversarial: float, weighted: float, looks: int = 25) -> dict[str, object]:
    return {
        "id": name,
        "gold": 0,
        "generator": "strongest",
        "wrong": wrong,
        "attackable": adversarial > wrong,
        "adversarial": adversarial,
        "weighted": weighted,
        "wrong_at": [wrong] * 9,
        "looks": looks,
    }


def test_a_record_says_what_is_in_its_table():
    rows = [row("a", True, 1, 1.0), row("b", True, 1, 0.5), row("c", False, 1, 0.25), row("d", False, 0, 0.0, 9)]
    shifted = window_shifts_from(pa.Table.from_pylist(rows, schema=ShiftedWindows.schema), ("strongest",))
    (one,) = window_records({"test": [shifted]}, "s", ("strongest",), "paper", 0.05)
    assert (one.error, one.adversarial_error, one.estimate) == (0.5, 0.75, 1.75 / 4)
    assert (one.h_original, one.h_adversarial, one.moved, one.tested.mean) == (0.75, 0.25, 1, -0.25 / 4)


@pytest.mark.parametrize(
    ("second_halves", "value", "low", "high"),
    [((True, True, False), 5 / 6, (0.11, 0.12), 1.0), ((True,) * 3, 1.0, (0.29, 0.3), 1.0)],  # by Student's t
)
def test_the_interval_of_an_error_ends_at_one_and_has_a_width(second_halves, value, low, high):
    wrong_at = [[True] * 4 + [False] + [wrong] * 4 for wrong in second_halves]
    rows = [row(name, False, 1, 0.5) | {"wrong_at": places} for name, places in zip("abc", wrong_at, strict=True)]
    shifted = window_shifts_from(pa.Table.from_pylist(rows, schema=ShiftedWindows.schema), ("strongest",))
    found = window_findings({"test": [shifted]}, "s", ("strongest",), "paper", 0.05)
    (error,) = (one for one in found if (one.metric, one.group) == ("overfitting.error_by_offset", "offset=1"))
    assert error.value == pytest.approx(value)
    assert low[0] < error.low < low[1]
    assert error.high == high


@pytest.mark.parametrize(("of_the_copy", "verdict"), [(0.3, "no evidence"), (0.0, "underpowered")])
def test_no_evidence_counts_only_where_the_copy_fitted_to_the_test_set_was_found(of_the_copy, verdict):
    honest = np.repeat([0.5, -0.5, 0.0], [400, 400, 4200])
    fitted = np.repeat([of_the_copy, 0.0], [2000, 3000])
    records = [
        Record("s", "strongest", pairwise_test(values, 1.5), 0.1, 0.1, "the set", role, role=role)
        for role, values in (("test", honest), ("dishonest", fitted))
    ]
    said = judge(records, Overfitting(translations=Translations()), {})
    assert [one.verdict.name for one in said if one.verdict is not None] == [verdict]


def test_the_order_of_the_samples_changes_no_fingerprint():
    rows = [row("a", True, 1, 1.0), row("b", True, 1, 0.5), row("c", False, 1, 0.25)]
    found = []
    for order in (rows, rows[::-1]):
        shifted = window_shifts_from(pa.Table.from_pylist(order, schema=ShiftedWindows.schema), ("strongest",))
        found += window_records({"test": [shifted]}, "s", ("strongest",), "paper", 0.05)
    assert found[0] == found[1]


def test_what_was_set_aside_for_validation_is_not_what_was_learned(run):
    samples = noise(Piece(0, 60))
    kept = learned_rows(samples, share=0.3)
    images = labelled_images(samples, "abc").contents()
    aside = drawn(images, 0.3, "validation")
    assert kept["id"].to_pylist() == [one for one, out in zip(samples["id"].to_pylist(), aside, strict=True) if not out]
    assert 0 < aside.sum() < 40
    assert learned_rows(samples, share=0) is samples


def test_models_that_saw_other_samples_are_not_averaged():
    tables = [[row("a", True, 1, 1.0)], [row("b", True, 1, 1.0)]]
    shifted = [
        window_shifts_from(pa.Table.from_pylist(one, schema=ShiftedWindows.schema), ("strongest",)) for one in tables
    ]
    with pytest.raises(RunError, match="not tested on the same samples"):
        window_records({"test": shifted}, "s", ("strongest",), "paper", 0.05)


def test_no_test_by_windows_leaves_nothing_on_the_page():
    assert window_blocks(FindingIndex()) == []


def test_a_partition_without_samples_has_no_rows():
    empty = noise(Piece(0, 0))
    found = shift_partition(empty, files={}, subject=SUBJECT, classes=("a", "b", "c"), eps=1, generators=BOTH)
    assert found.num_rows == 0
