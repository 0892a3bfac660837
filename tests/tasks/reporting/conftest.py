"""A whole report with invented values, as large as that of the breast-cancer pipeline, built by the rooms' pages."""

from html.parser import HTMLParser
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from assay.data.schemas import ContractResults, CuratedSets, LabelingTable, OrderingCurve, Panel, Rejects
from assay.flows.audits.table import KINDS
from assay.flows.report.sentences import sentences
from assay.infra.settings import Compute
from assay.tasks.ingest.page import ingest_page
from assay.tasks.labeling.page import page as labeling_page
from assay.tasks.ordering.page import page as ordering_page
from assay.tasks.pruning.page import page as pruning_page
from assay.tasks.reporting.gates import page as gates_page
from assay.tasks.reporting.gates import verdict as gates_verdict
from assay.tasks.reporting.layout import settings_rows
from assay.tasks.reporting.report import LineageRow, Report, headlines_of
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.gates import judge
from assay.tasks.statistics.metrics import metrics_of
from assay.tasks.statistics.multiplicity import corrected
from assay.tasks.statistics.proportions import normal_band, share, wilson
from assay.tasks.statistics.settings import Gate, Statistics
from assay.tasks.subjects.page import followed as subjects_followed
from assay.tasks.subjects.page import page as subjects_page
from assay.tasks.weak_labels.page import page as weak_labels_page

RUN = "2026-11-22-0200-k3f9"
N = 569
FUNCTIONS = [
    f"{statistic} {measure}"
    for statistic in ("mean", "error of", "worst")
    for measure in (
        "radius",
        "texture",
        "perimeter",
        "area",
        "smoothness",
        "compactness",
        "concavity",
        "concave points",
        "symmetry",
        "fractal dimension",
    )
]
KEPT = (1, 7, 8, 11, 14, 18, 29)
SIZES = [round(i / 10 * N) for i in range(1, 11)]
STRATA = np.diff([0, *SIZES])


def rows_of(kind, rows):
    return pa.Table.from_pylist(rows, schema=kind.schema)


@pytest.fixture
def labeling_table():
    draw = np.random.default_rng(3)
    rows = []
    for position, name in enumerate(FUNCTIONS):
        votes = int(draw.integers(340, 400))
        hits = int(votes * draw.uniform(0.62, 0.97))
        rows.append(
            {
                "function": name,
                "position": position,
                "polarity": "benign, malignant",
                "coverage": votes / N,
                "overlaps": votes / N,
                "conflicts": float(draw.uniform(0.1, 0.45)),
                "votes": votes,
                "gold_votes": votes,
                "gold_hits": hits,
                "empirical_accuracy": hits / votes,
                "faults": 2 if position == 4 else 0,
                "fault_example": "ValueError: could not convert 'n/a'" if position == 4 else None,
                "samples": N,
            }
        )
    return rows_of(LabelingTable, rows)


@pytest.fixture
def panel_table():
    return rows_of(
        Panel,
        [
            {
                "function": name,
                "position": i,
                "kept": i in KEPT,
                "rank": (i * 7) % 30,
                "cliques": 1 + (i * 5) % 9,
                "degree": i % 6,
                "coverage": 0.6 + i / 300,
                "constant": False,
                "pruned_by": None if i in KEPT else FUNCTIONS[KEPT[i % 7]],
                "correlation": None if i in KEPT else 0.51 + i / 80,
            }
            for i, name in enumerate(FUNCTIONS)
        ],
    )


def curve_rows(approach, labeler, strata_accuracy):
    hits = np.round(STRATA * strata_accuracy).astype(int)
    cumulative = np.cumsum(hits)
    band, scores = normal_band(cumulative, SIZES), wilson(cumulative, SIZES)
    return [
        {
            "approach": approach,
            "labeler": labeler,
            "dataset": i + 1,
            "size": SIZES[i],
            "n": SIZES[i],
            "accuracy": cumulative[i] / SIZES[i],
            "band_low": band.low[i],
            "band_high": band.high[i],
            "wilson_low": scores.low[i],
            "wilson_high": scores.high[i],
            "tie_free_accuracy": cumulative[i] / SIZES[i] - 0.004 * np.sin(i),
            "stratum_n": int(STRATA[i]),
            "stratum_accuracy": hits[i] / STRATA[i],
        }
        for i in range(10)
    ]


