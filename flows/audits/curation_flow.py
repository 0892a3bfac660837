"""Label → prune → weak labels → order: naturally adversarial data sets D1 … DN, and whether they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data import schemas
from assay.flows.audits.curation import carries_votes
from assay.flows.audits.data import Data, classes_of
from assay.flows.kind import SAMPLES, Ground, Handles, Outcomes, Tables, codes
from assay.flows.validation import validate
from assay.flows.yaml_document import ConfigurationError, Mistake, read_yaml, shown, text_of
from assay.infra.errors import InputError, blame_setting
from assay.infra.stages.branches import branch_outcomes, start_branch, subflow
from assay.infra.stages.partitions import collect
from assay.infra.storage.artifacts import Artifact
from assay.tasks.hardness.measures import THETA
from assay.tasks.hardness.task import find_hardness
from assay.tasks.labeling import page as labeling_page
from assay.tasks.labeling.rulebook_source import refer_to_rulebook, refer_to_written
from assay.tasks.labeling.settings import Labeling, WrittenRules
from assay.tasks.labeling.task import (
    AnyRulebook,
    LabelingSummary,
    apply_labeling_functions,
    summarize_labeling,
    take_votes,
)
from assay.tasks.ordering import page as ordering_page
from assay.tasks.ordering.datasets import keys_of, sorted_places
from assay.tasks.ordering.settings import APPROACHES, OURS, Ordering
from assay.tasks.ordering.task import Measured as MeasuredOrder
from assay.tasks.ordering.task import (
    bound_confidence,
    check_order,
    find_clusters,
    judge_order,
    measure_ordering,
    order_adversarially,
    score_samples,
    sketch_order,
)
from assay.tasks.pruning import page as pruning_page
from assay.tasks.pruning.panel import Pruned, prune_labeling_functions
from assay.tasks.pruning.settings import Pruning
from assay.tasks.reporting.parts import Part
from assay.tasks.statistics.auc import area_by_sample
from assay.tasks.statistics.between_runs import Sampled, right_or_wrong
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.weak_labels import page as weak_labels_page
from assay.tasks.weak_labels.table import LABELERS, WeakLabelling
from assay.tasks.weak_labels.task import compare_labelers, label_probabilistically, train_labeler


def read_rules(file: Path) -> WrittenRules:
    """The rules of a file; raises `ConfigurationError` with every mistake in it."""
    missing = f"There is no file {file.name} with rules; it was looked for at {file}."
    document = read_yaml(text_of(file, file.name, missing), file.name)
    mistakes = [mistake for _, mistake in document.mistakes]
    if mistakes:
        raise ConfigurationError(mistakes)
    value = document.value
    if not isinstance(value, dict) or not value.get("rules"):
        expected = "expected rules:, a list such as [{keywords: [win], vote: spam}, {keywords: [song], vote: ham}]"
        expected += "" if value is None or isinstance(value, dict) else f", and found {shown(value)}"
        raise ConfigurationError([Mistake(document.file, document.line(()), "", "", expected)])
    written, wrong = validate(WrittenRules, document)
    if written is None:
        raise ConfigurationError([mistake for _, mistake in wrong])
    return written


def rulebook_of(labeling: Labeling, folder: Path) -> tuple[AnyRulebook, Labeling]:
    """The rulebook, and the settings with its written rules in them: one key, wherever they stand."""
    if labeling.file is not None:
        with blame_setting("functions", labeling.file):
            written = read_rules(folder / labeling.file)
        named = {"functions": None, "rules": written.rules, "classes": written.classes, "asking": written.asking}
        labeling = labeling.model_copy(update=named)
    if labeling.functions is None:
        return refer_to_written(labeling, labeling, folder), labeling
    return refer_to_rulebook(labeling.functions, folder, labeling), labeling


Functions = Literal["panel", "all"]


@dataclass(frozen=True)
class Labelled:
    """What one labeler makes of the votes, with the panel or with all functions."""

    model: Artifact[schemas.LabelModel]
    labels: Artifact[schemas.WeakLabels]


@dataclass(frozen=True)
class Ordered:
    """D1 … DN of one labeler, what they were ordered by, a sketch of them, and what their contract says."""

    intervals: Artifact[schemas.Intervals]
    curated: Artifact[schemas.CuratedSets]
    contract: Artifact[schemas.ContractResults]
    sketch: Artifact[schemas.CuratedSets]


@dataclass(frozen=True)
class LabelerBranch:
    """What came of one labeler: its labels with our panel, its order, and how valid each approach's order is."""

    labelled: Labelled
    ordered: Ordered | None
    measured: tuple[MeasuredOrder, ...]
    judged: tuple[Artifact[schemas.Findings], ...]


