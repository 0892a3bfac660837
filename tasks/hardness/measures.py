"""How hard each sample is by one measure (higher is harder), the measures of many audits beside each other, and the
samples that are hard by all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.arrays import Bools, Floats
from assay.data.schemas import SampleHardness

CONFIDENCE, MARGIN, THETA, DISAGREEMENT = "confidence", "margin", "theta_l", "disagreement"
DYNAMICS, GOLD_DOUBT = "dynamics", "gold_doubt"
_ORACLE = "toki"
_SUM_TOLERANCE = 1e-3


def hardness_rows(table: pa.Table, *, measure: str, subject: str, several: bool = False) -> pa.Table:
    """The SampleHardness of one partition of an audit's table; `several` says that samples bear several labels."""
    if several:  # 1 − the probability of the likelier answer, of the one label that the subject is least sure of
        lists = table["probabilities"].to_pylist()
        values = np.array([max((min(p, 1 - p) for p in chances or ()), default=np.nan) for chances in lists])
        return rows_of(table["id"], values, np.isfinite(values), measure, subject)
    return MEASURES[measure].read(table, measure, subject)


def rows_with_several(predictions: pa.Table) -> dict[str, int]:
    """How many rows hold probabilities of labels that do not exclude each other: they do not add up to 1."""
    known = predictions.filter(pc.is_valid(predictions["probabilities"]))
    return {"rows": sum(abs(sum(shares) - 1) > _SUM_TOLERANCE for shares in known["probabilities"].to_pylist())}


def rows_of(ids: pa.ChunkedArray, values: Floats, kept: Bools, measure: str, subject: str) -> pa.Table:
    """The rows of the samples that are kept."""
    known = ids.filter(pa.array(kept))
    n = len(known)
    return pa.table(
        [known, pa.array([subject] * n, pa.string()), pa.array([measure] * n, pa.string()), pa.array(values[kept])],
        schema=SampleHardness.schema,
    )


def interval_rows(intervals: pa.Table, measure: str, subject: str) -> pa.Table:
    """−θ_L: the lower bound of the confidence in the weak label; samples whose label is a default have none."""
    decided = ~intervals["undecided"].to_numpy()
    return rows_of(intervals["id"], -intervals["lower"].to_numpy(), decided, measure, subject)


def confidence_rows(predictions: pa.Table, measure: str, subject: str) -> pa.Table:
    """1 − the probability of the likeliest class."""
    largest, _ = _two_largest(predictions)
    return rows_of(predictions["id"], 1 - largest, np.isfinite(largest), measure, subject)


def margin_rows(predictions: pa.Table, measure: str, subject: str) -> pa.Table:
    """1 − the lead of the likeliest class over the next one; none of two classes: confidence says the same."""
    largest, second = _two_largest(predictions)
    more = pc.fill_null(pc.list_value_length(predictions["probabilities"]), 0).to_numpy() > 2
    return rows_of(predictions["id"], 1 - (largest - second), np.isfinite(largest) & more, measure, subject)


def gold_doubt_rows(doubts: pa.Table, measure: str, _subject: str) -> pa.Table:
    """1 − the probability that each subject gives the gold label: it knows the truth, so it ranks nobody's errors."""
    values = pc.subtract(1.0, doubts["self_confidence"])
    return pa.table([doubts["id"], doubts["subject"], pa.repeat(measure, len(values)), values], SampleHardness.schema)


def fallen(attacked: pa.Table, measure: str, subject: str) -> pa.Table:
    """−ε of the smallest ball in which an attack succeeds; −∞ where none does. Samples that are wrong anyway have none.

    With several labels per sample there is no one answer to turn, and no row.
    """
    truth = pc.coalesce(attacked["gold"], attacked["clean"])
    right = pc.equal(attacked["clean"], truth).to_numpy(zero_copy_only=False)
    tried = right & (attacked["clean"].to_numpy() >= 0)
    broke = attacked["success"].to_numpy(zero_copy_only=False) & (attacked["eps"].to_numpy() > 0)
    return _per_sample(attacked["id"], np.where(broke, -attacked["eps"].to_numpy(), -np.inf), tried, measure, subject)


def flipped(flips: pa.Table, measure: str, subject: str) -> pa.Table:
    """The share of neighbouring frames between which the answer flips, over all perturbations of this subject."""
    own = flips.filter(pc.equal(flips["subject"], subject))
    sums = own.group_by("id", use_threads=False).aggregate([("flips", "sum"), ("comparisons", "sum")])
    trials = sums["comparisons_sum"].to_numpy()
    return rows_of(sums["id"], sums["flips_sum"].to_numpy() / np.maximum(trials, 1), trials > 0, measure, subject)


