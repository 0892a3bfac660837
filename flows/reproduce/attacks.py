"""`assay reproduce toki-4`: Table 4 of Nguyen Tung et al. (TOKI) with our numbers beside it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from assay.data.published.toki import TABLE_4, Attack, AttackRow
from assay.flows.commands.answers import columns
from assay.flows.report.records import findings_of
from assay.flows.reproduce.runs import dataset_of, no_run_yet, runs_beside
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.attacks.text_table import TEXT_ATTACKS
from assay.tasks.attacks.words.page_findings import WordFindings, limits_in_words
from assay.tasks.statistics.findings import Finding, FindingIndex

PIPELINES = {
    "CAMS": "cams", "HateXplain": "hatexplain", "ag_news": "ag-news", "rotten_tomatoes": "rotten-tomatoes",
    "emotion": "emotion",
}  # fmt: skip
OWN = ("reviews", "reviews-weak", "reviews-strong")
WHY = (
    "The subjects are ours, trained in a minute (theirs are fine-tuned BERTs), and fewer texts are attacked. Words",
    "are compared by vectors that work without a network (theirs: counter-fitted vectors and six embeddings). A2T",
    "takes words at the cosine that half of all synonym pairs reach; guided takes more distant ones, at θ relate,",
    "which parts synonyms from random words. So `guided − a2t` compares the limits as much as the guidance; at like",
    "limits stands the line of an A2T with `min_cosine: related`. The first similarity is by the encoder that",
    "limits the attack (theirs: BERT), the second by another (theirs: USE); neither is theirs, so compare columns,",
    "not rows. What counts as similar, and what as a low or a high mean score, the paper leaves open:",
    "docs/word-attacks.md says what is taken here.",
)
_HEADINGS = [
    "data set", "whose", "texts", "guided SAR [95 %]", "words [95 %]", "sim. 1", "sim. 2", "A2T SAR [95 %]",
    "words [95 %]", "sim. 1", "sim. 2", "guided − A2T [95 %]", "p",
]  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """What a run found of a guided attack and of others on its first subject that the guided one came through on."""

    run: str
    subject: str
    guided: str
    others: tuple[str, ...]
    found: WordFindings


def toki_4(store: Store) -> str:
    """Table 4 beside the latest run of each data set's pipeline that attacked, and below it those of all others."""
    rows: list[list[object]] = []
    measured, missing = [], []
    for row in TABLE_4:
        rows.append(_published(row))
        name = PIPELINES.get(row.data_set)
        ours = None if name is None else _latest(store, runs_beside(store, name))
        if ours is not None:
            rows += _lines(row.data_set, ours)
            measured += _sources(row.data_set, ours)
        elif name is not None:
            missing.append(no_run_yet(store, row.data_set, name, "attack"))
        else:
            missing.append(f"{row.data_set}: no pipeline; with texts of your own, add attacks: [a2t, guided] and trust")
    for called, records in _others(store).items():
        ours = _latest(store, records)
        if ours is not None:
            rows += _lines(called, ours)
            measured += _sources(called, ours)
    text = ["Table 4: the attack guided by the trust oracle, and A2T", "", columns(_HEADINGS, rows), ""]
    for heading, lines in (("Ours come from", measured), ("Not measured", missing), ("Why they differ", WHY)):
        text += [heading, *(f"  {line}" for line in lines), ""] if lines else []
    return "\n".join(text).rstrip()


def _published(row: AttackRow) -> list[object]:
    def cells(one: Attack) -> list[str]:
        return [f"{one.success_rate:.3f}", f"{one.perturbed_words:.3f}", f"{one.bert:.3f}", f"{one.use:.3f}"]

    apart = f"{row.guided.success_rate - row.a2t.success_rate:+.3f}"
    return [row.data_set, "paper", str(row.instances), *cells(row.guided), *cells(row.a2t), apart, ""]


