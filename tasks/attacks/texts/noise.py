"""Natural noise in texts, of one kind (typos, casing, punctuation, whitespace, homoglyphs) at several severities,
the same for every subject: noisy copies of samples, what is still right of them, what flips, whether that is
more than chance, and which of them are shown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.arrays import Bools, Codes
from assay.data.schemas import ChangedTexts
from assay.infra.errors import RunError
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partition_work import Tallied
from assay.tasks.attacks.terms.typos import neighbours
from assay.tasks.attacks.texts.measures import changes_shown
from assay.tasks.attacks.texts.settings import NoiseKind
from assay.tasks.language.words import words_of
from assay.tasks.statistics.class_scores import class_counts
from assay.tasks.statistics.classification import Groups, accuracy, extreme_share, fooling_rate, proportion
from assay.tasks.statistics.classification_findings import About, class_findings, recall_findings
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import not_shown
from assay.tasks.statistics.paired import compared_shares
from assay.tasks.subjects.holding_out import with_values
from assay.tasks.subjects.predictions import require_same_samples
from assay.tasks.subjects.texts.rows import texts_of


@dataclass(frozen=True, slots=True)
class Edit:
    """`text[start:end]` becomes `new`, which always differs from it."""

    start: int
    end: int
    new: str


def applied(text: str, edits: Sequence[Edit]) -> str:
    """The text after these edits, whose places do not overlap, and everything else as it was.

    >>> applied("so bad!", [Edit(3, 4, "s"), Edit(0, 0, "oh ")])
    'oh so sad!'
    """
    parts, end = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < end or text[edit.start : edit.end] == edit.new:
            raise ValueError(f"{edit} overlaps another edit, or changes nothing")
        parts += [text[end : edit.start], edit.new]
        end = edit.end
    return "".join([*parts, text[end:]])


def casing(text: str, generator: np.random.Generator) -> list[Edit]:
    """Every word that has another case, in another case; no letter becomes two, so texts keep their length.

    >>> [edit.new for edit in casing("a 東 I", np.random.default_rng(0))]
    ['A', 'i']
    """
    edits = []
    for word in words_of(text):
        pick = int(generator.integers(1 << 30))  # drawn for every word, so that no word's case shows in the next one's
        ways = sorted({cased for cased in _cases(word.text) if cased != word.text})
        if ways:
            edits.append(Edit(word.start, word.end, ways[pick % len(ways)]))
    return edits


def _cases(word: str) -> list[str]:
    """The word in small letters, in capitals, with a capital, and with every case turned round; a letter whose other
    case would be several (ß in capitals) stays as it is."""
    ways = (str.lower, str.upper, lambda letter: letter.upper() if letter.islower() else letter.lower())
    small, capital, turned = (
        "".join(cased if len(cased := way(letter)) == 1 else letter for letter in word) for way in ways
    )
    return [small, capital, capital[:1] + small[1:], turned]


# Out of Unicode's table of confusable characters (UTS 39); none of them is folded back by compatibility normalisation.
_LATIN = "aceijopsxyhdgqvwABCEHIJKMNOPSTXYZ"
_OTHERS = (
    "\u0430\u0441\u0435\u0456\u0458\u043e\u0440\u0455\u0445\u0443\u04bb\u0501\u0261\u051b\u0475\u051d"
    "\u0410\u0412\u0421\u0415\u041d\u0406\u0408\u041a\u041c\u039d\u041e\u0420\u0405\u0422\u0425\u03a5\u0396"
)
LOOK_ALIKES = dict(zip(_LATIN, _OTHERS, strict=True))
"""For each Latin letter that has one, a letter of another script that looks the same."""


def homoglyphs(text: str, generator: np.random.Generator) -> list[Edit]:
    """Every letter that has a look-alike, replaced by it; nothing is drawn, and texts keep their length.

    >>> [(edit.start, hex(ord(edit.new))) for edit in homoglyphs("box", np.random.default_rng(0))]
    [(1, '0x43e'), (2, '0x445')]
    """
    del generator  # which of them are made is drawn by whoever chooses
    return [Edit(place, place + 1, LOOK_ALIKES[letter]) for place, letter in enumerate(text) if letter in LOOK_ALIKES]


MARKS = ",.;:!?"
_RUN = re.compile(r"[.,;:!?\"'()\u2018\u2019\u201c\u201d\u2026\u2013\u2014-]+")


def punctuation(text: str, generator: np.random.Generator) -> list[Edit]:
    """One slip after every word: marks that stand there are left out, doubled or confused, else one is set.

    >>> from assay.tasks.attacks.texts.noise import applied
    >>> applied("Well, yes", punctuation("Well, yes", np.random.default_rng(1)))
    'Well,, yes?'
    """
    words, edits = words_of(text), []
    for place, word in enumerate(words):
        end = words[place + 1].start if place + 1 < len(words) else len(text)
        way, mark = int(generator.integers(3)), MARKS[int(generator.integers(len(MARKS)))]
        match = _RUN.search(text, word.end, end)
        if match is None:
            edits.append(Edit(word.end, word.end, mark))
            continue
        others = [other for other in MARKS if other != match[0]]
        new = "" if way == 0 else match[0] + match[0][-1] if way == 1 else others[MARKS.index(mark) % len(others)]
        edits.append(Edit(match.start(), match.end(), new))
    return edits


def typos(text: str, generator: np.random.Generator) -> list[Edit]:
    """One typing error for every second letter or digit of the text: the places where a typist may slip.

    A word is cut into pairs of neighbouring letters, from its first or its second letter on (drawn per word), and each
    pair gets one of the errors of Belinkov and Bisk (2018) and of the typing studies that they build on. Pairs do not
    overlap, so that no error undoes another.

    >>> from assay.tasks.attacks.texts.noise import applied
    >>> applied("nothing", typos("nothing", np.random.default_rng(3))) != "nothing"
    True
    """
    edits = []
    for word in words_of(text):
        start = word.start + int(generator.integers(2)) * (len(word.text) > 1)
        edits += [
            _typo(text[place : min(place + 2, word.end)], place, generator) for place in range(start, word.end, 2)
        ]
    return edits


def _typo(letters: str, place: int, generator: np.random.Generator) -> Edit:
    """One typing error in one or two letters; always a change."""
    end, first = place + len(letters), letters[0]
    ways = ["double"]
    if len(letters) == 2:
        ways += ["omit"] + (["swap"] if first != letters[1] else [])
    near = neighbours(first)
    ways += ["near"] if near else []
    way = ways[int(generator.integers(len(ways)))]
    pick = int(generator.integers(1 << 30))
    if way == "swap":
        return Edit(place, end, letters[1] + first)
    if way == "omit":
        return Edit(place, end, letters[1])
    return Edit(place, place + 1, near[pick % len(near)] if way == "near" else first * 2)


_BLANKS = re.compile(r"(?<=\S)[^\S\n]+(?=\S)")


def whitespace(text: str, generator: np.random.Generator) -> list[Edit]:
    """Every blank between words left out or doubled, and every word of two letters and more torn apart once.

    >>> [edit.new for edit in whitespace("so bad", np.random.default_rng(2))]
    ['', ' ', ' ']
    """
    edits = []
    for blank in _BLANKS.finditer(text):
        missing = generator.random() < 0.5
        edits.append(Edit(blank.start(), blank.end(), "" if missing else blank[0] + blank[0][-1]))
    for word in words_of(text):
        if len(word.text) > 1:
            place = word.start + int(generator.integers(1, len(word.text)))
            edits.append(Edit(place, place, " "))
    return edits


Maker = Callable[[str, np.random.Generator], list[Edit]]
"""Every place of a text that this kind of noise could change, and what it would become there."""

MAKERS: Mapping[NoiseKind, Maker] = {
    "typos": typos,
    "casing": casing,
    "punctuation": punctuation,
    "whitespace": whitespace,
    "homoglyphs": homoglyphs,
}

SHARES: Mapping[NoiseKind, tuple[float, float, float, float, float]] = {
    "typos": (0.02, 0.04, 0.10, 0.20, 0.40),
    "casing": (0.10, 0.25, 0.50, 0.75, 1.0),
    "punctuation": (0.05, 0.10, 0.20, 0.40, 0.80),
    "whitespace": (0.025, 0.05, 0.10, 0.20, 0.40),
    "homoglyphs": (0.02, 0.05, 0.10, 0.20, 0.40),
}
"""The share of the places that are changed at severities 1 to 5, but at least one of them.

