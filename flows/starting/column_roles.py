"""What the columns of data mean: as a person says, else as their names and contents leave no doubt; else a
question.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields, replace
from importlib.resources import files
from typing import Literal

from ruamel.yaml import YAML

from assay.flows.starting.first_look import MOST_VALUES, Column, Look
from assay.infra.errors import InputError, first_named, suggestion
from assay.tasks.ingest.file_search import SPLITS
from assay.tasks.reporting.numerals import plural

Kind = Literal["table", "images", "texts"]

CALLED = {
    what: frozenset(words)
    for what, words in YAML(typ="safe").load(files("assay.data").joinpath("lexicons", "column_names.yaml")).items()
}
"""Words in the names of columns, by what such columns are."""
NONE = "-"
"""What a person answers where there is no such column."""


@dataclass(frozen=True)
class Answers:
    """What a person said of the data; None where nothing was said, `-` where there is no such thing."""

    kind: Kind | None = None
    label: str | None = None
    classes: tuple[str, ...] = ()
    id: str | None = None
    text: str | None = None
    group: str | None = None
    split: str | None = None
    predictions: str | None = None
    """The column of what another model said, by the names of the label's classes."""


NO_ANSWERS = Answers()
_COLUMNS = ("label", "id", "text", "group", "split", "predictions")


@dataclass(frozen=True)
class Question:
    """What cannot be known from the data: the field of `Answers` that it is about, and what may be answered."""

    about: str
    asked: str
    choices: tuple[str, ...] = ()

    def refusal(self, by: str = "--") -> str:
        """The sentence where nobody can be asked; options of commands begin with two dashes."""
        some = f" ({first_named(self.choices, 12)})" if self.choices else ""
        return f"{self.asked}{some} cannot be known from the data: say it with {by}{self.about}."


@dataclass(frozen=True)
class Roles(Answers):
    """What every column is for, once nothing is left to ask: the numbers and the words are what rules may look at."""

    kind: Kind = "table"
    numbers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()
    """Columns of numbers that name or count samples: no model should look at them."""
    day: str | None = None
    """The column of dates by which samples that are audited come after those that train."""
    give_away: tuple[str, ...] = ()
    """Columns that tell the classes by themselves, and stay out of features and rules."""
    predicted: bool = False
    """Whether the label is a number, which the model predicts, and no class."""


def settle(look: Look, answers: Answers, reads: Collection[str] = (), predicted: bool = False) -> Roles | Question:
    """What the columns mean, or the first thing that has to be asked; those that a model `reads` are features unless a
    person says otherwise. Of a model that predicts a number, the label is that number."""
    if look.address.origin == "images":
        return _of_images(look, answers)
    if look.address.origin == "dataset":
        return _of_sample(look)
    _require_columns(look, answers)
    texts = sorted((column for column in look.columns if column.holds == "texts"), key=lambda column: -column.words)
    kind = answers.kind or ("texts" if answers.text or texts else "table")
    if kind == "images":
        raise InputError(f"{look.address.path} is a table, no folder of images: give the folder, or another --kind.")
    taken = {name for name in (getattr(answers, setting) for setting in _COLUMNS) if name}
    text = answers.text or next((column.name for column in _without(texts, *taken)), None)
    if kind == "texts" and text is None:
        readable = tuple(column.name for column in _without(look.columns, *taken) if column.holds in ("texts", "words"))
        return Question("text", "Which column holds the text", readable)
    identity = _answer_or(answers.id, _id(look, {*taken, *reads}))
    free = _without(look.columns, identity, text)
    split = _answer_or(answers.split, _split(_without(free, *reads)))
    label = _answer_or(answers.label, _label(_without(free, split, *taken, *reads)))
    named = None if label is None else look.column(label)
    if predicted and (named is None or named.holds != "numbers"):
        choices = tuple(column.name for column in _without(free, split) if column.holds == "numbers")
        return Question("label", "Which column of numbers the model predicts", choices)
    if not predicted:
        _require_classes(named, look)
    if label is None and answers.label is None and not answers.classes:
        choices = tuple(column.name for column in _without(free, split) if _may_be_label(column))
        none = "" if choices else f" (none has 2 to {MOST_VALUES} values that repeat)"
        return Question("label", f"Which column says what a sample is{none}", choices)
    if label is None and len(answers.classes) < 2:
        return Question("classes", "Without a label, which classes the rules vote for, as in benign,malignant,")
    group = _answer_or(answers.group, _group(_without(free, split, label, *reads)))
    rest = _without(free, split, label, group)
    found = None if predicted else _predictions(_without(rest, *reads), named)
    predictions = _answer_or(answers.predictions, found)
    if predictions is not None:  # chances beside it are the other model's, too
        rest = _without(rest, predictions, *({*chances_in(rest)} - {*reads}))
    numbers = [column for column in rest if column.holds == "numbers"]
    suspects = tuple(column.name for column in numbers if _names_rows(column))
    varying = tuple(column.name for column in _without(numbers, *suspects) if column.distinct > 1)
    words = tuple(column.name for column in rest if column.holds == "words" and 2 <= column.distinct <= MOST_VALUES)
    text, day = None if kind == "table" else text, None if split else _day(rest)
    roles = Roles(
        kind, label, answers.classes, identity, text, group, split, predictions, varying, words, suspects, day
    )
    return replace(roles, predicted=predicted)


