"""Where a rulebook comes from: a name of ours, an importable `module:object`, a file beside the pipelines file, or
rules that were written down.

What travels to the workers is a reference (where the code is and, for a file, its bytes and those of the modules
beside it that it imports) or what was written. Its fingerprint is the content of exactly that, so that an edited rule
votes again and an untouched one does not; so does one whose word lists were edited, in files that it reads. The
classes of a rulebook are matched with those of the pipeline by name, or by number where the samples name none.
"""

from __future__ import annotations

import hashlib
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.images import Pixels
from assay.infra.errors import InputError, blame_setting, suggestion
from assay.infra.settings import StandsOn
from assay.infra.user_code.references import NOTHING_ELSE, CodeReference, refer_to_module
from assay.tasks.labeling import rulebooks
from assay.tasks.labeling.rules import ABSTAIN, ColumnRule, InBatches, Rulebook, column_in, pixels, rules_of, says
from assay.tasks.labeling.settings import Measure, When, WrittenRule, WrittenRules
from assay.tasks.subjects.addresses.given import GivenModel
from assay.tasks.subjects.predictions import answered_classes

_OURS = {
    "alarms": "662426726c732ee534d7aaf0fc95a0b1d632b224672d17f52850b0acb0295ca1",
    "breast_cancer": "02ac079a9c2d7e36467cf15579ea04b16cb6e7d3dcf64b2987841a6b9cd192bd",
    "lesions": "0a91fde9abdf157c5c9f5d2c9039797218132a39860087cedec8eb2917c5f9a6",
    "reviews": "ee6583348fc0a2553d4e018e790c0c2accd19940f6d50bf56d8827493f2a549d",
    "youtube_spam": "9d0f29469e0c2b48b2c0d731a26f0395a68970459b952656e7ea4b02eecd222b",
}
"""The fingerprints of our own rulebooks. One whose votes change gets another here, as a stage gets another version:
`stage_versions.lock` holds what their code is."""


@dataclass(frozen=True)
class RulebookReference:
    """A rulebook by reference: picklable, hashable, and equal exactly when the code behind it is."""

    functions: str
    code: CodeReference
    attribute: str | None

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the rule module's source, of every module of the same origin that it imports, and of the name.

        A rulebook of ours has the one that is declared for it, so that moving our code makes nobody vote again.
        """
        package, _, name = self.code.module.rpartition(".")
        if package == rulebooks.__name__ and not self.attribute and not self.code.shipped and name in _OURS:
            return _OURS[name]
        return hashlib.sha256(f"{self.code.fingerprint}:{self.attribute or ''}".encode()).hexdigest()

    def load(self) -> Rulebook:
        """The rulebook itself; each process reads it once."""
        return _load(self)

    def at_work(self) -> AbstractContextManager[None]:
        """Within the block its functions are asked: kept in their folder, and heard in what they read."""
        return self.code.at_work("rulebook")


def refer_to_rulebook(
    functions: str, beside: Path | None = None, stands_on: StandsOn = NOTHING_ELSE
) -> RulebookReference:
    """The reference behind what `labeling.functions` says; paths count from the folder `beside`.

    The rulebook is loaded once on the way, so that what is wrong with it is said before anything runs.

    >>> refer_to_rulebook("breast-cancer").load().classes
    ('malignant', 'benign')
    """
    place, _, attribute = functions.partition(":")
    with blame_setting("functions", functions):
        if not place.endswith(".py") and not attribute and "." not in place:
            known = sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(rulebooks.__path__))
            if functions not in known:
                raise InputError(
                    f'There is no rulebook "{functions}" (your own rules are a file.py beside the pipelines file, or '
                    f"module:object); {suggestion(functions, known)}"
                )
            place = f"{rulebooks.__name__}.{functions.replace('-', '_')}"
        code = refer_to_module(functions, place, beside or Path.cwd(), stands_on)
        reference = RulebookReference(functions, code, attribute or None)
        reference.load()
    return reference


@lru_cache(maxsize=32)
def _load(reference: RulebookReference) -> Rulebook:
    """The module's `RULEBOOK`, the object asked for, or a rulebook made of its `CLASSES` and rules."""
    names = vars(reference.code.load())
    attribute = reference.attribute or ("RULEBOOK" if "RULEBOOK" in names else None)
    if attribute is not None and attribute not in names:
        meant = suggestion(attribute, [name for name in names if not name.startswith("_")])
        raise InputError(f'The rules in "{reference.functions}" hold no object named {attribute!r}; {meant}')
    value = names[attribute] if attribute else names.get("RULES", rules_of(list(names.values())))
    if isinstance(value, Rulebook):
        return value
    if not isinstance(value, list | tuple):
        raise InputError(
            f'"{reference.functions}" names a {type(value).__name__}, expected a Rulebook or a list of rules.'
        )
    if "CLASSES" not in names:
        raise InputError(
            f'The rules in "{reference.functions}" do not say which classes their votes stand for: add a line such as '
            'CLASSES = ("ham", "spam"), in the order of the votes 0, 1, ….'
        )
    return Rulebook(reference.functions, names["CLASSES"], value)


