"""The findings on attacks, ready to be looked up: by metric, subject, attack and ε."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from assay.tasks.attacks.worst import WORST
from assay.tasks.statistics.findings import Finding

TRAINING = "training"


def eps_value(group: str) -> float:
    """The ε of a group.

    >>> eps_value("eps=4/255, melanoma"), eps_value("eps=0.1")
    (0.01568627450980392, 0.1)
    """
    return float(Fraction(group.partition(",")[0].removeprefix("eps=")))


def eps_text(group: str) -> str:
    """The ε of a group as a sentence has it.

    >>> eps_text("eps=4/255, melanoma")
    '4/255'
    """
    return group.partition(",")[0].removeprefix("eps=")


class Attacked:
    """What was measured under attack; ε goes by the name it has in the groups."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self._found = {(one.metric, one.subject, one.of, one.group): one for one in findings if one.stage == "attack"}
        images = [one for one in self._found.values() if one.group.startswith("eps=")]  # attacks on texts have no ε
        accuracies = [one for one in images if one.metric == "attack.accuracy"]
        self.subjects = list(dict.fromkeys(one.subject for one in accuracies))
        self.flags = [one for one in self._found.values() if one.metric == "attack.red_flag"]
        self.transfers = [one for one in self._found.values() if one.metric == "attack.transfer"]
        self._groups: dict[tuple[str, str], list[str]] = {}
        for one in accuracies:
            if "," not in one.group:
                self._groups.setdefault((one.subject, one.of), []).append(one.group)

    def get(self, metric: str, subject: str, attack: str, group: str, part: str = "") -> Finding | None:
        """The finding `attack.metric`, of a part (a class, a split) where one is named."""
        full = ", ".join(one for one in (group, part) if one)
        return self._found.get((f"attack.{metric}", subject, attack, full))

    def attacks(self, subject: str | None = None) -> list[str]:
        """The attacks on a subject, or on any, the worst case last."""
        names = dict.fromkeys(attack for one, attack in self._groups if subject in (None, one))
        return sorted(names, key=lambda name: name == WORST)

    def grid(self, subject: str, attack: str) -> list[str]:
        """The ε that were tried, from small to large."""
        return sorted(self._groups.get((subject, attack), []), key=eps_value)

    def clean(self, subject: str) -> Finding | None:
        """The accuracy on clean images, as the attacks' own zero point says it."""
        found = (self.get("accuracy", subject, attack, "eps=0") for attack in self.attacks(subject))
        return next((one for one in found if one is not None), None)

    def lowest(self, subject: str, group: str) -> Finding | None:
        """The lowest accuracy at an ε, of the worst case where several attacks leave the same."""
        found = [self.get("accuracy", subject, attack, group) for attack in reversed(self.attacks(subject))]
        measured = [one for one in found if one is not None and one.value is not None]
        return min(measured, key=lambda one: one.value or 0.0) if measured else None

    def telling(self, subject: str) -> Finding | None:
        """The lowest accuracy at the smallest ε that costs half of what is right on clean images; else the largest."""
        groups = {group for attack in self.attacks(subject) for group in self.grid(subject, attack)}
        positive = sorted((group for group in groups if eps_value(group) > 0), key=eps_value)
        found = [one for group in positive if (one := self.lowest(subject, group)) is not None]
        clean = self.clean(subject)
        half = 0.5 * (clean.value or 0.0) if clean is not None else 0.0
        return next((one for one in found if (one.value or 0.0) <= half), found[-1] if found else None)

    def common(self) -> str:
        """The ε at which all subjects are compared: the one that tells most about the first of them."""
        first = self.telling(self.subjects[0]) if self.subjects else None
        return first.group if first is not None else ""

    def at_common(self) -> dict[str, Finding]:
        """The lowest accuracy of every subject at the common ε, or where it was not attacked there, at its own."""
        found = {subject: self.lowest(subject, self.common()) or self.telling(subject) for subject in self.subjects}
        return {subject: one for subject, one in found.items() if one is not None}

    def classes(self, subject: str) -> list[str]:
        """The names of the classes whose recall was measured."""
        of = [group for metric, one, _, group in self._found if metric == "attack.recall" and one == subject]
        return list(dict.fromkeys(group.partition(", ")[2] for group in of if f", {TRAINING}, " not in f"{group}, "))

    def has_training(self) -> bool:
        """Whether some attack was also measured on the images that a generator learned from."""
        return any(key[0] == "attack.accuracy" and key[3].endswith(f", {TRAINING}") for key in self._found)
