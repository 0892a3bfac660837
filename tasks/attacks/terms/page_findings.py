"""The findings about taggers (`ner.…`) and scorers (`sts.…`), as the page asks for them."""

from __future__ import annotations

from assay.tasks.attacks.terms.estimates import CLEAN, Key, Stage
from assay.tasks.statistics.controls import control_of, controlled_by
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, measured
from assay.tasks.statistics.slices import slice_of

ORIGINAL: Key = (CLEAN, "")
"""The test set of unchanged samples."""
HEADLINE = {"ner": "f1", "sts": "pearson"}
"""The measure that drops and gains are of."""
CALLED = {
    "f1": "F1",
    "precision": "Precision",
    "recall": "Recall",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "mae": "MAE",
}


class TermFindings:
    """What was measured about the subjects of one stage: `ner` or `sts`."""

    def __init__(self, stage: Stage, findings: FindingIndex) -> None:
        self._findings = findings
        self.stage = stage
        self.headline = HEADLINE[stage]
        self.models = findings.distinct("subject", stage)
        whole = [one for one in findings.select(f"{stage}.{self.headline}") if not one.slice.name]
        self.sets = distinct((one.of, one.group) for one in whole)

    @property
    def subjects(self) -> list[str]:
        """The subjects as they are, without those that were trained on attacked copies."""
        return [name for name in self.models if not self.defended(name)]

    def defended(self, model: str) -> bool:
        """Whether a model was trained on attacked copies."""
        return bool(self._findings.select(f"{self.stage}.gain", subject=model))

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
        return self._findings.get(f"{self.stage}.{metric}", model, *key)

    def entry(self, metric: str, model: str, key: Key) -> Finding | None:
        """The finding `stage.metric`, also where it has no value."""
        return self._findings.entry(f"{self.stage}.{metric}", model, *key)

    @property
    def attacks(self) -> list[Key]:
        """Every attack at its first severity."""
        attacks = distinct(attack for attack, _ in self.sets if attack != CLEAN)
        return [next(key for key in self.sets if key[0] == attack) for attack in attacks]

    def drops(self, model: str) -> list[Finding]:
        """What a model loses under every attack."""
        return measured(self.get("drop", model, key) for key in self.attacks)

    @property
    def degenerate(self) -> list[Finding]:
        """The sets of samples of which a model says the same all over, by the measure that drops are of."""
        shares = self._findings.select(f"{self.stage}.{self.headline}")
        return [one for one in shares if one.degenerate and (one.of, one.group) in self.sets]

    def cut(self, model: str) -> list[Finding]:
        """How many samples of each set were longer than a model reads."""
        return self._findings.select(f"{self.stage}.cut", subject=model)

    def severities(self, model: str, attack: str) -> list[Key]:
        """Every severity of an attack that a model was tested on."""
        return [key for key in self.sets if key[0] == attack and self.get(self.headline, model, key) is not None]

    def sliced_recalls(self, model: str) -> list[Finding]:
        """The recalls of a model that are of a slice of the entities."""
        return [one for one in self._findings.select(f"{self.stage}.recall", subject=model) if one.slice.name]


def severity_text(group: str) -> str:
    """A severity in words: the share of the terms, and the changes per word (none for synonyms).

    >>> severity_text("share=0.5, changes=2"), severity_text("share=1")
    ('half of the terms, 2 changes a word', 'every term')
    """
    share, changes = slice_of(group).share, slice_of(group).changes
    if share is None:
        return group
    terms = {1.0: "every term", 0.5: "half of the terms"}.get(share, f"{share:.0%} of the terms")
    return terms if changes is None else f"{terms}, {changes} change{'s' if changes > 1 else ''} a word"
