"""Attacks on texts as stages: texts are chosen, replacements are found, words are swapped, noise is added, and
each subject's answers are measured, compared and shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import isnan
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from assay.data.arrays import Codes
from assay.data.schemas import (
    AttackedTexts,
    ChangedTexts,
    Classes,
    CosineLimits,
    Findings,
    Keywords,
    Predictions,
    Samples,
    SubjectFiles,
    SynonymCosines,
    Thresholds,
    WordSwaps,
    WordVectors,
    class_names,
)
from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partition_work import Tallied
from assay.infra.stages.partitions import collect, map_partitions, map_pieces, read_files, tally_of
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.attacks.red_flags import Reading
from assay.tasks.attacks.table import TEXT_ATTACKS
from assay.tasks.attacks.texts import noise
from assay.tasks.attacks.texts.attacking import AttackKit, attack_rows
from assay.tasks.attacks.texts.measures import (
    SHOWN,
    comparison_findings,
    limits_in,
    limits_said,
    space_findings,
    summary,
    word_examples,
    word_findings,
)
from assay.tasks.attacks.texts.resolved import ResolvedWordAttack, SwapSearch
from assay.tasks.attacks.texts.rewriting import rewrite_rows
from assay.tasks.attacks.texts.settings import Guided, NoiseKind, TextRewrite
from assay.tasks.attacks.texts.similarity import parts_of_speech
from assay.tasks.attacks.texts.swaps import (
    Learner,
    Words,
    compared_rows,
    content_words,
    embed_piece,
    guided_piece,
    near_enough,
    neighbour_piece,
    pool_limits,
    pools_in,
    sentence_piece,
)
from assay.tasks.language.embeddings.ensemble import ResolvedProviders
from assay.tasks.language.relatedness import spaces_from
from assay.tasks.language.synonyms import synonym_pairs
from assay.tasks.language.words import spelling
from assay.tasks.reporting.numerals import percent, plural
from assay.tasks.statistics.classification import answer_name, one_answer
from assay.tasks.statistics.classification_findings import About
from assay.tasks.statistics.findings import findings_table
from assay.tasks.statistics.groups import groups_of, groups_of_ids
from assay.tasks.subjects.holding_out import draw_in_proportion, rows_with_ids
from assay.tasks.subjects.predictions import codes_known, require_same_samples
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.rows import load_text_model, texts_of


@stage(version=1, title="texts to attack")
def limit_texts(samples: Artifact[Samples], texts: int) -> Artifact[Samples]:
    """At most so many of the samples, the classes in proportion; a larger limit has all of these and more."""
    known = collect(samples, ["id", "gold"])
    chosen = draw_in_proportion(known["id"].to_pylist(), known["gold"].to_pylist(), texts)
    kept = map_partitions(rows_with_ids, samples, into=Samples, ids=chosen)
    say(f"{kept.rows} of {samples.rows} texts")
    return kept


@stage(version=1, title="word examples")
def show_words(attacked: Artifact[AttackedTexts], called: str, examples: int, masked: bool) -> Artifact[ChangedTexts]:
    """A few attacked texts with every change, the successes of fewest words first; masked, no word of them."""
    shown = word_examples(collect(attacked, [*SHOWN, "similarity"]), called=called, limit=examples, masked=masked)
    say(f"{plural(shown.num_rows, 'text')}" + (", masked" if masked else ""))
    return write_table(shown, into=ChangedTexts)


_WORDS = 512  # words whose swaps are looked for at a time
SYNONYMS = "synonyms"
"""How near a replacement has to be where an attack does not say: as near as half of all synonyms."""


class Swaps(NamedTuple):
    """What may take a word's place, the vectors by which sentences are compared once more, and how similar a word has
    to be."""

    swaps: Artifact[WordSwaps]
    vectors: Artifact[WordVectors]
    limits: Artifact[CosineLimits]


class Nearest(NamedTuple):
    """The nearest words however far, the vectors by which sentences are compared, and how near synonyms are."""

    swaps: Artifact[WordSwaps]
    vectors: Artifact[WordVectors]
    known: Artifact[SynonymCosines]


class NearEnough(NamedTuple):
    """The words that are near enough, and how near that is."""

    swaps: Artifact[WordSwaps]
    limits: Artifact[CosineLimits]


class _Corpus(NamedTuple):
    """The words of the attacked texts, and the texts that vectors are learnt from."""

    asked: list[str]
    learnt: list[str]


def find_neighbours(
    samples: Artifact[Samples],
    training: Artifact[Samples],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    attack: ResolvedWordAttack,
) -> Swaps:
    """A2T: of every word of the samples the nearest words that are near enough.

    They are looked for once for all attacks that look for the same, however near a word has to be for each.
    """
    sought, text = SwapSearch(replace(attack, unquoted=subject.masked)), subject.settings.text
    asked = (subject, files, classes) if sought.of_subject else (None, None, None)
    nearest = look_for_neighbours(samples, training, text, sought, *asked)
    wanted = attack.given_cosine if attack.given_cosine is not None else str(attack.settings.least_cosine or SYNONYMS)
    near = keep_near(nearest.swaps, nearest.known, wanted)
    return Swaps(near.swaps, nearest.vectors, near.limits)


@stage(version=6, title="neighbours", draws=True, libraries=["gensim", "lemminflect", "transformers"])
def look_for_neighbours(
    samples: Artifact[Samples],
    training: Artifact[Samples],
    text: str,
    sought: SwapSearch,
    subject: ResolvedSubject | None = None,
    files: Artifact[SubjectFiles] | None = None,
    classes: Artifact[Classes] | None = None,
) -> Nearest:
    """A2T: of every word of the samples the nearest words, by vectors or by neighbour lists."""
    corpus = _corpus(samples, training, text)
    swaps, known = map_pieces(
        neighbour_piece,
        [Words(tuple(corpus.asked))],
        into=(WordSwaps, SynonymCosines),
        texts=corpus.learnt,
        attack=sought.attack,
        load=_loading(subject, files, classes),
        seed=stage_seeds().integer(),
    )
    say(f"{len(corpus.asked)} words looked up, {swaps.rows} have neighbours")
    return Nearest(swaps, _sentence_vectors(corpus, swaps), known)


@stage(version=2, title="near enough")
def keep_near(swaps: Artifact[WordSwaps], known: Artifact[SynonymCosines], wanted: float | str) -> NearEnough:
    """The neighbours at the cosine that is `wanted`, or that synonyms (`synonyms`) or related words (`related`) have;
    what comes from lists stays as it is."""
    (row,) = collect(known, None).to_pylist()
    least = wanted if isinstance(wanted, float) else row[wanted]
    if least is not None and isnan(least):
        raise InputError(
            f"The word vectors {row['provider']} know too few of the synonym pairs to say how close a replacement is: "
            "set the attack's min_cosine."
        )
    rows = collect(swaps, None).to_pylist()
    kept = rows if least is None else near_enough(rows, least)
    limit = {name: row[name] for name in CosineLimits.schema.names if name in row} | {"limit": least}
    limit_text = limits_said({row["provider"]: least})
    say(f"{len(kept)} of {len(rows)} words have a replacement" + (f" · cosine ≥ {limit_text}" if limit_text else ""))
    near = write_table(pa.Table.from_pylist(kept, schema=WordSwaps.schema), into=WordSwaps)
    return NearEnough(near, write_table(pa.Table.from_pylist([limit], schema=CosineLimits.schema), into=CosineLimits))


@stage(version=5, title="guided swaps", draws=True, libraries=["lemminflect"])
def look_into_pools(
    samples: Artifact[Samples],
    training: Artifact[Samples],
    keywords: Artifact[Keywords],
    thresholds: Artifact[Thresholds],
    classes: Artifact[Classes],
    text: str,
    sought: SwapSearch,
    providers: ResolvedProviders,
    lemmatise: bool,
    subject: ResolvedSubject | None = None,
    files: Artifact[SubjectFiles] | None = None,
) -> Swaps:
    """Guided (section 4): of every word and class the similar words of the oracle's pools, by their importance."""
    settings = sought.attack.settings
    assert isinstance(settings, Guided)
    corpus = _corpus(samples, training, text)
    keyword_rows = collect(keywords, None)
    spelt = {spelling(word, lemmatise) for word in corpus.asked}
    words = sorted({*spelt, *keyword_rows["word"].to_pylist(), *(word for pair in synonym_pairs() for word in pair)})
    pools = pools_in(keyword_rows, classes.rows)
    embedded = map_pieces(
        embed_piece,
        [Learner(None), *map(Learner, range(len(providers.providers)))],
        into=WordVectors,
        name="spaces",
        texts=corpus.learnt,
        words=words,
        providers=providers,
        load=_loading(subject, files, classes),
        seed=stage_seeds().integer(),
        compared=Words(tuple(sorted({*corpus.asked, *pools.words}))),
        sentence_seed=stage_seeds().integer("sentences"),
    )
    thetas = {row["provider"]: row["theta"] for row in collect(thresholds, ["provider", "theta"]).to_pylist()}
    pieces = [Words(tuple(corpus.asked[at : at + _WORDS])) for at in range(0, max(1, len(corpus.asked)), _WORDS)]
    spaces = spaces_from(collect(embedded, None), thetas)
    swaps = map_pieces(
        guided_piece,
        pieces,
        into=WordSwaps,
        name="swaps",
        pools=pools,
        spaces=spaces,
        settings=settings,
        lemmatise=lemmatise,
    )
    limits = pool_limits(spaces, settings.min_cosine, stage_seeds().integer("synonyms"))
    asked = dict(zip(limits["provider"].to_pylist(), limits["limit"].to_pylist(), strict=True))
    related = collect(swaps, ["related"])["related"].to_pylist()
    say(
        f"replacements for {sum(related)} related and {len(related) - sum(related)} other words, counted per class · "
        f"cosine ≥ {limits_said(asked)}"
    )
    compared = map_partitions(
        compared_rows, embedded, into=WordVectors, name="vectors", words=_words_of_texts(corpus, swaps)
    )
    return Swaps(swaps, compared, write_table(limits, into=CosineLimits))


