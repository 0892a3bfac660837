"""Weak labelling as stages: a labeler is trained from counts of votes, then labels every sample where it lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import Classes, Findings, LabelModel, Panel, Samples, Votes, WeakLabels, class_names
from assay.infra.errors import InputError
from assay.infra.stages.partitions import (
    Columns,
    Reuse,
    Tallied,
    collect,
    columns_in,
    map_partitions,
    reduce_partitions,
    tally_of,
)
from assay.infra.stages.stage import say, stage, write_table
from assay.infra.stages.steps import on_workers
from assay.infra.storage.artifacts import Artifact
from assay.infra.user_code.choices import plugin_faults
from assay.tasks.reporting.numerals import percent
from assay.tasks.statistics.findings import findings_table
from assay.tasks.statistics.groups import GROUP
from assay.tasks.statistics.vote_counts import (
    PATTERN_ROWS,
    VoteCounts,
    count_partition,
    count_patterns,
    vote_counts,
    with_patterns,
)
from assay.tasks.weak_labels.label_models import estimated_balance
from assay.tasks.weak_labels.labelers import (
    FEWEST_FUNCTIONS,
    Labeler,
    LabelerChoice,
    comparison_findings,
    count_comparison,
    default_class,
    is_learnable,
    labeler_from,
    labels_by,
    majority,
    require_learned,
    weak_labels,
)
from assay.tasks.weak_labels.table import LABELERS, WeakLabelling


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


@stage(version=2, title="labeler")
def train_labeler(
    votes: Artifact[Votes],
    panel: Artifact[Panel] | None,
    classes: Artifact[Classes],
    settings: WeakLabelling,
    labeler: str,
    functions: Literal["all", "panel"],
) -> Artifact[LabelModel]:
    """A labeler by its word, listening to all functions or to the panel; fitted on all samples."""
    choice = LABELERS.named(labeler, settings)
    if choice.learn is None and panel is not None:
        trained = _untrained_labeler(choice, _functions(panel, functions))
    else:
        counted = reduce_partitions(count_partition, votes, reuse=Reuse(), classes=classes.rows)
        heard = _heard(vote_counts(counted, classes.rows), panel, functions)
        given = settings.class_balance
        if isinstance(given, Mapping | tuple):
            shares = given_shares(given, class_names(collect(classes, None)))
            settings = settings.model_copy(update={"class_balance": shares})
        trained = _untrained_labeler(choice, heard.functions)
        if choice.learn is not None:
            if choice.most_classes is not None and heard.classes > choice.most_classes:
                raise InputError(
                    f"The labeler {choice.word} tells {choice.most_classes} classes apart, and there are "
                    f"{heard.classes}: take it out of weak_labels.labelers; dawid-skene takes any number."
                )
            estimated, p_value = settings.class_balance == "estimated" and is_learnable(heard), None
            if estimated or choice.by_pattern:
                asked: dict[str, Any] = {"functions": list(heard.functions), "one_in": -(-heard.n // PATTERN_ROWS)}
                heard = with_patterns(heard, reduce_partitions(count_patterns, votes, reuse=Reuse(), **asked))
            if estimated and heard.patterns is not None:
                balanced, p_value = estimated_balance(heard.patterns, heard.classes, settings.epochs)
                settings = settings.model_copy(update={"class_balance": balanced or "uniform"})
            (trained,) = on_workers(train_on_counts, [heard], settings=settings, labeler=labeler)
            trained = replace(trained, equal_p=p_value)
    balance = "" if trained.equal_p is None else " · votes do not tell how frequent classes are: equally"
    if trained.balance is not None:
        how = "given" if trained.equal_p is None else "estimated"
        balance = f" · class balance {', '.join(f'{share:.0%}' for share in trained.balance)} ({how})"
    say(_trained_in_words(trained, choice, classes.rows) + balance)
    return write_table(trained.to_table(), into=LabelModel)


def train_on_counts(counts: VoteCounts, settings: WeakLabelling, labeler: str) -> Labeler:
    """What the labeler of that word learns from counts of votes."""
    choice = LABELERS.named(labeler, settings)
    assert choice.learn is not None
    with plugin_faults(settings, labeler):
        learned = choice.learn(counts, settings)
    if labeler not in LABELERS.words:
        require_learned(choice, learned, counts)
    return learned


@stage(version=1, title="weak labels")
def label_probabilistically(
    votes: Artifact[Votes], model: Artifact[LabelModel], classes: Artifact[Classes], settings: WeakLabelling
) -> Artifact[WeakLabels]:
    """Per sample the class that the labeler finds most probable, and how sure it is."""
    names = class_names(collect(classes, None))
    labeler = labeler_from(collect(model, columns=None))
    labels = map_partitions(
        label_partition,
        votes,
        into=WeakLabels,
        reuse=Reuse(),
        labeler=labeler,
        classes=len(names),
        default=default_class(settings.default_label, names),
        settings=settings,
    )
    undecided = tally_of(labels)["undecided"]
    say(f"{labels.rows} samples labelled by {len(labeler.functions)} rules · {undecided} undecided")
    return labels


def label_partition(votes: pa.Table, labeler: Labeler, classes: int, default: int, settings: WeakLabelling) -> Tallied:
    """One partition's weak labels, with the number of undecided samples as a tally."""
    if labeler.by:
        with plugin_faults(settings, labeler.by):
            labels = labels_by(LABELERS.named(labeler.by, settings), votes, labeler.functions, classes, default)
    else:
        labels = weak_labels(votes, labeler, classes, default)
    return Tallied(labels, {"undecided": pc.sum(labels.column("undecided"), min_count=0).as_py()})


