"""The oracle as stages: words become vectors, pools become keywords, explanations become trust labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from assay.data.classes import class_names
from assay.data.schemas import Classes, Samples, SubjectFiles
from assay.data.text_schemas import (
    Explanations,
    Keywords,
    Thresholds,
    TrustLabels,
    TrustSettings,
    TrustTruth,
    WordVectors,
)
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect, map_partitions, map_pieces, read_files
from assay.infra.stage import say, stage, stage_seeds, write_table
from assay.tasks.language.anchors import anchors_in
from assay.tasks.language.embeddings.ensemble import ResolvedProviders, build_providers
from assay.tasks.language.embeddings.stored import word_vectors
from assay.tasks.language.lemmas import spelling
from assay.tasks.language.relatedness import Theta, theta_relate
from assay.tasks.language.spaces import Space, spaces_from
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.loading import load_text_model
from assay.tasks.subjects.texts.rows import texts_of
from assay.tasks.trust.keywords import Election, elect_keywords
from assay.tasks.trust.labelling import TOKI, class_words, in_scope, label_explanations, oracle_of
from assay.tasks.trust.pools import Pool, word_pools
from assay.tasks.trust.resolved import SynonymPairs
from assay.tasks.trust.sensitivity import Question, cut_rows, cuts
from assay.tasks.trust.settings import Asking, Naming

ROWS = 1024  # explanations labelled at a time


class Embedded(NamedTuple):
    """The vectors of every word that matters, and from which cosine on each provider calls two words related."""

    vectors: Artifact[WordVectors]
    thresholds: Artifact[Thresholds]


@dataclass(frozen=True)
class Voter:
    """A provider of word vectors, as a piece of work: its place among them."""

    place: int


@stage(version=1, title="word vectors", draws=True)
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
    words = _words(naming, *(collect(table, ["words"]) for table in explained))
    vectors, thresholds = map_pieces(
        embed_piece,
        [Voter(place) for place in range(len(providers.providers))],
        into=(WordVectors, Thresholds),
        texts=texts_of(collect(training, ["id", subject.settings.text]), subject.settings.text),
        words=sorted({*words, *(word for name in names for word in name)}),
        providers=providers,
        files=read_files(files),
        subject=subject,
        classes=classes.rows,
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
    files: dict[str, bytes],
    subject: ResolvedSubject,
    classes: int,
    synonyms: SynonymPairs,
    theta: float | None,
    seed: int,
) -> tuple[pa.Table, pa.Table]:
    """The rows of one provider."""
    single = ResolvedProviders((providers.providers[voter.place],))
    model = load_text_model(subject, files, classes) if single.providers[0].name == "subject" else None
    (provider,) = build_providers(single, texts, model, seed)
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
    elections = [
        elect_keywords(pool, name, spaces, settings.theta_dist) for pool, name in zip(pools, names, strict=True)
    ]
    explainer = explanations["explainer"][0].as_py() if explanations.num_rows else ""
    rows = [
        row
        for code, (pool, election) in enumerate(zip(pools, elections, strict=True))
        for row in _keyword_rows(code, pool, election, spaces, explainer)
    ]
    counts = [
        f"{name} {int(election.keyword.sum())} of {len(pool.words)}"
        for name, pool, election in zip(known, pools, elections, strict=True)
    ]
    say(f"{explainer} · keywords: " + ", ".join(counts[:6]) + (" …" if len(counts) > 6 else ""))
    return write_table(pa.Table.from_pylist(rows, schema=Keywords.schema), into=Keywords)


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
    labels: Artifact[TrustLabels] = map_partitions(
        label_explanations,
        tested,
        into=TrustLabels,
        rows=ROWS,
        oracle=oracle_of(anchors, _spaces(vectors, thresholds), names, settings),
    )
    rows = collect(labels, ["oracle", "label"]).to_pylist()
    judged = [row["label"] for row in rows if row["oracle"] == TOKI]
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
    asked: Artifact[TrustSettings] = map_pieces(
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


def _words(naming: Naming, *tables: pa.Table) -> set[str]:
    listed = (word for table in tables for words in table["words"].to_pylist() for word in words)
    return {spelling(word, naming.lemmatise) for word in set(listed)}


def _keyword_rows(
    code: int, pool: Pool, election: Election, spaces: Sequence[Space], explainer: str
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for voter, space in enumerate(spaces):
        for place, word in enumerate(pool.words):
            relatedness = float(election.opinions.relatedness[voter, place])
            rows.append(
                {
                    "provider": space.provider,
                    "explainer": explainer,
                    "code": code,
                    "word": word,
                    "importance": float(pool.importance[place]),
                    "explanations": int(pool.explanations[place]),
                    "cluster": int(election.opinions.clusters[voter, place]),
                    "relatedness": None if relatedness != relatedness else relatedness,
                    "elected": bool(election.elected[voter, place]),
                    "keyword": bool(election.keyword[place]),
                }
            )
    return rows
