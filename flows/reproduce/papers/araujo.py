"""Tables 2-6 of Araujo et al.: entities and the similarity of sentences under typing errors and synonyms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.data.published import ARAUJO_EMBEDDED, ARAUJO_PIPELINES, ARAUJO_SETS, ARAUJO_TABLES, TermsRow
from assay.flows.reproduce.paper_table import Line, Ours, PaperTable, Result, Source, paper_table, verdict
from assay.tasks.attacks.terms.measures import CLEAN, Stage
from assay.tasks.attacks.terms.page import TermFindings

Rows = Sequence[TermsRow]
MEASURES: Mapping[Stage, tuple[str, ...]] = {"ner": ("precision", "recall", "f1"), "sts": ("pearson", "spearman")}
DATA = {"abstracts-ner": "sample/abstracts", "abstracts-sts": "sample/abstract-pairs"}


def _table(name: str, stage: Stage, published: Mapping[str, Rows]) -> PaperTable:
    asked = list(dict.fromkeys((row.trained, row.tested) for rows in published.values() for row in rows))
    sources = [_source(data, ARAUJO_PIPELINES[data], stage, asked, rows) for data, rows in published.items()]
    return paper_table(name, [*sources, _source("", ARAUJO_EMBEDDED[stage], stage, asked, ())])


def _source(data_set: str, pipeline: str, stage: Stage, asked: Sequence[tuple[str, str]], rows: Rows) -> Source:
    papers = [_papers_line(data_set, row, stage) for row in rows]

    def lines(result: Result | None) -> list[Line]:
        return [*papers, *([] if result is None else _our_lines(result, pipeline, stage, asked, rows))]

    because = "the subject is another, smaller model, and the terms and their synonyms were found otherwise"
    return Source(pipeline, {pipeline: DATA.get(pipeline, pipeline)}, lines, because)


def _papers_line(data_set: str, row: TermsRow, stage: Stage) -> Line:
    numbers = [f"{getattr(row, name):.3f}" for name in MEASURES[stage]]
    return Line((data_set, f"{row.model} (paper)", row.trained, row.tested, *numbers, ""))


def _our_lines(result: Result, pipeline: str, stage: Stage, asked: Sequence[tuple[str, str]], rows: Rows) -> list[Line]:
    """Our subjects side by side: what each measures beside either of the paper's models, and what the intervals say."""
    findings, lines = TermFindings(stage, result.findings), list[Line]()
    first = {CLEAN: (CLEAN, ""), **{key[0]: key for key in findings.attacks}}
    for subject in findings.subjects:
        for trained, tested in asked:
            if ARAUJO_SETS[tested] not in first:
                continue
            model = subject if trained == "original" else f"{subject}+on-{ARAUJO_SETS[trained]}"
            place = (*first[ARAUJO_SETS[tested]], model)
            papers = [row for row in rows if (row.trained, row.tested) == (trained, tested)]
            numbers = {name: tuple(getattr(row, name) for row in papers) for name in MEASURES[stage]}
            cells = [Ours(f"{stage}.{name}", *place, paper=paper) for name, paper in numbers.items()]
            change = "drop" if trained == "original" else "cost" if tested == "original" else "gain"
            judged = Ours(f"{stage}.{change}", *place, write=verdict)
            lines.append(Line((pipeline, subject, trained, tested, *cells, judged), ours=True))
    return lines


TABLES = tuple(
    _table(name, "sts" if name in ("araujo-3", "araujo-6") else "ner", published)
    for name, published in ARAUJO_TABLES.items()
)
