"""What a run measured can lie beside the documents, and stands in a table where the reader has no run of their own."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from finished_runs import leave_run

from assay.data.published import XU_TABLE_3, PrintedGrid, PrintedTable
from assay.flows.cli import answer
from assay.flows.reproduce.paper_table import Grid, Line, Ours, PaperTable, Results, Source
from assay.flows.reproduce.published import (
    LARGEST_BYTES,
    export_results,
    findings_as_csv,
    published_over_seeds,
    published_result,
    without_finest_slices,
)
from assay.flows.reproduce.tables import TABLES, Filled, fill, reproduce, reproduce_all, table_as_markdown
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import StageRecord
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import Finding

SETTINGS = {"source": {"dataset": "sample/chest"}}
FLIPS = Finding("corruption.flip_probability", "mean", "all", "chexnet", 0.1 / 3, 0.03, 0.04, 120)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store")).open()


@pytest.fixture
def published(store: Store, tmp_path: Path) -> Path:
    """The folder with the published result of `chest`, whose run is in another store."""
    other = Store(str(tmp_path / "other")).open()
    name = leave_run(other, "chest", [FLIPS], settings=SETTINGS)
    assert answer(["export", name, "--results", str(tmp_path / "results"), "--store", other.url]) == 0
    return tmp_path / "results"


def test_a_published_result_comes_back_to_the_last_bit(published: Path) -> None:
    about, findings = published_result(published / "chest")
    assert findings == [FLIPS]
    assert about["settings"] == SETTINGS
    assert {"seed", "seconds", "commits", "versions", "profile", "stages", "left_out"} <= set(about)


def test_it_stands_in_a_table_where_there_is_no_run_of_the_users_own(store: Store, published: Path) -> None:
    text = reproduce("xu-3", store, published)
    assert "3.33% [3.00, 4.00]" in text
    assert f"  CheXNet: published run 2026-11-20-0200-a0b2 ({published}/chest), n = 120" in text
    assert "CheXNet: no run yet" not in text
    own = leave_run(store, "chest", [Finding("corruption.flip_probability", "mean", "all", "chexnet", 0.05, n=9)])
    text = reproduce("xu-3", store, published)
    assert f"  CheXNet: run {own}, n = 9" in text
    assert "published run" not in text


def test_a_published_result_on_other_data_stands_nowhere(store: Store, published: Path) -> None:
    file = published / "chest" / "run.json"
    file.write_text(file.read_text().replace("sample/chest", "sample/lesions"))
    assert "3.33%" not in reproduce("xu-3", store, published)


def test_a_published_result_that_is_damaged_is_one_sentence(store: Store, published: Path) -> None:
    (published / "chest" / "findings.csv").write_text("metric,of\na,b\n")
    with pytest.raises(InputError, match=r"chest is no published result .*assay export RUN --results"):
        reproduce("xu-3", store, published)


def test_what_is_too_large_loses_its_finest_slices_and_says_so() -> None:
    coarse = [Finding("attack.accuracy", "pgd", f"eps={eps}", value=eps / 7) for eps in range(100)]
    fine = [
        Finding("attack.accuracy", "pgd", f"eps={eps}, class={at}", value=0.5) for eps in range(99) for at in range(99)
    ]
    kept, left_out = without_finest_slices([*coarse, *fine], LARGEST_BYTES)
    assert kept == coarse
    assert left_out == {"attack.accuracy": len(fine)}
    assert without_finest_slices(coarse, LARGEST_BYTES) == (coarse, {})
    assert len(list(csv.reader(findings_as_csv(kept).splitlines()))) == 101


def test_what_is_claimed_of_a_subject_is_left_out_last() -> None:
    """Nine models under sixteen attacks: the accuracies went, and how often attacks asked stayed."""
    groups = [f"eps={eps}" for eps in range(900)]
    claims = [
        Finding("attack.accuracy", "auto-pgd-with-restarts", group, value=1 / 7, verdict="x" * 120) for group in groups
    ]
    others = [Finding("attack.queries", "square", group, value=9.0) for group in groups]
    kept, left_out = without_finest_slices([*claims, *others], LARGEST_BYTES)
    assert kept == claims
    assert left_out == {"attack.queries": 900}


def test_a_run_that_broke_is_not_published(store: Store, tmp_path: Path) -> None:
    name = leave_run(store, "chest", [FLIPS])
    record = store.run(name)
    record.status = "broken"
    with pytest.raises(InputError, match="is broken: only a whole run is published"):
        export_results(store, record, tmp_path / "results")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["export", "latest"], "--to DIR, or with --results DIR"),
        (["export", "latest", "--to", "a", "--results", "b"], "--results DIR stands alone"),
        (["export", "latest", "--results", "b", "--labeler", "snorkel"], "go with --to DIR"),
        (["reproduce", "xu-1", "--all"], "not both"),
        (["reproduce", "xu-1", "--to", "a.md"], "goes with --all"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    arguments: list[str], expected: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer([*arguments, "--store", store.url]) == 2
    assert expected in capsys.readouterr().err


def test_all_tables_are_one_markdown_page(store: Store, published: Path, tmp_path: Path) -> None:
    page = tmp_path / "docs" / "results.md"
    arguments = ["reproduce", "--all", "--to", str(page), "--store", store.url, "--results", str(published)]
    assert answer(arguments) == 0
    text = page.read_text()
    assert text == reproduce_all(store, published)
    assert [line.rpartition(": ")[2] for line in text.splitlines() if line.startswith("## ")] == list(TABLES)
    assert "| CheXNet | 38.09% | 3.33% [3.00, 4.00] |" in text
    assert "n − 1, and the images are simulated" in " ".join(text.split())
    for block in text.split("\n\n"):
        assert len({line.replace(r"\|", "").count("|") for line in block.splitlines() if line.startswith("|")}) <= 1


def test_a_page_shows_the_columns_that_a_grid_names_and_says_once_what_all_lines_say() -> None:
    grid = PrintedGrid("Oracles", ("data", "oracle", "f1", "n"), off_page=("f1",))
    printed = PrintedTable("Somebody et al., Table 1", "How good they are.", (), (grid,))
    rows = [("a", "toki", "0.9", "8"), ("b_c", "toki", "0.8", "9")]
    table, stated = PaperTable("some-1", printed, ()), set[str]()
    page = table_as_markdown(table, Filled([(grid, rows)]), stated)
    assert "**Oracles (oracle: toki)**" in page
    assert "| data | n |\n|---|---|\n| a | 8 |\n| b\\_c | 9 |" in page
    more = table_as_markdown(table, Filled([(grid, [*rows, ("d", "toki", "0.7", "9")])]), stated)
    assert "|---|---|\n| d | 9 |" in more  # the others stand above


def test_a_page_shows_the_lines_that_a_grid_names_and_all_of_a_source_that_has_none_of_them(store: Store) -> None:
    grid = PrintedGrid("Oracles", ("data", "oracle"), on_page={"oracle": ("toki",)})

    def source(called: str, *oracles: str) -> Source:
        cells = [(called, oracle, Ours("subject.accuracy", subject=called)) for oracle in oracles]
        return Source(called, {called: None}, [Line(each) for each in cells])

    for number, called in enumerate(("a", "b")):
        leave_run(store, called, [Finding("subject.accuracy", subject=called, value=0.5, n=4)], number)
    printed = PrintedTable("Somebody et al., Table 1", "How good they are.", (), (grid,))
    table = PaperTable("some-1", printed, [Grid(grid, [source("a", "toki", "naive"), source("b", "naive")])])
    [(_, rows)] = fill(table, Results(store), measured_only=True).grids
    assert [row[:2] for row in rows] == [["a", "toki"], ["b", "naive"]]
    [(_, rows)] = fill(table, Results(store)).grids
    assert len(rows) == 3


def test_a_difference_is_judged_in_one_sentence_and_what_nobody_can_explain_is_called_so(store: Store) -> None:
    first, second, third = XU_TABLE_3
    leave_run(
        store,
        first.pipeline,
        [Finding("corruption.flip_probability", "mean", "all", first.subject, 0.08, 0.07, first.flip_probability, 9)],
    )
    leave_run(
        store,
        second.pipeline,
        [Finding("corruption.flip_probability", "mean", "all", second.subject, 0.08, 0.07, 0.09, 9)],
        1,
    )
    text = " ".join(reproduce("xu-3", store).split())
    assert f"{first.model}: what was measured agrees with the paper wherever it gives a number (1)." in text
    assert (
        f"{second.model}: 1 of 1 differ from the paper by more than our interval, most {second.subject} "
        "corruption.flip_probability mean all (theirs 12.36%, ours 8.00% [7.00, 9.00]): "
        "the images are simulated and the networks smaller." in text
    )
    assert f"{third.model}: 1 of" not in text


def test_every_source_that_is_held_against_a_paper_says_why_it_may_differ() -> None:
    silent = [
        source.called
        for table in TABLES.values()
        for grid in table.grids
        for source in grid.sources
        if source.pipelines and not source.extra and not source.because
    ]
    assert silent == []


def test_run_json_names_the_settings_and_the_stages(published: Path) -> None:
    about = json.loads((published / "chest" / "run.json").read_text())
    assert (about["run"], about["pipeline"], about["status"]) == ("2026-11-20-0200-a0b2", "chest", "done")


def test_a_damaged_run_costs_its_line_and_not_the_table(store: Store) -> None:
    good = leave_run(store, "chest", [FLIPS])
    bad = leave_run(store, "chest", [FLIPS], 1)
    with store.folder.writing(f"runs/{bad}/findings.parquet") as sink:
        sink.write(b"PAR1 not really PAR1")
    text = reproduce("xu-3", store)
    assert f"CheXNet: run {good}, n = 120" in text
    assert f"The findings of run {bad} are damaged" in text


def robust(value: float) -> list[Finding]:
    return [
        Finding("attack.accuracy", "worst-case", "eps=0.1", "plain", value, value - 0.05, value + 0.05, 450),
        Finding("attack.steps", "pgd", "eps=0.1", "plain", 20.0),
    ]


def test_other_seeds_stand_beside_a_published_run(store: Store, tmp_path: Path) -> None:
    """The newest run of each seed, of the same settings; mean and standard deviation as numpy has them."""
    digits, other = {"source": {"dataset": "sample/digits"}}, {"source": {"dataset": "sample/digits"}, "x": 1}
    elsewhere = Store(str(tmp_path / "other")).open()
    leave_run(elsewhere, "digits", robust(0.9), 0, digits, seed=1)
    values = {0: 0.2, 1: 0.25, 2: 0.36}
    names = [leave_run(elsewhere, "digits", robust(value), seed + 1, digits, seed) for seed, value in values.items()]
    leave_run(elsewhere, "digits", robust(0.9), 5, other, seed=4)
    leave_run(elsewhere, "digits", robust(0.9), 6, digits, seed=0)
    message = export_results(elsewhere, elsewhere.run(names[0]), tmp_path / "results")
    assert "2 findings" in message
    assert "beside 2 with other seeds" in message
    assert published_result(tmp_path / "results" / "digits")[0]["seeds"] == dict(zip(names, values, strict=True))
    published, newest = reproduce("seeds", store, tmp_path / "results"), reproduce("seeds", elsewhere)
    for text, each in ((published, [0.2, 0.25, 0.36]), (newest, [0.9, 0.25, 0.36])):
        line = next(" ".join(line.split()) for line in text.splitlines() if line.startswith("digits"))
        assert f" {np.mean(each):.1%} {np.std(each, ddof=1):.1%} {min(each):.1%} to {max(each):.1%} 3" in line
        assert "steps" not in text


def test_a_seed_that_saw_other_data_or_another_file_of_the_team_is_no_spread(store: Store, tmp_path: Path) -> None:
    """The spread over seeds is of seeds alone: not of a night with other samples, or with another model."""
    names = [leave_run(store, "digits", robust(0.2 + seed / 10), seed, seed=seed) for seed in range(4)]
    for name, samples, model in zip(names, ("a", "b", "a", "a"), ("old", "old", "new", "old"), strict=True):
        record = store.run(name)
        record.stages = [StageRecord("ingest", "ingest", samples, False, 1.0, "", {"samples": {"digest": samples}})]
        record.ingredients = [{"name": "model.py", "sha256": model}]
        store.save_run(record)
    assert "beside 1 with other seeds" in export_results(store, store.run(names[0]), tmp_path)
    assert published_result(tmp_path / "digits")[0]["seeds"] == {names[0]: 0, names[3]: 3}


def test_a_run_that_is_published_alone_loses_the_seeds_of_the_one_before(store: Store, tmp_path: Path) -> None:
    first = leave_run(store, "digits", robust(0.2), settings={"source": {"dataset": "sample/digits"}})
    leave_run(store, "digits", robust(0.3), 1, {"source": {"dataset": "sample/digits"}}, seed=1)
    export_results(store, store.run(first), tmp_path)
    assert len(published_over_seeds(tmp_path / "digits")) == 1
    alone = leave_run(store, "digits", robust(0.2), 2, settings={"source": {"dataset": "sample/digits"}, "x": 1})
    export_results(store, store.run(alone), tmp_path)
    assert published_over_seeds(tmp_path / "digits") == ()


def test_ones_own_pipeline_over_seeds_stands_below_the_published_ones(store: Store, tmp_path: Path) -> None:
    settings = {"source": {"csv": "mine.csv"}, "subjects": [{"name": "net"}]}
    for number, (pipeline, seed) in enumerate([("mine", 0), ("mine", 1), ("alone", 0), ("alone", 0)]):
        found = [Finding("subject.accuracy", "clean", "", "net", 0.8 + seed / 10, n=9)]
        leave_run(store, pipeline, found, number, settings, seed)
    text = " ".join(reproduce("seeds", store, tmp_path).split())
    assert "mine (csv: mine.csv) accuracy clean net 90.0% 85.0% 7.1% 80.0% to 90.0% 2" in text
    assert "alone" not in text


def test_a_damaged_or_broken_run_of_another_seed_costs_itself_and_not_the_table(store: Store, tmp_path: Path) -> None:
    settings = {"source": {"csv": "mine.csv"}, "subjects": [{"name": "net"}]}
    names = [
        leave_run(store, "mine", [Finding("subject.accuracy", "clean", "", "net", value, n=9)], seed, settings, seed)
        for seed, value in enumerate((0.9, 0.8, 0.5, 0.1))
    ]
    with store.folder.writing(f"runs/{names[2]}/findings.parquet") as sink:
        sink.write(b"PAR1 not really PAR1")
    record = store.run(names[3])
    record.status = "broken"
    store.save_run(record)
    first = next(iter(Results(store, tmp_path)._results([store.run(names[0])])))
    assert [(one.seeds, one.mean) for one in first.over_seeds()] == [(2, pytest.approx(0.85))]


def test_damaged_seeds_are_one_sentence(store: Store, tmp_path: Path) -> None:
    first = leave_run(store, "digits", robust(0.2), settings={"source": {"dataset": "sample/digits"}})
    export_results(store, store.run(first), tmp_path)
    (tmp_path / "digits" / "seeds.csv").write_text("metric,of\na,b\n")
    with pytest.raises(InputError, match=r"digits is no published result .*assay export RUN --results"):
        reproduce("seeds", Store(str(tmp_path / "empty")).open(), tmp_path)
