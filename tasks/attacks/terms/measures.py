"""The findings on taggers and scorers: matched entities are counted, subjects are compared with and without each
attack, and with models that were trained on attacked copies.

Everything about one subject is resampled together, sentence by sentence (pair by pair), so that each difference
is between two values of the same sentences; group by group, where it is known which sentences are of one
document, or what else is independent. The same holds for a subject beside one that was trained on attacked
copies, or on as many unchanged ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.arrays import Counts
from assay.data.schemas import EntityMatches
from assay.infra.errors import InputError, RunError
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partitions import Tallied
from assay.tasks.statistics.classification import Groups
from assay.tasks.statistics.correlation import Statistic, measured, resamples_of
from assay.tasks.statistics.entities import (
    FEWEST,
    Entity,
    by_group,
    entities_of,
    informative_sentences,
    percentiles,
    randomisation_p,
    resampled,
    scores,
)
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import not_shown
from assay.tasks.statistics.proportions import unvaried, wilson_of

CLEAN = "clean"
LOWER, HIGHER, NO_DROP = "lower", "higher", "no drop shown"
HELPS, HURTS, NO_GAIN = "helps", "hurts", "no gain shown"
NOTHING_LOST = "no drop to recover"
TOO_FEW = "too few samples"
NOT_ESTIMABLE = "not estimable"
"""The verdict on a value that is the same in every resample, where nothing says how far off it may be; and on the
precision of a tagger that names nothing."""
DEGENERATE = "degenerate"
RANGE = "on another range"
"""How the verdict on a mean absolute error begins that would compare two ranges."""
COSTS, PAYS, NO_COST = "costs", "gains", "no cost shown"

Stage = Literal["ner", "sts"]
UNITS: Mapping[Stage, str] = {"ner": "F1", "sts": "r"}
"""Of the measure that drops and gains are of."""
Key = tuple[str, str]
"""What a subject was tested on: the attack (`clean` where there is none), and its severity."""


@dataclass(frozen=True)
class Estimate:
    """A value, and what it is in every resample of the samples [b]: estimates from the same resamples are paired.

    `samples` is how many samples (or groups of them) tell something of a share, or of a difference of shares (F1 among
    them); None of what is no share.
    """

    value: float
    resamples: npt.NDArray[np.float64]
    samples: int | None = None

    def __sub__(self, other: Estimate) -> Estimate:
        both = None if self.samples is None or other.samples is None else min(self.samples, other.samples)
        if not (len(self.resamples) and len(other.resamples)):  # too few samples on one side are too few for both
            return Estimate(self.value - other.value, np.array([]), both)
        return Estimate(self.value - other.value, self.resamples - other.resamples, both)

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % percentile interval; where all resamples are alike, by the rule of three, or none.

        Resamples of samples that all say the same say it too, and their percentiles would claim certainty.
        """
        low, high = percentiles(self.resamples, self.samples)
        if low < high or np.isnan(low):
            return low, high
        return (float("nan"), float("nan")) if self.samples is None else unvaried(self.value, self.samples)

    def verdict(self, above: str, below: str, neither: str) -> str:
        """A word for values whose interval is above 0, below 0, or neither, or that have none."""
        low, high = self.interval
        if np.isnan(low):
            if not np.isfinite(self.resamples).any():
                return TOO_FEW
            return neither if self.value == 0 else NOT_ESTIMABLE
        return above if low > 0 else below if high < 0 else neither


def share_recovered(clean: Estimate, attacked: Estimate, defended: Estimate) -> Estimate:
    """(defended − attacked) / (clean − attacked): how much of the drop the defended model does not have.

    >>> still = np.array([])
    >>> share_recovered(Estimate(0.8, still), Estimate(0.4, still), Estimate(0.5, still)).value.__round__(3)
    0.25
    """
    drop, gain = clean - attacked, defended - attacked
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(drop.resamples > 0, gain.resamples / drop.resamples, np.nan)
    return Estimate(gain.value / drop.value if drop.value > 0 else float("nan"), shares)


