"""The findings on defences of image subjects, as the page asks for them."""

from __future__ import annotations

import re

from assay.tasks.attacks.worst import WORST
from assay.tasks.defenses.answers import CLEAN
from assay.tasks.defenses.comparing import NONE
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, measured

_COMPARED = ("defense.accuracy", "defense.gain", "defense.mcnemar_p")
_VARIED = re.compile(r"(-(eps=[^-]+|lambda=[^-]+|scratch|subject))+$")


class DefenceFindings:
    """What was measured about defences; everything is compared at one ε, the `telling` one."""

    def __init__(self, findings: FindingIndex) -> None:
        self._findings = findings
        compared = [one for one in findings.select("defense") if one.metric in _COMPARED]
        texts = {one.subject for one in compared if one.group != CLEAN and one.slice.eps is None}
        mine = [one for one in compared if one.subject not in texts]  # texts have a part of their own, without ε
        self.subjects = distinct(one.subject for one in mine)
        self.defences = distinct(one.of for one in mine if one.of != NONE)
        tested = [one.slice for one in mine if one.metric == "defense.mcnemar_p" and one.slice.eps is not None]
        self.group = f"eps={tested[0].eps_text}" if tested else ""
        self.attack = tested[0].name if tested else ""

    def accuracy(self, subject: str, defence: str, group: str) -> Finding | None:
        """What is right at ε of that name, or on clean samples."""
        return self._findings.get("defense.accuracy", subject, defence, group)

    def gain(self, subject: str, defence: str, *, attacked: bool) -> Finding | None:
        """The change in accuracy on clean samples, or under the deciding attack at the telling ε."""
        return self._findings.get("defense.gain", subject, defence, self._label(attacked))

    def test(self, subject: str, defence: str, *, attacked: bool) -> Finding | None:
        """McNemar's test of that change."""
        return self._findings.get("defense.mcnemar_p", subject, defence, self._label(attacked))

    def gains(self, subject: str, defence: str) -> list[Finding]:
        """The changes in accuracy under every attack and ε."""
        gains = measured(self._findings.select("defense.gain", subject=subject, of=defence))
        return [gain for gain in gains if gain.group != CLEAN]

    def degenerate(self, subject: str, defence: str) -> str:
        """What is wrong with a model that (almost) always says the same, in words; empty where nothing is."""
        shares = measured(self.accuracy(subject, defence, group) for group in (CLEAN, self.group) if group)
        return next((share.verdict for share in shares if share.degenerate), "")

    def best(self, subject: str) -> str:
        """The defence that leaves most right at the telling ε, of those that do not always say the same."""
        left = self._accuracies(subject)
        return max(left, key=lambda one: left[one], default="")

    def best_accuracy(self, subject: str) -> Finding | None:
        """What the best leaves right, with an interval that holds for whichever had come out best."""
        named = self._findings.get("defense.best_accuracy", subject, group=self.group)
        return named or self.accuracy(subject, self.best(subject), self.group)

    def leaders(self, subject: str) -> list[str]:
        """The best defence, and those that no test tells apart from it, by what they leave right, the best first."""
        best = self.best(subject)
        left = self._accuracies(subject)
        near = [one for one in left if one != best and not self._differ(subject, best, one)]
        return [best, *sorted(near, key=lambda one: -left[one])] if best else []

    def _accuracies(self, subject: str) -> dict[str, float]:
        """What the defences leave right at the telling ε that do not always say the same, of those that met the
        deciding attack: one on which it broke met less, and would look better for it."""
        met = [
            one for one in self.defences if self.test(subject, one, attacked=True) and not self.degenerate(subject, one)
        ]
        return {one: share.value or 0.0 for one in met if (share := self.accuracy(subject, one, self.group))}

    def _differ(self, subject: str, first: str, second: str) -> bool:
        """Whether McNemar's test, after Holm over all pairs, tells two defences apart at the telling ε."""
        pairs = (f"{first} - {second}", f"{second} - {first}")
        tests = (self._findings.first("defense.between_p", subject=subject, of=pair) for pair in pairs)
        return any(test is not None and test.verdict in ("better", "worse") for test in tests)

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
