"""pipelines.yaml is read strictly; every mistake is named by file, line, value and what was expected."""

# ruff: noqa: E501 - error messages are quoted whole

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from repository import ROOT

from assay.flows.configuration.loading import EMBEDDED_FILE, Project, embedded_pipelines, load_project
from assay.flows.configuration.menu import json_schema
from assay.flows.yaml_document import ConfigurationError, read_yaml
from assay.infra.errors import InputError

GOOD = """\
store: artifacts
compute: {engine: local, workers: auto}
pipelines:
  night:
    schedule: "0 2 * * *"
    source: {dataset: sample/breast-cancer}
    labeling: {functions: breast-cancer}
    pruning: {correlation: 0.5}
    weak_labels: {labelers: [majority]}
    ordering: {alpha: 0.05, datasets: 10}
    subject: {model: logistic}
    gates:
      - {finding: ordering.trend_p, of: ours, at_most: 0.01}
"""


def load(folder: Path, text: str, **options: object) -> Project:
    file = folder / "pipelines.yaml"
    file.write_text(text, encoding="utf-8")
    return load_project(file, **options)


def mistakes(folder: Path, text: str, **options: object) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(folder, text, **options)
    return [str(mistake).removeprefix(f"{folder}/") for mistake in caught.value.mistakes]


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


def test_a_good_file_is_understood(tmp_path: Path) -> None:
    project = load(tmp_path, GOOD)
    night = project.pipeline("night")
    assert (night.name, night.pruning.correlation, night.ordering.datasets) == ("night", 0.5, 10)
    assert [subject.model for subject in night.subjects] == ["logistic"]
    assert project.store == str(tmp_path / "artifacts")
    assert project.folder == tmp_path


def test_our_own_file_is_right() -> None:
    project = load_project(ROOT / "pipelines.yaml")
    assert "breast-cancer" in project.pipelines


WRONG = [
    ("correlation: 0.5", "correlation: 1.5", ":8: pruning.correlation: 1.5 — expected a number between 0 and 1"),
    ("correlation: 0.5", 'correlation: "0.5"', ':8: pruning.correlation: "0.5" — expected a number between 0 and 1'),
    ("correlation: 0.5", "correlation: .nan", ":8: pruning.correlation: NaN — expected a number between 0 and 1"),
    ("correlation: 0.5", "corelation: 0.5", ":8: pruning.corelation — unknown key; did you mean correlation?"),
    ("pruning:", "prunning:", ":8: prunning — unknown key; did you mean pruning?"),
    ("store: artifacts", "stores: artifacts", ":1: stores — unknown key; did you mean store?"),
    ("datasets: 10", "datasets: ten", ':10: ordering.datasets: "ten" — expected a whole number between 3 and 1,000'),
    ("datasets: 10", "datasets: 10.5", ":10: ordering.datasets: 10.5 — expected a whole number between 3 and 1,000"),
    ("datasets: 10", "compare: on", ':10: ordering.compare: "on" — expected true or false'),
    ("datasets: 10", "datasets: true", ":10: ordering.datasets: true — expected a whole number between 3 and 1,000"),
    (
        "[majority]",
        "[majorty]",
        ':9: weak_labels.labelers.0: "majorty" — expected one of majority, snorkel, dawid-skene, triplets; did you mean majority?',
    ),
    (
        "[majority]",
        "majority",
        ':9: weak_labels.labelers: "majority" — expected a list of at least 1, each item one of majority, snorkel, dawid-skene, triplets; write [majority]',
    ),
    (
        "{functions: breast-cancer}",
        "{}",
        ":7: labeling — labelling functions are functions (a rulebook) or rules (written here), and here is neither",
    ),
    (
        "{functions: breast-cancer}",
        "7",
        ":7: labeling: 7 — expected a mapping with some of rules, classes, asking, files, never_cached, version, functions, fault_limit, as in {functions: breast-cancer}",
    ),
    (
        "workers: auto",
        "workers: -1",
        ":2: compute.workers: -1 — expected the word auto or a whole number between 0 and 4,096",
    ),
    (
        "workers: auto",
        "gpu: prefered",
        ':2: compute.gpu: "prefered" — expected one of preferred, required, never; did you mean preferred?',
    ),
    (
        '"0 2 * * *"',
        '"0 25 * * *"',
        ':5: schedule: "0 25 * * *" — expected a cron line such as "0 2 * * *": its hour is 25, and an hour is 0 to 23, alone, in a list (1,3), a range upwards (1-5) or steps (*/15)',
    ),
    (
        '"0 2 * * *"',
        "nightly",
        ':5: schedule: "nightly" — expected a cron line such as "0 2 * * *": it has 1 fields, and cron has five (minute, '
        "hour, day, month, weekday)",
    ),
    (
        "    schedule:",
        "    name: x\n    schedule:",
        ":5: name — a pipeline is named by the key it stands under; remove this line",
    ),
]
# What a schema cannot see: how often a cron line comes, that one word is no list here, what a mapping must have.
BEYOND_A_SCHEMA = ("nightly", '"0 25 * * *"', "majority", "{}", "correlation: .nan")


