"""The word attacks as stages: what may replace a word, then every text attacked where it lies, then the findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.data.classes import class_names
from assay.data.schemas import Classes, Findings, Samples, SubjectFiles
from assay.data.text_schemas import Keywords, Thresholds, WordVectors
from assay.data.word_schemas import AttackedTexts, WordSwaps
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect, map_partitions, map_pieces, read_files
from assay.infra.seeds import Seeds
from assay.infra.stage import say, stage, stage_seeds, write_table
from assay.tasks.attacks.words.attacking import AttackKit, attack_rows
from assay.tasks.attacks.words.measures import comparison_findings, summary, word_findings
from assay.tasks.attacks.words.resolved import ResolvedWordAttack
from assay.tasks.attacks.words.settings import Guided
from assay.tasks.attacks.words.swap_pieces import (
    Voter,
    Words,
    embed_piece,
    guided_piece,
    neighbour_piece,
    sentence_piece,
)
from assay.tasks.attacks.words.swapping import content_words, pools_in
from assay.tasks.language.embeddings.ensemble import ResolvedProviders
from assay.tasks.language.lemmas import spelling
from assay.tasks.language.spaces import spaces_from
from assay.tasks.statistics.findings import findings_table
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts import texts_of

ROWS = 16  # texts of a partition: few, so that the bar moves and all workers have something to do
_WORDS = 512  # words whose swaps are looked for at a time


class Swaps(NamedTuple):
    """What may take a word's place, and the vectors by which sentences are compared once more."""

    swaps: Artifact[WordSwaps]
    vectors: Artifact[WordVectors]


@dataclass(frozen=True)
class _Corpus:
    """The texts that words are found in: those that are attacked, and those that vectors are learnt from."""

    asked: list[str]
    learnt: list[str]


@stage(version=1, title="neighbours", draws=True)
def find_neighbours(
    samples: Artifact[Samples], training: Artifact[Samples], classes: Artifact[Classes], files: Artifact[SubjectFiles],
    subject: ResolvedSubject, attack: ResolvedWordAttack,
) -> Swaps:  # fmt: skip
    """A2T: of every word of the samples the nearest words, by vectors or by neighbour lists."""
    corpus = _corpus(samples, training, subject)
    swaps = map_pieces(
        neighbour_piece, [Words(tuple(corpus.asked))], into=WordSwaps, name="swaps", texts=corpus.learnt,
        attack=attack, files=read_files(files), subject=subject, classes=classes.rows, seed=stage_seeds().integer(),
    )  # fmt: skip
    say(f"{swaps.rows} of {len(corpus.asked)} words have a replacement")
    return Swaps(swaps, _sentence_vectors(corpus, swaps))


@stage(version=1, title="guided swaps", draws=True)
def find_guided_swaps(
    samples: Artifact[Samples], training: Artifact[Samples], keywords: Artifact[Keywords],
    thresholds: Artifact[Thresholds], classes: Artifact[Classes], files: Artifact[SubjectFiles],
    subject: ResolvedSubject, attack: ResolvedWordAttack, providers: ResolvedProviders, lemmatise: bool = False,
) -> Swaps:  # fmt: skip
    """Guided (section 4): of every word and class the similar words of the oracle's pools, by their importance."""
    settings = attack.settings
    assert isinstance(settings, Guided)
    corpus = _corpus(samples, training, subject)
    found = collect(keywords, None)
    words = sorted({spelling(word, lemmatise) for word in corpus.asked} | set(found["word"].to_pylist()))
    embedded = map_pieces(
        embed_piece, [Voter(place) for place in range(len(providers.providers))], into=WordVectors, name="spaces",
        texts=corpus.learnt, words=words, providers=providers, files=read_files(files), subject=subject,
        classes=classes.rows, seed=stage_seeds().integer(),
    )  # fmt: skip
    thetas = {row["provider"]: row["theta"] for row in collect(thresholds, ["provider", "theta"]).to_pylist()}
    pieces = [Words(tuple(corpus.asked[at : at + _WORDS])) for at in range(0, max(1, len(corpus.asked)), _WORDS)]
    swaps = map_pieces(
        guided_piece, pieces, into=WordSwaps, name="swaps", pools=pools_in(found, classes.rows),
        spaces=spaces_from(collect(embedded, None), thetas), settings=settings, lemmatise=lemmatise,
    )  # fmt: skip
    related = collect(swaps, ["related"])["related"].to_pylist()
    say(f"replacements for {sum(related)} related and {len(related) - sum(related)} other words, counted per class")
    return Swaps(swaps, _sentence_vectors(corpus, swaps))