def finding(
    metric: str,
    key: Key,
    subject: str,
    estimate: Estimate,
    n: int,
    unit: str,
    verdict: str = "",
    interval: tuple[float, float] | None = None,
) -> Finding:
    """A finding about a subject on what it was tested on; without a value where there is none."""
    low, high = estimate.interval if interval is None else interval
    value, low_end, high_end = (
        float(number) if np.isfinite(number) else None for number in (estimate.value, low, high)
    )
    judgement = "not measured" if value is None else verdict
    return Finding(metric, key[0], key[1], subject, value, low_end, high_end, n, verdict=judgement, unit=unit)


def drop_finding(stage: Stage, key: Key, subject: str, drop: Estimate, n: int) -> Finding:
    """`….drop`: the original minus the attacked value, on the same samples."""
    return finding(f"{stage}.drop", key, subject, drop, n, UNITS[stage], drop.verdict(LOWER, HIGHER, NO_DROP))


def cut_finding(stage: Stage, key: Key, subject: str, n: int, cut: int = 0, beyond: int | None = None) -> Finding:
    """`….cut`: how many of n samples are longer than the subject reads; of tagged ones, the entities it cannot see.

    >>> cut_finding("ner", ("clean", ""), "mine", 90, 2, 5).verdict
    'cut, 5 entities lie beyond what is read'
    """
    lost = "" if beyond is None else f", {beyond} entities lie beyond what is read"
    verdict = f"cut{lost}" if cut else "all are read whole"
    return Finding(f"{stage}.cut", key[0], key[1], subject, float(cut), n=n, verdict=verdict, unit="samples")


def gain_findings(
    stage: Stage,
    key: Key,
    subject: str,
    clean: Estimate,
    before: Estimate,
    after: Estimate,
    n: int,
    trained_on: Collection[str],
) -> list[Finding]:
    """What a model that was trained on attacked copies gains on one test set over the model that was not.

    `….gain` is their difference, `….recovered` the share of the drop that it is, where a drop is shown. On the original
    samples there is no drop: there the difference, with its sign turned round, is the `….cost`. The gain on an attack
    that the copies were made with stands once more as `….own_gain`: the promise of adversarial training, to be read
    (and gated) by itself.
    """
    findings = gained(stage, "gain", key, subject, after - before, n, trained_on)
    if key[0] == CLEAN:
        cost = before - after
        verdict = cost.verdict(COSTS, PAYS, NO_COST)
        return [*findings, finding(f"{stage}.cost", key, subject, cost, n, UNITS[stage], verdict)]
    shown = (clean - before).verdict(LOWER, HIGHER, NOTHING_LOST)
    if shown != LOWER:  # a share of a drop that is not shown would be a share of noise
        why = TOO_FEW if shown == TOO_FEW else NOTHING_LOST
        nothing = Finding(f"{stage}.recovered", key[0], key[1], subject, n=n, verdict=why, unit="share")
        return [*findings, nothing]
    return [*findings, finding(f"{stage}.recovered", key, subject, share_recovered(clean, before, after), n, "share")]


def gained(
    stage: Stage, metric: str, key: Key, subject: str, gain: Estimate, n: int, trained_on: Collection[str]
) -> list[Finding]:
    """`….gain`, or `….gain_over_control`: over as many unchanged copies, so with as many steps.

    On an attack that the copies were made with once more as `….own_gain`, and `….own_gain_over_control`: what is due to
    the attack.
    """
    verdict = gain.verdict(HELPS, HURTS, NO_GAIN)
    gain_finding = finding(f"{stage}.{metric}", key, subject, gain, n, UNITS[stage], verdict)
    own = key[0] in trained_on and key[0] != CLEAN
    return [gain_finding, replace(gain_finding, metric=f"{stage}.own_{metric}")] if own else [gain_finding]


LONGEST = 4
"""Entities of so many words or more are measured together."""


def known_entities(training: pa.Table, *, tokens: str, tags: str) -> dict[str, frozenset[str]]:
    """The entities of a partition, as their words in small letters."""
    forms = set()
    require_columns(training, tokens, tags)
    for words, marked in zip(training[tokens].to_pylist(), training[tags].to_pylist(), strict=True):
        if words is not None and marked is not None:
            forms |= {_form(words, entity) for entity in entities_of(marked)}
    return {"forms": frozenset(forms)}


