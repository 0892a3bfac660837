"""What weak labelling shows in the report: what each labeler's votes weigh, and whether Snorkel's training settled."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from assay.infra.errors import first_named
from assay.tasks.reporting.numerals import interval, number, p_equals, percent, plural
from assay.tasks.reporting.parts import BarPlot, Part
from assay.tasks.statistics.findings import Finding, FindingIndex, measured
from assay.tasks.weak_labels.labelers import Labeler, labeler_from

_BARS = 40


def page(findings: FindingIndex, models: Mapping[str, pa.Table]) -> Part:
    """The part of the report about weak labels, from the `LabelModel` of each labeler, by the labeler's name."""
    labelers = {name: labeler_from(table) for name, table in models.items()}
    sentences = [_labeler(name, labeler) for name, labeler in labelers.items()]
    sentences += map(_indecision, measured(findings.select("weak_labels.undecided")))
    gains = measured(findings.select("weak_labels.gain"))
    better = [gain for gain in gains if gain.verdict == "better"]
    sentences += _comparison(findings, gains, better)
    weighing = {name: labeler for name, labeler in labelers.items() if not labeler.by}
    silent = {each.of for each in measured(findings.select("labeling.coverage")) if each.of and not each.value}
    blocks = [plot for name, labeler in weighing.items() if (plot := _weights_plot(name, labeler, silent))]
    unsettled = any(labeler.training is not None and not labeler.training.converged for labeler in labelers.values())
    judged = "not converged" if unsettled else f"{better[0].of} is better" if better else ""
    return Part("Weak labels", " ".join(sentences), blocks, "weak-labels", "bad" if judged else "neutral", judged)


def _labeler(name: str, labeler: Labeler) -> str:
    functions, training = plural(len(labeler.functions), "labelling function"), labeler.training
    if labeler.by:
        return f"{name.capitalize()} makes probabilities of the votes of {functions} in a way of its own."
    if training is None and labeler.mu is None:
        return f"{name.capitalize()} counts the votes of {functions}, each with the same weight."
    balance, learned = _balance(labeler), f"{name.capitalize()} learned the weights of {functions}"
    if training is None:
        return f"{learned} from how often pairs of them agree{balance}."
    loss = f"its loss fell from {number(training.first_loss)} to {number(training.last_loss)}"
    if training.settled_after is None:
        return (
            f"{learned} in {plural(training.epochs, 'epoch')} and had not converged: {loss} and was still "
            f"falling{balance}. More epochs would move the weights."
        )
    settled = f"{plural(training.settled_after, 'epoch')} of {number(training.epochs)}"
    return f"{learned}; the training converged after {settled}: {loss}{balance}."


def _balance(labeler: Labeler) -> str:
    """How frequent it takes the classes to be, and how that is known."""
    p = labeler.equal_p
    if labeler.balance is None:
        unknown = f"; the votes do not tell how frequent the classes are ({p_equals(p)}): all count as equally frequent"
        return "" if p is None else unknown
    listed = " to ".join(f"{share:.0%}".rstrip("%") for share in labeler.balance)
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
        return f"{finding.group.capitalize()} leaves none of {samples} undecided: on none are all classes equal."
    share = f"{percent(finding.value)} {interval(finding.low, finding.high)}"
    return f"{finding.group.capitalize()} leaves {share} of {samples} undecided; they get the default label."


def _weights_plot(name: str, labeler: Labeler, silent: Collection[str]) -> BarPlot | None:
    """The weights, heaviest first, unless all are the same; of the `silent` functions, which never vote, no labeler
    learned any."""
    weights = zip(labeler.functions, labeler.weights.tolist(), strict=True)
    pairs = sorted((pair for pair in weights if pair[0] not in silent), key=lambda pair: (-pair[1], pair[0]))
    unheard = [function for function in labeler.functions if function in silent]
    if len({weight for _, weight in pairs}) < 2:
        return None
    pairs, lighter = pairs[:_BARS], len(pairs[_BARS:])
    notes = [f"The {len(pairs)} heaviest; {lighter} lighter ones are not drawn."] if lighter else []
    notes += [f"Without a vote, and so without a weight: {first_named(unheard, _BARS)}."] if unheard else []
    top, bottom = pairs[0], pairs[-1]
    names, heights = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    alt = f"{plural(len(pairs), 'bar')}, from {top[0]} ({number(top[1])}) to {bottom[0]} ({number(bottom[1])})."
    return BarPlot(f"What a vote weighs ({name})", names, heights, "weight", alt, note=" ".join(notes))
