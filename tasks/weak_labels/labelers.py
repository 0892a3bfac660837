"""What a labeler is, what it makes of votes, how labelers compare, and whether one keeps what pipelines rely on.

A labeler is a weight per labelling function (and, for Snorkel's label model, what each vote tells of each class), or a
function of its own from votes to probabilities. From its scores come a sample's weak label, the confidence in it, and
the share of the votes' weight that the label wins. Every number of a row comes from elementwise arithmetic on that row,
in an order that only the labeler fixes: rows with the same votes get the same bits, whatever partition they lie in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.arrays import Integers
from assay.data.schemas import LabelModel, WeakLabels
from assay.infra.errors import InputError
from assay.infra.user_code.choices import Named, tried
from assay.tasks.statistics.clusters import counted_share
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.groups import group_hashes
from assay.tasks.statistics.paired import compared_counts
from assay.tasks.statistics.resampling import BLOCKS
from assay.tasks.statistics.vote_counts import VoteCounts, VotePatterns, vote_matrix

_BY = "by_"
_BALANCE = "balance_"
_SILENCE = "silence_"
_EQUAL = "equal_p"
FEWEST_FUNCTIONS = 3  # with fewer, agreements do not tell whom to trust; Snorkel refuses them


class Options(Protocol):
    """How long a labeler learns, in which steps, and where it starts."""

    @property
    def epochs(self) -> int:
        """How many steps."""

    @property
    def learning_rate(self) -> float:
        """How large they are."""

    @property
    def seed(self) -> int:
        """Where it starts."""


@dataclass(frozen=True)
class Training:
    """How a training went: its losses, and the epoch after which hardly anything moved any more (None: too late)."""

    epochs: int
    first_loss: float
    last_loss: float
    settled_after: int | None

    @property
    def converged(self) -> bool:
        """Whether training had settled well before its end."""
        return self.settled_after is not None


@dataclass(frozen=True)
class Labeler:
    """Weights w_i per function, and μ[i, y, z] = P(i votes y | the class is z) where the labeler has learned it."""

    functions: tuple[str, ...]
    weights: npt.NDArray[np.float64]  # [m]
    mu: npt.NDArray[np.float32] | npt.NDArray[np.float64] | None = None  # [m, k, k]
    training: Training | None = field(default=None, compare=False)
    balance: tuple[float, ...] | None = None
    """P(class) for every class, where it was given or estimated; None where all are equally frequent."""
    by: str = ""
    """Whose own function makes probabilities of the votes; empty where their weights do."""
    silence: npt.NDArray[np.float64] | None = None
    """P(i abstains | the class is z) [m, k], where abstaining tells something of the class."""
    equal_p: float | None = None
    """How surprising the votes would be if all classes were equally frequent, where their shares were to be estimated;
    there is no `balance` where the votes do not tell."""

    def to_table(self) -> pa.Table:
        """The labeler as a LabelModel table: one row per function, μ in columns `mu_<vote>_<class>`."""
        m = len(self.functions)
        table = {"function": list(self.functions), "weight": self.weights}
        if self.training is not None:
            about = asdict(self.training).items()
            table |= {name: np.full(m, np.nan if value is None else float(value)) for name, value in about}
        if self.mu is not None:
            k = self.mu.shape[1]
            table |= {f"mu_{y}_{z}": self.mu[:, y, z].astype(np.float64) for y in range(k) for z in range(k)}
        if self.balance is not None:
            table |= {f"{_BALANCE}{z}": np.full(m, share) for z, share in enumerate(self.balance)}
        if self.silence is not None:
            table |= {f"{_SILENCE}{z}": column for z, column in enumerate(self.silence.T)}
        if self.equal_p is not None:
            table[_EQUAL] = np.full(m, self.equal_p)
        if self.by:
            table[_BY + self.by] = np.ones(m)
        columns = [*LabelModel.schema, *(pa.field(name, pa.float64()) for name in list(table)[2:])]
        return pa.table(table, schema=pa.schema(columns))


def labeler_from(table: pa.Table) -> Labeler:
    """The labeler that `Labeler.to_table` wrote, bit by bit."""
    numbers = {name: table.column(name).to_numpy() for name in table.column_names if name != "function"}
    k = round(sum(name.startswith("mu_") for name in numbers) ** 0.5)
    mu = np.array([[numbers[f"mu_{y}_{z}"] for z in range(k)] for y in range(k)])
    if (mu == mu.astype(np.float32)).all():  # Snorkel's, and its logarithms are taken as they are
        mu = mu.astype(np.float32)
    silence = [numbers[name] for name in numbers if name.startswith(_SILENCE)]
    # What is about the whole labeler stands in every row.
    whole = {name: float(column[0]) for name, column in numbers.items()} if table.num_rows else {}
    training = None
    if "epochs" in whole:
        epochs, first, last, settled = (whole[field.name] for field in fields(Training))
        training = Training(int(epochs), first, last, None if np.isnan(settled) else int(settled))
    return Labeler(
        functions=tuple(table.column("function").to_pylist()),
        weights=numbers["weight"].astype(np.float64),
        mu=np.ascontiguousarray(mu.transpose(2, 0, 1)) if k else None,
        training=training,
        balance=tuple(share for name, share in whole.items() if name.startswith(_BALANCE)) or None,
        by=next((name.removeprefix(_BY) for name in numbers if name.startswith(_BY)), ""),
        silence=np.stack(silence, axis=1) if silence else None,
        equal_p=whole.get(_EQUAL),
    )


def is_learnable(counts: VoteCounts) -> bool:
    """Whether agreements of the functions can tell whom to trust: there are three of them, and votes."""
    return len(counts.functions) >= FEWEST_FUNCTIONS and bool(counts.votes.any())


def given_balance(settings: object) -> tuple[float, ...] | None:
    """P(class) where the options give it; None where all classes count as equally frequent."""
    balance = getattr(settings, "class_balance", None)
    return balance if isinstance(balance, tuple) else None


def majority(functions: Sequence[str]) -> Labeler:
    """The labeler of uniform weights, w_i = 1 for all i: its label weights are the votes each class gets.

    >>> majority(["a", "b"]).weights.tolist()
    [1.0, 1.0]
    """
    return Labeler(tuple(functions), np.ones(len(functions)))


if TYPE_CHECKING:
    CastVotes = npt.NDArray[np.int8]  # [n, m], the class that each function votes for, -1 where it abstains
    Probabilities = npt.NDArray[np.float64]  # [n, k]

GROUP = "assay.labelers"
"""Where installed packages offer labelers."""


@dataclass(frozen=True)
class LabelerChoice(Named):
    """A labeler that a pipeline can name: what it learns from votes, or what it makes of them; with neither, every
    vote weighs the same.

    `learn` turns counts of votes into weights per function, with `by_pattern` those of whole patterns, too; `libraries`
    are what it imports, if that takes seconds.
    `probabilities` is given the votes of some samples, [n, m] with -1 for abstaining, and the number of classes, and
    gives the probability of every class, [n, k]; a sample's may not depend on the other samples.
    """

    learn: Callable[[VoteCounts, Options], Labeler] | None = None
    libraries: tuple[str, ...] = ()
    by_pattern: bool = False
    most_classes: int | None = None
    """How many classes it can tell apart; None for any number."""
    probabilities: Callable[[CastVotes, int], Probabilities] | None = None

    def __post_init__(self) -> None:
        if self.learn is not None and self.probabilities is not None:
            raise InputError(
                f"The labeler {self.word} says both what it learns and what it makes of votes: give it `learn` or "
                "`probabilities`."
            )

    def conformance(self) -> list[str]:
        """What keeps the labeler from being one, a sentence: it is tried on votes."""
        return tried(partial(check_labeler, self))


Scores = npt.NDArray[np.float64]  # [q, n], one row per class
_NUMBERS = list(WeakLabels.schema)[1:]
_PATTERNS = 4096  # vote patterns of a few functions whose sums are looked up instead of added up
_NEARLY = 1e-6  # how far probabilities of a labeler's own may be from summing to one
_BLOCK = 65_536  # rows worked on at a time


def default_class(default: str | int, names: Sequence[str]) -> int:
    """The code of the default label, which may be given as a class's name or as its code.

    >>> default_class("benign", ["malignant", "benign"]), default_class(0, ["malignant", "benign"])
    (1, 0)
    """
    if isinstance(default, str) and default in names:
        return names.index(default)
    if isinstance(default, int) and 0 <= default < len(names):
        return default
    listed = ", ".join(f"{code} ({name})" for code, name in enumerate(names))
    raise InputError(f"weak_labels.default_label is {default!r}, which is no class; the classes are {listed}.")


def weak_labels(votes: pa.Table, labeler: Labeler, classes: int, default: int) -> pa.Table:
    """The WeakLabels of a partition of votes: per sample f̂(x), ĝ(x), n(x) and the share that s(x) = n(x)·share needs.

    f̂ is the class with the largest posterior score; of equal ones the default label if it is among them, else the
    first. ĝ = exp(score of f̂) / Σ_y exp(score of y). Where all classes are exactly equal the sample is undecided.
    """
    columns = [votes.column(name).to_numpy() for name in labeler.functions]
    tables = lookup_tables(labeler, classes)
    parts = []
    for start in range(0, votes.num_rows, _BLOCK):
        size = min(_BLOCK, votes.num_rows - start)
        sums = class_sums([column[start : start + size] for column in columns], tables, size)
        parts.append(_label(sums, classes, default, labeler.balance))
    numbers = {field.name: pa.chunked_array([part[field.name] for part in parts], field.type) for field in _NUMBERS}
    return pa.table({"id": votes.column("id"), **numbers}, schema=WeakLabels.schema)


def labels_by(choice: LabelerChoice, votes: pa.Table, functions: Sequence[str], classes: int, default: int) -> pa.Table:
    """The WeakLabels of a partition of votes by a labeler's own probabilities: the most probable class, how probable it
    is, and as the share of the votes' weight that it wins the same."""
    cast = vote_matrix(votes, functions)
    probabilities = probabilities_of(choice, cast, classes)
    best = probabilities.max(axis=1)
    label = np.where(probabilities[:, default] == best, default, probabilities.argmax(axis=1)).astype(np.int16)
    undecided = (probabilities == best[:, None]).all(axis=1)
    numbers = [label, best, (cast >= 0).sum(axis=1).astype(np.int32), best, undecided]
    columns = [pa.array(values, field.type) for values, field in zip(numbers, _NUMBERS, strict=True)]
    return pa.table([votes.column("id"), *columns], schema=WeakLabels.schema)


