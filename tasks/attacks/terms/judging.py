"""What the numbers say of taggers and of scorers, on the original samples and under every attack, beside each other.

Everything about one subject is resampled together, sentence by sentence (pair by pair), so that each difference is
between two values of the same sentences; group by group, where it is known which sentences are of one document, or what
else is independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.infra.errors import InputError
from assay.infra.seeds import Seeds
from assay.tasks.attacks.terms.estimates import (
    CLEAN,
    DEGENERATE,
    HIGHER,
    LOWER,
    NOT_ESTIMABLE,
    RANGE,
    TOO_FEW,
    Estimate,
    Key,
    drop_finding,
    finding,
)
from assay.tasks.attacks.terms.matching import counts_of, slices_of
from assay.tasks.statistics.classification import Groups
from assay.tasks.statistics.correlation import Statistic, measured, resamples_of
from assay.tasks.statistics.entities import FEWEST, Counts, by_group, percentiles, resampled, scores, telling
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import not_shown
from assay.tasks.statistics.proportions import wilson
from assay.tasks.statistics.randomisation import randomisation_p

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
    tested = all_tested(counts, seeds.generator(f"{subject}/f1"))
    findings = [one for key, result in tested.items() for one in _scores(key, subject, result)]
    findings += [
        one
        for key in _first_severities(tables)
        for name, sentences in slices_of(tables[key]).items()
        for part, generator in [(by_group(sentences, groups), seeds.generator(f"{subject}/{'/'.join(key)}/{name}"))]
        for one in _slice(key, name, subject, part, generator)
    ]
    clean = (CLEAN, "")
    if clean not in tested:
        return findings
    for key, result in tested.items():
        if key != clean:
            drop = tested[clean].f1 - result.f1
            findings.append(drop_finding("ner", key, subject, drop, result.there, "F1"))
    findings += [
        _drop_test(key, subject, counts[clean], counts[key], significance, seeds)
        for key in _first_severities(tables)
        if key != clean
    ]
    return findings


def all_tested(counts: Mapping[Key, Counts], generator: np.random.Generator) -> dict[Key, Tested]:
    """A tagger on all sets of sentences, resampled together."""
    sums = resampled(list(counts.values()), generator)
    return {key: tested_by(one, sum_) for (key, one), sum_ in zip(counts.items(), sums, strict=True)}


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
            drop_finding("sts", key, subject, clean - estimate, len(gold), "r")
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
    informative = telling(counts)
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
    low, high = percentiles(estimate.resamples)
    if not np.isfinite([estimate.value, low]).all():
        return float("nan"), float("nan")
    band = wilson([min(estimate.value * n, n)], [n])
    return float(np.fmin(low, band.low[0])), float(np.fmax(high, band.high[0]))


def _slice(key: Key, name: str, subject: str, counts: Counts, generator: np.random.Generator) -> list[Finding]:
    """A slice of the entities: all three measures of the original samples, and under attack the recall alone, since
    what is named there cannot be told to be long or unseen before the attack."""
    tested = tested_by(counts, resampled([counts], generator)[0])
    here = (key[0], ", ".join(filter(None, (key[1], name))))
    if key[0] == CLEAN or name.startswith("type="):
        return _scores(here, subject, tested)
    ends = _interval(tested.recall, tested.there)
    return [finding("ner.recall", here, subject, tested.recall, tested.there, "share", interval=ends)]


def _drop_test(key: Key, subject: str, clean: Counts, attacked: Counts, significance: float, seeds: Seeds) -> Finding:
    """`ner.drop_p`: approximate randomisation of the same sentences (or groups of them) before and under attack; n
    counts these.

    Those that have nothing to find, and in which nothing is named, tell nothing and are not counted.
    """
    n = min(telling(clean), telling(attacked))
    about = Finding("ner.drop_p", key[0], key[1], subject, n=n, unit="p")
    if not clean[:, 2].any():
        return replace(about, verdict="not measured")
    if n < FEWEST:
        return replace(about, verdict=TOO_FEW)
    p = randomisation_p(clean, attacked, seeds.generator(f"{subject}/{'/'.join(key)}/drop"))
    (before, after) = (scores(one.sum(axis=0)).f1 for one in (clean, attacked))
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