def reworded(attacked: pa.Table, measure: str, subject: str) -> pa.Table:
    """−the number of words whose replacement turned the answer; −∞ where the attack failed, nothing where it was not
    tried, as on texts that the subject gets wrong."""
    status = np.array(attacked["status"].to_pylist(), dtype=np.str_)
    words = -attacked["changed"].to_numpy().astype(np.float64)
    values = np.where(status == "success", words, -np.inf)
    return _per_sample(attacked["id"], values, status != "skipped", measure, subject)


def untrusted(labels: pa.Table, measure: str, subject: str) -> pa.Table:
    """The weight of the explanation's unrelated words in that of all, where the trust oracle came to a judgement."""
    own = labels.filter(pc.equal(labels["oracle"], _ORACLE))
    judged = pc.is_in(own["label"], pa.array(["trustworthy", "untrustworthy"])).to_numpy(zero_copy_only=False)
    unrelated = own["unrelated_mass"].to_numpy()
    whole = unrelated + own["related_mass"].to_numpy()
    share = unrelated / np.where(whole > 0, whole, 1.0)
    return rows_of(own["id"], share, judged & (whole > 0), measure, subject)


def disagreement_rows(*predictions: pa.Table) -> pa.Table:
    """The share of subjects that do not give the commonest answer.

    >>> answers = [pa.table({"id": ["a", "b"], "predicted": pa.array(codes, pa.int16())}) for codes in ([0, 1], [0, 0])]
    >>> disagreement_rows(*answers)["value"].to_pylist()
    [0.0, 0.5]
    """
    answers = np.stack([table["predicted"].to_numpy() for table in predictions])  # [subjects, n]
    common = np.max([(answers == of_subject).sum(axis=0) for of_subject in answers], axis=0)
    values = 1 - common / len(answers)
    return rows_of(predictions[0]["id"], values, np.ones(len(values), np.bool_), DISAGREEMENT, "")


@dataclass(frozen=True)
class Measure:
    """One measure: what is hard by it, in short and as a sentence has it, how its number is called and is read."""

    short: str
    words: str
    number: str
    read: Callable[[pa.Table, str, str], pa.Table]
    negated: bool = False
    """Whether the number people know is the other way round."""

    def number_text(self, value: float) -> str:
        """The number behind a value, as people know it.

        >>> MEASURES["eps"].number_text(-0.1), MEASURES["eps"].number_text(-np.inf)
        ('ε 0.1', 'ε: none tried')
        """
        if np.isinf(value):
            return f"{self.number}: none tried"
        return f"{self.number} {(-value if self.negated else value) + 0.0:.3g}"


def _rows_as_they_are(table: pa.Table, _measure: str, _subject: str) -> pa.Table:
    return table


MEASURES: Mapping[str, Measure] = {
    THETA: Measure("doubtful label", "what the rules' labels doubt", "θ_L", interval_rows, negated=True),
    CONFIDENCE: Measure("unsure", "what the subject is unsure of", "1 − confidence", confidence_rows),
    MARGIN: Measure("narrow margin", "what the subject decides by a narrow margin", "1 − margin", margin_rows),
    DYNAMICS: Measure(
        "learned late", "what the subject learned late", "1 − confidence over its training", _rows_as_they_are
    ),
    GOLD_DOUBT: Measure("doubtful gold", "whose gold label the subject doubts", "1 − gold's chance", gold_doubt_rows),
    "eps": Measure("small ε", "what falls at a small ε", "ε", fallen, negated=True),
    "flips": Measure("flips", "what flips under corruption", "flips", flipped),
    "words": Measure("few words", "what few words turn", "words", reworded, negated=True),
    "trust": Measure("wrong reasons", "what is right for the wrong reasons", "unrelated weight", untrusted),
    DISAGREEMENT: Measure("disagreement", "what subjects disagree on", "disagreement", _rows_as_they_are),
}
"""The measures of ours, in the order of a reader's interest; other packages bring tables with names of their own."""


def measure_named(name: str) -> Measure:
    """The measure of that name; of one that another package brought, the name is all that is known."""
    return MEASURES.get(name) or Measure(name, f"what is hard by {name}", name, _rows_as_they_are)


def _per_sample(ids: pa.ChunkedArray, values: Floats, kept: Bools, measure: str, subject: str) -> pa.Table:
    """One row per sample: the hardest of its rows."""
    rows = rows_of(ids, values, kept, measure, subject)
    hardest = rows.group_by(["id", "subject", "measure"], use_threads=False).aggregate([("value", "max")])
    return hardest.rename_columns({"value_max": "value"}).select(SampleHardness.schema.names)


