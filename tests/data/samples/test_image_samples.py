"""The embedded images: the same bytes everywhere, the shares that are promised, and signs that can be learned."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.data.images import pixels_of
from assay.data.samples.chest import chest, drawn_findings
from assay.data.samples.digits import digits, enlarged
from assay.data.samples.digits_placed import REACH, digits_placed
from assay.data.samples.fundus import SHARES, drawn_damage, fundus
from assay.data.samples.image_table import stratified_split
from assay.data.samples.lesions import lesions
from assay.data.samples.lesions_small import lesions_small
from assay.data.samples.painting import dab, turn

BUILDERS = {
    "digits": digits,
    "lesions": lesions,
    "lesions-small": lesions_small,
    "fundus": fundus,
    "chest": chest,
    "digits-placed": digits_placed,
}


@pytest.fixture(scope="module")
def table_of() -> Callable[[str], pa.Table]:
    """Each data set, painted once."""
    painted: dict[str, pa.Table] = {}
    return lambda name: painted.setdefault(name, BUILDERS[name]()) if name not in painted else painted[name]


def content_hash(table: pa.Table) -> str:
    digest = hashlib.sha256()
    for name in table.column_names:
        for value in table.column(name).to_pylist():
            digest.update(value if isinstance(value, bytes) else json.dumps(value).encode())
    return digest.hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sha256"),
    [
        ("digits", "9a5ea0d42d06e66ca3bc1e584b8cf0be466a4f849674a622dc99951f0ee5a24b"),
        ("lesions", "1f86248f9f10561425dbe4ec5b025bd932c702be98972d392492b104a962935d"),
        ("lesions-small", "f1c6fd4c038c3d3c258829e63510521c85d39d72bbe9d084c1edff8d532e5346"),
        ("fundus", "701759c3c4733ecd026d5d6dda0babeb9201e7e1599cadaea6cdaa863199bd6c"),
        ("chest", "b38a89d7ccc5c2aa1be373a0779f4f38a9c71653c64fb3fab5835d07981d907d"),
        ("digits-placed", "90871d8eed472e65b04ba7c256c62835e9bbdf1dabe436c209ed7cf0a686440f"),
    ],
)
def test_every_machine_paints_the_same_bytes(table_of: Callable[[str], pa.Table], name: str, sha256: str) -> None:
    assert content_hash(table_of(name)) == sha256


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "images", "test", "shape"),
    [
        ("digits", 1797, 450, (1, 32, 32)),
        ("lesions", 1200, 300, (3, 64, 64)),
        ("fundus", 1200, 300, (3, 64, 64)),
        ("chest", 1200, 300, (1, 64, 64)),
    ],
)
def test_sizes_and_splits(
    table_of: Callable[[str], pa.Table], name: str, images: int, test: int, shape: tuple[int, int, int]
) -> None:
    table = table_of(name)
    assert pixels_of(table).shape == (images, *shape)
    assert Counter(table["split"].to_pylist()) == {"train": images - test, "test": test}


@pytest.mark.slow
def test_two_in_five_small_lesions_are_malignant_in_every_part(table_of: Callable[[str], pa.Table]) -> None:
    small = table_of("lesions-small")
    assert pixels_of(small).shape == (1520, 3, 32, 32)
    parts = Counter(zip(small["split"].to_pylist(), small["gold"].to_pylist(), strict=True))
    assert parts == {
        ("train", 0): 720,
        ("train", 1): 480,
        ("test", 0): 144,
        ("test", 1): 96,
        ("fresh", 0): 48,
        ("fresh", 1): 32,
    }


def test_digits_are_bilinear_as_torch_does_it(table_of: Callable[[str], pa.Table]) -> None:
    import torch
    from sklearn.datasets import load_digits

    small = torch.tensor(load_digits().images / 16.0, dtype=torch.float64)[:, None]
    large = torch.nn.functional.interpolate(small, (32, 32), mode="bilinear", align_corners=False).numpy()
    assert np.abs(pixels_of(table_of("digits")) - large).max() <= 0.5 / 255 + 1e-6
    assert Counter(table_of("digits")["gold"].to_pylist()) == Counter(load_digits().target.tolist())


def test_placed_digits_stand_anywhere_around_the_middle_whatever_they_are(table_of: Callable[[str], pa.Table]) -> None:
    from sklearn.datasets import load_digits

    table, bunch = table_of("digits-placed"), load_digits()
    canvas = np.rint(pixels_of(table)[:, 0] * 255).astype(int)
    assert Counter(table["split"].to_pylist()) == {"train": 600, "test": 900, "fresh": 297}
    small = (bunch.images.astype(int) * 255 + 8) // 16
    corners = [(dy, dx) for dy in range(-REACH, REACH + 1) for dx in range(-REACH, REACH + 1)]
    found = np.array(
        [(canvas[:, 12 + dy : 20 + dy, 12 + dx : 20 + dx] == small).all(axis=(1, 2)) for dy, dx in corners]
    )
    assert (found.sum(axis=0) == 1).all()
    assert found.sum(axis=1).min() > 5
    assert canvas.sum() == small.sum()
    places = np.array(corners)[found.argmax(axis=0)]
    assert (
        max(abs(np.corrcoef(bunch.target == digit, places[:, axis])[0, 1]) for digit in range(10) for axis in (0, 1))
        < 0.1
    )


@given(ink=st.integers(0, 16))
@settings(max_examples=17)
def test_an_even_digit_stays_even(ink: int) -> None:
    assert np.unique(enlarged(np.full((1, 8, 8), ink))).tolist() == [round(255 * ink / 16)]


def test_a_fifth_of_the_lesions_is_malignant_in_both_parts(table_of: Callable[[str], pa.Table]) -> None:
    table = table_of("lesions")
    counts = Counter(zip(table["split"].to_pylist(), table["gold"].to_pylist(), strict=True))
    assert counts == {("train", 0): 720, ("train", 1): 180, ("test", 0): 240, ("test", 1): 60}


def grade(aneurysms: int, haemorrhages: int, new_vessels: bool) -> int:
    """The grade of an eye by the rule of the Messidor collection."""
    if aneurysms >= 15 or haemorrhages >= 5 or new_vessels:
        return 3
    if aneurysms > 5 or haemorrhages > 0:
        return 2
    return 1 if aneurysms > 0 else 0


def test_the_grade_of_an_eye_is_counted_from_what_is_painted(table_of: Callable[[str], pa.Table]) -> None:
    assert Counter(table_of("fundus")["gold"].to_pylist()) == dict(enumerate(SHARES))
    gold = np.repeat(np.arange(4), 200)
    damage = drawn_damage(np.random.default_rng(5), gold)
    counted = [
        grade(int(a), int(h), bool(new))
        for a, h, new in zip(damage.aneurysms, damage.haemorrhages, damage.new_vessels, strict=True)
    ]
    assert counted == gold.tolist()


def test_findings_of_a_failing_heart_come_together() -> None:
    labels = drawn_findings(np.random.default_rng(1), 20_000)
    correlation = np.corrcoef(labels.T)
    cardiomegaly, effusion, oedema, _, nodule, _ = range(6)
    assert correlation[cardiomegaly, oedema] > 0.5
    assert correlation[cardiomegaly, effusion] > 0.25
    assert correlation[cardiomegaly, nodule] < -0.05
    assert (labels.sum(axis=1) == 0).mean() == pytest.approx(0.34, abs=0.04)


@pytest.mark.slow
def test_chest_labels_are_said_per_finding_and_no_gold_is(table_of: Callable[[str], pa.Table]) -> None:
    table = table_of("chest")
    assert table["gold"].null_count == 1200
    labels = np.array(table["labels"].to_pylist())
    assert labels.shape == (1200, 6)
    assert set(np.unique(labels)) == {0, 1}
    assert labels.mean(axis=0).min() > 0.1
    test = np.array(table["split"].to_pylist()) == "test"
    assert np.abs(labels[test].mean(axis=0) - labels.mean(axis=0)).max() < 0.06


@pytest.mark.parametrize("name", ["lesions", "fundus"])
def test_signs_can_be_learned_but_not_from_brightness(table_of: Callable[[str], pa.Table], name: str) -> None:
    """A forest on coarse figures beats the majority in balanced accuracy; mean colour alone hardly does."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import balanced_accuracy_score

    table = table_of(name)
    pixels, gold = pixels_of(table), np.array(table["gold"].to_pylist())
    train = np.array(table["split"].to_pylist()) == "train"
    middle = pixels[:, :, 12:52, 12:52].reshape(len(pixels), 3, -1)
    colour = pixels.reshape(len(pixels), 3, -1).mean(axis=2)
    signs = np.concatenate(
        [colour, middle.std(axis=2), np.percentile(middle, [1, 5, 95, 99], axis=2).reshape(-1, len(pixels)).T], axis=1
    )

    def balanced(features: np.ndarray) -> float:
        forest = RandomForestClassifier(60, random_state=0, class_weight="balanced", min_samples_leaf=3)
        forest.fit(features[train], gold[train])
        return float(balanced_accuracy_score(gold[~train], forest.predict(features[~train])))

    chance = 1 / (gold.max() + 1)
    assert balanced(colour) < chance + 0.25
    assert balanced(signs) > balanced(colour) + 0.05


