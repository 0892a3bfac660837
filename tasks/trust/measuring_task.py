"""The stages that measure trust labels: of one oracle, averaged over several that drew anew, and shown by examples."""

from __future__ import annotations

from collections.abc import Sequence

from assay.data.classes import class_names
from assay.data.schemas import Classes, Findings, Predictions, Samples
from assay.data.text_schemas import Explanations, Thresholds, TrustExamples, TrustLabels, TrustTruth
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect, map_partitions
from assay.infra.stage import say, stage, stage_seeds, write_table
from assay.tasks.statistics.findings import findings_from, findings_table
from assay.tasks.statistics.grouped_samples import groups_by_id
from assay.tasks.subjects.predictions import require_same_samples
from assay.tasks.trust.examples import ChosenTexts, chosen_texts, example_rows, most_damning
from assay.tasks.trust.labelling import TOKI
from assay.tasks.trust.measuring import ALL, About, label_findings, provider_findings, truth_findings
from assay.tasks.trust.repeating import averaged

_READ = ["id", "oracle", "predicted", "confidence", "label", "related_mass", "unrelated_mass"]


@stage(version=5, title="trust", draws=True)
def measure_trust(
    labels: Artifact[TrustLabels],
    thresholds: Artifact[Thresholds],
    samples: Artifact[Samples],
    predictions: Artifact[Predictions],
    truth: Artifact[TrustTruth] | None,
    classes: Artifact[Classes],
    explainer: str,
    name: str,
) -> Artifact[Findings]:
    """The findings on one subject's labels by one explainer, those against the truth where it is known; intervals count
    the groups of the samples, where they have some."""
    about, rows = About(name, explainer, groups_by_id(samples)), collect(labels, _READ).to_pylist()
    audited, predicted = collect(samples, ["id", "gold"]), collect(predictions, ["id", "predicted"])
    require_same_samples(predicted, audited, name)
    codes = predicted["predicted"].to_pylist()
    findings = label_findings(rows, audited.to_pylist(), codes, class_names(collect(classes, None)), about)
    if truth is not None:
        known = collect(truth, ["id", "truth", "precision"]).to_pylist()
        precisions = {row["id"]: row["precision"] for row in known if row["precision"] is not None}
        truths = {row["id"]: row["truth"] for row in known}
        findings += truth_findings(rows, truths, precisions, about, stage_seeds().generator())
    findings += provider_findings(collect(thresholds, None).to_pylist(), about)
    shown = next(one for one in findings if one.metric == "trust.trustworthy" and one.group == ALL)
    score = next((one.value for one in findings if one.metric == "trust.g_mean"), None)
    right = "no correct prediction" if shown.value is None else f"{shown.value:.1%} of {shown.n} trustworthy"
    say(f"{name} · {explainer} · {right}" + ("" if score is None else f" · G-mean {score:.3f}"))
    return write_table(findings_table(findings), into=Findings)


@stage(version=1, title="average trust")
def average_trust(repeats: Sequence[Artifact[Findings]]) -> Artifact[Findings]:
    """The findings of several repeats as one: means of values and intervals, and how far the repeats spread."""
    findings = averaged([findings_from(collect(one, None)) for one in repeats])
    say(f"{len(repeats)} repeats")
    return write_table(findings_table(findings), into=Findings)


@stage(version=1, title="trust examples")
def show_trust(
    labels: Artifact[TrustLabels],
    explained: Artifact[Explanations],
    samples: Artifact[Samples],
    truth: Artifact[TrustTruth] | None,
    text: str,
    lemmatise: bool,
    masked: bool,
) -> Artifact[TrustExamples]:
    """The most damning predictions with every word of their explanations; not a word of them where `masked`."""
    toki = [row for row in collect(labels, None).to_pylist() if row["oracle"] == TOKI]
    chosen = most_damning(toki)
    if not chosen:
        say("nothing to show")
        return write_table(TrustExamples.schema.empty_table(), into=TrustExamples)
    ids = frozenset(row["id"] for row in chosen)
    kept: Artifact[ChosenTexts] = map_partitions(chosen_texts, samples, into=ChosenTexts, ids=ids, text=text)
    texts = {row["id"]: row["text"] for row in collect(kept, None).to_pylist()}
    scores = {
        row["id"]: dict(zip(row["words"], row["importance"], strict=True))
        for row in collect(explained, ["id", "words", "importance"]).to_pylist()
        if row["id"] in ids
    }
    truths = {} if truth is None else {row["id"]: row["truth"] for row in collect(truth, ["id", "truth"]).to_pylist()}
    say(f"{len(chosen)} predictions to look at" + (", masked" if masked else ""))
    rows = example_rows(chosen, scores, texts, truths, lemmatise=lemmatise, masked=masked)
    return write_table(rows, into=TrustExamples)