@pytest.mark.parametrize(("old", "new", "said"), WRONG)
def test_a_wrong_setting_is_named_with_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert mistakes(tmp_path, changed(old, new)) == [f"pipelines.yaml{said}"]


@pytest.fixture(scope="module")
def schema() -> Draft202012Validator:
    Draft202012Validator.check_schema(json_schema())
    return Draft202012Validator(json_schema())


@pytest.mark.parametrize(("old", "new", "said"), WRONG)
def test_the_schema_refuses_what_is_wrong_at_one_place(
    schema: Draft202012Validator, old: str, new: str, said: str
) -> None:
    assert schema.is_valid(read_yaml(changed(old, new), "x").value) == (new in BEYOND_A_SCHEMA)


def test_what_comes_with_assay_reads_the_same_in_c_and_in_python() -> None:
    text = EMBEDDED_FILE.read_text(encoding="utf-8")
    assert read_yaml(text, "pipelines.yaml") == read_yaml(text, "pipelines.yaml", pure=False)


@pytest.mark.parametrize("name", embedded_pipelines().pipelines)
def test_the_schema_takes_every_pipeline_of_ours(schema: Draft202012Validator, name: str) -> None:
    assert [*schema.iter_errors({"pipelines": {name: embedded_pipelines().pipelines[name]}})] == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "    labeling: {functions: breast-cancer}\n",
            "",
            [
                ":7: pruning — needs votes: add labeling (rules that vote) or source.votes (votes as a table)",
                ":8: weak_labels — needs votes: add labeling (rules that vote) or source.votes (votes as a table)",
            ],
        ),
        (
            "    weak_labels: {labelers: [majority]}\n",
            "",
            [":9: ordering — needs confidences: add weak_labels, as in weak_labels: {labelers: [majority]}"],
        ),
        (
            "    ordering: {alpha: 0.05, datasets: 10}\n",
            "",
            [':12: gates.0.finding: "ordering.trend_p" — nothing will measure it: the pipeline has no ordering'],
        ),
        (
            "{dataset: sample/breast-cancer}",
            "{votes: v.parquet, label: gold}",
            [":7: labeling — source.votes already holds the votes; remove labeling or give the source as samples"],
        ),
        (
            "    pruning: {correlation: 0.5}\n",
            "    ordering: {compare: true}\n",
            [
                ":10: ordering — this key already stands on line 8; keep one of the two",
                ":8: ordering.compare: true — compares with and without pruning: add pruning, or leave compare out",
            ],
        ),
        (
            "{model: logistic}",
            "{predictions: answer}",
            [
                ':11: subject.predictions: "answer" — sample/breast-cancer has no column of predictions; give parquet, csv or '
                "jsonl"
            ],
        ),
        ("{model: logistic}", "{model: logistic, predictions: answer}", None),
        (
            "{dataset: sample/breast-cancer}",
            "{csv: a.csv}",
            [':11: subject.model: "logistic" — learns from gold labels: give source.label, or train_on: weak'],
        ),
        (
            "    subject: {model: logistic}",
            "    subjects: [logistic, {name: subject, model: 'a:b'}]",
            [
                ":11: subjects.0.name — 2 subjects are called subject; name each",
                ':11: subjects.1.name: "subject" — 2 subjects are called subject; name each',
            ],
        ),
        (
            "    gates:",
            "    subjects: [{name: b, model: logistic}]\n    gates:",
            [":12: subjects — stands beside subject; put them all into subjects"],
        ),
        (
            "finding: ordering.trend_p",
            "finding: orderin.permutation_p",
            [':13: gates.0.finding: "orderin.permutation_p" — no stage measures orderin; did you mean ordering?'],
        ),
        (
            "of: ours",
            "of: pl_all",
            [':13: gates.0.of: "pl_all" — is measured only with ordering.compare: true; add it, or write ours'],
        ),
        (
            "ordering.trend_p, of: ours",
            "ordering.by_gain, of: learned",
            [
                ':13: gates.0.of: "learned" — is measured only with ordering.compare: true; add it, or order by another one'
            ],
        ),
        (
            "ordering.trend_p, of: ours",
            "ordering.by_gain, of: bound",
            [':13: gates.0.of: "bound" — is no other score; known here: confidence, entropy, learned'],
        ),
        (
            "of: ours",
            "group: triplets",
            [':13: gates.0.group: "triplets" — is not among weak_labels.labelers (majority); add it there'],
        ),
        ("of: ours", "of: our", [':13: gates.0.of: "our" — is no approach; did you mean ours?']),
        (
            "of: ours",
            "group: snorkel",
            [':13: gates.0.group: "snorkel" — is not among weak_labels.labelers (majority); add it there'],
        ),
        (
            "of: ours",
            "subject: sbject",
            [':13: gates.0.subject: "sbject" — there is no such subject; did you mean subject?'],
        ),
        (", at_most: 0.01", "", None),
    ],
)
def test_settings_that_cannot_be_together_are_refused(
    tmp_path: Path, old: str, new: str, said: list[str] | None
) -> None:
    found = mistakes(tmp_path, changed(old, new))
    if said is None:  # the sentence comes from the room's own validator: only its place is ours
        assert len(found) >= 1
        assert all(text.startswith("pipelines.yaml:1") for text in found)
    else:
        assert sorted(found) == sorted(f"pipelines.yaml{text}" for text in said)


