"""The findings about taggers (`ner.…`) and scorers (`sts.…`), ready to be looked up by what the page shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.tasks.attacks.terms.estimates import CLEAN, Key, Stage, is_degenerate
from assay.tasks.reporting.parts import Estimate
from assay.tasks.statistics.controls import control_of, controlled_by
from assay.tasks.statistics.findings import Finding

_SEVERITY = re.compile(r"^share=([\d.]+)(?:, changes=(\d+))?$")
HEADLINE = {"ner": "f1", "sts": "pearson"}
"""The measure that drops and gains are of."""
CALLED = {"f1": "F1", "precision": "Precision", "recall": "Recall", "pearson": "Pearson", "spearman": "Spearman",
          "mae": "MAE"}  # fmt: skip


@dataclass(frozen=True)
class Severity:
    """How hard an attack hits: the share of the terms, and the changes per word (none for synonyms)."""

    share: float
    changes: int | None


class Termed:
    """What was measured about the subjects of one stage: `ner` or `sts`."""

    def __init__(self, stage: Stage, findings: Sequence[Finding]) -> None:
        mine = [one for one in findings if one.stage == stage]
        self.stage = stage
        self.headline = HEADLINE[stage]
        self._found = {(one.metric.partition(".")[2], one.subject, one.of, one.group): one for one in mine}
        self.models = list(dict.fromkeys(one.subject for one in mine))
        self.sets = list(dict.fromkeys(
            (one.of, one.group) for one in mine
            if one.metric == f"{stage}.{self.headline}" and (not one.group or severity_of(one.group) is not None)
        ))  # fmt: skip

    @property
    def subjects(self) -> list[str]:
        """The subjects as they are, without those that were trained on attacked copies."""
        return [name for name in self.models if not self.defended(name)]

    def defended(self, model: str) -> bool:
        """Whether a model was trained on attacked copies."""
        return any(metric == "gain" and subject == model for metric, subject, _, _ in self._found)

    def trained(self, subject: str) -> list[str]:
        """The models that were trained on attacked copies from this subject."""
        return [name for name in self.models if name.startswith(f"{subject}+") and self.defended(name)]

    def is_control(self, model: str) -> bool:
        """Whether a model learned from unchanged copies, so that others can be compared with it."""
        return controlled_by(model, self.models) is not None

    def control_of(self, model: str) -> str | None:
        """The control of a model that was trained on attacked copies, where it has one."""
        return control_of(model) if control_of(model) in self.models else None

    def get(self, metric: str, model: str, key: Key) -> Finding | None:
        """The finding `stage.metric`, if it has a value."""
        found = self._found.get((metric, model, *key))
        return None if found is None or found.value is None else found

    @property
    def attacks(self) -> list[Key]:
        """Every attack at its first severity."""
        first: dict[str, Key] = {}
        for key in self.sets:
            if key[0] != CLEAN:
                first.setdefault(key[0], key)
        return list(first.values())

    def entry(self, metric: str, model: str, key: Key) -> Finding | None:
        """The finding `stage.metric`, also where it has no value."""
        return self._found.get((metric, model, *key))

    @property
    def degenerate(self) -> list[Finding]:
        """The sets of samples of which a model says the same all over, by the measure that drops are of."""
        sets = set(self.sets)
        return [
            one for (metric, *_), one in self._found.items()
            if metric == self.headline and (one.of, one.group) in sets and is_degenerate(one)
        ]  # fmt: skip

    def cut(self, model: str) -> list[Finding]:
        """How many samples of each set were longer than a model reads."""
        return [one for (metric, name, *_), one in self._found.items() if metric == "cut" and name == model]

    def severities(self, model: str, attack: str) -> list[Key]:
        """Every severity of an attack that a model was tested on."""
        return [key for key in self.sets if key[0] == attack and self.get(self.headline, model, key) is not None]

    def slices(self, model: str) -> list[tuple[Key, str]]:
        """The slices that were measured of a model: the set, and the slice by itself."""
        found = []
        for metric, subject, of, group in self._found:
            *severity, name = group.split(", ")
            if subject == model and metric == "recall" and name and severity_of(group) is None:
                found.append(((of, ", ".join(severity)), name))
        return found


def severity_of(group: str) -> Severity | None:
    """The severity that a group names; None where it names a slice.

    >>> severity_of("share=0.5, changes=2"), severity_of("length=1")
    (Severity(share=0.5, changes=2), None)
    """
    found = _SEVERITY.match(group)
    if found is None:
        return None
    return Severity(float(found[1]), None if found[2] is None else int(found[2]))


def severity_text(group: str) -> str:
    """A severity in words.

    >>> severity_text("share=0.5, changes=2"), severity_text("share=1")
    ('half of the terms, 2 changes a word', 'every term')
    """
    found = severity_of(group)
    if found is None:
        return group
    shares = {1.0: "every term", 0.5: "half of the terms"}
    said = shares.get(found.share, f"{found.share:.0%} of the terms")
    if found.changes is None:
        return said
    return f"{said}, {found.changes} change{'s' if found.changes > 1 else ''} a word"


def estimate(finding: Finding | None) -> Estimate | None:
    """A finding as a cell of a table."""
    if finding is None or finding.value is None:
        return None
    return Estimate(finding.value, finding.low, finding.high, finding.n)