def probabilities_of(choice: LabelerChoice, cast: npt.NDArray[np.int8], classes: int) -> npt.NDArray[np.float64]:
    """What a labeler's own function makes of votes [n, m], seen to be probabilities, [n, k]."""
    if choice.probabilities is None:
        raise InputError(f"The labeler {choice.word} has no probabilities of its own.")
    probabilities = np.asarray(choice.probabilities(cast.copy(), classes), dtype=np.float64)
    if probabilities.shape != (len(cast), classes):
        raise InputError(
            f"The labeler {choice.word} gave the shape {list(probabilities.shape)} for {len(cast)} samples, expected "
            f"{[len(cast), classes]}: the probability of every class for every sample."
        )
    wrong = np.flatnonzero(
        ~(np.isfinite(probabilities) & (probabilities >= 0)).all(axis=1)
        | (np.abs(probabilities.sum(axis=1) - 1) > _NEARLY)
    )
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"The labeler {choice.word} gave {probabilities[row].tolist()} for the votes {cast[row].tolist()}, "
            "expected probabilities: none below 0, together 1."
        )
    return probabilities


def lookup_tables(labeler: Labeler, classes: int) -> npt.NDArray[np.float64]:
    """What each vote of each function adds, [m, k + 1, q]: row 0 is abstaining and adds nothing.

    The first k columns add w_i to the class voted for, the next one counts the vote. Where the labeler has learned μ,
    k more columns add log μ[i, y, z] to the score of each class z: log P(votes | z), for a uniform class balance. Where
    abstaining tells something, row 0 adds its logarithm there.
    """
    m, k = len(labeler.functions), classes
    tables = np.zeros((m, k + 1, 2 * k + 1 if labeler.mu is not None else k + 1))
    tables[:, 1:, :k] = labeler.weights[:, None, None] * np.eye(k)
    tables[:, 1:, k] = 1
    if labeler.mu is not None:
        tables[:, 1:, k + 1 :] = np.log(labeler.mu)  # in float32, as Snorkel does
    if labeler.silence is not None:
        tables[:, 0, k + 1 :] = np.log(labeler.silence)
    return tables


