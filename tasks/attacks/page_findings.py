"""The findings on attacks on images, as the report asks for them: by subject, attack and ε."""

from __future__ import annotations

from assay.tasks.attacks.worst import WORST
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, lowest
from assay.tasks.statistics.slices import slice_of


def eps_value(group: str) -> float:
    """The ε of a group; 0, that of clean samples, where it names none.

    >>> eps_value("eps=4/255, melanoma"), eps_value("eps=0.1")
    (0.01568627450980392, 0.1)
    """
    return slice_of(group).eps or 0.0


def eps_text(group: str) -> str:
    """The ε of a group as a sentence has it.

    >>> eps_text("eps=4/255, melanoma")
    '4/255'
    """
    return slice_of(group).eps_text


class AttackFindings:
    """What was measured under attack; ε goes by the name it has in the groups."""

    def __init__(self, findings: FindingIndex) -> None:
        self.all = findings
        # Attacks on texts have no ε.
        self._accuracies = [one for one in findings.select("attack.accuracy") if one.slice.eps is not None]
        self._curves = [one for one in self._accuracies if not one.slice.name and not one.slice.split]
        self.subjects = distinct(one.subject for one in self._accuracies)
        self.flags = findings.select("attack.red_flag")
        self.transfers = findings.select("attack.transfer")

    def get(self, metric: str, subject: str, attack: str, group: str, part: str = "") -> Finding | None:
        """The finding `attack.metric`, of a part (a class, a split) where one is named."""
        full = ", ".join(filter(None, (group, part)))
        return self.all.entry(f"attack.{metric}", subject, attack, full)

    def attacks(self, subject: str | None = None) -> list[str]:
        """The attacks on a subject, or on any, the worst case last."""
        names = distinct(one.of for one in self._curves if subject in (None, one.subject))
        return sorted(names, key=lambda name: name == WORST)

    def grid(self, subject: str, attack: str | None = None) -> list[str]:
        """The ε that were tried by an attack, or by any, from small to large."""
        tried = [one.group for one in self._curves if one.subject == subject and attack in (None, one.of)]
        return sorted(distinct(tried), key=eps_value)

    def clean(self, subject: str) -> Finding | None:
        """The accuracy on clean images, as the attacks' own zero point says it."""
        at_zero = (self.get("accuracy", subject, attack, "eps=0") for attack in self.attacks(subject))
        return next((one for one in at_zero if one is not None), None)

    def lowest(self, subject: str, group: str) -> Finding | None:
        """The lowest accuracy at an ε, of the worst case where several attacks leave the same."""
        return lowest(self.get("accuracy", subject, attack, group) for attack in reversed(self.attacks(subject)))

    def telling(self, subject: str) -> Finding | None:
        """The lowest accuracy at the smallest ε that costs half of what is right on clean images; else the largest."""
        positive = (group for group in self.grid(subject) if eps_value(group) > 0)
        left = [one for group in positive if (one := self.lowest(subject, group)) is not None]
        clean = self.clean(subject)
        half = 0.5 * (clean.value or 0.0) if clean is not None else 0.0
        return next((one for one in left if (one.value or 0.0) <= half), left[-1] if left else None)

    def common(self) -> str:
        """The ε at which all subjects are compared: the one that tells most about the first of them."""
        first = self.telling(self.subjects[0]) if self.subjects else None
        return first.group if first is not None else ""

    def at_common(self) -> dict[str, Finding]:
        """The lowest accuracy of every subject at the common ε, or where it was not attacked there, at its own."""
        common = self.common()
        left = {subject: self.lowest(subject, common) or self.telling(subject) for subject in self.subjects}
        return {subject: one for subject, one in left.items() if one is not None}

    def classes(self, subject: str) -> list[str]:
        """The names of the classes whose recall was measured."""
        recalls = self.all.select("attack.recall", subject=subject)
        return distinct(one.slice.name for one in recalls if not one.slice.split)

    def areas(self, subject: str, attack: str, group: str) -> list[str]:
        """The names of the classes whose area under attack was measured at an ε."""
        areas = self.all.select("attack.class_auc", subject=subject, of=attack)
        return [one.slice.name for one in areas if one.group.startswith(f"{group}, ")]

    def unattacked(self, metric: str, subject: str, part: str = "") -> Finding | None:
        """What the subject's own findings say of the clean images."""
        return self.all.get(f"subject.{metric}", subject, "clean", part)

    def has_training(self) -> bool:
        """Whether some attack was also measured on the images that a generator learned from."""
        return any(one.slice.split and not one.slice.name for one in self._accuracies)
