"""The page of attacks says what the findings say, in words that can be checked, and shows what was kept."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO

import numpy as np
import pyarrow as pa
import pytest

from assay.data.images import image_columns
from assay.data.schemas import AdversarialImages, Attacked
from assay.tasks.attacks.gallery import AttackedImages, enlarged_difference, gallery, shown_of
from assay.tasks.attacks.page import page as page_of
from assay.tasks.attacks.red_flags import FLAGS, Reading
from assay.tasks.reporting.layout import block_markup
from assay.tasks.reporting.parts import DataTable, Estimate, Gallery, LinePlot, Panels, Paragraph, Part
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.proportions import share

GRID = {"eps=0": 98, "eps=4/255": 71, "eps=0.1": 31}
CLASSES = ("benign", "malignant")


def page(findings: Sequence[Finding], shown: Sequence[AttackedImages] = ()) -> Part:
    return page_of(FindingIndex(findings), shown)


def accuracy(right: int, group: str, of: str = "pgd", subject: str = "plain") -> Finding:
    return share("attack.accuracy", right, 100, of=of, group=group, subject=subject)


def one_subject() -> list[Finding]:
    found = [accuracy(right, group) for group, right in GRID.items()]
    found += [accuracy(98, "eps=0", "gap"), accuracy(60, "eps=0.1", "gap"), accuracy(55, "eps=0.1, training", "gap")]
    return found


def strongest(findings: list[Finding]) -> DataTable:
    (table,) = [block for block in page(findings).blocks if isinstance(block, DataTable)]
    return table


def test_subjects_that_were_attacked_alike_share_a_sentence() -> None:
    found = one_subject() + [accuracy(97, g, subject="hardened") for g in ("eps=0", "eps=4/255", "eps=0.1")]
    assert page(found).sentence == (
        "At ε = 0.1 pgd leaves right, of what was right on clean images: plain 31.0\u202f% [22.8, 40.6] of its "
        "98.0\u202f%, hardened 97.0\u202f% [91.5, 99.0] of its 97.0\u202f% (n = 100)."
    )
    assert page(one_subject()).sentence == (
        "At ε = 0.1 pgd leaves 31.0\u202f% [22.8, 40.6] (n = 100) right of the 98.0\u202f% that plain gets right on "
        "clean images."
    )


def test_an_attack_that_never_costs_half_is_told_at_its_largest_eps() -> None:
    sentence = page([accuracy(98, "eps=0"), accuracy(90, "eps=4/255"), accuracy(80, "eps=0.1")]).sentence
    assert sentence.startswith("At ε = 0.1 pgd leaves 80")


def test_nothing_attacked_says_so() -> None:
    assert page([]).sentence == "Nothing was attacked."
    assert page([]).blocks == []


def test_one_subject_has_one_plot_with_a_line_per_attack_and_bands() -> None:
    plot = page(one_subject()).blocks[0]
    assert isinstance(plot, LinePlot)
    lines = {series.name: series for series in plot.series}
    assert list(lines["pgd"].x) == [0.0, 4 / 255, 0.1]
    assert list(lines["pgd"].y) == [0.98, 0.71, 0.31]
    assert all(low < y < high for low, y, high in zip(lines["pgd"].low, lines["pgd"].y, lines["pgd"].high, strict=True))
    assert (lines["pgd"].style, lines["gap"].style) == ("line", "points")  # nothing was tried between 0 and 0.1
    assert plot.x_names is not None
    assert plot.x_names[4 / 255] == "4/255"  # also in the numbers, where ticks have no room for it
    assert "pgd ends at 31.0\u202f% with ε = 0.1" in plot.alt


def test_several_subjects_have_a_panel_per_attack() -> None:
    found = one_subject() + [accuracy(97, g, subject="hardened") for g in GRID]
    panels = page(found).blocks[0]
    assert isinstance(panels, Panels)
    assert [(plot.title, [one.name for one in plot.series]) for plot in panels.plots] == [
        ("pgd", ["plain", "hardened"]),
        ("gap", ["plain"]),
    ]


def test_at_every_eps_the_strongest_attack_stands_beside_clean_images_and_one_constant_answer() -> None:
    found = [*one_subject(), accuracy(64, "eps=4/255", "gap"), accuracy(20, "eps=0.1", "gap")]
    found = [finding for finding in found if finding.value != 0.6]
    about = {"of": "gap", "group": "eps=0.1", "subject": "plain"}
    found.append(Finding("attack.worst_recall", value=0.02, n=50, verdict="malignant", **about))
    found += [Finding(f"attack.{name}_accuracy", value=0.5, n=100, **about) for name in ("balanced", "constant")]
    table = strongest(found)
    assert [(row[1].text, row[2], row[3].value) for row in table.rows if isinstance(row[3], Estimate)] == [
        ("0", "clean", 0.98),
        ("4/255", "gap", 0.64),
        ("0.1", "gap", 0.2),
    ]
    assert [column.name for column in table.columns[3:]] == [
        "Accuracy",
        "Balanced",
        "Worst class",
        "Its recall",
        "One answer",
    ]
    assert [getattr(cell, "value", cell) for cell in table.rows[-1][4:]] == [0.5, "malignant", 0.02, 0.5]
    assert not table.collapsed


def test_red_flags_are_said_in_words_and_make_the_part_bad() -> None:
    why = "at ε = 0.1 square fools 41 of 450 samples that pgd does not"
    flags = [Reading(flag, flag.startswith("black"), 450, why if flag.startswith("black") else "") for flag in FLAGS]
    found = one_subject() + [one.finding("plain") for one in flags]
    part = page(found)
    assert (part.verdict, part.judged) == ("bad", "1 red flag")
    said = [block.text for block in part.blocks if isinstance(block, Paragraph)]
    assert said == [f"Queries fool more than gradients (plain): {why}. {FLAGS['black-box-beats-white-box'][1]}"]
    assert len(FLAGS) == 9


def test_silence_counts_only_what_was_looked_for() -> None:
    flags = [Reading(flag, False, 64 if at else 0).finding("plain") for at, flag in enumerate(FLAGS)]
    said = [block.text for block in page(flags).blocks if isinstance(block, Paragraph)]
    assert said == ["None of the 8 signs of a misleading evaluation that were looked for showed itself."]


@pytest.fixture
def shown() -> AttackedImages:
    clean = np.linspace(0, 0.9, 6 * 3 * 64, dtype=np.float32).reshape(6, 3, 8, 8)
    moved = clean + np.float32(0.1)
    ids, gold = [f"<b>{i}</b>" for i in range(6)], [0, 0, 0, 1, 1, None]
    after = [1, 1, 0, 0, 1, 0]
    images, records = [], []
    for eps, pixels, said in ((0.0, clean, [0, 0, 0, 1, 1, 0]), (0.1, moved, after)):
        probabilities = [[0.75, 0.25] if code == 0 else [0.25, 0.75] for code in said]
        images.append(
            pa.table(
                {"id": ids, "subject": ["plain"] * 6, "attack": ["pgd"] * 6, "eps": [eps] * 6, **image_columns(pixels)},
                schema=AdversarialImages.schema,
            )
        )
        success = [code != g for code, g in zip(said, gold, strict=True)]
        columns = [
            ids,
            ["plain"] * 6,
            ["pgd"] * 6,
            [eps] * 6,
            gold,
            [None] * 6,
            [0, 0, 0, 1, 1, 0],
            said,
            [[0.75, 0.25]] * 6,
            probabilities,
            success,
            [eps] * 6,
            [eps] * 6,
            [1] * 6,
            [1] * 6,
            [None] * 6,
        ]
        records.append(pa.table(columns, schema=Attacked.schema))
    (found,) = shown_of(pa.concat_tables(records), pa.concat_tables(images), CLASSES)
    return found


def test_pictures_show_original_difference_and_adversarial(shown: AttackedImages) -> None:
    from PIL import Image

    found = gallery(shown, "eps=0.1")
    assert found is not None
    assert found.title == "plain: pgd at ε = 0.1"
    first = found.strips[0]
    assert [one.name for one in first.pictures] == ["original", "difference × 5", "adversarial"]
    assert [mark.text for one in first.pictures for mark in one.said] == [
        "benign · 75\u202f%",
        "at most 25.5 of 255 levels",
        "malignant · 75\u202f%",
    ]
    assert [mark.tone for one in first.pictures for mark in one.said] == ["good", "neutral", "bad"]
    middle = np.asarray(Image.open(BytesIO(first.pictures[1].png)))
    assert middle.shape == (8, 8, 3)
    assert middle.min() == 255  # every pixel rose by all that was allowed


def test_successes_come_first_and_classes_take_turns(shown: AttackedImages) -> None:
    found = gallery(shown, "eps=0.1")
    assert found is not None
    titles = [strip.title for strip in found.strips]
    assert titles[:3] == ["<b>0</b> · is benign", "<b>3</b> · is malignant", "<b>5</b> · class unknown"]
    assert titles[3:] == ["<b>1</b> · is benign", "<b>2</b> · is benign", "<b>4</b> · is malignant"]


def test_what_came_from_data_is_escaped_and_pictures_are_inside_the_page(shown: AttackedImages) -> None:
    found = gallery(shown, "eps=0.1")
    assert found is not None
    markup = block_markup(found, "g")
    assert "<b>0" not in markup
    assert "&lt;b&gt;0" in markup
    assert markup.count('src="data:image/png;base64,') == markup.count("<img ") == 18
    assert markup.count('alt="The original image of') == 6
    source = markup.split('src="data:image/png;base64,')[1].split('"')[0]
    assert b64decode(source)[1:4] == b"PNG"


def test_the_page_shows_pictures_at_the_eps_it_talks_about(shown: AttackedImages) -> None:
    galleries = [block for block in page(one_subject(), [shown]).blocks if isinstance(block, Gallery)]
    assert [one.title for one in galleries] == ["plain: pgd at ε = 0.1"]
    assert gallery(shown, "eps=0.2") is None


def test_only_the_first_gallery_lies_open(shown: AttackedImages) -> None:
    second, other = replace(shown, attack="gap"), replace(shown, subject="hardened")
    galleries = [block for block in page(one_subject(), [shown, second, other]).blocks if isinstance(block, Gallery)]
    assert [(one.title, one.collapsed) for one in galleries] == [
        ("plain: pgd at ε = 0.1", False),
        ("plain: gap at ε = 0.1", True),
        ("hardened: pgd at ε = 0.1", True),
    ]


def test_a_gallery_stays_short_however_many_images_are_kept(shown: AttackedImages) -> None:
    def again(table: pa.Table, at: int) -> pa.Table:
        ids = pa.array([f"{one} again {at}" for one in table["id"].to_pylist()])
        return table.set_column(0, table.schema.field("id"), ids)

    many = replace(
        shown,
        records=pa.concat_tables([shown.records, *(again(shown.records, at) for at in range(3))]),
        images=pa.concat_tables([shown.images, *(again(shown.images, at) for at in range(3))]),
    )
    found = gallery(many, "eps=0.1")
    assert found is not None
    assert len(found.strips) == 6
    assert len({strip.title for strip in found.strips}) == 6


def test_an_unchanged_image_has_a_grey_difference() -> None:
    picture, factor = enlarged_difference(np.ones((1, 2, 2), np.float32), np.ones((1, 2, 2), np.float32))
    assert factor == 1.0
    assert (picture == 0.5).all()


def test_of_several_labels_the_wrong_ones_are_named_first() -> None:
    names = ("mass", "nodule", "edema", "effusion")
    pixels = np.zeros((1, 1, 8, 8), np.float32)
    images = [
        pa.table(
            {"id": ["x"], "subject": ["s"], "attack": ["pgd"], "eps": [eps], **image_columns(pixels)},
            schema=AdversarialImages.schema,
        )
        for eps in (0.0, 0.1)
    ]
    columns = [
        ["x"],
        ["s"],
        ["pgd"],
        [0.1],
        [None],
        [[1, 0, -1, 1]],
        [-1],
        [-1],
        [[0.9, 0.1, 0.2, 0.8]],
        [[0.3, 0.6, 0.9, 0.8]],
        [True],
        [0.1],
        [0.1],
        [1],
        [1],
        [None],
    ]
    (one,) = shown_of(pa.table(columns, schema=Attacked.schema), pa.concat_tables(images), names)
    found = gallery(one, "eps=0.1")
    assert found is not None
    before, _, after = found.strips[0].pictures
    assert [(mark.text, mark.tone) for mark in before.said] == [
        ("mass · 90\u202f%", "good"),
        ("effusion · 80\u202f%", "good"),
    ]
    assert [(mark.text, mark.tone) for mark in after.said] == [
        ("mass · 30\u202f%", "bad"),
        ("nodule · 60\u202f%", "bad"),
        ("edema · 90\u202f%", "neutral"),
        ("and 1 more", "neutral"),
    ]
    assert found.strips[0].title == "x · is mass, effusion"


def test_of_several_norms_each_has_one_short_sentence() -> None:
    found = one_subject() + [accuracy(97, g, subject="hardened") for g in GRID]
    in_l2 = {("plain", "ddn"): 12, ("plain", "pgd-l2"): 20, ("hardened", "ddn"): 60, ("hardened", "pgd-l2"): 55}
    for (subject, attack), left in in_l2.items():
        found += [accuracy(98, "l2=0", attack, subject), accuracy(left, "l2=0.5", attack, subject)]
        found += [accuracy(left // 2, "l0=20", "sparse-rs", subject)] if attack == "ddn" else []
    found.append(Finding("attack.worst_recall", "pgd", "eps=0.1", "plain", 0.2, verdict="malignant"))
    first, in_l2_text, in_l0_text = page(found).sentence.replace("\u202f", " ").split(". ")
    assert first.startswith(
        "At ε = 0.1 pgd leaves plain right on 31.0 % [22.8, 40.6] (class malignant: 20 %), the least; "
    )
    assert in_l2_text == (
        "At ε = 0.5 in L2 ddn leaves plain right on 12.0 % [7.0, 19.8], the least; hardened keeps most, "
        "55.0 % [45.2, 64.4]"
    )
    assert in_l0_text == (
        "At ε = 20 in L0 sparse-rs leaves plain right on 6.0 % [2.8, 12.5], the least; hardened keeps most, "
        "30.0 % [21.9, 39.6]."
    )
