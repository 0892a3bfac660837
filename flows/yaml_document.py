"""YAML 1.2 as plain values that remember their lines, so that every mistake names its line; `--set key=value` changes
them.

Read with ruamel: PyYAML takes `1e-3` for text and `on` for true, and lets the second of two equal keys win silently.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from assay.infra.errors import InputError
from assay.infra.errors import nearest as nearest
from assay.infra.errors import suggestion as suggestion
from assay.infra.user_code.references import read_given_file

if TYPE_CHECKING:
    from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode


Where = tuple[str | int, ...]
"""A place in a configuration: the keys and list positions that lead to it."""

LONGEST_VALUE = 60
MOST_BYTES = 1 << 20
"""A larger file is no configuration that anybody wrote."""
_PASSWORD = re.compile(
    r"""(://[^/@:\s"]*:)(?!\$\{)[^"]+(?=@)|([?&][^=&"]*(?i:password|passwd|pwd|secret|token|key)[^=&"]*=)(?!\$\{)[^&"]+"""
)


@dataclass(frozen=True)
class Mistake:
    """One thing wrong: `value` is what stands there, as it would be written, or empty where nothing does."""

    file: str
    line: int | None
    path: str
    value: str
    expected: str

    def __str__(self) -> str:
        """The mistake as one line.

        >>> print(Mistake("pipelines.yaml", 12, "pruning.correlation", "1.5", "expected a number between 0 and 1"))
        pipelines.yaml:12: pruning.correlation: 1.5 — expected a number between 0 and 1
        """
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        what = ": ".join(text for text in (self.path, self.value) if text)
        return f"{place}: {what} — {self.expected}" if what else f"{place}: {self.expected}"


class ConfigurationError(InputError):
    """The configuration cannot be used; the message lists every mistake, one line each."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


def dotted(where: Where) -> str:
    """The place as a person writes it.

    >>> dotted(("gates", 0, "at_most"))
    'gates.0.at_most'
    """
    return ".".join(str(step) for step in where)


def shown(value: object) -> str:
    """The value as YAML would write it on one line, cut short where it is long, passwords of addresses left out.

    >>> shown(True), shown([1, "a b"]), shown("1.5"), shown("postgresql://night:1234@db/clinic")
    ('true', '[1, "a b"]', '"1.5"', '"postgresql://night:***@db/clinic"')
    """
    try:
        written = json.dumps(value, ensure_ascii=False, default=str)
        text = _PASSWORD.sub(lambda secret: f"{secret[1] or secret[2]}***", written)
    except (ValueError, RecursionError):
        text = type(value).__name__
    printable = "".join(letter if letter.isprintable() else "�" for letter in text)
    return printable if len(printable) <= LONGEST_VALUE else printable[: LONGEST_VALUE - 1] + "…"


Value = None | bool | int | float | str | list["Value"] | dict[str, "Value"]

MOST_VALUES = 100_000
MOST_DEPTH = 24
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"


def as_dict(value: Value) -> dict[str, Value]:
    """The mapping, or an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def as_list(value: Value) -> list[Value]:
    """The list, or an empty one where it is none."""
    return value if isinstance(value, list) else []


@dataclass
class Document:
    """What a file says (`value`), on which line it says each thing, and what could not be read."""

    file: str
    value: Value = None
    lines: dict[Where, int] = field(default_factory=dict)
    mistakes: list[tuple[Where, Mistake]] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)
    """The pipelines that come from another file, with its name."""

    def file_of(self, where: Where) -> str:
        """The file that a place stands in."""
        return self.origins.get(str(where[1]), self.file) if len(where) > 1 and where[0] == "pipelines" else self.file

    @property
    def pipelines(self) -> dict[str, Value]:
        """The pipelines of a project's file, by name."""
        return as_dict(as_dict(self.value).get("pipelines"))

    def line(self, where: Where) -> int | None:
        """The line of a place, or of the nearest thing around it that has one."""
        for length in range(len(where), -1, -1):
            if where[:length] in self.lines:
                return self.lines[where[:length]]
        return None

    def mistake(self, where: Where, value: str, expected: str) -> tuple[Where, Mistake]:
        """A mistake at a place of the document: what stands there, and what was expected."""
        return where, Mistake(self.file_of(where), self.line(where), dotted(where), value, expected)

    def at(self, where: Where) -> Value:
        """What stands at a place; nothing where the place does not exist."""
        return cast(Value, value_at(self.value, where))


