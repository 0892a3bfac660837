"""Short forms written out, each thing keeping its line: `- pgd: {eps: 0.1}` is `- {attack: pgd, eps: 0.1}`, and
`model: m.onnx` over images is `network: m.onnx`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.data.samples.registry import EMBEDDED
from assay.flows.configuration.menu import TAGGED, Menu, choices_named
from assay.flows.kind import as_dict, each_subject
from assay.flows.validation import value_or_nothing
from assay.flows.yaml_document import Document, Value, Where
from assay.infra.settings import Settings
from assay.tasks.ingest.settings import Source
from assay.tasks.subjects.addresses.table import address_of
from assay.tasks.subjects.kinds import KINDS
from assay.tasks.subjects.settings import Subject

_OF_IMAGES = ("crop", "mean", "std", "block")
"""Settings of a subject that only one which looks at images has."""


def name_what_is_addressed(document: Document) -> None:
    """Writes `model: ADDRESS` as the setting that says what is looked at: `network: ADDRESS` over images.

    >>> subject, source = {"model": "m.onnx"}, {"images": "scans"}
    >>> name_what_is_addressed(Document("x", {"pipelines": {"p": {"source": source, "subject": subject}}}, {}))
    >>> subject
    {'network': 'm.onnx'}
    """
    for name, written in value_or_nothing(value_or_nothing(document.value).get("pipelines")).items():
        pipeline = as_dict(written)
        for where, subject in each_subject(pipeline):
            model = subject.get("model")
            if not isinstance(model, str) or address_of(model) is None:
                continue
            way = what_it_looks_at(subject, as_dict(pipeline.get("source")))
            if way != "model":
                subject[way] = subject.pop("model")
                _keep_line(document, ("pipelines", name, *where), way)


def what_it_looks_at(subject: dict[str, Value], source: dict[str, Value]) -> str:
    """The setting that a model at an address goes by: what the subject reads says it, else what the source has.

    >>> what_it_looks_at({"text": "body"}, {}), what_it_looks_at({"features": ["age"]}, {"images": "scans"})
    ('classifier', 'model')
    """
    reader = next((kind.name for kind in KINDS if any(setting in subject for setting in kind.reads)), None)
    if reader is not None:
        return reader
    if "features" in subject:
        return "model"
    sample = EMBEDDED.get(str(source.get("dataset")))
    images = any(source.get(name) is not None for name in ("images", "image")) or (sample and sample.has_images)
    return "network" if images or any(setting in subject for setting in _OF_IMAGES) else "model"


def _keep_line(document: Document, where: Where, way: str) -> None:
    line = document.lines.get((*where, "model"))
    if line is not None:
        document.lines[(*where, way)] = line


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
        elif word is not None and isinstance(holder, dict) and holder[str(last)] == written:
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
        items[position : position + 1] = [{**settings, **beside} for settings in several]
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
        lines |= {(*where, step, *known[at + 1 :]): line for step in moved}


def _bundled(tag: str, bundles: Mapping[str, Sequence[Settings]]) -> dict[str, list[dict[str, Value]]]:
    return {name: [_as_mapping(tag, settings) for settings in several] for name, several in bundles.items()}


def _written(tag: str, presets: Mapping[str, Settings]) -> dict[str, dict[str, Value]]:
    """What goes by a name, as it would be written out."""
    return {name: _as_mapping(tag, settings) for name, settings in presets.items()}


def _as_mapping(tag: str, settings: Settings) -> dict[str, Value]:
    return {tag: str(getattr(settings, tag)), **settings.model_dump(mode="json", exclude_unset=True)}


def _written_out(document: Document, place: Where, key: str, name: str, options: dict[str, Value]) -> Value:
    lines = document.lines
    old: Where = (*place, name)
    for known in [known for known in lines if known[: len(old)] == old and known != old]:
        lines[(*place, *known[len(old) :])] = lines[known]
    if old in lines:
        lines.setdefault((*place, key), lines[old])
    return options if key in options else {key: name, **options}


def with_truth(subject: Subject, source: Source) -> Subject:
    """The subject, reading the source's `tokens` and `tags`, or its `score`, where it leaves them open.

    >>> scorer = Subject(scorer="mine.py:score", pair=("first", "second"))
    >>> with_truth(scorer, Source(csv=["pairs.csv"], score="similarity")).score
    'similarity'
    """
    named: dict[str, str] = {}
    if subject.scorer is not None and source.score is not None:
        named = {"score": source.score}
    if subject.tagger is not None and source.tags is not None:
        named = {"tokens": source.tokens, "tags": source.tags}
    return subject.model_copy(
        update={name: column for name, column in named.items() if name not in subject.model_fields_set}
    )
