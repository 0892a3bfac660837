"""The first rules of a team, out of its data: the conditions that part the classes best, kept where they are right more
often than one answer would be on the half that they were not found on.

A condition is measured by Youden's J (1950), the share of a class on which it holds less that of all others on
which it does: 1 where it parts them without a mistake, 0 where it says nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.flows.starting.column_roles import Roles
from assay.flows.starting.first_look import Seen
from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.tasks.labeling.rulebook_source import Numbers as NumbersOf
from assay.tasks.labeling.rulebook_source import WrittenRulebook, measures_of_pictures
from assay.tasks.labeling.rules import TextsIn
from assay.tasks.labeling.settings import LONGEST_NAME, When, WrittenRule, WrittenRules
from assay.tasks.labeling.voting import apply_rules
from assay.tasks.statistics.groups import GROUP
from assay.tasks.statistics.proportions import wilson_of

Numbers = npt.NDArray[np.float64]  # [n], NaN where missing
Cells = Numbers | list[str | None]
"""The values of a column: numbers, or words."""
Codes = npt.NDArray[np.int64]  # [n], -1 where there is no gold

LEAST = 5
"""A condition holds on at least so many samples of what it was found on."""
_WORD = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True)
class Parting:
    """A condition, the class that it speaks for, and how well it parts that class from the others."""

    looks_at: str
    class_code: int
    youden: float
    when: tuple[When, ...] = ()
    """All that has to hold: mostly one condition."""
    word: str = ""


def thresholds(column: str, values: Numbers, gold: Codes, classes: int, picture: bool = False) -> list[Parting]:
    """For every class the bound on a column that parts it best, above or below, of those beyond which most are of it.

    >>> partings = thresholds("x", np.arange(12.0), np.repeat([0, 1], 6), 2)
    >>> [(parting.class_code, parting.when[0].called, parting.youden) for parting in partings]
    [(0, 'x below 5.5', 1.0), (1, 'x above 5.5', 1.0)]
    """
    known = (gold >= 0) & ~np.isnan(values)
    values, gold = values[known], gold[known]
    order = np.argsort(values, kind="stable")
    values, gold = values[order], gold[order]
    cuts = np.flatnonzero(values[1:] > values[:-1]) + 1  # how many lie below each cut
    cuts = cuts[(cuts >= LEAST) & (cuts <= len(values) - LEAST)]
    partings: list[Parting] = []
    if not len(cuts):
        return partings
    for code in range(classes):
        mine = gold == code
        if not 0 < mine.sum() < len(mine):
            continue
        below = np.concatenate(([0], np.cumsum(mine)))[cuts]
        youden = below / mine.sum() - (cuts - below) / (~mine).sum()  # of "below the cut"
        frequent = np.where(youden > 0, 2 * below > cuts, 2 * (mine.sum() - below) > len(mine) - cuts)
        at = int(np.argmax(np.where(frequent, np.abs(youden), 0)))
        if not frequent[at]:
            continue
        bound = plain_between(float(values[cuts[at] - 1]), float(values[cuts[at]]))
        side = "below" if youden[at] > 0 else "above"
        when = When.model_validate({"picture" if picture else "column": column, side: bound})
        partings.append(Parting(column, code, round(float(abs(youden[at])), 6), (when,)))
    return partings


def values_of_words(column: str, values: Sequence[str | None], gold: Codes, classes: int) -> list[Parting]:
    """For every class the value of a column of words that speaks for it most.

    >>> partings = values_of_words("smokes", ["yes"] * 6 + ["no"] * 6, np.repeat([1, 0], 6), 2)
    >>> [(parting.class_code, parting.when[0].called, parting.youden) for parting in partings]
    [(0, 'smokes is no', 1.0), (1, 'smokes is yes', 1.0)]
    """
    cells = np.array(["" if value is None else value for value in values], object)
    partings = []
    for code in range(classes):
        scored = [
            (_youden(cells == value, gold, code), value)
            for value in sorted(set(cells) - {""})
            if _most_frequent(cells == value, gold) == code
        ]
        best = max(scored, default=(0.0, ""))
        if best[0] > 0 and (cells == best[1]).sum() >= LEAST:
            partings.append(Parting(column, code, round(best[0], 6), (When(column=column, equals=str(best[1])),)))
    return partings


MOST_JOINED = 3
_CUTS = 20


def joined(columns: Mapping[str, Cells], gold: Codes, code: int) -> Parting | None:
    """Conditions on several columns for a class that none by itself speaks for, as where few samples are of it: first
    the one that parts it best, then the one that does so among the samples that are left, until one is found with
    which most are of the class by Wilson's lower end. None where one by itself is enough, or three are not.

    >>> x, y = np.tile(np.arange(10.0), 10), np.repeat(np.arange(10.0), 10)
    >>> joined({"x": x, "y": y}, ((x > 5) & (y > 5)).astype(np.int64), 1).looks_at
    'x, y'
    """
    held, conditions = gold >= 0, list[When]()
    while len(conditions) < MOST_JOINED:
        score, condition, left = max(
            _narrowed(columns, held, conditions, gold, code), default=_NOTHING, key=itemgetter(0)
        )
        if condition is None or score <= (False, 0.0):
            return None
        held, conditions = left, [*conditions, condition]
        if score[0]:
            named = ", ".join(str(condition.column) for condition in conditions)
            youden = round(_youden(held, gold, code), 6)
            return Parting(named, code, youden, tuple(conditions)) if len(conditions) > 1 else None
    return None


Narrowed = tuple[tuple[bool, float], When | None, npt.NDArray[np.bool_]]
"""Whether most of what is left is of a class, with Youden's J; the condition; the samples that are left."""
_NOTHING: Narrowed = ((False, 0.0), None, np.empty(0, bool))


