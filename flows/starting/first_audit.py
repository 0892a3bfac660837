"""`assay init`: the files of a first audit (pipelines.yaml, rules.yaml, a test, .gitignore, a CI job), written all
or none, and never over what is there.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from assay.data.templates import filled
from assay.flows.configuration.menu import json_schema
from assay.flows.starting.brought_model import Brought, Line, look_at_model
from assay.flows.starting.column_roles import NO_ANSWERS, NONE, Answers, Kind, Question, Roles, settle
from assay.flows.starting.first_look import Look, address_of, first_look
from assay.flows.starting.proposal import Proposal, propose
from assay.infra.errors import InputError
from assay.infra.terminal import json_text
from assay.tasks.ingest.file_search import is_remote
from assay.tasks.labeling.settings import When, WrittenRule

SCHEMA = "pipelines.schema.json"
PIPELINES, RULES, TEST = "pipelines.yaml", "rules.yaml", "test_rules.py"
IGNORED, JOB = ".gitignore", ".github/workflows/assay.yml"
NAMES = (PIPELINES, RULES, TEST, IGNORED, JOB, SCHEMA)
_PLAIN = re.compile(r"[A-Za-z_/.][A-Za-z0-9_./*+-]*( [A-Za-z0-9_./+-]+)*")
_FRACTION = re.compile(r"\d+/\d+")
_WORDS = ("true", "false", "null", "yes", "no", "on", "off", "y", "n", ".inf", ".nan")
_WIDTH = 118
_PARTED_BY: dict[Kind, str] = {
    "table": "the bounds on columns, or values of them,",
    "texts": "the words",
    "images": "the bounds on brightness, contrast, colour and edges",
}


def files_of(proposal: Proposal) -> dict[str, str]:
    """The files by their names; the job for GitHub checks, tests the rules and runs, with the gates in its summary."""
    tested = f"      - run: python -m pytest {TEST}\n" if proposal.rules.rules else ""
    rules = {RULES: rules_page(proposal), TEST: test_page(proposal)} if proposal.rules.rules else {}
    return {
        PIPELINES: pipelines_page(proposal),
        **rules,
        IGNORED: "# What Assay writes: artifacts, runs and reports.\n/artifacts/\n__pycache__/\n",
        JOB: filled("github.yml", data=_commented(proposal.data), tested=tested, name=proposal.name),
        SCHEMA: json_text(json_schema(), indent=1) + "\n",
    }


def pipelines_page(proposal: Proposal) -> str:
    """pipelines.yaml, with what was seen of the data at its head.

    The schedule is commented out: nothing runs by itself until somebody wants it to.
    """
    gates = [(f"      # {gate.comment}", f"      - {yaml_flow(gate.value)}") for gate in proposal.gates]
    page = filled(
        "pipelines.txt",
        schema=f"# yaml-language-server: $schema={SCHEMA}\n" if proposal.brought is None else "",
        command="init" if proposal.brought is None else "audit",
        name=proposal.name,
        data=_commented(proposal.data),
        looked_at=proposal.looked_at,
        seen="\n".join(f"#   - {_commented(remark)}" for remark in proposal.seen),
        keys="\n".join(text for line in proposal.lines for text in _pipeline_key(line)),
        gates="\n".join(chain.from_iterable(gates)),
    )
    return page.rstrip() + "\n"


def _pipeline_key(line: Line) -> list[str]:
    """A key of the pipeline: what it is good for behind it, or above it where the line gets long."""
    if isinstance(line.value, list) and line.value and isinstance(line.value[0], dict):
        comment = f"  # {line.comment}" if line.comment else ""
        return [f"    {line.key}:{comment}", *(f"      - {yaml_flow(item)}" for item in line.value)]
    written = f"    {line.key}: {yaml_flow(line.value)}"
    if not line.comment:
        return [written]
    beside = f"{written}  # {line.comment}"
    return [beside] if len(beside) <= _WIDTH else [f"    # {line.comment}", written]


def rules_page(proposal: Proposal) -> str:
    """rules.yaml: the classes, and every rule under what it does on the data."""
    rules, kind = proposal.rules, proposal.roles.kind
    guessed = "words that some texts have" if kind == "texts" else "the ends of what varies together most"
    template, what = ("rules_by_gold.yaml", _PARTED_BY[kind]) if rules.by_gold else ("rules_guessed.yaml", guessed)
    page = filled(template, what=what, name=proposal.name, classes=yaml_flow(list(rules.classes)))
    for rule in rules.rules:
        settings = rule.rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        page += f"  # {_commented(rule.how)}\n  - {yaml_flow(settings)}\n"
    return page


def test_page(proposal: Proposal) -> str:
    """test_rules.py: per rule a sample that it votes on and one that it does not, made up, so that no data is in it."""
    has_pictures, tests = proposal.roles.kind == "images", ""
    for rule in (rule.rule for rule in proposal.rules.rules):
        (on, off), expected = examples(rule), f"[{json_text(rule.vote)}, None]"
        tests += f"\n\ndef test_{rule.called}():\n"
        tests += f"    assert said({json_text(rule.called)}, {on}, {off}) == {expected}\n"
    return filled(
        "test_rules.txt",
        numpy="import numpy as np\n\n" if has_pictures else "",
        pictures=filled("test_pictures.txt") if has_pictures else "",
        tests=tests,
    )


def examples(rule: WrittenRule) -> tuple[str, str]:
    """A made-up sample that a rule votes on, and one on which it abstains, as Python.

    >>> examples(WrittenRule.model_validate({"when": {"column": "age", "above": 70}, "vote": "ill"}))
    ('{"age": 77.0}', '{"age": 70.0}')
    >>> examples(WrittenRule(all=({"column": "age", "above": 70}, {"column": "sex", "equals": "f"}), vote="ill"))
    ('{"age": 77.0, "sex": "f"}', '{"age": 70.0, "sex": "not f"}')
    >>> examples(WrittenRule(keywords=("win", "cash"), vote="spam"))
    ('{"text": "so win then"}', '{"text": "nothing of the kind"}')
    """
    if rule.conditions and (picture := rule.conditions[0].picture) is not None:
        high = {"brightness": "WHITE", "colourfulness": "RED"}.get(picture, "CHECKED")
        on, off = (high, "BLACK") if rule.conditions[0].above is not None else ("BLACK", high)
        return f'{{"image": {on}}}', f'{{"image": {off}}}'
    cells = {str(condition.column): _on_and_off(condition) for condition in rule.conditions}
    cells = cells or {str(rule.text): (f"so {(rule.keywords or ('',))[0]} then", "nothing of the kind")}
    on, off = (json.dumps({name: cell[at] for name, cell in cells.items()}, ensure_ascii=False) for at in (0, 1))
    return on, off


def _on_and_off(condition: When) -> tuple[object, object]:
    """A value for which a condition on a column holds, and one for which it does not."""
    if condition.equals is not None:
        return str(condition.equals), f"not {condition.equals}"
    bound, away = (condition.above, 1) if condition.above is not None else (condition.below or 0.0, -1)
    return float(f"{bound + away * max(1.0, abs(bound) / 10):.4g}"), bound


def yaml_flow(value: object) -> str:
    """A value as YAML on one line.

    >>> yaml_flow({"csv": "a b.csv", "id": "1st", "eps": ["2/255", 0], "on": True})
    '{csv: a b.csv, id: "1st", eps: [2/255, 0], "on": true}'
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{yaml_flow(str(key))}: {yaml_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(yaml_flow(item) for item in value) + "]"
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) is not None and value.lower() not in _WORDS
        return value if plain or _FRACTION.fullmatch(value) else json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False)


