"""Tables 1-4 of Xu et al. are printed in their layout, with what was measured beneath and what was not said so."""

from __future__ import annotations

from pathlib import Path

import pytest
from finished_runs import leave_run
from repository import ROOT

from assay.data.published import XU_CONDITIONS, XU_TABLE_1, XU_TABLE_2, XU_TABLE_3, XU_TABLE_4
from assay.flows.cli import answer
from assay.flows.configuration.loading import load_project
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import Finding


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store")).open()


def printed(store: Store, table: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert answer(["reproduce", table, "--store", store.url]) == 0
    return capsys.readouterr().out


def cells(line: str) -> list[str]:
    return [cell for cell in line.strip().split("  ") if cell.strip()]


def rows(text: str) -> list[list[str]]:
    """The cells of the table's lines, the heading first."""
    lines = text.splitlines()[2:]
    return [[cell.strip() for cell in cells(line)] for line in lines[: lines.index("")]]


def attacked(subject: str) -> list[Finding]:
    """Made-up findings for every cell of a table of attacks: each place has a value of its own."""
    found = []
    for place, (of, group, images) in enumerate(XU_CONDITIONS):
        stage = "subject" if of == "clean" else "attack"
        full = group + (", training" if images == "X" else "")
        for metric, start in (("accuracy", 0.9), ("auc", 0.8), ("fooling_rate", 0.0)):
            if (stage, metric) != ("subject", "fooling_rate"):
                value = start + place / (100 if metric == "fooling_rate" else -100)
                found.append(Finding(f"{stage}.{metric}", of, full, subject, value, n=75))
    return found


@pytest.mark.parametrize(("table", "published"), [("xu-1", XU_TABLE_1), ("xu-2", XU_TABLE_2)])
def test_tables_of_attacks_put_our_numbers_beneath_theirs(
    store: Store, capsys: pytest.CaptureFixture[str], table: str, published: tuple[object, ...]
) -> None:
    first = published[0]
    run = leave_run(store, first.pipeline, attacked(first.subject))
    text = printed(store, table, capsys)
    head, *body = rows(text)
    assert head == ["model", "clean", "PGD 2/255", "PGD 4/255", "GAP 7 X", "GAP 7 val", "GAP 11 X", "GAP 11 val"]
    assert body[0][:3] == [first.model, "ACC", "paper"]
    assert body[1] == ["ours", "90.0%", "89.0%", "88.0%", "87.0%", "86.0%", "85.0%", "84.0%"]
    assert body[3] == ["ours", "0.800", "0.790", "0.780", "0.770", "0.760", "0.750", "0.740"]
    assert body[5] == ["ours", "–", "1.0%", "2.0%", "3.0%", "4.0%", "5.0%", "6.0%"]
    assert f"  {first.model}: run {run}, n = 75" in text.splitlines()


def test_the_papers_own_numbers_are_those_of_the_paper(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(store, "xu-1", capsys)
    assert rows(text)[1] == [
        "IPMI2019-AttnMel",
        "ACC",
        "paper",
        "87.5%",
        "10.8%",
        "0.0%",
        "31.1%",
        "30.1%",
        "21.7%",
        "21.9%",
    ]
    assert rows(printed(store, "xu-2", capsys))[2] == [
        "CheXNet",
        "AUC",
        "paper",
        "0.807",
        "0.562",
        "0.308",
        "0.798",
        "0.736",
        "0.729",
        "0.748",
    ]


def test_a_table_without_any_run_says_how_to_make_them(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(store, "xu-1", capsys)
    assert "ours" not in [cell for row in rows(text) for cell in row]
    assert "Ours come from" not in text
    assert "  IPMI2019-AttnMel: no run yet; make one with  assay run lesions" in text.splitlines()
    assert "  Inception_v3: no run yet; make one with  assay run fundus" in text.splitlines()


def test_a_cell_that_was_not_measured_is_a_dash(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    some = [one for one in attacked("attnmel") if one.of not in ("xu-pgd-4", "xu-gap-11")]
    leave_run(store, "lesions", some)
    assert rows(printed(store, "xu-1", capsys))[2] == ["ours", "90.0%", "89.0%", "–", "87.0%", "86.0%", "–", "–"]


def test_table_3_gives_flips_with_their_interval(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    flips = Finding("corruption.flip_probability", "mean", "all", "chexnet", 0.0421, 0.04, 0.0455, 120)
    run = leave_run(store, "chest", [flips])
    text = printed(store, "xu-3", capsys)
    assert rows(text) == [
        ["model", "paper", "ours"],
        ["IPMI2019-AttnMel", "9.52%", "not measured"],
        ["Inception_v3", "12.36%", "not measured"],
        ["CheXNet", "38.09%", "4.21% [4.00, 4.55]"],
    ]
    assert f"  CheXNet: run {run}, n = 120" in text.splitlines()
    assert text.count("no run yet") == 2


def six(attacked: dict[str, float], relative: dict[str, float]) -> list[Finding]:
    found = []
    for row in XU_TABLE_4:
        of = {"subject": row.subject, "n": 100}
        under = attacked.get(row.subject, 0.5)
        found += [
            Finding("subject.accuracy", "clean", "", value=0.9, low=0.82, high=0.95, **of),
            Finding("attack.accuracy", "xu-pgd-4", "eps=4/255", value=under, low=0.4, high=0.6, **of),
            Finding("corruption.flip_probability", "mean", "all", value=0.02, low=0.01, high=0.03, **of),
        ]
        if row.subject != "attnmel":
            value = relative.get(row.subject, 0.5)
            found.append(
                Finding("corruption.relative_flip_probability", "mean", "all", value=value, low=0.0, high=2.0, **of)
            )
    return found


@pytest.mark.parametrize(
    ("accuracies", "flips", "falls", "rises"),
    [((0.4, 0.3, 0.2), (0.1, 0.2, 0.5), "yes", "yes"), ((0.4, 0.4, 0.2), (0.5, 0.2, 0.6), "no", "no")],
)
def test_table_4_says_whether_the_papers_trend_shows(
    store: Store,
    capsys: pytest.CaptureFixture[str],
    accuracies: tuple[float, ...],
    flips: tuple[float, ...],
    falls: str,
    rises: str,
) -> None:
    names = ("resnet50", "resnet101", "resnet152")
    run = leave_run(store, "lesions-depth", six(*(dict(zip(names, one, strict=True)) for one in (accuracies, flips))))
    text = printed(store, "xu-4", capsys)
    head, *body = rows(text)
    assert head == ["model", "Ori_ACC", "ours", "Adv_ACC", "ours", "RFP", "ours"]
    assert [row[0] for row in body] == [row.model for row in XU_TABLE_4]
    assert body[0][1:] == [
        "87.50%",
        "90.00% [82.00, 95.00]",
        "0.00%",
        "50.00% [40.00, 60.00]",
        "1.00",
        "1 (the reference)",
    ]
    assert body[2][-1] == f"{flips[0]:.2f} [0.00, 2.00]"
    attacked, relative = (", ".join(f"{one:.3f}" for one in numbers) for numbers in (accuracies, flips))
    assert f"  Here accuracy under attack falls with depth: {falls} ({attacked})." in text.splitlines()
    assert f"  Here RFP rises with depth: {rises} ({relative})." in text.splitlines()
    assert f"  all six: run {run}, n = 100" in text.splitlines()


def test_table_4_without_a_run_is_the_papers_alone(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(store, "xu-4", capsys)
    assert {cell for row in rows(text)[1:] for cell in row[2::2]} == {"not measured"}
    assert "  all six: no run yet; make one with  assay run lesions-depth" in text.splitlines()
    assert "Here " not in text


def test_a_trend_needs_all_three_depths(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    leave_run(store, "lesions-depth", [one for one in six({}, {}) if one.subject != "resnet101"])
    assert "with depth" not in printed(store, "xu-4", capsys)


def test_the_latest_run_is_shown(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    for number, value in enumerate((0.05, 0.07)):
        flips = Finding("corruption.flip_probability", "mean", "all", "attnmel", value, value, value, 9)
        leave_run(store, "lesions", [flips], number)
    text = printed(store, "xu-3", capsys)
    assert "7.00%" in text
    assert "5.00%" not in text


def test_our_own_pipelines_measure_what_the_tables_look_for() -> None:
    """A subject or an attack renamed in pipelines.yaml would leave a table empty without a word."""
    pipelines = load_project(ROOT / "pipelines.yaml").pipelines
    wanted = {of for of, _, _ in XU_CONDITIONS} - {"clean"}
    for row in (*XU_TABLE_1, *XU_TABLE_2, *XU_TABLE_3):
        pipeline = pipelines[row.pipeline]
        assert row.subject in [one.name for one in pipeline.subjects]
        assert wanted <= {one.called for one in pipeline.attacks}
        assert pipeline.corruptions is not None
    depth = pipelines["lesions-depth"]
    assert [one.name for one in depth.subjects] == [row.subject for row in XU_TABLE_4]
    assert "xu-pgd-4" in [one.called for one in depth.attacks]
    assert depth.corruptions is not None
    assert depth.corruptions.reference == "attnmel"
    assert all(
        (of, group) in {(one.called, f"eps={one.eps[0] * 255:.0f}/255") for one in pipelines["chest"].attacks}
        for of, group, _ in XU_CONDITIONS
        if of != "clean"
    )


def test_table_5_sets_ours_from_both_starts_beside_the_papers(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    found = [
        Finding("defense.accuracy", of, group, "attnmel", value, value - 0.1, value + 0.1, 300, verdict=said)
        for of, group, value, said in (
            ("none", "clean", 0.9, ""),
            ("none", "eps=4/255", 0.1, ""),
            ("standard-subject", "eps=4/255", 0.6, ""),
            ("standard-scratch", "eps=4/255", 0.8, "degenerate: 100.0% of samples are called benign"),
        )
    ]
    run = leave_run(store, "lesions-defended", found)
    text = printed(store, "xu-5", capsys)
    head, *body = rows(text)
    assert head == ["model", "accuracy", "paper", "ours", "from scratch"]
    ours = {row[1]: row[2:] for row in body if row[0] == "IPMI2019-AttnMel"}
    assert ours["None"] == ["87.5%", "90.0% [80.0, 100.0]"]
    assert ours["Attack"] == ["0.0%", "10.0% [0.0, 20.0]"]
    assert ours["Standard"] == ["80.2%", "60.0% [50.0, 70.0]", "80.0% [70.0, 90.0]"]
    assert [row[2:] for row in body if row[:2] == ["CheXNet", "MAAdvT"]] == [["–", "–", "–"]]
    assert f"  IPMI2019-AttnMel: run {run}, n = 300" in text.splitlines()
    assert "  Degenerate here: attnmel+standard-scratch (100.0% of samples are called benign)." in text.splitlines()