def _narrowed(
    columns: Mapping[str, Cells], held: npt.NDArray[np.bool_], before: Sequence[When], gold: Codes, code: int
) -> Iterator[Narrowed]:
    """What every further condition leaves of the samples on which those before hold."""
    used = {condition.column for condition in before}
    for name, cells in columns.items():
        for condition, holds in _conditions(name, cells) if name not in used else ():
            left = held & holds
            if LEAST <= left.sum() < held.sum():
                most = wilson_of(int((gold[left] == code).sum()), int(left.sum()))[0] > 1 / 2
                yield (most, _youden(left[held], gold[held], code)), condition, left


def _conditions(name: str, cells: Cells) -> Iterator[tuple[When, npt.NDArray[np.bool_]]]:
    """Conditions on a column, each with where it holds: a value of words, or a side of one of some cuts."""
    if isinstance(cells, list):
        values = np.array(["" if value is None else value for value in cells], object)
        yield from ((When(column=name, equals=value), values == value) for value in sorted(set(values.tolist()) - {""}))
        return
    known = np.sort(cells[~np.isnan(cells)])
    near = known[np.linspace(0, len(known), _CUTS + 1).astype(int)[1:-1]] if len(known) else known
    for at in sorted(set(np.searchsorted(known, near).tolist()) - {0}):
        bound = plain_between(float(known[at - 1]), float(known[at]))
        yield When(column=name, above=bound), cells > bound
        yield When(column=name, below=bound), cells < bound


def telling_words(texts: Sequence[str | None], gold: Codes, dull: Iterable[str] = ()) -> list[Parting]:
    """For every class the words that speak for it, the most telling first; `dull` ones say nothing by themselves.

    >>> partings = telling_words(["a great song"] * 6 + ["win great money"] * 6, np.repeat([0, 1], 6))
    >>> [(parting.class_code, parting.word, parting.youden) for parting in partings]
    [(0, 'song', 1.0), (1, 'money', 1.0), (1, 'win', 1.0)]
    """
    partings = []
    for word, rows in sorted(rows_with_words(texts, dull).items()):
        if len(rows) >= LEAST:
            has = np.zeros(len(texts), bool)
            has[rows] = True
            code = _most_frequent(has, gold)
            youden = _youden(has, gold, code)
            if code >= 0 and youden > 0:
                partings.append(Parting(word, code, round(youden, 6), word=word))
    return sorted(partings, key=lambda parting: (parting.class_code, -parting.youden, parting.word))


