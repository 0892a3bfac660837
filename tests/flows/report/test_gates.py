"""A budget of false alarms is shared out over every look that is due, and the page of all nights keeps its account."""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from assay.flows.configuration.loading import Project, load_project
from assay.flows.report.gates import (
    NO_BUDGET,
    Budget,
    Past,
    _decided,
    _weighed,
    accept,
    as_recorded,
    budget_in_words,
    budget_of,
    detectable_in_words,
    judge_night,
)
from assay.flows.report.gates_for_ci import gates_as_junit, gates_as_markdown
from assay.flows.yaml_document import ConfigurationError
from assay.infra import masking
from assay.infra.storage.artifacts import RunRecord, StageRecord
from assay.infra.storage.log import entries_in, log_lines
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import acceptances
from assay.tasks.reporting.gates import verdict
from assay.tasks.statistics.between_runs import Sampled, joined, right_or_wrong
from assay.tasks.statistics.e_process import confidence_sequence
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.gates import GateResult, Look
from assay.tasks.statistics.resampling import Interval
from assay.tasks.statistics.settings import Gate

CONFIG = """\
alarms: {%s}
pipelines:
  one: &one
    schedule: "0 2 * * *"
    source: {dataset: sample/breast-cancer}
    labeling: {functions: breast-cancer}
    weak_labels: {labelers: [majority]}
    ordering: {}
    subject: {model: logistic}
    gates:
      - {finding: subject.accuracy, of: gold, against: last-passed, drop_at_most: 0.02}
      - {finding: subject.accuracy, of: gold, against: accepted, drop_at_most: 0.01}
      - {finding: subject.accuracy, of: gold, at_least: 0.2}
  two:
    <<: *one
    schedule: "0 2 * * mon"
"""


def written(folder: Path, alarms: str = "false: 1, per: quarter") -> Path:
    (folder / "pipelines.yaml").write_text(CONFIG % alarms)
    return folder / "pipelines.yaml"


def without_alarms(project: Project) -> Project:
    return replace(project, settings=project.settings.model_copy(update={"alarms": None}))


def test_every_look_that_is_due_gets_its_share(tmp_path: Path) -> None:
    project = load_project(written(tmp_path))
    budget = budget_of(project)
    assert budget is not None
    nights = 365.25 / 4
    assert budget.looks == pytest.approx(2 * nights + 2 * nights / 7, rel=0.01)  # constant gates spend nothing
    assert budget.level == pytest.approx(0.5 / budget.looks)  # half is for what new samples say together
    assert budget.alarm == 10.0  # of four gates eight would do
    assert budget_of(without_alarms(project)) is None
    assert budget_of(load_project(project.file, pipeline="two")) == budget  # as a run reads it: its pipeline alone


def test_a_budget_is_never_an_excuse_to_look_less_strictly_than_usual(tmp_path: Path) -> None:
    budget = budget_of(load_project(written(tmp_path, "false: 1000")))
    assert budget is not None
    assert (budget.level, budget.alarm) == (NO_BUDGET.level, 10.0) == (0.025, 10.0)


@pytest.mark.parametrize("alarms", ["false: 0, per: quarter", "false: 1, per: night", "true: 1"])
def test_a_budget_that_cannot_be_is_refused_with_its_line(tmp_path: Path, alarms: str) -> None:
    with pytest.raises(ConfigurationError, match=r"pipelines.yaml:1"):
        load_project(written(tmp_path, alarms))


def test_the_account_counts_looks_alarms_and_what_they_spent(tmp_path: Path) -> None:
    budget = budget_of(load_project(written(tmp_path)))
    assert budget is not None
    now = datetime.now(UTC)
    looked = {"gate": "g", "outcome": "passed", "raw": "passed", "level": 0.01, "n": 400, "detectable": 0.045}
    failed = looked | {"raw": "failed", "against": "r0", "level": 0.005}
    nights = [[looked], [failed], [failed, {"gate": "constant", "raw": "failed"}], [looked | {"level": 0.0}]]
    runs = [
        RunRecord(f"r{days}", "one", (now - timedelta(days=days)).isoformat(), 0, "h", 1, status="done", gates=gates)
        for days, gates in zip((200, 20, 19, 1), nights, strict=True)
    ]
    assert budget_in_words(runs) == ""
    runs[0].budget = asdict(budget)
    said = budget_in_words(runs)
    assert "Budget: 1 false alarms a quarter" in said
    assert "looked 3 times" in said
    assert "spent 0.01 of it, and raised 1" in said  # two nights in a row against the same run
    assert detectable_in_words(runs) == [
        "Gate g: passed; where it sees least, on 400 samples, a true loss of 0.045 shows in 8 of 10 nights."
    ]
    runs[-1].budget = asdict(NO_BUDGET)
    assert budget_in_words(runs) == ""


