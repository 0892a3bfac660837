"""The stages of the trust oracle: explain predictions, embed words, find keywords, label, find the truth, measure,
and choose examples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from assay.data.schemas import (
    Classes,
    Explanations,
    Findings,
    Keywords,
    Predictions,
    Samples,
    SubjectFiles,
    Thresholds,
    TrustExamples,
    TrustLabels,
    TrustSettings,
    TrustTruth,
    WordVectors,
    class_names,
)
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, map_partitions, map_pieces, read_files
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.language.embeddings.ensemble import ResolvedProviders, Voter, build_provider
from assay.tasks.language.embeddings.provider import word_vectors
from assay.tasks.language.relatedness import Space, Theta, anchors_in, spaces_from, theta_relate
from assay.tasks.language.words import spelling
from assay.tasks.statistics.findings import findings_from, findings_table
from assay.tasks.statistics.groups import groups_by_id
from assay.tasks.subjects.predictions import require_same_samples
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.rows import load_text_model, texts_of
from assay.tasks.trust.explainers.explaining import (
    ToExplain,
    chosen_predictions,
    explain_rows,
    explanations_table,
    rows_to_explain,
)
from assay.tasks.trust.explainers.table import Explaining
from assay.tasks.trust.findings import (
    ALL,
    About,
    ChosenTexts,
    averaged,
    chosen_texts,
    example_rows,
    label_findings,
    most_damning,
    provider_findings,
    truth_findings,
)
from assay.tasks.trust.keywords import Election, Pool, elect_keywords, word_pools
from assay.tasks.trust.oracle import TOKI, Oracle, Question, class_words, cut_rows, cuts, in_scope, label_explanations
from assay.tasks.trust.resolved import SynonymPairs, VerdictFile
from assay.tasks.trust.settings import Asking, Naming
from assay.tasks.trust.truth import (
    RationaleWords,
    counterfactual_rows,
    rationale_rows,
    truth_by_rationales,
    verdicts_of,
)

TEXTS_AT_ONCE = 16  # texts of a partition: few, so that the bar moves and all workers have something to do


@stage(version=1, title="explanations", draws=True, gpu=True, libraries=["transformers", "lime"])
def explain_predictions(
    samples: Artifact[Samples],
    predictions: Artifact[Predictions],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    settings: Explaining,
    correct: bool = True,
    limit: int | None = None,
    repeat: int = 0,
) -> Artifact[Explanations]:
    """The explanation of every prediction, or of the `correct` ones only, of at most `limit` evenly over the classes.

    Another `repeat` draws other predictions and other perturbed texts.
    """
    known, predicted = collect(samples, ["id", "gold"]), collect(predictions, ["id", "predicted"])
    require_same_samples(predicted, known, subject.settings.name)
    golds, codes = known["gold"].to_pylist(), predicted["predicted"].to_pylist()
    chosen = chosen_predictions(known["id"].to_pylist(), golds, codes, correct=correct, limit=limit, repeat=repeat)
    if not chosen.any():
        say(f"{settings.explainer} · nothing to explain among {len(chosen)} predictions")
        none = explanations_table(ToExplain.schema.empty_table(), [], settings)
        return write_table(none, into=Explanations)
    rows = map_partitions(
        rows_to_explain, samples, predictions, into=ToExplain, aligned={"chosen": chosen}, text=subject.settings.text
    )
    explained = map_partitions(
        explain_rows,
        rows,
        into=Explanations,
        rows=TEXTS_AT_ONCE,
        subject=subject,
        files=read_files(files),
        classes=classes.rows,
        settings=settings,
        seeds=stage_seeds(),
        repeat=repeat,
    )
    say(_summary(explained, settings, correct))
    return explained


def _summary(explained: Artifact[Explanations], settings: Explaining, correct: bool) -> str:
    counts = collect(explained, ["text_words", "read_words"])
    read, words = counts["read_words"].to_numpy(), counts["text_words"].to_numpy()
    what = "correct predictions" if correct else "predictions"
    opening = f"{settings.explainer} · {explained.rows} {what}, {settings.top_words} words each"
    silent, cut = int((words == 0).sum()), int(np.count_nonzero(read < words))
    parts = [opening, *([f"{silent} texts without words"] if silent else [])]
    parts += [f"{cut} texts explained only as far as the subject reads"] if cut else []
    return " · ".join(parts)


LABELS_AT_ONCE = 1024  # explanations labelled at a time


class Embedded(NamedTuple):
    """The vectors of every word that matters, and from which cosine on each provider calls two words related."""

    vectors: Artifact[WordVectors]
    thresholds: Artifact[Thresholds]


@stage(version=1, title="word vectors", draws=True, libraries=["gensim", "lemminflect", "transformers"])
def embed_words(
    training: Artifact[Samples],
    explained: Sequence[Artifact[Explanations]],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    providers: ResolvedProviders,
    synonyms: SynonymPairs,
    naming: Naming,
    theta_relate: float | None = None,
    repeat: int = 0,
) -> Embedded:
    """The vectors that every provider gives the words of all explanations and of the class names, and its θ_relate.

    What learns from a corpus learns from the training texts. Another `repeat` draws other random pairs and trains other
    vectors.
    """
    names = class_words(class_names(collect(classes, None)), naming.class_names)
    listed = {word for table in explained for words in collect(table, ["words"])["words"].to_pylist() for word in words}
    words = {spelling(word, naming.lemmatise) for word in listed}
    vectors, thresholds = map_pieces(
        embed_piece,
        [Voter(place) for place in range(len(providers.providers))],
        into=(WordVectors, Thresholds),
        texts=texts_of(collect(training, ["id", subject.settings.text]), subject.settings.text),
        words=sorted({*words, *(word for name in names for word in name)}),
        providers=providers,
        load=partial(load_text_model, subject, read_files(files), classes.rows),
        synonyms=synonyms,
        theta=theta_relate,
        seed=stage_seeds().integer(f"repeat {repeat}" if repeat else None),
    )
    rows = collect(thresholds, None).to_pylist()
    say(f"{len(words)} words · θ_relate " + ", ".join(f"{row['provider']} {row['theta']:.2f}" for row in rows))
    return Embedded(vectors, thresholds)


def embed_piece(
    voter: Voter,
    *,
    texts: Sequence[str],
    words: Sequence[str],
    providers: ResolvedProviders,
    load: Callable[[], object],
    synonyms: SynonymPairs,
    theta: float | None,
    seed: int,
) -> tuple[pa.Table, pa.Table]:
    """The rows of one provider; `load` gives the subject, where its own vectors are asked."""
    provider = build_provider(providers, voter.place, texts, load, seed)
    table = word_vectors(provider, words)
    threshold = theta_relate(provider, synonyms.pairs, seed) if theta is None else Theta(theta, 0, 0, float("nan"))
    row = {
        "provider": provider.name,
        "theta": threshold.value,
        "pairs": threshold.pairs,
        "unknown": threshold.unknown,
        "balance": None if theta is not None else threshold.balance,
        "words": table.num_rows,
        "words_unknown": table["vector"].null_count,
    }
    return table, pa.Table.from_pylist([row], schema=Thresholds.schema)


@stage(version=1, title="keywords")
def identify_keywords(
    pooled: Artifact[Explanations],
    vectors: Artifact[WordVectors],
    thresholds: Artifact[Thresholds],
    classes: Artifact[Classes],
    settings: Asking,
) -> Artifact[Keywords]:
    """The word pool of every class, its clusters under every provider, and which words are keywords (§3.1)."""
    known = class_names(collect(classes, None))
    names = class_words(known, settings.class_names)
    explanations = collect(pooled, None)
    pools = word_pools(explanations, classes=len(known), lemmatise=settings.lemmatise)
    spaces = _spaces(vectors, thresholds)
    explainer = explanations["explainer"][0].as_py() if explanations.num_rows else ""
    rows, counts = [], []
    for code, (pool, name) in enumerate(zip(pools, names, strict=True)):
        election = elect_keywords(pool, name, spaces, settings.theta_dist)
        rows.append(_keyword_rows(code, pool, election, spaces, explainer))
        counts.append(f"{known[code]} {int(election.keyword.sum())} of {len(pool.words)}")
    say(f"{explainer} · keywords: " + ", ".join(counts[:6]) + (" …" if len(counts) > 6 else ""))
    return write_table(pa.concat_tables(rows), into=Keywords)


@stage(version=1, title="trust labels")
def label_trust(
    tested: Artifact[Explanations],
    keywords: Artifact[Keywords],
    vectors: Artifact[WordVectors],
    thresholds: Artifact[Thresholds],
    classes: Artifact[Classes],
    settings: Asking,
) -> Artifact[TrustLabels]:
    """What the oracle and its two baselines say of every prediction that was explained (§3.2)."""
    if tested.rows == 0:
        say("no prediction to label")
        return write_table(TrustLabels.schema.empty_table(), into=TrustLabels)
    names = class_words(class_names(collect(classes, None)), settings.class_names)
    anchors = anchors_in(collect(keywords, ["code", "word", "keyword"]), len(names))
    oracle = Oracle(anchors, _spaces(vectors, thresholds), names, settings)
    labels = map_partitions(label_explanations, tested, into=TrustLabels, rows=LABELS_AT_ONCE, oracle=oracle)
    judged = [row["label"] for row in collect(labels, ["oracle", "label"]).to_pylist() if row["oracle"] == TOKI]
    say(" · ".join(f"{judged.count(label)} {label}" for label in ("trustworthy", "untrustworthy", "undecided")))
    return labels


@stage(version=1, title="other thresholds")
def try_thresholds(
    tested: Artifact[Explanations],
    pooled: Artifact[Explanations],
    vectors: Artifact[WordVectors],
    thresholds: Artifact[Thresholds],
    truth: Artifact[TrustTruth] | None,
    classes: Artifact[Classes],
    settings: Asking,
) -> Artifact[TrustSettings]:
    """What the oracle would say under other values of θ_dist, θ_relate and the vote."""
    known = class_names(collect(classes, None))
    explanations = collect(tested, None)
    ids, predictions = in_scope(explanations, settings.lemmatise)
    truths = {} if truth is None else {row["id"]: row["truth"] for row in collect(truth, ["id", "truth"]).to_pylist()}
    explainer = explanations["explainer"][0].as_py() if explanations.num_rows else ""
    asked = map_pieces(
        cut_rows,
        cuts(settings.theta_dist),
        into=TrustSettings,
        pools=word_pools(collect(pooled, None), classes=len(known), lemmatise=settings.lemmatise),
        spaces=_spaces(vectors, thresholds),
        names=class_words(known, settings.class_names),
        settings=settings,
        question=Question(explainer, tuple(predictions), tuple(truths.get(sample) for sample in ids)),
    )
    say(f"{asked.rows} ways of asking")
    return asked


def _spaces(vectors: Artifact[WordVectors], thresholds: Artifact[Thresholds]) -> list[Space]:
    thetas = {row["provider"]: row["theta"] for row in collect(thresholds, ["provider", "theta"]).to_pylist()}
    return spaces_from(collect(vectors, None), thetas)


def _keyword_rows(code: int, pool: Pool, election: Election, spaces: Sequence[Space], explainer: str) -> pa.Table:
    """The rows of one class: every word of its pool once for each provider."""
    voters, words = election.elected.shape
    relatedness = election.opinions.relatedness.ravel()
    columns = {
        "provider": np.repeat([space.provider for space in spaces], words),
        "explainer": [explainer] * voters * words,
        "code": [code] * voters * words,
        "word": np.tile(np.array(pool.words, dtype=object), voters),
        "importance": np.tile(pool.importance, voters),
        "explanations": np.tile(pool.explanations, voters),
        "cluster": election.opinions.clusters.ravel(),
        "relatedness": pa.array(relatedness, mask=np.isnan(relatedness)),
        "elected": election.elected.ravel(),
        "keyword": np.tile(election.keyword, voters),
    }
    return pa.table(columns, schema=Keywords.schema)


@stage(version=1, title="counterfactual truth", gpu=True, libraries=["transformers"])
def counterfactual_truth(
    samples: Artifact[Samples],
    predictions: Artifact[Predictions],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
) -> Artifact[TrustTruth]:
    """What each correct prediction rests on: does it flip without its reasons, or without its shortcuts?"""
    weights, count = read_files(files), classes.rows
    truth = map_partitions(
        counterfactual_rows, samples, predictions, into=TrustTruth, subject=subject, files=weights, classes=count
    )
    _say(truth)
    return truth


@stage(version=1, title="rationale truth")
def rationale_truth(
    explained: Artifact[Explanations], samples: Artifact[Samples], text: str, rationales: str
) -> Artifact[TrustTruth]:
    """Whether at least half of each explanation's words are in the human rationale (explanation precision, §5)."""
    pointed = map_partitions(rationale_rows, samples, into=RationaleWords, text=text, rationales=rationales)
    truth: Artifact[TrustTruth] = write_table(
        truth_by_rationales(collect(explained, None), collect(pointed, ["id", "words"])), into=TrustTruth
    )
    _say(truth)
    return truth


