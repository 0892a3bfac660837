"""What the gates of a run say, as CI servers read it: JUnit XML, JSON, Markdown, SARIF, and GitHub's commands and job
summary.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from assay import __version__
from assay.flows.configuration.loading import load_usable
from assay.infra.errors import InputError
from assay.infra.masking import mask
from assay.infra.terminal import json_text, json_value
from assay.tasks.statistics.gates import GateResult

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def gates_as_junit(results: Sequence[GateResult], *, run: str, pipeline: str) -> str:
    """The gates as one JUnit test suite: a test case per gate, a failure with its sentence where it did not pass."""
    failed, skipped = (str(sum(result.outcome == word for result in results)) for word in ("failed", "not asked"))
    counts = {"tests": str(len(results)), "failures": failed, "errors": "0", "skipped": skipped}
    suites = ElementTree.Element("testsuites", {"name": "assay gates", **counts})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": _plain(pipeline), **counts})
    properties = ElementTree.SubElement(suite, "properties")
    ElementTree.SubElement(properties, "property", {"name": "run", "value": _plain(run)})
    for result in results:
        about = {"classname": _plain(f"{pipeline}.gates"), "name": _plain(result.gate.title()), "time": "0"}
        case, sentence = ElementTree.SubElement(suite, "testcase", about), _plain(result.sentence)
        if result.outcome == "not asked":
            ElementTree.SubElement(case, "skipped", {"message": sentence})
        elif not result.passed:
            ElementTree.SubElement(case, "failure", {"type": "gate", "message": sentence}).text = sentence
        else:
            ElementTree.SubElement(case, "system-out").text = sentence
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def gates_as_json(results: Sequence[GateResult], *, run: str, pipeline: str) -> str:
    """The gates as one JSON object: `run`, `pipeline`, `passed`, and one entry per gate with the deciding finding."""
    passed = all(result.passed for result in results)
    return json_text(
        {"run": run, "pipeline": pipeline, "passed": passed, "gates": list(map(_entry, results))}, indent=2
    )


def gates_as_markdown(results: Sequence[GateResult], *, run: str, pipeline: str) -> str:
    """The gates as Markdown: one line that says whether they passed, and a table, failures first."""
    failed = sum(result.outcome == "failed" for result in results)
    asked = sum(result.outcome != "not asked" for result in results)
    summary = f"{failed} of {len(results)} gates failed" if failed else f"no gate failed ({asked} judged)"
    lines = [f"### {_cell(pipeline)}: {summary}", "", "| | gate | why |", "|---|---|---|"]
    ordered = sorted(results, key=lambda result: list(_SIGNS).index(result.outcome))
    lines += [
        f"| {_SIGNS[result.outcome]} | {_cell(result.gate.title())} | {_cell(result.sentence)} |" for result in ordered
    ]
    return "\n".join([*lines, "", f"Run `{_cell(run)}`", ""])


_SIGNS = {
    "failed": "❌ failed",
    "not asked": "⛔ not asked",
    "warned": "⚠️ warned",
    "inconclusive": "❔ inconclusive",
    "passed": "✅ passed",
}


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
        "finding": finding and {name: json_value(getattr(finding, name)) for name in _OF_FINDING},
    }


_OF_FINDING = ["metric", "of", "group", "subject", "value", "low", "high", "n", "p_value", "p_adjusted", "verdict"]


def _plain(text: str) -> str:
    """The text without the control characters that XML 1.0 forbids even when escaped."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


_COMMANDS = {"failed": "error", "not asked": "error", "warned": "warning", "inconclusive": "warning"}


def write_job_summary(markdown: str) -> None:
    """Append to the summary of the job, where GitHub (or who does as it does) says which file that is."""
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if not place:
        return
    try:
        with Path(place).open("a", encoding="utf-8") as summary:
            summary.write(mask(markdown) + "\n")
    except OSError as error:
        raise InputError(
            f"The job's summary {place} cannot be written (GITHUB_STEP_SUMMARY): {error.strerror}."
        ) from None


def github_annotations(results: Sequence[GateResult], pipeline: str, config: str) -> Iterator[str]:
    """In a GitHub job, the commands that mark each gate that did not pass at its line of the pipelines file."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    for result, (file, line) in zip(results, _places(results, pipeline, config), strict=True):
        if result.outcome in _COMMANDS:
            where = f"file={_property(file)}," if file else ""
            where += f"line={line}," if line is not None else ""
            title = _property(f"{pipeline}: gate {result.outcome}")
            yield f"::{_COMMANDS[result.outcome]} {where}title={title}::{_escaped(result.sentence)}"


def _places(results: Sequence[GateResult], pipeline: str, config: str) -> list[tuple[str, int | None]]:
    """The file, as a CI server sees it, and the line that each gate stands on; no file where it is not there."""
    if not Path(config).is_file():
        return [("", None)] * len(results)
    document = load_usable(config)[0].lines.document
    file = os.path.relpath(config, os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or ".")
    return [(file, document.line(("pipelines", pipeline, "gates", at))) for at in range(len(results))]


def gates_as_sarif(results: Sequence[GateResult], pipeline: str, config: str) -> str:
    """The gates as SARIF 2.1.0, which code-scanning pages show at the lines of the pipelines file: a rule per finding
    that gates are on, a result per gate."""
    rules = dict.fromkeys(f"assay/{result.gate.finding}" for result in results)
    shown: list[dict[str, object]] = []
    for result, (file, line) in zip(results, _places(results, pipeline, config), strict=True):
        region = {} if line is None else {"region": {"startLine": line}}
        place = {"physicalLocation": {"artifactLocation": {"uri": Path(file).as_posix()}, **region}}
        level = _COMMANDS.get(result.outcome)
        shown.append(
            {
                "ruleId": f"assay/{result.gate.finding}",
                **({"kind": "pass", "level": "none"} if level is None else {"level": level}),
                "message": {"text": mask(f"{pipeline}: {result.sentence}")},
                "locations": [place] if file else [],
                "partialFingerprints": {"gate/v1": f"{pipeline}: {result.gate.title()}"},
            }
        )
    driver = {"name": "Assay", "version": __version__, "rules": [{"id": rule} for rule in rules]}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    runs = [{"tool": {"driver": driver}, "results": shown}]
    return json_text({"$schema": schema, "version": "2.1.0", "runs": runs}, indent=2) + "\n"


def _escaped(text: str) -> str:
    """Text as a workflow command takes it.

    >>> _escaped("50 %\\nnext")
    '50 %25%0Anext'
    """
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
