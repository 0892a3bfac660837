"""However many images were kept, the page reads those that it shows, and shows the same as if it had read all."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from assay.data.images import image_columns
from assay.data.schemas import AdversarialImages, Attacked
from assay.flows.audits.images_flow import pictures_of
from assay.infra.stages.partitions import collect
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.attacks.gallery import CHOSEN_BY, MOST, gallery, shown_of, to_be_shown
from assay.tasks.attacks.task import Attacks

CLASSES = ["benign", "malignant", "unclear"]
GRID = (0.0, 0.1, 0.2)


def records_of(gold: list[int | None], success: list[tuple[bool, bool]]) -> pa.Table:
    rows = []
    for number, (code, fell) in enumerate(zip(gold, success, strict=True)):
        for eps, wrong in zip(GRID, (False, *fell), strict=True):
            said = ((code or 0) + wrong) % 3
            rows.append(
                {
                    "id": f"s{number:03}",
                    "subject": "plain",
                    "attack": "pgd",
                    "eps": eps,
                    "gold": code,
                    "labels": None,
                    "clean": code or 0,
                    "attacked": said,
                    "clean_probabilities": [0.5, 0.3, 0.2],
                    "attacked_probabilities": [0.2, 0.3, 0.5],
                    "success": wrong,
                    "distance": eps,
                    "distance_l2": eps,
                    "steps": 1,
                    "queries": 1,
                    "winner": None,
                }
            )
    return pa.Table.from_pylist(rows, schema=Attacked.schema)


def images_of(records: pa.Table) -> pa.Table:
    pixels = np.random.default_rng(0).random((records.num_rows, 1, 4, 4), dtype=np.float32)
    columns = {name: records[name] for name in ("id", "subject", "attack", "eps")}
    return pa.table(columns | image_columns(pixels)).cast(AdversarialImages.schema)


@given(st.lists(st.tuples(st.sampled_from([None, 0, 1, 2]), st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_the_strips_are_those_of_all_images(samples):
    records = records_of([one[0] for one in samples], [one[1:] for one in samples])
    images = images_of(records)
    ids = to_be_shown(records.select(CHOSEN_BY), images.select(["id", "eps"]))
    assert len(ids) <= MOST * 2
    few = [table.filter(pa.array([one in ids for one in table["id"].to_pylist()])) for table in (records, images)]
    (all_of_them,), (chosen,) = shown_of(records, images, CLASSES), shown_of(*few, CLASSES)
    for group in ("eps=0.1", "eps=0.2"):
        assert gallery(all_of_them, group) == gallery(chosen, group)


def test_what_was_wrong_already_is_shown_last():
    records = records_of([0] * 9, [(True, True)] * 9).to_pylist()
    records = [row | ({"clean": 1} if row["id"] in ("s000", "s003") else {}) for row in records]
    table = pa.Table.from_pylist(records, schema=Attacked.schema)
    ids = to_be_shown(table.select(CHOSEN_BY), images_of(table).select(["id", "eps"]))
    assert sorted(ids) == ["s001", "s002", "s004", "s005", "s006", "s007"]


def test_nothing_kept_is_nothing_shown():
    records = records_of([0], [(True, True)])
    assert to_be_shown(records.select(CHOSEN_BY), images_of(records).slice(0, 0).select(["id", "eps"])) == frozenset()


@stage(version=1)
def given_attacks(n: int) -> Attacks:
    records = records_of([number % 3 for number in range(n)], [(number % 2 == 0, True) for number in range(n)])
    return Attacks(write_table(records, into=Attacked), write_table(images_of(records), into=AdversarialImages))


def test_the_page_holds_a_dozen_images_of_an_attack_that_kept_all(run):
    made: Attacks = given_attacks(300)
    (shown,) = pictures_of(made, CLASSES)
    assert shown.images.num_rows <= 2 * MOST * len(GRID)
    everything: Artifact = made.images
    assert everything.rows == 900
    (whole,) = shown_of(collect(made.attacked, None), collect(made.images, None), CLASSES)
    assert gallery(shown, "eps=0.2") == gallery(whole, "eps=0.2")
