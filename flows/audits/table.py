"""The kinds of audit that there are: ours, in the order of a reader's interest, and those of other packages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assay.flows.audits.along.kind import ALONG
from assay.flows.audits.annotators import ANNOTATORS
from assay.flows.audits.curation.kind import CURATION
from assay.flows.audits.data import DATA
from assay.flows.audits.hardness.kind import over
from assay.flows.audits.images.kind import CORRUPTIONS, DIAGNOSTICS, IMAGES, SMOOTHING
from assay.flows.audits.kind import AuditKind
from assay.flows.audits.overfitting.kind import OVERFITTING
from assay.flows.audits.services import SERVICES
from assay.flows.audits.slices import SLICES
from assay.flows.audits.subjects.kind import SUBJECTS, TABLES
from assay.flows.audits.terms.kind import TERMS
from assay.flows.audits.texts.kind import TEXTS
from assay.flows.audits.trust.kind import TRUST

AnyKind = AuditKind[Any]

_SINGLE: tuple[AnyKind, ...] = (
    DATA,
    ANNOTATORS,
    CURATION,
    ALONG,
    TABLES,
    SUBJECTS,
    IMAGES,
    CORRUPTIONS,
    DIAGNOSTICS,
    SMOOTHING,
    TRUST,
    TERMS,
    TEXTS,
    SLICES,
    OVERFITTING,
    SERVICES,
)
KINDS: tuple[AnyKind, ...] = (*_SINGLE, over(_SINGLE))


def with_kind(kinds: Iterable[AnyKind], kind: AnyKind) -> tuple[AnyKind, ...]:
    """The kinds and one more, which the audit of hardness hears as well."""
    single = (*(known for known in kinds if known.name != KINDS[-1].name), kind)
    return (*single, over(single))


def in_running_order(kinds: Iterable[AnyKind]) -> list[AnyKind]:
    """The kinds so that each comes after what it stands on, and otherwise as they are.

    >>> [kind.name for kind in in_running_order([TEXTS, TRUST, SUBJECTS])]
    ['subjects', 'trust', 'texts']
    """
    waiting, ordered = list(kinds), list[AnyKind]()
    while waiting:
        names = {kind.name for kind in waiting}
        ready = next((kind for kind in waiting if not names.intersection((*kind.stands_on, *kind.after))), None)
        if ready is None:
            raise ValueError(f"audits stand on each other in a circle: {', '.join(sorted(names))}")
        ordered.append(ready)
        waiting.remove(ready)
    return ordered