@dataclass(frozen=True)
class Curation:
    """Everything that curation made, as handles; what the pipeline did not ask for is not there."""

    summary: LabelingSummary | None = None
    pruned: Pruned | None = None
    labelers: Mapping[str, LabelerBranch] = field(default_factory=dict)
    clusters: Artifact[schemas.Clusters] | None = None
    """What is independent, where an order is tested, and the patterns of the panel's votes."""
    compared: Artifact[schemas.Findings] | None = None
    """How labelers agree, where there are several."""
    votes: Artifact[schemas.Votes] | None = None

    @property
    def labels(self) -> dict[str, Artifact[schemas.WeakLabels]]:
        """The weak labels by labeler."""
        return {name: branch.labelled.labels for name, branch in self.labelers.items()}

    @property
    def orders(self) -> dict[str, Ordered]:
        """The order of every labeler."""
        return {name: branch.ordered for name, branch in self.labelers.items() if branch.ordered is not None}

    @property
    def headline(self) -> Ordered | None:
        """The order that subjects are measured on and the report begins with: that of the first labeler."""
        return next(iter(self.orders.values()), None)

    @property
    def contracts(self) -> list[Artifact[schemas.ContractResults]]:
        """What the contracts say of the curated sets."""
        return [order.contract for order in self.orders.values()]

    @property
    def findings(self) -> list[Artifact[schemas.Findings]]:
        """What was measured of votes, panel and orders."""
        parts = [measured.findings for measured in (self.summary, self.pruned) if measured is not None]
        parts += [] if self.compared is None else [self.compared]
        for branch in self.labelers.values():
            parts += [*(measured.findings for measured in branch.measured), *branch.judged]
        return parts


@subflow("curation")
def curate(
    ground: Ground,
    labeling: Labeling | None,
    pruning: Pruning | None,
    labelling: WeakLabelling | None,
    ordering: Ordering | None,
) -> Curation:
    """The curated sets of a pipeline, and everything on the way to them."""
    data = ground.of(Data)
    votes = cast_votes(ground, data, labeling)
    if votes is None:
        return Curation()
    summary = summarize_labeling(votes, data.samples, data.classes)
    pruned = None if pruning is None else prune_labeling_functions(votes, data.classes, pruning)
    if labelling is None:
        return Curation(summary, pruned)
    labelling = with_gold_shares(labelling, data)
    panel = None if pruned is None else pruned.panel
    clusters: dict[Functions, Artifact[schemas.Clusters]] = {}
    if ordering is not None:
        clusters["panel"] = clusters["all"] = find_clusters(votes, data.samples, panel)
        if panel is not None and ordering.compare:
            clusters["all"] = find_clusters(votes, data.samples, None)
    voted = Voted(data, votes, panel, labelling, ordering, clusters)
    branches = {name: start_branch(f"labeler {name}", label_and_order, voted, name) for name in labelling.labelers}
    labelers, compared = branch_outcomes(branches), None
    if len(labelers) > 1:
        labels = [branch.labelled.labels for branch in labelers.values()]
        compared = compare_labelers(labels, data.samples, list(labelers))
    return Curation(summary, pruned, labelers, clusters.get("panel"), compared, votes)