def test_all_mistakes_are_reported_together_in_the_order_of_their_lines(tmp_path: Path) -> None:
    text = changed("correlation: 0.5", "correlation: 7").replace("workers: auto", "worker: 3")
    text = text.replace("of: ours, at_most", "of: theirs, at_mst").replace("alpha: 0.05", "alpha: 0.05, alpha: 0.1")
    found = mistakes(tmp_path, text)
    assert [int(one.split(":")[1]) for one in found] == sorted(int(one.split(":")[1]) for one in found)
    assert {one.split(" — ")[0].split(": ")[1] for one in found} == {
        "compute.worker",
        "pruning.correlation",
        "ordering.alpha",
        "gates.0.at_mst",
        "gates.0.of",
    }


def test_mistakes_of_two_pipelines_keep_their_own_lines(tmp_path: Path) -> None:
    text = GOOD + "  day:\n    source: {dataset: x}\n    pruning: {correlation: 2}\n"
    assert [one.split(": ")[0] for one in mistakes(tmp_path, text)] == ["pipelines.yaml:16", "pipelines.yaml:16"]


def test_fractions_are_numbers_where_numbers_are_expected(tmp_path: Path) -> None:
    project = load(tmp_path, changed("correlation: 0.5", "correlation: 4/255"))
    assert project.pipeline("night").pruning.correlation == 4 / 255
    assert mistakes(tmp_path, changed("correlation: 0.5", "correlation: 4/3")) == [
        'pipelines.yaml:8: pruning.correlation: "4/3" — expected a number between 0 and 1'
    ]