def _commented(text: str) -> str:
    """Text that stays within its comment."""
    return " ".join(text.split())


def require_free(folder: Path, keep: bool = False) -> None:
    """Nothing, or the sentence for files that would be overwritten; with `keep` they stay, the others are written."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: name a folder, as in assay init audits, and data by --data.")
    there = [name for name in NAMES if (folder / name).exists()]
    if there and not (keep and len(there) < len(NAMES)):
        way_out = "" if len(there) == len(NAMES) else ", or write only the others with --keep"
        raise InputError(
            f"{folder} has {', '.join(there)} already, and nothing is overwritten: name another folder, as in "
            f"assay init audits{way_out}."
        )


def write_files(files: Mapping[str, str], folder: Path) -> list[str]:
    """The names of the files that were written: those that were not there. Where one cannot be, none is."""
    written: list[Path] = []
    try:
        for name, text in files.items():
            path = folder / name
            if path.exists():
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
    except OSError as error:
        for path in written:
            with suppress(OSError):
                path.unlink()
        raise InputError(
            f"{error.filename or folder} cannot be written ({error.strerror or error}): name another folder."
        ) from error
    return [str(path.relative_to(folder)) for path in written]


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
Ask = Callable[[Question], str]
"""Puts a question to a person, or refuses with a sentence where there is none."""


@dataclass(frozen=True)
class Model:
    """The model that a person brings, what they said of it, and how many seconds its audit may take."""

    written: str
    seconds: float
    revision: str | None = None
    features: tuple[str, ...] = ()
    weights: str | None = None
    trusted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """What a person wants: where the data lies, into which folder, under which name, and what they said of the data."""

    data: str
    folder: Path
    name: str | None = None
    answers: Answers = NO_ANSWERS
    keep: bool = False
    query: str | None = None
    model: Model | None = None


def require_name(name: str) -> None:
    """Nothing, or the sentence for what cannot name a pipeline."""
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name!r} names no pipeline: give up to 80 letters, digits, dots, dashes and underscores with --name."
        )


def proposal_for(wanted: Wanted, ask: Ask) -> Proposal:
    """The audit that is proposed for the data; whatever cannot be known is asked."""
    name = wanted.name or _pipeline_name(wanted)
    require_name(name)
    model, brought, answers = wanted.model, None, wanted.answers
    if model is None:
        require_free(wanted.folder, wanted.keep)
    else:
        brought = look_at_model(model.written, model.revision, model.features, model.weights, model.trusted)
        if os.path.exists(brought.written):
            written = seen_from(brought.written, wanted.folder)
            is_named = "/" in written or os.path.isfile(brought.written)
            brought = replace(brought, written=written if is_named else f"./{written}", beside=wanted.folder)
    seen = first_look(address_of(wanted.data, Path.cwd(), wanted.query), Path.cwd(), answers.id)
    if brought is not None:
        answers = _as_it_answers(answers, brought, seen)
    reads, predicted = ((), False) if brought is None else (brought.features, brought.predicts)
    while not isinstance(roles := settle(seen, answers, reads, predicted), Roles):
        answers = with_answer(answers, roles, ask(roles))
    path = seen.address.path
    place = path if seen.address.origin in ("dataset", "sql") else seen_from(path, wanted.folder)
    return propose(seen, roles, name, place, brought, math.inf if model is None else model.seconds)


def _as_it_answers(answers: Answers, brought: Brought, seen: Look) -> Answers:
    """What a person said, and what the model leaves no doubt about: what it looks at, and the label, whose values are
    its classes."""
    if seen.address.origin == "images":
        return answers
    if answers.kind is None and brought.kind in ("table", "texts"):
        answers = replace(answers, kind=brought.kind)
    names = {name.casefold() for name in brought.classes}
    meant = [
        one.name for one in seen.columns if len(one.values) > 1 and {each.casefold() for each in one.values} <= names
    ]
    if answers.label is None and len(meant) == 1:
        answers = replace(answers, label=meant[0])
    if answers.label == NONE and not answers.classes and brought.classes:
        answers = replace(answers, classes=brought.classes)
    return answers


def write_pipeline(proposal: Proposal, folder: Path) -> Path:
    """Writes the pipeline alone: as pipelines.yaml, or under its own name where that is there; returns the file."""
    names = (PIPELINES, f"{proposal.name}.yaml")
    name = next((name for name in names if not (folder / name).exists()), None)
    if name is None:
        raise InputError(
            f"{names[0]} and {names[1]} are there already, and nothing is overwritten: run it with assay run "
            f"{proposal.name} --config {names[1]}, or give another --name."
        )
    write_files({name: pipelines_page(proposal)}, folder)
    return folder / name


def with_answer(answers: Answers, question: Question, answer: str) -> Answers:
    """What a person said, with the answer to a question.

    >>> with_answer(Answers(), Question("classes", "Which?"), "ham, spam").classes
    ('ham', 'spam')
    """
    answer = answer.strip() or NONE
    if question.about == "classes":
        classes = tuple(dict.fromkeys(name.strip() for name in answer.split(",") if name.strip()))
        if len(classes) < 2:
            raise InputError(
                f"{answer!r} names fewer than two classes: give them with --classes, as in benign,malignant."
            )
        return replace(answers, classes=classes)
    if question.about == "text" and answer == NONE:
        raise InputError("Texts stand in a column: say which with --text, or --kind table.")
    return replace(answers, label=answer) if question.about == "label" else replace(answers, text=answer)


def _pipeline_name(wanted: Wanted) -> str:
    """The pipeline's name: that of the data's file or folder, as far as it can be one.

    >>> _pipeline_name(Wanted("data/My patients.csv", Path(".")))
    'My-patients'
    """
    plain = wanted.data.rstrip("/").split("/")
    stem = next((part for part in reversed(plain) if not set(part) & set("*?[")), "night")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem.split(".")[0]).strip("-._")[:80] or "night"


def seen_from(data: str, folder: Path) -> str:
    """The place of the data as pipelines.yaml says it: from its folder, unless given whole and elsewhere.

    >>> seen_from("day/*.csv", Path("audits"))
    '../day/*.csv'
    """
    if is_remote(data):
        return data
    path = Path(data).expanduser()
    home = Path(os.path.abspath(folder))
    whole = Path(os.path.abspath(path))
    if path.is_absolute() and not whole.is_relative_to(home):
        return str(whole)
    return os.path.relpath(whole, home)
