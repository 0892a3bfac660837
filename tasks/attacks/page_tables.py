"""The tables about attacks: the paper's numbers per attack and ε, transfer, every class, chances, red flags."""

from __future__ import annotations

from assay.tasks.attacks.page_findings import AttackFindings, eps_text, eps_value
from assay.tasks.attacks.red_flags import FLAGS
from assay.tasks.reporting.chances import CHANCES, chance_cells
from assay.tasks.reporting.estimates import estimate
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, Mark, Paragraph
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct
from assay.tasks.statistics.slices import TRAINING

_NONE_RAISED = "None of the {checked} signs of a misleading evaluation that were looked for showed itself."


def figures_table(findings: AttackFindings) -> DataTable:
    """ACC, AUC and FR per subject, attack and ε, as in the paper's Tables 1 and 2, and what each attack needed."""
    training = findings.has_training()
    columns = [
        Column("Subject"),
        Column("Attack"),
        Column("ε"),
        Column("ACC", "percent", "Images that are right before the attack and after it"),
        *([Column("ACC, X", "percent", "Accuracy on the images that the generator learned from")] if training else []),
        Column("AUC", "number", "From probabilities; the mean over classes or labels"),
        Column("FR", "percent", "Fooling rate: predictions that change, also those that were wrong before"),
        Column("Distance", "number", "Mean L∞ distance"),
        Column("Steps", "number", "Mean steps, to success or to the end"),
    ]
    rows = [
        _figures(findings, subject, attack, group, training)
        for subject in findings.subjects
        for attack in findings.attacks(subject)
        for group in findings.grid(subject, attack)
        if eps_value(group) > 0 or attack == findings.attacks(subject)[0]  # clean images are the same for all attacks
    ]
    note = (
        "The layout of Tables 1 and 2 of Xu et al. ε is how far any pixel may move, in values of [0, 1]; theirs were "
        "in normalised values for PGD and in pixel levels for GAP. AUC and FR are of all attacked images, also of "
        "those that were wrong before: the image that fooled, on the way or at the end, else the last one. For the "
        "paper's own attacks and for generators it is always the last one."
    )
    if training:
        note += " X: the training images, which a generator has learned from."
    return DataTable("Accuracy, AUC and fooling rate", columns, rows, note, collapsed=len(rows) > 24)


def transfer_tables(findings: AttackFindings) -> list[DataTable]:
    """Per attack and ε: how every subject answers for images made against every subject."""
    kinds = distinct((one.of, one.slice.eps_text) for one in findings.transfers if one.slice.eps)
    return [_transfer(findings, attack, eps) for attack, eps in kinds]


def recall_table(findings: AttackFindings, subject: str, group: str) -> DataTable:
    """The recall of every class on clean images and under every attack at one ε."""
    attacks = [attack for attack in findings.attacks(subject) if group in findings.grid(subject, attack)]
    columns = [Column("Class"), Column("Clean", "percent"), *(Column(attack, "percent") for attack in attacks)]
    first = attacks[0] if attacks else ""
    rows: list[list[Cell]] = [
        [
            name,
            estimate(findings.get("recall", subject, first, "eps=0", name)),
            *(estimate(findings.get("recall", subject, attack, group, name)) for attack in attacks),
        ]
        for name in findings.classes(subject)
    ]
    return DataTable(_titled(findings, "Recall of every class", subject, group), columns, rows)


def areas_table(findings: AttackFindings, subject: str, group: str) -> DataTable | None:
    """The area under the ROC curve of every class, clean and under every attack at one ε; None of two classes that
    exclude each other, whose one area the first table has."""
    attacks = [one for one in findings.attacks(subject) if findings.areas(subject, one, group)]
    if not attacks:
        return None
    columns = [Column("Class"), Column("Clean", "number"), *(Column(attack, "number") for attack in attacks)]
    rows: list[list[Cell]] = [
        [
            name,
            estimate(findings.unattacked("class_auc", subject, name)),
            *(estimate(findings.get("class_auc", subject, attack, group, name)) for attack in attacks),
        ]
        for name in findings.areas(subject, attacks[0], group)
    ]
    note = "Of each class against the rest, or of each label, from probabilities: a mean over them hides the worst."
    return DataTable(_titled(findings, "AUC of every class", subject, group), columns, rows, note)


def chances_table(findings: AttackFindings, groups: dict[str, str]) -> DataTable | None:
    """Whether confidences are still chances under attack, at one ε per subject; None where no truth is known."""
    rows: list[list[Cell]] = []
    for subject, telling in groups.items():
        attacked = [one for one in findings.attacks(subject) if findings.get("ece", subject, one, telling)]
        if attacked:
            rows.append([subject, "clean", _eps("eps=0"), *chance_cells(findings.all, "subject", subject, "clean")])
        rows += [
            [subject, attack, _eps(telling), *chance_cells(findings.all, "attack", subject, attack, telling)]
            for attack in attacked
        ]
    note = (
        "Of all attacked images, also of those that were wrong before. An attack that is stopped at the first wrong "
        "answer leaves a confidence near the border; one that goes on makes the subject sure of what is wrong."
    )
    columns = [Column("Subject"), Column("Attack"), Column("ε"), *CHANCES]
    return DataTable("Are its confidences still chances?", columns, rows, note) if rows else None


