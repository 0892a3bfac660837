"""The findings on word attacks: how often they succeed, by how few words, how similar texts stay, at what price,
whether the word vectors know synonyms, and which texts are shown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.arrays import Bools, Floats
from assay.data.schemas import ChangedTexts
from assay.infra.errors import RunError
from assay.infra.stages.exact import Seeds
from assay.tasks.attacks.texts.settings import MUST_CHANGE
from assay.tasks.language.relatedness import CHANCE
from assay.tasks.language.words import normalised
from assay.tasks.statistics.auc import macro_auc
from assay.tasks.statistics.class_scores import class_counts
from assay.tasks.statistics.classification import Groups
from assay.tasks.statistics.classification_findings import (
    About,
    chance_findings,
    class_areas,
    class_findings,
    recall_findings,
)
from assay.tasks.statistics.clusters import share_by
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import not_shown
from assay.tasks.statistics.paired import bootstrap_difference, compared_shares, wilcoxon

BLIND = "its word vectors cannot tell synonyms from chance"
"""Why nothing is tried, and no rate reported, by an attack whose vectors rank synonyms no higher than random pairs."""
_ANY = -1.0


def is_blind(limits: pa.Table) -> bool:
    """Whether most of the spaces that an attack takes words from rank synonyms no higher than random pairs.

    As in the choice of a replacement, most spaces decide. Lists have no cosines, and of vectors that know too few of
    the synonym pairs nobody can say. A least cosine of −1 asks for no nearness: then no space is relied on.

    >>> from assay.data.schemas import CosineLimits
    >>> spaces = [{"provider": "fasttext", "limit": 0.1, "auc": 0.51, "low": 0.47, "high": 0.54, "pairs": 561}]
    >>> is_blind(pa.Table.from_pylist(spaces, schema=CosineLimits.schema))
    True
    """
    judged = [
        row["low"] <= CHANCE
        for row in limits.to_pylist()
        if row["low"] is not None and row["limit"] is not None and row["limit"] > _ANY
    ]
    return 2 * judged.count(True) > len(judged)


def space_findings(limits: pa.Table, name: str, subject: str) -> list[Finding]:
    """`attack.synonym_auc`, by source of vectors: how likely a synonym pair is nearer than a random one; n is pairs."""
    findings = []
    for row in limits.to_pylist():
        about, (auc, low) = Finding("attack.synonym_auc", name, row["provider"], subject), (row["auc"], row["low"])
        verdict = "not measured" if low is None else "no better than chance" if low <= CHANCE else ""
        if row["limit"] is not None:
            findings.append(replace(about, value=auc, low=low, high=row["high"], n=row["pairs"] or 0, verdict=verdict))
    return findings


SUCCESS, FAILED, SKIPPED = "success", "failed", "skipped"
FEWEST_PAIRS = 6
"""Of fewer pairs Wilcoxon's test cannot find anything."""
FEWEST_RESAMPLED = 30
"""Of fewer texts (or groups of them) a bootstrap does not say how far off their mean is: it stands without interval."""
ALLOWED = "opposites are let in"
"""What is said of `attack.refused` where an attack may put in opposites."""