def require_columns(samples: pa.Table, *columns: str) -> None:
    """Raises where the samples have no such column: without tags nobody can say what an attack does to a tagger."""
    for column in columns:
        if column not in samples.column_names:
            raise InputError(
                f"The samples have no column {column!r}, and a tagger under attack is measured by its words and their "
                f"tags: their columns are {', '.join(samples.column_names)}; name them with the subject's `tokens` and "
                "`tags`, or bring tagged samples."
            )


def match_rows(
    tagged: pa.Table, original: pa.Table, *, tokens: str, tags: str, known: frozenset[str] | None
) -> Tallied:
    """The entities of every sentence whose tags are known; `original` are the same sentences before any attack.

    Counted beside them: the sentences of which the tagger did not read the end (`cut`), and the entities that stand
    there (`beyond`). `known` are the entities of what the tagger learned from; None where nobody knows.
    """
    require_columns(original, tokens, tags)
    rows, cut, beyond = [], 0, 0
    before = zip(original["id"].to_pylist(), original[tokens].to_pylist(), original[tags].to_pylist(), strict=True)
    for row, (sample, words, marked) in zip(tagged.to_pylist(), before, strict=True):
        if row["id"] != sample:
            raise RunError(f"Tagged sentences must stand in the order of the samples: {row['id']} beside {sample}.")
        if row["gold"] is None:
            continue
        gold, predicted = entities_of(row["gold"]), entities_of(row["predicted"])
        # Words behind the last that a tagger was at all sure of were cut off.
        read = max((place for place, sure in enumerate(row["confidence"], 1) if sure > 0), default=0)
        cut, beyond = cut + (read < len(row["tokens"])), beyond + sum(entity.last > read for entity in gold)
        unchanged = entities_of(marked)
        if len(unchanged) != len(gold):
            raise RunError(f"The sentence {sample} has {len(unchanged)} entities, and {len(gold)} under attack.")
        there, named = set(gold), set(predicted)
        rows.append(
            {
                "id": sample,
                "gold_kinds": [entity.kind for entity in gold],
                "gold_lengths": [_length(entity) for entity in unchanged],
                "gold_hits": [entity in named for entity in gold],
                "gold_seen": [None if known is None else _form(words, entity) in known for entity in unchanged],
                "said_kinds": [entity.kind for entity in predicted],
                "said_lengths": [_length(entity) for entity in predicted],
                "said_hits": [entity in there for entity in predicted],
                "said_seen": [None if known is None else _form(row["tokens"], entity) in known for entity in predicted],
            }
        )
    return Tallied(pa.Table.from_pylist(rows, schema=EntityMatches.schema), {"cut": cut, "beyond": beyond})


def counts_of(matches: pa.Table) -> Counts:
    """Found, named and there, per sentence [n, 3]."""
    hits, named = matches["gold_hits"].to_pylist(), matches["said_hits"].to_pylist()
    rows = [(sum(gold), len(predicted), len(gold)) for gold, predicted in zip(hits, named, strict=True)]
    return np.array(rows, dtype=np.int64).reshape(len(rows), 3)


def slices_of(matches: pa.Table) -> dict[str, Counts]:
    """The same for the entities of each kind (where there are several), of each length, seen in training and not.

    A length is that of the words themselves: of an entity before any attack, of what was named as it was named. So it
    tells precision and recall apart only where nothing was attacked.
    """
    columns = {name: matches[name].to_pylist() for name in matches.column_names}
    kinds = sorted({kind for name in ("gold_kinds", "said_kinds") for row in columns[name] for kind in row})
    wanted: list[tuple[str, str, object]] = []
    wanted += [(f"type={kind}", "kinds", kind) for kind in kinds] if len(kinds) > 1 else []
    wanted += [(f"length={length}{'+' * (length == LONGEST)}", "lengths", length) for length in range(1, LONGEST + 1)]
    wanted += [("seen", "seen", True), ("unseen", "seen", False)]
    slices = {name: _slice_counts(columns, which, value) for name, which, value in wanted}
    return {name: counts for name, counts in slices.items() if counts[:, 2].any()}


def _slice_counts(columns: dict[str, list[list[object]]], which: str, value: object) -> Counts:
    sentences = zip(columns["gold_hits"], columns[f"gold_{which}"], columns[f"said_{which}"], strict=True)
    rows = [
        (
            sum(hit is True for hit, kind in zip(hits, gold, strict=True) if kind == value),
            named.count(value),
            gold.count(value),
        )
        for hits, gold, named in sentences
    ]
    return np.array(rows, dtype=np.int64).reshape(len(rows), 3)