def _two_largest(predictions: pa.Table) -> tuple[Floats, Floats]:
    """The two largest probabilities of each row; NaN where a subject gives none."""
    lists = predictions["probabilities"].to_pylist()
    largest = [sorted(chances)[:-3:-1] if chances and len(chances) > 1 else [np.nan, np.nan] for chances in lists]
    pairs = np.array(largest, dtype=np.float64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


@dataclass(frozen=True)
class Columns:
    """The measures of one subject, and those that are of none; NaN where one says nothing of a sample."""

    own: Mapping[str, Floats] = field(default_factory=dict)
    shared: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def all(self) -> dict[str, Floats]:
        """Every measure by name: ours first, in the order of a reader's interest."""
        together, known = {**self.shared, **self.own}, list(MEASURES)
        names = sorted(together, key=lambda name: (known.index(name) if name in known else len(known), name))
        return {name: together[name] for name in names}

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Which measures are related: all with each other, as far as one of the two is the subject's own; its doubt of
        gold and its confidence are read off one answer, and agree for nothing."""
        own = self.own
        related = (pair for pair in combinations(self.all, 2) if not own or pair[0] in own or pair[1] in own)
        return [pair for pair in related if GOLD_DOUBT not in pair or not {CONFIDENCE, MARGIN}.intersection(pair)]

    @property
    def confidence(self) -> Floats | None:
        """How unsure the subject is, where it gives probabilities."""
        return self.own.get(CONFIDENCE)


def side_by_side(tables: Sequence[pa.Table], ids: pa.ChunkedArray) -> dict[str, Columns]:
    """The columns by subject; under the empty name those that are of no subject, related among themselves.

    >>> rows = {"id": ["b", "a", "b"], "subject": ["s"] * 3, "measure": ["eps"] * 3, "value": [-0.2, -0.3, -0.1]}
    >>> side_by_side([pa.table(rows)], pa.chunked_array([["a", "b", "c"]]))["s"].own["eps"].tolist()
    [-0.3, -0.1, nan]
    """
    by_subject: dict[str, dict[str, Floats]] = {}
    for table in tables:
        places = pc.index_in(table["id"], ids.combine_chunks())
        rows = table.select(["subject", "measure", "value"]).append_column("at", places).filter(pc.is_valid(places))
        for pair in rows.group_by(["subject", "measure"], use_threads=False).aggregate([]).to_pylist():
            subject, measure = pair["subject"], pair["measure"]
            chosen = rows.filter(pc.and_(pc.equal(rows["subject"], subject), pc.equal(rows["measure"], measure)))
            by_name = by_subject.setdefault(subject, {})
            column = by_name.setdefault(measure, np.full(len(ids), np.nan))
            np.fmax.at(column, chosen["at"].to_numpy(), chosen["value"].to_numpy())
    shared = by_subject.pop("", {})
    columns = {subject: Columns(own, shared) for subject, own in by_subject.items()}
    return columns | ({"": Columns({}, shared)} if len(shared) > 1 else {})


FEWEST_MEASURES = 2


@dataclass(frozen=True)
class Hard:
    """Where the sample is, the mean share of samples that it is harder than, and that share by measure."""

    at: int
    mean: float
    harder_than: Mapping[str, float]


def hardest_samples(measures: Mapping[str, Floats], ids: Sequence[str], share: float = 0.25) -> list[Hard]:
    """The samples among the hardest `share` by every measure that they have, the hardest on average first.

    At least two measures, and half of all, must speak of a sample. Ties at the border belong to it, unless they are the
    easiest of all: a measure that finds most samples equally easy makes none of these hard.

    >>> hardest = hardest_samples({"a": np.arange(8.0), "b": np.array([0, 0, 0, 0, 0, 0, 0, 1.0])}, list("abcdefgh"))
    >>> [(one.at, one.harder_than) for one in hardest]
    [(7, {'a': 0.875, 'b': 0.875})]
    """
    varied = {name: values for name, values in measures.items() if len(np.unique(values[~np.isnan(values)])) > 1}
    if len(varied) < FEWEST_MEASURES:
        return []
    known = np.stack([~np.isnan(values) for values in varied.values()])  # [measures, n]
    judged = [_hard(values, share) for values in varied.values()]
    hard, harder = (np.stack(each) for each in zip(*judged, strict=True))
    enough = known.sum(axis=0) >= max(FEWEST_MEASURES, -(-len(varied) // 2))
    chosen = np.flatnonzero(enough & (hard | ~known).all(axis=0))
    hardest = []
    for at in chosen.tolist():
        shares = {name: float(harder[row, at]) for row, name in enumerate(varied) if known[row, at]}
        hardest.append(Hard(at, float(np.mean(list(shares.values()))), shares))
    return sorted(hardest, key=lambda hard: (-hard.mean, ids[hard.at]))


def _hard(values: Floats, share: float) -> tuple[Bools, Floats]:
    """Which samples are among the hardest share (unknown ones are not), and what share of the samples each one is
    harder than, ties not counted; NaN where unknown."""
    known, shares = ~np.isnan(values), np.full(len(values), np.nan)
    ranked = np.sort(values[known])
    border = ranked[-max(1, int(np.floor(share * len(ranked))))]
    shares[known] = np.searchsorted(ranked, values[known], side="left") / len(ranked)
    return (values >= border) & (values > ranked[0]), shares
