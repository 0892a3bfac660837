"""The sentences on attacks, corruptions, trust, overfitting, slices and hardness keep what must not change (samples in
another order, repeated within groups, classes renamed) and change what must: nothing is trained, findings are built."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from assay.flows.audits.table import KINDS
from assay.flows.report.sentences import sentences
from assay.tasks.hardness.association import _findings as association_finding
from assay.tasks.hardness.association import association
from assay.tasks.overfitting.independence import pairwise_test
from assay.tasks.overfitting.verdicts import verdict
from assay.tasks.slices.search import SlicedAnswers, Slices, confirmed_findings, worst_slices
from assay.tasks.statistics.classification_findings import About, prediction_findings
from assay.tasks.statistics.clusters import share_by
from assay.tasks.statistics.findings import Finding, FindingIndex

N, NAMES = 600, ("benign", "malignant")
RNG = np.random.default_rng(11)
GOLD = (RNG.random(N) < 0.4).astype(np.int64)
Night = dict[str, np.ndarray]
NIGHT: Night = {
    "gold": GOLD,
    "clean": np.where(RNG.random(N) < 0.9, GOLD, 1 - GOLD),
    "attacked": np.where(RNG.random(N) < 0.4, GOLD, 1 - GOLD),
    "foggy": RNG.random(N) < 0.6,
    "untrustworthy": RNG.random(N) < 0.2,
    "site": np.arange(N) % 4,
    "hard": (hardness := RNG.random(N)),
    "unsure": hardness + 2 * RNG.random(N),
    "by_site": RNG.random(N) < np.where(np.arange(N) % 4 == 2, 0.4, 0.9),
    "gap": (RNG.random(N) < 0.15).astype(np.float64),
}
Groups = np.ndarray | None


def attacks(night: Night, names: tuple[str, ...], groups: Groups) -> list[Finding]:
    clean = prediction_findings(About("subject", "clean", "", "net"), night["clean"], None, night["gold"], names)
    about = About("attack", "pgd", "eps=0.1", "net")
    return [*clean, *prediction_findings(about, night["attacked"], None, night["gold"], names, groups=groups)]


def corruptions(night: Night, names: tuple[str, ...], groups: Groups) -> list[Finding]:
    clean = prediction_findings(About("subject", "clean", "", "net"), night["clean"], None, night["gold"], names)
    worst = share_by("corruption.worst_accuracy", night["foggy"], groups, subject="net")
    return [*clean, replace(worst, verdict="fog, severity=5")]


def trust(night: Night, _names: tuple[str, ...], groups: Groups) -> list[Finding]:
    about = {"of": "lime", "group": "all", "subject": "net"}
    return [share_by("trust.untrustworthy", night["untrustworthy"], groups, **about)]


def overfitting(night: Night, _names: tuple[str, ...], _groups: Groups) -> list[Finding]:
    tested = pairwise_test(night["gap"], 2.0)
    name = verdict(tested, 0.05, 0.05).name
    return [
        Finding("overfitting.p_value", "pgd", "", "net", value=tested.p, p_value=tested.p, n=tested.n, verdict=name)
    ]


def slices(night: Night, _names: tuple[str, ...], groups: Groups) -> list[Finding]:
    answers = SlicedAnswers(night["by_site"], {"site": [f"S{site}" for site in night["site"]]}, groups)
    return confirmed_findings({"net": worst_slices(answers, Slices(columns=("site",)), np.random.default_rng(1))}, 0.01)


def hardness_of(night: Night, _names: tuple[str, ...], groups: Groups) -> list[Finding]:
    related = association(night["hard"], night["unsure"], np.arange(len(night["hard"])) if groups is None else groups)
    return list(association_finding("association", related, "disagreement", "flips", 0.01))


Audit = Callable[[Night, tuple[str, ...], Groups], list[Finding]]
AUDITS: dict[str, Audit] = {
    "the strongest attack leaves net right on": attacks,
    "the least of all corruptions tried": corruptions,
    "of what net gets right is untrustworthy": trust,
    "net is shown to be fitted to its test samples": overfitting,
    "net is right on": slices,
    "tend to be the same samples": hardness_of,
}
WITH_GROUPS = [text for text, audit in AUDITS.items() if audit is not overfitting]  # that test refuses groups


def said(text: str, night: Night = NIGHT, names: tuple[str, ...] = NAMES, groups: Groups = None) -> str:
    """The sentence of an audit that has such words; empty where there is none."""
    lines = [line.text for line in sentences(KINDS, FindingIndex(AUDITS[text](night, names, groups)))]
    return next((line.replace("\N{NARROW NO-BREAK SPACE}", " ") for line in lines if text in line), "")


def values(line: str) -> str:
    return re.sub(r"\[[^]]*\]", "[]", line)


def width(line: str) -> float:
    low, high = re.search(r"\[([\d.]+), ([\d.]+)\]", line).groups()  # type: ignore[union-attr]
    return float(high) - float(low)


def repeated(times: int) -> Night:
    return {name: np.repeat(column, times) for name, column in NIGHT.items()}


@pytest.mark.parametrize("text", AUDITS)
def test_every_audit_says_something(text: str) -> None:
    assert said(text)


@pytest.mark.parametrize("right", [0.5, 0.9])
def test_what_a_corruption_leaves_stands_beside_what_is_right_without(right: float) -> None:
    answers = np.where(np.arange(N) < right * N, GOLD, 1 - GOLD)
    line = said("the least of all corruptions tried", NIGHT | {"clean": answers})
    assert line.endswith(f"the least of all corruptions tried, and on {100 * right:.0f} % without.")


@pytest.mark.parametrize("text", [text for text, audit in AUDITS.items() if audit is not slices])
def test_the_order_of_samples_changes_no_sentence(text: str) -> None:
    moved = RNG.permutation(N)
    assert said(text, {name: column[moved] for name, column in NIGHT.items()}) == said(text)


@pytest.mark.parametrize("text", [text for text in WITH_GROUPS if AUDITS[text] is not slices])
def test_repeated_samples_are_more_certain_and_as_a_group_are_not(text: str) -> None:
    usual, more = said(text), said(text, repeated(4))
    assert values(more) == values(usual)
    assert width(more) < 0.75 * width(usual)
    grouped = said(text, repeated(4), groups=np.repeat(np.arange(N), 4))
    assert values(grouped) == values(usual)
    assert width(grouped) == pytest.approx(width(usual), abs=1 if "%" in usual else 0.01)


@pytest.mark.parametrize("text", [text for text in WITH_GROUPS if AUDITS[text] is not slices])
def test_groups_that_are_alike_make_intervals_wider_and_move_no_value(text: str) -> None:
    column = {"attack": "attacked", "corruptions": "foggy", "untrustworthy": "untrustworthy"}
    by = next((NIGHT[name] for word, name in column.items() if word in text), NIGHT["hard"])
    alike = np.argsort(np.argsort(by == NIGHT["gold"] if "attack" in text else by, kind="stable")) // 10
    whole, split = said(text, groups=alike), said(text, groups=np.arange(N))
    assert values(whole) == values(split) == values(said(text))
    assert width(whole) > width(split)


@pytest.mark.parametrize("text", AUDITS)
def test_classes_that_are_flipped_change_no_sentence_about_all_of_them(text: str) -> None:
    flipped = NIGHT | {name: 1 - NIGHT[name] for name in ("gold", "clean", "attacked")}
    assert said(text, flipped, NAMES[::-1]) == said(text)


def test_a_slice_is_named_by_its_value_whatever_it_is_called_and_its_repeats_are_no_evidence() -> None:
    text = "net is right on"
    assert "where site = S2" in said(text)
    assert said(text, NIGHT | {"site": (NIGHT["site"] + 1) % 4}) == said(text).replace("S2", "S3")
    few = {name: column[:80] for name, column in NIGHT.items()}
    many = {name: np.repeat(column, 8) for name, column in few.items()}
    assert said(text, many)
    assert said(text, many, groups=np.repeat(np.arange(80), 8)) == ""


def test_what_is_turned_round_is_not_said() -> None:
    assert said("tend to be the same samples", NIGHT | {"unsure": -NIGHT["unsure"]}) == ""
    assert said("net is shown to be fitted to its test samples", NIGHT | {"gap": -NIGHT["gap"]}) == ""
