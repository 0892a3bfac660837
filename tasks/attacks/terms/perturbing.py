"""Sentences and partitions under an attack on their terms (Araujo et al., Section 4.1): words, tags, and what
became of each term.

What is drawn for a term does not depend on the severity: the terms attacked at a share of 0.5 are among those
at 1, and a word with two changes is the word with one, changed once more. So the severities of one attack can
be compared sentence by sentence.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from assay.data.catalog import located
from assay.data.schemas import TermChanges
from assay.infra.errors import InputError, blame_setting
from assay.infra.settings import Settings
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partition_work import Tallied
from assay.infra.user_code.choices import plugin_faults
from assay.tasks.attacks.table import TERM_ATTACKS
from assay.tasks.attacks.terms.changes import (
    CHANGED,
    GOLD,
    LEXICON,
    SPACY,
    SPARED,
    Change,
    GoldFinder,
    LexiconFinder,
    Term,
    TermFinder,
    TermMeans,
    projected,
    spacy_finder,
)
from assay.tasks.attacks.terms.measures import require_columns
from assay.tasks.attacks.terms.settings import TermAttack
from assay.tasks.language.lexicons import CATALOGUE, Lexicon, catalogue_lexicon, read_lexicon, shipped_lexicon
from assay.tasks.language.words import Word, words_of
from assay.tasks.subjects.holding_out import with_values


@dataclass(frozen=True)
class ResolvedAttack:
    """The options of an attack at one severity, ready to travel to the workers."""

    settings: TermAttack
    means: TermMeans
    masked: bool = False
    """Whether no text may be quoted, not even in an error; it changes no sentence."""

    @property
    def fingerprint(self) -> str:
        """The options and everything they name."""
        return json.dumps([self.settings.model_dump(mode="json"), self.means.fingerprint], sort_keys=True)


def resolve_attack(settings: TermAttack, beside: Path, masked: bool = False) -> ResolvedAttack:
    """Everything the options name, found before anything runs; paths count from the folder `beside`."""
    finder, lexicon = _finder(settings.terms, beside), None
    if (asked := TERM_ATTACKS.of(settings).lexicon) is not None:
        if (named := asked(settings)) is not None:
            lexicon = _lexicon_named(named, beside)
        else:
            lexicon = finder.lexicon if isinstance(finder, LexiconFinder) else shipped_lexicon()
    # only what the attacked sentences depend on: neither its name nor how many of them are shown
    return ResolvedAttack(settings.model_copy(update={"name": None, "examples": 0}), TermMeans(finder, lexicon), masked)


def require_attack(settings: TermAttack, beside: Path) -> None:
    """Raises where something that the options name is not here, or cannot be read."""
    with blame_setting("terms", settings.terms):
        if settings.terms.startswith(SPACY):
            spacy_finder(settings.terms.removeprefix(SPACY))
        elif settings.terms not in (GOLD, LEXICON):
            _require_lexicon(settings.terms, beside)
    lexicon = TERM_ATTACKS.of(settings).lexicon
    named = None if lexicon is None else lexicon(settings)
    if named is not None and named not in (GOLD, LEXICON):
        own = [name for name in type(settings).model_fields if name != "terms" and getattr(settings, name) == named]
        with blame_setting(own[0] if own else "attack", named):
            _require_lexicon(named, beside)


def _require_lexicon(named: str, beside: Path) -> None:
    if named == CATALOGUE:
        located(CATALOGUE)
    else:
        read_lexicon(beside / named)


def _finder(terms: str, beside: Path) -> TermFinder:
    if terms == GOLD:
        return GoldFinder()
    if terms.startswith(SPACY):
        return spacy_finder(terms.removeprefix(SPACY))
    return LexiconFinder(shipped_lexicon() if terms == LEXICON else _lexicon_named(terms, beside))


def _lexicon_named(name: str, beside: Path) -> Lexicon:
    return catalogue_lexicon() if name == CATALOGUE else read_lexicon(beside / name)


@dataclass(frozen=True, slots=True)
class Perturbed:
    """A sentence after the attack: words, tags (as many; None where it has none), and the changes in reading order."""

    words: list[str]
    tags: list[str] | None
    changes: list[Change]
    places: list[tuple[int, int]]
    """Where the words of each term stand now."""


def perturb(
    words: Sequence[str],
    tags: Sequence[str] | None,
    attack: TermAttack,
    means: TermMeans,
    generator: np.random.Generator,
    masked: bool = False,
) -> Perturbed:
    """The sentence under the attack at its first severity.

    Tags stay as they are, one for one, unless a synonym has more or fewer words than the term: then they are projected
    onto the new words.
    """
    choice, spans = TERM_ATTACKS.of(attack), means.finder.find(words, tags)
    drawn, seeds = generator.random(len(spans)), generator.integers(2**63, size=len(spans))
    new_words, new_tags, changes, places, end = list[str](), list[str](), list[Change](), list[tuple[int, int]](), 0
    for span, luck, seed in zip(spans, drawn.tolist(), seeds.tolist(), strict=True):
        before = tuple(words[span.first : span.last])
        if luck < attack.share[0]:
            own = None if tags is None else tags[span.first : span.last]
            with plugin_faults(attack, choice.word, masked):
                change = choice.change_of(Term(span, before, own), attack, means, np.random.default_rng(seed))
        else:
            change = Change(span, before, before, SPARED)
        changes.append(change)
        new_words += [*words[end : span.first], *change.after]
        places.append((len(new_words) - len(change.after), len(new_words)))
        if tags is not None:
            kept = tags[span.first : span.last]
            same = len(change.after) == len(before)
            new_tags += [*tags[end : span.first], *(kept if same else projected(kept, len(change.after)) or ())]
        end = span.last
    new_words += words[end:]
    return Perturbed(new_words, None if tags is None else [*new_tags, *tags[end:]], changes, places)


class SentenceColumns(Settings):
    """Where the sentences stand: a column of words with one of tags, or, for pairs, a column of whole sentences."""

    words: str
    """The column of words, or of sentences."""

    tags: str | None = None
    """The column of tags; without one, `words` holds sentences."""


def attacked_rows(
    samples: pa.Table, *, attacks: Sequence[ResolvedAttack], sentences: SentenceColumns, seeds: Seeds, reach: float
) -> Tallied:
    """The samples with their terms attacked, every other column as it was, and a row for each term.

    Of several attacks each sample draws one; `reach` is the share of the samples that are attacked at all.
    """
    cells = samples[sentences.words].to_pylist()
    if sentences.tags:
        require_columns(samples, sentences.words, sentences.tags)
    tags = samples[sentences.tags].to_pylist() if sentences.tags else [None] * samples.num_rows
    rows = [
        _row(sample, cell, own, attacks, sentences, seeds, reach)
        for sample, cell, own in zip(samples["id"].to_pylist(), cells, tags, strict=True)
    ]
    attacked = with_values(samples, sentences.words, [words for words, _, _ in rows])
    if sentences.tags:
        attacked = with_values(attacked, sentences.tags, [new_tags for _, new_tags, _ in rows])
    changes = [change for _, _, of_sample in rows for change in of_sample]
    tally = {
        "terms": len(changes),
        "words": sum(change["changed"] for change in changes),
        "outcomes": dict(Counter(change["outcome"] for change in changes)),
        "untagged": tags.count(None) if sentences.tags else 0,
    }
    return Tallied((attacked, pa.Table.from_pylist(changes, schema=TermChanges.schema)), tally)


def _row(
    sample: str,
    cell: Any,
    tags: list[str] | None,
    attacks: Sequence[ResolvedAttack],
    sentences: SentenceColumns,
    seeds: Seeds,
    reach: float,
) -> tuple[Any, list[str] | None, list[dict[str, Any]]]:
    """A sample after the attack: its new cells, and a row for each of its terms."""
    generator = seeds.generator(sample)
    luck, which = generator.random(), int(generator.integers(len(attacks)))
    if cell is None or (sentences.tags and tags is None) or luck >= reach:  # untagged, it is not measured either
        return cell, tags, []
    attack = attacks[which]
    if sentences.tags:
        if tags is None or len(tags) != len(cell):
            raise InputError(
                f"The sample {sample} has {len(cell)} words in {sentences.words!r} and {len(tags or ())} tags in "
                f"{sentences.tags!r}; expected one tag per word."
            )
        perturbed = perturb(cell, tags, attack.settings, attack.means, generator, attack.masked)
        starts = np.cumsum([0, *(len(word) + 1 for word in perturbed.words)]).tolist()
        offsets = [(starts[first], max(starts[first], starts[last] - 1)) for first, last in perturbed.places]
        return perturbed.words, perturbed.tags, _records(sample, attack, perturbed, offsets)
    words = words_of(cell)
    perturbed = perturb([word.text for word in words], None, attack.settings, attack.means, generator, attack.masked)
    text, offsets = spliced(cell, words, perturbed)
    return text, None, _records(sample, attack, perturbed, offsets)


def spliced(text: str, words: Sequence[Word], perturbed: Perturbed) -> tuple[str, list[tuple[int, int]]]:
    """The text with its changed terms put in, everything else as it was bit for bit, and where each term now stands."""
    parts, end, length, offsets = list[str](), 0, 0, list[tuple[int, int]]()
    for change in perturbed.changes:
        own = words[change.span.first : change.span.last]
        first, last = own[0].start, own[-1].end
        term = text[first:last] if change.outcome != CHANGED else change.name or _retyped(text, own, change.after)
        parts += [text[end:first], term]
        start = length + first - end
        offsets.append((start, start + len(term)))
        length, end = start + len(term), last
    return "".join([*parts, text[end:]]), offsets


def _retyped(text: str, words: Sequence[Word], after: Sequence[str]) -> str:
    ends = [words[0].start, *(word.end for word in words)]
    return "".join(text[end : word.start] + new for end, word, new in zip(ends, words, after, strict=False))


def _records(
    sample: str, attack: ResolvedAttack, perturbed: Perturbed, offsets: Sequence[tuple[int, int]]
) -> list[dict[str, Any]]:
    word, places = TERM_ATTACKS.of(attack.settings).word, perturbed.places
    return [
        {
            "id": sample,
            "attack": word,
            "kind": change.span.kind,
            "before": " ".join(change.before),
            "after": change.name or " ".join(change.after),
            "first": change.span.first,
            "last": change.span.last,
            "new_first": new_first,
            "new_last": new_last,
            "start": start,
            "end": end,
            "words": change.words,
            "changed": change.changed,
            "concept": change.concept,
            "outcome": change.outcome,
        }
        for change, (new_first, new_last), (start, end) in zip(perturbed.changes, places, offsets, strict=True)
    ]
