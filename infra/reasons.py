"""What another library's error says, short enough to stand within a sentence of ours."""

from __future__ import annotations

from assay.infra.masking import mask


def reason_of(error: BaseException) -> str:
    """The first line of an error without its full stop and without secrets, or its name where it says nothing.

    >>> reason_of(OSError("no such bucket.")), reason_of(ValueError("bad magic\\nat 4")), reason_of(TimeoutError())
    ('no such bucket', 'bad magic', 'TimeoutError')
    """
    return (mask(str(error)).splitlines() or [type(error).__name__])[0].rstrip(".")
