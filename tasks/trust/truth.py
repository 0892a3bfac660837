"""What the oracle should say: by deleting words and asking again, by human rationales, or by people's verdicts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, cast

import pyarrow as pa

from assay.data.schemas import ListedTable, TrustTruth
from assay.infra.errors import InputError
from assay.tasks.language.rationales import Span, rationale_spans, rationale_words
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.rows import load_text_model, texts_of
from assay.tasks.trust.keywords import spoken_for
from assay.tasks.trust.oracle import Label

Truth = Literal["trustworthy", "untrustworthy"]
SURE, UNSURE = (4, 5), (1, 2)
_WAYS = "`sample`, `annotator` and either `guess` with `confidence` (1 to 5), or `verdict` (with or without `guess`)"


def dong_verdict(guess: str, predicted: str, confidence: int) -> Truth | None:
    """One annotator's verdict by Dong's rule: a sure wrong guess, or an unsure right one, is distrust.

    The annotator sees the explanation and guesses the prediction. A guess with confidence 3, or a wrong one without
    confidence, says nothing.

    >>> dong_verdict("spam", "spam", 5), dong_verdict("ham", "spam", 4), dong_verdict("ham", "spam", 2)
    ('trustworthy', 'untrustworthy', None)
    """
    right = guess == predicted
    if right and confidence in SURE:
        return "trustworthy"
    if (right and confidence in UNSURE) or (not right and confidence in SURE):
        return "untrustworthy"
    return None


def plurality(verdicts: Iterable[Label | None]) -> Truth | None:
    """What most annotators say; a tie, or nobody, says nothing.

    >>> plurality(["trustworthy", "untrustworthy", "trustworthy", None])
    'trustworthy'
    """
    counts = Counter(verdict for verdict in verdicts if verdict in ("trustworthy", "untrustworthy"))
    if counts["trustworthy"] == counts["untrustworthy"]:
        return None
    return "trustworthy" if counts["trustworthy"] > counts["untrustworthy"] else "untrustworthy"


def verdicts_of(
    table: pa.Table, predicted: Mapping[str, str], classes: Sequence[str], file: str
) -> dict[str, Truth | None]:
    """The plurality verdict on every sample of a table of annotations; `predicted` holds the class names said.

    Samples of the table that are not among those predicted are left out. Where annotators say a verdict, and also what
    they guess the class to be, only those who guess it rightly are heard.
    """
    columns = set(table.column_names)
    plain = {"sample", "annotator", "verdict"} <= columns
    if not plain and not {"sample", "annotator", "guess", "confidence"} <= columns:
        raise InputError(f"{file} has the columns {', '.join(table.column_names)}; human verdicts need {_WAYS}.")
    by_sample: dict[str, list[Label | None]] = defaultdict(list)
    seen: set[tuple[str, str]] = set()
    for number, row in enumerate(table.to_pylist(), start=1):
        sample, annotator = str(row["sample"]), str(row["annotator"])
        if (sample, annotator) in seen:
            raise InputError(f"{file} row {number}: annotator {annotator!r} judges sample {sample!r} twice.")
        seen.add((sample, annotator))
        if sample in predicted:
            by_sample[sample].append(_label(row, predicted[sample], plain, classes, f"{file} row {number}"))
    return {sample: plurality(verdicts) for sample, verdicts in by_sample.items()}


def _label(row: Mapping[str, object], predicted: str, plain: bool, classes: Sequence[str], where: str) -> Label | None:
    guess = row.get("guess")
    if guess is not None and guess not in classes:
        raise InputError(f"{where}: the guess is {guess!r}, expected one of {', '.join(classes)}.")
    if plain:
        verdict = str(row["verdict"]).strip().lower()
        if verdict not in ("trustworthy", "untrustworthy", "undecided"):
            raise InputError(
                f"{where}: the verdict is {row['verdict']!r}, expected trustworthy, untrustworthy or undecided."
            )
        right = guess is None or guess == predicted
        return None if not right or verdict == "undecided" else cast("Truth", verdict)
    confidence = row["confidence"]
    if not isinstance(confidence, int | float) or confidence not in (1, 2, 3, 4, 5):
        raise InputError(f"{where}: the confidence is {confidence!r}, expected a whole number from 1 to 5.")
    return dong_verdict(str(guess), predicted, int(confidence))


LEAST_PRECISION = 0.5


def truth_by_deletion(predicted: int, without_reasons: int, without_shortcuts: int) -> Truth | None:
    """Why a prediction was made, by what flips it: its valid reasons (trustworthy), or its shortcuts (untrustworthy).

    Where deleting either flips it, or neither does, nothing is known.

    >>> truth_by_deletion(1, 1, 0), truth_by_deletion(1, 0, 1), truth_by_deletion(1, 0, 0)
    ('untrustworthy', 'trustworthy', None)
    """
    by_reasons, by_shortcuts = without_reasons != predicted, without_shortcuts != predicted
    return None if by_reasons == by_shortcuts else "trustworthy" if by_reasons else "untrustworthy"


def without_spans(text: str, spans: Iterable[Span]) -> str:
    """The text with these characters deleted and everything else as it was, bit for bit; spans may overlap.

    >>> without_spans("not  bad, not good", [Span(10, 13), Span(0, 3)])
    '  bad,  good'
    """
    merged = sorted(spans)
    ends = [0]
    for span in merged:
        ends.append(max(ends[-1], span.end))
    gaps = [(end, max(end, span.start)) for end, span in zip(ends, merged, strict=False)]
    return "".join(text[start:end] for start, end in gaps) + text[ends[-1] :]


def explanation_precision(explanation: Collection[str], rationale: Collection[str]) -> float | None:
    """|E ∩ G| / |E|: the share of the explanation's words that people point to as well; None without words.

    >>> explanation_precision(["good", "film"], ["good", "fun"])
    0.5
    """
    words = set(explanation)
    return len(words & set(rationale)) / len(words) if words else None


def truth_by_rationale(explanation: Collection[str], rationale: Collection[str]) -> Truth | None:
    """Trustworthy iff at least half of the explanation's words are in the human rationale; None where one is empty."""
    precision = explanation_precision(explanation, rationale)
    if precision is None or not rationale:
        return None
    return "trustworthy" if precision >= LEAST_PRECISION else "untrustworthy"


