"""The table of readers of files. A new one is a module of its own, and a word here."""

from __future__ import annotations

from collections.abc import Sequence

from assay.infra.user_code.choices import NamedChoices
from assay.tasks.ingest.dicom import DICOM
from assay.tasks.ingest.iob import IOB
from assay.tasks.ingest.label_studio import LABEL_STUDIO
from assay.tasks.ingest.nifti import NIFTI
from assay.tasks.ingest.parquet import PARQUET
from assay.tasks.ingest.reader_choice import GROUP, ReaderChoice
from assay.tasks.ingest.reader_choice import table_reader as table_reader
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.source_files import FILES, Places, SourceFile
from assay.tasks.ingest.sql import SQL
from assay.tasks.ingest.text_tables import CSV, JSONL

READERS: NamedChoices[ReaderChoice] = NamedChoices(
    "reader", GROUP, ReaderChoice, (PARQUET, CSV, JSONL, IOB, SQL, DICOM, NIFTI, LABEL_STUDIO)
)

_NO_READERS = ("image", "votes")
"""What is read as files without a reader of its own."""


def places_of(word: str, settings: Source) -> Places:
    """Where the addresses lead that this reader reads."""
    return FILES if word in _NO_READERS else READERS.named(word, settings).places


def files_found_by(files: Sequence[SourceFile], settings: Source) -> str:
    """What was found, in a few words; nothing of a data set, which has a name."""
    return places_of(files[0].format, settings).summary(files, settings) if files else ""


def endings_of(word: str, settings: Source) -> tuple[str, ...]:
    """How the files end that a folder stands for."""
    return () if word in _NO_READERS else READERS.named(word, settings).endings