def with_gold_shares(labelling: WeakLabelling, data: Data) -> WeakLabelling:
    """The options with the classes' shares among samples with a gold label, where `class_balance` is `gold`."""
    if labelling.class_balance != "gold":
        return labelling
    gold = collect(data.samples, ["gold"])["gold"].drop_null().to_numpy()
    counts = np.bincount(gold, minlength=data.classes.rows)
    if not counts.all():
        raise InputError(
            "weak_labels.class_balance is gold, and there is a class that no sample has as its gold label: give the "
            "shares yourself, as in {spam: 0.2, ham: 0.8}, or take estimated."
        )
    return labelling.model_copy(update={"class_balance": tuple((counts / counts.sum()).tolist())})


def cast_votes(ground: Ground, data: Data, labeling: Labeling | None) -> Artifact[schemas.Votes] | None:
    """The rulebook's votes on the samples, or those that came with them."""
    if labeling is not None:
        rulebook, asked = rulebook_of(labeling, ground.folder)
        return apply_labeling_functions(data.samples, rulebook, data.classes, asked)
    return take_votes(data.samples) if carries_votes(ground.pipeline) else None


@dataclass(frozen=True)
class Voted:
    """What every labeler starts from."""

    data: Data
    votes: Artifact[schemas.Votes]
    panel: Artifact[schemas.Panel] | None
    labelling: WeakLabelling
    ordering: Ordering | None
    clusters: Mapping[Functions, Artifact[schemas.Clusters]]


def label_and_order(voted: Voted, labeler: str) -> LabelerBranch:
    """Label with one labeler, order by each approach that is asked for, and measure whether the order is adverse: ours,
    and with `compare` the paper's three others."""
    samples, settings = voted.data.samples, voted.ordering
    ours = weak_labels(voted, labeler, "panel")  # without pruning, the panel is all functions
    if settings is None:
        return LabelerBranch(ours, None, (), ())
    intervals = bound_confidence(ours.labels, settings)
    ordered, judged = order_samples(voted, intervals, settings, labeler)
    ordering, measured = ordered.intervals, list[MeasuredOrder]()
    wanted = APPROACHES if settings.compare else (OURS,)
    choices: tuple[Functions, ...] = ("panel", "all") if settings.compare else ("panel",)
    for functions in choices:
        if functions == "all":
            intervals = bound_confidence(weak_labels(voted, labeler, "all").labels, settings)
        approaches = [approach for approach in wanted if approach.functions == functions]
        clusters = voted.clusters[functions]
        scored = [(ordering if approach is OURS else intervals, approach.name) for approach in approaches]
        measured += [measure_ordering(scores, samples, settings, name, labeler) for scores, name in scored]
        judged += [judge_order(scores, ordering, samples, clusters, settings, name, labeler) for scores, name in scored]
    return LabelerBranch(ours, ordered, tuple(measured), tuple(judged))


def order_samples(
    voted: Voted, intervals: Artifact[schemas.Intervals], settings: Ordering, labeler: str
) -> tuple[Ordered, list[Artifact[schemas.Findings]]]:
    """D1 … DN by the score that was asked for; where scores are asked for, also how the others would do."""
    data, findings = voted.data, list[Artifact[schemas.Findings]]()
    if settings.compare or settings.by != "bound":
        beside = (voted.votes, voted.panel, data.samples, voted.clusters["panel"], data.classes)
        intervals, rivals = score_samples(intervals, *beside, settings, labeler)
        findings.append(rivals)
    curated = order_adversarially(intervals, data.samples, settings, labeler)
    return Ordered(intervals, curated, check_order(curated, data.classes, settings), sketch_order(curated)), findings


ORDER = ("auc", "accuracy", "accuracy_undecided", "first_tenth", "last_tenth")
"""What is known of our order sample by sample."""


