"""Trust in the report and over the nights: how many right predictions are right for the wrong reasons, with plots
and examples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from toolz import unique

from assay.infra.errors import first_named
from assay.tasks.reporting import parts
from assay.tasks.reporting.estimates import bars_of, column, series_of, share_estimate, share_text, table_of
from assay.tasks.reporting.gallery import marked, masked
from assay.tasks.reporting.numerals import integer, interval, number, percent, plural
from assay.tasks.reporting.report import Headline, headline_of
from assay.tasks.statistics.findings import Finding, FindingIndex, measured
from assay.tasks.statistics.proportions import wilson_of
from assay.tasks.trust.settings import METRICS


@dataclass(frozen=True)
class Explained:
    """One subject by one explainer: its labels, keywords, thresholds, what other settings say, and examples."""

    subject: str
    explainer: str
    classes: Sequence[str]
    labels: pa.Table
    keywords: pa.Table
    thresholds: pa.Table
    settings: pa.Table
    examples: pa.Table
    truth: pa.Table | None = None
    masked: bool = False

    def labelled(self, oracle: str) -> list[dict[str, Any]]:
        """What an oracle says of every correct prediction: rows with id, predicted, confidence and label."""
        rows: list[dict[str, Any]] = self.labels.filter(pc.equal(self.labels["oracle"], oracle)).to_pylist()
        return [row for row in rows if row["label"] != "out of scope"]

    @cached_property
    def truths(self) -> dict[str, str]:
        """The true label of every prediction where it is known."""
        if self.truth is None:
            return {}
        rows = self.truth.select(["id", "truth"]).to_pylist()
        return {row["id"]: row["truth"] for row in rows if row["truth"] is not None}


class TrustFindings:
    """The findings `trust.*`, as the page asks for them."""

    def __init__(self, findings: FindingIndex) -> None:
        self.findings = findings
        self.subjects = findings.distinct("subject", "trust")

    def explainers(self, subject: str) -> list[str]:
        """The explainers of a subject, in the order of the settings."""
        return self.findings.distinct("of", "trust.trustworthy", subject=subject)

    def get(self, metric: str, subject: str, of: str, group: str = "") -> Finding | None:
        """The finding, if it was made."""
        return self.findings.entry(f"trust.{metric}", subject, of, group)

    def constant(self, subject: str) -> bool:
        """Whether a subject (almost) always gives the same answer, so that it is right for no reason at all."""
        return any(finding.degenerate for finding in self.findings.select("subject.degenerate", subject=subject))


LEGEND: Mapping[parts.Tone, str] = {
    "good": "speaks for the prediction, related to the class",
    "bad": "speaks for the prediction, not related to it",
    "neutral": "speaks against the prediction, or is known to no embedding",
}


def examples_block(explained: Explained) -> list[parts.MarkedTexts]:
    """The most damning examples of a subject by one explainer, and a trustworthy one of each class beside them; none
    where none was chosen."""
    rows = explained.examples.to_pylist()
    if not rows:
        return []
    texts = [_example(row, explained) for row in rows]
    note = (
        "Right predictions that are confident, and go most clearly by words that are not related to the class; then "
        "for each class one that goes by related words. The stronger the colour, the more a word matters."
    )
    if explained.masked:
        note += " The texts of this audit are masked: only marked words are shown, and of these only the marks."
    return [
        parts.MarkedTexts(f"Predictions to look at, {explained.subject}, {explained.explainer}", texts, LEGEND, note)
    ]


def _example(row: dict[str, Any], explained: Explained) -> parts.MarkedText:
    truth = f", in truth {row['truth']}" if row["truth"] else ""
    tone: parts.Tone = "bad" if row["label"] == "untrustworthy" else "good"
    answer = [
        parts.Mark(f"{row['label']}{truth}", tone),
        parts.Mark(f"confidence {percent(row['confidence'])}"),
        parts.Mark(f"related words weigh {row['related_mass']:.2g}, others {row['unrelated_mass']:.2g}"),
    ]
    stretches = stretches_of(row, hidden=explained.masked)
    return parts.MarkedText(f"{row['id']} · {explained.classes[row['code']]}", stretches, answer, sample=row["id"])


def stretches_of(row: Mapping[str, Any], *, hidden: bool = False) -> list[parts.Stretch]:
    """The text in pieces, the words of the explanation marked; where words are `hidden`, the marks alone."""
    largest = max((abs(score) for score in row["importance"]), default=0.0) or 1.0
    words = sorted(zip(row["starts"], row["ends"], row["importance"], row["related"], strict=True), key=itemgetter(0))
    tones: dict[bool | None, parts.Tone] = {None: "neutral", True: "good", False: "bad"}
    spans = [
        (start, stop, tones[related if score > 0 else None], abs(score) / largest)
        for start, stop, score, related in words
    ]
    return masked((tone, weight) for _, _, tone, weight in spans) if hidden else marked(row["text"], spans)


BINS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0)
"""The bins of Figure 6."""

_MOVED = {
    "theta_dist": ("θ dist", "Clusters cut at"),
    "theta_relate": ("Shift of θ relate", "Added to each θ relate"),
    "vote": ("Vote", "Votes needed, more than"),
}


def shares_plot(trust: TrustFindings, subject: str, explainer: str, classes: Sequence[str]) -> parts.BarPlot:
    """The share of untrustworthy predictions per class with its interval."""
    shares = measured(trust.get("untrustworthy", subject, explainer, name) for name in classes)
    title, x_label = f"Right for the wrong reasons, {subject}, {explainer}", "Untrustworthy, of the right predictions"
    alt = "; ".join(f"{share.group} {percent(share.value)}" for share in shares)
    names = [share.group for share in shares]
    return bars_of(title, names, shares, x_label, f"Untrustworthy per class: {alt}.", _JUDGED)


_JUDGED = (
    "A prediction is trustworthy if the words that speak for it and are related to its class weigh at least as much as "
    "the others (Eq. 6). Only right predictions are judged. Where words hardly weigh anything, because the subject "
    "stays sure whatever is left out, Eq. 6 still names a side; do not believe it. Whiskers: 95 % intervals (Wilson)."
)


def confidence_plot(explained: Explained) -> list[parts.Block]:
    """Confidence against trust (Figure 6): the share of untrustworthy predictions per bin, by the oracle and in truth;
    none where the oracle decided nothing."""
    labelled, truths = explained.labelled("toki"), explained.truths
    kinds = {"by the oracle": [(row["confidence"], row["label"]) for row in labelled]}
    if truths:
        kinds["in truth"] = [(row["confidence"], truths[row["id"]]) for row in labelled if row["id"] in truths]
    series = [
        _share_series(explained, f"untrustworthy {kind}", pairs, aside=0.006 * place)
        for place, (kind, pairs) in enumerate(kinds.items())
    ]
    drawn = [line for line in series if line.x]
    if not drawn:
        return []
    ends = [
        f"{line.name} from {percent(line.y[0])} of the least to {percent(line.y[-1])} of the most confident predictions"
        for line in drawn
    ]
    title = f"Confidence and trust, {explained.subject}, {explained.explainer}"
    along, alt = "Confidence of the subject in its prediction", f"{'; '.join(ends)}."
    note = "Per bin of Figure 6 of the paper; whiskers are 95 % intervals (Wilson)."
    return [parts.LinePlot(title, drawn, along, "Untrustworthy", alt, (0.0, 1.0), note=note, scale="percent")]


def thresholds_panels(explained: Explained) -> parts.Panels:
    """What the oracle would say with one setting moved and all others as they are."""
    plots, ordered = [], explained.settings.sort_by("value").to_pylist()
    for setting, (name, label) in _MOVED.items():
        rows = [row for row in ordered if row["setting"] == setting]
        places = [row["value"] for row in rows]
        series = [
            parts.Series(share, places, [row[share] / row["n"] if row["n"] else None for row in rows])
            for share in ("trustworthy", "undecided")
        ]
        if any(row["g_mean"] is not None for row in rows):
            series.append(parts.Series("G-mean", places, [row["g_mean"] for row in rows], style="dashed"))
        used = next((row["value"] for row in rows if row["used"]), None)
        alt = f"Shares of trustworthy and undecided predictions for {plural(len(rows), 'value')} of {name}" + (
            f"; {used:g} is used." if used is not None else "."
        )
        title = f"{name}: {used:g} is used" if used is not None else name
        plots.append(parts.LinePlot(title, series, label, "Share", alt, (0.0, 1.0), scale="percent"))
    known, unknown = "G-mean is against the truth.", "The truth is not known, so no value can be called better."
    note = f"One setting is moved, the others stay. {known if explained.truths else unknown}"
    return parts.Panels(f"Other thresholds, {explained.subject}, {explained.explainer}", plots, note)


def _share_series(explained: Explained, name: str, pairs: Sequence[tuple[float, str]], aside: float) -> parts.Series:
    shares = {}
    decided = [(score, label) for score, label in pairs if label != "undecided"]
    least = 1 / max(1, len(explained.classes))  # the lowest confidence that an argmax over so many classes can have
    for start, end in ((low, high) for low, high in pairwise(BINS) if high > least):
        inside = [label for score, label in decided if start <= score < end or score == end == BINS[-1]]
        if inside:
            shares[(start + end) / 2 + aside] = share_estimate(inside.count("untrustworthy"), len(inside))
    return series_of(name, list(shares), list(shares.values()), "points")


_CLUSTERS, _WORDS = 6, 8


def clusters_table(explained: Explained) -> list[parts.Block]:
    """Per class the clusters of words that weigh most, keywords and others, by the best provider; none where the texts
    are masked."""
    if explained.masked:
        return []
    provider = best_provider(explained)
    keywords, others = parts.Mark("keywords", "good"), parts.Mark("no keywords")
    columns = [
        column("Class", "class"),
        column("Keywords?", lambda row: keywords if row["keyword"] else others, help="By the vote of all embeddings"),
        column("Cluster", lambda row: first_named(row["words"], _WORDS)),
        column("Importance", "importance", "number", "The sum of the mean importance of its words"),
        column("Relatedness", "relatedness", "number", "The cosine of its mean vector with the class name's"),
    ]
    rows: list[dict[str, Any]] = []
    for code, name in enumerate(explained.classes):
        ranked = [{"class": name, **cluster} for cluster in _clusters(explained, provider, code)]
        for keyword in (True, False):
            rows += [cluster for cluster in ranked if cluster["keyword"] == keyword][:_CLUSTERS]
    note = f"The clusters that {provider} makes, the heaviest first, keywords and other words of a cluster apart."
    title = f"Clusters of words, {explained.subject}, {explained.explainer}"
    return [table_of(title, rows, columns, f"{note}{_guessing(explained)}", collapsed=len(rows) > 36)]


def _guessing(explained: Explained) -> str:
    """The embeddings that tell synonyms from random pairs little better than guessing, which is right half the time."""
    faint = [row for row in explained.thresholds.to_pylist() if row["balance"] is not None and row["balance"] < 0.6]
    named = ", ".join(f"{row['provider']} ({percent(row['balance'])})" for row in faint)
    return f" Little better than guessing at what is a synonym, and yet with a vote: {named}." if faint else ""


def best_provider(explained: Explained) -> str:
    """The provider that tells synonyms from random pairs best; the first where θ was given."""
    rows = explained.thresholds.to_pylist()
    return str(max(rows, key=lambda row: row["balance"] or 0.0)["provider"]) if rows else ""


def _clusters(explained: Explained, provider: str, code: int) -> list[dict[str, Any]]:
    chosen = pc.and_(pc.equal(explained.keywords["provider"], provider), pc.equal(explained.keywords["code"], code))
    together: dict[tuple[int, bool], list[dict[str, Any]]] = defaultdict(list)
    for row in explained.keywords.filter(chosen).to_pylist():
        together[row["cluster"], row["keyword"]].append(row)
    clusters = [
        {
            "keyword": keyword,
            "importance": sum(row["importance"] for row in rows),
            "relatedness": rows[0]["relatedness"],
            "words": [row["word"] for row in sorted(rows, key=lambda row: (-row["importance"], row["word"]))],
        }
        for (_, keyword), rows in together.items()
    ]
    return sorted(clusters, key=lambda cluster: (-cluster["importance"], cluster["words"]))


_FEW_TEXTS = 50


def page(findings: FindingIndex, explained: Sequence[Explained] = ()) -> parts.Part:
    """The part of the report about trust, from the findings `trust.*` and what the oracle made.

    Examples, clusters, plots and thresholds are those of every subject's first explainer.
    """
    trust = TrustFindings(findings)
    first = list(unique(explained, key=attrgetter("subject")))
    blocks: list[parts.Block] = []
    for each in first:
        blocks += [shares_plot(trust, each.subject, each.explainer, each.classes), *examples_block(each)]
    for each in first:
        blocks += [*confidence_plot(each), thresholds_panels(each), *clusters_table(each)]
    sentence = " ".join(_sentence(trust, subject) for subject in trust.subjects)
    return parts.Part("Trust", sentence or "No prediction was explained.", blocks, "trust")


def _in_truth(trust: TrustFindings, subject: str, explainer: str) -> str:
    """What the oracle's share says of the subject: corrected by how often the oracle is right, or nothing."""
    corrected = trust.get("untrustworthy_corrected", subject, explainer, "all")
    if corrected is None:
        return ": how often it is right here was not measured, so that is no statement about the model"
    if corrected.value is not None:
        return f"; corrected by how often it is right, {share_text(corrected)} are"
    _, _, why = corrected.verdict.partition(": ")
    judged = trust.get("g_mean", subject, "toki", explainer)
    counted = "" if judged is None or not judged.n else f", where the truth is known (n = {integer(judged.n)})"
    return f": {why}{counted}, so that says nothing of the model{_share_of_known(trust, subject, explainer)}"


