"""What weak labelling shows in the report: what each labeler's votes weigh, and whether Snorkel's training settled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pyarrow as pa

from assay.tasks.reporting.numerals import interval, number, p_equals, percent, plural
from assay.tasks.reporting.parts import BarPlot, Part
from assay.tasks.statistics.findings import Finding, FindingIndex, measured
from assay.tasks.weak_labels.labelers import balance_in, equal_p_in, labeled_by

_BARS = 40


def page(findings: FindingIndex, models: Mapping[str, pa.Table]) -> Part:
    """The part of the report about weak labels, from the `LabelModel` of each labeler, by the labeler's name."""
    sentences = [_labeler(name, table) for name, table in models.items()]
    sentences += map(_indecision, measured(findings.select("weak_labels.undecided")))
    gains = measured(findings.select("weak_labels.gain"))
    better = [gain for gain in gains if gain.verdict == "better"]
    sentences += _comparison(findings, gains, better)
    weighing = {name: table for name, table in models.items() if not labeled_by(table)}
    blocks = [_weights_plot(name, table) for name, table in weighing.items() if len(table["weight"].unique()) > 1]
    unsettled = any(math.isnan(_training(table) or 0.0) for table in models.values())
    judged = "not converged" if unsettled else f"{better[0].of} is better" if better else ""
    return Part("Weak labels", " ".join(sentences), blocks, "weak-labels", "bad" if judged else "neutral", judged)


def _labeler(name: str, table: pa.Table) -> str:
    functions = plural(table.num_rows, "labelling function")
    settled = _training(table)
    if labeled_by(table):
        return f"{name.capitalize()} makes probabilities of the votes of {functions} in a way of its own."
    if settled is None and not any(column.startswith("mu_") for column in table.column_names):
        return f"{name.capitalize()} counts the votes of {functions}, each with the same weight."
    balance = _balance(table)
    if settled is None:
        return f"{name.capitalize()} learned the weights of {functions} from how often pairs of them agree{balance}."
    epochs, first, last = (_first(table, column) for column in ("epochs", "first_loss", "last_loss"))
    loss = f"its loss fell from {number(first)} to {number(last)}"
    if math.isnan(settled):
        return (
            f"{name.capitalize()} learned the weights of {functions} in {plural(round(epochs), 'epoch')} and had not "
            f"converged: {loss} and was still falling{balance}. More epochs would move the weights."
        )
    return (
        f"{name.capitalize()} learned the weights of {functions}; the training converged after "
        f"{plural(round(settled), 'epoch')} of {number(epochs)}: {loss}{balance}."
    )


def _balance(table: pa.Table) -> str:
    """How frequent it takes the classes to be, and how that is known."""
    shares, p = balance_in(table), equal_p_in(table)
    if shares is None:
        unknown = f"; the votes do not tell how frequent the classes are ({p_equals(p)}): all count as equally frequent"
        return "" if p is None else unknown
    listed = " to ".join(f"{share:.0%}".rstrip("%") for share in shares)
    return f"; the classes count as {listed} in frequency, as " + ("given" if p is None else "the votes tell")


def _comparison(findings: FindingIndex, gains: Sequence[Finding], better: Sequence[Finding]) -> list[str]:
    """Which labeler is right oftener than the first where there is gold; how often they agree where there is none."""
    agreements = measured(findings.select("weak_labels.agreement"))
    if not gains:
        return [
            f"{pair.of.capitalize()} and {pair.group} say the same of {percent(pair.value)} "
            f"{interval(pair.low, pair.high)} of the {plural(pair.n or 0, 'sample')} that both decide."
            for pair in agreements
        ]
    shares = [f"{each.group} {percent(each.value)}" for each in measured(findings.select("weak_labels.accuracy"))]
    first = gains[0].group
    said = f"Where all of them decide and gold is known, labels are right for {', '.join(shares)} of "
    said += f"{plural(gains[0].n or 0, 'sample')}: "
    if not better:
        return [said + f"that any is right oftener than {first}, which comes first, is not shown."]
    by = [f"{gain.of} by {percent(gain.value)} {interval(gain.low, gain.high)}" for gain in better]
    return [said + f"more often than {first}, which comes first, {' and '.join(by)}. Consider naming it first."]


def _indecision(finding: Finding) -> str:
    samples = plural(finding.n or 0, "sample")
    if not finding.value:
        return f"{finding.group.capitalize()} decides all of {samples}."
    share = f"{percent(finding.value)} {interval(finding.low, finding.high)}"
    return f"{finding.group.capitalize()} leaves {share} of {samples} undecided; they get the default label."


def _weights_plot(name: str, table: pa.Table) -> BarPlot:
    cells = zip(table["function"].to_pylist(), table["weight"].to_pylist(), strict=True)
    pairs: list[tuple[str, float]] = sorted(cells, key=lambda pair: (-pair[1], pair[0]))[:_BARS]
    rest = table.num_rows - len(pairs)
    top, bottom = pairs[0], pairs[-1]
    return BarPlot(
        f"What a vote weighs ({name})",
        [pair[0] for pair in pairs],
        [pair[1] for pair in pairs],
        "weight",
        f"{plural(len(pairs), 'bar')}, from {top[0]} ({number(top[1])}) to {bottom[0]} ({number(bottom[1])}).",
        note=f"The {len(pairs)} heaviest; {rest} lighter ones are not drawn." if rest else "",
    )


def _training(table: pa.Table) -> float | None:
    """The epoch after which the training had settled, NaN where it had not, None where nothing was trained."""
    return _first(table, "settled_after") if "settled_after" in table.column_names and table.num_rows else None


def _first(table: pa.Table, column: str) -> float:
    return float(table.column(column)[0].as_py())
