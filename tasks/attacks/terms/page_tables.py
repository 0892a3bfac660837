"""The tables about attacks on terms, in the layout of Tables 2-6 of Araujo et al., with intervals."""

from __future__ import annotations

from assay.tasks.attacks.terms.estimates import (
    CLEAN,
    COSTS,
    HELPS,
    HIGHER,
    HURTS,
    LOWER,
    PAYS,
    Key,
)
from assay.tasks.attacks.terms.page_findings import CALLED, ORIGINAL, TermFindings, severity_text
from assay.tasks.reporting.estimates import estimate
from assay.tasks.reporting.parts import Cell, Column, DataTable, Mark, Tone
from assay.tasks.statistics.controls import controlled_by
from assay.tasks.statistics.findings import Finding, distinct

_TONES: dict[str, Tone] = {LOWER: "bad", HIGHER: "good", HELPS: "good", HURTS: "bad", COSTS: "bad", PAYS: "good"}
_MEASURES = {"ner": ("precision", "recall", "f1"), "sts": ("pearson", "spearman", "mae")}
_UNITS = {
    "ner": "Entities are right where both ends and the kind are (seqeval's definition). Intervals are 95 %, from a "
    "bootstrap over sentences (or Wilson's, where that is wider), and none of fewer than 10 sentences; a drop is of "
    "the same sentences. p: approximate randomisation (Noreen 1989; Yeh 2000), in which whole sentences change sides "
    "between original and attacked, since the entities of one sentence are not independent; corrected by Holm over all "
    "tests of the run.",
    "sts": "Intervals are 95 %: Fisher's z, or a bootstrap over pairs where there are at most 200; a drop is of the "
    "same pairs. MAE is in the units of the scores.",
}
_TEST = "Of the drop: approximate randomisation over sentences, corrected with all tests of the run (Holm)"


def figures_table(findings: TermFindings) -> DataTable:
    """What every subject measures on the original samples and under every attack (Tables 2 and 3)."""
    tests = findings.stage == "ner"
    columns = [
        Column("Subject"),
        Column("Test set"),
        *(Column(CALLED[name], "number") for name in _MEASURES[findings.stage]),
        Column("Drop", "number", f"How far {CALLED[findings.headline]} is below that of the original samples"),
        *([Column("p, corrected", "p", _TEST)] if tests else []),
        Column(""),
    ]
    rows: list[list[Cell]] = []
    for model in findings.subjects:
        for key in [ORIGINAL, *findings.attacks]:
            headline = findings.entry(findings.headline, model, key)
            if headline is None:
                continue
            drop = findings.get("drop", model, key)
            row: list[Cell] = [model, set_name(key), *_measures(findings, model, key), estimate(drop)]
            if tests:
                row.append(_p(findings, model, key))
            row.append(_judged(headline if drop is None or headline.degenerate else drop))
            rows.append(row)
    title = "Entities found before and under attack" if tests else "Scores of pairs before and under attack"
    return DataTable(title, columns, rows, _UNITS[findings.stage])


def severities_table(findings: TermFindings) -> DataTable | None:
    """The same at every severity; None where each attack has one."""
    rows: list[list[Cell]] = [
        [
            model,
            key[0],
            severity_text(key[1]),
            *_measures(findings, model, key),
            estimate(findings.get("drop", model, key)),
        ]
        for model in findings.subjects
        for attack, _ in findings.attacks
        for key in findings.severities(model, attack)
    ]
    if len(rows) <= len(findings.subjects) * len(findings.attacks):
        return None
    columns = [
        Column("Subject"),
        Column("Attack"),
        Column("Severity"),
        *(Column(CALLED[name], "number") for name in _MEASURES[findings.stage]),
        Column("Drop", "number"),
    ]
    return DataTable("Every severity", columns, rows, collapsed=True)


def matrix_table(findings: TermFindings, subject: str) -> DataTable | None:
    """What each model measures on each test set, trained-with × tested-on; None where nothing was trained on copies."""
    models = findings.trained(subject)
    if not models:
        return None
    sets = [ORIGINAL, *findings.attacks]
    columns = [Column("Trained with"), *(Column(set_name(key), "number") for key in sets)]
    rows: list[list[Cell]] = [
        [_row_name(findings, model, subject), *(estimate(findings.get(findings.headline, model, key)) for key in sets)]
        for model in (subject, *models)
    ]
    measure = CALLED[findings.headline]
    title = f"{measure} by what {subject} was trained with (rows) and tested on (columns)"
    note = "The original training samples, and one attacked copy of each that has a term (Tables 4 to 6 of the paper)."
    return DataTable(title, columns, rows, note)


