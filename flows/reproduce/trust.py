"""`assay reproduce toki-3`: Table 3 of Nguyen Tung et al. (TOKI) with our numbers beside it."""

from __future__ import annotations

from assay.data.published.toki import MEASURES, TABLE_3, Row
from assay.flows.commands.answers import columns
from assay.flows.report.records import findings_of
from assay.flows.reproduce.runs import latest_beside, no_run_yet
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.statistics.findings import Finding

PIPELINES = {"CAMS": "cams", "HateXplain": "hatexplain"}
PLANTED = {"reviews-weak": "60 %", "reviews": "75 %", "reviews-strong": "85 %"}
"""The pipelines on planted shortcuts, and how often a shortcut holds in their training texts."""

ORACLES = {"toki": "TOKI", "toki-ki": "TOKI(-K.I)", "naive": "Naive"}
WHY = (
    "The subjects are ours, trained in a minute (theirs are fine-tuned BERTs), the word embeddings are those that",
    "work without a network (theirs: NNLM, GloVe, Swivel, FastText, USE, BERT), no threshold is tuned on the labels",
    "that are measured (theirs: the share of votes, per data set), and only some texts are explained. Rows of",
    "different explainers are not comparable: with rationales the true labels depend on the explainer, so each of",
    "ours says how many of each it has. Ten of the paper's omission and gradient rows do not follow from its class",
    "counts. Its Naive row has no explainer; ours is measured per explainer, against the same labels as TOKI.",
)
BROUGHT = {
    "Dong's": "its verdicts are not public; with a table of them, set trust.truth in a pipeline of your own",
    "Ours": "the authors' verdicts are not public; with a table of your own, set trust.truth in a pipeline of your own",
}
_HEADINGS = ["data set", "oracle", "explainer", "whose", "labels", *(name.replace("_", "-") for name in MEASURES),
             "keywords s", "labels s"]  # fmt: skip


def toki_3(store: Store) -> str:
    """Table 3 beside the latest run of each data set's pipeline, and the measures on planted shortcuts."""
    rows: list[list[object]] = []
    measured, missing = [], []
    for data_set in dict.fromkeys(row.data_set for row in TABLE_3):
        name = PIPELINES.get(data_set, "")
        record = latest_beside(store, name)
        found = _trust_findings(store, record)
        if data_set in BROUGHT:
            missing.append(f"{data_set}: {BROUGHT[data_set]}")
        elif record is None or not found:
            missing.append(no_run_yet(store, data_set, name))
        else:
            measured.append(f"{data_set}: run {record.id}")
        for row in TABLE_3:
            if row.data_set == data_set:
                rows += [_published(row), *_ours(row, found)]
    text = ["Table 3: how good the trust oracles are (positive: trustworthy)", "", columns(_HEADINGS, rows), ""]
    planted = [row for name, strength in PLANTED.items()
               for row in _planted(name, strength, _trust_findings(store, latest_beside(store, name)))]  # fmt: skip
    if planted:
        headings = ["planted", "holds for", "explainer", "G-mean TOKI", "TOKI(-K.I)", "Naive", "AUROC of confidence"]
        text += ["Shortcuts of known strength, counterfactual truth", columns(headings, planted), ""]
    for heading, lines in (("Ours come from", measured), ("Not measured", missing), ("Why they differ", WHY)):
        text += [heading, *(f"  {line}" for line in lines), ""] if lines else []
    return "\n".join(text).rstrip()


Known = dict[tuple[str, str, str], Finding]


def _trust_findings(store: Store, record: RunRecord | None) -> Known:
    if record is None:
        return {}
    return {(one.metric, one.of, one.group): one for one in findings_of(store, record) if one.stage == "trust"}


def _published(row: Row) -> list[object]:
    spent = [row.keyword_seconds, row.label_seconds]
    return [
        row.data_set, ORACLES[row.oracle], row.explainer, "paper", "", *(f"{value:.3f}" for value in row.measures),
        *("" if seconds is None else f"{seconds:.0f}" for seconds in spent),
    ]  # fmt: skip


def _ours(row: Row, found: Known) -> list[list[object]]:
    """Our lines beside one of the paper's; its Naive has no explainer, ours has one per explainer."""
    explainers = [row.explainer] if row.explainer else _explainers(found)
    return [line for explainer in explainers if (line := _our_line(row, explainer, found)) is not None]


def _our_line(row: Row, explainer: str, found: Known) -> list[object] | None:
    cells = [found.get((f"trust.{name}", row.oracle, explainer)) for name in MEASURES]
    if all(cell is None for cell in cells):
        return None
    counts = [found.get(("trust.truth", explainer, label)) for label in ("trustworthy", "untrustworthy")]
    labels = "/".join("?" if one is None else str(round((one.value or 0.0) * (one.n or 0))) for one in counts)
    spent = [found.get((f"trust.{name}_seconds", explainer, "")) for name in ("keyword", "label")]
    return [
        row.data_set, ORACLES[row.oracle], explainer, "ours", labels, *map(_number, cells),
        *("" if one is None or one.value is None or row.oracle != "toki" else f"{one.value:.0f}" for one in spent),
    ]  # fmt: skip


def _planted(name: str, strength: str, found: Known) -> list[list[object]]:
    return [
        [name, strength, explainer, *(_number(found.get(("trust.g_mean", oracle, explainer))) for oracle in ORACLES),
         _number(found.get(("trust.confidence_auc", "naive", explainer)))]
        for explainer in _explainers(found)
    ]  # fmt: skip


def _explainers(found: Known) -> list[str]:
    return list(dict.fromkeys(of for metric, of, _ in found if metric == "trust.trustworthy"))


def _number(found: Finding | None) -> str:
    return "not measured" if found is None or found.value is None else f"{found.value:.3f}"