@stage(version=1, title="word attack", gpu=True)
def attack_words(
    samples: Artifact[Samples], classes: Artifact[Classes], files: Artifact[SubjectFiles], subject: ResolvedSubject,
    attack: ResolvedWordAttack, swaps: Artifact[WordSwaps], vectors: Artifact[WordVectors],
) -> Artifact[AttackedTexts]:  # fmt: skip
    """Every text attacked by itself: nothing is drawn, so the same texts come out of any cut and any workers."""
    names = class_names(collect(classes, None))
    kit = AttackKit(
        "\0".join([files.digest, subject.fingerprint, attack.fingerprint, swaps.digest, vectors.digest]), subject,
        read_files(files), len(names), attack, collect(swaps, None), collect(vectors, None),
    )  # fmt: skip
    attacked: Artifact[AttackedTexts] = map_partitions(attack_rows, samples, into=AttackedTexts, rows=ROWS, kit=kit)
    found = collect(attacked, ["status", "reason", "ranking"])
    said = f"{attack.settings.attack} · {summary(found)}"
    if attack.settings.ranking != "deletion" and "deletion" in found["ranking"].unique().to_pylist():
        said += " · the subject has no gradients, so words are ranked by deletion"
    say(said)
    return attacked


@stage(version=1, title="word findings")
def measure_words(attacked: Artifact[AttackedTexts], name: str, subject: str) -> Artifact[Findings]:
    """The findings on one attack (`name`) on one subject."""
    table = collect(attacked, None)
    say(f"{name} on {subject} · {summary(table)}")
    return write_table(findings_table(word_findings(table, name, subject)), into=Findings)


@stage(version=1, title="word attacks compared")
def compare_words(
    first: Artifact[AttackedTexts], second: Artifact[AttackedTexts], first_name: str, second_name: str, subject: str
) -> Artifact[Findings]:
    """Two attacks on the same texts: McNemar's test of success, Wilcoxon's of the words changed where both succeed."""
    generator = Seeds(0, "word attacks compared").generator(f"{subject}/{first_name}/{second_name}")
    findings = comparison_findings(
        collect(first, None), collect(second, None), f"{first_name} - {second_name}", subject, generator
    )
    told = next(one for one in findings if one.metric == "attack.success_difference")
    value = "not measured"
    if told.value is not None:
        value = f"{100 * told.value:+.1f} points of success, p = {told.p_value:.3g}"
    say(f"{first_name} against {second_name} on {subject} · {value}")
    return write_table(findings_table(findings), into=Findings)


def _corpus(samples: Artifact[Samples], training: Artifact[Samples], subject: ResolvedSubject) -> _Corpus:
    """What is attacked, and what vectors are learnt from: the training texts, or where there are none the same."""
    column = subject.settings.text
    attacked = texts_of(collect(samples, ["id", column]), column)
    learnt = texts_of(collect(training, ["id", column]), column) if training.rows else attacked
    return _Corpus(content_words(attacked), learnt)


def _sentence_vectors(corpus: _Corpus, swaps: Artifact[Any]) -> Artifact[WordVectors]:
    """FastText vectors of all words that an attacked text can have, by which sentences are compared."""
    listed: Sequence[Sequence[str]] = collect(swaps, ["candidates"])["candidates"].to_pylist()
    words = {*corpus.asked, *(word for some in listed for word in some)}
    made: Artifact[WordVectors] = map_pieces(
        sentence_piece, [Words(tuple(sorted(words)))], into=WordVectors, name="vectors", texts=corpus.learnt,
        seed=stage_seeds().integer("sentences"),
    )  # fmt: skip
    return made
