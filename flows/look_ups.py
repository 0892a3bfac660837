"""Which look at a test set this is: counted in the findings of all earlier runs in the store, whatever their pipeline.

The tests themselves do not depend on it, so that they can be planned and come from the store; only what is said of them
does. A model that answers the same to the same samples, asked the same, is no new look-up.
"""

from __future__ import annotations

from contextlib import suppress

from assay.flows.overfitting import OverfittingAudit
from assay.flows.records import findings_of
from assay.infra.errors import InputError
from assay.infra.partitions import collect
from assay.infra.store import Store
from assay.tasks.overfitting.judging import judge, judged_findings
from assay.tasks.overfitting.records import records_from
from assay.tasks.overfitting.settings import Overfitting
from assay.tasks.statistics.findings import Finding


def judged_tests(audit: OverfittingAudit, options: Overfitting, store: Store, run: str) -> list[Finding]:
    """The findings on every test, at the level that its look-up leaves; the audit keeps the verdicts for its page."""
    records = [record for tests in audit.tests for record in records_from(collect(tests, None))]
    audit.judged = judge(records, options, earlier_look_ups(store, run)) if records else []
    return judged_findings(audit.judged)


def earlier_look_ups(store: Store, run: str) -> dict[str, dict[str, int]]:
    """By test set, the number of every look-up that a run other than `run` has reported."""
    found: dict[str, dict[str, int]] = {}
    for record in store.runs():
        if record.id == run or not record.findings or not (record.settings or {}).get("overfitting"):
            continue
        with suppress(InputError):  # a damaged earlier run is no reason to have no report today
            for one in findings_of(store, record):
                if one.metric == "overfitting.look_up" and one.value is not None:
                    found.setdefault(one.of, {})[one.group] = int(one.value)
    return found
