"""What a reading subject is built from, as a key under which a worker keeps it once it is built."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from assay.infra.code_reference import CodeReference

if TYPE_CHECKING:
    from assay.tasks.subjects.resolved import ResolvedSubject


@dataclass(frozen=True)
class BuiltFrom:
    """A subject and its files; two are the same when the fingerprint in their cards is, what they may say aloud, and
    the folder that code of the user's reads from: on another night other files may lie there."""

    fingerprint: str
    subject: ResolvedSubject
    files: dict[str, bytes]
    classes: int = 0

    @classmethod
    def of(cls, subject: ResolvedSubject, files: dict[str, bytes], classes: int = 0) -> Self:
        """The key of these files, by their card."""
        return cls(json.loads(files["card.json"])["fingerprint"], subject, files, classes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BuiltFrom) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, int, bool, str, str, str]:
        code = self.subject.code
        home, beside = (code.home, code.beside) if isinstance(code, CodeReference) else ("", "")
        return self.fingerprint, self.classes, self.subject.masked, home, beside, self.subject.asked_in
