"""What a worker of this machine imports before its first call.

Whichever call is the first to need torch would look seconds dearer than it is, and that is another one every night.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

WANTED = "ASSAY_FIRST_IMPORTS"


def wanted(libraries: Sequence[str]) -> dict[str, str]:
    """The environment of a worker that is to import them.

    >>> wanted(["torch", "torch._dynamo"])
    {'ASSAY_FIRST_IMPORTS': 'torch torch._dynamo'}
    """
    return {WANTED: " ".join(libraries)}


def dask_setup(_worker: object) -> None:
    """Import what is wanted; Dask calls this as the worker starts."""
    for name in os.environ.get(WANTED, "").split():
        with suppress(ImportError):  # the call that needs what is missing says so
            import_module(name)
