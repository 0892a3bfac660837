"""Explanations in, trust labels out: for the oracle and for the baselines it is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from assay.data.text_schemas import TrustLabels
from assay.infra.errors import InputError
from assay.tasks.language.anchors import Anchors
from assay.tasks.language.spaces import Space
from assay.tasks.language.words import words_of
from assay.tasks.trust.baselines import by_name, naive_label
from assay.tasks.trust.oracle import WRONG, Judgement, by_keywords, judge
from assay.tasks.trust.pools import spoken_for
from assay.tasks.trust.settings import Asking

TOKI, BY_NAME, NAIVE = "toki", "toki-ki", "naive"
Names = Sequence[Sequence[str]]  # of every class, the words of its name


@dataclass(frozen=True)
class Oracle:
    """Everything a label depends on besides the explanation: small enough to travel to the workers."""

    anchors: tuple[Anchors, ...]  # per class
    spaces: tuple[Space, ...]
    names: tuple[tuple[str, ...], ...]
    importance: Literal["different", "equivalent"]
    confidence: float
    lemmatise: bool


def oracle_of(anchors: Sequence[Anchors], spaces: Sequence[Space], names: Names, settings: Asking) -> Oracle:
    """The oracle that recognises every class by its anchors."""
    return Oracle(
        tuple(anchors),
        tuple(spaces),
        tuple(map(tuple, names)),
        settings.importance,
        settings.confidence,
        settings.lemmatise,
    )


def label_explanations(explanations: pa.Table, *, oracle: Oracle) -> pa.Table:
    """One row of `TrustLabels` per explanation and oracle; a wrong prediction is out of scope, whatever its reasons."""
    read = explanations.select(_READ).to_pylist()
    spoken = [spoken_for(row, oracle.lemmatise) if row["gold"] == row["predicted"] else {} for row in read]
    toki = [by_keywords(anchors, oracle.spaces) for anchors in oracle.anchors]
    direct = [by_name(name, oracle.spaces) for name in oracle.names]
    for code, all_words in _words_by_class([row["predicted"] for row in read], spoken).items():
        toki[code].of(all_words)
        direct[code].of(all_words)
    rows: list[dict[str, object]] = []
    for row, words in zip(read, spoken, strict=True):
        if row["gold"] != row["predicted"]:
            rows += [_row(row, name, {}, Judgement("out of scope", WRONG)) for name in (TOKI, BY_NAME, NAIVE)]
            continue
        code = row["predicted"]
        rows += [
            _row(row, TOKI, words, judge(words, toki[code], oracle.importance)),
            _row(row, BY_NAME, words, judge(words, direct[code], oracle.importance)),
            _row(row, NAIVE, {}, Judgement(naive_label(row["confidence"], oracle.confidence))),
        ]
    return pa.Table.from_pylist(rows, schema=TrustLabels.schema)


def _words_by_class(codes: Sequence[int], spoken: Sequence[Mapping[str, float]]) -> dict[int, list[str]]:
    """All words that speak for each class: looked up together, because looking up is matrix work."""
    by_class: dict[int, set[str]] = {}
    for code, words in zip(codes, spoken, strict=True):
        if words:
            by_class.setdefault(code, set()).update(words)
    return {code: sorted(words) for code, words in by_class.items()}


_READ = ["id", "explainer", "gold", "predicted", "confidence", "words", "importance"]


def _row(row: Mapping[str, object], oracle: str, words: Mapping[str, float], judgement: Judgement) -> dict[str, object]:
    listed, scores = list(words), list(words.values())
    order = sorted(range(len(words)), key=lambda place: -scores[place])
    related = judgement.related or (None,) * len(listed)
    return {
        **{name: row[name] for name in ("id", "explainer", "gold", "predicted", "confidence")},
        "oracle": oracle,
        "label": judgement.label,
        "reason": judgement.reason,
        "related_mass": judgement.related_mass,
        "unrelated_mass": judgement.unrelated_mass,
        "words": [listed[place] for place in order],
        "importance": [scores[place] for place in order],
        "related": [related[place] for place in order],
    }


def toki_labels(explanations: Sequence[tuple[int, Mapping[str, float]]], oracle: Oracle) -> list[str]:
    """The oracle's label of every correct prediction, given as its class and the words that speak for it."""
    relatedness = [by_keywords(anchors, oracle.spaces) for anchors in oracle.anchors]
    spoken = _words_by_class([code for code, _ in explanations], [words for _, words in explanations])
    for code, all_words in spoken.items():
        relatedness[code].of(all_words)
    return [str(judge(words, relatedness[code], oracle.importance).label) for code, words in explanations]


def in_scope(explanations: pa.Table, lemmatise: bool) -> tuple[list[str], list[tuple[int, dict[str, float]]]]:
    """The ids of the correct predictions, and of each its class and the words that speak for it."""
    rows = [row for row in explanations.select(_READ).to_pylist() if row["gold"] == row["predicted"]]
    return [row["id"] for row in rows], [(row["predicted"], spoken_for(row, lemmatise)) for row in rows]


def class_words(classes: Sequence[str], given: Mapping[str, str]) -> list[tuple[str, ...]]:
    """The words that stand for each class: those given under its code or its name, else its name's.

    >>> class_words(["neg", "pos"], {"0": "bad film", "pos": "good"})
    [('bad', 'film'), ('good',)]
    """
    known = {*classes, *map(str, range(len(classes)))}
    stranger = next((name for name in given if name not in known), None)
    if stranger is not None:
        raise InputError(
            f"`trust.class_names` names {stranger!r}, which is no class: the classes are {', '.join(classes)}."
        )
    named = [given.get(str(code), given.get(name, name)) for code, name in enumerate(classes)]
    words_by_code = [tuple(word.normalised for word in words_of(name)) for name in named]
    for name, words in zip(named, words_by_code, strict=True):
        if not words:
            raise InputError(
                f"The class {name!r} has no word in its name; say what it is about in `trust.class_names`."
            )
    return words_by_code