def class_sums(columns: Sequence[npt.NDArray[np.int8]], tables: npt.NDArray[np.float64], size: int) -> Scores:
    """Σ_i tables[i, vote_i + 1] for each row, [q, n]: functions are taken a few at a time, their patterns looked up."""
    m, outcomes, q = tables.shape
    together = max(1, int(np.log(_PATTERNS) / np.log(outcomes)))
    sums = np.zeros((q, size))
    pattern = np.empty(size, dtype=np.int16)  # fewer than _PATTERNS, so two bytes will do
    for start in range(0, m, together):
        group = range(start, min(start + together, m))
        lookup = np.zeros((1, q))
        pattern[:] = 0
        for i in group:
            pattern *= np.int16(outcomes)
            pattern += columns[i]
            lookup = (lookup[:, None, :] + tables[i][None, :, :]).reshape(-1, q)
        beginning = sum(outcomes**digit for digit in range(len(group)))  # every vote counts from -1
        place = pattern.astype(np.intp) + beginning
        for row in range(q):
            sums[row] += np.ascontiguousarray(lookup[:, row]).take(place)
    return sums


def _label(sums: Scores, classes: int, default: int, balance: tuple[float, ...] | None) -> dict[str, pa.Array]:
    weights, cast = sums[:classes], sums[classes].astype(np.int32)
    scores = sums[classes + 1 :] if len(sums) > classes + 1 else weights
    if balance is not None:  # log P(class | votes) = log P(votes | class) + log P(class), up to what all share
        scores = scores + np.log(np.asarray(balance))[:, None]
    best = scores.max(axis=0)
    label = np.where(scores[default] == best, default, scores.argmax(axis=0)).astype(np.int16)
    undecided = (scores == best).all(axis=0)
    undecided |= cast == 0  # where nobody voted, neither silence nor how frequent a class is decides anything
    label = np.where(undecided, default, label).astype(np.int16)
    return {
        "label": pa.array(label),
        "confidence": pa.array(np.where(undecided, 1 / classes, softmax_at(scores, label))),
        "votes_cast": pa.array(cast),
        "share": pa.array(softmax_at(weights, label)),
        "undecided": pa.array(undecided),
    }


