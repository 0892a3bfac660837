"""Two runs side by side: what changed, what is new, what is gone."""

import pytest

from assay.flows.report.comparison import Change, file_changes, finding_changes, result_changes, setting_changes
from assay.infra.storage.artifacts import RunRecord, StageRecord
from assay.tasks.statistics.between_runs import RunDifference
from assay.tasks.statistics.findings import Finding


def record(name: str, **digests: str) -> RunRecord:
    stages = [
        StageRecord(title, title, "key", False, 0.1, "", {"result": {"digest": digest}})
        for title, digest in digests.items()
    ]
    return RunRecord(name, "night", "2026-11-22T02:00:00", 0, "host", 1, stages=stages)


def test_a_finding_that_moved_shows_by_how_much() -> None:
    before = [Finding("subject.accuracy", group="D1", value=0.9, n=50), Finding("pruning.kept", value=7)]
    after = [Finding("subject.accuracy", group="D1", value=0.875, n=50), Finding("pruning.kept", value=7)]
    moved, same = finding_changes(before, after)
    assert (moved.changed, moved.in_words()) == (True, "subject.accuracy (D1): 0.9 n=50 → 0.875 n=50, -0.025")
    assert (same.changed, same.in_words()) == (False, "pruning.kept: 7")


def test_a_verdict_that_turned_is_shown_with_both_words() -> None:
    [turned] = finding_changes(
        [Finding("ordering.permutation_p", value=0.02, verdict="no trend")],
        [Finding("ordering.permutation_p", value=0.001, verdict="adverse")],
    )
    assert turned.in_words().endswith("0.02 → 0.001, -0.019, no trend → adverse")


def test_an_interval_alone_is_a_change() -> None:
    [change] = finding_changes([Finding("a.b", value=1.0, low=0.5)], [Finding("a.b", value=1.0, low=0.6)])
    assert (change.changed, change.in_words()) == (True, "a.b: 1")


def test_findings_that_come_and_go_are_told_apart_by_of_group_and_subject() -> None:
    found = finding_changes([Finding("a.b", of="x")], [Finding("a.b", of="y"), Finding("a.b", of="y", subject="s")])
    assert [change.in_words() for change in found] == ["a.b (y): new", "a.b (s, y): new", "a.b (x): gone"]


def test_only_settings_that_differ_are_listed() -> None:
    before = {"pruning": {"correlation": 0.5}, "gates": [{"finding": "a.b"}], "subject": None}
    after = {"pruning": {"correlation": 0.4}, "gates": [{"finding": "a.b"}, {"finding": "a.c"}], "subject": None}
    assert setting_changes(before, after) == ["gates.1.finding: not set → a.c", "pruning.correlation: 0.5 → 0.4"]


def test_stages_with_the_same_digest_are_not_listed() -> None:
    before, after = record("a", label="1", prune="2", order="3"), record("b", label="1", prune="9", attack="4")
    assert result_changes(before, after) == [
        "prune: another result",
        "attack: only in the later run",
        "order: only in the earlier run",
    ]


def test_files_with_another_content_are_listed_and_services_are_not() -> None:
    before, after = record("a"), record("b")
    before.ingredients = [
        {"name": "vit/model.safetensors", "sha256": "1", "what": "file"},
        {"name": "rules.py", "sha256": "2", "what": "code"},
        {"name": "answers of https://m/x", "sha256": "3", "what": "elsewhere"},
    ]
    after.ingredients = [
        {"name": "vit/model.safetensors", "sha256": "9", "what": "file"},
        {"name": "rules.yaml", "sha256": "2", "what": "file"},
        {"name": "answers of https://m/x", "sha256": "4", "what": "elsewhere"},
    ]
    assert file_changes(before, after) == [
        "vit/model.safetensors: another content",
        "rules.yaml: only in the later run",
        "rules.py: only in the earlier run",
    ]


def test_a_change_is_of_all_samples_and_that_on_the_shared_ones_stands_beside_it() -> None:
    before, after = Finding("a.b", value=0.9, n=100), Finding("a.b", value=0.6, n=100)
    on_shared = RunDifference(-0.05, -0.1, -0.01, 0.03, 60, "McNemar")
    difference = RunDifference(-0.3, -0.4, -0.2, 0.001, 100, "all samples", shared=on_shared)
    change = Change(("a.b", "", "", ""), before, after, difference)
    assert change.moved == pytest.approx(-0.3)
    assert change.in_words().endswith(", -0.3 [-0.4, -0.2] (-0.05 on the 60 samples that both have)")
