"""Changes that were planted are found, each with its share: labels flipped, a rule inverted, weights of an earlier
epoch, and all three at once."""

from __future__ import annotations

from pathlib import Path

import blamed
import pytest
from direct_nights import perform_night, project_in
from planted_changes import PARTS, in_the_population, plant

from assay.flows.blame.shares import Blame, Sharing, blame_sentence
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress


class Nights(dict[tuple[str, ...], str]):
    """The runs by what was changed, each run when it is first asked for; the project is then as it was at first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __missing__(self, changes: tuple[str, ...]) -> str:
        self[changes] = perform_night(plant(self._folder, *changes), "night").run
        plant(self._folder)
        return self[changes]


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[tuple[str, ...], str]]:
    """A night without a change, and those with one or all of them, in one store."""
    folder = tmp_path_factory.mktemp("nights")
    ran = Nights(folder)
    assert ran[()]
    return folder, ran


def asked(nights: tuple[Path, dict[tuple[str, ...], str]], *changes: str, of: str, group: str = "D5") -> Sharing:
    folder, ran = nights
    return blamed.asked(folder, ran[()], ran[changes], finding="subject.accuracy", of=of, group=group)


def shared(nights: tuple[Path, dict[tuple[str, ...], str]], *changes: str, of: str, group: str = "D5") -> Blame:
    return asked(nights, *changes, of=of, group=group).share_out(Progress())


@pytest.mark.parametrize(
    ("change", "of"),
    [
        ("labels", "gold"),
        pytest.param("rule", "weak", marks=pytest.mark.slow),
        pytest.param("epoch", "gold", marks=pytest.mark.slow),
    ],
)
def test_a_change_alone_is_to_blame_for_everything_and_nothing_is_computed(nights, change: str, of: str) -> None:
    found = shared(nights, change, of=of)
    assert [(one.part, one.interval.value) for one in found.shares] == [(PARTS[change], found.total.value)]
    assert found.total.value < 0
    assert found.computed == 0


@pytest.mark.slow
def test_flipped_labels_are_counted_and_files_are_named(nights) -> None:
    changes = asked(nights, "labels", "rule", "epoch", of="gold").changes
    assert changes.samples.altered == 40
    assert (changes.samples.added, changes.samples.removed) == (0, 0)
    assert [one.words for one in changes.parts] == [
        "40 altered samples",
        "the rules (rules.py)",
        "the weights (epoch.txt)",
    ]


@pytest.mark.parametrize("of", ["gold", pytest.param("weak", marks=pytest.mark.slow)])
def test_each_of_three_changes_is_attributed_within_its_interval(nights, of: str) -> None:
    found, truth = shared(nights, "labels", "rule", "epoch", of=of), in_the_population(of)
    assert {one.part for one in found.shares} == set(PARTS.values())
    for change, part in PARTS.items():
        one = next(share.interval for share in found.shares if share.part == part)
        assert one.low - 1e-12 <= truth[change] <= one.high + 1e-12, (of, change, truth[change], one)
        assert one.high - one.low < 0.12


@pytest.mark.parametrize(
    "group", [pytest.param("D1", marks=pytest.mark.slow), pytest.param("D2", marks=pytest.mark.slow), "D5"]
)
def test_shares_add_up_to_the_whole_and_no_stage_of_the_two_nights_is_computed_again(nights, group: str) -> None:
    assert asked(nights, "labels", "rule", "epoch", of="gold", group=group).forecast().hybrids <= 2**3 - 2
    found = shared(nights, "labels", "rule", "epoch", of="gold", group=group)
    assert sum(one.interval.value for one in found.shares) == pytest.approx(found.total.value, abs=1e-12)
    again = shared(nights, "labels", "rule", "epoch", of="gold", group=group)
    assert again.computed == 0
    assert [one.interval for one in again.shares] == [one.interval for one in found.shares]


@pytest.mark.slow
def test_hybrids_leave_nothing_that_could_be_taken_for_a_night(nights) -> None:
    folder, ran = nights
    store = Store(project_in(folder, "night").store)
    assert shared(nights, "labels", "rule", "epoch", of="weak", group="D3").shares
    assert {run.id for run in store.runs()} == set(ran.values())
    assert store.asides() == []
    assert store.folder.sizes("leases") == {}


@pytest.mark.slow
def test_the_forecast_knows_what_the_store_has(nights) -> None:
    once = asked(nights, "labels", "rule", "epoch", of="gold")
    once.share_out(Progress())
    assert not once.forecast().costs
    assert once.forecast().in_words() == "Nothing has to be computed."


def test_what_was_not_kept_is_one_lump_and_the_rest_is_shared_out(nights, tmp_path: Path) -> None:
    import json
    import shutil

    folder, ran = tmp_path / "moved", nights[1]
    late = ran["labels", "rule", "epoch"]
    shutil.copytree(nights[0], folder)
    store = Store(str(folder / "store"))
    for name in (ran[()], late):  # as if the weights had been too large
        record = json.loads(store.run(name).to_text())
        for one in record["ingredients"]:
            one["kept"] = one["name"] != "epoch.txt"
        store.folder.write_json(f"runs/{name}.json", json.loads(json.dumps(record)))
    plant(folder, "epoch")  # and today's are those of the later night
    found = shared((folder, ran), "labels", "rule", "epoch", of="gold")
    assert [(one.part, one.words) for one in found.shares] == [
        ("samples", "40 altered samples"),
        ("rules", "the rules (rules.py)"),
        ("not swapped", "what could not be put back, the weights (epoch.txt)"),
    ]
    assert sum(one.interval.value for one in found.shares) == pytest.approx(found.total.value, abs=1e-12)
    assert "from what could not be put back, the weights (epoch.txt)" in blame_sentence(found)
    lump = found.shares[-1].interval
    assert lump.low <= in_the_population("gold")["epoch"] <= lump.high
    assert [one.lost for one in found.changes.lost] == [f"epoch.txt is too large and was not kept with run {ran[()]}"]


@pytest.mark.slow
def test_rules_that_cannot_read_the_old_samples_change_together_with_them(tmp_path: Path) -> None:
    folder = plant(tmp_path)
    before = perform_night(folder, "night").run
    for name in ("patients-a.csv", "patients-b.csv"):
        head, *rows = (folder / name).read_text().splitlines()
        with_column = [f"oxygen,{head}", *(f"9{at % 10},{row}" for at, row in enumerate(rows))]
        (folder / name).write_text("\n".join(with_column) + "\n")
    rules = (folder / "rules.py").read_text()
    wheezing = '\n\n@column_rule\ndef wheezing(samples):\n    return np.where(samples["oxygen"] < 93, 0, 1)\n'
    (folder / "rules.py").write_text(rules + wheezing)
    after = perform_night(folder, "night").run
    found = shared((folder, {(): before, ("labels",): after}), "labels", of="weak")
    assert [(one.part, one.interval.value) for one in found.shares] == [("not swapped", found.total.value)]
    assert found.shares[0].words == (
        "what could not be put back, other columns of the samples (oxygen) and the rules (rules.py)"
    )
    assert "oxygen" in found.changes.lost[0].lost


LABELER = """
import numpy as np

