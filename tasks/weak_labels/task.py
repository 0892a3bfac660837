"""Weak labelling as stages: a labeler is trained from counts of votes, then labels every sample where it lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import Classes, LabelModel, Panel, Votes, WeakLabels, class_names
from assay.infra.errors import InputError
from assay.infra.stages.partitions import Reuse, Tallied, collect, map_partitions, reduce_partitions, tally_of
from assay.infra.stages.stage import say, stage, waiting, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.statistics.vote_counts import VoteCounts, count_partition, vote_counts
from assay.tasks.weak_labels.labelers import (
    Labeler,
    LabelerChoice,
    default_class,
    labeler_from,
    labels_by,
    majority,
    weak_labels,
)
from assay.tasks.weak_labels.snorkel import FEWEST_FUNCTIONS
from assay.tasks.weak_labels.table import LABELERS, WeakLabelling

_LEAST = 0.01  # a class that no majority names may still be there


def given_shares(given: Mapping[str, float] | Sequence[float], names: Sequence[str]) -> tuple[float, ...]:
    """P(class) in the order of the codes, adding up to 1.

    >>> given_shares({"spam": 0.2, "ham": 0.8}, ["ham", "spam"])
    (0.8, 0.2)
    """
    listed = ", ".join(names)
    if isinstance(given, Mapping):
        if set(given) != set(names):
            raise InputError(
                f"weak_labels.class_balance is about {', '.join(given)}, and the classes are {listed}: give each a "
                "share."
            )
        shares = [given[name] for name in names]
    else:
        shares = list(given)
    if len(shares) != len(names):
        raise InputError(
            f"weak_labels.class_balance has {len(shares)} shares, and there are {len(names)} classes: {listed}."
        )
    return tuple(share / sum(shares) for share in shares)


def majority_shares(labels: Sequence[int]) -> tuple[float, ...]:
    """P(class) as the shares of what majorities say, none below a hundredth.

    >>> majority_shares([8, 2]), [round(share, 2) for share in majority_shares([10, 0])]
    ((0.8, 0.2), [0.99, 0.01])
    """
    if not sum(labels):
        return tuple(1 / len(labels) for _ in labels)
    shares = [max(count / sum(labels), _LEAST) for count in labels]
    return tuple(share / sum(shares) for share in shares)


@stage(version=1, title="labeler")
def train_labeler(
    votes: Artifact[Votes],
    panel: Artifact[Panel] | None,
    classes: Artifact[Classes],
    settings: WeakLabelling,
    labeler: str,
    functions: Literal["all", "panel"],
) -> Artifact[LabelModel]:
    """A labeler by its word, listening to all functions or to the panel; fitted on all samples."""
    choice, asked = LABELERS.named(labeler, settings), settings.class_balance
    if choice.learn is None and panel is not None:
        trained = _untrained_labeler(choice, _functions(panel, functions))
    else:
        settings = settings.model_copy(update={"class_balance": _balance(votes, classes, settings)})
        counts = vote_counts(
            reduce_partitions(count_partition, votes, reuse=Reuse(), classes=classes.rows), classes.rows
        )
        trained = _train(counts, panel, functions, settings, choice)
    say(_trained_in_words(trained, choice) + _balance_in_words(trained, asked))
    return write_table(trained.to_table(), into=LabelModel)


@stage(version=1, title="weak labels")
def label_probabilistically(
    votes: Artifact[Votes], model: Artifact[LabelModel], classes: Artifact[Classes], settings: WeakLabelling
) -> Artifact[WeakLabels]:
    """Per sample the class that the labeler finds most probable, and how sure it is."""
    names = class_names(collect(classes, None))
    default = default_class(settings.default_label, names)
    labeler = labeler_from(collect(model, columns=None))
    labels: Artifact[WeakLabels] = map_partitions(
        label_partition,
        votes,
        into=WeakLabels,
        reuse=Reuse(),
        labeler=labeler,
        classes=len(names),
        default=default,
        settings=settings,
    )
    undecided = tally_of(labels)["undecided"]
    say(f"{labels.rows} samples labelled by {len(labeler.functions)} rules · {undecided} undecided")
    return labels


def label_partition(votes: pa.Table, labeler: Labeler, classes: int, default: int, settings: WeakLabelling) -> Tallied:
    """One partition's weak labels, with the number of undecided samples as a tally."""
    if labeler.by:
        labels = labels_by(LABELERS.named(labeler.by, settings), votes, labeler.functions, classes, default)
    else:
        labels = weak_labels(votes, labeler, classes, default)
    return Tallied(labels, {"undecided": pc.sum(labels.column("undecided"), min_count=0).as_py()})