def answers_table(findings: AttackFindings, groups: dict[str, str]) -> DataTable:
    """Beside each accuracy, what a constant answer would get, and how varied the answers are, at one ε per subject."""
    columns = [
        Column("Subject"),
        Column("Attack"),
        Column("ε"),
        Column("Accuracy", "percent"),
        Column("Constant answer", "percent", "The accuracy of always giving the most frequent class"),
        Column("Entropy, bits", "number", "Of the distribution of the answers; 0 if all are the same"),
        Column("Most frequent", "percent", "The share of samples that get the most frequent answer"),
        Column("Verdict"),
    ]
    rows: list[list[Cell]] = []
    for subject, telling in groups.items():
        for attack in findings.attacks(subject):
            for group in ["eps=0", telling] if attack == findings.attacks(subject)[0] else [telling]:
                rows += _answers(findings, subject, attack, group)
    note = "A robust accuracy that a constant answer gets as well says nothing about robustness."
    return DataTable("What the answers are worth", columns, rows, note)


def flag_blocks(findings: AttackFindings) -> list[Block]:
    """The red flags: those raised in words, and the table of all that were looked for."""
    if not findings.flags:
        return []
    raised = [one for one in findings.flags if one.value == 1.0]
    checked = sum(one.n not in (None, 0) for one in findings.flags)
    blocks: list[Block] = [Paragraph(_in_words(one)) for one in raised]
    if not raised:
        blocks.append(Paragraph(_NONE_RAISED.format(checked=checked)))
    columns = [Column("Red flag"), Column("Subject"), Column(""), Column("Samples", "integer"), Column("What it means")]
    rows: list[list[Cell]] = [
        [_title(one), one.subject, _state(one), one.n or None, FLAGS.get(one.of, ("", ""))[1]] for one in findings.flags
    ]
    note = (
        "A flag is raised beyond what chance explains: at most once in a hundred honest audits. What to do about each "
        "is in docs/red-flags.md."
    )
    return [*blocks, DataTable("Red flags", columns, rows, note, collapsed=not raised)]


def raised_flags(findings: FindingIndex) -> list[Finding]:
    """The flags that were raised."""
    return [flag for flag in findings.select("attack.red_flag") if flag.value == 1.0]


def _figures(findings: AttackFindings, subject: str, attack: str, group: str, training: bool) -> list[Cell]:
    attacked = eps_value(group) > 0
    metrics = ["accuracy", "auc", *(["fooling_rate", "distance", "steps"] if attacked else [])]
    accuracy, auc, *rest = (estimate(findings.get(metric, subject, attack, group)) for metric in metrics)
    extra: list[Cell] = [estimate(findings.get("accuracy", subject, attack, group, TRAINING))] if training else []
    named: list[Cell] = [subject, attack if attacked else "clean", _eps(group)]
    return [*named, accuracy, *extra, auc, *(rest or [None, None, None])]


def _transfer(findings: AttackFindings, attack: str, eps: str) -> DataTable:
    shown = [one for one in findings.transfers if one.of == attack and one.slice.eps_text == eps]
    sources, targets = distinct(one.slice.made_for for one in shown), distinct(one.subject for one in shown)
    columns = [Column("Made for"), *(Column(f"shown to {name}", "percent") for name in targets)]
    rows: list[list[Cell]] = [
        [
            source,
            *(
                estimate(findings.get("transfer", target, attack, f"eps={eps}", f"made for {source}"))
                for target in targets
            ),
        ]
        for source in sources
    ]
    note = (
        "Accuracy of the subject in the column on images that were made to fool the subject in the row. On the "
        "diagonal the attack sees the subject it is shown to; a lower number elsewhere in the column is a red flag."
    )
    return DataTable(f"Transfer of {attack} at ε = {eps}", columns, rows, note)


def _answers(findings: AttackFindings, subject: str, attack: str, group: str) -> list[list[Cell]]:
    accuracy = findings.get("accuracy", subject, attack, group)
    if accuracy is None:
        return []
    names = ("majority_rate", "prediction_entropy", "degenerate")
    beside: list[Finding | None] = [findings.get(name, subject, attack, group) for name in names]
    verdict = beside[-1].verdict if beside[-1] is not None else ""
    mark = Mark(verdict, "bad") if verdict.startswith("degenerate") else Mark(verdict.replace("not measured", ""))
    name = "clean" if eps_value(group) == 0 else attack
    return [[subject, name, _eps(group), *(estimate(one) for one in (accuracy, *beside)), mark]]


def _titled(findings: AttackFindings, what: str, subject: str, group: str) -> str:
    title = f"{what} at ε = {eps_text(group)}"
    return f"{title}, {subject}" if len(findings.subjects) > 1 else title


def _eps(group: str) -> Mark:
    return Mark(eps_text(group), order=eps_value(group))


def _in_words(flag: Finding) -> str:
    title, advice = FLAGS.get(flag.of, (flag.of, ""))
    _, _, why = flag.verdict.partition(": ")
    return f"{title} ({flag.subject}): {why}. {advice}"


def _title(flag: Finding) -> str:
    return FLAGS.get(flag.of, (flag.of, ""))[0]


def _state(flag: Finding) -> Mark:
    state, _, why = flag.verdict.partition(": ")
    return Mark(state, "bad" if flag.value == 1.0 else "neutral", why, order=flag.value)
