"""Nights of a real pipeline, gated on change: the same model passes, a worse one fails, and people may accept it."""

from pathlib import Path

import pytest

from assay.flows.cli import answer
from assay.flows.report.comparison import KeptOutcomes, difference_between
from assay.flows.report.gates import judge_run
from assay.infra.storage.sweep import clean
from assay.tasks.statistics.findings import findings_of
from tests.support.direct_nights import latest, perform_night
from tests.support.team_project import team_project

ON_GOLD = "finding: subject.accuracy, of: gold, group: D5"
GATES = f"""\
    gates:
      - {{{ON_GOLD}, against: last-passed, drop_at_most: 0.02, owner: ada}}
      - {{{ON_GOLD}, against: last-passed, drop_at_most: 0.03, severity: warn}}
      - {{{ON_GOLD}, against: last-passed, drop_at_most: 0.04, for: 2 of 3 nights}}
      - {{{ON_GOLD}, against: accepted, drop_at_most: 0.02}}
"""
WORSE = 'temperature"].to_numpy() - 38.0', 'temperature"].to_numpy() - 39.2'


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[dict[str, object]]], list[str]]:
    """Three nights: the first, an identical one, one with a worse model; what their gates said, and how they ended."""
    folder = team_project(tmp_path_factory.mktemp("nights"))
    file = folder / "pipelines.yaml"
    file.write_text(file.read_text().replace("  pair:\n", GATES + "  pair:\n"))
    gates, ended = [], []
    for night in range(3):
        if night == 2:
            code = folder / "model.py"
            code.write_text(code.read_text().replace(*WORSE))
        ended.append(perform_night(folder, "night").status)
        gates.append(latest(folder, "night")[1].gates)
    return folder, gates, ended


def test_a_first_night_has_nothing_to_be_held_against(nights) -> None:
    _, gates, ended = nights
    assert [one["outcome"] for one in gates[0]] == ["passed", "passed", "passed", "inconclusive"]
    assert "nothing to compare with yet" in gates[0][0]["sentence"]
    assert "assay accept RUN --why TEXT" in gates[0][3]["sentence"]
    assert ended[0] == "done"
    first = latest(nights[0], "night")[0].runs("night")[0]
    assert {word: count for word, count in first.judged.items() if count} == {"passed": 3, "inconclusive": 1}


@pytest.mark.slow
def test_an_identical_night_never_alarms(nights) -> None:
    _, gates, ended = nights
    assert all(one["identical"] for one in gates[1][:3])
    assert ended[1] == "done"


def test_everything_that_a_night_found_is_identical_on_the_next_where_nothing_changed(nights) -> None:
    folder, _, _ = nights
    store = latest(folder, "night")[0]
    one, other = store.runs("night")[:2]
    before, after = KeptOutcomes(store, one), KeptOutcomes(store, other)
    pairs = zip(findings_of(store, one), findings_of(store, other), strict=True)
    found = {
        was.metric: difference for was, now in pairs if (difference := difference_between(before, after, was, now))
    }
    assert {"subject.accuracy", "subject.auc"} <= found.keys()  # with single outcomes, and without
    assert all(difference.identical for difference in found.values())


def test_a_worse_model_fails_the_night_warns_where_asked_and_waits_for_a_second_night(nights) -> None:
    folder, gates, ended = nights
    failed, warned, waiting, _ = gates[2]
    assert (failed["outcome"], warned["outcome"], waiting["outcome"]) == ("failed", "warned", "warned")
    assert "paired on 400 samples" in failed["sentence"]
    assert "Concerns ada." in failed["sentence"]
    page = (folder / "store" / "reports" / "index.html").read_text()
    assert f": {failed['sentence'].split(':')[0]}" in page  # of this night, not of the one before
    assert "Failed on 1 of the latest 3 nights; 2 fail the run." in waiting["sentence"]
    assert ended[2] == "gate failed"
    perform_night(folder, "night")
    again = latest(folder, "night")[1].gates[2]
    assert (again["raw"], again["outcome"]) == ("failed", "failed")


def test_compare_marks_what_fell_on_the_samples_that_both_have(
    nights, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _, _ = nights
    monkeypatch.chdir(folder)
    runs = [run.id for run in latest(folder, "night")[0].runs("night")]
    assert answer(["compare", runs[0], runs[2], "--store", str(folder / "store")]) == 0
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if "≠ subject.accuracy (subject, gold, D5)" in line)
    assert "by McNemar, n=400" in row
    assert answer(["compare", runs[0], runs[1], "--store", str(folder / "store"), "--all"]) == 0
    assert "≠" not in capsys.readouterr().out


def test_an_accepted_run_is_what_later_ones_are_held_against(
    nights, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _, _ = nights
    monkeypatch.chdir(folder)
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    perform_night(folder, "night")  # as bad as the third: what is held against it once that is accepted
    place, store = str(folder / "store"), latest(folder, "night")[0]
    runs = [run.id for run in store.runs("night")]
    assert answer(["accept", runs[0], "--why", "the first <night>", "--store", place]) == 0
    assert "accepted by ada on" in capsys.readouterr().out
    _, results = judge_run(runs[2], "pipelines.yaml", place)
    assert results[3].outcome == "failed"
    assert answer(["accept", runs[2], "--why", "new scanner", "--new-level", "--store", place]) == 0
    _, results = judge_run(runs[-1], "pipelines.yaml", place)
    assert results[3].outcome == "passed"
    index = (folder / "store" / "reports" / "index.html").read_text()
    assert "accepted by ada" in index  # the first one
    assert "new scanner" in index
    assert f"<title>Baseline: {runs[2]}, accepted as a new level by ada on" in index
    assert f"<title>{runs[2]}: subject.accuracy (" in index
    perform_night(folder, "night")
    record = latest(folder, "night")[1]
    assert record.status == "done"  # held against the new level, by the gate on what passed last as well
    assert "new scanner" in (folder / "store" / "reports" / record.id / "index.html").read_text()
    assert answer(["accept", runs[0], "--why", " ", "--store", place]) == 2
    clean(store, keep=1)
    assert {run.id for run in store.runs("night")} == {runs[2], record.id}  # accepted, and the latest, which passed


@pytest.mark.parametrize(
    ("against", "finding", "said"),
    [
        ("nosuch", ON_GOLD, 'There is no run "nosuch"'),
        ("{run}", "finding: subject.accuracy, of: gold, group: stratum 9", "There is no finding"),
    ],
)
def test_a_gate_against_what_is_not_there_is_one_sentence_with_its_line(
    nights, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], against: str, finding: str, said: str
) -> None:
    folder, _, _ = nights
    monkeypatch.chdir(folder)
    run = latest(folder, "night")[1].id
    text = (folder / "pipelines.yaml").read_text().split("    gates:\n")[0]
    named = against.replace("{run}", run)
    Path("wrong.yaml").write_text(f"{text}    gates:\n      - {{{finding}, against: {named}, drop_at_most: 0.02}}\n")
    line = len(text.splitlines()) + 2
    for command in (["gate", "night"], ["run", "night"]):
        assert answer([*command, "--config", "wrong.yaml", "--store", str(folder / "store")]) == 2
        shown = capsys.readouterr()
        assert f"wrong.yaml:{line}: gates.0.against" in shown.err + shown.out
        assert said in shown.err + shown.out