def has_step(value: object, step: str | int) -> bool:
    """Whether a key, or a position, is in a mapping or a list.

    >>> has_step({"a": 1}, "a"), has_step([1], 0), has_step([1], 1), has_step("a", 0)
    (True, True, False, False)
    """
    if isinstance(value, dict):
        return str(step) in value
    return isinstance(value, list | tuple) and isinstance(step, int) and 0 <= step < len(value)


def value_at(value: object, where: Where) -> object:
    """What stands at a place of some plain values; nothing where the place does not exist."""
    for step in where:
        if not has_step(value, step):
            return None
        value = value[str(step) if isinstance(value, dict) else step]  # type: ignore[index]
    return value


def text_of(file: Path, name: str, missing: str) -> str:
    """The text of a YAML file that messages call `name`; `missing` is what is said where there is none."""
    try:
        return read_given_file(file, name, MOST_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(missing) from None
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}.") from None


def read_yaml(text: str, file: str, *, pure: bool = True) -> Document:
    """The one document in `text`; whatever cannot be read is among its mistakes, with its line.

    Without `pure` the library's C parser reads it, seven times as fast, where it is installed; its mistakes have other
    words, so it is for what comes with Assay.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    reader = _Reader(Document(file))
    try:
        root = YAML(typ="safe", pure=pure).compose(text)
        if root is not None:
            reader.document.value = reader.value(root, ())
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "the text breaks off"
        reader.wrong(None if mark is None else mark.line + 1, (), "", f"not valid YAML: {' '.join(problem.split())}")
    except _TooManyValuesError:
        pass  # it is among the mistakes; what aliases of aliases multiply would not end
    except YAMLError as error:
        reader.wrong(None, (), "", f"not valid YAML: {' '.join(str(error).split())}")
    except (RecursionError, OverflowError):
        reader.wrong(None, (), "", "nested too deeply to be read")
    except (ValueError, AssertionError, IndexError, KeyError, TypeError, AttributeError) as error:
        reader.wrong(None, (), "", f"not valid YAML: {' '.join(str(error).split()) or type(error).__name__}")
    return reader.document


class _TooManyValuesError(Exception):
    """The reader stops: aliases multiply what stands there."""


class _Reader:
    """Walks the nodes of a document and turns them into plain values, noting lines and mistakes on the way."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.values = 0
        self.open: set[int] = set()
        self.noted: list[Where] = []
        """The places whose lines are known, in the order in which they were met."""

    def wrong(self, line: int | None, where: Where, value: str, expected: str) -> None:
        self.document.mistakes.append((where, Mistake(self.document.file, line, dotted(where), value, expected)))

    def note(self, where: Where, line: int) -> None:
        """Keep the line of a place; the first one stays."""
        if where not in self.document.lines:
            self.document.lines[where] = line
            self.noted.append(where)

    def value(self, node: Node, where: Where) -> Value:
        """The plain value of a node; `where` it stands."""
        from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

        line = node.start_mark.line + 1
        self.note(where, line)
        self.values += 1
        if self.values == MOST_VALUES:
            self.wrong(line, where, "", f"expected a file of fewer than {MOST_VALUES} values; do aliases repeat it?")
            raise _TooManyValuesError
        if len(where) > MOST_DEPTH:
            self.wrong(line, where[:2], "", f"nested more than {MOST_DEPTH} deep, which no setting is")
            return None
        if id(node) in self.open:
            self.wrong(line, where, "", "an alias stands inside the very thing it names")
            return None
        self.open.add(id(node))
        try:
            if isinstance(node, ScalarNode):
                return self.scalar(node, where)
            if isinstance(node, SequenceNode):
                return self.items(node, where)
            if isinstance(node, MappingNode):
                return self.mapping(node, where)
            raise TypeError(f"there is no plain value for {type(node).__name__}")
        finally:
            self.open.discard(id(node))

    def scalar(self, node: ScalarNode, where: Where) -> Value:
        text, tag = str(node.value), str(node.tag)
        try:
            return plain(text, tag)
        except (ValueError, OverflowError):
            kind = tag.removeprefix(_TAG)
            self.wrong(node.start_mark.line + 1, where, shown(text), f"cannot be read as {kind}; write plain YAML")
            return None

    def items(self, node: SequenceNode, where: Where) -> list[Value]:
        if str(node.tag) != f"{_TAG}seq":
            self.wrong(node.start_mark.line + 1, where, "", f"the tag {node.tag} is not known; write plain YAML")
        return [self.value(item, (*where, position)) for position, item in enumerate(node.value)]

    def mapping(self, node: MappingNode, where: Where) -> dict[str, Value]:
        from ruamel.yaml.nodes import ScalarNode

        if str(node.tag) != f"{_TAG}map":
            self.wrong(node.start_mark.line + 1, where, "", f"the tag {node.tag} is not known; write plain YAML")
        entries: dict[str, Value] = {}
        seen: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode):
                self.wrong(line, where, "", "expected a word before the colon, found a list or a mapping")
            elif str(key_node.tag) == _MERGE:
                self.merge(value_node, where, entries)
            elif (key := str(key_node.value)) in seen:
                message = f"this key already stands on line {seen[key]}; keep one of the two"
                self.wrong(line, (*where, key), "", message)
            else:
                seen[key] = line
                self.note((*where, key), line)
                self.document.lines[(*where, key)] = line  # the key's own line, whatever was merged in before
                entries[key] = self.value(value_node, (*where, key))
        return entries

    def merge(self, node: Node, where: Where, entries: dict[str, Value]) -> None:
        """Takes in what `<<: *anchor` names; keys that stand beside it win."""
        before = len(self.noted)
        merged = self.value(node, (*where, "<<"))
        there, depth = dict[Where, list[Where]](), len(where) + (3 if isinstance(merged, list) else 2)
        for place in self.noted[before:]:
            there.setdefault(place[:depth], []).append(place)
        del self.noted[before:]
        sources = merged if isinstance(merged, list) else [merged]
        for position, source in enumerate(sources):
            if not isinstance(source, dict):
                self.wrong(node.start_mark.line + 1, (*where, "<<"), shown(source), "expected an alias of a mapping")
                continue
            begin: Where = (*where, "<<", position) if isinstance(merged, list) else (*where, "<<")
            for key, value in source.items():
                if key not in entries:
                    entries[key] = value
                    for place in there.get((*begin, key), ()):
                        self.note((*where, key, *place[depth:]), self.document.lines[place])