def test_what_a_gate_sees_and_on_how_many_samples_are_of_one_finding() -> None:
    gate = Gate(finding="subject.accuracy", against="last-passed", drop_at_most=0.02)
    whole, slice_ = Look("failed", "fell", 294, False, 0.1, 0.06), Look("inconclusive", "who knows", 58, False, 0, 0.2)
    looks = [(Finding("subject.accuracy", group=name), look) for name, look in (("D5", whole), ("D1", slice_))]
    decided = _decided(gate, looks, "r1", "run r1", 0.025)
    assert (decided.sentence, decided.looked["n"], decided.looked["detectable"]) == ("fell", 58, 0.2)


def test_a_gate_on_what_was_refused_was_not_asked_and_has_not_failed(tmp_path: Path) -> None:
    record = RunRecord("2026-01-01-0000-next", "p", "2026-01-01T00:00:00+00:00", 0, "here", 1)
    past, gates = Past(Store(str(tmp_path / "store")), record), [Gate(finding="subject.accuracy", at_least=0.8)]
    findings = [Finding("ordering.auc", value=0.7)]
    assert [result.outcome for result in judge_night(gates, findings, past, NO_BUDGET)] == ["failed"]
    record.failures.append("The file was refused.")
    (result,) = results = judge_night(gates, findings, past, NO_BUDGET)
    assert (result.outcome, result.passed) == ("not asked", False)
    assert result.sentence.endswith("not asked, for The file was refused.")
    assert verdict(results)[0].text.startswith("No gate was asked; not asked: subject.accuracy")
    assert 'failures="0" errors="0" skipped="1"' in gates_as_junit(results, run="r", pipeline="p")
    assert "no gate failed" in gates_as_markdown(results, run="r", pipeline="p")


def test_no_text_of_a_gate_begins_a_line_of_its_own(tmp_path: Path) -> None:
    record = RunRecord("2026-01-01-0000-next", "p", "2026-01-01T00:00:00+00:00", 0, "here", 1)
    gate = Gate(finding="a.b", of="x\n::stop-commands::y", at_least=0.8, owner="me\n::set-output name=a::b")
    findings = [Finding("a.b", of="x\n::stop-commands::y", value=0.1)]
    for found in (findings, []):
        (result,) = judge_night([gate], found, Past(Store(str(tmp_path / "store")), record), NO_BUDGET)
        assert "\n" not in result.sentence


class OfNights:
    """A store that knows of nothing but the runs of one pipeline, none of them accepted."""

    folder = SimpleNamespace(sizes=lambda _below: {})

    def __init__(self, runs: list[RunRecord]) -> None:
        self.known = runs

    def runs(self, _pipeline: str) -> list[RunRecord]:
        return self.known


def night(day: int, model: str = "m", samples: str = "", **settings: object) -> RunRecord:
    outputs = {"result": {"kind": "SubjectFiles", "digest": model}}
    outputs |= {"samples": {"kind": "Samples", "digest": samples or f"of {day}"}}
    stage = StageRecord("train", "train", "k", False, 0.0, "", outputs)
    at = f"2026-01-{day:02d}T00:00:00+00:00"
    said = {"schedule": f"{day} * * * *", "description": f"Night {day}.", "budget": f"{day}h", **settings}
    return RunRecord(f"r{day}", "p", at, 0, "here", 1, status="done", stages=[stage], settings=said)


def record_gates(run: RunRecord, results: Sequence[GateResult]) -> None:
    """What a run's gates said, as it is written down."""
    run.settings |= {"gates": [result.gate.model_dump(mode="json") for result in results]}
    run.gates = as_recorded(results)


class OfDays:
    """Outcomes of 500 new samples every night, so many of them right."""

    right: Callable[[int], int]
    read: list[str]

    def __init__(self, _store: object, run: RunRecord) -> None:
        self.run, self.day, self.results = run, int(run.id[1:]), frozenset[tuple[str, str]]()

    def of(self, _finding: Finding) -> Sampled:
        self.read.append(self.run.id)
        right = np.arange(500) < type(self).right(self.day)
        return right_or_wrong([f"{self.day}-{sample}" for sample in range(500)], right)


