"""The first three rules of a team, out of its data: how each was found and how it does on what it was not found on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.flows.starting.parting import (
    LEAST,
    Codes,
    Numbers,
    Parting,
    best_of,
    quantile_bounds,
    rows_with_words,
    telling_words,
    thresholds,
    values_of_words,
)
from assay.flows.starting.roles import Roles
from assay.flows.starting.samples import Seen
from assay.infra.errors import InputError
from assay.infra.seeds import Seeds
from assay.tasks.labeling.frames import TextsIn
from assay.tasks.labeling.picture_measures import measures_of_pictures
from assay.tasks.labeling.voting import apply_rules
from assay.tasks.labeling.written import When, WrittenRule, WrittenRules
from assay.tasks.labeling.written_rulebook import Numbers as NumbersOf
from assay.tasks.labeling.written_rulebook import WrittenRulebook
from assay.tasks.statistics.groups import GROUP

WANTED = 3
_WORDS_A_RULE = 3
_TOGETHER = 0.5
"""A word is taken beside a better one if it tells at least half as much."""
_COMMON, _RARE = 0.3, 0.05


@dataclass(frozen=True)
class FirstRule:
    """A rule, and what it does on the data, in words."""

    rule: WrittenRule
    how: str


@dataclass(frozen=True)
class FirstRules:
    """The rules and the classes they vote for; on which share of samples any votes, and whether labels led to them."""

    rules: tuple[FirstRule, ...]
    classes: tuple[str, ...]
    covered: float
    by_gold: bool
    give_away: tuple[str, ...] = ()
    """Columns that tell the classes apart without a mistake, all by themselves."""


def first_rules(seen: Seen, roles: Roles) -> FirstRules:
    """Three rules, fewer where the data shows no more; refused where it shows nothing that a rule could look at."""
    gold = seen.samples["gold"].fill_null(-1).to_numpy().astype(np.int64)
    half = one_half(seen.samples)
    by_gold = bool((gold >= 0).sum() >= 4 * LEAST and len(np.unique(gold[gold >= 0])) > 1)
    if not by_gold:
        rules = list(_without_gold(seen, roles))
        give_away: tuple[str, ...] = ()
    else:
        partings = list(_partings(seen.samples, roles, np.where(half, gold, -1), len(seen.classes)))
        rules = _named(
            [_rule(one, seen.classes, partings, roles) for one in best_of(partings, WANTED, len(seen.classes))]
        )
        give_away = tuple(sorted({one.looks_at for one in partings if one.when is not None and one.youden == 1}))
    if not rules:
        raise InputError(
            "No rule can be started from this data: it has no column of numbers, words or texts that varies; write "
            "rules of your own, as in docs/bring-your-own.md."
        )
    described, covered = _evaluated(rules, seen, gold, half)
    return FirstRules(described, seen.classes, covered, by_gold, give_away)


def one_half(samples: pa.Table) -> npt.NDArray[np.bool_]:
    """About a half of the samples, drawn with seed 0; samples of one group stay together.

    >>> one_half(pa.table({"id": list("abcd"), GROUP: list("zwzw")})).tolist()
    [True, False, True, False]
    """
    names = samples[GROUP] if GROUP in samples.column_names else samples["id"]
    seeds = Seeds(0, "first rules")
    draws = {name: bool(seeds.integer(str(name)) % 2) for name in set(names.to_pylist())}
    return np.array([draws[name] for name in names.to_pylist()], bool)


def _partings(samples: pa.Table, roles: Roles, gold: Codes, classes: int) -> Iterator[Parting]:
    """Every condition that may become a rule, measured on the samples with gold."""
    if roles.kind == "texts" and roles.text is not None:
        from assay.tasks.language.stop_words import stop_words

        yield from telling_words(TextsIn(roles.text)(samples), gold, classes, stop_words())
    for name, values in _numbers(samples, roles).items():
        yield from thresholds(name, values, gold, classes, picture=roles.kind == "images")
    for name in roles.words:
        cells = [None if value is None else str(value) for value in samples[name].to_pylist()]
        yield from values_of_words(name, cells, gold, classes)


def _numbers(samples: pa.Table, roles: Roles) -> dict[str, Numbers]:
    if roles.kind != "images":
        return {name: NumbersOf(name)(samples) for name in roles.numbers}
    rows = measures_of_pictures.rows
    parts = [measures_of_pictures(samples.slice(start, rows)) for start in range(0, samples.num_rows, rows)]
    return {str(name): np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _rule(parting: Parting, classes: Sequence[str], others: Sequence[Parting], roles: Roles) -> WrittenRule:
    vote = classes[parting.class_code]
    if parting.when is not None:
        return WrittenRule(when=parting.when, vote=vote)
    words = [
        one.word
        for one in others
        if one.word
        and one.class_code == parting.class_code
        and _TOGETHER * parting.youden <= one.youden <= parting.youden
    ]
    return WrittenRule.model_validate({"keywords": tuple(words), "in": roles.text, "vote": vote})


def _named(rules: Sequence[WrittenRule]) -> list[WrittenRule]:
    """The rules with names of their own; no word is asked for by two of them."""
    asked, named = set[str](), list[WrittenRule]()
    for rule in rules:
        if rule.keywords is not None:
            left = tuple(word for word in rule.keywords if word not in asked)[:_WORDS_A_RULE]
            if not left:
                continue
            asked |= set(left)
            rule = rule.model_copy(update={"keywords": left})
        named.append(rule.model_copy(update={"name": _name(rule)}))
    return named


def _name(rule: WrittenRule) -> str:
    """A short name that a column and a test can bear.

    >>> _name(WrittenRule(when=When(column="Worst radius (mm)", above=16.8), vote="malignant"))
    'high_worst_radius_mm'
    """
    if rule.when is None:
        words = f"says_{(rule.keywords or ('',))[0]}"
    else:
        side = (
            "high" if rule.when.above is not None else "low" if rule.when.below is not None else str(rule.when.equals)
        )
        words = f"{side}_{rule.when.column or rule.when.picture}"
    return "_".join("".join(letter if letter.isalnum() else " " for letter in words.lower()).split())


def _without_gold(seen: Seen, roles: Roles) -> Iterator[WrittenRule]:
    """Rules where nobody knows the classes: the ends of columns, or words that some texts have. Votes are guesses."""
    first, second = seen.classes[0], seen.classes[1]
    if roles.kind == "texts" and roles.text is not None:
        for at, word in enumerate(_words_of_some(TextsIn(roles.text)(seen.samples))[:WANTED]):
            rule = WrittenRule.model_validate({"keywords": (word,), "in": roles.text, "vote": (first, second)[at % 2]})
            yield rule.model_copy(update={"name": _name(rule)})
        return
    ends = quantile_bounds(_numbers(seen.samples, roles))
    looked = "picture" if roles.kind == "images" else "column"
    whens = [({looked: name, "above": high}, second) for name, _, high in ends]
    whens = [*whens[:1], *(({looked: name, "below": low}, first) for name, low, _ in ends[:1]), *whens[1:]]
    for when, vote in whens[:WANTED]:
        rule = WrittenRule(when=When.model_validate(when), vote=vote)
        yield rule.model_copy(update={"name": _name(rule)})


def _words_of_some(texts: Sequence[str | None]) -> list[str]:
    """Words that neither almost all nor almost no texts have, the commonest first."""
    from assay.tasks.language.stop_words import stop_words

    shares = {word: len(rows) / len(texts) for word, rows in rows_with_words(texts, stop_words()).items()}
    some = [word for word, share in shares.items() if _RARE <= share <= _COMMON]
    return sorted(some, key=lambda word: (-shares[word], word))


def _evaluated(
    rules: Sequence[WrittenRule], seen: Seen, gold: Codes, half: npt.NDArray[np.bool_]
) -> tuple[tuple[FirstRule, ...], float]:
    """Every rule with what it does on the half that it was not found on; and on which share of samples any votes."""
    votes, _ = apply_rules(seen.samples, WrittenRulebook(WrittenRules(rules=tuple(rules), classes=seen.classes)).load())
    cast = [votes[rule.name].to_numpy() for rule in rules]
    covered = float((np.array(cast) >= 0).any(axis=0).mean())
    has_gold = (gold >= 0).sum() >= 4 * LEAST
    described = [
        FirstRule(rule, _performance(one, gold if has_gold else np.full_like(gold, -1), half))
        for rule, one in zip(rules, cast, strict=True)
    ]
    return tuple(described), covered


def _performance(cast: npt.NDArray[np.int8], gold: Codes, half: npt.NDArray[np.bool_]) -> str:
    from assay.tasks.statistics.proportions import wilson

    sentence = f"votes on {(cast >= 0).mean():.0%} of the samples"
    fresh = (cast >= 0) & ~half & (gold >= 0)
    if not fresh.any():
        return sentence
    hits, n = int((gold == cast)[fresh].sum()), int(fresh.sum())
    low, high = wilson([hits], [n])
    others = ~half & (gold >= 0)
    guessed = (gold[others] == cast[cast >= 0][0]).mean()  # every vote of a written rule is for one class
    sentence += (
        f"; on the other half {hits / n:.0%} [{100 * low[0]:.0f}, {100 * high[0]:.0f}] of its {n} votes are right"
    )
    return sentence if low[0] > guessed else f"{sentence}, no better shown than guessing: replace it first"