def rows_with_words(texts: Sequence[str | None], dull: Iterable[str] = ()) -> dict[str, list[int]]:
    """In which rows every word stands, in small letters; `dull` ones are left out.

    >>> rows_with_words(["A song", "the SONG!"], ["the"])
    {'song': [0, 1]}
    """
    left_out, holds = set(dull), dict[str, list[int]]()
    for row, text in enumerate(texts):
        for word in set(_WORD.findall((text or "").lower())) - left_out:
            holds.setdefault(word, []).append(row)
    return holds


def _youden(holds: npt.NDArray[np.bool_], gold: Codes, code: int) -> float:
    mine, others = gold == code, (gold >= 0) & (gold != code)
    if not mine.any() or not others.any():
        return 0.0
    return float(holds[mine].mean() - holds[others].mean())


def _most_frequent(holds: npt.NDArray[np.bool_], gold: Codes) -> int:
    """The class of more than half of the samples on which a condition holds; -1 where there is none."""
    counts = np.bincount(gold[holds & (gold >= 0)], minlength=1)
    code = int(np.argmax(counts))
    return code if 2 * counts[code] > counts.sum() else -1


def best_of(partings: Iterable[Parting], wanted: int) -> list[Parting]:
    """So many conditions, the best first: every class is spoken for before one has two, and no column is looked at
    twice while there is another that tells at least half as much.

    >>> good, fair, poor = Parting("a", 1, 0.9), Parting("b", 1, 0.8), Parting("c", 0, 0.1)
    >>> [(parting.looks_at, parting.class_code) for parting in best_of([good, fair, Parting("a", 0, 0.9), poor], 3)]
    [('a', 1), ('a', 0), ('b', 1)]
    """
    left = sorted(
        (parting for parting in partings if parting.youden > 0),
        key=lambda parting: (-parting.youden, parting.looks_at, -parting.class_code),
    )
    most, chosen = {parting.class_code: parting.youden for parting in reversed(left)}, list[Parting]()
    left = [parting for parting in left if parting.youden >= most[parting.class_code] / 2]
    while left and len(chosen) < wanted:
        spoken = Counter(parting.class_code for parting in chosen)
        looked = {parting.looks_at for parting in chosen}
        best = min(left, key=lambda parting: (spoken[parting.class_code], parting.looks_at in looked))
        chosen.append(best)
        left.remove(best)
    return chosen


def plain_between(low: float, high: float) -> float:
    """The number with the fewest digits between two numbers, as near their middle as that allows.

    >>> plain_between(16.77, 16.84), plain_between(3, 4), plain_between(0, 1000)
    (16.8, 3.5, 500.0)
    """
    middle = low / 2 + high / 2
    rounded = (float(f"{middle:.{digits}g}") for digits in range(1, 17))
    return next((number for number in rounded if low < number < high), middle)


def quantile_bounds(columns: Mapping[str, Numbers], share: float = 0.2) -> list[tuple[str, float, float]]:
    """Of the columns that vary together most, the bounds of the lowest and the highest share: what can be said of
    numbers without any label. The first is what the others go with.

    >>> quantile_bounds({"a": np.arange(11.0), "b": np.arange(11.0) * 2, "c": np.zeros(11)})
    [('a', 2.0, 8.0), ('b', 4.0, 16.0)]
    """
    names = [name for name, values in columns.items() if np.nanmin(values) < np.nanmax(values)]
    if not names:
        return []
    filled = [np.nan_to_num(columns[name], nan=np.nanmedian(columns[name])) for name in names]
    ranks = np.array([np.argsort(np.argsort(values)) for values in filled])
    together = np.abs(np.atleast_2d(np.corrcoef(ranks))).mean(axis=1)
    chosen = [names[at] for at in np.argsort(-together, kind="stable")]
    ends = [(name, *np.nanquantile(columns[name], [share, 1 - share])) for name in chosen]
    return [(name, float(f"{low:.3g}"), float(f"{high:.3g}")) for name, low, high in ends if low < high]


WANTED, _GUESSED = 6, 3
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
    dropped: tuple[FirstRule, ...] = ()
    """Those that were not right more often than one answer."""


