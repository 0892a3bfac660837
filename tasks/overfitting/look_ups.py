"""Which look at a test set this is: counted in the findings of all earlier runs in the store, whatever their pipeline.

The tests themselves do not depend on it, so that they can be planned and come from the store; only what is said of them
does. A model that answers the same to the same samples, asked the same, is no new look-up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.data.overfitting_schemas import IndependenceTests
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.partitions import collect
from assay.infra.runs import Run
from assay.tasks.overfitting.judging import Judged, judge, judged_findings
from assay.tasks.overfitting.records import records_from
from assay.tasks.overfitting.settings import Overfitting
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.run_findings import findings_of

_COUNTED, _HIGHEST = "overfitting.look_up", "overfitting.look_ups"


def judge_tests(
    tests: Sequence[Artifact[IndependenceTests]], settings: Overfitting, stream: str, run: Run
) -> tuple[list[Judged], list[Finding]]:
    """Every test judged at the level that its look-up leaves, and the findings on the verdicts.

    `stream` is what the audited samples come from, by name. Every run hands on the highest number of each test set in
    the store, so that none is given back when the runs that spent it are forgotten.
    """
    records = [record for artifact in tests for record in records_from(collect(artifact, None))]
    history = earlier_look_ups(run)
    judged = judge(records, settings, history, stream)
    findings = judged_findings(judged)
    numbers = {name: max(known.values()) for name, known in history.items()}
    for test in judged:
        if test.verdict is not None:
            findings.append(Finding(_COUNTED, stream, test.look_up, test.record.subject, value=test.look))
            for name in (stream, test.record.test_set):
                numbers[name] = max(test.look, numbers.get(name, 0))
    findings = list(dict.fromkeys(findings))  # tests that are one look-up are counted once
    findings += [Finding(_HIGHEST, of=name, value=number) for name, number in sorted(numbers.items())]
    return list(judged), findings


def earlier_look_ups(run: Run) -> Mapping[str, dict[str, int]]:
    """By test set, the number of every look-up that other runs have reported; the highest ones known have no name."""
    by_test_set: dict[str, dict[str, int]] = {}
    for record in run.store.runs():
        if record.id == run.id or not record.findings or not (record.settings or {}).get("overfitting"):
            continue
        try:
            findings = findings_of(run.store, record)
        except InputError as error:  # a damaged earlier run is no reason to have no report today
            run.notice(f"{error} Looks at a test set that only it counted are not counted any more.")
            continue
        for finding in findings:
            if finding.metric in (_COUNTED, _HIGHEST) and finding.value is not None:
                known = by_test_set.setdefault(finding.of, {})
                known[finding.group] = max(int(finding.value), known.get(finding.group, 0))
    return by_test_set