@pytest.fixture
def curve():
    falls = np.array([1, 0.98, 0.98, 0.965, 0.95, 0.93, 0.9, 0.86, 0.8, 0.68])
    wobbles = np.array([0.95, 0.96, 0.93, 0.97, 0.9, 0.93, 0.9, 0.88, 0.9, 0.82])
    rises = np.array([0.84, 0.88, 0.87, 0.9, 0.91, 0.92, 0.93, 0.92, 0.95, 0.94])
    rows = []
    for labeler, bonus in (("majority", 0.0), ("snorkel", 0.012)):
        for approach, shape in (("pl_all", wobbles), ("pl_indep", falls + 0.02), ("ci_all", rises), ("ours", falls)):
            rows += curve_rows(approach, labeler, np.clip(shape + bonus, 0, 1))
    return rows_of(OrderingCurve, rows)


@pytest.fixture
def curated():
    ranks = np.arange(N)
    votes = 7 - np.minimum(ranks // 90, 6)
    lower = np.round(0.82 - (ranks // 41) * 0.055, 3).clip(0)
    return rows_of(
        CuratedSets,
        [
            {
                "id": f"patient-{(i * 211) % N:03d}",
                "rank": i,
                "dataset": int(np.searchsorted(SIZES, i + 1)) + 1,
                "label": i % 2,
                "confidence": float(0.99 - i / N * 0.45),
                "lower": float(lower[i]),
                "upper": float(min(1, lower[i] + 0.18 + i / N * 0.6)),
                "votes_cast": int(votes[i]),
                "gold": (i + (i % 9 == 0)) % 2,
            }
            for i in range(N)
        ],
    )


@pytest.fixture
def findings():
    found = [
        Finding("labeling.functions", value=30, n=30),
        share("labeling.coverage", 561, N),
        share("labeling.conflicts", 402, N),
        Finding("pruning.kept", value=7, n=30),
        share("weak_labels.undecided", 12, N, group="majority"),
    ]
    outcomes = (("pl_all", -0.77, 0.08), ("pl_indep", -0.99, 0.001), ("ci_all", 0.98, 0.9995), ("ours", -1.0, 0.0005))
    for labeler, (approach, rho, p) in product(("majority", "snorkel"), outcomes):
        about = {"of": approach, "group": labeler, "n": N}
        verdict = "adverse" if p <= 0.01 else "violation" if p > 0.999 else "no trend"
        paper = 0.00001 if abs(rho) > 0.9 else 0.009
        found += [
            Finding("ordering.spearman", value=rho, p_value=paper, verdict="valid", **about),
            Finding("ordering.spearman_tie_free", value=rho + 0.004, low=rho, high=rho + 0.02, **about),
            Finding("ordering.spearman_disjoint", value=rho * 0.95, p_value=0.0004, **about),
            Finding("ordering.permutation_p", value=p, p_value=p, verdict=verdict, unit="p", **about),
            Finding("ordering.permutation_p_violation", value=1.0005 - p, verdict=verdict, **about),
            Finding("ordering.auc", value=0.66, low=0.61, high=0.7, **about),
            Finding("ordering.largest_tie", value=61, **about),
        ]
    weak, gold = np.array([1, 1, 0.98, 0.97, 0.95, 0.93, 0.9, 0.85, 0.78, 0.66]), np.linspace(0.99, 0.95, 10)
    for yardstick, accuracy in (("weak", weak), ("gold", gold)):
        hits = np.round(STRATA * accuracy).astype(int)
        about = {"of": yardstick, "subject": "logistic"}
        nested, strata = zip(np.cumsum(hits), SIZES, strict=True), zip(hits, STRATA, strict=True)
        for prefix, pairs in (("D", nested), ("stratum ", strata)):
            for i, (h, n) in enumerate(pairs, start=1):
                found.append(share("subject.accuracy", int(h), int(n), group=f"{prefix}{i}", **about))
        p = 0.0005 if yardstick == "weak" else 0.006
        found += [
            Finding("subject.spearman", value=-1.0 if yardstick == "weak" else -0.93, n=N, **about),
            Finding("subject.trend_p", value=p, p_value=p, n=N, verdict="adverse", unit="p", **about),
        ]
    return corrected(found, 0.01)


@pytest.fixture
def models():
    weights = [0.86, 0.93, 0.71, 0.78, 0.6, 0.69, 0.9]
    names = [FUNCTIONS[i] for i in KEPT]
    trained = {"epochs": [500.0] * 7, "first_loss": [2.31] * 7, "last_loss": [0.0123] * 7, "settled_after": [412.0] * 7}
    return {
        "majority": pa.table({"function": names, "weight": [1.0] * 7}),
        "snorkel": pa.table({"function": names, "weight": weights, **trained}),
    }


@pytest.fixture
def rejects():
    reason = "radius is 'n/a', expected a number"
    return rows_of(
        Rejects,
        [
            {
                "file": "wdbc.csv",
                "row": row,
                "id": f"84{row}" if row % 2 else None,
                "column": "radius",
                "reason": reason,
            }
            for row in (12, 77, 301, 415)
        ],
    )


@pytest.fixture
def contracts():
    return rows_of(
        ContractResults,
        [
            {
                "contract": "samples",
                "expectation": f"expect_column_values_to_{what}",
                "column": column,
                "success": True,
                "checked": N,
                "unexpected": 0,
                "detail": None,
            }
            for what, column in (("be_unique", "id"), ("not_be_null", "id"), ("be_in_set", "gold"))
        ],
    )


@pytest.fixture
def report(labeling_table, panel_table, curve, curated, findings, models, rejects, contracts):
    gates = judge([Gate(finding="ordering.permutation_p", of="ours", group="majority", at_most=0.01)], findings)
    index = FindingIndex(findings)
    stages = ("ingest", "label", "prune", "weak labels", "order", "subject", "statistics")
    return Report(
        run=RUN,
        pipeline="breast-cancer",
        started="2026-11-22T02:00:04+00:00",
        seconds=4.27,
        seed=0,
        status="completed",
        verdicts=(*sentences(KINDS, index), *gates_verdict(gates)),
        parts=(
            ingest_page(N, rejects, contracts, gold=N),
            labeling_page(index, labeling_table, panel_table),
            pruning_page(panel_table, 0.5),
            weak_labels_page(index, models),
            ordering_page(index, curve, curated, {0: "malignant", 1: "benign"}, curated.num_rows),
            subjects_page(index),
            gates_page(index, gates, Statistics()),
        ),
        not_asked=("attacks", "corruptions", "defences", "trust", "overfitting"),
        facts={"Workers": "2 CPU, no GPU"},
        findings=findings,
        followed=(*headlines_of(metrics_of("ordering"), index), *subjects_followed(index)),
        lineage=[
            LineageRow(stage, "Table", f"{i}a7c31f09be4d", f"{i}e91bb04c7d33", N, i == 5, 0.1 + i / 5, "569 samples")
            for i, stage in enumerate(stages)
        ],
        settings=settings_rows("compute", Compute()),
        versions={"assay-audit": "0.1.0", "numpy": "2.3.5", "pyarrow": "21.0.0", "snorkel": "0.10.0", "torch": "2.9.0"},
        machine={"system": "Linux", "cpus": "2", "python": "3.11.9"},
        index_link="../index.html",
    )


class Parsed(HTMLParser):
    """A page taken apart: its elements, its words, and what is wrong with its nesting."""

    VOID = frozenset({"meta", "img", "br", "hr", "input"})

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.mistakes, self._open, self._words = [], [], [], []
        self.feed(page)
        self.close()
        self.mistakes += [f"<{name}> never closed" for name in self._open]
        self.words = "".join(self._words)

    def handle_starttag(self, name, attributes):
        if len({key for key, _ in attributes}) < len(attributes):
            self.mistakes.append(f"an attribute twice in <{name}>")
        self.elements.append((name, {key: value or "" for key, value in attributes}))
        if name not in self.VOID:
            self._open.append(name)

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, {key: value or "" for key, value in attributes}))
        if name not in ("path", "line", "circle", "rect"):
            self.mistakes.append(f"<{name}/> closes itself")

    def handle_endtag(self, name):
        if not self._open or self._open.pop() != name:
            self.mistakes.append(f"</{name}> closes nothing")

    def handle_data(self, words):
        if self._open and self._open[-1] not in ("style", "script"):
            self._words.append(words.replace("\N{NO-BREAK SPACE}", " "))


@pytest.fixture
def parsed():
    return Parsed
