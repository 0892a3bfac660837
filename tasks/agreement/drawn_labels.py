"""How right models and rules are by people's labels of samples that were drawn with known probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.arrays import Codes, Floats
from assay.tasks.reporting.estimates import bars_of
from assay.tasks.reporting.numerals import integer, interval, percent, plural
from assay.tasks.reporting.parts import NamedSample, Part, SampleList
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.stratified_ppi import Drawn, Ratio, labelled_share
from assay.tasks.subjects.predictions import probabilities_of

PPI, CLASSICAL = "ppi++", "classical"
"""With what was expected of all samples, and by the labels alone."""
_BARS = "A bar for each estimate, with its interval: by PPI++, which uses what was expected, and by the labels alone."
_WAYS = {PPI: "PPI++", CLASSICAL: "labels alone"}


@dataclass(frozen=True)
class Answerer:
    """Who is held against people's labels, a subject or a labeler: its classes, and the chance it gives every class."""

    name: str
    answers: Codes  # [N]
    chances: Floats  # [N, k]
    decided: npt.NDArray[np.bool_]  # [N]
    is_subject: bool

    @property
    def finding(self) -> Finding:
        """What findings say of whom they are about."""
        return Finding("", subject=self.name) if self.is_subject else Finding("", group=self.name)


def answerer_of(name: str, table: pa.Table, ids: pa.Array, classes: int) -> Answerer | None:
    """What `Predictions` or `WeakLabels` say of these samples; None where they do not speak of all of them.

    >>> rows = pa.table({"id": ["a", "b"], "label": [1, 0], "confidence": [0.9, 0.6], "undecided": [False, True]})
    >>> answerer_of("majority", rows, pa.array(["b", "a"]), 2).chances.round(1).tolist()
    [[0.6, 0.4], [0.1, 0.9]]
    """
    places = pc.index_in(ids, value_set=table["id"].combine_chunks())
    if places.null_count:
        return None
    rows, at = table.take(places), np.arange(len(ids))
    if "predicted" not in table.column_names:
        answers, sure = rows["label"].to_numpy().astype(np.int64), rows["confidence"].to_numpy()
        chances = np.repeat(((1 - sure) / max(1, classes - 1))[:, None], classes, axis=1)
        chances[at, answers] = sure
        return Answerer(name, answers, chances, ~rows["undecided"].to_numpy(), False)
    answers = rows["predicted"].to_numpy().astype(np.int64)
    if rows["probabilities"].null_count:
        chances = (answers[:, None] == np.arange(classes)).astype(np.float64)
    else:
        chances = probabilities_of(rows, classes)
    return Answerer(name, answers, chances, np.ones(len(ids), np.bool_), True)


def expected_chances(answerer: Answerer, among: Sequence[Answerer]) -> Floats:
    """The chance of every class [N, k] that all subjects give on average, and a labeler itself of its own labels."""
    heard = [other.chances for other in among if other.is_subject or other is answerer]
    return np.asarray(np.mean(heard, axis=0))


def expected_right(answerer: Answerer, among: Sequence[Answerer]) -> Floats:
    """The chance of every sample [N] that the answerer is right on it."""
    chances = expected_chances(answerer, among)
    return np.asarray(chances[np.arange(len(chances)), answerer.answers])


def people_findings(among: Sequence[Answerer], drawn: Drawn, labels: Codes, classes: Sequence[str]) -> list[Finding]:
    """`people.accuracy`, `.balanced_accuracy` and `.recall` of everybody, by both estimates; `labels` is people's class
    of every drawn sample [n], -1 where they cannot tell."""
    findings: list[Finding] = []
    for answerer in among:
        chances, answers = expected_chances(answerer, among), answerer.answers
        tell = ((labels >= 0) & answerer.decided[drawn.at]).astype(np.float64)
        right, decided = tell * (answers[drawn.at] == labels), answerer.decided.astype(np.float64)
        whole = Ratio(right, tell, expected_right(answerer, among) * decided, decided)
        by_class = {}
        for code, name in enumerate(classes):
            is_class, expected = labels == code, chances[:, code] * decided
            by_class[name] = Ratio(right * is_class, tell * is_class, expected * (answers == code), expected)
        asked = [("accuracy", "", [whole]), ("balanced_accuracy", "", list(by_class.values()))]
        asked += [("recall", name, [ratio]) for name, ratio in by_class.items()]
        for about, group, ratios in asked:
            for of in (PPI, CLASSICAL):
                share = labelled_share(ratios, drawn, tuned=of == PPI)
                n = int(min(ratio.cases.sum() for ratio in ratios) if group else tell.sum())
                in_group = ", ".join(filter(None, [answerer.finding.group, group]))
                finding = replace(answerer.finding, metric=f"people.{about}", of=of, group=in_group, n=n)
                findings.append(finding.estimated(share))
                if share is not None and about == "accuracy":
                    findings.append(replace(finding, metric="people.worth", value=float(round(share.worth))))
    return findings


def people_page(findings: FindingIndex, samples: int, cannot_tell: int, against: Sequence[NamedSample]) -> Part:
    """The part of the report about people's labels; `against` are samples on which they contradict who comes first."""
    shares = findings.select("people.accuracy", of=PPI)
    labelled = max((share.n or 0 for share in shares), default=0) + cannot_tell
    sentences = [people_sentence(share, None) for share in shares]
    sentences[:1] = [people_sentence(share, findings.get("people.worth", *share.about)) for share in shares[:1]]
    if cannot_tell:
        sentences.append(f"Left out: {plural(cannot_tell, 'sample')} whose class people could not tell.")
    compared = findings.select("people.accuracy")
    names = [f"{share.subject or share.group}, {_WAYS[share.of]}" for share in compared]
    plot = bars_of(f"Right on the {integer(samples)} samples", names, compared, "Share right", _BARS)
    examples = [SampleList("Where people say otherwise", against)] if against else []
    return Part(f"What people said of {plural(labelled, 'sample')}", " ".join(sentences), [plot, *examples], "people")


def people_sentence(share: Finding, worth: Finding | None) -> str:
    """How right somebody is, and what the labels were worth.

    >>> share = Finding("people.accuracy", "ppi++", "", "net", 0.9, 0.85, 0.94, 200)
    >>> people_sentence(share, Finding("people.worth", value=310.0)).replace("\u202f", " ")
    'net is right on 90 % [85, 94] by 200 labels, which tell as much as 310 of samples drawn at random.'
    """
    who = share.subject or f"The labels of {share.group}"
    verb, how_right = "is" if share.subject else "are", percent(share.value, 0)
    labels = plural(share.n or 0, "label")
    if worth is not None:
        labels += f", which tell as much as {worth.value:.0f} of samples drawn at random"
    return f"{who} {verb} right on {how_right} {interval(share.low, share.high, digits=0)} by {labels}."
