"""Each room follows numbers of its own over the nights, and runs that end early stand on the page too."""

import pytest

from assay.flows.audits.table import KINDS
from assay.flows.report.all_nights import entries_of, followed_in, write_index
from assay.flows.report.records import describe_store
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import Finding, FindingIndex


def attacked(attack, group, value):
    return Finding("attack.accuracy", of=attack, group=group, subject="plain", value=value, n=100)


@pytest.mark.parametrize(
    ("findings", "names"),
    [
        ([Finding("pruning.kept", value=7, n=30), Finding("attack.auc", value=0.5)], {"Rules kept": 7}),
        (
            [Finding("subject.accuracy", of="gold", group=f"D{i}", subject="s", value=i / 20) for i in (1, 9, 10)],
            {"Accuracy against gold (s, D10)": 0.5},
        ),
        ([Finding("ordering.trend_p", of="ours", group="majority", verdict="not measured")], {}),
        (
            [attacked("pgd", "eps=0", 0.9), attacked("pgd", "eps=0.1", 0.4), attacked("gap", "eps=0.1", 0.3)],
            {"Accuracy under the strongest attack (plain, ε = 0.1)": 0.3},
        ),
        (
            [
                Finding("corruption.flip_probability", of="mean", group="all", subject="plain", value=0.004),
                *(
                    Finding("corruption.accuracy", of=of, group="all", subject="plain", value=value)
                    for of, value in (("translate", 0.55), ("snow", 0.9), ("mean", 0.7))
                ),
            ],
            {
                "Answers that flip from frame to frame (plain)": 0.004,
                "Accuracy under the worst corruption (plain)": 0.55,
            },
        ),
        (
            [
                Finding("defense.mcnemar_p", of="a", group="eps=0.1, pgd", subject="plain", value=0.01),
                *(
                    Finding("defense.accuracy", of=of, group="eps=0.1", subject="plain", value=value)
                    for of, value in (("none", 0.1), ("a", 0.6), ("b", 0.4))
                ),
            ],
            {"Accuracy of the best defence (plain, ε = 0.1)": 0.6},
        ),
        (
            [
                Finding("trust.trustworthy", of="lime", group="all", subject="bert", value=0.7),
                Finding("trust.untrustworthy", of="lime", group="all", subject="bert", value=0.2),
                Finding("trust.g_mean", of="toki", group="lime", subject="bert", value=0.9),
            ],
            {"Right for the wrong reasons (bert, lime)": 0.2, "G-mean of TOKI (bert, lime)": 0.9},
        ),
        (
            [Finding("attack.success_rate", of="a2t", subject="bert", value=0.4)],
            {"Texts that fell, of those right before (bert, a2t)": 0.4},
        ),
        (
            [
                Finding("ner.f1", of=of, group=group, subject="tagger", value=value)
                for of, group, value in (
                    ("clean", "", 0.9),
                    ("clean", "type=Drug", 0.1),
                    ("swap", "share=1, changes=1", 0.3),
                    ("synonymy", "share=1", 0.5),
                )
            ],
            {"F1 (tagger)": 0.9, "F1 under the worst attack (tagger)": 0.3},
        ),
        (
            [
                Finding("overfitting.p_value", of="nearest", subject="m", value=0.2, verdict="no evidence"),
                Finding("overfitting.gap", of="nearest", subject="m", value=0.01),
                Finding("overfitting.p_value", of="nearest", group="training", subject="m", value=0.0),
                Finding("overfitting.gap", of="nearest", group="training", subject="m", value=0.3),
            ],
            {"p of overfitting (m, nearest)": 0.2, "Gap of overfitting (m, nearest)": 0.01},
        ),
    ],
)
def test_room_follows_what_a_reader_would_ask_for_first(findings, names):
    assert {one.name: one.value for one in followed_in(KINDS, FindingIndex(findings)) if not one.spare} == names


def test_epsilon_that_tells_most_has_its_past_on_nights_when_another_did():
    strong = [attacked("pgd", group, value) for group, value in (("eps=0", 0.9), ("eps=0.1", 0.8), ("eps=0.2", 0.1))]
    weak = [attacked("pgd", group, value) for group, value in (("eps=0", 0.9), ("eps=0.1", 0.2), ("eps=0.2", 0.0))]
    name = "Accuracy under the strongest attack (plain, ε = 0.2)"
    assert [(one.name, one.spare) for one in followed_in(KINDS, FindingIndex(strong)) if one.name == name] == [
        (name, False)
    ]
    assert [(one.name, one.spare) for one in followed_in(KINDS, FindingIndex(weak)) if one.name == name] == [
        (name, True)
    ]


def test_runs_that_ended_without_a_report_are_listed_as_such(tmp_path):
    store = Store(str(tmp_path / "store")).open()
    for name, status in (("2026-01-01-0000-aaaa", "crashed"), ("2026-01-02-0000-bbbb", "running")):
        failures = ["It was killed.\nmore"] if status == "crashed" else []
        store.save_run(
            RunRecord(name, "p", "2026-01-01T00:00:00+00:00", 0, "here", 1, status=status, failures=failures)
        )
    store.folder.write_json("reports/2026-01-01-0000-aaaa/entry.json", {"of": "a newer version"})
    (line,) = entries_of(store)
    assert (line.run, line.status, line.verdict, line.link) == ("2026-01-01-0000-aaaa", "crashed", "It was killed.", "")
    write_index(store)
    assert "It was killed." in store.folder.read("reports/index.html").decode()


def test_two_runs_of_one_pipeline_are_counted_in_english(make_run):
    for _ in range(2):
        with make_run("p") as run:
            run.record.status = "done"
    assert ["runs", "2 of 1 pipeline"] in describe_store(run.store)