def _corpus(samples: Artifact[Samples], training: Artifact[Samples], column: str) -> _Corpus:
    """What is attacked, and what vectors are learnt from: the training texts, or where there are none the same."""
    attacked = texts_of(collect(samples, ["id", column]), column)
    learnt = texts_of(collect(training, ["id", column]), column) if training.rows else attacked
    return _Corpus(content_words(attacked), learnt)


def _loading(
    subject: ResolvedSubject | None, files: Artifact[SubjectFiles] | None, classes: Artifact[Classes] | None
) -> Callable[[], object]:
    """What loads the subject, where its own vectors are asked; else nothing that could be."""
    if subject is None or files is None or classes is None:
        return object
    return partial(load_text_model, subject, read_files(files), classes.rows)


def _words_of_texts(corpus: _Corpus, swaps: Artifact[Any]) -> list[str]:
    """All words that an attacked text can have."""
    listed: Sequence[Sequence[str]] = collect(swaps, ["candidates"])["candidates"].to_pylist()
    return sorted({*corpus.asked, *(word for some in listed for word in some)})


def _sentence_vectors(corpus: _Corpus, swaps: Artifact[Any]) -> Artifact[WordVectors]:
    """FastText vectors of all words that an attacked text can have, by which sentences are compared."""
    words, seed = [Words(tuple(_words_of_texts(corpus, swaps)))], stage_seeds().integer("sentences")
    return map_pieces(sentence_piece, words, into=WordVectors, name="vectors", texts=corpus.learnt, seed=seed)