@stage(version=1, title="human truth")
def human_truth(
    samples: Artifact[Samples], predictions: Artifact[Predictions], classes: Artifact[Classes], verdicts: VerdictFile
) -> Artifact[TrustTruth]:
    """What most people say of each correct prediction."""
    names = class_names(collect(classes, None))
    known, answers = collect(samples, ["id", "gold"]), collect(predictions, ["id", "predicted"])
    require_same_samples(answers, known, "the subject")
    ids, golds, codes = known["id"].to_pylist(), known["gold"].to_pylist(), answers["predicted"].to_pylist()
    predicted = {key: names[code] for key, gold, code in zip(ids, golds, codes, strict=True) if gold == code}
    table = verdicts.table()
    truths = verdicts_of(table, predicted, names, verdicts.name)
    if not set(map(str, table["sample"].to_pylist())) & set(ids):
        raise InputError(
            f"No sample of {verdicts.name} is among the audited ones, whose ids are such as {ids[0]!r}; its column "
            "`sample` must hold the samples' ids."
        )
    rows = [{"id": key, "explainer": "", "truth": truth, "precision": None} for key, truth in sorted(truths.items())]
    truth: Artifact[TrustTruth] = write_table(pa.Table.from_pylist(rows, schema=TrustTruth.schema), into=TrustTruth)
    _say(truth)
    return truth


