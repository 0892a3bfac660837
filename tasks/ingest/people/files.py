"""The exports that hold people's answers: where they lie, and the hash of their content that enters the key."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.infra.errors import InputError
from assay.tasks.ingest.files import hash_of_file
from assay.tasks.ingest.label_studio import tasks_in
from assay.tasks.ingest.people.answers import Said, said_by_people
from assay.tasks.ingest.people.settings import PeoplesGold
from assay.tasks.ingest.places import Address, files_at, short_names

ORIGIN = "gold"


@dataclass(frozen=True)
class AnswerFiles:
    """Exports of answers by short names, in the order in which they count."""

    asked: PeoplesGold
    urls: tuple[str, ...]

    @property
    def label(self) -> str:
        """What an error calls them."""
        names = short_names(self.urls)
        return names[0] + (f" and {len(names) - 1} more files" if len(names) > 1 else "")

    @cached_property
    def fingerprint(self) -> str:
        """The hash of all their bytes in their order, and of how an answer is found in them."""
        return hashlib.sha256(
            json.dumps([[hash_of_file(url) for url in self.urls], self.asked.question, self.asked.id]).encode()
        ).hexdigest()

    def read(self) -> dict[str, Said]:
        """What people said, by sample; refused where a file became another one meanwhile."""
        known = self.fingerprint
        judged = said_by_people(zip(short_names(self.urls), map(tasks_in, self.urls), strict=True), self.asked)
        if AnswerFiles(self.asked, self.urls).fingerprint != known:
            raise InputError(f"{self.label} (gold) changed while being read: run again when nobody writes to it.")
        return judged


def find_answers(asked: PeoplesGold, base_dir: str | Path) -> AnswerFiles:
    """The exports that a source names, or the sentence that says which one is missing or empty."""
    urls_of = [files_at(Address(one, base_dir, ORIGIN, (".json",))) for one in asked.label_studio]
    return AnswerFiles(asked, tuple(dict.fromkeys(url for urls in urls_of for url in urls)))