ROWS = 16  # texts of a partition: few, so that the bar moves and all workers have something to do
_LOOKED_UP = 500  # words of which some dictionary should know half


@stage(version=4, title="word attack", gpu=True, libraries=["textattack", "transformers", "gensim"])
def attack_words(
    samples: Artifact[Samples],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    attack: ResolvedWordAttack,
    swaps: Artifact[WordSwaps],
    vectors: Artifact[WordVectors],
    limits: Artifact[CosineLimits],
) -> Artifact[AttackedTexts]:
    """Every text attacked by itself: nothing is drawn, so the same texts come out of any cut and any workers."""
    kit = AttackKit(
        "\0".join([files.digest, subject.fingerprint, attack.fingerprint, swaps.digest, vectors.digest, limits.digest]),
        subject,
        read_files(files),
        len(class_names(collect(classes, None))),
        attack,
        collect(swaps, None),
        collect(vectors, None),
        collect(limits, None),
    )
    attacked = map_partitions(attack_rows, samples, into=AttackedTexts, rows=ROWS, kit=kit)
    columns = collect(attacked, ["status", "reason", "ranking", "refused"])
    sentence = f"{TEXT_ATTACKS.of(attack.settings).word} · {summary(columns)}"
    refused = sum(count or 0 for count in columns["refused"].to_pylist())
    sentence += f" · {plural(refused, 'replacement')} refused as opposites" if refused else ""
    if attack.settings.ranking != "deletion" and "deletion" in columns["ranking"].unique().to_pylist():
        sentence += " · the subject has no gradients, so words are ranked by deletion"
    say(sentence + _unknown_words(samples, subject, attack))
    return attacked