def plain(text: str, tag: str) -> Value:
    """The value that YAML 1.2 gives a scalar; dates stay text, other tags raise `ValueError`.

    >>> plain("1e-3", "tag:yaml.org,2002:float"), plain("0o17", "tag:yaml.org,2002:int")
    (0.001, 15)
    """
    kind = tag.removeprefix(_TAG)
    if kind in ("str", "timestamp", "value"):
        return text
    if kind == "null":
        return None
    if kind == "bool":
        return {"true": True, "false": False}[text.lower()] if text.lower() in ("true", "false") else text
    if kind == "int":
        digits = text.replace("_", "").lower()
        return int(digits, 0 if digits.lstrip("+-")[:2] in ("0x", "0o", "0b") else 10)
    if kind == "float":
        return float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
    raise ValueError(f"the tag {tag} is not known")


FLAG = "--set"


def apply_overrides(document: Document, overrides: Sequence[str], inside: Where, outside: frozenset[str]) -> set[Where]:
    """Puts each `key=value` into the document and returns the places it changed.

    Keys are read from `inside` (the pipeline that runs) unless their first word is in `outside` (store, compute).
    What cannot be put in is added to the document's mistakes.
    """
    changed: set[Where] = set()
    for override in overrides:
        key, equals, text = override.partition("=")
        steps: Where = tuple(
            int(step) if step.isdecimal() and len(step) < 9 else step for step in key.strip().split(".")
        )
        if not equals or "" in steps:
            _add_mistake(document, "", shown(override), "expected key=value, as in --set pruning.correlation=0.4")
            continue
        if len(steps) > MOST_DEPTH:
            _add_mistake(
                document, "", shown(key), f"has {len(steps)} steps, and no setting lies deeper than {MOST_DEPTH}"
            )
            continue
        written = read_yaml(text, FLAG)
        if written.mistakes:
            _add_mistake(document, key, shown(text), "expected a value in YAML, as in 0.4, [a, b] or {folds: 3}")
            continue
        where = _without_words(document, steps if steps[0] in outside else (*inside, *steps))
        if set_here := _set_value(document, where, written.value):
            changed.add(set_here)
        else:
            _add_mistake(document, key, "", f"cannot be set: {_obstacle(document, where)}")
    return changed


