"""`--set key=value`: changes to a configuration from the command line, checked like the file itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.flows.configuration.mistakes import Mistake, Where, dotted, shown
from assay.flows.configuration.yaml_source import MOST_DEPTH, Document, Value, read_yaml

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
        where = steps if steps[0] in outside else (*inside, *steps)
        if _set_value(document, where, written.value):
            changed.add(where)
        else:
            _add_mistake(document, key, "", f"cannot be set: {_obstacle(document, where)}")
    return changed


def _set_value(document: Document, where: Where, value: Value) -> bool:
    """Sets the value at a place, making the mappings on the way; false where something else is in the way."""
    holder = document.value
    for step in where[:-1]:
        if isinstance(holder, dict):
            if holder.get(str(step)) is None:
                holder[str(step)] = {}
            holder = holder[str(step)]
        elif isinstance(holder, list) and isinstance(step, int) and step < len(holder):
            holder = holder[step]
        else:
            return False
    last = where[-1]
    if isinstance(holder, dict):
        holder[str(last)] = value
        return True
    if isinstance(holder, list) and isinstance(last, int) and last < len(holder):
        holder[last] = value
        return True
    return False


def _obstacle(document: Document, where: Where) -> str:
    for length in range(1, len(where)):
        value = document.found(where[:length])
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