def word_findings(
    table: pa.Table, name: str, subject: str, classes: Sequence[str], groups: Groups = None
) -> list[Finding]:
    """Everything measured about one attack, from its `AttackedTexts`.

    `attack.success_rate` is of the texts that could be attacked (Wilson), `attack.accuracy` what is right of all texts
    of a known class after the attack, and `attack.skipped` counts the others, once more by reason. An attack that could
    try nothing says nothing about the subject: neither is measured. Words changed and similarities are means over
    successful attacks, queries over all attacks, with bootstrap intervals over the texts; all intervals count the
    `groups` of the texts where they have some. Similarity is by encoder, the
    one of the attack's own constraint first. `attack.refused` counts the replacements that were left out as opposites,
    and `attack.limit` is the least cosine of a replacement, by source of vectors. Where something was tried it is also
    said what the probabilities are still worth.
    """
    status = _strings(table, "status")
    won, tried = status == SUCCESS, status != SKIPPED
    named = {"of": name, "subject": subject}
    rate = share_by("attack.success_rate", won[tried], _groups_of(groups, tried), **named)
    about = About("attack", name, subject=subject)
    findings = [rate, *_accuracies(table, about, classes, groups)]
    why = _strings(table, "reason")
    if (why == BLIND).any():  # n is there, so that no gate takes it for nothing to measure
        findings = [
            replace(finding, value=None, low=None, high=None, n=table.num_rows, verdict=BLIND) for finding in findings
        ]
    if (why == MUST_CHANGE).any():
        findings[0] = replace(findings[0], verdict=MUST_CHANGE)
    findings += [
        share_by("attack.skipped", ~tried & ((why == reason) | (reason == "")), groups, group=reason, **named)
        for reason in _skipped(table)
    ]

    def mean(metric: str, column: str, chosen: Bools, unit: str, group: str = "") -> Finding:
        unmeasured = Finding(f"attack.{metric}", name, group, subject, unit=unit)
        return _mean(unmeasured, _floats(table, column)[chosen], _groups_of(groups, chosen))

    if not won.any() or any(map(any, table["originals"].filter(pa.array(won)).to_pylist())):  # else nothing gave way
        findings += [mean("perturbed_words", "changed", won, "words"), mean("modified_share", "modified", won, "share")]
    for column, encoder in (("similarity", "encoder"), ("second_similarity", "second_encoder")):
        who = table[encoder][0].as_py() if table.num_rows else ""
        findings.append(mean("similarity", column, won, "cosine", who))
    known = [count for count in table["refused"].to_pylist() if count is not None]  # a count, so without an interval
    refused = Finding("attack.refused", name, subject=subject, n=table.num_rows, unit="replacements")
    missing = "" if known else ALLOWED if table.num_rows else "not measured"
    refused = replace(refused, value=float(sum(known)) if known else None, verdict=missing)
    findings += [mean("queries", "queries", tried, "queries"), refused]
    if tried.any():
        findings += _probability_findings(table, about, classes, groups)
    limit = Finding("attack.limit", name, subject=subject, unit="cosine")
    return findings + [
        replace(limit, group=provider, value=least, verdict="not measured" if least is None else "")
        for provider, least in limits_in(table).items()
    ]


def limits_in(table: pa.Table) -> dict[str, float | None]:
    """The least cosine of a replacement that was in force, by source of vectors; None for lists without cosines."""
    if not table.num_rows:
        return {}
    return dict(zip(table["providers"][0].as_py(), table["limits"][0].as_py(), strict=True))


def limits_said(limits: Mapping[str, float | None]) -> str:
    """The limits in words; nothing where there is none.

    >>> limits_said({"encoder": 0.546, "fasttext": 0.34, "lists.json": None})
    '0.55 (encoder), 0.34 (fasttext)'
    """
    return ", ".join(f"{limit:.2f} ({provider})" for provider, limit in limits.items() if limit is not None)


def comparison_findings(
    first: pa.Table,
    second: pa.Table,
    of: str,
    subject: str,
    generator: np.random.Generator,
    significance: float = 0.05,
    groups: Groups = None,
) -> list[Finding]:
    """First less second on the texts that either could attack: success (McNemar's mid-p, Tango's score interval), and
    where both succeed the words changed and the queries (Wilcoxon's p, bootstrap intervals over the texts); all of them
    by group, where texts stand in `groups`.

    An attack that had nothing to try on a text did not succeed there: left out, such texts would favour the attack that
    has fewer words to put in. With an attack that could try nothing anywhere there is no comparison. Concluded is from
    success alone: `attack.mcnemar_p`, which the run corrects with its other tests.
    """
    if first["id"].to_pylist() != second["id"].to_pylist():
        raise RunError(f"The attacks {of} were not on the same texts in the same order.")
    first_status, second_status = _strings(first, "status"), _strings(second, "status")
    ours, theirs = first_status != SKIPPED, second_status != SKIPPED
    tried = (ours | theirs) & ours.any() & theirs.any()
    won, other = first_status == SUCCESS, second_status == SUCCESS
    findings = _success(won[tried], other[tried], of, subject, significance, _groups_of(groups, tried))
    together = won & other
    for column, metric, unit in (("changed", "perturbed_words", "words"), ("queries", "queries", "queries")):
        a, b = _floats(first, column)[together], _floats(second, column)[together]
        about = Finding(f"attack.{metric}_difference", of=of, subject=subject, n=len(a), unit=unit)
        findings.append(_difference(about, a, b, generator, _groups_of(groups, together)))
    return findings