def _train(
    counts: VoteCounts, panel: Artifact[Panel] | None, functions: str, settings: WeakLabelling, choice: LabelerChoice
) -> Labeler:
    if counts.n == 0 or not counts.functions:
        raise InputError("There is nothing to label: no sample, or no labelling function, has arrived with the votes.")
    if functions == "panel" and panel is None:
        raise InputError("There is no panel to label with; add a pruning stage to the pipeline, or use all functions.")
    heard = counts.of(counts.functions if panel is None else _functions(panel, functions))
    if choice.learn is None:
        return _untrained_labeler(choice, heard.functions)
    if choice.load is not None:
        with waiting():
            choice.load()
    return choice.learn(heard, settings)


def _balance(votes: Artifact[Votes], classes: Artifact[Classes], settings: WeakLabelling) -> tuple[float, ...] | None:
    """P(class) in the order of the codes, as it was given, or by majority vote."""
    if settings.class_balance is None:
        return None
    names = class_names(collect(classes, None))
    if settings.class_balance == "estimate":
        majorities = reduce_partitions(count_majorities, votes, reuse=Reuse(), classes=len(names))["labels"]
        return majority_shares([int(count) for count in majorities])
    return given_shares(settings.class_balance, names)


def count_majorities(votes: pa.Table, *, classes: int) -> dict[str, npt.NDArray[np.int64]]:
    """How many samples of a partition a majority of the votes gives to each class; ties to none."""
    columns = [votes.column(name).to_numpy() for name in votes.column_names if name != "id"]
    cast = np.stack([np.sum([column == code for column in columns], axis=0) for code in range(classes)])  # [k, n]
    alone = (cast == cast.max(axis=0)).sum(axis=0) == 1
    return {"labels": np.bincount(cast.argmax(axis=0)[alone], minlength=classes).astype(np.int64)}


def _balance_in_words(trained: Labeler, asked: object) -> str:
    if trained.balance is None:
        return ""
    how = "estimated by majority vote" if asked == "estimate" else "as given"
    return f" · class balance {', '.join(f'{share:.0%}' for share in trained.balance)} ({how})"


def _untrained_labeler(choice: LabelerChoice, functions: tuple[str, ...]) -> Labeler:
    """The labeler that every vote weighs the same to, or that makes of votes what it likes."""
    return replace(majority(functions), by="" if choice.probabilities is None else choice.word)


def _functions(panel: Artifact[Panel], functions: str) -> tuple[str, ...]:
    """All functions, or those that the panel keeps, in the order of the votes."""
    rows = sorted(collect(panel, columns=["function", "position", "kept"]).to_pylist(), key=lambda row: row["position"])
    return tuple(row["function"] for row in rows if functions == "all" or row["kept"])


def _trained_in_words(trained: Labeler, choice: LabelerChoice) -> str:
    rules = f"{choice.word} · {len(trained.functions)} rules"
    if choice.learn is None:
        return rules
    if trained.training is None:
        reason = "no votes" if len(trained.functions) >= FEWEST_FUNCTIONS else f"fewer than {FEWEST_FUNCTIONS} rules"
        return f"{rules} · equal weights: {reason}, so there is nothing to learn from"
    settled = trained.training.settled_after
    if settled is None:
        return f"{rules} · has not converged in {trained.training.epochs} epochs (weak_labels.epochs)"
    return f"{rules} · converged after {settled} epochs"