def class_codes(rulebook: str, voted: Sequence[str], known: Sequence[str]) -> tuple[int, ...]:
    """The pipeline's code of each class of a rulebook; names decide, unless the samples' classes are mere numbers.

    >>> class_codes("spam", ("ham", "spam"), ("spam", "ham")), class_codes("spam", ("ham", "spam"), ("0", "1"))
    ((1, 0), (0, 1))
    """
    if all(name in known for name in voted):
        return tuple(known.index(name) for name in voted)
    if list(known) == [str(code) for code in range(len(known))] and len(voted) <= len(known):
        return tuple(range(len(voted)))
    stranger = next(name for name in voted if name not in known)
    raise InputError(
        f"The rulebook {rulebook} votes for the class {stranger!r}, but the classes of the samples are "
        f"{', '.join(known)}. Name them alike, in source.classes or in the rulebook's CLASSES."
    )


def recode(votes: pa.Table, codes: Sequence[int]) -> pa.Table:
    """The votes with each class replaced by its code; abstentions stay.

    >>> recode(pa.table({"id": ["a", "b"], "f": pa.array([0, -1], pa.int8())}), (1, 0)).column("f").to_pylist()
    [1, -1]
    """
    if list(codes) == list(range(len(codes))):
        return votes
    lookup = np.array([*codes, -1], np.int8)  # a vote of -1 takes the last entry
    columns = {
        name: votes.column(name) if name == "id" else pa.array(lookup[votes.column(name).to_numpy()], pa.int8())
        for name in votes.column_names
    }
    return pa.table(columns)


MeasureValues = npt.NDArray[np.float64]  # [n]


def brightness(pictures: Pixels) -> MeasureValues:
    """The mean of all values, [n].

    >>> brightness(np.full((1, 3, 2, 2), 0.25, np.float32)).tolist()
    [0.25]
    """
    return np.asarray(pictures.mean(axis=(1, 2, 3), dtype=np.float64))


def contrast(pictures: Pixels) -> MeasureValues:
    """Twice the standard deviation of the grey values, [n]: 1 where half is black and half is white.

    >>> contrast(np.array([[[[0, 1], [1, 0]]]], np.float32)).tolist()
    [1.0]
    """
    return np.asarray(2 * pictures.mean(axis=1, dtype=np.float64).std(axis=(1, 2)))


def colourfulness(pictures: Pixels) -> MeasureValues:
    """How far the highest and the lowest channel of a pixel lie apart, on average, [n]; 0 of grey pictures.

    >>> colourfulness(np.ones((1, 1, 2, 2), np.float32)).tolist()
    [0.0]
    """
    return np.asarray((pictures.max(axis=1) - pictures.min(axis=1)).mean(axis=(1, 2), dtype=np.float64))