def _without_words(document: Document, where: Where) -> Where:
    """The place without the words that items of a list go by: `attacks.0.pgd.steps` is `attacks.0.steps`."""
    for at in range(1, len(where) - 1):
        item = document.at(where[:at])
        if isinstance(where[at - 1], int) and where[at] not in as_dict(item) and where[at] in as_dict(item).values():
            return _without_words(document, where[:at] + where[at + 1 :])
    return where


def _set_value(document: Document, where: Where, value: Value) -> Where:
    """Sets the value at a place, making the mappings on the way: the place of the outermost thing that is new; nothing
    where something else is in the way."""
    holder, last, new = cast(object, document.value), where[-1], where
    for at, step in enumerate(where[:-1], 1):
        if isinstance(holder, dict) and holder.get(str(step)) is None:
            holder[str(step)] = {}
            new = min(new, where[:at], key=len)
        holder = value_at(holder, (step,))
    if isinstance(holder, dict):
        holder[str(last)] = value
    elif isinstance(holder, list) and has_step(holder, last):
        holder[int(last)] = value
    else:
        return ()
    return new


def _obstacle(document: Document, where: Where) -> str:
    for length in range(1, len(where)):
        value = document.at(where[:length])
        if isinstance(value, list):
            return f"{dotted(where[:length])} is a list of {len(value)}; name an item by its position, from 0"
        if value is not None and not isinstance(value, dict):
            return f"{dotted(where[:length])} is {shown(value)}, which has no parts"
    return "there is nothing it could be part of"


def _add_mistake(document: Document, path: str, value: str, expected: str) -> None:
    document.mistakes.append(((), Mistake(FLAG, None, path, value, expected)))


def file_name(path: Path) -> str:
    """The configuration file as messages name it: relative to where the person stands, if it is below there."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError, RuntimeError):  # the last of them is a loop of symbolic links
        return str(path)


@dataclass(frozen=True)
class Lines:
    """The lines of a document that has been read, and which places in it were set from the command line."""

    document: Document = field(default_factory=lambda: Document("pipelines.yaml"))
    changed: frozenset[Where] = frozenset()

    def place(self, where: Where) -> str:
        """The file and the line of a place, or of the nearest thing around it.

        >>> Lines(Document("pipelines.yaml", {}, {("store",): 3})).place(("store",))
        'pipelines.yaml:3'
        """
        if any(where[: len(place)] == place for place in self.changed):
            return FLAG
        file, line = self.document.file_of(where), self.document.line(where)
        return file if line is None else f"{file}:{line}"

    def written(self, where: Where) -> Where:
        """The place as far as the document has it: `csv: a.csv` has no first item, although it means one file.

        >>> Lines(Document("pipelines.yaml", {"csv": "a.csv"})).written(("csv", 0))
        ('csv',)
        """
        return next((where[:n] for n in range(len(where), 0, -1) if self.document.at(where[:n]) is not None), where)
