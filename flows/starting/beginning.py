"""From data to a folder that can be run: look, ask what cannot be known, propose, write."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from assay.flows.starting.addresses import address_of
from assay.flows.starting.looking import look
from assay.flows.starting.pages import files_of
from assay.flows.starting.placing import place, require_free
from assay.flows.starting.proposal import Proposal, propose
from assay.flows.starting.roles import NONE, NOTHING_SAID, Answers, Question, Roles, settle
from assay.infra.errors import InputError
from assay.tasks.ingest.addresses import is_remote

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
Ask = Callable[[Question], str]
"""Puts a question to a person, or refuses with a sentence where there is none."""


@dataclass(frozen=True)
class Wanted:
    """What a person wants: where the data lies, into which folder, under which name, and what they said of the data."""

    data: str
    folder: Path
    name: str | None = None
    answers: Answers = NOTHING_SAID
    keep: bool = False


def proposal_for(wanted: Wanted, ask: Ask) -> Proposal:
    """The audit that is proposed for the data; whatever cannot be known is asked."""
    require_free(wanted.folder, wanted.keep)
    name = wanted.name or _name(wanted)
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name!r} names no pipeline: give up to 80 letters, digits, dots, dashes and underscores with --name."
        )
    seen = look(address_of(wanted.data, Path.cwd()), Path.cwd())
    answers, roles = wanted.answers, settle(seen, wanted.answers)
    while not isinstance(roles, Roles):
        answers = answered(answers, roles, ask(roles))
        roles = settle(seen, answers)
    return propose(seen, roles, name, seen_from(seen.address.path, wanted.folder))


def write(proposal: Proposal, wanted: Wanted) -> list[str]:
    """Writes the files, and says which."""
    require_free(wanted.folder, wanted.keep)
    return place(files_of(proposal), wanted.folder)


def answered(answers: Answers, question: Question, answer: str) -> Answers:
    """What a person said, with the answer to a question.

    >>> answered(Answers(), Question("classes", "Which?"), "ham, spam").classes
    ('ham', 'spam')
    """
    answer = answer.strip() or NONE
    if question.about == "classes":
        classes = tuple(dict.fromkeys(one.strip() for one in answer.split(",") if one.strip()))
        if len(classes) < 2:
            raise InputError(
                f"{answer!r} names fewer than two classes: give them with --classes, as in benign,malignant."
            )
        return replace(answers, classes=classes)
    if question.about == "text" and answer == NONE:
        raise InputError("Texts stand in a column: say which with --text, or --kind table.")
    match question.about:
        case "label":
            return replace(answers, label=answer)
        case _:
            return replace(answers, text=answer)


def _name(wanted: Wanted) -> str:
    """The pipeline's name: that of the data's file or folder, as far as it can be one.

    >>> _name(Wanted("data/My patients.csv", Path(".")))
    'My-patients'
    """
    plain = wanted.data.rstrip("/").split("/")
    stem = next((part for part in reversed(plain) if not set(part) & set("*?[")), "night")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem.split(".")[0]).strip("-._")
    return name[:80] or "night"


def seen_from(data: str, folder: Path) -> str:
    """The place of the data as pipelines.yaml says it: from its folder, unless given whole and elsewhere.

    >>> seen_from("day/*.csv", Path("audits"))
    '../day/*.csv'
    """
    if is_remote(data):
        return data
    path = Path(data).expanduser()
    home = Path(os.path.abspath(folder))
    whole = Path(os.path.abspath(path))
    if path.is_absolute() and not whole.is_relative_to(home):
        return str(whole)
    return os.path.relpath(whole, home)
