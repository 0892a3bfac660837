"""Noise as stages: the same texts however samples are cut, and findings that can be counted by hand."""

import pyarrow as pa
import pytest
import trust_case

from assay.data.schemas import Predictions
from assay.infra.stages.partitions import collect
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.attacks.texts.task import add_noise, copy_with_noise, measure_noise, show_noise
from assay.tasks.statistics.findings import findings_from

NEEDED = "not shown: p ≤ 0.3 needed"

ROWS = list(range(8))


@stage(version=1)
def says(ids: list[str], codes: list[int]) -> Artifact[Predictions]:
    """A subject that answers like this."""
    columns = {"id": ids, "predicted": codes, "probabilities": [[1.0 - code, float(code)] for code in codes]}
    return write_table(pa.table(columns, schema=Predictions.schema), into=Predictions)


@pytest.fixture
def clean(run):
    samples = trust_case.put_samples(ROWS, [0, 8], "test")
    table = collect(samples, ["id", "gold"])
    return samples, says(table["id"].to_pylist(), table["gold"].to_pylist())  # every answer is right


def under_noise(samples, wrong: dict[str, set[int]]):
    """Noisy texts, and a subject that is wrong on these samples of each kind at the higher severity."""
    noisy = add_noise(samples, "text", ["typos", "casing"], [1, 5])
    rows = collect(noisy, None).to_pylist()
    codes = []
    for row in rows:
        number = int(row["noise_of"].removeprefix("test-"))
        bad = row["noise_severity"] == 5 and number in wrong[row["noise_kind"]]
        codes.append(row["gold"] ^ bad)
    return noisy, says([row["id"] for row in rows], codes)


def test_noisy_texts_are_the_same_however_samples_are_cut(run):
    def made(cuts: list[int]) -> list[dict[str, object]]:
        noisy = add_noise(trust_case.put_samples(ROWS, cuts, "test"), "text", ["typos", "homoglyphs"], [1, 3])
        return collect(noisy, None).to_pylist()

    rows = made([0, 8])
    assert made([0, 3, 3, 8]) == rows
    assert len({row["id"] for row in rows}) == 8 * 2 * 2
    assert all(row["text"] != text for row in rows for text, *_ in trust_case.TEXTS if row["noise_news"])


def test_a_copy_keeps_every_other_column_and_differs_in_its_text(run):
    samples = trust_case.put_samples(ROWS, [0, 5, 8], "train")
    before, after = collect(samples, None), collect(copy_with_noise(samples, "text", ["casing"], [3]), None)
    assert after.drop_columns("text").equals(before.drop_columns("text"))
    pairs = zip(before["text"].to_pylist(), after["text"].to_pylist(), strict=True)
    assert all(one != other and one.lower() == other.lower() for one, other in pairs)


def test_accuracy_flips_and_the_paired_change_can_be_counted(run, clean):
    samples, right = clean
    noisy, said = under_noise(samples, {"typos": {0, 1, 2}, "casing": {2}})
    measured = measure_noise(noisy, said, right, samples, trust_case.put_classes(), "noise", "mine", 0.3)
    found = {(one.metric, one.group): one for one in findings_from(collect(measured, None))}
    assert {one.of for one in found.values()} == {"noise"}
    assert found["attack.accuracy", "typos, severity=1"].value == 1.0
    assert found["attack.accuracy", "typos, severity=5"].value == 5 / 8
    assert found["attack.flip_rate", "typos, severity=5"].value == 3 / 8
    assert found["attack.accuracy", "every kind, severity=5"].value == 5 / 8
    change = found["attack.accuracy_change", "typos, severity=5"]
    assert (change.value, change.p_value, change.n) == (-3 / 8, 0.125, 8)
    assert (change.low, change.high) == pytest.approx((-0.6943, 0.0711), abs=1e-3)  # wide enough to agree with p
    worst, named = found["attack.worst_accuracy", ""], found["attack.accuracy", "typos, severity=5"]
    assert (worst.verdict, worst.value, worst.n) == ("typos, severity=5", 5 / 8, 8)
    assert worst.low < named.low < named.high < worst.high  # it was named after looking at four
    whole = found["attack.accuracy_change", "typos, severity=1"]
    assert (whole.value, whole.low < -0.2, whole.high > 0.2) == (0.0, True, True)  # eight ties are no certainty
    tests = {group: one.verdict for (metric, group), one in found.items() if metric == "attack.mcnemar_p"}
    assert tests == {"typos, severity=5": "worse", "casing, severity=5": NEEDED, "every kind, severity=5": "worse"}


def test_examples_show_what_noise_turned_wrong_one_kind_after_the_other(run, clean):
    samples, right = clean
    noisy, said = under_noise(samples, {"typos": {0, 1}, "casing": {2}})
    shown = collect(show_noise(noisy, said, right, samples, trust_case.put_classes(), "text", "noise", 3, False), None)
    rows = shown.to_pylist()
    assert [(row["id"], row["group"]) for row in rows] == [
        ("test-000", "typos, severity=5"),
        ("test-002", "casing, severity=5"),
        ("test-001", "typos, severity=5"),
    ]
    assert rows[1]["text"] == "seen on Friday"
    assert [row["before"] ^ row["after"] for row in rows] == [1, 1, 1]


def test_masked_examples_hold_no_word(run, clean):
    samples, right = clean
    noisy, said = under_noise(samples, {"typos": {0}, "casing": {2}})
    shown = collect(show_noise(noisy, said, right, samples, trust_case.put_classes(), "text", "noise", 4, True), None)
    assert [row["text"] for row in shown.to_pylist()] == ["", ""]
    assert all(set("".join(row["news"])) == {"\u25a0"} for row in shown.to_pylist())
