"""Passwords have no place in pipelines.yaml: an address names the environment variables that hold them."""

from __future__ import annotations

import re

SECRET_OPTION = re.compile(r"password|passwd|pwd|secret|token|key", re.IGNORECASE)
"""What an option of an address is called that holds a secret."""

_PASSWORD = re.compile(r"://[^/@:]*:(?!\$\{\w+\}@)[^?]+@")
_OPTION = re.compile(r"[?&]([^=&]*)=(?!\$\{\w+\}(?:&|$))[^&]")


def without_password(addresses: tuple[str]) -> tuple[str]:
    """The address, or a `ValueError` for one with a secret written out.

    >>> without_password(("postgresql://night:${DB_PASSWORD}@db/clinic",))
    ('postgresql://night:${DB_PASSWORD}@db/clinic',)
    """
    if _PASSWORD.search(addresses[0]) or any(map(SECRET_OPTION.search, _OPTION.findall(addresses[0]))):
        raise ValueError(
            "there is a password in it, which everybody would read who reads this file: keep it in an environment "
            "variable, and write its name, as in postgresql://night:${DB_PASSWORD}@db/clinic"
        )
    return addresses