def edges(pictures: Pixels) -> MeasureValues:
    """How much neighbouring pixels differ, down and across, on average, [n].

    >>> edges(np.array([[[[0, 1], [1, 0]]]], np.float32)).tolist()
    [1.0]
    """
    grey = pictures.mean(axis=1, dtype=np.float64)
    steps = [np.abs(np.diff(grey, axis=axis)) for axis in (1, 2)]
    total = sum((step.sum(axis=(1, 2)) for step in steps), start=np.zeros(len(grey)))
    return np.asarray(total / max(sum(step[0].size for step in steps if len(step)), 1))


MEASURES: Mapping[Measure, Callable[[Pixels], MeasureValues]] = {
    "brightness": brightness,
    "contrast": contrast,
    "colourfulness": colourfulness,
    "edges": edges,
}


def measured(table: pa.Table) -> dict[Measure, MeasureValues]:
    """Every measure of every picture of a table of samples."""
    pictures = pixels(table)
    return {name: measure(pictures) for name, measure in MEASURES.items()}


measures_of_pictures = InBatches(measured)
"""The frame of rules on these measures: pictures are decoded once for all of them, a batch at a time."""


@dataclass(frozen=True)
class WrittenRulebook:
    """Written rules by content: what travels to the workers is what was written."""

    written: WrittenRules
    asked: tuple[GivenModel | None, ...] = ()
    """Whom each rule with a prompt asks, in the order of the rules."""

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the rules and their classes, and of whoever is asked; comments and the order of keys are no part
        of it."""
        plain = WrittenRules.model_construct(rules=self.written.rules, classes=self.written.classes).model_dump_json()
        asked = "".join(given.fingerprint for given in self.asked if given is not None)
        return hashlib.sha256(f"{plain}{asked}".encode()).hexdigest()

    def load(self) -> Rulebook:
        """The labelling functions.

        >>> rules = (WrittenRule(keywords=("win",), vote="spam"), WrittenRule(pattern="song", vote="ham"))
        >>> book = WrittenRulebook(WrittenRules(rules=rules)).load()
        >>> book.names, book.classes
        (('says win', 'matches song'), ('spam', 'ham'))
        """
        classes, asked = self.written.voted, self.asked or (None,) * len(self.written.rules)
        rules = zip(self.written.rules, asked, strict=True)
        return Rulebook("rules", classes, [rule_of(rule, classes.index(rule.vote), given) for rule, given in rules])

    def at_work(self) -> AbstractContextManager[None]:
        """Nothing to watch: written rules open no files, and run nobody's code."""
        return nullcontext()


def refer_to_written(written: WrittenRules, stands_on: StandsOn, beside: Path) -> WrittenRulebook:
    """The rules, with whoever is asked what a rule's prompt says; raises in words where nobody can be asked so."""
    from assay.tasks.subjects.addresses.endpoint import prompted

    url = str((written.asking or {}).get("url"))
    asked = tuple(
        None if rule.prompt is None else prompted(url, written.asking_of(rule), rule.prompt.encode(), stands_on, beside)
        for rule in written.rules
    )
    return WrittenRulebook(written, asked if any(asked) else ())


def rule_of(rule: WrittenRule, vote: int, given: GivenModel | None = None) -> ColumnRule[Any]:
    """The labelling function of a written rule, which votes for the class of that code; one with a prompt asks the
    model that is given."""
    if rule.prompt is not None:
        return ColumnRule(rule.called, Prompted(given, vote), Values(str(rule.text)))
    if rule.conditions:
        parts = [_threshold(rule.called, condition, vote) for condition in rule.conditions]
        return parts[0] if len(parts) == 1 else _where_all_vote(rule.called, parts, vote)
    pattern = any_phrase(rule.keywords) if rule.keywords is not None else str(rule.pattern)
    return says(rule.called, pattern, vote, unless=rule.unless, column=str(rule.text))


_NEITHER = 2  # the code after those of voting and abstaining