def _others(store: Store) -> dict[str, list[RunRecord]]:
    """The runs, newest first, that stand beside no line of the paper: the planted shortcuts, then users' own texts."""
    shown = {run.id for name in PIPELINES.values() for run in runs_beside(store, name)}
    found: dict[str, list[RunRecord]] = {name: runs_beside(store, name) for name in OWN}
    shown |= {run.id for runs in found.values() for run in runs}
    for run in reversed(store.runs()):
        asked = {one.get("attack") for one in (run.settings or {}).get("attacks") or () if isinstance(one, dict)}
        if run.findings and run.id not in shown and "guided" in asked:  # findings are read only where there are any
            data = dataset_of(run)
            found.setdefault(f"{run.pipeline} ({data})" if data else run.pipeline, []).append(run)
    return found


def _latest(store: Store, records: Sequence[RunRecord]) -> Measured | None:
    """What the first of these runs found that has a guided attack among its findings; None where none has."""
    for record in records:
        with suppress(InputError):  # a damaged run costs its line, not the table
            measured = _measured(store, record)
            if measured is not None:
                return measured
    return None


def _measured(store: Store, record: RunRecord) -> Measured | None:
    found, called = WordFindings(FindingIndex(findings_of(store, record))), _names(record)
    for guided in called["guided"]:
        for subject in found.subjects:
            if found.get("success_rate", subject, guided) is not None:
                others = tuple(one for one in called["a2t"] if (subject, one) in found.tried)
                return Measured(record.id, subject, guided, others, found)
    return None


def _names(record: RunRecord) -> dict[str, list[str]]:
    """What the run's pipeline calls its attacks, by their kind; the kind itself where it gives no name."""
    kinds = [one.word for one in TEXT_ATTACKS if one.swaps_words]
    attacks = [one for one in record.settings.get("attacks", ()) if one.get("attack") in kinds]
    names = {kind: [str(one.get("name") or kind) for one in attacks if one["attack"] == kind] for kind in kinds}
    return {kind: found or [kind] for kind, found in names.items()}


def _sources(data_set: str, ours: Measured) -> list[str]:
    """Which run it was, and how similar words had to be."""
    limits = [
        f"{attack} takes words at {limits_in_words(ours.found.limits(ours.subject, attack))}"
        for attack in (ours.guided, *ours.others)
    ]
    return [f"{data_set}: run {ours.run}, subject {ours.subject}", *(f"  {line}" for line in limits)]


def _lines(data_set: str, ours: Measured) -> list[list[object]]:
    """Our lines, one per attack that the guided one stands beside."""
    return [_line(data_set, ours, other) for other in ours.others or ("",)]


def _line(data_set: str, ours: Measured, other: str) -> list[object]:
    found, pair = ours.found, f"{ours.guided} - {other}"
    rate = found.get("success_rate", ours.subject, ours.guided)
    apart, test = (found.get(name, ours.subject, pair) for name in ("success_difference", "mcnemar_p"))
    p = None if apart is None else apart.p_value
    if test is not None:
        p = test.p_value if test.p_adjusted is None else test.p_adjusted
    whose = "ours" if other in ("", "a2t") else f"ours, {other}"
    return [
        data_set, whose, "" if rate is None else str(rate.n), *_cells(ours, ours.guided), *_cells(ours, other),
        _number(apart, sign="+"), "" if p is None else f"{p:.3g}",
    ]  # fmt: skip


def _cells(ours: Measured, attack: str) -> list[str]:
    """Success rate and words changed with their intervals, and both similarities, the attack's own encoder first."""
    found = ours.found
    encoders: Sequence[str] = [*found.groups("similarity", ours.subject, attack), "", ""][:2]
    alike = [found.get("similarity", ours.subject, attack, encoder) if encoder else None for encoder in encoders]
    estimates = [_number(found.get(name, ours.subject, attack)) for name in ("success_rate", "perturbed_words")]
    return [*estimates, *("" if one is None else f"{one.value:.3f}" for one in alike)]


def _number(one: Finding | None, sign: str = "") -> str:
    if one is None or one.value is None:
        return ""
    interval = "" if one.low is None or one.high is None else f" [{one.low:{sign}.3f}, {one.high:{sign}.3f}]"
    return f"{one.value:{sign}.3f}{interval}"
