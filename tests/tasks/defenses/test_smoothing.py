"""Certificates: Clopper and Pearson's bound, no radius beyond the known one, and digits as they are known."""

import numpy as np
import pyarrow as pa
import pytest
import torch
from all_digits import digit_classes, digit_samples
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint
from tiny_subjects import SUBJECT, tiny_classes, tiny_files, tiny_images, tiny_model, tiny_samples

from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, read_files
from assay.tasks.defenses.settings import Smoothing
from assay.tasks.defenses.smoothing_page import page as page_of
from assay.tasks.defenses.smoothing_task import (
    ABSTAINS,
    UNDER_NOISE,
    certified_findings,
    certify,
    certify_subject,
    lower_bound,
    measure_certified,
    radius_of,
    sample_under_noise,
    train_under_noise,
)
from assay.tasks.statistics.findings import FindingIndex, findings_from
from assay.tasks.subjects.images.model import ImageModel
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Evaluation, Subject, Training
from assay.tasks.subjects.task import hold_out

torch.set_num_threads(1)
QUICK = Smoothing(selection=20, draws=100, limit=9, radii=(0.0, 0.1))


def page(findings, *rest, **named):
    return page_of(FindingIndex(findings), *rest, **named)


@given(n=st.integers(1, 2000), share=st.floats(0, 1), alpha=st.sampled_from([0.001, 0.01, 0.05]))
@settings(max_examples=60)
def test_the_lower_bound_is_that_of_statsmodels(n, share, alpha):
    hits = round(share * n)
    theirs = proportion_confint(hits, n, alpha=2 * alpha, method="beta")[0]
    assert lower_bound(hits, n, alpha) == pytest.approx(theirs, abs=1e-12)


class Halves(torch.nn.Module):
    """Class 1 where the first pixel is above a half: under noise its probability is known exactly."""

    def forward(self, images):
        first = images[:, 0, 0, 0]
        return torch.stack([torch.full_like(first, 0.5), first], dim=1)


def halves():
    return ImageModel(Halves(), 2, False, (0.0,), (1.0,), block=64)


@given(value=st.floats(0.55, 0.95), sigma=st.sampled_from([0.1, 0.25]), seed=st.integers(0, 1000))
@settings(max_examples=15)
def test_no_radius_exceeds_the_distance_to_where_the_answer_changes(value, sigma, seed):
    image = torch.full((1, 2, 2), value, dtype=torch.float32)
    many = Smoothing(sigma=sigma, selection=800, draws=2000, alpha=1e-6)  # 50 may choose the other
    found = certify(halves(), image, many, np.random.default_rng(seed))
    assert found.predicted == ABSTAINS or found.predicted == 1
    assert found.radius <= value - 0.5 + 1e-6  # wrong once in a million times
    if value - 0.5 < 1.5 * sigma:  # beyond, n draws cannot show it
        assert found.radius > 0.6 * (value - 0.5) - 0.03


def test_where_the_noise_decides_it_abstains():
    image = torch.full((1, 2, 2), 0.5)
    found = certify(halves(), image, Smoothing(selection=50, draws=500), np.random.default_rng(0))
    assert found.predicted == ABSTAINS
    assert (found.predicted, found.radius) == (-1, 0.0)
    assert found.lower < 0.5


def test_as_many_copies_are_counted_as_were_asked_for_whatever_the_block():
    model, image = tiny_model(block=16), tiny_images(1)[0]
    assert sample_under_noise(model, image, 0.25, 37, np.random.default_rng(0)).sum() == 37
    assert radius_of(0.5, 1.0) == 0.0


def certified(cuts, **options):
    files = tiny_files(0, 3)
    return certify_subject(tiny_samples(list(cuts)), files, SUBJECT, QUICK.model_copy(update=options))


def test_certificates_are_the_same_for_any_cut_and_another_seed_draws_others(make_run):
    digests = []
    for at, (cuts, seed) in enumerate([([30], 0), ([7, 0, 23], 0), ([30], 1)]):
        with make_run(f"cut{at}", seed=seed, fresh=True):
            digests.append(certified(cuts).digest)
    assert digests[0] == digests[1] != digests[2]


def test_findings_count_what_is_right_and_certain_enough(run):
    table = pa.table(
        {
            "gold": [0, 0, 1, 1, None],
            "predicted": [0, 1, 1, -1, 0],
            "radius": [0.3, 0.4, 0.05, 0.0, 0.9],
            "abstains": [False, False, False, True, False],
        }
    )
    found = {
        (one.metric, one.group): (one.value, one.n) for one in certified_findings(table, "x", "as-it-is", (0, 0.1))
    }
    assert found == {
        ("defense.certified_accuracy", "radius=0"): (0.5, 4),
        ("defense.certified_accuracy", "radius=0.1"): (0.25, 4),
        ("defense.abstains", ""): (0.25, 4),
    }