def test_a_split_takes_from_every_group_in_proportion() -> None:
    groups = np.repeat([0, 1, 2], [50, 30, 21])
    parts = np.array(stratified_split(groups, 25, np.random.default_rng(0)))
    assert (parts == "test").sum() == 25
    assert [int((parts[groups == group] == "test").sum()) for group in range(3)] == [12, 8, 5]


@given(turns=st.floats(-3, 3))
@settings(max_examples=100)
def test_cosine_and_sine_by_series_are_right(turns: float) -> None:
    cosine, sine = turn(np.array([turns]))
    assert cosine[0] == pytest.approx(np.cos(2 * np.pi * turns), abs=1e-12)
    assert sine[0] == pytest.approx(np.sin(2 * np.pi * turns), abs=1e-12)


def test_marks_that_meet_leave_the_stronger_one_in_any_order() -> None:
    image, x, y = np.array([0, 0]), np.array([4.2, 5.0]), np.array([4.0, 4.6])
    radius, strength = np.array([2.0, 1.5]), np.array([0.4, 0.9])
    canvases = [np.zeros((1, 10, 10)) for _ in range(2)]
    dab(canvases[0], image, x, y, radius, strength)
    dab(canvases[1], image, x[::-1], y[::-1], radius[::-1], strength[::-1])
    assert np.array_equal(*canvases)
    assert canvases[0].max() == pytest.approx(0.9)