def outcomes_of_orders(ground: Ground, curation: Curation) -> Iterator[Outcomes]:
    """How right every labeler's labels are, and where in the order they are right."""
    settings = ground.pipeline.asked(Ordering)
    if settings is None:
        return
    for labeler, order in curation.orders.items():
        tables: Handles = {"intervals": order.intervals, SAMPLES: ground.of(Data).samples}
        for name in ORDER:
            yield Outcomes(f"ordering.{name}", "", settings.undecided, tables, OURS.name, key=labeler)


def sampled(outcomes: Outcomes, tables: Tables, _of: str, labeler: str) -> Sampled | None:
    """Which labels are right, of the samples that a finding on the order is of; of the area, what each adds to it."""
    if labeler != outcomes.key:
        return None
    samples = tables.read(SAMPLES, ["id", "gold"])
    rows = tables.read("intervals", ["id", "label", OURS.score, "tie_break", "undecided"])
    # Partitions may have failed and been let go.
    samples = samples.take(pc.index_in(rows["id"], value_set=samples["id"].combine_chunks()))
    gold, scores = codes(samples["gold"]), rows[OURS.score].to_numpy()
    right, apart = rows["label"].to_numpy() == gold, rows["undecided"].to_numpy() & (outcomes.reading == "apart")
    name, known = outcomes.metric.partition(".")[2], gold >= 0
    tested = np.flatnonzero(known & ~apart)
    tested = tested[sorted_places(keys_of(scores[tested], rows["tie_break"].to_numpy()[tested]))]
    tenth = max(1, round(len(tested) / 10))
    parts = {"first_tenth": tested[:tenth], "last_tenth": tested[-tenth:], "auc": tested}
    chosen = parts.get(name, np.flatnonzero(known & apart if name == "accuracy_undecided" else known))
    ids = samples["id"].take(pa.array(chosen)).to_pylist()
    if name != "auc":
        return right_or_wrong(ids, right[chosen])
    return area_by_sample(ids, scores[chosen, None], right[chosen, None].astype(np.int64))


def weak_labels(voted: Voted, labeler: str, functions: Functions) -> Labelled:
    """The labels that one labeler gives with the panel, or with all functions."""
    chosen: Functions = functions if voted.panel is not None else "all"
    options = voted.labelling
    if LABELERS.named(labeler, options).learn is None:  # how frequent the classes are changes nothing of its labels
        options = options.model_copy(update={"class_balance": "uniform"})
    model = train_labeler(voted.votes, voted.panel, voted.data.classes, options, labeler, chosen)
    return Labelled(model, label_probabilistically(voted.votes, model, voted.data.classes, options))


def hard_for_rules(_ground: Ground, curation: Curation) -> Iterator[Artifact[schemas.SampleHardness]]:
    """What the labels of the first labeler doubt."""
    if curation.headline is not None:
        yield find_hardness(curation.headline.intervals, THETA, "")


def show_order(ground: Ground, curation: Curation, findings: FindingIndex) -> Iterator[Part]:
    """Whether the labels get worse along D1 … DN."""
    measured = [order.curve for branch in curation.labelers.values() for order in branch.measured]
    if curation.headline is None or not measured:
        return
    curves = pa.concat_tables([collect(curve, schemas.OrderingCurve.schema.names) for curve in measured])
    classes = dict(enumerate(classes_of(ground)))
    sketch = collect(curation.headline.sketch, schemas.CuratedSets.schema.names)
    yield ordering_page.page(findings, curves, sketch, classes, curation.headline.curated.rows)


def show_curation(ground: Ground, curation: Curation, findings: FindingIndex) -> Iterator[Part]:
    """What the labelers learned, which functions were kept, and what each voted."""
    learned = {name: collect(branch.labelled.model, None) for name, branch in curation.labelers.items()}
    if learned:
        yield weak_labels_page.page(findings, learned)
    asked, panel = ground.pipeline.asked(Pruning), None
    if curation.pruned is not None and asked is not None:
        panel = collect(curation.pruned.panel, None)
        yield pruning_page.page(panel, asked.correlation)
    if curation.summary is not None:
        yield labeling_page.page(findings, collect(curation.summary.table, None), panel)