Typos: places are pairs of letters, so these are slips in 1, 2, 5, 10 and 20 % of the letters. Of 136 million
keystrokes about 1 % of the letters stay wrong after the typist's own corrections (Dhakal et al. 2018): severity 1 is
how people type, 5 is the density at which Belinkov and Bisk (2018) change every word. Homoglyphs: of the letters that
have a look-alike; Boucher et al. (2022) need one to three per sentence, which severity 1 is in a sentence. The others
have no such source: casing of 10 to 100 % of the words, a slip in punctuation after 5 to 80 % of the words, blanks
dropped, doubled or set inside 2.5 to 40 % of the places between and inside words.
"""


class Noisy(NamedTuple):
    """A text with noise in it, and the changes that made it, in the order of the original."""

    text: str
    edits: tuple[Edit, ...]


def with_noise(text: str, kind: NoiseKind, severities: Sequence[int], generator: np.random.Generator) -> list[Noisy]:
    """The text with this kind of noise at each of these severities.

    A higher severity has all the changes of a lower one and more, unless every place is changed already. A text without
    a place to change (empty, only emoji) stays as it is, and has no changes.

    >>> (noisy, few), (_, more) = with_noise("a rather good film", "typos", [1, 3], np.random.default_rng(0))
    >>> len(few) <= len(more), noisy != "a rather good film"
    (True, True)
    """
    edits = MAKERS[kind](text, generator)
    order = generator.permutation(len(edits))
    versions = []
    for severity in severities:
        chosen = sorted(order[: math.ceil(SHARES[kind][severity - 1] * len(edits))].tolist())
        changes = tuple(sorted((edits[place] for place in chosen), key=lambda edit: (edit.start, edit.end)))
        changed = applied(text, changes)
        # Several changes may make up for each other (a letter left out, its twin typed twice): that is no change.
        versions.append(Noisy(changed, changes if changed != text else ()))
    return versions


T = TypeVar("T")

ORIGINAL, NOISE, SEVERITY = "noise_of", "noise_kind", "noise_severity"
STARTS, ENDS, NEWS = "noise_starts", "noise_ends", "noise_news"
"""The columns of noisy samples: whose text it was, which noise, how much, and every change that it made: which
characters of the original became which."""


class Condition(NamedTuple):
    """One kind of noise at one severity."""

    kind: str
    severity: int

    @property
    def group(self) -> str:
        """What findings call it."""
        return group_of(*self)


def group_of(kind: str, severity: int) -> str:
    """The group of findings about one kind of noise at one severity.

    >>> group_of("typos", 3)
    'typos, severity=3'
    """
    return f"{kind}, severity={severity}" if severity else kind


def noisy_rows(
    samples: pa.Table, *, text: str, kinds: Sequence[NoiseKind], severities: Sequence[int], seeds: Seeds
) -> Tallied:
    """For every sample a row per kind of noise and severity, with an id of its own; a text that nothing could change
    is there as it was, with no changes, and is tallied as `unchanged`."""
    ids, golds, texts = samples["id"].to_pylist(), samples["gold"].to_pylist(), texts_of(samples, text)
    rows = [
        {
            "id": f"{sample}+{kind}-{severity}",
            "gold": gold,
            text: noisy,
            ORIGINAL: sample,
            NOISE: kind,
            SEVERITY: severity,
            STARTS: [edit.start for edit in edits],
            ENDS: [edit.end for edit in edits],
            NEWS: [edit.new for edit in edits],
        }
        for sample, gold, written in zip(ids, golds, texts, strict=True)
        for kind in kinds
        for severity, (noisy, edits) in zip(
            severities, with_noise(written, kind, severities, seeds.generator(f"{sample}\0{kind}")), strict=True
        )
    ]
    columns: list[tuple[str, pa.DataType]] = [
        ("id", pa.string()),
        ("gold", pa.int16()),
        (text, pa.string()),
        (ORIGINAL, pa.string()),
        (NOISE, pa.string()),
        (SEVERITY, pa.int16()),
        (STARTS, pa.list_(pa.int32())),
        (ENDS, pa.list_(pa.int32())),
        (NEWS, pa.list_(pa.string())),
    ]
    unchanged = sum(not row[NEWS] for row in rows)
    return Tallied(pa.Table.from_pylist(rows, schema=pa.schema(columns)), {"unchanged": unchanged})


def noisy_copies(
    samples: pa.Table, *, text: str, kinds: Sequence[NoiseKind], severities: Sequence[int], seeds: Seeds
) -> Tallied:
    """The samples with one kind of noise at one severity in each, drawn per sample; all other columns as they were."""
    noisy = []
    for sample, written in zip(samples["id"].to_pylist(), texts_of(samples, text), strict=True):
        generator = seeds.generator(sample)
        kind, severity = _one_of(kinds, generator), _one_of(severities, generator)
        noisy.append(with_noise(written, kind, [severity], generator)[0])
    copies = with_values(samples, text, [version for version, _ in noisy])
    return Tallied(copies, {"unchanged": sum(not edits for _, edits in noisy)})


def rows_under(noisy: pa.Table, condition: Condition) -> pa.Array:
    """Which rows of the table are of this noise at this severity."""
    same_kind = pc.equal(noisy[NOISE], condition.kind)
    return pc.and_(same_kind, pc.equal(noisy[SEVERITY], condition.severity)).combine_chunks()


def _one_of(values: Sequence[T], generator: np.random.Generator) -> T:
    return values[int(generator.integers(len(values)))]


EVERY_KIND = "every kind"
"""In place of a kind: a prediction counts as right that is right under every kind of noise at that severity."""


@dataclass(frozen=True)
class Answered:
    """What a subject says of the same texts with one kind of noise at one severity, in the order of the samples."""

    condition: Condition
    predicted: Codes  # [n]
    changed: Bools  # [n]: whether the noise changed the text at all


def answers_under_noise(noisy: pa.Table, predictions: pa.Table, samples: pa.Table) -> list[Answered]:
    """The predictions on noisy texts, brought into the order of the samples under every kind and severity."""
    require_same_samples(predictions, noisy, "the subject")
    codes = predictions["predicted"].to_numpy().astype(np.int64)
    changes = pc.greater(pc.list_value_length(noisy[NEWS]), 0).to_numpy()
    ids = samples["id"].combine_chunks()
    answers = []
    for condition in dict.fromkeys(map(Condition, noisy[NOISE].to_pylist(), noisy[SEVERITY].to_pylist())):
        rows = np.flatnonzero(rows_under(noisy, condition).to_numpy(zero_copy_only=False))
        order = pc.index_in(noisy[ORIGINAL].take(pa.array(rows)).combine_chunks(), value_set=ids).to_numpy()
        sorted_rows = rows[np.argsort(order)]
        if len(sorted_rows) != len(ids):
            raise RunError(f"There are {len(sorted_rows)} texts with {condition.group} and {len(ids)} samples.")
        answers.append(Answered(condition, codes[sorted_rows], changes[sorted_rows]))
    return answers


def noise_findings(
    noisy: Sequence[Answered],
    clean: Codes,
    truth: Codes,
    classes: Sequence[str],
    about: About,
    significance: float,
    groups: Groups,
) -> list[Finding]:
    """Per kind and severity `attack.accuracy` with `class_findings` beside it, `attack.flip_rate`, `attack.unchanged`
    and `attack.accuracy_change`.

    The change is paired, the same texts with and without noise, with Tango's interval and McNemar's p beside it. A
    conclusion (`attack.mcnemar_p`) is drawn once per kind, at the highest severity, so that the family of tests which
    Holm corrects stays small. Of several kinds together (`every kind`) a prediction is right that is right under each.
    `attack.worst_accuracy` is that of the kind and severity that its verdict names, with an interval that allows for
    its having been named after looking.
    """
    findings: list[Finding] = []
    last = max((answered.condition.severity for answered in noisy), default=0)
    for answered in noisy:
        under = replace(about, group=answered.condition.group)
        right = answered.predicted == truth
        counts = class_counts(answered.predicted, truth, len(classes), groups)
        findings += [
            under.finding("accuracy", accuracy(answered.predicted, truth, groups)),
            *class_findings(under, counts, classes),
            *recall_findings(under, counts, classes),
            under.finding("flip_rate", fooling_rate(clean, answered.predicted, groups)),
            under.finding("unchanged", proportion(~answered.changed, groups=groups)),
        ]
        findings += _change(under, right, clean, truth, answered.condition.severity == last, significance, groups)
    severities = sorted({answered.condition.severity for answered in noisy})
    for severity in severities if len({answered.condition.kind for answered in noisy}) > 1 else ():
        right = np.all(
            [answered.predicted == truth for answered in noisy if answered.condition.severity == severity], axis=0
        )
        under = replace(about, group=group_of(EVERY_KIND, severity))
        findings.append(under.finding("accuracy", proportion(right, truth >= 0, groups=groups)))
        under_all = class_counts(np.where(right, truth, -2), truth, len(classes), groups)
        findings += class_findings(under, under_all, classes)
        findings += _change(under, right, clean, truth, severity == last, significance, groups)
    worst = extreme_share([(answered.predicted == truth, truth >= 0) for answered in noisy], "lowest", groups)
    if worst is not None:
        place, share = worst
        findings.append(about.finding("worst_accuracy", share, verdict=noisy[place].condition.group))
    return findings


def _change(
    about: About, right: Bools, clean: Codes, truth: Codes, concluded: bool, significance: float, groups: Groups
) -> list[Finding]:
    """The paired change in accuracy, and McNemar's test of it; nothing where no class is known."""
    known = truth >= 0
    if not known.any():
        return []
    before, after = (clean == truth)[known], right[known]
    change, p = compared_shares(after, before, None if groups is None else groups[known])
    finding = Finding("attack.accuracy_change", about.of, about.group, about.subject, n=change.n, p_value=p)
    verdict = not_shown(significance) if p > significance else "worse" if change.value < 0 else "better"
    test = replace(finding, metric="attack.mcnemar_p", value=p, unit="p", verdict=verdict)
    return [replace(finding, unit="share").estimated(change), *([test] if concluded else [])]