from assay.tasks.weak_labels.labelers import LabelerChoice


def mine(votes, classes):
    counts = np.stack([(votes == code).sum(axis=1) for code in range(classes)], axis=1) + 3.0
    return counts / counts.sum(axis=1, keepdims=True)


MINE = LabelerChoice("mine", probabilities=mine)
"""


def test_a_labeler_of_a_file_stays_in_place_and_one_that_changed_is_named(tmp_path: Path) -> None:
    nights = dict[tuple[str, ...], str]()
    for changes, added in (((), "3.0"), (("labels",), "3.0"), (("labels", "labeler"), "9.0")):
        folder = plant(tmp_path, *changes)
        pipelines = (folder / "pipelines.yaml").read_text().replace("[majority]", '["labs.py:MINE"]')
        (folder / "pipelines.yaml").write_text(pipelines)
        (folder / "labs.py").write_text(LABELER.replace("3.0", added))
        nights[changes] = perform_night(folder, "night").run
    found = shared((folder, nights), "labels", of="gold")
    assert [share.part for share in found.shares] == ["samples"]
    changes = asked((folder, nights), "labels", "labeler", of="gold").changes
    assert [(part.part, part.words) for part in changes.lost] == [("plug-ins", "the plug-ins (mine)")]
    assert [part.part for part in changes.swappable] == ["samples"]


def test_runs_of_before_files_were_kept_and_other_libraries_are_named(nights, tmp_path: Path) -> None:
    import json
    import shutil

    from assay.flows.blame.shares import changed_in_words

    folder, early = tmp_path / "older", nights[1][()]
    assert nights[1]["labels",]
    shutil.copytree(nights[0], folder)
    store = Store(str(folder / "store"))
    record = json.loads(store.run(early).to_text())
    store.folder.write_json(f"runs/{early}.json", record | {"ingredients": []})
    for place in (folder / "store" / "stages" / "apply_labeling_functions").glob("*/manifest.json"):
        manifest = json.loads(place.read_text())
        if manifest["run"] == early:
            manifest["ingredients"]["profile"]["numpy"] = "0.1"
            place.write_text(json.dumps(manifest))
    changes = asked((folder, nights[1]), "labels", of="gold").changes
    assert [one.part for one in changes.swappable] == ["samples"]
    assert {one.part for one in changes.lost} == {"rules", "model", "weights", "libraries"}
    told = "\n".join(changed_in_words(changes))
    assert f"run {early} kept none of its files, since it is older than that." in told
    assert "Not swapped: libraries, since only those of today are installed." in told
    assert "numpy 0.1" in told
