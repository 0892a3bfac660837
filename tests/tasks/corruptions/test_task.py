"""Corruptions as stages: one row per sample, subject, perturbation and severity, whatever the cut."""

import numpy as np
import pyarrow as pa
import pytest
import torch
from tiny_subjects import SIZE, SUBJECT, tiny_answers, tiny_classes, tiny_files, tiny_groups, tiny_samples

from assay.data.images import pixels_of
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.tasks.corruptions.table import CORRUPTIONS, XU_ET_AL, Corruptions
from assay.tasks.corruptions.task import corrupt_subjects, measure_corruptions
from assay.tasks.statistics.findings import findings_from

torch.set_num_threads(1)
FEW = Corruptions(perturbations=("gaussian-noise", "snow", "rotate"), severities=(2, 5), frames=7)


def samples_of(cuts, multilabel=False, unlabelled=0, groups=0):
    samples = tiny_samples(list(cuts), multilabel, unlabelled)
    return tiny_groups(samples, groups) if groups else samples


def files_of(names, multilabel=False, broken=False):
    return {name: tiny_files(seed, 3, multilabel, broken) for seed, name in enumerate(names)}


def corrupted(cuts=(11,), settings=FEW, names=("one", "two"), broken=False, **options):
    files = files_of(names, options.get("multilabel", False), broken)
    subjects = dict.fromkeys(names, SUBJECT)
    return corrupt_subjects(samples_of(cuts, **options), tiny_classes(), files, subjects, settings)


def measured(made, cuts=(11,), settings=FEW, names=("one", "two"), reference="one", **options):
    samples, classes = samples_of(cuts, **options), tiny_classes()
    clean = {
        name: tiny_answers(samples, files) for name, files in files_of(names, options.get("multilabel", False)).items()
    }
    return measure_corruptions(made.flips, settings, reference, samples, classes, clean)


def findings_of(*args, **options):
    return findings_from(collect(measured(*args, **options), None))


def test_every_sample_subject_perturbation_and_severity_has_a_row(run):
    rows = collect(corrupted().flips, None).to_pylist()
    assert len(rows) == 11 * 2 * 3 * 2
    assert len({(row["id"], row["subject"], row["perturbation"], row["severity"]) for row in rows}) == len(rows)
    judged = {"gaussian-noise": 6, "snow": 1, "rotate": 2}
    for row in rows:
        assert row["comparisons"] == 6
        assert 0 <= row["flips"] <= 6
        assert row["judged"] == judged[row["perturbation"]]
        assert 0 <= row["correct"] <= row["judged"]
    assert sum(row["flips"] for row in rows) > 0


def test_no_cut_of_the_samples_shows(make_run):
    digests = set()
    for at, cuts in enumerate([(11,), (4, 0, 7), (1, 10)]):
        with make_run(f"cut{at}", fresh=True):
            made = corrupted(cuts)
            findings = measured(made, cuts)
            digests.add((made.flips.digest, made.images.digest, findings.digest))
    assert len(digests) == 1


CUTS = ([40], [6, 6, 6, 6, 6, 6, 4], [1] * 40)


@pytest.mark.parametrize("groups", [0, 9])
def test_the_same_bits_for_1_7_and_40_partitions(make_run, groups):
    digests = set()
    for cuts in CUTS:
        with make_run(f"cut{len(cuts)}", fresh=True):
            digests.add(measured(corrupted(cuts, groups=groups), cuts, groups=groups).digest)
    assert len(digests) == 1


@pytest.mark.slow
def test_groups_are_what_intervals_count_and_no_value_changes_for_them(make_run):
    found = {}
    for groups in (0, 40, 4, 1):
        with make_run(f"groups{groups}", fresh=True):
            found[groups] = findings_of(corrupted((40,), groups=groups), (40,), groups=groups)
    resampled = {"corruption.relative_error"}  # and means: their draws are those of the groups' own order
    for alone, each, few, whole in zip(*found.values(), strict=True):
        assert alone.value == few.value == whole.value
        assert alone.n == few.n == whole.n
        if alone.of != "mean" and alone.metric not in resampled:
            for end, of_each in ((alone.low, each.low), (alone.high, each.high)):
                assert end == (of_each if of_each is None else pytest.approx(of_each, rel=1e-12))
        if alone.value is not None:
            assert whole.low is None or (whole.low, whole.high) == pytest.approx((0, 1))
        if alone.metric == "corruption.accuracy":
            assert (alone.low, alone.high) != (few.low, few.high)


