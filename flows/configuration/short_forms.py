"""Short forms written out, each thing keeping its line: `- pgd: {eps: 0.1}` is `- {attack: pgd, eps: 0.1}`, and
`model: m.onnx` over images is `network: m.onnx`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.data.samples.registry import EMBEDDED
from assay.flows.configuration.menu import TAGGED, Menu, choices_named
from assay.flows.kind import as_dict, each_subject
from assay.flows.yaml_document import Document, Value, Where
from assay.infra.settings import Settings
from assay.tasks.ingest.settings import Source
from assay.tasks.subjects.addresses.table import address_of
from assay.tasks.subjects.kinds import KINDS
from assay.tasks.subjects.settings import Subject, options_of

_OF_IMAGES = ("crop", "mean", "std", "block")
"""Settings of a subject that only one which looks at images has."""


def name_what_is_addressed(document: Document) -> None:
    """Writes `model: ADDRESS` as the setting that says what is looked at: `network: ADDRESS` over images.

    >>> subject, source = {"model": "m.onnx"}, {"images": "scans"}
    >>> name_what_is_addressed(Document("x", {"pipelines": {"p": {"source": source, "subject": subject}}}, {}))
    >>> subject
    {'network': 'm.onnx'}
    """
    for name, written in document.pipelines.items():
        pipeline = as_dict(written)
        for where, subject in each_subject(pipeline):
            model = subject.get("model")
            if not isinstance(model, str) or address_of(model) is None:
                continue
            way = what_it_looks_at(subject, as_dict(pipeline.get("source")))
            if way != "model":
                subject[way] = subject.pop("model")
                place: Where = ("pipelines", name, *where)
                if (line := document.lines.get((*place, "model"))) is not None:
                    document.lines[(*place, way)] = line


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


SUBJECT_FIELDS = frozenset(Subject.model_fields)


def write_out_all(document: Document, menu: Menu) -> None:
    """Writes out every short form of a document: names, presets, and the words that plug-ins have of their own."""
    for pipeline in document.pipelines:
        write_out(document, ("pipelines", pipeline, "subjects"), "model", SUBJECT_FIELDS)
        for place, table in menu.tagged.items():
            write_out(document, ("pipelines", pipeline, *place), table.tag, table.fields)
            named = {name: [settings] for name, settings in table.presets.items()} | dict(table.bundles)
            write_out_names(document, ("pipelines", pipeline, *place), table.tag, named)
    name_what_is_addressed(document)


def name_plugins(document: Document, menu: Menu) -> None:
    """Calls plug-ins by their words, where the document says `module:object`."""
    for where, place, written in list(choices_named(document)):
        word = menu.tables[place].references.get(written)
        holder, last = document.at(where[:-1]), where[-1]
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
    items = document.at(where)
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


def write_out_names(document: Document, where: Where, key: str, named: Mapping[str, Sequence[Settings]]) -> None:
    """Writes out the items of a list that go by the name of settings, of one (`attack: xu-pgd-4`) or of several
    (`attack: autoattack`): each with what stands beside the name, which wins, and each on its line.

    >>> from assay.tasks.attacks.pgd import PGD
    >>> document = Document("x", {"attacks": [{"attack": "two", "keep": 0}, {"attack": "gap"}]}, {("attacks", 1): 3})
    >>> write_out_names(document, ("attacks",), "attack", {"two": [PGD(steps=4), PGD(steps=8)]})
    >>> document.value["attacks"][:2], document.line(("attacks", 2))
    ([{'attack': 'pgd', 'steps': 4, 'keep': 0}, {'attack': 'pgd', 'steps': 8, 'keep': 0}], 3)
    """
    items = document.at(where)
    if not isinstance(items, list):
        return
    for position, item in reversed(list(enumerate(items))):
        if isinstance(item, dict) and str(item.get(key)) in named:
            several = named[str(item[key])]
            beside = {option: value for option, value in item.items() if option != key}
            items[position : position + 1] = [
                {key: str(getattr(settings, key)), **settings.model_dump(mode="json", exclude_unset=True), **beside}
                for settings in several
            ]
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


def _written_out(document: Document, place: Where, key: str, name: str, options: dict[str, Value]) -> Value:
    lines = document.lines
    old: Where = (*place, name)
    for known in [known for known in lines if known[: len(old)] == old and known != old]:
        lines[(*place, *known[len(old) :])] = lines[known]
    if old in lines:
        lines.setdefault((*place, key), lines[old])
    return options if key in options else {key: name, **options}


def with_truth(subject: Subject, source: Source) -> Subject:
    """The subject, reading the source's `tokens` and `tags`, or its `score`, where it leaves them open; what its
    training leaves open is as suits it, so that the record of a run says all of it.

    >>> scorer = Subject(scorer="mine.py:score", pair=("first", "second"))
    >>> with_truth(scorer, Source(csv=["pairs.csv"], score="similarity")).score
    'similarity'
    """
    named: dict[str, str] = {}
    if subject.scorer is not None and source.score is not None:
        named = {"score": source.score}
    if subject.tagger is not None and source.tags is not None:
        named = {"tokens": source.tokens, "tags": source.tags}
    settled: dict[str, object] = {name: to for name, to in named.items() if name not in subject.model_fields_set}
    if subject.train is not None and subject.kind in ("tagger", "scorer"):
        settled["train"] = options_of(subject)
    return subject.model_copy(update=settled)
