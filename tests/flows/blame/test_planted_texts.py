"""Changes planted in a night of texts: texts replaced, a rule inverted, a classifier of an earlier epoch, all three."""

from __future__ import annotations

from pathlib import Path

import pytest
from blamed import asked, attributed, shared
from direct_nights import perform_night, project_in
from planted_texts import PARTS, among_all_letters, plant_texts

from assay.flows.report.comparison import KeptOutcomes
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import findings_of

pytestmark = pytest.mark.slow

NIGHTS = (("texts",), ("rule",), ("epoch",), ("texts", "rule", "epoch"))
CLEAN = {"finding": "subject.accuracy", "of": "clean"}
WEAK = {"finding": "along.accuracy", "of": "weak", "group": "D5"}


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[tuple[str, ...], str]]:
    """A night without a change and one with each; the project is then as it was at first."""
    folder, ran = tmp_path_factory.mktemp("nights"), dict[tuple[str, ...], str]()
    for changes in ((), *NIGHTS):
        ran[changes] = perform_night(plant_texts(folder, *changes), "night").run
    return plant_texts(folder), ran


@pytest.mark.parametrize(("change", "finding"), [("texts", CLEAN), ("rule", WEAK), ("epoch", CLEAN)])
def test_a_change_alone_is_to_blame_for_everything_and_nothing_is_computed(nights, change: str, finding) -> None:
    folder, ran = nights
    found = shared(folder, ran[()], ran[change,], **finding)
    assert [(one.part, one.interval.value) for one in found.shares] == [(PARTS[change], found.total.value)]
    assert found.total.value < -0.03
    assert found.total.high < 0
    assert found.computed == 0


@pytest.mark.parametrize("finding", [CLEAN, WEAK])
def test_each_of_three_changes_is_attributed_within_its_interval(nights, finding) -> None:
    folder, ran = nights
    # the two nights themselves are not computed again
    assert asked(folder, ran[()], ran["texts", "rule", "epoch"], **finding).forecast().hybrids <= 2**3 - 2
    found = shared(folder, ran[()], ran["texts", "rule", "epoch"], **finding)
    assert attributed(found, PARTS, among_all_letters(finding["of"]))
    assert all(one.interval.high - one.interval.low < 0.12 for one in found.shares)
    assert sum(one.interval.value for one in found.shares) == pytest.approx(found.total.value, abs=1e-12)


def test_replaced_texts_are_counted_and_files_are_named(nights) -> None:
    folder, ran = nights
    changes = asked(folder, ran[()], ran["texts", "rule", "epoch"], **CLEAN).changes
    assert [one.words for one in changes.parts] == [
        "300 new samples and 300 removed samples",
        "the rules (rules.py)",
        "the weights (words.txt)",
    ]


def test_answers_along_the_order_come_to_the_findings_that_they_are_behind(nights) -> None:
    folder, ran = nights
    store = Store(project_in(folder, "night").store)
    record = store.run(ran["texts", "rule", "epoch"])
    kept = KeptOutcomes(store, record)
    along = [one for one in findings_of(store, record) if one.metric == "along.accuracy"]
    assert len(along) == 20  # by gold and by weak labels, on five sets and five strata
    for finding in along:
        sampled = kept.of(finding)
        assert sampled is not None
        assert (sampled.value, len(sampled.ids)) == (pytest.approx(finding.value, abs=1e-12), finding.n)