def softmax_at(scores: Scores, label: npt.NDArray[np.int16]) -> npt.NDArray[np.float64]:
    """exp(score of the label) / Σ_y exp(score of y) per column, shifted by the largest so that nothing overflows.

    >>> softmax_at(np.array([[1000.0, 0.0], [1000.0, -1000.0]]), np.array([0, 1], dtype=np.int16)).tolist()
    [0.5, 0.0]
    """
    powers = np.exp(scores - scores.max(axis=0))  # [k, n]
    total = powers[0].copy()
    for power in powers[1:]:
        total += power
    return np.asarray(np.take_along_axis(powers, label[None, :].astype(np.int64), axis=0)[0] / total)


def count_comparison(samples: pa.Table, *labels: pa.Table) -> dict[str, Integers]:
    """Of every two labelers, how many samples both decide and how many alike [pairs, G]; of the samples with gold that
    all of them decide, how many there are [1, G], and of each labeler how many are right, and how many of these by the
    first as well [labelers, G]. By the pool of their groups, where samples stand in some.

    >>> gold = pa.table({"gold": [0, 1, None]})
    >>> sure = pa.table({"label": [0, 1, 1], "undecided": [False] * 3})
    >>> wavering = pa.table({"label": [1, 1, 0], "undecided": [False, False, True]})
    >>> {name: counts.tolist() for name, counts in count_comparison(gold, sure, wavering).items()}
    {'both': [[2]], 'alike': [[1]], 'known': [[2]], 'right': [[2], [1]], 'as_first': [[2], [1]]}
    """
    label = np.stack([table["label"].to_numpy() for table in labels])
    decided = ~np.stack([table["undecided"].to_numpy(zero_copy_only=False) for table in labels])
    gold, hashes = pc.fill_null(samples["gold"], -1).to_numpy(), group_hashes(samples)
    where, groups = (np.zeros(len(gold), np.int64), 1) if hashes is None else (hashes % BLOCKS, BLOCKS)

    def counted(chosen: Sequence[npt.NDArray[np.bool_]]) -> Integers:
        return np.stack([np.bincount(where[each], minlength=groups) for each in chosen]).astype(np.int64)

    known = decided.all(axis=0) & (gold >= 0)
    right, pairs = list((label == gold) & known), list(combinations(range(len(labels)), 2))
    both = [decided[a] & decided[b] for a, b in pairs]
    alike = [pair & (label[a] == label[b]) for pair, (a, b) in zip(both, pairs, strict=True)]
    as_first = [each & right[0] for each in right]
    chosen = {"both": both, "alike": alike, "known": [known], "right": right, "as_first": as_first}
    return {name: counted(each) for name, each in chosen.items()}


