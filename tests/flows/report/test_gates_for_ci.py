"""What gates say is well-formed for the servers that read it, whatever a pipeline or a sentence is called."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from assay.flows.report.gates_for_ci import gates_as_json, gates_as_junit
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.gates import judge
from assay.tasks.statistics.settings import Gate


def test_junit_counts_failures_and_survives_hostile_names() -> None:
    hostile = [Finding("a.b", of='<x>&"\x00\ufffe', value=2.0)]
    results = judge([Gate(finding="a.b", at_most=1), Gate(finding="a.b", at_least=1)], hostile)
    suite = ElementTree.fromstring(gates_as_junit(results, run="r1", pipeline="p<&>").encode()).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("name")) == ("2", "1", "p<&>")
    cases = suite.findall("testcase")
    failure = cases[0].find("failure")
    assert failure is not None
    assert '<x>&"' in (failure.text or "")
    assert cases[1].find("failure") is None


def test_json_says_whether_all_passed_and_what_decided() -> None:
    findings = [
        Finding("subject.accuracy", of="gold", group="D10", subject="a", value=0.81, low=0.77, high=0.84, n=569),
        Finding("subject.trend_p", of="gold", subject="a", value=None, verdict="not measured"),
    ]
    gates = [Gate(finding="subject.accuracy", group="D10", at_least=0.8), Gate(finding="subject.trend_p", at_most=0.01)]
    written = json.loads(gates_as_json(judge(gates, findings), run="r1", pipeline="p"))
    assert written["passed"] is False
    assert [gate["passed"] for gate in written["gates"]] == [True, False]
    assert written["gates"][0]["finding"]["value"] == 0.81
    assert written["gates"][1]["finding"]["value"] is None