_MOST_CLASSES = 127


def _require_classes(label: Column | None, look: Look) -> None:
    """Nothing, or what can be audited of a column that says no class."""
    if label is None or (2 <= label.distinct <= MOST_VALUES and (label.whole or label.holds == "words")):
        return
    if label.holds == "numbers" and label.distinct > 1:
        name, above = label.name, f"df['high'] = df['{label.name}'] > {label.half:.6g}"
        raise InputError(
            f"{name} holds numbers ({label.distinct:,} different in {look.looked_at:,} rows), and what is written here "
            f"is of classes. A model that predicts {name} is audited with `score: {name}` in the source and `subjects: "
            f"[{{name: ours, model: model.py:predict, predicts: {name}}}]` (docs/regression.md). Of classes, take on "
            f"which side of its median it lies, as a column ({above}); leave {name} out, and give --label high."
        )
    if not 2 <= label.distinct <= min(_MOST_CLASSES, look.rows // 2):
        raise InputError(
            f"{label.name} has {plural(label.distinct, 'different value')} in {look.looked_at:,} rows, and classes are "
            f"2 to {_MOST_CLASSES}, each of several rows: name another column with --label, or - for none."
        )


def _without(columns: Iterable[Column], *names: str | None) -> list[Column]:
    return [column for column in columns if column.name not in names]


def _answer_or(answer: str | None, found: str | None) -> str | None:
    """What a person said, `-` being no column at all; else what was found."""
    return found if not answer else None if answer == NONE else answer


def _of_sample(look: Look) -> Roles:
    """A data set of ours says itself what a sample is."""
    numbers, texts, words = (
        tuple(column.name for column in look.columns if column.holds == held and column.distinct > 1)
        for held in ("numbers", "texts", "words")
    )
    if len(look.classes) < 2:
        raise InputError(f"{look.address.path} says no class a sample: name another one (assay data list shows all).")
    parts = "split" if "split" in words else None
    if look.shapes:
        return Roles("images", label="class", split=parts)
    kind: Kind = "texts" if texts else "table"
    return Roles(kind, "class", text=texts[0] if texts else None, split=parts, numbers=numbers, words=words)


def _of_images(look: Look, answers: Answers) -> Roles:
    named = [field.name for field in fields(answers) if field.name != "kind" and getattr(answers, field.name)]
    if answers.kind not in (None, "images"):
        raise InputError(f"{look.address.path} is a folder of images, no {answers.kind}: leave --kind out.")
    if named:
        raise InputError(f"A folder of images has no columns, its folders are the classes: leave --{named[0]} out.")
    return Roles("images", label="class", split="split" if look.parts else None)


def _require_columns(look: Look, answers: Answers) -> None:
    for setting in _COLUMNS:
        name = getattr(answers, setting)
        if name not in (None, NONE) and look.column(name) is None:
            known = suggestion(name, [column.name for column in look.columns])
            raise InputError(f"{look.address.path} has no column {name!r} for --{setting}; {known}")
    identity = look.column(answers.id) if answers.id else None
    if identity is not None and not identity.is_unique:
        raise InputError(
            f"{look.address.path} has {identity.distinct:,} different values in {identity.rows:,} rows of "
            f"{identity.name!r}, and an id names one sample: leave --id out (rows are named by file and line), or name "
            "another column."
        )


def _only(columns: list[Column]) -> str | None:
    return columns[0].name if len(columns) == 1 else None


def _parts_of(name: str) -> set[str]:
    """The words that a column's name is made of.

    >>> sorted(_parts_of("PatientID")), sorted(_parts_of("true_label"))
    (['id', 'patient'], ['label', 'true'])
    """
    apart = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    return {word.lower() for word in re.split(r"[^A-Za-z0-9]+", apart) if word}


def _is_called(column: Column, *kinds: str) -> bool:
    """Whether its name has a word of each of these kinds."""
    return all(_parts_of(column.name) & CALLED[kind] for kind in kinds)


def _id(look: Look, taken: set[str]) -> str | None:
    """The column that names a sample: unique, and called so, or as what has a sample each (person), or unique text;
    None where rows are to be numbered."""
    free = [column for column in _without(look.columns, *taken) if column.whole or column.holds == "words"]
    unique = [column for column in free if column.is_unique]
    of_each = [column for column in unique if _parts_of(column.name) <= CALLED["groups"] and _parts_of(column.name)]
    called = [column for column in unique if _is_id(column)] or of_each
    best = called or [column for column in unique if column.holds == "words" and look.rows == look.looked_at]
    return best[0].name if best else None


def _may_be_label(column: Column) -> bool:
    return (column.holds == "words" or column.whole) and 2 <= column.distinct <= MOST_VALUES < column.rows


def _label(columns: list[Column]) -> str | None:
    """The only column that is called like a label, or the only one that may be one; without any, one of numbers that is
    called so, for the sentence that says what can be audited of it."""
    able = [column for column in columns if _may_be_label(column) and not _is_called(column, "predictions")]
    called = [column for column in able if _is_called(column, "labels")]
    exactly = [column for column in called if column.name.lower() in CALLED["labels"]]
    named = [column for column in columns if not able and column.name.lower() in CALLED["labels"]]
    return _only(called) or _only(exactly) or (None if called else _only(able)) or _only(named)


def _predictions(columns: list[Column], label: Column | None) -> str | None:
    """The only column that is called like predictions and says classes of the label alone."""
    if label is None or not label.values:
        return None
    said = [column for column in columns if _is_called(column, "predictions") and column.values]
    return _only([column for column in said if {*column.values} <= {*label.values}])


def chances_in(columns: Iterable[Column]) -> list[str]:
    """The columns of numbers that are called like what a model gives beside its answer: a chance, a score."""
    return [column.name for column in columns if column.holds == "numbers" and _is_called(column, "chances")]


def _split(columns: list[Column]) -> str | None:
    called = [column for column in columns if _is_called(column, "parts") and column.values]
    return _only([column for column in called if {value.lower() for value in column.values} <= SPLITS.keys()])


def _group(columns: list[Column]) -> str | None:
    """What several samples belong to: the column that is called so, or an id, and repeats; else one that stands in
    blocks of equal length, else the one that fixes most others."""
    repeated = [column for column in columns if 10 <= column.distinct <= 0.9 * column.rows]
    named = [column for column in repeated if column.whole or column.holds == "words"]
    fine = [column for column in named if column.distinct > MOST_VALUES and column.name.lower() != "index"]
    called = [column for column in named if _is_called(column, "groups") or (column in fine and _is_id(column))]
    blocks = [column for column in named if column.in_blocks and not _is_called(column, "times")]
    fixing = sorted((column for column in named if column.fixes), key=lambda column: (-column.fixes, -column.distinct))
    best = sorted(called, key=lambda column: (not column.in_blocks, -column.fixes))
    return next((column.name for column in [*best, *blocks, *fixing]), None)


def _is_id(column: Column) -> bool:
    """Whether it is called like an id, with or without what stands before it.

    >>> [_is_id(Column(name, "words", True, 9, 9, 0)) for name in ("PatientID", "custid", "Unnamed: 0", "paid")]
    [True, True, True, False]
    """
    name = column.name.strip().lower()
    joined = re.fullmatch(r"[a-z]{2,}id|[a-z]{3,}no", name) is not None and name not in CALLED["no_ids"]
    return _is_called(column, "ids") or joined or name in ("", "index") or name.startswith("unnamed:")


_NAMING = (("groups",), ("places",), ("counted", "counters"))


def _names_rows(column: Column) -> bool:
    """Whether a column of numbers names or counts what samples belong to instead of measuring them."""
    called = _is_id(column) or any(_is_called(column, *kinds) for kinds in _NAMING)
    name, is_time = column.name.lower(), _is_called(column, "times")
    is_code = name in CALLED["territories"] or re.search(r"(code|fips?)\d*$", name) is not None
    named = (called or is_code or column.in_blocks) and column.distinct > MOST_VALUES and not is_time
    return column.whole and (column.counts_rows or named)


def _day(columns: list[Column]) -> str | None:
    """The first column of dates, but for those of births, that there are enough of to part samples by."""
    days = [column for column in columns if column.holds == "dates" and not _is_called(column, "born")]
    return next((column.name for column in days if column.distinct >= 10 and not column.missing), None)
