"""What `assay init` makes of real tables, and of what made its audits useless: each as a team has it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets
from statsmodels.datasets import anes96, fair, grunfeld, randhie, spector

from assay.flows.starting.column_roles import Answers, Question
from assay.flows.starting.first_audit import Wanted, proposal_for
from assay.flows.starting.proposal import Proposal
from assay.infra.errors import InputError


def proposed(folder: Path, table: pd.DataFrame, **said: str) -> Proposal:
    """What is proposed for a table, where nobody answers."""
    table.to_csv(folder / "table.csv", index=False)
    return proposal_for(Wanted(str(folder / "table.csv"), folder / "audit", "table", Answers(**said)), refuse)


def refuse(question: Question) -> str:
    """Nobody can be asked."""
    raise InputError(question.refusal())


def rules_of(proposal: Proposal) -> set[str]:
    """What the rules look at."""
    return {column for rule in proposal.rules.rules for column in rule.rule.columns}


def line(proposal: Proposal, key: str) -> object:
    """What a key of the pipeline says."""
    return next((one.value for one in proposal.lines if one.key == key), None)


def people(rows: int = 600, rare: float = 0.3) -> pd.DataFrame:
    """Three visits of each of 200 people, on days; what came after tells whether the visitor is ill."""
    draw, who = np.random.default_rng(5), np.arange(rows) // 3
    ill = draw.random(rows) < rare
    return pd.DataFrame(
        {
            "counted": np.arange(rows) + 7,
            "member": who * 17 % 1009,
            "sex": np.where(who % 2 == 0, "f", "m"),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(draw.integers(0, 300, rows), unit="D"),
            "temperature": draw.normal(np.where(ill, 38.5, 37.0), 0.6).round(2),
            "days_in_hospital": np.where(ill, draw.integers(2, 9, rows), 0),
            "state": np.where(ill, 2.0, 1.0),
        }
    )


def test_what_gives_the_answer_away_is_in_no_feature_and_no_rule(tmp_path: Path) -> None:
    found = proposed(tmp_path, people(), label="state")
    assert found.roles.give_away == ("days_in_hospital",)
    assert rules_of(found) <= {"temperature", "sex"}
    assert line(found, "subjects")[0]["features"] == ["temperature"]  # type: ignore[index]
    assert any("days_in_hospital (each tells the classes by itself" in remark for remark in found.seen)


def test_people_who_come_again_are_a_group_and_days_part_what_trains_where_they_part_people(tmp_path: Path) -> None:
    again = proposed(tmp_path, people(), label="state")
    assert again.roles.group == "member"  # called nothing that is known: it fixes the sex
    assert line(again, "evaluation") is None  # most are there before any day and after it
    assert not any(remark.startswith("Dates in") for remark in again.seen)
    once = people()
    once["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(once["member"].rank(method="dense"), unit="D")
    found = proposed(tmp_path, once, label="state")
    assert found.roles.suspects == ("counted",)
    assert line(found, "source")["classes"] == ["1", "2"]  # type: ignore[index]
    evaluation = line(found, "evaluation")
    assert isinstance(evaluation, dict)
    assert evaluation["column"] == "day"
    assert "2026-05" < str(evaluation["since"]) < "2026-10"
    assert any(gate.value["finding"] == "subject.balanced_accuracy" for gate in found.gates)  # type: ignore[index]


@pytest.mark.parametrize(("every", "says"), [(10, "60 rows"), (600, "1 row")])
def test_labels_that_are_missing_are_counted(tmp_path: Path, every: int, says: str) -> None:
    table = people()
    table.loc[::every, "state"] = np.nan
    found = proposed(tmp_path, table, label="state")
    assert any(remark.endswith(f"; without a label, judging nothing: {says}") for remark in found.seen)


def test_no_rule_is_proposed_that_one_answer_beats(tmp_path: Path) -> None:
    draw = np.random.default_rng(2)
    rare = draw.random(3000) < 0.015
    table = pd.DataFrame(
        {"x": draw.normal(rare * 0.7), "z": draw.normal(size=3000), "label": np.where(rare, "yes", "no")}
    )
    found = proposed(tmp_path, table)
    assert not found.rules.rules
    assert any(remark.startswith("No rule is proposed") for remark in found.seen)
    assert {one.key for one in found.lines} == {"source", "subjects"}


@pytest.mark.parametrize(
    ("load", "label", "says"),
    [
        (lambda: fair.load_pandas().data, "affairs", r"affairs holds numbers .*df\['high'\] = df\['affairs'\] > 0\)"),
        (lambda: randhie.load_pandas().data, "mdvis", "mdvis holds numbers"),
        (lambda: datasets.load_diabetes(as_frame=True).frame, None, "target holds numbers"),
    ],
)
def test_of_a_target_of_numbers_it_says_what_can_be_audited(
    tmp_path: Path, load: Callable[[], pd.DataFrame], label: str | None, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        proposed(tmp_path, load(), **({} if label is None else {"label": label}))


@pytest.mark.parametrize(
    ("load", "label"),
    [
        (lambda: datasets.load_iris(as_frame=True).frame, "target"),
        (lambda: datasets.load_wine(as_frame=True).frame, "target"),
        (lambda: datasets.load_breast_cancer(as_frame=True).frame, "target"),
        (lambda: anes96.load_pandas().data, "vote"),
        (lambda: spector.load_pandas().data.rename(columns={"GRADE": "passed"}), "passed"),
    ],
)
def test_of_real_tables_every_rule_beats_one_answer(
    tmp_path: Path, load: Callable[[], pd.DataFrame], label: str
) -> None:
    table = load()
    found = proposed(tmp_path, table, label=label)
    assert f"One answer for all is right on {table[label].value_counts(normalize=True).max():.1%}" in found.seen
    assert label not in (*found.roles.numbers, *found.roles.words, *rules_of(found))
    for rule in found.rules.rules:
        right = int(rule.how.split("other half ")[1].split("%")[0])
        assert right > 50, rule
    assert not found.rules.rules or len({rule.rule.vote for rule in found.rules.rules}) > 1


def test_a_wide_table_with_notes_has_a_model_of_each(tmp_path: Path) -> None:
    draw, table = np.random.default_rng(1), people(rows=300)
    ill = table.pop("state") == 2.0
    for at in range(40):
        table[f"lab_{at}"] = draw.normal(ill * (at % 5 == 0))
    said = np.where(
        ill, "shivers all day and wants to sleep and nothing else", "is up and about and asks to go home today"
    )
    table["note"] = [f"{words} number {at}" for at, words in enumerate(said)]
    table["diagnosis"] = np.where(ill, "ill", "well")
    found = proposed(tmp_path, table)
    subjects = line(found, "subjects")
    assert isinstance(subjects, list)
    assert [one["name"] for one in subjects] == ["small-bert", "logistic"]
    assert len(subjects[1]["features"]) == 41
    assert "note" in rules_of(found)


def panel(**named: object) -> pd.DataFrame:
    """Forty units in five years each, whose label follows what was measured."""
    draw = np.random.default_rng(3)
    measured = draw.normal(size=200).round(3)
    label = np.where(measured + draw.normal(size=200) > 0, "high", "low")
    return pd.DataFrame({**named, "measured": measured, "year": np.tile(range(2001, 2006), 40), "label": label})


UNITS = np.random.default_rng(4).permutation(900)[:40]


@pytest.mark.parametrize(
    ("columns", "group"),
    [
        ({"hhid": np.repeat(UNITS, 5)}, "hhid"),
        ({"xq": np.repeat(UNITS, 5)}, "xq"),  # by its equal blocks alone
        ({"id": np.tile(UNITS, 5)}, "id"),
        ({"state": np.repeat(UNITS, 5), "countyfips": np.random.default_rng(1).integers(0, 60, 200)}, "state"),
        ({"firm": np.tile(UNITS, 5), "product_id": np.random.default_rng(1).integers(0, 60, 200)}, "firm"),
        ({"dcode": np.random.default_rng(1).integers(0, 60, 200)}, None),
    ],
)
def test_ids_that_repeat_are_a_group_and_neither_features_nor_rules(
    tmp_path: Path, columns: dict[str, object], group: str | None
) -> None:
    found = proposed(tmp_path, panel(**columns), label="label")
    assert found.roles.group == group
    assert set(found.roles.suspects) == set(columns) - {group}
    assert not {*found.roles.numbers, *rules_of(found)} & set(columns)
    assert line(found, "subjects")[0]["features"] == ["measured", "year"]  # type: ignore[index]


@pytest.mark.parametrize("name", ["lipid", "MPG.city", "karno", "sodium", "age"])
def test_what_is_measured_is_no_id_though_it_is_called_nearly_so(tmp_path: Path, name: str) -> None:
    found = proposed(tmp_path, panel(**{name: np.random.default_rng(1).integers(0, 60, 200)}), label="label")
    assert (found.roles.group, name in found.roles.numbers) == (None, True)


def test_firms_of_a_real_panel_are_its_group(tmp_path: Path) -> None:
    table = grunfeld.load_pandas().data
    table["label"] = np.where(table.pop("invest") > 60, "much", "little")
    found = proposed(tmp_path, table)
    assert (found.roles.group, found.roles.label) == ("firm", "label")


def test_a_column_beyond_all_measure_is_looked_at_all_the_same(tmp_path: Path) -> None:
    found = proposed(tmp_path, panel(x=np.where(np.arange(200) % 2, 1e308, -1.7e308)), label="label")
    assert "measured" in found.roles.numbers