def first_rules(seen: Seen, roles: Roles) -> FirstRules:
    """Some rules, or none where labels show that none is right more often than one answer; refused where there are no
    labels, and nothing that a rule could look at."""
    gold = seen.samples["gold"].fill_null(-1).to_numpy().astype(np.int64)
    half, by_gold = one_half(seen.samples), has_gold(gold)
    partings = list(_partings(seen.samples, roles, np.where(half, gold, -1), len(seen.classes))) if by_gold else []
    best = best_of(partings, WANTED)
    found = [_written_rule(parting, seen.classes, partings, roles) for parting in best]
    rules = _named(found if by_gold else _without_gold(seen, roles))
    if not rules and not by_gold:
        raise InputError(
            "No rule can be started from this data: it has no column of numbers, words or texts that varies; write "
            "rules of your own, as in docs/bring-your-own.md."
        )
    if not rules:
        return FirstRules((), seen.classes, 0.0, by_gold)
    book = WrittenRulebook(WrittenRules(rules=tuple(rules), classes=seen.classes)).load()
    votes, _ = apply_rules(seen.samples, book)
    cast = [votes[rule.name].to_numpy() for rule in rules]
    tried = [_tried(rule, voted, gold, half) for rule, voted in zip(rules, cast, strict=True)]
    kept = [at for at, (_, is_better) in enumerate(tried) if is_better or not by_gold]
    if len({rules[at].vote for at in kept}) < 2:
        kept = []
    covered = float((np.array([cast[at] for at in kept]) >= 0).any(axis=0).mean()) if kept else 0.0
    dropped = tuple(rule for at, (rule, _) in enumerate(tried) if at not in kept)
    return FirstRules(tuple(tried[at][0] for at in kept), seen.classes, covered, by_gold, dropped)


def has_gold(gold: Codes) -> bool:
    """Whether enough samples of several classes are known to look for rules by."""
    return bool((gold >= 0).sum() >= 4 * LEAST and len(np.unique(gold[gold >= 0])) > 1)


_TELLS = 0.97


def give_aways(seen: Seen, roles: Roles) -> tuple[str, ...]:
    """The columns that tell all classes by themselves, learned on one half and right in so many of the other's classes:
    they are another name of the label, or are known only after it.

    >>> label = [0, 1, 2] * 40
    >>> known = pa.table({"id": [f"{at}" for at in range(120)], "gold": label, "days": label, "age": list(range(120))})
    >>> give_aways(Seen(known, known.slice(0, 0), ("a", "b", "c"), 120), Roles("table", numbers=("days", "age")))
    ('days',)
    """
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.tree import DecisionTreeClassifier

    gold = seen.samples["gold"].fill_null(-1).to_numpy().astype(np.int64)
    half, known, given = one_half(seen.samples), gold >= 0, []
    if not has_gold(gold) or roles.kind == "images":
        return ()
    for name in (*roles.numbers, *roles.words):
        if name in roles.numbers:
            values = NumbersOf(name)(seen.samples)
            values = np.where(np.abs(values) <= np.finfo(np.float32).max, values, np.nan)  # a tree takes no more
        else:
            values = np.asarray(seen.samples[name].combine_chunks().dictionary_encode().indices.fill_null(-1), float)
        tree = DecisionTreeClassifier(max_leaf_nodes=4 * len(seen.classes), class_weight="balanced", random_state=0)
        learned, asked = (values[known & side].reshape(-1, 1) for side in (half, ~half))
        if len(np.unique(gold[known & half])) < 2 or not len(asked):
            continue
        predicted = tree.fit(learned, gold[known & half]).predict(asked)
        if balanced_accuracy_score(gold[known & ~half], predicted) >= _TELLS:
            given.append(name)
    return tuple(given)


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
        from assay.tasks.language.words import stop_words

        yield from telling_words(TextsIn(roles.text)(samples), gold, stop_words())
    columns: dict[str, Cells] = {**_numbers(samples, roles)}
    for name in roles.words:
        columns[name] = [None if value is None else str(value) for value in samples[name].to_pylist()]
    pictures = roles.kind == "images"
    for name, cells in columns.items():
        if isinstance(cells, list):
            yield from values_of_words(name, cells, gold, classes)
        else:
            yield from thresholds(name, cells, gold, classes, pictures)
    if roles.kind == "table":
        found = (joined(columns, gold, code) for code in range(classes))
        yield from (parting for parting in found if parting is not None)


