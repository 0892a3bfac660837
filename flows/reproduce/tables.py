"""`assay reproduce`: a paper's table with our numbers beside it, and why they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.data.published.pugh import APPROACHES, BROUGHT, TABLE_1, Study
from assay.flows.commands.answers import columns
from assay.flows.configuration.mistakes import suggestion
from assay.flows.report.records import findings_of
from assay.flows.reproduce.attacks import toki_4
from assay.flows.reproduce.images import xu_1, xu_2, xu_3, xu_4, xu_5
from assay.flows.reproduce.overfitting import werpachowski_5, werpachowski_6
from assay.flows.reproduce.runs import latest_beside, no_run_yet
from assay.flows.reproduce.terms import ARAUJO_TABLES
from assay.flows.reproduce.trust import toki_3
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.statistics.findings import Finding

LABELERS = ("majority", "snorkel")
WHY_IN_GENERAL = (
    "In every study: equal scores are ordered by a stable hash of the sample's id, where the paper does not say how",
    "it orders them, so read the tie-free ρ (its expectation over all such orders); Snorkel is 0.10 with the epochs",
    "that the pipeline sets, where the paper has 0.9.7 and does not say how long it trained; votes won are real-valued",
    "and never rounded; and the p beside ρ is the paper's, which calls a random order adverse 14-16 % of the time at",
    "N = 10: trust the permutation p.",
)


def reproduce(table: str, store: Store) -> str:
    """The table as text."""
    tables = tables_to_reproduce()
    if table not in tables:
        raise InputError(f"There is no table {table!r} to reproduce; {suggestion(table, tables)}")
    return tables[table](store)


def tables_to_reproduce() -> Mapping[str, Callable[[Store], str]]:
    """Every table by its name; what it shows is the first line of its function's docstring."""
    return {
        "pugh-1": pugh_1, "xu-1": xu_1, "xu-2": xu_2, "xu-3": xu_3, "xu-4": xu_4, "xu-5": xu_5, "toki-3": toki_3,
        "toki-4": toki_4, "werpachowski-5": werpachowski_5, "werpachowski-6": werpachowski_6, **ARAUJO_TABLES,
    }  # fmt: skip


def list_of_tables() -> str:
    """The tables that can be reproduced, with what each shows."""
    rows = [[name, (function.__doc__ or "").partition("\n")[0]] for name, function in tables_to_reproduce().items()]
    return columns(["table", "what it shows, the paper's numbers beside those of your latest runs"], rows)


def pugh_1(store: Store) -> str:
    """Table 1 of Pugh et al. beside the latest run of each study's pipeline."""
    rows: list[list[object]] = []
    measured: list[str] = []
    missing: list[str] = []
    reasons: dict[str, list[str]] = {}
    for study in TABLE_1:
        record = latest_beside(store, study.pipeline)
        if record is None:
            way = f"its data is not public; with data and rules of your own, call the pipeline {study.pipeline}"
            said = f"{study.name}: no run yet; {way}"
            missing.append(said if study.why == BROUGHT else no_run_yet(store, study.name, study.pipeline))
            continue
        rows += study_rows(study, findings_of(store, record))
        measured.append(f"{study.name}: run {record.id}, {_n(store, record)}")
        reasons.setdefault(study.why, []).append(study.name)
    notes = [*WHY_IN_GENERAL, *(f"{', '.join(names)}: {why}." for why, names in reasons.items())]
    headings = ["study", "labeler", "approach", "paper ρ (p)", "our ρ (p)", "tie-free ρ", "permutation p", "verdict"]
    text = ["Spearman's ρ of (i, accuracy of D_i): the paper's numbers and ours", ""]
    text += [columns(headings, rows), ""] if rows else []
    for heading, lines in (("Ours come from", measured), ("Not measured yet", missing), ("Why they differ", notes)):
        text += [heading, *(f"  {line}" for line in lines), ""] if lines else []
    return "\n".join(text).rstrip()


def study_rows(study: Study, findings: list[Finding]) -> list[list[object]]:
    """One row per labeler and approach: the paper's ρ and p, ours, the tie-free ρ and the permutation p."""
    rows: list[list[object]] = []
    for labeler in LABELERS:
        for approach in APPROACHES:
            ours = {found.metric: found for found in findings if found.of == approach and found.group == labeler}
            permutation = ours.get("ordering.permutation_p")
            rho, p = study.published(labeler, approach)
            rows.append(
                [
                    study.name, labeler, approach, f"{rho:+.3f} ({p:.3f})", _rho_and_p(ours.get("ordering.spearman")),
                    _number(ours.get("ordering.spearman_tie_free"), "+.3f"), _number(permutation, ".4f"),
                    permutation.verdict if permutation else "",
                ]
            )  # fmt: skip
    return rows


def _rho_and_p(found: Finding | None) -> str:
    if found is None or found.value is None:
        return "not measured"
    return f"{found.value:+.3f}" + ("" if found.p_value is None else f" ({found.p_value:.3f})")


def _number(found: Finding | None, form: str) -> str:
    return "" if found is None or found.value is None else format(found.value, form)


def _n(store: Store, record: RunRecord) -> str:
    sizes = [found.n for found in findings_of(store, record) if found.metric == "ordering.permutation_p" and found.n]
    return f"n = {sizes[0]}" if sizes else "n unknown"