def gains_table(findings: TermFindings, subject: str) -> DataTable | None:
    """What training on attacked copies gains on each test set, how much of the drop that is, and what it costs."""
    rows: list[list[Cell]] = []
    controlled = any(findings.control_of(model) for model in findings.trained(subject))
    for model in findings.trained(subject):
        for key in [ORIGINAL, *findings.attacks]:
            gain = findings.get("gain", model, key)
            if gain is not None:
                recovered, over = (findings.get(name, model, key) for name in ("recovered", "gain_over_control"))
                rows.append(
                    [
                        _row_name(findings, model, subject),
                        set_name(key),
                        estimate(gain),
                        estimate(recovered),
                        _judged(gain),
                        *([estimate(over), "" if over is None else _judged(over)] if controlled else []),
                    ]
                )
    if not rows:
        return None
    columns = [
        Column("Trained with"),
        Column("Test set"),
        Column(
            "Gain", "number", f"{CALLED[findings.headline]} minus that of the subject as it is, on the same samples"
        ),
        Column("Of the drop", "percent", "The share of the drop under attack that training takes back"),
        Column(""),
    ]
    note = (
        "Paired: every sample is compared with itself. Intervals are 95 %; where one includes 0, no gain is shown. A "
        "gain below 0 on the original samples is what training on copies costs. "
    )
    if controlled:
        what = f"{CALLED[findings.headline]} minus that of the control, on the same samples"
        columns += [Column("Over equal steps", "number", what), Column("")]
        note += (
            "Copies mean more steps of training, too. The control learned from unchanged copies of the same samples, "
            "in as many steps and from the same seed: what is gained over it is due to the attack."
        )
    else:
        note += (
            "One above 0 there comes of more training, since copies mean more steps, and may be part of the other "
            "gains: `control: true` tells them apart."
        )
    return DataTable(f"What training on attacked copies gains, {subject}", columns, rows, note)


def slices_table(findings: TermFindings) -> DataTable | None:
    """Recall of the entities of each kind and length, and of those that were in the training samples or not."""
    recalls = [recall for model in findings.subjects for recall in findings.sliced_recalls(model)]
    if not recalls:
        return None
    sets = [ORIGINAL, *findings.attacks]
    columns = [Column("Subject"), Column("Entities"), *(Column(set_name(key), "percent") for key in sets)]
    rows: list[list[Cell]] = [
        [
            model,
            slice_name(name),
            *(
                estimate(findings.get("recall", model, (of, ", ".join(filter(None, (group, name))))))
                for of, group in sets
            ),
        ]
        for model, name in distinct((recall.subject, recall.slice.name) for recall in recalls)
    ]
    note = (
        "The share of these entities that is found. Length and whether an entity was in the training samples are those "
        "of its words before the attack."
    )
    return DataTable("Which entities are found", columns, rows, note)


def set_name(key: Key) -> str:
    """A test set as the page calls it.

    >>> set_name(("clean", "")), set_name(("swap", "share=1"))
    ('original', 'swap')
    """
    return "original" if key[0] == CLEAN else key[0]


def trained_with(model: str, subject: str) -> str:
    """What a model was trained with.

    >>> trained_with("small", "small"), trained_with("small+on-swap", "small")
    ('original', 'on-swap')
    """
    return "original" if model == subject else model.removeprefix(f"{subject}+")


def _row_name(findings: TermFindings, model: str, subject: str) -> str:
    """What a model was trained with, a control by what it is."""
    controls = [name for name in findings.trained(subject) if findings.is_control(name)]
    if model not in controls:
        return trained_with(model, subject)
    whose = f" ({trained_with(controlled_by(model, findings.models) or '', subject)})" if len(controls) > 1 else ""
    return f"equal steps, unchanged copies{whose}"


def slice_name(name: str) -> str:
    """A slice in words.

    >>> [slice_name(name) for name in ("length=1", "length=4+", "type=Disease", "unseen")]
    ['1 word', '4+ words', 'Disease', 'not in training']
    """
    what, _, value = name.partition("=")
    if what == "length":
        return f"{value} word{'' if value == '1' else 's'}"
    return {"seen": "in training", "unseen": "not in training"}.get(name, value or name)


def _measures(findings: TermFindings, model: str, key: Key) -> list[Cell]:
    return [estimate(findings.get(name, model, key)) for name in _MEASURES[findings.stage]]


def _p(findings: TermFindings, model: str, key: Key) -> Cell:
    test = findings.get("drop_p", model, key)
    return None if test is None else test.concluded_p


def _judged(finding: Finding) -> Mark:
    """The verdict of a finding; a gain on the original samples is called a cost."""
    verdict = finding.verdict
    if finding.of == CLEAN and finding.metric.endswith(".gain"):
        verdict = {HURTS: COSTS, HELPS: PAYS}.get(verdict, "no cost shown")
    return Mark(verdict, "bad" if finding.degenerate else _TONES.get(verdict, "neutral"))