def test_corruption_errors_are_those_of_the_rows_by_hand(run):
    made = corrupted((40,))
    found = {
        (one.metric, one.of): one for one in findings_of(made, (40,)) if one.subject == "two" and one.group == "all"
    }
    rows = collect(made.flips, None).to_pandas()
    rows["wrong"] = 1 - rows["correct"] / rows["judged"]
    rates = rows.groupby(["subject", "perturbation", "severity"])["wrong"].mean().unstack().sum(axis=1)
    errors = rates["two"] / rates["one"]
    for of, error in errors.items():
        assert found["corruption.error", of].value == pytest.approx(error)
    assert found["corruption.error", "mean"].value == pytest.approx(errors.mean())
    samples, clean = collect(tiny_samples([40]), None), {}
    for name, files in files_of(("one", "two")).items():
        answers = collect(tiny_answers(tiny_samples([40]), files), None)
        clean[name] = np.mean(answers["predicted"].to_numpy() != samples["gold"].to_numpy())
    added = (rates["two"] - 2 * clean["two"]) / (rates["one"] - 2 * clean["one"])
    known = added[rates["one"] > 2 * clean["one"]]
    assert found["corruption.relative_error", "mean"].value == pytest.approx(known.mean())


def test_another_seed_draws_other_noise_and_the_same_seed_the_same(make_run):
    digests = []
    for seed in (0, 0, 1):
        with make_run(f"seed{len(digests)}", seed=seed, fresh=True):
            digests.append(corrupted().flips.digest)
    assert digests[0] == digests[1] != digests[2]


def test_a_subject_flips_as_often_whoever_looks_on(make_run):
    with make_run("both", fresh=True):
        both = collect(corrupted().flips, None).to_pylist()
    with make_run("alone", fresh=True):
        alone = collect(corrupted(names=("one",)).flips, None).to_pylist()
    assert [row for row in both if row["subject"] == "one"] == alone


def test_labels_are_compared_one_by_one(run):
    rows = collect(corrupted(multilabel=True).flips, None).to_pylist()
    assert {row["comparisons"] for row in rows} == {6 * 3}
    assert {row["judged"] for row in rows} == {6 * 3, 3, 2 * 3}


def test_without_gold_nothing_is_judged_and_flips_are_still_counted(run):
    made = corrupted(unlabelled=99)
    rows = collect(made.flips, None).to_pylist()
    assert {row["judged"] for row in rows} == {0}
    found = findings_of(made, unlabelled=99)
    accuracy = [one for one in found if one.metric == "corruption.accuracy"]
    assert {(one.value, one.n, one.verdict) for one in accuracy} == {(None, 0, "not measured")}
    assert all(one.value is not None for one in found if one.metric == "corruption.flip_probability")


def test_kept_images_are_spread_over_the_samples_and_come_with_the_clean_one(run):
    settings = FEW.model_copy(update={"show": 2})
    images = collect(corrupted(settings=settings).images, None)
    assert images["id"].unique().to_pylist() == ["s000", "s005"]
    first = images.filter(pa.array([one == "s000" for one in images["id"].to_pylist()]))
    shown = list(zip(first["perturbation"].to_pylist(), first["severity"].to_pylist(), strict=True))
    assert shown == [("clean", 0), *((name, level) for name in FEW.perturbations for level in (2, 5))]
    original = pixels_of(collect(tiny_samples([11]), None))[0]
    np.testing.assert_array_equal(pixels_of(first)[0], np.rint(original * 255).astype(np.float32) / 255)
    assert pixels_of(first).shape == (7, 1, SIZE, SIZE)


