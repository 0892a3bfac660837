"""Diagnostics as stages: the same whatever the cut, with clean and attacked beside each other, and a page to read."""

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from tiny_subjects import SIZE, SUBJECT, files_of, tiny_classes, tiny_files, tiny_images, tiny_samples

from assay.data.images import image_columns
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.tasks.attacks.pgd import FGSM
from assay.tasks.attacks.task import attack_subject
from assay.tasks.diagnostics.inspection import InspectedSubject, Seen, Truth, pictures_of
from assay.tasks.diagnostics.page import InsideSubject, values_of
from assay.tasks.diagnostics.page import page as page_of
from assay.tasks.diagnostics.settings import Diagnostics
from assay.tasks.diagnostics.task import choose_samples, count_labels, embed_layers, look_inside
from assay.tasks.reporting.layout import block_markup
from assay.tasks.reporting.parts import Chords, DataTable, Gallery, LinePlot, Scatters
from assay.tasks.statistics.findings import FindingIndex, findings_from

torch.set_num_threads(1)
EPS = 0.1
SETTINGS = Diagnostics(images=3, tsne_samples=24, perplexity=5, neighbours=3)


def page(findings, *rest, **named):
    return page_of(FindingIndex(findings), *rest, **named)


def looked(cuts=(30,), multilabel=False, settings=SETTINGS):
    """Everything that is made of one subject: pictures, points, findings and counts."""
    samples, files = tiny_samples(list(cuts), multilabel), tiny_files(0, 3, multilabel)
    chosen = choose_samples(samples, settings.tsne_samples)
    attack = FGSM(eps=(EPS,), keep=0, keep_all=True)
    made = attack_subject(chosen, tiny_classes(), files, SUBJECT, attack, "tiny")
    images, eps = {"fgsm": made.images}, {"fgsm": EPS}
    pictures = look_inside(chosen, files, SUBJECT, settings, {"fgsm": made.attacked}, images, eps)
    embedded = embed_layers(chosen, chosen, files, SUBJECT, settings, images, eps)
    counted = count_labels(made.attacked, tiny_classes(), "tiny", "fgsm", EPS)
    return chosen, pictures, embedded, counted


def test_everything_is_the_same_for_any_cut_of_the_samples(make_run):
    digests = set()
    for at, cuts in enumerate([[30], [7, 0, 23]]):
        with make_run(f"cut{at}", fresh=True):
            _, pictures, embedded, counted = looked(cuts)
            digests.add((pictures.digest, embedded.points.digest, embedded.findings.digest, counted.counts.digest))
    assert len(digests) == 1


def test_an_image_is_shown_clean_and_attacked_with_the_same_maps(run):
    chosen, pictures, _, _ = looked()
    rows = collect(pictures, None).to_pylist()
    assert chosen.rows == 24
    assert len({row["id"] for row in rows}) == 3
    for sample in {row["id"] for row in rows}:
        own = {(row["shown"], row["picture"]): row for row in rows if row["id"] == sample}
        kinds = {picture for _, picture in own}
        assert kinds == {"image", "feature map", "saliency", "integrated gradients"}
        assert len(own) == 2 * len(kinds)
        moved = values_of(own["fgsm", "image"]) - values_of(own["clean", "image"])
        assert np.abs(moved).max() == pytest.approx(EPS, abs=1e-6)
        for shown in ("clean", "fgsm"):
            assert own[shown, "saliency"]["height"] == own[shown, "image"]["height"]
            found = own[shown, "integrated gradients"]
            assert found["total"] == pytest.approx(found["expected"], abs=1e-3 * max(1, abs(found["expected"])))
            assert values_of(found).sum() == pytest.approx(found["total"], abs=1e-3)
    assert any(row["said"] != row["gold"] for row in rows if row["shown"] == "fgsm")