def comparison_findings(counted: Mapping[str, Integers], labelers: Sequence[str], grouped: bool) -> list[Finding]:
    """How often two labelers agree; how often each is right; and how much oftener than the first, paired."""
    both, alike, (known,), right, as_first = map(counted.__getitem__, ("both", "alike", "known", "right", "as_first"))
    findings = [
        replace(counted_share("weak_labels.agreement", hits, n, grouped), of=first, group=second)
        for (first, second), hits, n in zip(combinations(labelers, 2), alike, both, strict=True)
    ]
    for at, labeler in enumerate(labelers if known.any() else ()):
        findings.append(replace(counted_share("weak_labels.accuracy", right[at], known, grouped), group=labeler))
        if at:
            gain, p_value = compared_counts(right[at] - as_first[at], right[0] - as_first[at], known, grouped)
            about = Finding("weak_labels.gain", labeler, labelers[0], n=gain.n, p_value=p_value, unit="share")
            verdict = "better" if gain.low > 0 else "worse" if gain.high < 0 else "not shown"
            findings.append(replace(about, value=gain.value, low=gain.low, high=gain.high, verdict=verdict))
    return findings


SAMPLES, FUNCTIONS, CLASSES = 60, 5, 3


@dataclass(frozen=True)
class _Brief:
    """The options of a short training."""

    epochs: int = 20
    learning_rate: float = 0.01
    seed: int = 0


def check_labeler(choice: LabelerChoice) -> None:
    """Nothing, or one sentence: its probabilities have the right shape and sum to one, the same votes get the same
    answer, and a sample's answer does not depend on the samples beside it.

    >>> from assay.tasks.weak_labels.labelers import LabelerChoice
    >>> check_labeler(LabelerChoice("uniform", probabilities=lambda votes, k: np.full((len(votes), k), 1 / k)))
    """
    classes = min(CLASSES, choice.most_classes or CLASSES)
    votes = np.random.default_rng(0).integers(-1, classes, size=(SAMPLES, FUNCTIONS)).astype(np.int8)
    votes[0] = -1  # a sample that nobody votes on
    if choice.probabilities is not None:
        _check_probabilities(choice, votes)
    elif choice.learn is not None:
        _check_learning(choice, votes, choice.learn, classes)


def _check_probabilities(choice: LabelerChoice, votes: npt.NDArray[np.int8]) -> None:
    whole = probabilities_of(choice, votes, CLASSES)
    if not np.array_equal(whole, probabilities_of(choice, votes, CLASSES)):
        raise InputError(f"The labeler {choice.word} gives the same votes other probabilities when it is asked again.")
    for cut in (1, 7):
        parts = [probabilities_of(choice, votes[at : at + cut], CLASSES) for at in range(0, len(votes), cut)]
        if not np.array_equal(whole, np.concatenate(parts)):
            raise InputError(
                f"The labeler {choice.word} gives a sample other probabilities when it is asked about {cut} at a time: "
                "a sample's may not depend on the others."
            )


def _check_learning(
    choice: LabelerChoice, votes: npt.NDArray[np.int8], learn: Callable[[VoteCounts, Options], Labeler], classes: int
) -> None:
    names = tuple(f"rule_{number}" for number in range(FUNCTIONS))
    hot = (votes[:, :, None] == np.arange(classes)).reshape(len(votes), -1).astype(np.int64)
    pairs = VoteCounts.of_matrix(names, classes, len(votes), hot.T @ hot)
    counts = replace(pairs, patterns=VotePatterns.of(votes))
    first, second = (learn(counts, _Brief()) for _ in range(2))
    require_learned(choice, first, counts)
    if not np.array_equal(first.weights, second.weights) or (
        first.mu is not None and (second.mu is None or not np.array_equal(first.mu, second.mu))
    ):
        raise InputError(f"The labeler {choice.word} learns other weights from the same votes when it learns again.")


def require_learned(choice: LabelerChoice, learned: object, counts: VoteCounts) -> None:
    """Raises unless this is a labeler with a finite weight for each function, and what μ it has is positive."""
    if not isinstance(learned, Labeler):
        raise InputError(f"The labeler {choice.word} learned a {type(learned).__name__}, expected a Labeler.")
    names, m, k = counts.functions, len(counts.functions), counts.classes
    if learned.functions != names or learned.weights.shape != (m,) or not np.isfinite(learned.weights).all():
        raise InputError(
            f"The labeler {choice.word} learned the weights {learned.weights.tolist()} of "
            f"{', '.join(learned.functions)}, expected a finite weight for each of {', '.join(names)}."
        )
    if learned.mu is not None and (learned.mu.shape != (m, k, k) or not (learned.mu > 0).all()):
        raise InputError(
            f"The labeler {choice.word} learned μ of the shape {list(learned.mu.shape)}, expected positive numbers of "
            f"the shape {[m, k, k]}: P(a function votes y | the class is z)."
        )