@stage(version=3, title="labelers")
def compare_labelers(
    labels: Sequence[Artifact[WeakLabels]], samples: Artifact[Samples], labelers: Sequence[str]
) -> Artifact[Findings]:
    """How often labelers agree, and which of them is right oftener, on the samples that have a gold label."""
    grouped, read = GROUP in columns_in(samples), [Columns(each, ("label", "undecided")) for each in labels]
    known = Columns(samples, ("gold", *(("id", GROUP) if grouped else ())))
    counted = reduce_partitions(count_comparison, known, *read, reuse=Reuse())
    findings = comparison_findings(counted, labelers, grouped)
    agree = [pair.value for pair in findings if pair.metric == "weak_labels.agreement" and pair.value is not None]
    alike = f"each two say the same of at least {percent(min(agree), 0)}" if agree else "no two decide the same samples"
    if set(agree) == {1.0}:
        alike = "all say the same"
    say(f"{', '.join(labelers)} · {alike} · {counted['known'].sum()} samples with gold")
    return write_table(findings_table(findings), into=Findings)


def _heard(counts: VoteCounts, panel: Artifact[Panel] | None, functions: str) -> VoteCounts:
    """The counts of the functions that a labeler listens to."""
    if counts.n == 0 or not counts.functions:
        raise InputError("There is nothing to label: no sample, or no labelling function, has arrived with the votes.")
    if functions == "panel" and panel is None:
        raise InputError("There is no panel to label with; add a pruning stage to the pipeline, or use all functions.")
    return counts.of(counts.functions if panel is None else _functions(panel, functions))


def _untrained_labeler(choice: LabelerChoice, functions: tuple[str, ...]) -> Labeler:
    """The labeler that every vote weighs the same to, or that makes of votes what it likes."""
    return replace(majority(functions), by="" if choice.probabilities is None else choice.word)


def _functions(panel: Artifact[Panel], functions: str) -> tuple[str, ...]:
    """All functions, or those that the panel keeps, in the order of the votes."""
    rows = sorted(collect(panel, columns=["function", "position", "kept"]).to_pylist(), key=lambda row: row["position"])
    return tuple(row["function"] for row in rows if functions == "all" or row["kept"])


def _trained_in_words(trained: Labeler, choice: LabelerChoice, classes: int) -> str:
    rules = f"{choice.word} · {len(trained.functions)} rules"
    if choice.learn is None:
        return rules
    if trained.training is None and trained.mu is not None:
        return f"{rules} · learned from how often pairs agree"
    if trained.training is None and set(trained.weights.tolist()) != {1.0}:
        return f"{rules} · weights learned from votes"
    if trained.training is None:
        few = len(trained.functions) < FEWEST_FUNCTIONS
        silent = "no three rules of which each two vote together" if choice.word == "triplets" else "no votes"
        reason = f"fewer than {FEWEST_FUNCTIONS} rules" if few else silent if classes > 1 else "one class"
        return f"{rules} · equal weights: {reason}, so there is nothing to learn from"
    settled = trained.training.settled_after
    if settled is None:
        return f"{rules} · has not converged in {trained.training.epochs} epochs (weak_labels.epochs)"
    return f"{rules} · converged after {settled} epochs"