REASONS, SHORTCUTS = "sentiment_words", "shortcut_words"
"""The columns of spans: which words are good reasons, and which are shortcuts."""


class RationaleWords(ListedTable):
    """One row per sample: the words that people point to as the reason for its class; empty where there are none."""


def counterfactual_rows(
    samples: pa.Table, predictions: pa.Table, *, subject: ResolvedSubject, files: dict[str, bytes], classes: int
) -> pa.Table:
    """`TrustTruth` of the correct predictions of a partition: each text is asked about without its reasons, and
    without its shortcuts."""
    spans = [_column(samples, name) for name in (REASONS, SHORTCUTS)]
    texts = texts_of(samples, subject.settings.text)
    ids, golds, predicted = (
        column.to_pylist() for column in (samples["id"], samples["gold"], predictions["predicted"])
    )
    right = [row for row, (gold, code) in enumerate(zip(golds, predicted, strict=True)) if gold == code]
    if not right:
        return TrustTruth.schema.empty_table()
    asked = [without_spans(texts[row], _spans(texts[row], column[row], ids[row])) for column in spans for row in right]
    codes = load_text_model(subject, files, classes).probabilities(asked).argmax(axis=1).tolist()
    rows = [
        _truth_row(ids[row], truth_by_deletion(predicted[row], codes[place], codes[len(right) + place]))
        for place, row in enumerate(right)
    ]
    return pa.Table.from_pylist(rows, schema=TrustTruth.schema)


def rationale_rows(samples: pa.Table, *, text: str, rationales: str) -> pa.Table:
    """`RationaleWords` of a partition; a rationale that is not understood is named by its sample, never quoted."""
    given = _column(samples, rationales)
    rows = [
        {"id": key, "words": sorted(rationale_words(words, _spans(words, rationale, key)))}
        for key, words, rationale in zip(samples["id"].to_pylist(), texts_of(samples, text), given, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=RationaleWords.schema)


def truth_by_rationales(explanations: pa.Table, rationales: pa.Table) -> pa.Table:
    """`TrustTruth` of the correct predictions among these explanations.

    An explanation's words are those that speak for the prediction, as they are for the oracle.
    """
    pointed = dict(zip(rationales["id"].to_pylist(), rationales["words"].to_pylist(), strict=True))
    rows = []
    for row in explanations.select(["id", "explainer", "gold", "predicted", "words", "importance"]).to_pylist():
        if row["gold"] == row["predicted"]:
            words, people = list(spoken_for(row)), pointed.get(row["id"], [])
            precision = explanation_precision(words, people) if people else None
            rows.append(_truth_row(row["id"], truth_by_rationale(words, people), precision, row["explainer"]))
    return pa.Table.from_pylist(rows, schema=TrustTruth.schema)


def _truth_row(
    sample: str, truth: str | None, precision: float | None = None, explainer: str = ""
) -> dict[str, object]:
    return {"id": sample, "explainer": explainer, "truth": truth, "precision": precision}


def _column(samples: pa.Table, name: str) -> Sequence[object]:
    if name not in samples.column_names:
        raise InputError(
            f"The samples have no column {name!r}, which trust is measured against: their columns are "
            f"{', '.join(samples.column_names)}."
        )
    values: Sequence[object] = samples[name].to_pylist()
    return values


def _spans(text: str, given: object, sample: str) -> list[Span]:
    return rationale_spans(text, given, f"The marked words of sample {sample!r}")