def _length(entity: Entity) -> int:
    return min(entity.last - entity.first, LONGEST)


def _form(words: Sequence[str], entity: Entity) -> str:
    return " ".join(words[entity.first : entity.last]).casefold()


Tables = Mapping[Key, pa.Table]
K = TypeVar("K")
STATISTICS: tuple[Statistic, ...] = ("pearson", "spearman", "mae")
_UNITS = {"pearson": "r", "spearman": "ρ", "mae": "score"}


@dataclass(frozen=True)
class Tested:
    """A tagger on one set of sentences: precision, recall, F1, and how many entities were named and are there.

    Where there are none, nothing can be found: recall and F1 have no value. Where none is named, there is no precision;
    F1 is then 0 if there are some, as seqeval has it.
    """

    precision: Estimate
    recall: Estimate
    f1: Estimate
    named: int
    there: int


def tagger_findings(
    tables: Tables, subject: str, significance: float, seeds: Seeds, groups: Groups = None
) -> list[Finding]:
    """`ner.precision|recall|f1` everywhere, by slices, and under attack `ner.drop` and its test `ner.drop_p`."""
    counts = {key: by_group(counts_of(table), groups) for key, table in tables.items()}
    if not any(map(len, counts.values())):
        raise InputError(
            f"None of the sentences that {subject} is tested on has tags, so nothing can be said of it: audit "
            "sentences that are tagged (`evaluation`)."
        )
    sums = resampled(list(counts.values()), seeds.generator(f"{subject}/f1"))
    tested = {key: tested_by(count, sum_) for (key, count), sum_ in zip(counts.items(), sums, strict=True)}
    findings = [score for key, result in tested.items() for score in _scores(key, subject, result)]
    for key in _first_severities(tables):
        for name, sentences in slices_of(tables[key]).items():
            generator = seeds.generator(f"{subject}/{'/'.join(key)}/{name}")
            findings += _slice(key, name, subject, by_group(sentences, groups), generator)
    clean = (CLEAN, "")
    if clean not in tested:
        return findings
    findings += [
        drop_finding("ner", key, subject, tested[clean].f1 - result.f1, result.there)
        for key, result in tested.items()
        if key != clean
    ]
    return findings + [
        _drop_test(key, subject, counts[clean], counts[key], significance, seeds)
        for key in _first_severities(tables)
        if key != clean
    ]


def scorer_findings(tables: Tables, subject: str, seeds: Seeds, groups: Groups = None) -> list[Finding]:
    """`sts.pearson|spearman|mae` everywhere, and under attack `sts.drop`, the drop of Pearson's r."""
    gold, predicted, groups = aligned(tables, groups)
    if not len(gold):
        raise InputError(
            f"None of the pairs that {subject} is tested on has a score, so nothing can be said of it: audit pairs "
            "that are scored (`evaluation`)."
        )
    times = resamples_of(len(gold), seeds.generator(f"{subject}/scores"), groups=groups)
    elsewhere = other_range(gold, predicted.get((CLEAN, ""), next(iter(predicted.values()))))
    findings, pearson = list[Finding](), dict[Key, Estimate]()
    for key, values in predicted.items():
        constant = len(gold) >= FEWEST and np.ptp(values) == 0
        verdict = f"{DEGENERATE}: every pair has the same score" if constant else ""
        for name in STATISTICS:
            estimate = estimated(name, gold, values, times)
            entry = finding(f"sts.{name}", key, subject, estimate, len(gold), _UNITS[name], verdict)
            if name == "mae" and elsewhere:
                entry = replace(entry, value=None, low=None, high=None, verdict=elsewhere)
            findings.append(replace(entry, verdict=verdict) if verdict else entry)
            if name == "pearson":
                pearson[key] = estimate
    clean = pearson.get((CLEAN, ""))
    if clean is not None:
        findings += [
            drop_finding("sts", key, subject, clean - estimate, len(gold))
            for key, estimate in pearson.items()
            if key[0] != CLEAN
        ]
    return findings


