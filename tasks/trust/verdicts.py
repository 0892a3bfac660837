"""Human verdicts on predictions, from a table: Dong's rule over guesses with a confidence, or plain verdicts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, cast

import pyarrow as pa

from assay.infra.errors import InputError
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
    heard: dict[str, list[Label | None]] = defaultdict(list)
    seen: set[tuple[str, str]] = set()
    for number, row in enumerate(table.to_pylist(), start=1):
        sample, annotator = str(row["sample"]), str(row["annotator"])
        if (sample, annotator) in seen:
            raise InputError(f"{file} row {number}: annotator {annotator!r} judges sample {sample!r} twice.")
        seen.add((sample, annotator))
        if sample in predicted:
            heard[sample].append(_label(row, predicted[sample], plain, classes, f"{file} row {number}"))
    return {sample: plurality(verdicts) for sample, verdicts in heard.items()}


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