def _share_of_known(trust: TrustFindings, subject: str, explainer: str) -> str:
    """How many are untrustworthy by the truth itself, of those whose truth is known."""
    shares = [trust.get("truth", subject, explainer, group) for group in ("untrustworthy", "trustworthy")]
    counts = [round((finding.value or 0.0) * (finding.n or 0)) for finding in shares if finding is not None]
    if len(counts) < 2 or not sum(counts):
        return ""
    share = f"{percent(counts[0] / sum(counts))} {interval(*wilson_of(counts[0], sum(counts)))}"
    return f"; by the truth itself {share} of {integer(sum(counts))} are"


def _caveats(trust: TrustFindings, subject: str, explainer: str) -> str:
    """What a reader should know before believing the share: labels that hang on nothing, and keywords of few texts."""
    reserve, faint = "", trust.get("faint", subject, explainer, "all")
    if faint is not None and faint.value and (count := round(faint.value * (faint.n or 0))):
        reserve += f"; in {integer(count)} of them the words weigh next to nothing"
    learned = trust.get("keyword_seconds", subject, explainer)
    if learned is not None and learned.n is not None and learned.n < _FEW_TEXTS:
        reserve += f"; keywords of only {plural(learned.n, 'training text')}"
    return reserve


def _sentence(trust: TrustFindings, subject: str) -> str:
    explainers = trust.explainers(subject)
    share = trust.get("untrustworthy", subject, explainers[0], "all") if explainers else None
    if share is None or share.value is None:
        return f"No right prediction of {subject} could be explained."
    if trust.constant(subject):
        return f"{subject} (almost) always answers alike: there are no reasons of its own to judge."
    untrustworthy = (
        f"TOKI calls {share_text(share)} of the predictions that {subject} gets right untrustworthy, since they rest "
        f"on words that it does not relate to the class, by {share.of} (n = {integer(share.n)}"
        f"{_caveats(trust, subject, share.of)}){_in_truth(trust, subject, share.of)}."
    )
    g_mean, naive = (trust.get("g_mean", subject, oracle, share.of) for oracle in ("toki", "naive"))
    if g_mean is None or g_mean.value is None:
        return untrustworthy
    beside = ""
    if naive is not None and naive.value is not None:
        beside = f", the subject's confidence {number(naive.value)}"
        gain = trust.get("g_mean_difference", subject, "toki - naive", share.of)
        if gain is not None and gain.value is not None:
            beside += f": a difference of {number(gain.value)} {interval(gain.low, gain.high, 'number')}"
    return (
        f"{untrustworthy} Against the truth, known for {integer(g_mean.n)} of them, TOKI has a G-mean of "
        f"{number(g_mean.value)} {interval(g_mean.low, g_mean.high, 'number', 3)}{beside}."
    )


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject, by its first explainer: the untrustworthy share, and TOKI's G-mean where the truth is known."""
    trust = TrustFindings(findings)
    for subject in trust.subjects:
        for explainer in trust.explainers(subject)[:1]:
            wrong_reasons = trust.get("untrustworthy", subject, explainer, "all")
            for finding in (wrong_reasons, trust.get("g_mean", subject, "toki", explainer)):
                yield from headline_of(METRICS, finding, subject, explainer)