def aligned(
    tables: Mapping[K, pa.Table], groups: Groups = None
) -> tuple[npt.NDArray[np.float64], dict[K, npt.NDArray[np.float64]], Groups]:
    """People's scores of the pairs that have one, for each table what the scorer said of them, and their groups."""
    first = next(iter(tables.values()))
    gold = first["gold"].to_numpy().astype(np.float64)
    known = np.isfinite(gold)
    for table in tables.values():
        if not table["id"].equals(first["id"]):
            raise ValueError("only scores of the same pairs in the same order can be compared")
    predicted = {key: table["predicted"].to_numpy()[known] for key, table in tables.items()}
    return gold[known], predicted, None if groups is None else groups[known]


def other_range(gold: npt.NDArray[np.float64], predicted: npt.NDArray[np.float64]) -> str:
    """In words that a scorer's numbers are on another range than people's scores; empty where they are not.

    A mean absolute error says something on one range only; correlations do on any. Numbers that reach less than half
    as far from 0 as the scores, or more than twice as far, are taken to be on another range.

    >>> other_range(np.linspace(0, 4, 20), np.linspace(0, 1, 20))
    'on another range: it scores 0 to 1, people 0 to 4'
    """
    if len(gold) < FEWEST or np.ptp(predicted) == 0:
        return ""
    reach, wanted = float(np.abs(predicted).max()), float(np.abs(gold).max())
    if wanted <= 2 * reach and reach <= 2 * wanted:
        return ""
    ends = [f"{values.min():.3g} to {values.max():.3g}" for values in (predicted, gold)]
    return f"{RANGE}: it scores {ends[0]}, people {ends[1]}"


def tested_by(counts: Counts, sums: Counts) -> Tested:
    """What was counted of a tagger sentence by sentence, with the sums over resampled sentences."""
    total = counts.sum(axis=0)
    values, resamples = scores(total), scores(sums)
    informative = informative_sentences(counts)
    if informative < FEWEST:
        resamples = scores(np.zeros((0, 3)))
    precision, recall, f1 = (
        Estimate(float(value), many, max(1, informative)) for value, many in zip(values, resamples, strict=True)
    )
    if total[2] == 0:
        recall = f1 = Estimate(float("nan"), np.array([]))
    if total[1] == 0:
        precision = Estimate(float("nan"), np.array([]))
    return Tested(precision, recall, f1, int(total[1]), int(total[2]))


def _scores(key: Key, subject: str, tested: Tested) -> list[Finding]:
    verdict = f"{DEGENERATE}: it names no entity" if tested.named == 0 and tested.there >= FEWEST else ""
    named, there = tested.named, tested.there
    ends = _interval(tested.precision, named)
    precision = finding("ner.precision", key, subject, tested.precision, named, "share", verdict, ends)
    if named == 0 < there:  # none of what was named is right, and none is wrong
        precision = replace(precision, verdict=verdict or NOT_ESTIMABLE)
    return [
        precision,
        finding("ner.recall", key, subject, tested.recall, there, "share", verdict, _interval(tested.recall, there)),
        finding("ner.f1", key, subject, tested.f1, there, "F1", verdict, _interval(tested.f1, (named + there) / 2)),
    ]


def _interval(estimate: Estimate, n: float) -> tuple[float, float]:
    """The bootstrap interval, where it is the wider one; else Wilson's of a share of n. None of too few sentences.

    Resamples of none (or all) that were found know only none (or all): there the bootstrap alone would claim certainty.
    F1 is the share of what was found of the mean of what was named and what is there.
    """
    low, high = percentiles(estimate.resamples, estimate.samples)
    if not np.isfinite([estimate.value, low]).all():
        return float("nan"), float("nan")
    lowest, highest = wilson_of(min(estimate.value * n, n), n)
    return float(np.fmin(low, lowest)), float(np.fmax(high, highest))


def _slice(key: Key, name: str, subject: str, counts: Counts, generator: np.random.Generator) -> list[Finding]:
    """A slice of the entities: all three measures of the original samples, and under attack the recall alone, since
    what is named there cannot be told to be long or unseen before the attack."""
    tested = tested_by(counts, resampled([counts], generator)[0])
    slice_key = (key[0], ", ".join(filter(None, (key[1], name))))
    if key[0] == CLEAN or name.startswith("type="):
        return _scores(slice_key, subject, tested)
    ends = _interval(tested.recall, tested.there)
    return [finding("ner.recall", slice_key, subject, tested.recall, tested.there, "share", interval=ends)]


