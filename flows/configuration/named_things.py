"""What a pipeline names and needs: its data, rules, models, weights, lexicons and vectors, looked for before anything
runs; and where in the configuration what is not there is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from assay.data.catalog import catalog
from assay.flows.configuration.mistakes import Where, dotted, nearest, shown
from assay.flows.configuration.named_columns import named_columns, no_such_column
from assay.flows.pipeline import Pipeline, Project
from assay.infra.errors import AssayError, InputError, SettingError
from assay.infra.settings import Settings
from assay.tasks.attacks.terms.settings import TermAttack
from assay.tasks.attacks.words.settings import WordAttack
from assay.tasks.ingest.settings import ORIGINS, Source
from assay.tasks.subjects.settings import WAYS

Known = Mapping[str, Sequence[str]]
"""Settings that name something, each with the names that Assay has something for."""

_SUBJECT: Known = {
    "classifier": ("small-bert", "minilm-linear"), "tagger": ("small-tagger", "minilm"),
    "scorer": ("small-scorer", "minilm"), "network": (), "model": ("logistic",), "weights": (), "revision": (),
}  # fmt: skip


@dataclass(frozen=True)
class MissingThing:
    """Something that is named (`word`, at `where` inside the pipeline) and cannot be had; `to_get` is whether the
    catalogue has it."""

    where: Where
    word: str | None
    error: AssayError
    to_get: bool = False
    meant: str | None = None

    def said(self, project: Project, pipeline: Pipeline) -> str:
        """The whole sentence, with the file and the line."""
        where = project.lines.written(("pipelines", pipeline.name, *self.where))
        what = ": ".join([dotted(where[2:]), *([] if self.word is None else [shown(self.word)])])
        hint = f" Did you mean {self.meant}?" if self.meant else ""
        return f"{project.lines.place(where)}: {what} — {self.error}{hint}"


def missing_things(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    """Everything that a pipeline names and that cannot be had, in the order of the pipeline."""
    from assay.tasks.labeling.rulebook_source import refer_to_rulebook

    source, labeling = pipeline.source, pipeline.labeling
    origins: Known = dict.fromkeys(ORIGINS, ())
    columns: list[str] = []
    yield from _tried(("source",), source, origins, lambda: columns.extend(_columns_of(source, folder)))
    if columns:
        yield from missing_columns(pipeline, columns)
    if labeling is not None:
        attempt = partial(refer_to_rulebook, labeling.functions, folder)
        yield from _tried(("labeling",), labeling, {"functions": ()}, attempt)
    yield from _missing_subjects(pipeline, folder)
    yield from _missing_in_attacks(pipeline, folder)
    yield from _missing_in_trust(pipeline, folder)


def missing_columns(pipeline: Pipeline, columns: Sequence[str]) -> Iterator[MissingThing]:
    """The columns that are named outside the source and that its files do not have."""
    for where, column, reader in named_columns(pipeline):
        if column not in (*columns, pipeline.source.label, pipeline.source.id):
            error = InputError(no_such_column(column, reader, columns))
            yield MissingThing(where, column, error, meant=nearest(column, columns))


def _columns_of(source: Source, folder: Path) -> Sequence[str]:
    """The columns that samples will have, read off the first rows of the files; none where that takes reading it all.

    Raises where files are missing, or columns that the source's settings name.
    """
    from assay.tasks.ingest.layout import layout_of
    from assay.tasks.ingest.sources import resolve

    found = resolve(source, folder)
    if found.given is not None or source.images is not None:
        return ()
    return layout_of(found).features


def _missing_subjects(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    """Of the subjects, those whose code, weights or model files cannot be had."""
    from assay.tasks.subjects.resolved import resolve_subject

    for position, subject in enumerate(pipeline.subjects):
        where: Where = ("subject",) if pipeline.subject is not None else ("subjects", position)
        yield from _tried(where, subject, _SUBJECT, partial(resolve_subject, subject, folder))


def is_subject(missing: MissingThing) -> bool:
    """Whether it is a model under audit that is missing: of several, the others can do without it."""
    return missing.where[0] in ("subject", "subjects")


def _missing_in_attacks(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    from assay.tasks.attacks.terms.resolved import require_attack
    from assay.tasks.attacks.words.resolved import COUNTERFITTED, MINILM, WORD_VECTORS, resolve_word_attack
    from assay.tasks.language.catalogue_lexicon import CATALOGUE
    from assay.tasks.language.embeddings.ensemble import NAMES

    terms: Known = {"terms": ("gold", "lexicon", CATALOGUE), "synonyms": (CATALOGUE,)}
    words: Known = {
        "encoder": (MINILM, WORD_VECTORS), "vectors": (*NAMES, COUNTERFITTED), "antonyms": ("refuse", "wordnet"),
        "keep": (),
    }  # fmt: skip
    for position, attack in enumerate(pipeline.attacks):
        where: Where = ("attacks", position)
        if isinstance(attack, WordAttack):
            yield from _tried(where, attack, words, partial(resolve_word_attack, attack, folder))
        elif isinstance(attack, TermAttack):
            yield from _tried(where, attack, terms, partial(require_attack, attack, folder))


def _missing_in_trust(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    from assay.tasks.language.embeddings.ensemble import NAMES
    from assay.tasks.language.synonyms import OPEN_WORDNET, WORDNET
    from assay.tasks.trust.resolved import COUNTERFACTUAL, require_named

    asked = pipeline.trust
    if asked is None:
        return
    known: Known = {"providers": NAMES, "synonyms": (WORDNET, OPEN_WORDNET), "truth": (COUNTERFACTUAL,)}
    yield from _tried(("trust",), asked, known, partial(require_named, asked, folder))


def _tried(where: Where, settings: Settings, known: Known, attempt: Callable[[], object]) -> Iterator[MissingThing]:
    """Nothing, or what the attempt could not find, blamed on the setting whose word the error quotes."""
    try:
        attempt()
    except AssayError as error:
        place, word = _blamed(settings, known, str(error))
        if isinstance(error, SettingError):
            place, word = (error.setting,), error.word
        names = known.get(str(place[0]), ()) if place else ()
        meant = nearest(word, names) if word is not None and word not in names else None
        told_already = meant is None or "id you mean" in str(error)
        there = place or _what_it_is(where, settings)
        yield MissingThing((*where, *there), word, error, word in catalog(), None if told_already else meant)


def _blamed(settings: Settings, known: Known, said: str) -> tuple[Where, str | None]:
    """The place of the word that an error quotes; of the whole list, where it quotes several of its words."""
    quoted: list[tuple[Where, str | None]] = []
    for field in known:
        words = [(place, word) for place, word in _words(getattr(settings, field, None)) if word in said]
        quoted += [((field, *place), word) for place, word in words] if len(words) == 1 else []
        quoted += [((field,), None)] if len(words) > 1 else []
    return max(quoted, key=lambda one: len(one[1] or ""), default=((), None))


def _words(value: object) -> Iterator[tuple[Where, str]]:
    """The words of a setting, each with its place inside it where there are several."""
    if isinstance(value, str):
        yield (), value
    elif isinstance(value, tuple):
        yield from (((at,), one) for at, one in enumerate(value) if isinstance(one, str))


def _what_it_is(where: Where, settings: Settings) -> Where:
    """The setting that says what a source or a subject is."""
    given = [name for name in (*ORIGINS, *WAYS) if getattr(settings, name, None) is not None]
    return tuple(given[:1]) if where[0] in ("source", "subject", "subjects") else ()