def _say(truth: Artifact[TrustTruth]) -> None:
    counts = Counter(collect(truth, ["truth"])["truth"].to_pylist())
    say(" · ".join(f"{counts[name]} {name or 'not known'}" for name in ("trustworthy", "untrustworthy", None)))


_READ = ["id", "oracle", "predicted", "confidence", "label", "related_mass", "unrelated_mass"]


@stage(version=13, title="trust", draws=True)
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
    shown = next(finding for finding in findings if finding.metric == "trust.trustworthy" and finding.group == ALL)
    score = next((finding.value for finding in findings if finding.metric == "trust.g_mean"), None)
    right = "no correct prediction" if shown.value is None else f"{shown.value:.1%} of {shown.n} trustworthy"
    say(f"{name} · {explainer} · {right}" + ("" if score is None else f" · G-mean {score:.3f}"))
    return write_table(findings_table(findings), into=Findings)


@stage(version=1, title="average trust")
def average_trust(repeats: Sequence[Artifact[Findings]]) -> Artifact[Findings]:
    """The findings of several repeats as one: means of values and intervals, and how far the repeats spread."""
    findings = averaged([findings_from(collect(table, None)) for table in repeats])
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
    chosen = most_damning([row for row in collect(labels, None).to_pylist() if row["oracle"] == TOKI])
    if not chosen:
        say("nothing to show")
        return write_table(TrustExamples.schema.empty_table(), into=TrustExamples)
    ids = frozenset(row["id"] for row in chosen)
    kept = map_partitions(chosen_texts, samples, into=ChosenTexts, ids=ids, text=text)
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
