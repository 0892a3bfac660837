"""The oracle: is a correct prediction made for words that are related to its class (Eq. 5-6)? Its labels, those of
the baselines that it is compared with, and its labels under other thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from toolz import groupby

from assay.data.schemas import TrustLabels, TrustSettings
from assay.infra.errors import InputError
from assay.tasks.language.relatedness import Anchors, Space, cosines, related_words
from assay.tasks.language.words import words_of
from assay.tasks.trust.keywords import Pool, agreed, election, opinions_of, spoken_for
from assay.tasks.trust.measures import cells_of, g_mean
from assay.tasks.trust.settings import Asking

Label = Literal["trustworthy", "untrustworthy", "undecided", "out of scope"]
LookUp = Callable[[Sequence[str]], list[bool | None]]
NO_KEYWORDS = "no word of the class was found to be a keyword"
NO_WORDS = "no word speaks for the prediction"
WRONG = "the prediction is wrong, or its truth is not known"
UNKNOWN_WORDS = "no provider knows a word that speaks for the prediction"


@dataclass(frozen=True)
class Judgement:
    """One prediction's label, both sides of Eq. 6, and which words are related (None: no provider knows the word)."""

    label: Label
    reason: str = ""
    related_mass: float = 0.0
    unrelated_mass: float = 0.0
    related: tuple[bool | None, ...] = ()


class Relatedness:
    """r(w, c) for the words of one class; every word is looked up once, and best many at a time."""

    def __init__(self, look_up: LookUp, decidable: bool = True) -> None:
        """`look_up` says of words whether they are related; not `decidable`: there is nothing to compare them with."""
        self.decidable = decidable
        self._look_up, self._known = look_up, dict[str, bool | None]()

    def of(self, words: Iterable[str]) -> list[bool | None]:
        """Whether each word is related to the class; None where no provider can say."""
        asked = list(words)
        new = [word for word in dict.fromkeys(asked) if word not in self._known]
        if new:
            self._known.update(zip(new, self._look_up(new), strict=True))
        return [self._known[word] for word in asked]


def by_keywords(anchors: Anchors, spaces: Sequence[Space]) -> Relatedness:
    """r(w, c) of Eq. 5, by the vote of all providers."""
    return Relatedness(lambda words: related_words(words, anchors, spaces), bool(anchors.keyword.any()))


def judge(
    words: Mapping[str, float], relatedness: Relatedness, importance: Literal["different", "equivalent"]
) -> Judgement:
    """D(f, x) of Eq. 6 for the words that speak for a correct prediction, each with its importance above zero.

    With `equivalent` importance every word counts as much as another (s = 1).
    """
    listed = list(words)
    if not listed:
        return Judgement("undecided", NO_WORDS)
    if not relatedness.decidable:
        return Judgement("undecided", NO_KEYWORDS, related=(None,) * len(listed))
    related = relatedness.of(listed)
    weights = [1.0 if importance == "equivalent" else words[word] for word in listed]
    return weigh(weights, related)


def weigh(weights: Sequence[float], related: Sequence[bool | None]) -> Judgement:
    """The label by the weight of both sides: trustworthy iff IS_rel ≥ IS_unr.

    >>> weigh([0.5, 0.3, 0.2], [True, False, False]).label
    'trustworthy'
    """
    for_it = math.fsum(weight for weight, yes in zip(weights, related, strict=True) if yes is True)
    against = math.fsum(weight for weight, yes in zip(weights, related, strict=True) if yes is False)
    if all(yes is None for yes in related):
        return Judgement("undecided", UNKNOWN_WORDS, related=tuple(related))
    label: Label = "trustworthy" if for_it >= against else "untrustworthy"
    return Judgement(label, "", for_it, against, tuple(related))


def naive_label(confidence: float, least: float) -> Label:
    """Trustworthy iff the subject is at least so confident.

    >>> naive_label(0.95, 0.9)
    'trustworthy'
    """
    return "trustworthy" if confidence >= least else "untrustworthy"


def by_name(name: Sequence[str], spaces: Sequence[Space]) -> Relatedness:
    """TOKI(−K.I): a word is related iff most providers find it related to the class name itself."""
    return Relatedness(lambda words: related_to_name(words, name, spaces))


def related_to_name(words: Sequence[str], name: Sequence[str], spaces: Sequence[Space]) -> list[bool | None]:
    """Whether each word's cosine with the class name reaches θ_relate, by more than half of the providers that know
    both; None where none does."""
    near = np.stack([cosines(space.of(words), space.mean(name)[None, :])[:, 0] for space in spaces])
    known = ~np.isnan(near)
    thetas = np.array([space.theta for space in spaces])[:, None]
    yes = agreed(np.where(known, near, -np.inf) >= thetas, known).tolist()
    voted = np.asarray(known.any(axis=0)).tolist()
    return [related if any_known else None for related, any_known in zip(yes, voted, strict=True)]


TOKI, BY_NAME, NAIVE = "toki", "toki-ki", "naive"
Names = Sequence[Sequence[str]]  # of every class, the words of its name


@dataclass(frozen=True)
class Oracle:
    """Everything a label depends on besides the explanation: small enough to travel to the workers."""

    anchors: Sequence[Anchors]  # per class
    spaces: Sequence[Space]
    names: Names
    settings: Asking


