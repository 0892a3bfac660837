"""What people said of each sample: their answers from one export or several, put together by the sample's id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.infra.errors import InputError
from assay.tasks.ingest.label_studio import CHOICES, NOBODY, Answers, Task
from assay.tasks.ingest.people.settings import PeoplesGold

NEW, CONFIRMED, OVERRULED = "new", "confirmed", "overruled"
TIED, SKIPPED, UNANSWERED = "tied", "skipped", "unanswered"
OUTCOMES: Mapping[str, str] = {
    NEW: "gold where there was none",
    CONFIRMED: "the same as the gold column",
    OVERRULED: "another class than the gold column has; the answer counts",
    TIED: "as many people for one class as for another; the gold column stays",
    SKIPPED: "skipped by everybody who looked; the gold column stays",
    UNANSWERED: "nobody has answered yet; the gold column stays",
}
"""What became of a sample that people were asked about."""


@dataclass(frozen=True)
class Said:
    """What people said of a sample: the class that most chose (None where there is none), by how many of how many."""

    choice: str | None
    people: int
    agreeing: int
    skipped: int = 0

    def outcome(self, gold: str | None) -> str:
        """What becomes of a sample whose gold column says this.

        >>> Said("spam", 3, 2).outcome("ham"), Said(None, 2, 1).outcome("ham"), Said(None, 0, 0, 1).outcome(None)
        ('overruled', 'tied', 'skipped')
        """
        if self.choice is None:
            return TIED if self.people else SKIPPED if self.skipped else UNANSWERED
        return NEW if gold is None else CONFIRMED if gold == self.choice else OVERRULED


def said_by_people(files: Iterable[tuple[str, Sequence[Task]]], asked: PeoplesGold) -> dict[str, Said]:
    """What people said of every sample that they were asked about, by its id; the files by name, in their order.

    Where a sample has a ground truth, only that counts; else the last answer of each person.
    """
    together: dict[str, list[Task]] = {}
    for name, tasks in files:
        _require_question(name, tasks, asked.question)
        for place, task in enumerate(tasks, start=1):
            together.setdefault(_sample(task, asked.id, name, place), []).append(task)
    return {sample: _said(sample, tasks, asked.question) for sample, tasks in together.items()}


def require_classes(judged: Mapping[str, Said], classes: Sequence[str], source: str) -> None:
    """Nothing, or the sentence for an answer that is no class."""
    unknown = next(((sample, one.choice) for sample, one in judged.items() if one.choice not in (None, *classes)), None)
    if unknown is not None:
        names = ", ".join(classes[:10])
        raise InputError(
            f"{source} says {unknown[1]!r} of the sample {unknown[0]!r}, which is none of the classes "
            f"{names}; correct the answer, or name all classes under source.classes."
        )


def _said(sample: str, tasks: Sequence[Task], question: str) -> Said:
    true = [task for task in tasks if task.truth] or tasks
    last: dict[str, str] = {}
    for at, task in enumerate(true):
        for number, answers in enumerate(task.answers):
            chosen = _choice(answers, sample, question)
            if chosen is not None:
                last[answers.person if answers.person != NOBODY else f"{at}/{number}"] = chosen
    counts = Counter(last.values()).most_common(2)
    agreeing = counts[0][1] if counts else 0
    clear = bool(counts) and (len(counts) == 1 or agreeing > counts[1][1])
    return Said(counts[0][0] if clear else None, len(last), agreeing, sum(task.skipped for task in tasks))


def _choice(answers: Answers, sample: str, question: str) -> str | None:
    chosen = answers.of(CHOICES, question)
    if len(chosen) > 1:
        raise InputError(
            f"Somebody chose {len(chosen)} classes for the sample {sample!r}, and gold is one class: let people choose "
            'one (`choice="single"`), and export again.'
        )
    return str(chosen[0]) if chosen else None


def _sample(task: Task, field: str, name: str, place: int) -> str:
    value = task.shown.get(field)
    if value is None or str(value).strip() == "":
        raise InputError(
            f"Task {place} of {name} has no {field!r}, by which a sample is known; say which field of its data has the "
            "id, as in `gold: {label_studio: …, id: comment}`."
        )
    return str(value).strip()


def _require_question(name: str, tasks: Sequence[Task], question: str) -> None:
    asked = {key for task in tasks for answers in task.answers for key in answers.values}
    if asked and not any(kind in CHOICES and one == question for kind, one in asked):
        names = ", ".join(sorted({one for _, one in asked})[:10])
        raise InputError(
            f"Nobody answers {question!r} in {name}, only {names}; say which choice is the class, as in `gold: "
            "{label_studio: …, question: verdict}`."
        )
