"""The findings on word attacks: how often they succeed, by how few words, how alike texts stay, at what price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from assay.infra.errors import RunError
from assay.tasks.attacks.measures import mean_of
from assay.tasks.statistics.classification import Proportion
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.paired import bootstrap_difference, mcnemar, wilcoxon
from assay.tasks.statistics.proportions import share

if TYPE_CHECKING:
    import pyarrow as pa

SUCCESS, FAILED, SKIPPED = "success", "failed", "skipped"
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Carrier:
    """A replacement that successful attacks made, in how many texts."""

    original: str
    replacement: str
    texts: int


def word_findings(table: pa.Table, name: str, subject: str) -> list[Finding]:
    """Everything measured about one attack, from its `AttackedTexts`.

    `attack.success_rate` is of the texts that could be attacked (Wilson), `attack.accuracy` what is right of all texts
    of a known class after the attack, and `attack.skipped` counts the others, once more by reason. Words changed and
    similarities are means over successful attacks, queries over all attacks, with Student's intervals; similarity is by
    encoder, the one of the attack's own constraint first.
    """
    status = _strings(table, "status")
    won, tried = status == SUCCESS, status != SKIPPED
    rate = share("attack.success_rate", int(won.sum()), int(tried.sum()), of=name, subject=subject)
    found = [rate, _accuracy(table, name, subject)]
    found += [
        share("attack.skipped", count, len(status), of=name, group=reason, subject=subject)
        for reason, count in _skipped(table).items()
    ]
    about = {"of": name, "subject": subject}
    found += [
        _mean("attack.perturbed_words", _floats(table, "changed")[won], "words", **about),
        _mean("attack.modified_share", _floats(table, "modified")[won], "share", **about),
    ]
    for column, encoder in (("similarity", "encoder"), ("second_similarity", "second_encoder")):
        who = table[encoder][0].as_py() if table.num_rows else ""
        found.append(_mean("attack.similarity", _floats(table, column)[won], "cosine", group=who, **about))
    return [*found, _mean("attack.queries", _floats(table, "queries")[tried], "queries", **about)]


def comparison_findings(
    first: pa.Table, second: pa.Table, of: str, subject: str, generator: np.random.Generator
) -> list[Finding]:
    """First less second on the texts that both attacked: success (McNemar's exact p), and where both succeed the words
    changed and the queries (Wilcoxon's p), with bootstrap intervals over the texts."""
    if first["id"].to_pylist() != second["id"].to_pylist():
        raise RunError(f"The attacks {of} were not on the same texts in the same order.")
    one, two = _strings(first, "status"), _strings(second, "status")
    both = (one != SKIPPED) & (two != SKIPPED)
    won, lost = one[both] == SUCCESS, two[both] == SUCCESS
    found = [_difference("attack.success_difference", won, lost, mcnemar(won, lost).p_exact, "share", of, subject,
                         generator)]  # fmt: skip
    together = (one == SUCCESS) & (two == SUCCESS)
    for column, metric, unit in (("changed", "perturbed_words", "words"), ("queries", "queries", "queries")):
        a, b = _floats(first, column)[together], _floats(second, column)[together]
        found.append(_difference(f"attack.{metric}_difference", a, b, wilcoxon(a, b), unit, of, subject, generator))
    return found


def carriers(table: pa.Table, most: int = 20) -> list[Carrier]:
    """The replacements that most successful attacks made, the most frequent first, equal ones in alphabetical order."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in table.select(["status", "originals", "replacements"]).to_pylist():
        if row["status"] == SUCCESS:
            pairs = zip(row["originals"], row["replacements"], strict=True)
            counts.update({(original.lower(), replacement.lower()) for original, replacement in pairs})
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [Carrier(original, replacement, texts) for (original, replacement), texts in ordered[:most]]


def summary(table: pa.Table) -> str:
    """One line on what came of the texts.

    >>> import pyarrow as pa
    >>> summary(pa.table({"status": ["success", "skipped"], "reason": ["", "the text is empty"]}))
    '1 of 1 attacked texts fool the subject · skipped: 1 (the text is empty)'
    """
    status = Counter(table["status"].to_pylist())
    line = f"{status[SUCCESS]} of {status[SUCCESS] + status[FAILED]} attacked texts fool the subject"
    skipped = ", ".join(f"{count} ({reason})" for reason, count in _skipped(table).items() if reason)
    return f"{line} · skipped: {skipped}" if skipped else line


def _skipped(table: pa.Table) -> Mapping[str, int]:
    """How many texts were skipped, in all (under no reason) and by reason."""
    rows = zip(table["status"].to_pylist(), table["reason"].to_pylist(), strict=True)
    reasons = Counter(reason for status, reason in rows if status == SKIPPED)
    return {"": reasons.total(), **dict(sorted(reasons.items()))}


def _accuracy(table: pa.Table, name: str, subject: str) -> Finding:
    gold, said = table["gold"].to_pylist(), table["attacked"].to_pylist()
    known = [truth == answer for truth, answer in zip(gold, said, strict=True) if truth is not None and truth >= 0]
    return share("attack.accuracy", sum(known), len(known), of=name, subject=subject)


def _mean(metric: str, values: Floats, unit: str, *, of: str, subject: str, group: str = "") -> Finding:
    known = values[~np.isnan(values)]
    mean: Proportion = mean_of(known)
    verdict = "not measured" if mean.value is None else ""
    return Finding(
        metric, of=of, group=group, subject=subject, value=mean.value, low=mean.low, high=mean.high, n=mean.n,
        verdict=verdict, unit=unit,
    )  # fmt: skip


def _difference(
    metric: str, first: npt.ArrayLike, second: npt.ArrayLike, p: float, unit: str, of: str, subject: str,
    generator: np.random.Generator,
) -> Finding:  # fmt: skip
    if not np.size(first):
        return Finding(metric, of=of, subject=subject, n=0, verdict="not measured", unit=unit)
    apart = bootstrap_difference(first, second, generator)
    return Finding(
        metric, of=of, subject=subject, value=apart.value, low=apart.low, high=apart.high, n=apart.n, p_value=p,
        unit=unit,
    )  # fmt: skip


def _strings(table: pa.Table, column: str) -> npt.NDArray[np.str_]:
    values: Sequence[str] = table[column].to_pylist()
    return np.array(values, dtype=np.str_)


def _floats(table: pa.Table, column: str) -> Floats:
    return np.array([np.nan if one is None else one for one in table[column].to_pylist()], dtype=np.float64)
