"""The gates of a run for machines: JUnit XML, which every CI server draws, and JSON, which every script reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from assay.infra.terminal import json_text
from assay.tasks.statistics.gates import GateResult

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def gates_as_junit(results: Sequence[GateResult], *, run: str, pipeline: str) -> str:
    """The gates as one JUnit test suite: a test case per gate, a failure with its sentence where it did not pass."""
    failed = sum(not result.passed for result in results)
    counts = {"tests": str(len(results)), "failures": str(failed), "errors": "0", "skipped": "0"}
    suites = ElementTree.Element("testsuites", {"name": "assay gates", **counts})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": _plain(pipeline), **counts})
    properties = ElementTree.SubElement(suite, "properties")
    ElementTree.SubElement(properties, "property", {"name": "run", "value": _plain(run)})
    for result in results:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {"classname": _plain(f"{pipeline}.gates"), "name": _plain(result.gate.title()), "time": "0"},
        )
        if not result.passed:
            failure = ElementTree.SubElement(case, "failure", {"type": "gate", "message": _plain(result.sentence)})
            failure.text = _plain(result.sentence)
        else:
            ElementTree.SubElement(case, "system-out").text = _plain(result.sentence)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def gates_as_json(results: Sequence[GateResult], *, run: str, pipeline: str) -> str:
    """The gates as one JSON object: `run`, `pipeline`, `passed`, and one entry per gate with the deciding finding."""
    return json_text(
        {
            "run": run,
            "pipeline": pipeline,
            "passed": all(result.passed for result in results),
            "gates": [_entry(result) for result in results],
        },
        indent=2,
    )


def gates_as_markdown(results: Sequence[GateResult], *, run: str, pipeline: str) -> str:
    """The gates as Markdown: one line that says whether they passed, and a table, failures first."""
    failed = sum(not result.passed for result in results)
    summary = f"{failed} of {len(results)} gates failed" if failed else f"no gate failed ({len(results)} judged)"
    lines = [f"### {_cell(pipeline)}: {summary}", "", "| | gate | why |", "|---|---|---|"]
    ordered = sorted(results, key=lambda result: list(_SIGNS).index(result.outcome))
    lines += [f"| {_SIGNS[one.outcome]} | {_cell(one.gate.title())} | {_cell(one.sentence)} |" for one in ordered]
    return "\n".join([*lines, "", f"Run `{_cell(run)}`", ""])


_SIGNS = {"failed": "❌ failed", "warned": "⚠️ warned", "inconclusive": "❔ inconclusive", "passed": "✅ passed"}


def _cell(text: str) -> str:
    """Text that a Markdown table takes as it is: no markup, no HTML, one line."""
    plain = " ".join(_plain(text).split())
    return re.sub(r"([\\`*_{}\[\]<>#|!~])", r"\\\1", plain)


def _entry(result: GateResult) -> dict[str, Any]:
    finding = result.finding
    return {
        "gate": result.gate.model_dump(exclude_none=True, exclude_defaults=True, by_alias=True),
        "passed": result.passed,
        "outcome": result.outcome,
        "sentence": result.sentence,
        "matched": result.matched,
        "looked": dict(result.looked),
        "finding": None
        if finding is None
        else {
            "metric": finding.metric,
            "of": finding.of,
            "group": finding.group,
            "subject": finding.subject,
            "value": _number(finding.value),
            "low": _number(finding.low),
            "high": _number(finding.high),
            "n": finding.n,
            "p_value": _number(finding.p_value),
            "p_adjusted": _number(finding.p_adjusted),
            "verdict": finding.verdict,
        },
    }


def _number(value: float | None) -> float | None:
    """The number, or None for what JSON cannot write."""
    return value if value is not None and abs(value) < float("inf") else None


def _plain(text: str) -> str:
    """The text without the control characters that XML 1.0 forbids even when escaped."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
