"""On which line of which file a setting was written, or that `--set` brought it in."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.flows.configuration.mistakes import Where
from assay.flows.configuration.overrides import FLAG
from assay.flows.configuration.yaml_source import Document


@dataclass(frozen=True)
class Lines:
    """The lines of a document that has been read, and which places in it were set from the command line."""

    document: Document = field(default_factory=lambda: Document("pipelines.yaml"))
    changed: frozenset[Where] = frozenset()

    def place(self, where: Where) -> str:
        """The file and the line of a place, or of the nearest thing around it.

        >>> Lines(Document("pipelines.yaml", {}, {("store",): 3})).place(("store",))
        'pipelines.yaml:3'
        """
        if any(where[: len(place)] == place for place in self.changed):
            return FLAG
        line = self.document.line(where)
        return self.document.file if line is None else f"{self.document.file}:{line}"

    def written(self, where: Where) -> Where:
        """The place as far as the document has it: `csv: a.csv` has no first item, although it means one file.

        >>> Lines(Document("pipelines.yaml", {"csv": "a.csv"})).written(("csv", 0))
        ('csv',)
        """
        return next((where[:n] for n in range(len(where), 0, -1) if self.document.found(where[:n]) is not None), where)