def summary(table: pa.Table) -> str:
    """One line on what came of the texts; of those that say the opposite then, the answers that stand are counted.

    >>> import pyarrow as pa
    >>> summary(pa.table({"status": ["success", "skipped"], "reason": ["", "the text is empty"]}))
    '1 of 1 attacked texts get another answer · skipped: 1 (the text is empty)'
    """
    status = Counter(table["status"].to_pylist())
    came_of_it = "keep their answer" if MUST_CHANGE in table["reason"].to_pylist() else "get another answer"
    line = f"{status[SUCCESS]} of {status[SUCCESS] + status[FAILED]} attacked texts {came_of_it}"
    skipped = ", ".join(f"{count} ({reason})" for reason, count in _skipped(table).items() if reason)
    return f"{line} · skipped: {skipped}" if skipped else line


def _skipped(table: pa.Table) -> Mapping[str, int]:
    """How many texts were skipped, in all (under no reason) and by reason."""
    rows = zip(table["status"].to_pylist(), table["reason"].to_pylist(), strict=True)
    reasons = Counter(reason for status, reason in rows if status == SKIPPED)
    return {"": reasons.total(), **dict(sorted(reasons.items()))}


def _accuracies(table: pa.Table, about: About, classes: Sequence[str], groups: Groups) -> list[Finding]:
    """What is right of the texts of a known class after the attack, and class by class; not measured where texts were
    right and none could be attacked."""
    truth, answers = (table[name].fill_null(-1).to_numpy().astype(np.int64) for name in ("gold", "attacked"))
    known = truth >= 0
    share = share_by(
        "attack.accuracy", (truth == answers)[known], _groups_of(groups, known), of=about.of, subject=about.subject
    )
    counts = class_counts(answers, truth, len(classes), groups)
    findings = [share, *class_findings(about, counts, classes), *recall_findings(about, counts, classes)]
    if share.value and set(table["status"].to_pylist()) == {SKIPPED}:
        return [replace(finding, value=None, low=None, high=None, verdict="not measured") for finding in findings]
    return findings


