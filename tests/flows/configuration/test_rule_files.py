"""Rules in YAML, in a file of their own or in the pipeline: strict, with lines, and one key for both."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.flows.audit import audit
from assay.flows.audits.curation_flow import read_rules
from assay.flows.configuration.loading import load_project
from assay.flows.running import engine_of
from assay.flows.yaml_document import ConfigurationError
from assay.infra.errors import InputError
from assay.infra.stages.runs import Run
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress

ROWS = "id,size,text,label\n" + "".join(
    f"s{at},{at},{'win money' if at % 3 == 0 else 'a song'},{'spam' if at % 2 else 'ham'}\n" for at in range(40)
)
RULES = """\
classes: [ham, spam]
rules:
  - {name: large, when: {column: size, above: 20}, vote: spam}
  - {keywords: [song], vote: ham}
"""
INLINE = """\
pipelines:
  night:
    source: {csv: rows.csv, id: id, label: label}
    labeling:
      classes: [ham, spam]
      rules:
        - {name: large, when: {column: size, above: 20}, vote: spam}
        - {keywords: [song], vote: ham}
    weak_labels: {labelers: [majority]}
"""
BESIDE = """\
pipelines:
  night:
    source: {csv: rows.csv, id: id, label: label}
    labeling: {functions: rules.yaml}
    weak_labels: {labelers: [majority]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "rules.yaml").write_text(RULES)
    return tmp_path


def night(folder: Path, text: str) -> RunRecord:
    (folder / "pipelines.yaml").write_text(text)
    project = load_project(folder / "pipelines.yaml", overrides=["compute.engine=serial"])
    pipeline, progress = project.pipeline("night"), Progress()
    with Run(
        "night", Store(project.store).open(), engine_of(project, progress), progress, compute=project.compute
    ) as run:
        assert audit(pipeline, project.folder).failures == ()
        return run.record


def labelled(record: RunRecord) -> tuple[bool, str]:
    stage = next(one for one in record.stages if one.stage == "apply_labeling_functions")
    return stage.cached, stage.key


def test_rules_in_the_pipeline_and_in_a_file_have_one_key_and_comments_none(folder: Path) -> None:
    first = labelled(night(folder, INLINE))
    (folder / "rules.yaml").write_text("# what people say\n" + RULES)
    beside = labelled(night(folder, BESIDE))
    assert (first[0], beside) == (False, (True, first[1]))
    (folder / "rules.yaml").write_text(RULES.replace("above: 20", "above: 21"))
    changed = labelled(night(folder, BESIDE))
    assert changed[0] is False
    assert changed[1] != first[1]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("vote: ham", "vot: ham", "rules.yaml:4: rules.1.vot — unknown key; did you mean vote?"),
        ("above: 20", "above: high", 'rules.yaml:3: rules.0.when.above: "high" — expected a number'),
        ("keywords: [song]", "pattern: '(song'", "rules.yaml:4: rules.1 — pattern is no regular expression"),
        (RULES, "", "rules.yaml: expected rules:, a list such as"),
        ("rules:", "rules: 3 #", "rules.yaml:"),
    ],
)
def test_a_wrong_rule_is_named_with_its_line(folder: Path, old: str, new: str, says: str) -> None:
    (folder / "rules.yaml").write_text(RULES.replace(old, new))
    with pytest.raises(ConfigurationError) as error:
        read_rules(folder / "rules.yaml")
    assert says in str(error.value)


def test_a_file_of_rules_that_is_not_there_is_named_at_its_line_of_the_pipeline(folder: Path) -> None:
    (folder / "rules.yaml").unlink()
    with pytest.raises(InputError, match=r"There is no file rules\.yaml with rules"):
        read_rules(folder / "rules.yaml")
    (folder / "pipelines.yaml").write_text(BESIDE)
    project = load_project(folder / "pipelines.yaml")
    (missing,) = project.pipeline("night").missing_things(project.folder)
    said = missing.in_words(project.lines, "night")
    assert "pipelines.yaml:4: labeling.functions:" in said
    assert "There is no file rules.yaml with rules" in said


def test_a_column_that_written_rules_look_at_is_missed_before_anything_runs(folder: Path) -> None:
    (folder / "pipelines.yaml").write_text(INLINE.replace("column: size", "column: siez"))
    project = load_project(folder / "pipelines.yaml")
    (missing,) = project.pipeline("night").missing_things(project.folder)
    said = missing.in_words(project.lines, "night")
    assert "pipelines.yaml:7: labeling.rules.0.when.column" in said
    assert said.endswith("Did you mean size?")
    (folder / "pipelines.yaml").write_text(BESIDE)
    (folder / "rules.yaml").write_text(RULES.replace("column: size", "column: siez"))
    project = load_project(folder / "pipelines.yaml")
    (missing,) = project.pipeline("night").missing_things(project.folder)
    said = missing.in_words(project.lines, "night")
    assert "pipelines.yaml:4: labeling.functions" in said
    assert "no column 'siez', which the rule 'large' of rules.yaml looks at" in said
    both = INLINE.replace(
        "when: {column: size, above: 20}", "all: [{column: size, above: 1}, {column: siez, above: 20}]"
    )
    (folder / "pipelines.yaml").write_text(both)
    project = load_project(folder / "pipelines.yaml")
    (missing,) = project.pipeline("night").missing_things(folder)
    assert "pipelines.yaml:7: labeling.rules.0.all.1.column" in missing.in_words(project.lines, "night")


@pytest.mark.parametrize(
    ("labeling", "says"),
    [
        ("{functions: rules.yaml, rules: [{pattern: a, vote: x}, {pattern: b, vote: y}]}", "and here is both"),
        ("{functions: rules.yaml, classes: [a, b]}", "a rulebook names its own"),
        ("{rules: [{pattern: a, vote: x}]}", "every rule votes for 'x'"),
    ],
)
def test_labeling_is_a_rulebook_or_rules(folder: Path, labeling: str, says: str) -> None:
    (folder / "pipelines.yaml").write_text(BESIDE.replace("{functions: rules.yaml}", labeling))
    with pytest.raises(ConfigurationError, match="pipelines.yaml:4: labeling — .*" + says):
        load_project(folder / "pipelines.yaml")