def test_images_of_one_patient_are_certified_together():
    wrong = [int(at // 4 < 6) for at in range(80)]
    rows = pa.table(
        {
            "id": list(map(str, range(80))),
            "gold": [0] * 80,
            "predicted": wrong,
            "radius": [0.5] * 80,
            "abstains": [False] * 80,
        }
    )
    alone, each, few = (
        certified_findings(rows, "x", "as-it-is", (0.25,), groups)[0]
        for groups in (None, {str(at): at for at in range(80)}, {str(at): at // 4 for at in range(80)})
    )
    assert alone.value == few.value == 0.7
    assert (each.low, each.high) == pytest.approx((alone.low, alone.high), abs=0.005)
    assert few.high - few.low > 1.7 * (alone.high - alone.low)


def test_the_page_shows_the_curve_and_says_what_is_certain(run):
    table = certified([30])
    findings = findings_from(collect(measure_certified(table, "tiny", "as-it-is", QUICK, tiny_samples([30])), None))
    part = page(findings, {("tiny", "as-it-is"): collect(table, None)}, 0.001)
    assert part.sentence.startswith("Smoothed, tiny (as it is) is right on ")
    assert "wrong with probability 0.001 at most" in part.sentence
    (curve,) = part.blocks
    (line,) = curve.series
    assert line.name == "tiny, as it is"
    at_none = next(one for one in findings if one.group == "radius=0")
    assert (line.x[0], line.y[0], line.low[0]) == (0.0, pytest.approx(at_none.value), pytest.approx(at_none.low))
    assert list(line.y) == sorted(line.y, reverse=True)


def test_of_two_models_one_is_named_alone_only_where_a_paired_test_tells_them_apart():
    def rows(right: int) -> pa.Table:
        predicted = [0 if at < right else 1 for at in range(100)]
        return pa.table(
            {
                "id": list(map(str, range(100))),
                "gold": [0] * 100,
                "predicted": predicted,
                "radius": [0.5] * 100,
                "abstains": [False] * 100,
            }
        )

    def sentence(first: int, second: int) -> str:
        tables = {("a", "as-it-is"): rows(first), ("b", "as-it-is"): rows(second)}
        found = [one for (name, how), table in tables.items() for one in certified_findings(table, name, how, (0.25,))]
        return page(found, tables, 0.001).sentence

    close, apart = sentence(84, 85), sentence(60, 85)
    assert "b (as it is)" in close
    assert "a (as it is)" in close
    assert "no paired test tells them apart" in close
    assert "a (as it is)" not in apart


def test_several_labels_are_refused_in_words(run):
    files = tiny_files(0, 3, True)
    with pytest.raises(InputError, match="certifies one class per image"):
        certify_subject(tiny_samples([8], True), files, SUBJECT, QUICK)


def test_training_under_noise_starts_like_the_subject_and_says_so_on_its_card(run):
    short = ResolvedSubject(
        Subject(name="tiny", network="small-cnn", width=0.25, train=Training(epochs=1, batch_size=16))
    )
    made = train_under_noise(tiny_samples([30]), tiny_classes(), short, 0.25)
    files = read_files(made.files)
    assert b'"noise": 0.25' in files["card.json"]
    other = read_files(train_under_noise(tiny_samples([30]), tiny_classes(), short, 0.5).files)
    assert files["model.safetensors"] != other["model.safetensors"]


@pytest.mark.slow
def test_sixty_digits_are_certified_as_they_are_known_to_be(run):
    subject = ResolvedSubject(Subject(name="plain", network="small-cnn", train=Training(epochs=15)))
    held, options = hold_out(digit_samples(), Evaluation()), Smoothing(sigma=0.25, draws=1000, limit=60)
    files = train_under_noise(held.training, digit_classes(), subject, 0.25).files
    table = certify_subject(held.evaluation, files, subject, options)
    measured = findings_from(collect(measure_certified(table, "plain", UNDER_NOISE, options, held.evaluation), None))
    found = {one.group: one.value for one in measured}
    assert table.rows == 60
    for group, known in (("radius=0", 0.95), ("radius=0.25", 0.92), ("radius=0.5", 0.88)):
        assert found[group] == pytest.approx(known, abs=0.06), found
    assert max(collect(table, ["radius"])["radius"].to_pylist()) == pytest.approx(0.62, abs=0.01)