class Rewritten(NamedTuple):
    """What became of the texts; word vectors, which word swaps take replacements from, have no part in it."""

    attacked: Artifact[AttackedTexts]
    limits: Artifact[CosineLimits]


@stage(version=2, title="text attack", draws=True, gpu=True, libraries=["transformers", "levenshtein"])
def rewrite_texts(
    samples: Artifact[Samples],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    attack: TextRewrite,
) -> Rewritten:
    """Every text attacked by a function that makes another text of it, with draws of the text's own."""
    attacked = map_partitions(
        rewrite_rows,
        samples,
        into=AttackedTexts,
        rows=ROWS,
        attack=attack,
        subject=subject,
        files=read_files(files),
        classes=classes.rows,
        seeds=stage_seeds(),
        names=class_names(collect(classes, None)),
    )
    say(f"{TEXT_ATTACKS.of(attack).word} · {summary(collect(attacked, ['status', 'reason']))}")
    return Rewritten(attacked, write_table(CosineLimits.schema.empty_table(), into=CosineLimits))


@stage(version=18, title="word findings")
def measure_words(
    attacked: Artifact[AttackedTexts],
    name: str,
    subject: str,
    limits: Artifact[CosineLimits],
    samples: Artifact[Samples],
    classes: Artifact[Classes],
) -> Artifact[Findings]:
    """The findings on one attack (`name`) on one subject, and on the vectors that it took its words from.

    Intervals count the groups of the `samples`, if any.
    """
    table, spaces = collect(attacked, None), collect(limits, None)
    say(f"{name} on {subject} · {summary(table)}")
    names = class_names(collect(classes, None))
    measured = word_findings(table, name, subject, names, groups_of_ids(samples, table["id"].to_pylist()))
    return write_table(findings_table([*measured, *space_findings(spaces, name, subject)]), into=Findings)