def test_every_layer_has_a_place_for_every_sample_and_a_share_of_agreement(run):
    _, _, embedded, _ = looked()
    rows = collect(embedded.points, None).to_pylist()
    layers = ("convolutions.0", "convolutions.2", "before head")
    assert {(row["layer"], row["shown"]) for row in rows} == {
        (a, b) for a in layers for b in ("train", "clean", "fgsm")
    }
    assert len(rows) == 9 * 24
    findings = findings_from(collect(embedded.findings, None))
    assert [(one.of, one.group) for one in findings] == [
        (layer, group) for layer in layers for group in ("train", "clean", "fgsm, eps=0.1")
    ]
    for one in findings:
        own = [row["agrees"] for row in rows if row["layer"] == one.of and row["shown"] == one.group.split(",")[0]]
        assert one.value == pytest.approx(sum(own) / len(own))
        assert one.n == 24
        assert one.low < one.value < one.high or one.value in (0, 1)


def test_an_unknown_layer_and_one_without_a_map_stop_in_words(run):
    with pytest.raises(InputError, match="no layer 'deep': its layers are convolutions, hidden, head"):
        looked(settings=Diagnostics(layers=("deep",), tsne_samples=24))
    with pytest.raises(InputError, match="and no map"):
        looked(settings=Diagnostics(feature_map="hidden", tsne_samples=24))


@pytest.mark.slow
@pytest.mark.parametrize("multilabel", [False, True])
def test_the_page_shows_all_of_it_in_words_and_pictures(run, multilabel):
    _, pictures, embedded, counted = looked(multilabel=multilabel)
    findings = [one for made in (embedded.findings, counted.findings) for one in findings_from(collect(made, None))]
    seen = InsideSubject(
        "tiny",
        ["a", "b", "c"],
        collect(pictures, None),
        collect(embedded.points, None),
        [collect(counted.counts, None)],
    )
    part = page(findings, [seen])
    kinds = [type(block) for block in part.blocks]
    assert kinds == [Gallery, LinePlot, Scatters, Scatters, Scatters, Chords if multilabel else DataTable]
    how = "agree on" if multilabel else "are of the same class for"
    assert part.sentence.startswith(f"In the last layer of tiny (before head) the nearest training samples {how} ")
    html = "".join(block_markup(block, f"b{at}") for at, block in enumerate(part.blocks))
    assert html.count("<img") == 2 + 3 * 2 * 4  # two scales; three images, clean and attacked, four pictures each
    assert 'alt=""' not in html
    assert "under fgsm, ε = 0.1" in html
    sums = [float(one) for one in re.findall(r"adds up to ([-+][0-9.e-]+) of", html)]
    one = next(row for row in collect(pictures, None).to_pylist() if row["picture"] == "integrated gradients")
    assert any(abs(found - one["total"]) <= 5e-4 * abs(one["total"]) for found in sums)  # four digits, to be compared
    assert ("what became of what it said" in html) != multilabel


def test_of_a_cropped_subject_the_window_that_it_sees_is_shown_and_nothing_is_stretched():
    small = tiny_images(2).numpy()
    wide = np.pad(small, ((0, 0), (0, 0), (4, 4), (4, 4)), constant_values=0.5)
    files, truths = files_of(0, 3, multilabel=False), {name: Truth(0) for name in "ab"}
    made = []
    for images, crop in ((small, None), (wide, SIZE)):
        subject = replace(SUBJECT, settings=SUBJECT.settings.model_copy(update={"crop": crop}))
        table = pa.table({"id": ["a", "b"], **image_columns(images)})
        look = InspectedSubject(subject, files, SETTINGS)
        known = {"few": {"clean": table}, "eps": {}, "inspected": look, "truths": truths}
        made.append(pa.concat_tables(pictures_of(Seen("clean", sample), **known) for sample in "ab"))
    assert made[1]["height"].to_pylist() == made[0]["height"].to_pylist()
    for whole, window in zip(*(table.to_pylist() for table in made), strict=True):
        np.testing.assert_allclose(values_of(window), values_of(whole), atol=1e-5)
