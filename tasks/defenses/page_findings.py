"""The findings on defences, ready to be looked up: by metric, subject, defence and group."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.tasks.attacks.page_findings import eps_value
from assay.tasks.attacks.worst import WORST
from assay.tasks.defenses.answers import CLEAN
from assay.tasks.defenses.comparing import NONE
from assay.tasks.statistics.findings import Finding

_COMPARED = ("defense.accuracy", "defense.gain", "defense.mcnemar_p")
_VARIED = re.compile(r"(-(eps=[^-]+|lambda=[^-]+|scratch|subject))+$")


class Defended:
    """What was measured about defences; everything is compared at one ε, the `telling` one."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        compared = [one for one in findings if one.metric in _COMPARED]
        texts = {one.subject for one in compared if one.group != CLEAN and not one.group.startswith("eps=")}
        mine = [one for one in compared if one.subject not in texts]  # texts have a part of their own, without ε
        self._found = {(one.metric, one.subject, one.of, one.group): one for one in mine}
        self._between = {(one.subject, one.of): one for one in findings if one.metric == "defense.between_p"}
        self.subjects = list(dict.fromkeys(one.subject for one in mine))
        self.defences = list(dict.fromkeys(one.of for one in mine if one.of != NONE))
        tested = [one.group for one in mine if one.metric == "defense.mcnemar_p" and one.group != CLEAN]
        groups = {one.group for one in mine if one.metric == "defense.accuracy" and one.group != CLEAN}
        self.group, _, self.attack = tested[0].partition(", ") if tested else ("", "", "")
        self.groups = sorted(groups, key=eps_value)

    def get(self, metric: str, subject: str, defence: str, group: str) -> Finding | None:
        """The finding `defense.metric`, if it has a value."""
        found = self._found.get((f"defense.{metric}", subject, defence, group))
        return None if found is None or found.value is None else found

    def accuracy(self, subject: str, defence: str, group: str) -> Finding | None:
        """What is right at ε of that name, or on clean samples."""
        return self.get("accuracy", subject, defence, group)

    def gain(self, subject: str, defence: str, *, attacked: bool) -> Finding | None:
        """The change in accuracy on clean samples, or under the deciding attack at the telling ε."""
        return self.get("gain", subject, defence, self._label(attacked))

    def test(self, subject: str, defence: str, *, attacked: bool) -> Finding | None:
        """McNemar's test of that change."""
        return self.get("mcnemar_p", subject, defence, self._label(attacked))

    def gains(self, subject: str, defence: str) -> list[Finding]:
        """All changes in accuracy, by attack and ε."""
        return [
            one for (metric, whose, of, _), one in self._found.items()
            if metric == "defense.gain" and whose == subject and of == defence and one.value is not None
        ]  # fmt: skip

    def degenerate(self, subject: str, defence: str) -> str:
        """What is wrong with a model that (almost) always says the same, in words; empty where nothing is."""
        found = [self.accuracy(subject, defence, group) for group in (CLEAN, *([self.group] if self.group else []))]
        return next((one.verdict for one in found if one is not None and one.verdict.startswith("degenerate")), "")

    def best(self, subject: str) -> str:
        """The defence that leaves most right at the telling ε, of those that do not always say the same."""
        left = self._left(subject)
        return max(left, key=lambda one: left[one], default="")

    def leaders(self, subject: str) -> list[str]:
        """The best defence, and those that no test tells apart from it, by what they leave right, the best first."""
        best = self.best(subject)
        left = self._left(subject)
        near = [one for one in left if one != best and not self._apart(subject, best, one)]
        return [best, *sorted(near, key=lambda one: -left[one])] if best else []

    def _left(self, subject: str) -> dict[str, float]:
        """What the defences leave right at the telling ε that do not always say the same, of those that met the
        deciding attack: one on which it broke met less, and would look better for it."""
        met = [
            one for one in self.defences if self.test(subject, one, attacked=True) and not self.degenerate(subject, one)
        ]
        return {one: found.value or 0.0 for one in met if (found := self.accuracy(subject, one, self.group))}

    def _apart(self, subject: str, one: str, other: str) -> bool:
        """Whether McNemar's test, after Holm over all pairs, tells two defences apart at the telling ε."""
        pairs = (f"{one} - {other}", f"{other} - {one}")
        found = (self._between.get((subject, pair)) for pair in pairs)
        return any(test is not None and test.verdict in ("better", "worse") for test in found)

    def against(self) -> str:
        """The deciding attack, as a sentence has it."""
        return "the worst case over all attacks" if self.attack == WORST else self.attack

    def _label(self, attacked: bool) -> str:
        return f"{self.group}, {self.attack}" if attacked else CLEAN


def variant(defence: str) -> str:
    """What tells a variant from the others of its family, as a plot writes it.

    >>> variant("maadvt-scratch-lambda=3"), variant("mpadvt"), variant("standard-eps=4/255")
    ('scratch, λ = 3', '', 'ε = 4/255')
    """
    pieces = defence.removeprefix(family(defence)).strip("-").split("-")
    return ", ".join(piece.replace("lambda=", "λ = ").replace("eps=", "ε = ") for piece in pieces if piece)


def family(defence: str) -> str:
    """The defence that a variant is one of.

    >>> family("maadvt-scratch-lambda=3"), family("standard"), family("my-own-eps=4/255")
    ('maadvt', 'standard', 'my-own')
    """
    return _VARIED.sub("", defence)