@stage(version=9, title="word attacks compared")
def compare_words(
    first: Artifact[AttackedTexts],
    second: Artifact[AttackedTexts],
    first_name: str,
    second_name: str,
    subject: str,
    significance: float,
    samples: Artifact[Samples],
) -> Artifact[Findings]:
    """Two attacks on the same texts: McNemar's test of success, Wilcoxon's of the words changed where both succeed."""
    generator = Seeds(0, "word attacks compared").generator(f"{subject}/{first_name}/{second_name}")
    first_table, second_table = collect(first, None), collect(second, None)
    pair, groups = f"{first_name} - {second_name}", groups_of_ids(samples, first_table["id"].to_pylist())
    findings = comparison_findings(first_table, second_table, pair, subject, generator, significance, groups)
    difference = next(finding for finding in findings if finding.metric == "attack.success_difference")
    value = "not measured"
    if difference.value is not None:
        value = f"{100 * difference.value:+.1f} points of success, p = {difference.p_value:.3g}"
    limits = [limits_said(limits_in(collect(attacked, ["providers", "limits"]))) for attacked in (first, second)]
    if all(limits):
        value += f" · replacements at cosine ≥ {limits[0]} against {limits[1]}"
    say(f"{first_name} against {second_name} on {subject} · {value}")
    return write_table(findings_table(findings), into=Findings)


