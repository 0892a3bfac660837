"""`assay reproduce toki-4`: Table 4 of Nguyen Tung et al. (TOKI) with our numbers beside it."""

from __future__ import annotations

from assay.data.published.toki import TABLE_4, Attack, AttackRow
from assay.flows.commands.answers import columns
from assay.flows.records import findings_of
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.statistics.findings import Finding

PIPELINES = {
    "CAMS": "cams", "HateXplain": "hatexplain", "ag_news": "ag-news", "rotten_tomatoes": "rotten-tomatoes",
    "emotion": "emotion",
}  # fmt: skip
OWN = ("reviews", "reviews-weak", "reviews-strong")
WHY = (
    "The subjects are ours, trained in a minute (theirs are fine-tuned BERTs), and fewer texts are attacked. Words are",
    "compared by vectors that work without a network (theirs: counter-fitted vectors and six embeddings), with a least",
    "cosine found from synonym pairs. The first similarity is by the encoder that limits the attack (theirs: BERT),",
    "the second by another (theirs: USE); neither is theirs, so compare columns, not rows. What counts as similar, and",
    "what as a low or a high mean score, the paper leaves open: docs/word-attacks.md says what we take.",
)
_HEADINGS = [
    "data set", "whose", "texts", "guided SAR", "words", "sim. 1", "sim. 2", "A2T SAR", "words", "sim. 1", "sim. 2",
    "guided − A2T [95 %]", "p",
]  # fmt: skip

Known = dict[tuple[str, str], list[Finding]]


def toki_4(store: Store) -> str:
    """Table 4 beside the latest run of each data set's pipeline, and the same on planted shortcuts."""
    runs = {run.pipeline: run for run in store.runs() if run.findings}
    rows: list[list[object]] = []
    measured, missing = [], []
    for row in TABLE_4:
        rows.append(_published(row))
        name = PIPELINES.get(row.data_set)
        ours = None if name is None else _ours(store, runs.get(name), row.data_set)
        if ours is not None and name is not None:
            rows.append(ours)
            measured.append(f"{row.data_set}: run {runs[name].id}")
        elif name is not None:
            missing.append(f"{row.data_set}: no attack yet; make one with  assay run {name}")
        else:
            missing.append(f"{row.data_set}: no pipeline; with texts of your own, add attacks: [a2t, guided] and trust")
    for name in OWN:
        ours = _ours(store, runs.get(name), name)
        if ours is not None:
            rows.append(ours)
            measured.append(f"{name}: run {runs[name].id}")
    text = ["Table 4: the attack guided by the trust oracle, and A2T", "", columns(_HEADINGS, rows), ""]
    for heading, lines in (("Ours come from", measured), ("Not measured", missing), ("Why they differ", WHY)):
        text += [heading, *(f"  {line}" for line in lines), ""] if lines else []
    return "\n".join(text).rstrip()


def _published(row: AttackRow) -> list[object]:
    def cells(one: Attack) -> list[str]:
        return [f"{one.success_rate:.3f}", f"{one.perturbed_words:.3f}", f"{one.bert:.3f}", f"{one.use:.3f}"]

    apart = f"{row.guided.success_rate - row.a2t.success_rate:+.3f}"
    return [row.data_set, "paper", str(row.instances), *cells(row.guided), *cells(row.a2t), apart, ""]


def _ours(store: Store, record: RunRecord | None, data_set: str) -> list[object] | None:
    """Our line, of the run's first subject that both attacks came through on; None where there is none."""
    if record is None:
        return None
    by_subject: dict[str, Known] = {}
    for one in findings_of(store, record):
        if one.stage == "attack":
            by_subject.setdefault(one.subject, {}).setdefault((one.metric, one.of), []).append(one)
    known = next((one for one in by_subject.values() if ("attack.success_rate", "guided") in one), None)
    if known is None:
        return None
    apart = next(iter(known.get(("attack.success_difference", "guided - a2t"), [])), None)
    difference, p = "", ""
    if apart is not None and apart.value is not None:
        interval = "" if apart.low is None or apart.high is None else f" [{apart.low:+.3f}, {apart.high:+.3f}]"
        difference, p = f"{apart.value:+.3f}{interval}", "" if apart.p_value is None else f"{apart.p_value:.3g}"
    texts = next((one.n for one in known["attack.success_rate", "guided"]), None)
    return [data_set, "ours", str(texts), *_cells(known, "guided"), *_cells(known, "a2t"), difference, p]


def _cells(known: Known, attack: str) -> list[str]:
    """Success rate, words changed and both similarities of one attack, the attack's own encoder first."""
    rate, words = (next(iter(known.get((f"attack.{name}", attack), [])), None)
                   for name in ("success_rate", "perturbed_words"))  # fmt: skip
    alike = [*known.get(("attack.similarity", attack), []), None, None][:2]
    return ["" if one is None or one.value is None else f"{one.value:.3f}" for one in (rate, words, *alike)]