def _probability_findings(table: pa.Table, about: About, classes: Sequence[str], groups: Groups) -> list[Finding]:
    """What the probabilities are worth after the attack: `attack.auc`, of every class `attack.class_auc`, and whether
    they are chances (`.ece`, `.brier`, `.aurc`). Of all texts of a known class, as `attack.accuracy` is."""
    truth = table["gold"].fill_null(-1).to_numpy().astype(np.int64)
    flat = table["attacked_probabilities"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    if not (truth >= 0).any() or not len(flat):  # a model that answers in words may give none
        return []
    probabilities = np.asarray(flat, dtype=np.float64).reshape(table.num_rows, len(classes))
    area = about.area("auc", macro_auc(probabilities, truth, groups=groups), classes)
    per_class = class_areas(about, probabilities, truth, classes, groups)
    return [area, *per_class, *chance_findings(about, probabilities, truth, groups)]


def _mean(about: Finding, values: Floats, groups: Groups) -> Finding:
    """A mean over texts with its bootstrap interval, which stays where the values are (a mean of few and skewed ones
    has none by Student's t that does); without one of few texts (or groups), or of texts that are all alike."""
    there = ~np.isnan(values)
    known, groups = values[there], _groups_of(groups, there)
    about = replace(about, n=len(known))
    if not len(known):
        return about.estimated(None)
    if _units(known, groups) < FEWEST_RESAMPLED or len(np.unique(known)) == 1:
        return replace(about, value=float(known.mean()))
    generator = Seeds(0, "word findings").generator(f"{about.subject}/{about.of}/{about.metric}/{about.group}")
    return about.estimated(bootstrap_difference(known, np.zeros(len(known)), generator, clusters=groups))


def _success(won: Bools, other: Bools, of: str, subject: str, significance: float, groups: Groups) -> list[Finding]:
    """How much oftener the first succeeds, and the test of it."""
    about = Finding("attack.success_difference", of=of, subject=subject, n=len(won), unit="share")
    test = replace(about, metric="attack.mcnemar_p", unit="p")
    if not len(won):
        return [about.estimated(None), test.estimated(None)]
    apart, p = compared_shares(won, other, groups)
    verdict = not_shown(significance) if p > significance else "more often" if apart.value > 0 else "less often"
    return [replace(about.estimated(apart), p_value=p), replace(test, value=p, p_value=p, verdict=verdict)]


def _difference(
    about: Finding, first: Floats, second: Floats, generator: np.random.Generator, groups: Groups
) -> Finding:
    """The mean difference; not measured of few pairs, or where all are alike and nothing says how far off it is. Its
    interval is there as soon as there are enough pairs to draw from."""
    if _units(first, groups) < FEWEST_PAIRS or len(np.unique(first - second)) == 1:
        return about.estimated(None)
    apart = bootstrap_difference(first, second, generator, clusters=groups)
    finding = replace(about, value=apart.value, p_value=wilcoxon(first, second, groups))
    return finding if _units(first, groups) < FEWEST_RESAMPLED else replace(finding, low=apart.low, high=apart.high)


def _groups_of(groups: Groups, chosen: Bools) -> Groups:
    """The groups of the chosen texts."""
    return None if groups is None else groups[chosen]


def _units(values: Floats, groups: Groups) -> int:
    """How many texts are independent: as many as there are, or their groups."""
    return len(values) if groups is None else len(np.unique(groups))


def _strings(table: pa.Table, column: str) -> npt.NDArray[np.str_]:
    values: Sequence[str] = table[column].to_pylist()
    return np.array(values, dtype=np.str_)


def _floats(table: pa.Table, column: str) -> Floats:
    return np.array([np.nan if value is None else value for value in table[column].to_pylist()], dtype=np.float64)


MASK = "\u25a0\u25a0\u25a0\u25a0"


SHOWN = ["id", "gold", "status", "predicted", "attacked", "text", "starts", "ends", "replacements", "words", "changed"]
"""The columns that it takes to choose and to show examples, beside `similarity`."""


def word_examples(attacked: pa.Table, *, called: str, limit: int, masked: bool) -> pa.Table:
    """The successful attacks that took the fewest words (the most similar of equals), and one that failed."""
    rows = [row for row in attacked.to_pylist() if row["changed"]]
    ranked = sorted(rows, key=lambda row: (row["changed"], -(row["similarity"] or 0.0), row["id"]))
    won, lost = ([row for row in ranked if row["status"] == status] for status in (SUCCESS, FAILED))
    kept = limit - (limit > 1 and bool(lost))
    chosen = won[:kept] + lost[: limit - len(won[:kept])][:1]
    return pa.Table.from_pylist([_shown_row(row, called, masked) for row in chosen], schema=ChangedTexts.schema)


def _shown_row(row: dict[str, Any], called: str, masked: bool) -> dict[str, object]:
    shown = {name: row[name] for name in ("id", "gold", "status", "words", "similarity")}
    shown |= {"attack": called, "group": "", "before": row["predicted"], "after": row["attacked"]}
    return shown | changes_shown(row["text"], row["starts"], row["ends"], row["replacements"], masked=masked)


def changes_shown(
    text: str, starts: Sequence[int], ends: Sequence[int], news: Sequence[str], *, masked: bool
) -> dict[str, object]:
    """A text and its changes as columns of `ChangedTexts`; masked, only that there were so many."""
    if masked:
        places = list(range(len(news)))
        return {"text": "", "starts": places, "ends": places, "news": [MASK] * len(news)}
    return {"text": text, "starts": starts, "ends": ends, "news": news}


@dataclass(frozen=True)
class Carrier:
    """A word that attacks replace: in how many attacks, how many of them succeeded, and by what most often."""

    word: str
    attacks: int
    successes: int
    instead: str


def carriers(attacked: pa.Table) -> list[Carrier]:
    """The words that most successful attacks replaced, with the most frequent first; what is put in between words
    replaces none.

    >>> fell = {"status": "success", "originals": ["Good"], "replacements": ["fine"]}
    >>> carriers(pa.Table.from_pylist([fell, fell | {"status": "failed"}]))
    [Carrier(word='good', attacks=2, successes=1, instead='fine')]
    """
    attacks, successes = Counter[str](), Counter[str]()
    instead: dict[str, Counter[str]] = defaultdict(Counter)
    for row in attacked.select(["status", "originals", "replacements"]).to_pylist():
        words = [normalised(word) for word in row["originals"]]
        attacks.update(set(words))
        if row["status"] == "success":
            successes.update(set(words))
            for word, new in zip(words, row["replacements"], strict=True):
                instead[word][normalised(new)] += 1
    ranked = sorted(filter(None, successes), key=lambda word: (-successes[word], attacks[word], word))
    return [
        Carrier(word, attacks[word], successes[word], max(sorted(instead[word]), key=instead[word].__getitem__))
        for word in ranked
    ]
