"""What people labelled in Label Studio, as its JSON export has it: a row a task, a column for each of its questions.

A choice is the class that most people gave (the ground truth's, where a task has one; none where they are even), a
rating or a number their mean, spans in a text the tags of its words. Beside a choice stands what each person gave.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa

from assay.data.biomedical_schemas import WORDS
from assay.infra.errors import InputError
from assay.tasks.ingest.files import opened

TASK, TOKENS = "task", "tokens"
MOST_BYTES = 1 << 30
_WORD = re.compile(r"\w+|[^\w\s]")
CHOICES, _NUMBERS, _SPANS = ("choices",), ("rating", "number"), ("labels",)
NOBODY = "None"
"""The person of an answer whose export says of nobody that they gave it."""


@dataclass(frozen=True)
class Answers:
    """What one person said of a task: their number, and the values they gave to each question, by kind and name."""

    person: str
    values: dict[tuple[str, str], list[Any]]

    def of(self, kinds: Sequence[str], name: str) -> list[Any]:
        """What they said to one question."""
        return [
            value
            for (kind, asked), values in self.values.items()
            if kind in kinds and asked == name
            for value in values
        ]


@dataclass(frozen=True)
class Task:
    """A task: its number, what was shown, and what people said; of a ground truth only that."""

    number: int
    shown: dict[str, Any]
    answers: tuple[Answers, ...]
    truth: bool = False
    """Whether the answers are a ground truth."""
    skipped: int = 0
    """How often somebody looked and did not answer."""


def export_types(url: str) -> pa.Schema:
    """The columns of an export: what was shown, then the questions."""
    return _table(tasks_in(url)).schema


def export_rows(url: str) -> int:
    """How many tasks there are."""
    return len(tasks_in(url))


def export_table(url: str, start: int, stop: int) -> pa.Table:
    """The tasks from one number to before another."""
    return _table(tasks_in(url)).slice(start, stop - start)


def tasks_in(url: str) -> list[Task]:
    """The tasks of an export, in their order."""
    name = posixpath.basename(url)
    with opened(url, name) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise InputError(f"{name} has more than {MOST_BYTES >> 30} GiB; export fewer tasks at a time.")
    try:
        exported = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{name} is no JSON ({str(error).splitlines()[0]}); export the project again, as JSON."
        ) from error
    if not isinstance(exported, list) or not exported:
        raise InputError(f"{name} has no list of tasks; export the project from Label Studio, as JSON.")
    return [_task(one, name, number) for number, one in enumerate(exported, start=1)]


def _task(entry: Any, name: str, number: int) -> Task:
    if (
        not isinstance(entry, dict)
        or not isinstance(entry.get("data"), dict)
        or not isinstance(entry.get("annotations"), list)
    ):
        raise InputError(
            f"{name} has no `data` and `annotations` in task {number}, as the format JSON of Label Studio has "
            "(JSON-MIN and CSV have not); export it as JSON."
        )
    try:
        given = [each for each in entry["annotations"] if not each.get("was_cancelled")]
        true = [each for each in given if each.get("ground_truth")]
        answers = tuple(map(_answers, true or given))
        skipped = len(entry["annotations"]) - len(given)
        return Task(int(entry.get("id", number)), entry["data"], answers, bool(true), skipped)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"{name} has an annotation in task {number} that is not as Label Studio writes it; export it again, as "
            "JSON."
        ) from error


def _answers(annotation: dict[str, Any]) -> Answers:
    person = annotation.get("completed_by")
    values: dict[tuple[str, str], list[Any]] = {}
    for result in annotation["result"]:
        kind = str(result["type"])
        if kind in (*CHOICES, *_NUMBERS, *_SPANS):
            value = _span(result["value"]) if kind in _SPANS else result["value"][kind]
            values.setdefault((kind, str(result["from_name"])), []).extend(
                value if isinstance(value, list) else [value]
            )
    return Answers(str(person["id"] if isinstance(person, dict) else person), values)


def _span(value: dict[str, Any]) -> dict[str, Any]:
    """A span with what is needed of it."""
    start, end = int(value["start"]), int(value["end"])
    return {"start": start, "end": end, "label": str(value["labels"][0]), "text": value.get("text")}


def _table(tasks: Sequence[Task]) -> pa.Table:
    columns: dict[str, pa.Array] = {TASK: pa.array([task.number for task in tasks], pa.int64())}
    for name in dict.fromkeys(name for task in tasks for name in task.shown):
        columns[name] = _shown([task.shown.get(name) for task in tasks])
    asked = sorted({key for task in tasks for answers in task.answers for key in answers.values})
    for kind, name in asked:
        if kind in CHOICES:
            columns |= _choices(tasks, name)
        elif kind in _NUMBERS:
            columns[name] = pa.array([_mean(task, name) for task in tasks], pa.float64())
    spans = [name for kind, name in asked if kind in _SPANS]
    return pa.table(columns | (_tagged(tasks, spans) if spans else {}))


def _shown(values: list[Any]) -> pa.Array:
    """What was shown, with addresses of Label Studio's own files as paths beside the export."""
    kinds = {type(value) for value in values if value is not None}
    if kinds and (kinds <= {int} or kinds <= {int, float} or kinds <= {bool}):
        return pa.array([float(v) if kinds == {int, float} and v is not None else v for v in values])
    texts = [
        value if value is None or isinstance(value, str) else json.dumps(value, sort_keys=True) for value in values
    ]
    return pa.array([text if text is None else path_of(text) for text in texts], pa.string())