def test_a_text_that_looks_like_a_fraction_stays_text(tmp_path: Path) -> None:
    project = load(tmp_path, changed('schedule: "0 2 * * *"', "description: 4/255"))
    assert project.pipeline("night").description == "4/255"


def test_scientific_notation_is_a_number(tmp_path: Path) -> None:
    assert load(tmp_path, changed("alpha: 0.05", "alpha: 5e-2")).pipeline("night").ordering.alpha == 0.05


def test_one_path_or_a_list_of_them(tmp_path: Path) -> None:
    text = "pipelines:\n  a: {source: {csv: x.csv}}\n  b: {source: {csv: [x.csv, y.csv], classes: [n, p]}}\n"
    project = load(tmp_path, text)
    assert project.pipeline("a").source.csv == ("x.csv",)
    assert project.pipeline("b").source.csv == ("x.csv", "y.csv")
    assert project.pipeline("b").source.classes == ("n", "p")


def test_subjects_may_be_written_by_their_model(tmp_path: Path) -> None:
    text = changed(
        "    subject: {model: logistic}", "    subjects:\n      - logistic: {name: a, folds: 3}\n      - a:b"
    )
    subjects = load(tmp_path, text).pipeline("night").subjects
    assert [(one.name, one.model) for one in subjects] == [("a", "logistic"), ("subject", "a:b")]
    assert mistakes(tmp_path, text.replace("folds: 3", "folds: 1")) == [
        "pipelines.yaml:12: subjects.0.folds: 1 — expected a whole number between 2 and 100"
    ]


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "a b", "", "x" * 81])
def test_a_pipeline_name_cannot_be_a_path(tmp_path: Path, name: str) -> None:
    [said] = mistakes(tmp_path, f"pipelines:\n  {name!r}: {{source: {{dataset: sample/digits}}}}\n")
    assert said.startswith("pipelines.yaml:2: ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "pipelines.yaml: expected a mapping with pipelines:, and found nothing"),
        ("[]", "pipelines.yaml:1: expected a mapping with pipelines:, and found []"),
        ("store: x\n", "pipelines.yaml:1: pipelines — missing; expected a mapping of names"),
        ("pipelines: 3\n", "pipelines.yaml:1: pipelines: 3 — expected a mapping of names"),
        ("pipelines:\n  a:\n", "pipelines.yaml:2: pipelines.a: null — expected a mapping with some of description"),
        ("pipelines:\n  a: {}\n", "pipelines.yaml:2: source — missing; expected a mapping with some of dataset"),
        ("pipelines:\n  a: {source: {}}\n", "pipelines.yaml:2: source — a source is exactly one of dataset"),
        (
            "pipelines:\n  a:\n    source:\n      csv: a.csv\n      iob_columns: [1, 2]\n",
            "pipelines.yaml:5: source.iob_columns: [1, 2] — says nothing about `csv`, only about `iob`; leave",
        ),
    ],
)
def test_a_file_that_is_no_project_says_so(tmp_path: Path, text: str, said: str) -> None:
    assert mistakes(tmp_path, text)[0].startswith(said)


def test_an_unknown_pipeline_is_named_with_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        load(tmp_path, GOOD, pipeline="nigt")
    assert str(caught.value) == (
        'There is no pipeline "nigt" in pipelines.yaml. Did you mean night?  (assay list shows all)'
    )


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00", "folder"])
def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path, content: bytes | str | None) -> None:
    file = tmp_path / "pipelines.yaml"
    if content == "folder":
        file.mkdir()
    elif isinstance(content, bytes):
        file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_project(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "pipelines.yaml").write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert "night" in load_project(tmp_path / "pipelines.yaml").pipelines


