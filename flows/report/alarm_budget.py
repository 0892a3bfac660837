"""The budget of false alarms: how strictly each look of a gate on change judges, and what the looks have spent.

By Bonferroni's inequality the expected number of false alarms is at most the sum of the levels of all looks, whatever
their dependence: looks at budget / (gates x nights due) each keep it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from assay.flows.configuration.cron import times_due
from assay.flows.pipeline import Project
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.statistics.gates_on_change import USUAL_LEVEL

DAYS = {"week": 7.0, "month": 365.25 / 12, "quarter": 365.25 / 4, "year": 365.25}
_PLACE = "alarms.json"


@dataclass(frozen=True)
class Budget:
    """So many false alarms a period, over so many looks; as it stood when a run last took its share."""

    false: float
    per: str
    looks: float

    @property
    def level(self) -> float:
        """The one-sided level of one look; never wider than that of the usual 95 % interval.

        >>> Budget(1, "quarter", 400).level
        0.0025
        """
        return min(USUAL_LEVEL, self.false / self.looks) if self.looks else USUAL_LEVEL


def budget_of(project: Project) -> Budget | None:
    """The budget of a project, over the gates on change of all its pipelines and the nights they are due.

    A pipeline without a schedule is taken to run once a night.
    """
    if project.alarms is None:
        return None
    days = DAYS[project.alarms.per]
    looks = sum(
        sum(gate.is_on_change for gate in one.gates) * (days if one.schedule is None else times_due(one.schedule, days))
        for one in project.pipelines.values()
    )
    return Budget(project.alarms.false, project.alarms.per, looks)


def level_of(project: Project) -> float:
    """The one-sided level of each look of a gate on change."""
    budget = budget_of(project)
    return USUAL_LEVEL if budget is None else budget.level


def write_budget(store: Store, project: Project) -> None:
    """Leave the budget beside the runs, for the page of all nights."""
    budget = budget_of(project)
    if budget is not None:
        store.folder.write_json(_PLACE, asdict(budget))
    elif store.folder.exists(_PLACE):
        store.folder.remove(_PLACE)


def budget_in_words(store: Store, runs: Sequence[RunRecord]) -> str:
    """What may be spent on false alarms, and what has been, in one sentence; nothing where there is no budget."""
    read = store.folder.read_json(_PLACE)
    if read is None:
        return ""
    budget = Budget(float(read["false"]), str(read["per"]), float(read["looks"]))
    since = datetime.now(UTC) - timedelta(days=DAYS.get(budget.per, DAYS["quarter"]))
    nights = [run for run in runs if not run.is_sample]
    looks = [one for run in nights if datetime.fromisoformat(run.started) >= since for one in looks_of(run)]
    spent = sum(float(one.get("level", 0.0)) for one in looks)
    alarms = sum(one.get("raw") == "failed" for one in looks)
    return (
        f"Budget: {budget.false:g} false alarms a {budget.per}. Gates on change looked {len(looks)} times since "
        f"{since:%Y-%m-%d}, which spent {spent:.2g} of it, and raised {alarms}. Each look spends {budget.level:.2g}, "
        "but where all outcomes are the same nothing."
    )


def looks_of(run: RunRecord) -> Iterable[Mapping[str, Any]]:
    """What the gates on change of a run saw, where they had something to compare with."""
    return (one for one in run.gates if "detectable" in one)


def detectable_in_words(runs: Sequence[RunRecord]) -> list[str]:
    """Of every gate on change that the latest of these runs judged: what it can still see."""
    latest = next((run for run in reversed(runs) if run.gates), None)
    return (
        []
        if latest is None
        else [
            f"Gate {one['gate']}: {one['outcome']}; on its {one['n']} samples it sees a true loss of "
            f"{float(one['detectable']):.2g} in 8 of 10 nights."
            for one in looks_of(latest)
        ]
    )