def _unknown_words(samples: Artifact[Samples], subject: ResolvedSubject, attack: ResolvedWordAttack) -> str:
    """A warning where the dictionary of parts of speech is not one of the texts' language."""
    if not attack.settings.part_of_speech:
        return ""
    column = subject.settings.text
    words = content_words(texts_of(collect(samples, ["id", column]), column))
    asked = words[:: max(1, len(words) // _LOOKED_UP)]
    known = sum(bool(parts_of_speech(word)) for word in asked)
    if 2 * known >= len(asked):
        return ""
    return (
        f" · the English dictionary of parts of speech knows {known} of {len(asked)} words, and no other word is "
        "replaced: set part_of_speech: false"
    )


MAJORITY = "majority-predictor"


@stage(version=1, title="text red flags")
def flag_texts(
    predictions: Artifact[Predictions], samples: Artifact[Samples], classes: Artifact[Classes], name: str
) -> Artifact[Findings]:
    """Whether a subject (almost) always says the same of the texts as they are: `attack.red_flag`."""
    names = class_names(collect(classes, None))
    reading = constant_text_answer(collect(predictions, ["id", "predicted"]), collect(samples, ["id", "gold"]), names)
    say(f"{name} · " + (reading.why if reading.raised else "its answers vary" if reading.n else "no texts"))
    return write_table(findings_table([reading.finding(name)]), into=Findings)


def constant_text_answer(predictions: pa.Table, samples: pa.Table, classes: Sequence[str]) -> Reading:
    """Whether the texts as they are (almost) all get one answer."""
    gold = dict(zip(samples["id"].to_pylist(), samples["gold"].to_pylist(), strict=True))
    known = [gold[sample] for sample in predictions["id"].to_pylist()]
    truth = np.array([-1 if code is None else code for code in known], dtype=np.int64)
    alone = one_answer(predictions["predicted"].to_numpy().astype(np.int64), truth, len(classes))
    if not alone.share.n:
        return Reading(MAJORITY, raised=False, n=0, why="there are no predictions")
    why = f"{percent(alone.share.value, 0)} of the texts are called {answer_name(alone.answer, classes)}"
    raised = alone.verdict == "degenerate"
    return Reading(MAJORITY, raised, alone.share.n, why if raised else "")


_MEASURED = ("id", noise.ORIGINAL, noise.NOISE, noise.SEVERITY, noise.NEWS)


@stage(version=1, title="noise", draws=True)
def add_noise(
    samples: Artifact[Samples], text: str, kinds: Sequence[NoiseKind], severities: Sequence[int]
) -> Artifact[Samples]:
    """Every text with every kind of noise at every severity, as samples of their own: the same for all subjects."""
    noisy = _noised(noise.noisy_rows, samples, text, kinds, severities)
    say(f"{samples.rows} texts · {len(kinds)} kinds at {len(severities)} severities{_unchanged(noisy)}")
    return noisy


@stage(version=1, title="noisy copies", draws=True)
def copy_with_noise(
    samples: Artifact[Samples], text: str, kinds: Sequence[NoiseKind], severities: Sequence[int]
) -> Artifact[Samples]:
    """The samples with noise of one kind and severity in each, drawn per sample: what a defence learns from."""
    copies = _noised(noise.noisy_copies, samples, text, kinds, severities)
    say(f"{samples.rows} texts{_unchanged(copies)}")
    return copies


def _noised(
    function: Callable[..., Tallied],
    samples: Artifact[Samples],
    text: str,
    kinds: Sequence[NoiseKind],
    severities: Sequence[int],
) -> Artifact[Samples]:
    options: dict[str, Any] = {"text": text, "kinds": tuple(kinds), "severities": tuple(severities)}
    return map_partitions(function, samples, into=Samples, **options, seeds=stage_seeds())


@stage(version=9, title="noise findings")
def measure_noise(
    noisy: Artifact[Samples],
    said: Artifact[Predictions],
    clean: Artifact[Predictions],
    samples: Artifact[Samples],
    classes: Artifact[Classes],
    called: str,
    subject: str,
    significance: float,
) -> Artifact[Findings]:
    """The findings on noise: `said` of the `noisy` texts, beside what the subject says of them `clean`."""
    known, before, truth = _known(samples, clean, classes)
    answers = noise.answers_under_noise(collect(noisy, list(_MEASURED)), collect(said, ["id", "predicted"]), known)
    names, groups = class_names(collect(classes, None)), groups_of(samples)
    about = About("attack", called, subject=subject)
    findings = noise.noise_findings(answers, before, truth, names, about, significance, groups)
    lowest = next((finding for finding in findings if finding.metric == "attack.worst_accuracy"), None)
    shown = "no gold labels to measure by" if lowest is None else f"{lowest.value:.1%} right with {lowest.verdict}"
    say(f"{subject} · {shown}")
    return write_table(findings_table(findings), into=Findings)


@stage(version=1, title="noise examples")
def show_noise(
    noisy: Artifact[Samples],
    said: Artifact[Predictions],
    clean: Artifact[Predictions],
    samples: Artifact[Samples],
    classes: Artifact[Classes],
    text: str,
    called: str,
    examples: int,
    masked: bool,
) -> Artifact[ChangedTexts]:
    """A few texts whose right predictions noise turns wrong, the gentlest of each kind first."""
    known, before, truth = _known(samples, clean, classes)
    rows = collect(noisy, [*_MEASURED, "gold", noise.STARTS, noise.ENDS])
    answers = noise.answers_under_noise(rows, collect(said, ["id", "predicted"]), known)
    chosen = noise.samples_that_flip(answers, known["id"].to_pylist(), before, truth, examples)
    texts = collect(samples, ["id", text])
    shown = noise.noise_examples(rows, texts, chosen, before, text=text, called=called, masked=masked)
    say(f"{plural(shown.num_rows, 'text')}" + (", masked" if masked else ""))
    return write_table(shown, into=ChangedTexts)


def _known(
    samples: Artifact[Samples], clean: Artifact[Predictions], classes: Artifact[Classes]
) -> tuple[pa.Table, Codes, Codes]:
    """Ids and classes of the samples, what is said of them as they are, and their classes as codes."""
    known, before = collect(samples, ["id", "gold"]), collect(clean, ["id", "predicted"])
    require_same_samples(before, known, "the subject")
    truth = codes_known(known, class_names(collect(classes, None)))
    return known, before["predicted"].to_numpy().astype(np.int64), truth


def _unchanged(noisy: Artifact[Samples]) -> str:
    unchanged = tally_of(noisy).get("unchanged", 0)
    return f" · {unchanged} of {noisy.rows} have no place to change" if unchanged else ""
