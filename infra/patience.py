"""A store over a network refuses, throttles and falls silent for a while: it is asked again before a run gives up."""

from __future__ import annotations

import errno
import random
import time
from collections.abc import Callable
from typing import TypeVar

from assay.infra.errors import RunError
from assay.infra.masking import mask

V = TypeVar("V")
PATIENCE_SECONDS = 300.0
FIRST_SECONDS = 10.0
"""For a store that this process has not reached yet: more likely its address is wrong than that it is busy."""
SPOKEN_OF_AFTER = 5.0
_LONGEST_PAUSE = 10.0
_SHOWN = 200
_BUSY = (408, 409, 425, 429)  # HTTP's words for "not now"; 409 is S3's where two conditional writes meet
_ERRNOS = {
    errno.EAGAIN,
    errno.EBUSY,  # what s3fs makes of 503 and SlowDown
    errno.ECONNABORTED,
    errno.ECONNREFUSED,
    errno.ECONNRESET,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.EPIPE,
    errno.ETIMEDOUT,
    getattr(errno, "EREMOTEIO", errno.EIO),  # what s3fs makes of 500
}
_NAMES = {
    "HTTPClientError",  # botocore: read timeouts, closed connections
    "EndpointConnectionError",
    "ConnectTimeoutError",
    "ResponseParserError",  # the page of a gateway, where XML was due
    "IncompleteRead",
    "ClientConnectionError",  # aiohttp, under s3fs and gcsfs
    "ClientPayloadError",
    "ServiceRequestError",  # azure, under adlfs
    "ServiceResponseError",
}


def is_passing(fault: BaseException) -> bool:
    """Whether a fault of a remote store is one that passes: throttling, a gateway's error, silence.

    >>> is_passing(OSError(errno.EBUSY, "Please reduce your request rate.")), is_passing(TimeoutError())
    (True, True)
    >>> is_passing(FileNotFoundError("no such key")), is_passing(PermissionError("Access Denied"))
    (False, False)
    """
    status = _status(fault)
    if status is not None:
        return status >= 500 or status in _BUSY
    if isinstance(fault, TimeoutError | ConnectionError):
        return True
    if isinstance(fault, OSError) and fault.errno in _ERRNOS:
        return True
    return any(kind.__name__ in _NAMES for kind in type(fault).__mro__)


def _status(fault: BaseException) -> int | None:
    """The HTTP status behind a fault, where its library kept it: botocore in `response`, gcsfs in `code`."""
    for error in (fault, fault.__cause__):
        response = getattr(error, "response", None)
        answered = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
        for status in (
            answered.get("HTTPStatusCode"),
            getattr(error, "code", None),
            getattr(error, "status_code", None),
        ):
            if isinstance(status, int):
                return status
    return None


def patiently(
    operation: Callable[[], V],
    place: str,
    seconds: float = PATIENCE_SECONDS,
    notice: Callable[[str], None] | None = None,
) -> V:
    """What the operation gives, asked again after faults that pass; it must be one that may be done twice.

    RunError once the store at `place` has not answered for so long; `notice` hears of it well before.
    """
    began, pause, spoken = time.monotonic(), 0.2, False
    while True:
        try:
            return operation()
        except Exception as fault:
            waited = time.monotonic() - began
            if not is_passing(fault):
                raise
            if waited >= seconds:
                words = " ".join(mask(str(fault)).split())[:_SHOWN] or type(fault).__name__
                raise RunError(
                    f"The store {place} has not answered for {waited:.0f} s ({words}): run again once it does, and the "
                    "run goes on where it was."
                ) from fault
        if notice is not None and not spoken and waited >= SPOKEN_OF_AFTER:
            notice(f"The store {place} does not answer just now; it is asked again for up to {seconds:.0f} s")
            spoken = True
        time.sleep(pause * random.uniform(0.5, 1.5))  # apart from the other workers, who were refused at the same time
        pause = min(2 * pause, _LONGEST_PAUSE)