def test_environment_variables_are_not_filled_in(tmp_path: Path) -> None:
    assert load(tmp_path, changed("store: artifacts", "store: $HOME")).store == str(tmp_path / "$HOME")


@pytest.mark.parametrize("store", ["s3://key:s3cret@bucket", "abfs://data@account?sas_token=s3cret"])
def test_a_store_with_a_password_in_its_address_is_refused_without_quoting_it(tmp_path: Path, store: str) -> None:
    file = tmp_path / "pipelines.yaml"
    file.write_text(f'store: "{store}"\npipelines:\n  night: {{source: {{dataset: sample/breast-cancer}}}}\n')
    for asked in (None, store):
        with pytest.raises(InputError, match="holds a password") as refused:
            load_project(file, store=asked)
        assert "s3cret" not in str(refused.value)


def test_a_store_with_a_scheme_is_left_alone(tmp_path: Path) -> None:
    assert load(tmp_path, changed("store: artifacts", "store: s3://bucket/prefix")).store == "s3://bucket/prefix"
    assert load(tmp_path, GOOD, store="memory://x").store == "memory://x"


def overridden(folder: Path, *overrides: str) -> Project:
    return load(folder, GOOD, pipeline="night", overrides=overrides)


def test_overrides_change_the_pipeline_and_the_project(tmp_path: Path) -> None:
    project = overridden(
        tmp_path,
        "pruning.correlation=0.4",
        "compute.workers=1",
        "weak_labels.labelers=[snorkel, majority]",
        "statistics.significance=1/20",
        "gates.0.at_most=0.05",
        "store=elsewhere",
        "pruning.rank=degree",
    )
    night = project.pipeline("night")
    assert (night.pruning.correlation, night.pruning.rank, night.gates[0].at_most) == (0.4, "degree", 0.05)
    assert (night.weak_labels.labelers, night.statistics.significance) == (("snorkel", "majority"), 0.05)
    assert (project.compute.workers, project.store) == (1, str(tmp_path / "elsewhere"))


def test_null_takes_a_stage_out(tmp_path: Path) -> None:
    assert overridden(tmp_path, "subject=null").pipeline("night").subjects == ()


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("pruning.correlation=1.5", "--set: pruning.correlation: 1.5 — expected a number between 0 and 1"),
        ("pruning.corelation=0.5", "--set: pruning.corelation — unknown key; did you mean correlation?"),
        ("pruning={correlation: 9}", "--set: pruning.correlation: 9 — expected a number between 0 and 1"),
        (
            "compute.workers=many",
            '--set: compute.workers: "many" — expected the word auto or a whole number between 0 and 4,096',
        ),
        (
            "pruning.correlation",
            '--set: "pruning.correlation" — expected key=value, as in --set pruning.correlation=0.4',
        ),
        ("=3", '--set: "=3" — expected key=value, as in --set pruning.correlation=0.4'),
        (
            "weak_labels.labelers=[majority",
            '--set: weak_labels.labelers: "[majority" — expected a value in YAML, as in 0.4, [a, b] or {folds: 3}',
        ),
        (
            "gates.7.at_most=1",
            "--set: gates.7.at_most — cannot be set: pipelines.night.gates is a list of 1; name an item by its position, "
            "from 0",
        ),
        (
            "pruning.correlation.x=1",
            "--set: pruning.correlation.x — cannot be set: pipelines.night.pruning.correlation is 0.5, which has no parts",
        ),
    ],
)
def test_a_wrong_override_is_blamed_on_set(tmp_path: Path, override: str, said: str) -> None:
    assert mistakes(tmp_path, GOOD, pipeline="night", overrides=[override]) == [said]


def test_an_override_that_makes_a_stage_impossible_is_refused(tmp_path: Path) -> None:
    found = mistakes(tmp_path, GOOD, pipeline="night", overrides=["weak_labels=null"])
    assert any("ordering — needs confidences" in one for one in found)
