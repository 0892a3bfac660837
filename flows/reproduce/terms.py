"""Tables 2-6 of Araujo et al. in the paper's layout, our subjects beside theirs, and why they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from assay.data.published.araujo import (
    EMBEDDED,
    PIPELINES,
    SETS,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    TABLE_6,
    Entities,
    Similarity,
)
from assay.flows.commands.answers import columns
from assay.flows.report.records import findings_of
from assay.flows.reproduce.runs import latest_beside, no_run_yet
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.attacks.terms.estimates import CLEAN, Stage
from assay.tasks.attacks.terms.page_findings import TermFindings
from assay.tasks.statistics.findings import Finding, FindingIndex

Published = Mapping[str, Sequence[Entities] | Sequence[Similarity]]
MEASURES: dict[Stage, tuple[str, ...]] = {"ner": ("precision", "recall", "f1"), "sts": ("pearson", "spearman")}
WHY = (
    "Their subjects are BERT, pre-trained on PubMed (P) or PubMed and MIMIC-III (P+M); ours are those that the",
    "pipeline names: small ones, or MiniLM fine-tuned for a few epochs, which start lower. What must hold is the",
    "direction: every attack lowers F1, and training on an attack helps against it, or the report says where not.",
    "Their terms were found by scispaCy, and their synonyms in UMLS by what is most similar or related; ours are the",
    "gold entities (a lexicon for pairs), and a synonym is another name of the same concept; a term without one stays.",
)
WHY_TRAINED = (
    "Training does not always help in the paper either: on chemicals P+M loses on swap (.728 as it was, .638 trained",
    "on swap), and on diseases training on synonyms costs .023 on the original test set.",
)


def araujo_2(store: Store) -> str:
    """Table 2: entities found before and under attack."""
    return _table(store, "Table 2: adversarial evaluation, entities", "ner", TABLE_2, WHY)


def araujo_3(store: Store) -> str:
    """Table 3: similarity of sentences before and under attack."""
    return _table(store, "Table 3: adversarial evaluation, similarity of sentences", "sts", TABLE_3, WHY)


def araujo_4(store: Store) -> str:
    """Table 4: chemicals after training on attacked copies."""
    return _table(store, "Table 4: chemicals after adversarial training", "ner", TABLE_4, (*WHY, *WHY_TRAINED))


def araujo_5(store: Store) -> str:
    """Table 5: diseases after training on attacked copies."""
    return _table(store, "Table 5: diseases after adversarial training", "ner", TABLE_5, (*WHY, *WHY_TRAINED))


def araujo_6(store: Store) -> str:
    """Table 6: similarity of sentences after training on attacked copies."""
    return _table(store, "Table 6: similarity after adversarial training", "sts", TABLE_6, WHY)


ARAUJO_TABLES: Mapping[str, Callable[[Store], str]] = {
    "araujo-2": araujo_2, "araujo-3": araujo_3, "araujo-4": araujo_4, "araujo-5": araujo_5, "araujo-6": araujo_6,
}  # fmt: skip


def _table(store: Store, title: str, stage: Stage, published: Published, why: Sequence[str]) -> str:
    rows: list[list[object]] = []
    measured, missing = list[str](), list[str]()
    wanted = dict.fromkeys((row.trained, row.tested) for numbers in published.values() for row in numbers)
    theirs: list[tuple[str, list[list[object]]]] = [
        (PIPELINES[data_set], [_their_line(data_set, row, stage) for row in numbers])
        for data_set, numbers in published.items()
    ]
    for name, printed in [*theirs, (EMBEDDED[stage], [])]:
        record = latest_beside(store, name)
        ours = [] if record is None else _our_lines(store, record, name, stage, list(wanted))
        rows += [*printed, *ours]
        if record is not None and ours:
            measured.append(f"{name}: run {record.id}")
        else:
            missing.append(no_run_yet(store, name, name))
    headings = ["data", "subject", "trained with", "tested on", *MEASURES[stage], ""]
    text = [title, "", columns(headings, rows), ""]
    for heading, lines in (("Ours come from", measured), ("Not measured", missing), ("Why they differ", why)):
        text += [heading, *(f"  {line}" for line in lines), ""] if lines else []
    return "\n".join(text).rstrip()


def _their_line(data_set: str, row: Entities | Similarity, stage: Stage) -> list[object]:
    numbers = [f"{getattr(row, name):.3f}" for name in MEASURES[stage]]
    return [data_set, f"{row.model} (paper)", row.trained, row.tested, *numbers, ""]


def _our_lines(
    store: Store, record: RunRecord, name: str, stage: Stage, wanted: Sequence[tuple[str, str]]
) -> list[list[object]]:
    """Our subjects side by side: what each measures, and what the intervals say of it."""
    found = TermFindings(stage, FindingIndex(findings_of(store, record)))
    attacks = {CLEAN: (CLEAN, ""), **{key[0]: key for key in found.attacks}}
    lines: list[list[object]] = []
    for subject in found.subjects:
        for trained, tested in wanted:
            model = subject if trained == "original" else f"{subject}+on-{SETS[trained]}"
            key = attacks.get(SETS[tested])
            cells = [] if key is None else [found.get(metric, model, key) for metric in MEASURES[stage]]
            if key is not None and any(cells):
                compared = "drop" if trained == "original" else "cost" if tested == "original" else "gain"
                said = found.get(compared, model, key)
                lines.append(
                    [name, subject, trained, tested, *map(_number, cells), "" if said is None else said.verdict]
                )
    return lines


def _number(found: Finding | None) -> str:
    if found is None or found.value is None:
        return "not measured"
    if found.low is None or found.high is None:
        return f"{found.value:.3f}"
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"