def test_findings_name_perturbation_severity_mean_and_subject(run):
    found = findings_of(corrupted())
    cells = {(one.metric, one.subject, one.of, one.group) for one in found}
    groups = ("severity=2", "severity=5", "all")
    for of in (*FEW.perturbations, "mean"):
        for group in groups:
            for subject in ("one", "two"):
                assert ("corruption.flip_probability", subject, of, group) in cells
                assert ("corruption.accuracy", subject, of, group) in cells
            assert ("corruption.relative_flip_probability", "two", of, group) in cells
            assert ("corruption.relative_flip_probability", "one", of, group) not in cells
    measured = [one for one in found if one.value is not None]
    assert all(one.low <= one.value <= one.high for one in measured)
    of_a_class = ("corruption.worst_recall", "corruption.recall")
    assert all(one.n == 11 or one.metric in of_a_class for one in measured)


def test_every_perturbation_runs_on_the_stage_at_the_default_length(run):
    made = corrupted((2,), Corruptions(severities=(1,)), names=("one",))
    rows = collect(made.flips, None).to_pylist()
    assert {row["perturbation"] for row in rows} == {one.word for one in XU_ET_AL}
    assert {row["comparisons"] for row in rows} == {30}


def test_a_subject_that_returns_nan_is_named_with_frame_and_sample(run):
    with pytest.raises(InputError, match=r"subject tiny returned \[nan.* frame 0 of gaussian-noise .* 's000'"):
        corrupted(broken=True)


def test_an_audit_of_no_images_is_no_audit_but_no_fault(run):
    made = corrupted((0,))
    assert (made.flips.rows, made.images.rows) == (0, 0)
    assert measured(made, (0,)).rows == 0


FADE = """
from assay.tasks.corruptions.table import Corruption
from assay.tasks.corruptions.table import shares
from assay.tasks.corruptions.table import each

def faded(at, images, draws, strengths):
    return each(images, strengths, lambda share: images * (1 - share * at["share"]))

FADE = Corruption("fade", "ramp", faded, shares("share", 1.0, 1.0))
"""


@pytest.mark.slow
def test_a_perturbation_in_a_file_of_ones_own_is_tried_on_workers_beside_ours(make_run, tmp_path):
    (tmp_path / "fade.py").write_text(FADE)
    table = CORRUPTIONS.with_plugins(tmp_path, ["fade.py:FADE"])
    settings = table.settings_with(Corruptions, "perturbations")(
        perturbations=("snow", "fade.py:FADE"), severities=(5,), frames=5
    )
    with make_run("here"):
        alone = corrupted(settings=Corruptions(perturbations=("snow",), severities=(5,), frames=5), names=("one",))
        here = collect(alone.flips, None).to_pylist()
    with make_run("there", store=str(tmp_path / "elsewhere"), engine="local", workers=2, gpu_workers=0):
        made = corrupted((4, 7), settings, names=("one",))
        rows = collect(made.flips, None).to_pylist()
        found = findings_of(made, (4, 7), settings, ("one",))
    assert [row for row in rows if row["perturbation"] == "snow"] == here
    faded = [row for row in rows if row["perturbation"] == "fade"]
    assert (len(faded), {row["judged"] for row in faded}) == (11, {1})
    assert {one.of for one in found if one.of} == {"snow", "fade", "mean"}


def test_the_worst_cell_is_named_with_an_interval_that_holds_for_all_of_them(run):
    found = findings_of(corrupted())
    for metric, pick in (("accuracy", min), ("flip_probability", max)):
        for subject in ("one", "two"):
            (worst,) = [one for one in found if (one.metric, one.subject) == (f"corruption.worst_{metric}", subject)]
            cells = {
                f"{one.of}, {one.group}": one
                for one in found
                if (one.metric, one.subject) == (f"corruption.{metric}", subject)
                and one.of != "mean"
                and one.group != "all"
            }
            assert len(cells) == 6
            named = cells[worst.verdict]
            assert worst.value == named.value == pick(one.value for one in cells.values())
            assert worst.low <= named.low
            assert worst.high >= named.high