class OfABank(OfDays):
    """Six nights on which an old model answers 3,000 samples, nine of ten rightly; then others on which another one
    answers 150 of them: it loses five, and of the fifteen that were wrong it gains one in `right`."""

    def of(self, _finding: Finding) -> Sampled:
        at = np.arange(500) + 500 * (self.day - 1) if self.day <= 6 else np.arange(150) + 150 * (self.day - 7)
        right = at % 10 != 0
        if self.day > 6:
            right &= (at % 10 != 5) | (at // 10 % 3 != 0)
            right |= (at % 10 == 0) & (at // 10 % type(self).right(self.day) == 0)
        return right_or_wrong([f"of the bank {sample}" for sample in at], right)


def judged(
    monkeypatch: pytest.MonkeyPatch,
    runs: list[RunRecord],
    right: Callable[[int], int],
    best: int = 0,
    outcomes: type[OfDays] = OfDays,
) -> list[str]:
    """What a gate says of every night from the second on, each held against the latest that passed, or the best."""
    kept = type("Kept", (outcomes,), {"right": staticmethod(right), "read": []})
    monkeypatch.setattr("assay.flows.report.gates.KeptOutcomes", kept)
    monkeypatch.setattr(
        "assay.flows.report.gates.PooledOutcomes.of",
        lambda pool, finding: joined([kept(None, run).of(finding) for run in (pool.record, *pool.others)]),
    )
    monkeypatch.setattr("assay.flows.report.gates.findings_of", lambda _store, _run: [Finding("a.b", value=0.9)])
    monkeypatch.setattr(
        "assay.flows.report.gates.acceptances",
        lambda _store, _pipeline: [{"run": f"r{best}", "at": runs[best - 1].started}],
    )
    gate = Gate(finding="a.b", against="accepted" if best else "last-passed", drop_at_most=0.0)
    store, said = OfNights(runs), []
    store.record = lambda name: next(run for run in runs if run.id == name)  # type: ignore[attr-defined]
    for run in runs[max(1, best) :]:
        past = Past(cast(Store, store), run)
        (result,) = judge_night([gate], [Finding("a.b", value=0.9)], past, Budget(1, "quarter", 1092, 12))
        record_gates(run, [result])
        run.status = "done" if result.passed else "gate failed"
        said.append(f"{result.outcome}: {result.sentence}")
    return said


def test_a_worse_model_is_red_on_every_night_although_its_samples_are_new(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [night(day, "old" if day <= 10 else "new") for day in range(1, 16)]
    said = judged(monkeypatch, runs, lambda day: 450 if day <= 10 else 375)
    assert [line.split(":")[0] for line in said] == ["inconclusive"] * 9 + ["failed"] * 5
    assert all("and 9 nights like it" in line for line in said[9:])


def test_the_best_night_of_ten_is_held_against_a_new_model_together_with_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = [night(day, "old" if day <= 10 else "new") for day in range(1, 16)]
    said = judged(monkeypatch, runs, lambda day: 470 if day == 10 else 435 if day <= 10 else 432, best=10)
    assert not any(line.startswith("failed") for line in said)  # alone, 470 to 432 is p < .00001
    assert "and 9 nights like it" in said[0]
    runs = [night(day, "old" if day <= 10 else "new") for day in range(1, 16)]
    runs[9].status = "gate failed"  # accepted all the same: what was before it was another level
    said = judged(monkeypatch, runs, lambda day: 470 if day == 10 else 435 if day <= 10 else 432, best=10)
    assert said[0].startswith("failed")


def test_a_new_model_of_which_the_gate_cannot_tell_is_held_against_the_old_one_until_it_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = [night(day, "old" if day <= 10 else "new") for day in range(1, 16)]
    said = judged(monkeypatch, runs, lambda day: 450 if day <= 10 else 440)
    assert all(line.startswith("inconclusive") for line in said)
    assert all("against run r10 and 9 nights like it" in line for line in said[9:])
    runs = [night(day, "old" if day <= 10 else "new") for day in range(1, 16)]
    said = judged(monkeypatch, runs, lambda day: 450 if day <= 10 else 490)
    assert "against run r10 and 9 nights like it" in said[9]
    assert "against run r11 " in said[10]  # it passed


def test_what_an_earlier_model_answered_as_well_speaks_over_nights(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [night(day, "old" if day <= 6 else "new") for day in range(1, 22)]
    said = judged(monkeypatch, runs, lambda _day: 7, outcomes=OfABank)  # of 150, 5 lost and 2 gained
    assert all(line.startswith("inconclusive") for line in said[:9])
    assert "and those that the earlier model answered as well, speak against it" in said[9]
    assert said[-1].startswith("failed")
    runs = [night(day, "old" if day <= 6 else "new") for day in range(1, 22)]
    said = judged(monkeypatch, runs, lambda _day: 3, outcomes=OfABank)  # as many gained as lost
    assert not any(line.startswith("failed") for line in said)
    runs = [night(day, "old" if day <= 6 else f"model {day}") for day in range(1, 22)]
    said = judged(monkeypatch, runs, lambda _day: 7, outcomes=OfABank)  # another one every night
    assert not any(line.startswith("failed") for line in said)


def test_no_secret_in_a_reason_to_accept_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_spellings", ())
    masking.register("HOSPITAL_TOKEN", "hunter2-and-more")
    store, record = Store(str(tmp_path)).open(), night(1, "old")
    acceptance = accept(store, record, " hunter2-and-more was used ")
    assert acceptance["why"] == "${HOSPITAL_TOKEN} was used"
    (written_down,) = acceptances(store, record.pipeline)
    (logged,) = entries_in(log_lines(store))
    assert (written_down["why"], logged["why"]) == (acceptance["why"],) * 2
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"hunter2" in file.read_bytes()]


def test_a_container_whose_user_has_no_name_may_accept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr("getpass.getuser", nameless)
    acceptance = accept(Store(str(tmp_path)).open(), night(1), "first level")
    assert acceptance["by"] == f"uid {os.getuid()}"


def test_no_night_before_a_new_level_is_like_it(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [night(day, "old" if day <= 12 else "new") for day in range(1, 14)]
    acceptance = {"run": "r10", "at": runs[9].started}
    monkeypatch.setattr("assay.flows.report.gates.acceptances", lambda *_: [acceptance])
    gate = Gate(finding="a.b", against="accepted", drop_at_most=0.0)
    past = Past(cast(Store, OfNights(runs)), runs[-1])
    assert [run.id for run in past.pool(gate, runs[9])] == ["r12", "r11", *(f"r{day}" for day in range(9, 0, -1))]
    acceptance["level"] = "new"
    assert [run.id for run in past.pool(gate, runs[9])] == ["r12", "r11"]


def test_a_new_level_that_did_not_pass_is_what_last_passed_means_until_a_night_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = [night(day) for day in range(1, 5)]
    runs[1].status = runs[2].status = "gate failed"
    acceptance = {"run": "r2", "at": runs[1].started}
    monkeypatch.setattr("assay.flows.report.gates.acceptances", lambda *_: [acceptance])
    monkeypatch.setattr("assay.flows.report.gates.findings_of", lambda *_: [Finding("a.b", value=0.9)])
    gate = Gate(finding="a.b", against="last-passed", drop_at_most=0.0)

    def held_against() -> str | None:
        baseline = Past(cast(Store, OfNights(runs)), runs[3]).baseline(gate)
        return None if baseline is None else baseline[0].id

    assert held_against() == "r1"
    acceptance["level"] = "new"
    assert held_against() == "r2"
    runs[2].status = "done"
    assert held_against() == "r3"


def test_all_nights_of_a_model_come_to_a_mean_with_an_interval_that_holds_on_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = type("Kept", (OfDays,), {"right": staticmethod(lambda _day: 450), "read": []})
    monkeypatch.setattr("assay.flows.report.gates.KeptOutcomes", kept)
    finding = Finding("a.b", value=0.9)

    def so_far(runs: list[RunRecord]) -> dict[tuple[str, str, str, str], Interval]:
        return Past(cast(Store, OfNights(runs)), runs[-1]).sequences([finding])

    fresh = so_far([night(1, "older"), *(night(day) for day in range(2, 12))])
    assert fresh == {finding.key: confidence_sequence(4500, 5000)}
    kept.read.clear()
    assert so_far([night(day, samples="same") for day in range(1, 12)]) == {}
    assert kept.read == []  # nothing is new where the samples are the same: nothing is read
    assert so_far([night(1), night(2, samples="of 1"), night(3)])[finding.key].value == pytest.approx(0.9)
    assert kept.read == ["r1", "r3"]


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[RunRecord]], float | None]:
    """What a gate makes of nights of 500 new samples each: 90 % right, and from the 21st on 80 %."""

    class Outcomes:
        def __init__(self, _store: object, run: RunRecord) -> None:
            self.day = int(run.id[1:])

        def of(self, _finding: Finding) -> Sampled:
            right = np.arange(500) < (400 if self.day > 20 else 450)
            return right_or_wrong([f"{self.day}-{sample}" for sample in range(500)], right)

    monkeypatch.setattr("assay.flows.report.gates.KeptOutcomes", Outcomes)
    gate = Gate(finding="a.b", against="last-passed", drop_at_most=0.0)

    def evidence_of(runs: list[RunRecord]) -> float | None:
        past = Past(cast(Store, OfNights(runs)), runs[-1])
        return past.evidence(gate, Finding("a.b", value=0.9), Budget(1, "quarter", 1092, 12))

    return evidence_of


def test_new_samples_of_many_nights_speak_together(fresh: Callable[[list[RunRecord]], float | None]) -> None:
    same, worse = (fresh([night(day) for day in range(1, last)]) for last in (20, 25))
    assert same is not None
    assert worse is not None
    assert same < 1 < 24 < worse


def test_another_model_or_other_settings_begin_anew(fresh: Callable[[list[RunRecord]], float | None]) -> None:
    nights = [night(day) for day in range(1, 25)]
    assert fresh([*nights[:20], *(night(day, "other") for day in range(21, 25))]) == pytest.approx(1.0, abs=0.1)
    assert fresh([*nights[:20], *(night(day, limit=5) for day in range(21, 25))]) == pytest.approx(1.0, abs=0.1)
    assert fresh([*nights[:20], night(21, "other")]) is None


def test_a_night_of_samples_in_groups_takes_the_nights_before_it_from_the_evidence(
    fresh: Callable[[list[RunRecord]], float | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [night(day) for day in range(1, 25)]
    assert fresh(runs) is not None
    from assay.flows.report import gates

    class Grouped(gates.KeptOutcomes):  # type: ignore[misc]
        def of(self, finding: Finding) -> Sampled:
            sampled = super().of(finding)
            assert sampled is not None
            return replace(sampled, groups=np.arange(len(sampled.ids))) if self.day == 24 else sampled  # type: ignore[attr-defined]

    monkeypatch.setattr("assay.flows.report.gates.KeptOutcomes", Grouped)
    assert fresh(runs) is None


@pytest.mark.parametrize(
    ("models", "share"),
    [("old new new", 1 / 2), ("old new newer", 1 / 4), ("old new old new", 1 / 4), ("old new old new old new", 1 / 8)],
)
def test_a_model_that_comes_back_bets_what_is_left(models: str, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [night(day, model) for day, model in enumerate(models.split(), start=1)]
    past = Past(cast(Store, OfNights(runs)), runs[-1])
    monkeypatch.setattr(Past, "evidence", lambda *_: None)
    monkeypatch.setattr(Past, "paired_evidence", lambda *_: 9.0)
    gate = Gate(finding="a.b", against="last-passed", drop_at_most=0.0)
    said, pairs = past.all_evidence(gate, Finding("a.b", value=0.9), None, runs[0], Budget(1, "quarter", 1092, 12))
    assert pairs
    assert said == pytest.approx(share * 9 + (1 - share))


def test_failures_count_against_the_same_baseline_only_and_what_cannot_be_told_counts_where_it_fails() -> None:
    gate = Gate.model_validate(
        {"finding": "a.b", "against": "accepted", "drop_at_most": 0, "for": "2 of 3 nights", "inconclusive": "fail"}
    )
    runs = [night(1), night(2), night(3)]
    record_gates(runs[0], [GateResult(gate, False, "", looked={"raw": "failed", "against": "older"})])
    record_gates(runs[1], [GateResult(gate, True, "", looked={"raw": "inconclusive", "against": "r0"})])
    past = Past(cast(Store, OfNights(runs)), runs[2])
    assert past.failures(gate, 2, "r0") == 1
    untold = GateResult(gate, True, "Too few.", looked={"raw": "inconclusive", "against": "r0"})
    assert _weighed(untold, past).outcome == "failed"
    assert _weighed(replace(untold, looked={"raw": "inconclusive", "against": "new"}), past).outcome == "warned"
    warns = replace(untold, gate=gate.model_copy(update={"severity": "warn"}))
    assert (_weighed(warns, past).outcome, _weighed(warns, past).passed) == ("warned", True)


def test_of_two_gates_with_one_bound_a_night_counts_once() -> None:
    asked = {"finding": "a.b", "against": "accepted", "drop_at_most": 0.02}
    waits = Gate.model_validate(asked | {"for": "3 of 5 nights"})
    warns = Gate.model_validate(asked | {"severity": "warn"})
    runs = [night(1), night(2)]
    failed = {"raw": "failed", "against": "r0"}
    record_gates(runs[0], [GateResult(gate, True, "", looked=failed) for gate in (warns, waits)])
    assert Past(cast(Store, OfNights(runs)), runs[1]).failures(waits, 4, "r0") == 1


def test_a_gate_whose_bound_is_edited_keeps_its_past_and_takes_no_other_gates() -> None:
    asked = {"finding": "a.b", "against": "last-passed"}
    warns, fails = (Gate.model_validate(asked | {"drop_at_most": bound}) for bound in (0.01, 0.05))
    runs = [night(1), night(2)]
    seen = ((warns, "failed"), (fails, "passed"))
    record_gates(runs[0], [GateResult(gate, True, "", looked={"raw": raw, "against": "r0"}) for gate, raw in seen])
    wider, rise = warns.model_copy(update={"drop_at_most": 0.02}), Gate(**asked, rise_at_most=0.01)
    past = Past(cast(Store, OfNights(runs)), runs[1], [wider, fails, rise])
    assert [past.failures(gate, 1, "r0") for gate in (wider, fails, rise)] == [1, 0, 0]


def test_a_trial_is_no_level_for_nights_to_hold() -> None:
    runs = [night(1), night(2), night(3), night(4)]
    runs[1].overrides = runs[3].overrides = ["gates"]
    store = cast(Store, OfNights(runs))
    assert [run.id for run in Past(store, runs[2]).nights] == ["r1"]
    assert [run.id for run in Past(store, runs[3]).nights] == ["r3", "r2", "r1"]  # a trial is held against both


def test_a_gate_whose_slices_are_others_now_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.flows.report.gates.findings_of", lambda *_: [Finding("a.b", of="before", value=0.9)])
    past = Past(cast(Store, OfNights([night(1), night(2)])), night(2))
    gate = Gate(finding="a.b", against="last-passed", drop_at_most=0.0)
    (result,) = judge_night([gate], [Finding("a.b", of="now", value=0.9)], past, NO_BUDGET)
    assert (result.outcome, "from run r1" in result.sentence) == ("inconclusive", True)


def test_a_run_may_be_accepted_while_another_is_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [night(1, "old"), night(2, "new"), night(3, "old")]
    accepted = [{"run": "r2", "at": "2026-01-04T00:00:00+00:00"}]
    monkeypatch.setattr("assay.flows.report.gates.acceptances", lambda *_: accepted)
    gate = Gate(finding="a.b", against="accepted", drop_at_most=0.0)
    past = Past(cast(Store, OfNights(runs)), runs[2])
    assert past.unchanged(gate) == [runs[2]]
    assert past.evidence(gate, Finding("a.b", value=0.9), NO_BUDGET) is None


def test_nights_of_other_rules_are_not_like_a_baseline() -> None:
    runs = [night(day, "old" if day < 5 else "new") for day in range(1, 6)]
    for run, rules in zip(runs, "aabbb", strict=True):
        run.ingredients = [{"name": "rules.py", "sha256": rules, "what": "code", "of": "rules.py"}]
    gate = Gate(finding="a.b", against="last-passed", drop_at_most=0.0)
    assert [run.id for run in Past(cast(Store, OfNights(runs)), runs[4]).pool(gate, runs[3])] == ["r3"]


def test_of_several_findings_it_is_said_that_they_were_held_against_a_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [night(day, "old" if day < 10 else "new") for day in range(1, 11)]
    kept = type("Kept", (OfDays,), {"right": staticmethod(lambda _day: 450), "read": []})
    monkeypatch.setattr("assay.flows.report.gates.KeptOutcomes", kept)
    monkeypatch.setattr(
        "assay.flows.report.gates.PooledOutcomes.of",
        lambda pool, finding: joined([kept(None, run).of(finding) for run in (pool.record, *pool.others)]),
    )
    both = [Finding("a.b", of=of, value=0.9) for of in ("x", "y")]
    monkeypatch.setattr("assay.flows.report.gates.findings_of", lambda *_: both)
    gate = Gate(finding="a.b", against="last-passed", drop_at_most=0.1)
    (result,) = judge_night([gate], both, Past(cast(Store, OfNights(runs)), runs[-1]), NO_BUDGET)
    assert result.sentence.endswith("none of 2 findings changed by more against run r9 and 8 nights like it.")