def _numbers(samples: pa.Table, roles: Roles) -> dict[str, Numbers]:
    if roles.kind != "images":
        return {name: NumbersOf(name)(samples) for name in roles.numbers}
    rows = measures_of_pictures.rows
    parts = [measures_of_pictures(samples.slice(start, rows)) for start in range(0, samples.num_rows, rows)]
    return {str(name): np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _written_rule(parting: Parting, classes: Sequence[str], others: Sequence[Parting], roles: Roles) -> WrittenRule:
    vote = classes[parting.class_code]
    if len(parting.when) > 1:
        return WrittenRule.model_validate({"all": parting.when, "vote": vote})
    if parting.when:
        return WrittenRule(when=parting.when[0], vote=vote)
    words = [
        other.word
        for other in others
        if other.word
        and other.class_code == parting.class_code
        and _TOGETHER * parting.youden <= other.youden <= parting.youden
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
        name, taken = _rule_name(rule), {other.name for other in named}
        name = f"{name}_{_plain(rule.vote)}" if name in taken else name
        if name not in taken:
            named.append(rule.model_copy(update={"name": name}))
    return named


def _rule_name(rule: WrittenRule) -> str:
    """A short name that a column and a test can bear.

    >>> _rule_name(WrittenRule(when=When(column="Worst radius (mm)", above=16.8), vote="malignant"))
    'high_worst_radius_mm'
    """
    if not rule.conditions:
        return _plain(f"says_{(rule.keywords or ('',))[0]}")
    sides = [
        f"{'high' if when.above is not None else 'low' if when.below is not None else when.equals}"
        f"_{when.column or when.picture}"
        for when in rule.conditions
    ]
    return _plain("_".join(sides))[:LONGEST_NAME]


def _plain(words: str) -> str:
    return "_".join("".join(letter if letter.isalnum() else " " for letter in words.lower()).split())


def _without_gold(seen: Seen, roles: Roles) -> list[WrittenRule]:
    """Rules where nobody knows the classes: the ends of columns, or words that some texts have. Votes are guesses."""
    first, second = seen.classes[0], seen.classes[1]
    written: list[dict[str, object]]
    if roles.kind == "texts" and roles.text is not None:
        words = _words_of_some(TextsIn(roles.text)(seen.samples))[:_GUESSED]
        guesses = [(word, (first, second)[at % 2]) for at, word in enumerate(words)]
        written = [{"keywords": (word,), "in": roles.text, "vote": vote} for word, vote in guesses]
    else:
        looked, ends = "picture" if roles.kind == "images" else "column", quantile_bounds(_numbers(seen.samples, roles))
        written = [{"when": {looked: name, "above": high}, "vote": second} for name, _, high in ends]
        written[1:1] = [{"when": {looked: name, "below": low}, "vote": first} for name, low, _ in ends[:1]]
    return [WrittenRule.model_validate(rule) for rule in written[:_GUESSED]]


def _words_of_some(texts: Sequence[str | None]) -> list[str]:
    """Words that neither almost all nor almost no texts have, the commonest first."""
    from assay.tasks.language.words import stop_words

    shares = {word: len(rows) / len(texts) for word, rows in rows_with_words(texts, stop_words()).items()}
    some = [word for word, share in shares.items() if _RARE <= share <= _COMMON]
    return sorted(some, key=lambda word: (-shares[word], word))


def _tried(
    rule: WrittenRule, cast: npt.NDArray[np.int8], gold: Codes, half: npt.NDArray[np.bool_]
) -> tuple[FirstRule, bool]:
    """The rule with what it does on the half that it was not found on, and whether that is more than one answer does:
    it is right more often than its class is in all samples (Wilson's lower end), and more often right than wrong."""
    sentence = f"votes on {(cast >= 0).mean():.0%} of the samples"
    others = ~half & (gold >= 0)
    votes = gold[others & (cast >= 0)]
    if not len(votes):
        return FirstRule(rule, sentence), False
    code = int(cast[cast >= 0][0])  # every vote of a written rule is for one class
    hits, n, base = int((votes == code).sum()), len(votes), float((gold[others] == code).mean())
    low, high = wilson_of(hits, n)
    sentence += (
        f"; on the other half {hits / n:.0%} [{100 * low:.0f}, {100 * high:.0f}] of its {n} votes are right, and "
        f"{base:.0%} of all samples are {rule.vote}"
    )
    return FirstRule(rule, sentence), n >= 2 * LEAST and low > base and 2 * hits > n
