"""Holds a run against the published one of its pipeline: equal digests on like machines, else within its intervals."""

from __future__ import annotations

from repository import ROOT

from assay.flows.reproduce.published import published_form, published_result
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import Finding, findings_of

PUBLISHED = ROOT / "docs" / "results"


def disagreements(store: Store, record: RunRecord) -> list[str]:
    """What differs between the run and the published one of its pipeline, a sentence each."""
    about, findings = published_result(PUBLISHED / record.pipeline)
    now = published_form(store, record)
    later = {key for key, value in now["settings"].items() if key not in about["settings"] and value is None}
    settings = {key: value for key, value in now["settings"].items() if key not in later}  # without a later version's
    if settings != about["settings"] or now["seed"] != about["seed"]:
        return [
            f"{record.pipeline} is published with other settings: run it, then assay export RUN --results docs/results"
        ]
    if now["profile"] == about["profile"]:
        return _other_digests(about["stages"], now["stages"])
    return _outside(findings, findings_of(store, record))


def _other_digests(published: list[dict[str, object]], now: list[dict[str, object]]) -> list[str]:
    stages = [(stage["stage"], stage["title"]) for stage in published]
    if stages != [(stage["stage"], stage["title"]) for stage in now]:
        return [f"the published run has the stages {stages}"]
    return [
        f"{at}: {before['stage']} made {after['digests']}, published are {before['digests']}"
        for at, (before, after) in enumerate(zip(published, now, strict=True))
        if before["digests"] != after["digests"]
    ]


def _outside(published: list[Finding], now: list[Finding]) -> list[str]:
    """Floating point differs between processors; what was concluded must not, by more than chance."""
    by_place = {(each.metric, each.subject, each.of, each.group): each for each in now}
    apart = []
    for before in published:
        if before.metric in OF_THE_STORE:
            continue
        after = by_place.get((before.metric, before.subject, before.of, before.group))
        if after is None:
            apart.append(f"{before.metric} {before.of} {before.group} is not there")
        elif is_outside(before, after):
            apart.append(f"{before.metric} {before.of} {before.group} is {after.value}, published {before.value}")
    return apart


OF_THE_STORE = {"overfitting.look_up", "overfitting.look_ups"}
"""How often a store's runs have looked at a test set before."""
_P_VALUES = ("p_value", "_p", "_p_violation")
_SIGNIFICANT = 0.05
_ROUNDING = 1e-9


def is_outside(before: Finding, after: Finding) -> bool:
    """Whether two runs contradict each other: estimates with their intervals that have nothing in common.

    A p-value has another value whenever a network is trained anew; what counts is its side of 5 %, in all trials.
    """
    if before.low is None or before.high is None or after.value is None:
        return False
    if before.metric.endswith(_P_VALUES):
        before_high, after_low = _reach(before)[1], _reach(after)[0]
        before_low, after_high = _reach(before)[0], _reach(after)[1]
        return before_high <= _SIGNIFICANT < after_low or after_high <= _SIGNIFICANT < before_low
    (low, high), (after_low, after_high) = _reach(before), _reach(after)
    slack = _ROUNDING * max(1.0, abs(low), abs(high))
    return after_low > high + slack or after_high < low - slack


def _reach(finding: Finding) -> tuple[float, float]:
    ends = [end for end in (finding.low, finding.value, finding.high) if end is not None]
    return min(ends), max(ends)