def samples_that_flip(
    noisy: Sequence[Answered], ids: Sequence[str], clean: Codes, truth: Codes, limit: int
) -> list[tuple[int, Answered]]:
    """At most `limit` pairs of a sample (its row) and the noise that makes a right prediction of it wrong.

    The kinds take turns; each begins with its lowest severity. Where no class is known, a flip will do.
    """
    kinds: dict[str, list[tuple[int, str, int, Answered]]] = {}
    for answered in noisy:
        right = np.where(truth >= 0, clean == truth, True)
        for row in np.flatnonzero(right & (answered.predicted != clean) & answered.changed).tolist():
            turn = (answered.condition.severity, ids[row], row, answered)
            kinds.setdefault(answered.condition.kind, []).append(turn)
    ranked = [
        (place, order, row, answered)
        for order, turns in enumerate(kinds.values())
        for place, (_, _, row, answered) in enumerate(sorted(turns, key=lambda turn: turn[:2]))
    ]
    return [(row, answered) for _, _, row, answered in sorted(ranked, key=lambda turn: turn[:2])[:limit]]


def noise_examples(
    noisy: pa.Table,
    samples: pa.Table,
    chosen: Sequence[tuple[int, Answered]],
    clean: Codes,
    *,
    text: str,
    called: str,
    masked: bool,
) -> pa.Table:
    """The chosen texts with every change that noise made to them; masked, only that there were so many."""
    rows = []
    for row, answered in chosen:
        sample = samples.slice(row, 1)
        under = noisy.filter(rows_under(noisy, answered.condition))
        noisy_row = under.filter(pc.equal(under[ORIGINAL], sample["id"][0])).to_pylist()[0]
        about = {"id": noisy_row[ORIGINAL], "attack": called, "group": answered.condition.group, "status": "success"}
        answers = {"gold": noisy_row["gold"], "before": int(clean[row]), "after": int(answered.predicted[row])}
        changes = changes_shown(
            texts_of(sample, text)[0], noisy_row[STARTS], noisy_row[ENDS], noisy_row[NEWS], masked=masked
        )
        rows.append(about | answers | changes)
    return pa.Table.from_pylist(rows, schema=ChangedTexts.schema)
