"""Only ordinary files are opened.

A named pipe waits for ever to be opened, `/dev/zero` never ends to be read, and a socket or a device is nobody's data.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from assay.infra.errors import InputError

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def require_regular(path: str | Path, called: str = "") -> None:
    """Nothing, or the sentence for what is there and no ordinary file; what is not there is for the caller to say.

    >>> require_regular("/dev/zero", "The file of weights")
    Traceback (most recent call last):
    assay.infra.errors.InputError: The file of weights is a device, and only ordinary files are read; name a file.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    except ValueError as error:  # a NUL, or a letter that the file system's encoding has not
        raise InputError(f"{str(path)!r} is no path ({error}); correct it.") from error
    if not stat.S_ISREG(mode):
        what = next((word for is_one, word in _KINDS if is_one(mode)), "something else")
        raise InputError(f"{called or path} is {what}, and only ordinary files are read; name a file.")


def require_regular_url(url: str, called: str = "") -> None:
    """The same for an address: what lies elsewhere than in this machine's folders has no devices."""
    path = url.removeprefix("file://")
    if "://" not in path:
        require_regular(path, called)
