"""Table 1 of Pugh et al.: does the accuracy of D_i fall along the order?"""

from __future__ import annotations

from assay.data.published import BROUGHT, PUGH_APPROACHES, PUGH_TABLE_1, Study
from assay.flows.reproduce.paper_table import Line, Ours, Source, number, paper_table, verdict
from assay.tasks.statistics.findings import Finding

LABELERS = ("majority", "snorkel")


def rho_and_p(finding: Finding) -> str:
    """ρ and its p as the paper prints them.

    >>> rho_and_p(Finding("ordering.spearman", value=-0.5, p_value=0.1))
    '-0.500 (0.100)'
    """
    return number("+.3f")(finding) + ("" if finding.p_value is None else f" ({finding.p_value:.3f})")


def _line(study: Study, labeler: str, approach: str) -> Line:
    """Of a labeler and an approach the paper's ρ and p, ours, the tie-free ρ and the permutation p."""
    rho, p = study.published(labeler, approach)
    paper = rho_and_p(Finding("ordering.spearman", value=rho, p_value=p))
    return Line(
        (
            study.name,
            labeler,
            approach,
            paper,
            Ours("ordering.spearman", approach, labeler, write=rho_and_p, paper=(rho,)),
            Ours("ordering.spearman_tie_free", approach, labeler, write=number("+.3f")),
            Ours("ordering.permutation_p", approach, labeler, write=number(".4f")),
            Ours("ordering.trend_p", approach, labeler, write=verdict),
        )
    )


def _source(study: Study) -> Source:
    real = study.pipeline in ("youtube-spam", "weather-crowd")
    data_set = None if study.why == BROUGHT else study.pipeline if real else f"sample/{study.pipeline}"
    way = f"no run yet; its data is not public; with data and rules of your own, call the pipeline {study.pipeline}"
    lines = [_line(study, labeler, approach) for labeler in LABELERS for approach in PUGH_APPROACHES]
    return Source(study.name, {study.pipeline: data_set}, lines, study.why, way if study.why == BROUGHT else "")


TABLES = (paper_table("pugh-1", [_source(study) for study in PUGH_TABLE_1]),)
