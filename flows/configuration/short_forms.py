"""Short forms written out, each thing keeping its line: `- pgd: {eps: 0.1}` is `- {attack: pgd, eps: 0.1}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.flows.configuration.addressed import name_what_is_addressed
from assay.flows.configuration.menu import TAGGED, Menu
from assay.flows.configuration.mistakes import Where
from assay.flows.configuration.plugins import choices_named
from assay.flows.configuration.validation import value_or_nothing
from assay.flows.configuration.yaml_source import Document, Value
from assay.infra.settings import Settings
from assay.tasks.subjects.settings import Subject

SUBJECT_FIELDS = frozenset(Subject.model_fields)


def write_out_all(document: Document, menu: Menu) -> None:
    """Writes out every short form of a document: names, presets, and the words that plug-ins have of their own."""
    for name in value_or_nothing(value_or_nothing(document.value).get("pipelines")):
        write_out(document, ("pipelines", name, "subjects"), "model", SUBJECT_FIELDS)
        for place, table in menu.tagged.items():
            write_out(document, ("pipelines", name, *place), table.tag, table.fields)
            write_out_bundles(document, ("pipelines", name, *place), table.tag, _bundled(table.tag, table.bundles))
            write_out_presets(document, ("pipelines", name, *place), table.tag, _written(table.tag, table.presets))
    name_what_is_addressed(document)


def name_plugins(document: Document, menu: Menu) -> None:
    """Calls plug-ins by their words, where the document says `module:object`."""
    for where, place, written in list(choices_named(document)):
        word = menu.tables[place].references.get(written)
        holder, last = document.found(where[:-1]), where[-1]
        if word is not None and isinstance(holder, list) and isinstance(last, int):
            item = holder[last]
            holder[last] = {**item, TAGGED[place].tag: word} if isinstance(item, dict) else word
        elif word is not None and isinstance(holder, dict):
            holder[str(last)] = word


def write_out(document: Document, where: Where, key: str, fields: frozenset[str]) -> None:
    """Writes out the short forms in the list at `where`: a bare word, or a mapping of one key that is no field.

    >>> document = Document("x.yaml", {"attacks": [{"pgd": {"steps": 20}}, "gap"]}, {("attacks", 0, "pgd", "steps"): 3})
    >>> write_out(document, ("attacks",), "attack", frozenset({"attack", "steps"}))
    >>> document.value
    {'attacks': [{'attack': 'pgd', 'steps': 20}, {'attack': 'gap'}]}
    >>> document.line(("attacks", 0, "steps"))
    3
    """
    items = document.found(where)
    if not isinstance(items, list):
        return
    for position, item in enumerate(items):
        place: Where = (*where, position)
        if isinstance(item, str):
            items[position] = {key: item}
        elif isinstance(item, dict) and len(item) == 1:
            [(name, options)] = item.items()
            if name not in fields and isinstance(options, dict | None):
                items[position] = _written_out(document, place, key, name, options or {})


def write_out_presets(document: Document, where: Where, key: str, presets: Mapping[str, dict[str, Value]]) -> None:
    """Writes out the items of a list that go by the name of a preset (`attack: xu-pgd-4`); what stands beside it wins.

    >>> document = Document("x.yaml", {"attacks": [{"attack": "four", "keep": 0}]}, {})
    >>> write_out_presets(document, ("attacks",), "attack", {"four": {"attack": "pgd", "steps": 4}})
    >>> document.value
    {'attacks': [{'attack': 'pgd', 'steps': 4, 'keep': 0}]}
    """
    items = document.found(where)
    for position, item in enumerate(items if isinstance(items, list) else []):
        if isinstance(items, list) and isinstance(item, dict) and str(item.get(key)) in presets:
            beside = {option: value for option, value in item.items() if option != key}
            items[position] = {**presets[str(item[key])], **beside}


def write_out_bundles(
    document: Document, where: Where, key: str, bundles: Mapping[str, Sequence[dict[str, Value]]]
) -> None:
    """Writes out the items of a list that go by the name of several (`attack: autoattack`), each with what stands
    beside the name, and each on its line.

    >>> document = Document("x", {"attacks": [{"attack": "all", "eps": 0.1}, {"attack": "gap"}]}, {("attacks", 1): 3})
    >>> write_out_bundles(document, ("attacks",), "attack", {"all": [{"attack": "pgd"}, {"attack": "square"}]})
    >>> document.value["attacks"][:2], document.line(("attacks", 2))
    ([{'attack': 'pgd', 'eps': 0.1}, {'attack': 'square', 'eps': 0.1}], 3)
    """
    items = document.found(where)
    for position in reversed(range(len(items) if isinstance(items, list) else 0)):
        item = items[position] if isinstance(items, list) else None
        if not isinstance(items, list) or not isinstance(item, dict) or str(item.get(key)) not in bundles:
            continue
        several = bundles[str(item[key])]
        beside = {option: value for option, value in item.items() if option != key}
        items[position : position + 1] = [{**one, **beside} for one in several]
        _repeat_lines(document, where, position, len(several))


def _repeat_lines(document: Document, where: Where, position: int, times: int) -> None:
    """The lines of a list in which one item has become several: theirs is its own, and the others keep theirs."""
    at, lines = len(where), document.lines
    inside = {known: line for known, line in lines.items() if known[:at] == where and len(known) > at}
    for known in inside:
        del lines[known]
    for known, line in inside.items():
        place = known[at]
        assert isinstance(place, int)
        moved = range(place, place + times) if place == position else [place + (times - 1) * (place > position)]
        lines |= {(*where, one, *known[at + 1 :]): line for one in moved}


def _bundled(tag: str, bundles: Mapping[str, Sequence[Settings]]) -> dict[str, list[dict[str, Value]]]:
    return {name: [_spelt(tag, one) for one in several] for name, several in bundles.items()}


def _written(tag: str, presets: Mapping[str, Settings]) -> dict[str, dict[str, Value]]:
    """What goes by a name, as it would be written out."""
    return {name: _spelt(tag, settings) for name, settings in presets.items()}


def _spelt(tag: str, settings: Settings) -> dict[str, Value]:
    return {tag: str(getattr(settings, tag)), **settings.model_dump(mode="json", exclude_unset=True)}


def _written_out(document: Document, place: Where, key: str, name: str, options: dict[str, Value]) -> Value:
    lines = document.lines
    old: Where = (*place, name)
    for known in [known for known in lines if known[: len(old)] == old and known != old]:
        lines[(*place, *known[len(old) :])] = lines[known]
    if old in lines:
        lines.setdefault((*place, key), lines[old])
    return options if key in options else {key: name, **options}
