"""The tables about attacks: the paper's numbers per attack and ε, transfer, recall per class, red flags in words."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.attacks.page_findings import TRAINING, Attacked, eps_text, eps_value
from assay.tasks.attacks.red_flags import FLAGS
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, Estimate, Mark, Paragraph
from assay.tasks.statistics.findings import Finding

_NONE_RAISED = "None of the {checked} signs of a misleading evaluation that were looked for showed itself."


def figures_table(found: Attacked) -> DataTable:
    """ACC, AUC and FR per subject, attack and ε, as in the paper's Tables 1 and 2, and what each attack needed."""
    training = found.has_training()
    columns = [
        Column("Subject"), Column("Attack"), Column("ε"),
        Column("ACC", "percent", "Images that are right before the attack and after it"),
        *([Column("ACC, X", "percent", "Accuracy on the images that the generator learned from")] if training else []),
        Column("AUC", "number", "From probabilities; the mean over classes or labels"),
        Column("FR", "percent", "Fooling rate: predictions that change, also those that were wrong before"),
        Column("Distance", "number", "Mean L∞ distance"),
        Column("Steps", "number", "Mean steps, to success or to the end"),
    ]  # fmt: skip
    rows = [
        _figures(found, subject, attack, group, training)
        for subject in found.subjects
        for attack in found.attacks(subject)
        for group in found.grid(subject, attack)
        if eps_value(group) > 0 or attack == found.attacks(subject)[0]  # clean images are the same for all attacks
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


def transfer_tables(found: Attacked) -> list[DataTable]:
    """Per attack and ε: how every subject answers for images made against every subject."""
    kinds = list(dict.fromkeys((one.of, one.group.partition(", made for ")[0]) for one in found.transfers))
    return [_transfer(found, attack, group) for attack, group in kinds if eps_value(group) > 0]


def recall_table(found: Attacked, subject: str, group: str) -> DataTable:
    """The recall of every class on clean images and under every attack at one ε."""
    attacks = [attack for attack in found.attacks(subject) if group in found.grid(subject, attack)]
    columns = [Column("Class"), Column("Clean", "percent"), *(Column(attack, "percent") for attack in attacks)]
    first = attacks[0] if attacks else ""
    rows: list[list[Cell]] = [
        [name, _estimate(found.get("recall", subject, first, "eps=0", name)),
         *(_estimate(found.get("recall", subject, attack, group, name)) for attack in attacks)]
        for name in found.classes(subject)
    ]  # fmt: skip
    title = f"Recall of every class at ε = {eps_text(group)}"
    return DataTable(f"{title}, {subject}" if len(found.subjects) > 1 else title, columns, rows)


def answers_table(found: Attacked, groups: dict[str, str]) -> DataTable:
    """Beside each accuracy, what a constant answer would get, and how varied the answers are, at one ε per subject."""
    columns = [
        Column("Subject"), Column("Attack"), Column("ε"), Column("Accuracy", "percent"),
        Column("Constant answer", "percent", "The accuracy of always giving the most frequent class"),
        Column("Entropy, bits", "number", "Of the distribution of the answers; 0 if all are the same"),
        Column("Most frequent", "percent", "The share of samples that get the most frequent answer"), Column("Verdict"),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for subject, telling in groups.items():
        for attack in found.attacks(subject):
            for group in ["eps=0", telling] if attack == found.attacks(subject)[0] else [telling]:
                rows += _answers(found, subject, attack, group)
    note = "A robust accuracy that a constant answer gets as well says nothing about robustness."
    return DataTable("What the answers are worth", columns, rows, note)


def flag_blocks(found: Attacked) -> list[Block]:
    """The red flags: those raised in words, and the table of all that were looked for."""
    if not found.flags:
        return []
    raised = [one for one in found.flags if one.value == 1.0]
    checked = sum(one.n not in (None, 0) for one in found.flags)
    blocks: list[Block] = [Paragraph(_in_words(one)) for one in raised]
    if not raised:
        blocks.append(Paragraph(_NONE_RAISED.format(checked=checked)))
    columns = [Column("Red flag"), Column("Subject"), Column(""), Column("Samples", "integer"), Column("What it means")]
    rows: list[list[Cell]] = [
        [_title(one), one.subject, _state(one), one.n or None, FLAGS.get(one.of, ("", ""))[1]] for one in found.flags
    ]
    note = (
        "A flag is raised beyond what chance explains: at most once in a hundred honest audits. What to do about each "
        "is in docs/red-flags.md."
    )
    return [*blocks, DataTable("Red flags", columns, rows, note, collapsed=not raised)]


def raised_flags(findings: Sequence[Finding]) -> list[Finding]:
    """The flags that were raised."""
    return [one for one in findings if one.metric == "attack.red_flag" and one.value == 1.0]


def _figures(found: Attacked, subject: str, attack: str, group: str, training: bool) -> list[Cell]:
    def cell(metric: str, part: str = "") -> Estimate | None:
        return _estimate(found.get(metric, subject, attack, group, part))

    attacked = eps_value(group) > 0
    extra = [cell("accuracy", TRAINING)] if training else []
    rest = [cell(metric) if attacked else None for metric in ("fooling_rate", "distance", "steps")]
    at = Mark(eps_text(group), order=eps_value(group))
    return [subject, attack if attacked else "clean", at, cell("accuracy"), *extra, cell("auc"), *rest]


def _transfer(found: Attacked, attack: str, group: str) -> DataTable:
    cells = {
        (one.group.partition(", made for ")[2], one.subject): one
        for one in found.transfers
        if one.of == attack and one.group.partition(", made for ")[0] == group
    }
    sources, targets = (list(dict.fromkeys(key[side] for key in cells)) for side in (0, 1))
    columns = [Column("Made for"), *(Column(f"shown to {name}", "percent") for name in targets)]
    rows: list[list[Cell]] = [
        [source, *(_estimate(cells.get((source, target))) for target in targets)] for source in sources
    ]
    note = (
        "Accuracy of the subject in the column on images that were made to fool the subject in the row. On the "
        "diagonal the attack sees the subject it is shown to; a lower number elsewhere in the column is a red flag."
    )
    return DataTable(f"Transfer of {attack} at ε = {eps_text(group)}", columns, rows, note)


def _answers(found: Attacked, subject: str, attack: str, group: str) -> list[list[Cell]]:
    accuracy = found.get("accuracy", subject, attack, group)
    if accuracy is None:
        return []
    names = ("majority_rate", "prediction_entropy", "degenerate")
    majority, entropy, alone = (found.get(name, subject, attack, group) for name in names)
    said = alone.verdict if alone is not None else ""
    verdict = Mark(said, "bad") if said.startswith("degenerate") else Mark("" if said == "not measured" else said)
    name = "clean" if eps_value(group) == 0 else attack
    return [[subject, name, Mark(eps_text(group), order=eps_value(group)), _estimate(accuracy), _estimate(majority),
             _estimate(entropy), _estimate(alone), verdict]]  # fmt: skip


def _estimate(finding: Finding | None) -> Estimate | None:
    if finding is None or finding.value is None:
        return None
    return Estimate(finding.value, finding.low, finding.high, finding.n)


def _in_words(flag: Finding) -> str:
    title, advice = FLAGS.get(flag.of, (flag.of, ""))
    _, _, why = flag.verdict.partition(": ")
    return f"{title} ({flag.subject}): {why}. {advice}"


def _title(flag: Finding) -> str:
    return FLAGS.get(flag.of, (flag.of, ""))[0]


def _state(flag: Finding) -> Mark:
    state, _, why = flag.verdict.partition(": ")
    return Mark(state, "bad" if flag.value == 1.0 else "neutral", why, order=flag.value)
