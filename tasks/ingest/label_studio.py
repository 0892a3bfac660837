"""What people labelled in Label Studio, from its JSON export: as a source of its own (a row a task, a column for each
question), and as gold for the samples of another source.

A choice is the class that most people gave (the ground truth's, where a task has one; none where they are even), a
rating or a number their mean, spans in a text the tags of its words. Beside a choice stands what each person gave.
Several choices, and the spans of a text, count as a whole: as most people gave them. A person's last answer counts.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import WORDS, PeoplesAnswers
from assay.infra.errors import InputError
from assay.tasks.ingest.reader_choice import (
    ROW_BYTES,
    Columns,
    FileIndex,
    Layout,
    ReaderChoice,
    Reading,
    Span,
    parsing,
    typed_rows,
)
from assay.tasks.ingest.record_scanner import require_columns
from assay.tasks.ingest.rows import Rows, plain_type
from assay.tasks.ingest.settings import PeoplesGold, Source
from assay.tasks.ingest.source_files import Address, SourceFile, files_at, hash_of_file, opened, short_names
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.classification import proportion
from assay.tasks.statistics.classification_findings import About
from assay.tasks.statistics.clusters import codes_of
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.groups import group_hashes

T = TypeVar("T")
TASK, TOKENS = "task", "tokens"
MOST_BYTES = 1 << 30
MOST_PEOPLE = 256
"""Of more people than this nobody has a column of their own, which would be wider than it is long."""
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
        given = (values for (kind, asked), values in self.values.items() if kind in kinds and asked == name)
        return list(chain.from_iterable(given))


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
    return [_task(task, name, number) for number, task in enumerate(exported, start=1)]


def _task(entry: Any, name: str, number: int) -> Task:
    fields = entry if isinstance(entry, dict) else {}
    if not (isinstance(fields.get("data"), dict) and isinstance(fields.get("annotations"), list)):
        raise InputError(
            f"{name} has no `data` and `annotations` in task {number}, as the format JSON of Label Studio has "
            "(JSON-MIN and CSV have not); export it as JSON."
        )
    try:
        given = [annotation for annotation in entry["annotations"] if not annotation.get("was_cancelled")]
        true = [annotation for annotation in given if annotation.get("ground_truth")]
        answers = [_answers(annotation) for annotation in true or given]
        last = {each.person if each.person != NOBODY else f"{at}": each for at, each in enumerate(answers)}
        skipped = len(entry["annotations"]) - len(given)
        return Task(int(entry.get("id", number)), entry["data"], tuple(last.values()), bool(true), skipped)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
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
            given: list[Any] = value if isinstance(value, list) else [value]
            if kind in CHOICES and not all(isinstance(choice, str) for choice in given):
                raise ValueError("a choice is a text")
            if kind in _NUMBERS:
                given = [float(number) for number in given]
            values.setdefault((kind, str(result["from_name"])), []).extend(given)
    return Answers(str(person["id"] if isinstance(person, dict) else person), values)


def _span(value: dict[str, Any]) -> dict[str, Any]:
    """A span with what is needed of it."""
    start, end = int(value["start"]), int(value["end"])
    return {"start": start, "end": end, "label": str(value["labels"][0]), "text": value.get("text")}


def _table(tasks: Sequence[Task]) -> pa.Table:
    columns: dict[str, pa.Array] = {TASK: pa.array([task.number for task in tasks], pa.int64())}
    fields = dict.fromkeys(name for task in tasks for name in task.shown)
    asked = sorted({key for task in tasks for answers in task.answers for key in answers.values})
    require_columns(list({**fields, **dict.fromkeys(name for _, name in asked)}), "The export")
    for name in fields:
        columns[name] = _shown([task.shown.get(name) for task in tasks])
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
    texts = [v if v is None or isinstance(v, str) else json.dumps(v, sort_keys=True) for v in values]
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
    if any(len(answers.of(CHOICES, name)) > 1 for task in tasks for answers in task.answers):
        given = [[tuple(sorted(set(answers.of(CHOICES, name)))) for answers in task.answers] for task in tasks]
        return {name: pa.array([_most(filter(None, chosen)) for chosen in given], pa.list_(pa.string()))}
    people = sorted({answers.person for task in tasks for answers in task.answers})
    chosen_by = [[(answers.person, c) for answers in task.answers for c in answers.of(CHOICES, name)] for task in tasks]
    columns = {name: pa.array([_most(choice for _, choice in chosen) for chosen in chosen_by], pa.string())}
    if 1 < len(people) <= MOST_PEOPLE:
        by = [dict(chosen) for chosen in chosen_by]
        columns |= {f"{name}_by_{person}": pa.array([c.get(person) for c in by], pa.string()) for person in people}
    return columns


def _most(choices: Iterable[T]) -> T | None:
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
        given = [[answers.of(_SPANS, name) for answers in task.answers] for task in tasks]
        tags = [_most(tuple(tags_of(text, spans)) for spans in each) for text, each in zip(texts, given, strict=True)]
        columns[name] = pa.array(tags, WORDS)
    return columns


def tags_of(text: str, spans: Sequence[dict[str, Any]]) -> list[str]:
    """A tag for each word (IOB2): the first span that a word lies in, wholly or in part.

    >>> tags_of("No lung cancer.", [{"start": 3, "end": 14, "label": "Disease"}])
    ['O', 'B-Disease', 'I-Disease', 'O']
    """
    placed = [(*(_place(text, span) or (span["start"], span["end"])), span["label"]) for span in spans]
    ordered = sorted(placed, key=lambda span: (span[0], -span[1]))
    tags, last, at = [], None, 0
    for word in _WORD.finditer(text):
        while at < len(ordered) and ordered[at][1] <= word.start():
            at += 1  # it ends before this word, and so before all that follow
        within = at if at < len(ordered) and ordered[at][0] < word.end() else None
        label = ordered[at][2] if within is not None else ""
        tags.append("O" if within is None else f"{'I' if within == last else 'B'}-{label}")
        last = within
    return tags


def _place(text: str, span: dict[str, Any]) -> tuple[int, int] | None:
    """Where a span begins and ends, if the text says there what the span says: in letters, or as JavaScript counts, of
    which a sign such as 😀 is two.

    >>> _place("😀 good", {"start": 3, "end": 7, "text": "good"}), _place("bad", {"start": 0, "end": 1, "text": "d"})
    ((2, 6), None)
    """
    start, end, marked = span["start"], span["end"], span.get("text")
    if text[start:end] == marked:
        return start, end
    units = text.encode("utf-16-le", "surrogatepass")
    before, within = (units[2 * a : 2 * b].decode("utf-16-le", "replace") for a, b in ((0, start), (start, end)))
    return (len(before), len(before) + len(within)) if within == marked else None


def _field_of_spans(tasks: Sequence[Task], names: Sequence[str]) -> str:
    """The field that holds the text which spans are of: where most of them say what stands there."""
    hits = Counter(
        field
        for task in tasks
        for answers in task.answers
        for span in (span for name in names for span in answers.of(_SPANS, name))
        for field, text in task.shown.items()
        if isinstance(text, str) and _place(text, span)
    )
    if not hits:
        raise InputError("The spans of this export are of no text that was shown; export the texts with them, as JSON.")
    return hits.most_common(1)[0][0]


def _columns(files: Sequence[SourceFile], _: Source) -> Columns:
    """Those of all exports together: whoever answered in one of them has a column."""
    schema = _table([task for file in files for task in tasks_in(file.url)]).schema
    return pa.schema([(field.name, plain_type(field.type)) for field in schema]), {}


def _index(file: SourceFile, _: Layout) -> FileIndex:
    return FileIndex(file.name, file.format, rows := len(tasks_in(file.url)), rows * ROW_BYTES)


def _read(span: Span, reading: Reading, needed: tuple[str, ...]) -> Rows:
    exports = {name: tasks_in(url) for name, url in reading.urls.items()}
    before = sum(len(exports[name]) for name in takewhile(lambda name: name != span.name, exports))
    table = _table(list(chain.from_iterable(exports.values())))
    return typed_rows(span, table.slice(before + span.start, span.stop - span.start), reading, needed)


LABEL_STUDIO = ReaderChoice("label_studio", _columns, _index, _read)


NEW, CONFIRMED, OVERRULED = "new", "confirmed", "overruled"
TIED, SKIPPED, UNANSWERED = "tied", "skipped", "unanswered"
OUTCOMES: Mapping[str, tuple[str, str]] = {
    NEW: ("new", "gold where there was none"),
    CONFIRMED: ("as gold was", "the same as the gold column"),
    OVERRULED: ("against gold", "another class than the gold column has; the answer counts"),
    TIED: ("tied", "as many people for one class as for another; the gold column stays"),
    SKIPPED: ("skipped", "skipped by everybody who looked; the gold column stays"),
    UNANSWERED: ("unanswered", "nobody has answered yet; the gold column stays"),
}
"""What became of a sample that people were asked about, in a word and in a sentence."""


@dataclass(frozen=True)
class GoldAnswer:
    """What people said of a sample: the class that most chose (None where there is none), by how many of how many."""

    choice: str | None
    people: int
    agreeing: int
    skipped: int = 0

    def outcome(self, gold: str | None) -> str:
        """What becomes of a sample whose gold column says this.

        >>> overruled, tied, skipped = GoldAnswer("spam", 3, 2), GoldAnswer(None, 2, 1), GoldAnswer(None, 0, 0, 1)
        >>> overruled.outcome("ham"), tied.outcome("ham"), skipped.outcome(None)
        ('overruled', 'tied', 'skipped')
        """
        if self.choice is None:
            return TIED if self.people else SKIPPED if self.skipped else UNANSWERED
        return NEW if gold is None else CONFIRMED if gold == self.choice else OVERRULED


def gold_answers(files: Iterable[tuple[str, Sequence[Task]]], asked: PeoplesGold) -> dict[str, GoldAnswer]:
    """What people said of every sample that they were asked about, by its id; the files by name, in their order.

    Where a sample has a ground truth, only that counts; else the last answer of each person.
    """
    together: dict[str, list[Task]] = {}
    for name, tasks in files:
        _require_question(name, tasks, asked.question)
        for place, task in enumerate(tasks, start=1):
            together.setdefault(_sample(task, asked.id, name, place), []).append(task)
    return {sample: _gold_answer(sample, tasks, asked.question) for sample, tasks in together.items()}


def require_classes(by_sample: Mapping[str, GoldAnswer], classes: Sequence[str], source: str) -> None:
    """Nothing, or the sentence for an answer that is no class."""
    for sample, answer in by_sample.items():
        if answer.choice not in (None, *classes):
            raise InputError(
                f"{source} says {answer.choice!r} of the sample {sample!r}, which is none of the classes "
                f"{', '.join(classes[:10])}; correct the answer, or name all classes under source.classes."
            )


def _gold_answer(sample: str, tasks: Sequence[Task], question: str) -> GoldAnswer:
    true = [task for task in tasks if task.truth] or tasks
    last: dict[str, str] = {}
    for at, task in enumerate(true):
        for number, answers in enumerate(task.answers):
            chosen = _choice(answers, sample, question)
            if chosen is not None:
                last[answers.person if answers.person != NOBODY else f"{at}/{number}"] = chosen
    agreeing = max(Counter(last.values()).values(), default=0)
    return GoldAnswer(_most(last.values()), len(last), agreeing, sum(task.skipped for task in tasks))


def _choice(answers: Answers, sample: str, question: str) -> str | None:
    chosen = answers.of(CHOICES, question)
    if len(chosen) > 1:
        raise InputError(
            f"Somebody chose {len(chosen)} classes for the sample {sample!r}, and gold is one class: let people choose "
            'one (`choice="single"`), and export again.'
        )
    return str(chosen[0]) if chosen else None


def _sample(task: Task, field: str, name: str, place: int) -> str:
    value = task.shown.get(field)
    if value is None or str(value).strip() == "":
        raise InputError(
            f"Task {place} of {name} has no {field!r}, by which a sample is known; say which field of its data has the "
            "id, as in `gold: {label_studio: …, id: comment}`."
        )
    return str(value).strip()


def _require_question(name: str, tasks: Sequence[Task], question: str) -> None:
    asked = {key for task in tasks for answers in task.answers for key in answers.values}
    if asked and not any(kind in CHOICES and name == question for kind, name in asked):
        names = ", ".join(sorted({name for _, name in asked})[:10])
        raise InputError(
            f"Nobody answers {question!r} in {name}, only {names}; say which choice is the class, as in `gold: "
            "{label_studio: …, question: verdict}`."
        )


ORIGIN = "gold"


@dataclass(frozen=True)
class AnswerFiles:
    """Exports of answers by short names, in the order in which they count."""

    asked: PeoplesGold
    urls: tuple[str, ...]

    @property
    def label(self) -> str:
        """What an error calls them."""
        names = short_names(self.urls)
        return names[0] + (f" and {plural(len(names) - 1, 'more file')}" if len(names) > 1 else "")

    @cached_property
    def fingerprint(self) -> str:
        """The hash of all their bytes in their order, and of how an answer is found in them."""
        content = [[hash_of_file(url) for url in self.urls], self.asked.question, self.asked.id]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def read(self) -> dict[str, GoldAnswer]:
        """What people said, by sample; refused where a file became another one meanwhile."""
        known = self.fingerprint
        with parsing(self.label, "an export of Label Studio"):
            by_sample = gold_answers(zip(short_names(self.urls), map(tasks_in, self.urls), strict=True), self.asked)
        if AnswerFiles(self.asked, self.urls).fingerprint != known:
            raise InputError(f"{self.label} (gold) changed while being read: run again when nobody writes to it.")
        return by_sample


def find_answers(asked: PeoplesGold, base_dir: str | Path) -> AnswerFiles:
    """The exports that a source names, or the sentence that says which one is missing or empty."""
    urls_of = [files_at(Address(path, base_dir, ORIGIN, (".json",))) for path in asked.label_studio]
    return AnswerFiles(asked, tuple(dict.fromkeys(url for urls in urls_of for url in urls)))


_CODE = pa.int16()


def settled_samples(
    samples: pa.Table, by_sample: Mapping[str, GoldAnswer], classes: Sequence[str]
) -> tuple[pa.Table, pa.Table]:
    """One partition's samples with people's answers as their gold, and its PeoplesAnswers.

    >>> rows = pa.table({"id": ["a", "b", "c"], "gold": pa.array([0, None, 1], _CODE)})
    >>> ham, spam, tie = GoldAnswer("ham", 1, 1), GoldAnswer("spam", 2, 2), GoldAnswer(None, 2, 1)
    >>> by_sample = {"a": spam, "b": ham, "c": tie, "elsewhere": ham}
    >>> settled, answers = settled_samples(rows, by_sample, ["ham", "spam"])
    >>> settled["gold"].to_pylist(), answers["outcome"].to_pylist()
    ([1, 0, 1], ['overruled', 'new', 'tied'])
    """
    ids = samples["id"].combine_chunks()
    asked = pc.indices_nonzero(pc.is_in(ids, value_set=pa.array(by_sample, pa.string())))
    rows = samples.select([name for name in samples.column_names if name != "gold"]).take(asked)
    names, before = rows["id"].to_pylist(), samples["gold"].take(asked).to_pylist()
    codes = {name: code for code, name in enumerate(classes)}
    given_answers, golds = [by_sample[name] for name in names], [None if c is None else classes[c] for c in before]
    answers = [None if answer.choice is None else codes[answer.choice] for answer in given_answers]
    given = np.full(len(ids), -1, np.int16)
    given[asked.to_numpy()] = [-1 if code is None else code for code in answers]
    gold = pc.coalesce(pa.array(given, _CODE, mask=given < 0), samples["gold"].combine_chunks())
    clusters = group_hashes(rows)
    columns = {
        "id": names,
        "before": before,
        "answer": answers,
        "gold": gold.take(asked),
        "people": [answer.people for answer in given_answers],
        "agreeing": [answer.agreeing for answer in given_answers],
        "skipped": [answer.skipped for answer in given_answers],
        "outcome": [answer.outcome(name) for answer, name in zip(given_answers, golds, strict=True)],
        "cluster": pa.nulls(len(names), pa.int64()) if clusters is None else clusters,
    }
    at = samples.schema.get_field_index("gold")
    return samples.set_column(at, samples.schema.field(at), gold), pa.table(columns, schema=PeoplesAnswers.schema)


def answer_findings(answers: pa.Table) -> list[Finding]:
    """`answers.given` of the samples that people were asked about, `.overruled` of those with gold before,
    `.unanimous` of those that several answered.

    >>> by_sample = {"a": GoldAnswer("spam", 2, 2), "b": GoldAnswer("ham", 1, 1)}
    >>> rows = pa.table({"id": ["a", "b"], "gold": pa.array([0, None], _CODE)})
    >>> findings = answer_findings(settled_samples(rows, by_sample, ["ham", "spam"])[1])
    >>> [(finding.metric, finding.value, finding.n) for finding in findings]
    [('answers.given', 1.0, 2), ('answers.overruled', 1.0, 1), ('answers.unanimous', 1.0, 1)]
    """
    outcome = np.array(answers["outcome"].to_pylist(), dtype=np.str_)
    people, agreeing = answers["people"].to_numpy(), answers["agreeing"].to_numpy()
    clusters = None if answers["cluster"].null_count else codes_of(answers["cluster"].to_numpy())
    about = About("answers", "")
    held = np.isin(outcome, [CONFIRMED, OVERRULED])
    return [
        about.finding("given", proportion(np.isin(outcome, [NEW, CONFIRMED, OVERRULED]), groups=clusters)),
        about.finding("overruled", proportion(outcome == OVERRULED, held, groups=clusters)),
        about.finding("unanimous", proportion(agreeing == people, people > 1, groups=clusters)),
    ]