def label_explanations(explanations: pa.Table, *, oracle: Oracle) -> pa.Table:
    """One row of `TrustLabels` per explanation and oracle; a wrong prediction is out of scope, whatever its reasons."""
    read = explanations.select(_READ).to_pylist()
    spoken = [spoken_for(row, oracle.settings.lemmatise) if row["gold"] == row["predicted"] else {} for row in read]
    toki = [by_keywords(anchors, oracle.spaces) for anchors in oracle.anchors]
    direct = [by_name(name, oracle.spaces) for name in oracle.names]
    _look_up_together(zip((row["predicted"] for row in read), spoken, strict=True), toki, direct)
    rows: list[dict[str, object]] = []
    for row, words in zip(read, spoken, strict=True):
        if row["gold"] != row["predicted"]:
            rows += [_label_row(row, name, {}, Judgement("out of scope", WRONG)) for name in (TOKI, BY_NAME, NAIVE)]
            continue
        code = row["predicted"]
        rows += [
            _label_row(row, TOKI, words, judge(words, toki[code], oracle.settings.importance)),
            _label_row(row, BY_NAME, words, judge(words, direct[code], oracle.settings.importance)),
            _label_row(row, NAIVE, {}, Judgement(naive_label(row["confidence"], oracle.settings.confidence))),
        ]
    return pa.Table.from_pylist(rows, schema=TrustLabels.schema)


def _look_up_together(spoken: Iterable[tuple[int, Mapping[str, float]]], *by_class: Sequence[Relatedness]) -> None:
    """Looks up all words that speak for each class at once, because looking up is matrix work."""
    for code, same_class in groupby(0, spoken).items():
        words = sorted({word for _, of_text in same_class for word in of_text})
        for relatedness in by_class:
            relatedness[code].of(words)


_READ = ["id", "explainer", "gold", "predicted", "confidence", "words", "importance"]


def _label_row(
    row: Mapping[str, object], oracle: str, words: Mapping[str, float], judgement: Judgement
) -> dict[str, object]:
    related = judgement.related or (None,) * len(words)
    ranked = sorted(zip(words, words.values(), related, strict=True), key=lambda word: -word[1])
    return {
        **{name: row[name] for name in ("id", "explainer", "gold", "predicted", "confidence")},
        "oracle": oracle,
        "label": judgement.label,
        "reason": judgement.reason,
        "related_mass": judgement.related_mass,
        "unrelated_mass": judgement.unrelated_mass,
        **{name: [word[at] for word in ranked] for at, name in enumerate(("words", "importance", "related"))},
    }


def toki_labels(explanations: Sequence[tuple[int, Mapping[str, float]]], oracle: Oracle) -> list[str]:
    """The oracle's label of every correct prediction, given as its class and the words that speak for it."""
    relatedness = [by_keywords(anchors, oracle.spaces) for anchors in oracle.anchors]
    _look_up_together(explanations, relatedness)
    return [str(judge(words, relatedness[code], oracle.settings.importance).label) for code, words in explanations]


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


THETA_DIST = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
THETA_RELATE = (-0.2, -0.1, -0.05, 0.0, 0.05, 0.1, 0.2)
"""Added to each provider's θ_relate."""
AGREE = (0.0, 0.25, 0.5, 0.75, 0.99)
"""The share of providers that a keyword needs more than."""


@dataclass(frozen=True)
class Variation:
    """One way of asking: which setting was moved, to which value, and whether that is the value in use."""

    setting: str
    value: float
    used: bool
    shift: float = 0.0
    agree: float = 0.5


@dataclass(frozen=True)
class Cut:
    """The ways of asking that cluster words alike: one piece of work, for clustering is what takes long."""

    theta_dist: float
    used: bool

    @property
    def asked(self) -> list[Variation]:
        """The ways: at the θ_dist in use, all other settings are moved too."""
        moved = [Variation("theta_dist", self.theta_dist, self.used)]
        if self.used:
            moved += [Variation("theta_relate", shift, shift == 0, shift=shift) for shift in THETA_RELATE]
            moved += [Variation("vote", agree, agree == 0.5, agree=agree) for agree in AGREE]
        return moved


def cuts(used: float) -> list[Cut]:
    """All ways of asking, where θ_dist is `used`.

    >>> sum(len(cut.asked) for cut in cuts(0.3))
    21
    """
    return [Cut(value, value == used) for value in sorted({*THETA_DIST, used})]


@dataclass(frozen=True)
class Question:
    """What is asked again and again: the words that speak for each correct prediction, and what its label should be."""

    explainer: str
    predictions: tuple[tuple[int, Mapping[str, float]], ...]
    truth: tuple[str | None, ...]


def cut_rows(
    cut: Cut, *, pools: Sequence[Pool], spaces: Sequence[Space], names: Names, question: Question, settings: Asking
) -> pa.Table:
    """One row of `TrustSettings` per way of asking."""
    opinions = [opinions_of(pool, name, spaces, cut.theta_dist) for pool, name in zip(pools, names, strict=True)]
    rows = []
    for asked in cut.asked:
        moved = [replace(space, theta=space.theta + asked.shift) for space in spaces]
        thetas = [space.theta for space in moved]
        anchors = [
            Anchors(pool.words, election(opinion, thetas, asked.agree).keyword)
            for pool, opinion in zip(pools, opinions, strict=True)
        ]
        labels = toki_labels(question.predictions, Oracle(anchors, moved, names, settings))
        rows.append(_setting_row(asked, question, labels))
    return pa.Table.from_pylist(rows, schema=TrustSettings.schema)


def _setting_row(asked: Variation, question: Question, labels: Sequence[str]) -> dict[str, Any]:
    counts = cells_of(labels, question.truth).sum(axis=0)
    value = float(g_mean(counts.astype(np.float64)))
    return {
        "explainer": question.explainer,
        "setting": asked.setting,
        "value": asked.value,
        "used": asked.used,
        "n": len(labels),
        "trustworthy": labels.count("trustworthy"),
        "undecided": labels.count("undecided"),
        "known": int(counts.sum()),
        "g_mean": None if np.isnan(value) else value,
    }
