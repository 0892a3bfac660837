"""What stands for a patient and for a scan in every artifact: a hash, never a name, a number or a path."""

from __future__ import annotations

import functools
import hashlib
import posixpath
import re
from collections.abc import Iterable, Sequence

from assay.tasks.ingest.files import hash_of_file

_SALT = b"assay patient"
_SHORTEST = 3


@functools.lru_cache(maxsize=1 << 16)
def pseudonym(identifier: str) -> str:
    """What stands for a patient's identifier: slow to make, so that nobody tries all numbers there are in a minute.

    >>> pseudonym("12345"), pseudonym("12345") == pseudonym("12346")
    ('patient-e2b86be29311', False)
    """
    digest = hashlib.scrypt(identifier.strip().encode(), salt=_SALT, n=1 << 12, r=8, p=1, dklen=6)
    return f"patient-{digest.hex()}"


def names_of_scans(urls: Sequence[str]) -> list[str]:
    """Scans by the beginning of their content's sha256 (`sha256sum` finds them): their file names may name patients."""
    return [hash_of_file(url)[:16] for url in urls]


def subject_of(url: str) -> str | None:
    """The subject that a path of the BIDS standard names.

    >>> subject_of("/study/sub-07/anat/sub-07_T1w.nii.gz"), subject_of("/study/scan.nii")
    ('07', None)
    """
    match = re.search(r"(?:^|/)sub-([A-Za-z0-9]+)(?=[_/])", url)
    return match[1] if match else None


def folder_of_scan(url: str) -> str:
    """The folder that a scan lies in."""
    return posixpath.basename(posixpath.dirname(url))


def names_somebody(folder: str, identifiers: Iterable[str]) -> bool:
    """Whether a folder's name has one of the identifiers in it, or a part of one.

    >>> names_somebody("doe_1", ["DOE^JOHN", "4711"]), names_somebody("sick", ["DOE^JOHN", "4711"])
    (True, False)
    """
    parts = [part.casefold() for one in identifiers for part in re.split(r"[\^\s=,]+", one)]
    name = folder.casefold()
    return any(part == name or (len(part) >= _SHORTEST and part in name) for part in parts)