def path_of(text: str) -> str:
    """The path of a file that Label Studio serves; any other text as it is.

    >>> path_of("/data/local-files/?d=scans/a.png"), path_of("/data/upload/3/b.png"), path_of("good video")
    ('scans/a.png', 'upload/3/b.png', 'good video')
    """
    if text.startswith("/data/local-files/"):
        return parse_qs(urlsplit(text).query).get("d", [text])[0]
    return text.removeprefix("/data/") if text.startswith("/data/upload/") else text


def _choices(tasks: Sequence[Task], name: str) -> dict[str, pa.Array]:
    """The choice that most made of each task, and that of each person where there are several of them."""
    several = any(len(answers.of(CHOICES, name)) > 1 for task in tasks for answers in task.answers)
    if several:
        chosen = [sorted({c for answers in task.answers for c in answers.of(CHOICES, name)}) for task in tasks]
        return {name: pa.array([found or None for found in chosen], pa.list_(pa.string()))}
    people = sorted({answers.person for task in tasks for answers in task.answers})
    by = {person: [_first(task, person, name) for task in tasks] for person in people}
    each = {f"{name}_by_{person}": pa.array(found, pa.string()) for person, found in by.items()}
    most = [_most(choice for answers in task.answers for choice in answers.of(CHOICES, name)) for task in tasks]
    return {name: pa.array(most, pa.string())} | (each if len(people) > 1 else {})


def _first(task: Task, person: str, name: str) -> str | None:
    return next((c for answers in task.answers if answers.person == person for c in answers.of(CHOICES, name)), None)


def _most(choices: Iterable[str]) -> str | None:
    """The most frequent, or nothing where two are.

    >>> _most(["ham", "spam", "ham"]), _most(["ham", "spam"]), _most([])
    ('ham', None, None)
    """
    counts = Counter(choices).most_common(2)
    return counts[0][0] if counts and (len(counts) == 1 or counts[0][1] > counts[1][1]) else None


def _mean(task: Task, name: str) -> float | None:
    values = [float(value) for answers in task.answers for value in answers.of(_NUMBERS, name)]
    return sum(values) / len(values) if values else None


def _tagged(tasks: Sequence[Task], names: Sequence[str]) -> dict[str, pa.Array]:
    """The words of the text that spans are of, and their tags; of a task that nobody has looked at the words alone."""
    field = _field_of_spans(tasks, names)
    texts = [str(task.shown.get(field) or "") for task in tasks]
    columns = {TOKENS: pa.array([_WORD.findall(text) for text in texts], WORDS)}
    for name in names:
        tags = [
            tags_of(text, task.answers[0].of(_SPANS, name)) if task.answers else None
            for text, task in zip(texts, tasks, strict=True)
        ]
        columns[name] = pa.array(tags, WORDS)
    return columns


def tags_of(text: str, spans: Sequence[dict[str, Any]]) -> list[str]:
    """A tag for each word (IOB2): the first span that a word lies in, wholly or in part.

    >>> tags_of("No lung cancer.", [{"start": 3, "end": 14, "label": "Disease"}])
    ['O', 'B-Disease', 'I-Disease', 'O']
    """
    ordered = sorted(spans, key=lambda span: (span["start"], -span["end"]))
    tags, last = [], None
    for word in _WORD.finditer(text):
        within = next((at for at, span in enumerate(ordered) if _overlaps(word.span(), span)), None)
        label = ordered[within]["label"] if within is not None else ""
        tags.append("O" if within is None else f"{'I' if within == last else 'B'}-{label}")
        last = within
    return tags


def _overlaps(word: tuple[int, int], span: dict[str, Any]) -> bool:
    return bool(word[0] < span["end"] and span["start"] < word[1])


def _field_of_spans(tasks: Sequence[Task], names: Sequence[str]) -> str:
    """The field that holds the text which spans are of: where most of them say what stands there."""
    hits = Counter(field for task in tasks for field in _fields_that_match(task, names))
    if not hits:
        raise InputError("The spans of this export are of no text that was shown; export the texts with them, as JSON.")
    return hits.most_common(1)[0][0]


def _fields_that_match(task: Task, names: Sequence[str]) -> Iterator[str]:
    for answers in task.answers:
        for span in (span for name in names for span in answers.of(_SPANS, name)):
            for field, text in task.shown.items():
                if isinstance(text, str) and text[span["start"] : span["end"]] == span.get("text"):
                    yield field
