"""Table 4 has the paper's numbers, and beside them those of our latest runs."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from repository import ROOT

from assay.data.published import TOKI_TABLE_4
from assay.flows.commands.run import TABLES
from assay.flows.configuration.loading import load_project
from assay.flows.reproduce.tables import TABLES as REPRODUCED
from assay.flows.reproduce.tables import list_of_tables, reproduce
from assay.tasks.statistics.findings import Finding, findings_table


def leave(run, findings: list[Finding]) -> None:
    run.record.findings = f"runs/{run.id}/findings.parquet"
    with run.store.folder.writing(run.record.findings) as sink:
        pq.write_table(findings_table(findings), sink)
    run.save()


def test_the_papers_guided_attack_is_never_behind_a2t():
    assert len(TOKI_TABLE_4) == 10
    assert all(row.guided.success_rate >= row.a2t.success_rate for row in TOKI_TABLE_4)
    assert all(row.guided.perturbed_words <= row.a2t.perturbed_words for row in TOKI_TABLE_4)


def test_without_runs_it_says_how_to_make_them(run):
    text = reproduce("toki-4", run.store)
    assert "emotion paper 2000 0.643 1.152" in " ".join(text.split())
    assert "assay run ag-news" in text
    assert "ours" not in text.partition("Not measured")[0]


def test_a_run_stands_below_the_papers_line_with_the_paired_difference(make_run):
    measured = [
        Finding("attack.success_rate", of="guided", subject="small-bert", value=0.5, n=80),
        Finding("attack.success_rate", of="a2t", subject="small-bert", value=0.25, n=80),
        Finding("attack.perturbed_words", of="guided", subject="small-bert", value=1.5, n=40),
        Finding("attack.similarity", of="guided", group="minilm", subject="small-bert", value=0.95, n=40),
        Finding("attack.similarity", of="guided", group="word-vectors", subject="small-bert", value=0.9, n=40),
        Finding(
            "attack.success_difference",
            of="guided - a2t",
            subject="small-bert",
            value=0.25,
            low=0.1,
            high=0.4,
            n=80,
            p_value=0.004,
        ),
        Finding("attack.success_rate", of="guided", subject="small-bert+on-a2t", value=0.1, n=80),
    ]
    with make_run("emotion") as run:
        leave(run, measured)
    line = next(line for line in reproduce("toki-4", run.store).splitlines() if "ours" in line)
    assert line.split() == [
        "emotion",
        "ours",
        "80",
        "0.500",
        "1.500",
        "0.950",
        "0.900",
        "0.250",
        "+0.250",
        "[+0.100,",
        "+0.400]",
        "0.004",
    ]


def test_a_later_run_without_attacks_or_with_names_of_its_own_costs_nothing(make_run):
    found = {"subject": "bert", "n": 80}
    limits = {"harsh": 0.34, "plain": 0.546, "like": 0.34}
    measured = [
        *(Finding("attack.success_rate", of=name, value=0.5, low=0.4, high=0.6, **found) for name in limits),
        *(Finding("attack.perturbed_words", of=name, value=1.5, low=1.25, high=1.75, **found) for name in limits),
        *(
            Finding("attack.limit", of=name, group="encoder", value=limit, subject="bert")
            for name, limit in limits.items()
        ),
        Finding("attack.mcnemar_p", of="harsh - like", value=0.02, p_value=0.02, p_adjusted=0.04, unit="p", **found),
    ]
    with make_run("reviews") as run:
        run.record.settings = {
            "attacks": [
                {"attack": "guided", "name": "harsh"},
                {"attack": "a2t", "name": "plain"},
                {"attack": "noise"},
                {"attack": "a2t", "name": "like"},
            ]
        }
        leave(run, measured)
    with make_run("reviews") as later:
        leave(later, [Finding("trust.trustworthy", of="lime", value=0.5)])
    text = reproduce("toki-4", run.store)
    lines = [" ".join(line.split()) for line in text.splitlines() if "  ours, " in line]
    rates = "0.500 [0.400, 0.600] 1.500 [1.250, 1.750]"
    assert lines == [f"reviews ours, plain 80 {rates} {rates}", f"reviews ours, like 80 {rates} {rates} 0.04"]
    assert f"  reviews: run {run.id}, n = 80\n    subject bert\n" in text
    for name, limit in limits.items():
        assert f"{name} takes words at cosine ≥ {limit:.2f}" in text


def attacked_texts(make_run, pipeline, source):
    rate = {"subject": "bert", "value": 0.5, "n": 17}
    with make_run(pipeline) as run:
        run.record.settings = {"source": source, "attacks": [{"attack": "guided"}, {"attack": "a2t"}]}
        leave(run, [Finding("attack.success_rate", of=name, **rate) for name in ("guided", "a2t")])
    return run


def test_a_run_on_other_texts_stands_apart_from_the_papers_data_set_of_its_name(make_run):
    run = attacked_texts(make_run, "emotion", {"jsonl": ["restaurants.jsonl"]})
    text = reproduce("toki-4", run.store)
    assert "emotion ours" not in " ".join(text.split())
    assert "emotion (jsonl: restaurants.jsonl) ours 17" in " ".join(text.split())
    assert f"({run.id} has that name and is of jsonl: restaurants.jsonl)" in text


def test_a_users_own_texts_stand_below_the_papers_lines(make_run):
    run = attacked_texts(make_run, "my-reviews", {"csv": "mine.csv"})
    attacked_texts(make_run, "emotion", {"dataset": "emotion"})
    said = " ".join(reproduce("toki-4", run.store).split())
    assert "emotion ours 17" in said
    assert "my-reviews (csv: mine.csv) ours 17" in said


def test_every_pipeline_beside_a_table_is_on_the_data_set_that_is_asked_for():
    shipped = load_project(ROOT / "pipelines.yaml").pipelines
    sources = [source for table in REPRODUCED.values() for grid in table.grids for source in grid.sources]
    asked = {name: data for source in sources for name, data in source.pipelines.items() if data is not None}
    assert {name: shipped[name].source.dataset for name in asked} == asked


@pytest.mark.parametrize("table", ["pugh-1", "xu-1", "xu-5", "toki-3", "araujo-2", "werpachowski-5"])
def test_no_table_takes_a_run_on_other_data_for_its_own(make_run, table):
    names = ("breast-cancer", "lesions", "lesions-defended", "hatexplain", "bc5cdr-chemical", "overfitting-synthetic")
    measured = [
        Finding("subject.accuracy", of="clean", subject="attnmel", value=0.12345, n=9),
        Finding("defense.accuracy", of="none", group="clean", subject="attnmel", value=0.12345, n=9),
        Finding("ordering.spearman", of="ours", group="majority", value=0.12345),
        Finding("trust.trustworthy", of="lime", group="all", subject="bert", value=0.5, n=9),
        Finding("ner.f1", of="clean", subject="tagger", value=0.12345, n=9),
        Finding("overfitting.p_value", of="dependent", group="eps=6", value=0.12345),
    ]
    for name in names:
        with make_run(name) as run:
            run.record.settings = {"source": {"csv": "mine.csv"}}
            leave(run, measured)
    text = reproduce(table, run.store)
    assert "Ours come from" not in text
    assert run.id not in text or "has that name and is of csv: mine.csv" in text


def test_every_table_is_named_under_help_and_told_without_one():
    assert tuple(TABLES) == tuple(REPRODUCED)
    listed = list_of_tables().splitlines()[1:]
    assert [line.split()[0] for line in listed] == list(TABLES)
    assert all(len(line.split()) > 5 for line in listed)


def test_table_3_sets_each_explainer_beneath_the_papers_line_with_its_true_labels(make_run):
    measured = [
        Finding("trust.trustworthy", of="lime", subject="bert", value=0.5, n=40),
        Finding("trust.truth", of="lime", group="trustworthy", subject="bert", value=0.75, n=40),
        Finding("trust.truth", of="lime", group="untrustworthy", subject="bert", value=0.25, n=40),
        Finding("trust.g_mean", of="toki", group="lime", subject="bert", value=0.7, low=0.6, high=0.8, n=40),
        Finding("trust.g_mean", of="naive", group="lime", subject="bert", value=0.5, n=40),
        Finding("trust.label_seconds", of="lime", subject="bert", value=12.4),
        Finding("trust.confidence_auc", of="naive", group="lime", subject="bert", value=0.65, n=40),
    ]
    for name in ("hatexplain", "reviews"):
        with make_run(name) as run:
            leave(run, measured)
    lines = [" ".join(line.split()) for line in reproduce("toki-3", run.store).splitlines()]
    rest = " ".join(["not measured"] * 5)
    assert "HateXplain TOKI lime paper 0.933 0.966 0.961 0.963 0.661 0.797 352721 464720" in lines
    assert f"HateXplain TOKI lime ours 30/10 {rest} 0.700 [0.600, 0.800] 12" in lines
    assert f"HateXplain Naive lime ours 30/10 {rest} 0.500" in lines
    assert "reviews 75 % lime 0.700 [0.600, 0.800] 0.500 0.650" in lines
