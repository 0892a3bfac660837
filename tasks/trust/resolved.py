"""The oracle's options with everything they name in hand: word embeddings, synonym pairs, people's verdicts."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assay.infra.errors import InputError, blame_setting
from assay.infra.user_code.references import content_at
from assay.tasks.language.embeddings.ensemble import ResolvedProviders, default_providers, resolve_providers
from assay.tasks.language.synonyms import OPEN_WORDNET, WORDNET, synonym_pairs
from assay.tasks.trust.settings import Trust

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.tasks.subjects.resolved import ResolvedSubject

COUNTERFACTUAL = "counterfactual"


@dataclass(frozen=True)
class SynonymPairs:
    """Pairs of words that mean nearly the same."""

    pairs: tuple[tuple[str, str], ...]

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the pairs."""
        return hashlib.sha256(json.dumps(self.pairs).encode()).hexdigest()


@dataclass(frozen=True)
class VerdictFile:
    """A table of human verdicts: its name and its bytes."""

    name: str
    content: bytes

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the bytes."""
        return hashlib.sha256(self.content).hexdigest()

    def table(self) -> pa.Table:
        """The table; a CSV file has a header line."""
        import pyarrow as pa

        source = pa.BufferReader(self.content)
        try:
            if self.name.endswith((".parquet", ".pq")):
                import pyarrow.parquet as pq

                return pq.read_table(source)
            import pyarrow.csv

            texts = {name: pa.string() for name in ("sample", "annotator", "guess", "verdict")}
            return pyarrow.csv.read_csv(source, convert_options=pyarrow.csv.ConvertOptions(column_types=texts))
        except (pa.ArrowInvalid, OSError) as fault:
            raise InputError(f"The verdicts {self.name} cannot be read as a table ({fault}).") from fault


@dataclass(frozen=True)
class ResolvedTrust:
    """The options of the oracle for one subject, ready to travel."""

    settings: Trust
    providers: ResolvedProviders
    synonyms: SynonymPairs
    verdicts: VerdictFile | None = None


def resolve_trust(settings: Trust, subject: ResolvedSubject, beside: Path) -> ResolvedTrust:
    """Everything the options name, found before anything runs; paths count from the folder `beside`."""
    names = settings.providers or default_providers(subject_has_tokens=subject.way != "own")
    pairs = _synonyms(settings.synonyms, beside)
    return ResolvedTrust(
        settings, resolve_providers(names, beside), SynonymPairs(tuple(pairs)), _verdicts(settings.truth, beside)
    )


def require_named(settings: Trust, beside: Path) -> None:
    """Raises where something that the options name is not here, or cannot be read."""
    if settings.providers is not None:
        with blame_setting("providers"):
            resolve_providers(settings.providers, beside, "providers")
    if settings.synonyms is not None:
        with blame_setting("synonyms", settings.synonyms):
            _synonyms(settings.synonyms, beside)
    with blame_setting("truth", settings.truth):
        _verdicts(settings.truth, beside)


def _synonyms(source: str | None, beside: Path) -> list[tuple[str, str]]:
    named = source in (None, WORDNET, OPEN_WORDNET)
    return synonym_pairs(source if named or source is None else beside / source)


def _verdicts(truth: str | None, beside: Path) -> VerdictFile | None:
    if truth in (None, COUNTERFACTUAL):
        return None
    path = beside / str(truth)
    if path.suffix.lower() not in (".csv", ".parquet", ".pq"):
        raise InputError(
            f"`trust.truth` is {truth!r}, which is neither `{COUNTERFACTUAL}` nor a table of verdicts (.csv, .parquet)."
        )
    return VerdictFile(path.name, content_at(path, Path(), "The table of verdicts"))