@dataclass(frozen=True)
class Prompted:
    """Votes where a model that answers in words says so; an answer that is neither that nor a word for abstaining is a
    fault of the rule on that sample."""

    given: GivenModel | None
    vote: int

    def __call__(self, texts: list[object]) -> npt.NDArray[np.int64]:
        """The votes on these texts."""
        if self.given is None:
            raise ValueError("a rule with a prompt votes in a run, where it is known whom to ask")
        answers = self.given.load()(["" if text is None else str(text) for text in texts])  # type: ignore[operator]
        answered = answered_classes(answers.values)
        if (answered == _NEITHER).any():
            raise ValueError("the model's answer is none of the words that it may say")
        return np.where(answered == 0, self.vote, ABSTAIN)


def any_phrase(keywords: tuple[str, ...]) -> str:
    """The pattern of whole words or phrases, any of which will do; blanks in a phrase may be any blanks.

    >>> bool(re.search(any_phrase(("c++", "check out")), "Check  out", re.IGNORECASE)), any_phrase(("a b",))
    (True, '(?<!\\\\w)(?:a\\\\s+b)(?!\\\\w)')
    """
    phrases = (r"\s+".join(map(re.escape, phrase.split())) for phrase in keywords)
    return rf"(?<!\w)(?:{'|'.join(phrases)})(?!\w)"


def _threshold(name: str, when: When, vote: int) -> ColumnRule[Any]:
    def within(values: npt.NDArray[np.float64]) -> object:
        inside = ~np.isnan(values)
        inside &= values > when.above if when.above is not None else True
        inside &= values < when.below if when.below is not None else True
        return np.where(inside, vote, ABSTAIN)

    if when.picture is not None:
        measure = when.picture
        return ColumnRule(name, lambda measured: within(measured[measure]), measures_of_pictures)
    column = str(when.column)
    if when.equals is not None:
        return ColumnRule(name, _is(when.equals, vote), Values(column))
    return ColumnRule(name, within, Numbers(column))


@dataclass(frozen=True)
class _Frames:
    """What several rules are shown of the samples, each its own."""

    frames: tuple[Callable[[pa.Table], Any], ...]

    def __call__(self, table: pa.Table) -> list[object]:
        """That of these samples."""
        return [frame(table) for frame in self.frames]


def _where_all_vote(name: str, parts: Sequence[ColumnRule[Any]], vote: int) -> ColumnRule[Any]:
    """The rule that votes where all of these do."""

    def votes(shown: list[object]) -> object:
        voted = [np.asarray(part.function(seen)) == vote for part, seen in zip(parts, shown, strict=True)]
        return np.where(np.all(voted, axis=0), vote, ABSTAIN)

    frames = tuple(part.frame for part in parts)
    rows = min((frame.rows for frame in frames if isinstance(frame, InBatches)), default=None)
    return ColumnRule(name, votes, _Frames(frames) if rows is None else InBatches(_Frames(frames), rows))


def _is(wanted: bool | int | float | str, vote: int) -> Callable[[list[object]], list[int]]:
    """Votes where a value is the wanted one: a number where both are numbers, else by how it is written."""

    def same(value: object) -> bool:
        if isinstance(value, bool) or isinstance(wanted, bool):
            return str(value).lower() == str(wanted).lower()
        if isinstance(value, int | float) and isinstance(wanted, int | float):
            return value == wanted
        return value is not None and str(value) == str(wanted)

    return lambda values: [vote if same(value) else ABSTAIN for value in values]


@dataclass(frozen=True)
class Values:
    """The values of a column as they are, None where there are none."""

    column: str

    def __call__(self, table: pa.Table) -> list[object]:
        """Those of these samples."""
        return list(column_in(table, self.column).to_pylist())


@dataclass(frozen=True)
class Numbers:
    """The numbers of a column, float64 [n]; NaN where there are none."""

    column: str

    def __call__(self, table: pa.Table) -> npt.NDArray[np.float64]:
        """Those of these samples."""
        values = column_in(table, self.column)
        kind = values.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise InputError(
                f"column {self.column!r} holds {kind}, and above and below are about numbers: take another column, or "
                "equals"
            )
        plain = values.cast(pa.int64()) if pa.types.is_boolean(kind) else values
        return np.asarray(plain.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy())