def _drop_test(key: Key, subject: str, clean: Counts, attacked: Counts, significance: float, seeds: Seeds) -> Finding:
    """`ner.drop_p`: approximate randomisation of the same sentences (or groups of them) before and under attack; n
    counts these.

    Those that have nothing to find, and in which nothing is named, tell nothing and are not counted.
    """
    n = min(informative_sentences(clean), informative_sentences(attacked))
    about = Finding("ner.drop_p", key[0], key[1], subject, n=n, unit="p")
    if not clean[:, 2].any():
        return replace(about, verdict="not measured")
    if n < FEWEST:
        return replace(about, verdict=TOO_FEW)
    p = randomisation_p(clean, attacked, seeds.generator(f"{subject}/{'/'.join(key)}/drop"))
    before, after = (scores(counts.sum(axis=0)).f1 for counts in (clean, attacked))
    verdict = not_shown(significance) if p > significance else LOWER if before > after else HIGHER
    return replace(about, value=p, p_value=p, verdict=verdict)


def _first_severities(tables: Tables) -> list[Key]:
    """The first key of every attack: the severity that is looked at in slices and tested."""
    first: dict[str, Key] = {}
    for key in tables:
        first.setdefault(key[0], key)
    return list(first.values())


def estimated(
    name: Statistic, gold: npt.NDArray[np.float64], predicted: npt.NDArray[np.float64], times: npt.NDArray[np.float64]
) -> Estimate:
    """A statistic of pairs, and what it is in resamples of them."""
    return Estimate(float(measured(name, gold, predicted)[0]), measured(name, gold, predicted, times))


def keys_of(names: Sequence[str]) -> list[Key]:
    """What tables called `attack|severity` were made under.

    >>> keys_of(["clean|", "swap|share=1, changes=1"])
    [('clean', ''), ('swap', 'share=1, changes=1')]
    """
    return [(name.partition("|")[0], name.partition("|")[2]) for name in names]


def trained_findings(
    stage: Stage,
    before: Tables,
    after: Tables,
    subject: str,
    trained_on: Collection[str],
    seeds: Seeds,
    groups: Groups = None,
    control: Tables | None = None,
) -> list[Finding]:
    """`….gain`, `….recovered` and `….cost` of a model that was trained on attacked copies, wherever both were tested;
    with a control, that learned from unchanged copies, `….gain_over_control` as well."""
    paired = _together(stage, before, after, seeds.generator(f"{subject}/gain"), groups)
    clean = paired[CLEAN, ""][0]
    findings: list[Finding] = []
    for key, (first, second, n) in paired.items():
        findings += gain_findings(stage, key, subject, clean, first, second, n, trained_on)
    if control is not None:
        beside = _together(stage, control, after, seeds.generator(f"{subject}/control"), groups)
        for key, (first, second, n) in beside.items():
            findings += gained(stage, "gain_over_control", key, subject, second - first, n, trained_on)
    return findings


def _together(
    stage: Stage, before: Tables, after: Tables, generator: np.random.Generator, groups: Groups
) -> dict[Key, tuple[Estimate, Estimate, int]]:
    """Two models on the sets of samples that both were tested on, resampled together: F1 of taggers and the entities
    that are there, Pearson's r of scorers and the pairs with a score."""
    shared = [key for key in after if key in before]
    if stage == "ner":
        counts = [by_group(counts_of(tables[key]), groups) for tables in (before, after) for key in shared]
        tested = [tested_by(count, sums) for count, sums in zip(counts, resampled(counts, generator), strict=True)]
        pairs = zip(tested, tested[len(shared) :], strict=False)
        return {key: (old.f1, new.f1, new.there) for key, (old, new) in zip(shared, pairs, strict=True)}
    together = {("before", *key): before[key] for key in shared} | {("after", *key): after[key] for key in shared}
    gold, predicted, known = aligned(together, groups)
    times = resamples_of(len(gold), generator, groups=known)
    scored = {key: estimated("pearson", gold, scores, times) for key, scores in predicted.items()}
    return {key: (scored["before", *key], scored["after", *key], len(gold)) for key in shared}
